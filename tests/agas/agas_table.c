/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table against a plain array, alone and with threads; caches against reference lists.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agas/table/cache.h"
#include "agas/table/table.h"
#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "tests/harness/t.h"

static uint64_t key_of(uint64_t i)
{
	return (i + 1) << 12;
}

/* ---- one thread ---- */

static void as_an_array(enum agas_table_rule rule)
{
	enum { KEYS = 5000 };
	struct agas_table *t = agas_table_create(8, rule, false);
	static uint64_t model[KEYS];
	size_t n = 0;
	int i, wrong = 0;

	memset(model, 0, sizeof(model));
	for (i = 0; i < 200000; i++) {
		uint64_t k = drv_rng_below(t_rng(), KEYS), v = drv_rng_next(t_rng()) | 1, got = 0;

		switch (drv_rng_below(t_rng(), 4)) {
		case 0:
			wrong += agas_table_put(t, key_of(k), v, NULL) != (model[k] != 0);
			n += !model[k];
			model[k] = v;
			break;
		case 1:
			wrong += agas_table_remove(t, key_of(k), &got) != (model[k] != 0);
			wrong += got != model[k];
			n -= model[k] != 0;
			model[k] = 0;
			break;
		default:
			wrong += agas_table_find(t, key_of(k), &got) != (model[k] != 0);
			wrong += model[k] && got != model[k];
		}
	}
	CHECK_EQ(wrong, 0);
	CHECK_EQ(agas_table_count(t), n);
	agas_table_destroy(t);
}

static void array_concurrent(void)
{
	as_an_array(AGAS_TABLE_CONCURRENT);
}
static void array_lock(void)
{
	as_an_array(AGAS_TABLE_LOCK);
}
static void array_alone(void)
{
	as_an_array(AGAS_TABLE_ALONE);
}

static void sum_keys(void *arg, uint64_t key, uint64_t value)
{
	*(uint64_t *)arg += key ^ value;
}

static void fills_densely_and_walks(void)
{
	struct agas_table *t = agas_table_create(100000, AGAS_TABLE_CONCURRENT, false);
	uint64_t i, sum = 0, walked = 0;
	size_t bytes = agas_table_bytes(t);

	for (i = 0; i < 100000; i++) {
		agas_table_put(t, key_of(i), i, NULL);
		sum += key_of(i) ^ i;
	}
	CHECK_EQ(agas_table_bytes(t), bytes); /* It did not grow beyond what was asked. */
	agas_table_walk(t, sum_keys, &walked);
	CHECK_EQ(walked, sum);
	CHECK(!agas_table_find(t, 0, &i));
	agas_table_destroy(t);
}

static void bounded_stays_bounded(void)
{
	struct agas_table *t = agas_table_create(1000, AGAS_TABLE_CONCURRENT, true);
	uint64_t i, gone, value, found = 0, evicted = 0;

	for (i = 0; i < 20000; i++) {
		int rc = agas_table_put(t, key_of(i), i, &gone);

		evicted += rc == 2;
		CHECK(agas_table_count(t) <= 1000);
		CHECK(agas_table_find(t, key_of(i), &value) && value == i);
	}
	for (i = 0; i < 20000; i++)
		found += agas_table_find(t, key_of(i), &value);
	CHECK_EQ(found, agas_table_count(t));
	CHECK_EQ(found + evicted, 20000);
	agas_table_destroy(t);
}

/* ---- threads ---- */

enum { SHARED_KEYS = 600, READERS = 3, WRITERS = 3 };

static struct {
	struct agas_table *t;
	atomic_u32 stop, wrong;
	unsigned rounds;
} shared;

/*
 * Each writer owns a third of the keys. Odd keys are always there with values that only grow; even
 * ones come and go.
 */
static void *run_writer(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg, r, i;

	for (r = 1; r <= shared.rounds; r++)
		for (i = me; i < SHARED_KEYS; i += WRITERS) {
			if (i % 2 || r % 2)
				agas_table_put(shared.t, key_of(i), (uint64_t)r << 32 | i, NULL);
			else if (!agas_table_remove(shared.t, key_of(i), NULL))
				atomic_fetch_add_relaxed(&shared.wrong, 1);
		}
	return NULL;
}

