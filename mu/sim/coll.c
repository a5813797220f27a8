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
		emu_world_gi_preset(s->world, i, 0,
				    emu_gi_pack(EMU_GI_SYSTEM, 4) | emu_gi_pack(EMU_GI_PROGRAM, 4));
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
	struct mu_node_class *k = &mu_host_node(s->host, node)->class[route];

	for (unsigned user = 0; user < EMU_GI_USERS; user++) {
		struct mu_node_control *c = &k->control[user];
		uint32_t writes = atomic_load_relaxed(&c->writes);

		if (writes == c->taken)
			continue;
		c->taken = writes;
		s->signals = 1;
		s->engines++; /* something is under way */
		push_event(s, c->when_ps + s->timing->gi_register_ps, node, SIM_PORT_SIGNAL + route,
			   SIM_SIGNAL, user << 8 | atomic_load_relaxed(&c->bits), route);
	}
}

void sim_signal_event(struct mu_sim *s, const struct emu_event *e)
{
	s->engines--;
	s->quiet = 0;
	emu_world_gi(s->world, emu_event_node(e), e->mark, emu_gi_pack(e->arg >> 8, 7),
		     emu_gi_pack(e->arg >> 8, e->arg & 7), s->now);
}

static void status_request(struct mu_sim *s, uint32_t node, unsigned route, unsigned bits,
			   uint64_t now, uint32_t local)
{
	s->task[local].direct++;
	s->engines++; /* something is under way */
	push_event(s, now + s->timing->gi_register_ps, node, SIM_PORT_STATUS + route, SIM_STATUS,
		   local, route << 6 | bits);
}

void sim_gi_status(void *arg, uint32_t node, unsigned route, unsigned bits, uint64_t now)
{
	struct mu_sim *s = arg;
	const struct mu_node_area *n = mu_host_node(s->host, node);
	uint32_t owner = atomic_load_relaxed(&n->class[route].owner);

	if (!atomic_load_relaxed(&n->table.is_used)) {
		if (owner != MU_NO_OWNER)
			status_request(s, node, route, bits, now, owner / s->channels);
		return;
	}
	/* Any task of the node may wait for it. */
	for (unsigned t = 0; t < s->host->shape.t; t++) {
		uint32_t local = s->task_at[node * s->host->shape.t + t];

		if (local != SIM_NONE)
			status_request(s, node, route, bits, now, local);
	}
}

void sim_status_event(struct mu_sim *s, const struct emu_event *e)
{
	struct mu_node_area *n = mu_host_node(s->host, emu_event_node(e));
	unsigned route = e->mark >> 6;

	s->task[e->arg].direct--;
	s->engines--;
	atomic_store_release(&n->class[route].status, emu_gi_unpack(EMU_GI_SYSTEM, e->mark));
	atomic_store_release((uint64_t *)&n->table.gi_status[route],
			     emu_gi_unpack(EMU_GI_PROGRAM, e->mark));
	sim_spin_touch(s, e->arg, s->now, SIM_TOUCH_CHANGES); /* a program may load the register */
	sim_wake(s, e->arg);
}

static void route_request(struct mu_sim *s, uint32_t node, unsigned route)
{
	struct mu_node_class *k = &mu_host_node(s->host, node)->class[route];

	if (k->halves == MU_ROUTE_SIGNALS) {
		k->result = k->gi_result =
		    emu_world_gi_program(s->world, node, route, &k->route, s->now);
		return;
	}
	k->result = emu_world_class_set(s->world, node, route, &k->route, 0);
	if (!k->result && emu_world_class_is_busy(s->world, node, route))
		emu_world_retry(s->world, node, s->now);
	k->gi_result = k->result || k->halves == MU_ROUTE_PACKETS
			   ? k->result
			   : emu_world_gi_set(s->world, node, route, &k->route);
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
