/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective operations: the operation object, and the interface that algorithms use.
 *
 * pami/coll/README.md has the picture. In short: an algorithm is a step function. It posts sends
 * and receives, and the engine calls it again, with the next phase, when all of them are complete.
 *
 *   PAMI_Collective --> arguments --> choice --> begin --> step(0) --> [messages] --> step(1) ...
 *
 * A message is matched by the key of the geometry, the number of the operation on that geometry,
 * kind, step and the sender's rank. A message that arrives before its receive is posted is kept;
 * the data of a rendezvous stays at the sender.
 *
 * Every object here belongs to one context. Only the thread that drives that context touches it.
 */
#ifndef PAMI_COLL_H
#define PAMI_COLL_H

#include <stdbool.h>
#include <string.h>

#include "pami/geometry/geometry.h"
#include "pami/type/type.h"

struct pami_coll;

/* ---- Algorithms ---- */

enum {
	PAMI_COLL_WAIT = 0, /* go on with the next phase when everything posted is complete */
	PAMI_COLL_DONE = 1,
	PAMI_COLL_POLL = 2, /* call again, same phase, at the next progress call */
};

struct pami_algorithm_info {
	const char *name; /* "<list>:<algorithm>:<within a node>:<between nodes>" */
	/* One phase. Returns PAMI_COLL_ above, or a negative errno. NULL: use coll/table.def. */
	int (*step)(struct pami_coll *c);
	/*
	 * Sets up the private state and gets the buffers. Where the algorithm does not apply, begin
	 * sets c->info to another algorithm. All members decide alike. NULL: the algorithm has no
	 * state.
	 */
	int (*begin)(struct pami_coll *c);
	/*
	 * True if this geometry may use the algorithm. All members get the same answer. NULL: every
	 * geometry may.
	 */
	bool (*usable)(const struct pami_geometry *g);
	uint32_t param;      /* the algorithm's own: radix, segment bytes */
	bool consult;        /* listed among those whose metadata programs must consult */
	bool hw;             /* metadata: hw_accel */
	bool in_team_memory; /* short operations may take coll/shm/short.c */
};

/* The list of one transfer type: [0] chooses. */
struct pami_algorithm_list {
	const struct pami_algorithm_info *info;
	uint32_t count;
};
extern const struct pami_algorithm_list pami_algorithms[PAMI_XFER_COUNT];

/* The algorithm that coll/table.def names for an operation of this many bytes. */
const struct pami_algorithm_info *pami_coll_choose(const struct pami_geometry *g, unsigned type,
						   size_t bytes);
/* The same, among the algorithms that need no class route. */
const struct pami_algorithm_info *pami_coll_choose_soft(const struct pami_geometry *g,
							unsigned type, size_t bytes);
/* The algorithm of a type with this name; the first of the list if there is none. */
const struct pami_algorithm_info *pami_coll_named(pami_xfer_type_t type, const char *name);

/* ---- Buffers of one side ---- */

/* The user's buffer: one part for each rank, or one part in all. */
struct pami_coll_vector {
	char *base;
	struct pami_type *type;
	const void *counts, *displs; /* by rank; NULL: `count` each, one behind the other */
	size_t count;
	bool wide;             /* the arrays hold size_t, else int */
	unsigned char *packed; /* contiguous copy of a layout that is not; or NULL */
	size_t *offset;        /* of the parts in the copy; NULL: all parts have one length */
};

static inline size_t pami_vector_count(const struct pami_coll_vector *v, uint32_t i)
{
	return !v->counts ? v->count
	       : v->wide  ? ((const size_t *)v->counts)[i]
			  : (size_t)((const int *)v->counts)[i];
}

static inline size_t pami_vector_bytes(const struct pami_coll_vector *v, uint32_t i)
{
	return pami_vector_count(v, i) * v->type->data_size;
}

/* The address of part i, which is contiguous. */
unsigned char *pami_vector_at(const struct pami_coll_vector *v, uint32_t i);

/* ---- Operations ---- */

#define PAMI_COLL_INLINE      64u /* bytes of buffers inside the operation */
#define PAMI_COLL_STATE_BYTES 64u
#define PAMI_COLL_BUFFERS     4u

