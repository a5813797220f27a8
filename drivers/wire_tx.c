/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hot (bench/micro/wire.c): sends frames. A frame costs its share of a burst, and one copy of its
 * runs if the port lets no buffers be kept.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/assert.h"
#include "drivers/base/log.h"
#include "drivers/wire_state.h"

/* --- the open frame ------------------------------------------------------------------------- */

static int allocate_buffers(struct drv_wires *ws, struct wire *w)
{
	uint32_t frame = ws->frame_bytes_max, window = ws->conf.window_bytes;

	/*
	 * Up to twice the frame size is unused where the ring wraps. Pages are touched only as they
	 * are used.
	 */
	w->ring_bytes = (window > 2 * frame ? window : 2 * frame) + 2 * frame;
	w->slot = calloc(w->slot_mask + 1, sizeof *w->slot);
	w->ring = calloc(1, w->ring_bytes);
	w->kept = ws->keep_max ? calloc(w->slot_mask + 1, sizeof *w->kept) : NULL;
	if (w->slot && w->ring && (w->kept || !ws->keep_max))
		return 0;
	free(w->slot);
	free(w->ring);
	free(w->kept);
	w->slot = NULL;
	w->ring = NULL;
	w->kept = NULL;
	drv_error("no memory for the wire to host %u (%u bytes)", w->host, w->ring_bytes);
	return -ENOMEM;
}

/*
 * Return a position for `bytes` bytes behind the newest frame, or -1. Returns to the start of the
 * ring if much of it is free there, so that short exchanges use its first lines, which are in the
 * cache.
 */
static int64_t find_ring_place(struct wire *w, uint32_t bytes)
{
	uint32_t head = w->ring_head, oldest = w->una, tail;

	while (oldest != w->next && wire_slot(w, oldest)->place != WIRE_IN_RING)
		oldest++;
	if (oldest == w->next)
		return 0;
	tail = wire_slot(w, oldest)->at;
	if (head <= tail)
		return tail - head > bytes ? (int64_t)head : -1;
	if (tail > 4 * bytes && tail > 2 * (head - tail))
		return 0;
	if (w->ring_bytes - head >= bytes)
		return head;
	return tail > bytes ? 0 : -1;
}

/*
 * Is the frame that begins with a run of `bytes` expected to become so long that keeping its buffer
 * costs less than copying its runs?
 */
static bool is_worth_keeping(const struct wire *w, uint32_t bytes)
{
	return bytes >= WIRE_KEEP_BYTES || w->bursts;
}

/* Open a frame in a buffer of the port. Returns false if it lends none now. */
static bool open_in_buffer(struct drv_wires *ws, struct wire *w)
{
	struct drv_frame *f = &w->open_frame;

	if (ws->kept >= ws->keep_max || drv_port_tx_get(ws->port, f))
		return false;
	if (__builtin_expect((uintptr_t)f->data % DRV_FRAME_RUN != 0, 0)) {
		drv_port_tx_put(ws->port, f);
		return false;
	}
	f->keep = true;
	ws->kept++;
	w->is_open_in_buffer = true;
	w->open_start = f->data + DRV_FRAME_HEADER;
	return true;
}

static bool open_in_ring(struct wire *w, uint32_t room)
{
	int64_t at = find_ring_place(w, room);

	if (at < 0)
		return false;
	w->ring_head = (uint32_t)at;
	w->open_start = w->ring + at;
	return true;
}

/*
 * Open a frame behind the closed ones, for a run of `bytes` and more. Returns NULL if the window or
 * the queue is full.
 */
unsigned char *wire_tx_open(struct drv_wires *ws, struct wire *w, uint32_t bytes)
{
	struct drv_wire_open *o = &ws->head.open[w->host];
	uint32_t room = w->frame_bytes - DRV_FRAME_HEADER;

	if (!w->ring && allocate_buffers(ws, w))
		return NULL;
	if (w->next - w->una >= ws->conf.window_frames || w->next - w->sent >= DRV_PORT_BURST)
		return NULL;
	if (w->next != w->una && w->used_bytes + room > ws->conf.window_bytes)
		return NULL;
	if (!(is_worth_keeping(w, bytes) && open_in_buffer(ws, w)) && !open_in_ring(w, room))
		return NULL;
	o->at = w->open_start;
	o->end = o->at + room;
	o->last = NULL;
	wire_activate(ws, w);
	return o->at;
}

