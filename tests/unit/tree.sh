#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Rules of the tree that a compiler does not see: includes point down the layers, one SPDX line a
# file, no file too long to read.
set -u
cd "$QT_SOURCE" || exit 1
failures=0

bad()
{
	echo "$*"
	failures=$((failures + 1))
}

rank() # layer: what it may include has a lower or the same number
{
	case $1 in
	drivers) echo 1 ;; emu) echo 2 ;; mu) echo 3 ;; pami) echo 4 ;; armci) echo 5 ;;
	tools | bench | tests) echo 9 ;;
	*) echo 0 ;;
	esac
}

sources=$(find drivers emu mu pami armci tools bench tests -type f \( -name '*.[ch]' -o -name '*.def' -o -name '*.h.in' \))
for f in $sources; do
	from=$(rank "${f%%/*}")
	for i in $(sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"\([a-z]*\)\/.*/\1/p' "$f" | sort -u); do
		to=$(rank "$i")
		[ "$to" -le "$from" ] || bad "$f ($from) includes $i/ ($to): includes point down"
		[ "$from" = 9 ] || [ "$to" != 9 ] || bad "$f includes $i/"
	done
	case $f in pami/pami.h | armci/armci.h) continue ;; esac # one header each, as their users know them
	lines=$(wc -l <"$f")
	[ "$lines" -le 900 ] || bad "$f has $lines lines; 900 are enough for one object"
done
for f in $sources $(find drivers emu mu pami armci tools bench tests -name meson.build -o -name '*.sh' -o -name '*.py') meson.build; do
	n=$(head -5 "$f" | grep -c 'SPDX-License-Identifier: BSD-3-Clause')
	[ "$n" = 1 ] || bad "$f: $n SPDX lines in its head, expected 1"
done
echo "$(echo "$sources" | wc -l) sources looked at"
[ "$failures" = 0 ]
