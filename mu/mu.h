/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messaging unit as its software (PAMI) uses it: attach, channels, messages, RDMA, progress.
 *
 * One attachment per process, channels inside it. A channel (one per PAMI context) is used by one
 * thread at a time; different channels share nothing. Nothing here calls back except mu_poll().
 *
 * Completion: the caller lends a struct mu_op that stays valid until its done function was called
 * (from mu_poll() on the same channel, never from the initiating call).
 */
#ifndef MU_MU_H
#define MU_MU_H

#include <stddef.h>
#include <stdint.h>

#include "emu/coord.h"
#include "emu/hw_packet.h"

#define MU_PACKET_BYTES 512 /* largest payload of mu_send_short() */
#define MU_SOFT_BYTES   14  /* software bytes of a memory-FIFO packet (packet bytes 18 .. 31) */

struct mu_channel;

struct mu_op {
	struct mu_op *next;
	/* result: 0, or a negative errno: -EFAULT (a page is not there), -EPERM, -ESHUTDOWN (dead). */
	void (*done)(struct mu_op *op, int result);
	uint64_t state[4]; /* the MU's while the operation is under way */
};

/* Facts of the job; valid and constant between mu_attach() and mu_detach(). */
struct mu_job {
	uint32_t task, tasks;
	uint32_t local_tasks;         /* tasks of this torus node ("local" in PAMI and ARMCI) */
	const size_t *local_list;     /* their numbers, ascending */
	uint32_t group_tasks;         /* tasks of this task's group: see mu_task_group() */
	const uint32_t *group_list;   /* their numbers, ascending */
	uint32_t groups;
	int crowded;                  /* fewer processors than tasks; the same on all tasks of a host */
	struct emu_shape shape;
	struct emu_coord coord;       /* own */
	uint32_t node, nodes;
	uint32_t channels;            /* a task may open 0 .. channels - 1 */
	int virtual_clock;
	int fabric_torus;
	uint64_t id, seed;
	char processor_name[128];     /* unique: "<hostname> task 3 node (0,0,1,0,0) T 0" */
};

/*
 * Join the job named by the environment (torus run), else a job of one task. Counted: each attach
 * needs a detach. Returns 0 or negative errno, logged with cause and fix. In a forked child every
 * call returns -ECHILD.
 */
int mu_attach(const struct mu_job **job);
/* Waits until everything handed in is safe (acknowledged, or copied), then leaves. */
void mu_detach(void);

/* Coordinates of a task (0 .. tasks - 1), and back (-ENOENT: no task there). */
void mu_task_coord(uint32_t task, struct emu_coord *coord);
int mu_coord_task(const struct emu_coord *coord, uint32_t *task);
int mu_task_same_node(uint32_t task);
/* Is its memory reached from here: same host on express, same node on torus, in real time? */
int mu_task_near(uint32_t task);
/*
 * Tasks in one group talk cheaply: those of a host on express in real time (memory of each other's arenas
 * can be reached), else those of a torus node. 0 .. groups - 1.
 */
uint32_t mu_task_group(uint32_t task);

/*
 * A received piece of a memory-FIFO message; called from mu_poll(). `soft` are the sender's 14
 * software bytes; payload (8-byte aligned) is valid during the call; offset is its place in the
 * message (0 for mu_send_short). Pieces of one message arrive in order and whole before the next
 * message of the same channel pair; pieces of different senders interleave. mu_send_short arrives
 * with exactly the bytes sent; pieces of mu_send likewise (the MU's 32-byte padding is removed).
 */
typedef void (*mu_receive_fn)(void *arg, uint32_t source_task, const unsigned char *soft,
                              const unsigned char *payload, uint32_t bytes, uint64_t offset);

/* Open channel `index`; records sent to it earlier are there. -EBUSY, -EINVAL, -ENOMEM. */
int mu_channel_open(unsigned index, mu_receive_fn receive, void *arg, struct mu_channel **channel);
/* No operation may be outstanding. What is in the injection FIFO still leaves (for up to 5 s, if the
 * other side takes nothing). NULL is fine. */
void mu_channel_close(struct mu_channel *channel);

/*
 * Send one packet: payload = a (an bytes), then, at the next multiple of 8, b (bn bytes); that sum
 * is at most MU_PACKET_BYTES. Copied before return, leaves at once if it can, else queues in the
 * injection FIFO. Returns 0, or -EAGAIN: FIFO full; poll and retry, or queue on your side.
 * May be called from within receive and done functions.
 */
