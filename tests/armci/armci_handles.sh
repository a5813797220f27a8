#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# armci_handles.sh PROGRAM: bad arguments to calls of libarmci.
. "$QT_SOURCE/tests/harness/armci_run.bash"
run 'one process' -n 1 "$program"
run 'two tasks of a node' -n 2 "$program"
run 'two hosts' -n 2 --hosts local,local "$program"
run 'virtual time' --clock virtual --shape 2x1x1x1x1 "$program"
exit $failed
