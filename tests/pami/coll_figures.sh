#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# bench/figures/coll_figures: latencies are the model's, the same at 2048 nodes from two shapes alike (its README says how far
# that is from what is published), with several processes a node some words through the L2 more and no message;
# throughputs are those of links, one or ten of them.
set -u
rows=$(QT_BUILD=$QT_BUILD "$QT_SOURCE/bench/figures/coll_figures" --nodes 32,64 --ppn 1,4 --big 256K --json) || exit 1
echo "$rows"
field() { sed -n "s/.*\"$1\":\\([0-9.e+-]*\\).*/\\1/p" <<<"$2"; }
bad=0 count=0
while read -r row; do
	at=$(field at_2048 "$row")
	case $row in
	*null,\"published\"*) continue ;; # what is published for a size that was not run
	*pami-f6*', 1 a node'*) low=1.69 high=1.76 ;;
	*pami-f7*', 1 a node'*) low=5.45 high=5.55 ;;
	*pami-f6*', 4 a node'*) low=1.9 high=2.1 ;;
	*pami-f7*', 4 a node'*) low=5.6 high=6.0 ;;
	*pami-f10*64K*) low=4000 high=18000 ;; # so few bytes hardly fill ten trees
	*pami-f10*) low=9000 high=18000 ;;
	*64K*) low=1400 high=1801 ;;
	*) low=1650 high=1801 ;;
	esac
	count=$((count + 1))
	awk "BEGIN { exit !($at > $low && $at < $high) }" || { echo "off, not in $low .. $high: $row"; bad=1; }
done <<<"$rows"
[ "$count" = 18 ] || { echo "$count rows, expected 18"; bad=1; }
exit $bad
