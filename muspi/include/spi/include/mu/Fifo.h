/* SPDX-License-Identifier: BSD-3-Clause */
/* What injection and reception FIFOs share. docs/hardware.md 4. */
#ifndef QT_SPI_INCLUDE_MU_FIFO_H
#define QT_SPI_INCLUDE_MU_FIFO_H

#include <assert.h>

#include "hwi/include/bqc/A2_inlines.h"
#include "hwi/include/bqc/MU_Macros.h"
#include "hwi/include/common/bgq_alignment.h"
#include "mu/hw/fifo.h"

#ifndef MUSPI_assert
#define MUSPI_assert(x) assert(x)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The MU of this process sees every store to a register without a call. These two make it look at
 * once: after a descriptor was handed in, and in a poll that found nothing (which may then yield
 * the processor; in virtual time it lets time pass). The third is a poll of an injection FIFO: it
 * also waits for a thread that looks at the FIFO just now, since a descriptor whose effect the
 * program has seen is done, and its slot is free.
 */
void quintorus_mu_doorbell(void);
void quintorus_mu_poll(void);
void quintorus_mu_settle(void);

#ifdef __cplusplus
}
#endif

static inline __attribute__((unused)) uint64_t MUSPI_getSize(MUSPI_Fifo_t *f)
{
	return f->size_1 + 1;
}
static inline __attribute__((unused)) uint64_t MUSPI_getStartPa(MUSPI_Fifo_t *f)
{
	return f->pa_start;
}
static inline __attribute__((unused)) void *MUSPI_getStartVa(MUSPI_Fifo_t *f)
{
	return f->va_start;
}
static inline __attribute__((unused)) void *MUSPI_getHeadVa(MUSPI_Fifo_t *f)
{
	return f->va_head;
}
static inline __attribute__((unused)) void *MUSPI_getTailVa(MUSPI_Fifo_t *f)
{
	return f->va_tail;
}
static inline __attribute__((unused)) void *MUSPI_getEndVa(MUSPI_Fifo_t *f)
{
	return f->va_end;
}
static inline __attribute__((unused)) void MUSPI_setHeadVa(MUSPI_Fifo_t *f, void *va)
{
	f->va_head = va;
}
static inline __attribute__((unused)) void MUSPI_setTailVa(MUSPI_Fifo_t *f, void *va)
{
	f->va_tail = va;
}
static inline __attribute__((unused)) uint64_t MUSPI_getHwSize(MUSPI_Fifo_t *f)
{
	return f->hwfifo->size_1 + 1;
}
static inline __attribute__((unused)) uint64_t MUSPI_getHwStart(MUSPI_Fifo_t *f)
{
	return f->hwfifo->pa_start;
}
/* Programs wait with these two: until an injection FIFO is empty, or a reception FIFO is not. */
static inline __attribute__((unused)) uint64_t MUSPI_getHwHead(MUSPI_Fifo_t *f)
{
	if (__atomic_load_n(&f->hwfifo->pa_head, __ATOMIC_ACQUIRE) != f->hwfifo->pa_tail)
		quintorus_mu_poll();
	return __atomic_load_n(&f->hwfifo->pa_head, __ATOMIC_ACQUIRE);
}
static inline __attribute__((unused)) uint64_t MUSPI_getHwTail(MUSPI_Fifo_t *f)
{
	if (__atomic_load_n(&f->hwfifo->pa_tail, __ATOMIC_ACQUIRE) == f->hwfifo->pa_head)
		quintorus_mu_poll();
	return __atomic_load_n(&f->hwfifo->pa_tail, __ATOMIC_ACQUIRE);
}
/* offset: bytes from the start of the FIFO. */
static inline __attribute__((unused)) void MUSPI_setHwHead(MUSPI_Fifo_t *f, uint64_t offset)
{
	__atomic_store_n(&f->hwfifo->pa_head, f->pa_start + offset, __ATOMIC_RELEASE);
}
static inline __attribute__((unused)) void MUSPI_setHwTail(MUSPI_Fifo_t *f, uint64_t offset)
{
	__atomic_store_n(&f->hwfifo->pa_tail, f->pa_start + offset, __ATOMIC_RELEASE);
	quintorus_mu_doorbell();
}

#endif
