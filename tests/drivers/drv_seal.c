/* SPDX-License-Identifier: BSD-3-Clause */
/* drivers/seal.h: what a member of the job sent is taken once, what anybody else sends never. */
#include "drivers/seal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/wire.h"
#include "tests/drivers/wire_pair.h"

#define BODY_MOST 4096u

static const unsigned char key[DRV_SEAL_KEY_BYTES] = "0123456789abcde";
static _Alignas(16) unsigned char frame[DRV_FRAME_HEADER + BODY_MOST + DRV_FRAME_TRAILER];

static struct drv_seal *open_seal(enum drv_seal_kind kind, const unsigned char *with)
{
	struct drv_seal *s = NULL;

	REQUIRE_EQ(drv_seal_open(&s, kind, with), 0);
	return s;
}

static int is_built(void)
{
	struct drv_seal *s = NULL;
	int rc = drv_seal_open(&s, DRV_SEAL_AUTHENTICATED, key);

	drv_seal_close(s);
	return rc != -ENOENT;
}

#define NEEDS_CIPHER                                                                               \
	do {                                                                                       \
		if (!is_built())                                                                   \
			T_SKIP("built without OpenSSL");                                           \
	} while (0)

/* A DATA frame with one run of `bytes`, a multiple of 16, from host 1. */
static uint32_t make_frame(uint32_t bytes)
{
	struct drv_frame_header *h = (void *)frame;
	struct drv_frame_run *run = (void *)(frame + DRV_FRAME_HEADER);

	memset(frame, 0, sizeof frame);
	*h = (struct drv_frame_header){.magic = DRV_FRAME_MAGIC,
				       .version = DRV_FRAME_VERSION,
				       .kind = DRV_FRAME_DATA,
				       .job = 5,
				       .source = 1,
				       .from = 20,
				       .to = 9,
				       .sequence = 3};
	run->bytes = bytes;
	h->bytes = (uint16_t)(DRV_FRAME_HEADER + DRV_FRAME_RUN + bytes);
	for (uint32_t i = 0; i < bytes; i++)
		frame[DRV_FRAME_HEADER + DRV_FRAME_RUN + i] = (unsigned char)(i * 7);
	return h->bytes;
}

/* Everything that a receiver, host 2, looks at. */
static enum drv_frame_error check_received(struct drv_seal *s, uint32_t bytes)
{
	enum drv_frame_error error = drv_frame_check_header(frame, bytes);
	uint64_t number;

	error = error ? error : drv_seal_check(s, frame, 2, &number);
	return error ? error : drv_frame_check_rest(frame);
}

static void there_and_back(void)
{
	NEEDS_CIPHER;
	for (int kind = DRV_SEAL_AUTHENTICATED; kind <= DRV_SEAL_ENCRYPTED; kind++) {
		struct drv_seal *s = open_seal((enum drv_seal_kind)kind, key);
		struct drv_frame_header *h = (void *)frame;
		static unsigned char before[sizeof frame];
		uint64_t number = 0;

		for (uint32_t n = 0; n <= BODY_MOST - DRV_FRAME_RUN; n += n < 256 ? 16 : 640) {
			uint32_t bytes = make_frame(n);

			memcpy(before, frame, bytes);
			CHECK_EQ(drv_seal_frame(s, frame, 2, 1000 + n), 0);
			CHECK_EQ(h->bytes, bytes + DRV_FRAME_TRAILER);
			CHECK_EQ(!memcmp(before + 64, frame + 64, bytes - 64),
				 kind == DRV_SEAL_AUTHENTICATED);
			CHECK_EQ(drv_frame_check(frame, h->bytes, 0), DRV_FRAME_NO_KEY);
			CHECK_EQ(drv_frame_check_header(frame, h->bytes), DRV_FRAME_OK);
			CHECK_EQ(drv_seal_check(s, frame, 2, &number), DRV_FRAME_OK);
			CHECK_EQ(number, 1000 + n);
			CHECK_EQ(memcmp(before, frame, bytes), 0);
		}
		drv_seal_close(s);
	}
}

