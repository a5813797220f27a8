/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * drivers/wire.h: when frames leave, what shares a frame, and when acknowledgements and
 * retransmissions follow. drv_wire.c has what wires promise over a bad network.
 */
#include "drivers/wire.h"

#include <string.h>

#include "tests/drivers/wire_pair.h"

static const struct drv_wire_conf plain = {.job = 77, .hosts = 2, .epoch = 1000};

/* Ping-pong: acknowledgements ride, one frame each way, no copy of anything. */
static int answer_at_once;

static void answer_message(struct lab_end *end, uint32_t host, uint32_t number)
{
	(void)number;
	if (answer_at_once) {
		lab_end_send(end, host, 8);
		drv_wire_flush(end->wires, host, 0);
	}
}

static void ping_pong_needs_no_bare_acks(void)
{
	for (answer_at_once = 0; answer_at_once < 2; answer_at_once++) {
		struct drv_wire_stat s;
		struct pair p;
		uint64_t control, bursts;

		lab_net_init(&p.net);
		p.net.delay_ns = 2000;
		pair_open(&p, &plain);
		pair_ready(&p);
		p.b.on_run = answer_message;
		bursts = p.net.bursts;
		control = p.net.kinds[DRV_FRAME_HELLO] + p.net.kinds[DRV_FRAME_PROBE];
		for (uint32_t i = 0; i < 1000; i++) {
			CHECK_EQ(lab_end_send(&p.a, 1, 8), 0);
			drv_wire_flush(p.a.wires, 1, 0);
			while (p.b.got[0] <= i) {
				p.net.now += 300;
				lab_end_poll(&p.a);
				lab_end_poll(&p.b);
			}
			if (!answer_at_once) {
				lab_end_send(&p.b, 0, 8);
				drv_wire_flush(p.b.wires, 0, 0);
			}
			while (p.a.got[1] <= i) {
				p.net.now += 300;
				lab_end_poll(&p.a);
				lab_end_poll(&p.b);
			}
		}
		CHECK_EQ(p.net.kinds[DRV_FRAME_DATA], 2000);
		CHECK_EQ(p.net.kinds[DRV_FRAME_ACK], 0);
		CHECK_EQ(p.net.kinds[DRV_FRAME_HELLO] + p.net.kinds[DRV_FRAME_PROBE], control);
		CHECK_EQ(p.net.bursts - bursts, 2000);
		s = stat_of(&p.a, 1);
		CHECK_EQ(s.resent, 0);
		CHECK(s.rtt_ns > 3000 && s.rtt_ns < 6000);
		pair_close(&p);
	}
}

/* Send a run and wait until the peer has it. Returns how many frames were kept in their buffers. */
static uint64_t kept_by_run(struct pair *p, uint32_t number, uint32_t bytes)
{
	uint64_t before = p->net.kept;

	CHECK_EQ(lab_end_send(&p->a, 1, bytes), 0);
	drv_wire_flush(p->a.wires, 1, 0);
	while (p->b.got[0] <= number) {
		p->net.now += 300;
		lab_end_poll(&p->a);
		lab_end_poll(&p->b);
	}
	return p->net.kept - before;
}

/* Copying a short run costs less than keeping a buffer of the port for it. */
static void short_runs_are_copied_long_ones_kept(void)
{
	struct pair p;

	lab_net_init(&p.net);
	p.net.keep_max = 8;
	pair_open(&p, &plain);
	pair_ready(&p);
	CHECK_EQ(kept_by_run(&p, 0, 8), 0);
	CHECK_EQ(kept_by_run(&p, 1, 1000), 1);
	CHECK_EQ(kept_by_run(&p, 2, 8), 0);
	pair_close(&p);
}

/* A burst: the first run leaves at once, the others share frames, frames share bursts. */
static void burst_shares_frames(void)
{
	uint64_t frames, bursts, window;
	struct pair p;

	lab_net_init(&p.net);
	pair_open(&p, &plain);
	pair_ready(&p);
	frames = p.net.kinds[DRV_FRAME_DATA];
	for (int i = 0; i < 101; i++) {
		CHECK_EQ(lab_end_send(&p.a, 1, 8), 0);
		drv_wire_flush(p.a.wires, 1, 0);
	}
	CHECK_EQ(p.net.kinds[DRV_FRAME_DATA] - frames, 1);
	lab_end_poll(&p.a);
	CHECK_EQ(p.net.kinds[DRV_FRAME_DATA] - frames, 2);
	CHECK(lab_settle(&p.net, p.ends, 2, 1000) >= 0);
	/* Full frames: the first leaves, the others wait for company. */
	window = stat_of(&p.a, 1).window;
	frames = p.net.kinds[DRV_FRAME_DATA];
	bursts = p.net.bursts;
	for (int i = 0; i < 100; i++)
		CHECK_EQ(lab_end_send(&p.a, 1, 2900), 0);
	lab_end_poll(&p.a);
	CHECK(window >= 32);
	CHECK_EQ(p.net.kinds[DRV_FRAME_DATA] - frames, window < 34 ? window : 34);
	CHECK(p.net.bursts - bursts < 8);
	CHECK(lab_settle(&p.net, p.ends, 2, 1000) >= 0);
	CHECK_EQ(p.net.kinds[DRV_FRAME_DATA] - frames, 34);
	CHECK_EQ(p.b.got[0], 201);
	pair_close(&p);
}

