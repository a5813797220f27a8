#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The completion of bash for torus: commands, options, values; behind a program its own arguments.
set -u
fails=0
file=$(mktemp)
trap 'rm -f "$file"' EXIT
"$QT_SOURCE/tools/completion/make.py" "$QT_BUILD/tools/torus" "$file" || exit 1
. "$file"

gives() { # gives 'LINE' PATTERN: completing the line, split as bash splits it, offers a word that matches
	local line=${1//=/ = }
	read -ra COMP_WORDS <<<"$line"
	[[ $line == *' ' && $line != *'= ' ]] && COMP_WORDS+=('')
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	COMPREPLY=()
	_torus 2>/dev/null
	printf '%s\n' "${COMPREPLY[@]}" | grep -Eqx -- "$2" || { echo "FAIL: '$1' offers: ${COMPREPLY[*]:0:8}; not $2"; fails=1; }
}

gives 'torus sw' sweep
gives 'torus ' run
gives 'torus run --ht' '--html='
gives 'torus run --clock=v' virtual
gives 'torus run --clock v' virtual
gives 'torus run --fabric ' express
gives 'torus run -n 4 --on-death=e' error
gives 'torus run -n 2 --mp' --mpi
gives 'torus sweep --hw hop_ns=1 --pl' '--plot='
gives 'torus topo --j' --json
cd "$QT_SOURCE" || exit 1
gives 'torus run -n 2 cat READ' README.md
gives 'torus run --html=READ' README.md
# Every option of every command is offered, but those of the program are not.
for command in $(torus --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
	for option in $(torus "$command" --help | grep -oE -- '^  (-[a-z], +)? *--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
		gives "torus $command $option" "$option=?"
	done
done
exit $fails
