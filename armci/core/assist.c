/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long non-blocking gets that their owner carries out while the caller computes.
 *
 * Between nodes of one host the messaging unit's get is a copy by the caller, inside the call that
 * starts it, so nothing is left to overlap. If a thread of the owner waits in a call, the caller
 * therefore offers it the copy, and the owner copies straight into the caller's memory. An offer is
 * a word in shared memory that exactly one side takes: the owner when it serves the request, or the
 * caller once it has waited a few microseconds. Source: the ARMCI papers, host-assisted zero-copy
 * get.
 *
 *   caller: word = generation, OFFERED; request; compute ...   wait: OFFERED -> TAKEN, then RDMA
 *   owner:  OFFERED -> TAKEN; copy; answer 1                   too late: answer 0
 */
#include <string.h>

#include "armci/core/assist.h"
#include "armci/core/counter.h"
#include "armci/core/env.h"
#include "armci/core/limits.h"
#include "armci/core/target.h"
#include "armci/core/world.h"
#include "armci/memory/seg.h"
#include "armci/remote/am.h"
#include "armci/remote/serve.h"
#include "armci/transfer/op.h"
#include "armci/transfer/xfer.h"
#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"

enum {
	LEAST_BYTES = 64u << 10, /* A shorter get costs the caller less than the request. */
	/* One offer at most; the owner serves other requests in between. */
	PIECE_BYTES = 1u << 20,
	GRACE_US = 3,  /* The caller waits this long before it copies by itself. */
	LOOK_US = 50,  /* Interval at which a caller reads the owner's poll count. */
	POLLS_US = 10, /* A thread that waits in a call polls at least this often. */
	OFFERED = 1,
	TAKEN = 2,
};

/* In memory that the other nodes of this host map, after the accumulate locks. */
struct shared {
	atomic_u32 polls; /* rounds of progress of the thread that waits in a call */
	atomic_u64 word[ARMCI_OFFERS] __attribute__((aligned(64)));
};
_Static_assert(sizeof(struct shared) <= ARMCI_SHARED_BYTES, "shared page");

struct offer {
	struct armci_op *op; /* NULL: the entry is free */
	struct armci_seg *seg;
	char *local;
	size_t offset, bytes;
	uint64_t word;  /* value of the shared word while the offer stands */
	uint64_t since; /* ticks at which the caller was first seen waiting; 0: not yet */
	/* The caller took it and copies by RDMA; the owner's answer is still to come. */
	bool taken;
};

static struct offer offers[ARMCI_OFFERS];
static uint64_t generation;

static struct shared *shared_page(int proc)
{
	return armci_world.shared[proc];
}

/*
 * Did a thread of the owner poll all the time between the last two reads of its poll count? This is
 * a guess, and a wrong one costs little.
 */
static bool does_owner_wait(struct armci_target *t, struct shared *s)
{
	uint64_t now = drv_clock_ticks(), us = (now - t->polls_read_at) / drv_clock_ticks_per_us();
	uint32_t polls;

	if (us >= LOOK_US) {
		polls = atomic_load_relaxed(&s->polls);
		t->waits_in_call = (uint64_t)(polls - t->polls_seen) * POLLS_US * 2 >= us;
		t->polls_seen = polls;
		t->polls_read_at = now;
	}
	return t->waits_in_call;
}

static struct offer *offer_find_free(void)
{
	int i;

	for (i = 0; i < ARMCI_OFFERS; i++)
		if (!offers[i].op)
			return &offers[i];
	return NULL;
}

static bool offer_send(struct offer *o, int proc, struct armci_req *req)
{
	atomic_u64 *word = &shared_page(armci_world.me)->word[o - offers];
	struct armci_request r = {.kind = ARMCI_REQUEST_COPY,
				  .addr = o->seg->va + o->offset,
				  .bytes = o->bytes,
				  .count = (uint64_t)(uintptr_t)o->local};

	o->op = armci_op_create(proc, req);
	o->op->sending = true; /* until the answer arrives, whichever side copies */
	o->word = ++generation << 2 | OFFERED;
	o->since = 0;
	o->taken = false;
	atomic_store_release(word, o->word);
	r.token = o->word * ARMCI_OFFERS + (uint64_t)(o - offers);
	r.offer[0] = (uint64_t)(uintptr_t)word;
	r.offer[1] = o->word;
	if (!armci_am_send(&r, proc)) {
		armci_world.offers_pending++;
		ARMCI_COUNT(assisted);
		return true;
	}
	atomic_store_release(word, 0);
	armci_op_complete_local(o->op, true);
	armci_op_complete_send(o->op);
	o->op = NULL;
	return false;
}

