/* SPDX-License-Identifier: BSD-3-Clause */
#include "mu/trace.h"

#include "drivers/base/clock.h"
#include "mu/process.h"
#include "mu/vtime/vtask.h"

/* The ring of this thread, in the segment of a host. */
static _Thread_local struct {
	const struct mu_host *host;
	struct mu_trace_ring *ring; /* NULL: all were taken */
} own;

uint64_t mu_trace_bytes(uint32_t locals)
{
	return sizeof(struct mu_trace_area) +
	       ((uint64_t)locals * MU_TRACE_RINGS + 1) * sizeof(struct mu_trace_ring);
}

bool mu_is_traced(void)
{
	return mu_self.host && mu_self.host->trace_at_pages;
}

uint64_t mu_trace_now(void)
{
	return mu_virtual ? mu_vt_now_ps() : drv_clock_ns();
}

static struct mu_trace_ring *claim_ring(struct mu_trace_area *a, uint32_t task)
{
	uint32_t i = atomic_fetch_add_seq_cst(&a->claimed, 1);

	if (i >= a->rings)
		return NULL;
	a->ring[i].task = task;
	a->ring[i].thread = i;
	return &a->ring[i];
}

void mu_trace_put_for(struct mu_host *host, uint32_t task, const struct mu_trace_event *event)
{
	struct mu_trace_area *a = mu_host_trace(host);
	uint64_t n;

	if (own.host != host) {
		own.host = host;
		own.ring = claim_ring(a, task);
	}
	if (!own.ring) {
		atomic_fetch_add_seq_cst(&a->dropped, 1);
		return;
	}
	n = atomic_load_relaxed(&own.ring->count);
	own.ring->event[n % MU_TRACE_EVENTS] = *event;
	atomic_store_release(&own.ring->count, n + 1);
}

void mu_trace_put(const struct mu_trace_event *event)
{
	mu_trace_put_for(mu_self.host, mu_self.task, event);
}

uint64_t mu_trace_descriptors(const struct mu_channel *ch)
{
	return ch->tx.fifo.numInjected;
}