static void *run_reader(void *arg)
{
	uint64_t last[SHARED_KEYS] = {0}, v;
	struct drv_rng rng;

	drv_rng_seed(&rng, t_seed() + (uintptr_t)arg);
	while (!atomic_load_relaxed(&shared.stop)) {
		unsigned i = (unsigned)drv_rng_below(&rng, SHARED_KEYS);
		bool found = agas_table_find(shared.t, key_of(i), &v);

		if (!found && i % 2)
			atomic_fetch_add_relaxed(&shared.wrong, 1);
		if (found && ((uint32_t)v != i || v < last[i]))
			atomic_fetch_add_relaxed(&shared.wrong, 1);
		if (found)
			last[i] = v;
	}
	return NULL;
}

/* A reader sees each key's values in order, and never misses one that is there. */
static void readers_beside_writers(void)
{
	pthread_t r[READERS], w[WRITERS];
	unsigned i;

	shared.t = agas_table_create(8, AGAS_TABLE_CONCURRENT, false);
	shared.rounds = t_sanitized() ? 100 : 600;
	atomic_store_relaxed(&shared.stop, 0);
	atomic_store_relaxed(&shared.wrong, 0);
	for (i = 1; i < SHARED_KEYS; i += 2)
		agas_table_put(shared.t, key_of(i), i, NULL);
	for (i = 0; i < READERS; i++)
		pthread_create(&r[i], NULL, run_reader, (void *)(uintptr_t)i);
	for (i = 0; i < WRITERS; i++)
		pthread_create(&w[i], NULL, run_writer, (void *)(uintptr_t)i);
	/* Other keys make the table double under them. */
	for (i = 0; i < 30000; i++)
		agas_table_put(shared.t, key_of(SHARED_KEYS + i), i, NULL);
	for (i = 0; i < WRITERS; i++)
		pthread_join(w[i], NULL);
	atomic_store_relaxed(&shared.stop, 1);
	for (i = 0; i < READERS; i++)
		pthread_join(r[i], NULL);
	CHECK_EQ(atomic_load_relaxed(&shared.wrong), 0);
	agas_table_destroy(shared.t);
}

/*
 * Several threads put and remove the same keys. In any order that explains their results, a key is
 * new and removed in turn, and each value that is removed was put, once.
 */
enum { HOT_KEYS = 5, VALUES = 20000 };

struct hot {
	unsigned me, threads;
	long made[HOT_KEYS], removed[HOT_KEYS];
};

static atomic_u8 taken[8 * VALUES];

static void *run_hot(void *arg)
{
	struct hot *h = arg;
	struct drv_rng rng;
	uint64_t v, values = 0;

	drv_rng_seed(&rng, t_seed() + h->me);
	while (values < VALUES) {
		unsigned k = (unsigned)drv_rng_below(&rng, HOT_KEYS);

		if (drv_rng_below(&rng, 2)) {
			v = h->me * VALUES + values++;
			h->made[k] += agas_table_put(shared.t, key_of(k), v, NULL) == 0;
		} else if (agas_table_remove(shared.t, key_of(k), &v)) {
			h->removed[k]++;
			if (v >= h->threads * VALUES || atomic_exchange_acq_rel(&taken[v], 1))
				atomic_fetch_add_relaxed(&shared.wrong, 1);
		}
	}
	return NULL;
}

static void keys_of_several_threads(void)
{
	for (unsigned threads = 2; threads <= 8; threads += 3) {
		struct hot h[8] = {0};
		pthread_t id[8];
		uint64_t v;

		memset(taken, 0, sizeof(taken));
		shared.t = agas_table_create(8, AGAS_TABLE_CONCURRENT, false);
		atomic_store_relaxed(&shared.wrong, 0);
		for (unsigned i = 0; i < threads; i++) {
			h[i].me = i;
			h[i].threads = threads;
			pthread_create(&id[i], NULL, run_hot, &h[i]);
		}
		/* Other keys make the table double under them. */
		for (unsigned i = 0; i < 5000; i++)
			agas_table_put(shared.t, key_of(HOT_KEYS + i), i, NULL);
		for (unsigned i = 0; i < threads; i++)
			pthread_join(id[i], NULL);
		for (unsigned k = 0; k < HOT_KEYS; k++) {
			long left = 0;

			for (unsigned i = 0; i < threads; i++)
				left += h[i].made[k] - h[i].removed[k];
			CHECK_EQ(left, agas_table_find(shared.t, key_of(k), &v));
		}
		CHECK_EQ(atomic_load_relaxed(&shared.wrong), 0);
		agas_table_destroy(shared.t);
	}
}

