#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tests/pami/pami_covered.txt names a test for each function of pami.h and each rule, and all of them are there.
set -u
tests=$QT_SOURCE/tests
bad=0

fail() {
	echo "FAIL: $*"
	bad=1
}

# Every prototype, once.
for name in $(sed 's://.*::; s:/\*.*\*/::; /^[[:space:]]*\*/d; /^#/d' "$QT_SOURCE/pami/pami.h" |
	grep -oE '\bPAMI_[A-Z][A-Za-z]*_?[a-zA-Z_]*\(' | tr -d '(' | sort -u); do
	grep -q "^$name " "$tests/pami/pami_covered.txt" || fail "$name of pami.h has no test in pami_covered.txt"
done
# Every prototype has a comment right before it, and every symbol of an extension its line.
missing=$(awk '/^[a-z].*[ *]PAMI_[A-Z][A-Za-z_]*\(/ && !/^typedef/ { n++; if (before !~ /\*\/$/) print $0 }
	NF { before = $0 } END { if (n < 66) print "only " n " prototypes" }' "$QT_SOURCE/pami/pami.h")
[ -z "$missing" ] || fail "no comment before: $missing"
symbols=$(sed -nE 's/^[[:space:]]*\{ ?"([a-z0-9_]+)", .*/\1/p' "$QT_SOURCE"/pami/ext/*.c)
[ "$(wc -w <<<"$symbols")" -ge 10 ] || fail "extensions: found only these symbols in pami/ext: $symbols"
for symbol in $symbols; do
	sed -n '/^ \* Open an extension by its exact name/,/^ \*\//p' "$QT_SOURCE/pami/pami.h" | grep -qw "$symbol" || fail "extensions: $symbol is not described"
done
names=$(sed -nE 's/.*struct pami_ext pami_ext_[a-z]* = \{ ?"([A-Za-z_]*)".*/\1/p' "$QT_SOURCE"/pami/ext/*.c)
[ -n "$names" ] || fail "extensions: no names found in pami/ext"
for name in $names; do
	grep -qw "$name" "$QT_SOURCE/pami/pami.h" || fail "extensions: $name is not described"
done
for rule in $(seq 15); do
	grep -q "^R$rule " "$tests/pami/pami_covered.txt" || fail "rule R$rule has no test"
done

# Every place: the file, the function, and for PAMI functions a call in its body.
lines=0
while read -r what file function; do
	lines=$((lines + 1))
	[ -f "$tests/$file" ] || { fail "$what: no tests/$file"; continue; }
	body=$(awk -v f="$function" '$0 ~ "^[a-z].*[ *]" f "\\(" && !/;$/ { on = 1 } on { print } on && /^}/ { exit }' "$tests/$file")
	[ -n "$body" ] || { fail "$what: no function $function in tests/$file"; continue; }
	case $what in
	PAMI_*) grep -qE "\b$what\)?\(" <<<"$body" || fail "$function in tests/$file does not call $what" ;;
	esac
	grep -q "'$(basename "$file" .c)'\|/$(basename "$file")" "$tests/meson.build" || fail "tests/$file is not in tests/meson.build"
done < <(grep -v '^#\|^$' "$tests/pami/pami_covered.txt")
[ "$lines" -gt 90 ] || fail "only $lines lines in pami_covered.txt"
echo "$lines places looked at"
exit $bad
