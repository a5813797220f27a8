/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "agas/access/serve.h"
#include "agas/core/coll.h"
#include "agas/core/world.h"
#include "drivers/base/log.h"

/* A rank leaves the last meeting after this time at the latest. */
#define PART_S 1.0

static pami_algorithm_t algorithm[PAMI_XFER_COUNT];
static pami_geometry_t world_geometry;

static const pami_xfer_type_t used[] = {PAMI_XFER_BARRIER, PAMI_XFER_BROADCAST,
					PAMI_XFER_ALLGATHER};

/*
 * Barriers that outlive ranks. Each call has a number. While all ranks live it is PAMI's barrier.
 * If a rank is missing, each living rank tells all others that it is at this call, and waits for
 * all that live. A death may end PAMI's barrier for some ranks and not for others. The latter have
 * left this call already: they answer that it is complete, and that completes it for all.
 */
static struct {
	uint64_t call;     /* the last one of this rank */
	uint64_t complete; /* the last one to which all ranks came */
	uint64_t *arrived; /* [ranks] the last one that we know a rank to have reached */
	unsigned told;     /* deaths that a call has reported */
} meeting;

struct meet_wire {
	uint64_t call;
	uint64_t complete; /* 1: all ranks came to it */
};

int agas_coll_open(void)
{
	pami_metadata_t about;
	size_t i, n[2];

	meeting.arrived = calloc(agas_world.space.ranks, sizeof(*meeting.arrived));
	if (!meeting.arrived) {
		drv_error("agas: no memory for %u ranks", agas_world.space.ranks);
		return AGAS_ESTATE;
	}
	if (PAMI_Geometry_world(agas_world.client, &world_geometry) != PAMI_SUCCESS)
		return AGAS_ESTATE;
	for (i = 0; i < sizeof(used) / sizeof(used[0]); i++) {
		if (PAMI_Geometry_algorithms_num(world_geometry, used[i], n) != PAMI_SUCCESS ||
		    !n[0] ||
		    PAMI_Geometry_algorithms_query(world_geometry, used[i], &algorithm[used[i]],
						   &about, 1, NULL, NULL, 0) != PAMI_SUCCESS) {
			drv_error("agas: this PAMI lacks barrier, broadcast or allgather");
			return AGAS_ESTATE;
		}
	}
	return 0;
}

void agas_coll_close(void)
{
	free(meeting.arrived);
	memset(&meeting, 0, sizeof(meeting));
}

static void set_state(pami_context_t context, void *cookie, pami_result_t result)
{
	*(volatile int *)cookie = result == PAMI_SUCCESS ? 1 : -1;
}

static int run_collective(pami_xfer_t *x, pami_xfer_type_t type)
{
	volatile int state = 0;
	pami_result_t rc;

	x->cb_done = set_state;
	x->cookie = (void *)&state;
	x->algorithm = algorithm[type];
	rc = PAMI_Collective(agas_world.context, x);
	while (rc == PAMI_SUCCESS && !state)
		agas_poll();
	return state > 0 ? 0 : AGAS_EDEAD;
}

int agas_coll_barrier(void)
{
	pami_xfer_t x = {0};

	return agas_world.space.ranks > 1 ? run_collective(&x, PAMI_XFER_BARRIER) : 0;
}

static void meet_send(uint32_t rank, uint64_t call, bool complete)
{
	struct meet_wire w = {.call = call, .complete = complete};

	agas_send(rank, AGAS_DISPATCH_MEET, &w, sizeof(w), NULL, 0, NULL);
}

void agas_coll_receive(pami_context_t context, void *cookie, const void *header,
		       size_t header_bytes, const void *data, size_t bytes, pami_endpoint_t origin,
		       pami_recv_t *recv)
{
	AGAS_HANDLER;
	struct meet_wire w;
	pami_task_t from;
	size_t offset;

	memcpy(&w, header, sizeof(w));
	PAMI_Endpoint_query(origin, &from, &offset);
	if (meeting.arrived[from] < w.call)
		meeting.arrived[from] = w.call;
	if (w.complete && meeting.complete < w.call)
		meeting.complete = w.call;
	else if (!w.complete && meeting.complete >= w.call)
		meet_send(from, w.call, true);
}

static bool have_all_arrived(uint64_t call)
{
	uint32_t r;

	for (r = 0; r < agas_world.space.ranks; r++)
		if (r != agas_world.me && !agas_is_dead(r) && meeting.arrived[r] < call)
			return false;
	return true;
}

static void meet_send_all(uint64_t call, bool complete)
{
	uint32_t r;

	for (r = 0; r < agas_world.space.ranks; r++)
		if (r != agas_world.me)
			meet_send(r, call, complete);
}

static bool have_met(uint64_t call)
{
	return meeting.complete >= call || have_all_arrived(call);
}

int agas_coll_meet(void)
{
	uint64_t call = ++meeting.call;

	if (!agas_world.deaths && !agas_coll_barrier())
		meeting.complete = call;
	if (meeting.complete >= call)
		return 0;
	meet_send_all(call, false);
	while (!have_met(call))
		agas_poll();
	if (meeting.complete >= call || meeting.told == agas_world.deaths)
		return 0;
	meeting.told = agas_world.deaths;
	return AGAS_EDEAD;
}

void agas_coll_part(void)
{
	uint64_t call = ++meeting.call;
	double end;

	if (!agas_world.deaths && !agas_coll_barrier())
		return;
	meet_send_all(call, false);
	end = PAMI_Wtime(agas_world.client) + PART_S;
	/* No message may come, so this thread must not sleep until one comes. */
	while (!have_met(call) && PAMI_Wtime(agas_world.client) < end)
		PAMI_Context_advancev(&agas_world.context, 1, 16);
	meet_send_all(call, true);
}

int agas_coll_bcast(void *buf, size_t bytes, uint32_t root)
{
	pami_xfer_t x = {0};

	if (agas_world.space.ranks == 1)
		return 0;
	x.cmd.xfer_broadcast = (pami_broadcast_t){.root = agas_world.endpoint[root],
						  .buf = buf,
						  .type = PAMI_TYPE_BYTE,
						  .typecount = bytes};
	return run_collective(&x, PAMI_XFER_BROADCAST);
}

int agas_coll_allgather(const void *own, void *all, size_t bytes)
{
	pami_xfer_t x = {0};

	if (agas_world.space.ranks == 1) {
		memmove(all, own, bytes);
		return 0;
	}
	x.cmd.xfer_allgather = (pami_allgather_t){.sndbuf = (char *)(uintptr_t)own,
						  .stype = PAMI_TYPE_BYTE,
						  .stypecount = bytes,
						  .rcvbuf = all,
						  .rtype = PAMI_TYPE_BYTE,
						  .rtypecount = bytes};
	return run_collective(&x, PAMI_XFER_ALLGATHER);
}
