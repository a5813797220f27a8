#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# gasnet_launch.sh PROGRAM: jobs of GASNet that torus run, mpirun of Open MPI (PMIx), mpirun of MPICH (PMI-1) start, on one
# host and on two (stand-ins on this machine); every way to end one gives its status and leaves no process.
set -u
. "$QT_SOURCE/tests/harness/mpirun.bash"
program=$1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl=self,vader OMPI_MCA_pml=ob1 OMPI_MCA_oob_tcp_if_include=lo OMPI_MCA_rmaps_base_oversubscribe=1
export HYDRA_IFACE=lo
limit=$((60 * ${QT_SCALE:-1}))
failed=0

# run TASKS WHAT COMMAND...: status 0 and as many PASS lines as tasks. Sets out.
run() {
	local n=$1 what=$2 rc
	shift 2
	run_launcher $limit "$@"
	if [ $rc = 0 ] && [ "$(grep -c "PASS .* of $n$" <<<"$out")" = "$n" ]; then
		echo "ok: $what"
	else
		echo "FAIL: $what (status $rc)"
		tail -20 <<<"$out"
		failed=1
	fi
}

# ends NAME LAUNCHER...: one process ends the job with status 7 in each way.
ends() {
	local name=$1 how rc out
	shift
	for how in one thread handler deaf; do
		# MPICH's mpirun now and then ends with 1 although the first process ended with 7 (seen by strace): once more.
		for _ in 1 2 3; do
			out=$(timeout $limit "$@" "$program" $how 2>&1)
			rc=$?
			[ "$name$rc" = MPICH1 ] && grep -q 'EXIT CODE: 1$' <<<"$out" || break
		done
		# MPICH's launcher gives that of the processes that it kills.
		if [ $rc = 7 ] || [ "$name$rc" = MPICH9 ]; then
			echo "ok: $name, $how"
		else
			echo "FAIL: $name, $how: status $rc instead of 7"
			tail -5 <<<"$out"
			failed=1
		fi
	done
}

# launcher NAME COMMAND...: COMMAND -np N starts a job.
launcher() {
	local name=$1
	shift
	run 3 "$name" "$@" -np 3 "$program"
	run 1 "$name, one process" "$@" -np 1 "$program"
	run 2 "$name, main returns" "$@" -np 2 "$program" main
	run 4 "$name, two hosts" "$@" -np 4 "$QT_SOURCE/tests/harness/part.sh" 2 shm: "$program"
	ends "$name" "$@" -np 3
}

run 3 "torus run" torus run -n 3 "$program"
run 2 "torus run, main returns" torus run -n 2 "$program" main
run 4 "torus run, two hosts" torus run -n 4 --hosts local,local "$program"
# The launcher ends a job whose last process waits for those that have returned from main, so it must not wait.
export QUINTORUS_LEFT_WAIT=2
run 3 "torus run, main returns before process 0 ends" torus run -n 3 "$program" first
run 3 "torus run, main returns before the last process ends" torus run -n 3 "$program" last
unset QUINTORUS_LEFT_WAIT
# On hosts of one task each, a task that ends takes the port of its host with it.
run 3 "torus run, three hosts, main returns before process 0 ends" torus run -n 3 --hosts local,local,local "$program" first
run 3 "torus run, three hosts, main returns before the last process ends" torus run -n 3 --hosts local,local,local "$program" last
# In virtual time the processes wait for nobody, so the job ends within 10 ms of that time.
for shape in 3x1x1x1x1 1x1x1x1x1x3; do
	for how in first last main; do
		run 3 "virtual time, $shape, $how" torus run --clock virtual --shape $shape "$program" $how
		us=$(sed -n 's/.*virtual time \([0-9]*\).*/\1/p' <<<"$out")
		[ "${us:-9999999}" -lt 10000 ] || { echo "FAIL: virtual time, $shape, $how: ${us:-no} us"; failed=1; }
	done
done
ends "torus run" torus run -n 3
ends "torus run, two hosts" torus run -n 4 --hosts local,local
if command -v mpirun.mpich >/dev/null; then
	launcher MPICH mpirun.mpich
fi
if command -v mpirun.openmpi >/dev/null && [ -e "$QT_BUILD/mu/libqt_launch_pmix.so" ] && ! ldd "$program" | grep -q 'libasan\|libtsan'; then
	launcher 'Open MPI' mpirun.openmpi --oversubscribe
fi
until=$((SECONDS + 10 * ${QT_SCALE:-1}))
while pgrep -f "^[^ ]*$program" >/dev/null; do
	[ $SECONDS -lt $until ] || { pgrep -af "^[^ ]*$program" && echo "FAIL: processes are left" && failed=1; break; }
	sleep 0.1
done
exit $failed
