/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exhaustive search of the wire protocol: the real code of drivers/wire*.c, two ends, small windows
 * and few messages; everything that the network, the clocks and the user may do next is tried in
 * every state that can be reached, up to the bounds of each case below.
 *
 * All memory of both ends and the network lies in one arena, so a state is copied by memcpy. A
 * state already seen is not entered again. "Seen" goes by what can matter later: epochs, sequences,
 * slots, stores, frames in flight as a set, timers running or not. Times themselves are left out
 * (any running timer may fire at any moment, each end has its own clock), and orders of
 * transmission count by their distance, up to 6. Where a case has a forged frame, how long a wire
 * has been stuck is time too, so wires start again only in the checks of progress.
 *
 * In every transition: runs arrive in order, once, undamaged, and never more than were handed in.
 * In every state (or each 2^k-th, printed): if from now on the network is kind, everything handed
 * in arrives, is acknowledged, and both ends fall silent.
 *
 *   usage: wire_model [--deep | NAME-OF-A-CASE]
 */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "drivers/base/log.h"

#define ARENA_BYTES 32768u
#define FLIGHTS     8
#define FRAME       128u
#define DEPTH       4000u

struct flight {
	int to; /* -1: free place */
	uint32_t bytes;
	_Alignas(8) unsigned char data[FRAME];
};

struct bounds {
	const char *name;
	uint32_t window, messages[2], drops, dups, refusals, restarts, flights;
	uint32_t first_sequence;
	/* named below */
	int connected;       /* start behind the handshake */
	int clock_back;      /* a later life has an earlier epoch */
	int deep;            /* only with --deep */
	int forgeries;       /* forged frames that end 0 gets in the name of end 1 */
	uint32_t check_each; /* progress is checked in each of so many states */
};

/* Everything that changes. Nothing in it points outside the arena but code and `wires`. */
static struct world {
	uint32_t arena_used, arena_free[ARENA_BYTES / 64 / 8]; /* free lists by size in 64 bytes */
	struct flight flight[FLIGHTS];
	struct drv_wires *wires[2];
	uint64_t now[2];
	uint32_t sent[2], got[2];       /* messages handed in at an end; taken at it */
	uint32_t life[2], life_seen[2]; /* of the end; of its peer, by what was taken */
	uint32_t reborn[2];             /* a new life that has taken nothing yet */
	uint32_t drops, dups, refusals, restarts, forgeries, epochs;
	int refuse, delivering; /* this poll: refuse the first run; `arriving` arrives */
	struct flight arriving;
	_Alignas(64) unsigned char arena[ARENA_BYTES]; /* last: copied as far as it is used */
} w0;

static struct bounds bounds;
static const char *broken;

static void *arena_alloc(size_t bytes)
{
	uint32_t lines = (uint32_t)((bytes + 63) / 64), *at = &w0.arena_free[lines], here = *at;
	unsigned char *p;

	if (here) {
		memcpy(at, w0.arena + here, sizeof *at);
		return w0.arena + here;
	}
	if (w0.arena_used + (lines + 1) * 64 > ARENA_BYTES)
		abort();
	w0.arena_used += 64; /* a line before each block says its length; offset 0 stays unused */
	p = w0.arena + w0.arena_used;
	memcpy(p - 64, &lines, sizeof lines);
	w0.arena_used += lines * 64;
	return p;
}

static void *arena_calloc(size_t n, size_t bytes)
{
	return memset(arena_alloc(n * bytes), 0, n * bytes);
}

static void arena_release(void *block)
{
	unsigned char *p = block;
	uint32_t lines;

	if (!p)
		return;
	memcpy(&lines, p - 64, sizeof lines);
	memcpy(p, &w0.arena_free[lines], sizeof lines);
	w0.arena_free[lines] = (uint32_t)(p - w0.arena);
}

