/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gather and scatter on messages. coll/args.c has copied the root's own part. Only the root knows
 * the lengths of unequal parts, so the tree is for equal parts.
 */
#include "pami/coll/algorithms.h"
#include "pami/core/error.h"

/* ---- Linear: the root talks to every member ---- */

static int gather_one(struct pami_coll *c, uint32_t relative)
{
	uint32_t rank = pami_coll_absolute(c, relative);

	return pami_coll_recv(c, rank, 0, pami_vector_at(&c->recv, rank),
			      pami_vector_bytes(&c->recv, rank));
}

int pami_gather_linear(struct pami_coll *c)
{
	if (c->rank == c->root)
		return pami_coll_talk_to_all(c, gather_one);
	return c->phase ? PAMI_COLL_DONE
			: pami_coll_send(c, c->root, 0, c->data, pami_vector_bytes(&c->send, 0));
}

static int scatter_one(struct pami_coll *c, uint32_t relative)
{
	uint32_t rank = pami_coll_absolute(c, relative);

	return pami_coll_send(c, rank, 0, pami_vector_at(&c->send, rank),
			      pami_vector_bytes(&c->send, rank));
}

int pami_scatter_linear(struct pami_coll *c)
{
	if (c->rank == c->root)
		return pami_coll_talk_to_all(c, scatter_one);
	return c->phase ? PAMI_COLL_DONE
			: pami_coll_recv(c, c->root, 0, c->target, pami_vector_bytes(&c->recv, 0));
}

/* ---- Binomial trees ---- */

struct tree_state {
	uint64_t subtree; /* pami_coll_subtree() */
	size_t part_bytes;
	unsigned char *parts; /* of the members of the subtree, in the order of relative ranks */
};

static struct tree_state *state_of(const struct pami_coll *c)
{
	return PAMI_COLL_STATE(c, struct tree_state);
}

/* The bytes of all parts of a subtree: the last one may be cut off by the number of members. */
static size_t subtree_bytes(const struct pami_coll *c, uint64_t relative, uint64_t width)
{
	uint64_t members = relative + width > c->size ? c->size - relative : width;

	return members * state_of(c)->part_bytes;
}

static int tree_begin(struct pami_coll *c)
{
	struct tree_state *t = state_of(c);

	t->subtree = pami_coll_subtree(c);
	t->part_bytes = c->bytes / c->size;
	t->parts =
	    pami_coll_buffer(c, subtree_bytes(c, pami_coll_relative(c, c->rank), t->subtree));
	return t->parts ? 0 : -ENOMEM;
}

int pami_gather_binomial_begin(struct pami_coll *c)
{
	int rc = tree_begin(c);

	if (!rc && state_of(c)->part_bytes)
		memcpy(state_of(c)->parts, c->data, state_of(c)->part_bytes);
	return rc;
}

int pami_gather_binomial(struct pami_coll *c)
{
	const struct tree_state *t = state_of(c);
	uint32_t relative = pami_coll_relative(c, c->rank);
	int rc = 0;

	switch (c->phase) {
	case 0:
		for (uint64_t half = 1; half < t->subtree && !rc; half *= 2)
			if (relative + half < c->size)
				rc = pami_coll_recv(c, pami_coll_absolute(c, relative + half), 0,
						    t->parts + half * t->part_bytes,
						    subtree_bytes(c, relative + half, half));
		return rc;
	case 1:
		if (relative)
			return pami_coll_send(c, pami_coll_absolute(c, relative - t->subtree), 0,
					      t->parts, subtree_bytes(c, relative, t->subtree));
		for (uint32_t i = 1; t->part_bytes && i < c->size; i++)
			memcpy(pami_vector_at(&c->recv, pami_coll_absolute(c, i)),
			       t->parts + i * t->part_bytes, t->part_bytes);
		return 0;
	default:
		return PAMI_COLL_DONE;
	}
}

int pami_scatter_binomial_begin(struct pami_coll *c)
{
	const struct tree_state *t = state_of(c);
	int rc = tree_begin(c);

	for (uint32_t i = 0; !rc && c->rank == c->root && t->part_bytes && i < c->size; i++)
		memcpy(t->parts + i * t->part_bytes,
		       pami_vector_at(&c->send, pami_coll_absolute(c, i)), t->part_bytes);
	return rc;
}

int pami_scatter_binomial(struct pami_coll *c)
{
	const struct tree_state *t = state_of(c);
	uint32_t relative = pami_coll_relative(c, c->rank);
	int rc = 0;

	switch (c->phase) {
	case 0:
		return !relative
			   ? 0
			   : pami_coll_recv(c, pami_coll_absolute(c, relative - t->subtree), 0,
					    t->parts, subtree_bytes(c, relative, t->subtree));
	case 1:
		for (uint64_t half = t->subtree / 2; half && !rc; half /= 2)
			if (relative + half < c->size)
				rc = pami_coll_send(c, pami_coll_absolute(c, relative + half), 0,
						    t->parts + half * t->part_bytes,
						    subtree_bytes(c, relative + half, half));
		if (relative && t->part_bytes)
			memcpy(c->target, t->parts, t->part_bytes);
		return rc;
	default:
		return PAMI_COLL_DONE;
	}
}
