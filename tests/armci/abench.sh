#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The ARMCI applications of abench verify what they computed, in both clocks; and in virtual time, where numbers are
# exact, asynchronous progress does what it is for.
set -u
. "$QT_SOURCE/tests/harness/jobs.bash"
PATH=$QT_BUILD/bench:$PATH
failed=0

run() {
	local what=$1 out
	shift
	is_left_out && return
	if out=$(timeout $((60 * ${QT_SCALE:-1})) torus run "$@" 2>&1) && ! grep -q BAD <<<"$out"; then
		printf 'ok: %s\n' "$what"
	else
		printf 'FAIL: %s\n' "$what"
		tail -20 <<<"$out"
		failed=1
	fi
}

for clock in real virtual; do
	for app in 'mg' 'mg --only messages' 'lu --size 160' 'lattice --size 32 --steps 5' 'scf --size 4 --steps 20'; do
		run "$app, two nodes, $clock" --clock $clock --shape 2x1x1x1x1x1 abench $app
		run "$app, four tasks, $clock" --clock $clock --shape 2x1x1x1x1x2 abench $app
	done
done
run 'mg, one process' -n 1 abench mg
for bench in latency add bandwidth patch rows chunks accumulate; do
	run "$bench" --shape 2x1x1x1x1x1 abench $bench --size 64 --repetitions 1
done
run aggregate --shape 2x1x1x1x1x1 abench aggregate --repetitions 1
run attributes --shape 2x1x1x1x1x1 abench attributes
run overlap --clock virtual --shape 2x1x1x1x1x1 abench overlap --size 65536

# mean us of a fetch-and-add while process 0 computes 300 us at a time
mean() {
	torus run --clock virtual --shape 4x1x1x1x1x1 env ARMCI_PROGRESS_THREAD="$1" abench counter --steps 300 --csv 2>/dev/null |
		awk -F, '$2 == "mean" { printf "%d", $5 }'
}
with=$(mean 1) without=$(mean 0)
if [ "${with:-1000}" -le 10 ] && [ "${without:-0}" -ge 100 ]; then
	echo "ok: a counter at a computing process, virtual: $with us, $without us without asynchronous progress"
else
	echo "FAIL: a counter at a computing process, virtual: '$with' us, '$without' us without asynchronous progress"
	failed=1
fi
exit $failed
