#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What the configure script of Global Arrays asks of an external ARMCI, and what its library (and Debian's build of
# it, where that is installed) leaves undefined: headers that compile alone, names that link with nothing but
# -larmci, each on its own as configure does it and all in one program, the static library too.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
armci=$QT_BUILD/armci pami=$QT_BUILD/pami
bad=0

fail() {
	echo "FAIL: $*"
	bad=1
}

# Of Global Arrays 5.8, its tests, and the ARMCI test programs that are around.
ga='ARMCI_Absolute_id ARMCI_AccS ARMCI_AccV ARMCI_AllFence ARMCI_Cleanup ARMCI_Create_mutexes ARMCI_Destroy_mutexes
	ARMCI_Error ARMCI_Fence ARMCI_Finalize ARMCI_Free ARMCI_Free_group ARMCI_Free_local ARMCI_Free_memdev ARMCI_Get
	ARMCI_GetS ARMCI_GetV ARMCI_Group_create ARMCI_Group_free ARMCI_Group_get_world ARMCI_Group_set_default
	ARMCI_INIT_HANDLE ARMCI_Init ARMCI_Init_args ARMCI_Initialized ARMCI_Lock ARMCI_Malloc ARMCI_Malloc_group
	ARMCI_Malloc_group_memdev ARMCI_Malloc_local ARMCI_Malloc_memdev ARMCI_Memat ARMCI_Memctl ARMCI_Memget ARMCI_NbAccS
	ARMCI_NbGetS ARMCI_NbPutS ARMCI_PutS ARMCI_PutS_flag ARMCI_PutV ARMCI_Rmw ARMCI_Same_node ARMCI_Set_shm_limit
	ARMCI_Test ARMCI_Unlock ARMCI_Uses_shm ARMCI_Uses_shm_grp ARMCI_Wait ARMCI_WaitAll armci_domain_count
	armci_domain_glob_proc_id armci_domain_id armci_domain_my_id armci_domain_nprocs armci_domain_same_id
	armci_group_comm armci_exchange_address armci_exchange_address_grp armci_msg_abort armci_msg_barrier
	armci_msg_bcast armci_msg_bintree armci_msg_dgop armci_msg_fgop armci_msg_gop_scope armci_msg_group_barrier
	armci_msg_group_bcast_scope armci_msg_group_dgop armci_msg_group_fgop armci_msg_group_gop_scope
	armci_msg_group_igop armci_msg_group_lgop armci_msg_group_llgop armci_msg_igop armci_msg_lgop armci_msg_llgop
	armci_msg_me armci_msg_nproc armci_msg_rcv armci_msg_rcvany armci_msg_sel_scope armci_msg_snd armci_read_strided
	armci_timer armci_write_strided'
tests='ARMCI_Acc ARMCI_Access_begin ARMCI_Access_end ARMCI_Barrier ARMCI_GetValueInt ARMCI_GetValueLong
	ARMCI_GetValueFloat ARMCI_GetValueDouble ARMCI_Group_create_child ARMCI_Group_rank ARMCI_Group_size ARMCI_NbGet
	ARMCI_NbGetV ARMCI_NbPut ARMCI_NbPutV ARMCI_NbPutValueDouble ARMCI_Put ARMCI_PutValueInt ARMCI_PutValueLong
	ARMCI_PutValueFloat ARMCI_PutValueDouble ARMCI_SET_AGGREGATE_HANDLE ARMCI_UNSET_AGGREGATE_HANDLE armci_msg_brdcst
	armci_msg_reduce armci_msg_init armci_msg_finalize armci_notify armci_notify_wait armci_stride_info_init
	ARMCIX_Group_split ARMCIX_Create_mutexes_hdl ARMCIX_Destroy_mutexes_hdl ARMCIX_Lock_hdl ARMCIX_Trylock_hdl
	ARMCIX_Unlock_hdl ARMCI_Init_mpi_comm ARMCI_Init_thread_comm ARMCI_Init_thread PARMCI_Init PARMCI_Finalize
	PARMCI_Barrier PARMCI_Put PARMCI_Get parmci_notify parmci_msg_barrier parmci_msg_group_barrier'

# conftest NAMES FLAGS...: a program that calls them links, as configure writes it
conftest() {
	local names=$1 name calls=''
	shift
	for name in $names; do
		echo "char $name(void);"
		calls+=" + $name()"
	done >"$tmp/conftest.c"
	echo "int main(void) { return 0$calls; }" >>"$tmp/conftest.c"
	cc -w -fno-builtin "$tmp/conftest.c" -o "$tmp/conftest" "$@" 2>"$tmp/log"
}

for header in armci.h message.h parmci.h armcix.h iterator.h; do
	echo "#include <$header>" >"$tmp/header.c"
	cc -Wall -Werror -I"$QT_SOURCE/armci" -c "$tmp/header.c" -o "$tmp/header.o" 2>"$tmp/log" ||
		{ fail "$header does not compile alone" && cat "$tmp/log"; }
done
shared=(-L"$armci" -larmci -Wl,-rpath-link,"$pami")
static=("$armci/libarmci.a" -L"$pami" -lpami -pthread -ldl)
# What configure asks for one by one; it adds nothing to -larmci.
for name in ARMCI_Init ARMCI_Initialized armci_group_comm armci_stride_info_init armci_notify armci_msg_init armci_msg_finalize; do
	conftest $name "${shared[@]}" || { fail "$name does not link with -larmci alone" && cat "$tmp/log"; }
done
for library in shared static; do
	declare -n flags=$library
	if ! conftest "$ga $tests" "${flags[@]}"; then
		fail "not in the $library library: $(grep -o "undefined reference to .*" "$tmp/log" | sort -u | tr '\n' ' ')"
	fi
done

# Every name of the profiling layer is one of the plain layer, and the plain one is weak.
nm "$armci/libarmci.a" 2>/dev/null | awk '$2 ~ /^[TW]$/ { print $2, $3 }' >"$tmp/names"
for name in $(sed -n 's/^T PARMCI_//p' "$tmp/names"); do
	grep -q "^W ARMCI_$name\$" "$tmp/names" || fail "ARMCI_$name is not a weak name beside PARMCI_$name"
done

for compiler in mpicc.openmpi mpicc.mpich; do
	command -v $compiler >/dev/null || { echo "left out: no $compiler" && continue; }
	cat >"$tmp/group.c" <<-'END'
	#include <armci.h>
	MPI_Comm armci_group_comm(ARMCI_Group *group); /* as one source file of Global Arrays declares it */
	int main(void) { static ARMCI_Group g; MPI_Comm comm = g.comm; return comm == armci_group_comm(&g); }
	END
	$compiler -Wall -Werror -I"$QT_SOURCE/armci" "$tmp/group.c" -o "$tmp/group" "${shared[@]}" 2>"$tmp/log" ||
		{ fail "$compiler: no communicator in a group" && cat "$tmp/log"; }
done

# Names that begin with armci_tcgmsg_ are Global Arrays' own.
for library in "$(gcc -print-file-name=libga-openmpi.a)" "$(gcc -print-file-name=libga-mpich.a)"; do
	[ -e "$library" ] || { echo "left out: no ${library##*/}" && continue; }
	undefined=$(nm -u "$library" 2>/dev/null | grep -oiE '\bp?armci_[a-z_]+' | grep -v '^armci_tcgmsg_' | sort -u)
	conftest "$undefined" "${shared[@]}" || { fail "${library##*/} needs more" && grep -o 'undefined.*' "$tmp/log" | sort -u; }
	echo "ok: ${library##*/} needs $(wc -w <<<"$undefined") names"
done
exit $bad
