/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long non-blocking gets that their owner carries out while the caller computes. Between nodes of one host
 * the messaging unit's get is a copy by the caller, inside the call that starts it: nothing is left to
 * overlap. So where the owner waits in a call, it is offered the copy, and does it straight into the caller's
 * memory. An offer is a word in shared memory that one of the two takes: the owner when it serves the request,
 * or the caller, who has begun to wait and has waited a little. Source: the ARMCI papers, host-assisted
 * zero-copy get.
 *
 *   caller: word = generation, OFFERED; request; compute ...   wait: OFFERED -> TAKEN, then RDMA
 *   owner:  OFFERED -> TAKEN; copy; answer 1                   too late: answer 0
 */
#include <string.h>

#include "armci/am.h"
#include "armci/state.h"
#include "drivers/base/clock.h"

enum {
	LEAST_BYTES = 64u << 10, /* shorter ones cost the caller less than the request */
	PIECE_BYTES = 1u << 20,  /* of one offer: others are served in between */
	GRACE_US = 3,            /* of waiting before the caller does it alone */
	LOOK_US = 50,            /* looks at the owner's polls are so far apart */
	POLLS_US = 10,           /* who waits in a call polls at least so often */
	OFFERED = 1,
	TAKEN = 2,
};

/* In memory that the other nodes of this host reach; behind the lock stripes. */
struct shared {
	uint32_t polls; /* of the process's thread that waits in a call */
	uint64_t word[ARMCI_OFFERS] __attribute__((aligned(64)));
};
_Static_assert(sizeof(struct shared) <= ARMCI_SHARED_BYTES, "shared page");

struct offer {
	struct armci_op *op; /* NULL: free */
	struct armci_seg *seg;
	char *local;
	size_t offset, bytes;
	uint64_t word;  /* as offered */
	uint64_t since; /* ticks: when the caller was first seen waiting; 0: not yet */
	bool taken;     /* by the caller: RDMA does it; the owner's answer is still to come */
};

static struct offer offers[ARMCI_OFFERS];
static uint64_t generation;

static struct shared *shared_of(int proc)
{
	return armci_world.shared[proc];
}

/* Did the owner's thread poll all the time between this process's last two looks? A guess; wrong, it costs little. */
static bool owner_waits(struct armci_target *t, struct shared *s)
{
	uint64_t now = drv_clock_ticks(), us = (now - t->looked) / drv_clock_ticks_per_us();
	uint32_t polls;

	if (us >= LOOK_US) {
		polls = __atomic_load_n(&s->polls, __ATOMIC_RELAXED);
		t->waits = (uint64_t)(polls - t->polls_seen) * POLLS_US * 2 >= us;
		t->polls_seen = polls;
		t->looked = now;
	}
	return t->waits;
}

static struct offer *offer_free(void)
{
	int i;

	for (i = 0; i < ARMCI_OFFERS; i++)
		if (!offers[i].op)
			return &offers[i];
	return NULL;
}

static bool offer_send(struct offer *o, int proc, struct armci_req *req)
{
	uint64_t *word = &shared_of(armci_world.me)->word[o - offers];
	struct armci_request r = {.kind = ARMCI_REQUEST_COPY,
				  .addr = o->seg->va + o->offset,
				  .bytes = o->bytes,
				  .count = (uint64_t)(uintptr_t)o->local};

	o->op = armci_op_create(proc, req);
	o->op->sending = true; /* until it is answered, whoever does the copy */
	o->word = ++generation << 2 | OFFERED;
	o->since = 0;
	o->taken = false;
	__atomic_store_n(word, o->word, __ATOMIC_RELEASE);
	r.token = o->word * ARMCI_OFFERS + (uint64_t)(o - offers);
	r.offer[0] = (uint64_t)(uintptr_t)word;
	r.offer[1] = o->word;
	if (!armci_am_tell(&r, proc)) {
		armci_world.offers++;
		ARMCI_COUNT(assisted);
		return true;
	}
	__atomic_store_n(word, 0, __ATOMIC_RELEASE);
	armci_op_local_done(o->op, true);
	armci_op_sent(o->op);
	o->op = NULL;
	return false;
}

