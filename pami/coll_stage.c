/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: long data of a team through memory that all of it sees, in slices: one memcpy in, one out, and a slice is
 * still in the cache when the next task takes it. The kernel's copies between processes (coll_shm.c,
 * coll_shm_data.c), which pin every page for each reader, are for where there is no room for this.
 * Guarded by bench/pami_coll.
 *
 * pace[n], a line each, counts the steps of each member over all operations; nobody waits for more than it must:
 *
 *   broadcast   step = slice. The root fills a ring of slices; one is filled again when all took it.
 *   allreduce   step = round. In round r a member takes results of slice r - 2 out, combines its part of
 *               slice r - 1, puts its contribution to slice r in; a round begins when all have ended the one
 *               before. So there are three buffers for each member.
 */
#include "pami/coll_shm.h"

#define BUFFERS 3u
#define STAGE   (3u << 20)
#define ROUND   131072u /* at most: slice of an allreduce */
#define RING    65536u  /* of a broadcast */
#define SHORT   16384u  /* at least */
#define PIECE   8192u   /* what is added up at a time: stays in the first cache */

/* Of one buffer of one member. */
static size_t buffer_room(uint32_t n)
{
	size_t room = STAGE / (BUFFERS * n) & ~(size_t)4095;

	return room > ROUND ? ROUND : room;
}

size_t pami_stage_bytes(uint32_t n)
{
	return BUFFERS * n * buffer_room(n);
}

int pami_stage_usable(const struct pami_coll *c)
{
	size_t room = buffer_room(c->size);

	return room && (c->type == PAMI_XFER_BROADCAST || c->element_bytes <= room);
}

/*
 * Bytes of a slice: a few of them keep both processors at work. With more tasks than processors a step costs a turn
 * of all of them, some 2 us a task: as long as they may be.
 */
static size_t slice_room(const struct pami_coll *c, const struct pami_shm *s, size_t most)
{
	size_t some = (c->bytes / 4 + 4095) & ~(size_t)4095;

	return s->crowded || some > most ? most : some < SHORT && most > SHORT ? SHORT : some;
}

/* Steps up to `to` are over here. */
static void pace(struct pami_shm *s, uint64_t to)
{
	__atomic_store_n(&s->pace[s->me].count, to, __ATOMIC_RELEASE);
	mu_not_idle();
	pami_shm_wake_others(s);
}

/* Are steps up to `to` over everywhere else? */
static int all_paced(struct pami_coll *c, struct pami_shm *s, uint64_t to)
{
	if (s->slowest >= to)
		return 1;
	for (; c->peer < s->members; c->peer++)
		if (c->peer != s->me && !pami_shm_reached(c, s, &s->pace[c->peer].count, to))
			return 0;
	c->peer = 0;
	s->slowest = to;
	return 1;
}

static int done(struct pami_coll *c, struct pami_shm *s, size_t ring)
{
	s->stage_last = (uint32_t)ring;
	pami_shm_finished(c, s);
	return PAMI_COLL_DONE;
}

/* ---- Broadcast: c->number is the first step, c->at the slice ---- */

int pami_stage_broadcast(struct pami_coll *c, struct pami_shm *s)
{
	size_t room = slice_room(c, s, RING);
	uint64_t ring = pami_stage_bytes(s->members) / room;
	uint32_t root;

	if (c->phase == 2) {
		c->phase = 3;
		c->number = s->paced;
		s->paced += (c->bytes + room - 1) / room;
	}
	for (root = 0; s->rank[root] != c->root;)
		root++;
	for (; c->at * room < c->bytes; c->at++) {
		uint64_t step = c->number + c->at, before = step < ring ? 0 : step - ring + 1;
		size_t at = c->at * room, bytes = c->bytes - at < room ? c->bytes - at : room;
		unsigned char *slice = s->stage + step % ring * room;

		if (root == s->me) {
			if (s->stage_last != room && before < c->number)
				before = c->number; /* another use of the memory */
			if (!all_paced(c, s, before))
				return PAMI_COLL_POLL;
			memcpy(slice, c->data + at, bytes);
		} else {
			if (!pami_shm_reached(c, s, &s->pace[root].count, step + 1))
				return PAMI_COLL_POLL;
			memcpy(c->data + at, slice, bytes);
		}
		pace(s, step + 1);
	}
	return done(c, s, room);
}

