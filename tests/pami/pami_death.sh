#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Tasks that die in the middle of each protocol: with --on-death error the others go on, else the job
# ends. On one node, between nodes, between hosts whose agents hold the port, and whose tasks do.
# usage: pami_death.sh PROGRAM   (QT_LONG=1: many seeds)
. "$QT_SOURCE/tests/harness/run.bash"
. "$QT_SOURCE/tests/harness/jobs.bash"
limit=$((60 * ${QT_SCALE:-1}))
[ $limit -ge 150 ] || limit=150
victims=23
all=$((victims + 2))

survive() { # survive SEED ARGS...: both survivors come to a good end
	local seed=$1 start clock=real
	shift
	is_left_out && return
	[[ "$*" = *virtual* ]] && clock=virtual
	start=$(date +%s%N)
	t run --on-death error --timeout $limit "$@" "$task" "$seed" $clock
	echo "$*: $((($(date +%s%N) - start) / 1000000)) ms"
	[ "$(grep -c '^survivor [01]: right$' "$dir/out")" = 2 ] ||
		{ fail "$* seed $seed: not both survived (status $status)"; head -30 "$dir/err" "$dir/out"; }
	[ "$status" != 0 ] && [ "$status" != 124 ] || fail "$* seed $seed: status $status"
	[ "$(grep -c 'the others go on' "$dir/err")" = $victims ] || fail "$* seed $seed: $(grep -c 'the others go on' "$dir/err") deaths reported"
	! grep -q 'dropped\|refused' "$dir/err" || fail "$*: $(grep 'dropped\|refused' "$dir/err" | head -3)"
}

same() { # same ARGS...: twice the same hash in virtual time
	local seed=$RANDOM first
	survive $seed "$@"
	first=$(grep -o 'hash [0-9a-f]*$' "$dir/err")
	[ -n "$first" ] || fail "$* seed $seed: no hash: $(tail -3 "$dir/err")"
	survive $seed "$@"
	[ "$(grep -o 'hash [0-9a-f]*$' "$dir/err")" = "$first" ] || fail "$* seed $seed: another hash: $first"
}

hosts() { # hosts N: "local,local,..."
	local s
	s=$(printf 'local,%.0s' $(seq "$1"))
	echo "${s%,}"
}

for round in $(seq "$([ "${QT_LONG:-0}" != 0 ] && echo 30 || echo 1)"); do
	survive $RANDOM -n $all
	survive $RANDOM --shape ${all}x1x1x1x1
	survive $RANDOM -n $all --shape ${all}x1x1x1x1 --hosts "$(hosts 3)"
	survive $RANDOM -n $all --shape ${all}x1x1x1x1 --hosts "$(hosts $all)"
	survive $RANDOM -n $all --shape ${all}x1x1x1x1 --hosts "$(hosts 2)" --fault loss=0.05,reorder=0.05
	survive $RANDOM --fabric torus --shape 5x5x1x1x1
	survive $RANDOM --fabric torus --shape 5x1x1x1x1x5 --hosts "$(hosts 2)"
	survive $RANDOM --fabric torus --shape ${all}x1x1x1x1 --hosts "$(hosts 3)" --fault loss=0.05,reorder=0.05
	[ "${QT_SANITIZE:-}" = thread ] && continue # below one thread of a process runs: nothing for that sanitizer
	same --clock virtual --shape 5x5x1x1x1
	survive $RANDOM --clock virtual --shape 5x1x1x1x1x5
	survive $RANDOM --clock virtual --fabric express --shape 5x5x1x1x1
done

# Virtual time: a death at a time that a script names, whatever the task is at, is the same in every run.
for us in 0 60 1000; do
	[ "${QT_SANITIZE:-}" = thread ] && break
	for i in 1 2; do
		t run --on-death error --clock virtual --timeout $limit --shape 3x1x1x1x1 --fault kill=2@$us "$task" barriers
		[ "$(grep -c '^survivor [01]: right$' "$dir/out")" = 2 ] || fail "killed at $us us: $(cat "$dir/err" "$dir/out")"
		said err "task 2 .* SIGKILL" "killed at $us us"
		h[i]=$(grep -o 'hash [0-9a-f]*$' "$dir/err")
	done
	[ -n "${h[1]}" ] && [ "${h[1]}" = "${h[2]}" ] || fail "killed at $us us: '${h[1]}', then '${h[2]}'"
done
t run --clock virtual -n 2 --fault kill=2@1 "$task" barriers
said err 'kill=TASK@MICROSECONDS' "a task that is not there"

# A whole host goes: its agent is killed, and its task with it.
for fabric in express torus; do
	forget
	torus run --on-death error --timeout $limit -n 3 --hosts local,local,local --fabric $fabric "$task" barriers \
		>"$dir/out" 2>"$dir/err" </dev/null &
	pid=$!
	# The task itself says which agent: process numbers start again at a small one at some time, so the highest
	# number among the agents need not be that of the last host.
	until_said "$dir/out" '^agent [0-9]*$' && kill -9 "$(sed -n 's/^agent //p' "$dir/out")"
	wait $pid
	status=$?
	[ "$(grep -c '^survivor [01]: right$' "$dir/out")" = 2 ] ||
		{ fail "agent killed, $fabric: not both survived (status $status)"; cat "$dir/err" "$dir/out"; }
	said err 'agent of host .* and with it its tasks; the others go on' "agent killed, $fabric"
done

# On fabric torus a lost host takes routers along: tasks whose way to each other crossed it are parted.
forget
torus run --on-death error --timeout $limit --fabric torus --shape 4x1x1x1x1 --hosts "$(hosts 4)" "$task" cut \
	>"$dir/out" 2>"$dir/err" </dev/null &
pid=$!
until_said "$dir/out" '^agent' && kill -9 "$(sed -n 's/^agent //p' "$dir/out")"
wait $pid
status=$?
[ "$(grep -c '^survivor [023]: right$' "$dir/out")" = 3 ] || { fail "host lost: not all survived (status $status)"; cat "$dir/err" "$dir/out"; }
said err 'agent of host .* and with it its tasks; the others go on' "host lost"

# The other mode: the first death ends the job, whatever the others are at.
for first in "-n 3" "-n 3 --hosts local,local,local"; do
	# shellcheck disable=SC2086
	t run --timeout $limit $first "$task" $RANDOM
	[ "$status" != 0 ] && [ "$status" != 124 ] || fail "$first: status $status"
	said err 'the job is ended' "$first"
done
t run --on-death sometimes true
expect 2 "a wrong word"
finish
