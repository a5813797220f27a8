/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order of packets in each routing mode (docs/hardware.md 6.4): each node streams numbered
 * packets to one other node through one injection FIFO. Deterministic and high-priority packets
 * arrive in the order of their descriptors; dynamic ones, of each zone, all arrive, in any order.
 * SPI_DISORDER=1: node 0 must see dynamic packets overtake each other (virtual time only, where
 * every run is the same), so that the check of the order is known to see it.
 * usage: spi_order [virtual]
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spi/include/kernel/MU.h>
#include <spi/include/mu/GIBarrier.h>
#include <spi/include/mu/InjFifo.h>
#include <spi/include/mu/RecFifo.h>

#define PACKETS 16u /* of a message */
#define NODES   64u
#define SLOTS   16u

static const struct mode {
	const char *name;
	uint8_t misc2; /* channel, zone, stay on bubble */
	bool is_dynamic;
} modes[] = {
    {"deterministic", MUHWI_PACKET_VIRTUAL_CHANNEL_DETERMINISTIC, false},
    {"high priority", MUHWI_PACKET_VIRTUAL_CHANNEL_HIGH_PRIORITY, false},
    {"zone 0", MUHWI_PACKET_VIRTUAL_CHANNEL_DYNAMIC | MUHWI_PACKET_ZONE_ROUTING_0, true},
    {"zone 1", MUHWI_PACKET_VIRTUAL_CHANNEL_DYNAMIC | MUHWI_PACKET_ZONE_ROUTING_1, true},
    {"zone 2", MUHWI_PACKET_VIRTUAL_CHANNEL_DYNAMIC | MUHWI_PACKET_ZONE_ROUTING_2, true},
    {"zone 3", MUHWI_PACKET_VIRTUAL_CHANNEL_DYNAMIC | MUHWI_PACKET_ZONE_ROUTING_3, true},
    {"zone 1, staying on the bubble channel",
     MUHWI_PACKET_VIRTUAL_CHANNEL_DYNAMIC | MUHWI_PACKET_ZONE_ROUTING_1 |
	 MUHWI_PACKET_STAY_ON_BUBBLE,
     true},
};
#define MODES (sizeof modes / sizeof *modes)

static MUSPI_InjFifoSubGroup_t inj;
static MUSPI_RecFifoSubGroup_t rec;
static MUSPI_GIBarrier_t barrier;
static unsigned char inj_memory[64 * SLOTS] __attribute__((aligned(64)));
static unsigned char rec_memory[1 << 16] __attribute__((aligned(64)));
static unsigned char payload[PACKETS * 512];
static BG_CoordinateMapping_t map[NODES];
static uint64_t nodes;
static uint32_t rank;
static uint64_t expected, seen[4096], taken, overtaken; /* of the packets of this mode */

#define CHECK_WHO "rank %u", Kernel_GetRank()
#include "tests/harness/check_count.h"
#include "tests/muspi/spi_fifo.h"

static void set_up(void)
{
	uint32_t id = 0;
	Kernel_InjFifoAttributes_t ia = {0};
	Kernel_RecFifoAttributes_t ra = {0};

	rank = Kernel_GetRank();
	REQUIRE(!Kernel_RanksToCoords(sizeof map, map, &nodes));
	REQUIRE(!Kernel_AllocateInjFifos(0, &inj, 1, &id, &ia));
	REQUIRE(!Kernel_AllocateRecFifos(0, &rec, 1, &id, &ra));
	init_fifos(&inj, inj_memory, sizeof inj_memory, &rec, rec_memory, sizeof rec_memory);
	REQUIRE(!Kernel_RecFifoEnable(0, 1 << 15));
	REQUIRE(!Kernel_InjFifoActivate(&inj, 1, &id, KERNEL_INJ_FIFO_ACTIVATE));
	REQUIRE(!MUSPI_GIBarrierInit(&barrier, 0));
}

