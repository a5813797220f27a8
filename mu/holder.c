/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The holder: records between this host's rings and the wires to other hosts. Hot where a task
 * holds the port: guarded by bench/pami_latency and bench/pami_rate.
 *
 * A run on a wire is a record: 16 bytes (source task), the 32-byte packet header, the payload. It
 * stands for all packets of that stretch of the message; the first packet's header travels.
 *
 *   offset 0  u64 zero        16  packet header, 32 bytes
 *          8  u32 payload     48  payload
 *         12  u32 source
 *
 * Short messages from one task to one channel that are handed in one behind the other share a run, of which
 * the tag is the source: 24 bytes each for 8 bytes of payload, where a record of its own takes 80.
 *
 *   offset 0  u32 coordinates, u16 channel number, u16 0
 *          8  u16 bytes, 14 bytes of software's, payload padded to 8; the next one
 */
#define _GNU_SOURCE
#include "mu/holder.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "drivers/base/clock.h"
#include "drivers/base/log.h"
#include "drivers/wire.h"
#include "mu/desc.h"
#include "mu/live.h"
#include "mu/process.h"

#define RUN_HEAD     48u
#define SHORTS_HEAD  8u
#define SHORT_HEAD   16u
#define PIECE_MAX    32768u
#define CONNECT_NS   1000000
#define TICK_NS      50000 /* sleep where the port cannot wake us */
#define OUTBOUND_MAX 256   /* records of tasks per round */

/* Of each host: the run of short messages that may become longer; how much of one was taken here. */
struct shorts {
	unsigned char *run; /* NULL: none; else where its payload begins */
	uint32_t source, coords, number;
	uint32_t grows;     /* the message being written joins it */
	uint32_t taken;     /* bytes of the run that is being offered; 0: it is new */
};

struct shorts_head {
	uint32_t coords;
	uint16_t number, zero;
};
_Static_assert(sizeof(struct shorts_head) == SHORTS_HEAD, "head of a run of short messages");

struct mu_holder {
	struct mu_host *host;
	struct mu_process *p; /* NULL in an agent */
	struct drv_port *port;
	struct drv_wires *wires;
	struct drv_ring_tx *tx;  /* [locals * channels] */
	struct drv_ring_rx outbound;
	uint32_t *task_of;       /* [nodes * T] */
	uint32_t unconnected;    /* hosts whose address we wait for */
	struct shorts *shorts;   /* [hosts] */
	uint64_t connected[MU_HOSTS_MAX / 64], dirty[MU_HOSTS_MAX / 64];
	uint32_t rounds;
	uint64_t bad;
	int armed, broken;
	uint32_t gone_seen;
	struct mu_live *live;    /* agent, fabric torus */
};

static uint32_t find_task_at(struct mu_holder *h, uint32_t coords, unsigned number)
{
	const struct mu_host *host = h->host;
	unsigned t = number / host->channels;
	struct emu_coord x;

	emu_coord_from_word(coords, &x);
	for (int d = 0; d < EMU_DIMS; d++)
		if (x.c[d] >= host->shape.n[d])
			return UINT32_MAX;
	if (t >= host->shape.t)
		return UINT32_MAX;
	return h->task_of[emu_coord_node(&host->shape, &x) * host->shape.t + t];
}

static uint32_t find_task(struct mu_holder *h, const MUHWI_PacketHeader_t *header)
{
	return find_task_at(h, header->NetworkHeader.pt2pt.Destination.Destination.Destination,
	                    mu_header_number(header));
}

/*
 * Nothing waits before this record on the channel: it may be taken in place. The tail counts, not whether
 * the first record is there: one that a thread of ours is still writing may have others behind it.
 */
static int nothing_before(struct mu_channel *ch)
{
	return __atomic_load_n(&ch->a->ring.tail, __ATOMIC_ACQUIRE) ==
	               __atomic_load_n(&ch->rx.head, __ATOMIC_RELAXED) &&
	       !ch->spill_first &&
	       (!ch->rec || ch->rec_hw.pa_head == ch->rec_hw.pa_tail);
}

