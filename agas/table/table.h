/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hash table from a block's key to 64 bits (bench: agas_table). Each key has two buckets of four
 * slots, one cache line each. A lookup reads both without a lock: buckets belong to stripes whose
 * version is odd while a thread writes, and a reader whose stripes changed reads again. A writer
 * locks the stripes of its two buckets in index order; to make room it moves keys along the
 * shortest path to a free slot, last move first, so that every key is always in one of its buckets.
 * If there is no such path the table doubles under all stripes.
 *
 * Any thread may call any function at any time, except create and destroy. AGAS_TABLE_LOCK (one
 * lock around everything) and AGAS_TABLE_ALONE (no lock: one thread) are for comparison.
 *
 * Source of the method: Pagh and Rodler, Cuckoo hashing; Fan, Andersen and Kaminsky, MemC3 (paths
 * and versions). docs/references.md.
 */
#ifndef AGAS_TABLE_TABLE_H
#define AGAS_TABLE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum agas_table_rule { AGAS_TABLE_CONCURRENT, AGAS_TABLE_LOCK, AGAS_TABLE_ALONE };

struct agas_table;

/* capacity: the keys it has room for at first (it grows), or, if `bounded`, at most. Returns NULL
 * if there is no memory.
 */
struct agas_table *agas_table_create(size_t capacity, enum agas_table_rule rule, bool bounded);
void agas_table_destroy(struct agas_table *t);

/* Returns true, and *value, if the key is there. Key 0 never is. */
bool agas_table_find(struct agas_table *t, uint64_t key, uint64_t *value);
/*
 * Store key -> value, whatever was there. 0: a new key. 1: replaced. 2: a new key, and a random
 * other one of its two buckets had to go (*evicted; only where bounded). -ENOMEM.
 */
int agas_table_put(struct agas_table *t, uint64_t key, uint64_t value, uint64_t *evicted);
/* Remove a key. Returns true, and its value, if it was there. */
bool agas_table_remove(struct agas_table *t, uint64_t key, uint64_t *value);
size_t agas_table_count(const struct agas_table *t);
size_t agas_table_bytes(const struct agas_table *t);
/*
 * Call fn for each key. Keys that other threads add or remove meanwhile may be left out or come
 * twice. fn may remove keys.
 */
void agas_table_walk(struct agas_table *t, void (*fn)(void *arg, uint64_t key, uint64_t value),
		     void *arg);

/* The hash that all tables of the library use (a bijection of 64 bits). */
static inline uint64_t agas_hash(uint64_t key)
{
	key ^= key >> 32;
	key *= 0xd6e8feb86659fd93u;
	key ^= key >> 32;
	key *= 0xd6e8feb86659fd93u;
	key ^= key >> 32;
	return key;
}

#endif
