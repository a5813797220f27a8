/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef GASNET_CORE_SEGMENT_H
#define GASNET_CORE_SEGMENT_H

#include <stddef.h>

/* The largest segment where no setting says: bytes, from the memory of the machine. */
size_t gexi_segment_max_default(void);

#endif
