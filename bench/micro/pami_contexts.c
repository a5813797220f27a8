/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Message rate of several contexts, the shape of the PAMI paper's figure 5: task i sends to task
 * i + tasks/2, context to context, 8 bytes, at most 64 unconfirmed on each (a reply every 32).
 *
 * N contexts     a thread of the program drives each
 * N commthreads  the program's one thread posts a work object per 32 messages to each context in
 *                turn; commthreads send, receive and reply
 */
#include "drivers/base/atomic.h"
#include "bench/micro/job.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

enum { CONTEXTS = 4, BATCH = 32, DATA = 1, CONFIRM = 2 };

struct lane {
	struct contexts *all;
	unsigned number;
	pami_endpoint_t peer;
	volatile uint64_t arrived, confirmed, posted;
	uint64_t batches;
	pami_work_t work[2];
};

struct contexts {
	struct bench_job *job;
	pami_client_t client;
	pami_context_t context[CONTEXTS];
	struct lane lane[CONTEXTS];
	int sender, receiver;
};

static void send_immediate(struct lane *l, size_t dispatch, const void *data, size_t bytes)
{
	pami_send_immediate_t s;

	memset(&s, 0, sizeof(s));
	s.data.iov_base = (void *)(uintptr_t)data;
	s.data.iov_len = bytes;
	s.dispatch = dispatch;
	s.dest = l->peer;
	bench_check(PAMI_Send_immediate(l->all->context[l->number], &s));
}

static void on_data(pami_context_t context, void *cookie, const void *header, size_t header_bytes,
		    const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	struct lane *l = cookie;

	uint64_t arrived = l->arrived + 1;

	atomic_store_release(&l->arrived, arrived);
	if (arrived % BATCH == 0)
		send_immediate(l, CONFIRM, &arrived, sizeof(arrived));
}

static void on_confirm(pami_context_t context, void *cookie, const void *header,
		       size_t header_bytes, const void *pipe, size_t bytes, pami_endpoint_t origin,
		       pami_recv_t *recv)
{
	struct lane *l = cookie;

	atomic_store_release(&l->confirmed, l->confirmed + 1);
}

static void send_batch(struct lane *l)
{
	static const uint64_t payload;

	for (int i = 0; i < BATCH; i++)
		send_immediate(l, DATA, &payload, sizeof(payload));
}

static void *drive_lane(void *arg)
{
	struct lane *l = arg;
	pami_context_t c = l->all->context[l->number];
	uint64_t first = l->confirmed, from = l->arrived;

	if (l->all->sender) {
		for (uint64_t b = 0; b < l->batches; b++) {
			while (b - (l->confirmed - first) >= 2)
				PAMI_Context_advance(c, 1);
			send_batch(l);
		}
		while (l->confirmed - first < l->batches)
			PAMI_Context_advance(c, 1);
	} else {
		while (l->arrived - from < l->batches * BATCH)
			PAMI_Context_advance(c, 1);
	}
	return NULL;
}

static pami_result_t on_work(pami_context_t context, void *cookie)
{
	send_batch(cookie);
	return PAMI_SUCCESS;
}

static uint64_t load_confirmed(struct lane *l)
{
	return atomic_load_acquire(&l->confirmed);
}

/* The thread of the program posts the work, and the commthreads do it. */
static void post_all(struct contexts *x, unsigned n, uint64_t batches)
{
	uint64_t first[CONTEXTS], posted[CONTEXTS] = {0}, left = n * batches;

	for (unsigned i = 0; i < n; i++)
		first[i] = load_confirmed(&x->lane[i]);
	while (left) {
		int idle = 1;

		for (unsigned i = 0; i < n; i++) {
			struct lane *l = &x->lane[i];

			/* A work object is free again after the receiver confirmed its batch. */
			if (posted[i] == batches || posted[i] - (load_confirmed(l) - first[i]) >= 2)
				continue;
			bench_check(
			    PAMI_Context_post(x->context[i], &l->work[posted[i] % 2], on_work, l));
			posted[i]++;
			left--;
			idle = 0;
		}
		if (idle)
			sched_yield(); /* let the commthread run where there is no core for each */
	}
	for (unsigned i = 0; i < n; i++)
		while (load_confirmed(&x->lane[i]) - first[i] < batches)
			sched_yield();
}