size_t armci_assist_get(struct armci_seg *seg, int proc, struct armci_req *req, char *local,
			size_t offset, size_t bytes)
{
	struct armci_target *t = &armci_world.target[proc];
	bool always = armci_env.assist == ARMCI_ASSIST_ALWAYS;
	size_t done = 0;
	struct offer *o;

	if ((bytes < LEAST_BYTES && !always) || armci_env.assist == ARMCI_ASSIST_NEVER ||
	    !armci_world.shared[proc] || proc == armci_world.me || armci_world.single ||
	    atomic_load_relaxed(&t->unacked) ||
	    !armci_world.memory.local((pami_task_t)proc, (void *)(seg->va + offset), bytes) ||
	    !armci_world.memory.local((pami_task_t)armci_world.me, local, bytes) ||
	    (!always && !does_owner_wait(t, shared_page(proc))))
		return 0;
	while (done < bytes && (o = offer_find_free())) {
		size_t n = bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES;

		o->seg = seg;
		o->local = local + done;
		o->offset = offset + done;
		o->bytes = n;
		if (!offer_send(o, proc, req))
			break;
		done += n;
	}
	return done;
}

/* Withdraw the offer and copy by RDMA, unless the owner has taken it. */
static void offer_withdraw(struct offer *o)
{
	struct armci_op *op = o->op;
	atomic_u64 *word = &shared_page(armci_world.me)->word[o - offers];
	uint64_t expected = o->word;

	if (!atomic_cas_acq_rel(word, &expected, o->word - OFFERED + TAKEN))
		return;
	o->taken = true;
	armci_xfer_get_rdma(o->seg, op->proc, op->req, o->local, o->offset, o->bytes);
	/* The owner may have answered by now, and another offer may use the entry. */
	armci_op_complete_local(op, true);
}

void armci_assist_withdraw_late(void)
{
	uint64_t now = drv_clock_ticks();
	int i;

	for (i = 0; i < ARMCI_OFFERS; i++) {
		struct offer *o = &offers[i];

		if (!o->op || o->taken)
			continue;
		if (!o->since)
			o->since = now;
		else if (now - o->since > GRACE_US * drv_clock_ticks_per_us()) {
			offer_withdraw(o);
			return; /* Make progress between two copies. */
		}
	}
}

void armci_assist_answer(uint64_t token, bool copied)
{
	struct offer *o = &offers[token % ARMCI_OFFERS];
	struct armci_op *op = o->op;

	if (!op || o->word != token / ARMCI_OFFERS)
		return;
	o->op = NULL;
	armci_world.offers_pending--;
	if (copied)
		armci_op_complete_local(op, true);
	armci_op_complete_send(op);
}

/* The owner died, and with it the copy that it may have begun. */
void armci_assist_end_dead(void)
{
	int i;

	for (i = 0; i < ARMCI_OFFERS; i++) {
		struct offer *o = &offers[i];
		struct armci_op *op = o->op;

		if (!op || !armci_world.target[op->proc].dead)
			continue;
		o->op = NULL;
		armci_world.offers_pending--;
		if (!o->taken)
			armci_op_complete_local(op, false);
		armci_op_complete_send(op);
	}
}

void armci_assist_note_poll(void)
{
	static uint64_t last;
	struct shared *s = shared_page(armci_world.me);
	uint64_t now;

	if (!s || armci_env.assist != ARMCI_ASSIST_AUTO)
		return;
	now = drv_clock_ticks();
	if (now - last < POLLS_US * drv_clock_ticks_per_us())
		return;
	last = now;
	armci_word_add(&s->polls, 1);
}

/* On SERVE. */
void armci_assist_serve(pami_context_t context, const struct armci_request *r,
			pami_endpoint_t origin)
{
	pami_task_t task = 0;
	size_t at = 0;
	uint64_t expected = r->offer[1];
	atomic_u64 *word = NULL;
	void *to = NULL;
	bool taken;

	if (PAMI_Endpoint_query(origin, &task, &at) == PAMI_SUCCESS && armci_world.memory.local) {
		word =
		    armci_world.memory.local(task, (void *)(uintptr_t)r->offer[0], sizeof(*word));
		to = armci_world.memory.local(task, (void *)(uintptr_t)r->count, r->bytes);
	}
	taken = word && to && atomic_cas_acq_rel(word, &expected, expected - OFFERED + TAKEN);
	if (taken)
		memcpy(to, (void *)(uintptr_t)r->addr, r->bytes);
	armci_serve_answer(context, origin, ARMCI_REPLY_COPIED, r->token, taken);
}
