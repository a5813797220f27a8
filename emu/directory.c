/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of all nodes, and the rule of directory.h. */
#include "emu/directory.h"

#include <stddef.h>
#include <stdlib.h>

#define WAYS      4u
#define MAP_FIRST 256u /* entries; a power of two */

struct entry {
	uint64_t key;
	uint32_t node, to;
	uint16_t version, channel;
	uint8_t used, state;
	/* HOLD, OWNED: the task that has the block, or will, and its lease there; 0: none. */
	uint32_t task;
	uint64_t lease;
	/* The update that the central table takes at next_at. */
	uint16_t next_version;
	uint32_t next_to;
	uint64_t next_at;
};

/* A hash table of entries by node and key, with open addressing. */
struct map {
	struct entry *at;
	uint32_t room, count;
};

struct slot {
	uint64_t key;
	uint32_t to;
	uint16_t version;
	uint8_t used;
};

struct emu_directory {
	struct emu_directory_conf conf;
	struct map units, homes, central;
	struct slot **cached; /* [nodes]; created at first use */
	uint32_t *waiting;    /* [nodes] packets that wait in the unit */
	uint64_t random, central_free_at;
	struct emu_directory_stat *stat, own;
};

static uint64_t mix_bits(uint64_t x)
{
	x = (x ^ x >> 31) * 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ull;
	return x ^ x >> 32;
}

/* ---- maps ---- */

static uint32_t map_place(const struct map *m, uint32_t node, uint64_t key)
{
	return (uint32_t)mix_bits(key + mix_bits(node + 1)) & (m->room - 1);
}

static struct entry *map_find(const struct map *m, uint32_t node, uint64_t key)
{
	uint32_t i;

	if (!m->count)
		return NULL;
	for (i = map_place(m, node, key); m->at[i].used; i = (i + 1) & (m->room - 1))
		if (m->at[i].key == key && m->at[i].node == node)
			return &m->at[i];
	return NULL;
}

static struct entry *map_free_slot(struct map *m, uint32_t node, uint64_t key)
{
	uint32_t i = map_place(m, node, key);

	while (m->at[i].used)
		i = (i + 1) & (m->room - 1);
	return &m->at[i];
}

static bool map_grow(struct map *m)
{
	struct map more = {.room = m->room ? 2 * m->room : MAP_FIRST, .count = m->count};

	more.at = calloc(more.room, sizeof(*more.at));
	if (!more.at)
		return false;
	for (uint32_t i = 0; i < m->room; i++)
		if (m->at[i].used)
			*map_free_slot(&more, m->at[i].node, m->at[i].key) = m->at[i];
	free(m->at);
	*m = more;
	return true;
}

/* Find the entry, or make one. Returns NULL if there is no memory. */
static struct entry *map_get(struct map *m, uint32_t node, uint64_t key)
{
	struct entry *e = map_find(m, node, key);

	if (e)
		return e;
	if (2 * (m->count + 1) > m->room && !map_grow(m))
		return NULL;
	e = map_free_slot(m, node, key);
	*e = (struct entry){.key = key, .node = node, .used = 1, .to = EMU_ADDRESS_NOBODY};
	m->count++;
	return e;
}

/* Close the gap that a removed entry leaves: move entries behind it up if their search passes
 * it. */
static void map_remove(struct map *m, struct entry *e)
{
	uint32_t mask = m->room - 1, gap = (uint32_t)(e - m->at), i = gap;

	for (;;) {
		i = (i + 1) & mask;
		if (!m->at[i].used)
			break;
		if (((i - map_place(m, m->at[i].node, m->at[i].key)) & mask) >=
		    ((i - gap) & mask)) {
			m->at[gap] = m->at[i];
			gap = i;
		}
	}
	m->at[gap].used = 0;
	m->count--;
}

/* ---- cached entries ---- */

static struct slot *cached_set(const struct emu_directory *d, uint32_t node, uint64_t key,
			       uint32_t *ways)
{
	*ways = d->conf.entries < WAYS ? d->conf.entries : WAYS;
	if (!*ways || !d->cached[node])
		return NULL;
	return d->cached[node] + ((uint32_t)mix_bits(key) & (d->conf.entries - 1) & ~(*ways - 1));
}

static struct slot *cached_find(const struct emu_directory *d, uint32_t node, uint64_t key)
{
	uint32_t ways;
	struct slot *s = cached_set(d, node, key, &ways);

	for (uint32_t i = 0; s && i < ways; i++)
		if (s[i].used && s[i].key == key)
			return &s[i];
	return NULL;
}