int mu_send_short(struct mu_channel *ch, uint32_t task, uint32_t channel, const void *soft,
                  const void *a, uint32_t an, const void *b, uint32_t bn);

/* Send a message of any length by memory FIFO; payload is read until op is done. 0 or -EAGAIN. */
int mu_send(struct mu_channel *ch, uint32_t task, uint32_t channel, const void *soft,
            const void *payload, size_t bytes, struct mu_op *op);

/*
 * RDMA write of bytes > 0 from `local` to virtual address `remote` of the target task.
 * local_done (or NULL): the source may be reused; remote_done (or NULL): the data is in place.
 * `channel` names whose engine at the target acts (any channel the target will open).
 */
int mu_put(struct mu_channel *ch, uint32_t task, uint32_t channel, const void *local, uint64_t remote,
           size_t bytes, struct mu_op *local_done, struct mu_op *remote_done);

/*
 * Real clock, fabric express: a line of 8 words for the arenas of another host, at offset `at` of its segment (a
 * multiple of 64), written by who holds the port there: no task of that host takes part, and all that sleep there
 * look again. The first word is stored last (release). In no order with anything else; needs no channel there.
 * 0; -EAGAIN: no room now; -ESHUTDOWN: `task`, one of that host, is gone; -EINVAL.
 */
int mu_store_far(struct mu_channel *ch, uint32_t task, uint64_t at, const uint64_t line[8]);
/* Where arena memory that we see at p is in its host's segment. */
uint64_t mu_arena_offset(const void *p);

/* RDMA read of bytes > 0 from `remote` to `local`. done: the data is here. */
int mu_get(struct mu_channel *ch, uint32_t task, uint32_t channel, void *local, uint64_t remote,
           size_t bytes, struct mu_op *done);

/* done: every earlier put and send of this channel to that target channel has been written or
 * has reached its reception FIFO. */
int mu_flush(struct mu_channel *ch, uint32_t task, uint32_t channel, struct mu_op *done);

/*
 * Progress: runs the channel's engine (injection, reception), router and port when they are ours
 * to run, calls receive and done functions. Returns how many were called; 0: nothing to do.
 * With nothing to do for a while it yields, then sleeps a little; it is woken by what arrives.
 */
int mu_poll(struct mu_channel *ch);
/*
 * Its two halves, for those who poll several channels in turn, or hold a lock while they poll:
 * mu_poll_now() never yields or sleeps; mu_wait(one of the channels, how many were found in this
 * round) does after an empty round what mu_poll() does after an empty poll.
 */
int mu_poll_now(struct mu_channel *ch);
void mu_wait(struct mu_channel *ch, int found);
/* As mu_poll, but never dispatches, yields or sleeps: for initiators that found a FIFO full. */
void mu_push(struct mu_channel *ch);
/* Wake whoever sleeps in mu_poll() of this process (posted work). */
void mu_wake_self(void);
/* This thread did something that no poll counts, and may do more soon: it does not sleep yet. */
void mu_not_idle(void);
/*
 * For software that waits for a word of shared memory to become at least `value`: before mu_poll()
 * sleeps it looks there too. One word a channel; NULL: none.
 */
void mu_watch(struct mu_channel *ch, const uint64_t *word, uint64_t value);
/*
 * The same for a word that will not be written soon: where there are more tasks than processors, others get
 * ours at once. Its writer rings the bell, with a sequentially consistent fence between the two.
 */
struct drv_wake;
void mu_watch_far(struct mu_channel *ch, const uint64_t *word, uint64_t value, struct drv_wake *bell);
/* After writing such a word (release): wake the task of this host if it sleeps. One load if not. */
void mu_wake_task(uint32_t task);

/*
 * Commthreads (commthread.c): give the channel to the pool, whose threads call fn(arg) when something
 * came for it, while no thread of the program polls it. fn makes one poll and returns > 0 if it did
 * something. shared: threads of the program that wait on other channels call it as well, which serves
 * without a switch of threads where cores are few. In virtual time the process's own thread runs them.
 * 0; -EOPNOTSUPP: PAMI_MAX_COMMTHREADS is 0; -EAGAIN. Not to be called from within fn.
 */
