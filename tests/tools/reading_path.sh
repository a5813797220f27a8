#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The reading path of README.md: each function that it names is in the file that it names, and an
# 8-byte message of a job that is started so enters it. Within a node, what the sending call enters is named.
. "$QT_SOURCE/tests/harness/run.bash"
TASK=$(realpath "$task")
export TASK
cd "$QT_SOURCE" || exit 1
python3 - <<'PYTHON'
import os, re, subprocess, sys

text = open("README.md").read()
text = text[text.index("## Reading path"):text.index("\n## ", text.index("## Reading path") + 1)]
parts = re.split(r"\n\*\*.*?\(`(torus run [^`]*)`\)", text)[1:]
failures = 0


def fail(sentence):
    global failures
    failures += 1
    print("FAIL:", sentence)


if len(parts) != 6:
    fail("README.md: expected three ways, each with its torus run command")
for command, steps in zip(parts[::2], parts[1::2]):
    steps = steps.split("\n\nThe datasheets")[0]
    named = re.findall(r"`(\w+)\(\)` in `([\w/.]+)`", steps)
    if len(named) != steps.count("()`"):
        fail(f"{command}: a function without the file that it is in")
    for function, path in named:
        if not re.search(rf"^\w.*\b{function}\(", open(path).read(), re.M):
            fail(f"{function}() is not in {path}")
    # A busy machine may let the engine thread receive, on another way: then once more.
    missing, lines = [], []
    for attempt in range(5):
        run = subprocess.run(command.split() + ["--tag", "--timeout", "100", os.environ["TASK"]],
                             capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if run.returncode == 77:
            print(run.stdout)
            sys.exit(77)
        if run.returncode:
            fail(f"{command}: status {run.returncode}: {run.stderr}")
            break
        lines = [line.split("] ", 1) for line in run.stdout.splitlines()]
        entered = {line[1].removeprefix("other thread: ") for line in lines}
        missing = [function for function, _ in named if function not in entered]
        if not missing:
            break
    if missing:
        fail(f"{command}: the message does not enter {', '.join(missing)}")
    if command == parts[0]:
        sender = [line[1] for line in lines if line[0] == "[0" and not line[1].startswith("other thread: ")]
        call = sender[sender.index("PAMI_Send_immediate"):sender.index("PAMI_Context_advance")]
        # A receiver that sleeps is woken.
        unnamed = [f for f in call if f not in dict(named) and f != "drv_wake_now"]
        if unnamed:
            fail(f"PAMI_Send_immediate enters {', '.join(unnamed)}, which README.md does not name")
sys.exit(failures > 0)
PYTHON
status=$?
[ "$status" = 77 ] && exit 77
[ "$status" = 0 ] || fail "README.md, reading path"
finish