/* A task that holds the port takes records for itself without the detour through its ring. */
static int take_in_place(struct mu_holder *h, struct mu_channel *ch, const MUHWI_PacketHeader_t *header,
                         uint32_t source, const unsigned char *payload, uint32_t bytes)
{
	int rc = -EBUSY;

	if (ch == h->p->here)
		return nothing_before(ch) ? mu_receive_record(ch, header, source, payload, bytes, 1) : -EBUSY;
	if (!__atomic_load_n(&ch->owned, __ATOMIC_RELAXED) && mu_try(&ch->engine)) { /* a commthread's: it is woken */
		if (nothing_before(ch))
			rc = mu_receive_record(ch, header, source, payload, bytes, 0);
		mu_unlock(&ch->engine);
		if (!rc && __atomic_load_n(&h->p->comm.entry[ch->index].shared, __ATOMIC_RELAXED)) {
			__atomic_store_n(&h->p->comm.wanted, 1, __ATOMIC_RELAXED);
			h->p->behind |= 1ull << ch->index;
		}
	}
	return rc;
}

static int bad_run(struct mu_holder *h, const char *why)
{
	if (!h->bad++)
		drv_warn("wire: a record that %s was dropped (further ones are counted)", why);
	return 0;
}

/* Here is a record for a task of this host. 0, or -EAGAIN. */
static int hand_over(struct mu_holder *h, uint32_t task, const MUHWI_PacketHeader_t *header, uint32_t source,
                     const unsigned char *payload, uint32_t bytes)
{
	unsigned channel = mu_header_number(header) % h->host->channels;
	uint32_t local = mu_host_entry(h->host, task)->local;

	if (h->p) {
		struct mu_channel *ch = __atomic_load_n(&h->p->channel[channel], __ATOMIC_ACQUIRE);
		int rc = ch ? take_in_place(h, ch, header, source, payload, bytes) : -EBUSY;

		if (rc != -EBUSY)
			return rc;
	}
	return mu_deliver(h->host, &h->tx[local * h->host->channels + channel], local, channel, header, source, payload,
	                  bytes);
}

static int on_shorts(struct mu_holder *h, uint32_t host, uint32_t source, const unsigned char *run, uint32_t run_bytes)
{
	uint32_t at = h->shorts[host].taken ? h->shorts[host].taken : SHORTS_HEAD, task;
	struct shorts_head head;
	MUHWI_PacketHeader_t header;

	h->shorts[host].taken = 0;
	if (run_bytes < SHORTS_HEAD || source >= h->host->tasks)
		return bad_run(h, "names no task");
	memcpy(&head, run, sizeof head);
	task = find_task_at(h, head.coords, head.number);
	if (task == UINT32_MAX || mu_host_entry(h->host, task)->host != h->host->host)
		return bad_run(h, "fits no task here");
	if (mu_host_gone(h->host, task))
		return 0;
	while (at < run_bytes) {
		uint16_t bytes = UINT16_MAX;

		if (run_bytes - at >= SHORT_HEAD)
			memcpy(&bytes, run + at, 2);
		if (bytes > MU_PACKET_BYTES || bytes > run_bytes - at - SHORT_HEAD)
			return bad_run(h, "is cut short");
		mu_header_short(&header, head.coords, head.number, bytes, run + at + 2);
		if (hand_over(h, task, &header, source, run + at + SHORT_HEAD, bytes)) {
			h->shorts[host].taken = at; /* the wire offers the run again */
			return -EAGAIN;
		}
		at += SHORT_HEAD + ((bytes + 7u) & ~7u);
	}
	return 0;
}

static int on_record(struct mu_holder *h, const unsigned char *run, uint32_t run_bytes)
{
	const MUHWI_PacketHeader_t *header = (const void *)(run + 16);
	uint32_t bytes, source, task;

	memcpy(&bytes, run + 8, 4);
	memcpy(&source, run + 12, 4);
	if (run_bytes < RUN_HEAD || bytes != run_bytes - RUN_HEAD || source >= h->host->tasks ||
	    (task = find_task(h, header)) == UINT32_MAX || mu_host_entry(h->host, task)->host != h->host->host)
		return bad_run(h, "fits no task here");
	if (mu_host_gone(h->host, task))
		return 0; /* nobody would ever take it */
	return hand_over(h, task, header, source, run + RUN_HEAD, bytes);
}

/*
 * What the tasks of this host wait for together: written here, so that none of them has to run before the others see
 * it. The first word last.
 */
