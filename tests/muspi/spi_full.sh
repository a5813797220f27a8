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

lacks() { # WHERE WORDS...: say which words the output lacks
	for words in "${@:2}"; do
		grep -q "$words" "$dir/out" || {
			echo "FAIL: $1: the output lacks '$words': $(tail -20 "$dir/out")"
			bad=1
		}
	done
}
# stands WORDS OPTION...: a job in real time, which stands still, until it has printed the words.
stands() {
	rm -f "$dir/out" # the last job may have printed the same words
	torus run --timeout $((120 * ${QT_SCALE:-1})) --shape 3x1x1x1x1 --hw rec_fifo=strict "${@:2}" "$program" >"$dir/out" 2>&1 &
	pid=$!
	until grep -qs "$1" "$dir/out" || ! kill -0 $pid 2>/dev/null; do sleep 0.2; done
	kill -TERM $pid 2>/dev/null || lacks "${*:2}" 'a job that stands still'
	wait $pid
	lacks "${*:2}" "$1"
}

full='at ([0-2],0,0,0,0) reception FIFO 4 is full for 2 s'
stands "$full" --fabric torus --hosts local,local,local
stands "$full" --fabric express
# On one host the routers are looked through for the circle.
stands 'where this circle began' --fabric torus
lacks 'real time' "$full" 'for reception FIFO 4 waits for the MU of task' 'over link A'

export QUINTORUS_DEADLOCK_S=1 QUINTORUS_DEADLOCK_POLLS=100
torus run --timeout $((100 * ${QT_SCALE:-1})) --shape 3x1x1x1x1 --hw rec_fifo=strict --clock virtual "$program" >"$dir/out" 2>&1 && bad=1
lacks 'virtual time' 'for reception FIFO 4 waits for the MU of task' 'a slot of channel 1 (deterministic) over link A' 'where this circle began'
exit $bad
