/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several threads of each rank put, get, count, pin, move and call at once: sums are exact, pinned
 * blocks stay, and a put that was fenced is read back.
 */
#include <pthread.h>

#include "drivers/base/atomic.h"
#include "tests/agas/agas_job.h"

enum { THREADS = 3, TIMES = 150, BLOCKS = 6 };

static gva_t base;
static int add_action;

static int run_add(gva_t target, void *lva, const void *arg, size_t n, int source)
{
	uint64_t v;

	memcpy(&v, arg, sizeof(v));
	atomic_fetch_add_relaxed((uint64_t *)lva, v);
	return AGAS_DONE;
}

/* Block b: word 0 counts by atomics, 1 by actions, 2 under pins; from 64 a word for each thread. */
static void *run_thread(void *arg)
{
	unsigned t = (unsigned)(uintptr_t)arg, slot = (unsigned)me * THREADS + t;
	struct drv_rng own;
	uint64_t one = 1, *at;

	drv_rng_seed(&own, (uint64_t)slot + 17);
	for (uint64_t i = 1; i <= TIMES; i++) {
		gva_t block = base + drv_rng_below(&own, BLOCKS) * page;
		uint64_t back = 0;
		agas_req_t r;

		CHECK_EQ(agas_fetch_add64(base, 1, NULL), 0);
		CHECK_EQ(agas_call(base + 8, add_action, &one, 8), 0);
		if (agas_try_pin(block + 16, (void **)&at)) {
			atomic_fetch_add_relaxed(at, 1);
			if (agas_try_pin(block, NULL)) /* not if it is leaving */
				agas_unpin(block);
			agas_unpin(block);
		}
		if (i % 8 == 0)
			CHECK_EQ(agas_remap(block, (int)drv_rng_below(&own, (uint64_t)ranks)), 0);
		CHECK_EQ(agas_put_nb(block + 64 + 8 * slot, &i, 8, &r), 0);
		CHECK_EQ(agas_wait(&r), 0);
		CHECK_EQ(agas_get_nb(&back, block + 64 + 8 * slot, 8, &r), 0);
		CHECK_EQ(agas_wait(&r), 0);
		CHECK_EQ(back, i);
	}
	return NULL;
}

int main(void)
{
	pthread_t p[THREADS];
	uint64_t v[2] = {0, 0};

	job_begin();
	add_action = agas_register(run_add);
	base = agas_map_all(BLOCKS * page, AGAS_CYCLIC);
	CHECK_EQ(agas_barrier(), 0);
	for (int t = 0; t < THREADS; t++)
		pthread_create(&p[t], NULL, run_thread, (void *)(uintptr_t)t);
	for (int t = 0; t < THREADS; t++)
		pthread_join(p[t], NULL);
	CHECK_EQ(agas_barrier(), 0);
	CHECK_EQ(agas_get(v, base, sizeof(v)), 0);
	CHECK_EQ(agas_fence(), 0);
	CHECK_EQ(v[0], THREADS * TIMES * ranks);
	CHECK_EQ(v[1], THREADS * TIMES * ranks);
	return job_end();
}
