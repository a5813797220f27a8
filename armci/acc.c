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

#define KERNEL_ATTRIBUTES __attribute__((optimize("O3")))

#define KERNEL(name, type, unaligned)                                                                   \
	KERNEL_ATTRIBUTES static void name(char *dst, const char *src, size_t n, const void *scale)     \
	{                                                                                               \
		unaligned *restrict d = (unaligned *)dst;                                               \
		const unaligned *restrict s = (const unaligned *)src;                                   \
		type a;                                                                                 \
		size_t i;                                                                               \
                                                                                                        \
		memcpy(&a, scale, sizeof(a));                                                           \
		for (i = 0; i < n; i++)                                                                 \
			d[i] += a * s[i];                                                               \
	}
#define KERNEL_COMPLEX(name, type, unaligned)                                                           \
	KERNEL_ATTRIBUTES static void name(char *dst, const char *src, size_t n, const void *scale)     \
	{                                                                                               \
		unaligned *restrict d = (unaligned *)dst;                                               \
		const unaligned *restrict s = (const unaligned *)src;                                   \
		type a[2];                                                                              \
		size_t i;                                                                               \
                                                                                                        \
		memcpy(a, scale, sizeof(a));                                                            \
		for (i = 0; i < n; i++) {                                                               \
			type re = s[2 * i], im = s[2 * i + 1];                                          \
                                                                                                        \
			d[2 * i] += a[0] * re - a[1] * im;                                              \
			d[2 * i + 1] += a[0] * im + a[1] * re;                                          \
		}                                                                                       \
	}

/* Integer overflow wraps: unsigned arithmetic underneath. */
KERNEL_ATTRIBUTES static void add_int(char *dst, const char *src, size_t n, const void *scale)
{
	any_int *restrict d = (any_int *)dst;
	const any_int *restrict s = (const any_int *)src;
	unsigned a;
	size_t i;

	memcpy(&a, scale, sizeof(a));
	for (i = 0; i < n; i++)
		d[i] = (int)((unsigned)d[i] + a * (unsigned)s[i]);
}

KERNEL_ATTRIBUTES static void add_long(char *dst, const char *src, size_t n, const void *scale)
{
	any_long *restrict d = (any_long *)dst;
	const any_long *restrict s = (const any_long *)src;
	unsigned long a;
	size_t i;

	memcpy(&a, scale, sizeof(a));
	for (i = 0; i < n; i++)
		d[i] = (long)((unsigned long)d[i] + a * (unsigned long)s[i]);
}

KERNEL_ATTRIBUTES static void xor_long(char *dst, const char *src, size_t n, const void *scale)
{
	any_long *restrict d = (any_long *)dst;
	const any_long *restrict s = (const any_long *)src;
	size_t i;

	for (i = 0; i < n; i++)
		d[i] ^= s[i];
}

KERNEL(add_float, float, any_float)
KERNEL(add_double, double, any_double)
KERNEL_COMPLEX(add_complex, float, any_float)
KERNEL_COMPLEX(add_dcomplex, double, any_double)

static const struct {
	size_t element_bytes;
	void (*add)(char *dst, const char *src, size_t n, const void *scale);
} kernels[] = {
    [ARMCI_ACC_INT - ARMCI_ACC_OFF] = {sizeof(int), add_int},
    [ARMCI_ACC_DBL - ARMCI_ACC_OFF] = {sizeof(double), add_double},
    [ARMCI_ACC_FLT - ARMCI_ACC_OFF] = {sizeof(float), add_float},
    [ARMCI_ACC_CPL - ARMCI_ACC_OFF] = {2 * sizeof(float), add_complex},
    [ARMCI_ACC_DCP - ARMCI_ACC_OFF] = {2 * sizeof(double), add_dcomplex},
    [ARMCI_ACC_LNG - ARMCI_ACC_OFF] = {sizeof(long), add_long},
    [ARMCI_ACC_RA - ARMCI_ACC_OFF] = {sizeof(long), xor_long},
};

size_t armci_acc_element_bytes(int op)
{
	return op >= ARMCI_ACC_INT && op <= ARMCI_ACC_RA ? kernels[op - ARMCI_ACC_OFF].element_bytes : 0;
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

	kernels[k].add(dst, src, bytes / kernels[k].element_bytes, acc->scale);
}

static void stripe_lock(uint32_t *lock)
{
	unsigned spins = 0;

	while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)) {
		if (++spins % 64)
			drv_cpu_relax();
		else
			sched_yield(); /* the holder may not be running */
	}
}

static void stripe_unlock(uint32_t *lock)
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
		stripe_lock(lock);
		armci_acc_plain(acc, dst, src, part);
		stripe_unlock(lock);
		dst += part;
		va += part;
		src += part;
		bytes -= part;
	}
}
