/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every collective against a serial model. First in order: each geometry x collective x algorithm,
 * with counts, types, operations, layouts and roots taken in turn (QT_LONG=1: with every count, and
 * on the world with every type and operation). Then random cases, several under way at once on
 * geometries that overlap. All tasks draw the same cases. QT_SEED repeats a run; QT_LONG=1 runs
 * five times as many. Argument "virtual": fewer.
 */
#include "tests/harness/pami_job.h"
#include "tests/pami/coll_groups.h"
#include "tests/pami/coll_model.h"

enum { UNDER_WAY = 5 };

static uint64_t cases, checked;

/* ---- Cases ---- */

static pami_type_t *const types[C_TYPES - 1] = {
    &PAMI_TYPE_BYTE,
    &PAMI_TYPE_SIGNED_CHAR,
    &PAMI_TYPE_UNSIGNED_CHAR,
    &PAMI_TYPE_SIGNED_SHORT,
    &PAMI_TYPE_UNSIGNED_SHORT,
    &PAMI_TYPE_SIGNED_INT,
    &PAMI_TYPE_UNSIGNED_INT,
    &PAMI_TYPE_SIGNED_LONG,
    &PAMI_TYPE_UNSIGNED_LONG,
    &PAMI_TYPE_SIGNED_LONG_LONG,
    &PAMI_TYPE_UNSIGNED_LONG_LONG,
    &PAMI_TYPE_FLOAT,
    &PAMI_TYPE_DOUBLE,
    &PAMI_TYPE_LONG_DOUBLE,
    &PAMI_TYPE_LOGICAL1,
    &PAMI_TYPE_LOGICAL2,
    &PAMI_TYPE_LOGICAL4,
    &PAMI_TYPE_LOGICAL8,
    &PAMI_TYPE_SINGLE_COMPLEX,
    &PAMI_TYPE_DOUBLE_COMPLEX,
    &PAMI_TYPE_LOC_2INT,
    &PAMI_TYPE_LOC_2FLOAT,
    &PAMI_TYPE_LOC_2DOUBLE,
    &PAMI_TYPE_LOC_SHORT_INT,
    &PAMI_TYPE_LOC_FLOAT_INT,
    &PAMI_TYPE_LOC_DOUBLE_INT,
    &PAMI_TYPE_LOC_LONG_INT,
    &PAMI_TYPE_LOC_LONGDOUBLE_INT,
};
static pami_data_function *const ops[O_OPS - 1] = {
    &PAMI_DATA_MAX,  &PAMI_DATA_MIN,  &PAMI_DATA_SUM,    &PAMI_DATA_PROD,
    &PAMI_DATA_LAND, &PAMI_DATA_LOR,  &PAMI_DATA_LXOR,   &PAMI_DATA_BAND,
    &PAMI_DATA_BOR,  &PAMI_DATA_BXOR, &PAMI_DATA_MAXLOC, &PAMI_DATA_MINLOC,
};
static pami_type_t affine_type, gap_type[C_TYPES];

static void compose_affine(void *target, void *source, size_t bytes, void *cookie)
{
	struct affine *t = target, *s = source;

	CHECK(cookie == &affine_type && bytes % sizeof *t == 0);
	for (size_t i = 0; i < bytes / sizeof *t; i++)
		model_affine(&t[i], &s[i]);
}

static pami_type_t type_of(int type, int gaps)
{
	return gaps ? gap_type[type] : type == C_AFFINE ? affine_type : *types[type];
}

/* With gaps an element lies in the second half of twice its length. */
static size_t extent_of(int type, int gaps)
{
	return element_bytes[type] * (gaps ? 2 : 1);
}

static void make_types(void)
{
	CHECK_EQ(PAMI_Type_create(&affine_type), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_add_simple(affine_type, 8, 0, 1, 8), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_complete(affine_type, 8), PAMI_SUCCESS);
	for (int i = 0; i < C_TYPES; i++) {
		size_t n = element_bytes[i];

		CHECK_EQ(PAMI_Type_create(&gap_type[i]), PAMI_SUCCESS);
		CHECK_EQ(PAMI_Type_add_typed(gap_type[i], type_of(i, 0), n, 1, n), PAMI_SUCCESS);
		CHECK_EQ(PAMI_Type_complete(gap_type[i], n), PAMI_SUCCESS);
	}
}

