#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The harness itself: a failing, a skipping and a dying case must be seen as such.
set -u
program=$1
unset QT_TAP QT_SEED
failures=0

check() # what, expected, got
{
	if [ "$2" != "$3" ]; then
		echo "$1: expected '$2', got '$3'"
		failures=$((failures + 1))
	fi
}

status() # cases...
{
	"$program" "$@" >/dev/null 2>&1
	echo $?
}

check "pass" 0 "$(status passing_case children_end_as_told directory_is_removed)"
check "fail" 1 "$(status failing_case)"
for case in fails_in_a_string fails_nearly stops_at_require; do
	check "$case" 1 "$(status $case)"
done
check "fail beside pass" 1 "$(status passing_case failing_case)"
check "all skipped" 77 "$(status skipping_case)"
check "one skipped" 0 "$(status passing_case skipping_case)"
check "death" 134 "$(status dying_case)"
check "no such case" 1 "$(status nonesuch)"
check "TAP" "1..2 ok 1 - passing_case not ok 2 - failing_case" "$("$program" passing_case failing_case 2>/dev/null | xargs)"
check "skip reason" "ok 1 - skipping_case # SKIP no luck here" "$("$program" skipping_case 2>/dev/null | tail -1)"
check "same seed, same chance" "$("$program" --seed 5 chance_is_repeated 2>&1 >/dev/null | grep chance.*[0-9a-f]$ | head -1)" \
	"$(QT_SEED=5 "$program" chance_is_repeated 2>&1 >/dev/null | grep chance.*[0-9a-f]$ | head -1)"
dir=$("$program" directory_is_removed 2>&1 | sed -n 's/^directory \(\/.*\)/\1/p')
check "directory removed" no "$([ -n "$dir" ] && [ -e "$dir" ] && echo yes || echo no)"

# What counts the results must see a failed case, a died program, a bad status after the last case.
log=$(mktemp)
failed=$(mktemp)
trap 'rm -f "$log" "$failed"' EXIT
cat >"$log" <<'EOF'
{"name": "a", "result": "OK", "returncode": 0, "stdout": "1..3\nok 1 - x\nnot ok 2 - y\nok 3 - z # SKIP why\n"}
{"name": "b", "result": "ERROR", "returncode": -6, "stdout": "1..3\nok 1 - x\n", "stderr": "x failed: boom\nlater"}
{"name": "c", "result": "ERROR", "returncode": 1, "stdout": "1..1\nok 1 - x\n"}
{"name": "d", "result": "SKIP", "returncode": 77, "stdout": "no root\n"}
{"name": "e", "result": "TIMEOUT", "returncode": -15}
{"name": "f", "result": "OK", "returncode": 0, "stdout": "", "duration": 2.6}
EOF
check "counts" "4 5 2" "$(python3 "$QT_SOURCE/tests/harness/results.py" "$log" | tail -1)"
check "slowest" "  slowest: f 3 s, a 0 s" "$(python3 "$QT_SOURCE/tests/harness/results.py" "$log" | tail -2 | head -1 | cut -d, -f1,2)"
check "counts, with two tests lost" "4 7 2" "$(python3 "$QT_SOURCE/tests/harness/results.py" "$log" 8 | tail -1)"
# The reason of a failure is kept, however far from the end of the output it stands.
python3 "$QT_SOURCE/tests/harness/results.py" "$log" 6 plain "$failed" >/dev/null
check "failures" "plain: a: OK after 0.0 s|not ok 2 - y|plain: b: ERROR after 0.0 s|x failed: boom" \
	"$(sed 's/^ *//' "$failed" | head -4 | paste -sd'|')"
[ "$failures" = 0 ]
