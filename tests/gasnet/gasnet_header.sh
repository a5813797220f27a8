#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# GASNet's public headers compile alone and in any order, in each mode and in every language version programs use,
# without a warning; and refuse a program without a mode.
set -u
cd "$QT_SOURCE" || exit 1
bad=0
body='typedef char memvec[sizeof(gex_Memvec_t) == 16 ? 1 : -1], value[sizeof(gex_RMA_Value_t) == SIZEOF_GEX_RMA_VALUE_T ? 1 : -1];
int main(void) { gex_TM_t tm = GEX_TM_INVALID; gex_Event_t e = GEX_EVENT_INVALID;
return gex_AM_RequestShort(tm, 0, 1, 0) + gex_AM_RequestShort(tm, 0, 1, 0, 3, 4) + gex_AM_RequestMedium(tm, 0, 1, (void *)0, 0, &e, 0, 5) +
gex_AM_RequestLong16(tm, 0, 1, (void *)0, 0, (void *)0, GEX_EVENT_NOW, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16) +
gex_Event_Test(gex_Coll_BarrierNB(tm, 0)) + (int)(GASNETT_TRACE_SETSOURCELINE("a", 1), 0); }'
try() { # compiler language standard mode headers
	command -v "$1" >/dev/null || return 0
	if ! { printf '#include <%s>\n' $5; printf '%s\n' "$body"; } |
		$1 -x "$2" -std="$3" "-DGASNET_$4" -Wall -Wextra -Werror -Wno-unused-local-typedefs -Igasnet -c -o /dev/null -; then
		echo "<$5> does not compile with $1 -std=$3 -DGASNET_$4"
		bad=1
	fi
}
for headers in gasnetex.h gasnet.h gasnet_vis.h 'gasnet_ratomic.h gasnet.h' 'gasnet_coll.h gasnetex.h' 'gasnet_tools.h gasnetex.h'; do
	for mode in SEQ PAR PARSYNC; do
		try gcc c gnu11 $mode "$headers"
		try g++ c++ c++17 $mode "$headers"
	done
done
for standard in gnu99 c99 c11 gnu17; do
	try gcc c $standard SEQ gasnet.h
done
for standard in c++11 gnu++14; do
	try g++ c++ $standard PAR gasnet.h
done
echo '#include <gasnetex.h>' | gcc -x c -Igasnet -c -o /dev/null - 2>/dev/null && { echo "a program without a mode compiles"; bad=1; }
echo '#include <gasnet_tools.h>' | gcc -x c -Igasnet -c -o /dev/null - || { echo "gasnet_tools.h needs a mode"; bad=1; }
exit $bad
