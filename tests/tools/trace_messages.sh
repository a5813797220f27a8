#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# torus run --trace in both clocks, torus explain: messages and collectives.
. "$QT_SOURCE/tests/harness/run.bash"

# Between hosts that lose frames, on one host, and in virtual time. Each send of the
# file has its receive, and no event is before its cause on the one clock of this machine.
messages() { # messages FILE ARGUMENTS...: a traced run of calls of PAMI
	local file=$1
	shift
	t run --trace "$file" "$@"
	expect 0 "$*"
}
messages "$dir/r" -n 4 --hosts local,local --fault loss=0.1,seed=5 "$task" 8
said err '^torus run: --trace: [0-9]+ events in .*, 0 lost; an event costs a task about [0-9]+ ns' "the cost"
# Machines reached by ssh, for which a script stands in: what their agents hold comes over the control channel.
printf '#!/bin/sh\nfor command; do :; done\nexec sh -c "$command"\n' >"$dir/ssh"
chmod +x "$dir/ssh"
QUINTORUS_SSH=$dir/ssh messages "$dir/m" -n 4 --hosts 'ssh:one=uring:127.0.0.1;ssh:two=uring:127.0.0.1' "$task" 8
messages "$dir/s" -n 3 "$task" 20
messages "$dir/v" --clock virtual --shape 3x1x1x1x1 "$task" 20
python3 - "$dir" <<'P' || fail "the messages"
import json, sys
SEND, ENGINE, RECEIVE, FINISH, COMPLETE, COLL, OUT, IN, RDMA, RDMA_DONE = range(1, 11)
LOCAL, REMOTE, PUT, GET, ATOMIC = range(3, 8)
for name, tasks, n in (('r', 4, 8), ('m', 4, 8), ('s', 3, 20), ('v', 3, 20)):
    events = [e['args'] for e in json.load(open(sys.argv[1] + '/' + name))['traceEvents'] if e.get('cat') == 'message']
    by = {k: [e for e in events if e['kind'] == k] for k in range(1, 11)}
    sent = {(e['task'], e['channel'], e['to'], e['peer'], e['number']): e for e in by[SEND]}
    came = {(e['to'], e['peer'], e['task'], e['channel'], e['number']): e for e in by[RECEIVE]}
    assert len(sent) == len(by[SEND]) and len(came) == len(by[RECEIVE]), name
    assert set(came) == set(sent), (name, set(sent) ^ set(came))
    for key, e in came.items():
        assert sent[key]['ps'] <= e['ps'], (name, key)
        assert sent[key]['dispatch'] == e['dispatch'], (name, key)
    # What the program sends: n messages of each size to the next task, each complete here and there.
    for t in range(tasks):
        own = [e for e in by[SEND] if e['task'] == t and e['dispatch'] == 5]
        assert len(own) == 3 * n and {e['to'] for e in own} == {(t + 1) % tasks}, (name, t, len(own))
        assert sorted({e['bytes'] for e in own}) == [8, 1000, 100000], name
        done = [e for e in by[COMPLETE] if e['task'] == t]
        assert len(done) == 4 * n, (name, len(done))
        assert len([e for e in by[FINISH] if e['task'] == t]) >= n, name
        assert len([e for e in by[COLL] if e['task'] == t]) == 5, name
        # A put, a get and an atomic, each with its callbacks.
        calls = [e for e in by[RDMA] if e['task'] == t]
        assert sorted(e['how'] for e in calls) == [PUT, GET, ATOMIC], (name, calls)
        assert {e['to'] for e in calls} == {(t - 1) % tasks} and [e['bytes'] for e in calls if e['how'] != ATOMIC] == [8, 8], name
        for e in calls:
            ran = [d for d in by[RDMA_DONE] if d['task'] == t and d['number'] == e['number']]
            assert sorted(d['how'] for d in ran) == [LOCAL, REMOTE][:1 + (e['how'] == PUT)], (name, ran)
            assert all(d['ps'] >= e['ps'] for d in ran), name
    if name == 'r':
        out = {(e['key'], e['number'], e['host']) for e in by[OUT]}
        assert len(out) < len(by[OUT]), 'nothing was resent'
        assert {(e['key'], e['number'], e['to']) for e in by[IN]} <= out
    elif name == 'm':
        # Each machine has received what the other has sent.
        assert {e['host'] for e in by[OUT]} == {e['host'] for e in by[IN]} == {0, 1}
    elif name == 's':
        assert not by[OUT] and not by[IN]
    assert by[ENGINE], name
    if name == 'v':
        # Each packet of the simulator that an engine of a task has made is that of one descriptor.
        steps = [e['args'] for e in json.load(open(sys.argv[1] + '/v'))['traceEvents'] if e.get('name') == 'inject']
        sent = {(e['source'], e['number']): e for e in steps}
        firsts = [(e['dispatch'], e['key'] >> 32) for e in by[ENGINE]]
        assert len(set(firsts)) == len(firsts) and set(firsts) <= set(sent)
        for e in by[ENGINE]:
            first, last = e['key'] >> 32, e['key'] & 0xffffffff
            assert sent[e['dispatch'], first]['ps'] == e['ps'] and last >= first + e['descriptors'] - 1
            assert sent[e['dispatch'], last]['ps'] <= e['ps'] + e['dur_ps']
        for e in by[SEND]:
            own = [m for m in by[ENGINE] if (m['task'], m['channel'], m['descriptor']) == (e['task'], e['channel'], e['descriptor'])]
            assert len(own) == 1 or not e['descriptors'], e
            assert not own or e['ps'] <= own[0]['ps'], e
