/* SPDX-License-Identifier: BSD-3-Clause */
/* drivers/frame.h, drivers/base/crc32c.h: every error is told from every other; the two ways agree.
 */
#include "drivers/frame.h"

#include <stdlib.h>
#include <string.h>

#include "drivers/base/crc32c.h"
#include "tests/harness/t.h"

#define ROOM 1024

static _Alignas(16) unsigned char frame[ROOM];

/* A DATA frame with runs of these sizes (ended by -1). */
static struct drv_frame_header *data_frame(const int *sizes)
{
	struct drv_frame_header *h = (void *)frame;
	uint32_t at = DRV_FRAME_HEADER;

	memset(frame, 0, sizeof frame);
	for (uint32_t i = 0; sizes[i] >= 0; i++) {
		struct drv_frame_run *run = (void *)(frame + at);

		*run = (struct drv_frame_run){
		    .bytes = (uint32_t)sizes[i], .kind = (uint16_t)i, .tag = 100 + i};
		at += DRV_FRAME_RUN + drv_frame_round(run->bytes);
	}
	*h = (struct drv_frame_header){.magic = DRV_FRAME_MAGIC,
				       .version = DRV_FRAME_VERSION,
				       .kind = DRV_FRAME_DATA,
				       .bytes = (uint16_t)at,
				       .from = 1};
	return h;
}

static enum drv_frame_error check_frame(uint32_t bytes)
{
	return drv_frame_check(frame, bytes, 0);
}

static const int three[] = {5, 0, 64, -1};

static void runs_come_back(void)
{
	struct drv_frame_header *h = data_frame(three);
	const struct drv_frame_run *run;
	uint32_t at = 0, i = 0, bytes;

	CHECK_EQ(h->bytes, 64 + 32 + 16 + 80);
	CHECK_EQ(check_frame(h->bytes), DRV_FRAME_OK);
	CHECK_EQ(check_frame(ROOM), DRV_FRAME_OK); /* a port may pad */
	for (; (run = drv_frame_run_next(frame, h->bytes, &at, &bytes)); i++) {
		CHECK_EQ(run->bytes, (uint32_t)three[i]);
		CHECK_EQ(bytes, (uint32_t)three[i]);
		CHECK_EQ(run->kind, i);
		CHECK_EQ(run->tag, 100 + i);
	}
	CHECK_EQ(i, 3);
}

/* In shared memory the sender can change a frame behind the check. */
static void runs_that_change_stay_inside(void)
{
	static const uint32_t length[] = {81, 96, 97, 0x7fffffff, 0xfffffff0, UINT32_MAX};
	struct drv_frame_header *h = data_frame(three);
	const uint32_t all = h->bytes;

	for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
		struct drv_frame_run *first = (void *)(frame + DRV_FRAME_HEADER);
		uint32_t at = 0, bytes = 0;

		data_frame(three);
		REQUIRE_EQ(check_frame(all), DRV_FRAME_OK);
		h->bytes = UINT16_MAX;
		first->bytes = length[i];
		while (drv_frame_run_next(frame, all, &at, &bytes))
			CHECK(at <= drv_frame_round(all) && bytes < all);
		CHECK(at <= drv_frame_round(all));
		/* A frame whose own length changed, to one that no frame has. */
		at = 0;
		CHECK(!drv_frame_run_next(frame, DRV_FRAME_HEADER + 15, &at, &bytes));
	}
}

