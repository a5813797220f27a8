#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ga.sh: Debian's Global Arrays (its library as it is, behind tests/apps/ga/abi.c) on libarmci, under mpirun of Open
# MPI and of MPICH: tests/apps/ga/ga_program.c and ga_fortran.F90. QT_LONG=1: more processes, all kinds of hosts.
set -u
. "$QT_SOURCE/tests/harness/mpirun.bash"
export OMP_DYNAMIC=false OMP_WAIT_POLICY=passive
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl=self,vader OMPI_MCA_pml=ob1 OMPI_MCA_oob_tcp_if_include=lo OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none HYDRA_IFACE=lo
unset QUINTORUS_SEGMENT QUINTORUS_TASK
wrapped='ARMCI_INIT_HANDLE ARMCI_Wait ARMCI_Test ARMCI_NbPutS ARMCI_NbGetS ARMCI_NbAccS ARMCI_AccS ARMCI_AccV ARMCI_Rmw
	armci_msg_gop_scope armci_msg_group_gop_scope armci_msg_group_bcast_scope armci_msg_sel_scope armci_msg_bintree'
long=${QT_LONG:-0}
failed=0 found=0
tmp=$(mktemp -d)
part=$QT_SOURCE/tests/harness/part.sh
trap 'rm -rf "$tmp"' EXIT

say() {
	printf '%s: %s\n' "$1" "$2"
	if [ "$1" = FAIL ]; then failed=1; fi
}

build() { # MPI
	local mpi=$1 name flags link
	flags="-O1 -g -I$QT_SOURCE"
	for name in $wrapped; do link+=" -Wl,--wrap=$name"; done
	link+=" $tmp/abi-$mpi.o -lga-$mpi -L$QT_BUILD/armci -larmci -L$QT_BUILD/pami -lpami"
	link+=" -Wl,-rpath,$QT_BUILD/armci:$QT_BUILD/pami -lscalapack-$mpi -llapack -lblas -lm"
	cd "$QT_SOURCE/tests/apps/ga" || return 1
	# shellcheck disable=SC2086
	"mpicc.$mpi" $flags -c abi.c -o "$tmp/abi-$mpi.o" &&
		"mpicc.$mpi" $flags ga_program.c ga_transfers.c ga_arithmetic.c ga_together.c -o "$tmp/ga-$mpi" $link -lgfortran &&
		"mpicc.$mpi" $flags -fopenmp ga_threads.c -o "$tmp/gat-$mpi" $link -lgfortran &&
		"mpif90.$mpi" $flags -w -I/usr/include ga_fortran.F90 -o "$tmp/gaf-$mpi" $link
}

# run TASKS WHAT COMMAND...: status 0, a PASS line from each task
run() {
	local n=$1 what=$2 out rc start=$SECONDS
	shift 2
	run_launcher 240 "$@"
	if [ $rc = 0 ] && [ "$(grep -c "PASS .* of $n\$" <<<"$out")" = "$n" ]; then
		say ok "$what, $n processes: $(grep -o '^ok .*' <<<"$out" | cut -c4- | xargs), $((SECONDS - start)) s"
	else
		say FAIL "$what, $n processes (status $rc)"
		tail -25 <<<"$out"
	fi
}

missing() { # MPI
	local what
	for what in "mpicc.$1" "mpif90.$1" "mpirun.$1"; do
		command -v "$what" >/dev/null || { echo "$what"; return; }
	done
	[ -e "$(gcc -print-file-name="libga-$1.a")" ] || { echo "libga-$1.a (libglobalarrays-dev)"; return; }
	[ -e "$(gcc -print-file-name="libscalapack-$1.so")" ] || { echo "libscalapack-$1.so (libscalapack-$1-dev)"; return; }
	[ -e "$QT_BUILD/armci/libqt_armci_$1.so" ] || { echo "libqt_armci_$1.so in this build"; return; }
	[ "$1" = mpich ] || [ -e "$QT_BUILD/mu/libqt_launch_pmix.so" ] || echo "libqt_launch_pmix.so in this build (libpmix-dev)"
}

for mpi in openmpi mpich; do
	lacks=$(missing $mpi)
	if [ -n "$lacks" ]; then
		echo "left out: $mpi: no $lacks"
		continue
	fi
	found=1
	if ! build $mpi >"$tmp/log" 2>&1; then
		say FAIL "$mpi: does not build"
		tail -20 "$tmp/log"
		continue
	fi
	launch="mpirun.$mpi"
	[ $mpi = openmpi ] && launch+=' --oversubscribe'
	# MPICH spins, even where processes have no core of their own.
	for n in 2 $([ $mpi = mpich ] || echo 4) $([ "$long" = 0 ] || echo 1 3 4 5); do
		run "$n" "$mpi, C" $launch -np "$n" "$tmp/ga-$mpi"
	done
	run 2 "$mpi, Fortran" $launch -np 2 "$tmp/gaf-$mpi"
	for threads in 2 4; do
		run 2 "$mpi, $threads OpenMP threads" $launch -np 2 "$tmp/gat-$mpi" $threads 300
		run 2 "$mpi, $threads OpenMP threads, a host for each" $launch -np 2 "$part" 1 shm: "$tmp/gat-$mpi" $threads 300
	done
	if [ $mpi = mpich ]; then
		run 2 "torus run, C, routers" torus run --mpi -n 2 --fabric torus "$tmp/ga-mpich"
		run 2 "torus run, C, lossy wires" torus run --mpi -n 2 --hosts local,local --fault loss=0.05,dup=0.05,seed=3 "$tmp/ga-mpich"
		[ "$long" = 0 ] && continue
	fi
	run 4 "$mpi, C, a host for each" $launch -np 4 "$part" 1 shm: "$tmp/ga-$mpi"
	if [ "$long" != 0 ]; then
		run 4 "$mpi, C, two hosts" $launch -np 4 "$part" 2 uring:127.0.0.1 "$tmp/ga-$mpi"
		run 3 "$mpi, C, lossy wires" $launch -np 3 "$part" 1 \
			'fault(loss=0.05,dup=0.02,reorder=0.05,seed=3)+uring:127.0.0.1' "$tmp/ga-$mpi"
		QUINTORUS_ARMCI_DIRECT=none run 4 "$mpi, C, nothing mapped" $launch -np 4 "$tmp/ga-$mpi"
		ARMCI_PROGRESS_THREAD=0 run 4 "$mpi, C, progress in calls" $launch -np 4 "$tmp/ga-$mpi"
	fi
done
if [ $found = 0 ]; then
	echo "no MPI with Global Arrays: apt-get install libglobalarrays-dev libscalapack-openmpi-dev libscalapack-mpich-dev"
	exit 77
fi
exit $failed
