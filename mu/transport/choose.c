/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport of a process: see the list in transport.h. */
#include "mu/transport/transport.h"

#include "mu/segment/host.h"

const struct mu_transport *mu_transport_choose(const struct mu_host *host)
{
	if (host->clock == MU_CLOCK_VIRTUAL)
		return &mu_transport_virtual;
	if (host->fabric == MU_FABRIC_TORUS)
		return &mu_transport_router;
	if (host->holder == MU_HOLDER_TASK)
		return &mu_transport_wire;
	return host->holder == MU_HOLDER_AGENT ? &mu_transport_outbound : &mu_transport_none;
}

void mu_transport_forget(struct mu_process *p)
{
	p->remote = &mu_transport_none;
	p->queues = 0;
	p->live = NULL;
}
