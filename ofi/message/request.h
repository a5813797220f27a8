/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that this process started and that are not complete: sends that wait for their
 * receiver, puts, gets, atomics. From a pool of the endpoint, under its lock.
 */
#ifndef OFI_MESSAGE_REQUEST_H
#define OFI_MESSAGE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "ofi/core/provider.h"
#include "pami/pami.h"

struct ofi_ep;
struct ofi_cntr;

struct ofi_request {
	struct ofi_ep *ep;
	struct ofi_request *next_free;
	uint32_t index, generation;
	bool used;
	bool answered_by_peer; /* The death of the peer ends this request. */
	bool wants;            /* a completion, if it succeeds */
	bool remote_data;      /* Tell the target `data` when the write is in place. */
	pami_endpoint_t peer;
	void *context;
	uint64_t flags; /* of its completion */
	uint64_t data;
	size_t bytes;
	struct ofi_cntr *cntr;
	void *bounce;                       /* freed at the end; NULL: none */
	struct iovec result[OFI_IOV_LIMIT]; /* The result is copied here from the bounce buffer. */
	size_t results;
	uint64_t header[3]; /* of a message that PAMI has not read yet */
	size_t copied;      /* of ofi_flow.copied */
};

#define OFI_REQUEST_CHUNK 64u

struct ofi_requests {
	struct ofi_request **chunk;
	size_t chunks;
	struct ofi_request *free;
	size_t used;
};

/* Return a cleared request of ep, or NULL if there is no memory. */
struct ofi_request *ofi_request_get(struct ofi_ep *ep);
void ofi_request_put(struct ofi_request *r);
/* Complete: tell the queue and the counter, free. status: 0 or a negative libfabric error. */
void ofi_request_end(struct ofi_request *r, int status);
/* Return a name of the request to send to the peer; it is never 0. */
uint64_t ofi_request_name(const struct ofi_request *r);
/* Return the request of a name that a peer sent, or NULL if there is none. */
struct ofi_request *ofi_request_named(struct ofi_ep *ep, uint64_t name);
/* End the requests that wait for an answer from a task that has died. */
void ofi_requests_end_dead(struct ofi_ep *ep);
void ofi_requests_fini(struct ofi_requests *pool);

/* Copy between a list of buffers and a flat one; at most `bytes`. Return how many. */
size_t ofi_gather(void *to, const struct iovec *from, size_t count, size_t bytes);
size_t ofi_scatter(const struct iovec *to, size_t count, const void *from, size_t bytes);
/* May an operation name these pieces? */
bool ofi_is_list(const struct iovec *iov, size_t count);
/* SIZE_MAX: more than a size_t holds. */
size_t ofi_iov_bytes(const struct iovec *iov, size_t count);

#endif
