/* SPDX-License-Identifier: BSD-3-Clause */
/* Message buffers. Any thread may get and put. */
#ifndef ARMCI_POOL_H
#define ARMCI_POOL_H

#include <stddef.h>

/* A buffer of at least `bytes` bytes. Ends the job where there is no memory. */
void *armci_pool_get(size_t bytes);
/* Give a buffer back; NULL is allowed. */
void armci_pool_put(void *buffer);
/* Free the buffers that the pool keeps. The PAMI client still exists. */
void armci_pool_release(void);
/* Empty the pool after the client is gone, which took the buffers' memory with it. */
void armci_pool_reset(void);

#endif
