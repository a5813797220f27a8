/* SPDX-License-Identifier: BSD-3-Clause */
/* HOT: the memory of a team (coll/shm/shm.h): set-up, turns, waiting. Guarded by
 * bench/micro/pami_coll.
 */
#include <stdlib.h>

#include "pami/coll/shm/shm.h"
#include "pami/core/endpoint.h"
#include "pami/core/error.h"
#include "pami/core/macros.h"
#include "pami/geometry/geometry.h"

#define SETUP 0x20000000u /* step of the messages that set up the memory */

/* Phases of every operation on team memory. */
enum { ASK, ANSWER, RUN };

static size_t area_bytes(uint32_t n)
{
	return sizeof(struct pami_shm_area) +
	       n * (2 * sizeof(struct pami_shm_count) +
		    PAMI_SHM_SLOTS * (sizeof(struct pami_shm_slot) + PAMI_SHM_BULK));
}

static void attach_area(struct pami_shm *s, void *at)
{
	s->area = at;
	s->done = (void *)((char *)at + sizeof *s->area);
	s->pace = s->done + s->members;
	s->slot = (void *)(s->pace + s->members);
	s->bulk = (void *)(s->slot + s->members * PAMI_SHM_SLOTS);
}

void pami_shm_free(struct pami_shm *s, bool keep_area)
{
	if (s && s->owner && !keep_area) {
		mu_arena_free(s->area);
		mu_arena_free(s->slices);
	}
	if (s)
		free(s->done_seen);
	free(s);
}

static struct pami_shm *shm_new(struct pami_coll *c)
{
	const struct pami_geometry *g = c->geometry;
	struct pami_shm *s = calloc(1, sizeof *s + g->team_size * sizeof s->task[0]);

	if (!s)
		return NULL;
	s->done_seen = calloc(g->team_size, sizeof *s->done_seen + sizeof *s->rank);
	if (!s->done_seen) {
		free(s);
		return NULL;
	}
	s->rank = (void *)(s->done_seen + g->team_size);
	s->members = g->team_size;
	s->oversubscribed = g->client->job->crowded != 0;
	for (uint32_t i = 0; i < s->members; i++) {
		s->rank[i] = g->team[i];
		s->task[i] = pami_endpoint_task(pami_geometry_endpoint(g, g->team[i]));
		if (g->team[i] == c->rank)
			s->me = i;
	}
	return s;
}

/* ---- Turns ---- */

/* The operation has failed. Other operations still use the memory, so its turns must end. */
static void give_turns_back(struct pami_coll *c)
{
	struct pami_shm *s = c->member->shm;

	if (s->area && s->finished < c->turns.first + c->turns.count)
		pami_shm_end_turns(c, s);
}

int pami_shm_join(struct pami_coll *c, uint64_t turns)
{
	struct pami_shm *s = c->member->shm;

	if (PAMI_UNLIKELY(!s)) {
		s = c->member->shm = shm_new(c);
		if (!s)
			return -ENOMEM;
	}
	c->turns.first = s->started;
	c->turns.count = turns;
	c->on_error = give_turns_back;
	s->started += turns;
	if (c->turns.slices && !s->slices_asked) {
		s->slices_asked = true;
		c->turns.slices = PAMI_SLICES_SETUP;
	}
	return 0;
}

/*
 * Phase ASK of the first operation, and of the first that wants slice buffers: the first member
 * sends the addresses of the area and of the slice buffers. Address 0 means that there is none.
 */
static int send_addresses(struct pami_coll *c, struct pami_shm *s)
{
	size_t bytes = area_bytes(s->members);
	uint64_t *address = c->turns.area;
	char *at = NULL;
	int rc = 0;

	if (s->me)
		return pami_coll_recv(c, s->rank[0], SETUP, address, sizeof c->turns.area);
	if (!c->turns.first)
		at = mu_arena_alloc(bytes, 64);
	if (at) {
		memset(at, 0, bytes - s->members * (size_t)PAMI_SHM_SLOTS * PAMI_SHM_BULK);
		s->owner = true;
		attach_area(s, at);
		drv_wake_init(&s->area->bell, -1);
	}
	address[0] = (uint64_t)(uintptr_t)at;
	if (c->turns.slices == PAMI_SLICES_SETUP) {
		/* s owns them from here on, even if the operation fails. */
		s->slices = mu_arena_alloc(pami_slices_bytes(s->members), 4096);
		address[1] = (uint64_t)(uintptr_t)s->slices;
	}
	for (uint32_t i = 1; i < s->members && !rc; i++)
		rc = pami_coll_send(c, s->rank[i], SETUP, address, sizeof c->turns.area);
	return rc;
}

