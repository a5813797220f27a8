/* SPDX-License-Identifier: BSD-3-Clause */
/* drivers/wire.h: what wires promise, over a network that breaks it all. drv_wire_frames.c has when
 * frames leave. */
#include "drivers/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/drivers/wire_pair.h"

static const struct drv_wire_conf plain = {.job = 77, .hosts = 2, .epoch = 1000};

/*
 * Buffers that the ports let their callers keep: none, so that frames lie in the byte ring; some,
 * so that both forms are on the way together; more than are ever wanted.
 */
static const uint32_t keeps[] = {0, 5, 10000};
#define FOR_EACH_KEEP(k)                                                                           \
	for (const uint32_t *k = keeps; k < keeps + sizeof keeps / sizeof *keeps; k++)

static void perfect_network(void)
{
	struct pair p;

	lab_net_init(&p.net);
	pair_open(&p, &plain);
	pair_ready(&p);
	CHECK_EQ(stat_of(&p.a, 1).frame_bytes, 9000 / 16 * 16);
	run_traffic(&p, 5000, 1000);
	CHECK_EQ(stat_of(&p.a, 1).resent, 0);
	CHECK_EQ(stat_of(&p.b, 0).resent, 0);
	pair_close(&p);
}

static void storm_keeping(uint32_t keep_max, double loss, double dup, double reorder,
			  double corrupt, double busy)
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
	p.net.keep_max = keep_max;
	c.checksum = corrupt > 0 ? DRV_WIRE_CHECKSUM_ON : DRV_WIRE_CHECKSUM_AUTO;
	pair_open(&p, &c);
	run_traffic(&p, t_long() ? 100000 : 4000, 1000);
	CHECK(loss == 0 || p.net.lost > 0);
	CHECK(dup == 0 || p.net.dups > 0);
	CHECK(reorder == 0 || p.net.late > 0);
	CHECK(corrupt == 0 || p.net.corrupted > 0);
	CHECK(keep_max ? p.net.kept > 100 : !p.net.kept);
	pair_close(&p);
}

static void run_storm(double loss, double dup, double reorder, double corrupt, double busy)
{
	FOR_EACH_KEEP(k)
	storm_keeping(*k, loss, dup, reorder, corrupt, busy);
}

static void lost_frames_are_sent_again(void)
{
	run_storm(0.1, 0, 0, 0, 0);
}
static void duplicates_are_dropped(void)
{
	run_storm(0, 0.2, 0, 0, 0);
}
static void reordered_frames_arrive_in_order(void)
{
	run_storm(0, 0, 0.2, 0, 0);
}
static void corrupt_frames_are_sent_again(void)
{
	run_storm(0, 0, 0, 0.1, 0);
}
static void busy_port(void)
{
	run_storm(0, 0, 0, 0, 0.3);
}
static void messages_survive_all_faults_together(void)
{
	run_storm(0.1, 0.1, 0.1, 0.05, 0.1);
}
static void half_lost(void)
{
	run_storm(0.5, 0.1, 0.3, 0, 0);
}

/* Windows of one frame, of two, of one frame's bytes. */
static void tiny_windows(void)
{
	static const struct {
		uint32_t frames, bytes;
	} windows[] = {{1, 0}, {2, 0}, {3, 0}, {0, 1}, {0, 3000}};

	for (unsigned i = 0; i < 2 * sizeof windows / sizeof *windows; i++) {
		struct drv_wire_conf c = plain;
		struct pair p;

		lab_net_init(&p.net);
		p.net.loss = p.net.dup = p.net.reorder = 0.05;
		p.net.keep_max = i % 2 ? 1 : 0;
		c.window_frames = windows[i / 2].frames;
		c.window_bytes = windows[i / 2].bytes;
		c.frame_bytes = 1200;
		pair_open(&p, &c);
		run_traffic(&p, 500, 1000);
		pair_close(&p);
	}
}

/* So many short frames are on the way that they fill the byte ring; then a third of them is lost.
 */
