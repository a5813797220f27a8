/* SPDX-License-Identifier: BSD-3-Clause */
/* Class routes, software's side. Hot: guarded by bench/coll_figures. */
#include "mu/coll.h"

#include <errno.h>

#include "drivers/base/log.h"
#include "emu/class.h"
#include "emu/route.h"
#include "mu/live.h"
#include "mu/process.h"
#include "mu/vtask.h"

static struct mu_node_area *here(void)
{
	return mu_host_node(mu_self.host, mu_self.job.node);
}

static uint32_t number(const struct mu_channel *ch)
{
	return ch->p->local * ch->p->channels + ch->index;
}

static int has_routers(void)
{
	return mu_self.virtual_clock || mu_self.live;
}

unsigned mu_class_free(void)
{
	return has_routers() ? ~__atomic_load_n(&here()->used, __ATOMIC_RELAXED) & 0xffff : 0;
}

int mu_class_world(void)
{
	return has_routers() && mu_self.host->world_class;
}

int mu_class_claim(struct mu_channel *ch, unsigned id)
{
	struct mu_node_area *n = here();
	uint32_t nobody = MU_NO_OWNER;

	if (!has_routers() || id >= MU_CLASSES)
		return -EINVAL;
	if (id && __atomic_fetch_or(&n->used, 1u << id, __ATOMIC_ACQ_REL) >> id & 1)
		return -EBUSY;
	if (!__atomic_compare_exchange_n(&n->class[id].owner, &nobody, number(ch), 0, __ATOMIC_ACQ_REL,
	                                 __ATOMIC_ACQUIRE) &&
	    nobody != number(ch))
		return -EBUSY;
	n->fifo[id].channel = number(ch);
	__atomic_fetch_or(&ch->node_fifos, 1u << id, __ATOMIC_RELEASE);
	return 0;
}

int mu_class_set(struct mu_channel *ch, unsigned id, const ClassRoute_t *route, int *gi)
{
	struct mu_node_class *k = &here()->class[id];

	k->route = *route;
	if (ch->p->live)
		return mu_live_class_set(ch->p->live, id, route, gi);
	mu_vt_node(MU_NODE_ROUTES + id); /* done by the simulator when we come back */
	*gi = k->gi_result;
	return k->result;
}

int mu_class_release(struct mu_channel *ch, unsigned id)
{
	static const ClassRoute_t none;
	struct mu_node_area *n = here();
	int gi, rc;

	if (id && (rc = mu_class_set(ch, id, &none, &gi)))
		return rc;
	__atomic_fetch_and(&ch->node_fifos, ~(1u << id), __ATOMIC_RELEASE);
	__atomic_store_n(&n->class[id].owner, MU_NO_OWNER, __ATOMIC_RELEASE);
	if (id) {
		n->class[id].control = 0;
		__atomic_store_n(&n->class[id].status, 0, __ATOMIC_RELAXED);
		__atomic_fetch_and(&n->used, ~(1u << id), __ATOMIC_RELEASE);
	}
	return 0;
}

void mu_class_abandon(struct mu_channel *ch, unsigned id)
{
	struct mu_node_area *n = here();

	mu_lock(&ch->engine); /* no packet is being written */
	__atomic_store_n(&n->class[id].base, 0, __ATOMIC_RELAXED);
	__atomic_fetch_and(&ch->node_fifos, ~(1u << id), __ATOMIC_RELEASE);
	mu_unlock(&ch->engine);
}

void mu_coll_expect(struct mu_channel *ch, unsigned id, void *base, uint64_t bytes, uint64_t notify)
{
	struct mu_node_class *k = &here()->class[id];

	__atomic_store_n(&k->base, (uint64_t)(uintptr_t)base, __ATOMIC_RELAXED);
	k->notify = notify;
	__atomic_store_n(&k->counter[0], bytes, __ATOMIC_RELEASE);
}

uint64_t mu_coll_left(unsigned id)
{
	return __atomic_load_n(&here()->class[id].counter[0], __ATOMIC_ACQUIRE);
}

