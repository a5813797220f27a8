/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Announcements: one word for each task of the job, in the segment of each host. A task writes its
 * own word; the port holder sends it to the other hosts (transport/port_peers.c) ahead of anything
 * that the task sends there afterwards.
 */
#include "drivers/base/atomic.h"
#include "mu/mu.h"
#include "mu/process.h"
#include "mu/transport/transport.h"

void mu_announce(uint64_t word)
{
	struct mu_process *p = &mu_self;

	if (!p->refs || p->forked)
		return;
	atomic_store_release(&mu_host_announced(p->host)[p->task], word);
	atomic_fetch_add_seq_cst(&p->host->announcements, 1);
	p->remote->announce(p);
}

const atomic_u64 *mu_announced_words(void)
{
	return mu_host_announced(mu_self.host);
}

bool mu_channel_has_mail(unsigned index)
{
	const struct mu_process *p = &mu_self;
	const struct drv_ring *ring;

	if (index >= p->channels)
		return false;
	ring = &mu_host_channel(p->host, p->local, index)->ring;
	return atomic_load_acquire(&ring->tail) != atomic_load_relaxed(&ring->head) ||
	       atomic_load_relaxed(&ring->lanes_claimed);
}
