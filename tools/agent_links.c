/* SPDX-License-Identifier: BSD-3-Clause */
/* The traffic of the links of this host so far: from the simulator, from the routers, or by
 * following paths. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "emu/live.h"
#include "emu/route.h"
#include "tools/agent.h"

#define WALK_MAX 20000u /* fabric express: channels x nodes; more are not followed live */

static void put_link(void *arg, uint32_t node, unsigned link, const struct emu_link_stat *s)
{
	struct ctl_buf *b = arg;

	if (!s->packets)
		return;
	ctl_put_u32(b, node);
	ctl_put_u32(b, link);
	ctl_put_u64(b, s->packets);
	ctl_put_u64(b, s->bytes);
	ctl_put_u64(b, s->errors);
	for (unsigned on = 0; on < EMU_ON_COUNT; on++)
		ctl_put_u64(b, s->on[on]);
}

static void each_simulated(struct agent *a, agent_link_fn fn, void *arg)
{
	struct emu_link_stat s;

	for (uint32_t node = 0; node < emu_shape_nodes(&a->plan.shape); node++) {
		for (unsigned link = 0; link < EMU_LINKS; link++) {
			mu_sim_link_stat(a->sim, node, link, &s);
			fn(arg, node, link, &s);
		}
	}
}

static void each_live(struct agent *a, agent_link_fn fn, void *arg)
{
	static const struct emu_live_ops none;
	struct emu_live *live = emu_live_open(mu_host_routers(a->host), &none, NULL);
	struct emu_link_stat s;

	for (uint32_t i = 0; live && i < emu_live_local_nodes(live); i++) {
		for (unsigned link = 0; link < EMU_LINKS; link++) {
			emu_live_link_stat(live, i, link, &s);
			fn(arg, emu_live_node(live, i), link, &s);
		}
	}
	emu_live_close(live);
}

/*
 * Fabric express: add what the channels sent to the links that it would have crossed. The table is
 * sparse. Holes of the file are skipped, because reading them would allocate memory.
 */
struct walk {
	struct agent *a;
	struct emu_route route;
	struct emu_link_stat *links; /* [nodes * EMU_LINKS] */
	uint64_t packets, bytes;     /* of the current path */
};

static int walk_link(void *arg, uint32_t node, unsigned link)
{
	struct walk *w = arg;

	w->links[(size_t)node * EMU_LINKS + link].packets += w->packets;
	w->links[(size_t)node * EMU_LINKS + link].bytes += w->bytes;
	return 0;
}

static void walk_path(struct walk *w, uint32_t from, uint32_t to, uint64_t packets, uint64_t bytes)
{
	w->packets = packets;
	w->bytes = bytes;
	if (packets)
		emu_route_each(&w->route, from, to, walk_link, w);
}

static void walk_channel(struct walk *w, uint32_t self, const struct mu_traffic *t)
{
	for (uint32_t n = 0; n < emu_shape_nodes(&w->route.shape); n++) {
		for (unsigned k = 0; k < 4; k++) {
			int fetched = k == MU_FETCHED_BY_USER || k == MU_FETCHED_BY_ENGINE;

			walk_path(w, fetched ? n : self, fetched ? self : n,
				  atomic_load_relaxed(&t[n].kind[k].packets),
				  atomic_load_relaxed(&t[n].kind[k].bytes));
		}
	}
}

static void each_express(struct agent *a, agent_link_fn fn, void *arg)
{
	struct walk w = {.a = a};
	struct emu_router_conf conf;
	uint32_t nodes = emu_shape_nodes(&a->plan.shape);
	size_t bytes = nodes * sizeof(struct mu_traffic);

	w.links = calloc((size_t)nodes * EMU_LINKS, sizeof *w.links);
	if (!w.links)
		return;
	emu_machine_router(&a->host->machine, &conf);
	emu_route_init_as(&w.route, &a->plan.shape, &conf.routing);
	for (uint32_t i = 0; i < a->locals; i++) {
		for (uint32_t c = 0; c < a->host->channels; c++) {
			struct mu_traffic *t = mu_host_traffic(a->host, i, c);
			off_t at = (char *)t - (char *)a->host,
			      data = lseek(a->segment, at, SEEK_DATA);

			if (data >= 0 && data < at + (off_t)bytes)
				walk_channel(&w, mu_host_entry(a->host, a->task[i].task)->node, t);
		}
	}
	for (uint32_t i = 0; i < nodes * EMU_LINKS; i++)
		fn(arg, i / EMU_LINKS, i % EMU_LINKS, &w.links[i]);
	free(w.links);
}

void agent_links_each(struct agent *a, agent_link_fn fn, void *arg)
{
	if (a->sim)
		each_simulated(a, fn, arg);
	else if (a->plan.fabric == MU_FABRIC_TORUS && a->host->routers_bytes)
		each_live(a, fn, arg);
	else if (a->host->traffic_bytes)
		each_express(a, fn, arg);
}

bool agent_links_are_cheap(const struct agent *a)
{
	return a->sim || a->plan.fabric == MU_FABRIC_TORUS ||
	       (uint64_t)a->locals * a->host->channels * emu_shape_nodes(&a->plan.shape) <=
		   WALK_MAX;
}

static void put_sum(struct ctl_buf *b, uint32_t node, unsigned link, const struct emu_link_sum *s)
{
	if (!s->sent.packets && !s->received.packets)
		return;
	ctl_put_u32(b, node);
	ctl_put_u32(b, link);
	ctl_put_u64(b, s->sent.packets);
	ctl_put_u64(b, s->sent.sum);
	ctl_put_u64(b, s->received.packets);
	ctl_put_u64(b, s->received.sum);
}

static void put_simulated_sums(const struct agent *a, struct ctl_buf *b)
{
	struct emu_link_sum s;

	for (uint32_t i = 0; i < emu_shape_nodes(&a->plan.shape) * EMU_LINKS; i++) {
		mu_sim_link_sum(a->sim, i / EMU_LINKS, i % EMU_LINKS, &s);
		put_sum(b, i / EMU_LINKS, i % EMU_LINKS, &s);
	}
}

static void put_live_sums(const struct agent *a, struct ctl_buf *b)
{
	static const struct emu_live_ops none;
	struct emu_live *live = emu_live_open(mu_host_routers(a->host), &none, NULL);
	struct emu_link_sum s;

	for (uint32_t i = 0; live && i < emu_live_local_nodes(live) * EMU_LINKS; i++) {
		emu_live_link_sum(live, i / EMU_LINKS, i % EMU_LINKS, &s);
		put_sum(b, emu_live_node(live, i / EMU_LINKS), i % EMU_LINKS, &s);
	}
	emu_live_close(live);
}

static void send_sums(struct agent *a)
{
	struct ctl_buf b = {0};

	if (a->sim)
		put_simulated_sums(a, &b);
	else if (a->plan.fabric == MU_FABRIC_TORUS && a->host->routers_bytes)
		put_live_sums(a, &b);
	ctl_send_buf(&a->ctl, CTL_SUMS, &b);
}

void agent_links_send(struct agent *a)
{
	struct ctl_buf b = {0};

	agent_links_each(a, put_link, &b);
	ctl_send_buf(&a->ctl, CTL_LINKS, &b);
	if (a->host->machine.hw.link_checksums)
		send_sums(a);
}
