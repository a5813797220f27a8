#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# PAMI's public headers compile alone, in every language version programs use, without a warning.
set -u
cd "$QT_SOURCE" || exit 1
bad=0
try() { # compiler language standard
	local compiler=$1 language=$2 standard=$3
	command -v "$compiler" >/dev/null || return 0
	if ! printf '#include <pami.h>\n#include <pami_sys.h>\n#include <hwi/include/bqc/A2_inlines.h>\n%s\n' \
		'typedef char xfer[sizeof(pami_xfer_t) == 112 ? 1 : -1], meta[sizeof(pami_metadata_t) == 80 ? 1 : -1];
		typedef char work[sizeof(pami_work_t) == 48 ? 1 : -1], region[sizeof(pami_memregion_t) == 64 ? 1 : -1];
		typedef char sends[sizeof(pami_send_immediate_t) == 48 && sizeof(pami_send_t) == 72 &&
		sizeof(pami_send_typed_t) == 104 && sizeof(pami_recv_t) == 56 ? 1 : -1];
		int main(void) { int e; size_t task, offset; pami_task_t t; uint64_t ticks = GetTimeBase();
		if (PAMI_Endpoint_create(PAMI_CLIENT_NULL, 1, 2, &e) != PAMI_SUCCESS) return 1;
		PAMI_Endpoint_query(e, &task, &offset);
		return (int)(PAMI_Endpoint_query)(e, &t, &offset) + (int)ticks; }' |
		"$compiler" -x "$language" -std="$standard" -Wall -Wextra -Werror -Wno-unused-local-typedefs \
			-Ipami -c -o /dev/null -; then
		echo "pami.h does not compile with $compiler -std=$standard"
		bad=1
	fi
}
for standard in gnu89 gnu99 c11 gnu11 gnu17; do
	try gcc c $standard
done
for standard in c++98 gnu++98 c++11 c++17; do
	try g++ c++ $standard
done
grep -q '^#ifndef __pami_h__$' pami/pami.h || { echo "the include guard is not __pami_h__"; bad=1; }
exit $bad
