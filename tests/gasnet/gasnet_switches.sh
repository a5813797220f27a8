#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Random transfers of pieces against a model, for the combinations of GASNet's switches: all of those that choose how
# pieces travel, with the others first all plain, then all fast (QT_LONG=1: every combination of every switch). The
# digest of what the tasks see in the end must be the same each time, with and without the way through shared memory.
# usage: gasnet_switches.sh PROGRAM
set -u
program=$1
limit=$((60 * ${QT_SCALE:-1}))
bad=0
runs=0
declare -A digest
others=('TGEX_NPAM=ref TGEX_IMM=ignore TGEX_LC=remote TGEX_RATOMIC=am' 'TGEX_NPAM=spec TGEX_IMM=honor TGEX_LC=local TGEX_RATOMIC=nic')
if [ "${QT_LONG:-0}" != 0 ]; then
	others=()
	for npam in ref spec; do for imm in ignore honor; do for lc in remote local; do for ratomic in am nic; do
		others+=("TGEX_NPAM=$npam TGEX_IMM=$imm TGEX_LC=$lc TGEX_RATOMIC=$ratomic")
	done; done; done; done
fi

# run_job SEED WHERE SETTING...
run_job()
{
	local seed=$1 where=$2 out of
	shift 2
	# shellcheck disable=SC2086
	out=$(env "$@" QT_SEED=$seed timeout -s KILL $((limit + 10)) torus run --timeout $limit $where "$program" pieces 2>&1)
	if [ $? != 0 ]; then
		echo "$* QT_SEED=$seed $where fails:"
		tail -5 <<<"$out"
		bad=1
		return
	fi
	of=$(sed -n 's/.*digest //p' <<<"$out")
	runs=$((runs + 1))
	[ -n "$of" ] || { echo "$* $where: no digest"; bad=1; }
	[ "${digest[$seed]:=$of}" = "$of" ] && return
	echo "$* QT_SEED=$seed $where: the tasks see other bytes than the jobs before (digest $of, not ${digest[$seed]})"
	bad=1
}

for rest in "${others[@]}"; do
	for shm in hoisted percall off; do
		for opt in 0 1; do
			for am in fp np none; do
				run_job 1 '-n 2' $rest TGEX_SHM=$shm TGEX_VIS_OPT=$opt TGEX_VIS_AM=$am
			done
		done
	done
	run_job 1 '-n 2' $rest TGEX_NBRHD_MAX=1
	run_job 1 '--shape 2x1x1x1x1' $rest
done
run_job 1 '-n 2 --hosts local,local' TGEX_SHM=hoisted
run_job 1 '--clock virtual --shape 2x1x1x1x1' TGEX_SHM=hoisted
run_job 1 '--clock virtual --shape 1x1x1x1x1x2' TGEX_SHM=hoisted
run_job 1 '--clock virtual --shape 1x1x1x1x1x2' TGEX_SHM=off
echo "$runs jobs, digest ${digest[1]:-none}"
exit $bad
