/* SPDX-License-Identifier: BSD-3-Clause */
/* Teams: PAMI geometries, and the collectives that run on them. */
#ifndef GASNET_CORE_TEAM_H
#define GASNET_CORE_TEAM_H

#include "gasnet/core/event.h"

struct gexi_team {
	uint32_t rank, size;
	pami_task_t *task; /* job rank of each member; NULL: the same number */
	pami_geometry_t geometry;
	pami_algorithm_t algorithm[PAMI_XFER_COUNT]; /* 0: not looked up */
	bool has_algorithm[PAMI_XFER_COUNT];
	gex_Flags_t flags;
	const void *cdata;
	gex_Memvec_t scratch;
	struct gexi_team *next; /* in the list of destroyed ones */
};

/* Return the job rank of a member; with GEX_FLAG_RANK_IS_JOBRANK the rank is one already. Ends the
 * process if there is no such rank. */
void gexi_rank_fail(const struct gexi_team *team, gex_Rank_t rank) __attribute__((noreturn, cold));
static inline uint32_t gexi_task_of(const struct gexi_team *team, gex_Rank_t rank)
{
	if (GEXI_UNLIKELY(!team || rank >= team->size))
		gexi_rank_fail(team, rank);
	return team->task ? team->task[rank] : rank;
}

/*
 * Start a collective; done(context, cookie, result) follows in a progress call. x->cmd is filled
 * in. The caller holds the lock.
 */
void gexi_collective_start(struct gexi_team *team, pami_xfer_type_t type, pami_xfer_t *x,
			   pami_event_function done, void *cookie);
/* Run a collective and wait for its end. The caller does not hold the lock. */
void gexi_collective_run(struct gexi_team *team, pami_xfer_type_t type, pami_xfer_t *x);

/* all[rank] = own of that member, `bytes` each. */
void gexi_allgather(struct gexi_team *team, const void *own, void *all, size_t bytes);
void gexi_barrier(struct gexi_team *team);

/* Return the endpoint of a member in collectives. */
static inline pami_endpoint_t gexi_member(const struct gexi_team *team, gex_Rank_t rank)
{
	return gexi_peer(gexi_task_of(team, rank))->endpoint[GEXI_MAIN];
}

#endif
