/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Aggregate handles: many small transfers of one direction to one process, collected and sent as one
 * vector transfer when the handle is waited for, when the collection is full, or by a fence.
 */
#include <stdlib.h>
#include <string.h>

#include "armci/state.h"

enum { PIECES_MAX = 16384, BYTES_MAX = 1 << 20 };

struct piece {
	void *local; /* NULL: the value */
	uintptr_t remote;
	size_t bytes;
	uint64_t value;
};

struct armci_agg {
	struct armci_agg *next;
	struct armci_req *req; /* held until sent */
	uint64_t generation;   /* of req, to find the handle's */
	enum armci_kind kind;
	struct armci_acc acc;
	int proc;
	size_t count, space, bytes;
	bool mixed; /* pieces of several lengths */
	struct piece *piece;
};

static struct armci_agg *agg_find(const armci_hdl_t *h)
{
	struct armci_agg *a;

	for (a = armci_world.aggs; a; a = a->next)
		if (a->req->slot == h->armci_slot && a->generation == h->armci_generation)
			return a;
	return NULL;
}

static int by_bytes(const void *a, const void *b)
{
	const struct piece *p = a, *q = b;

	return (p->bytes > q->bytes) - (p->bytes < q->bytes);
}

/* Pieces [0, n), all of one length. */
static void send_run(struct armci_agg *a, struct piece *p, size_t n, void **local, void **remote)
{
	struct armci_list l = {local, remote, n, p->bytes};
	size_t i;

	for (i = 0; i < n; i++) {
		local[i] = p[i].local ? p[i].local : &p[i].value;
		remote[i] = (void *)p[i].remote;
	}
	if (armci_xfer_list(a->kind, a->kind == ARMCI_KIND_ACC ? &a->acc : NULL, &l, a->proc, a->req))
		a->req->failed = 1;
}

/* Sent; takes the collection out of the list. Values must have left this memory when it is freed. */
static void agg_send(struct armci_agg *a)
{
	struct armci_agg **p = &armci_world.aggs;
	void **pointers = malloc(2 * a->count * sizeof(*pointers));
	bool values = false;
	size_t i, n;

	if (!pointers && a->count)
		armci_die("no memory to send %zu collected transfers", a->count);
	while (*p != a)
		p = &(*p)->next;
	*p = a->next;
	ARMCI_COUNT(aggregate_sends);
	if (a->mixed)
		qsort(a->piece, a->count, sizeof(*a->piece), by_bytes);
	for (i = 0; i < a->count; i += n) {
		for (n = 0; i + n < a->count && a->piece[i + n].bytes == a->piece[i].bytes; n++)
			values |= !a->piece[i + n].local;
		send_run(a, a->piece + i, n, pointers, pointers + a->count);
	}
	while (values && a->req->pending > 1) /* ours is the one that stays */
		armci_poll();
	armci_req_end(a->req);
	free(pointers);
	free(a->piece);
	free(a);
}

void armci_agg_flush(const armci_hdl_t *h)
{
	struct armci_agg *a = agg_find(h);

	if (a)
		agg_send(a);
}

void armci_agg_flush_all(void)
{
	while (armci_world.aggs)
		agg_send(armci_world.aggs);
}

static struct armci_agg *agg_create(armci_hdl_t *h, enum armci_kind kind, const struct armci_acc *acc,
				    int proc)
{
	struct armci_agg *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->req = armci_req_begin(h);
	a->generation = a->req->generation;
	a->kind = kind;
	a->proc = proc;
	if (acc)
		a->acc = *acc;
	a->next = armci_world.aggs;
	armci_world.aggs = a;
	return a;
}

/* The handle's collection if it may take `pieces` more of this kind; a full one is sent first. */
static struct armci_agg *agg_open(armci_hdl_t *h, enum armci_kind kind, const struct armci_acc *acc,
				  int proc, size_t pieces, size_t bytes)
{
	struct armci_agg *a = agg_find(h);

	if (pieces > PIECES_MAX || bytes > BYTES_MAX)
		return NULL;
	if (a && (a->kind != kind || a->proc != proc || (acc && memcmp(acc, &a->acc, sizeof(*acc)))))
		return NULL;
	if (a && (a->count + pieces > PIECES_MAX || a->bytes + bytes > BYTES_MAX)) {
		agg_send(a);
		a = NULL;
	}
	if (!a)
		a = agg_create(h, kind, acc, proc);
	if (a && a->count + pieces > a->space) {
		size_t space = a->space * 2 > a->count + pieces ? a->space * 2 : a->count + pieces + 64;
		struct piece *grown = realloc(a->piece, space * sizeof(*grown));

		if (!grown)
			return NULL;
		a->piece = grown;
		a->space = space;
	}
	return a;
}

static struct piece *piece_add(struct armci_agg *a, void *local, uintptr_t remote, size_t bytes)
{
	struct piece *p = &a->piece[a->count++];

	*p = (struct piece){local, remote, bytes, 0};
	ARMCI_COUNT(aggregated);
	a->bytes += bytes;
	a->mixed |= bytes != a->piece[0].bytes;
	return p;
}

static void piece_of_shape(void *arg, char *local, uintptr_t remote, size_t bytes)
{
	piece_add(arg, local, remote, bytes);
}

bool armci_agg_add_shape(armci_hdl_t *h, enum armci_kind kind, const struct armci_acc *acc,
			 struct armci_shape *s, int proc, bool value)
{
	size_t bytes = armci_shape_normalise(s);
	struct armci_agg *a = bytes ? agg_open(h, kind, acc, proc, bytes / s->count[0], bytes) : NULL;

	if (!a)
		return bytes == 0;
	if (value)
		memcpy(&piece_add(a, NULL, s->remote, bytes)->value, s->local, bytes);
	else
		armci_shape_walk(s, piece_of_shape, a);
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
		piece_add(a, list->local[i], (uintptr_t)list->remote[i], list->bytes);
	return a != NULL;
}
