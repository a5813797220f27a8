/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The private structures of client, context and request, and what the files of pami/ call of each
 * other. A context is touched by one thread at a time but for the fields that say otherwise.
 */
#ifndef PAMI_STATE_H
#define PAMI_STATE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "mu/mu.h"
#include "pami/pami.h"
#include "pami/wire.h"

#define PAMI_LIKELY(x)   __builtin_expect(!!(x), 1)
#define PAMI_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define PAMI_COLD        __attribute__((noinline, cold))
#define PAMI_EXPORT      __attribute__((visibility("default")))

#define PAMI_CLIENTS_MAX       32
#define PAMI_CONTEXTS_MAX      64 /* per client: six bits of an endpoint */
#define PAMI_DISPATCH_ID_MAX   1023
#define PAMI_DISPATCH_COLL     1024 /* the library's own ids follow the user's */
#define PAMI_DISPATCH_PUT      1025 /* typed */
#define PAMI_DISPATCH_GET      1026
#define PAMI_DISPATCH_GOT      1027
#define PAMI_DISPATCH_IDS      1028
#define PAMI_REQUEST_SLAB      64
#define PAMI_REQUEST_SLABS_MAX 65536 /* 4 M requests of one context at a time */
#define PAMI_INBOUND_BUCKETS   64

#define PAMI_CONTAINER(ptr, type, field) ((type *)((char *)(ptr) - offsetof(type, field)))

struct pami_client;
struct pami_context;
struct pami_request;
struct pami_geometry;

/*
 * Which protocol carries a message, by header + data bytes: the only such table, filled from the
 * environment by pami_limits_load() (pami/client.c). A message of one packet goes SHORT.
 */
struct pami_limits {
	size_t immediate_max;  /* QUINTORUS_IMMEDIATE: 512 .. 8192, default 512 */
	size_t eager_max;      /* QUINTORUS_EAGER: most bytes sent eagerly; above it by rendezvous */
	size_t stage_max;      /* most eager bytes copied; above it data is sent from where it lies */
	size_t near_eager_max; /* QUINTORUS_EAGER_NEAR: the two of them where the target shares memory with us */
	size_t near_stage_max;
	size_t queue_max;      /* QUINTORUS_QUEUE: most bytes waiting for the injection FIFO */
	size_t held_max;       /* QUINTORUS_HELD: most bytes of messages held for ids that are not set */
	unsigned contexts;     /* QUINTORUS_CONTEXTS: per client, power of two 2 .. 64; 0: by the job */
	pami_result_t idle;    /* what progress calls return for nothing: PAMI_EAGAIN */
};
extern struct pami_limits pami_limits;
void pami_limits_load(void);

/* ---- Dispatch ids ---- */

enum { /* exactly READY: send away; anything else takes the slow path */
	PAMI_DISPATCH_READY = 1,    /* set */
	PAMI_DISPATCH_SHMEM = 2,    /* use_shmem ENABLE: local tasks only */
	PAMI_DISPATCH_NO_QUEUE = 4, /* queue_immediate DISABLE */
};

struct pami_dispatch {
	pami_dispatch_p2p_function fn; /* NULL: pami_receive_odd() decides (unset, held, asynchronous) */
	void *cookie;
	pami_dispatch_p2p_function set_fn; /* what the user set */
	uint8_t send;                      /* PAMI_DISPATCH_ bits; untouched (0) while not set */
	uint8_t asynchronous;              /* recv_immediate DISABLE */
	uint8_t contiguous;                /* recv_contiguous ENABLE */
	uint8_t copy;                      /* recv_copy ENABLE */
	uint8_t rdma;                      /* use_rdma: ENABLE, DISABLE or neither */
	uint32_t held;                     /* messages in the context's held list for this id */
};

/* ---- Requests: operations under way that somebody waits for ---- */

/* Answers to a token, or our own completions; result is 0 or a negative errno. */
typedef void (*pami_request_fn)(struct pami_request *r, int result);

