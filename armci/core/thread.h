/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads of the program inside the library.
 *
 * One lock guards everything that the program's threads share: operations, handles, tables, and the
 * context ORIGIN. It is that context's lock, so a thread that wants it also wakes a holder that
 * sleeps in PAMI_Context_advance().
 *
 * The lock is biased: the thread that armci_bias names enters without the lock, and only marks
 * itself as inside. This is the first thread to call; later, a thread that has taken the lock many
 * times while no other thread did. Another thread that has taken the lock ends the bias: it makes
 * the kernel run a barrier on all processors (membarrier), then waits until the thread is not
 * inside. The thread with the bias takes the lock, too, before it waits for something.
 *
 * A transfer that is a copy within mapped memory reads the segment tables without the lock, between
 * armci_read_begin() and armci_read_end(). A thread that takes something out of these tables calls
 * armci_read_drain() before it frees it.
 */
#ifndef ARMCI_THREAD_H
#define ARMCI_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "drivers/base/atomic.h"
#include "pami/ext_wait.h"

struct armci_thread {
	/* Of the thread itself. */
	uint32_t depth;       /* ARMCI calls under way, one inside the other */
	uint32_t collections; /* aggregate collections that this thread is sending */
	bool known;           /* It is in the list of threads. */
	bool reads;  /* It may read tables without the lock: the kernel has membarrier(). */
	bool locked; /* It holds the lock. */

	/* Written by the thread, read by others. */
	atomic_u32 inside;  /* in a call without the lock */
	atomic_u32 reading; /* reads segment tables without the lock */
	atomic_u64 copies;  /* transfers that took no lock */

	/* Under the mutex of the list of threads. */
	struct armci_thread *next;
};

extern _Thread_local struct armci_thread armci_self __attribute__((tls_model("initial-exec")));
typedef ATOMIC(struct armci_thread *) armci_bias_word;
/* The thread that enters without the lock, or NULL. The holder of the lock sets it to itself or
 * NULL. */
extern armci_bias_word armci_bias;
/* More than one thread has called. */
extern atomic_u8 armci_threads_several;

/* The slow parts of armci_enter() and armci_leave(). */
void armci_lock_take(struct armci_thread *t);
void armci_lock_give(struct armci_thread *t);

/* ARMCI_Init calls the first once the contexts exist, ARMCI_Finalize the second before they go. */
void armci_threads_open(bool always_lock);
void armci_threads_close(void);

/* Transfers of all threads that took no lock. */
uint64_t armci_threads_count_copies(void);
/* How calls that wait advance contexts (pami/ext_wait.h); NULL: by PAMI_Context_advancev(). */
void armci_wait_set(pami_quintorus_advancev_fn advancev);

/*
 * First statement of every call of the program that touches shared state or PAMI; calls may nest.
 * Both cost a few plain loads and stores for the thread with the bias.
 */
static inline void armci_enter(void)
{
	struct armci_thread *t = &armci_self;

	if (t->depth++)
		return;
	atomic_store_relaxed(&t->inside, 1);
	/* The membarrier() of the thread that ends the bias makes the processor keep this order. */
	atomic_signal_fence_seq_cst();
	if (__builtin_expect(atomic_ptr_load_acquire(&armci_bias) != t, 0))
		armci_lock_take(t);
}

static inline void armci_leave(const bool *entered)
{
	struct armci_thread *t = &armci_self;

	if (--t->depth)
		return;
	if (__builtin_expect(t->locked, 0))
		armci_lock_give(t);
	else
		atomic_store_release(&t->inside, 0);
}

/*
 * Does this thread have the right to use what the lock guards? It holds the lock, or it entered
 * with the bias. For assertions; not for handlers, which run in any thread.
 */
static inline bool armci_has_lock(void)
{
	const struct armci_thread *t = &armci_self;

	return t->locked || atomic_load_relaxed(&t->inside) ||
	       !atomic_load_relaxed(&armci_threads_several);
}

#define ARMCI_ENTER                                                                                \
	const bool armci_entered __attribute__((cleanup(armci_leave), unused)) =                   \
	    (armci_enter(), true)

/* Returns false if this thread must take the lock instead. */
static inline bool armci_read_begin(struct armci_thread *t)
{
	if (__builtin_expect(!t->reads, 0))
		return false;
	atomic_store_relaxed(&t->reading, 1);
	atomic_signal_fence_seq_cst(); /* as in armci_enter() */
	return true;
}

static inline void armci_read_end(struct armci_thread *t)
{
	atomic_store_release(&t->reading, 0);
}

/* Wait until no thread reads what was taken out of the tables before this call. */
void armci_read_drain(void);

/*
 * Wake the threads that wait in a loop over armci_poll(). The caller has changed a condition that
 * they may wait for, outside of PAMI's callbacks.
 */
void armci_wake_waiting(void);

#endif
