/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Space and time of endpoints, memory regions and contexts (the table of the Blue Gene/Q ARMCI
 * paper). Times are for one creation. Bytes of an endpoint and of a region are the size of the
 * user's object; bytes of a context are the resident memory that the process gains by its creation
 * and its first message (to itself).
 */
#include "bench/micro/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIMES = 1000, CLIENTS = 3 };

static volatile int got;

static void on_message(pami_context_t context, void *cookie, const void *header,
		       size_t header_bytes, const void *pipe, size_t bytes, pami_endpoint_t origin,
		       pami_recv_t *recv)
{
	got++;
}

static void report_row(struct bench_job *job, const char *variant, const char *unit,
		       struct bench_samples *s)
{
	struct bench_row row = {
	    .bench = "objects", .variant = variant, .unit = unit, .from = 0, .to = -1, .hops = -1};

	bench_row_value(&row, s);
	bench_row_out(job, &row);
	bench_samples_free(s);
}

static void report_constant(struct bench_job *job, const char *variant, const char *unit,
			    double value)
{
	struct bench_samples s = {0};

	bench_samples_add(&s, value);
	report_row(job, variant, unit, &s);
}

/* Return the resident bytes of this process. */
static double resident_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	double total = 0, here = 0;

	if (f && fscanf(f, "%lf %lf", &total, &here) != 2)
		here = 0;
	if (f)
		fclose(f);
	return here * (double)sysconf(_SC_PAGESIZE);
}

static void measure_endpoints(struct bench_job *job)
{
	struct bench_samples s = {0};
	pami_endpoint_t e;

	for (unsigned r = 0; r < bench_repetitions(job); r++) {
		double start = bench_now(job);

		for (int i = 0; i < TIMES; i++)
			bench_check((PAMI_Endpoint_create)(job->client,
							   (pami_task_t)((size_t)i % job->tasks), 0,
							   &e));
		bench_samples_add(&s, (bench_now(job) - start) / TIMES * 1e6);
	}
	report_row(job, "endpoint time", "us", &s);
	report_constant(job, "endpoint", "B", sizeof(e));
}

static void measure_regions(struct bench_job *job)
{
	static unsigned char memory[65536];
	struct bench_samples s = {0};
	pami_memregion_t m;
	size_t bytes;

	for (unsigned r = 0; r < bench_repetitions(job); r++) {
		double start = bench_now(job);

		for (int i = 0; i < TIMES; i++) {
			bench_check(PAMI_Memregion_create(job->context, memory, sizeof(memory),
							  &bytes, &m));
			bench_check(PAMI_Memregion_destroy(job->context, &m));
		}
		bench_samples_add(&s, (bench_now(job) - start) / TIMES * 1e6);
	}
	report_row(job, "region time", "us", &s);
	report_constant(job, "region", "B", sizeof(m));
}

static void send_message(pami_client_t client, pami_context_t context, size_t task)
{
	pami_dispatch_callback_function f = {.p2p = on_message};
	pami_dispatch_hint_t hints;
	pami_send_immediate_t s;
	int before = got;

	memset(&hints, 0, sizeof(hints));
	memset(&s, 0, sizeof(s));
	bench_check(PAMI_Dispatch_set(context, 1, f, NULL, hints));
	s.dispatch = 1;
	bench_check((PAMI_Endpoint_create)(client, (pami_task_t)task, 0, &s.dest));
	bench_check(PAMI_Send_immediate(context, &s));
	while (got == before)
		PAMI_Context_advance(context, 1);
}

static void measure_contexts(struct bench_job *job)
{
	struct bench_samples time = {0}, space = {0};

	for (int i = 0; i < CLIENTS; i++) {
		pami_client_t client;
		pami_context_t context;
		double before, start;

		bench_check(PAMI_Client_create("qbench-objects", &client, NULL, 0));
		before = resident_bytes();
		start = bench_now(job);
		bench_check(PAMI_Context_createv(client, NULL, 0, &context, 1));
		bench_samples_add(&time, (bench_now(job) - start) * 1e6);
		send_message(client, context, job->task);
		bench_samples_add(&space, (resident_bytes() - before) / 1048576);
		bench_check(PAMI_Context_destroyv(&context, 1));
		bench_check(PAMI_Client_destroy(&client));
	}
	report_row(job, "context time", "us", &time);
	report_row(job, "context", "MiB", &space);
}

int bench_objects(struct bench_job *job)
{
	bench_barrier(job);
	if (job->task == 0) {
		measure_endpoints(job);
		measure_regions(job);
	}
	/* Every task creates the same clients; contexts are local. */
	if (job->task == 0) {
		measure_contexts(job);
	} else {
		for (int i = 0; i < CLIENTS; i++) {
			pami_client_t client;

			bench_check(PAMI_Client_create("qbench-objects", &client, NULL, 0));
			bench_check(PAMI_Client_destroy(&client));
		}
	}
	bench_barrier(job);
	return 0;
}