enum {
	PAMI_REQUEST_LOCAL = 1,
	PAMI_REQUEST_REMOTE = 2,
	PAMI_REQUEST_EARLY = 4, /* the remote half came first and waits for the local one */
	PAMI_REQUEST_LIVE = 8,
};

enum { /* struct pami_context.todo */
	PAMI_TODO_DEFERRED = 1,
	PAMI_TODO_QUEUE = 2,
	PAMI_TODO_HELD = 4,
	PAMI_TODO_COLL = 8,
	PAMI_TODO_SHORT = 16, /* the short lane of collectives: coll_short.c */
	PAMI_TODO_TOLD = 32,
	PAMI_TODO_ANSWER = 64,
};

enum { /* struct pami_context.slow */
	PAMI_SLOW_QUEUE = 1,
	PAMI_SLOW_FENCE = 2,
};

struct pami_request {
	struct mu_op op;     /* local half */
	struct mu_op remote; /* remote half of a put */
	struct pami_context *context;
	struct pami_request *next; /* free list, deferred list */
	uint32_t token;            /* this request's number, from 1, for ever */
	/* From here on zero in a new request. */
	pami_request_fn run;       /* called from the deferred list */
	/* DONE arrived; payload is its answer. */
	void (*answer)(struct pami_request *r, int result, const void *payload, uint32_t bytes);
	pami_event_function local_fn;
	pami_event_function remote_fn;
	void *cookie;
	void *buffer;       /* to be freed with the request; or NULL */
	void *user;         /* the protocol's own */
	struct pami_fence_group *fence;
	uint32_t awaited;   /* PAMI_REQUEST_ bits still to come; 0: free it */
	int result;         /* of a remote half that came early */
	int deferred_result;
	uint32_t bytes;     /* the protocol's own */
	uint32_t task;      /* where `answer` is to come from */
};

/* Of an operation that was done within its call: what is still to be told, by a progress call. */
#define PAMI_TOLD_MAX 32 /* power of two; more become requests */
struct pami_told {
	pami_event_function fn;
	void *cookie;
};

/* An answer for which there was no memory; those of one poll, which takes up to 32 records. */
#define PAMI_ANSWERS_MAX 64
struct pami_answer {
	pami_endpoint_t dest;
	uint32_t token;
	int result;
	uint32_t bytes;
	uint64_t payload;
};

/* A new request, zeroed but for context and token. NULL: out of memory. */
struct pami_request *pami_request_new(struct pami_context *ctx);
void pami_request_free(struct pami_request *r);
/* The request of a token somebody sent us, or NULL: it names none. */
struct pami_request *pami_request_find(struct pami_context *ctx, uint32_t token);
/* Run r->run(r, result) at the next progress call. */
void pami_request_defer(struct pami_request *r, pami_request_fn run, int result);
/*
 * One half of an operation is complete: tell the user, local before remote. Frees the request when
 * no half is awaited any more.
 */
void pami_request_half(struct pami_request *r, unsigned half, int result);
/* r->run for deferred completion of the local half, or of both. */
void pami_request_local(struct pami_request *r, int result);
void pami_request_both(struct pami_request *r, int result);
/* r->op.done and r->remote.done of the usual kind: a half is complete. */
void pami_request_local_done(struct mu_op *op, int result);
void pami_request_remote_done(struct mu_op *op, int result);
/* r->answer of sends: the target's receive is complete, and so is everything here. */
void pami_request_answered(struct pami_request *r, int result, const void *payload, uint32_t bytes);
/* Event functions with no operation behind them, at the next progress call: zero bytes, refusals. */
pami_result_t pami_event_defer(struct pami_context *ctx, pami_event_function local,
                               pami_event_function remote, void *cookie, int result);

/* Memory of operations under way (16-byte aligned, zeroed) that goes with its context at the latest. NULL: none. */
void *pami_keep(struct pami_context *ctx, size_t bytes);
void pami_unkeep(void *p); /* NULL is fine */
void pami_keep_drop(struct pami_context *ctx);

/* ---- Messages arriving in pieces, or waiting ---- */