/* Not a bit of it may change, the header's neither. */
static void every_bit_counts(void)
{
	NEEDS_CIPHER;
	for (int kind = DRV_SEAL_AUTHENTICATED; kind <= DRV_SEAL_ENCRYPTED; kind++) {
		struct drv_seal *s = open_seal((enum drv_seal_kind)kind, key);
		uint32_t bytes;
		static unsigned char sealed[sizeof frame];

		make_frame(64);
		REQUIRE_EQ(drv_seal_frame(s, frame, 2, 77), 0);
		bytes = ((struct drv_frame_header *)frame)->bytes;
		memcpy(sealed, frame, bytes);
		for (uint32_t bit = 0; bit < 8 * bytes; bit++) {
			memcpy(frame, sealed, bytes);
			frame[bit / 8] ^= (unsigned char)(1u << bit % 8);
			CHECK(check_received(s, bytes) != DRV_FRAME_OK);
		}
		memcpy(frame, sealed, bytes);
		CHECK_EQ(check_received(s, bytes), DRV_FRAME_OK);
		drv_seal_close(s);
	}
}

static void frames_of_strangers_are_refused(void)
{
	static const unsigned char other[DRV_SEAL_KEY_BYTES] = "0123456789abcdf";
	struct drv_frame_header *h = (void *)frame;
	struct drv_seal *s, *stranger;
	uint32_t bytes = make_frame(64);

	NEEDS_CIPHER;
	s = open_seal(DRV_SEAL_AUTHENTICATED, key);
	stranger = open_seal(DRV_SEAL_ENCRYPTED, other);
	CHECK_EQ(check_received(s, bytes), DRV_FRAME_UNSEALED);
	drv_frame_add_checksum(frame);
	CHECK_EQ(check_received(s, bytes), DRV_FRAME_UNSEALED);
	make_frame(64);
	drv_seal_frame(stranger, frame, 2, 1);
	CHECK_EQ(check_received(s, h->bytes), DRV_FRAME_FORGED);
	make_frame(64);
	drv_seal_frame(s, frame, 3, 1); /* meant for another host */
	CHECK_EQ(check_received(s, h->bytes), DRV_FRAME_FORGED);
	make_frame(0);
	h->bytes = DRV_FRAME_HEADER; /* no room for a trailer */
	h->flags = DRV_FRAME_SEALED;
	CHECK_EQ(check_received(s, DRV_FRAME_HEADER), DRV_FRAME_FORGED);
	drv_seal_close(s);
	drv_seal_close(stranger);
	CHECK_EQ(drv_seal_open(&s, DRV_SEAL_NONE, key), -EINVAL);
}

/* Against a list of all numbers ever seen. */
static void window_against_a_list(void)
{
	enum { MOST = 1000000 };
	struct drv_seal_window w = {0};
	unsigned char *seen = calloc(1, MOST);
	uint64_t base = 1ull << 40, top = 0, taken = 0, old = 0;

	CHECK(drv_seal_is_fresh(&w, 5, base));
	seen[0] = 1;
	for (int i = 0; i < 60000; i++) {
		uint64_t reach = drv_rng_below(t_rng(), 3) ? 40 : 3000,
			 low = top > reach ? top - reach : 0;
		uint64_t n =
		    low +
		    drv_rng_below(t_rng(), top - low + (drv_rng_below(t_rng(), 50) ? 5 : 1500));
		int fresh;

		if (n >= MOST)
			break;
		fresh = n > top || (top - n < DRV_SEAL_WINDOW && !seen[n]);
		CHECK_EQ(drv_seal_is_fresh(&w, 5, base + n), fresh);
		old += n < top && fresh;
		taken += (uint64_t)fresh;
		seen[n] |= (unsigned char)fresh;
		top = n > top ? n : top;
	}
	CHECK(taken > 10000 && old > 1000);
	/* A later life begins anew, wherever; an earlier one is over. */
	CHECK(drv_seal_is_fresh(&w, 6, 3));
	CHECK(!drv_seal_is_fresh(&w, 6, 3));
	CHECK(!drv_seal_is_fresh(&w, 5, base + MOST));
	CHECK(drv_seal_is_fresh(&w, 6, 4));
	free(seen);
}

static struct drv_wire_conf sealed_conf(enum drv_seal_kind kind)
{
	struct drv_wire_conf c = {.job = 77, .hosts = 2, .epoch = 1000, .seal = kind};

	memcpy(c.key, key, sizeof key);
	return c;
}

static void run_sealed_storm(enum drv_seal_kind kind)
{
	struct drv_wire_conf c = sealed_conf(kind);
	struct pair p;

	NEEDS_CIPHER;
	lab_net_init(&p.net);
	p.net.loss = p.net.dup = p.net.reorder = 0.1;
	p.net.corrupt = 0.05;
	p.net.jitter_ns = 3000;
	pair_open(&p, &c);
	run_traffic(&p, t_long() ? 100000 : 4000, 1000);
	CHECK(p.net.corrupted > 0 && p.net.dups > 0);
	CHECK(stat_of(&p.a, 1).replays > 0);
	CHECK(stat_of(&p.a, 0).bad_frames > 0);
	pair_close(&p);
}

