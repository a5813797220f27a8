/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lists of algorithms that programs see, and the choice. Entry [0] of each list is the choice
 * of coll/table.def; programs may ask for the others. New entries go to the end of a list, so that
 * the numbers of the others stay.
 */
#include "drivers/base/atomic.h"
#include "pami/coll/algorithms.h"
#include "pami/coll/hw/hw.h"
#include "pami/core/error.h"
#include "pami/core/macros.h"
#include "pami/core/query.h"
#include "pami/geometry/geometry.h"

#define CHOICE "I0:Default:Shmem:P2P"

/* In stages: through the memory of teams, or by messages, first (coll/hier). */
#define NODE_SHMEM(name_)                                                                          \
	{                                                                                          \
		.name = name_, .step = pami_node_shm_up, .begin = pami_node_shm_begin,             \
		.usable = pami_node_shm_usable                                                     \
	}
#define NODE_MESSAGES(name_)                                                                       \
	{                                                                                          \
		.name = name_, .step = pami_node_start, .begin = pami_node_begin,                  \
		.usable = pami_node_usable                                                         \
	}

#define PARTS(name_)                                                                               \
	{                                                                                          \
		.name = name_, .step = pami_parts_step, .begin = pami_parts_begin,                 \
		.usable = pami_node_shm_usable                                                     \
	}

#define REMOTE_LINES(name_)                                                                        \
	{                                                                                          \
		.name = name_, .step = pami_remote_lines_step, .begin = pami_remote_lines_begin,   \
		.usable = pami_remote_lines_usable                                                 \
	}

static const struct pami_algorithm_info barriers[] = {
    {.name = CHOICE},
    {.name = "I0:Dissemination:-:P2P", .step = pami_barrier_step},
    {.name = "I0:Dissemination4:-:P2P", .step = pami_barrier_radix, .param = 4},
    {.name = "I0:Tree4:-:P2P", .step = pami_barrier_tree, .param = 4},
    {.name = "I0:Flat:Shmem:-",
     .step = pami_shm_barrier,
     .begin = pami_shm_barrier_begin,
     .usable = pami_shm_usable,
     .in_team_memory = true},
    NODE_SHMEM("I0:Dissemination:Shmem:P2P"),
    NODE_MESSAGES("I0:Dissemination:P2P:P2P"),
    {.name = "I0:GI:Shmem:GI",
     .step = pami_hw_barrier,
     .begin = pami_hw_begin,
     .usable = pami_hw_usable_gi,
     .hw = true},
    REMOTE_LINES("I0:Flat:Shmem:Store"),
};

