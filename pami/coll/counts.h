/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts of collectives in a channel's area (mu_channel_counts()), for torus top and torus stat:
 * [type] operations that were started, and how many of them, active messages left out, are over.
 */
#ifndef PAMI_COLL_COUNTS_H
#define PAMI_COLL_COUNTS_H

#include "drivers/base/atomic.h"
#include "pami/pami.h"

#define PAMI_COLL_COUNT_DONE 31u
_Static_assert(PAMI_XFER_COUNT < PAMI_COLL_COUNT_DONE, "a count for each type");

/* Each count has one writer at a time. */
static inline void pami_coll_count(atomic_u64 *count)
{
	atomic_store_relaxed(count, atomic_load_relaxed(count) + 1);
}

#endif
