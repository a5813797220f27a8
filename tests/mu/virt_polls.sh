#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# virt_polls.sh PROGRAM: in virtual time, bounded polls cost what the table says and are no deadlock;
# a deadlock is found within seconds, and names the call of each task.
. "$QT_SOURCE/tests/harness/virtual.bash"

# is_deadlock TEXT CASE OPTIONS...: the run ends with a message that holds TEXT
is_deadlock() {
	ends_with_error "${@:2}"
	says "$1"
}

# The settings: so many polls, or so much time, and the run goes on until --timeout.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
QUINTORUS_DEADLOCK_S=0 torus run --clock virtual --timeout 3 -n 2 "$program" forever >"$dir/no time" 2>&1 &
no_time=$!
QUINTORUS_DEADLOCK_S=1 QUINTORUS_DEADLOCK_POLLS=1000000000000 torus run --clock virtual --timeout 3 -n 2 "$program" forever \
	>"$dir/many polls" 2>&1 &
many_polls=$!
# Ten times as much time is the end.
QUINTORUS_DEADLOCK_S=1 QUINTORUS_DEADLOCK_POLLS=1000000000000 torus run --clock virtual --timeout 100 -n 2 "$program" forever \
	>"$dir/ten times" 2>&1 &
ten_times=$!

# A run under a sanitizer, on a crowded machine, takes longer for its polls than the default allows.
[ "${QT_SCALE:-1}" = 1 ] || export QUINTORUS_DEADLOCK_S=$((20 * QT_SCALE))
for fabric in torus express; do
	for n in 1 2 4; do
		for case in start others clock; do
			ends_same $case --fabric $fabric -n $n
		done
	done
	ends_same others --fabric $fabric --shape 2x1x1x1x1x2
	ends_same travel --fabric $fabric -n 3
done

for n in 1 2 4; do
	# No setting matters where each task is in a call that returns only after an event.
	QUINTORUS_DEADLOCK_S=0 is_deadlock 'returns only after an event' lock -n $n
	says "task $((n - 1)) at .*: waits in PAMI_Context_lock since"
	QUINTORUS_DEADLOCK_S=0 is_deadlock 'returns only after an event' wait -n $n
	says "task $((n - 1)) at .*: waits in PAMI_Context_advance since"
	QUINTORUS_DEADLOCK_S=1 is_deadlock QUINTORUS_DEADLOCK_POLLS forever -n $n
	says "task $((n - 1)) at .*: polls in PAMI_Context_advance since"
done
QUINTORUS_DEADLOCK_S=1 is_deadlock QUINTORUS_DEADLOCK_S mixed -n 2 --fabric express
says 'task 0 at .*: waits in PAMI_Context_lock since'
says 'task 1 at .*: polls in PAMI_Context_advance since'

# Tasks that are slow in real time get more of it, and go on.
QUINTORUS_DEADLOCK_S=2 ends_well slow -n 1

wait $no_time
[ $? = 124 ] || fail "QUINTORUS_DEADLOCK_S=0: $(cat "$dir/no time")"
wait $many_polls
[ $? = 124 ] || fail "QUINTORUS_DEADLOCK_POLLS: $(cat "$dir/many polls")"
wait $ten_times
[ $? != 124 ] && grep -q 'polls in PAMI_Context_advance since' "$dir/ten times" || fail "ten times as long: $(cat "$dir/ten times")"
exit $failed
