/* SPDX-License-Identifier: BSD-3-Clause */
/* Broadcasts on messages. c->data, c->bytes: the data, at the root's to send, elsewhere to fill. */
#include "pami/coll_algorithms.h"

/* Down a tree of radix k: a member's parent is found by clearing its lowest digit that is not 0. */
int pami_broadcast_tree(struct pami_coll *c)
{
	uint32_t relative = pami_coll_relative(c, c->rank), radix = c->info->param;
	uint64_t unit = 1;
	int rc = 0;

	while (unit < c->size && relative / unit % radix == 0)
		unit *= radix;
	if (c->phase == 0)
		return relative ? pami_coll_recv(c, pami_coll_absolute(c, relative - relative / unit % radix * unit),
		                                 0, c->data, c->bytes) :
				  0;
	if (c->phase > 1)
		return PAMI_COLL_DONE;
	while ((unit /= radix) && !rc)
		for (uint64_t d = 1; d < radix && relative + d * unit < c->size && !rc; d++)
			rc = pami_coll_send(c, pami_coll_absolute(c, relative + d * unit), 0, c->data, c->bytes);
	return rc;
}

/* The root tells each, a window at a time. */
int pami_broadcast_flat(struct pami_coll *c)
{
	uint32_t relative = pami_coll_relative(c, c->rank);
	uint64_t from = 1 + (uint64_t)c->phase * PAMI_COLL_WINDOW;
	int rc = 0;

	if (relative)
		return c->phase ? PAMI_COLL_DONE : pami_coll_recv(c, c->root, 0, c->data, c->bytes);
	if (from >= c->size)
		return PAMI_COLL_DONE;
	for (uint64_t i = from; i < from + PAMI_COLL_WINDOW && i < c->size && !rc; i++)
		rc = pami_coll_send(c, pami_coll_absolute(c, i), 0, c->data, c->bytes);
	return rc;
}

static size_t segment(const struct pami_coll *c, uint64_t i)
{
	size_t at = i * c->info->param;

	return at >= c->bytes ? 0 : c->bytes - at < c->info->param ? c->bytes - at : c->info->param;
}

/* From each member to the next in segments: receive one while passing on the one before. */
int pami_broadcast_chain(struct pami_coll *c)
{
	uint32_t relative = pami_coll_relative(c, c->rank), size = c->info->param, i = c->phase;
	uint64_t segments = c->bytes ? (c->bytes + size - 1) / size : 1;
	int rc = 0;

	if (i > segments || (i == segments && !relative))
		return PAMI_COLL_DONE;
	if (relative && i < segments)
		rc = pami_coll_recv(c, pami_coll_absolute(c, relative - 1), i, c->data + (size_t)i * size,
		                    segment(c, i));
	if (relative) { /* passes on what the phase before received */
		if (!i)
			return rc;
		i--;
	}
	if (!rc && relative + 1 < c->size)
		rc = pami_coll_send(c, pami_coll_absolute(c, relative + 1), i, c->data + (size_t)i * size,
		                    segment(c, i));
	return rc;
}

/* ---- Scatter down a binomial tree, then gather round a ring: for long data. ---- */

static size_t slice_at(const struct pami_coll *c, uint64_t i)
{
	size_t each = (c->bytes + c->size - 1) / c->size;

	return i * each < c->bytes ? i * each : c->bytes;
}

int pami_broadcast_ring_begin(struct pami_coll *c)
{
	uint32_t relative = pami_coll_relative(c, c->rank);

	c->number = relative ? relative & -relative : 1; /* how many slices come to me: of my subtree */
	while (!relative && c->number < c->size)
		c->number *= 2;
	return 0;
}

static size_t slices(const struct pami_coll *c, uint64_t first, uint64_t count)
{
	uint64_t end = first + count < c->size ? first + count : c->size;

	return slice_at(c, end) - slice_at(c, first);
}

int pami_broadcast_ring(struct pami_coll *c)
{
	uint32_t relative = pami_coll_relative(c, c->rank), i;
	int rc = 0;

	if (c->phase == 0)
		return relative ? pami_coll_recv(c, pami_coll_absolute(c, relative - c->number), 0,
		                                 c->data + slice_at(c, relative), slices(c, relative, c->number)) :
				  0;
	if (c->phase == 1) {
		for (uint64_t half = c->number / 2; half && !rc; half /= 2)
			if (relative + half < c->size)
				rc = pami_coll_send(c, pami_coll_absolute(c, relative + half), 0,
				                    c->data + slice_at(c, relative + half),
				                    slices(c, relative + half, half));
		return rc;
	}
	if (c->phase > c->size)
		return PAMI_COLL_DONE;
	/* Slice i arrives from before while the one received last goes on. */
	i = (relative + 2 * c->size - (c->phase - 2)) % c->size;
	rc = pami_coll_send(c, pami_coll_absolute(c, relative + 1), c->phase, c->data + slice_at(c, i),
	                    slices(c, i, 1));
	i = (i + c->size - 1) % c->size;
	return rc ? rc : pami_coll_recv(c, pami_coll_absolute(c, relative + c->size - 1), c->phase,
	                                c->data + slice_at(c, i), slices(c, i, 1));
}
