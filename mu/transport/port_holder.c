/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The holder: records of this host's tasks to the wires to other hosts, its rounds and its sleep.
 * port_receive.c has the way back, port_peers.c what the holder knows of other hosts, port_open.c
 * its beginning and end. Hot where a task holds the port: guarded by bench/micro/pami_latency and
 * bench/micro/pami_rate.
 */
#define _GNU_SOURCE
#include "mu/transport/port_holder.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "drivers/base/assert.h"
#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "drivers/base/log.h"
#include "drivers/wire.h"
#include "mu/engine/engine.h"
#include "mu/engine/memory.h"
#include "mu/hw/desc_build.h"
#include "mu/process.h"
#include "mu/transport/node_live.h"
#include "mu/transport/port_holder_state.h"
#include "mu/transport/transport.h"

#define PIECE_MAX 32768u
/* Shorter records share frames with others, which saves more than a copy costs. */
#define GATHER_BYTES 4096u
#define CONNECT_NS   1000000
/* Masks: do so once in so many rounds and one. */
#define PIECE_ROUNDS   0x3ffu
#define PUBLISH_ROUNDS 0x1fffu
#define TICK_NS        50000 /* sleep where the port cannot wake us */
/* The longest sleep. A wake-up that a device or the kernel loses costs no more than that. */
#define SLEEP_NS     1000000000
#define OUTBOUND_MAX 256 /* records of tasks per round */

/* In a task several threads may use the port: assert that one holds its lock. */
static void assert_locked(const struct mu_holder *h)
{
	DRV_ASSERT(!h->p || mu_lock_is_held(&h->queue->lock));
}

/* Reserve the place of a short message's payload, 8-byte aligned, in the run before it if that can
 * grow. Returns NULL if there is no room. */
static inline unsigned char *reserve_short(struct mu_holder *h, uint32_t host, uint32_t source,
					   uint32_t coords, uint32_t number, uint32_t bytes,
					   const void *soft)
{
	struct shorts *s = &h->shorts[host];
	uint32_t need = mu_short_bytes(bytes);
	uint16_t bytes16 = (uint16_t)bytes;
	unsigned char *at = NULL;

	assert_locked(h);
	if (s->run && s->source == source && s->coords == coords && s->number == number)
		at = drv_wire_extend(h->wires, host, s->run, need);
	s->grows = at != NULL;
	if (!at) {
		struct shorts_head head = {.coords = coords, .number = (uint16_t)number};

		s->run = drv_wire_reserve(h->wires, host, SHORTS_HEAD + need);
		if (!s->run)
			return NULL;
		s->source = source;
		s->coords = coords;
		s->number = number;
		memcpy(s->run, &head, sizeof head);
		at = s->run + SHORTS_HEAD;
	}
	memcpy(at, &bytes16, 2);
	mu_soft_copy(at + 2, soft);
	return at + MU_SHORT_HEAD;
}

static inline void commit_short(struct mu_holder *h, uint32_t host, uint32_t bytes)
{
	uint32_t need = mu_short_bytes(bytes);

	if (h->shorts[host].grows)
		drv_wire_extend_commit(h->wires, host, need);
	else
		drv_wire_commit(h->wires, host, MU_RUN_SHORTS, h->shorts[host].source,
				SHORTS_HEAD + need);
}

void mu_holder_flush_host(struct mu_holder *h, uint32_t host)
{
	assert_locked(h);
	h->dirty[host / 64] &= ~(1ull << host % 64);
	drv_wire_flush(h->wires, host, 0);
}

int mu_holder_send_short(struct mu_holder *h, uint32_t source, const struct mu_task_entry *to,
			 uint32_t channel, const struct mu_short *m)
{
	uint32_t host = to->host;
	unsigned char *at =
	    reserve_short(h, host, source, to->coords,
			  (uint32_t)to->t * h->host->channels + channel, m->bytes, m->soft);

	if (!at)
		return -EAGAIN;
	mu_short_copy(at, m);
	commit_short(h, host, m->bytes);
	mu_holder_flush_host(h, host);
	return 0;
}

