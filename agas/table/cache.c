/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "agas/table/cache.h"
#include "agas/table/table.h"
#include "drivers/base/rng.h"

#define NO_INDEX UINT32_MAX
/* Pages of the array of DIRECT at most; keys above are kept in the table. */
#define DIRECT_PAGES ((uint64_t)1 << 26)

/* A key of RANDOM or LRU; the table has its index. */
struct entry {
	uint64_t key, packed;
	uint32_t newer, older; /* LRU */
};

struct agas_cache {
	enum agas_cache_policy policy;
	size_t capacity;
	unsigned page_shift;
	struct agas_table *table;
	/* RANDOM, LRU: dense, `count` of them used. */
	struct entry *entry;
	uint32_t count, newest, oldest;
	struct drv_rng rng;
	/* DIRECT: packed entries, 0: none */
	uint64_t *page;
	uint64_t pages, used;
};

/* Never 0. */
static uint64_t pack_entry(struct agas_cached e)
{
	return (uint64_t)1 << 63 | (uint64_t)e.version << 32 | e.owner;
}

static struct agas_cached unpack_entry(uint64_t packed)
{
	return (struct agas_cached){(uint32_t)packed, (uint16_t)(packed >> 32)};
}

/*
 * An entry of the same version may be replaced: an address that was freed and mapped anew begins at
 * version 0 again. Versions wrap.
 */
static bool is_older(uint64_t packed, struct agas_cached than)
{
	return (int16_t)(uint16_t)(than.version - unpack_entry(packed).version) >= 0;
}

static bool has_entries(const struct agas_cache *c)
{
	return c->policy == AGAS_CACHE_RANDOM || c->policy == AGAS_CACHE_LRU;
}

struct agas_cache *agas_cache_create(enum agas_cache_policy policy, size_t capacity,
				     unsigned page_shift, int rule)
{
	struct agas_cache *c = calloc(1, sizeof(*c));
	bool entries;

	if (!c)
		return NULL;
	c->policy = policy;
	c->capacity = capacity;
	c->page_shift = page_shift;
	c->newest = c->oldest = NO_INDEX;
	drv_rng_seed(&c->rng, capacity + 1);
	entries = has_entries(c);
	c->table = agas_table_create(capacity ? capacity : 64,
				     entries ? AGAS_TABLE_ALONE : (enum agas_table_rule)rule,
				     capacity && policy == AGAS_CACHE_CUCKOO);
	if (entries)
		c->entry = malloc((capacity ? capacity : 1) * sizeof(*c->entry));
	if (c->table && (!entries || c->entry))
		return c;
	agas_cache_destroy(c);
	return NULL;
}

void agas_cache_destroy(struct agas_cache *c)
{
	if (!c)
		return;
	agas_table_destroy(c->table);
	free(c->entry);
	free(c->page);
	free(c);
}

bool agas_cache_is_shared(const struct agas_cache *c)
{
	return c->policy == AGAS_CACHE_CUCKOO;
}

size_t agas_cache_count(const struct agas_cache *c)
{
	return has_entries(c) ? c->count : agas_table_count(c->table) + c->used;
}

size_t agas_cache_bytes(const struct agas_cache *c)
{
	return sizeof(*c) + agas_table_bytes(c->table) + c->pages * sizeof(*c->page) +
	       (has_entries(c) ? c->capacity * sizeof(*c->entry) : 0);
}

/* ---- the list of LRU ---- */

static void list_take(struct agas_cache *c, uint32_t i)
{
	struct entry *e = &c->entry[i];

	*(e->newer == NO_INDEX ? &c->newest : &c->entry[e->newer].older) = e->older;
	*(e->older == NO_INDEX ? &c->oldest : &c->entry[e->older].newer) = e->newer;
}

static void list_push(struct agas_cache *c, uint32_t i)
{
	struct entry *e = &c->entry[i];

	e->newer = NO_INDEX;
	e->older = c->newest;
	*(c->newest == NO_INDEX ? &c->oldest : &c->entry[c->newest].newer) = i;
	c->newest = i;
}

/* ---- RANDOM and LRU ---- */

static void entry_remove(struct agas_cache *c, uint32_t i)
{
	uint32_t last = c->count - 1;

	agas_table_remove(c->table, c->entry[i].key, NULL);
	if (c->policy == AGAS_CACHE_LRU)
		list_take(c, i);
	c->count = last;
	if (i == last)
		return;
	/* The last entry takes the place, so that the vector stays dense. */
	c->entry[i] = c->entry[last];
	agas_table_put(c->table, c->entry[i].key, i, NULL);
	if (c->policy != AGAS_CACHE_LRU)
		return;
	*(c->entry[i].newer == NO_INDEX ? &c->newest : &c->entry[c->entry[i].newer].older) = i;
	*(c->entry[i].older == NO_INDEX ? &c->oldest : &c->entry[c->entry[i].older].newer) = i;
}

