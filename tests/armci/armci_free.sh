#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# armci_free.sh PROGRAM: ARMCI_Free by all processes and by one, on one host and on two, with both clocks.
. "$QT_SOURCE/tests/harness/armci_run.bash"
run 'one process' -n 1 "$program"
run 'two tasks of a node' -n 2 "$program"
run 'three nodes' --shape 3x1x1x1x1 "$program"
run 'two hosts' -n 4 --hosts local,local "$program"
run 'virtual time, a node' --clock virtual -n 2 "$program"
run 'virtual time, two nodes' --clock virtual --shape 2x1x1x1x1 "$program"
exit $failed
