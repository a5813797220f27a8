/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transport of a task whose agent holds the port: records for other hosts go into the outbound ring
 * of the host. The agent empties it into its wires and delivers what arrives.
 */
#include <errno.h>
#include <string.h>

#include "mu/process.h"
#include "mu/transport/port_holder.h"
#include "mu/transport/transport.h"

static int outbound_send_piece(struct mu_channel *ch, uint32_t task, const MUHWI_PacketHeader_t *h,
			       const void *payload, uint32_t bytes, struct mu_checked_range *range)
{
	struct mu_process *p = ch->p;
	int rc = mu_ring_send_piece(ch, mu_host_outbound(p->host), &p->outbound_tx, NULL, h,
				    payload, bytes, range);

	if (rc != -EAGAIN)
		drv_wake_ring(&p->host->agent_wake);
	return rc;
}

static int outbound_store(struct mu_channel *ch, uint32_t task, const struct mu_store *store)
{
	struct mu_process *p = ch->p;
	struct drv_ring *ring = mu_host_outbound(p->host);
	uint64_t position;
	struct drv_ring_record *rec =
	    drv_ring_reserve_claimed(ring, &p->outbound_tx, sizeof *store, &position, ch->tx.claim,
				     mu_ring_name(p->host, ring));

	if (!rec)
		return -EAGAIN;
	rec->tag = task;
	memset(rec->header, 0, sizeof rec->header);
	rec->header[0] = MU_RUN_STORE;
	memcpy(rec->payload, store, sizeof *store);
	drv_ring_publish(rec, position);
	drv_wake_ring(&p->host->agent_wake);
	return 0;
}

const struct mu_transport mu_transport_outbound = {
    MU_TRANSPORT_WITHOUT_PORT,          MU_TRANSPORT_WITHOUT_WIRE,
    MU_TRANSPORT_WITHOUT_POLL,          .name = "outbound",
    .send_piece = outbound_send_piece,  .store = outbound_store,
    .piece_bytes = mu_wire_piece_bytes, .near = MU_NEAR_HOST,
    .takes_asking_puts = true,
};
