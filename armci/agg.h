/* SPDX-License-Identifier: BSD-3-Clause */
/* What an aggregate handle has collected; here for the hot path of contig.c. */
#ifndef ARMCI_AGG_H
#define ARMCI_AGG_H

#include "armci/state.h"

enum { ARMCI_AGG_PIECES = 16384, ARMCI_AGG_BYTES = 1 << 20 };

/* Ready to be sent as a list while all pieces are of one length. */
struct armci_agg {
	struct armci_agg *next;
	struct armci_req *req; /* held until sent */
	uint64_t generation;   /* of req, to find the handle's */
	enum armci_kind kind;
	struct armci_acc acc;
	int proc;
	size_t count, space, bytes;
	size_t piece; /* their length, unless mixed */
	bool mixed;   /* several lengths: in length[] */
	void **local, **remote;
	size_t *length;
	uint64_t *value; /* [space] of those that are values, or NULL */
};

/* Piece i is of a length of its own, or one before it was. */
void armci_agg_length_note(struct armci_agg *a, size_t i, size_t bytes);

static inline void armci_agg_append(struct armci_agg *a, void *local, uintptr_t remote, size_t bytes)
{
	size_t i = a->count++;

	a->local[i] = local;
	a->remote[i] = (void *)remote;
	a->bytes += bytes;
	if (!i)
		a->piece = bytes;
	if (__builtin_expect(a->mixed || bytes != a->piece, 0))
		armci_agg_length_note(a, i, bytes);
}

/* One more put or get like the last one; false: the long way. */
static inline bool armci_agg_more(const armci_hdl_t *h, enum armci_kind kind, void *local, void *remote,
				  int bytes, int proc)
{
	struct armci_agg *a = armci_world.aggs;

	if (!a || !h || !local || bytes <= 0 || a->req->slot != h->armci_slot ||
	    a->generation != h->armci_generation || a->kind != kind || a->proc != proc ||
	    a->count == a->space || a->count == ARMCI_AGG_PIECES ||
	    a->bytes + (size_t)bytes > ARMCI_AGG_BYTES || !(h->armci_flags & ARMCI_HANDLE_AGGREGATE))
		return false;
	armci_agg_append(a, local, (uintptr_t)remote, (size_t)bytes);
	return true;
}

#endif
