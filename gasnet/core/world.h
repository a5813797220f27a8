/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of this process from gex_Client_Init() to its end. */
#ifndef GASNET_CORE_WORLD_H
#define GASNET_CORE_WORLD_H

#include <stdbool.h>

#include "gasnet/core/api.h"
#include "pami/ext_atomics.h"
#include "pami/ext_credit.h"
#include "pami/ext_deaths.h"
#include "pami/ext_memory.h"
#include "pami/ext_pieces.h"
#include "pami/ext_place.h"
#include "pami/ext_virtual.h"
#include "pami/ext_wait.h"
#include "pami/pami.h"

enum {
	GEXI_MAIN,  /* context of all operations and handlers of the program */
	GEXI_SERVE, /* context of requests that the library answers beside the program */
	GEXI_CONTEXTS
};

/* PAMI dispatch ids, on both contexts */
enum {
	GEXI_DISPATCH_AM = 1, /* active messages of the program; queue when the FIFO is full */
	GEXI_DISPATCH_AM_IMMEDIATE, /* the same, refused when the FIFO is full */
	GEXI_DISPATCH_EXIT,
	GEXI_DISPATCH_RATOMIC, /* ratomic/ */
	GEXI_DISPATCH_RATOMIC_DONE,
	GEXI_DISPATCH_VIS, /* vis/ */
	GEXI_DISPATCH_VIS_DONE,
	GEXI_DISPATCH_FREE /* the first number that is free */
};

struct gexi_client {
	char *name;
	gex_Flags_t flags;
	const void *cdata;
};

struct gexi_segment {
	void *addr;
	uintptr_t bytes;
	const void *cdata;
};

struct gexi_ep {
	struct gexi_segment *segment; /* or NULL */
	const void *cdata;
};

/* What this process knows of another one. Constant after gex_Segment_Attach(), except as said. */
struct gexi_peer {
	pami_endpoint_t endpoint[GEXI_CONTEXTS];
	ptrdiff_t delta; /* where is_mapped: add it to an address in its segment */
	bool is_mapped;  /* this process loads and stores in its segment */
	bool has_segment;
	bool is_near;         /* PAMI reaches it through memory of this machine */
	uint32_t nbrhd, host; /* numbers of its neighbourhood and of its machine */
	uintptr_t seg_addr;   /* in its address space */
	uintptr_t seg_bytes;
	char *slots; /* its message slots in this process; NULL: not mapped (am/slot.c) */
	pami_quintorus_credit_t credit; /* am/am.h; lock */
} __attribute__((aligned(64)));

#define GEXI_VIS_BY_TABLE SIZE_MAX

/* Settings, read once. The first of each pair is the reference, the second the fast form. */
struct gexi_env {
	unsigned npam;    /* 0: ref, 1: spec */
	unsigned imm;     /* 0: ignore, 1: honor */
	unsigned lc;      /* 0: remote, 1: local */
	unsigned ratomic; /* 0: am, 1: nic */
	unsigned vis_opt; /* 0, 1 */
	unsigned vis_am;  /* 0: fp, 1: np, 2: none */
	unsigned shm;     /* 0: off, 1: percall, 2: hoisted */
	uint32_t nbrhd_max;
	uint32_t credits;
	size_t medium_max;
	size_t vis_put_max, vis_get_max; /* longest pieces that are packed, or GEXI_VIS_BY_TABLE */
	size_t segment_max;              /* 0: default */
};

