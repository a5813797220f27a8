/* SPDX-License-Identifier: BSD-3-Clause */
#include "ofi/endpoint/lend.h"

#include <errno.h>

#include "ofi/endpoint/endpoint.h"
#include "ofi/message/receive.h"
#include "ofi/message/wire.h"

static int send_tag(struct ofi_ep *ep, uint32_t to, uint64_t tag)
{
	struct ofi_header h = {.tag = tag, .flags = OFI_WIRE_TAGGED};

	return ofi_post(ep, to, OFI_DISPATCH_MESSAGE, &h, sizeof h);
}

static int cancel_receive(struct ofi_ep *ep, void *cookie)
{
	return (int)ofi_receive_cancel(ep, cookie);
}

static void watch_unanswered(struct ofi_ep *ep, quintorus_fi_unanswered_fn fn)
{
	ofi_ep_lock(ep);
	ep->unanswered = fn;
	ofi_ep_unlock(ep);
}

static const struct quintorus_fi_messages messages = {.send = ofi_send_direct,
						      .send_tag = send_tag,
						      .receive = ofi_receive_direct,
						      .cancel = cancel_receive,
						      .watch_unanswered = watch_unanswered};

__attribute__((visibility("default"))) int quintorus_fi_lend(struct quintorus_fi_loan *loan)
{
	struct ofi_ep *ep = ofi_world.slot[0].ep;

	if (loan->abi != QUINTORUS_FI_LOAN_ABI)
		return -EPROTO;
	if (!ofi_world.client || !ep || ep->automatic)
		return -EBUSY;
	loan->task = ofi_world.me;
	loan->tasks = ofi_world.tasks;
	loan->client = ofi_world.client;
	loan->context = ofi_world.slot[0].context;
	loan->ep = ep;
	loan->locks = ep->locks;
	loan->messages = &messages;
	return 0;
}
