/* SPDX-License-Identifier: BSD-3-Clause */
/* Asynchronous progress (EXT_async_progress). */
#ifndef PAMI_EXT_ASYNC_H
#define PAMI_EXT_ASYNC_H

struct pami_context;

/* The context ends: take it from its commthread, and wait a moment for its suspend function. */
void pami_async_end(struct pami_context *ctx);

#endif
