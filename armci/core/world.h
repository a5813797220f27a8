/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of this process between ARMCI_Init and ARMCI_Finalize.
 *
 * Threads of the program hold the library's lock (core/thread.h) while they use this state and
 * context ORIGIN. Handlers of context SERVE (remote/serve.c) run in whatever thread advances that
 * context, under that context's own lock. They use the memory of this process, the accumulate
 * locks, the constants below, atomic fields, and what is documented as SERVE's.
 */
#ifndef ARMCI_WORLD_H
#define ARMCI_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "armci/core/api.h"
#include "armci/memory/seg.h"
#include "drivers/base/atomic.h"
#include "pami/pami.h"

enum {
	ARMCI_ORIGIN, /* The program's calls start operations and receive answers on this context.
		       */
	ARMCI_SERVE,  /* Requests of other processes arrive on this one, also while the program
			 computes. */
	ARMCI_CONTEXTS,
	ARMCI_DISPATCH_REQUEST = 1, /* on SERVE */
	ARMCI_DISPATCH_REPLY = 2,   /* on ORIGIN */
	ARMCI_DISPATCH_MAIL = 3,    /* on ORIGIN: armci_msg_snd */
	ARMCI_DISPATCH_DATA = 4,    /* on ORIGIN: as REPLY, for answers from another host */
	ARMCI_TAG_CLUSTER = -7001,  /* tag of the messages of armci_grp_clus_brdcst */
};

struct armci_agg;
struct armci_alloc;
struct armci_group;
struct armci_target;

/* The functions of PAMI's extension EXT_quintorus_memory; all NULL where it is missing. */
struct armci_ext_memory {
	void *(*alloc)(size_t bytes, size_t align);
	void (*free)(void *va);
	void *(*local)(pami_task_t task, void *va, size_t bytes);
};

struct armci_world {
	/* Calls of Init minus calls of Finalize. */
	atomic_i32 users;

	/* Under the library's lock; struct armci_map says what is read without it. */
	struct armci_map *map;       /* [nproc] segments of each process */
	struct armci_map local_map;  /* memory of ARMCI_Malloc_local */
	struct armci_target *target; /* [nproc] */
	uint32_t offers_pending;     /* long gets offered to their owners and not yet answered */
	bool failed;                 /* `failed` of some target is set */
	struct armci_alloc *allocs;

	/* Constant from ARMCI_Init to ARMCI_Finalize. */
	int me, nproc;
	bool single; /* One context is ORIGIN and SERVE, and every call holds its lock. */
	pami_client_t client;
	pami_context_t context[ARMCI_CONTEXTS];
	size_t immediate_max;
	bool thread;     /* Asynchronous progress advances SERVE too. */
	bool is_virtual; /* The job runs in virtual time. */
	struct armci_ext_memory memory;
	/* [nproc] load and store that process's memory where it can be mapped. */
	unsigned char *mapped;
	/* [nproc] its accumulate locks where they are mapped here, else NULL. */
	atomic_u32 **stripes;
	void *stripe_page; /* this process's accumulate locks, then its page of core/assist.c */
	void **shared; /* [nproc] the page of core/assist.c of a process on this host, else NULL */
	/* From EXT_quintorus_atomics, or NULL: the MU of the owner carries it out. */
	int (*has_atomic)(pami_atomic_t operation, pami_type_t type, uint64_t value);
	int (*is_dead)(pami_task_t); /* from EXT_quintorus_deaths, or NULL */
	struct armci_group *all;     /* the group of all processes */

	/* Written under the library's lock, read without it. */
	atomic_u32 unacked, pending;     /* sums over all targets */
	ATOMIC(struct armci_agg *) aggs; /* aggregate collections that have not been sent */
	atomic_u32 collections_sent;     /* collections that some thread is sending */

	/* Set by callbacks of any thread: a process died since the last sweep. */
	atomic_u32 death_seen;
};

extern struct armci_world armci_world;

/* Add n to a word that other threads read without the lock. The caller holds the lock. */
static inline void armci_word_add(atomic_u32 *word, uint32_t n)
{
	atomic_store_relaxed(word, atomic_load_relaxed(word) + n);
}

/* ---- core/init.c ---- */
/* The lock of context SERVE, for changes to what its handlers read. */
void armci_serve_lock(void);
void armci_serve_unlock(void);
/* Make the PAMI client and learn rank and size, if not done before. 0 or FAIL6 (logged). */
int armci_client_open(void);
/* Is the process known to have died at this moment? Any thread. */
bool armci_is_dead(int proc);
/* Print the message to stderr and end this process; the launcher then ends the job. */
void armci_die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* FAIL5 unless proc exists. */
int armci_check_proc(int proc);
/* Where this process may load and store [va, va + bytes) of proc's memory, or NULL. */
void *armci_mapped_at(int proc, uintptr_t va, size_t bytes);

/* ---- core/compute.c, core/thread.c: progress ---- */
/*
 * One round of progress, for loops that wait. It may let other threads into the library meanwhile,
 * so the caller reads shared state again afterwards.
 */
void armci_poll(void);
/* One round of progress for calls that do not wait: it never sleeps. */
void armci_poll_briefly(void);

#endif
