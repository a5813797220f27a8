/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides how a transfer travels. Hot. Within memory that this process maps: at once, by load and
 * store. Elsewhere: contiguous pieces of some length by RDMA, each an operation of its own;
 * accumulates and small pieces packed into active messages.
 */
#include <stdlib.h>
#include <string.h>

#include "armci/core/assist.h"
#include "armci/core/counter.h"
#include "armci/core/env.h"
#include "armci/core/limits.h"
#include "armci/core/target.h"
#include "armci/core/thread.h"
#include "armci/core/world.h"
#include "armci/memory/region.h"
#include "armci/memory/seg.h"
#include "armci/remote/am.h"
#include "armci/remote/mutex.h"
#include "armci/transfer/acc.h"
#include "armci/transfer/agg.h"
#include "armci/transfer/op.h"
#include "armci/transfer/shape.h"
#include "armci/transfer/xfer.h"
#include "drivers/base/atomic.h"
#include "drivers/base/log.h"

/* ---- mapped memory ---- */

struct direct {
	const struct armci_acc *acc;
	struct armci_reach at;
};

static void piece_put(void *arg, char *local, uintptr_t remote, size_t bytes)
{
	memmove((void *)remote, local, bytes);
}

static void piece_get(void *arg, char *local, uintptr_t remote, size_t bytes)
{
	memmove(local, (void *)remote, bytes);
}

static void piece_acc(void *arg, char *local, uintptr_t remote, size_t bytes)
{
	struct direct *d = arg;

	armci_acc_locked(d->acc, d->at.stripes, (char *)remote, remote + d->at.shift, local, bytes);
}

static const armci_piece_fn direct_piece[] = {
    [ARMCI_KIND_PUT] = piece_put, [ARMCI_KIND_GET] = piece_get, [ARMCI_KIND_ACC] = piece_acc};

bool armci_direct_shape(enum armci_kind kind, const struct armci_acc *acc, struct armci_shape *s,
			int proc)
{
	struct direct d = {.acc = acc};
	int64_t lo, hi;

	if (kind == ARMCI_KIND_ACC && armci_env.acc != ARMCI_ACC_TARGET)
		return false;
	if (!armci_shape_normalise(s))
		return true;
	armci_shape_extent(s, &lo, &hi);
	if (!armci_can_reach(proc, s->remote + (uintptr_t)lo, (size_t)(hi - lo), &d.at) ||
	    (kind == ARMCI_KIND_ACC && !d.at.stripes))
		return false;
	armci_count_copy();
	armci_shape_walk(s, direct_piece[kind], &d);
	return true;
}

size_t armci_direct_list(enum armci_kind kind, const struct armci_acc *acc,
			 const struct armci_list *list, int proc)
{
	struct direct d = {.acc = acc};
	size_t i;

	if (!list->bytes)
		return list->count;
	if (kind == ARMCI_KIND_ACC && armci_env.acc != ARMCI_ACC_TARGET)
		return 0;
	for (i = 0; i < list->count; i++) {
		if (!armci_can_reach(proc, (uintptr_t)list->remote[i], list->bytes, &d.at) ||
		    (kind == ARMCI_KIND_ACC && !d.at.stripes))
			return i;
		direct_piece[kind](&d, list->local[i], (uintptr_t)list->remote[i], list->bytes);
	}
	armci_count_copy();
	return i;
}

/* Under the lock. */
static struct direct direct_of(const struct armci_acc *acc, const struct armci_seg *seg, int proc)
{
	return (struct direct){acc, {armci_world.stripes[proc], seg->va - seg->name}};
}

static bool is_direct(enum armci_kind kind, const struct armci_seg *seg, int proc)
{
	return seg->direct && (kind != ARMCI_KIND_ACC || armci_world.stripes[proc]);
}

/* ---- RDMA ---- */

static void rdma_local(pami_context_t context, void *cookie, pami_result_t result)
{
	armci_op_complete_local(cookie, result == PAMI_SUCCESS);
}

static void rdma_remote(pami_context_t context, void *cookie, pami_result_t result)
{
	armci_op_complete_remote(cookie, result == PAMI_SUCCESS);
}

