/* SPDX-License-Identifier: BSD-3-Clause */
/* A reception FIFO, hardware's side. docs/hardware.md 4.5. */
#ifndef MU_HW_REC_APPEND_H
#define MU_HW_REC_APPEND_H

#include <errno.h>
#include <string.h>

#include "drivers/base/atomic.h"
#include "emu/hw_packet.h"
#include "mu/hw/fifo.h"

#define MU_REC_PACKET_BYTES MUSPI_WRAP_BYTES

/* Hardware's side: append one packet (header, payload padded to 32). 0, or -EAGAIN: no room. */
static inline int mu_rec_fifo_append(MUHWI_Fifo_t *hw, const MUHWI_PacketHeader_t *header,
				     const void *payload, uint32_t payload_bytes)
{
	uint64_t size = hw->size_1 + 1, tail = hw->pa_tail - hw->pa_start;
	uint64_t head = atomic_load_acquire(&hw->pa_head) - hw->pa_start; /* pairs with W2 */
	uint64_t room = (head + size - tail - 1) % size;
	uint32_t chunks = (payload_bytes + 31) / 32;
	unsigned char packet[MU_REC_PACKET_BYTES];
	uint64_t bytes = (chunks + 1u) * 32u, first;

	if (room < bytes)
		return -EAGAIN;
	memcpy(packet, header, 32);
	((MUHWI_PacketHeader_t *)packet)->NetworkHeader.pt2pt.Byte8.Size = chunks & 31;
	memcpy(packet + 32, payload, payload_bytes);
	memset(packet + 32 + payload_bytes, 0, chunks * 32 - payload_bytes);
	first = size - tail < bytes ? size - tail : bytes;
	memcpy((void *)(uintptr_t)(hw->pa_start + tail), packet, first);
	memcpy((void *)(uintptr_t)hw->pa_start, packet + first, bytes - first);
	atomic_store_release(&hw->pa_tail, hw->pa_start + (tail + bytes) % size); /* W1 */
	return 0;
}

#endif
