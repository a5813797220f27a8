/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The batch of a channel (mu/engine/batch.h): messages leave in the order in which they came, each
 * once and whole, through batch, reception FIFO and list, also those that come while a dispatch
 * function runs and those that wait because software wants none now.
 */
#include <stdlib.h>
#include <string.h>

#include "mu/engine/engine.h"
#include "tests/harness/t.h"

enum { SOURCE = 3, LONG = 9000, ROUNDS = 2000, MANY = 20000, LINES = 16 };

static struct mu_clock_ops clock_ops; /* without locks */
static struct mu_process process = {.clock = &clock_ops, .queues = 1, .channels_open = {2}};
static struct mu_channel channel;
static uint32_t put, got;      /* messages so far */
static uint32_t more, stop_at; /* to put in each function; the function that stops */
static unsigned char data[LONG + 8];

static uint32_t bytes_of(uint32_t n)
{
	return n % 5 == 4 ? 513 + n % (LONG - 513) : n % 200;
}

static void number_soft(unsigned char *soft, uint32_t n)
{
	memset(soft, (int)(n & 0xff), MU_SOFT_BYTES);
	memcpy(soft, &n, sizeof n);
}

/* One message by itself. */
static void put_one(void)
{
	unsigned char soft[MU_SOFT_BYTES];
	MUHWI_PacketHeader_t h;
	uint32_t bytes = bytes_of(put) > 512 ? 512 : bytes_of(put);

	number_soft(soft, put);
	mu_header_short(&h, 0, 0, bytes, soft);
	CHECK_EQ(mu_receive_record(&channel, &h, SOURCE, data + put % 8, bytes, 0), 0);
	put++;
}

/* A piece of more than a packet. Returns false if the batch has no room. */
static bool put_long(void)
{
	unsigned char soft[MU_SOFT_BYTES];

	number_soft(soft, put);
	if (!mu_batch_put(&channel, SOURCE, soft, 64, data + put % 8, bytes_of(put)))
		return false;
	put++;
	return true;
}

/* A run of `count` short messages. Returns false if the batch has no room. */
static bool put_run(uint32_t count)
{
	unsigned char run[4096];
	uint32_t at = 0, n = put;

	for (; n < put + count && bytes_of(n) <= 512; n++) {
		uint16_t bytes = (uint16_t)bytes_of(n);

		REQUIRE(at + mu_short_bytes(bytes) <= sizeof run);
		memcpy(run + at, &bytes, 2);
		number_soft(run + at + 2, n);
		memcpy(run + at + MU_SHORT_HEAD, data + n % 8, bytes);
		at += mu_short_bytes(bytes);
	}
	if (!at || !mu_batch_put_shorts(&channel, SOURCE, run, at))
		return false;
	put = n;
	return true;
}

static void put_any(void)
{
	if (bytes_of(put) > 512 ? !put_long() : !put_run(3))
		put_one();
}

static void on_message(void *arg, uint32_t source, const unsigned char *soft,
		       const unsigned char *payload, uint32_t bytes, uint64_t offset)
{
	unsigned char want[MU_SOFT_BYTES];
	uint32_t n = got++;

	number_soft(want, n);
	CHECK_EQ(arg == &channel, 1);
	CHECK_EQ(source, SOURCE);
	CHECK(!memcmp(soft, want, sizeof want));
	CHECK(bytes == bytes_of(n) || (bytes == 512 && bytes_of(n) > 512 && !offset));
	for (uint32_t i = 0; i < more; i++)
		put_any();
	/* What the function got stays where it is. */
	CHECK(!memcmp(soft, want, sizeof want));
	CHECK(!memcmp(payload, data + n % 8, bytes));
	if (got == stop_at)
		mu_channel_allow_dispatch(&channel, false);
}

static void begin(void)
{
	const size_t area_bytes = (sizeof *channel.a + LINES * DRV_RING_LINE + 4095) & ~4095ul;

	for (uint32_t i = 0; i < sizeof data; i++)
		data[i] = (unsigned char)(i * 7 + i / 251);
	memset(&channel, 0, sizeof channel);
	channel.p = &process;
	channel.receive = on_message;
	channel.arg = &channel;
	channel.rx.spill_last = &channel.rx.spill_first;
	channel.a = aligned_alloc(4096, area_bytes);
	REQUIRE(channel.a);
	memset(channel.a, 0, area_bytes);
	drv_ring_init(&channel.a->ring, LINES);
	put = got = more = 0;
	stop_at = UINT32_MAX;
}

static void end(void)
{
	CHECK_EQ(got, put);
	CHECK(!mu_has_stored_records(&channel));
	free(channel.rx.batch.memory);
	free(channel.rx.fifo);
	free(channel.rx.fifo_source);
	free(channel.rx.fifo_memory);
	free(channel.a);
}

static void runs_and_pieces_keep_their_order(void)
{
	begin();
	for (uint32_t i = 0; i < ROUNDS; i++) {
		for (uint32_t k = 0; k < i % 9; k++)
			put_any();
		mu_engine_receive(&channel, 32, 1);
		CHECK_EQ(got, put);
		CHECK_EQ(channel.rx.batch.end, 0);
	}
	end();
}

static void overflow_follows_the_batch(void)
{
	begin();
	for (uint32_t i = 0; i < MANY; i++)
		put_any();
	CHECK(mu_has_queued_records(&channel));
	CHECK(channel.rx.spill_first);
	CHECK(!put_run(1));
	mu_engine_receive(&channel, 32, 1);
	end();
}

static void functions_may_put_more(void)
{
	begin();
	more = 2;
	put_any();
	while (put < MANY && got < put) {
		stop_at = got + 100;
		mu_engine_receive(&channel, 32, 1);
		mu_channel_allow_dispatch(&channel, true);
	}
	CHECK(mu_has_queued_records(&channel));
	more = 0;
	stop_at = UINT32_MAX;
	mu_engine_receive(&channel, 32, 1);
	end();
}

static void stop_in_a_run_goes_on_behind(void)
{
	begin();
	CHECK(put_run(4));
	stop_at = 2;
	mu_engine_receive(&channel, 32, 1);
	CHECK_EQ(got, 2);
	put_any();
	mu_engine_receive(&channel, 32, 1);
	CHECK_EQ(got, 2);
	mu_channel_allow_dispatch(&channel, true);
	mu_engine_receive(&channel, 32, 1);
	end();
}

static void short_rest_is_refused(void)
{
	unsigned char run[64] = {0};
	uint16_t bytes = 100; /* more than there is */

	begin();
	memcpy(run + MU_SHORT_HEAD, &bytes, 2);
	number_soft(run + 2, 0);
	CHECK(mu_batch_put_shorts(&channel, SOURCE, run, 40));
	put++; /* the first message, of no bytes */
	put += put_run(1) ? 0 : 1;
	mu_engine_receive(&channel, 32, 1);
	CHECK_EQ(channel.engine.refused, 1);
	CHECK(mu_batch_put_shorts(&channel, SOURCE, run, 7)); /* not even a head */
	mu_engine_receive(&channel, 32, 1);
	CHECK_EQ(channel.engine.refused, 2);
	end();
}

T_MAIN(T(runs_and_pieces_keep_their_order), T(overflow_follows_the_batch),
       T(functions_may_put_more), T(stop_in_a_run_goes_on_behind), T(short_rest_is_refused))
