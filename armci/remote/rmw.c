/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Read-modify-write by the processor's atomic instructions. The caller executes them where the
 * memory is mapped, else the owner's MU does where it can (--hw mu_atomics), else the owner's
 * program or thread does on an active message. All are atomic against each other.
 */
#include <string.h>

#include "armci/core/api.h"
#include "armci/core/counter.h"
#include "armci/core/target.h"
#include "armci/core/thread.h"
#include "armci/core/world.h"
#include "armci/memory/seg.h"
#include "armci/remote/am.h"
#include "armci/remote/serve.h"
#include "armci/transfer/op.h"
#include "armci/transfer/xfer.h"
#include "drivers/base/atomic.h"

uint64_t armci_rmw_apply(int op, void *p, uint64_t value)
{
	switch (op) {
	case ARMCI_SWAP:
		return atomic_exchange_seq_cst((uint32_t *)p, (uint32_t)value);
	case ARMCI_SWAP_LONG:
		return atomic_exchange_seq_cst((uint64_t *)p, value);
	case ARMCI_FETCH_AND_ADD:
		return atomic_fetch_add_seq_cst((uint32_t *)p, (uint32_t)value);
	default:
		return atomic_fetch_add_seq_cst((uint64_t *)p, value);
	}
}

uint64_t armci_cas_apply(int op, void *p, uint64_t expected, uint64_t desired)
{
	uint32_t word = (uint32_t)expected;

	if (op == ARMCI_SWAP) {
		atomic_cas_seq_cst((uint32_t *)p, &word, (uint32_t)desired);
		return word;
	}
	atomic_cas_seq_cst((uint64_t *)p, &expected, desired);
	return expected;
}

/* The segment of the word, once this process's earlier writes to the word are done. */
static struct armci_seg *word_find(const char *call, void *prem, size_t bytes, int proc)
{
	struct armci_seg *seg = armci_seg_find(proc, (uintptr_t)prem, bytes);

	if ((uintptr_t)prem % bytes)
		armci_die("%s: address %p of process %d is not aligned to %zu", call, prem, proc,
			  bytes);
	armci_order_access(seg, proc, (uintptr_t)prem - seg->name, bytes, ARMCI_CLASS_READ);
	return seg;
}

static void complete_at_mu(pami_context_t context, void *cookie, pami_result_t result)
{
	armci_op_complete_local(cookie, result == PAMI_SUCCESS);
}

bool armci_rmw_by_mu(const struct armci_request *r, void *ploc, size_t bytes, int proc, int *rc)
{
	uint64_t test = r->count, value = r->value;
	struct armci_req wait = {0};
	struct armci_op *op;
	pami_rmw_t p = {
	    .dest = armci_endpoint(proc, ARMCI_SERVE),
	    .done_fn = complete_at_mu,
	    .local = ploc,
	    .remote = (void *)(uintptr_t)r->addr,
	    .value = &value,
	    .test = &test,
	    .operation = r->kind == ARMCI_REQUEST_CAS ? PAMI_ATOMIC_FETCH_COMPARE_SET
			 : r->op == ARMCI_SWAP || r->op == ARMCI_SWAP_LONG ? PAMI_ATOMIC_FETCH_SET
									   : PAMI_ATOMIC_FETCH_ADD,
	    .type = bytes == 4 ? PAMI_TYPE_UNSIGNED_INT : PAMI_TYPE_UNSIGNED_LONG_LONG,
	};

	if (!armci_world.has_atomic || !armci_world.has_atomic(p.operation, p.type, value))
		return false;
	op = armci_op_create(proc, &wait);
	p.cookie = op;
	if (PAMI_Rmw(armci_world.context[ARMCI_ORIGIN], &p) != PAMI_SUCCESS)
		armci_op_complete_local(op, false);
	*rc = armci_req_wait(&wait);
	return true;
}

/* Let the owner execute it; the old value goes to ploc. */
static int request_from_owner(struct armci_request *r, struct armci_seg *seg, void *prem,
			      void *ploc, size_t bytes, int proc)
{
	struct armci_req wait = {0};
	int rc;

	r->addr = seg->va + ((uintptr_t)prem - seg->name);
	if (armci_rmw_by_mu(r, ploc, bytes, proc, &rc)) {
		ARMCI_COUNT(rmw_by_mu);
		return rc;
	}
	ARMCI_COUNT(rmw_sent);
	rc = armci_am_request_value(r, proc, ploc, bytes, &wait);
	return rc ? rc : armci_req_wait(&wait);
}

