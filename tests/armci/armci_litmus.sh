#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# armci_litmus.sh PROGRAM [virtual]: what processes see of each other's writes, by every way the writes can travel, with
# frames lost and reordered, and with both clocks.
. "$QT_SOURCE/tests/harness/armci_run.bash"
seed=${QT_SEED:-$RANDOM}
rounds=$([ "${QT_LONG:-0}" != 0 ] && echo 400 || echo 40)
few=$((rounds / 4))
echo "seed $seed (QT_SEED=$seed repeats)"
lost=loss=0.05,reorder=0.05,seed=$seed

litmus() { # WHAT ROUNDS OPTIONS...
	local what=$1 rounds=$2
	shift 2
	run "$what" "$@" "$program" "$rounds" "$seed"
	seed=$((seed + 1))
}

if [ "${2:-}" = virtual ]; then
	litmus 'virtual time, four nodes' $few --clock virtual --shape 2x2x1x1x1x1
	litmus 'virtual time, two nodes of two tasks' $few --clock virtual --shape 2x1x1x1x1x2
	litmus 'virtual time, in one step' $few --clock virtual --fabric express --shape 3x1x1x1x1x1
	exit $failed
fi
litmus 'one process' $rounds -n 1
litmus 'three tasks of a node' $rounds -n 3
litmus 'three nodes' $rounds --shape 3x1x1x1x1x1
litmus 'two nodes of two tasks' $rounds --shape 2x1x1x1x1x2
litmus 'three nodes, owners copy' $rounds --shape 3x1x1x1x1x1 env QUINTORUS_ARMCI_ASSIST=always
litmus 'three nodes, no regions' $rounds --shape 3x1x1x1x1x1 env QUINTORUS_ARMCI_REGIONS=0
litmus 'three nodes, nothing packed' $rounds --shape 3x1x1x1x1x1 env QUINTORUS_ARMCI_PACK=0
litmus 'three nodes, typed patches' $rounds --shape 3x1x1x1x1x1 env ARMCI_STRIDED_METHOD=DIRECT
litmus 'three nodes, one context' $rounds --shape 3x1x1x1x1x1 env QUINTORUS_ARMCI_CONTEXTS=1
litmus 'three nodes, sources add' $few --shape 3x1x1x1x1x1 env QUINTORUS_ARMCI_ACC=pipelined
litmus 'three nodes, hop by hop' $rounds --fabric torus --shape 3x1x1x1x1x1
litmus 'two hosts, frames lost' $few -n 2 --hosts local,local --fault "$lost"
litmus 'three hosts, frames lost' $few -n 3 --hosts local,local,local --fault "$lost"
litmus 'two hosts of two tasks, frames lost' $few -n 4 --hosts local,local --fault "$lost"
litmus 'three hosts, hop by hop, frames lost' $few --fabric torus --shape 3x1x1x1x1 --hosts local,local,local --fault "$lost"
litmus 'two hosts of two nodes, hop by hop, frames lost' $few --fabric torus --shape 2x2x1x1x1 --hosts local,local --fault "$lost"

. "$QT_SOURCE/tools/lib/net.sh"
trap qt_net_close EXIT
if [ ! -e "$QT_BUILD/drivers/libqt_port_dpdk.so" ] || [ "$(id -u)" != 0 ] || ! qt_net_open; then
	echo 'left out: DPDK between namespaces: not root, no namespaces, or no DPDK'
	exit $failed
fi
dpdk="netns:$QT_NET_A=dpdk:net_af_packet,iface=qt0;netns:$QT_NET_B=dpdk:net_af_packet,iface=qt0"
litmus 'DPDK, frames lost' $few -n 2 --hosts "$dpdk" --fault "$lost"
litmus 'DPDK, agents, hop by hop, frames lost' $few -n 4 --shape 2x2x1x1x1 --fabric torus --hosts "$dpdk" --fault "$lost"
exit $failed
