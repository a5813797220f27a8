#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# virt_wakeup.sh PROGRAM: in virtual time, work that a commthread finds after it slept takes longer by the row
# commthread_wakeup, other work does not, and nothing else changes.
. "$QT_SOURCE/tests/harness/virtual.bash"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
rows=26

# costs NS: a file of costs with that row
costs() {
	echo "commthread_wakeup $1" >"$dir/$1.costs"
	echo "--costs=$dir/$1.costs"
}

# adds NS FILE: each row of FILE is longer than that of a job in which wakeups are free by NS a wakeup
adds() {
	paste -d' ' "$dir/free" "$2" | awk -v ns="$1" '
	{
		expected = ns * (every == "none" ? 0 : $2)
		if ($1 != $4 || $2 != $5) bad = "rows differ"
		else if ($6 - $3 < expected - 0.002 || $6 - $3 > expected + 0.002) bad = $1 ": " $6 - $3 " ns more, expected " expected
		if (bad) { print bad; exit 1 }
	}' every="${3:-}"
}

hash_of() {
	sed -n 's/.*hash \([0-9a-f]\{16\}\)$/\1/p' <<<"$out"
}

# rows_of FILE: what the last job printed
rows_of() {
	grep -E '^[a-z-]+ [01] [0-9.]+$' <<<"$out" >"$1"
	[ "$(wc -l <"$1")" = $rows ] || fail "$(wc -l <"$1") rows, expected $rows: $out"
}

default=$(torus machine --costs | sed -nE 's,^commthread_wakeup +([0-9.]+) ns$,\1,p')
[ -n "$default" ] || fail "torus machine --costs has no row commthread_wakeup"
[ "${default%.*}" -gt 0 ] || fail "the default, $default, is free"

export QUINTORUS_SPIN_MS=$((50 * scale))
for how in polls clock spins; do
	for fabric in torus express; do
		where="--fabric $fabric --shape 2x1x1x1x1"
		ends_same $how $where "$(costs 0)"
		rows_of "$dir/free"
		free_hash=$(hash_of)
		ends_same $how $where "$(costs 43.5)"
		rows_of "$dir/some"
		[ "$(hash_of)" != "$free_hash" ] || fail "$how $fabric: the answers leave at the same times"
		adds 43.5 "$dir/some" || fail "$how $fabric: 43.5 ns a wakeup"
		ends_same $how $where
		rows_of "$dir/default"
		adds "${default:-0}" "$dir/default" || fail "$how $fabric: the default"
		# A commthread that polls for 60 ms sleeps at none of these gaps.
		PAMI_COMMTHREAD_MIN_LOOPS=1000000 ends_same $how $where
		rows_of "$dir/awake"
		[ "$(hash_of)" = "$free_hash" ] || fail "$how $fabric: more than the row changes"
		adds "${default:-0}" "$dir/awake" none || fail "$how $fabric: a commthread that polls for long"
	done
done
exit $failed
