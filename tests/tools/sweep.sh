#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# torus sweep: the grid, its file, going on after an interrupt, the plot.
. "$QT_SOURCE/tests/harness/run.bash"
task=$(realpath "$task")
cd "$dir" || exit 1

grid=(--hw hop_ns=20..9020:9000 --shape 2x1x1x1x1,3x1x1x1x1)
t sweep "${grid[@]}" --json --plot plot.svg -- "$task" exchange
expect 0 "a grid"
python3 - <<'P' || fail "a grid: $(cat sweep.csv)"
import csv, json
d = json.load(open('out'))['runs']
assert [(r['hop_ns'], r['shape']) for r in d] == [(h, s) for h in ("20", "9020") for s in ('2x1x1x1x1', '3x1x1x1x1')]
us = [r['virtual_us'] for r in d]
assert us[0] < us[2] and us[1] < us[3] and all(r['status'] == 0 and r['packets'] > 0 and r['value'] is None for r in d), d
rows = list(csv.DictReader(line for line in open('sweep.csv') if line[0] != '#'))
assert [float(r['virtual_us']) for r in rows] == us
P
python3 -c 'import sys, xml.dom.minidom as m
d = m.parse("plot.svg")
sys.exit(len(d.getElementsByTagName("circle")) != 4 or len(d.getElementsByTagName("path")) != 2)' || fail "the plot"
# A run of the grid is torus run with these options.
t run --clock virtual --report=json --hw hop_ns=9020 --shape 3x1x1x1x1 "$task" exchange
python3 -c 'import json, sys
us = json.loads([l for l in open("err") if l[0] == "{"][0])["virtual"]["us"]
sys.exit(not open("sweep.csv").read().splitlines()[-1].startswith(f"9020,3x1x1x1x1,0,{us:.12g},"))' || fail "another time than torus run's"

# What the file has is not run again; what it lacks is.
sed -i '3s/,0,[0-9.]*,/,0,77,/; 4d' sweep.csv
t sweep "${grid[@]}" -- "$task" exchange
expect 0 "going on"
said err 'has 3 of 4 runs already' "going on"
[ "$(sed -n 3p sweep.csv | cut -d, -f4)" = 77 ] && [ "$(wc -l <sweep.csv)" = 6 ] || fail "going on: $(cat sweep.csv)"
t sweep "${grid[@]}" -- "$task" info
expect 2 "another program"
said err 'results of another sweep' "another program"

# Words of the program, a value of its output, failures.
t sweep --over a=1,2,4 --run '-n 1' --value 'n([0-9]+)x' --csv words.csv --x a -- sh -c 'echo n{a}0x; exec '"$task"' exchange'
expect 0 "words"
[ "$(grep -c '^[124],0,.*,[124]0$' words.csv)" = 3 ] || fail "words: $(cat words.csv)"
t sweep --over a=0,3 --run '-n 1' --csv failed.csv -- sh -c 'exit {a}'
expect 1 "a failure"
said err '^torus sweep: a=3: status 3: ' "a failure"

# An interrupt: runs that had ended are in the file.
rm -f first
torus sweep --over a=1,2,3 --jobs 1 --run '-n 1' --csv cut.csv -- sh -c "[ {a} = 1 ] || [ -e first ] || { touch first; exec sleep 60; }" >"$dir/out" 2>"$dir/err" &
pid=$!
until [ -e first ]; do sleep 0.05; done
kill -TERM $pid
wait $pid
status=$?
expect 143 "an interrupt"
said err 'interrupted after 1 of 3 runs' "an interrupt"
t sweep --over a=1,2,3 --jobs 1 --run '-n 1' --csv cut.csv -- sh -c "[ {a} = 1 ] || [ -e first ] || { touch first; exec sleep 60; }"
expect 0 "after an interrupt"
said err 'has 1 of 3 runs already' "after an interrupt"
[ "$(wc -l <cut.csv)" = 5 ] || fail "after an interrupt: $(cat cut.csv)"

# Wrong uses.
for wrong in '--hw hop_ns' '--hw hop_ns=' '--hw hop_ns=3..1:1' '--hw hop_ns=1..3' '--shape 2x1x1x1x1 --shape 3x1x1x1x1' '--over b=1' '--clock x --over a=1' \
	'--over a=1 --value x' '--over a=1 --x b' '--over a=1 --y b' '--over a=1,1'; do
	t sweep $wrong --csv wrong.csv -- echo '{a}'
	expect 2 "$wrong"
	lines err 1 "$wrong"
done
finish
