#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# agas_death.sh PROGRAM: a rank dies among operations and moves; the survivors end theirs and go on.
. "$QT_SOURCE/tests/harness/run.bash"
limit=$((60 * ${QT_SCALE:-1}))

# survive SURVIVORS ARGS...
survive() {
	local survivors=$1 start
	shift
	start=$(date +%s%N)
	t run --on-death error --timeout $limit "$@"
	echo "$*: $((($(date +%s%N) - start) / 1000000)) ms: $(grep -o '[0-9]* of [0-9]* blocks lost' "$dir/err" | sort | uniq -c | head -1)"
	[ "$(grep -c '^survivor [0-9]*: right' "$dir/err")" = "$survivors" ] ||
		{ fail "$*: not $survivors survived (status $status)"; grep -v warning "$dir/err" | head -30; }
	unsound "$*"
	heard+=$(grep -Eo "$reasons" "$dir/err" | sort -u)$'\n'
}

# Each reason in words must be said in some run.
reasons='home of the block has died|rank that had the block has died|rank to which the block should move has died'
heard=''

for seed in 1 2 3; do
	export QT_SEED=$seed
	survive 2 -n 3 "$task"
	survive 3 -n 4 --shape 4x1x1x1x1 "$task"
	survive 3 -n 4 --hosts local,local "$task"
done
survive 3 -n 4 --hw agas=hw-torus "$task"
survive 3 -n 4 --hosts local,local --hw agas=hw-home "$task"
survive 3 -n 4 --hw agas=hw-central,agas_central_ns=3000 "$task"
survive 3 -n 4 --hosts local,local "$task" order
QUINTORUS_AGAS_PROGRESS=off survive 3 -n 4 --hosts local,local "$task" order
if [ "${QT_SANITIZE:-}" != thread ]; then
	for us in 200 500 1234; do
		survive 2 --clock virtual --shape 3x1x1x1x1 --fault kill=2@$us "$task" virtual
		survive 3 --clock virtual --fabric torus --shape 4x1x1x1x1 --hw agas=hw-torus \
			--fault kill=3@$us "$task" virtual
	done
fi
# missing: prints each reason that no run has said. What a death interrupts is chance, so there may be more runs.
missing() {
	local reason
	while read -r reason; do
		[[ $heard = *"$reason"* ]] || echo "$reason"
	done < <(tr '|' '\n' <<<"$reasons")
}
for ((seed = 4; seed < 40; seed++)); do
	[ -n "$(missing)" ] || break
	echo "not said yet: $(missing | paste -sd,)"
	QT_SEED=$seed survive 3 -n 4 --hosts local,local "$task"
done
[ -z "$(missing)" ] || fail "no run said: $(missing | paste -sd,)"
finish
