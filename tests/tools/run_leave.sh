#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# torus run: a task that exits with status 0 without finalizing. The job ends, naming it, if the others wait for
# it, and goes on if nobody needs it.
. "$QT_SOURCE/tests/harness/run.bash"

# All jobs run side by side, since each waits a while for the task that left.
declare -A leaver # the task that leaves, by the arguments of the job
leaves() { # leaves TASK ARGUMENTS...
	leaver["${*:2}"]=$1
	start "${*:2}" run --timeout $((60 * ${QT_SCALE:-1})) "${@:2}" "$task" leave "$1"
}
leaves 1 -n 2
export QUINTORUS_LEFT_WAIT=1
leaves 0 -n 4
leaves 3 -n 4 --hosts local,local
leaves 1 -n 2 --hosts local,local
leaves 1 -n 2 --fabric torus
leaves 1 -n 3 --clock virtual
# An agent that does not end after all tasks have succeeded: it writes the trace to a pipe that is full.
mkfifo "$dir/full"
exec 9<>"$dir/full"
dd if=/dev/zero of="$dir/full" oflag=nonblock bs=4096 count=100000 2>/dev/null
start stuck run -n 2 --clock virtual --trace "$dir/full" true
QUINTORUS_LEFT_WAIT=0 start forever run -n 2 --timeout 4 "$task" leave 1

for arguments in '-n 3' '-n 4 --hosts local,local' '-n 2'; do
	t run $arguments "$task" leave-fine 1
	expect 0 "nobody needs the task that left: $arguments"
	lines err 0 "nobody needs the task that left: $arguments"
done

for arguments in "${!leaver[@]}"; do # torus run ends the job and names the task
	ended "$arguments"
	expect 1 "task ${leaver[$arguments]} leaves: $arguments"
	said err "task ${leaver[$arguments]} .*without finalizing" "task ${leaver[$arguments]} leaves: $arguments"
done
ended stuck
expect 0 "an agent that does not end"
said err 'did not end in [0-9]+ s and was killed; all tasks had ended before' "an agent that does not end"
ended forever
expect 124 "QUINTORUS_LEFT_WAIT=0 sets no limit"
finish
