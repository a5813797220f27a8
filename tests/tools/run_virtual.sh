#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# torus run --clock virtual: the same run twice, what it reports, and that failures end it.
. "$QT_SOURCE/tests/harness/run.bash"

hash_of() {
	sed -n 's/.*hash \([0-9a-f]\{16\}\)$/\1/p' "$dir/err"
}

t run --clock virtual --shape 2x2x2x1x1 "$task" exchange
expect 0 virtual
said out '^ok$' virtual
first=$(hash_of)
[ -n "$first" ] || fail "no hash: $(cat "$dir/err")"
t run --clock virtual --shape 2x2x2x1x1 --tag "$task" exchange
[ "$(hash_of)" = "$first" ] || fail "two runs: hashes $first and $(hash_of)"
t run --clock virtual --shape 2x2x2x1x1 --hw hop_ns=100 "$task" exchange
expect 0 "--hw"
[ "$(hash_of)" != "$first" ] || fail "--hw hop_ns=100 changed nothing"
t run --clock virtual --shape 2x2x2x1x1 --hw colour=red "$task" exchange
expect 2 "--hw colour"
lines err 1 "--hw colour"
printf 'send_immediate 5000\n' >"$dir/costs"
t run --clock virtual --shape 2x2x2x1x1 --costs "$dir/costs" "$task" exchange
expect 0 "--costs"
printf 'send_immediate much\n' >"$dir/costs"
t run --clock virtual --shape 2x2x2x1x1 --costs "$dir/costs" "$task" exchange
expect 2 "wrong --costs"
lines err 1 "wrong --costs"

# Both clocks and fabrics count the same traffic on each link.
t run --clock virtual --shape 2x1x3x1x1 --report "$task" exchange
grep -E '^  [A-E][-+] ' "$dir/err" | awk '{print $1, $2}' >"$dir/virtual"
t run --clock real --fabric torus --shape 2x1x3x1x1 --report "$task" exchange
expect 0 "--report"
grep -E '^  [A-E][-+] ' "$dir/err" | awk '{print $1, $2}' >"$dir/real"
cmp -s "$dir/real" "$dir/virtual" || fail "link counts differ: $(paste "$dir/real" "$dir/virtual")"
for hosts in local local,local; do
	t run --fabric express --hosts $hosts --shape 2x1x3x1x1 --report "$task" exchange
	grep -E '^  [A-E][-+] ' "$dir/err" | awk '{print $1, $2}' >"$dir/express"
	cmp -s "$dir/real" "$dir/express" || fail "link counts of express: $(paste "$dir/real" "$dir/express")"
done
[ "$(wc -l <"$dir/real")" = 4 ] || fail "link table: $(cat "$dir/err")"

t run --clock virtual --shape 2x1x3x1x1 --report=json "$task" exchange
python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
assert r["virtual"]["reproducible"] and len(r["virtual"]["hash"]) == 16
assert sum(l["packets"] for l in r["links"]) == r["virtual"]["hops"] > 0' "$dir/err" || fail "--report=json: $(cat "$dir/err")"

# Failures.
marked() {
	local m=$RANDOM.$RANDOM
	env "$mark_name=$m" torus run --clock virtual "$@" >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
	none_left "$m" "$*"
}
marked -n 4 "$task" busy-exit 2
expect 9 "a task exits in the middle"
said err 'task 2 at .* exit status 9' "a task exits in the middle"
marked -n 4 sh -c '[ $QUINTORUS_TASK != 1 ] || exit 3; exec "$0" exchange' "$task"
expect 3 "a task that never comes"
marked -n 4 --timeout 1 sh -c 'sleep 60; true'
expect 124 "tasks that never come"
for kind in task agent run; do
	m=$RANDOM.$RANDOM
	forget
	env "$mark_name=$m" torus run --clock virtual -n 4 "$task" busy >"$dir/out" 2>"$dir/err" </dev/null &
	pid=$!
	until_said "$dir/out" busy
	agent=$(pgrep -P $pid)
	case $kind in
	task) victim=$(pgrep -P "$agent" | head -1) ;;
	agent) victim=$agent ;;
	run) victim=$pid ;;
	esac
	kill -9 "$victim"
	wait $pid 2>/dev/null
	none_left "$m" "virtual: kill -9 of $kind"
done
finish
