/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EXT_quintorus_address: messages to the address of a block, which the network leads to wherever
 * the block is. For libraries that move blocks (agas/). Tables in messaging units and routers know
 * the way; the library writes them. torus run --hw agas=hw-torus (or hw-home, hw-central). In real
 * time each host has one pair of tables, which its tasks read when they send.
 *
 * A message is one packet whose PAMI header begins with a struct pami_quintorus_address. The
 * receiver's dispatch function gets that header, with `flags` and `version` as the network left
 * them.
 */
#ifndef PAMI_EXT_ADDRESS_H
#define PAMI_EXT_ADDRESS_H

#include <stdint.h>

#include "pami.h"

#define PAMI_EXT_QUINTORUS_ADDRESS "EXT_quintorus_address"

enum pami_quintorus_address_mode {
	PAMI_QUINTORUS_ADDRESS_MODE_NONE, /* there are no tables; "send" must not be called */
	PAMI_QUINTORUS_ADDRESS_MODE_CENTRAL,
	PAMI_QUINTORUS_ADDRESS_MODE_HOME,
	PAMI_QUINTORUS_ADDRESS_MODE_TORUS
};

enum pami_quintorus_address_kind {
	/* To the block `key`; dest: its home, which gets it if no table knows better. */
	PAMI_QUINTORUS_ADDRESS_MESSAGE = 1,
	/* To dest, from the owner: routers on the way learn where `key` is. */
	PAMI_QUINTORUS_ADDRESS_ANSWER,
	/* To dest, from the owner: routers on the way replace an older entry of `key`. */
	PAMI_QUINTORUS_ADDRESS_UPDATE,
	/* dest: the caller. Its messaging unit takes it: `key` is, was or will be here. */
	PAMI_QUINTORUS_ADDRESS_BIND,
	/* dest: the caller, the home of `key`. Its router takes it: the owner is task `at`. */
	PAMI_QUINTORUS_ADDRESS_HOME
};

enum pami_quintorus_address_state {
	PAMI_QUINTORUS_ADDRESS_FORGET,
	PAMI_QUINTORUS_ADDRESS_GONE, /* to task `to` */
	PAMI_QUINTORUS_ADDRESS_HOLD, /* it will be here: give me its messages */
	PAMI_QUINTORUS_ADDRESS_OWNED
};

/* In ANSWER: the flags of the message that it answers. */
#define PAMI_QUINTORUS_ADDRESS_MISLED 16u

struct pami_quintorus_address {
	uint64_t key;
	uint32_t at;      /* HOME: the owner, UINT32_MAX: the block is gone; else the network's */
	uint16_t version; /* later ones of a key replace earlier ones, modulo 2^16 */
	uint16_t channel; /* the network's */
	uint8_t kind, flags, budget, state;
	uint32_t to;
};

/* "mode": of this job. */
typedef enum pami_quintorus_address_mode (*pami_quintorus_address_mode_fn)(void);
/*
 * "send": as PAMI_Send_immediate(), for a header that begins with a struct pami_quintorus_address.
 * PAMI_EAGAIN: there is no room now. The messages of a context to one address may overtake each
 * other.
 */
typedef pami_result_t (*pami_quintorus_address_send_fn)(pami_context_t context,
							const pami_send_immediate_t *message);
/*
 * "arrived": the dispatch function got this ANSWER or UPDATE from `origin`. In real time the tables
 * of the receiver's host learn from it; in virtual time routers did.
 */
typedef void (*pami_quintorus_address_arrived_fn)(pami_context_t context,
						  const struct pami_quintorus_address *a,
						  pami_endpoint_t origin);
/* "delay": nanoseconds until an update of HOME has taken effect, in mode CENTRAL; else 0. */
typedef uint64_t (*pami_quintorus_address_delay_fn)(void);
/* "counter": name, value and meaning of counter i of the whole job; NULL past the end. */
typedef const char *(*pami_quintorus_address_counter_fn)(unsigned i, uint64_t *value,
							 const char **meaning);

#endif
