/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Half round trip between task 0 and each task of --to: Send_immediate and Send, 0 bytes to 1 MiB.
 * Both sides answer from their main loop, not from inside the dispatch function. Whole repetitions
 * are timed. In real time a further pass times single round trips for the percentiles.
 */
#include "bench/micro/job.h"

#include <stdlib.h>
#include <string.h>

struct latency {
	unsigned char *out, *in;
	volatile uint64_t arrived; /* whole messages */
	volatile uint64_t sending; /* sends whose buffer is still in use */
	uint64_t taken;
	size_t immediate_max;
};

enum { MIN = 0, MAX = 1 << 20 }; /* bytes */
enum { PINGS = 1 };              /* verb: answer `seed` pings of `bytes`, flags: by Send */

static void on_whole(pami_context_t context, void *cookie, pami_result_t result)
{
	((struct latency *)cookie)->arrived++;
}

static void on_sent(pami_context_t context, void *cookie, pami_result_t result)
{
	((struct latency *)cookie)->sending--;
}

static void on_data(pami_context_t context, void *cookie, const void *header, size_t header_bytes,
		    const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	struct latency *l = cookie;

	if (!recv) {
		l->arrived++;
		return;
	}
	memset(recv, 0, sizeof(*recv));
	recv->cookie = l;
	recv->local_fn = on_whole;
	recv->addr = l->in;
	recv->type = PAMI_TYPE_BYTE;
}

static void send_ping(struct bench_job *job, struct latency *l, pami_endpoint_t to, size_t bytes,
		      int by_send)
{
	pami_send_t s;

	if (!by_send) {
		bench_immediate(job, to, BENCH_DISPATCH_DATA, NULL, 0, l->out, bytes);
		return;
	}
	memset(&s, 0, sizeof(s));
	s.send.data.iov_base = l->out;
	s.send.data.iov_len = bytes;
	s.send.dispatch = job->dispatch + BENCH_DISPATCH_DATA;
	s.send.dest = to;
	s.events.cookie = l;
	s.events.local_fn = on_sent;
	l->sending++;
	bench_check(PAMI_Send(job->context, &s));
}

static void serve_commands(struct bench_job *job, void *arg)
{
	struct latency *l = arg;

	for (;;) {
		const struct bench_command c = *bench_command_wait(job);
		pami_endpoint_t driver = job->commander;

		if (!c.verb)
			break;
		for (uint64_t i = 0; i < c.seed; i++) {
			bench_wait(job, l->arrived > l->taken);
			l->taken++;
			send_ping(job, l, driver, c.bytes, (int)c.flags);
		}
	}
	bench_wait(job, !l->sending);
}

/* Returns seconds for `count` round trips; stores half of each one, in us, in `events` if it is not
 * NULL. */
static double round_trips(struct bench_job *job, struct latency *l, pami_endpoint_t to,
			  size_t bytes, int by_send, uint64_t count, struct bench_samples *events)
{
	struct bench_command c;
	double start, before;

	memset(&c, 0, sizeof(c));
	c.verb = PINGS;
	c.flags = (uint32_t)by_send;
	c.bytes = bytes;
	c.seed = count;
	bench_command_send(job, to, &c);
	start = before = bench_now(job);
	for (uint64_t i = 0; i < count; i++) {
		send_ping(job, l, to, bytes, by_send);
		bench_wait(job, l->arrived > l->taken);
		l->taken++;
		if (events) {
			double now = bench_now(job);

			bench_samples_add(events, (now - before) * 0.5e6);
			before = now;
		}
	}
	return bench_now(job) - start;
}

static void measure_row(struct bench_job *job, struct latency *l, unsigned peer, size_t bytes,
			int by_send)
{
	struct bench_samples repetitions = {0}, events = {0};
	pami_endpoint_t to = bench_endpoint(job, peer);
	struct bench_row row = {.bench = "latency",
				.variant = by_send ? "send" : "immediate",
				.bytes = bytes,
				.unit = "us",
				.from = 0,
				.to = (int)peer};
	uint64_t warm = job->is_virtual ? 4 : 64, count;

	/* The command that starts a repetition travels with its first ping: one in a few hundred.
	 */
	count = bench_warm(job, warm, round_trips(job, l, to, bytes, by_send, warm, NULL));
	for (unsigned r = 0; r < bench_repetitions(job); r++) {
		double s = round_trips(job, l, to, bytes, by_send, count, NULL);

		bench_samples_add(&repetitions, s / (double)count * 0.5e6);
	}
	bench_row_value(&row, &repetitions);
	if (!job->is_virtual) {
		round_trips(job, l, to, bytes, by_send, count < 1000 ? count : count / 2, &events);
		bench_row_percentiles(&row, &events);
	}
	bench_row_out(job, &row);
	bench_samples_free(&repetitions);
	bench_samples_free(&events);
}

static void drive_bench(struct bench_job *job, unsigned peer, void *arg)
{
	struct latency *l = arg;

	for (int by_send = 0; by_send < 2; by_send++) {
		size_t bytes;

		if (!bench_is_wanted(job, by_send ? "send" : "immediate"))
			continue;
		for (unsigned i = 0; bench_size(job, i, MIN, MAX, &bytes); i++)
			if (by_send || bytes <= l->immediate_max)
				measure_row(job, l, peer, bytes, by_send);
	}
	bench_wait(job, !l->sending);
}

int bench_latency(struct bench_job *job)
{
	static struct latency l;
	const size_t max = bench_size_max(job, MIN, MAX);

	l.immediate_max = bench_immediate_max(job);
	l.out = bench_memory(job, max + 1, NULL);
	l.in = bench_memory(job, max + 1, NULL);
	bench_dispatch_set(job, BENCH_DISPATCH_DATA, on_data, &l);
	bench_pairs(job, drive_bench, serve_commands, &l);
	return 0;
}