static void byte_ring_full(void)
{
	for (uint32_t window = 20000; window < 21024; window += 128) {
		struct drv_wire_conf c = plain;
		struct pair p;
		uint32_t most = 0, flying;

		lab_net_init(&p.net);
		p.net.delay_ns = 2000000;
		p.net.keep_max = window % 256 ? 100 : 0; /* the ring holds the others */
		c.window_bytes = window;
		c.window_frames = 4096;
		c.frame_bytes = 1216; /* room for runs: a multiple of 64, so that edges are hit */
		pair_open(&p, &c);
		pair_ready(&p);
		while (p.a.sent[1] < 8000) {
			while (!lab_end_send(&p.a, 1, 8))
				drv_wire_flush(p.a.wires, 1, 1);
			flying = p.a.sent[1] - p.b.got[0];
			most = flying > most ? flying : most;
			p.net.loss = p.a.sent[1] > 4000 && p.a.sent[1] < 6000 ? 0.3 : 0;
			lab_step(&p.net, p.ends, 2);
		}
		p.net.loss = 0;
		CHECK(lab_settle(&p.net, p.ends, 2, 100000) >= 0);
		CHECK_EQ(p.b.got[0], p.a.sent[1]);
		CHECK_EQ(p.b.wrong, 0);
		CHECK(most * 64 > window); /* else the ring was never full */
		CHECK(stat_of(&p.a, 1).resent > 10);
		pair_close(&p);
	}
}

static void sequence_wraps(void)
{
	struct drv_wire_conf c = plain;
	struct pair p;

	lab_net_init(&p.net);
	p.net.loss = p.net.dup = p.net.reorder = 0.1;
	c.first_sequence = 0xffffffe0;
	c.frame_bytes = 1200;
	pair_open(&p, &c);
	run_traffic(&p, 1000, 1000);
	CHECK(stat_of(&p.a, 1).tx_frames > 100);
	pair_close(&p);
}

/* A receiver that often has no room: nothing lost, the sender is held back. */
static void slow_receiver(void)
{
	struct pair p;

	lab_net_init(&p.net);
	p.net.loss = p.net.reorder = 0.02;
	pair_open(&p, &plain);
	p.a.refuse = p.b.refuse = 0.5;
	run_traffic(&p, 2000, 500);
	pair_close(&p);
}

/* A receiver that takes nothing for a long time costs a bounded window and few frames. */
static void stalled_receiver(void)
{
	struct drv_wire_conf c = plain;
	struct drv_wire_stat s;
	uint64_t until, left;
	struct pair p;

	lab_net_init(&p.net);
	c.window_bytes = 64 << 10;
	pair_open(&p, &c);
	pair_ready(&p);
	p.b.refuse_all = 1;
	until = p.net.now + 2000000000;
	while (p.net.now < until) {
		while (!lab_end_send(&p.a, 1, 1000))
			;
		lab_step(&p.net, p.ends, 2);
	}
	CHECK(p.a.sent[1] < 140); /* 64 KiB and what waits behind */
	s = stat_of(&p.a, 1);
	CHECK(s.resent < 30);
	left = p.net.kinds[DRV_FRAME_DATA] + p.net.kinds[DRV_FRAME_ACK];
	CHECK(left < 200);
	p.b.refuse_all = 0;
	CHECK(lab_settle(&p.net, p.ends, 2, 100000) >= 0);
	CHECK_EQ(p.b.got[0], p.a.sent[1]);
	CHECK_EQ(p.b.wrong, 0);
	pair_close(&p);
}

/* The receiver stores less than the sender would send: the sender goes by that. */
static void small_receiver(void)
{
	struct drv_wire_conf c = plain;
	struct pair p;
	uint64_t frames;

	lab_net_init(&p.net);
	lab_end_open(&p.a, &p.net, &c);
	c.self = 1;
	c.window_frames = 4;
	lab_end_open(&p.b, &p.net, &c);
	p.ends[0] = &p.a;
	p.ends[1] = &p.b;
	lab_end_connect(&p.a, 1);
	lab_end_connect(&p.b, 0);
	pair_ready(&p);
	p.b.refuse_all = 1;
	frames = p.net.kinds[DRV_FRAME_DATA];
	for (int i = 0; i < 200; i++) {
		lab_end_send(&p.a, 1, 4000);
		lab_step(&p.net, p.ends, 2);
	}
	frames = p.net.kinds[DRV_FRAME_DATA] - frames;
	CHECK_EQ(frames - stat_of(&p.a, 1).resent, 5); /* one held and acknowledged, four stored */
	p.b.refuse_all = 0;
	p.net.loss = 0.1;
	CHECK(lab_settle(&p.net, p.ends, 2, 100000) >= 0);
	CHECK_EQ(p.b.got[0], p.a.sent[1]);
	run_traffic(&p, 1000, 2000);
	pair_close(&p);
}

