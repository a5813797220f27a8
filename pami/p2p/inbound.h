/* SPDX-License-Identifier: BSD-3-Clause */
/* A message on its way in that the hot path of pami_receive() cannot dispatch from one packet. */
#ifndef PAMI_P2P_INBOUND_H
#define PAMI_P2P_INBOUND_H

#include <stdbool.h>
#include <stdint.h>

#include "mu/mu.h"
#include "pami/pami.h"

struct pami_context;
struct pami_wire;

struct pami_inbound {
	struct pami_inbound *next; /* hash bucket, held list, or list of answers to send */
	struct pami_context *context;
	pami_endpoint_t origin;
	uint32_t token;
	uint16_t dispatch;
	uint8_t kind;    /* enum pami_wire_kind of its first packet */
	bool whole;      /* collect the whole stream before the dispatch function is called */
	bool called;     /* the dispatch function was called before the stream's end */
	bool deferred;   /* from pami_inbound_defer() to pami_inbound_resume() */
	bool direct;     /* data goes straight to the user's buffer */
	bool dispatched; /* recv is valid */
	int answer;      /* result for the origin, in ctx->answers.inbound */
	int16_t error;   /* negative errno of the dispatch function: the data is not stored */
	bool lost;       /* deferred, and its origin died: it will never be complete */
	uint32_t number; /* traced jobs: among the messages of its origin */
	uint64_t header_bytes, data_bytes;
	uint64_t got;     /* bytes of the stream stored: the header, then the data (RTS: none) */
	uint64_t address; /* RTS: of the data at the origin */
	/* Heap: header, then (whole) data at the next multiple of 16; or NULL. */
	unsigned char *header;
	unsigned char *data;        /* where data bytes go. NULL: no memory, they are dropped */
	unsigned char *data_buffer; /* heap; or NULL */
	pami_recv_t recv;
	struct mu_op op; /* RTS: the get */
};

/* Receiving: what pami_receive() hands over. payload: the packet's, after the software bytes. */
void pami_inbound_piece(struct pami_context *ctx, uint32_t source, const struct pami_wire *wire,
			const unsigned char *payload, uint32_t bytes, uint64_t offset);
void pami_inbound_short(struct pami_context *ctx, pami_endpoint_t origin,
			const struct pami_wire *wire, const unsigned char *header,
			const unsigned char *data);
/* Answer a FENCE when everything that its origin sent before has been dispatched. */
void pami_inbound_fence(struct pami_context *ctx, pami_endpoint_t origin, uint32_t token);

/* Inside a dispatch function of the library: receive this message later. */
struct pami_inbound *pami_inbound_defer(struct pami_context *ctx);
/* Receive a deferred message as recv says. Calls recv.local_fn now or in a later progress call. */
void pami_inbound_resume(struct pami_inbound *in, const pami_recv_t *recv);
/* Drop a deferred message: the context ends. */
void pami_inbound_discard(struct pami_inbound *in);

/* Dispatch held messages whose id is set now. Returns how many. */
unsigned pami_inbound_release_held(struct pami_context *ctx);
/* Answer complete messages that could not be answered for lack of memory. 0, or -ENOMEM. */
int pami_inbound_send_answers(struct pami_context *ctx);
/* Tasks have died: end the receives of their messages that will never be complete. */
void pami_inbound_apply_deaths(struct pami_context *ctx);
/* The context ends: free everything. */
void pami_inbound_free_all(struct pami_context *ctx);

#endif
