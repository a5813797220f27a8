/* SPDX-License-Identifier: BSD-3-Clause */
/* Global interrupts and barriers over them (spi/include/mu/GI.h, GIBarrier.h).
 * docs/hardware.md 8.6. */
#include <errno.h>

#include "muspi/unit.h"

static volatile uint64_t *control_of(uint32_t route)
{
	return &unit.table->gi_control[route];
}

static volatile uint64_t *status_of(uint32_t route)
{
	return &unit.table->gi_status[route];
}

static void write_control(volatile uint64_t *at, uint64_t bits)
{
	mu_charge(MU_COST_gi_store, 1);
	atomic_store_release((uint64_t *)at, bits);
	quintorus_mu_doorbell();
}

/* Poll until fn says 0. cycles 0: no limit. */
static int32_t poll_until(int32_t (*fn)(void *), void *arg, uint64_t cycles)
{
	uint64_t from = cycles ? GetTimeBase() : 0;
	int32_t rc;

	while ((rc = fn(arg)) && (!cycles || GetTimeBase() - from < cycles))
		;
	return rc;
}

/* ---- signals ---- */

UNIT_API int32_t MUSPI_GIInit(MUSPI_GI_t *gi, uint32_t route, uint32_t id)
{
	int rc = unit_attach();

	if (rc)
		return rc;
	if (route >= BGQ_GI_CLASS_MAX_CLASSROUTES || id >= BGQ_GI_CLASS_MAX_GI_PER_CLASSROUTE)
		return EINVAL;
	*gi = (MUSPI_GI_t){route, control_of(route), status_of(route), 4ull >> id};
	return 0;
}

UNIT_API int32_t MUSPI_GISend(MUSPI_GI_t *gi)
{
	write_control(gi->controlRegPtr, *gi->controlRegPtr | gi->mask);
	return 0;
}

UNIT_API int32_t MUSPI_GISendClear(MUSPI_GI_t *gi)
{
	write_control(gi->controlRegPtr, *gi->controlRegPtr & ~gi->mask);
	return 0;
}

static bool is_raised(const MUSPI_GI_t *gi)
{
	return (atomic_load_acquire((uint64_t *)gi->statusRegPtr) & gi->mask) != 0;
}

UNIT_API int32_t MUSPI_GIPollForArrival(MUSPI_GI_t *gi)
{
	if (!is_raised(gi))
		quintorus_mu_poll();
	return is_raised(gi) ? 0 : -1;
}

UNIT_API int32_t MUSPI_GIPollForClear(MUSPI_GI_t *gi)
{
	if (is_raised(gi))
		quintorus_mu_poll();
	return is_raised(gi) ? -1 : 0;
}

static int32_t poll_arrival(void *arg)
{
	return MUSPI_GIPollForArrival(arg);
}

static int32_t poll_clear(void *arg)
{
	return MUSPI_GIPollForClear(arg);
}

UNIT_API int32_t MUSPI_GIPollForArrivalWithTimeout(MUSPI_GI_t *gi, uint64_t cycles)
{
	return poll_until(poll_arrival, gi, cycles ? cycles : 1);
}

UNIT_API int32_t MUSPI_GIPollForClearWithTimeout(MUSPI_GI_t *gi, uint64_t cycles)
{
	return poll_until(poll_clear, gi, cycles ? cycles : 1);
}

UNIT_API int32_t MUSPI_GIInitMU(uint32_t route, uint32_t id,
				MUSPI_GIInitMUBarrierFunction_t barrier, void *param,
				uint64_t cycles)
{
	MUSPI_GI_t gi;
	int32_t rc = MUSPI_GIInit(&gi, route, id);

	if (rc)
		return rc;
	barrier(param);
	MUSPI_GISendClear(&gi);
	barrier(param);
	rc = poll_until(poll_clear, &gi, cycles);
	barrier(param);
	return rc;
}

/* ---- barriers ---- */

UNIT_API int32_t MUSPI_GIBarrierInitMU1(uint32_t route)
{
	int rc = unit_attach();

	if (rc)
		return rc;
	if (route >= BGQ_GI_CLASS_MAX_CLASSROUTES)
		return EINVAL;
	write_control(control_of(route), MUSPI_GIBARRIER_INITIAL_STATE);
	return 0;
}

static int32_t poll_initial(void *arg)
{
	volatile uint64_t *status = arg;

	if ((atomic_load_acquire((uint64_t *)status) & 7) == MUSPI_GIBARRIER_INITIAL_STATE)
		return 0;
	quintorus_mu_poll();
	return -1;
}

UNIT_API int32_t MUSPI_GIBarrierInitMU2(uint32_t route, uint64_t cycles)
{
	int rc = unit_attach();

	if (rc)
		return rc;
	if (route >= BGQ_GI_CLASS_MAX_CLASSROUTES)
		return EINVAL;
	return poll_until(poll_initial, (void *)(uintptr_t)status_of(route), cycles);
}

UNIT_API int32_t MUSPI_GIBarrierInitMU(uint32_t route,
				       MUSPI_GIBarrierInitMUBarrierFunction_t barrier, void *param,
				       uint64_t cycles)
{
	int32_t rc;

	barrier(param);
	rc = MUSPI_GIBarrierInitMU1(route);
	if (rc)
		return rc;
	barrier(param);
	rc = MUSPI_GIBarrierInitMU2(route, cycles);
	barrier(param);
	return rc;
}

UNIT_API int32_t MUSPI_GIBarrierInit(MUSPI_GIBarrier_t *b, uint32_t route)
{
	int rc = unit_attach();
	uint64_t state;

	if (rc)
		return rc;
	if (route >= BGQ_GI_CLASS_MAX_CLASSROUTES)
		return EINVAL;
	state = *control_of(route) & 7;
	*b = (MUSPI_GIBarrier_t){route, control_of(route), status_of(route),
				 state ? state : MUSPI_GIBARRIER_INITIAL_STATE};
	return 0;
}

static uint64_t next_state(uint64_t state)
{
	return state == 1 ? 4 : state >> 1;
}

UNIT_API int32_t MUSPI_GIBarrierEnter(MUSPI_GIBarrier_t *b)
{
	ppc_msync();
	write_control(b->controlRegPtr, next_state(b->state));
	return 0;
}

UNIT_API int32_t MUSPI_GIBarrierPoll(MUSPI_GIBarrier_t *b)
{
	if (atomic_load_acquire((uint64_t *)b->statusRegPtr) & b->state)
		quintorus_mu_poll();
	if (atomic_load_acquire((uint64_t *)b->statusRegPtr) & b->state)
		return -1;
	b->state = next_state(b->state);
	return 0;
}

static int32_t poll_barrier(void *arg)
{
	return MUSPI_GIBarrierPoll(arg);
}

UNIT_API int32_t MUSPI_GIBarrierPollWithTimeout(MUSPI_GIBarrier_t *b, uint64_t cycles)
{
	return poll_until(poll_barrier, b, cycles ? cycles : 1);
}

UNIT_API int32_t MUSPI_GIBarrierEnterAndWait(MUSPI_GIBarrier_t *b)
{
	MUSPI_GIBarrierEnter(b);
	return poll_until(poll_barrier, b, 0);
}

UNIT_API int32_t MUSPI_GIBarrierEnterAndWaitWithTimeout(MUSPI_GIBarrier_t *b, uint64_t cycles)
{
	MUSPI_GIBarrierEnter(b);
	return MUSPI_GIBarrierPollWithTimeout(b, cycles);
}
