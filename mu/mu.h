/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messaging unit as its software (PAMI) uses it: attach, channels, messages, RDMA, progress.
 *
 * A process attaches once and opens channels. PAMI has one channel for each context. One thread at
 * a time uses a channel (the user thread: PAMI's context lock or the program sees to that);
 * different channels share nothing. Only mu_poll() and mu_poll_once() call functions of the caller,
 * except where a function says otherwise.
 *
 * Completion: the caller provides a struct mu_op, which must stay valid until its done function was
 * called. A poll of the same channel calls it, never the call that started the operation.
 *
 * Errors are negative errno values. Functions that start an operation return -EAGAIN if a queue is
 * full, -EINVAL if the task or channel does not exist and -ESHUTDOWN if the task has died or left;
 * then nothing was started and no done function is called.
 */
#ifndef MU_MU_H
#define MU_MU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drivers/base/atomic.h"
#include "emu/coord.h"
#include "emu/directory.h"
#include "emu/hw_packet.h"
#include "mu/progress/idle_policy.h"

#define MU_PACKET_BYTES 512 /* largest payload of mu_send_short() */
#define MU_SOFT_BYTES   14  /* software bytes of a memory-FIFO packet (packet bytes 18 .. 31) */

struct mu_channel;

struct mu_op {
	struct mu_op *next;
	/* result: 0, or -EFAULT (a page is not mapped), -EPERM, -ESHUTDOWN (the task has ended). */
	void (*done)(struct mu_op *op, int result);
	uint64_t state[4]; /* for the MU, while the operation is in flight */
};

/* Facts of the job; valid and constant between mu_attach() and mu_detach(). */
struct mu_job {
	uint32_t task, tasks;
	uint32_t local_tasks;       /* tasks of this torus node ("local" in PAMI and ARMCI) */
	const size_t *local_list;   /* their numbers, ascending */
	uint32_t group_tasks;       /* tasks of this task's group: see mu_task_group() */
	const uint32_t *group_list; /* their numbers, ascending */
	uint32_t groups;
	int crowded; /* more tasks than processors; the same in all tasks of a host */
	struct emu_shape shape;
	struct emu_coord coord; /* own */
	uint32_t node, nodes;
	uint32_t channels; /* a task may open 0 .. channels - 1 */
	int virtual_clock;
	int fabric_torus;
	/* The network leads packets to addresses (mu_send_address()); its counters: the whole
	 * job's.
	 */
	enum emu_directory_mode directory;
	const struct emu_directory_stat *directory_stat;
	uint64_t directory_delay_ns; /* of an update out of band (CENTRAL); else 0 */
	bool directory_unit;         /* messaging units carry out puts and gets */
	bool directory_near;         /* mu_access_near() does for blocks of this host */
	uint64_t id, seed;
	char processor_name[128]; /* unique: "<hostname> task 3 node (0,0,1,0,0) T 0" */
};

/*
 * Join the job that the environment names (torus run or another launcher), else make a job of one
 * task. Counted: each attach needs a detach. Sets *job. Returns 0 or a negative errno, after it
 * logged cause and fix. In a forked child all calls return -ECHILD. Any thread.
 */
int mu_attach(const struct mu_job **job);
/* Is this a forked child of the process that attached? It must not touch shared memory. */
int mu_is_forked(void);
/* The last detach waits until everything handed in is acknowledged or copied (at most 5 s), then
 * leaves the job. No other thread may be in a call. */
void mu_detach(void);

/* Coordinates of a task (0 .. tasks - 1), and the task at coordinates (-ENOENT: none). Any thread,
 * like the three functions below. */
void mu_task_coord(uint32_t task, struct emu_coord *coord);
int mu_coord_task(const struct emu_coord *coord, uint32_t *task);
int mu_task_is_on_own_node(uint32_t task);
/* Does this process reach the task through shared memory? Real clock: same host on fabric express,
 * same node on fabric torus. Virtual clock: never. */
int mu_task_is_near(uint32_t task);
/*
 * Group (0 .. groups - 1) of a task. Communication within a group is cheap. Fabric express in real
 * time: the tasks of a host, which can access each other's arenas. Else: the tasks of a torus node.
 */
uint32_t mu_task_group(uint32_t task);

/*
 * A poll calls it with a received piece of a memory-FIFO message. soft: the sender's 14 software
 * bytes. payload: 8-byte aligned, valid during the call. offset: place of the piece in the message
 * (0 for mu_send_short()). The pieces of a message arrive in order, and all of them before the next
 * message of the same pair of channels; pieces of different senders interleave. `bytes` is exactly
 * what the sender sent: the MU removes the padding of packets to 32 bytes.
 */
typedef void (*mu_receive_fn)(void *arg, uint32_t source_task, const unsigned char *soft,
			      const unsigned char *payload, uint32_t bytes, uint64_t offset);

/*
 * Announce one word to all tasks of the job; it is 0 before the first call. A task of another host
 * knows the word by the time anything reaches it that this task sent afterwards. Any thread,
 * between attach and detach. mu_announced_words: the words of all tasks, to be read with atomic
 * loads; valid until the last detach.
 */
void mu_announce(uint64_t word);
const atomic_u64 *mu_announced_words(void);

/* True if this channel, which is not open, has records that no thread took. Any thread. */
bool mu_channel_has_mail(unsigned index);

/*
 * From within a receive function: may this poll, and those that follow, dispatch messages? While it
 * may not they stay where they are, or are stored. For software that has no memory to go on.
 */
void mu_channel_allow_dispatch(struct mu_channel *channel, bool allowed);

/* Open channel `index`. Records that were sent to it before are delivered. 0, -EBUSY (open),
 * -EINVAL (no such channel) or -ENOMEM. */
int mu_channel_open(unsigned index, mu_receive_fn receive, void *arg, struct mu_channel **channel);
/* Close it. No operation may be in flight. Descriptors in the injection FIFO are sent first, for up
 * to 5 s if the target takes nothing. NULL is allowed. */
void mu_channel_close(struct mu_channel *channel);

/*
 * Send one packet: payload a (an bytes), then, at the next multiple of 8, b (bn bytes); the sum is
 * at most MU_PACKET_BYTES. The payload is copied before return. The packet leaves at once if the
 * injection FIFO is empty and the transport has room; else it queues in the injection FIFO. 0;
 * -EAGAIN: the FIFO is full, poll and try again or queue on your side; -EINVAL; -ESHUTDOWN. User
 * thread, also from within receive and done functions.
 */
int mu_send_short(struct mu_channel *ch, uint32_t task, uint32_t channel, const void *soft,
		  const void *a, uint32_t an, const void *b, uint32_t bn);
/*
 * The same for a packet to an address (emu/directory.h): `a` begins with a struct emu_address,
 * whose `at` (HOME) and `to` (BIND) are tasks. task, channel: MESSAGE: the home, which gets the
 * packet if no table knows better; ANSWER, UPDATE: the target; BIND, HOME: the caller itself. Only
 * where mu_job.directory says so.
 */
int mu_send_address(struct mu_channel *ch, uint32_t task, uint32_t channel, const void *soft,
		    const void *a, uint32_t an, const void *b, uint32_t bn);
/*
 * Real time: an ANSWER or UPDATE of `owner` has arrived, so the tables of this host learn from it
 * (mu/segment/directory.h). In virtual time the routers have done so.
 */
void mu_address_arrived(const struct emu_address *a, uint32_t owner);
/* Real time: the task to which the tables lead a packet for `key` whose home is task `home`. */
uint32_t mu_address_lead(uint64_t key, uint32_t home);

/* A slot that its owner has claimed, and the key of the lease then; task UINT32_MAX: none. */
struct mu_near_end {
	uint32_t task, slot;
	uint64_t key;
};
/*
 * Carry out an access to an address (kinds PUT to CAS) in memory of a task of this host that owns
 * the block, in real time. data: what is put, where the data of a get goes, or a struct
 * emu_operands whose first word becomes the value before. Returns false if the access was not
 * carried out: the block is not near, or is to leave. In both cases, if end->task is not
 * UINT32_MAX, that task has a pin for the slot, and the caller must tell it that the access is over
 * (mu_lease_release()). Any thread. See mu/segment/lease.h.
 */
bool mu_access_near(const struct emu_access *x, void *data, struct mu_near_end *end);
/* Owner of a lease in its arena: after the state of the lease is no longer OWNED, return how many
 * tasks access the block. Each of them is a pin of the caller's until it is released. */
uint32_t mu_lease_claim(const void *lease);
/* The task has told so: returns true if the caller has a pin to release. */
bool mu_lease_release(const void *lease, uint32_t task, uint32_t slot);
/* A task has died: call unpin() for each lease of which the caller has a pin to release. */
void mu_lease_death(uint32_t task, void (*unpin)(void *lease));

/*
 * One packet that is assembled where it leaves from: shared memory that the target reads.
 * mu_place_reserve() returns memory for so many bytes of payload, 8-byte aligned, and in *soft for
 * MU_SOFT_BYTES software bytes; then mu_place_commit() must follow, with as many bytes or fewer.
 * NULL: there is none for this target or now; nothing has happened. Between the two anything may be
 * sent; what goes to the same channel may arrive before or behind. User thread.
 */
struct mu_place {
	void *record, *path;
	uint64_t flag;
	uint32_t task;
};
unsigned char *mu_place_reserve(struct mu_channel *ch, uint32_t task, uint32_t channel,
				uint32_t bytes, struct mu_place *place, void **soft);
/* The software bytes again. */
void *mu_place_soft(const struct mu_place *place);
void mu_place_commit(struct mu_channel *ch, const struct mu_place *place, uint32_t bytes);
/*
 * One packet whose payload is the word `first` and `count` words more, with the software bytes in
 * the lower 48 bits of soft6 and in soft8. As mu_send_short(), where there is memory as for
 * mu_place_reserve(); else -EAGAIN, and nothing has happened. User thread.
 */
int mu_send_words(struct mu_channel *ch, uint32_t task, uint32_t channel, uint64_t soft6,
		  uint64_t soft8, uint64_t first, const uint64_t *more, uint32_t count);
/* The same with `bytes` bytes at `data` behind the words; memory there is read up to the next
 * multiple of 8. */
int mu_send_padded(struct mu_channel *ch, uint32_t task, uint32_t channel, uint64_t soft6,
		   uint64_t soft8, const uint64_t *words, uint32_t count, const void *data,
		   uint32_t bytes);

/*
 * Notes. A note is one packet of at most 128 bytes. The thread that runs the engine of the target
 * channel receives it: a poll of that channel, the engine thread, or mu_run_reception(). So no
 * thread needs to poll the target channel. Notes of one channel to another stay in order; notes and
 * messages may overtake each other.
 *
 * mu_note_fn: called by any thread of the process, also from within a poll, with the engine locked.
 * It stores the note and calls no function of the MU except mu_wake_self(). Negative: the engine
 * calls it again later.
 * mu_send_note: copies the note before return. 0, -EAGAIN, -ESHUTDOWN or -EINVAL. User thread.
 * mu_run_reception: run the receiving half of the channel's engine without dispatching messages.
 * Any thread.
 */
typedef int (*mu_note_fn)(void *arg, uint32_t source_task, const void *note, uint32_t bytes);
void mu_channel_on_note(struct mu_channel *ch, mu_note_fn fn);
int mu_send_note(struct mu_channel *ch, uint32_t task, uint32_t channel, const void *note,
		 uint32_t bytes);
void mu_run_reception(struct mu_channel *ch);

/* Send a message of any length by memory FIFO. The payload is read until op is done. 0, -EAGAIN,
 * -EINVAL or -ESHUTDOWN. User thread. */
int mu_send(struct mu_channel *ch, uint32_t task, uint32_t channel, const void *soft,
	    const void *payload, size_t bytes, struct mu_op *op);

/*
 * RDMA write of bytes > 0 from `local` to virtual address `remote` of the target task. local_done
 * (or NULL): the source may be reused. remote_done (or NULL): the data is in place. The engine of
 * the target's `channel` acts; the target may open that channel later. 0, -EAGAIN, -EINVAL or
 * -ESHUTDOWN; memory that is not mapped is reported to the done functions. User thread.
 */
int mu_put(struct mu_channel *ch, uint32_t task, uint32_t channel, const void *local,
	   uint64_t remote, size_t bytes, struct mu_op *local_done, struct mu_op *remote_done);

/*
 * Real clock, fabric express: have a line of 8 words written into the arenas of another host, at
 * offset `at` of its segment (a multiple of 64). The port holder of that host writes it and wakes
 * all tasks of the host that sleep; none of them takes part, and none needs a channel. The first
 * word is stored last (release). Not ordered with other operations. `task` is any task of that
 * host. 0; -EAGAIN: no room now; -ESHUTDOWN: `task` has ended; -EINVAL: another clock or fabric.
 */
int mu_store_remote(struct mu_channel *ch, uint32_t task, uint64_t at, const uint64_t line[8]);
/* Offset in the host segment of arena memory at address p of this process. */
uint64_t mu_arena_offset(const void *p);

/* RDMA read of bytes > 0 from `remote` to `local`. done: the data is in `local`. As mu_put(). */
int mu_get(struct mu_channel *ch, uint32_t task, uint32_t channel, void *local, uint64_t remote,
	   size_t bytes, struct mu_op *done);
/*
 * Up to MU_GET_PIECES gets by one packet, whose payload is a descriptor for each. done: the data of
 * all is in place. As mu_get(), but for -EAGAIN where single gets may do.
 */
enum { MU_GET_PIECES = 8 };
struct mu_get_piece {
	void *local;
	uint64_t remote;
	size_t bytes; /* > 0 */
};
int mu_get_pieces(struct mu_channel *ch, uint32_t task, uint32_t channel,
		  const struct mu_get_piece *piece, unsigned count, struct mu_op *done);
/*
 * As mu_get(), for memory that no earlier put of this channel writes (rendezvous). On fabric torus
 * the request takes the high-priority channel and may pass earlier puts and messages.
 */
int mu_pull(struct mu_channel *ch, uint32_t task, uint32_t channel, void *local, uint64_t remote,
	    size_t bytes, struct mu_op *done);

/*
 * Is this memory of the process (bytes > 0) mapped, to be read or (write) written? Asking the
 * kernel costs up to 0.4 us a page, so the channel remembers pages that were mapped until it is
 * closed. A program that unmaps such a page and names it again dies of SIGSEGV. User thread.
 */
int mu_is_buffer_mapped(struct mu_channel *ch, uint64_t va, uint64_t bytes, int write);

/* done: every earlier put and send of this channel to that target channel has been written or has
 * reached its reception FIFO. 0, -EAGAIN, -EINVAL or -ESHUTDOWN. User thread. */
int mu_flush(struct mu_channel *ch, uint32_t task, uint32_t channel, struct mu_op *done);

/*
 * An atomic on an aligned word of 4 or 8 bytes at a->address in the target, carried out by the
 * target's engine (mu/hw/atomic.h); no software of the target takes part. done: op->state[1] is the
 * old value; result -EFAULT: the word is not mapped. 0, -EAGAIN, -EINVAL or -ESHUTDOWN. User
 * thread. mu_has_atomic(): the machine has the operation; else nothing may be sent. Any thread.
 */
struct mu_atomic;
bool mu_has_atomic(const struct mu_atomic *a);
int mu_send_atomic(struct mu_channel *ch, uint32_t task, uint32_t channel,
		   const struct mu_atomic *a, struct mu_op *done);

/*
 * Progress: run the channel's engine, and the routers and the port if this process serves them;
 * call receive and done functions. Returns the number of functions called and events handled, 0 if
 * it found nothing. It then waits as mu_wait() does with MU_IDLE_WAIT: for callers that have no
 * other work. User thread.
 */
int mu_poll(struct mu_channel *ch);
/*
 * The two halves of mu_poll(), for callers that poll several channels in turn or hold a lock while
 * they poll. mu_poll_once() never yields or sleeps. After each round the caller calls mu_wait()
 * with one of the channels and the number of events that the round found. After an empty round
 * mu_wait() spins, yields or sleeps as progress/idle_policy.h says; a sleep lasts at most 10 ms for
 * each 16 tasks of the host, and arriving records end it. how: MU_IDLE_ bits of that header.
 * mu_wait() returns 1 if the thread yielded or slept; a caller that may have other work then
 * returns.
 */
int mu_poll_once(struct mu_channel *ch);
int mu_wait(struct mu_channel *ch, int found, unsigned how);
/*
 * Virtual time tells a deadlock from a program that polls a bounded number of times, and names the
 * call of each task: both are of the calling thread; the names stay valid.
 * mu_call_polls(): the call that polls now, and returns after a bounded number of empty polls.
 * mu_call_waits(): the call that returns only after an event, until the next mu_call_waits(); NULL:
 * none. Returns the one before, which the caller restores.
 */
void mu_call_polls(const char *name);
const char *mu_call_waits(const char *name);
/*
 * Real time: what the process's first thread waits for, for torus top. mu_waits_is_due(): it has
 * waited for a millisecond, and what it waits for should be noted now, by mu_note_waits(). task:
 * the task that must act, MU_WAITS_ANYONE: not known. mu_channel_find_waits(): an operation of the
 * channel that is in flight, and at which task; false: none. User thread.
 */
enum mu_waits {
	MU_WAITS_NOTHING,
	MU_WAITS_MESSAGE,
	MU_WAITS_GET,
	MU_WAITS_PUT, /* that data or messages have arrived */
	MU_WAITS_ATOMIC,
	MU_WAITS_ANSWER,          /* that a message was received */
	MU_WAITS_REST,            /* of a message whose beginning has arrived */
	MU_WAITS_ROOM,            /* in the injection FIFO */
	MU_WAITS_COLLECTIVE = 16, /* plus its type */
};
#define MU_WAITS_ANYONE UINT32_MAX
bool mu_waits_is_due(void);
void mu_note_waits(unsigned what, uint32_t task);
bool mu_channel_find_waits(const struct mu_channel *ch, enum mu_waits *what, uint32_t *task);
/* MU_SOFTWARE_COUNTS words of the channel, zero when it opens first, that torus top and torus stat
 * read. One writer. */
atomic_u64 *mu_channel_counts(struct mu_channel *ch);
/* Run the engine without dispatching, so that a full injection FIFO empties; free slots, counters
 * and flush entries. Never yields or sleeps, calls no functions. For callers that got -EAGAIN. User
 * thread. */
void mu_make_room(struct mu_channel *ch);
/* Wake the threads of this process that sleep in mu_wait(), after posting work. Any thread. */
void mu_wake_self(void);
/*
 * This thread did something that no poll counts: it started an operation, or helped one along. Its
 * empty polls so far no longer count when mu_wait() decides how to wait.
 */
extern _Thread_local uint32_t mu_idle_polls __attribute__((tls_model("initial-exec")));
static inline void mu_idle_reset(void)
{
	mu_idle_polls = 0;
}
/*
 * Software waits for a word of shared memory to become at least `value`: a thread checks the word
 * before it sleeps in mu_wait(). One word for each channel; NULL: none. User thread.
 */
void mu_watch(struct mu_channel *ch, const uint64_t *word, uint64_t value);
/*
 * The same for a word that another task will not write soon: with more tasks than processors this
 * thread gives up its core early. The writer of the word rings the bell, with a sequentially
 * consistent fence between the store and the ring.
 */
struct drv_wake;
void mu_watch_remote(struct mu_channel *ch, const uint64_t *word, uint64_t value,
		     struct drv_wake *bell);
/* After a store (release) to a word that `task` of this host watches: wake the task if it sleeps.
 * Costs one load if it does not. Any thread. */
void mu_wake_task(uint32_t task);

/*
 * Commthreads (progress/commthread.c). mu_commthread_add() gives the channel to the pool. A thread
 * of the pool calls fn(arg) when something arrived for the channel while no thread of the program
 * polls it. fn makes one poll. It returns > 0 if it did something, 0 if not, and < 0 if it did
 * nothing but must be called again although nothing arrives: its thread then yields and does not
 * sleep. shared: threads of the program that wait on other channels also call fn, which avoids a
 * thread switch where cores are few. In virtual time the process's own thread calls it.
 * 0; -EOPNOTSUPP: PAMI_MAX_COMMTHREADS is 0; -EAGAIN: no thread could be started. Any thread, but
 * not from within fn.
 */
int mu_commthread_add(struct mu_channel *ch, int (*fn)(void *arg), void *arg, int shared);
void mu_commthread_remove(struct mu_channel *ch); /* returns when fn is not running */
unsigned mu_commthread_max(void);                 /* largest number of threads */
/* How idle commthreads wait. ns < 0: they sleep until a record wakes them; 0: they never sleep;
 * else they sleep for ns at a time. */
void mu_commthread_set_pace(int64_t ns);
/*
 * mu_channel_on_has_work(): `pending` tells whether software has work of its own for the channel.
 * Any thread calls it, before it sleeps. After queueing such work (release) software calls
 * mu_wake_channel(), which makes no system call while no thread sleeps.
 */
void mu_channel_on_has_work(struct mu_channel *ch, int (*pending)(const void *arg));
void mu_wake_channel(struct mu_channel *ch);

/*
 * Arena: memory that all tasks of the host map (EXT_quintorus_memory). Any thread.
 *
 * mu_arena_alloc: NULL if the arena is full. mu_arena_free: the memory may be handed out again at
 * once, to the same task.
 * mu_arena_address: the address in this process of [va, va + bytes) of another task's arena. NULL
 * if that is not arena memory, if the task is not near, and in virtual time, where the clock would
 * not see loads and stores. mu_arena_window_update, mu_arena_address_cached: the same for callers
 * that ask often. The window holds what the last call found; zero it to start. mu_is_arena_memory:
 * is this address of the process inside the segment that all tasks of the host map?
 * mu_check_memory: 0 if all of [va, va + bytes) of this process may be read (write: also written)
 * now, else -EFAULT. Costs a system call for each of up to four pages, one for more.
 */
uint32_t mu_death_count(void); /* below */
struct mu_window {
	uint64_t first, bytes; /* in the address space of the other task; 0 bytes: none */
	uint64_t room;         /* bytes to which it may grow */
	uint64_t delta;        /* add it to get the address in this process */
	uint32_t task;         /* owner */
	uint32_t deaths;       /* mu_death_count() at the last update */
};
void *mu_arena_alloc(size_t bytes, size_t align);
void mu_arena_free(void *p);
void *mu_arena_address(uint32_t task, uint64_t va, size_t bytes);
int mu_is_arena_memory(const void *p, size_t bytes);
void mu_arena_window_update(uint32_t task, struct mu_window *w);
static inline void *mu_arena_address_cached(struct mu_window *w, uint32_t task, uint64_t va,
					    size_t bytes)
{
	uint64_t at = va - w->first;

	if (__builtin_expect(w->task != task || !w->bytes || w->deaths != mu_death_count() ||
				 (at < w->room && (at >= w->bytes || bytes > w->bytes - at)),
			     0))
		mu_arena_window_update(task, w);
	return va - w->first < w->bytes && bytes <= w->bytes - (va - w->first)
		   ? (void *)(uintptr_t)(va + w->delta)
		   : NULL;
}
int mu_check_memory(uint64_t va, size_t bytes, int write);

/*
 * Tasks that have ended, in jobs of torus run --on-death error. In other jobs a death ends the job,
 * and these functions never report one. On fabric torus a task counts as dead if a host that is
 * lost cuts it off. Any thread, after mu_attach(); one or two loads.
 *
 * mu_task_is_dead: it was killed, or ended with an exit status other than 0, or is cut off.
 * mu_task_is_unreachable: dead, or it has left with status 0.
 * mu_death_count: of the whole job, only grows. While it does not change, the answers of the other
 * two do not change either.
 *
 * Operations in flight to an unreachable task end with -ESHUTDOWN after everything that had arrived
 * from the task is dispatched; calls that would start one return it. mu_channel_on_death(): a poll
 * of the channel then calls fn, so that software ends what it waits for itself; NULL: nothing is
 * called. Messages that arrive later are dispatched if the task left, and dropped if it died.
 */
int mu_task_is_dead(uint32_t task);
/* Fabric torus: is any host lost, with its routers? */
int mu_has_lost_hosts(void);
/* Does a lost host cut two tasks off from each other? */
int mu_tasks_are_cut_off(uint32_t a, uint32_t b);
int mu_task_is_unreachable(uint32_t task);
void mu_channel_on_death(struct mu_channel *ch, void (*fn)(void *arg));

/* Time. Real: CLOCK_MONOTONIC; virtual: the task's clock, and reading it costs virtual time. */
double mu_wtime(void);
uint64_t mu_timebase(void); /* 1.6 GHz ticks */

/* Software costs (mu/vtime/cost.def). Free in real time. */
enum mu_cost {
#define COST(name, ps, text) MU_COST_##name,
#include "mu/vtime/cost.def"
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
