/* SPDX-License-Identifier: BSD-3-Clause */
/* Hot (bench/wire.c): frames out. A frame costs one copy of its runs and its share of a burst. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/log.h"
#include "drivers/wire_state.h"

/* --- the open frame ------------------------------------------------------------------------- */

static int memory_get(struct drv_wires *ws, struct wire *w)
{
	uint32_t frame = ws->frame_bytes_max, window = ws->conf.window_bytes;

	/* Twice a frame is lost where the ring wraps; the rest is touched only as far as it is used. */
	w->ring_bytes = (window > 2 * frame ? window : 2 * frame) + 2 * frame;
	w->slot = calloc(w->slot_mask + 1, sizeof *w->slot);
	w->ring = calloc(1, w->ring_bytes);
	if (w->slot && w->ring)
		return 0;
	free(w->slot);
	free(w->ring);
	w->slot = NULL;
	w->ring = NULL;
	drv_error("no memory for the wire to host %u (%u bytes)", w->host, w->ring_bytes);
	return -ENOMEM;
}

/*
 * Where `bytes` fit behind the newest frame, or -1. Goes back to the start of the ring when that is
 * free by far, so that short exchanges stay in the first lines of it, which are in the cache.
 */
static int64_t ring_place(struct wire *w, uint32_t bytes)
{
	uint32_t head = w->ring_head, tail;

	if (w->una == w->next)
		return 0;
	tail = wire_slot(w, w->una)->at;
	if (head <= tail)
		return tail - head > bytes ? (int64_t)head : -1;
	if (tail > 4 * bytes && tail > 2 * (head - tail))
		return 0;
	if (w->ring_bytes - head >= bytes)
		return head;
	return tail > bytes ? 0 : -1;
}

/* Open a frame behind the closed ones; NULL: no window, queue full. */
unsigned char *wire_tx_open(struct drv_wires *ws, struct wire *w)
{
	struct drv_wire_open *o = &ws->head.open[w->host];
	uint32_t room = w->frame_bytes - DRV_FRAME_HEADER;
	int64_t at;

	if (!w->ring && memory_get(ws, w))
		return NULL;
	if (w->next - w->una >= ws->conf.window_frames || w->next - w->sent >= DRV_PORT_BURST)
		return NULL;
	if (w->next != w->una && w->used_bytes + room > ws->conf.window_bytes)
		return NULL;
	at = ring_place(w, room);
	if (at < 0)
		return NULL;
	w->ring_head = (uint32_t)at;
	w->open_start = o->at = w->ring + at;
	o->end = o->at + room;
	o->last = NULL;
	wire_activate(ws, w);
	return o->at;
}

/* The open frame takes no more runs; nothing happens if it has none. */
void wire_tx_close(struct drv_wires *ws, struct wire *w)
{
	struct drv_wire_open *o = &ws->head.open[w->host];
	uint32_t bytes = (uint32_t)(o->at - w->open_start);
	struct wire_slot *s;

	if (bytes) {
		s = wire_slot(w, w->next++);
		*s = (struct wire_slot){ .at = w->ring_head, .bytes = bytes };
		w->ring_head += (bytes + 63) & ~63u;
		w->used_bytes += bytes;
		w->waiting_bytes += bytes;
	}
	o->at = o->end = o->last = w->open_start = NULL;
}

unsigned char *drv_wire_reserve_frame(struct drv_wires *ws, uint32_t host, uint32_t bytes)
{
	struct wire *w = &ws->wire[host];
	unsigned char *at;

	if (bytes > drv_wires_run_max(ws, host)) {
		drv_error("a run of %u bytes does not fit a frame to host %u: at most %u", bytes, host,
		          drv_wires_run_max(ws, host));
		return NULL;
	}
	wire_tx_close(ws, w);
	if (w->next != w->sent &&
	    (w->una == w->sent || w->next - w->sent >= DRV_PORT_BURST || w->waiting_bytes >= WIRE_BURST_BYTES))
		wire_tx_push(ws, w);
	at = wire_tx_open(ws, w);
	return at ? at + DRV_FRAME_RUN : NULL;
}

