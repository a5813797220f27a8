#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ofi_job.sh PROGRAM: run a libfabric program as jobs on one node and several, on both fabrics, in both clocks.
set -u
program=$1
failed=0
export FI_PROVIDER_PATH=$QT_BUILD/ofi
scale=${QT_SCALE:-1}

job() { # TASKS OPTIONS...
	local n=$1 start
	shift
	start=$(date +%s%N)
	timeout -s KILL $((110 * scale)) torus run --timeout $((${OFI_T:-100} * scale)) "$@" "$program" "$n" || failed=1
	echo "$n tasks, $*: $((($(date +%s%N) - start) / 1000000)) ms, failed so far: $failed"
}

job 1 -n 1
job 3 -n 3
export QUINTORUS_OFI_UNEXPECTED=64k
job 2 -n 2 --hosts local,local
job 3 -n 3 --hosts local,local --fault loss=0.02,reorder=0.05,seed=7
unset QUINTORUS_OFI_UNEXPECTED
job 4 --shape 2x1x1x1x1x2 --fabric torus
case $program in
*ofi_rma)
	export OFI_UNIT_ATOMICS=1 # A target need not call for atomics of the messaging unit.
	job 3 -n 3 --hw mu_atomics=full
	job 3 -n 3 --hw mu_atomics=full --hosts local,local
	;;
esac
exit $failed