/* Phase ANSWER: map them. */
static int map_addresses(struct pami_coll *c, struct pami_shm *s)
{
	const uint64_t *address = c->turns.area;
	void *at =
	    address[0] ? mu_arena_address(s->task[0], address[0], area_bytes(s->members)) : NULL;
	void *slices = address[1]
			   ? mu_arena_address(s->task[0], address[1], pami_slices_bytes(s->members))
			   : NULL;

	if ((address[0] && !at) || (address[1] && !slices))
		return mu_task_is_unreachable(s->task[0]) ? -ESHUTDOWN : -EIO;
	if (!c->turns.first) {
		s->failed = !at;
		if (at)
			attach_area(s, at);
		s->ready = true;
	}
	if (c->turns.slices == PAMI_SLICES_SETUP) {
		s->slices = slices;
		s->slices_ready = true;
		c->turns.slices = PAMI_SLICES_WANTED;
	}
	return 0;
}

static inline bool is_set_up(const struct pami_coll *c, const struct pami_shm *s)
{
	return s->ready && (!c->turns.slices || s->slices_ready);
}

static PAMI_COLD int go_on_without(struct pami_coll *c, struct pami_shm *s,
				   const struct pami_algorithm_info *instead)
{
	s->finished = c->turns.first + c->turns.count;
	pami_coll_buffers_free(c);
	c->turns.count = 0;
	c->on_error = NULL;
	return pami_coll_begin_stage(c, instead);
}

int pami_shm_enter(struct pami_coll *c, const struct pami_algorithm_info *instead)
{
	struct pami_shm *s = c->member->shm;
	int rc;

	if (PAMI_UNLIKELY(c->phase < RUN && !is_set_up(c, s))) {
		if (c->turns.first && c->turns.slices != PAMI_SLICES_SETUP)
			return PAMI_COLL_POLL; /* another operation sets it up */
		if (c->phase == ASK)
			return send_addresses(c, s);
		rc = map_addresses(c, s);
		if (rc)
			return rc;
		if (!is_set_up(c, s))
			return PAMI_COLL_POLL;
	}
	if (c->phase < RUN)
		c->phase = RUN;
	if (s->finished != c->turns.first && c->phase == RUN)
		return PAMI_COLL_POLL;
	if (PAMI_UNLIKELY(s->failed))
		return go_on_without(c, s, instead);
	return PAMI_SHM_GO;
}

void pami_shm_end_turns(struct pami_coll *c, struct pami_shm *s)
{
	pami_shm_complete_turns(s, c->turns.first + c->turns.count);
	mu_watch(c->context->channel, NULL, 0);
}

int pami_shm_end_fetch(struct pami_coll *c, struct pami_shm *s, uint32_t from, bool fetched)
{
	if (fetched && from == s->me && !pami_shm_await_all_done(c, s, c->turns.first + 1))
		return PAMI_COLL_POLL;
	pami_shm_end_turns(c, s);
	if (fetched && from != s->me)
		mu_wake_task(s->task[from]);
	return PAMI_COLL_DONE;
}

/* ---- Waiting ---- */

/*
 * Return how often a wait loads the word. Repeated loads take time from other tasks where tasks
 * share processors, and from the program where it is still inside its call.
 */
static int loads_of(const struct pami_coll *c, const struct pami_shm *s)
{
	return s->oversubscribed || pami_coll_is_starting(c) ? 1 : PAMI_SHM_LOADS;
}

static void watch_word(struct pami_coll *c, atomic_u64 *word, uint64_t value)
{
	mu_watch(c->context->channel, ATOMIC_AT(word), value);
}

bool pami_shm_await_word(struct pami_coll *c, const struct pami_shm *s, atomic_u64 *word,
			 uint64_t value)
{
	for (int more = loads_of(c, s); more > 0; more--)
		if (atomic_load_acquire(word) >= value)
			return true;
	watch_word(c, word, value);
	c->awaited = 0;
	return false;
}

bool pami_shm_await_all_done(struct pami_coll *c, struct pami_shm *s, uint64_t turn)
{
	if (s->all_done >= turn)
		return true;
	for (uint32_t i = 0; i < s->members; i++) {
		uint64_t *seen = &s->done_seen[i];

		if (i == s->me || *seen >= turn)
			continue;
		*seen = atomic_load_acquire(&s->done[i].count);
		for (int more = loads_of(c, s); *seen < turn && more > 0; more--)
			*seen = atomic_load_acquire(&s->done[i].count);
		if (*seen >= turn)
			continue;
		/* Members wake others for `done` only when this is set, so load once more after it.
		 */
		atomic_store_seq_cst(&s->area->stalled, 1);
		watch_word(c, &s->done[i].count, turn);
		c->awaited = s->task[i] + 1;
		*seen = atomic_load_acquire(&s->done[i].count);
		if (*seen < turn)
			return false;
	}
	s->all_done = turn;
	return true;
}

