/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduces on messages: recursive doubling, halving and doubling (Rabenseifner), ring.
 *
 * The first two work among the largest power of two of members. Members beyond it fold: they give
 * their data to a neighbour first, and get the result back at the end. Both members of a pair
 * combine blocks of neighbouring ranks lower op higher, so rank order is kept and all members hold
 * the same bits.
 */
#include "pami/coll/p2p/reduction.h"
#include "pami/core/error.h"

int pami_reduction_begin(struct pami_coll *c)
{
	struct pami_reduction *r = pami_reduction_of(c);

	*r = (struct pami_reduction){.sum = pami_coll_buffer(c, c->bytes),
				     .in = pami_coll_buffer(c, c->bytes)};
	if (!r->sum || !r->in)
		return -ENOMEM;
	if (c->bytes)
		memcpy(r->sum, c->data, c->bytes);
	return 0;
}

/* Combine what arrived from `rank` with the sum, in rank order. */
static void combine_arrived(struct pami_coll *c, uint32_t rank)
{
	struct pami_reduction *r = pami_reduction_of(c);

	if (rank < c->rank) {
		unsigned char *lower = r->in;

		r->in = r->sum;
		r->sum = lower;
	}
	pami_coll_apply(c, r->sum, r->in, c->bytes);
}

#define FOLD   1000u
#define UNFOLD 1001u

static int deliver_result(struct pami_coll *c)
{
	if (c->bytes && c->type == PAMI_XFER_ALLREDUCE)
		memcpy(c->target, pami_reduction_of(c)->sum, c->bytes);
	return PAMI_COLL_DONE;
}

struct fold {
	uint32_t rounds; /* log2 of the power of two */
	uint32_t extra;  /* members beyond it */
	uint32_t place;  /* this member's place among the power of two */
	bool folded;     /* it is one of a pair that folds */
	bool idle;       /* the one of the pair that waits for the result */
};

static struct fold fold_of(const struct pami_coll *c)
{
	struct fold f = {.rounds = 31 - (uint32_t)__builtin_clz(c->size)};

	f.extra = c->size - (1u << f.rounds);
	f.folded = c->rank < 2 * f.extra;
	f.idle = f.folded && !(c->rank & 1);
	f.place = f.folded ? c->rank / 2 : c->rank - f.extra;
	return f;
}

static uint32_t fold_rank(const struct fold *f, uint32_t place)
{
	return place < f->extra ? place * 2 + 1 : place + f->extra;
}

/* Phase 0: the idle one of a pair gives its data to the other. */
static int fold_pair(struct pami_coll *c, const struct fold *f)
{
	const struct pami_reduction *r = pami_reduction_of(c);

	if (!f->folded)
		return 0;
	return f->idle ? pami_coll_send(c, c->rank + 1, FOLD, r->sum, c->bytes)
		       : pami_coll_recv(c, c->rank - 1, FOLD, r->in, c->bytes);
}

/* Phase 1: the other one adds it. */
static void combine_folded(struct pami_coll *c, const struct fold *f)
{
	if (f->folded && !f->idle)
		combine_arrived(c, c->rank - 1);
}

/* The idle one gets the result. */
static int unfold_pair(struct pami_coll *c, const struct fold *f)
{
	unsigned char *sum = pami_reduction_of(c)->sum;

	if (!f->folded)
		return 0;
	return f->idle ? pami_coll_recv(c, c->rank + 1, UNFOLD, sum, c->bytes)
		       : pami_coll_send(c, c->rank - 1, UNFOLD, sum, c->bytes);
}

/* Phase 0: fold; 1 .. k: exchange; k + 1: unfold; k + 2: done. */
int pami_allreduce_doubling(struct pami_coll *c)
{
	const struct pami_reduction *r = pami_reduction_of(c);
	struct fold f = fold_of(c);
	uint32_t partner;
	int rc;

	/* Add what the previous phase received. */
	if (c->phase == 1)
		combine_folded(c, &f);
	if (c->phase >= 2 && c->phase <= f.rounds + 1 && !f.idle)
		combine_arrived(c, fold_rank(&f, f.place ^ 1u << (c->phase - 2)));
	if (c->phase == 0)
		return fold_pair(c, &f);
	if (c->phase <= f.rounds) {
		if (f.idle)
			return 0;
		partner = fold_rank(&f, f.place ^ 1u << (c->phase - 1));
		rc = pami_coll_send(c, partner, c->phase, r->sum, c->bytes);
		return rc ? rc : pami_coll_recv(c, partner, c->phase, r->in, c->bytes);
	}
	return c->phase == f.rounds + 1 ? unfold_pair(c, &f) : deliver_result(c);
}

/* ---- Halving: in each round the two blocks of a pair divide their part of the data. ---- */

/* The part [at, at + length), in elements, that a place holds after `rounds` halvings. */
static void find_half(const struct pami_coll *c, uint32_t place, uint32_t rounds, size_t *at,
		      size_t *length)
{
	*at = 0;
	*length = c->element_bytes ? c->bytes / c->element_bytes : 0;
	for (uint32_t k = 0; k < rounds; k++) {
		size_t low = *length / 2;

		if (place >> k & 1) {
			*at += low;
			*length -= low;
		} else {
			*length = low;
		}
	}
}

/* Send the half that the partner keeps, and receive, into `in`, the half that this member keeps. */
static int exchange_halves(struct pami_coll *c, const struct fold *f, uint32_t k)
{
	const struct pami_reduction *r = pami_reduction_of(c);
	uint32_t partner = f->place ^ 1u << k;
	size_t at, length, e = c->element_bytes;
	int rc;

	find_half(c, partner, k + 1, &at, &length);
	rc = pami_coll_send(c, fold_rank(f, partner), c->phase, r->sum + at * e, length * e);
	find_half(c, f->place, k + 1, &at, &length);
	return rc ? rc
		  : pami_coll_recv(c, fold_rank(f, partner), c->phase, r->in + at * e, length * e);
}

