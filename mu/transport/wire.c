/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transport of a task that holds the port of its host: records go into the open frame of the wire
 * (port_holder.h). Hot: guarded by bench/micro/pami_latency and bench/micro/pami_rate between
 * hosts.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>

#include "drivers/base/clock.h"
#include "drivers/base/log.h"
#include "mu/engine/engine.h"
#include "mu/progress/idle_policy.h"
#include "mu/progress/wakeup.h"
#include "mu/segment/traffic.h"
#include "mu/transport/port_holder.h"
#include "mu/transport/transport.h"

#define ANNOUNCE_TRIES 1000

/* Queues that no thread polls: how often a channel counts polls, and when it polls them. */
#define COUNT_LOOKS 64u /* its polls between two counts; a power of two */
#define IDLE_LOOKS  8u  /* it polls orphans once in so many of its polls; a power of two */
#define BUSY_LOOKS  64u /* after it found something there: in so many polls that follow */

static int wire_open(struct mu_process *p)
{
	return mu_holders_open(p);
}

static void wire_close(struct mu_process *p, int flush_ms)
{
	mu_holders_close(p, flush_ms);
}

/*
 * The queue through which channel `c` of this task reaches a host; the wire of a queue keeps its
 * frames in order, so each channel keeps to one. NULL: it is not known yet how many queues that
 * host has.
 */
static inline struct mu_queue *queue_to(struct mu_process *p, unsigned c, uint32_t host)
{
	unsigned n;

	if (__builtin_expect(p->queues == 1, 1))
		return &p->queue[0];
	n = atomic_load_acquire(&p->queues_to[host]);
	if (__builtin_expect(!n, 0))
		return NULL;
	return &p->queue[c < n ? c : c % n];
}

void mu_wire_abandon_rounds(struct mu_process *p)
{
	for (const struct mu_channel *ch = mu_polled_channel; ch; ch = ch->engine.outer)
		for (unsigned q = 0; q < p->queues; q++)
			if (atomic_ptr_load_relaxed(&p->queue[q].dispatching) == ch) {
				mu_holder_abandon_round(p->queue[q].holder);
				mu_lock_release(&p->queue[q].lock);
			}
}

void mu_wire_finish(struct mu_process *p, int lock_ms, int flush_ms)
{
	uint64_t until = drv_clock_ns() + (uint64_t)lock_ms * 1000000u;
	struct mu_holder *holder[MU_QUEUES_MAX];
	bool has_lock[MU_QUEUES_MAX] = {false};
	unsigned n = 0;

	for (unsigned q = 0; q < p->queues; q++) {
		while (!(has_lock[q] = mu_lock_try(&p->queue[q].lock)) && drv_clock_ns() < until)
			sched_yield();
		if (!has_lock[q])
			continue;
		mu_holder_flush(p->queue[q].holder);
		holder[n++] = p->queue[q].holder;
	}
	if (n)
		mu_holders_wait_idle(holder, n, flush_ms);
	for (unsigned q = 0; q < p->queues; q++)
		if (has_lock[q])
			mu_lock_release(&p->queue[q].lock);
}

static int wire_send_short(struct mu_channel *ch, uint32_t task, uint32_t channel,
			   const struct mu_short *m)
{
	struct mu_process *p = ch->p;
	struct mu_queue *q = queue_to(p, ch->index, p->entry[task].host);
	int rc;

	if (__builtin_expect(!q, 0) || !mu_queue_try_lock(q, ch))
		return -EAGAIN;
	rc = mu_holder_send_short(q->holder, p->task, &p->entry[task], channel, m);
	mu_queue_unlock(q, ch);
	if (!rc)
		mu_traffic_add(ch, task, m->bytes, MU_SENT_BY_USER);
	return rc;
}

static int wire_send_piece(struct mu_channel *ch, uint32_t task, const MUHWI_PacketHeader_t *h,
			   const void *payload, uint32_t bytes, struct mu_checked_range *range)
{
	struct mu_process *p = ch->p;
	uint32_t host = p->entry[task].host;
	/* What a remote get sends has the channel that asked as its target, and goes back by the
	 * queue that this one polls. */
	unsigned c = range ? mu_header_number(h) & (p->channels - 1u) : ch->index;
	struct mu_queue *q = queue_to(p, c, host);
	int rc;

	if (__builtin_expect(!q, 0) || !mu_queue_try_lock(q, ch))
		return -EAGAIN;
	rc = mu_holder_send(q->holder, host, p->task, h, payload, bytes, range);
	mu_queue_unlock(q, ch);
	if (__builtin_expect(q != ch->queues.own, 0))
		atomic_fetch_or_relaxed(&ch->queues.dirty, 1u << (q - p->queue));
	return rc;
}

