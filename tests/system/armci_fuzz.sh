#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# armci_fuzz.sh PROGRAM [clock]: random operations of ARMCI against a model, over nodes, tasks, fabrics and protocols.
. "$(dirname "$0")/armci_run.bash"
seconds=100
seed=${QT_SEED:-$RANDOM}
echo "seed $seed (QT_SEED=$seed repeats)"

# A job of its own seed each.
random() { # WHAT OPTIONS... PROGRAM OPERATIONS
	run "$@" "$seed"
	seed=$((seed + 1))
}

if [ "${2:-}" = virtual ]; then
	random 'virtual time, two nodes' --clock virtual --shape 2x1x1x1x1x1 "$program" 60
	random 'virtual time, four nodes, two tasks each' --clock virtual --shape 2x2x1x1x1x2 "$program" 30
	exit $failed
fi
random 'one process' -n 1 "$program" 300
random 'three tasks of a node' -n 3 "$program" 300
random 'two nodes' --shape 2x1x1x1x1x1 "$program" 400
random 'four nodes, two tasks each' --shape 2x2x1x1x1x2 "$program" 150
random 'three nodes, all packed' --shape 3x1x1x1x1x1 env QUINTORUS_ARMCI_PACK=1000000000 "$program" 200
random 'three nodes, nothing packed' --shape 3x1x1x1x1x1 env QUINTORUS_ARMCI_PACK=0 "$program" 200
random 'two nodes, no asynchronous progress' --shape 2x1x1x1x1x1 env ARMCI_PROGRESS_THREAD=0 "$program" 200
random 'three nodes, owners copy' --shape 3x1x1x1x1x1 env QUINTORUS_ARMCI_ASSIST=always "$program" 300
random 'two nodes of two tasks, owners copy' --shape 2x1x1x1x1x2 env QUINTORUS_ARMCI_ASSIST=always QUINTORUS_ARMCI_DIRECT=none QUINTORUS_ARMCI_PACK=0 "$program" 100
random 'two hosts' -n 4 --hosts local,local "$program" 100
random 'two hosts, frames lost and swapped' -n 2 --hosts local,local --fault loss=0.05,reorder=0.05,seed=$seed "$program" 60
random 'two hosts, hop by hop' -n 4 --hosts local,local --fabric torus "$program" 60
random 'three nodes, hop by hop' --fabric torus --shape 3x1x1x1x1x1 "$program" 100
exit $failed
