/* SPDX-License-Identifier: BSD-3-Clause */
/* Class routes, software's side. Hot: guarded by bench/figures/coll_figures. */
#include "mu/channel/class_route.h"

#include <errno.h>

#include "drivers/base/atomic.h"
#include "emu/class.h"
#include "emu/route.h"
#include "mu/hw/packetize.h"
#include "mu/process.h"
#include "mu/transport/transport.h"
#include "mu/vtime/vtask.h"

static struct mu_node_area *own_node(void)
{
	return mu_host_node(mu_self.host, mu_self.job.node);
}

static uint32_t channel_number(const struct mu_channel *ch)
{
	return ch->p->local * ch->p->channels + ch->index;
}

static bool has_routers(void)
{
	return mu_self.remote && mu_self.remote->node;
}

unsigned mu_class_find_free(unsigned halves)
{
	unsigned free = 0;

	if (!has_routers())
		return 0;
	for (unsigned id = 0; id < MU_CLASSES; id++)
		if (!(atomic_load_relaxed(&own_node()->user[id]) & (halves | MU_ROUTE_PAMI)))
			free |= 1u << id;
	return free;
}

int mu_class_has_world(void)
{
	return has_routers() && mu_self.host->world_class;
}

bool mu_class_reserve(unsigned id, unsigned half)
{
	atomic_u8 *user = &own_node()->user[id];
	uint8_t now = atomic_load_relaxed(user);

	do
		if (now & (half | MU_ROUTE_PAMI))
			return false;
	while (!atomic_cas_weak_acq_rel(user, &now, (uint8_t)(now | half)));
	return true;
}

void mu_class_unreserve(unsigned id, unsigned half)
{
	atomic_fetch_and_release(&own_node()->user[id], (uint8_t)~half);
}

int mu_class_claim(struct mu_channel *ch, unsigned id)
{
	struct mu_node_area *n = own_node();
	uint32_t owner = MU_NO_OWNER;
	uint8_t nobody = 0;

	if (!has_routers() || id >= MU_CLASSES)
		return -EINVAL;
	if (id && !atomic_cas_acq_rel(&n->user[id], &nobody, MU_ROUTE_PAMI))
		return -EBUSY;
	if (!atomic_cas_acq_rel(&n->class[id].owner, &owner, channel_number(ch)) &&
	    owner != channel_number(ch))
		return -EBUSY;
	atomic_store_relaxed(&n->fifo[id].channel, channel_number(ch));
	atomic_fetch_or_release(&ch->engine.node_fifos, 1u << id);
	return 0;
}

int mu_class_set(struct mu_channel *ch, unsigned id, const ClassRoute_t *route, int *gi)
{
	return mu_class_set_halves(ch, id, MU_ROUTE_BOTH, route, gi);
}

/* Each task of the node may ask for a half of the route, and the request has one place. Returns
 * false if another one stands there. */
static bool begin_request(struct mu_process *p, struct mu_node_class *k)
{
	uint32_t writer = 0;

	if (atomic_cas_acq_rel(&k->writer, &writer, p->task + 1))
		return true;
	/* A task that died within its request does not end it; the agent may still carry it out. */
	return mu_host_task_end(p->host, writer - 1) && !atomic_load_acquire(&k->asked) &&
	       atomic_cas_acq_rel(&k->writer, &writer, p->task + 1);
}

int mu_class_set_halves(struct mu_channel *ch, unsigned id, unsigned halves,
			const ClassRoute_t *route, int *gi)
{
	struct mu_node_class *k = &own_node()->class[id];
	int rc;

	if (!begin_request(ch->p, k))
		return -EAGAIN;
	k->route = *route;
	k->halves = halves;
	rc = ch->p->remote->node->set_class(ch, id, gi);
	atomic_store_release(&k->writer, 0);
	return rc;
}

int mu_class_release(struct mu_channel *ch, unsigned id)
{
	static const ClassRoute_t none;
	struct mu_node_area *n = own_node();
	int gi, rc;

	if (id && (rc = mu_class_set(ch, id, &none, &gi)))
		return rc;
	atomic_fetch_and_release(&ch->engine.node_fifos, ~(1u << id));
	atomic_store_release(&n->class[id].owner, MU_NO_OWNER);
	if (id) {
		atomic_store_relaxed(&n->class[id].control[EMU_GI_SYSTEM].bits, 0);
		atomic_store_relaxed(&n->class[id].status, 0);
		atomic_store_release(&n->user[id], 0);
	}
	return 0;
}

