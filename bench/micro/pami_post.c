/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PAMI_Context_post from task 0's own thread to a context that a commthread serves, from before the
 * call to the first instruction of the work.
 *
 * spinning       the commthread still polls its contexts: each post follows the last at once, and
 *                PAMI_COMMTHREAD_MIN_LOOPS should be large (bench/run sets it)
 * asleep         the commthread sleeps, and the poster shares its core and yields it
 * asleep, other  the commthread sleeps on another core than the poster's
 * call           the time of the call itself, with the commthread awake
 * stream         posts a second, at most 1024 in flight
 *
 * The other tasks sleep meanwhile, so that the commthread has a core of its own where there are
 * two.
 */
#define _GNU_SOURCE
#include "drivers/base/atomic.h"
#include "bench/micro/job.h"

#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/clock.h"

enum { STREAM = 1024, EVENTS = 4000 };

struct post {
	pami_client_t client;
	pami_context_t context[2];
	pami_work_t work[STREAM];
	volatile uint64_t ran;
	uint64_t at; /* ticks when the work began */
	cpu_set_t set;
	sem_t done;
};

static pami_result_t on_work(pami_context_t context, void *cookie)
{
	struct post *p = cookie;

	p->at = drv_clock_ticks();
	atomic_store_release(&p->ran, p->ran + 1);
	return PAMI_SUCCESS;
}

static pami_result_t on_work_asleep(pami_context_t context, void *cookie)
{
	struct post *p = cookie;

	p->at = drv_clock_ticks();
	sem_post(&p->done);
	return PAMI_SUCCESS;
}

static double ticks_to_us(uint64_t ticks)
{
	return (double)ticks / (double)drv_clock_ticks_per_us();
}

static void one_spinning(struct post *p, struct bench_samples *to, int call)
{
	uint64_t before = p->ran, start = drv_clock_ticks(), end;

	bench_check(PAMI_Context_post(p->context[1], &p->work[0], on_work, p));
	end = drv_clock_ticks();
	while (atomic_load_acquire(&p->ran) == before)
		drv_cpu_relax();
	bench_samples_add(to, ticks_to_us((call ? end : p->at) - start));
}

/* Yielding lets the commthread go to sleep and keeps the core awake, so that only the wake-up of
 * the thread is measured. */
static void one_asleep(struct post *p, struct bench_samples *to)
{
	uint64_t start = drv_clock_ticks();

	while (ticks_to_us(drv_clock_ticks() - start) < 100)
		sched_yield();
	start = drv_clock_ticks();
	bench_check(PAMI_Context_post(p->context[1], &p->work[0], on_work_asleep, p));
	while (sem_wait(&p->done))
		;
	bench_samples_add(to, ticks_to_us(p->at - start));
}

static void report_row(struct bench_job *job, const char *variant, const char *unit,
		       struct bench_samples *medians, struct bench_samples *events)
{
	struct bench_row row = {
	    .bench = "post", .variant = variant, .unit = unit, .from = 0, .to = -1, .hops = -1};

	bench_row_value(&row, medians);
	if (events->count)
		bench_row_percentiles(&row, events);
	bench_row_out(job, &row);
	bench_samples_free(medians);
	bench_samples_free(events);
}

/* how: 0 spinning, 1 call, 2 asleep */
static void measure_latency(struct bench_job *job, struct post *p, const char *variant, int how)
{
	struct bench_samples medians = {0}, all = {0};

	if (!bench_is_wanted(job, variant))
		return;
	for (unsigned r = 0; r < bench_repetitions(job); r++) {
		struct bench_samples events = {0};
		int n = how == 2 ? 150 : EVENTS;

		for (int i = 0; i < n; i++) {
			if (how == 2)
				one_asleep(p, &events);
			else
				one_spinning(p, &events, how);
		}
		bench_samples_add(&medians, bench_quantile(&events, 0.5));
		for (size_t i = 0; i < events.count; i++)
			bench_samples_add(&all, events.value[i]);
		bench_samples_free(&events);
	}
	report_row(job, variant, "us", &medians, &all);
}

