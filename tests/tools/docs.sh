#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The documents agree with the product: generated pages are current, torus settings prints valid JSON
# with every row, manual pages render and know every option, and files that documents name exist.
set -u
cd "$QT_SOURCE" || exit 1
failures=0

bad()
{
	echo "$*"
	failures=$((failures + 1))
}

docs/generate --check "$QT_BUILD" || bad "docs/settings.md"
tests/prove --check || bad "tests/proofs.md"
rows=$(grep -c '^SETTING(' drivers/base/settings.def)
printed=$(QUINTORUS_HOST='a "b\' torus settings --json | python3 -c 'import json, sys
rows = json.load(sys.stdin)
assert [r["set"] for r in rows if r["name"] == "QUINTORUS_HOST"] == ["a \"b\\"]
print(len(rows))') || bad "torus settings --json is not what it should be"
[ "$rows" = "$printed" ] || bad "settings.def has $rows rows, torus settings --json prints $printed"
torus settings eager | grep -q 'QUINTORUS_EAGER_NEAR' || bad 'torus settings eager: QUINTORUS_EAGER_NEAR is missing'

for page in man/*.[17]; do
	if command -v groff >/dev/null; then
		said=$(groff -man -Tutf8 -ww "$page" 2>&1 >/dev/null)
		[ -z "$said" ] || bad "$page: $said"
	fi
	if command -v mandoc >/dev/null; then
		said=$(mandoc -T lint -W warning "$page" 2>&1)
		[ -z "$said" ] || bad "$page: $said"
	fi
done
for option in $(torus run --help | grep -oE -- '(^|[ ,])--[a-z-]*[a-z]' | tr -d ' ,' | sort -u); do
	grep -qF -- "${option//-/\\-}" man/torus-run.1 || bad "man/torus-run.1 does not know $option"
done
for command in $(torus --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
	grep -q "^\.B torus $command" man/torus.1 || bad "man/torus.1 does not know torus $command"
done
for option in $(sed 's/\\-/-/g' man/torus-run.1 | grep -oE -- '--[a-z][a-z-]*[a-z]' | sort -u); do
	torus run --help | grep -q -- "$option" || bad "man/torus-run.1 has $option, which torus run does not know"
done
for command in $(torus --help | sed -n 's/^  \([a-z]*\) .*/\1/p' | grep -vx run); do
	pages=man/torus.1
	case $command in top | stat) pages=man/torus-top.1 ;; esac
	for option in $(torus "$command" --help </dev/null | grep -oE -- '^ +(-[a-z], )?--[a-z][a-z-]*[a-z]' | grep -oE -- '--.*' | grep -vx -- --help); do
		grep -qF -- "${option//-/\\-}" $pages || bad "$pages does not know torus $command $option"
	done