/* Data is handed in before anybody answers, the peer starts late, and names us later still. */
static void late_start(void)
{
	struct drv_wire_conf c = plain;
	struct pair p;
	struct lab_end *first[] = {&p.a};

	lab_net_init(&p.net);
	c.self = 0;
	lab_end_open(&p.a, &p.net, &c);
	while (!lab_end_send(&p.a, 1, 200)) /* before connect */
		;
	CHECK(p.a.sent[1] >= 5);
	CHECK(!drv_wires_are_idle(p.a.wires));
	lab_end_connect(&p.a, 1);
	while (p.net.now < 1000000000)
		REQUIRE(lab_step(&p.net, first, 1));
	CHECK(p.net.kinds[DRV_FRAME_HELLO] > 5 && p.net.kinds[DRV_FRAME_HELLO] < 40);
	CHECK_EQ(p.net.kinds[DRV_FRAME_DATA], 0);
	c.self = 1;
	lab_end_open(&p.b, &p.net, &c);
	p.ends[0] = &p.a;
	p.ends[1] = &p.b;
	for (int i = 0; i < 50; i++)
		lab_step(&p.net, p.ends, 2); /* b hears, but a is not named yet */
	CHECK(stat_of(&p.b, 0).stale > 0);
	CHECK_EQ(p.b.got[0], 0);
	lab_end_connect(&p.b, 0);
	CHECK(lab_settle(&p.net, p.ends, 2, 10000) >= 0);
	CHECK_EQ(p.b.got[0], p.a.sent[1]);
	run_traffic(&p, 300, 500);
	pair_close(&p);
}

/* Another job, another version, an authenticated frame, or none with a checksum: counted, dropped.
 */
static int spoil_what;

static int spoil_frame(struct lab_net *net, int from, int to, unsigned char *data, uint32_t bytes)
{
	struct drv_frame_header *h = (void *)data;

	(void)net, (void)to, (void)bytes;
	if (from != 0)
		return 1;
	if (spoil_what == 0)
		h->version++;
	else if (spoil_what == 1)
		h->flags |= DRV_FRAME_SEALED;
	else
		h->flags &= (uint16_t)~DRV_FRAME_CHECKED;
	if (spoil_what < 2)
		drv_frame_add_checksum(data);
	return 1;
}

static void refused_and_counted(void)
{
	for (spoil_what = 0; spoil_what < 4; spoil_what++) {
		struct drv_wire_conf c = plain;
		struct pair p;
		uint64_t sent;

		lab_net_init(&p.net);
		pair_open(&p, &c);
		p.net.filter = spoil_what < 3 ? spoil_frame : NULL;
		if (spoil_what == 3) { /* a belongs to another job */
			lab_end_close(&p.a);
			c.job++;
			c.self = 0;
			lab_end_open(&p.a, &p.net, &c);
			lab_end_connect(&p.a, 1);
		}
		CHECK_EQ(lab_end_send(&p.a, 1, 100), 0);
		for (int i = 0; i < 100; i++)
			lab_step(&p.net, p.ends, 2);
		CHECK(!stat_of(&p.b, 0).connected);
		CHECK_EQ(p.b.got[0], 0);
		sent = spoil_what == 3 ? stat_of(&p.b, 1).wrong_job : stat_of(&p.b, 1).bad_frames;
		CHECK(sent > 5);
		pair_close(&p);
	}
}

