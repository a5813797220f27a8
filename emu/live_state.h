/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside of the live routers; private to live*.c. What lies in shared memory, and the moves that anybody may
 * make without a router's lock: packets of the pool, a router's inbox, its flags, its credits.
 */
#ifndef EMU_LIVE_STATE_H
#define EMU_LIVE_STATE_H

#include "emu/class.h"
#include "emu/live.h"
#include "emu/route.h"

#define NIL     EMU_NO_PACKET
#define KICK    (1u << 31) /* in flags; bits 0 .. 9: credits of that link */
#define SIGNALS (1u << 30) /* in flags: some byte of signal[] is new */
#define NEW     0x80u      /* in signal[] */
#define COLL_SLOTS 7

struct live_node {
	_Alignas(64) uint32_t lock;  /* 0 free */
	_Alignas(64) uint32_t inbox; /* pool index of the newest, linked by route.next; NIL: empty */
	uint32_t flags;
	uint32_t wants;                          /* links for which a packet waits for a credit */
	uint32_t refused;                        /* an alloc was refused since the last room() */
	/* Injection places: 0 free, HELD by an owner who fills its packet, or IN_ROUTER. A line each queue. */
	_Alignas(64) uint32_t place[EMU_INJECTIONS_ALL][EMU_INJECTION_SLOTS];
	_Alignas(64) uint64_t credit[EMU_LINKS]; /* back from neighbours, 16 bits a VC */
	uint64_t coll_credit[EMU_LINKS];         /* 4 bits a class route */
	/* Global interrupts from neighbours and, last, from the node's own MU: NEW | bits. One writer each. */
	uint8_t signal[EMU_LINKS + 1][EMU_CLASSES];
	/* Constant. */
	_Alignas(64) uint32_t node, here;
	uint32_t peer[EMU_LINKS]; /* local index of the neighbour, NIL: on another host (or none) */
	uint32_t remote;          /* links to other hosts */
	uint32_t lost;            /* of these, those that lead nowhere any more */
	/* The holder's. */
	uint32_t out_head[EMU_LINKS], out_tail[EMU_LINKS]; /* packets that send_remote refused */
	uint64_t owed[EMU_LINKS], coll_owed[EMU_LINKS];    /* credits for other hosts */
	uint8_t told[EMU_LINKS][EMU_CLASSES];              /* signals for them: NEW | bits */
	uint16_t to_tell[EMU_LINKS];                       /* routes of which one is NEW */
};

struct live_mem {
	uint32_t magic, version;
	uint64_t bytes;
	struct emu_route route;
	uint32_t nodes, local_nodes, active_words, pool_count;
	uint32_t slots[EMU_VCS];
	uint64_t local_at, active_at, node_at, node_bytes, next_at, pool_at;
	_Alignas(64) uint64_t free_head; /* count of changes << 32 | pool index */
	_Alignas(64) uint32_t fresh;     /* packets never used start here */
	uint64_t bad;
};

struct emu_live {
	struct live_mem *mem;
	struct emu_live_ops ops;
	void *arg;
	char *node;
	size_t node_bytes;
	struct emu_packet *pool;
	uint32_t *next; /* free list */
	uint64_t *active;
	uint32_t *local;
	uint32_t start; /* active word where the next poll starts */
	uint32_t owner; /* of the places this handle takes */
};

static inline size_t round64(size_t n)
{
	return (n + 63) & ~(size_t)63;
}

static inline struct live_node *node_of(const struct emu_live *live, uint32_t local)
{
	return (struct live_node *)(live->node + live->node_bytes * local);
}

static inline struct emu_router *router_of(struct live_node *n)
{
	return (struct emu_router *)((char *)n + round64(sizeof(*n)));
}

/* ---- pool: a stack whose head carries a count of changes, then packets never used ---- */