static int on_store(struct mu_holder *h, uint32_t task, const unsigned char *payload, uint32_t bytes)
{
	struct mu_host *host = h->host;
	uint64_t first = (uint64_t)host->arenas_at_pages * 4096, room = host->arena_bytes * host->locals, *to;
	struct mu_store s;

	if (bytes != sizeof s || task >= host->tasks || mu_host_entry(host, task)->host != host->host)
		return bad_run(h, "is no line for here");
	memcpy(&s, payload, sizeof s);
	if (s.at % 64 || s.at - first >= room)
		return bad_run(h, "is a line for where no arena is");
	to = (uint64_t *)(void *)((char *)host + s.at);
	memcpy(to + 1, s.line + 1, sizeof s.line - sizeof s.line[0]);
	__atomic_store_n(to, s.line[0], __ATOMIC_RELEASE);
	for (uint32_t i = 0; i < host->locals; i++)
		mu_host_wake_surely(host, i);
	return 0;
}

static int on_run(void *arg, uint32_t host, uint32_t kind, uint32_t tag, const unsigned char *payload,
                  uint32_t bytes)
{
	struct mu_holder *h = arg;

	if (kind == MU_RUN_RECORD)
		return on_record(h, payload, bytes);
	if (kind == MU_RUN_SHORTS)
		return on_shorts(h, host, tag, payload, bytes);
	if (kind == MU_RUN_STORE)
		return on_store(h, tag, payload, bytes);
	if (h->live)
		return mu_live_on_run(h->live, host, kind, tag, payload, bytes);
	if (!h->bad++)
		drv_warn("wire: a run of unknown kind %u from host %u was dropped", kind, host);
	return 0;
}

static void mu_holder_run_done(struct mu_holder *h, uint32_t host, uint32_t kind, uint32_t tag, uint32_t bytes)
{
	drv_wire_commit(h->wires, host, kind, tag, bytes);
	h->shorts[host].run = NULL;
	h->dirty[host / 64] |= 1ull << host % 64;
}

unsigned char *mu_holder_reserve(struct mu_holder *h, uint32_t host, uint32_t source, uint32_t bytes)
{
	unsigned char *run = drv_wire_reserve(h->wires, host, RUN_HEAD + bytes);

	if (!run)
		return NULL;
	memset(run, 0, 8);
	memcpy(run + 8, &bytes, 4);
	memcpy(run + 12, &source, 4);
	return run + 16;
}

void mu_holder_commit(struct mu_holder *h, uint32_t host, uint32_t bytes)
{
	mu_holder_run_done(h, host, MU_RUN_RECORD, 0, RUN_HEAD + bytes);
}

