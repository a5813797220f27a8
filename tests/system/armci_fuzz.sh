#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# armci_fuzz.sh PROGRAM [clock]: random operations of ARMCI against a model, over nodes, tasks, fabrics and protocols.
set -u
program=$1
seed=${QT_SEED:-$RANDOM}
failed=0
echo "seed $seed (QT_SEED=$seed repeats)"

run() {
	local what=$1 out
	shift
	if out=$(timeout $((100 * ${QT_SCALE:-1})) torus run "$@" 2>&1) && grep -q '^PASS' <<<"$out"; then
		printf 'ok: %s\n' "$what"
	else
		printf 'FAIL: %s\n' "$what"
		tail -20 <<<"$out"
		failed=1
	fi
	seed=$((seed + 1))
}

if [ "${2:-}" = virtual ]; then
	run 'virtual time, two nodes' --clock virtual --shape 2x1x1x1x1x1 "$program" 60 $seed
	run 'virtual time, four nodes, two tasks each' --clock virtual --shape 2x2x1x1x1x2 "$program" 30 $seed
	exit $failed
fi
run 'one process' -n 1 "$program" 300 $seed
run 'three tasks of a node' -n 3 "$program" 300 $seed
run 'two nodes' --shape 2x1x1x1x1x1 "$program" 400 $seed
run 'four nodes, two tasks each' --shape 2x2x1x1x1x2 "$program" 150 $seed
run 'three nodes, all packed' --shape 3x1x1x1x1x1 env QUINTORUS_ARMCI_PACK=1000000000 "$program" 200 $seed
run 'three nodes, nothing packed' --shape 3x1x1x1x1x1 env QUINTORUS_ARMCI_PACK=0 "$program" 200 $seed
run 'two nodes, no asynchronous progress' --shape 2x1x1x1x1x1 env ARMCI_PROGRESS_THREAD=0 "$program" 200 $seed
run 'two hosts' -n 4 --hosts local,local "$program" 100 $seed
run 'two hosts, frames lost and swapped' -n 2 --hosts local,local --fault loss=0.05,reorder=0.05,seed=$seed "$program" 60 $seed
run 'two hosts, hop by hop' -n 4 --hosts local,local --fabric torus "$program" 60 $seed
run 'three nodes, hop by hop' --fabric torus --shape 3x1x1x1x1x1 "$program" 100 $seed
exit $failed
