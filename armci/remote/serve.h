/* SPDX-License-Identifier: BSD-3-Clause */
/* The owner's side of active messages, on context SERVE. */
#ifndef ARMCI_SERVE_H
#define ARMCI_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pami/pami.h"

struct armci_request;

/* PAMI's handler of requests. */
void armci_serve_request(pami_context_t context, void *cookie, const void *header,
			 size_t header_bytes, const void *data, size_t bytes,
			 pami_endpoint_t origin, pami_recv_t *recv);
/* Answer with a value, or with the bare fact. */
void armci_serve_answer(pami_context_t context, pami_endpoint_t origin, uint32_t kind,
			uint64_t token, uint64_t value);

/* remote/rmw.c: apply op (ARMCI_SWAP ...) to *p atomically; the old value in the low bytes. */
uint64_t armci_rmw_apply(int op, void *p, uint64_t value);
uint64_t armci_cas_apply(int op, void *p, uint64_t expected, uint64_t desired);
/*
 * Let the MU of proc carry out the RMW or CAS of r, on r->addr, and wait; the old value goes to
 * ploc. Returns false if the MUs do not have the operation. *rc: 0 or FAIL6.
 */
bool armci_rmw_by_mu(const struct armci_request *r, void *ploc, size_t bytes, int proc, int *rc);

#endif