#define WIRE_CWND_MIN 1u
#define malloc(n)     arena_alloc(n)
#define calloc(n, b)  arena_calloc(n, b)
#define free(p)       arena_release(p)
#include "drivers/wire.c"
#include "drivers/wire_ack.c"
#include "drivers/wire_hello.c"
#include "drivers/wire_rx.c"
#include "drivers/wire_tx.c"
#undef malloc
#undef calloc
#undef free

/* --- the network: frames lie in flight until one is chosen ------------------------------------ */

#define PLACE_FREE (-1)
#define PLACE_LENT (-2)

static int port_tx_get(struct drv_port *p, struct drv_frame *f)
{
	(void)p;
	for (uint32_t i = 0; i < bounds.flights; i++)
		if (w0.flight[i].to == PLACE_FREE) {
			w0.flight[i].to = PLACE_LENT;
			f->data = w0.flight[i].data;
			f->bytes = FRAME;
			f->cookie = &w0.flight[i];
			return 0;
		}
	return -EAGAIN;
}

static int port_tx_send(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	(void)p;
	for (unsigned i = 0; i < n; i++) {
		struct flight *g = f[i].cookie;

		g->to = f[i].peer;
		g->bytes = f[i].bytes;
	}
	return (int)n;
}

static void port_tx_put(struct drv_port *p, struct drv_frame *f)
{
	(void)p;
	((struct flight *)f->cookie)->to = PLACE_FREE;
}

struct model_port {
	struct drv_port port;
	int place;
};

static int port_rx(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	(void)n;
	if (!w0.delivering)
		return 0;
	f->data = w0.arriving.data;
	f->bytes = w0.arriving.bytes;
	f->peer = !((struct model_port *)p)->place;
	return 1;
}

static void port_rx_done(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	(void)p, (void)f, (void)n;
}

static int port_peer(struct drv_port *p, const char *address)
{
	(void)p;
	return atoi(address);
}

static void port_close(struct drv_port *p)
{
	(void)p;
}

static const struct drv_port_ops port_ops = {.name = "model",
					     .tx_get = port_tx_get,
					     .tx_send = port_tx_send,
					     .tx_put = port_tx_put,
					     .rx = port_rx,
					     .rx_done = port_rx_done,
					     .peer = port_peer,
					     .close = port_close};
static struct model_port ports[2] = {{{.ops = &port_ops, .frame_bytes_max = FRAME}, 0},
				     {{.ops = &port_ops, .frame_bytes_max = FRAME}, 1}};

void drv_port_close(struct drv_port *p)
{
	port_close(p);
}

/* --- the users: each message carries the life of its sender and a number -----------------------
 */

#define FAIL(why)                                                                                  \
	do {                                                                                       \
		if (!broken)                                                                       \
			broken = why;                                                              \
	} while (0)

static int take_run(void *arg, uint32_t host, uint32_t kind, uint32_t tag,
		    const unsigned char *payload, uint32_t bytes)
{
	int me = !host, refuse = w0.refuse;
	uint32_t life = tag >> 16, number = tag & 0xffff;

	(void)arg;
	w0.refuse = 0;
	if (refuse)
		return -EAGAIN;
	if (kind != 5 || bytes != 8 || payload[0] != (unsigned char)tag ||
	    payload[7] != (unsigned char)tag)
		FAIL("a run is damaged");
	if (life < w0.life_seen[me])
		FAIL("a run of an earlier life comes after one of a later life");
	if (life > w0.life_seen[me]) {
		w0.life_seen[me] = life;
		w0.got[me] = 0;
	}
	if (w0.reborn[me] ? number > w0.got[me] : number != w0.got[me])
		FAIL(number < w0.got[me] ? "a run is repeated" : "a run is missing");
	w0.reborn[me] = 0;
	w0.got[me] = number + 1;
	if (number >= w0.sent[host] && life == w0.life[host])
		FAIL("a run was never handed in");
	return 0;
}

static void end_poll(int e)
{
	if (drv_wires_poll(w0.wires[e], w0.now[e], take_run, NULL) < 0)
		FAIL("a wire gives up");
	w0.refuse = 0;
}

