/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults by script in virtual time (emu/faults.h). A pair of nodes with no way left ends the job.
 */
#include <errno.h>
#include <string.h>

#include "drivers/base/log.h"
#include "mu/sim/state.h"

struct change {
	struct mu_sim *s;
	bool begins;
};

static void change_cut(void *arg, uint32_t node, unsigned link)
{
	const struct change *c = arg;

	if (emu_world_cut(c->s->world, node, link, c->begins) == -ENOMEM)
		c->s->error = -ENOMEM;
}

/* Both directions of a link suffer what the faults of this moment make together. */
static void change_link(void *arg, uint32_t node, unsigned link)
{
	struct mu_sim *s = ((struct change *)arg)->s;
	uint32_t to = emu_node_neighbour(&s->host->shape, node, link);
	struct emu_link_fault f;

	emu_faults_of_link(&s->script, s->now, node, link, &f);
	emu_world_link_fault(s->world, node, link, &f);
	emu_world_link_fault(s->world, to, emu_link_opposite(link), &f);
}

void sim_script_event(struct mu_sim *s, const struct emu_event *e)
{
	struct change c = {s, e->mark != 0};
	bool is_cut = s->script.fault[e->arg].kind == EMU_FAULT_CUT;

	emu_world_hash(s->world, s->now, SIM_SCRIPT, e->arg << 1 | e->mark);
	emu_fault_each_link(&s->script, e->arg, is_cut ? change_cut : change_link, &c);
	drv_info("virtual clock: fault %u of the script %s at %.3f us", e->arg,
		 e->mark ? "begins" : "ends", (double)s->now / 1e6);
}

void sim_report_cut_pair(struct mu_sim *s, uint32_t node, const struct emu_packet *p)
{
	struct emu_coord a, b;

	emu_node_coord(&s->host->shape, node, &a);
	emu_coord_from_word(p->hdr.NetworkHeader.pt2pt.Destination.Destination.Destination, &b);
	drv_error("virtual clock, %.3f us: nodes (%u,%u,%u,%u,%u) and (%u,%u,%u,%u,%u) lost each "
		  "other: cut links leave no way between them",
		  (double)s->now / 1e6, a.c[0], a.c[1], a.c[2], a.c[3], a.c[4], b.c[0], b.c[1],
		  b.c[2], b.c[3], b.c[4]);
	s->error = -EHOSTUNREACH;
}

static void push_event(struct mu_sim *s, uint64_t ps, uint32_t node, uint32_t port, unsigned kind,
		       uint32_t arg, uint16_t mark)
{
	if (emu_sched_push(emu_world_sched(s->world), ps, node, port, (uint8_t)kind, arg, mark))
		s->error = -ENOMEM;
}

static void push_kill(struct mu_sim *s, const struct emu_fault *x, uint32_t local)
{
	s->engines++; /* counts as something under way */
	push_event(s, x->at_ps, s->task[local].node, SIM_PORT_KILL + s->task[local].t, SIM_KILL,
		   local, 0);
}

int sim_script_read(struct mu_sim *s, const char *text)
{
	struct mu_host *h = s->host;
	char err[256];
	int rc =
	    emu_faults_parse(text, &h->shape, h->tasks, 1, h->seed, &s->script, err, sizeof err);

	if (rc)
		drv_error("virtual clock: %s", err);
	return rc;
}

int sim_script_start(struct mu_sim *s)
{
	for (uint32_t i = 0; i < s->script.count; i++) {
		const struct emu_fault *x = &s->script.fault[i];

		if (x->kind == EMU_FAULT_KILL) {
			for (uint32_t local = 0; local < s->locals; local++)
				if (x->place == EMU_FAULT_AT_TASK   ? s->task[local].task == x->at
				    : x->place == EMU_FAULT_AT_NODE ? s->task[local].node == x->at
								    : true)
					push_kill(s, x, local);
			continue;
		}
		push_event(s, x->at_ps, 0, SIM_PORT_SCRIPT, SIM_SCRIPT, i, 1);
		if (x->end_ps != UINT64_MAX)
			push_event(s, x->end_ps, 0, SIM_PORT_SCRIPT, SIM_SCRIPT, i, 0);
	}
	return s->error;
}
