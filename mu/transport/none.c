/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport of a job whose tasks are all near, or of a child after fork(): nothing leaves.
 * Other transports take these operations where they have nothing to do.
 */
#include <errno.h>

#include "mu/process.h"
#include "mu/progress/wakeup.h"
#include "mu/transport/transport.h"

int mu_none_open(struct mu_process *p)
{
	return 0;
}

void mu_none_close(struct mu_process *p, int flush_ms) {}

int mu_none_send_short(struct mu_channel *ch, uint32_t task, uint32_t channel,
		       const struct mu_short *m)
{
	return -EAGAIN;
}

int mu_none_send_piece(struct mu_channel *ch, uint32_t task, const MUHWI_PacketHeader_t *h,
		       const void *payload, uint32_t bytes, struct mu_checked_range *range)
{
	return -EHOSTUNREACH;
}

int mu_none_store(struct mu_channel *ch, uint32_t task, const struct mu_store *store)
{
	return -EINVAL;
}

int mu_none_poll(struct mu_process *p, struct mu_channel *ch)
{
	return 0;
}

void mu_none_flush(struct mu_process *p, struct mu_channel *ch) {}

bool mu_none_has_work(struct mu_process *p)
{
	return false;
}

void mu_none_sleep(struct mu_process *p, struct mu_wakeup *region, int64_t ns)
{
	mu_wakeup_wait(region, ns);
}

uint32_t mu_none_piece_bytes(const struct mu_process *p)
{
	return MU_PACKET_BYTES;
}

/* The agent sends the word. It needs no wake-up where all tasks are on one host. */
void mu_none_announce(struct mu_process *p)
{
	drv_wake_ring(&p->host->agent_wake);
}

const struct mu_transport mu_transport_none = {
    MU_TRANSPORT_WITHOUT_PORT,          MU_TRANSPORT_WITHOUT_WIRE,
    MU_TRANSPORT_WITHOUT_POLL,          .name = "none",
    .send_piece = mu_none_send_piece,   .store = mu_none_store,
    .piece_bytes = mu_none_piece_bytes, .near = MU_NEAR_HOST,
};
