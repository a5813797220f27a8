#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that files are traces as Perfetto reads JSON: trace_check.py FILE...

No library of Perfetto is packaged, so this is the trace-event form, taken strictly: the types of all members, times, names of
tracks before they are used, identifiers of flows that its reader takes (hexadecimal numbers of 64 bits, any other is dropped), and
flows that begin before they end.
"""
import json
import re
import sys

MEMBERS = {
    'M': {'ph', 'pid', 'name', 'args'},
    'X': {'ph', 'pid', 'tid', 'name', 'args', 'ts', 'dur'},
}
MORE = {'M': {'tid'}, 'X': {'cat', 'bind_id', 'flow_in', 'flow_out'}}


def no_twice(pairs):
    names = [name for name, _ in pairs]
    assert len(set(names)) == len(names), f'a member twice: {names}'
    return dict(pairs)


def no_constant(text):
    raise AssertionError(f'{text} is no JSON')


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def check_members(e):
    ph = e.get('ph')
    assert ph in MEMBERS, 'an unknown phase'
    assert MEMBERS[ph] <= set(e) <= MEMBERS[ph] | MORE[ph], f'members {sorted(set(e) ^ MEMBERS[ph])}'
    for name in ('pid', 'tid'):
        assert name not in e or (type(e[name]) is int and 0 <= e[name] < 2**32), f'{name} is no number of 32 bits'
    assert isinstance(e['name'], str) and e['name'], 'no name'
    assert isinstance(e['args'], dict), 'args is no object'
    for value in e['args'].values():
        assert is_number(value) or isinstance(value, str), 'an argument that is neither number nor text'


def check_slice(e, flows):
    for name in ('ts', 'dur'):
        assert is_number(e[name]) and e[name] >= 0, f'{name} is no time'
    for name in ('flow_in', 'flow_out'):
        assert e.get(name, True) is True, f'{name} is not true'
    assert ('bind_id' in e) == ('flow_in' in e or 'flow_out' in e), 'a flow without a number, or a number without a flow'
    if 'bind_id' in e:
        assert re.fullmatch(r'0x[0-9a-f]{1,16}', e['bind_id']), f'the flow {e["bind_id"]} is no number'
        flows.setdefault((e.get('cat'), e['bind_id']), []).append(e)


def check(path):
    with open(path) as f:
        whole = json.load(f, object_pairs_hook=no_twice, parse_constant=no_constant)
    assert set(whole) == {'displayTimeUnit', 'traceEvents'} and whole['displayTimeUnit'] in ('ms', 'ns')
    flows, named, used, slices, arrows = {}, set(), set(), 0, 0
    for e in whole['traceEvents']:
        try:
            check_members(e)
            if e['ph'] == 'X':
                check_slice(e, flows)
                slices += 1
                used.add(e['pid'])
            elif e['name'] in ('process_name', 'thread_name'):
                assert isinstance(e['args'].get('name'), str) and ('tid' in e) == (e['name'] == 'thread_name')
                if 'tid' not in e:
                    named.add(e['pid'])
        except AssertionError as why:
            raise AssertionError(f'{why}: {json.dumps(e)[:300]}') from None
    assert slices, 'nothing happens'
    assert used <= named, f'processes without a name: {sorted(used - named)[:5]}'
    for (_, number), events in flows.items():
        out = [e['ts'] for e in events if 'flow_out' in e]
        into = [e['ts'] + e['dur'] for e in events if 'flow_in' in e]
        # A step that the end of the job cut off has no end. One that comes in has a beginning.
        assert out or not into, f'flow {number} comes in and has no beginning'
        # The holder of a port records a frame after it was handed over, and may lose the processor in between.
        is_frame = any(e['name'] in ('frame_out', 'frame_in') for e in events)
        assert is_frame or not into or min(out) <= min(into), f'flow {number} ends before it begins'
        arrows += bool(out and into)
    assert arrows, 'no flow has both ends'
    print(f'{path}: {slices} slices, {arrows} flows')


if __name__ == '__main__':
    for name in sys.argv[1:]:
        check(name)
