/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that no receive has taken use a bounded amount of memory.
 *
 *   receiver                                 sender
 *   more than the limit is kept: HOLD  --->  offers what it sends to this endpoint: the data stays
 *                                            with it until a receive takes the message
 *   less than half of it is:     GO    --->  sends as usual
 *
 * A sender whose copies of offered messages (fi_inject and its like) use the limit refuses with
 * -FI_EAGAIN. So a receiver keeps the limit, what was under way, and offers, which senders bound.
 * Nothing waits in a queue: a receive finds each message, whatever was sent before it. All is
 * under the endpoint's lock.
 */
#ifndef OFI_MESSAGE_FLOW_H
#define OFI_MESSAGE_FLOW_H

#include <stdbool.h>
#include <stddef.h>

#include "pami/pami.h"

struct ofi_ep;

enum ofi_flow_word { OFI_FLOW_HOLD, OFI_FLOW_GO };

/* A set of endpoints; few. */
struct ofi_endpoints {
	pami_endpoint_t *at;
	size_t count, room;
};

struct ofi_flow {
	size_t limit;               /* QUINTORUS_OFI_UNEXPECTED */
	size_t kept;                /* bytes of messages that no receive has taken */
	struct ofi_endpoints told;  /* senders that hold for us */
	struct ofi_endpoints holds; /* endpoints that told us to hold */
	size_t copied;              /* bytes of copies of offered messages */
};

void ofi_flow_init(struct ofi_flow *f);
void ofi_flow_fini(struct ofi_flow *f);

/* Note that `bytes` more bytes of this sender are kept. */
void ofi_flow_keep(struct ofi_ep *ep, pami_endpoint_t from, size_t bytes);
/* Note that `bytes` bytes are no longer kept. */
void ofi_flow_drop(struct ofi_ep *ep, size_t bytes);

/* True if the endpoint has told this one to hold. Check holds.count first. */
bool ofi_flow_is_held(const struct ofi_flow *f, pami_endpoint_t peer);
/* Forget the endpoints of tasks that have ended. */
void ofi_flow_end_dead(struct ofi_ep *ep);

#endif
