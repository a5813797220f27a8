/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The injection engine for the FIFOs of a node (collective packets, lines), real clock. Each is
 * strictly in order and run by its owner's channel; one whose router takes nothing now waits
 * without holding up the others.
 */
#include <errno.h>

#include "drivers/base/atomic.h"
#include "drivers/base/log.h"
#include "mu/engine/engine.h"
#include "mu/hw/packetize.h"
#include "mu/process.h"
#include "mu/transport/transport.h"

#define BUDGET_PACKETS 256u

int mu_node_has_pending_injection(struct mu_channel *ch)
{
	struct mu_node_area *n = mu_host_node(ch->p->host, ch->p->job.node);

	for (uint32_t m = atomic_load_relaxed(&ch->engine.node_fifos); m; m &= m - 1) {
		struct mu_node_fifo *f = &n->fifo[__builtin_ctz(m)];

		if (atomic_load_relaxed(&f->tail) != atomic_load_relaxed(&f->head))
			return 1;
	}
	return 0;
}

/* 0: the descriptor at the head has left; -EAGAIN: later; else refused. */
static int desc_run(struct mu_channel *ch, struct mu_node_fifo *f, const MUHWI_Descriptor_t *d,
		    unsigned *budget)
{
	int rc = f->sent ? 0 : mu_node_check(d);

	while (!rc && f->sent < d->Message_Length) {
		MUHWI_PacketHeader_t h;
		uint32_t n = mu_packetize(d, f->sent, &h);

		if (!*budget)
			return -EAGAIN;
		--*budget;
		rc = ch->p->remote->node->send(
		    ch->p, &h, (const void *)(uintptr_t)(d->Pa_Payload + f->sent), n);
		if (!rc)
			f->sent += n;
	}
	return rc;
}

static int run_fifo(struct mu_channel *ch, struct mu_node_fifo *f)
{
	uint64_t head = atomic_load_relaxed(&f->head);
	unsigned budget = BUDGET_PACKETS;
	int n = 0;

	while (head != atomic_load_acquire(&f->tail)) {
		int rc = desc_run(ch, f, &f->slot[head % MU_NODE_SLOTS], &budget);

		if (rc == -EAGAIN)
			break;
		if (rc) {
			ch->engine.refused++;
			drv_warn("channel %u: descriptor of a node's FIFO refused: %s", ch->index,
				 strerror(-rc));
		}
		f->sent = 0;
		atomic_store_release(&f->head, ++head);
		n++;
	}
	return n;
}

int mu_engine_node(struct mu_channel *ch)
{
	struct mu_node_area *a = mu_host_node(ch->p->host, ch->p->job.node);
	const struct mu_node_ops *node = ch->p->remote->node;
	int n = 0;

	mu_assert_engine(ch);
	if (!node || !node->send)
		return 0;
	for (uint32_t m = atomic_load_acquire(&ch->engine.node_fifos); m; m &= m - 1)
		n += run_fifo(ch, &a->fifo[__builtin_ctz(m)]);
	return n;
}
