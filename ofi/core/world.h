/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This process in the job: one PAMI client for all domains, and its contexts, which endpoints take.
 *
 * A PAMI client has its contexts for life, so all are made at once and handed out. The offset of a
 * context is part of an endpoint's address.
 */
#ifndef OFI_CORE_WORLD_H
#define OFI_CORE_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pami/ext_deaths.h"
#include "pami/ext_virtual.h"
#include "pami/ext_wait.h"
#include "pami/pami.h"

#define OFI_CONTEXTS 16u

struct ofi_ep;

/* A context and the endpoint that has it. The cookie of dispatch functions. */
struct ofi_slot {
	pami_context_t context;
	struct ofi_ep *ep; /* NULL: what arrives is dropped; under the context's lock */
	bool dispatches;   /* The dispatch functions are set, once for a context's life. */
	bool taken;        /* under the world's mutex */
};

struct ofi_world {
	pami_client_t client;
	struct ofi_slot slot[OFI_CONTEXTS];
	size_t contexts;
	uint32_t me, tasks;
	uint64_t job;           /* distinguishes jobs of one task; 0 in larger ones */
	size_t immediate_bytes; /* longest header + data of PAMI_Send_immediate() */
	pami_quintorus_advancev_fn wait;
	pami_quintorus_watch_fn watch;
	pami_quintorus_gone_fn gone;
	bool is_virtual; /* the clock of the job */
};
extern struct ofi_world ofi_world;

/* Join the job, or count one more user. 0 or -FI_EOTHER (logged). Any thread. */
int ofi_world_open(void);
void ofi_world_close(void);
/*
 * Take `count` contexts in a row. The one of offset 0 is for messages with tags if others are free:
 * collectives use it, too (endpoint/lend.h). Returns the first offset, or -FI_EMFILE (logged). Any
 * thread.
 */
int ofi_world_take(size_t count, bool tagged);
void ofi_world_give(size_t first, size_t count);
/* Give a context to the commthreads or take it back. 0 or -FI_ENOSYS (logged). */
int ofi_world_progress(pami_context_t context, bool on);

#endif
