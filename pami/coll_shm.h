/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory shared by the members of a geometry that form one team (mu_task_group()): here they say what
 * they have to say to each other. Real clock only.
 *
 * The area lies in the arena of the team's first member, who tells the others where at the first use:
 *
 *   done[n]       a line each: turns this member has completed
 *   pace[n]       a line each: steps of this member on the stage (coll_stage.c)
 *   slot[n][4]    a line each: what this member says in turn k is in slot k % 4, complete when its
 *                 number is k + 1: up to 56 bytes of data, or the address of more
 *   bulk[n][4]    data of up to PAMI_SHM_BULK bytes that belongs to the slot
 *
 * Long data of broadcast and allreduce goes through the stage (below), other long data is read from where it lies
 * (one copy, by the kernel). An operation takes one or two turns; those of one geometry follow each other, and a slot is written
 * again when all have completed the turn that used it before. Members compute in rank order, so all get
 * the same bits.
 *
 *   coll_shm.c        the area, turns; barrier, broadcast     coll_short.c   the short lane for few bytes
 *   coll_shm_data.c   reductions, allgather                  coll_node.c    several teams
 *   coll_stage.c      long data in slices                    coll_node_parts.c
 */
#ifndef PAMI_COLL_SHM_H
#define PAMI_COLL_SHM_H

#include "drivers/base/wake.h"
#include "pami/coll_algorithms.h"

#define PAMI_SHM_SLOTS  4u
#define PAMI_SHM_INLINE 56u
#define PAMI_SHM_BULK   8192u

struct pami_shm_slot {
	_Alignas(64) uint64_t number;
	unsigned char data[PAMI_SHM_INLINE];
};

struct pami_shm_done {
	_Alignas(64) uint64_t count;
};

struct pami_shm_area { /* then done, pace, slot, bulk */
	_Alignas(64) uint32_t stalled; /* somebody waits for a slot: wake all when done moves */
	struct drv_wake bell;          /* for those who wait long for what one member will say */
};

/* An operation of the short lane: coll_short.c. */
struct pami_short {
	struct pami_shm *next;
	struct pami_geometry *geometry;
	pami_event_function cb_done;
	void *cookie;
	uint64_t at;          /* its turn */
	uint32_t peer;        /* members before this one were heard */
	uint32_t root;        /* broadcast: whom to hear */
	uint8_t type, watched; /* watched: mu_watch() was told */
	unsigned element;
	size_t bytes;
	void *target;
	pami_data_function op;
	void *op_cookie;
};

enum { PAMI_LANE_UNKNOWN, PAMI_LANE_ALWAYS, PAMI_LANE_ASK };

struct pami_shm {
	struct pami_shm_area *area;
	struct pami_shm_done *done, *pace;
	struct pami_shm_slot *slot;
	unsigned char *bulk;
	uint32_t members, me;
	uint8_t owner, failed, ready, crowded;
	uint8_t stage_asked, stage_ready; /* by an operation that was called; and known */
	uint32_t stage_last;              /* a slice of the broadcast that used it last; or 0 */
	unsigned char *stage;             /* NULL: none */
	uint64_t paced;    /* steps given out */
	uint64_t slowest;  /* steps known to be over everywhere */
	uint64_t started;  /* turns given out */
	uint64_t finished; /* turns over, here */
	uint64_t all_done; /* turns known to be over everywhere */
	uint64_t wrote[PAMI_SHM_SLOTS]; /* turns that must be over everywhere before my slot is written again */
	uint64_t *known;   /* [members] turns known to be over there */
	uint32_t *rank;    /* [members] in the geometry */
	struct pami_short now;
	uint8_t lane[PAMI_XFER_AMBROADCAST]; /* PAMI_LANE_ by type: coll_short.c */
	uint32_t task[];   /* [members] */
};

/* What a step function goes on with when it is its operation's turn: pami_shm_enter(). */
#define PAMI_SHM_GO 100

/* Words that are about to be written are looked at again and again for this many loads first. */
#define PAMI_SHM_LOOKS 64

static inline struct pami_shm_slot *pami_shm_slot_of(const struct pami_shm *s, uint32_t member, uint64_t k)
{
	return &s->slot[member * PAMI_SHM_SLOTS + k % PAMI_SHM_SLOTS];
}

static inline unsigned char *pami_shm_bulk_of(const struct pami_shm *s, uint32_t member, uint64_t k)
{
	return s->bulk + (size_t)(member * PAMI_SHM_SLOTS + k % PAMI_SHM_SLOTS) * PAMI_SHM_BULK;
}

static inline void pami_shm_wake_others(const struct pami_shm *s)
{
	for (uint32_t i = 0; i < s->members; i++)
		if (i != s->me)
			mu_wake_task(s->task[i]);
}

/* What was written before is said. */
static inline void pami_shm_publish(struct pami_shm *s, uint64_t k)
{
	s->wrote[k % PAMI_SHM_SLOTS] = k + 1;
	__atomic_store_n(&pami_shm_slot_of(s, s->me, k)->number, k + 1, __ATOMIC_RELEASE);
}

/* Has the member spoken in turn k? Then those before are over there. `looks`: how often to look. */
static inline int pami_shm_heard(const struct pami_shm *s, uint32_t member, uint64_t k, int looks)
{
	const struct pami_shm_slot *slot = pami_shm_slot_of(s, member, k);

	do
		if (__atomic_load_n(&slot->number, __ATOMIC_ACQUIRE) == k + 1) {
			s->known[member] = k;
			return 1;
		}
	while (--looks > 0);
	return 0;
}

