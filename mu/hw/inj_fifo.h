/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Injection FIFO, the side of software, under its MUSPI names. Hot: bench/micro/pami_rate.
 *
 *   start            head (hardware)      tail (software)      end
 *     |  . . . . . . .  D D D D D D D D D D  . . . . . . . . . . |    64-byte descriptors
 *
 * Empty: head = tail; one slot stays unused. The store of the tail is the doorbell (W1); the engine
 * reads it (R1 in mu/engine/inject.c). The engine advances the head, then counts descCount (W2).
 * A descriptor is complete, and its payload may be reused, when descCount >= its sequence number.
 * One producer thread at a time. Source: Blue Gene/Q InjFifo.h, Fifo.h (docs/hardware.md 4.3).
 */
#ifndef MU_INJ_FIFO_H
#define MU_INJ_FIFO_H

#include <errno.h>
#include <string.h>

#include "drivers/base/atomic.h"
#include "mu/hw/desc.h"
#include "mu/hw/fifo.h"
#include "mu/hw/regs.h"

/*
 * Set up an injection FIFO on `slots` descriptors at `memory` (aligned to 64 bytes; slots >= 2),
 * with the registers `hw` and `hw_inj`. Returns 0 or -EINVAL.
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

/* Return the number of completed descriptors from the register (acquire, pairs with W2). */
static inline uint64_t MUSPI_getHwDescCount(MUSPI_InjFifo_t *f)
{
	return atomic_load_acquire(&f->hw_injfifo->descCount);
}

/* True if the descriptor with this sequence number is complete. */
static inline uint32_t MUSPI_CheckDescComplete(MUSPI_InjFifo_t *f, uint64_t sequence)
{
	if (f->descCount >= sequence)
		return 1;
	f->descCount = MUSPI_getHwDescCount(f);
	return f->descCount >= sequence;
}

/*
 * Return the sequence number of the next slot, which the caller fills in place; UINT64_MAX: full.
 */
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

/* Publish the slot returned last: the doorbell (W1). Returns its sequence number. */
static inline uint64_t MUSPI_InjFifoAdvanceDesc(MUSPI_InjFifo_t *f)
{
	char *tail = (char *)f->_fifo.va_tail + 64;

	if (tail == f->_fifo.va_end)
		tail = f->_fifo.va_start;
	f->_fifo.va_tail = tail;
	f->freeSpace--;
	f->numInjected++;
	atomic_store_release(&f->_fifo.hwfifo->pa_tail, (uint64_t)(uintptr_t)tail);
	return f->numInjected;
}

/* Copy a descriptor (aligned to 32 bytes) to the tail and publish it; UINT64_MAX: full. */
static inline uint64_t MUSPI_InjFifoInject(MUSPI_InjFifo_t *f, void *desc)
{
	void *slot;

	if (MUSPI_InjFifoNextDesc(f, &slot) == UINT64_MAX)
		return UINT64_MAX;
	memcpy(slot, desc, 64);
	return MUSPI_InjFifoAdvanceDesc(f);
}

#endif
