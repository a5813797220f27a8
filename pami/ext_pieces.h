/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EXT_quintorus_pieces: a get of several pieces of memory at once.
 *
 * A get is a packet with a descriptor that the target's messaging unit carries out. One packet
 * carries descriptors of up to PAMI_QUINTORUS_PIECES pieces, and they complete together, so
 * scattered memory is read with fewer packets and completions, without software of the target.
 */
#ifndef PAMI_EXT_PIECES_H
#define PAMI_EXT_PIECES_H

#include <stddef.h>

#include "pami.h"

#define PAMI_EXT_QUINTORUS_PIECES "EXT_quintorus_pieces"
#define PAMI_QUINTORUS_PIECES     8

typedef struct {
	void *local, *remote;
	size_t bytes; /* > 0 */
} pami_quintorus_piece_t;

/*
 * "get": rma names target, completion function and cookie, as of PAMI_Get(); its bytes are ignored.
 * The pieces are read before the call returns. PAMI_SUCCESS: done_fn follows. PAMI_EAGAIN: nothing
 * has happened; there is no room now, or other operations go first: use PAMI_Get(). Other results
 * and errors as of PAMI_Get().
 */
typedef pami_result_t (*pami_quintorus_get_pieces_fn)(pami_context_t context, const pami_rma_t *rma,
						      const pami_quintorus_piece_t *piece,
						      size_t count);

#endif