static int wire_store(struct mu_channel *ch, uint32_t task, const struct mu_store *store)
{
	struct mu_process *p = ch->p;
	struct mu_queue *q = queue_to(p, ch->index, p->entry[task].host);
	int rc;

	if (!q || !mu_queue_try_lock(q, ch))
		return -EAGAIN;
	rc = mu_holder_store(q->holder, task, store);
	mu_holder_flush(q->holder);
	mu_queue_unlock(q, ch);
	return rc;
}

/* Returns false if another thread uses the queue. */
static bool flush_queue(struct mu_queue *q, const struct mu_channel *ch)
{
	if (!mu_queue_try_lock(q, ch))
		return false;
	mu_holder_flush(q->holder);
	mu_queue_unlock(q, ch);
	return true;
}

/* The queues besides the channel's own to which its engine gave something. */
static void flush_others(struct mu_process *p, struct mu_channel *ch)
{
	uint32_t others, left = 0;

	if (__builtin_expect(!atomic_load_relaxed(&ch->queues.dirty), 1))
		return;
	for (others = atomic_exchange_acquire(&ch->queues.dirty, 0); others; others &= others - 1)
		if (!flush_queue(&p->queue[__builtin_ctz(others)], ch))
			left |= others & -others;
	/* The next flush of this channel tries these again. */
	if (left)
		atomic_fetch_or_relaxed(&ch->queues.dirty, left);
}

static void wire_flush(struct mu_process *p, struct mu_channel *ch)
{
	if (!ch) {
		for (unsigned q = 0; q < p->queues; q++)
			flush_queue(&p->queue[q], NULL);
		return;
	}
	flush_queue(ch->queues.own, ch);
	flush_others(p, ch);
}

/* Answer the gets that arrived for channels which idle threads help to serve. They come before
 * anything else, as gets of this thread's channel do. */
static void run_pending_gets(struct mu_process *p, uint64_t channels)
{
	int n = 0;

	for (; channels; channels &= channels - 1) {
		struct mu_comm_entry *e = &p->comm.entry[__builtin_ctzll(channels)];
		struct mu_channel *ch;

		if (!mu_lock_try(&e->running))
			continue; /* the thread that serves the channel answers */
		ch = e->fn && mu_has_pending_injection(e->ch) && mu_lock_try(&e->ch->engine.lock)
			 ? e->ch
			 : NULL;
		/* The engine lock keeps the channel open. */
		mu_lock_release(&e->running);
		if (ch) {
			mu_engine_inject(ch);
			mu_lock_release(&ch->engine.lock);
			n++;
		}
	}
	if (n)
		wire_flush(p, NULL);
}

/*
 * The function that polls `ch` was dispatched from a frame of this queue, so this thread has the
 * lock: nothing comes to `ch` before the function returns. That is so only if there was no second
 * channel when the message came (mu_stores_first()).
 */
static __attribute__((noinline)) void warn_of_own_round(const struct mu_queue *q)
{
	static atomic_u32 said;

	if (mu_is_in_poll_of(atomic_ptr_load_relaxed(&q->dispatching)) &&
	    !atomic_exchange_acquire(&said, 1))
		drv_warn("a dispatch function advances a context that it made itself: from other "
			 "hosts nothing comes there before the function returns. Make the context "
			 "before the message comes");
}

static int poll_queue(struct mu_process *p, struct mu_queue *q, struct mu_channel *ch)
{
	uint64_t gets = 0;
	int n;

	if (!mu_lock_try(&q->lock)) {
		if (ch && __builtin_expect(ch->engine.outer != NULL, 0))
			warn_of_own_round(q);
		return 0;
	}
	n = mu_holder_poll_for(q->holder, ch);
	if (ch) {
		gets = q->pending_gets;
		q->pending_gets = 0;
	}
	mu_lock_release(&q->lock);
	if (gets)
		run_pending_gets(p, gets);
	return n > 0 ? n : 0;
}

/* Find the queues that no thread has polled for its own channels since the last count. */
static void count_orphans(struct mu_process *p, struct mu_channel_queues *c)
{
	c->orphans = 0;
	for (unsigned i = 0; i < p->queues; i++) {
		uint32_t polls = atomic_load_relaxed(&p->queue[i].polls);

		if (polls == c->seen[i] && &p->queue[i] != c->own)
			c->orphans |= 1u << i;
		c->seen[i] = polls;
	}
}

/*
 * A channel that is polled also looks at the queues whose channels are not: messages to a channel
 * of this process come by the queue of the channel that sends.
 */
