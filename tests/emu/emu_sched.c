/* SPDX-License-Identifier: BSD-3-Clause */
/* The event queue against a plain sort, and that ties break by node, port, order of pushing. */
#include "emu/sched.h"

#include <stdlib.h>

#include "tests/harness/t.h"

struct plain {
	uint64_t time;
	uint32_t node, port, sequence;
};

static int plain_order(const void *x, const void *y)
{
	const struct plain *a = x, *b = y;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->port != b->port)
		return a->port < b->port ? -1 : 1;
	return a->sequence < b->sequence ? -1 : 1;
}

static struct plain draw_event(uint32_t sequence)
{
	struct drv_rng *r = t_rng();

	return (struct plain){drv_rng_below(r, 50), (uint32_t)drv_rng_below(r, EMU_SCHED_NODES),
			      (uint32_t)drv_rng_below(r, EMU_SCHED_PORTS), sequence};
}

static void same_order_as_a_sort(void)
{
	enum { N = 20000 };
	struct plain *p = malloc(N * sizeof *p);
	struct emu_sched s;
	struct emu_event e;
	int wrong = 0;

	REQUIRE_EQ(emu_sched_init(&s, 16), 0);
	for (uint32_t i = 0; i < N; i++) {
		p[i] = draw_event(i);
		if (i % 3 == 0)
			p[i].node = p[i].port = 7;
		CHECK_EQ(emu_sched_push(&s, p[i].time, p[i].node, p[i].port, 3, i, 5), 0);
	}
	qsort(p, N, sizeof *p, plain_order);
	for (uint32_t i = 0; i < N; i++) {
		REQUIRE(emu_sched_pop(&s, &e));
		wrong += e.time != p[i].time || e.arg != p[i].sequence || e.kind != 3 ||
			 e.mark != 5 || emu_event_node(&e) != p[i].node ||
			 emu_event_port(&e) != p[i].port;
	}
	CHECK_EQ(wrong, 0);
	CHECK(!emu_sched_pop(&s, &e));
	CHECK_EQ(emu_sched_next(&s), UINT64_MAX);
	emu_sched_fini(&s);
	free(p);
}

/* As a simulator uses it: what is pushed lies at or after what was taken; nothing may go back. */
static void time_never_goes_back(void)
{
	struct emu_sched s;
	struct emu_event e;
	uint64_t last = 0, back = 0;
	struct emu_event *heap;

	REQUIRE_EQ(emu_sched_init(&s, 1024), 0);
	for (uint32_t i = 0; i < 1000; i++)
		emu_sched_push(&s, i % 17, i, 0, 0, i, 0);
	heap = s.heap;
	for (int i = 0; i < 300000; i++) {
		if (!emu_sched_pop(&s, &e))
			break;
		back += e.time < last;
		last = e.time;
		emu_sched_push(&s, last + drv_rng_below(t_rng(), 1000),
			       (uint32_t)drv_rng_below(t_rng(), 64), 1, 0, 0, 0);
	}
	CHECK_EQ(back, 0);
	CHECK_EQ(s.count, 1000);
	CHECK_EQ(s.heap, heap); /* steady state allocates nothing */
	emu_sched_fini(&s);
}

/* Against a plain list of what is in it, with steps of time from one instant to seconds. */
static void any_density(void)
{
	enum { MAX = 3000 };
	static struct plain in[MAX];
	uint32_t n = 0, sequence = 0, wrong = 0;
	struct emu_sched s;
	struct emu_event e;
	uint64_t now = 0;

	REQUIRE_EQ(emu_sched_init(&s, 16), 0);
	for (int i = 0; i < 60000; i++) {
		unsigned phase = i / 10000;
		static const uint64_t reach[] = {1, 100, 100000, 100000000, 10, 1000000000000};
		uint32_t level = phase % 2 ? 40 : 1500;

		if (n < MAX && drv_rng_below(t_rng(), 2 * level) >= n) {
			struct plain p = draw_event(sequence++);

			p.time =
			    now + drv_rng_below(t_rng(), reach[phase]) * drv_rng_below(t_rng(), 2);
			in[n++] = p;
			emu_sched_push(&s, p.time, p.node, p.port, 0, p.sequence, 0);
		} else if (n) {
			uint32_t best = 0;

			for (uint32_t k = 1; k < n; k++)
				if (plain_order(&in[k], &in[best]) < 0)
					best = k;
			wrong += emu_sched_next(&s) != in[best].time;
			wrong += emu_sched_pop(&s, &e) != 1 || e.arg != in[best].sequence;
			now = in[best].time;
			in[best] = in[--n];
		}
	}
	CHECK_EQ(wrong, 0);
	CHECK_EQ(s.count, n);
	emu_sched_fini(&s);
}

T_MAIN(T(any_density), T(same_order_as_a_sort), T(time_never_goes_back))
