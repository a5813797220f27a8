#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Several threads a process: in virtual time with the same hash every time, while others keep the machine busy and not;
# and the same program in real time.
# usage: pami_threads.sh PROGRAM
set -u
program=$1
bad=0
work=$(mktemp -d)
busy=
trap 'kill $busy 2>/dev/null; rm -rf "$work"' EXIT
run() # options of torus run ... : prints what it prints
{
	timeout -s KILL $((100 * ${QT_SCALE:-1})) torus run --timeout $((90 * ${QT_SCALE:-1})) "$@" >"$work/out" 2>&1
	status=$?
	cat "$work/out"
	echo "$*: status $status"
	[ "$status" = 0 ] || bad=1
}
for options in "--shape 2x1x1x1x1" "--shape 2x1x1x1x1x2" "--fabric express --shape 3x1x1x1x1"; do
	hash=
	for round in 1 2 3 4; do
		if [ $round = 2 ]; then
			(while :; do :; done) &
			busy=$!
		fi
		# In round 4 the kernel's numbers of processes and threads begin again at the smallest (root only).
		[ $round = 4 ] && { echo $(($(</proc/sys/kernel/pid_max) - 27)) >/proc/sys/kernel/ns_last_pid; } 2>/dev/null
		# shellcheck disable=SC2086
		run --clock virtual $options "$program" virtual
		now=$(grep -o 'hash [0-9a-f]*$' "$work/out")
		if [ -z "$now" ] || [ "${hash:-$now}" != "$now" ]; then
			echo "$options: '$now' after '$hash'"
			bad=1
		fi
		hash=$now
	done
	kill $busy
	busy=
done
run --shape 2x1x1x1x1 "$program"
run -n 3 "$program"
exit $bad
