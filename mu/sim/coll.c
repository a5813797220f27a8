/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class routes and global interrupts in virtual time: the requests of a task to its node.
 *
 *   store to control --gi_register--> router --gi_hop--> ... router --gi_register--> status word
 */
#include <errno.h>
#include <string.h>

#include "drivers/base/log.h"
#include "mu/process.h"
#include "mu/sim/state.h"
#include "mu/channel/class_route.h"

void sim_set_world_class(struct mu_sim *s)
{
	uint32_t nodes = emu_shape_nodes(&s->host->shape);

	if (s->world_class || !s->host->world_class)
		return;
	s->world_class = 1;
	for (uint32_t i = 0; i < nodes && !s->error; i++) {
		ClassRoute_t c;
		int rc;

		mu_world_class(&s->host->shape, i, &c);
		rc = emu_world_class_set(s->world, i, 0, &c, 0);
		rc = rc ? rc : emu_world_gi_set(s->world, i, 0, &c);
		if (rc) {
			drv_error("virtual clock: class route 0 at node %u: refused (%d)", i, rc);
			s->error = rc < 0 ? rc : -EINVAL;
			return;
		}
		emu_world_gi_preset(s->world, i, 0, 4);
	}
}

static void push_event(struct mu_sim *s, uint64_t at, uint32_t node, uint32_t port, unsigned kind,
		       uint32_t arg, unsigned mark)
{
	if (emu_sched_push(emu_world_sched(s->world), at > s->now ? at : s->now, node, port,
			   (uint8_t)kind, arg, (uint16_t)mark))
		s->error = -ENOMEM;
}

/*
 * A task has stored to a control register. The event contains the bits, since the register may
 * change before the event.
 */
static void signal_request(struct mu_sim *s, uint32_t local, unsigned route)
{
	uint32_t node = s->task[local].node;
	const struct mu_node_class *k = &mu_host_node(s->host, node)->class[route];

	s->signals = 1;
	s->engines++; /* something is under way */
	push_event(s, k->when_ps + s->timing->gi_register_ps, node, SIM_PORT_SIGNAL + route,
		   SIM_SIGNAL, atomic_load_relaxed(&k->control), route);
}

void sim_signal_event(struct mu_sim *s, const struct emu_event *e)
{
	s->engines--;
	s->quiet = 0;
	emu_world_gi(s->world, emu_event_node(e), e->mark, e->arg, s->now);
}

void sim_gi_status(void *arg, uint32_t node, unsigned route, unsigned bits, uint64_t now)
{
	struct mu_sim *s = arg;
	const struct mu_node_class *k = &mu_host_node(s->host, node)->class[route];

	uint32_t owner = atomic_load_relaxed(&k->owner);

	if (owner == MU_NO_OWNER)
		return;
	s->task[owner / s->channels].direct++;
	push_event(s, now + s->timing->gi_register_ps, node, SIM_PORT_STATUS + route, SIM_STATUS,
		   owner / s->channels, route << 3 | bits);
}

void sim_status_event(struct mu_sim *s, const struct emu_event *e)
{
	s->task[e->arg].direct--;
	atomic_store_release(&mu_host_node(s->host, emu_event_node(e))->class[e->mark >> 3].status,
			     e->mark & 7);
	sim_wake(s, e->arg);
}

static void route_request(struct mu_sim *s, uint32_t node, unsigned route)
{
	struct mu_node_class *k = &mu_host_node(s->host, node)->class[route];

	k->result = emu_world_class_set(s->world, node, route, &k->route, 0);
	if (!k->result && emu_world_class_is_busy(s->world, node, route))
		emu_world_retry(s->world, node, s->now);
	k->gi_result = k->result ? k->result : emu_world_gi_set(s->world, node, route, &k->route);
}

void sim_node_requests(struct mu_sim *s, uint32_t local, uint64_t dirty)
{
	uint32_t node = s->task[local].node;

	s->quiet = 0;
	if (dirty & (1ull | 1ull << MU_NODE_SIGNALS))
		sim_set_world_class(s);
	for (; dirty; dirty &= dirty - 1) {
		unsigned what = (unsigned)__builtin_ctzll(dirty);

		if (what >= MU_NODE_ROUTES)
			route_request(s, node, what - MU_NODE_ROUTES);
		else if (what >= MU_NODE_SIGNALS)
			signal_request(s, local, what - MU_NODE_SIGNALS);
		else if (what < MU_NODE_FIFOS)
			sim_node_kick(s, node, what);
	}
}
