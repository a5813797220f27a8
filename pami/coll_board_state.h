/* SPDX-License-Identifier: BSD-3-Clause */
/* What coll_board.c and coll_board_long.c lend each other. */
#ifndef PAMI_COLL_BOARD_STATE_H
#define PAMI_COLL_BOARD_STATE_H

#include "pami/coll_board.h"

static inline struct pami_board *pami_board_of(const struct pami_coll *c)
{
	return mu_board(pami_hw_of(c)->id);
}

int pami_board_free(struct pami_coll *c);
int pami_board_finish(struct pami_coll *c);
int pami_board_is(struct pami_coll *c, const struct pami_word *w, uint64_t value);
void pami_board_up(struct pami_coll *c);
int pami_board_heard(struct pami_coll *c);
/* The root's place among the members here; hw->locals: it is elsewhere. */
uint32_t pami_board_root_place(const struct pami_coll *c);
int pami_board_long(struct pami_coll *c, uint32_t root);

#endif
