/* SPDX-License-Identifier: BSD-3-Clause */
/* Vector, indexed and strided transfers: the published names. They name pieces to transfer.h. */
#include <stdlib.h>
#include <string.h>

#include "gasnet/am/am.h"
#include "gasnet/vis/stride.h"
#include "gasnet/vis/transfer.h"

enum { LEVELS = 16 }; /* without allocation */

/* ---- peer completion ---- */

void gex_VIS_SetPeerCompletionHandler(gex_AM_Index_t handler, const void *src, size_t bytes,
				      gex_Flags_t flags)
{
	struct gexi_thread *self = gexi_self();

	if (bytes > sizeof(self->vis_payload))
		gexi_die("%s: %zu bytes; the most is %zu", __func__, bytes,
			 sizeof(self->vis_payload));
	self->vis_handler = handler;
	self->vis_bytes = (uint16_t)bytes;
	if (handler && bytes)
		memcpy(self->vis_payload, src, bytes);
}

/* The put is complete at its target, so the handler may run there. */
static GEXI_COLD void run_peer_handler(uint32_t task)
{
	struct gexi_thread *self = gexi_self();
	struct gexi_am_send s = {.task = task,
				 .kind = GEXI_AM_MEDIUM | GEXI_AM_REPLY,
				 .index = self->vis_handler,
				 .bytes = self->vis_bytes};
	struct gexi_event *wait;

	self->vis_handler = 0;
	gexi_lock();
	gexi_am_send_payload(&s, self->vis_payload, GEX_EVENT_NOW, 0, &wait);
	gexi_unlock();
}

/* ---- beginning and end of each call ---- */

static void begin_transfer(struct gexi_transfer *t, gex_TM_t tm, gex_Rank_t rank, bool is_put,
			   enum gexi_vis_how how, gex_Flags_t flags)
{
	bool is_armed = is_put && gexi_self()->vis_handler;

	gexi_check_may_call("a transfer of pieces");
	gexi_transfer_open(t, gexi_task_of(tm, rank), is_put, is_armed ? GEXI_VIS_BLOCKING : how,
			   flags);
}

static gex_Event_t end_transfer(struct gexi_transfer *t, enum gexi_vis_how how)
{
	gex_Event_t e = gexi_transfer_close(t);
	bool is_armed = t->is_put && gexi_self()->vis_handler;

	if (how != GEXI_VIS_BLOCKING && !is_armed)
		return e;
	gex_Event_Wait(e);
	if (is_armed)
		run_peer_handler(t->task);
	return GEX_EVENT_INVALID;
}

/* ---- vector and indexed: two lists that describe as many bytes ---- */

struct list { /* of address and length, or of addresses of chunks of one length */
	const gex_Memvec_t *vec;
	void *const *addr;
	size_t chunk, count;
	size_t at, used; /* entry, and bytes of it that are done */
};

static inline size_t entry_bytes(const struct list *l)
{
	return l->vec ? l->vec[l->at].gex_len : l->chunk;
}

/* Sets *p to what is left of the next entry and returns its bytes; 0: no entry is left. */
static inline size_t next_run(struct list *l, char **p)
{
	for (; l->at < l->count; l->at++, l->used = 0) {
		size_t bytes = entry_bytes(l);

		if (l->used == bytes)
			continue;
		*p = (char *)(l->vec ? l->vec[l->at].gex_addr : l->addr[l->at]) + l->used;
		return bytes - l->used;
	}
	return 0;
}

/* Chunks of one length on both sides, in memory that this process maps; `bytes` is a constant in
 * the cases that matter. */
static inline __attribute__((always_inline)) void copy_chunks(void *const *to, ptrdiff_t to_delta,
							      void *const *from,
							      ptrdiff_t from_delta, size_t count,
							      size_t bytes)
{
	for (size_t i = 0; i < count; i++)
		memcpy((char *)to[i] + to_delta, (char *)from[i] + from_delta, bytes);
}

/* An indexed transfer with the address translated once. False: it is none of that kind. */
static bool transfer_mapped(struct gexi_transfer *t, const struct list *self,
			    const struct list *peer)
{
	ptrdiff_t delta = gexi_peer(t->task)->delta;
	void *const *to = t->is_put ? peer->addr : self->addr;
	void *const *from = t->is_put ? self->addr : peer->addr;
	ptrdiff_t to_delta = t->is_put ? delta : 0, from_delta = t->is_put ? 0 : delta;
	size_t n = self->count;

	if (!t->is_mapped || gexi_world.env.shm != 2 || self->vec || peer->vec ||
	    self->chunk != peer->chunk || self->count != peer->count || gexi_world.is_debug)
		return false;
	gexi_spend_copy(n * self->chunk);
	switch (self->chunk) {
	case 4:
		copy_chunks(to, to_delta, from, from_delta, n, 4);
		break;
	case 8:
		copy_chunks(to, to_delta, from, from_delta, n, 8);
		break;
	case 16:
		copy_chunks(to, to_delta, from, from_delta, n, 16);
		break;
	default:
		copy_chunks(to, to_delta, from, from_delta, n, self->chunk);
	}
	return true;
}

