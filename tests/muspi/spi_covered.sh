#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tests/muspi/spi_covered.txt names a test for each function of the MU's headers, which calls it in
# the function named there; or says why there is none.
set -u
tests=$QT_SOURCE/tests
list=$tests/muspi/spi_covered.txt
bad=0

fail() {
	echo "FAIL: $*"
	bad=1
}

# Functions, macros with arguments and constructors of the interface.
names=$(find "$QT_SOURCE/muspi/include" -name '*.h' -exec cat {} + | sed 's://.*::; s:/\*.*\*/::; /^[[:space:]]*\*/d; /^[[:space:]]*\/\*/d' |
	grep -oE '\b(MUSPI|Kernel|L2|WU)_[A-Za-z0-9_]+ *\(' | tr -d ' (' | sort -u)
[ "$(wc -w <<<"$names")" -gt 200 ] || fail "only $(wc -w <<<"$names") names found in the headers"
for name in $names; do
	grep -q "^$name " "$list" || fail "$name has no test in spi_covered.txt"
done

lines=0
while read -r name file function why; do
	lines=$((lines + 1))
	grep -qx "$name" <<<"$names" || fail "$name is in no header"
	if [ "$file" = - ]; then # no test: a reason follows
		[ -n "$why" ] || fail "$name: neither a test nor a reason"
		continue
	fi
	[ -f "$tests/$file" ] || {
		fail "$name: no tests/$file"
		continue
	}
	case $file in
	*.sh) body=$(cat "$tests/$file") ;;
	*) body=$(awk -v f="$function" '$0 ~ "^[a-z].*[ *]" f "\\(" && !/;$/ { on = 1 } on { print } on && /^}/ { exit }' "$tests/$file") ;;
	esac
	[ -n "$body" ] || {
		fail "$name: no function $function in tests/$file"
		continue
	}
	grep -qE "\b$name\b" <<<"$body" || fail "$function in tests/$file does not use $name"
done < <(grep -v '^#\|^$' "$list")
echo "$lines names looked at"
exit $bad
