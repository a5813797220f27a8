/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registers as programs see them: FIFO start, size, head, tail as plain memory.
 * Datasheet: Blue Gene/Q MU_Fifo.h, MU_Macros.h (docs/hardware.md 4).
 *
 * Addresses are virtual addresses of the owning process. Sizes are stored minus one.
 */
#ifndef MU_HW_REGS_H
#define MU_HW_REGS_H

#include <stdint.h>

typedef struct MUHWI_Fifo {
	volatile uint64_t pa_start;
	volatile uint64_t size_1;
	volatile uint64_t pa_head;
	volatile uint64_t pa_tail;
} MUHWI_Fifo_t;

typedef struct MUHWI_InjFifo {
	volatile uint64_t descCount; /* descriptors done since power on */
	volatile uint64_t freeSpace; /* free descriptors: (size / 64 - 1) - used */
} MUHWI_InjFifo_t;

/* Of a group: its 32 injection FIFOs (bit 31 - number), its 16 reception FIFOs (15 - number). */
typedef struct MUHWI_InjFifoStatus {
	volatile uint64_t isEnabled;
	volatile uint64_t enable;  /* ones written enable; the MU takes them and writes 0 */
	volatile uint64_t disable; /* likewise */
	volatile uint64_t priority;
	volatile uint64_t InterruptStatus;
	volatile uint64_t ClearInterruptStatus; /* ones written clear */
} MUHWI_InjFifoStatus_t;

typedef struct MUHWI_RecFifoStatus {
	volatile uint64_t Reserved[4];
	volatile uint64_t InterruptStatus;
	volatile uint64_t ClearInterruptStatus;
} MUHWI_RecFifoStatus_t;

typedef volatile uint64_t MUHWI_BaseAddress_t;

#define BGQ_MU_DESCRIPTOR_SIZE_IN_BYTES      64
#define BGQ_MU_DESCRIPTOR_SIZE_IN_POWER_OF_2 6
#define BGQ_MU_MIN_INJFIFO_SIZE_IN_BYTES     128
#define BGQ_MU_MIN_INJFIFO_SLOTS             2
#define BGQ_MU_MIN_RGETFIFO_SIZE_IN_BYTES    576
#define BGQ_MU_MIN_RECFIFO_SIZE_IN_BYTES     576

/* How many the header fields can address here (real clock); the chip had 544, 272, 544. */
#define MU_INJ_FIFOS 1024
#define MU_REC_FIFOS 512
#define MU_BAT       1024

#endif
