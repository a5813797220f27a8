/* SPDX-License-Identifier: BSD-3-Clause */
/* HOT: the memory of coll_shm.h, turns, and what one member says to all. Guarded by bench/pami_coll. */
#include <stdlib.h>

#include "pami/coll_shm.h"

#define SETUP  0x20000000u
#define HALVES 16384u /* bytes from which two copies at once pay */

static size_t area_bytes(uint32_t n)
{
	return sizeof(struct pami_shm_area) +
	       n * (2 * sizeof(struct pami_shm_done) + PAMI_SHM_SLOTS * (sizeof(struct pami_shm_slot) + PAMI_SHM_BULK));
}

static void attach(struct pami_shm *s, void *at)
{
	s->area = at;
	s->done = (void *)((char *)at + sizeof *s->area);
	s->pace = s->done + s->members;
	s->slot = (void *)(s->pace + s->members);
	s->bulk = (void *)(s->slot + s->members * PAMI_SHM_SLOTS);
}

void pami_shm_free(struct pami_shm *s, int keep_area)
{
	if (s && s->owner && !keep_area) {
		mu_arena_free(s->area);
		mu_arena_free(s->stage);
	}
	if (s)
		free(s->known);
	free(s);
}

int pami_shm_usable(const struct pami_geometry *g)
{
	return g->one_team;
}

/* ---- Turns ---- */

static struct pami_shm *shm_new(struct pami_coll *c)
{
	const struct pami_geometry *g = c->geometry;
	struct pami_shm *s = calloc(1, sizeof *s + g->team_size * sizeof s->task[0]);

	if (!s)
		return NULL;
	s->known = calloc(g->team_size, sizeof *s->known + sizeof *s->rank);
	if (!s->known) {
		free(s);
		return NULL;
	}
	s->rank = (void *)(s->known + g->team_size);
	s->members = g->team_size;
	s->crowded = (uint8_t)(g->client->job->crowded != 0);
	for (uint32_t i = 0; i < s->members; i++) {
		s->rank[i] = g->team[i];
		s->task[i] = pami_endpoint_task(pami_geometry_endpoint(g, g->team[i]));
		if (g->team[i] == c->rank)
			s->me = i;
	}
	return s;
}

int pami_shm_join(struct pami_coll *c, uint64_t turns)
{
	struct pami_shm *s = c->member->shm;

	if (PAMI_UNLIKELY(!s)) {
		s = c->member->shm = shm_new(c);
		if (!s)
			return -ENOMEM;
	}
	c->turn = s->started;
	c->turns = turns;
	s->started += turns;
	if (c->stage && !s->stage_asked) {
		s->stage_asked = 1;
		c->stage = PAMI_STAGE_ASKS;
	}
	return 0;
}

/*
 * The first operation of the geometry, and the first that wants the stage: agree where the area, and the
 * stage, are. 0 is no address: no room, or not asked.
 */
static int setup_ask(struct pami_coll *c, struct pami_shm *s)
{
	size_t bytes = area_bytes(s->members);
	char *at = NULL;
	int rc = 0;

	if (s->me)
		return pami_coll_recv(c, s->rank[0], SETUP, c->there, sizeof c->there);
	if (!c->turn)
		at = mu_arena_alloc(bytes, 64);
	if (at) {
		memset(at, 0, bytes - s->members * (size_t)PAMI_SHM_SLOTS * PAMI_SHM_BULK);
		s->owner = 1;
		attach(s, at);
		drv_wake_init(&s->area->bell, -1);
	}
	c->there[0] = (uint64_t)(uintptr_t)at;
	if (c->stage == PAMI_STAGE_ASKS) { /* ours to free from now on, whatever becomes of the operation */
		s->stage = mu_arena_alloc(pami_stage_bytes(s->members), 4096);
		c->there[1] = (uint64_t)(uintptr_t)s->stage;
	}
	for (uint32_t i = 1; i < s->members && !rc; i++)
		rc = pami_coll_send(c, s->rank[i], SETUP, c->there, sizeof c->there);
	return rc;
}

