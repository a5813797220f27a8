/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What programs for the A2 processor include: its time base, a counter of 1600 ticks in a
 * microsecond, which some of them have as a constant; and its instructions as functions. Needs
 * libpami; virtual time where the job's clock is virtual.
 */
#ifndef HWI_BQC_A2_INLINES_H
#define HWI_BQC_A2_INLINES_H

#include <errno.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
unsigned long long PAMI_Wtimebase(void *client);
/* Sleep until what spi/include/wu/wait.h armed happens, for a millisecond at most. */
void quintorus_mu_wait(void);
#ifdef __cplusplus
}
#endif

static __inline__ __attribute__((unused)) uint64_t GetTimeBase(void)
{
	return PAMI_Wtimebase((void *)0);
}

static __inline__ __attribute__((unused)) void DelayTimeBase(uint64_t cycles)
{
	uint64_t from = GetTimeBase();

	while (GetTimeBase() - from < cycles)
		;
}
static __inline__ __attribute__((unused)) void Delay(uint64_t cycles)
{
	DelayTimeBase(cycles);
}

static __inline__ __attribute__((unused)) void ppc_msync(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}
static __inline__ __attribute__((unused)) void mbar(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}
static __inline__ __attribute__((unused)) void isync(void)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}
#define _bgq_msync ppc_msync
static __inline__ __attribute__((unused)) void ppc_wait(void)
{
	quintorus_mu_wait();
}

/* Priorities among the threads of a core are the kernel's business here. */
static __inline__ __attribute__((unused)) void ThreadPriority_Low(void) {}
static __inline__ __attribute__((unused)) void ThreadPriority_MediumLow(void) {}
static __inline__ __attribute__((unused)) void ThreadPriority_Medium(void) {}

static __inline__ __attribute__((unused)) uint64_t popcnt64(uint64_t v)
{
	return (uint64_t)__builtin_popcountll(v);
}
static __inline__ __attribute__((unused)) uint64_t Fetch_and_Add(uint64_t *p, uint64_t v)
{
	return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);
}
/* 1: stored. 0: *old becomes what is there. */
static __inline__ __attribute__((unused)) int Compare_and_Swap(uint64_t *p, uint64_t *old,
							       uint64_t v)
{
	return __atomic_compare_exchange_n(p, old, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
static __inline__ __attribute__((unused)) int Compare_and_Swap32(volatile uint32_t *p,
								 uint32_t *old, uint32_t v)
{
	return __atomic_compare_exchange_n(p, old, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* A reservation: the store succeeds if the word still holds what this thread loaded last. */
static __inline__ __attribute__((unused)) uint64_t *qt_reserved(void)
{
	static __thread uint64_t value;

	return &value;
}
static __inline__ __attribute__((unused)) uint64_t LoadReserved(volatile uint64_t *p)
{
	return *qt_reserved() = __atomic_load_n(p, __ATOMIC_SEQ_CST);
}
static __inline__ __attribute__((unused)) int StoreConditional(volatile uint64_t *p, uint64_t v)
{
	uint64_t was = *qt_reserved();

	return __atomic_compare_exchange_n(p, &was, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

#endif
