/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hot (bench/micro/wire.c): takes in acknowledgements. The order of transmissions shows which are
 * lost.
 */
#include <errno.h>

#include "drivers/wire_state.h"

static void sample_rtt(struct drv_wires *ws, struct wire *w)
{
	int64_t rtt = (int64_t)(ws->now - w->rtt_at), delta;

	w->rtt_on = 0;
	if (w->rtt_fresh) /* the answer came before the poll that would have read the clock */
		return;
	/* RFC 6298 */
	if (!w->srtt_ns) {
		w->srtt_ns = (uint64_t)rtt + 1;
		w->rttvar_ns = (uint64_t)rtt / 2;
	} else {
		delta = rtt - (int64_t)w->srtt_ns;
		w->srtt_ns = (uint64_t)((int64_t)w->srtt_ns + delta / 8);
		delta = (delta < 0 ? -delta : delta) - (int64_t)w->rttvar_ns;
		w->rttvar_ns = (uint64_t)((int64_t)w->rttvar_ns + delta / 4);
	}
	w->rto_ns = w->srtt_ns + 4 * w->rttvar_ns + WIRE_ACK_DELAY_NS;
	if (w->rto_ns < WIRE_RTO_MIN_NS)
		w->rto_ns = WIRE_RTO_MIN_NS;
	if (w->rto_ns > WIRE_RTO_MAX_NS)
		w->rto_ns = WIRE_RTO_MAX_NS;
}

static void clear_states(struct wire *w, struct wire_slot *s)
{
	if (s->state & WIRE_SACKED)
		w->sacked--;
	if (s->state & WIRE_LOST)
		w->lost--;
	if (s->state & WIRE_AGAIN)
		w->again--;
}

/* Release the n oldest frames, which have arrived. */
static void release_frames(struct drv_wires *ws, struct wire *w, uint32_t n)
{
	for (; n; n--) {
		struct wire_slot *s = wire_slot(w, w->una);

		if (__builtin_expect(s->state != 0, 0))
			clear_states(w, s);
		if (wire_has_buffer(s->place))
			wire_tx_return_buffer(ws, &w->kept[w->una & w->slot_mask]);
		w->una++;
		w->used_bytes -= s->bytes;
	}
	if (w->rtt_on && wire_diff(w->una, w->rtt_sequence) > 0)
		sample_rtt(ws, w);
}

static uint32_t mark_sacked(struct wire *w, const struct drv_frame_header *h)
{
	uint32_t found = 0;

	for (unsigned word = 0; word < 2; word++)
		for (uint64_t bits = h->sack[word]; bits; bits &= bits - 1) {
			uint32_t sequence = h->ack + word * 64 + (uint32_t)__builtin_ctzll(bits);
			struct wire_slot *s = wire_slot(w, sequence);

			if (sequence - w->una >= w->sent - w->una || s->state & WIRE_SACKED)
				continue;
			if (s->state & WIRE_LOST)
				w->lost--;
			s->state = (s->state & ~(uint32_t)WIRE_LOST) | WIRE_SACKED;
			w->sacked++;
			found += !(s->state & WIRE_HAD); /* otherwise it was counted before */
		}
	return found;
}

/* A transmission is lost if one that was made WIRE_REORDER later has arrived and it has not. */
static void mark_lost(struct drv_wires *ws, struct wire *w)
{
	uint32_t before = w->lost, least = WIRE_CWND_MIN;

	for (uint32_t i = w->una; i != w->sent; i++) {
		struct wire_slot *s = wire_slot(w, i);

		if (!(s->state & (WIRE_SACKED | WIRE_LOST)) && s->place != WIRE_NOWHERE &&
		    wire_diff(w->seen, s->order) >= WIRE_REORDER) {
			s->state |= WIRE_LOST;
			w->lost++;
		}
	}
	/* Halve the window once for all frames that were in flight together. */
	if (w->lost == before || wire_diff(w->una, w->recover) < 0)
		return;
	if (least > ws->conf.window_frames)
		least = ws->conf.window_frames;
	w->may_exceed_window = 1;
	w->ssthresh = w->cwnd / 2 > least ? w->cwnd / 2 : least;
	w->cwnd = w->ssthresh;
	w->grown = 0;
	w->recover = w->sent;
}