static int setup_answer(struct pami_coll *c, struct pami_shm *s)
{
	void *at = c->there[0] ? mu_arena_local(s->task[0], c->there[0], area_bytes(s->members)) : NULL;
	void *stage = c->there[1] ? mu_arena_local(s->task[0], c->there[1], pami_stage_bytes(s->members)) : NULL;

	if ((c->there[0] && !at) || (c->there[1] && !stage))
		return -EIO;
	if (!c->turn) {
		s->failed = !at;
		if (at)
			attach(s, at);
		s->ready = 1;
	}
	if (c->stage == PAMI_STAGE_ASKS) {
		s->stage = stage;
		s->stage_ready = 1;
		c->stage = PAMI_STAGE_WANTED;
	}
	return 0;
}

static inline int is_set_up(const struct pami_coll *c, const struct pami_shm *s)
{
	return s->ready && (!c->stage || s->stage_ready);
}

static PAMI_COLD int without_memory(struct pami_coll *c, struct pami_shm *s,
                                    const struct pami_algorithm_info *instead)
{
	int rc;

	s->finished = c->turn + c->turns;
	if (!instead->keeps)
		pami_coll_buffers_free(c);
	c->at = c->length = c->peer = 0;
	c->number = c->turns = 0;
	pami_coll_then(c, instead);
	rc = instead->begin ? instead->begin(c) : 0;
	return rc ? rc : PAMI_COLL_DONE;
}

int pami_shm_enter(struct pami_coll *c, const struct pami_algorithm_info *instead)
{
	struct pami_shm *s = c->member->shm;
	int rc;

	if (PAMI_UNLIKELY(c->phase < 2 && !is_set_up(c, s))) {
		if (c->turn && c->stage != PAMI_STAGE_ASKS) /* another one asks */
			return PAMI_COLL_POLL;
		if (!c->phase)
			return setup_ask(c, s);
		rc = setup_answer(c, s);
		if (rc)
			return rc;
		if (!is_set_up(c, s))
			return PAMI_COLL_POLL;
	}
	if (c->phase < 2)
		c->phase = 2;
	if (s->finished != c->turn && c->phase == 2)
		return PAMI_COLL_POLL;
	if (PAMI_UNLIKELY(s->failed))
		return without_memory(c, s, instead);
	return PAMI_SHM_GO;
}

/* Looking again at once is for what comes soon: it takes from a core's neighbour. */
static int looks(const struct pami_coll *c, const struct pami_shm *s)
{
	return s->crowded || c->starting ? 1 : PAMI_SHM_LOOKS;
}

static void wait_for(struct pami_coll *c, uint64_t *word, uint64_t value)
{
	mu_watch(c->context->channel, word, value);
}

int pami_shm_reached(struct pami_coll *c, const struct pami_shm *s, uint64_t *word, uint64_t value)
{
	for (int more = looks(c, s); more > 0; more--)
		if (__atomic_load_n(word, __ATOMIC_ACQUIRE) >= value)
			return 1;
	wait_for(c, word, value);
	return 0;
}

int pami_shm_all_before(struct pami_coll *c, struct pami_shm *s, uint64_t k)
{
	if (s->all_done >= k)
		return 1;
	for (uint32_t i = 0; i < s->members; i++) {
		uint64_t *known = &s->known[i];

		if (i == s->me || *known >= k)
			continue;
		*known = __atomic_load_n(&s->done[i].count, __ATOMIC_ACQUIRE);
		for (int more = looks(c, s); *known < k && more > 0; more--)
			*known = __atomic_load_n(&s->done[i].count, __ATOMIC_ACQUIRE);
		if (*known >= k)
			continue;
		__atomic_store_n(&s->area->stalled, 1, __ATOMIC_SEQ_CST);
		wait_for(c, &s->done[i].count, k);
		*known = __atomic_load_n(&s->done[i].count, __ATOMIC_ACQUIRE);
		if (*known < k)
			return 0;
	}
	s->all_done = k;
	return 1;
}

