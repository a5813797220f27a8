/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Outstanding operations: which waits count them, what they write, and what must not overtake them.
 *
 * An operation counts at its target and in its request until it is locally complete. A write counts
 * in its segment and target until it is remotely complete. A later access waits for earlier writes
 * that could arrive after it: those that overlap, those to the same segment, or all to the target,
 * by the rule that QUINTORUS_ARMCI_CONFLICTS sets.
 */
#include <stdlib.h>
#include <string.h>

#include "armci/core/api.h"
#include "armci/core/assist.h"
#include "armci/core/counter.h"
#include "armci/core/env.h"
#include "armci/core/limits.h"
#include "armci/core/pool.h"
#include "armci/core/target.h"
#include "armci/core/thread.h"
#include "armci/core/world.h"
#include "armci/group/coll.h"
#include "armci/group/group.h"
#include "armci/memory/seg.h"
#include "armci/transfer/agg.h"
#include "armci/transfer/op.h"
#include "drivers/base/assert.h"
#include "drivers/base/atomic.h"
#include "drivers/base/log.h"

static struct armci_op *free_ops;
static uint32_t live_ops;
/* All operations ever made, free ones too, since at most that many are outstanding. */
static struct armci_op *ops[ARMCI_OPS_MAX];
static uint32_t made_ops;
static uint64_t started; /* operations started so far */

static struct {
	struct armci_req **req; /* [slot - 1] */
	uint32_t count, space;
	uint32_t free; /* first free slot, or 0 */
} slots;

/* ---- requests and handles ---- */

static struct armci_req *slot_take(void)
{
	struct armci_req *r;

	if (slots.free) {
		r = slots.req[slots.free - 1];
		slots.free = r->next_free;
		return r;
	}
	if (slots.count == slots.space) {
		uint32_t space = slots.space ? slots.space * 2 : 64;
		struct armci_req **grown = realloc(slots.req, space * sizeof(*grown));

		if (!grown)
			armci_die("no memory for %u handles", space);
		slots.req = grown;
		slots.space = space;
	}
	r = calloc(1, sizeof(*r));
	if (!r)
		armci_die("no memory for a handle");
	slots.req[slots.count++] = r;
	r->slot = slots.count;
	r->generation = 1;
	return r;
}

static void slot_release(struct armci_req *r)
{
	r->generation++;
	r->failed = 0;
	r->next_free = slots.free;
	slots.free = r->slot;
}

static struct armci_req *slot_find(const armci_hdl_t *h)
{
	struct armci_req *r;

	if (!h || !h->armci_slot || h->armci_slot > slots.count)
		return NULL;
	r = slots.req[h->armci_slot - 1];
	return r->generation == h->armci_generation ? r : NULL;
}

struct armci_req *armci_req_begin(armci_hdl_t *h)
{
	struct armci_req *r;

	if (!h)
		return NULL;
	r = slot_find(h);
	if (!r) {
		r = slot_take();
		h->armci_slot = r->slot;
		h->armci_generation = r->generation;
	}
	r->pending++;
	return r;
}

static void req_put(struct armci_req *r)
{
	DRV_ASSERT(r->pending > 0);
	if (--r->pending == 0 && r->slot && !r->failed)
		slot_release(r);
}

void armci_req_end(struct armci_req *r)
{
	if (r)
		req_put(r);
}

int armci_req_wait(struct armci_req *r)
{
	while (r->pending)
		armci_poll();
	return r->failed ? FAIL6 : 0;
}

int armci_handle_wait(armci_hdl_t *h)
{
	struct armci_req *r = slot_find(h);
	uint64_t generation;

	if (!r)
		return 0;
	generation = r->generation;
	while (r->generation == generation && r->pending)
		armci_poll();
	if (r->generation != generation)
		return 0;
	slot_release(r); /* Only a failed request does not release itself. */
	return FAIL6;
}

bool armci_handle_is_pending(const armci_hdl_t *h)
{
	struct armci_req *r = slot_find(h);

	return r && r->pending;
}

void armci_req_release_all(void)
{
	while (free_ops) {
		struct armci_op *op = free_ops;

		free_ops = op->next_free;
		free(op);
	}
	while (slots.count)
		free(slots.req[--slots.count]);
	free(slots.req);
	memset(&slots, 0, sizeof(slots));
	made_ops = 0;
}

