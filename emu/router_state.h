/* SPDX-License-Identifier: BSD-3-Clause */
/* The private structures of a router, for router.c (point to point) and collective.c. The caller of
 * emu_router_step() owns all fields; only the link counters are read by other threads. */
#ifndef EMU_ROUTER_STATE_H
#define EMU_ROUTER_STATE_H

#include <stdbool.h>

#include "drivers/base/atomic.h"
#include "emu/class.h"
#include "emu/route.h"
#include "emu/router.h"

#define FROM_LINKS (EMU_LINKS * EMU_VCS)
#define QUEUES     (FROM_LINKS + EMU_INJECTIONS)
#define THROUGH    ((1ull << FROM_LINKS) - 1)
#define STARVED_PS                                                                                 \
	1000000  /* a step that found no free packet for a copy runs again after this time */
#define SHARE 15 /* packets from links before one of injection (docs/hardware.md 6.5) */

struct queue {
	uint32_t head, tail;
};

/*
 * The counters of a link, by its router alone. The order keeps what most packets count in the cache
 * line of the queues: on[] of the dynamic and the deterministic channel.
 */
struct link_counts {
	uint64_t bytes;
	uint64_t on[EMU_ON_COUNT];
	uint64_t stalls;
	uint32_t errors, queued_max;
};

/* A link in both directions. Most packets touch two cache lines of their input and of their output:
 * the rest of the counters is in a third. */
struct link {
	/* Out. */
	_Alignas(64) uint64_t free_at;
	uint64_t request[EMU_VCS];
	uint16_t credits[EMU_VCS];
	uint8_t turn[2]; /* last queue served: from links, from injection */
	uint8_t share;
	/* In. */
	uint8_t unused;
	uint16_t waiting; /* packets in all queues of this input */
	uint16_t count[EMU_VCS];
	_Alignas(64) struct queue queue[EMU_VCS];
	struct link_counts stat;
};

/*
 * A class route has a queue per child, one of the parent (all indexed by link) and one of the local
 * MU. `descending` is the packet on its way down, `down` the ports it has not been sent to yet.
 */
#define COLL_LOCAL EMU_LINKS
#define COLL_PORTS (EMU_LINKS + 1)

struct coll_route {
	ClassRoute_t route;
	uint16_t children; /* bit l: link l; bit COLL_LOCAL: the local contribution */
	uint16_t heads;    /* ports whose queue holds a packet */
	uint16_t down;
	uint8_t parent; /* link; COLL_PORTS: this is the root */
	uint8_t flags;  /* EMU_COMBINE_ flags seen */
	uint32_t descending;
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
	uint16_t busy;   /* bit per route that holds packets */
	uint16_t wanted; /* bit per link for which a collective packet waits */
	/* Bit per link whose last packet was a collective one. */
	uint16_t last;
	uint8_t slots;
	/* The earliest time at which a collective packet could move by itself; each step computes
	 * it. */
	uint64_t next;
	struct coll_route route[EMU_CLASSES];
	struct gi_route gi[EMU_CLASSES];
};

struct emu_router {
	/* Queues, a bit each (see the top of router.c). */
	_Alignas(64) uint64_t occupied;
	uint64_t new_heads, unready, local, dynamic;
	uint64_t deposited; /* queues whose head was delivered here and travels on */
	uint16_t wanted;
	uint16_t credit0; /* bit per link that has a credit on VC 0 */
	uint32_t here;    /* destination word of this node */
	uint32_t node, sequence, ps_per_byte, link_errors;
	uint8_t no_bubble, share, injection_slots;
	uint8_t sums;   /* add to sum[] */
	uint8_t faulty; /* some fault[] holds, or a packet is still under way from one that did */
	struct emu_route route;
	uint16_t slots[EMU_VCS];
	struct queue injection[EMU_INJECTIONS];
	uint16_t injections[EMU_INJECTIONS]; /* packets in each queue */
	/* For a dynamic head: links it may take on VC 0 (bits 0 .. 9), and its escape link << 12.
	 */
	uint16_t want[QUEUES];
	struct link link[EMU_LINKS];
	struct coll coll;
	/* Rarely used. */
	uint32_t link_error_ps, seed;
	struct {
		struct emu_link_fault f;
		/* When the last packet left, with its delay: the next one is not earlier. */
		uint64_t sent_ps;
	} fault[EMU_LINKS];
	struct emu_link_sum sum[EMU_LINKS];
};

struct step {
	struct emu_router *r;
	struct emu_packet *pool;
	uint64_t now;
	const struct emu_router_ops *ops;
	void *arg;
	int starved; /* no packet was free for a copy */
};

/*
 * Put a packet on the link, which is busy until free_at from then on. Returns the time at which its
 * head leaves. router.c
 */
uint64_t emu_link_put(struct emu_router *r, unsigned link, uint32_t bytes, uint64_t now, bool errs);

/* Add a packet to the checksum of one end of a link. router.c */
void emu_link_sum_add(struct emu_link_end *end, const struct emu_packet *p);

static inline uint64_t queue_bit(unsigned q)
{
	return 1ull << q;
}

static inline struct queue *queue_of(struct emu_router *r, unsigned q)
{
	return q < FROM_LINKS ? &r->link[q / EMU_VCS].queue[q % EMU_VCS]
			      : &r->injection[q - FROM_LINKS];
}

static inline uint16_t *count_of(struct emu_router *r, unsigned q)
{
	return q < FROM_LINKS ? &r->link[q / EMU_VCS].count[q % EMU_VCS]
			      : &r->injections[q - FROM_LINKS];
}

/* Other threads read the counters while the router runs. Only the router writes them. */
static inline void stat_add(uint64_t *counter, uint64_t n)
{
	atomic_store_relaxed(counter, *counter + n);
}

static inline void stat_count(uint32_t *counter)
{
	atomic_store_relaxed(counter, *counter + 1);
}

/* collective.c */
void emu_coll_init(struct emu_router *r, const struct emu_router_conf *conf);
/* Move collective packets that can move. yield_to_p2p: leave every other turn of a link to the
 * point-to-point traffic that waits for it. Returns true if a packet moved. */
bool emu_coll_step(struct step *s, bool yield_to_p2p);
int emu_coll_inject(struct emu_router *r, struct emu_packet *pool, uint32_t packet);
int emu_coll_arrive(struct emu_router *r, struct emu_packet *pool, unsigned link, unsigned route,
		    uint32_t packet);
int emu_coll_credit(struct emu_router *r, unsigned link, unsigned route);

#endif
