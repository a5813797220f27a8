/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A context, and its parts. Each part belongs to the file named beside it.
 *
 * One thread at a time uses a context: the program's thread, or a commthread that holds
 * PAMI_Context_lock. This is the context's user thread. It owns every field, except the parts at
 * the end, whose fields are atomic.
 */
#ifndef PAMI_CORE_CONTEXT_H
#define PAMI_CORE_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "mu/mu.h"
#include "pami/core/client.h"
#include "pami/core/endpoint.h"
#include "pami/core/lock.h"
#include "pami/core/macros.h"
#include "pami/core/post.h"
#include "pami/pami.h"

#define PAMI_CONTEXT_MAGIC     0x5143
#define PAMI_COMPLETION_NOTES  32 /* power of two */
#define PAMI_ANSWERS_MAX       64 /* a poll that has filled them dispatches no more */
#define PAMI_REQUEST_SLAB      64
#define PAMI_REQUEST_SLABS_MAX 65536 /* 4 M requests of one context in flight */
#define PAMI_INBOUND_BUCKETS   64

struct pami_inbound;
struct pami_request;

/* Bits of todo: what the next progress call has to do before it polls the MU. */
enum {
	PAMI_TODO_DEFERRED = 1, /* completion.deferred is not empty */
	PAMI_TODO_QUEUE = 2,    /* queue is not empty */
	PAMI_TODO_HELD = 4,     /* an id was set for which messages are held */
	PAMI_TODO_COLL = 8,     /* collectives have something to poll */
	PAMI_TODO_SHORT = 16,   /* collectives in shared memory: coll/shm/short.c */
	PAMI_TODO_NOTES = 32,   /* completion.note is not empty */
	PAMI_TODO_ANSWERS = 64, /* answers could not be sent for lack of memory */
};

/* Bits of slow: why sends cannot take the hot path. */
enum {
	PAMI_SLOW_QUEUE = 1, /* earlier operations wait in the queue */
	PAMI_SLOW_FENCE = 2, /* a fence region is open and counts operations */
	PAMI_SLOW_TRACE = 4, /* the job is traced: p2p/trace.h */
};

/* A callback of an operation that completed inside its call. */
struct pami_completion_note {
	pami_event_function fn;
	void *cookie;
};

/* Completions that the next progress call reports: p2p/request.c, p2p/rmw.c. */
struct pami_completions {
	struct pami_request *deferred, **deferred_tail;
	/* Notes are a ring; both counts only grow. Without room a note becomes a request. */
	uint32_t notes_first, notes_end;
	struct pami_completion_note note[PAMI_COMPLETION_NOTES];
};

/* Requests: p2p/request.c. A request's token is its place in the slabs + 1. */
struct pami_requests {
	struct pami_request *free;
	struct pami_request **slab; /* [slabs] arrays of PAMI_REQUEST_SLAB */
	uint32_t slabs;
};

/* The memory region of each side that passed its last check: p2p/memregion.h. */
struct pami_region_cache {
	uint64_t remote[5];
	uint64_t own[5];
};

/* Operations that found the injection FIFO full, in the order they started: p2p/queue.c. */
struct pami_queue {
	struct pami_pending *first, **tail;
	struct pami_pending *spare; /* from pami_queue_reserve(); or NULL */
	size_t bytes;
};

/* Messages under way to this context: p2p/inbound.c. */
struct pami_inbound_table {
	struct pami_inbound *bucket[PAMI_INBOUND_BUCKETS]; /* by origin */
	struct pami_inbound *dispatching; /* while its dispatch function runs, else NULL */
	/* A dispatch function of the library sets it: negative errno that the origin gets. */
	int error;
	uint64_t refused; /* packets dropped because they were malformed */
};

/* Whole messages whose dispatch id is not set yet, in order of arrival: p2p/inbound.c. */
struct pami_held {
	struct pami_inbound *first, **tail;
	size_t bytes;
	struct pami_held_fence *fences; /* not answered before those messages are dispatched */
	uint64_t dropped;               /* messages beyond pami_limits.held_max */
};

/* An answer that could not be sent for lack of memory. */
struct pami_answer {
	pami_endpoint_t dest;
	uint32_t token;
	int result;
	uint32_t bytes;
	uint64_t payload;
};

/* Answers to be sent when there is memory again: p2p/answer.c. */
struct pami_answers {
	struct pami_inbound *inbound; /* complete messages whose origin has no answer yet */
	uint32_t count;
	struct pami_answer item[PAMI_ANSWERS_MAX];
};

/* Work that returned PAMI_EAGAIN, or was taken from `posted`, in order: core/post.c. */
struct pami_retry {
	struct pami_work *first, *last;
};

