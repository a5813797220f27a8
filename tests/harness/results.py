#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Count the results of meson's testlog.json: one per TAP case, else one per test.

usage: results.py TESTLOG.json [EXPECTED [NAME FAILURES]]
Prints what failed, what was skipped by reason, the slowest tests, and last "PASSED FAILED SKIPPED". Tests missing from
the log (EXPECTED is how many there should be) count as failed. Appends each failed test of the build NAME to the file
FAILURES, with those of its lines that say why.
"""
import json
import re
import sys

from reasons import pick_reasons

LINES = 10
SLOWEST = 12

skipped_by_reason = {}
TAP = re.compile(r"^(not )?ok\b[ 0-9-]*(.*)$")


def short(name):
    return name.rpartition(" / ")[2]


def skip(name, reason):
    skipped_by_reason.setdefault(reason.strip(), []).append(short(name))


def tap_count(test, lines):
    plan = next((int(l[3:]) for l in lines if re.fullmatch(r"1\.\.\d+", l)), None)
    passed = failed = skipped = 0
    for line in lines:
        m = TAP.match(line)
        if not m:
            continue
        name, _, why = m.group(2).partition("# SKIP")
        if m.group(1):
            failed += 1
            print(f"  failed: {test['name']}: {name.strip()}")
        elif why:
            skipped += 1
            skip(f"{test['name']} ({name.strip()})", why)
        else:
            passed += 1
    missing = (plan or 0) - passed - failed - skipped
    if missing > 0:  # it died, or was killed
        print(f"  failed: {test['name']}: {test['result']} after {passed + failed + skipped} of {plan} cases")
        failed += missing
    elif test.get("returncode") and not failed:  # all cases fine, then something broke (a leak, say)
        print(f"  failed: {test['name']}: exit status {test['returncode']} after its last case")
        failed += 1
    return passed, failed, skipped


def count(test):
    out = [l.rstrip() for l in (test.get("stdout") or "").splitlines()]
    if any(re.fullmatch(r"1\.\.\d+", l) for l in out):
        return tap_count(test, out)
    if test["result"] == "SKIP":
        said = [l for l in out + (test.get("stderr") or "").splitlines() if l.strip()]
        skip(test["name"], said[-1] if said else "no reason given")
        return 0, 0, 1
    if test["result"] in ("OK", "EXPECTEDFAIL"):
        return 1, 0, 0
    print(f"  failed: {test['name']}: {test['result'].lower()}")
    return 0, 1, 0


def write_failure(build, test, file):
    lines = [l.rstrip() for stream in ("stdout", "stderr") for l in (test.get(stream) or "").splitlines()]
    print(f"{build}: {test['name']}: {test['result']} after {test.get('duration', 0):.1f} s", file=file)
    print(*pick_reasons(lines, LINES), sep="\n", file=file)


def main():
    total, seconds = [0, 0, 0], {}
    with open(sys.argv[1], encoding="utf-8", errors="replace") as log:
        for line in log:
            test = json.loads(line)
            counts = count(test)
            total = [a + b for a, b in zip(total, counts)]
            seconds[test["name"]] = test.get("duration", 0)
            if counts[1] and len(sys.argv) > 4:
                with open(sys.argv[4], "a", encoding="utf-8") as failures:
                    write_failure(sys.argv[3], test, failures)
    missing = int(sys.argv[2]) - len(seconds) if len(sys.argv) > 2 else 0
    if missing > 0:
        print(f"  failed: {missing} tests were not run to their end")
        total[1] += missing
    for reason, names in skipped_by_reason.items():
        print(f"  skipped: {reason}: {', '.join(names)}")
    slowest = sorted(seconds, key=seconds.get, reverse=True)[:SLOWEST]
    print(f"  slowest: {', '.join(f'{short(name)} {seconds[name]:.0f} s' for name in slowest)}")
    print(*total)


main()
