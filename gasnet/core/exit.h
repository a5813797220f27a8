/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef GASNET_CORE_EXIT_H
#define GASNET_CORE_EXIT_H

#include "drivers/base/atomic.h"

/* Prepare gasnet_exit(): its message. */
void gexi_exit_open(void);

/* The job ends: call gexi_exit_as_asked() before each progress call. It ends this process when that
 * is due. */
extern atomic_u32 gexi_exit_asked;
/* A thread is about to destroy the client. */
extern atomic_u32 gexi_has_left;
void gexi_exit_as_asked(void);

#endif
