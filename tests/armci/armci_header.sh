#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ARMCI's public headers compile alone and in any order, in every language version programs use, without a
# warning, with an MPI in sight and without; the group type has the same layout both times.
set -u
cd "$QT_SOURCE" || exit 1
bad=0
body='typedef char giov[sizeof(armci_giov_t) == 24 ? 1 : -1], hdl[sizeof(armci_hdl_t) == 32 ? 1 : -1];
typedef char group[sizeof(ARMCI_Group) == 32 ? 1 : -1], size[sizeof(armci_size_t) == sizeof(long) ? 1 : -1];
typedef char info[sizeof(armci_meminfo_t) == 8 + 8 + 8 + 8 + 128 * 8 ? 1 : -1];
static void *a[1]; static armci_giov_t positional = {a, a, 8, 1};
int main(void) { switch (positional.bytes) { case ARMCI_ACC_DBL: case ARMCI_SWAP: case SCOPE_ALL: case FAIL8: break; }
return ARMCI_Finalize() + PARMCI_Put(a, a, 1, 0); }'
try() { # compiler language standard headers
	command -v "${1%% *}" >/dev/null || return 0
	if ! { printf '#include <%s>\n' $4; printf '%s\n' "$5"; } |
		$1 -x "$2" -std="$3" -Wall -Wextra -pedantic -Werror -Wno-unused-local-typedefs -Wno-long-long -Iarmci \
			-c -o /dev/null -; then
		echo "<$4> does not compile with $1 -std=$3"
		bad=1
	fi
}
for headers in armci.h message.h parmci.h 'message.h armci.h' 'parmci.h message.h' armcix.h iterator.h 'armcix.h message.h'; do
	for standard in gnu89 gnu99 c99 c11 gnu17; do
		try gcc c $standard "$headers" "$body"
	done
	for standard in c++98 c++17; do
		try g++ c++ $standard "$headers" "$body"
	done
done
mpi='static ARMCI_Group g; MPI_Comm comm(void) { return g.comm; } MPI_Comm (*f)(ARMCI_Group *) = armci_group_comm;'
for compiler in mpicc mpicc.openmpi mpicc.mpich; do
	try $compiler c c99 armci.h "$mpi $body"
done
# Every function says what it does, itself; the profiling twins stand below a heading of theirs.
for header in armci/armci.h armci/armcix.h armci/message.h armci/iterator.h; do
	undocumented=$(awk '
		/the same functions under the names a profiler calls/ { exit }
		/^[a-z_].*[ *](p?armci|P?ARMCIX?)_[A-Za-z_]*\(/ && !/^typedef|^#/ { n++; if (before !~ /\*\/$/) print $0 }
		{ before = $0 }
		END { if (n + 0 < 5) print "no functions found" }' $header)
	if [ -n "$undocumented" ]; then
		printf '%s: functions without a docstring:\n%s\n' $header "$undocumented"
		bad=1
	fi
done
exit $bad
