#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tools/lib/net.sh: two hosts appear and vanish, also those of an owner that was killed.
set -u
[ "$(id -u)" = 0 ] || { echo "network namespaces need root" && exit 77; }
command -v ip >/dev/null || { echo "no 'ip' command (iproute2)" && exit 77; }
ip netns add "qt$$x" 2>/dev/null || { echo "network namespaces are not allowed here" && exit 77; }
ip netns delete "qt$$x"
. "$QT_SOURCE/tools/lib/net.sh"
trap qt_net_close EXIT
failures=0

bad()
{
	echo "FAILED: $*"
	failures=$((failures + 1))
}

listed() { ip netns list | grep -c "^qt${1}[ab]\b"; }

bash -c ". '$QT_SOURCE/tools/lib/net.sh'; qt_net_open 1400 && echo \$\$; kill -9 \$\$" >"/tmp/qt-net-$$" 2>/dev/null
killed=$(cat "/tmp/qt-net-$$")
rm -f "/tmp/qt-net-$$"
[ "$(listed "$killed")" = 2 ] || bad "the killed owner's namespaces are not there to be swept"
qt_net_open 9000 || bad "open"
[ "$(listed "$killed")" = 0 ] || bad "the killed owner's namespaces are still there"
[ "$(listed $$)" = 2 ] || bad "ours are not there"
ip -n "$QT_NET_A" link show qt0 | grep -q 'mtu 9000' || bad "MTU"
# A datagram really goes across.
ip netns exec "$QT_NET_B" timeout 20 python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("10.77.0.2", 7777))
data, sender = s.recvfrom(100)
s.sendto(data, sender)' &
ip netns exec "$QT_NET_A" timeout 20 python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(0.1)
for i in range(150):
    s.sendto(b"hello", ("10.77.0.2", 7777))
    try:
        assert s.recv(100) == b"hello"
        raise SystemExit(0)
    except (TimeoutError, ConnectionRefusedError):
        pass
raise SystemExit("no answer")' || bad "nothing comes across"
wait
qt_net_close
[ "$(listed $$)" = 0 ] || bad "ours are still there after close"
# A bench/run that is stopped, while it makes the namespaces or in its row, leaves none behind.
for number in 1 15; do
	"$QT_SOURCE/bench/run" --build "$QT_BUILD" --only 'two hosts, DPDK: half' >/dev/null 2>&1 &
	bench=$!
	for _ in {1..2400}; do
		[ "$(listed $bench)" = 0 ] && kill -0 $bench 2>/dev/null || break
		sleep 0.05
	done
	[ "$(listed $bench)" = 0 ] && bad "bench/run makes no namespaces"
	kill -$number $bench
	wait $bench
	[ $? = $((128 + number)) ] || bad "bench/run, signal $number: another exit status"
	[ "$(listed $bench)" = 0 ] || bad "bench/run, signal $number: namespaces are left"
done
[ "$failures" = 0 ]
