/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What programs of tests/pami/pami_*.c share: one client with contexts, barrier, checks. They
 * are run as jobs by pami_job.sh; each test function is called by all tasks.
 */
#ifndef TESTS_PAMI_JOB_H
#define TESTS_PAMI_JOB_H

#include <pami.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/rng.h"

static pami_client_t client;
static pami_context_t contexts[64];
#define context contexts[0]
static size_t me, tasks;

/* The programs have tables by task. */
enum { JOB_TASKS_MAX = 64 };

#define CHECK_WHO "task %zu", me
#include "tests/harness/check_count.h"

#define WAIT(condition)                                                                            \
	do {                                                                                       \
		while (!(condition))                                                               \
			PAMI_Context_advance(context, 100);                                        \
	} while (0)

/* Was the program built with a sanitizer? It is 3 to 20 times slower then, so long tests do less.
 */
static inline bool job_is_sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return true;
#else
	return false;
#endif
}

/* QT_LONG as a number: 0 or not there, the usual; else how much longer. */
static inline long job_long(void)
{
	const char *text = getenv("QT_LONG");

	return text ? atol(text) : 0;
}

/* QT_SHARE as a number, at least 1: one of so many operations is enough (pami_job.sh). All tasks
 * have the same number. */
static inline unsigned job_share(void)
{
	const char *text = getenv("QT_SHARE");
	int share = text ? atoi(text) : 1;

	return share > 1 ? (unsigned)share : 1;
}

/* In a dispatch function: the data of the message goes to `to`, and then `done` is called. */
static inline void receive_into(pami_recv_t *recv, void *to, pami_event_function done, void *cookie)
{
	*recv = (pami_recv_t){.local_fn = done,
			      .cookie = cookie,
			      .type = PAMI_TYPE_BYTE,
			      .data_fn = PAMI_DATA_COPY,
			      .addr = to};
}

static void flag_done(pami_context_t c, void *cookie, pami_result_t result)
{
	CHECK(c != NULL);
	CHECK_EQ(result, PAMI_SUCCESS);
	++*(int *)cookie;
}

static inline size_t client_value(pami_attribute_name_t name)
{
	pami_configuration_t q = {.name = name};

	CHECK_EQ(PAMI_Client_query(client, &q, 1), PAMI_SUCCESS);
	return q.value.intval;
}

static inline pami_endpoint_t get_endpoint(size_t task, size_t offset)
{
	pami_endpoint_t e = PAMI_ENDPOINT_NULL;

	PAMI_Endpoint_create(client, (pami_task_t)task, offset, &e);
	return e;
}

static inline pami_algorithm_t get_algorithm(pami_xfer_type_t type)
{
	pami_algorithm_t a = PAMI_ALGORITHM_NULL;
	pami_geometry_t world;

	CHECK_EQ(PAMI_Geometry_world(client, &world), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Geometry_algorithms_query(world, type, &a, NULL, 1, NULL, NULL, 0),
		 PAMI_SUCCESS);
	return a;
}

static inline void run_collective(pami_xfer_t *x)
{
	int done = 0;

	x->cb_done = flag_done;
	x->cookie = &done;
	CHECK_EQ(PAMI_Collective(context, x), PAMI_SUCCESS);
	CHECK_EQ(done, 0);
	WAIT(done);
}

/* Store the `bytes` bytes at `own` of each task at `all`, in the order of the tasks. */
static inline void gather_from_all(void *own, void *all, size_t bytes)
{
	pami_xfer_t x = {.algorithm = get_algorithm(PAMI_XFER_ALLGATHER)};

	x.cmd.xfer_allgather =
	    (pami_allgather_t){own, PAMI_TYPE_BYTE, bytes, all, PAMI_TYPE_BYTE, bytes};
	run_collective(&x);
}

static inline void run_barrier(void)
{
	pami_xfer_t x = {.algorithm = get_algorithm(PAMI_XFER_BARRIER)};

	run_collective(&x);
}

/* A barrier before the first death, which may end it for who is still in it. All have come by then.
 */
static inline void barrier_done(pami_context_t c, void *cookie, pami_result_t result)
{
	CHECK(result == PAMI_SUCCESS || result == PAMI_SHUTDOWN);
	++*(int *)cookie;
}

static inline void barrier_before_death(void)
{
	int done = 0;
	pami_xfer_t x = {.algorithm = get_algorithm(PAMI_XFER_BARRIER),
			 .cb_done = barrier_done,
			 .cookie = &done};

	CHECK_EQ(PAMI_Collective(context, &x), PAMI_SUCCESS);
	WAIT(done);
}

static inline void dispatch_set(pami_context_t c, size_t id, pami_dispatch_p2p_function fn,
				void *cookie, pami_dispatch_hint_t hint)
{
	pami_dispatch_callback_function f = {.p2p = fn};

	CHECK_EQ(PAMI_Dispatch_set(c, id, f, cookie, hint), PAMI_SUCCESS);
}

static inline void job_begin(size_t count)
{
	setvbuf(stderr, NULL, _IOLBF, 0);
	if (PAMI_Client_create("test", &client, NULL, 0) != PAMI_SUCCESS ||
	    PAMI_Context_createv(client, NULL, 0, contexts, count) != PAMI_SUCCESS) {
		fprintf(stderr, "no client or no contexts\n");
		exit(1);
	}
	me = client_value(PAMI_CLIENT_TASK_ID);
	tasks = client_value(PAMI_CLIENT_NUM_TASKS);
	if (tasks > JOB_TASKS_MAX) {
		fprintf(stderr, "%zu tasks; the test programs have room for %d\n", tasks,
			JOB_TASKS_MAX);
		exit(1);
	}
}

static inline int job_end(size_t count)
{
	CHECK_EQ(PAMI_Context_destroyv(contexts, count), PAMI_SUCCESS);
	CHECK(contexts[0] == PAMI_CONTEXT_NULL);
	CHECK_EQ(PAMI_Client_destroy(&client), PAMI_SUCCESS);
	CHECK(client == PAMI_CLIENT_NULL);
	return check_failures != 0;
}

static inline unsigned char pattern_byte(size_t seed, size_t i)
{
	return (unsigned char)(seed * 131 + i * 7 + (i >> 8));
}

/* A block of 256 bytes of the pattern lies in a table: to copy and compare blocks costs little,
 * under a sanitizer too. */
static unsigned char pattern_table[512];

static __attribute__((constructor)) void pattern_begin(void)
{
	for (size_t i = 0; i < sizeof pattern_table; i++)
		pattern_table[i] = (unsigned char)(i * 7);
}

/* The block of byte i, a multiple of 256. */
static inline const unsigned char *pattern_block(size_t seed, size_t i)
{
	return pattern_table + (pattern_byte(seed, i) * 183 & 255); /* 7 * 183 is 1 modulo 256 */
}

static inline void fill_pattern(void *p, size_t seed, size_t n)
{
	for (size_t i = 0; i < n; i += 256)
		memcpy((unsigned char *)p + i, pattern_block(seed, i), n - i < 256 ? n - i : 256);
}

/* How many of n bytes differ from the pattern. */
static inline size_t count_different(const void *p, size_t seed, size_t n)
{
	const unsigned char *at = p;
	size_t bad = 0;

	for (size_t i = 0; i < n; i += 256) {
		size_t some = n - i < 256 ? n - i : 256;

		if (memcmp(at + i, pattern_block(seed, i), some))
			for (size_t k = i; k < i + some; k++)
				bad += at[k] != pattern_byte(seed, k);
	}
	return bad;
}

#endif
