/* SPDX-License-Identifier: BSD-3-Clause */
/* Aggregate handles: what a handle has collected, with the hot path of transfer/contig.c. */
#ifndef ARMCI_AGG_H
#define ARMCI_AGG_H

#include "armci/core/world.h"
#include "armci/transfer/acc.h"
#include "armci/transfer/op.h"
#include "armci/transfer/shape.h"

enum { ARMCI_HANDLE_AGGREGATE = 1 }; /* in armci_hdl_t.armci_flags */
enum { ARMCI_AGG_PIECES = 16384, ARMCI_AGG_BYTES = 1 << 20 };

/* One collection. It can be sent as one list while all pieces have one length. */
struct armci_agg {
	struct armci_agg *next;
	struct armci_req *req; /* pending until the collection is sent */
	uint64_t generation;   /* of req, to find the collection of a handle */
	enum armci_kind kind;
	struct armci_acc acc;
	int proc;
	size_t count, space, bytes;
	size_t piece; /* length of every piece, unless mixed */
	bool mixed;   /* The pieces have several lengths, in length[]. */
	void **local, **remote;
	size_t *length;
	uint64_t *value; /* [space] sources of pieces that are values, or NULL */
};

/* Take the transfer into the handle's collection; false: it must travel on its own. */
bool armci_agg_add_piece(armci_hdl_t *h, enum armci_kind kind, const struct armci_acc *acc,
			 void *local, uintptr_t remote, size_t bytes, int proc);
bool armci_agg_add_shape(armci_hdl_t *h, enum armci_kind kind, const struct armci_acc *acc,
			 struct armci_shape *s, int proc, bool value);
bool armci_agg_add_list(armci_hdl_t *h, enum armci_kind kind, const struct armci_acc *acc,
			const struct armci_list *list, int proc);
/* Send what this handle has collected, or what every handle has. */
void armci_agg_flush(const armci_hdl_t *h);
void armci_agg_flush_all(void);
void armci_agg_release(void);

/* Record the length of piece i, which differs from that of the others. */
void armci_agg_set_length(struct armci_agg *a, size_t i, size_t bytes);

static inline void armci_agg_append(struct armci_agg *a, void *local, uintptr_t remote,
				    size_t bytes)
{
	size_t i = a->count++;

	a->local[i] = local;
	a->remote[i] = (void *)remote;
	a->bytes += bytes;
	if (!i)
		a->piece = bytes;
	if (__builtin_expect(a->mixed || bytes != a->piece, 0))
		armci_agg_set_length(a, i, bytes);
}

/* Append one more put or get like the last one; false: armci_agg_add_piece() must decide. */
static inline bool armci_agg_add_alike(const armci_hdl_t *h, enum armci_kind kind, void *local,
				       void *remote, int bytes, int proc)
{
	struct armci_agg *a = atomic_ptr_load_relaxed(&armci_world.aggs);

	if (!a || !h || !local || bytes <= 0 || a->req->slot != h->armci_slot ||
	    a->generation != h->armci_generation || a->kind != kind || a->proc != proc ||
	    a->count == a->space || a->count == ARMCI_AGG_PIECES ||
	    a->bytes + (size_t)bytes > ARMCI_AGG_BYTES ||
	    !(h->armci_flags & ARMCI_HANDLE_AGGREGATE))
		return false;
	armci_agg_append(a, local, (uintptr_t)remote, (size_t)bytes);
	return true;
}

#endif
