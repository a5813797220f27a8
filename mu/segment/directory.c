/* SPDX-License-Identifier: BSD-3-Clause */
#include "mu/segment/directory.h"

#include "emu/directory.h"
#include "mu/process.h"
#include "mu/segment/host.h"
#include "mu/segment/lease.h"

#define WAYS      4u
#define HOMES_MIN 4096u  /* entries */
#define UNITS_MAX 65536u /* entries */

/* value: 1 << 63 | version << 32 | task, of the units the name of a lease; 0: the entry is free. */
struct mu_directory_entry {
	atomic_u64 key, value;
};

enum which { HOMES, CACHED, UNIT_TABLE };

#define COUNT(p, name) atomic_fetch_add_relaxed(&(p)->host->directory.name, 1)

static uint32_t power_of_two(uint32_t n)
{
	while (n & (n - 1))
		n &= n - 1;
	return n;
}

uint64_t mu_directory_layout(struct mu_host *h, const struct mu_host_conf *conf)
{
	enum emu_directory_mode mode = emu_machine_directory(&h->machine);

	if (conf->clock != MU_CLOCK_REAL)
		return 0;
	h->directory_cached =
	    mode == EMU_DIRECTORY_TORUS ? power_of_two(h->machine.hw.agas_entries) : 0;
	h->directory_homes = h->directory_cached > HOMES_MIN ? h->directory_cached : HOMES_MIN;
	if (mode == EMU_DIRECTORY_NONE)
		h->directory_homes = 0; /* the directory is software; leases serve it, too */
	h->directory_units = h->machine.hw.agas_unit ? UNITS_MAX : 0;
	h->directory_slots =
	    ((uint64_t)h->directory_homes + h->directory_cached + h->directory_units) *
	    sizeof(struct mu_directory_entry);
	h->directory_slots = (h->directory_slots + 63) & ~63ull; /* each slot has its own line */
	return h->directory_slots + mu_lease_slots_bytes(h);
}

/* The entries that may have the key. *ways is 0 where there is no such table. */
static struct mu_directory_entry *find_set(struct mu_process *p, enum which which, uint64_t key,
					   uint32_t *ways)
{
	struct mu_host *h = p->host;
	struct mu_directory_entry *table = mu_host_directory(h);
	uint32_t entries = which == HOMES    ? h->directory_homes
			   : which == CACHED ? h->directory_cached
					     : h->directory_units;
	uint64_t hash = (key ^ key >> 29) * 0x9e3779b97f4a7c15ull >> 32;

	*ways = entries < WAYS ? entries : WAYS;
	if (!*ways)
		return NULL;
	return table + (which == HOMES ? 0 : h->directory_homes) +
	       (which == UNIT_TABLE ? h->directory_cached : 0) +
	       (hash & (entries - 1) & ~(uint64_t)(*ways - 1));
}

/* Its value is not 0 when this looks, or NULL. */
static struct mu_directory_entry *find_entry(struct mu_process *p, enum which which, uint64_t key,
					     uint64_t *value)
{
	uint32_t ways, i;
	struct mu_directory_entry *e = find_set(p, which, key, &ways);

	for (i = 0; i < ways; i++) {
		if (atomic_load_acquire(&e[i].key) != key)
			continue;
		*value = atomic_load_acquire(&e[i].value);
		if (*value)
			return &e[i];
	}
	return NULL;
}

static uint64_t value_of(uint32_t task, uint16_t version)
{
	return 1ull << 63 | (uint64_t)version << 32 | task;
}

static bool is_newer_value(uint64_t a, uint64_t b)
{
	return emu_version_is_newer((uint16_t)(a >> 32), (uint16_t)(b >> 32));
}

/* Replace a value that is older; `always`: or not. */
static void replace_value(struct mu_process *p, struct mu_directory_entry *e, uint64_t old,
			  uint64_t value, bool always)
{
	while (always || is_newer_value(value, old))
		if (atomic_cas_acq_rel(&e->value, &old, value)) {
			COUNT(p, applied);
			return;
		}
	COUNT(p, ignored);
}

/* A new key, in a free entry or (cached) in that of a random one. */
static void add_entry(struct mu_process *p, enum which which, uint64_t key, uint64_t value)
{
	uint32_t ways, i = 0;
	struct mu_directory_entry *e = find_set(p, which, key, &ways);

	while (i < ways && atomic_load_relaxed(&e[i].value))
		i++;
	if (i == ways && (which != CACHED || !ways)) {
		if (ways)
			COUNT(p, lost_entries);
		return;
	}
	if (i == ways)
		i = (uint32_t)(COUNT(p, evicted) * 0x9e3779b1u >> 16) % ways;
	atomic_store_release(&e[i].value, 0);
	atomic_store_release(&e[i].key, key);
	atomic_store_release(&e[i].value, value);
	COUNT(p, learned);
}

