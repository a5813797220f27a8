/* SPDX-License-Identifier: BSD-3-Clause */
/* torus run --trace in real time: the messages of all hosts become one file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/job.h"
#include "tools/trace.h"

/* Tell the user how far the clocks of other machines may differ. */
static void print_clocks(uint64_t error_ps)
{
	if (error_ps == UINT64_MAX)
		fprintf(stderr, "torus run: --trace: the clock of a host could not be aligned: no "
				"messages went both ways; compare times within that host only\n");
	else if (error_ps)
		fprintf(stderr,
			"torus run: --trace: clocks of machines aligned by round trips of "
			"messages, to %.1f us\n",
			(double)error_ps / 1e6);
}

int job_trace_write(struct job *j)
{
	const struct plan *p = j->plan;
	bool *own = calloc(p->hosts, sizeof *own);
	double cost = messages_cost_ns();
	uint64_t error_ps = 0;
	struct trace *t;
	int rc;

	for (uint32_t i = 0; own && i < p->hosts; i++)
		own[i] = !plan_host_is_remote(&p->host[i]);
	if (own)
		messages_align(&j->messages, own, p->hosts, &error_ps);
	free(own);
	messages_sort(&j->messages);
	rc = trace_create(p->trace, NULL, &t);
	if (rc)
		return rc;
	trace_messages(t, &j->messages, j->messages.count ? j->messages.at[0].e.begin : 0);
	rc = trace_close(t);
	if (rc)
		return rc;
	print_clocks(error_ps);
	fprintf(stderr,
		"torus run: --trace: %zu events in %s, %llu lost; an event costs a task about %.0f "
		"ns, so %.3f ms of all tasks\n",
		j->messages.count, p->trace, (unsigned long long)j->messages.lost, cost,
		cost * (double)(j->messages.count + j->messages.lost) / 1e6);
	return 0;
}
