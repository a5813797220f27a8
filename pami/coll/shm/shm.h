/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of a team: of the members of a geometry that reach each other's memory directly
 * (mu_task_group()). Real clock only.
 *
 * The area lies in the arena of the team's first member. That member sends its address to the
 * others when the geometry uses it first:
 *
 *   done[n]       one line for each member: the turns that it has completed
 *   pace[n]       one line for each member: its steps on the slice buffers (coll/shm/slices.c)
 *   slot[n][4]    what a member publishes in turn k, in slot k % 4: up to 56 bytes of data, or the
 *                 address of more. The slot is complete when its number is k + 1.
 *   bulk[n][4]    data of up to PAMI_SHM_BULK bytes that belongs to the slot
 *
 * An operation holds one turn or two. The turns of a geometry follow each other at each member, in
 * the order of its calls. A member overwrites a slot when all members have completed the turn that
 * used it before. Members combine data in rank order, so all get the same bits.
 *
 *   coll/shm/shm.c      the area, turns, waiting       coll/shm/short.c    few bytes, no object
 *   coll/shm/flat.c     the algorithms of one team     coll/shm/slices.c   long data in slices
 */
#ifndef PAMI_COLL_SHM_H
#define PAMI_COLL_SHM_H

#include "drivers/base/atomic.h"
#include "drivers/base/wake.h"
#include "pami/coll/algorithms.h"

#define PAMI_SHM_SLOTS  4u
#define PAMI_SHM_INLINE 56u
#define PAMI_SHM_BULK   8192u

/* A wait first loads the word this many times, since it is usually about to be written. */
#define PAMI_SHM_LOADS 64

/* ---- In shared memory ---- */

struct pami_shm_slot {
	_Alignas(64) atomic_u64 number; /* turn + 1; the member writes it after the data */
	unsigned char data[PAMI_SHM_INLINE];
};

struct pami_shm_count {
	_Alignas(64) atomic_u64 count;
};

/* The head of the area; done, pace, slot and bulk follow. */
struct pami_shm_area {
	_Alignas(64) atomic_u32 stalled; /* a member waits for `done`: wake all when it changes */
	struct drv_wake bell;            /* of members that wait for data from another host */
};

/* ---- At a member, touched by the thread of its context ---- */

/* An operation of the short lane (coll/shm/short.c). */
struct pami_short {
	struct pami_shm *next;
	struct pami_geometry *geometry;
	pami_event_function cb_done;
	void *cookie;
	uint64_t turn;
	uint32_t cursor; /* the slots of members before this one were complete */
	uint32_t root;   /* broadcast: the member that publishes */
	uint8_t type;
	bool watched; /* mu_watch() has a word of it */
	unsigned element;
	size_t bytes;
	void *target;
	pami_data_function op;
	void *op_cookie;
};

enum { PAMI_LANE_UNKNOWN, PAMI_LANE_ALWAYS, PAMI_LANE_ASK };

struct pami_shm {
	/* The shared memory; NULL before it is set up. */
	struct pami_shm_area *area;
	struct pami_shm_count *done, *pace;
	struct pami_shm_slot *slot;
	unsigned char *bulk;
	bool owner;  /* this member allocated it */
	bool ready;  /* set up, or failed */
	bool failed; /* there is none: operations use messages */

	/* The team. */
	uint32_t members, me;
	bool oversubscribed; /* the host runs more tasks than it has processors */
	uint32_t *rank;      /* [members] in the geometry */

	/* Turns. */
	uint64_t started;                   /* handed out to operations */
	uint64_t finished;                  /* completed by this member */
	uint64_t all_done;                  /* completed by all members, as far as is known */
	uint64_t *done_seen;                /* [members] completed by each, as last seen */
	uint64_t slot_wait[PAMI_SHM_SLOTS]; /* all must complete so many before I write the slot */

