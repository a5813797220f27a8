/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hot (bench/micro/wire.c): receives frames. A frame in order is delivered from where the port put
 * it; others are copied.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/atomic.h"
#include "drivers/base/log.h"
#include "drivers/wire_state.h"

/*
 * Offer the runs from *at on to fn. Returns 0 if it accepted all; otherwise *at is the first one
 * that it did not accept.
 */
static int offer_runs(struct drv_wires *ws, struct wire *w, const unsigned char *frame,
		      uint32_t bytes, uint32_t *at)
{
	const struct drv_frame_run *run;
	uint32_t next = *at, run_bytes;

	while ((run = drv_frame_run_next(frame, bytes, &next, &run_bytes))) {
		if (ws->fn(ws->arg, w->host, run->kind, run->tag, (const unsigned char *)(run + 1),
			   run_bytes))
			return -EAGAIN;
		*at = next;
		ws->delivered++;
		w->stat.rx_runs++;
	}
	return 0;
}

/*
 * Accept the next frame in order. It is acknowledged before its runs are offered, so that an answer
 * that fn sends carries the acknowledgement; from now on this end must keep the frame.
 */
static void accept_frame(struct drv_wires *ws, struct wire *w, const unsigned char *frame,
			 uint32_t bytes)
{
	uint32_t at = 0;

	w->rx_next++;
	w->rx_has_data = 1;
	w->stat.rx_frames++;
	w->stat.rx_bytes += bytes - DRV_FRAME_HEADER;
	if (!offer_runs(ws, w, frame, bytes, &at))
		return;
	memcpy(w->deferred, frame, bytes);
	w->deferred_bytes = bytes;
	w->deferred_byte = at;
	w->has_deferred = 1;
	w->deferred_delay = 0;
	w->deferred_at = ws->now + WIRE_DEFER_FIRST_NS;
	ws->deferred_wires++;
	wire_activate(ws, w);
}

static void accept_stored(struct drv_wires *ws, struct wire *w)
{
	while (w->stored_count && !w->has_deferred) {
		struct wire_stored *s = &w->stored[w->rx_next & w->slot_mask];
		unsigned char *frame = s->frame;

		if (!frame)
			return;
		s->frame = NULL;
		w->stored_count--;
		accept_frame(ws, w, frame, s->bytes);
		free(frame);
		w->ack_owed = w->ack_now = 1; /* the sender may wait for this acknowledgement */
	}
}

/* Offer the rest of the deferred frame again. */
void wire_rx_offer_deferred(struct drv_wires *ws, struct wire *w)
{
	if (offer_runs(ws, w, w->deferred, w->deferred_bytes, &w->deferred_byte)) {
		if (ws->now >= w->deferred_at) {
			if (WIRE_DEFER_FIRST_NS << w->deferred_delay < WIRE_DEFER_MAX_NS)
				w->deferred_delay++;
			w->deferred_at = ws->now + (WIRE_DEFER_FIRST_NS << w->deferred_delay);
		}
		return;
	}
	w->has_deferred = 0;
	ws->deferred_wires--;
	accept_stored(ws, w);
}

/* Discard the frames that were stored out of order, because their sender has ended. */
void wire_rx_discard_stored(struct wire *w)
{
	for (uint32_t i = 0; w->stored_count; i++)
		if (w->stored[i].frame) {
			free(w->stored[i].frame);
			w->stored[i].frame = NULL;
			w->stored_count--;
		}
}

static void store_frame(struct wire *w, const struct drv_frame_header *h, uint32_t bytes)
{
	struct wire_stored *s;

	w->stat.out_of_order++;
	if (!w->stored)
		w->stored = calloc(w->slot_mask + 1, sizeof *w->stored);
	if (!w->stored)
		return;
	s = &w->stored[h->sequence & w->slot_mask];
	if (s->frame) {
		w->stat.duplicates++;
		return;
	}
	s->frame = malloc(bytes);
	if (!s->frame)
		return; /* the sender will send it again */
	s->bytes = bytes;
	memcpy(s->frame, h, bytes);
	w->stored_count++;
}

static void owe_ack(struct drv_wires *ws, struct wire *w, int at_once)
{
	if (!w->ack_owed) {
		w->ack_owed = 1;
		w->ack_at = ws->now + WIRE_ACK_DELAY_NS;
		wire_activate(ws, w);
	}
	if (at_once)
		w->ack_now = 1;
}

static void receive_data(struct drv_wires *ws, struct wire *w, const struct drv_frame_header *h,
			 uint32_t bytes)
{
	uint32_t ahead = h->sequence - w->rx_next;

	if (!w->deferred) {
		w->deferred = malloc(ws->frame_bytes_max);
		if (!w->deferred)
			return;
	}
	if (wire_diff(h->order, w->rx_seen) > 0)
		w->rx_seen = h->order;
	owe_ack(ws, w, h->flags & DRV_FRAME_ASK);
	if (__builtin_expect(ahead == 0 && !w->has_deferred, 1)) {
		accept_frame(ws, w, (const unsigned char *)h, bytes);
		if (__builtin_expect(w->stored_count != 0, 0))
			accept_stored(ws, w);
		return;
	}
	if (ahead < ws->conf.window_frames) {
		store_frame(w, h, bytes);
		if (ahead)
			w->ack_now = 1;
		return;
	}
	w->stat.duplicates++; /* or beyond the window, which a correct sender does not exceed */
	w->ack_now = 1;
}

