/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arithmetic of accumulate: dst += scale * src, one vectorised loop for each type, at any
 * alignment. Unaligned vector loads cost nothing where the data happen to be aligned.
 *
 * Locks at the owner make it atomic against other accumulates: one for each ARMCI_STRIPE_BYTES of
 * address, taken block by block. So a process that maps the memory can add by itself, and a long
 * accumulate does not shut others out.
 */
#include <sched.h>
#include <string.h>

#include "armci/core/api.h"
#include "armci/core/env.h"
#include "armci/core/limits.h"
#include "armci/transfer/acc.h"
#include "drivers/base/assert.h"
#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"

typedef int any_int __attribute__((aligned(1), may_alias));
typedef long any_long __attribute__((aligned(1), may_alias));
typedef float any_float __attribute__((aligned(1), may_alias));
typedef double any_double __attribute__((aligned(1), may_alias));

typedef void (*armci_add_fn)(char *dst, const char *src, size_t n, const void *scale);

#define NAME(x)           x##_plain
#define KERNEL_ATTRIBUTES __attribute__((optimize("O3")))
#include "armci/transfer/acc_kernels.h"

#if defined(__x86_64__)
#define NAME(x)           x##_avx2
#define KERNEL_ATTRIBUTES __attribute__((optimize("O3"), target("avx2,fma")))
#include "armci/transfer/acc_kernels.h"

#define NAME(x) x##_avx512
#define KERNEL_ATTRIBUTES                                                                          \
	__attribute__((optimize("O3"), target("avx512f,avx512dq,fma,prefer-vector-width=512")))
#include "armci/transfer/acc_kernels.h"
#endif

static const size_t element_bytes[] = {
    [ARMCI_ACC_INT - ARMCI_ACC_OFF] = sizeof(int),
    [ARMCI_ACC_DBL - ARMCI_ACC_OFF] = sizeof(double),
    [ARMCI_ACC_FLT - ARMCI_ACC_OFF] = sizeof(float),
    [ARMCI_ACC_CPL - ARMCI_ACC_OFF] = 2 * sizeof(float),
    [ARMCI_ACC_DCP - ARMCI_ACC_OFF] = 2 * sizeof(double),
    [ARMCI_ACC_LNG - ARMCI_ACC_OFF] = sizeof(long),
    [ARMCI_ACC_RA - ARMCI_ACC_OFF] = sizeof(long),
};

static const armci_add_fn *kernels = kernels_plain;

bool armci_acc_choose(int simd)
{
#if defined(__x86_64__)
	bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
	bool avx512 =
	    avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");

	kernels = kernels_plain;
	if (avx512 && (simd == ARMCI_SIMD_AUTO || simd == ARMCI_SIMD_AVX512))
		kernels = kernels_avx512;
	else if (avx2 && (simd == ARMCI_SIMD_AUTO || simd == ARMCI_SIMD_AVX2))
		kernels = kernels_avx2;
	return simd == ARMCI_SIMD_AUTO || simd == ARMCI_SIMD_PLAIN || kernels != kernels_plain;
#else
	return simd == ARMCI_SIMD_AUTO || simd == ARMCI_SIMD_PLAIN;
#endif
}

const char *armci_acc_name(void)
{
#if defined(__x86_64__)
	if (kernels == kernels_avx512)
		return "avx512";
	if (kernels == kernels_avx2)
		return "avx2";
#endif
	return "plain";
}

size_t armci_acc_element_bytes(int op)
{
	return op >= ARMCI_ACC_INT && op <= ARMCI_ACC_RA ? element_bytes[op - ARMCI_ACC_OFF] : 0;
}

bool armci_acc_set(struct armci_acc *acc, int op, const void *scale)
{
	size_t bytes = armci_acc_element_bytes(op);

	if (!bytes || (!scale && op != ARMCI_ACC_RA))
		return false;
	memset(acc, 0, sizeof(*acc));
	acc->op = op;
	if (op != ARMCI_ACC_RA)
		memcpy(acc->scale, scale, bytes);
	return true;
}

void armci_acc_plain(const struct armci_acc *acc, char *dst, const char *src, size_t bytes)
{
	int k = acc->op - ARMCI_ACC_OFF;

	kernels[k](dst, src, bytes / element_bytes[k], acc->scale);
}

/* A lock holds the process of its holder plus 1, whichever of its threads took it. */
static uint32_t lock_name = 1;
static bool (*is_holder_dead)(int proc);

void armci_spin_set_holder(int me, bool (*gone)(int proc))
{
	lock_name = (uint32_t)me + 1;
	is_holder_dead = gone;
}

void armci_spin_lock(atomic_u32 *lock)
{
	unsigned spins = 0;
	uint32_t holder = 0;

	while (!atomic_cas_acquire(lock, &holder, lock_name)) {
		if (++spins % 64) {
			drv_cpu_relax();
			holder = 0;
			continue;
		}
		sched_yield(); /* The holder may be preempted, */
		/* or dead; the lock of a dead holder is taken over. */
		if (!holder || holder == lock_name || !is_holder_dead ||
		    !is_holder_dead((int)holder - 1))
			holder = 0;
	}
}

void armci_spin_unlock(atomic_u32 *lock)
{
	atomic_store_release(lock, 0);
}

void armci_acc_locked(const struct armci_acc *acc, atomic_u32 *stripes, char *dst, uintptr_t va,
		      const char *src, size_t bytes)
{
	size_t element = armci_acc_element_bytes(acc->op);
	DRV_ASSERT(element);

	while (bytes) {
		/* Elements that begin in this block; the last one may reach into the next block. */
		size_t room = ARMCI_STRIPE_BYTES - va % ARMCI_STRIPE_BYTES;
		size_t part = (room + element - 1) / element * element;
		atomic_u32 *lock = &stripes[va / ARMCI_STRIPE_BYTES % ARMCI_STRIPES * 16];

		part = part < bytes ? part : bytes;
		armci_spin_lock(lock);
		armci_acc_plain(acc, dst, src, part);
		armci_spin_unlock(lock);
		dst += part;
		va += part;
		src += part;
		bytes -= part;
	}
}
