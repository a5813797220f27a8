#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# armci.sh PROGRAM [virtual]: call every function of libarmci with tasks on one node and on several, and check its errors.
. "$QT_SOURCE/tests/harness/armci_run.bash"

# crash HOW TEXT: check that the job ends with a non-zero status and prints TEXT.
crash() {
	local out
	if out=$(timeout $((30 * ${QT_SCALE:-1})) torus run -n 3 "$program" crash "$1" 2>&1) || [ $? = 124 ]; then
		say FAIL "$1 does not end the job"
		tail -5 <<<"$out"
	elif grep -q -- "$2" <<<"$out" && ! grep -q 'still running' <<<"$out"; then
		say ok "$1 ends the job"
	else
		say FAIL "$1 prints another message"
		tail -5 <<<"$out"
	fi
}

if [ "${2:-}" = virtual ]; then
	# The same run twice gives the same events.
	for c in start malloc contig order acc overlap strided long_patches vector nonblocking aggregate rmw mutex; do
		run "virtual time, two nodes: $c" --clock virtual --shape 2x1x1x1x1x1 "$program" "$c"
	done
	# A process polls its own memory. The data arrive by RDMA, or a neighbour on the same node stores them.
	for shape in 3x1x1x1x1x1 2x1x1x1x1x2; do
		QUINTORUS_SPIN_MS=50 run "virtual time, $shape: progress" --clock virtual --shape $shape "$program" progress
	done
	run 'virtual time, four nodes, two tasks each' --clock virtual --shape 2x2x1x1x1x2 "$program" mutex
	for c in mutex mutex_by_mu; do
		run "virtual time, atomics in the MU: $c" --clock virtual --shape 2x2x1x1x1x1 --hw mu_atomics=full \
			env QT_ATOMICS=1 "$program" $c
	done
	once=$(torus run --clock virtual --shape 2x2x1x1x1x1 "$program" order 2>&1 | grep -o 'hash .*')
	again=$(torus run --clock virtual --shape 2x2x1x1x1x1 "$program" order 2>&1 | grep -o 'hash .*')
	if [ -n "$once" ] && [ "$once" = "$again" ]; then say ok "$once twice"; else say FAIL "$once, then $again"; fi
	exit $failed
fi
run 'one process' -n 1 "$program"
run 'three tasks of one node' -n 3 "$program"
run 'two nodes' --shape 2x1x1x1x1x1 "$program"
run 'four nodes, two tasks each' --shape 2x2x1x1x1x2 "$program"
run 'three tasks of one node, nothing mapped' -n 3 env QUINTORUS_ARMCI_DIRECT=none "$program"
run 'two nodes, memory of the host mapped' --shape 2x1x1x1x1x1 env QUINTORUS_ARMCI_DIRECT=host "$program"
run 'two nodes, everything packed' --shape 2x1x1x1x1x1 env QUINTORUS_ARMCI_PACK=1000000000 "$program"
run 'two nodes, nothing packed' --shape 2x1x1x1x1x1 env QUINTORUS_ARMCI_PACK=0 "$program"
run 'two hosts, two tasks each' -n 4 --hosts local,local "$program"
run 'two hosts of one task' -n 2 --hosts local,local "$program"
run 'three nodes, atomics in the MU' --shape 3x1x1x1x1x1 --hw mu_atomics=full env QT_ATOMICS=1 "$program"
run 'four nodes, hop by hop' --fabric torus --shape 2x2x1x1x1x1 "$program"
crash bad-address 'is not in memory allocated with ARMCI_Malloc'
crash null-address 'is not in memory allocated with ARMCI_Malloc'
crash error 'on purpose'
crash free-twice 'is not an address that ARMCI_Malloc returned'
crash mutex 'there is no set of mutexes'
crash fence 'ARMCI_Fence: there is no process 3'
crash operation 'ARMCI_Rmw: 99 is not an operation'
crash odd-word 'is not aligned to 4'
crash group-twice 'does the list name a rank twice'
crash group-rank 'the parent has no rank 3'
crash operator 'is not a reduction operator'
crash notify 'there is no process -1'
exit $failed