static size_t word_bytes(int op)
{
	return op == ARMCI_SWAP || op == ARMCI_FETCH_AND_ADD ? sizeof(int) : sizeof(long);
}

/* May this thread load and store the word without the lock? */
static bool is_reachable(void *prem, size_t bytes, int proc)
{
	struct armci_reach d;

	return (uintptr_t)prem % bytes == 0 && armci_can_reach(proc, (uintptr_t)prem, bytes, &d);
}

/*
 * Without asynchronous progress, calls are the only time at which this process serves others. In
 * virtual time a loop over this call must let the clock go on.
 */
static void poll_where_needed(void)
{
	if (!armci_world.thread || armci_world.is_virtual) {
		ARMCI_ENTER;
		armci_poll_briefly();
	}
}

static int run_rmw(struct armci_request *r, void *ploc, void *prem, size_t bytes, int proc)
{
	ARMCI_ENTER;
	struct armci_seg *seg = word_find("ARMCI_Rmw", prem, bytes, proc);

	if (!seg->direct)
		return request_from_owner(r, seg, prem, ploc, bytes, proc);
	r->value = armci_rmw_apply(r->op, prem, r->value);
	memcpy(ploc, &r->value, bytes);
	poll_where_needed();
	return 0;
}

int PARMCI_Rmw(int op, void *ploc, void *prem, int extra, int proc)
{
	struct armci_request r = {.kind = ARMCI_REQUEST_RMW, .op = op};
	size_t bytes = word_bytes(op);

	if (op < ARMCI_SWAP || op > ARMCI_FETCH_AND_ADD_LONG)
		armci_die("ARMCI_Rmw: %d is not an operation (ARMCI_SWAP ...)", op);
	if (!ploc)
		return FAIL;
	if (armci_check_proc(proc))
		return FAIL5;
	if (op == ARMCI_SWAP || op == ARMCI_SWAP_LONG)
		memcpy(&r.value, ploc, bytes);
	else
		r.value = (uint64_t)(int64_t)extra;
	if (!is_reachable(prem, bytes, proc))
		return run_rmw(&r, ploc, prem, bytes, proc);
	r.value = armci_rmw_apply(op, prem, r.value);
	memcpy(ploc, &r.value, bytes);
	poll_where_needed();
	return 0;
}
ARMCI_ALIAS(Rmw);

#pragma GCC visibility push(default)

static int compare_and_swap(struct armci_request *r, void *ploc, void *prem, size_t bytes, int proc)
{
	ARMCI_ENTER;
	struct armci_seg *seg = word_find("ARMCIX_Compare_and_swap", prem, bytes, proc);

	if (!seg->direct)
		return request_from_owner(r, seg, prem, ploc, bytes, proc);
	r->value = armci_cas_apply(r->op, prem, r->count, r->value);
	memcpy(ploc, &r->value, bytes);
	return 0;
}

int ARMCIX_Compare_and_swap(int op, void *ploc, void *desired, void *prem, int proc)
{
	struct armci_request r = {.kind = ARMCI_REQUEST_CAS, .op = op};
	size_t bytes = word_bytes(op);

	if (op != ARMCI_SWAP && op != ARMCI_SWAP_LONG)
		armci_die("ARMCIX_Compare_and_swap: %d is neither ARMCI_SWAP nor ARMCI_SWAP_LONG",
			  op);
	if (!ploc || !desired)
		return FAIL;
	if (armci_check_proc(proc))
		return FAIL5;
	memcpy(&r.count, ploc, bytes);
	memcpy(&r.value, desired, bytes);
	if (!is_reachable(prem, bytes, proc))
		return compare_and_swap(&r, ploc, prem, bytes, proc);
	r.value = armci_cas_apply(op, prem, r.count, r.value);
	memcpy(ploc, &r.value, bytes);
	return 0;
}

#pragma GCC visibility pop
