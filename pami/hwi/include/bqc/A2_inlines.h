/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What programs for the A2 processor include for its time base: a counter of 1600 ticks in a
 * microsecond, which some of them have as a constant. Needs libpami; virtual time where the job's
 * clock is virtual. Source: spec pami.md H11.
 */
#ifndef HWI_BQC_A2_INLINES_H
#define HWI_BQC_A2_INLINES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
unsigned long long PAMI_Wtimebase(void *client);
#ifdef __cplusplus
}
#endif

static __inline__ uint64_t GetTimeBase(void)
{
	return PAMI_Wtimebase((void *)0);
}

#endif
