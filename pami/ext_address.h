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
 *
 * In virtual time the messaging unit of the owner carries out puts, gets and atomic operations by
 * itself (struct pami_quintorus_access), if the lease of the block says that it may be accessed.
 * Where it cannot, and in real time, the dispatch function of the receiver gets them as any
 * message. In real time the caller's messaging unit carries out accesses of blocks that tasks of
 * its host own ("near").
 */
#ifndef PAMI_EXT_ADDRESS_H
#define PAMI_EXT_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "pami.h"

#define PAMI_EXT_QUINTORUS_ADDRESS "EXT_quintorus_address"

enum pami_quintorus_address_mode {
	/* Nothing leads messages. "send" takes BIND only, and only if "has_near" says so. */
	PAMI_QUINTORUS_ADDRESS_MODE_NONE,
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
	/* It is here. After a HOLD that has named the lease nothing needs to say so. */
	PAMI_QUINTORUS_ADDRESS_OWNED
};

/* `state` of a MESSAGE. All but NONE: its header is a struct pami_quintorus_access. */
enum pami_quintorus_address_access {
	PAMI_QUINTORUS_ADDRESS_ACCESS_NONE,
	PAMI_QUINTORUS_ADDRESS_PUT, /* the data of the message are the payload */
	PAMI_QUINTORUS_ADDRESS_GET,
	/* Atomic operations on 8 bytes at a multiple of 8. The data of the message are a struct
	 * pami_quintorus_operands, those of the answer the value before. */
	PAMI_QUINTORUS_ADDRESS_XOR,
	PAMI_QUINTORUS_ADDRESS_ADD,
	PAMI_QUINTORUS_ADDRESS_SWAP,
	PAMI_QUINTORUS_ADDRESS_CAS,
	/* A put of any length: the unit of the owner pins the block and fetches the payload from
	 * `operand`, an address of the sender, in the struct pami_quintorus_operands. */
	PAMI_QUINTORUS_ADDRESS_LONG_PUT,
	/* Only received. A unit has ended a LONG_PUT of the origin to a block that is to leave or
	 * to be freed. One pin of its lease is now the receiver's, which also answers the
	 * origin. */
	PAMI_QUINTORUS_ADDRESS_END,
	PAMI_QUINTORUS_ADDRESS_END_FAILED, /* The payload could not be read. */
	/* From the caller of "near" to the owner, by any message: see there. */
	PAMI_QUINTORUS_ADDRESS_END_NEAR
};

/* In ANSWER: the flags of the message that it answers. */
#define PAMI_QUINTORUS_ADDRESS_MISLED 16u
/* In ANSWER: a messaging unit sent it. Its header is that of the put or get, its origin the owner;
 * its data are what was read. */
#define PAMI_QUINTORUS_ADDRESS_BY_UNIT 32u

struct pami_quintorus_address {
	uint64_t key;
	/* HOME: the owner, UINT32_MAX: the block is gone. "near": the task that must be the owner,
	 * UINT32_MAX: any. Else the network's. */
	uint32_t at;
	uint16_t version; /* later ones of a key replace earlier ones, modulo 2^16 */
	uint16_t channel; /* the network's */
	uint8_t kind, flags, budget, state;
	uint32_t to; /* BIND, GONE: see above; of an access: the offset in the block */
};

/* Header of a put, a get or an atomic operation. */
struct pami_quintorus_access {
	struct pami_quintorus_address a;
	uint64_t id; /* the caller's; the answer has it */
	uint32_t bytes;
	uint16_t back; /* the network's */
	uint16_t hop;  /* the caller's */
};

struct pami_quintorus_operands {
	uint64_t operand, expected; /* expected: CAS */
};

/* Header of a BIND whose state is HOLD or OWNED. */
struct pami_quintorus_bind {
	struct pami_quintorus_address a;
	uint64_t lease; /* HOLD, OWNED: address of a struct pami_quintorus_lease; 0: none */
};

/*
 * A messaging unit reads the lease and accesses the block in one step. It may do so as long as the
 * task is in the job, also when the memory is the lease of another block by then: so leases must
 * not be freed. Any thread of the task may change `word` with atomic operations; while the lower
 * half is not 0, the task accesses the block itself, or the unit carries out LONG_PUTs. For the
 * time of each the unit adds 1. It subtracts it again while the block is OWNED, else it sends END.
 */
struct pami_quintorus_lease {
	uint64_t key;
	/* Upper half: PAMI_QUINTORUS_ADDRESS_OWNED if the block may be accessed. HOLD or GONE: in
	 * virtual time the unit lets accesses wait, up to some 10 us, until that or the table
	 * changes. */
	uint64_t word;
	uint64_t memory, bytes;
	/* The unit's: accesses, and a majority vote of the tasks that made them. */
	uint32_t uses, voter, votes;
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
/*
 * "lead": in real time, the task to which the tables lead a MESSAGE for `key` with this home. For
 * messages that do not fit "send". In virtual time packets only are led: the home.
 */
typedef pami_task_t (*pami_quintorus_address_lead_fn)(uint64_t key, pami_task_t home);
/* "delay": nanoseconds until an update of HOME has taken effect, in mode CENTRAL; else 0. */
typedef uint64_t (*pami_quintorus_address_delay_fn)(void);
/* "unit": the most bytes of a put or get that messaging units carry out; 0: they carry out none. */
typedef size_t (*pami_quintorus_address_unit_fn)(void);
/* "has_near": does "near" carry out accesses in this job? In real time, unless --hw agas_unit=0. In
 * all modes: where nothing leads messages, the caller's own directory names the owner. */
typedef bool (*pami_quintorus_address_has_near_fn)(void);
/*
 * "near": carry out an access (PUT to CAS, of any length within the block) of a block that another
 * task of this host owns, if its lease and its memory come from "alloc" of EXT_quintorus_memory.
 * data: what is put; where the data of a get goes; or operands, whose first word becomes the value
 * before. Returns false if nothing was done. In both cases, if end->task is not UINT32_MAX, that
 * task has one pin of its lease for end->slot; the caller must tell it so, and it calls "unpin".
 * Any thread.
 */
struct pami_quintorus_near_end {
	uint32_t task, slot;
	uint64_t key; /* of the lease, which may be another block's than the access names */
};
typedef bool (*pami_quintorus_address_near_fn)(const struct pami_quintorus_access *access,
					       void *data, struct pami_quintorus_near_end *end);
/*
 * For the owner of a lease. "claim": `word` has changed and is not OWNED any more; returns the
 * number of near accesses under way, each of which is now a pin that the owner has to count.
 * "unpin": a task has told that its access in a slot is over; returns true if the owner has a pin
 * to release for it. "death": a task has died; calls release() for each lease of which the owner
 * has a pin to release for it.
 */
typedef uint32_t (*pami_quintorus_address_claim_fn)(const struct pami_quintorus_lease *lease);
typedef bool (*pami_quintorus_address_unpin_fn)(const struct pami_quintorus_lease *lease,
						pami_task_t task, uint32_t slot);
typedef void (*pami_quintorus_address_death_fn)(pami_task_t task, void (*release)(void *lease));
/* "counter": name, value and meaning of counter i of the whole job; NULL past the end. */
typedef const char *(*pami_quintorus_address_counter_fn)(unsigned i, uint64_t *value,
							 const char **meaning);

#endif
