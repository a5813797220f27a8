/* SPDX-License-Identifier: BSD-3-Clause */
/* drivers/wire.h without a seal: one frame that was forged or damaged on the way. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/wire.h"
#include "tests/drivers/wire_pair.h"

static const struct drv_wire_conf plain = {.job = 77, .hosts = 2, .epoch = 1000};

static struct forgery {
	const char *what;
	int kind; /* DATA: the frame's own */
	uint32_t order, seen, from, known_epoch, flags;
	int32_t sequence;
	int sacks, same_life;
} forgeries[] = {
    {.what = "order ahead", .kind = DRV_FRAME_DATA, .order = 1000},
    {.what = "order far ahead", .kind = DRV_FRAME_DATA, .order = 0x40000000},
    {.what = "order half way round", .kind = DRV_FRAME_DATA, .order = 0x7fffff00},
    {.what = "seen ahead", .kind = DRV_FRAME_DATA, .seen = 1000},
    {.what = "seen far ahead", .kind = DRV_FRAME_DATA, .seen = 0x40000000},
    {.what = "seen half way round", .kind = DRV_FRAME_DATA, .seen = 0x7fffff00},
    {.what = "all acknowledged selectively", .kind = DRV_FRAME_ACK, .sacks = 1},
    {.what = "a later epoch", .kind = DRV_FRAME_HELLO, .from = 1},
    {.what = "a much later epoch", .kind = DRV_FRAME_HELLO, .from = 0x10000000},
    {.what = "a later epoch commits",
     .kind = DRV_FRAME_HELLO,
     .from = 1,
     .flags = DRV_FRAME_COMMIT,
     .sequence = -5},
    {.what = "a later epoch commits ahead",
     .kind = DRV_FRAME_HELLO,
     .from = 1,
     .flags = DRV_FRAME_COMMIT | DRV_FRAME_READY,
     .sequence = 5},
    {.what = "a later epoch of the same process goes back",
     .kind = DRV_FRAME_HELLO,
     .from = 1,
     .flags = DRV_FRAME_COMMIT | DRV_FRAME_READY,
     .sequence = -5,
     .same_life = 1},
    {.what = "a later epoch of the same process skips",
     .kind = DRV_FRAME_HELLO,
     .from = 1,
     .flags = DRV_FRAME_COMMIT | DRV_FRAME_READY,
     .sequence = 5,
     .same_life = 1},
    {.what = "a commit again", .kind = DRV_FRAME_HELLO, .flags = DRV_FRAME_COMMIT, .sequence = -5},
    {.what = "another process commits in the same epoch",
     .kind = DRV_FRAME_HELLO,
     .flags = DRV_FRAME_COMMIT | DRV_FRAME_READY | DRV_FRAME_ASK,
     .sequence = 5},
    {.what = "the same process commits ahead in the same epoch",
     .kind = DRV_FRAME_HELLO,
     .flags = DRV_FRAME_COMMIT | DRV_FRAME_READY | DRV_FRAME_ASK,
     .sequence = 5,
     .same_life = 1},
    {.what = "a later epoch of the same process claims to be new",
     .kind = DRV_FRAME_HELLO,
     .from = 1,
     .flags = DRV_FRAME_COMMIT | DRV_FRAME_READY | DRV_FRAME_FIRST,
     .sequence = 2,
     .same_life = 1},
    {.what = "the same process commits behind in the same epoch",
     .kind = DRV_FRAME_HELLO,
     .flags = DRV_FRAME_COMMIT | DRV_FRAME_ASK,
     .sequence = -5,
     .same_life = 1},
    {.what = "wants checksums", .kind = DRV_FRAME_HELLO, .flags = DRV_FRAME_CHECK_ME},
    {.what = "holds a later epoch",
     .kind = DRV_FRAME_HELLO,
     .known_epoch = 5,
     .flags = DRV_FRAME_ASK},
    {.what = "a later epoch holds a later one",
     .kind = DRV_FRAME_HELLO,
     .from = 3,
     .known_epoch = 5},
    {.what = "goodbye", .kind = DRV_FRAME_BYE},
    {.what = "goodbye, later", .kind = DRV_FRAME_BYE, .order = 1000},
};

static const struct forgery *forge_what; /* NULL: a bit is flipped */
static int forge_bit, forge_after;       /* frames of data that are left alone before it */
static int forge_kind, forged;
static uint64_t forge_life, forged_at; /* time of the forgery */