/* Region and offset of local memory: a registered region, or one made for this operation. */
static pami_memregion_t *local_region(struct armci_op *op, void *local, size_t bytes,
				      size_t *offset)
{
	pami_memregion_t *r = armci_local_find(local, bytes, offset);
	size_t got;

	if (r)
		return r;
	if (PAMI_Memregion_create(armci_world.context[ARMCI_ORIGIN], local, bytes, &got,
				  &op->region) != PAMI_SUCCESS)
		return NULL;
	op->own_region = true;
	*offset = 0;
	return &op->region;
}

/* An ordinary put by addresses, which needs no region. */
static pami_result_t plain_put(struct armci_op *op, const pami_rma_t *rma, struct armci_seg *seg,
			       void *local, size_t offset)
{
	pami_put_simple_t p = {.rma = *rma,
			       .addr = {.local = local, .remote = (void *)(seg->va + offset)},
			       .put = {.rdone_fn = rdma_remote}};

	ARMCI_COUNT(plain);
	return PAMI_Put(armci_world.context[ARMCI_ORIGIN], &p);
}

/*
 * Transfer one contiguous piece at `offset` of seg. region is that of seg; NULL: a put without one.
 */
static int rdma_post(enum armci_kind kind, struct armci_op *op, struct armci_seg *seg,
		     pami_memregion_t *region, void *local, size_t offset, size_t bytes)
{
	pami_context_t context = armci_world.context[ARMCI_ORIGIN];
	pami_rma_t rma = {.dest = armci_endpoint(op->proc, ARMCI_SERVE),
			  .bytes = bytes,
			  .cookie = op,
			  .done_fn = rdma_local};
	pami_rdma_t rdma = {.remote = {region, offset}};
	pami_result_t rc = PAMI_ERROR;

	if (region)
		rdma.local.mr = local_region(op, local, bytes, &rdma.local.offset);
	if (kind == ARMCI_KIND_PUT && !rdma.local.mr) {
		rc = plain_put(op, &rma, seg, local, offset);
	} else if (kind == ARMCI_KIND_PUT) {
		pami_rput_simple_t p = {.rma = rma, .rdma = rdma, .put = {.rdone_fn = rdma_remote}};

		ARMCI_COUNT(rdma);
		rc = PAMI_Rput(context, &p);
	} else if (rdma.local.mr) {
		pami_rget_simple_t g = {.rma = rma, .rdma = rdma};

		ARMCI_COUNT(rdma);
		rc = PAMI_Rget(context, &g);
	}
	if (rc == PAMI_SUCCESS)
		return 0;
	if (rc != PAMI_SHUTDOWN || !armci_world.target[op->proc].failure_logged)
		drv_error("armci: cannot start a %s of %zu bytes with process %d (PAMI result %d)",
			  kind == ARMCI_KIND_PUT ? "put" : "get", bytes, op->proc, (int)rc);
	armci_world.target[op->proc].failure_logged |= rc == PAMI_SHUTDOWN;
	if (kind == ARMCI_KIND_PUT)
		armci_op_complete_remote(op, true);
	armci_op_complete_local(op, false);
	return FAIL6;
}

struct rdma_walk {
	enum armci_kind kind;
	struct armci_seg *seg;
	int proc;
	struct armci_req *req;
	int rc;
	bool no_assist; /* The owner is not to be offered the copy. */
};

/* Without a region the owner sends the data. */
static int plain_get(struct rdma_walk *w, char *local, uintptr_t remote, size_t bytes)
{
	struct armci_shape s = {.local = local, .remote = remote, .count = {bytes}};

	ARMCI_COUNT(plain);
	return armci_am_shape(ARMCI_KIND_GET, NULL, &s, w->seg, w->proc, w->req);
}

static void piece_rdma(void *arg, char *local, uintptr_t remote, size_t bytes)
{
	struct rdma_walk *w = arg;
	size_t offset = remote - w->seg->va;
	pami_memregion_t *region;
	struct armci_op *op;

	if (w->rc)
		return;
	/*
	 * Offer the copy only for a get that outlasts its call: an implicit one, or one of a
	 * handle.
	 */
	if (w->kind == ARMCI_KIND_GET && !w->no_assist && (!w->req || w->req->slot)) {
		size_t done = armci_assist_get(w->seg, w->proc, w->req, local, offset, bytes);

		if (done == bytes)
			return;
		local += done;
		offset += done;
		bytes -= done;
		remote += done;
	}
	region = armci_region_get(w->seg, w->proc);
	if (!region && w->kind == ARMCI_KIND_GET) {
		w->rc = plain_get(w, local, remote, bytes);
		return;
	}
	/* This may wait, and the cache may evict the region meanwhile. */
	op = armci_op_create(w->proc, w->req);
	region = region ? armci_region_get(w->seg, w->proc) : NULL;
	if (w->kind == ARMCI_KIND_PUT)
		armci_op_count_write(op, w->seg, ARMCI_CLASS_PUT, offset, bytes);
	w->rc = rdma_post(w->kind, op, w->seg, region, local, offset, bytes);
}