int mu_holder_store(struct mu_holder *h, uint32_t task, const struct mu_store *store)
{
	uint32_t host = mu_host_entry(h->host, task)->host;
	unsigned char *run = drv_wire_reserve(h->wires, host, sizeof *store);

	if (!run)
		return -EAGAIN;
	memcpy(run, store, sizeof *store);
	commit_run(h, host, MU_RUN_STORE, task, sizeof *store);
	return 0;
}

/* Does the head of a short message say everything that this header says? */
static bool is_short(const MUHWI_PacketHeader_t *header, uint32_t bytes)
{
	MUHWI_PacketHeader_t same;

	if (bytes > MU_PACKET_BYTES || mu_packet_type(header) != MUHWI_PACKET_TYPE_FIFO)
		return 0;
	mu_header_short(&same, header->NetworkHeader.pt2pt.Destination.Destination.Destination,
			mu_header_number(header), bytes,
			header->messageUnitHeader.Packet_Types.Memory_FIFO.Unused2);
	return !memcmp(&same, header, sizeof same);
}

static int send_short(struct mu_holder *h, uint32_t host, uint32_t source,
		      const MUHWI_PacketHeader_t *header, const void *payload, uint32_t bytes)
{
	unsigned char *at = reserve_short(
	    h, host, source, header->NetworkHeader.pt2pt.Destination.Destination.Destination,
	    mu_header_number(header), bytes,
	    header->messageUnitHeader.Packet_Types.Memory_FIFO.Unused2);

	if (!at)
		return -EAGAIN;
	if (bytes)
		memcpy(at, payload, bytes);
	commit_short(h, host, bytes);
	h->dirty[host / 64] |= 1ull << host % 64;
	return 0;
}

/*
 * Send a long record without a copy of ours, if the port can. Returns -ENOTSUP if the record has to
 * be copied.
 */
static int send_gathered(struct mu_holder *h, uint32_t host, uint32_t source, const void *header,
			 const void *payload, uint32_t bytes, struct mu_checked_range *range)
{
	struct drv_wire_gather g = {.kind = MU_RUN_RECORD,
				    .tag = source,
				    .head = header,
				    .head_bytes = RUN_HEAD,
				    .data = payload,
				    .bytes = bytes};
	int rc;

	assert_locked(h);
	if (range && mu_check_in(h->p, (uint64_t)(uintptr_t)payload, bytes, range) <= 0)
		return -ENOTSUP;
	rc = drv_wire_send_gathered(h->wires, host, &g);
	if (!rc)
		h->shorts[host].run = NULL;
	return rc;
}

int mu_holder_send(struct mu_holder *h, uint32_t host, uint32_t source, const void *header,
		   const void *payload, uint32_t bytes, struct mu_checked_range *range)
{
	unsigned char *at;
	int rc = 0;

	if (!range && is_short(header, bytes))
		return send_short(h, host, source, header, payload, bytes);
	if (bytes >= GATHER_BYTES && drv_wires_gather(h->wires)) {
		rc = send_gathered(h, host, source, header, payload, bytes, range);
		if (rc != -ENOTSUP)
			return rc;
		rc = 0;
	}
	assert_locked(h);
	at = drv_wire_reserve(h->wires, host, RUN_HEAD + bytes);
	if (!at)
		return -EAGAIN;
	memcpy(at, header, RUN_HEAD);
	if (range && bytes)
		rc = mu_copy_in(h->p, at + RUN_HEAD, (uint64_t)(uintptr_t)payload, bytes, range);
	else if (bytes)
		memcpy(at + RUN_HEAD, payload, bytes);
	if (rc)
		at[0] = 0; /* a record of no type: skipped by the receiver */
	commit_run(h, host, MU_RUN_RECORD, source, RUN_HEAD + bytes);
	return rc;
}

void mu_holder_flush(struct mu_holder *h)
{
	assert_locked(h);
	for (unsigned w = 0; w < MU_HOSTS_MAX / 64; w++)
		while (h->dirty[w]) {
			unsigned b = (unsigned)__builtin_ctzll(h->dirty[w]);

			h->dirty[w] &= h->dirty[w] - 1;
			drv_wire_flush(h->wires, w * 64 + b, 0);
		}
}

