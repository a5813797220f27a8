#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# torus run: output and input of tasks, tagged and not, large, and with slow or missing readers.
. "$QT_SOURCE/tests/harness/run.bash"

same() { # same WHAT EXPECTED-FILE GOT-FILE
	cmp -s "$2" "$3" || fail "$1: $(cmp "$2" "$3" 2>&1)"
}

t run -n 3 --tag sh -c 'echo one; echo two; echo bad >&2'
expect 0 tag
lines out 6 tag
lines err 3 tag
sort "$dir/out" >"$dir/sorted"
printf '[0] one\n[0] two\n[1] one\n[1] two\n[2] one\n[2] two\n' | sort >"$dir/want"
same tag "$dir/want" "$dir/sorted"
said err '^\[2\] bad$' tag

# Lines stay whole, in order, however much there is and however it is cut.
t run -n 8 --tag seq 100000
expect 0 "much tagged output"
for i in 0 7; do
	grep "^\[$i\] " "$dir/out" >"$dir/got"
	seq 100000 | sed "s/^/[$i] /" >"$dir/want"
	same "tagged lines of task $i" "$dir/want" "$dir/got"
done
lines out 800000 "much tagged output"

t run -n 1 --tag sh -c 'printf "no end"'
[ "$(cat "$dir/out")" = "[0] no end" ] || fail "a last line without an end: $(cat "$dir/out")"
t run -n 1 --tag sh -c 'printf "a"; sleep 0.2; printf "b\nc"; sleep 0.2; echo d'
[ "$(tr '\n' '|' <"$dir/out")" = "[0] ab|[0] cd|" ] || fail "lines in pieces: $(cat "$dir/out")"
# Over 64 KiB a line is cut, nothing of it is lost.
t run -n 1 --tag sh -c 'head -c 200000 /dev/zero | tr "\0" x; echo'
[ "$(sed 's/^\[0\] //' "$dir/out" | tr -d '\n' | wc -c)" = 200000 ] || fail "a line of 200000 characters"
t run -n 1 sh -c 'head -c 50000000 /dev/zero'
[ "$(wc -c <"$dir/out")" = 50000000 ] || fail "50 MB: $(wc -c <"$dir/out") bytes"

# Task 0 reads our input, the others nothing.
seq 200000 >"$dir/in"
torus run -n 3 cat <"$dir/in" >"$dir/out" || fail "input: status $?"
same "input from a file" "$dir/in" "$dir/out"
cat "$dir/in" | torus run -n 3 --tag cat >"$dir/out" || fail "input, tagged: status $?"
sed 's/^/[0] /' "$dir/in" >"$dir/want"
same "input from a pipe, tagged" "$dir/want" "$dir/out"
# A program that does not read takes nothing away from what follows.
(torus run -n 2 true; cat) <"$dir/in" >"$dir/out"
same "input not read" "$dir/in" "$dir/out"
# Closed descriptors do no harm.
torus run -n 2 true <&- || fail "closed stdin: status $?"
torus run -n 2 true >&- || fail "closed stdout: status $?"
torus run -n 2 sh -c 'echo x; echo y >&2' >&- 2>&- <&- || fail "closed stdin, stdout and stderr: status $?"
torus run -n 2 --tag true >&- 2>&- || fail "closed stdout and stderr: status $?"

# The reader goes away: the job ends as a program of one process would.
torus run -n 4 --tag sh -c 'while :; do echo y; done' 2>/dev/null | head -2 >/dev/null
[ "${PIPESTATUS[0]}" = 141 ] || fail "reader gone, tagged: status ${PIPESTATUS[0]}"
torus run -n 4 sh -c 'while :; do echo y || exit 5; done' 2>/dev/null | head -2 >/dev/null
case ${PIPESTATUS[0]} in 141 | 5) ;; *) fail "reader gone: status ${PIPESTATUS[0]}" ;; esac

# A slow reader loses nothing and stops nobody's end.
torus run -n 4 --tag seq 20000 | (sleep 0.5; cat) >"$dir/out"
lines out 80000 "slow reader"

# What a task said last comes before what is said about its end.
t run -n 2 --tag sh -c 'echo my last word >&2; exit $QUINTORUS_TASK'
[ "$(grep -E '^\[1\]|task 1' "$dir/err" | tail -1 | cut -c1-17)" = "torus run: task 1" ] &&
	grep -q '^\[1\] my last word' "$dir/err" || fail "order of messages: $(cat "$dir/err")"

# What tasks printed before --timeout is not lost, though it goes to a pipe or a file. The jobs run side by side.
check_late() { # SECONDS
	local tag hosts pids=()
	for tag in '' --tag; do
		for hosts in local local,local; do
			(torus run -n 2 $tag --hosts $hosts --timeout "$1" "$task" print 2>"$dir/late$tag$hosts.err" </dev/null |
				cat >"$dir/late$tag$hosts") &
			pids+=($!)
		done
	done
	start names run -n 2 --timeout "$1" sh -c '[ $QUINTORUS_TASK = 0 ] || sleep 600'
	wait "${pids[@]}"
	for tag in '' --tag; do
		for hosts in local local,local; do
			cp "$dir/late$tag$hosts.err" "$dir/err"
			[ "$(grep -c 'first$' "$dir/late$tag$hosts")" = 2 ] && [ "$(grep -c 'second$' "$dir/late$tag$hosts")" = 2 ] ||
				fail "printed before --timeout ($tag, $hosts): $(cat "$dir/late$tag$hosts")"
			said err 'still running: tasks 0, 1$' "--timeout ($tag, $hosts)"
		done
	done
	ended names
	said err 'still running: task 1$' "--timeout names the task"
}
patiently "4 20 100" check_late
QUINTORUS_STDOUT=program t run -n 1 --timeout 1 "$task" print
! grep -q first "$dir/out" || fail "QUINTORUS_STDOUT=program: $(cat "$dir/out")"

t run -n 64 --tag sh -c 'echo $QUINTORUS_TASK'
expect 0 "64 tasks"
sort -V "$dir/out" >"$dir/sorted"
for i in $(seq 0 63); do echo "[$i] $i"; done >"$dir/want"
same "64 tasks" "$dir/want" "$dir/sorted"

# Descriptors of the caller reach the tasks; those of torus run do not.
t run -n 1 sh -c 'cat /dev/fd/9' 9<"$dir/want"
same "an inherited descriptor" "$dir/want" "$dir/out"
t run -n 2 --tag sh -c 'ls -l /proc/self/fd | grep -c socket:'
expect 1 "no socket of ours in a task"
finish
