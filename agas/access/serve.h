/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank carries out, forwards, parks or refuses the requests that reach it. Under the library's
 * lock. */
#ifndef AGAS_ACCESS_SERVE_H
#define AGAS_ACCESS_SERVE_H

#include "agas/access/wire.h"
#include "agas/core/world.h"

/*
 * Serve a request that has reached this rank, its own or another's. payload: of PUT and CALL,
 * copied if it is needed after the call.
 */
void agas_serve(const struct agas_request *r, const void *payload);
void agas_serve_receive(pami_context_t context, void *cookie, const void *header,
			size_t header_bytes, const void *data, size_t bytes, pami_endpoint_t origin,
			pami_recv_t *recv);
/* Serve the requests that were parked for a block. */
void agas_serve_parked(struct agas_block *b);
/* At the end: forget them. Only ranks that have died can wait for an answer. */
void agas_serve_drop_parked(struct agas_block *b);
/* A put whose payload came from the source's memory is over: release its pin and answer. */
void agas_serve_end(const struct agas_request *r, struct agas_block *b, bool ok);
/* The rank died: tell the sources of requests that this rank has forwarded to it. */
void agas_serve_death(uint32_t dead);
/* Returns false if there is no memory. */
bool agas_serve_open(void);
void agas_serve_release(void);
/* Carry out an atomic operation. Returns the value before. */
uint64_t agas_atomic_run(enum agas_atomic op, uint64_t *at, uint64_t operand, uint64_t expected);

/* Send a message that may be longer than an immediate one; `owned` is freed afterwards (NULL: the
 * payload was copied or needs no end). Returns false if the rank is dead. */
bool agas_send(uint32_t to, size_t dispatch, const void *header, size_t header_bytes,
	       const void *payload, size_t bytes, void *owned);

#endif