static const struct pami_algorithm_info broadcasts[] = {
    {.name = CHOICE},
    {.name = "I0:BinomialTree:-:P2P", .step = pami_broadcast_tree, .param = 2},
    {.name = "I0:Tree4:-:P2P", .step = pami_broadcast_tree, .param = 4},
    {.name = "I0:Linear:-:P2P", .step = pami_broadcast_flat},
    {.name = "I0:ScatterRing:-:P2P",
     .step = pami_broadcast_ring,
     .begin = pami_broadcast_ring_begin},
    {.name = "I0:Pipeline64K:-:P2P", .step = pami_broadcast_chain, .param = 65536},
    {.name = "I0:Flat:Shmem:-",
     .step = pami_shm_broadcast,
     .begin = pami_shm_broadcast_begin,
     .usable = pami_shm_usable,
     .in_team_memory = true},
    NODE_SHMEM("I0:BinomialTree:Shmem:P2P"),
    NODE_MESSAGES("I0:BinomialTree:P2P:P2P"),
    {.name = "I1:Tree3:-:P2P", .step = pami_broadcast_tree, .param = 3, .consult = true},
    {.name = "I1:Tree5:-:P2P", .step = pami_broadcast_tree, .param = 5, .consult = true},
    {.name = "I1:Tree6:-:P2P", .step = pami_broadcast_tree, .param = 6, .consult = true},
    {.name = "I1:Tree8:-:P2P", .step = pami_broadcast_tree, .param = 8, .consult = true},
    {.name = "I1:Tree12:-:P2P", .step = pami_broadcast_tree, .param = 12, .consult = true},
    {.name = "I1:Tree16:-:P2P", .step = pami_broadcast_tree, .param = 16, .consult = true},
    {.name = "I1:Pipeline8K:-:P2P", .step = pami_broadcast_chain, .param = 8192, .consult = true},
    {.name = "I1:Pipeline16K:-:P2P", .step = pami_broadcast_chain, .param = 16384, .consult = true},
    {.name = "I1:Pipeline32K:-:P2P", .step = pami_broadcast_chain, .param = 32768, .consult = true},
    {.name = "I1:Pipeline128K:-:P2P",
     .step = pami_broadcast_chain,
     .param = 131072,
     .consult = true},
    {.name = "I1:Pipeline256K:-:P2P",
     .step = pami_broadcast_chain,
     .param = 262144,
     .consult = true},
    {.name = "I0:ClassRoute:Shmem:CR",
     .step = pami_hw_broadcast,
     .begin = pami_hw_broadcast_begin,
     .usable = pami_hw_usable,
     .hw = true},
    {.name = "I0:Rectangle:Shmem:Deposit",
     .step = pami_rectangle,
     .begin = pami_rectangle_begin,
     .usable = pami_rectangle_usable,
     .hw = true},
    REMOTE_LINES("I0:Flat:Shmem:Store"),
};

static const struct pami_algorithm_info allreduces[] = {
    {.name = CHOICE},
    {.name = "I0:RecursiveDoubling:-:P2P",
     .step = pami_allreduce_doubling,
     .begin = pami_reduction_begin},
    {.name = "I0:Rabenseifner:-:P2P",
     .step = pami_allreduce_halving,
     .begin = pami_reduction_begin},
    {.name = "I0:Ring:-:P2P", .step = pami_allreduce_ring, .begin = pami_allreduce_ring_begin},
    {.name = "I0:Flat:Shmem:-",
     .step = pami_shm_allreduce,
     .begin = pami_shm_allreduce_begin,
     .usable = pami_shm_usable,
     .in_team_memory = true},
    NODE_SHMEM("I0:RecursiveDoubling:Shmem:P2P"),
    NODE_MESSAGES("I0:RecursiveDoubling:P2P:P2P"),
    {.name = "I0:ClassRoute:Shmem:CR",
     .step = pami_hw_allreduce,
     .begin = pami_hw_begin,
     .usable = pami_hw_usable,
     .hw = true},
    REMOTE_LINES("I0:Flat:Shmem:Store"),
};

static const struct pami_algorithm_info reduces[] = {
    {.name = CHOICE},
    {.name = "I0:BinomialTree:-:P2P", .step = pami_reduce_binomial, .begin = pami_reduction_begin},
    {.name = "I0:Linear:-:P2P", .step = pami_reduce_linear, .begin = pami_reduction_begin},
    {.name = "I0:Rabenseifner:-:P2P", .step = pami_reduce_halving, .begin = pami_reduction_begin},
    {.name = "I0:Flat:Shmem:-",
     .step = pami_shm_reduce,
     .begin = pami_shm_reduce_begin,
     .usable = pami_shm_usable,
     .in_team_memory = true},
    NODE_SHMEM("I0:BinomialTree:Shmem:P2P"),
    NODE_MESSAGES("I0:BinomialTree:P2P:P2P"),
    {.name = "I0:ClassRoute:Shmem:CR",
     .step = pami_hw_reduce,
     .begin = pami_hw_begin,
     .usable = pami_hw_usable,
     .hw = true},
};

static const struct pami_algorithm_info scans[] = {
    {.name = CHOICE},
    {.name = "I0:RecursiveDoubling:-:P2P", .step = pami_scan_doubling, .begin = pami_scan_begin},
    {.name = "I0:Linear:-:P2P", .step = pami_scan_linear, .begin = pami_scan_begin},
};

