/* SPDX-License-Identifier: BSD-3-Clause */
/* The library's lock, handlers, and how a call waits. */
#include <sched.h>

#include "agas/access/op.h"
#include "agas/core/lock.h"
#include "agas/core/world.h"
#include "agas/move/move.h"
#include "drivers/base/assert.h"
#include "pami/ext_wait.h"

static _Thread_local struct {
	uint32_t depth;    /* calls and handlers of this thread that have the lock */
	uint32_t handlers; /* of them, handlers */
} self;

static atomic_u32 entering; /* threads that wait for the lock */
static pami_quintorus_advancev_fn advance_waiting = PAMI_Context_advancev;

void agas_lock(void)
{
	if (self.depth++)
		return;
	if (PAMI_Context_trylock(agas_world.context) == PAMI_SUCCESS)
		return;
	atomic_fetch_add_relaxed(&entering, 1);
	PAMI_Context_lock(agas_world.context);
	atomic_fetch_sub_relaxed(&entering, 1);
}

void agas_unlock(const bool *locked)
{
	if (!--self.depth)
		PAMI_Context_unlock(agas_world.context);
}

void agas_handler_enter(void)
{
	self.depth++;
	self.handlers++;
}

void agas_handler_leave(const bool *inside)
{
	self.depth--;
	self.handlers--;
}

bool agas_is_in_handler(void)
{
	return self.handlers != 0;
}

void agas_wait_set(pami_quintorus_advancev_fn advancev)
{
	advance_waiting = advancev ? advancev : PAMI_Context_advancev;
}

/* Give the lock to the threads that wait for it. */
static void hand_over(void)
{
	PAMI_Context_unlock(agas_world.context);
	sched_yield();
	PAMI_Context_lock(agas_world.context);
}

void agas_poll(void)
{
	DRV_ASSERT(self.depth && !self.handlers);
	/* A thread must not sleep while an operation is backing off, since no message will wake it
	 * then. */
	if (agas_ops_wait_for_time())
		PAMI_Context_advancev(&agas_world.context, 1, 16);
	else
		advance_waiting(&agas_world.context, 1, 16);
	agas_ops_poll();
	if (atomic_load_relaxed(&entering) && self.depth == 1)
		hand_over();
}