/* ---- one typed transfer for each slab of two levels ---- */

static pami_type_t type_of(const struct armci_shape *s, int64_t stride)
{
	pami_type_t t;

	if (PAMI_Type_create(&t) != PAMI_SUCCESS)
		return NULL;
	if (PAMI_Type_add_simple(t, s->count[0], 0, s->levels ? s->count[1] : 1, (size_t)stride) ==
		PAMI_SUCCESS &&
	    PAMI_Type_complete(t, 1) == PAMI_SUCCESS)
		return t;
	PAMI_Type_destroy(&t);
	return NULL;
}

static int typed_post(void *arg, const struct armci_shape *s)
{
	struct rdma_walk *w = arg;
	size_t bytes = armci_shape_bytes(s, s->levels);
	pami_rma_typed_t types = {type_of(s, s->levels ? s->lstride[0] : 0),
				  type_of(s, s->levels ? s->rstride[0] : 0)};
	struct armci_op *op = armci_op_create(w->proc, w->req);
	pami_rma_t rma = {.dest = armci_endpoint(w->proc, ARMCI_SERVE),
			  .bytes = bytes,
			  .cookie = op,
			  .done_fn = rdma_local};
	pami_rma_addr_t addr = {.local = s->local, .remote = (void *)s->remote};
	pami_result_t rc;
	int64_t lo, hi;

	if (!types.local || !types.remote)
		armci_die("no memory for the types of a patch");
	ARMCI_COUNT(typed);
	armci_window_reserve(op, bytes);
	if (w->kind == ARMCI_KIND_PUT) {
		pami_put_typed_t p = {
		    .rma = rma, .addr = addr, .type = types, .put = {.rdone_fn = rdma_remote}};

		armci_shape_extent(s, &lo, &hi);
		armci_op_count_write(op, w->seg, ARMCI_CLASS_PACKED,
				     s->remote + (uintptr_t)lo - w->seg->va, (size_t)(hi - lo));
		rc = PAMI_Put_typed(armci_world.context[ARMCI_ORIGIN], &p);
	} else {
		pami_get_typed_t g = {.rma = rma, .addr = addr, .type = types};

		rc = PAMI_Get_typed(armci_world.context[ARMCI_ORIGIN], &g);
	}
	PAMI_Type_destroy(&types.local);
	PAMI_Type_destroy(&types.remote);
	if (rc == PAMI_SUCCESS)
		return 0;
	drv_error(
	    "armci: cannot start a typed transfer of %zu bytes with process %d (PAMI result %d)",
	    bytes, w->proc, (int)rc);
	armci_op_complete_remote(op, true);
	armci_op_complete_local(op, false);
	return FAIL6;
}

/* Cut s into slabs of two levels, at most one message long. */
static int typed_walk(struct rdma_walk *w, const struct armci_shape *s)
{
	size_t most = s->levels ? s->count[0] * s->count[1] : s->count[0];

	return armci_shape_cut(s, most < ARMCI_CHUNK_BYTES ? most : ARMCI_CHUNK_BYTES, typed_post,
			       w);
}

/* ---- the choice of the way ---- */

enum way { WAY_RDMA, WAY_TYPED, WAY_PACKED };

static enum armci_class access_class(enum armci_kind kind, enum way way)
{
	if (kind == ARMCI_KIND_GET)
		return ARMCI_CLASS_READ;
	if (kind == ARMCI_KIND_ACC)
		return ARMCI_CLASS_ACC;
	return way == WAY_RDMA ? ARMCI_CLASS_PUT : ARMCI_CLASS_PACKED;
}

/*
 * Contiguous data always travel by RDMA, and the long pieces of patches unless a setting says
 * otherwise.
 */
