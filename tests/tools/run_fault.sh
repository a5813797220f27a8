#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Fault files in both clocks: links, nodes, planes and shares of links that are cut, with times; pairs that
# lose each other; loss, corruption, duplicates, reordering, delays and rates on links and on wires; deaths;
# and every kind of mistake.
. "$QT_SOURCE/tests/harness/run.bash"

hash_of() {
	sed -n 's/.*hash \([0-9a-f]\{16\}\)$/\1/p' "$dir/err"
}
faults() { # text of the file, options ...
	printf "$1" >"$dir/f"
	shift
	t run --fault "$dir/f" "$@" "$task" exchange
}

t run --clock virtual --shape 4x3x1x1x1 "$task" exchange
clean=$(hash_of)

# Cuts that leave a way: all arrives, in order (the task checks), the same in every run.
for text in 'cut link 0 A+\n' '# a comment\nat 1 until 2 cut link 0,0,0,0,0 A+ # and one\ncut link 3 B-\n' \
	'at 0.5 cut plane A 1\n' 'at 0.5 until 3 cut percent 10\n' 'until 2 cut link 5 B+\nat 1 cut link 5 B+\n'; do
	faults "$text" --clock virtual --shape 4x3x1x1x1
	expect 0 "faults: $text"
	said out '^ok$' "faults: $text"
	first=$(hash_of)
	faults "$text" --clock virtual --shape 4x3x1x1x1
	[ "$(hash_of)" = "$first" ] || fail "faults '$text': two runs differ"
done
faults 'cut link 0 A+\n' --clock virtual --shape 4x3x1x1x1
[ "$(hash_of)" != "$clean" ] || fail "a cut link changes nothing"
faults 'cut percent 8\n' --clock virtual --shape 4x3x2x1x1 --seed 3
three=$(hash_of)
faults 'cut percent 8\n' --clock virtual --shape 4x3x2x1x1 --seed 4
[ "$(hash_of)" != "$three" ] || fail "another seed cuts the same links"
PAMI_ROUTING=0,1,0:4,1,1 faults 'at 1 cut link 0 A+\nat 2 cut link 4 B+\n' --clock virtual --shape 4x3x1x1x1
expect 0 "cuts under dynamic routing"

# Cuts that leave none end the job, with the pair.
faults 'cut node 5\n' --clock virtual --shape 4x3x1x1x1
[ "$status" != 0 ] || fail "a job goes on without a node"
said err 'nodes (.*) and (.*) lost each other' "a node that is cut off"
faults 'cut link 0 A+\n' --clock virtual --shape 4Mx1x1x1x1
said err 'nodes (.*) and (.*) lost each other' "a mesh in two"

# What links do to packets: all arrives once and in order, in the same time in every run.
for text in 'loss 0.2\ncorrupt 0.1\n' 'dup 0.3\n' 'reorder 0.2 on plane A 0\n' 'at 1 until 9 delay 3 on percent 50\n' \
	'rate 0.2 on link 0 1\n' 'until 5us dup 0.5 on node 3\nat 0.002ms rate 0.05\nseed 9\n'; do
	faults "$text" --clock virtual --shape 4x3x1x1x1 --report
	expect 0 "faults: $text"
	said out '^ok$' "faults: $text"
	first=$(hash_of)
	[ "$first" != "$clean" ] || fail "'$text' changes nothing"
	faults "$text" --clock virtual --shape 4x3x1x1x1
	[ "$(hash_of)" = "$first" ] || fail "faults '$text': two runs differ"
done
faults 'loss 0.2\n' --clock virtual --shape 4x3x1x1x1 --report
said err 'had an error on a link' "loss in virtual time"

# The same files in real time, hop by hop: "rounds" lasts longer than the times.
real="--fabric torus --shape 3x2x1x1x1"
for text in 'cut link 0 1\n' 'at 3ms until 20ms cut link 0 A+\nat 9ms cut link 2 B+\n' 'at 1ms until 30ms cut percent 15\nseed 5\n' \
	'loss 0.2\ndup 0.1\nreorder 0.1 on node 1\n' 'until 20ms delay 300 on link 0 A+\nat 5ms rate 0.01 on plane A 1\n'; do
	printf "$text" >"$dir/f"
	t run --fault "$dir/f" $real "$task" rounds 200
	expect 0 "real time: $text"
	said out '^ok$' "real time: $text"
done
PAMI_ROUTING=0,1,0:4,1,1 t run --fault "$dir/f" $real "$task" rounds 20
expect 0 "real time, dynamic routing"
printf 'cut link 0 A+\n' >"$dir/f"
t run --fault "$dir/f" --fabric torus --shape 4x1x1x1x1 --hosts local,local "$task" rounds 20
expect 0 "a cut link beside wires"
t run --fault "$dir/f" --fabric torus --shape 4Mx1x1x1x1 "$task" exchange
[ "$status" != 0 ] || fail "a mesh in two goes on"
said err 'nodes .* and .* lost each other' "a mesh in two, real time"
said err '[(]0,0,0,0,0[)]' "a mesh in two, real time"

