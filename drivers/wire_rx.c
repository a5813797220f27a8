/* SPDX-License-Identifier: BSD-3-Clause */
/* Hot (bench/wire.c): frames in. A frame in order is handed out where the port put it; others are copied. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/log.h"
#include "drivers/wire_state.h"

/* Offer runs from *at on; 0 when all were taken, else *at is where to go on. */
static int offer(struct drv_wires *ws, struct wire *w, const unsigned char *frame, uint32_t *at)
{
	const struct drv_frame_run *run;
	uint32_t next = *at;

	while ((run = drv_frame_run_next(frame, &next))) {
		if (ws->fn(ws->arg, w->host, run->kind, run->tag, (const unsigned char *)(run + 1), run->bytes))
			return -EAGAIN;
		*at = next;
		ws->delivered++;
		w->stat.rx_runs++;
	}
	return 0;
}

/*
 * The frame in order. It is acknowledged before its runs are offered, so that an answer sent from
 * within fn carries the acknowledgement; from now on it is ours to keep.
 */
static void take(struct drv_wires *ws, struct wire *w, const unsigned char *frame, uint32_t bytes)
{
	uint32_t at = 0;

	w->rx_next++;
	w->stat.rx_frames++;
	w->stat.rx_bytes += bytes - DRV_FRAME_HEADER;
	if (!offer(ws, w, frame, &at))
		return;
	memcpy(w->held, frame, bytes);
	w->held_byte = at;
	w->held_on = 1;
	w->held_delay = 0;
	w->held_at = ws->now + WIRE_HELD_FIRST_NS;
	ws->held++;
	wire_activate(ws, w);
}

static void take_stored(struct drv_wires *ws, struct wire *w)
{
	while (w->stored_count && !w->held_on) {
		struct wire_stored *s = &w->stored[w->rx_next & w->slot_mask];
		unsigned char *frame = s->frame;

		if (!frame)
			return;
		s->frame = NULL;
		w->stored_count--;
		take(ws, w, frame, s->bytes);
		free(frame);
		w->owed = w->ack_now = 1; /* the sender may be waiting for this */
	}
}

/* Offer the rest of the held frame again. */
void wire_rx_held(struct drv_wires *ws, struct wire *w)
{
	if (offer(ws, w, w->held, &w->held_byte)) {
		if (ws->now >= w->held_at) {
			if (WIRE_HELD_FIRST_NS << w->held_delay < WIRE_HELD_MAX_NS)
				w->held_delay++;
			w->held_at = ws->now + (WIRE_HELD_FIRST_NS << w->held_delay);
		}
		return;
	}
	w->held_on = 0;
	ws->held--;
	take_stored(ws, w);
}

/* Drop what was stored out of order: its sender is no more. */
void wire_rx_forget(struct wire *w)
{
	for (uint32_t i = 0; w->stored_count; i++)
		if (w->stored[i].frame) {
			free(w->stored[i].frame);
			w->stored[i].frame = NULL;
			w->stored_count--;
		}
}

static void store(struct wire *w, const struct drv_frame_header *h)
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
	s->frame = malloc(h->bytes);
	if (!s->frame)
		return; /* it will come again */
	s->bytes = h->bytes;
	memcpy(s->frame, h, h->bytes);
	w->stored_count++;
}

static void owe(struct drv_wires *ws, struct wire *w, int at_once)
{
	if (!w->owed) {
		w->owed = 1;
		w->ack_at = ws->now + WIRE_ACK_DELAY_NS;
		wire_activate(ws, w);
	}
	if (at_once)
		w->ack_now = 1;
}

static void receive_data(struct drv_wires *ws, struct wire *w, const struct drv_frame_header *h)
{
	uint32_t ahead = h->sequence - w->rx_next;

	if (!w->held) {
		w->held = malloc(ws->frame_bytes_max);
		if (!w->held)
			return;
	}
	if (wire_diff(h->order, w->rx_seen) > 0)
		w->rx_seen = h->order;
	owe(ws, w, h->flags & DRV_FRAME_ASK);
	if (__builtin_expect(ahead == 0 && !w->held_on, 1)) {
		take(ws, w, (const unsigned char *)h, h->bytes);
		if (__builtin_expect(w->stored_count != 0, 0))
			take_stored(ws, w);
		return;
	}
	if (ahead < ws->conf.window_frames) {
		store(w, h);
		if (ahead)
			w->ack_now = 1;
		return;
	}
	w->stat.duplicates++; /* or beyond our window, which no sound sender does */
	w->ack_now = 1;
}

