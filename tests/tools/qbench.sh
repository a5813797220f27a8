#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The bench itself: right data on both fabrics and clocks, well-formed output, wrong arguments refused.
set -u
PATH=$QT_BUILD/bench:$PATH
failures=0
out=$(mktemp)
trap 'rm -f "$out" "$out.2" "$out.err"' EXIT

bad()
{
	echo "FAILED: $*"
	failures=$((failures + 1))
}

bench() # options of torus run, --, arguments of qbench
{
	local options=()
	while [ "$1" != -- ]; do options+=("$1") && shift; done
	shift
	timeout $((100 * ${QT_SCALE:-1})) torus run "${options[@]}" qbench "$@" >"$out" 2>"$out.err" && return 0
	bad "torus run ${options[*]} qbench $*: exit status $?"
	tail -n 5 "$out" "$out.err"
	return 1
}

for fabric in express torus; do
	if bench -n 3 --shape 3x1x1x1x1 --fabric $fabric -- latency,rate,rdma,fifo,exchange,rmw,objects,idle --to 1,2 --ms 0.2 \
		--repetitions 2 --sizes 0,1,513,70000 --json; then
		grep -q '"check":"BAD"' "$out" && bad "fabric $fabric: wrong data"
		[ "$(grep -c '"check":"ok"' "$out")" = 40 ] || bad "fabric $fabric: not 40 checked rows"
		python3 -c 'import json,sys; [json.loads(l) for l in sys.stdin]' <"$out" || bad "fabric $fabric: bad JSON"
		grep -q '"hops":1' "$out" || bad "fabric $fabric: no hops"
	fi
done

# Threads and contexts: that they end, and say what they should.
if bench -n 2 -- contexts,post,advance --ms 0.2 --repetitions 2 --json; then
	for variant in '"1 context"' '"4 contexts"' '"2 commthreads"' '"stream"' '"asleep"' '"empty"'; do
		grep -q "\"variant\":$variant" "$out" || [ "$variant$(nproc)" = '"stream"1' ] || bad "no row $variant"
	done
fi
bench -n 2 --shape 2x1x1x1x1 -- rdma,node --arena --sizes 70000 --ms 0.2 --repetitions 2 --json &&
	[ "$(grep -c '"check":"ok"' "$out")" = 4 ] || bad "shared memory: not 4 checked rows"
"$QT_SOURCE/bench/figures/pami_figures" --build "$QT_BUILD" --virtual --json pami-t1 >"$out" 2>"$out.err" ||
	bad "pami_figures: exit status $?: $(tail -1 "$out.err")"
[ "$(grep -c '"note": "cal"' "$out")" = 2 ] || bad "pami_figures: not two calibrated rows"

virtual=(-n 4 --shape 2x2x1x1x1 --clock virtual)
if bench "${virtual[@]}" -- latency,rdma --to 1,3 --ms 0.05 --sizes 0,8,5000 --csv; then
	grep -v '^#' "$out" >"$out.2"
	grep -q ',BAD$' "$out" && bad "virtual: wrong data"
	[ "$(awk -F, '{ print NF }' "$out.2" | sort -u)" = 17 ] || bad "CSV rows do not have the columns of the head"
	bench "${virtual[@]}" -- latency,rdma --to 1,3 --ms 0.05 --sizes 0,8,5000 --csv &&
		grep -v '^#' "$out" | cmp -s - "$out.2" || bad "virtual: two runs differ"
fi

for arguments in "" "nonesuch" "latency --to 0x" "latency --sizes 8," "rate --window 0" "latency --frobnicate" "latency extra"; do
	qbench $arguments >"$out" 2>"$out.err"
	[ $? = 2 ] || bad "'qbench $arguments' is not refused"
	grep -q 'qbench --help' "$out.err" || bad "'qbench $arguments' does not say where help is"
done
timeout $((60 * ${QT_SCALE:-1})) torus run -n 2 qbench latency --to 5 >"$out" 2>&1 && bad "--to 5 of 2 tasks is taken"
grep -q 'no task 5' "$out" || bad "--to 5 of 2 tasks is not explained"
[ "$failures" = 0 ]
