/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Active messages: requests to context SERVE of another process, and its answers.
 *
 * Both processes belong to one job and run the same build, so the structures below travel as they
 * are in memory.
 */
#ifndef ARMCI_AM_H
#define ARMCI_AM_H

#include <stdint.h>

#include "armci/transfer/acc.h"
#include "armci/transfer/op.h"
#include "armci/transfer/shape.h"

enum armci_request_kind {
	ARMCI_REQUEST_PUT, /* layout, then the packed data; answered with ACK */
	ARMCI_REQUEST_ACC, /* as PUT; op and scale say what to add */
	ARMCI_REQUEST_GET, /* layout; answered with DATA */
	ARMCI_REQUEST_RMW, /* op on addr with value; answered with VALUE */
	ARMCI_REQUEST_CAS, /* as RMW; value is stored if count is there */
	/* Lock mutex number addr of set count; answered with VALUE when the sender holds it. */
	ARMCI_REQUEST_LOCK,
	/* As LOCK, answered at once; value 0: the sender holds it. */
	ARMCI_REQUEST_TRYLOCK,
	ARMCI_REQUEST_UNLOCK, /* answered with ACK */
	/* The memory region at addr; answered with DATA, a struct armci_region_answer. */
	ARMCI_REQUEST_REGION,
	ARMCI_REQUEST_NOTIFY, /* process addr has notified value times; no answer */
	/* Process addr is in ARMCI_Finalize, where a barrier failed; no answer. */
	ARMCI_REQUEST_ENDING,
	/*
	 * Copy `bytes` at addr to the origin's address count, if the word at offer[0] still is
	 * offer[1]; answered with COPIED.
	 */
	ARMCI_REQUEST_COPY,
};

enum armci_reply_kind {
	ARMCI_REPLY_ACK,
	ARMCI_REPLY_VALUE,
	ARMCI_REPLY_DATA,
	ARMCI_REPLY_TAKEN,
	ARMCI_REPLY_COPIED
};

#define ARMCI_LIST 0xffffu /* in levels: a list of addresses, not a strided patch */

/*
 * Header of a request. The payload begins with the layout: for a patch, levels strides (int64) and
 * then levels repetition counts (uint64); for a list, count addresses (uint64).
 */
struct armci_request {
	uint16_t kind;
	uint16_t levels;
	int32_t op;
	uint64_t token; /* the origin's; the answer carries it back */
	uint64_t addr;  /* at the owner; or the number of a mutex */
	uint64_t bytes; /* of one contiguous piece */
	uint64_t count; /* entries of a list */
	union {
		unsigned char scale[16];
		uint64_t value;
		uint64_t offer[2];
	};
};

struct armci_reply {
	uint32_t kind;
	int32_t failed;
	uint64_t token;
	uint64_t value;
};

struct armci_region_answer;

/* Move a patch, or a list, by active messages. 0 or FAIL6. */
int armci_am_shape(enum armci_kind kind, const struct armci_acc *acc, const struct armci_shape *s,
		   struct armci_seg *seg, int proc, struct armci_req *req);
/* lo, hi: offsets in seg that the list spans. */
int armci_am_list(enum armci_kind kind, const struct armci_acc *acc, const struct armci_list *list,
		  struct armci_seg *seg, size_t lo, size_t hi, int proc, struct armci_req *req);
/* Send a request without payload; the answered value goes to value_to unless NULL. 0 or FAIL6. */
int armci_am_request_value(const struct armci_request *r, int proc, void *value_to,
			   size_t value_bytes, struct armci_req *req);
/* Ask proc for the region of its memory at va, and wait for the answer. 0 or FAIL6. */
int armci_am_request_region(uint64_t va, int proc, struct armci_region_answer *answer);
/* Send a request without payload that proc acknowledges; fences wait for that. 0 or FAIL6. */
int armci_am_send_acked(const struct armci_request *r, int proc);
/*
 * The owner's MU sets its word from `held` to 0. If the word is another, proc gets the request,
 * with `held` in its value. Fences wait for both. 0 or FAIL6.
 */
int armci_am_release_word(const struct armci_request *r, int proc, uint64_t word, uint64_t held);
/* Send a request without payload or answer. It arrives after all puts by RDMA. 0 or FAIL6. */
int armci_am_send(const struct armci_request *r, int proc);
/* On ORIGIN: PAMI's handler of answers. */
void armci_am_reply(pami_context_t context, void *cookie, const void *header, size_t header_bytes,
		    const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv);

#endif
