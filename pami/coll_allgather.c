/* SPDX-License-Identifier: BSD-3-Clause */
/* Allgathers on messages: all lengths are known to all. Own parts were copied with the arguments. */
#include <stdlib.h>

#include "pami/coll_algorithms.h"

static int send_part(struct pami_coll *c, uint32_t to, uint32_t step, uint32_t part)
{
	return pami_coll_send(c, to, step, pami_vector_at(&c->recv, part), pami_vector_bytes(&c->recv, part));
}

static int recv_part(struct pami_coll *c, uint32_t from, uint32_t step, uint32_t part)
{
	return pami_coll_recv(c, from, step, pami_vector_at(&c->recv, part), pami_vector_bytes(&c->recv, part));
}

/* Each part goes from neighbour to neighbour. */
int pami_allgather_ring(struct pami_coll *c)
{
	uint32_t n = c->size, out = (c->rank + n - c->phase % n) % n;
	int rc;

	if (c->phase + 1 >= n)
		return PAMI_COLL_DONE;
	rc = send_part(c, (c->rank + 1) % n, c->phase, out);
	return rc ? rc : recv_part(c, (c->rank + n - 1) % n, c->phase, (out + n - 1) % n);
}

/* Each member tells each other, a window at a time. */
int pami_allgather_linear(struct pami_coll *c)
{
	uint64_t from = 1 + (uint64_t)c->phase * PAMI_COLL_WINDOW;
	int rc = 0;

	if (from >= c->size)
		return PAMI_COLL_DONE;
	for (uint64_t d = from; d < from + PAMI_COLL_WINDOW && d < c->size && !rc; d++) {
		uint32_t before = (uint32_t)((c->rank + c->size - d) % c->size);

		rc = send_part(c, (uint32_t)((c->rank + d) % c->size), 0, c->rank);
		rc = rc ? rc : recv_part(c, before, 0, before);
	}
	return rc;
}

/*
 * Bruck: own holds the parts of rank, rank + 1 ..., twice as many after each round. Where lengths
 * differ, the places are in `other`, an array of size + 1.
 */
static size_t *places(const struct pami_coll *c)
{
	return (size_t *)(void *)c->other;
}

int pami_allgather_bruck_begin(struct pami_coll *c)
{
	size_t at = 0;

	c->own = malloc(c->bytes ? c->bytes : 1);
	c->other = malloc(((size_t)c->size + 1) * sizeof(size_t));
	if (!c->own || !c->other)
		return -ENOMEM;
	for (uint32_t i = 0; i <= c->size; i++) {
		places(c)[i] = at;
		at += pami_vector_bytes(&c->recv, (c->rank + i) % c->size);
	}
	if (places(c)[1])
		memcpy(c->own, pami_vector_at(&c->recv, c->rank), places(c)[1]);
	return 0;
}

int pami_allgather_bruck(struct pami_coll *c)
{
	uint64_t have = (uint64_t)1 << c->phase, more = have;
	const size_t *at = places(c);
	int rc;

	if (have >= c->size) {
		for (uint32_t i = 1; i < c->size; i++)
			if (at[i + 1] > at[i])
				memcpy(pami_vector_at(&c->recv, (c->rank + i) % c->size), c->own + at[i],
				       at[i + 1] - at[i]);
		return PAMI_COLL_DONE;
	}
	if (have + more > c->size)
		more = c->size - have;
	rc = pami_coll_send(c, (uint32_t)((c->rank + c->size - have) % c->size), c->phase, c->own, at[more]);
	return rc ? rc : pami_coll_recv(c, (uint32_t)((c->rank + have) % c->size), c->phase, c->own + at[have],
	                                at[have + more] - at[have]);
}

/* Recursive doubling: neighbours exchange all they have. Powers of two, parts of one length and in a row. */
int pami_allgather_doubling_begin(struct pami_coll *c)
{
	if (!c->recv.counts && !(c->size & (c->size - 1)))
		return 0;
	c->info = pami_coll_named(c->type, "I0:Bruck:-:P2P");
	return c->info->begin(c);
}

int pami_allgather_doubling(struct pami_coll *c)
{
	uint64_t distance = (uint64_t)1 << c->phase;
	uint32_t partner, mine, theirs;
	size_t bytes = pami_vector_bytes(&c->recv, 0) * distance;
	int rc;

	if (distance >= c->size)
		return PAMI_COLL_DONE;
	partner = c->rank ^ (uint32_t)distance;
	mine = c->rank & ~((uint32_t)distance - 1);
	theirs = partner & ~((uint32_t)distance - 1);
	rc = pami_coll_send(c, partner, c->phase, pami_vector_at(&c->recv, mine), bytes);
	return rc ? rc : pami_coll_recv(c, partner, c->phase, pami_vector_at(&c->recv, theirs), bytes);
}
