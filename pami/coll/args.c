/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arguments of a collective, brought to a few forms: one contribution, or parts by rank;
 * contiguous, or with a packed copy. At the end, packed copies are unpacked to the user's layouts.
 */
#include <stdlib.h>

#include "pami/coll/coll.h"
#include "pami/core/error.h"
#include "pami/core/macros.h"
#include "pami/geometry/geometry.h"

static bool is_in_place(const void *buffer)
{
	return buffer == PAMI_IN_PLACE;
}

unsigned char *pami_vector_at(const struct pami_coll_vector *v, uint32_t i)
{
	if (v->packed)
		return v->packed + (v->offset ? v->offset[i] : i * pami_vector_bytes(v, i));
	if (!v->displs)
		return (unsigned char *)v->base + i * v->count * v->type->extent;
	return (unsigned char *)v->base + (ptrdiff_t)(v->wide ? ((const ptrdiff_t *)v->displs)[i]
							      : ((const int *)v->displs)[i]) *
					      (ptrdiff_t)v->type->extent;
}

/* The user's part i, in the layout of the type. */
static void *user_part_at(const struct pami_coll_vector *v, uint32_t i)
{
	struct pami_coll_vector plain = *v;

	plain.packed = NULL;
	return pami_vector_at(&plain, i);
}

/* Get a contiguous copy of `parts` parts, and fill it if asked to. Returns 0 or -ENOMEM. */
static int vector_pack(struct pami_coll_vector *v, uint32_t parts, bool fill)
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
			pami_type_gather(v->type, user_part_at(v, i), 0, pami_vector_at(v, i),
					 pami_vector_bytes(v, i), pami_data_copy, NULL);
	return 0;
}

static void vector_unpack(const struct pami_coll_vector *v, uint32_t parts)
{
	for (uint32_t i = 0; i < parts; i++)
		if (pami_vector_bytes(v, i))
			pami_type_scatter(v->type, user_part_at(v, i), 0, pami_vector_at(v, i),
					  pami_vector_bytes(v, i), pami_data_copy, NULL);
}

static int vector_set(struct pami_coll_vector *v, const void *base, pami_type_t type, size_t count,
		      const void *counts, const void *displs, bool wide)
{
	if (!pami_type_is_usable(type))
		return -EINVAL;
	v->base = (char *)(uintptr_t)base;
	v->type = type;
	v->count = count;
	v->counts = counts;
	v->displs = displs;
	v->wide = wide;
	return 0;
}

static int vector_set_equal(struct pami_coll_vector *v, const void *base, pami_type_t type,
			    size_t count)
{
	return vector_set(v, base, type, count, NULL, NULL, true);
}

/* Make the parts readable as contiguous memory. */
static int make_readable(struct pami_coll_vector *v, uint32_t parts)
{
	return pami_type_is_contiguous(v->type) ? 0 : vector_pack(v, parts, true);
}

/*
 * Make the parts of c->recv writable as contiguous memory, which is unpacked at the end. `keep`:
 * the present contents are needed.
 */
static int make_writable(struct pami_coll *c, uint32_t parts, bool keep)
{
	if (pami_type_is_contiguous(c->recv.type))
		return 0;
	c->deliver_recv = true;
	return vector_pack(&c->recv, parts, keep);
}

/* Set c->root. Returns 0, or -EINVAL if the endpoint is no member. */
static int set_root(struct pami_coll *c, pami_endpoint_t root)
{
	int32_t rank = pami_geometry_rank(c->geometry, root);

	c->root = (uint32_t)rank;
	return rank < 0 ? -EINVAL : 0;
}

static bool is_root(const struct pami_coll *c)
{
	return c->rank == c->root;
}

/* ---- By transfer type ---- */