static void header_errors(void)
{
	struct drv_frame_header *h = data_frame(three), good = *h;
	uint32_t bytes = h->bytes;

	for (uint32_t n = 0; n < bytes; n++)
		CHECK_EQ(check_frame(n), DRV_FRAME_SHORT);
	h->magic++;
	CHECK_EQ(check_frame(bytes), DRV_FRAME_FOREIGN);
	h->magic = __builtin_bswap32(DRV_FRAME_MAGIC);
	CHECK_EQ(check_frame(bytes), DRV_FRAME_BYTE_ORDER);
	*h = good;
	h->version++;
	CHECK_EQ(check_frame(bytes), DRV_FRAME_RELEASE);
	*h = good;
	h->flags = DRV_FRAME_SEALED;
	CHECK_EQ(check_frame(bytes), DRV_FRAME_NO_KEY);
	h->flags = DRV_FRAME_HIDDEN;
	CHECK_EQ(check_frame(bytes), DRV_FRAME_MALFORMED);
	h->flags = DRV_FRAME_FLAGS + 1;
	CHECK_EQ(check_frame(bytes), DRV_FRAME_MALFORMED);
	*h = good;
	h->from = 0;
	CHECK_EQ(check_frame(bytes), DRV_FRAME_MALFORMED);
	*h = good;
	h->bytes -= 8;
	CHECK_EQ(check_frame(bytes), DRV_FRAME_MALFORMED);
	h->bytes = 48;
	CHECK_EQ(check_frame(bytes), DRV_FRAME_MALFORMED);
	*h = good;
	CHECK_EQ(check_frame(bytes), DRV_FRAME_OK);
	CHECK_EQ(drv_frame_check(frame, bytes, 1), DRV_FRAME_UNCHECKED);
}

static void kind_errors(void)
{
	struct drv_frame_header *h = data_frame(three);
	uint32_t bytes = h->bytes;
	struct drv_frame_note *note = (void *)(frame + DRV_FRAME_HEADER);

	for (int kind = 0; kind < 256; kind++) {
		if (kind == DRV_FRAME_DATA)
			continue;
		h->kind = (uint8_t)kind; /* bytes fit DATA only; the others want a checksum */
		drv_frame_add_checksum(frame);
		CHECK_EQ(check_frame(bytes), DRV_FRAME_MALFORMED);
	}
	h->bytes = DRV_FRAME_HEADER;
	h->kind = DRV_FRAME_DATA; /* a DATA frame has runs */
	drv_frame_add_checksum(frame);
	CHECK_EQ(check_frame(bytes), DRV_FRAME_MALFORMED);
	h->kind = DRV_FRAME_BYE;
	drv_frame_add_checksum(frame);
	CHECK_EQ(check_frame(bytes), DRV_FRAME_OK);
	h->flags = 0;
	CHECK_EQ(check_frame(bytes), DRV_FRAME_UNCHECKED);
	h->kind = DRV_FRAME_ACK;
	CHECK_EQ(check_frame(bytes), DRV_FRAME_OK);
	h->kind = DRV_FRAME_PROBE;
	h->bytes = 160;
	note->frame_bytes = 160;
	drv_frame_add_checksum(frame);
	CHECK_EQ(check_frame(bytes), DRV_FRAME_OK);
	note->frame_bytes = 176;
	drv_frame_add_checksum(frame);
	CHECK_EQ(check_frame(bytes), DRV_FRAME_MALFORMED);
}

static void run_errors(void)
{
	static const uint32_t wrong[] = {81, 96, 0x7fffffff, 0xfffffff0, 0xffffffff};
	struct drv_frame_header *h = data_frame(three);
	struct drv_frame_run *last = (void *)(frame + 64 + 32 + 16);

	for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		last->bytes = wrong[i];
		CHECK_EQ(check_frame(ROOM), DRV_FRAME_MALFORMED);
	}
	last->bytes = 65; /* its padding would be outside */
	CHECK_EQ(check_frame(ROOM), DRV_FRAME_MALFORMED);
	last->bytes = 49; /* less than before, same lines */
	CHECK_EQ(check_frame(ROOM), DRV_FRAME_OK);
	last->zero = 1;
	CHECK_EQ(check_frame(ROOM), DRV_FRAME_MALFORMED);
	last->zero = 0;
	last->zero2 = 1;
	CHECK_EQ(check_frame(ROOM), DRV_FRAME_MALFORMED);
	(void)h;
}

