/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accumulate by the source: get, add, put, under a mutex of the owner. QUINTORUS_ARMCI_ACC selects
 * it, to compare with accumulate at the target: it needs no software of the owner for the data, but
 * the data travel twice. When pipelined, the next part is in flight while this one is added and the
 * last one returns.
 */
#include <stdlib.h>
#include <string.h>

#include "armci/core/counter.h"
#include "armci/core/env.h"
#include "armci/core/limits.h"
#include "armci/core/world.h"
#include "armci/memory/seg.h"
#include "armci/transfer/acc.h"
#include "armci/transfer/op.h"
#include "armci/transfer/shape.h"
#include "armci/transfer/xfer.h"

enum { PIPES = 2 };

struct part {
	struct armci_shape s; /* local: the source */
	struct armci_req got, put;
	char *buf;
	bool busy;
};

struct pipe {
	const struct armci_acc *acc;
	struct armci_seg *seg;
	int proc;
	struct part part[PIPES];
	unsigned started, added;
};

/* The same patch with the dense buffer as its local side. */
static struct armci_shape shape_dense(const struct part *p)
{
	struct armci_shape d = p->s;
	size_t bytes = d.count[0];
	int k;

	d.local = p->buf;
	for (k = 0; k < d.levels; k++) {
		d.lstride[k] = (int64_t)bytes;
		bytes *= d.count[k + 1];
	}
	return d;
}

struct adding {
	const struct armci_acc *acc;
	char *to;
};

static void piece_add(void *arg, char *local, uintptr_t remote, size_t bytes)
{
	struct adding *a = arg;

	armci_acc_plain(a->acc, a->to, local, bytes);
	a->to += bytes;
}

static void part_add(struct pipe *w, struct part *p)
{
	struct adding a = {w->acc, p->buf};
	struct armci_shape d = shape_dense(p);

	armci_req_wait(&p->got);
	armci_shape_walk(&p->s, piece_add, &a);
	armci_xfer_shape(ARMCI_KIND_PUT, NULL, &d, w->proc, &p->put);
	w->added++;
}

static int part_start(void *arg, const struct armci_shape *s)
{
	struct pipe *w = arg;
	unsigned pipes = armci_env.acc == ARMCI_ACC_PIPELINED ? PIPES : 1;
	struct part *p = &w->part[w->started % pipes];
	struct armci_shape d;

	if (w->started - w->added == pipes)
		part_add(w, &w->part[w->added % pipes]);
	armci_req_wait(&p->put); /* The buffer is free again. */
	p->s = *s;
	d = shape_dense(p);
	armci_xfer_shape(ARMCI_KIND_GET, NULL, &d, w->proc, &p->got);
	w->started++;
	ARMCI_COUNT(acc_source);
	if (pipes == 1)
		part_add(w, p);
	return 0;
}

/* Do the strides alone prove that no two pieces at the target share a byte? */
static bool is_disjoint(const struct armci_shape *s)
{
	uint64_t span = s->count[0];
	unsigned seen = 0;
	int i, k, least;

	for (i = 0; i < s->levels; i++) {
		least = -1;
		for (k = 0; k < s->levels; k++)
			if (!(seen >> k & 1) &&
			    (least < 0 || llabs(s->rstride[k]) < llabs(s->rstride[least])))
				least = k;
		if ((uint64_t)llabs(s->rstride[least]) < span)
			return false;
		span += (uint64_t)llabs(s->rstride[least]) * (s->count[least + 1] - 1);
		seen |= 1u << least;
	}
	return true;
}

struct one_by_one {
	const struct armci_acc *acc;
	struct armci_seg *seg;
	int proc, rc;
};

static void piece_alone(void *arg, char *local, uintptr_t remote, size_t bytes)
{
	struct one_by_one *o = arg;
	struct armci_shape s = {.local = local, .remote = remote, .count = {bytes}};

	if (!o->rc)
		o->rc = armci_acc_source_shape(o->acc, &s, o->seg, o->proc);
}

int armci_acc_source_shape(const struct armci_acc *acc, const struct armci_shape *s,
			   struct armci_seg *seg, int proc)
{
	size_t most =
	    armci_env.acc == ARMCI_ACC_PIPELINED ? armci_env.acc_chunk : ARMCI_CHUNK_BYTES;
	struct pipe w = {.acc = acc, .seg = seg, .proc = proc};
	int i, failed = 0;

	if (!is_disjoint(s)) { /* Each piece must see the sum that the previous one stored. */
		struct one_by_one o = {acc, seg, proc, 0};

		armci_shape_walk(s, piece_alone, &o);
		return o.rc;
	}
	most = most < 4096 ? 4096 : most / 4096 * 4096;
	for (i = 0; i < PIPES; i++) {
		w.part[i].buf = PARMCI_Malloc_local((armci_size_t)most);
		if (!w.part[i].buf)
			armci_die("no memory for %zu bytes of an accumulate", most);
	}
	armci_shape_cut(s, most, part_start, &w);
	while (w.added < w.started)
		part_add(&w, &w.part[w.added % PIPES]);
	for (i = 0; i < PIPES; i++) {
		failed |= armci_req_wait(&w.part[i].put) | (int)w.part[i].got.failed;
		PARMCI_Free_local(w.part[i].buf);
	}
	return failed ? FAIL6 : 0;
}
