/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library's lock, the list of threads that call it, and how several threads wait at once.
 *
 * A thread that waits calls armci_poll() in a loop. The first waiting thread drives progress: it
 * advances ORIGIN with the lock held, and releases the lock between two rounds when another thread
 * wants it. The other waiting threads sleep without the lock until the driver has found something
 * or has left. In virtual time every waiting thread advances ORIGIN in turn, since a sleep there
 * has no length.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "armci/core/assist.h"
#include "armci/core/thread.h"
#include "armci/core/world.h"
#include "armci/transfer/op.h"
#include "drivers/base/assert.h"
#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"

/* Spins of the thread that released the lock, until another has taken it. */
#define HAND_OVER_SPINS 2000
/* A thread that waits for the driver wakes after this long at the latest. */
#define SLEEP_NS 10000000
/*
 * A thread gets the bias after it has taken the lock so often in a row. Ending a bias costs some
 * 10 us, as does taking the lock a thousand times, so both together cost at most twice as much as
 * without a bias. After a bias that lasted less than BIAS_NS the number doubles, else it halves.
 */
#define TURNS_LEAST 1024u
#define TURNS_MOST  (1u << 20)
#define BIAS_NS     10000000u

_Thread_local struct armci_thread armci_self __attribute__((tls_model("initial-exec")));
armci_bias_word armci_bias;
atomic_u8 armci_threads_several;

