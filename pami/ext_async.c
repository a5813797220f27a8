/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EXT_async_progress: contexts given to the commthreads (mu/commthread.c). Source: spec pami.md 17.2.
 *
 * With no progress function a commthread tries the context's lock, advances and unlocks; a context
 * whose lock is taken is being advanced by its holder. Else the function is called, without the
 * lock. resume comes first and suspend last; never two of the three at a time.
 */
#include <pthread.h>
#include <stdlib.h>

#include "pami/ext.h"
#include "pami/state.h"

typedef void (*async_fn)(pami_context_t context, void *cookie);

struct pami_async {
	async_fn progress, suspend, resume;
	void *cookie;
	uint32_t enabled; /* atomic: the commthread looks */
	uint32_t added;   /* it is given to one */
	uint32_t resumed; /* resume was called; commthread's side */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Whose serve() this thread is in; or NULL. */
static __thread struct pami_context *serving __attribute__((tls_model("initial-exec")));

static void suspend(struct pami_context *ctx)
{
	struct pami_async *a = ctx->async;

	if (!a->resumed)
		return;
	a->resumed = 0;
	if (a->suspend)
		a->suspend(ctx, a->cookie);
}

static int serve(void *arg)
{
	struct pami_context *ctx = arg, *outer = serving;
	struct pami_async *a = ctx->async;
	int events = 0;

	if (!__atomic_load_n(&a->enabled, __ATOMIC_ACQUIRE)) {
		suspend(ctx); /* disabled from another context's commthread */
		return 0;
	}
	serving = ctx;
	if (!a->resumed) {
		a->resumed = 1;
		if (a->resume)
			a->resume(ctx, a->cookie);
	}
	if (a->progress) {
		/* It tells nobody what it found: what was there before counts. */
		events = pami_posted_any(&ctx->posted);
		a->progress(ctx, a->cookie);
	} else if (pami_lock_try(ctx)) {
		if (!ctx->depth)
			events = pami_advance_once(ctx);
		/* Work that asked to be called again must not wait for an arrival. */
		events += ctx->again != NULL || (ctx->todo & ~(unsigned)PAMI_TODO_QUEUE);
		pami_lock_give(ctx);
	}
	serving = outer;
	return events;
}

static struct pami_async *async_of(struct pami_context *ctx)
{
	if (!ctx->async)
		ctx->async = calloc(1, sizeof *ctx->async);
	return ctx->async;
}

static pami_result_t async_register(pami_context_t context, async_fn progress, async_fn suspend,
                                    async_fn resume, void *cookie)
{
	struct pami_async *a;
	pami_result_t result = PAMI_SUCCESS;

	if (!pami_context_valid(context))
		return pami_fail(PAMI_INVAL, "not a context");
	pthread_mutex_lock(&lock);
	a = async_of(pami_context_of(context));
	if (!a) {
		result = pami_result(-ENOMEM);
	} else if (a->added) {
		result = pami_fail(PAMI_INVAL, "asynchronous progress is enabled: disable it first");
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

	if (!pami_context_valid(context))
		return pami_fail(PAMI_INVAL, "not a context");
	pthread_mutex_lock(&lock);
	a = async_of(ctx);
	if (!a)
		rc = -ENOMEM;
	else if (!a->added && !(rc = mu_commthread_add(ctx->channel, serve, ctx, event_type == PAMI_ASYNC_SHARED)))
		a->added = 1;
	if (!rc)
		__atomic_store_n(&a->enabled, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
	if (rc == -EOPNOTSUPP)
		return pami_fail(PAMI_ERROR, "PAMI_MAX_COMMTHREADS is 0");
	mu_wake_channel(ctx->channel);
	return pami_result(rc);
}

/*
 * Away from its commthread, unless called from one, which could wait for itself: then it stays, switched off, and
 * if it is another context's, its own one calls suspend.
 */
static void stop(struct pami_context *ctx)
{
	struct pami_async *a = ctx->async;

	__atomic_store_n(&a->enabled, 0, __ATOMIC_RELEASE);
	if (a->added && !serving) {
		mu_commthread_remove(ctx->channel);
		a->added = 0;
	}
	if (!a->added || serving == ctx)
		suspend(ctx);
	else
		mu_wake_channel(ctx->channel);
}

static pami_result_t async_disable(pami_context_t context, int event_type)
{
	struct pami_context *ctx = pami_context_of(context);

	if (!pami_context_valid(context))
		return pami_fail(PAMI_INVAL, "not a context");
	pthread_mutex_lock(&lock);
	if (ctx->async)
		stop(ctx);
	pthread_mutex_unlock(&lock);
	return PAMI_SUCCESS;
}

void pami_async_drop(struct pami_context *ctx)
{
	if (!ctx->async)
		return;
	pthread_mutex_lock(&lock);
	stop(ctx);
	pthread_mutex_unlock(&lock);
	free(ctx->async);
	ctx->async = NULL;
}

static const struct pami_ext_symbol symbols[] = {
	{ "register", (void *)async_register, NULL },
	{ "enable", (void *)async_enable, NULL },
	{ "disable", (void *)async_disable, NULL },
	{ "pace", (void *)mu_commthread_pace, NULL }, /* ours */
	{ NULL, NULL, NULL },
};
const struct pami_ext pami_ext_async = { "EXT_async_progress", NULL, symbols };