/* Close the open frame. Does nothing if it contains no runs. */
void wire_tx_close(struct drv_wires *ws, struct wire *w)
{
	struct drv_wire_open *o = &ws->head.open[w->host];
	uint32_t bytes = (uint32_t)(o->at - w->open_start);
	struct wire_slot *s;

	if (bytes) {
		s = wire_slot(w, w->next);
		*s = (struct wire_slot){.at = w->ring_head, .bytes = bytes};
		if (w->is_open_in_buffer) {
			s->place = WIRE_IN_BUFFER;
			w->kept[w->next & w->slot_mask] = w->open_frame;
		} else {
			w->ring_head += (bytes + 63) & ~63u;
		}
		w->next++;
		w->used_bytes += bytes;
		w->waiting_bytes += bytes;
	} else if (w->is_open_in_buffer) {
		wire_tx_return_buffer(ws, &w->open_frame);
	}
	w->is_open_in_buffer = false;
	o->at = o->end = o->last = w->open_start = NULL;
}

void wire_tx_return_buffer(struct drv_wires *ws, struct drv_frame *f)
{
	drv_port_tx_put(ws->port, f);
	ws->kept--;
}

/* Return all buffers that are kept for this wire, which is about to be freed. */
void wire_tx_return_buffers(struct drv_wires *ws, struct wire *w)
{
	if (w->is_open_in_buffer)
		wire_tx_return_buffer(ws, &w->open_frame);
	for (uint32_t s = w->una; s != w->next; s++)
		if (wire_has_buffer(wire_slot(w, s)->place))
			wire_tx_return_buffer(ws, &w->kept[s & w->slot_mask]);
}

unsigned char *drv_wire_reserve_frame(struct drv_wires *ws, uint32_t host, uint32_t bytes)
{
	struct wire *w = &ws->wire[host];
	unsigned char *at;

	if (bytes > drv_wires_run_max(ws, host)) {
		drv_error("a run of %u bytes does not fit a frame to host %u: at most %u", bytes,
			  host, drv_wires_run_max(ws, host));
		return NULL;
	}
	if (w->open_start)
		wire_tx_close(ws, w);
	if (w->next != w->sent && (w->una == w->sent || w->next - w->sent >= DRV_PORT_BURST ||
				   w->waiting_bytes >= WIRE_BURST_BYTES))
		wire_tx_push(ws, w);
	at = wire_tx_open(ws, w, bytes);
	return at ? at + DRV_FRAME_RUN : NULL;
}

void drv_wire_flush(struct drv_wires *ws, uint32_t host, int now)
{
	struct wire *w = &ws->wire[host];

	if (!w->tx_ready ||
	    (!now && (w->una != w->sent || ws->polling || w->bursts >= WIRE_BURSTS)))
		return;
	if (wire_open_has_runs(ws, w))
		wire_tx_close(ws, w);
	if (w->sent != w->next)
		wire_tx_push(ws, w);
}

/* --- leaving -------------------------------------------------------------------------------- */

static void fill_header(struct drv_wires *ws, struct wire *w, struct drv_frame_header *h)
{
	h->magic = DRV_FRAME_MAGIC;
	h->version = DRV_FRAME_VERSION;
	h->kind = DRV_FRAME_DATA;
	h->flags = 0;
	h->job = ws->conf.job;
	h->source = (uint16_t)ws->conf.self;
	h->from = w->own_epoch;
	h->to = w->peer_epoch;
	h->sequence = w->una;
	h->ack = w->rx_next;
	h->checksum = 0;
	h->sack[0] = h->sack[1] = 0;
	if (__builtin_expect(w->stored_count != 0, 0))
		for (uint32_t i = 0; i < DRV_FRAME_SACK && i <= w->slot_mask; i++)
			if (w->stored[(w->rx_next + i) & w->slot_mask].frame)
				h->sack[i / 64] |= 1ull << i % 64;
	h->order = w->order;
	h->seen = w->rx_seen;
}

/* The acknowledgement that was owed to the peer has left. */
static void note_ack_sent(struct wire *w)
{
	w->ack_owed = w->ack_now = 0;
	w->ack_at = WIRE_TIMER_OFF;
}

