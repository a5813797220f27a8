#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# armci_edges.sh PROGRAM: the edge cases of every call of libarmci, wherever the target is, by every way a patch can travel.
. "$QT_SOURCE/tests/harness/armci_run.bash"
run 'one process' -n 1 "$program"
run 'two tasks of a node' -n 2 "$program"
for setting in QT=0 ARMCI_STRIDED_METHOD=DIRECT ARMCI_STRIDED_METHOD=IOV ARMCI_STRIDED_METHOD=PACK \
	ARMCI_IOV_METHOD=CONSRV QUINTORUS_ARMCI_REGIONS=0 QUINTORUS_ARMCI_ACC=pipelined QUINTORUS_ARMCI_CONTEXTS=1; do
	run "two nodes, $setting" --shape 2x1x1x1x1 env $setting "$program"
done
run 'two hosts, frames lost' -n 2 --hosts local,local --fault loss=0.05,reorder=0.05 "$program"
run 'virtual time' --clock virtual --shape 2x1x1x1x1 "$program"
exit $failed
