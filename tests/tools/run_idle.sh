#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A job that waits uses (nearly) no processor: tasks, engine threads, agents, torus run.
. "$QT_SOURCE/tests/harness/run.bash"

ticks() { # processor time of processes so far, in ticks of 10 ms: "pid ticks" lines
	local p
	for p in "$@"; do
		echo "$p $(sed 's/.*) //' "/proc/$p/stat" | awk '{print $12 + $13}')"
	done
}

# The jobs wait side by side: none of their processes may use more than 2% of a core (1% is the aim) over 5 s.
jobs=('-n 4' '-n 2 --shape 2x1x1x1x1' '-n 2 --hosts local,local' '-n 8 --shape 2x2x2x1x1 --fabric torus --hosts local,local')
declare -A processes
for arguments in "${jobs[@]}"; do
	start "$arguments" run $arguments "$task" idle
done
for arguments in "${jobs[@]}"; do
	until_said "$dir/$arguments.out" idle
done
for arguments in "${jobs[@]}"; do
	pid=${started[$arguments]}
	agents=$(pgrep -P $pid)
	processes[$arguments]="$pid $agents $(for a in $agents; do pgrep -P "$a"; done)"
done
# measure: sets used, which has a word for each process that uses too much
measure() {
	used=
	for arguments in "${jobs[@]}"; do
		ticks ${processes[$arguments]} >"$dir/$arguments.before"
	done
	sleep 5
	for arguments in "${jobs[@]}"; do
		ticks ${processes[$arguments]} >"$dir/$arguments.after"
		join "$dir/$arguments.before" "$dir/$arguments.after" >"$dir/both"
		echo "$arguments: ticks in 5 s:$(awk '{printf " %d", $3 - $2}' "$dir/both")"
		[ "$(wc -l <"$dir/both")" -ge 4 ] || fail "$arguments: only $(wc -l <"$dir/both") processes"
		awk '$3 - $2 > 10 {exit 1}' "$dir/both" || used+=" '$arguments'"
	done
}
# First they look around, which may take long where other programs take the processors.
sleep 2
for try in 1 2 3; do
	measure
	[ -n "$used" ] || break
done
[ -z "$used" ] || fail "a process that waits uses more than 2% of a core:$used"
for arguments in "${jobs[@]}"; do
	kill "${started[$arguments]}"
	ended "$arguments"
done
finish