struct one_case {
	const struct group *g;
	pami_xfer_type_t xfer;
	pami_algorithm_t algorithm;
	const char *name;
	int type, op, send_gaps, recv_gaps, exclusive;
	int in_place; /* 0 no, 1 aliased, 2 PAMI_IN_PLACE */
	uint32_t count, root;
	uint64_t seed;
};

struct side { /* one context's part in a case */
	const struct one_case *c;
	uint32_t rank;
	int done;
	unsigned char *send, *recv;
	size_t send_elements, recv_elements;
	size_t scounts[MEMBERS_MAX], sdispls[MEMBERS_MAX], rcounts[MEMBERS_MAX],
	    rdispls[MEMBERS_MAX];
	int iscounts[MEMBERS_MAX], isdispls[MEMBERS_MAX], ircounts[MEMBERS_MAX],
	    irdispls[MEMBERS_MAX];
};

static int is_v(pami_xfer_type_t x)
{
	return x == PAMI_XFER_ALLGATHERV || x == PAMI_XFER_ALLGATHERV_INT ||
	       x == PAMI_XFER_GATHERV || x == PAMI_XFER_GATHERV_INT || x == PAMI_XFER_SCATTERV ||
	       x == PAMI_XFER_SCATTERV_INT || x == PAMI_XFER_ALLTOALLV ||
	       x == PAMI_XFER_ALLTOALLV_INT || x == PAMI_XFER_REDUCE_SCATTER;
}

/* Elements that go from member a to member b. */
static uint32_t part_between(const struct one_case *c, uint32_t a, uint32_t b)
{
	if ((c->xfer == PAMI_XFER_ALLTOALLV || c->xfer == PAMI_XFER_ALLTOALLV_INT) && c->in_place &&
	    a > b) {
		uint32_t swap = a; /* in place: as much back as there */

		a = b;
		b = swap;
	}
	return is_v(c->xfer) ? model_hash(c->seed, a, b, 77) % (c->count + 1) : c->count;
}

static unsigned char *slot_at(unsigned char *buffer, int type, int gaps, size_t i)
{
	return buffer + i * extent_of(type, gaps) + (gaps ? element_bytes[type] : 0);
}

static unsigned char *buffer_new(size_t elements, int type, int gaps)
{
	size_t bytes = elements * extent_of(type, gaps);
	unsigned char *p = malloc(bytes + 16);

	memset(p, 0xee, bytes + 16);
	return p;
}

/* Nothing was written between the elements or behind them. */
static int is_clean(const unsigned char *p, size_t elements, int type, int gaps)
{
	size_t e = element_bytes[type], bytes = elements * extent_of(type, gaps);

	for (size_t i = 0; gaps && i < elements; i++)
		for (size_t k = 0; k < e; k++)
			if (p[i * 2 * e + k] != 0xee)
				return 0;
	for (size_t i = 0; i < 16; i++)
		if (p[bytes + i] != 0xee)
			return 0;
	return 1;
}

static void on_done(pami_context_t ctx, void *cookie, pami_result_t result)
{
	struct side *s = cookie;

	CHECK(ctx == contexts[mixed_offset(s->c->g->member[s->rank])]);
	CHECK_EQ(result, PAMI_SUCCESS);
	s->done++;
}

/* Places of parts with a gap of one element before each; returns the elements in all. */
static size_t set_places(size_t *counts, size_t *displs, int *icounts, int *idispls, uint32_t n,
			 int gaps)
{
	size_t at = 0;

	for (uint32_t i = 0; i < n; i++) {
		at += (size_t)gaps;
		displs[i] = at;
		at += counts[i];
		icounts[i] = (int)counts[i];
		idispls[i] = (int)displs[i];
	}
	return at;
}

static void fill_part(const struct side *s, unsigned char *buffer, int gaps, size_t at,
		      uint32_t from, uint32_t to, size_t count)
{
	for (size_t i = 0; i < count; i++)
		model_element(s->c->type, s->c->op, s->c->seed, from, to, (uint32_t)i,
			      slot_at(buffer, s->c->type, gaps, at + i));
}

