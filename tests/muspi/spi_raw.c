/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that knows only the registers: each node sends messages of random lengths to each node
 * through eight injection FIFOs of two slots, stores tails itself, reads descriptor counts, and
 * takes packets out of a reception FIFO that holds two, by its head and tail, without a call. It
 * puts packets that wrap together itself. Packets of one sender come in order.
 */
#include <stdlib.h>

#include <spi/include/kernel/MU.h>
#include <spi/include/mu/GIBarrier.h>
#include <spi/include/mu/InjFifo.h>
#include <spi/include/mu/RecFifo.h>

#define SUBGROUP  8
#define REC_ID    3
#define REC_BYTES 1120
#define FIFOS     8
#define LONGEST   3000
#define NODES     64

static MUSPI_InjFifoSubGroup_t inj;
static MUSPI_RecFifoSubGroup_t rec;
static MUSPI_GIBarrier_t barrier;
static unsigned char inj_memory[FIFOS][128] __attribute__((aligned(64)));
static unsigned char rec_memory[REC_BYTES] __attribute__((aligned(64)));
static unsigned char payload[FIFOS][LONGEST];
static BG_CoordinateMapping_t map[NODES];
static uint64_t nodes, seed = 88172645463325252ull;
static uint32_t rank;
static uint64_t handed_in[FIFOS]; /* descriptors of each FIFO */
static uint32_t sent[NODES];      /* messages to each node */
static uint32_t taken[NODES];     /* messages of each node, */
static uint32_t part[NODES];      /* and bytes of the next */
static uint64_t messages;         /* taken in all */

#define CHECK_WHO "rank %u", Kernel_GetRank()
#include "tests/harness/check_count.h"

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static unsigned char byte_of(uint32_t from, uint32_t number, uint32_t at)
{
	return (unsigned char)(from * 7 + number + at);
}

static uint32_t get_two(const unsigned char *p)
{
	return p[0] | (uint32_t)p[1] << 8;
}

/* Software bytes 1 to 6: the sender, the length and the number of the message. */
static void take_packet(const unsigned char *packet, uint32_t bytes)
{
	const MUHWI_PacketHeader_t *h = (const MUHWI_PacketHeader_t *)packet;
	const unsigned char *soft = h->messageUnitHeader.Packet_Types.Memory_FIFO.Unused2;
	uint32_t from = get_two(soft + 1), length = get_two(soft + 3), here;

	REQUIRE(from < nodes);
	CHECK_EQ(get_two(soft + 5), taken[from] & 0xffff);
	CHECK_EQ(h->messageUnitHeader.Packet_Types.Memory_FIFO.Put_Offset_LSB, part[from]);
	here = length - part[from] > 512 ? 512 : length - part[from];
	CHECK_EQ(bytes, 32 + (here + 31) / 32 * 32);
	for (uint32_t i = 0; i < here; i++)
		if (packet[32 + i] != byte_of(from, taken[from] & 0xffff, part[from] + i)) {
			CHECK(!"the payload of a packet is what its sender wrote");
			break;
		}
	part[from] += here;
	if (part[from] < length)
		return;
	part[from] = 0;
	taken[from]++;
	messages++;
}

static void take_packets(void)
{
	static unsigned char joined[544] __attribute__((aligned(32)));
	volatile MUHWI_Fifo_t *hw = MUSPI_IdToRecFifo(REC_ID, &rec)->_fifo.hwfifo;
	uint64_t head = hw->pa_head, tail = hw->pa_tail;

	while (head != tail) {
		uint64_t at = head - hw->pa_start, end = REC_BYTES - at;
		const unsigned char *packet = rec_memory + at;
		uint32_t bytes =
		    (((const MUHWI_PacketHeader_t *)packet)->NetworkHeader.pt2pt.Byte8.Size + 1u) *
		    32u;

		REQUIRE(bytes <= sizeof joined);
		if (bytes > end) {
			memcpy(joined, packet, end);
			memcpy(joined + end, rec_memory, bytes - end);
			packet = joined;
		}
		take_packet(packet, bytes);
		head = hw->pa_start + (at + bytes) % REC_BYTES;
		hw->pa_head = head;
	}
}

