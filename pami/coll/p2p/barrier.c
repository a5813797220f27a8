/* SPDX-License-Identifier: BSD-3-Clause */
/* Barriers on messages: dissemination, and a tree. */
#include "pami/coll/algorithms.h"

/* A barrier may go before another algorithm, so its steps differ from all others. */
#define STEP 0x40000000u

/*
 * Radix k: in round i each member sends to the k - 1 members d * k^i ranks after it, and receives
 * from those before it.
 */
static int run_dissemination(struct pami_coll *c, uint32_t radix)
{
	uint64_t distance = 1;
	int rc = 0;

	for (uint32_t i = 0; i < c->phase && distance < c->size; i++)
		distance *= radix;
	if (distance >= c->size)
		return PAMI_COLL_DONE;
	for (uint32_t d = 1; d < radix && d * distance < c->size && !rc; d++)
		rc = pami_coll_send(c, pami_coll_rank_after(c, d * distance), STEP + c->phase, NULL,
				    0);
	for (uint32_t d = 1; d < radix && d * distance < c->size && !rc; d++)
		rc = pami_coll_recv(c, pami_coll_rank_before(c, d * distance), STEP + c->phase,
				    NULL, 0);
	return rc;
}

int pami_barrier_step(struct pami_coll *c)
{
	return run_dissemination(c, 2);
}

int pami_barrier_radix(struct pami_coll *c)
{
	return run_dissemination(c, c->info->param);
}

/* Tree of radix `param`: messages go up to rank 0, then down again. */
int pami_barrier_tree(struct pami_coll *c)
{
	uint64_t first = (uint64_t)c->rank * c->info->param + 1;
	uint32_t parent = c->rank ? (c->rank - 1) / c->info->param : 0;
	int rc = 0;

	switch (c->phase) {
	case 0:
		for (uint64_t i = first; i < first + c->info->param && i < c->size && !rc; i++)
			rc = pami_coll_recv(c, (uint32_t)i, STEP, NULL, 0);
		return rc;
	case 1:
		if (!c->rank)
			return 0;
		rc = pami_coll_send(c, parent, STEP, NULL, 0);
		return rc ? rc : pami_coll_recv(c, parent, STEP + 1, NULL, 0);
	default:
		for (uint64_t i = first; i < first + c->info->param && i < c->size && !rc; i++)
			rc = pami_coll_send(c, (uint32_t)i, STEP + 1, NULL, 0);
		return rc ? rc : PAMI_COLL_DONE;
	}
}
