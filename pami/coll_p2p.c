/* SPDX-License-Identifier: BSD-3-Clause */
/* The algorithms on messages: dissemination barrier, binomial broadcast, recursive doubling. */
#include <stdlib.h>

#include "pami/coll.h"
#include "pami/type.h"

/* ---- Barrier: in round k, tell the member 2^k on and hear from the one 2^k before. ---- */

static int barrier_step(struct pami_coll *c)
{
	uint64_t distance = (uint64_t)1 << c->phase;
	int rc;

	if (distance >= c->size)
		return PAMI_COLL_DONE;
	rc = pami_coll_send(c, (uint32_t)((c->rank + distance) % c->size), c->phase, NULL, 0);
	return rc ? rc : pami_coll_recv(c, (uint32_t)((c->rank + c->size - distance) % c->size), c->phase,
	                                NULL, 0);
}

const struct pami_algorithm_info pami_coll_barrier = {
	.name = "I0:Dissemination:-:P2P", .type = PAMI_XFER_BARRIER, .step = barrier_step,
};

/* ---- Broadcast: down a binomial tree, ranks counted from the root. ---- */

static int broadcast_prepare(struct pami_coll *c)
{
	pami_broadcast_t *b = &c->xfer.cmd.xfer_broadcast;

	if (!pami_type_usable(b->type) || pami_geometry_rank(c->geometry, b->root) < 0)
		return -EINVAL;
	c->bytes = b->typecount * ((struct pami_type *)b->type)->data_size;
	c->data = (unsigned char *)b->buf;
	if (pami_type_contiguous(b->type) || !c->bytes)
		return 0;
	c->own = c->data = malloc(c->bytes);
	if (!c->own)
		return -ENOMEM;
	if (pami_geometry_rank(c->geometry, b->root) == (int32_t)c->rank)
		pami_type_gather(b->type, b->buf, 0, c->data, c->bytes, pami_data_copy, NULL);
	return 0;
}

static int broadcast_step(struct pami_coll *c)
{
	uint32_t root = (uint32_t)pami_geometry_rank(c->geometry, c->xfer.cmd.xfer_broadcast.root);
	uint32_t relative = (c->rank + c->size - root) % c->size, up = relative & -relative;
	uint64_t mask = 1;
	int rc = 0;

	if (!up) /* the root: above all */
		while (mask < c->size)
			mask <<= 1;
	else
		mask = up;
	switch (c->phase) {
	case 0:
		return relative ? pami_coll_recv(c, (relative - up + root) % c->size, 0, c->data, c->bytes) : 0;
	case 1:
		for (mask >>= 1; mask && !rc; mask >>= 1)
			if (relative + mask < c->size)
				rc = pami_coll_send(c, (uint32_t)((relative + mask + root) % c->size), 0,
				                    c->data, c->bytes);
		return rc;
	default:
		return PAMI_COLL_DONE;
	}
}

static void broadcast_deliver(struct pami_coll *c)
{
	pami_broadcast_t *b = &c->xfer.cmd.xfer_broadcast;

	if (c->own && pami_geometry_rank(c->geometry, b->root) != (int32_t)c->rank)
		pami_type_scatter(b->type, b->buf, 0, c->data, c->bytes, pami_data_copy, NULL);
}

const struct pami_algorithm_info pami_coll_broadcast = {
	.name = "I0:Binomial:-:P2P", .type = PAMI_XFER_BROADCAST, .step = broadcast_step,
	.prepare = broadcast_prepare, .deliver = broadcast_deliver,
};

/*
 * ---- Allreduce: recursive doubling over the largest power of two; the members beyond it hand
 * their part to a neighbour first and get the result back. Blocks of neighbouring ranks are
 * combined lower op higher, the same on both sides: rank order is kept and all members hold the
 * same bits. ----
 */