static void make_descriptor(MUHWI_Descriptor_t *d, uint32_t to, const void *from, uint32_t bytes)
{
	MUSPI_Pt2PtMemoryFIFODescriptorInfo_t info;
	uint16_t soft[3] = {(uint16_t)rank, (uint16_t)bytes, (uint16_t)sent[to]};

	memset(&info, 0, sizeof info);
	info.Base.Payload_Address = (uint64_t)from;
	info.Base.Message_Length = bytes;
	info.Base.Torus_FIFO_Map = to == rank ? MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_LOCAL0
					      : MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_AM >> to % 10;
	MUSPI_SetUpDestination(&info.Base.Dest, map[to].a, map[to].b, map[to].c, map[to].d,
			       map[to].e);
	info.Pt2Pt.Misc2 = MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC;
	info.MemFIFO.Rec_FIFO_Id = SUBGROUP * 4 + REC_ID;
	memcpy(info.MemFIFO.SoftwareBytes + 1, soft, sizeof soft);
	REQUIRE(!MUSPI_CreatePt2PtMemoryFIFODescriptor(d, &info));
}

/* Hand in a message by FIFO to % FIFOS, if that has finished the one before. */
static bool send_message(uint32_t to)
{
	unsigned id = to % FIFOS;
	MUSPI_InjFifo_t *f = MUSPI_IdToInjFifo((int)id, &inj);
	volatile MUHWI_InjFifo_t *count = f->hw_injfifo;
	uint32_t bytes =
	    (uint32_t)(next_random() % 3 ? next_random() % 513 : next_random() % LONGEST);
	char *at = f->_fifo.va_tail;

	if (count->descCount < handed_in[id])
		return false;
	for (uint32_t i = 0; i < bytes; i++)
		payload[id][i] = byte_of(rank, sent[to] & 0xffff, i);
	make_descriptor((MUHWI_Descriptor_t *)(void *)at, to, payload[id], bytes);
	at = at + 64 == (char *)f->_fifo.va_end ? (char *)f->_fifo.va_start : at + 64;
	f->_fifo.va_tail = at;
	_bgq_msync();
	f->_fifo.hwfifo->pa_tail = (uint64_t)at;
	handed_in[id]++;
	sent[to]++;
	return true;
}

static void set_up(void)
{
	uint32_t ids[FIFOS] = {0, 1, 2, 3, 4, 5, 6, 7}, rec_id = REC_ID;
	Kernel_InjFifoAttributes_t attributes[FIFOS];
	Kernel_RecFifoAttributes_t rec_attributes;
	Kernel_MemoryRegion_t region;

	memset(attributes, 0, sizeof attributes);
	memset(&rec_attributes, 0, sizeof rec_attributes);
	REQUIRE(!Kernel_AllocateInjFifos(SUBGROUP, &inj, FIFOS, ids, attributes));
	for (uint32_t i = 0; i < FIFOS; i++) {
		REQUIRE(!Kernel_CreateMemoryRegion(&region, inj_memory[i], sizeof inj_memory[i]));
		REQUIRE(!Kernel_InjFifoInit(&inj, i, &region,
					    (uint64_t)inj_memory[i] - (uint64_t)region.BaseVa,
					    sizeof inj_memory[i] - 1));
	}
	REQUIRE(!Kernel_AllocateRecFifos(SUBGROUP, &rec, 1, &rec_id, &rec_attributes));
	REQUIRE(!Kernel_CreateMemoryRegion(&region, rec_memory, sizeof rec_memory));
	REQUIRE(!Kernel_RecFifoInit(&rec, REC_ID, &region,
				    (uint64_t)rec_memory - (uint64_t)region.BaseVa, REC_BYTES - 1));
	REQUIRE(!Kernel_RecFifoEnable(SUBGROUP / 4, 1u << (15 - REC_ID)));
	REQUIRE(!Kernel_InjFifoActivate(&inj, FIFOS, ids, KERNEL_INJ_FIFO_ACTIVATE));
	REQUIRE(!MUSPI_GIBarrierInit(&barrier, 0));
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
}

int main(int argc, char **argv)
{
	uint32_t each = argc > 1 && argv[1][0] == 'v' ? 3 : 40, out = 0;

	rank = Kernel_GetRank();
	REQUIRE(!Kernel_RanksToCoords(sizeof map, map, &nodes));
	seed += rank;
	set_up();
	while (out < each * nodes || messages < each * nodes) {
		if (out < each * nodes)
			out += send_message((uint32_t)((rank + out) % nodes));
		take_packets();
	}
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	for (uint32_t i = 0; i < nodes; i++)
		CHECK_EQ(taken[i], each);
	return check_failures != 0;
}
