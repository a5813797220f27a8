#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Paced gets: right data in both clocks, also over a lossy wire, from a task that dies and to a context that closes;
# in virtual time short messages wait less behind them, at nearly the same rate of the gets.
# usage: pami_pacing.sh PROGRAM
. "$QT_SOURCE/tests/harness/run.bash"
limit=$((60 * ${QT_SCALE:-1}))
[ $limit -ge 200 ] || limit=200 # 32 tasks take turns, and each turn may wait for a time slice of another program
pace=pacing_nodes=0
export QUINTORUS_ERRORS=quiet

times() { # OPTION...: the half round trip and the time of the gets, in nanoseconds
	t run --timeout $limit --clock virtual --shape 4x4x2x1x1 "$@" "$task"
	[ "$status" = 0 ] || fail "$*: status $status: $(tail -3 "$dir/err")" >&2
	sed -n 's/half round trip \(.*\)\.\(...\) us, gets \(.*\)\.\(...\) us/\1\2 \3\4/p' "$dir/out"
}

if [ "${QT_SANITIZE:-}" != thread ]; then
	read -r whole_trip whole_gets < <(times)
	read -r paced_trip paced_gets < <(times --hw $pace,pacing_piece=8192)
	echo "half round trip and gets, ns: $whole_trip $whole_gets, paced $paced_trip $paced_gets"
	[ -n "$paced_gets" ] && [ $((paced_trip * 10)) -lt $((whole_trip * 7)) ] && [ $((paced_gets * 10)) -lt $((whole_gets * 11)) ] ||
		fail "pacing does not help short messages, or slows the gets"
fi

for options in "--shape 3x2x2x1x1 --hw $pace,pacing_window=1" \
	"--shape 2x2x1x1x1 --hosts local,local --hw $pace,pacing_piece=1000,pacing_window=256" \
	"--shape 2x2x1x1x1 --hosts local,local --hw $pace,pacing_bytes=0 --fault loss=0.02 --seed 4"; do
	# shellcheck disable=SC2086
	t run --timeout $limit --fabric torus $options "$task"
	[ "$status" = 0 ] || fail "$options: status $status: $(tail -3 "$dir/err")"
done

# A context may close before its gets complete. Under the address sanitizer nothing of them is left.
for options in "pacing_window=256" "pacing_piece=512,pacing_window=4"; do
	for hosts in "" "--hosts local,local"; do
		# shellcheck disable=SC2086
		t run --timeout $limit --fabric torus --shape 2x2x1x1x1 $hosts --hw $pace,pacing_bytes=0,$options "$task" close
		[ "$status" = 0 ] || fail "$options $hosts, close: status $status: $(tail -3 "$dir/err")"
	done
done

for options in "--fabric torus" "--clock virtual"; do
	case $options in *virtual) ends=error ;; *) ends= ;; esac
	# shellcheck disable=SC2086
	t run --timeout $limit --on-death error --shape 2x2x1x1x1 $options --hw $pace,pacing_piece=512,pacing_window=1 "$task" death
	# In real time a task may have all its data before the other dies.
	[ "$(grep -c "^gets ended: $ends" "$dir/out")" = 3 ] || fail "$options, death: status $status: $(cat "$dir/out" "$dir/err")"
done
finish