static void measure_stream(struct bench_job *job, struct post *p)
{
	struct bench_samples rates = {0}, none = {0};
	const uint64_t count = 200000;

	if (!bench_is_wanted(job, "stream"))
		return;
	for (unsigned r = 0; r < bench_repetitions(job); r++) {
		uint64_t first = p->ran, start = drv_clock_ticks();

		for (uint64_t i = 0; i < count; i++) {
			while (i - (atomic_load_acquire(&p->ran) - first) >= STREAM)
				drv_cpu_relax();
			bench_check(
			    PAMI_Context_post(p->context[1], &p->work[i % STREAM], on_work, p));
		}
		while (atomic_load_acquire(&p->ran) - first < count)
			drv_cpu_relax();
		bench_samples_add(&rates, (double)count / ticks_to_us(drv_clock_ticks() - start));
	}
	report_row(job, "stream", "M/s", &rates, &none);
}

/* The commthread binds itself, as work. */
static pami_result_t on_bind(pami_context_t context, void *cookie)
{
	struct post *p = cookie;

	sched_setaffinity(0, sizeof(p->set), &p->set);
	sem_post(&p->done);
	return PAMI_SUCCESS;
}

static void bind_commthread(struct post *p, const cpu_set_t *set)
{
	p->set = *set;
	bench_check(PAMI_Context_post(p->context[1], &p->work[0], on_bind, p));
	while (sem_wait(&p->done))
		;
}

static void measure_rows(struct bench_job *job, struct post *p)
{
	cpu_set_t before, all, one;
	int cpu = -1, other = -1;

	sched_getaffinity(0, sizeof(before), &before);
	sched_getaffinity(1, sizeof(all), &all); /* the process's own: all cores it may use */
	for (int i = CPU_SETSIZE - 1; i >= 0; i--) {
		CPU_ZERO(&one);
		CPU_SET(i, &one);
		if (CPU_ISSET(i, &all) && !sched_setaffinity(0, sizeof(one), &one)) {
			other = cpu;
			cpu = i;
		}
	}
	CPU_ZERO(&one); /* this process is on the lowest core, cpu */
	if (other >= 0) {
		CPU_SET(other, &one);
		bind_commthread(p, &one);
		measure_latency(job, p, "spinning", 0);
		measure_latency(job, p, "call", 1);
		measure_stream(job, p);
		measure_latency(job, p, "asleep, other", 2);
		CPU_ZERO(&one);
	}
	if (cpu >= 0) {
		CPU_SET(cpu, &one);
		bind_commthread(p, &one);
		measure_latency(job, p, "asleep", 2);
	}
	sched_setaffinity(0, sizeof(before), &before);
	bind_commthread(p, &all);
}

int bench_post(struct bench_job *job)
{
	static struct post p;
	pami_result_t (*enter)(pami_context_t, void *, void *, void *, void *);
	pami_result_t (*enable)(pami_context_t, int);
	pami_extension_t e;

	if (job->is_virtual)
		return 0; /* threads have no turn there */
	sem_init(&p.done, 0, 0);
	bench_check(PAMI_Client_create("qbench-post", &p.client, NULL, 0));
	bench_check(PAMI_Context_createv(p.client, NULL, 0, p.context, 2));
	bench_check(PAMI_Extension_open(p.client, "EXT_async_progress", &e));
	*(void **)&enter = PAMI_Extension_symbol(e, "register");
	*(void **)&enable = PAMI_Extension_symbol(e, "enable");
	bench_barrier(job);
	if (job->task == 0) {
		bench_check(enter(p.context[1], NULL, NULL, NULL, NULL));
		bench_check(enable(p.context[1], 0));
		measure_rows(job, &p);
		bench_barrier(job);
	} else {
		bench_barrier_asleep(job);
	}
	bench_check(PAMI_Context_destroyv(p.context, 2));
	bench_check(PAMI_Client_destroy(&p.client));
	sem_destroy(&p.done);
	return 0;
}