unsigned char *mu_holder_short(struct mu_holder *h, uint32_t host, uint32_t source, uint32_t coords,
                               uint32_t number, uint32_t bytes, const void *soft)
{
	struct shorts *s = &h->shorts[host];
	uint32_t need = SHORT_HEAD + ((bytes + 7) & ~7u);
	uint16_t bytes16 = (uint16_t)bytes;
	unsigned char *at = NULL;

	if (s->run && s->source == source && s->coords == coords && s->number == number)
		at = drv_wire_more(h->wires, host, s->run, need);
	s->grows = at != NULL;
	if (!at) {
		struct shorts_head head = { .coords = coords, .number = (uint16_t)number };

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

void mu_holder_short_commit(struct mu_holder *h, uint32_t host, uint32_t bytes)
{
	uint32_t need = SHORT_HEAD + ((bytes + 7) & ~7u);

	if (h->shorts[host].grows)
		drv_wire_more_commit(h->wires, host, need);
	else
		drv_wire_commit(h->wires, host, MU_RUN_SHORTS, h->shorts[host].source, SHORTS_HEAD + need);
	h->dirty[host / 64] |= 1ull << host % 64;
}

int mu_holder_store(struct mu_holder *h, uint32_t task, const struct mu_store *store)
{
	uint32_t host = mu_host_entry(h->host, task)->host;
	unsigned char *run = drv_wire_reserve(h->wires, host, sizeof *store);

	if (!run)
		return -EAGAIN;
	memcpy(run, store, sizeof *store);
	mu_holder_run_done(h, host, MU_RUN_STORE, task, sizeof *store);
	return 0;
}

/* Is all that this header says said by the head of a short message too? */
static int is_short(const MUHWI_PacketHeader_t *header, uint32_t bytes)
{
	MUHWI_PacketHeader_t same;

	if (bytes > MU_PACKET_BYTES || mu_packet_type(header) != MUHWI_PACKET_TYPE_FIFO)
		return 0;
	mu_header_short(&same, header->NetworkHeader.pt2pt.Destination.Destination.Destination, mu_header_number(header),
	                bytes, header->messageUnitHeader.Packet_Types.Memory_FIFO.Unused2);
	return !memcmp(&same, header, sizeof same);
}

static int send_short(struct mu_holder *h, uint32_t host, uint32_t source, const MUHWI_PacketHeader_t *header,
                      const void *payload, uint32_t bytes)
{
	unsigned char *at = mu_holder_short(h, host, source,
	                                    header->NetworkHeader.pt2pt.Destination.Destination.Destination,
	                                    mu_header_number(header), bytes,
	                                    header->messageUnitHeader.Packet_Types.Memory_FIFO.Unused2);

	if (!at)
		return -EAGAIN;
	if (bytes)
		memcpy(at, payload, bytes);
	mu_holder_short_commit(h, host, bytes);
	return 0;
}

int mu_holder_send(struct mu_holder *h, uint32_t host, uint32_t source, const void *header,
                   const void *payload, uint32_t bytes, struct mu_look *look)
{
	unsigned char *at;
	int rc = 0;

	if (!look && is_short(header, bytes))
		return send_short(h, host, source, header, payload, bytes);
	at = mu_holder_reserve(h, host, source, bytes);
	if (!at)
		return -EAGAIN;
	memcpy(at, header, 32);
	if (look && bytes)
		rc = mu_copy_in(h->p, at + 32, (uint64_t)(uintptr_t)payload, bytes, look);
	else if (bytes)
		memcpy(at + 32, payload, bytes);
	if (rc)
		at[0] = 0; /* a record of no type: skipped by the receiver */
	mu_holder_commit(h, host, bytes);
	return rc;
}

void mu_holder_flush(struct mu_holder *h)
{
	for (unsigned w = 0; w < MU_HOSTS_MAX / 64; w++)
		while (h->dirty[w]) {
			unsigned b = (unsigned)__builtin_ctzll(h->dirty[w]);

			h->dirty[w] &= h->dirty[w] - 1;
			drv_wire_flush(h->wires, w * 64 + b, 0);
		}
}

static void connect_ready(struct mu_holder *h)
{
	for (uint32_t i = 0; i < h->host->hosts; i++) {
		struct mu_peer_host *peer = &h->host->peer[i];

		if (i == h->host->host || h->connected[i / 64] >> i % 64 & 1 ||
		    !__atomic_load_n(&peer->ready, __ATOMIC_ACQUIRE))
			continue;
		h->connected[i / 64] |= 1ull << i % 64;
		h->unconnected--;
		peer->address[sizeof peer->address - 1] = 0;
		if (drv_wires_connect(h->wires, i, peer->address))
			drv_error("wire to host %u: address \"%s\" refused by the port", i, peer->address);
	}
}

/* What tasks may put in one record follows the frame size the wires have found; it only grows, so
 * that no record in a ring becomes too long: a host not yet there gets single packets. */
static void piece_update(struct mu_holder *h)
{
	uint32_t least = PIECE_MAX + RUN_HEAD;

	for (uint32_t i = 0; i < h->host->hosts; i++) {
		uint32_t max;

		if (i == h->host->host)
			continue;
		max = h->connected[i / 64] >> i % 64 & 1 ? drv_wires_run_max(h->wires, i) : 0;
		least = max < least ? max : least;
	}
	least = least < RUN_HEAD + MU_PACKET_BYTES ? MU_PACKET_BYTES :
	        (least - RUN_HEAD) / MU_PACKET_BYTES * MU_PACKET_BYTES;
	__atomic_store_n(&h->host->piece_bytes, least, __ATOMIC_RELAXED);
}

/* A packet or credits of a router (mu/node_live.c): the host is in the header's second word. */
static int send_link_run(struct mu_holder *h, const struct drv_ring_record *rec)
{
	unsigned char *run;
	uint32_t host;

	memcpy(&host, rec->header + 4, 4);
	if (host >= h->host->hosts || host == h->host->host || mu_host_lost(h->host, host))
		return -EINVAL;
	run = drv_wire_reserve(h->wires, host, rec->bytes);
	if (!run)
		return -EAGAIN;
	memcpy(run, rec->payload, rec->bytes);
	mu_holder_run_done(h, host, rec->header[0], rec->tag, rec->bytes);
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
		    mu_host_gone(h->host, rec->tag) || mu_host_entry(h->host, rec->tag)->host == h->host->host)
			return -EINVAL;
		return mu_holder_store(h, rec->tag, (const void *)rec->payload);
	}
	task = rec->header[0] ? find_task(h, header) : UINT32_MAX;
	if (task == UINT32_MAX || mu_host_gone(h->host, task) || mu_host_entry(h->host, task)->host == h->host->host)
		return -EINVAL; /* emptied by its sender, which was told; or nobody is there to take it */
	return mu_holder_send(h, mu_host_entry(h->host, task)->host, rec->tag, header, rec->payload, rec->bytes,
	                      NULL);
}

