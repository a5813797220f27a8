#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Processes that die while operations of ARMCI with them are under way: with --on-death error these end with errors,
# and the others go on. Between nodes, between hosts, on one node, in virtual time.
# usage: armci_death.sh PROGRAM
. "$(dirname "$0")/run.bash"
limit=$((60 * ${QT_SCALE:-1}))
all=16

survive() { # survive DEATHS ARGS...: both survivors come to a good end
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
survive 14 $far env QUINTORUS_ARMCI_CONTEXTS=1 "$task" far
survive 14 $far --hosts local,local env QUINTORUS_ARMCI_REGIONS=0 "$task" far
survive 14 -n $all "$task" near
for us in 2000 2345; do
	survive 1 --clock virtual --shape 3x1x1x1x1 --fault kill=2@$us "$task" time
done
finish
