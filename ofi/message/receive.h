/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives and messages on their way in. Functions are under the endpoint's lock unless said. */
#ifndef OFI_MESSAGE_RECEIVE_H
#define OFI_MESSAGE_RECEIVE_H

#include "ofi/endpoint/endpoint.h"
#include "ofi/endpoint/lend.h"

/* The arguments of a receive call. */
struct ofi_wanted {
	const struct iovec *iov;
	size_t count;
	uint64_t tag, ignore;
	fi_addr_t source;
	void *context;
	uint64_t flags; /* FI_TAGGED or FI_MSG, and the call's */
};

/* Receive, peek, claim or discard. Takes the lock itself. */
ssize_t ofi_receive(struct ofi_ep *ep, const struct ofi_wanted *w);
/* The same for the lender (endpoint/lend.h): a tagged receive that calls a function at its end. */
int ofi_receive_direct(struct ofi_ep *ep, pami_endpoint_t source, uint64_t tag, uint64_t ignore,
		       void *buffer, size_t bytes, quintorus_fi_received_fn done, void *cookie);
/* Send for the lender; in send.c. */
int ofi_send_direct(struct ofi_ep *ep, pami_endpoint_t to, uint64_t tag, uint64_t data,
		    const void *buffer, size_t bytes);
/* Remove a receive that no message has matched: 0, or -FI_ENOENT. Takes the lock itself. */
ssize_t ofi_receive_cancel(struct ofi_ep *ep, void *context);
/* End the receives from tasks that have ended. */
void ofi_receives_end_dead(struct ofi_ep *ep);
/* Tell the senders of offers that no receive has taken that none will. Under the context's lock. */
void ofi_receives_refuse(struct ofi_ep *ep);
void ofi_receives_fini(struct ofi_ep *ep);

/* The receive calls of fi_ops_msg and fi_ops_tagged. */
ssize_t ofi_msg_recv(struct fid_ep *, void *, size_t, void *, fi_addr_t, void *);
ssize_t ofi_msg_recvv(struct fid_ep *, const struct iovec *, void **, size_t, fi_addr_t, void *);
ssize_t ofi_msg_recvmsg(struct fid_ep *, const struct fi_msg *, uint64_t);
ssize_t ofi_tagged_recv(struct fid_ep *, void *, size_t, void *, fi_addr_t, uint64_t, uint64_t,
			void *);
ssize_t ofi_tagged_recvv(struct fid_ep *, const struct iovec *, void **, size_t, fi_addr_t,
			 uint64_t, uint64_t, void *);
ssize_t ofi_tagged_recvmsg(struct fid_ep *, const struct fi_msg_tagged *, uint64_t);

#endif
