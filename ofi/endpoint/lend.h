/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The provider lends the coll component of Open MPI (ofi/coll/) two things: the PAMI client of the
 * process and the context of offset 0, so that collectives and messages are served by one poll. The
 * component finds the function by its name in the provider that Open MPI has loaded.
 */
#ifndef OFI_ENDPOINT_LEND_H
#define OFI_ENDPOINT_LEND_H

#include <stdint.h>

#include "pami/pami.h"

#define QUINTORUS_FI_LOAN_ABI 1u
#define QUINTORUS_FI_LEND     "quintorus_fi_lend"

struct quintorus_fi_loan {
	uint32_t abi; /* set by the caller */
	uint32_t task, tasks;
	pami_client_t client;
	pami_context_t context;
};

/*
 * 0, and *loan is filled; it holds until the endpoint is closed. -EBUSY: no endpoint has the
 * context, or several threads may use it. -EPROTO: another version of the structure.
 */
typedef int (*quintorus_fi_lend_fn)(struct quintorus_fi_loan *loan);
int quintorus_fi_lend(struct quintorus_fi_loan *loan);

#endif
