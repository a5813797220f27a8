/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce, scan and reduce_scatter on messages. target = target op source, and operations that are
 * not commutative see the members' data in rank order: lower ranks on the left.
 *
 * c->own holds the partial result, c->other what arrives; both are c->bytes long.
 */
#include <stdlib.h>

#include "pami/coll_algorithms.h"

static unsigned char *buffer(struct pami_coll *c, size_t bytes)
{
	return bytes <= sizeof c->fits ? NULL : pami_coll_buffer(c, bytes);
}

/* own = a copy of the contribution. */
int pami_reduce_begin(struct pami_coll *c)
{
	c->own = pami_coll_buffer(c, c->bytes);
	c->other = buffer(c, c->bytes);
	if (!c->other && c->bytes <= sizeof c->fits)
		c->other = c->fits;
	if (!c->own || !c->other)
		return -ENOMEM;
	if (c->bytes)
		memcpy(c->own, c->data, c->bytes);
	return 0;
}

/* own = other op own: what arrived comes from lower ranks. */
static void prepend(struct pami_coll *c, size_t bytes)
{
	unsigned char *lower = c->other;

	pami_coll_apply(c, lower, c->own, bytes);
	c->other = c->own;
	c->own = lower;
}

/* Up a binomial tree; where order matters it stands on rank 0, which passes the result on. */
int pami_reduce_binomial(struct pami_coll *c)
{
	uint32_t root = c->commutative ? c->root : 0;
	uint32_t relative = (c->rank + c->size - root) % c->size;
	uint64_t bit = (uint64_t)1 << (c->phase / 2);

	if (c->phase < 64 && bit < c->size && !c->at) {
		uint32_t partner;

		if (relative & bit) {
			c->at = 1; /* sent: out of the tree */
			return pami_coll_send(c, (uint32_t)((relative - bit + root) % c->size), c->phase & ~1u,
			                      c->own, c->bytes);
		}
		if (relative + bit >= c->size)
			return 0;
		partner = (uint32_t)((relative + bit + root) % c->size);
		if (!(c->phase & 1))
			return pami_coll_recv(c, partner, c->phase, c->other, c->bytes);
		pami_coll_apply(c, c->own, c->other, c->bytes);
		return 0;
	}
	if (c->at != 2) {
		c->at = 2;
		if (root != c->root && c->rank == root)
			return pami_coll_send(c, c->root, 1000, c->own, c->bytes);
		if (root != c->root && c->rank == c->root)
			return pami_coll_recv(c, root, 1000, c->own, c->bytes);
	}
	if (c->rank == c->root && c->bytes)
		memcpy(c->target, c->own, c->bytes);
	return PAMI_COLL_DONE;
}

/* The root hears from one member after the other, in rank order. */
int pami_reduce_linear(struct pami_coll *c)
{
	uint32_t next = c->phase;

	if (c->rank != c->root) {
		if (c->phase)
			return PAMI_COLL_DONE;
		return pami_coll_send(c, c->root, 0, c->own, c->bytes);
	}
	/* target collects; own stays the root's contribution. */
	if (next == 0) {
		if (!c->root || c->size == 1) {
			if (c->bytes)
				memmove(c->target, c->own, c->bytes);
			return 0;
		}
		return pami_coll_recv(c, 0, 0, c->target, c->bytes);
	}
	if (next > 1 && next - 1 != c->root)
		pami_coll_apply(c, c->target, c->other, c->bytes);
	else if (next > 1)
		pami_coll_apply(c, c->target, c->own, c->bytes);
	if (next == c->size)
		return PAMI_COLL_DONE;
	return next == c->root ? 0 : pami_coll_recv(c, next, 0, c->other, c->bytes);
}

/* ---- Scan ---- */

/* own: of the ranks rank - 2^k + 1 .. rank; target: of all ranks below and, inclusive, own. */
int pami_scan_begin(struct pami_coll *c)
{
	int rc = pami_reduce_begin(c);

	if (!rc && c->bytes && c->target && !c->xfer.cmd.xfer_scan.exclusive)
		memcpy(c->target, c->own, c->bytes);
	return rc;
}

/* target = other op target; the first time, exclusive, just other. */
static int scan_lower(struct pami_coll *c)
{
	unsigned char *copy;

	if (!c->bytes)
		return 0;
	if (c->xfer.cmd.xfer_scan.exclusive && !c->at) {
		c->at = 1;
		memcpy(c->target, c->other, c->bytes);
		return 0;
	}
	copy = malloc(c->bytes);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, c->other, c->bytes);
	pami_coll_apply(c, copy, c->target, c->bytes);
	memcpy(c->target, copy, c->bytes);
	free(copy);
	return 0;
}

int pami_scan_doubling(struct pami_coll *c)
{
	uint64_t distance = (uint64_t)1 << c->phase;
	int rc = 0;

	if (c->phase && c->rank >= distance / 2) { /* what the phase before received */
		rc = scan_lower(c);
		if (rc)
			return rc;
		prepend(c, c->bytes);
	}
	if (distance >= c->size)
		return PAMI_COLL_DONE;
	if (c->rank + distance < c->size)
		rc = pami_coll_send(c, (uint32_t)(c->rank + distance), c->phase, c->own, c->bytes);
	if (!rc && c->rank >= distance)
		rc = pami_coll_recv(c, (uint32_t)(c->rank - distance), c->phase, c->other, c->bytes);
	return rc;
}

