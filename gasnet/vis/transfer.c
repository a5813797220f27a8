/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ways of a piece (transfer.h).
 *
 *   mapped memory       a copy
 *   long pieces         a put of PAMI for each, a get for each eight (EXT_quintorus_pieces),
 *                       without software of the target
 *   short pieces        packed into messages: of a strided transfer the counts and strides of a box
 *                       of elements, else lists of (address, length); for puts with the data.
 * The target stores and acknowledges, or collects and sends back. It has to poll. A message of a
 * put is a copy of its pieces, so the sources may be reused at once.
 *
 * TGEX_VIS_AM=np: the message is packed where it leaves from, the packet (EXT_quintorus_place) or a
 * buffer, and holds what is left. fp: it is packed in memory of its own and copied into messages of
 * fixed length.
 */
#include <stdlib.h>
#include <string.h>

#include "gasnet/am/am.h"
#include "gasnet/vis/transfer.h"

/* Capacity of a message behind its head: all of it, of messages of fixed length, and pieces. */
enum { ROOM = 48 << 10, ROOM_FIXED = 4032, PACK_PIECES = 1024 };

/* Packs that are kept for reuse. */
enum { KEPT = 64 };

struct piece {
	uint64_t addr; /* at the target */
	uint64_t bytes;
};

/* A box of elements at the target, and each of its dimensions. */
struct box {
	uint64_t addr, bytes;
};
struct box_dimension {
	uint64_t count;
	int64_t stride;
};

/*
 * First in a message. Of a put the data follows, padded to 8 bytes. Then come the pieces, or the
 * box and its dimensions.
 */
struct pack_head {
	uint64_t pack; /* the origin's object */
	uint32_t bytes;
	uint16_t pieces; /* 0: a box */
	uint8_t levels;  /* of the box */
	uint8_t is_put;
};

/* A message that is being filled or under way, at its origin. */
struct gexi_pack {
	struct gexi_pack *next;
	struct gexi_completion done;
	uint32_t users;      /* the message is read; an answer is to come. Lock */
	uint32_t task, cost; /* credits that the answer returns */
	/* of a get: where the data goes */
	struct gexi_stride into;
	struct gexi_dimension dim[GEXI_BOX_LEVELS];
	char *self[PACK_PIECES];
	struct gexi_buffer *arriving;
	struct piece piece[PACK_PIECES];
	_Alignas(
	    64) char frame[64 - sizeof(struct pack_head)]; /* PAMI's, in front of the message */
	struct pack_head head;
	_Alignas(64) char room[ROOM];
};

_Static_assert(offsetof(struct gexi_pack, room) ==
		   offsetof(struct gexi_pack, head) + sizeof(struct pack_head),
	       "a message lies in one piece");
_Static_assert(sizeof(((struct gexi_pack *)0)->frame) >= PAMI_QUINTORUS_FRAME, "room of a message");

static struct {
	struct gexi_pack *free;
	unsigned kept;
} pool; /* lock */

static struct gexi_pack *pack_take(struct gexi_transfer *t)
{
	struct gexi_pack *p;

	gexi_lock();
	p = pool.free;
	if (p) {
		pool.free = p->next;
		pool.kept--;
	}
	gexi_unlock();
	if (!p)
		p = aligned_alloc(64, (sizeof(*p) + 63) & ~(size_t)63);
	if (!p)
		gexi_die("no memory for a packed transfer");
	p->head = (struct pack_head){.pack = (uint64_t)(uintptr_t)p, .is_put = t->is_put};
	p->arriving = NULL;
	return p;
}

/* ---- completions ---- */

static struct gexi_completion next_completion(struct gexi_transfer *t)
{
	if (t->is_implicit)
		return gexi_nbi_start(t->is_put ? GEXI_EC_PUT : GEXI_EC_GET);
	atomic_fetch_add_relaxed(&t->event->pending, 1);
	return (struct gexi_completion){gexi_event_root, t->event};
}

/* PAMI has read the message, or the target has answered it. The later of the two events frees the
 * object. */
static void pack_release(struct gexi_pack *p)
{
	if (--p->users)
		return;
	if (pool.kept == KEPT) {
		free(p);
		return;
	}
	p->next = pool.free;
	pool.free = p;
	pool.kept++;
}

