#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# torus topo: dynamic choices, times of the machine, meshes, trees and colours, as text and as JSON; mistakes.
. "$QT_SOURCE/tests/harness/run.bash" -

python3 "$QT_SOURCE/tests/tools/topo_check.py" || fail "text, JSON and rules differ"

# The text, for a person. topo_check.py compares all of it but the picture.
t topo 4x4Mx4x2x2 0 255
expect 0 "topo of a mesh"
said out 'no wrap in this dimension' "topo of a mesh"
said out 'zone 1  finishes ABCDE; first hop A- B[+] C- D[+] E[+]; 840 ways' "topo: zones"
said out 'rendezvous of 65537 bytes is routed dynamically' "topo: choice"
t topo 4x1x1x1x1 0 1 --hw hop_ns=1000
said out '1 hops of 1000 ns' "topo: time"
t topo 4x4x2x1x1
said out '6 edge-disjoint trees' "topo: colours"
said out 'class route of all nodes: root [(]2,2,1,0,0[)], depth 5, children' "topo: the tree of the class route"
said out 'up the tree a packet goes in dimension C to the root.s coordinate, then A, then B' "topo: the order of the tree"
said out 'level 1: 13 A[+], 19 B[+], 20 C[+], 23 B-, 29 A-' "topo: the nodes of the tree"
t topo 4x4x2x1x1 --rectangle 0,1,0,0,0:0,3,1,0,0
said out 'class route of the rectangle [(]0,1,0,0,0[)] to [(]0,3,1,0,0[)]: root [(]0,2,1,0,0[)], depth 2, children of the root over B- B[+] C-' "topo: a rectangle"
LC_ALL=C t topo 2x2x2x2x2 0 31
expect 0 topo
said out 'hop  5  E\+' topo
said out '[(]30[.][)]88888[(]31[.][)]' "topo: the path in the picture"
said out '[(]26[.][)][.]{5}[(]27[.][)]' "topo: links beside the path in the picture"

# A mistake is one line with what is wrong and what is expected, and with --json the same line and no object.
for mistake in '|give a shape' '2x2|has 2 extents' '4x4|has 2 extents' '0x1x1x1x1|A is 0, expected 1 to 64' 'ax1x1x1x1|expected a number at .ax1' \
	'2x2x2x1x1x|expected a number' '2x2x2x1x1 0 8|no node .8.; give 0 to 7, or A,B,C,D,E below 2x2x2x1x1' '2x2x2x1x1 9 0|no node .9.' \
	'2x2x2x1x1 0 0,0,2,0,0|no node .0,0,2,0,0.' '2x2x2x1x1 0 -1|perhaps two nodes' '2x2x2x1x1 0 4294967297|no node .4294967297.' \
	'2x2x2x1x1 0|perhaps two nodes' '2x2x2x1x1 0 1 2|perhaps two nodes' '2x2x2x1x1 --hw mesh=Q|letters A to E' '2x2x2x1x1 --hw zone0=AB|together have all five' \
	'2x2x2x1x1 --hw hop=|hop' '4x1x1x1x1 --machine nowhere|nowhere' '2x2x2x1x1 --rectangle 3|--rectangle 3: give two nodes, LOW:HIGH' \
	'2x2x2x1x1 --rectangle 0:8|no node .8.' '2x2x2x1x1 --rectangle 0,2,0,0,0:7|no node .0,2,0,0,0.' '2x2x2x1x1 --rectangle :7|no node ..;' \
	'2x2x2x1x1 --rectangle 5:6|--rectangle 5:6: C goes from 1 to 0'; do
	t topo ${mistake%%|*}
	expect 2 "topo ${mistake%%|*}"
	lines err 1 "topo ${mistake%%|*}"
	lines out 0 "topo ${mistake%%|*}"
	said err "${mistake#*|}" "topo ${mistake%%|*}"
	cp "$dir/err" "$dir/text.err"
	t topo --json ${mistake%%|*}
	expect 2 "topo --json ${mistake%%|*}"
	lines out 0 "topo --json ${mistake%%|*}"
	cmp -s "$dir/err" "$dir/text.err" || fail "topo --json ${mistake%%|*} says $(cat "$dir/err"), without --json $(cat "$dir/text.err")"
done

# A torus whose picture does not fit into memory: the text says so, the object needs no picture.
if [ "${QT_SANITIZE:-none}" = none ]; then
	(ulimit -v 4000000 && torus topo 64x64x64x64x64 0 1) >"$dir/out" 2>"$dir/err"
	status=$?
	expect 1 "topo without memory"
	said err 'no memory to draw 1073741824 nodes' "topo without memory"
	lines out 0 "topo without memory"
	(ulimit -v 4000000 && torus topo --json 64x64x64x64x64 0 1) >"$dir/out" 2>"$dir/err"
	status=$?
	expect 0 "topo --json without memory"
	said out '"nodes": 1073741824' "topo --json without memory"
fi

finish
