/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/part.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_HOST 0xffffu

void emu_part_blocks(const struct emu_shape *s, uint32_t hosts, uint16_t *host_of)
{
	uint32_t nodes = emu_shape_nodes(s), longest = 0;

	for (uint32_t d = 1; d < EMU_DIMS; d++)
		if (s->n[d] > s->n[longest])
			longest = d;
	for (uint32_t i = 0; i < nodes; i++) {
		struct emu_coord x;

		emu_node_coord(s, i, &x);
		if (hosts <= s->n[longest])
			host_of[i] = (uint16_t)(x.c[longest] * hosts / s->n[longest]);
		else
			host_of[i] = (uint16_t)(hosts <= nodes ? (uint64_t)i * hosts / nodes : i);
	}
}

/* Give each node without a host the host of the nearest node that has one: a breadth-first search
 * from all of these at once. */
static int assign_rest(const struct emu_shape *s, uint16_t *host_of)
{
	uint32_t nodes = emu_shape_nodes(s), head = 0, tail = 0;
	uint32_t *queue = malloc(nodes * sizeof(*queue));

	if (!queue)
		return -ENOMEM;
	for (uint32_t i = 0; i < nodes; i++)
		if (host_of[i] != NO_HOST)
			queue[tail++] = i;
	while (head != tail) {
		uint32_t i = queue[head++];

		for (unsigned l = 0; l < EMU_LINKS; l++) {
			uint32_t k = emu_node_neighbour(s, i, l);

			if (k == UINT32_MAX || host_of[k] != NO_HOST)
				continue;
			host_of[k] = host_of[i];
			queue[tail++] = k;
		}
	}
	free(queue);
	return 0;
}

int emu_part_by_tasks(const struct emu_shape *s, uint32_t tasks, const struct emu_coord *coords,
		      const uint16_t *task_host, uint16_t *host_of, char *err, size_t err_bytes)
{
	uint32_t nodes = emu_shape_nodes(s);

	if (!tasks) {
		snprintf(err, err_bytes,
			 "no tasks, so no node can be assigned to a host: give at least one task");
		return -EINVAL;
	}
	memset(host_of, 0xff, nodes * sizeof(*host_of));
	for (uint32_t t = 0; t < tasks; t++) {
		const struct emu_coord *x = &coords[t];
		uint32_t node = emu_coord_node(s, x);

		for (int d = 0; d < EMU_DIMS; d++)
			if (x->c[d] >= s->n[d]) {
				snprintf(err, err_bytes,
					 "task %u at (%u,%u,%u,%u,%u) is outside the shape", t,
					 x->c[0], x->c[1], x->c[2], x->c[3], x->c[4]);
				return -EINVAL;
			}
		if (host_of[node] != NO_HOST && host_of[node] != task_host[t]) {
			snprintf(
			    err, err_bytes,
			    "node (%u,%u,%u,%u,%u) has tasks on hosts %u and %u: place the tasks "
			    "of a node on one host",
			    x->c[0], x->c[1], x->c[2], x->c[3], x->c[4], host_of[node],
			    task_host[t]);
			return -EINVAL;
		}
		host_of[node] = task_host[t];
	}
	return assign_rest(s, host_of);
}

uint32_t emu_part_nodes(const struct emu_shape *s, const uint16_t *host_of, uint16_t host,
			uint32_t *nodes)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < emu_shape_nodes(s); i++)
		if (host_of[i] == host)
			nodes[count++] = i;
	return count;
}
