/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault: wraps any port and spoils what is sent, the same way for the same seed.
 *
 *   spec   fault(loss=P,dup=P,reorder=P,corrupt=P,delay_us=N,seed=N)+SPEC
 *
 *   loss     the frame vanishes
 *   dup      it is sent twice
 *   reorder  it is held back until 1 to 4 further frames of the port have been sent, or 1 ms
 *   corrupt  1 to 8 neighbouring bytes are changed
 *   delay_us each frame leaves that much later (in order; waits for a call after that time)
 *
 * What happens to a frame depends on the seed, the peer's index and the frame's number among
 * those to that peer, and on nothing else; each kind has a draw of its own, so that changing one
 * rate leaves the others' victims the same. A frame the port below does not take now is not
 * counted: offered again it meets the same fate.
 *
 * A frame without a fault goes straight through in the buffer it was built in. Others are copied
 * to the held list, ordered by due time; when that is full sending is "not now".
 */
#define _GNU_SOURCE
#include "drivers/port_fault.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/clock.h"
#include "drivers/base/rng.h"
#include "drivers/port_driver.h"

#define FAULT_HELD       1024u
#define FAULT_REORDER_US 1000u

struct fault_held {
	struct fault_held *next;
	uint64_t due_ticks;
	uint64_t after;      /* leaves when this many frames have been handed in ... */
	uint64_t late_ticks; /* ... or at this time */
	int32_t peer;
	uint32_t bytes;
	unsigned char *data;
};

struct fault_fate {
	int lost, copies, reordered, corrupted;
	uint64_t overtakers;
	uint32_t corrupt_at, corrupt_bytes;
	uint64_t corrupt_with;
};

struct fault_port {
	struct drv_port port;
	struct drv_port *below;
	double loss, dup, reorder, corrupt;
	uint64_t delay_us, seed;
	struct drv_fault_stat stat;

	uint64_t *peer_frames; /* handed in, per peer index */
	int peers;

	struct fault_held *first, **last, *free;
	struct fault_held held[FAULT_HELD];
	unsigned char *memory;
};

static int fault_hits(struct drv_rng *r, double rate)
{
	return drv_rng_unit(r) < rate;
}

static struct fault_fate fault_fate(const struct fault_port *w, const struct drv_frame *f)
{
	struct fault_fate d = { .copies = 1 };
	struct drv_rng r;

	drv_rng_seed(&r, w->seed);
	drv_rng_seed(&r, drv_rng_next(&r) + (uint64_t)f->peer);
	drv_rng_seed(&r, drv_rng_next(&r) + w->peer_frames[f->peer]);
	d.lost = fault_hits(&r, w->loss);
	d.copies += fault_hits(&r, w->dup);
	d.reordered = fault_hits(&r, w->reorder);
	d.corrupted = fault_hits(&r, w->corrupt);
	d.overtakers = 1 + drv_rng_below(&r, 4);
	d.corrupt_at = (uint32_t)drv_rng_below(&r, f->bytes);
	d.corrupt_bytes = 1 + (uint32_t)drv_rng_below(&r, 8);
	d.corrupt_with = drv_rng_next(&r) | 0x0101010101010101u; /* no zero byte: each one changes */
	return d;
}

static void fault_corrupt(const struct fault_fate *d, unsigned char *data, uint32_t bytes)
{
	for (uint32_t i = 0; i < d->corrupt_bytes && d->corrupt_at + i < bytes; i++)
		data[d->corrupt_at + i] ^= (unsigned char)(d->corrupt_with >> 8 * i);
}

