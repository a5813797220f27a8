# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests of virtual time that run the cases of a program. $1 of the test is the program.
set -u
program=$1
failed=0
scale=${QT_SCALE:-1}
limit=$((50 * scale)) # of a job; it ends what hangs
[ $limit -ge 150 ] || limit=150
repeat=2    # how often ends_same runs a case
last_words= # regular expression of what a case prints at its end

fail() {
	echo "FAIL: $*"
	failed=1
}

# job CASE OPTIONS...: fills out and status
job() {
	local name=$1
	shift
	out=$(timeout -s KILL $((limit + 15)) torus run --clock virtual --timeout $limit "$@" "$program" "$name" 2>&1)
	status=$?
}

# ends_well CASE OPTIONS...: with status 0 and last_words
ends_well() {
	job "$@"
	[ $status = 0 ] && grep -q -- "$last_words" <<<"$out" || fail "$*: status $status: $(tail -5 <<<"$out")"
	echo "$*"
}

# ends_same CASE OPTIONS...: with status 0 and last_words, each time with the same hash
ends_same() {
	local first= hash k
	for ((k = 0; k < repeat; k++)); do
		job "$@"
		hash=$(sed -n 's/.*hash \([0-9a-f]\{16\}\)$/\1/p' <<<"$out")
		[ $status = 0 ] && grep -q -- "$last_words" <<<"$out" || fail "$*: status $status: $(tail -5 <<<"$out")"
		[ -n "$hash" ] || fail "$*: no hash: $(tail -3 <<<"$out")"
		[ $k = 0 ] || [ "$hash" = "$first" ] || fail "$*: hashes $first and $hash"
		first=$hash
	done
	echo "$*: $first"
}

# ends_with_error CASE OPTIONS...: by itself, neither well nor at --timeout
ends_with_error() {
	job "$@"
	[ $status != 0 ] && [ $status != 124 ] && [ $status != 137 ] || fail "$*: status $status: $(tail -5 <<<"$out")"
	echo "$*: status $status"
}

# says TEXT: the last job printed it
says() {
	grep -q -- "$1" <<<"$out" || fail "it does not say '$1': $out"
}