int pami_shm_slots_free(struct pami_coll *c, struct pami_shm *s, uint64_t k, uint64_t turns)
{
	for (uint64_t i = k; i < k + turns; i++)
		if (!pami_shm_all_before(c, s, s->wrote[i % PAMI_SHM_SLOTS]))
			return 0;
	return 1;
}

int pami_shm_said(struct pami_coll *c, struct pami_shm *s, uint32_t member, uint64_t k)
{
	if (pami_shm_heard(s, member, k, looks(c, s)))
		return 1;
	wait_for(c, &pami_shm_slot_of(s, member, k)->number, k + 1);
	return 0;
}

int pami_shm_said_far(struct pami_coll *c, struct pami_shm *s, uint32_t member, uint64_t k)
{
	if (pami_shm_heard(s, member, k, 1))
		return 1;
	mu_watch_far(c->context->channel, &pami_shm_slot_of(s, member, k)->number, k + 1,
	             &s->area->bell);
	return 0;
}

int pami_shm_all_said(struct pami_coll *c, struct pami_shm *s, uint64_t k)
{
	for (; c->peer < s->members; c->peer++)
		if (!pami_shm_said(c, s, c->peer, k))
			return 0;
	c->peer = 0;
	if (s->all_done < k) /* who speaks in a turn has completed those before */
		s->all_done = k;
	return 1;
}

void pami_shm_finished(struct pami_coll *c, struct pami_shm *s)
{
	pami_shm_over(s, c->turn + c->turns);
	mu_watch(c->context->channel, NULL, 0);
}

/* ---- One tells those who wait long; in turns that may end while some still fetch ---- */

void pami_shm_ring(struct pami_shm *s)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	drv_wake_ring(&s->area->bell);
	pami_shm_wake_others(s);
}

int pami_shm_tell_down(struct pami_coll *c, struct pami_shm *s, const void *data, size_t total)
{
	if (!pami_shm_slots_free(c, s, c->turn, 1))
		return PAMI_COLL_POLL;
	if (total > PAMI_SHM_BULK)
		pami_shm_address_out(s, c->turn, data, NULL);
	else
		pami_shm_put(s, c->turn, data, total);
	pami_shm_publish(s, c->turn);
	pami_shm_ring(s);
	return 0;
}

int pami_shm_hear_down(struct pami_coll *c, struct pami_shm *s, uint32_t from, size_t total, size_t at, void *to,
                       size_t bytes)
{
	if (!pami_shm_said_far(c, s, from, c->turn))
		return PAMI_COLL_POLL;
	if (total > PAMI_SHM_BULK)
		return pami_coll_get(c, s->rank[from], to, pami_shm_address_in(pami_shm_slot_of(s, from, c->turn), 0) + at,
		                     bytes);
	if (bytes)
		memcpy(to, pami_shm_see(s, from, c->turn, total) + at, bytes);
	return 0;
}

int pami_shm_end_down(struct pami_coll *c, struct pami_shm *s, uint32_t from, int fetched)
{
	if (fetched && from == s->me && !pami_shm_all_before(c, s, c->turn + 1))
		return PAMI_COLL_POLL;
	pami_shm_finished(c, s);
	if (fetched && from != s->me)
		mu_wake_task(s->task[from]);
	return PAMI_COLL_DONE;
}

/* ---- Barrier ---- */

int pami_shm_barrier_begin(struct pami_coll *c)
{
	return pami_shm_join(c, 1);
}

int pami_shm_barrier(struct pami_coll *c)
{
	struct pami_shm *s = c->member->shm;
	int rc = pami_shm_enter(c, &pami_algorithms[c->type].info[1]);

	if (PAMI_UNLIKELY(rc != PAMI_SHM_GO))
		return rc;
	if (c->phase == 2) {
		if (!pami_shm_slots_free(c, s, c->turn, 1))
			return PAMI_COLL_POLL;
		pami_shm_publish(s, c->turn);
		pami_shm_wake_others(s);
		c->phase = 3;
	}
	if (!pami_shm_all_said(c, s, c->turn))
		return PAMI_COLL_POLL;
	pami_shm_finished(c, s);
	return PAMI_COLL_DONE;
}

