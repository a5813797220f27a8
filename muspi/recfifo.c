/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets to the functions that a program registered (spi/include/mu/RecFifo.h). */
#include "muspi/unit.h"

static struct {
	MUSPI_RecvFunction_t fn;
	void *param;
} table[MUSPI_MAX_FUNCTION_IDS];

UNIT_API void MUSPI_RegisterRecvFunction(MUSPI_RecvFunction_t fn, void *param, uint32_t id)
{
	if (id >= MUSPI_MAX_FUNCTION_IDS)
		return;
	table[id].param = param;
	table[id].fn = fn;
}

UNIT_API int32_t MUSPI_RegisterReceiveFunction(MUSPI_RecvFunction_t fn, void *param)
{
	for (int32_t i = 0; i < MUSPI_MAX_FUNCTION_IDS; i++)
		if (!table[i].fn) {
			MUSPI_RegisterRecvFunction(fn, param, (uint32_t)i);
			return i;
		}
	return -1;
}

UNIT_API int32_t MUSPI_DeRegisterReceiveFunction(uint32_t id)
{
	if (id >= MUSPI_MAX_FUNCTION_IDS || !table[id].fn)
		return -1;
	table[id].fn = NULL;
	return 0;
}

static void handle_packet(MUHWI_PacketHeader_t *h, uint32_t bytes)
{
	unsigned id = h->messageUnitHeader.Packet_Types.Memory_FIFO.Unused2[0];

	if (table[id].fn)
		table[id].fn(table[id].param, h, bytes);
	else
		unit_refuse(RULE_packet_type, "a packet without a registered function: id", id);
}

UNIT_API uint32_t MUSPI_RecFifoPollWrap(MUSPI_RecFifo_t *f, uint32_t n)
{
	char *before = f->_fifo.va_head;
	uint32_t done = 0, bytes;
	MUHWI_PacketHeader_t *h;

	while (done < n && (char *)f->_fifo.va_head >= before &&
	       (h = MUSPI_getNextPacket(f, &bytes))) {
		handle_packet(h, bytes);
		done++;
	}
	if (done)
		MUSPI_syncRecFifoHwHead(f);
	return done;
}

UNIT_API uint32_t MUSPI_RecFifoPoll(MUSPI_RecFifo_t *f, uint32_t n)
{
	uint32_t wrap = 0, left = MUSPI_getAvailableBytes(f, &wrap), done = 0;

	if (!left)
		return 0;
	if (wrap)
		return MUSPI_RecFifoPollWrap(f, n);
	/* With a wrap ahead a packet may begin before the last bytes and end in them. */
	while (done < n && left) {
		uint32_t bytes;
		MUHWI_PacketHeader_t *h = MUSPI_getNextPacketOptimized(f, &bytes);

		handle_packet(h, bytes);
		MUSPI_syncRecFifoHwHead(f);
		left -= bytes < left ? bytes : left;
		done++;
	}
	return done;
}

UNIT_API void MUSPI_RecFifoExamplePoll(MUSPI_RecFifo_t *f, MUSPI_RecvFunction_t fn, void *param)
{
	uint32_t bytes;
	MUHWI_PacketHeader_t *h;

	quintorus_mu_poll();
	while ((h = MUSPI_getNextPacket(f, &bytes))) {
		fn(param, h, bytes);
		MUSPI_syncRecFifoHwHead(f);
	}
}
