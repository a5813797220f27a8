/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fault wrapper does to frames, and that it does it again. */
#include "drivers/port_fault.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/clock.h"
#include "tests/harness/t.h"

#define BYTES 64u

struct run {
	struct drv_port *from, *to;
	int peer;
	unsigned frames;
	unsigned char *seen; /* how often each number arrived whole */
	unsigned got, corrupted, swaps, farthest;
	uint32_t newest;
	uint64_t corrupt_sum; /* of all corrupted contents, whatever their order */
};

static void run_open(struct run *r, const char *faults, unsigned frames)
{
	char spec[256], text[DRV_PORT_ADDRESS_BYTES];

	memset(r, 0, sizeof *r);
	snprintf(spec, sizeof spec, "fault(%s)+loop:fault", faults);
	REQUIRE(!drv_port_open(spec, &r->from) && !drv_port_open("loop:fault", &r->to));
	REQUIRE(!drv_port_address(r->to, text, sizeof text));
	r->peer = drv_port_peer(r->from, text);
	REQUIRE(r->peer == 0);
	r->frames = frames;
	r->seen = calloc(frames, 1);
	REQUIRE(r->seen != NULL);
}

static void run_close(struct run *r)
{
	drv_port_close(r->from);
	drv_port_close(r->to);
	free(r->seen);
}

static unsigned char content_byte(uint32_t number, uint32_t i)
{
	return (unsigned char)((number * 2654435761u ^ number >> 16) >> 8 * (i & 3)) ^
	       (unsigned char)i;
}

static int run_send(struct run *r, uint32_t number)
{
	struct drv_frame f;

	if (drv_port_tx_get(r->from, &f))
		return -EAGAIN;
	f.bytes = BYTES;
	f.peer = r->peer;
	for (uint32_t i = 4; i < BYTES; i++)
		f.data[i] = content_byte(number, i);
	memcpy(f.data, &number, 4);
	if (drv_port_tx_send(r->from, &f, 1) == 1)
		return 0;
	drv_port_tx_put(r->from, &f);
	return -EAGAIN;
}

/* The changed bytes of a corrupted frame lie together, at most 8. */
static void run_corrupted(struct run *r, const struct drv_frame *f)
{
	uint64_t hash = 14695981039346656037u;

	for (uint32_t i = 0; i < BYTES; i++)
		hash = (hash ^ f->data[i]) * 1099511628211u;
	r->corrupted++;
	r->corrupt_sum += hash;
}

static void run_frame(struct run *r, const struct drv_frame *f)
{
	uint32_t number, i = 4;

	CHECK_EQ(f->bytes, BYTES);
	r->got++;
	memcpy(&number, f->data, 4);
	while (i < BYTES && f->data[i] == content_byte(number, i))
		i++;
	if (i < BYTES || number >= r->frames) {
		run_corrupted(r, f);
		return;
	}
	r->seen[number]++;
	if (number < r->newest) {
		r->swaps++;
		if (r->newest - number > r->farthest)
			r->farthest = r->newest - number;
	}
	if (number > r->newest)
		r->newest = number;
}

static unsigned run_drain(struct run *r)
{
	struct drv_frame f[DRV_PORT_BURST];
	unsigned got = 0;
	int n;

	drv_port_rx(r->from, f, 1); /* lets go of what is due */
	while ((n = drv_port_rx(r->to, f, DRV_PORT_BURST)) > 0) {
		for (int i = 0; i < n; i++)
			run_frame(r, &f[i]);
		drv_port_rx_done(r->to, f, (unsigned)n);
		got += (unsigned)n;
	}
	return got;
}

static uint64_t run_expected(const struct run *r)
{
	struct drv_fault_stat s;

	CHECK_EQ(drv_port_fault_stat(r->from, &s), 0);
	return s.frames - s.lost + s.duplicated;
}

/* Send all; receive after each, or only when the way is full. Ends when all that was not lost is
 * there. */
static void run_all(struct run *r, int lazy)
{
	uint64_t until;

	for (uint32_t i = 0; i < r->frames;) {
		int rc = run_send(r, i);

		i += !rc;
		if (rc || !lazy)
			run_drain(r);
	}
	until = drv_clock_ns() + 10000000000u;
	while (r->got < run_expected(r) && drv_clock_ns() < until)
		if (!run_drain(r))
			sched_yield();
	CHECK_EQ(r->got, run_expected(r));
}

/* n of N with probability p: within 5 standard deviations. */
static void rate_check(uint64_t n, double N, double p)
{
	CHECK(fabs((double)n - N * p) <= 5 * sqrt(N * p * (1 - p)));
}

