/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agas_hpx.h: the names by which programs of HPX-5 use a global address space, over agas.h.
 * Addresses are structured: arithmetic goes through hpx_addr_add() and hpx_addr_sub(), since blocks
 * are padded and cyclic allocations go to the next rank after each block. Ranges of puts and gets
 * lie within one block. hpx_status_t is 0 or an enum agas_error.
 *
 * Only the calls of the address space are here, and as much of local control objects (LCO) as their
 * completion needs. An LCO has an address, too, and is used at the rank that made it.
 *
 * agas_init() comes first and agas_fini() last. Actions are those of agas.h: agas_register(),
 * agas_call(), and AGAS_RESEND, which sends the message once more to where the block is then. In an
 * action a call that would have to wait returns AGAS_EINVAL.
 */
#ifndef AGAS_HPX_H
#define AGAS_HPX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t hpx_addr_t;
typedef int hpx_status_t;

#define HPX_SUCCESS  0
#define HPX_NULL     ((hpx_addr_t)0)
#define HPX_LCO_NONE HPX_NULL
/* An address at a rank, for hpx_gas_move(). It names no memory. */
#define HPX_THERE(rank) ((hpx_addr_t)(rank) << 48 | (hpx_addr_t)3 << 42)
#define HPX_HERE        HPX_THERE(hpx_get_my_rank())

enum { HPX_GAS_ATTR_NONE = 0, HPX_GAS_ATTR_RO = 1, HPX_GAS_ATTR_LB = 2, HPX_GAS_ATTR_LCO = 4 };
/* A distribution: one of these, or a function that returns an address at the rank that first owns
 * block i of n. */
typedef hpx_addr_t (*hpx_gas_dist_t)(uint32_t i, size_t n, size_t bsize);
#define HPX_GAS_DIST_LOCAL   ((hpx_gas_dist_t)1)
#define HPX_GAS_DIST_CYCLIC  ((hpx_gas_dist_t)2)
#define HPX_GAS_DIST_BLOCKED ((hpx_gas_dist_t)3)

int hpx_get_my_rank(void);
int hpx_get_num_ranks(void);

/* ---- completion ---- */

/*
 * A future is set when one operation that names it is complete, and holds a value of `bytes` bytes
 * that hpx_lco_set() sets (and hpx_gas_alloc_local_at_async()). hpx_lco_and_new: set when `inputs`
 * operations have named it and all that did are complete. HPX_NULL: no memory.
 */
hpx_addr_t hpx_lco_future_new(int bytes);
hpx_addr_t hpx_lco_and_new(int64_t inputs);
/* Wait until it is set. 0, or the first error of an operation that named it. */
hpx_status_t hpx_lco_wait(hpx_addr_t lco);
/* The same, and copy its value. */
hpx_status_t hpx_lco_get(hpx_addr_t lco, int bytes, void *value);
/* Set it by hand: one operation that is complete. lsync and rsync are set, too. */
void hpx_lco_set(hpx_addr_t lco, int bytes, const void *value, hpx_addr_t lsync, hpx_addr_t rsync);
/* As it was when it was new. No operation that names it may be in flight. */
void hpx_lco_reset_sync(hpx_addr_t lco);
/* Wait for the operations in flight that name it, and release it. */
void hpx_lco_delete(hpx_addr_t lco, hpx_addr_t rsync);
void hpx_lco_delete_sync(hpx_addr_t lco);

/* ---- allocation ---- */

/*
 * n blocks of bsize bytes (1 to 2^31), by one rank; contents undefined, calloc: zero. boundary: an
 * alignment in the segment, a power of two or 0. HPX_NULL: no memory.
 */
hpx_addr_t hpx_gas_alloc_local(size_t n, size_t bsize, uint32_t boundary);
hpx_addr_t hpx_gas_calloc_local(size_t n, size_t bsize, uint32_t boundary);
hpx_addr_t hpx_gas_alloc_cyclic(size_t n, size_t bsize, uint32_t boundary);
hpx_addr_t hpx_gas_calloc_cyclic(size_t n, size_t bsize, uint32_t boundary);
hpx_addr_t hpx_gas_alloc_blocked(size_t n, size_t bsize, uint32_t boundary);
hpx_addr_t hpx_gas_calloc_blocked(size_t n, size_t bsize, uint32_t boundary);
/* The local segment of the rank that `loc` names (HPX_THERE(rank)). The second form, too, returns
 * when the blocks are there; it sets the address as the value of lco. */
