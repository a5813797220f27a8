/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EXT_quintorus_place: assemble a short message where it leaves from.
 *
 * PAMI_Send_immediate() copies header and data into the packet. With this extension the caller gets
 * the packet's own memory, writes header and data there, and then sends it, so nothing is copied
 * and little is checked. A task has such memory for tasks that it reaches through shared memory.
 * Longer messages, and those to other tasks, save a copy by "framed".
 *
 *     pami_quintorus_place_t p = {
 *         .dest = there, .dispatch = 5, .header_bytes = 8, .data_bytes = 64};
 *
 *     if (reserve(context, &p) == PAMI_SUCCESS) {
 *             memcpy(p.header, &number, 8);
 *             fill(p.data);
 *             commit(context, &p, 64);
 *     } else {
 *             PAMI_Send_immediate(context, ...);
 *     }
 */
#ifndef PAMI_EXT_PLACE_H
#define PAMI_EXT_PLACE_H

#include <stddef.h>
#include <stdint.h>

#include "pami.h"

#define PAMI_EXT_QUINTORUS_PLACE "EXT_quintorus_place"

typedef struct {
	/* The caller says: the target, a dispatch id that is set, and how many bytes. The data
	 * starts at the next multiple of 8 behind the header. */
	pami_endpoint_t dest;
	size_t dispatch;
	size_t header_bytes, data_bytes;
	/* "reserve" answers: memory for the header, aligned to 8 bytes, and for the data. */
	void *header, *data;
	uint64_t reserved[4]; /* the library's */
} pami_quintorus_place_t;

/*
 * "reserve": PAMI_SUCCESS: there is memory, and "commit" must follow, with any number of calls on
 * the context between, also of other threads and for other places. Messages to the same endpoint
 * that are sent between may arrive before or after this one, and wait for it. PAMI_EAGAIN: there is
 * no such memory for this target or now, and nothing has happened: send as usual, which also tells
 * of bad parameters. The context's lock is held, as for a send.
 */
typedef pami_result_t (*pami_quintorus_reserve_fn)(pami_context_t context,
						   pami_quintorus_place_t *place);
/* "commit": send the message with data_bytes of data, at most what was reserved. It cannot fail. */
typedef void (*pami_quintorus_commit_fn)(pami_context_t context, pami_quintorus_place_t *place,
					 size_t data_bytes);

/*
 * "words": a whole message at once, where "reserve" has memory: a header of 8 bytes and `count`
 * words of data (at most 62). Results as of "reserve"; PAMI_SUCCESS: it is sent.
 */
typedef pami_result_t (*pami_quintorus_words_fn)(pami_context_t context, pami_endpoint_t dest,
						 size_t dispatch, uint64_t header,
						 const uint64_t *data, size_t count);
/*
 * "padded": a whole message at once, where "reserve" has memory: a header of `count` words (1 or
 * more) and data_bytes of data, which together fit one packet. The data starts at a multiple of 8,
 * and the memory behind it may be read up to the next one. Results as of "words".
 */
typedef pami_result_t (*pami_quintorus_padded_fn)(pami_context_t context, pami_endpoint_t dest,
						  size_t dispatch, const uint64_t *header,
						  size_t count, const void *data,
						  size_t data_bytes);

/*
 * "framed": PAMI_Send() of a message that lies in one piece: the data begins where the header ends,
 * and in front of the header is room, PAMI_QUINTORUS_FRAME bytes or more, which the library may
 * write. All of it, the room, too, stays the library's until local_fn is called. So nothing has to
 * be copied to memory of the library's own. Any target and length, and results as of PAMI_Send();
 * PAMI_INVAL also: the data does not begin where the header ends. The context's lock is held.
 */
#define PAMI_QUINTORUS_FRAME 16
typedef pami_result_t (*pami_quintorus_framed_fn)(pami_context_t context, pami_send_t *send);

#endif
