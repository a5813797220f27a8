/* SPDX-License-Identifier: BSD-3-Clause */
/* What a messaging unit does to a lease and to a block, in both clocks. */
#ifndef EMU_ACCESS_H
#define EMU_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "drivers/base/atomic.h"
#include "emu/directory.h"

static inline bool emu_access_is_atomic(const struct emu_access *x)
{
	return x->a.state >= EMU_ACCESS_XOR && x->a.state <= EMU_ACCESS_CAS;
}

/* Is the lease that of the block which the access names, and does the access lie inside it? */
static inline bool emu_access_is_inside(const struct emu_lease *l, const struct emu_access *x)
{
	return l->key == x->a.key && x->a.to <= l->bytes && x->bytes <= l->bytes - x->a.to;
}

/* As count_use() of agas/access/serve.c. In real time several tasks may vote at once, and then some
 * votes are lost. */
static inline void emu_lease_vote(struct emu_lease *l, uint32_t source)
{
	uint32_t votes = atomic_load_relaxed(&l->votes);

	atomic_store_relaxed(&l->uses, atomic_load_relaxed(&l->uses) + 1);
	if (atomic_load_relaxed(&l->voter) == source) {
		atomic_store_relaxed(&l->votes, votes + 1);
	} else if (votes) {
		atomic_store_relaxed(&l->votes, votes - 1);
	} else {
		atomic_store_relaxed(&l->voter, source);
		atomic_store_relaxed(&l->votes, 1);
	}
}

/* Return what an atomic operation leaves of a value; agas_atomic_run() of agas/access/serve.c does
 * the same. */
static inline uint64_t emu_access_next(enum emu_access_kind kind, uint64_t old,
				       const struct emu_operands *o)
{
	return kind == EMU_ACCESS_XOR   ? old ^ o->operand
	       : kind == EMU_ACCESS_ADD ? old + o->operand
	       : kind == EMU_ACCESS_CAS ? (old == o->expected ? o->operand : old)
					: o->operand;
}

#endif