static int args_broadcast(struct pami_coll *c)
{
	const pami_broadcast_t *b = &c->xfer.cmd.xfer_broadcast;
	int rc = set_root(c, b->root);

	rc = rc ? rc : vector_set_equal(&c->recv, b->buf, b->type, b->typecount);
	if (rc)
		return rc;
	c->bytes = pami_vector_bytes(&c->recv, 0);
	if (!pami_type_is_contiguous(b->type)) {
		rc = vector_pack(&c->recv, 1, is_root(c));
		c->deliver_recv = !is_root(c);
	}
	c->data = rc ? NULL : pami_vector_at(&c->recv, 0);
	return rc;
}

/* result_bytes of set_reduction(): as many as the contribution has; none, as it is not wanted here.
 */
#define SAME SIZE_MAX
#define NONE (SIZE_MAX - 1)

static bool is_predefined_commutative(pami_data_function op)
{
	return op == PAMI_DATA_SUM || op == PAMI_DATA_PROD || op == PAMI_DATA_MAX ||
	       op == PAMI_DATA_MIN || op == PAMI_DATA_LAND || op == PAMI_DATA_LOR ||
	       op == PAMI_DATA_LXOR || op == PAMI_DATA_BAND || op == PAMI_DATA_BOR ||
	       op == PAMI_DATA_BXOR || op == PAMI_DATA_MAXLOC || op == PAMI_DATA_MINLOC;
}

/*
 * All reductions: set c->data to the contribution and c->target to the place of the result.
 * Programs pass the count of the result in any unit, so its bytes follow from the contribution.
 */
static int set_reduction(struct pami_coll *c, const char *snd, pami_type_t stype, size_t scount,
			 const char *rcv, pami_type_t rtype, size_t rcount, size_t result_bytes,
			 pami_data_function op, void *cookie, bool commutative)
{
	int rc = is_in_place(snd) ? vector_set_equal(&c->send, rcv, rtype, rcount)
				  : vector_set_equal(&c->send, snd, stype, scount);
	struct pami_type *t = c->send.type;

	if (rc)
		return rc;
	if (!pami_data_is_valid(op, t->element))
		return -EINVAL;
	c->op = op;
	c->op_cookie = cookie;
	c->commutative = is_predefined_commutative(op) || commutative;
	c->element = t->element;
	c->element_bytes =
	    t->element < PAMI_ELEMENTS ? pami_type_predefined[t->element].data_size : t->atom;
	c->bytes = pami_vector_bytes(&c->send, 0);
	rc = make_readable(&c->send, 1);
	if (rc)
		return rc;
	c->data = pami_vector_at(&c->send, 0);
	if (result_bytes == NONE)
		return 0;
	rc = vector_set_equal(&c->recv, rcv, rtype, 0);
	if (rc)
		return rc;
	result_bytes = result_bytes == SAME ? c->bytes : result_bytes;
	if (c->recv.type->data_size) {
		c->recv.count = result_bytes / c->recv.type->data_size;
		if (result_bytes % c->recv.type->data_size)
			return -EINVAL;
	}
	rc = make_writable(c, 1, 0);
	c->target = rc ? NULL : pami_vector_at(&c->recv, 0);
	return rc;
}

static int args_allreduce(struct pami_coll *c)
{
	const pami_allreduce_t *a = &c->xfer.cmd.xfer_allreduce;

	return set_reduction(c, a->sndbuf, a->stype, a->stypecount, a->rcvbuf, a->rtype,
			     a->rtypecount, SAME, a->op, a->data_cookie, a->commutative);
}

static int args_reduce(struct pami_coll *c)
{
	const pami_reduce_t *a = &c->xfer.cmd.xfer_reduce;
	int rc = set_root(c, a->root);

	return rc ? rc
		  : set_reduction(c, a->sndbuf, a->stype, a->stypecount, a->rcvbuf, a->rtype,
				  a->rtypecount, is_root(c) ? SAME : NONE, a->op, a->data_cookie,
				  a->commutative);
}

