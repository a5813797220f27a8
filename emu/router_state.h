/* SPDX-License-Identifier: BSD-3-Clause */
/* Private structures of a router: point to point (router.c) and collective (collective.c). */
#ifndef EMU_ROUTER_STATE_H
#define EMU_ROUTER_STATE_H

#include "emu/class.h"
#include "emu/route.h"
#include "emu/router.h"

#define FROM_LINKS (EMU_LINKS * EMU_VCS)
#define QUEUES     (FROM_LINKS + EMU_INJECTIONS)
#define THROUGH    ((1ull << FROM_LINKS) - 1)
#define STARVED_PS 1000000 /* ask for a packet again after this */
#define SHARE      15 /* packets from links before one of injection (spec/mu.md 6.5) */

struct queue {
	uint32_t head, tail;
};

/* A link in both directions, in two cache lines: a packet touches those of its way in and of its way
 * out. */
struct link {
	/* Out. */
	_Alignas(64) uint64_t free_at;
	uint64_t request[EMU_VCS];
	uint16_t credits[EMU_VCS];
	uint8_t turn[2]; /* last queue served: from links, from injection */
	uint8_t share;
	/* In. */
	uint8_t unused;
	uint16_t waiting; /* packets in all queues */
	uint16_t count[EMU_VCS];
	_Alignas(64) struct queue queue[EMU_VCS];
	struct emu_link_stat stat;
};

/*
 * A class route: a queue per child, one of the parent (all by link), one of the local MU. hand: the packet
 * that is on its way down; down: where it still has to go (links, and COLL_LOCAL).
 */
#define COLL_LOCAL EMU_LINKS
#define COLL_PORTS (EMU_LINKS + 1)

struct coll_route {
	ClassRoute_t route;
	uint16_t children; /* links; bit COLL_LOCAL: the local contribution */
	uint16_t heads;    /* ports whose queue holds a packet */
	uint16_t down;
	uint8_t parent; /* link; COLL_PORTS: this is the root */
	uint32_t hand;
	uint8_t count[COLL_PORTS];
	uint8_t credits[EMU_LINKS];
	struct queue queue[COLL_PORTS];
};

struct gi_route {
	ClassRoute_t route;
	uint16_t children;
	uint8_t parent;
	uint8_t local, up, status;
	uint8_t in[EMU_LINKS];
};

struct coll {
	uint16_t busy;   /* routes that hold packets */
	uint16_t wanted; /* links for which one waits */
	uint16_t last;   /* links that were used by a collective packet last */
	uint8_t slots;
	uint32_t flags;  /* EMU_COMBINE_ flags seen */
	uint64_t next;   /* of a step: when something could go on by itself */
	struct coll_route route[EMU_CLASSES];
	struct gi_route gi[EMU_CLASSES];
};

struct emu_router {
	/* What waits. */
	_Alignas(64) uint64_t occupied;
	uint64_t fresh, unready, local, dynamic;
	uint64_t deposited; /* queues whose head was received here, and goes on */
	uint16_t wanted;
	uint16_t credit0; /* links with a credit on VC 0 */
	uint32_t here;    /* own destination word */
	uint32_t node, sequence, ps_per_byte;
	uint8_t no_bubble;
	struct emu_route route;
	uint16_t slots[EMU_VCS];
	struct queue injection[EMU_INJECTIONS];
	uint16_t injections[EMU_INJECTIONS]; /* packets in each */
	uint16_t want[QUEUES]; /* of a dynamic head: links on VC 0 (bits 0 .. 9), escape link << 12 */
	struct link link[EMU_LINKS];
	struct coll coll;
};

struct step {
	struct emu_router *r;
	struct emu_packet *pool;
	uint64_t now;
	const struct emu_router_ops *ops;
	void *arg;
	int starved; /* a copy could not be had */
};

static inline uint64_t bit(unsigned q)
{
	return 1ull << q;
}

static inline struct queue *queue_of(struct emu_router *r, unsigned q)
{
	return q < FROM_LINKS ? &r->link[q / EMU_VCS].queue[q % EMU_VCS] : &r->injection[q - FROM_LINKS];
}

static inline uint16_t *count_of(struct emu_router *r, unsigned q)
{
	return q < FROM_LINKS ? &r->link[q / EMU_VCS].count[q % EMU_VCS]
			      : &r->injections[q - FROM_LINKS];
}

/* Counters are read by others while we run; one writer. */
static inline void stat_add(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

/* collective.c */
void emu_coll_init(struct emu_router *r, const struct emu_router_conf *conf);
/* Move what can move. polite: leave a link that p2p traffic also wants every other time. True: moved. */
int emu_coll_step(struct step *s, int polite);
int emu_coll_inject(struct emu_router *r, struct emu_packet *pool, uint32_t packet);
int emu_coll_arrive(struct emu_router *r, struct emu_packet *pool, unsigned link, unsigned route,
		    uint32_t packet);
int emu_coll_credit(struct emu_router *r, unsigned link, unsigned route);

#endif
