#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write the completion of bash for torus, from what torus says of its commands and options.

usage: tools/completion/make.py TORUS FILE
"""
import re
import subprocess
import sys

HEAD = """# SPDX-License-Identifier: BSD-3-Clause
# Completion of bash for torus; tools/completion/make.py made it from the options' tables.
_torus()
{
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= i
	# The shell splits at '=': "--clock=vir" is three words.
	[ "$word" = = ] && word=
	[ "$before" = = ] && before=${COMP_WORDS[COMP_CWORD-2]}
	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		COMPREPLY=($(compgen -W "@COMMANDS@" -- "$word"))
		return
	fi
	# Behind the program's name its own arguments follow.
	case ${COMP_WORDS[1]} in
	run | sweep)
		for ((i = 2; i < COMP_CWORD; i++)); do
			case ${COMP_WORDS[i]} in
			--) [ "${COMP_WORDS[1]}" = sweep ] && command=yes ;;
			-*) _torus_takes_value "${COMP_WORDS[1]}" "${COMP_WORDS[i]}" && [ "${COMP_WORDS[i+1]}" != = ] && ((i++)) ;;
			=) ((i++)) ;;
			*) command=yes ;;
			esac
		done
		[ "$command" ] && { COMPREPLY=($(compgen -f -- "$word")); return; } ;;
	esac
	case "${COMP_WORDS[1]} $before" in
"""

TAIL = """	esac
	case ${COMP_WORDS[1]} in
@OPTIONS@	esac
	[ ${#COMPREPLY[@]} = 0 ] || { [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null; return; }
	case ${COMP_WORDS[1]} in
	run) COMPREPLY=($(compgen -c -- "$word") $(compgen -f -- "$word")) ;;
	*) COMPREPLY=($(compgen -f -- "$word")) ;;
	esac
}

_torus_takes_value()
{
	case "$1 $2" in
@VALUES@) return 0 ;;
	esac
	return 1
}
complete -o filenames -F _torus torus
"""


def ask(torus, *words):
    return subprocess.run([torus, *words, "--help"], check=True, text=True, stdout=subprocess.PIPE).stdout


def options_of(text):
    """Return (short or None, long, value's word or None) of each option."""
    found = []
    for line in text.splitlines():
        m = re.match(r"  (?:-(\w), )? *--([a-z-]+)(\[?)(?:=(\S+?))?(?:\s|$)", line)
        if m:
            # A value in brackets may be left out, so it is never a word of its own.
            found.append((m[1], m[2], m[4] if not m[3] else None))
    return found


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    torus = sys.argv[1]
    commands = re.findall(r"^  ([a-z]+) ", subprocess.run([torus, "--help"], check=True, text=True, stdout=subprocess.PIPE).stdout, re.M)
    cases, options, values = [], [], []
    for command in commands:
        table = options_of(ask(torus, command))
        words = [f"--{name}=" if value else f"--{name}" for _, name, value in table]
        options.append(f'\t{command}) COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$word")) ;;\n')
        for short, name, value in table:
            if not value:
                continue
            names = [f"{command}\\ --{name}"] + ([f"{command}\\ -{short}"] if short else [])
            values += names
            pattern = " | ".join(names)
            if re.fullmatch(r"[a-z]+(\|[a-z]+)+", value):
                cases.append(f'\t{pattern}) COMPREPLY=($(compgen -W "{value.replace("|", " ")}" -- "$word")); return ;;\n')
            elif "FILE" in value or "SPEC" in value:
                cases.append(f'\t{pattern}) COMPREPLY=($(compgen -f -- "$word")); return ;;\n')
            else:
                cases.append(f"\t{pattern}) return ;;\n")
    tail = TAIL.replace("@OPTIONS@", "".join(options)).replace("@VALUES@", "\t" + " | ".join(values))
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        f.write(HEAD.replace("@COMMANDS@", " ".join(commands)) + "".join(cases) + tail)
    return 0


if __name__ == "__main__":
    sys.exit(main())
