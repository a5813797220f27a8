/* SPDX-License-Identifier: BSD-3-Clause */
/* What active messages of ARMCI look like: between processes of one job, same build, so native layout.
 */
#ifndef ARMCI_AM_H
#define ARMCI_AM_H

#include <stdint.h>

enum armci_request_kind {
	ARMCI_REQUEST_PUT,     /* layout, then the packed data */
	ARMCI_REQUEST_ACC,     /* the same; op and scale say what to add */
	ARMCI_REQUEST_GET,     /* layout; answered with DATA */
	ARMCI_REQUEST_RMW,     /* op on addr with value; answered with VALUE */
	ARMCI_REQUEST_CAS,     /* the same; value is stored if count is there */
	ARMCI_REQUEST_LOCK,    /* mutex number addr of set count; answered with VALUE when it is the
				  sender's */
	ARMCI_REQUEST_TRYLOCK, /* the same; answered at once, value 0 if it is the sender's */
	ARMCI_REQUEST_UNLOCK,  /* answered with ACK */
	ARMCI_REQUEST_REGION,  /* the memory region at addr; answered with DATA, an armci_region_card */
	ARMCI_REQUEST_NOTIFY,  /* process addr has told value times; no answer */
	ARMCI_REQUEST_ENDING,  /* process addr is in ARMCI_Finalize, where a barrier failed; no answer */
	ARMCI_REQUEST_COPY,    /* bytes at addr to the origin's address count, if the word at offer[0] still is
				  offer[1]; answered with COPIED */
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
 * Header of a request. The payload begins with the layout: for a patch, levels strides (int64) and then
 * levels repetition counts (uint64); for a list, count addresses (uint64).
 */
struct armci_request {
	uint16_t kind;
	uint16_t levels;
	int32_t op;
	uint64_t token; /* the origin's; comes back in the answer */
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

#endif
