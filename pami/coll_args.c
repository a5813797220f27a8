/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the user passed, brought to a few forms: one contribution, or parts by rank, contiguous or
 * with a packed copy; and the way back.
 */
#include <stdlib.h>

#include "pami/coll.h"

static int in_place(const void *buffer)
{
	return buffer == PAMI_IN_PLACE;
}

unsigned char *pami_vector_at(const struct pami_coll_vector *v, uint32_t i)
{
	if (v->packed)
		return v->packed + (v->offset ? v->offset[i] : i * pami_vector_bytes(v, i));
	if (!v->displs)
		return (unsigned char *)v->base + i * v->count * v->type->extent;
	return (unsigned char *)v->base +
	       (ptrdiff_t)(v->wide ? ((const ptrdiff_t *)v->displs)[i] : ((const int *)v->displs)[i]) *
		       (ptrdiff_t)v->type->extent;
}

/* The user's part i, laid out by the type. */
static void *user_at(const struct pami_coll_vector *v, uint32_t i)
{
	struct pami_coll_vector plain = *v;

	plain.packed = NULL;
	return pami_vector_at(&plain, i);
}

/* A contiguous copy of `parts` parts; filled if asked for. */
static int vector_pack(struct pami_coll_vector *v, uint32_t parts, int fill)
{
	size_t all = 0;

	if (v->counts) {
		v->offset = malloc(parts * sizeof *v->offset);
		if (!v->offset)
			return -ENOMEM;
		for (uint32_t i = 0; i < parts; i++) {
			v->offset[i] = all;
			all += pami_vector_bytes(v, i);
		}
	} else {
		all = parts * pami_vector_bytes(v, 0);
	}
	v->packed = malloc(all ? all : 1);
	if (!v->packed)
		return -ENOMEM;
	for (uint32_t i = 0; fill && i < parts; i++)
		if (pami_vector_bytes(v, i))
			pami_type_gather(v->type, user_at(v, i), 0, pami_vector_at(v, i), pami_vector_bytes(v, i),
			                 pami_data_copy, NULL);
	return 0;
}

static void vector_unpack(const struct pami_coll_vector *v, uint32_t parts)
{
	for (uint32_t i = 0; i < parts; i++)
		if (pami_vector_bytes(v, i))
			pami_type_scatter(v->type, user_at(v, i), 0, pami_vector_at(v, i), pami_vector_bytes(v, i),
			                  pami_data_copy, NULL);
}

static int vector_set(struct pami_coll_vector *v, const void *base, pami_type_t type, size_t count,
                      const void *counts, const void *displs, int wide)
{
	if (!pami_type_usable(type))
		return -EINVAL;
	v->base = (char *)(uintptr_t)base;
	v->type = type;
	v->count = count;
	v->counts = counts;
	v->displs = displs;
	v->wide = (uint8_t)wide;
	return 0;
}

static int one(struct pami_coll_vector *v, const void *base, pami_type_t type, size_t count)
{
	return vector_set(v, base, type, count, NULL, NULL, 1);
}

/* Readable contiguous. */
static int ready_send(struct pami_coll_vector *v, uint32_t parts)
{
	return pami_type_contiguous(v->type) ? 0 : vector_pack(v, parts, 1);
}

/* Writable contiguous, unpacked at the end; `keep`: what is there now matters. */
static int ready_recv(struct pami_coll *c, uint32_t parts, int keep)
{
	if (pami_type_contiguous(c->recv.type))
		return 0;
	c->deliver_recv = 1;
	return vector_pack(&c->recv, parts, keep);
}

static int root_of(struct pami_coll *c, pami_endpoint_t root)
{
	int32_t rank = pami_geometry_rank(c->geometry, root);

	c->root = (uint32_t)rank;
	return rank < 0 ? -EINVAL : 0;
}

static int is_root(const struct pami_coll *c)
{
	return c->rank == c->root;
}

/* ---- By transfer type ---- */

static int args_broadcast(struct pami_coll *c)
{
	const pami_broadcast_t *b = &c->xfer.cmd.xfer_broadcast;
	int rc = root_of(c, b->root);

	rc = rc ? rc : one(&c->recv, b->buf, b->type, b->typecount);
	if (rc)
		return rc;
	c->bytes = pami_vector_bytes(&c->recv, 0);
	if (!pami_type_contiguous(b->type)) {
		rc = vector_pack(&c->recv, 1, is_root(c));
		c->deliver_recv = !is_root(c);
	}
	c->data = rc ? NULL : pami_vector_at(&c->recv, 0);
	return rc;
}

