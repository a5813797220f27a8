/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault: wraps any port and damages what is sent, in the same way for the same seed.
 *
 *   spec   fault(loss=P,dup=P,reorder=P,corrupt=P,delay_us=N,seed=N)+SPEC
 *
 *   loss     the frame is lost
 *   dup      it is sent twice
 *   reorder  it is delayed until 1 to 4 further frames of the port have been sent, or 1 ms
 *   corrupt  1 to 8 adjacent bytes are changed
 *   delay_us each frame leaves that much later (in order, at the first call after that time)
 *
 * What happens to a frame depends only on the seed, the index of the peer and the number of the
 * frame among those to that peer. Each kind of fault has random numbers of its own, so a change of
 * one rate does not change which frames suffer from the others. A frame that the port below does
 * not take now is not counted; when it is offered again, the same happens to it.
 *
 * drv_port_fault_rule() adds faults that hold from one time to another.
 *
 * A frame without a fault passes through in the buffer in which it was built. Others are copied to
 * a list of delayed frames, ordered by due time. When the list is full, sending is "not now".
 */
#define _GNU_SOURCE
#include "drivers/port_fault.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/clock.h"
#include "drivers/base/rng.h"
#include "drivers/port_driver.h"

#define FAULT_DELAYED    1024u
#define FAULT_REORDER_US 1000u

struct fault_delayed {
	struct fault_delayed *next;
	uint64_t due_ticks;
	uint64_t after;      /* leaves when the port has been given this many frames, */
	uint64_t late_ticks; /* or at this time */
	int32_t peer;
	uint32_t bytes;
	unsigned char *data;
};

struct fault_fate {
	int lost, copies, reordered, corrupted;
	uint64_t overtakers;
	uint32_t corrupt_at, corrupt_bytes;
	uint64_t corrupt_with;
	uint64_t delay_ticks, busy_ticks; /* of which the rate takes busy_ticks */
};

struct fault_peer {
	uint64_t frames;     /* given to the port */
	uint64_t free_ticks; /* RATE: when the last frame has left */
	uint32_t host;
};

struct fault_port {
	struct drv_port port;
	struct drv_port *below;
	double loss, dup, reorder, corrupt;
	uint64_t delay_us, seed;
	struct drv_fault_stat stat;

	struct fault_peer *peer;
	int peers;
	struct drv_fault_rule *rule;
	unsigned rules;

	struct fault_delayed *first, **last, *free;
	struct fault_delayed delayed_frame[FAULT_DELAYED];
	unsigned char *memory;
};

static int fault_hits(struct drv_rng *r, double rate)
{
	return drv_rng_unit(r) < rate;
}

/* The rates that hold for a frame now. */
struct fault_rates {
	double loss, dup, reorder, corrupt, delay_us, bytes_per_ns;
};

static void add_rules(const struct fault_port *w, uint32_t host, struct fault_rates *x)
{
	uint64_t now = drv_clock_ns();

	for (unsigned i = 0; i < w->rules; i++) {
		const struct drv_fault_rule *k = &w->rule[i];

		if (now < k->at_ns || now >= k->end_ns ||
		    (k->host != DRV_FAULT_ANY_HOST && k->host != host))
			continue;
		switch (k->kind) {
		case DRV_FAULT_CUT:
			x->loss = 1;
			break;
		case DRV_FAULT_LOSS:
			x->loss += k->value;
			break;
		case DRV_FAULT_CORRUPT:
			x->corrupt += k->value;
			break;
		case DRV_FAULT_DUP:
			x->dup += k->value;
			break;
		case DRV_FAULT_REORDER:
			x->reorder += k->value;
			break;
		case DRV_FAULT_DELAY:
			x->delay_us += k->value;
			break;
		case DRV_FAULT_RATE:
			if (x->bytes_per_ns == 0 || k->value < x->bytes_per_ns)
				x->bytes_per_ns = k->value;
		}
	}
}

