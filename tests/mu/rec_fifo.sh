#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Reception FIFOs that are full: with rec_fifo=strict packets wait in the network, in both clocks, and a circle is
# named; in virtual time the same in every run.
# usage: rec_fifo.sh T_SYSTEM_REC_FIFO
set -u
program=$1
bad=0
scale=${QT_SCALE:-1}
QT_DIR=$(mktemp -d)
trap 'rm -rf "$QT_DIR"' EXIT
fail() {
	echo "FAIL: $*"
	bad=1
}
run() { # options of torus run ... -- ARGUMENT
	timeout -s KILL $((60 * scale)) torus run --timeout $((50 * scale)) "${@:1:$#-1}" "$program" "${@: -1}" >"$QT_DIR/out" 2>&1
	status=$?
}
held() {
	run "$@" held
	[ $status = 0 ] || fail "torus run $*: status $status: $(tail -3 "$QT_DIR/out")"
}
last_line() { grep 'virtual time.*hash' "$QT_DIR/out"; }

virtual="--clock virtual --shape 3x2x1x1x1"
held $virtual
spill=$(last_line)
held $virtual --hw rec_fifo=strict
strict=$(last_line)
held $virtual --hw rec_fifo=strict
[ "$(last_line)" = "$strict" ] || fail "rec_fifo=strict is not repeatable: $strict, then $(last_line)"
[ "$strict" != "$spill" ] || fail "rec_fifo=strict changes nothing in virtual time"
held $virtual --hw rec_fifo=strict,rec_fifo_bytes=4096
[ "$(last_line)" != "$strict" ] || fail "rec_fifo_bytes changes nothing in virtual time"
held --fabric torus --shape 3x1x1x1x1 --hw rec_fifo=strict,rec_fifo_bytes=4096
held --shape 1x1x1x1x1x2 --hw rec_fifo=strict,rec_fifo_bytes=4096
held --shape 2x1x1x1x1 --hosts local,local --hw rec_fifo=strict,rec_fifo_bytes=4096

export QUINTORUS_DEADLOCK_S=1 QUINTORUS_DEADLOCK_POLLS=100
run --clock virtual --shape 3x1x1x1x1 --hw rec_fifo=strict circle
[ $status != 0 ] || fail "the circle ended well"
for words in 'reception FIFO of context 1 of task' 'a slot of channel 1 (deterministic) over link A' 'where this circle began'; do
	grep -q "$words" "$QT_DIR/out" || fail "the message about the circle lacks '$words': $(tail -20 "$QT_DIR/out")"
done
# In real time the job stands still, so it is ended when the circle was named.
rm -f "$QT_DIR/out" # its last words are those that are waited for
timeout -s KILL $((200 * scale)) torus run --timeout $((120 * scale)) --fabric torus --shape 3x1x1x1x1 --hw rec_fifo=strict \
	"$program" circle >"$QT_DIR/out" 2>&1 &
pid=$!
until grep -qs 'where this circle began' "$QT_DIR/out" || ! kill -0 $pid 2>/dev/null; do sleep 0.2; done
kill -TERM $pid 2>/dev/null
wait $pid
for words in 'full, in a circle' 'reception FIFO of context 1 of task' 'a slot of channel 1 (deterministic) over link A' 'where this circle began'; do
	grep -q "$words" "$QT_DIR/out" || fail "real time: the message about the circle lacks '$words': $(tail -20 "$QT_DIR/out")"
done
exit $bad