/* Agent: what the tasks of this host have for others. */
static int drain_outbound(struct mu_holder *h)
{
	struct drv_ring *ring = mu_host_outbound(h->host);
	struct drv_ring_record *rec;
	int n = 0;

	while (n < OUTBOUND_MAX && (rec = drv_ring_peek(ring, &h->outbound))) {
		if (send_outbound(h, rec) == -EAGAIN)
			break;
		drv_ring_release(ring, &h->outbound, rec);
		n++;
	}
	if (!n && __atomic_load_n(&h->host->gone, __ATOMIC_RELAXED) && !drv_ring_ready(ring, &h->outbound))
		n = mu_ring_heal(h->host, ring, &h->outbound);
	if (n)
		mu_holder_flush(h);
	else
		drv_ring_publish_head(ring, &h->outbound);
	return n;
}

/* Tasks have gone: hosts on which none is left are not waited for. */
static void hosts_drop(struct mu_holder *h, uint32_t gone)
{
	uint64_t living[MU_HOSTS_MAX / 64] = { 0 };

	for (uint32_t i = 0; i < h->host->tasks; i++)
		if (!mu_host_gone(h->host, i))
			living[mu_host_entry(h->host, i)->host / 64] |= 1ull << mu_host_entry(h->host, i)->host % 64;
	for (uint32_t i = 0; i < h->host->hosts; i++)
		if (i != h->host->host && !(living[i / 64] >> i % 64 & 1) &&
		    (!h->live || mu_host_lost(h->host, i))) /* routers go on without tasks */
			drv_wires_drop(h->wires, i);
	h->gone_seen = gone;
}

/* Polls and sleeps ask the same clock: another has another origin, and runs apart. */
static uint64_t wires_now_ns(void)
{
	return drv_clock_fast_ns();
}

int mu_holder_poll_for(struct mu_holder *h, struct mu_channel *ch)
{
	uint32_t gone = __atomic_load_n(&h->host->gone, __ATOMIC_ACQUIRE);
	int n, sent = 0;

	if (__builtin_expect(gone != h->gone_seen, 0))
		hosts_drop(h, gone);
	if (__builtin_expect(h->unconnected != 0, 0))
		connect_ready(h);
	if (!(h->rounds++ & 1023) || h->unconnected)
		piece_update(h);
	if (!h->p)
		sent = drain_outbound(h);
	if (h->p)
		__atomic_store_n(&h->p->here, ch, __ATOMIC_RELAXED);
	n = drv_wires_poll(h->wires, wires_now_ns(), on_run, h);
	if (h->p)
		__atomic_store_n(&h->p->here, NULL, __ATOMIC_RELAXED);
	if (n < 0) {
		if (!h->broken)
			drv_error("port %s: broken (%s); this host cannot reach the others any more", h->host->port,
			          strerror(-n));
		h->broken = 1;
		return n;
	}
	return n + sent;
}

