/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce, scan and reduce_scatter on messages. Operations that are not commutative see the members'
 * data in rank order: lower ranks on the left.
 */
#include <stdlib.h>

#include "pami/coll/p2p/reduction.h"
#include "pami/core/error.h"

#define TO_ROOT 1000u /* a step above those of the tree */

/* sum = in op sum: what arrived comes from lower ranks. */
static void combine_lower(struct pami_coll *c)
{
	struct pami_reduction *r = pami_reduction_of(c);
	unsigned char *lower = r->in;

	pami_coll_apply(c, lower, r->sum, c->bytes);
	r->in = r->sum;
	r->sum = lower;
}

/*
 * Up a binomial tree. Where order matters the tree stands on rank 0, which sends the result to the
 * root.
 */
int pami_reduce_binomial(struct pami_coll *c)
{
	struct pami_reduction *r = pami_reduction_of(c);
	uint32_t top = c->commutative ? c->root : 0;
	uint32_t relative = (c->rank + c->size - top) % c->size;
	uint64_t bit = (uint64_t)1 << (c->phase / 2);

	if (c->phase < 64 && bit < c->size && r->climb == PAMI_TREE_CLIMBING) {
		uint32_t partner;

		if (relative & bit) {
			r->climb = PAMI_TREE_SENT;
			return pami_coll_send(c, (uint32_t)((relative - bit + top) % c->size),
					      c->phase & ~1u, r->sum, c->bytes);
		}
		if (relative + bit >= c->size)
			return 0;
		partner = (uint32_t)((relative + bit + top) % c->size);
		if (!(c->phase & 1))
			return pami_coll_recv(c, partner, c->phase, r->in, c->bytes);
		pami_coll_apply(c, r->sum, r->in, c->bytes);
		return 0;
	}
	if (r->climb != PAMI_TREE_OVER) {
		r->climb = PAMI_TREE_OVER;
		if (top != c->root && c->rank == top)
			return pami_coll_send(c, c->root, TO_ROOT, r->sum, c->bytes);
		if (top != c->root && c->rank == c->root)
			return pami_coll_recv(c, top, TO_ROOT, r->sum, c->bytes);
	}
	if (c->rank == c->root && c->bytes)
		memcpy(c->target, r->sum, c->bytes);
	return PAMI_COLL_DONE;
}

/* The root receives from one member after the other, in rank order. */
int pami_reduce_linear(struct pami_coll *c)
{
	const struct pami_reduction *r = pami_reduction_of(c);
	uint32_t next = c->phase;

	if (c->rank != c->root) {
		if (c->phase)
			return PAMI_COLL_DONE;
		return pami_coll_send(c, c->root, 0, r->sum, c->bytes);
	}
	/* target collects the sum; r->sum stays the root's contribution. */
	if (next == 0) {
		if (!c->root || c->size == 1) {
			if (c->bytes)
				memmove(c->target, r->sum, c->bytes);
			return 0;
		}
		return pami_coll_recv(c, 0, 0, c->target, c->bytes);
	}
	if (next > 1 && next - 1 != c->root)
		pami_coll_apply(c, c->target, r->in, c->bytes);
	else if (next > 1)
		pami_coll_apply(c, c->target, r->sum, c->bytes);
	if (next == c->size)
		return PAMI_COLL_DONE;
	return next == c->root ? 0 : pami_coll_recv(c, next, 0, r->in, c->bytes);
}

/* ---- Scan ---- */

/* sum: of the ranks rank - 2^k + 1 .. rank. target: of all lower ranks and, inclusive, the own. */
int pami_scan_begin(struct pami_coll *c)
{
	int rc = pami_reduction_begin(c);

	if (!rc && c->bytes && c->target && !c->xfer.cmd.xfer_scan.exclusive)
		memcpy(c->target, pami_reduction_of(c)->sum, c->bytes);
	return rc;
}

/* target = in op target. The first data of an exclusive scan is copied. */
static int scan_lower(struct pami_coll *c)
{
	struct pami_reduction *r = pami_reduction_of(c);
	unsigned char *copy;

	if (!c->bytes)
		return 0;
	if (c->xfer.cmd.xfer_scan.exclusive && !r->has_lower) {
		r->has_lower = true;
		memcpy(c->target, r->in, c->bytes);
		return 0;
	}
	copy = malloc(c->bytes);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, r->in, c->bytes);
	pami_coll_apply(c, copy, c->target, c->bytes);
	memcpy(c->target, copy, c->bytes);
	free(copy);
	return 0;
}

int pami_scan_doubling(struct pami_coll *c)
{
	const struct pami_reduction *r = pami_reduction_of(c);
	uint64_t distance = (uint64_t)1 << c->phase;
	int rc = 0;

	if (c->phase && c->rank >= distance / 2) { /* what the previous phase received */
		rc = scan_lower(c);
		if (rc)
			return rc;
		combine_lower(c);
	}
	if (distance >= c->size)
		return PAMI_COLL_DONE;
	if (c->rank + distance < c->size)
		rc = pami_coll_send(c, (uint32_t)(c->rank + distance), c->phase, r->sum, c->bytes);
	if (!rc && c->rank >= distance)
		rc = pami_coll_recv(c, (uint32_t)(c->rank - distance), c->phase, r->in, c->bytes);
	return rc;
}

/* Each member sends the sum of all ranks up to its own to the next. */
int pami_scan_linear(struct pami_coll *c)
{
	const struct pami_reduction *r = pami_reduction_of(c);
	int exclusive = c->xfer.cmd.xfer_scan.exclusive;

	switch (c->phase) {
	case 0:
		return c->rank ? pami_coll_recv(c, c->rank - 1, 0, r->in, c->bytes) : 0;
	case 1:
		if (c->rank) {
			if (exclusive && c->bytes)
				memcpy(c->target, r->in, c->bytes);
			combine_lower(c);
			if (!exclusive && c->bytes)
				memcpy(c->target, r->sum, c->bytes);
		}
		return c->rank + 1 < c->size ? pami_coll_send(c, c->rank + 1, 0, r->sum, c->bytes)
					     : 0;
	default:
		return PAMI_COLL_DONE;
	}
}

