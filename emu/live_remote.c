/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets, credits and signals that came over a wire from the router of another host. Every field
 * is checked before use. */
#include <errno.h>
#include <string.h>

#include "drivers/base/atomic.h"
#include "emu/combine.h"
#include "emu/live_state.h"
#include "emu/vc.h"

static int refuse_packet(struct emu_live *live)
{
	atomic_fetch_add_relaxed(&live->mem->refused_count, 1);
	return -EPROTO;
}

static bool is_remote(const struct emu_live *live, uint32_t local_node, unsigned link)
{
	return local_node < live->mem->local_nodes && link < EMU_LINKS &&
	       node_of(live, local_node)->remote >> link & 1;
}

int emu_live_arrive_remote(struct emu_live *live, uint32_t local_node, unsigned link,
			   const struct emu_live_tag *tag, const MUHWI_PacketHeader_t *hdr,
			   const void *payload)
{
	unsigned hints = 0, vc = emu_vc_start(&hdr->NetworkHeader.pt2pt);
	bool coll = hdr->NetworkHeader.pt2pt.Data_Packet_Type == MUHWI_COLLECTIVE_DATA_PACKET_TYPE;
	unsigned op = hdr->NetworkHeader.collective.Byte1.Byte1;
	struct emu_packet *p;
	uint32_t i;

	if (!is_remote(live, local_node, link) || tag->bytes > sizeof(p->payload) ||
	    (coll && (tag->vc != EMU_VCS + route_of(hdr) ||
		      !emu_combine_is_valid(op & 0xf0, op & 15, tag->bytes))))
		return refuse_packet(live);
	if (!coll && (tag->vc >= EMU_VCS || vc >= EMU_VCS ||
		      emu_route_hints(&live->mem->route, node_of(live, local_node)->here,
				      hdr->NetworkHeader.pt2pt.Destination.Destination.Destination,
				      emu_hints_get(&hdr->NetworkHeader.pt2pt), &hints)))
		return refuse_packet(live);
	i = pool_get(live);
	if (i == NIL)
		return refuse_packet(live);
	p = &live->pool[i];
	memset(p, 0, 64);
	p->hdr = *hdr;
	if (!coll) /* Those of dimensions that are done stay, as in a router of this host. */
		emu_hints_set(&p->hdr.NetworkHeader.pt2pt,
			      hints | emu_hints_get(&hdr->NetworkHeader.pt2pt));
	p->task = tag->task;
	p->bytes = tag->bytes;
	p->route.source = tag->source;
	p->route.sequence = tag->sequence;
	p->route.hops = tag->hops;
	p->route.vc = tag->vc;
	p->route.in = (uint8_t)link;
	memcpy(p->payload, payload, tag->bytes);
	inbox_push(live, local_node, i);
	return 0;
}

/* Refuse more credits than there are slots. */
static int credits_arrive(struct emu_live *live, uint32_t local_node, unsigned link,
			  uint64_t credits, bool coll)
{
	const unsigned count = coll ? EMU_CLASSES : EMU_VCS, width = coll ? 4 : 16,
		       mask = (1u << width) - 1;
	struct live_node *n;
	uint64_t have;

	if (!is_remote(live, local_node, link))
		return refuse_packet(live);
	n = node_of(live, local_node);
	have = atomic_load_relaxed(coll ? &n->coll_credit[link] : &n->credit[link]);
	for (unsigned i = 0; i < count; i++)
		if ((have >> width * i & mask) + (credits >> width * i & mask) >
		    (coll ? live->mem->coll_slots : live->mem->slots[i]))
			return refuse_packet(live);
	credit_add(live, local_node, link, credits, coll);
	return 0;
}

int emu_live_credit_remote(struct emu_live *live, uint32_t local_node, unsigned link,
			   uint64_t credits)
{
	return credits_arrive(live, local_node, link, credits, false);
}

int emu_live_coll_credit_remote(struct emu_live *live, uint32_t local_node, unsigned link,
				uint64_t credits)
{
	return credits_arrive(live, local_node, link, credits, true);
}

int emu_live_gi_remote(struct emu_live *live, uint32_t local_node, unsigned link, unsigned route,
		       unsigned bits)
{
	if (!is_remote(live, local_node, link) || route >= EMU_CLASSES || bits > EMU_GI_ALL)
		return refuse_packet(live);
	signal_put(live, local_node, link, route, bits);
	return 0;
}
