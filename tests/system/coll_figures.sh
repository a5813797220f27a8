#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# bench/coll_figures: the rows that gave the hop times of the collective network come out as published, by the
# hop model, from two shapes alike; the throughputs are those of links, one or ten of them.
set -u
rows=$(QT_BUILD=$QT_BUILD "$QT_SOURCE/bench/coll_figures" --nodes 32,64 --ppn 1 --big 256K --json) || exit 1
echo "$rows"
field() { sed -n "s/.*\"$1\":\\([0-9.e+-]*\\).*/\\1/p" <<<"$2"; }
bad=0 count=0
while read -r row; do
	at=$(field at_2048 "$row") published=$(field published "$row")
	case $row in
	*'"fitted":true'*) low=0.98 high=1.02 ;;
	*pami-f10*) published=18000 low=0.4 high=1 ;; # 256 KiB hardly fill ten trees
	*) published=1801 low=0.85 high=1 ;;
	esac
	count=$((count + 1))
	awk "BEGIN { exit !($at > $low * $published && $at < $high * $published) }" || { echo "off: $row"; bad=1; }
done <<<"$rows"
[ "$count" = 7 ] || { echo "$count rows, expected 7"; bad=1; }
exit $bad
