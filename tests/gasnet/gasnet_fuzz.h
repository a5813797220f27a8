/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the random programs of gasnet_fuzz.c have: the segments, the model of this process's slices,
 * and the atomics, which no other operation meets.
 */
#ifndef TESTS_GASNET_FUZZ_H
#define TESTS_GASNET_FUZZ_H

#include <gasnetex.h>

#include "tests/gasnet/gasnet_random.h"

enum {
	TASKS = 6,
	SLICE = 1 << 17,
	WINDOW = 1 << 16,
	WORDS = 16, /* for atomics: private ones of each process, and shared ones */
	PENDING = 12,
	MESSAGES = 16,
	LANDING = 1 << 16, /* where the long reply to a message goes */
	AT_LANDING = TASKS * SLICE,
	AT_WORDS = AT_LANDING + MESSAGES * LANDING,
	SEGMENT = AT_WORDS + (1 << 16)
};

static uint8_t *base[TASKS];
static uint8_t model[TASKS][SLICE];

static uint8_t *slice_of(gex_Rank_t proc)
{
	return base[proc] + (size_t)me * SLICE;
}

static void scramble_bytes(uint8_t *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		p[i] = (uint8_t)(state + i * 7 + (i >> 8));
	draw_below(1);
}

static size_t random_bytes(size_t most)
{
	static const uint32_t limits[] = {17, 600, 5000, WINDOW};
	size_t bytes = draw_below(limits[draw_below(8) ? draw_below(3) : 3]);

	return bytes < most ? bytes : most;
}

/* ---- atomics ---- */

static gex_AD_t domain;
static uint64_t word_model[TASKS][WORDS], added[TASKS][WORDS];
static struct fetch {
	gex_Event_t event;
	uint64_t result, expected;
	gex_OP_t op;
	int busy;
} fetches[TASKS][WORDS]; /* at most one operation on a private word is under way */
static const gex_OP_t operations[] = {GEX_OP_FADD, GEX_OP_ADD, GEX_OP_SWAP, GEX_OP_FCAS,
				      GEX_OP_FXOR, GEX_OP_GET, GEX_OP_SET,  GEX_OP_FMAX,
				      GEX_OP_INC,  GEX_OP_FMIN};

static uint64_t *word_of(gex_Rank_t proc, gex_Rank_t owner, uint32_t w)
{
	return (uint64_t *)(void *)(base[proc] + AT_WORDS) + owner * WORDS + w;
}

static void finish_fetch(struct fetch *f)
{
	gex_Event_Wait(f->event);
	REQUIRE(!(f->op >> 16) || f->result == f->expected);
	f->busy = 0;
}

static void apply_model(uint64_t *v, gex_OP_t op, uint64_t a, uint64_t b)
{
	switch (op) {
	case GEX_OP_FADD:
	case GEX_OP_ADD:
		*v += a;
		break;
	case GEX_OP_SWAP:
	case GEX_OP_SET:
		*v = a;
		break;
	case GEX_OP_FCAS:
		*v = *v == a ? b : *v;
		break;
	case GEX_OP_FXOR:
		*v ^= a;
		break;
	case GEX_OP_FMAX:
		*v = *v > a ? *v : a;
		break;
	case GEX_OP_FMIN:
		*v = *v < a ? *v : a;
		break;
	case GEX_OP_INC:
		++*v;
		break;
	default: /* GEX_OP_GET */
		break;
	}
}

static void do_atomic(void)
{
	gex_Rank_t proc = draw_below(n);
	uint32_t w = draw_below(WORDS);
	struct fetch *f = &fetches[proc][w];
	gex_OP_t op = operations[draw_below(sizeof(operations) / sizeof(operations[0]))];
	uint64_t a = draw_below(1000), b = draw_below(1000);

	if (!draw_below(3)) { /* a shared word */
		added[proc][w] += a;
		CALL(gex_AD_OpNBI_U64(domain, NULL, proc, word_of(proc, TASKS, w), GEX_OP_ADD, a, 0,
				      0));
		return;
	}
	if (f->busy)
		finish_fetch(f);
	if (draw_below(2))
		a = word_model[proc][w]; /* so that comparisons succeed at times */
	f->busy = 1;
	f->op = op;
	f->expected = word_model[proc][w];
	f->event = gex_AD_OpNB_U64(domain, &f->result, proc, word_of(proc, me, w), op, a, b, 0);
	apply_model(&word_model[proc][w], op, a, b);
	if (draw_below(2))
		finish_fetch(f);
}

static void finish_atomics(void)
{
	for (gex_Rank_t proc = 0; proc < n; proc++)
		for (uint32_t w = 0; w < WORDS; w++)
			if (fetches[proc][w].busy)
				finish_fetch(&fetches[proc][w]);
}

#endif