/* ---- Broadcast ---- */

/* Long data of two with a core each: both copy a half. One says where, and in the next turn, done. */
static int in_halves(const struct pami_coll *c)
{
	return c->size == 2 && c->bytes > HALVES && !c->geometry->client->job->crowded;
}

int pami_shm_broadcast_begin(struct pami_coll *c)
{
	c->stage = c->bytes > PAMI_SHM_BULK && pami_stage_usable(c) ? PAMI_STAGE_WANTED : PAMI_STAGE_NONE;
	return pami_shm_join(c, in_halves(c) ? 2 : 1);
}

static int broadcast_halves(struct pami_coll *c, struct pami_shm *s)
{
	size_t half = c->bytes / 2 & ~(size_t)4095;
	uint64_t there;

	if (c->phase == 2) {
		if (!pami_shm_slots_free(c, s, c->turn, 2))
			return PAMI_COLL_POLL;
		pami_shm_address_out(s, c->turn, c->data, NULL);
		pami_shm_publish(s, c->turn);
		pami_shm_wake_others(s);
		c->phase = 3;
	}
	if (c->phase == 3) {
		if (!pami_shm_all_said(c, s, c->turn))
			return PAMI_COLL_POLL;
		there = pami_shm_address_in(pami_shm_slot_of(s, !s->me, c->turn), 0);
		return c->rank == c->root ? pami_coll_put(c, !c->root, c->data + half, there + half, c->bytes - half) :
					    pami_coll_get(c, c->root, c->data, there, half);
	}
	if (c->phase == 4) {
		pami_shm_publish(s, c->turn + 1);
		pami_shm_wake_others(s);
		c->phase = 5;
	}
	if (!pami_shm_all_said(c, s, c->turn + 1))
		return PAMI_COLL_POLL;
	pami_shm_finished(c, s);
	return PAMI_COLL_DONE;
}

static int broadcast_root(struct pami_coll *c, struct pami_shm *s)
{
	if (c->phase == 2) {
		if (!pami_shm_slots_free(c, s, c->turn, 1))
			return PAMI_COLL_POLL;
		if (c->bytes <= PAMI_SHM_BULK)
			pami_shm_put(s, c->turn, c->data, c->bytes);
		else
			pami_shm_address_out(s, c->turn, c->data, NULL);
		pami_shm_publish(s, c->turn);
		pami_shm_wake_others(s);
		c->phase = 3;
	}
	if (c->bytes > PAMI_SHM_BULK && !pami_shm_all_before(c, s, c->turn + 1))
		return PAMI_COLL_POLL;
	pami_shm_finished(c, s);
	return PAMI_COLL_DONE;
}

int pami_shm_broadcast(struct pami_coll *c)
{
	struct pami_shm *s = c->member->shm;
	int rc = pami_shm_enter(c, &pami_algorithms[c->type].info[1]);

	if (PAMI_UNLIKELY(rc != PAMI_SHM_GO))
		return rc;
	if (c->stage && s->stage)
		return pami_stage_broadcast(c, s);
	if (in_halves(c))
		return broadcast_halves(c, s);
	if (c->rank == c->root)
		return broadcast_root(c, s);
	if (c->phase == 2) {
		if (!pami_shm_said(c, s, c->root, c->turn))
			return PAMI_COLL_POLL;
		if (c->bytes > PAMI_SHM_BULK)
			return pami_coll_get(c, c->root, c->data,
			                     pami_shm_address_in(pami_shm_slot_of(s, c->root, c->turn), 0), c->bytes);
		if (c->bytes)
			memcpy(c->data, pami_shm_see(s, c->root, c->turn, c->bytes), c->bytes);
	}
	pami_shm_finished(c, s);
	if (c->bytes > PAMI_SHM_BULK)
		mu_wake_task(s->task[c->root]);
	return PAMI_COLL_DONE;
}

void pami_shm_end(struct pami_coll *c)
{
	struct pami_shm *s = c->turns ? c->member->shm : NULL;

	if (s && s->area && s->finished < c->turn + c->turns)
		pami_shm_finished(c, s);
}
