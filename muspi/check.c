/* SPDX-License-Identifier: BSD-3-Clause */
#include "muspi/check.h"

#include <errno.h>

#include "emu/combine.h"
#include "mu/hw/packetize.h"
#include "muspi/unit.h"

#define ADDRESS_END (1ull << 47)
#define MAP_SYSTEM                                                                                 \
	(MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_SYSTEM | MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_CSYSTEM)
#define MAP_LOCAL                                                                                  \
	(MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_LOCAL0 | MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_LOCAL1 |         \
	 MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_PRIORITY)

static int refuse_field(enum unit_rule rule, const char *field, uint64_t value)
{
	unit_refuse(rule, field, value);
	return -EINVAL;
}

static int check_map(const MUHWI_Descriptor_t *d, bool collective)
{
	uint64_t map = d->Torus_FIFO_Map;

	if (!map)
		return refuse_field(RULE_map_empty, "Torus_FIFO_Map", map);
	if (map >> 16)
		return refuse_field(RULE_map_unknown, "Torus_FIFO_Map", map);
	if (!(map & ~MAP_SYSTEM))
		return refuse_field(RULE_map_system, "Torus_FIFO_Map", map);
	if (collective != !!(map & MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_CUSER))
		return refuse_field(RULE_map_kind, "Torus_FIFO_Map", map);
	return 0;
}

static int check_length(const MUHWI_Descriptor_t *d)
{
	unsigned type = mu_packet_type(&d->PacketHeader);
	unsigned chunks = d->PacketHeader.NetworkHeader.pt2pt.Byte8.Size;
	uint64_t bytes = d->Message_Length, at = d->Pa_Payload;

	if (chunks > 16)
		return refuse_field(RULE_chunks, "Size", chunks);
	if (type == MUHWI_PACKET_TYPE_PUT && !chunks)
		return refuse_field(RULE_chunks_put, "Size", chunks);
	if (type >= MUHWI_PACKET_TYPE_GET && chunks < 2)
		return refuse_field(RULE_chunks_get, "Size", chunks);
	if (type == MUHWI_PACKET_TYPE_FIFO && !chunks && bytes)
		return refuse_field(RULE_chunks_fifo, "Size", chunks);
	if (type == MUHWI_PACKET_TYPE_PUT && !bytes)
		return refuse_field(RULE_length_put, "Message_Length", bytes);
	if (type >= MUHWI_PACKET_TYPE_GET && (!bytes || bytes % 64))
		return refuse_field(RULE_length_get, "Message_Length", bytes);
	if (type >= MUHWI_PACKET_TYPE_GET && (at % 64 || at & MUHWI_ATOMIC_ADDRESS_INDICATOR))
		return refuse_field(RULE_payload_get, "Pa_Payload", at);
	if (at & MUHWI_ATOMIC_ADDRESS_INDICATOR) {
		if (bytes != 8)
			return refuse_field(RULE_payload_atomic, "Message_Length", bytes);
		return 0;
	}
	if (bytes && (at >= ADDRESS_END || bytes > ADDRESS_END - at))
		return refuse_field(RULE_payload_range, "Pa_Payload", at);
	if (bytes && !mu_is_buffer_mapped(unit.ch, at, bytes, 0))
		return refuse_field(RULE_payload_memory, "Pa_Payload", at);
	if (type == MUHWI_PACKET_TYPE_PUT) {
		uint64_t offset = mu_put_offset(&d->PacketHeader);

		if (!(offset & MUHWI_ATOMIC_ADDRESS_INDICATOR) && bytes > ADDRESS_END - offset)
			return refuse_field(RULE_put_range, "Put_Offset", offset);
	}
	return 0;
}

static bool leads_off_mesh(unsigned hints, const struct emu_coord *to)
{
	for (unsigned d = 0; d < EMU_DIMS; d++) {
		int ahead = to->c[d] - unit.job->coord.c[d];
		unsigned pair = hints >> (8 - 2 * d) & 3; /* 2: minus, 1: plus */

		if (unit.job->shape.mesh >> d & 1 && ahead && pair && pair != (ahead > 0 ? 1 : 2))
			return true;
	}
	return false;
}