/* From each member to the next. */
int pami_scan_linear(struct pami_coll *c)
{
	int exclusive = c->xfer.cmd.xfer_scan.exclusive;

	switch (c->phase) {
	case 0:
		return c->rank ? pami_coll_recv(c, c->rank - 1, 0, c->other, c->bytes) : 0;
	case 1:
		if (c->rank) {
			if (exclusive && c->bytes)
				memcpy(c->target, c->other, c->bytes);
			prepend(c, c->bytes);
			if (!exclusive && c->bytes)
				memcpy(c->target, c->own, c->bytes);
		}
		return c->rank + 1 < c->size ? pami_coll_send(c, c->rank + 1, 0, c->own, c->bytes) : 0;
	default:
		return PAMI_COLL_DONE;
	}
}

/* ---- Reduce_scatter: c->send.offset has the parts' places in the contribution. ---- */

static size_t part(const struct pami_coll *c, uint32_t rank)
{
	return c->send.offset[rank + 1] - c->send.offset[rank];
}

static unsigned char *place(const struct pami_coll *c, uint32_t rank)
{
	return c->data + c->send.offset[rank];
}

/*
 * Part by part straight to its owner, who hears from rank - 1, rank - 2 ... 0, then from the top
 * down: two blocks of neighbours grow downwards and are joined at the end, so rank order is kept.
 * own: of the lower block; number: the upper one's buffer.
 */
int pami_reduce_scatter_pairwise_begin(struct pami_coll *c)
{
	size_t mine = part(c, c->rank), all = mine ? mine : 1;

	c->own = malloc(3 * all); /* lower, upper, and what arrives */
	if (!c->own)
		return -ENOMEM;
	if (c->target == c->data || (c->target < c->data + c->bytes && c->data < c->target + mine)) {
		/* In place: parts still to be sent must survive. */
		if (!c->send.packed) {
			c->send.packed = malloc(c->bytes ? c->bytes : 1);
			if (!c->send.packed)
				return -ENOMEM;
			if (c->bytes)
				memcpy(c->send.packed, c->data, c->bytes);
			c->data = c->send.packed;
		}
	}
	if (mine)
		memcpy(c->own, place(c, c->rank), mine);
	return 0;
}

int pami_reduce_scatter_pairwise(struct pami_coll *c)
{
	size_t mine = part(c, c->rank);
	unsigned char *lower = c->own, *upper = c->own + mine, *in = c->own + 2 * mine;
	uint32_t d = c->phase + 1, from, to;
	int rc;

	if (c->phase) { /* what the phase before received */
		from = (c->rank + c->size - c->phase) % c->size;
		if (from < c->rank) {
			pami_coll_apply(c, in, lower, mine);
			if (mine)
				memcpy(lower, in, mine);
		} else if (from == c->size - 1) {
			if (mine)
				memcpy(upper, in, mine);
		} else {
			pami_coll_apply(c, in, upper, mine);
			if (mine)
				memcpy(upper, in, mine);
		}
	}
	if (d >= c->size) {
		if (c->rank + 1 < c->size)
			pami_coll_apply(c, lower, upper, mine);
		if (mine)
			memcpy(c->target, lower, mine);
		return PAMI_COLL_DONE;
	}
	to = (c->rank + d) % c->size;
	from = (c->rank + c->size - d) % c->size;
	rc = pami_coll_send(c, to, c->phase, place(c, to), part(c, to));
	return rc ? rc : pami_coll_recv(c, from, c->phase, in, mine);
}

/* For little data: everything to everybody, and each keeps its part. */
int pami_reduce_scatter_doubling(struct pami_coll *c)
{
	int rc = pami_allreduce_doubling(c);

	if (rc == PAMI_COLL_DONE && part(c, c->rank))
		memcpy(c->target, c->own + c->send.offset[c->rank], part(c, c->rank));
	return rc;
}

/* ---- Recursive halving: both keep the half that is theirs. Powers of two, commutative. ---- */

int pami_reduce_scatter_halving_begin(struct pami_coll *c)
{
	if (!c->commutative || (c->size & (c->size - 1))) {
		c->info = pami_coll_named(c->type, "I0:Pairwise:-:P2P");
		return c->info->begin(c);
	}
	return pami_reduce_begin(c);
}

/* phase k: with the one size / 2^(k+1) away; what is still mine begins at the multiple of that below me. */
int pami_reduce_scatter_halving(struct pami_coll *c)
{
	uint32_t distance = c->size >> c->phase, first = distance ? c->rank / distance * distance : 0, partner, theirs;
	const size_t *offset = c->send.offset;
	int rc;

	if (c->phase) /* what the phase before received, onto ours */
		pami_coll_apply(c, c->own + offset[first], c->other, offset[first + distance] - offset[first]);
	if (distance < 2) {
		if (part(c, c->rank))
			memcpy(c->target, c->own + offset[c->rank], part(c, c->rank));
		return PAMI_COLL_DONE;
	}
	distance /= 2;
	partner = c->rank ^ distance;
	theirs = partner / distance * distance;
	first = c->rank / distance * distance;
	rc = pami_coll_send(c, partner, c->phase, c->own + offset[theirs], offset[theirs + distance] - offset[theirs]);
	return rc ? rc : pami_coll_recv(c, partner, c->phase, c->other, offset[first + distance] - offset[first]);
}
