#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Jobs of two hosts whose ports have several queues: over each driver that has them, with hosts of different numbers of
# queues, with faults, with sealed frames, and the bodies of mu_messages over them.
# usage: mu_queues.sh T_SYSTEM_MU_QUEUES
set -u
program=$1
bad=0
dir=$(mktemp -d)
run() # what, body, options of torus run ...
{
	local what=$1 body=$2 start status
	shift 2
	start=$(date +%s%N)
	timeout -s KILL $((110 * ${QT_SCALE:-1})) torus run -n 2 --timeout $((100 * ${QT_SCALE:-1})) "$@" $program $body
	status=$?
	echo "$what, $body: status $status, $((($(date +%s%N) - start) / 1000000)) ms"
	[ $status = 0 ] || bad=1
}
shm="local=shm:queues$$,queues=4;local=shm:queues$$,queues=4"
for body in order alone away told; do
	run "shm, 4 queues" $body --hosts "$shm"
	run "shm, 4 and 2 queues" $body --hosts "${shm%;*};local=shm:queues$$,queues=2"
	run "shm, 4 queues and 1" $body --hosts "${shm%;*};local=shm:queues$$"
	run "shm, faults" $body --hosts "$shm" --seed 11 --fault loss=0.05,dup=0.05,reorder=0.1
done
run "shm, sealed" order --hosts "$shm" --seal encrypted --seed 11 --fault loss=0.02,dup=0.05,reorder=0.1
run "shm, captured" "order 40" --hosts "$shm" --capture "$dir/capture"
text=$(torus run -n 2 --timeout $((40 * ${QT_SCALE:-1})) --hosts "$shm" $program broken 2>&1)
status=$?
echo "shm, broken: status $status"
if [ $status != 1 ] || ! grep -q 'broken (Protocol error); this host cannot reach' <<<"$text"; then
	echo "$text"
	bad=1
fi

dpdk=0
! ls "$QT_BUILD"/drivers/libqt_port_dpdk.so >/dev/null 2>&1 || dpdk=1
[ "${QT_SANITIZE:-none}" != thread ] || dpdk=0 # the drivers of DPDK are not built with the sanitizer
if [ $dpdk = 1 ]; then
	memif=qt-queues-$$
	for body in order alone told; do
		run "memif, 4 queues" $body --hosts \
			"local=dpdk:net_memif,role=server,socket=$memif,queues=4;local=dpdk:net_memif,role=client,socket=$memif,queues=4"
	done
	pairs() # role: a memif for each queue
	{
		echo "local=dpdk:net_memif,role=$1,id=0,socket=$memif&dpdk:net_memif,role=$1,id=1,socket=$memif"
	}
	run "two memif" order --hosts "$(pairs server);$(pairs client)"
	# The agent of the first host has a memif of four queues, and uses one.
	program="$QT_BUILD/tests/t_system_mu_messages --body"
	run "memif, an agent and 4 queues" storm -n 3 --hosts \
		"local=dpdk:net_memif,role=server,socket=$memif,queues=4;local=dpdk:net_memif,role=client,socket=$memif,queues=4"
	program=$1
	run "vhost and virtio-user, 2 queues" order --hosts \
		"local=dpdk:net_vhost,iface=$dir/vhost,client=1,queues=2;local=dpdk:net_virtio_user,path=$dir/vhost,server=1,queues=2"
fi
. "$QT_SOURCE/tools/lib/net.sh"
trap 'qt_net_close; rm -rf "$dir"' EXIT
if [ "$(id -u)" != 0 ] || ! qt_net_open 9000; then
	echo "network namespaces: not root, or none to be had: the ports between them are not tested"
	exit $bad
fi
both() # driver and its arguments at A and at B
{
	echo "netns:$QT_NET_A=$1,queues=4;netns:$QT_NET_B=$2,queues=4"
}
for body in order alone; do
	run "packet, 4 queues" $body --hosts "$(both packet:10.77.0.1 packet:10.77.0.2)"
	if ls "$QT_BUILD"/drivers/libqt_port_uring.so >/dev/null 2>&1; then
		run "uring, 4 queues" $body --hosts "$(both uring:10.77.0.1 uring:10.77.0.2)"
	fi
done
if [ $dpdk = 1 ]; then
	# A macvlan for each further queue, as a network card gives each a MAC.
	for side in "$QT_NET_A" "$QT_NET_B"; do
		ip -n "$side" link add link qt0 name qt1 type macvlan mode bridge && ip -n "$side" link set qt1 up
	done
	two="dpdk:net_af_packet,iface=qt0&dpdk:net_af_packet,iface=qt1"
	if ip -n "$QT_NET_B" link show qt1 >/dev/null 2>&1; then
		run "af_packet, 2 queues" order --hosts "netns:$QT_NET_A=$two;netns:$QT_NET_B=$two"
	else
		echo "af_packet: left out: no macvlan here"
	fi
fi
exit $bad
