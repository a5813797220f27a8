/* SPDX-License-Identifier: BSD-3-Clause */
/* HOT: mu_access_near() (bench: agas_bench). */
#include "mu/segment/lease.h"

#include <string.h>

#include "emu/access.h"
#include "emu/near_access.h"
#include "mu/engine/memory.h"
#include "mu/process.h"
#include "mu/segment/directory.h"

#define LINE     64u /* a lease begins on one */
#define TASK_BIT 40
#define PLACE    ((1ull << TASK_BIT) - 1)

struct slot {
	_Alignas(64) atomic_u64 name;
};

/* ---- names ---- */

uint64_t mu_lease_slots_bytes(const struct mu_host *h)
{
	return (uint64_t)h->locals * MU_LEASE_SLOTS * sizeof(struct slot);
}

uint64_t mu_lease_name(struct mu_process *p, uint64_t lease)
{
	uint64_t at = lease - (uint64_t)(uintptr_t)mu_host_arena(p->host, p->local);

	return lease && !(at % LINE) && at < p->host->arena_bytes
		   ? (uint64_t)(p->task + 1) << TASK_BIT | at / LINE
		   : 0;
}

static uint32_t task_of(uint64_t name)
{
	return (uint32_t)((name & ~EMU_NEAR_CLAIMED) >> TASK_BIT) - 1;
}

bool mu_lease_is_of(uint64_t name, uint32_t task)
{
	return task_of(name) == task;
}

static struct slot *slots_of(struct mu_process *p, uint32_t local)
{
	struct mu_host *h = p->host;

	return (struct slot *)((char *)mu_host_directory(h) + h->directory_slots) +
	       (size_t)local * MU_LEASE_SLOTS;
}

/* ---- the source ---- */

/* The value before takes the place of the operands. */
static void run_atomic(enum emu_access_kind kind, uint64_t *at, void *data)
{
	struct emu_operands o;
	uint64_t old = atomic_load_relaxed(at);

	memcpy(&o, data, sizeof(o));
	while (!atomic_cas_acq_rel(at, &old, emu_access_next(kind, old, &o)))
		;
	memcpy(data, &old, sizeof(old));
}

static void run_access(const struct emu_access *x, char *at, void *data)
{
	if (x->a.state == EMU_ACCESS_PUT)
		mu_copy_own((uint64_t)(uintptr_t)at, data, x->bytes);
	else if (x->a.state == EMU_ACCESS_GET)
		memcpy(data, at, x->bytes);
	else
		run_atomic((enum emu_access_kind)x->a.state, (uint64_t *)(void *)at, data);
}

/* Return [at, at + bytes) of the arena of a local task in this process, or NULL. */
static void *find_in_arena(struct mu_process *p, uint32_t local, uint64_t at, uint64_t bytes)
{
	return at < p->host->arena_bytes && bytes <= p->host->arena_bytes - at &&
		       mu_host_map_arena(p->host, local, at + bytes)
		   ? mu_host_arena(p->host, local) + at
		   : NULL;
}

/* The place of the block in this process. The slot names the lease, so its fields stand still while
 * it is OWNED. */
static char *find_block(struct mu_process *p, uint32_t local, const struct emu_lease *l)
{
	uint64_t base = atomic_load_relaxed(&mu_host_area(p->host, local)->map_base);
	uint64_t arena = mu_host_arenas_at(p->host) + p->host->arena_bytes * local;

	return find_in_arena(p, local, l->memory - base - arena, l->bytes);
}

static bool access_block(struct mu_process *p, uint32_t local, struct emu_lease *l,
			 const struct emu_access *x, void *data)
{
	char *block;

	if (!emu_near_may_access(l) || !emu_access_is_inside(l, x))
		return false;
	block = find_block(p, local, l);
	if (!block)
		return false;
	emu_lease_vote(l, p->task);
	run_access(x, block + x->a.to, data);
	return true;
}

static struct slot *enter(struct mu_process *p, uint64_t name)
{
	struct slot *s = slots_of(p, p->local);

	for (unsigned i = 0; i < MU_LEASE_SLOTS; i++)
		if (emu_near_enter(&s[i].name, name))
			return &s[i];
	return NULL;
}

bool mu_access_near(const struct emu_access *x, void *data, struct mu_near_end *end)
{
	struct mu_process *p = &mu_self;
	uint64_t name = mu_directory_find_lease(p, x->a.key);
	uint32_t task = task_of(name), local;
	struct emu_lease *l;
	struct slot *s;
	bool done;

	end->task = UINT32_MAX;
	/* A forked child has no tasks. */
	if (!name || task >= p->tasks || !p->near[task] || mu_is_unreachable(p, task) ||
	    (x->a.at != EMU_ADDRESS_NOBODY && x->a.at != task))
		return false;
	local = p->entry[task].local;
	l = find_in_arena(p, local, (name & PLACE) * LINE, sizeof(*l));
	s = l ? enter(p, name) : NULL;
	if (!s)
		return false;
	done = access_block(p, local, l, x, data);
	if (!emu_near_leave(&s->name, name)) {
		end->task = task;
		end->slot = (uint32_t)(s - slots_of(p, p->local));
		end->key = l->key; /* the pin keeps it */
	}
	if (done)
		atomic_fetch_add_relaxed(&p->host->directory.by_unit, 1);
	return done;
}

/* ---- the owner ---- */

uint32_t mu_lease_claim(const void *lease)
{
	struct mu_process *p = &mu_self;
	uint64_t name = mu_lease_name(p, (uint64_t)(uintptr_t)lease);
	struct slot *s = slots_of(p, 0);
	uint32_t pins = 0;

	if (!name || !p->host->directory_units)
		return 0;
	for (uint32_t i = 0; i < p->host->locals * MU_LEASE_SLOTS; i++)
		pins += emu_near_claim(&s[i].name, name);
	return pins;
}

bool mu_lease_release(const void *lease, uint32_t task, uint32_t slot)
{
	struct mu_process *p = &mu_self;
	uint64_t name = mu_lease_name(p, (uint64_t)(uintptr_t)lease);

	return name && p->host->directory_units && task < p->tasks && p->near[task] &&
	       slot < MU_LEASE_SLOTS &&
	       emu_near_release(&slots_of(p, p->entry[task].local)[slot].name, name);
}

void mu_lease_death(uint32_t task, void (*unpin)(void *lease))
{
	struct mu_process *p = &mu_self;
	struct slot *s;

	if (!p->host->directory_units || task >= p->tasks || !p->near[task])
		return;
	s = slots_of(p, p->entry[task].local);
	for (unsigned i = 0; i < MU_LEASE_SLOTS; i++) {
		uint64_t name = atomic_load_seq_cst(&s[i].name);

		if (!mu_lease_is_of(name, p->task))
			continue;
		if (emu_near_release(&s[i].name, name & ~EMU_NEAR_CLAIMED))
			unpin(mu_host_arena(p->host, p->local) + (name & PLACE) * LINE);
		else
			atomic_cas_seq_cst(&s[i].name, &name, 0); /* Its access has ended. */
	}
}
