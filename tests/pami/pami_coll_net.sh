#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A program of collectives on two hosts that are network namespaces, over DPDK, bound to a half of the processors each and not.
# usage: pami_coll_net.sh PROGRAM
set -u
[ "$(id -u)" = 0 ] || { echo "network namespaces need root" && exit 77; }
[ -e "$QT_BUILD/drivers/libqt_port_dpdk.so" ] || { echo "built without DPDK" && exit 77; }
. "$QT_SOURCE/tools/lib/net.sh"
qt_net_open 1500 || { echo "no network namespaces here" && exit 77; }
trap qt_net_close EXIT
port=dpdk:net_af_packet,iface=qt0
hosts="netns:$QT_NET_A=$port;netns:$QT_NET_B=$port"
bash "$QT_SOURCE/tests/harness/pami_job.sh" "$1" "-n 4 --hosts $hosts" "-n 5 --bind hosts --hosts $hosts"
