/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Read-modify-write: the processor's atomics, executed by whoever reaches the word: the caller where the
 * memory is mapped, else the owner on an active message. Both kinds are atomic against each other.
 */
#include <string.h>

#include "armci/am.h"
#include "armci/state.h"

uint64_t armci_rmw_apply(int op, void *p, uint64_t value)
{
	switch (op) {
	case ARMCI_SWAP:
		return __atomic_exchange_n((uint32_t *)p, (uint32_t)value, __ATOMIC_SEQ_CST);
	case ARMCI_SWAP_LONG:
		return __atomic_exchange_n((uint64_t *)p, value, __ATOMIC_SEQ_CST);
	case ARMCI_FETCH_AND_ADD:
		return __atomic_fetch_add((uint32_t *)p, (uint32_t)value, __ATOMIC_SEQ_CST);
	default:
		return __atomic_fetch_add((uint64_t *)p, value, __ATOMIC_SEQ_CST);
	}
}

int PARMCI_Rmw(int op, void *ploc, void *prem, int extra, int proc)
{
	size_t bytes = op == ARMCI_SWAP || op == ARMCI_FETCH_AND_ADD ? sizeof(int) : sizeof(long);
	struct armci_request r = {.kind = ARMCI_REQUEST_RMW, .op = op};
	struct armci_req wait = {0};
	struct armci_seg *seg;
	uint64_t value = 0;
	int rc;

	if (op < ARMCI_SWAP || op > ARMCI_FETCH_AND_ADD_LONG)
		armci_die("ARMCI_Rmw: %d is no operation", op);
	if (!ploc)
		return FAIL;
	if (armci_check_proc(proc))
		return FAIL5;
	if (op == ARMCI_SWAP || op == ARMCI_SWAP_LONG)
		memcpy(&value, ploc, bytes);
	else
		value = (uint64_t)(int64_t)extra;
	seg = armci_seg_find(proc, (uintptr_t)prem, bytes);
	if ((uintptr_t)prem % bytes)
		armci_die("ARMCI_Rmw: address %p of process %d is not aligned to %zu", prem, proc,
			  bytes);
	armci_order(seg, (uintptr_t)prem - seg->name, bytes, ARMCI_CLASS_READ);
	if (seg->direct) {
		value = armci_rmw_apply(op, prem, value);
		memcpy(ploc, &value, bytes);
		return 0;
	}
	r.addr = seg->va + ((uintptr_t)prem - seg->name);
	r.value = value;
	rc = armci_am_value(&r, proc, ploc, bytes, &wait);
	return rc ? rc : armci_req_wait(&wait);
}
ARMCI_ALIAS(Rmw);
