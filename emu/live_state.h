/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inside of the live routers; private to live*.c. It declares what lies in shared memory, and
 * the operations that need no router lock: on the pool's packets, and on a router's inbox, flags
 * and credits.
 */
#ifndef EMU_LIVE_STATE_H
#define EMU_LIVE_STATE_H

#include <assert.h>
#include <stdbool.h>

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "emu/class.h"
#include "emu/cuts.h"
#include "emu/faults.h"
#include "emu/live.h"
#include "emu/route.h"

#define NIL        EMU_NO_PACKET
#define KICK       (1u << 31) /* in flags; bits 0 .. 9: credits of that link have come */
#define SIGNALS    (1u << 30) /* in flags: some byte of signal[] is new */
#define SIGNAL_NEW 0x80u      /* in signal[] and remote_signal[] */

struct live_node {
	_Alignas(64) atomic_u32 lock; /* 0: free; 1: a process steps this router */
	/* Pool index of the newest packet, linked by route.next; NIL: empty. Any thread pushes, the
	 * lock holder takes all. */
	_Alignas(64) atomic_u32 inbox;
	atomic_u32 flags; /* any thread sets bits, the lock holder takes all */
	/* Links for which a packet waits for a credit. The lock holder writes it. */
	atomic_u32 credit_wanted;
	atomic_u32 refused; /* set when an alloc found no place; cleared by the next room() */
	/* Injection places, a cache line each queue: 0 free, PLACE_HELD while an owner fills the
	 * packet, or PLACE_IN_ROUTER. */
	_Alignas(64) atomic_u32 place[EMU_INJECTIONS_ALL][EMU_INJECTION_SLOTS];
	/* Credits from neighbours: 16 bits a VC, and 4 bits a class route. Any thread adds, the
	 * lock holder takes all. */
	_Alignas(64) atomic_u64 credit[EMU_LINKS];
	atomic_u64 coll_credit[EMU_LINKS];
	/* Global interrupts from neighbours and, last, from the users at the node itself:
	 * SIGNAL_NEW | bits. One writer each; the lock holder takes them. */
	atomic_u8 signal[EMU_LINKS + EMU_GI_USERS][EMU_CLASSES];
	/*
	 * Used if cuts begin or end while the job runs. Packets in flight from this node, and above
	 * them the state of the script (emu_faults_passed()) whose ways they take.
	 */
	atomic_u64 flights;
	/* Constant after init, except `lost`, which the one polling process writes. */
	_Alignas(64) uint32_t node, here;
	uint32_t peer[EMU_LINKS]; /* local index of the neighbour; NIL: on another host, or none */
	uint32_t remote;          /* links to other hosts */
	uint32_t lost;            /* those of them whose host has died */
	/* Only the lock holder reads and writes the rest: packets that send_remote() has not taken,
	 * and credits and signals (SIGNAL_NEW | bits) to send to other hosts. */
	uint32_t out_head[EMU_LINKS], out_tail[EMU_LINKS];
	uint64_t remote_credit[EMU_LINKS], remote_coll_credit[EMU_LINKS];
	uint8_t remote_signal[EMU_LINKS][EMU_CLASSES];
	uint16_t signals_to_send[EMU_LINKS]; /* a bit per route */
	uint32_t faults_known; /* the state of the script that the router has been told */
};

struct live_mem {
	atomic_u32 magic; /* written last by init */
	uint32_t version;
	uint64_t bytes;
	struct emu_route route;
	uint32_t nodes, local_nodes, active_words, pool_count;
	uint32_t slots[EMU_VCS];
	uint32_t coll_slots, injection_slots;
	uint64_t local_at, active_at, node_at, node_bytes, next_at, pool_at;
	_Alignas(64) atomic_u64 free_head; /* generation << 32 | pool index */
	_Alignas(64) atomic_u32 fresh;     /* the packets from this index on were never used */
	atomic_u32 faults_passed;          /* the state of the script; only grows */
	atomic_u64 refused_count;          /* packets and credits from other hosts, or to no MU */
};

struct emu_live {
	struct live_mem *mem;
	struct emu_live_ops ops;
	void *arg;
	char *node;
	size_t node_bytes;
	struct emu_packet *pool;
	atomic_u32 *next;   /* the next free packet after each; NIL at the end */
	atomic_u64 *active; /* a bit per router that has work */
	uint32_t *local;
	uint32_t start; /* the word of active[] where the next poll starts */
	uint32_t owner; /* owner number of the places that this handle takes */
	/* Constant after emu_live_faults(). */
	bool has_faults, has_link_faults, holds, timed;
	uint64_t start_ns;
	struct emu_faults faults;
	struct emu_cuts *cuts; /* [faults.times + 1] by state of the script, or NULL */
};

static inline size_t round_to_line(size_t n)
{
	return (n + 63) & ~(size_t)63;
}

static inline struct live_node *node_of(const struct emu_live *live, uint32_t local)
{
	return (struct live_node *)(live->node + live->node_bytes * local);
}

static inline struct emu_router *router_of(struct live_node *n)
{
	return (struct emu_router *)((char *)n + round_to_line(sizeof(*n)));
}