static void on_sent(pami_context_t context, void *cookie, pami_result_t result)
{
	if (result != PAMI_SUCCESS)
		gexi_operation_failed("a packed transfer", result);
	pack_release(cookie);
}

/* ---- the target ---- */

static inline size_t pad_bytes(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

static void send_answer(pami_context_t context, pami_endpoint_t origin, uint64_t pack)
{
	pami_send_immediate_t s = {
	    .header = {&pack, sizeof(pack)}, .dispatch = GEXI_DISPATCH_VIS_DONE, .dest = origin};

	PAMI_Send_immediate(context, &s);
}

/* Between the pieces of the message and their data, which lies without gaps. */
static void copy_pieces(const struct pack_head *h, const void *list, char *data, bool to_pieces)
{
	struct gexi_dimension dim[GEXI_BOX_LEVELS];
	const struct piece *piece = list;
	const struct box *box = list;
	const struct box_dimension *d = (const struct box_dimension *)(box + 1);
	struct gexi_stride s;

	if (h->pieces) {
		for (uint32_t i = 0; i < h->pieces; data += piece[i++].bytes) {
			void *at = (void *)(uintptr_t)piece[i].addr;

			memcpy(to_pieces ? at : data, to_pieces ? data : at, piece[i].bytes);
		}
		return;
	}
	s = (struct gexi_stride){.bytes = box->bytes,
				 .levels = h->levels,
				 .self = (char *)(uintptr_t)box->addr,
				 .dim = dim};
	for (size_t i = 0; i < h->levels; i++)
		dim[i] = (struct gexi_dimension){d[i].count, d[i].stride, 0};
	gexi_stride_pack(&s, data, !to_pieces);
}

/* Send the data of a get back, behind the number of its object. */
static void send_collected(pami_context_t context, pami_endpoint_t origin,
			   const struct pack_head *h)
{
	struct gexi_buffer *b = gexi_buffer_take(h->bytes);
	char *head = gexi_buffer_head(b, sizeof(h->pack));
	pami_send_t s = {.send = {.header = {head, sizeof(h->pack)},
				  .data = {b->data, h->bytes},
				  .dispatch = GEXI_DISPATCH_VIS_DONE,
				  .dest = origin},
			 .events = {.cookie = b, .local_fn = gexi_buffer_sent}};

	memcpy(head, &h->pack, sizeof(h->pack));
	copy_pieces(h, h + 1, b->data, false);
	if (gexi_world.framed(context, &s) != PAMI_SUCCESS)
		gexi_buffer_release(b); /* The origin has died, so the answer is dropped. */
}

static void serve_request(pami_context_t context, pami_endpoint_t origin, const void *payload)
{
	const struct pack_head *h = payload;
	char *data = (char *)(uintptr_t)(h + 1);

	if (!h->is_put) {
		send_collected(context, origin, h);
		return;
	}
	copy_pieces(h, data + pad_bytes(h->bytes), data, true);
	send_answer(context, origin, h->pack);
}

static void on_arrived(pami_context_t context, void *cookie, pami_result_t result)
{
	struct gexi_buffer *b = cookie;
	pami_endpoint_t origin;

	if (result != PAMI_SUCCESS)
		gexi_operation_failed("receiving a packed transfer", result);
	memcpy(&origin, b->room, sizeof(origin));
	serve_request(context, origin, b->data);
	gexi_buffer_release(b);
}

static void on_message(pami_context_t context, void *cookie, const void *header,
		       size_t header_bytes, const void *pipe, size_t data_bytes,
		       pami_endpoint_t origin, pami_recv_t *recv)
{
	struct gexi_buffer *b;

	if (!recv) {
		serve_request(context, origin, pipe);
		return;
	}
	b = gexi_buffer_take(data_bytes);
	memcpy(b->room, &origin, sizeof(origin));
	recv->addr = b->data;
	recv->local_fn = on_arrived;
	recv->cookie = b;
}

/* ---- the origin again ---- */

/* data: of a get; NULL: a put. Lock. */
static void finish_pack(struct gexi_pack *p, const char *data)
{
	struct gexi_completion done = p->done;

	if (data && !p->head.pieces)
		gexi_stride_pack(&p->into, (char *)(uintptr_t)data, false);
	for (uint32_t i = 0; data && i < p->head.pieces; data += p->piece[i++].bytes)
		memcpy(p->self[i], data, p->piece[i].bytes);
	if (p->arriving)
		gexi_buffer_release(p->arriving);
	pami_quintorus_credit_arrive(&gexi_peer(p->task)->credit, p->cost);
	pack_release(p);
	gexi_complete(done);
}

static void on_data(pami_context_t context, void *cookie, pami_result_t result)
{
	struct gexi_pack *p = cookie;

	if (result != PAMI_SUCCESS)
		gexi_operation_failed("a packed get", result);
	finish_pack(p, p->arriving->data);
}

static void on_done(pami_context_t context, void *cookie, const void *header, size_t header_bytes,
		    const void *pipe, size_t data_bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	struct gexi_pack *p = (struct gexi_pack *)(uintptr_t) * (const uint64_t *)header;

	if (!recv) {
		finish_pack(p, data_bytes ? pipe : NULL);
		return;
	}
	p->arriving = gexi_buffer_take(data_bytes);
	recv->addr = p->arriving->data;
	recv->local_fn = on_data;
	recv->cookie = p;
}

void gexi_vis_open(void)
{
	pami_dispatch_callback_function message = {.p2p = on_message}, done = {.p2p = on_done};
	pami_context_t main = gexi_world.context[GEXI_MAIN];
	pami_dispatch_hint_t hint = {0};

	if (PAMI_Dispatch_set(main, GEXI_DISPATCH_VIS, message, NULL, hint) != PAMI_SUCCESS ||
	    PAMI_Dispatch_set(main, GEXI_DISPATCH_VIS_DONE, done, NULL, hint) != PAMI_SUCCESS)
		gexi_die("cannot register the messages of packed transfers");
}

/* ---- packing ---- */

static GEXI_COLD void cannot_start(const char *what, uint32_t task)
{
	gexi_die("%s: process %u has died or left the job", what, task);
}

/* A target that does not poll keeps a bounded number of messages; the answer returns the credits.
 * Lock. */
static void take_credits(struct gexi_transfer *t, struct gexi_pack *p, size_t bytes)
{
	p->task = t->task;
	p->cost = gexi_credit_cost(GEXI_AM_MEDIUM, bytes);
	gexi_credit_take(gexi_peer(t->task), p->cost, 0);
}

/* Send a message of so many bytes that begins at p->head. Lock. */
static void pack_send_bytes(struct gexi_transfer *t, struct gexi_pack *p, size_t bytes)
{
	struct gexi_buffer *b = NULL;
	pami_send_t s = {.send = {.data = {&p->head, bytes},
				  .dispatch = GEXI_DISPATCH_VIS,
				  .dest = gexi_peer(t->task)->endpoint[GEXI_MAIN]},
			 .events = {.cookie = p, .local_fn = on_sent}};
	pami_result_t rc;

	take_credits(t, p, bytes);
	p->users = 1;
	if (gexi_world.env.vis_am == GEXI_VIS_AM_FIXED) {
		b = gexi_buffer_take(bytes);
		s.send.header.iov_base = s.send.data.iov_base = memcpy(b->data, &p->head, bytes);
		s.events = (pami_send_event_t){.cookie = b, .local_fn = gexi_buffer_sent};
		rc = gexi_world.framed(gexi_world.context[GEXI_MAIN], &s);
	} else if (bytes <= gexi_world.immediate_max) {
		rc = PAMI_Send_immediate(gexi_world.context[GEXI_MAIN], &s.send);
	} else {
		p->users = 2;
		s.send.header.iov_base = &p->head;
		rc = gexi_world.framed(gexi_world.context[GEXI_MAIN], &s);
	}
	if (rc != PAMI_SUCCESS)
		cannot_start("a packed transfer", t->task);
}

/* Make progress after a message. Short ones then leave in one frame with others. Lock. */
static void poll_after(size_t bytes)
{
	if (bytes > gexi_world.immediate_max)
		gexi_poll_locked();
	else
		gexi_poll_sometimes(GEXI_POLL_EVERY);
}

static void pack_send(struct gexi_transfer *t)
{
	struct gexi_pack *p = t->pack;
	size_t data = t->is_put ? pad_bytes(p->head.bytes) : 0,
	       list = p->head.pieces * sizeof(struct piece);

	memcpy(p->room + data, p->piece, list);
	p->done = next_completion(t);
	t->pack = NULL;
	gexi_lock();
	pack_send_bytes(t, p, sizeof(p->head) + data + list);
	poll_after(sizeof(p->head) + data + list);
	gexi_unlock();
}

static void pack_piece(struct gexi_transfer *t, char *self, char *peer, size_t bytes)
{
	struct gexi_pack *p = t->pack;

	if (p && (p->head.pieces == PACK_PIECES ||
		  pad_bytes(p->head.bytes + bytes) + (p->head.pieces + 1u) * sizeof(struct piece) >
		      t->room)) {
		pack_send(t);
		p = NULL;
	}
	if (!p)
		p = t->pack = pack_take(t);
	if (t->is_put)
		memcpy(p->room + p->head.bytes, self, bytes);
	else
		p->self[p->head.pieces] = self;
	p->piece[p->head.pieces++] = (struct piece){(uint64_t)(uintptr_t)peer, bytes};
	p->head.bytes += (uint32_t)bytes;
}

/* ---- boxes ---- */

static size_t box_bytes(size_t levels)
{
	return sizeof(struct box) + levels * sizeof(struct box_dimension);
}

static void write_box(const struct gexi_stride *s, void *to)
{
	struct box *box = to;
	struct box_dimension *d = (struct box_dimension *)(box + 1);

	*box = (struct box){(uint64_t)(uintptr_t)s->peer, s->bytes};
	for (size_t i = 0; i < s->levels; i++)
		d[i] = (struct box_dimension){s->dim[i].count, s->dim[i].peer};
}

/* Pack a put where it leaves from, if it fits one packet and the target has such memory. Lock. */
static bool send_box_in_place(struct gexi_transfer *t, struct gexi_pack *p,
			      const struct gexi_stride *s, size_t bytes)
{
	pami_quintorus_place_t place = {.dest = gexi_peer(t->task)->endpoint[GEXI_MAIN],
					.dispatch = GEXI_DISPATCH_VIS,
					.data_bytes = bytes};
	char *data;

	if (gexi_world.env.vis_am == GEXI_VIS_AM_FIXED || bytes > gexi_world.immediate_max ||
	    !gexi_credit_take(gexi_peer(t->task), 1, GEX_FLAG_IMMEDIATE))
		return false;
	p->task = t->task;
	p->cost = 1;
	if (gexi_world.reserve(gexi_world.context[GEXI_MAIN], &place) != PAMI_SUCCESS) {
		pami_quintorus_credit_arrive(&gexi_peer(t->task)->credit, 1);
		return false;
	}
	data = (char *)place.data + sizeof(p->head);
	memcpy(place.data, &p->head, sizeof(p->head));
	gexi_stride_pack(s, data, true);
	write_box(s, data + pad_bytes(p->head.bytes));
	p->users = 1;
	gexi_world.commit(gexi_world.context[GEXI_MAIN], &place, bytes);
	return true;
}

static void send_box(struct gexi_transfer *t, const struct gexi_stride *s)
{
	struct gexi_pack *p = pack_take(t);
	size_t data, bytes;

	p->head.bytes = (uint32_t)(gexi_stride_count(s) * s->bytes);
	p->head.levels = (uint8_t)s->levels;
	p->done = next_completion(t);
	data = t->is_put ? pad_bytes(p->head.bytes) : 0;
	bytes = sizeof(p->head) + data + box_bytes(s->levels);
	if (!t->is_put) {
		p->into = *s;
		p->into.dim = p->dim;
		memcpy(p->dim, s->dim, s->levels * sizeof(*s->dim));
	}
	gexi_lock();
	if (!t->is_put || !send_box_in_place(t, p, s, bytes)) {
		if (t->is_put)
			gexi_stride_pack(s, p->room, true);
		write_box(s, p->room + data);
		pack_send_bytes(t, p, bytes);
	}
	poll_after(bytes);
	gexi_unlock();
}

bool gexi_transfer_boxes(struct gexi_transfer *t, const struct gexi_stride *s)
{
	struct gexi_dimension dim[GEXI_BOX_LEVELS];
	size_t index[GEXI_BOX_LEVELS] = {0}, inner = s->bytes, k = 0, room, most;
	struct gexi_stride box = *s;
	char *self = s->self, *peer = s->peer;

	if (t->is_mapped || s->levels > GEXI_BOX_LEVELS || !s->levels ||
	    (s->bytes > t->limit && !t->is_packed_whole) ||
	    box_bytes(s->levels) + pad_bytes(s->bytes) > t->room)
		return false;
	room = (t->room - box_bytes(s->levels)) & ~(size_t)7;
	while (k < s->levels && s->dim[k].count <= room / inner)
		inner *= s->dim[k++].count;
	if (k == s->levels) {
		send_box(t, s);
		return true;
	}
	/* Boxes of the lowest dimensions and of a part of the next one, for each of all others. */
	memcpy(dim, s->dim, (k + 1) * sizeof(*dim));
	box.dim = dim;
	box.levels = k + 1;
	most = room / inner;
	do
		for (size_t at = 0; at < s->dim[k].count; at += most) {
			size_t left = s->dim[k].count - at;

			dim[k].count = left < most ? left : most;
			box.self = self + (ptrdiff_t)at * s->dim[k].self;
			box.peer = peer + (ptrdiff_t)at * s->dim[k].peer;
			send_box(t, &box);
		}
	while (gexi_stride_advance(s, k + 1, index, &self, &peer));
	return true;
}

/* ---- transfers of PAMI for pieces ---- */

static void single_piece(struct gexi_transfer *t, char *self, char *peer, size_t bytes)
{
	struct gexi_completion done = next_completion(t);
	pami_rma_t rma = {.dest = gexi_peer(t->task)->endpoint[GEXI_MAIN],
			  .bytes = bytes,
			  .cookie = done.cookie,
			  .done_fn = t->is_put ? NULL : done.fn};
	pami_put_simple_t put = {.rma = rma, .addr = {self, peer}, .put = {.rdone_fn = done.fn}};
	pami_get_simple_t get = {.rma = rma, .addr = {self, peer}};
	pami_result_t rc;

	gexi_lock();
	rc = t->is_put ? PAMI_Put(gexi_world.context[GEXI_MAIN], &put)
		       : PAMI_Get(gexi_world.context[GEXI_MAIN], &get);
	gexi_unlock();
	if (rc != PAMI_SUCCESS)
		cannot_start("a transfer of pieces", t->task);
}

/* Gets of several pieces are one packet where there is room for it now. */
static void start_gets(struct gexi_transfer *t)
{
	struct gexi_completion done;
	pami_result_t rc = PAMI_EAGAIN;
	unsigned count = t->gets;
	pami_rma_t rma;

	t->gets = 0;
	if (count > 1) {
		done = next_completion(t);
		rma = (pami_rma_t){.dest = gexi_peer(t->task)->endpoint[GEXI_MAIN],
				   .cookie = done.cookie,
				   .done_fn = done.fn};
		gexi_lock();
		rc = gexi_world.get_pieces(gexi_world.context[GEXI_MAIN], &rma, t->get, count);
		if (rc == PAMI_EAGAIN) /* nothing to complete */
			gexi_complete(done);
		gexi_unlock();
	}
	if (rc == PAMI_SUCCESS)
		return;
	if (rc != PAMI_EAGAIN)
		cannot_start("a transfer of pieces", t->task);
	for (unsigned i = 0; i < count; i++)
		single_piece(t, t->get[i].local, t->get[i].remote, t->get[i].bytes);
}

static void long_piece(struct gexi_transfer *t, char *self, char *peer, size_t bytes)
{
	if (t->is_put || !gexi_world.get_pieces || gexi_world.env.vis_am == GEXI_VIS_AM_NONE) {
		single_piece(t, self, peer, bytes);
		return;
	}
	t->get[t->gets++] = (pami_quintorus_piece_t){self, peer, bytes};
	if (t->gets == PAMI_QUINTORUS_PIECES)
		start_gets(t);
}

/* ---- the interface of transfer.h ---- */

/* The longest pieces that are packed, unless a setting says otherwise: of gets, of puts. */
static const size_t vis_limits[][2] = {
#define VIS_LIMIT(path, get, put) {get, put},
#include "gasnet/vis/table.def"
#undef VIS_LIMIT
};

/* The longest pieces of a transfer that are packed. */
static size_t find_limit(uint32_t task, bool is_put)
{
	const struct gexi_env *env = &gexi_world.env;
	size_t set = is_put ? env->vis_put_max : env->vis_get_max;
	unsigned path = gexi_world.is_virtual ? 0 : gexi_peer(task)->is_near ? 1 : 2;

	if (env->vis_am == GEXI_VIS_AM_NONE)
		return 0;
	return set == GEXI_VIS_BY_TABLE ? vis_limits[path][is_put] : set;
}

bool gexi_transfer_gives_up(uint32_t task, bool is_put, size_t pieces, size_t longest,
			    size_t all_bytes, gex_Flags_t flags)
{
	size_t limit = find_limit(task, is_put), room, bytes, need;
	bool is_packed = !longest || longest <= limit || flags & GEX_FLAG_ENABLE_LEAF_LC, has;
	struct gexi_peer *peer = gexi_peer(task);

	if (!gexi_world.env.imm || peer->is_mapped || !all_bytes)
		return false;
	if ((!longest || !is_packed) && gexi_has_no_room())
		return true;
	if (!is_packed)
		return false;
	/* At most: what pack_piece() and send_box() leave unused is less than half of a message. A
	 * transfer that needs more than all credits starts with all and waits for the others. */
	room = gexi_world.env.vis_am == GEXI_VIS_AM_FIXED ? ROOM_FIXED : ROOM;
	bytes = (is_put ? all_bytes : 0) + pieces * sizeof(struct piece);
	need = 1 + pieces / PACK_PIECES + bytes / (room / 2) + (bytes >> 11);
	need = need < gexi_world.env.credits ? need : gexi_world.env.credits;
	gexi_lock();
	has = peer->credit.used + need <= gexi_world.env.credits;
	gexi_unlock();
	return !has;
}

void gexi_transfer_open(struct gexi_transfer *t, uint32_t task, bool is_put, enum gexi_vis_how how,
			gex_Flags_t flags)
{
	const struct gexi_peer *peer = gexi_peer(task);
	const struct gexi_env *env = &gexi_world.env;

	/* Not the list `get`: to clear it takes as long as a short copy. */
	t->task = task;
	t->is_put = is_put;
	t->is_implicit = how == GEXI_VIS_NBI;
	t->is_mapped = peer->is_mapped;
	t->limit = find_limit(task, is_put);
	t->room = env->vis_am == GEXI_VIS_AM_FIXED ? ROOM_FIXED : ROOM;
	t->event = NULL;
	t->pack = NULL;
	t->gets = 0;
	/* Local completion apart from remote: packed pieces have it when the call returns. */
	t->is_packed_whole = is_put && flags & GEX_FLAG_ENABLE_LEAF_LC;
	if (t->is_mapped || t->is_implicit)
		return;
	t->event = gexi_event_new();
	atomic_store_relaxed(&t->event->pending, 1); /* until gexi_transfer_close() */
}

void gexi_transfer_piece(struct gexi_transfer *t, char *self, char *peer, size_t bytes)
{
	if (!bytes)
		return;
	gexi_check_bounds("a transfer of pieces", t->task, peer, bytes);
	if (t->is_mapped) {
		char *at = peer + gexi_peer(t->task)->delta;

		gexi_spend_copy(bytes);
		memmove(t->is_put ? at : self, t->is_put ? self : at, bytes);
		return;
	}
	if (bytes > t->limit && !t->is_packed_whole) {
		long_piece(t, self, peer, bytes);
		return;
	}
	for (size_t part; bytes; self += part, peer += part, bytes -= part) {
		part = t->room - sizeof(struct piece);
		part = bytes < part ? bytes : part;
		pack_piece(t, self, peer, part);
	}
}

gex_Event_t gexi_transfer_close(struct gexi_transfer *t)
{
	struct gexi_event *e = t->event;

	if (t->pack)
		pack_send(t);
	if (t->gets)
		start_gets(t);
	if (!e)
		return GEX_EVENT_INVALID;
	if (atomic_fetch_sub_acq_rel(&e->pending, 1) != 1)
		return gexi_event_handle(e);
	gexi_event_free(e);
	return GEX_EVENT_INVALID;
}