static double run_contexts(struct contexts *x, unsigned n, uint64_t batches, int by_commthreads)
{
	pthread_t thread[CONTEXTS];
	double start;

	bench_barrier(x->job);
	for (unsigned i = 0; i < n; i++)
		x->lane[i].batches = batches;
	bench_barrier(x->job);
	start = bench_now(x->job);
	if (by_commthreads && x->sender)
		post_all(x, n, batches);
	/* The commthreads of the receiver do all work; the barrier below ends it. */
	if (!by_commthreads && (x->sender || x->receiver)) {
		for (unsigned i = 1; i < n; i++)
			pthread_create(&thread[i], NULL, drive_lane, &x->lane[i]);
		drive_lane(&x->lane[0]);
		for (unsigned i = 1; i < n; i++)
			pthread_join(thread[i], NULL);
	}
	start = bench_now(x->job) - start;
	bench_barrier(x->job);
	return start;
}

static void measure_contexts(struct contexts *x, unsigned n, int by_commthreads)
{
	const char *names[2][CONTEXTS] = {
	    {"1 context", "2 contexts", "3 contexts", "4 contexts"},
	    {"1 commthreads", "2 commthreads", "3 commthreads", "4 commthreads"}};
	struct bench_row row = {.bench = "contexts",
				.variant = names[by_commthreads][n - 1],
				.bytes = 8,
				.unit = "M/s",
				.from = 0,
				.to = (int)(x->job->tasks / 2),
				.pairs = (unsigned)(x->job->tasks / 2)};
	uint64_t batches = 4000 / n;
	struct bench_samples rates = {0};

	if (!bench_is_wanted(x->job, row.variant))
		return;
	if (x->job->options.milliseconds > 0)
		batches = (uint64_t)(x->job->options.milliseconds * 100) + 2;
	for (unsigned r = 0; r <= bench_repetitions(x->job); r++) {
		double s = run_contexts(x, n, batches, by_commthreads);

		if (r)
			bench_samples_add(&rates,
					  (double)(batches * BATCH * n) * row.pairs / s * 1e-6);
	}
	if (x->job->task == 0) {
		bench_row_value(&row, &rates);
		bench_row_out(x->job, &row);
	}
	bench_samples_free(&rates);
}

static void serve_contexts(struct contexts *x, const char *symbol)
{
	pami_result_t (*enter)(pami_context_t, void *, void *, void *, void *);
	pami_result_t (*turn)(pami_context_t, int);
	pami_extension_t e;

	bench_check(PAMI_Extension_open(x->client, "EXT_async_progress", &e));
	*(void **)&enter = PAMI_Extension_symbol(e, "register");
	*(void **)&turn = PAMI_Extension_symbol(e, symbol);
	for (unsigned i = 0; i < CONTEXTS; i++) {
		if (!strcmp(symbol, "enable"))
			bench_check(enter(x->context[i], NULL, NULL, NULL, NULL));
		bench_check(turn(x->context[i], 0));
	}
}

int bench_contexts(struct bench_job *job)
{
	static struct contexts x;
	size_t half = job->tasks / 2;
	pami_dispatch_hint_t hints;
	pami_configuration_t q = {.name = PAMI_CLIENT_NUM_CONTEXTS};
	unsigned most;

	memset(&hints, 0, sizeof(hints));
	x.job = job;
	x.sender = job->task < half;
	x.receiver = !x.sender && job->task < 2 * half;
	bench_check(PAMI_Client_create("qbench-contexts", &x.client, NULL, 0));
	bench_check(PAMI_Client_query(x.client, &q, 1));
	most = q.value.intval < CONTEXTS ? (unsigned)q.value.intval : CONTEXTS;
	bench_check(PAMI_Context_createv(x.client, NULL, 0, x.context, most));
	for (unsigned i = 0; i < most; i++) {
		struct lane *l = &x.lane[i];
		pami_dispatch_callback_function data = {.p2p = on_data},
						confirm = {.p2p = on_confirm};

		l->all = &x;
		l->number = i;
		bench_check((PAMI_Endpoint_create)(x.client,
						   (pami_task_t)(x.sender ? job->task + half
									  : job->task - half),
						   i, &l->peer));
		bench_check(PAMI_Dispatch_set(x.context[i], DATA, data, l, hints));
		bench_check(PAMI_Dispatch_set(x.context[i], CONFIRM, confirm, l, hints));
	}
	bench_barrier(job);
	for (unsigned n = 1; n <= most; n *= 2)
		measure_contexts(&x, n, 0);
	if (!job->is_virtual && most == CONTEXTS) {
		serve_contexts(&x, "enable");
		for (unsigned n = 1; n <= most; n *= 2)
			measure_contexts(&x, n, 1);
		serve_contexts(&x, "disable");
	}
	bench_barrier(job);
	bench_check(PAMI_Context_destroyv(x.context, most));
	bench_check(PAMI_Client_destroy(&x.client));
	return 0;
}