/* The next descriptor of a FIFO, zeroed but for the put into table entries of class route id; NULL: full. */
static MUHWI_Descriptor_t *slot_of(struct mu_node_fifo *f, unsigned id, uint64_t offset, const void *payload,
                                   uint64_t bytes)
{
	MUHWI_Descriptor_t *d = &f->slot[f->tail % MU_NODE_SLOTS];

	if (f->tail - __atomic_load_n(&f->head, __ATOMIC_ACQUIRE) >= MU_NODE_SLOTS)
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

static void publish(struct mu_channel *ch, unsigned fifo, uint64_t *sequence)
{
	struct mu_node_fifo *f = &here()->fifo[fifo];

	f->when_ps[f->tail % MU_NODE_SLOTS] = mu_vt_now_ps();
	f->slot[f->tail % MU_NODE_SLOTS].Half_Word0.Unused1 = sequence != NULL;
	__atomic_store_n(&f->tail, f->tail + 1, __ATOMIC_RELEASE);
	if (sequence)
		*sequence = f->tail;
	if (ch->p->virtual_clock)
		mu_vt_node(fifo);
	else
		mu_inject_now(ch);
}

int mu_coll_post(struct mu_channel *ch, unsigned id, const struct mu_coll_call *c, uint64_t *sequence)
{
	MUHWI_Descriptor_t *d = slot_of(&here()->fifo[id], id, c->offset, c->payload, c->bytes);
	static const uint8_t vc_of_class[4] = { MUHWI_PACKET_VIRTUAL_CHANNEL_USER_COMM_WORLD,
		                                MUHWI_PACKET_VIRTUAL_CHANNEL_SYSTEM_COLLECTIVE,
		                                MUHWI_PACKET_VIRTUAL_CHANNEL_USER_SUB_COMM };
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
	publish(ch, id, sequence);
	return 0;
}

uint64_t mu_coll_done(unsigned id)
{
	return __atomic_load_n(&here()->fifo[id].head, __ATOMIC_ACQUIRE);
}

void mu_line_expect(struct mu_channel *ch, unsigned id, void *base, unsigned colours, const uint64_t *bytes,
                    uint64_t notify)
{
	struct mu_node_class *k = &here()->class[id];

	__atomic_store_n(&k->base, (uint64_t)(uintptr_t)base, __ATOMIC_RELAXED);
	k->notify = notify;
	for (unsigned i = 0; i < colours; i++)
		__atomic_store_n(&k->counter[1 + i], bytes[i], __ATOMIC_RELEASE);
}

uint64_t mu_line_left(unsigned id, unsigned colour)
{
	return __atomic_load_n(&here()->class[id].counter[1 + colour], __ATOMIC_ACQUIRE);
}

int mu_line_post(struct mu_channel *ch, unsigned id, unsigned colour, unsigned link, unsigned hops, const void *payload,
                 uint64_t bytes, uint64_t offset, uint64_t *sequence)
{
	struct mu_node_fifo *f = &here()->fifo[MU_CLASSES + link];
	struct emu_shape *shape = &ch->p->host->shape;
	MUHWI_Descriptor_t *d = slot_of(f, id, offset, payload, bytes);
	MUHWI_Pt2PtNetworkHeader_t *h;
	uint32_t to = ch->p->job.node;
	struct emu_coord x;

	if (!d)
		return -EAGAIN;
	h = &d->PacketHeader.NetworkHeader.pt2pt;
	d->PacketHeader.messageUnitHeader.Packet_Types.Direct_Put.Counter_Offset |= 8ull * (1 + colour);
	while (hops--)
		to = emu_node_neighbour(shape, to, link);
	emu_node_coord(shape, to, &x);
	d->Torus_FIFO_Map = MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_AM >> link;
	h->Data_Packet_Type = MUHWI_PT2PT_DATA_PACKET_TYPE;
	h->Byte3.Byte3 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
	h->Byte2.Byte2 = MUHWI_PACKET_DEPOSIT;
	emu_hints_set(h, emu_hint_of_link(link));
	h->Destination.Destination.Destination = emu_coord_word(&x);
	f->channel = number(ch);
	__atomic_fetch_or(&ch->node_fifos, 1u << (MU_CLASSES + link), __ATOMIC_RELEASE);
	publish(ch, MU_CLASSES + link, sequence);
	return 0;
}

uint64_t mu_line_done(unsigned link)
{
	return __atomic_load_n(&here()->fifo[MU_CLASSES + link].head, __ATOMIC_ACQUIRE);
}

void mu_gi_write(struct mu_channel *ch, unsigned id, unsigned bits)
{
	struct mu_node_class *k = &here()->class[id];

	k->control = bits;
	k->when_ps = mu_vt_now_ps();
	if (ch->p->virtual_clock)
		mu_vt_node(MU_NODE_SIGNALS + id);
	else if (ch->p->live)
		mu_live_gi(ch->p->live, id, bits);
}

unsigned mu_gi_read(struct mu_channel *ch, unsigned id)
{
	struct mu_node_class *k = &here()->class[id];

	mu_watch(ch, &k->changes, __atomic_load_n(&k->changes, __ATOMIC_ACQUIRE) + 1);
	return __atomic_load_n(&k->status, __ATOMIC_ACQUIRE);
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
