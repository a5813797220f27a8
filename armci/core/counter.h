/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts of what the library did, readable by name with ARMCIX_Counter(); core/counter.def. */
#ifndef ARMCI_COUNTER_H
#define ARMCI_COUNTER_H

#include "drivers/base/atomic.h"

enum armci_counter {
#define ARMCI_COUNTER(name, meaning) ARMCI_COUNT_##name,
#include "armci/core/counter.def"
#undef ARMCI_COUNTER
	ARMCI_COUNTERS
};
extern atomic_u64 armci_counter[ARMCI_COUNTERS];

/* The caller holds the library's lock. */
#define ARMCI_COUNT(name) ARMCI_COUNT_MANY(name, 1)
#define ARMCI_COUNT_MANY(name, n)                                                                  \
	atomic_store_relaxed(&armci_counter[ARMCI_COUNT_##name],                                   \
			     atomic_load_relaxed(&armci_counter[ARMCI_COUNT_##name]) + (n))
/* The caller is a handler of SERVE. */
#define ARMCI_COUNT_SERVED(name) atomic_fetch_add_relaxed(&armci_counter[ARMCI_COUNT_##name], 1)

/* Print the counters that are not 0 to stderr. */
void armci_counter_print(void);

#endif
