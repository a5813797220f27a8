#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Address space of a task: without a limit less than 500 MiB before it allocates, and a job of 4 under ulimit -v.
set -u
program=$1
bad=0

room=500 # MiB

job() {
	torus run --timeout $((60 * ${QT_SCALE:-1})) "$@" "$program" "$room" || { echo "FAIL: $*"; bad=1; }
}

# glibc reserves 64 to 128 MiB for each arena of malloc, and threads decide how many there are:
# the room that the library takes is looked at with one arena, the limits with as many as it likes.
export MALLOC_ARENA_MAX=1
job -n 4
job -n 2 --hosts local,local
job -n 3 --clock virtual
unset MALLOC_ARENA_MAX
room=2000
# In KiB; 4 tasks use 288,584 before they allocate and some 970,000 then.
(ulimit -v 2000000 && job -n 4 && [ $bad = 0 ]) || bad=1
# Set for the tasks alone, too.
torus run -n 4 sh -c "ulimit -v 2000000 && exec '$program' $room" || { echo "FAIL: ulimit -v in the tasks"; bad=1; }
exit $bad
