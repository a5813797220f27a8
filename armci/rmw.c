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

uint64_t armci_cas_apply(int op, void *p, uint64_t expected, uint64_t desired)
{
	uint32_t word = (uint32_t)expected;

	if (op == ARMCI_SWAP) {
		__atomic_compare_exchange_n((uint32_t *)p, &word, (uint32_t)desired, 0, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
		return word;
	}
	__atomic_compare_exchange_n((uint64_t *)p, &expected, desired, 0, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	return expected;
}

/* The word's segment, after what this process wrote there before. */
static struct armci_seg *word_find(const char *call, void *prem, size_t bytes, int proc)
{
	struct armci_seg *seg = armci_seg_find(proc, (uintptr_t)prem, bytes);

	if ((uintptr_t)prem % bytes)
		armci_die("%s: address %p of process %d is not aligned to %zu", call, prem, proc, bytes);
	armci_order(seg, proc, (uintptr_t)prem - seg->name, bytes, ARMCI_CLASS_READ);
	return seg;
}

/* Carried out by the owner; the old value to ploc. */
static int ask(struct armci_request *r, struct armci_seg *seg, void *prem, void *ploc, size_t bytes,
	       int proc)
{
	struct armci_req wait = {0};
	int rc;

	r->addr = seg->va + ((uintptr_t)prem - seg->name);
	ARMCI_COUNT(rmw_sent);
	rc = armci_am_value(r, proc, ploc, bytes, &wait);
	return rc ? rc : armci_req_wait(&wait);
}

static size_t word_bytes(int op)
{
	return op == ARMCI_SWAP || op == ARMCI_FETCH_AND_ADD ? sizeof(int) : sizeof(long);
}

int PARMCI_Rmw(int op, void *ploc, void *prem, int extra, int proc)
{
	ARMCI_ENTER;
	struct armci_request r = {.kind = ARMCI_REQUEST_RMW, .op = op};
	size_t bytes = word_bytes(op);
	struct armci_seg *seg;

	if (op < ARMCI_SWAP || op > ARMCI_FETCH_AND_ADD_LONG)
		armci_die("ARMCI_Rmw: %d is no operation", op);
	if (!ploc)
		return FAIL;
	if (armci_check_proc(proc))
		return FAIL5;
	if (op == ARMCI_SWAP || op == ARMCI_SWAP_LONG)
		memcpy(&r.value, ploc, bytes);
	else
		r.value = (uint64_t)(int64_t)extra;
	seg = word_find("ARMCI_Rmw", prem, bytes, proc);
	if (!seg->direct)
		return ask(&r, seg, prem, ploc, bytes, proc);
	r.value = armci_rmw_apply(op, prem, r.value);
	memcpy(ploc, &r.value, bytes);
	/* Calls are all the help that others get; and a loop over this is a loop in virtual time. */
	if (!armci_world.thread || armci_world.is_virtual)
		armci_poll();
	return 0;
}
ARMCI_ALIAS(Rmw);

#pragma GCC visibility push(default)

int ARMCIX_Compare_and_swap(int op, void *ploc, void *desired, void *prem, int proc)
{
	ARMCI_ENTER;
	struct armci_request r = {.kind = ARMCI_REQUEST_CAS, .op = op};
	size_t bytes = word_bytes(op);
	struct armci_seg *seg;

	if (op != ARMCI_SWAP && op != ARMCI_SWAP_LONG)
		armci_die("ARMCIX_Compare_and_swap: %d is no operation", op);
	if (!ploc || !desired)
		return FAIL;
	if (armci_check_proc(proc))
		return FAIL5;
	memcpy(&r.count, ploc, bytes);
	memcpy(&r.value, desired, bytes);
	seg = word_find("ARMCIX_Compare_and_swap", prem, bytes, proc);
	if (!seg->direct)
		return ask(&r, seg, prem, ploc, bytes, proc);
	r.value = armci_cas_apply(op, prem, r.count, r.value);
	memcpy(ploc, &r.value, bytes);
	return 0;
}

#pragma GCC visibility pop