#define SAME SIZE_MAX
#define NONE (SIZE_MAX - 1)

static int is_predefined_commutative(pami_data_function op)
{
	return op == PAMI_DATA_SUM || op == PAMI_DATA_PROD || op == PAMI_DATA_MAX || op == PAMI_DATA_MIN ||
	       op == PAMI_DATA_LAND || op == PAMI_DATA_LOR || op == PAMI_DATA_LXOR || op == PAMI_DATA_BAND ||
	       op == PAMI_DATA_BOR || op == PAMI_DATA_BXOR || op == PAMI_DATA_MAXLOC ||
	       op == PAMI_DATA_MINLOC;
}

/*
 * All reductions: the contribution at c->data, and the result's place at c->target (result_bytes:
 * SAME: as many as the contribution's; NONE: not wanted here). Programs pass the count of the result
 * in whatever unit rtype is, so the bytes decide.
 */
static int reduction(struct pami_coll *c, const char *snd, pami_type_t stype, size_t scount, const char *rcv,
                     pami_type_t rtype, size_t rcount, size_t result_bytes, pami_data_function op,
                     void *cookie, int commutative)
{
	int rc = in_place(snd) ? one(&c->send, rcv, rtype, rcount) : one(&c->send, snd, stype, scount);
	struct pami_type *t = c->send.type;

	if (rc)
		return rc;
	if (!pami_data_valid(op, t->element))
		return -EINVAL;
	c->op = op;
	c->op_cookie = cookie;
	c->commutative = (uint8_t)(is_predefined_commutative(op) || commutative);
	c->element = t->element;
	c->element_bytes = t->element < PAMI_ELEMENTS ? pami_type_predefined[t->element].data_size : t->atom;
	c->bytes = pami_vector_bytes(&c->send, 0);
	rc = ready_send(&c->send, 1);
	if (rc)
		return rc;
	c->data = pami_vector_at(&c->send, 0);
	if (result_bytes == NONE)
		return 0;
	rc = one(&c->recv, rcv, rtype, 0);
	if (rc)
		return rc;
	result_bytes = result_bytes == SAME ? c->bytes : result_bytes;
	if (c->recv.type->data_size) {
		c->recv.count = result_bytes / c->recv.type->data_size;
		if (result_bytes % c->recv.type->data_size)
			return -EINVAL;
	}
	rc = ready_recv(c, 1, 0);
	c->target = rc ? NULL : pami_vector_at(&c->recv, 0);
	return rc;
}

static int args_allreduce(struct pami_coll *c)
{
	const pami_allreduce_t *a = &c->xfer.cmd.xfer_allreduce;

	return reduction(c, a->sndbuf, a->stype, a->stypecount, a->rcvbuf, a->rtype, a->rtypecount, SAME, a->op,
	                 a->data_cookie, a->commutative);
}

static int args_reduce(struct pami_coll *c)
{
	const pami_reduce_t *a = &c->xfer.cmd.xfer_reduce;
	int rc = root_of(c, a->root);

	return rc ? rc : reduction(c, a->sndbuf, a->stype, a->stypecount, a->rcvbuf, a->rtype, a->rtypecount,
	                           is_root(c) ? SAME : NONE, a->op, a->data_cookie, a->commutative);
}

static int args_scan(struct pami_coll *c)
{
	const pami_scan_t *a = &c->xfer.cmd.xfer_scan;

	return reduction(c, a->sndbuf, a->stype, a->stypecount, a->rcvbuf, a->rtype, a->rtypecount,
	                 !a->exclusive || c->rank ? SAME : NONE, a->op, a->data_cookie, 0);
}

/* rcounts count rtype, or stype where their sum says so. c->send becomes the parts by rank. */
static int args_reduce_scatter(struct pami_coll *c)
{
	const pami_reduce_scatter_t *a = &c->xfer.cmd.xfer_reduce_scatter;
	size_t sum = 0, unit, mine = 0;
	int rc;

	if (!pami_type_usable(a->rtype))
		return -EINVAL;
	for (uint32_t i = 0; i < c->size; i++)
		sum += a->rcounts[i];
	unit = ((struct pami_type *)a->rtype)->data_size;
	if (!in_place(a->sndbuf) && pami_type_usable(a->stype) &&
	    sum * unit != a->stypecount * ((struct pami_type *)a->stype)->data_size)
		unit = ((struct pami_type *)a->stype)->data_size;
	mine = a->rcounts[c->rank] * unit;
	rc = reduction(c, a->sndbuf, a->stype, a->stypecount, a->rcvbuf, a->rtype, sum, mine, a->op,
	               a->data_cookie, a->commutative);
	if (rc)
		return rc;
	if (sum * unit != c->bytes)
		return -EINVAL;
	c->send.offset = malloc((c->size + 1) * sizeof *c->send.offset);
	if (!c->send.offset)
		return -ENOMEM;
	sum = 0;
	for (uint32_t i = 0; i < c->size; i++) {
		c->send.offset[i] = sum;
		sum += a->rcounts[i] * unit;
	}
	c->send.offset[c->size] = sum;
	return 0;
}

