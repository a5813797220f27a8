#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# agas_near.sh PROGRAM: a block moves in the middle of a near access, which goes on, or whose rank dies.
. "$QT_SOURCE/tests/harness/run.bash"
limit=$((60 * ${QT_SCALE:-1}))
head -c 4096 /dev/zero >"$dir/zero"
for how in "-n 3" "-n 3 --hw agas=hw-torus" "-n 3 --hw agas=hw-home" "--fabric torus --shape 1x1x1x1x1x3 --hw agas=hw-torus"; do
	cp "$dir/zero" "$dir/words"
	# shellcheck disable=SC2086
	t run $how --timeout $limit "$task" "$dir/words"
	expect 0 "$how"
	cp "$dir/zero" "$dir/words"
	# shellcheck disable=SC2086
	t run $how --on-death error --timeout $limit "$task" "$dir/words" die
	[ "$(grep -c '^survivor [0-9]*: right' "$dir/err")" = 2 ] || fail "$how, die: $(tell err)"
done
finish
