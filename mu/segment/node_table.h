/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tasks of a node share of its messaging unit where programs use the registers: who has
 * which FIFO and table entry, class routes, and the registers of global interrupts. Zero bytes
 * initialise it. docs/hardware.md 4.1, 8.
 */
#ifndef MU_SEGMENT_NODE_TABLE_H
#define MU_SEGMENT_NODE_TABLE_H

#include "drivers/base/atomic.h"
#include "emu/hw_class.h"

#define MU_TABLE_INJ 544
#define MU_TABLE_REC 272
#define MU_TABLE_BAT 544
#define MU_TABLE_T   64

struct mu_node_table {
	/* T + 1 of the task that allocated it; 0: free. Compare and swap. */
	atomic_u8 inj[MU_TABLE_INJ], rec[MU_TABLE_REC], bat[MU_TABLE_BAT];
	atomic_u32 coll_used, gi_used; /* bitmaps of allocated class routes */
	atomic_u32 is_used;            /* some task of the node has joined with its registers */
	atomic_u32 pid[MU_TABLE_T];    /* by T, of tasks that have joined so and not left; or 0 */
	/* Input in the upper half, output in the lower. */
	atomic_u32 coll[BGQ_COLL_CLASS_MAX_CLASSROUTES], gi[BGQ_GI_CLASS_MAX_CLASSROUTES];
	/* Three bits each: plain memory to programs. */
	_Alignas(64) volatile uint64_t gi_control[BGQ_GI_CLASS_MAX_CLASSROUTES];
	volatile uint64_t gi_status[BGQ_GI_CLASS_MAX_CLASSROUTES];
};

#endif
