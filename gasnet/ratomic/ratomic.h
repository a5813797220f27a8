/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef GASNET_RATOMIC_RATOMIC_H
#define GASNET_RATOMIC_RATOMIC_H

/* Register the messages of remote atomics. */
void gexi_ratomic_open(void);

#endif