static void cached_add(struct emu_directory *d, uint32_t node, uint64_t key, uint32_t to,
		       uint16_t version)
{
	uint32_t ways, way = 0;
	struct slot *s;

	if (d->conf.entries && !d->cached[node])
		d->cached[node] = calloc(d->conf.entries, sizeof(*d->cached[node]));
	s = cached_set(d, node, key, &ways);
	if (!s) {
		d->stat->lost_entries += d->conf.entries != 0;
		return;
	}
	while (way < ways && s[way].used)
		way++;
	if (way == ways) {
		d->random = mix_bits(d->random + 1);
		way = (uint32_t)(d->random % ways);
		d->stat->evicted++;
	}
	s[way] = (struct slot){key, to, version, 1};
}

/*
 * A packet that passes says where the block is: update the cached entry of the node. With `add`,
 * make one if there is none.
 */
static void cached_learn(struct emu_directory *d, uint32_t node, uint32_t here,
			 const struct emu_address *a, bool add)
{
	struct slot *s = cached_find(d, node, a->key);

	if (!s) {
		if (!add || a->at == here)
			return;
		d->stat->learned++;
		cached_add(d, node, a->key, a->at, a->version);
	} else if (emu_version_is_newer(a->version, s->version) || a->flags & EMU_ADDRESS_MISLED) {
		d->stat->applied++;
		s->used = a->at != here; /* the unit's table answers for a block that is here */
		s->to = a->at;
		s->version = a->version;
	} else {
		d->stat->ignored++;
	}
}

/* ---- tables that software writes ---- */

static uint64_t lease_of(const struct emu_packet *p)
{
	const struct emu_bind_lease *b = (const void *)p->payload;

	return b->a.state >= EMU_BIND_HOLD && p->bytes >= sizeof(*b) ? b->lease : 0;
}

static void take_bind(struct emu_directory *d, uint32_t node, const struct emu_packet *p)
{
	const struct emu_address *a = (const void *)p->payload;
	struct entry *e = map_find(&d->units, node, a->key);
	struct emu_address next = *a;

	if (a->state == EMU_BIND_NONE) {
		if (e)
			map_remove(&d->units, e);
		return;
	}
	if (e && (emu_version_is_newer(e->version, a->version) ||
		  (e->version == a->version && e->state > a->state))) {
		d->stat->ignored++;
		return;
	}
	e = map_get(&d->units, node, a->key);
	if (!e) {
		d->stat->lost_entries++;
		return;
	}
	e->version = a->version;
	e->state = a->state;
	e->channel = a->channel;
	e->task = p->task;
	e->lease = lease_of(p);
	if (d->conf.mode != EMU_DIRECTORY_TORUS || a->state != EMU_BIND_GONE)
		return;
	/* The forward that the old owner leaves is an entry of its router. */
	next.at = a->to;
	cached_learn(d, node, a->at, &next, true);
}

static void take_central(struct emu_directory *d, const struct emu_address *a, uint64_t now)
{
	struct entry *e = map_get(&d->central, 0, a->key);

	if (!e) {
		d->stat->lost_entries++;
		return;
	}
	if (d->central_free_at < now)
		d->central_free_at = now;
	d->central_free_at += d->conf.central_ps;
	/* The table keeps only the last of several updates: the ones before it are stale. */
	e->next_to = a->at;
	e->next_version = a->version;
	e->next_at = d->central_free_at;
}

static void take_home(struct emu_directory *d, uint32_t node, const struct emu_address *a)
{
	struct entry *e = map_find(&d->homes, node, a->key);
	struct slot *s = cached_find(d, node, a->key);

	if (s && !emu_version_is_newer(s->version, a->version))
		s->used = 0;
	if (a->at == EMU_ADDRESS_NOBODY) {
		if (e)
			map_remove(&d->homes, e);
		return;
	}
	if (e && !emu_version_is_newer(a->version, e->version)) {
		d->stat->ignored++;
		return;
	}
	e = map_get(&d->homes, node, a->key);
	if (!e) {
		d->stat->lost_entries++;
		return;
	}
	d->stat->applied++;
	e->to = a->at;
	e->version = a->version;
}

/* ---- the rule ---- */

static uint32_t destination_of(const struct emu_packet *p)
{
	return p->hdr.NetworkHeader.pt2pt.Destination.Destination.Destination;
}

static void set_destination(struct emu_packet *p, uint32_t to)
{
	p->hdr.NetworkHeader.pt2pt.Destination.Destination.Destination = to;
}

