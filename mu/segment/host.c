/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "mu/segment/host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/base/assert.h"
#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "drivers/base/log.h"
#include "mu/segment/directory.h"
#include "mu/trace.h"

#define PAGE       4096ull
#define BIG        (2ull << 20)
#define ARENA_MAX  (16ull << 30)  /* virtual, per task */
#define ARENAS_MAX (256ull << 30) /* virtual, per host */

static uint64_t round_up(uint64_t n, uint64_t step)
{
	return (n + step - 1) / step * step;
}

static uint8_t channels_per_task(const struct emu_shape *s)
{
	uint32_t n = MU_CHANNELS_MAX;

	while (n > 1 && n * s->t > MU_REC_FIFOS)
		n /= 2;
	return (uint8_t)n;
}

static int conf_check(const struct mu_host_conf *c)
{
	if (!c->tasks || !c->hosts || c->hosts > MU_HOSTS_MAX || c->host >= c->hosts ||
	    !c->shape.t) {
		drv_error("host segment: %u tasks on %u hosts (host %u): need 1 or more tasks, 1 "
			  "to %d hosts",
			  c->tasks, c->hosts, c->host, MU_HOSTS_MAX);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < c->tasks; i++) {
		if (c->task_host[i] >= c->hosts || c->coords[i].t >= c->shape.t ||
		    emu_coord_node(&c->shape, &c->coords[i]) >= emu_shape_nodes(&c->shape)) {
			drv_error(
			    "host segment: task %u lies outside the shape or on unknown host %u", i,
			    c->task_host[i]);
			return -EINVAL;
		}
	}
	return 0;
}

static void entries_fill(struct mu_host *h, const struct mu_host_conf *c)
{
	uint32_t next[MU_HOSTS_MAX] = {0};

	for (uint32_t i = 0; i < c->tasks; i++) {
		struct mu_task_entry *e = mu_host_entry(h, i);

		e->node = emu_coord_node(&c->shape, &c->coords[i]);
		e->coords = emu_coord_word(&c->coords[i]);
		e->host = c->task_host[i];
		e->t = c->coords[i].t;
		e->local = next[e->host]++;
	}
}

/*
 * Initialise the nodes. Class routes 14 and 15 belong to the system; route 0 spans the world if
 * each node has a task to contribute.
 */
static void nodes_fill(struct mu_host *h)
{
	uint32_t nodes = emu_shape_nodes(&h->shape), with = 0;

	for (uint32_t i = 0; i < h->tasks; i++) {
		struct mu_node_area *n = mu_host_node(h, mu_host_entry(h, i)->node);

		if (!atomic_load_relaxed(&n->user[0]))
			with++;
		atomic_store_relaxed(&n->user[0], MU_ROUTE_PAMI);
		atomic_store_relaxed(&n->user[14], MU_ROUTE_PAMI);
		atomic_store_relaxed(&n->user[15], MU_ROUTE_PAMI);
		for (unsigned r = 0; r < MU_CLASSES; r++)
			atomic_store_relaxed(&n->class[r].owner, MU_NO_OWNER);
		atomic_store_relaxed(&n->class[0].status, 4);
		for (unsigned user = 0; user < EMU_GI_USERS; user++)
			atomic_store_relaxed(&n->class[0].control[user].bits, 4);
		atomic_store_relaxed(&n->table.coll_used, 1u << 0 | 1u << 14 | 1u << 15);
		atomic_store_relaxed(&n->table.gi_used, 1u << 0 | 1u << 14 | 1u << 15);
		n->table.gi_control[0] = n->table.gi_status[0] = 4;
	}
	h->world_class =
	    with == nodes && (h->clock == MU_CLOCK_VIRTUAL || h->fabric == MU_FABRIC_TORUS);
}

static uint32_t locals_count(const struct mu_host_conf *c)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->tasks; i++)
		n += c->task_host[i] == c->host;
	return n;
}

