#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The routers of both clocks carry the same packets of class routes for the same program, and fabric
# express in real time has none.
# usage: spi_routers.sh PROGRAM
set -u
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
bad=0

count() # NAME OPTION...: packets of class routes over links
{
	local name=$1
	shift
	timeout -s KILL $((60 * ${QT_SCALE:-1})) torus run "$@" --shape 2x2x1x1x1 --report "$program" >"$dir/out" 2>"$dir/$name" || {
		echo "$*: failed"
		cat "$dir/$name"
		bad=1
	}
	grep -o 'collective_[a-z]* [0-9]*' "$dir/$name" | awk '{ n += $2 } END { if (n) print n }'
}

program=$1
virtual=$(count virtual --clock virtual)
real=$(count real --fabric torus)
hosts=$(count hosts --fabric torus --hosts local,local)
express=$(count express --fabric express)
echo "packets of class routes: virtual time $virtual, real time $real, two hosts $hosts, express '$express'"
[ -n "$virtual" ] && [ "$virtual" = "$real" ] && [ "$virtual" = "$hosts" ] && [ -z "$express" ] || bad=1
exit $bad