/* Up to PAMI_SHM_BULK bytes with the slot of turn k, before it is published; where they are to be seen. */
static inline void pami_shm_put(const struct pami_shm *s, uint64_t k, const void *data, size_t bytes)
{
	if (bytes)
		memcpy(bytes <= PAMI_SHM_INLINE ? pami_shm_slot_of(s, s->me, k)->data :
		                                  pami_shm_bulk_of(s, s->me, k), data, bytes);
}

static inline const unsigned char *pami_shm_see(const struct pami_shm *s, uint32_t member, uint64_t k, size_t bytes)
{
	return bytes <= PAMI_SHM_INLINE ? pami_shm_slot_of(s, member, k)->data : pami_shm_bulk_of(s, member, k);
}

static inline uint64_t pami_shm_address_in(const struct pami_shm_slot *slot, unsigned i)
{
	uint64_t a;

	memcpy(&a, slot->data + 8 * i, 8);
	return a;
}

static inline void pami_shm_address_out(const struct pami_shm *s, uint64_t k, const void *a, const void *b)
{
	uint64_t both[2] = { (uint64_t)(uintptr_t)a, (uint64_t)(uintptr_t)b };

	memcpy(pami_shm_slot_of(s, s->me, k)->data, both, sizeof both);
}

/* Turns up to `to` are over here. */
static inline void pami_shm_over(struct pami_shm *s, uint64_t to)
{
	s->finished = to;
	__atomic_store_n(&s->done[s->me].count, to, __ATOMIC_RELEASE);
	if (PAMI_UNLIKELY(__atomic_load_n(&s->area->stalled, __ATOMIC_RELAXED))) {
		__atomic_store_n(&s->area->stalled, 0, __ATOMIC_RELAXED);
		pami_shm_wake_others(s);
	}
}

/*
 * The stage: more memory, got when long data first goes through it. PAMI_STAGE_WANTED in c->stage: before the
 * operation begins it is known whether it is there. coll_stage.c; bytes: of n members.
 */
enum { PAMI_STAGE_NONE, PAMI_STAGE_WANTED, PAMI_STAGE_ASKS };
size_t pami_stage_bytes(uint32_t n);
int pami_stage_usable(const struct pami_coll *c);
int pami_stage_broadcast(struct pami_coll *c, struct pami_shm *s);
int pami_stage_allreduce(struct pami_coll *c, struct pami_shm *s);

/* Join the team's memory and take `turns` turns (c->turn is the first). 0, -ENOMEM. */
int pami_shm_join(struct pami_coll *c, uint64_t turns);
/*
 * First in each step function: PAMI_SHM_GO in phase 2 and later, when it is the operation's turn; else what
 * the function shall return. Where there is no memory, the operation goes on as `instead`.
 */
int pami_shm_enter(struct pami_coll *c, const struct pami_algorithm_info *instead);
/* These say, where they return 0, what to sleep on. */
int pami_shm_reached(struct pami_coll *c, const struct pami_shm *s, uint64_t *word, uint64_t value);
int pami_shm_said(struct pami_coll *c, struct pami_shm *s, uint32_t member, uint64_t k);
/* Not soon: after messages between hosts. Who says it also rings the area's bell. */
int pami_shm_said_far(struct pami_coll *c, struct pami_shm *s, uint32_t member, uint64_t k);
int pami_shm_all_said(struct pami_coll *c, struct pami_shm *s, uint64_t k); /* from c->peer on; then 0 again */
int pami_shm_all_before(struct pami_coll *c, struct pami_shm *s, uint64_t k);
/* Where member i's part of `bytes` begins: whole elements. */
size_t pami_shm_part(const struct pami_coll *c, size_t bytes, uint32_t i);
/* May my slots of turns k to k + turns - 1 be written? */
int pami_shm_slots_free(struct pami_coll *c, struct pami_shm *s, uint64_t k, uint64_t turns);
void pami_shm_finished(struct pami_coll *c, struct pami_shm *s);
/* After publishing: wake those who wait by pami_shm_said_far(), too. */
void pami_shm_ring(struct pami_shm *s);
/*
 * One member tells all others `total` bytes in the operation's only turn: itself up to PAMI_SHM_BULK, else where they
 * lie. They hear `bytes` of it from `at` on. Then the turn ends, for the speaker when those who fetch have done so.
 */
int pami_shm_tell_down(struct pami_coll *c, struct pami_shm *s, const void *data, size_t total);
int pami_shm_hear_down(struct pami_coll *c, struct pami_shm *s, uint32_t from, size_t total, size_t at, void *to,
                       size_t bytes);
int pami_shm_end_down(struct pami_coll *c, struct pami_shm *s, uint32_t from, int fetched);
/* It ended with an error, whatever it was doing: others may still use the geometry. */
void pami_shm_end(struct pami_coll *c);

/* The member's side of it, and on the member that made it the memory itself. NULL is fine. */
void pami_shm_free(struct pami_shm *shm, int keep_area);

/* coll_far.c: the same. */
void pami_far_end(struct pami_coll *c);
void pami_far_free(struct pami_far *far, int keep_area);

/* coll_short.c: returns whether it took the operation. */
int pami_short_start(struct pami_context *ctx, struct pami_geometry *g, struct pami_shm *s, unsigned type,
                     const struct pami_algorithm_info *info, const pami_xfer_t *x);
/* Those of geometries with a dead member end. */
void pami_short_gone(struct pami_context *ctx);

#endif
