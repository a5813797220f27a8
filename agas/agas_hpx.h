/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agas_hpx.h: the names by which programs of HPX-5 use a global address space, over agas.h.
 * Addresses are structured: arithmetic goes through hpx_addr_add() and hpx_addr_sub(), since blocks
 * are padded and cyclic allocations go to the next rank after each block. Ranges of puts and gets
 * lie within one block. hpx_status_t is 0 or an enum agas_error.
 *
 * Only the calls of the address space are here, and as much of local control objects (LCO) as their
 * completion needs: an hpx_lco_t that counts operations to come.
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
/* A completion that one rank waits for: hpx_lco_new(), hpx_lco_wait(), hpx_lco_delete(). */
typedef struct hpx_lco *hpx_lco_t;

#define HPX_NULL     ((hpx_addr_t)0)
#define HPX_LCO_NONE ((hpx_lco_t)0)
/* An address at a rank, for hpx_gas_move(). It names no memory. */
#define HPX_THERE(rank) ((hpx_addr_t)(rank) << 48 | (hpx_addr_t)3 << 42)
#define HPX_HERE        HPX_THERE(hpx_get_my_rank())

enum { HPX_GAS_ATTR_NONE = 0, HPX_GAS_ATTR_RO = 1, HPX_GAS_ATTR_LB = 2, HPX_GAS_ATTR_LCO = 4 };
typedef enum {
	HPX_GAS_DIST_LOCAL,
	HPX_GAS_DIST_CYCLIC,
	HPX_GAS_DIST_BLOCKED,
	HPX_GAS_DIST_USER
} hpx_gas_dist_type_t;
/* Returns an address at the rank that first owns block i of n. */
typedef hpx_addr_t (*hpx_gas_dist_t)(uint32_t i, size_t n, size_t bsize);

int hpx_get_my_rank(void);
int hpx_get_num_ranks(void);

/* Create an LCO that is set when all operations that name it are complete. Returns NULL if there is
 * no memory. */
hpx_lco_t hpx_lco_new(void);
hpx_status_t hpx_lco_wait(hpx_lco_t lco);
void hpx_lco_delete(hpx_lco_t lco);

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
/* dist: of hpx_gas_alloc_user; attr: HPX_GAS_ATTR_ bits. */
hpx_addr_t hpx_gas_alloc(size_t n, size_t bsize, uint32_t boundary, hpx_gas_dist_type_t dist,
			 uint32_t attr);
hpx_addr_t hpx_gas_alloc_user(size_t n, size_t bsize, uint32_t boundary, hpx_gas_dist_t dist,
			      uint32_t attr);

/* Free an allocation by the address of its first block. Waits for pins. rsync may be HPX_LCO_NONE.
 */
void hpx_gas_free(hpx_addr_t addr, hpx_lco_t rsync);
hpx_status_t hpx_gas_free_sync(hpx_addr_t addr);

bool hpx_gas_try_pin(hpx_addr_t addr, void **local);
void hpx_gas_unpin(hpx_addr_t addr);

/* lsync: `from` may be reused; rsync: every rank sees the data (implies lsync). */
hpx_status_t hpx_gas_memput(hpx_addr_t to, const void *from, size_t size, hpx_lco_t lsync,
			    hpx_lco_t rsync);
/* Returns when `from` may be reused. */
hpx_status_t hpx_gas_memput_lsync(hpx_addr_t to, const void *from, size_t size, hpx_lco_t rsync);
/* Returns when every rank sees the data. */
hpx_status_t hpx_gas_memput_rsync(hpx_addr_t to, const void *from, size_t size);
hpx_status_t hpx_gas_memget(void *to, hpx_addr_t from, size_t size, hpx_lco_t lsync);
hpx_status_t hpx_gas_memget_sync(void *to, hpx_addr_t from, size_t size);
/* Copy from one global address to another, through this rank. */
hpx_status_t hpx_gas_memcpy(hpx_addr_t to, hpx_addr_t from, size_t size, hpx_lco_t sync);
hpx_status_t hpx_gas_memcpy_sync(hpx_addr_t to, hpx_addr_t from, size_t size);

/* Move the block of src to the rank of dst; lco may be HPX_LCO_NONE. */
void hpx_gas_move(hpx_addr_t src, hpx_addr_t dst, hpx_lco_t lco);

hpx_addr_t hpx_addr_add(hpx_addr_t addr, int64_t bytes, uint32_t bsize);
int64_t hpx_addr_sub(hpx_addr_t lhs, hpx_addr_t rhs, uint32_t bsize);

#ifdef __cplusplus
}
#endif
#endif