/* One end wants checksums: both use them, and damage at either end is found. */
static void one_wants_checksums(void)
{
	struct drv_wire_conf c = plain;
	struct pair p;

	lab_net_init(&p.net);
	c.self = 0;
	lab_end_open(&p.a, &p.net, &c);
	c.self = 1;
	c.checksum = DRV_WIRE_CHECKSUM_ON;
	lab_end_open(&p.b, &p.net, &c);
	p.ends[0] = &p.a;
	p.ends[1] = &p.b;
	lab_end_connect(&p.a, 1);
	lab_end_connect(&p.b, 0);
	pair_ready(&p);
	p.net.corrupt = 0.05;
	run_traffic(&p, 3000, 500);
	CHECK(p.net.corrupted > 5);
	pair_close(&p);
}

/* What a took before the restart, and what the new life of b got. */
static void restart_keeping(uint32_t keep_max, int in_order, uint32_t epoch)
{
	struct drv_wire_conf c = plain;
	struct pair p;
	uint32_t before;

	lab_net_init(&p.net);
	p.net.loss = p.net.dup = p.net.reorder = 0.05;
	p.net.keep_max = keep_max;
	pair_open(&p, &c);
	run_traffic(&p, 200, 500);
	for (int i = 0; i < 100; i++) {
		lab_end_send(&p.a, 1, 700);
		if (i % 10 == 0)
			lab_step(&p.net, p.ends, 2);
	}
	before = p.b.got[0];
	if (!in_order)
		p.net.loss = 1; /* its goodbye is lost */
	lab_end_close(&p.b);
	p.net.loss = 0.05;
	for (int i = 0; i < 20; i++)
		lab_step(&p.net, p.ends, 1);
	c.self = 1;
	c.epoch = epoch;
	lab_end_open(&p.b, &p.net, &c);
	p.b.got[0] = before; /* in order: the goodbye acknowledged all that it took */
	lab_end_connect(&p.b, 0);
	if (!in_order) { /* its last acknowledgements may have been lost: find where it goes on */
		struct drv_wire_stat s = stat_of(&p.a, 1);

		(void)s;
		p.b.got[0] = UINT32_MAX;
	}
	p.a.got[1] = 0;
	CHECK_EQ(lab_end_send(&p.b, 0, 100), 0);
	CHECK(lab_settle(&p.net, p.ends, 2, 10000) >= 0);
	CHECK_EQ(p.b.wrong, 0);
	CHECK_EQ(p.b.got[0], p.a.sent[1]);
	CHECK_EQ(p.a.got[1], 1);
	CHECK_EQ(stat_of(&p.a, 1).restarts, 1);
	/* The goodbye of this life works as that of the first. */
	p.b.sent[0] = 1;
	run_traffic(&p, 400, 300);
	pair_close(&p);
}

static void restart_wire(int in_order, uint32_t epoch)
{
	FOR_EACH_KEEP(k)
	restart_keeping(*k, in_order, epoch);
}

static void restart_after_goodbye(void)
{
	restart_wire(1, 2000);
}
static void restart_after_death(void)
{
	restart_wire(0, 2000);
}
static void restart_clock_back(void)
{
	restart_wire(0, 500);
}

/* Three hosts, one port each, all pairs. */
/* --- frames of which the wire keeps nothing -------------------------------------------------- */

static void gathered_keeping(uint32_t keep_max, double busy, uint32_t most)
{
	struct drv_wire_conf c = plain;
	struct pair p;

	lab_net_init(&p.net);
	p.net.gathers = true;
	p.net.keep_max = keep_max;
	c.window_frames = 64;
	pair_open(&p, &c);
	pair_ready(&p);
	p.net.busy = busy;
	p.b.refuse = busy;
	run_traffic(&p, 3000, most);
	CHECK(p.net.gathered > 1000);
	pair_close(&p);
}

static void gathered_frames(void)
{
	FOR_EACH_KEEP(k)
	{
		gathered_keeping(*k, 0, 200);
		gathered_keeping(*k, 0.3, 1000);
		gathered_keeping(*k, 0.1, 8000);
	}
}

