/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EXT_async_progress: commthreads (mu/progress/commthread.c) serve contexts.
 *
 * Without a progress function a commthread tries the context's lock, advances and unlocks. If the
 * lock is taken, its holder advances the context. With a progress function it calls that, without
 * the lock. resume is called first and suspend last, and never two of the three at a time.
 *
 * A program may call disable and PAMI_Context_destroyv while it holds a lock that its suspend
 * function takes. So suspend runs on a thread of its own, and these calls wait only a moment for
 * it: a suspend function that needs the lock continues when the program has released it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "drivers/base/atomic.h"
#include "pami/core/advance.h"
#include "pami/core/context.h"
#include "pami/core/error.h"
#include "pami/core/lock.h"
#include "pami/core/post.h"
#include "pami/ext/async.h"
#include "pami/ext/ext.h"
#include "pami/p2p/absent.h"

typedef void (*async_fn)(pami_context_t context, void *cookie);

struct pami_async {
	async_fn progress, suspend, resume;
	void *cookie;
	atomic_u32 enabled;
	uint32_t added;    /* a commthread has the context */
	uint32_t resumed;  /* resume was called; the serving thread owns it */
	uint32_t unserved; /* passes since pami_absent_serve(), those without events count more */
	/* Under suspend_lock. */
	struct pami_context *context;
	async_fn ending; /* suspend and its cookie, copied when service ended */
	void *ending_cookie;
	atomic_u32 suspending; /* 0: no; 1: a thread calls suspend, or is about to; 2: its wait
				  timed out */
	uint32_t dropped;      /* the context is gone: that thread frees this */
};

#define SUSPEND_WAIT_NS 100000000
/* A commthread makes at least 10 passes without result between two sleeps of at most 100 ms. It
 * refuses early messages after so many, or so many with events. */
#define ABSENT_PASSES 8
#define ABSENT_EVENTS 256

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* The context whose serve_context() this thread is in; or NULL. */
static __thread struct pami_context *serving __attribute__((tls_model("initial-exec")));

static pthread_mutex_t suspend_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t suspend_done = PTHREAD_COND_INITIALIZER;
static uint32_t suspends_late; /* running suspend functions whose wait timed out */

static void *suspend_thread(void *arg)
{
	struct pami_async *a = arg;
	int dropped;

	a->ending(a->context, a->ending_cookie);
	pthread_mutex_lock(&suspend_lock);
	if (atomic_load_relaxed(&a->suspending) == 2)
		suspends_late--;
	atomic_store_release(&a->suspending, 0);
	dropped = a->dropped;
	if (!dropped)
		mu_wake_channel(a->context->channel); /* it may be enabled again */
	pthread_cond_broadcast(&suspend_done);
	pthread_mutex_unlock(&suspend_lock);
	if (dropped)
		free(a);
	return NULL;
}

/* Start suspend on a thread of its own, which blocks the program's signals. */
static void suspend_apart(struct pami_async *a)
{
	pthread_t thread;
	sigset_t all, before;
	int rc;

	if (!a->resumed)
		return;
	a->resumed = 0;
	if (!a->suspend)
		return;
	a->ending = a->suspend;
	a->ending_cookie = a->cookie;
	atomic_store_release(&a->suspending, 1);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&thread, NULL, suspend_thread, a);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc)
		suspend_thread(a);
	else
		pthread_detach(thread);
}

/* Wait a moment for suspend to return. Do not wait if an earlier one has not returned yet. */
static void suspend_await(struct pami_async *a)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += SUSPEND_WAIT_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&suspend_lock);
	while (atomic_load_relaxed(&a->suspending) && !suspends_late)
		if (pthread_cond_clockwait(&suspend_done, &suspend_lock, CLOCK_MONOTONIC, &until))
			break;
	if (atomic_load_relaxed(&a->suspending) == 1) {
		atomic_store_relaxed(&a->suspending, 2);
		suspends_late++;
	}
	pthread_mutex_unlock(&suspend_lock);
}

static void suspend_context(struct pami_context *ctx)
{
	struct pami_async *a = ctx->async;

	if (!a->resumed)
		return;
	a->resumed = 0;
	if (a->suspend)
		a->suspend(ctx, a->cookie);
}