void drv_wire_flush(struct drv_wires *ws, uint32_t host, int now)
{
	struct wire *w = &ws->wire[host];

	if (!w->tx_ready || (!now && (w->una != w->sent || ws->polling || w->bursts >= WIRE_BURSTS)))
		return;
	if (wire_open_used(ws, w))
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
	h->from = w->mine;
	h->to = w->theirs;
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

/* What was owed to the peer has just left. */
static void acknowledged(struct wire *w)
{
	w->owed = w->ack_now = 0;
	w->ack_at = WIRE_TIMER_OFF;
}

/* May this transmission wait for a lazy acknowledgement, or must it ask for one? */
static int must_ask(struct drv_wires *ws, struct wire *w, uint32_t sequence, uint32_t room)
{
	uint32_t base = wire_diff(w->asked, w->una) > 0 ? w->asked : w->una;

	if (sequence == w->una)
		w->unasked_bytes = 0;
	w->unasked_bytes += wire_slot(w, sequence)->bytes;
	if (room > 1 && sequence - base < w->cwnd / 4 && w->unasked_bytes < ws->conf.window_bytes / 4)
		return 0;
	w->asked = sequence + 1;
	w->unasked_bytes = 0;
	return 1;
}

/* The frame is complete but for what lets its receiver trust it. */
static int finish(struct drv_wires *ws, struct wire *w, struct drv_frame *f, int sum)
{
	const struct drv_frame_header *h = (const void *)f->data;
	int rc = 0;

	if (ws->seal)
		rc = drv_seal_frame(ws->seal, f->data, w->host, ++w->number);
	else if (sum)
		drv_frame_sum(f->data);
	f->bytes = h->bytes;
	f->peer = w->peer;
	if (rc)
		drv_port_tx_put(ws->port, f);
	return rc;
}

static int fill_frame(struct drv_wires *ws, struct wire *w, struct drv_frame *f, uint32_t sequence,
                      uint32_t order, uint32_t room)
{
	const struct wire_slot *s = wire_slot(w, sequence);
	struct drv_frame_header *h;
	int err = drv_port_tx_get(ws->port, f);

	if (err)
		return err;
	h = (void *)f->data;
	fill_header(ws, w, h);
	h->bytes = (uint16_t)(DRV_FRAME_HEADER + s->bytes);
	h->sequence = sequence;
	h->order = order;
	if (must_ask(ws, w, sequence, room) || s->state & WIRE_LOST)
		h->flags = DRV_FRAME_ASK;
	memcpy(f->data + DRV_FRAME_HEADER, w->ring + s->at, s->bytes);
	return finish(ws, w, f, w->tx_sum);
}

/* Fill a burst: what was lost first, then what waits, as the window permits. */
static unsigned gather(struct drv_wires *ws, struct wire *w, struct drv_frame *f, uint32_t *sequence)
{
	uint32_t flying = wire_flying(w), room, lost = w->lost, n = 0;

	room = flying < w->cwnd ? w->cwnd - flying : w->lost && w->urgent;
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
	w->tx_stuck = 1;
	return n;
}

static void mark_sent(struct drv_wires *ws, struct wire *w, uint32_t sequence)
{
	struct wire_slot *s = wire_slot(w, sequence);

	s->order = ++w->order;
	if (s->state & WIRE_LOST) {
		if (!(s->state & WIRE_AGAIN))
			w->again++;
		s->state = (s->state & WIRE_HAD) | WIRE_AGAIN;
		w->lost--;
		w->urgent = 0;
		w->stat.resent++;
		w->rtt_on = 0; /* cannot tell which transmission the answer is for */
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

/* Send lost and waiting frames as far as window and port permit. */
void wire_tx_push(struct drv_wires *ws, struct wire *w)
{
	struct drv_frame f[DRV_PORT_BURST];
	uint32_t sequence[DRV_PORT_BURST];
	unsigned n, taken;

	if (!w->tx_ready)
		return;
	do {
		n = gather(ws, w, f, sequence);
		if (!n)
			break;
		taken = (unsigned)drv_port_tx_send(ws->port, f, n);
		for (unsigned i = 0; i < taken; i++)
			mark_sent(ws, w, sequence[i]);
		for (unsigned i = taken; i < n; i++)
			drv_port_tx_put(ws->port, &f[i]);
		if (taken)
			acknowledged(w);
		if (taken < n)
			w->tx_stuck = 1;
	} while (taken == DRV_PORT_BURST);
	if (w->tx_stuck)
		w->asked = w->una; /* the one that asked may not have left */
	if (w->rto_at == WIRE_TIMER_OFF && w->una != w->sent) {
		w->rto_fresh = !ws->polling;
		w->rto_at = ws->now + w->rto_ns;
	}
	wire_activate(ws, w);
}

/*
 * Send a frame that is not data: kind, flags and to (0: theirs) from `want`, body from note if not
 * NULL (a PROBE is padded to note->frame_bytes). 0 or -EAGAIN.
 */
int wire_tx_control(struct drv_wires *ws, struct wire *w, const struct drv_frame_header *want,
                    const struct drv_frame_note *note)
{
	struct drv_frame f;
	struct drv_frame_header *h;

	if (drv_port_tx_get(ws->port, &f)) {
		w->tx_stuck = 1;
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
	if (finish(ws, w, &f, w->tx_sum || want->kind != DRV_FRAME_ACK)) {
		w->tx_stuck = 1;
		return -EAGAIN;
	}
	if (drv_port_tx_send(ws->port, &f, 1) != 1) {
		drv_port_tx_put(ws->port, &f);
		w->tx_stuck = 1;
		return -EAGAIN;
	}
	if (want->kind == DRV_FRAME_ACK) {
		w->stat.acks_bare++;
		acknowledged(w);
	}
	return 0;
}

/* Nothing that is not acknowledged counts as sent: for a peer that will start anew. */
void wire_tx_requeue(struct drv_wires *ws, struct wire *w)
{
	(void)ws;
	for (uint32_t s = w->una; s != w->sent; s++) {
		wire_slot(w, s)->state = 0;
		w->waiting_bytes += wire_slot(w, s)->bytes;
	}
	w->sent = w->una;
	w->sacked = w->lost = w->again = 0;
	w->seen = w->order;
	w->asked = w->recover = w->una;
	w->rtt_on = w->rto_backoff = w->rto_fresh = 0;
	w->rto_at = WIRE_TIMER_OFF;
}
