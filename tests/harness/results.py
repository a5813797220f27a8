#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Count the results of meson's testlog.json: one per TAP case, else one per test.

usage: results.py TESTLOG.json [EXPECTED]
Prints what failed, then what was skipped by reason, and last "PASSED FAILED SKIPPED". Tests missing from
the log (EXPECTED is how many there should be) count as failed.
"""
import json
import re
import sys

skipped_by_reason = {}
TAP = re.compile(r"^(not )?ok\b[ 0-9-]*(.*)$")


def skip(name, reason):
    name = name.rpartition(" / ")[2]
    skipped_by_reason.setdefault(reason.strip(), []).append(name)


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


def main():
    total, seen = [0, 0, 0], 0
    with open(sys.argv[1], encoding="utf-8", errors="replace") as log:
        for line in log:
            total = [a + b for a, b in zip(total, count(json.loads(line)))]
            seen += 1
    missing = int(sys.argv[2]) - seen if len(sys.argv) > 2 else 0
    if missing > 0:
        print(f"  failed: {missing} tests were not run to their end")
        total[1] += missing
    for reason, names in skipped_by_reason.items():
        print(f"  skipped: {reason}: {', '.join(names)}")
    print(*total)


main()