static const struct pami_algorithm_info reduce_scatters[] = {
    {.name = CHOICE},
    {.name = "I0:Pairwise:-:P2P",
     .step = pami_reduce_scatter_pairwise,
     .begin = pami_reduce_scatter_pairwise_begin},
    {.name = "I0:RecursiveDoubling:-:P2P",
     .step = pami_reduce_scatter_doubling,
     .begin = pami_reduction_begin},
    {.name = "I0:RecursiveHalving:-:P2P",
     .step = pami_reduce_scatter_halving,
     .begin = pami_reduce_scatter_halving_begin},
};

static const struct pami_algorithm_info allgathers[] = {
    {.name = CHOICE},
    {.name = "I0:Ring:-:P2P", .step = pami_allgather_ring},
    {.name = "I0:Bruck:-:P2P", .step = pami_allgather_bruck, .begin = pami_allgather_bruck_begin},
    {.name = "I0:Linear:-:P2P", .step = pami_allgather_linear},
    {.name = "I0:RecursiveDoubling:-:P2P",
     .step = pami_allgather_doubling,
     .begin = pami_allgather_doubling_begin},
    {.name = "I0:Flat:Shmem:-",
     .step = pami_shm_allgather,
     .begin = pami_shm_allgather_begin,
     .usable = pami_shm_usable,
     .in_team_memory = true},
    PARTS("I0:Linear:Shmem:P2P"),
};

static const struct pami_algorithm_info gathers[] = {
    {.name = CHOICE},
    {.name = "I0:Linear:-:P2P", .step = pami_gather_linear},
    {.name = "I0:BinomialTree:-:P2P",
     .step = pami_gather_binomial,
     .begin = pami_gather_binomial_begin},
    PARTS("I0:Linear:Shmem:P2P"),
};

static const struct pami_algorithm_info gathervs[] = {
    {.name = CHOICE},
    {.name = "I0:Linear:-:P2P", .step = pami_gather_linear},
};

static const struct pami_algorithm_info scatters[] = {
    {.name = CHOICE},
    {.name = "I0:Linear:-:P2P", .step = pami_scatter_linear},
    {.name = "I0:BinomialTree:-:P2P",
     .step = pami_scatter_binomial,
     .begin = pami_scatter_binomial_begin},
    PARTS("I0:Linear:Shmem:P2P"),
};

static const struct pami_algorithm_info scattervs[] = {
    {.name = CHOICE},
    {.name = "I0:Linear:-:P2P", .step = pami_scatter_linear},
};

static const struct pami_algorithm_info alltoalls[] = {
    {.name = CHOICE},
    {.name = "I0:Pairwise:-:P2P", .step = pami_alltoall_pairwise},
    {.name = "I0:Linear:-:P2P", .step = pami_alltoall_linear},
    {.name = "I0:Bruck:-:P2P", .step = pami_alltoall_bruck, .begin = pami_alltoall_bruck_begin},
    PARTS("I0:Linear:Shmem:P2P"),
};

static const struct pami_algorithm_info alltoallvs[] = {
    {.name = CHOICE},
    {.name = "I0:Pairwise:-:P2P", .step = pami_alltoall_pairwise},
    {.name = "I0:Linear:-:P2P", .step = pami_alltoall_linear},
};

static const struct pami_algorithm_info actives[] = {
    /* run by coll/am.c */
    {.name = "I0:Linear:-:P2P"},
};