/* Compute the position of everything. Sets bytes, and writes nothing but the head. */
static void layout_segment(struct mu_host *h, const struct mu_host_conf *c)
{
	uint64_t at = round_up(sizeof *h, PAGE);

	h->tasks_at_pages = (uint32_t)(at / PAGE);
	at = round_up(at + c->tasks * sizeof(struct mu_task_entry), PAGE);
	h->announced_at_pages = (uint32_t)(at / PAGE);
	at = round_up(at + c->tasks * sizeof(atomic_u64), BIG);
	h->areas_at_pages = (uint32_t)(at / PAGE);
	h->area_bytes = round_up(MU_AREA_HEAD + (uint64_t)h->channels * MU_CHANNEL_BYTES, BIG);
	at += h->area_bytes * h->locals;
	h->outbound_at_pages = (uint32_t)(at / PAGE);
	at = round_up(at + drv_ring_bytes(MU_OUTBOUND_LINES), BIG);
	h->routers_at_pages = (uint32_t)(at / PAGE);
	at = round_up(at + h->routers_bytes, BIG);
	h->directory_at_pages = (uint32_t)(at / PAGE);
	at = round_up(at + mu_directory_layout(h, c), BIG);
	h->traffic_at_pages = (uint32_t)(at / PAGE);
	if (c->clock == MU_CLOCK_REAL && c->fabric == MU_FABRIC_EXPRESS &&
	    emu_shape_nodes(&c->shape) > 1)
		h->traffic_bytes = round_up(
		    sizeof(struct mu_traffic) * emu_shape_nodes(&c->shape) * h->channels, PAGE);
	at = round_up(at + h->traffic_bytes * h->locals, BIG);
	h->nodes_at_pages = (uint32_t)(at / PAGE);
	at = round_up(at + (uint64_t)emu_shape_nodes(&c->shape) * sizeof(struct mu_node_area), BIG);
	h->boards_at_pages = (uint32_t)(at / PAGE);
	at = round_up(at + (uint64_t)emu_shape_nodes(&c->shape) * MU_CLASSES *
			       mu_board_bytes(c->shape.t),
		      BIG);
	if (c->trace) {
		h->trace_at_pages = (uint32_t)(at / PAGE);
		at = round_up(at + mu_trace_bytes(h->locals), BIG);
	}
	h->arenas_at_pages = (uint32_t)(at / PAGE);
	h->arena_bytes = ARENAS_MAX / (h->locals ? h->locals : 1);
	if (h->arena_bytes > ARENA_MAX)
		h->arena_bytes = ARENA_MAX;
	h->arena_bytes -= h->arena_bytes % BIG;
	h->bytes = at + h->arena_bytes * h->locals;
}

static void init_agent_life(struct mu_host *h)
{
	pthread_mutexattr_t robust;

	pthread_mutexattr_init(&robust);
	pthread_mutexattr_setpshared(&robust, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&h->agent_life, &robust);
	pthread_mutexattr_destroy(&robust);
}

