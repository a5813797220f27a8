/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses that puts and counters name. docs/hardware.md 5. */
#ifndef QT_SPI_INCLUDE_MU_ADDRESSING_INLINES_H
#define QT_SPI_INCLUDE_MU_ADDRESSING_INLINES_H

#include "spi/include/mu/Addressing.h"

/* 0; EINVAL: there is no such entry; EPERM: it is not ours. */
static inline __attribute__((unused)) int32_t
MUSPI_SetBaseAddress(MUSPI_BaseAddressTableSubGroup_t *bat, uint8_t entry, uint64_t address)
{
	if (entry >= BGQ_MU_NUM_DATA_COUNTERS_PER_SUBGROUP)
		return EINVAL;
	if (!(bat->permissions & (0x80 >> entry)))
		return EPERM;
	bat->sw_bat[entry] = address;
	__atomic_store_n(&bat->hw_bat[entry], address, __ATOMIC_RELEASE);
	return 0;
}

static inline __attribute__((unused)) uint64_t
MUSPI_GetBaseAddress(MUSPI_BaseAddressTableSubGroup_t *bat, uint8_t entry)
{
	return bat->sw_bat[entry];
}

static inline __attribute__((unused)) uint64_t
MUSPI_GetOffsetFromBaseAddress(MUSPI_BaseAddressTableSubGroup_t *bat, uint8_t entry, uint64_t pa)
{
	return pa - bat->sw_bat[entry];
}

static inline __attribute__((unused)) uint64_t MUSPI_GetAtomicAddress(uint64_t pa, uint64_t op)
{
	return pa | MUHWI_ATOMIC_ADDRESS_INDICATOR | op;
}

/* The offset that, added to the entry, is the atomic address of pa (8-byte aligned). An atomic
 * entry keeps its own operation. */
static inline __attribute__((unused)) uint64_t
MUSPI_GetAtomicOffsetFromBaseAddress(MUSPI_BaseAddressTableSubGroup_t *bat, uint8_t entry,
				     uint64_t pa, uint64_t op)
{
	uint64_t base = bat->sw_bat[entry];
	uint64_t offset = pa - (base & ~(MUHWI_ATOMIC_ADDRESS_INDICATOR | 7ull));

	if (!(base & MUHWI_ATOMIC_ADDRESS_INDICATOR))
		offset |= MUHWI_ATOMIC_ADDRESS_INDICATOR;
	if (!(base & 7))
		offset |= op;
	return offset;
}

#endif