static int is_reduction(pami_xfer_type_t x)
{
	return x == PAMI_XFER_ALLREDUCE || x == PAMI_XFER_REDUCE || x == PAMI_XFER_SCAN ||
	       x == PAMI_XFER_REDUCE_SCATTER;
}

static int is_scatter(pami_xfer_type_t x)
{
	return x == PAMI_XFER_SCATTER || x == PAMI_XFER_SCATTERV || x == PAMI_XFER_SCATTERV_INT;
}

/* Shapes of both buffers: what is sent by member, what is received by member. */
static void set_shapes(struct side *s)
{
	const struct one_case *c = s->c;
	uint32_t n = c->g->size, me_ = s->rank;
	int gaps;

	for (uint32_t i = 0; i < n; i++)
		s->scounts[i] = s->rcounts[i] = 0;
	switch (c->xfer) {
	case PAMI_XFER_BARRIER:
		break;
	case PAMI_XFER_BROADCAST:
		s->rcounts[0] = c->count;
		break;
	case PAMI_XFER_ALLREDUCE:
	case PAMI_XFER_REDUCE:
	case PAMI_XFER_SCAN:
		s->scounts[0] = s->rcounts[0] = c->count;
		break;
	case PAMI_XFER_REDUCE_SCATTER:
		for (uint32_t i = 0; i < n; i++)
			s->scounts[i] = s->rcounts[i] = part_between(c, 0, i);
		break;
	case PAMI_XFER_ALLGATHER:
	case PAMI_XFER_ALLGATHERV:
	case PAMI_XFER_ALLGATHERV_INT:
		for (uint32_t i = 0; i < n; i++)
			s->rcounts[i] = part_between(c, i, 0);
		s->scounts[0] = part_between(c, me_, 0);
		break;
	case PAMI_XFER_GATHER:
	case PAMI_XFER_GATHERV:
	case PAMI_XFER_GATHERV_INT:
		for (uint32_t i = 0; i < n; i++)
			s->rcounts[i] = part_between(c, i, 0);
		s->scounts[0] = part_between(c, me_, 0);
		break;
	case PAMI_XFER_SCATTER:
	case PAMI_XFER_SCATTERV:
	case PAMI_XFER_SCATTERV_INT:
		for (uint32_t i = 0; i < n; i++)
			s->scounts[i] = part_between(c, 0, i);
		s->rcounts[0] = part_between(c, 0, me_);
		break;
	default:
		for (uint32_t i = 0; i < n; i++) {
			s->scounts[i] = part_between(c, me_, i);
			s->rcounts[i] = part_between(c, i, me_);
		}
	}
	gaps = is_v(c->xfer) && c->xfer != PAMI_XFER_REDUCE_SCATTER && c->in_place == 0;
	s->send_elements =
	    set_places(s->scounts, s->sdispls, s->iscounts, s->isdispls, n,
		       gaps && (is_scatter(c->xfer) || c->xfer >= PAMI_XFER_ALLTOALLV));
	s->recv_elements = set_places(s->rcounts, s->rdispls, s->ircounts, s->irdispls, n,
				      gaps && !is_scatter(c->xfer));
}

static int can_alias(const struct one_case *c)
{
	switch (c->xfer) {
	case PAMI_XFER_ALLREDUCE:
	case PAMI_XFER_REDUCE:
	case PAMI_XFER_SCAN:
	case PAMI_XFER_REDUCE_SCATTER:
	case PAMI_XFER_ALLTOALL:
	case PAMI_XFER_ALLTOALLV:
	case PAMI_XFER_ALLTOALLV_INT:
	case PAMI_XFER_ALLGATHER:
	case PAMI_XFER_ALLGATHERV:
	case PAMI_XFER_ALLGATHERV_INT:
	case PAMI_XFER_GATHER:
	case PAMI_XFER_GATHERV:
	case PAMI_XFER_GATHERV_INT:
	case PAMI_XFER_SCATTER:
	case PAMI_XFER_SCATTERV:
	case PAMI_XFER_SCATTERV_INT:
		return 1;
	default:
		return 0;
	}
}

static int is_rooted(pami_xfer_type_t x)
{
	return x == PAMI_XFER_REDUCE || x == PAMI_XFER_GATHER || x == PAMI_XFER_GATHERV ||
	       x == PAMI_XFER_GATHERV_INT || x == PAMI_XFER_SCATTER || x == PAMI_XFER_SCATTERV ||
	       x == PAMI_XFER_SCATTERV_INT;
}