/*
 * A stuck wire starts again after 5 s and shakes hands within 0.2 s. Each of the two traffics that
 * follow the forgery ends with a second of silence, in which the idle wire asks once.
 */
#define STOPPED_NS (5200000000u + 2000000000u)

/* Replace one frame of data by the forged one; the wire sends the data again. */
static int forge_frame(struct lab_net *net, int from, int to, unsigned char *data, uint32_t bytes)
{
	struct drv_frame_header *h = (void *)data;
	struct drv_frame_note *note = (void *)(data + DRV_FRAME_HEADER);
	const struct forgery *f = forge_what;
	int sum = h->flags & (DRV_FRAME_CHECKED | DRV_FRAME_HEADER_CHECKED);

	(void)to;
	if (h->kind == DRV_FRAME_HELLO && from == 0)
		forge_life = note->life;
	if (from != 0 || forged || h->kind != forge_kind ||
	    (f && bytes < DRV_FRAME_HEADER + sizeof *note) || forge_after-- > 0)
		return 1;
	forged = 1;
	forged_at = net->now;
	if (!f) {
		data[forge_bit / 8] ^= (unsigned char)(1 << forge_bit % 8);
		return 1;
	}
	h->order += f->order;
	h->seen += f->seen;
	h->from += f->from;
	h->sequence += (uint32_t)f->sequence;
	h->checksum = 0;
	if (f->kind == DRV_FRAME_DATA) {
		h->flags &= (uint16_t) ~(DRV_FRAME_CHECKED | DRV_FRAME_HEADER_CHECKED);
		if (sum)
			drv_frame_add_header_checksum(data);
		return 1;
	}
	h->kind = (uint8_t)f->kind;
	h->flags = (uint16_t)f->flags;
	h->bytes = DRV_FRAME_HEADER;
	if (f->sacks)
		h->sack[0] = h->sack[1] = UINT64_MAX;
	if (f->kind == DRV_FRAME_HELLO) {
		*note = (struct drv_frame_note){.frame_bytes = 8992,
						.window = 256,
						.known_epoch =
						    f->known_epoch ? h->to + f->known_epoch : 0,
						.life = f->same_life ? forge_life : 12345};
		h->bytes += sizeof *note;
	}
	drv_frame_add_checksum(data);
	return 1;
}

/* Everything arrives once and in order, whatever the frame made the ends believe. */
static void forge_one(const struct forgery *f, int kind, int bit, int after,
		      enum drv_wire_checksum checksum)
{
	struct drv_wire_conf c = plain;
	struct pair p;
	int before = t_failures();
	uint32_t sent;

	lab_net_init(&p.net);
	c.checksum = checksum;
	c.frame_bytes = 1200;
	pair_open(&p, &c);
	forge_what = f;
	forge_kind = kind;
	forge_bit = bit;
	forge_after = after;
	forged = 0;
	p.net.filter = forge_frame;
	/* Messages share frames, so 40 messages may leave in fewer frames than `after`. */
	for (sent = 40; sent == 40 || (!forged && sent < 4000); sent += 20)
		run_traffic(&p, sent, 500);
	p.net.filter = NULL;
	run_traffic(&p, sent + 20, 500);
	CHECK(p.net.now - forged_at < STOPPED_NS);
	CHECK_EQ(forged, 1);
	if (t_failures() != before)
		fprintf(stderr, "failed: %s, bit %d, after %d, checksum %d\n",
			f ? f->what : "flipped", bit, after, checksum);
	pair_close(&p);
}

static void forged_frames(void)
{
	setenv("QUINTORUS_LOG", "error", 1); /* a wire that starts again says so */
	for (unsigned i = 0; i < sizeof forgeries / sizeof *forgeries; i++)
		for (int after = 0; after < 9; after += 4) {
			forge_one(&forgeries[i], DRV_FRAME_DATA, 0, after, DRV_WIRE_CHECKSUM_AUTO);
			forge_one(&forgeries[i], DRV_FRAME_DATA, 0, after, DRV_WIRE_CHECKSUM_OFF);
		}
	for (unsigned i = 0; i < sizeof forgeries / sizeof *forgeries; i++)
		if (forgeries[i].kind == DRV_FRAME_HELLO) /* in the place of one of the handshake */
			forge_one(&forgeries[i], DRV_FRAME_HELLO, 0, (int)i % 2,
				  DRV_WIRE_CHECKSUM_AUTO);
}

