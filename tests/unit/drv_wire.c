/* SPDX-License-Identifier: BSD-3-Clause */
/* drivers/wire.h: what wires promise, over a network that breaks it all. */
#include "drivers/wire.h"

#include <stdlib.h>
#include <string.h>

#include "tests/t.h"
#include "tests/unit/wire_lab.h"

struct pair {
	struct lab_net net;
	struct lab_end a, b;
	struct lab_end *ends[2];
};

static const struct drv_wire_conf plain = { .job = 77, .hosts = 2, .epoch = 1000 };

static void pair_open(struct pair *p, const struct drv_wire_conf *conf)
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

static struct drv_wire_stat stat_of(struct lab_end *end, uint32_t host)
{
	struct drv_wire_stat s;

	drv_wires_stat(end->wires, host, &s);
	return s;
}

/* Connected, and the frame size found. */
static void pair_ready(struct pair *p)
{
	for (int i = 0; i < 1000 && drv_wires_deadline(p->a.wires) != UINT64_MAX; i++)
		lab_step(&p->net, p->ends, 2);
	CU_ASSERT(stat_of(&p->a, 1).connected);
	CU_ASSERT(stat_of(&p->b, 0).connected);
}

static void pair_close(struct pair *p)
{
	if (p->a.wires)
		lab_end_close(&p->a);
	if (p->b.wires)
		lab_end_close(&p->b);
	lab_net_fini(&p->net);
}

/* n messages each way, random sizes up to `most`; all must arrive once, whole, in order. */
static void traffic(struct pair *p, uint32_t n, uint32_t most)
{
	for (int steps = 0; p->a.sent[1] < n || p->b.sent[0] < n; steps++) {
		for (int e = 0; e < 2; e++)
			while (p->ends[e]->sent[!e] < n && drv_rng_below(t_rng(), 8) &&
			       !lab_end_send(p->ends[e], (uint32_t)!e, (uint32_t)drv_rng_below(t_rng(), most + 1)))
				if (!drv_rng_below(t_rng(), 4))
					drv_wire_flush(p->ends[e]->wires, (uint32_t)!e, drv_rng_below(t_rng(), 2) != 0);
		lab_step(&p->net, p->ends, 2);
		CU_ASSERT_FATAL(steps < 2000000);
	}
	CU_ASSERT(lab_settle(&p->net, p->ends, 2, 1000000) >= 0);
	CU_ASSERT_EQUAL(p->a.got[1], n);
	CU_ASSERT_EQUAL(p->b.got[0], n);
	CU_ASSERT_EQUAL(p->a.wrong, 0);
	CU_ASSERT_EQUAL(p->b.wrong, 0);
}

static void perfect_network(void)
{
	struct pair p;

	lab_net_init(&p.net);
	pair_open(&p, &plain);
	pair_ready(&p);
	CU_ASSERT_EQUAL(stat_of(&p.a, 1).frame_bytes, 9000 / 16 * 16);
	traffic(&p, 5000, 1000);
	CU_ASSERT_EQUAL(stat_of(&p.a, 1).resent, 0);
	CU_ASSERT_EQUAL(stat_of(&p.b, 0).resent, 0);
	pair_close(&p);
}

static void storm(double loss, double dup, double reorder, double corrupt, double busy)
{
	struct drv_wire_conf c = plain;
	struct pair p;

	lab_net_init(&p.net);
	p.net.loss = loss;
	p.net.dup = dup;
	p.net.reorder = reorder;
	p.net.corrupt = corrupt;
	p.net.busy = busy;
	p.net.jitter_ns = 3000;
	c.checksum = corrupt > 0 ? DRV_WIRE_CHECKSUM_ON : DRV_WIRE_CHECKSUM_AUTO;
	pair_open(&p, &c);
	traffic(&p, t_long() ? 100000 : 4000, 1000);
	CU_ASSERT(loss == 0 || p.net.lost > 0);
	CU_ASSERT(dup == 0 || p.net.dups > 0);
	CU_ASSERT(reorder == 0 || p.net.late > 0);
	CU_ASSERT(corrupt == 0 || p.net.corrupted > 0);
	pair_close(&p);
}

static void loss(void) { storm(0.1, 0, 0, 0, 0); }
static void duplicates(void) { storm(0, 0.2, 0, 0, 0); }
static void reorder(void) { storm(0, 0, 0.2, 0, 0); }
static void corruption(void) { storm(0, 0, 0, 0.1, 0); }
static void busy_port(void) { storm(0, 0, 0, 0, 0.3); }
static void everything(void) { storm(0.1, 0.1, 0.1, 0.05, 0.1); }
static void half_lost(void) { storm(0.5, 0.1, 0.3, 0, 0); }

T_MAIN(T(perfect_network), T(loss), T(duplicates), T(reorder), T(corruption), T(busy_port), T(everything),
       T(half_lost))
