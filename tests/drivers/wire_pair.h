/* SPDX-License-Identifier: BSD-3-Clause */
/* Two ends in the laboratory, and traffic between them. Included by the tests that need it. */
#ifndef TESTS_UNIT_WIRE_PAIR_H
#define TESTS_UNIT_WIRE_PAIR_H

#include "tests/harness/t.h"
#include "tests/drivers/wire_lab.h"

struct pair {
	struct lab_net net;
	struct lab_end a, b;
	struct lab_end *ends[2];
};

static inline void pair_open(struct pair *p, const struct drv_wire_conf *conf)
{
	struct drv_wire_conf c = *conf;

	c.self = 0;
	lab_end_open(&p->a, &p->net, &c);
	c.self = 1;
	lab_end_open(&p->b, &p->net, &c);
	p->ends[0] = &p->a;
	p->ends[1] = &p->b;
	lab_end_connect(&p->a, 1);
	lab_end_connect(&p->b, 0);
}

static inline struct drv_wire_stat stat_of(struct lab_end *end, uint32_t host)
{
	struct drv_wire_stat s;

	drv_wires_stat(end->wires, host, &s);
	return s;
}

/* Connected, and the frame size found. */
static inline void pair_ready(struct pair *p)
{
	for (int i = 0; i < 1000 && drv_wires_deadline(p->a.wires) != UINT64_MAX; i++)
		lab_step(&p->net, p->ends, 2);
	CHECK(stat_of(&p->a, 1).connected);
	CHECK(stat_of(&p->b, 0).connected);
}

/* Step until all messages have been acknowledged. */
static inline void pair_acknowledged(struct pair *p)
{
	for (int i = 0; !drv_wires_are_idle(p->a.wires) || !drv_wires_are_idle(p->b.wires); i++) {
		REQUIRE(i < 100000);
		REQUIRE(lab_step(&p->net, p->ends, 2));
	}
}

static inline void pair_close(struct pair *p)
{
	if (p->a.wires)
		lab_end_close(&p->a);
	if (p->b.wires)
		lab_end_close(&p->b);
	lab_net_fini(&p->net);
}

/* n messages each way, random sizes up to `most`; all must arrive once, whole, in order. */
static inline void run_traffic(struct pair *p, uint32_t n, uint32_t most)
{
	for (int steps = 0; p->a.sent[1] < n || p->b.sent[0] < n; steps++) {
		for (int e = 0; e < 2; e++)
			while (p->ends[e]->sent[!e] < n && drv_rng_below(t_rng(), 8) &&
			       !lab_end_send(p->ends[e], (uint32_t)!e,
					     (uint32_t)drv_rng_below(t_rng(), most + 1)))
				if (!drv_rng_below(t_rng(), 4))
					drv_wire_flush(p->ends[e]->wires, (uint32_t)!e,
						       drv_rng_below(t_rng(), 2) != 0);
		lab_step(&p->net, p->ends, 2);
		REQUIRE(steps < 2000000);
	}
	CHECK(lab_settle(&p->net, p->ends, 2, 1000000) >= 0);
	CHECK_EQ(p->a.got[1], n);
	CHECK_EQ(p->b.got[0], n);
	CHECK_EQ(p->a.wrong, 0);
	CHECK_EQ(p->b.wrong, 0);
}

#endif
