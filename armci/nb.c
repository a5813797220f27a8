/* SPDX-License-Identifier: BSD-3-Clause */
/* Non-blocking handles as the program sees them. */
#include <string.h>

#include "armci/state.h"

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

int PARMCI_Wait(armci_hdl_t *h)
{
	ARMCI_ENTER;
	if (!h)
		return 0;
	if (armci_world.aggs)
		armci_agg_flush(h);
	return armci_handle_wait(h);
}
ARMCI_ALIAS(Wait);

int PARMCI_Test(armci_hdl_t *h)
{
	ARMCI_ENTER;
	if (!h)
		return 0;
	if (armci_world.aggs)
		armci_agg_flush(h);
	if (armci_handle_pending(h))
		armci_poll();
	return armci_handle_pending(h) ? 1 : armci_handle_wait(h);
}
ARMCI_ALIAS(Test);

int PARMCI_WaitProc(int proc)
{
	ARMCI_ENTER;
	int rc;

	if (armci_check_proc(proc))
		return FAIL5;
	if (armci_world.aggs)
		armci_agg_flush_all();
	while (armci_world.target[proc].pending)
		armci_poll();
	rc = armci_world.target[proc].failed ? FAIL6 : 0;
	armci_world.target[proc].failed = false;
	return rc;
}
ARMCI_ALIAS(WaitProc);

int PARMCI_WaitAll(void)
{
	ARMCI_ENTER;
	int rc = 0, i;

	if (armci_world.aggs)
		armci_agg_flush_all();
	while (armci_world.pending)
		armci_poll();
	for (i = 0; armci_world.failed && i < armci_world.nproc; i++) {
		rc = armci_world.target[i].failed ? FAIL6 : rc;
		armci_world.target[i].failed = false;
	}
	armci_world.failed = false;
	return rc;
}
ARMCI_ALIAS(WaitAll);
