#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# torus top and torus stat: the counters of a job, while it runs, after its end and after its death.
. "$QT_SOURCE/tests/harness/run.bash"

export QUINTORUS_RUN_DIR=$dir/run
json() { # json EXPRESSION WHAT: true of d, what torus top --once --json printed
	python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
sys.exit(not eval(sys.argv[2]))' "$dir/out" "$1" || fail "$2: not $1: $(head -c 600 "$dir/out")"
}
until_true() { # until_true WHAT COMMAND...
	local what=$1 until=$((SECONDS + 30 * ${QT_SCALE:-1}))
	shift
	until "$@"; do
		[ $SECONDS -lt $until ] || { fail "$what: never"; return 1; }
		sleep 0.1
	done
}
file_of() { ls "$QUINTORUS_RUN_DIR"/*.0.stat 2>/dev/null | head -1; }

t top --once
expect 1 "no job"
said err 'no job of torus run' "no job"

# A job that has ended has the links that its report has, on both fabrics and clocks.
for arguments in '--shape 2x2x2x1x1 --fabric torus' '--shape 3x2x1x1x1' '--shape 2x2x2x1x1 --clock virtual'; do
	rm -f "$QUINTORUS_RUN_DIR"/*
	torus run $arguments --report=json "$task" exchange >/dev/null 2>"$dir/report" || fail "run $arguments"
	t top --once --json
	expect 0 "ended: $arguments"
	json 'not d["live"] and d["ended"] and all(k["state"] == 2 for k in d["task"])' "ended: $arguments"
	python3 - "$dir/out" "$dir/report" <<'P' || fail "links differ from the report: $arguments"
import json, sys
top = json.load(open(sys.argv[1]))
report = json.loads([l for l in open(sys.argv[2]) if l.startswith('{')][0])
key = lambda l: (l['node'], l['link'], l['packets'], l['bytes'])
sys.exit(not report['links'] or sorted(map(key, top['link'])) != sorted(map(key, report['links'])))
P
done

# While it runs: what moves.
rm -f "$QUINTORUS_RUN_DIR"/*
torus run -n 4 --shape 2x2x1x1x1 --fabric torus "$task" busy >/dev/null 2>&1 </dev/null &
job=$!
moving() { torus stat --json link_packets --once 2>/dev/null | python3 -c 'import json, sys
sys.exit(sum(json.loads(l)["value"] for l in sys.stdin) < 100)'; }
until_true "a busy job counts packets" moving
t top --once
expect 0 "a job that runs"
said out '^job [0-9a-f]{16} runs, 4 tasks on 2x2x1x1x1' "a job that runs"
said out 'across: B, down: A' "the picture"
t stat --list
said out '^[0-9a-f]{16} runs +tasks 4 ' "the list"
number=$(cut -c1-6 "$dir/out")
timeout 60 torus stat --job "$number" --interval 0.2 'link_*' 2>&1 | head -3 >"$dir/out"
said out '^link_[a-z_]+\{node=[0-3] link=[AB][+-]\} [0-9]+' "a stream"
t stat link_weight
expect 2 "no such counter"
said err "has no counter 'link_weight'" "no such counter"
t stat --job ffffffffffffffffff
expect 1 "no such job"

# Prometheus.
t stat --listen 0.0.0.0:0
expect 2 "an address that others reach"
said err 'give a loopback address' "an address that others reach"
torus stat --listen 0 >"$dir/out" 2>&1 </dev/null &
server=$!
until_said "$dir/out" http
url=$(grep -o 'http://[^ ]*' "$dir/out")
python3 - "$url" "${QT_SCALE:-1}" <<'P' || fail "Prometheus"
import re, sys, urllib.error, urllib.request
text = urllib.request.urlopen(sys.argv[1]).read().decode()
line = re.compile(r'(# (HELP|TYPE) quintorus_[a-z_]+ .+|quintorus_[a-z_]+\{job="[0-9a-f]{16}"(,[a-z]+="[^"]*")*\} [0-9]+)$')
wrong = [l for l in text.splitlines() if not line.match(l)]
types = [l.split()[2] for l in text.splitlines() if l.startswith('# TYPE')]
assert not wrong, wrong[:3]
assert len(types) == len(set(types)) and 'quintorus_link_bytes_total' in types
assert 'link="A+"' in text
try:
    urllib.request.urlopen(sys.argv[1] + '/more')
    assert False
except urllib.error.HTTPError as e:
    assert e.code == 404
# Clients that do not speak, or a byte at a time, or that read nothing, hold nobody up.
import socket, threading, time
where = re.search(r'//(.*):(\d+)/', sys.argv[1])
slow = [socket.create_connection((where[1], int(where[2]))) for i in range(100)]
for s in slow[50:]:
    try:
        s.send(b'GET /metrics HTTP/1.1\r\n\r\n')
    except OSError: # let go, for others
        pass
ended = threading.Event()
def drip():
    while not ended.wait(0.3):
        try:
            slow[0].send(b'x')
        except OSError:
            return
threading.Thread(target=drip).start()
try:
    urllib.request.urlopen(sys.argv[1], timeout=30 * int(sys.argv[2])).read()
finally:
    ended.set()
P
kill $server
wait $server 2>/dev/null

# The screen.
python3 - <<'P' || fail "the screen"
import os, pty, select, sys, time
pid, fd = pty.fork()
if not pid:
    os.environ.update(TERM='xterm', LINES='40', COLUMNS='120')
    os.execvp('torus', ['torus', 'top'])
seen = b''
def until(word):
    global seen
    end = time.time() + 60
    while word not in seen:
        assert time.time() < end, (word, seen[-400:])
        if select.select([fd], [], [], 1)[0]:
            seen += os.read(fd, 65536)
    seen = b''
until(b'across')
for key, word in (b't', b'in its FIFO'), (b'l', b'stalls'), (b'w', b'no wires'), (b'u', b'so far'), (b's', b'sort'), (b'p', b'across'), (b' ', b'STANDS STILL'):
    os.write(fd, key)
    if key != b's':
        until(word)
os.write(fd, b'\x1b[C0bq')
end = time.time() + 60
while os.waitpid(pid, os.WNOHANG) == (0, 0):
    assert time.time() < end
    try:
        if select.select([fd], [], [], 0.1)[0]:
            os.read(fd, 65536)
    except OSError:
        pass
P

# Another user sees it if he is of the group.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && [ "${QT_SANITIZE:-none}" = none ]; then
	chmod 755 "$dir"
	cp "$(command -v torus)" "$dir/torus"
	setpriv --reuid 65534 --regid "$(id -g)" --clear-groups "$dir/torus" top --once >"$dir/out" 2>"$dir/err"
	status=$?
	expect 0 "a user of the group"
	setpriv --reuid 65534 --regid 65534 --clear-groups "$dir/torus" top --once >"$dir/out" 2>"$dir/err"
	status=$?
	expect 1 "a user who is not of the group"
fi

# It dies with its agents: the last values stay.
kill -9 "$(grep -a -o 'agent=[0-9]*' "$(file_of)" | cut -d= -f2)"
wait $job 2>/dev/null
t top --once --json
expect 0 "a job that died"
json 'not d["live"] and not d["ended"] and sum(l["packets"] for l in d["link"]) > 0' "a job that died"

# Wires that lose frames say so.
check_wires() { # SECONDS
	rm -f "$QUINTORUS_RUN_DIR"/*
	torus run -n 3 --hosts local,local,local --fault loss=0.1,seed=5 --timeout "$1" "$task" busy >/dev/null 2>&1 </dev/null
	t top --once --json
	expect 0 "wires"
	json '[h["driver"] for h in sorted(d["host"], key=lambda h: h["host"])] == ["fault(loss=0.1,seed=5)+shm:"] * 3' "the drivers"
	json 'len(d["wire"]) == 6 and all(w["tx_frames"] > 0 for w in d["wire"]) and sum(w["resent"] for w in d["wire"]) > 0' wires
}
patiently "4 20 100" check_wires

t top --once
said out '^  host 2: driver .*shm:' "the drivers"

# UDP takes the best driver that works here: the one that the report names.
torus run -n 2 --hosts 'local=udp:127.0.0.1;local=udp:127.0.0.1' --report=json "$task" exchange >/dev/null 2>"$dir/report"
t top --once --json
python3 - "$dir/out" "$dir/report" <<'P' || fail "drivers differ from the report: $(tail -c 300 "$dir/out")"
import json, sys
top = json.load(open(sys.argv[1]))
report = json.loads([l for l in open(sys.argv[2]) if l.startswith('{')][0])
named = {h['host']: h['driver'] for h in top['host']}
sys.exit([named[0], named[1]] != [h['port'] for h in report['hosts']] or 'udp' in named[0])
P
torus run -n 2 "$task" exchange >/dev/null 2>&1
t top --once --json
json 'd["host"] == [{"host": 0, "driver": None}]' "one host has no driver"

# No more than four jobs stay.
for i in 1 2 3 4 5 6; do
	torus run -n 2 --hosts local,local true
done
[ "$(ls "$QUINTORUS_RUN_DIR" | wc -l)" -le 10 ] || fail "old files stay: $(ls "$QUINTORUS_RUN_DIR" | wc -l)"

# Damaged files are refused.
good=$(file_of)
for at in 0 8 12 16 24 32 40; do
	cp "$good" "$dir/bad.stat"
	printf '\377\377\377\177' | dd of="$dir/bad.stat" bs=1 seek=$at conv=notrunc 2>/dev/null
	t stat --once --job "$dir/bad.stat"
	expect 1 "a damaged file, $at"
done
head -c 5000 "$good" >"$dir/bad.stat"
t top --once "$dir/bad.stat"
expect 1 "a short file"

# A directory that another user owns: the job runs, and says that torus top cannot see it.
ln -s /tmp "$dir/link"
QUINTORUS_RUN_DIR=$dir/link t run -n 1 true
expect 0 "a link in place of the run directory"
said err 'will not see this job: .*is not a directory of this user' "a link in place of the run directory"
QUINTORUS_RUN_DIR=none t run -n 1 true
expect 0 "no run directory"
lines err 0 "no run directory"
finish
