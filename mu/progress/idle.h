/* SPDX-License-Identifier: BSD-3-Clause */
/* How threads of a process wait, for mu/ only; software above sees mu_wait() of mu.h. */
#ifndef MU_PROGRESS_IDLE_H
#define MU_PROGRESS_IDLE_H

#include "mu/process.h"
#include "mu/progress/idle_policy.h"

/* State of this thread, whichever channels it polls. mu_idle_polls (mu.h) counts beside it. */
struct mu_idle_thread {
	struct mu_idle idle;
	uint32_t posted;       /* the posted word at the last look */
	int first_thread;      /* 1: of the process, 2: another, 0: not looked up */
	uint64_t noted;        /* the last call of note_waited() */
	uint64_t stretch_at;   /* first look of this stretch */
	uint64_t described_at; /* mu_waits_is_due() last said so; 0: not in this stretch */
	int helping; /* another channel is polled right behind this one, which polled the port */
};
extern _Thread_local struct mu_idle_thread mu_idle_thread
    __attribute__((tls_model("initial-exec")));

/* After an empty poll on ch: spin, yield or sleep. Returns 1 if the thread yielded or slept. */
int mu_idle(struct mu_channel *ch, unsigned how);
void mu_idle_setup(struct mu_process *p, int crowded);

/* What the engine thread and the idle threads of the program share: */

/*
 * Is there work for a thread of this process? software: a thread of the program asks, which also
 * serves watched words, software's own work and the unsent descriptors of shared channels; else the
 * engine thread asks. Sets *unsent if a channel waits for room at its target.
 */
int mu_process_has_work(struct mu_process *p, int software, int *unsent);
/*
 * Sleep until a record or posted work arrives, or a frame if this process holds the port; at most
 * ns. posted: the value of area->posted.seq before the caller last checked its queues. NULL: the
 * caller is the engine thread, which is also commthread 0.
 */
void mu_idle_sleep(struct mu_process *p, const uint32_t *posted, int64_t ns);

#endif