bool pami_shm_await_published(struct pami_coll *c, struct pami_shm *s, uint32_t member,
			      uint64_t turn)
{
	if (pami_shm_is_published(s, member, turn, loads_of(c, s)))
		return true;
	watch_word(c, &pami_shm_slot_of(s, member, turn)->number, turn + 1);
	c->awaited = s->task[member] + 1;
	return false;
}

bool pami_shm_await_all_published(struct pami_coll *c, struct pami_shm *s, uint64_t turn,
				  uint32_t *cursor)
{
	for (; *cursor < s->members; ++*cursor)
		if (!pami_shm_await_published(c, s, *cursor, turn))
			return false;
	*cursor = 0;
	pami_shm_note_done(s, turn);
	return true;
}

/* ---- What members publish ---- */

/* True if this member may write its slots of all turns of the operation. */
static bool await_slots(struct pami_coll *c, struct pami_shm *s)
{
	for (uint64_t k = 0; k < c->turns.count; k++)
		if (!pami_shm_await_all_done(c, s,
					     s->slot_wait[(c->turns.first + k) % PAMI_SHM_SLOTS]))
			return false;
	return true;
}

bool pami_shm_speak_address(struct pami_coll *c, struct pami_shm *s, const void *a, const void *b)
{
	uint64_t both[2] = {(uint64_t)(uintptr_t)a, (uint64_t)(uintptr_t)b};

	if (!await_slots(c, s))
		return false;
	memcpy(pami_shm_slot_of(s, s->me, c->turns.first)->data, both, sizeof both);
	pami_shm_publish(s, c->turns.first);
	return true;
}

bool pami_shm_speak(struct pami_coll *c, struct pami_shm *s, const void *data, size_t bytes)
{
	if (bytes > PAMI_SHM_BULK)
		return pami_shm_speak_address(c, s, data, NULL);
	if (!await_slots(c, s))
		return false;
	if (bytes)
		memcpy(pami_shm_data_of(s, s->me, c->turns.first, bytes), data, bytes);
	pami_shm_publish(s, c->turns.first);
	return true;
}

int pami_shm_take(struct pami_coll *c, struct pami_shm *s, uint32_t from, size_t total, size_t at,
		  void *to, size_t bytes)
{
	if (total > PAMI_SHM_BULK)
		return pami_coll_get(c, s->rank[from], to,
				     pami_shm_address_of(s, from, c->turns.first, 0) + at, bytes);
	if (bytes)
		memcpy(to, pami_shm_data_of(s, from, c->turns.first, total) + at, bytes);
	return 0;
}

bool pami_shm_fold(struct pami_coll *c, struct pami_shm *s, unsigned char *sum, uint32_t *cursor)
{
	for (; *cursor < s->members; ++*cursor) {
		const unsigned char *from = c->data;

		if (*cursor != s->me) {
			if (!pami_shm_await_published(c, s, *cursor, c->turns.first))
				return false;
			from = pami_shm_data_of(s, *cursor, c->turns.first, c->bytes);
		}
		if (*cursor)
			pami_coll_apply(c, sum, from, c->bytes);
		else if (c->bytes && sum != from)
			memcpy(sum, from, c->bytes);
	}
	return true;
}

int pami_shm_speak_down(struct pami_coll *c, struct pami_shm *s, const void *data, size_t bytes)
{
	if (!pami_shm_speak(c, s, data, bytes))
		return PAMI_COLL_POLL;
	atomic_fence_seq_cst(); /* mu_watch_remote() asks for it between the word and the bell */
	drv_wake_ring(&s->area->bell);
	pami_shm_wake_others(s);
	return 0;
}

int pami_shm_take_down(struct pami_coll *c, struct pami_shm *s, uint32_t from, size_t total,
		       size_t at, void *to, size_t bytes)
{
	uint64_t turn = c->turns.first;

	if (!pami_shm_is_published(s, from, turn, 1)) {
		mu_watch_remote(c->context->channel,
				ATOMIC_AT(&pami_shm_slot_of(s, from, turn)->number), turn + 1,
				&s->area->bell);
		return PAMI_COLL_POLL;
	}
	return pami_shm_take(c, s, from, total, at, to, bytes);
}