static void flipped_header_bits(void)
{
	for (int bit = 0; bit < 8 * (int)DRV_FRAME_HEADER; bit++) {
		forge_one(NULL, DRV_FRAME_DATA, bit, bit % 7, DRV_WIRE_CHECKSUM_AUTO);
		forge_one(NULL, DRV_FRAME_HELLO, bit, 0, DRV_WIRE_CHECKSUM_AUTO);
	}
}

static uint32_t data_frames, checked_frames;

static int count_checked(struct lab_net *net, int from, int to, unsigned char *data, uint32_t bytes)
{
	const struct drv_frame_header *h = (const void *)data;

	(void)net, (void)from, (void)to, (void)bytes;
	data_frames += h->kind == DRV_FRAME_DATA;
	checked_frames +=
	    h->kind == DRV_FRAME_DATA &&
	    (h->flags & (DRV_FRAME_CHECKED | DRV_FRAME_HEADER_CHECKED)) == DRV_FRAME_HEADER_CHECKED;
	return 1;
}

/* On a network each frame of data has a checksum of its header, unless the caller wants none. */
static void headers_have_a_checksum(void)
{
	for (int off = 0; off < 2; off++) {
		struct drv_wire_conf c = plain;
		struct pair p;

		lab_net_init(&p.net);
		c.checksum = off ? DRV_WIRE_CHECKSUM_OFF : DRV_WIRE_CHECKSUM_AUTO;
		pair_open(&p, &c);
		data_frames = checked_frames = 0;
		p.net.filter = count_checked;
		run_traffic(&p, 40, 500);
		CHECK(data_frames > 0);
		CHECK_EQ(checked_frames, off ? 0 : data_frames);
		pair_close(&p);
	}
}

/* Data of the first end vanishes until `forged` is set. */
static int lose_data(struct lab_net *net, int from, int to, unsigned char *data, uint32_t bytes)
{
	struct drv_frame_header *h = (void *)data;

	(void)net, (void)to, (void)bytes;
	return from != 0 || h->kind != DRV_FRAME_DATA || forged;
}

/* From the second end to the first one, of its first frame. */
static void forge_acknowledgement(struct drv_frame_header *h)
{
	*h = (struct drv_frame_header){.magic = DRV_FRAME_MAGIC,
				       .version = DRV_FRAME_VERSION,
				       .kind = DRV_FRAME_ACK,
				       .job = 77,
				       .source = 1,
				       .bytes = DRV_FRAME_HEADER,
				       .from = 1000,
				       .to = 1000,
				       .ack = 1};
	drv_frame_add_checksum((unsigned char *)h);
}

/* An acknowledgement of what was not received: data is lost, so the wire must say that it is
 * broken. */
static void forged_acknowledgement(void)
{
	struct drv_frame_header *h;
	struct drv_wire_conf c = plain;
	struct pair p;
	int rc = 0;
	static _Alignas(8) unsigned char frame[DRV_FRAME_HEADER];

	lab_net_init(&p.net);
	pair_open(&p, &c);
	pair_ready(&p);
	forged = 0;
	p.net.filter = lose_data;
	CHECK_EQ(lab_end_send(&p.a, 1, 100), 0);
	drv_wire_flush(p.a.wires, 1, 1);
	h = (void *)frame;
	forge_acknowledgement(h);
	lab_inject(&p.net, 1, 0, frame, sizeof frame);
	lab_step(&p.net, p.ends, 2);
	lab_end_poll(&p.a);
	CHECK(drv_wires_are_idle(p.a.wires)); /* it believes that the message has arrived */
	forged = 1;
	CHECK_EQ(lab_end_send(&p.a, 1, 100), 0);
	drv_wire_flush(p.a.wires, 1, 1);
	while (!rc && p.net.now < 120000000000u && lab_step(&p.net, p.ends, 2)) {
		rc = lab_end_poll(&p.a);
		rc = rc < 0 ? rc : lab_end_poll(&p.b);
		rc = rc < 0 ? rc : 0;
	}
	CHECK_EQ(rc, -EPROTO);
	CHECK(p.net.kinds[DRV_FRAME_HELLO] < 2000); /* no storm of answers to answers */
	CHECK_EQ(p.b.got[0], 0);                    /* nor was the second given out as the first */
	CHECK_EQ(p.b.wrong, 0);
	pair_close(&p);
}