done
for name in $(grep -ohE '\b(QUINTORUS|PAMI|MUSPI)_[A-Z_]+[A-Z]\b' man/*); do
	grep -q "^SETTING($name," drivers/base/settings.def || bad "man/: $name is no setting"
done

# Files in `code` and targets of links; a folder's README names files beside it.
python3 - README.md CONTRIBUTING.md CHANGELOG.md docs/*.md docs/*/*.md docs/labs/*/*.md ./*/README.md <<'EOF' || bad "documents name what is not there"
import glob, os, re, sys

LAYERS = "drivers|emu|mu|pami|armci|gasnet|agas|ofi|tools|bench|tests|docs|man"
files = [os.path.join(d, f)[2:] for d, _, names in os.walk(".") for f in names if "/build" not in d and "/.git" not in d]
missing = 0
for page in sys.argv[1:]:
    text = open(page).read()
    here = os.path.dirname(page)
    names = re.findall(r"`((?:%s)/[\w./*\[\]-]+)`" % LAYERS, text)
    names += re.findall(r"`([\w/*\[\]-]+\.(?:c|h|def|sh|\[ch\]))`", text)
    for name in set(names):
        if "NAME" in name:  # the reader's own file
            continue
        # Named from the root, from the page's folder, or by the end of a path.
        if not glob.glob(name) and not glob.glob(os.path.join(here, name)) and \
                not any(f.endswith("/" + name) for f in files) and not glob.glob(os.path.join(here, "*", name)):
            print(f"{page}: {name} is not there")
            missing = 1
    for target, anchor in re.findall(r"\]\(([\w./-]+)(?:#([\w-]+))?\)", text):
        path = os.path.join(here, target)
        if not os.path.exists(path):
            print(f"{page}: {target} is not there")
            missing = 1
        elif anchor and anchor not in {re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in re.findall(r"^#+ +(.*)$", open(path).read(), re.M)}:
            print(f"{page}: {target} has no section {anchor}")
            missing = 1
        if page.startswith("docs/labs/") and target.endswith(".md") and "labs" not in os.path.relpath(path) and \
                f"'{os.path.relpath(path)}'" not in open("meson.build").read():
            print(f"{page}: {target} is not installed beside the labs (meson.build)")
            missing = 1
sys.exit(missing)
EOF

# A reader finds every source file by name: in a README of its layer, in README.md, or in docs/.
python3 - <<'EOF' || bad "no README names a source file"
import fnmatch, glob, re, sys

missing = 0
for layer in "drivers emu mu muspi pami armci gasnet agas ofi tools bench".split():
    named = set()
    for page in ["README.md", "docs/where.md", "docs/architecture.md", *glob.glob(f"{layer}/**/README.md", recursive=True)]:
        for word in re.findall(r"[\w/*-]+\.(?:\[ch\]|[ch]\b)", open(page).read()):
            named.add(re.sub(r"\.(h|\[ch\])$", ".c", word))
    for path in sorted(glob.glob(f"{layer}/**/*.c", recursive=True)):
        if path not in named and not any(fnmatch.fnmatch(path, "*/" + word) for word in named):
            print(f"{path}: no README of {layer}/ names it")
            missing = 1
sys.exit(missing)
EOF

# docs/where.md names functions that are in their files.
python3 - <<'EOF' || bad "docs/where.md names what is not there"
import re, sys

wrong = rows = 0
for line in open("docs/where.md"):
    row = re.match(r"\| .* \| `([^`]+)` \| `(\w+)` \|", line)
    if row:
        rows += 1
        # The function is defined in the file, not only declared: its parameters are followed by a body.
        if not re.search(rf"^\w[^\n;]*\b{row[2]}\([^;{{}}]*\)\s*{{", open(row[1]).read(), re.M):
            print(f"{row[1]}: no function {row[2]}")
            wrong = 1
sys.exit(wrong or rows < 20)
EOF

# A bench that docs/references.md names for a figure knows the figure.
python3 - <<'EOF' || bad "docs/references.md: benches and figures"
import re, sys

wrong = 0
for line in open("docs/references.md"):
    tag = re.match(r"\| ((?:pami|bgq|armci|gex)-([ft]\d+)) \|", line)
    if not tag:
        continue
    run = line.split("|")[4]
    programs = re.findall(r"`(bench/figures/\w+|abench \w+|spmv)`", run)
    if not programs and "the same" not in run:
        print(f"{tag[1]}: no bench runs it")
        wrong = 1
    for program in programs:
        source = program if "/" in program else {"a": "bench/micro/armci_bench.c", "s": "bench/apps/spmv.c"}[program[0]]
        if not re.search(rf"\b({tag[1]}|{tag[2]})\b", open(source).read()):
            print(f"{source} does not know {tag[1]}")
            wrong = 1
sys.exit(wrong)
EOF

# The table of the newest numbers has only numbers of the files that it names, and right ratios.
python3 - <<'EOF' || bad "bench/README.md: the table of the newest numbers"
import re, sys

number = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
wrong = rows = 0
for line in open("bench/README.md"):
    cells = [c.strip() for c in line.strip().strip("|").split("|")]
    source = re.search(r"\((results/[\w.-]+)\)", cells[-1])
    if len(cells) != 7 or not source:
        continue
    rows += 1
    there = {float(n) for n in re.findall(number, open("bench/" + source[1]).read())}
    first = lambda cell: float(re.match(number, cell)[0]) if cell else None
    ours, limit, to_limit, peer, to_peer = map(first, cells[1:6])
    for value in (ours, limit, peer):
        if value is not None and value not in there:
            print(f"{cells[0]}: {value} is not in {source[1]}")
            wrong = 1
    for other, ratio in ((limit, to_limit), (peer, to_peer)):
        if (other is None) != (ratio is None) or other and abs(ours / other / ratio - 1) > 0.015:
            print(f"{cells[0]}: {ours} / {other} is not {ratio}")
            wrong = 1
sys.exit(wrong or rows < 20)
EOF
[ "$failures" = 0 ]
