#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# gasnet_death.sh PROGRAM: process 2 dies or leaves while the others use it. Nothing hangs, and the output names it.
. "$QT_SOURCE/tests/harness/run.bash"
. "$QT_SOURCE/tests/harness/jobs.bash"
limit=$((40 * ${QT_SCALE:-1}))

# named ARGS...: a survivor that needs process 2 says so.
named() {
	is_left_out && return
	t run --on-death error --timeout $limit "$@"
	[ "$status" != 0 ] && [ "$status" != 124 ] || { fail "$*: status $status"; head -20 "$dir/err" "$dir/out"; }
	said err 'gasnet: process [01] of 3: .*process 2 .*has died or left' "$*"
	unsound "$*"
}

# ended ARGS...: the job ends, and names task 2.
ended() {
	is_left_out && return
	t run --timeout $limit "$@"
	[ "$status" != 0 ] && [ "$status" != 124 ] || { fail "$*: status $status"; head -20 "$dir/err" "$dir/out"; }
	said err 'task 2 ' "$*"
	unsound "$*"
}

hosts='--hosts local,local -n 3'
for where in "$hosts" '-n 3 env TGEX_CREDITS=4'; do
	for what in short medium long np flood put get atomic strided barrier bcast reduce split; do
		# shellcheck disable=SC2086
		named $where "$task" $what kill
	done
done
# LEFT_WAIT: seconds until a process is missed that left with status 0.
QUINTORUS_LEFT_WAIT=1 ended -n 3 "$task" medium exit
for what in medium flood get atomic barrier; do
	# shellcheck disable=SC2086
	named $hosts "$task" $what exit
	named -n 3 env TGEX_SHM=off "$task" $what handler
	# shellcheck disable=SC2086
	ended $hosts "$task" $what kill
done
finish
