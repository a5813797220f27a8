/* SPDX-License-Identifier: BSD-3-Clause */
/* Raw packets: software's side. The engine's is in engine/receive.c. */
#include "mu/raw.h"

#include <errno.h>
#include <stdlib.h>

#include "emu/class.h"
#include "mu/channel/class_route.h"
#include "mu/channel/slot.h"
#include "mu/engine/engine.h"
#include "mu/hw/desc_build.h"
#include "mu/hw/raw_header.h"
#include "mu/process.h"
#include "mu/transport/node_live.h"
#include "mu/vtime/vtask.h"

void mu_channel_on_raw(struct mu_channel *ch, mu_raw_fn fn)
{
	mu_lock_acquire(&ch->engine.lock);
	ch->on_raw = fn;
	mu_lock_release(&ch->engine.lock);
}

int mu_send_raw(struct mu_channel *ch, uint32_t task, uint32_t channel,
		const MUHWI_Descriptor_t *model, unsigned kind, unsigned pin, struct mu_op *op)
{
	struct mu_process *p = ch->p;
	MUHWI_Descriptor_t *d;
	struct mu_slot *slot;
	int rc = mu_slot_next(ch, task, channel, &d, &slot);

	if (rc)
		return rc;
	slot->op = op;
	*d = *model;
	d->Half_Word0.Unused1 = pin;
	mu_raw_header_wrap(&d->PacketHeader, kind,
			   (unsigned)p->entry[task].t * p->channels + channel);
	mu_slot_send(ch);
	return 0;
}

bool mu_routers_combine(void)
{
	return mu_class_has_world();
}

int mu_send_raw_collective(struct mu_channel *ch, uint32_t channel, const MUHWI_Descriptor_t *d,
			   const ClassRoute_t *route, unsigned kind, struct mu_op *op)
{
	MUHWI_Descriptor_t own = *d;
	uint8_t *byte3 = &own.PacketHeader.NetworkHeader.collective.Byte3.Byte3;
	unsigned class = route->input & BGQ_CLASS_INPUT_VC_MASK;
	struct emu_coord x = ch->p->job.coord;
	uint32_t task;

	x.t = 0;
	if (mu_coord_task(&x, &task))
		return -EINVAL;
	*byte3 = (uint8_t)((*byte3 & 0x1f) | (class == BGQ_CLASS_INPUT_VC_SUBCOMM
						  ? MUHWI_PACKET_VIRTUAL_CHANNEL_USER_SUB_COMM
					      : class == BGQ_CLASS_INPUT_VC_SYSTEM
						  ? MUHWI_PACKET_VIRTUAL_CHANNEL_SYSTEM_COLLECTIVE
						  : MUHWI_PACKET_VIRTUAL_CHANNEL_USER_COMM_WORLD));
	return mu_send_raw(ch, task, channel, &own, kind, MU_PIN_COLL, op);
}

int mu_router_set_route(struct mu_channel *ch, unsigned id, unsigned half,
			const ClassRoute_t *route)
{
	int rc, gi;

	while ((rc = mu_class_set_halves(ch, id, half, route, &gi)) == -EAGAIN)
		mu_make_room(ch);
	return rc;
}

struct mu_node_table *mu_own_node_table(void)
{
	return &mu_host_node(mu_self.host, mu_self.job.node)->table;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

int mu_job_class(ClassRoute_t *c)
{
	const struct mu_process *p = &mu_self;
	uint32_t *node = malloc(p->tasks * sizeof *node), count = 0;
	unsigned depth;
	int rc = 0;

	if (!node)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->tasks; i++)
		node[i] = p->entry[i].node;
	qsort(node, p->tasks, sizeof *node, by_number);
	for (uint32_t i = 0; i < p->tasks; i++)
		if (!count || node[count - 1] != node[i])
			node[count++] = node[i];
	if (count == emu_shape_nodes(&p->host->shape)) {
		mu_world_class(&p->host->shape, p->job.node, c);
	} else {
		rc = emu_class_span(&p->host->shape, node, count, p->job.node, c, &depth);
		c->input |= BGQ_CLASS_INPUT_LINK_LOCAL;
	}
	free(node);
	return rc;
}

const char *mu_mapping(void)
{
	return mu_self.host->mapping[0] ? mu_self.host->mapping : "ABCDET";
}

void mu_uses_registers(void (*poll)(void))
{
	mu_vt_poll_for_loops(poll);
	mu_self.area->vt.arg[MU_VT_ARG_REGISTERS] = 1;
}

void mu_take_turn(void)
{
	mu_vt_check();
}

bool mu_is_shared(void)
{
	return atomic_load_relaxed(&mu_self.refs) > 1;
}

bool mu_rec_fifo_is_strict(void)
{
	return mu_self.strict_bytes != 0;
}

bool mu_note_full(struct mu_full_watch *w, uint64_t taken)
{
	return mu_live_note_full(mu_self.live, w, taken);
}

unsigned mu_last_channel(void)
{
	return mu_self.channels - 1u;
}