/* Buffers with the contribution in them. In place the two are one. */
static void fill_side(struct side *s)
{
	const struct one_case *c = s->c;
	uint32_t n = c->g->size;

	set_shapes(s);
	s->send = buffer_new(s->send_elements, c->type, c->send_gaps);
	s->recv = buffer_new(s->recv_elements, c->type, c->recv_gaps);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t from = is_scatter(c->xfer) ? 0 : s->rank;
		uint32_t to = c->xfer == PAMI_XFER_ALLTOALL || c->xfer == PAMI_XFER_ALLTOALLV ||
				      c->xfer == PAMI_XFER_ALLTOALLV_INT || is_scatter(c->xfer) ||
				      c->xfer == PAMI_XFER_REDUCE_SCATTER
				  ? i
				  : 0;

		fill_part(s, s->send, c->send_gaps, s->sdispls[i], from, to, s->scounts[i]);
	}
	if (c->xfer == PAMI_XFER_BROADCAST && s->rank == c->root)
		fill_part(s, s->recv, c->recv_gaps, 0, c->root, 0, c->count);
}

static int here_in_place(const struct side *s)
{
	return s->c->in_place && (!is_rooted(s->c->xfer) || s->rank == s->c->root);
}

/* Move the contribution to where it lies in place; returns the sndbuf (or rcvbuf) to pass. */
static char *in_place_buffer(struct side *s)
{
	const struct one_case *c = s->c;
	int gather = !is_reduction(c->xfer) &&
		     (c->xfer < PAMI_XFER_ALLTOALL || c->xfer > PAMI_XFER_ALLTOALLV_INT);
	size_t at = gather ? s->rdispls[s->rank] : 0, e = extent_of(c->type, c->recv_gaps);

	if (is_scatter(c->xfer)) {
		free(s->recv);
		s->recv = NULL;
		return c->in_place == 2 ? PAMI_IN_PLACE : (char *)s->send + s->sdispls[s->rank] * e;
	}
	memcpy(s->recv + at * e, s->send, s->send_elements * e);
	free(s->send);
	s->send = NULL;
	return c->in_place == 2 ? PAMI_IN_PLACE : (char *)s->recv + at * e;
}

