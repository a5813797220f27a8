#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Reception FIFOs of registers that are full for good, with rec_fifo=strict: the line names node and FIFO in real time, and
# on one host, as in virtual time, the whole circle is named.
# usage: spi_full.sh PROGRAM
set -u
program=$1
bad=0
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

try() { # SECONDS OPTION...
	torus run --timeout "$1" --shape 3x1x1x1x1 --hw rec_fifo=strict "${@:2}" "$program" >"$dir/out" 2>&1
	status=$?
	[ $status != 0 ] || echo "the circle ended well" >>"$dir/out"
}

for options in '--fabric torus --hosts local,local,local' '--fabric express'; do
	# A machine with other work may have had no time for the job to come so far.
	for limit in 8 30 100; do
		# shellcheck disable=SC2086
		try $((limit * ${QT_SCALE:-1})) $options
		grep -q 'rec_fifo=strict: at ([0-2],0,0,0,0) reception FIFO 4 is full for 2 s' "$dir/out" && [ $status = 124 ] && continue 2
	done
	echo "FAIL: $options: status $status: $(tail -5 "$dir/out")"
	bad=1
done

# On one host the routers are looked through for the circle.
timeout -s KILL $((200 * ${QT_SCALE:-1})) torus run --timeout $((120 * ${QT_SCALE:-1})) --fabric torus --shape 3x1x1x1x1 --hw rec_fifo=strict \
	"$program" >"$dir/out" 2>&1 &
pid=$!
until grep -q 'where this circle began' "$dir/out" || ! kill -0 $pid 2>/dev/null; do sleep 0.2; done
kill -TERM $pid 2>/dev/null
wait $pid
for words in 'at ([0-2],0,0,0,0) reception FIFO 4 is full for 2 s' 'for reception FIFO 4 waits for the MU of task' 'over link A' 'where this circle began'; do
	grep -q "$words" "$dir/out" || {
		echo "FAIL: real time: the message about the circle lacks '$words': $(tail -20 "$dir/out")"
		bad=1
	}
done

export QUINTORUS_DEADLOCK_S=1 QUINTORUS_DEADLOCK_POLLS=100
try $((100 * ${QT_SCALE:-1})) --clock virtual
for words in 'for reception FIFO 4 waits for the MU of task' 'a slot of channel 1 (deterministic) over link A' 'where this circle began'; do
	grep -q "$words" "$dir/out" || {
		echo "FAIL: virtual time: the message about the circle lacks '$words': $(tail -20 "$dir/out")"
		bad=1
	}
done
[ $status != 0 ] || bad=1
exit $bad
