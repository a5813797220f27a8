#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# torus run: exit status, signals, time limit, and that nothing outlives a job.
. "$QT_SOURCE/tests/harness/run.bash"

# marked ARGS...: as t, and afterwards no process of it may live. It does not wait for the processes that sleep for a minute.
marked() {
	local m=$RANDOM.$RANDOM start=$SECONDS
	env "$mark_name=$m" torus "$@" >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
	none_left "$m" "$*"
	[ $((SECONDS - start)) -lt 50 ] || fail "$*: took $((SECONDS - start)) s"
}

marked run -n 4 true
expect 0 true
lines err 0 true
marked run -n 4 sh -c 'exit $((QUINTORUS_TASK == 2 ? 7 : 0))'
expect 7 "task 2 fails"
said err '^torus run: task 2 at \(0,0,0,0,0,2\) on host local ended with exit status 7' "task 2 fails"
lines err 1 "task 2 fails"
marked run -n 4 sh -c '[ $QUINTORUS_TASK != 1 ] || exit 3; sleep 60'
expect 3 "the others are ended"
marked run -n 3 sh -c '[ $QUINTORUS_TASK != 1 ] || kill -SEGV $$; sleep 60'
expect 139 "a signal"
said err 'task 1 at \(0,0,0,0,0,1\) on host local was killed by signal 11, SIGSEGV' "a signal"
lines err 1 "a signal"
marked run -n 3 --shape 1x1x3x1x1 sh -c '[ $QUINTORUS_TASK != 1 ] || kill -9 $$; sleep 60'
expect 137 "a signal"
said err 'task 1 at \(0,0,1,0,0,0\) ' "coordinates"
# The first counts, not what the end of the job does to the others.
marked run -n 3 sh -c 'trap "exit 5" TERM; [ $QUINTORUS_TASK != 1 ] || exit 4; while :; do sleep 0.05; done'
expect 4 "first failure"
# Tasks that do not care for SIGTERM.
marked run -n 3 sh -c 'trap "" TERM; [ $QUINTORUS_TASK != 1 ] || exit 4; while :; do sleep 1; done'
expect 4 "deaf tasks"
marked run -n 2 sh -c '[ $QUINTORUS_TASK != 1 ] || { sleep 0.3; exit 4; }; kill -STOP $$'
expect 4 "a stopped task"
# One that is done early does not end the others.
marked run -n 2 sh -c '[ $QUINTORUS_TASK = 1 ] || sleep 0.5; echo $QUINTORUS_TASK'
expect 0 "early exit"
lines out 2 "early exit"

# What tasks start goes with them, however it tries to get away.
marked run -n 2 sh -c 'sleep 60 & true'
expect 0 "children in the background"
marked run -n 2 sh -c 'setsid sh -c "setsid sleep 60 & sleep 60" & sleep 0.1; exit $QUINTORUS_TASK'
expect 1 "children in sessions of their own"
marked run -n 2 sh -c '(trap "" HUP TERM INT; sleep 60 & sleep 60) & kill -9 $$'
expect 137 "deaf children of a killed task"

marked run -n 2 ./no/such/program
expect 127 "no program"
said err "cannot start './no/such/program': No such file" "no program"
lines err 1 "no program"
marked run -n 2 "$dir"
expect 126 "a directory"
lines err 1 "a directory"

marked run -n 2 --timeout 0.3 sleep 60
expect 124 timeout
said err 'longer than --timeout allows; it is ended; still running: tasks 0, 1$' timeout
marked run -n 2 --timeout 60 true
expect 0 "timeout not reached"

# Signals reach the tasks; what they make of it is the result.
# signalled SIGNAL... -- PROGRAM: sends each after the tasks said "up"; the one after USR1 waits until both said "usr1". Two
# equal signals are one if torus run had no processor between them, so a second one waits until the first was passed on.
signalled() {
	local m=$RANDOM.$RANDOM signals=() pid k s
	while [ "$1" != -- ]; do
		signals+=("$1")
		shift
	done
	shift
	# As a job of its own; A shell without job control makes background jobs ignore INT and QUIT, and nohup makes them ignore HUP.
	forget
	python3 -c 'import os, signal, sys
for s in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP): signal.signal(s, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])' env "$mark_name=$m" torus run -n 2 --tag "$@" \
		>"$dir/out" 2>"$dir/err" </dev/null &
	pid=$!
	until_said "$dir/out" '\[0\] up' && until_said "$dir/out" '\[1\] up'
	for k in "${!signals[@]}"; do
		s=${signals[k]}
		kill "-$s" $pid
		if [ "$s" = USR1 ]; then
			until_said "$dir/out" '\[0\] usr1' && until_said "$dir/out" '\[1\] usr1'
		elif [ $k -lt $((${#signals[@]} - 1)) ]; then
			until_said "$dir/err" 'once more kills them' || kill -9 $pid
		fi
	done
	wait $pid
	status=$?
	none_left "$m" "signals ${signals[*]}"
}
up='echo up; while :; do sleep 0.02; done'
for s in INT TERM HUP QUIT; do
	number=$(kill -l $s)
	signalled $s -- sh -c "ulimit -c 0; $up"
	expect $((128 + number)) "SIG$s"
done
signalled TERM -- sh -c "trap 'echo bye; exit 0' TERM; $up"
expect 0 "SIGTERM handled"
said out '\[0\] bye' "SIGTERM handled"
said out '\[1\] bye' "SIGTERM handled"
signalled USR1 TERM -- sh -c "trap 'echo usr1' USR1; $up"
expect 143 "SIGUSR1, SIGTERM"
said out '\[1\] usr1' "SIGUSR1"
signalled INT INT -- sh -c "trap '' INT TERM; $up"
expect 130 "a second SIGINT kills"

# An agent that does not end after all tasks have succeeded: the job has succeeded.
forget
torus run -n 2 --hosts local,local sh -c "if [ \$QUINTORUS_TASK = 0 ]; then echo \$\$ >'$dir/task'; echo \$PPID >'$dir/agent'
	else until [ -e '$dir/go' ]; do sleep 0.05; done; fi" >"$dir/out" 2>"$dir/err" </dev/null &
pid=$!
until_said "$dir/agent" .
while kill -0 "$(cat "$dir/task")" 2>/dev/null; do sleep 0.05; done
# Its agent, which has seen the end of task 0, has told it when it sleeps again.
until grep -q '^State:.S' "/proc/$(cat "$dir/agent")/status"; do sleep 0.05; done
sleep 0.3
kill -STOP "$(cat "$dir/agent")"
touch "$dir/go"
wait $pid
status=$?
expect 0 "an agent that does not end"
said err 'agent of host .* was killed; all tasks had ended' "an agent that does not end"
! kill -0 "$(cat "$dir/agent")" 2>/dev/null || fail "the agent that does not end still lives"

# 32 tasks on few processors wait for each other.
marked run -n 32 "$task" exchange
expect 0 "32 tasks"
finish
