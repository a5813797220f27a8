/* SPDX-License-Identifier: BSD-3-Clause */
/* All-to-all on messages. Own parts were copied with the arguments. */
#include <stdlib.h>

#include "pami/coll_algorithms.h"

static int pair(struct pami_coll *c, uint64_t distance, uint32_t step)
{
	uint32_t to = (uint32_t)((c->rank + distance) % c->size);
	uint32_t from = (uint32_t)((c->rank + c->size - distance) % c->size);
	int rc = pami_coll_send(c, to, step, pami_vector_at(&c->send, to), pami_vector_bytes(&c->send, to));

	return rc ? rc : pami_coll_recv(c, from, step, pami_vector_at(&c->recv, from),
	                                pami_vector_bytes(&c->recv, from));
}

/* In round d with the members d before and d behind. */
int pami_alltoall_pairwise(struct pami_coll *c)
{
	return c->phase + 1 >= c->size ? PAMI_COLL_DONE : pair(c, c->phase + 1, 0);
}

/* Several rounds at once. */
int pami_alltoall_linear(struct pami_coll *c)
{
	uint64_t from = 1 + (uint64_t)c->phase * PAMI_COLL_WINDOW;
	int rc = 0;

	if (from >= c->size)
		return PAMI_COLL_DONE;
	for (uint64_t d = from; d < from + PAMI_COLL_WINDOW && d < c->size && !rc; d++)
		rc = pair(c, d, 0);
	return rc;
}

/*
 * Bruck, for little data: own[i] is what goes i members on; in round k all parts whose distance
 * has bit k travel 2^k members together. other: the parts of a round, out and in.
 */
int pami_alltoall_bruck_begin(struct pami_coll *c)
{
	size_t each = c->length = c->size ? c->bytes / c->size : 0;

	c->own = malloc(c->bytes ? c->bytes : 1);
	c->other = malloc(c->bytes ? 2 * c->bytes : 1);
	if (!c->own || !c->other)
		return -ENOMEM;
	for (uint32_t i = 0; each && i < c->size; i++)
		memcpy(c->own + i * each, pami_vector_at(&c->send, (c->rank + i) % c->size), each);
	return 0;
}

/* Copy the parts of a round out of, or back into, own. Returns their bytes. */
static size_t bruck_copy(struct pami_coll *c, uint64_t bit, unsigned char *packed, int out)
{
	size_t each = c->length, bytes = 0;

	for (uint64_t i = bit; i < c->size; i++) {
		if (!(i & bit))
			continue;
		if (out && each)
			memcpy(packed + bytes, c->own + i * each, each);
		else if (each)
			memcpy(c->own + i * each, packed + bytes, each);
		bytes += each;
	}
	return bytes;
}

int pami_alltoall_bruck(struct pami_coll *c)
{
	uint64_t bit = (uint64_t)1 << c->phase;
	size_t bytes;
	int rc;

	if (c->phase && bit / 2 < c->size)
		bruck_copy(c, bit / 2, c->other + c->bytes, 0);
	if (bit >= c->size) {
		for (uint32_t i = 1; c->length && i < c->size; i++)
			memcpy(pami_vector_at(&c->recv, (c->rank + c->size - i) % c->size), c->own + i * c->length,
			       c->length);
		return PAMI_COLL_DONE;
	}
	bytes = bruck_copy(c, bit, c->other, 1);
	rc = pami_coll_send(c, (uint32_t)((c->rank + bit) % c->size), c->phase, c->other, bytes);
	return rc ? rc : pami_coll_recv(c, (uint32_t)((c->rank + c->size - bit) % c->size), c->phase,
	                                c->other + c->bytes, bytes);
}
