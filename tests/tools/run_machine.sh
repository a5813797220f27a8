#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# torus machine, machine files with mistakes, and jobs on changed machines and meshes in both clocks.
. "$QT_SOURCE/tests/harness/run.bash"

hash_of() {
	sed -n 's/.*hash \([0-9a-f]\{16\}\)$/\1/p' "$dir/err"
}

# The installed files can be read, and the default one holds the defaults.
for m in bgq ethernet successor; do
	t machine "$QT_SOURCE/machines/$m.ini"
	expect 0 "torus machine $m"
	cp "$dir/out" "$dir/$m.out"
done
t machine
grep -v 'from ' "$dir/out" >"$dir/default.rows"
grep -v 'from ' "$dir/bgq.out" >"$dir/bgq.rows"
sed 's/ *from .*//' "$dir/out" >"$dir/a"
sed 's/ *from .*//' "$dir/bgq.out" >"$dir/b"
cmp -s "$dir/a" "$dir/b" || fail "machines/bgq.ini differs from the defaults: $(diff "$dir/a" "$dir/b" | head -5)"
t machine --ini
grep -c '^[a-z]' "$dir/out" >"$dir/rows"
[ "$(cat "$dir/rows")" = "$(grep -c '^[a-z]' "$QT_SOURCE/machines/bgq.ini")" ] || fail "machines/bgq.ini lacks rows; torus machine --ini prints them"
t machine --json --hw coll_slots=3
expect 0 "torus machine --json"
python3 -c 'import json, sys
rows = {r["name"]: r for r in json.load(open(sys.argv[1]))}
assert rows["coll_slots"]["value"] == "3" and rows["coll_slots"]["origin"] == "--hw"
assert rows["hop_ps"]["origin"] == "the default"' "$dir/out" || fail "torus machine --json: $(head -3 "$dir/out")"

# The software costs are a table of their own, of which a file of costs has lines.
t machine --costs
expect 0 "torus machine --costs"
said out '^poll +[1-9][0-9.]* ns$' "torus machine --costs"
[ "$(grep -c '^[a-z].* ns$' "$dir/out")" = "$(grep -c '^COST(' "$QT_SOURCE/mu/vtime/cost.def")" ] ||
	fail "torus machine --costs lacks rows: $(cat "$dir/out")"
sed -nE 's/^([a-z_]+ +[0-9.]+) ns$/\1/p' "$dir/out" >"$dir/all.costs"
t run --clock virtual --costs "$dir/all.costs" --shape 2x1x1x1x1 "$task" exchange
expect 0 "torus run --costs with what torus machine --costs prints"
t machine --costs --json
python3 -c 'import json, sys
rows = {r["name"]: r for r in json.load(open(sys.argv[1]))}
assert rows["copy_byte"]["ns"] == 0.125 and "ssumed" in rows["poll"]["source"]' "$dir/out" ||
	fail "torus machine --costs --json: $(head -3 "$dir/out")"
t machine bgq --costs
expect 2 "torus machine FILE --costs"
said err 'software costs, which are no part of a machine' "torus machine FILE --costs"