/* Where a checksum covers the data, the wire refuses to gather. */
static void gathered_and_checked(void)
{
	struct drv_wire_conf c = plain;
	struct drv_wire_gather g = {.head = "", .data = &c, .bytes = 16};
	struct pair p;

	lab_net_init(&p.net);
	p.net.gathers = true;
	c.checksum = DRV_WIRE_CHECKSUM_ON;
	pair_open(&p, &c);
	pair_ready(&p);
	CHECK(!drv_wires_gather(p.a.wires));
	CHECK_EQ(drv_wire_send_gathered(p.a.wires, 1, &g), -ENOTSUP);
	run_traffic(&p, 200, 1000);
	CHECK_EQ(p.net.gathered, 0);
	pair_close(&p);
}

/* A receiver that does not poll for a minute gets each frame once: the port has them. */
static void gathered_for_a_sleeper(void)
{
	struct pair p;
	uint32_t sent;

	lab_net_init(&p.net);
	p.net.gathers = true;
	pair_open(&p, &plain);
	pair_ready(&p);
	CHECK_EQ(lab_end_send(&p.a, 1, 1600), 0);
	pair_acknowledged(&p); /* so the oldest one that waits is gathered */
	while (!lab_end_send(&p.a, 1, 1600))
		;
	sent = p.a.sent[1];
	CHECK(sent >= 10);
	for (int i = 0; i < 300; i++) {
		p.net.now += 200000000;
		CHECK(lab_end_poll(&p.a) >= 0);
	}
	CHECK_EQ(lab_end_send(&p.a, 1, 1600), -1);
	pair_acknowledged(&p);
	CHECK_EQ(p.b.got[0], sent);
	CHECK_EQ(stat_of(&p.b, 0).restarts, 0);
	run_traffic(&p, sent + 100, 1000);
	pair_close(&p);
}

/* More frames wait behind a refused run than selective acknowledgements can name. */
static void gathered_behind_a_refusal(void)
{
	struct pair p;
	uint32_t before;

	lab_net_init(&p.net);
	p.net.gathers = true;
	pair_open(&p, &plain);
	pair_ready(&p);
	for (int i = 0; i < 600; i++)
		if (lab_end_send(&p.a, 1, 1600))
			lab_step(&p.net, p.ends, 2);
	pair_acknowledged(&p);
	p.b.refuse_all = 1;
	before = p.a.sent[1];
	for (int i = 0; i < 2000 && p.a.sent[1] - before < 230; i++) {
		lab_end_send(&p.a, 1, 1600);
		lab_step(&p.net, p.ends, 2);
	}
	CHECK(p.a.sent[1] - before > DRV_FRAME_SACK + 50);
	for (int i = 0; i < 100; i++)
		lab_step(&p.net, p.ends, 2);
	p.b.refuse_all = 0;
	pair_acknowledged(&p);
	CHECK_EQ(p.b.got[0], p.a.sent[1]);
	CHECK_EQ(p.b.wrong, 0);
	pair_close(&p);
}

/* A new life of the receiver cannot get what was under way to the old one: the wires break. */
static void gathered_for_the_dead(void)
{
	struct drv_wire_conf c = plain;
	struct pair p;
	int rc = 0;

	lab_net_init(&p.net);
	p.net.gathers = true;
	pair_open(&p, &plain);
	pair_ready(&p);
	run_traffic(&p, 50, 1000);
	p.net.loss = 1;
	while (!lab_end_send(&p.a, 1, 1600))
		;
	lab_end_close(&p.b);
	p.net.loss = 0;
	c.self = 1;
	c.epoch = 2000;
	lab_end_open(&p.b, &p.net, &c);
	lab_end_connect(&p.b, 0);
	for (int i = 0; i < 1000 && rc >= 0; i++) {
		p.net.now += 1000000;
		lab_end_poll(&p.b);
		rc = lab_end_poll(&p.a);
	}
	CHECK_EQ(rc, -EPROTO);
	CHECK_EQ(p.b.got[0], 0);
	pair_close(&p);
}

