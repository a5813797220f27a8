/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/drivers/wire_lab.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/crc32c.h"
#include "tests/harness/t.h"

struct lab_port {
	struct drv_port port;
	struct lab_net *net;
	int place;
};

/* What the lab remembers of a lent buffer. */
struct lab_buffer {
	bool is_kept;
	uint32_t bytes, sum; /* of the frame when it was sent */
};

static int is_hit(double rate)
{
	return rate > 0 && drv_rng_unit(t_rng()) < rate;
}

void lab_net_init(struct lab_net *net)
{
	*net = (struct lab_net){.delay_ns = 5000, .frame_bytes_max = 9000, .now = 1000000};
}

void lab_net_fini(struct lab_net *net)
{
	struct lab_flight *f;

	CHECK_EQ(net->tx_get_lent, 0);
	while ((f = net->flights)) {
		net->flights = f->next;
		free(f->data);
		free(f);
	}
}

static int lab_tx_get(struct drv_port *p, struct drv_frame *f)
{
	struct lab_net *net = ((struct lab_port *)p)->net;

	if (is_hit(net->busy))
		return -EAGAIN;
	f->data = malloc(p->frame_bytes_max);
	f->bytes = p->frame_bytes_max;
	f->cookie = calloc(1, sizeof(struct lab_buffer));
	net->tx_get_lent++;
	return 0;
}

static void lab_tx_put(struct drv_port *p, struct drv_frame *f)
{
	struct lab_buffer *b = f->cookie;

	/* The device might still have read it. */
	CHECK(!b->is_kept || drv_crc32c(0, f->data, b->bytes) == b->sum);
	free(b);
	free(f->data);
	((struct lab_port *)p)->net->tx_get_lent--;
}

/* The port has taken a frame. Its buffer is free, unless the sender keeps it. */
static void finish_sending(struct drv_port *p, struct drv_frame *f)
{
	struct lab_buffer *b = f->cookie;

	if (!f->keep) {
		lab_tx_put(p, f);
		return;
	}
	CHECK(!b->is_kept); /* a kept frame is sent once */
	*b = (struct lab_buffer){true, f->bytes, drv_crc32c(0, f->data, f->bytes)};
	((struct lab_port *)p)->net->kept++;
}

/* In order of due time; equal times stay in order of sending. */
static void queue_flight(struct lab_net *net, int from, const struct drv_frame *f, uint64_t delay)
{
	struct lab_flight *g = malloc(sizeof *g), **at = &net->flights;

	*g = (struct lab_flight){
	    .from = from, .to = f->peer, .due = net->now + delay, .bytes = f->bytes};
	g->data = malloc(f->bytes);
	memcpy(g->data, f->data, f->bytes);
	if (is_hit(net->corrupt)) {
		g->data[drv_rng_below(t_rng(), f->bytes)] ^=
		    (unsigned char)(1 + drv_rng_below(t_rng(), 255));
		net->corrupted++;
	}
	while (*at && (*at)->due <= g->due)
		at = &(*at)->next;
	g->next = *at;
	*at = g;
}

void lab_inject(struct lab_net *net, int from, int to, unsigned char *data, uint32_t bytes)
{
	struct drv_frame f = {.data = data, .bytes = bytes, .peer = to};

	queue_flight(net, from, &f, 0);
}

static int lab_tx_send(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	struct lab_port *l = (struct lab_port *)p;
	struct lab_net *net = l->net;
	unsigned i;

	net->bursts++;
	for (i = 0; i < n && !is_hit(net->busy); i++) {
		const struct drv_frame_header *h = (const void *)f[i].data;
		uint64_t delay =
		    net->delay_ns + (net->jitter_ns ? drv_rng_below(t_rng(), net->jitter_ns) : 0);

		net->burst_frames++;
		net->kinds[h->kind & 7]++;
		if (is_hit(net->loss) || (net->path_bytes && f[i].bytes > net->path_bytes) ||
		    (net->filter &&
		     !net->filter(net, l->place, f[i].peer, f[i].data, f[i].bytes))) {
			net->lost++;
		} else {
			if (is_hit(net->reorder)) {
				delay += drv_rng_below(t_rng(), 200000);
				net->late++;
			}
			queue_flight(net, l->place, &f[i], delay);
			if (is_hit(net->dup)) {
				queue_flight(net, l->place, &f[i],
					     delay + drv_rng_below(t_rng(), 100000));
				net->dups++;
			}
		}
		finish_sending(p, &f[i]);
	}
	return (int)i;
}

