#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# agas_end.sh PROGRAM: a rank dies at each step of agas_fini(); the survivors return from it.
. "$QT_SOURCE/tests/harness/run.bash"
limit=$((60 * ${QT_SCALE:-1}))

# survive RANKS ARGS...: all ranks but the last say that they are right.
survive() {
	local ranks=$1
	shift
	head -c 4096 /dev/zero >"$dir/out-of-it"
	t run --on-death error --timeout $limit "$@"
	[ "$(grep -c '^survivor [0-9]*: right' "$dir/err")" = $((ranks - 1)) ] ||
		fail "$*: not $((ranks - 1)) survived (status $status): $(tell err)"
	unsound "$*"
}

[ "${QT_LONG:-0}" = 0 ] && steps=6 || steps=100
for ((i = 0; i < steps; i++)); do
	us=$((RANDOM % 350))
	survive 4 -n 4 "$task" "$dir/out-of-it" $us
	survive 4 -n 4 --hosts local,local "$task" "$dir/out-of-it" $us
	survive 3 -n 3 --hw agas=hw-torus "$task" "$dir/out-of-it" $us
done
# In virtual time the other ranks learn of a death 100 us later.
if [ "${QT_SANITIZE:-}" != thread ]; then
	for options in '--shape 4x1x1x1x1' '--fabric torus --shape 4x1x1x1x1 --hw agas=hw-torus' '--shape 2x1x1x1x1x2'; do
		head -c 4096 /dev/zero >"$dir/out-of-it"
		# shellcheck disable=SC2086
		t run --clock virtual $options "$task" "$dir/out-of-it"
		expect 0 "$options"
		begins=$(grep -o '[0-9.]*' "$dir/out")
		ends=$(sed -n 's/.*virtual time \([0-9.]*\) us.*/\1/p' "$dir/err")
		echo "$options: agas_fini from $begins to $ends us"
		for ((i = 0; i <= steps; i++)); do
			us=$(awk -v b="$begins" -v e="$ends" -v i=$i -v n=$steps 'BEGIN {
				from = b > 105 ? b - 105 : 0
				printf "%.3f", from + (e - from) * i / n
			}')
			# shellcheck disable=SC2086
			survive 4 --clock virtual $options --fault kill=3@"$us" "$task" "$dir/out-of-it"
		done
	done
fi
finish
