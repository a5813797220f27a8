#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Run one PAMI test program as jobs: alone, on one node, between nodes, on both fabrics and clocks.
# usage: pami_job.sh PROGRAM [CONFIGURATION...]
# Each configuration is a list of words: options of torus run, after settings NAME=VALUE.
set -u
program=$1
shift
if [ $# = 0 ]; then
	set -- "-n 1" "--shape 1x1x1x1x1x2" "--shape 2x1x1x1x1" "--shape 3x1x1x1x1x1" \
		"--fabric torus --shape 2x1x1x1x1x2" "--fabric torus --shape 2x1x2x1x1" \
		"QUINTORUS_IMMEDIATE=8192 --shape 2x1x1x1x1" "QUINTORUS_EAGER=1000000000 --shape 2x1x1x1x1" \
		"QUINTORUS_QUEUE=0 --shape 1x1x1x1x1x2" \
		"--clock virtual --shape 2x1x1x1x1x2" "--clock virtual --fabric express --shape 3x1x1x1x1"
fi
bad=0
scale=$((${QT_SCALE:-1} * (${QT_LONG:-0} ? 5 : 1)))
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
	# shellcheck disable=SC2086
	env $settings timeout -s KILL $((70 * scale)) torus run --timeout $((60 * scale)) ${conf#"$settings"} "$program" $argument
	status=$?
	echo "$conf: status $status, $((($(date +%s%N) - start) / 1000000)) ms"
	[ $status = 0 ] || bad=1
done
exit $bad
