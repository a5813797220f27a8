#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The control connection between torus run and an agent on another machine, with a liar at either end (ctl.c, in the place of
# ssh): each job ends, with a line that names the host and what it did, without a crash and without memory that grows.
. "$QT_SOURCE/tests/harness/run.bash"

liar=$task
cat >"$dir/ssh" <<END
#!/bin/sh
for command; do host=\$last; last=\$command; done
[ "\$host" = liar ] || exec sh -c "\$command"
exec "$liar" "\$command"
END
chmod +x "$dir/ssh"
export QUINTORUS_SSH=$dir/ssh QUINTORUS_SILENCE=20 QT_LIE_CRASH=$dir/crash QT_LIE=
one=ssh:liar two='ssh:honest=shm:;ssh:liar=shm:'

# Numbers of messages, from the list in ctl.h.
number() {
	awk -v want="$1" '/enum ctl_type/ { on = 1 } on && /^\tCTL_[A-Z_]+( =|,)/ { n++; sub(/[ ,=].*/, "", $1); if ($1 == want) print n }' \
		"$QT_SOURCE/tools/ctl.h"
}
u32() {
	local v
	for v; do printf ' %02x %02x %02x %02x' $((v & 255)) $((v >> 8 & 255)) $((v >> 16 & 255)) $((v >> 24 & 255)); done
}
# message TYPE WORDS...: a message in hexadecimal
message() {
	local type
	type=$(number "$1")
	[ -n "$type" ] || { fail "no message $1"; return; }
	shift
	u32 "$type" $((4 * $#)) "$@"
}
# lie WHAT TORUS-RUN-ARGUMENTS...: a job with the liar. It is ended after a time that no lie needs.
lie() {
	rm -f "$dir/crash"
	export QT_LIE=$1
	shift
	timeout -s KILL $((60 * ${QT_SCALE:-1})) torus run "$@" >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
	QT_LIE=
	unsound "$*"
	[ ! -e "$dir/crash" ] || fail "$*: $(cat "$dir/crash")"
	[ $status != 137 ] || fail "$*: it did not end: $(tell err)"
}
wait_for='until [ -e "$0" ]; do sleep 0.1; done' # a task that ends when the job does

# ---- an agent that lies ----
lie "say$(message CTL_DONE)" -n 2 --seal none --hosts "$two" sh -c "$wait_for" "$dir/never"
expect 1 "an agent that ends before its tasks"
said err 'host ssh liar ended before its tasks' "an agent that ends before its tasks"
lie "say$(message CTL_EXIT 0 0 0)" -n 2 --seal none --hosts "$two" sh -c "$wait_for" "$dir/never"
expect 1 "the end of another host's task"
said err 'host ssh liar reported the end of a task that it does not have' "the end of another host's task"
lie "say$(message CTL_OUTPUT 0 1 0)" -n 2 --seal none --hosts "$two" sh -c "$wait_for" "$dir/never"
expect 1 "output of another host's task"
said err 'host ssh liar sent output of a task that it does not have' "output of another host's task"
# Statuses of which eight bits are 0, of a task that was stopped, and of more than 16 bits are failures.
for word in 127 65535 $((0x7f0100)); do
	lie "say$(message CTL_EXIT 0 $word 0)" -n 1 --hosts $one sh -c "$wait_for" "$dir/never"
	expect 1 "wait status $word"
done
lie "say$(message CTL_FAIL 256 0 0)" -n 1 --hosts $one sh -c "$wait_for" "$dir/never"
expect 1 "failure with status 256"
lie "say$(u32 $(($(number CTL_PING) + 1)) 0)" -n 1 --hosts $one sh -c "$wait_for" "$dir/never"
expect 1 "a message outside the protocol"
said err 'sent a message outside the protocol' "a message outside the protocol"

# Output without end to a reader that reads nothing: the line comes nevertheless, and memory does not grow.
export QT_LIE="flood$(u32 $(number CTL_OUTPUT) 4096 0 1)$(printf ' 61%.0s' {1..1000})$(printf ' 61%.0s' {1..3088})"
rm -f "$dir/fifo"
mkfifo "$dir/fifo"
forget
exec 7<>"$dir/fifo"
timeout -s KILL $((60 * ${QT_SCALE:-1})) torus run -n 1 --hosts $one sh -c "$wait_for" "$dir/never" >"$dir/fifo" 2>"$dir/err" </dev/null 7>&- &
pid=$!
until_said "$dir/err" 'sent more output than it was allowed'
timeout 60 cat <"$dir/fifo" >/dev/null 7>&- &
exec 7>&-
wait $pid
status=$?
expect 1 "output without end"

# A peer that reads nothing but says that it lives. It asks for input without end, all of which would wait in memory.
export QT_LIE=deaf QUINTORUS_SILENCE=2
forget
timeout -s KILL $((60 * ${QT_SCALE:-1})) torus run -n 1 --hosts $one sh -c "$wait_for" "$dir/never" >"$dir/out" 2>"$dir/err" </dev/zero
status=$?
expect 1 "a deaf agent"
said err 'host ssh liar reads nothing for 2 s' "a deaf agent"
lie deaf-run -n 1 --hosts $one yes
expect 1 "a deaf torus run"
# Either end may see it first.
said err 'reads nothing for 2 s|silent for 2 s' "a deaf torus run"
QUINTORUS_SILENCE=1
export QT_LIE=mute
forget
torus run -n 1 --timeout $((100 * ${QT_SCALE:-1})) --hosts $one sh -c "$wait_for" "$dir/never" >"$dir/out" 2>"$dir/err" </dev/null &
pid=$!
until_said "$dir/err" 'host ssh liar has not answered for 4 s; still waiting'
kill_twice $pid
wait $pid
status=$?
[ $status != 0 ] && [ $status != 137 ] || fail "an agent that says nothing: status $status"
QUINTORUS_SILENCE=20

# Everything at once, and the end: nothing of it is lost.
lie burst -n 1 --hosts $one sh -c 'seq 100000'
expect 0 "an agent that says all at its end"
[ "$(md5sum <"$dir/out")" = "$(seq 100000 | md5sum)" ] || fail "an agent that says all at its end: $(wc -c <"$dir/out") bytes"

# Honest ends keep to what is allowed also where the reader is slow and lines are long.
[ "$(torus run -n 1 --hosts $one seq 2000000 2>"$dir/err" | { sleep 1; md5sum; })" = "$(seq 2000000 | md5sum)" ] ||
	fail "a slow reader: $(tell err)"

# ---- a torus run that lies ----
lie "flood-run$(u32 $(number CTL_STDIN) 2048)$(printf ' 61%.0s' {1..2048})" -n 1 --hosts $one sh -c "$wait_for" "$dir/never"
expect 1 "input without end"
said err 'torus run sent more input than this agent asked for' "input without end"
QUINTORUS_SILENCE=1
lie half -n 1 --hosts $one --timeout 40 true
said err 'torus run has sent no plan for 12 s' "half a plan"
QUINTORUS_SILENCE=20
lie "tell$(message CTL_GONE 0 256)$(message CTL_GONE 99 1)$(message CTL_LOST 1)$(message CTL_LOST 0)$(message CTL_DEPARTED 1)$(message CTL_OUTPUT_ROOM $((0xffffffff)))$(message CTL_OUTPUT_ROOM $((0xffffffff)))$(message CTL_SIGNAL 12345)$(message CTL_CALLS)$(message CTL_CALLS)$(message CTL_WATCH)$(message CTL_START 1 2 3)" \
	-n 2 --seal none --hosts "$two" --on-death error sh -c 'sleep 0.3; seq 1000'
expect 0 "what torus run never says"
lines out 2000 "what torus run never says"

# ---- chance ----
rounds=${QT_FUZZ_ROUNDS:-10}
for ((round = 0; round < rounds; round++)); do
	for end in agent run; do
		export QT_SEED=$((seed * 1000 + round))
		QUINTORUS_SILENCE=2
		what=(-n 2 --seal none --hosts "$two" --report)
		[ $((round % 2)) = 0 ] || what=(-n 4 --hosts $one --fabric torus --shape 2x2x1x1x1 --html "$dir/page" --trace "$dir/trace" --tag)
		lie $end "${what[@]}" --timeout 4 sh -c 'echo up; sleep 0.2; echo down'
	done
done
finish
