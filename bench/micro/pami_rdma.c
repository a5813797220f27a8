/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMA between task 0 and each task of --to: Rput and Rget, latency of one operation, and bandwidth
 * with `window` (16) in flight, 8 bytes to 1 MiB. A put ends when the data is in place at the
 * target (rdone_fn), a get when the data is here. All operations use the same buffers, as the
 * memcpy that they are compared with does. The bench checks the data of each size, and that nothing
 * beyond it changed.
 */
#include "bench/micro/job.h"

#include <string.h>

enum { MIN = 8, MAX = 1 << 20, GUARD = 64 }; /* bytes */
enum { ADDRESS = 1, FILL, VERIFY };          /* verbs */

struct rdma {
	unsigned char *memory;
	pami_memregion_t region, remote;
	volatile uint64_t local_done, remote_done, replies;
	volatile int error;
	uint64_t reply_value;
};

static void on_reply(pami_context_t context, void *cookie, const void *header, size_t header_bytes,
		     const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	struct rdma *r = cookie;

	if (header_bytes == sizeof(r->remote))
		memcpy(&r->remote, header, sizeof(r->remote));
	else
		memcpy(&r->reply_value, header, sizeof(r->reply_value));
	r->replies++;
}

static void on_local(pami_context_t context, void *cookie, pami_result_t result)
{
	struct rdma *r = cookie;

	r->error |= result != PAMI_SUCCESS;
	r->local_done++;
}

static void on_remote(pami_context_t context, void *cookie, pami_result_t result)
{
	struct rdma *r = cookie;

	r->error |= result != PAMI_SUCCESS;
	r->remote_done++;
}

static void serve_commands(struct bench_job *job, void *arg)
{
	struct rdma *r = arg;

	for (;;) {
		const struct bench_command c = *bench_command_wait(job);
		uint64_t ok = 1;

		if (!c.verb)
			return;
		if (c.verb == ADDRESS) {
			bench_immediate(job, job->commander, BENCH_DISPATCH_REPLY, &r->region,
					sizeof(r->region), NULL, 0);
			continue;
		}
		if (c.verb == FILL)
			bench_fill(r->memory, c.bytes + GUARD, c.seed);
		else
			ok = (uint64_t)(bench_is_filled(r->memory, c.bytes, c.seed) &&
					bench_is_filled(r->memory + c.bytes, GUARD, ~c.seed));
		bench_immediate(job, job->commander, BENCH_DISPATCH_REPLY, &ok, sizeof(ok), NULL,
				0);
	}
}

static uint64_t command_and_wait(struct bench_job *job, struct rdma *r, pami_endpoint_t to,
				 uint32_t verb, size_t bytes, uint64_t seed)
{
	uint64_t before = r->replies;
	struct bench_command c;

	memset(&c, 0, sizeof(c));
	c.verb = verb;
	c.bytes = bytes;
	c.seed = seed;
	bench_command_send(job, to, &c);
	bench_wait(job, r->replies != before);
	return r->reply_value;
}

static void start_one(struct bench_job *job, struct rdma *r, pami_endpoint_t to, size_t bytes,
		      int is_get)
{
	pami_rma_t rma = {
	    .dest = to, .bytes = bytes, .cookie = r, .done_fn = is_get ? on_remote : on_local};
	pami_rdma_t rdma = {.local.mr = &r->region, .remote.mr = &r->remote};

	if (is_get) {
		pami_rget_simple_t g = {.rma = rma, .rdma = rdma};

		bench_check(PAMI_Rget(job->context, &g));
	} else {
		pami_rput_simple_t p = {.rma = rma, .rdma = rdma, .put.rdone_fn = on_remote};

		bench_check(PAMI_Rput(job->context, &p));
	}
}

static double run_transfers(struct bench_job *job, struct rdma *r, pami_endpoint_t to, size_t bytes,
			    int is_get, uint64_t count, unsigned window)
{
	const uint64_t first = r->remote_done;
	double start = bench_now(job);

	for (uint64_t i = 0; i < count; i++) {
		bench_wait(job, r->remote_done - first + window > i);
		start_one(job, r, to, bytes, is_get);
	}
	bench_wait(job, r->remote_done - first == count);
	return bench_now(job) - start;
}