/* ---- operations ---- */

static struct armci_op *op_make(void)
{
	struct armci_op *op = malloc(sizeof(*op));

	if (!op)
		armci_die("no memory for an operation");
	op->index = made_ops;
	op->generation = 1;
	ops[made_ops++] = op;
	return op;
}

uint64_t armci_op_token(const struct armci_op *op)
{
	return op->generation * ARMCI_OPS_MAX + op->index;
}

struct armci_op *armci_op_find(uint64_t token)
{
	uint64_t i = token % ARMCI_OPS_MAX;
	struct armci_op *op = i < made_ops ? ops[i] : NULL;

	return op && op->owed && armci_op_token(op) == token ? op : NULL;
}

struct armci_op *armci_op_create(int proc, struct armci_req *req)
{
	struct armci_op *op;

	DRV_ASSERT(armci_has_lock() && proc >= 0 && proc < armci_world.nproc);
	while (live_ops >= ARMCI_OPS_MAX)
		armci_poll();
	op = free_ops;
	if (op)
		free_ops = op->next_free;
	else
		op = op_make();
	memset(op, 0, offsetof(struct armci_op, generation));
	op->list.count = 0;
	op->number = ++started;
	op->proc = proc;
	op->req = req;
	op->local = true;
	live_ops++;
	/*
	 * The caller of a blocking call waits for its own request. Other threads must not wait for
	 * it: it may be for a mutex that such a thread is about to unlock.
	 */
	op->counted = !req || req->slot;
	if (op->counted) {
		armci_word_add(&armci_world.pending, 1);
		armci_word_add(&armci_world.target[proc].pending, 1);
	}
	if (req)
		req->pending++;
	return op;
}

void armci_op_count_write(struct armci_op *op, struct armci_seg *seg, enum armci_class class,
			  size_t offset, size_t bytes)
{
	struct armci_writes *w;

	if (!seg->writes)
		seg->writes = calloc(ARMCI_CLASSES, sizeof(*seg->writes));
	if (!seg->writes)
		armci_die("no memory to track writes");
	w = &seg->writes[class];
	op->seg = seg;
	op->class = (uint8_t) class;
	seg->status |= (uint8_t)(1u << class);
	if (!w->count++) {
		w->lo = offset;
		w->hi = offset + bytes;
	} else {
		w->lo = w->lo < offset ? w->lo : offset;
		w->hi = w->hi > offset + bytes ? w->hi : offset + bytes;
	}
	armci_world.target[op->proc].writes[class]++;
	armci_op_expect_ack(op);
}

void armci_op_expect_ack(struct armci_op *op)
{
	op->remote = true;
	armci_word_add(&armci_world.unacked, 1);
	armci_word_add(&armci_world.target[op->proc].unacked, 1);
}

static void op_release(struct armci_op *op)
{
	if (op->local || op->remote || op->sending)
		return;
	DRV_ASSERT(live_ops > 0);
	if (op->own_region)
		PAMI_Memregion_destroy(armci_world.context[ARMCI_ORIGIN], &op->region);
	armci_world.target[op->proc].window -= op->window;
	armci_pool_put(op->buffer);
	if (op->list.count)
		free(op->list.local);
	live_ops--;
	op->owed = false;
	op->generation++; /* The token of a late answer names nothing from here on. */
	op->next_free = free_ops;
	free_ops = op;
}

void armci_op_complete_local(struct armci_op *op, bool ok)
{
	if (!op->local)
		return;
	op->local = false;
	if (op->counted) {
		armci_word_add(&armci_world.pending, -1u);
		armci_word_add(&armci_world.target[op->proc].pending, -1u);
	}
	if (!ok && op->req)
		op->req->failed = 1;
	else if (!ok)
		armci_world.failed = armci_world.target[op->proc].failed = true;
	if (op->req)
		req_put(op->req);
	op_release(op);
}

