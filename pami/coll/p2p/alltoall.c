/* SPDX-License-Identifier: BSD-3-Clause */
/* All-to-all on messages. coll/args.c has copied the own part. */
#include "pami/coll/algorithms.h"
#include "pami/core/error.h"

/* Send to the member `distance` ranks after this one, and receive from the one before. */
static int exchange_parts(struct pami_coll *c, uint32_t distance)
{
	uint32_t to = pami_coll_rank_after(c, distance), from = pami_coll_rank_before(c, distance);
	int rc =
	    pami_coll_send(c, to, 0, pami_vector_at(&c->send, to), pami_vector_bytes(&c->send, to));

	return rc ? rc
		  : pami_coll_recv(c, from, 0, pami_vector_at(&c->recv, from),
				   pami_vector_bytes(&c->recv, from));
}

/* One distance in each phase. */
int pami_alltoall_pairwise(struct pami_coll *c)
{
	return c->phase + 1 >= c->size ? PAMI_COLL_DONE : exchange_parts(c, c->phase + 1);
}

/* A window of distances in each phase. */
int pami_alltoall_linear(struct pami_coll *c)
{
	return pami_coll_talk_to_all(c, exchange_parts);
}

/*
 * Bruck, for little data: a part first lies at the distance that it has to travel. In round k all
 * parts whose distance has bit k travel 2^k members together.
 */
struct bruck_state {
	size_t part_bytes;
	unsigned char *parts;  /* by distance */
	unsigned char *packed; /* the parts of a round: those that leave, then those that arrive */
};

static struct bruck_state *state_of(const struct pami_coll *c)
{
	return PAMI_COLL_STATE(c, struct bruck_state);
}

int pami_alltoall_bruck_begin(struct pami_coll *c)
{
	struct bruck_state *b = state_of(c);
	size_t each = c->size ? c->bytes / c->size : 0;

	b->part_bytes = each;
	b->parts = pami_coll_buffer(c, c->bytes);
	b->packed = pami_coll_buffer(c, 2 * c->bytes);
	if (!b->parts || !b->packed)
		return -ENOMEM;
	for (uint32_t i = 0; each && i < c->size; i++)
		memcpy(b->parts + i * each, pami_vector_at(&c->send, pami_coll_rank_after(c, i)),
		       each);
	return 0;
}

/* Copy the parts of a round to `packed`, or from there. Returns their bytes. */
static size_t copy_round(struct pami_coll *c, uint64_t bit, unsigned char *packed, bool out)
{
	const struct bruck_state *b = state_of(c);
	size_t each = b->part_bytes, bytes = 0;

	for (uint64_t i = bit; i < c->size; i++) {
		if (!(i & bit))
			continue;
		if (out && each)
			memcpy(packed + bytes, b->parts + i * each, each);
		else if (each)
			memcpy(b->parts + i * each, packed + bytes, each);
		bytes += each;
	}
	return bytes;
}

int pami_alltoall_bruck(struct pami_coll *c)
{
	const struct bruck_state *b = state_of(c);
	unsigned char *arrived = b->packed + c->bytes;
	uint64_t bit = (uint64_t)1 << c->phase;
	size_t bytes;
	int rc;

	if (c->phase && bit / 2 < c->size)
		copy_round(c, bit / 2, arrived, false);
	if (bit >= c->size) {
		for (uint32_t i = 1; b->part_bytes && i < c->size; i++)
			memcpy(pami_vector_at(&c->recv, pami_coll_rank_before(c, i)),
			       b->parts + i * b->part_bytes, b->part_bytes);
		return PAMI_COLL_DONE;
	}
	bytes = copy_round(c, bit, b->packed, true);
	rc = pami_coll_send(c, pami_coll_rank_after(c, bit), c->phase, b->packed, bytes);
	return rc ? rc : pami_coll_recv(c, pami_coll_rank_before(c, bit), c->phase, arrived, bytes);
}
