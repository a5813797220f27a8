/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transport of virtual time: the simulator runs the engines, so nothing leaves from here. It has
 * done what a call of mu_vt_node() asks for when the call returns.
 */
#include "mu/process.h"
#include "mu/transport/transport.h"
#include "mu/vtime/vtask.h"

static int virtual_set_class(struct mu_channel *ch, unsigned id, int *gi)
{
	const struct mu_node_class *k = &mu_host_node(ch->p->host, ch->p->job.node)->class[id];

	mu_vt_node(MU_NODE_ROUTES + id);
	*gi = k->gi_result;
	return k->result;
}

static void virtual_write_gi(struct mu_channel *ch, unsigned id, enum emu_gi_user user,
			     unsigned bits)
{
	mu_vt_node(MU_NODE_SIGNALS + id);
}

static void virtual_inject(struct mu_channel *ch, unsigned fifo)
{
	mu_vt_node(fifo);
}

static const struct mu_node_ops virtual_node = {
    .set_class = virtual_set_class,
    .write_gi = virtual_write_gi,
    .inject = virtual_inject,
};

const struct mu_transport mu_transport_virtual = {
    MU_TRANSPORT_WITHOUT_PORT, MU_TRANSPORT_WITHOUT_WIRE,
    MU_TRANSPORT_WITHOUT_POLL, .name = "virtual",
    .near = MU_NEAR_NONE,      .send_piece = mu_none_send_piece,
    .store = mu_none_store,    .piece_bytes = mu_none_piece_bytes,
    .node = &virtual_node,
};
