#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# armci_bias.sh PROGRAM: threads in bursts under the library's lock. QT_LONG=1: a minute.
. "$QT_SOURCE/tests/harness/armci_run.bash"
seconds=120 every_job=1
time=$([ "${QT_LONG:-0}" = 0 ] && echo 1 || echo 60)
run "one process" -n 1 "$program" "$time"
run "two processes" -n 2 "$program" "$time"
export QUINTORUS_ARMCI_CONTEXTS=1
run "two processes, one context" -n 2 "$program" "$time"
exit $failed
