/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers: DONE messages to the task that sent us a token. */
#ifndef PAMI_P2P_ANSWER_H
#define PAMI_P2P_ANSWER_H

#include <stdint.h>

#include "pami/pami.h"

struct pami_context;

/* Send DONE with the result (0 or a negative errno) and, for an atomic operation, a payload.
 * 0, -ENOMEM, or the MU's error. */
int pami_answer_try(struct pami_context *ctx, pami_endpoint_t dest, uint32_t token, int result,
		    const void *payload, uint32_t bytes);
/* The same. Without memory, later progress calls send it; they receive nothing before they did.
 * bytes: up to 8. */
void pami_answer_send(struct pami_context *ctx, pami_endpoint_t dest, uint32_t token, int result,
		      const void *payload, uint32_t bytes);
/* Send the answers that found no memory. 0: all are sent; -EAGAIN: some are not. */
int pami_answers_flush(struct pami_context *ctx);

#endif
