#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# spmv.sh: the matrix product on one node, several nodes, hop by hop, several hosts and in virtual time, every way
# of fetching, square and not; the same virtual run twice; files and arguments that are wrong.
set -u
bench=$QT_BUILD/bench
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0

say() {
	printf '%s: %s\n' "$1" "$2"
	if [ "$1" = FAIL ]; then failed=1; fi
}

right() { # WHAT CHECKS ARGS...: status 0 and that many results that are ok
	local what=$1 want=$2 out got
	shift 2
	out=$(timeout $((100 * ${QT_SCALE:-1})) torus run "$@" 2>&1)
	local status=$? && got=$(grep -c ' ok$' <<<"$out")
	if [ $status = 0 ] && [ "$got" = "$want" ] && grep -q 'verdict: correct' <<<"$out"; then
		say ok "$what"
	else
		say FAIL "$what: status $status, $got results"
		tail -5 <<<"$out"
	fi
}

wrong() { # WHAT STATUS TEXT ARGS...
	local what=$1 want=$2 text=$3 out
	shift 3
	out=$(timeout $((60 * ${QT_SCALE:-1})) torus run "$@" 2>&1)
	local status=$?
	if [ $status = "$want" ] && grep -qF -- "$text" <<<"$out"; then
		say ok "$what"
	else
		say FAIL "$what: status $status"
		tail -5 <<<"$out"
	fi
}

"$bench/mtx_make" --rows 3001 --seed 7 "$dir/a.mtx" 2>"$dir/made" || say FAIL "mtx_make"
"$bench/mtx_make" --rows 3001 --seed 7 "$dir/b.mtx" 2>/dev/null
cmp -s "$dir/a.mtx" "$dir/b.mtx" || say FAIL "the same seed gives another matrix"
"$bench/mtx_make" --rows 3001 --shuffle 1000 "$dir/shuffled.mtx" 2>/dev/null
printf '%%%%MatrixMarket matrix coordinate integer symmetric\n4 4 4\n1 1 2\n2 1 -1\n4 4 5\n4 1 3\n' >"$dir/small.mtx"
printf '%%%%MatrixMarket matrix coordinate real general\n2 5 3\n1 1 1\n1 5 2\n2 3 -4\n' >"$dir/wide.mtx"
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1\n4 1 2\n' >"$dir/bad.mtx"

"$bench/mtx_make" "$dir/full.mtx" 2>"$dir/made"
entries=$(sed -n 's/.* rows, \([0-9]*\) entries.*/\1/p' "$dir/made")
if [ "${entries:-0}" -gt 1667062 ] && [ "$entries" -lt 1700742 ]; then # within 1% of 1,683,902
	say ok "41,092 rows, $entries entries"
else
	say FAIL "41,092 rows: $(cat "$dir/made")"
fi

right 'one process' 4 -n 1 "$bench/spmv" --fetch all -n 3 "$dir/a.mtx"
right 'three tasks of a node' 4 -n 3 "$bench/spmv" --fetch all -n 5 "$dir/shuffled.mtx"
right 'four nodes' 4 --shape 2x2x1x1x1x1 "$bench/spmv" --fetch all -n 5 "$dir/shuffled.mtx"
right 'four nodes, hop by hop' 1 --fabric torus --shape 2x2x1x1x1x1 "$bench/spmv" -n 3 "$dir/shuffled.mtx"
right 'two hosts' 1 -n 4 --hosts local,local "$bench/spmv" -n 3 "$dir/a.mtx"
right 'more processes than rows' 4 -n 6 "$bench/spmv" --fetch all -n 4 "$dir/small.mtx"
right 'a matrix that is not square' 4 -n 4 "$bench/spmv" --fetch all -n 4 "$dir/wide.mtx"
right 'the paper'\''s size' 1 --shape 2x2x1x1x1x1 "$bench/spmv" -n 2 "$dir/full.mtx"
right 'virtual time' 4 --clock virtual --shape 2x2x1x1x1x1 "$bench/spmv" --fetch all -n 2 "$dir/shuffled.mtx"
once=$(torus run --clock virtual --shape 2x2x1x1x1x1 "$bench/spmv" -n 2 "$dir/a.mtx" 2>&1 | grep -E 'vector|hash')
again=$(torus run --clock virtual --shape 2x2x1x1x1x1 "$bench/spmv" -n 2 "$dir/a.mtx" 2>&1 | grep -E 'vector|hash')
if [ "$once" = "$again" ] && grep -q hash <<<"$once"; then say ok 'twice the same'; else say FAIL "$once, then $again"; fi
right 'standard input' 1 -n 2 "$bench/spmv" -n 2 - <"$dir/a.mtx"

wrong 'a bad file' 1 'bad.mtx:4: row 4 is outside 1 .. 3' -n 2 "$bench/spmv" "$dir/bad.mtx"
wrong 'no file' 1 'No such file' -n 2 "$bench/spmv" "$dir/none.mtx"
wrong 'no argument' 64 'say which Matrix Market file' -n 2 "$bench/spmv"
wrong 'a bad argument' 64 '--fetch is' -n 2 "$bench/spmv" -f none "$dir/a.mtx"
wrong 'help' 0 'Multiply a sparse matrix' -n 2 "$bench/spmv" --help
if torus run -n 2 "$bench/spmv" --json --fetch all -n 2 "$dir/a.mtx" 2>/dev/null | python3 -c '
import json, sys
rows = [json.loads(line) for line in sys.stdin]
sys.exit(len(rows) != 4 or any(r["check"] != "ok" for r in rows))'; then
	say ok 'JSON'
else
	say FAIL 'JSON'
fi
exit $failed
