/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "tools/job.h"

void job_report(const struct job *j)
{
	char where[160], shape[64];

	emu_shape_print(&j->plan->shape, shape, sizeof shape);
	fprintf(stderr, "torus run: %u tasks on %u hosts, shape %s\n", j->plan->tasks, j->plan->hosts, shape);
	for (uint32_t i = 0; i < j->plan->hosts; i++)
		fprintf(stderr, "  host %s\n", plan_host_text(j->plan, i, where, sizeof where));
}