# Every kind of mistake: one line that says where and what.
mistake() { # text of the file, what the message says
	printf "$1" >"$dir/m.ini"
	t run --machine "$dir/m.ini" "$task" exchange
	expect 2 "machine file '$1'"
	lines err 1 "machine file '$1'"
	said err "$2" "machine file '$1'"
}
mistake '[a]\nhop_pss = 3\n' 'line 2: .*nearest is hop_ps'
mistake 'zone0 = AB\n' 'line 1: zone0=AB: expected'
mistake '\n\ncoll_slots = 99\n' 'line 3: .*1 to 15'
mistake 'coll_slots\n' 'line 1'
mistake 'coll_slots = 3,4\n' 'one value a line'
mistake 'hop_ns = fast\n' 'line 1'
mistake '[a\n' 'line 1'
mistake 'coll_slots = 3\n[a]\ncoll_slots = 4\n' 'line 3: coll_slots: an earlier line'
mistake 'hop_ps = 1\nhop_ns = 1\n' 'line 2: hop_ns: an earlier line'
mistake 'coll_slots = 3x\n' 'line 1: .*1 to 15'
mistake 'hop_ns =\n' 'line 1: .*must be a number'
mistake 'hop_ns = -1\n' 'line 1: .*must be a number'
mistake 'hop_ps = 99999999999999999999\n' 'line 1: .*must be a number'
mistake '= 3\n' 'line 1: .*name=value'
mistake 'tie = maybe\n' 'parity, plus or minus'
mistake 'order = ABCDD\n' 'letters A to E'
mistake 'mesh = F\n' 'letters A to E'
mistake 'routing_low = abc\n' 'auto, or a number'
mistake 'routing_in = 5\n' 'line 1: routing_in=5'
mistake 'rec_fifo = loose\n' 'spill or strict'
mistake 'mu_atomics = some\n' 'off, chip or full'
mistake 'agas = here\n' 'line 1: agas=here'
mistake 'qqqq = 3\n' 'there is no row'
mistake 'hop_ns = 3us\n' 'from 0 to 4e\+06, without a unit: the name has it'
mistake 'hop_ps = 3 ns\n' 'from 0 to 4e\+09, without a unit'
mistake 'hop_us = 3\n' 'no row .hop_us.; the nearest is hop_ps'
mistake 'COLL_SLOTS = 3\n' 'no row .COLL_SLOTS.; the nearest is coll_slots'
mistake 'coll_slots == 3\n' 'line 1: coll_slots = = 3: one value a line, after one ='
mistake 'coll_slots = 3\n\0\1\2\n' 'line 2: bytes that are no text'
mistake '\177ELF\2\1\1\0\0' 'line 1: bytes that are no text'
mistake "; $(printf 'x%.0s' {1..300})\n" 'line 1: the line is too long'
printf '; a comment\n[any]\ncoll_slots = 3 # and one\r\nhop_ns = 3 ; and one' >"$dir/m.ini"
t machine "$dir/m.ini"
expect 0 "comments, and a last line without an end"
said out '^coll_slots +3 ' "comments"
said out '^hop_ps +3000 ' "comments"
torus machine <(printf 'coll_slots = 3\n') >"$dir/out" 2>"$dir/err"
said out '^coll_slots +3 ' "a pipe"
t machine /dev/zero
expect 2 "no end"
said err 'cannot read it: File too large' "no end"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && [ "${QT_SANITIZE:-none}" = none ]; then
	cp "$(command -v torus)" "$dir/torus"
	chmod 755 "$dir"
	chmod 600 "$dir/m.ini"
	setpriv --reuid 65534 --regid 65534 --clear-groups "$dir/torus" machine "$dir/m.ini" >"$dir/out" 2>"$dir/err"
	status=$?
	expect 2 "a file that this user may not read"
	said err 'cannot read it: Permission denied' "a file that this user may not read"
fi
t machine --hw 'coll_slots = 3'
expect 2 "--hw with blanks"
said err "'coll_slots = 3': write name=value without blanks" "--hw with blanks"
t run --machine "$dir" "$task" exchange
expect 2 "a directory"
said err 'cannot read it: Is a directory' "a directory"
t run --machine "$dir/none.ini" "$task" exchange
expect 2 "no file"
said err 'cannot read it: No such file or directory; give the path of a machine file, or bgq, ethernet or successor' "no file"
t machine successor
expect 0 "a machine by its name"
said out '^hop_ps .*from successor' "a machine by its name"
sed 's/from successor/from the file/' "$dir/out" >"$dir/a"
torus machine "$QT_SOURCE/machines/successor.ini" | sed "s,from $QT_SOURCE/machines/successor.ini,from the file," | cmp -s - "$dir/a" ||
	fail "torus machine successor is not machines/successor.ini"
t run --hw hop_ns=3 "$task" exchange
expect 2 "a time in real time"
said err 'virtual' "a time in real time"

