/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The injection engine for the FIFOs of a node (collective packets, lines), real clock. Each is strictly
 * in order and run by its owner's channel; one whose router takes nothing now waits without holding up
 * the others.
 */
#include <errno.h>

#include "drivers/base/log.h"
#include "mu/live.h"
#include "mu/process.h"

#define BUDGET_PACKETS 256u

int mu_node_pending(struct mu_channel *ch)
{
	struct mu_node_area *n = mu_host_node(ch->p->host, ch->p->job.node);

	for (uint32_t m = __atomic_load_n(&ch->node_fifos, __ATOMIC_RELAXED); m; m &= m - 1) {
		struct mu_node_fifo *f = &n->fifo[__builtin_ctz(m)];

		if (__atomic_load_n(&f->tail, __ATOMIC_RELAXED) != __atomic_load_n(&f->head, __ATOMIC_RELAXED))
			return 1;
	}
	return 0;
}

/* 0: the descriptor at the head has left; -EAGAIN: later; else refused. */
static int desc_run(struct mu_channel *ch, struct mu_node_fifo *f, const MUHWI_Descriptor_t *d, unsigned *budget)
{
	int rc = f->sent ? 0 : mu_node_check(d);

	while (!rc && f->sent < d->Message_Length) {
		MUHWI_PacketHeader_t h;
		uint32_t n = mu_packetize(d, f->sent, &h);

		if (!*budget)
			return -EAGAIN;
		--*budget;
		rc = mu_live_send_node(ch->p->live, &h, (const void *)(uintptr_t)(d->Pa_Payload + f->sent), n);
		if (!rc)
			f->sent += n;
	}
	return rc;
}

static int run_fifo(struct mu_channel *ch, struct mu_node_fifo *f)
{
	unsigned budget = BUDGET_PACKETS;
	int n = 0;

	while (f->head != __atomic_load_n(&f->tail, __ATOMIC_ACQUIRE)) {
		int rc = desc_run(ch, f, &f->slot[f->head % MU_NODE_SLOTS], &budget);

		if (rc == -EAGAIN)
			break;
		if (rc) {
			ch->bad++;
			drv_warn("channel %u: descriptor of a node's FIFO refused: %s", ch->index, strerror(-rc));
		}
		f->sent = 0;
		__atomic_store_n(&f->head, f->head + 1, __ATOMIC_RELEASE);
		n++;
	}
	return n;
}

int mu_engine_node(struct mu_channel *ch)
{
	struct mu_node_area *a = mu_host_node(ch->p->host, ch->p->job.node);
	int n = 0;

	if (!ch->p->live)
		return 0;
	for (uint32_t m = __atomic_load_n(&ch->node_fifos, __ATOMIC_ACQUIRE); m; m &= m - 1)
		n += run_fifo(ch, &a->fifo[__builtin_ctz(m)]);
	return n;
}
