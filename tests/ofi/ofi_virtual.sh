#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ofi_virtual.sh: Debian's Open MPI in virtual time: right results, and two runs with the same output and the same hash.
# Most of its time goes into starting Open MPI, 10 processes of it on one processor.
set -u
. "$QT_SOURCE/tests/ofi/openmpi.sh"
qt_openmpi_need_launcher
mpicc.openmpi -O1 -Wall -I"$QT_SOURCE" -o "$tmp/program" "$QT_SOURCE/tests/ofi/ofi_virtual.c" -lm || exit 1

told=' bytes: |the clock says|PASS|hash' # others: libpsm's, of libfabric

run() { # WHERE OPTIONS... -- ARGUMENTS
	local to=$1 options=()
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	timeout $limit torus run --clock virtual --mpi "${options[@]}" "$tmp/program" "${@:2}" >"$to" 2>&1
}

say_same() { # WHAT BEGIN TOLD: $rc is 0, the first run has a line that begins so and a hash, and both have the same lines like TOLD
	if [ $rc = 0 ] && grep -q "^$2" "$tmp/first" && grep -q 'hash [0-9a-f]\{16\}$' "$tmp/first" &&
	   diff <(grep -E "$3" "$tmp/first") <(grep -E "$3" "$tmp/second"); then
		echo "ok: $1: $(tail -n 1 "$tmp/first")"
	else
		failed=1
		echo "FAIL: $1, two runs: status $rc"
		tail -n 20 "$tmp/first" "$tmp/second"
	fi
}

# The first run measures what the program computes between calls, the second reads that.
trace="--compute trace:$tmp/trace --shape 2x1x1x1x1x2"
run "$tmp/first" $trace -- && run "$tmp/second" $trace --
rc=$?
say_same "four tasks" 'PASS$' "$told"

same_twice() { # WHAT BEGIN OPTIONS...
	local to
	rc=0
	for to in first second; do
		timeout $limit torus run --clock virtual --mpi "${@:3}" >"$tmp/$to" 2>&1 || rc=$?
	done
	say_same "$1" "$2" "^$2|hash"
}

# A plain program on eight nodes; ofi/README.md says what it gave on 512.
mpicc.openmpi -O1 -Wall -o "$tmp/jacobi" "$QT_SOURCE/tests/apps/mpi/jacobi.c" -lm || exit 1
same_twice jacobi 'jacobi of 4 x 2 blocks: sum 41\.456220627, ' --shape 2x2x2x1x1 "$tmp/jacobi"

# Half a round trip of Blue Gene/Q's MPI: 1.95 us, to which these costs are fitted.
run "$tmp/first" --shape 2x1x1x1x1 --compute declared --costs mpi-classic -- declared
rc=$?
us=$(sed -n 's/^0 bytes: \([0-9]*\.[0-9][0-9]\).*/\1/p' "$tmp/first")
if [ $rc = 0 ] && grep -q '^PASS$' "$tmp/first" && [ "${us/./}" -ge 185 ] && [ "${us/./}" -le 205 ]; then
	echo "ok: declared computation, costs of an MPI library: $us us"
else
	failed=1
	echo "FAIL: declared computation: status $rc, $us us"
	tail -n 20 "$tmp/first"
fi

# Tasks that wait for puts of each other without a call.
mpicc.openmpi -O2 -Wall -o "$tmp/spin" "$QT_SOURCE/tests/ofi/ofi_spin.c" || exit 1
same_twice "loops on windows" 'PASS$' --shape 2x1x1x1x1 "$tmp/spin"

# Threads that take turns in calls: the order is theirs, so there is no hash.
mpicc.openmpi -O1 -Wall -I"$QT_SOURCE" -o "$tmp/threads" "$QT_SOURCE/tests/ofi/ofi_threads.c" -lpthread || exit 1
timeout $limit torus run --clock virtual --mpi --shape 2x2x1x1x1 "$tmp/threads" >"$tmp/first" 2>&1
rc=$?
if [ $rc = 0 ] && grep -q '^PASS$' "$tmp/first" && grep -q 'no hash$' "$tmp/first"; then
	echo "ok: several threads call: $(tail -n 1 "$tmp/first")"
else
	failed=1
	echo "FAIL: several threads call: status $rc"
	tail -n 20 "$tmp/first"
fi

# Threads that call at once (MPI_THREAD_MULTIPLE), in both clocks. The collectives of adapt send in callbacks.
mpicc.openmpi -O1 -Wall -I"$QT_SOURCE" -o "$tmp/multiple" "$QT_SOURCE/tests/ofi/ofi_multiple.c" -lpthread || exit 1
at_once() { # WHAT COMMAND...
	qt_openmpi_expect "several threads call at once, $1" '^PASS$' "${@:2}"
}
at_once "virtual clock" torus run --clock virtual --mpi --shape 2x2x1x1x1 "$tmp/multiple"
at_once "routers" torus run --mpi --fabric torus --shape 2x2x1x1x1 "$tmp/multiple" direct
at_once "messages through pml cm" env OMPI_MCA_coll_quintorus_direct=0 torus run --mpi -n 4 "$tmp/multiple" indirect
at_once "callbacks" env OMPI_MCA_coll_adapt_priority=100 torus run --mpi -n 4 "$tmp/multiple" direct
at_once "two hosts, frames lost" torus run --mpi -n 4 --hosts local,local --fault loss=0.01,seed=3 "$tmp/multiple" direct

# MPICH's messages take no virtual time.
if command -v mpicc.mpich >/dev/null && printf '#include <mpi.h>\nint main(int c, char **v) { return MPI_Init(&c, &v); }\n' >"$tmp/m.c" &&
   mpicc.mpich -o "$tmp/mpich" "$tmp/m.c"; then
	out=$(timeout $limit torus run --clock virtual --mpi -n 2 "$tmp/mpich" 2>&1)
	rc=$?
	if [ $rc != 0 ] && [ $rc != 124 ] && [ "$(grep -c 'compile it with mpicc.openmpi' <<<"$out")" = 1 ]; then
		echo "ok: MPICH is refused"
	else
		failed=1
		echo "FAIL: MPICH in virtual time: status $rc: $out"
	fi
fi
exit $failed