/* Consecutive turns on a team's memory that an operation holds (coll/shm/shm.h). */
struct pami_coll_turns {
	uint64_t first, count; /* count 0: none */
	uint64_t area[2]; /* addresses of the memory and the slice buffers, while it is set up */
	uint8_t slices;   /* PAMI_SLICES_: coll/shm/shm.h */
};

struct pami_coll {
	/* coll/engine.c and coll/message.c only. */
	struct {
		struct pami_coll *next; /* hash chain, or free list */
		struct pami_coll *next_poll;
		struct pami_coll_recv *posted;
		/* The stages to come; the last one is next. */
		const struct pami_algorithm_info *then[4];
		void *buffer[PAMI_COLL_BUFFERS];
		uint32_t outstanding; /* sends, receives and RDMA of this phase */
		uint8_t thens, buffers, inline_used, buffers_kept, inline_kept;
		bool running, polled, starting, linked, counted;
	} engine;

	/* The operation: its object, and the algorithm that runs. */
	struct pami_context *context;
	struct pami_geometry *geometry;
	struct pami_geometry_member *member;
	const struct pami_algorithm_info *info;
	uint32_t phase;
	int result;   /* 0, or the negative errno that ends the operation */
	uint8_t type; /* pami_xfer_type_t */

	/* The members that take part in this stage, and what their messages are matched by. */
	bool commutative;
	uint32_t awaited; /* 1 + the task whose word in a team's memory a step looked at in vain */
	const struct pami_topology *topology; /* what ranks mean */
	uint32_t rank, size, root;
	uint32_t kind, sequence; /* kind: PAMI_COLL_ below */
	uint64_t key;

	/* The arguments, as coll/args.c reads them. */
	size_t bytes; /* broadcast, reductions: of the data; else of all parts, 0 if not all know */
	struct pami_coll_vector send, recv;
	unsigned char *data;   /* broadcast: the data; reductions: own contribution, read only */
	unsigned char *target; /* where the result goes, contiguous; NULL: not wanted here */
	pami_data_function op;
	void *op_cookie;
	size_t element_bytes;
	unsigned element;
	bool deliver_recv; /* unpack `recv` at the end */

	/* Fields that stay while the stages of one operation follow each other (coll/hier). */
	uint32_t whole_root; /* the root among all members */
	struct pami_coll_turns turns;
	struct mu_op rdma; /* of pami_coll_get() */
	/* Gives the turns back when the operation ends with an error; NULL: it holds none. */
	void (*on_error)(struct pami_coll *c);

	/* The end: `done` belongs to the library and may still set cb_done and cookie. */
	void (*done)(struct pami_coll *c);
	void *user; /* of `done` */
	pami_event_function cb_done;
	void *cookie;

	/* The fields from here on are not cleared for a new operation. */
	unsigned char fits[PAMI_COLL_INLINE] __attribute__((aligned(64)));
	unsigned char state[PAMI_COLL_STATE_BYTES]; /* PAMI_COLL_STATE() */
	pami_xfer_t xfer;
};

/*
 * The private state of the algorithm that runs. Each family declares its own struct beside its
 * algorithms. `begin` sets it up; the next stage of the operation overwrites it.
 */
#define PAMI_COLL_STATE(c, type)                                                                   \
	((type *)(uintptr_t)(c)->state +                                                           \
	 0 * sizeof(struct {                                                                       \
		 _Static_assert(sizeof(type) <= PAMI_COLL_STATE_BYTES, "fits the operation");      \
		 int unused;                                                                       \
	 }))

/* kind: what a message belongs to. */
enum {
	PAMI_COLL_USER,
	PAMI_COLL_GEOMETRY,
	PAMI_COLL_AM,
	PAMI_COLL_AM_REPLY,
	PAMI_COLL_HW,
	PAMI_COLL_UP, /* the stages of coll/hier */
	PAMI_COLL_ACROSS,
	PAMI_COLL_DOWN
};

/* ---- What algorithms call ---- */

/* Send to, receive from, a member in this phase. The buffer stays until the next phase. */
int pami_coll_send(struct pami_coll *c, uint32_t rank, uint32_t step, const void *data,
		   size_t bytes);
