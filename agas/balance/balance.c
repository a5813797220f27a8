/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Balancing moves blocks to where they are used, or away from overloaded ranks. A rank counts the
 * accesses to each block that it owns, and keeps a majority vote of the ranks that made them (Boyer
 * and Moore): the winner is right where one rank makes more than half of them.
 */
#include <stdlib.h>
#include <string.h>

#include "agas/core/world.h"
#include "agas/move/move.h"
#include "drivers/base/array.h"
#include "drivers/base/assert.h"
#include "drivers/base/rng.h"

struct candidate {
	uint64_t key;
	uint32_t uses, winner;
};

struct survey {
	struct candidate *at;
	size_t count, room;
	uint64_t load;
	bool no_memory;
};

/* Linear pages are always eligible, other blocks if the program said so. */
static bool is_eligible(const struct agas_block *b, uint64_t key)
{
	return agas_block_state(b) == AGAS_OWNED &&
	       (agas_is_linear(key) || b->attributes & HPX_GAS_ATTR_LB);
}

static void survey_add(void *arg, uint64_t key, uint64_t value)
{
	struct agas_block *b = (struct agas_block *)(uintptr_t)value;
	uint32_t here = atomic_exchange_relaxed(&b->local_uses, 0);
	struct survey *s = arg;
	struct candidate c = {.key = key, .uses = b->accesses + here, .winner = b->voter};

	if (!is_eligible(b, key))
		return;
	/* The accesses of the rank itself count as votes, too. */
	if (b->voter == agas_world.me || here >= b->votes)
		c.winner = agas_world.me;
	b->accesses = b->voter = b->votes = 0;
	s->load += c.uses;
	if (s->count == s->room) {
		struct candidate *more = drv_array_grow(s->at, &s->room, sizeof(*more), 64);

		if (!more) {
			s->no_memory = true;
			return;
		}
		s->at = more;
	}
	s->at[s->count++] = c;
}

static int by_uses(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->uses != y->uses)
		return x->uses < y->uses ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static uint32_t least_loaded(const uint64_t *load)
{
	uint32_t r, best = 0;

	for (r = 1; r < agas_world.space.ranks; r++)
		if (load[r] < load[best])
			best = r;
	return best;
}

static uint32_t choose_destination(enum agas_policy policy, const uint64_t *load,
				   struct drv_rng *rng)
{
	uint32_t p = agas_world.space.ranks, me = agas_world.me;

	DRV_ASSERT(p);
	switch (policy) {
	case AGAS_BALANCE_PREDECESSOR:
		return (me + p - 1) % p;
	case AGAS_BALANCE_SUCCESSOR:
		return (me + 1) % p;
	case AGAS_BALANCE_RANDOM:
		return (uint32_t)drv_rng_below(rng, p);
	case AGAS_BALANCE_LEAST:
	case AGAS_BALANCE_COUNT:
		break;
	}
	return least_loaded(load);
}

static int move_to_users(const struct survey *s)
{
	int moved = 0;
	size_t i;

	for (i = 0; i < s->count; i++)
		if (s->at[i].uses && s->at[i].winner != agas_world.me &&
		    !agas_is_dead(s->at[i].winner))
			moved +=
			    !agas_move_to("agas_balance", s->at[i].key, (int)s->at[i].winner, NULL);
	return moved;
}

/* Give away the least used blocks first, as long as this rank is overloaded and keeps one block. */
static int move_away(const struct survey *s, enum agas_policy policy, double limit, uint64_t *load)
{
	uint32_t p = agas_world.space.ranks, r, me = agas_world.me;
	struct drv_rng rng;
	double mean = 0;
	int moved = 0;
	size_t i;

	drv_rng_seed(&rng, me + 1);
	for (r = 0; r < p; r++)
		mean += (double)load[r] / p;
	if (s->count)
		qsort(s->at, s->count, sizeof(*s->at), by_uses);
	for (i = 0; i + 1 < s->count && (double)load[me] >= limit * mean; i++) {
		uint32_t to;

		if (!s->at[i].uses)
			continue;
		to = choose_destination(policy, load, &rng);
		if (to == me || agas_is_dead(to) ||
		    agas_move_to("agas_balance", s->at[i].key, (int)to, NULL))
			continue;
		load[me] -= s->at[i].uses;
		load[to] += s->at[i].uses;
		moved++;
	}
	return moved;
}

#pragma GCC visibility push(default)

int agas_balance(enum agas_policy policy, double limit)
{
	struct survey s = {0};
	uint64_t *load;
	int rc;

	if (!agas_world.open)
		return agas_fail(__func__, AGAS_ESTATE, "call agas_init() first");
	if (agas_is_in_handler())
		return agas_fail(__func__, AGAS_EINVAL, "an action must not wait");
	if ((unsigned)policy > AGAS_BALANCE_RANDOM || !(limit >= 1))
		return agas_fail(__func__, AGAS_EINVAL, "no such policy, or a limit below 1");
	rc = agas_barrier();
	if (rc)
		return rc;
	AGAS_LOCK;
	load = calloc(agas_world.space.ranks, sizeof(*load));
	agas_table_walk(agas_world.blocks, survey_add, &s);
	if (!load || s.no_memory) {
		s.count = 0; /* The collective calls follow, so that no rank waits. */
		agas_fail(__func__, AGAS_ENOMEM, "no memory for the list of blocks");
	}
	rc = load ? agas_coll_allgather(&s.load, load, sizeof(*load)) : AGAS_ENOMEM;
	if (!rc)
		rc = policy == AGAS_BALANCE_COUNT ? move_to_users(&s)
						  : move_away(&s, policy, limit, load);
	free(load);
	free(s.at);
	if (rc >= 0) {
		int moved = rc;

		rc = agas_barrier();
		rc = rc ? rc : moved;
	}
	return rc;
}

#pragma GCC visibility pop
