/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The assignment of nodes to hosts. A host runs the routers of its nodes, with or without tasks on
 * them. Pure functions.
 */
#ifndef EMU_PART_H
#define EMU_PART_H

#include <stddef.h>
#include <stdint.h>

#include "emu/coord.h"

/*
 * Assign contiguous blocks along the longest dimension (the first of equals), so that few links
 * join hosts. The sizes differ by one slice at most. If there are more hosts than slices, assign
 * blocks of the node order instead. Fills host_of[nodes] with 0 .. hosts - 1; hosts must be at
 * least 1. Hosts beyond the number of nodes get none.
 */
void emu_part_blocks(const struct emu_shape *s, uint32_t hosts, uint16_t *host_of);

/*
 * Assign each node to the host of its tasks: coords[tasks] and task_host[tasks] say where the tasks
 * are. A node without tasks goes to the host of the nearest node with tasks (fewest hops, then
 * lowest index). Returns 0; -EINVAL with a sentence in err: the tasks of a node are on two hosts,
 * coordinates outside the shape, or no tasks; -ENOMEM.
 */
int emu_part_by_tasks(const struct emu_shape *s, uint32_t tasks, const struct emu_coord *coords,
		      const uint16_t *task_host, uint16_t *host_of, char *err, size_t err_bytes);

/* Write the indices of a host's nodes, ascending, into nodes[]. Returns how many; nodes[] must have
 * room for them. */
uint32_t emu_part_nodes(const struct emu_shape *s, const uint16_t *host_of, uint16_t host,
			uint32_t *nodes);

#endif