static void collective_of(struct side *s, pami_xfer_t *x)
{
	const struct one_case *c = s->c;
	pami_collective_t *k = &x->cmd;
	pami_type_t st = type_of(c->type, c->send_gaps), rt = type_of(c->type, c->recv_gaps);
	pami_data_function op = c->op == O_AFFINE ? compose_affine : *ops[c->op];
	pami_endpoint_t root = c->g->member[c->root];
	char *snd = (char *)s->send, *rcv = (char *)s->recv;
	size_t per = c->count;
	int is_root = s->rank == c->root;

	if (here_in_place(s)) {
		if (is_scatter(c->xfer))
			rcv = in_place_buffer(s);
		else
			snd = in_place_buffer(s);
	}
	switch (c->xfer) {
	case PAMI_XFER_BARRIER:
		break;
	case PAMI_XFER_BROADCAST:
		k->xfer_broadcast = (pami_broadcast_t){root, rcv, rt, per};
		break;
	case PAMI_XFER_ALLREDUCE:
		k->xfer_allreduce =
		    (pami_allreduce_t){snd, st, per, rcv, rt, per, op, &affine_type, 0};
		break;
	case PAMI_XFER_REDUCE:
		k->xfer_reduce = (pami_reduce_t){root, snd, st, per,          is_root ? rcv : NULL,
						 rt,   per, op, &affine_type, 0};
		break;
	case PAMI_XFER_SCAN:
		k->xfer_scan =
		    (pami_scan_t){snd, st, per, rcv, rt, per, op, &affine_type, c->exclusive};
		break;
	case PAMI_XFER_REDUCE_SCATTER:
		k->xfer_reduce_scatter = (pami_reduce_scatter_t){
		    snd, st, s->send_elements, rcv, rt, s->rcounts, op, &affine_type, 0};
		break;
	case PAMI_XFER_ALLGATHER:
		k->xfer_allgather = (pami_allgather_t){snd, st, per, rcv, rt, per};
		break;
	case PAMI_XFER_ALLGATHERV:
		k->xfer_allgatherv =
		    (pami_allgatherv_t){snd, st, s->scounts[0], rcv, rt, s->rcounts, s->rdispls};
		break;
	case PAMI_XFER_ALLGATHERV_INT:
		k->xfer_allgatherv_int = (pami_allgatherv_int_t){
		    snd, st, s->iscounts[0], rcv, rt, s->ircounts, s->irdispls};
		break;
	case PAMI_XFER_GATHER:
		k->xfer_gather = (pami_gather_t){root, snd, st, per, is_root ? rcv : NULL, rt, per};
		break;
	case PAMI_XFER_GATHERV:
		k->xfer_gatherv = (pami_gatherv_t){root,
						   snd,
						   st,
						   s->scounts[0],
						   is_root ? rcv : NULL,
						   rt,
						   is_root ? s->rcounts : NULL,
						   is_root ? s->rdispls : NULL};
		break;
	case PAMI_XFER_GATHERV_INT:
		k->xfer_gatherv_int = (pami_gatherv_int_t){root,
							   snd,
							   st,
							   s->iscounts[0],
							   is_root ? rcv : NULL,
							   rt,
							   is_root ? s->ircounts : NULL,
							   is_root ? s->irdispls : NULL};
		break;
	case PAMI_XFER_SCATTER:
		k->xfer_scatter =
		    (pami_scatter_t){root, is_root ? snd : NULL, st, per, rcv, rt, per};
		break;
	case PAMI_XFER_SCATTERV:
		k->xfer_scatterv = (pami_scatterv_t){root,
						     is_root ? snd : NULL,
						     st,
						     is_root ? s->scounts : NULL,
						     is_root ? s->sdispls : NULL,
						     rcv,
						     rt,
						     s->rcounts[0]};
		break;
	case PAMI_XFER_SCATTERV_INT:
		k->xfer_scatterv_int = (pami_scatterv_int_t){root,
							     is_root ? snd : NULL,
							     st,
							     is_root ? s->iscounts : NULL,
							     is_root ? s->isdispls : NULL,
							     rcv,
							     rt,
							     s->ircounts[0]};
		break;
	case PAMI_XFER_ALLTOALL:
		k->xfer_alltoall = (pami_alltoall_t){snd, st, per, rcv, rt, per};
		break;
	case PAMI_XFER_ALLTOALLV:
		k->xfer_alltoallv = (pami_alltoallv_t){snd, st, s->scounts, s->sdispls,
						       rcv, rt, s->rcounts, s->rdispls};
		break;
	default:
		k->xfer_alltoallv_int = (pami_alltoallv_int_t){snd, st, s->iscounts, s->isdispls,
							       rcv, rt, s->ircounts, s->irdispls};
	}
}

/* Element i of the reduction of members first .. last, of the part for `to`. */
static void model_reduction(const struct one_case *c, uint32_t last, uint32_t to, uint32_t i,
			    unsigned char *out)
{
	unsigned char next[32];

	model_element(c->type, c->op, c->seed, 0, to, i, out);
	for (uint32_t r = 1; r <= last; r++) {
		model_element(c->type, c->op, c->seed, r, to, i, next);
		model_apply(c->type, c->op, out, next);
	}
}

static void describe_failure(const struct side *s, const char *what)
{
	const struct one_case *c = s->c;

	if (check_failures++ < 20)
		fprintf(stderr,
			"task %zu: case %llu: xfer %d %s on %s rank %u of %u: type %d op %d count "
			"%u root %u "
			"gaps %d%d in place %d exclusive %d: %s\n",
			me, (unsigned long long)c->seed, c->xfer, c->name, c->g->name, s->rank,
			c->g->size, c->type, c->op, c->count, c->root, c->send_gaps, c->recv_gaps,
			c->in_place, c->exclusive, what);
}