/* What was done about tasks that died: p2p/death.c. */
struct pami_deaths {
	uint32_t applied; /* the job's count of deaths at the last pami_apply_deaths() */
	void (*notify)(pami_context_t, void *cookie); /* EXT_quintorus_deaths; or NULL */
	void *cookie;
};

struct pami_context {
	/* Constant while the context exists. */
	struct mu_channel *channel;
	struct pami_dispatch *dispatch; /* [PAMI_DISPATCH_IDS] */
	uint32_t tasks;                 /* of the job */
	uint32_t contexts;              /* of the client: offsets that a destination may have */
	uint32_t base;                  /* MU channel of the client's context 0 */
	/* [tasks] bit per MU channel that will never be a context (p2p/absent.h). NULL: unknown. */
	const atomic_u64 *never;
	uint8_t offset; /* its own */
	uint8_t slow;   /* PAMI_SLOW_ bits; not 0: sends take the slow path */
	uint16_t magic;
	/* Progress: core/advance.c. */
	uint32_t depth;    /* > 0: the user thread is in a progress call */
	uint32_t todo;     /* PAMI_TODO_ bits */
	uint32_t unpolled; /* progress calls since the MU was last polled */
	/* While depth > 0: the context in whose callback this progress call is, or NULL. */
	struct pami_context *outer;
	struct pami_completions completion;
	struct pami_region_cache regions;
	struct mu_window rmw_window;      /* the last arena that an atomic operation went to */
	struct pami_near_flow *near_flow; /* [tasks] p2p/send_message.c; NULL: not needed yet */

	struct pami_client *client;
	struct pami_queue queue;
	struct pami_held held;
	struct pami_answers answers;
	struct pami_inbound_table inbound;
	struct pami_retry retry;
	struct pami_requests requests;
	struct pami_scratch *scratch; /* core/scratch.c */
	struct pami_deaths deaths;
	struct pami_fence *fence;     /* NULL: no fence region was ever open */
	struct pami_coll_state *coll; /* collectives under way */
	struct pami_async *async;     /* asynchronous progress; or NULL */
	struct pami_trace *trace;     /* NULL: the job is not traced */
	struct {
		void *first; /* records of credits, the program's; or NULL */
		size_t stride;
		uint32_t limit;
	} credit; /* ext/credit.c */

	/* Any thread. */
	struct pami_posted posted;
	_Alignas(64) struct pami_lock lock;
};

static inline struct pami_context *pami_context_of(pami_context_t context)
{
	return (struct pami_context *)context;
}

/*
 * All contexts of the process, by MU channel. One more than there are channels, because a wild
 * handle may point into the middle of the last.
 */
extern struct pami_context pami_contexts[PAMI_CHANNELS_MAX + 1];

/* Does the handle name a context? The handle may be anything: it is read only inside the array. */
static inline bool pami_context_is_valid(pami_context_t context)
{
	return (uintptr_t)context - (uintptr_t)pami_contexts <
		   PAMI_CHANNELS_MAX * sizeof(struct pami_context) &&
	       ((struct pami_context *)context)->magic == PAMI_CONTEXT_MAGIC;
}

void pami_context_destroy(struct pami_context *ctx);

/* Is this thread in a callback of the context? The progress call below needs the context. */
bool pami_context_is_in_callback(const struct pami_context *ctx);
#define PAMI_IN_CALLBACK                                                                           \
	"called from a callback of the context: wait until its progress call returns"

/* Is p the handle of a context of this process? Does not read what p points to. */
bool pami_is_context(const void *p);

/* Can nothing be mapped there? The kernel maps nothing in the first page. */
static inline bool pami_is_no_address(const void *p)
{
	return (uintptr_t)p < 4096;
}

static inline bool pami_is_no_buffer(const struct iovec *v)
{
	return v->iov_len && pami_is_no_address(v->iov_base);
}

/* The MU channel of the endpoint's context. */
static inline uint32_t pami_endpoint_channel(const struct pami_context *ctx, pami_endpoint_t e)
{
	return ctx->base + pami_endpoint_offset(e);
}

/*
 * Can a context of this client exist at the endpoint? Once the target has made its contexts there
 * are no others; before that the endpoint counts as valid. Context 0 always comes.
 */
static inline bool pami_endpoint_is_valid(const struct pami_context *ctx, pami_endpoint_t e)
{
	uint32_t task = pami_endpoint_task(e);

	return task < ctx->tasks &&
	       (PAMI_LIKELY(!pami_endpoint_offset(e)) ||
		(pami_endpoint_offset(e) < ctx->contexts &&
		 !(ctx->never &&
		   atomic_load_relaxed(&ctx->never[task]) >> pami_endpoint_channel(ctx, e) & 1)));
}

/* Why the endpoint is not valid. */
const char *pami_endpoint_problem(const struct pami_context *ctx, pami_endpoint_t e);

#endif