/* Own part straight to its place, unless it is there. */
static void copy_own(unsigned char *to, const unsigned char *from, size_t bytes)
{
	if (bytes && to != from)
		memmove(to, from, bytes);
}

static int args_allgather(struct pami_coll *c)
{
	const pami_collective_t *x = &c->xfer.cmd;
	const pami_allgather_t *a = &x->xfer_allgather;
	int in, rc;

	switch (c->type) {
	case PAMI_XFER_ALLGATHER:
		rc = one(&c->recv, a->rcvbuf, a->rtype, a->rtypecount);
		break;
	case PAMI_XFER_ALLGATHERV:
		rc = vector_set(&c->recv, a->rcvbuf, a->rtype, 0, x->xfer_allgatherv.rtypecounts,
		                x->xfer_allgatherv.rdispls, 1);
		break;
	default:
		rc = vector_set(&c->recv, a->rcvbuf, x->xfer_allgatherv_int.rtype, 0,
		                x->xfer_allgatherv_int.rtypecounts, x->xfer_allgatherv_int.rdispls, 0);
	}
	if (rc)
		return rc;
	in = in_place(a->sndbuf);
	rc = ready_recv(c, c->size, in);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < (c->recv.counts ? c->size : 1); i++)
		c->bytes += pami_vector_bytes(&c->recv, i);
	if (!c->recv.counts)
		c->bytes *= c->size;
	if (in)
		return 0;
	rc = c->type == PAMI_XFER_ALLGATHERV_INT ?
		     one(&c->send, a->sndbuf, a->stype, (size_t)x->xfer_allgatherv_int.stypecount) :
		     one(&c->send, a->sndbuf, a->stype, a->stypecount);
	rc = rc ? rc : ready_send(&c->send, 1);
	if (rc)
		return rc;
	if (pami_vector_bytes(&c->send, 0) != pami_vector_bytes(&c->recv, c->rank))
		return -EINVAL;
	copy_own(pami_vector_at(&c->recv, c->rank), pami_vector_at(&c->send, 0),
	         pami_vector_bytes(&c->send, 0));
	return 0;
}

static int args_gather(struct pami_coll *c)
{
	const pami_collective_t *x = &c->xfer.cmd;
	const pami_gather_t *a = &x->xfer_gather;
	int rc = root_of(c, a->root), in;

	if (rc)
		return rc;
	in = is_root(c) && in_place(a->sndbuf);
	if (is_root(c)) {
		switch (c->type) {
		case PAMI_XFER_GATHER:
			rc = one(&c->recv, a->rcvbuf, a->rtype, a->rtypecount);
			break;
		case PAMI_XFER_GATHERV:
			rc = vector_set(&c->recv, a->rcvbuf, a->rtype, 0, x->xfer_gatherv.rtypecounts,
			                x->xfer_gatherv.rdispls, 1);
			break;
		default:
			rc = vector_set(&c->recv, a->rcvbuf, x->xfer_gatherv_int.rtype, 0,
			                x->xfer_gatherv_int.rtypecounts, x->xfer_gatherv_int.rdispls, 0);
		}
		rc = rc ? rc : ready_recv(c, c->size, in);
		if (rc)
			return rc;
	}
	if (in) {
		c->bytes = c->type == PAMI_XFER_GATHER ? pami_vector_bytes(&c->recv, 0) * c->size : 0;
		c->data = pami_vector_at(&c->recv, c->rank);
		return 0;
	}
	rc = c->type == PAMI_XFER_GATHERV_INT ?
		     one(&c->send, a->sndbuf, a->stype, (size_t)x->xfer_gatherv_int.stypecount) :
		     one(&c->send, a->sndbuf, a->stype, a->stypecount);
	rc = rc ? rc : ready_send(&c->send, 1);
	if (rc)
		return rc;
	c->data = pami_vector_at(&c->send, 0);
	if (c->type == PAMI_XFER_GATHER)
		c->bytes = pami_vector_bytes(&c->send, 0) * c->size;
	if (is_root(c)) {
		if (pami_vector_bytes(&c->send, 0) != pami_vector_bytes(&c->recv, c->rank))
			return -EINVAL;
		copy_own(pami_vector_at(&c->recv, c->rank), c->data, pami_vector_bytes(&c->send, 0));
	}
	return 0;
}

