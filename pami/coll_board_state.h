/* SPDX-License-Identifier: BSD-3-Clause */
/* What coll_board.c, coll_board_long.c and coll_board_read.c lend each other. */
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

/* Memory of member i of this node, whose operation is this one, too: whether it is all here; else ask again, with the
 * same. *got: what is here, 0 at first and at the end. */
int pami_board_read(struct pami_coll *c, uint32_t i, void *to, uint64_t va, uint64_t bytes, uint64_t *got);
/* What others may not read of ours: they asked. While there is anything that they may want. */
void pami_board_serve(struct pami_coll *c);

#endif
