# SPDX-License-Identifier: BSD-3-Clause
"""Compare what torus topo prints as text and as JSON, and both with the rules of docs/hardware.md.

For each case the JSON must be the object that expect() works out from the shape and the rows of the
machine, without the product's code, and the text must be, picture apart, what render() makes of that
JSON. So a key that is wrong, missing or new fails, as does a text that says something else. Then each
value of each object is changed in turn: if the comparison lets one pass, the test fails.
"""
import copy
import functools
import itertools
import json
import math
import os
import re
import subprocess
import sys
import tempfile

LETTERS = "ABCDE"
DIMS = range(5)


class Case:
    """Arguments of torus topo, and what the rules alone do not give."""

    def __init__(self, words, order, *, rows="", file="", rule=(1.5, 3.5, 3, 3), rectangle=None):
        self.words, self.order, self.rows, self.file, self.rule, self.rectangle = words, order, rows, file, rule, rectangle
        shape, *nodes = words.split()
        extents = shape.split("x")
        self.n = [int(x.rstrip("M")) for x in extents[:5]]
        self.tasks = int(extents[5]) if len(extents) > 5 else 1
        self.row = dict(line.replace(" ", "").split("=") for line in file.splitlines())
        self.row.update(x.split("=") for x in rows.split(",") if x)
        mesh = {LETTERS[d] for d in DIMS if extents[d].endswith("M")} | set(self.row.get("mesh", "none")) - set("none")
        self.mesh = "".join(sorted(mesh))
        self.nodes = [self.coordinates(x) for x in nodes]
        self.box = rectangle and [self.coordinates(x) for x in rectangle.split(":")]
        if not nodes and not rectangle and self.count() > 1:
            self.box = [[0] * 5, [n - 1 for n in self.n]]

    def count(self):
        return math.prod(self.n)

    def coordinates(self, text):
        if "," in text:
            return [int(x) for x in text.split(",")]
        rest, x = int(text), []
        for n in reversed(self.n):
            x.insert(0, rest % n)
            rest //= n
        return x

    def number(self, x):
        return functools.reduce(lambda i, d: i * self.n[d] + x[d], DIMS, 0)

    def node(self, x):
        return {"node": self.number(x), "coordinates": x}

    def wraps(self, d):
        return LETTERS[d] not in self.mesh

    def arguments(self, path):
        return (self.words.split() + (["--hw", self.rows] if self.rows else []) + (["--machine", path] if self.file else []) +
                (["--rectangle", self.rectangle] if self.rectangle else []))


# ---- what the rules give ----

def hops_between(case, d, a, b):
    return min(abs(a - b), case.n[d] - abs(a - b)) if case.wraps(d) else abs(a - b)


