#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ofi_mpi.sh: Debian's Open MPI over the provider under mpirun, in its ways to do one-sided operations; fi_info, fi_pingpong.
set -u
. "$QT_SOURCE/tests/ofi/openmpi.sh"
. "$QT_SOURCE/tests/harness/mpirun.bash"
qt_openmpi_need mpicc.openmpi mpirun.openmpi fi_info fi_pingpong "openmpi-bin, libopenmpi-dev, libfabric-bin"
export FI_PROVIDER_PATH=$QT_BUILD/ofi
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_oob_tcp_if_include=lo
export OMPI_MCA_pml=cm OMPI_MCA_mtl=ofi OMPI_MCA_mtl_ofi_provider_include=quintorus
export OMPI_MCA_btl=self,ofi OMPI_MCA_btl_ofi_provider_include=quintorus OMPI_MCA_osc_rdma_btls=ofi
mpicc.openmpi -O1 -Wall -I"$QT_SOURCE" -o "$tmp/program" "$QT_SOURCE/tests/ofi/ofi_mpi.c" || exit 1

say() {
	printf '%s: %s\n' "$1" "$2"
	[ "$1" != FAIL ] || failed=1
}

run() { # TASKS WHAT COMMAND...
	local n=$1 what=$2 out rc
	shift 2
	run_launcher $limit "$@"
	if [ $rc = 0 ] && [ "$(grep -c "PASS .* of $n$" <<<"$out")" = "$n" ]; then
		say ok "$what"
	else
		say FAIL "$what (status $rc)"
		grep -v "^$" <<<"$out" | head -30
	fi
}

info=$(fi_info -p quintorus 2>&1)
if grep -q 'provider: quintorus$' <<<"$info" && ! grep -q ';' <<<"$info"; then
	say ok "fi_info names the provider, and nothing layered above it"
else
	say FAIL "fi_info -p quintorus: $info"
fi
fi_info -p quintorus -t FI_EP_MSG >/dev/null 2>&1 && say FAIL "fi_info offers connected endpoints"

run 2 "two tasks" mpirun.openmpi -np 2 --mca osc_rdma_priority 99 "$tmp/program"
run 3 "one-sided through btl ofi" mpirun.openmpi -np 3 --mca osc rdma "$tmp/program"
run 4 "two hosts of two tasks" mpirun.openmpi -np 4 --mca osc rdma "$QT_SOURCE/tests/harness/part.sh" 2 shm: "$tmp/program"

# dies LAUNCHER...: task 1 dies in each way while the others compute, or all are in a call; the launcher ends with its status. How
# long that took is printed: less than a second on a machine that is free.
dies() {
	local how status work rc ms slowest=0
	while read -r how status work; do
		rm -f "$tmp/at"
		timeout $limit "$@" "$tmp/program" die "$how" "$work" "$tmp/at" >"$tmp/out" 2>&1 </dev/null # mpirun would read the list
		rc=$?
		ms=$(($(date +%s%3N) - $(cat "$tmp/at" 2>/dev/null || echo 0)))
		slowest=$((ms > slowest ? ms : slowest))
		[ $rc = "$status" ] && continue
		say FAIL "$1: death by $how, work $work: status $rc after $ms ms: $(tail -n 5 "$tmp/out")"
	done <<-EOF
		exit 3 barrier
		kill 137 compute
		kill 137 receive
		kill 137 allreduce
		kill 137 rendezvous
		abort 7 barrier
		abort 7 receive
		abort 7 rendezvous
		segv 139 compute
	EOF
	say ok "$1: deaths end the job: $slowest ms at most"
}
dies mpirun.openmpi -np 3 --mca odls_base_sigkill_timeout 0

# An agent that dies takes its host along, whatever the tasks do.
for work in compute receive allreduce; do
	out=$(QT_MARK=$$ timeout $limit mpirun.openmpi -np 4 "$QT_SOURCE/tests/harness/part.sh" 2 shm: \
		"$tmp/program" die agent $work "$tmp/at" 2>&1 </dev/null)
	rc=$?
	ms=$(($(date +%s%3N) - $(cat "$tmp/at" 2>/dev/null || echo 0)))
	if [ $rc = 1 ] && grep -q 'error: launch: the agent of this host .* was killed or has failed' <<<"$out"; then
		say ok "mpirun.openmpi: an agent that dies during $work ends the job: $ms ms"
	else
		say FAIL "mpirun.openmpi: an agent that dies during $work: status $rc after $ms ms: $(tail -n 5 <<<"$out")"
	fi
