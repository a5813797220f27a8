#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Gets, pulls and messages over every routing mode, on tori, meshes and the smallest credits, in both
# clocks and between hosts: the data is right and messages stay in order.
# usage: mu_routing.sh T_SYSTEM_MU_ROUTING_JOBS
set -u
program=$1
bad=0
scale=${QT_SCALE:-1}
# In virtual time one thread of a process runs, so the thread sanitizer has nothing to see there, and it makes
# each virtual job of 24 tasks take minutes. In the real clock two routings show it all threads.
thread_sanitizer=$([ "${QT_SANITIZE:-none}" = thread ] && echo 1)
ways="0,4,0:4,4,4 0,1,0:4,1,1"
[ "$thread_sanitizer" ] || ways="$ways 0,0,0:4,0,0 0,2,0:4,2,2 0,3,0:4,3,3"
small=vc_dynamic_slots=2,vc_deterministic_slots=2,vc_high_slots=2,vc_system_slots=2,injection_slots=2
run() { # options of torus run ...
	[ "$thread_sanitizer" ] && [[ " $* " = *" --clock virtual "* ]] && return
	timeout -s KILL $((250 * scale + 10)) torus run --timeout $((250 * scale)) --fabric torus "$@" "$program" --job 2>"$QT_DIR/err"
	local status=$?
	[ $status = 0 ] || {
		echo "PAMI_ROUTING=${PAMI_ROUTING-} torus run $*: status $status: $(tail -3 "$QT_DIR/err")"
		bad=1
	}
}
hash_of() {
	sed -n 's/.*hash \([0-9a-f]\{16\}\)$/\1/p' "$QT_DIR/err"
}
QT_DIR=$(mktemp -d)
trap 'rm -rf "$QT_DIR"' EXIT

declare -A hash
for way in $ways; do
	export PAMI_ROUTING=$way
	run --clock virtual --shape 3x2x1x2x2
	[ "$thread_sanitizer" ] || hash[$way]=$(hash_of)
	run --clock virtual --shape 3Mx3Mx1x1x1 --hw $small
	run --shape 3x2x1x1x2
	run --shape 3x2Mx1x1x1 --hw $small
done
[ "$thread_sanitizer" ] || [ "${hash[0,4,0:4,4,4]}" != "${hash[0,1,0:4,1,1]}" ] || { echo "PAMI_ROUTING changes nothing in virtual time"; bad=1; }
PAMI_ROUTING=0,1,0:4,1,1 run --clock virtual --shape 3x2x1x2x2 --hw stay_on_bubble=1
PAMI_ROUTING=0,1,0:4,1,1 run --shape 3x2x1x1x1 --hosts local,local
PAMI_ROUTING=0,1,0:4,1,1 run --shape 3x2x1x1x1 --hosts local,local --fault loss=0.02,reorder=0.05,dup=0.02 --seed 4
unset PAMI_ROUTING
# Gets in pieces: one in flight, and more than there are pieces.
pace=pacing_nodes=0,pacing_bytes=0,pacing_piece=512
run --clock virtual --shape 3x2x1x2x2 --hw $pace,pacing_window=1
run --clock virtual --shape 3Mx3Mx1x1x1 --hw $pace,pacing_window=256,$small
run --shape 3x2x1x1x2 --hw $pace,pacing_window=1
run --shape 3x2x1x1x1 --hosts local,local --hw $pace,pacing_window=3
run --shape 1x1x1x2x2
run --clock virtual --shape 2x2x1x1x2x2
exit $bad
