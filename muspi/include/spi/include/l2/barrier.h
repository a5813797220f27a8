/* SPDX-License-Identifier: BSD-3-Clause */
/* A barrier of threads over L2 atomics. */
#ifndef QT_SPI_INCLUDE_L2_BARRIER_H
#define QT_SPI_INCLUDE_L2_BARRIER_H

#include "hwi/include/common/bgq_alignment.h"
#include "spi/include/l2/atomic.h"
#include "spi/include/mu/Fifo.h"

typedef struct {
	volatile uint64_t start __attribute__((aligned(64)));
	volatile uint64_t count __attribute__((aligned(64)));
} __attribute__((aligned(64))) L2_Barrier_t;

#define L2_BARRIER_INITIALIZER                                                                     \
	{                                                                                          \
		0, 0                                                                               \
	}

/* n threads wait for each other. Returns the place at which this one came, 0 .. n - 1. */
static inline __attribute__((unused)) int L2_BarrierWithTicket(L2_Barrier_t *b, int n)
{
	uint64_t goal = L2_AtomicLoad(&b->start) + (uint64_t)n;
	uint64_t place = L2_AtomicLoadIncrement(&b->count), start = goal - (uint64_t)n;

	if (place + 1 == goal) {
		L2_AtomicStore(&b->start, goal);
	} else {
		while (L2_AtomicLoad(&b->start) < goal)
			quintorus_mu_poll();
	}
	return (int)(place - start);
}
static inline __attribute__((unused)) void L2_Barrier(L2_Barrier_t *b, int n)
{
	(void)L2_BarrierWithTicket(b, n);
}

#endif