static void verify_side(struct side *s)
{
	const struct one_case *c = s->c;
	uint32_t n = c->g->size, bad = 0, step = c->count > 2000 ? 97 : 1;
	unsigned char *result = s->recv;
	int gaps = c->recv_gaps;

	CHECK_EQ(s->done, 1);
	if (c->xfer == PAMI_XFER_BARRIER ||
	    (is_rooted(c->xfer) && !is_scatter(c->xfer) && s->rank != c->root) ||
	    (c->xfer == PAMI_XFER_SCAN && c->exclusive && !s->rank))
		return;
	if (is_scatter(c->xfer) && here_in_place(s))
		return;
	for (uint32_t p = 0; p < n; p++) {
		size_t count = s->rcounts[p], at = s->rdispls[p];

		if (c->xfer == PAMI_XFER_REDUCE_SCATTER) {
			if (p != s->rank)
				continue;
			at = 0;
		}
		for (size_t i = 0; i < count; i += step) {
			unsigned char want[32];

			switch (c->xfer) {
			case PAMI_XFER_BROADCAST:
				model_element(c->type, c->op, c->seed, c->root, 0, (uint32_t)i,
					      want);
				break;
			case PAMI_XFER_ALLREDUCE:
			case PAMI_XFER_REDUCE:
				model_reduction(c, n - 1, 0, (uint32_t)i, want);
				break;
			case PAMI_XFER_SCAN:
				model_reduction(c, s->rank - (c->exclusive != 0), 0, (uint32_t)i,
						want);
				break;
			case PAMI_XFER_REDUCE_SCATTER:
				model_reduction(c, n - 1, p, (uint32_t)i, want);
				break;
			case PAMI_XFER_SCATTER:
			case PAMI_XFER_SCATTERV:
			case PAMI_XFER_SCATTERV_INT:
				model_element(c->type, c->op, c->seed, 0, s->rank, (uint32_t)i,
					      want);
				break;
			case PAMI_XFER_ALLTOALL:
			case PAMI_XFER_ALLTOALLV:
			case PAMI_XFER_ALLTOALLV_INT:
				model_element(c->type, c->op, c->seed, p, s->rank, (uint32_t)i,
					      want);
				break;
			default:
				model_element(c->type, c->op, c->seed, p, 0, (uint32_t)i, want);
			}
			bad += !model_equal(c->type, slot_at(result, c->type, gaps, at + i), want);
			checked++;
		}
	}
	if (bad || (c->xfer != PAMI_XFER_REDUCE_SCATTER &&
		    !is_clean(s->recv, s->recv_elements, c->type, gaps)))
		describe_failure(s, "elements are wrong, or bytes between them");
}

/* ---- Drawing ---- */

static uint32_t draw_below(struct drv_rng *rng, uint32_t below)
{
	return (uint32_t)(drv_rng_next(rng) % below);
}

/* Both lists of algorithms, one behind the other. */
struct lists {
	pami_algorithm_t algorithm[64];
	pami_metadata_t meta[64];
	uint32_t count;
};

static void list_algorithms(const struct group *g, pami_xfer_type_t xfer, struct lists *l)
{
	/* Of those that are no members: the world's, which differ only by what lies on one node. */
	pami_geometry_t handle = g->handle ? g->handle : groups[0].handle;
	size_t n[2];

	CHECK_EQ(PAMI_Geometry_algorithms_num(handle, xfer, n), PAMI_SUCCESS);
	CHECK(n[0] >= 2 && n[0] <= 32 && n[1] <= 32);
	CHECK(xfer != PAMI_XFER_BROADCAST || n[1] >= 10);
	CHECK_EQ(PAMI_Geometry_algorithms_query(handle, xfer, l->algorithm, l->meta, n[0],
						l->algorithm + n[0], l->meta + n[0], n[1]),
		 PAMI_SUCCESS);
	l->count = (uint32_t)(n[0] + n[1]);
	for (uint32_t i = 0; i < l->count;
	     i++) { /* metadata: what they promise is what is done with them here */
		const pami_metadata_t *m = &l->meta[i];

		CHECK(m->name && strlen(m->name) > 8 && m->range_lo == 0 &&
		      m->check_correct.values.inplace && m->check_correct.values.alldtop &&
		      !m->check_correct.values.checkrequired && !m->check_correct.values.nonlocal &&
		      !m->check_correct.values.oneatatime);
		for (uint32_t k = 0; k < i; k++)
			CHECK(l->algorithm[i] != l->algorithm[k] &&
			      (!i || strcmp(m->name, l->meta[k].name)));
	}
}

