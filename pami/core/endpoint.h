/* SPDX-License-Identifier: BSD-3-Clause */
/* An endpoint is a 32-bit number: task << 6 | context offset. */
#ifndef PAMI_CORE_ENDPOINT_H
#define PAMI_CORE_ENDPOINT_H

#include <stdint.h>

#include "pami/pami.h"

static inline pami_endpoint_t pami_endpoint(uint32_t task, uint32_t offset)
{
	return task << 6 | offset;
}

static inline uint32_t pami_endpoint_task(pami_endpoint_t e)
{
	return e >> 6;
}

static inline uint32_t pami_endpoint_offset(pami_endpoint_t e)
{
	return e & 63;
}

#endif