/* True if this transmission must ask for an acknowledgement instead of waiting for a lazy one. */
static int must_ask(struct drv_wires *ws, struct wire *w, uint32_t sequence, uint32_t room)
{
	uint32_t base = wire_diff(w->asked, w->una) > 0 ? w->asked : w->una;

	if (sequence == w->una)
		w->unasked_bytes = 0;
	w->unasked_bytes += wire_slot(w, sequence)->bytes;
	if (room > 1 && sequence - base < w->cwnd / 4 &&
	    w->unasked_bytes < ws->conf.window_bytes / 4)
		return 0;
	w->asked = sequence + 1;
	w->unasked_bytes = 0;
	return 1;
}

/* Add the checksum or the seal to a complete frame. Returns 0 or -EIO. */
static int protect_frame(struct drv_wires *ws, struct wire *w, struct drv_frame *f,
			 enum drv_frame_cover cover)
{
	const struct drv_frame_header *h = (const void *)f->data;
	int rc = 0;

	if (ws->seal)
		rc = drv_seal_frame(ws->seal, f->data, wire_sealed_name(ws, w->host), ++w->number);
	else if (cover == DRV_FRAME_COVER_ALL)
		drv_frame_add_checksum(f->data);
	else if (cover == DRV_FRAME_COVER_HEADER)
		drv_frame_add_header_checksum(f->data);
	f->bytes = h->bytes;
	f->peer = w->peer;
	if (rc && !f->keep)
		drv_port_tx_put(ws->port, f);
	return rc;
}

/* A frame of which nothing is kept has to be sent again, because a connection was made anew. */
static int report_gone(struct drv_wires *ws, const struct wire *w)
{
	if (!ws->error)
		drv_error("the connection to host %u was made anew while frames were under way in "
			  "port %s, which does not lose any otherwise: they cannot be sent again; "
			  "start the job again",
			  w->host, ws->port->ops->name);
	ws->error = -EPROTO;
	return -EPROTO;
}

static int fill_frame(struct drv_wires *ws, struct wire *w, struct drv_frame *f, uint32_t sequence,
		      uint32_t order, uint32_t room)
{
	const struct wire_slot *s = wire_slot(w, sequence);
	const struct drv_frame *kept = w->kept ? &w->kept[sequence & w->slot_mask] : NULL;
	struct drv_frame_header *h;
	int err;

	DRV_ASSERT(kept || !wire_has_buffer(s->place));
	if (s->place == WIRE_NOWHERE)
		return report_gone(ws, w);
	if (s->place == WIRE_IN_BUFFER)
		*f = *kept;
	else if ((err = drv_port_tx_get(ws->port, f)))
		return err;
	h = (void *)f->data;
	fill_header(ws, w, h);
	h->bytes = (uint16_t)(DRV_FRAME_HEADER + s->bytes);
	h->sequence = sequence;
	h->order = order;
	if (must_ask(ws, w, sequence, room) || s->state & WIRE_LOST)
		h->flags = DRV_FRAME_ASK;
	if (s->place == WIRE_IN_SENT_BUFFER)
		memcpy(f->data + DRV_FRAME_HEADER, kept->data + DRV_FRAME_HEADER, s->bytes);
	else if (s->place == WIRE_IN_RING)
		memcpy(f->data + DRV_FRAME_HEADER, w->ring + s->at, s->bytes);
	return protect_frame(ws, w, f, (enum drv_frame_cover)w->tx_cover);
}

/*
 * Fill a burst: lost frames first, then waiting ones, as far as the window permits. Returns their
 * number.
 */
static unsigned fill_burst(struct drv_wires *ws, struct wire *w, struct drv_frame *f,
			   uint32_t *sequence)
{
	uint32_t in_flight = wire_in_flight(w), room, lost = w->lost, n = 0;

	room = in_flight < w->cwnd ? w->cwnd - in_flight : w->lost && w->may_exceed_window;
	for (uint32_t s = w->una; lost && room && n < DRV_PORT_BURST; s++) {
		if (!(wire_slot(w, s)->state & WIRE_LOST))
			continue;
		if (fill_frame(ws, w, &f[n], s, w->order + 1 + n, room))
			goto busy;
		sequence[n++] = s;
		room--, lost--;
	}
	for (uint32_t s = w->sent; s != w->next && room && n < DRV_PORT_BURST; s++) {
		if (s - w->una >= w->peer_window)
			break;
		if (fill_frame(ws, w, &f[n], s, w->order + 1 + n, room))
			goto busy;
		sequence[n++] = s;
		room--;
	}
	return n;
busy:
	w->tx_busy = 1;
	return n;
}

