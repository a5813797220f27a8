/* SPDX-License-Identifier: BSD-3-Clause */
/* The pool of commthreads, for mu/ only; others see mu_commthread_add() of mu.h. */
#ifndef MU_COMMTHREAD_H
#define MU_COMMTHREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "drivers/base/atomic.h"
#include "mu/lock.h"
#include "mu/mu.h"
#include "mu/segment/host.h"

struct mu_channel;
struct mu_process;

/* A channel given to the commthreads. Fields are protected by `running`, which is held while fn
 * runs. */
struct mu_comm_entry {
	struct mu_spinlock running;
	uint8_t owner;    /* commthread that serves the channel */
	atomic_u8 shared; /* idle threads of the program help to serve the channel */
	bool kept_out;    /* the last call could not poll: another thread holds the context */
	struct mu_channel *ch;
	int (*fn)(void *); /* NULL: not given */
	void *arg;
	uint64_t stamp;     /* the channel's stamp as the owner left it */
	uint64_t serve_at;  /* ns: the owner steps aside until then; 0: it serves */
	atomic_i64 tick_ns; /* how long it steps aside; other threads read it */
};

struct mu_comm_thread {
	pthread_t thread;
	unsigned number;
	bool runs;
};

/* A thread's passes that found nothing, and after how many it sleeps. Zero it to start. */
struct mu_comm_passes {
	unsigned loops, limit;
};

struct mu_comm {
	struct mu_spinlock lock; /* held while a channel is added or removed */
	unsigned max;            /* threads there may be */
	unsigned min_loops, max_loops;
	atomic_i64 sleep_ns; /* 0: sleep until woken */
	atomic_u32 spins;    /* never sleep */
	/* Channels given to the pool; those of them that idle threads help to serve. */
	atomic_u32 count, shared;
	/* Records came for a shared channel while another channel was polled. */
	atomic_u32 wanted;
	atomic_u64 owned[MU_COMMTHREADS]; /* bitmap of each thread's channels */
	struct mu_comm_entry entry[MU_CHANNELS_MAX];
	struct mu_comm_thread thread[MU_COMMTHREADS]; /* [0], the engine thread, is not here */
	/* In virtual time, written by the thread that serves all channels: when each commthread
	 * sleeps, and the channels whose function asked to be called again, which keep it awake. */
	struct mu_comm_passes virtual_passes[MU_COMMTHREADS];
	uint64_t virtual_again;
};

/* Add to a count of a commthread, which has one writer at a time. */
static inline void mu_comm_count(atomic_u64 *count, uint64_t n)
{
	atomic_store_relaxed(count, atomic_load_relaxed(count) + n);
}

/* Read the settings. cpus: processors that this process may use. */
void mu_commthreads_init(struct mu_process *p, unsigned cpus);
/* Thread k passes once over its channels. Returns the number of events; < 0: none, but a function
 * must be called again although nothing arrives (mu_commthread_add()). */
int mu_commthread_run_pass(struct mu_process *p, unsigned k);
/* Decide what to do after a pass that found nothing. Returns false if the thread should pause a
 * little and pass again. */
bool mu_commthread_may_sleep(struct mu_process *p, struct mu_comm_passes *at);
/* If mu_commthread_set_pace() set a fixed sleep, shorter than most_ns: sleep for so long and return
 * true. */
bool mu_commthread_sleep_fixed(struct mu_process *p, int64_t most_ns);
/* Sleep until something arrives for the channels of thread k, at most ns. */
void mu_commthread_sleep(struct mu_process *p, unsigned k, int64_t ns);
/* After a sleep of `ns`: a short one raises the number of passes before the next sleep. */
void mu_commthread_adapt_passes(struct mu_process *p, struct mu_comm_passes *at, uint64_t ns);
/* Has thread k work? If not, lowers *ns to the time after which it must check again. */
bool mu_commthread_has_work(struct mu_process *p, unsigned k, int64_t *ns);
/* An idle thread of the program serves the shared channels, or those that have mail
 * (mu_channel_has_mail()). Returns as mu_commthread_run_pass(). */
int mu_commthread_help_shared(struct mu_process *p, bool all);
/* Virtual time: the calling thread serves all channels. Returns the number of events. */
int mu_commthread_serve_all(struct mu_process *p);
/* Real time: start thread k unless it runs. 0 or a negative errno. The pool is locked. */
int mu_commthread_start(struct mu_process *p, unsigned k);
/* Depth of calls of such functions by this thread. */
extern _Thread_local int mu_commthread_call_depth __attribute__((tls_model("initial-exec")));
/* Does the calling thread run a function of the pool? Its polls then neither nest nor wait. */
static inline bool mu_is_in_commthread_call(void)
{
	return mu_commthread_call_depth != 0;
}
/* Join all commthreads but the engine thread. p->thread_stop is set. */
void mu_commthreads_stop(struct mu_process *p);

/* engine_thread.c: run the channel's engine without dispatching, unless another thread holds it.
 * Returns the number of events. */
int mu_engine_run(struct mu_channel *ch);
/* idle.c: did something arrive for the channel? with_watches: or is the watched word or software's
 * own work ready? */
bool mu_channel_has_work(struct mu_channel *ch, bool with_watches);

#endif