static void three_hosts(void)
{
	struct drv_wire_conf c = plain;
	struct lab_net net;
	struct lab_end end[3], *ends[3] = {&end[0], &end[1], &end[2]};

	lab_net_init(&net);
	net.loss = net.dup = net.reorder = 0.05;
	net.keep_max = 8;
	c.hosts = 3;
	for (uint32_t i = 0; i < 3; i++) {
		c.self = i;
		lab_end_open(&end[i], &net, &c);
	}
	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t k = 0; k < 3; k++)
			if (i != k)
				lab_end_connect(&end[i], k);
	for (int n = 0; n < 3000; n++) {
		uint32_t from = (uint32_t)drv_rng_below(t_rng(), 3), to = (from + 1 + (n & 1)) % 3;

		while (lab_end_send(&end[from], to, (uint32_t)drv_rng_below(t_rng(), 600)))
			lab_step(&net, ends, 3);
		if (n % 5 == 0)
			lab_step(&net, ends, 3);
	}
	CHECK(lab_settle(&net, ends, 3, 100000) >= 0);
	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t k = 0; k < 3; k++)
			if (i != k) {
				CHECK(end[i].sent[k] > 100);
				CHECK_EQ(end[k].got[i], end[i].sent[k]);
			}
	for (uint32_t i = 0; i < 3; i++) {
		CHECK_EQ(end[i].wrong, 0);
		lab_end_close(&end[i]);
	}
	lab_net_fini(&net);
}

static void frame_size(uint32_t port_a, uint32_t port_b, uint32_t path, double loss_rate,
		       uint32_t least, uint32_t most)
{
	struct drv_wire_conf c = plain;
	struct pair p;

	lab_net_init(&p.net);
	p.net.path_bytes = path;
	p.net.loss = loss_rate;
	p.net.frame_bytes_max = port_a;
	lab_end_open(&p.a, &p.net, &c);
	c.self = 1;
	p.net.frame_bytes_max = port_b;
	lab_end_open(&p.b, &p.net, &c);
	p.ends[0] = &p.a;
	p.ends[1] = &p.b;
	lab_end_connect(&p.a, 1);
	lab_end_connect(&p.b, 0);
	CHECK(drv_wires_run_max(p.a.wires, 1) >= 1000);
	pair_ready(&p);
	for (int e = 0; e < 2; e++) {
		uint32_t found = stat_of(p.ends[e], (uint32_t)!e).frame_bytes;

		CHECK(found >= least && found <= most);
		CHECK_EQ(drv_wires_run_max(p.ends[e]->wires, (uint32_t)!e), found - 80);
	}
	run_traffic(&p, 300, 60000 < most ? 60000 : least - 90);
	pair_close(&p);
}

static void frame_size_is_found(void)
{
	frame_size(1500, 1500, 0, 0, 1488, 1488);
	frame_size(9000, 9000, 0, 0, 8992, 8992);
	frame_size(9000, 1500, 0, 0, 1488, 1488);
	frame_size(65536, 65536, 0, 0, 65520, 65520);
	frame_size(9000, 9000, 3000, 0, 2900, 3000);
	frame_size(9000, 9000, 1300, 0, 1200, 1300);
	frame_size(65000, 65000, 40000, 0, 39900, 40000);
	frame_size(9000, 9000, 5000, 0.1, 1200, 5000);
}

/* The peer is gone, with a goodbye or without: no spinning, no endless stream of frames. */
static void gone_peer(void)
{
	for (int silent = 0; silent < 2; silent++) {
		uint64_t frames;
		struct pair p;

		lab_net_init(&p.net);
		pair_open(&p, &plain);
		pair_ready(&p);
		for (int i = 0; i < 20; i++)
			lab_end_send(&p.a, 1, 1000);
		lab_step(&p.net, p.ends, 2);
		if (silent)
			p.net.loss = 1;
		lab_end_close(&p.b);
		p.net.loss = 0;
		frames = p.net.burst_frames;
		while (p.net.now < 10000000000 && lab_step(&p.net, p.ends, 1))
			;
		CHECK(p.net.burst_frames - frames < 100); /* 10 s */
		CHECK_EQ(drv_wires_are_idle(p.a.wires), !silent);
		CHECK_EQ(drv_wires_deadline(p.a.wires) == UINT64_MAX, !silent);
		pair_close(&p);
	}
}

