#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# torus top and torus stat: who waits for whom and in what, in which call tasks are, collectives and commthreads.
. "$QT_SOURCE/tests/harness/run.bash"

export QUINTORUS_RUN_DIR=$dir/run
holds() { # holds EXPRESSION: true of k, the tasks that torus top --once --json printed
	torus top --once --json $calls >"$dir/out" 2>"$dir/err" && python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
k = sorted(d["task"], key=lambda t: t["task"])
def last(i): # of those that wait for each other, from task i on
    return i if k[i]["waits_for"] is None else last(k[i]["waits_for"])
sys.exit(not eval(sys.argv[2]))' "$dir/out" "$1" 2>/dev/null
}
until_holds() { # until_holds EXPRESSION WHAT
	local until=$((SECONDS + 60 * ${QT_SCALE:-1}))
	until holds "$1"; do
		[ $SECONDS -lt $until ] || { fail "$2: never $1: $(head -c 1500 "$dir/out" "$dir/err")"; return 1; }
		sleep 0.2
	done
}
calls=
# until_shown WHAT PATTERN ARGUMENTS: a task that had no processor since the last sample is shown as one that does not wait.
until_shown() {
	local what=$1 pattern=$2 until=$((SECONDS + 60 * ${QT_SCALE:-1}))
	shift 2
	until torus "$@" >"$dir/out" 2>"$dir/err" && grep -qE "$pattern" "$dir/out"; do
		[ $SECONDS -lt $until ] || { fail "$what: never '$pattern': $(head -c 1500 "$dir/out" "$dir/err")"; return 1; }
		sleep 0.2
	done
}

# One task stays away until it may go on; what the others wait for leads to it. Then they do not wait any more.
for case in 'barrier|barrier|2' 'allreduce|allreduce|2' 'receiver|a receiver|2' 'message|a message|0'; do
	IFS='|' read -r how in who <<<"$case"
	for hosts in '' '--hosts local,local,local'; do
		rm -rf "$QUINTORUS_RUN_DIR" "$dir/go" "$dir/away"
		torus run -n 3 $hosts "$task" "$how" "$dir/go" "$dir/away" >"$dir/log" 2>&1 </dev/null &
		job=$!
		# The last task has left the first barrier, and the others are not shown in it any more.
		until=$((SECONDS + 60 * ${QT_SCALE:-1}))
		until [ -e "$dir/away" ] || [ $SECONDS -ge $until ]; do sleep 0.05; done
		# The task that makes no call waits for nothing.
		until_holds "k[0]['collectives_done'] == 1 and k[1]['collectives_done'] == 1 and k[0]['waits_in'] == '$in' and last(0) == $who and k[0]['waits'] > 0 and k[2]['waits_in'] == '' and k[2]['waits_for'] is None" "$how $hosts"
		if [ "$how" = barrier ] && [ -z "$hosts" ]; then
			until_shown text '^ +0  joined .* barrier, for 2$' top --once
			said out '^ +0 +2 +1 ' "collectives: two were started, one runs"
			if [ -n "$(find "$QT_BUILD" -name libqt_stack.so 2>/dev/null)" ]; then
				calls=--calls
				until_holds "'run_barrier' in k[0]['call'] and 'stay_away' in k[2]['call']" "the calls"
				calls=
			fi
			until_shown "one more than the task" '^task_waits_for\{task=0\} 3' stat --once --all task_waits_for
		fi
		touch "$dir/go"
		wait $job || fail "$how $hosts: the job: $(cat "$dir/log")"
		holds 'all(t["waits_in"] == "" and t["waits_for"] is None and t["collectives"] == t["collectives_done"] for t in k)' ||
			fail "$how $hosts, ended: $(head -c 1500 "$dir/out")"
	done
done

# A commthread takes a hundred messages while its task makes no call, in both clocks.
for clock in real virtual; do
	rm -rf "$QUINTORUS_RUN_DIR" "$dir/go" "$dir/away"
	[ $clock = real ] || touch "$dir/go"
	torus run -n 2 --shape 2x1x1x1x1 --clock $clock "$task" commthread "$dir/go" "$dir/away" >"$dir/log" 2>&1 </dev/null &
	job=$!
	[ $clock = virtual ] || until_holds 'k[1]["commthread_events"] >= 100 and k[0]["commthread_events"] == 0' "commthreads"
	touch "$dir/go"
	wait $job || fail "commthreads, $clock: $(cat "$dir/log")"
	torus stat --once --all 'commthread_*' >"$dir/out" 2>&1
	said out '^commthread_passes\{task=1 commthread=0\} [1-9]' "passes, $clock"
	[ $clock = virtual ] || said out '^commthread_busy\{task=1 commthread=0\} [1-9]' "busy passes"
	torus stat --once --all 'collective_*' >"$dir/out" 2>&1
	said out '^collective_started\{task=1 type=barrier\} 2' "barriers by type, $clock"
	said out '^collective_done\{task=1\} 2' "barriers that are over, $clock"
done

t top --calls
expect 2 "calls without --once"
finish
