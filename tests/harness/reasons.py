# SPDX-License-Identifier: BSD-3-Clause
"""Pick those lines of a failed test's output that say why it failed."""
import re

REASON = re.compile(
    r"^not ok|does not hold|did not end|failed: |error: |ERROR|runtime error|WARNING: |SUMMARY|^FAIL|status [1-9]"
    r"|^ *(Previous|Read|Write|Atomic) |^ *#[0-5] "
)
# What tests/harness/t.c prints of a case that failed: each condition, then how to repeat the case.
CASE = re.compile(r"^\S+\.[ch]:\d+: \w+: |^\w+ failed; repeat with: ")
BEFORE_CASE = 4  # A case prints the last step of each side before the condition.
AFTER_FAIL = 4  # A test in bash prints what the job said after its line FAIL.
LAST = 6
WIDTH = 300


def pick_reasons(lines, most):
    """Return at most `most` of the lines, indented: those that look like a reason, else the last ones."""
    lines = [l for l in lines if l and not re.match(">>> |―", l)]
    found, last_fail = [], -AFTER_FAIL - 1
    for i, line in enumerate(lines):
        last_fail = i if line.startswith("FAIL") else last_fail
        has_case = any(CASE.match(l) for l in lines[i : i + BEFORE_CASE + 1])
        if has_case or i - last_fail <= AFTER_FAIL or (REASON.search(line) and "warning: " not in line):
            found.append(line)
    return ["      " + line[:WIDTH] for line in (found or lines[-LAST:])[:most]]