static int args_scan(struct pami_coll *c)
{
	const pami_scan_t *a = &c->xfer.cmd.xfer_scan;

	return set_reduction(c, a->sndbuf, a->stype, a->stypecount, a->rcvbuf, a->rtype,
			     a->rtypecount, !a->exclusive || c->rank ? SAME : NONE, a->op,
			     a->data_cookie, 0);
}

/* rcounts counts in rtype, or in stype if only then the sum fits. c->send.offset gets the parts. */
static int args_reduce_scatter(struct pami_coll *c)
{
	const pami_reduce_scatter_t *a = &c->xfer.cmd.xfer_reduce_scatter;
	size_t sum = 0, unit, mine = 0;
	int rc;

	if (!pami_type_is_usable(a->rtype))
		return -EINVAL;
	for (uint32_t i = 0; i < c->size; i++)
		sum += a->rcounts[i];
	unit = ((struct pami_type *)a->rtype)->data_size;
	if (!is_in_place(a->sndbuf) && pami_type_is_usable(a->stype) &&
	    sum * unit != a->stypecount * ((struct pami_type *)a->stype)->data_size)
		unit = ((struct pami_type *)a->stype)->data_size;
	mine = a->rcounts[c->rank] * unit;
	rc = set_reduction(c, a->sndbuf, a->stype, a->stypecount, a->rcvbuf, a->rtype, sum, mine,
			   a->op, a->data_cookie, a->commutative);
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

/* Copy the own part to its place, unless it is there. */
static void copy_own(unsigned char *to, const unsigned char *from, size_t bytes)
{
	if (bytes && to != from)
		memmove(to, from, bytes);
}

/* The result of an allgather(v), or of a gather(v) at the root. */
static int set_gathered(struct pami_coll *c)
{
	const pami_collective_t *x = &c->xfer.cmd;

	switch (c->type) {
	case PAMI_XFER_ALLGATHER:
		return vector_set_equal(&c->recv, x->xfer_allgather.rcvbuf, x->xfer_allgather.rtype,
					x->xfer_allgather.rtypecount);
	case PAMI_XFER_ALLGATHERV:
		return vector_set(&c->recv, x->xfer_allgatherv.rcvbuf, x->xfer_allgatherv.rtype, 0,
				  x->xfer_allgatherv.rtypecounts, x->xfer_allgatherv.rdispls, true);
	case PAMI_XFER_ALLGATHERV_INT:
		return vector_set(
		    &c->recv, x->xfer_allgatherv_int.rcvbuf, x->xfer_allgatherv_int.rtype, 0,
		    x->xfer_allgatherv_int.rtypecounts, x->xfer_allgatherv_int.rdispls, false);
	case PAMI_XFER_GATHER:
		return vector_set_equal(&c->recv, x->xfer_gather.rcvbuf, x->xfer_gather.rtype,
					x->xfer_gather.rtypecount);
	case PAMI_XFER_GATHERV:
		return vector_set(&c->recv, x->xfer_gatherv.rcvbuf, x->xfer_gatherv.rtype, 0,
				  x->xfer_gatherv.rtypecounts, x->xfer_gatherv.rdispls, true);
	default:
		return vector_set(&c->recv, x->xfer_gatherv_int.rcvbuf, x->xfer_gatherv_int.rtype,
				  0, x->xfer_gatherv_int.rtypecounts, x->xfer_gatherv_int.rdispls,
				  false);
	}
}

/* Make the contribution readable. */
static int set_contribution(struct pami_coll *c, const void *base, pami_type_t type, size_t count)
{
	int rc = vector_set_equal(&c->send, base, type, count);

	return rc ? rc : make_readable(&c->send, 1);
}

/* Copy the contribution to its place of the result. -EINVAL: the lengths differ. */
static int place_contribution(struct pami_coll *c)
{
	size_t bytes = pami_vector_bytes(&c->send, 0);

	if (bytes != pami_vector_bytes(&c->recv, c->rank))
		return -EINVAL;
	copy_own(pami_vector_at(&c->recv, c->rank), pami_vector_at(&c->send, 0), bytes);
	return 0;
}

static int args_allgather(struct pami_coll *c)
{
	const pami_collective_t *x = &c->xfer.cmd;
	const pami_allgather_t *a = &x->xfer_allgather;
	bool in_place = is_in_place(a->sndbuf);
	int rc = set_gathered(c);

	rc = rc ? rc : make_writable(c, c->size, in_place);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < (c->recv.counts ? c->size : 1); i++)
		c->bytes += pami_vector_bytes(&c->recv, i);
	if (!c->recv.counts)
		c->bytes *= c->size;
	if (in_place)
		return 0;
	rc = set_contribution(c, a->sndbuf, a->stype,
			      c->type == PAMI_XFER_ALLGATHERV_INT
				  ? (size_t)x->xfer_allgatherv_int.stypecount
				  : a->stypecount);
	return rc ? rc : place_contribution(c);
}