done

out=$(timeout $limit mpirun.openmpi -np 2 "$tmp/program" spawn 2>&1)
rc=$?
if [ $rc != 0 ] && [ $rc != 124 ] && grep -q 'quintorus: a process of another job cannot be reached' <<<"$out"; then
	say ok "spawned processes are refused"
else
	say FAIL "spawned processes: status $rc: $out"
fi

# torus run sets what Open MPI needs by itself.
cat >"$tmp/own" <<'EOF'
#!/bin/bash
unset FI_PROVIDER_PATH $(compgen -e OMPI_MCA_)
exec torus run --mpi "$@"
EOF
chmod +x "$tmp/own"
if [ -e "$QT_BUILD/tools/libqt_pmix_server.so" ]; then
	run 3 "torus run --mpi" "$tmp/own" -n 3 "$tmp/program"
	run 4 "torus run --mpi, two hosts, frames lost, PAMI's collectives" \
		"$tmp/own" -n 4 --hosts local,local --fault loss=0.02,seed=3 "$tmp/program" single hosts 2
	run 2 "torus run --mpi, routers" "$tmp/own" --fabric torus --shape 2x1x1x1x1 "$tmp/program"
	. "$QT_SOURCE/tools/lib/net.sh"
	if qt_net_open 2>/dev/null && ls "$QT_BUILD"/drivers/libqt_port_dpdk.so >/dev/null 2>&1; then
		trap 'qt_net_close; rm -rf "$tmp"' EXIT
		port=dpdk:net_af_packet,iface=qt0
		run 4 "torus run --mpi, two namespaces over DPDK, frames lost" "$tmp/own" -n 4 --hosts "netns:$QT_NET_A=$port;netns:$QT_NET_B=$port" \
			--fault loss=0.01,seed=5 "$tmp/program" single hosts 2
		ip -n "$QT_NET_B" link set lo down
		out=$(timeout $limit "$tmp/own" -n 2 --hosts "netns:$QT_NET_A=$port;netns:$QT_NET_B=$port" "$tmp/program" single 2>&1)
		rc=$?
		if [ $rc != 0 ] && [ $rc != 124 ] && grep -q 'lo up' <<<"$out"; then
			say ok "a namespace without loopback is refused"
		else
			say FAIL "a namespace without loopback: status $rc: $out"
		fi
	else
		echo "left out: network namespaces need root, and DPDK"
	fi
	dies "$tmp/own" -n 3
	dies "$tmp/own" -n 4 --hosts local,local
	out=$(timeout $limit "$tmp/own" -n 3 "$tmp/program" die exit barrier "$tmp/at" 2>&1)
	if [ $? = 3 ] && grep -q 'task 1 .* exit status 3' <<<"$out"; then
		say ok "torus run --mpi: a death is named"
	else
		say FAIL "torus run --mpi: a death: $out"
	fi
fi

# fi_pingpong wants a server and a client; each task of a job is one of them.
cat >"$tmp/pingpong" <<'EOF'
#!/bin/bash
port=$1
shift
[ "$QUINTORUS_TASK" != 0 ] || exec fi_pingpong -p quintorus -e rdm -B "$port" "$@"
until grep -qi ":$(printf %04x "$port") [0-9a-f:]* 0a" /proc/net/tcp /proc/net/tcp6; do sleep 0.05; done # it listens
exec fi_pingpong -p quintorus -e rdm -P "$port" "$@" 127.0.0.1
EOF
chmod +x "$tmp/pingpong"
port=$((20000 + $$ % 10000))
for mode in tagged msg; do
	for hosts in local local,local; do
		port=$((port + 1))
		out=$(timeout $limit torus run -n 2 --hosts $hosts "$tmp/pingpong" $port -c -m $mode -I 10 -S 70000 2>&1)
		rc=$?
		if [ $rc = 0 ] && [ "$(grep -c '^68k\|^70000' <<<"$out")" = 2 ]; then
			say ok "fi_pingpong -m $mode, hosts $hosts"
		else
			say FAIL "fi_pingpong -m $mode, hosts $hosts (status $rc)"
			tail -5 <<<"$out"
		fi
	done
done
exit $failed
