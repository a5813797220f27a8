/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gather and scatter on messages. Own parts were copied with the arguments. Lengths of the others'
 * parts are known at the root only, so the tree is for equal parts.
 */
#include <stdlib.h>

#include "pami/coll_algorithms.h"

/* The root hears from everybody, a window at a time. */
int pami_gather_linear(struct pami_coll *c)
{
	uint64_t from = 1 + (uint64_t)c->phase * PAMI_COLL_WINDOW;
	int rc = 0;

	if (c->rank != c->root)
		return c->phase ? PAMI_COLL_DONE :
				  pami_coll_send(c, c->root, 0, c->data, pami_vector_bytes(&c->send, 0));
	if (from >= c->size)
		return PAMI_COLL_DONE;
	for (uint64_t i = from; i < from + PAMI_COLL_WINDOW && i < c->size && !rc; i++) {
		uint32_t rank = pami_coll_absolute(c, i);

		rc = pami_coll_recv(c, rank, 0, pami_vector_at(&c->recv, rank), pami_vector_bytes(&c->recv, rank));
	}
	return rc;
}

int pami_scatter_linear(struct pami_coll *c)
{
	uint64_t from = 1 + (uint64_t)c->phase * PAMI_COLL_WINDOW;
	int rc = 0;

	if (c->rank != c->root)
		return c->phase ? PAMI_COLL_DONE :
				  pami_coll_recv(c, c->root, 0, c->target, pami_vector_bytes(&c->recv, 0));
	if (from >= c->size)
		return PAMI_COLL_DONE;
	for (uint64_t i = from; i < from + PAMI_COLL_WINDOW && i < c->size && !rc; i++) {
		uint32_t rank = pami_coll_absolute(c, i);

		rc = pami_coll_send(c, rank, 0, pami_vector_at(&c->send, rank), pami_vector_bytes(&c->send, rank));
	}
	return rc;
}

/*
 * Binomial trees: a member's subtree is the `number` ranks from its own on (counted from the root);
 * own holds their parts in that order, `length` bytes each.
 */
static int tree_begin(struct pami_coll *c)
{
	uint32_t relative = pami_coll_relative(c, c->rank);
	uint64_t mine;

	c->number = relative ? relative & -relative : 1;
	while (!relative && c->number < c->size)
		c->number *= 2;
	mine = relative + c->number > c->size ? c->size - relative : c->number;
	c->length = c->bytes / c->size;
	c->own = malloc(mine * c->length + 1);
	return c->own ? 0 : -ENOMEM;
}

static uint64_t subtree(const struct pami_coll *c, uint64_t relative, uint64_t number)
{
	return relative + number > c->size ? c->size - relative : number;
}

int pami_gather_binomial_begin(struct pami_coll *c)
{
	int rc = tree_begin(c);

	if (!rc && c->length)
		memcpy(c->own, c->data, c->length);
	return rc;
}

int pami_gather_binomial(struct pami_coll *c)
{
	uint32_t relative = pami_coll_relative(c, c->rank);
	int rc = 0;

	switch (c->phase) {
	case 0:
		for (uint64_t half = 1; half < c->number && !rc; half *= 2)
			if (relative + half < c->size)
				rc = pami_coll_recv(c, pami_coll_absolute(c, relative + half), 0,
				                    c->own + half * c->length,
				                    subtree(c, relative + half, half) * c->length);
		return rc;
	case 1:
		if (relative)
			return pami_coll_send(c, pami_coll_absolute(c, relative - c->number), 0, c->own,
			                      subtree(c, relative, c->number) * c->length);
		for (uint32_t i = 1; c->length && i < c->size; i++)
			memcpy(pami_vector_at(&c->recv, pami_coll_absolute(c, i)), c->own + i * c->length,
			       c->length);
		return 0;
	default:
		return PAMI_COLL_DONE;
	}
}

int pami_scatter_binomial_begin(struct pami_coll *c)
{
	int rc = tree_begin(c);

	for (uint32_t i = 0; !rc && c->rank == c->root && c->length && i < c->size; i++)
		memcpy(c->own + i * c->length, pami_vector_at(&c->send, pami_coll_absolute(c, i)), c->length);
	return rc;
}

int pami_scatter_binomial(struct pami_coll *c)
{
	uint32_t relative = pami_coll_relative(c, c->rank);
	int rc = 0;

	switch (c->phase) {
	case 0:
		return !relative ? 0 : pami_coll_recv(c, pami_coll_absolute(c, relative - c->number), 0, c->own,
		                                      subtree(c, relative, c->number) * c->length);
	case 1:
		for (uint64_t half = c->number / 2; half && !rc; half /= 2)
			if (relative + half < c->size)
				rc = pami_coll_send(c, pami_coll_absolute(c, relative + half), 0,
				                    c->own + half * c->length,
				                    subtree(c, relative + half, half) * c->length);
		if (relative && c->length)
			memcpy(c->target, c->own, c->length);
		return rc;
	default:
		return PAMI_COLL_DONE;
	}
}