/* Set how long the frame waits before it leaves. */
static void set_delay(const struct fault_port *w, const struct drv_frame *f,
		      const struct fault_rates *x, struct fault_fate *d)
{
	double per_us = (double)drv_clock_ticks_per_us();
	uint64_t now, busy = w->peer[f->peer].free_ticks;

	if (x->bytes_per_ns > 0) {
		now = drv_clock_ticks();
		d->busy_ticks = (busy > now ? busy - now : 0) +
				(uint64_t)(f->bytes / x->bytes_per_ns * per_us / 1000) + 1;
	}
	d->delay_ticks = d->busy_ticks + (uint64_t)(x->delay_us * per_us);
}

static struct fault_fate fault_fate(const struct fault_port *w, const struct drv_frame *f)
{
	struct fault_rates x = {.loss = w->loss,
				.dup = w->dup,
				.reorder = w->reorder,
				.corrupt = w->corrupt,
				.delay_us = (double)w->delay_us};
	struct fault_fate d = {.copies = 1};
	struct drv_rng r;

	if (w->rules)
		add_rules(w, w->peer[f->peer].host, &x);
	if (w->rules || w->delay_us)
		set_delay(w, f, &x, &d);

	drv_rng_seed(&r, w->seed);
	drv_rng_seed(&r, drv_rng_next(&r) + (uint64_t)f->peer);
	drv_rng_seed(&r, drv_rng_next(&r) + w->peer[f->peer].frames);
	d.lost = fault_hits(&r, x.loss);
	d.copies += fault_hits(&r, x.dup);
	d.reordered = fault_hits(&r, x.reorder);
	d.corrupted = fault_hits(&r, x.corrupt);
	d.overtakers = 1 + drv_rng_below(&r, 4);
	d.corrupt_at = (uint32_t)drv_rng_below(&r, f->bytes);
	d.corrupt_bytes = 1 + (uint32_t)drv_rng_below(&r, 8);
	/* No byte is zero, so each byte changes. */
	d.corrupt_with = drv_rng_next(&r) | 0x0101010101010101u;
	return d;
}

static void fault_corrupt(const struct fault_fate *d, unsigned char *data, uint32_t bytes)
{
	for (uint32_t i = 0; i < d->corrupt_bytes && d->corrupt_at + i < bytes; i++)
		data[d->corrupt_at + i] ^= (unsigned char)(d->corrupt_with >> 8 * i);
}

/* Send one delayed frame. Returns 0 or -EAGAIN. */
static int fault_send_delayed(struct fault_port *w, const struct fault_delayed *h)
{
	struct drv_frame f = {.peer = h->peer};

	if (drv_port_tx_get(w->below, &f))
		return -EAGAIN;
	memcpy(f.data, h->data, h->bytes);
	f.bytes = h->bytes;
	f.peer = h->peer;
	if (drv_port_tx_send(w->below, &f, 1) == 1)
		return 0;
	drv_port_tx_put(w->below, &f);
	return -EAGAIN;
}

/* Send the delayed frames that are due. Returns -EAGAIN if the port below did not take all. */
static int fault_send_due(struct fault_port *w)
{
	struct fault_delayed **at = &w->first, *h;
	uint64_t now;

	if (!w->first)
		return 0;
	now = drv_clock_ticks();
	/* Without rules the list is in the order of the times. */
	while ((h = *at) && (w->rules || h->due_ticks <= now)) {
		if (h->due_ticks > now || (w->stat.frames < h->after && now < h->late_ticks)) {
			at = &h->next;
			continue;
		}
		if (fault_send_delayed(w, h))
			return -EAGAIN;
		*at = h->next;
		if (!*at)
			w->last = at;
		h->next = w->free;
		w->free = h;
	}
	return 0;
}

static void fault_delay(struct fault_port *w, const struct drv_frame *f, const struct fault_fate *d,
			int copy)
{
	struct fault_delayed *h = w->free;
	uint64_t rate = drv_clock_ticks_per_us();

	w->free = h->next;
	h->due_ticks = drv_clock_ticks() + d->delay_ticks;
	h->late_ticks = h->due_ticks + FAULT_REORDER_US * rate;
	h->after = w->stat.frames + 1 + (d->reordered && !copy ? d->overtakers : 0);
	h->peer = f->peer;
	h->bytes = f->bytes;
	memcpy(h->data, f->data, f->bytes);
	if (d->corrupted && !copy)
		fault_corrupt(d, h->data, h->bytes);
	h->next = NULL;
	*w->last = h;
	w->last = &h->next;
}

