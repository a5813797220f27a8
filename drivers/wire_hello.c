/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handshake, goodbye, and the search for the frame size.
 *
 * Each end has an epoch; a later life of an end has a later one. A HELLO whose `to` is my epoch
 * proves that its sender lives now. On the first such HELLO from a later epoch than the one held,
 * an end commits: it sends to that epoch from its oldest unacknowledged frame on, and says so
 * (COMMIT, sequence). The other takes that sequence over once and says READY. As an epoch pair is
 * committed once, and the sequence cannot move before READY, late copies of any HELLO do no harm.
 */
#include <string.h>

#include "drivers/base/log.h"
#include "drivers/wire_state.h"

static void hello_send(struct drv_wires *ws, struct wire *w, uint32_t to)
{
	struct drv_frame_header want = { .kind = DRV_FRAME_HELLO, .to = to };
	struct drv_frame_note note = { .frame_bytes = ws->frame_bytes_max,
		                       .window = ws->conf.window_frames,
		                       .held = w->theirs };

	if (to && to == w->theirs) {
		want.flags |= DRV_FRAME_COMMIT;
		if (w->rx_ready)
			want.flags |= DRV_FRAME_READY;
	}
	if (!wire_connected(w))
		want.flags |= DRV_FRAME_ASK;
	if (ws->want_checksum)
		want.flags |= DRV_FRAME_CHECK_ME;
	wire_tx_control(ws, w, &want, &note);
}

static void hello_delay(struct drv_wires *ws, struct wire *w)
{
	w->hello_at = WIRE_HELLO_FIRST_NS << w->hello_delay;
	if (w->hello_at > WIRE_HELLO_MAX_NS)
		w->hello_at = WIRE_HELLO_MAX_NS;
	else
		w->hello_delay++;
	w->hello_at += ws->now;
}

void wire_hello_timer(struct drv_wires *ws, struct wire *w)
{
	if (ws->now < w->hello_at)
		return;
	hello_send(ws, w, w->theirs);
	hello_delay(ws, w);
}

static void probe_start(struct drv_wires *ws, struct wire *w, uint32_t limit)
{
	if (limit > ws->frame_bytes_max)
		limit = ws->frame_bytes_max;
	limit &= ~(DRV_FRAME_RUN - 1);
	w->probe_bytes = limit > w->frame_bytes ? limit : 0;
	w->probe_bad = limit + DRV_FRAME_RUN;
	w->probe_tries = 0;
	w->probe_at = w->probe_bytes ? 0 : WIRE_TIMER_OFF;
}

/* From now on we talk to this life of the peer only. */
static void commit(struct drv_wires *ws, struct wire *w, uint32_t theirs)
{
	if (w->theirs)
		w->stat.restarts++;
	w->theirs = theirs;
	w->rx_ready = w->tx_ready = w->gone = 0;
	wire_rx_forget(w);
	wire_tx_requeue(ws, w);
	w->owed = w->ack_now = 0;
	w->ack_at = w->probe_at = WIRE_TIMER_OFF;
	w->hello_at = 0;
	w->hello_delay = 0;
	wire_activate(ws, w);
}

/* A HELLO to my epoch: what can it change? */
static void hello_proven(struct drv_wires *ws, struct wire *w, const struct drv_frame_header *h,
                         const struct drv_frame_note *note)
{
	/* It holds a later epoch of ours (a clock was set back): become later still. */
	if (!w->tx_ready && note->held && wire_diff(note->held, w->mine) > 0) {
		w->mine = note->held + 1 ? note->held + 1 : 1;
		w->rx_ready = 0;
		w->hello_at = 0;
		wire_activate(ws, w);
	}
	if (!w->theirs || wire_diff(h->from, w->theirs) > 0)
		commit(ws, w, h->from);
	if (h->from != w->theirs || h->to != w->mine)
		return;
	if (h->flags & DRV_FRAME_CHECK_ME)
		w->tx_sum = 1;
	if (h->flags & DRV_FRAME_COMMIT && !w->rx_ready) {
		w->rx_next = h->sequence;
		w->rx_seen = h->order;
		w->rx_ready = 1;
		w->hello_delay = 0;
	}
	if (h->flags & DRV_FRAME_READY && !w->tx_ready) {
		w->tx_ready = 1;
		w->peer_window = note->window;
		probe_start(ws, w, note->frame_bytes);
	}
	if (wire_connected(w))
		w->hello_at = WIRE_TIMER_OFF;
	wire_activate(ws, w);
}

