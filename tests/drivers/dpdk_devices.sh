#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A job of two hosts over every software device of DPDK that joins two processes. A device that this machine does not
# have is left out, and the reason is printed.
# usage: dpdk_devices.sh T_SYSTEM_MU_MESSAGES
. "$QT_SOURCE/tests/harness/run.bash"
program=$task
ls "$QT_BUILD"/drivers/libqt_port_dpdk.so >/dev/null 2>&1 || { echo "the dpdk module was not built" && exit 77; }
. "$QT_SOURCE/tools/lib/net.sh"
trap 'qt_net_close; rm -rf "$dir"' EXIT
namespaces=0
[ "$(id -u)" != 0 ] || ! qt_net_open 9000 || namespaces=1
ran=0

# What DPDK says when the kernel, the driver or the rights for a device are not there.
absent='no packet socket|DPDK cannot (use|start) the device|DPDK does not start|is not installed'

device() # what, ports of the two hosts
{
	local what=$1 hosts=$2
	t run -n 2 --timeout $((100 * ${QT_SCALE:-1})) --hosts "$hosts" "$program" --body sizes
	if [ $status != 0 ] && grep -qE "$absent" "$dir/err"; then
		echo "$what: left out: $(grep -oE -m1 "($absent).*" "$dir/err")"
		return
	fi
	expect 0 "$what"
	echo "$what: ran"
	ran=$((ran + 1))
}

in_namespaces() # what, device, its arguments: the same at both hosts
{
	device "$1" "netns:$QT_NET_A=dpdk:$2;netns:$QT_NET_B=dpdk:$2"
}

# Two taps in one namespace, joined by a bridge as soon as the drivers have made them. The kernel's end of a tap gets another
# MAC than the driver's, since a bridge keeps frames to the MAC of its port.
join_taps()
{
	local tap
	ip -n "$QT_NET_A" link add qtbridge type bridge && ip -n "$QT_NET_A" link set qtbridge up || return
	while sleep 0.05 && kill -0 $$ 2>/dev/null; do
		for tap in 0 1; do
			ip -n "$QT_NET_A" -o link show qttap$tap 2>/dev/null | grep -q "master qtbridge.*02:77:00:00:00:0$tap" ||
				ip -n "$QT_NET_A" link set qttap$tap address 02:77:00:00:00:0$tap master qtbridge up 2>/dev/null
		done
	done
}

memif=qt-devices-$$
device memif "local=dpdk:net_memif,role=server,socket=$memif;local=dpdk:net_memif,role=client,socket=$memif"
device "vhost and virtio-user" \
	"local=dpdk:net_vhost,iface=$dir/vhost,client=1;local=dpdk:net_virtio_user,path=$dir/vhost,server=1"
if [ $namespaces = 1 ]; then
	in_namespaces "af_packet, frames copied" net_af_packet,iface=qt0,keep=0
	in_namespaces pcap net_pcap,iface=qt0
	join_taps &
	device tap "netns:$QT_NET_A=dpdk:net_tap,iface=qttap0;netns:$QT_NET_A=dpdk:net_tap,iface=qttap1"
	kill $!
	wait $! 2>/dev/null
	qt_net_close
	case ${QT_SANITIZE:-none} in
	*address*) echo "af_xdp: left out: its libraries leave memory behind, of which the sanitizer speaks" ;;
	*) qt_net_open 3000 && in_namespaces af_xdp net_af_xdp,iface=qt0 ;;
	esac
else
	echo "af_packet, af_xdp, pcap, tap: left out: network namespaces need root"
fi
[ $ran -gt 0 ] || { echo "no device is here" && exit 77; }
finish
