/* SPDX-License-Identifier: BSD-3-Clause */
/* Broadcasts on messages. The root sends c->data; all others receive into c->data. */
#include "pami/coll/algorithms.h"

/* A tree of radix k: the parent's relative rank is the own one with its lowest digit cleared. */
int pami_broadcast_tree(struct pami_coll *c)
{
	uint32_t relative = pami_coll_relative(c, c->rank), radix = c->info->param;
	uint64_t unit = 1;
	int rc = 0;

	while (unit < c->size && relative / unit % radix == 0)
		unit *= radix;
	if (c->phase == 0)
		return relative ? pami_coll_recv(c,
						 pami_coll_absolute(c, relative - relative / unit %
										      radix * unit),
						 0, c->data, c->bytes)
				: 0;
	if (c->phase > 1)
		return PAMI_COLL_DONE;
	while ((unit /= radix) && !rc)
		for (uint64_t d = 1; d < radix && relative + d * unit < c->size && !rc; d++)
			rc = pami_coll_send(c, pami_coll_absolute(c, relative + d * unit), 0,
					    c->data, c->bytes);
	return rc;
}

static int send_data(struct pami_coll *c, uint32_t relative)
{
	return pami_coll_send(c, pami_coll_absolute(c, relative), 0, c->data, c->bytes);
}

/* The root sends to every other member. */
int pami_broadcast_flat(struct pami_coll *c)
{
	if (c->rank == c->root)
		return pami_coll_talk_to_all(c, send_data);
	return c->phase ? PAMI_COLL_DONE : pami_coll_recv(c, c->root, 0, c->data, c->bytes);
}

static size_t segment_bytes(const struct pami_coll *c, uint64_t i)
{
	size_t at = i * c->info->param;

	return at >= c->bytes ? 0 : c->bytes - at < c->info->param ? c->bytes - at : c->info->param;
}

/* Each member passes a segment on to the next while it receives the following one. */
int pami_broadcast_chain(struct pami_coll *c)
{
	uint32_t relative = pami_coll_relative(c, c->rank), size = c->info->param, i = c->phase;
	uint64_t segments = c->bytes ? (c->bytes + size - 1) / size : 1;
	int rc = 0;

	if (i > segments || (i == segments && !relative))
		return PAMI_COLL_DONE;
	if (relative && i < segments)
		rc = pami_coll_recv(c, pami_coll_absolute(c, relative - 1), i,
				    c->data + (size_t)i * size, segment_bytes(c, i));
	if (relative) { /* passes on what the phase before received */
		if (!i)
			return rc;
		i--;
	}
	if (!rc && relative + 1 < c->size)
		rc = pami_coll_send(c, pami_coll_absolute(c, relative + 1), i,
				    c->data + (size_t)i * size, segment_bytes(c, i));
	return rc;
}

/*
 * ---- Long data: scatter slices down a binomial tree, then pass them on round a ring ----
 */

struct ring_state {
	uint64_t subtree; /* how many slices the scatter brings to this member */
};

static struct ring_state *state_of(const struct pami_coll *c)
{
	return PAMI_COLL_STATE(c, struct ring_state);
}

static size_t slice_at(const struct pami_coll *c, uint64_t i)
{
	size_t each = (c->bytes + c->size - 1) / c->size;

	return i * each < c->bytes ? i * each : c->bytes;
}

int pami_broadcast_ring_begin(struct pami_coll *c)
{
	state_of(c)->subtree = pami_coll_subtree(c);
	return 0;
}

static size_t slices_bytes(const struct pami_coll *c, uint64_t first, uint64_t count)
{
	uint64_t end = first + count < c->size ? first + count : c->size;

	return slice_at(c, end) - slice_at(c, first);
}

int pami_broadcast_ring(struct pami_coll *c)
{
	uint32_t relative = pami_coll_relative(c, c->rank), i;
	int rc = 0;

	if (c->phase == 0)
		return relative
			   ? pami_coll_recv(c,
					    pami_coll_absolute(c, relative - state_of(c)->subtree),
					    0, c->data + slice_at(c, relative),
					    slices_bytes(c, relative, state_of(c)->subtree))
			   : 0;
	if (c->phase == 1) {
		for (uint64_t half = state_of(c)->subtree / 2; half && !rc; half /= 2)
			if (relative + half < c->size)
				rc = pami_coll_send(c, pami_coll_absolute(c, relative + half), 0,
						    c->data + slice_at(c, relative + half),
						    slices_bytes(c, relative + half, half));
		return rc;
	}
	if (c->phase > c->size)
		return PAMI_COLL_DONE;
	/* Pass on the slice that arrived last, and receive the next. */
	i = (relative + 2 * c->size - (c->phase - 2)) % c->size;
	rc = pami_coll_send(c, pami_coll_absolute(c, relative + 1), c->phase,
			    c->data + slice_at(c, i), slices_bytes(c, i, 1));
	i = (i + c->size - 1) % c->size;
	return rc ? rc
		  : pami_coll_recv(c, pami_coll_absolute(c, relative + c->size - 1), c->phase,
				   c->data + slice_at(c, i), slices_bytes(c, i, 1));
}