/* Any change of up to 32 neighbouring bits is found, wherever it is. */
static void checksum_finds_changes(void)
{
	struct drv_frame_header *h = data_frame(three);
	uint32_t bytes = h->bytes;

	for (uint32_t i = DRV_FRAME_HEADER; i < bytes; i++)
		frame[i] |= (unsigned char)(i * 7); /* runs need not be sound for this */
	drv_frame_add_checksum(frame);
	for (uint32_t i = 0; i + 4 <= bytes; i++) {
		unsigned char before[4];
		enum drv_frame_error error;

		memcpy(before, frame + i, 4);
		for (int k = 0; k < 4; k++)
			frame[i + (uint32_t)k] ^= (unsigned char)(1 + drv_rng_below(t_rng(), 255));
		error = drv_frame_check(frame, bytes, 1);
		CHECK(error != DRV_FRAME_OK);
		if (i >= 20) /* else magic, version or size say so first */
			CHECK_EQ(error, DRV_FRAME_CORRUPT);
		memcpy(frame + i, before, 4);
	}
}

static void crc_is_the_standard_one(void)
{
	unsigned char zeros[32] = {0}, ones[32], up[32];

	memset(ones, 0xff, sizeof ones);
	for (unsigned i = 0; i < 32; i++)
		up[i] = (unsigned char)i;
	/* RFC 3720, appendix B.4. */
	CHECK_EQ(drv_crc32c_plain(0, zeros, 32), 0x8a9136aa);
	CHECK_EQ(drv_crc32c_plain(0, ones, 32), 0x62a8ab43);
	CHECK_EQ(drv_crc32c_plain(0, up, 32), 0x46dd794e);
	CHECK_EQ(drv_crc32c(0, "123456789", 9), 0xe3069283);
}

static void crc_two_ways_agree(void)
{
	static unsigned char data[20000];
	uint32_t hard = 0;

	if (drv_crc32c_instruction(&hard, data, 0))
		T_SKIP("this processor has no CRC-32C instruction");
	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (unsigned char)drv_rng_next(t_rng());
	for (int i = 0; i < 2000; i++) {
		size_t at = drv_rng_below(t_rng(), 64),
		       n = drv_rng_below(t_rng(), i % 8 ? 300 : sizeof data - 64);
		uint32_t first = (uint32_t)drv_rng_next(t_rng());

		hard = first;
		CHECK_EQ(drv_crc32c_instruction(&hard, data + at, n), 0);
		CHECK_EQ(hard, drv_crc32c_plain(first, data + at, n));
		/* In two pieces it is the same. */
		CHECK_EQ(
		    drv_crc32c(drv_crc32c(first, data + at, n / 3), data + at + n / 3, n - n / 3),
		    hard);
	}
}

/* The sum of a line is that of the same bytes with 0 in the blank word, wherever that is. */
static void crc_of_a_line_leaves_out_a_word(void)
{
	unsigned char line[64], blanked[64];

	for (int round = 0; round < 100; round++)
		for (unsigned blank = 0; blank < sizeof line; blank += 4) {
			for (size_t i = 0; i < sizeof line; i++)
				line[i] = (unsigned char)drv_rng_next(t_rng());
			memcpy(blanked, line, sizeof line);
			memset(blanked + blank, 0, 4);
			CHECK_EQ(drv_crc32c_line(line, blank),
				 drv_crc32c_plain(0, blanked, sizeof blanked));
		}
}

static void every_error_has_a_text(void)
{
	for (int i = 0; i < DRV_FRAME_ERRORS; i++)
		CHECK(strlen(drv_frame_error_text((enum drv_frame_error)i)) > 3);
	CHECK_STR(drv_frame_error_text(DRV_FRAME_ERRORS), "?");
}

T_MAIN(T(runs_come_back), T(runs_that_change_stay_inside), T(header_errors), T(kind_errors),
       T(run_errors), T(checksum_finds_changes), T(crc_is_the_standard_one), T(crc_two_ways_agree),
       T(crc_of_a_line_leaves_out_a_word), T(every_error_has_a_text))
