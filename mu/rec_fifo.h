/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reception FIFO in memory, under its MUSPI names: where the engine puts memory-FIFO packets when
 * nobody polls (a polling thread takes them straight from the ring they came in).
 *
 * Byte ring in units of 32: 32-byte header and payload, (Size + 1) * 32 bytes a packet, contiguous
 * modulo wrap; the tail never catches the head. The engine writes the packet, then the tail (W1);
 * software reads the tail (R1) and moves the head (W2). One consumer thread at a time.
 * Source: Blue Gene/Q RecFifo.h (spec/mu.md 4.5, 11.5).
 */
#ifndef MU_REC_FIFO_H
#define MU_REC_FIFO_H

#include "mu/inj_fifo.h"

#define MU_REC_PACKET_BYTES 544u

typedef struct MUSPI_RecFifo {
	MUSPI_Fifo_t _fifo;
	uint64_t numProcessed;
	_Alignas(32) unsigned char _wrapBuf[MU_REC_PACKET_BYTES];
} __attribute__((aligned(32))) MUSPI_RecFifo_t;

#ifndef __cplusplus
_Static_assert(sizeof(MUSPI_RecFifo_t) == 608, "MUSPI_RecFifo_t is 608 bytes");
#endif

/* Set up on `bytes` (multiple of 32, >= 576) at `memory`, 32-byte aligned. 0 or -EINVAL. */
static inline int mu_rec_fifo_init(MUSPI_RecFifo_t *f, MUHWI_Fifo_t *hw, void *memory, uint64_t bytes)
{
	uint64_t va = (uint64_t)(uintptr_t)memory;

	if (va % 32 || bytes % 32 || bytes < BGQ_MU_MIN_RECFIFO_SIZE_IN_BYTES)
		return -EINVAL;
	f->_fifo = (MUSPI_Fifo_t){ .pa_start = va, .va_start = memory, .size_1 = bytes - 1, .va_head = memory,
		                   .va_tail = memory, .va_end = (char *)memory + bytes, .hwfifo = hw };
	f->numProcessed = 0;
	hw->pa_start = hw->pa_head = hw->pa_tail = va;
	hw->size_1 = bytes - 1;
	return 0;
}

/* Hardware's side: append one packet (header, payload padded to 32). 0, or -EAGAIN: no room. */
static inline int mu_rec_fifo_append(MUHWI_Fifo_t *hw, const MUHWI_PacketHeader_t *header,
                                     const void *payload, uint32_t payload_bytes)
{
	uint64_t size = hw->size_1 + 1, tail = hw->pa_tail - hw->pa_start;
	uint64_t head = __atomic_load_n(&hw->pa_head, __ATOMIC_ACQUIRE) - hw->pa_start; /* pairs with W2 */
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
	__atomic_store_n(&hw->pa_tail, hw->pa_start + (tail + bytes) % size, __ATOMIC_RELEASE); /* W1 */
	return 0;
}

/*
 * The next packet, or NULL. *bytes = header and payload. A packet split by the wrap is copied to
 * the bounce buffer. Valid until the next call; the shadow head moves, publish it with
 * MUSPI_syncRecFifoHwHead().
 */
static inline MUHWI_PacketHeader_t *MUSPI_getNextPacket(MUSPI_RecFifo_t *f, uint32_t *bytes)
{
	uint64_t tail = __atomic_load_n(&f->_fifo.hwfifo->pa_tail, __ATOMIC_ACQUIRE); /* R1 */
	char *head = f->_fifo.va_head, *next;
	MUHWI_PacketHeader_t *packet = (MUHWI_PacketHeader_t *)head;
	uint64_t to_end;

	if ((uint64_t)(uintptr_t)head == tail)
		return NULL;
	*bytes = (packet->NetworkHeader.pt2pt.Byte8.Size + 1u) * 32u;
	to_end = (uint64_t)((char *)f->_fifo.va_end - head);
	next = head + *bytes;
	if (*bytes >= to_end) {
		next = (char *)f->_fifo.va_start + (*bytes - to_end);
		if (*bytes > to_end) {
			memcpy(f->_wrapBuf, head, to_end);
			memcpy(f->_wrapBuf + to_end, f->_fifo.va_start, *bytes - to_end);
			packet = (MUHWI_PacketHeader_t *)f->_wrapBuf;
		}
	}
	f->_fifo.va_head = next;
	f->numProcessed++;
	return packet;
}

/* Publish the shadow head (W2): room for the engine. */
static inline void MUSPI_syncRecFifoHwHead(MUSPI_RecFifo_t *f)
{
	__atomic_store_n(&f->_fifo.hwfifo->pa_head, (uint64_t)(uintptr_t)f->_fifo.va_head, __ATOMIC_RELEASE);
}

#endif
