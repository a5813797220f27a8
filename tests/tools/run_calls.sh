#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# torus run says in which call each task was: after --timeout, after a signal, and when nothing goes on.
. "$QT_SOURCE/tests/harness/run.bash"

[ -e "$QT_BUILD/tools/libqt_stack.so" ] || { echo "built without libdw"; exit 77; }
# What a job says that --timeout ends, and how long its tasks may wait or work before it says so. All run side by side.
timeouts=('-n 3' '-n 3 --hosts local,local' '-n 2 --fabric torus')
check_limits() { # SECONDS
	local arguments
	for arguments in "${timeouts[@]}"; do
		start "$arguments" run $arguments --timeout "$1" "$task" idle
	done
	start foreign run -n 2 --timeout "$1" sleep 600
	QUINTORUS_STALL=$(($1 * 2 / 3)) start works run -n 2 --timeout "$1" "$task" busy
	for arguments in "${timeouts[@]}"; do
		ended "$arguments"
		expect 124 "timeout: $arguments"
		said err '^torus run: the job took longer than --timeout allows; .*still running: tasks 0, 1' "timeout: $arguments"
		said err '^  tasks? [0-9, -]+: mu_poll.*, called by main \(run_task.c:[0-9]+\)' "timeout: $arguments"
	done
	ended foreign
	expect 124 "a program without us"
	said err '^  tasks? 0.*: has not joined the job: .*nanosleep' "a program without us"
	ended works
	expect 124 "a job that does not stall"
	! grep -q 'all tasks wait' "$dir/err" || fail "a job that does not stall: $(cat "$dir/err")"
}
# A machine that is too busy to look at the tasks: libraries that hold up who looks. The table waits for 7 s, and names what is
# missing.
busy=()
if [ "${QT_SANITIZE:-none}" = none ] && command -v cc >/dev/null; then
	busy=(5 60)
	for seconds in "${busy[@]}"; do
		cc -shared -fPIC -o "$dir/busy$seconds.so" -xc - <<-END || fail "no library"
			#include <string.h>
			#include <unistd.h>
			int unsetenv(const char *name)
			{
				if (!strcmp(name, "DEBUGINFOD_URLS"))
					sleep($seconds);
				return 0;
			}
		END
		LD_PRELOAD=$dir/busy$seconds.so start "busy$seconds" run -n 2 --timeout 5 "$task" idle
	done
fi
patiently "6 25 100" check_limits

# All wait: said once, and the job goes on. A second time would come after another QUINTORUS_STALL seconds.
check_stall() { # SECONDS
	rm -f "$dir/stalls.err"
	QUINTORUS_STALL=$1 start stalls run -n 3 --hosts local,local "$task" idle
	until_said "$dir/stalls.err" 'all tasks wait for messages'
	sleep $(($1 + 2))
	kill -TERM "${started[stalls]}"
	ended stalls
	expect 143 "a job that stalls"
	[ "$(grep -c "all tasks wait for messages, and none has come for $1 s; the job goes on" "$dir/err")" = 1 ] ||
		fail "a job that stalls: $(cat "$dir/err")"
	[ "$(grep -c '^  task.*: mu_poll' "$dir/err")" -ge 2 ] || fail "a job that stalls has no table: $(cat "$dir/err")"
}
patiently "1 2 3" check_stall

for seconds in "${busy[@]}"; do
	ended "busy$seconds"
	expect 124 "a machine that is busy for $seconds s"
	said err '^torus run: the job took longer than --timeout allows' "a machine that is busy for $seconds s"
	# If it is busy indeed, the rest of the 7 s may be too short.
	words='not known: the machine was too busy'
	[ "$seconds" = 60 ] || words="$words|has not joined|mu_poll"
	said err "^  tasks? [0-9, -]+: ($words)" "a machine that is busy for $seconds s"
done

# A signal: the tasks get it, and the table is there, unless it would put off the signal for more than 3 s.
check_signal() {
	rm -f "$dir/signalled.out"
	start signalled run -n 2 "$task" idle
	until_said "$dir/signalled.out" idle
	kill -TERM "${started[signalled]}"
	ended signalled
	expect 143 "SIGTERM"
	said err '^torus run: where the tasks were when SIGTERM came:' "SIGTERM"
	said err '^  task.*: mu_poll' "SIGTERM"
}
patiently "1 2 3 4" check_signal
unsound "the last job"
finish
