/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fetch-and-add by task 0 on a word of each task of --to, one at a time.
 *
 * arena     the word lies in memory that the tasks of a node share (EXT_quintorus_memory)
 * private   in the target's own memory; the target polls
 * computing as private, while the target computes and makes no call
 * asleep    as private, while the target sleeps in the kernel
 * get, get computing, get asleep: in the place of the addition a get of the word, PAMI_Get()
 * shared    as arena, while the target adds to the same word: operations a second of both
 * The sum of all additions is checked at the end.
 */
#include "drivers/base/atomic.h"
#include "bench/micro/job.h"

#include <string.h>
#include <time.h>

#include "pami/ext_memory.h"

enum { ADDRESSES = 1, ADD, READ, COMPUTE, SLEEP }; /* verbs */

#define COMPUTE_S 0.02 /* for so long; operations are made during half of it */

struct rmw {
	uint64_t *arena, own, *there[2]; /* at the peer: in the arena, and private */
	volatile uint64_t replies, done;
	uint64_t value, added;
	int error;
};

static void on_reply(pami_context_t context, void *cookie, const void *header, size_t header_bytes,
		     const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	struct rmw *r = cookie;

	if (header_bytes == sizeof(r->there))
		memcpy(r->there, header, sizeof(r->there));
	else
		memcpy(&r->value, header, sizeof(r->value));
	r->replies++;
}

static void on_done(pami_context_t context, void *cookie, pami_result_t result)
{
	struct rmw *r = cookie;

	r->error |= result != PAMI_SUCCESS;
	r->done++;
}

static double time_adds(struct bench_job *job, struct rmw *r, pami_endpoint_t to, uint64_t *word,
			uint64_t count)
{
	uint64_t one = 1, old;
	pami_rmw_t p;
	double start;

	memset(&p, 0, sizeof(p));
	p.dest = to;
	p.cookie = r;
	p.done_fn = on_done;
	p.local = &old;
	p.remote = word;
	p.value = &one;
	p.operation = PAMI_ATOMIC_FETCH_ADD;
	p.type = PAMI_TYPE_UNSIGNED_LONG_LONG;
	start = bench_now(job);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t before = r->done;

		bench_check(PAMI_Rmw(job->context, &p));
		bench_wait(job, r->done != before);
	}
	r->added += count;
	return bench_now(job) - start;
}

/* As time_adds(), for gets. */
static double time_gets(struct bench_job *job, struct rmw *r, pami_endpoint_t to, uint64_t *word,
			uint64_t count)
{
	uint64_t value;
	pami_get_simple_t g;
	double start;

	memset(&g, 0, sizeof(g));
	g.rma.dest = to;
	g.rma.bytes = sizeof(value);
	g.rma.cookie = r;
	g.rma.done_fn = on_done;
	g.addr.local = &value;
	g.addr.remote = word;
	start = bench_now(job);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t before = r->done;

		bench_check(PAMI_Get(job->context, &g));
		bench_wait(job, r->done != before);
	}
	return bench_now(job) - start;
}

typedef double time_fn(struct bench_job *job, struct rmw *r, pami_endpoint_t to, uint64_t *word,
		       uint64_t count);

static void serve_commands(struct bench_job *job, void *arg)
{
	struct rmw *r = arg;
	uint64_t *mine[2] = {r->arena, &r->own};

	for (;;) {
		const struct bench_command c = *bench_command_wait(job);
		uint64_t value = 0;
		double s;

		if (!c.verb)
			return;
		if (c.verb == ADDRESSES) {
			bench_immediate(job, job->commander, BENCH_DISPATCH_REPLY, mine,
					sizeof(mine), NULL, 0);
			continue;
		}
		if (c.verb == COMPUTE || c.verb == SLEEP) {
			bench_immediate(job, job->commander, BENCH_DISPATCH_REPLY, &value,
					sizeof(value), NULL, 0);
			PAMI_Context_advance(job->context, 1);
			if (c.verb == SLEEP)
				nanosleep(&(struct timespec){.tv_nsec = (long)(COMPUTE_S * 1e9)},
					  NULL);
			else
				for (s = bench_now(job); bench_now(job) - s < COMPUTE_S;)
					;
			continue;
		}
		if (c.verb == ADD) {
			s = time_adds(job, r, bench_endpoint(job, job->task), r->arena, c.seed);
			memcpy(&value, &s, sizeof(value));
		} else {
			value = atomic_load_acquire(mine[c.flags]);
		}
		bench_immediate(job, job->commander, BENCH_DISPATCH_REPLY, &value, sizeof(value),
				NULL, 0);
	}
}

static void send_command(struct bench_job *job, struct rmw *r, pami_endpoint_t to, uint32_t verb,
			 uint32_t flags, uint64_t seed)
{
	struct bench_command c;

	memset(&c, 0, sizeof(c));
	c.verb = verb;
	c.flags = flags;
	c.seed = seed;
	bench_command_send(job, to, &c);
}

static uint64_t command_and_wait(struct bench_job *job, struct rmw *r, pami_endpoint_t to,
				 uint32_t verb, uint32_t flags)
{
	uint64_t before = r->replies;

	send_command(job, r, to, verb, flags, 0);
	bench_wait(job, r->replies != before);
	return r->value;
}

