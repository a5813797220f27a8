#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# armci_fence_threads.sh PROGRAM: a fence does not wait for what another thread begins after it.
. "$QT_SOURCE/tests/harness/armci_run.bash"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ARMCI_PROGRESS_THREAD=0
run "three hosts" -n 3 --hosts local,local,local "$program" "$work"
exit $failed
