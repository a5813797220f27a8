/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bursts of a memif and the handlers of its driver exclude each other (drivers/port_dpdk_bursts.c).
 * Threads run bursts, this one runs handlers, and either looks whether the other is there. Without
 * EAL: the alarm with which a hold ends is called here. (A hold without membarrier() passes: the
 * window is shorter than the system calls around it.)
 */
#include "tests/harness/t.h"

#include <pthread.h>
#include <rte_alarm.h>
#include <stdlib.h>
#include <time.h>

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "drivers/port_dpdk.h"

enum { THREADS = 3 };

/* A hold ends by itself after 0.5 s: what is seen later than this says nothing about it. */
#define HELD_NS 400000000u

static struct burster {
	_Alignas(64) struct dpdk_bursts bursts;
	atomic_u32 is_in_burst;
	atomic_u64 count, refused, met; /* bursts; refused ones; bursts that met a handler */
	pthread_t thread;
} burster[THREADS];

static atomic_u32 is_in_handler, has_ended;
static rte_eal_alarm_callback alarm_fn;
static unsigned alarms;

int rte_eal_alarm_set(uint64_t us, rte_eal_alarm_callback fn, void *arg)
{
	(void)us, (void)arg;
	CHECK(!alarm_fn);
	alarm_fn = fn;
	alarms++;
	return 0;
}

/* EAL's thread comes to its next alarm. */
static void come_to_alarm(void)
{
	rte_eal_alarm_callback fn = alarm_fn;

	alarm_fn = NULL;
	if (fn)
		fn(NULL);
}

static void *run_bursts(void *arg)
{
	struct burster *b = arg;

	while (!atomic_load_acquire(&has_ended)) {
		if (!dpdk_burst_begin(&b->bursts)) {
			atomic_fetch_add_relaxed(&b->refused, 1);
			continue;
		}
		/* A handler that sees no burst may begin here, and must not. */
		atomic_store_relaxed(&b->is_in_burst, 1);
		for (int look = 0; look < 20; look++)
			if (atomic_load_relaxed(&is_in_handler))
				atomic_fetch_add_relaxed(&b->met, 1);
		atomic_store_relaxed(&b->is_in_burst, 0);
		dpdk_burst_end(&b->bursts);
		atomic_fetch_add_relaxed(&b->count, 1);
	}
	return NULL;
}

static void begin_threads(void)
{
	atomic_store_relaxed(&has_ended, 0);
	for (int i = 0; i < THREADS; i++) {
		burster[i] = (struct burster){0};
		dpdk_bursts_add(&burster[i].bursts);
		REQUIRE_EQ(pthread_create(&burster[i].thread, NULL, run_bursts, &burster[i]), 0);
	}
}

static void end_threads(void)
{
	atomic_store_release(&has_ended, 1);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(burster[i].thread, NULL);
		dpdk_bursts_remove(&burster[i].bursts);
	}
}

static uint64_t count_bursts(void)
{
	uint64_t n = 0;

	for (int i = 0; i < THREADS; i++)
		n += atomic_load_relaxed(&burster[i].count);
	return n;
}

/*
 * A handler of some microseconds. Returns how many bursts it met; sets *is_slow if it took so long
 * that bursts go on beside it.
 */
static unsigned run_handler(bool *is_slow)
{
	uint64_t begin = drv_clock_ns();
	unsigned met = 0;

	dpdk_bursts_hold();
	atomic_store_relaxed(&is_in_handler, 1);
	for (int look = 0; look < 50; look++)
		for (int i = 0; i < THREADS; i++)
			met += atomic_load_relaxed(&burster[i].is_in_burst);
	atomic_store_relaxed(&is_in_handler, 0);
	*is_slow |= drv_clock_ns() - begin > HELD_NS;
	come_to_alarm();
	return met;
}

/* Bursts of all threads go on between two handlers. */
static void wait_for_bursts(void)
{
	uint64_t before = count_bursts(), until = drv_clock_ns() + 10000000000u;

	while (count_bursts() < before + 20 && drv_clock_ns() < until)
		nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
	CHECK(count_bursts() >= before + 20);
}

/* Returns how often a burst and a handler met. */
static uint64_t count_meetings(bool *is_slow)
{
	uint64_t until = drv_clock_ns() + 700000000u, met = 0;
	int handlers = 0;

	*is_slow = false;
	begin_threads();
	while (drv_clock_ns() < until || handlers < 20) {
		met += run_handler(is_slow);
		wait_for_bursts();
		handlers++;
	}
	end_threads();
	for (int i = 0; i < THREADS; i++)
		met += atomic_load_relaxed(&burster[i].met);
	return met;
}

static void run_handlers(void)
{
	uint64_t met = 0;
	bool is_slow = true;

	for (int tries = 0; is_slow && tries < 20; tries++) {
		met = count_meetings(&is_slow);
		if (!met)
			break;
	}
	CHECK_EQ(met, 0);
}

static void a_handler_meets_no_burst(void)
{
	dpdk_bursts_prepare();
	run_handlers();
}

/* What a kernel without membarrier() gets. */
static void none_with_a_barrier_in_each_burst(void)
{
	atomic_store_relaxed(&dpdk_bursts_fence, 1);
	run_handlers();
	atomic_store_relaxed(&dpdk_bursts_fence, 0);
}

/* Is a burst refused? A hold that began at `since` may have ended if this thread stood still. */
static bool is_refused(struct dpdk_bursts *b, uint64_t since)
{
	if (!dpdk_burst_begin(b))
		return true;
	dpdk_burst_end(b);
	return drv_clock_ns() - since > HELD_NS;
}

/* Each line of a handler holds the bursts again; one alarm ends it. */
static void several_lines_have_one_alarm(void)
{
	unsigned before = alarms;
	struct dpdk_bursts b = {0};
	uint64_t since;

	dpdk_bursts_add(&b);
	dpdk_bursts_hold();
	since = drv_clock_ns();
	dpdk_bursts_hold();
	CHECK_EQ(alarms, before + 1);
	CHECK(is_refused(&b, since));
	CHECK_EQ(atomic_load_relaxed(&b.inside), 0);
	come_to_alarm();
	CHECK(dpdk_burst_begin(&b));
	dpdk_burst_end(&b);
	dpdk_bursts_remove(&b);
}

/* A server may be blocked in a handler: then bursts go on, and the next line holds them. */
static void bursts_go_on_beside_a_long_handler(void)
{
	struct dpdk_bursts b = {0};
	uint64_t since;

	dpdk_bursts_add(&b);
	since = drv_clock_ns();
	dpdk_bursts_hold();
	CHECK(is_refused(&b, since));
	nanosleep(&(struct timespec){.tv_nsec = 600000000}, NULL);
	CHECK(dpdk_burst_begin(&b));
	dpdk_burst_end(&b);
	since = drv_clock_ns();
	dpdk_bursts_hold();
	CHECK(is_refused(&b, since));
	come_to_alarm();
	dpdk_bursts_remove(&b);
}

T_MAIN(T(a_handler_meets_no_burst), T(none_with_a_barrier_in_each_burst),
       T(several_lines_have_one_alarm), T(bursts_go_on_beside_a_long_handler))
