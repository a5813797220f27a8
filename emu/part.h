/* SPDX-License-Identifier: BSD-3-Clause */
/* Which host owns which nodes: its routers run there, with or without tasks. Pure functions. */
#ifndef EMU_PART_H
#define EMU_PART_H

#include <stddef.h>
#include <stdint.h>

#include "emu/coord.h"

/*
 * Contiguous blocks along the longest dimension (the first of equals), sizes differing by one
 * slice at most: few links between hosts. More hosts than slices: blocks of the node order instead.
 * host_of[nodes] is filled with 0 .. hosts - 1, hosts >= 1; hosts beyond the nodes get none.
 */
void emu_part_blocks(const struct emu_shape *s, uint32_t hosts, uint16_t *host_of);

/*
 * Nodes follow their tasks: coords[tasks] and task_host[tasks] say where those are. A node without
 * tasks goes to the host of the nearest node with tasks (fewest hops, then lowest index). Returns
 * 0, or -EINVAL with a sentence in err: a node's tasks on two hosts, coordinates outside the
 * shape, no tasks; -ENOMEM.
 */
int emu_part_by_tasks(const struct emu_shape *s, uint32_t tasks, const struct emu_coord *coords,
		      const uint16_t *task_host, uint16_t *host_of, char *err, size_t err_bytes);

/* Indices of a host's nodes, ascending, into nodes[] (as many as there are); returns how many. */
uint32_t emu_part_nodes(const struct emu_shape *s, const uint16_t *host_of, uint16_t host,
			uint32_t *nodes);

#endif
