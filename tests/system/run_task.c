/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A task for the tests of torus run, on the messaging unit alone.
 *
 *   run_task info            print task, tasks, node, coordinates, local tasks
 *   run_task exchange        a message to and from every task, then "ok" from task 0
 *   run_task busy            exchange, print "busy", then message everybody until killed
 *   run_task idle            exchange, print "idle", then wait in mu_poll() until killed
 *   run_task busy-exit N     as busy; task N leaves with status 9 after a while
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mu/mu.h"

static const struct mu_job *job;
static uint64_t *received; /* per task */

static void receive(void *arg, uint32_t source, const unsigned char *soft, const unsigned char *payload,
                    uint32_t bytes, uint64_t offset)
{
	uint64_t number;

	memcpy(&number, payload, sizeof number);
	if (bytes != sizeof number || number != received[source]) {
		fprintf(stderr, "run_task: task %u: message %llu (%u bytes) of task %u, expected number %llu\n",
		        job->task, (unsigned long long)number, bytes, source, (unsigned long long)received[source]);
		_exit(70);
	}
	received[source]++;
}

/* One message to each other task, and wait until each has sent us `round + 1`. */
static void exchange(struct mu_channel *ch, uint64_t round)
{
	unsigned char soft[MU_SOFT_BYTES] = { 0 };

	for (uint32_t i = 1; i < job->tasks; i++) {
		uint32_t to = (job->task + i) % job->tasks;

		while (mu_send_short(ch, to, 0, soft, &round, sizeof round, NULL, 0))
			mu_poll(ch);
	}
	for (uint32_t i = 1; i < job->tasks; i++)
		while (received[(job->task + i) % job->tasks] <= round)
			mu_poll(ch);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "info";
	struct mu_channel *ch;
	uint64_t round = 0;

	if (mu_attach(&job))
		return 71;
	received = calloc(job->tasks, sizeof *received);
	if (!received || mu_channel_open(0, receive, NULL, &ch))
		return 72;
	if (!strcmp(mode, "info")) {
		printf("task %u of %u node %u of %u at %u,%u,%u,%u,%u,%u local %u\n", job->task, job->tasks, job->node,
		       job->nodes, job->coord.c[0], job->coord.c[1], job->coord.c[2], job->coord.c[3],
		       job->coord.c[4], job->coord.t, job->local_tasks);
	} else {
		exchange(ch, round++);
		if (!job->task)
			printf("%s\n", !strcmp(mode, "exchange") ? "ok" : !strcmp(mode, "idle") ? "idle" : "busy");
		fflush(stdout);
		while (!strcmp(mode, "idle"))
			mu_poll(ch);
		while (!strncmp(mode, "busy", 4)) {
			exchange(ch, round++);
			if (round == 200 && argc > 2 && (uint32_t)atoi(argv[2]) == job->task)
				_exit(9);
		}
	}
	mu_channel_close(ch);
	mu_detach();
	return 0;
}
