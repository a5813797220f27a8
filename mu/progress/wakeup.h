/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wakeup region: a set of words a thread watches; a store by anybody (followed by a ring) ends its
 * wait. What the chip's wakeup unit does with address compares (docs/hardware.md 9): arm, look
 * again, wait, disarm. Spurious wakeups are normal. Waits with futex_waitv on all words at once.
 */
#ifndef MU_WAKEUP_H
#define MU_WAKEUP_H

#include <assert.h>

#include "drivers/base/wake.h"

#define MU_WAKEUP_WORDS DRV_WAKE_WORDS

struct mu_wakeup {
	struct drv_wake *word[MU_WAKEUP_WORDS];
	uint32_t seen[MU_WAKEUP_WORDS];
	unsigned count;
};

/* Add a word; before arming. */
static inline void mu_wakeup_watch(struct mu_wakeup *u, struct drv_wake *word)
{
	assert(u->count < MU_WAKEUP_WORDS);
	u->word[u->count++] = word;
}

/* From here on a ring is not missed; now look at what the words stand for. */
static inline void mu_wakeup_arm(struct mu_wakeup *u)
{
	drv_wake_prepare_all(u->word, u->seen, u->count);
}

static inline void mu_wakeup_wait(struct mu_wakeup *u, int64_t timeout_ns)
{
	drv_wake_wait_any(u->word, u->seen, u->count, timeout_ns);
}

static inline void mu_wakeup_disarm(struct mu_wakeup *u)
{
	for (unsigned i = 0; i < u->count; i++)
		drv_wake_finish(u->word[i]);
}

#endif
