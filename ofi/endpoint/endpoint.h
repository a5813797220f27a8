/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Endpoints. An endpoint has one PAMI context, and the context's lock guards it where several
 * threads use it. A scalable endpoint is a row of endpoints; index i of its transmit contexts and
 * index i of its receive contexts share one.
 */
#ifndef OFI_ENDPOINT_ENDPOINT_H
#define OFI_ENDPOINT_ENDPOINT_H

#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "ofi/core/av.h"
#include "ofi/core/domain.h"
#include "ofi/core/world.h"
#include "ofi/endpoint/lend.h"
#include "ofi/event/cntr.h"
#include "ofi/event/cq.h"
#include "ofi/message/flow.h"
#include "ofi/message/match.h"
#include "ofi/message/request.h"

struct ofi_av;
struct ofi_recv;
struct ofi_message;

/* One direction's queue. */
struct ofi_side {
	struct ofi_cq *cq;
	bool selective; /* only operations with FI_COMPLETION complete in the queue */
};

enum ofi_counted { OFI_SENDS, OFI_RECEIVES, OFI_READS, OFI_WRITES, OFI_COUNTED };

struct ofi_ep {
	struct ofi_slot *slot;
	pami_context_t context;
	struct ofi_domain *domain;
	/* Where addresses are looked up: `bound` when it is enabled, ofi_av_none before. */
	const struct ofi_av *av;
	struct ofi_av *bound;
	pami_endpoint_t self;
	bool locks;     /* take the context's lock */
	bool automatic; /* Commthreads serve the context. */
	bool enabled;
	bool directed; /* FI_DIRECTED_RECV: receives name sources; else they take any. */
	struct ofi_side transmit, receive;
	struct ofi_cntr *cntr[OFI_COUNTED];
	size_t short_bytes; /* longest message that one immediate send carries */
	size_t min_multi_recv;
	/* Under the lock. */
	struct ofi_match tagged, untagged;
	struct ofi_requests requests;
	struct ofi_flow flow;
	atomic_u32 aliases;
	unsigned unpolled; /* sends since the last poll in one */
	struct ofi_recv *free_recv;
	struct ofi_message *free_message;
	quintorus_fi_unanswered_fn unanswered; /* or NULL */
};

/* The object that the program holds: for an endpoint, one of its aliases, or a context of a
 * scalable endpoint. */
struct ofi_handle {
	struct fid_ep fid;
	struct ofi_ep *ep;
	uint64_t transmit_flags, receive_flags; /* of calls without flags */
	bool alias;
	struct ofi_scalable *of; /* counts it */
};

int ofi_endpoint_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
		      void *context);
int ofi_scalable_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
		      void *context);

/* Functions for endpoint/scalable.c: the parts that both kinds of endpoint share. */
void ofi_ep_init(struct ofi_ep *ep, struct ofi_domain *domain, size_t offset,
		 const struct fi_info *info);
void ofi_ep_fini(struct ofi_ep *ep);
int ofi_ep_enable(struct ofi_ep *ep);
int ofi_ep_bind(struct ofi_ep *ep, struct fid *other, uint64_t flags);
void ofi_handle_init(struct ofi_handle *h, struct ofi_ep *ep, size_t class, void *context,
		     const struct fi_info *info);
/* The error of an operation that names no address of the endpoint. */
static inline int ofi_ep_no_peer(const struct ofi_ep *ep)
{
	return ep->enabled ? -FI_EINVAL : -FI_EOPBADSTATE;
}
int ofi_name_of(pami_endpoint_t endpoint, void *address, size_t *bytes);

/* Poll once. Any thread, if the domain's threading allows it. */
void ofi_ep_progress(struct ofi_ep *ep);
/* Poll for a caller that waits. The call may sleep for some milliseconds. */
void ofi_ep_wait(struct ofi_ep *ep);
/* Let commthreads serve the context from now on, or from when it is enabled. */
int ofi_ep_go_automatic(struct ofi_ep *ep);
bool ofi_ep_is_dead(pami_endpoint_t peer);

/* End an operation of this process: write its completion or error, and count it. */
void ofi_ep_sent(struct ofi_ep *ep, struct ofi_cntr *cntr, void *context, uint64_t flags,
		 bool wants, int status);

static inline void ofi_ep_lock(struct ofi_ep *ep)
{
	if (ep->locks)
		PAMI_Context_lock(ep->context);
}

static inline void ofi_ep_unlock(struct ofi_ep *ep)
{
	if (ep->locks)
		PAMI_Context_unlock(ep->context);
}

static inline struct ofi_handle *ofi_handle_of(struct fid_ep *fid)
{
	return (struct ofi_handle *)fid;
}

/* Returns true if an operation with these flags reports success. */
static inline bool ofi_wants(const struct ofi_side *side, uint64_t flags)
{
	return side->cq && (!side->selective || flags & FI_COMPLETION);
}

/* Calls for connections, of which there are none. */
extern const struct fi_ops_cm ofi_ep_cm;
extern struct fi_ops_msg ofi_msg_ops;
extern struct fi_ops_tagged ofi_tagged_ops;
extern struct fi_ops_rma ofi_rma_ops;
extern struct fi_ops_atomic ofi_atomic_ops;

#endif
