/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The batch of a channel: what rounds of the wires brought for it, in the order of arrival, until
 * it is dispatched. A task that holds the port of its host copies messages here while it holds the
 * queue and the frame is lent by the port, and dispatches them when it has released both. So a
 * dispatch function may poll other channels, and another thread may take over the queue, while what
 * the function was given stays where it is.
 *
 *     0          first                    end
 *     | . . . . | record | record | ... |  free        both return to 0 when the last one is done,
 *                                                      so that the same lines of a cache are used
 *
 * A run of short messages is copied as a whole. Its layout is that of the wire, and each message
 * in it begins at a multiple of 8:
 *
 *   offset 0  u16 bytes, 14 bytes of software's, payload padded to 8; the next one
 *
 * What finds no room goes to the reception FIFO, and so does everything that follows until that is
 * empty: a record of the batch is older than all in the FIFO. Engine: as all reception.
 */
#ifndef MU_ENGINE_BATCH_H
#define MU_ENGINE_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "mu/process.h"

#define MU_SHORT_HEAD 16u /* bytes of a message in a run before its payload */

/* Bytes of a message of a run, with its head. */
static inline uint32_t mu_short_bytes(uint32_t payload_bytes)
{
	return MU_SHORT_HEAD + ((payload_bytes + 7) & ~7u);
}

static inline bool mu_has_batch(const struct mu_channel *ch)
{
	return ch->rx.batch.first != ch->rx.batch.end;
}
/* Copy a message, or a piece of one at `offset`, to the batch. soft: software's 14 bytes. Returns
 * false if there is no room, or records wait in the reception FIFO. */
bool mu_batch_put(struct mu_channel *ch, uint32_t source, const void *soft, uint64_t offset,
		  const unsigned char *payload, uint32_t bytes);
/* The same for a run of short messages. */
bool mu_batch_put_shorts(struct mu_channel *ch, uint32_t source, const unsigned char *run,
			 uint32_t bytes);
/* Dispatch the batch to its end, also what is put there meanwhile. Returns how many messages; stops
 * where software wants no more. */
int mu_batch_dispatch(struct mu_channel *ch);

#endif