struct pami_inbound {
	struct pami_inbound *next; /* hash bucket, or held list */
	struct pami_context *context;
	pami_endpoint_t origin;
	uint32_t token;
	uint16_t dispatch;
	uint8_t kind;       /* the wire kind that began it */
	uint8_t whole;      /* collect everything of the stream, then dispatch */
	uint8_t called;     /* the dispatch function was called before the stream's end */
	uint8_t deferred;   /* pami_inbound_defer(): waits for pami_inbound_resume() */
	uint8_t direct;     /* data goes straight to the user */
	uint8_t dispatched; /* recv is valid */
	int answer;         /* result that was to be answered: ctx->unanswered */
	int16_t refusal;    /* negative errno of the dispatch function: nothing is stored, that is answered */
	uint8_t lost;       /* deferred, and its origin is gone: it will never be whole */
	uint64_t header_bytes, data_bytes;
	uint64_t got;       /* bytes of the stream (header, then data unless RTS) stored */
	uint64_t address;   /* RTS: of the data at the origin */
	unsigned char *header;      /* buffer: header, then data at the next multiple of 16; or NULL */
	unsigned char *data;        /* where data bytes go; NULL: no memory, they are lost */
	unsigned char *data_buffer; /* heap; or NULL */
	pami_recv_t recv;
	struct mu_op op;    /* RTS: the get */
};

/* In a dispatch function of the library's own ids: take the message later. */
struct pami_inbound *pami_inbound_defer(struct pami_context *ctx);
/* Tasks are gone (pami/gone.c): end the receives of messages that will not be complete. */
void pami_inbound_gone(struct pami_context *ctx);
/* Now: recv says where to. recv.local_fn is called from this or a later progress call. */
void pami_inbound_resume(struct pami_inbound *in, const pami_recv_t *recv);
/* Or never: the context ends. */
void pami_inbound_forget(struct pami_inbound *in);

/* ---- Contexts ---- */

struct pami_work; /* the user's pami_work_t, any alignment: pami/post.c */

/* Bytes of long eager messages to a near task; all count up and wrap. */
struct pami_near {
	uint32_t sent, asked; /* in all; when it was last asked how far it is */
	uint32_t seen;        /* it has looked at these */
};

#define PAMI_POSTED_PLACES 2048

struct pami_posted {
	_Alignas(64) uint64_t consumed; /* by the advancing thread */
	uint64_t produced;              /* places taken; incremented up to bound */
	uint64_t bound;
	struct pami_work *more;         /* when the array is full: a list, oldest first; under more_lock */
	struct pami_work *more_last;
	uint32_t more_lock;
	_Alignas(64) struct pami_work *item[PAMI_POSTED_PLACES];
};

/* Is there anything? Any thread. */
static inline int pami_posted_any(const struct pami_posted *q)
{
	return __atomic_load_n(&q->produced, __ATOMIC_RELAXED) != __atomic_load_n(&q->consumed, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&q->more, __ATOMIC_RELAXED);
}

struct pami_context {
	/* Hot: sending. */
	struct mu_channel *channel;
	struct pami_dispatch *dispatch; /* [PAMI_DISPATCH_IDS] */
	uint32_t tasks;                 /* of the job */
	uint32_t contexts;              /* offsets a destination may have */
	uint32_t base;                  /* channel of offset 0 */
	uint8_t offset;                 /* own */
	uint8_t slow;                   /* PAMI_SLOW_ bits: sends take the slow path */
	uint16_t magic;
	uint32_t depth;                 /* > 0: inside a progress call */
	/* Hot: progress. */
	uint32_t todo;                  /* PAMI_TODO_ bits */
	uint32_t unpolled;              /* times progress was found without asking the MU */
	struct pami_request *deferred, **deferred_tail;

	uint64_t region_seen[5]; /* the last remote region that was found good */
	struct mu_window near;   /* the last arena an atomic went to */
	struct pami_near *near_sent; /* [tasks] eager bytes beyond eager_max; NULL: none yet */
	uint32_t told_first, told_last; /* count up; places are mod PAMI_TOLD_MAX */
	struct pami_told told[PAMI_TOLD_MAX];