/* The largest record that all queues of this process can carry. */
static uint32_t least_of_queues(const struct mu_holder *h)
{
	uint32_t least = atomic_load_relaxed(&h->piece_bytes);

	for (unsigned q = 0; h->p && q < h->queues; q++) {
		const struct mu_holder *other = h->p->queue[q].holder;
		uint32_t bytes = other ? atomic_load_relaxed(&other->piece_bytes) : least;

		least = bytes < least ? bytes : least;
	}
	return least;
}

/* What tasks may put in one record follows the frame size the wires have found: whole cache lines,
 * so that the copies of the next record are aligned like those of the first. It only grows, so that
 * no record in a ring becomes too long: a host not yet there gets single packets. */
static void piece_update(struct mu_holder *h)
{
	uint32_t least = PIECE_MAX + RUN_HEAD;

	for (uint32_t i = 0; i < h->host->hosts; i++) {
		uint32_t max;

		if (i == h->host->host || h->dropped[i / 64] >> i % 64 & 1)
			continue;
		max = h->connected[i / 64] >> i % 64 & 1 ? drv_wires_run_max(h->wires, i) : 0;
		least = max < least ? max : least;
	}
	least = least < RUN_HEAD + MU_PACKET_BYTES ? MU_PACKET_BYTES : (least - RUN_HEAD) / 64 * 64;
	atomic_store_relaxed(&h->piece_bytes, least);
	atomic_store_relaxed(&h->host->piece_bytes, least_of_queues(h));
}

/* A packet or credits of a router (mu/transport/node_live.c): the host is in the header's second
 * word. */
static int send_link_run(struct mu_holder *h, const struct drv_ring_record *rec)
{
	unsigned char *run;
	uint32_t host;

	memcpy(&host, rec->header + 4, 4);
	if (host >= h->host->hosts || host == h->host->host || mu_host_is_lost(h->host, host))
		return -EINVAL;
	run = drv_wire_reserve(h->wires, host, rec->bytes);
	if (!run)
		return -EAGAIN;
	memcpy(run, rec->payload, rec->bytes);
	commit_run(h, host, rec->header[0], rec->tag, rec->bytes);
	return 0;
}

static int send_outbound(struct mu_holder *h, const struct drv_ring_record *rec)
{
	const MUHWI_PacketHeader_t *header = (const void *)rec->header;
	uint32_t task;

	if (rec->header[0] >= MU_RUN_LINK && rec->header[0] <= MU_RUN_SIGNAL)
		return send_link_run(h, rec);
	if (rec->header[0] == MU_RUN_STORE) {
		if (rec->bytes != sizeof(struct mu_store) || rec->tag >= h->host->tasks ||
		    mu_host_task_end(h->host, rec->tag) ||
		    mu_host_entry(h->host, rec->tag)->host == h->host->host)
			return -EINVAL;
		return mu_holder_store(h, rec->tag, (const void *)rec->payload);
	}
	task = rec->header[0] ? find_task(h, header) : UINT32_MAX;
	if (task == UINT32_MAX || mu_host_task_end(h->host, task) ||
	    mu_host_entry(h->host, task)->host == h->host->host)
		return -EINVAL; /* its sender emptied it, or the target has ended */
	return mu_holder_send(h, mu_host_entry(h->host, task)->host, rec->tag, header, rec->payload,
			      rec->bytes, NULL);
}

/* Agent: what the tasks of this host have for others. */
static int drain_outbound(struct mu_holder *h)
{
	struct drv_ring *ring = mu_host_outbound(h->host);
	struct drv_ring_record *rec;
	int n = 0;

	while (n < OUTBOUND_MAX && (rec = drv_ring_peek(ring, &h->outbound))) {
		if (!drv_ring_is_sound(ring, &h->outbound, rec)) {
			drv_error("the outbound ring in the shared memory of this host is damaged: "
				  "a task has written to memory that is not its own");
			return -EBADMSG;
		}
		/* Announcements made before the record precede it. */
		mu_holder_send_announcements(h);
		if (send_outbound(h, rec) == -EAGAIN)
			break;
		drv_ring_release(ring, &h->outbound, rec);
		n++;
	}
	if (!n && atomic_load_relaxed(&h->host->deaths) && !drv_ring_is_ready(ring, &h->outbound))
		n = mu_ring_skip_dead_claims(h->host, ring, &h->outbound);
	if (n)
		mu_holder_flush(h);
	else
		drv_ring_publish_head(ring, &h->outbound);
	return n;
}

