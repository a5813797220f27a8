/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives on the torus's own collective network (mu/coll.h).
 *
 * A geometry that has a class route holds a struct pami_hw. On each node the member of lowest rank, the leader,
 * uses the class route; the others give their part to it and take the result from it.
 *
 *   members --> leader --(class route: up, combine, down)--> leader --> members
 *
 * through memory of the node: coll_board.h.
 *
 * Operations take turns on the class route, in the order of their calls, the same on all nodes.
 */
#ifndef PAMI_COLL_HW_H
#define PAMI_COLL_HW_H

#include "emu/class.h"
#include "mu/coll.h"
#include "pami/coll.h"

#define PAMI_HW_SHORT 512 /* bytes that go through one packet and buffers of ours */

struct pami_hw_op {
	uint8_t op, word, logical;
};
extern const struct pami_hw_op pami_hw_or; /* of broadcasts */

/* How often things have happened; the same at all members of a node between operations. */
struct pami_hw_count {
	uint64_t turn;   /* operations done */
	uint64_t up[4];  /* coll_board.h: operations in which members gave a part, by place */
	uint64_t slices, taken, arrived;
	uint8_t state;   /* of the barrier: 4, 2, 1; 0: before the first */
};

enum { PAMI_LINES_UNKNOWN, PAMI_LINES_NO, PAMI_LINES_YES };

struct pami_hw {
	uint8_t id;      /* class route */
	uint8_t gi;      /* the global interrupt of that number is there */
	uint8_t whole;   /* spans all nodes of a torus without edges */
	uint8_t boxed;   /* its nodes are those of box */
	uint8_t lines;   /* LINES_: may this geometry use the node's lines? Found out when first asked */
	uint8_t claimed; /* this task owns the class route at its node */
	uint32_t locals; /* members on this node */
	uint32_t *local; /* their ranks, ascending: the first leads */
	uint32_t *task;  /* [locals] */
	uint32_t me;     /* index in local */
	uint32_t nodes;
	struct emu_box box;
	uint64_t tickets; /* operations called; of those, done: count.turn */
	uint64_t asked;    /* coll_board_read.c: the number of this member's question; 0: none */
	const uint64_t *asked_for;
	uint64_t *served;  /* [locals] the last question of each that this member answered */
	uint64_t all_done; /* operations that all members whose buffers this one writes have finished, as last seen */
	struct pami_hw_count count;
};

static inline struct pami_hw *pami_hw_of(const struct pami_coll *c)
{
	return c->geometry->hw;
}

/* The world's, where class route 0 spans the job. NULL: none, or no memory. */
struct pami_hw *pami_hw_world(struct pami_geometry *g);
/*
 * All members call it, on the context that is a member: get a class route (on), or give it back. Never fails:
 * where there is none to be had the geometry goes without. fn (or NULL) is called from progress.
 */
int pami_hw_update(struct pami_geometry *g, struct pami_context *ctx, int on, pami_event_function fn, void *cookie);
/* All members have left the geometry. ctx: the context whose thread calls, or NULL: the client ends. */
void pami_hw_free(struct pami_geometry *g, struct pami_context *ctx);

/* A member has died while an operation was under way: its class route is of no use any more. */
void pami_hw_abandon(struct pami_geometry *g, struct pami_context *ctx);

/* For algorithms: is it its turn? 0, PAMI_COLL_POLL, or an error. hw->count.turn++ ends it. A barrier of the leaders:
 * enter, then ask until it is left. */
int pami_hw_turn(const struct pami_coll *c);
void pami_hw_gi_enter(struct pami_coll *c);
int pami_hw_gi_left(struct pami_coll *c);

/* What the class route has for op and element: 0: nothing. Logical operations are bit operations on 0 and 1. */
int pami_hw_op(pami_data_function op, unsigned element, struct pami_hw_op *h);
void pami_hw_logical(unsigned char *data, size_t bytes, unsigned element);
/* Into the class route: 0, PAMI_COLL_POLL: no room, or an error. mu_coll_done() >= c->turn says that it was read. */
int pami_hw_post(struct pami_coll *c, const struct pami_hw_op *h, unsigned type, const void *payload, size_t bytes,
                 uint64_t offset);

int pami_hw_usable(const struct pami_geometry *g);
int pami_hw_usable_gi(const struct pami_geometry *g);

#endif