size_t armci_assist_get(struct armci_seg *seg, int proc, struct armci_req *req, char *local, size_t offset,
			size_t bytes)
{
	struct armci_target *t = &armci_world.target[proc];
	bool always = armci_env.assist == ARMCI_ASSIST_ALWAYS;
	size_t done = 0;
	struct offer *o;

	if ((bytes < LEAST_BYTES && !always) || armci_env.assist == ARMCI_ASSIST_NEVER ||
	    !armci_world.shared[proc] || proc == armci_world.me || armci_world.single || t->unacked ||
	    !armci_world.memory.local((pami_task_t)proc, (void *)(seg->va + offset), bytes) ||
	    !armci_world.memory.local((pami_task_t)armci_world.me, local, bytes) ||
	    (!always && !owner_waits(t, shared_of(proc))))
		return 0;
	while (done < bytes && (o = offer_free())) {
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

/* The caller does it after all, unless the owner is at it. */
static void offer_take_back(struct offer *o)
{
	struct armci_op *op = o->op;
	uint64_t expected = o->word, *word = &shared_of(armci_world.me)->word[o - offers];

	if (!__atomic_compare_exchange_n(word, &expected, o->word - OFFERED + TAKEN, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return;
	o->taken = true;
	armci_xfer_get_rdma(o->seg, op->proc, op->req, o->local, o->offset, o->bytes);
	armci_op_local_done(op, true); /* the owner may have answered, and the offer be another's, by now */
}

void armci_assist_poll(void)
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
			offer_take_back(o);
			return; /* progress between two copies */
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
	armci_world.offers--;
	if (copied)
		armci_op_local_done(op, true);
	armci_op_sent(op);
}

/* Whatever the owner was at has ended with it. */
void armci_assist_gone(void)
{
	int i;

	for (i = 0; i < ARMCI_OFFERS; i++) {
		struct offer *o = &offers[i];
		struct armci_op *op = o->op;

		if (!op || !armci_world.target[op->proc].gone)
			continue;
		o->op = NULL;
		armci_world.offers--;
		if (!o->taken)
			armci_op_local_done(op, false);
		armci_op_sent(op);
	}
}

void armci_assist_waiting(void)
{
	static uint64_t last;
	struct shared *s = shared_of(armci_world.me);
	uint64_t now;

	if (!s || armci_env.assist != ARMCI_ASSIST_AUTO)
		return;
	now = drv_clock_ticks();
	if (now - last < POLLS_US * drv_clock_ticks_per_us())
		return;
	last = now;
	__atomic_store_n(&s->polls, s->polls + 1, __ATOMIC_RELAXED);
}

/* On SERVE. */
void armci_assist_serve(pami_context_t context, const struct armci_request *r, pami_endpoint_t origin)
{
	pami_task_t task = 0;
	size_t at = 0;
	uint64_t *word = NULL, expected = r->offer[1];
	void *to = NULL;
	bool mine;

	if (PAMI_Endpoint_query(origin, &task, &at) == PAMI_SUCCESS && armci_world.memory.local) {
		word = armci_world.memory.local(task, (void *)(uintptr_t)r->offer[0], sizeof(*word));
		to = armci_world.memory.local(task, (void *)(uintptr_t)r->count, r->bytes);
	}
	mine = word && to &&
	       __atomic_compare_exchange_n(word, &expected, expected - OFFERED + TAKEN, 0, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
	if (mine)
		memcpy(to, (void *)(uintptr_t)r->addr, r->bytes);
	armci_serve_answer(context, origin, ARMCI_REPLY_COPIED, r->token, mine);
}