/* Polls and sleeps ask the same clock: another has another origin, and runs apart. */
static uint64_t wires_now_ns(void)
{
	return drv_clock_fast_ns();
}

/* Add what a counter has grown by: the queues of a port count together. */
static void publish_growth(atomic_u64 *to, uint64_t now, uint64_t *published)
{
	if (now == *published)
		return;
	atomic_fetch_add_relaxed(to, now - *published);
	*published = now;
}

static void publish_port(struct mu_holder *h)
{
	const struct drv_port_stat *port = &h->port->stat;
	struct drv_port_stat *was = &h->port_published;
	struct mu_port_counts *to = &h->host->port_counts;

	publish_growth(&to->tx_frames, port->tx_frames, &was->tx_frames);
	publish_growth(&to->tx_bytes, port->tx_bytes, &was->tx_bytes);
	publish_growth(&to->rx_frames, port->rx_frames, &was->rx_frames);
	publish_growth(&to->rx_bytes, port->rx_bytes, &was->rx_bytes);
	publish_growth(&to->tx_busy, port->tx_busy, &was->tx_busy);
	publish_growth(&to->rx_dropped, port->rx_dropped, &was->rx_dropped);
}

void mu_holder_publish(struct mu_holder *h)
{
	publish_port(h);
	for (uint32_t i = 0; i < h->host->hosts; i++) {
		struct mu_wire_counts *w = &h->host->peer[i].wire;
		struct drv_wire_stat s, *was = &h->published[i];

		if (i == h->host->host)
			continue;
		drv_wires_stat(h->wires, i, &s);
		publish_growth(&w->tx_frames, s.tx_frames, &was->tx_frames);
		publish_growth(&w->tx_bytes, s.tx_bytes, &was->tx_bytes);
		publish_growth(&w->rx_frames, s.rx_frames, &was->rx_frames);
		publish_growth(&w->rx_bytes, s.rx_bytes, &was->rx_bytes);
		publish_growth(&w->resent, s.resent, &was->resent);
		publish_growth(&w->duplicates, s.duplicates, &was->duplicates);
		publish_growth(&w->out_of_order, s.out_of_order, &was->out_of_order);
		publish_growth(&w->bad_frames, s.bad_frames, &was->bad_frames);
		publish_growth(&w->acks_bare, s.acks_bare, &was->acks_bare);
		publish_growth(&w->restarts, s.restarts, &was->restarts);
		if (h->index)
			continue;
		atomic_store_relaxed(&w->rtt_ns, s.rtt_ns);
		atomic_store_relaxed(&w->window, s.window);
		atomic_store_relaxed(&w->connected, s.connected);
	}
}

static __attribute__((noinline)) void do_seldom_work(struct mu_holder *h)
{
	if ((h->rounds & PUBLISH_ROUNDS) == 1)
		mu_holder_publish(h);
	piece_update(h);
}

/* An agent ends the job (tools/agent.c); a task ends, since it would wait for ever. */
static __attribute__((cold, noinline)) int note_broken(struct mu_holder *h, int error)
{
	if (!h->broken)
		drv_error("port %s: broken (%s); this host cannot reach the others any more",
			  h->host->opened, strerror(-error));
	h->broken = 1;
	if (h->p)
		mu_end_task();
	return error;
}