/* Send one held frame: 0, or -EAGAIN. */
static int fault_send_held(struct fault_port *w, const struct fault_held *h)
{
	struct drv_frame f = { .peer = h->peer };

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

/* Send what is due; -EAGAIN when the port below took less than that. */
static int fault_flush(struct fault_port *w)
{
	struct fault_held **at = &w->first, *h;
	uint64_t now;

	if (!w->first)
		return 0;
	now = drv_clock_ticks();
	while ((h = *at) && h->due_ticks <= now) {
		if (w->stat.frames < h->after && now < h->late_ticks) {
			at = &h->next;
			continue;
		}
		if (fault_send_held(w, h))
			return -EAGAIN;
		*at = h->next;
		if (!*at)
			w->last = at;
		h->next = w->free;
		w->free = h;
	}
	return 0;
}

static void fault_hold(struct fault_port *w, const struct drv_frame *f, const struct fault_fate *d, int copy)
{
	struct fault_held *h = w->free;
	uint64_t rate = drv_clock_ticks_per_us();

	w->free = h->next;
	h->due_ticks = drv_clock_ticks() + w->delay_us * rate;
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

static int fault_plain(const struct fault_port *w, const struct fault_fate *d)
{
	return !d->lost && d->copies == 1 && !d->reordered && !d->corrupted && !w->delay_us;
}

static void fault_count(struct fault_port *w, const struct drv_frame *f, const struct fault_fate *d)
{
	w->peer_frames[f->peer]++;
	w->stat.frames++;
	w->port.stat.tx_frames++;
	w->port.stat.tx_bytes += f->bytes;
	w->stat.lost += (uint64_t)d->lost;
	if (d->lost)
		return;
	w->stat.duplicated += (uint64_t)d->copies - 1;
	w->stat.reordered += (uint64_t)d->reordered;
	w->stat.corrupted += (uint64_t)d->corrupted;
	w->stat.delayed += w->delay_us != 0;
}

/* One frame: 0 taken, -EAGAIN not. */
static int fault_send_one(struct fault_port *w, struct drv_frame *f)
{
	struct fault_fate d = fault_fate(w, f);
	struct drv_frame sent = *f;

	if (fault_plain(w, &d)) {
		if (drv_port_tx_send(w->below, f, 1) != 1)
			return -EAGAIN;
	} else if (d.lost) {
		drv_port_tx_put(w->below, f);
	} else {
		if (!w->free || (d.copies == 2 && !w->free->next))
			return -EAGAIN;
		for (int copy = 0; copy < d.copies; copy++)
			fault_hold(w, f, &d, copy);
		drv_port_tx_put(w->below, f);
	}
	fault_count(w, &sent, &d);
	return 0;
}

static int fault_tx_send(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	struct fault_port *w = (struct fault_port *)p;
	unsigned i;

	/* What was handed in earlier and is due leaves first. */
	for (i = 0; i < n && !fault_flush(w); i++)
		if (fault_send_one(w, &f[i]))
			break;
	if (i == n)
		fault_flush(w);
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

	fault_flush(w);
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

	fault_flush(w);
	return w->first ? -ENOTSUP : drv_port_arm(w->below); /* held frames need the caller's ticks */
}

static int fault_peer(struct drv_port *p, const char *address)
{
	struct fault_port *w = (struct fault_port *)p;
	int peer = drv_port_peer(w->below, address);

	if (peer >= w->peers) {
		uint64_t *grown = realloc(w->peer_frames, sizeof *grown * ((size_t)peer + 1));

		if (!grown)
			return -ENOMEM;
		memset(grown + w->peers, 0, sizeof *grown * (size_t)(peer + 1 - w->peers));
		w->peer_frames = grown;
		w->peers = peer + 1;
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
	free(w->peer_frames);
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

static int fault_parse(const char *args, struct fault_port *w, struct drv_port_why *why)
{
	const struct {
		const char *name;
		double *rate;
		uint64_t *number, max;
	} known[] = {
		{ "loss", &w->loss, NULL, 0 },
		{ "dup", &w->dup, NULL, 0 },
		{ "reorder", &w->reorder, NULL, 0 },
		{ "corrupt", &w->corrupt, NULL, 0 },
		{ "delay_us", NULL, &w->delay_us, 10000000 },
		{ "seed", NULL, &w->seed, UINT64_MAX },
	};
	char word[64], *value;
	int rc;

	while ((rc = drv_port_arg_next(&args, word, sizeof word, &value)) > 0) {
		size_t i = 0;

		while (i < sizeof known / sizeof *known && strcmp(word, known[i].name))
			i++;
		if (i == sizeof known / sizeof *known)
			return drv_port_fail(why, -EINVAL,
			                     "fault has no '%s'; it has loss, dup, reorder, corrupt (each "
			                     "0 .. 1), delay_us (0 .. 10000000) and seed",
			                     word);
		if (known[i].rate && drv_port_arg_unit(value, known[i].rate))
			return drv_port_fail(why, -EINVAL, "fault %s is not a number 0 .. 1", word);
		if (known[i].number && drv_port_arg_u64(value, 0, known[i].max, known[i].number))
			return drv_port_fail(why, -EINVAL, "fault %s is not a whole number 0 .. %llu", word,
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
	w->memory = aligned_alloc(64, step * FAULT_HELD);
	if (!w->memory)
		goto err_free;
	for (unsigned i = 0; i < FAULT_HELD; i++) {
		w->held[i].data = w->memory + step * i;
		w->held[i].next = w->free;
		w->free = &w->held[i];
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
