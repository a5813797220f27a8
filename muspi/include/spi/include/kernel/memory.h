/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of the process, as the MU names it: addresses are virtual (docs/hardware.md 5.1). */
#ifndef QT_SPI_INCLUDE_KERNEL_MEMORY_H
#define QT_SPI_INCLUDE_KERNEL_MEMORY_H

#include <stddef.h>

#include "hwi/include/common/compiler_support.h"

typedef struct Kernel_MemoryRegion {
	size_t Bytes;
	void *BaseVa;
	void *BasePa;
} __attribute__((packed)) Kernel_MemoryRegion_t;

enum KERNEL_MEMSIZETYPE {
	KERNEL_MEMSIZE_SHARED = 200,
	KERNEL_MEMSIZE_PERSIST,
	KERNEL_MEMSIZE_HEAPAVAIL,
	KERNEL_MEMSIZE_ESTHEAPAVAIL,
	KERNEL_MEMSIZE_STACKAVAIL,
	KERNEL_MEMSIZE_ESTSTACKAVAIL,
	KERNEL_MEMSIZE_STACK,
	KERNEL_MEMSIZE_ESTSTACK,
	KERNEL_MEMSIZE_HEAP,
	KERNEL_MEMSIZE_GUARD,
	KERNEL_MEMSIZE_HEAPMAX,
	KERNEL_MEMSIZE_MMAP
};

#ifdef __cplusplus
extern "C" {
#endif

/* 0, or 2: nothing, or across the end of memory. */
uint32_t Kernel_CreateMemoryRegion(Kernel_MemoryRegion_t *region, void *va, size_t bytes);
uint32_t Kernel_DestroyMemoryRegion(Kernel_MemoryRegion_t *region);
uint32_t Kernel_QueryMemoryRegion(Kernel_MemoryRegion_t *region, void **va, size_t *bytes);
uint32_t Kernel_CreateGlobalMemoryRegion(const Kernel_MemoryRegion_t *region,
					 Kernel_MemoryRegion_t *global);
/* 0. They know the caller's own memory only. */
uint32_t Kernel_Physical2Virtual(void *pa, void **va);
uint32_t Kernel_Physical2GlobalVirtual(void *pa, void **va);
/* 0: any memory can be used with L2 atomics. */
uint64_t Kernel_L2AtomicsAllocate(void *va, size_t bytes);
uint64_t Kernel_L2AtomicsBaseAddress(void);
/* 0, or EINVAL. */
int Kernel_GetMemorySize(enum KERNEL_MEMSIZETYPE type, uint64_t *bytes);

#ifdef __cplusplus
}
#endif

#endif