static void write_entry(struct mu_process *p, enum which which, uint64_t key, uint64_t value,
			bool always)
{
	uint64_t old;
	struct mu_directory_entry *e = find_entry(p, which, key, &old);

	if (e)
		replace_value(p, e, old, value, always);
	else
		add_entry(p, which, key, value);
}

static void drop_entry(struct mu_process *p, enum which which, uint64_t key, uint16_t version)
{
	uint64_t old;
	struct mu_directory_entry *e = find_entry(p, which, key, &old);

	if (e && !is_newer_value(old, value_of(0, version)) &&
	    atomic_cas_acq_rel(&e->value, &old, 0))
		COUNT(p, dropped);
}

/* ---- leases ---- */

uint64_t mu_directory_find_lease(struct mu_process *p, uint64_t key)
{
	uint64_t value;

	return p->host->directory_units && find_entry(p, UNIT_TABLE, key, &value) ? value : 0;
}

/* The unit's table follows what the task says of a block. The last one to say so counts: an entry
 * that is too old names a lease that says no. */
static void bind_lease(struct mu_process *p, const struct emu_address *a)
{
	uint64_t old, name = 0;
	struct mu_directory_entry *e;

	if (!p->host->directory_units)
		return;
	if (a->state >= EMU_BIND_HOLD)
		name = mu_lease_name(p, ((const struct emu_bind_lease *)(const void *)a)->lease);
	e = find_entry(p, UNIT_TABLE, a->key, &old);
	if (e && name)
		atomic_store_release(&e->value, name);
	else if (e && mu_lease_is_of(old, p->task))
		atomic_cas_acq_rel(&e->value, &old, 0);
	else if (name)
		add_entry(p, UNIT_TABLE, a->key, name);
}

/* ---- what packets do ---- */

static void take_bind(struct mu_process *p, const struct emu_address *a)
{
	bind_lease(p, a);
	switch ((enum emu_bind)a->state) {
	case EMU_BIND_NONE:
		drop_entry(p, CACHED, a->key, a->version);
		break;
	case EMU_BIND_GONE:
		if (a->to < p->tasks)
			write_entry(p, CACHED, a->key, value_of(a->to, a->version), false);
		break;
	case EMU_BIND_HOLD:
	case EMU_BIND_OWNED:
		write_entry(p, CACHED, a->key, value_of(p->task, a->version), false);
		break;
	}
}

static void take_home(struct mu_process *p, const struct emu_address *a)
{
	drop_entry(p, CACHED, a->key, a->version);
	if (a->at < p->tasks)
		write_entry(p, HOMES, a->key, value_of(a->at, a->version), false);
	else
		drop_entry(p, HOMES, a->key, a->version);
}

static bool lead_by(struct mu_process *p, enum which which, uint64_t key, uint32_t *task)
{
	uint64_t value;
	uint32_t to;

	if (!find_entry(p, which, key, &value))
		return false;
	to = (uint32_t)value;
	if (to >= p->tasks || mu_is_unreachable(p, to))
		return false;
	*task = to;
	return true;
}

static void lead_message(struct mu_process *p, const struct emu_address *a, uint32_t *task)
{
	uint32_t home = *task;

	COUNT(p, messages);
	if (lead_by(p, CACHED, a->key, task))
		COUNT(p, cached_hits);
	else if (p->entry[home].host == p->own_host && lead_by(p, HOMES, a->key, task))
		COUNT(p, home_hits);
	else
		COUNT(p, software);
}

bool mu_directory_lead(struct mu_process *p, const struct emu_address *a, uint32_t *task)
{
	switch ((enum emu_address_kind)a->kind) {
	case EMU_ADDRESS_MESSAGE:
		lead_message(p, a, task);
		return true;
	case EMU_ADDRESS_BIND:
		take_bind(p, a);
		return false;
	case EMU_ADDRESS_HOME:
		take_home(p, a);
		return false;
	case EMU_ADDRESS_ANSWER:
	case EMU_ADDRESS_UPDATE:
	case EMU_ADDRESS_KINDS:
		break;
	}
	return true;
}

uint32_t mu_address_lead(uint64_t key, uint32_t home)
{
	struct emu_address a = {.key = key, .kind = EMU_ADDRESS_MESSAGE};

	if (mu_self.clock->lead_address)
		mu_self.clock->lead_address(&mu_self, &a, &home);
	return home;
}

void mu_address_arrived(const struct emu_address *a, uint32_t owner)
{
	struct mu_process *p = &mu_self;
	uint64_t old, value = value_of(owner, a->version);
	struct mu_directory_entry *e;

	if (!p->host->directory_cached || owner >= p->tasks)
		return;
	e = find_entry(p, CACHED, a->key, &old);
	if (e)
		replace_value(p, e, old, value, a->flags & EMU_ADDRESS_MISLED && old != value);
	else if (a->kind == EMU_ADDRESS_ANSWER)
		add_entry(p, CACHED, a->key, value);
}
