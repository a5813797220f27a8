/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A task for the tests of torus run, on the messaging unit alone.
 *
 *   run_task info            print task, tasks, node, coordinates, local tasks
 *   run_task rounds N        N exchanges one after the other, then "ok" from task 0
 *   run_task overload N      N full packets to each other task as fast as they go, with gets by
 *                            both ways between them, then "ok" from task 0
 *   run_task exchange        a message to and from every task, then "ok" from task 0
 *   run_task busy            exchange, print "busy", then message all tasks until killed
 *   run_task idle            exchange, print "idle", then wait in mu_poll() until killed
 *   run_task leave N         exchange, then task N exits with status 0 without leaving the job, and
 *                            the others wait for it in mu_poll()
 *   run_task leave-fine N    the same, but no task needs task N: the others compute for two
 *                            seconds, then send messages to each other, with pauses, for as
 *                            long, and end
 *   run_task print           print two lines and a half, then wait in mu_poll() until killed
 *   run_task busy-exit N     as busy; task N leaves with status 9 after a while
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mu/mu.h"

static const struct mu_job *job;
static uint64_t *received; /* per task */

#define GETS      16
#define GET_BYTES 3000

/* Of "overload". */
static struct {
	unsigned char window[GET_BYTES]; /* that others read */
	uint64_t *window_of, *received;  /* per task */
	uint32_t windows;
	struct get {
		struct mu_op op;
		bool busy;
		unsigned char data[GET_BYTES];
	} get[GETS];
} load;

static void receive_load(uint32_t source, const unsigned char *payload, uint32_t bytes)
{
	uint64_t number;

	memcpy(&number, payload, sizeof number);
	if (bytes == sizeof number) {
		load.window_of[source] = number;
		load.windows++;
		return;
	}
	if (bytes != 512 || number != load.received[source] || payload[511] != (uint8_t)source) {
		fprintf(stderr, "run_task: task %u: packet %llu of task %u, expected %llu\n",
			job->task, (unsigned long long)number, source,
			(unsigned long long)load.received[source]);
		_exit(70);
	}
	load.received[source]++;
}

static void get_done(struct mu_op *op, int rc)
{
	struct get *g = (struct get *)(void *)op;

	if (rc || memcmp(g->data, load.window, GET_BYTES)) {
		fprintf(stderr, "run_task: task %u: a get ended with %d, or with other data\n",
			job->task, rc);
		_exit(70);
	}
	g->busy = false;
}

/* Start gets where one is free; both ways of asking for them. */
static void start_get(struct mu_channel *ch, uint32_t number)
{
	struct get *g = &load.get[number % GETS];
	uint32_t to = (job->task + 1 + number % (job->tasks - 1)) % job->tasks;

	if (g->busy)
		return;
	memset(g->data, 0, GET_BYTES);
	g->op = (struct mu_op){.done = get_done};
	g->busy = true;
	if ((number & 1 ? mu_get : mu_pull)(ch, to, 0, g->data, load.window_of[to], GET_BYTES,
					    &g->op))
		g->busy = false;
}

static bool is_load_over(uint64_t count)
{
	for (uint32_t i = 0; i < job->tasks; i++)
		if (i != job->task && load.received[i] < count)
			return false;
	for (unsigned i = 0; i < GETS; i++)
		if (load.get[i].busy)
			return false;
	return true;
}

static void overload_task(struct mu_channel *ch, uint64_t count)
{
	unsigned char soft[MU_SOFT_BYTES] = {'o'}, packet[512];
	uint64_t window = (uint64_t)(uintptr_t)load.window;

	memset(packet, (int)job->task, sizeof packet);
	for (unsigned i = 0; i < GET_BYTES; i++)
		load.window[i] = (unsigned char)(i * 7);
	for (uint32_t to = 0; to < job->tasks; to++)
		while (to != job->task && mu_send_short(ch, to, 0, soft, &window, 8, NULL, 0))
			mu_poll(ch);
	while (load.windows < job->tasks - 1)
		mu_poll(ch);
	for (uint64_t i = 0; i < count; i++)
		for (uint32_t k = 1; k < job->tasks; k++) {
			memcpy(packet, &i, sizeof i);
			while (mu_send_short(ch, (job->task + k) % job->tasks, 0, soft, NULL, 0,
					     packet, 512))
				mu_poll(ch);
			if ((i + k) % 4 == 0)
				start_get(ch, (uint32_t)(i * 3 + k));
		}
	while (!is_load_over(count))
		mu_poll(ch);
}

