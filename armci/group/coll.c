/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "armci/core/target.h"
#include "armci/core/thread.h"
#include "armci/core/world.h"
#include "armci/group/coll.h"
#include "armci/group/group.h"
#include "drivers/base/assert.h"
#include "drivers/base/log.h"

int armci_coll_init(struct armci_group *g)
{
	static const pami_xfer_type_t used[] = {PAMI_XFER_BARRIER, PAMI_XFER_ALLREDUCE,
						PAMI_XFER_BROADCAST, PAMI_XFER_ALLGATHER};
	pami_metadata_t about;
	size_t i, n[2];

	for (i = 0; i < sizeof(used) / sizeof(used[0]); i++) {
		g->algorithm[used[i]] = 0;
		if (PAMI_Geometry_algorithms_num(g->geometry, used[i], n) == PAMI_SUCCESS &&
		    n[0] > 0)
			PAMI_Geometry_algorithms_query(g->geometry, used[i], &g->algorithm[used[i]],
						       &about, 1, NULL, NULL, 0);
	}
	if (g->algorithm[PAMI_XFER_BARRIER] && g->algorithm[PAMI_XFER_ALLREDUCE])
		return 0;
	drv_error("armci: this PAMI has no barrier or no allreduce");
	return FAIL6;
}

void armci_coll_set_state(pami_context_t context, void *cookie, pami_result_t result)
{
	*(int *)cookie = result == PAMI_SUCCESS ? 1 : -1;
}

int armci_group_find_dead(const struct armci_group *g)
{
	int i;

	for (i = 0; i < g->size && !armci_is_dead((int)g->task[i]); i++)
		;
	return i < g->size ? (int)g->task[i] : -1;
}

static void log_failure(struct armci_group *g)
{
	int dead = armci_group_find_dead(g);

	if (!g->failure_logged && dead >= 0)
		drv_error("armci: a collective of %d processes failed: process %d of them has died "
			  "or left; make a group without it",
			  g->size, dead);
	else if (!g->failure_logged)
		drv_error("armci: a collective of %d processes failed: the job lost a host that "
			  "connected some of them",
			  g->size);
	g->failure_logged = true;
}

/* 0 or FAIL6. */
static int run_collective(struct armci_group *g, pami_xfer_t *x, pami_xfer_type_t type)
{
	volatile int state = 0;
	pami_result_t rc;

	DRV_ASSERT(armci_has_lock());
	/* Another thread is in a collective of this group. All processes have the same order. */
	while (g->busy)
		armci_poll();
	g->busy = true;
	x->cb_done = armci_coll_set_state;
	x->cookie = (void *)&state;
	x->algorithm = g->algorithm[type];
	rc = PAMI_Collective(armci_world.context[ARMCI_ORIGIN], x);
	if (rc != PAMI_SUCCESS && rc != PAMI_SHUTDOWN)
		armci_die("cannot start a collective (PAMI result %d)", (int)rc);
	while (rc == PAMI_SUCCESS && !state)
		armci_poll();
	g->busy = false;
	armci_wake_waiting();
	if (state > 0)
		return 0;
	log_failure(g);
	return FAIL6;
}

int armci_coll_barrier(struct armci_group *g)
{
	pami_xfer_t x = {0};

	return g->size > 1 ? run_collective(g, &x, PAMI_XFER_BARRIER) : 0;
}

int armci_coll_allreduce(struct armci_group *g, void *buf, size_t count, size_t element_bytes,
			 pami_type_t type, pami_data_function op)
{
	pami_xfer_t x = {0};

	if (!count || g->size == 1)
		return 0;
	x.cmd.xfer_allreduce = (pami_allreduce_t){
	    .sndbuf = buf,
	    .stype = type,
	    .stypecount = count,
	    .rcvbuf = buf,
	    .rtype = type,
	    .rtypecount = count,
	    .op = op,
	    .commutative = 1,
	};
	return run_collective(g, &x, PAMI_XFER_ALLREDUCE);
}

int armci_coll_bcast(struct armci_group *g, void *buf, size_t bytes, int root)
{
	pami_xfer_t x = {0};

	if (!bytes || g->size == 1)
		return 0;
	if (!g->algorithm[PAMI_XFER_BROADCAST]) {
		if (armci_world.me != root)
			memset(buf, 0, bytes);
		return armci_coll_allreduce(g, buf, bytes, 1, PAMI_TYPE_UNSIGNED_CHAR,
					    PAMI_DATA_BOR);
	}
	x.cmd.xfer_broadcast = (pami_broadcast_t){
	    .root = armci_endpoint(root, ARMCI_ORIGIN),
	    .buf = buf,
	    .type = PAMI_TYPE_BYTE,
	    .typecount = bytes,
	};
	return run_collective(g, &x, PAMI_XFER_BROADCAST);
}

int armci_coll_allgather(struct armci_group *g, const void *own, void *all, size_t bytes)
{
	size_t n = (size_t)g->size;
	pami_xfer_t x = {0};

	if (!bytes)
		return 0;
	if (g->size == 1) {
		memmove(all, own, bytes);
		return 0;
	}
	if (!g->algorithm[PAMI_XFER_ALLGATHER]) {
		memset(all, 0, n * bytes);
		memcpy((char *)all + (size_t)g->rank * bytes, own, bytes);
		return armci_coll_allreduce(g, all, n * bytes, 1, PAMI_TYPE_UNSIGNED_CHAR,
					    PAMI_DATA_BOR);
	}
	x.cmd.xfer_allgather = (pami_allgather_t){
	    .sndbuf = (char *)(uintptr_t)own,
	    .stype = PAMI_TYPE_BYTE,
	    .stypecount = bytes,
	    .rcvbuf = all,
	    .rtype = PAMI_TYPE_BYTE,
	    .rtypecount = bytes,
	};
	return run_collective(g, &x, PAMI_XFER_ALLGATHER);
}
