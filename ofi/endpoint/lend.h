/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The provider lends the coll component of Open MPI (ofi/coll/) the PAMI client of the process and
 * the context of offset 0, so that collectives and messages are served by one poll, and the message
 * functions of that context's endpoint without the completion queue. The component finds the
 * function by its name in the provider that Open MPI has loaded.
 */
#ifndef OFI_ENDPOINT_LEND_H
#define OFI_ENDPOINT_LEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pami/pami.h"

#define QUINTORUS_FI_LOAN_ABI 5u
#define QUINTORUS_FI_LEND     "quintorus_fi_lend"

struct ofi_ep;

/* How a receive ended. */
struct quintorus_fi_received {
	uint64_t tag, data;
	uint32_t source; /* the endpoint; UINT32_MAX: no message came */
	int status;      /* 0 or a negative libfabric error; not for a message that is too long */
	size_t sent, stored;
};
typedef void (*quintorus_fi_received_fn)(void *cookie, const struct quintorus_fi_received *r);

/*
 * A receive of libfabric's calls takes a tagged message that a probe has claimed (FI_CLAIM), or one
 * that is too long for it.
 */
typedef void (*quintorus_fi_unanswered_fn)(struct ofi_ep *ep, uint32_t source, uint64_t tag);

/*
 * Tagged messages of an endpoint, matched in order with those of libfabric's calls. Each function
 * returns 0 or a negative libfabric error. If the loan says `locks`, callers of send() and
 * receive() hold the context's lock, and `done` is called by a thread that holds it.
 */
struct quintorus_fi_messages {
	/* Send with completion data; the call reads the buffer. -FI_EAGAIN: libfabric's call has to
	 * send this message, for it is too long, or it is time to poll, or the receiver holds. */
	int (*send)(struct ofi_ep *ep, uint32_t to, uint64_t tag, uint64_t data, const void *buffer,
		    size_t bytes);
	/* Send a tag alone. The function may be called while the endpoint makes progress. */
	int (*send_tag)(struct ofi_ep *ep, uint32_t to, uint64_t tag);
	/* Post a receive; source UINT32_MAX is any. `done` may be called before the return. */
	int (*receive)(struct ofi_ep *ep, uint32_t source, uint64_t tag, uint64_t ignore,
		       void *buffer, size_t bytes, quintorus_fi_received_fn done, void *cookie);
	/* End a receive that has no message with -FI_ECANCELED. -FI_ENOENT: it has one. */
	int (*cancel)(struct ofi_ep *ep, void *cookie);
	/* Call fn for each such message from now on, under the lock. */
	void (*watch_unanswered)(struct ofi_ep *ep, quintorus_fi_unanswered_fn fn);
};

struct quintorus_fi_loan {
	uint32_t abi; /* set by the caller */
	uint32_t task, tasks;
	pami_client_t client;
	pami_context_t context;
	struct ofi_ep *ep;
	bool locks; /* Several threads may use the endpoint; the context's lock guards it. */
	const struct quintorus_fi_messages *messages;
};

/*
 * 0, and *loan is filled; it holds until the endpoint is closed. -EBUSY: no endpoint has the
 * context, or commthreads serve it. -EPROTO: another version of the structure.
 */
typedef int (*quintorus_fi_lend_fn)(struct quintorus_fi_loan *loan);
int quintorus_fi_lend(struct quintorus_fi_loan *loan);

#endif