static void end_open(int e)
{
	struct drv_wire_conf conf = {
	    .job = 1,
	    .self = (uint32_t)e,
	    .hosts = 2,
	    .window_bytes = 256,
	    .window_frames = bounds.window,
	    .frame_bytes = FRAME,
	    .checksum = bounds.forgeries ? DRV_WIRE_CHECKSUM_HEADER : DRV_WIRE_CHECKSUM_OFF,
	    .epoch = bounds.clock_back ? 10 - w0.epochs++ : 10 + w0.epochs++,
	    .first_sequence = bounds.first_sequence};

	if (drv_wires_open(&w0.wires[e], &ports[e].port, &conf))
		abort();
	drv_wires_connect(w0.wires[e], (uint32_t)!e, e ? "0" : "1");
}

static int end_send(int e, int now)
{
	unsigned char *p = drv_wire_reserve(w0.wires[e], (uint32_t)!e, 8);
	uint32_t tag = w0.life[e] << 16 | w0.sent[e];

	if (!p)
		return 0;
	memset(p, (int)tag, 8);
	drv_wire_commit(w0.wires[e], (uint32_t)!e, 5, tag, 8);
	w0.sent[e]++;
	if (now >= 0)
		drv_wire_flush(w0.wires[e], (uint32_t)!e, now);
	return 1;
}

/* The process ends, in order (with a goodbye) or not, and another takes its place. */
static void end_restart(int e, int in_order)
{
	if (!in_order)
		w0.wires[e]->wire[!e].rx_ready = 0; /* close says goodbye to connected peers only */
	drv_wires_close(w0.wires[e]);
	w0.life[e]++;
	w0.sent[e] = 0;
	w0.reborn[e] = 1;
	end_open(e);
}

/* --- a forged frame ----------------------------------------------------------------------------
 */

/*
 * Forged acknowledgements and data are left out: what they do cannot be undone without a seal
 * (drivers/README.md).
 */
static const struct forgery {
	uint8_t kind;
	uint16_t flags;
	int8_t from, sequence; /* added to what a true frame would carry */
	int8_t order, seen;
	bool sack_all, same_life;
} forgeries[] = {
    {.kind = DRV_FRAME_HELLO, .flags = DRV_FRAME_COMMIT | DRV_FRAME_READY, .sequence = 1},
    {.kind = DRV_FRAME_HELLO, .flags = DRV_FRAME_COMMIT, .sequence = -1, .same_life = true},
    {.kind = DRV_FRAME_HELLO,
     .flags = DRV_FRAME_COMMIT | DRV_FRAME_FIRST,
     .from = 1,
     .sequence = 1,
     .same_life = true},
    {.kind = DRV_FRAME_HELLO, .flags = DRV_FRAME_COMMIT, .from = 1, .sequence = 1},
    {.kind = DRV_FRAME_HELLO,
     .flags = DRV_FRAME_COMMIT | DRV_FRAME_READY,
     .from = 1,
     .sequence = -1,
     .same_life = true},
    {.kind = DRV_FRAME_HELLO, .flags = DRV_FRAME_ASK, .from = 1},
    {.kind = DRV_FRAME_BYE},
    {.kind = DRV_FRAME_ACK, .order = 50, .seen = 50},
    {.kind = DRV_FRAME_ACK, .sack_all = true},
};
#define FORGERIES (sizeof forgeries / sizeof forgeries[0])