static void count_refused(struct drv_wires *ws, enum drv_frame_error error,
			  const struct drv_frame *f)
{
	ws->wire[ws->conf.self].stat.bad_frames++;
	/* Where corruption is expected, a corrupted frame may look like any error. */
	if (ws->expects_corruption || ws->logged & 1u << error || error == DRV_FRAME_FOREIGN ||
	    error == DRV_FRAME_CORRUPT)
		return;
	ws->logged |= 1u << error;
	drv_warn("frame of %u bytes from peer %d of the port refused: %s%s (said once)", f->bytes,
		 f->peer, drv_frame_error_text(error),
		 error == DRV_FRAME_RELEASE ? "; run the same release on all hosts" : "");
}

/* Return the wire that a checked frame belongs to, or NULL after counting the reason. */
static struct wire *find_wire(struct drv_wires *ws, const struct drv_frame *f)
{
	const struct drv_frame_header *h = (const void *)f->data;
	struct wire *self = &ws->wire[ws->conf.self], *w;

	if (h->job != ws->conf.job) {
		self->stat.wrong_job++;
		return NULL;
	}
	if (h->source >= ws->conf.hosts || h->source == ws->conf.self ||
	    h->bytes > ws->frame_bytes_max + (ws->seal ? DRV_FRAME_TRAILER : 0)) {
		self->stat.bad_frames++;
		return NULL;
	}
	w = &ws->wire[h->source];
	if (w->peer < 0 || w->peer != f->peer) {
		w->stat.stale++; /* the peer is not known yet; it will send another HELLO */
		return NULL;
	}
	if (w->tx_cover == DRV_FRAME_COVER_ALL && !(h->flags & DRV_FRAME_CHECKED)) {
		w->stat.bad_frames++; /* one end wants checksums, and both ends know */
		return NULL;
	}
	return w;
}

/* Check a frame and return its wire, or NULL after counting the reason. */
static struct wire *check_frame(struct drv_wires *ws, const struct drv_frame *f)
{
	enum drv_frame_error error = drv_frame_check(f->data, f->bytes, ws->want_cover);

	if (__builtin_expect(error == DRV_FRAME_OK, 1))
		return find_wire(ws, f);
	count_refused(ws, error, f);
	return NULL;
}

/* The same for sealed frames: the header contains the claimed sender, the tag proves it. */
static struct wire *check_sealed_frame(struct drv_wires *ws, const struct drv_frame *f)
{
	const struct drv_frame_header *h = (const void *)f->data;
	enum drv_frame_error error = drv_frame_check_header(f->data, f->bytes);
	struct wire *w = NULL;
	uint64_t number;

	if (error == DRV_FRAME_OK) {
		w = find_wire(ws, f);
		if (!w)
			return NULL;
		error =
		    drv_seal_check(ws->seal, f->data, wire_sealed_name(ws, ws->conf.self), &number);
	}
	if (error == DRV_FRAME_OK)
		error = drv_frame_check_rest(f->data);
	if (error != DRV_FRAME_OK) {
		count_refused(ws, error, f);
		return NULL;
	}
	/*
	 * A HELLO of an earlier epoch may mean that a clock was set back. It is answered
	 * (wire_hello.c) and does no harm.
	 */
	if (drv_seal_is_fresh(&ws->seen[w->host], h->from, number) ||
	    (h->kind == DRV_FRAME_HELLO && h->from != ws->seen[w->host].epoch))
		return w;
	w->stat.replays++;
	return NULL;
}

void wire_rx_frame(struct drv_wires *ws, const struct drv_frame *f)
{
	const struct drv_frame_header *h = (const void *)f->data;
	struct wire *w = ws->seal ? check_sealed_frame(ws, f) : check_frame(ws, f);
	uint32_t bytes;

	if (!w)
		return;
	w->peer_sent = 1;
	if (h->kind == DRV_FRAME_HELLO) {
		wire_hello_receive(ws, w, h);
		return;
	}
	if (h->from != w->peer_epoch || h->to != w->own_epoch || !w->rx_ready) {
		w->stat.stale++;
		if (w->peer_closed && h->from == w->peer_epoch && h->to == w->own_epoch)
			wire_query_bye_again(ws, w);
		return;
	}
	if (wire_ack_receive(ws, w, h)) {
		w->stat.bad_frames++;
		return;
	}
	switch (h->kind) {
	case DRV_FRAME_DATA:
		/* In the memory of port shm the sender can change what was checked. */
		bytes = atomic_load_relaxed(&h->bytes);
		if (bytes <= f->bytes && bytes <= ws->frame_bytes_max)
			receive_data(ws, w, h, bytes);
		else
			w->stat.bad_frames++;
		break;
	case DRV_FRAME_PROBE:
	case DRV_FRAME_ECHO:
		wire_probe_receive(ws, w, h);
		break;
	case DRV_FRAME_BYE:
		wire_bye_receive(ws, w, h);
		break;
	default:
		break;
	}
}