static void draw_case(struct drv_rng *rng, struct one_case *c, int fewer)
{
	static const uint32_t counts[] = {0, 1, 1, 2, 7, 7, 13, 100, 333, 1025, 4099, 20001};
	struct lists l;
	uint32_t pick, bytes_max = fewer ? 20000 : 200000;

	memset(c, 0, sizeof *c);
	c->g = &groups[draw_below(rng, (uint32_t)group_count)];
	c->xfer = (pami_xfer_type_t)draw_below(rng, PAMI_XFER_AMBROADCAST);
	do {
		c->type = (int)draw_below(rng, C_TYPES);
		c->op = (int)draw_below(rng, O_OPS);
	} while (!model_valid(c->type, c->op));
	c->count = counts[draw_below(rng, sizeof counts / sizeof *counts)];
	while (c->count * element_bytes[c->type] > bytes_max)
		c->count /= 2;
	if (c->count > 500 && c->xfer >= PAMI_XFER_ALLTOALL && c->xfer <= PAMI_XFER_ALLTOALLV_INT)
		c->count = 500;
	c->root = draw_below(rng, c->g->size);
	c->send_gaps = !draw_below(rng, 4);
	c->recv_gaps = !draw_below(rng, 4);
	c->in_place = draw_below(rng, 3) ? 0 : 1 + (int)draw_below(rng, 2);
	if (!can_alias(c))
		c->in_place = 0;
	if (c->in_place)
		c->send_gaps = c->recv_gaps;
	c->exclusive = (int)draw_below(rng, 2);
	c->seed = ++cases;
	pick = draw_below(rng, 1000);
	list_algorithms(c->g, c->xfer, &l);
	pick %= l.count;
	if (draw_below(rng, 3) == 0)
		pick = 0;
	c->algorithm = l.algorithm[pick];
	c->name = l.meta[pick].name;
}

/* Several cases at once; each context starts its part of each in order. */
static void run_cases(const struct one_case *c, int count, int fewer)
{
	static struct side sides[UNDER_WAY][CONTEXTS];

	for (int i = 0; i < count; i++)
		for (int k = 0; k < CONTEXTS; k++) {
			struct side *s = &sides[i][k];
			pami_xfer_t x;

			memset(s, 0, sizeof *s);
			if (c[i].g->rank[k] < 0)
				continue;
			s->c = &c[i];
			s->rank = (uint32_t)c[i].g->rank[k];
			fill_side(s);
			memset(&x, 0xff, sizeof x);
			x.algorithm = c[i].algorithm;
			x.cb_done = on_done;
			x.cookie = s;
			collective_of(s, &x);
			if (PAMI_Collective(contexts[k], &x) != PAMI_SUCCESS) {
				describe_failure(s, "was refused");
				exit(1);
			}
			CHECK_EQ(s->done, 0);
			memset(&x, 0x55, sizeof x); /* it was copied */
			/* In virtual time polling for nothing in particular jumps to the end of
			 * time. */
			if (!fewer &&
			    model_hash((uint64_t)i, (uint32_t)me, (uint32_t)k, (uint32_t)cases) %
				    4 ==
				0)
				advance_all();
		}
	for (int i = 0; i < count; i++)
		for (int k = 0; k < CONTEXTS; k++) {
			struct side *s = &sides[i][k];

			if (!s->c)
				continue;
			while (!s->done)
				advance_all();
			verify_side(s);
			free(s->send);
			free(s->recv);
		}
}

static void round_of_cases(struct drv_rng *rng, int fewer)
{
	static struct one_case c[UNDER_WAY];
	int count = 1 + (int)draw_below(rng, UNDER_WAY);

	for (int i = 0; i < count; i++)
		draw_case(rng, &c[i], fewer);
	run_cases(c, count, fewer);
}

/* ---- In order ---- */

static int has_type(pami_xfer_type_t x)
{
	return x != PAMI_XFER_BARRIER;
}