/* The number of a packet: software bytes 1 and 2 have that of its message. */
static void take_packets(unsigned mode)
{
	uint32_t bytes;
	MUHWI_PacketHeader_t *h;

	while ((h = MUSPI_getNextPacket(MUSPI_IdToRecFifo(0, &rec), &bytes))) {
		uint8_t soft[4];
		uint64_t number;

		memcpy(soft, h->messageUnitHeader.Packet_Types.Memory_FIFO.Unused2, sizeof soft);
		number = (soft[1] | (uint64_t)soft[2] << 8) * PACKETS +
			 h->messageUnitHeader.Packet_Types.Memory_FIFO.Put_Offset_LSB / 512;
		CHECK_EQ(soft[3], mode);
		REQUIRE(number < expected && !seen[number]);
		seen[number] = 1;
		overtaken += number != taken++;
		MUSPI_syncRecFifoHwHead(MUSPI_IdToRecFifo(0, &rec));
	}
}

static bool send_message(const struct mode *m, uint32_t to, uint32_t number)
{
	MUSPI_Pt2PtMemoryFIFODescriptorInfo_t info;
	MUHWI_Descriptor_t d __attribute__((aligned(64)));

	memset(&info, 0, sizeof info);
	info.Base.Payload_Address = (uint64_t)payload;
	info.Base.Message_Length = sizeof payload;
	info.Base.Torus_FIFO_Map = m->misc2 == MUHWI_PACKET_VIRTUAL_CHANNEL_HIGH_PRIORITY
				       ? MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_PRIORITY
				       : MUHWI_DESCRIPTOR_TORUS_FIFO_MAP_AP;
	MUSPI_SetUpDestination(&info.Base.Dest, map[to].a, map[to].b, map[to].c, map[to].d,
			       map[to].e);
	info.Pt2Pt.Misc1 = m->is_dynamic ? MUHWI_PACKET_USE_DYNAMIC_ROUTING : 0;
	info.Pt2Pt.Misc2 = m->misc2;
	info.MemFIFO.SoftwareBytes[1] = (uint8_t)number;
	info.MemFIFO.SoftwareBytes[2] = (uint8_t)(number >> 8);
	info.MemFIFO.SoftwareBytes[3] = (uint8_t)(m - modes);
	REQUIRE(!MUSPI_CreatePt2PtMemoryFIFODescriptor(&d, &info));
	return MUSPI_InjFifoInject(MUSPI_IdToInjFifo(0, &inj), &d) != (uint64_t)-1;
}

static void run_mode(const struct mode *m, uint32_t messages)
{
	uint32_t sent = 0;

	expected = (uint64_t)messages * PACKETS;
	REQUIRE(expected <= sizeof seen / sizeof *seen);
	memset(seen, 0, sizeof seen);
	taken = overtaken = 0;
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	while (sent < messages || taken < expected) {
		/* Another dimension is one away too, so that routers have something to choose. */
		if (sent < messages)
			sent += send_message(m, (uint32_t)((rank + nodes / 2 + 1) % nodes), sent);
		quintorus_mu_poll();
		take_packets((unsigned)(m - modes));
	}
	REQUIRE(!MUSPI_GIBarrierEnterAndWait(&barrier));
	if (!rank)
		printf("%s: %llu of %llu packets out of order\n", m->name,
		       (unsigned long long)overtaken, (unsigned long long)expected);
	if (!m->is_dynamic)
		CHECK_EQ(overtaken, 0);
}

int main(int argc, char **argv)
{
	const char *disorder = getenv("SPI_DISORDER");
	uint32_t messages = argc > 1 && argv[1][0] == 'v' ? 8 : 40;
	uint64_t all = 0;

	set_up();
	for (unsigned i = 0; i < MODES; i++) {
		run_mode(&modes[i], messages);
		all += overtaken;
	}
	if (!rank && disorder)
		CHECK(all > 0);
	return check_failures != 0;
}
