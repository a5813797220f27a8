#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# torus run --html: the numbers in the page are those of the report, and a browser draws it.
. "$QT_SOURCE/tests/harness/run.bash"

page() { # page NAME ARGUMENTS...: a run with a page, its report beside it, its data in NAME.json
	local name=$1
	shift
	t run --html "$dir/$name.html" --report=json "$@"
	expect 0 "$name"
	grep '^{' "$dir/err" >"$dir/$name.report"
	sed -n '/id="data">/,/<\/script>/p' "$dir/$name.html" | sed '1s/.*id="data">//; $s/<\/script>.*//' >"$dir/$name.json"
}

page virtual --shape 3x2x2x1x1 --clock virtual "$task" exchange
page express --shape 3x1x1x1x1x2 --clock virtual --fabric express "$task" exchange
page torus --shape 2x2x2x1x1 --fabric torus "$task" exchange
page hosts -n 4 --shape 2x2x1x1x1 --hosts local,local "$task" exchange '</script><b>'

python3 - "$dir" <<'P' || fail "the numbers of a page"
import json, sys
for name in ('virtual', 'express', 'torus', 'hosts'):
    d = json.load(open(f'{sys.argv[1]}/{name}.json'))
    r = json.load(open(f'{sys.argv[1]}/{name}.report'))
    assert d['run']['links'] == r['links'] and len(d['tasks']) == r['tasks'], name
    assert (name == 'express' or d['frames']) and d['frames'] <= 64 and d['interval'] > 0, name
    # What went over a link in all frames is what went over it.
    over_time = {column: sum(values) for column, *values in d['link_bytes']}
    at_end = {l['node'] * 10 + 2 * 'ABCDE'.index(l['link'][0]) + (l['link'][1] == '+'): l['bytes'] for l in r['links']}
    assert over_time == at_end and (name == 'express' or at_end), (name, over_time, at_end)
    took = sum(n for t in d['took'] for _, _, n in t['packets'])
    hops = sum(n * t['hops'] for t in d['took'] for _, _, n in t['packets'])
    if 'virtual' in r:
        assert took == r['virtual']['packets'], (name, took)
        assert hops == r['virtual']['hops'] or name == 'express', (name, hops)
        assert all(low < high for t in d['took'] for low, high, _ in t['packets'])
    else:
        assert took == 0 and d['task_waited_ns'] is not None
    assert len(d['wires']) == (2 if name == 'hosts' else 0), name
    assert any(row['name'] == 'hop_ps' for row in d['machine'])
P
python3 -c 'import json, sys; sys.exit(json.load(open(sys.argv[1]))["program"][-1] != "</script><b>")' "$dir/hosts.json" ||
	fail "an argument that looks like the end of the data"
! grep -nE '(src|href)=|@import|https?://[a-z]' "$dir/virtual.html" | grep -v 'www.w3.org' || fail "the page wants something from a network"

# The page of bench/run, of numbers made up here.
"$QT_SOURCE/tools/html/page.py" --fill "$dir/bench.html" bench <<'J' || fail "the page of benches"
{"facts": {"cpu": "</script>"}, "rounds": 1, "figures": ["a"], "rows": [
 {"name": "r", "unit": "us", "target": 1, "better": "low", "median": 0.5, "low": 0.4, "high": 0.6, "met": true, "missing": {}, "settings": null,
  "beside": {"peer": {"median": 1, "low": 1, "high": 1, "ratio": 0.5, "settings": null}}},
 {"name": "s", "unit": "us", "target": null, "better": "low", "beside": {}, "missing": {"": "why"}}], "curves": [
 {"figure": "f", "clock": "virtual", "what": "w", "x": 8, "unit": "us", "published": 1, "value": 1.1, "note": ""},
 {"figure": "f", "clock": "virtual", "what": "w", "x": 1024, "unit": "us", "published": null, "value": 2, "note": ""},
 {"figure": "g", "clock": "virtual", "what": "w", "x": 8, "unit": "us", "published": 1, "value": 1, "note": "cal"}]}
J

t run --html /no/such/page.html -n 1 true
expect 2 "no directory"
said err '^torus run: --html /no/such/page.html: No such file' "no directory"

# A browser: all parts are drawn and no error is reported. (Sanitizers have nothing to find there.)
if command -v chromium >/dev/null && [ "${QT_SCALE:-1}" = 1 ]; then
	timeout 120 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$dir/chromium" --virtual-time-budget=2000 \
		--enable-logging=stderr --dump-dom "file://$dir/virtual.html?theme=dark" >"$dir/dom" 2>"$dir/console"
	grep -q 'data-theme="dark" data-ready="yes"' "$dir/dom" || fail "the page is not ready: $(grep CONSOLE "$dir/console" | head -3)"
	for part in 'The torus' 'How long packets took' 'Links' 'Tasks' 'The run' 'The machine'; do
		grep -q "<h2>$part</h2>" "$dir/dom" || fail "no part '$part'"
	done
else
	echo "no browser: chromium is not installed, or this is the build of a sanitizer"
fi
finish
