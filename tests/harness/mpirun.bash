# SPDX-License-Identifier: BSD-3-Clause
# Sourced by tests that start programs with mpirun.

# run_launcher SECONDS COMMAND...: run a launcher; sets out, which has its output, and rc, its status.
#
# On its way out a process says farewell to mpirun, and libpmix waits two seconds for the answer. If mpirun gets no processor
# for so long, the process ends all the same, and mpirun takes its end with status 0 for one without MPI_Finalize. Programs of
# tests print PASS at their end; if one has done so and mpirun says that, the job starts again, at most twice.
run_launcher() {
	local limit=$1
	shift
	for _ in 1 2 3; do
		out=$(timeout "$limit" "$@" 2>&1)
		rc=$?
		if [ $rc = 0 ] || ! grep -q 'exiting improperly' <<<"$out" || ! grep -q '^PASS' <<<"$out"; then
			return
		fi
		echo "mpirun had no processor for two seconds while a process left: once more"
	done
}
