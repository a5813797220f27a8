/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "mu/sim/sim.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/base/clock.h"
#include "drivers/base/log.h"
#include "drivers/base/settings.h"
#include "mu/sim/state.h"

#define CHECK_EVENTS 512u /* events between two reads of real time */
#define CHECK_NS     10000000u

/*
 * Bind this thread, and by inheritance all tasks, to one processor, so that a hand-over is cheap.
 */
static void pin_to_processor(void)
{
	cpu_set_t may, one;
	unsigned nth, seen = 0;

	if (sched_getaffinity(0, sizeof may, &may) || CPU_COUNT(&may) < 2)
		return;
	nth = (unsigned)getpid() % (unsigned)CPU_COUNT(&may);
	for (unsigned c = 0; c < CPU_SETSIZE; c++) {
		if (!CPU_ISSET(c, &may) || seen++ != nth)
			continue;
		CPU_ZERO(&one);
		CPU_SET(c, &one);
		if (sched_setaffinity(0, sizeof one, &one))
			drv_warn(
			    "virtual clock: cannot stay on processor %u: hand-overs will be slower",
			    c);
		return;
	}
}

static uint64_t spin_ns(const struct mu_sim_conf *conf)
{
	uint64_t ms = conf->spin_ms ? conf->spin_ms : drv_setting_number(DRV_QUINTORUS_SPIN_MS);

	return ms * 1000000u;
}

static int conf_check(struct mu_host *h, const struct mu_sim_conf *conf)
{
	char err[256];

	if (emu_machine_set(&h->machine, conf->hw, err, sizeof err)) {
		drv_error("virtual clock: %s", err);
		return -EINVAL;
	}
	if (h->clock != MU_CLOCK_VIRTUAL || h->locals != h->tasks) {
		drv_error("virtual clock: needs a job of that clock with all %u tasks on one host "
			  "(%u are here)",
			  h->tasks, h->locals);
		return -EINVAL;
	}
	return 0;
}

static int make_tables(struct mu_sim *s)
{
	uint32_t nodes = emu_shape_nodes(&s->host->shape), places = nodes * s->host->shape.t;
	uint32_t channels = s->locals * s->channels;

	s->task = calloc(s->locals, sizeof *s->task);
	s->channel = calloc(channels, sizeof *s->channel);
	s->node = calloc(nodes, sizeof *s->node);
	s->task_at = malloc(places * sizeof *s->task_at);
	if (!s->task || !s->channel || !s->node || !s->task_at)
		return -ENOMEM;
	memset(s->task_at, 0xff, places * sizeof *s->task_at);
	for (uint32_t i = 0; i < channels; i++) {
		struct sim_channel *c = &s->channel[i];

		c->spill_first = c->gets_first = SIM_NONE;
	}
	for (uint32_t i = 0; i < nodes; i++)
		for (unsigned q = 0; q < EMU_INJECTIONS_ALL; q++)
			s->node[i].waiting_first[q] = SIM_NONE;
	for (uint32_t i = 0; i < s->host->tasks; i++) {
		const struct mu_task_entry *e = mu_host_entry(s->host, i);

		s->task[e->local].task = i;
		s->task[e->local].node = e->node;
		s->task[e->local].t = e->t;
		s->task_at[e->node * s->host->shape.t + e->t] = e->local;
	}
	return 0;
}

int mu_sim_create(struct mu_host *host, const struct mu_sim_conf *conf, struct mu_sim **sim)
{
	struct emu_world_conf world = {.ops = &sim_world_ops};
	struct mu_sim *s;
	int rc = conf_check(host, conf);

	if (rc)
		return rc;
	s = calloc(1, sizeof *s);
	if (!s)
		return -ENOMEM;
	s->host = host;
	s->conf = *conf;
	s->locals = host->locals;
	s->channels = host->channels;
	s->spins.ns = spin_ns(conf);
	s->spins.looks =
	    !drv_setting_is_set(DRV_QUINTORUS_LOOP_US) || drv_setting_number(DRV_QUINTORUS_LOOP_US);
	s->spins.limit_ns = drv_setting_number(DRV_QUINTORUS_SPIN_LIMIT_S) * 1000000000u;
	s->deadlock_ns = drv_setting_number(DRV_QUINTORUS_DEADLOCK_S) * 1000000000u;
	s->deadlock_polls = drv_setting_number(DRV_QUINTORUS_DEADLOCK_POLLS);
	s->store_free = SIM_NONE;
	emu_machine_router(&host->machine, &world.slots);
	world.slots.seed = (uint32_t)host->seed;
	rc = sim_script_read(s, conf->script);
	if (rc) {
		mu_sim_destroy(s);
		return rc;
	}
	world.cuts = emu_faults_have(&s->script, EMU_FAULT_BIT(EMU_FAULT_CUT));
	emu_route_init_as(&s->route, &host->shape, &world.slots.routing);
	world.timing = host->machine.timing;
	world.shape = host->shape;
	world.directory = (struct emu_directory_conf){
	    .mode = emu_machine_directory(&host->machine),
	    .entries = host->machine.hw.agas_entries,
	    .central_ps = host->machine.hw.agas_central_ns * 1000ull,
	    .stat = &host->directory,
	    .access = host->machine.hw.agas_unit ? sim_access : NULL,
	    .expect = sim_access_expect,
	    .arg = s,
	};
	world.express = host->fabric == MU_FABRIC_EXPRESS;
	world.arg = s;
	world.trace = conf->trace;
	world.trace_arg = conf->trace_arg;
	sim_strict_init(s);
	if (s->strict_lines)
		world.ops = &sim_world_strict_ops;
	rc = make_tables(s);
	if (!rc)
		rc = emu_world_create(&world, &s->world);
	if (rc) {
		drv_error("virtual clock: a torus of %u nodes: %s", emu_shape_nodes(&host->shape),
			  strerror(-rc));
		mu_sim_destroy(s);
		return rc;
	}
	s->pool = emu_world_pool(s->world);
	rc = sim_script_start(s);
	if (rc) {
		mu_sim_destroy(s);
		return rc;
	}
	s->timing = emu_world_timing(s->world);
	if (!conf->no_pin)
		pin_to_processor();
	*sim = s;
	return 0;
}

