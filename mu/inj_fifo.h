/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Injection FIFO, software's side, under its MUSPI names. Hot: guarded by bench/pami_rate.
 *
 *   start            head (hardware)      tail (software)      end
 *     |  . . . . . . .  D D D D D D D D D D  . . . . . . . . . . |    64-byte descriptors
 *
 * Empty: head = tail; one slot stays unused. The tail store is the doorbell (W1), read by the
 * engine (R1 in mu/engine_inject.c). The engine advances head, then counts descCount (W2).
 * A descriptor is complete, its payload reusable, when descCount >= its sequence number.
 * One producer thread at a time. Source: Blue Gene/Q InjFifo.h, Fifo.h (spec/mu.md 4.3, 11.4).
 */
#ifndef MU_INJ_FIFO_H
#define MU_INJ_FIFO_H

#include <errno.h>
#include <string.h>

#include "mu/hw_desc.h"
#include "mu/hw_regs.h"

typedef struct MUSPI_Fifo {
	uint64_t pa_start;
	void *va_start;
	uint64_t size_1;
	void *va_head;
	void *va_tail;
	void *va_end; /* one past */
	MUHWI_Fifo_t *hwfifo;
} MUSPI_Fifo_t;

typedef struct MUSPI_InjFifo {
	MUSPI_Fifo_t _fifo;
	uint64_t descCount;   /* shadow */
	uint64_t freeSpace;   /* shadow, in descriptors */
	uint64_t numInjected;
	MUHWI_InjFifo_t *hw_injfifo;
} MUSPI_InjFifo_t;

#ifndef __cplusplus
_Static_assert(sizeof(MUSPI_Fifo_t) == 56, "MUSPI_Fifo_t is 56 bytes");
_Static_assert(sizeof(MUSPI_InjFifo_t) == 88, "MUSPI_InjFifo_t is 88 bytes");
#endif

/*
 * Set up an injection FIFO on `slots` descriptors at `memory` (64-byte aligned; slots >= 2),
 * with registers `hw` and `hw_inj`. Returns 0 or -EINVAL.
 */
static inline int mu_inj_fifo_init(MUSPI_InjFifo_t *f, MUHWI_Fifo_t *hw, MUHWI_InjFifo_t *hw_inj,
                                   void *memory, uint64_t slots)
{
	uint64_t va = (uint64_t)(uintptr_t)memory;

	if (va % 64 || slots < BGQ_MU_MIN_INJFIFO_SLOTS)
		return -EINVAL;
	memset(f, 0, sizeof *f);
	f->_fifo.pa_start = va;
	f->_fifo.va_start = f->_fifo.va_head = f->_fifo.va_tail = memory;
	f->_fifo.size_1 = slots * 64 - 1;
	f->_fifo.va_end = (char *)memory + slots * 64;
	f->_fifo.hwfifo = hw;
	f->hw_injfifo = hw_inj;
	hw->pa_start = hw->pa_head = hw->pa_tail = va;
	hw->size_1 = slots * 64 - 1;
	hw_inj->descCount = 0;
	f->freeSpace = hw_inj->freeSpace = slots - 1;
	return 0;
}

/* Descriptors done so far, from the register (acquire, pairs with W2). */
static inline uint64_t MUSPI_getHwDescCount(MUSPI_InjFifo_t *f)
{
	return __atomic_load_n(&f->hw_injfifo->descCount, __ATOMIC_ACQUIRE);
}

/* True when the descriptor with this sequence number is done. */
static inline uint32_t MUSPI_CheckDescComplete(MUSPI_InjFifo_t *f, uint64_t sequence)
{
	if (f->descCount >= sequence)
		return 1;
	f->descCount = MUSPI_getHwDescCount(f);
	return f->descCount >= sequence;
}

/* The slot to fill in place; returns the sequence number it will have, or UINT64_MAX: full. */
static inline uint64_t MUSPI_InjFifoNextDesc(MUSPI_InjFifo_t *f, void **slot)
{
	if (__builtin_expect(f->freeSpace == 0, 0)) {
		uint64_t slots = (f->_fifo.size_1 + 1) / 64;

		f->descCount = MUSPI_getHwDescCount(f);
		f->freeSpace = slots - 1 - (f->numInjected - f->descCount);
		if (f->freeSpace == 0)
			return UINT64_MAX;
	}
	*slot = f->_fifo.va_tail;
	return f->numInjected + 1;
}

/* Publish the slot got last: the doorbell (W1). Returns its sequence number. */
static inline uint64_t MUSPI_InjFifoAdvanceDesc(MUSPI_InjFifo_t *f)
{
	char *tail = (char *)f->_fifo.va_tail + 64;

	if (tail == f->_fifo.va_end)
		tail = f->_fifo.va_start;
	f->_fifo.va_tail = tail;
	f->freeSpace--;
	f->numInjected++;
	__atomic_store_n(&f->_fifo.hwfifo->pa_tail, (uint64_t)(uintptr_t)tail, __ATOMIC_RELEASE);
	return f->numInjected;
}

/* Copy a descriptor (32-byte aligned) to the tail and publish it; UINT64_MAX when full. */
static inline uint64_t MUSPI_InjFifoInject(MUSPI_InjFifo_t *f, void *desc)
{
	void *slot;

	if (MUSPI_InjFifoNextDesc(f, &slot) == UINT64_MAX)
		return UINT64_MAX;
	memcpy(slot, desc, 64);
	return MUSPI_InjFifoAdvanceDesc(f);
}

#endif