/* One way only: few acknowledgements, at least 256 KiB on the way on a long path. */
static void stream_fills_a_long_path(void)
{
	struct drv_wire_stat s;
	uint64_t flying = 0, bytes;
	struct pair p;

	lab_net_init(&p.net);
	p.net.delay_ns = 300000;
	pair_open(&p, &plain);
	pair_ready(&p);
	while (p.a.sent[1] < 5000) {
		while (!lab_end_send(&p.a, 1, 4000))
			;
		lab_step(&p.net, p.ends, 2);
		bytes = 0;
		for (struct lab_flight *f = p.net.flights; f; f = f->next)
			bytes += f->bytes;
		flying = bytes > flying ? bytes : flying;
	}
	CHECK(lab_settle(&p.net, p.ends, 2, 100000) >= 0);
	CHECK_EQ(p.b.got[0], p.a.sent[1]);
	s = stat_of(&p.a, 1);
	CHECK_EQ(s.resent, 0);
	CHECK(flying > 900000 && flying <= 1100000);
	CHECK(stat_of(&p.b, 0).acks_bare < s.tx_frames / 8);
	pair_close(&p);
}

/* A single message one way is acknowledged a little later, and then nothing stirs any more. */
static void delayed_ack_then_silence(void)
{
	struct pair p;
	uint64_t start;

	lab_net_init(&p.net);
	pair_open(&p, &plain);
	pair_ready(&p);
	lab_end_send(&p.a, 1, 100);
	drv_wire_flush(p.a.wires, 1, 0);
	start = p.net.now;
	CHECK(!drv_wires_are_idle(p.a.wires));
	pair_acknowledged(&p);
	CHECK(p.net.now - start > 50000 && p.net.now - start < 100000);
	CHECK(lab_settle(&p.net, p.ends, 2, 100) >= 0);
	CHECK_EQ(p.net.kinds[DRV_FRAME_ACK], 1);
	CHECK_EQ(drv_wires_deadline(p.a.wires), UINT64_MAX);
	CHECK_EQ(drv_wires_deadline(p.b.wires), UINT64_MAX);
	CHECK_EQ(lab_step(&p.net, p.ends, 2), 0);
	pair_close(&p);
}

/* A peer that does not poll for 20 ms costs a few frames, not a flood. */
static void sleeping_receiver(void)
{
	struct drv_wire_stat s;
	struct pair p;

	lab_net_init(&p.net);
	pair_open(&p, &plain);
	pair_ready(&p);
	for (int round = 0; round < 20; round++) {
		uint64_t until = p.net.now + 20000000;

		for (int i = 0; i < 50; i++)
			lab_end_send(&p.a, 1, 3000);
		while (p.net.now < until) {
			p.net.now += 10000;
			lab_end_poll(&p.a);
		}
		CHECK(lab_settle(&p.net, p.ends, 2, 10000) >= 0);
	}
	CHECK_EQ(p.b.got[0], p.a.sent[1]);
	s = stat_of(&p.a, 1);
	CHECK(s.resent <= 20 * 6);
	CHECK(s.window >= 32);
	pair_close(&p);
}

/* A frame that is lost is sent again before the time-out when others follow it. */
static int lose_number;

static int lose_one(struct lab_net *net, int from, int to, unsigned char *data, uint32_t bytes)
{
	const struct drv_frame_header *h = (void *)data;

	(void)net, (void)from, (void)to, (void)bytes;
	return h->kind != DRV_FRAME_DATA || --lose_number;
}

static void gap_is_filled_at_once(void)
{
	struct pair p;
	uint64_t start;

	lab_net_init(&p.net);
	pair_open(&p, &plain);
	pair_ready(&p);
	lose_number = 4;
	p.net.filter = lose_one;
	start = p.net.now;
	for (int i = 0; i < 60; i++)
		CHECK_EQ(lab_end_send(&p.a, 1, 3000), 0);
	pair_acknowledged(&p);
	CHECK_EQ(p.b.got[0], 60);
	CHECK_EQ(stat_of(&p.a, 1).resent, 1);
	CHECK(p.net.now - start < 200000); /* time-out: 1 ms at least */
	pair_close(&p);
}

/* Frames that leave for `runs` handed in between two polls, and how many of them before the second.
 */
