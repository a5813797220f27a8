/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agas.h: a global address space whose blocks move while the program runs.
 *
 * Memory is mapped in blocks (pages, or blocks of the program's own size). A global address names a
 * byte for ever, wherever its block is. agas_remap() moves a block to another rank, also while
 * others put, get and call there; accesses and moves of one block take effect one after the other,
 * in an order that all ranks see alike (linearizable). agas/README.md explains how.
 *
 * Results: 0 or one of enum agas_error, negative; the first failure of a place in the program is
 * explained on stderr (QUINTORUS_ERRORS=quiet: not).
 *
 * Threads: any number of threads may call everything but agas_init() and agas_fini(). Actions run
 * in whichever thread makes progress; while one runs, no other action of the process runs.
 *
 * A thread that holds a pin must not wait for another access to the same block: if the block is
 * about to leave, that access waits at its new owner for the block, and the block for the pin.
 */
#ifndef AGAS_H
#define AGAS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t gva_t; /* a global virtual address; 0 is the null address */

enum agas_error {
	AGAS_SUCCESS = 0,
	AGAS_EINVAL = -1,    /* an argument is wrong */
	AGAS_EUNMAPPED = -2, /* no block is mapped there: never mapped, or freed */
	AGAS_EDEAD = -3,     /* a rank died that had the block, or that alone knew its owner; the
				operation may or may not have taken effect */
	AGAS_ENOMEM = -4,
	AGAS_ELOOP = -5,   /* forwarded 64 times: the block moves faster than messages travel */
	AGAS_EACTION = -6, /* agas_call: the owner has no such action */
	AGAS_ESTATE = -7   /* agas_init() was not called, or failed */
};

/* Initial owners of the blocks of an allocation. Home ranks do not depend on it. */
enum agas_dist {
	AGAS_LOCAL,   /* the caller */
	AGAS_CYCLIC,  /* one rank after the other, block by block */
	AGAS_BLOCKED, /* P runs of blocks of equal length; the last ranks may get less */
	AGAS_USER     /* as a function says */
};

/* ---- begin and end ---- */

/* Collective, once. 0, or AGAS_ESTATE with the reason on stderr. argc and argv may be NULL. */
int agas_init(int *argc, char **argv[]);
/* Collective of the ranks that live: completes all operations, then releases everything. */
void agas_fini(void);
/* This rank, and the number of ranks. Negative before agas_init(). */
int agas_pe(void);
int agas_npes(void);
/* Bytes of a page of the calls below, a power of two (QUINTORUS_AGAS_PAGE). */
size_t agas_page_size(void);

/* ---- mapping ---- */

/*
 * Map zeroed pages for `size` bytes, rounded up to whole pages; not collective. Returns the address
 * of the first byte, or 0 (no memory, no address range, size 0 or beyond 2^42). The address is
 * linear: a + i is byte i. agas_map: pages owned by the caller; agas_map_cyclic: dealt over the
 * ranks; agas_map_blocked: P equal runs. Waits for one answer of every rank.
 */
gva_t agas_map(size_t size);
gva_t agas_map_cyclic(size_t size);
gva_t agas_map_blocked(size_t size);
/* The same, with the rank of each page chosen by owner(page index, number of pages, arg). */
gva_t agas_map_user(size_t size, int (*owner)(size_t i, size_t n, void *arg), void *arg);
/*
 * The same by all ranks together; each gets the same address. dist: AGAS_CYCLIC or AGAS_BLOCKED.
 * Sends one message a rank less.
 */
gva_t agas_map_all(size_t size, enum agas_dist dist);
/*
 * Unmap the pages of gva .. gva + size - 1, all of them mapped, by one rank. Waits until nothing is
 * pinned there and no rank knows the pages any more; only then can the addresses be mapped again.
 * No access to them may be in flight. AGAS_EUNMAPPED: some page was not mapped.
 */
int agas_unmap(gva_t gva, size_t size);

/* ---- access ---- */

/*
 * An operation that was started. The memory of the program that it names stays untouched until
 * agas_test() says 1 or agas_wait() returns, for agas_put() and agas_get() until agas_fence().
 * The structure may be reused then. Its fields are the library's.
 */
typedef struct agas_req {
	uint32_t pending;
	int32_t error;
} agas_req_t;

/*
 * Copy `bytes` bytes to, or from, a global address; it may span pages, which are then independent
 * of each other. Two puts of a rank to one address are not ordered without a fence. Neither waits.
 */
int agas_put(gva_t gva, const void *lva, size_t bytes);
int agas_get(void *lva, const gva_t gva, size_t bytes);
int agas_put_nb(gva_t gva, const void *lva, size_t bytes, agas_req_t *r);
int agas_get_nb(void *lva, gva_t gva, size_t bytes, agas_req_t *r);
/* Makes progress. Returns 1 if the operation is complete, with or without an error (which
 * agas_wait() returns), else 0. */
int agas_test(agas_req_t *r);
/* Wait until complete. 0, or the error of the part of the operation that failed first. */
int agas_wait(agas_req_t *r);
/*
 * Wait until all earlier puts, calls and moves of this process have taken effect and all its gets
 * have arrived. 0, or the first error of an operation without agas_req_t since the last fence.
 */
int agas_fence(void);
/*
 * agas_fence(), then wait for all ranks that live. AGAS_EDEAD: ranks have died since the last
 * barrier that said so; the others have met here.
 */
int agas_barrier(void);
/* Serve other ranks and complete operations, without waiting. */
void agas_progress(void);

/*
 * Atomic operations on the 8 bytes at gva (a multiple of 8), carried out at the owner. *old, which
 * may be NULL, gets the value before. They wait for the answer.
 */
int agas_fetch_xor64(gva_t gva, uint64_t v, uint64_t *old);
int agas_fetch_add64(gva_t gva, uint64_t v, uint64_t *old);
int agas_swap64(gva_t gva, uint64_t v, uint64_t *old);
int agas_compare_swap64(gva_t gva, uint64_t expected, uint64_t v, uint64_t *old);

/* ---- blocks ---- */

/*
 * Move the block that contains gva to rank pe. On return (agas_wait) every later operation of any
 * rank finds it there, until the next move. AGAS_EDEAD: the target, the home or the owner died.
 */
int agas_remap(gva_t gva, int pe);
int agas_remap_nb(gva_t gva, int pe, agas_req_t *r);
/*
 * 1: the block is here and stays until agas_unpin(); *lva (lva may be NULL) is the address of the
 * byte. 0: it is not here. The program itself orders what several threads and ranks do there.
 */
int agas_try_pin(gva_t gva, void **lva);
void agas_unpin(gva_t gva);
/*
 * Return the global address of the byte at lva, which lies in a block that is here and that the
 * caller has pinned (an action: in its own block); 0: no block of this rank has that byte. It looks
 * at every block that is here.
 */
gva_t agas_lva_to_gva(const void *lva);
/* The rank that owns the block, as far as this one knows, and its home. Negative: enum agas_error.
 */
int agas_owner(gva_t gva);
int agas_home(gva_t gva);

/* ---- messages to an address ---- */

/*
 * An action: runs at the owner of `target`, with its block pinned and lva the address of that byte.
 * It may start operations (put, get, call) but must not wait. AGAS_RESEND: send the message once
 * more to the block, wherever it is then.
 */
enum { AGAS_DONE, AGAS_RESEND };
typedef int (*agas_action_t)(gva_t target, void *lva, const void *arg, size_t n, int source);
/* The number of an action; all ranks register the same functions in the same order. */
int agas_register(agas_action_t fn);
/*
 * Run an action at the owner of target; arg (n bytes, at most agas_call_max()) is copied. Returns
 * at once; agas_fence() waits until the action has run. Calls are not ordered.
 */
int agas_call(gva_t target, int action, const void *arg, size_t n);
int agas_call_nb(gva_t target, int action, const void *arg, size_t n, agas_req_t *r);
size_t agas_call_max(void);

/* ---- balance ---- */

enum agas_policy {
	AGAS_BALANCE_COUNT,       /* each block to the rank that used it most */
	AGAS_BALANCE_LEAST,       /* from overloaded ranks to the least loaded */
	AGAS_BALANCE_PREDECESSOR, /* ... to rank - 1 */
	AGAS_BALANCE_SUCCESSOR,   /* ... to rank + 1 */
	AGAS_BALANCE_RANDOM
};
/*
 * Collective: look at the accesses to each block since the last call (or since balancing began) and
 * move blocks. A rank is overloaded above `limit` times the mean load, for example 1.4. Returns the
 * blocks that this rank gave away, or a negative error.
 */
int agas_balance(enum agas_policy policy, double limit);

/* ---- statistics ---- */

struct agas_stats {
#define AGAS_COUNTER(name, meaning) uint64_t name;
#include "agas_counter.def" /* beside this file */
#undef AGAS_COUNTER
	uint64_t cache_entries, cache_bytes, blocks, homes;
};
/* Return the counts of this rank; reset sets them to 0. */
void agas_stats(struct agas_stats *out, int reset);
/* Forget the cached owner of a block, or set it (benches and tests; the directory stays right). */
void agas_cache_forget(gva_t gva);
void agas_cache_teach(gva_t gva, int owner);
/* Return what an error code means, as a sentence. */
const char *agas_error_text(int error);

#ifdef __cplusplus
}
#endif
#endif