static size_t count_bytes(const struct list *l)
{
	size_t bytes = l->vec ? 0 : l->count * l->chunk;

	for (size_t i = 0; l->vec && i < l->count; i++)
		bytes += l->vec[i].gex_len;
	return bytes;
}

static gex_Event_t transfer_lists(gex_TM_t tm, gex_Rank_t rank, bool is_put, struct list *self,
				  struct list *peer, enum gexi_vis_how how, gex_Flags_t flags)
{
	struct gexi_transfer t;
	size_t at_self, at_peer, bytes;
	char *s, *p;

	if (GEXI_UNLIKELY(flags & GEX_FLAG_IMMEDIATE) &&
	    gexi_transfer_gives_up(gexi_task_of(tm, rank), is_put, self->count + peer->count, 0,
				   count_bytes(self), flags))
		return GEX_EVENT_NO_OP;
	begin_transfer(&t, tm, rank, is_put, how, flags);
	if (transfer_mapped(&t, self, peer))
		return end_transfer(&t, how);
	while ((at_self = next_run(self, &s)) && (at_peer = next_run(peer, &p))) {
		bytes = at_self < at_peer ? at_self : at_peer;
		gexi_transfer_piece(&t, s, p, bytes);
		self->used += bytes;
		peer->used += bytes;
	}
	if (next_run(self, &s) || next_run(peer, &p))
		gexi_die("a vector or indexed transfer: the two lists have different lengths");
	return end_transfer(&t, how);
}

/* ---- strided ---- */

/* Name every element alone, with an odometer over the dimensions. */
static void transfer_elements(struct gexi_transfer *t, const struct gexi_stride *s)
{
	size_t index_few[LEVELS] = {0}, *index = index_few;
	char *self = s->self, *peer = s->peer;

	if (s->levels > LEVELS)
		index = calloc(s->levels, sizeof(*index));
	if (!index)
		gexi_die("no memory for a transfer of %zu dimensions", s->levels);
	do
		gexi_transfer_piece(t, self, peer, s->bytes);
	while (gexi_stride_advance(s, 0, index, &self, &peer));
	if (index != index_few)
		free(index);
}

/* In debug builds of the program: from the first byte to the last one that is transferred. */
static void check_extent(uint32_t task, const struct gexi_stride *s)
{
	char *first = s->peer;
	size_t bytes = s->bytes;

	for (size_t d = 0; d < s->levels; d++) {
		ptrdiff_t extent = s->dim[d].peer * (ptrdiff_t)(s->dim[d].count - 1);

		first += extent < 0 ? extent : 0;
		bytes += (size_t)(extent < 0 ? -extent : extent);
	}
	gexi_check_bounds("a transfer of pieces", task, first, bytes);
}

/* Take the dimensions as the program names them. */
static void copy_dimensions(struct gexi_stride *s, const size_t count[],
			    const ptrdiff_t self_stride[], const ptrdiff_t peer_stride[])
{
	for (size_t d = 0; d < s->levels; d++) {
		s->dim[d] = (struct gexi_dimension){count[d], self_stride[d], peer_stride[d]};
		if (!count[d])
			s->bytes = 0;
	}
}

static gex_Event_t transfer_strided(gex_TM_t tm, gex_Rank_t rank, bool is_put, char *self,
				    const ptrdiff_t self_stride[], char *peer,
				    const ptrdiff_t peer_stride[], size_t bytes,
				    const size_t count[], size_t levels, enum gexi_vis_how how,
				    gex_Flags_t flags)
{
	struct gexi_dimension few[LEVELS];
	struct gexi_stride s = {
	    .bytes = bytes, .levels = levels, .self = self, .peer = peer, .dim = few};
	struct gexi_transfer t;
	gex_Event_t e;

	if (GEXI_UNLIKELY(gexi_world.is_debug && bytes && levels &&
			  (!self_stride || !peer_stride || !count)))
		gexi_die("a strided transfer: strides or counts are NULL");
	if (levels > LEVELS)
		s.dim = malloc(levels * sizeof(*s.dim));
	if (!s.dim)
		gexi_die("no memory for a transfer of %zu dimensions", levels);
	if (gexi_world.env.vis_opt) {
		gexi_stride_describe(&s, count, self_stride, peer_stride, levels);
		if (s.bytes)
			gexi_stride_fold(&s);
	} else {
		copy_dimensions(&s, count, self_stride, peer_stride);
	}
	if (GEXI_UNLIKELY(flags & GEX_FLAG_IMMEDIATE) && s.bytes &&
	    gexi_transfer_gives_up(gexi_task_of(tm, rank), is_put, gexi_stride_count(&s), s.bytes,
				   gexi_stride_count(&s) * s.bytes, flags)) {
		e = GEX_EVENT_NO_OP;
		goto out;
	}
	begin_transfer(&t, tm, rank, is_put, how, flags);
	if (s.bytes && gexi_world.is_debug)
		check_extent(t.task, &s);
	if (s.bytes && t.is_mapped && gexi_world.env.shm == 2) {
		s.peer += gexi_peer(t.task)->delta;
		gexi_spend_copy(gexi_stride_count(&s) * s.bytes);
		gexi_stride_copy(&s, is_put);
	} else if (s.bytes && !gexi_transfer_boxes(&t, &s)) {
		transfer_elements(&t, &s);
	}
	e = end_transfer(&t, how);
out:
	if (s.dim != few && levels > LEVELS)
		free(s.dim);
	return e;
}