#define LIST(type, array) [PAMI_XFER_##type] = {array, sizeof array / sizeof array[0]}
const struct pami_algorithm_list pami_algorithms[PAMI_XFER_COUNT] = {
    LIST(BROADCAST, broadcasts),
    LIST(ALLREDUCE, allreduces),
    LIST(REDUCE, reduces),
    LIST(ALLGATHER, allgathers),
    LIST(ALLGATHERV, allgathers),
    LIST(ALLGATHERV_INT, allgathers),
    LIST(SCATTER, scatters),
    LIST(SCATTERV, scattervs),
    LIST(SCATTERV_INT, scattervs),
    LIST(GATHER, gathers),
    LIST(GATHERV, gathervs),
    LIST(GATHERV_INT, gathervs),
    LIST(BARRIER, barriers),
    LIST(ALLTOALL, alltoalls),
    LIST(ALLTOALLV, alltoallvs),
    LIST(ALLTOALLV_INT, alltoallvs),
    LIST(SCAN, scans),
    LIST(REDUCE_SCATTER, reduce_scatters),
    LIST(AMBROADCAST, actives),
    LIST(AMSCATTER, actives),
    LIST(AMGATHER, actives),
    LIST(AMREDUCE, actives),
};

/* ---- The choice ---- */

/* The place of a geometry: where its members lie. */
enum {
	TEAM = 1,   /* one team, real clock */
	TEAMS = 2,  /* several teams, some of two or more, real clock */
	HOSTS = 4,  /* teams of one member, real clock */
	NODES = 8,  /* virtual clock, several members on a node */
	TORUS = 16, /* virtual clock, one member on each node */
	ANYWHERE = 31,
};

static unsigned place_of(const struct pami_geometry *g)
{
	if (g->one_team)
		return TEAM;
	if (g->client->job->virtual_clock)
		return g->teams || g->team_size > 1 ? NODES : TORUS;
	return g->teams ? TEAMS : HOSTS;
}

struct row {
	unsigned where;
	uint32_t members_max;
	size_t bytes_max;
	const char *name;
	/* The entry of that name. The first thread that needs it searches for it. */
	ATOMIC(const struct pami_algorithm_info *) info;
};

#define ROW(type, where, members, bytes, name) {where, members, bytes, name, ATOMIC_INIT(NULL)},
#define TABLE(type)                            static struct row type##_rows[] = {
#define END()                                                                                      \
	{                                                                                          \
		ANYWHERE, UINT32_MAX, SIZE_MAX, NULL, ATOMIC_INIT(NULL)                            \
	}                                                                                          \
	}                                                                                          \
	;
#include "pami/coll/table.def"
#undef ROW
#undef TABLE
#undef END

#define ROWS(type, rows) [PAMI_XFER_##type] = rows
static struct row *const choice[PAMI_XFER_COUNT] = {
    ROWS(BARRIER, BARRIER_rows),
    ROWS(BROADCAST, BROADCAST_rows),
    ROWS(ALLREDUCE, ALLREDUCE_rows),
    ROWS(REDUCE, REDUCE_rows),
    ROWS(SCAN, SCAN_rows),
    ROWS(REDUCE_SCATTER, REDUCE_SCATTER_rows),
    ROWS(ALLGATHER, ALLGATHER_rows),
    ROWS(ALLGATHERV, ALLGATHER_rows),
    ROWS(ALLGATHERV_INT, ALLGATHER_rows),
    ROWS(GATHER, GATHER_rows),
    ROWS(GATHERV, GATHERV_rows),
    ROWS(GATHERV_INT, GATHERV_rows),
    ROWS(SCATTER, SCATTER_rows),
    ROWS(SCATTERV, SCATTERV_rows),
    ROWS(SCATTERV_INT, SCATTERV_rows),
    ROWS(ALLTOALL, ALLTOALL_rows),
    ROWS(ALLTOALLV, ALLTOALLV_rows),
    ROWS(ALLTOALLV_INT, ALLTOALLV_rows),
};

const struct pami_algorithm_info *pami_coll_named(pami_xfer_type_t type, const char *name)
{
	const struct pami_algorithm_list *list = &pami_algorithms[type];

	for (uint32_t i = 1; i < list->count; i++)
		if (!strcmp(list->info[i].name, name))
			return &list->info[i];
	return &list->info[1];
}