/* Both tasks add. The row counts the operations of the two together, while both run. */
static double time_both(struct bench_job *job, struct rmw *r, pami_endpoint_t to, uint64_t count)
{
	uint64_t before = r->replies;
	double mine, theirs;

	send_command(job, r, to, ADD, 0, count);
	mine = time_adds(job, r, to, r->there[0], count);
	bench_wait(job, r->replies != before);
	memcpy(&theirs, &r->value, sizeof(theirs));
	r->added += count;
	return (double)count * (1 / mine + 1 / theirs) * 1e-6;
}

/* Microseconds of an operation while the target is busy as the verb says. The first waits for the
 * target's engine thread to notice that nobody polls, and does not count. */
static double time_busy(struct bench_job *job, struct rmw *r, pami_endpoint_t to, uint32_t verb,
			time_fn *operation)
{
	double begin, spent = 0;
	uint64_t count = 0;

	command_and_wait(job, r, to, verb, 0);
	begin = bench_now(job);
	operation(job, r, to, r->there[1], 1);
	while (bench_now(job) - begin < COMPUTE_S / 2) {
		spent += operation(job, r, to, r->there[1], 1);
		count++;
	}
	return count ? spent / (double)count * 1e6 : COMPUTE_S * 1e6;
}

static void measure_busy(struct bench_job *job, struct rmw *r, unsigned peer, const char *variant,
			 uint32_t verb, time_fn *operation)
{
	pami_endpoint_t to = bench_endpoint(job, peer);
	struct bench_row row = {.bench = "rmw",
				.variant = variant,
				.bytes = 8,
				.unit = "us",
				.from = 0,
				.to = (int)peer};
	struct bench_samples repetitions = {0};
	uint64_t first;

	if (!bench_is_wanted(job, row.variant))
		return;
	first = command_and_wait(job, r, to, READ, 1);
	r->added = 0;
	for (unsigned i = 0; i < bench_repetitions(job); i++)
		bench_samples_add(&repetitions, time_busy(job, r, to, verb, operation));
	row.check =
	    command_and_wait(job, r, to, READ, 1) - first == r->added && !r->error ? "ok" : "BAD";
	r->error |= strcmp(row.check, "ok") != 0;
	bench_row_value(&row, &repetitions);
	bench_row_out(job, &row);
	bench_samples_free(&repetitions);
}

static void measure_row(struct bench_job *job, struct rmw *r, unsigned peer, const char *variant,
			int where, int shared, time_fn *operation)
{
	pami_endpoint_t to = bench_endpoint(job, peer);
	struct bench_row row = {.bench = "rmw",
				.variant = variant,
				.bytes = 8,
				.unit = shared ? "M/s" : "us",
				.from = 0,
				.to = (int)peer};
	struct bench_samples repetitions = {0}, events = {0};
	uint64_t count, first;

	if (!bench_is_wanted(job, variant))
		return;
	first = command_and_wait(job, r, to, READ, (uint32_t)where);
	r->added = 0;
	count = bench_warm(job, 64, operation(job, r, to, r->there[where], 64));
	for (unsigned i = 0; i < bench_repetitions(job); i++)
		bench_samples_add(&repetitions,
				  shared ? time_both(job, r, to, count)
					 : operation(job, r, to, r->there[where], count) /
					       (double)count * 1e6);
	for (int i = 0; !job->is_virtual && !shared && i < 2000; i++)
		bench_samples_add(&events, operation(job, r, to, r->there[where], 1) * 1e6);
	row.check =
	    command_and_wait(job, r, to, READ, (uint32_t)where) - first == r->added && !r->error
		? "ok"
		: "BAD";
	r->error |= strcmp(row.check, "ok") != 0;
	bench_row_value(&row, &repetitions);
	if (events.count)
		bench_row_percentiles(&row, &events);
	bench_row_out(job, &row);
	bench_samples_free(&repetitions);
	bench_samples_free(&events);
}

static void drive_bench(struct bench_job *job, unsigned peer, void *arg)
{
	struct rmw *r = arg;

	command_and_wait(job, r, bench_endpoint(job, peer), ADDRESSES, 0);
	if (r->there[0] && !job->is_virtual)
		measure_row(job, r, peer, "arena", 0, 0, time_adds);
	measure_row(job, r, peer, "private", 1, 0, time_adds);
	measure_row(job, r, peer, "get", 1, 0, time_gets);
	if (!job->is_virtual) {
		measure_busy(job, r, peer, "computing", COMPUTE, time_adds);
		measure_busy(job, r, peer, "get computing", COMPUTE, time_gets);
		measure_busy(job, r, peer, "asleep", SLEEP, time_adds);
		measure_busy(job, r, peer, "get asleep", SLEEP, time_gets);
	}
	if (r->there[0] && !job->is_virtual)
		measure_row(job, r, peer, "shared", 0, 1, time_adds);
}

int bench_rmw(struct bench_job *job)
{
	static struct rmw r;
	pami_extension_t e;
	pami_quintorus_alloc_fn allocate = NULL;
	pami_quintorus_free_fn release = NULL;

	if (PAMI_Extension_open(job->client, "EXT_quintorus_memory", &e) == PAMI_SUCCESS) {
		*(void **)&allocate = PAMI_Extension_symbol(e, "alloc");
		*(void **)&release = PAMI_Extension_symbol(e, "free");
		r.arena = allocate(64, 64);
		if (r.arena)
			*r.arena = 0;
	}
	bench_dispatch_set(job, BENCH_DISPATCH_REPLY, on_reply, &r);
	bench_pairs(job, drive_bench, serve_commands, &r);
	bench_barrier(job);
	if (r.arena)
		release(r.arena);
	return r.error;
}