/* Let an entry choose the destination of the packet. */
static void direct_packet(struct emu_packet *p, uint32_t to, uint16_t version)
{
	struct emu_address *a = emu_address_of(p);

	set_destination(p, to);
	a->version = version;
	a->flags |= EMU_ADDRESS_DIRECTED;
}

static const struct entry *bound_here(const struct emu_directory *d, uint32_t node, uint64_t key)
{
	const struct entry *e = map_find(&d->units, node, key);

	return e && e->state >= EMU_BIND_HOLD ? e : NULL;
}

static void visit_central(struct emu_directory *d, struct emu_packet *p, uint64_t now)
{
	struct entry *e = map_find(&d->central, 0, emu_address_of(p)->key);

	if (!e || emu_address_of(p)->flags & EMU_ADDRESS_GO_HOME)
		return;
	if (e->next_at && e->next_at <= now) {
		e->to = e->next_to;
		e->version = e->next_version;
		e->next_at = 0;
	}
	if (e->to == EMU_ADDRESS_NOBODY)
		return;
	direct_packet(p, e->to, e->version);
	d->stat->cached_hits++;
}

/* Returns true if a cached entry has chosen the destination. */
static bool visit_cached(struct emu_directory *d, uint32_t node, uint32_t here,
			 struct emu_packet *p)
{
	struct emu_address *a = emu_address_of(p);
	struct slot *s = cached_find(d, node, a->key);

	if (!s)
		return false;
	if (s->to == here ||
	    (a->flags & EMU_ADDRESS_GO_HOME && !emu_version_is_newer(s->version, a->version))) {
		s->used = 0;
		d->stat->dropped++;
		return false;
	}
	if (a->flags & EMU_ADDRESS_GO_HOME ||
	    (a->flags & EMU_ADDRESS_DIRECTED && !emu_version_is_newer(s->version, a->version)))
		return false;
	direct_packet(p, s->to, s->version);
	d->stat->cached_hits++;
	return true;
}

static void visit_home(struct emu_directory *d, uint32_t node, uint32_t here, struct emu_packet *p)
{
	struct emu_address *a = emu_address_of(p);
	const struct entry *e = here == a->at ? map_find(&d->homes, node, a->key) : NULL;

	if (!e || e->to == here || (a->flags & EMU_ADDRESS_DIRECTED && e->to == destination_of(p)))
		return;
	direct_packet(p, e->to, e->version);
	a->flags &= (uint8_t)~EMU_ADDRESS_GO_HOME;
	d->stat->home_hits++;
}

static void visit_message(struct emu_directory *d, uint32_t node, uint32_t here,
			  struct emu_packet *p, bool injected, uint64_t now)
{
	struct emu_address *a = emu_address_of(p);

	if (a->flags & EMU_ADDRESS_SOFTWARE)
		return;
	if (bound_here(d, node, a->key)) {
		set_destination(p, here);
		return;
	}
	if (a->flags & EMU_ADDRESS_TURNED)
		return;
	if (d->conf.mode == EMU_DIRECTORY_CENTRAL && injected)
		visit_central(d, p, now);
	if (d->conf.mode == EMU_DIRECTORY_TORUS && visit_cached(d, node, here, p))
		return;
	if (d->conf.mode >= EMU_DIRECTORY_HOME)
		visit_home(d, node, here, p);
}

bool emu_directory_visit(struct emu_directory *d, uint32_t node, uint32_t here,
			 struct emu_packet *p, bool injected, uint64_t now)
{
	const struct emu_address *a = emu_address_of(p);
	uint32_t before = destination_of(p);

	switch (a->kind) {
	case EMU_ADDRESS_MESSAGE:
		d->stat->messages += injected;
		visit_message(d, node, here, p, injected, now);
		break;
	case EMU_ADDRESS_ANSWER:
	case EMU_ADDRESS_UPDATE:
		if (d->conf.mode == EMU_DIRECTORY_TORUS)
			cached_learn(d, node, here, a, a->kind == EMU_ADDRESS_ANSWER);
		break;
	default:
		break;
	}
	return destination_of(p) != before;
}

uint64_t emu_directory_inject_ps(const struct emu_directory *d, const struct emu_packet *p,
				 uint32_t ps)
{
	const struct emu_address *a = (const void *)p->payload;

	return a->kind != EMU_ADDRESS_MESSAGE || d->conf.mode == EMU_DIRECTORY_CENTRAL ? 0 : ps;
}

void emu_directory_turn(struct emu_directory *d, struct emu_packet *p)
{
	emu_address_of(p)->flags |= EMU_ADDRESS_TURNED;
	p->hdr.NetworkHeader.pt2pt.Byte3.Virtual_channel = EMU_VC_SYSTEM;
	d->stat->turns++;
}

