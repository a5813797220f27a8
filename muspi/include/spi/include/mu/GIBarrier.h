/* SPDX-License-Identifier: BSD-3-Clause */
/* Barriers over global interrupts. docs/hardware.md 8.6. */
#ifndef QT_SPI_INCLUDE_MU_GIBARRIER_H
#define QT_SPI_INCLUDE_MU_GIBARRIER_H

#include "spi/include/kernel/gi.h"
#include "spi/include/mu/Fifo.h"

#define MUSPI_GIBARRIER_INITIAL_STATE 4

typedef struct MUSPI_GIBarrier {
	uint64_t classRouteId;
	volatile uint64_t *controlRegPtr;
	volatile uint64_t *statusRegPtr;
	uint64_t state; /* 4, 2, 1 in turn */
} __attribute__((aligned(32))) MUSPI_GIBarrier_t;

typedef int32_t (*MUSPI_GIBarrierInitMUBarrierFunction_t)(void *);

#ifdef __cplusplus
extern "C" {
#endif

/* A route that this program made, in three steps with a barrier by other means after each:
 * InitMU1, InitMU2, and MUSPI_GIBarrierInit(). InitMU does the first two. 0, or -1: time-out. */
int32_t MUSPI_GIBarrierInitMU1(uint32_t route);
int32_t MUSPI_GIBarrierInitMU2(uint32_t route, uint64_t cycles);
int32_t MUSPI_GIBarrierInitMU(uint32_t route, MUSPI_GIBarrierInitMUBarrierFunction_t barrier,
			      void *param, uint64_t cycles);
/* 0, or EINVAL. The state goes on from what the control register holds. */
int32_t MUSPI_GIBarrierInit(MUSPI_GIBarrier_t *b, uint32_t route);
int32_t MUSPI_GIBarrierEnter(MUSPI_GIBarrier_t *b);
/* 0: all have entered; -1: not yet (with a time-out: not in so many cycles). */
int32_t MUSPI_GIBarrierPoll(MUSPI_GIBarrier_t *b);
int32_t MUSPI_GIBarrierPollWithTimeout(MUSPI_GIBarrier_t *b, uint64_t cycles);
int32_t MUSPI_GIBarrierEnterAndWait(MUSPI_GIBarrier_t *b);
int32_t MUSPI_GIBarrierEnterAndWaitWithTimeout(MUSPI_GIBarrier_t *b, uint64_t cycles);

#ifdef __cplusplus
}
#endif

#include "quintorus_spi.h"

#endif