static int args_scatter(struct pami_coll *c)
{
	const pami_collective_t *x = &c->xfer.cmd;
	const pami_scatter_t *a = &x->xfer_scatter;
	const pami_scatterv_t *v = &x->xfer_scatterv;
	const pami_scatterv_int_t *vi = &x->xfer_scatterv_int;
	const char *rcvbuf = c->type == PAMI_XFER_SCATTER ? a->rcvbuf : v->rcvbuf;
	int rc = root_of(c, a->root), in;

	if (rc)
		return rc;
	in = is_root(c) && in_place(rcvbuf);
	if (is_root(c)) {
		switch (c->type) {
		case PAMI_XFER_SCATTER:
			rc = one(&c->send, a->sndbuf, a->stype, a->stypecount);
			break;
		case PAMI_XFER_SCATTERV:
			rc = vector_set(&c->send, v->sndbuf, v->stype, 0, v->stypecounts, v->sdispls, 1);
			break;
		default:
			rc = vector_set(&c->send, vi->sndbuf, vi->stype, 0, vi->stypecounts, vi->sdispls, 0);
		}
		rc = rc ? rc : ready_send(&c->send, c->size);
		if (rc)
			return rc;
	}
	if (!in) {
		rc = c->type == PAMI_XFER_SCATTER      ? one(&c->recv, a->rcvbuf, a->rtype, a->rtypecount) :
		     c->type == PAMI_XFER_SCATTERV_INT ? one(&c->recv, vi->rcvbuf, vi->rtype,
		                                             (size_t)vi->rtypecount) :
		                                         one(&c->recv, v->rcvbuf, v->rtype, v->rtypecount);
		rc = rc ? rc : ready_recv(c, 1, 0);
		if (rc)
			return rc;
		c->target = pami_vector_at(&c->recv, 0);
	}
	if (c->type == PAMI_XFER_SCATTER)
		c->bytes = pami_vector_bytes(in ? &c->send : &c->recv, 0) * c->size;
	if (is_root(c) && !in) {
		if (pami_vector_bytes(&c->send, c->rank) != pami_vector_bytes(&c->recv, 0))
			return -EINVAL;
		copy_own(c->target, pami_vector_at(&c->send, c->rank), pami_vector_bytes(&c->recv, 0));
	}
	return 0;
}

static int args_alltoall(struct pami_coll *c)
{
	const pami_collective_t *x = &c->xfer.cmd;
	const pami_alltoall_t *a = &x->xfer_alltoall;
	const pami_alltoallv_t *v = &x->xfer_alltoallv;
	const pami_alltoallv_int_t *vi = &x->xfer_alltoallv_int;
	int in = in_place(a->sndbuf), wide = c->type != PAMI_XFER_ALLTOALLV_INT, rc;

	switch (c->type) {
	case PAMI_XFER_ALLTOALL:
		rc = one(&c->recv, a->rcvbuf, a->rtype, a->rtypecount);
		if (!rc)
			rc = in ? one(&c->send, a->rcvbuf, a->rtype, a->rtypecount) :
				  one(&c->send, a->sndbuf, a->stype, a->stypecount);
		break;
	case PAMI_XFER_ALLTOALLV:
		rc = vector_set(&c->recv, v->rcvbuf, v->rtype, 0, v->rtypecounts, v->rdispls, wide);
		if (!rc && !in)
			rc = vector_set(&c->send, v->sndbuf, v->stype, 0, v->stypecounts, v->sdispls, wide);
		break;
	default:
		rc = vector_set(&c->recv, vi->rcvbuf, vi->rtype, 0, vi->rtypecounts, vi->rdispls, wide);
		if (!rc && !in)
			rc = vector_set(&c->send, vi->sndbuf, vi->stype, 0, vi->stypecounts, vi->sdispls, wide);
	}
	if (rc)
		return rc;
	if (in && c->type != PAMI_XFER_ALLTOALL)
		c->send = c->recv;
	/* In place: what is to be sent must survive what arrives. */
	rc = c->send.base == c->recv.base ? vector_pack(&c->send, c->size, 1) : ready_send(&c->send, c->size);
	rc = rc ? rc : ready_recv(c, c->size, 0);
	if (rc)
		return rc;
	if (c->type == PAMI_XFER_ALLTOALL)
		c->bytes = pami_vector_bytes(&c->recv, 0) * c->size;
	if (pami_vector_bytes(&c->send, c->rank) != pami_vector_bytes(&c->recv, c->rank))
		return -EINVAL;
	copy_own(pami_vector_at(&c->recv, c->rank), pami_vector_at(&c->send, c->rank),
	         pami_vector_bytes(&c->recv, c->rank));
	return 0;
}