	struct pami_client *client;
	struct pami_pending *queue, **queue_tail; /* sends that found the FIFO full, in order */
	struct pami_pending *queue_spare; /* pami_queue_reserve(); or NULL */
	size_t queue_bytes;
	struct pami_inbound *held, **held_tail; /* whole messages for ids not set, in order */
	size_t held_bytes;
	struct pami_held_fence *held_fence; /* fences behind them */
	struct pami_inbound *unanswered;    /* complete, but there was no memory for the answer */
	uint32_t answers;
	struct pami_answer answer[PAMI_ANSWERS_MAX];
	struct pami_inbound *inbound[PAMI_INBOUND_BUCKETS];
	struct pami_inbound *dispatching; /* during a dispatch function: for pami_inbound_defer() */
	int refusal; /* set by a dispatch function of the library's own: negative errno, the answer */
	struct pami_work *again;          /* work taken from `posted`, in order */
	struct pami_work *again_last;
	struct pami_request *request_free;
	struct pami_request **request_slab;
	uint32_t request_slabs;
	uint32_t outstanding; /* requests in use */
	struct pami_kept *kept;
	uint32_t gone;        /* tasks of the job that were gone at the last pami_gone() */
	void (*on_deaths)(pami_context_t, void *cookie); /* EXT_quintorus_deaths; or NULL */
	void *deaths_cookie;
	uint64_t refused;     /* packets that made no sense, dropped */
	uint64_t unheld;      /* messages for ids not set, dropped: held_max */
	struct pami_fence *fence;
	struct pami_coll_state *coll;       /* collectives under way */
	struct pami_async *async;           /* asynchronous progress; or NULL */

	/* Written by other threads. */
	struct pami_posted posted;
	_Alignas(64) uint32_t lock;            /* 0 free, 1 taken, 2 taken and somebody sleeps */
};

#define PAMI_CONTEXT_MAGIC 0x5143
#define PAMI_CLIENT_MAGIC  0x51434c49u

struct pami_client {
	uint32_t magic;
	uint32_t slot;        /* 0 .. PAMI_CLIENTS_MAX - 1: the same on every task */
	uint32_t contexts;    /* most contexts */
	uint32_t created;     /* contexts that exist */
	uint32_t base;        /* MU channel of context 0 */
	const struct mu_job *job;
	struct pami_context *context[PAMI_CONTEXTS_MAX];
	struct pami_geometry *world;
	struct pami_geometry_table *geometries;
	char name[64];
};

/* Any client of this process, or NULL: for extensions opened without one. */
struct pami_client *pami_client_any(void);

static inline struct pami_context *pami_context_of(pami_context_t context)
{
	return (struct pami_context *)context;
}

static inline int pami_context_valid(pami_context_t context)
{
	return context && ((struct pami_context *)context)->magic == PAMI_CONTEXT_MAGIC;
}

static inline int pami_client_valid(pami_client_t client)
{
	return client && ((struct pami_client *)client)->magic == PAMI_CLIENT_MAGIC;
}

static inline pami_endpoint_t pami_endpoint(uint32_t task, uint32_t offset)
{
	return task << 6 | offset;
}

static inline uint32_t pami_endpoint_task(pami_endpoint_t e)
{
	return e >> 6;
}

static inline uint32_t pami_endpoint_offset(pami_endpoint_t e)
{
	return e & 63;
}

static inline int pami_endpoint_ok(const struct pami_context *ctx, pami_endpoint_t e)
{
	return pami_endpoint_task(e) < ctx->tasks && pami_endpoint_offset(e) < ctx->contexts;
}

/* MU channel of an endpoint's context. */
static inline uint32_t pami_endpoint_channel(const struct pami_context *ctx, pami_endpoint_t e)
{
	return ctx->base + pami_endpoint_offset(e);
}

/* ---- Sending (pami/send.c, send_message.c, queue.c) ---- */

/* mu_send_short() and so on, or, where the FIFO is full or others wait, a place in the queue. 0, or
 * negative errno: -ENOMEM and what the MU says; never -EAGAIN. */
