#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Run one program as jobs: those that tests/jobs.txt has for a test, or those given.
# usage: pami_job.sh PROGRAM TEST | pami_job.sh PROGRAM JOB...
# A job is a list of words: options of torus run, after settings NAME=VALUE.
set -u
. "$(dirname "$0")/jobs.bash"
program=$1
shift
if [[ $# = 1 && $1 != *-* ]]; then
	read_jobs "$1" || exit 1
	set -- "${jobs[@]}"
fi
bad=0
# The thread sanitizer sees nothing in tasks of one thread, so there a small part of the operations of a test is enough.
share=1
if [ "${QT_SANITIZE:-}" = thread ] && [ "${QT_LONG:-0}" = 0 ] && ! grep -q pthread_create "$program"; then
	share=11
fi
scale=$((${QT_SCALE:-1} * (${QT_LONG:-0} ? 5 : 1)))
# It ends what hangs. A job of some seconds takes a minute on a machine with a load of 60.
limit=$((60 * scale))
[ $limit -ge 150 ] || limit=150
for conf in "$@"; do
	# One thread of a process runs there; for the sanitizer: programs that start their own.
	if [ "${QT_SANITIZE:-}" = thread ] && [[ $conf = *virtual* ]] && ! grep -q pthread_create "$program"; then
		echo "$conf: nothing for the thread sanitizer to see"
		continue
	fi
	start=$(date +%s%N)
	# Programs do less where a second of real time is a moment.
	case $conf in *virtual*) argument=virtual ;; *) argument= ;; esac
	settings=${conf%%-*}
	[[ $settings = *COMM* ]] && part=1 || part=$share # a communication thread is a thread
	# shellcheck disable=SC2086
	env QT_SHARE=$part $settings timeout -s KILL $((limit + 15)) torus run --timeout $limit ${conf#"$settings"} "$program" $argument
	status=$?
	echo "$conf: status $status, $((($(date +%s%N) - start) / 1000000)) ms"
	[ $status = 0 ] || bad=1
done
exit $bad
