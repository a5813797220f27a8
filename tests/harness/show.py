#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Show what of meson test --print-errorlogs a reader needs: each failure with its reason, and that it goes on.

usage: meson test ... | show.py NAME FAILURES [--all]
Reads meson's output, prints a line for every 40 tests that ended well (--all: a line for each), and for each that
did not its line and at most LINES of its lines: those that look like a reason, else its last ones. What failed is also
appended to the file FAILURES, shorter, for the end of the run.
"""
import re
import sys
import time

TEST = re.compile(r"^ *(\d+)/(\d+) .* (OK|SKIP|FAIL|TIMEOUT|ERROR|EXPECTEDFAIL|UNEXPECTEDPASS|INTERRUPT)\b")
REASON = re.compile(
    r"^not ok|does not hold|failed: |error: |ERROR|runtime error|WARNING: |SUMMARY|^FAIL|status [1-9]"
    r"|^ *(Previous|Read|Write|Atomic) |^ *#[0-5] "
)
# What tests/harness/t.c prints of a case that failed: each condition, then how to repeat the case.
CASE = re.compile(r"^\S+\.[ch]:\d+: \w+: |^\w+ failed; repeat with: ")
BEFORE_CASE = 4  # A case prints the last step of each side before the condition.
LINES, SUMMARY_LINES, WIDTH = 14, 8, 300
AFTER_FAIL = 4  # A test in bash prints what the job said after its line FAIL.


def tell(test, lines, failures):
    """Print the lines of a failed test that explain it, and append the first of them to the open file failures."""
    lines = [l for l in lines if l and not re.match(">>> |―", l)]
    found, last_fail = [], -AFTER_FAIL - 1
    for i, line in enumerate(lines):
        last_fail = i if line.startswith("FAIL") else last_fail
        has_case = any(CASE.match(l) for l in lines[i : i + BEFORE_CASE + 1])
        if has_case or i - last_fail <= AFTER_FAIL or (REASON.search(line) and "warning: " not in line):
            found.append(line)
    shown = ["      " + line[:WIDTH] for line in (found[:LINES] if found else lines[-6:])]
    print(*shown, sep="\n")
    print(test, *shown[:SUMMARY_LINES], sep="\n", file=failures, flush=True)


def main():
    name, show_all = sys.argv[1], "--all" in sys.argv[3:]
    failures = open(sys.argv[2], "a", encoding="utf-8")
    start = time.monotonic()
    has_failed, test, lines = False, "", []
    for line in sys.stdin:
        line = line.rstrip()
        m = TEST.match(line)
        if not m and not re.match("(Ok|Summary of Failures): *", line):
            lines.append(line)
            continue
        if has_failed:
            tell(test, lines, failures)
        if not m:
            break
        has_failed, test, lines = m.group(3) not in ("OK", "SKIP", "EXPECTEDFAIL"), f"{name}: {line.strip()}", []
        if has_failed or show_all:
            print(line)
        elif int(m.group(1)) % 40 == 0:
            print(f"{name}: {m.group(1)} of {m.group(2)} tests have ended, {time.monotonic() - start:.0f} s")
        sys.stdout.flush()
    for _ in sys.stdin:  # meson must not meet a closed pipe
        pass


main()