static void receive_packet(void *arg, uint32_t source, const unsigned char *soft,
			   const unsigned char *payload, uint32_t bytes, uint64_t offset)
{
	uint64_t number;

	if (soft[0] == 'o') {
		receive_load(source, payload, bytes);
		return;
	}
	memcpy(&number, payload, sizeof number);
	if (bytes != sizeof number || number != received[source]) {
		fprintf(
		    stderr,
		    "run_task: task %u: message %llu (%u bytes) of task %u, expected number %llu\n",
		    job->task, (unsigned long long)number, bytes, source,
		    (unsigned long long)received[source]);
		_exit(70);
	}
	received[source]++;
}

/* One message to each other task, and wait until each has sent us `round + 1`. */
static void exchange_messages(struct mu_channel *ch, uint64_t round)
{
	unsigned char soft[MU_SOFT_BYTES] = {0};

	for (uint32_t i = 1; i < job->tasks; i++) {
		uint32_t to = (job->task + i) % job->tasks;

		while (mu_send_short(ch, to, 0, soft, &round, sizeof round, NULL, 0))
			mu_poll(ch);
	}
	for (uint32_t i = 1; i < job->tasks; i++)
		while (received[(job->task + i) % job->tasks] <= round)
			mu_poll(ch);
}

/* A message to each other task but `without`, and from each. */
static void exchange_without(struct mu_channel *ch, uint64_t round, uint32_t without)
{
	unsigned char soft[MU_SOFT_BYTES] = {0};

	for (uint32_t to = 0; to < job->tasks; to++)
		if (to != job->task && to != without)
			while (mu_send_short(ch, to, 0, soft, &round, sizeof round, NULL, 0))
				mu_poll(ch);
	for (uint32_t from = 0; from < job->tasks; from++)
		if (from != job->task && from != without)
			while (received[from] <= round)
				mu_poll(ch);
}

static double now_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void leave_job(struct mu_channel *ch, const char *mode, uint32_t who)
{
	double start = now_seconds();

	if (job->task == who)
		exit(0);
	while (strcmp(mode, "leave-fine"))
		mu_poll(ch);
	while (now_seconds() - start < 2)
		;
	for (uint64_t round = 1; round <= 100; round++) {
		exchange_without(ch, round, who);
		usleep(20000);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "info";
	struct mu_channel *ch;
	uint64_t round = 0;

	if (mu_attach(&job))
		return 71;
	received = calloc(job->tasks, sizeof *received);
	load.window_of = calloc(job->tasks, sizeof *load.window_of);
	load.received = calloc(job->tasks, sizeof *load.received);
	if (!received || !load.window_of || !load.received ||
	    mu_channel_open(0, receive_packet, NULL, &ch))
		return 72;
	if (!strcmp(mode, "info")) {
		printf("task %u of %u node %u of %u at %u,%u,%u,%u,%u,%u local %u\n", job->task,
		       job->tasks, job->node, job->nodes, job->coord.c[0], job->coord.c[1],
		       job->coord.c[2], job->coord.c[3], job->coord.c[4], job->coord.t,
		       job->local_tasks);
	} else {
		exchange_messages(ch, round++);
		if (!strcmp(mode, "overload") && argc > 2 && job->tasks > 1) {
			overload_task(ch, strtoul(argv[2], NULL, 10));
			exchange_messages(ch, round++);
		}
		while (!strcmp(mode, "rounds") && argc > 2 && round < strtoul(argv[2], NULL, 10))
			exchange_messages(ch, round++);
		if (!job->task)
			printf("%s\n", !strcmp(mode, "exchange") || !strcmp(mode, "rounds") ||
					       !strcmp(mode, "overload")
					   ? "ok"
				       : !strcmp(mode, "idle") ? "idle"
							       : "busy");
		fflush(stdout);
		while (!strcmp(mode, "idle"))
			mu_poll(ch);
		if (!strncmp(mode, "leave", 5))
			leave_job(ch, mode, argc > 2 ? (uint32_t)atoi(argv[2]) : 0);
		if (!strcmp(mode, "print")) {
			printf("first\nsecond\nthi");
			for (;;)
				mu_poll(ch);
		}
		while (!strncmp(mode, "busy", 4)) {
			exchange_messages(ch, round++);
			if (round == 200 && argc > 2 && (uint32_t)atoi(argv[2]) == job->task)
				_exit(9);
		}
	}
	mu_channel_close(ch);
	mu_detach();
	return 0;
}
