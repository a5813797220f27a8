/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgathers on messages. All members know all lengths. coll/args.c has copied the own part to its
 * place of the result.
 */
#include "pami/coll/algorithms.h"
#include "pami/core/error.h"

static int send_part(struct pami_coll *c, uint32_t to, uint32_t step, uint32_t part)
{
	return pami_coll_send(c, to, step, pami_vector_at(&c->recv, part),
			      pami_vector_bytes(&c->recv, part));
}

static int recv_part(struct pami_coll *c, uint32_t from, uint32_t step, uint32_t part)
{
	return pami_coll_recv(c, from, step, pami_vector_at(&c->recv, part),
			      pami_vector_bytes(&c->recv, part));
}

/* Ring: each part travels from neighbour to neighbour. */
int pami_allgather_ring(struct pami_coll *c)
{
	uint32_t n = c->size, out = (c->rank + n - c->phase % n) % n;
	int rc;

	if (c->phase + 1 >= n)
		return PAMI_COLL_DONE;
	rc = send_part(c, (c->rank + 1) % n, c->phase, out);
	return rc ? rc : recv_part(c, (c->rank + n - 1) % n, c->phase, (out + n - 1) % n);
}

/* Each member sends its part to every other. */
static int exchange_parts(struct pami_coll *c, uint32_t distance)
{
	uint32_t before = pami_coll_rank_before(c, distance);
	int rc = send_part(c, pami_coll_rank_after(c, distance), 0, c->rank);

	return rc ? rc : recv_part(c, before, 0, before);
}

int pami_allgather_linear(struct pami_coll *c)
{
	return pami_coll_talk_to_all(c, exchange_parts);
}

/* Bruck: a member holds the parts of the ranks from its own on, twice as many after each round. */
struct bruck_state {
	unsigned char *parts;
	size_t *place; /* [size + 1] where each part begins in parts */
};

static struct bruck_state *state_of(const struct pami_coll *c)
{
	return PAMI_COLL_STATE(c, struct bruck_state);
}

int pami_allgather_bruck_begin(struct pami_coll *c)
{
	struct bruck_state *b = state_of(c);
	size_t at = 0;

	b->parts = pami_coll_buffer(c, c->bytes);
	b->place = pami_coll_buffer(c, ((size_t)c->size + 1) * sizeof *b->place);
	if (!b->parts || !b->place)
		return -ENOMEM;
	for (uint32_t i = 0; i <= c->size; i++) {
		b->place[i] = at;
		at += pami_vector_bytes(&c->recv, pami_coll_rank_after(c, i));
	}
	if (b->place[1])
		memcpy(b->parts, pami_vector_at(&c->recv, c->rank), b->place[1]);
	return 0;
}

int pami_allgather_bruck(struct pami_coll *c)
{
	const struct bruck_state *b = state_of(c);
	uint64_t have = (uint64_t)1 << c->phase, more = have;
	const size_t *at = b->place;
	int rc;

	if (have >= c->size) {
		for (uint32_t i = 1; i < c->size; i++)
			if (at[i + 1] > at[i])
				memcpy(pami_vector_at(&c->recv, pami_coll_rank_after(c, i)),
				       b->parts + at[i], at[i + 1] - at[i]);
		return PAMI_COLL_DONE;
	}
	if (have + more > c->size)
		more = c->size - have;
	rc = pami_coll_send(c, pami_coll_rank_before(c, have), c->phase, b->parts, at[more]);
	return rc ? rc
		  : pami_coll_recv(c, pami_coll_rank_after(c, have), c->phase, b->parts + at[have],
				   at[have + more] - at[have]);
}

/*
 * Recursive doubling: neighbouring blocks exchange all they have. For a power of two of members and
 * parts of one length, one behind the other.
 */
int pami_allgather_doubling_begin(struct pami_coll *c)
{
	if (!c->recv.counts && !(c->size & (c->size - 1)))
		return 0;
	return pami_coll_replace(c, pami_coll_named(c->type, "I0:Bruck:-:P2P"));
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
	return rc ? rc
		  : pami_coll_recv(c, partner, c->phase, pami_vector_at(&c->recv, theirs), bytes);
}