static int entry_store(struct agas_cache *c, uint64_t key, struct agas_cached new)
{
	uint64_t at;
	int result = 1;

	if (!c->capacity)
		return 0;
	if (agas_table_find(c->table, key, &at)) {
		struct entry *e = &c->entry[at];

		if (is_older(e->packed, new))
			e->packed = pack_entry(new);
		return 0;
	}
	if (c->count == c->capacity) {
		entry_remove(c, c->policy == AGAS_CACHE_LRU
				    ? c->oldest
				    : (uint32_t)drv_rng_below(&c->rng, c->count));
		result = 2;
	}
	if (agas_table_put(c->table, key, c->count, NULL) < 0)
		return 0; /* Without memory the cache remembers nothing, which is allowed. */
	c->entry[c->count] = (struct entry){.key = key, .packed = pack_entry(new)};
	if (c->policy == AGAS_CACHE_LRU)
		list_push(c, c->count);
	c->count++;
	return result;
}

static bool entry_find(struct agas_cache *c, uint64_t key, uint64_t *packed)
{
	uint64_t at;

	if (!agas_table_find(c->table, key, &at))
		return false;
	*packed = c->entry[at].packed;
	if (c->policy == AGAS_CACHE_LRU && c->newest != at) {
		list_take(c, (uint32_t)at);
		list_push(c, (uint32_t)at);
	}
	return true;
}

/* ---- DIRECT ---- */

static bool is_direct(const struct agas_cache *c, uint64_t key)
{
	return c->policy == AGAS_CACHE_DIRECT && key >> c->page_shift < DIRECT_PAGES;
}

/* Return the place of a page, or NULL if there is no memory for the array. */
static uint64_t *page_at(struct agas_cache *c, uint64_t key)
{
	uint64_t n = key >> c->page_shift, room = c->pages ? c->pages : 1024, *more;

	if (n < c->pages)
		return &c->page[n];
	while (room <= n)
		room *= 2;
	more = realloc(c->page, room * sizeof(*more));
	if (!more)
		return NULL;
	memset(more + c->pages, 0, (room - c->pages) * sizeof(*more));
	c->page = more;
	c->pages = room;
	return &c->page[n];
}

/* ---- all ---- */

bool agas_cache_find(struct agas_cache *c, uint64_t key, struct agas_cached *found)
{
	uint64_t packed = 0;

	if (c->policy == AGAS_CACHE_NONE)
		return false;
	if (is_direct(c, key))
		packed = key >> c->page_shift < c->pages ? c->page[key >> c->page_shift] : 0;
	else if (has_entries(c) ? !entry_find(c, key, &packed)
				: !agas_table_find(c->table, key, &packed))
		return false;
	*found = unpack_entry(packed);
	return packed != 0;
}

int agas_cache_store(struct agas_cache *c, uint64_t key, struct agas_cached entry)
{
	uint64_t packed, gone, *at;
	int rc;

	if (c->policy == AGAS_CACHE_NONE)
		return 0;
	if (has_entries(c))
		return entry_store(c, key, entry);
	if (is_direct(c, key)) {
		at = page_at(c, key);
		if (!at || (*at && !is_older(*at, entry)))
			return 0;
		rc = !*at;
		c->used += !*at;
		*at = pack_entry(entry);
		return rc;
	}
	if (agas_table_find(c->table, key, &packed)) {
		if (is_older(packed, entry))
			agas_table_put(c->table, key, pack_entry(entry), &gone);
		return 0;
	}
	rc = agas_table_put(c->table, key, pack_entry(entry), &gone);
	return rc < 0 || rc == 1 ? 0 : rc == 2 ? 2 : 1;
}

void agas_cache_remove(struct agas_cache *c, uint64_t key)
{
	uint64_t at;

	if (is_direct(c, key)) {
		if (key >> c->page_shift < c->pages && c->page[key >> c->page_shift]) {
			c->page[key >> c->page_shift] = 0;
			c->used--;
		}
	} else if (!has_entries(c)) {
		agas_table_remove(c->table, key, NULL);
	} else if (agas_table_find(c->table, key, &at)) {
		entry_remove(c, (uint32_t)at);
	}
}
