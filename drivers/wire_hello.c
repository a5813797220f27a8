/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handshake, goodbye, and the search for the frame size.
 *
 * Each end has an epoch; a later life of an end has a later epoch. A HELLO whose `to` is the epoch
 * of this end proves that its sender is alive now. At the first such HELLO from a later epoch than
 * the one it knows, an end commits: it sends to that epoch, beginning with its oldest
 * unacknowledged frame, and says so (COMMIT, sequence). The other end adopts that sequence once and
 * answers READY. Each pair of epochs commits once, and the sequence cannot move before READY, so
 * late copies of any HELLO do no harm.
 */
#include <errno.h>
#include <string.h>

#include "drivers/base/log.h"
#include "drivers/wire_state.h"

/* Send a HELLO. Returns 0, or -EAGAIN if the port is busy. */
static int send_hello(struct drv_wires *ws, struct wire *w, uint32_t to, int ask)
{
	struct drv_frame_header want = {.kind = DRV_FRAME_HELLO, .to = to};
	struct drv_frame_note note = {.frame_bytes = ws->frame_bytes_max,
				      .window = ws->conf.window_frames,
				      .known_epoch = w->peer_epoch,
				      .nonce = w->nonce,
				      .life = ws->life,
				      .echo = w->peer_nonce};

	if (to && to == w->peer_epoch) {
		want.flags |= DRV_FRAME_COMMIT;
		if (w->una == ws->conf.first_sequence)
			want.flags |= DRV_FRAME_FIRST;
		if (w->rx_ready) {
			want.flags |= DRV_FRAME_READY;
			note.ready_life = drv_frame_fold_life(w->rx_life);
		}
	}
	if (ask || !wire_is_connected(w))
		want.flags |= DRV_FRAME_ASK;
	if (ws->want_cover == DRV_FRAME_COVER_ALL)
		want.flags |= DRV_FRAME_CHECK_ME;
	return wire_tx_control(ws, w, &want, &note);
}

static void change_nonce(const struct drv_wires *ws, struct wire *w)
{
	w->nonce = (w->nonce + 1) * 2654435761u ^ (uint32_t)(ws->life >> 32);
	w->nonce += !w->nonce;
}

static void set_hello_timer(struct drv_wires *ws, struct wire *w)
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
	wire_check_stuck(ws, w);
	send_hello(ws, w, w->peer_epoch, 0);
	set_hello_timer(ws, w);
}

/* The peer is said to have closed. Query it: if it is alive, it answers. */
void wire_bye_timer(struct drv_wires *ws, struct wire *w)
{
	if (ws->now < w->hello_at)
		return;
	if (!send_hello(ws, w, w->peer_epoch, 1))
		w->bye_queries--;
	set_hello_timer(ws, w);
	if (!w->bye_queries)
		w->hello_at = WIRE_TIMER_OFF;
}

/* The peer still sends frames although it said goodbye. Query it once more. */
void wire_query_bye_again(struct drv_wires *ws, struct wire *w)
{
	if (ws->seal || w->is_dropped || w->bye_queries)
		return;
	w->bye_queries = 1;
	w->hello_at = ws->now;
	wire_activate(ws, w);
}

/*
 * The wire has been idle for WIRE_CONFIRM_NS. Ask the peer whether it has received everything that
 * was acknowledged. Without this query both programs might wait for ever after a forged
 * acknowledgement.
 */
void wire_confirm_timer(struct drv_wires *ws, struct wire *w)
{
	if (w->una != w->next) {
		/* The next acknowledgement starts the timer again. */
		w->confirm_at = WIRE_TIMER_OFF;
		w->confirm_asked = false;
		return;
	}
	if (!w->confirm_asked) {
		change_nonce(ws, w);
		w->confirm_asked = true;
		w->confirm_una = w->una;
		w->confirm_tries = WIRE_CONFIRM_TRIES;
	}
	if (!send_hello(ws, w, w->peer_epoch, 1))
		w->confirm_tries--;
	w->confirm_at = w->confirm_tries ? ws->now + WIRE_CONFIRM_NS : WIRE_TIMER_OFF;
}

