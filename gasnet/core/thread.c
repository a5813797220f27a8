/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of the program, the lock, and progress (thread.h). */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gasnet/core/event.h"
#include "gasnet/core/exit.h"

__thread struct gexi_thread *gexi_thread_current __attribute__((tls_model("initial-exec")));

/* Objects of threads that have ended, kept for reuse, since completions of their operations may
 * still arrive. */
static struct {
	pthread_mutex_t mutex;
	struct gexi_thread *first;
	struct gexi_thread *all; /* also those that have not ended */
	pthread_key_t key;
	pthread_once_t once;
} ended = {.mutex = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

static void leave_thread(void *thread)
{
	struct gexi_thread *t = thread;

	pthread_mutex_lock(&ended.mutex);
	t->next = ended.first;
	ended.first = t;
	pthread_mutex_unlock(&ended.mutex);
}

static void make_key(void)
{
	pthread_key_create(&ended.key, leave_thread);
}

GEXI_COLD struct gexi_thread *gexi_thread_enter(void)
{
	struct gexi_thread *t;

	pthread_once(&ended.once, make_key);
	pthread_mutex_lock(&ended.mutex);
	t = ended.first;
	if (t)
		ended.first = t->next;
	pthread_mutex_unlock(&ended.mutex);
	if (gexi_world.is_debug && gexi_world.is_seq && ended.all && !t)
		gexi_die("a second thread calls the library, but the program was compiled with "
			 "GASNET_SEQ");
	if (!t) {
		t = aligned_alloc(64, (sizeof(*t) + 63) & ~(size_t)63);
		if (!t)
			gexi_die("no memory for a thread");
		memset(t, 0, sizeof(*t));
		pthread_mutex_lock(&ended.mutex);
		t->also = ended.all;
		ended.all = t;
		pthread_mutex_unlock(&ended.mutex);
	}
	t->depth = 0;
	pthread_setspecific(ended.key, t);
	gexi_thread_current = t;
	return t;
}

bool gexi_are_others_quiet(void)
{
	const struct gexi_thread *self = gexi_self();
	bool quiet = true;

	pthread_mutex_lock(&ended.mutex);
	for (struct gexi_thread *t = ended.all; t; t = t->also)
		quiet &= t == self || !atomic_load_acquire(&t->polls);
	pthread_mutex_unlock(&ended.mutex);
	return quiet;
}

GEXI_COLD void gexi_hsl_fail(const char *call, int is_held)
{
	gexi_die("%s: the handler-safe lock is %s", call,
		 is_held ? "held by this very thread" : "free");
}

static _Thread_local int hsl_held; /* in debug builds of SEQ and PARSYNC */

void gexi_hsl_count(int change)
{
	hsl_held += change;
}

GEXI_COLD void gexi_check_client(const char *call)
{
	if (gexi_world.client)
		return;
	while (atomic_load_acquire(&gexi_has_left))
		pause(); /* another thread ends the process */
	gexi_die("%s: gex_Client_Init was not called", call);
}

GEXI_COLD void gexi_check_may_call_slow(const char *call)
{
	const struct gexi_thread *self = gexi_self();

	gexi_check_client(call);
	if (self->depth)
		gexi_die("%s: in a handler, which may only reply", call);
	if (self->srcdesc[0].is_open)
		gexi_die("%s: this thread has prepared a message that is not committed", call);
	if (hsl_held)
		gexi_die("%s: this thread holds a handler-safe lock", call);
}

GEXI_COLD void gexi_check_handler_end_slow(unsigned index, int held_before)
{
	if (hsl_held != held_before)
		gexi_die("handler %u has returned with a handler-safe lock held", index);
	if (gexi_self()->srcdesc[1].is_open)
		gexi_die("handler %u has returned with a reply that is prepared and not committed",
			 index);
}

GEXI_COLD int gexi_hsl_held(void)
{
	return hsl_held;
}

void gexi_lock_slow(void)
{
	if (!gexi_self()->depth)
		PAMI_Context_lock(gexi_world.context[GEXI_MAIN]);
}

void gexi_unlock_slow(void)
{
	if (!gexi_self()->depth)
		PAMI_Context_unlock(gexi_world.context[GEXI_MAIN]);
}

/* Contexts that progress calls advance: SERVE where it has messages and nothing else does. */
static inline size_t count_contexts(void)
{
	return GEXI_UNLIKELY(gexi_world.serves_in_polls) ? GEXI_CONTEXTS : 1;
}

/* A process has called gasnet_exit. The thread that is in that call goes on. Call this before a
 * progress call, since the contexts may be gone. */
static inline void exit_if_asked(void)
{
	if (GEXI_UNLIKELY(atomic_load_relaxed(&gexi_exit_asked)))
		gexi_exit_as_asked();
}

/*
 * Progress in PAR mode. gasnet_exit() in another thread sets gexi_has_left, orders that before its
 * look at `polls` by a barrier for all threads, and destroys the contexts when no thread polls.
 */
static void advance_par(struct gexi_thread *self)
{
	atomic_store_relaxed(&self->polls, 1);
	atomic_signal_fence_seq_cst();
	if (GEXI_LIKELY(!atomic_load_relaxed(&gexi_has_left)))
		PAMI_Context_trylock_advancev(gexi_world.context, count_contexts(), 1);
	atomic_store_release(&self->polls, 0);
}

void gexi_poll_locked(void)
{
	PAMI_Context_advance(gexi_world.context[GEXI_MAIN], 1);
	if (GEXI_UNLIKELY(gexi_world.serves_in_polls))
		PAMI_Context_trylock_advancev(&gexi_world.context[GEXI_SERVE], 1, 1);
}

void gexi_poll(void)
{
	struct gexi_thread *self = gexi_self();

	if (GEXI_UNLIKELY(self->depth != 0))
		return; /* Handlers do not poll. */
	self->injections = 0;
	exit_if_asked();
	if (GEXI_LIKELY(gexi_world.polls_plainly))
		PAMI_Context_advance(gexi_world.context[GEXI_MAIN], 1);
	else if (gexi_world.is_par)
		advance_par(self);
	else
		PAMI_Context_advancev(gexi_world.context, GEXI_CONTEXTS, 1);
}

void gexi_poll_waiting(void)
{
	if (GEXI_UNLIKELY(gexi_self()->depth != 0))
		gexi_die("a handler waits; handlers must not wait, poll or test events");
	exit_if_asked();
	/* In PAR mode another thread may bring what this one waits for, so it does not sleep. */
	if (gexi_world.is_par)
		advance_par(gexi_self());
	else if (gexi_world.waitmode == GASNET_WAIT_SPIN)
		PAMI_Context_advancev(gexi_world.context, count_contexts(), 16);
	else
		gexi_world.advancev(gexi_world.context, count_contexts(), 16);
}

void gexi_poll_for_condition(void)
{
	gexi_check_may_call("GASNET_BLOCKUNTIL");
	gexi_poll();
}

GEXI_COLD bool gexi_has_no_room(void)
{
	bool has;

	if (!gexi_world.env.imm || !gexi_world.room)
		return false;
	gexi_lock();
	has = gexi_world.room(gexi_world.context[GEXI_MAIN]);
	gexi_unlock();
	return !has;
}

int gasnet_AMPoll(void)
{
	gexi_check_may_call(__func__);
	gexi_poll();
	return GASNET_OK;
}

int gasnet_set_waitmode(int mode)
{
	if (mode < GASNET_WAIT_SPIN || mode > GASNET_WAIT_SPINBLOCK)
		return GASNET_ERR_BAD_ARG;
	gexi_world.waitmode = (unsigned)mode;
	return GASNET_OK;
}
