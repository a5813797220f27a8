#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# armci_fuzz.sh PROGRAM [clock]: random operations of ARMCI against a model, over nodes, tasks, fabrics and protocols.
. "$QT_SOURCE/tests/harness/armci_run.bash"
seconds=100
seed=${QT_SEED:-$RANDOM}
echo "seed $seed (QT_SEED=$seed repeats)"

# Each job has a seed of its own.
random() { # WHAT OPTIONS... PROGRAM OPERATIONS
	run "$@" "$seed"
	seed=$((seed + 1))
}

# One process dies during the job; the survivors must find everything else as the model says.
deaths() { # WHAT OPTIONS... PROGRAM OPERATIONS
	local what=$1 out
	shift
	is_left_out && return
	out=$(timeout $((seconds * ${QT_SCALE:-1})) torus run --on-death error "$@" "$seed" deaths $victim 2>&1)
	if [ $? != 124 ] && grep -q '^PASS' <<<"$out" && grep -q 'the others go on' <<<"$out" && ! grep -q '^FAIL\|is false\|Sanitizer:\|runtime error' <<<"$out"; then
		say ok "$what"
	else
		say FAIL "$what, seed $seed"
		tail -20 <<<"$out"
	fi
	seed=$((seed + 1))
}
victim=

if [ "${2:-}" = virtual ]; then
	for us in 900 3000; do
		victim=$((RANDOM % 4))
		deaths "virtual time, process $victim of four dies" --clock virtual --shape 4x1x1x1x1 --fault kill=$victim@$us "$program" 30
		deaths "virtual time, process $victim of two nodes dies" --clock virtual --shape 2x1x1x1x1x2 --fault kill=$victim@$us "$program" 30
	done
	random 'virtual time, two nodes' --clock virtual --shape 2x1x1x1x1x1 "$program" 60
	random 'virtual time, four nodes, two tasks each' --clock virtual --shape 2x2x1x1x1x2 "$program" 30
	exit $failed
fi
random 'one process' -n 1 "$program" 300
random 'three tasks of a node' -n 3 "$program" 300
random 'two nodes' --shape 2x1x1x1x1x1 "$program" 400
random 'four nodes, two tasks each' --shape 2x2x1x1x1x2 "$program" 150
random 'three nodes, all packed' --shape 3x1x1x1x1x1 env QUINTORUS_ARMCI_PACK=1000000000 "$program" 200
random 'three nodes, nothing packed' --shape 3x1x1x1x1x1 env QUINTORUS_ARMCI_PACK=0 "$program" 200
random 'two nodes, no asynchronous progress' --shape 2x1x1x1x1x1 env ARMCI_PROGRESS_THREAD=0 "$program" 200
random 'three nodes, owners copy' --shape 3x1x1x1x1x1 env QUINTORUS_ARMCI_ASSIST=always "$program" 300
random 'two nodes of two tasks, owners copy' --shape 2x1x1x1x1x2 env QUINTORUS_ARMCI_ASSIST=always QUINTORUS_ARMCI_DIRECT=none QUINTORUS_ARMCI_PACK=0 "$program" 100
random 'two hosts' -n 4 --hosts local,local "$program" 100
random 'two hosts, frames lost and swapped' -n 2 --hosts local,local --fault loss=0.05,reorder=0.05,seed=$seed "$program" 60
random 'two hosts, hop by hop' -n 4 --hosts local,local --fabric torus "$program" 60
random 'three nodes, hop by hop' --fabric torus --shape 3x1x1x1x1x1 "$program" 100
lost="loss=0.05,reorder=0.05,seed=$seed"
random 'four nodes on two hosts, hop by hop, frames lost' --fabric torus --shape 2x2x1x1x1 --hosts local,local --fault "$lost" "$program" 40
deaths 'four tasks of a node, one dies' -n 4 "$program" 200
deaths 'four nodes, one dies' --shape 4x1x1x1x1 "$program" 200
deaths 'two nodes of two tasks, one dies' --shape 2x1x1x1x1x2 "$program" 200
deaths 'three nodes, owners copy, one dies' --shape 3x1x1x1x1 env QUINTORUS_ARMCI_ASSIST=always "$program" 200
deaths 'three nodes, one context, one dies' --shape 3x1x1x1x1 env QUINTORUS_ARMCI_CONTEXTS=1 "$program" 200
deaths 'three nodes, typed, no regions, one dies' --shape 3x1x1x1x1 env ARMCI_STRIDED_METHOD=DIRECT QUINTORUS_ARMCI_REGIONS=0 "$program" 200
deaths 'three nodes, nothing packed, one dies' --shape 3x1x1x1x1 env QUINTORUS_ARMCI_PACK=0 "$program" 100
deaths 'two hosts of two tasks, one dies' -n 4 --hosts local,local "$program" 100
deaths 'three hosts, frames lost, one dies' -n 3 --hosts local,local,local --fault "$lost" "$program" 40
deaths 'three nodes, hop by hop, one dies' --fabric torus --shape 3x1x1x1x1 "$program" 60
deaths 'two hosts of two nodes, hop by hop, frames lost, one dies' --fabric torus --shape 4x1x1x1x1 --hosts local,local --fault "$lost" "$program" 40

. "$QT_SOURCE/tools/lib/net.sh"
trap qt_net_close EXIT
if [ ! -e "$QT_BUILD/drivers/libqt_port_dpdk.so" ] || [ "$(id -u)" != 0 ] || ! qt_net_open; then
	echo 'left out: DPDK between namespaces: not root, no namespaces, or no DPDK'
	exit $failed
fi
dpdk="netns:$QT_NET_A=dpdk:net_af_packet,iface=qt0;netns:$QT_NET_B=dpdk:net_af_packet,iface=qt0"
random 'DPDK, frames lost' -n 2 --hosts "$dpdk" --fault "$lost" "$program" 40
deaths 'DPDK, frames lost, one of four dies' -n 4 --hosts "$dpdk" --fault "$lost" "$program" 40
exit $failed
