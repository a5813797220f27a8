/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words that tasks of a node share, in virtual time: a store is visible when it has reached the L2
 * (mu/segment/board.h).
 */
#include <errno.h>
#include <stdlib.h>

#include "mu/process.h"
#include "mu/sim/state.h"

#define STORES_FIRST 256u

static uint32_t store_new(struct mu_sim *s)
{
	uint32_t i = s->store_free, room = s->store_room ? 2 * s->store_room : STORES_FIRST;
	struct sim_store *more;

	if (i == SIM_NONE) {
		more = realloc(s->store, room * sizeof *more);
		if (!more)
			return SIM_NONE;
		s->store = more;
		for (i = s->store_room; i < room; i++)
			more[i].next = i + 1 < room ? i + 1 : SIM_NONE;
		i = s->store_room;
		s->store_room = room;
	}
	s->store_free = s->store[i].next;
	return i;
}

/* True if the store wakes local task `i`. */
static int is_concerned(const struct mu_sim *s, const struct sim_store *w, uint32_t i)
{
	return w->s.task == UINT32_MAX ? i != w->local : s->task[i].task == w->s.task;
}

static void for_each_task(struct mu_sim *s, const struct sim_store *w,
			  void (*fn)(struct mu_sim *s, uint32_t local))
{
	uint32_t node = s->task[w->local].node;

	for (uint32_t t = 0; t < s->host->shape.t; t++) {
		uint32_t i = s->task_at[node * s->host->shape.t + t];

		if (i != SIM_NONE && is_concerned(s, w, i))
			fn(s, i);
	}
}

static void count_store(struct mu_sim *s, uint32_t local)
{
	s->task[local].direct++;
}

static void uncount_store(struct mu_sim *s, uint32_t local)
{
	s->task[local].direct--;
}

void sim_store_requests(struct mu_sim *s, uint32_t local, struct mu_vt_area *vt)
{
	const struct sim_task *t = &s->task[local];

	s->shares = 1;
	s->quiet = 0;
	for (uint32_t k = 0; k < vt->stores; k++) {
		uint64_t at = vt->store[k].when_ps + s->timing->l2_ps;
		uint32_t i = store_new(s);

		if (i == SIM_NONE ||
		    emu_sched_push(emu_world_sched(s->world), at > s->now ? at : s->now, t->node,
				   SIM_PORT_STORE + t->t, SIM_STORE, i, 0)) {
			s->error = -ENOMEM;
			return;
		}
		s->store[i].s = vt->store[k];
		s->store[i].local = local;
		s->engines++; /* something is under way */
		for_each_task(s, &s->store[i], count_store);
	}
	vt->stores = 0;
}

void sim_store_event(struct mu_sim *s, const struct emu_event *e)
{
	struct sim_store w = s->store[e->arg];
	uint64_t *word = (uint64_t *)((char *)s->host + w.s.at);

	s->store[e->arg].next = s->store_free;
	s->store_free = e->arg;
	s->engines--;
	s->quiet = 0;
	/* Data that the store announces must be in memory before it. */
	sim_write_pending(s, w.local);
	*word = w.s.add ? *word + w.s.value : w.s.value;
	for_each_task(s, &w, uncount_store);
	if (!w.s.add || *word == w.s.wake_at)
		for_each_task(s, &w, sim_wake);
}