void mu_sim_destroy(struct mu_sim *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; s->task && i < s->locals; i++)
		free(s->task[i].pending.buffer);
	for (uint32_t i = 0; s->channel && i < s->locals * s->channels; i++) {
		for (unsigned k = 0; k < 2 * MU_PINS; k++)
			if (s->channel[i].fifo[k / MU_PINS])
				free(s->channel[i].fifo[k / MU_PINS]->engine[k % MU_PINS].stage);
		free(s->channel[i].fifo[0]);
		free(s->channel[i].fifo[1]);
		free(s->channel[i].rget_when);
	}
	for (uint32_t i = 0; s->node && i < emu_shape_nodes(&s->host->shape); i++) {
		for (unsigned f = 0; s->node[i].fifo && f < MU_NODE_FIFOS; f++)
			free(s->node[i].fifo[f].stage);
		free(s->node[i].fifo);
	}
	emu_world_destroy(s->world);
	emu_faults_free(&s->script);
	free(s->long_put);
	free(s->store);
	free(s->task_at);
	free(s->node);
	free(s->channel);
	free(s->task);
	free(s);
}

static int check_if_due(struct mu_sim *s)
{
	uint64_t now = drv_clock_ns();

	if (now < s->check_at)
		return 0;
	s->check_at = now + CHECK_NS;
	return s->conf.check ? s->conf.check(s->conf.arg) : 0;
}

static int run_events(struct mu_sim *s)
{
	struct emu_event e;
	unsigned n = 0;
	int rc = sim_join_all(s);

	/* After all tasks have left, run on until the network is empty: the hash covers that, too.
	 */
	while (!rc && !s->error) {
		bool wait;

		rc = sim_spin_poll(s, &wait);
		if (rc || wait)
			continue;
		if (!emu_world_next(s->world, &e))
			break;
		s->now = e.time;
		s->polls_in_row = e.kind == SIM_RESUME ? s->polls_in_row + 1 : 0;
		switch (e.kind) {
		case SIM_INJECT:
		case SIM_RGET:
		case SIM_NODE:
			sim_engine_event(s, &e);
			break;
		case SIM_SIGNAL:
			sim_signal_event(s, &e);
			break;
		case SIM_STATUS:
			sim_status_event(s, &e);
			break;
		case SIM_STORE:
			sim_store_event(s, &e);
			break;
		case SIM_EFFECT:
			sim_effect_event(s, &e);
			break;
		case SIM_LONG_PUT:
			sim_long_put_event(s, &e);
			break;
		case SIM_GONE:
			sim_gone_event(s, &e);
			break;
		case SIM_KILL:
			sim_kill_event(s, &e);
			break;
		case SIM_SCRIPT:
			sim_script_event(s, &e);
			break;
		case SIM_SERVE:
			sim_serve_event(s, &e);
			break;
		case SIM_RESUME:
			rc = sim_run_turn(s, &e);
			break;
		default:
			break;
		}
		if (!rc && s->spins.touched)
			rc = sim_spin_handle_touched(s);
		if (!rc && ++n % CHECK_EVENTS == 0)
			rc = check_if_due(s);
	}
	return rc;
}

int mu_sim_run(struct mu_sim *s)
{
	uint64_t ticks = drv_clock_ticks();
	struct emu_world_stat w;
	int rc = run_events(s);

	sim_spin_run_all(s);
	s->all_ticks += drv_clock_ticks() - ticks;
	sim_log_errors(s);
	emu_world_stat(s->world, &w);
	if (rc)
		s->unrepeatable = 1;
	if (rc || !(rc = s->error ? s->error : w.error))
		return rc;
	drv_error("virtual clock: the simulation stopped at %.3f us: %s", (double)s->now * 1e-6,
		  strerror(-rc));
	return rc;
}

void mu_sim_report(const struct mu_sim *s, struct mu_sim_report *r)
{
	double per_tick = 1e-6 / (double)drv_clock_ticks_per_us();
	struct emu_world_stat w;

	emu_world_stat(s->world, &w);
	*r = (struct mu_sim_report){
	    .time_ps = w.time_ps,
	    .hash = w.hash,
	    .reproducible = !s->unrepeatable,
	    .events = w.events,
	    .packets = w.packets,
	    .packet_hops = w.packet_hops,
	    .turns = s->turns,
	    .spilled = s->spilled,
	    .errors = s->errors,
	    .events_seconds = (double)(s->all_ticks - s->task_ticks) * per_tick,
	    .tasks_seconds = (double)s->task_ticks * per_tick,
	};
}

void mu_sim_link_stat(const struct mu_sim *s, uint32_t node, unsigned link,
		      struct emu_link_stat *stat)
{
	emu_world_link_stat(s->world, node, link, stat);
}

void mu_sim_link_sum(const struct mu_sim *s, uint32_t node, unsigned link, struct emu_link_sum *sum)
{
	emu_world_link_sum(s->world, node, link, sum);
}
