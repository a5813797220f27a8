/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds and searches the ordered members of a geometry. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pami/core/error.h"
#include "pami/geometry/topology.h"

void pami_topology_init(struct pami_topology *t)
{
	memset(t, 0, sizeof *t);
}

void pami_topology_fini(struct pami_topology *t)
{
	free(t->block);
	free(t->list);
	free(t->sorted);
	memset(t, 0, sizeof *t);
}

/* The distance between the lowest and the highest endpoint of the inner `loops` loops. */
static uint64_t block_span(const struct pami_topology_block *b, uint32_t loops)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < loops; i++)
		sum += (uint64_t)llabs((long long)b->loop[i].stride) * (b->loop[i].count - 1);
	return sum;
}

/* Add endpoints to the last block if they continue its run. */
static int extend_block(struct pami_topology_block *b, uint32_t first, uint32_t count,
			int32_t stride)
{
	struct pami_topology_loop *l = &b->loop[0];
	int64_t gap = (int64_t)first - b->first;

	if (!b->loops) { /* one endpoint: any gap, or the stride of the run, continues it */
		if (count > 1 ? gap != stride : !gap || gap != (int32_t)gap)
			return 0;
		*l = (struct pami_topology_loop){1 + count, (int32_t)gap};
		b->loops = 1;
	} else {
		if ((count > 1 && stride != l->stride) || gap != (int64_t)l->stride * l->count)
			return 0;
		l->count += count;
	}
	b->members += count;
	return 1;
}

int pami_topology_add(struct pami_topology *t, uint32_t first, uint32_t count, int32_t stride)
{
	struct pami_topology_block *b;

	if (t->size + count < t->size || t->size + count > INT32_MAX)
		return -EINVAL;
	if (t->blocks && extend_block(&t->block[t->blocks - 1], first, count, stride)) {
		t->size += count;
		return 0;
	}
	if (t->blocks == t->room) {
		uint32_t room = t->room ? 2 * t->room : 1;

		b = realloc(t->block, room * sizeof *b);
		if (!b)
			return -ENOMEM;
		t->block = b;
		t->room = room;
	}
	b = &t->block[t->blocks++];
	memset(b, 0, sizeof *b);
	b->first = first;
	b->base = t->size;
	b->members = count;
	b->loops = count > 1;
	b->loop[0] = (struct pami_topology_loop){count, stride};
	t->size += count;
	return 0;
}

static int same_loops(const struct pami_topology_block *a, const struct pami_topology_block *b)
{
	return a->loops == b->loops && !memcmp(a->loop, b->loop, a->loops * sizeof a->loop[0]);
}

/*
 * Join blocks of one shape and of equal distance to one block with a loop more. Returns how many
 * blocks remain.
 */
static uint32_t fold_blocks(struct pami_topology_block *block, uint32_t blocks)
{
	uint32_t out = 0, i = 0;

	while (i < blocks) {
		struct pami_topology_block b = block[i];
		uint32_t n = 1;
		int64_t gap = 0;

		while (b.loops < PAMI_TOPOLOGY_LOOPS - 1 && i + n < blocks &&
		       same_loops(&b, &block[i + n])) {
			int64_t next = (int64_t)block[i + n].first - block[i + n - 1].first;

			if (n == 1)
				gap = next;
			if (next != gap || gap != (int32_t)gap ||
			    (uint64_t)llabs(gap) <= block_span(&b, b.loops))
				break;
			n++;
		}
		if (n > 1) {
			b.loop[b.loops++] = (struct pami_topology_loop){n, (int32_t)gap};
			b.members *= n;
		}
		i += n;
		block[out++] = b;
	}
	return out;
}

/* Put a loop over `inner` consecutive endpoints inside all other loops. */
static void add_inner_loop(struct pami_topology *t, uint32_t inner)
{
	for (uint32_t i = 0; i < t->blocks; i++) {
		struct pami_topology_block *b = &t->block[i];

		memmove(&b->loop[1], &b->loop[0], b->loops * sizeof b->loop[0]);
		b->loop[0] = (struct pami_topology_loop){inner, 1};
		b->loops++;
		b->members *= inner;
		b->base *= inner;
	}
	t->size *= inner;
}

static uint32_t block_endpoint(const struct pami_topology_block *b, uint32_t at)
{
	uint32_t e = b->first;

	for (uint32_t i = 0; i < b->loops; i++) {
		e += (uint32_t)((int32_t)(at % b->loop[i].count) * b->loop[i].stride);
		at /= b->loop[i].count;
	}
	return e;
}