void armci_op_complete_remote(struct armci_op *op, bool ok)
{
	if (!op->remote)
		return;
	if (!ok && !armci_world.target[op->proc].failure_logged) {
		drv_error("armci: a write to process %d was not delivered", op->proc);
		armci_world.target[op->proc].failure_logged = true;
	}
	op->remote = false;
	armci_word_add(&armci_world.unacked, -1u);
	armci_word_add(&armci_world.target[op->proc].unacked, -1u);
	if (op->seg) {
		DRV_ASSERT(op->seg->writes[op->class].count > 0);
		if (!--op->seg->writes[op->class].count)
			op->seg->status &= (uint8_t) ~(1u << op->class);
		armci_world.target[op->proc].writes[op->class]--;
	}
	op_release(op);
}

void armci_op_complete_send(struct armci_op *op)
{
	op->sending = false;
	op_release(op);
}

void armci_window_reserve(struct armci_op *op, size_t bytes)
{
	struct armci_target *t = &armci_world.target[op->proc];

	while (t->window && t->window + bytes > ARMCI_WINDOW_BYTES)
		armci_poll();
	op->window = (uint32_t)bytes;
	t->window += bytes;
}

/* ---- processes that died ---- */

/*
 * PAMI ends its part of what is under way to a process that died: transfers by RDMA, sends not yet
 * delivered, answers that had begun to arrive. This ends the operations whose answer never began to
 * arrive.
 */
static void op_owed_end(struct armci_op *op)
{
	op->owed = false;
	if (op->remote)
		armci_op_complete_remote(op, false); /* It is locally complete by itself. */
	else
		armci_op_complete_local(op, false);
}

void armci_end_operations_of_dead(void)
{
	uint32_t i;

	atomic_store_relaxed(&armci_world.death_seen, 0);
	for (i = 0; i < (uint32_t)armci_world.nproc; i++)
		if (armci_is_dead((int)i))
			armci_world.target[i].dead = true;
	for (i = 0; i < made_ops; i++)
		if (ops[i]->owed && armci_world.target[ops[i]->proc].dead)
			op_owed_end(ops[i]);
	armci_assist_end_dead();
}

/* ---- operations of several threads ---- */

/* Which operations a thread waits for. */
struct awaited {
	int proc;                    /* -1: operations to all processes */
	const struct armci_seg *seg; /* only writes to this segment, or NULL */
	int class;                   /* only writes of this class; -1: any */
	bool writes;                 /* until remotely complete, else locally */
	uint64_t last;               /* number of the last operation that counts */
};

/*
 * While other threads go on starting operations, counters reach 0 late or never. With several
 * threads, a waiting thread therefore inspects the operations themselves.
 */
static bool is_under_way(const struct awaited *w)
{
	uint32_t i;

	if (!atomic_load_relaxed(&armci_threads_several))
		return true; /* the counters decide */
	for (i = 0; i < made_ops; i++) {
		const struct armci_op *op = ops[i];

		if (op->number <= w->last && (w->proc < 0 || op->proc == w->proc) &&
		    (!w->seg || op->seg == w->seg) && (w->class < 0 || op->class == w->class) &&
		    ((op->remote && w->writes) || (op->local && op->counted && w->class < 0)))
			return true;
	}
	return false;
}

/* ---- order and fences ---- */

/*
 * Is an access of class `later` harmless after a write of class `earlier`? Accumulates commute.
 * Everything from ORIGIN of one process to SERVE of another travels one deterministic path, and
 * puts are carried out as they arrive (mu/README.md), so an access after a put finds the put done.
 * Messages are handled later than they arrive, and long ones out of order, so an access after one
 * must wait.
 */
static inline bool is_harmless_after(enum armci_class earlier, enum armci_class later)
{
	return earlier == ARMCI_CLASS_PUT ||
	       (earlier == ARMCI_CLASS_ACC && later == ARMCI_CLASS_ACC);
}

/* Does the rule make an access wait for the outstanding writes of class c? */
static bool has_conflict(enum armci_conflict_rule rule, const struct armci_seg *seg,
			 const struct armci_target *t, int c, size_t offset, size_t bytes)
{
	if (rule == ARMCI_CONFLICT_TARGET)
		return t->writes[c] != 0;
	if (!(seg->status & 1u << c))
		return false;
	return rule == ARMCI_CONFLICT_REGION ||
	       (offset < seg->writes[c].hi && seg->writes[c].lo < offset + bytes);
}

void armci_order_access(struct armci_seg *seg, int proc, size_t offset, size_t bytes,
			enum armci_class class)
{
	const struct armci_target *t = &armci_world.target[proc];
	struct awaited w = {.proc = proc, .writes = true, .last = started};
	int c;

