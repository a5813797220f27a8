#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The texts of the labs show what their commands print: lab_texts.py SOURCE DIR.

DIR/N has the solution of lab N. The commands of each block of a text that also has other lines are run there, and have
to print these lines. Where a text shows what the program it begins with prints, or a broken one, the command runs with that one.
"""
import glob
import re
import shutil
import subprocess
import sys

source, work = sys.argv[1:3]
BROKEN = {5: ('serve.c', 'if (!by_thread && asked < QUESTIONS)', 'if (1)')}  # what step 4 of lab 5 asks for
failures = shown = 0


def squeeze(line):
    return ' '.join(line.split())


def blocks_of(text):
    """The commands of each block as one script, and the lines that it has to print."""
    commands, lines = [], []
    for line in text.splitlines() + ['end']:
        if line.startswith('    $ '):
            commands.append(line[6:])
        elif line.startswith('    ') and commands and line.strip() != '...':
            lines.append(squeeze(line))
        elif line and not line.startswith('    '):
            if lines and not commands[0].startswith('torus lab'):
                yield '\n'.join(commands), lines
            commands, lines = [], []


def programs_of(lab):
    """Directories with programs of a lab: the solution, what it begins with, a broken solution."""
    yield f'{work}/{lab}'
    start = f'{work}/start-{lab}'
    subprocess.run(['torus', 'lab', str(lab), '--start', start], check=True, stdout=subprocess.DEVNULL)
    yield start
    if lab in BROKEN:
        name, old, new = BROKEN[lab]
        broken = f'{work}/broken-{lab}'
        shutil.copytree(f'{work}/{lab}', broken)
        with open(f'{broken}/{name}', encoding='utf-8') as f:
            program = f.read()
        assert old in program, f'{name} has no {old}'
        with open(f'{broken}/{name}', 'w', encoding='utf-8') as f:
            f.write(program.replace(old, new))
        yield broken


def check_block(script, lines, places):
    for place in places:
        run = subprocess.run(['bash', '-c', script], cwd=place, stdin=subprocess.DEVNULL, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
        printed = {squeeze(line) for line in run.stdout.splitlines()}
        missing = [line for line in lines if line not in printed]
        if not missing:
            return None
    return missing


for lab in range(1, 10):
    with open(glob.glob(f'{source}/docs/labs/{lab}-*/README.md')[0], encoding='utf-8') as f:
        text = f.read()
    functions = ''.join(line.strip() + '\n' for line in re.findall(r'^    \w+\(\) +\{.*\}$', text, re.M))
    places = list(programs_of(lab))
    for place in places:
        subprocess.run(['make', '-s', '-B'], cwd=place, check=True, stderr=subprocess.DEVNULL)
    for commands, lines in blocks_of(text):
        shown += len(lines)
        missing = check_block(functions + commands, lines, places)
        if missing:
            failures += 1
            print(f'FAIL: lab {lab}: {commands}\n  does not print: {missing[0]}')
if shown < 80:
    failures += 1
    print(f'FAIL: only {shown} lines were found in the texts')
print(f'{shown} lines of the texts, {failures} failures')
sys.exit(failures > 0)
