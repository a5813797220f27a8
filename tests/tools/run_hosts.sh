#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# torus run on several hosts: this machine twice, network namespaces, ssh (a stand-in for it).
. "$QT_SOURCE/tests/harness/run.bash"

t run -n 4 --hosts local,local "$task" exchange
expect 0 "local,local"
t run -n 2 --hosts local --hosts local "$task" exchange
expect 0 "two --hosts"
t run -n 6 --hosts 'local=shm:;local,local' "$task" exchange
expect 0 "ports and no ports"
t run -n 8 --shape 2x2x2x1x1 --hosts local,local --fabric torus "$task" exchange
expect 0 "half a torus each"
t run -n 4 --hosts local,local --fault loss=0.1,dup=0.1,reorder=0.1,seed=3 "$task" exchange
expect 0 "faults"
t run -n 4 --hosts local,local "$task" info
[ "$(grep -c 'node 1 of 2 at 1,0,0,0,0,[01] local 2' "$dir/out")" = 2 ] || fail "places: $(cat "$dir/out")"
# Each host keeps to a part of the processors; more hosts than processors have one each; unasked, all have all.
for hosts in local,local local,local,local; do
	t run -n 6 --hosts $hosts --bind hosts sh -c 'echo "$QUINTORUS_TASK $(grep Cpus_allowed: /proc/self/status)"'
	expect 0 "--bind hosts, $hosts"
	parts=$(awk '{ print $NF }' "$dir/out" | sort -u | wc -l) processors=$(nproc)
	[ "$(wc -l <"$dir/out")" = 6 ] || fail "--bind hosts: $(cat "$dir/out")"
	commas=${hosts//[^,]/}
	want=$((${#commas} + 1))
	[ $want -le "$processors" ] || want=$processors
	[ "$parts" = $want ] || fail "--bind hosts, $hosts: $parts parts of $processors processors, not $want: $(cat "$dir/out")"
done
t run -n 2 --hosts local,local --bind none grep Cpus_allowed: /proc/self/status
[ "$(sort -u "$dir/out")" = "$(grep Cpus_allowed: /proc/self/status)" ] || fail "--bind none: $(cat "$dir/out")"
# A driver whose module is not built, or which the thread sanitizer cannot load, is not tested.
unusable() {
	[ $status != 0 ] && grep -qE 'not installed|ThreadSanitizer: called_from_lib' "$dir/err"
}
t run -n 2 --hosts 'local=dpdk:no_such_device;local' "$task" exchange
if unusable; then
	echo "DPDK: no module to load"
else
	# The agent says 1 or the task its own status, whichever is seen first.
	[ $status = 71 ] || expect 1 "a port that does not open"
	said err 'no_such_device' "a port that does not open"
fi
t run --hosts netns:no_such_namespace -n 2 true
expect 1 "no such namespace"
lines err 1 "no such namespace"
said err 'ip netns add' "no such namespace"

# ssh: the last argument is what the other machine's shell runs.
cat >"$dir/ssh" <<'END'
#!/bin/sh
for command; do :; done
[ "$QT_TEST_SSH" != fails ] || { echo "ssh: no such host" >&2; exit 255; }
[ "$QT_TEST_SSH" != talks ] || echo "Welcome to this machine, it is a sunny day"
exec sh -c "$command"
END
chmod +x "$dir/ssh"
# Where silence is not what a case is about, a machine that stops for a second does not end its job.
export QUINTORUS_SSH=$dir/ssh QT_TEST_SSH= QUINTORUS_SILENCE=20
t run -n 3 --hosts ssh:one sh -c 'echo $QUINTORUS_TASK; pwd'
expect 0 ssh
[ "$(grep -c "^$PWD\$" "$dir/out")" = 3 ] || fail "ssh: directory: $(cat "$dir/out")"
# Between machines frames are authenticated; that needs the module.
seal=authenticated unsealed=
[ -e "$QT_BUILD/drivers/libqt_seal.so" ] || seal=none unsealed='--seal none'
t run -n 4 $unsealed --report=json --hosts 'ssh:one=shm:;ssh:two=shm:' "$task" exchange
expect 0 "two over ssh"
said err "\"seal\": \"$seal\"" "two over ssh"
if [ $seal != none ]; then
	# On this machine too, where others can send to the port.
	t run -n 2 --report=json --hosts 'local=uring:127.0.0.1;local=uring:127.0.0.1' "$task" exchange
	if ! grep -q 'not installed' "$dir/err"; then
		expect 0 "uring on this machine"
		said err '"seal": "authenticated"' "uring on this machine"
		t run -n 2 --seal none --report=json --hosts 'local=uring:127.0.0.1;local=uring:127.0.0.1' "$task" exchange
		expect 0 "uring on this machine, --seal none"
		said err '"seal": "none"' "uring on this machine, --seal none"
	fi
	t run -n 2 --report=json --hosts local,local "$task" exchange
	said err '"seal": "none"' "shared memory"
	for seal in authenticated encrypted; do
		t run -n 4 --hosts local,local --seal $seal --report "$task" exchange
		expect 0 "$seal frames"
		said err "frames between hosts are $seal" "$seal frames"
		t run -n 8 --shape 2x2x2x1x1 --fabric torus --hosts local,local --seal $seal \
			--fault loss=0.1,dup=0.1,reorder=0.1,corrupt=0.05,seed=3 "$task" exchange
		expect 0 "$seal frames, faults"
	done
	QUINTORUS_MODULES=/nonexistent t run -n 2 --hosts local,local --seal encrypted "$task" exchange
	expect 0 "a module of the build is found whatever QUINTORUS_MODULES says"
else
	echo "left out: sealed frames, no libqt_seal.so"
fi
t run -n 4 $unsealed --hosts 'local=shm:;ssh:two=shm:' --tag sh -c 'exit $QUINTORUS_TASK'
case $status in [123]) ;; *) fail "exit status over ssh: $status" ;; esac
seq 100000 >"$dir/in"
torus run -n 2 --hosts ssh:one cat <"$dir/in" >"$dir/out" || fail "input over ssh: status $?"
cmp "$dir/in" "$dir/out" || fail "input over ssh"
t run -n 2 --hosts ssh:one sh -c 'kill -9 $$'
expect 137 "signal over ssh"
said err 'on host ssh one was killed by signal 9' "signal over ssh"
QT_TEST_SSH=fails t run -n 2 --hosts ssh:one true
expect 1 "ssh fails"
said err 'agent of host ssh one' "ssh fails"
QT_TEST_SSH=talks t run -n 2 --hosts ssh:one true
expect 1 "a shell that prints at login"
said err 'print nothing' "a shell that prints at login"

# Silence is death, at both ends. A process that has no processor for a second or two is not silent, so the limit is not short,
# and the cases run side by side.
limit=5
beside=() # their processes
# waits NAME LIMIT: a job on another host that waits for the file go; sets pid, agent, mark, and dir, which is of its own.
waits() {
	dir=$dir/$1 mark=$$.$1
	mkdir "$dir"
	env "$mark_name=$mark" QUINTORUS_SILENCE=$2 torus run -n 2 --hosts ssh:one \
		sh -c "echo up; until [ -e '$dir/go' ]; do sleep 0.05; done; echo done" >"$dir/out" 2>"$dir/err" &
	pid=$!
	until_said "$dir/out" up
	agent=$(pgrep -P $pid)
}
goes_on() { # goes_on WHAT: it comes to its end
	touch "$dir/go"
	wait $pid
	status=$?
	expect 0 "$1"
	[ "$(grep -c done "$dir/out")" = 2 ] || fail "$1: $(cat "$dir/out")"
}
silent_agent() {
	waits silent_agent $limit
	kill -STOP $agent
	wait $pid
	status=$?
	expect 1 "silent agent"
	said err "silent for $limit s" "silent agent"
	none_left "$mark" "silent agent"
}
silent_torus_run() {
	local left until
	waits silent_torus_run $limit
	kill -STOP $pid
	until=$((SECONDS + 10 + 10 * ${QT_SCALE:-1}))
	while left=$(survivors "$mark" | grep -vx $pid | wc -l) && [ "$left" -gt 1 ] && [ $SECONDS -lt $until ]; do
		sleep 0.1
	done
	kill -CONT $pid
	wait $pid
	[ "$left" -le 1 ] || fail "silent torus run: $left processes on the other host after the limit"
	none_left "$mark" "silent torus run"
}
# Suspended for longer than that and continued: nothing happened.
suspended() {
	waits suspended $limit
	kill -TSTP $pid
	until [[ $(ps -o state= $pid) = T* ]] || ! kill -0 $pid; do sleep 0.05; done
	sleep $((limit + 1))
	kill -CONT $pid
	goes_on "suspended and continued"
}
# Both ends stopped for longer than that, as by a hypervisor, and the other end continued first: nothing happened.
both_stopped() {
	waits both_stopped $limit
	kill -STOP $pid
	sleep 0.3
	kill -STOP $agent
	sleep $((limit + 1))
	kill -CONT $agent
	sleep 0.3
	kill -CONT $pid
	sleep 1
	goes_on "stopped with its agent"
}
# Silence for less than the limit, at both ends.
short_silence() {
	local end
	waits short_silence 8
	for end in $pid $agent; do
		kill -STOP $end
		sleep 3
		kill -CONT $end
		sleep 0.5
	done
	goes_on "silence below the limit"
}
for case in silent_agent silent_torus_run suspended both_stopped short_silence; do
	($case; exit $((fails > 0))) &
	beside+=($!)
done
for case in "${beside[@]}"; do
	wait $case || fails=$((fails + 1))
done

# Network namespaces.
if [ "$(id -u)" != 0 ] || ! command -v ip >/dev/null; then
	echo "not root, or no ip command: network namespaces not tested"
	finish
fi
a=qrun$$a b=qrun$$b
cleanup() {
	ip netns del $a 2>/dev/null
	ip netns del $b 2>/dev/null
	rm -rf "$dir"
}
trap cleanup EXIT
if ! { ip netns add $a && ip netns add $b &&
	ip link add v$$a netns $a type veth peer name v$$b netns $b; }; then
	echo "network namespaces cannot be made: not tested"
	finish
fi
for side in a b; do
	ip -n qrun$$$side link set lo up
	ip -n qrun$$$side link set v$$$side up
done
ip -n $a addr add 10.77.1.1/24 dev v$$a
ip -n $b addr add 10.77.1.2/24 dev v$$b
t run --hosts netns:$a -n 2 sh -c 'ls /proc/sys/net/ipv4/conf'
said out "v$$a" "the namespace"
wire() { # wire NAME HOSTS: with one task on each host, with several, and every kind of process killed
	local name=$1 hosts=$2 kind pid victim m
	t run -n 2 --hosts "$hosts" "$task" exchange
	if unusable; then
		echo "$name: its module is not built, not tested"
		return
	fi
	expect 0 "$name, 2 tasks"
	t run -n 8 --hosts "$hosts" "$task" exchange
	expect 0 "$name, 8 tasks"
	t run -n 8 --shape 2x2x2x1x1 --fabric torus --hosts "$hosts" "$task" exchange
	expect 0 "$name, fabric torus"
	t run -n 4 --hosts "$hosts" --fault loss=0.05,reorder=0.05 "$task" exchange
	expect 0 "$name, faults"
	for kind in run agent task; do
		for n in 2 4; do
			m=$RANDOM.$RANDOM
			forget
			env "$mark_name=$m" torus run -n $n --hosts "$hosts" "$task" busy >"$dir/out" 2>"$dir/err" </dev/null &
			pid=$!
			until_said "$dir/out" busy
			victim=$(pgrep -P $pid | head -1)
			case $kind in
			run) victim=$pid ;;
			task) victim=$(pgrep -P "$victim" | head -1) ;;
			esac
			kill -9 "$victim"
			wait $pid 2>/dev/null
			none_left "$m" "$name, $n tasks: kill -9 of $kind"
		done
	done
}
t run -n 2 --hosts "netns:$a,netns:$b" --report "$task" exchange
if unusable; then
	echo "no io_uring: default port not tested"
