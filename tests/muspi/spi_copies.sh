#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Routers copy the packets of a line: each of the five that spi_line sends passes each of the three
# links of the line once, where packets for each of the nodes would pass 1 + 2 + 3.
# usage: spi_copies.sh PROGRAM
set -u
bad=0

expect() # LINKS OPTION...
{
	local links=$1 seen
	shift
	seen=$(timeout -s KILL $((60 * ${QT_SCALE:-1})) torus run "$@" --shape 4x1x1x1x1 --report "$program" virtual 2>&1 >/dev/null |
		sed -n 's/.*by virtual channel: deterministic \([0-9]*\).*/\1/p')
	echo "$*: $seen links passed"
	[ "$seen" = "$links" ] || { echo "FAIL: $links expected"; bad=1; }
}

program=$1
expect 15 --clock virtual --fabric torus
expect 15 --fabric torus
expect 15 --fabric torus --hosts local,local
exit $bad
