#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Show what of meson test --print-errorlogs a reader needs: each failure with its reason, and that it goes on.

usage: meson test ... | show.py NAME [--all]
Reads meson's output, prints a line for every 40 tests that ended well (--all: a line for each), and for each that
did not its line and at most LINES of its lines. meson passes on the last 100 lines of a test only; results.py
reads all of them when the run has ended.
"""
import re
import sys
import time

from reasons import pick_reasons

TEST = re.compile(r"^ *(\d+)/(\d+) .* (OK|SKIP|FAIL|TIMEOUT|ERROR|EXPECTEDFAIL|UNEXPECTEDPASS|INTERRUPT)\b")
LINES = 14


def main():
    name, show_all = sys.argv[1], "--all" in sys.argv[2:]
    start = time.monotonic()
    has_failed, lines = False, []
    for line in sys.stdin:
        line = line.rstrip()
        m = TEST.match(line)
        if not m and not re.match("(Ok|Summary of Failures): *", line):
            lines.append(line)
            continue
        if has_failed:
            print(*pick_reasons(lines, LINES), sep="\n")
        if not m:
            break
        has_failed, lines = m.group(3) not in ("OK", "SKIP", "EXPECTEDFAIL"), []
        if has_failed or show_all:
            print(line)
        elif int(m.group(1)) % 40 == 0:
            print(f"{name}: {m.group(1)} of {m.group(2)} tests have ended, {time.monotonic() - start:.0f} s")
        sys.stdout.flush()
    for _ in sys.stdin:  # meson must not meet a closed pipe
        pass


main()
