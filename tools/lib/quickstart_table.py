#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Print runs of qbench (JSON lines) side by side, a line per measurement and task.

usage: quickstart_table.py TITLE=FILE...    the tasks and rows are those of the first
"""
import json
import sys

# What a row is called, and at which size it says something: the smallest or the largest measured.
ROWS = [
    ("latency", "immediate", min, "half round trip, Send_immediate"),
    ("rate", "immediate", min, "message rate, window 64"),
    ("fifo", "send", max, "bandwidth, memory FIFO (Send)"),
    ("rdma", "put latency", min, "RDMA write, latency"),
    ("rdma", "put", max, "RDMA write, bandwidth"),
    ("rdma", "get latency", min, "RDMA read, latency"),
    ("rdma", "get", max, "RDMA read, bandwidth"),
]
FACTS = ("cpu", "cores", "kernel", "date", "commit", "tasks", "clock", "driver")


def load(path):
    facts, rows = {}, []
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.startswith("{"):
                d = json.loads(line)
                facts.update(d.get("facts", {}))
                if "bench" in d:
                    rows.append(d)
    return facts, rows


def size(n):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if n >= unit and n % unit == 0:
            return f"{n // unit} {name}"
    return f"{n} B"


def pick(rows, to, bench, variant, which):
    found = [r for r in rows if (r["bench"], r["variant"], r["to"]) == (bench, variant, to)]
    return which(found, key=lambda r: r["bytes"]) if found else None


def cell(r):
    if not r:
        return f"{'-':>8}"
    return f"{r['median']:8.3g} {r['unit']:<4} ({r['low']:.3g} .. {r['high']:.3g})"


def main():
    runs = [(a.split("=", 1)[0], *load(a.split("=", 1)[1])) for a in sys.argv[1:]]
    facts, rows = runs[0][1:]
    if not rows:
        print("no results in", sys.argv[1])
        return 1
    for name in FACTS:
        print(f"  {name + ':':8} {facts.get(name, 'unknown')}")
    wrong = sum(r["check"] == "BAD" for _, _, rs in runs for r in rs)
    for to in sorted({r["to"] for r in rows if r["bench"] == "latency"}):
        hops = next(r["hops"] for r in rows if r["to"] == to)
        head = f"task 0 to task {to}, {hops} hop{'s' if hops != 1 else ''}"
        print(f"\n  {head:32} {'':>6}  " + "  ".join(f"{title:<34}" for title, _, _ in runs))
        for bench, variant, which, name in ROWS:
            cells = [pick(rs, to, bench, variant, which) for _, _, rs in runs]
            if cells[0]:
                print(f"  {name:32} {size(cells[0]['bytes']):>6}  " + "  ".join(f"{cell(c):<34}" for c in cells))
    print(f"\n  medians (low .. high); data of every RDMA size: {'WRONG' if wrong else 'checked, right'}")
    return 1 if wrong else 0


sys.exit(main())