static int poll_orphans(struct mu_process *p, struct mu_channel *ch)
{
	struct mu_channel_queues *c = &ch->queues;
	uint32_t look = c->looks++;
	int n = 0;

	if (look % COUNT_LOOKS == 0)
		count_orphans(p, c);
	if (!c->orphans || (!c->busy && look % IDLE_LOOKS))
		return 0;
	for (uint32_t left = c->orphans; left; left &= left - 1)
		n += poll_queue(p, &p->queue[__builtin_ctz(left)], ch);
	c->busy = n ? BUSY_LOOKS : c->busy - (c->busy != 0);
	return n;
}

static int wire_poll(struct mu_process *p, struct mu_channel *ch)
{
	struct mu_queue *q;
	int n = 0;

	if (!ch) {
		for (unsigned i = 0; i < p->queues; i++)
			n += poll_queue(p, &p->queue[i], NULL);
		return n;
	}
	q = ch->queues.own;
	if (__builtin_expect(p->queues == 1, 1))
		return poll_queue(p, q, ch);
	atomic_store_relaxed(&q->polls, atomic_load_relaxed(&q->polls) + 1);
	n = poll_queue(p, q, ch);
	n += poll_orphans(p, ch);
	flush_others(p, ch);
	return n;
}

/* The port's file descriptor wakes sleepers. */
static bool wire_has_work(struct mu_process *p)
{
	(void)p;
	return false;
}

#define QUEUE_FDS 4 /* descriptors of a holder at most */

struct arming {
	struct pollfd fds[QUEUE_FDS * MU_QUEUES_MAX];
	int count;
	int64_t limit;
	bool is_busy; /* another thread uses a queue */
};

/* Returns false if there is work. */
static bool arm_queue(struct mu_queue *q, struct arming *a)
{
	int64_t limit = a->limit;
	int n;

	if (!mu_lock_try(&q->lock)) {
		a->is_busy = true;
		return true;
	}
	n = mu_holder_arm(q->holder, a->fds + a->count, QUEUE_FDS, &limit);
	mu_lock_release(&q->lock);
	if (n < 0)
		return false;
	a->count += n;
	if (limit >= 0 && limit < a->limit)
		a->limit = limit;
	return true;
}

static void wire_sleep(struct mu_process *p, struct mu_wakeup *region, int64_t ns)
{
	struct arming a = {.count = 0, .limit = ns};
	struct timespec t;

	for (unsigned q = 0; q < p->queues; q++)
		if (!arm_queue(&p->queue[q], &a))
			return;
	/* Another thread polls a queue, or this one preempted it there: give up the core. */
	if (a.is_busy && a.limit > MU_SERVICE_TICK_MIN_NS)
		a.limit = MU_SERVICE_TICK_MIN_NS;
	if (!a.count) {
		mu_wakeup_wait(region, a.limit);
		return;
	}
	t = (struct timespec){a.limit / 1000000000, a.limit % 1000000000};
	ppoll(a.fds, (nfds_t)a.count, &t, NULL);
	for (unsigned q = 0; q < p->queues; q++)
		if (mu_lock_try(&p->queue[q].lock)) {
			mu_holder_disarm(p->queue[q].holder);
			mu_lock_release(&p->queue[q].lock);
		}
}

uint32_t mu_wire_piece_bytes(const struct mu_process *p)
{
	uint32_t bytes = atomic_load_relaxed(&p->host->piece_bytes);

	return bytes < MU_PACKET_BYTES ? MU_PACKET_BYTES : bytes;
}

/*
 * A dispatch function may call this while its own thread holds the lock. The next round of the
 * holder then sends the word.
 */
static void announce_on(struct mu_queue *q)
{
	for (int i = 0; i < ANNOUNCE_TRIES; i++) {
		if (mu_lock_try(&q->lock)) {
			mu_holder_send_announcements(q->holder);
			mu_holder_flush(q->holder);
			mu_lock_release(&q->lock);
			return;
		}
		sched_yield();
	}
}

static void wire_announce(struct mu_process *p)
{
	for (unsigned q = 0; q < p->queues; q++)
		announce_on(&p->queue[q]);
}

const struct mu_transport mu_transport_wire = {
    .name = "wire",
    .near = MU_NEAR_HOST,
    .has_poll = true,
    .holds_port = true,
    .takes_asking_puts = true,
    .open = wire_open,
    .close = wire_close,
    .send_short = wire_send_short,
    .send_piece = wire_send_piece,
    .store = wire_store,
    .poll = wire_poll,
    .flush = wire_flush,
    .has_work = wire_has_work,
    .sleep = wire_sleep,
    .piece_bytes = mu_wire_piece_bytes,
    .announce = wire_announce,
};
