#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Contexts made inside a dispatch function: the jobs of tests/jobs.txt, and what a task says that waits where it cannot.
# usage: pami_make_inside.sh PROGRAM
program=$1
bash "$QT_SOURCE/tests/harness/pami_job.sh" "$program" pami_make_inside
jobs_failed=$?
. "$QT_SOURCE/tests/harness/run.bash"
# A host's only task has the port. Where it calls the function from a frame, nothing comes before the function returns.
check_wait() { # SECONDS
	t run -n 2 --hosts local,local --timeout "$1" "$program"
	[ $status != 0 ] || return
	expect 124 "a function that waits for a context that it made"
	said err 'advances a context that it made itself' "a function that waits for a context that it made"
}
for try in 1 2; do
	patiently "5 25 100" check_wait
done
[ "$jobs_failed" = 0 ] || fail "the jobs"
finish