/* The place of an endpoint in the block, or -1. */
static int64_t block_find(const struct pami_topology_block *b, uint32_t endpoint)
{
	int64_t rest = (int64_t)endpoint - b->first, at = 0;

	for (uint32_t i = 0; i < b->loops; i++) /* make the offset count from the lowest endpoint */
		if (b->loop[i].stride < 0)
			rest -= (int64_t)b->loop[i].stride * (b->loop[i].count - 1);
	if (rest < 0)
		return -1;
	for (uint32_t i = b->loops; i--;) {
		const struct pami_topology_loop *l = &b->loop[i];
		int64_t step = llabs((long long)l->stride), k = rest / step;

		if (k >= l->count)
			return -1;
		rest -= k * step;
		at = at * l->count + (l->stride < 0 ? l->count - 1 - k : k);
	}
	return rest ? -1 : at;
}

struct place {
	uint32_t endpoint, rank;
};

static int by_endpoint(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->endpoint > y->endpoint) - (x->endpoint < y->endpoint);
}

/* Replace the blocks by a list and an index. */
static int to_list(struct pami_topology *t)
{
	struct place *place = malloc(t->size * sizeof *place);
	uint32_t *list = malloc(t->size * sizeof *list), *sorted = malloc(t->size * sizeof *sorted);
	int rc = -ENOMEM;

	if (!place || !list || !sorted)
		goto err_free;
	for (uint32_t r = 0; r < t->size; r++) {
		list[r] = pami_topology_endpoint(t, r);
		place[r] = (struct place){list[r], r};
	}
	qsort(place, t->size, sizeof *place, by_endpoint);
	rc = -EINVAL;
	for (uint32_t r = 0; r < t->size; r++) {
		if (r && place[r].endpoint == place[r - 1].endpoint)
			goto err_free;
		sorted[r] = place[r].rank;
	}
	free(place);
	free(t->block);
	t->block = NULL;
	t->blocks = t->room = 0;
	t->list = list;
	t->sorted = sorted;
	return 0;

err_free:
	free(place);
	free(list);
	free(sorted);
	return rc;
}

/* Few blocks: an endpoint is there twice if the search finds it in another block first. */
static int has_duplicate(const struct pami_topology *t)
{
	if (t->blocks == 1)
		return 0;
	for (uint32_t r = 0; r < t->size; r++)
		if (pami_topology_rank(t, pami_topology_endpoint(t, r)) != (int32_t)r)
			return 1;
	return 0;
}

#define BLOCKS_FEW 16u /* a search goes through so many one by one */

int pami_topology_end(struct pami_topology *t, uint32_t inner)
{
	struct pami_topology_block *less;
	uint32_t before;

	if (!t->size || (inner > 1 && (uint64_t)t->size * inner > INT32_MAX))
		return -EINVAL;
	do {
		before = t->blocks;
		t->blocks = fold_blocks(t->block, t->blocks);
	} while (t->blocks < before);
	if (inner > 1)
		add_inner_loop(t, inner);
	if (t->blocks > BLOCKS_FEW || t->blocks * sizeof *t->block > t->size * 16)
		return t->size > 4 || t->blocks > 2 ? to_list(t) : has_duplicate(t) ? -EINVAL : 0;
	less = realloc(t->block, t->blocks * sizeof *less);
	if (less)
		t->block = less;
	t->room = t->blocks;
	return has_duplicate(t) ? -EINVAL : 0;
}

uint32_t pami_topology_endpoint(const struct pami_topology *t, uint32_t rank)
{
	uint32_t lo = 0, hi = t->blocks;

	if (t->list)
		return t->list[rank];
	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->block[mid].base <= rank)
			lo = mid;
		else
			hi = mid;
	}
	return block_endpoint(&t->block[lo], rank - t->block[lo].base);
}

int32_t pami_topology_rank(const struct pami_topology *t, uint32_t endpoint)
{
	uint32_t lo = 0, hi = t->size;

	if (!t->list) {
		for (uint32_t i = 0; i < t->blocks; i++) {
			int64_t at = block_find(&t->block[i], endpoint);

			if (at >= 0)
				return (int32_t)(t->block[i].base + at);
		}
		return -1;
	}
	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->list[t->sorted[mid]] <= endpoint)
			lo = mid;
		else
			hi = mid;
	}
	return t->list[t->sorted[lo]] == endpoint ? (int32_t)t->sorted[lo] : -1;
}

uint64_t pami_topology_hash(const struct pami_topology *t)
{
	uint64_t h = 0xcbf29ce484222325u ^ t->size;

	/* Up to a thousand members: all of them. More: a sample of a thousand. */
	for (uint64_t i = 0; i < 1024 && i < t->size; i++) {
		uint64_t rank = t->size <= 1024 ? i : i * (t->size - 1) / 1023;

		h = (h ^ pami_topology_endpoint(t, (uint32_t)rank)) * 0x100000001b3u;
		h ^= h >> 29;
	}
	return h;
}

size_t pami_topology_bytes(const struct pami_topology *t)
{
	return t->room * sizeof *t->block + (t->list ? 2 * (size_t)t->size * sizeof *t->list : 0);
}
