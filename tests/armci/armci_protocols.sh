#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# armci_protocols.sh PROGRAM: run each protocol that a setting chooses, then every function of libarmci and random
# operations with it.
. "$QT_SOURCE/tests/harness/armci_run.bash"
all=${program%_protocols}_program
fuzz=${program%/*}/t_fuzz_armci_fuzz
seed=${QT_SEED:-$RANDOM}
echo "seed $seed (QT_SEED=$seed repeats)"

nodes='--shape 3x1x1x1x1x1'
for setting in '' QUINTORUS_ARMCI_REGIONS=0 QUINTORUS_ARMCI_REGIONS=2 ARMCI_STRIDED_METHOD=DIRECT ARMCI_STRIDED_METHOD=IOV \
	QUINTORUS_ARMCI_CONFLICTS=region QUINTORUS_ARMCI_CONFLICTS=target QUINTORUS_ARMCI_ACC=source \
	QUINTORUS_ARMCI_ACC=pipelined QUINTORUS_ARMCI_SIMD=plain QUINTORUS_ARMCI_CONTEXTS=1 QUINTORUS_ARMCI_ASSIST=always \
	QUINTORUS_ARMCI_ASSIST=auto ARMCI_IOV_METHOD=CONSRV \
	'ARMCI_IOV_METHOD=BATCHED ARMCI_IOV_BATCHED_LIMIT=7' 'ARMCI_IOV_METHOD=DIRECT ARMCI_IOV_DTYPE_CHUNK=30'; do
	run "protocols $setting" $nodes env $setting "$program"
	case $setting in
	*ACC=*) # These make many round trips, so run the accumulates only, and not in virtual time.
		for c in acc order long_patches; do run "$c, $setting" $nodes env $setting "$all" $c; done
		continue ;;
	*REGIONS=0 | *DIRECT | *CONTEXTS=1) run "every function, $setting" $nodes env $setting "$all" ;;
	esac
	[ "${QT_SANITIZE:-}" = thread ] || # In virtual time one thread of a process runs at a time.
		run "protocols $setting, virtual time" --clock virtual $nodes env $setting "$program"
done
for us in 0 200; do # The progress thread polls without pause, or at intervals.
	run "protocols, polls every $us us" $nodes env ARMCI_PROGRESS_USLEEP=$us "$program"
done
run 'random, typed patches' $nodes env ARMCI_STRIDED_METHOD=DIRECT QUINTORUS_ARMCI_REGIONS=1 "$fuzz" 100 "$seed"
run 'random, one context' $nodes env QUINTORUS_ARMCI_CONTEXTS=1 "$fuzz" 100 "$seed"
run 'random, no regions' $nodes env QUINTORUS_ARMCI_REGIONS=0 "$fuzz" 100 "$seed"
run 'random, sources add' --shape 2x1x1x1x1x2 env QUINTORUS_ARMCI_ACC=pipelined "$fuzz" 30 "$seed"
run 'random, conflicts by process' $nodes env QUINTORUS_ARMCI_CONFLICTS=target "$fuzz" 100 "$seed"
exit $failed