def facts(case):
    pairs = [[hops_between(case, d, a, b) for a in range(case.n[d]) for b in range(case.n[d])] for d in DIMS]
    cuts = [case.count() // case.n[d] * (2 if case.wraps(d) else 1) for d in DIMS if case.n[d] > 1]
    return {"shape": case.n, "mesh": case.mesh, "processes_per_node": case.tasks, "nodes": case.count(),
            "hops_max": sum(map(max, pairs)), "hops_mean": round(sum(sum(p) / len(p) for p in pairs), 3),
            "links_cut": min(cuts, default=0), "order": case.order}


def direction(case, d, a, b):
    """The sign, hops this way and the other way, and the reason."""
    up = (b[d] - a[d]) % case.n[d]
    down = case.n[d] - up
    if not case.wraps(d):
        return ("+", b[d] - a[d], None, "mesh") if b[d] > a[d] else ("-", a[d] - b[d], None, "mesh")
    if up != down:
        return ("+", up, down, "shorter") if up < down else ("-", down, up, "shorter")
    tie = case.row.get("tie", "parity")
    return "-" if tie == "minus" or tie == "parity" and sum(a) % 2 else "+", up, up, "parity" if tie == "parity" else "tie"


def sets_of_zones(case):
    """The four lists of sets, from the machine or by the default of each zone."""
    length = [n // 2 if case.wraps(d) else n for d, n in enumerate(case.n)]
    groups = itertools.groupby(case.order, lambda letter: length[LETTERS.index(letter)])
    default = [["".join(sorted(g)) for _, g in groups], [LETTERS], list(case.order), ["".join(sorted({x, "E"})) for x in case.order]]
    named = [case.row.get(f"zone{z}", "auto") for z in range(4)]
    return [default[z] if named[z] == "auto" else ["".join(sorted(s)) for s in named[z].split("/")] for z in range(4)]


def open_dimensions(sets, left):
    return next(([LETTERS.index(x) for x in s if left[LETTERS.index(x)]] for s in sets if any(left[LETTERS.index(x)] for x in s)), [])


def count_ways(sets, hops):
    """Follow every order of the hops that the sets allow."""
    @functools.lru_cache(None)
    def ways(left):
        if not any(left):
            return 1
        return sum(ways(tuple(n - (i == d) for i, n in enumerate(left))) for d in open_dimensions(sets, left))
    return ways(tuple(hops))


def dynamic(case, hops, link):
    low, high, inside, outside = case.rule
    a, b = case.nodes
    flexibility = sum(hops_between(case, d, a[d], b[d]) / (case.n[d] // 2 if case.wraps(d) else case.n[d] - 1) for d in range(4) if case.n[d] > 1)
    large = None
    if sum(h > 0 for h in hops) > 1:
        large = inside if low < flexibility < high else outside
    small = int(case.row.get("routing_bytes", 65536))
    first = next(LETTERS.index(x) for x in case.order if hops[LETTERS.index(x)])
    return {"escape": link[first],
            "zones": [{"zone": z, "finishes": sets, "first_hop": [link[d] for d in sorted(open_dimensions(sets, hops))],
                       "ways": count_ways(sets, hops)} for z, sets in enumerate(sets_of_zones(case))],
            "flexibility": round(flexibility, 3), "routing_low": low, "routing_high": high, "routing_in": inside, "routing_out": outside,
            "rendezvous": [{"bytes": small, "zone": None}, {"bytes": small + 1, "zone": None if large == 4 else large}]}


def times(hops, ps):
    router = ps["mu_inject_ps"]
    target = router + hops * ps["hop_ps"]
    last = target + 552 * ps["link_ps_per_byte"]
    return {"hop": ps["hop_ps"] / 1e3, "first_router": router / 1e3, "target": target / 1e3, "last_byte": last / 1e3,
            "memory": (last + ps["mu_receive_ps"]) / 1e3}


def path(case, ps):
    a, b = case.nodes
    here, steps, ways, link, hops = list(a), [], [], [None] * 5, [0] * 5
    for letter in case.order:
        d = LETTERS.index(letter)
        if a[d] == b[d]:
            continue
        sign, hops[d], other, reason = direction(case, d, a, b)
        link[d] = letter + sign
        ways.append({"link": link[d], "from": a[d], "to": b[d], "hops": hops[d], "other_hops": other, "reason": reason})
        for _ in range(hops[d]):
            here[d] = (here[d] + (1 if sign == "+" else -1)) % case.n[d]
            steps.append({"link": link[d], **case.node(list(here))})
    assert here == b
    return {"from": case.number(a), "to": case.number(b), "from_coordinates": a, "to_coordinates": b, "path": steps, "directions": ways,
            "dynamic": dynamic(case, hops, link) if steps else None, "time_ns": times(len(steps), ps) if steps else None}


def members(case, root, order):
    """Each node of the tree but the root: a packet goes up in the first dimension of the order in which it is not at the root's coordinate."""
    low, high = case.box
    if math.prod(high[d] - low[d] + 1 for d in DIMS) > 64:
        return None
    found = []
    for x in itertools.product(*(range(low[d], high[d] + 1) for d in DIMS)):
        d = next((d for d in order if x[d] != root[d]), None)
        if d is None:
            continue
        up = [c + (i == d) * (1 if x[d] < root[d] else -1) for i, c in enumerate(x)]
        found.append({**case.node(list(x)), "level": sum(abs(a - b) for a, b in zip(x, root)), "link": LETTERS[d] + "-+"[x[d] < root[d]],
                      "parent": case.number(up)})
    return sorted(found, key=lambda m: (m["level"], m["node"]))


def tree(case):
    low, high = case.box
    root = [low[d] + (high[d] - low[d] + 1) // 2 for d in DIMS]
    down, up = [root[d] - low[d] for d in DIMS], [high[d] - root[d] for d in DIMS]
    children = []
    for d in DIMS:
        for sign, room, step in ("-", down[d], -1), ("+", up[d], 1):
            if room:
                children.append({"link": LETTERS[d] + sign, **case.node([x + step * (i == d) for i, x in enumerate(root)])})
    order = [(max(spread, default=0) + i) % 5 for i in DIMS] if (spread := [d for d in DIMS if high[d] > low[d]]) else []
    order = [d for d in order if d in spread]
    whole = all(high[d] - low[d] + 1 == case.n[d] and (case.n[d] == 1 or case.wraps(d)) for d in DIMS)
    lines = []
    for d in DIMS:
        if whole and case.n[d] > 1:  # a colour for each direction: around the ring
            lines += [[{"link": LETTERS[d] + sign, "hops": case.n[d] - 1}] for sign in "-+"]
        elif low[d] < high[d]:  # a colour for each dimension: both ways to the ends
            lines.append([{"link": LETTERS[d] + sign, "hops": room} for sign, room in (("+", up[d]), ("-", down[d])) if room])
    return {"class_route": {"low": low, "high": high, "root": case.node(root), "depth": sum(map(max, down, up)), "children": children,
                            "order": "".join(LETTERS[d] for d in order), "nodes": members(case, root, order)},
            "colours": [{"colour": i, "lines": x} for i, x in enumerate(lines)]}


def expect(case, ps):
    return {**facts(case), **(path(case, ps) if case.nodes else {}), **(tree(case) if case.box else {})}


# ---- the text that says the same ----

def plural(count, word):
    return f"{count} {word}{'s' if count > 1 else ''}"


def place(x):
    return "(" + ",".join(map(str, x)) + ")"


def render_direction(o, x):
    head = f"  {x['link']}  from {x['from']} to {x['to']} of {o['shape'][LETTERS.index(x['link'][0])]}: "
    way = {"+": "plus", "-": "minus"}[x["link"][1]]
    total = sum(o["from_coordinates"])
    return head + {"mesh": "no wrap in this dimension",
                   "shorter": f"{plural(x['hops'], 'hop')}, the other way {x['other_hops']}",
                   "parity": f"{plural(x['hops'], 'hop')} either way; the source's coordinates sum to {total}, {'odd' if total % 2 else 'even'}, so {way}",
                   "tie": f"{plural(x['hops'], 'hop')} either way; the machine's tie is {way}"}[x["reason"]]


def render_dynamic(y):
    yield f"  dynamic packets: any link below that has room for a packet, the one with most room first; else the bubble channel over {y['escape']}"
    for z in y["zones"]:
        yield f"    zone {z['zone']}  finishes {', then '.join(z['finishes'])}; first hop {' '.join(z['first_hop'])}; {plural(z['ways'], 'way')}"
    for r in y["rendezvous"]:
        how = "deterministically" if r["zone"] is None else \
            f"dynamically in zone {r['zone']} (flexibility {y['flexibility']:.2f}, {y['routing_low']:.2f} to {y['routing_high']:.2f}: " \
            f"{'deterministic' if y['routing_in'] == 4 else 'zone %d' % y['routing_in']})"
        yield f"  a rendezvous of {r['bytes']} bytes is routed {how}"


def render_path(o, named_order):
    yield ""
    yield f"packet from node {o['from']} {place(o['from_coordinates'])} to node {o['to']} {place(o['to_coordinates'])}: {len(o['path'])} hops"
    if not o["path"]:
        yield "  it stays in its node: the messaging unit delivers it to itself and uses no link"
        return
    yield from (render_direction(o, x) for x in o["directions"])
    yield f"  order of dimensions ({'row order of the machine' if named_order else 'longest first'}): {' '.join(o['order'])}"
    here = o["from_coordinates"]
    for i, x in enumerate(o["path"]):
        yield f"  hop {i + 1:2d}  {x['link']}  {place(here)} -> {place(x['coordinates'])}"
        here = x["coordinates"]
    yield from render_dynamic(o["dynamic"])
    t = o["time_ns"]
    yield (f"  time: 0 tail of the FIFO moves, {t['first_router']:.0f} ns head in the first router, {t['target']:.0f} ns head at the target after "
           f"{len(o['path'])} hops of {t['hop']:.0f} ns, {t['last_byte']:.0f} ns last of 512 bytes, {t['memory']:.0f} ns in memory")


def render_tree(o):
    c = o["class_route"]
    whole = c["low"] == [0] * 5 and c["high"] == [n - 1 for n in o["shape"]]
    children = "children of the root over " + " ".join(x["link"] for x in c["children"]) if c["children"] else "no children"
    yield ""
    yield (f"class route of {'all nodes' if whole else 'the rectangle ' + place(c['low']) + ' to ' + place(c['high'])}: "
           f"root {place(c['root']['coordinates'])}, depth {c['depth']}, {children}")
    if c["order"]:
        yield f"  up the tree a packet goes in dimension {c['order'][0]} to the root's coordinate" + "".join(f", then {x}" for x in c["order"][1:])
    for level, at in itertools.groupby(c["nodes"] or [], lambda m: m["level"]):
        yield f"  level {level}: " + ", ".join(f"{m['node']} {m['link']}" for m in at)
    n = len(o["colours"])
    yield f"colours of a rectangle broadcast: {n} edge-disjoint tree{'' if n == 1 else 's'}{'; the root' + chr(39) + 's lines:' if n else ''}"
    for x in o["colours"]:
        yield f"  colour {x['colour']}: " + " ".join(f"{l['link']} {plural(l['hops'], 'hop')}" for l in x["lines"])


def render(o, named_order):
    extents = [f"{n}{'M' if LETTERS[d] in o['mesh'] else ''}" for d, n in enumerate(o["shape"])]
    yield f"{'x'.join(extents)}x{o['processes_per_node']}: {plural(o['nodes'], 'node')}, {plural(o['processes_per_node'], 'task')} on each"
    yield (f"  hops: at most {o['hops_max']}, {o['hops_mean']:.2f} on average; links cut by the narrowest bisection: "
           f"{o['links_cut']} each way")
    if "path" in o:
        yield from render_path(o, named_order)
    if "class_route" in o:
        yield from render_tree(o)


def without_picture(text):
    head, _, rest = text.partition("\n\n")
    found = re.search(r"^\n?(packet from|class route)", rest, re.M)
    return head + "\n" + ("\n" + rest[found.start():].lstrip("\n") if found else "")


# ---- comparing ----

def differ(o, expected, text, named_order):
    """The first difference, or None."""
    if list(o) != list(expected):
        return f"keys {list(o)}, expected {list(expected)}"
    for key in expected:
        if o[key] != expected[key]:
            return f"{key}: {o[key]}, expected {expected[key]}"
    said, rendered = text.splitlines(), list(render(o, named_order))
    for a, b in zip(said + [None], rendered + [None]):
        if a != b:
            return f"the text says {a!r}, the JSON {b!r}"
    return None


def changes(o):
    """Copies of an object, each with one value changed or one member missing."""
    def walk(x, steps):
        if isinstance(x, (dict, list)):
            for k in x if isinstance(x, dict) else range(len(x)):
                yield steps + [k], "remove"
                yield from walk(x[k], steps + [k])
        else:
            yield steps, "change"
    for steps, how in walk(o, []):
        twin = copy.deepcopy(o)
        *before, last = steps
        at = functools.reduce(lambda x, k: x[k], before, twin)
        if how == "remove":
            del at[last]
        else:
            old = at[last]
            at[last] = 0 if old is None else old + 1 if isinstance(old, (int, float)) else old + "E"
        yield "/".join(map(str, steps)), twin


def torus(*arguments):
    return subprocess.run(["torus", *arguments], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


ZONES = "zone0 = AB/CD/E\nzone1 = E/ABCD\nzone2 = EDCBA\nzone3 = CA/EB/D\n"
CASES = [
    # Trees and colours of tori, meshes, a line, one node; ten colours.
    Case("4x4x4x8x2", "DBCAE"), Case("4x4x2x1x1", "ABCDE"), Case("2x2x2x2x2", "ABCDE"), Case("3x5x1x2x1x4", "BADCE"),
    Case("4x4Mx3x1x1", "BACDE"), Case("1x1x1x1x7", "EBCDA"), Case("1x1x1x1x1", "ABCDE"),
    Case("4x3x3x1x1", "ABCDE", rows="mesh=A"),
    # Class routes of part of a torus or mesh: full rings that are a part, corners, a line, one node, all nodes.
    Case("4x4x4x8x2", "DBCAE", rectangle="0,0,0,0,0:3,1,3,3,0"), Case("4x4x4x8x2", "DBCAE", rectangle="1,2,0,3,1:3,2,3,7,1"),
    Case("4x4x1x1x1", "ABCDE", rectangle="0:7"), Case("4x4x1x1x1", "ABCDE", rectangle="5:15"), Case("5Mx4x2x1x1", "ABCDE", rectangle="1,1,0,0,0:4,2,1,0,0"),
    Case("4x4x1x1x1", "ABCDE", rectangle="6:6"), Case("4x4x2x1x1", "ABCDE", rectangle="0:31"), Case("1x1x1x1x1", "ABCDE", rectangle="0:0"),
    Case("2x2x2x2x2 1 30", "ABCDE", rectangle="1,0,0,0,0:1,1,1,1,1"),
    # Paths: tori with ties, meshes in both directions, a line, none.
    Case("2x2x2x2x2 0 31", "ABCDE"), Case("2x2x2x2x2 1 30", "ABCDE"), Case("4x4Mx4x2x2 0 255", "BACDE"), Case("4x4Mx4x2x2 255 1", "BACDE"),
    Case("4x4x4x8x2 0,0,0,0,0 1,0,2,7,1", "DBCAE", rule=(1.5, 3.5, 2, 0)), Case("4x4x4x8x2 0,0,0,0,0 2,2,2,4,1", "DBCAE", rule=(1.5, 3.5, 2, 0)),
    Case("3x5x1x2x1x4 0 17", "BADCE"), Case("9x1x1x1x1 1 7", "ABCDE"), Case("2x2x2x2x2 5 5", "ABCDE"), Case("1x1x1x1x1 0 0", "ABCDE"),
    Case("40x40x1x1x1 0 820", "ABCDE", rule=(1.5, 3.5, 3, 0)),
    # Other machines: sets of each zone, order and tie, the rule of rendezvous, times.
    Case("4x4x4x4x2 3 380", "ABCDE", file=ZONES), Case("4x4x4x4x2 0 511", "EDCBA", file=ZONES + "order = EDCBA\ntie = minus\n"),
    Case("4x4x4x4x2 0 341", "ABCDE", rows="tie=plus,zone2=A/BCDE"), Case("4x2x2x2x2 1 40", "CADEB", rows="order=CADEB,zone0=DE/CBA,tie=plus"),
    Case("4x2x2x4x2 5 78", "CADEB", rows="order=CADEB"),
    Case("4x4x4x4x2 0 340", "ABCDE", rows="routing_bytes=1000,routing_low=0.5,routing_high=4,routing_in=1,routing_out=4", rule=(0.5, 4, 1, 4)),
    Case("4x4x4x4x2 0 340", "ABCDE", rows="routing_low=0.5,routing_high=1,routing_in=4,routing_out=0", rule=(0.5, 1, 4, 0)),
    Case("4x4x4x4x2 0 340", "ABCDE", rows="routing_low=0.5,routing_high=4,routing_in=4,routing_out=0", rule=(0.5, 4, 4, 0)),
    Case("4x4x4x2x1 0 127", "CBADE", file="mesh = C\nhop_ps = 1000000\nmu_inject_ps = 3000\nlink_ps_per_byte = 1000\nmu_receive_ps = 5000\n"),
]


def check(case, directory):
    file = os.path.join(directory, "machine.ini")
    if case.file:
        with open(file, "w") as f:
            f.write(case.file)
    arguments = case.arguments(file)
    text, data = torus("topo", *arguments), torus("topo", "--json", *arguments)
    if text.returncode or data.returncode or text.stderr or data.stderr:
        return [f"status {text.returncode} and {data.returncode}: {text.stderr}{data.stderr}"]
    rows = json.loads(torus("machine", "--json", *([file] if case.file else []), *(["--hw", case.rows] if case.rows else [])).stdout)
    ps = {r["name"]: int(r["value"]) for r in rows if r["unit"] == "ps"}
    o, expected, plain, named_order = json.loads(data.stdout), expect(case, ps), without_picture(text.stdout), "order" in case.row
    why = differ(o, expected, plain, named_order)
    if why:
        return [why]
    return [f"nobody notices a wrong {steps}" for steps, twin in changes(o) if not differ(twin, expected, plain, named_order)]


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        for case in CASES:
            for why in check(case, directory):
                print(f"torus topo {' '.join(case.arguments('FILE'))} {case.file!r}: {why}")
                failed = 1
    return failed


sys.exit(main())