else
	expect 0 "default port"
	said err 'port packet:10.77.1.1' "default port"
fi
wire uring "netns:$a=uring:10.77.1.1;netns:$b=uring:10.77.1.2"
wire packet "netns:$a=packet:10.77.1.1;netns:$b=packet:10.77.1.2"
wire DPDK "netns:$a=dpdk:net_af_packet,iface=v$$a;netns:$b=dpdk:net_af_packet,iface=v$$b"
# The end of a job over DPDK, on busy processors: tasks that all succeeded are a job that succeeded.
loops=()
for _ in 1 2; do
	timeout 60 bash -c 'while :; do :; done' &
	loops+=($!)
done
for job in 1 2 3 4; do
	t run -n 4 --hosts "netns:$a=dpdk:net_af_packet,iface=v$$a;netns:$b=dpdk:net_af_packet,iface=v$$b" "$task" exchange
	unusable && break
	expect 0 "end $job over DPDK"
	! grep 'did not end' "$dir/err" || fail "end $job over DPDK: an agent was killed"
done
kill "${loops[@]}"
ip -n $a addr add 10.78.1.1/24 dev v$$a
t run -n 2 --hosts "netns:$a,netns:$b" "$task" exchange
expect 1 "several addresses"
said err '10.77.1.1 .*10.78.1.1.*udp:ADDRESS' "several addresses"
finish
