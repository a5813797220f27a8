/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives on the collective network of the torus (mu/channel/class_route.h).
 *
 * A geometry with a class route has a struct pami_hw. On each node the member of lowest rank, the
 * leader, uses the class route. The other members give it their parts and take the result from it.
 *
 *   members --> leader --(class route: up, combine, down)--> leader --> members
 *
 * Members of a node exchange data through the memory of the node: coll/hw/board.h.
 *
 * Operations take turns on the class route, in the order of their calls, which all members share.
 */
#ifndef PAMI_COLL_HW_H
#define PAMI_COLL_HW_H

#include "emu/class.h"
#include "mu/channel/class_route.h"
#include "pami/coll/coll.h"

#define PAMI_HW_SHORT 512 /* up to so many bytes go as one packet, through the board */

struct pami_hw_op {
	uint8_t op, word, logical;
};
extern const struct pami_hw_op pami_hw_or; /* what broadcasts use */

/* Counts over all operations. Between operations all members of a node have the same. */
struct pami_hw_count {
	uint64_t turn;    /* operations that are over */
	uint64_t up[4];   /* operations in which members gave a part, by ticket % 4 */
	uint64_t slices;  /* slices of long data */
	uint64_t taken;   /* times that a member copied a long result */
	uint64_t arrived; /* bytes of long results */
	uint8_t state;    /* of the barrier: 4, 2, 1; 0: before the first */
};

enum { PAMI_LINES_UNKNOWN, PAMI_LINES_NO, PAMI_LINES_YES };

struct pami_hw {
	uint8_t id; /* class route */
	bool gi;    /* it has the global interrupt of that number */
	bool boxed; /* its nodes are those of box */
	/* LINES_: may this geometry use the node's lines? Found out when first asked. */
	uint8_t lines;
	bool claimed;    /* this task owns the class route at its node */
	uint32_t locals; /* members on this node */
	uint32_t *local; /* [locals] their ranks, ascending: the first is the leader */
	uint32_t *task;  /* [locals] */
	uint32_t me;     /* this member's index in local */
	uint32_t nodes;
	struct emu_box box;
	uint64_t tickets; /* operations started; count.turn of them are over */
	/* coll/hw/board_read.c: the number of this member's pending request, and what it is for. */
	uint64_t request; /* 0: none */
	const uint64_t *request_for;
	uint64_t *served;  /* [locals] the last request of each member that this one has served */
	uint64_t all_done; /* operations that all members whose buffers this one writes have
			      finished, as last seen */
	struct pami_hw_count count;
};

/* The private state of every operation on a class route. */
struct pami_hw_state {
	uint64_t ticket;             /* its place in the order of operations: pami_hw.tickets */
	uint64_t sequence;           /* of its last descriptor: mu_coll_done(); 0: none yet */
	struct board_slices *slices; /* coll/hw/board_long.c */
	struct rectangle *rectangle; /* coll/hw/rectangle.c */
	unsigned char *result;       /* of a reduce, on its way to a root on this node */
	uint64_t fetched;            /* coll/hw/board_read.c: bytes of the root's data */
};

static inline struct pami_hw_state *pami_hw_state_of(const struct pami_coll *c)
{
	return PAMI_COLL_STATE(c, struct pami_hw_state);
}

static inline struct pami_hw *pami_hw_of(const struct pami_coll *c)
{
	return c->geometry->hw;
}

/* Return the world's class route, which spans the job, or NULL if there is none or no memory. */
struct pami_hw *pami_hw_world(struct pami_geometry *g);
/*
 * Get a class route for the geometry, or (on false) give it back. All members call it, each on the
 * context that is a member. A geometry that gets none works without it; that is no error. Calls fn
 * (or NULL) from progress. Returns 0 or -ENOMEM.
 */
int pami_hw_update(struct pami_geometry *g, struct pami_context *ctx, bool on,
		   pami_event_function fn, void *cookie);
/*
 * All members have left the geometry: give the class route back. ctx: the context whose thread
 * calls; NULL: the client ends.
 */
void pami_hw_free(struct pami_geometry *g, struct pami_context *ctx);

/* A member died while an operation was under way: give its class route up. */
void pami_hw_abandon(struct pami_geometry *g, struct pami_context *ctx);

/*
 * Wait for the operation's turn: returns 0 when it has come, PAMI_COLL_POLL or an error.
 * hw->count.turn++ ends a turn.
 */
int pami_hw_turn(const struct pami_coll *c);
/* A barrier of the leaders: enter it, then ask until all have. */
void pami_hw_gi_enter(struct pami_coll *c);
bool pami_hw_gi_is_over(struct pami_coll *c);

/*
 * Find the class route's operation for op and element. Returns false if it has none. Logical
 * operations are bit operations on 0 and 1, to which pami_hw_logical() brings data.
 */
bool pami_hw_find_op(pami_data_function op, unsigned element, struct pami_hw_op *h);
void pami_hw_logical(unsigned char *data, size_t bytes, unsigned element);
/*
 * Post data into the class route. Returns 0, PAMI_COLL_POLL if there is no room, or an error. When
 * mu_coll_done() reaches the state's sequence, the MU has read the data.
 */
int pami_hw_post(struct pami_coll *c, const struct pami_hw_op *h, unsigned type,
		 const void *payload, size_t bytes, uint64_t offset);

bool pami_hw_usable(const struct pami_geometry *g);
bool pami_hw_usable_gi(const struct pami_geometry *g);

#endif
