/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tasks of a node share for a class route: memory, words that others wait for, and the
 * data of each other, as the processes of a Blue Gene/Q node share the L2 and see each other's
 * addresses. Both clocks.
 *
 * Plain stores write data; a word stored with mu_node_store() or mu_node_add() announces it. In
 * real time that is a release store and a wake. In virtual time the word changes, for all tasks,
 * l2_ps of emu/timing.def later, and tasks must not read data that no such word has announced.
 */
#ifndef MU_BOARD_H
#define MU_BOARD_H

#include <stddef.h>
#include <stdint.h>

#include "drivers/base/atomic.h"
#include "mu/mu.h"

/* Bytes of a board with T tasks on a node: a page, two for each task, and room for slices. */
#define MU_BOARD_SLICES (4u * 65536u)
static inline uint64_t mu_board_bytes(unsigned t)
{
	return 4096u * (1u + 2u * t) + MU_BOARD_SLICES;
}

/* Return the board of class route `id` (0 .. 15) on this node: page-aligned, zero at first. */
void *mu_board(unsigned id);

#define MU_NODE_ALL UINT32_MAX /* all tasks of this node but the caller */

/*
 * Store to a word of a board, and wake `task` (of this node, or MU_NODE_ALL). Costs
 * MU_COST_node_store. One thread for each channel. Never fails.
 */
void mu_node_store(struct mu_channel *ch, uint64_t *word, uint64_t value, uint32_t task);
/* Add atomically. `task` is woken if the sum is wake_at. */
void mu_node_add(struct mu_channel *ch, uint64_t *word, uint64_t value, uint64_t wake_at,
		 uint32_t task);
/* Wake `task`, or all of MU_NODE_ALL: a word of a board has changed. For the real clock. */
struct mu_process;
void mu_board_wake(const struct mu_process *p, uint32_t task);
static inline uint64_t mu_node_load(const uint64_t *word)
{
	return atomic_load_acquire(word);
}

/*
 * Copy from memory of a task of this node, which has announced the data and does not change it.
 * Returns 0; -EFAULT: a page does not exist, or the kernel cannot read it for another process;
 * -EPERM: the kernel does not let processes read each other (logged once, with the fix);
 * -ESHUTDOWN: the task has died. The caller charges copy_byte for it.
 */
int mu_node_read(uint32_t task, void *to, uint64_t va, size_t bytes);

#endif