static void mark_sent(struct drv_wires *ws, struct wire *w, uint32_t sequence)
{
	struct wire_slot *s = wire_slot(w, sequence);

	s->order = ++w->order;
	if (s->place == WIRE_IN_BUFFER)
		s->place = WIRE_IN_SENT_BUFFER;
	if (s->state & WIRE_LOST) {
		if (!(s->state & WIRE_AGAIN))
			w->again++;
		s->state = (s->state & WIRE_HAD) | WIRE_AGAIN;
		w->lost--;
		w->may_exceed_window = 0;
		w->stat.resent++;
		w->rtt_on = 0; /* it is unknown which transmission the answer is for */
	} else {
		w->sent = sequence + 1;
		w->waiting_bytes -= s->bytes;
		w->stat.tx_frames++;
		w->stat.tx_bytes += s->bytes;
		if (!w->rtt_on) {
			w->rtt_on = 1;
			w->rtt_fresh = !ws->polling;
			w->rtt_at = ws->now;
			w->rtt_sequence = sequence;
		}
	}
}

static void start_timer(struct drv_wires *ws, struct wire *w)
{
	if (w->rto_at != WIRE_TIMER_OFF || w->una == w->sent)
		return;
	w->rto_fresh = !ws->polling;
	w->rto_at = ws->now + w->rto_ns;
}

/* Send lost and waiting frames as far as the window and the port permit. */
void wire_tx_push(struct drv_wires *ws, struct wire *w)
{
	struct drv_frame f[DRV_PORT_BURST];
	uint32_t sequence[DRV_PORT_BURST];
	unsigned n, taken;

	if (!w->tx_ready)
		return;
	do {
		n = fill_burst(ws, w, f, sequence);
		if (!n)
			break;
		taken = (unsigned)drv_port_tx_send(ws->port, f, n);
		DRV_ASSERT(taken <= n);
		for (unsigned i = 0; i < taken; i++)
			mark_sent(ws, w, sequence[i]);
		for (unsigned i = taken; i < n; i++)
			if (!f[i].keep)
				drv_port_tx_put(ws->port, &f[i]);
		if (taken)
			note_ack_sent(w);
		if (taken < n)
			w->tx_busy = 1;
	} while (taken == DRV_PORT_BURST);
	if (w->tx_busy)
		w->asked = w->una; /* the frame that asked may not have left */
	start_timer(ws, w);
	wire_activate(ws, w);
}

/* Have all earlier frames left, and may another one of `bytes` bytes of runs? */
static bool may_gather(struct drv_wires *ws, struct wire *w, uint32_t bytes)
{
	if (w->open_start)
		wire_tx_close(ws, w);
	if (w->sent != w->next || w->lost)
		wire_tx_push(ws, w);
	return w->sent == w->next && !w->lost && wire_in_flight(w) < w->cwnd &&
	       w->sent - w->una < w->peer_window && w->next - w->una < ws->conf.window_frames &&
	       (w->next == w->una || w->used_bytes + bytes <= ws->conf.window_bytes);
}

/* Write what lies before the data of a gathered frame into its buffer, and note the frame. */
static void fill_gathered(struct drv_wires *ws, struct wire *w, struct drv_frame *f,
			  const struct drv_wire_gather *g)
{
	struct drv_frame_header *h = (void *)f->data;
	struct drv_frame_run run = {
	    .bytes = g->head_bytes + g->bytes, .kind = (uint16_t)g->kind, .tag = g->tag};
	uint32_t bytes = DRV_FRAME_RUN + run.bytes;

	*wire_slot(w, w->next) = (struct wire_slot){.bytes = bytes, .place = WIRE_NOWHERE};
	fill_header(ws, w, h);
	h->bytes = (uint16_t)(DRV_FRAME_HEADER + bytes);
	h->sequence = w->next;
	h->order = w->order + 1;
	if (must_ask(ws, w, w->next, w->cwnd - wire_in_flight(w)))
		h->flags = DRV_FRAME_ASK;
	memcpy(h + 1, &run, sizeof run);
	memcpy((unsigned char *)(h + 1) + sizeof run, g->head, g->head_bytes);
	if (w->tx_cover == DRV_FRAME_COVER_HEADER)
		drv_frame_add_header_checksum(f->data);
	f->bytes = DRV_FRAME_HEADER + DRV_FRAME_RUN + g->head_bytes;
	f->peer = w->peer;
}