struct gexi_world {
	pami_client_t client;
	pami_context_t context[GEXI_CONTEXTS];
	bool is_par;     /* several threads may call at once */
	bool is_seq;     /* one thread calls */
	bool is_debug;   /* check handlers, arities, bounds */
	bool is_virtual; /* the clock of the job */
	bool is_exiting;
	bool polls_plainly;    /* a poll advances GEXI_MAIN, and needs no lock */
	uint32_t credits_kept; /* of a peer before they are returned */
	/* Once gexi_serve_start() was called: GEXI_SERVE has asynchronous progress, or polls
	 * advance it. */
	bool serves_beside, serves_in_polls;
	unsigned waitmode;
	uint32_t me, nproc;
	size_t immediate_max;   /* header and data of an immediate send */
	struct gexi_peer *peer; /* [nproc] */
	struct gexi_team *team; /* of all processes */
	struct gexi_env env;
	struct gexi_client the_client;
	struct gexi_ep ep;
	struct gexi_segment segment;
	/* Processes that load and store in each other's segments, and of one machine: job ranks. */
	gex_RankInfo_t *nbrhd, *host;
	uint32_t nbrhd_count, nbrhd_index, host_count, host_index;
	uint32_t nbrhd_sets, nbrhd_set, host_sets, host_set;
	uintptr_t segment_max_global;  /* the least of all processes */
	pami_quintorus_alloc_fn alloc; /* shared memory; NULL: none */
	pami_quintorus_free_fn free;
	pami_quintorus_local_fn local;
	pami_quintorus_node_fn node; /* the same for tasks of this node, in both clocks */
	pami_quintorus_advancev_fn advancev;
	pami_quintorus_room_fn room; /* or NULL */
	pami_quintorus_gone_fn is_gone;
	pami_quintorus_has_atomic_fn has_atomic; /* NULL: no atomics of messaging units */
	pami_quintorus_count_atomic_fn count_atomic;
	pami_quintorus_virtual_spend_fn spend; /* of virtual time; or NULL */
	uint64_t store_ps, byte_ps;            /* virtual time of a store, and of a byte copied */
	pami_quintorus_reserve_fn reserve;     /* messages in place; never NULL */
	pami_quintorus_commit_fn commit;
	pami_quintorus_words_fn words;   /* never NULL */
	pami_quintorus_padded_fn padded; /* never NULL */
	pami_quintorus_framed_fn framed; /* never NULL */
	pami_quintorus_credit_settle_fn settle;
	pami_quintorus_get_pieces_fn get_pieces; /* NULL: single gets only */
};
extern struct gexi_world gexi_world;

/*
 * End this process, and with it the job, after a line on standard error. For errors that the
 * interface has no result for: wrong use by the program, dead processes, memory that ran out.
 */
void gexi_die(const char *format, ...) __attribute__((noreturn, cold, format(printf, 1, 2)));

static inline struct gexi_peer *gexi_peer(uint32_t task)
{
	return &gexi_world.peer[task];
}

/* Return the address in this process of an address in the peer's segment, or NULL if it is not
 * mapped. */
static inline void *gexi_local(const struct gexi_peer *peer, const void *addr)
{
	return GEXI_LIKELY(peer->is_mapped) ? (char *)(uintptr_t)addr + peer->delta : NULL;
}

/* Call this before loads and stores in mapped memory: they take virtual time. */
void gexi_spend_copy_slow(size_t bytes) __attribute__((cold));
static inline void gexi_spend_copy(size_t bytes)
{
	if (GEXI_UNLIKELY(gexi_world.is_virtual))
		gexi_spend_copy_slow(bytes);
}

/* In debug builds of the program: end the process if bytes of this one have no address. */
void gexi_no_address(const char *call) __attribute__((noreturn, cold));
static inline void gexi_check_local(const char *call, const void *addr, size_t bytes)
{
	if (GEXI_UNLIKELY(gexi_world.is_debug) && bytes && !addr)
		gexi_no_address(call);
}

/* In debug builds of the program: end the process if the range is not in the peer's segment. No
 * bytes are at any address. */
void gexi_check_bounds_slow(const char *call, uint32_t task, const void *addr, size_t bytes);
static inline void gexi_check_bounds(const char *call, uint32_t task, const void *addr,
				     size_t bytes)
{
	if (GEXI_UNLIKELY(gexi_world.is_debug) && bytes)
		gexi_check_bounds_slow(call, task, addr, bytes);
}

#endif