static void forge_frame(struct flight *g, unsigned which)
{
	const struct forgery *f = &forgeries[which];
	const struct wire *from = &w0.wires[1]->wire[0], *to = &w0.wires[0]->wire[1];
	struct drv_frame_header *h = (void *)g->data;
	struct drv_frame_note *note = (void *)(h + 1);

	memset(g, 0, sizeof *g);
	*h = (struct drv_frame_header){.magic = DRV_FRAME_MAGIC,
				       .version = DRV_FRAME_VERSION,
				       .kind = f->kind,
				       .flags = f->flags,
				       .job = 1,
				       .source = 1,
				       .bytes = DRV_FRAME_HEADER,
				       .from = from->own_epoch + (uint32_t)f->from,
				       .to = to->own_epoch,
				       .sequence = from->una + (uint32_t)f->sequence,
				       .ack = to->una,
				       .order = from->order + (uint32_t)f->order,
				       .seen = to->order + (uint32_t)f->seen};
	if (f->sack_all)
		h->sack[0] = h->sack[1] = UINT64_MAX;
	if (f->kind == DRV_FRAME_HELLO) {
		h->bytes += sizeof *note;
		*note =
		    (struct drv_frame_note){.frame_bytes = FRAME,
					    .window = bounds.window,
					    .known_epoch = to->own_epoch,
					    .life = f->same_life ? w0.wires[1]->life : 12345,
					    .ready_life = drv_frame_fold_life(w0.wires[0]->life)};
	}
	drv_frame_add_checksum(g->data);
	g->bytes = h->bytes;
}

/* --- what makes two states the same ------------------------------------------------------------
 */

