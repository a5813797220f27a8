/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "drivers/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "drivers/base/log.h"
#include "drivers/wire_state.h"

/*
 * Return an epoch that is later in each later life of a process: the wall clock in units of 16 us,
 * modulo 2^32.
 */
static uint32_t epoch_now(void)
{
	struct timespec t;
	uint32_t epoch;

	clock_gettime(CLOCK_REALTIME, &t);
	epoch = (uint32_t)(((uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000) >> 4);
	return epoch ? epoch : 1;
}

/*
 * Choose the checksum. Memory needs none, and only memory gathers. The checksum of a network does
 * not cover the machines between the ends.
 */
static enum drv_frame_cover choose_cover(const struct drv_wires *ws)
{
	switch (ws->conf.checksum) {
	case DRV_WIRE_CHECKSUM_OFF:
		return DRV_FRAME_COVER_NONE;
	case DRV_WIRE_CHECKSUM_HEADER:
		return DRV_FRAME_COVER_HEADER;
	default:
		if (ws->expects_corruption)
			return DRV_FRAME_COVER_ALL;
		return drv_port_gathers(ws->port) || !strcmp(ws->port->ops->name, "shm")
			   ? DRV_FRAME_COVER_NONE
			   : DRV_FRAME_COVER_HEADER;
	}
}

static int complete_conf(struct drv_wires *ws, const struct drv_wire_conf *conf)
{
	struct drv_wire_conf *c = &ws->conf;
	uint32_t most = ws->port->frame_bytes_max;

	*c = *conf;
	if (c->queue >= DRV_PORT_QUEUES_MAX || (c->queue && c->hosts > WIRE_QUEUED_HOSTS)) {
		drv_error("wires: queue %u, %u hosts: queues are 0 .. %d, of %u hosts at most",
			  c->queue, c->hosts, DRV_PORT_QUEUES_MAX - 1, WIRE_QUEUED_HOSTS);
		return -EINVAL;
	}
	c->job += c->queue;
	if (c->self >= c->hosts || c->hosts > 65535) {
		drv_error("wires: host %u of %u: the own host must be one of 1 .. 65535 hosts",
			  c->self, c->hosts);
		return -EINVAL;
	}
	if (!c->window_bytes)
		c->window_bytes = DRV_WIRE_WINDOW_BYTES;
	if (!c->window_frames)
		c->window_frames = DRV_WIRE_WINDOW_FRAMES;
	if (c->window_bytes > 1u << 30 || c->window_frames > WIRE_WINDOW_MAX) {
		drv_error("wires: a window of %u bytes, %u frames is too large: at most 2^30, 4096",
			  c->window_bytes, c->window_frames);
		return -EINVAL;
	}
	if (c->frame_bytes && most > c->frame_bytes)
		most = c->frame_bytes;
	if (most > DRV_FRAME_BYTES_MAX)
		most = DRV_FRAME_BYTES_MAX;
	if (c->seal)
		most = most > DRV_FRAME_TRAILER ? most - DRV_FRAME_TRAILER : 0;
	ws->frame_bytes_max = most & ~(DRV_FRAME_RUN - 1);
	if (ws->frame_bytes_max < DRV_FRAME_HEADER + sizeof(struct drv_frame_note)) {
		drv_error(
		    "wires: frames of %u bytes are too small: use an interface with a larger MTU",
		    most);
		return -EINVAL;
	}
	ws->frame_bytes_first = ws->frame_bytes_max < DRV_WIRE_FRAME_BYTES_MIN
				    ? ws->frame_bytes_max
				    : DRV_WIRE_FRAME_BYTES_MIN;
	ws->expects_corruption =
	    !strcmp(ws->port->ops->name, "fault") || c->checksum == DRV_WIRE_CHECKSUM_ON;
	ws->want_cover = c->seal ? DRV_FRAME_COVER_NONE : choose_cover(ws);
	/* Encryption changes the runs of a frame where they are. */
	ws->keep_max = c->seal == DRV_SEAL_ENCRYPTED ? 0 : ws->port->keep_max;
	ws->gathers =
	    drv_port_gathers(ws->port) && !c->seal && ws->want_cover != DRV_FRAME_COVER_ALL;
	ws->confirm_acks = !c->seal && ws->want_cover != DRV_FRAME_COVER_NONE;
	/* A test that sets the epoch must be repeatable, so the life is made of that epoch. */
	ws->life = (uint64_t)c->self << 32 | c->epoch;
	if (!c->epoch) {
		c->epoch = epoch_now() + c->queue; /* a trace tells frames of queues apart by it */
		if (getrandom(&ws->life, sizeof ws->life, GRND_NONBLOCK) != sizeof ws->life)
			ws->life = (uint64_t)getpid() << 32 | c->epoch;
		if (getrandom(&ws->secret, sizeof ws->secret, GRND_NONBLOCK) != sizeof ws->secret)
			ws->secret = ws->life;
	}
	return 0;
}

static void init_wire(struct drv_wires *ws, struct wire *w, uint32_t host)
{
	uint32_t slots = 1;

	while (slots < ws->conf.window_frames)
		slots *= 2;
	w->host = host;
	w->peer = -1;
	w->own_epoch = ws->conf.epoch;
	w->number = (uint64_t)ws->conf.epoch << 32; /* above all numbers of an earlier life */
	w->una = w->sent = w->ever_sent = w->next = w->asked = w->recover = ws->conf.first_sequence;
	w->tx_cover = (uint8_t)ws->want_cover;
	w->frame_bytes = ws->frame_bytes_first;
	w->slot_mask = slots - 1;
	w->peer_window = ws->conf.window_frames;
	w->cwnd =
	    WIRE_CWND_FIRST < ws->conf.window_frames ? WIRE_CWND_FIRST : ws->conf.window_frames;
	w->ssthresh = ws->conf.window_frames;
	w->rto_ns = WIRE_RTO_FIRST_NS;
	w->rto_at = w->hello_at = w->probe_at = w->ack_at = w->confirm_at = WIRE_TIMER_OFF;
}

static void free_wires(struct drv_wires *ws)
{
	drv_seal_close(ws->seal);
	free(ws->seen);
	free(ws->active);
	free(ws->wire);
	free(ws->head.open);
	explicit_bzero(&ws->conf, sizeof ws->conf); /* it contains the key */
	free(ws);
}

int drv_wires_open(struct drv_wires **wires, struct drv_port *port,
		   const struct drv_wire_conf *conf)
{
	struct drv_wires *ws = calloc(1, sizeof *ws);
	int err = -ENOMEM;

	if (!ws)
		return err;
	ws->port = port;
	err = complete_conf(ws, conf);
	if (!err && ws->conf.seal)
		err = drv_seal_open(&ws->seal, ws->conf.seal, ws->conf.key);
	if (err)
		goto err_free;
	err = -ENOMEM;
	ws->active_words = (ws->conf.hosts + 63) / 64;
	ws->active = calloc(ws->active_words, sizeof *ws->active);
	ws->wire = calloc(ws->conf.hosts, sizeof *ws->wire);
	ws->head.open = calloc(ws->conf.hosts, sizeof *ws->head.open);
	ws->seen = ws->seal ? calloc(ws->conf.hosts, sizeof *ws->seen) : NULL;
	if (!ws->active || !ws->wire || !ws->head.open || (ws->seal && !ws->seen))
		goto err_free;
	for (uint32_t i = 0; i < ws->conf.hosts; i++)
		init_wire(ws, &ws->wire[i], i);
	*wires = ws;
	return 0;
err_free:
	free_wires(ws);
	return err;
}

/* Send a goodbye three times, because a lost one is not sent again. */
static void say_goodbye(struct drv_wires *ws, struct wire *w)
{
	struct drv_frame_header want = {.kind = DRV_FRAME_BYE};

	for (int i = 0; i < 3 && w->rx_ready; i++)
		wire_tx_control(ws, w, &want, NULL);
}

void drv_wires_close(struct drv_wires *ws)
{
	if (!ws)
		return;
	for (uint32_t i = 0; i < ws->conf.hosts; i++) {
		struct wire *w = &ws->wire[i];

		say_goodbye(ws, w);
		wire_rx_discard_stored(w);
		free(w->stored);
		free(w->deferred);
		wire_tx_return_buffers(ws, w);
		free(w->slot);
		free(w->kept);
		free(w->ring);
	}
	drv_port_close(ws->port);
	free_wires(ws);
}

int drv_wires_connect(struct drv_wires *ws, uint32_t host, const char *address)
{
	struct wire *w;
	int peer;

	if (host >= ws->conf.hosts || host == ws->conf.self)
		return -EINVAL;
	w = &ws->wire[host];
	peer = drv_port_peer(ws->port, address);
	if (peer < 0)
		return peer;
	w->peer = peer;
	if (!wire_is_connected(w)) {
		w->peer_closed = 0;
		w->hello_at = 0;
		w->hello_delay = 0;
		wire_activate(ws, w);
	}
	return 0;
}

uint32_t drv_wires_run_max(const struct drv_wires *ws, uint32_t host)
{
	return ws->wire[host].frame_bytes - DRV_FRAME_HEADER - DRV_FRAME_RUN;
}

static void send_owed_ack(struct drv_wires *ws, struct wire *w)
{
	struct drv_frame_header want = {.kind = DRV_FRAME_ACK};

	if (w->ack_now || ws->now >= w->ack_at)
		wire_tx_control(ws, w, &want, NULL);
}

/* True if a later poll has something to do for this wire even if nothing arrives. */
static int needs_service(const struct drv_wires *ws, const struct wire *w)
{
	if (w->has_deferred || w->ack_owed)
		return 1;
	if (w->peer_closed)
		return w->bye_queries != 0;
	if (w->peer < 0)
		return w->una != w->next || wire_open_has_runs(ws, w);
	return !wire_is_connected(w) || w->una != w->next || wire_open_has_runs(ws, w) ||
	       w->probe_at != WIRE_TIMER_OFF || w->confirm_at != WIRE_TIMER_OFF;
}

/*
 * Find out whether the program sends in bursts. If so, the first run of the next burst waits and
 * leaves with the others; alone it would cost a frame.
 */
static void update_bursts(struct drv_wires *ws, struct wire *w)
{
	struct drv_wire_open *o = &ws->head.open[w->host];

	if (o->since_poll >= WIRE_BURST_RUNS)
		w->bursts += w->bursts < WIRE_BURSTS;
	else if (o->since_poll)
		w->bursts = 0;
	o->since_poll = 0;
}

static void service_wire(struct drv_wires *ws, struct wire *w)
{
	w->tx_busy = 0;
	update_bursts(ws, w);
	if (!wire_is_connected(w) && w->peer >= 0 && !w->peer_closed)
		wire_hello_timer(ws, w);
	if (__builtin_expect(w->peer_closed && w->bye_queries, 0))
		wire_bye_timer(ws, w);
	if (w->tx_ready) {
		if (w->una != w->sent)
			wire_ack_timer(ws, w);
		if (w->probe_at != WIRE_TIMER_OFF)
			wire_probe_timer(ws, w);
		if (ws->now >= w->confirm_at)
			wire_confirm_timer(ws, w);
		/* While the window is full, the open frame can collect more runs. */
		if (wire_open_has_runs(ws, w) && wire_in_flight(w) < w->cwnd)
			wire_tx_close(ws, w);
		if (w->lost || w->sent != w->next)
			wire_tx_push(ws, w);
	}
	if (w->ack_owed)
		send_owed_ack(ws, w);
	if (!needs_service(ws, w))
		ws->active[w->host >> 6] &= ~(1ull << (w->host & 63));
}

#define for_active(ws, i)                                                                          \
	for (uint32_t word_ = 0; word_ < (ws)->active_words; word_++)                              \
		for (uint64_t bits_ = (ws)->active[word_];                                         \
		     bits_ && (i = word_ * 64 + (uint32_t)__builtin_ctzll(bits_), 1);              \
		     bits_ &= bits_ - 1)

int drv_wires_receive(struct drv_wires *ws, uint64_t now_ns, drv_wire_run_fn fn, void *arg)
{
	struct drv_frame f[DRV_PORT_BURST];
	uint32_t i;
	int n;

	if (now_ns > ws->now)
		ws->now = now_ns;
	ws->fn = fn;
	ws->arg = arg;
	ws->polling = 1;
	ws->delivered = 0;
	if (__builtin_expect(ws->deferred_wires != 0, 0))
		for_active(ws, i) if (ws->wire[i].has_deferred)
		    wire_rx_offer_deferred(ws, &ws->wire[i]);
	n = drv_port_rx(ws->port, f, DRV_PORT_BURST);
	ws->burst = f;
	ws->burst_frames = n;
	for (int k = 0; k < n; k++) {
		if (k + 1 < n)
			__builtin_prefetch(f[k + 1].data);
		wire_rx_frame(ws, &f[k]);
	}
	if (n > 0)
		drv_port_rx_done(ws->port, f, (unsigned)n);
	ws->burst = NULL;
	ws->burst_frames = 0;
	if (n < 0)
		return n;
	/*
	 * After a full burst without a run (acknowledgements, duplicates) the port may contain more
	 * frames.
	 */
	return ws->delivered ? ws->delivered : n == DRV_PORT_BURST;
}

int drv_wires_send(struct drv_wires *ws)
{
	uint32_t i;

	for_active(ws, i) service_wire(ws, &ws->wire[i]);
	ws->polling = 0;
	return ws->error;
}

int drv_wires_poll(struct drv_wires *ws, uint64_t now_ns, drv_wire_run_fn fn, void *arg)
{
	int n = drv_wires_receive(ws, now_ns, fn, arg), error = drv_wires_send(ws);

	return n >= 0 && error ? error : n;
}

void drv_wires_abandon_poll(struct drv_wires *ws)
{
	if (ws->burst_frames > 0)
		drv_port_rx_done(ws->port, ws->burst, (unsigned)ws->burst_frames);
	ws->burst_frames = 0;
	ws->polling = 0;
}

static uint64_t earlier_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* True if runs only wait for a poll. */
static bool can_send(const struct drv_wires *ws, const struct wire *w)
{
	return w->tx_ready && wire_in_flight(w) < w->cwnd &&
	       (wire_open_has_runs(ws, w) ||
		(w->sent != w->next && w->sent - w->una < w->peer_window));
}

uint64_t drv_wires_deadline(const struct drv_wires *ws)
{
	uint64_t at = WIRE_TIMER_OFF;
	uint32_t i;

	for_active(ws, i)
	{
		const struct wire *w = &ws->wire[i];

		if (w->tx_busy)
			at = earlier_of(at, ws->now + WIRE_ACK_DELAY_NS);
		else if (can_send(ws, w))
			at = earlier_of(at, ws->now);
		if (w->has_deferred)
			at = earlier_of(at, w->deferred_at);
		if (w->ack_owed)
			at = earlier_of(at, w->ack_now && !w->tx_busy ? ws->now : w->ack_at);
		if (w->peer_closed && w->bye_queries)
			at = earlier_of(at, w->hello_at);
		if (w->peer < 0 || w->peer_closed)
			continue;
		if (!wire_is_connected(w))
			at = earlier_of(at, w->hello_at);
		if (w->tx_ready)
			at = earlier_of(earlier_of(at, w->confirm_at),
					earlier_of(w->rto_at, w->probe_at));
	}
	return at;
}

void drv_wires_end_bursts(struct drv_wires *ws)
{
	for (uint32_t i = 0; i < ws->conf.hosts; i++)
		ws->wire[i].bursts = 0;
}

void drv_wires_drop_host(struct drv_wires *ws, uint32_t host)
{
	if (host < ws->conf.hosts && host != ws->conf.self && !ws->wire[host].peer_closed)
		wire_bye_receive(ws, &ws->wire[host], NULL);
}

int drv_wires_are_idle(const struct drv_wires *ws)
{
	uint32_t i;

	for_active(ws, i)
	{
		const struct wire *w = &ws->wire[i];

		if (!w->peer_closed && (w->una != w->next || wire_open_has_runs(ws, w)))
			return 0;
	}
	return 1;
}

void drv_wires_stat(const struct drv_wires *ws, uint32_t host, struct drv_wire_stat *stat)
{
	const struct wire *w = &ws->wire[host];

	*stat = w->stat;
	stat->tx_runs = ws->head.open[host].runs;
	stat->frame_bytes = w->frame_bytes;
	stat->rtt_ns = w->srtt_ns;
	stat->window = w->cwnd;
	stat->connected = (uint32_t)wire_is_connected(w);
}

struct drv_port *drv_wires_port(struct drv_wires *ws)
{
	return ws->port;
}
