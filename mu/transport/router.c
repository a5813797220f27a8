/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transport of fabric torus in real time: packets go into this node's router (node_live.h), and the
 * thread that polls steps the routers. The agent holds the port of the host, also where a task is
 * alone.
 */
#include <errno.h>

#include "mu/process.h"
#include "mu/progress/clock.h"
#include "mu/transport/node_live.h"
#include "mu/transport/transport.h"

static int router_open(struct mu_process *p)
{
	return mu_live_open(p->host, &p->live);
}

static void router_close(struct mu_process *p, int flush_ms)
{
	mu_live_close(p->live);
	p->live = NULL;
}

static int router_send_piece(struct mu_channel *ch, uint32_t task, const MUHWI_PacketHeader_t *h,
			     const void *payload, uint32_t bytes, struct mu_checked_range *range)
{
	return mu_live_send(ch->p->live, task, h, payload, bytes, range != NULL);
}

static int router_poll(struct mu_process *p, struct mu_channel *ch)
{
	return mu_live_poll(p->live);
}

static void router_flush(struct mu_process *p, struct mu_channel *ch)
{
	mu_live_poll(p->live);
}

static bool router_has_work(struct mu_process *p)
{
	return mu_live_has_work(p->live);
}

static int router_set_class(struct mu_channel *ch, unsigned id, int *gi)
{
	return mu_live_class_set(ch->p->live, id, gi);
}

static void router_write_gi(struct mu_channel *ch, unsigned id, enum emu_gi_user user,
			    unsigned bits)
{
	mu_live_gi(ch->p->live, id, user, bits);
}

static void router_inject(struct mu_channel *ch, unsigned fifo)
{
	ch->p->clock->inject(ch);
}

static int router_send_node(struct mu_process *p, const MUHWI_PacketHeader_t *h,
			    const void *payload, uint32_t bytes)
{
	return mu_live_send_node(p->live, h, payload, bytes);
}

static bool router_is_cut(const struct mu_process *p, uint32_t a, uint32_t b)
{
	return mu_live_is_cut(p->live, a, b);
}

static const struct mu_node_ops router_node = {
    .set_class = router_set_class,
    .write_gi = router_write_gi,
    .inject = router_inject,
    .send = router_send_node,
};

const struct mu_transport mu_transport_router = {
    MU_TRANSPORT_WITHOUT_PORT,
    .near = MU_NEAR_NODE,
    .has_poll = true,
    .open = router_open,
    .close = router_close,
    .send_short = mu_none_send_short,
    .send_piece = router_send_piece,
    .store = mu_none_store,
    .poll = router_poll,
    .flush = router_flush,
    .has_work = router_has_work,
    .piece_bytes = mu_none_piece_bytes,
    .is_cut = router_is_cut,
    .node = &router_node,
    .name = "router",
};