	if (armci_env.conflicts != ARMCI_CONFLICT_TARGET)
		w.seg = seg;
	if (!atomic_load_relaxed(&t->unacked))
		return;
	for (c = 0; c < ARMCI_CLASSES; c++) {
		if (!t->writes[c] || is_harmless_after((enum armci_class)c, class))
			continue;
		if (!has_conflict((enum armci_conflict_rule)armci_env.conflicts, seg, t, c, offset,
				  bytes)) {
			ARMCI_COUNT(fences_avoided);
			continue;
		}
		ARMCI_COUNT(fences_forced);
		w.class = c;
		while (has_conflict((enum armci_conflict_rule)armci_env.conflicts, seg, t, c,
				    offset, bytes) &&
		       is_under_way(&w))
			armci_poll();
	}
}

void armci_order_after_messages(int proc)
{
	const struct armci_target *t = &armci_world.target[proc];

	armci_agg_flush_all();
	while (t->writes[ARMCI_CLASS_PACKED] || t->writes[ARMCI_CLASS_ACC])
		armci_poll();
	atomic_fence_seq_cst(); /* order stores into mapped memory */
}

static bool has_outstanding(const atomic_u32 *unacked, const atomic_u32 *pending)
{
	return atomic_load_relaxed(unacked) || atomic_load_relaxed(pending);
}

void armci_fence_sent(int proc)
{
	const struct armci_target *t = &armci_world.target[proc];
	const struct awaited w = {.proc = proc, .class = -1, .writes = true, .last = started};

	while (has_outstanding(&t->unacked, &t->pending) && is_under_way(&w))
		armci_poll();
	atomic_fence_seq_cst(); /* order stores into mapped memory */
}

void armci_wait_pending(int proc)
{
	const atomic_u32 *pending =
	    proc < 0 ? &armci_world.pending : &armci_world.target[proc].pending;
	const struct awaited w = {.proc = proc, .class = -1, .last = started};

	while (atomic_load_relaxed(pending) && is_under_way(&w))
		armci_poll();
}

void armci_fence(int proc)
{
	armci_agg_flush_all();
	armci_fence_sent(proc);
}

/* Read without the lock: is nothing outstanding, and nothing collected that is not sent? */
static bool is_quiet(const atomic_u32 *unacked, const atomic_u32 *pending)
{
	return !has_outstanding(unacked, pending) && !atomic_ptr_load_relaxed(&armci_world.aggs) &&
	       !atomic_load_relaxed(&armci_world.collections_sent);
}

void armci_fence_all(void)
{
	struct awaited w = {.proc = -1, .class = -1, .writes = true};

	armci_agg_flush_all();
	w.last = started;
	while (has_outstanding(&armci_world.unacked, &armci_world.pending) && is_under_way(&w))
		armci_poll();
	atomic_fence_seq_cst();
}

void PARMCI_Fence(int proc)
{
	struct armci_target *t;

	if (armci_check_proc(proc))
		armci_die("ARMCI_Fence: there is no process %d", proc);
	t = &armci_world.target[proc];
	if (is_quiet(&t->unacked, &t->pending)) {
		atomic_fence_seq_cst(); /* order stores into mapped memory */
		return;
	}
	ARMCI_ENTER;
	armci_fence(proc);
}
ARMCI_ALIAS(Fence);

void PARMCI_AllFence(void)
{
	if (is_quiet(&armci_world.unacked, &armci_world.pending)) {
		atomic_fence_seq_cst(); /* order stores into mapped memory */
		return;
	}
	ARMCI_ENTER;
	armci_fence_all();
}
ARMCI_ALIAS(AllFence);

void PARMCI_GroupFence(ARMCI_Group *group)
{
	ARMCI_ENTER;
	struct armci_group *g = group ? armci_group_find(group, "ARMCI_GroupFence") : ARMCI_WORLD;
	int i;

	for (i = 0; g && i < g->size; i++)
		armci_fence((int)g->task[i]);
}
ARMCI_ALIAS(GroupFence);

void PARMCI_Barrier(void)
{
	ARMCI_ENTER;
	armci_fence_all();
	armci_coll_barrier(ARMCI_WORLD);
}
ARMCI_ALIAS(Barrier);
