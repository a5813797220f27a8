/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bandwidth of PAMI_Send through the memory FIFOs, at most `window` (16) messages unconfirmed.
 *
 * fifo      task 0 streams to each task of --to.
 * exchange  task 0 and 1, 2 ... --to tasks stream to each other in both directions at once, 1 MiB,
 *           eager and rendezvous; the number counts both directions (the throughput table of the
 *           PAMI paper: neighbours on different links).
 */
#include "bench/micro/job.h"

#include <string.h>

struct stream {
	pami_endpoint_t peer;
	volatile uint64_t arrived;   /* whole messages from the peer */
	volatile uint64_t confirmed; /* confirmed by the peer */
	volatile uint64_t sending;
	uint64_t acknowledged, sent;
};

struct fifo {
	struct bench_job *job;
	unsigned char *out, *in;
	struct stream stream[BENCH_TO_MAX];
	unsigned streams;
	unsigned due;
	size_t max; /* bytes of the largest message */
};

enum { MIN = 8, MAX = 1 << 20 }; /* bytes */
enum { STREAM = 1, BOTH };       /* verbs: receive `seed` messages of `bytes`; send as many too */

static struct stream *stream_of(struct fifo *f, pami_endpoint_t origin)
{
	for (unsigned i = 0; i < f->streams; i++)
		if (f->stream[i].peer == origin)
			return &f->stream[i];
	fprintf(stderr, "qbench: a message from an endpoint that is no peer\n");
	return &f->stream[0];
}

static void on_whole(pami_context_t context, void *cookie, pami_result_t result)
{
	((struct stream *)cookie)->arrived++;
}

static void on_sent(pami_context_t context, void *cookie, pami_result_t result)
{
	((struct stream *)cookie)->sending--;
}

static void on_data(pami_context_t context, void *cookie, const void *header, size_t header_bytes,
		    const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	struct fifo *f = cookie;
	struct stream *s = stream_of(f, origin);

	if (!recv) {
		memcpy(f->in, pipe, bytes);
		s->arrived++;
		return;
	}
	memset(recv, 0, sizeof(*recv));
	recv->cookie = s;
	recv->local_fn = on_whole;
	recv->addr = f->in;
	recv->type = PAMI_TYPE_BYTE;
}

static void on_confirm(pami_context_t context, void *cookie, const void *header,
		       size_t header_bytes, const void *pipe, size_t bytes, pami_endpoint_t origin,
		       pami_recv_t *recv)
{
	uint64_t n;

	memcpy(&n, header, sizeof(n));
	stream_of(cookie, origin)->confirmed += n;
}

static void send_one(struct fifo *f, struct stream *to, size_t bytes, int eager)
{
	pami_send_t s;

	memset(&s, 0, sizeof(s));
	s.send.data.iov_base = f->out;
	s.send.data.iov_len = bytes;
	s.send.dispatch = f->job->dispatch + BENCH_DISPATCH_DATA;
	s.send.dest = to->peer;
	if (eager)
		s.send.hints.use_rdma = eager > 0 ? PAMI_HINT_DISABLE : PAMI_HINT_ENABLE;
	s.events.cookie = to;
	s.events.local_fn = on_sent;
	to->sending++;
	to->sent++;
	bench_check(PAMI_Send(f->job->context, &s));
}

static void confirm_received(struct fifo *f, struct stream *s, uint64_t n)
{
	bench_immediate(f->job, s->peer, BENCH_DISPATCH_REPLY, &n, sizeof(n), NULL, 0);
	s->acknowledged += n;
}

/* One step of a stream: send while the window allows, confirm what arrived. Returns true when it is
 * done. */
static int step_stream(struct fifo *f, struct stream *s, size_t bytes, int eager, uint64_t send,
		       uint64_t receive)
{
	/* Messages beyond that are the next repetition's. */
	uint64_t arrived = s->arrived < receive ? s->arrived : receive;

	if (s->sent < send && s->sent - s->confirmed < 2 * f->due)
		send_one(f, s, bytes, eager);
	if (arrived - s->acknowledged >= f->due ||
	    (arrived == receive && s->acknowledged != receive))
		confirm_received(f, s, arrived - s->acknowledged);
	return s->sent == send && s->confirmed == send && s->acknowledged == receive && !s->sending;
}

static void run_streams(struct fifo *f, size_t bytes, int eager, uint64_t send, uint64_t receive)
{
	unsigned done;

	do {
		done = 0;
		for (unsigned i = 0; i < f->streams; i++)
			done +=
			    (unsigned)step_stream(f, &f->stream[i], bytes, eager, send, receive);
		if (done < f->streams)
			bench_advance(f->job);
	} while (done < f->streams);
	for (unsigned i = 0; i < f->streams; i++) {
		struct stream *s = &f->stream[i];

		s->arrived -= receive;
		s->acknowledged = s->sent = s->confirmed = 0;
	}
}