static void set_fifo(struct emu_packet *p, uint16_t channel)
{
	p->hdr.messageUnitHeader.Packet_Types.Memory_FIFO.Rec_FIFO_Id = channel & 511;
}

/* The block is not here. A newer forward of this router leads the packet on, else the entry of the
 * home, else the packet goes home. */
static enum emu_arrival resend_packet(struct emu_directory *d, uint32_t node, uint32_t here,
				      struct emu_packet *p)
{
	struct emu_address *a = emu_address_of(p);

	a->flags &= (uint8_t)~EMU_ADDRESS_TURNED;
	if (!(a->flags & EMU_ADDRESS_SOFTWARE)) {
		if (d->conf.mode == EMU_DIRECTORY_TORUS && visit_cached(d, node, here, p))
			return EMU_ARRIVAL_RESEND;
		visit_home(d, node, here, p);
		if (destination_of(p) != here)
			return EMU_ARRIVAL_RESEND;
	}
	a->flags &= (uint8_t)~EMU_ADDRESS_DIRECTED;
	a->flags |= EMU_ADDRESS_GO_HOME | EMU_ADDRESS_MISLED;
	set_destination(p, a->at);
	return EMU_ARRIVAL_RESEND;
}

static enum emu_arrival bounce_packet(struct emu_directory *d, uint32_t node, uint32_t here,
				      struct emu_packet *p)
{
	struct emu_address *a = emu_address_of(p);

	d->stat->bounces++;
	if (a->budget)
		a->budget--;
	else
		a->flags |= EMU_ADDRESS_SOFTWARE;
	return resend_packet(d, node, here, p);
}

static void expect_access(struct emu_directory *d, uint32_t task, int change)
{
	if (d->conf.expect)
		d->conf.expect(d->conf.arg, task, change);
}

static bool is_access(const struct emu_packet *p)
{
	const struct emu_access *x = (const void *)p->payload;

	return p->bytes >= sizeof(*x) && x->a.state > EMU_ACCESS_NONE &&
	       x->a.state < EMU_ACCESS_KINDS;
}

static enum emu_arrival arrive_message(struct emu_directory *d, uint32_t node, uint32_t here,
				       struct emu_packet *p)
{
	struct emu_address *a = emu_address_of(p);
	const struct entry *e = bound_here(d, node, a->key), *h;

	if (e && !(a->flags & EMU_ADDRESS_SOFTWARE)) {
		d->stat->unit_hits++;
		if (d->conf.access && e->lease && is_access(p)) {
			set_fifo(p, e->channel);
			p->route.next = e->task; /* the packet is in no queue */
			expect_access(d, e->task, 1);
			return EMU_ARRIVAL_ACCESS;
		}
		d->stat->held += e->state == EMU_BIND_HOLD;
		set_fifo(p, e->channel);
		return EMU_ARRIVAL_DELIVER;
	}
	h = here == a->at ? map_find(&d->homes, node, a->key) : NULL;
	if (here == a->at && (!h || h->to == here || d->conf.mode < EMU_DIRECTORY_HOME ||
			      a->flags & EMU_ADDRESS_SOFTWARE)) {
		d->stat->software++;
		set_fifo(p, a->channel);
		return EMU_ARRIVAL_DELIVER;
	}
	return bounce_packet(d, node, here, p);
}

enum emu_arrival emu_directory_arrive(struct emu_directory *d, uint32_t node, uint32_t here,
				      struct emu_packet *p, uint64_t now)
{
	const struct emu_address *a = emu_address_of(p);

	switch (a->kind) {
	case EMU_ADDRESS_MESSAGE:
		return arrive_message(d, node, here, p);
	case EMU_ADDRESS_BIND:
		take_bind(d, node, p);
		return EMU_ARRIVAL_TAKEN;
	case EMU_ADDRESS_HOME:
		if (d->conf.mode == EMU_DIRECTORY_CENTRAL)
			take_central(d, a, now);
		else
			take_home(d, node, a);
		return EMU_ARRIVAL_TAKEN;
	default:
		return EMU_ARRIVAL_DELIVER;
	}
}

/* The block of the packet arrives or has just left. Returns false if the packet has waited too
 * long, or too many wait. */
static bool keep_waiting(struct emu_directory *d, uint32_t node, struct emu_address *a)
{
	if (!a->budget)
		return false;
	a->budget--;
	if (a->flags & EMU_ADDRESS_WAITS)
		return true;
	if (d->waiting[node] == EMU_ADDRESS_WAITING_MAX)
		return false;
	if (++d->waiting[node] > d->stat->held_most)
		d->stat->held_most = d->waiting[node];
	a->flags |= EMU_ADDRESS_WAITS;
	return true;
}

