# SPDX-License-Identifier: BSD-3-Clause
# The tests of libarmci source this file. $1 of the test is the program.
set -u
. "$QT_SOURCE/tests/harness/jobs.bash"
program=$1
failed=0
seconds=60

say() { # ok|FAIL WHAT
	printf '%s: %s\n' "$1" "$2"
	if [ "$1" = FAIL ]; then failed=1; fi
}

# run WHAT ARGS...: check that torus run ARGS ends in time, with status 0 and a PASS line; or leave the job out.
run() {
	local what=$1 out
	shift
	is_left_out && return
	if out=$(timeout $((seconds * ${QT_SCALE:-1})) torus run "$@" 2>&1) && grep -q '^PASS' <<<"$out"; then
		say ok "$what"
	else
		say FAIL "$what"
		tail -20 <<<"$out"
	fi
}
