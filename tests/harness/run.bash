# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the tests of torus run. $1 of the test is the task program (run_task.c).
set -u
task=$1
command -v torus >/dev/null || { echo "no torus in PATH: run through meson test"; exit 1; }
dir=$(mktemp -d)
fails=0
seed=${QT_SEED:-$RANDOM}
mark_name=QT_TEST_MARK
trap 'rm -rf "$dir"' EXIT
RANDOM=$seed
echo "seed $seed (QT_SEED=$seed repeats it)"

fail() {
	echo "FAIL: $*"
	fails=$((fails + 1))
}

finish() {
	[ "$fails" = 0 ] && echo "all passed"
	exit $((fails > 0))
}

# Run torus with the arguments given; sets status, and fills $dir/out and $dir/err.
t() {
	torus "$@" >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
}

# Jobs side by side: start NAME torus-arguments... starts one; ended NAME waits for it, and sets what t sets.
declare -A started
start() {
	local name=$1
	shift
	torus "$@" >"$dir/$name.out" 2>"$dir/$name.err" </dev/null &
	started[$name]=$!
}

ended() {
	wait "${started[$1]}"
	status=$?
	cp "$dir/$1.out" "$dir/out"
	cp "$dir/$1.err" "$dir/err"
}

# patiently LIMITS FUNCTION: FUNCTION SECONDS runs jobs that end by a time limit, and checks what they did before. The machine
# may have had no time for them: while a check fails, it runs again with the next limit of the list.
patiently() {
	local before=$fails limit
	for limit in $1; do
		[ "$fails" = "$before" ] || echo "once more: $2 $limit"
		fails=$before
		"$2" "$limit"
		[ "$fails" != "$before" ] || return
	done
}

# tell out|err: what explains a failure best: first what is no warning, at most 5 lines.
tell() {
	{
		grep -v 'warning: ' "$dir/$1"
		grep 'warning: ' "$dir/$1"
	} | head -5 | cut -c 1-250
}

# expect STATUS WHAT: the last t or ended gave this exit status.
expect() {
	[ "$status" = "$1" ] || fail "$2: status $status, expected $1; it said: $(tell err)"
}

said() { # said out|err REGEX WHAT
	grep -Eq -- "$2" "$dir/$1" || fail "$3: no '$2' in $1: $(tell "$1")"
}

# unsound WHAT: a sanitizer spoke in the last t; its status cannot tell where a task is killed.
unsound() {
	! grep -q 'Sanitizer:\|runtime error' "$dir/out" "$dir/err" ||
		{ fail "$1: a sanitizer spoke"; grep -h -A20 'Sanitizer:\|runtime error' "$dir/out" "$dir/err" | head -60; }
}

lines() { # lines out|err N WHAT
	local n
	n=$(wc -l <"$dir/$1")
	[ "$n" = "$2" ] || fail "$3: $n lines in $1, expected $2: $(head -3 "$dir/$1")"
}

# Processes started with the mark $1 in their environment that still live.
survivors() {
	local file
	for file in $(grep -lzs "^$mark_name=$1\$" /proc/[0-9]*/environ 2>/dev/null); do
		basename "$(dirname "$file")"
	done
}

# none_left MARK WHAT: all of them are gone soon (within a second, where the machine is free).
none_left() {
	local until=$((SECONDS + 10)) left
	while left=$(survivors "$1") && [ -n "$left" ]; do
		if [ $SECONDS -ge $until ]; then
			fail "$2: processes left: $(for p in $left; do tr '\0' ' ' <"/proc/$p/cmdline"; echo "($p);"; done)"
			kill -9 $left 2>/dev/null
			return
		fi
		sleep 0.02
	done
}

# Before starting a job in the background: what the last one said must not be taken for its words.
forget() {
	rm -f "$dir/out" "$dir/err"
}

# kill_twice PID: send TERM, and again until the process ends: two signals are one if it had no processor between them.
kill_twice() {
	local until=$((SECONDS + 30 * ${QT_SCALE:-1}))
	while kill -TERM "$1" 2>/dev/null; do
		[ $SECONDS -lt $until ] || { fail "TERM again and again does not end torus run"; kill -9 "$1"; return; }
		sleep 0.2
	done
}

# until_said FILE TEXT: wait until a file holds a text, at most 20 s.
until_said() {
	local until=$((SECONDS + 20 * ${QT_SCALE:-1}))
	until grep -q "$2" "$1" 2>/dev/null; do
		[ $SECONDS -lt $until ] || { fail "no '$2' in $1"; return 1; }
		sleep 0.02
	done
}
