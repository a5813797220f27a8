/* SPDX-License-Identifier: BSD-3-Clause */
/* Matching beside a plain list: the same receive takes the same message, whatever the masks. */
#include "ofi/message/match.h"

#include <stdlib.h>
#include <string.h>

#include "tests/harness/t.h"

#define OBJECTS 400

/* The model: objects in two arrays, in order. */
static struct model {
	struct ofi_posted *posted[OBJECTS];
	struct ofi_arrived *arrived[OBJECTS];
	size_t posts, arrivals;
} model;

static bool is_match(const struct ofi_posted *p, uint64_t tag, uint32_t source)
{
	return (p->source == OFI_ANY_SOURCE || p->source == source) &&
	       ((p->tag ^ tag) & ~p->ignore) == 0;
}

static void *cut_out(void **list, size_t *count, size_t at)
{
	void *x = list[at];

	memmove(&list[at], &list[at + 1], (--*count - at) * sizeof *list);
	return x;
}

static struct ofi_posted *model_take(uint64_t tag, uint32_t source)
{
	for (size_t i = 0; i < model.posts; i++)
		if (is_match(model.posted[i], tag, source))
			return cut_out((void **)model.posted, &model.posts, i);
	return NULL;
}

static struct ofi_arrived *model_find(const struct ofi_posted *p)
{
	for (size_t i = 0; i < model.arrivals; i++)
		if (is_match(p, model.arrived[i]->tag, model.arrived[i]->source))
			return model.arrived[i];
	return NULL;
}

static void model_forget(const struct ofi_arrived *a)
{
	for (size_t i = 0; i < model.arrivals; i++)
		if (model.arrived[i] == a) {
			cut_out((void **)model.arrived, &model.arrivals, i);
			return;
		}
}

static uint64_t draw_below(uint64_t n)
{
	return drv_rng_next(t_rng()) % n;
}

static void add_message(struct ofi_match *m)
{
	uint64_t tag = draw_below(8) | draw_below(3) << 40;
	uint32_t source = (uint32_t)draw_below(4) << 6;
	struct ofi_posted *p = ofi_match_take(m, tag, source);
	struct ofi_arrived *a;

	CHECK_EQ(p, model_take(tag, source));
	free(p);
	if (p || model.arrivals == OBJECTS)
		return;
	a = malloc(sizeof *a);
	a->tag = tag;
	a->source = source;
	ofi_match_arrive(m, a);
	model.arrived[model.arrivals++] = a;
}

/* One in `again` receives that took a message is posted again in its old place. */
static void post_receive(struct ofi_match *m, unsigned masks)
{
	struct ofi_posted *p = calloc(1, sizeof *p);
	struct ofi_arrived *a;

	p->tag = draw_below(8) | draw_below(3) << 40;
	p->ignore = draw_below(masks) * 0x10000000001ull;
	p->source = draw_below(3) ? (uint32_t)draw_below(4) << 6 : OFI_ANY_SOURCE;
	a = ofi_match_find(m, p);
	CHECK_EQ(a, model_find(p));
	if (a) {
		ofi_match_forget(m, a);
		model_forget(a);
		free(a);
		free(p);
	} else if (model.posts < OBJECTS) {
		ofi_match_post(m, p);
		model.posted[model.posts++] = p;
	} else {
		free(p);
	}
}

static void cancel_receive(struct ofi_match *m)
{
	struct ofi_posted *p;

	if (!model.posts)
		return;
	p = cut_out((void **)model.posted, &model.posts, draw_below(model.posts));
	ofi_match_remove(m, p);
	free(p);
}

static void run_model(unsigned masks)
{
	struct ofi_match m;

	model.posts = model.arrivals = 0;
	ofi_match_init(&m);
	for (unsigned i = 0; i < (t_long() ? 1000000 : 30000); i++) {
		/* Long runs of one kind make long lists. */
		unsigned bias = i / 1000 % 3;

		if (draw_below(20) == 0)
			cancel_receive(&m);
		else if (draw_below(4) < (bias == 0 ? 1 : bias == 1 ? 3 : 2))
			add_message(&m);
		else
			post_receive(&m, masks);
	}
	while (model.posts)
		free(model.posted[--model.posts]);
	while (model.arrivals)
		free(model.arrived[--model.arrivals]);
	ofi_match_fini(&m);
}

static void few_masks(void)
{
	run_model(2);
}

static void more_masks_than_classes(void)
{
	run_model(12);
}

static void post_again_keeps_the_order(void)
{
	struct ofi_match m;
	struct ofi_posted p[3] = {{.tag = 1}, {.tag = 1}, {.tag = 1}}, *first;

	ofi_match_init(&m);
	for (size_t i = 0; i < 3; i++) {
		p[i].source = OFI_ANY_SOURCE;
		ofi_match_post(&m, &p[i]);
	}
	for (size_t i = 0; i < 3; i++) {
		first = ofi_match_take(&m, 1, 64);
		CHECK_EQ(first, &p[0]);
		ofi_match_post_again(&m, first);
	}
	CHECK_EQ(ofi_match_take(&m, 1, 64), &p[0]);
	CHECK_EQ(ofi_match_take(&m, 1, 64), &p[1]);
	ofi_match_post_again(&m, &p[1]);
	CHECK_EQ(ofi_match_take(&m, 1, 64), &p[1]);
	CHECK_EQ(ofi_match_take(&m, 1, 64), &p[2]);
	CHECK_EQ(ofi_match_take(&m, 1, 64), NULL);
	ofi_match_fini(&m);
}

T_MAIN(T(few_masks), T(more_masks_than_classes), T(post_again_keeps_the_order))
