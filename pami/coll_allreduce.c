/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduces on messages: recursive doubling, halving and doubling (Rabenseifner), ring.
 *
 * The first two work among the largest power of two; the members beyond it hand their part to a
 * neighbour first and get the result back. Blocks of neighbouring ranks are combined lower op
 * higher, the same on both sides, and each part of a result is computed once or alike: rank order
 * is kept and all members hold the same bits.
 */
#include <stdlib.h>

#include "pami/coll_algorithms.h"

/* Buffers may be those inside the operation: less to ask for where it counts. */
int pami_allreduce_begin(struct pami_coll *c)
{
	size_t half = sizeof c->fits / 2;

	if (c->bytes <= half) {
		c->own = c->fits;
		c->other = c->fits + half;
	} else {
		c->own = pami_coll_buffer(c, c->bytes);
		c->other = pami_coll_buffer(c, c->bytes);
	}
	if (!c->own || !c->other)
		return -ENOMEM;
	if (c->bytes)
		memcpy(c->own, c->data, c->bytes);
	return 0;
}

/* other (from `rank`) into own, in rank order. */
static void combine(struct pami_coll *c, uint32_t rank)
{
	if (rank < c->rank) {
		unsigned char *lower = c->other;

		c->other = c->own;
		c->own = lower;
	}
	pami_coll_apply(c, c->own, c->other, c->bytes);
}

#define FOLD   1000u
#define UNFOLD 1001u

static int result(struct pami_coll *c)
{
	if (c->bytes && c->type == PAMI_XFER_ALLREDUCE)
		memcpy(c->target, c->own, c->bytes);
	return PAMI_COLL_DONE;
}

struct fold {
	uint32_t rounds, extra, place;
	int folded, idle;
};

