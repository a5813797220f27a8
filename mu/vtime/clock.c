/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual clock (mu/progress/clock.h): the simulator runs the injection engines, so a call here
 * does the software's part, and hands the turn over where an event may have happened meanwhile.
 * PAMI's clock functions are here for both clocks.
 */
#include "mu/progress/clock.h"

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "mu/engine/engine.h"
#include "mu/process.h"
#include "mu/progress/commthread.h"
#include "mu/vtime/vtask.h"

int mu_virtual;

/* Nonzero while this thread is in a poll; it then serves no other channel. */
static __thread uint32_t in_poll;

static int virtual_join(struct mu_process *p)
{
	mu_virtual = 1;
	return mu_vt_attach(p->host, p->local);
}

static void virtual_leave(struct mu_process *p)
{
	mu_vt_detach();
}

/* Do, in the calling thread, the work that the commthreads would have done by now. */
static int serve_channels(struct mu_process *p)
{
	return atomic_load_relaxed(&p->comm.count) ? mu_commthread_serve_all(p) : 0;
}

static int virtual_poll(struct mu_channel *ch)
{
	int n = 0, gone = 0;

	mu_vt_check(); /* all effects up to now are in memory then */
	in_poll++;
	if (!ch->engine.in_callback) { /* else the record that is being dispatched is still there */
		ch->engine.in_callback = 1;
		n = mu_engine_receive(ch, 32, 1);
		if (mu_has_new_deaths(ch))
			gone = mu_apply_deaths(ch);
		ch->engine.in_callback = 0;
	}
	if (gone && ch->death.notify)
		ch->death.notify(ch->arg);
	n += gone + mu_call_done_functions(ch);
	if (!n)
		n = serve_channels(ch->p);
	in_poll--;
	return n;
}

static int virtual_wait(struct mu_channel *ch, int found, unsigned how)
{
	if (!found && !(how & MU_IDLE_AGAIN)) {
		mu_charge_now(MU_COST_poll, 1);
		mu_vt_idle();
	}
	return 0;
}

static void virtual_make_room(struct mu_channel *ch)
{
	mu_charge_now(MU_COST_poll, 1);
	mu_vt_check();
	if (!ch->engine.in_callback)
		mu_engine_receive(ch, 32, 0);
	mu_collect_completed(ch);
}

static void virtual_receive(struct mu_channel *ch)
{
	if (!in_poll) /* the caller may be in a poll of this channel */
		mu_engine_receive(ch, 32, 0);
}

/* An operation that waits for the descriptor makes its end wake the task. */
static void virtual_note_descriptor(struct mu_channel *ch)
{
	unsigned i = (unsigned)(ch->tx.fifo.numInjected % MU_INJ_SLOTS);

	mu_vt_inject(ch->index, i, ch->tx.slot[i].op || ch->tx.slot[i].op2);
}

static void virtual_inject(struct mu_channel *ch)
{
	mu_vt_check();
}

static void virtual_wake_channel(struct mu_channel *ch)
{
	mu_vt_wake_threads();
	if (!in_poll)
		serve_channels(ch->p);
}

static void virtual_wake_threads(struct mu_process *p)
{
	mu_vt_wake_threads();
}

static void virtual_store(struct mu_process *p, uint64_t *word, uint64_t value, uint32_t task)
{
	mu_vt_store(word, value, 0, 0, task);
}

static void virtual_add(struct mu_process *p, uint64_t *word, uint64_t value, uint64_t wake_at,
			uint32_t task)
{
	mu_vt_store(word, value, 1, wake_at, task);
}

/* The chip had 64 hardware threads a node, one of them the program's. */
static unsigned virtual_commthreads(const struct mu_process *p, unsigned cpus)
{
	uint32_t t = p->host->shape.t;

	return t < 32 ? 64 / t - 1 : 1;
}

/*
 * The threads of the process do the work of commthreads; while it is preempted, the stand-in thread
 * of standin.c does.
 */
static int virtual_start_commthread(struct mu_process *p, unsigned k)
{
	return 0;
}

static void virtual_note_channels(struct mu_process *p, unsigned k, bool added)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < p->comm.max; i++)
		all |= atomic_load_relaxed(&p->comm.owned[i]);
	if (added)
		mu_vt_side_start(k);
	mu_vt_serve_channels(all, mu_commthread_serve_all, p);
}

const struct mu_clock_ops mu_clock_virtual = {
    .join = virtual_join,
    .leave = virtual_leave,
    .poll = virtual_poll,
    .wait = virtual_wait,
    .make_room = virtual_make_room,
    .receive = virtual_receive,
    .note_descriptor = virtual_note_descriptor,
    .inject = virtual_inject,
    .wake_channel = virtual_wake_channel,
    .wake_threads = virtual_wake_threads,
    .store = virtual_store,
    .add = virtual_add,
    .commthreads = virtual_commthreads,
    .start_commthread = virtual_start_commthread,
    .note_channels = virtual_note_channels,
};

/*
 * A program that reads the clock is not in a poll, so the commthreads handle what has come by now.
 */
static void read_virtual_clock(void)
{
	mu_charge_now(MU_COST_clock_read, 1);
	mu_vt_check();
	if (!in_poll)
		serve_channels(&mu_self);
}

double mu_wtime(void)
{
	if (mu_virtual) {
		read_virtual_clock();
		return (double)mu_vt_now_ps() * 1e-12;
	}
	return (double)drv_clock_ns() * 1e-9;
}

uint64_t mu_timebase(void)
{
	/* 1.6 ticks a nanosecond, as the chip's. */
	if (mu_virtual) {
		read_virtual_clock();
		return mu_vt_now_ps() / 625;
	}
	return drv_clock_ns() * 8 / 5;
}
