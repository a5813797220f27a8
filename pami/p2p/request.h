/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A request: an operation in flight whose completion a caller waits for. It has a local half (the
 * buffer may be used again) and perhaps a remote half (the target has the data). The user's local
 * function is always called before the remote function.
 */
#ifndef PAMI_P2P_REQUEST_H
#define PAMI_P2P_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "mu/mu.h"
#include "pami/pami.h"

struct pami_context;
struct pami_fence_group;
struct pami_request;

/* Runs a deferred request. result: 0 or a negative errno. */
typedef void (*pami_request_fn)(struct pami_request *r, int result);

/* Bits of awaited. */
enum {
	PAMI_REQUEST_LOCAL = 1,  /* the local half is not complete */
	PAMI_REQUEST_REMOTE = 2, /* the remote half is not complete, or EARLY */
	PAMI_REQUEST_EARLY = 4,  /* the remote half completed first; it waits for the local one */
	PAMI_REQUEST_LIVE = 8,   /* the request is in use */
};

struct pami_request {
	struct mu_op op;     /* local half */
	struct mu_op remote; /* remote half of a put */
	struct pami_context *context;
	struct pami_request *next; /* free list, deferred list */
	uint32_t token;            /* the request's number, from 1; it never changes */
	/* pami_request_new() zeroes everything from here on. */
	pami_request_fn run; /* called from the deferred list */
	/* Called when a DONE message with this request's token arrives from `task`. */
	void (*answer)(struct pami_request *r, int result, const void *payload, uint32_t bytes);
	pami_event_function local_fn;
	pami_event_function remote_fn;
	void *cookie;
	void *buffer;    /* heap, freed with the request; or NULL */
	void *user;      /* for the protocol */
	uint64_t *count; /* of an atomic that completes without a function; or NULL */
	struct pami_fence_group *fence;
	uint32_t awaited; /* PAMI_REQUEST_ bits */
	int result;       /* of a remote half that is EARLY */
	int deferred_result;
	uint32_t bytes; /* for the protocol */
	uint32_t task;  /* which task's answers count */
};

/* A request with only context and token set. NULL: out of memory. */
struct pami_request *pami_request_new(struct pami_context *ctx);
void pami_request_free(struct pami_request *r);
/* Return the live request with this token, which came from another task, or NULL if there is
 * none. */
struct pami_request *pami_request_find(struct pami_context *ctx, uint32_t token);
/* A request whose message has not been received yet: at which task. Returns false if there is none.
 */
bool pami_request_find_waits(const struct pami_context *ctx, uint32_t *task);
/* Call run(r, result) in the next progress call. */
void pami_request_defer(struct pami_request *r, pami_request_fn run, int result);

/* One half (PAMI_REQUEST_LOCAL or _REMOTE) is complete: call the user's function, the local one
 * first. Frees the request if no other half is awaited. */
void pami_request_complete_half(struct pami_request *r, unsigned half, int result);
/* The same for the local half, and for both halves; these may be deferred. */
void pami_request_complete_local(struct pami_request *r, int result);
void pami_request_complete_both(struct pami_request *r, int result);
/* For op.done and remote.done: the MU has completed that half. */
void pami_request_on_local_done(struct mu_op *op, int result);
void pami_request_on_remote_done(struct mu_op *op, int result);
/* For answer: the target has received the message, so the remote half is complete. */
void pami_request_on_answer(struct pami_request *r, int result, const void *payload,
			    uint32_t bytes);

/* Call event functions with `result` in the next progress call, for a call that starts nothing:
 * zero bytes, or an error. Each function may be NULL. */
pami_result_t pami_event_defer(struct pami_context *ctx, pami_event_function local,
			       pami_event_function remote, void *cookie, int result);

#endif
