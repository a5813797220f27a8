#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# armci_classic.sh PROGRAM: run a program that uses armci.h alone under torus run with both clocks and fabrics and with
# frames lost, and under mpirun where an MPI is installed (compiled by its mpicc, with MPI in the same process).
. "$QT_SOURCE/tests/harness/armci_run.bash"
. "$QT_SOURCE/tests/harness/mpirun.bash"
seed=${QT_SEED:-$RANDOM}
rounds=20
echo "seed $seed (QT_SEED=$seed repeats)"
run 'one process' -n 1 "$program" $rounds "$seed"
run 'three tasks of a node' -n 3 "$program" $rounds "$seed"
run 'two nodes of four tasks' --shape 2x1x1x1x1x4 "$program" $rounds "$seed"
run 'three nodes, typed patches' --shape 3x1x1x1x1x1 env ARMCI_STRIDED_METHOD=DIRECT "$program" $rounds "$seed"
run 'four nodes, hop by hop' --fabric torus --shape 2x2x1x1x1x1 "$program" $rounds "$seed"
run 'two hosts, frames lost' -n 4 --hosts local,local --fault loss=0.05,reorder=0.05,seed="$seed" "$program" 4 "$seed"
run 'virtual time' --clock virtual --shape 2x2x1x1x1x1 "$program" $rounds "$seed" virtual

[ "${QT_SCALE:-1}" = 1 ] || exit $failed # MPI's libraries are not instrumented
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl=self,vader OMPI_MCA_pml=ob1 OMPI_MCA_oob_tcp_if_include=lo OMPI_MCA_btl_vader_single_copy_mechanism=none
export HYDRA_IFACE=lo
unset QUINTORUS_SEGMENT QUINTORUS_TASK
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
for mpi in openmpi mpich; do
	command -v mpicc.$mpi >/dev/null && command -v mpirun.$mpi >/dev/null || { echo "left out: no $mpi" && continue; }
	[ $mpi = mpich ] || [ -e "$QT_BUILD/mu/libqt_launch_pmix.so" ] || { echo 'left out: openmpi: no libpmix-dev' && continue; }
	if ! mpicc.$mpi -O1 -Wall -I"$QT_SOURCE/armci" -I"$QT_SOURCE" "$QT_SOURCE/tests/armci/armci_classic.c" -o "$tmp/$mpi" \
		-L"$QT_BUILD/armci" -larmci -Wl,-rpath,"$QT_BUILD/armci:$QT_BUILD/pami" 2>"$tmp/log"; then
		say FAIL "$mpi: does not build"
		cat "$tmp/log"
		continue
	fi
	for n in 1 3; do
		run_launcher 120 mpirun.$mpi -n $n "$tmp/$mpi" $rounds "$seed"
		if [ $rc = 0 ] && grep -q '^PASS' <<<"$out"; then
			say ok "mpirun of $mpi, $n processes"
		else
			say FAIL "mpirun of $mpi, $n processes"
			tail -20 <<<"$out"
		fi
	done
done
exit $failed