int mu_host_create(const struct mu_host_conf *c, struct mu_host **host, int *fd_out)
{
	struct mu_host *head /* too large for a small stack */, *h = NULL;
	int fd, rc = conf_check(c);

	if (rc)
		return rc;
	head = calloc(1, sizeof *head);
	if (!head)
		return -ENOMEM;
	head->magic = MU_HOST_MAGIC;
	head->version = MU_HOST_VERSION;
	head->job = c->job;
	head->seed = c->seed;
	head->tasks = c->tasks;
	head->hosts = c->hosts;
	head->host = c->host;
	head->locals = locals_count(c);
	head->shape = c->shape;
	if (c->machine)
		head->machine = *c->machine;
	else
		emu_machine_default(&head->machine);
	head->clock = (uint8_t)c->clock;
	head->fabric = (uint8_t)c->fabric;
	head->on_death = (uint8_t)c->on_death;
	head->seal = (uint8_t)c->seal;
	if (c->seal)
		memcpy(head->key, c->key, sizeof head->key);
	head->holder = c->hosts == 1                                         ? MU_HOLDER_NONE
		       : head->locals == 1 && c->fabric == MU_FABRIC_EXPRESS ? MU_HOLDER_TASK
									     : MU_HOLDER_AGENT;
	head->channels = channels_per_task(&c->shape);
	head->routers_bytes = mu_host_routers_bytes(c);
	layout_segment(head, c);
	snprintf(head->port, sizeof head->port, "%s", c->port ? c->port : "");
	snprintf(head->capture, sizeof head->capture, "%s", c->capture ? c->capture : "");
	snprintf(head->mapping, sizeof head->mapping, "%s", c->mapping ? c->mapping : "ABCDET");
	snprintf(head->script, sizeof head->script, "%s", c->script ? c->script : "");
	head->start_ns = drv_clock_ns();
	drv_wake_init(&head->agent_wake, -1);

	fd = memfd_create("quintorus", 0);
	if (fd < 0) {
		rc = -errno;
		drv_error("host segment: memfd_create: %s", strerror(errno));
		free(head);
		return rc;
	}
	if (ftruncate(fd, (off_t)head->bytes) ||
	    pwrite(fd, head, sizeof *head, 0) != (ssize_t)sizeof *head) {
		rc = -errno;
		drv_error("host segment of %llu MiB (sparse): %s",
			  (unsigned long long)(head->bytes >> 20), strerror(errno));
		goto err_close;
	}
	rc = mu_host_map(fd, &h);
	if (rc)
		goto err_close;
	DRV_ASSERT(h);
	entries_fill(h, c);
	nodes_fill(h);
	init_agent_life(h);
	for (uint32_t i = 0; i < h->locals; i++) {
		for (unsigned k = 0; k < MU_WAKES; k++)
			drv_wake_init(&mu_host_area(h, i)->wake[k], -1);
		atomic_store_relaxed(&mu_host_area(h, i)->wakes, 1);
		drv_wake_init(&mu_host_area(h, i)->posted, -1);
	}
	if (c->trace)
		mu_host_trace(h)->rings = h->locals * MU_TRACE_RINGS + 1;
	if (h->holder == MU_HOLDER_AGENT)
		drv_ring_init(mu_host_outbound(h), MU_OUTBOUND_LINES);
	rc = mu_host_routers_init(h, c);
	if (rc)
		goto err_unmap;
	*host = h;
	*fd_out = fd;
	free(head);
	return 0;

err_unmap:
	mu_host_unmap(h);
err_close:
	close(fd);
	free(head);
	return rc;
}

int mu_host_map(int fd, struct mu_host **host)
{
	struct {
		uint32_t magic, version;
		uint64_t bytes;
	} head; /* the first words of struct mu_host, which is too large for a small stack */
	struct stat st;
	void *m;

	_Static_assert(offsetof(struct mu_host, bytes) == 8, "magic, version, bytes come first");
	errno = 0;
	if (fstat(fd, &st) || pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head) {
		drv_error(
		    "host segment: descriptor %d is not one (%s); start the program with torus run "
		    "and keep inherited descriptors open",
		    fd, errno ? strerror(errno) : "it is too short");
		return -EBADF;
	}
	/* Memory behind the end of a short file would be a signal at the first access. */
	if (head.magic == MU_HOST_MAGIC && head.version == MU_HOST_VERSION &&
	    ((uint64_t)st.st_size != head.bytes || head.bytes < sizeof(struct mu_host))) {
		drv_error("host segment: descriptor %d has %llu bytes, and says %llu: it was cut "
			  "short or is damaged",
			  fd, (unsigned long long)st.st_size, (unsigned long long)head.bytes);
		return -EPROTO;
	}
	if (head.magic != MU_HOST_MAGIC || head.version != MU_HOST_VERSION) {
		drv_error("host segment: descriptor %d has magic %08x version %u, expected %08x "
			  "version %u: "
			  "torus and libpami are of different builds",
			  fd, head.magic, head.version, MU_HOST_MAGIC, MU_HOST_VERSION);
		return -EPROTO;
	}
	m = mu_host_map_view(fd);
	if (!m) {
		drv_error("host segment: cannot map %llu MiB: %s; raise ulimit -v",
			  (unsigned long long)(head.bytes >> 20), strerror(errno));
		return -errno;
	}
	*host = m;
	return 0;
}

