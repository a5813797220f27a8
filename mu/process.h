/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The attached process: its place in the job, its channels, and the ways out of its host.
 *
 * Threads: the user thread of each channel, the engine thread, the commthreads, and threads of the
 * program that only wait. mu/channel/channel.h says which of them may touch what of a channel. Each
 * queue of the port of the host, with its wires, runs under a lock of its own.
 */
#ifndef MU_PROCESS_H
#define MU_PROCESS_H

#include <pthread.h>
#include <sys/types.h>

#include "drivers/base/assert.h"
#include "drivers/base/atomic.h"
#include "emu/route.h"
#include "mu/channel/routing.h"
#include "mu/hw/atomic.h"
#include "mu/channel/channel.h"
#include "mu/lock.h"
#include "mu/mu.h"
#include "mu/progress/clock.h"
#include "mu/progress/commthread.h"
#include "mu/segment/host.h"
#include "mu/segment/places.h"

struct mu_holder;
struct mu_live;
struct mu_transport;

/*
 * A queue of the port that this task holds, with wires of its own (transport/wire.c). Channel c has
 * queue c % queues, so channels with a queue each share neither lock nor ring nor wire.
 */
struct mu_queue {
	_Alignas(64) struct mu_spinlock lock; /* protects holder */
	/* The channel whose user thread holds the lock and dispatches from the wires. */
	ATOMIC(struct mu_channel *) dispatching;
	/* Bitmap of shared channels that received gets during this poll; protected by the lock. */
	uint64_t pending_gets;
	struct mu_holder *holder;
	atomic_u32 polls; /* by user threads of its own channels */
};

/* The words of QUINTORUS_MEMORY_CHECK. */
enum mu_memory_check { MU_MEMORY_AUTO, MU_MEMORY_CALL, MU_MEMORY_TOUCH };

struct mu_process {
	unsigned refs;
	int forked;
	int single; /* this process made a job of one task */
	pid_t pid;
	int fd;
	struct mu_host *host;
	struct mu_routing routing; /* of gets and rendezvous, fabric torus */
	struct emu_route route;    /* pins descriptors to engines (mu/engine/pin.h) */
	enum mu_atomic_level atomics;
	uint32_t strict_bytes;       /* rec_fifo=strict: of a reception FIFO; 0: it spills */
	struct mu_task_entry *entry; /* [tasks] */
	struct mu_task_area *area;   /* own */
	uint32_t task, local, own_number;
	uint32_t tasks; /* of the job; 0 in a forked child, so that nothing can be sent */
	uint16_t own_host;
	uint8_t channels;
	/* [tasks] reached through shared memory: same host on express, same node on torus. */
	uint8_t *near;
	/* [tasks] A put to this near task went through its ring, since it had not attached. */
	atomic_u8 *puts_by_ring;
	struct drv_ring_tx *tx; /* [locals * channels] */
	ATOMIC(struct mu_channel *) channel[MU_CHANNELS_MAX];
	atomic_u32 channels_open; /* highest index in use + 1 */
	/* Held by the engine thread while it walks the channels. */
	struct mu_spinlock channels_lock;
	atomic_u32 cma_refused; /* process_vm_* between tasks is not permitted */

	const struct mu_clock_ops *clock;     /* who runs the engines, and how threads wait */
	const struct mu_transport *remote;    /* how all tasks that are not near are reached */
	struct mu_queue queue[MU_QUEUES_MAX]; /* transports of a task that holds the port */
	unsigned queues;                      /* in use; 0: this task holds no port */
	/* [hosts] queues that lead to a queue of that host, the first ones; 0: not known yet. */
	atomic_u8 *queues_to;
	/* [tasks] the number of the newest announcement that has come. */
	uint32_t *told;
	struct mu_spinlock told_lock;
	struct drv_ring_tx outbound_tx;
	struct mu_live *live; /* router transports */
	/* [tasks] the way there or back leads over a lost host; NULL: no host is lost. */
	ATOMIC(atomic_u8 *) cut;
	atomic_u32 lost_seen;
	struct mu_spinlock cut_lock;

