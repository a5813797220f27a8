/* SPDX-License-Identifier: BSD-3-Clause */
#include "ofi/endpoint/lend.h"

#include <errno.h>

#include "ofi/endpoint/endpoint.h"

__attribute__((visibility("default"))) int quintorus_fi_lend(struct quintorus_fi_loan *loan)
{
	const struct ofi_ep *ep = ofi_world.slot[0].ep;

	if (loan->abi != QUINTORUS_FI_LOAN_ABI)
		return -EPROTO;
	if (!ofi_world.client || !ep || ep->locks)
		return -EBUSY;
	loan->task = ofi_world.me;
	loan->tasks = ofi_world.tasks;
	loan->client = ofi_world.client;
	loan->context = ofi_world.slot[0].context;
	return 0;
}