static int serve_context(void *arg)
{
	struct pami_context *ctx = arg, *outer = serving;
	struct pami_async *a = ctx->async;
	int events = 0;

	if (!atomic_load_acquire(&a->enabled)) {
		/* Another thread is in stop_commthread(), or a commthread disabled the context and
		 * left it here. The former may hold a lock that suspend takes, and waits until
		 * serve_context() returns. */
		suspend_apart(a);
		return 0;
	}
	if (atomic_load_acquire(&a->suspending))
		return 0;
	serving = ctx;
	if (!a->resumed) {
		a->resumed = 1;
		if (a->resume)
			a->resume(ctx, a->cookie);
	}
	if (a->progress) {
		/* It does not report events, so count the work that was posted before. */
		events = pami_posted_has_work(&ctx->posted);
		a->progress(ctx, a->cookie);
	} else if (pami_lock_try(&ctx->lock)) {
		if (!ctx->depth)
			events = pami_advance_once(ctx);
		/* Work that asked to be called again must not wait for an arrival. */
		if (!events && (ctx->retry.first || (ctx->todo & ~(unsigned)PAMI_TODO_QUEUE)))
			events = -1;
		pami_lock_release(&ctx->lock);
	}
	/* A program that leaves all progress to commthreads refuses early messages, too. */
	a->unserved += events > 0 ? 1 : ABSENT_EVENTS / ABSENT_PASSES;
	if (!mu_virtual && a->unserved >= ABSENT_EVENTS) {
		int refused = pami_absent_serve(ctx->client);

		a->unserved = 0;
		if (refused && events <= 0)
			events = refused;
	}
	serving = outer;
	return events;
}

static struct pami_async *async_of(struct pami_context *ctx)
{
	if (!ctx->async) {
		ctx->async = calloc(1, sizeof *ctx->async);
		if (ctx->async)
			ctx->async->context = ctx;
	}
	return ctx->async;
}

static pami_result_t async_register(pami_context_t context, async_fn progress, async_fn suspend,
				    async_fn resume, void *cookie)
{
	struct pami_async *a;
	pami_result_t result = PAMI_SUCCESS;

	if (!pami_context_is_valid(context))
		return pami_fail(PAMI_INVAL, "not a context");
	pthread_mutex_lock(&lock);
	a = async_of(pami_context_of(context));
	if (!a) {
		result = pami_result(-ENOMEM);
	} else if (a->added) {
		result =
		    pami_fail(PAMI_INVAL, "asynchronous progress is enabled: disable it first");
	} else {
		a->progress = progress;
		a->suspend = suspend;
		a->resume = resume;
		a->cookie = cookie;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

static pami_result_t async_enable(pami_context_t context, int event_type)
{
	struct pami_context *ctx = pami_context_of(context);
	struct pami_async *a;
	int rc = 0;

	if (!pami_context_is_valid(context))
		return pami_fail(PAMI_INVAL, "not a context");
	pthread_mutex_lock(&lock);
	a = async_of(ctx);
	if (!a)
		rc = -ENOMEM;
	else if (!a->added && !(rc = mu_commthread_add(ctx->channel, serve_context, ctx,
						       event_type == PAMI_ASYNC_SHARED)))
		a->added = 1;
	if (!rc)
		atomic_store_release(&a->enabled, 1);
	pthread_mutex_unlock(&lock);
	if (rc == -EOPNOTSUPP)
		return pami_fail(PAMI_ERROR, "PAMI_MAX_COMMTHREADS is 0");
	mu_wake_channel(ctx->channel);
	return pami_result(rc);
}

/*
 * Take the context from its commthread. A commthread that calls this could wait for itself, so then
 * the context stays, disabled. If the calling thread serves another context, the context's own
 * commthread calls suspend.
 */
static void stop_commthread(struct pami_context *ctx)
{
	struct pami_async *a = ctx->async;

	atomic_store_release(&a->enabled, 0);
	if (a->added && !serving) {
		mu_commthread_remove(ctx->channel);
		a->added = 0;
	}
	if (!a->added)
		suspend_apart(a);
	else if (serving == ctx)
		suspend_context(ctx);
	else
		mu_wake_channel(ctx->channel);
}

static pami_result_t async_disable(pami_context_t context, int event_type)
{
	struct pami_context *ctx = pami_context_of(context);

	if (!pami_context_is_valid(context))
		return pami_fail(PAMI_INVAL, "not a context");
	pthread_mutex_lock(&lock);
	if (ctx->async)
		stop_commthread(ctx);
	pthread_mutex_unlock(&lock);
	if (ctx->async)
		/* The thread of suspend frees it only after pami_async_end() has dropped it. */
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		suspend_await(ctx->async);
	return PAMI_SUCCESS;
}

void pami_async_end(struct pami_context *ctx)
{
	struct pami_async *a = ctx->async;
	int suspending;

	if (!a)
		return;
	pthread_mutex_lock(&lock);
	stop_commthread(ctx);
	pthread_mutex_unlock(&lock);
	/* Only what was dropped is freed elsewhere, and that is done below. */
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	suspend_await(a);
	pthread_mutex_lock(&suspend_lock);
	suspending = atomic_load_relaxed(&a->suspending) != 0;
	a->dropped = 1;
	ctx->async = NULL;
	pthread_mutex_unlock(&suspend_lock);
	if (!suspending)
		free(a);
}

static const struct pami_ext_symbol symbols[] = {
    {"register", (void *)async_register, NULL},
    {"enable", (void *)async_enable, NULL},
    {"disable", (void *)async_disable, NULL},
    {"pace", (void *)mu_commthread_set_pace, NULL}, /* an addition of Quintorus */
    {NULL, NULL, NULL},
};
const struct pami_ext pami_ext_async = {"EXT_async_progress", NULL, symbols};