static int check_pt2pt(const MUHWI_Descriptor_t *d)
{
	const MUHWI_Pt2PtNetworkHeader_t *h = &d->PacketHeader.NetworkHeader.pt2pt;
	unsigned hints = (unsigned)h->Hints << 2 | h->Byte2.Byte2 >> 6, vc = h->Byte3.Byte3 >> 5;
	uint32_t here = emu_coord_word(&unit.job->coord);
	struct emu_coord x;

	if (vc == 3)
		return refuse_field(RULE_system_channel, "Virtual_channel", vc);
	if (vc > 3)
		return refuse_field(RULE_channel, "Virtual_channel", vc);
	if (hints & (hints >> 1) & 0x155)
		return refuse_field(RULE_hints, "hints", hints);
	if (h->Destination.Destination.Destination == here && !(d->Torus_FIFO_Map & MAP_LOCAL))
		return refuse_field(RULE_map_local, "Torus_FIFO_Map", d->Torus_FIFO_Map);
	emu_coord_from_word(h->Destination.Destination.Destination, &x);
	for (int i = 0; i < EMU_DIMS; i++)
		if (x.c[i] >= unit.job->shape.n[i])
			return refuse_field(RULE_destination, "Destination",
					    h->Destination.Destination.Destination);
	if (leads_off_mesh(hints, &x))
		return refuse_field(RULE_hints_mesh, "hints", hints);
	if (h->Byte2.Deposit) {
		uint32_t other = h->Destination.Destination.Destination ^ here;
		unsigned link = hints ? 9u - (unsigned)__builtin_ctz(hints) : 0;

		if (h->Byte2.Dynamic || !hints || hints & (hints - 1) ||
		    other & ~(63u << 6 * (4 - link / 2)))
			return refuse_field(RULE_deposit, "hints", hints);
	}
	return 0;
}

static int check_collective(const MUHWI_Descriptor_t *d)
{
	const MUHWI_CollectiveNetworkHeader_t *h = &d->PacketHeader.NetworkHeader.collective;
	unsigned vc = h->Byte3.Byte3 >> 5;
	uint64_t last = d->Message_Length % MU_PACKET_PAYLOAD;

	if (vc == 6 || vc == 3)
		return refuse_field(RULE_system_channel, "Virtual_channel", vc);
	if (vc != 4 && vc != 5)
		return refuse_field(RULE_channel, "Virtual_channel", vc);
	if (mu_packet_type(&d->PacketHeader) == MUHWI_PACKET_TYPE_PACED_GET)
		return refuse_field(RULE_packet_type, "Packet_Type", 3);
	if (!emu_combine_is_valid(h->Byte1.Byte1 & 0xf0, h->Byte1.Word_Length,
				  (uint32_t)(last ? (last + 31) / 32 * 32 : MU_PACKET_PAYLOAD)))
		return refuse_field(RULE_collective, "OpCode and Word_Length", h->Byte1.Byte1);
	if (!atomic_load_acquire(&unit.table->coll[h->Byte2.Class_Route]))
		return refuse_field(RULE_class_route, "Class_Route", h->Byte2.Class_Route);
	return 0;
}

int unit_check(const MUHWI_Descriptor_t *d)
{
	unsigned type = d->PacketHeader.NetworkHeader.pt2pt.Data_Packet_Type;
	bool collective = type == MUHWI_COLLECTIVE_DATA_PACKET_TYPE;
	int rc;

	if (d->Half_Word0.Prefetch_Only)
		return 0;
	if (!collective && type != MUHWI_PT2PT_DATA_PACKET_TYPE)
		return refuse_field(RULE_data_type, "Data_Packet_Type", type);
	rc = check_map(d, collective);
	if (!rc)
		rc = collective ? check_collective(d) : check_pt2pt(d);
	return rc ? rc : check_length(d);
}
