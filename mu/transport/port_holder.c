/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The holder: records of this host's tasks to the wires to other hosts, its rounds and its sleep.
 * port_receive.c has the way back. Hot where a task holds the port: guarded by
 * bench/micro/pami_latency and bench/micro/pami_rate.
 */
#define _GNU_SOURCE
#include "mu/transport/port_holder.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "drivers/base/assert.h"
#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "drivers/base/log.h"
#include "drivers/frame.h"
#include "drivers/port_capture.h"
#include "drivers/port_fault.h"
#include "drivers/wire.h"
#include "emu/faults.h"
#include "mu/engine/engine.h"
#include "mu/engine/memory.h"
#include "mu/hw/desc_build.h"
#include "mu/process.h"
#include "mu/trace.h"
#include "mu/transport/node_live.h"
#include "mu/transport/port_holder_state.h"
#include "mu/transport/transport.h"

#define PIECE_MAX  32768u
#define CONNECT_NS 1000000
/* Masks: do so once in so many rounds and one. */
#define PIECE_ROUNDS   0x3ffu
#define PUBLISH_ROUNDS 0x1fffu
#define TICK_NS        50000 /* sleep where the port cannot wake us */
#define OUTBOUND_MAX   256   /* records of tasks per round */

/* In a task several threads may use the port: assert that one holds its lock. */
static void assert_locked(const struct mu_holder *h)
{
	DRV_ASSERT(!h->p || mu_lock_is_held(&h->queue->lock));
}

static void holder_commit_run(struct mu_holder *h, uint32_t host, uint32_t kind, uint32_t tag,
			      uint32_t bytes)
{
	drv_wire_commit(h->wires, host, kind, tag, bytes);
	h->shorts[host].run = NULL;
	h->dirty[host / 64] |= 1ull << host % 64;
}

unsigned char *mu_holder_reserve(struct mu_holder *h, uint32_t host, uint32_t source,
				 uint32_t bytes)
{
	unsigned char *run;

	assert_locked(h);
	run = drv_wire_reserve(h->wires, host, RUN_HEAD + bytes);
	if (!run)
		return NULL;
	memset(run, 0, 8);
	memcpy(run + 8, &bytes, 4);
	memcpy(run + 12, &source, 4);
	return run + 16;
}

void mu_holder_commit(struct mu_holder *h, uint32_t host, uint32_t bytes)
{
	holder_commit_run(h, host, MU_RUN_RECORD, 0, RUN_HEAD + bytes);
}

/* Reserve the place of a short message's payload, 8-byte aligned, in the run before it if that can
 * grow. Returns NULL if there is no room. */
static inline unsigned char *reserve_short(struct mu_holder *h, uint32_t host, uint32_t source,
					   uint32_t coords, uint32_t number, uint32_t bytes,
					   const void *soft)
{
	struct shorts *s = &h->shorts[host];
	uint32_t need = SHORT_HEAD + ((bytes + 7) & ~7u);
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
	memcpy(at + 2, soft, MU_SOFT_BYTES);
	return at + SHORT_HEAD;
}

