#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two hosts on one machine: network namespaces joined by a veth pair. Needs root and iproute2.
#
#   net.sh open [MTU]   makes them for the calling process and prints: NAME_A NAME_B
#                       (interface qt0 in both: 10.77.0.1 in A, 10.77.0.2 in B; MTU 1500 if not given)
#   net.sh close        removes those of the caller
#   . net.sh            gives qt_net_open [MTU] (sets QT_NET_A, QT_NET_B) and qt_net_close
#
# Names contain the process number of the owner, so that several owners may run at once. Each open also
# removes the namespaces of owners that were killed with SIGKILL.

QT_NET_OWNER=${QT_NET_OWNER:-$$}

qt_net_delete() # owner
{
	ip netns delete "qt${1}a" 2>/dev/null
	ip netns delete "qt${1}b" 2>/dev/null
	return 0
}

qt_net_close()
{
	qt_net_delete "$QT_NET_OWNER"
}

qt_net_sweep()
{
	local name pid
	for name in $(ip netns list 2>/dev/null | sed -n 's/^\(qt[0-9]\{1,\}[ab]\)\( .*\)\{0,1\}$/\1/p'); do
		pid=${name#qt}
		pid=${pid%[ab]}
		[ -d "/proc/$pid" ] || qt_net_delete "$pid"
	done
}

qt_net_open()
{
	local mtu=${1:-1500} side name n
	QT_NET_A=qt${QT_NET_OWNER}a QT_NET_B=qt${QT_NET_OWNER}b
	command -v ip >/dev/null || { echo "no 'ip' command: install iproute2" >&2 && return 1; }
	qt_net_sweep
	qt_net_close
	if ! { ip netns add "$QT_NET_A" && ip netns add "$QT_NET_B"; }; then
		echo "cannot make network namespaces: this needs root (or CAP_SYS_ADMIN and CAP_NET_ADMIN)" >&2
		qt_net_close
		return 1
	fi
	if ! ip link add qt0 mtu "$mtu" netns "$QT_NET_A" type veth peer name qt0 mtu "$mtu" netns "$QT_NET_B"; then
		echo "cannot join the namespaces with veth at MTU $mtu: is the kernel's veth there, the MTU 68 .. 65535?" >&2
		qt_net_close
		return 1
	fi
	n=1
	for side in a b; do
		name=qt${QT_NET_OWNER}$side
		# Without address resolution and IPv6, only frames of the program travel.
		ip netns exec "$name" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 2>/dev/null
		ip -n "$name" link set lo up
		ip -n "$name" address add 10.77.0.$n/24 dev qt0
		ip -n "$name" link set qt0 up
		n=$((n + 1))
	done
	# The kernel reports the state of a new link up to a second late, and some programs rely on it.
	for name in "$QT_NET_A" "$QT_NET_B"; do
		for n in {1..60}; do
			ip -n "$name" -brief link show qt0 | grep -q ' UP ' && break
			sleep 0.05
		done
	done
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
	QT_NET_OWNER=$PPID
	case ${1:-} in
	open) qt_net_open "${2:-1500}" && echo "$QT_NET_A $QT_NET_B" ;;
	close) qt_net_close ;;
	*) echo "usage: net.sh open [MTU] | close" >&2 && exit 2 ;;
	esac
fi
