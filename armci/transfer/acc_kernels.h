/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loops of accumulate. transfer/acc.c includes this file once for each instruction set, with
 * NAME and KERNEL_ATTRIBUTES defined. It has no include guard for that reason.
 */
#define KERNEL(name, type, unaligned)                                                              \
	KERNEL_ATTRIBUTES static void name(char *dst, const char *src, size_t n,                   \
					   const void *scale)                                      \
	{                                                                                          \
		unaligned *restrict d = (unaligned *)dst;                                          \
		const unaligned *restrict s = (const unaligned *)src;                              \
		type a;                                                                            \
		size_t i;                                                                          \
                                                                                                   \
		memcpy(&a, scale, sizeof(a));                                                      \
		for (i = 0; i < n; i++)                                                            \
			d[i] += a * s[i];                                                          \
	}
#define KERNEL_COMPLEX(name, type, unaligned)                                                      \
	KERNEL_ATTRIBUTES static void name(char *dst, const char *src, size_t n,                   \
					   const void *scale)                                      \
	{                                                                                          \
		unaligned *restrict d = (unaligned *)dst;                                          \
		const unaligned *restrict s = (const unaligned *)src;                              \
		type a[2];                                                                         \
		size_t i;                                                                          \
                                                                                                   \
		memcpy(a, scale, sizeof(a));                                                       \
		for (i = 0; i < n; i++) {                                                          \
			type re = s[2 * i], im = s[2 * i + 1];                                     \
                                                                                                   \
			d[2 * i] += a[0] * re - a[1] * im;                                         \
			d[2 * i + 1] += a[0] * im + a[1] * re;                                     \
		}                                                                                  \
	}

/* Integer overflow wraps, so the arithmetic is unsigned. */
KERNEL_ATTRIBUTES static void NAME(add_int)(char *dst, const char *src, size_t n, const void *scale)
{
	any_int *restrict d = (any_int *)dst;
	const any_int *restrict s = (const any_int *)src;
	unsigned a;
	size_t i;

	memcpy(&a, scale, sizeof(a));
	for (i = 0; i < n; i++)
		d[i] = (int)((unsigned)d[i] + a * (unsigned)s[i]);
}

KERNEL_ATTRIBUTES static void NAME(add_long)(char *dst, const char *src, size_t n,
					     const void *scale)
{
	any_long *restrict d = (any_long *)dst;
	const any_long *restrict s = (const any_long *)src;
	unsigned long a;
	size_t i;

	memcpy(&a, scale, sizeof(a));
	for (i = 0; i < n; i++)
		d[i] = (long)((unsigned long)d[i] + a * (unsigned long)s[i]);
}

KERNEL_ATTRIBUTES static void NAME(xor_long)(char *dst, const char *src, size_t n,
					     const void *scale)
{
	any_long *restrict d = (any_long *)dst;
	const any_long *restrict s = (const any_long *)src;
	size_t i;

	for (i = 0; i < n; i++)
		d[i] ^= s[i];
}

KERNEL(NAME(add_float), float, any_float)
KERNEL(NAME(add_double), double, any_double)
KERNEL_COMPLEX(NAME(add_complex), float, any_float)
KERNEL_COMPLEX(NAME(add_dcomplex), double, any_double)

static const armci_add_fn NAME(kernels)[] = {
    [ARMCI_ACC_INT - ARMCI_ACC_OFF] = NAME(add_int),
    [ARMCI_ACC_DBL - ARMCI_ACC_OFF] = NAME(add_double),
    [ARMCI_ACC_FLT - ARMCI_ACC_OFF] = NAME(add_float),
    [ARMCI_ACC_CPL - ARMCI_ACC_OFF] = NAME(add_complex),
    [ARMCI_ACC_DCP - ARMCI_ACC_OFF] = NAME(add_dcomplex),
    [ARMCI_ACC_LNG - ARMCI_ACC_OFF] = NAME(add_long),
    [ARMCI_ACC_RA - ARMCI_ACC_OFF] = NAME(xor_long),
};
#undef KERNEL
#undef KERNEL_COMPLEX
#undef NAME
#undef KERNEL_ATTRIBUTES
