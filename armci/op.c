/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Outstanding operations: who waits for them, what they write, and what must not overtake them.
 *
 * An operation counts at its target and in its request until it is locally complete; a write counts in
 * its segment and target until it is remotely complete. A later access waits for earlier writes that
 * could arrive in another order: by the rule in force those that overlap, those to the same segment, or
 * all to the target.
 */
#include <stdlib.h>
#include <string.h>

#include "armci/coll.h"
#include "drivers/base/log.h"

static struct armci_op *free_ops;
static uint32_t live_ops;
/* All ever made, free ones too: at most that many live at a time. */
static struct armci_op *ops[ARMCI_OPS_MAX];
static uint32_t made_ops;

static struct {
	struct armci_req **req; /* [slot - 1] */
	uint32_t count, space;
	uint32_t free; /* slot, or 0 */
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
	slot_release(r); /* it failed, or it would have released itself */
	return FAIL6;
}

bool armci_handle_pending(const armci_hdl_t *h)
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

struct armci_op *armci_op_of(uint64_t token)
{
	uint64_t i = token % ARMCI_OPS_MAX;
	struct armci_op *op = i < made_ops ? ops[i] : NULL;

	return op && op->owed && armci_op_token(op) == token ? op : NULL;
}

struct armci_op *armci_op_create(int proc, struct armci_req *req)
{
	struct armci_op *op;

	while (live_ops >= ARMCI_OPS_MAX)
		armci_poll();
	op = free_ops;
	if (op)
		free_ops = op->next_free;
	else
		op = op_make();
	memset(op, 0, offsetof(struct armci_op, generation));
	op->list.count = 0;
	op->proc = proc;
	op->req = req;
	op->local = true;
	live_ops++;
	armci_world.pending++;
	armci_world.target[proc].pending++;
	if (req)
		req->pending++;
	return op;
}

void armci_op_writes(struct armci_op *op, struct armci_seg *seg, enum armci_class class, size_t offset,
		     size_t bytes)
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
	armci_op_acked(op);
}

void armci_op_acked(struct armci_op *op)
{
	op->remote = true;
	armci_world.unacked++;
	armci_world.target[op->proc].unacked++;
}

static void op_release(struct armci_op *op)
{
	if (op->local || op->remote || op->sending)
		return;
	if (op->own_region)
		PAMI_Memregion_destroy(armci_world.context[ARMCI_ORIGIN], &op->region);
	armci_world.target[op->proc].window -= op->window;
	armci_pool_put(op->buffer);
	if (op->list.count)
		free(op->list.local);
	live_ops--;
	op->owed = false;
	op->generation++; /* an answer that still comes names nothing */
	op->next_free = free_ops;
	free_ops = op;
}

void armci_op_local_done(struct armci_op *op, bool ok)
{
	if (!op->local)
		return;
	op->local = false;
	armci_world.pending--;
	armci_world.target[op->proc].pending--;
	if (!ok && op->req)
		op->req->failed = 1;
	else if (!ok)
		armci_world.failed = armci_world.target[op->proc].failed = true;
	if (op->req)
		req_put(op->req);
	op_release(op);
}

void armci_op_remote_done(struct armci_op *op, bool ok)
{
	if (!op->remote)
		return;
	if (!ok && !armci_world.target[op->proc].told) {
		drv_error("armci: a write to process %d did not arrive", op->proc);
		armci_world.target[op->proc].told = true;
	}
	op->remote = false;
	armci_world.unacked--;
	armci_world.target[op->proc].unacked--;
	if (op->seg) {
		if (!--op->seg->writes[op->class].count)
			op->seg->status &= (uint8_t) ~(1u << op->class);
		armci_world.target[op->proc].writes[op->class]--;
	}
	op_release(op);
}

void armci_op_sent(struct armci_op *op)
{
	op->sending = false;
	op_release(op);
}

void armci_window_take(struct armci_op *op, size_t bytes)
{
	struct armci_target *t = &armci_world.target[op->proc];

	while (t->window && t->window + bytes > ARMCI_WINDOW_BYTES)
		armci_poll();
	op->window = (uint32_t)bytes;
	t->window += bytes;
}

/* ---- processes that died ---- */

/*
 * Of what is under way to a process that died, PAMI ends its part: transfers by RDMA, sends not yet
 * delivered, answers that had begun to arrive. Answers that never began are ended here.
 */
