/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Aggregate handles: many small transfers of one direction to one process, collected and sent as
 * one vector transfer when the handle is waited for, when the collection is full, or by a fence.
 */
#include <stdlib.h>
#include <string.h>

#include "armci/core/counter.h"
#include "armci/core/thread.h"
#include "armci/core/world.h"
#include "armci/transfer/acc.h"
#include "armci/transfer/agg.h"
#include "armci/transfer/op.h"
#include "armci/transfer/shape.h"
#include "armci/transfer/xfer.h"
#include "drivers/base/assert.h"
#include "drivers/base/atomic.h"

enum { SPACE = 1024 };

static struct armci_agg *spare; /* one collection with its arrays, kept for reuse */

static struct armci_agg *agg_find(const armci_hdl_t *h)
{
	struct armci_agg *a;

	for (a = atomic_ptr_load_relaxed(&armci_world.aggs); a; a = a->next)
		if (a->req->slot == h->armci_slot && a->generation == h->armci_generation)
			return a;
	return NULL;
}

static void agg_free(struct armci_agg *a)
{
	free(a->local);
	free(a->remote);
	free(a->length);
	free(a->value);
	free(a);
}

void armci_agg_release(void)
{
	if (spare)
		agg_free(spare);
	spare = NULL;
}

/* Send pieces [from, from + n), which have one length. */
static void send_run(struct armci_agg *a, size_t from, size_t n)
{
	struct armci_list l = {a->local + from, a->remote + from, n,
			       a->mixed ? a->length[from] : a->piece};

	if (armci_xfer_list(a->kind, a->kind == ARMCI_KIND_ACC ? &a->acc : NULL, &l, a->proc,
			    a->req))
		a->req->failed = 1;
}

/*
 * Move the pieces as long as the first one to the front, keeping their order; returns how many. The
 * other pieces follow.
 */
static size_t move_equal_first(struct armci_agg *a, size_t from)
{
	size_t at = from, i;

	for (i = from; i < a->count; i++) {
		void *local = a->local[i], *remote = a->remote[i];
		size_t length = a->length[i];

		if (length != a->length[from])
			continue;
		a->local[i] = a->local[at];
		a->remote[i] = a->remote[at];
		a->length[i] = a->length[at];
		a->local[at] = local;
		a->remote[at] = remote;
		a->length[at++] = length;
	}
	return at - from;
}

static void agg_unlink(struct armci_agg *a)
{
	struct armci_agg *before = atomic_ptr_load_relaxed(&armci_world.aggs);

	if (before == a) {
		atomic_ptr_store_relaxed(&armci_world.aggs, a->next);
		return;
	}
	while (before->next != a)
		before = before->next;
	before->next = a->next;
}

/*
 * Send the collection and take it out of the list. Values must have left its memory before reuse.
 */
static void agg_send(struct armci_agg *a)
{
	size_t i, n;

	DRV_ASSERT(armci_has_lock());
	agg_unlink(a);
	armci_word_add(&armci_world.collections_sent, 1);
	armci_self.collections++;
	ARMCI_COUNT(aggregate_sends);
	ARMCI_COUNT_MANY(aggregated, a->count);
	for (i = 0; i < a->count; i += n) {
		n = a->mixed ? move_equal_first(a, i) : a->count;
		send_run(a, i, n);
	}
	while (a->value && a->req->pending > 1) /* the collection itself counts as one */
		armci_poll();
	armci_req_end(a->req);
	free(a->value);
	a->value = NULL;
	armci_agg_release();
	spare = a;
	armci_self.collections--;
	armci_word_add(&armci_world.collections_sent, -1u);
	armci_wake_waiting();
}

void armci_agg_flush(const armci_hdl_t *h)
{
	struct armci_agg *a = agg_find(h);

	if (a)
		agg_send(a);
}

void armci_agg_flush_all(void)
{
	struct armci_agg *a;

	while ((a = atomic_ptr_load_relaxed(&armci_world.aggs)))
		agg_send(a);
	/*
	 * The operations of a collection that another thread is sending may not count at the target
	 * yet.
	 */
	while (atomic_load_relaxed(&armci_world.collections_sent) > armci_self.collections)
		armci_poll();
}