static int args_gather(struct pami_coll *c)
{
	const pami_collective_t *x = &c->xfer.cmd;
	const pami_gather_t *a = &x->xfer_gather;
	int rc = set_root(c, a->root);
	bool in_place;

	if (rc)
		return rc;
	in_place = is_root(c) && is_in_place(a->sndbuf);
	if (is_root(c)) {
		rc = set_gathered(c);
		rc = rc ? rc : make_writable(c, c->size, in_place);
		if (rc)
			return rc;
	}
	if (in_place) {
		c->bytes =
		    c->type == PAMI_XFER_GATHER ? pami_vector_bytes(&c->recv, 0) * c->size : 0;
		c->data = pami_vector_at(&c->recv, c->rank);
		return 0;
	}
	rc = set_contribution(c, a->sndbuf, a->stype,
			      c->type == PAMI_XFER_GATHERV_INT
				  ? (size_t)x->xfer_gatherv_int.stypecount
				  : a->stypecount);
	if (rc)
		return rc;
	c->data = pami_vector_at(&c->send, 0);
	if (c->type == PAMI_XFER_GATHER)
		c->bytes = pami_vector_bytes(&c->send, 0) * c->size;
	return is_root(c) ? place_contribution(c) : 0;
}

static int args_scatter(struct pami_coll *c)
{
	const pami_collective_t *x = &c->xfer.cmd;
	const pami_scatter_t *a = &x->xfer_scatter;
	const pami_scatterv_t *v = &x->xfer_scatterv;
	const pami_scatterv_int_t *vi = &x->xfer_scatterv_int;
	const char *rcvbuf = c->type == PAMI_XFER_SCATTER ? a->rcvbuf : v->rcvbuf;
	int rc = set_root(c, a->root), in;

	if (rc)
		return rc;
	in = is_root(c) && is_in_place(rcvbuf);
	if (is_root(c)) {
		switch (c->type) {
		case PAMI_XFER_SCATTER:
			rc = vector_set_equal(&c->send, a->sndbuf, a->stype, a->stypecount);
			break;
		case PAMI_XFER_SCATTERV:
			rc = vector_set(&c->send, v->sndbuf, v->stype, 0, v->stypecounts,
					v->sdispls, 1);
			break;
		default:
			rc = vector_set(&c->send, vi->sndbuf, vi->stype, 0, vi->stypecounts,
					vi->sdispls, 0);
		}
		rc = rc ? rc : make_readable(&c->send, c->size);
		if (rc)
			return rc;
	}
	if (!in) {
		rc = c->type == PAMI_XFER_SCATTER
			 ? vector_set_equal(&c->recv, a->rcvbuf, a->rtype, a->rtypecount)
		     : c->type == PAMI_XFER_SCATTERV_INT
			 ? vector_set_equal(&c->recv, vi->rcvbuf, vi->rtype, (size_t)vi->rtypecount)
			 : vector_set_equal(&c->recv, v->rcvbuf, v->rtype, v->rtypecount);
		rc = rc ? rc : make_writable(c, 1, 0);
		if (rc)
			return rc;
		c->target = pami_vector_at(&c->recv, 0);
	}
	if (c->type == PAMI_XFER_SCATTER)
		c->bytes = pami_vector_bytes(in ? &c->send : &c->recv, 0) * c->size;
	if (is_root(c) && !in) {
		if (pami_vector_bytes(&c->send, c->rank) != pami_vector_bytes(&c->recv, 0))
			return -EINVAL;
		copy_own(c->target, pami_vector_at(&c->send, c->rank),
			 pami_vector_bytes(&c->recv, 0));
	}
	return 0;
}