static const struct pami_algorithm_info *choose_algorithm(const struct pami_geometry *g,
							  unsigned type, size_t bytes, bool hw)
{
	unsigned here = place_of(g);

	for (struct row *r = choice[type]; r->name; r++) {
		const struct pami_algorithm_info *info;

		if (!(r->where & here) || g->size > r->members_max || bytes > r->bytes_max)
			continue;
		info = atomic_ptr_load_relaxed(&r->info);
		if (PAMI_UNLIKELY(!info)) {
			info = pami_coll_named(type, r->name);
			atomic_ptr_store_relaxed(&r->info, info);
		}
		if ((!info->usable || info->usable(g)) && (hw || !info->hw))
			return info;
	}
	return &pami_algorithms[type].info[1];
}

const struct pami_algorithm_info *pami_coll_choose(const struct pami_geometry *g, unsigned type,
						   size_t bytes)
{
	return choose_algorithm(g, type, bytes, true);
}

const struct pami_algorithm_info *pami_coll_choose_soft(const struct pami_geometry *g,
							unsigned type, size_t bytes)
{
	return choose_algorithm(g, type, bytes, false);
}

/* ---- What programs see ---- */

static bool is_listed(const struct pami_geometry *g, const struct pami_algorithm_info *info,
		      bool consult)
{
	return info->consult == consult && (!info->usable || info->usable(g));
}

PAMI_EXPORT pami_result_t PAMI_Geometry_algorithms_num(pami_geometry_t geometry,
						       pami_xfer_type_t coll_type,
						       size_t *lists_lengths)
{
	const struct pami_algorithm_list *list;

	if (!pami_geometry_is_valid(geometry) || !lists_lengths ||
	    (unsigned)coll_type >= PAMI_XFER_COUNT)
		return pami_fail(PAMI_INVAL, "no geometry, or no such collective");
	list = &pami_algorithms[coll_type];
	lists_lengths[0] = lists_lengths[1] = 0;
	for (uint32_t i = 0; i < list->count; i++)
		for (int query = 0; query < 2; query++)
			lists_lengths[query] += (size_t)is_listed(geometry, &list->info[i], query);
	return PAMI_SUCCESS;
}

static void fill_metadata(pami_metadata_t *m, const struct pami_algorithm_info *info)
{
	memset(m, 0, sizeof *m);
	m->name = (char *)(uintptr_t)info->name;
	m->version = 1;
	m->range_hi = m->range_hi_perf = SIZE_MAX;
	m->check_correct.values.alldtop = 1;
	m->check_correct.values.inplace = 1;
	m->check_perf.values.hw_accel = info->hw;
}

PAMI_EXPORT pami_result_t PAMI_Geometry_algorithms_query(pami_geometry_t geometry,
							 pami_xfer_type_t colltype,
							 pami_algorithm_t *algs0,
							 pami_metadata_t *mdata0, size_t num0,
							 pami_algorithm_t *algs1,
							 pami_metadata_t *mdata1, size_t num1)
{
	pami_algorithm_t *algs[2] = {algs0, algs1};
	pami_metadata_t *mdata[2] = {mdata0, mdata1};
	size_t room[2] = {num0, num1};
	const struct pami_algorithm_list *list;

	if (!pami_geometry_is_valid(geometry) || (unsigned)colltype >= PAMI_XFER_COUNT)
		return pami_fail(PAMI_INVAL, "no geometry, or no such collective");
	list = &pami_algorithms[colltype];
	for (int query = 0; query < 2; query++)
		for (size_t i = 0, n = 0; i < list->count && n < room[query]; i++) {
			if (!is_listed(geometry, &list->info[i], query))
				continue;
			if (algs[query])
				algs[query][n] =
				    pami_geometry_number(geometry, colltype, (unsigned)i);
			if (mdata[query])
				fill_metadata(&mdata[query][n], &list->info[i]);
			n++;
		}
	return PAMI_SUCCESS;
}
