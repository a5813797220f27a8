#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Overload on the smallest credits, in both clocks: every task sends full packets to all others as fast as
# they go, deterministic and dynamic, with gets on two channels. Nothing may stand still or be lost.
# QT_LONG=1: a minute of each shape in each clock.
. "$QT_SOURCE/tests/harness/run.bash"

smallest=vc_dynamic_slots=2,vc_deterministic_slots=2,vc_high_slots=2,vc_system_slots=2,coll_slots=1,injection_slots=1
export PAMI_ROUTING=0,1,0:4,1,1

overload() { # packets to each other task, options ...
	local n=$1
	shift
	t run --fabric torus --hw "$smallest" "$@" "$task" overload "$n"
	expect 0 "overload $*"
	said out '^ok$' "overload $*"
}

# As many runs as take a minute.
long() {
	local until=$((SECONDS + 60))
	while [ "$SECONDS" -lt $until ] && [ "$fails" = 0 ]; do
		overload "$@" --seed $RANDOM
	done
}

run=overload scale=1
[ "${QT_LONG:-0}" = 1 ] && run=long scale=20
for shape in 4x1x1x1x1 3x2x1x1x1 2x2x2x1x1 4Mx2x1x1x1; do
	$run $((60 * scale)) --shape $shape
done
$run $((60 * scale)) --shape 3x2x1x1x1 --hosts local,local
for shape in 5x1x1x1x1 4x4x1x1x1 3x3x3x1x1 2x2x2x2x2 1x7x1x1x1 5Mx2x2Mx1x1; do
	$run $((8 * scale)) --clock virtual --shape $shape
done

# The command that takes a minute for each shape and clock, in short.
"$QT_SOURCE/tests/overload" --seconds 0 --packets 20 4x1x1x1x1 3Mx2x1x1x1 >"$dir/out" 2>"$dir/err"
status=$?
expect 0 "tests/overload"
[ "$(grep -c ' 1 runs  ok$' "$dir/out")" = 4 ] || fail "tests/overload: $(tell out)"

finish