hpx_addr_t hpx_gas_alloc_local_at_sync(size_t n, size_t bsize, uint32_t boundary, hpx_addr_t loc);
hpx_addr_t hpx_gas_calloc_local_at_sync(size_t n, size_t bsize, uint32_t boundary, hpx_addr_t loc);
void hpx_gas_alloc_local_at_async(size_t n, size_t bsize, uint32_t boundary, hpx_addr_t loc,
				  hpx_addr_t lco);
void hpx_gas_calloc_local_at_async(size_t n, size_t bsize, uint32_t boundary, hpx_addr_t loc,
				   hpx_addr_t lco);
/* attr: HPX_GAS_ATTR_ bits. */
hpx_addr_t hpx_gas_alloc(size_t n, size_t bsize, uint32_t boundary, hpx_gas_dist_t dist,
			 uint32_t attr);
hpx_addr_t hpx_gas_alloc_user(size_t n, size_t bsize, uint32_t boundary, hpx_gas_dist_t dist,
			      uint32_t attr);
hpx_addr_t hpx_gas_calloc(size_t n, size_t bsize, uint32_t boundary, hpx_gas_dist_t dist,
			  uint32_t attr);
hpx_addr_t hpx_gas_alloc_local_attr(size_t n, size_t bsize, uint32_t boundary, uint32_t attr);
hpx_addr_t hpx_gas_calloc_local_attr(size_t n, size_t bsize, uint32_t boundary, uint32_t attr);
hpx_addr_t hpx_gas_alloc_cyclic_attr(size_t n, size_t bsize, uint32_t boundary, uint32_t attr);
hpx_addr_t hpx_gas_calloc_cyclic_attr(size_t n, size_t bsize, uint32_t boundary, uint32_t attr);
hpx_addr_t hpx_gas_alloc_blocked_attr(size_t n, size_t bsize, uint32_t boundary, uint32_t attr);
hpx_addr_t hpx_gas_calloc_blocked_attr(size_t n, size_t bsize, uint32_t boundary, uint32_t attr);
/* Set the attributes of the block, wherever it is. */
void hpx_gas_set_attr(hpx_addr_t addr, uint32_t attr);

/*
 * Free an allocation by the address of its first block, when nothing is pinned there any more. The
 * first form does not wait: rsync (HPX_NULL: agas_fence()) says when all is free.
 */
void hpx_gas_free(hpx_addr_t addr, hpx_addr_t rsync);
hpx_status_t hpx_gas_free_sync(hpx_addr_t addr);

/* ---- access ---- */

/* True: the block is here and stays until hpx_gas_unpin(). local NULL: only ask; nothing is pinned.
 */
bool hpx_gas_try_pin(hpx_addr_t addr, void **local);
void hpx_gas_unpin(hpx_addr_t addr);

/* lsync: `from` may be reused; rsync: every rank sees the data (implies lsync). Without rsync,
 * agas_fence() waits for it. */
hpx_status_t hpx_gas_memput(hpx_addr_t to, const void *from, size_t size, hpx_addr_t lsync,
			    hpx_addr_t rsync);
/* Returns when `from` may be reused. */
hpx_status_t hpx_gas_memput_lsync(hpx_addr_t to, const void *from, size_t size, hpx_addr_t rsync);
/* Returns when every rank sees the data. */
hpx_status_t hpx_gas_memput_rsync(hpx_addr_t to, const void *from, size_t size);
hpx_status_t hpx_gas_memget(void *to, hpx_addr_t from, size_t size, hpx_addr_t lsync);
hpx_status_t hpx_gas_memget_sync(void *to, hpx_addr_t from, size_t size);
/* Copy from one global address to another, through this rank. Does not wait; sync is set when all
 * is done. */
hpx_status_t hpx_gas_memcpy(hpx_addr_t to, hpx_addr_t from, size_t size, hpx_addr_t sync);
hpx_status_t hpx_gas_memcpy_sync(hpx_addr_t to, hpx_addr_t from, size_t size);

/* Move the block of src to the rank that owns dst, which may be HPX_THERE(rank). */
void hpx_gas_move(hpx_addr_t src, hpx_addr_t dst, hpx_addr_t lco);

hpx_addr_t hpx_addr_add(hpx_addr_t addr, int64_t bytes, uint32_t bsize);
int64_t hpx_addr_sub(hpx_addr_t lhs, hpx_addr_t rhs, uint32_t bsize);

#ifdef __cplusplus
}
#endif
#endif