int mu_commthread_add(struct mu_channel *ch, int (*fn)(void *arg), void *arg, int shared);
void mu_commthread_remove(struct mu_channel *ch); /* returns when fn is not running */
unsigned mu_commthreads(void);                    /* how many there may be */
/* How they wait: ns < 0: woken by what comes; 0: never, they look again at once; else asleep for so long. */
void mu_commthread_pace(int64_t ns);
/*
 * Has software work of its own for the channel? Asked, in any thread, before somebody sleeps who serves
 * it. After making some (release), mu_wake_channel(): no system call while nobody sleeps.
 */
void mu_channel_pending(struct mu_channel *ch, int (*pending)(const void *arg));
void mu_wake_channel(struct mu_channel *ch);

/*
 * Arena: memory that all tasks of the host map; EXT_quintorus_memory. Freed memory may be handed
 * out again at once, to the same task. alloc: NULL when full. local: this process's address of
 * [va, va + bytes) of another task's arena, or NULL: not arena memory, or not near (same host on
 * express, same node on torus), or in virtual time (where loads and stores would go unseen by the
 * clock).
 *
 * look: a task's whole arena, where it is near; for those who ask again and again.
 *
 * reachable: 0 if all of [va, va + bytes) of this process may be read (write: also written) now, else
 * -EFAULT. Costs a system call for each of a few pages, one for many.
 */
uint32_t mu_gone_count(void); /* see below */
struct mu_window {
	uint64_t first, bytes; /* as the other task sees it; 0 bytes: nothing is there */
	uint64_t delta;        /* to be added for our address */
	uint32_t task, gone;   /* whose it is; mu_gone_count() when we looked */
};
void *mu_arena_alloc(size_t bytes, size_t align);
void mu_arena_free(void *p);
void *mu_arena_local(uint32_t task, uint64_t va, size_t bytes);
int mu_arena_has(const void *p, size_t bytes); /* is it memory that the tasks of this host share? */
void mu_arena_look(uint32_t task, struct mu_window *w);
/* mu_arena_local() where w has the last answer; zeroed to start. */
static inline void *mu_arena_local_again(struct mu_window *w, uint32_t task, uint64_t va, size_t bytes)
{
	if (__builtin_expect(w->task != task || !w->bytes || w->gone != mu_gone_count(), 0))
		mu_arena_look(task, w);
	return va - w->first < w->bytes && bytes <= w->bytes - (va - w->first) ? (void *)(uintptr_t)(va + w->delta) : NULL;
}
int mu_reachable(uint64_t va, size_t bytes, int write);

/*
 * Tasks that are gone: torus run --on-death error. Else a death ends the job, and nobody
 * is ever gone. A task cut off by the loss of a host between (fabric torus) counts as dead.
 *
 * dead: it was killed, or ended with another exit status than 0. gone: dead, or it has left with
 * status 0. gone_count: of the whole job, only grows; while it stands still, so do the answers of
 * the other two. Any thread, any time after mu_attach(); a load or two.
 *
 * Operations of ours that need a task that is gone end with -ESHUTDOWN: those under way once all is
 * dispatched that had come from it, new ones at once (calls return it). on_gone: called from the
 * poll of this channel, then, so that software ends what it waits for itself; NULL: nobody.
 * What comes later from one that left (over a wire) is dispatched all the same; of one that died, dropped.
 */
int mu_task_dead(uint32_t task);
/* Fabric torus: some host is lost, with its routers. */
int mu_hosts_lost(void);
/* Do two tasks not reach each other any more, since a host between them is lost? */
int mu_tasks_cut(uint32_t a, uint32_t b);
int mu_task_gone(uint32_t task);
void mu_channel_on_gone(struct mu_channel *ch, void (*fn)(void *arg));

/* Time. Real: CLOCK_MONOTONIC; virtual: the task's clock, and reading it costs virtual time. */
double mu_wtime(void);
uint64_t mu_timebase(void); /* 1.6 GHz ticks */

/* Software costs (mu/cost.def). Free in real time. */
enum mu_cost {
#define COST(name, ps, text) MU_COST_##name,
#include "mu/cost.def"
#undef COST
	MU_COSTS
};
extern int mu_virtual;
void mu_charge_now(enum mu_cost cost, uint64_t times);
static inline void mu_charge(enum mu_cost cost, uint64_t times)
{
	if (__builtin_expect(mu_virtual, 0))
		mu_charge_now(cost, times);
}

#endif
