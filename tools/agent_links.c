/* SPDX-License-Identifier: BSD-3-Clause */
/* Traffic of this host's links at the end of a job: from the simulator, the routers, or by walking paths. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "emu/live.h"
#include "emu/route.h"
#include "tools/agent.h"

static void put_link(struct ctl_buf *b, uint32_t node, unsigned link, const struct emu_link_stat *s)
{
	if (!s->packets)
		return;
	ctl_put_u32(b, node);
	ctl_put_u32(b, link);
	ctl_put_u64(b, s->packets);
	ctl_put_u64(b, s->bytes);
}

static void put_simulated(struct agent *a, struct ctl_buf *b)
{
	struct emu_link_stat s;

	for (uint32_t node = 0; node < emu_shape_nodes(&a->plan.shape); node++) {
		for (unsigned link = 0; link < EMU_LINKS; link++) {
			mu_sim_link_stat(a->sim, node, link, &s);
			put_link(b, node, link, &s);
		}
	}
}

static void put_live(struct agent *a, struct ctl_buf *b)
{
	static const struct emu_live_ops none;
	struct emu_live *live = emu_live_open(mu_host_routers(a->host), &none, NULL);
	struct emu_link_stat s;

	for (uint32_t i = 0; live && i < emu_live_local_nodes(live); i++) {
		for (unsigned link = 0; link < EMU_LINKS; link++) {
			emu_live_link_stat(live, i, link, &s);
			put_link(b, emu_live_node(live, i), link, &s);
		}
	}
	emu_live_close(live);
}

/*
 * Fabric express: what channels sent, walked over the links it would have taken. The table is sparse:
 * the holes of the file are skipped, for reading them would fill them.
 */
struct walk {
	struct agent *a;
	struct emu_route route;
	struct emu_link_stat *links; /* [nodes * EMU_LINKS] */
	uint64_t packets, bytes;     /* of the path under way */
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

			walk_path(w, fetched ? n : self, fetched ? self : n, t[n].kind[k].packets, t[n].kind[k].bytes);
		}
	}
}

static void put_express(struct agent *a, struct ctl_buf *b)
{
	struct walk w = { .a = a };
	uint32_t nodes = emu_shape_nodes(&a->plan.shape);
	size_t bytes = nodes * sizeof(struct mu_traffic);

	w.links = calloc((size_t)nodes * EMU_LINKS, sizeof *w.links);
	if (!w.links)
		return;
	emu_route_init(&w.route, &a->plan.shape);
	for (uint32_t i = 0; i < a->locals; i++) {
		for (uint32_t c = 0; c < a->host->channels; c++) {
			struct mu_traffic *t = mu_host_traffic(a->host, i, c);
			off_t at = (char *)t - (char *)a->host, data = lseek(a->segment, at, SEEK_DATA);

			if (data >= 0 && data < at + (off_t)bytes)
				walk_channel(&w, mu_host_entry(a->host, a->task[i].task)->node, t);
		}
	}
	for (uint32_t i = 0; i < nodes * EMU_LINKS; i++)
		put_link(b, i / EMU_LINKS, i % EMU_LINKS, &w.links[i]);
	free(w.links);
}

void agent_links_send(struct agent *a)
{
	struct ctl_buf b = { 0 };

	if (a->sim)
		put_simulated(a, &b);
	else if (a->plan.fabric == MU_FABRIC_TORUS && a->host->routers_bytes)
		put_live(a, &b);
	else if (a->host->traffic_bytes)
		put_express(a, &b);
	ctl_send_buf(&a->ctl, CTL_LINKS, &b);
}
