/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FIFOs as software keeps them: a shadow of the registers. Source: Blue Gene/Q Fifo.h, InjFifo.h,
 * RecFifo.h (docs/hardware.md 4). Installed: what programs include is in muspi/include.
 */
#ifndef MU_HW_FIFO_H
#define MU_HW_FIFO_H

#include "mu/hw/regs.h"

#define MUSPI_WRAP_BYTES 544u /* the largest packet */

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
	uint64_t descCount; /* shadow */
	uint64_t freeSpace; /* shadow, in descriptors */
	uint64_t numInjected;
	MUHWI_InjFifo_t *hw_injfifo;
} MUSPI_InjFifo_t;

typedef struct MUSPI_RecFifo {
	MUSPI_Fifo_t _fifo;
	uint64_t numProcessed;
	unsigned char _wrapBuf[MUSPI_WRAP_BYTES] __attribute__((aligned(32)));
} __attribute__((aligned(32))) MUSPI_RecFifo_t;

#ifndef __cplusplus
_Static_assert(sizeof(MUSPI_Fifo_t) == 56, "MUSPI_Fifo_t is 56 bytes");
_Static_assert(sizeof(MUSPI_InjFifo_t) == 88, "MUSPI_InjFifo_t is 88 bytes");
_Static_assert(sizeof(MUSPI_RecFifo_t) == 608, "MUSPI_RecFifo_t is 608 bytes");
#endif

#endif
