#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A job that waits uses (nearly) no processor: tasks, engine threads, agents, torus run.
. "$(dirname "$0")/run.bash"

ticks() { # processor time of processes so far, in ticks of 10 ms: "pid ticks" lines
	local p
	for p in "$@"; do
		echo "$p $(sed 's/.*) //' "/proc/$p/stat" | awk '{print $12 + $13}')"
	done
}

idle() { # idle ARGS...: nobody may use more than 2% of a core (1% is the aim) over 5 s
	local pid all agents
	forget
	torus run "$@" "$task" idle >"$dir/out" 2>"$dir/err" </dev/null &
	pid=$!
	until_said "$dir/out" idle
	sleep 2 # the first looks around are over
	agents=$(pgrep -P $pid)
	all="$pid $agents $(for a in $agents; do pgrep -P "$a"; done)"
	ticks $all >"$dir/before"
	sleep 5
	ticks $all >"$dir/after"
	kill $pid
	wait $pid 2>/dev/null
	join "$dir/before" "$dir/after" >"$dir/both"
	echo "$*: ticks in 5 s:$(awk '{printf " %d", $3 - $2}' "$dir/both")"
	[ "$(wc -l <"$dir/both")" -ge 4 ] || fail "$*: only $(wc -l <"$dir/both") processes"
	awk '$3 - $2 > 10 {exit 1}' "$dir/both" || fail "$*: a process that waits uses more than 2% of a core"
}
idle -n 4
idle -n 2 --shape 2x1x1x1x1
idle -n 2 --hosts local,local
idle -n 8 --shape 2x2x2x1x1 --fabric torus --hosts local,local
finish