static inline void commit_short(struct mu_holder *h, uint32_t host, uint32_t bytes)
{
	uint32_t need = SHORT_HEAD + ((bytes + 7) & ~7u);

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
	holder_commit_run(h, host, MU_RUN_STORE, task, sizeof *store);
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

int mu_holder_send(struct mu_holder *h, uint32_t host, uint32_t source, const void *header,
		   const void *payload, uint32_t bytes, struct mu_checked_range *range)
{
	unsigned char *at;
	int rc = 0;

	if (!range && is_short(header, bytes))
		return send_short(h, host, source, header, payload, bytes);
	at = mu_holder_reserve(h, host, source, bytes);
	if (!at)
		return -EAGAIN;
	memcpy(at, header, 32);
	if (range && bytes)
		rc = mu_copy_in(h->p, at + 32, (uint64_t)(uintptr_t)payload, bytes, range);
	else if (bytes)
		memcpy(at + 32, payload, bytes);
	if (rc)
		at[0] = 0; /* a record of no type: skipped by the receiver */
	mu_holder_commit(h, host, bytes);
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

/*
 * Send the announcements to one host. Returns false if there is no room now. With several queues a
 * word that this queue has sent is sent again with its newer number, since the host may have taken
 * an older word with the same number from another queue.
 */
static bool tell_host(struct mu_holder *h, uint32_t host, uint32_t number)
{
	for (uint32_t task = 0; task < h->host->tasks; task++) {
		const struct mu_task_entry *e = mu_host_entry(h->host, task);
		struct mu_told told = {atomic_load_acquire(&mu_host_announced(h->host)[task]),
				       number};
		uint64_t *known;
		unsigned char *run;

		if (e->host != h->host->host)
			continue;
		known = &h->announced[(uint64_t)host * h->host->locals + e->local];
		if (*known == told.word && h->queues == 1)
			continue;
		run = drv_wire_reserve(h->wires, host, sizeof told);
		if (!run)
			return false;
		memcpy(run, &told, sizeof told);
		holder_commit_run(h, host, MU_RUN_TOLD, task, sizeof told);
		*known = told.word;
	}
	return true;
}

void mu_holder_send_announcements(struct mu_holder *h)
{
	uint32_t changes = atomic_load_acquire(&h->host->announcements);
	bool all = true;

	if (changes == h->announcements_seen)
		return;
	for (uint32_t i = 0; i < h->host->hosts; i++)
		if (i != h->host->host && !(h->dropped[i / 64] >> i % 64 & 1))
			all &= h->connected[i / 64] >> i % 64 & 1 && tell_host(h, i, changes);
	if (all)
		h->announcements_seen = changes;
}

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

/* Copy address `index` of a list with commas. Returns how many the list has. */
static unsigned find_address(const char *list, unsigned index, char *text, size_t bytes)
{
	unsigned n = 0;

	text[0] = 0;
	while (*list) {
		size_t word = strcspn(list, ",");

		if (n++ == index)
			snprintf(text, bytes, "%.*s", (int)word, list);
		list += word + (list[word] == ',');
	}
	return n;
}

/* The host has made its port known: connect its queue to this one. */
static void connect_host(struct mu_holder *h, uint32_t host)
{
	const struct mu_peer_host *peer = &h->host->peer[host];
	char address[DRV_PORT_ADDRESS_BYTES];
	unsigned queues;

	h->connected[host / 64] |= 1ull << host % 64;
	h->unconnected--;
	queues = find_address(peer->address, h->index, address, sizeof address);
	queues += !queues;                    /* the port refuses an address without text */
	if (h->index && h->index >= queues) { /* it has fewer queues: nothing takes this one */
		h->dropped[host / 64] |= 1ull << host % 64;
		return;
	}
	if (h->faulty)
		drv_port_fault_host(h->faulty, address, host);
	if (drv_wires_connect(h->wires, host, address))
		drv_error("wire to host %u: address \"%s\" refused by the port", host, address);
	if (h->p && !h->index)
		atomic_store_release(&h->p->queues_to[host],
				     (uint8_t)(queues < h->queues ? queues : h->queues));
}

static void connect_ready(struct mu_holder *h)
{
	for (uint32_t i = 0; i < h->host->hosts; i++)
		if (i != h->host->host && !(h->connected[i / 64] >> i % 64 & 1) &&
		    atomic_load_acquire(&h->host->peer[i].ready))
			connect_host(h, i);
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

/* What tasks may put in one record follows the frame size the wires have found; it only grows, so
 * that no record in a ring becomes too long: a host not yet there gets single packets. */
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
	least = least < RUN_HEAD + MU_PACKET_BYTES
		    ? MU_PACKET_BYTES
		    : (least - RUN_HEAD) / MU_PACKET_BYTES * MU_PACKET_BYTES;
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
	holder_commit_run(h, host, rec->header[0], rec->tag, rec->bytes);
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

/* Tasks have ended: stop waiting for hosts without a living task. */
static void drop_hosts(struct mu_holder *h, uint32_t deaths)
{
	uint64_t living[MU_HOSTS_MAX / 64] = {0};

	for (uint32_t i = 0; i < h->host->tasks; i++)
		if (!mu_host_task_end(h->host, i))
			living[mu_host_entry(h->host, i)->host / 64] |=
			    1ull << mu_host_entry(h->host, i)->host % 64;
	for (uint32_t i = 0; i < h->host->hosts; i++)
		if (i != h->host->host && !(living[i / 64] >> i % 64 & 1) &&
		    (!h->live || mu_host_is_lost(h->host, i))) { /* routers go on without tasks */
			drv_wires_drop_host(h->wires, i);
			h->dropped[i / 64] |= 1ull << i % 64;
		}
	h->deaths_seen = deaths;
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

int mu_holder_poll_for(struct mu_holder *h, struct mu_channel *ch)
{
	uint32_t deaths = atomic_load_acquire(&h->host->deaths);
	int n, sent = 0;

	if (__builtin_expect(deaths != h->deaths_seen, 0))
		drop_hosts(h, deaths);
	if (__builtin_expect(h->unconnected != 0, 0))
		connect_ready(h);
	if (__builtin_expect(!(h->rounds++ & PIECE_ROUNDS) || h->unconnected, 0))
		do_seldom_work(h);
	if (__builtin_expect(atomic_load_acquire(&h->host->announcements) != h->announcements_seen,
			     0))
		mu_holder_send_announcements(h);
	if (!h->p)
		sent = drain_outbound(h);
	if (h->p)
		atomic_ptr_store_relaxed(&h->queue->dispatching, ch);
	n = drv_wires_poll(h->wires, wires_now_ns(), mu_holder_take_run, h);
	if (h->p)
		atomic_ptr_store_relaxed(&h->queue->dispatching, NULL);
	if (n < 0) {
		if (!h->broken)
			drv_error(
			    "port %s: broken (%s); this host cannot reach the others any more",
			    h->host->port, strerror(-n));
		h->broken = 1;
		return n;
	}
	return n + sent;
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
	*timeout_ns = deadline == UINT64_MAX ? -1 : deadline > now ? (int64_t)(deadline - now) : 0;
	if (h->unconnected && (*timeout_ns < 0 || *timeout_ns > CONNECT_NS))
		*timeout_ns = CONNECT_NS;
	if (fd < 0 && (*timeout_ns < 0 || *timeout_ns > TICK_NS))
		*timeout_ns = TICK_NS;
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

static int make_maps(struct mu_holder *h)
{
	struct mu_host *host = h->host;

	h->tx = calloc((size_t)host->locals * host->channels, sizeof *h->tx);
	h->shorts = calloc(host->hosts, sizeof *h->shorts);
	h->announced = calloc((size_t)host->hosts * host->locals, sizeof *h->announced);
	h->published = calloc(host->hosts, sizeof *h->published);
	return h->tx && h->shorts && h->announced && h->published ? mu_places_make(&h->places, host)
								  : -ENOMEM;
}

static void free_holder(struct mu_holder *h)
{
	free(h->tx);
	mu_places_free(&h->places);
	free(h->shorts);
	free(h->announced);
	free(h->published);
	free(h);
}

static void publish_address(struct mu_host *host, int ready)
{
	atomic_store_release(&host->own_ready, (uint32_t)ready);
	drv_wake_now(&host->agent_wake);
}

struct mu_live *mu_holder_live(struct mu_holder *h)
{
	return h->live;
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
		rc = drv_port_capture(&h->port, host->capture, host->host, host->hosts);
	if (!rc && host->trace_at_pages)
		rc = drv_port_watch(&h->port, trace_frame, h);
	return rc;
}

/* Add the address of the port to the list of this host's. */
static int list_address(struct mu_holder *h)
{
	char *list = h->host->own_address, address[DRV_PORT_ADDRESS_BYTES];
	size_t used = strlen(list);
	int rc = drv_port_address(h->port, address, sizeof address);

	if (rc < 0)
		return rc;
	if (used + strlen(address) + 2 > sizeof h->host->own_address) {
		drv_error("port %s: the addresses of its queues are longer than %zu characters; "
			  "take fewer queues",
			  h->host->port, sizeof h->host->own_address);
		return -ENOSPC;
	}
	sprintf(list + used, "%s%s", used ? "," : "", address);
	return 0;
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
		rc = list_address(h);
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
	char spec[sizeof host->port];
	int rc;

	snprintf(spec, sizeof spec, "%s", host->port);
	rc = drv_port_open_named(spec, &port, host->port, sizeof host->port);
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
	publish_address(host, rc ? rc : 1);
	return rc;
}

int mu_holders_open(struct mu_process *p)
{
	struct drv_port *port[MU_QUEUES_MAX];
	struct mu_host *host = p->host;
	unsigned most = p->channels < MU_QUEUES_MAX ? p->channels : MU_QUEUES_MAX;
	char spec[sizeof host->port];
	int n, rc = 0;

	snprintf(spec, sizeof spec, "%s", host->port);
	p->queues_to = calloc(host->hosts, sizeof *p->queues_to);
	p->told = calloc(host->tasks, sizeof *p->told);
	n = p->queues_to && p->told
		? drv_port_open_queues(spec, most, port, host->port, sizeof host->port)
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
	publish_address(host, rc ? rc : 1);
	return rc;
}

/* Hosts whose only task has ended acknowledge nothing. */
static void drop_departed(struct mu_holder *h)
{
	for (uint32_t i = 0; i < h->host->hosts; i++)
		if (atomic_load_acquire(&h->host->peer[i].departed))
			drv_wires_drop_host(h->wires, i);
}

static bool is_settled(struct mu_holder *h)
{
	drop_departed(h);
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