void mu_class_abandon(struct mu_channel *ch, unsigned id)
{
	struct mu_node_area *n = own_node();

	mu_lock_acquire(&ch->engine.lock); /* no packet is being written */
	atomic_store_relaxed(&n->class[id].base, 0);
	atomic_fetch_and_release(&ch->engine.node_fifos, ~(1u << id));
	mu_lock_release(&ch->engine.lock);
}

void mu_coll_expect(struct mu_channel *ch, unsigned id, void *base, uint64_t bytes, uint64_t notify)
{
	struct mu_node_class *k = &own_node()->class[id];

	atomic_store_relaxed(&k->base, (uint64_t)(uintptr_t)base);
	k->notify = notify;
	atomic_store_release(&k->counter[0], bytes);
}

uint64_t mu_coll_bytes_left(unsigned id)
{
	return atomic_load_acquire(&own_node()->class[id].counter[0]);
}

/* The next descriptor of a FIFO, zeroed but for the put into table entries of class route id; NULL:
 * full. */
static MUHWI_Descriptor_t *slot_of(struct mu_node_fifo *f, unsigned id, uint64_t offset,
				   const void *payload, uint64_t bytes)
{
	uint64_t tail = atomic_load_relaxed(&f->tail);
	MUHWI_Descriptor_t *d = &f->slot[tail % MU_NODE_SLOTS];

	if (tail - atomic_load_acquire(&f->head) >= MU_NODE_SLOTS)
		return NULL;
	memset(d, 0, sizeof *d);
	d->Pa_Payload = (uint64_t)(uintptr_t)payload;
	d->Message_Length = bytes;
	d->PacketHeader.NetworkHeader.pt2pt.Byte8.Byte8 = MUHWI_PACKET_TYPE_PUT | 16;
	d->PacketHeader.NetworkHeader.pt2pt.Injection_Info.Skip = 8;
	mu_put_offset_set(&d->PacketHeader, offset);
	d->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Rec_Payload_Base_Address_Id =
	    (MU_NODE_TABLE + 2 * id) & 1023;
	d->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Rec_Counter_Base_Address_Id =
	    (MU_NODE_TABLE + 2 * id + 1) & 1023;
	d->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset =
	    MUHWI_ATOMIC_ADDRESS_INDICATOR | MUHWI_ATOMIC_OPCODE_STORE_ADD;
	return d;
}

static void publish_piece(struct mu_channel *ch, unsigned fifo, uint64_t *sequence)
{
	struct mu_node_fifo *f = &own_node()->fifo[fifo];

	uint64_t tail = atomic_load_relaxed(&f->tail);

	f->when_ps[tail % MU_NODE_SLOTS] = mu_vt_now_ps();
	f->awaited[tail % MU_NODE_SLOTS] = sequence != NULL;
	atomic_store_release(&f->tail, tail + 1);
	if (sequence)
		*sequence = tail + 1;
	ch->p->remote->node->inject(ch, fifo);
}

int mu_coll_post(struct mu_channel *ch, unsigned id, const struct mu_coll_call *c,
		 uint64_t *sequence)
{
	MUHWI_Descriptor_t *d = slot_of(&own_node()->fifo[id], id, c->offset, c->payload, c->bytes);
	static const uint8_t vc_of_class[4] = {MUHWI_PACKET_VIRTUAL_CHANNEL_USER_COMM_WORLD,
					       MUHWI_PACKET_VIRTUAL_CHANNEL_SYSTEM_COLLECTIVE,
					       MUHWI_PACKET_VIRTUAL_CHANNEL_USER_SUB_COMM};
	MUHWI_CollectiveNetworkHeader_t *h;

	if (!d)
		return -EAGAIN;
	h = &d->PacketHeader.NetworkHeader.collective;
	d->Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_CUSER;
	h->Data_Packet_Type = MUHWI_COLLECTIVE_DATA_PACKET_TYPE;
	h->Byte1.Byte1 = (uint8_t)(c->op | c->word);
	h->Byte2.Byte2 = (uint8_t)(id << 4);
	h->Byte3.Byte3 = (uint8_t)(vc_of_class[id ? 2 : 0] | c->type);
	if (c->type == MUHWI_COLLECTIVE_TYPE_REDUCE)
		h->Destination.Destination.Destination = ch->p->entry[c->task].coords;
	publish_piece(ch, id, sequence);
	return 0;
}