/* ---- pool: a stack whose head carries a generation, then the packets never used ---- */

static inline uint32_t pool_get(struct emu_live *live)
{
	struct live_mem *m = live->mem;
	uint64_t head = atomic_load_acquire(&m->free_head);

	while ((uint32_t)head != NIL) {
		uint32_t i = (uint32_t)head, next = atomic_load_relaxed(&live->next[i]);

		if (atomic_cas_weak_acq_rel(&m->free_head, &head, ((head >> 32) + 1) << 32 | next))
			return i;
	}
	uint32_t fresh = atomic_load_relaxed(&m->fresh);
	while (fresh < m->pool_count)
		if (atomic_cas_weak_relaxed(&m->fresh, &fresh, fresh + 1))
			return fresh;
	return NIL;
}

static inline void pool_put(struct emu_live *live, uint32_t i)
{
	struct live_mem *m = live->mem;
	uint64_t head = atomic_load_relaxed(&m->free_head);

	assert(i < m->pool_count);
	do {
		atomic_store_relaxed(&live->next[i], (uint32_t)head);
	} while (!atomic_cas_weak_release(&m->free_head, &head, ((head >> 32) + 1) << 32 | i));
}

/* ---- inbox, flags, active ---- */

static inline void set_active(struct emu_live *live, uint32_t local)
{
	atomic_u64 *word = &live->active[local / 64];
	uint64_t bit = 1ull << (local % 64);

	if (!(atomic_load_seq_cst(word) & bit))
		atomic_fetch_or_seq_cst(word, bit);
}

/* P1, pairs with T1. The caller has set route.in and route.vc. */
static inline void inbox_push(struct emu_live *live, uint32_t local, uint32_t packet)
{
	struct live_node *n = node_of(live, local);
	uint32_t head = atomic_load_relaxed(&n->inbox);

	do {
		live->pool[packet].route.next = head;
	} while (!atomic_cas_weak_seq_cst(&n->inbox, &head, packet));
	set_active(live, local);
}

static inline void set_flag(struct emu_live *live, uint32_t local, uint32_t flag)
{
	atomic_fetch_or_seq_cst(&node_of(live, local)->flags, flag);
	set_active(live, local);
}

/* Return one credit of a channel, in the format of the words below. */
static inline uint64_t credit_of(unsigned vc)
{
	return vc >= EMU_VCS ? 1ull << (4 * (vc - EMU_VCS)) : 1ull << (16 * vc);
}

/* Add credits (16 bits a VC; 4 bits a class route) for the output `link` of a local node. */
static inline void credit_add(struct emu_live *live, uint32_t local, unsigned link,
			      uint64_t credits, bool coll)
{
	struct live_node *n = node_of(live, local);
	uint32_t bit = 1u << link;

	atomic_fetch_add_seq_cst(coll ? &n->coll_credit[link] : &n->credit[link], credits);
	if (!(atomic_load_seq_cst(&n->flags) & bit))
		atomic_fetch_or_seq_cst(&n->flags, bit);
	if (atomic_load_seq_cst(&n->credit_wanted) & bit)
		set_active(live, local);
}

static inline void signal_put(struct emu_live *live, uint32_t local, unsigned from, unsigned route,
			      unsigned bits)
{
	atomic_store_seq_cst(&node_of(live, local)->signal[from][route],
			     (uint8_t)(SIGNAL_NEW | bits));
	set_flag(live, local, SIGNALS);
}

static inline bool has_work(struct live_node *n)
{
	uint32_t credit_wanted = atomic_load_relaxed(&n->credit_wanted);

	return atomic_load_seq_cst(&n->inbox) != NIL ||
	       atomic_load_seq_cst(&n->flags) & (credit_wanted | KICK | SIGNALS);
}

/* ---- faults: live_faults.c ---- */

#define FLIGHT 0x80u /* in route.flags, beside the place: counted in live_node.flights */

/* Is a packet of that injection queue counted? Lines, collective packets, and those to the node
 * itself meet no cuts. */
static inline bool is_flight(const struct emu_live *live, unsigned queue)
{
	return live->holds && queue < EMU_INJECTION_LINE && queue != 3;
}

/* False: the packet has to wait until the packets before it have arrived. */
bool live_flight_begin(struct emu_live *live, uint32_t local);
void live_flight_end(struct emu_live *live, uint32_t local);
/* Choose hints. 0, or -EHOSTUNREACH. */
int live_route_around(struct emu_live *live, uint32_t local, MUHWI_Pt2PtNetworkHeader_t *h);
/* Advance the state of the script to the present time. */
void live_faults_tick(struct emu_live *live);
/* Pass the present faults to the router of a node, whose lock is held. */
void live_faults_apply(struct emu_live *live, uint32_t local);
void live_faults_free(struct emu_live *live);

static inline uint64_t live_now_ps(const struct emu_live *live)
{
	return (drv_clock_ns() - live->start_ns) * 1000;
}

static inline unsigned route_of(const MUHWI_PacketHeader_t *h)
{
	return h->NetworkHeader.collective.Byte2.Byte2 >> 4;
}

#endif
