#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# torus lab: each lab's check refuses the program that the lab begins with, says why, and accepts the solution in tests/labs.
set -u
PATH=$PATH:$QT_BUILD/bench # net_load
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fails=0
fail() {
	echo "FAIL: $*"
	fails=$((fails + 1))
}
expect() { # expect STATUS REGEX WORDS...: torus lab WORDS... ends with this status and says that
	local want=$1 regex=$2 status
	shift 2
	torus lab "$@" >"$dir/out" 2>&1 </dev/null
	status=$?
	[ "$status" = "$want" ] && grep -Eq -- "$regex" "$dir/out" || fail "torus lab $*: status $status, not $want with '$regex': $(tail -n 3 "$dir/out")"
}

expect 0 '^  1: ' # the list
[ "$(grep -cE '^  [1-9]: ' "$dir/out")" = 9 ] || fail "not nine labs: $(cat "$dir/out")"
expect 2 "there is no lab '10'" 10
expect 2 'usage|Usage' --check
expect 2 'No such file' 1 --check /no/such
for n in 1 2 3 4 5 6 7 8 9; do
	expect 0 "^# Lab $n: " "$n"
	expect 0 "has what lab $n begins with" "$n" --start "$dir/$n"
	expect 1 "^lab $n: not yet: .*step [1-9]" "$n" --check "$dir/$n"
	[ "$(wc -l <"$dir/out")" = 1 ] || fail "lab $n: more than one line is missing: $(cat "$dir/out")"
	cp "$QT_SOURCE/tests/labs/$n"/*.c "$dir/$n"
	cp "$QT_SOURCE/tests/labs/$n/answers" "$dir/$n"
	expect 0 "^lab $n: passed: " "$n" --check "$dir/$n"
	# What the text shows of a check that passes is what it says.
	said=$(cat "$dir/out")
	[ "$n" = 9 ] || grep -qF "    $said" "$QT_SOURCE"/docs/labs/$n-*/README.md || fail "the text of lab $n does not show: $said"
	expect 0 'is there already and stays' "$n" --start "$dir/$n"
done
# An open question, a wrong answer, and a program that does not compile.
cp "$QT_SOURCE"/docs/labs/9-wire/start/answers "$dir/9"
expect 1 '^lab 9: not yet: answers: sees is still open \(step 5' 9 --check "$dir/9"
sed -i 's/^hop_ns.*/hop_ns = 40/' "$dir/1/answers"
expect 1 'not yet: answers: hop_ns is not 40 \(step 2' 1 --check "$dir/1"
echo 'int x = ;' >>"$dir/1/message.c"
expect 1 'not yet: message.c does not compile' 1 --check "$dir/1"
# Undo what the wrong answers have changed; below, the texts are compared with what these programs print.
cp "$QT_SOURCE"/tests/labs/1/*.c "$QT_SOURCE/tests/labs/1/answers" "$dir/1"
# make, as the texts say; without a torus in PATH it says what to do; lab 9 needs no library.
(cd "$dir/2" && make >"$dir/out" 2>&1 && [ -x hotspot ]) || fail "make: $(tail -n 3 "$dir/out")"
mkdir "$dir/alone"
cp "$QT_SOURCE/docs/labs/common/Makefile" "$QT_SOURCE/docs/labs/common/lab.h" "$dir/2/hotspot.c" "$dir/9/wire.c" "$dir/alone"
(cd "$dir/alone" && PKG_CONFIG_LIBDIR=/nowhere make -k TORUS=/nowhere/ >"$dir/out" 2>&1)
grep -q '^there is no libpami: put the directory of torus into PATH' "$dir/out" || fail "make without torus: $(cat "$dir/out")"
[ -x "$dir/alone/wire" ] || fail "make of lab 9 without torus: $(cat "$dir/out")"
[ "$fails" = 0 ] && { python3 "$QT_SOURCE/tests/tools/lab_texts.py" "$QT_SOURCE" "$dir" || fails=1; }
[ "$fails" = 0 ] && echo "all passed"
exit $((fails > 0))