static int fault_is_none(const struct fault_fate *d)
{
	return !d->lost && d->copies == 1 && !d->reordered && !d->corrupted && !d->delay_ticks;
}

static void fault_count(struct fault_port *w, const struct drv_frame *f, const struct fault_fate *d)
{
	w->peer[f->peer].frames++;
	if (d->busy_ticks)
		w->peer[f->peer].free_ticks = drv_clock_ticks() + d->busy_ticks;
	w->stat.frames++;
	w->port.stat.tx_frames++;
	w->port.stat.tx_bytes += f->bytes;
	w->stat.lost += (uint64_t)d->lost;
	if (d->lost)
		return;
	w->stat.duplicated += (uint64_t)d->copies - 1;
	w->stat.reordered += (uint64_t)d->reordered;
	w->stat.corrupted += (uint64_t)d->corrupted;
	w->stat.delayed += d->delay_ticks != 0;
}

/* Send one frame or delay it. Returns 0 if it was taken, otherwise -EAGAIN. */
static int fault_send_one(struct fault_port *w, struct drv_frame *f)
{
	struct fault_fate d = fault_fate(w, f);
	struct drv_frame sent = *f;

	if (fault_is_none(&d)) {
		if (drv_port_tx_send(w->below, f, 1) != 1)
			return -EAGAIN;
	} else if (d.lost) {
		drv_port_tx_put(w->below, f);
	} else {
		if (!w->free || (d.copies == 2 && !w->free->next))
			return -EAGAIN;
		for (int copy = 0; copy < d.copies; copy++)
			fault_delay(w, f, &d, copy);
		drv_port_tx_put(w->below, f);
	}
	fault_count(w, &sent, &d);
	return 0;
}

static int fault_tx_send(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	struct fault_port *w = (struct fault_port *)p;
	unsigned i;

	/* Delayed frames that are due leave first. */
	for (i = 0; i < n && !fault_send_due(w); i++)
		if (fault_send_one(w, &f[i]))
			break;
	if (i == n)
		fault_send_due(w);
	else
		p->stat.tx_busy++;
	return (int)i;
}

static int fault_tx_get(struct drv_port *p, struct drv_frame *f)
{
	struct fault_port *w = (struct fault_port *)p;
	int rc = drv_port_tx_get(w->below, f);

	if (rc)
		p->stat.tx_busy++;
	return rc;
}

static void fault_tx_put(struct drv_port *p, struct drv_frame *f)
{
	drv_port_tx_put(((struct fault_port *)p)->below, f);
}

static int fault_rx(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	struct fault_port *w = (struct fault_port *)p;
	int got;

	fault_send_due(w);
	got = drv_port_rx(w->below, f, n);
	p->stat.rx_frames = w->below->stat.rx_frames;
	p->stat.rx_bytes = w->below->stat.rx_bytes;
	p->stat.rx_dropped = w->below->stat.rx_dropped;
	return got;
}

static void fault_rx_done(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	drv_port_rx_done(((struct fault_port *)p)->below, f, n);
}

static int fault_arm(struct drv_port *p)
{
	struct fault_port *w = (struct fault_port *)p;

	fault_send_due(w);
	/* Delayed frames need periodic polls. */
	return w->first ? -ENOTSUP : drv_port_arm(w->below);
}

static int fault_peer(struct drv_port *p, const char *address)
{
	struct fault_port *w = (struct fault_port *)p;
	int peer = drv_port_peer(w->below, address);

	if (peer >= w->peers) {
		struct fault_peer *grown = realloc(w->peer, sizeof *grown * ((size_t)peer + 1));

		if (!grown)
			return -ENOMEM;
		w->peer = grown;
		for (; w->peers <= peer; w->peers++)
			grown[w->peers] = (struct fault_peer){.host = DRV_FAULT_ANY_HOST};
	}
	return peer;
}

static int fault_address(struct drv_port *p, char *text, size_t bytes)
{
	return drv_port_address(((struct fault_port *)p)->below, text, bytes);
}

static void fault_close(struct drv_port *p)
{
	struct fault_port *w = (struct fault_port *)p;

	drv_port_close(w->below);
	free(w->peer);
	free(w->rule);
	free(w->memory);
	free(w);
}

