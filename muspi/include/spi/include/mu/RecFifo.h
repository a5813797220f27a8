/* SPDX-License-Identifier: BSD-3-Clause */
/* Reception FIFOs, software's side. docs/hardware.md 4.5. One thread a FIFO. */
#ifndef QT_SPI_INCLUDE_MU_RECFIFO_H
#define QT_SPI_INCLUDE_MU_RECFIFO_H

#include "hwi/include/bqc/MU_PacketHeader.h"
#include "spi/include/mu/Fifo.h"

#define MUSPI_MAX_FUNCTION_IDS 256

typedef struct MUSPI_RecFifoSubGroup {
	MUSPI_RecFifo_t _recfifos[BGQ_MU_NUM_REC_FIFOS_PER_SUBGROUP];
	MUHWI_RecFifoStatus_t *groupStatus;
	uint64_t subgroupid;
} __attribute__((aligned(32))) MUSPI_RecFifoSubGroup_t;

/* bytes: header and payload. */
typedef int (*MUSPI_RecvFunction_t)(void *param, MUHWI_PacketHeader_t *header, uint32_t bytes);

#ifdef __cplusplus
extern "C" {
#endif

/* The function for packets whose first software byte is `id`; one table a process. */
void MUSPI_RegisterRecvFunction(MUSPI_RecvFunction_t fn, void *param, uint32_t id);
/* The next free id, or -1. */
int32_t MUSPI_RegisterReceiveFunction(MUSPI_RecvFunction_t fn, void *param);
int32_t MUSPI_DeRegisterReceiveFunction(uint32_t id);

/* Hand up to n packets to their functions. Returns how many. With the head in the last 544 bytes of
 * a FIFO whose packets wrap, MUSPI_RecFifoPoll() does what MUSPI_RecFifoPollWrap() does. */
uint32_t MUSPI_RecFifoPoll(MUSPI_RecFifo_t *f, uint32_t n);
uint32_t MUSPI_RecFifoPollWrap(MUSPI_RecFifo_t *f, uint32_t n);
void MUSPI_RecFifoExamplePoll(MUSPI_RecFifo_t *f, MUSPI_RecvFunction_t fn, void *param);

#ifdef __cplusplus
}
#endif

static inline __attribute__((unused)) MUSPI_RecFifo_t *
MUSPI_IdToRecFifo(int id, MUSPI_RecFifoSubGroup_t *subgroup)
{
	return &subgroup->_recfifos[id];
}

/*
 * Bytes that are there, in one piece. *wrap: left alone if there are none; 1 if the head is in the
 * last 544 bytes and the packets wrap (the bytes up to the end); else 0.
 */
static inline __attribute__((unused)) uint32_t MUSPI_getAvailableBytes(MUSPI_RecFifo_t *f,
								       uint32_t *wrap)
{
	MUSPI_Fifo_t *b = &f->_fifo;
	uint64_t now = __atomic_load_n(&b->hwfifo->pa_tail, __ATOMIC_ACQUIRE);
	char *head = (char *)b->va_head, *tail = (char *)(uintptr_t)now;
	char *last = (char *)b->va_end - MUSPI_WRAP_BYTES;

	if (head == tail) {
		quintorus_mu_poll();
		now = __atomic_load_n(&b->hwfifo->pa_tail, __ATOMIC_ACQUIRE);
		tail = (char *)(uintptr_t)now;
	}
	b->va_tail = tail;
	if (head == tail)
		return 0;
	if (head < tail) {
		*wrap = 0;
		return (uint32_t)(tail - head);
	}
	if (head < last) {
		*wrap = 0;
		return (uint32_t)(last - head);
	}
	*wrap = 1;
	return (uint32_t)((char *)b->va_end - head);
}

/* Take the next packet, which does not wrap and is there. The shadow head moves. */
static inline __attribute__((unused)) MUHWI_PacketHeader_t *
MUSPI_getNextPacketOptimized(MUSPI_RecFifo_t *f, uint32_t *bytes)
{
	MUHWI_PacketHeader_t *h = (MUHWI_PacketHeader_t *)f->_fifo.va_head;
	char *next;

	*bytes = (h->NetworkHeader.pt2pt.Byte8.Size + 1u) * 32u;
	next = (char *)f->_fifo.va_head + *bytes;
	f->_fifo.va_head = next == (char *)f->_fifo.va_end ? f->_fifo.va_start : next;
	f->numProcessed++;
	return h;
}

/* The same for any packet that is there: one that wraps is copied to the bounce buffer. */
static inline __attribute__((unused)) MUHWI_PacketHeader_t *
MUSPI_getNextPacketWrap(MUSPI_RecFifo_t *f, uint32_t *bytes)
{
	char *head = (char *)f->_fifo.va_head, *start = (char *)f->_fifo.va_start;
	uint64_t to_end = (uint64_t)((char *)f->_fifo.va_end - head);
	uint32_t n = (((MUHWI_PacketHeader_t *)head)->NetworkHeader.pt2pt.Byte8.Size + 1u) * 32u;

	if (n <= to_end)
		return MUSPI_getNextPacketOptimized(f, bytes);
	memcpy(f->_wrapBuf, head, to_end);
	memcpy(f->_wrapBuf + to_end, start, n - to_end);
	f->_fifo.va_head = start + (n - to_end);
	f->numProcessed++;
	*bytes = n;
	return (MUHWI_PacketHeader_t *)f->_wrapBuf;
}

/* The next packet if there is one, else NULL. */
static inline __attribute__((unused)) MUHWI_PacketHeader_t *MUSPI_getNextPacket(MUSPI_RecFifo_t *f,
										uint32_t *bytes)
{
	if ((uint64_t)(uintptr_t)f->_fifo.va_head == MUSPI_getHwTail(&f->_fifo))
		return NULL;
	return MUSPI_getNextPacketWrap(f, bytes);
}

/* Give the room of what was taken back to the MU. */
static inline __attribute__((unused)) void MUSPI_syncRecFifoHwHead(MUSPI_RecFifo_t *f)
{
	MUSPI_setHwHead(&f->_fifo,
			(uint64_t)((char *)f->_fifo.va_head - (char *)f->_fifo.va_start));
}

/* clear: the clear register of a group. Its status register lies before it, and the store takes
 * effect at once. */
static inline __attribute__((unused)) void MUSPI_ClearInterruptsDirect(volatile uint64_t *clear,
								       uint64_t mask)
{
	__atomic_fetch_and(clear - 1, ~mask, __ATOMIC_SEQ_CST);
}
static inline __attribute__((unused)) volatile uint64_t *
MUSPI_GetClearInterruptsStatusPtr(MUSPI_RecFifoSubGroup_t *subgroup)
{
	return &subgroup->groupStatus->ClearInterruptStatus;
}
static inline __attribute__((unused)) void MUSPI_ClearInterrupts(MUSPI_RecFifoSubGroup_t *subgroup,
								 uint64_t mask)
{
	MUSPI_ClearInterruptsDirect(MUSPI_GetClearInterruptsStatusPtr(subgroup), mask);
}

#include "quintorus_spi.h"

#endif
