/* SPDX-License-Identifier: BSD-3-Clause */
/* Arenas of the tasks of one node, for software that keeps the time of its loads and stores. */
#ifndef MU_SEGMENT_ARENA_NODE_H
#define MU_SEGMENT_ARENA_NODE_H

#include <stddef.h>
#include <stdint.h>

/*
 * As mu_arena_address(), for tasks of this node only, and in virtual time, too: there the caller
 * spends the time of its loads and stores before it makes them. Any thread.
 */
void *mu_arena_address_of_node(uint32_t task, uint64_t va, size_t bytes);

#endif
