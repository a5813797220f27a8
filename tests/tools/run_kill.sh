#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# kill -9 of a task, an agent or torus run at random moments: the job ends soon, nothing is left.
. "$QT_SOURCE/tests/harness/run.bash"
rounds=${QT_ROUNDS:-6}
slowest=0 # ms from the kill to the end of torus run; a second is what we want on a machine that is free

# The job's processes of one kind, by their parents: torus run (pid $1), agents, tasks.
pick() { # pick KIND PID
	local agents
	case $1 in
	run) echo "$2" ;;
	agent) pgrep -P "$2" | shuf -n 1 --random-source=<(yes "$RANDOM") ;;
	task)
		agents=$(pgrep -P "$2" | paste -sd,)
		[ -z "$agents" ] || pgrep -P "$agents" | shuf -n 1 --random-source=<(yes "$RANDOM")
		;;
	esac
}

# kill_one KIND DELAY ARGS...: start torus run with ARGS, kill -9 one process of that kind.
kill_one() {
	local kind=$1 delay=$2 m=$RANDOM.$RANDOM pid victim status start
	shift 2
	forget
	env "$mark_name=$m" torus run "$@" >"$dir/out" 2>"$dir/err" </dev/null &
	pid=$!
	if [ "$delay" = up ]; then
		until_said "$dir/out" busy
	else
		sleep "$delay"
	fi
	victim=$(pick "$kind" $pid)
	start=$(date +%s%N)
	[ -z "$victim" ] || kill -9 $victim 2>/dev/null
	[ -n "$victim" ] || kill -9 $pid # too early to have one
	wait $pid 2>/dev/null
	status=$?
	took=$((($(date +%s%N) - start) / 1000000))
	[ "$took" -lt 10000 ] || fail "kill -9 of $kind after $delay ($*): $took ms"
	slowest=$((took > slowest ? took : slowest))
	! grep 'does not end' "$dir/err" || fail "kill -9 of $kind after $delay ($*): an agent hung"
	[ "$status" != 0 ] || fail "kill -9 of $kind after $delay ($*): status 0"
	none_left "$m" "kill -9 of $kind after $delay ($*)"
	case $kind in
	task) [ -z "$victim" ] || said err 'task [0-9]+ at .* was killed by signal 9, SIGKILL' "kill -9 of a task ($*)" ;;
	agent) [ -z "$victim" ] || said err 'agent of host .* was killed by signal 9' "kill -9 of an agent ($*)" ;;
	esac
}

grandchild="$task busy; true"
for kind in task agent run; do
	kill_one $kind up -n 4 "$task" busy
	kill_one $kind up -n 4 --tag "$task" busy
	kill_one $kind up -n 4 sh -c "sleep 60 & $grandchild"
	kill_one $kind up -n 4 --fabric torus "$task" busy
	kill_one $kind up -n 2 --hosts local,local "$task" busy
	kill_one $kind up -n 8 --hosts local,local "$task" busy
	kill_one $kind up -n 8 --shape 2x2x2x1x1 --hosts local,local --fabric torus "$task" busy
done
for round in $(seq "$rounds"); do
	for kind in task agent run; do
		delay=0.0$((RANDOM % 100))
		kill_one $kind $delay -n 8 --hosts local,local "$task" busy
		kill_one $kind $delay -n 3 sh -c "sleep 60 & $grandchild"
	done
done

# Everything called torus at once: the agents have a name of their own and clean up.
m=$RANDOM.$RANDOM
forget
env "$mark_name=$m" torus run -n 3 sh -c "sleep 60 & $task busy; true" >"$dir/out" 2>/dev/null </dev/null &
pid=$!
until_said "$dir/out" busy
kill -9 $pid
none_left "$m" "kill -9 of torus run"
wait $pid 2>/dev/null

# An agent that is stopped cannot end its host: torus run does.
forget
env "$mark_name=$m" torus run -n 3 sh -c "sleep 60 & $task busy; true" >"$dir/out" 2>"$dir/err" </dev/null &
pid=$!
until_said "$dir/out" busy
kill -STOP "$(pgrep -P $pid)"
kill_twice $pid
wait $pid
status=$?
expect 143 "a stopped agent"
none_left "$m" "a stopped agent"

# Children that are not the job's: of a shell that became torus run.
sh -c 'sleep 60 & echo $!; exec torus run -n 2 true' >"$dir/out"
status=$?
expect 0 "a child from before"
kill "$(head -1 "$dir/out")" || fail "a child from before: it is gone"

# The processes that serve PMI to the tasks: the cause is named, and tasks that do not need them go on.
forget
torus run --mpi -n 2 sh -c 'echo busy; sleep 1' >"$dir/out" 2>"$dir/err" </dev/null &
pid=$!
until_said "$dir/out" busy
kill -9 "$(pgrep -P $pid -x torus-pmi)"
wait $pid
status=$?
expect 0 "kill -9 of the PMI server"
said err 'serves PMI-1 to the tasks was killed by signal 9, SIGKILL' "kill -9 of the PMI server"

# A task that fails by itself while all are talking.
t run -n 4 "$task" busy-exit 2
expect 9 "a task exits in the middle"
said err 'task 2 at .* exit status 9' "a task exits in the middle"
echo "slowest end: $slowest ms"
finish