/* ---- Allreduce: c->number is the first step, c->at the round ---- */

/* Whole elements. */
static size_t round_room(const struct pami_coll *c, const struct pami_shm *s)
{
	size_t room = slice_room(c, s, buffer_room(s->members)) / c->element_bytes * c->element_bytes;

	return room ? room : c->element_bytes;
}

struct slice {
	size_t at, bytes; /* in the data */
	uint64_t buffer;
};

static struct slice slice_of(const struct pami_coll *c, const struct pami_shm *s, uint64_t i)
{
	size_t room = round_room(c, s);
	struct slice slice = { .at = i * room, .buffer = (c->number + i) % BUFFERS };

	slice.bytes = c->bytes - slice.at < room ? c->bytes - slice.at : room;
	return slice;
}

static unsigned char *buffer_of(const struct pami_shm *s, const struct slice *slice, uint32_t member)
{
	return s->stage + (slice->buffer * s->members + member) * buffer_room(s->members);
}

/* All but the own part, which nobody else reads. */
static void put_in(const struct pami_coll *c, const struct pami_shm *s, const struct slice *slice)
{
	unsigned char *to = buffer_of(s, slice, s->me);
	size_t mine = pami_shm_part(c, slice->bytes, s->me), end = pami_shm_part(c, slice->bytes, s->me + 1);

	memcpy(to, c->data + slice->at, mine);
	memcpy(to + end, c->data + slice->at + end, slice->bytes - end);
}

/* Everybody's contribution to my part, in rank order, into my buffer; and where it goes here. */
static void combine(struct pami_coll *c, const struct pami_shm *s, const struct slice *slice)
{
	size_t at = pami_shm_part(c, slice->bytes, s->me), end = pami_shm_part(c, slice->bytes, s->me + 1);
	size_t piece = PIECE < c->element_bytes ? c->element_bytes : PIECE / c->element_bytes * c->element_bytes;

	for (; at < end; at += piece) {
		size_t bytes = end - at < piece ? end - at : piece;
		unsigned char *sum = buffer_of(s, slice, s->me) + at, *mine = c->data + slice->at + at;

		memcpy(sum, s->me ? buffer_of(s, slice, 0) + at : mine, bytes);
		for (uint32_t i = 1; i < s->members; i++)
			pami_coll_apply(c, sum, i == s->me ? mine : buffer_of(s, slice, i) + at, bytes);
		memcpy(c->target + slice->at + at, sum, bytes);
	}
}

static void take_out(const struct pami_coll *c, const struct pami_shm *s, const struct slice *slice)
{
	for (uint32_t i = 0; i < s->members; i++) {
		size_t at = pami_shm_part(c, slice->bytes, i), end = pami_shm_part(c, slice->bytes, i + 1);

		if (i != s->me)
			memcpy(c->target + slice->at + at, buffer_of(s, slice, i) + at, end - at);
	}
}

int pami_stage_allreduce(struct pami_coll *c, struct pami_shm *s)
{
	size_t room = round_room(c, s);
	uint64_t slices = (c->bytes + room - 1) / room;
	struct slice slice;

	if (c->phase == 2) {
		c->phase = 3;
		c->number = s->paced;
		s->paced += slices + 2;
	}
	for (; c->at < slices + 2; c->at++) {
		if (!all_paced(c, s, c->number + c->at))
			return PAMI_COLL_POLL;
		if (c->at >= 2) {
			slice = slice_of(c, s, c->at - 2);
			take_out(c, s, &slice);
		}
		if (c->at && c->at <= slices) {
			slice = slice_of(c, s, c->at - 1);
			combine(c, s, &slice);
		}
		if (c->at < slices) {
			slice = slice_of(c, s, c->at);
			put_in(c, s, &slice);
		}
		pace(s, c->number + c->at + 1);
	}
	return done(c, s, 0);
}
