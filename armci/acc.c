/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arithmetic of accumulate: dst += scale * src, one kernel a type, at any alignment (vectorised;
 * unaligned vector loads cost nothing where the data are aligned after all).
 *
 * Atomic against other accumulates by locks at the owner, one per ARMCI_STRIPE_BYTES of address, taken
 * block by block: whoever can map the memory adds by itself, and long accumulates do not shut others
 * out.
 */
#include <sched.h>
#include <string.h>

#include "armci/state.h"
#include "drivers/base/clock.h"

typedef int any_int __attribute__((aligned(1), may_alias));
typedef long any_long __attribute__((aligned(1), may_alias));
typedef float any_float __attribute__((aligned(1), may_alias));
typedef double any_double __attribute__((aligned(1), may_alias));

typedef void (*armci_add_fn)(char *dst, const char *src, size_t n, const void *scale);

#define NAME(x)           x##_plain
#define KERNEL_ATTRIBUTES __attribute__((optimize("O3")))
#include "armci/acc_kernels.h"

#if defined(__x86_64__)
#define NAME(x)           x##_avx2
#define KERNEL_ATTRIBUTES __attribute__((optimize("O3"), target("avx2,fma")))
#include "armci/acc_kernels.h"

#define NAME(x) x##_avx512
#define KERNEL_ATTRIBUTES                                                                               \
	__attribute__((optimize("O3"), target("avx512f,avx512dq,fma,prefer-vector-width=512")))
#include "armci/acc_kernels.h"
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
	bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");

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

const char *armci_acc_chosen(void)
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

/* In a lock: its holder's process, + 1; any of its threads. */
static uint32_t my_name = 1;
static bool (*holder_gone)(int proc);

void armci_acc_holders(int me, bool (*gone)(int proc))
{
	my_name = (uint32_t)me + 1;
	holder_gone = gone;
}

void armci_spin_lock(uint32_t *lock)
{
	unsigned spins = 0;
	uint32_t holder = 0;

	while (!__atomic_compare_exchange_n(lock, &holder, my_name, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		if (++spins % 64) {
			drv_cpu_relax();
			holder = 0;
			continue;
		}
		sched_yield(); /* the holder may not be running, */
		/* or not be any more; then the lock is taken from it. */
		if (!holder || holder == my_name || !holder_gone || !holder_gone((int)holder - 1))
			holder = 0;
	}
}

void armci_spin_unlock(uint32_t *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

void armci_acc_locked(const struct armci_acc *acc, uint32_t *stripes, char *dst, uintptr_t va,
		      const char *src, size_t bytes)
{
	size_t element = armci_acc_element_bytes(acc->op);

	while (bytes) {
		/* Elements that begin in this block; the last may reach into the next. */
		size_t room = ARMCI_STRIPE_BYTES - va % ARMCI_STRIPE_BYTES;
		size_t part = (room + element - 1) / element * element;
		uint32_t *lock = &stripes[va / ARMCI_STRIPE_BYTES % ARMCI_STRIPES * 16];

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
