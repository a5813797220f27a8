/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of this process between agas_init() and agas_fini(), and the library's lock.
 *
 * One PAMI context carries everything. Its lock is the library's: a thread that runs a handler
 * holds it, be it a thread of the program in a call or a thread of asynchronous progress. Without
 * it a thread may search the table of blocks, pin, unpin, and touch memory that it has pinned.
 */
#ifndef AGAS_CORE_WORLD_H
#define AGAS_CORE_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agas/address/address.h"
#include "agas/core/api.h"
#include "agas/memory/range.h"
#include "agas/move/protocol.h"
#include "agas/table/cache.h"
#include "agas/table/table.h"
#include "drivers/base/atomic.h"
#include "pami/pami.h"

enum {
	AGAS_DISPATCH_REQUEST = 1, /* access/serve.c */
	AGAS_DISPATCH_REPLY = 2,   /* access/op.c */
	AGAS_DISPATCH_MOVE = 3,    /* move/move.c */
	AGAS_DISPATCH_CONTROL = 4, /* memory/control.c */
	AGAS_DISPATCH_NETWORK = 5, /* access/network.c */
	AGAS_DISPATCH_MEET = 6,    /* core/coll.c */
};

enum agas_miss { AGAS_MISS_CARRY, AGAS_MISS_QUERY };

struct agas_block;
struct agas_op;

struct agas_world {
	/* Constant after agas_init(). */
	bool open;
	pami_client_t client;
	pami_context_t context;
	uint32_t me;
	struct agas_space space;
	size_t immediate_max; /* header and data of an immediate message */
	pami_endpoint_t *endpoint;
	enum agas_miss miss;
	bool is_virtual;
	bool goes_out;     /* accesses do not look first whether their block is here */
	size_t parked_max; /* requests of one block that wait */

	/* Any thread searches; changed under the lock. */
	struct agas_table *blocks; /* key -> struct agas_block * */

	/* Under the lock. */
	struct agas_table *homes; /* key -> struct agas_home * */
	struct agas_cache *cache;
	struct agas_table *seen; /* keys that were in the cache once: compulsory misses */
	bool *dead;
	unsigned deaths;
	uint64_t highest[3]; /* key that had its home here: linear, local, cyclic */
	int fence_error;
	struct agas_ranges heap;        /* this rank's local segment */
	struct agas_ranges pages, rows; /* rank 0: linear pages; bytes of the cyclic segments */
};

extern struct agas_world agas_world;

/* ---- the lock ---- */

void agas_lock(void);
void agas_unlock(const bool *locked);
/* This thread runs a handler, and so holds the lock, until agas_handler_leave(). */
void agas_handler_enter(void);
void agas_handler_leave(const bool *inside);
bool agas_is_in_handler(void);

/* Take the lock: the first statement of a call that touches shared state. Calls nest. */
#define AGAS_LOCK                                                                                  \
	const bool agas_locked __attribute__((cleanup(agas_unlock), unused)) = (agas_lock(), true)
/* Note that a handler begins: the first statement of every handler. */
#define AGAS_HANDLER                                                                               \
	const bool agas_inside __attribute__((cleanup(agas_handler_leave), unused)) =              \
	    (agas_handler_enter(), true)

/* Make one round of progress, in a call that waits. Not in handlers. */
void agas_poll(void);

bool agas_is_dead(uint32_t rank);

/* ---- collectives, by all ranks; the lock is held. 0 or AGAS_EDEAD ---- */

int agas_coll_barrier(void);
/*
 * The same for the ranks that live; each rank's n-th call meets those of the others. AGAS_EDEAD:
 * ranks have died since the last call that said so; the living have met.
 */
int agas_coll_meet(void);
/*
 * The last meeting, after which no rank answers any more. A rank whose barrier a death has ended
 * cannot know who has left by a complete barrier, so it waits a second at most. By then every rank
 * that lives has been here or has asked it for an answer to an earlier meeting; it tells those that
 * may still come not to wait.
 */
void agas_coll_part(void);
int agas_coll_bcast(void *buf, size_t bytes, uint32_t root);
int agas_coll_allgather(const void *own, void *all, size_t bytes);

/* ---- counters ---- */

enum agas_counter {
#define AGAS_COUNTER(name, meaning) AGAS_COUNT_##name,
#include "agas/agas_counter.def"
#undef AGAS_COUNTER
	AGAS_COUNTERS
};
extern atomic_u64 agas_counter[AGAS_COUNTERS];
#define AGAS_COUNT(name) atomic_fetch_add_relaxed(&agas_counter[AGAS_COUNT_##name], 1)

/* ---- errors ---- */

/* Return the public code of a reason. */
int agas_error_of(uint8_t why);
const char *agas_why_text(uint8_t why);
/* Print, once for each place of the program, why a call failed. Returns error. */
int agas_fail(const char *call, int error, const char *why);
/* Check an address and a length that may span linear pages. 0 or AGAS_EINVAL, AGAS_ESTATE. */
int agas_check(const char *call, uint64_t gva, size_t bytes);
int agas_check_rank(const char *call, int rank);

#endif