/* The threads that have called. */
static struct {
	pthread_mutex_t mutex;
	pthread_key_t key;
	pthread_once_t once;
	struct armci_thread *first;
	bool barriers;   /* the kernel has membarrier() */
	uint64_t copies; /* copies by threads that have ended */
} list = {.mutex = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

/* Under the lock, except the atomic fields. */
static struct {
	struct armci_thread *driver; /* thread that advances ORIGIN for all that wait, or NULL */
	uint32_t sleepers;           /* threads that wait for the driver */
	atomic_u32 entering;         /* threads that wait for the lock */
	atomic_u32 turns;            /* how often the lock was taken */
	atomic_u32 events;           /* futex word on which threads wait for the driver */
} waits;

/* When to give the bias. Under the lock. */
static struct {
	const struct armci_thread *last; /* thread that took the lock last */
	uint32_t turns;                  /* how often in a row */
	uint32_t wanted;                 /* turns in a row that give the bias */
	bool allowed;      /* only the program's threads use the context, and membarrier() works */
	uint64_t since_ns; /* the present bias, or the last one, began */
} biased = {.wanted = TURNS_LEAST};

/* ---- the list of threads ---- */

static int call_membarrier(int command)
{
	return (int)syscall(SYS_membarrier, command, 0, 0);
}

static void thread_ended(void *arg)
{
	struct armci_thread *t = arg, *self = t, **p;

	pthread_mutex_lock(&list.mutex);
	for (p = &list.first; *p && *p != t; p = &(*p)->next)
		;
	if (*p)
		*p = t->next;
	/* A thread that ends the bias meanwhile no longer finds this thread in the list. */
	atomic_ptr_cas_acq_rel(&armci_bias, &self, NULL);
	list.copies += atomic_load_relaxed(&t->copies);
	pthread_mutex_unlock(&list.mutex);
	atomic_store_relaxed(&t->copies, 0);
	t->known = t->reads = false;
}

static void list_open(void)
{
	pthread_key_create(&list.key, thread_ended);
	list.barriers = !call_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

static bool is_any_inside(const struct armci_thread *self)
{
	const struct armci_thread *t;
	bool any = false;

	pthread_mutex_lock(&list.mutex);
	for (t = list.first; t; t = t->next)
		any |= t != self && atomic_load_acquire(&t->inside);
	pthread_mutex_unlock(&list.mutex);
	return any;
}

/*
 * Returns once no other thread is in a call without the lock, and none can enter one. Only the
 * holder of the lock may end a bias: a thread that finds it ended enters at once.
 */
static void bias_end(struct armci_thread *self)
{
	atomic_store_release(&self->inside, 0);
	atomic_ptr_store_seq_cst(&armci_bias, NULL);
	if (list.barriers)
		call_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
	/* The other thread may be in a long wait; it notices the change between two polls. */
	while (is_any_inside(self))
		PAMI_Context_trylock_advancev(&armci_world.context[ARMCI_SERVE], 1, 1);
}

static void thread_add(struct armci_thread *t)
{
	bool alone;

	pthread_once(&list.once, list_open);
	pthread_setspecific(list.key, t);
	pthread_mutex_lock(&list.mutex);
	alone = !list.first;
	t->next = list.first;
	list.first = t;
	t->known = true;
	t->reads = list.barriers;
	if (alone && !atomic_load_relaxed(&armci_threads_several))
		atomic_ptr_store_release(&armci_bias, t);
	pthread_mutex_unlock(&list.mutex);
	/* The second thread to call: from now on threads take the lock unless they have the bias.
	 */
	if (!alone && armci_world.context[ARMCI_ORIGIN])
		atomic_store_seq_cst(&armci_threads_several, 1);
}

uint64_t armci_threads_count_copies(void)
{
	const struct armci_thread *t;
	uint64_t sum;

	pthread_mutex_lock(&list.mutex);
	sum = list.copies;
	for (t = list.first; t; t = t->next)
		sum += atomic_load_relaxed(&t->copies);
	pthread_mutex_unlock(&list.mutex);
	return sum;
}

void armci_read_drain(void)
{
	const struct armci_thread *t;

	if (!atomic_load_relaxed(&armci_threads_several))
		return; /* This is the only thread. */
	if (list.barriers)
		call_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
	pthread_mutex_lock(&list.mutex);
	for (t = list.first; t; t = t->next)
		while (t != &armci_self && atomic_load_acquire(&t->reading))
			sched_yield();
	pthread_mutex_unlock(&list.mutex);
}

/* ---- the lock ---- */

/* This thread has taken the lock, and another one had it before. */
static __attribute__((noinline)) void bias_take_from_others(struct armci_thread *t)
{
	biased.last = t;
	biased.turns = 0;
	if (!atomic_ptr_load_acquire(&armci_bias)) /* perhaps ended by thread_ended() */
		return;
	if (drv_clock_fast_ns() - biased.since_ns >= BIAS_NS)
		biased.wanted = biased.wanted / 2 > TURNS_LEAST ? biased.wanted / 2 : TURNS_LEAST;
	else
		biased.wanted = biased.wanted * 2 < TURNS_MOST ? biased.wanted * 2 : TURNS_MOST;
	bias_end(t);
}

/* In virtual time threads take turns, and the lock costs nothing there. */
static __attribute__((noinline)) void bias_give(struct armci_thread *t)
{
	biased.turns = 0;
	if (!biased.allowed || armci_world.is_virtual || atomic_load_relaxed(&waits.entering) ||
	    waits.sleepers)
		return;
	biased.since_ns = drv_clock_fast_ns();
	atomic_ptr_store_release(&armci_bias, t);
}

static void context_lock(struct armci_thread *t)
{
	pami_context_t c = armci_world.context[ARMCI_ORIGIN];

	if (PAMI_Context_trylock(c) != PAMI_SUCCESS) {
		atomic_fetch_add_seq_cst(&waits.entering, 1);
		PAMI_Context_lock(c);
		atomic_fetch_add_seq_cst(&waits.entering, -1u);
	}
	armci_word_add(&waits.turns, 1);
	t->locked = true;
	if (__builtin_expect(biased.last != t, 0))
		bias_take_from_others(t);
	biased.turns++;
}

static void context_unlock(struct armci_thread *t)
{
	DRV_ASSERT(t->locked);
	t->locked = false;
	PAMI_Context_unlock(armci_world.context[ARMCI_ORIGIN]);
}

void armci_lock_take(struct armci_thread *t)
{
	if (!t->known)
		thread_add(t);
	if (!atomic_load_relaxed(&armci_threads_several))
		return; /* `inside` stays set until armci_leave(). */
	atomic_store_release(&t->inside, 0);
	context_lock(t);
}

void armci_wake_waiting(void)
{
	if (!waits.sleepers)
		return;
	atomic_store_release(&waits.events, atomic_load_relaxed(&waits.events) + 1);
	syscall(SYS_futex, &waits.events, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

void armci_lock_give(struct armci_thread *t)
{
	if (waits.driver == t) {
		waits.driver = NULL;
		armci_wake_waiting(); /* One of them becomes the driver. */
	}
	if (__builtin_expect(biased.turns >= biased.wanted, 0))
		bias_give(t);
	context_unlock(t);
}

void armci_threads_open(bool always_lock)
{
	struct armci_thread *t = &armci_self;
	bool several;

	pthread_mutex_lock(&list.mutex);
	several = always_lock || !list.barriers || list.first != t || t->next;
	pthread_mutex_unlock(&list.mutex);
	memset(&waits, 0, sizeof(waits));
	biased.last = NULL;
	biased.wanted = TURNS_LEAST;
	biased.allowed = !always_lock && list.barriers;
	if (!several)
		return;
	atomic_store_seq_cst(&armci_threads_several, 1);
	atomic_store_release(&t->inside, 0);
	context_lock(t);
}

void armci_threads_close(void)
{
	struct armci_thread *t = &armci_self;

	atomic_store_seq_cst(&armci_threads_several, 0);
	atomic_ptr_store_release(&armci_bias, NULL);
	if (t->locked) {
		atomic_store_relaxed(&t->inside, 1);
		context_unlock(t);
	}
	waits.driver = NULL;
	pthread_mutex_lock(&list.mutex);
	list.copies = 0;
	for (t = list.first; t; t = t->next)
		atomic_store_relaxed(&t->copies, 0);
	pthread_mutex_unlock(&list.mutex);
}

/* ---- waiting ---- */

/* Tells PAMI that the caller waits. Another PAMI decides by itself how to wait. */
static pami_quintorus_advancev_fn advancev_waiting = PAMI_Context_advancev;

void armci_wait_set(pami_quintorus_advancev_fn advancev)
{
	advancev_waiting = advancev ? advancev : PAMI_Context_advancev;
}

/* Run one round of progress in this thread; true: it found something. */
static bool run_progress(pami_quintorus_advancev_fn advancev)
{
	pami_result_t rc;

	armci_assist_note_poll();
	if (__builtin_expect(armci_world.offers_pending != 0, 0))
		armci_assist_withdraw_late();
	/*
	 * Idle polls of ORIGIN also run asynchronous progress. Without that, advance SERVE here
	 * too.
	 */
	rc = advancev(armci_world.context,
		      armci_world.thread || armci_world.single ? 1 : ARMCI_CONTEXTS, 16);
	if (__builtin_expect(atomic_load_relaxed(&armci_world.death_seen) != 0, 0))
		armci_end_operations_of_dead();
	return rc == PAMI_SUCCESS;
}

/* Release the lock to a thread that waits for it, and take it again after that thread. */
static void hand_over(struct armci_thread *t)
{
	uint32_t turns = atomic_load_relaxed(&waits.turns);
	int i;

	context_unlock(t);
	for (i = 0; i < HAND_OVER_SPINS; i++) {
		if (!atomic_load_relaxed(&waits.entering) ||
		    atomic_load_relaxed(&waits.turns) != turns)
			break;
		if (armci_world.is_virtual)
			PAMI_Context_trylock_advancev(&armci_world.context[ARMCI_SERVE], 1, 1);
		else if (i % 64)
			drv_cpu_relax();
		else
			sched_yield();
	}
	context_lock(t);
}

/* Sleep without the lock until the driver reports progress. Returns false if it reported none in
 * time. */
static bool sleep_for_driver(struct armci_thread *t)
{
	const struct timespec limit = {0, SLEEP_NS};
	uint32_t events = atomic_load_relaxed(&waits.events);

	waits.sleepers++;
	context_unlock(t);
	syscall(SYS_futex, &waits.events, FUTEX_WAIT_PRIVATE, events, &limit, NULL, 0);
	context_lock(t);
	waits.sleepers--;
	return atomic_load_relaxed(&waits.events) != events;
}

static void poll_once(bool waits_for_event)
{
	struct armci_thread *t = &armci_self;
	pami_quintorus_advancev_fn advancev =
	    waits_for_event ? advancev_waiting : PAMI_Context_advancev;

	if (__builtin_expect(!t->locked, 1)) {
		if (!atomic_load_relaxed(&armci_threads_several)) {
			run_progress(advancev);
			return;
		}
		atomic_store_release(&t->inside, 0); /* A second thread has called. */
		context_lock(t);
	}
	if (!armci_world.is_virtual && waits.driver && waits.driver != t &&
	    (!waits_for_event || sleep_for_driver(t)))
		return;
	waits.driver = t;
	if (run_progress(advancev))
		armci_wake_waiting();
	if (atomic_load_relaxed(&waits.entering))
		hand_over(t);
}

void armci_poll(void)
{
	poll_once(true);
}

void armci_poll_briefly(void)
{
	poll_once(false);
}
