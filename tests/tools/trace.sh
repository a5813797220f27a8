#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# torus run --trace, torus diff, torus explain: the steps of packets in virtual time.
. "$QT_SOURCE/tests/harness/run.bash"

virtual() { # virtual FILE ARGUMENTS...: a traced run
	local file=$1
	shift
	t run --clock virtual --trace "$file" --report=json "$@"
	expect 0 "$*"
	grep '^{' "$dir/err" >"$file.report"
}

virtual "$dir/a" --shape 2x2x2x1x1 "$task" exchange
virtual "$dir/b" --shape 2x2x2x1x1 "$task" exchange
virtual "$dir/c" --shape 2x2x2x1x1 --hw hop_ns=50 "$task" exchange
virtual "$dir/d" --shape 3x1x1x1x1x2 --fabric express "$task" exchange

# It is JSON; every packet and hop of the run is there, in order, with what Perfetto wants.
python3 - "$dir" <<'P' || fail "the file"
import json, sys
for name in 'acd':
    path = sys.argv[1] + '/' + name
    events = json.load(open(path))['traceEvents']
    virtual = json.load(open(path + '.report'))['virtual']
    steps = [e for e in events if e['ph'] == 'X' and 'cat' not in e]
    by = {kind: [e for e in steps if e['name'] == kind] for kind in ('inject', 'link', 'deliver')}
    assert len(by['inject']) == virtual['packets'] > 0, (name, len(by['inject']))
    assert len(by['link']) == (0 if name == 'd' else virtual['hops']), (name, len(by['link']))
    assert events[-1]['args']['count'] == len(steps)
    last = {}
    for e in steps:
        a = e['args']
        assert abs(e['ts'] * 1e6 - a['ps']) < 1, e
        packet = (a['source'], a['number'])
        assert last.get(packet, 0) <= a['ps'], e
        last[packet] = a['ps']
    assert {(e['args']['source'], e['args']['number']) for e in by['inject']} == set(last)
    if name != 'd':
        assert any(e.get('flow_out') for e in by['link'])
        report = json.load(open(path + '.report'))['links']
        links = {}
        for e in by['link']:
            key = (e['pid'], 'ABCDE'[e['args']['port'] // 2] + '-+'[e['args']['port'] % 2])
            links[key] = links.get(key, 0) + 1
        assert links == {(l['node'], l['link']): l['packets'] for l in report}, name
P

"$QT_SOURCE/tests/harness/trace_check.py" "$dir/a" "$dir/c" "$dir/d" || fail "the form of the file"

t diff "$dir/a" "$dir/b"
expect 0 "two runs of the same"
said out '^equal: [0-9]+ steps$' "two runs of the same"
t diff "$dir/a" "$dir/c"
expect 1 "another machine"
said out '^- .* us  node [0-9]+ (sends|delivers|injects) packet' "another machine"
said out '^\+ ' "another machine"
said out '^the way of packet [0-9]+ of node [0-9]+ until then:' "another machine"
# A step that differs in the middle is the one that is found.
lines=$(grep -c '^{"ph":"X"' "$dir/a")
middle=$((lines / 2))
awk -v at=$middle '/^{"ph":"X"/ { n++ } n == at && !done { done = 1; sub(/"bytes":[0-9]+/, "\"bytes\":77") } { print }' "$dir/a" >"$dir/e"
t diff --json "$dir/a" "$dir/e"
expect 1 "one step changed"
said out "\"equal\": false, \"steps\": $((middle - 1))," "one step changed"
said out '77 bytes' "one step changed"

t explain "$dir/a"
expect 0 "the longest"
said out '^packet [0-9]+ of node [0-9]+: 8 bytes of payload to ' "the longest"
said out 'delivered +\| +=+ *\|$' "the longest"
t explain --json "$dir/a" 0 1
expect 0 "one packet"
python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
s = d["steps"]
sys.exit(not (s[0]["step"] == "inject" and s[-1]["step"] == "deliver" and s[-1]["ps"] - s[0]["ps"] == d["ps"] > 0))' "$dir/out" || fail "one packet"

# Wrong uses.
t explain "$dir/a" 0 99999
expect 2 "no such packet"
head -c 3000 "$dir/a" >"$dir/short"
t explain "$dir/short"
expect 2 "a file that is cut short"
t diff "$dir/a" "$dir/short"
expect 2 "a file that is cut short"
t diff "$dir/a"
expect 2 "one file"
t diff "$dir/a" "$QT_SOURCE/README.md"
expect 2 "no trace"
t run --clock virtual -n 2 --trace /no/such/x true
expect 2 "no directory"
finish