void mu_host_unmap(struct mu_host *host)
{
	if (host)
		mu_host_unmap_view(host);
}

uint32_t mu_host_task(struct mu_host *h, uint32_t local)
{
	for (uint32_t i = 0; i < h->tasks; i++) {
		const struct mu_task_entry *e = mu_host_entry(h, i);

		if (e->host == h->host && e->local == local)
			return i;
	}
	return UINT32_MAX;
}

int mu_host_mark_task_ended(struct mu_host *h, uint32_t task, enum mu_task_end how)
{
	if (task >= h->tasks || mu_host_task_end(h, task))
		return 0;
	atomic_store_release(&mu_host_entry(h, task)->ended, (uint8_t)how);
	atomic_fetch_add_seq_cst(&h->deaths, 1);
	return 1;
}

int mu_host_mark_lost(struct mu_host *h, uint32_t host)
{
	if (host >= h->hosts || mu_host_is_lost(h, host))
		return 0;
	atomic_store_release(&h->peer[host].lost, 1);
	atomic_fetch_add_seq_cst(&h->hosts_lost, 1);
	atomic_fetch_add_seq_cst(&h->deaths, 1);
	return 1;
}

void mu_host_mark_departed(struct mu_host *h, uint32_t host)
{
	if (host < h->hosts)
		atomic_store_release(&h->peer[host].departed, 1);
}

/* What the claims on a ring say about the position of its reader. */
struct claims {
	uint64_t name, lines, head;
	int living; /* a living task may have taken it */
	/* End of the shortest claim of a dead task that begins there; end of another; 0: none. */
	uint64_t exact, cover;
};

static void claim_look(struct claims *s, const struct drv_ring_claim *c, int living)
{
	uint64_t ring = atomic_load_acquire(&c->ring);
	uint64_t at = atomic_load_acquire(&c->at), end = atomic_load_acquire(&c->end);
	uint64_t start =
		     (at & (s->lines - 1)) + (end - at) > s->lines ? (at | (s->lines - 1)) + 1 : at,
		 *which;

	/* A process that died may have written anything before: a claim is no longer than the
	 * ring. */
	if (ring != s->name || at > s->head || end <= s->head || end - s->head > s->lines)
		return;
	if (living) {
		s->living = 1;
		return;
	}
	/* A claim may begin with a pad, and that may be published already. */
	which = at == s->head || start == s->head ? &s->exact : &s->cover;
	if (!*which || end < *which)
		*which = end;
}

int mu_ring_skip_dead_claims(struct mu_host *h, struct drv_ring *ring, struct drv_ring_rx *rx)
{
	struct claims s = {.name = mu_ring_name(h, ring), .lines = ring->lines, .head = rx->head};

	if (atomic_load_acquire(&ring->tail) == s.head)
		return 0;
	claim_look(&s, &h->agent_claim, 1);
	for (uint32_t i = 0; i < h->tasks; i++) {
		const struct mu_task_entry *e = mu_host_entry(h, i);

		for (unsigned k = 0; e->host == h->host && k < h->channels * MU_CLAIMS; k++)
			claim_look(
			    &s,
			    &mu_host_channel(h, e->local, k / MU_CLAIMS)->claim[k % MU_CLAIMS].c,
			    !mu_host_task_end(h, i));
	}
	/*
	 * Several dead tasks claim it if they died while they tried at the same time. The shortest
	 * claim is never too long, and another claim covers what may remain behind it.
	 */
	/* The record may have been published meanwhile. */
	if (s.living || !(s.exact | s.cover) || drv_ring_is_ready(ring, rx))
		return 0;
	drv_ring_skip(ring, rx, s.exact ? s.exact : s.cover);
	return 1;
}