static void note_gathered(struct drv_wires *ws, struct wire *w)
{
	struct drv_wire_open *o = &ws->head.open[w->host];
	uint32_t bytes = wire_slot(w, w->next)->bytes;

	w->next++;
	w->used_bytes += bytes;
	w->waiting_bytes += bytes;
	mark_sent(ws, w, w->next - 1);
	note_ack_sent(w);
	start_timer(ws, w);
	o->runs++;
	o->since_poll++;
}

bool drv_wires_gather(const struct drv_wires *ws)
{
	return ws->gathers;
}

int drv_wire_send_gathered(struct drv_wires *ws, uint32_t host, const struct drv_wire_gather *g)
{
	struct wire *w = &ws->wire[host];
	uint64_t bytes = (uint64_t)g->head_bytes + g->bytes;
	struct drv_frame f;

	if (!ws->gathers || !w->tx_ready || w->tx_cover == DRV_FRAME_COVER_ALL ||
	    bytes % DRV_FRAME_RUN || bytes > drv_wires_run_max(ws, host) ||
	    (!w->ring && allocate_buffers(ws, w)))
		return -ENOTSUP;
	wire_activate(ws, w);
	if (!may_gather(ws, w, DRV_FRAME_RUN + (uint32_t)bytes))
		return -EAGAIN;
	if (drv_port_tx_get(ws->port, &f)) {
		w->tx_busy = 1;
		return -EAGAIN;
	}
	fill_gathered(ws, w, &f, g);
	if (drv_port_tx_gather(ws->port, &f, g->data, g->bytes)) {
		note_gathered(ws, w);
		return 0;
	}
	drv_port_tx_put(ws->port, &f);
	w->tx_busy = 1;
	w->asked = w->una; /* this frame may have been the one that asks */
	return -EAGAIN;
}

/*
 * Send a frame that is not data. kind, flags and to (0: peer_epoch) come from `want`; the body
 * comes from note if that is not NULL (a PROBE is padded to note->frame_bytes). Returns 0 or
 * -EAGAIN.
 */
int wire_tx_control(struct drv_wires *ws, struct wire *w, const struct drv_frame_header *want,
		    const struct drv_frame_note *note)
{
	struct drv_frame f;
	struct drv_frame_header *h;

	DRV_ASSERT(note || want->kind != DRV_FRAME_PROBE);
	if (drv_port_tx_get(ws->port, &f)) {
		w->tx_busy = 1;
		return -EAGAIN;
	}
	h = (void *)f.data;
	fill_header(ws, w, h);
	h->kind = want->kind;
	h->flags = want->flags;
	if (want->to)
		h->to = want->to;
	h->bytes = DRV_FRAME_HEADER;
	if (note) {
		h->bytes = DRV_FRAME_HEADER + sizeof *note;
		memcpy(f.data + DRV_FRAME_HEADER, note, sizeof *note);
	}
	if (want->kind == DRV_FRAME_PROBE) {
		h->bytes = (uint16_t)note->frame_bytes;
		memset(f.data + DRV_FRAME_HEADER + sizeof *note, 0,
		       h->bytes - DRV_FRAME_HEADER - sizeof *note);
	}
	if (protect_frame(ws, w, &f,
			  want->kind == DRV_FRAME_ACK ? (enum drv_frame_cover)w->tx_cover
						      : DRV_FRAME_COVER_ALL)) {
		w->tx_busy = 1;
		return -EAGAIN;
	}
	if (drv_port_tx_send(ws->port, &f, 1) != 1) {
		drv_port_tx_put(ws->port, &f);
		w->tx_busy = 1;
		return -EAGAIN;
	}
	if (want->kind == DRV_FRAME_ACK) {
		w->stat.acks_bare++;
		note_ack_sent(w);
	}
	return 0;
}

/* Mark all frames that are not acknowledged as not sent, for a peer that will start anew. */
void wire_tx_requeue(struct drv_wires *ws, struct wire *w)
{
	(void)ws;
	for (uint32_t s = w->una; s != w->sent; s++) {
		wire_slot(w, s)->state = 0;
		w->waiting_bytes += wire_slot(w, s)->bytes;
	}
	if (wire_diff(w->sent, w->ever_sent) > 0)
		w->ever_sent = w->sent;
	w->sent = w->una;
	w->sacked = w->lost = w->again = 0;
	w->seen = w->order;
	w->asked = w->recover = w->una;
	w->rtt_on = w->rto_backoff = w->rto_fresh = 0;
	w->rto_at = WIRE_TIMER_OFF;
}