static int allreduce_prepare(struct pami_coll *c)
{
	pami_allreduce_t *a = &c->xfer.cmd.xfer_allreduce;
	int in_place = a->sndbuf == (char *)PAMI_IN_PLACE;
	pami_type_t type = in_place ? a->rtype : a->stype;

	if (!pami_type_usable(type) || !pami_type_usable(a->rtype) ||
	    !pami_data_valid(a->op, ((struct pami_type *)type)->element))
		return -EINVAL;
	c->bytes = (in_place ? a->rtypecount : a->stypecount) * ((struct pami_type *)type)->data_size;
	c->own = malloc(c->bytes ? c->bytes : 1);
	c->other = malloc(c->bytes ? c->bytes : 1);
	if (!c->own || !c->other)
		return -ENOMEM;
	pami_type_gather(type, in_place ? a->rcvbuf : a->sndbuf, 0, c->own, c->bytes, pami_data_copy, NULL);
	return 0;
}

/* other (from `rank`) into own, in rank order. */
static void combine(struct pami_coll *c, uint32_t rank)
{
	pami_allreduce_t *a = &c->xfer.cmd.xfer_allreduce;
	pami_type_t type = a->sndbuf == (char *)PAMI_IN_PLACE ? a->rtype : a->stype;
	unsigned element = ((struct pami_type *)type)->element;

	if (rank < c->rank) {
		unsigned char *lower = c->other;

		c->other = c->own;
		c->own = lower;
	}
	if (c->bytes)
		pami_data_apply(a->op, element, c->own, c->other, c->bytes, a->data_cookie);
}

#define FOLD   1000u
#define UNFOLD 1001u

/* phase 0: fold; 1 .. k: exchange; k + 1: unfold; k + 2: done. */
static int allreduce_step(struct pami_coll *c)
{
	uint32_t rounds = 31 - (uint32_t)__builtin_clz(c->size), extra = c->size - (1u << rounds);
	int folded = c->rank < 2 * extra, idle = folded && !(c->rank & 1);
	uint32_t place = folded ? c->rank / 2 : c->rank - extra, partner;
	int rc;

	/* What the phase before received. */
	if (c->phase == 1 && folded && !idle)
		combine(c, c->rank - 1);
	if (c->phase >= 2 && c->phase <= rounds + 1 && !idle) {
		partner = place ^ 1u << (c->phase - 2);
		combine(c, partner < extra ? partner * 2 + 1 : partner + extra);
	}
	if (c->phase == 0) {
		if (!folded)
			return 0;
		return idle ? pami_coll_send(c, c->rank + 1, FOLD, c->own, c->bytes) :
			      pami_coll_recv(c, c->rank - 1, FOLD, c->other, c->bytes);
	}
	if (c->phase <= rounds) {
		if (idle)
			return 0;
		partner = place ^ 1u << (c->phase - 1);
		partner = partner < extra ? partner * 2 + 1 : partner + extra;
		rc = pami_coll_send(c, partner, c->phase, c->own, c->bytes);
		return rc ? rc : pami_coll_recv(c, partner, c->phase, c->other, c->bytes);
	}
	if (c->phase == rounds + 1 && folded)
		return idle ? pami_coll_recv(c, c->rank + 1, UNFOLD, c->own, c->bytes) :
			      pami_coll_send(c, c->rank - 1, UNFOLD, c->own, c->bytes);
	return c->phase > rounds + 1 ? PAMI_COLL_DONE : 0;
}

static void allreduce_deliver(struct pami_coll *c)
{
	pami_allreduce_t *a = &c->xfer.cmd.xfer_allreduce;

	if (c->bytes)
		pami_type_scatter(a->rtype, a->rcvbuf, 0, c->own, c->bytes, pami_data_copy, NULL);
}

const struct pami_algorithm_info pami_coll_allreduce = {
	.name = "I0:Binomial:-:P2P", .type = PAMI_XFER_ALLREDUCE, .step = allreduce_step,
	.prepare = allreduce_prepare, .deliver = allreduce_deliver,
};
