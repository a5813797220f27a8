#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# gasnet_misuse.sh PROGRAM: each kind of wrong use, inside a node and between hosts, gets the error that the program lists.
. "$QT_SOURCE/tests/harness/run.bash"
. "$QT_SOURCE/tests/harness/jobs.bash"
limit=$((40 * ${QT_SCALE:-1}))
"$task" >"$dir/kinds"
kinds=0 jobs=0
while read -r kind words; do
	kinds=$((kinds + 1))
	for where in '-n 2' '-n 2 --hosts local,local'; do
		jobs=$((jobs + 1))
		is_left_out $((kinds + jobs)) && continue # where jobs are halved, each kind at one of both places in turn
		# shellcheck disable=SC2086
		t run --timeout $limit $where "$task" "$kind"
		[ "$status" != 124 ] || fail "$where $kind: it hangs"
		cat "$dir/out" "$dir/err" >"$dir/both"
		said both "$words" "$where $kind"
		# Both processes end here; the second one may be ended by the first.
		unsound "$where $kind"
	done
done <"$dir/kinds"
[ $kinds -gt 60 ] || fail "only $kinds kinds"
finish