/* ---- Reduce_scatter: c->send.offset says where each part begins in the contribution. ---- */

static size_t part_bytes(const struct pami_coll *c, uint32_t rank)
{
	return c->send.offset[rank + 1] - c->send.offset[rank];
}

static unsigned char *part_address(const struct pami_coll *c, uint32_t rank)
{
	return c->data + c->send.offset[rank];
}

/*
 * Pairwise: each part goes straight to its owner. The owner receives from rank - 1, rank - 2 ... 0,
 * then from the highest rank down. So it joins two blocks of neighbouring ranks, each of which
 * grows downwards, and combines the blocks at the end: rank order is kept.
 */
struct pairwise_state {
	unsigned char *lower, *upper, *in;
};

static struct pairwise_state *pairwise_of(const struct pami_coll *c)
{
	return PAMI_COLL_STATE(c, struct pairwise_state);
}

/* True if the result overwrites parts of the contribution that are still to be sent. */
static bool is_overlapping(const struct pami_coll *c, size_t result_bytes)
{
	return c->target == c->data ||
	       (c->target < c->data + c->bytes && c->data < c->target + result_bytes);
}

int pami_reduce_scatter_pairwise_begin(struct pami_coll *c)
{
	size_t mine = part_bytes(c, c->rank);
	unsigned char *p = pami_coll_buffer(c, 3 * mine);

	if (!p)
		return -ENOMEM;
	*pairwise_of(c) = (struct pairwise_state){p, p + mine, p + 2 * mine};
	if (is_overlapping(c, mine) && !c->send.packed) {
		c->send.packed = malloc(c->bytes ? c->bytes : 1);
		if (!c->send.packed)
			return -ENOMEM;
		if (c->bytes)
			memcpy(c->send.packed, c->data, c->bytes);
		c->data = c->send.packed;
	}
	if (mine)
		memcpy(p, part_address(c, c->rank), mine);
	return 0;
}

/* Add what the previous phase received from `from`. */
static void pairwise_add(struct pami_coll *c, uint32_t from)
{
	const struct pairwise_state *p = pairwise_of(c);
	size_t mine = part_bytes(c, c->rank);
	unsigned char *block = from < c->rank ? p->lower : p->upper;

	if (from != c->size - 1) /* the highest rank begins the upper block */
		pami_coll_apply(c, p->in, block, mine);
	if (mine)
		memcpy(block, p->in, mine);
}

int pami_reduce_scatter_pairwise(struct pami_coll *c)
{
	const struct pairwise_state *p = pairwise_of(c);
	size_t mine = part_bytes(c, c->rank);
	uint32_t d = c->phase + 1, to;
	int rc;

	if (c->phase)
		pairwise_add(c, pami_coll_rank_before(c, c->phase));
	if (d >= c->size) {
		if (c->rank + 1 < c->size)
			pami_coll_apply(c, p->lower, p->upper, mine);
		if (mine)
			memcpy(c->target, p->lower, mine);
		return PAMI_COLL_DONE;
	}
	to = pami_coll_rank_after(c, d);
	rc = pami_coll_send(c, to, c->phase, part_address(c, to), part_bytes(c, to));
	return rc ? rc : pami_coll_recv(c, pami_coll_rank_before(c, d), c->phase, p->in, mine);
}

/* For little data: run an allreduce, of which each member keeps its part. */
int pami_reduce_scatter_doubling(struct pami_coll *c)
{
	int rc = pami_allreduce_doubling(c);

	if (rc == PAMI_COLL_DONE && part_bytes(c, c->rank))
		memcpy(c->target, pami_reduction_of(c)->sum + c->send.offset[c->rank],
		       part_bytes(c, c->rank));
	return rc;
}

/*
 * ---- Recursive halving: each of a pair keeps its half. For a power of two of members and
 * commutative operations ----
 */

int pami_reduce_scatter_halving_begin(struct pami_coll *c)
{
	if (!c->commutative || (c->size & (c->size - 1))) {
		return pami_coll_replace(c, pami_coll_named(c->type, "I0:Pairwise:-:P2P"));
	}
	return pami_reduction_begin(c);
}

/*
 * Phase k: with the member size / 2^(k+1) ranks away. The parts that this member still holds are
 * those of the ranks from the multiple of that distance below it on.
 */
int pami_reduce_scatter_halving(struct pami_coll *c)
{
	const struct pami_reduction *r = pami_reduction_of(c);
	uint32_t distance = c->size >> c->phase,
		 first = distance ? c->rank / distance * distance : 0, partner, theirs;
	const size_t *offset = c->send.offset;
	int rc;

	if (c->phase) /* add what the previous phase received */
		pami_coll_apply(c, r->sum + offset[first], r->in,
				offset[first + distance] - offset[first]);
	if (distance < 2) {
		if (part_bytes(c, c->rank))
			memcpy(c->target, r->sum + offset[c->rank], part_bytes(c, c->rank));
		return PAMI_COLL_DONE;
	}
	distance /= 2;
	partner = c->rank ^ distance;
	theirs = partner / distance * distance;
	first = c->rank / distance * distance;
	rc = pami_coll_send(c, partner, c->phase, r->sum + offset[theirs],
			    offset[theirs + distance] - offset[theirs]);
	return rc ? rc
		  : pami_coll_recv(c, partner, c->phase, r->in,
				   offset[first + distance] - offset[first]);
}
