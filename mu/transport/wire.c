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
#include "mu/engine/engine.h"
#include "mu/progress/idle_policy.h"
#include "mu/progress/wakeup.h"
#include "mu/segment/traffic.h"
#include "mu/transport/port_holder.h"
#include "mu/transport/transport.h"

#define ANNOUNCE_TRIES 1000

int mu_wire_open(struct mu_process *p)
{
	return mu_holder_open(p->host, &p->holder);
}

void mu_wire_close(struct mu_process *p, int flush_ms)
{
	/* The holder checks that its caller has the lock. */
	mu_lock_acquire(&p->port_lock);
	mu_holder_close(p->holder, flush_ms);
	p->holder = NULL;
	mu_lock_release(&p->port_lock);
}

void mu_wire_finish(struct mu_process *p, int lock_ms, int flush_ms)
{
	uint64_t until = drv_clock_ns() + (uint64_t)lock_ms * 1000000u;

	while (!mu_lock_try(&p->port_lock)) {
		if (drv_clock_ns() >= until)
			return;
		sched_yield();
	}
	mu_holder_flush(p->holder);
	mu_holder_wait_idle(p->holder, flush_ms);
	mu_lock_release(&p->port_lock);
}

static int wire_send_short(struct mu_channel *ch, uint32_t task, uint32_t channel,
			   const struct mu_short *m)
{
	struct mu_process *p = ch->p;
	int rc;

	if (!mu_port_try_lock(p, ch))
		return -EAGAIN;
	rc = mu_holder_send_short(p->holder, p->task, &p->entry[task], channel, m);
	mu_port_unlock(p, ch);
	if (!rc)
		mu_traffic_add(ch, task, m->bytes, MU_SENT_BY_USER);
	return rc;
}

static int wire_send_piece(struct mu_channel *ch, uint32_t task, const MUHWI_PacketHeader_t *h,
			   const void *payload, uint32_t bytes, struct mu_checked_range *range)
{
	struct mu_process *p = ch->p;
	int rc;

	if (!mu_port_try_lock(p, ch))
		return -EAGAIN;
	rc = mu_holder_send(p->holder, p->entry[task].host, p->task, h, payload, bytes, range);
	mu_port_unlock(p, ch);
	if (rc != -EAGAIN)
		mu_traffic_add(ch, task, bytes, MU_SENT_BY_ENGINE);
	return rc;
}

static int wire_store(struct mu_channel *ch, uint32_t task, const struct mu_store *store)
{
	struct mu_process *p = ch->p;
	int rc;

	if (!mu_port_try_lock(p, ch))
		return -EAGAIN;
	rc = mu_holder_store(p->holder, task, store);
	mu_holder_flush(p->holder);
	mu_port_unlock(p, ch);
	return rc;
}

static void wire_flush(struct mu_process *p, const struct mu_channel *ch)
{
	if (mu_port_try_lock(p, ch)) {
		mu_holder_flush(p->holder);
		mu_port_unlock(p, ch);
	}
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

static int wire_poll(struct mu_process *p, struct mu_channel *ch)
{
	uint64_t gets = 0;
	int n;

	if (!mu_lock_try(&p->port_lock))
		return 0;
	n = mu_holder_poll_for(p->holder, ch);
	if (ch) {
		gets = p->pending_gets;
		p->pending_gets = 0;
	}
	mu_lock_release(&p->port_lock);
	if (gets)
		run_pending_gets(p, gets);
	return n > 0 ? n : 0;
}

/* The port's file descriptor wakes sleepers. */
static bool wire_has_work(struct mu_process *p)
{
	(void)p;
	return false;
}

void mu_wire_sleep(struct mu_process *p, struct mu_wakeup *region, int64_t ns)
{
	struct pollfd fds[4];
	struct timespec t;
	int64_t limit = ns;
	int n;

	if (!mu_lock_try(&p->port_lock)) {
		/* Another thread polls the port, or this one preempted it there: give up the core.
		 */
		mu_wakeup_wait(region, ns < MU_SERVICE_TICK_MIN_NS ? ns : MU_SERVICE_TICK_MIN_NS);
		return;
	}
	n = mu_holder_arm(p->holder, fds, 4, &limit);
	mu_lock_release(&p->port_lock);
	if (n < 0)
		return;
	if (limit < 0 || limit > ns)
		limit = ns;
	t = (struct timespec){limit / 1000000000, limit % 1000000000};
	ppoll(fds, (nfds_t)n, &t, NULL);
	if (mu_lock_try(&p->port_lock)) {
		mu_holder_disarm(p->holder);
		mu_lock_release(&p->port_lock);
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
static void wire_announce(struct mu_process *p)
{
	for (int i = 0; i < ANNOUNCE_TRIES; i++) {
		if (mu_lock_try(&p->port_lock)) {
			mu_holder_send_announcements(p->holder);
			mu_holder_flush(p->holder);
			mu_lock_release(&p->port_lock);
			return;
		}
		sched_yield();
	}
}

const struct mu_transport mu_transport_wire = {
    .name = "wire",
    .near = MU_NEAR_HOST,
    .has_poll = true,
    .holds_port = true,
    .open = mu_wire_open,
    .close = mu_wire_close,
    .send_short = wire_send_short,
    .send_piece = wire_send_piece,
    .store = wire_store,
    .poll = wire_poll,
    .flush = wire_flush,
    .has_work = wire_has_work,
    .sleep = mu_wire_sleep,
    .piece_bytes = mu_wire_piece_bytes,
    .announce = wire_announce,
};