uint64_t mu_coll_done(unsigned id)
{
	return atomic_load_acquire(&own_node()->fifo[id].head);
}

void mu_line_expect(struct mu_channel *ch, unsigned id, void *base, unsigned colours,
		    const uint64_t *bytes, uint64_t notify)
{
	struct mu_node_class *k = &own_node()->class[id];

	atomic_store_relaxed(&k->base, (uint64_t)(uintptr_t)base);
	k->notify = notify;
	for (unsigned i = 0; i < colours; i++)
		atomic_store_release(&k->counter[1 + i], bytes[i]);
}

uint64_t mu_line_bytes_left(unsigned id, unsigned colour)
{
	return atomic_load_acquire(&own_node()->class[id].counter[1 + colour]);
}

int mu_line_post(struct mu_channel *ch, unsigned id, unsigned colour, unsigned link, unsigned hops,
		 const void *payload, uint64_t bytes, uint64_t offset, uint64_t *sequence)
{
	struct mu_node_fifo *f = &own_node()->fifo[MU_CLASSES + link];
	struct emu_shape *shape = &ch->p->host->shape;
	MUHWI_Descriptor_t *d = slot_of(f, id, offset, payload, bytes);
	MUHWI_Pt2PtNetworkHeader_t *h;
	uint32_t to = ch->p->job.node;
	struct emu_coord x;

	if (!d)
		return -EAGAIN;
	h = &d->PacketHeader.NetworkHeader.pt2pt;
	d->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset |=
	    8ull * (1 + colour);
	while (hops--)
		to = emu_node_neighbour(shape, to, link);
	emu_node_coord(shape, to, &x);
	d->Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_AM >> link;
	h->Data_Packet_Type = MUHWI_PT2PT_DATA_PACKET_TYPE;
	h->Byte3.Byte3 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
	h->Byte2.Byte2 = MUHWI_PACKET_DEPOSIT;
	emu_hints_set(h, emu_hint_of_link(link));
	h->Destination.Destination.Destination = emu_coord_word(&x);
	atomic_store_relaxed(&f->channel, channel_number(ch));
	atomic_fetch_or_release(&ch->engine.node_fifos, 1u << (MU_CLASSES + link));
	publish_piece(ch, MU_CLASSES + link, sequence);
	return 0;
}

uint64_t mu_line_done(unsigned link)
{
	return atomic_load_acquire(&own_node()->fifo[MU_CLASSES + link].head);
}

static void write_control(struct mu_channel *ch, unsigned id, enum emu_gi_user user, unsigned bits)
{
	struct mu_node_control *c = &own_node()->class[id].control[user];

	atomic_store_relaxed(&c->bits, bits);
	c->when_ps = mu_vt_now_ps();
	atomic_store_release(&c->writes, atomic_load_relaxed(&c->writes) + 1);
	ch->p->remote->node->write_gi(ch, id, user, bits);
}

void mu_gi_write(struct mu_channel *ch, unsigned id, unsigned bits)
{
	write_control(ch, id, EMU_GI_SYSTEM, bits);
}

bool mu_gi_write_for_program(struct mu_channel *ch, unsigned id, unsigned bits)
{
	if (atomic_load_relaxed(&own_node()->class[id].control[EMU_GI_PROGRAM].bits) == bits)
		return false;
	write_control(ch, id, EMU_GI_PROGRAM, bits);
	return true;
}

unsigned mu_gi_read(struct mu_channel *ch, unsigned id)
{
	struct mu_node_class *k = &own_node()->class[id];

	mu_watch(ch, &k->changes.plain, atomic_load_acquire(&k->changes) + 1);
	return atomic_load_acquire(&k->status);
}

void mu_world_class(const struct emu_shape *shape, uint32_t node, ClassRoute_t *c)
{
	struct emu_coord root, x;
	struct emu_box box;
	int first;

	emu_node_coord(shape, 0, &box.low);
	emu_node_coord(shape, emu_shape_nodes(shape) - 1, &box.high);
	emu_class_root(&box, &root, &first);
	emu_node_coord(shape, node, &x);
	emu_class_build(&box, &root, &x, NULL, first, c);
	c->input |= BGQ_CLASS_INPUT_LINK_LOCAL | BGQ_CLASS_INPUT_VC_USER;
}
