/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Message rate of Send_immediate: task i sends to task i + tasks/2, all pairs at the same time (or,
 * with --to, task 0 to each of those in turn), with at most `window` (64) messages that the
 * receiver has not confirmed. The receiver confirms every half window with one 8-byte message. A
 * repetition ends with the last confirmation. The row is the sum over the pairs.
 *
 * node: process t of node 0 sends to process t of one of the nodes 1, 2, 4, 8, 16 (its neighbours
 * where every extent is 2), spread over those that exist: the message rate of one node.
 */
#include "bench/micro/job.h"

#include <string.h>

struct rate {
	volatile uint64_t arrived, confirmed;
	volatile uint64_t results;
	double sum;
	pami_endpoint_t peer;
	uint64_t due; /* messages after which the receiver confirms */
	int sender, receiver;
	size_t pairs, to; /* --to: the task that task 0 sends to */
};

static void on_data(pami_context_t context, void *cookie, const void *header, size_t header_bytes,
		    const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	((struct rate *)cookie)->arrived++;
}

static void on_confirm(pami_context_t context, void *cookie, const void *header,
		       size_t header_bytes, const void *pipe, size_t bytes, pami_endpoint_t origin,
		       pami_recv_t *recv)
{
	struct rate *r = cookie;
	double value;

	if (header_bytes == 0) {
		r->confirmed++;
		return;
	}
	memcpy(&value, header, sizeof(value)); /* the result of a pair, for task 0 */
	r->sum += value;
	r->results++;
}

static double send_flood(struct bench_job *job, struct rate *r, size_t bytes, uint64_t batches)
{
	static const char payload[512];
	const uint64_t first = r->confirmed;
	double start = bench_now(job);

	for (uint64_t b = 0; b < batches; b++) {
		bench_wait(job, r->confirmed - first + 2 > b);
		for (uint64_t i = 0; i < r->due; i++)
			bench_immediate(job, r->peer, BENCH_DISPATCH_DATA, NULL, 0, payload, bytes);
	}
	bench_wait(job, r->confirmed - first == batches);
	return bench_now(job) - start;
}

static void receive_batches(struct bench_job *job, struct rate *r, uint64_t batches)
{
	static const uint64_t confirm;

	for (uint64_t b = 0; b < batches; b++) {
		bench_wait(job, r->arrived >= r->due);
		r->arrived -= r->due;
		bench_immediate(job, r->peer, BENCH_DISPATCH_REPLY, NULL, 0, &confirm,
				sizeof(confirm));
	}
}

/* Task 0 sends all tasks the number of batches of a repetition; all run it between barriers. */
static void measure_row(struct bench_job *job, struct rate *r, size_t bytes, const char *bench)
{
	struct bench_samples rates = {0};
	struct bench_row row = {.bench = bench,
				.variant = "immediate",
				.bytes = bytes,
				.unit = "M/s",
				.from = 0,
				.to = (int)r->to,
				.pairs = (unsigned)r->pairs};
	uint64_t batches = job->is_virtual ? 4 : 64;
	const unsigned warm = job->is_virtual ? 1 : 3;
	double best = 0;

	for (unsigned rep = 0; rep < warm + bench_repetitions(job); rep++) {
		double seconds = 0;

		bench_barrier(job);
		if (r->sender)
			seconds = send_flood(job, r, bytes, batches);
		else if (r->receiver)
			receive_batches(job, r, batches);
		if (r->sender && rep >= warm) {
			double rate = (double)(batches * r->due) / seconds * 1e-6;

			bench_immediate(job, bench_endpoint(job, 0), BENCH_DISPATCH_REPLY, &rate,
					sizeof(rate), NULL, 0);
		}
		if (job->task == 0 && rep >= warm) {
			bench_wait(job, r->results == r->pairs);
			bench_samples_add(&rates, r->sum);
			r->results = 0;
			r->sum = 0;
		}
		best = rep == 0 || seconds < best ? seconds : best;
		if (rep + 1 != warm)
			continue;
		/* The first repetitions were the warm-up; the fastest of them sets the length of
		 * the others (bench_warm()). */
		if (job->task == 0) {
			struct bench_command c;

			memset(&c, 0, sizeof(c));
			c.verb = 1;
			c.seed = batches = bench_scale(job, batches, best);
			for (size_t t = 1; t < job->tasks; t++)
				bench_command_send(job, bench_endpoint(job, t), &c);
		} else {
			batches = bench_command_wait(job)->seed;
		}
	}
	if (job->task == 0) {
		bench_row_value(&row, &rates);
		bench_row_out(job, &row);
	}
	bench_samples_free(&rates);
}

static void sweep_sizes(struct bench_job *job, struct rate *r, const char *bench)
{
	const size_t max = bench_immediate_max(job);
	size_t bytes;

	for (unsigned i = 0; bench_size(job, i, 8, 8, &bytes); i++)
		if (bytes <= max)
			measure_row(job, r, bytes, bench);
}

int bench_rate(struct bench_job *job)
{
	static struct rate r;
	const size_t half = job->tasks / 2;
	struct bench_options *o = &job->options;

	r.due = (o->window ? o->window : 64) / 2;
	r.due += r.due == 0;
	bench_dispatch_set(job, BENCH_DISPATCH_DATA, on_data, &r);
	bench_dispatch_set(job, BENCH_DISPATCH_REPLY, on_confirm, &r);
	bench_barrier(job);
	if (!o->to_given) {
		r.pairs = r.to = half;
		r.sender = job->task < half;
		r.receiver = !r.sender && job->task < 2 * half;
		r.peer = bench_endpoint(job, r.sender ? job->task + half : job->task - half);
		sweep_sizes(job, &r, "rate");
	}
	for (unsigned i = 0; o->to_given && i < o->to_count; i++) {
		r.pairs = 1;
		r.to = o->to[i];
		r.sender = job->task == 0;
		r.receiver = job->task == r.to;
		r.peer = bench_endpoint(job, r.sender ? r.to : 0);
		sweep_sizes(job, &r, "rate");
	}
	bench_barrier(job);
	return 0;
}

int bench_node(struct bench_job *job)
{
	static struct rate r;
	pami_configuration_t q = {.name = PAMI_CLIENT_NUM_LOCAL_TASKS};
	size_t per, nodes, others = 0, at, list[5];

	bench_check(PAMI_Client_query(job->client, &q, 1));
	per = q.value.intval;
	nodes = job->tasks / per;
	for (size_t n = 1; n < nodes && others < 5; n *= 2)
		list[others++] = n;
	r.due = (job->options.window ? job->options.window : 64) / 2;
	r.due += r.due == 0;
	bench_dispatch_set(job, BENCH_DISPATCH_DATA, on_data, &r);
	bench_dispatch_set(job, BENCH_DISPATCH_REPLY, on_confirm, &r);
	bench_barrier(job);
	if (!others) {
		if (job->task == 0)
			fprintf(stderr, "qbench: node needs two nodes or more: torus run --shape "
					"2x1x1x1x1xT\n");
		return 1;
	}
	at = job->task % per;
	r.pairs = per;
	r.to = list[0] * per;
	r.sender = job->task < per;
	r.receiver = job->task / per == list[at % others];
	r.peer = bench_endpoint(job, r.sender ? list[at % others] * per + at : at);
	sweep_sizes(job, &r, "node");
	bench_barrier(job);
	return 0;
}
