/* SPDX-License-Identifier: BSD-3-Clause */
/* Real clock (clock.h): threads of the process run the engines. Hot: guarded by
 * bench/micro/pami_latency. */
#include "mu/progress/clock.h"

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "mu/engine/engine.h"
#include "mu/engine/known_memory.h"
#include "mu/engine/lane.h"
#include "mu/engine/memory.h"
#include "mu/launch/launch.h"
#include "mu/process.h"
#include "mu/progress/commthread.h"
#include "mu/progress/idle.h"
#include "mu/segment/board.h"
#include "mu/segment/directory.h"
#include "mu/transport/transport.h"

_Thread_local struct mu_channel *mu_polled_channel __attribute__((tls_model("initial-exec")));

static int real_join(struct mu_process *p)
{
	int rc = p->remote->open(p), connected;

	/* Other tasks learn of a port that did not open. */
	connected = mu_launch_connect(p->host, p->task);
	if (!rc)
		rc = connected;
	if (!rc)
		rc = mu_engine_thread_start(p);
	if (rc)
		p->remote->close(p, 0);
	return rc;
}

static void real_leave(struct mu_process *p)
{
	mu_engine_thread_stop(p);
}

/* What few polls need is kept out of the way of all. */
static __attribute__((noinline, cold)) void enter_watched_poll(void)
{
	uint64_t now = drv_clock_fast_ns();

	if (mu_idle_thread.idle.left)
		mu_idle_entered(&mu_idle_thread.idle, now);
	if (mu_known.is_watched)
		mu_known_enter(now);
}

static __attribute__((noinline, cold)) void leave_watched_poll(void)
{
	mu_known_leave(drv_clock_fast_ns());
}

static int real_poll(struct mu_channel *ch)
{
	int n = 0, gone = 0;

	if (__builtin_expect((mu_idle_thread.idle.left != 0) | mu_known.is_watched, 0))
		enter_watched_poll();
	atomic_store_relaxed(&ch->progress.stamp, atomic_load_relaxed(&ch->progress.stamp) + 1);
	if (mu_lock_try(&ch->engine.lock)) {
		ch->engine.in_callback = 1;
		ch->engine.outer = mu_polled_channel;
		mu_polled_channel = ch;
		if (ch->p->remote->has_poll && !mu_idle_thread.helping)
			n = ch->p->remote->poll(ch->p, ch);
		if (mu_has_records(ch))
			n += mu_engine_receive(ch, 32, 1);
		if (mu_has_pending_injection(ch)) {
			n += mu_engine_inject(ch);
			ch->p->remote->flush(ch->p, ch);
		}
		if (mu_has_new_deaths(ch))
			gone = mu_apply_deaths(ch);
		mu_polled_channel = ch->engine.outer;
		ch->engine.in_callback = 0;
		mu_lock_release(&ch->engine.lock);
	}
	if (__builtin_expect(atomic_load_relaxed(&ch->a->ring.asked) != 0, 0))
		mu_share_take_chunk(ch);
	if (gone && ch->death.notify) {
		mu_known_end_run();
		ch->death.notify(ch->arg);
	}
	n += gone + mu_call_done_functions(ch);
	if (__builtin_expect(mu_known.is_inside, 0))
		leave_watched_poll();
	return n;
}

static int real_wait(struct mu_channel *ch, int found, unsigned how)
{
	if (!found)
		return mu_idle(ch, how);
	mu_idle_reset();
	/* This round received records for a shared channel: serve it before the next round. */
	if (__builtin_expect(atomic_load_relaxed(&ch->p->comm.wanted), 0)) {
		atomic_store_relaxed(&ch->p->comm.wanted, 0);
		mu_commthread_help_shared(ch->p, true);
	}
	return 0;
}

/*
 * Each poll of a program makes both calls, so the real clock takes them without the table: two
 * dependent loads and an indirect call less.
 */
int mu_poll_once(struct mu_channel *ch)
{
	if (__builtin_expect(mu_virtual, 0))
		return ch->p->clock->poll(ch);
	return real_poll(ch);
}

int mu_wait(struct mu_channel *ch, int found, unsigned how)
{
	if (__builtin_expect(mu_virtual, 0))
		return ch->p->clock->wait(ch, found, how);
	return real_wait(ch, found, how);
}

/* Another thread that holds the engine injects the descriptor instead. */
static void real_inject(struct mu_channel *ch)
{
	if (ch->engine.in_callback) {
		mu_engine_inject(ch);
		ch->p->remote->flush(ch->p, ch);
	} else if (mu_lock_try(&ch->engine.lock)) {
		mu_engine_inject(ch);
		mu_lock_release(&ch->engine.lock);
		ch->p->remote->flush(ch->p, ch);
	}
}

static void real_make_room(struct mu_channel *ch)
{
	if (ch->engine.in_callback) {
		mu_engine_inject(ch);
	} else if (mu_lock_try(&ch->engine.lock)) {
		/* Store records without dispatching. That makes room in this channel's ring, so
		 * that other tasks can make room in theirs. */
		ch->p->remote->poll(ch->p, NULL);
		mu_engine_receive(ch, 32, 0);
		mu_engine_inject(ch);
		mu_lock_release(&ch->engine.lock);
	}
	ch->p->remote->flush(ch->p, ch);
	mu_collect_completed(ch);
}

static void real_receive(struct mu_channel *ch)
{
	if (mu_lock_try(&ch->engine.lock)) {
		mu_engine_receive(ch, 32, 0);
		mu_lock_release(&ch->engine.lock);
	}
}

static void real_wake_channel(struct mu_channel *ch)
{
	mu_host_wake(ch->p->host, ch->p->local, &ch->a->ring);
}

static void real_wake_threads(struct mu_process *p)
{
	/* Unconditional: a thread between its last check of the queue and its sleep must notice. */
	atomic_fetch_add_seq_cst(&p->area->posted.seq, 1);
	if (atomic_load_seq_cst(&p->area->posted.sleepers))
		drv_wake_now(&p->area->posted);
}

static void real_store(struct mu_process *p, uint64_t *word, uint64_t value, uint32_t task)
{
	atomic_store_release(word, value);
	mu_board_wake(p, task);
}

static void real_add(struct mu_process *p, uint64_t *word, uint64_t value, uint64_t wake_at,
		     uint32_t task)
{
	if (atomic_add_fetch_acq_rel(word, value) == wake_at)
		mu_board_wake(p, task);
}

/* One processor is for the program. */
static unsigned real_commthreads(const struct mu_process *p, unsigned cpus)
{
	unsigned share = cpus / (p->sharers ? p->sharers : 1);

	return share < 2 ? 1 : share - 1;
}

static void real_note_channels(struct mu_process *p, unsigned k, bool added)
{
	if (!added)
		return;
	drv_wake_now(&p->area->wake[k + 1]);
	/* The engine thread too: it stops or starts serving the channel. */
	drv_wake_now(&p->area->wake[0]);
}

const struct mu_clock_ops mu_clock_real = {
    .can_rejoin = true,
    .has_locks = true,
    .reports_access_errors = true,
    .join = real_join,
    .leave = real_leave,
    .poll = real_poll,
    .wait = real_wait,
    .make_room = real_make_room,
    .receive = real_receive,
    .inject = real_inject,
    .lead_address = mu_directory_lead,
    .wake_channel = real_wake_channel,
    .wake_threads = real_wake_threads,
    .store = real_store,
    .add = real_add,
    .commthreads = real_commthreads,
    .start_commthread = mu_commthread_start,
    .note_channels = real_note_channels,
};