# Wires between hosts.
for text in 'loss 0.1\ndup 0.05\nreorder 0.1\ncorrupt 0.01\nseed 7\n' 'until 60ms loss 0.5 on hosts 0 1\ndelay 200us on host 0\n' \
	'at 5ms until 60ms cut host 1\n' 'rate 0.01\nat 1ms until 9ms reorder 0.3 on hosts 1 0\n'; do
	printf "$text" >"$dir/f"
	t run --fault "$dir/f" -n 2 --hosts local,local "$task" rounds 100
	expect 0 "wires: $text"
	said out '^ok$' "wires: $text"
done
printf 'loss 0.05\nat 2ms until 40ms cut hosts 0 1\n' >"$dir/f"
t run --fault "$dir/f" --fabric torus --shape 4x1x1x1x1 --hosts local,local "$task" rounds 20
expect 0 "wires below a torus"
printf 'at 20ms cut hosts 0 1\n' >"$dir/f"
t run --fault "$dir/f" -n 2 --hosts local,local "$task" busy
[ "$status" != 0 ] || fail "hosts that lost each other go on"
said err 'hosts 0 and 1 lost each other' "a wire that is cut for good"

# Deaths, in both clocks.
for text in 'at 5 kill task 1\n' 'at 5 kill node 1\n'; do
	printf "$text" >"$dir/f"
	t run --fault "$dir/f" --clock virtual --shape 2x1x1x1x1 "$task" busy
	[ "$status" != 0 ] || fail "virtual, $text: task 1 survived"
	t run --fault "$dir/f" --shape 2x1x1x1x1 "$task" busy
	[ "$status" != 0 ] || fail "$text: task 1 survived"
	said err 'task 1.*(died|signal 9|killed)' "$text"
done
t run --fault kill=1@20000 -n 2 "$task" busy
said err 'task 1.*(died|signal 9|killed)' "kill without a file"
printf 'at 20ms kill host 1\n' >"$dir/f"
t run --fault "$dir/f" -n 2 --hosts local,local "$task" busy
[ "$status" != 0 ] || fail "a dead host: the job goes on"
said err 'host|local 1' "a dead host"

# Mistakes: one line, with the number of the line and the fix.
mistake() { # text, message, options ...
	local text=$1 said=$2
	shift 2
	faults "$text" "$@"
	expect 2 "fault file '$text'"
	lines err 1 "fault file '$text'"
	said err "$said" "fault file '$text'"
}
v="--clock virtual --shape 4x3x1x1x1"
mistake '\ncut link 99 A+\n' 'line 2: name the place' $v
mistake 'cut link 0 F+\n' 'line 1: name the place' $v
mistake 'cut plane A 4\n' 'line 1' $v
mistake 'cut percent 101\n' 'line 1' $v
mistake 'at 5 until 4 cut node 1\n' 'later than' $v
mistake 'at 5 kill task 12\n' 'kill task N' $v
mistake 'explode\n' 'no such fault' $v
mistake 'los 0.1\n' "did you mean 'loss'" $v
mistake 'loss 2\n' 'from 0 to 1' $v
mistake 'loss 0.1 in link 0 A+\n' 'write "on"' $v
mistake 'loss 0.1 on\n' 'name the place' $v
mistake 'loss 0.1 on link 0\n' 'name the place' $v
mistake 'loss 0.1 on node 1 2\n' 'name the place' $v
mistake 'dup\n' 'from 0 to 1' $v
mistake 'rate 0\n' 'GB/s' $v
mistake 'delay 3 weeks\n' 'write "on"' $v
mistake 'delay 3weeks\n' 'write a time' $v
mistake 'at soon cut node 1\n' 'write a time' $v
mistake '# x\n\nat 3 seed 4\n' 'line 3: write seed N' $v
mistake 'seed x\n' 'write seed N' $v
mistake 'cut link 0 5\n' 'name the place' $v
mistake 'cut link 3,0,0,0,0 A+\n' 'name the place' --clock virtual --shape 4Mx3x1x1x1
mistake 'cut\n' 'name the place' $v
mistake 'cut host 0\n' 'no wires between hosts' $v
mistake 'kill host 0\n' 'one host' $v
mistake 'until 5 kill task 0\n' 'without "until"' $v
mistake 'kill tusk 0\n' 'kill task N' $v
mistake 'kill node 12\n' 'kill task N' $v
mistake 'cut node 0\n' 'no links' -n 2 --hosts local,local
mistake 'dup 0.1\n' 'no links' -n 2
mistake 'loss 0.1\n' 'no links' -n 2 --clock virtual --fabric express
mistake 'cut hosts 0 2\n' 'name the place' -n 2 --hosts local,local
mistake 'cut hosts 1 1\n' 'name the place' -n 2 --hosts local,local
mistake 'at 1 cut link 0 A+\n' 'need one host' --fabric torus --shape 4x1x1x1x1 --hosts local,local
mistake "$(for i in {1..600}; do echo "cut node $((i % 12))"; done)" 'too many faults' $v
t run --fault "$dir/none" "$task" exchange
expect 2 "no fault file"
said err 'cannot read' "no fault file"

finish