static void rates_are_as_asked(void)
{
	struct drv_fault_stat s;
	struct run r;
	char faults[128];
	unsigned N = t_sanitized() ? 20000 : 100000;

	snprintf(faults, sizeof faults, "loss=0.1,dup=0.02,reorder=0.05,corrupt=0.01,seed=%llu",
		 (unsigned long long)t_seed());
	run_open(&r, faults, N);
	run_all(&r, 0);
	CHECK_EQ(drv_port_fault_stat(r.from, &s), 0);
	CHECK_EQ(s.frames, N);
	rate_check(s.lost, N, 0.1);
	rate_check(s.duplicated, N, 0.9 * 0.02);
	rate_check(s.reordered, N, 0.9 * 0.05);
	rate_check(s.corrupted, N, 0.9 * 0.01);
	CHECK_EQ(r.corrupted, s.corrupted);
	CHECK(r.swaps > 0);
	CHECK_EQ(r.from->stat.tx_frames, N);
	run_close(&r);
}

static void same_fate(const char *faults_a, int lazy_a, const char *faults_b, int lazy_b, int same)
{
	struct run a, b;

	run_open(&a, faults_a, 5000);
	run_open(&b, faults_b, 5000);
	run_all(&a, lazy_a);
	run_all(&b, lazy_b);
	CHECK_EQ(!memcmp(a.seen, b.seen, 5000) && a.corrupt_sum == b.corrupt_sum, same);
	run_close(&a);
	run_close(&b);
}

static void seed_repeats(void)
{
	const char *all = "loss=0.1,dup=0.1,reorder=0.1,corrupt=0.1,seed=5";

	same_fate(all, 0, all, 0, 1);
	same_fate(all, 0, all, 1, 1); /* and does not depend on when there is room */
	same_fate(all, 0, "loss=0.1,dup=0.1,reorder=0.1,corrupt=0.1,seed=6", 0, 0);
	same_fate(all, 0, "loss=0.1,dup=0.1,reorder=0.7,corrupt=0.1,delay_us=100,seed=5", 0, 1);
	same_fate("loss=0.1,seed=5", 0, "loss=0.1,reorder=0.5,seed=5", 1, 1);
}

static void loss_of_all(void)
{
	struct run r;

	run_open(&r, "loss=1", 5000);
	run_all(&r, 1);
	CHECK_EQ(r.got, 0);
	run_close(&r);
}

static void dup_of_all(void)
{
	struct run r;

	run_open(&r, "dup=1", 3000);
	run_all(&r, 0);
	for (unsigned i = 0; i < r.frames; i++)
		CHECK_EQ(r.seen[i], 2);
	CHECK_EQ(r.swaps, 0);
	run_close(&r);
}

static void corrupt_changes_few_bytes(void)
{
	struct run r;

	run_open(&r, "corrupt=1", 1);
	for (uint32_t k = 0; k < 2000; k++) {
		struct drv_frame f;
		uint32_t first = BYTES, last = 0;

		REQUIRE(run_send(&r, k) == 0);
		REQUIRE(drv_port_rx(r.to, &f, 1) == 1);
		CHECK_EQ(f.bytes, BYTES);
		for (uint32_t i = 0; i < BYTES; i++) {
			unsigned char right =
			    i < 4 ? (unsigned char)(k >> 8 * i) : content_byte(k, i);

			if (f.data[i] != right) {
				first = first == BYTES ? i : first;
				last = i;
			}
		}
		CHECK(first <= last && last - first < 8);
		drv_port_rx_done(r.to, &f, 1);
	}
	run_close(&r);
}

static void reorder_is_bounded(void)
{
	struct run r;

	run_open(&r, "reorder=0.3,seed=2", 5000);
	run_all(&r, 0);
	CHECK(r.swaps > 100);
	CHECK(r.farthest >= 2 && r.farthest <= 4);
	for (unsigned i = 0; i < r.frames; i++)
		CHECK_EQ(r.seen[i], 1);
	run_close(&r);
}

static void delay_is_kept(void)
{
	struct run r;
	uint64_t sent[50];

	run_open(&r, "delay_us=2000", 50);
	for (uint32_t i = 0; i < 50; i++) {
		sent[i] = drv_clock_ns();
		REQUIRE(run_send(&r, i) == 0);
	}
	for (uint32_t next = 0; next < 50;) {
		struct drv_frame f;

		drv_port_rx(r.from, &f, 1);
		if (drv_port_rx(r.to, &f, 1) != 1) {
			sched_yield();
			continue;
		}
		/* The port measures with the time-stamp counter, whose rate is good to 1e-3. */
		CHECK(drv_clock_ns() - sent[next] >= 2000000 - 2000);
		CHECK(!memcmp(f.data, &next, 4));
		drv_port_rx_done(r.to, &f, 1);
		next++;
	}
	CHECK(drv_port_arm(r.from) >= 0);
	run_close(&r);
}