static void authenticated_in_a_storm(void)
{
	run_sealed_storm(DRV_SEAL_AUTHENTICATED);
}
static void encrypted_in_a_storm(void)
{
	run_sealed_storm(DRV_SEAL_ENCRYPTED);
}

/* Somebody who listens sends everything again, much later, also to the next life of its receiver.
 */
#define TAPE 64
static struct {
	unsigned char data[TAPE][DRV_FRAME_BYTES_MAX];
	uint32_t bytes[TAPE];
	unsigned count;
} * tape;

static int record_frame(struct lab_net *net, int from, int to, unsigned char *data, uint32_t bytes)
{
	(void)net, (void)to;
	if (from == 0 && tape->count < TAPE) {
		memcpy(tape->data[tape->count], data, bytes);
		tape->bytes[tape->count++] = bytes;
	}
	return 1;
}

static void replay_frames(struct pair *p, struct drv_port *from)
{
	int to = drv_port_peer(from, "lab/1");

	for (unsigned i = 0; i < tape->count; i++) {
		struct drv_frame f;

		REQUIRE_EQ(drv_port_tx_get(from, &f), 0);
		memcpy(f.data, tape->data[i], tape->bytes[i]);
		f.bytes = tape->bytes[i];
		f.peer = to;
		CHECK_EQ(drv_port_tx_send(from, &f, 1), 1);
	}
	for (int i = 0; i < 300; i++)
		lab_step(&p->net, &p->ends[1], 1);
}

static void sent_again_by_another(void)
{
	struct drv_wire_conf c = sealed_conf(DRV_SEAL_AUTHENTICATED);
	struct drv_wire_stat before, after;
	struct pair p;

	NEEDS_CIPHER;
	tape = calloc(1, sizeof *tape);
	REQUIRE(tape);
	lab_net_init(&p.net);
	p.net.filter = record_frame;
	pair_open(&p, &c);
	pair_ready(&p);
	run_traffic(&p, 30, 500);
	p.net.filter = NULL;
	before = stat_of(&p.b, 0);
	CHECK_EQ(before.replays, 0);
	replay_frames(&p, drv_wires_port(p.a.wires));
	after = stat_of(&p.b, 0);
	CHECK_EQ(after.replays, tape->count);
	CHECK_EQ(after.rx_runs, before.rx_runs);
	CHECK_EQ(after.duplicates, before.duplicates);
	run_traffic(&p, 60, 500);
	pair_close(&p);
	free(tape);
}

/* A life whose clock was set back connects all the same. */
static void a_clock_set_back(void)
{
	struct drv_wire_conf c = sealed_conf(DRV_SEAL_AUTHENTICATED);
	struct pair p;

	NEEDS_CIPHER;
	lab_net_init(&p.net);
	pair_open(&p, &c);
	run_traffic(&p, 50, 500);
	lab_end_close(&p.b);
	for (int i = 0; i < 20; i++)
		lab_step(&p.net, p.ends, 1);
	c.self = 1;
	c.epoch = 500;
	lab_end_open(&p.b, &p.net, &c);
	p.b.got[0] = p.a.sent[1];
	lab_end_connect(&p.b, 0);
	p.a.got[1] = 0;
	CHECK_EQ(lab_end_send(&p.b, 0, 100), 0);
	CHECK(lab_settle(&p.net, p.ends, 2, 10000) >= 0);
	CHECK_EQ(p.a.got[1], 1);
	CHECK_EQ(stat_of(&p.a, 1).restarts, 1);
	p.b.sent[0] = 1;
	run_traffic(&p, 100, 300);
	pair_close(&p);
}