static uint64_t mix_hash(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static uint32_t clip_value(int32_t v)
{
	return (uint32_t)(v > 6 ? 6 : v < -6 ? -6 : v) & 0xff;
}

static int32_t ahead_by(uint32_t a, uint32_t b)
{
	return wire_diff(a, b) > 0 ? wire_diff(a, b) : 0;
}

static uint64_t hash_wire(uint64_t h, int e)
{
	const struct drv_wires *ws = w0.wires[e];
	struct wire *w = &ws->wire[!e];
	const struct wire *other = &w0.wires[!e]->wire[e];
	uint64_t timers = (w->rto_at != WIRE_TIMER_OFF) | (w->hello_at != WIRE_TIMER_OFF) << 1 |
			  (w->ack_at != WIRE_TIMER_OFF) << 2 | ws->active[0] << 3;

	h = mix_hash(h, (uint64_t)w->own_epoch << 32 | w->peer_epoch);
	h = mix_hash(h, w->rx_ready | w->tx_ready << 1 | w->peer_closed << 2 | w->ack_owed << 3 |
			    w->ack_now << 4 | w->has_deferred << 5 | w->tx_busy << 6 |
			    w->may_exceed_window << 7 | timers << 8);
	h = mix_hash(h, (uint64_t)w->una << 32 | (w->sent - w->una) << 16 | (w->next - w->una));
	if (w->cwnd < bounds.window)
		h = mix_hash(h, (uint64_t)w->cwnd << 32 | w->grown);
	h = mix_hash(h, (uint64_t)w->ssthresh << 32 | clip_value(ahead_by(w->recover, w->una)));
	h = mix_hash(h, (uint64_t)clip_value(ahead_by(w->asked, w->una)) << 32 | w->unasked_bytes);
	for (uint32_t s = w->una; s != w->next; s++) {
		struct wire_slot *slot = wire_slot(w, s);

		h = mix_hash(h, (uint64_t)slot->bytes << 32 | (uint64_t)slot->state << 16 |
				    (s - w->una < w->sent - w->una
					 ? clip_value(wire_diff(w->order, slot->order))
					 : 0));
	}
	h = mix_hash(h, clip_value(wire_diff(w->order, w->seen)) << 8 |
			    clip_value(wire_diff(other->order, w->rx_seen)));
	h = mix_hash(h, (uint64_t)(ws->head.open[!e].at ? ws->head.open[!e].at - w->open_start : 1)
				<< 32 |
			    w->rx_next);
	for (uint32_t i = 0; w->stored && i <= w->slot_mask; i++)
		h = mix_hash(h, w->stored[i].frame ? w->stored[i].bytes : 0);
	h = mix_hash(h, (uint64_t)w->previous.next << 32 | (w->ever_sent - w->una));
	h = mix_hash(h, w->rx_life ^ w->previous.life * 3);
	h = mix_hash(h, w->rx_has_data | (w->bye_queries != 0) << 1 | w->peer_sent << 2 |
			    w->restarts << 3 | (w->confirm_at != WIRE_TIMER_OFF) << 6 |
			    w->confirm_asked << 7 | w->confirm_tries << 8 |
			    (w->nonce == other->peer_nonce) << 10 |
			    (uint64_t)clip_value(wire_diff(w->una, w->confirm_una)) << 16);
	return mix_hash(h, w->has_deferred ? w->deferred_byte : 0);
}

/* A frame counts by what it can do to its receiver, now or later. */
static uint64_t hash_flight(const struct flight *g)
{
	struct drv_frame_header head;
	const struct wire *from = &w0.wires[!g->to]->wire[g->to],
			  *to = &w0.wires[g->to]->wire[!g->to];
	uint64_t h = mix_hash((uint64_t)g->to, g->bytes), sum = 0;
	int data;

	memcpy(&head, g->data, sizeof head);
	data = head.kind == DRV_FRAME_DATA;
	if (head.kind != DRV_FRAME_HELLO &&
	    (wire_diff(head.to, to->own_epoch) < 0 || wire_diff(head.from, to->peer_epoch) < 0))
		return mix_hash(h, 7); /* stale for ever */
	if (to->tx_ready && wire_diff(head.ack, to->una) < 0 && !head.sack[0])
		head.ack = to->una;
	if (to->rx_ready && data && wire_diff(head.sequence, to->rx_next) < 0)
		data = head.sequence = 0; /* a duplicate for ever */
	h = mix_hash(h, head.kind | head.flags << 8);
	h = mix_hash(h, (uint64_t)head.from << 32 | head.to);
	h = mix_hash(h, (uint64_t)head.ack << 32 | head.sack[0]);
	if (head.kind == DRV_FRAME_DATA || head.kind == DRV_FRAME_HELLO)
		h = mix_hash(h, (uint64_t)head.sequence << 8 |
				    clip_value(wire_diff(from->order, head.order)) << 1 |
				    (wire_diff(head.order, to->rx_seen) <= 0));
	h = mix_hash(h, wire_diff(head.seen, to->seen) > 0
			    ? 1 + clip_value(wire_diff(to->order, head.seen))
			    : 0);
	if (data || head.kind == DRV_FRAME_HELLO)
		for (uint32_t i = sizeof head; i < g->bytes; i++)
			sum = sum * 31 + g->data[i];
	return mix_hash(h, sum);
}

static uint64_t hash_world(void)
{
	uint64_t h = 1, sum = 0;

	for (int e = 0; e < 2; e++) {
		h = hash_wire(h, e);
		h = mix_hash(h, (uint64_t)w0.sent[e] << 32 | w0.got[e]);
		h = mix_hash(h, (uint64_t)w0.life[e] << 32 | w0.life_seen[e] << 1 | w0.reborn[e]);
	}
	for (uint32_t i = 0; i < bounds.flights; i++)
		if (w0.flight[i].to >= 0)
			sum += hash_flight(&w0.flight[i]) | 1;
	h = mix_hash(h, sum);
	return mix_hash(h, w0.drops | w0.dups << 8 | w0.refusals << 16 | w0.restarts << 24 |
			       (uint64_t)w0.forgeries << 32);
}

/* --- what may happen next -----------------------------------------------------------------------
 */

enum what {
	DELIVER,
	DELIVER_REFUSED,
	REPEAT,
	DROP,
	TIMER,
	SEND_NOW,
	SEND_LATER,
	CRASH,
	CLOSE,
	FORGE
};
static const char *const what_text[] = {"deliver",     "deliver, refused",  "deliver and keep",
					"drop",        "timer of",          "message, flush",
					"message",     "crash and restart", "close and restart",
					"forged frame"};

struct choice {
	uint8_t what, which;
};

static unsigned list_choices(struct choice *c)
{
	unsigned n = 0;

	for (uint8_t i = 0; i < bounds.flights; i++) {
		if (w0.flight[i].to < 0)
			continue;
		c[n++] = (struct choice){DELIVER, i};
		if (w0.refusals < bounds.refusals)
			c[n++] = (struct choice){DELIVER_REFUSED, i};
		if (w0.dups < bounds.dups)
			c[n++] = (struct choice){REPEAT, i};
		if (w0.drops < bounds.drops)
			c[n++] = (struct choice){DROP, i};
	}
	for (uint8_t e = 0; e < 2; e++) {
		if (drv_wires_deadline(w0.wires[e]) != UINT64_MAX)
			c[n++] = (struct choice){TIMER, e};
		if (w0.sent[e] < bounds.messages[e]) {
			c[n++] = (struct choice){SEND_NOW, e};
			c[n++] = (struct choice){SEND_LATER, e};
		}
	}
	if (w0.restarts < bounds.restarts) {
		c[n++] = (struct choice){CRASH, 1};
		c[n++] = (struct choice){CLOSE, 1};
	}
	for (uint8_t i = 0; i < FORGERIES && w0.forgeries < (uint32_t)bounds.forgeries; i++)
		c[n++] = (struct choice){FORGE, i};
	return n;
}

static void deliver_frame(uint8_t i, int keep)
{
	int e = w0.flight[i].to;

	w0.arriving = w0.flight[i];
	if (!keep)
		w0.flight[i].to = PLACE_FREE;
	w0.delivering = 1;
	end_poll(e);
	w0.delivering = 0;
}

static void run_timer(int e)
{
	uint64_t due = drv_wires_deadline(w0.wires[e]);

	if (due > w0.now[e])
		w0.now[e] = due;
	end_poll(e);
}

static void make_choice(struct choice c)
{
	switch ((enum what)c.what) {
	case DELIVER:
		deliver_frame(c.which, 0);
		break;
	case DELIVER_REFUSED:
		w0.refusals++;
		w0.refuse = 1;
		deliver_frame(c.which, 0);
		break;
	case REPEAT:
		w0.dups++;
		deliver_frame(c.which, 1);
		break;
	case DROP:
		w0.drops++;
		w0.flight[c.which].to = PLACE_FREE;
		break;
	case TIMER:
		run_timer(c.which);
		break;
	case SEND_NOW:
		end_send(c.which, 1);
		break;
	case SEND_LATER:
		end_send(c.which, -1);
		break;
	case CRASH:
	case CLOSE:
		w0.restarts++;
		end_restart(c.which, c.what == CLOSE);
		break;
	case FORGE:
		w0.forgeries++;
		forge_frame(&w0.arriving, c.which);
		w0.delivering = 1;
		end_poll(0);
		w0.delivering = 0;
		break;
	}
}

/* From here on the network is kind: does all arrive, and do both ends fall silent? */
static void check_progress(void)
{
	int moved = 1;

	/* A wire that a forged frame has stopped starts again after 5 s, so many timers. */
	for (int step = 0; moved && step < (bounds.forgeries ? 4000 : 400); step++) {
		moved = 0;
		for (uint8_t i = 0; i < bounds.flights; i++)
			if (w0.flight[i].to >= 0) {
				deliver_frame(i, 0);
				moved = 1;
			}
		for (int e = 0, quiet = !moved; e < 2 && quiet; e++)
			if (drv_wires_deadline(w0.wires[e]) != UINT64_MAX) {
				run_timer(e);
				moved = 1;
			}
	}
	if (moved)
		FAIL("never falls silent");
	for (int e = 0; e < 2; e++) {
		if (!drv_wires_are_idle(w0.wires[e]))
			FAIL("falls silent with runs not acknowledged");
		if (w0.sent[e] != (w0.life_seen[!e] == w0.life[e] ? w0.got[!e] : 0))
			FAIL("falls silent with runs missing");
	}
}

/* --- the search ---------------------------------------------------------------------------------
 */

static uint64_t *seen;
static uint64_t seen_mask, states, transitions;

static int seen_add(uint64_t h)
{
	uint64_t i = h & seen_mask;

	for (h |= !h; seen[i]; i = (i + 1) & seen_mask)
		if (seen[i] == h)
			return 0;
	seen[i] = h;
	states++;
	return 1;
}

struct level {
	struct world world; /* before */
	struct choice choice[64];
	unsigned count, next;
};

static void print_path(struct level **stack, unsigned depth)
{
	printf("# %s: %s, after %u choices:\n", bounds.name, broken, depth);
	for (unsigned d = 0; d < depth; d++) {
		struct choice c = stack[d]->choice[stack[d]->next - 1];

		printf("#   %s %u\n", what_text[c.what], c.which);
	}
}

static void world_start(void)
{
	memset(&w0, 0, sizeof w0);
	w0.arena_used = 64;
	w0.now[0] = w0.now[1] = 1000000;
	for (int i = 0; i < FLIGHTS; i++)
		w0.flight[i].to = PLACE_FREE;
	for (int e = 0; e < 2; e++)
		end_open(e);
	if (bounds.connected)
		check_progress();
}

static size_t world_bytes(const struct world *w)
{
	return offsetof(struct world, arena) + w->arena_used;
}

/* The address sanitizer checks the code of a step, and a part of the states takes all kinds of
 * steps. The build without it searches all. */
#ifdef __SANITIZE_ADDRESS__
enum { STATES_MAX = 60000 };
#else
enum { STATES_MAX = INT_MAX };
#endif

/* Begin with another choice at each state, so that the first states of a search differ in all. */
static void rotate_choices(struct level *l, unsigned by)
{
	struct choice old[sizeof l->choice / sizeof *l->choice];

	memcpy(old, l->choice, l->count * sizeof *old);
	for (unsigned i = 0; i < l->count; i++)
		l->choice[i] = old[(i + by) % l->count];
}

/* Depth first; true if all reachable states were seen, or STATES_MAX. */
static int search_states(struct level **stack)
{
	unsigned depth = 0;
	int whole = 1;

	states = transitions = 0;
	memset(seen, 0, (seen_mask + 1) * sizeof *seen);
	world_start();
	seen_add(hash_world());
	for (;;) {
		struct level *l = stack[depth];

		if (!l)
			l = stack[depth] = malloc(sizeof *l);
		memcpy(&l->world, &w0, world_bytes(&w0));
		l->count = list_choices(l->choice);
		if (STATES_MAX < INT_MAX)
			rotate_choices(l, (unsigned)states);
		l->next = 0;
		if (states % bounds.check_each == 0) {
			check_progress();
			if (broken) {
				print_path(stack, depth);
				return 0;
			}
		}
		for (;;) {
			l = stack[depth];
			if (l->next == l->count) {
				if (!depth--)
					return whole;
				continue;
			}
			memcpy(&w0, &l->world, world_bytes(&w0));
			make_choice(l->choice[l->next++]);
			transitions++;
			if (broken) {
				print_path(stack, depth + 1);
				return 0;
			}
			if (!seen_add(hash_world()))
				continue;
			if (states >= (uint64_t)STATES_MAX)
				return whole;
			if (states > seen_mask / 4 * 3) {
				broken = "more states than there is room for";
				return 0;
			}
			if (depth + 2 < DEPTH)
				break;
			whole = 0;
		}
		depth++;
	}
}

static double now_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static const struct bounds cases[] = {
    /* name, window, messages, drops, dups, refusals, restarts, flights, first sequence, ... */
    {"one way, all faults", 2, {3, 0}, 2, 1, 0, 0, 3, .connected = 1},
    {"one way, window of three", 3, {3, 0}, 1, 1, 0, 0, 3, .connected = 1},
    {"many losses", 3, {4, 0}, 3, 0, 0, 0, 3, .connected = 1},
    {"sequence wraps", 2, {3, 0}, 1, 1, 0, 0, 3, 0xfffffffe, .connected = 1},
    {"slow receiver", 2, {3, 0}, 1, 1, 2, 0, 3, .connected = 1},
    {"both ways", 2, {2, 1}, 1, 1, 0, 0, 3, .connected = 1},
    {"handshake, one way", 2, {1, 0}, 1, 1, 0, 0, 3, 0, .connected = 0},
    {"handshake, both ways", 2, {1, 1}, 1, 1, 0, 0, 2, 0, .connected = 0},
    {"receiver restarts", 2, {2, 0}, 1, 1, 0, 1, 2, .connected = 1},
    {"receiver restarts, three frames", 2, {1, 0}, 1, 1, 0, 1, 3, .connected = 1},
    {"sender restarts", 2, {0, 2}, 1, 1, 0, 1, 2, .connected = 1},
    {"restart, clock set back", 2, {1, 1}, 1, 1, 0, 1, 2, .connected = 1, .clock_back = 1},
    {"restart in the handshake", 2, {0, 1}, 0, 1, 0, 1, 3, 0, .connected = 0},
    {"two restarts", 2, {1, 0}, 0, 1, 0, 2, 2, .connected = 1},
    {"one forged frame, one way",
     2,
     {0, 2},
     0,
     0,
     0,
     0,
     3,
     .connected = 1,
     .forgeries = 1,
     .deep = 1},
    {"one forged frame, a loss", 2, {0, 2}, 1, 0, 0, 0, 2, .connected = 1, .forgeries = 1},
    {"one forged frame, the other way", 2, {2, 0}, 0, 0, 0, 0, 3, .connected = 1, .forgeries = 1},
    {"one forged frame in the handshake",
     2,
     {0, 1},
     0,
     0,
     0,
     0,
     3,
     0,
     .connected = 0,
     .forgeries = 1},
    {"one forged frame, both ways", 2, {1, 1}, 0, 0, 0, 0, 2, .connected = 1, .forgeries = 1},
    {"five messages, window of three", 3, {5, 0}, 3, 1, 0, 0, 3, .connected = 1, .deep = 1},
    {"four frames in flight", 3, {4, 0}, 1, 1, 0, 0, 4, .connected = 1, .deep = 1},
    {"both ways, two each", 2, {2, 2}, 1, 1, 0, 0, 3, .connected = 1, .deep = 1},
    {"restart while both send", 2, {1, 1}, 1, 1, 0, 1, 3, .connected = 1, .deep = 1},
    {"restart in the handshake, both send", 2, {1, 1}, 1, 1, 0, 1, 3, 0, .connected = 0, .deep = 1},
    {"two restarts, both send", 2, {1, 1}, 1, 1, 0, 2, 2, .connected = 1, .deep = 1},
};

static int run_case(struct level **stack, unsigned number)
{
	double start = now_seconds();
	int whole;

	broken = NULL;
	whole = search_states(stack);
	printf("%sok %u - %s\n# %llu states, %llu transitions: %s, progress checked in each %u, "
	       "%.1f s\n",
	       whole ? "" : "not ", number, bounds.name, (unsigned long long)states,
	       (unsigned long long)transitions,
	       !whole                           ? "NOT all"
	       : states >= (uint64_t)STATES_MAX ? "as many as here are enough"
						: "all there are",
	       bounds.check_each, now_seconds() - start);
	fflush(stdout);
	return !whole;
}

int main(int argc, char **argv)
{
	int deep = argc > 1 && !strcmp(argv[1], "--deep"), failed = 0;
	const char *one = argc > 1 && !deep ? argv[1] : NULL;
	unsigned all = sizeof cases / sizeof cases[0], count = 0;
	struct level **stack = calloc(DEPTH + 1, sizeof *stack);

	seen_mask = (1u << (deep || one ? 27 : 22)) - 1;
	seen = calloc(seen_mask + 1, sizeof *seen);
	if (!stack || !seen)
		return 1;
	for (unsigned i = 0; i < all; i++) {
		bounds = cases[i];
		if (one ? strcmp(one, bounds.name) : bounds.deep && !deep)
			continue;
		bounds.check_each = deep ? 8 : 64;
		failed |= run_case(stack, ++count);
	}
	printf("1..%u\n", count);
	for (unsigned d = 0; stack[d]; d++)
		free(stack[d]);
	free(stack);
	free(seen);
	return failed;
}