/* One geometry, collective and algorithm. */
static void sweep_counts(struct one_case *c, int fewer, int all, int *type, int *op)
{
	static const uint32_t counts[] = {0, 1, 333, 3, 20001};
	uint32_t turn = (uint32_t)(cases % 5), kinds = !has_type(c->xfer) ? 1 : all ? 5 : 1;

	/* Not all: one of them, another for the next algorithm. */
	for (uint32_t k = 0; k < kinds && !check_failures; k++, turn++) {
		int round;

		do {
			round = model_next_pair(type, op);
			c->type = *type;
			c->op = *op;
			c->count = counts[turn % 5];
			while (c->count * element_bytes[c->type] > (fewer ? 6000u : 200000u) ||
			       (c->count > 500 && c->xfer >= PAMI_XFER_ALLTOALL &&
				c->xfer <= PAMI_XFER_ALLTOALLV_INT))
				c->count /= 2;
			c->seed = ++cases;
			c->root = (uint32_t)(cases % c->g->size);
			c->send_gaps = cases % 5 == 0;
			c->recv_gaps = cases % 7 == 0;
			c->in_place = can_alias(c) && cases % 3 ? (int)(cases % 3) : 0;
			if (c->in_place)
				c->send_gaps = c->recv_gaps;
			c->exclusive = cases & 1;
			if (cases % job_share() == 0)
				run_cases(c, 1, fewer);
		} while (all && c->g == &groups[0] && k == 1 && !round && has_type(c->xfer) &&
			 !check_failures);
	}
}

/* Reductions whose order counts, by a function of the program: every algorithm; scans of both
 * kinds. */
static void sweep_ordered(struct one_case *c, int fewer)
{
	for (int exclusive = 0; exclusive < (c->xfer == PAMI_XFER_SCAN ? 2 : 1) && !check_failures;
	     exclusive++) {
		c->type = C_AFFINE;
		c->op = O_AFFINE;
		c->seed = ++cases;
		c->count = cases % 3 ? 11 : 1500;
		c->root = (uint32_t)(cases % c->g->size);
		c->send_gaps = c->recv_gaps = cases % 4 == 0;
		c->in_place = (int)(cases % 3);
		c->exclusive = exclusive;
		run_cases(c, 1, fewer);
	}
}

/* Members and others go through the same cases; what differs is which lists they see. */
static void sweep_cases(int fewer, int all)
{
	int type = 0, op = 0;

	for (int g = 0; g < group_count; g++)
		for (int x = 0; x < PAMI_XFER_AMBROADCAST; x++) {
			struct lists l;
			uint64_t before = cases;
			int t = type, o = op;

			if (groups[g].handle) {
				list_algorithms(&groups[g], (pami_xfer_type_t)x, &l);
				for (uint32_t i = 0; i < l.count && !check_failures; i++) {
					struct one_case c = {.g = &groups[g],
							     .xfer = (pami_xfer_type_t)x,
							     .algorithm = l.algorithm[i],
							     .name = l.meta[i].name};

					sweep_counts(&c, fewer, all, &t, &o);
					if (is_reduction(c.xfer) && !check_failures)
						sweep_ordered(&c, fewer);
				}
			}
			cases = before + 1000000; /* of tasks that are no members too */
			model_next_pair(&type, &op);
		}
}

int main(int argc, char **argv)
{
	int fewer = argc > 1 && !strcmp(argv[1], "virtual");
	const char *text = getenv("QT_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : 20121;
	int all = job_long() != 0,
	    rounds = (fewer || job_is_sanitized() ? 40 : 120) * (all ? 5 : 1) / (int)job_share();
	struct drv_rng rng;

	job_begin(CONTEXTS);
	if (tasks > 16) {
		fprintf(stderr, "at most 16 tasks\n");
		return 1;
	}
	if (!me)
		fprintf(stderr, "seed %llu (QT_SEED repeats it)\n", (unsigned long long)seed);
	make_types();
	for (int again = 0; again < 2; again++) { /* ids come back */
		group_count = 0;
		make_groups();
		if (!again)
			sweep_cases(fewer, all);
		drv_rng_seed(&rng, seed + (uint64_t)again);
		for (int i = 0; i < rounds / 2 && !check_failures; i++)
			round_of_cases(&rng, fewer);
		if (check_failures)
			break;
		destroy_groups();
	}
	if (!me)
		fprintf(stderr, "%llu elements checked on task 0\n", (unsigned long long)checked);
	if (!check_failures)
		run_barrier();
	return job_end(CONTEXTS);
}