# Structure holds in both clocks; jobs on small machines and meshes work.
small=vc_dynamic_slots=2,vc_deterministic_slots=2,vc_high_slots=2,vc_system_slots=2,coll_slots=1,injection_slots=1
for shape in 3x2x2x1x1 3Mx2x2Mx1x1 4Mx1x1x1x1x2; do
	t run --clock virtual --shape $shape --hw $small,order=EDCBA,tie=plus,pin_fifos=1 "$task" exchange
	expect 0 "virtual $shape"
	said out '^ok$' "virtual $shape"
	t run --fabric torus --shape $shape --hw $small,order=EDCBA,tie=plus "$task" exchange
	expect 0 "real $shape"
	said out '^ok$' "real $shape"
done
t run --clock virtual --shape 4x2x1x1x1 "$task" exchange
torus_hash=$(hash_of)
t run --clock virtual --shape 4Mx2x1x1x1 "$task" exchange
mesh_hash=$(hash_of)
t run --clock virtual --shape 4x2x1x1x1 --hw mesh=A "$task" exchange
[ "$(hash_of)" = "$mesh_hash" ] || fail "--hw mesh=A and --shape 4M differ"
[ "$torus_hash" != "$mesh_hash" ] || fail "a mesh behaves as a torus"
for m in bgq ethernet successor; do
	t run --clock virtual --shape 2x2x1x1x1 --machine "$QT_SOURCE/machines/$m.ini" "$task" exchange
	expect 0 "--machine $m"
	hash_of >"$dir/$m.hash"
done
cmp -s "$dir/bgq.hash" "$dir/successor.hash" && fail "--machine changes nothing"
t run --fabric torus --shape 2x2x1x1x1 --machine "$QT_SOURCE/machines/successor.ini" "$task" exchange
expect 0 "--machine in real time"
t run --shape 4x2x1x1xM "$task" exchange
expect 2 "M without a number"

# Links with errors: everything arrives, later, the same in every run; the report counts them.
t run --clock virtual --shape 2x2x1x1x1 "$task" exchange
clean=$(hash_of)
t run --clock virtual --shape 2x2x1x1x1 --hw link_errors_per_million=200000 --report "$task" exchange
expect 0 "links with errors"
said out '^ok$' "links with errors"
said err 'had an error on a link' "links with errors"
first=$(hash_of)
t run --clock virtual --shape 2x2x1x1x1 --hw link_errors_per_million=200000 --report "$task" exchange
[ "$(hash_of)" = "$first" ] || fail "links with errors: two runs differ"
[ "$first" != "$clean" ] || fail "links with errors cost nothing"
t run --clock virtual --shape 2x2x1x1x1 --hw link_errors_per_million=200000 --seed 2 "$task" exchange
[ "$(hash_of)" != "$first" ] || fail "links with errors: another seed, the same errors"
t run --fabric torus --shape 2x2x1x1x1 --seed 1 --hw link_errors_per_million=400000 --report=json "$task" exchange
expect 0 "links with errors in real time"
python3 -c 'import json, sys
l = json.load(open(sys.argv[1]))["links"]
assert 0 < sum(k["errors"] for k in l) < sum(k["packets"] for k in l)' "$dir/err" || fail "errors in real time: $(cat "$dir/err")"

# Checksums: equal at both ends of each link, also where links repeat packets, and between hosts.
for clock in '--clock virtual' '--fabric torus' '--fabric torus --hosts local,local'; do
	t run $clock --shape 2x2x1x1x1 --seed 1 --hw link_checksums=1,link_errors_per_million=200000 --report "$task" exchange
	expect 0 "checksums, $clock"
	said err 'equal at both ends of [1-9][0-9]* links, different at 0' "checksums, $clock"
	said err 'had an error on a link' "checksums, $clock"
done
t run --clock virtual --shape 2x2x1x1x1 --hw link_checksums=1 "$task" exchange
[ "$(hash_of)" = "$clean" ] || fail "checksums cost virtual time"
t run --clock virtual --shape 2x2x1x1x1 --hw link_checksums=1 --report=json "$task" exchange
python3 -c 'import json, sys
c = json.load(open(sys.argv[1]))["checksums"]
assert c["equal"] > 0 and not c["differ"]' "$dir/err" || fail "checksums: $(cat "$dir/err")"

finish