	pthread_t thread;
	int thread_runs;
	atomic_u32 thread_stop;
	struct mu_idle_policy idle; /* how threads of the program wait (progress/idle_policy.c) */
	uint32_t sharers;           /* tasks that share the processors this one may use */
	uint32_t share;             /* number of this one among them */
	int yields;                 /* more tasks than cores: an empty poll yields at once */
	bool touches;               /* QUINTORUS_MEMORY_CHECK=touch, and this machine can */
	unsigned own_threads;       /* all may be ours but one (engine/known_memory.c); 0: not so */
	int fifo_only;              /* QUINTORUS_MU=fifo: nothing goes past the injection FIFO */
	int shares;                 /* large copies are done by both tasks (engine/share.c) */
	bool uses_lanes;    /* small messages to near tasks go through lanes (engine/lane.c) */
	atomic_u32 waiting; /* threads asleep in mu_poll() */
	struct mu_comm comm;

	struct mu_job job;
	size_t local_list[64];
	bool group_is_host;   /* a group of tasks is those of a host; else those of a node */
	uint32_t *group_list; /* tasks of the group */
	struct mu_places places;
};

extern struct mu_process mu_self;

/* Real time: the channel that this thread polls; NULL: none. If a callback polls another
 * channel, it is that one, and its engine.outer is the first. */
extern _Thread_local struct mu_channel *mu_polled_channel
    __attribute__((tls_model("initial-exec")));

/*
 * The lock of a queue. The user thread of channel ch has it already while it dispatches records
 * from the wires of that queue on ch. Returns false if another thread holds it.
 */
static inline bool mu_queue_try_lock(struct mu_queue *q, const struct mu_channel *ch)
{
	return (ch && atomic_ptr_load_relaxed(&q->dispatching) == ch) || mu_lock_try(&q->lock);
}
static inline void mu_queue_unlock(struct mu_queue *q, const struct mu_channel *ch)
{
	if (!ch || atomic_ptr_load_relaxed(&q->dispatching) != ch)
		mu_lock_release(&q->lock);
}

/* Does the way to the task lead over a lost host? --on-death error, fabric torus. */
static inline bool mu_is_cut_off(const struct mu_process *p, uint32_t task)
{
	const atomic_u8 *cut = atomic_ptr_load_acquire(&p->cut);

	return __builtin_expect(cut != NULL, 0) && atomic_load_relaxed(&cut[task]);
}

/* Assert that a thread holds the engine of this channel. */
static inline void mu_assert_engine(const struct mu_channel *ch)
{
	DRV_ASSERT(!ch->p->clock->has_locks || mu_lock_is_held(&ch->engine.lock));
}

/* Has the task died or left, or is it cut off? --on-death error only. */
static inline bool mu_is_unreachable(const struct mu_process *p, uint32_t task)
{
	return __builtin_expect(atomic_load_acquire(&p->entry[task].ended), 0) ||
	       mu_is_cut_off(p, task);
}

/*
 * A process has written into a part of the segment that only the library writes, and this task
 * cannot go on: say so, and end the process with status 1. (Its functions at exit would use the
 * segment.)
 */
_Noreturn void mu_end_damaged(const struct mu_channel *ch, const char *part);
/* The same for another reason, which was logged. */
_Noreturn void mu_end_task(void);

static inline bool mu_has_new_deaths(const struct mu_channel *ch)
{
	return __builtin_expect(atomic_load_relaxed(&ch->p->host->deaths) != ch->death.applied, 0);
}

/* The task whose channel `number` (T * channels + channel) is at these coordinates, or UINT32_MAX.
 */
static inline uint32_t mu_task_at(const struct mu_process *p, uint32_t coords, unsigned number)
{
	return mu_places_task_at(&p->places, coords, number / p->channels);
}

/* progress/engine_thread.c */
int mu_engine_thread_start(struct mu_process *p);
void mu_engine_thread_stop(struct mu_process *p);

#endif