int mu_holder_drain(struct mu_holder *h, int timeout_ms)
{
	uint64_t until = drv_clock_ns() + (uint64_t)timeout_ms * 1000000u;
	uint64_t tail = __atomic_load_n(&mu_host_outbound(h->host)->tail, __ATOMIC_ACQUIRE);

	while ((int64_t)(h->outbound.head - tail) < 0 || !drv_wires_idle(h->wires)) {
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
		fds[n++] = (struct pollfd){ .fd = fd, .events = POLLIN };
	if (w->eventfd >= 0 && (unsigned)n < max)
		fds[n++] = (struct pollfd){ .fd = w->eventfd, .events = POLLIN };
	if (!h->p) {
		drv_wake_prepare(w);
		h->armed = 1;
	}
	/* What came before arming is seen by one more round. */
	if (mu_holder_poll_for(h, NULL) != 0 ||
	    (h->live && mu_live_busy(h->live)) || (!h->p && drv_ring_ready(mu_host_outbound(h->host), &h->outbound))) {
		mu_holder_disarm(h);
		return -EAGAIN;
	}
	drv_wires_rest(h->wires);
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
		return; /* nobody rang */
}

static int make_maps(struct mu_holder *h)
{
	struct mu_host *host = h->host;
	uint32_t slots = emu_shape_nodes(&host->shape) * host->shape.t;

	h->tx = calloc((size_t)host->locals * host->channels, sizeof *h->tx);
	h->task_of = malloc(slots * sizeof *h->task_of);
	h->shorts = calloc(host->hosts, sizeof *h->shorts);
	if (!h->tx || !h->task_of || !h->shorts)
		return -ENOMEM;
	memset(h->task_of, 0xff, slots * sizeof *h->task_of);
	for (uint32_t i = 0; i < host->tasks; i++) {
		const struct mu_task_entry *e = mu_host_entry(host, i);

		h->task_of[e->node * host->shape.t + e->t] = i;
	}
	return 0;
}

static void publish_address(struct mu_host *host, int ready)
{
	__atomic_store_n(&host->own_ready, (uint32_t)ready, __ATOMIC_RELEASE);
	drv_wake_now(&host->agent_wake);
}

struct mu_live *mu_holder_live(struct mu_holder *h)
{
	return h->live;
}

int mu_holder_open(struct mu_host *host, struct mu_holder **holder)
{
	struct mu_holder *h = calloc(1, sizeof *h);
	struct drv_wire_conf conf = { .job = host->job, .self = host->host, .hosts = host->hosts,
		                      .seal = (enum drv_seal_kind)host->seal };
	int rc = -ENOMEM;

	if (!h)
		return rc;
	memcpy(conf.key, host->key, sizeof conf.key);
	h->host = host;
	h->p = host->holder == MU_HOLDER_TASK ? &mu_self : NULL;
	h->unconnected = host->hosts - 1;
	rc = make_maps(h);
	if (rc)
		goto err_free;
	rc = drv_port_open(host->port, &h->port);
	if (rc)
		goto err_free;
	rc = drv_port_address(h->port, host->own_address, sizeof host->own_address);
	if (rc < 0)
		goto err_port;
	/* One descriptor for all that the engine thread, who also serves as commthread 0, sleeps on. */
	if (h->p && h->p->area->wake[0].eventfd < 0)
		h->p->area->wake[0].eventfd = h->p->area->wake[1].eventfd = h->p->area->posted.eventfd =
			eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	rc = drv_wires_open(&h->wires, h->port, &conf);
	if (rc)
		goto err_port;
	if (!h->p && host->fabric == MU_FABRIC_TORUS && (rc = mu_live_open_for(host, h, &h->live)))
		goto err_wires;
	publish_address(host, 1);
	*holder = h;
	return 0;

err_wires:
	drv_wires_close(h->wires);
	h->port = NULL;
err_port:
	drv_port_close(h->port);
err_free:
	free(h->tx);
	free(h->task_of);
	free(h->shorts);
	free(h);
	publish_address(host, rc);
	return rc;
}

void mu_holder_close(struct mu_holder *h, int timeout_ms)
{
	uint64_t until;

	if (!h)
		return;
	until = drv_clock_ns() + (uint64_t)timeout_ms * 1000000u;
	while (!drv_wires_idle(h->wires) && !h->broken && !h->host->ending && drv_clock_ns() < until)
		if (mu_holder_poll_for(h, NULL) <= 0)
			sched_yield();
	mu_live_close(h->live);
	drv_wires_close(h->wires);
	free(h->tx);
	free(h->task_of);
	free(h->shorts);
	free(h);
}
