/* SPDX-License-Identifier: BSD-3-Clause */
/* Non-blocking handles as the program sees them. */
#include <string.h>

#include "armci/core/api.h"
#include "armci/core/target.h"
#include "armci/core/thread.h"
#include "armci/core/world.h"
#include "armci/transfer/agg.h"
#include "armci/transfer/op.h"

#pragma GCC visibility push(default)

void ARMCI_INIT_HANDLE(armci_hdl_t *h)
{
	memset(h, 0, sizeof(*h));
}

void ARMCI_SET_AGGREGATE_HANDLE(armci_hdl_t *h)
{
	h->armci_flags |= ARMCI_HANDLE_AGGREGATE;
}

void ARMCI_UNSET_AGGREGATE_HANDLE(armci_hdl_t *h)
{
	ARMCI_ENTER;
	PARMCI_Wait(h);
	h->armci_flags &= ~(unsigned)ARMCI_HANDLE_AGGREGATE;
}

#pragma GCC visibility pop

/* Only copies were started with the handle, and those are done. */
static bool is_unused(const armci_hdl_t *h)
{
	return !h || (!h->armci_slot && !(h->armci_flags & ARMCI_HANDLE_AGGREGATE));
}

int PARMCI_Wait(armci_hdl_t *h)
{
	if (is_unused(h))
		return 0;
	ARMCI_ENTER;
	if (atomic_ptr_load_relaxed(&armci_world.aggs))
		armci_agg_flush(h);
	return armci_handle_wait(h);
}
ARMCI_ALIAS(Wait);

int PARMCI_Test(armci_hdl_t *h)
{
	if (is_unused(h))
		return 0;
	ARMCI_ENTER;
	if (atomic_ptr_load_relaxed(&armci_world.aggs))
		armci_agg_flush(h);
	if (armci_handle_is_pending(h))
		armci_poll_briefly();
	return armci_handle_is_pending(h) ? 1 : armci_handle_wait(h);
}
ARMCI_ALIAS(Test);

int PARMCI_WaitProc(int proc)
{
	ARMCI_ENTER;
	int rc;

	if (armci_check_proc(proc))
		return FAIL5;
	armci_agg_flush_all();
	armci_wait_pending(proc);
	rc = armci_world.target[proc].failed ? FAIL6 : 0;
	armci_world.target[proc].failed = false;
	return rc;
}
ARMCI_ALIAS(WaitProc);

int PARMCI_WaitAll(void)
{
	ARMCI_ENTER;
	int rc = 0, i;

	armci_agg_flush_all();
	armci_wait_pending(-1);
	for (i = 0; armci_world.failed && i < armci_world.nproc; i++) {
		rc = armci_world.target[i].failed ? FAIL6 : rc;
		armci_world.target[i].failed = false;
	}
	armci_world.failed = false;
	return rc;
}
ARMCI_ALIAS(WaitAll);
