#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The calibrated figures come out of the virtual clock, twice the same; the matrix product gives the
# same answers as in real time, and two runs of it are the same run.
set -u
failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() {
	echo "FAIL: $*"
	failed=1
}

"$QT_SOURCE/bench/figures/virt_figures" >"$dir/1" || fail "figures: $(cat "$dir/1")"
"$QT_SOURCE/bench/figures/virt_figures" >"$dir/2" || fail "figures, again"
cmp -s "$dir/1" "$dir/2" || fail "two runs differ: $(diff "$dir/1" "$dir/2")"
cat "$dir/1"

if [ -x "$QT_BUILD/bench/spmv" ]; then
	PATH=$QT_BUILD/bench:$PATH
	mtx_make -r 3000 "$dir/m.mtx" >/dev/null || fail "mtx_make"
	for i in 1 2; do
		timeout 100 torus run --clock virtual --shape 2x2x2x2x2 -n 32 spmv -n 2 "$dir/m.mtx" \
			>"$dir/out$i" 2>"$dir/err$i" || fail "spmv: $(tail -5 "$dir/out$i" "$dir/err$i")"
		grep -q 'verdict: correct' "$dir/out$i" || fail "spmv: $(cat "$dir/out$i")"
	done
	# The times of the serial product are real.
	cmp -s <(grep -v serial "$dir/out1") <(grep -v serial "$dir/out2") || fail "spmv: two runs differ"
	hash=$(grep -o 'hash [0-9a-f]*' "$dir/err1")
	[ -n "$hash" ] && [ "$hash" = "$(grep -o 'hash [0-9a-f]*' "$dir/err2")" ] ||
		fail "spmv: hashes: $(cat "$dir/err1" "$dir/err2")"
	echo "spmv on 32 tasks: $hash, twice"
fi
exit $failed