int pami_coll_recv(struct pami_coll *c, uint32_t rank, uint32_t step, void *data, size_t bytes);
/* Read memory of a member of the same host. At most one read in a phase. */
int pami_coll_get(struct pami_coll *c, uint32_t rank, void *to, uint64_t from, size_t bytes);

/* True if something that was posted is not complete. The step function then returns 0. */
static inline bool pami_coll_is_waiting(const struct pami_coll *c)
{
	return c->engine.outstanding != 0;
}

/* True while the operation runs inside the call that starts it. No callback may run there. */
static inline bool pami_coll_is_starting(const struct pami_coll *c)
{
	return c->engine.starting;
}

/* Run that stage when this one is done. Of several, the stage that was pushed last runs first. */
static inline void pami_coll_push_stage(struct pami_coll *c, const struct pami_algorithm_info *info)
{
	c->engine.then[c->engine.thens++] = info;
}

/*
 * Push the stage `info` and run its begin. Returns what a step function returns next:
 * PAMI_COLL_DONE or an error.
 */
int pami_coll_begin_stage(struct pami_coll *c, const struct pami_algorithm_info *info);
/* In a begin function: another algorithm runs in place of this one. */
int pami_coll_replace(struct pami_coll *c, const struct pami_algorithm_info *info);

/*
 * A buffer that belongs to the operation; aligned to 16 bytes; NULL: out of memory. It is freed at
 * the end of the operation, or by pami_coll_buffers_free(), which an operation calls between its
 * stages. pami_coll_buffers_keep() makes those it has so far stay to the end.
 */
void *pami_coll_buffer(struct pami_coll *c, size_t bytes);
void pami_coll_buffers_free(struct pami_coll *c);
void pami_coll_buffers_keep(struct pami_coll *c);

/* target = target op source; the caller sees to rank order: lower ranks on the left. */
static inline void pami_coll_apply(struct pami_coll *c, void *target, const void *source,
				   size_t bytes)
{
	if (bytes)
		pami_data_apply(c->op, c->element, target, source, bytes, c->op_cookie);
}

/* A barrier whose steps mix with no other's, so it may go before any algorithm. */
int pami_barrier_step(struct pami_coll *c);

/* ---- Operations of the library's own ---- */

/* A new operation; fill it in, then start it. NULL: out of memory. */
struct pami_coll *pami_coll_new(struct pami_context *ctx);
void pami_coll_start(struct pami_coll *c);
void pami_coll_free(struct pami_coll *c); /* one that was not started */
/* Something that this phase waits for is complete. */
void pami_coll_complete_one(struct pami_coll *c, int result);
/* local_fn of a send whose cookie is the operation. */
void pami_coll_sent(pami_context_t context, void *cookie, pami_result_t result);

/* coll/args.c: read c->xfer. Returns 0, -EINVAL or -ENOMEM. */
int pami_coll_arguments(struct pami_coll *c);
/* Unpack results from contiguous copies. */
void pami_coll_deliver(struct pami_coll *c);
void pami_coll_arguments_free(struct pami_coll *c);

/* ---- Active-message collectives (coll/am.c) ---- */

struct pami_am_held;
int pami_am_start(struct pami_context *ctx, struct pami_geometry *g, struct pami_geometry_member *m,
		  pami_xfer_type_t type, uint32_t index, const pami_xfer_t *xfer);
void pami_am_receive(struct pami_context *ctx, const void *header, size_t header_bytes,
		     const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv);
void pami_am_free(struct pami_geometry_member *m);
/* Deliver the messages whose geometry and dispatch have appeared. Returns how many. */
int pami_am_poll(struct pami_context *ctx);
void pami_am_drop(struct pami_am_held *held);
/* Drop the messages of a geometry that has ended. */
void pami_am_forget(struct pami_context *ctx, uint64_t key);

/* ---- Members that die, geometries that end ---- */

/* End, with -ESHUTDOWN, the operations that a dead member leaves without end. From progress. */
void pami_coll_apply_deaths(struct pami_context *ctx);
/* Drop the early messages of a geometry that has ended. */
void pami_coll_forget(struct pami_context *ctx, uint64_t key);
/* Receive the data of a message that no operation will use, so that its sender completes. */
extern const pami_recv_t pami_recv_into_nothing;

#endif
