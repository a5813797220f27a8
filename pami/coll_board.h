/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several members of a geometry on a node, beside its class route (coll_hw.h): the leader's board (mu/board.h), where
 * they give it their parts and take the result.
 *
 *   few bytes   member: part into its slot --up--> leader: sums, class route, result into `out` --down--> members
 *   long data   members: each sums its share of a slice over everybody's memory, into the ring --summed--> leader: the
 *               slice into the class route, when the MU has read it --freed--> members; what has come into the leader's
 *               memory --arrived--> members copy it from there, all this for several slices at once
 *
 * Long data is read from where it lies. Where the kernel refuses that (ptrace protection, filters of containers, odd
 * memory), who wants it asks its owner, a page at a time (coll_board_read.c); so nothing there can fail.
 *
 * Operations follow each other at each member, in the order of their calls (hw->turn). A member may be BOARD_TURNS
 * operations ahead of the others, where it has nothing to wait for. All counts only grow.
 */
#ifndef PAMI_COLL_BOARD_H
#define PAMI_COLL_BOARD_H

#include "mu/board.h"
#include "pami/coll_hw.h"

#define PAMI_BOARD_TURNS 4u
#define PAMI_BOARD_RING  4u     /* slices under way */
#define PAMI_SLICE_MAX   65536u

struct pami_word {
	_Alignas(64) uint64_t v;
};

struct pami_board {
	struct pami_word up[PAMI_BOARD_TURNS];    /* by operation % TURNS: members that gave their part, of all so far */
	struct pami_word summed[PAMI_BOARD_RING]; /* by slice % RING: the same */
	struct pami_word freed;                   /* slices of all operations that the MU has read */
	struct pami_word arrived;                 /* bytes of all long results */
	struct pami_word taken;                   /* members that have copied such a result, of all so far */
	struct pami_word go;                      /* operation + 1: long data may begin; from is right */
	struct pami_word down;                    /* operation + 1: the result is in out, or the barrier is over */
	struct pami_word stalled;                 /* somebody waits for `done` of another */
	uint64_t from;                            /* the leader's address of what arrives */
	_Alignas(64) unsigned char in[PAMI_HW_SHORT], out[PAMI_BOARD_TURNS][PAMI_HW_SHORT];
};

struct pami_board_member {
	struct pami_word done;     /* operations it has finished */
	struct pami_hw_count kept; /* its own, when its geometry has ended */
	struct pami_word ask;      /* what it wants: number << 8 | index of whom it asks; then, of its memory: */
	uint64_t address, bytes;
	struct pami_word answered; /* the number of what is in its window, in the page behind this one */
	struct {
		struct pami_word said; /* a root's: operation + 1 */
		uint64_t address;      /* of its part, long data */
		_Alignas(64) unsigned char data[PAMI_HW_SHORT];
	} slot[PAMI_BOARD_TURNS];
};

_Static_assert(sizeof(struct pami_board) <= 4096 && sizeof(struct pami_board_member) <= 4096 &&
	       PAMI_BOARD_RING * PAMI_SLICE_MAX <= MU_BOARD_SLICES, "fits a board");

static inline struct pami_board_member *pami_board_member(struct pami_board *b, uint32_t i)
{
	return (struct pami_board_member *)((char *)b + 4096 * (1 + 2 * i));
}

/* All but the windows and the ring. */
static inline void pami_board_clear(struct pami_board *b, unsigned t)
{
	memset(b, 0, sizeof *b);
	for (unsigned i = 0; i < t; i++)
		memset(pami_board_member(b, i), 0, sizeof(struct pami_board_member));
}

/* Long data: buffers, before the operation gets its turn. 0, -ENOMEM. */
int pami_board_begin(struct pami_coll *c);
/* The whole step of a barrier, allreduce, reduce or broadcast, for members of a node with several. */
int pami_board_step(struct pami_coll *c);
/*
 * For a broadcast that goes another way between the leaders. Leader: get the root's data, if that is another member
 * here, into c->data (0, PAMI_COLL_POLL); at the end show c->data to the others, and, in a phase of its own,
 * finish when all have it. The others: pami_board_follow() is the whole step.
 */
int pami_board_fetch(struct pami_coll *c);
void pami_board_show(struct pami_coll *c);
int pami_board_shown(struct pami_coll *c);
int pami_board_follow(struct pami_coll *c);

#endif
