#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# torus run inside a Slurm allocation: with a stand-in for srun, and where Slurm is installed under slurmctld itself.
. "$QT_SOURCE/tests/harness/run.bash"
# A machine that stops, or has many processes to run, does not end these jobs.
export QUINTORUS_SILENCE=60
task=$(realpath "$task")
mkdir "$dir/bin"
# As srun does, the stand-in passes whole lines of output on, and nothing else until the end.
cat >"$dir/bin/srun" <<'E2'
#!/usr/bin/env python3
import os, signal, subprocess, sys
words = sys.argv[1:]
node = words[words.index('--nodelist') + 1]
signal.signal(signal.SIGTERM, lambda *_: (p.terminate(), os._exit(143)))
p = subprocess.Popen(words[words.index('sh'):], stdout=subprocess.PIPE, env={**os.environ, 'SLURMD_NODENAME': node})
rest = b''
while data := os.read(p.stdout.fileno(), 65536):
    whole, end, rest = (rest + data).rpartition(b'\n')
    os.write(1, whole + end)
os.write(1, rest)
sys.exit(p.wait())
E2
chmod +x "$dir/bin/srun"
export PATH=$dir/bin:$PATH
two='slurm:n1=uring:127.0.0.1;slurm:n2=uring:127.0.0.1'

t run -n 4 --hosts "$two" "$task" exchange
expect 0 "two nodes"
said out '^ok$' "two nodes"
t run -n 4 -t --hosts "$two" "$task" info
expect 0 "output"
lines out 4 "output"
t run -n 2 --hosts "$two" sh -c 'exit 7'
expect 7 "a failure"
said err 'on host slurm n[12] ended with exit status 7' "a failure"
printf '%s\n' 'slurm:n1=uring:127.0.0.1' '# a comment' 'slurm:n2=uring:127.0.0.1' >"$dir/hosts"
t run -n 2 --hostfile "$dir/hosts" "$task" exchange
expect 0 "a host file"
t run --hostfile /no/such "$task" exchange
expect 2 "no host file"
# An allocation gives hosts and tasks; this machine may have no address for them.
SLURM_JOB_NODELIST='n[1-2]' SLURM_NTASKS=4 t run --report=json "$task" exchange
[ "$status" = 1 ] && grep -q 'no IPv4 address but loopback\|several addresses' "$dir/err" ||
	{ expect 0 "an allocation" && said err '"name": "slurm n2", "tasks": 2' "an allocation"; }
SLURM_JOB_NODELIST='n[1-2]' t check --json --hosts slurm
expect 0 "the pairs of an allocation"
said out '"from": "slurm n1", "to": "slurm n2"' "the pairs of an allocation"
# Not for virtual time, and not where hosts are given.
SLURM_JOB_NODELIST='n[1-2]' t run -n 2 --clock virtual "$task" exchange
expect 0 "virtual time in an allocation"
SLURM_JOB_NODELIST='n[1-2]' t run -n 2 --hosts local "$task" exchange
expect 0 "other hosts in an allocation"
rm "$dir/bin/srun"
if ! command -v srun >/dev/null; then
	t run -n 2 --hosts "$two" "$task" exchange
	said err 'cannot start srun' "no Slurm"
fi

if [ "$(id -u)" != 0 ] || ! command -v slurmctld >/dev/null || ! command -v slurmd >/dev/null || ! command -v munged >/dev/null; then
	echo "Slurm itself was not tried: root, and the packages slurmctld, slurmd, slurm-client and munge"
	finish
fi
. "$QT_SOURCE/tools/lib/slurm.sh"
slurm_open "$dir/slurm" || fail "Slurm does not start: $(tail -n 3 "$dir"/slurm/*.log)"
trap 'slurm_close; rm -rf "$dir"' EXIT
under() { # under COMMAND...: in an allocation of two nodes
	timeout $((60 * ${QT_SCALE:-1})) salloc -Q "$@" >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
}
under -N 2 -n 4 torus run --report=json "$task" exchange
expect 0 "Slurm"
said err '"name": "slurm n2", "tasks": 2' "Slurm"
under -N 2 torus run sh -c 'exit 7'
expect 7 "Slurm, a failure"
under -N 2 torus check --hosts slurm
expect 0 "the pairs of Slurm's nodes"
said out '^(ok|look) +slurm n1 - slurm n2: ' "the pairs of Slurm's nodes"
timeout $((60 * ${QT_SCALE:-1})) srun --mpi=pmi2 -N 2 -n 4 "$task" exchange >"$dir/out" 2>"$dir/err" </dev/null
status=$?
expect 0 "srun --mpi=pmi2"
for nodes in 1 2; do
	timeout $((60 * ${QT_SCALE:-1})) srun --mpi=pmix -N $nodes -n $((2 * nodes)) "$task" exchange >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
	expect 0 "srun --mpi=pmix, $nodes nodes"
done
gasnet=$QT_BUILD/tests/t_system_gasnet_launch
for mpi in pmix pmi2; do
	[ -x "$gasnet" ] || break
	timeout $((60 * ${QT_SCALE:-1})) srun --mpi=$mpi -N 2 -n 4 "$gasnet" >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
	expect 0 "srun --mpi=$mpi, GASNet"
	lines out 4 "srun --mpi=$mpi, GASNet"
	timeout $((60 * ${QT_SCALE:-1})) srun --mpi=$mpi -N 2 -n 4 "$gasnet" one >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
	expect 7 "srun --mpi=$mpi, GASNet, a failure"
done
finish
