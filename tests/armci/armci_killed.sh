#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# armci_killed.sh PROGRAM: a process is killed at a certain step of ARMCI_Init, of ARMCI_Finalize, or of a critical
# operation between them. With --on-death error the others end with an error or continue; else the job ends and names
# the dead process. It never hangs. QT_LONG=1 kills at many more moments.
. "$QT_SOURCE/tests/harness/run.bash"
limit=$((40 * ${QT_SCALE:-1}))

# survive TASKS ARGS...: check that all processes but the killed one end well.
survive() {
	local tasks=$1
	shift
	t run --on-death error --timeout $limit "$@"
	[ "$(grep -c '^survivor [0-9]*: right$' "$dir/out")" = $((tasks - 1)) ] && [ "$status" != 124 ] ||
		{ fail "$*: not all survived (status $status)"; head -40 "$dir/err" "$dir/out"; }
	unsound "$*"
	! grep -q 'dropped\|refused' "$dir/err" || fail "$*: $(grep 'dropped\|refused' "$dir/err" | head -3)"
}

# all_end ARGS...: check that in default mode the job ends, and its last message names the dead process.
all_end() {
	t run --timeout $limit "$@"
	[ "$status" != 0 ] && [ "$status" != 124 ] || { fail "$*, default mode: status $status"; head -40 "$dir/err" "$dir/out"; }
	said err 'task 2 at .* was killed by signal 9, SIGKILL' "$*, default mode"
	said err 'the job is ended' "$*, default mode"
}

# each_step WHAT WORD ARGS...: kill at every step, until WORD in the output says that there are no more, in both modes.
each_step() {
	local what=$1 word=$2 k
	shift 2
	for k in $(seq 1 "$stride" 60); do
		survive 3 "$@" "$task" "$what" "$k" $((RANDOM % 3 * (RANDOM % 20)))
		grep -q "$word" "$dir/out" && break
		[ $((k % (4 * stride))) != 1 ] || [ "$modes" = 1 ] || all_end "$@" "$task" "$what" "$k"
	done
	[ "$k" -gt 5 ] && [ "$k" -lt 58 ] || fail "$what $*: no steps, or no end of them"
	echo "$what $*: $k steps, seed $seed"
}

stride=$([ "${QT_SCALE:-1}" = 1 ] && echo 1 || echo 3) modes=2
each_step init begun -n 3
each_step init begun --shape 3x1x1x1x1 --hosts local,local,local
each_step finalize 'ended after' -n 3
each_step finalize 'ended after' --shape 3x1x1x1x1 --hosts local,local
stride=3 modes=1
each_step init begun --clock virtual --shape 3x1x1x1x1
each_step finalize 'ended after' --clock virtual --shape 3x1x1x1x1

nodes='--shape 2x1x1x1x1x2'
survive 4 -n 4 "$task" adder
# shellcheck disable=SC2086
survive 4 $nodes "$task" added
survive 4 --shape 4x1x1x1x1 env QUINTORUS_ARMCI_ASSIST=always "$task" copied
survive 4 --shape 4x1x1x1x1 env QUINTORUS_ARMCI_ASSIST=always "$task" caller
for where in '-n 4' '--shape 4x1x1x1x1' '-n 4 --hosts local,local'; do
	# shellcheck disable=SC2086
	survive 4 $where "$task" waiter
	for round in $(seq "$([ "${QT_LONG:-0}" != 0 ] && echo 40 || echo 2)"); do
		for what in critical collection collected group memory; do
			# shellcheck disable=SC2086
			survive 4 $where "$task" $what $((1 + RANDOM % 4)) $((RANDOM % 2 * (RANDOM % 30)))
		done
	done
done
finish
