#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A member that dies during each collective (or while geometries are made), --on-death error: in one team, in several,
# between nodes.
# usage: pami_coll_death.sh PROGRAM   (QT_LONG=1: many seeds)
. "$QT_SOURCE/tests/harness/run.bash"
limit=$((60 * ${QT_SCALE:-1}))
all=25

survive() { # survive ARGS...
	local seed=$RANDOM start
	start=$(date +%s%N)
	t run --on-death error --timeout $limit "$@" "$task" "$seed"
	echo "$*: seed $seed, $((($(date +%s%N) - start) / 1000000)) ms"
	[ "$(grep -c '^survivor [012]: right$' "$dir/out")" = 3 ] ||
		{ fail "$* seed $seed: not all survived (status $status)"; head -30 "$dir/err" "$dir/out"; }
	[ "$status" != 124 ] || fail "$* seed $seed: no end"
	unsound "$* seed $seed"
}

for round in $(seq "$([ "${QT_LONG:-0}" != 0 ] && echo 40 || echo 1)"); do
	survive -n $all
	survive -n $all --hosts local,local
	survive -n $all --shape ${all}x1x1x1x1 --hosts local,local,local
	survive --fabric torus --shape 5x5x1x1x1 --hosts local,local
	survive --fabric torus --shape 5x1x1x1x1x5
	survive --clock virtual --shape 5x5x1x1x1
	survive --clock virtual --fabric express --shape 5x1x1x1x1x5
done
finish
