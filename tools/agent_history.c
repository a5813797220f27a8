/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The history of this host for torus run --html. In virtual time the simulator reports each step of
 * each packet. In real time the agent reads the counters of links, tasks and wires at intervals, as
 * for torus top: nothing is added to the path of a message.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "drivers/base/log.h"
#include "tools/agent.h"
#include "tools/flights.h"
#include "tools/history.h"

#define MS 1000000ull

struct agent_history {
	struct history *h;
	struct flights flights; /* virtual clock */
	/* Real clock: what the counters were at the last sample. */
	uint64_t *before; /* [columns] */
	uint64_t started_ns, sampled_ns;
	bool has_links; /* they are cheap enough to follow while the job runs */
};

void agent_history_open(struct agent *a)
{
	struct agent_history *s;

	if (!a->plan.html)
		return;
	s = calloc(1, sizeof *s);
	if (s && (s->h = history_new(&a->plan)))
		s->before = calloc(s->h->columns, sizeof *s->before);
	if (!s || !s->before) {
		drv_warn("--html: no memory for what happens over time; the page will lack it");
		if (s)
			history_free(s->h);
		free(s);
		return;
	}
	s->started_ns = s->sampled_ns = drv_clock_ns();
	s->has_links = agent_links_are_cheap(a);
	a->history = s;
}

/* ---- virtual time ---- */

void agent_history_step(struct agent *a, const struct emu_world_event *e)
{
	struct agent_history *s = a->history;
	const struct emu_packet *p = e->packet;
	const struct flight *flight;
	uint64_t key = flight_key(p->route.source, p->route.sequence);

	switch (e->step) {
	case EMU_STEP_INJECT:
		flights_add(&s->flights, key, e->time_ps);
		break;
	case EMU_STEP_SEND:
		history_add(s->h, e->time_ps, e->node * EMU_LINKS + e->port,
			    emu_packet_wire_bytes(p));
		break;
	case EMU_STEP_DELIVER:
		/*
		 * A packet that goes to several nodes counts once, when the first of them receives
		 * it.
		 */
		flight = flights_find(&s->flights, key);
		if (!flight)
			break;
		history_took(s->h, p->route.hops, e->time_ps - flight->since_ps, 1);
		flights_remove(&s->flights, flight);
		break;
	}
}

/* ---- real time ---- */

static void add_change(struct agent_history *s, uint32_t column, uint64_t value)
{
	uint64_t change = value - s->before[column];

	if (value > s->before[column])
		history_add(s->h, s->sampled_ns - s->started_ns, column, change);
	s->before[column] = value;
}

static void add_link(void *arg, uint32_t node, unsigned link, const struct emu_link_stat *stat)
{
	add_change(arg, node * EMU_LINKS + link, stat->bytes);
}

static void add_wires(struct agent *a, struct agent_history *s)
{
	if (a->holder && !a->holder_broken)
		mu_holder_publish(a->holder);
	for (uint32_t i = 0; i < a->host->hosts; i++) {
		const struct mu_wire_counts *w = &a->host->peer[i].wire;
		uint32_t column = history_wire(&a->plan, a->self, i);
		uint64_t at = s->sampled_ns - s->started_ns;

		if (i == a->self || !atomic_load_relaxed(&w->connected))
			continue;
		add_change(s, column + HISTORY_WIRE_BYTES, atomic_load_relaxed(&w->tx_bytes));
		add_change(s, column + HISTORY_WIRE_RESENT, atomic_load_relaxed(&w->resent));
		history_add(s->h, at, column + HISTORY_WIRE_RTT_NS,
			    atomic_load_relaxed(&w->rtt_ns));
		history_add(s->h, at, column + HISTORY_WIRE_SAMPLES, 1);
	}
}

static void sample_history(struct agent *a, bool with_links)
{
	struct agent_history *s = a->history;

	for (uint32_t i = 0; i < a->locals; i++)
		add_change(s, history_task(&a->plan, a->task[i].task) + HISTORY_TASK_WAITED_NS,
			   atomic_load_relaxed(&mu_host_area(a->host, i)->waited_ns));
	if (with_links)
		agent_links_each(a, add_link, s);
	add_wires(a, s);
}

uint64_t agent_history_period_ns(const struct agent *a)
{
	return a->history && !a->sim ? a->history->h->interval : 0;
}

void agent_history_sample(struct agent *a)
{
	uint64_t now;

	if (!agent_history_period_ns(a))
		return;
	now = drv_clock_ns();
	if (now - a->history->sampled_ns < a->history->h->interval)
		return;
	a->history->sampled_ns = now;
	sample_history(a, a->history->has_links);
}

void agent_history_close(struct agent *a)
{
	struct agent_history *s = a->history;

	if (!s)
		return;
	if (!a->sim && a->host) {
		s->sampled_ns = drv_clock_ns();
		sample_history(a, true);
	}
	history_send(s->h, &a->ctl);
	history_free(s->h);
	flights_free(&s->flights);
	free(s->before);
	free(s);
	a->history = NULL;
}
