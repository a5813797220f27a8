/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages between endpoints: PAMI dispatch ids and the header of each. */
#ifndef OFI_MESSAGE_WIRE_H
#define OFI_MESSAGE_WIRE_H

#include <stdint.h>

#include "ofi/endpoint/endpoint.h"

enum ofi_dispatch {
	OFI_DISPATCH_MESSAGE, /* ofi_header, then data, or ofi_offer */
	OFI_DISPATCH_FINISH,  /* ofi_finish: an operation of yours is complete */
	OFI_DISPATCH_RMA,     /* ofi_rma_request: move data from or to a region named by key */
	OFI_DISPATCH_ATOMIC,  /* ofi_atomic_request and operands */
	OFI_DISPATCH_ANSWER,  /* ofi_finish and what an atomic operation fetched */
	OFI_DISPATCH_DATA,    /* ofi_data: a write with completion data is in place */
	OFI_DISPATCH_FLOW,    /* ofi_flow_note: message/flow.h */
	OFI_DISPATCHES
};

enum {
	OFI_WIRE_TAGGED = 1, /* FI_TAGGED, else FI_MSG */
	OFI_WIRE_DATA = 2,   /* with completion data */
	OFI_WIRE_OFFER = 4   /* The receiver fetches the data. */
};

struct ofi_header {
	uint64_t tag, data;
	uint32_t flags, unused;
};

/* The header of a message whose data stays with its sender until the receiver has fetched it. */
struct ofi_offer {
	struct ofi_header header;
	uint64_t address, bytes, request;
};

struct ofi_finish {
	uint64_t request; /* as the other side named it: ofi_request_name() */
	int32_t status;   /* 0 or a negative libfabric error */
	uint32_t bytes;   /* of data behind this (OFI_DISPATCH_ANSWER) */
};

struct ofi_rma_request {
	uint64_t request, key, offset, bytes;
	uint64_t local; /* address at the origin */
	uint64_t data;
	uint32_t write; /* else a read */
	uint32_t flags; /* OFI_WIRE_DATA */
};

struct ofi_atomic_request {
	uint64_t request; /* 0: no answer */
	uint64_t key, address;
	uint16_t type, op;         /* enum fi_datatype, enum fi_op */
	uint16_t count;            /* of elements */
	uint8_t fetches, compares; /* Comparands are behind the operands. */
};

struct ofi_data {
	uint64_t data, bytes;
};

struct ofi_flow_note {
	uint32_t word; /* enum ofi_flow_word */
};

/* Dispatch functions; the cookie is the slot of the context, whose lock is held. */
void ofi_on_message(pami_context_t, void *slot, const void *header, size_t header_bytes,
		    const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv);
void ofi_on_finish(pami_context_t, void *slot, const void *header, size_t header_bytes,
		   const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv);
void ofi_on_rma(pami_context_t, void *slot, const void *header, size_t header_bytes,
		const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv);
void ofi_on_atomic(pami_context_t, void *slot, const void *header, size_t header_bytes,
		   const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv);
void ofi_on_answer(pami_context_t, void *slot, const void *header, size_t header_bytes,
		   const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv);
void ofi_on_data(pami_context_t, void *slot, const void *header, size_t header_bytes,
		 const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv);
void ofi_on_flow(pami_context_t, void *slot, const void *header, size_t header_bytes,
		 const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv);

/*
 * Send a header alone, copied before the return; one that is too long for an immediate send too.
 * Never -FI_EAGAIN. Under the endpoint's lock.
 */
int ofi_post(struct ofi_ep *ep, pami_endpoint_t to, enum ofi_dispatch id, const void *header,
	     size_t bytes);
/* Tell an operation's origin that it is complete. Failures end with the origin's death. */
void ofi_post_finish(struct ofi_ep *ep, pami_endpoint_t to, uint64_t request, int status);

#endif