static void end_waiting(struct emu_directory *d, uint32_t node, struct emu_address *a)
{
	if (a->flags & EMU_ADDRESS_WAITS)
		d->waiting[node]--;
	a->flags &= (uint8_t)~EMU_ADDRESS_WAITS;
}

enum emu_arrival emu_directory_access(struct emu_directory *d, uint32_t node, uint32_t here,
				      struct emu_packet *p)
{
	struct emu_address *a = emu_address_of(p), before = *a;
	const struct entry *e = map_find(&d->units, node, a->key);
	enum emu_arrival way;

	expect_access(d, p->route.next, -1);
	if (a->flags & EMU_ADDRESS_WAITS && (!e || e->state < EMU_BIND_HOLD)) {
		end_waiting(d, node, a);
		return bounce_packet(d, node, here, p);
	}
	if (!e || e->state < EMU_BIND_HOLD || !e->lease || e->task != p->route.next) {
		end_waiting(d, node, a);
		return EMU_ARRIVAL_DELIVER;
	}
	a->kind = EMU_ADDRESS_ANSWER;
	a->at = here;
	a->version = e->version;
	a->flags = (uint8_t)((a->flags & EMU_ADDRESS_MISLED) | EMU_ADDRESS_BY_UNIT);
	way = d->conf.access(d->conf.arg, e->task, e->lease, p);
	if (way == EMU_ARRIVAL_RESEND) {
		d->waiting[node] -= (before.flags & EMU_ADDRESS_WAITS) != 0;
		d->stat->by_unit++;
		return way;
	}
	*a = before;
	if (way == EMU_ARRIVAL_WAIT) {
		d->stat->held += !(a->flags & EMU_ADDRESS_WAITS);
		if (keep_waiting(d, node, a)) {
			expect_access(d, e->task, 1);
			return way;
		}
	}
	end_waiting(d, node, a);
	return EMU_ARRIVAL_DELIVER;
}

/* ---- life, counters ---- */

struct emu_directory *emu_directory_create(const struct emu_directory_conf *conf)
{
	struct emu_directory *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->conf = *conf;
	d->stat = conf->stat ? conf->stat : &d->own;
	while (d->conf.entries & (d->conf.entries - 1))
		d->conf.entries &= d->conf.entries - 1;
	d->cached = calloc(conf->nodes, sizeof(*d->cached));
	d->waiting = calloc(conf->nodes, sizeof(*d->waiting));
	if (d->cached && d->waiting)
		return d;
	free(d->cached);
	free(d->waiting);
	free(d);
	return NULL;
}

void emu_directory_destroy(struct emu_directory *d)
{
	if (!d)
		return;
	for (uint32_t i = 0; i < d->conf.nodes; i++)
		free(d->cached[i]);
	free(d->cached);
	free(d->waiting);
	free(d->units.at);
	free(d->homes.at);
	free(d->central.at);
	free(d);
}

struct emu_directory_stat emu_directory_stat(const struct emu_directory *d)
{
	return *d->stat;
}

const char *emu_directory_counter(const struct emu_directory_stat *s, unsigned i, uint64_t *value,
				  const char **meaning)
{
	static const struct {
		const char *name, *meaning;
		size_t at;
	} rows[] = {
#define EMU_DIRECTORY_COUNTER(name, meaning)                                                       \
	{#name, meaning, offsetof(struct emu_directory_stat, name)},
#include "emu/directory.def"
#undef EMU_DIRECTORY_COUNTER
	};

	if (i >= sizeof(rows) / sizeof(*rows))
		return NULL;
	*value = *(const uint64_t *)(const void *)((const char *)s + rows[i].at);
	*meaning = rows[i].meaning;
	return rows[i].name;
}

uint32_t emu_directory_cached(const struct emu_directory *d, uint32_t node, uint64_t key)
{
	const struct slot *s = cached_find(d, node, key);

	return s ? s->to : EMU_ADDRESS_NOBODY;
}

uint32_t emu_directory_home(const struct emu_directory *d, uint32_t node, uint64_t key)
{
	const struct entry *e = map_find(&d->homes, node, key);

	return e ? e->to : EMU_ADDRESS_NOBODY;
}

enum emu_bind emu_directory_bound(const struct emu_directory *d, uint32_t node, uint64_t key)
{
	const struct entry *e = map_find(&d->units, node, key);

	return e ? (enum emu_bind)e->state : EMU_BIND_NONE;
}
