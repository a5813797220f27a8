#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# armci_groups.sh PROGRAM [virtual]: groups, locality, messages and extensions of libarmci, on one node and on several.
. "$QT_SOURCE/tests/harness/armci_run.bash"

if [ "${2:-}" = virtual ]; then
	for c in groups split locality select messages notify memget swap mutex_sets; do
		run "virtual time, two nodes of two: $c" --clock virtual --shape 2x1x1x1x1x2 "$program" "$c"
	done
	exit $failed
fi
run 'one process' -n 1 "$program"
run 'five tasks of one node' -n 5 "$program"
run 'three nodes' --shape 3x1x1x1x1x1 "$program"
run 'two nodes, three tasks each' --shape 2x1x1x1x1x3 "$program"
run 'three tasks, nothing mapped' -n 3 env QUINTORUS_ARMCI_DIRECT=none "$program"
run 'three tasks, no progress thread' --shape 3x1x1x1x1x1 env ARMCI_PROGRESS_THREAD=0 "$program" messages
run 'two hosts, two tasks each' -n 4 --hosts local,local "$program"
run 'memory checked' -n 2 env ARMCI_DEBUG_ALLOC=1 "$program" groups
run 'every process alone' -n 3 env ARMCI_NSERV_EQ_NPROC=1 "$program" locality
reports=$(torus run -n 3 env ARMCI_IOV_CHECKS=1 ARMCI_SHM_LIMIT=1g "$program" split 2>&1 | grep -c 'has no effect')
if [ "$reports" != 1 ]; then
	echo "FAIL: a setting without effect is reported $reports times, expected once"
	failed=1
fi
if ! torus run -n 2 env ARMCI_VERBOSE=help "$program" split 2>&1 | grep -q 'ARMCI_PROGRESS_THREAD .*default 1'; then
	echo 'FAIL: ARMCI_VERBOSE=help prints no help on settings'
	failed=1
fi
if torus run -n 2 env ARMCI_VERBOSE=loud "$program" split >/dev/null 2>&1; then
	echo 'FAIL: an invalid setting is accepted'
	failed=1
fi
exit $failed