/* The initiator's side; counts are of one member's part. */
static int args_active(struct pami_coll *c)
{
	const pami_collective_t *x = &c->xfer.cmd;
	int rc;

	switch (c->type) {
	case PAMI_XFER_AMBROADCAST:
	case PAMI_XFER_AMSCATTER:
		rc = one(&c->send, x->xfer_amscatter.sndbuf, x->xfer_amscatter.stype,
		         x->xfer_amscatter.stypecount);
		rc = rc ? rc : ready_send(&c->send, c->type == PAMI_XFER_AMSCATTER ? c->size : 1);
		if (rc)
			return rc;
		c->bytes = pami_vector_bytes(&c->send, 0);
		c->data = pami_vector_at(&c->send, 0);
		return 0;
	case PAMI_XFER_AMGATHER:
	case PAMI_XFER_AMREDUCE:
		rc = one(&c->recv, x->xfer_amgather.rcvbuf, x->xfer_amgather.rtype,
		         x->xfer_amgather.rtypecount);
		rc = rc ? rc : ready_recv(c, c->type == PAMI_XFER_AMGATHER ? c->size : 1, 0);
		if (rc)
			return rc;
		c->bytes = pami_vector_bytes(&c->recv, 0);
		c->target = pami_vector_at(&c->recv, 0);
		c->op_cookie = c->type == PAMI_XFER_AMREDUCE ? x->xfer_amreduce.data_cookie : NULL;
		return 0;
	default:
		return -EINVAL;
	}
}

int pami_coll_arguments(struct pami_coll *c)
{
	switch (c->type) {
	case PAMI_XFER_BARRIER:
		return 0;
	case PAMI_XFER_BROADCAST:
		return args_broadcast(c);
	case PAMI_XFER_ALLREDUCE:
		return args_allreduce(c);
	case PAMI_XFER_REDUCE:
		return args_reduce(c);
	case PAMI_XFER_SCAN:
		return args_scan(c);
	case PAMI_XFER_REDUCE_SCATTER:
		return args_reduce_scatter(c);
	case PAMI_XFER_ALLGATHER:
	case PAMI_XFER_ALLGATHERV:
	case PAMI_XFER_ALLGATHERV_INT:
		return args_allgather(c);
	case PAMI_XFER_GATHER:
	case PAMI_XFER_GATHERV:
	case PAMI_XFER_GATHERV_INT:
		return args_gather(c);
	case PAMI_XFER_SCATTER:
	case PAMI_XFER_SCATTERV:
	case PAMI_XFER_SCATTERV_INT:
		return args_scatter(c);
	case PAMI_XFER_ALLTOALL:
	case PAMI_XFER_ALLTOALLV:
	case PAMI_XFER_ALLTOALLV_INT:
		return args_alltoall(c);
	default:
		return args_active(c);
	}
}

void pami_coll_deliver(struct pami_coll *c)
{
	int parts = c->type == PAMI_XFER_ALLGATHER || c->type == PAMI_XFER_ALLGATHERV ||
		    c->type == PAMI_XFER_ALLGATHERV_INT || c->type == PAMI_XFER_GATHER ||
		    c->type == PAMI_XFER_GATHERV || c->type == PAMI_XFER_GATHERV_INT ||
		    c->type == PAMI_XFER_ALLTOALL || c->type == PAMI_XFER_ALLTOALLV ||
		    c->type == PAMI_XFER_ALLTOALLV_INT || c->type == PAMI_XFER_AMGATHER;

	if (PAMI_UNLIKELY(c->deliver_recv))
		vector_unpack(&c->recv, parts ? c->size : 1);
}

void pami_coll_arguments_free(struct pami_coll *c)
{
	if (PAMI_UNLIKELY(c->send.packed || c->send.offset)) {
		free(c->send.packed);
		free(c->send.offset);
	}
	if (PAMI_UNLIKELY(c->recv.packed || c->recv.offset)) {
		free(c->recv.packed);
		free(c->recv.offset);
	}
}
