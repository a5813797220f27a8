/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A poll that finds nothing, PAMI_Context_advance(context, 1), by task 0. The other tasks wait in a
 * barrier. Polls come in stretches of a few milliseconds that begin with an event, as in a program
 * that polls as a courtesy: a task that does nothing but poll for long is put to sleep.
 */
#include "bench/micro/job.h"

#define STRETCH_S 5e-3

static pami_result_t on_work(pami_context_t context, void *cookie)
{
	++*(unsigned *)cookie;
	return PAMI_SUCCESS;
}

/* Returns the seconds of one poll. */
static double time_polls(struct bench_job *job, uint64_t polls)
{
	volatile unsigned ran = 0;
	pami_work_t work;
	double start;

	bench_check(PAMI_Context_post(job->context, &work, on_work, (void *)&ran));
	bench_wait(job, ran);
	start = bench_now(job);
	for (uint64_t i = 0; i < polls; i++)
		PAMI_Context_advance(job->context, 1);
	return (bench_now(job) - start) / (double)polls;
}

int bench_advance_empty(struct bench_job *job)
{
	struct bench_row row = {
	    .bench = "advance", .variant = "empty", .unit = "us", .from = 0, .to = -1, .hops = -1};
	struct bench_samples repetitions = {0};
	uint64_t polls = 1000;

	bench_barrier(job);
	if (job->task == 0 && !job->is_virtual && bench_is_wanted(job, "empty")) {
		polls = (uint64_t)(STRETCH_S / time_polls(job, polls)) + 1;
		for (unsigned r = 0; r < bench_repetitions(job); r++)
			bench_samples_add(&repetitions, time_polls(job, polls) * 1e6);
		bench_row_value(&row, &repetitions);
		bench_row_out(job, &row);
	}
	bench_samples_free(&repetitions);
	bench_barrier(job);
	return 0;
}