int mu_holder_poll_for(struct mu_holder *h, struct mu_channel *ch)
{
	uint32_t deaths = atomic_load_acquire(&h->host->deaths);
	int n, error, sent = 0;

	if (__builtin_expect(deaths != h->deaths_seen, 0))
		mu_holder_drop_hosts(h, deaths);
	if (__builtin_expect(h->unconnected != 0, 0))
		mu_holder_connect_ready(h);
	if (__builtin_expect(!(h->rounds++ & PIECE_ROUNDS) || h->unconnected, 0))
		do_seldom_work(h);
	if (__builtin_expect(atomic_load_acquire(&h->host->announcements) != h->announced.seen, 0))
		mu_holder_send_announcements(h);
	if (!h->p)
		sent = drain_outbound(h);
	if (__builtin_expect(sent < 0, 0))
		return note_broken(h, sent);
	if (h->p)
		atomic_ptr_store_relaxed(&h->queue->dispatching, ch);
	n = drv_wires_receive(h->wires, wires_now_ns(), mu_holder_take_run, h);
	/* What answers puts and gets leaves with the end of this round. */
	if (n > 0 && ch && mu_has_pending_injection(ch))
		sent = mu_engine_inject(ch);
	error = drv_wires_send(h->wires);
	if (h->p)
		atomic_ptr_store_relaxed(&h->queue->dispatching, NULL);
	if (n >= 0 && error)
		n = error;
	return n < 0 ? note_broken(h, n) : n + sent;
}

int mu_holder_drain(struct mu_holder *h, int timeout_ms)
{
	uint64_t until = drv_clock_ns() + (uint64_t)timeout_ms * 1000000u;
	uint64_t tail = atomic_load_acquire(&mu_host_outbound(h->host)->tail);

	while ((int64_t)(h->outbound.head - tail) < 0 || !drv_wires_are_idle(h->wires)) {
		int n = mu_holder_poll(h);

		if (n < 0)
			return n;
		if (n == 0 && drv_clock_ns() > until)
			return -ETIMEDOUT;
		if (n == 0)
			sched_yield();
	}
	return 0;
}

int mu_holder_poll(struct mu_holder *h)
{
	int n = mu_holder_poll_for(h, NULL);

	if (n >= 0 && h->live)
		n += mu_live_poll(h->live);
	return n;
}

int mu_holder_arm(struct mu_holder *h, struct pollfd *fds, unsigned max, int64_t *timeout_ns)
{
	struct drv_wake *w = h->p ? &h->p->area->wake[0] : &h->host->agent_wake;
	int fd = drv_port_arm(h->port), n = 0;
	uint64_t deadline, now;

	if (fd >= 0 && max)
		fds[n++] = (struct pollfd){.fd = fd, .events = POLLIN};
	if (w->eventfd >= 0 && (unsigned)n < max)
		fds[n++] = (struct pollfd){.fd = w->eventfd, .events = POLLIN};
	if (!h->p) {
		drv_wake_prepare(w);
		h->armed = 1;
	}
	/* What came before arming is seen by one more round. */
	if (mu_holder_poll_for(h, NULL) != 0 || (h->live && mu_live_has_work(h->live)) ||
	    (!h->p && drv_ring_is_ready(mu_host_outbound(h->host), &h->outbound))) {
		mu_holder_disarm(h);
		return -EAGAIN;
	}
	drv_wires_end_bursts(h->wires);
	mu_holder_publish(h);
	/* Only now: that round may have set timers. */
	deadline = drv_wires_deadline(h->wires);
	now = wires_now_ns();
	*timeout_ns = fd < 0 ? TICK_NS : h->unconnected ? CONNECT_NS : SLEEP_NS;
	if (deadline < now + (uint64_t)*timeout_ns)
		*timeout_ns = deadline > now ? (int64_t)(deadline - now) : 0;
	return n;
}

void mu_holder_disarm(struct mu_holder *h)
{
	struct drv_wake *w = h->p ? &h->p->area->wake[0] : &h->host->agent_wake;
	uint64_t count;

	if (h->armed)
		drv_wake_finish(w);
	h->armed = 0;
	if (w->eventfd >= 0 && read(w->eventfd, &count, sizeof count) < 0)
		return; /* no ring */
}

struct mu_live *mu_holder_live(struct mu_holder *h)
{
	return h->live;
}
