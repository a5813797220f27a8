/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiving a packet. */
#ifndef PAMI_P2P_RECEIVE_H
#define PAMI_P2P_RECEIVE_H

#include <stdint.h>

#include "pami/pami.h"

struct pami_context;
struct pami_wire;

/* The MU's receive function (mu_receive_fn) of a context, which is `arg`. */
void pami_receive(void *arg, uint32_t source, const unsigned char *soft,
		  const unsigned char *payload, uint32_t bytes, uint64_t offset);
/* Drop a malformed packet: count it, and log the first one of the context. what: why. */
void pami_receive_refuse(struct pami_context *ctx, uint32_t source, const char *what);
/* Do the messaging units carry out this atomic operation? */
int pami_rmw_is_by_mu(pami_atomic_t operation, pami_type_t type, uint64_t value);
pami_result_t pami_rmw_count(pami_context_t context, pami_rmw_t *p, uint64_t *count);
/* Execute an atomic operation that another task asked for: p2p/rmw.c. */
void pami_rmw_receive(struct pami_context *ctx, pami_endpoint_t origin,
		      const struct pami_wire *wire, const unsigned char *payload, uint32_t bytes);

#endif
