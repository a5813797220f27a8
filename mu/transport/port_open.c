/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opening and closing the holders of a host's port, one for each of its queues. What the job wants
 * to break, record or trace is put before the port here.
 */
#define _GNU_SOURCE
#include "mu/transport/port_holder.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "drivers/base/log.h"
#include "drivers/frame.h"
#include "drivers/port_capture.h"
#include "drivers/port_fault.h"
#include "drivers/wire.h"
#include "emu/faults.h"
#include "mu/process.h"
#include "mu/trace.h"
#include "mu/transport/node_live.h"
#include "mu/transport/port_holder_state.h"

/* The script's faults of the wires of this host become rules of its port. */
static int add_fault_rules(struct mu_holder *h)
{
	struct mu_host *host = h->host;
	struct emu_faults f;
	char err[256];
	int rc;

	_Static_assert(EMU_FAULT_RATE - EMU_FAULT_CUT == DRV_FAULT_RATE, "the same kinds");
	rc = emu_faults_parse(host->script, &host->shape, host->tasks, host->hosts, host->seed, &f,
			      err, sizeof err);
	if (rc)
		drv_error("%s", err);
	for (uint32_t i = 0; i < f.count && !rc; i++) {
		const struct emu_fault *x = &f.fault[i];
		bool ours = x->at == host->host, other = x->other == host->host;
		struct drv_fault_rule rule = {
		    /* The queues of a port share its rate. */
		    .value = x->kind == EMU_FAULT_RATE ? x->value / h->queues : x->value,
		    .host = DRV_FAULT_ANY_HOST,
		    .at_ns = host->start_ns + x->at_ps / 1000,
		    .end_ns =
			x->end_ps == UINT64_MAX ? UINT64_MAX : host->start_ns + x->end_ps / 1000,
		};

		if (x->kind < EMU_FAULT_CUT)
			continue;
		rule.kind = (enum drv_fault_kind)(x->kind - EMU_FAULT_CUT);
		if (x->place == EMU_FAULT_AT_HOST && !ours)
			rule.host = x->at;
		else if (x->place == EMU_FAULT_AT_HOSTS && (ours || other))
			rule.host = ours ? x->other : x->at;
		else if (x->place != EMU_FAULT_AT_ALL && x->place != EMU_FAULT_AT_HOST)
			continue;
		rc = drv_port_fault_rule(h->port, &rule);
	}
	emu_faults_free(&f);
	return rc;
}

/* Traced jobs: note the frames that carry data. */
static void trace_frame(void *arg, const struct drv_frame_header *header, bool leaves)
{
	const struct mu_holder *h = arg;
	struct mu_trace_event e = {
	    .key = (uint64_t)header->from << 32 | header->to,
	    .task = header->source,
	    .number = header->sequence,
	    .bytes = header->bytes,
	    .kind = leaves ? MU_TRACE_OUT : MU_TRACE_IN,
	};

	if (header->kind != DRV_FRAME_DATA)
		return;
	e.begin = e.end = mu_trace_now();
	mu_trace_put_for(h->host, h->p ? h->p->task : UINT32_MAX, &e);
}

/* Put what the job wants to see or to break before the port. */
static int wrap_port(struct mu_holder *h)
{
	struct mu_host *host = h->host;
	int rc = 0;

	if (host->script[0]) {
		rc = add_fault_rules(h);
		if (rc)
			return rc;
		h->faulty = h->port;
	}
	if (host->capture[0])
		rc = drv_port_capture(&h->port, host->capture, host->host, host->hosts,
				      &host->capture_error);
	if (!rc && host->trace_at_pages)
		rc = drv_port_watch(&h->port, trace_frame, h);
	return rc;
}

static int make_maps(struct mu_holder *h)
{
	struct mu_host *host = h->host;

	h->tx = calloc((size_t)host->locals * host->channels, sizeof *h->tx);
	h->shorts = calloc(host->hosts, sizeof *h->shorts);
	h->announced.told = calloc(host->hosts, sizeof *h->announced.told);
	h->announced.word = calloc((size_t)host->hosts * host->locals, sizeof *h->announced.word);
	h->published = calloc(host->hosts, sizeof *h->published);
	if (!h->tx || !h->shorts || !h->announced.told || !h->announced.word || !h->published)
		return -ENOMEM;
	return mu_places_make(&h->places, host);
}

static void free_holder(struct mu_holder *h)
{
	free(h->tx);
	mu_places_free(&h->places);
	free(h->shorts);
	free(h->announced.told);
	free(h->announced.word);
	free(h->published);
	free(h);
}

/* Make the holder of queue `index` of `queues`. queue: NULL in an agent. Owns the port, also if it
 * fails. */
static int make_holder(struct mu_host *host, struct drv_port *port, unsigned index, unsigned queues,
		       struct mu_queue *queue, struct mu_holder **holder)
{
	struct mu_holder *h = calloc(1, sizeof *h);
	struct drv_wire_conf conf = {.job = host->job,
				     .self = host->host,
				     .hosts = host->hosts,
				     .queue = index,
				     .seal = (enum drv_seal_kind)host->seal};
	int rc = -ENOMEM;