/* The same where nothing follows: the sender must find out by itself, or both ends wait for ever.
 */
static void forged_acknowledgement_of_the_last_message(void)
{
	static _Alignas(8) unsigned char frame[DRV_FRAME_HEADER];
	struct drv_frame_header *h = (void *)frame;
	struct pair p;
	int rc = 0;

	lab_net_init(&p.net);
	pair_open(&p, &plain);
	pair_ready(&p);
	forged = 0;
	p.net.filter = lose_data;
	CHECK_EQ(lab_end_send(&p.a, 1, 100), 0);
	drv_wire_flush(p.a.wires, 1, 1);
	forge_acknowledgement(h);
	lab_inject(&p.net, 1, 0, frame, sizeof frame);
	while (!rc && lab_step(&p.net, p.ends, 2)) {
		rc = lab_end_poll(&p.a);
		rc = rc < 0 ? rc : 0;
	}
	CHECK_EQ(rc, -EPROTO);
	CHECK(p.net.now < 10000000000u);
	pair_close(&p);
}

static _Alignas(8) unsigned char kept_hello[DRV_FRAME_HEADER + sizeof(struct drv_frame_note)];
static uint32_t kept_bytes;

/* Keep the latest HELLO with which the first end committed to the life of the second one. */
static int keep_hello(struct lab_net *net, int from, int to, unsigned char *data, uint32_t bytes)
{
	const struct drv_frame_header *h = (const void *)data;

	(void)net, (void)to;
	if (from == 0 && h->kind == DRV_FRAME_HELLO && h->flags & DRV_FRAME_COMMIT &&
	    bytes <= sizeof kept_hello) {
		memcpy(kept_hello, data, bytes);
		kept_bytes = bytes;
	}
	return 1;
}

/* The peer has said goodbye. A copy of an earlier HELLO, which the network delivers now, does not
 * make it alive again. */
static void a_late_hello_opens_no_closed_wire(void)
{
	struct pair p;
	uint64_t data;

	lab_net_init(&p.net);
	kept_bytes = 0;
	p.net.filter = keep_hello;
	pair_open(&p, &plain);
	pair_ready(&p);
	REQUIRE(kept_bytes > 0);
	CHECK_EQ(lab_end_send(&p.a, 1, 100), 0);
	drv_wire_flush(p.a.wires, 1, 1);
	CHECK(lab_settle(&p.net, p.ends, 2, 1000) >= 0);
	lab_end_close(&p.a);
	for (int i = 0; i < 1000 && lab_step(&p.net, p.ends + 1, 1); i++)
		;
	CHECK(!stat_of(&p.b, 0).connected);
	lab_inject(&p.net, 0, 1, kept_hello, kept_bytes);
	data = p.net.kinds[DRV_FRAME_DATA];
	CHECK_EQ(lab_end_send(&p.b, 0, 100), 0);
	drv_wire_flush(p.b.wires, 0, 1);
	for (int i = 0; i < 1000 && lab_step(&p.net, p.ends + 1, 1); i++)
		;
	CHECK(!stat_of(&p.b, 0).connected);
	CHECK_EQ(p.net.kinds[DRV_FRAME_DATA], data); /* nothing is sent to an end that has left */
	pair_close(&p);
}

/* A goodbye that the peer did not say: the end that got it asks, and goes on within a second. */
static void a_forged_goodbye_is_undone_by_a_question(void)
{
	static _Alignas(8) unsigned char frame[DRV_FRAME_HEADER];
	struct drv_frame_header *h = (void *)frame;
	struct pair p;
	uint64_t at;

	lab_net_init(&p.net);
	pair_open(&p, &plain);
	pair_ready(&p);
	forge_acknowledgement(h);
	h->kind = DRV_FRAME_BYE;
	h->ack = 0;
	h->checksum = 0;
	drv_frame_add_checksum(frame);
	lab_inject(&p.net, 1, 0, frame, sizeof frame);
	at = p.net.now;
	for (int i = 0; i < 10 && stat_of(&p.a, 1).connected; i++)
		lab_step(&p.net, p.ends, 2);
	CHECK(!stat_of(&p.a, 1).connected); /* it was believed */
	for (int i = 0; i < 1000 && !stat_of(&p.a, 1).connected; i++)
		lab_step(&p.net, p.ends, 2);
	CHECK(stat_of(&p.a, 1).connected);
	CHECK(p.net.now - at < 1000000000u);
	run_traffic(&p, 40, 500);
	CHECK_EQ(stat_of(&p.a, 1).restarts + stat_of(&p.b, 0).restarts, 0);
	pair_close(&p);
}