/* Take in the peer's answer to the query of wire_confirm_timer(). */
static void confirm_answer(struct drv_wires *ws, struct wire *w, const struct drv_frame_header *h)
{
	w->confirm_asked = false;
	w->confirm_at = WIRE_TIMER_OFF;
	if (wire_diff(h->ack, w->confirm_una) >= 0)
		return;
	if (!ws->error)
		drv_error("host %u has not received %u frames that were acknowledged in its name: "
			  "somebody has forged an acknowledgement; --seal authenticated keeps such "
			  "frames out",
			  w->host, w->confirm_una - h->ack);
	ws->error = -EPROTO;
}

/*
 * Forget the state that was agreed with an epoch of either end. Frames that were not acknowledged
 * are sent again, and a HELLO is due at the next poll.
 */
static void reset_wire(struct drv_wires *ws, struct wire *w)
{
	w->rx_ready = w->tx_ready = w->peer_closed = w->bye_queries = 0;
	w->tx_cover = (uint8_t)ws->want_cover;
	wire_rx_discard_stored(w);
	wire_tx_requeue(ws, w);
	w->ack_owed = w->ack_now = 0;
	w->ack_at = w->probe_at = w->confirm_at = WIRE_TIMER_OFF;
	w->confirm_asked = false;
	w->hello_at = 0;
	w->hello_delay = 0;
	wire_activate(ws, w);
}

/*
 * Restart the handshake as if this process had just started. No message is lost or repeated: the
 * life of this process stays the same, so both ends continue where they were (accept_commit()). The
 * new epoch cannot be guessed, so a HELLO that was forged earlier does not contain it.
 */
static void restart_handshake(struct drv_wires *ws, struct wire *w)
{
	uint64_t mixed = (ws->secret ^ w->own_epoch) * 0x9e3779b97f4a7c15u;

	w->own_epoch += 1 + (uint32_t)(mixed >> 48);
	w->own_epoch += !w->own_epoch;
	w->peer_epoch = 0;
	reset_wire(ws, w);
}

/*
 * Called when the timer of the handshake or of the oldest frame has expired. The wire is stuck if
 * that frame has made no progress for WIRE_STUCK_NS although frames come from the peer: a forged or
 * damaged frame has made the states of the two ends differ. A seal excludes that. Time in which
 * this process or the whole machine was stopped counts as one step, since nothing could progress.
 */
void wire_check_stuck(struct drv_wires *ws, struct wire *w)
{
	uint64_t step = ws->now - w->stuck_at;

	if (!w->stuck_at || w->una != w->stuck_una) {
		if (w->una != w->stuck_una)
			w->restarts = 0;
		w->stuck_at = ws->now;
		w->stuck_ns = 0;
		w->stuck_una = w->una;
		w->peer_sent = 0;
		return;
	}
	w->stuck_at = ws->now;
	w->stuck_ns += step < WIRE_STUCK_STEP ? step : WIRE_STUCK_STEP;
	if (ws->seal || w->stuck_ns < WIRE_STUCK_STEP)
		return;
	/* Such a port has lost nothing, and gathered frames could not be sent to a later epoch. */
	if (ws->gathers && wire_is_connected(w))
		return;
	if (wire_is_connected(w) && ws->now >= w->query_at) {
		send_hello(ws, w, w->peer_epoch, 1); /* if the peer is alive, it answers */
		w->query_at = ws->now + WIRE_STUCK_STEP;
	}
	if (w->stuck_ns < WIRE_STUCK_NS || !w->peer_sent)
		return;
	if (w->restarts++ >= WIRE_RESTARTS_MAX) {
		if (!ws->error)
			drv_error(
			    "no message has reached host %u for %u s although it sends frames, and "
			    "starting the wire again did not help: somebody has forged or changed "
			    "a "
			    "frame; --seal authenticated keeps such frames out",
			    w->host,
			    (unsigned)(WIRE_STUCK_NS / 1000000000u) * (WIRE_RESTARTS_MAX + 1));
		ws->error = -EPROTO;
		return;
	}
	drv_warn(
	    "no message has reached host %u for %u s although it sends frames: the wire starts "
	    "again",
	    w->host, (unsigned)(WIRE_STUCK_NS / 1000000000u));
	w->stuck_ns = 0;
	w->peer_sent = 0;
	restart_handshake(ws, w);
}

static void start_probe(struct drv_wires *ws, struct wire *w, uint32_t limit)
{
	if (limit > ws->frame_bytes_max)
		limit = ws->frame_bytes_max;
	limit &= ~(DRV_FRAME_RUN - 1);
	w->probe_bytes = limit > w->frame_bytes ? limit : 0;
	w->probe_bad = limit + DRV_FRAME_RUN;
	w->probe_tries = 0;
	w->probe_at = w->probe_bytes ? 0 : WIRE_TIMER_OFF;
}

