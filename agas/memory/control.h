/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocations across ranks: address ranges, installing blocks, freeing them. Under the lock. */
#ifndef AGAS_MEMORY_CONTROL_H
#define AGAS_MEMORY_CONTROL_H

#include "agas/access/wire.h"
#include "agas/core/world.h"

enum agas_ranges_of { AGAS_RANGE_PAGES, AGAS_RANGE_ROWS, AGAS_RANGE_LOCAL };

/* The number of blocks of an allocation that their home still has to free. */
struct agas_freeing {
	uint32_t source, left, moved;
	uint8_t why; /* some block was not there: AGAS_WHY_UNMAPPED and its like */
	uint64_t id;
};

/* Count one block of an allocation as freed. */
void agas_freeing_count_down(struct agas_freeing *f);

/* Return the address of block i. */
uint64_t agas_extent_key(const struct agas_extent *e, uint64_t i);

/* Give numbers of a range back to the rank that keeps them. */
void agas_range_give(enum agas_ranges_of which, uint32_t keeper, uint64_t first, uint64_t count);
/* This rank's part of an allocation. owners: of AGAS_USER, from block `first` on. enum agas_why */
uint8_t agas_extent_install(const struct agas_extent *e, const uint32_t *owners, uint64_t first,
			    uint64_t count);
/*
 * Free all blocks; afterwards no rank knows them. Does not wait: `then` gets the result, which is 0
 * or an enum agas_error, now or later, under the lock. It must not wait.
 */
void agas_extent_free_start(const struct agas_extent *e, void (*then)(void *arg, int rc),
			    void *arg);

/* The calls below wait; not in handlers. They return 0 or an enum agas_error. */

/* Take numbers of a range of rank `keeper`: 0 keeps pages and rows, each rank its local segment. */
int agas_range_take(enum agas_ranges_of which, uint32_t keeper, uint64_t count, uint64_t align,
		    uint64_t *first);
/* All ranks' parts. owners: of AGAS_USER, all. On failure what was installed is removed again. */
int agas_extent_create(const struct agas_extent *e, const uint32_t *owners);
int agas_extent_free(const struct agas_extent *e);

void agas_control_receive(pami_context_t context, void *cookie, const void *header,
			  size_t header_bytes, const void *data, size_t bytes,
			  pami_endpoint_t origin, pami_recv_t *recv);

#endif
