/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A large copy between private memories of two tasks, done by both: process_vm_* pins page after
 * page, so one processor moves 13 GB/s where memcpy moves 40. The initiator cuts the copy into
 * chunks, publishes it in its channel's area and points the other task's channel to it
 * (ring.asked); if that task polls, it takes chunks too. The initiator waits only for chunks that
 * were taken. Guarded by bench/micro/pami_rdma.
 *
 *   next  generation, chunk   taken by compare-and-swap: a late helper of an earlier copy gets none
 *   done  generation, chunks  finished; the copy is complete when all are
 */
#include <errno.h>
#include <sched.h>

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "mu/engine/memory.h"
#include "mu/process.h"
#include "mu/transport/transport.h"

#define CHUNK_MIN 32768u
#define CHUNK_MAX 131072u
#define CHUNKS    2            /* at least; more pin the same pages no sooner: qbench rdma */
#define SHARE_MAX (1ull << 40) /* bytes: the number of a chunk has 32 bits */

#define LOAD(x)     atomic_load_relaxed(&(x))
#define STORE(x, v) atomic_store_relaxed(&(x), v)

struct chunk {
	uint64_t mine, theirs, bytes;
	int put;
};

/* Take a chunk of generation `generation` (0: of whatever is there) for task `task`. 0: there is
 * none. */
static int take_chunk(struct mu_share *s, uint32_t *generation, uint32_t task, struct chunk *c)
{
	uint64_t next = atomic_load_acquire(&s->next);

	for (;;) {
		uint64_t bytes = LOAD(s->bytes), chunk = LOAD(s->chunk),
			 at = (uint32_t)next * chunk;

		*c = (struct chunk){LOAD(s->mine) + at, LOAD(s->theirs) + at, bytes - at,
				    LOAD(s->put)};
		if (at >= bytes || LOAD(s->error) || LOAD(s->task) != task ||
		    (*generation && next >> 32 != *generation))
			return 0;
		c->bytes = c->bytes > chunk ? chunk : c->bytes;
		/* What was read belongs to this generation if it still is: its owner starts another
		 * only when all chunks are taken and done. */
		if (atomic_cas_acq_rel(&s->next, &next, next + 1)) {
			*generation = (uint32_t)(next >> 32);
			return 1;
		}
	}
}

static void finish_chunk(struct mu_share *s, int rc)
{
	if (rc)
		STORE(s->error, rc);
	atomic_fetch_add_acq_rel(&s->done, 1);
}

/* Chunks a helper has taken are waited for: a few microseconds, or until its processor comes back.
 */
static int await_chunks(struct mu_process *p, struct mu_share *s, uint32_t task, uint64_t done)
{
	for (unsigned i = 1; atomic_load_acquire(&s->done) != done; i++) {
		drv_cpu_relax();
		if (i % 256)
			continue;
		if (mu_is_unreachable(p, task) || LOAD(p->host->ending))
			return -ESHUTDOWN; /* the other one is gone; as long as it lived, it
					      finished what it took */
		sched_yield();
	}
	return LOAD(s->error);
}

int mu_share_copy(struct mu_channel *ch, uint32_t task, unsigned channel, void *mine,
		  uint64_t theirs, uint64_t bytes, int put)
{
	struct mu_process *p = ch->p;
	uint32_t local = p->entry[task].local, nobody = 0, generation;
	uint64_t chunk = (bytes / CHUNKS + 4095) & ~4095ull, count, taken;
	struct mu_share *s = &ch->a->share;
	uint32_t *asked = &mu_ring(p->host, local, channel)->asked;
	struct chunk c;
	int rc;

	if (bytes < 2 * CHUNK_MIN || bytes > SHARE_MAX || !p->shares || task == p->task ||
	    mu_host_translate(p->host, local, theirs, bytes))
		return put ? mu_copy_to(p, local, theirs, mine, bytes)
			   : mu_copy_from(p, local, mine, theirs, bytes);
	chunk = chunk < CHUNK_MIN ? CHUNK_MIN : chunk > CHUNK_MAX ? CHUNK_MAX : chunk;
	count = (bytes + chunk - 1) / chunk;
	generation =
	    ++ch->tx.share_generation ? ch->tx.share_generation : ++ch->tx.share_generation;
	STORE(s->task, task);
	STORE(s->put, put);
	STORE(s->error, 0);
	STORE(s->mine, (uint64_t)(uintptr_t)mine);
	STORE(s->theirs, theirs);
	STORE(s->chunk, chunk);
	STORE(s->bytes, bytes);
	STORE(s->done, (uint64_t)generation << 32);
	atomic_store_release(&s->next, (uint64_t)generation << 32);
	/* Where it is helping another already we do it alone. */
	atomic_cas_release(asked, &nobody, p->local * MU_CHANNELS_MAX + ch->index + 1);
	while (take_chunk(s, &generation, task, &c)) {
		rc = put ? mu_copy_to(p, local, c.theirs, (void *)(uintptr_t)c.mine, c.bytes)
			 : mu_copy_from(p, local, (void *)(uintptr_t)c.mine, c.theirs, c.bytes);
		finish_chunk(s, rc);
	}
	if (!nobody)
		STORE(*asked, 0);
	/* After an error the rest is not taken: close the copy, and wait for what was. */
	taken = atomic_exchange_acq_rel(&s->next, ((uint64_t)generation << 32) + count);
	return await_chunks(p, s, task, taken);
}

/* One chunk at a time, so that this channel is polled in between. */
void mu_share_take_chunk(struct mu_channel *ch)
{
	struct mu_process *p = ch->p;
	uint32_t asked = atomic_load_acquire(&ch->a->ring.asked), local, generation = 0;
	struct mu_share *s;
	struct chunk c;
	int rc;

	if (!asked-- || asked / MU_CHANNELS_MAX >= p->host->locals ||
	    asked % MU_CHANNELS_MAX >= p->channels)
		return;
	local = asked / MU_CHANNELS_MAX;
	s = &mu_host_channel(p->host, local, asked % MU_CHANNELS_MAX)->share;
	if (!take_chunk(s, &generation, p->task, &c)) {
		asked++;
		/* The owner died before it could take its offer back. */
		if (mu_is_unreachable(p, mu_host_task(p->host, local)))
			atomic_cas_relaxed(&ch->a->ring.asked, &asked, 0);
		return;
	}
	/* Seen from here: a put fetches from the initiator, a get puts there. */
	rc = c.put ? mu_copy_from(p, local, (void *)(uintptr_t)c.theirs, c.mine, c.bytes)
		   : mu_copy_to(p, local, c.mine, (void *)(uintptr_t)c.theirs, c.bytes);
	finish_chunk(s, rc);
	mu_idle_reset(); /* more of it may come: do not go to sleep */
}