/* What was taken is acknowledged by the goodbye: the sender need not wait. */
static void goodbye_acknowledges(void)
{
	struct pair p;

	lab_net_init(&p.net);
	pair_open(&p, &plain);
	pair_ready(&p);
	lab_end_send(&p.a, 1, 100);
	drv_wire_flush(p.a.wires, 1, 1);
	while (!p.b.got[0])
		lab_step(&p.net, p.ends, 2);
	p.net.loss = 0;
	lab_end_close(&p.b);
	p.net.now += 10000;
	lab_end_poll(&p.a);
	CHECK(drv_wires_are_idle(p.a.wires));
	CHECK_EQ(stat_of(&p.a, 1).resent, 0);
	pair_close(&p);
}

/* A burst of frames without a single run: the port may hold more, so the poll must not say
 * "nothing". */
static void full_burst_of_nothing(void)
{
	struct drv_frame f[DRV_PORT_BURST];
	struct drv_port *noise;
	struct pair p = {0};

	lab_net_init(&p.net);
	pair_open(&p, &plain);
	pair_ready(&p);
	noise = lab_port(&p.net, 2);
	for (unsigned i = 0; i <= DRV_PORT_BURST; i += DRV_PORT_BURST) {
		unsigned n = i ? 3 : DRV_PORT_BURST;

		for (unsigned k = 0; k < n; k++) {
			REQUIRE_EQ(drv_port_tx_get(noise, &f[k]), 0);
			memset(f[k].data, 0, 64);
			f[k].bytes = 64;
			f[k].peer = 0;
		}
		CHECK_EQ(drv_port_tx_send(noise, f, n), (int)n);
	}
	p.net.now += p.net.delay_ns;
	CHECK_EQ(lab_end_poll(&p.a), 1);
	CHECK_EQ(lab_end_poll(&p.a), 0);
	CHECK_EQ(stat_of(&p.a, 0).bad_frames, DRV_PORT_BURST + 3);
	drv_port_close(noise);
	pair_close(&p);
}

static void bad_arguments(void)
{
	struct drv_wire_conf c = plain;
	struct drv_wires *ws = NULL;
	struct lab_net net;
	struct drv_port *port;

	lab_net_init(&net);
	port = lab_port(&net, 0);
	c.self = 2;
	CHECK_EQ(drv_wires_open(&ws, port, &c), -EINVAL);
	c.self = 0;
	c.frame_bytes = 64;
	CHECK_EQ(drv_wires_open(&ws, port, &c), -EINVAL);
	c.frame_bytes = 0;
	c.window_frames = 5000;
	CHECK_EQ(drv_wires_open(&ws, port, &c), -EINVAL);
	CHECK(!ws);
	c.window_frames = 0;
	REQUIRE_EQ(drv_wires_open(&ws, port, &c), 0);
	CHECK_EQ(drv_wires_connect(ws, 0, "lab/0"), -EINVAL);
	CHECK_EQ(drv_wires_connect(ws, 2, "lab/1"), -EINVAL);
	CHECK_EQ(drv_wires_connect(ws, 1, "elsewhere"), -EINVAL);
	CHECK(!(drv_wire_reserve(ws, 1, drv_wires_run_max(ws, 1) + 1)));
	CHECK(drv_wire_reserve(ws, 1, drv_wires_run_max(ws, 1)));
	CHECK_EQ(drv_wires_port(ws), port);
	drv_wires_close(ws);
	drv_wires_close(NULL);
	lab_net_fini(&net);
}

T_MAIN(T(perfect_network), T(lost_frames_are_sent_again), T(duplicates_are_dropped),
       T(reordered_frames_arrive_in_order), T(corrupt_frames_are_sent_again), T(busy_port),
       T(messages_survive_all_faults_together), T(half_lost), T(tiny_windows), T(byte_ring_full),
       T(sequence_wraps), T(slow_receiver), T(stalled_receiver), T(small_receiver), T(late_start),
       T(refused_and_counted), T(one_wants_checksums), T(restart_after_goodbye),
       T(restart_after_death), T(restart_clock_back), T(gathered_frames), T(gathered_and_checked),
       T(gathered_for_a_sleeper), T(gathered_for_the_dead), T(gathered_behind_a_refusal),
       T(three_hosts), T(frame_size_is_found), T(gone_peer), T(goodbye_acknowledges),
       T(full_burst_of_nothing), T(bad_arguments))
