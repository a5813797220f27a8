/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the clock of a job decides: who runs the engines, and what a thread does that waits.
 *
 *   real     progress/clock_real.c: the thread that polls or sends runs its channel's engine, the
 *            engine thread runs the others, and a thread that waits spins, yields or sleeps
 *   virtual  vtime/clock.c: the simulator runs the injection engines. A call that may wait hands
 *            the turn over; a store travels to the simulator
 *
 * join() of launch/attach.c chooses one, for as long as the process is attached.
 */
#ifndef MU_PROGRESS_CLOCK_H
#define MU_PROGRESS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct emu_address;
struct mu_channel;
struct mu_process;

struct mu_clock_ops {
	bool can_rejoin; /* a process that left the job may join it again */
	bool has_locks;  /* threads of a process run at the same time: engines need their lock */
	bool reports_access_errors; /* an operation whose memory is missing ends with an error */

	/* The process joins: its maps are filled and its transport is chosen. 0, or a negative
	 * errno; then all is closed again. */
	int (*join)(struct mu_process *p);
	/* The process leaves: no thread of the library runs its engines afterwards. */
	void (*leave)(struct mu_process *p);

	/* User thread of the channel: mu_poll_once(), mu_wait(), mu_make_room(), mu_run_reception()
	 * of mu/mu.h. */
	int (*poll)(struct mu_channel *ch);
	int (*wait)(struct mu_channel *ch, int found, unsigned how);
	void (*make_room)(struct mu_channel *ch);
	void (*receive)(struct mu_channel *ch);

	/* User thread: a descriptor is about to be published in the injection FIFO. NULL: nothing
	 * to note. */
	void (*note_descriptor)(struct mu_channel *ch);
	/* User thread: descriptors were published. Run them, unless another thread does. */
	void (*inject)(struct mu_channel *ch);

	/* User thread: mu_directory_lead() of segment/directory.h. NULL: the routers do it. */
	bool (*lead_address)(struct mu_process *p, const struct emu_address *a, uint32_t *task);

	/* Any thread: mu_wake_channel() and mu_wake_self() of mu/mu.h. */
	void (*wake_channel)(struct mu_channel *ch);
	void (*wake_threads)(struct mu_process *p);

	/* A word of a board changes (segment/board.h). */
	void (*store)(struct mu_process *p, uint64_t *word, uint64_t value, uint32_t task);
	void (*add)(struct mu_process *p, uint64_t *word, uint64_t value, uint64_t wake_at,
		    uint32_t task);

	/* How many commthreads a process has, if no setting says so; at least 1. cpus: processors
	 * that it may use. */
	unsigned (*commthreads)(const struct mu_process *p, unsigned cpus);
	/* Commthread k is about to serve a channel: start it. 0 or a negative errno. */
	int (*start_commthread)(struct mu_process *p, unsigned k);
	/* Commthread k got a channel (added) or lost one. */
	void (*note_channels)(struct mu_process *p, unsigned k, bool added);
};

extern const struct mu_clock_ops mu_clock_real, mu_clock_virtual;

#endif
