#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# gasnet_fuzz_death.sh PROGRAM: one process of a random program is killed while frames are lost, or links have errors. The others end, and one of them, or
# torus run, names it; nothing hangs.
. "$QT_SOURCE/tests/harness/run.bash"
limit=$((60 * ${QT_SCALE:-1}))

# killed TEXT ARGS...: the job fails in time and says TEXT.
killed() {
	local text=$1
	shift
	t run --timeout $limit "$@"
	[ "$status" != 0 ] && [ "$status" != 124 ] || { fail "$*: status $status"; head -20 "$dir/err" "$dir/out"; }
	said err "$text" "$*"
	unsound "$*"
}

lost=loss=0.05,dup=0.03,reorder=0.05
for seed in 21 22; do
	export QT_SEED=$seed QT_LONG=1
	QT_DIES=2 killed 'gasnet: process [01] of 3: .*process 2 .*has died or left' -n 3 --hosts local,local --fault $lost,seed=$seed \
		--on-death error "$task"
	QT_DIES=1 killed 'gasnet: process [02] of 3: .*process 1 .*has died or left' -n 3 --on-death error env TGEX_CREDITS=4 "$task"
	killed 'task 1 ' --clock virtual --shape 3x1x1x1x1 --hw link_errors_per_million=20000 --fault kill=1@$((300 + seed)) "$task" virtual
done
finish