static enum way choose_way(enum armci_kind kind, const struct armci_shape *s)
{
	if (kind == ARMCI_KIND_ACC)
		return WAY_PACKED;
	if (!s->levels)
		return WAY_RDMA;
	switch (armci_env.strided) {
	case ARMCI_STRIDED_DIRECT:
		return WAY_TYPED;
	case ARMCI_STRIDED_IOV:
		return WAY_RDMA;
	case ARMCI_STRIDED_PACK:
		return WAY_PACKED;
	default:
		return s->count[0] >= armci_env.pack_bytes ? WAY_RDMA : WAY_PACKED;
	}
}

/* Where sources add, every accumulate takes the owner's mutex, also one into mapped memory. */
static int acc_by_source(const struct armci_acc *acc, struct armci_shape *s, struct armci_seg *seg,
			 int proc)
{
	int rc = 0, given;

	if (armci_mutex_lock_internal(proc))
		return FAIL6;
	if (seg->direct) {
		struct direct d = direct_of(acc, seg, proc);

		armci_shape_walk(s, piece_acc, &d);
	} else {
		rc = armci_acc_source_shape(acc, s, seg, proc);
	}
	given = armci_mutex_unlock_internal(proc);
	return rc ? rc : given;
}

int armci_xfer_shape(enum armci_kind kind, const struct armci_acc *acc, struct armci_shape *s,
		     int proc, struct armci_req *req)
{
	struct rdma_walk w = {.kind = kind, .proc = proc, .req = req};
	struct armci_seg *seg;
	int64_t lo, hi;
	enum way way;

	if (!armci_shape_normalise(s))
		return 0;
	armci_shape_extent(s, &lo, &hi);
	seg = armci_seg_find(proc, s->remote + (uintptr_t)lo, (size_t)(hi - lo));
	if (kind == ARMCI_KIND_ACC && armci_env.acc != ARMCI_ACC_TARGET)
		return acc_by_source(acc, s, seg, proc);
	way = choose_way(kind, s);
	armci_order_access(seg, proc, s->remote + (uintptr_t)lo - seg->name, (size_t)(hi - lo),
			   access_class(kind, way));
	if (is_direct(kind, seg, proc)) {
		struct direct d = direct_of(acc, seg, proc);

		ARMCI_COUNT(direct);
		armci_shape_walk(s, direct_piece[kind], &d);
		return 0;
	}
	s->remote = seg->va + (s->remote - seg->name);
	w.seg = seg;
	if (way == WAY_PACKED)
		return armci_am_shape(kind, acc, s, seg, proc, req);
	if (way == WAY_TYPED)
		return typed_walk(&w, s);
	armci_shape_walk(s, piece_rdma, &w);
	return w.rc;
}

/*
 * How many entries from the first on lie in seg, as the first one does, and the offsets they span.
 */
static size_t count_run(const struct armci_list *l, const struct armci_seg *seg, size_t *lo,
			size_t *hi)
{
	size_t i, least = SIZE_MAX, most = 0;

	for (i = 0; i < l->count; i++) {
		size_t offset = (uintptr_t)l->remote[i] - seg->name;

		if (offset >= seg->bytes || l->bytes > seg->bytes - offset)
			break;
		least = offset < least ? offset : least;
		most = offset > most ? offset : most;
	}
	*lo = least;
	*hi = most + l->bytes;
	return i;
}

/* Outside mapped memory: by length of piece, or as ARMCI_IOV_METHOD says. */
static bool is_list_by_rdma(enum armci_kind kind, const struct armci_list *l)
{
	if (kind == ARMCI_KIND_ACC || armci_env.iov == ARMCI_IOV_PACK)
		return false;
	return armci_env.iov != ARMCI_IOV_AUTO || l->count == 1 || l->bytes >= armci_env.pack_bytes;
}

/*
 * Entries that start before the call waits for any of them (0: no bound), or that one message
 * takes.
 */
static size_t list_batch(void)
{
	switch (armci_env.iov) {
	case ARMCI_IOV_ONE_BY_ONE:
		return 1;
	case ARMCI_IOV_BATCHED:
		return armci_env.iov_batch;
	case ARMCI_IOV_PACK:
		return armci_env.iov_chunk;
	default:
		return 0;
	}
}

