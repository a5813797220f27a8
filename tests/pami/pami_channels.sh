#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The virtual channels that the packets of each kind of message take (docs/hardware.md 13.6), in both
# clocks and between hosts: a short message and a put are routed deterministically; the data of a long
# rendezvous or get dynamically, unless it goes along a line; the request of a rendezvous has high priority.
# usage: pami_channels.sh PROGRAM
set -u
program=$1
bad=0
scale=${QT_SCALE:-1}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# The job has 2x2 nodes: task 3 is two hops from task 0, task 1 is on a line with it.
check() { # check CONDITION KIND BYTES TO OPTION...: in CONDITION each channel is a variable
	local condition=$1 kind=$2 bytes=$3 to=$4
	shift 4
	timeout -s KILL $((70 * scale)) torus run --timeout $((60 * scale)) -n 4 --shape 2x2x1x1x1 --fabric torus "$@" \
		--report=json "$program" "$kind" "$bytes" "$to" >"$dir/out" 2>"$dir/err" </dev/null || {
		echo "$kind $bytes $to, $*: $(tail -3 "$dir/err")"
		bad=1
		return
	}
	python3 - "$dir/err" "$condition" <<'P' || { echo "FAIL: $kind of $bytes bytes to task $to, $*"; bad=1; }
import collections, json, sys
report = json.loads([l for l in open(sys.argv[1]) if l.startswith('{')][0])
total = collections.Counter()
for link in report['links']:
    assert sum(link['channels'].values()) == link['packets'], link
    assert link['channels']['collective_world'] + link['channels']['collective_sub'] == link['class_route_packets'], link
    total.update(link['channels'])
if not eval(sys.argv[2], {}, dict(total)):
    print('not', sys.argv[2], dict(total))
    sys.exit(1)
P
}
M=1048576
for where in '--clock virtual' '--clock real' '--clock real --hosts local,local'; do
	[[ ${QT_SANITIZE:-none} = thread && $where = *virtual* ]] && continue # one thread of a process runs there
	# shellcheck disable=SC2086
	{
		check 'dynamic == high_priority == system == redirect == 0' none 8 3 $where
		check 'dynamic == high_priority == 0 and deterministic >= 200' short 8 3 $where
		# A packet of a put has 512 bytes, and each crosses two links.
		check 'dynamic == high_priority == 0 and deterministic >= 4096' put $M 3 $where
		# A packet that finds no room on the dynamic channel escapes to the other.
		check 'dynamic >= 100 and dynamic + deterministic >= 4096 and high_priority == 0' get $M 3 $where
		check 'dynamic >= 100 and dynamic + deterministic >= 4096 and high_priority == 2' send $M 3 $where
		check 'dynamic == 0 and deterministic >= 2048 and high_priority == 1' send $M 1 $where
		check 'dynamic == 0 and deterministic >= 256 and high_priority == 2' send 65536 3 $where
		check 'collective_world + collective_sub > 0' allreduce 8 3 $where
		# The same message where the rule says that nothing is routed dynamically.
		PAMI_ROUTING=65536,4,1.5:3.5,4,4 check 'dynamic == 0 and deterministic >= 4096 and high_priority == 2' send $M 3 $where
	}
done
exit $bad
