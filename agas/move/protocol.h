/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The protocol by which a block moves, as functions of one rank's two records of that block: no
 * messages are sent here and no memory is touched, so the model checker (tests/model/agas_move.c)
 * runs these very functions in every order of events.
 *
 *	mover  ---- MOVE -------> target    reserve memory
 *	target ---- REBIND -----> home      one move of a block at a time; others queue
 *	home   ---- REBOUND ----> target    home names the target from here on; target: INCOMING
 *	target ---- ACQUIRE ----> owner     MOVING_OUT; wait for the last pin
 *	owner  ---- DATA -------> target    owner: REMOTE, with a forward; target: OWNED
 *	target ---- DONE -------> home      the next queued move begins
 *	target ---- DONE_MOVER -> mover     the call returns
 *
 * If the target dies, home asks the owner to keep the block (REVOKE, answered by REVOKED). If the
 * owner dies before the data has left, the block is lost, and home says so from then on. A block is
 * freed by DROP from home to the owner, answered by DROPPED when the last pin has gone.
 *
 * Versions count the moves of a block, modulo 2^16. A rank that meets two of them believes the
 * later one (agas_version_is_newer).
 */
#ifndef AGAS_MOVE_PROTOCOL_H
#define AGAS_MOVE_PROTOCOL_H

#include "agas/move/block.h"

#define AGAS_HOPS_MAX 64u /* forwards of one request at most */

enum agas_move_kind {
	AGAS_MOVE,
	AGAS_REBIND,
	AGAS_REBOUND,
	AGAS_ACQUIRE,
	AGAS_DATA,
	AGAS_DONE_HOME,
	AGAS_DONE_MOVER,
	AGAS_REVOKE,
	AGAS_REVOKED,
	AGAS_DROP,
	AGAS_DROPPED,
	AGAS_MOVE_KINDS
};

/* Why a request or a move cannot be carried out; core/error.c has the words. */
enum agas_why {
	AGAS_WHY_NONE,
	AGAS_WHY_UNMAPPED,  /* home knows no such block: never mapped, or freed */
	AGAS_WHY_LOST,      /* the rank that had the data died */
	AGAS_WHY_HOME_DEAD, /* the home died, and no other rank knows the owner */
	AGAS_WHY_TARGET_DEAD,
	AGAS_WHY_MEMORY,  /* the target has no memory for the block */
	AGAS_WHY_LOOP,    /* more than AGAS_HOPS_MAX forwards */
	AGAS_WHY_RETRY,   /* not an error: ask home again, a little later */
	AGAS_WHY_ACTION,  /* no such action is registered */
	AGAS_WHY_PAYLOAD, /* the payload at the source cannot be read */
	/* UNMAPPED in the words of a home that knows which of the two it is (move/move.c). */
	AGAS_WHY_FREED,
	AGAS_WHY_NEVER,
	AGAS_WHYS
};

struct agas_move_msg {
	uint64_t key;
	uint32_t peer;  /* sent: to which rank; received: from which */
	uint32_t rank;  /* REBOUND: the rank that has the data */
	uint32_t token; /* MOVE, DONE_MOVER: the mover's */
	uint16_t version;
	uint8_t kind;  /* enum agas_move_kind */
	uint8_t error; /* enum agas_why */
};

/* One rank's view of one block. `block` is NULL or free where nothing is known; `home` where this
 * rank is not the block's home or the block does not exist. */
struct agas_party {
	uint64_t key;
	uint32_t me, home_rank;
	struct agas_block *block;
	struct agas_home *home;
	bool (*is_dead)(uint32_t rank);
	/* NULL, or count the accesses that other tasks of the host carry out in the block by
	 * themselves as its pins from now on (emu/near_access.h). Its state is no longer OWNED.
	 * Returns how many they are. */
	uint32_t (*claim)(struct agas_block *b);
};

enum {
	AGAS_ARRIVED = 1,  /* the block is OWNED now: run what is parked */
	AGAS_ABORTED = 2,  /* a pull ended with `error`: refuse what is parked, free `landing` */
	AGAS_RELEASED = 4, /* free the memory of the block */
	AGAS_FREED = 8,    /* home record: no rank has the block any more */
	AGAS_KEPT = 16     /* a block that was leaving stays: run what is parked */
};

/*
 * The consequences of an event: messages in order (a DATA takes the block's memory with it), and
 * effects. The caller handles messages to its own rank before any other event.
 */
struct agas_out {
	void (*send)(struct agas_out *out, const struct agas_move_msg *m);
	unsigned effects;
	uint8_t error;
};

/* True if version a is later than b; versions wrap. */
static inline bool agas_version_is_newer(uint16_t a, uint16_t b)
{
	return (int16_t)(uint16_t)(a - b) > 0;
}

/* Take one message. A MOVE and a REBIND need room in the waiters of their record. */
void agas_move_step(struct agas_party *p, const struct agas_move_msg *m, struct agas_out *out);
/* The last pin of a block that leaves was released. The call is harmless at any other time. */
void agas_move_drained(struct agas_party *p, struct agas_out *out);
/* At home: begin to free the block; AGAS_FREED follows, here or in a later step. */
void agas_move_free(struct agas_party *p, struct agas_out *out);
/* All messages of `dead` that arrive at all have been taken. is_dead(dead) is true. */
void agas_move_death(struct agas_party *p, uint32_t dead, struct agas_out *out);

/* ---- the way of a request ---- */

enum agas_route { AGAS_DELIVER, AGAS_FORWARD, AGAS_PARK, AGAS_REFUSE };
enum {
	AGAS_HOP_MISLED = 1,         /* a rank that is not the home has forwarded it before */
	AGAS_HOP_NETWORK_MISLED = 2, /* a table of the network was wrong; the answer says so */
};

struct agas_hop {
	uint32_t to; /* AGAS_FORWARD */
	uint8_t hops, flags;
	uint8_t error; /* AGAS_REFUSE: enum agas_why */
	bool stale;    /* AGAS_FORWARD: the sender's entry was wrong; tell it who follows */
};

/*
 * Decide where a request goes that has reached this rank. `hop` travels with the request. A request
 * is forwarded once by what a former owner remembers, and then by the home, so it takes at most
 * three forwards while the block does not move.
 */
enum agas_route agas_route_choose(const struct agas_party *p, struct agas_hop *hop);

#endif