/* Start a part of a list. */
static int start_list(enum armci_kind kind, const struct armci_acc *acc, const struct armci_list *l,
		      struct armci_seg *seg, size_t lo, size_t hi, int proc, struct armci_req *req)
{
	struct rdma_walk w = {kind, seg, proc, req, 0, false};
	size_t i;

	if (!is_list_by_rdma(kind, l))
		return armci_am_list(kind, acc, l, seg, lo, hi, proc, req);
	for (i = 0; i < l->count; i++)
		piece_rdma(&w, l->local[i], seg->va + ((uintptr_t)l->remote[i] - seg->name),
			   l->bytes);
	return w.rc;
}

static uint32_t pending_of(const struct armci_req *req, int proc)
{
	return req ? req->pending : atomic_load_relaxed(&armci_world.target[proc].pending);
}

/* Transfer a list whose remote side lies in one segment, at offsets [lo, hi). */
static int xfer_run(enum armci_kind kind, const struct armci_acc *acc, const struct armci_list *l,
		    struct armci_seg *seg, size_t lo, size_t hi, int proc, struct armci_req *req)
{
	size_t i, batch = list_batch();
	uint32_t before = req ? req->pending : 0;
	int rc = 0;

	armci_order_access(seg, proc, lo, hi - lo,
			   access_class(kind, is_list_by_rdma(kind, l) ? WAY_RDMA : WAY_PACKED));
	if (is_direct(kind, seg, proc)) {
		struct direct d = direct_of(acc, seg, proc);

		ARMCI_COUNT(direct);
		for (i = 0; i < l->count; i++)
			direct_piece[kind](&d, l->local[i], (uintptr_t)l->remote[i], l->bytes);
		return 0;
	}
	if (!batch || batch >= l->count)
		return start_list(kind, acc, l, seg, lo, hi, proc, req);
	for (i = 0; i < l->count && !rc; i += batch) {
		struct armci_list part = {l->local + i, l->remote + i,
					  l->count - i < batch ? l->count - i : batch, l->bytes};

		rc = start_list(kind, acc, &part, seg, lo, hi, proc, req);
		while (armci_env.iov != ARMCI_IOV_PACK && pending_of(req, proc) > before)
			armci_poll();
	}
	return rc;
}

int armci_xfer_list(enum armci_kind kind, const struct armci_acc *acc,
		    const struct armci_list *list, int proc, struct armci_req *req)
{
	size_t from = 0;

	if (!list->bytes)
		return 0;
	if (kind == ARMCI_KIND_ACC && armci_env.acc != ARMCI_ACC_TARGET) {
		int rc = 0;

		for (; from < list->count && !rc; from++) {
			struct armci_shape s = {.local = list->local[from],
						.remote = (uintptr_t)list->remote[from],
						.count = {list->bytes}};

			rc = armci_xfer_shape(kind, acc, &s, proc, req);
		}
		return rc;
	}
	while (from < list->count) {
		struct armci_seg *seg =
		    armci_seg_find(proc, (uintptr_t)list->remote[from], list->bytes);
		struct armci_list run = {list->local + from, list->remote + from,
					 list->count - from, list->bytes};
		size_t lo, hi;
		int rc;

		run.count = count_run(&run, seg, &lo, &hi);
		rc = xfer_run(kind, acc, &run, seg, lo, hi, proc, req);
		if (rc)
			return rc;
		from += run.count;
	}
	return 0;
}

/* A small put in the message itself, so that its source is read before the call returns. */
static int xfer_value(struct armci_shape *s, int proc, struct armci_req *req)
{
	struct armci_seg *seg = armci_seg_find(proc, s->remote, s->count[0]);

	armci_order_access(seg, proc, s->remote - seg->name, s->count[0], ARMCI_CLASS_PACKED);
	if (seg->direct) {
		memcpy((void *)s->remote, s->local, s->count[0]);
		return 0;
	}
	s->remote = seg->va + (s->remote - seg->name);
	return armci_am_shape(ARMCI_KIND_PUT, NULL, s, seg, proc, req);
}