static void held_frames_are_bounded(void)
{
	struct run r;
	uint32_t i = 0;

	run_open(&r, "delay_us=10000000", 5000);
	while (i < 5000 && !run_send(&r, i))
		i++;
	CHECK(i >= 100 && i < 5000);
	CHECK(r.from->stat.tx_busy > 0);
	CHECK_EQ(drv_port_arm(r.from), -ENOTSUP); /* who has frames to let go must tick */
	run_close(&r);                            /* with frames held */
}

static void wrappers_nest(void)
{
	struct run r;
	struct drv_fault_stat s;

	run_open(&r, "loss=0.5,seed=1)+fault(dup=1,seed=2", 4000);
	CHECK_EQ(drv_port_fault_stat(r.to, &s), -EINVAL);
	for (uint32_t i = 0; i < r.frames; i++) {
		while (run_send(&r, i))
			run_drain(&r);
		run_drain(&r);
	}
	CHECK_EQ(drv_port_fault_stat(r.from, &s), 0);
	CHECK_EQ(r.got, 2 * (s.frames - s.lost));
	run_close(&r);
}

/* Send n frames; returns how many arrived at once. */
static unsigned send_some(struct run *r, uint32_t *number, unsigned n)
{
	unsigned got = r->got;

	for (unsigned i = 0; i < n; i++) {
		REQUIRE(run_send(r, (*number)++) == 0);
		run_drain(r);
	}
	return r->got - got;
}

/* Rules hold at their times, and for their host. */
static void rules_have_times_and_hosts(void)
{
	struct drv_fault_rule cut = {.kind = DRV_FAULT_CUT, .host = 3, .end_ns = UINT64_MAX};
	struct drv_fault_rule over = {.kind = DRV_FAULT_LOSS,
				      .value = 1,
				      .host = DRV_FAULT_ANY_HOST,
				      .end_ns = drv_clock_ns()};
	struct drv_fault_rule dup = {
	    .kind = DRV_FAULT_DUP, .value = 1, .host = DRV_FAULT_ANY_HOST, .end_ns = UINT64_MAX};
	struct drv_fault_rule slow = {.kind = DRV_FAULT_RATE,
				      .value = 1e-5, /* 6.4 ms a frame */
				      .host = 4,
				      .end_ns = UINT64_MAX};
	char text[DRV_PORT_ADDRESS_BYTES];
	uint32_t number = 0;
	uint64_t start;
	struct run r;

	run_open(&r, "", 100);
	REQUIRE(!drv_port_address(r.to, text, sizeof text));
	CHECK_EQ(drv_port_fault_rule(r.to, &cut), -EINVAL);
	CHECK_EQ(drv_port_fault_host(r.to, text, 3), -EINVAL);
	CHECK_EQ(drv_port_fault_rule(r.from, &cut), 0);
	CHECK_EQ(drv_port_fault_rule(r.from, &over), 0);
	CHECK_EQ(send_some(&r, &number, 10), 10); /* the peer is no host yet */
	CHECK_EQ(drv_port_fault_host(r.from, text, 3), 0);
	CHECK_EQ(send_some(&r, &number, 10), 0);
	CHECK_EQ(drv_port_fault_host(r.from, text, 4), 0);
	CHECK_EQ(drv_port_fault_rule(r.from, &slow), 0);
	start = drv_clock_ns();
	send_some(&r, &number, 10);
	while (r.got < 20)
		run_drain(&r);
	CHECK(drv_clock_ns() - start >= 63000000);
	CHECK_EQ(drv_port_fault_host(r.from, text, 5), 0);
	CHECK_EQ(drv_port_fault_rule(r.from, &dup), 0);
	send_some(&r, &number, 10);
	while (r.got < 40)
		run_drain(&r);
	CHECK_EQ(r.swaps, 0);
	run_close(&r);
}

T_MAIN(T(rules_have_times_and_hosts), T(rates_are_as_asked), T(seed_repeats), T(loss_of_all),
       T(dup_of_all), T(corrupt_changes_few_bytes), T(reorder_is_bounded), T(delay_is_kept),
       T(held_frames_are_bounded), T(wrappers_nest))