static void op_owed_end(struct armci_op *op)
{
	op->owed = false;
	if (op->remote)
		armci_op_remote_done(op, false); /* locally complete by itself */
	else
		armci_op_local_done(op, false);
}

void armci_gone_sweep(void)
{
	uint32_t i;

	__atomic_store_n(&armci_world.deaths, 0, __ATOMIC_RELAXED);
	for (i = 0; i < (uint32_t)armci_world.nproc; i++)
		if (armci_task_gone((int)i))
			armci_world.target[i].gone = true;
	for (i = 0; i < made_ops; i++)
		if (ops[i]->owed && armci_world.target[ops[i]->proc].gone)
			op_owed_end(ops[i]);
	armci_assist_gone();
}

/* ---- order and fences ---- */

/*
 * Can an access of class `later` do no harm behind a write of class `earlier`? Accumulates commute.
 * Everything from ORIGIN of one process to SERVE of another travels one deterministic path and puts are
 * carried out as they arrive (mu/README.md), so what follows a put finds it done. Messages are handled
 * later than they arrive, and long ones out of order: what follows them must wait.
 */
static inline bool in_order(enum armci_class earlier, enum armci_class later)
{
	return earlier == ARMCI_CLASS_PUT || (earlier == ARMCI_CLASS_ACC && later == ARMCI_CLASS_ACC);
}

/* Would the rule make an access wait for the writes of class c? */
static bool conflicts(enum armci_conflict_rule rule, const struct armci_seg *seg,
		      const struct armci_target *t, int c, size_t offset, size_t bytes)
{
	if (rule == ARMCI_CONFLICT_TARGET)
		return t->writes[c] != 0;
	if (!(seg->status & 1u << c))
		return false;
	return rule == ARMCI_CONFLICT_REGION ||
	       (offset < seg->writes[c].hi && seg->writes[c].lo < offset + bytes);
}

void armci_order(struct armci_seg *seg, int proc, size_t offset, size_t bytes, enum armci_class class)
{
	struct armci_target *t = &armci_world.target[proc];
	int c;

	if (!t->unacked)
		return;
	for (c = 0; c < ARMCI_CLASSES; c++) {
		if (!t->writes[c] || in_order((enum armci_class)c, class))
			continue;
		if (!conflicts((enum armci_conflict_rule)armci_env.conflicts, seg, t, c, offset,
			       bytes)) {
			ARMCI_COUNT(fences_avoided);
			continue;
		}
		ARMCI_COUNT(fences_forced);
		while (
		    conflicts((enum armci_conflict_rule)armci_env.conflicts, seg, t, c, offset, bytes))
			armci_poll();
	}
}

void armci_order_messages(int proc)
{
	const struct armci_target *t = &armci_world.target[proc];

	if (armci_world.aggs)
		armci_agg_flush_all();
	while (t->writes[ARMCI_CLASS_PACKED] || t->writes[ARMCI_CLASS_ACC])
		armci_poll();
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* stores into mapped memory */
}

void armci_fence(int proc)
{
	struct armci_target *t = &armci_world.target[proc];

	if (armci_world.aggs)
		armci_agg_flush_all();
	while (t->unacked || t->pending)
		armci_poll();
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* stores into mapped memory */
}

void armci_fence_all(void)
{
	if (armci_world.aggs)
		armci_agg_flush_all();
	while (armci_world.unacked || armci_world.pending)
		armci_poll();
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void PARMCI_Fence(int proc)
{
	ARMCI_ENTER;
	if (armci_check_proc(proc))
		armci_die("ARMCI_Fence: there is no process %d", proc);
	armci_fence(proc);
}
ARMCI_ALIAS(Fence);

void PARMCI_AllFence(void)
{
	ARMCI_ENTER;
	armci_fence_all();
}
ARMCI_ALIAS(AllFence);

void PARMCI_GroupFence(ARMCI_Group *group)
{
	ARMCI_ENTER;
	struct armci_group *g = group ? armci_group_of(group, "ARMCI_GroupFence") : armci_world.all;
	int i;

	for (i = 0; g && i < g->size; i++)
		armci_fence((int)g->task[i]);
}
ARMCI_ALIAS(GroupFence);

void PARMCI_Barrier(void)
{
	ARMCI_ENTER;
	armci_fence_all();
	armci_coll_barrier(armci_world.all);
}
ARMCI_ALIAS(Barrier);
