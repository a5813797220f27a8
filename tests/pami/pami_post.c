/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue of posted work: any number of threads put, one takes; each thread's order, nothing lost
 * or twice. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "pami/core/post.h"
#include "tests/harness/t.h"

#define THREADS 4

struct item {
	unsigned char pad[4]; /* clients promise an alignment of 4 only */
	unsigned char work[PAMI_WORK_SIZE_STATIC];
	uint32_t thread, number;
} __attribute__((packed, aligned(4)));

static struct pami_posted queue;
static struct item *items[THREADS];
static uint32_t count, next[THREADS];
static int bad;

static pami_result_t never_run(pami_context_t c, void *cookie)
{
	return PAMI_SUCCESS;
}

static void *post_items(void *arg)
{
	struct item *it = arg;

	for (uint32_t i = 0; i < count; i++)
		pami_posted_push(&queue, it[i].work, never_run, &it[i]);
	return NULL;
}

/* Words of a work object: next, fn, cookie. */
static uint32_t take_all(void)
{
	struct pami_work *last, *w = pami_posted_take(&queue, &last);
	uint32_t n = 0;

	while (w) {
		void *word[3];
		struct item *it;

		memcpy(word, w, sizeof word);
		it = word[2];
		bad += it->number != next[it->thread] || (!word[0] && w != last);
		next[it->thread] = it->number + 1;
		memset(w, 0xee, PAMI_WORK_SIZE_STATIC); /* it is the caller's again */
		w = word[0];
		n++;
	}
	return n;
}

static void start_run(uint32_t each)
{
	memset(&queue, 0, sizeof queue);
	memset(next, 0, sizeof next);
	pami_posted_init(&queue);
	bad = 0;
	count = each;
	for (uint32_t t = 0; t < THREADS; t++) {
		items[t] = calloc(each, sizeof *items[t]);
		for (uint32_t i = 0; i < each; i++) {
			items[t][i].thread = t;
			items[t][i].number = i;
		}
	}
}

static void finish_run(void)
{
	CHECK_EQ(bad, 0);
	CHECK(!pami_posted_has_work(&queue));
	for (uint32_t t = 0; t < THREADS; t++) {
		CHECK_EQ(next[t], count);
		free(items[t]);
	}
}

/* pause_every: takes between which the taker lets the array run full. */
static void run_posters(uint32_t each, unsigned pause_every)
{
	pthread_t thread[THREADS];
	uint32_t got = 0;
	unsigned takes = 0;

	start_run(each);
	for (uint32_t t = 0; t < THREADS; t++)
		pthread_create(&thread[t], NULL, post_items, items[t]);
	while (got < each * THREADS) {
		if (pause_every && takes++ % pause_every == 0)
			for (int i = 0; i < 50; i++)
				sched_yield();
		got += take_all();
	}
	for (uint32_t t = 0; t < THREADS; t++)
		pthread_join(thread[t], NULL);
	finish_run();
}

static void empty_gives_nothing(void)
{
	start_run(0);
	CHECK_EQ(take_all(), 0);
	finish_run();
}

/* One thread, no taker: the array fills, the rest goes to the list, order stays. */
static void overflow_keeps_order(void)
{
	start_run(2 * PAMI_POSTED_PLACES + 5);
	for (uint32_t t = 0; t < THREADS; t++)
		post_items(items[t]);
	CHECK_EQ(atomic_load_relaxed(&queue.produced), PAMI_POSTED_PLACES);
	CHECK(pami_posted_has_work(&queue));
	CHECK_EQ(take_all(), THREADS * count);
	finish_run();
}

/* The array is used again after the list was emptied. */
static void goes_on_after_overflow(void)
{
	start_run(PAMI_POSTED_PLACES + 10);
	for (int round = 0; round < 3; round++) {
		memset(next, 0, sizeof next);
		for (uint32_t t = 0; t < THREADS; t++)
			post_items(items[t]);
		CHECK_EQ(take_all(), THREADS * count);
	}
	CHECK_EQ(atomic_load_relaxed(&queue.produced), 3 * PAMI_POSTED_PLACES);
	finish_run();
}

static void threads_fast_taker(void)
{
	run_posters(t_sanitized() ? 20000 : 100000, 0);
}

static void threads_slow_taker(void)
{
	run_posters(t_sanitized() ? 20000 : 100000, 3);
}

T_MAIN(T(empty_gives_nothing), T(overflow_keeps_order), T(goes_on_after_overflow),
       T(threads_fast_taker), T(threads_slow_taker))
