#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# virt_spin.sh PROGRAM: in virtual time, tasks that wait on their memory without a call, or compute, are served.
# QT_LONG=1: each case many times.
set -u
program=$1
failed=0
scale=${QT_SCALE:-1}
repeat=$((${QT_LONG:-0} ? 20 : 2))

fail() {
	echo "FAIL: $*"
	failed=1
}

# job CASE OPTIONS...: fills out and status
job() {
	local name=$1
	shift
	out=$(timeout -s KILL $((60 * scale)) torus run --clock virtual --timeout $((50 * scale)) "$@" "$program" "$name" 2>&1)
	status=$?
}

hash_of() {
	sed -n 's/.*hash \([0-9a-f]\{16\}\)$/\1/p' <<<"$out"
}

# same CASE OPTIONS...: it ends well, each time with the same hash
same() {
	local first= hash k
	for ((k = 0; k < repeat; k++)); do
		job "$@"
		hash=$(hash_of)
		[ $status = 0 ] && grep -q 'done$' <<<"$out" || fail "$*: status $status: $(tail -5 <<<"$out")"
		[ -n "$hash" ] || fail "$*: no hash: $(tail -3 <<<"$out")"
		[ $k = 0 ] || [ "$hash" = "$first" ] || fail "$*: hashes $first and $hash"
		first=$hash
	done
	echo "$*: $first"
}

# passes CASE OPTIONS...: it ends well
passes() {
	job "$@"
	[ $status = 0 ] && grep -q 'done$' <<<"$out" || fail "$*: status $status: $(tail -5 <<<"$out")"
	echo "$*"
}

# Long computations are not what this is about: a task that burns 50 ms is taken to wait.
export QUINTORUS_SPIN_MS=$((50 * scale))
same served --shape 3x1x1x1x1
same served --fabric express --shape 1x1x1x1x1x2
same asks --shape 3x1x1x1x1
same flags --shape 2x1x1x1x1
same later --shape 3x1x1x1x1
passes worker --shape 2x1x1x1x1
passes thread --shape 2x1x1x1x1
passes locked --shape 2x1x1x1x1
QUINTORUS_SPIN_MS=60000 same computes --shape 2x1x1x1x1

# Nobody answers, and that is said.
export QUINTORUS_SPIN_LIMIT_S=1
job nobody --shape 2x1x1x1x1
[ $status != 0 ] && [ $status != 124 ] && [ $status != 137 ] || fail "nobody: status $status: $(tail -5 <<<"$out")"
for text in 'task 0 burned .* all others wait for it' 'messages came meanwhile that nobody answers' EXT_async_progress \
	ARMCI_PROGRESS_THREAD=1 'the run ends .QUINTORUS_SPIN_LIMIT_S'; do
	grep -q -- "$text" <<<"$out" || fail "nobody: it does not say '$text': $out"
done
exit $failed
