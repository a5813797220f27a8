#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Jobs between two hosts whose port is UDP at an address, over the ways that packets take: a router, bridges, macvlan, a
# tunnel of Ethernet, policies of IPsec, a filter that drops UDP, without packet sockets; and while the interface goes
# down, gets another Ethernet address or a smaller MTU, or goes away.
# usage: udp_paths.sh T_SYSTEM_MU_MESSAGES
set -u
. "$QT_SOURCE/tests/harness/jobs.bash"
program=$1
bad=0
a=qt$$a b=qt$$b r=qt$$r
clean() { for n in $a $b $r; do ip netns delete $n 2>/dev/null; done; }
fail() { echo "FAILED: $*"; bad=1; }

# hosts [OPTIONS OF ip link add]: two new namespaces joined by veth (qt0, 10.78.0.1 and 10.78.0.2)
hosts() {
	clean
	ip netns add $a && ip netns add $b && ip link add qt0 netns $a "$@" type veth peer name qt0 netns $b "$@" || return 1
	for n in $a $b; do
		ip -n $n link set lo up
		ip -n $n link set qt0 up
	done
}
address() { # namespace, interface, address
	ip -n "$1" address add "$3" dev "$2" && ip -n "$1" link set "$2" up
}
# job WHAT EXPECTED_PORT ADDRESS_A ADDRESS_B [options of torus run]: each host has one task and finds its port itself
job() {
	local what=$1 port=$2 hosts="netns:$a${3:+=$3};netns:$b${4:+=$4}" status
	shift 4
	is_left_out && return
	timeout -s KILL $((60 * ${QT_SCALE:-1})) torus run --timeout $((50 * ${QT_SCALE:-1})) --report -n 2 --hosts "$hosts" "$@" "$program" --body "${body:-sizes}" >"$log" 2>&1
	status=$?
	echo "$what: status $status, $(sed -n "s/.*task.*, \(port .*\)/\1/p" "$log" | tr '\n' ' ')"
	[ $status = 0 ] || { fail "$what"; cat "$log"; }
	[ "$(grep -Ec "task.*, port .*$port:" "$log")" = 2 ] || fail "$what: not twice port $port"
}
log=$(mktemp)
trap 'clean; rm -f "$log"' EXIT

# Without packet sockets, as without root.
timeout $((60 * ${QT_SCALE:-1})) setpriv --bounding-set=-net_raw torus run --timeout $((50 * ${QT_SCALE:-1})) --report -n 2 --hosts 'local=127.0.0.1;local=udp:127.0.0.1' \
	"$program" --body sizes >"$log" 2>&1 || { fail "no packet sockets"; cat "$log"; }
if ls "$QT_BUILD"/drivers/libqt_port_uring.so >/dev/null 2>&1; then
	[ "$(grep -c 'task.*, port uring:127.0.0.1' "$log")" = 2 ] || { fail "no packet sockets: not twice io_uring"; cat "$log"; }
fi

if [ "$(id -u)" != 0 ] || ! hosts; then
	echo "network namespaces: not root, or none to be had: the ways between them are not tested"
	exit $bad
fi
address $a qt0 10.78.0.1/24
address $b qt0 10.78.0.2/24
job "one link, nothing named" packet "" ""
body=big job "one link" packet 10.78.0.1 udp:10.78.0.2:7001
job "loss and disorder" packet 10.78.0.1 10.78.0.2 --seed 3 --fault loss=0.05,dup=0.05,reorder=0.1,corrupt=0.01

# While it runs, again and again: the interface is down for a moment, has another Ethernet address, the hosts forget
# each other's.
during() { # what, commands
	touch "$log.runs"
	(i=0; while [ -e "$log.runs" ] && [ $((++i)) -lt 90 ]; do sleep 0.1; eval "$2"; done) &
	body=big job "$1" packet 10.78.0.1 10.78.0.2
	rm "$log.runs"
	wait $!
}
during "down and up" "ip -n $b link set qt0 down; sleep 0.2; ip -n $b link set qt0 up; sleep 1"
during "another Ethernet address" "ip -n $b link set qt0 address 02:00:00:00:00:\$((10 + i))"
during "neighbours forgotten" "ip -n $a neigh flush dev qt0; ip -n $b neigh flush dev qt0"

# IPsec for what leaves: the IP layer has to send. (level use: without keys it sends in the clear.)
if ip -n $a xfrm policy add src 10.78.0.0/24 dst 10.78.0.0/24 dir out tmpl proto esp mode transport level use 2>/dev/null; then
	body=big job "a policy of IPsec" packet 10.78.0.1 10.78.0.2
	ip -n $a xfrm policy flush
fi
# Something drops what comes in for UDP sockets: the ring has to do alone.
if ip -n $b xfrm policy add src 10.78.0.1 dst 10.78.0.2 dir in action block 2>/dev/null; then
	body=big job "incoming UDP is dropped" packet 10.78.0.1 10.78.0.2
fi

# Ends of different MTU.
hosts mtu 9000 && ip -n $b link set qt0 mtu 1500
address $a qt0 10.78.0.1/24
address $b qt0 10.78.0.2/24
body=big job "MTU 9000 to 1500" packet 10.78.0.1 10.78.0.2

# A router between them.
clean
ip netns add $a; ip netns add $b; ip netns add $r
ip link add qt0 netns $a type veth peer name qa netns $r
ip link add qt0 netns $b type veth peer name qb netns $r
address $a qt0 10.78.1.1/24
address $r qa 10.78.1.254/24
address $b qt0 10.78.2.1/24
address $r qb 10.78.2.254/24
ip -n $a route add default via 10.78.1.254
ip -n $b route add default via 10.78.2.254
ip netns exec $r sysctl -qw net.ipv4.ip_forward=1
body=big job "a router" packet 10.78.1.1 10.78.2.1

# Bridges: on one host, and between both.
hosts
if ip -n $a link add qbr type bridge 2>/dev/null; then
	ip -n $a link set qt0 master qbr
	address $a qbr 10.78.0.1/24
	address $b qt0 10.78.0.2/24
	body=big job "a bridge" packet 10.78.0.1 10.78.0.2
fi
# A macvlan.
hosts
if ip -n $a link add qmv link qt0 type macvlan mode bridge 2>/dev/null; then
	address $a qmv 10.78.0.1/24
	address $b qt0 10.78.0.2/24
	body=big job "macvlan" packet 10.78.0.1 10.78.0.2
fi
# Ethernet in UDP.
hosts
address $a qt0 10.78.0.1/24
address $b qt0 10.78.0.2/24
if ip -n $a link add qvx type vxlan id 5 remote 10.78.0.2 dstport 4789 dev qt0 2>/dev/null; then
	ip -n $b link add qvx type vxlan id 5 remote 10.78.0.1 dstport 4789 dev qt0
	address $a qvx 10.78.3.1/24
	address $b qvx 10.78.3.2/24
	body=big job "vxlan" packet 10.78.3.1 10.78.3.2
fi
exit $bad
