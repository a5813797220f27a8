/* SPDX-License-Identifier: BSD-3-Clause */
/* Places: coordinates of ranks, hardware threads. docs/hardware.md 1.3. */
#ifndef QT_SPI_INCLUDE_KERNEL_LOCATION_H
#define QT_SPI_INCLUDE_KERNEL_LOCATION_H

#include "spi/include/kernel/process.h"
#include "hwi/include/common/compiler_support.h"

typedef struct {
	uint32_t t : 6;
	uint32_t d : 6;
	uint32_t c : 6;
	uint32_t b : 6;
	uint32_t a : 6;
	uint32_t reserved : 1;
	uint32_t e : 1;
} BG_CoordinateMapping_t;

typedef struct {
	struct {
		uint8_t a, b, c, d, e, core;
	} corner, shape;
	uint8_t isSubBlock;
} BG_JobCoords_t;

#ifdef __cplusplus
extern "C" {
#endif

/* Coordinates of every rank, within the job; *n: ranks. 0, or EINVAL: the table of `bytes` is too
 * small, or an E above 1 does not fit its bit. */
uint32_t Kernel_RanksToCoords(size_t bytes, BG_CoordinateMapping_t *map, uint64_t *n);
/* 0. The job has all nodes of its torus, so its corner is the origin. */
uint32_t Kernel_JobCoords(BG_JobCoords_t *coords);
/* The mapping's letters, or the map file and *is_file 1. 0, or EINVAL: too long. */
uint32_t Kernel_GetMapping(size_t bytes, char *text, uint32_t *is_file);
uint32_t Kernel_MyTcoord(void);
/* Hardware thread 0 .. 63 of the node, its core 0 .. 15, and the thread in the core. The threads of
 * a process are numbered in the order in which they ask. */
uint32_t Kernel_ProcessorID(void);
uint32_t Kernel_ProcessorCoreID(void);
uint32_t Kernel_ProcessorThreadID(void);
uint32_t Kernel_PhysicalProcessorID(void); /* the core */
uint32_t Kernel_PhysicalHWThreadID(void);  /* the thread in the core */
uint32_t Kernel_PhysicalHWThreadIndex(void);
uint32_t Kernel_BlockThreadId(void);
/* Hardware threads of process t of the node; bit 0 is the most significant. */
uint64_t Kernel_ThreadMask(uint32_t t);

#ifdef __cplusplus
}
#endif

#endif
