/* SPDX-License-Identifier: BSD-3-Clause */
/* What this process knows about each other process, under the library's lock unless atomic. */
#ifndef ARMCI_TARGET_H
#define ARMCI_TARGET_H

#include "armci/core/counter.h"
#include "armci/core/world.h"
#include "armci/memory/seg.h"

struct armci_target {
	/* Endpoints, each made on first contact and kept. */
	pami_endpoint_t endpoint[ARMCI_CONTEXTS];
	bool known[ARMCI_CONTEXTS];

	/* Operations. The atomic counts are written under the lock and read without it. */
	atomic_u32 unacked;             /* writes that are not yet remotely complete */
	atomic_u32 pending;             /* non-blocking operations not yet locally complete */
	uint32_t writes[ARMCI_CLASSES]; /* of the unacked writes, those to segments */
	uint64_t window;                /* bytes of unacknowledged active messages */
	uint64_t mail_bytes;            /* bytes of armci_msg_snd that it has not received */

	/* core/assist.c: does a thread there wait in a call? */
	uint64_t polls_read_at; /* ticks */
	uint32_t polls_seen;
	bool waits_in_call;

	/* Failures and deaths. */
	bool failed;              /* An operation without a handle failed since the last wait. */
	bool dead;                /* It died, and the operations it owed an answer have ended. */
	bool failure_logged;      /* A failed write or request was logged; one line is enough. */
	atomic_u32 dead_on_serve; /* SERVE has handled all that arrived before the death. */
	atomic_u32 finalizing; /* It said that it is in ARMCI_Finalize; used only after a death. */
};

/* The endpoint of proc's context. Under the library's lock. */
static inline pami_endpoint_t armci_endpoint(int proc, size_t context)
{
	struct armci_target *t = &armci_world.target[proc];

	context = armci_world.single ? ARMCI_ORIGIN : context;
	if (__builtin_expect(!t->known[context], 0)) {
		PAMI_Endpoint_create(armci_world.client, (pami_task_t)proc, context,
				     &t->endpoint[context]);
		t->known[context] = true;
		ARMCI_COUNT(endpoints);
	}
	return t->endpoint[context];
}

#endif