/* Commit to one life of the peer: from now on send to that epoch only. */
static void commit_to_epoch(struct drv_wires *ws, struct wire *w, uint32_t epoch)
{
	if (w->peer_epoch)
		w->stat.restarts++;
	w->peer_epoch = epoch;
	reset_wire(ws, w);
}

/*
 * Handle a COMMIT: the peer sends to this end from `sequence` on. A process that is known continues
 * where it was, whatever its epoch. Returns 0 if that is impossible because the peer would skip
 * frames, or go back behind its window.
 */
static int accept_commit(struct wire *w, uint64_t life, uint32_t sequence, bool is_first)
{
	if (life != w->rx_life && life == w->previous.life && w->previous.life) {
		uint32_t next = w->rx_next;

		w->rx_next = w->previous.next;
		w->previous.life = w->rx_has_data ? w->rx_life : 0;
		w->previous.next = next;
		w->rx_life = life;
		w->rx_has_data = 1;
	}
	/*
	 * If the peer says that nothing was ever acknowledged, and nothing was accepted, then an
	 * earlier HELLO may have been forged, so adopt the sequence again. If it says that
	 * something was acknowledged but nothing was accepted, then the acknowledgement was forged,
	 * and this end must not skip the frames that it named.
	 */
	if (life == w->rx_life && (w->rx_has_data || !is_first))
		return w->rx_next - sequence <= WIRE_WINDOW_MAX;
	if (w->rx_has_data) {
		w->previous.life = w->rx_life;
		w->previous.next = w->rx_next;
	}
	w->rx_life = life;
	w->rx_next = sequence;
	w->rx_has_data = 0;
	return 1;
}

/* Handle a HELLO that contains the epoch of this end. Returns 0 if its contents are impossible. */
static int handle_proven_hello(struct drv_wires *ws, struct wire *w,
			       const struct drv_frame_header *h, const struct drv_frame_note *note)
{
	/*
	 * The peer knows a later epoch of this end, since a clock was set back. Choose one that is
	 * later still.
	 */
	if (!w->tx_ready && note->known_epoch && wire_diff(note->known_epoch, w->own_epoch) > 0) {
		w->own_epoch = note->known_epoch + 1 ? note->known_epoch + 1 : 1;
		w->rx_ready = 0;
		w->hello_at = 0;
		wire_activate(ws, w);
	}
	if (w->peer_closed && h->from == w->peer_epoch) { /* the goodbye was forged */
		w->peer_closed = w->bye_queries = 0;
		w->rx_ready = w->tx_ready = 1;
	}
	if (!w->peer_epoch || wire_diff(h->from, w->peer_epoch) > 0)
		commit_to_epoch(ws, w, h->from);
	if (h->from != w->peer_epoch || h->to != w->own_epoch)
		return 1;
	if (h->flags & DRV_FRAME_CHECK_ME)
		w->tx_cover = DRV_FRAME_COVER_ALL;
	if (h->flags & DRV_FRAME_COMMIT && !w->rx_ready) {
		if (!accept_commit(w, note->life, h->sequence, h->flags & DRV_FRAME_FIRST)) {
			w->stat.bad_frames++;
			return 0;
		}
		w->rx_seen = h->order;
		w->rx_ready = 1;
		w->hello_delay = 0;
	}
	/*
	 * A forged HELLO may have given the peer a sequence before the true one did. Then its READY
	 * is meant for another process, or it expects a frame that was never sent. In that case
	 * shake hands again later.
	 */
	if (h->flags & DRV_FRAME_READY && !w->tx_ready &&
	    note->ready_life == drv_frame_fold_life(ws->life) &&
	    wire_diff(h->ack, w->ever_sent) <= 0) {
		w->tx_ready = 1;
		w->peer_window = note->window;
		start_probe(ws, w, note->frame_bytes);
	}
	if (wire_is_connected(w)) {
		w->hello_at = WIRE_TIMER_OFF;
		if (w->confirm_asked && note->echo == w->nonce && h->flags & DRV_FRAME_READY &&
		    note->ready_life == drv_frame_fold_life(ws->life))
			confirm_answer(ws, w, h);
	}
	wire_activate(ws, w);
	return 1;
}

