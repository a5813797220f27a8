/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reception FIFO in memory, under its MUSPI names. The engine puts memory-FIFO packets here while
 * no thread polls; a thread that polls takes them directly from the ring in which they came.
 *
 * A byte ring in units of 32: 32-byte header and payload, (Size + 1) * 32 bytes for each packet,
 * contiguous modulo wrap. The tail never reaches the head. The engine writes the packet, then the
 * tail (W1); software reads the tail (R1) and moves the head (W2). One consumer thread at a time.
 * Source: Blue Gene/Q RecFifo.h (docs/hardware.md 4.5).
 */
#ifndef MU_REC_FIFO_H
#define MU_REC_FIFO_H

#include "drivers/base/atomic.h"
#include "mu/hw/inj_fifo.h"
#include "mu/hw/rec_append.h"

/*
 * Set up a FIFO on `bytes` (a multiple of 32, >= 576) at `memory`, aligned to 32 bytes. Returns 0
 * or -EINVAL.
 */
static inline int mu_rec_fifo_init(MUSPI_RecFifo_t *f, MUHWI_Fifo_t *hw, void *memory,
				   uint64_t bytes)
{
	uint64_t va = (uint64_t)(uintptr_t)memory;

	if (va % 32 || bytes % 32 || bytes < BGQ_MU_MIN_RECFIFO_SIZE_IN_BYTES)
		return -EINVAL;
	f->_fifo = (MUSPI_Fifo_t){.pa_start = va,
				  .va_start = memory,
				  .size_1 = bytes - 1,
				  .va_head = memory,
				  .va_tail = memory,
				  .va_end = (char *)memory + bytes,
				  .hwfifo = hw};
	f->numProcessed = 0;
	hw->pa_start = hw->pa_head = hw->pa_tail = va;
	hw->size_1 = bytes - 1;
	return 0;
}

/*
 * Return the next packet, or NULL. *bytes = header and payload. A packet that the wrap splits is
 * copied to the bounce buffer. Valid until the next call. The shadow head moves;
 * MUSPI_syncRecFifoHwHead() publishes it.
 */
static inline MUHWI_PacketHeader_t *MUSPI_getNextPacket(MUSPI_RecFifo_t *f, uint32_t *bytes)
{
	uint64_t tail = atomic_load_acquire(&f->_fifo.hwfifo->pa_tail); /* R1 */
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

/* Publish the shadow head (W2), which makes room for the engine. */
static inline void MUSPI_syncRecFifoHwHead(MUSPI_RecFifo_t *f)
{
	atomic_store_release(&f->_fifo.hwfifo->pa_head, (uint64_t)(uintptr_t)f->_fifo.va_head);
}

#endif