/* One end sealed, the other not, or with another key: no connection, both count. */
static void ends_that_disagree(void)
{
	NEEDS_CIPHER;
	for (int other = 0; other < 2; other++) {
		struct drv_wire_conf c = sealed_conf(DRV_SEAL_AUTHENTICATED);
		struct pair p;

		lab_net_init(&p.net);
		lab_end_open(&p.a, &p.net, &c);
		c.self = 1;
		if (other)
			c.key[3] ^= 1;
		else
			c.seal = DRV_SEAL_NONE;
		lab_end_open(&p.b, &p.net, &c);
		p.ends[0] = &p.a;
		p.ends[1] = &p.b;
		lab_end_connect(&p.a, 1);
		lab_end_connect(&p.b, 0);
		CHECK_EQ(lab_end_send(&p.a, 1, 100), 0);
		for (int i = 0; i < 100; i++)
			lab_step(&p.net, p.ends, 2);
		CHECK_EQ(p.b.got[0], 0);
		CHECK(!stat_of(&p.a, 1).connected && !stat_of(&p.b, 0).connected);
		CHECK(stat_of(&p.a, 0).bad_frames > 0 && stat_of(&p.b, 1).bad_frames > 0);
		pair_close(&p);
	}
}

/* Keep the body of the first frame of data. */
static int keep_body(struct lab_net *net, int from, int to, unsigned char *data, uint32_t bytes)
{
	unsigned char *body = net->filter_arg;
	const struct drv_frame_header *h = (const void *)data;

	(void)from, (void)to;
	if (h->kind == DRV_FRAME_DATA && !body[0] && bytes >= DRV_FRAME_HEADER + 64) {
		body[0] = 1;
		memcpy(body + 1, data + DRV_FRAME_HEADER, 64);
	}
	return 1;
}

/*
 * Two queues of a pair of hosts send the same runs in frames with the same numbers. With one nonce
 * for both the ciphertexts would be the same. And an end of one queue takes no frame of another.
 */
static void queues_share_no_nonce(void)
{
	unsigned char body[2][65] = {{0}};

	NEEDS_CIPHER;
	for (uint32_t queue = 0; queue < 2; queue++) {
		struct drv_wire_conf c = sealed_conf(DRV_SEAL_ENCRYPTED);
		struct pair p;

		c.queue = queue;
		lab_net_init(&p.net);
		p.net.filter = keep_body;
		p.net.filter_arg = body[queue];
		pair_open(&p, &c);
		CHECK_EQ(lab_end_send(&p.a, 1, 100), 0);
		CHECK(lab_settle(&p.net, p.ends, 2, 10000) >= 0);
		CHECK_EQ(p.b.got[0], 1);
		pair_close(&p);
	}
	CHECK(body[0][0] && body[1][0]);
	CHECK(memcmp(body[0], body[1], sizeof body[0]) != 0);
}

static void queues_do_not_mix(void)
{
	struct drv_wire_conf c = {.job = 77, .hosts = 2, .epoch = 1000, .queue = 3};
	struct pair p;

	lab_net_init(&p.net);
	lab_end_open(&p.a, &p.net, &c);
	c.self = 1;
	c.queue = 2;
	lab_end_open(&p.b, &p.net, &c);
	p.ends[0] = &p.a;
	p.ends[1] = &p.b;
	lab_end_connect(&p.a, 1);
	lab_end_connect(&p.b, 0);
	CHECK_EQ(lab_end_send(&p.a, 1, 100), 0);
	for (int i = 0; i < 100; i++)
		lab_step(&p.net, p.ends, 2);
	CHECK_EQ(p.b.got[0], 0);
	CHECK(stat_of(&p.a, 0).wrong_job > 0 && stat_of(&p.b, 1).wrong_job > 0);
	pair_close(&p);
}

/* Longest frames and the search for their size: the trailer has its room. */
static void frame_sizes(void)
{
	struct drv_wire_conf c = sealed_conf(DRV_SEAL_ENCRYPTED);
	struct pair p;

	NEEDS_CIPHER;
	for (uint32_t path = 1500; path <= 9000; path += 2500) {
		lab_net_init(&p.net);
		p.net.path_bytes = path;
		pair_open(&p, &c);
		pair_ready(&p);
		CHECK(stat_of(&p.a, 1).frame_bytes + DRV_FRAME_TRAILER <= path);
		CHECK(stat_of(&p.a, 1).frame_bytes + DRV_FRAME_TRAILER + 96 > path);
		run_traffic(&p, 500,
			    stat_of(&p.a, 1).frame_bytes - DRV_FRAME_HEADER - DRV_FRAME_RUN - 16);
		pair_close(&p);
	}
}

T_MAIN(T(there_and_back), T(every_bit_counts), T(frames_of_strangers_are_refused),
       T(window_against_a_list), T(authenticated_in_a_storm), T(encrypted_in_a_storm),
       T(sent_again_by_another), T(a_clock_set_back), T(ends_that_disagree), T(frame_sizes),
       T(queues_share_no_nonce), T(queues_do_not_mix))