static void refuse(struct drv_wires *ws, enum drv_frame_fault fault, const struct drv_frame *f)
{
	ws->wire[ws->conf.self].stat.bad_frames++;
	/* Where corruption is expected it may look like anything. */
	if (ws->noisy || ws->logged & 1u << fault || fault == DRV_FRAME_FOREIGN || fault == DRV_FRAME_CORRUPT)
		return;
	ws->logged |= 1u << fault;
	drv_warn("frame of %u bytes from peer %d of the port refused: %s%s (said once)", f->bytes, f->peer,
	         drv_frame_fault_text(fault),
	         fault == DRV_FRAME_RELEASE ? "; run the same release on all hosts" : "");
}

/* The wire a checked frame belongs to, or NULL (counted). */
static struct wire *find(struct drv_wires *ws, const struct drv_frame *f)
{
	const struct drv_frame_header *h = (const void *)f->data;
	struct wire *self = &ws->wire[ws->conf.self], *w;

	if (h->job != ws->conf.job) {
		self->stat.wrong_job++;
		return NULL;
	}
	if (h->source >= ws->conf.hosts || h->source == ws->conf.self || h->bytes > ws->frame_bytes_max + (ws->seal ? DRV_FRAME_TRAILER : 0)) {
		self->stat.bad_frames++;
		return NULL;
	}
	w = &ws->wire[h->source];
	if (w->peer < 0 || w->peer != f->peer) {
		w->stat.stale++; /* not named yet: it will ask again */
		return NULL;
	}
	if (w->tx_sum && !(h->flags & DRV_FRAME_CHECKED)) {
		w->stat.bad_frames++; /* one end wants checksums, and both know */
		return NULL;
	}
	return w;
}

/* The wire of a frame that is sound in itself, or NULL (counted). */
static struct wire *admit(struct drv_wires *ws, const struct drv_frame *f)
{
	enum drv_frame_fault fault = drv_frame_check(f->data, f->bytes, ws->want_checksum);

	if (__builtin_expect(fault == DRV_FRAME_OK, 1))
		return find(ws, f);
	refuse(ws, fault, f);
	return NULL;
}

/* The same where frames are sealed: the header says whose it claims to be, the tag whether it is. */
static struct wire *admit_sealed(struct drv_wires *ws, const struct drv_frame *f)
{
	const struct drv_frame_header *h = (const void *)f->data;
	enum drv_frame_fault fault = drv_frame_check_header(f->data, f->bytes);
	struct wire *w = NULL;
	uint64_t number;

	if (fault == DRV_FRAME_OK) {
		w = find(ws, f);
		if (!w)
			return NULL;
		fault = drv_seal_check(ws->seal, f->data, ws->conf.self, &number);
	}
	if (fault == DRV_FRAME_OK)
		fault = drv_frame_check_rest(f->data);
	if (fault != DRV_FRAME_OK) {
		refuse(ws, fault, f);
		return NULL;
	}
	/* A HELLO of an earlier epoch may mean a clock set back: it is answered (wire_hello.c), and does no harm. */
	if (drv_seal_fresh(&ws->seen[w->host], h->from, number) ||
	    (h->kind == DRV_FRAME_HELLO && h->from != ws->seen[w->host].epoch))
		return w;
	w->stat.replays++;
	return NULL;
}

void wire_rx_frame(struct drv_wires *ws, const struct drv_frame *f)
{
	const struct drv_frame_header *h = (const void *)f->data;
	struct wire *w = ws->seal ? admit_sealed(ws, f) : admit(ws, f);

	if (!w)
		return;
	if (h->kind == DRV_FRAME_HELLO) {
		wire_hello_receive(ws, w, h);
		return;
	}
	if (h->from != w->theirs || h->to != w->mine || !w->rx_ready) {
		w->stat.stale++;
		return;
	}
	if (wire_ack_receive(ws, w, h)) {
		w->stat.bad_frames++;
		return;
	}
	switch (h->kind) {
	case DRV_FRAME_DATA:
		receive_data(ws, w, h);
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