int armci_xfer_flag(uintptr_t remote, int value, int proc)
{
	struct armci_seg *seg = armci_seg_find(proc, remote, sizeof(value));
	pami_memregion_t *region;
	struct armci_op *op;

	armci_order_access(seg, proc, remote - seg->name, sizeof(value), ARMCI_CLASS_PUT);
	if (seg->direct) {
		atomic_store_release((int *)remote, value);
		return 0;
	}
	op = armci_op_create(proc, NULL);
	region = armci_region_get(seg, proc);
	memcpy(&op->value, &value, sizeof(value));
	armci_op_count_write(op, seg, ARMCI_CLASS_PUT, remote - seg->name, sizeof(value));
	return rdma_post(ARMCI_KIND_PUT, op, seg, region, &op->value, remote - seg->name,
			 sizeof(value));
}

int armci_xfer_get_rdma(struct armci_seg *seg, int proc, struct armci_req *req, char *local,
			size_t offset, size_t bytes)
{
	struct rdma_walk w = {ARMCI_KIND_GET, seg, proc, req, 0, true};

	piece_rdma(&w, local, seg->va + offset, bytes);
	return w.rc;
}

/* Hot: one piece, without a shape. */
static int xfer_contig(enum armci_kind kind, void *local, uintptr_t remote, size_t bytes, int proc,
		       struct armci_req *req)
{
	struct armci_seg *seg = armci_seg_find(proc, remote, bytes);
	struct rdma_walk w = {kind, seg, proc, req, 0, false};

	armci_order_access(seg, proc, remote - seg->name, bytes, access_class(kind, WAY_RDMA));
	if (seg->direct) {
		ARMCI_COUNT(direct);
		direct_piece[kind](NULL, local, remote, bytes);
		return 0;
	}
	piece_rdma(&w, local, seg->va + (remote - seg->name), bytes);
	return w.rc;
}

int armci_run_contig(enum armci_kind kind, void *local, uintptr_t remote, size_t bytes, int proc,
		     enum armci_wait wait, armci_hdl_t *h)
{
	ARMCI_ENTER;
	struct armci_req block = {0}, *req = &block;
	int rc, failed;

	if (wait == ARMCI_BLOCKING) {
		rc = xfer_contig(kind, local, remote, bytes, proc, req);
		failed = armci_req_wait(req);
		return rc ? rc : failed;
	}
	req = armci_req_begin(h);
	rc = xfer_contig(kind, local, remote, bytes, proc, req);
	armci_req_end(req);
	return rc;
}

int armci_run_shape(enum armci_kind kind, const struct armci_acc *acc, struct armci_shape *s,
		    int proc, enum armci_wait wait, armci_hdl_t *h)
{
	struct armci_req block = {0}, *req = &block;
	bool collects = wait != ARMCI_BLOCKING && h && h->armci_flags & ARMCI_HANDLE_AGGREGATE;
	int rc, failed = 0;

	if (!collects && armci_direct_shape(kind, acc, s, proc))
		return 0;
	ARMCI_ENTER;
	if (wait != ARMCI_BLOCKING) {
		if (collects && armci_agg_add_shape(h, kind, acc, s, proc, wait == ARMCI_VALUE))
			return 0;
		req = armci_req_begin(h);
	}
	if (wait == ARMCI_VALUE)
		rc = xfer_value(s, proc, req);
	else
		rc = armci_xfer_shape(kind, acc, s, proc, req);
	if (wait == ARMCI_BLOCKING)
		failed = armci_req_wait(req);
	else
		armci_req_end(req);
	return rc ? rc : failed;
}

int armci_run_list(enum armci_kind kind, const struct armci_acc *acc, const struct armci_list *list,
		   int proc, enum armci_wait wait, armci_hdl_t *h)
{
	struct armci_req block = {0}, *req = &block;
	bool collects = wait != ARMCI_BLOCKING && h && h->armci_flags & ARMCI_HANDLE_AGGREGATE;
	struct armci_list rest = *list;
	int rc, failed = 0;
	size_t done;

	if (!collects) {
		done = armci_direct_list(kind, acc, list, proc);
		if (done == list->count)
			return 0;
		rest = (struct armci_list){list->local + done, list->remote + done,
					   list->count - done, list->bytes};
	}
	ARMCI_ENTER;
	if (wait != ARMCI_BLOCKING) {
		if (collects && armci_agg_add_list(h, kind, acc, list, proc))
			return 0;
		req = armci_req_begin(h);
	}
	rc = armci_xfer_list(kind, acc, &rest, proc, req);
	if (wait == ARMCI_BLOCKING)
		failed = armci_req_wait(req);
	else
		armci_req_end(req);
	return rc ? rc : failed;
}
