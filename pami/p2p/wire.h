/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datasheet of PAMI's packets and messages on the network.
 *
 * Every packet of a memory-FIFO message carries these 14 software bytes (packet bytes 18 .. 31):
 *
 *   0  kind      u8   enum pami_wire_kind
 *   1  origin    u8   context offset of the sender, 0 .. 63; its client is the receiver's own. Bit
 *                     7: PAMI_WIRE_ADDRESSED
 *   2  dispatch  u16  dispatch id; above 1023: the library's own; DONE: a pami_result_t
 *   4  header    u16  SHORT: header bytes; RMW: enum pami_wire_rmw and the operation
 *   6  data      u32  SHORT: data bytes; PAMI_WIRE_REST: all that the packet has
 *  10  token     u32  the sender's request; the answer repeats it; 0: no answer wanted
 *
 * Payloads, by kind:
 *
 *   SHORT        header, data at the next multiple of 8. One packet.
 *   SHORT_PACKED header, data right behind it: used if the gap would not fit into the packet
 *   EAGER        struct pami_wire_envelope, header, data; any number of packets
 *   EAGER_HEAD   the same without the data, which follows as one EAGER_DATA message
 *   EAGER_DATA   data
 *   RTS          struct pami_wire_rts, header. The receiver fetches the data, then sends DONE.
 *   DONE         no payload, or the answer; the request of the token is complete
 *   RMW          struct pami_wire_rmw_request
 *   FENCE        no payload; answered with DONE after all earlier messages of the origin
 *
 * Multi-byte fields are in host order, as all of a job's hosts have the same (drivers/wire.h).
 */
#ifndef PAMI_WIRE_H
#define PAMI_WIRE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "mu/mu.h"

enum pami_wire_kind {
	PAMI_WIRE_NONE, /* never sent */
	PAMI_WIRE_SHORT,
	PAMI_WIRE_SHORT_PACKED,
	PAMI_WIRE_EAGER,
	PAMI_WIRE_EAGER_HEAD,
	PAMI_WIRE_EAGER_DATA,
	PAMI_WIRE_RTS,
	PAMI_WIRE_DONE,
	PAMI_WIRE_RMW,
	PAMI_WIRE_FENCE,
	PAMI_WIRE_KINDS
};

/* In `origin`: the message is for an address (ext/address.c), so traces do not count it. */
#define PAMI_WIRE_ADDRESSED 0x80

/* In `data` of a put or get to an address: a messaging unit that makes the packet its answer cannot
 * write these bytes. */
#define PAMI_WIRE_REST UINT32_MAX

struct pami_wire {
	uint8_t kind;
	uint8_t origin;
	uint16_t dispatch;
	uint16_t header;
	uint32_t data;
	uint32_t token;
} __attribute__((packed, aligned(2)));

_Static_assert(offsetof(struct pami_wire, header) == 4 && offsetof(struct pami_wire, data) == 6 &&
		   offsetof(struct pami_wire, token) == 10,
	       "kind to dispatch, header, and data and token are three words");
/*
 * The software bytes of a SHORT message, stored as words of 4, 2 and 8 bytes, which mu_send_short()
 * loads right after that.
 */
static inline void pami_wire_set_short(struct pami_wire *w, uint8_t origin, uint32_t dispatch,
				       uint32_t header, uint32_t data)
{
	uint32_t kind_to_dispatch = PAMI_WIRE_SHORT | (uint32_t)origin << 8 | dispatch << 16;
	uint64_t data_and_token = data;

	memcpy(w, &kind_to_dispatch, 4);
	w->header = (uint16_t)header;
	memcpy((char *)w + 6, &data_and_token, 8);
}

/* First bytes of an EAGER or EAGER_HEAD message. */
struct pami_wire_envelope {
	uint64_t header_bytes;
	uint64_t data_bytes;
};

struct pami_wire_rts {
	struct pami_wire_envelope envelope;
	uint64_t address; /* of the data, in the origin's memory */
	uint64_t reserved;
};

struct pami_wire_rmw_request {
	uint64_t address;
	uint64_t value;
	uint64_t test;
	uint8_t bytes;     /* 4 or 8 */
	uint8_t operation; /* pami_atomic_t */
	uint8_t reserved[6];
};

/* The answer to a fetching RMW: the old value, in the low bytes. */
struct pami_wire_rmw_answer {
	uint64_t old;
};

static_assert(sizeof(struct pami_wire) == MU_SOFT_BYTES, "PAMI's software bytes fill a packet's");
static_assert(sizeof(struct pami_wire_envelope) == 16, "keeps the header 8-byte aligned");
static_assert(sizeof(struct pami_wire_rts) == 32, "keeps the header 8-byte aligned");
static_assert(sizeof(struct pami_wire_rmw_request) == 32, "one packet");

#endif