/* A wire that fell idle asks once whether all has arrived, and then is silent. */
static void an_idle_wire_confirms_once(void)
{
	struct pair p;
	uint64_t before;

	lab_net_init(&p.net);
	pair_open(&p, &plain);
	pair_ready(&p);
	before = p.net.kinds[DRV_FRAME_HELLO];
	for (int i = 0; i < 10; i++) {
		CHECK_EQ(lab_end_send(&p.a, 1, 100), 0);
		drv_wire_flush(p.a.wires, 1, 1);
		lab_step(&p.net, p.ends, 2);
	}
	CHECK(lab_settle(&p.net, p.ends, 2, 1000) >= 0);
	CHECK_EQ(p.b.got[0], 10);
	CHECK_EQ(p.net.kinds[DRV_FRAME_HELLO] - before, 2); /* question and answer */
	pair_close(&p);
}

/* A receiver that takes nothing for a minute, but lives: the wire waits, and does not start again.
 */
static void a_slow_receiver_is_not_stuck(void)
{
	struct pair p;

	lab_net_init(&p.net);
	pair_open(&p, &plain);
	pair_ready(&p);
	p.b.refuse_all = 1;
	for (uint64_t until = p.net.now + 60000000000u; p.net.now < until;) {
		while (!lab_end_send(&p.a, 1, 1000))
			;
		REQUIRE(lab_step(&p.net, p.ends, 2));
	}
	CHECK_EQ(stat_of(&p.a, 1).restarts, 0);
	CHECK_EQ(stat_of(&p.b, 0).restarts, 0);
	p.b.refuse_all = 0;
	CHECK(lab_settle(&p.net, p.ends, 2, 100000) >= 0);
	CHECK_EQ(p.b.got[0], p.a.sent[1]);
	CHECK_EQ(p.b.wrong, 0);
	pair_close(&p);
}

/* What left place 0: a handshake that starts again has another epoch. */
struct epochs {
	uint32_t first;
	bool has_changed, drops;
};

static int note_epoch_of_0(struct lab_net *net, int from, int to, unsigned char *data,
			   uint32_t bytes)
{
	const struct drv_frame_header *h = (const void *)data;
	struct epochs *e = net->filter_arg;

	if (from != 0)
		return 1;
	e->first = e->first ? e->first : h->from;
	e->has_changed |= h->from != e->first;
	return !e->drops;
}

/* The machine stops for a minute while a frame is under way and frames come: nothing is stuck. */
static void a_pause_is_not_stuck(void)
{
	struct epochs e = {.drops = true};
	struct pair p;
	uint64_t until;

	lab_net_init(&p.net);
	pair_open(&p, &plain);
	pair_ready(&p);
	p.net.filter = note_epoch_of_0;
	p.net.filter_arg = &e;
	CHECK_EQ(lab_end_send(&p.a, 1, 100), 0);
	drv_wire_flush(p.a.wires, 1, 1);
	for (until = p.net.now + 500000000u; p.net.now < until;)
		REQUIRE(lab_step(&p.net, p.ends, 2));
	CHECK_EQ(lab_end_send(&p.b, 0, 100), 0);
	drv_wire_flush(p.b.wires, 0, 1);
	for (until = p.net.now + 500000000u; p.net.now < until;)
		REQUIRE(lab_step(&p.net, p.ends, 2));
	CHECK_EQ(p.a.got[1], 1);
	p.net.now += 60000000000u;
	lab_end_poll(&p.a);
	e.drops = false;
	CHECK(lab_settle(&p.net, p.ends, 2, 100000) >= 0);
	CHECK(!e.has_changed);
	CHECK_EQ(p.b.got[0], 1);
	CHECK_EQ(p.a.wrong + p.b.wrong, 0);
	pair_close(&p);
}

T_MAIN(T(a_slow_receiver_is_not_stuck), T(a_pause_is_not_stuck), T(forged_frames),
       T(flipped_header_bits), T(headers_have_a_checksum), T(forged_acknowledgement),
       T(forged_acknowledgement_of_the_last_message), T(an_idle_wire_confirms_once),
       T(a_late_hello_opens_no_closed_wire), T(a_forged_goodbye_is_undone_by_a_question))