P
"$QT_SOURCE/tests/harness/trace_check.py" "$dir/r" "$dir/m" "$dir/s" "$dir/v" || fail "the form of the files"
for file in r m s v; do
	t explain --message "$dir/$file" 0 1.0 2
	expect 0 "a message"
	said out '^message 2 of task 0.0 to task 1.0: [0-9]+ bytes, (internal )?dispatch ' "a message"
	said out ' task 0: the call; ' "a message"
	said out ' task 1: takes it, dispatches ' "a message"
	t explain --json --collective "$dir/$file"
	expect 0 "a collective"
	python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
begin = min(m["ps"] for m in d["members"])
end = max(m["ps"] + m["dur_ps"] for m in d["members"])
at = [p["ps"] for p in d["path"]]
sys.exit(not (d["ps"] == end - begin and d["path"][-1]["until_ps"] == end and at == sorted(at) and at[0] >= begin))' "$dir/out" ||
		fail "the collective of $file"
done
# In virtual time a message is linked with its packets: the way of the first, and the end of the last.
t explain --message "$dir/v"
expect 0 "packets of a message"
said out ' packet [0-9]+: node [0-2], leaves over A[+-] ' "packets of a message"
said out ' packet [0-9]+: node [0-2], delivered ' "packets of a message"
said out ' packet [0-9]+, the last of [0-9]+: node [0-2], delivered ' "packets of a message"
t explain "$dir/r"
expect 0 "the longest of a real run"
said out '^message ' "the longest of a real run"
# What a job that fails leaves is a trace, too.
t run --trace "$dir/k" -n 2 "$task" 3 die
expect 3 "a job that fails"
t explain --message "$dir/k"
expect 0 "a job that fails"
# Hashes are those of a run without a trace.
t run --clock virtual --shape 3x1x1x1x1 --report=json "$task" 20
grep -o '"hash": *"[^"]*"' "$dir/err" >"$dir/plain"
t run --clock virtual --shape 3x1x1x1x1 --report=json --trace "$dir/h" "$task" 20
grep -o '"hash": *"[^"]*"' "$dir/err" | cmp -s - "$dir/plain" && [ -s "$dir/plain" ] || fail "the trace changes the hash"

# Wrong uses.
t explain --message --collective "$dir/r"
expect 2 "two kinds"
t explain --message "$dir/r" 0 1
expect 2 "half a message"
t explain --message "$dir/r" 0 x 1
expect 2 "no endpoint"
t explain --message "$dir/r" 0 1 4000000000
expect 2 "no such message"
t explain --collective "$dir/r" 4000000
expect 2 "no such collective"
finish