static void grow_window(struct drv_wires *ws, struct wire *w, uint32_t arrived)
{
	if (w->cwnd < w->ssthresh) {
		w->cwnd += arrived;
	} else {
		w->grown += arrived;
		if (w->grown >= w->cwnd) {
			w->grown = 0;
			w->cwnd++;
		}
	}
	if (w->cwnd > ws->conf.window_frames)
		w->cwnd = ws->conf.window_frames;
}

/*
 * Take in ack, sack and seen of a frame with the right epochs. Returns -EINVAL and changes nothing
 * if they name frames that were never sent.
 */
int wire_ack_receive(struct drv_wires *ws, struct wire *w, const struct drv_frame_header *h)
{
	uint32_t n = h->ack - w->una, arrived;

	if (n > w->sent - w->una) {
		if (wire_diff(h->ack, w->una) > 0)
			return -EINVAL;
		n = 0; /* a later acknowledgement has overtaken this one */
	}
	/*
	 * The peer has seen a transmission that this end did not make: a forged frame contained its
	 * number. Continue behind that number. Otherwise no transmission would ever be newer to the
	 * peer.
	 */
	if (__builtin_expect(wire_diff(h->seen, w->order) > 0, 0))
		w->order = h->seen;
	if (w->una == w->sent)
		return 0;
	if (wire_diff(h->seen, w->seen) > 0)
		w->seen = h->seen;
	w->stat.acks++;
	arrived = n;
	if (n)
		release_frames(ws, w, n);
	if (__builtin_expect((h->sack[0] | h->sack[1]) != 0, 0))
		arrived += mark_sacked(w, h);
	/* The peer has received the oldest frame but has no room for its runs. */
	if (__builtin_expect(h->sack[0] & 1, 0) && h->ack == w->una)
		w->stuck_at = 0;
	if (w->una == w->sent) {
		w->rto_at = WIRE_TIMER_OFF;
		w->rto_backoff = 0;
		if (ws->confirm_acks) {
			w->confirm_at = ws->now + WIRE_CONFIRM_NS;
			w->confirm_asked = false;
		}
	} else {
		if (arrived) {
			w->rto_at = ws->now + w->rto_ns;
			w->rto_fresh = w->rto_backoff = 0;
		}
		if (w->sacked || w->again ||
		    wire_diff(w->seen, wire_slot(w, w->una)->order) >= WIRE_REORDER)
			mark_lost(ws, w);
	}
	if (arrived)
		grow_window(ws, w, arrived);
	return 0;
}

/* Send this frame again. */
static void query_with(struct wire *w, struct wire_slot *s)
{
	if (s->state & WIRE_SACKED) {
		w->sacked--;
		s->state = (s->state & ~(uint32_t)WIRE_SACKED) | WIRE_HAD;
	}
	if (!(s->state & WIRE_LOST))
		w->lost++;
	s->state |= WIRE_LOST;
	w->may_exceed_window = 1;
}

/*
 * The retransmission timer. If nothing was heard for long, send the oldest frame that has not
 * arrived again, as a query; the answer tells which others were lost. If all frames have arrived
 * and the receiver defers the first one, send that one. A port that gathers frames loses none, so
 * the acknowledgement of a gathered one comes when the peer has taken it.
 */
void wire_ack_timer(struct drv_wires *ws, struct wire *w)
{
	uint32_t i = w->una;
	struct wire_slot *s;

	if (w->rto_fresh) {
		w->rto_fresh = 0;
		w->rto_at = ws->now + w->rto_ns;
	}
	if (w->rtt_fresh) {
		w->rtt_fresh = 0;
		w->rtt_at = ws->now;
	}
	if (ws->now < w->rto_at)
		return;
	wire_check_stuck(ws, w);
	if (!w->tx_ready)
		return; /* the handshake has restarted */
	while (i != w->sent && wire_slot(w, i)->state & WIRE_SACKED)
		i++;
	s = wire_slot(w, i == w->sent ? w->una : i);
	if (s->place != WIRE_NOWHERE)
		query_with(w, s);
	if (w->rto_backoff < 16)
		w->rto_backoff++;
	w->rto_at = w->rto_ns << w->rto_backoff;
	if (w->rto_at > WIRE_RTO_MAX_NS)
		w->rto_at = WIRE_RTO_MAX_NS;
	w->rto_at += ws->now;
}