int pami_queue_short(struct pami_context *ctx, pami_endpoint_t dest, const struct pami_wire *wire,
                     const void *a, uint32_t an, const void *b, uint32_t bn);
int pami_queue_send(struct pami_context *ctx, pami_endpoint_t dest, const struct pami_wire *wire,
                    const void *payload, size_t bytes, struct mu_op *op);
int pami_queue_put(struct pami_context *ctx, pami_endpoint_t dest, const void *local, uint64_t remote,
                   size_t bytes, struct mu_op *local_op, struct mu_op *remote_op);
int pami_queue_get(struct pami_context *ctx, pami_endpoint_t dest, void *local, uint64_t remote,
                   size_t bytes, struct mu_op *op);
int pami_queue_flush(struct pami_context *ctx, pami_endpoint_t dest, struct mu_op *op);
/* Make sure that the EAGER_DATA sent next finds a place, whatever memory there is then. 0, or -ENOMEM. */
int pami_queue_reserve(struct pami_context *ctx);
/* Hand queued operations to the MU, as many as it takes. 0: all; -EAGAIN: it is full; outside
 * progress calls also the error of the first operation that cannot go, which stays. */
int pami_queue_drain(struct pami_context *ctx);
/* Outside callbacks: wait until no more than the limit is queued, without dispatching. */
void pami_queue_throttle(struct pami_context *ctx);
/* Drop everything (context is destroyed). */
void pami_queue_drop(struct pami_context *ctx);

/* Set an id, the user's or our own, without the user's hints. */
void pami_dispatch_install(struct pami_context *ctx, size_t dispatch, pami_dispatch_p2p_function fn,
                           void *cookie);

/* Send a message by the protocol its size asks for; the id is not checked. 0 or negative errno. */
int pami_send_message(struct pami_context *ctx, const pami_send_t *p);
/* One immediate message past the queue; -EAGAIN: the FIFO is full. */
int pami_send_try(struct pami_context *ctx, const pami_send_immediate_t *s);
/* Answer a token, DONE with result and, for rmw, a payload: 0, -ENOMEM ... */
int pami_send_answer(struct pami_context *ctx, pami_endpoint_t dest, uint32_t token, int result, const void *payload,
                     uint32_t bytes);
/* The same; without memory by a later progress call, which dispatches nothing until it could. */
void pami_send_done(struct pami_context *ctx, pami_endpoint_t dest, uint32_t token, int result,
                    const void *payload, uint32_t bytes);
/* Those, and pami_inbound_answer(). 0: all are sent; -EAGAIN. */
int pami_send_answers(struct pami_context *ctx);
/* Why a send on this id may not go ahead: sets *result. */
int pami_send_refused(struct pami_context *ctx, size_t dispatch, pami_endpoint_t dest,
                      pami_result_t *result);

/* ---- Receiving (pami/receive.c, inbound.c) ---- */

void pami_receive(void *arg, uint32_t source, const unsigned char *soft, const unsigned char *payload,
                  uint32_t bytes, uint64_t offset);
void pami_inbound_piece(struct pami_context *ctx, uint32_t source, const struct pami_wire *wire,
                        const unsigned char *payload, uint32_t bytes, uint64_t offset);
/* Deliver one packet that is not for the fast path. */
void pami_inbound_short(struct pami_context *ctx, pami_endpoint_t origin, const struct pami_wire *wire,
                        const unsigned char *header, const unsigned char *data);
/* Deliver held messages whose id is set now. Returns how many. */
unsigned pami_inbound_release_held(struct pami_context *ctx);
/* Answer the messages that are complete and could not be answered. 0, or -ENOMEM: not all. */
int pami_inbound_answer(struct pami_context *ctx);
/* A fence of that origin is answered when nothing it sent before is held. */
void pami_inbound_fence(struct pami_context *ctx, pami_endpoint_t origin, uint32_t token);
void pami_inbound_drop(struct pami_context *ctx);
/* Count and (once) log a packet that makes no sense. */
void pami_receive_refuse(struct pami_context *ctx, uint32_t source, const char *what);
void pami_rmw_receive(struct pami_context *ctx, pami_endpoint_t origin, const struct pami_wire *wire,
                      const unsigned char *payload, uint32_t bytes);