void wire_hello_receive(struct drv_wires *ws, struct wire *w, const struct drv_frame_header *h)
{
	const struct drv_frame_note *note = (const void *)(h + 1);

	if (note->frame_bytes < w->frame_bytes || !note->window) {
		w->stat.bad_frames++;
		if (note->window && !(ws->logged & 1u << 31))
			drv_error("host %u takes frames of %u bytes, %u are in use: give both ends the same "
			          "frame size",
			          w->host, note->frame_bytes, w->frame_bytes);
		ws->logged |= 1u << 31;
		return;
	}
	if (w->gone && h->from == w->theirs)
		return; /* late: that life is over */
	if (h->to == w->mine)
		hello_proven(ws, w, h, note);
	if (h->flags & DRV_FRAME_ASK) {
		hello_send(ws, w, h->from);
		if (!wire_connected(w) && !w->gone)
			hello_delay(ws, w);
	}
}

/* The peer has closed. Keep what it did not take for a later life, which will say hello. */
void wire_bye_receive(struct drv_wires *ws, struct wire *w, const struct drv_frame_header *h)
{
	(void)h;
	w->gone = 1;
	w->rx_ready = w->tx_ready = 0;
	wire_tx_requeue(ws, w);
	w->owed = w->ack_now = 0;
	w->ack_at = w->probe_at = w->hello_at = WIRE_TIMER_OFF;
}

/* --- frame size ------------------------------------------------------------------------------ */

void wire_probe_receive(struct drv_wires *ws, struct wire *w, const struct drv_frame_header *h)
{
	const struct drv_frame_note *note = (const void *)(h + 1);

	if (h->kind == DRV_FRAME_PROBE) {
		struct drv_frame_header want = { .kind = DRV_FRAME_ECHO };
		struct drv_frame_note echo = { .frame_bytes = note->frame_bytes };

		wire_tx_control(ws, w, &want, &echo);
		return;
	}
	/* The largest size that we ever tried is below probe_bad. A late answer is as good. */
	if (note->frame_bytes <= w->frame_bytes || note->frame_bytes > ws->frame_bytes_max ||
	    note->frame_bytes % DRV_FRAME_RUN)
		return;
	w->frame_bytes = note->frame_bytes;
	if (w->probe_bytes && w->probe_bytes <= w->frame_bytes) {
		w->probe_tries = WIRE_PROBE_TRIES;
		w->probe_at = 0;
	}
}

/* The next size to try between what passes and what does not; 0: near enough. */
static uint32_t probe_next(const struct wire *w)
{
	uint32_t next = (w->frame_bytes + w->probe_bad) / 2 & ~(DRV_FRAME_RUN - 1);

	if (w->probe_bad <= w->frame_bytes + WIRE_PROBE_STEP || next <= w->frame_bytes)
		return 0;
	return next;
}

void wire_probe_timer(struct drv_wires *ws, struct wire *w)
{
	struct drv_frame_header want = { .kind = DRV_FRAME_PROBE };
	struct drv_frame_note note = { 0 };

	if (ws->now < w->probe_at)
		return;
	if (w->probe_tries == WIRE_PROBE_TRIES) {
		if (w->probe_bytes > w->frame_bytes)
			w->probe_bad = w->probe_bytes;
		w->probe_bytes = probe_next(w);
		w->probe_tries = 0;
	}
	if (!w->probe_bytes) {
		w->probe_at = WIRE_TIMER_OFF;
		drv_debug("host %u: frames of %u bytes", w->host, w->frame_bytes);
		return;
	}
	note.frame_bytes = w->probe_bytes;
	if (wire_tx_control(ws, w, &want, &note))
		return;
	w->probe_at = ws->now + (2000000ull << w->probe_tries);
	w->probe_tries++;
}