/* ---- caches ---- */

static void lru_is_a_list(void)
{
	enum { ROOM = 50, KEYS = 120 };
	struct agas_cache *c = agas_cache_create(AGAS_CACHE_LRU, ROOM, 12, 0);
	unsigned list[ROOM], n = 0, i, k, wrong = 0;

	for (i = 0; i < 50000; i++) {
		unsigned key = (unsigned)drv_rng_below(t_rng(), KEYS);
		struct agas_cached e;
		bool there;

		for (k = 0; k < n && list[k] != key; k++)
			;
		there = k < n;
		wrong += agas_cache_find(c, key_of(key), &e) != there;
		if (drv_rng_below(t_rng(), 50) == 0) {
			agas_cache_remove(c, key_of(key));
			if (there)
				memmove(list + k, list + k + 1, (--n - k) * sizeof(*list));
			continue;
		}
		if (!there)
			wrong += agas_cache_store(c, key_of(key), (struct agas_cached){key, 1}) !=
				 (n == ROOM ? 2 : 1);
		else
			wrong += e.owner != key;
		if (!there && n == ROOM)
			k = n - 1;
		else if (!there)
			k = n++;
		memmove(list + 1, list, k * sizeof(*list));
		list[0] = key;
		wrong += agas_cache_count(c) != n;
	}
	CHECK_EQ(wrong, 0);
	agas_cache_destroy(c);
}

/* Independent uniform references hit in C of P cases, whatever the policy. */
static void hit_rate(enum agas_cache_policy policy)
{
	enum { ROOM = 256, KEYS = 1024, USES = 400000 };
	struct agas_cache *c = agas_cache_create(policy, ROOM, 12, 0);
	unsigned i, hits = 0;
	struct agas_cached e;

	for (i = 0; i < USES; i++) {
		uint64_t key = key_of(drv_rng_below(t_rng(), KEYS));

		if (agas_cache_find(c, key, &e))
			hits++;
		else
			agas_cache_store(c, key, (struct agas_cached){1, 1});
		if (agas_cache_count(c) > ROOM) {
			CHECK_FAIL("more keys than it may have");
			break;
		}
	}
	CHECK_NEAR((double)hits / USES, (double)ROOM / KEYS, 0.01);
	agas_cache_destroy(c);
}

static void random_hits(void)
{
	hit_rate(AGAS_CACHE_RANDOM);
}
static void lru_hits(void)
{
	hit_rate(AGAS_CACHE_LRU);
}
static void cuckoo_hits(void)
{
	hit_rate(AGAS_CACHE_CUCKOO);
}

static void later_versions_win(void)
{
	static const enum agas_cache_policy all[] = {AGAS_CACHE_CUCKOO, AGAS_CACHE_DIRECT,
						     AGAS_CACHE_RANDOM, AGAS_CACHE_LRU};
	struct agas_cached e;
	unsigned i;

	for (i = 0; i < 4; i++) {
		struct agas_cache *c = agas_cache_create(all[i], 10, 12, 0);

		agas_cache_store(c, 4096, (struct agas_cached){1, 65535});
		agas_cache_store(c, 4096, (struct agas_cached){2, 65534});
		CHECK(agas_cache_find(c, 4096, &e) && e.owner == 1);
		agas_cache_store(c, 4096, (struct agas_cached){3, 1}); /* wrapped */
		CHECK(agas_cache_find(c, 4096, &e) && e.owner == 3);
		agas_cache_remove(c, 4096);
		CHECK(!agas_cache_find(c, 4096, &e));
		CHECK_EQ(agas_cache_count(c), 0);
		agas_cache_destroy(c);
	}
}

T_MAIN(T(array_concurrent), T(array_lock), T(array_alone), T(fills_densely_and_walks),
       T(bounded_stays_bounded), T(readers_beside_writers), T(keys_of_several_threads),
       T(lru_is_a_list), T(random_hits), T(lru_hits), T(cuckoo_hits), T(later_versions_win))