/* ---- Tasks that are gone: torus run --on-death error (pami/gone.c) ---- */

/*
 * Called once for each time that tasks have gone, from a progress call, when all that had arrived
 * from them is dispatched: ends receives and requests that wait for them with -ESHUTDOWN, then tells
 * the collectives (pami_coll_gone). mu_op of this context have been ended by the MU.
 */
void pami_gone(void *arg);

/* ---- Progress (pami/advance.c, post.c) ---- */

/* One poll of everything. Returns how many events there were. */
int pami_advance_once(struct pami_context *ctx);
/* Call posted work. Returns how many are done. */
unsigned pami_post_run(struct pami_context *ctx);
/* Any thread: queue work (PAMI_Context_post); is there any? (mu_channel_pending()) */
void pami_post(struct pami_context *ctx, void *object, pami_work_function fn, void *cookie);
int pami_post_pending(const void *context);
/* The queue alone: put, by any thread; take everything there is, oldest first, by one. */
void pami_posted_init(struct pami_posted *q);
void pami_posted_push(struct pami_posted *q, void *object, pami_work_function fn, void *cookie);
struct pami_work *pami_posted_take(struct pami_posted *q, struct pami_work **last);

/* ---- The context's lock (pami/lock.c) ---- */

void pami_lock_wake(struct pami_context *ctx);

static inline int pami_lock_try(struct pami_context *ctx)
{
	uint32_t free = 0;

	return __atomic_compare_exchange_n(&ctx->lock, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline void pami_lock_give(struct pami_context *ctx)
{
	if (PAMI_UNLIKELY(__atomic_exchange_n(&ctx->lock, 0, __ATOMIC_RELEASE) == 2))
		pami_lock_wake(ctx);
}

/* ---- One-sided operations (pami/rma.c, rma_typed.c) ---- */

pami_result_t pami_put(struct pami_context *ctx, const pami_rma_t *rma, const void *local, uint64_t remote,
                       pami_event_function rdone_fn);
pami_result_t pami_get(struct pami_context *ctx, const pami_rma_t *rma, void *local, uint64_t remote);
void pami_rma_typed_install(struct pami_context *ctx);

/* ---- Fences (pami/fence.c) ---- */

/* An operation to `dest` starts in an open region: what it must report to, or NULL. */
struct pami_fence_group *pami_fence_note(struct pami_context *ctx, pami_endpoint_t dest);
/* The same for a message that its destination answers for in order: nothing to report. */
void pami_fence_touch(struct pami_context *ctx, pami_endpoint_t dest);
void pami_fence_group_done(struct pami_fence_group *g);
void pami_fence_drop(struct pami_context *ctx);

/* ---- Geometries, collectives ---- */

int pami_geometry_world_create(struct pami_client *client);
void pami_geometry_world_destroy(struct pami_client *client);
int pami_coll_init(struct pami_context *ctx);
void pami_coll_drop(struct pami_context *ctx);
/* PAMI_TODO_COLL: operations that look at memory, callbacks. Returns how many events. */
int pami_coll_poll(struct pami_context *ctx);
/* PAMI_TODO_SHORT: the same for the short lane. */
int pami_short_poll(struct pami_context *ctx);
void pami_coll_dispatch(pami_context_t context, void *cookie, const void *header_addr, size_t header_size,
                        const void *pipe_addr, size_t data_size, pami_endpoint_t origin,
                        pami_recv_t *recv);

/* ---- Asynchronous progress (pami/ext_async.c) ---- */

void pami_async_drop(struct pami_context *ctx);

/* ---- Results (pami/error.c) ---- */

/* Remember why for PAMI_Error_text(); returns result. text: static. */
pami_result_t pami_fail(pami_result_t result, const char *text);
/* A negative errno of the layers below, or 0. */
pami_result_t pami_result(int error);

#endif
