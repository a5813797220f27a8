/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives. An operation is a small machine: its step function posts sends and receives, and is
 * called again, with the next phase, when all of them are complete.
 *
 *   PAMI_Collective --> arguments --> choice --> step(0) --> [messages] --> step(1) ... --> cb_done
 *
 * Messages are matched by (key of the geometry, number of the operation on it, step, sender's rank);
 * what arrives before the operation was called here waits, data of a rendezvous at its origin.
 *
 *   coll.c          starting, running, completing            coll_args.c    what the user passed
 *   coll_message.c  sending, matching, keeping what is early
 *   coll_list.c     lists of algorithms, metadata, choice    coll_table.def the choice
 *   coll_barrier.c, coll_broadcast.c ...   the algorithms    coll_shm.c     within one node
 *
 * Everything here belongs to one context and is touched by the thread that drives it.
 */
#ifndef PAMI_COLL_H
#define PAMI_COLL_H

#include <string.h>

#include "pami/geometry.h"
#include "pami/type.h"

struct pami_coll;

/* ---- Algorithms ---- */

enum {
	PAMI_COLL_WAIT = 0, /* go on with the next phase when everything posted is complete */
	PAMI_COLL_DONE = 1,
	PAMI_COLL_POLL = 2, /* call again, same phase, at the next progress call */
};

struct pami_algorithm_info {
	const char *name; /* "<list>:<algorithm>:<within a node>:<between nodes>" */
	/* One phase: PAMI_COLL_ above, or negative errno. NULL: the choice of coll_table.def. */
	int (*step)(struct pami_coll *c);
	/* Get buffers, or take another algorithm (c->info) where this one does not apply. NULL: nothing. */
	int (*begin)(struct pami_coll *c);
	/* May this geometry use it? The same answer on all members. NULL: any. */
	int (*usable)(const struct pami_geometry *g);
	uint32_t param;     /* the algorithm's own: radix, segment bytes */
	uint8_t query;      /* in the list of those whose metadata must be consulted */
	uint8_t hw;         /* metadata: hw_accel */
	uint8_t keeps;      /* goes on with the buffers of the one it stands in for: coll_shm.h */
	uint8_t team;       /* on the memory of a team: few bytes may take the short lane (coll_short.c) */
	size_t bytes_max;   /* 0: any */
};

/* The list of one transfer type: [0] chooses. */
struct pami_algorithm_list {
	const struct pami_algorithm_info *info;
	uint32_t count;
};
extern const struct pami_algorithm_list pami_algorithms[PAMI_XFER_COUNT];

/* The algorithm coll_table.def names for an operation of this many bytes. */
const struct pami_algorithm_info *pami_coll_choose(const struct pami_geometry *g, unsigned type, size_t bytes);
/* The same among those that need no class route. */
const struct pami_algorithm_info *pami_coll_choose_soft(const struct pami_geometry *g, unsigned type, size_t bytes);
/* By name, of the operation's type; never fails for names in the lists. */
const struct pami_algorithm_info *pami_coll_named(pami_xfer_type_t type, const char *name);

/* ---- Buffers of one side ---- */

/* The user's buffer as parts, one a rank, or as one part. */
struct pami_coll_vector {
	char *base;
	struct pami_type *type;
	const void *counts, *displs; /* by rank; NULL: `count` each, one behind the other */
	size_t count;
	uint8_t wide;                /* the arrays hold size_t, else int */
	unsigned char *packed;       /* contiguous copy of a layout that is not; or NULL */
	size_t *offset;              /* of its parts; NULL: all parts have one length */
};

static inline size_t pami_vector_count(const struct pami_coll_vector *v, uint32_t i)
{
	return !v->counts ? v->count :
	       v->wide ? ((const size_t *)v->counts)[i] : (size_t)((const int *)v->counts)[i];
}

static inline size_t pami_vector_bytes(const struct pami_coll_vector *v, uint32_t i)
{
	return pami_vector_count(v, i) * v->type->data_size;
}

/* Where part i lies, contiguous. */
unsigned char *pami_vector_at(const struct pami_coll_vector *v, uint32_t i);

/* ---- Operations ---- */

#define PAMI_COLL_INLINE 64

struct pami_coll {
	struct pami_coll *next; /* hash chain, free list */
	struct pami_coll *next_poll;
	struct pami_context *context;
	struct pami_geometry *geometry;
	const struct pami_topology *topology; /* what ranks mean */
	struct pami_geometry_member *member;
	const struct pami_algorithm_info *info;
	const struct pami_algorithm_info *then[4]; /* what follows when this is done: the last one first */
	struct pami_coll_recv *posted;
	uint64_t key;
	uint32_t kind, sequence; /* of messages: with key, what they are matched by */
	uint32_t rank, size, root;
	uint32_t whole_root; /* while `root` is one of a stage: coll_node.c */
	uint32_t phase;
	uint32_t outstanding; /* sends and receives of this phase */
	uint8_t type;         /* pami_xfer_type_t */
	uint8_t running, polled, starting, linked;
	uint8_t commutative;
	uint8_t deliver_recv; /* unpack recv at the end */
	uint8_t thens;        /* entries of `then` */
	uint8_t stage;        /* PAMI_STAGE_: coll_shm.h */
	uint8_t far;          /* turns to go: coll_far.c */
	int result;

	size_t bytes; /* broadcast, reductions: of the data; else of all parts where all members know */
	struct pami_coll_vector send, recv;
	unsigned char *data;   /* broadcast: the data; reductions: own contribution, not to be changed */
	unsigned char *target; /* reductions: where the result goes, contiguous; or NULL: not wanted here */
	pami_data_function op;
	void *op_cookie;
	unsigned element;
	size_t element_bytes;
	/* Algorithms' own; own and other are freed at the end. */
	unsigned char *own, *other;
	unsigned char *partial; /* a team's result on the way; freed at the end */
	size_t at, length;
	uint32_t peer;
	uint64_t number;
	uint64_t turn, turns; /* coll_shm.h: the first, and how many */
	uint64_t there[2];    /* where its memory is, from who made it */
	struct mu_op get;
	pami_event_function cb_done;
	void *cookie;
	void (*done)(struct pami_coll *c); /* the library's own operations; or NULL */
	void *user;
	/* From here on not cleared for a new operation. */
	uint8_t fits[PAMI_COLL_INLINE] __attribute__((aligned(64)));

	pami_xfer_t xfer;
};

/* kind: what a message belongs to. */
enum { PAMI_COLL_USER, PAMI_COLL_GEOMETRY, PAMI_COLL_AM, PAMI_COLL_AM_REPLY, PAMI_COLL_SETUP, PAMI_COLL_HW,
       PAMI_COLL_UP, PAMI_COLL_ACROSS, PAMI_COLL_DOWN }; /* the last three: stages of coll_node.c */

/* Send to, receive from, a member in this phase; the buffer stays until the next phase. */
int pami_coll_send(struct pami_coll *c, uint32_t rank, uint32_t step, const void *data, size_t bytes);
int pami_coll_recv(struct pami_coll *c, uint32_t rank, uint32_t step, void *data, size_t bytes);
/* RDMA read from, write to, a member of the same host: one of them in a phase. */
int pami_coll_get(struct pami_coll *c, uint32_t rank, void *to, uint64_t from, size_t bytes);
int pami_coll_put(struct pami_coll *c, uint32_t rank, const void *from, uint64_t to, size_t bytes);

/* When this is done, go on with that; what was put last goes first. */
static inline void pami_coll_then(struct pami_coll *c, const struct pami_algorithm_info *info)
{
	c->then[c->thens++] = info;
}

/* A buffer for own or other; NULL: out of memory. And both back, for the next stage. */
void *pami_coll_buffer(struct pami_coll *c, size_t bytes);
void pami_coll_buffers_free(struct pami_coll *c);

/* An operation of the library's own on some context: fill in, then run. NULL: out of memory. */
struct pami_coll *pami_coll_new(struct pami_context *ctx);
void pami_coll_start(struct pami_coll *c);
void pami_coll_free(struct pami_coll *c); /* one that was not started */
/* Something it waits for was posted by hand and is complete. */
void pami_coll_less(struct pami_coll *c, int result);

/* coll_args.c: read c->xfer. 0, -EINVAL, -ENOMEM. */
int pami_coll_arguments(struct pami_coll *c);
/* Results out of packed copies. */
void pami_coll_deliver(struct pami_coll *c);
void pami_coll_arguments_free(struct pami_coll *c);

/* c->target = result = a op b, in rank order: a's ranks below b's. In place in either. */
static inline void pami_coll_apply(struct pami_coll *c, void *target, const void *source, size_t bytes)
{
	if (bytes)
		pami_data_apply(c->op, c->element, target, source, bytes, c->op_cookie);
}

/* A barrier whose steps mix with no other's: it may go before any algorithm. */
int pami_barrier_step(struct pami_coll *c);

/* Active-message collectives. */
struct pami_am_held;
int pami_am_start(struct pami_context *ctx, struct pami_geometry *g, struct pami_geometry_member *m,
                  pami_xfer_type_t type, uint32_t index, const pami_xfer_t *xfer);
void pami_am_receive(struct pami_context *ctx, const void *header, size_t header_bytes,
                     const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv);
void pami_am_free(struct pami_geometry_member *m);
/* A look at the messages held for a geometry or dispatch that is not there. */
int pami_am_poll(struct pami_context *ctx);
void pami_am_drop(struct pami_am_held *held);
void pami_am_forget(struct pami_context *ctx, uint64_t key); /* of a geometry that is no more */

/* Members may have died: what cannot come to its end any more ends with -ESHUTDOWN. From progress. */
void pami_coll_gone(struct pami_context *ctx);

/* Drop early messages of a geometry that is no more. */
void pami_coll_forget(struct pami_context *ctx, uint64_t key);

#endif