static void halve_combine(struct pami_coll *c, const struct fold *f, uint32_t k)
{
	const struct pami_reduction *r = pami_reduction_of(c);
	size_t at, length, e = c->element_bytes;

	find_half(c, f->place, k + 1, &at, &length);
	if (f->place >> k & 1) { /* data of lower ranks arrived */
		pami_coll_apply(c, r->in + at * e, r->sum + at * e, length * e);
		if (length)
			memcpy(r->sum + at * e, r->in + at * e, length * e);
	} else {
		pami_coll_apply(c, r->sum + at * e, r->in + at * e, length * e);
	}
}

static int return_halves(struct pami_coll *c, const struct fold *f, uint32_t k)
{
	const struct pami_reduction *r = pami_reduction_of(c);
	uint32_t partner = f->place ^ 1u << k;
	size_t at, length, e = c->element_bytes;
	int rc;

	find_half(c, f->place, k + 1, &at, &length);
	rc = pami_coll_send(c, fold_rank(f, partner), c->phase, r->sum + at * e, length * e);
	find_half(c, partner, k + 1, &at, &length);
	return rc ? rc
		  : pami_coll_recv(c, fold_rank(f, partner), c->phase, r->sum + at * e, length * e);
}

/*
 * Phase 0: fold; 1 .. k: halve. In phase k + 1 each place has its part of the result, and nothing
 * is sent.
 */
static int fold_and_halve(struct pami_coll *c, const struct fold *f)
{
	uint32_t p = c->phase;

	if (p == 0)
		return fold_pair(c, f);
	if (p == 1)
		combine_folded(c, f);
	else if (!f->idle && p <= f->rounds + 1)
		halve_combine(c, f, p - 2);
	return f->idle || p > f->rounds ? 0 : exchange_halves(c, f, p - 1);
}

/* k + 1 .. 2k: double; 2k + 1: unfold; 2k + 2: done. */
int pami_allreduce_halving(struct pami_coll *c)
{
	struct fold f = fold_of(c);
	uint32_t p = c->phase, k = f.rounds;
	int rc = fold_and_halve(c, &f);

	if (rc || p <= k)
		return rc;
	if (p <= 2 * k)
		return f.idle ? 0 : return_halves(c, &f, 2 * k - p);
	return p == 2 * k + 1 ? unfold_pair(c, &f) : deliver_result(c);
}

/* ---- Reduce: halving, then each place sends its part to the root. ---- */

static int parts_to_root(struct pami_coll *c, const struct fold *f)
{
	const struct pami_reduction *r = pami_reduction_of(c);
	uint32_t places = 1u << f->rounds, step = f->rounds + 1;
	size_t at, length, e = c->element_bytes;
	int rc = 0;

	if (c->rank != c->root) {
		find_half(c, f->place, f->rounds, &at, &length);
		return f->idle || !length
			   ? 0
			   : pami_coll_send(c, c->root, step, r->sum + at * e, length * e);
	}
	for (uint32_t p = 0; p < places && !rc; p++) {
		find_half(c, p, f->rounds, &at, &length);
		if (!length)
			continue;
		if (!f->idle && p == f->place)
			memcpy(c->target + at * e, r->sum + at * e, length * e);
		else
			rc = pami_coll_recv(c, fold_rank(f, p), step, c->target + at * e,
					    length * e);
	}
	return rc;
}

/* k + 1: parts to the root; k + 2: done. */
int pami_reduce_halving(struct pami_coll *c)
{
	struct fold f = fold_of(c);
	int rc = fold_and_halve(c, &f);

	if (rc || c->phase <= f.rounds)
		return rc;
	return c->phase == f.rounds + 1 ? parts_to_root(c, &f) : PAMI_COLL_DONE;
}

/* ---- Ring: each slice travels round once to be summed, then once to be copied. ---- */

int pami_allreduce_ring_begin(struct pami_coll *c)
{
	if (!c->commutative)
		return pami_coll_replace(c, pami_coll_named(c->type, "I0:RecursiveDoubling:-:P2P"));
	return pami_reduction_begin(c);
}

static size_t slice_at(const struct pami_coll *c, uint64_t i)
{
	return pami_coll_part(c, c->bytes, i);
}

int pami_allreduce_ring(struct pami_coll *c)
{
	const struct pami_reduction *r = pami_reduction_of(c);
	uint32_t n = c->size, p = c->phase, step = p < n - 1 ? p : p - (n - 1), out, in;
	int rc;

	if (p && p <= n - 1) { /* add what the previous phase received */
		in = (c->rank + 2 * n - p) % n;
		pami_coll_apply(c, r->sum + slice_at(c, in), r->in,
				slice_at(c, in + 1) - slice_at(c, in));
	}
	if (p >= 2 * (n - 1))
		return deliver_result(c);
	out = p < n - 1 ? (c->rank + 2 * n - step) % n : (c->rank + 1 + 2 * n - step) % n;
	in = (out + n - 1) % n;
	rc = pami_coll_send(c, (c->rank + 1) % n, p, r->sum + slice_at(c, out),
			    slice_at(c, out + 1) - slice_at(c, out));
	return rc ? rc
		  : pami_coll_recv(c, (c->rank + n - 1) % n, p,
				   p < n - 1 ? r->in : r->sum + slice_at(c, in),
				   slice_at(c, in + 1) - slice_at(c, in));
}
