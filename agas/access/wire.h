/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages that ranks send to each other. All ranks run the same build on the same kind of
 * processor.
 */
#ifndef AGAS_ACCESS_WIRE_H
#define AGAS_ACCESS_WIRE_H

#include <stdint.h>

#include "agas/move/protocol.h"

enum agas_request_kind {
	AGAS_REQUEST_PUT, /* payload */
	AGAS_REQUEST_GET,
	AGAS_REQUEST_ATOMIC,
	AGAS_REQUEST_CALL,  /* payload: the argument */
	AGAS_REQUEST_QUERY, /* home answers with the owner; value: blocks of the allocation */
	AGAS_REQUEST_PULL,  /* a put whose payload the owner fetches from `operand` at the source */
	AGAS_REQUEST_ATTRIBUTES, /* the block's attributes become `operand` */
	AGAS_REQUEST_KINDS
};

/* In the order of enum emu_access_kind (emu/directory.h). */
enum agas_atomic { AGAS_ATOMIC_XOR, AGAS_ATOMIC_ADD, AGAS_ATOMIC_SWAP, AGAS_ATOMIC_CAS };

/* A request to a block. A rank that forwards it changes hops and flags only. */
struct agas_request {
	uint8_t kind; /* enum agas_request_kind */
	uint8_t hops, flags;
	uint8_t atomic; /* enum agas_atomic */
	uint32_t source;
	uint64_t gva, id; /* id: of the source's operation */
	uint32_t bytes;   /* bytes of the block that are read or written; payload of PUT and CALL */
	uint32_t action;
	uint64_t operand, expected;
};

enum agas_reply_kind {
	AGAS_REPLY_DONE,  /* payload: the data of a get */
	AGAS_REPLY_UPDATE /* no operation: gva's owner is another */
};

struct agas_reply {
	uint8_t kind;
	uint8_t error; /* enum agas_why */
	uint16_t version;
	uint32_t owner;
	uint64_t id; /* UPDATE: the key */
	uint64_t value;
};

/* DATA: the block is the payload. */
struct agas_move_wire {
	struct agas_move_msg m;
	uint32_t attributes, accesses;
};

enum agas_control_kind {
	AGAS_CONTROL_RANGE,   /* rank 0: take a range of addresses */
	AGAS_CONTROL_GIVE,    /* give it back */
	AGAS_CONTROL_INSTALL, /* payload: owners, for AGAS_USER */
	AGAS_CONTROL_FREE,    /* homes: free your blocks of an allocation */
	AGAS_CONTROL_FORGET,  /* remove what you remember of it */
	AGAS_CONTROL_ANSWER
};

/* Blocks of an allocation: `count` of them from `base` on. */
struct agas_extent {
	uint64_t base, count;
	uint32_t user_bytes; /* structured: b; linear: the page */
	uint32_t attributes;
	uint32_t caller; /* AGAS_LOCAL: the owner */
	uint8_t dist;    /* enum agas_dist */
	uint8_t pad[3];
};

struct agas_control {
	uint8_t kind;
	uint8_t error; /* ANSWER: enum agas_why */
	uint8_t which; /* RANGE, GIVE: 0 pages, 1 rows, 2 the receiver's local segment */
	uint8_t pad;
	uint32_t source;
	uint64_t id;
	/* RANGE: count, and alignment in `base`; ANSWER: base is the result. */
	struct agas_extent e;
	uint64_t first; /* INSTALL, AGAS_USER: index of the first owner of the payload */
};

#endif