	if (!h) {
		drv_port_close(port);
		return rc;
	}
	memcpy(conf.key, host->key, sizeof conf.key);
	h->host = host;
	h->p = queue ? &mu_self : NULL;
	h->queue = queue;
	h->index = index;
	h->queues = queues;
	h->port = port;
	h->unconnected = host->hosts - 1;
	rc = make_maps(h);
	if (!rc)
		rc = wrap_port(h);
	if (!rc)
		rc = mu_holder_list_address(h);
	if (!rc)
		rc = drv_wires_open(&h->wires, h->port, &conf);
	if (rc) {
		drv_port_close(h->port);
		free_holder(h);
		return rc;
	}
	*holder = h;
	return 0;
}

int mu_holder_open(struct mu_host *host, struct mu_holder **holder)
{
	struct drv_port *port;
	struct mu_holder *h;
	int rc;

	rc = drv_port_open_named(host->port, &port, host->opened, sizeof host->opened);
	host->own_address[0] = 0;
	if (!rc)
		rc = make_holder(host, port, 0, 1, NULL, &h);
	if (!rc && host->fabric == MU_FABRIC_TORUS) {
		rc = mu_live_open_for(host, h, &h->live);
		if (rc) {
			drv_wires_close(h->wires);
			free_holder(h);
		}
	}
	if (!rc)
		*holder = h;
	mu_holder_publish_address(host, rc ? rc : 1);
	return rc;
}

int mu_holders_open(struct mu_process *p)
{
	struct drv_port *port[MU_QUEUES_MAX];
	struct mu_host *host = p->host;
	unsigned most = p->channels < MU_QUEUES_MAX ? p->channels : MU_QUEUES_MAX;
	int n, rc = 0;

	p->queues_to = calloc(host->hosts, sizeof *p->queues_to);
	p->told = calloc(host->tasks, sizeof *p->told);
	n = p->queues_to && p->told
		? drv_port_open_queues(host->port, most, port, host->opened, sizeof host->opened)
		: -ENOMEM;
	rc = n < 0 ? n : 0;
	host->own_address[0] = 0;
	for (int q = 0; q < n; q++) {
		if (rc)
			drv_port_close(port[q]);
		else
			rc = make_holder(host, port[q], (unsigned)q, (unsigned)n, &p->queue[q],
					 &p->queue[q].holder);
	}
	/* One descriptor for all that the engine thread, which also serves as commthread 0, sleeps
	 * on. */
	if (p->area->wake[0].eventfd < 0)
		p->area->wake[0].eventfd = p->area->wake[1].eventfd = p->area->posted.eventfd =
		    eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (!rc)
		p->queues = (unsigned)n;
	else
		mu_holders_close(p, 0);
	mu_holder_publish_address(host, rc ? rc : 1);
	return rc;
}

static bool is_settled(struct mu_holder *h)
{
	mu_holder_drop_departed(h);
	return h->broken || drv_wires_are_idle(h->wires);
}

void mu_holders_wait_idle(struct mu_holder *const *holder, unsigned n, int timeout_ms)
{
	uint64_t until = drv_clock_ns() + (uint64_t)timeout_ms * 1000000u;

	for (;;) {
		int found = 0;
		bool settled = true;

		for (unsigned i = 0; i < n; i++)
			settled &= is_settled(holder[i]);
		if (settled || atomic_load_relaxed(&holder[0]->host->ending) ||
		    drv_clock_ns() >= until)
			return;
		for (unsigned i = 0; i < n; i++)
			if (!holder[i]->broken && mu_holder_poll_for(holder[i], NULL) > 0)
				found = 1;
		if (!found)
			sched_yield();
	}
}

static void discard_holder(struct mu_holder *h)
{
	mu_holder_publish(h);
	mu_live_close(h->live);
	drv_wires_close(h->wires);
	free_holder(h);
}

void mu_holders_close(struct mu_process *p, int timeout_ms)
{
	struct mu_holder *holder[MU_QUEUES_MAX];
	unsigned n = 0;

	while (n < MU_QUEUES_MAX && p->queue[n].holder) {
		/* The holder checks that its caller has the lock. */
		mu_lock_acquire(&p->queue[n].lock);
		holder[n] = p->queue[n].holder;
		n++;
	}
	if (n)
		mu_holders_wait_idle(holder, n, timeout_ms);
	for (unsigned q = 0; q < n; q++) {
		discard_holder(holder[q]);
		p->queue[q].holder = NULL;
		mu_lock_release(&p->queue[q].lock);
	}
	free(p->queues_to);
	free(p->told);
	p->queues_to = NULL;
	p->told = NULL;
	p->queues = 0;
}

void mu_holder_close(struct mu_holder *h, int timeout_ms)
{
	if (!h)
		return;
	mu_holders_wait_idle(&h, 1, timeout_ms);
	discard_holder(h);
}
