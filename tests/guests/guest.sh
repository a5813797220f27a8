#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Run one guest program as several jobs, each of which must end well and in time.
# usage: guest.sh PROGRAM TEST, where tests/jobs.txt has the rows of TEST.
# A row is a list of words. First come any of
#   crowd         the job has two processors, whatever the machine has
#   busy          the same, and a CPU-bound process on each of the two
#   NAME=VALUE    a setting for the job
#   +CASE, !CASE  run only this case of the program, or all but this one (may repeat)
#   says:TEXT     standard error must hold TEXT (_ stands for a space)
#   fails         the job must end with an error instead of status 0
# and then, from the first word that starts with '-', the options of torus run.
#
# Time is judged because the habits tested here once cost a factor of 10 to 1000. The guests are written
# to need well under half a second in a row without other load, so such a row may take $floor ms, and a row
# with more load 5 times as long as the slowest of the rows without, or $floor ms (busy: 2.5 times that). A row that
# takes longer runs again, twice, with the limit raised by what other programs take of these processors.
set -u
. "$(dirname "$0")/../harness/jobs.bash"
program=$1
read_jobs "$2" || exit 1
command -v torus >/dev/null || { echo "no torus in PATH: run through meson test"; exit 1; }
floor=$((2000 * ${QT_SCALE:-1}))
dir=$(mktemp -d)
loops=()
stop_loops()
{
	[ ${#loops[@]} = 0 ] || kill "${loops[@]}" 2>/dev/null
	loops=()
}
trap 'stop_loops; rm -rf "$dir"' EXIT
cores=$(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' | awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) print i }' |
	head -2 | paste -sd,)
now() { echo $(($(date +%s%N) / 1000000)); }

# How much longer than alone a program needs here: 100 if nothing else runs, 300 if it gets a third.
others()
{
	python3 - "$cores" <<-'END'
		import os, sys, time
		worst = 1.0
		for core in sys.argv[1].split(','):
		    os.sched_setaffinity(0, {int(core)})
		    wall, cpu = time.monotonic(), time.process_time()
		    while time.process_time() - cpu < 0.1:
		        pass
		    worst = max(worst, (time.monotonic() - wall) / 0.1)
		print(int(100 * worst))
	END
}

# once ROW...: run the job; sets status and took.
once()
{
	local settings=() cases=() before=() from
	while [ $# -gt 0 ] && [[ $1 != -* ]]; do
		case $1 in
		crowd) before=(taskset -c "$cores") ;;
		busy)
			before=(taskset -c "$cores")
			for from in ${cores/,/ }; do
				taskset -c "$from" bash -c 'while :; do :; done' &
				loops+=($!)
			done
			;;
		+*) cases+=("${1#+}") ;;
		!*) cases+=("$1") ;;
		says:* | fails) ;;
		*=*) settings+=("$1") ;;
		*) echo "guest.sh: unknown word '$1'"; exit 2 ;;
		esac
		shift
	done
	from=$(now)
	"${before[@]}" env "${settings[@]}" timeout -s KILL $((10 * limit / 1000 + 5)) torus run --timeout $((10 * limit / 1000)) "$@" "$program" "${cases[@]}" \
		>"$dir/out" 2>"$dir/err" </dev/null
	status=$?
	took=$(($(now) - from))
	stop_loops
}

# What is wrong with the last job, apart from its time; empty if nothing.
wrong()
{
	local word
	[[ $1 == *fails* ]] || [ $status = 0 ] || echo "status $status"
	[[ $1 != *fails* ]] || { [ $status != 0 ] && [ $status != 124 ] && [ $status != 137 ]; } || echo "status $status, expected an error"
	for word in $1; do
		case $word in
		says:*)
			word=${word#says:}
			grep -q -- "${word//_/ }" "$dir/err" || echo "it did not say '${word//_/ }'"
			;;
		esac
	done
	grep -h -m1 'Sanitizer:\|runtime error' "$dir/out" "$dir/err"
}

bad=0
longest=0
for row in "${jobs[@]}"; do
	if [ "${QT_SANITIZE:-}" = thread ] && [[ $row = *virtual* ]] && ! grep -q pthread_create "$program"; then
		echo "$row: nothing for the thread sanitizer to see"
		continue
	fi
	limit=$floor
	[[ $row != *busy* ]] || limit=$((5 * floor / 2)) # each wait costs a time slice of the other program
	[[ $row != *crowd* && $row != *busy* ]] || [ $((5 * longest)) -le $limit ] || limit=$((5 * longest))
	for try in 1 2 3; do
		load=100
		once $row
		what=$(wrong "$row" | xargs)
		[ -z "$what" ] || [ $status = 124 ] || [ $status = 137 ] || break
		[ "$took" -gt "$limit" ] || break
		load=$(others)
		echo "again: $row: $took ms, status $status; others take $((load - 100))% more time"
		[ "$took" -gt $((limit * load / 100)) ] && [ "$took" -lt $((9 * limit)) -o "$load" -gt 200 ] || break
	done
	if [ -n "$what" ]; then
		bad=1
		echo "FAIL: $row: $what, $took ms"
		grep -h . "$dir/err" "$dir/out" | tail -40
	elif [ "$took" -le $((limit * load / 100)) ]; then
		[[ $row = *crowd* || $row = *busy* ]] || [ "$took" -lt "$longest" ] || longest=$took
		echo "ok: $row: $took ms"
	elif [ "$load" -gt 300 ]; then
		echo "not judged: $row: $took ms; others leave too little of the processors ($load%)"
	else
		bad=1
		echo "FAIL: $row: $took ms again and again; the limit is $((limit * load / 100)) ms"
		grep -h . "$dir/err" | sort | uniq | tail -40
	fi
done
exit $bad
