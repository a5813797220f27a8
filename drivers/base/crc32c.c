/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/base/crc32c.h"

#include <string.h>
#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

#define POLYNOMIAL 0x82f63b78u
#define LINE       64u
#define STREAM     1024u /* bytes of each of the three streams that are summed in parallel */

static uint32_t byte_table[256];
/* [byte of the sum][its value]: the sum after STREAM zero bytes. */
static uint32_t skip_table[4][256];

static uint32_t sum_byte(uint32_t crc, unsigned char byte)
{
	return byte_table[(crc ^ byte) & 0xff] ^ crc >> 8;
}

__attribute__((constructor)) static void make_tables(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int bit = 0; bit < 8; bit++)
			c = c & 1 ? c >> 1 ^ POLYNOMIAL : c >> 1;
		byte_table[i] = c;
	}
	/*
	 * Skipping zero bytes is linear: compute it for each single bit; all other values are sums
	 * of those.
	 */
	for (int k = 0; k < 4; k++)
		for (int bit = 0; bit < 8; bit++) {
			uint32_t c = 1u << (8 * k + bit);

			for (unsigned i = 0; i < STREAM; i++)
				c = sum_byte(c, 0);
			for (uint32_t low = 0; low < 1u << bit; low++)
				skip_table[k][1u << bit | low] = skip_table[k][low] ^ c;
		}
}

uint32_t drv_crc32c_plain(uint32_t crc, const void *data, size_t bytes)
{
	const unsigned char *p = data;

	crc = ~crc;
	while (bytes--)
		crc = sum_byte(crc, *p++);
	return ~crc;
}

#if defined(__x86_64__)

static uint32_t skip_stream(uint32_t c)
{
	return skip_table[0][c & 0xff] ^ skip_table[1][c >> 8 & 0xff] ^
	       skip_table[2][c >> 16 & 0xff] ^ skip_table[3][c >> 24];
}

static uint64_t load_word(const unsigned char *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof w);
	return w;
}

/*
 * The instruction takes 3 cycles but one can start each cycle, so three streams keep the unit busy.
 */
__attribute__((target("sse4.2"))) static uint32_t
sum_by_instruction(uint32_t crc, const unsigned char *p, size_t bytes)
{
	uint64_t a = ~crc;

	while (bytes >= 3 * STREAM) {
		uint64_t b = 0, c = 0;

		for (unsigned i = 0; i < STREAM; i += 8) {
			a = _mm_crc32_u64(a, load_word(p + i));
			b = _mm_crc32_u64(b, load_word(p + STREAM + i));
			c = _mm_crc32_u64(c, load_word(p + 2 * STREAM + i));
		}
		a = skip_stream(skip_stream((uint32_t)a) ^ (uint32_t)b) ^ (uint32_t)c;
		p += 3 * STREAM;
		bytes -= 3 * STREAM;
	}
	for (; bytes >= 8; bytes -= 8, p += 8)
		a = _mm_crc32_u64(a, load_word(p));
	for (; bytes; bytes--)
		a = _mm_crc32_u8((uint32_t)a, *p++);
	return ~(uint32_t)a;
}

/*
 * Without a loop, and without a copy that has the blank: a word of which a part has just been
 * stored cannot be read at once.
 */
__attribute__((target("sse4.2"))) static uint32_t sum_line_by_instruction(const unsigned char *p,
									  unsigned blank)
{
	const uint64_t shown = ~(0xffffffffull << blank % 8 * 8);
	uint64_t a = UINT32_MAX;

#pragma GCC unroll 8
	for (unsigned i = 0; i < LINE / 8; i++)
		a = _mm_crc32_u64(a, load_word(p + 8 * i) & (i == blank / 8 ? shown : ~0ull));
	return ~(uint32_t)a;
}

static int sum_line(uint32_t *crc, const void *line, unsigned blank)
{
	if (!__builtin_cpu_supports("sse4.2"))
		return -1;
	*crc = sum_line_by_instruction(line, blank);
	return 0;
}

int drv_crc32c_instruction(uint32_t *crc, const void *data, size_t bytes)
{
	if (!__builtin_cpu_supports("sse4.2"))
		return -1;
	*crc = sum_by_instruction(*crc, data, bytes);
	return 0;
}

#else

static int sum_line(uint32_t *crc, const void *line, unsigned blank)
{
	(void)crc, (void)line, (void)blank;
	return -1;
}

int drv_crc32c_instruction(uint32_t *crc, const void *data, size_t bytes)
{
	(void)crc, (void)data, (void)bytes;
	return -1;
}

#endif

uint32_t drv_crc32c(uint32_t crc, const void *data, size_t bytes)
{
	if (drv_crc32c_instruction(&crc, data, bytes))
		crc = drv_crc32c_plain(crc, data, bytes);
	return crc;
}

uint32_t drv_crc32c_line(const void *line, unsigned blank)
{
	unsigned char copy[LINE];
	uint32_t crc;

	if (!sum_line(&crc, line, blank))
		return crc;
	memcpy(copy, line, sizeof copy);
	memset(copy + blank, 0, 4);
	return drv_crc32c_plain(0, copy, sizeof copy);
}
