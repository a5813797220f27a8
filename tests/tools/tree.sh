#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Rules of the tree that a compiler does not see: includes point down the layers, one SPDX line a
# file, no file too long to read, every C file formatted by .clang-format.
set -u
cd "$QT_SOURCE" || exit 1
failures=0

bad()
{
	echo "$*"
	failures=$((failures + 1))
}

layers="drivers emu mu muspi pami armci gasnet agas ofi"
folders="$layers tools bench tests"
sources=$(find $folders -type f \( -name '*.[ch]' -o -name '*.def' -o -name '*.h.in' \))

# A file includes what has a lower or the same rank; only tools, bench and tests include each other's files.
found=$(grep -HE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"[a-z]+/' $sources | awk -F '[:"/]' '
	BEGIN {
		split("drivers 1 emu 2 mu 3 pami 4 muspi 4 armci 5 gasnet 5 agas 5 ofi 5 tools 9 bench 9 tests 9", r, " ")
		for (i = 1; i in r; i += 2) rank[r[i]] = r[i + 1]
	}
	{
		file = $0; sub(/:.*/, "", file)
		to = $0; sub(/^[^"]*"/, "", to); sub(/\/.*/, "", to)
		if (rank[to] > rank[$1]) print file " includes " to "/: includes point down"
	}')
[ -z "$found" ] || bad "$found"
found=$(wc -l $sources | awk '$2 != "total" && $2 != "pami/pami.h" && $2 != "armci/armci.h" && $1 > 1000 {
	print $2 " has " $1 " lines; 1000 are enough for one object" }')
[ -z "$found" ] || bad "$found" # pami.h and armci.h are one header each, as their users know them
found=$(awk 'FNR == 1 { heads[FILENAME] = 0 }
	FNR <= 5 && /SPDX-License-Identifier: BSD-3-Clause/ { heads[FILENAME]++ }
	END { for (f in heads) if (heads[f] != 1) print f ": " heads[f] " SPDX lines in its head, expected 1" }' \
	$sources $(find $folders -name meson.build -o -name '*.sh' -o -name '*.py') meson.build)
[ -z "$found" ] || bad "$found"
# Assertions of tests are those of tests/harness/check.h.
found=$(grep -nE '\bCU_[A-Z]\w*|CUnit/' -r tests --include='*.[ch]' | grep -v '^tests/harness/')
[ -z "$found" ] || bad "$found: use CHECK or REQUIRE of tests/harness/check.h"
# Atomic accesses have their order in the name; headers that users include cannot use ours.
found=$(grep -rn '__atomic_' $folders --include='*.[ch]' | grep -vE '^(drivers/base/atomic\.h|muspi/include/|pami/hwi/|gasnet/gasnet(ex|_tools)\.h)' | head -5)
[ -z "$found" ] || bad "$found: use drivers/base/atomic.h"
# Every test that tests/jobs.txt names is there.
for name in $(sed -n 's/^\[\(.*\)\]$/\1/p' tests/jobs.txt); do
	grep -qE "'($name|${name#guest_}|${name#spi_})'" tests/meson.build || bad "tests/jobs.txt has jobs for $name, which is no test"
done
# Settings have one parser and one table, which the documentation is made from.
bad_reads=$(grep -nE 'getenv\(("(QUINTORUS|PAMI|MUSPI|ARMCI|TGEX)_|MU_ENV)' -r $layers tools)
[ -z "$bad_reads" ] || bad "$bad_reads: add a row to drivers/base/settings.def and read that"
# The tree cites only pages that ship with it. This script spells the names of others out, so it skips itself.
foreign='\b(design\.md|style\.md|spec/[a-z-]+\.md|(mu|pami|armci|figures|gasnet-ex|agas)\.md)|spec (mu|pami|armci)\b'
foreign="$foreign|design,? decision [0-9]|interface specification|[Ss]ource: sections? [0-9]"
bad_cites=$(grep -nIE -r "$foreign" $folders docs ./*.md ./*.build |
	grep -v '^tests/tools/tree\.sh:' | head -5)
[ -z "$bad_cites" ] || bad "$bad_cites: cite a page of docs/ instead"
# Tags of published figures are explained where people find them.
tags=$(grep -rhoIE '\b(pami|bgq|armci|gex)-[ft][0-9]+\b' $folders docs ./*.md | sort -u)
for tag in $tags; do
	grep -q "^| $tag |" docs/references.md || bad "docs/references.md does not explain $tag"
done
for f in $(grep -rlIE '\b(pami|bgq|armci|gex)-[ft][0-9]+\b' $layers tools); do
	grep -q 'docs/references\.md' "$f" || bad "$f uses a tag of a figure and does not name docs/references.md"
done
# clang-format does not break comments (it would join the lines of lists), so their length is checked here.
found=$(echo "$sources" | grep '\.[ch]$' | python3 -c 'import re, sys
for path in sys.stdin.read().split():
    for number, line in enumerate(open(path), 1):
        if len(line.expandtabs(8)) > 101 and re.search(r"/\*|^\s*\*", line):
            print(f"{path}:{number}: a comment longer than 100 columns")')
[ -z "$found" ] || bad "$found"
# Another version of clang-format formats differently, so only version 14 may judge.
if clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
	clang-format --dry-run -Werror $(echo "$sources" | grep '\.[ch]$') 2>/tmp/quintorus-format.$$ ||
		bad "$(grep -o '^[^:]*:[0-9]*' /tmp/quintorus-format.$$ | head -5 | xargs): run clang-format -i on the file"
	rm -f /tmp/quintorus-format.$$
else
	echo "clang-format 14 is not installed, so the format of the sources is not checked"
fi
echo "$(echo "$sources" | wc -l) sources looked at"
[ "$failures" = 0 ]