void wire_hello_receive(struct drv_wires *ws, struct wire *w, const struct drv_frame_header *h)
{
	const struct drv_frame_note *note = (const void *)(h + 1);

	if (note->frame_bytes < w->frame_bytes || !note->window) {
		w->stat.bad_frames++;
		if (note->window && !(ws->logged & 1u << 31))
			drv_error("host %u takes frames of %u bytes, %u are in use: give both ends "
				  "the same "
				  "frame size",
				  w->host, note->frame_bytes, w->frame_bytes);
		ws->logged |= 1u << 31;
		return;
	}
	if (w->peer_closed && h->from == w->peer_epoch && (!w->nonce || note->echo != w->nonce))
		return; /* a late frame of a life that has ended */
	/* Two ends that cannot agree must not answer each other, or they would never stop. */
	if (h->to == w->own_epoch && !handle_proven_hello(ws, w, h, note))
		return;
	if (h->flags & DRV_FRAME_ASK) {
		w->peer_nonce = note->nonce;
		send_hello(ws, w, h->from, 0);
		if (!wire_is_connected(w) && !w->peer_closed)
			set_hello_timer(ws, w);
	}
}

/*
 * The peer has closed, or (h is NULL) is known to be dead. Keep what it did not accept for a later
 * life of it, which will send a HELLO. A goodbye may be forged, so query the peer; its answer must
 * contain the nonce of the query, so that an earlier frame is not mistaken for it.
 */
void wire_bye_receive(struct drv_wires *ws, struct wire *w, const struct drv_frame_header *h)
{
	w->peer_closed = 1;
	w->is_dropped = !h;
	w->bye_queries = h && !ws->seal ? WIRE_BYE_QUERIES : 0;
	if (w->bye_queries)
		change_nonce(ws, w);
	w->rx_ready = w->tx_ready = 0;
	wire_tx_requeue(ws, w);
	w->ack_owed = w->ack_now = 0;
	w->ack_at = w->probe_at = w->hello_at = w->confirm_at = WIRE_TIMER_OFF;
	w->confirm_asked = false;
	if (w->bye_queries) {
		w->hello_at = w->hello_delay = 0;
		wire_activate(ws, w);
	}
}

/*
 * Every size that was tried is below probe_bad. A late answer is as valid as an early one.
 */

void wire_probe_receive(struct drv_wires *ws, struct wire *w, const struct drv_frame_header *h)
{
	const struct drv_frame_note *note = (const void *)(h + 1);

	if (h->kind == DRV_FRAME_PROBE) {
		struct drv_frame_header want = {.kind = DRV_FRAME_ECHO};
		struct drv_frame_note echo = {.frame_bytes = note->frame_bytes};

		wire_tx_control(ws, w, &want, &echo);
		return;
	}
	/*
	 * Return the next size to try, between the largest that passed and the smallest that
	 * failed; 0: the search has ended.
	 */
	if (note->frame_bytes <= w->frame_bytes || note->frame_bytes > ws->frame_bytes_max ||
	    note->frame_bytes >= w->probe_bad || note->frame_bytes % DRV_FRAME_RUN)
		return;
	w->frame_bytes = note->frame_bytes;
	if (w->probe_bytes && w->probe_bytes <= w->frame_bytes) {
		w->probe_tries = WIRE_PROBE_TRIES;
		w->probe_at = 0;
	}
}

/*
 * Return the next size to try, between one that passes and one that does not; 0: they are close
 * enough.
 */
static uint32_t next_probe_size(const struct wire *w)
{
	uint32_t next = (w->frame_bytes + w->probe_bad) / 2 & ~(DRV_FRAME_RUN - 1);

	if (w->probe_bad <= w->frame_bytes + WIRE_PROBE_STEP || next <= w->frame_bytes)
		return 0;
	return next;
}

void wire_probe_timer(struct drv_wires *ws, struct wire *w)
{
	struct drv_frame_header want = {.kind = DRV_FRAME_PROBE};
	struct drv_frame_note note = {0};

	if (ws->now < w->probe_at)
		return;
	if (w->probe_tries == WIRE_PROBE_TRIES) {
		if (w->probe_bytes > w->frame_bytes)
			w->probe_bad = w->probe_bytes;
		w->probe_bytes = next_probe_size(w);
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
