#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Print two runs of qbench (JSON lines: fabric express, fabric torus) as one table.

usage: quickstart_table.py EXPRESS TORUS
"""
import json
import sys


def load(path):
    facts, rows = {}, {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            if not line.startswith("{"):
                continue
            d = json.loads(line)
            if "facts" in d:
                facts = d["facts"]
            else:
                rows[(d["bench"], d["variant"], d["bytes"], d["to"])] = d
    return facts, rows


def size(n):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if n >= unit and n % unit == 0:
            return f"{n // unit} {name}"
    return f"{n} B"


NAMES = {
    ("latency", "immediate"): "half round trip, Send_immediate",
    ("latency", "send"): "half round trip, Send",
    ("rate", "immediate"): "message rate, window 64",
    ("fifo", "send"): "bandwidth, memory FIFO (Send)",
    ("rdma", "put latency"): "RDMA write, latency",
    ("rdma", "get latency"): "RDMA read, latency",
    ("rdma", "put"): "RDMA write, bandwidth",
    ("rdma", "get"): "RDMA read, bandwidth",
}


def main():
    (facts, express), (_, torus) = load(sys.argv[1]), load(sys.argv[2])
    if not express:
        print("no results in", sys.argv[1])
        return 1
    for name in ("cpu", "cores", "kernel", "date", "commit", "tasks", "driver"):
        print(f"  {name + ':':8} {facts.get(name, 'unknown')}")
    print("  Medians (low .. high). express: source to destination in one step; torus: hop by hop "
          "through every router.\n")
    print(f"  {'':33} {'size':>7} {'task':>4} {'hops':>4}  {'express':>32}  {'torus':>32}")
    wrong = 0
    for key, e in express.items():
        name = NAMES.get(key[:2])
        cells = []
        for d in (e, torus.get(key)):
            spread = f"({d['low']:.3g} .. {d['high']:.3g})" if d else ""
            cells.append(f"{d['median']:8.3g} {d['unit']:<4} {spread:<18}" if d else f"{'-':>8}")
            wrong += bool(d and d["check"] == "BAD")
        if name:
            print(f"  {name:33} {size(key[2]):>7} {key[3]:>4} {e['hops']:>4}  {cells[0]:>32}  {cells[1]:>32}")
    print(f"\n  data of every RDMA size: {'WRONG' if wrong else 'checked, right'}")
    return 1 if wrong else 0


sys.exit(main())
