#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# torus check --hosts: this machine twice, another machine (a stand-in for ssh), network namespaces.
. "$QT_SOURCE/tests/harness/run.bash"

# pairs EXPRESSION WHAT: true of p, the first pair, and d, all that --json printed
pairs() { holds "$1" || fail "$2: not $1: $(cat "$dir/out" "$dir/err")"; }
holds() {
	python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
p = d["pairs"][0] if d["pairs"] else None
said = " ".join(x["text"] for x in p["problems"]) if p else ""
fixes = " ".join(x["fix"] for x in p["problems"]) if p else ""
sys.exit(not eval(sys.argv[2]))' "$dir/out" "$1"
}
# between EXPRESSION WHAT: as pairs, of the namespaces, at the third try at the latest: a probe that got no processor for long
# looks like one that cannot be reached.
between() {
	local i
	for i in 1 2 3; do
		t check --json --hosts "$both"
		holds "$1" && break
	done
	expect 0 "$2"
	pairs "$1" "$2"
}

# Lengths that no packet has. Nobody answers at that port.
for most in 5 4294967295; do
	echo "mtu 127.0.0.1 9 $most" | timeout $((60 * ${QT_SCALE:-1})) torus agent --probe >"$dir/out" 2>"$dir/err"
	status=$?
	expect 0 "a length of $most"
	said out '^mtu 0$' "a length of $most"
done

t check --hosts local,local,local --json
expect 0 "this machine three times"
pairs 'len(d["hosts"]) == 3 and len(d["pairs"]) == 3 and all(q["same_machine"] and q["driver"] == "shm:" for q in d["pairs"])' "three pairs"
t check --hosts local,local
expect 0 "as text"
said out '^(ok|look) +local 0 - local 1: .*best driver shm:$' "as text"
t check --hosts local:x
expect 2 "a wrong list"
said err "'local:x' is no host" "a wrong list"
t check --hosts netns:no_such_namespace,local
expect 1 "no such namespace"
said out 'fatal +netns no_such_namespace: .*ip netns add' "no such namespace"

# Another machine: what ssh starts there. It may be of another version, and of another boot.
cat >"$dir/ssh" <<'E2'
#!/bin/sh
for command; do :; done
case $QT_TEST_SSH in
fails) echo "ssh: no such host" >&2; exit 255 ;;
other) sh -c "$command" | sed -u "s/^version .*/version 9.9/; s/^boot .*/boot $$/; s/^clock [^ ]*/clock sundial/" ;;
*) exec sh -c "$command" ;;
esac
E2
chmod +x "$dir/ssh"
export QUINTORUS_SSH=$dir/ssh QT_TEST_SSH=
t check --json --hosts ssh:one,ssh:two
expect 0 ssh
pairs 'p["from"] == "ssh one" and p["same_machine"] and not "versions" in said' ssh
printf '%s\n' '# a comment' one 'ssh:two' >"$dir/hosts"
t check --json --hostfile "$dir/hosts"
expect 0 "a host file"
pairs 'p["from"] == "ssh one" and p["to"] == "ssh two" and p["same_machine"]' "a host file"
t check --hostfile /no/such
expect 2 "no host file"
said err 'hostfile /no/such: No such file' "no host file"
t check --hostfile "$dir/hosts" --hosts local,local
expect 2 "two lists"
env -u SLURM_JOB_NODELIST torus check --hosts slurm >"$dir/out" 2>"$dir/err"
status=$?
expect 2 "no allocation"
said err 'no Slurm allocation of several nodes; start it in one: salloc' "no allocation"
QT_TEST_SSH=other t check --json --hosts ssh:one,local
expect 1 "another version"
pairs '"the versions differ" in said and "same version" in fixes and "sundial" in said and not p["same_machine"]' "another version"
QT_TEST_SSH=fails t check --json --hosts ssh:one,local
expect 1 "no such machine"
pairs 'd["hosts"][0]["problem"] and not d["hosts"][1]["problem"] and not d["pairs"]' "no such machine"

if [ "$(id -u)" != 0 ] || ! command -v ip >/dev/null; then
	echo "network namespaces were not tried: root and iproute2"
	finish
fi
. "$QT_SOURCE/tools/lib/net.sh"
trap 'qt_net_close; rm -rf "$dir"' EXIT
qt_net_open 4000 || fail "no namespaces"
both=netns:$QT_NET_A,netns:$QT_NET_B
between 'p["reachable"] and p["mtu"] == 4000 and p["from_address"] == "10.77.0.1" and p["to_address"] == "10.77.0.2" and p["rtt_us"] > 0 and p["sent"] >= 50' "namespaces"
# One side takes less than the other sends: what arrives is found by trying (veth lets the four bytes of a VLAN pass, too).
ip -n "$QT_NET_B" link set qt0 mtu 1500
between 'p["mtu"] in range(1500, 1509) and "the MTU is 4000 on qt0 and 1500 on qt0" in said and "mtu 4000" in fixes' "two MTUs"
ip -n "$QT_NET_B" link set qt0 down
between 'not p["reachable"] and p["driver"] == "shm:"' "a link that is down"
finish
