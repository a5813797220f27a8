/* SPDX-License-Identifier: BSD-3-Clause */
/* The process and its job. */
#ifndef QT_SPI_INCLUDE_KERNEL_PROCESS_H
#define QT_SPI_INCLUDE_KERNEL_PROCESS_H

#include <stddef.h>

#include "firmware/include/personality.h"

#ifdef __cplusplus
extern "C" {
#endif

/* 0, or EINVAL: more bytes than a personality has. */
int Kernel_GetPersonality(Personality_t *p, size_t bytes);
uint32_t Kernel_ProcessCount(void);   /* processes of a node */
uint32_t Kernel_ProcessorCount(void); /* hardware threads of this process */
uint32_t Kernel_GetRank(void);
int Kernel_GetJobID(void);

#ifdef __cplusplus
}
#endif
#include "spi/include/kernel/location.h"

#endif