static void serve_commands(struct bench_job *job, void *arg)
{
	struct fifo *f = arg;

	for (;;) {
		const struct bench_command c = *bench_command_wait(job);

		if (!c.verb)
			return;
		run_streams(f, c.bytes, (int)c.flags - 1, c.verb == BOTH ? c.seed : 0, c.seed);
	}
}

/* Seconds for `count` messages to every stream (and as many back, if `both`). */
static double time_repetition(struct fifo *f, size_t bytes, int eager, uint64_t count, int both)
{
	struct bench_command c;
	double start;

	memset(&c, 0, sizeof(c));
	c.verb = both ? BOTH : STREAM;
	c.flags = (uint32_t)(eager + 1);
	c.bytes = bytes;
	c.seed = count;
	start = bench_now(f->job);
	for (unsigned i = 0; i < f->streams; i++)
		bench_command_send(f->job, f->stream[i].peer, &c);
	run_streams(f, bytes, eager, count, both ? count : 0);
	return bench_now(f->job) - start;
}

static void measure_row(struct fifo *f, struct bench_row *row, int eager, int both)
{
	struct bench_samples repetitions = {0};
	uint64_t warm = f->job->is_virtual ? 4 : 32, count;

	count = bench_warm(f->job, warm, time_repetition(f, row->bytes, eager, warm, both));
	if (count < 2 * f->due && !f->job->is_virtual)
		count = 2 * f->due;
	for (unsigned i = 0; i < bench_repetitions(f->job); i++) {
		double s = time_repetition(f, row->bytes, eager, count, both);

		bench_samples_add(&repetitions,
				  (double)(row->bytes * count * f->streams * (both ? 2 : 1)) / s *
				      1e-9);
	}
	bench_row_value(row, &repetitions);
	bench_row_out(f->job, row);
	bench_samples_free(&repetitions);
}

static void drive_bench(struct bench_job *job, unsigned peer, void *arg)
{
	const char *variants[3] = {"rendezvous", "send", "eager"};
	struct fifo *f = arg;
	size_t bytes;

	f->streams = 1;
	f->stream[0] = (struct stream){.peer = bench_endpoint(job, peer)};
	for (unsigned i = 0; bench_size(job, i, MIN, MAX, &bytes); i++) {
		struct bench_row row = {.bench = "fifo",
					.variant = variants[job->options.eager + 1],
					.bytes = bytes,
					.unit = "GB/s",
					.from = 0,
					.to = (int)peer};

		if (bytes)
			measure_row(f, &row, job->options.eager, 0);
	}
}

static void open_fifo(struct bench_job *job, struct fifo *f)
{
	f->job = job;
	f->max = bench_size_max(job, MIN, MAX);
	f->due = (job->options.window ? job->options.window : 16) / 2;
	f->due += f->due == 0;
	f->out = bench_memory(job, f->max, NULL);
	f->in = bench_memory(job, f->max, NULL);
	f->streams = 1; /* of a serving task; its first message may arrive while the task is still
			 * in the barrier */
	f->stream[0].peer = bench_endpoint(job, 0);
	bench_dispatch_set(job, BENCH_DISPATCH_DATA, on_data, f);
	bench_dispatch_set(job, BENCH_DISPATCH_REPLY, on_confirm, f);
}

int bench_fifo(struct bench_job *job)
{
	static struct fifo f;

	open_fifo(job, &f);
	bench_pairs(job, drive_bench, serve_commands, &f);
	return 0;
}

int bench_exchange(struct bench_job *job)
{
	static struct fifo f;
	const char *variants[2] = {"eager", "rendezvous"};

	open_fifo(job, &f);
	bench_barrier(job);
	if (job->task == 0) {
		struct bench_command quit;

		for (unsigned i = 0; i < job->options.to_count; i++)
			f.stream[i].peer = bench_endpoint(job, job->options.to[i]);
		for (unsigned n = 1; n <= job->options.to_count; n++)
			for (int v = 0; v < 2; v++) {
				struct bench_row row = {.bench = "exchange",
							.variant = variants[v],
							.bytes = f.max,
							.unit = "GB/s",
							.from = 0,
							.to = -1,
							.hops = -1,
							.pairs = n};

				if (!bench_is_wanted(job, variants[v]) ||
				    (job->options.eager && job->options.eager != 1 - 2 * v))
					continue;
				f.streams = n;
				measure_row(&f, &row, 1 - 2 * v, 1);
			}
		memset(&quit, 0, sizeof(quit));
		for (unsigned i = 0; i < job->options.to_count; i++)
			bench_command_send(job, f.stream[i].peer, &quit);
	} else {
		for (unsigned i = 0; i < job->options.to_count; i++)
			if (job->options.to[i] == job->task)
				serve_commands(job, &f);
	}
	bench_barrier(job);
	return 0;
}
