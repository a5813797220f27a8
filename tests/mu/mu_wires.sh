#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The bodies of mu_messages between hosts: over shared memory, io_uring, a packet socket and DPDK, with the port in the
# task and in the agent, on both fabrics, and over a port that loses, repeats and swaps frames.
# usage: mu_wires.sh T_SYSTEM_MU_MESSAGES
set -u
. "$QT_SOURCE/tests/harness/jobs.bash"
program=$1
bad=0
run() # what, body, options of torus run ...
{
	local what=$1 body=$2 start status
	shift 2
	has_run=0
	is_left_out && return
	has_run=1
	start=$(date +%s%N)
	timeout -s KILL $((110 * ${QT_SCALE:-1})) torus run --timeout $((100 * ${QT_SCALE:-1})) "$@" "$program" --body "$body"
	status=$?
	echo "$what, $body: status $status, $((($(date +%s%N) - start) / 1000000)) ms"
	[ $status = 0 ] || bad=1
}
for body in sizes fifo_sizes away handler access_error vanish remember; do
	run "shm" $body -n 2 --hosts local,local
	run "shm, torus" $body -n 2 --hosts local,local --fabric torus
	run "shm, faults" $body -n 2 --hosts local,local --seed 11 --fault loss=0.05,dup=0.05,reorder=0.1,corrupt=0.01
done
run "shm" remember_signal -n 2 --hosts local,local
run "shm" big -n 2 --hosts local,local
run "shm" stream -n 2 --hosts local,local

# Frames as long as those of MTU 1500: the pieces of a put fill them, and the links count packets of 512 bytes all the same.
# (With pieces of 1024 bytes a frame has 1088; frames that only confirm others lower the mean of 1408.)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export QUINTORUS_RUN_DIR=$dir
run "shm, frames of 1472" big -n 2 --hosts 'local=shm:,frame=1472;local=shm:,frame=1472' --report=json 2>"$dir/report"
[ $has_run = 0 ] || torus stat --once --json 'wire_tx_*' >"$dir/stat"
[ $has_run = 0 ] || python3 - "$dir" <<'END' || { cat "$dir/report"; bad=1; }
import json, sys
stat = {}
for row in map(json.loads, open(sys.argv[1] + "/stat")):
    stat[row["name"]] = stat.get(row["name"], 0) + row["value"]
links = [json.loads(line)["links"] for line in open(sys.argv[1] + "/report") if line.startswith("{")][0]
a_frame = stat["wire_tx_bytes"] / stat["wire_tx_frames"]
a_packet = sum(l["bytes"] for l in links) / sum(l["packets"] for l in links)
print(f"frames of 1472: {a_frame:.0f} bytes of runs each, packets of {a_packet:.0f} bytes")
sys.exit(not (a_frame > 1110 and a_packet > 540))
END
unset QUINTORUS_RUN_DIR
run "shm, agents" stream -n 4 --hosts local,local
run "shm, agents, faults" stream -n 4 --hosts local,local --seed 3 --fault loss=0.02,dup=0.05,reorder=0.1
run "shm, agents" storm -n 8 --hosts local,local
run "shm, torus" storm -n 8 --shape 2x2x2x1x1 --hosts local,local --fabric torus
run "shm, torus, faults" storm -n 8 --shape 2x2x2x1x1 --hosts local,local --fabric torus --seed 5 \
	--fault loss=0.05,reorder=0.1

. "$QT_SOURCE/tools/lib/net.sh"
trap 'rm -rf "$dir"; qt_net_close' EXIT
if [ "$(id -u)" != 0 ] || ! qt_net_open 9000; then
	echo "network namespaces: not root, or none to be had: the ports between them are not tested"
	exit $bad
fi
uring="netns:$QT_NET_A=uring:10.77.0.1;netns:$QT_NET_B=uring:10.77.0.2"
dpdk="netns:$QT_NET_A=dpdk:net_af_packet,iface=qt0;netns:$QT_NET_B=dpdk:net_af_packet,iface=qt0"
packet="netns:$QT_NET_A=packet:10.77.0.1;netns:$QT_NET_B=packet:10.77.0.2"
# Polls of these ports make system calls, and remember nothing.
for body in sizes away access_error vanish big stream; do
	ls "$QT_BUILD"/drivers/libqt_port_uring.so >/dev/null 2>&1 && run "uring" $body -n 2 --hosts "$uring"
	run "packet" $body -n 2 --hosts "$packet"
	if ls "$QT_BUILD"/drivers/libqt_port_dpdk.so >/dev/null 2>&1; then
		run "dpdk" $body -n 2 --hosts "$dpdk"
	fi
done
run "packet, faults" sizes -n 2 --hosts "$packet" --seed 11 --fault loss=0.05,dup=0.05,reorder=0.1,corrupt=0.01
run "packet, agents, faults" stream -n 4 --hosts "$packet" --seed 3 --fault loss=0.02,dup=0.05,reorder=0.1
run "packet, agents, torus" storm -n 8 --shape 2x2x2x1x1 --fabric torus --hosts "$packet"
if ls "$QT_BUILD"/drivers/libqt_port_uring.so >/dev/null 2>&1; then
	run "packet and uring" big -n 2 --hosts "${packet%;*};${uring#*;}"
fi
if ls "$QT_BUILD"/drivers/libqt_port_dpdk.so >/dev/null 2>&1; then
	run "dpdk, agents, torus" storm -n 8 --shape 2x2x2x1x1 --fabric torus --hosts "$dpdk"
fi
exit $bad