static int args_alltoall(struct pami_coll *c)
{
	const pami_collective_t *x = &c->xfer.cmd;
	const pami_alltoall_t *a = &x->xfer_alltoall;
	const pami_alltoallv_t *v = &x->xfer_alltoallv;
	const pami_alltoallv_int_t *vi = &x->xfer_alltoallv_int;
	int in = is_in_place(a->sndbuf), wide = c->type != PAMI_XFER_ALLTOALLV_INT, rc;

	switch (c->type) {
	case PAMI_XFER_ALLTOALL:
		rc = vector_set_equal(&c->recv, a->rcvbuf, a->rtype, a->rtypecount);
		if (!rc)
			rc = in ? vector_set_equal(&c->send, a->rcvbuf, a->rtype, a->rtypecount)
				: vector_set_equal(&c->send, a->sndbuf, a->stype, a->stypecount);
		break;
	case PAMI_XFER_ALLTOALLV:
		rc = vector_set(&c->recv, v->rcvbuf, v->rtype, 0, v->rtypecounts, v->rdispls, wide);
		if (!rc && !in)
			rc = vector_set(&c->send, v->sndbuf, v->stype, 0, v->stypecounts,
					v->sdispls, wide);
		break;
	default:
		rc = vector_set(&c->recv, vi->rcvbuf, vi->rtype, 0, vi->rtypecounts, vi->rdispls,
				wide);
		if (!rc && !in)
			rc = vector_set(&c->send, vi->sndbuf, vi->stype, 0, vi->stypecounts,
					vi->sdispls, wide);
	}
	if (rc)
		return rc;
	if (in && c->type != PAMI_XFER_ALLTOALL)
		c->send = c->recv;
	/* In place: parts that arrive must not overwrite parts that are still to be sent. */
	rc = c->send.base == c->recv.base ? vector_pack(&c->send, c->size, true)
					  : make_readable(&c->send, c->size);
	rc = rc ? rc : make_writable(c, c->size, 0);
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

/* Active messages, at the initiator. Counts are those of one member's part. */
static int args_active(struct pami_coll *c)
{
	const pami_collective_t *x = &c->xfer.cmd;
	int rc;

	switch (c->type) {
	case PAMI_XFER_AMBROADCAST:
	case PAMI_XFER_AMSCATTER:
		rc = vector_set_equal(&c->send, x->xfer_amscatter.sndbuf, x->xfer_amscatter.stype,
				      x->xfer_amscatter.stypecount);
		rc =
		    rc ? rc : make_readable(&c->send, c->type == PAMI_XFER_AMSCATTER ? c->size : 1);
		if (rc)
			return rc;
		c->bytes = pami_vector_bytes(&c->send, 0);
		c->data = pami_vector_at(&c->send, 0);
		return 0;
	case PAMI_XFER_AMGATHER:
	case PAMI_XFER_AMREDUCE:
		rc = vector_set_equal(&c->recv, x->xfer_amgather.rcvbuf, x->xfer_amgather.rtype,
				      x->xfer_amgather.rtypecount);
		rc = rc ? rc : make_writable(c, c->type == PAMI_XFER_AMGATHER ? c->size : 1, 0);
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
	bool parts = c->type == PAMI_XFER_ALLGATHER || c->type == PAMI_XFER_ALLGATHERV ||
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
