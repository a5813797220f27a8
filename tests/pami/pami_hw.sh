#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Collectives on class routes (pami_hw.c): in virtual time with the same hash every time, on routers of one
# host, with one process and several on a node and of two, and without routers; where tasks may not read each other.
# usage: pami_hw.sh PROGRAM
set -u
program=$1
bad=0
run() # much or few, options of torus run ...
{
	local much=$1 start status boxes
	shift
	start=$(date +%s%N)
	case "$*" in *'--shape 3x'[23]*) boxes=boxes ;; *) boxes= ;; esac
	timeout -s KILL $((100 * ${QT_SCALE:-1})) torus run --timeout $((90 * ${QT_SCALE:-1})) "$@" "$program" "$much" $boxes 2>&1 | tee "$work/out"
	status=${PIPESTATUS[0]}
	echo "$*: status $status, $((($(date +%s%N) - start) / 1000000)) ms"
	[ "$status" = 0 ] || bad=1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ "${QT_SANITIZE:-}" = thread ] && one_thread=1 || one_thread= # of a process runs in virtual time: nothing for that sanitizer
for options in "--shape 2x2x2x1x1" "--shape 3x2x1x1x1x2" "--shape 2x1x1x1x1x5" "--fabric express --shape 2x1x3x1x1"; do
	[ $one_thread ] && break
	hash=
	for _ in 1 2; do
		# shellcheck disable=SC2086
		run few --clock virtual $options
		now=$(grep -o 'hash [0-9a-f]*' "$work/out")
		if [ -z "$now" ] || [ "${hash:-$now}" != "$now" ]; then
			echo "$options: '$now' after '$hash'"
			bad=1
		fi
		hash=$now
	done
done
[ $one_thread ] && much_or_few=few || much_or_few=much
[ $one_thread ] || run much --clock virtual --shape 2x2x1x1x1
run much --fabric torus --shape 2x2x1x1x1
# The thread sanitizer looks at all sizes and operations on the machine above: more data takes the same path here.
run "$much_or_few" --fabric torus --shape 3x1x1x1x1x2
run few --fabric torus --shape 2x1x1x1x1x4
run few --fabric torus --shape 2x2x1x1x1 --hosts local,local
run few --fabric torus --shape 3x3x1x2x1
run much -n 3
# Where the kernel does not let tasks read each other: all of them, some.
QT_REFUSE=1 run few --fabric torus --shape 2x1x1x1x1x4
QT_REFUSE=1,odd run few --fabric torus --shape 3x2x1x1x1x2
[ $one_thread ] || QT_REFUSE=14,odd run few --clock virtual --shape 3x2x1x1x1x2

. "$QT_SOURCE/tools/lib/net.sh"
trap 'qt_net_close; rm -rf "$work"' EXIT
if [ "$(id -u)" != 0 ] || ! qt_net_open 9000; then
	echo "network namespaces: not root, or none to be had: not tested between them"
	exit $bad
fi
if ls "$QT_BUILD"/drivers/libqt_port_uring.so >/dev/null 2>&1; then
	run few --fabric torus --shape 2x2x1x1x1 --hosts "netns:$QT_NET_A=uring:10.77.0.1;netns:$QT_NET_B=uring:10.77.0.2"
fi
exit $bad