	/* Slice buffers (coll/shm/slices.c). */
	unsigned char *slices; /* NULL: none */
	bool slices_asked;     /* an operation has been started that sets them up */
	bool slices_ready;     /* it is known whether there are any */
	/* Slice bytes of the broadcast that used them last; 0: an allreduce. */
	uint32_t slices_last;
	uint64_t steps;   /* handed out to operations */
	uint64_t slowest; /* steps that all members have completed, as far as is known */

	struct pami_short op;
	uint8_t lane[PAMI_XFER_AMBROADCAST]; /* PAMI_LANE_ by type: coll/shm/short.c */
	uint32_t task[];                     /* [members] */
};

/* ---- Publishing and reading slots ---- */

static inline struct pami_shm_slot *pami_shm_slot_of(const struct pami_shm *s, uint32_t member,
						     uint64_t turn)
{
	return &s->slot[member * PAMI_SHM_SLOTS + turn % PAMI_SHM_SLOTS];
}

static inline unsigned char *pami_shm_bulk_of(const struct pami_shm *s, uint32_t member,
					      uint64_t turn)
{
	return s->bulk + (size_t)(member * PAMI_SHM_SLOTS + turn % PAMI_SHM_SLOTS) * PAMI_SHM_BULK;
}

static inline void pami_shm_wake_others(const struct pami_shm *s)
{
	for (uint32_t i = 0; i < s->members; i++)
		if (i != s->me)
			mu_wake_task(s->task[i]);
}

/* Complete the own slot of a turn: what was written before becomes visible. */
static inline void pami_shm_publish(struct pami_shm *s, uint64_t turn)
{
	s->slot_wait[turn % PAMI_SHM_SLOTS] = turn + 1;
	atomic_store_release(&pami_shm_slot_of(s, s->me, turn)->number, turn + 1);
}

/* All members have completed the turns before this one. */
static inline void pami_shm_note_done(struct pami_shm *s, uint64_t turn)
{
	if (s->all_done < turn)
		s->all_done = turn;
}

/*
 * True if the member has published in this turn; it has then completed all turns before. Loads the
 * word up to `loads` times.
 */
static inline bool pami_shm_is_published(const struct pami_shm *s, uint32_t member, uint64_t turn,
					 int loads)
{
	const struct pami_shm_slot *slot = pami_shm_slot_of(s, member, turn);

	do
		if (atomic_load_acquire(&slot->number) == turn + 1) {
			s->done_seen[member] = turn;
			return true;
		}
	while (--loads > 0);
	return false;
}

/* Return where up to PAMI_SHM_BULK bytes of a member's slot lie. */
static inline unsigned char *pami_shm_data_of(const struct pami_shm *s, uint32_t member,
					      uint64_t turn, size_t bytes)
{
	return bytes <= PAMI_SHM_INLINE ? pami_shm_slot_of(s, member, turn)->data
					: pami_shm_bulk_of(s, member, turn);
}

/* Address i of a slot that pami_shm_speak_address() filled. */
static inline uint64_t pami_shm_address_of(const struct pami_shm *s, uint32_t member, uint64_t turn,
					   unsigned i)
{
	uint64_t a;

	memcpy(&a, pami_shm_slot_of(s, member, turn)->data + 8 * i, 8);
	return a;
}

/* This member has completed all turns before `turn`. */
static inline void pami_shm_complete_turns(struct pami_shm *s, uint64_t turn)
{
	s->finished = turn;
	atomic_store_release(&s->done[s->me].count, turn);
	if (PAMI_UNLIKELY(atomic_load_relaxed(&s->area->stalled))) {
		atomic_store_relaxed(&s->area->stalled, 0);
		pami_shm_wake_others(s);
	}
}

/* ---- For algorithms ---- */

/* Take `turns` turns on the team's memory. Returns 0 or -ENOMEM. */
int pami_shm_join(struct pami_coll *c, uint64_t turns);

/*
 * Call this first in each step function. It returns PAMI_SHM_GO when the operation has its turn;
 * else the step function returns the result. Where there is no memory the operation goes on as
 * `instead`, without turns.
 */
#define PAMI_SHM_GO 100
int pami_shm_enter(struct pami_coll *c, const struct pami_algorithm_info *instead);

