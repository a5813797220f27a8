/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations that coll/hw/board.c, coll/hw/board_long.c and coll/hw/board_read.c share. */
#ifndef PAMI_COLL_BOARD_STATE_H
#define PAMI_COLL_BOARD_STATE_H

#include "pami/coll/hw/board.h"

static inline struct pami_board *pami_board_of(const struct pami_coll *c)
{
	return mu_board(pami_hw_of(c)->id);
}

/* Words of a board (mu/segment/board.h). */
static inline uint64_t pami_word_load(const struct pami_word *w)
{
	return mu_node_load(ATOMIC_AT(&w->v));
}

static inline void pami_word_store(struct pami_coll *c, struct pami_word *w, uint64_t value,
				   uint32_t task)
{
	mu_node_store(c->context->channel, ATOMIC_AT(&w->v), value, task);
}

static inline void pami_word_add(struct pami_coll *c, struct pami_word *w, uint64_t value,
				 uint64_t wake_at, uint32_t task)
{
	mu_node_add(c->context->channel, ATOMIC_AT(&w->v), value, wake_at, task);
}

/*
 * True if this member may write the operation's place of the board: all members have finished its
 * last use.
 */
bool pami_board_await_place(struct pami_coll *c);
/* This member has finished the operation. Returns PAMI_COLL_DONE. */
int pami_board_finish(struct pami_coll *c);
/* True if the word is at least `value`. If not, the next sleep ends when the word changes. */
bool pami_board_await(struct pami_coll *c, struct pami_word *w, uint64_t value);
/* A member has given its part; and, at the leader: have all others? */
void pami_board_up(struct pami_coll *c);
bool pami_board_await_parts(struct pami_coll *c);
/* The root's index among the members here; hw->locals: it is on another node. */
uint32_t pami_board_root_index(const struct pami_coll *c);
int pami_board_long(struct pami_coll *c, uint32_t root);

/*
 * Copy memory of member i of this node, which is in the same operation. Returns true when it is all
 * here; else call again with the same arguments. *got counts the bytes; 0 at the beginning and the
 * end.
 */
bool pami_board_read(struct pami_coll *c, uint32_t i, void *to, uint64_t va, uint64_t bytes,
		     uint64_t *got);
/* Serve the requests of others, which the kernel does not let read this member's memory. */
void pami_board_serve(struct pami_coll *c);

#endif