static int lab_tx_gather(struct drv_port *p, struct drv_frame *f, const void *data, uint32_t bytes)
{
	struct lab_port *l = (struct lab_port *)p;
	struct lab_net *net = l->net;
	struct drv_frame whole = {.bytes = f->bytes + bytes, .peer = f->peer};

	CHECK(!net->jitter_ns && whole.bytes <= p->frame_bytes_max);
	if (is_hit(net->busy))
		return 0;
	whole.data = malloc(whole.bytes);
	memcpy(whole.data, f->data, f->bytes);
	memcpy(whole.data + f->bytes, data, bytes);
	net->gathered++;
	if (is_hit(net->loss))
		net->lost++;
	else
		queue_flight(net, l->place, &whole, net->delay_ns);
	free(whole.data);
	lab_tx_put(p, f);
	return 1;
}

static int lab_rx(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	struct lab_port *l = (struct lab_port *)p;
	struct lab_flight **at = &l->net->flights, *g;
	unsigned got = 0;

	while (got < n && (g = *at) && g->due <= l->net->now) {
		if (g->to != l->place) {
			at = &g->next;
			continue;
		}
		*at = g->next;
		f[got].data = g->data;
		f[got].bytes = g->bytes;
		f[got].peer = g->from;
		got++;
		free(g);
	}
	return (int)got;
}

static void lab_rx_done(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	(void)p;
	for (unsigned i = 0; i < n; i++)
		free(f[i].data);
}

static int lab_arm(struct drv_port *p)
{
	(void)p;
	return -ENOTSUP;
}

static int lab_peer(struct drv_port *p, const char *address)
{
	int place;

	(void)p;
	return sscanf(address, "lab/%d", &place) == 1 ? place : -EINVAL;
}

static int lab_address(struct drv_port *p, char *text, size_t bytes)
{
	snprintf(text, bytes, "lab/%d", ((struct lab_port *)p)->place);
	return 0;
}

static void lab_close(struct drv_port *p)
{
	((struct lab_port *)p)->net->ports[((struct lab_port *)p)->place]--;
	free(p);
}

#define LAB_OPS                                                                                    \
	.name = "lab", .tx_get = lab_tx_get, .tx_send = lab_tx_send, .tx_put = lab_tx_put,         \
	.rx = lab_rx, .rx_done = lab_rx_done, .arm = lab_arm, .peer = lab_peer,                    \
	.address = lab_address, .close = lab_close

static const struct drv_port_ops lab_ops = {LAB_OPS};
static const struct drv_port_ops lab_gather_ops = {LAB_OPS, .tx_gather = lab_tx_gather};

struct drv_port *lab_port(struct lab_net *net, int place)
{
	struct lab_port *l = calloc(1, sizeof *l);

	l->port.ops = net->gathers ? &lab_gather_ops : &lab_ops;
	l->port.frame_bytes_max = net->frame_bytes_max;
	l->port.keep_max = net->keep_max;
	l->net = net;
	l->place = place;
	net->ports[place]++;
	return &l->port;
}

/* --- ends ------------------------------------------------------------------------------------ */

static unsigned char pattern_byte(uint32_t from, uint32_t number, uint32_t i)
{
	return (unsigned char)(from * 7 + number * 31 + i);
}

static int is_good(struct lab_end *end, uint32_t host, uint32_t kind, uint32_t tag,
		   const unsigned char *payload, uint32_t bytes)
{
	uint32_t number;

	if (end->got[host] == UINT32_MAX)
		end->got[host] = tag; /* whatever comes first */
	number = end->got[host];
	if (tag != number || kind != (number & 0xffff) || (uintptr_t)payload % 8)
		return 0;
	for (uint32_t i = 0; i < bytes; i++)
		if (payload[i] != pattern_byte(host, number, i))
			return 0;
	return 1;
}

