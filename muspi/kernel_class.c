/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel calls for class routes (spi/include/kernel/collective.h, gi.h). */
#include <errno.h>

#include "emu/class.h"
#include "mu/channel/class_route.h"
#include "muspi/unit.h"

#define ROUTES BGQ_COLL_CLASS_MAX_CLASSROUTES

static int query_free(uint32_t used, uint32_t *n, uint32_t *ids, size_t bytes)
{
	uint32_t count = 0;

	if (!n || !ids)
		return EINVAL;
	for (uint32_t r = 0; r < ROUTES; r++) {
		if (used >> r & 1)
			continue;
		if (bytes / sizeof *ids <= count)
			return EINVAL;
		ids[count++] = r;
	}
	*n = count;
	return 0;
}

static int allocate_route(atomic_u32 *used, int64_t id)
{
	if (id < 0 || id >= ROUTES)
		return EINVAL;
	return atomic_fetch_or_acq_rel(used, 1u << id) >> id & 1 ? EAGAIN : 0;
}

/* The same, with the half of the router's route that goes with it. */
static int allocate_half(atomic_u32 *used, int64_t id, unsigned half)
{
	int rc = allocate_route(used, id);

	if (!rc && mu_routers_combine() && !mu_class_reserve((unsigned)id, half)) {
		atomic_fetch_and_acq_rel(used, ~(1u << id));
		rc = EAGAIN; /* PAMI has it */
	}
	return rc;
}

/* Routes 0, 14 and 15 are not the program's to give up. */
static bool may_release(const atomic_u32 *used, int64_t id)
{
	return id > 0 && id < 14 && atomic_load_acquire(used) >> id & 1;
}

static int release_route(atomic_u32 *used, atomic_u32 *route, int64_t id)
{
	if (!may_release(used, id))
		return EINVAL;
	atomic_store_release(&route[id], 0);
	atomic_fetch_and_acq_rel(used, ~(1u << id));
	unit_wake();
	return 0;
}

static void unpack_routes(const atomic_u32 *from, ClassRoute_t *to)
{
	for (unsigned r = 0; r < ROUTES; r++) {
		uint32_t v = atomic_load_acquire(&from[r]);

		to[r] = (ClassRoute_t){(uint16_t)(v >> 16), (uint16_t)v};
	}
}

static void store_route(atomic_u32 *table, int64_t id, const ClassRoute_t *route)
{
	atomic_store_release(&table[id], (uint32_t)route->input << 16 | route->output);
	quintorus_mu_doorbell();
}

UNIT_API int32_t Kernel_QueryCollectiveClassRoutes(uint32_t *n, uint32_t *ids, size_t bytes)
{
	uint32_t used;
	int rc = unit_attach();

	if (rc)
		return rc;
	used = atomic_load_acquire(&unit.table->coll_used);
	if (mu_routers_combine())
		used |= ~mu_class_find_free(MU_ROUTE_PACKETS);
	return query_free(used, n, ids, bytes);
}

UNIT_API int32_t Kernel_AllocateCollectiveClassRoute(uint32_t id)
{
	int rc = unit_attach();

	return rc ? rc : allocate_half(&unit.table->coll_used, id, MU_ROUTE_PACKETS);
}

/* Program a half of a route in the node's router. 0 or a positive errno. */
static int set_router(uint32_t id, unsigned half, const ClassRoute_t *route)
{
	int rc;

	unit_lock();
	rc = mu_router_set_route(unit.ch, id, half, route);
	unit_unlock();
	return rc < 0 ? -rc : rc;
}

/* Free a half of a route in the node's router, and give the id back. */
static int release_half(atomic_u32 *used, atomic_u32 *route, int64_t id, unsigned half)
{
	static const ClassRoute_t none;
	int rc = 0;

	if (mu_routers_combine() && may_release(used, id))
		rc = set_router((uint32_t)id, half, &none);
	rc = rc ? rc : release_route(used, route, id);
	if (!rc && mu_routers_combine())
		mu_class_unreserve((unsigned)id, half);
	return rc;
}

UNIT_API int32_t Kernel_DeallocateCollectiveClassRoute(uint32_t id)
{
	int rc = unit_attach();

	return rc ? rc
		  : release_half(&unit.table->coll_used, unit.table->coll, id, MU_ROUTE_PACKETS);
}

