/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cache of the owners of other ranks' blocks. An entry may be stale; a rank that is no longer the
 * owner forwards, so a cache never decides anything.
 *
 * CUCKOO   table of table.h; bounded: a random key of two buckets gives way. Any thread.
 * DIRECT   array by page number, grown on demand, for linear addresses (others: as CUCKOO,
 *          unbounded)
 * RANDOM   bounded; a uniformly random key gives way
 * LRU      bounded; the key that was not used for longest gives way
 * NONE     remembers nothing
 *
 * All but CUCKOO: one thread at a time.
 */
#ifndef AGAS_TABLE_CACHE_H
#define AGAS_TABLE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum agas_cache_policy {
	AGAS_CACHE_CUCKOO,
	AGAS_CACHE_DIRECT,
	AGAS_CACHE_RANDOM,
	AGAS_CACHE_LRU,
	AGAS_CACHE_NONE
};

struct agas_cache;

struct agas_cached {
	uint32_t owner;
	uint16_t version;
};

/*
 * capacity: keys at most; 0: no limit (RANDOM and LRU need one). page_shift: of linear addresses.
 * rule: enum agas_table_rule, of CUCKOO. Returns NULL if there is no memory.
 */
struct agas_cache *agas_cache_create(enum agas_cache_policy policy, size_t capacity,
				     unsigned page_shift, int rule);
void agas_cache_destroy(struct agas_cache *c);
/* Returns whether any thread may use the cache while others do. */
bool agas_cache_is_shared(const struct agas_cache *c);
/* Returns true, and the entry, if the key is there. LRU: the key is now the last to give way. */
bool agas_cache_find(struct agas_cache *c, uint64_t key, struct agas_cached *found);
/*
 * Store an entry, unless the one that is there has a later version. Returns 0 if no key was added,
 * 1 for a new key, 2 if another key had to make room for it.
 */
int agas_cache_store(struct agas_cache *c, uint64_t key, struct agas_cached entry);
void agas_cache_remove(struct agas_cache *c, uint64_t key);
size_t agas_cache_count(const struct agas_cache *c);
/* Return the bytes of the whole cache. */
size_t agas_cache_bytes(const struct agas_cache *c);

#endif