static int take_message(void *arg, uint32_t host, uint32_t kind, uint32_t tag,
			const unsigned char *payload, uint32_t bytes)
{
	struct lab_end *end = arg;

	if (end->refuse_all || is_hit(end->refuse))
		return -EAGAIN;
	if (!is_good(end, host, kind, tag, payload, bytes)) {
		end->wrong++;
		return 0;
	}
	end->got[host]++;
	if (end->on_run)
		end->on_run(end, host, tag);
	return 0;
}

void lab_end_open(struct lab_end *end, struct lab_net *net, const struct drv_wire_conf *conf)
{
	*end = (struct lab_end){.net = net, .host = conf->self};
	REQUIRE_EQ(drv_wires_open(&end->wires, lab_port(net, (int)conf->self), conf), 0);
}

void lab_end_connect(struct lab_end *end, uint32_t host)
{
	char address[32];

	snprintf(address, sizeof address, "lab/%u", host);
	CHECK_EQ(drv_wires_connect(end->wires, host, address), 0);
}

void lab_end_close(struct lab_end *end)
{
	drv_wires_close(end->wires);
	end->wires = NULL;
}

int lab_end_poll(struct lab_end *end)
{
	return drv_wires_poll(end->wires, end->net->now, take_message, end);
}

/* The same as a gathered run. The data changes as soon as it has left. */
static int send_gathered(struct lab_end *end, uint32_t host, uint32_t bytes)
{
	uint32_t number = end->sent[host], head = number % 3 * 16;
	unsigned char *p = malloc(bytes + 1);
	struct drv_wire_gather g = {
	    .kind = number & 0xffff, .tag = number, .head = p, .data = p + bytes};
	int rc;

	g.head_bytes = head < bytes ? head : bytes;
	g.data = p + g.head_bytes;
	g.bytes = bytes - g.head_bytes;
	for (uint32_t i = 0; i < bytes; i++)
		p[i] = pattern_byte(end->host, number, i);
	rc = drv_wire_send_gathered(end->wires, host, &g);
	memset(p, 0xee, bytes);
	free(p);
	end->sent[host] += !rc;
	return rc;
}

int lab_end_send(struct lab_end *end, uint32_t host, uint32_t bytes)
{
	uint32_t number = end->sent[host];
	unsigned char *p;
	int rc =
	    end->net->gathers && number % 2 ? send_gathered(end, host, bytes & ~15u) : -ENOTSUP;

	if (rc != -ENOTSUP)
		return rc ? -1 : 0;
	p = drv_wire_reserve(end->wires, host, bytes + (number & 7));
	if (!p)
		return -1;
	CHECK_EQ((uintptr_t)p % 16, 0);
	for (uint32_t i = 0; i < bytes; i++)
		p[i] = pattern_byte(end->host, number, i);
	drv_wire_commit(end->wires, host, number & 0xffff, number, bytes);
	end->sent[host]++;
	return 0;
}

int lab_step(struct lab_net *net, struct lab_end **ends, unsigned count)
{
	uint64_t at = net->flights ? net->flights->due : UINT64_MAX;

	for (unsigned i = 0; i < count; i++) {
		uint64_t due = drv_wires_deadline(ends[i]->wires);

		at = due < at ? due : at;
	}
	if (at == UINT64_MAX)
		return 0;
	net->now = at > net->now ? at : net->now + 100;
	for (struct lab_flight **f = &net->flights, *g; (g = *f) && g->due <= net->now;) {
		if (net->ports[g->to]) {
			f = &g->next;
			continue;
		}
		*f = g->next; /* no end is there */
		free(g->data);
		free(g);
	}
	for (unsigned i = 0; i < count; i++)
		lab_end_poll(ends[i]);
	return 1;
}

int lab_settle(struct lab_net *net, struct lab_end **ends, unsigned count, int most)
{
	for (int n = 0; n < most; n++) {
		int idle = !net->flights;

		for (unsigned i = 0; i < count; i++)
			idle &= drv_wires_are_idle(ends[i]->wires) &&
				drv_wires_deadline(ends[i]->wires) == UINT64_MAX;
		if (idle)
			return n;
		if (!lab_step(net, ends, count))
			return -1;
	}
	return -1;
}
