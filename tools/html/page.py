#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Make a page of one file: page.html with style and scripts in it.

usage: tools/html/page.py --c FILE KIND            a C file with the text before and behind the data
       tools/html/page.py --fill FILE KIND <DATA   the page with an object of JSON in it

KIND is run or bench.
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = {"run": ["common.js", "torus.js", "run.js"], "bench": ["common.js", "bench.js"]}
DATA = "@DATA@"


def read(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as f:
        return f.read()


def page(kind):
    """Return the page with DATA in place of the JSON."""
    script = "\n".join(read(name) for name in SCRIPTS[kind])
    return read("page.html").replace("@STYLE@", read("page.css")).replace("@SCRIPT@", script)


def fill(kind, data):
    """Return the page with data, which JSON can hold."""
    return page(kind).replace(DATA, json.dumps(data).replace("<", "\\u003c"))


def array(name, text):
    data = text.encode()
    lines = [",".join(str(b) for b in data[i:i + 40]) for i in range(0, len(data), 40)]
    return "const char %s[] = {\n%s,0};\n" % (name, ",\n".join(lines))


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("--c", "--fill") or sys.argv[3] not in SCRIPTS:
        print(__doc__, file=sys.stderr)
        return 2
    if sys.argv[1] == "--fill":
        with open(sys.argv[2], "w", encoding="utf-8") as f:
            f.write(fill(sys.argv[3], json.load(sys.stdin)))
        return 0
    before, behind = page(sys.argv[3]).split(DATA)
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        f.write("/* Made by tools/html/page.py. */\n#include \"tools/page.h\"\n")
        f.write(array("page_before", before) + array("page_behind", behind))
    return 0


if __name__ == "__main__":
    sys.exit(main())
