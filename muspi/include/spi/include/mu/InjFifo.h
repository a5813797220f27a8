/* SPDX-License-Identifier: BSD-3-Clause */
/* Injection FIFOs, software's side. docs/hardware.md 4.3. One thread a FIFO. */
#ifndef QT_SPI_INCLUDE_MU_INJFIFO_H
#define QT_SPI_INCLUDE_MU_INJFIFO_H

#include "hwi/include/bqc/MU_Descriptor.h"
#include "spi/include/mu/Fifo.h"

typedef struct MUSPI_InjFifoSubGroup {
	MUSPI_InjFifo_t _injfifos[BGQ_MU_NUM_INJ_FIFOS_PER_SUBGROUP];
	MUHWI_InjFifoStatus_t *groupStatus;
	uint64_t subgroupid;
} MUSPI_InjFifoSubGroup_t;

static inline __attribute__((unused)) MUSPI_InjFifo_t *
MUSPI_IdToInjFifo(int id, MUSPI_InjFifoSubGroup_t *subgroup)
{
	return &subgroup->_injfifos[id];
}

/*
 * Free descriptors. From head and tail: the register follows a store to the tail only when the MU
 * has looked at it.
 */
static inline __attribute__((unused)) uint64_t quintorus_mu_free_space(MUSPI_InjFifo_t *f)
{
	MUHWI_Fifo_t *hw = f->_fifo.hwfifo;
	uint64_t head = __atomic_load_n(&hw->pa_head, __ATOMIC_ACQUIRE), tail = hw->pa_tail;
	uint64_t used = tail >= head ? tail - head : tail + hw->size_1 + 1 - head;

	return (hw->size_1 + 1 - used) / 64 - 1;
}
static inline __attribute__((unused)) uint64_t quintorus_mu_desc_count(MUSPI_InjFifo_t *f)
{
	return __atomic_load_n(&f->hw_injfifo->descCount, __ATOMIC_ACQUIRE);
}
/* Programs wait with these two, until there is room or a descriptor is done; so they poll while the
 * MU has work in the FIFO. */
static inline __attribute__((unused)) uint64_t MUSPI_getHwFreeSpace(MUSPI_InjFifo_t *f)
{
	(void)MUSPI_getHwHead(&f->_fifo);
	return quintorus_mu_free_space(f);
}
static inline __attribute__((unused)) uint64_t MUSPI_getHwDescCount(MUSPI_InjFifo_t *f)
{
	(void)MUSPI_getHwHead(&f->_fifo);
	return quintorus_mu_desc_count(f);
}
static inline __attribute__((unused)) uint64_t MUSPI_getFreeSpaceFromShadow(MUSPI_InjFifo_t *f)
{
	return f->freeSpace;
}
static inline __attribute__((unused)) uint64_t MUSPI_getDescCountFromShadow(MUSPI_InjFifo_t *f)
{
	return f->descCount;
}
static inline __attribute__((unused)) uint64_t MUSPI_getNumInjected(MUSPI_InjFifo_t *f)
{
	return f->numInjected;
}

/* 1 if the descriptor with this sequence number is done: its payload may be used again. */
static inline __attribute__((unused)) uint32_t MUSPI_CheckDescComplete(MUSPI_InjFifo_t *f,
								       uint64_t sequence)
{
	if (f->descCount >= sequence)
		return 1;
	f->descCount = quintorus_mu_desc_count(f);
	if (f->descCount >= sequence)
		return 1;
	quintorus_mu_settle();
	f->descCount = quintorus_mu_desc_count(f);
	return f->descCount >= sequence;
}

/* n slots to fill in place, without looking whether they are free. Returns the sequence number of
 * the first. */
static inline __attribute__((unused)) uint64_t
MUSPI_InjFifoNextDescMultipleNoCheck(MUSPI_InjFifo_t *f, uint32_t n, void **slots)
{
	char *at = (char *)f->_fifo.va_tail;
	uint32_t i;

	for (i = 0; i < n; i++) {
		slots[i] = at;
		at += 64;
		if (at == (char *)f->_fifo.va_end)
			at = (char *)f->_fifo.va_start;
	}
	return f->numInjected + 1;
}

/* The same; UINT64_MAX and nothing if there are not so many. */
static inline __attribute__((unused)) uint64_t
MUSPI_InjFifoNextDescMultiple(MUSPI_InjFifo_t *f, uint32_t n, void **slots)
{
	if (f->freeSpace < n) {
		f->freeSpace = quintorus_mu_free_space(f);
		if (f->freeSpace < n) {
			quintorus_mu_settle();
			f->freeSpace = quintorus_mu_free_space(f);
			if (f->freeSpace < n)
				return (uint64_t)-1;
		}
	}
	return MUSPI_InjFifoNextDescMultipleNoCheck(f, n, slots);
}

static inline __attribute__((unused)) uint64_t MUSPI_InjFifoNextDesc(MUSPI_InjFifo_t *f,
								     void **slot)
{
	return MUSPI_InjFifoNextDescMultiple(f, 1, slot);
}

/* Hand in the n slots at the tail. Returns the sequence number of the last. */
static inline __attribute__((unused)) uint64_t MUSPI_InjFifoAdvanceDescMultiple(MUSPI_InjFifo_t *f,
										uint32_t n)
{
	uint64_t size = f->_fifo.size_1 + 1;
	uint64_t at = (uint64_t)((char *)f->_fifo.va_tail - (char *)f->_fifo.va_start);

	at = (at + (uint64_t)n * 64) % size;
	f->_fifo.va_tail = (char *)f->_fifo.va_start + at;
	f->freeSpace -= n;
	f->numInjected += n;
	MUSPI_setHwTail(&f->_fifo, at);
	return f->numInjected;
}

static inline __attribute__((unused)) uint64_t MUSPI_InjFifoAdvanceDesc(MUSPI_InjFifo_t *f)
{
	return MUSPI_InjFifoAdvanceDescMultiple(f, 1);
}

/* Copy n descriptors (aligned 32) and hand them in, all or none. Returns the sequence number of the
 * last; UINT64_MAX: there is no room. */
static inline __attribute__((unused)) uint64_t MUSPI_InjFifoInjectMultiple(MUSPI_InjFifo_t *f,
									   void *descs, uint32_t n)
{
	char *at = (char *)f->_fifo.va_tail;
	uint32_t i;

	if (!n || f->freeSpace < n) {
		f->freeSpace = quintorus_mu_free_space(f);
		if (f->freeSpace < n) {
			quintorus_mu_settle();
			f->freeSpace = quintorus_mu_free_space(f);
		}
		if (!n || f->freeSpace < n)
			return (uint64_t)-1;
	}
	for (i = 0; i < n; i++) {
		memcpy(at, (char *)descs + 64 * (size_t)i, 64);
		at += 64;
		if (at == (char *)f->_fifo.va_end)
			at = (char *)f->_fifo.va_start;
	}
	return MUSPI_InjFifoAdvanceDescMultiple(f, n);
}

static inline __attribute__((unused)) uint64_t MUSPI_InjFifoInject(MUSPI_InjFifo_t *f, void *desc)
{
	return MUSPI_InjFifoInjectMultiple(f, desc, 1);
}

#include "quintorus_spi.h"

#endif
