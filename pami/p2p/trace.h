/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages, one-sided operations and collectives of a traced job (torus run --trace), recorded in
 * mu/trace.h.
 *
 * A context of such a job has PAMI_SLOW_TRACE set, so that sends take the slow path, and a receive
 * function of its own. The slow path measures, clears the bit and calls the same function again, so
 * a message takes the way that it would take without a trace. Contexts of other jobs pay nothing.
 *
 * Both ends count the messages of each pair of endpoints. Messages of a pair arrive in order, so
 * the numbers agree without a word in the packet.
 */
#ifndef PAMI_P2P_TRACE_H
#define PAMI_P2P_TRACE_H

#include "pami/core/context.h"
#include "pami/p2p/wire.h"

struct pami_trace {
	uint32_t *sent, *received; /* [tasks * contexts] messages so far */
	uint32_t arriving;         /* number of the message whose first packet is being received */
	uint32_t operations;       /* puts, gets and atomics so far */
	bool in_collective;        /* the call below is measured */
};

/* A context begins: set it up if the job is traced. 0 or -ENOMEM. */
int pami_trace_open(struct pami_context *ctx);
void pami_trace_close(struct pami_context *ctx);

/* The functions of these names, measured. */
pami_result_t pami_trace_send_immediate(struct pami_context *ctx, pami_send_immediate_t *p);
int pami_trace_send_message(struct pami_context *ctx, const pami_send_t *p);
int pami_trace_queue_short(struct pami_context *ctx, pami_endpoint_t dest,
			   const struct pami_wire *wire, const void *a, uint32_t an, const void *b,
			   uint32_t bn);
/* pami_put(), pami_get(), PAMI_Rmw(). */
pami_result_t pami_trace_put(const char *call, struct pami_context *ctx, const pami_rma_t *rma,
			     const void *local, uint64_t remote, pami_event_function rdone_fn);
pami_result_t pami_trace_get(const char *call, struct pami_context *ctx, const pami_rma_t *rma,
			     void *local, uint64_t remote);
pami_result_t pami_trace_rmw(struct pami_context *ctx, const pami_rmw_t *p);
pami_result_t pami_trace_collective(struct pami_context *ctx, const pami_xfer_t *cmd);
void pami_trace_receive(void *arg, uint32_t source, const unsigned char *soft,
			const unsigned char *payload, uint32_t bytes, uint64_t offset);
/* All data of a message that came in several packets is stored. */
void pami_trace_finish(struct pami_context *ctx, pami_endpoint_t origin, uint32_t number,
		       uint64_t bytes);

static inline bool pami_is_traced(const struct pami_context *ctx)
{
	return PAMI_UNLIKELY(ctx->slow & PAMI_SLOW_TRACE);
}

#endif
