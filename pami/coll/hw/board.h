/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several members of a geometry on one node: its class route (coll/hw/hw.h) has a board
 * (mu/segment/board.h), memory of the node where members give their parts and take the result.
 *
 *   few bytes   member: part into its slot  --up-->  leader: combines, class route, result into out
 *               leader  --down-->  members
 *   long data   members: each combines its share of a slice, read from the memory of all, into the
 *               ring  --summed-->  leader: the slice into the class route; when the MU has read it
 *               --freed-->  members. What has come into the leader's memory  --arrived-->  members:
 *               copy it from there. All this for several slices at once.
 *
 * Members read long data in place. Where the kernel refuses that (ptrace protection, filters of
 * containers, unusual memory), the reader asks the owner for it, a page at a time
 * (coll/hw/board_read.c). So reading cannot fail.
 *
 * Operations follow each other at each member, in the order of their calls (pami_hw_turn()). A
 * member that has nothing to wait for may be PAMI_BOARD_TURNS operations ahead of the others.
 * Counts only grow.
 */
#ifndef PAMI_COLL_BOARD_H
#define PAMI_COLL_BOARD_H

#include "drivers/base/atomic.h"
#include "mu/segment/board.h"
#include "pami/coll/hw/hw.h"

#define PAMI_BOARD_TURNS 4u
#define PAMI_BOARD_RING  4u /* slices under way */
#define PAMI_SLICE_MAX   65536u

struct pami_word {
	_Alignas(64) atomic_u64 v;
};

struct pami_board {
	/* By ticket % TURNS: how many members have given their part, over all operations. */
	struct pami_word up[PAMI_BOARD_TURNS];
	/* By slice % RING: how many members have combined their share, over all slices. */
	struct pami_word summed[PAMI_BOARD_RING];
	struct pami_word freed;   /* slices that the MU has read, over all operations */
	struct pami_word arrived; /* bytes of long results, over all operations */
	struct pami_word taken;   /* copies that members have made of long results */
	struct pami_word go;      /* ticket + 1: long data may begin, and `from` is valid */
	struct pami_word down;    /* ticket + 1: the result is in out, or the barrier is over */
	struct pami_word stalled; /* a member waits for `done` of another */
	uint64_t from;            /* where long results arrive, in the leader's memory */
	_Alignas(64) unsigned char in[PAMI_HW_SHORT], out[PAMI_BOARD_TURNS][PAMI_HW_SHORT];
};

struct pami_board_member {
	struct pami_word done;     /* operations that it has finished */
	struct pami_hw_count kept; /* its counts, when its geometry has ended */
	/* coll/hw/board_read.c: number << 8 | index of the owner, and the memory it asks for. */
	struct pami_word request;
	uint64_t address, bytes;
	/* Number of the request whose data is in the window, the next page. */
	struct pami_word served;
	struct {
		struct pami_word said; /* ticket + 1: the root's data or address is here */
		uint64_t address;      /* long data */
		_Alignas(64) unsigned char data[PAMI_HW_SHORT];
	} slot[PAMI_BOARD_TURNS];
};

_Static_assert(sizeof(struct pami_board) <= 4096 && sizeof(struct pami_board_member) <= 4096,
	       "fits a board");
/* NOLINTNEXTLINE(misc-redundant-expression): today both sides are the same product. */
_Static_assert(MU_BOARD_SLICES >= PAMI_BOARD_RING * PAMI_SLICE_MAX, "the ring fits a board");

static inline struct pami_board_member *pami_board_member(struct pami_board *b, uint32_t i)
{
	return (struct pami_board_member *)((char *)b + 4096 * (1 + 2 * i));
}

/* Clear all but the windows and the ring. */
static inline void pami_board_clear(struct pami_board *b, unsigned t)
{
	memset(b, 0, sizeof *b);
	for (unsigned i = 0; i < t; i++)
		memset(pami_board_member(b, i), 0, sizeof(struct pami_board_member));
}

/* Get buffers for long data, before the operation has its turn. Returns 0 or -ENOMEM. */
int pami_board_begin(struct pami_coll *c);
/* The step of a barrier, allreduce, reduce or broadcast at a node with several members. */
int pami_board_step(struct pami_coll *c);
/*
 * For a broadcast that uses other hardware between the leaders (coll/hw/rectangle.c).
 * fetch: the leader copies the data of a root on this node into c->data; 0 or PAMI_COLL_POLL.
 * show: the leader tells the others that c->data is complete. shown, in a phase of its own: ends
 * the operation when all have copied it. follow: the step of all other members.
 */
int pami_board_fetch(struct pami_coll *c);
void pami_board_show(struct pami_coll *c);
int pami_board_shown(struct pami_coll *c);
int pami_board_follow(struct pami_coll *c);

#endif