/*
 * The await functions return true if their condition holds. Otherwise they make the thread's next
 * sleep end when the word changes, and the step function returns PAMI_COLL_POLL.
 */
bool pami_shm_await_word(struct pami_coll *c, const struct pami_shm *s, atomic_u64 *word,
			 uint64_t value);
bool pami_shm_await_published(struct pami_coll *c, struct pami_shm *s, uint32_t member,
			      uint64_t turn);
/* All members have published; *cursor is 0 at the beginning and at the end. */
bool pami_shm_await_all_published(struct pami_coll *c, struct pami_shm *s, uint64_t turn,
				  uint32_t *cursor);
/* All members have completed the turns before this one. */
bool pami_shm_await_all_done(struct pami_coll *c, struct pami_shm *s, uint64_t turn);

/*
 * Publish data in the operation's first turn: a copy of up to PAMI_SHM_BULK bytes, else its
 * address. Returns false while a slot of its turns is in use (PAMI_COLL_POLL).
 */
bool pami_shm_speak(struct pami_coll *c, struct pami_shm *s, const void *data, size_t bytes);
bool pami_shm_speak_address(struct pami_coll *c, struct pami_shm *s, const void *a, const void *b);
/*
 * Read `bytes` bytes, from `at` on, of the `total` bytes that a member has published in the first
 * turn. Returns 0 or an error. If pami_coll_is_waiting() the data is still on its way.
 */
int pami_shm_take(struct pami_coll *c, struct pami_shm *s, uint32_t from, size_t total, size_t at,
		  void *to, size_t bytes);
/* sum = the contributions of all members in rank order. Returns true when it has all of them. */
bool pami_shm_fold(struct pami_coll *c, struct pami_shm *s, unsigned char *sum, uint32_t *cursor);
/* Complete the operation's turns. */
void pami_shm_end_turns(struct pami_coll *c, struct pami_shm *s);
/*
 * The same, where members may read long data (fetched) in place at the member that published it:
 * that member waits until all others have completed the turn. Returns PAMI_COLL_DONE or
 * PAMI_COLL_POLL.
 */
int pami_shm_end_fetch(struct pami_coll *c, struct pami_shm *s, uint32_t from, bool fetched);

/*
 * The same way down from a leader, whose data comes from another host: the members that wait for it
 * may sleep long, until the leader rings the bell of the area. Both return 0, PAMI_COLL_POLL or an
 * error.
 */
int pami_shm_speak_down(struct pami_coll *c, struct pami_shm *s, const void *data, size_t bytes);
int pami_shm_take_down(struct pami_coll *c, struct pami_shm *s, uint32_t from, size_t total,
		       size_t at, void *to, size_t bytes);

/*
 * Slice buffers: more memory, which the first operation that wants it sets up. c->turns.slices is
 * PAMI_SLICES_WANTED before pami_shm_join(); when the operation has its turn, s->slices tells
 * whether there are any.
 */
enum { PAMI_SLICES_NONE, PAMI_SLICES_WANTED, PAMI_SLICES_SETUP };
size_t pami_slices_bytes(uint32_t members);
bool pami_slices_fit(const struct pami_coll *c);
int pami_slices_broadcast(struct pami_coll *c, struct pami_shm *s);
int pami_slices_allreduce(struct pami_coll *c, struct pami_shm *s);

/* ---- For the engine and geometries ---- */

/* Free the member's side and, at the member that made it, the shared memory. NULL is fine. */
void pami_shm_free(struct pami_shm *s, bool keep_area);
/* coll/hier/remote_lines.c: the same. */
void pami_remote_lines_free(struct pami_remote_lines *r, bool keep_area);

/* Returns true if the short lane took the operation. */
bool pami_short_start(struct pami_context *ctx, struct pami_geometry *g, struct pami_shm *s,
		      unsigned type, const struct pami_algorithm_info *info, const pami_xfer_t *x);
/* End the short operations of geometries with a dead member. */
void pami_short_apply_deaths(struct pami_context *ctx);

#endif
