/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * start   seconds from BENCH_START_NS (CLOCK_MONOTONIC, set by the caller just before it starts the
 *         command) to the moment at which task 0 has a message from every other task.
 * memory  memory of idle tasks (resident, proportional, page tables) and the CPU time they use
 *         while they wait in PAMI_Context_advance.
 */
#include "bench/micro/job.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "drivers/base/clock.h"

struct report {
	double resident_mib, proportional_mib, cpu_s, page_tables_mib;
};

struct gather {
	volatile uint64_t count;
	struct bench_samples samples[4];
};

static void on_reply(pami_context_t context, void *cookie, const void *header, size_t header_bytes,
		     const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	struct gather *g = cookie;
	double value[4];

	if (header_bytes == sizeof(value)) {
		memcpy(value, header, sizeof(value));
		for (int i = 0; i < 4; i++)
			bench_samples_add(&g->samples[i], value[i]);
	}
	g->count++;
}

int bench_start(struct bench_job *job)
{
	const char *env = getenv("BENCH_START_NS");
	struct bench_samples s = {0};
	static struct gather g;
	struct bench_row row = {
	    .bench = "start", .variant = "message", .unit = "s", .from = 0, .to = -1, .hops = -1};
	static const uint64_t hello;

	bench_dispatch_set(job, BENCH_DISPATCH_REPLY, on_reply, &g);
	bench_barrier(job); /* task 0 has set its dispatch */
	if (job->task != 0) {
		bench_immediate(job, bench_endpoint(job, 0), BENCH_DISPATCH_REPLY, NULL, 0, &hello,
				sizeof(hello));
		bench_barrier(job);
		return 0;
	}
	bench_wait(job, g.count == job->tasks - 1);
	if (env) {
		bench_samples_add(&s, (double)(drv_clock_ns() - strtoull(env, NULL, 10)) * 1e-9);
		bench_row_value(&row, &s);
		bench_row_out(job, &row);
		bench_samples_free(&s);
	} else {
		fprintf(
		    stderr,
		    "qbench start: set BENCH_START_NS to CLOCK_MONOTONIC nanoseconds at the start "
		    "(bench/run does)\n");
	}
	bench_barrier(job);
	return env ? 0 : 1;
}

static double status_mib(const char *path, const char *name)
{
	FILE *f = fopen(path, "r");
	double kib = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)))
			kib = strtod(line + strlen(name), NULL);
	if (f)
		fclose(f);
	return kib / 1024;
}

static double cpu_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

/* Task 0 waits asleep too, so its own share is in the numbers like that of the others. */
int bench_memory_use(struct bench_job *job)
{
	static const char *const variants[4] = {"resident", "proportional", "cpu", "page tables"};
	static struct gather g;
	/* Many tasks take minutes for two seconds of virtual time, and no more memory. */
	const double idle_s = job->is_virtual ? 0.001 : 2;
	struct report r;
	double start, cpu;

	bench_dispatch_set(job, BENCH_DISPATCH_REPLY, on_reply, &g);
	bench_barrier(job);
	cpu = cpu_seconds();
	if (job->task == 0) {
		struct bench_command go;

		memset(&go, 0, sizeof(go));
		go.verb = 1;
		for (start = bench_now(job); bench_now(job) - start < idle_s;)
			bench_advance(job);
		for (size_t t = 1; t < job->tasks; t++)
			bench_command_send(job, bench_endpoint(job, t), &go);
	} else {
		bench_command_wait(job);
	}
	r.cpu_s = cpu_seconds() - cpu;
	r.resident_mib = status_mib("/proc/self/smaps_rollup", "Rss:");
	r.proportional_mib = status_mib("/proc/self/smaps_rollup", "Pss:");
	r.page_tables_mib = status_mib("/proc/self/status", "VmPTE:");
	if (job->task != 0) {
		bench_immediate(job, bench_endpoint(job, 0), BENCH_DISPATCH_REPLY, &r, sizeof(r),
				NULL, 0);
	} else {
		bench_wait(job, g.count == job->tasks - 1);
		for (int i = 0; i < 4; i++) {
			struct bench_row row = {.bench = "idle",
						.variant = variants[i],
						.unit = i == 2 ? "%" : "MiB",
						.from = 0,
						.to = -1,
						.hops = -1};

			if (i == 2)
				for (size_t k = 0; k < g.samples[i].count; k++)
					g.samples[i].value[k] *= 100 / idle_s;
			bench_row_value(&row, &g.samples[i]);
			bench_row_out(job, &row);
			bench_samples_free(&g.samples[i]);
		}
	}
	bench_barrier(job);
	return 0;
}
