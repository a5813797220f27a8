/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Start an operation of the messaging unit, or queue it where the injection FIFO is full or earlier
 * operations are queued. They return 0 or a negative errno (-ENOMEM, or the MU's), never -EAGAIN.
 */
#ifndef PAMI_P2P_QUEUE_H
#define PAMI_P2P_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "mu/mu.h"
#include "pami/p2p/wire.h"
#include "pami/pami.h"

struct pami_context;

/* As mu_send_short(): the payload is a, then b at the next multiple of 8; both are copied. */
int pami_queue_short(struct pami_context *ctx, pami_endpoint_t dest, const struct pami_wire *wire,
		     const void *a, uint32_t an, const void *b, uint32_t bn);
/* As mu_send(), mu_put(), mu_get(), mu_pull(), mu_flush() and mu_send_atomic(). */
int pami_queue_send(struct pami_context *ctx, pami_endpoint_t dest, const struct pami_wire *wire,
		    const void *payload, size_t bytes, struct mu_op *op);
int pami_queue_put(struct pami_context *ctx, pami_endpoint_t dest, const void *local,
		   uint64_t remote, size_t bytes, struct mu_op *local_op, struct mu_op *remote_op);
int pami_queue_get(struct pami_context *ctx, pami_endpoint_t dest, void *local, uint64_t remote,
		   size_t bytes, struct mu_op *op);
int pami_queue_pull(struct pami_context *ctx, pami_endpoint_t dest, void *local, uint64_t remote,
		    size_t bytes, struct mu_op *op);
int pami_queue_flush(struct pami_context *ctx, pami_endpoint_t dest, struct mu_op *op);
struct mu_atomic;
int pami_queue_atomic(struct pami_context *ctx, pami_endpoint_t dest,
		      const struct mu_atomic *atomic, struct mu_op *op);

/* Reserve memory so that the next EAGER_DATA can be queued without fail. 0, or -ENOMEM. */
int pami_queue_reserve(struct pami_context *ctx);
/*
 * Hand queued operations to the MU, as many as it takes. 0: the queue is empty; -EAGAIN: the FIFO
 * is full. An operation that fails ends with its callbacks in a progress call; elsewhere it stays
 * first in the queue and its error is returned.
 */
int pami_queue_drain(struct pami_context *ctx);
/* The target of the first queued operation; there is one. */
uint32_t pami_queue_first_task(const struct pami_context *ctx);
/* Push the network until at most pami_limits.queue_max bytes are queued; dispatches nothing. Does
 * nothing inside a progress call. */
void pami_queue_throttle(struct pami_context *ctx);
/* The context ends: drop what is queued. */
void pami_queue_free_all(struct pami_context *ctx);

#endif
