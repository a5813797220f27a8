/* SPDX-License-Identifier: BSD-3-Clause */
#include "mu/segment/places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int mu_places_make(struct mu_places *places, struct mu_host *host)
{
	size_t slots = (size_t)emu_shape_nodes(&host->shape) * host->shape.t;

	places->shape = host->shape;
	places->task = malloc(slots * sizeof *places->task);
	if (!places->task)
		return -ENOMEM;
	memset(places->task, 0xff, slots * sizeof *places->task);
	for (uint32_t i = 0; i < host->tasks; i++) {
		const struct mu_task_entry *e = mu_host_entry(host, i);

		places->task[e->node * host->shape.t + e->t] = i;
	}
	return 0;
}

void mu_places_free(struct mu_places *places)
{
	free(places->task);
	places->task = NULL;
}
