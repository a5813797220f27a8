/* SPDX-License-Identifier: BSD-3-Clause */
/* Base address tables, software's side. docs/hardware.md 5.2. */
#ifndef QT_SPI_INCLUDE_MU_ADDRESSING_H
#define QT_SPI_INCLUDE_MU_ADDRESSING_H

#include "hwi/include/bqc/MU_Macros.h"
#include "spi/include/mu/Fifo.h"

typedef struct MUSPI_BaseAddressTableSubGroup {
	uint8_t subgrpid;
	uint8_t permissions; /* 0x80 >> e: entry e is ours */
	MUHWI_BaseAddressTable_t hw_bat;
	MUHWI_BaseAddress_t sw_bat[BGQ_MU_NUM_DATA_COUNTERS_PER_SUBGROUP];
} MUSPI_BaseAddressTableSubGroup_t;

#include "spi/include/mu/Addressing_inlines.h"

#include "quintorus_spi.h"

#endif