static const struct drv_port_ops fault_ops = {
    .name = "fault",
    .tx_get = fault_tx_get,
    .tx_send = fault_tx_send,
    .tx_put = fault_tx_put,
    .rx = fault_rx,
    .rx_done = fault_rx_done,
    .arm = fault_arm,
    .peer = fault_peer,
    .address = fault_address,
    .close = fault_close,
};

int drv_port_fault_stat(const struct drv_port *port, struct drv_fault_stat *stat)
{
	if (port->ops != &fault_ops)
		return -EINVAL;
	*stat = ((const struct fault_port *)port)->stat;
	return 0;
}

int drv_port_fault_rule(struct drv_port *port, const struct drv_fault_rule *rule)
{
	struct fault_port *w = (struct fault_port *)port;
	struct drv_fault_rule *grown;

	if (port->ops != &fault_ops)
		return -EINVAL;
	grown = realloc(w->rule, (w->rules + 1) * sizeof *grown);
	if (!grown)
		return -ENOMEM;
	w->rule = grown;
	w->rule[w->rules++] = *rule;
	return 0;
}

int drv_port_fault_host(struct drv_port *port, const char *address, uint32_t host)
{
	struct fault_port *w = (struct fault_port *)port;
	int peer;

	if (port->ops != &fault_ops)
		return -EINVAL;
	peer = fault_peer(port, address);
	if (peer >= 0)
		w->peer[peer].host = host;
	return peer < 0 ? peer : 0;
}

static int fault_parse(const char *args, struct fault_port *w, struct drv_port_why *why)
{
	const struct {
		const char *name;
		double *rate;
		uint64_t *number, max;
	} known[] = {
	    {"loss", &w->loss, NULL, 0},
	    {"dup", &w->dup, NULL, 0},
	    {"reorder", &w->reorder, NULL, 0},
	    {"corrupt", &w->corrupt, NULL, 0},
	    {"delay_us", NULL, &w->delay_us, 10000000},
	    {"seed", NULL, &w->seed, UINT64_MAX},
	};
	char word[64], *value;
	int rc;

	while ((rc = drv_port_arg_next(&args, word, sizeof word, &value)) > 0) {
		size_t i = 0;

		while (i < sizeof known / sizeof *known && strcmp(word, known[i].name))
			i++;
		if (i == sizeof known / sizeof *known)
			return drv_port_fail(
			    why, -EINVAL,
			    "fault has no '%s'; it has loss, dup, reorder, corrupt (each "
			    "0 .. 1), delay_us (0 .. 10000000) and seed",
			    word);
		if (known[i].rate && drv_port_arg_unit(value, known[i].rate))
			return drv_port_fail(why, -EINVAL, "fault %s is not a number 0 .. 1", word);
		if (known[i].number && drv_port_arg_u64(value, 0, known[i].max, known[i].number))
			return drv_port_fail(why, -EINVAL,
					     "fault %s is not a whole number 0 .. %llu", word,
					     (unsigned long long)known[i].max);
	}
	return rc ? drv_port_fail(why, rc, "an argument of fault is too long") : 0;
}

int drv_port_fault_wrap(const char *args, struct drv_port *below, struct drv_port **port,
			struct drv_port_why *why)
{
	struct fault_port *w = calloc(1, sizeof *w);
	size_t step = (below->frame_bytes_max + 63u) & ~(size_t)63;
	int rc;

	if (!w)
		return -ENOMEM;
	rc = fault_parse(args, w, why);
	if (rc)
		goto err_free;
	rc = -ENOMEM;
	w->memory = aligned_alloc(64, step * FAULT_DELAYED);
	if (!w->memory)
		goto err_free;
	for (unsigned i = 0; i < FAULT_DELAYED; i++) {
		w->delayed_frame[i].data = w->memory + step * i;
		w->delayed_frame[i].next = w->free;
		w->free = &w->delayed_frame[i];
	}
	w->last = &w->first;
	w->below = below;
	w->port.ops = &fault_ops;
	w->port.frame_bytes_max = below->frame_bytes_max;
	*port = &w->port;
	return 0;

err_free:
	free(w);
	return rc;
}
