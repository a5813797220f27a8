# SPDX-License-Identifier: BSD-3-Clause
# Sourced by scripts that run a program as several jobs.

# read_jobs NAME: set the array jobs to the rows that tests/jobs.txt has for the test NAME; return 1 if it has none.
# The thread sanitizer sees the threads of one process, which hardly differ between rows: of more than three rows every
# other one runs there, unless QT_LONG asks for all.
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
	if [ "${QT_SANITIZE:-}" = thread ] && [ "${QT_LONG:-0}" = 0 ] && [ ${#jobs[@]} -gt 3 ]; then
		for i in "${!jobs[@]}"; do
			[ $((i % 2)) = 1 ] || unset "jobs[$i]"
		done
		jobs=("${jobs[@]}")
	fi
	[ ${#jobs[@]} -gt 0 ] || { echo "tests/jobs.txt has no jobs for the test $1"; return 1; }
}
