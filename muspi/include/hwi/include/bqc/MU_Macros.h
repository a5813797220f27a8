/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of FIFOs, and where registers lie. docs/hardware.md 4.1, 4.2. */
#ifndef QT_HWI_INCLUDE_BQC_MU_MACROS_H
#define QT_HWI_INCLUDE_BQC_MU_MACROS_H

#include "hwi/include/bqc/MU_Addressing.h"
#include "hwi/include/bqc/MU_Fifo.h"

#define BGQ_MU_GROUP_SIZE                     0x10000
#define BGQ_MU_SUBGROUP_SIZE                  0x1000
#define BGQ_MU_NUM_FIFO_GROUPS                17
#define BGQ_MU_NUM_FIFO_SUBGROUPS             4 /* of a group */
#define BGQ_MU_NUM_FIFO_SUBGROUPS_PER_NODE    68
#define BGQ_MU_NUM_INJ_FIFO_GROUPS            17
#define BGQ_MU_NUM_INJ_FIFO_SUBGROUPS         4
#define BGQ_MU_NUM_INJ_FIFOS_PER_GROUP        32
#define BGQ_MU_NUM_INJ_FIFOS_PER_SUBGROUP     8
#define BGQ_MU_NUM_INJ_FIFOS                  544
#define BGQ_MU_NUM_REC_FIFO_GROUPS            17
#define BGQ_MU_NUM_REC_FIFO_SUBGROUPS         4
#define BGQ_MU_NUM_REC_FIFOS_PER_GROUP        16
#define BGQ_MU_NUM_REC_FIFOS_PER_SUBGROUP     4
#define BGQ_MU_NUM_REC_FIFOS                  272
#define BGQ_MU_NUM_DATA_COUNTERS_PER_GROUP    32
#define BGQ_MU_NUM_DATA_COUNTERS_PER_SUBGROUP 8
#define BGQ_MU_NUM_GI_CLASSES                 16

/*
 * Programs add these two to reach a register that drains the store path. Nothing is mapped at a
 * fixed address here: they name a page of the library that nothing reads.
 */
#ifdef __cplusplus
extern "C"
#else
extern
#endif
    volatile unsigned char quintorus_mu_harmless_page[4096];
#define PHYMAP_PRIVILEGEDOFFSET 0
#define BGQ_MU_STATUS_CONTROL_REGS_START_OFFSET(group, subgroup)                                   \
	((void)(group), (void)(subgroup), (uintptr_t)quintorus_mu_harmless_page)

#endif