UNIT_API int32_t Kernel_SetCollectiveClassRoute(uint32_t id, ClassRoute_t *route)
{
	ClassRoute_t all[ROUTES];
	int rc = unit_attach();

	if (rc)
		return rc;
	if (!route || id >= ROUTES || !(atomic_load_acquire(&unit.table->coll_used) >> id & 1))
		return EINVAL;
	unpack_routes(unit.table->coll, all);
	if (route->input || route->output)
		rc = emu_class_check(all, id, route, 0);
	if (!rc && mu_routers_combine())
		rc = set_router(id, MU_ROUTE_PACKETS, route);
	if (!rc)
		store_route(unit.table->coll, id, route);
	return rc;
}

UNIT_API int32_t Kernel_GetInjectionChecksum(uint64_t link, uint64_t *sum)
{
	if (link > 15 || !sum)
		return EINVAL;
	*sum = unit.sum[link];
	return 0;
}

UNIT_API int32_t Kernel_ClearInjectionChecksum(uint64_t link)
{
	if (link > 15)
		return EINVAL;
	unit.sum[link] = 0;
	return 0;
}

UNIT_API int32_t Kernel_QueryGlobalInterruptClassRoutes(uint32_t *n, uint32_t *ids, size_t bytes)
{
	uint32_t used;
	int rc = unit_attach();

	if (rc)
		return rc;
	used = atomic_load_acquire(&unit.table->gi_used);
	if (mu_routers_combine())
		used |= ~mu_class_find_free(MU_ROUTE_SIGNALS);
	return query_free(used, n, ids, bytes);
}

UNIT_API int32_t Kernel_AllocateGlobalInterruptClassRoute(
    uint32_t id, Kernel_GlobalInterruptClassRouteAttributes_t *attributes)
{
	int rc = unit_attach();

	if (rc)
		return rc;
	if (attributes && attributes->System)
		return EACCES;
	rc = allocate_half(&unit.table->gi_used, id, MU_ROUTE_SIGNALS);
	if (!rc) {
		unit.table->gi_control[id] = unit.table->gi_status[id] = 0;
		quintorus_mu_doorbell();
	}
	return rc;
}

UNIT_API int32_t Kernel_DeallocateGlobalInterruptClassRoute(int32_t id)
{
	int rc = unit_attach();

	return rc ? rc : release_half(&unit.table->gi_used, unit.table->gi, id, MU_ROUTE_SIGNALS);
}

UNIT_API int32_t Kernel_CheckGlobalInterruptClassRoute(int32_t id, ClassRoute_t *route)
{
	ClassRoute_t all[ROUTES];
	int rc = unit_attach();

	if (rc)
		return rc;
	if (!route || id < 0 || id >= ROUTES ||
	    !(atomic_load_acquire(&unit.table->gi_used) >> id & 1))
		return EINVAL;
	unpack_routes(unit.table->gi, all);
	return emu_class_check_gi(all, (unsigned)id, route);
}

static int set_interrupt_route(int32_t id, const ClassRoute_t *route)
{
	int rc = mu_routers_combine() ? set_router((uint32_t)id, MU_ROUTE_SIGNALS, route) : 0;

	if (!rc)
		store_route(unit.table->gi, id, route);
	return rc;
}

UNIT_API int32_t Kernel_SetGlobalInterruptClassRoute(int32_t id, ClassRoute_t *route)
{
	int rc = Kernel_CheckGlobalInterruptClassRoute(id, route);

	return rc ? rc : set_interrupt_route(id, route);
}

UNIT_API int32_t Kernel_SetEmptyGlobalInterruptClassRoute(int32_t id)
{
	static const ClassRoute_t none;

	if (unit_attach() || id <= 0 || id >= ROUTES ||
	    !(atomic_load_acquire(&unit.table->gi_used) >> id & 1))
		return EINVAL;
	return set_interrupt_route(id, &none);
}

UNIT_API int32_t Kernel_ConfigureGIInterrupts(uint32_t route, uint32_t id,
					      Kernel_GIInterruptFlag_t flag)
{
	if (route >= ROUTES || id >= BGQ_GI_CLASS_MAX_GI_PER_CLASSROUTE)
		return EINVAL;
	return flag == KERNEL_GI_INTERRUPT_FLAG_DISABLE ? 0 : ENOTSUP;
}

UNIT_API int32_t Kernel_GetGlobalBarrierUserClassRouteId(uint32_t *id)
{
	if (!id)
		return EINVAL;
	*id = 0;
	return 0;
}
