#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every kind of fault at every kind of place, with a time and an end, in both clocks: all packets arrive once and in
# order (the task checks), or the job names who lost whom; in virtual time a second run is the same.
. "$QT_SOURCE/tests/harness/run.bash"

hash_of() {
	sed -n 's/.*hash \([0-9a-f]\{16\}\)$/\1/p' "$dir/err"
}
# arrives WHAT OPTIONS...: the job of the fault file ends well.
arrives() {
	local what=$1
	shift
	t run --timeout $((60 * ${QT_SCALE:-1})) --fault "$dir/f" "$@"
	expect 0 "$what"
	said out '^ok$' "$what"
}
# ends WHAT MESSAGE OPTIONS...: the job ends, with a message.
ends() {
	local what=$1 message=$2
	shift 2
	t run --timeout $((60 * ${QT_SCALE:-1})) --fault "$dir/f" "$@"
	[ "$status" != 0 ] && [ "$status" != 124 ] || fail "$what: status $status, it must end with an error"
	said err "$message" "$what"
	unsound "$what"
}
virtual="--clock virtual --shape 4x3x1x1x1"
real="--fabric torus --shape 3x2x1x1x1"
# The thread sanitizer makes each job take seconds: one place shows its races.
places=('link 0 A+' 'node 1' 'plane A 0' 'percent 10')
[ "${QT_SANITIZE:-none}" = none ] || places=('node 1')

t run $virtual "$task" exchange
clean=$(hash_of)
for kind in 'loss 0.3' 'corrupt 0.3' 'dup 0.4' 'reorder 0.3' 'delay 5us' 'rate 0.1' cut; do
	for place in "${places[@]}"; do
		line="$kind on $place"
		[ "$kind" = cut ] && line="cut $place"
		# In virtual time most packets leave after 0.2 us; in real time the rounds outlast the end.
		printf '%s\n' "at 0.2us until 6us $line" 'seed 11' >"$dir/f"
		if [ "$line" = 'cut node 1' ]; then
			ends "virtual, $line" 'nodes .* and .* lost each other' $virtual "$task" exchange
			printf '%s\n' "at 20ms $line" >"$dir/f"
			ends "real, $line" 'nodes .* and .* lost each other' $real "$task" busy
			continue
		fi
		arrives "virtual, $line" $virtual "$task" exchange
		first=$(hash_of)
		[ -n "$first" ] && [ "$first" != "$clean" ] || fail "virtual, $line: it changes nothing"
		arrives "virtual, $line, again" $virtual "$task" exchange
		[ "$(hash_of)" = "$first" ] || fail "virtual, $line: two runs differ"
		printf '%s\n' "at 1ms until 20ms $line" 'seed 11' >"$dir/f"
		arrives "real, $line" $real "$task" rounds 60
	done
done

# Frames between hosts, each kind with a time and an end, at each place.
for kind in 'loss 0.3' 'corrupt 0.3' 'dup 0.4' 'reorder 0.3' 'delay 100us' 'rate 0.01' cut; do
	for place in 'hosts 0 1' 'host 1'; do
		line="$kind on $place"
		[ "$kind" = cut ] && line="cut $place"
		printf '%s\n' "at 1ms until 20ms $line" 'seed 11' >"$dir/f"
		arrives "wires, $line" -n 2 --hosts local,local "$task" rounds 60
	done
done

# Deaths name what died; in virtual time at the same moment in every run.
for what in 'task 1' 'node 1'; do
	printf '%s\n' "at 50us kill $what" >"$dir/f"
	ends "virtual, kill $what" 'task 1.*(died|signal 9|killed)' --clock virtual --shape 2x1x1x1x1 "$task" busy
	first=$(grep -o 'virtual time.*' "$dir/err")
	ends "virtual, kill $what, again" 'task 1.*(died|signal 9|killed)' --clock virtual --shape 2x1x1x1x1 "$task" busy
	[ "$(grep -o 'virtual time.*' "$dir/err")" = "$first" ] || fail "virtual, kill $what: two runs differ: $first, then $(grep -o 'virtual time.*' "$dir/err")"
	printf '%s\n' "at 20ms kill $what" >"$dir/f"
	ends "real, kill $what" 'task 1.*(died|signal 9|killed)' --fabric torus --shape 2x1x1x1x1 "$task" busy
done
printf '%s\n' 'at 20ms kill host 1' >"$dir/f"
ends "kill host 1" 'host|local 1' -n 2 --hosts local,local "$task" busy
finish