static uint64_t frames_of(struct pair *p, int runs, uint64_t *before_poll)
{
	uint64_t frames = p->net.kinds[DRV_FRAME_DATA];

	for (int i = 0; i < runs; i++) {
		CHECK_EQ(lab_end_send(&p->a, 1, 8), 0);
		drv_wire_flush(p->a.wires, 1, 0);
	}
	*before_poll = p->net.kinds[DRV_FRAME_DATA] - frames;
	lab_end_poll(&p->a);
	frames = p->net.kinds[DRV_FRAME_DATA] - frames;
	CHECK(lab_settle(&p->net, p->ends, 2, 1000) >= 0);
	return frames;
}

/* The first of a burst leaves at once, until bursts are what is to be expected. */
static void bursts_are_expected(void)
{
	uint64_t early;
	struct pair p;

	lab_net_init(&p.net);
	pair_open(&p, &plain);
	pair_ready(&p);
	for (int i = 0; i < 4; i++) {
		CHECK_EQ(frames_of(&p, 1, &early), 1);
		CHECK_EQ(early, 1);
	}
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(frames_of(&p, 32, &early), 2);
		CHECK_EQ(early, 1);
	}
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(frames_of(&p, 32, &early), 1);
		CHECK_EQ(early, 0);
	}
	/* A lone one is late once. */
	CHECK_EQ(frames_of(&p, 1, &early), 1);
	CHECK_EQ(early, 0);
	CHECK_EQ(frames_of(&p, 1, &early), 1);
	CHECK_EQ(early, 1);
	/* Nor is it late when its sender says that no poll comes soon. */
	for (int i = 0; i < 3; i++)
		frames_of(&p, 32, &early);
	CHECK_EQ(early, 0);
	drv_wires_end_bursts(p.a.wires);
	CHECK_EQ(frames_of(&p, 1, &early), 1);
	CHECK_EQ(early, 1);
	pair_close(&p);
}

static unsigned grown_runs, grown_bad;
static uint32_t grown_next;

/* Words that count on, in runs as long as they happen to be. */
static int take_grown(void *arg, uint32_t host, uint32_t kind, uint32_t tag,
		      const unsigned char *payload, uint32_t bytes)
{
	grown_runs++;
	grown_bad += host || kind != 9 || tag != 5 || bytes % 4 || !bytes;
	for (uint32_t at = 0, word; at + 4 <= bytes; at += 4) {
		memcpy(&word, payload + at, 4);
		grown_bad += word != grown_next++;
	}
	(void)arg;
	return 0;
}

static void runs_grow(void)
{
	struct drv_wires *a, *b;
	unsigned char *run = NULL;
	uint32_t joined = 0, n = 20000, sent = 0;
	struct pair p;

	lab_net_init(&p.net);
	pair_open(&p, &plain);
	pair_ready(&p);
	a = p.a.wires;
	b = p.b.wires;
	grown_runs = grown_bad = grown_next = 0;
	CHECK(!drv_wire_extend(a, 1, NULL, 4));
	for (int steps = 0; grown_next < n; steps++) {
		for (unsigned burst = (unsigned)drv_rng_below(t_rng(), 3000); burst && sent < n;
		     burst--) {
			unsigned char *at = drv_wire_extend(a, 1, run, 4);

			if (at) {
				memcpy(at, &sent, 4);
				drv_wire_extend_commit(a, 1, 4);
				joined++;
			} else {
				run = drv_wire_reserve(a, 1, 4);
				if (!run)
					break;
				memcpy(run, &sent, 4);
				drv_wire_commit(a, 1, 9, 5, 4);
				CHECK(!drv_wire_extend(a, 1, run + 16, 4)); /* not its run */
			}
			sent++;
			if (!drv_rng_below(t_rng(), 500)) {
				drv_wire_flush(a, 1, 1); /* its frame is closed */
				CHECK(!drv_wire_extend(a, 1, run, 4));
			}
		}
		p.net.now += 1000;
		drv_wires_poll(a, p.net.now, take_grown, NULL);
		drv_wires_poll(b, p.net.now, take_grown, NULL);
		REQUIRE(steps < 100000);
	}
	CHECK_EQ(grown_bad, 0);
	CHECK_EQ(grown_next, n);
	CHECK_EQ(grown_runs + joined, n);
	CHECK(joined > n / 2);
	CHECK_EQ(stat_of(&p.a, 1).tx_runs, grown_runs);
	pair_close(&p);
}

T_MAIN(T(ping_pong_needs_no_bare_acks), T(short_runs_are_copied_long_ones_kept),
       T(burst_shares_frames), T(stream_fills_a_long_path), T(delayed_ack_then_silence),
       T(sleeping_receiver), T(gap_is_filled_at_once), T(bursts_are_expected), T(runs_grow))
