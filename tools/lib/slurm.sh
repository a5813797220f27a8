# SPDX-License-Identifier: BSD-3-Clause
# Sourced: Slurm on this machine alone, with nodes n1 and n2, as root, without touching what is installed.
# slurm_open DIR sets SLURM_CONF; slurm_close ends what it has started.
slurm_pids=

# TmpFS: the plugin of PMIx makes a directory of one name there for each node, which must not meet on this machine.
slurm_open()
{
	# Below the ports that the kernel gives to others.
	local d=$1 port=$((20000 + RANDOM % 12000)) i host
	host=$(hostname)
	mkdir -p "$d/n1" "$d/n2" "$d/state"
	cat >"$d/slurm.conf" <<C
ClusterName=quintorus
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$d/munge.socket
StateSaveLocation=$d/state
SlurmdSpoolDir=$d/%n
TmpFS=$d/%n
SlurmctldPidFile=$d/slurmctld.pid
SlurmdPidFile=$d/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
NodeName=n[1-2] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 2))] CPUs=2
PartitionName=all Nodes=n[1-2] Default=YES State=UP OverSubscribe=FORCE:4
C
	export SLURM_CONF=$d/slurm.conf
	head -c 1024 /dev/urandom >"$d/munge.key"
	chmod 400 "$d/munge.key"
	timeout 600 munged --force --foreground --key-file="$d/munge.key" --socket="$d/munge.socket" --pid-file="$d/munged.pid" \
		--log-file="$d/munged.log" --seed-file="$d/seed" >"$d/munge.log" 2>&1 &
	slurm_pids=$!
	for ((i = 0; i < 600; i++)); do [ -S "$d/munge.socket" ] && break; sleep 0.1; done
	timeout -k 20 600 slurmctld -D >"$d/ctld.log" 2>&1 &
	slurm_pids+=" $!"
	for i in n1 n2; do
		timeout -k 20 600 slurmd -D -N $i >"$d/$i.log" 2>&1 &
		slurm_pids+=" $!"
	done
	for ((i = 0; i < 1200; i++)); do
		[ "$(sinfo -h -t idle -o %D 2>/dev/null)" = 2 ] && return 0
		sleep 0.1
	done
	return 1
}

# A step whose controller is gone tries for many minutes to tell it of the end, and slurmd waits for the step. So wait
# until all jobs are over, and 20 s after that slurmd is killed.
slurm_close()
{
	local i
	[ -z "$slurm_pids" ] || for ((i = 0; i < 200; i++)); do
		[ -n "$(timeout 5 squeue -h 2>/dev/null)" ] || break
		sleep 0.1
	done
	[ -z "$slurm_pids" ] || kill $slurm_pids 2>/dev/null
	wait $slurm_pids 2>/dev/null
	slurm_pids=
}