static struct armci_agg *agg_create(armci_hdl_t *h, enum armci_kind kind,
				    const struct armci_acc *acc, int proc)
{
	struct armci_agg *a = spare ? spare : calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	spare = NULL;
	a->count = a->bytes = 0;
	a->mixed = false;
	a->req = armci_req_begin(h);
	a->generation = a->req->generation;
	a->kind = kind;
	a->proc = proc;
	if (acc)
		a->acc = *acc;
	a->next = atomic_ptr_load_relaxed(&armci_world.aggs);
	atomic_ptr_store_relaxed(&armci_world.aggs, a);
	return a;
}

static bool array_grow(void *array, size_t space)
{
	void *grown = realloc(*(void **)array, space * sizeof(void *));

	if (grown)
		*(void **)array = grown;
	return grown != NULL;
}

/* Make room for `pieces` more. The values do not move, since collected pieces point to them. */
static bool agg_room(struct armci_agg *a, size_t pieces)
{
	size_t space = a->space * 2 > a->count + pieces ? a->space * 2 : a->count + pieces + SPACE;

	if (a->count + pieces <= a->space)
		return true;
	if (!array_grow(&a->local, space) || !array_grow(&a->remote, space) ||
	    !array_grow(&a->length, space))
		return false;
	a->space = space;
	return true;
}

/* The handle's collection if it can take `pieces` more of this kind. A full one is sent first. */
static struct armci_agg *agg_open(armci_hdl_t *h, enum armci_kind kind, const struct armci_acc *acc,
				  int proc, size_t pieces, size_t bytes)
{
	struct armci_agg *a = agg_find(h);

	if (pieces > ARMCI_AGG_PIECES || bytes > ARMCI_AGG_BYTES)
		return NULL;
	if (a &&
	    (a->kind != kind || a->proc != proc || (acc && memcmp(acc, &a->acc, sizeof(*acc)))))
		return NULL;
	if (a && (a->count + pieces > ARMCI_AGG_PIECES || a->bytes + bytes > ARMCI_AGG_BYTES)) {
		agg_send(a);
		a = NULL;
	}
	if (!a)
		a = agg_create(h, kind, acc, proc);
	return a && agg_room(a, pieces) ? a : NULL;
}

void armci_agg_set_length(struct armci_agg *a, size_t i, size_t bytes)
{
	size_t k;

	for (k = 0; !a->mixed && k < i; k++)
		a->length[k] = a->piece;
	a->mixed = true;
	a->length[i] = bytes;
}

static void piece_of_shape(void *arg, char *local, uintptr_t remote, size_t bytes)
{
	armci_agg_append(arg, local, remote, bytes);
}

bool armci_agg_add_piece(armci_hdl_t *h, enum armci_kind kind, const struct armci_acc *acc,
			 void *local, uintptr_t remote, size_t bytes, int proc)
{
	struct armci_agg *a = agg_open(h, kind, acc, proc, 1, bytes);

	if (a)
		armci_agg_append(a, local, remote, bytes);
	return a != NULL;
}

bool armci_agg_add_shape(armci_hdl_t *h, enum armci_kind kind, const struct armci_acc *acc,
			 struct armci_shape *s, int proc, bool value)
{
	size_t bytes = armci_shape_normalise(s);
	struct armci_agg *a =
	    bytes ? agg_open(h, kind, acc, proc, bytes / s->count[0], bytes) : NULL;

	if (!a)
		return bytes == 0;
	if (!value) {
		armci_shape_walk(s, piece_of_shape, a);
		return true;
	}
	if (!a->value)
		a->value = malloc(ARMCI_AGG_PIECES * sizeof(*a->value));
	if (!a->value)
		return false;
	memcpy(&a->value[a->count], s->local, bytes);
	armci_agg_append(a, &a->value[a->count], s->remote, bytes);
	return true;
}

bool armci_agg_add_list(armci_hdl_t *h, enum armci_kind kind, const struct armci_acc *acc,
			const struct armci_list *list, int proc)
{
	struct armci_agg *a;
	size_t i;

	if (!list->bytes || !list->count)
		return true;
	a = agg_open(h, kind, acc, proc, list->count, list->count * list->bytes);
	for (i = 0; a && i < list->count; i++)
		armci_agg_append(a, list->local[i], (uintptr_t)list->remote[i], list->bytes);
	return a != NULL;
}
