#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Dispatch functions that wait: the jobs of tests/jobs.txt, and two hosts that are network namespaces, over each driver.
# usage: pami_poll_inside.sh PROGRAM
set -u
job=$QT_SOURCE/tests/harness/pami_job.sh
bash "$job" "$1" pami_poll_inside
bad=$?
. "$QT_SOURCE/tools/lib/net.sh"
trap qt_net_close EXIT
if [ "$(id -u)" != 0 ] || ! qt_net_open 9000; then
	echo "network namespaces: not root, or none to be had: the ports between them are not tested"
	exit $bad
fi
ports=(packet:10.77.0.1+packet:10.77.0.2)
! [ -e "$QT_BUILD/drivers/libqt_port_uring.so" ] || ports+=(uring:10.77.0.1+uring:10.77.0.2)
# The drivers of DPDK are not built with the thread sanitizer.
! [ -e "$QT_BUILD/drivers/libqt_port_dpdk.so" ] || [ "${QT_SANITIZE:-}" = thread ] ||
	ports+=(dpdk:net_af_packet,iface=qt0+dpdk:net_af_packet,iface=qt0)
for pair in "${ports[@]}"; do
	hosts="netns:$QT_NET_A=${pair%+*};netns:$QT_NET_B=${pair#*+}"
	bash "$job" "$1" "-n 2 --hosts $hosts" "QT_FLOOD=1 -n 2 --hosts $hosts" \
		"--fabric torus -n 4 --hosts $hosts --shape 2x2x1x1x1" || bad=1
done
exit $bad