static const char *check_transfer(struct bench_job *job, struct rdma *r, pami_endpoint_t to,
				  size_t bytes, int is_get)
{
	uint64_t seed = bytes * 2 + (uint64_t)is_get + 12345;
	int ok;

	if (is_get) {
		command_and_wait(job, r, to, FILL, bytes, seed);
		bench_fill(r->memory, bytes, ~seed);
		bench_fill(r->memory + bytes, GUARD, ~seed);
		run_transfers(job, r, to, bytes, 1, 1, 1);
		ok = bench_is_filled(r->memory, bytes, seed) &&
		     bench_is_filled(r->memory + bytes, GUARD, ~seed);
	} else {
		/* Write guards at the target: a longer put of this buffer, whose end holds the
		 * guard. */
		command_and_wait(job, r, to, FILL, bytes, 0);
		bench_fill(r->memory, bytes, seed);
		bench_fill(r->memory + bytes, GUARD, ~seed);
		run_transfers(job, r, to, bytes + GUARD, 0, 1, 1);
		bench_fill(r->memory + bytes, GUARD, 0);
		run_transfers(job, r, to, bytes, 0, 1, 1);
		ok = command_and_wait(job, r, to, VERIFY, bytes, seed) == 1;
	}
	return ok && !r->error ? "ok" : "BAD";
}

static int measure_row(struct bench_job *job, struct rdma *r, unsigned peer, size_t bytes,
		       int is_get, int bandwidth)
{
	const char *variants[2][2] = {{"put latency", "put"}, {"get latency", "get"}};
	pami_endpoint_t to = bench_endpoint(job, peer);
	unsigned window = !bandwidth ? 1 : job->options.window ? job->options.window : 16;
	struct bench_row row = {.bench = "rdma",
				.variant = variants[is_get][bandwidth],
				.bytes = bytes,
				.unit = bandwidth ? "GB/s" : "us",
				.from = 0,
				.to = (int)peer};
	struct bench_samples repetitions = {0};
	uint64_t warm = job->is_virtual ? 4 : window + 16, count;

	if (!bench_is_wanted(job, row.variant))
		return 0;
	row.check = check_transfer(job, r, to, bytes, is_get);
	count = bench_warm(job, warm, run_transfers(job, r, to, bytes, is_get, warm, window));
	if (count < window && !job->is_virtual)
		count = window;
	for (unsigned i = 0; i < bench_repetitions(job); i++) {
		double s = run_transfers(job, r, to, bytes, is_get, count, window) / (double)count;

		bench_samples_add(&repetitions, bandwidth ? (double)bytes / s * 1e-9 : s * 1e6);
	}
	bench_row_value(&row, &repetitions);
	bench_row_out(job, &row);
	bench_samples_free(&repetitions);
	return r->error || strcmp(row.check, "ok") != 0;
}

static void drive_bench(struct bench_job *job, unsigned peer, void *arg)
{
	struct rdma *r = arg;

	command_and_wait(job, r, bench_endpoint(job, peer), ADDRESS, 0, 0);
	for (int bandwidth = 0; bandwidth < 2; bandwidth++)
		for (int is_get = 0; is_get < 2; is_get++) {
			size_t bytes;

			for (unsigned i = 0; bench_size(job, i, MIN, MAX, &bytes); i++)
				if (bytes && measure_row(job, r, peer, bytes, is_get, bandwidth))
					r->error = 1;
		}
}

int bench_rdma(struct bench_job *job)
{
	static struct rdma r;

	r.memory = bench_memory(job, bench_size_max(job, MIN, MAX) + GUARD, &r.region);
	bench_dispatch_set(job, BENCH_DISPATCH_REPLY, on_reply, &r);
	bench_pairs(job, drive_bench, serve_commands, &r);
	bench_check(PAMI_Memregion_destroy(job->context, &r.region));
	return r.error;
}
