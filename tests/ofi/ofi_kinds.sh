#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ofi_kinds.sh: more kinds of MPI calls than ofi_mpi.sh, and Fortran, under torus run --mpi: on a node, two hosts, routers, in virtual time.
# QT_LONG=1: messages of 3 GiB too, which take 11 GiB of memory.
set -u
. "$QT_SOURCE/tests/ofi/openmpi.sh"
qt_openmpi_need_launcher
mpicc.openmpi -O1 -Wall -I"$QT_SOURCE" -o "$tmp/kinds" "$QT_SOURCE/tests/ofi/ofi_kinds.c" || exit 1

run() { # TASKS OPTIONS... -- PROGRAM...
	local n=$1 what=${*:2} out rc
	out=$(timeout "$limit" torus run --mpi "${@:2}" 2>&1)
	rc=$?
	if [ $rc = 0 ] && [ "$(grep -c "^PASS . of $n$" <<<"$out")" = "$n" ]; then
		echo "ok: ${what//$tmp\//}"
	else
		echo "FAIL: ${what//$tmp\//}: status $rc"
		tail -n 20 <<<"$out"
		failed=1
	fi
}

export OMPI_MCA_io=ompio
run 4 -n 4 -- "$tmp/kinds" "$tmp/file" direct
OMPI_MCA_coll_quintorus_direct=0 run 4 -n 4 -- "$tmp/kinds" "$tmp/file" indirect
run 4 --clock virtual --shape 2x2x1x1x1 -- "$tmp/kinds" "$tmp/file" indirect
export OMPI_MCA_io=romio321
run 4 -n 4 --hosts local,local --fault loss=0.01,seed=3 -- "$tmp/kinds" "$tmp/file" direct
run 4 --fabric torus --shape 2x1x1x1x1x2 -- "$tmp/kinds" "$tmp/file" direct
unset OMPI_MCA_io

# Programs look for their place where mpirun writes it, before MPI_Init or without.
place='echo $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE $OMPI_COMM_WORLD_LOCAL_RANK/$OMPI_COMM_WORLD_LOCAL_SIZE $OMPI_UNIVERSE_SIZE'
places=$(OMPI_COMM_WORLD_RANK=7 timeout "$limit" torus run --mpi -n 3 --hosts local,local sh -c "$place" 2>&1 | sort | paste -sd ,)
if [ "$places" = "0/3 0/2 3,1/3 1/2 3,2/3 0/1 3" ]; then
	echo "ok: OMPI_COMM_WORLD_*"
else
	failed=1
	echo "FAIL: OMPI_COMM_WORLD_*: $places"
fi

if command -v mpif90.openmpi >/dev/null && command -v gfortran >/dev/null; then
	mpif90.openmpi -O1 -o "$tmp/fortran" "$QT_SOURCE/tests/ofi/ofi_kinds.f90" || failed=1
	run 3 -n 3 --hosts local,local -- "$tmp/fortran"
	run 4 --clock virtual --shape 2x2x1x1x1 -- "$tmp/fortran"
else
	echo "left out: Fortran (Debian: gfortran)"
fi
if [ "${QT_LONG:-0}" != 0 ]; then
	mpicc.openmpi -O2 -Wall -o "$tmp/big" "$QT_SOURCE/tests/ofi/ofi_big.c" || failed=1
	limit=600
	run 2 -n 2 -- "$tmp/big"
	run 2 -n 2 --hosts local,local -- "$tmp/big"
fi
exit $failed
