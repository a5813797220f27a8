#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# armci_threads.sh PROGRAM: 1, 2 and 4 threads of each process call ARMCI at the same time, on one host and two, by
# every way that a transfer can travel, with both clocks. QT_LONG=1: more rounds.
. "$QT_SOURCE/tests/harness/armci_run.bash"
every_job=1
rounds=$([ "${QT_LONG:-0}" = 0 ] && echo 10 || echo 100)
for threads in 1 2 4; do
	run "$threads threads, one process" -n 1 "$program" $threads "$rounds"
	run "$threads threads, two tasks of a node" -n 2 "$program" $threads "$rounds"
	run "$threads threads, two nodes" --shape 2x1x1x1x1 "$program" $threads "$rounds"
	run "$threads threads, two hosts" -n 2 --hosts local,local "$program" $threads "$rounds"
	run "$threads threads, virtual time" --clock virtual --shape 2x1x1x1x1 "$program" $threads 2
done
run '4 threads, four tasks' -n 4 --hosts local,local "$program" 4 "$rounds"
run '3 threads, frames lost' -n 3 --hosts local,local --fault loss=0.02,reorder=0.05 "$program" 3 "$rounds"
for setting in QUINTORUS_ARMCI_CONTEXTS=1 ARMCI_PROGRESS_THREAD=0 QUINTORUS_ARMCI_ACC=pipelined QUINTORUS_ARMCI_ASSIST=always \
	ARMCI_IOV_METHOD=CONSRV ARMCI_STRIDED_METHOD=DIRECT QUINTORUS_ARMCI_REGIONS=0 QUINTORUS_ARMCI_CONFLICTS=target; do
	run "3 threads, $setting" --shape 2x1x1x1x1 env $setting "$program" 3 "$rounds"
done
run '2 threads, virtual time, tasks of a node' --clock virtual -n 2 "$program" 2 2
run '2 threads, virtual time, one context' --clock virtual --shape 2x1x1x1x1 env QUINTORUS_ARMCI_CONTEXTS=1 "$program" 2 2
exit $failed
