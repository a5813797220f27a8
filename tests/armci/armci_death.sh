#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# armci_death.sh PROGRAM: processes die while operations of ARMCI with them are outstanding. With --on-death error these
# operations end with errors, and the survivors continue: between nodes, between hosts, on one node, in virtual time.
. "$QT_SOURCE/tests/harness/run.bash"
limit=$((60 * ${QT_SCALE:-1}))
all=16

# survive DEATHS ARGS...: check that both survivors end well.
survive() {
	local deaths=$1 start
	shift
	start=$(date +%s%N)
	t run --on-death error --timeout $limit "$@"
	echo "$*: $((($(date +%s%N) - start) / 1000000)) ms"
	[ "$(grep -c '^survivor [01]: right$' "$dir/out")" = 2 ] ||
		{ fail "$*: not both survived (status $status)"; head -60 "$dir/err" "$dir/out"; }
	[ "$(grep -c 'the others go on' "$dir/err")" = "$deaths" ] || fail "$*: not $deaths deaths reported"
}

far="-n $all --shape ${all}x1x1x1x1"
survive 14 $far env QUINTORUS_ARMCI_ASSIST=always "$task" far
survive 14 $far --hosts local,local "$task" far
survive 14 $far --hw mu_atomics=full env QT_ATOMICS=1 "$task" far
survive 14 $far --hosts local,local --hw mu_atomics=full env QT_ATOMICS=1 "$task" far
survive 14 $far env QUINTORUS_ARMCI_CONTEXTS=1 "$task" far
survive 14 $far --hosts local,local env QUINTORUS_ARMCI_REGIONS=0 "$task" far
survive 14 -n $all "$task" near
for us in 2000 2345; do
	survive 1 --clock virtual --shape 3x1x1x1x1 --fault kill=2@$us "$task" time
	survive 1 --clock virtual --shape 3x1x1x1x1 --hw mu_atomics=full --fault kill=2@$us env QT_ATOMICS=1 "$task" time
done
finish