static inline uint32_t pool_get(struct emu_live *live)
{
	struct live_mem *m = live->mem;
	uint64_t head = __atomic_load_n(&m->free_head, __ATOMIC_ACQUIRE);

	while ((uint32_t)head != NIL) {
		uint32_t i = (uint32_t)head, next = __atomic_load_n(&live->next[i], __ATOMIC_RELAXED);

		if (__atomic_compare_exchange_n(&m->free_head, &head, ((head >> 32) + 1) << 32 | next, 1,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return i;
	}
	uint32_t fresh = __atomic_load_n(&m->fresh, __ATOMIC_RELAXED);
	while (fresh < m->pool_count)
		if (__atomic_compare_exchange_n(&m->fresh, &fresh, fresh + 1, 1, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return fresh;
	return NIL;
}

static inline void pool_put(struct emu_live *live, uint32_t i)
{
	struct live_mem *m = live->mem;
	uint64_t head = __atomic_load_n(&m->free_head, __ATOMIC_RELAXED);

	do {
		__atomic_store_n(&live->next[i], (uint32_t)head, __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(&m->free_head, &head, ((head >> 32) + 1) << 32 | i, 1,
					      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/* ---- inbox, flags, active ---- */

static inline void activate(struct emu_live *live, uint32_t local)
{
	uint64_t *word = &live->active[local / 64], bit = 1ull << (local % 64);

	if (!(__atomic_load_n(word, __ATOMIC_SEQ_CST) & bit))
		__atomic_fetch_or(word, bit, __ATOMIC_SEQ_CST);
}

/* P1, pairs with T1. route.in and route.vc say where it goes. */
static inline void inbox_push(struct emu_live *live, uint32_t local, uint32_t packet)
{
	struct live_node *n = node_of(live, local);
	uint32_t head = __atomic_load_n(&n->inbox, __ATOMIC_RELAXED);

	do {
		live->pool[packet].route.next = head;
	} while (!__atomic_compare_exchange_n(&n->inbox, &head, packet, 1, __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED));
	activate(live, local);
}

static inline void set_flag(struct emu_live *live, uint32_t local, uint32_t flag)
{
	__atomic_fetch_or(&node_of(live, local)->flags, flag, __ATOMIC_SEQ_CST);
	activate(live, local);
}

/* One credit of a channel, in the words below. */
static inline uint64_t credit_of(unsigned vc)
{
	return vc >= EMU_VCS ? 1ull << (4 * (vc - EMU_VCS)) : 1ull << (16 * vc);
}

/* Credits (16 bits a VC; 4 bits a class route) for the output `link` of a local node. */
static inline void credit_add(struct emu_live *live, uint32_t local, unsigned link, uint64_t credits, int coll)
{
	struct live_node *n = node_of(live, local);
	uint32_t bit = 1u << link;

	__atomic_fetch_add(coll ? &n->coll_credit[link] : &n->credit[link], credits, __ATOMIC_SEQ_CST);
	if (!(__atomic_load_n(&n->flags, __ATOMIC_SEQ_CST) & bit))
		__atomic_fetch_or(&n->flags, bit, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&n->wants, __ATOMIC_SEQ_CST) & bit)
		activate(live, local);
}

static inline void signal_put(struct emu_live *live, uint32_t local, unsigned from, unsigned route, unsigned bits)
{
	__atomic_store_n(&node_of(live, local)->signal[from][route], (uint8_t)(NEW | bits), __ATOMIC_SEQ_CST);
	set_flag(live, local, SIGNALS);
}

static inline int pending(struct live_node *n)
{
	uint32_t wants = __atomic_load_n(&n->wants, __ATOMIC_RELAXED);

	return __atomic_load_n(&n->inbox, __ATOMIC_SEQ_CST) != NIL ||
	       __atomic_load_n(&n->flags, __ATOMIC_SEQ_CST) & (wants | KICK | SIGNALS);
}

static inline unsigned route_of(const MUHWI_PacketHeader_t *h)
{
	return h->NetworkHeader.collective.Byte2.Byte2 >> 4;
}

#endif