/* ---- the published names ---- */

#define DEFINE(type, suffix, how, result)                                                          \
	type gex_VIS_VectorPut##suffix(gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount,           \
				       gex_Memvec_t const dstlist[], size_t srccount,              \
				       gex_Memvec_t const srclist[], gex_Flags_t flags)            \
	{                                                                                          \
		struct list self = {.vec = srclist, .count = srccount},                            \
			    peer = {.vec = dstlist, .count = dstcount};                            \
                                                                                                   \
		result(transfer_lists(tm, dstrank, true, &self, &peer, how, flags));               \
	}                                                                                          \
	type gex_VIS_VectorGet##suffix(gex_TM_t tm, size_t dstcount, gex_Memvec_t const dstlist[], \
				       gex_Rank_t srcrank, size_t srccount,                        \
				       gex_Memvec_t const srclist[], gex_Flags_t flags)            \
	{                                                                                          \
		struct list self = {.vec = dstlist, .count = dstcount},                            \
			    peer = {.vec = srclist, .count = srccount};                            \
                                                                                                   \
		result(transfer_lists(tm, srcrank, false, &self, &peer, how, flags));              \
	}                                                                                          \
	type gex_VIS_IndexedPut##suffix(gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount,          \
					void *const dstlist[], size_t dstlen, size_t srccount,     \
					void *const srclist[], size_t srclen, gex_Flags_t flags)   \
	{                                                                                          \
		struct list self = {.addr = srclist, .chunk = srclen, .count = srccount},          \
			    peer = {.addr = dstlist, .chunk = dstlen, .count = dstcount};          \
                                                                                                   \
		result(transfer_lists(tm, dstrank, true, &self, &peer, how, flags));               \
	}                                                                                          \
	type gex_VIS_IndexedGet##suffix(gex_TM_t tm, size_t dstcount, void *const dstlist[],       \
					size_t dstlen, gex_Rank_t srcrank, size_t srccount,        \
					void *const srclist[], size_t srclen, gex_Flags_t flags)   \
	{                                                                                          \
		struct list self = {.addr = dstlist, .chunk = dstlen, .count = dstcount},          \
			    peer = {.addr = srclist, .chunk = srclen, .count = srccount};          \
                                                                                                   \
		result(transfer_lists(tm, srcrank, false, &self, &peer, how, flags));              \
	}                                                                                          \
	type gex_VIS_StridedPut##suffix(                                                           \
	    gex_TM_t tm, gex_Rank_t dstrank, void *dstaddr, const ptrdiff_t dststrides[],          \
	    void *srcaddr, const ptrdiff_t srcstrides[], size_t elemsz, const size_t count[],      \
	    size_t stridelevels, gex_Flags_t flags)                                                \
	{                                                                                          \
		result(transfer_strided(tm, dstrank, true, srcaddr, srcstrides, dstaddr,           \
					dststrides, elemsz, count, stridelevels, how, flags));     \
	}                                                                                          \
	type gex_VIS_StridedGet##suffix(                                                           \
	    gex_TM_t tm, void *dstaddr, const ptrdiff_t dststrides[], gex_Rank_t srcrank,          \
	    void *srcaddr, const ptrdiff_t srcstrides[], size_t elemsz, const size_t count[],      \
	    size_t stridelevels, gex_Flags_t flags)                                                \
	{                                                                                          \
		result(transfer_strided(tm, srcrank, false, dstaddr, dststrides, srcaddr,          \
					srcstrides, elemsz, count, stridelevels, how, flags));     \
	}
#define RETURN_EVENT(e) return (e)
#define RETURN_INT(e)   return (e) == GEX_EVENT_NO_OP
DEFINE(gex_Event_t, NB, GEXI_VIS_NB, RETURN_EVENT)
DEFINE(int, NBI, GEXI_VIS_NBI, RETURN_INT)
DEFINE(int, Blocking, GEXI_VIS_BLOCKING, RETURN_INT)