static struct fold fold_of(const struct pami_coll *c)
{
	struct fold f = { .rounds = 31 - (uint32_t)__builtin_clz(c->size) };

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

/* Phase 0: who is beyond the power of two gives its data to the next; phase 1: which adds it. */
static int fold(struct pami_coll *c, const struct fold *f)
{
	if (!f->folded)
		return 0;
	return f->idle ? pami_coll_send(c, c->rank + 1, FOLD, c->own, c->bytes) :
			 pami_coll_recv(c, c->rank - 1, FOLD, c->other, c->bytes);
}

static void folded(struct pami_coll *c, const struct fold *f)
{
	if (f->folded && !f->idle)
		combine(c, c->rank - 1);
}

/* And gets the result back. */
static int unfold(struct pami_coll *c, const struct fold *f)
{
	if (!f->folded)
		return 0;
	return f->idle ? pami_coll_recv(c, c->rank + 1, UNFOLD, c->own, c->bytes) :
			 pami_coll_send(c, c->rank - 1, UNFOLD, c->own, c->bytes);
}

/* phase 0: fold; 1 .. k: exchange; k + 1: unfold; k + 2: done. */
int pami_allreduce_doubling(struct pami_coll *c)
{
	struct fold f = fold_of(c);
	uint32_t partner;
	int rc;

	/* What the phase before received. */
	if (c->phase == 1)
		folded(c, &f);
	if (c->phase >= 2 && c->phase <= f.rounds + 1 && !f.idle)
		combine(c, fold_rank(&f, f.place ^ 1u << (c->phase - 2)));
	if (c->phase == 0)
		return fold(c, &f);
	if (c->phase <= f.rounds) {
		if (f.idle)
			return 0;
		partner = fold_rank(&f, f.place ^ 1u << (c->phase - 1));
		rc = pami_coll_send(c, partner, c->phase, c->own, c->bytes);
		return rc ? rc : pami_coll_recv(c, partner, c->phase, c->other, c->bytes);
	}
	return c->phase == f.rounds + 1 ? unfold(c, &f) : result(c);
}

/* ---- Halving: each round the pair of neighbouring blocks splits its part of the data. ---- */

int pami_allreduce_halving_begin(struct pami_coll *c)
{
	int rc = pami_allreduce_begin(c);

	c->at = 0;
	c->length = c->element_bytes ? c->bytes / c->element_bytes : 0;
	return rc;
}

/* Part [at, at + length), in elements, that place holds after `rounds` halvings. */
static void halved(const struct pami_coll *c, uint32_t place, uint32_t rounds, size_t *at, size_t *length)
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

/* Send what the partner keeps, receive (at the same place of the other buffer) what we keep. */
static int halve(struct pami_coll *c, const struct fold *f, uint32_t k)
{
	uint32_t partner = f->place ^ 1u << k;
	size_t at, length, e = c->element_bytes;
	int rc;

	halved(c, partner, k + 1, &at, &length);
	rc = pami_coll_send(c, fold_rank(f, partner), c->phase, c->own + at * e, length * e);
	halved(c, f->place, k + 1, &at, &length);
	return rc ? rc : pami_coll_recv(c, fold_rank(f, partner), c->phase, c->other + at * e, length * e);
}

static void halve_combine(struct pami_coll *c, const struct fold *f, uint32_t k)
{
	size_t at, length, e = c->element_bytes;

	halved(c, f->place, k + 1, &at, &length);
	if (f->place >> k & 1) { /* lower ranks' data arrived */
		pami_coll_apply(c, c->other + at * e, c->own + at * e, length * e);
		if (length)
			memcpy(c->own + at * e, c->other + at * e, length * e);
	} else {
		pami_coll_apply(c, c->own + at * e, c->other + at * e, length * e);
	}
}

static int unhalve(struct pami_coll *c, const struct fold *f, uint32_t k)
{
	uint32_t partner = f->place ^ 1u << k;
	size_t at, length, e = c->element_bytes;
	int rc;

	halved(c, f->place, k + 1, &at, &length);
	rc = pami_coll_send(c, fold_rank(f, partner), c->phase, c->own + at * e, length * e);
	halved(c, partner, k + 1, &at, &length);
	return rc ? rc : pami_coll_recv(c, fold_rank(f, partner), c->phase, c->own + at * e, length * e);
}

/* Phases 0: fold; 1 .. k: halve. In phase k + 1 each place has its part of the result, and there is nothing to send. */
static int fold_and_halve(struct pami_coll *c, const struct fold *f)
{
	uint32_t p = c->phase;

	if (p == 0)
		return fold(c, f);
	if (p == 1)
		folded(c, f);
	else if (!f->idle && p <= f->rounds + 1)
		halve_combine(c, f, p - 2);
	return f->idle || p > f->rounds ? 0 : halve(c, f, p - 1);
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
		return f.idle ? 0 : unhalve(c, &f, 2 * k - p);
	return p == 2 * k + 1 ? unfold(c, &f) : result(c);
}

/* ---- Reduce: halving as above, then each part goes straight to the root. ---- */

static int parts_to_root(struct pami_coll *c, const struct fold *f)
{
	uint32_t places = 1u << f->rounds, step = f->rounds + 1;
	size_t at, length, e = c->element_bytes;
	int rc = 0;

	if (c->rank != c->root) {
		halved(c, f->place, f->rounds, &at, &length);
		return f->idle || !length ? 0 : pami_coll_send(c, c->root, step, c->own + at * e, length * e);
	}
	for (uint32_t p = 0; p < places && !rc; p++) {
		halved(c, p, f->rounds, &at, &length);
		if (!length)
			continue;
		if (!f->idle && p == f->place)
			memcpy(c->target + at * e, c->own + at * e, length * e);
		else
			rc = pami_coll_recv(c, fold_rank(f, p), step, c->target + at * e, length * e);
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

/* ---- Ring: each slice goes round once to be summed, once to be known. Commutative only. ---- */

int pami_allreduce_ring_begin(struct pami_coll *c)
{
	if (!c->commutative)
		c->info = pami_coll_named(c->type, "I0:RecursiveDoubling:-:P2P");
	return pami_allreduce_begin(c);
}

static size_t slice_at(const struct pami_coll *c, uint64_t i)
{
	uint64_t elements = c->element_bytes ? c->bytes / c->element_bytes : 0;

	return (size_t)(elements / c->size * i + (i < elements % c->size ? i : elements % c->size)) *
	       c->element_bytes;
}

int pami_allreduce_ring(struct pami_coll *c)
{
	uint32_t n = c->size, p = c->phase, step = p < n - 1 ? p : p - (n - 1), out, in;
	int rc;

	if (p && p <= n - 1) { /* what the phase before received, onto ours */
		in = (c->rank + 2 * n - p) % n;
		pami_coll_apply(c, c->own + slice_at(c, in), c->other, slice_at(c, in + 1) - slice_at(c, in));
	}
	if (p >= 2 * (n - 1))
		return result(c);
	out = p < n - 1 ? (c->rank + 2 * n - step) % n : (c->rank + 1 + 2 * n - step) % n;
	in = (out + n - 1) % n;
	rc = pami_coll_send(c, (c->rank + 1) % n, p, c->own + slice_at(c, out),
	                    slice_at(c, out + 1) - slice_at(c, out));
	return rc ? rc : pami_coll_recv(c, (c->rank + n - 1) % n, p,
	                                p < n - 1 ? c->other : c->own + slice_at(c, in),
	                                slice_at(c, in + 1) - slice_at(c, in));
}
