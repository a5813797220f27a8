# SPDX-License-Identifier: BSD-3-Clause
# Sourced by scripts that run a program as several jobs.

# The thread sanitizer sees the threads of one process, which hardly differ between the jobs of a test: every other job
# runs there, unless QT_LONG asks for all, or a script whose program works in several threads sets every_job=1.
every_job=
jobs_are_halved() {
	[ "${QT_SANITIZE:-}" = thread ] && [ "${QT_LONG:-0}" = 0 ] && [ -z "$every_job" ]
}

# is_left_out [NUMBER]: true if the job of this number does not run; without a number, the next job of the script.
job_number=0
is_left_out() {
	job_number=${1:-$((job_number + 1))}
	jobs_are_halved && [ $((job_number % 2)) = 0 ]
}

# read_jobs NAME: set the array jobs to the rows that tests/jobs.txt has for the test NAME; return 1 if it has none.
# Up to three rows all run, also with the thread sanitizer.
read_jobs() {
	local i
	mapfile -t jobs < <(awk -v name="$1" '
		/^#/ || !NF { next }
		/^\[/ {
			if (!heading) wanted = 0 # headings on neighbouring lines belong together
			heading = 1
			gsub(/[][]/, "")
			for (i = 1; i <= NF; i++) if ($i == name) wanted = 1
			next
		}
		{ heading = 0 }
		wanted' "${BASH_SOURCE[0]%/*}/../jobs.txt")
	if jobs_are_halved && [ ${#jobs[@]} -gt 3 ]; then
		for i in "${!jobs[@]}"; do
			[ $((i % 2)) = 1 ] || unset "jobs[$i]"
		done
		jobs=("${jobs[@]}")
	fi
	[ ${#jobs[@]} -gt 0 ] || { echo "tests/jobs.txt has no jobs for the test $1"; return 1; }
}
