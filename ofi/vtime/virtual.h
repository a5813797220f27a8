/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private to libqt_mpi_virtual.so, which torus run --clock virtual --mpi preloads into the tasks:
 * which code called, and which function the call would have reached without this library.
 */
#ifndef OFI_VTIME_VIRTUAL_H
#define OFI_VTIME_VIRTUAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pami/ext_virtual.h"

#define ENV_TASK "QUINTORUS_TASK"

/* Marks a function that the loader lets other objects see. */
#define VIRTUAL_API __attribute__((visibility("default")))

/* The functions of EXT_quintorus_virtual. */
struct virtual_time {
	pami_quintorus_virtual_is_on_fn is_on;
	pami_quintorus_virtual_read_fn read;
	pami_quintorus_virtual_spend_fn spend;
	pami_quintorus_virtual_sync_fn sync;
	pami_quintorus_virtual_exclude_fn exclude;
	pami_quintorus_virtual_cost_fn cost;
	pami_quintorus_virtual_doubt_fn doubt;
	pami_quintorus_virtual_may_spin_fn may_spin;
	pami_quintorus_virtual_keep_turn_fn keep_turn;
};
/* Any thread. Never NULL. */
const struct virtual_time *virtual_time(void);

enum virtual_caller {
	VIRTUAL_PROGRAM = 1, /* the program, and libraries that it could have been linked with */
	VIRTUAL_SERVICE,     /* the MPI library's runtime: it works in real time */
	VIRTUAL_OURS,
	VIRTUAL_DEVICE, /* for a device that tasks do not have: they need not wait for it */
};
/*
 * Returns the owner of the code at `address`, a return address. Any thread. The answer is kept, so
 * later calls for the same code are cheap.
 */
enum virtual_caller virtual_caller_of(const void *address);
/* Ends the process with a line if it has MPICH, whose messages do not go through the torus. */
void virtual_refuse_mpich(void);
/* Returns true if the program has started a thread of its own. */
bool virtual_has_threads(void);
/* Returns true if several threads have called MPI, and may do so at once. */
bool virtual_has_callers(void);
/* Returns true if this thread serves the runtime of the MPI library. */
bool virtual_is_service_thread(void);

/*
 * The function that a call reaches without this library. `object`: the name of a shared object to
 * search, too, if it was loaded for a part of the program only; or NULL. Ends the process with a
 * line if there is none, since the caller cannot go on.
 */
void *virtual_next(const char *name, const char *object);

#endif
