/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The records that a rank keeps of one block: the residency record, and at the block's home also
 * the home record. They are two records because during a move away from the home the directory
 * already names the target while the block is still draining here.
 *
 * The word of a residency record holds state and pin count, so that a thread pins with one
 * compare-and-swap and no lock. All other fields belong to the holder of the library's lock.
 * Records are recycled and not given back before agas_fini(), so a thread that found one in the
 * table, and a unit that was told of one, may look at its word; it checks the key again after it
 * has pinned.
 */
#ifndef AGAS_MOVE_BLOCK_H
#define AGAS_MOVE_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "drivers/base/atomic.h"

/* REMOTE -> INCOMING -> OWNED -> MOVING_OUT -> REMOTE; any state of the owner -> DROPPING -> NONE.
 */
enum agas_state {
	AGAS_NONE,       /* the record is free, or nothing is known */
	AGAS_REMOTE,     /* `owner` is a forward */
	AGAS_INCOMING,   /* home names this rank; the data is not here */
	AGAS_OWNED,      /* the memory is here and may be pinned */
	AGAS_MOVING_OUT, /* no new pins; the data leaves when the last pin goes */
	AGAS_DROPPING,   /* no new pins; the memory is released when the last pin goes */
	AGAS_STATES
};

/* A rank that waits for a move to this rank. */
struct agas_waiter {
	uint32_t rank, token;
};

struct agas_waiters {
	struct agas_waiter *at;
	uint32_t count, room;
};

/* State of this rank's attempt to fetch the block. */
enum agas_pull { AGAS_PULL_NONE, AGAS_PULL_ASKED, AGAS_PULL_BOUND };

struct agas_parked;
struct agas_freeing;

struct agas_block {
	/* The lease of the block, which a messaging unit reads (struct pami_quintorus_lease). */
	atomic_u64 key;
	atomic_u64 word; /* state << 32 | pins */
	void *memory;    /* OWNED, MOVING_OUT, DROPPING */
	uint64_t bytes;  /* of the memory */
	/* Since the last rebalancing: accesses, and a majority vote of the ranks that used it. */
	uint32_t accesses, voter, votes;
	/* What the unit does not read. */
	uint32_t owner; /* REMOTE, MOVING_OUT: where it went */
	uint16_t version;
	uint8_t pull;                /* enum agas_pull */
	uint32_t old;                /* BOUND: the rank that has the data */
	struct agas_waiters waiters; /* of the pull */
	void *landing;               /* reserved for a pull */
	struct agas_parked *parked_first, *parked_last;
	uint32_t parked;
	uint32_t attributes;
	atomic_u32 local_uses; /* by this rank without the lock */
	struct agas_block *next_free;
};

/* At the home only. */
struct agas_home {
	uint32_t owner;
	uint32_t from; /* moving: the rank that has the data */
	uint16_t version;
	bool moving;
	bool revoking; /* The target died, and `from` was asked whether it still has the data. */
	bool lost;     /* The data died with a rank. */
	bool freeing;
	struct agas_waiters queue; /* targets that wait for the move under way; token unused */
	/* The library's, not the protocol's. */
	struct agas_freeing *note; /* the note that counts this block when it is freed */
	uint64_t blocks;           /* of the allocation, at its first block; else 0 */
	uint32_t user_bytes;
};

#define AGAS_PINS 0xffffffffu

static inline enum agas_state agas_word_state(uint64_t word)
{
	return (enum agas_state)(word >> 32);
}

static inline enum agas_state agas_block_state(const struct agas_block *b)
{
	return agas_word_state(atomic_load_acquire(&b->word));
}

static inline uint32_t agas_block_pins(const struct agas_block *b)
{
	return (uint32_t)(atomic_load_acquire(&b->word) & AGAS_PINS);
}

/*
 * Change the state and keep the pins. Returns the pins at that instant. Under the library's lock.
 * Sequentially consistent: the owner closes a block and then claims what near accesses have
 * entered, while a source enters and then reads the state (emu/near_access.h). One of them must see
 * the other.
 */
static inline uint32_t agas_block_set_state(struct agas_block *b, enum agas_state to)
{
	uint64_t old = atomic_load_relaxed(&b->word);

	while (!atomic_cas_seq_cst(&b->word, &old, (uint64_t)to << 32 | (old & AGAS_PINS)))
		;
	return (uint32_t)(old & AGAS_PINS);
}

/* Take a pin if the block is here. Any thread. */
static inline bool agas_block_pin(struct agas_block *b)
{
	uint64_t old = atomic_load_relaxed(&b->word);

	do {
		if (agas_word_state(old) != AGAS_OWNED)
			return false;
	} while (!atomic_cas_acq_rel(&b->word, &old, old + 1));
	return true;
}

/* Add pins, in any state. The holder of the library's lock. */
static inline void agas_block_add_pins(struct agas_block *b, uint32_t pins)
{
	atomic_fetch_add_acq_rel(&b->word, pins);
}

/*
 * Release a pin. Returns true if it was the last pin of a block that leaves; then the caller must
 * call agas_move_drained() under the library's lock. Any thread that holds a pin.
 */
static inline bool agas_block_unpin(struct agas_block *b)
{
	uint64_t now = atomic_sub_fetch_acq_rel(&b->word, 1);

	return !(now & AGAS_PINS) && agas_word_state(now) != AGAS_OWNED;
}

#endif
