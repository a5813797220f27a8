/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copy to memory that others change meanwhile. memcpy() may write a word twice: for 8 bytes, glibc
 * 2.36 stores the first 8 and the last 8, and for more, its last vectors overlap the ones before.
 * An atomic operation on the word between the two writes is lost.
 */
#ifndef DRIVERS_BASE_COPY_H
#define DRIVERS_BASE_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Copy `bytes` bytes and write each once: those of an aligned 8-byte word of `to` in one store,
 * except in a first or last word that `to` does not cover. Later bytes become visible in any order.
 * The ranges must not overlap. Any thread.
 */
void drv_copy_words(void *to, const void *from, size_t bytes);

/*
 * The two implementations, for the test that compares them. The one by wide registers returns -1 if
 * the processor has none.
 */
void drv_copy_words_plain(void *to, const void *from, size_t bytes);
int drv_copy_words_wide(void *to, const void *from, size_t bytes);

/*
 * Copy a multiple of 8 bytes that the caller has just written, in words, to memory whose cache
 * lines another processor has. The last DRV_FRESH_BYTES are loaded by words: a wider load of words
 * whose stores are not done waits for them. What was written before is loaded, and all of it is
 * stored, by 16 bytes: each store waits for its line, and a processor holds only some dozens of
 * stores. `to` is a multiple of 8. Any thread. Bench: gex_figures, f1.
 */
enum { DRV_FRESH_BYTES = 64 };

/* The simple form, by words, for other processors and for the test that compares them. */
static inline void drv_copy_fresh_plain(void *to, const void *from, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i += 8)
		memcpy((char *)to + i, (const char *)from + i, 8);
}

#if defined(__SSE2__)
typedef double drv_pair __attribute__((vector_size(16), aligned(8), may_alias));

/* Load two words as two. The compiler would make one load of them. */
static inline drv_pair drv_load_pair(const void *from)
{
	const double *word = from;
	drv_pair p;

	__asm__("movsd %1, %0" : "=x"(p) : "m"(word[0]));
	__asm__("movhpd %1, %0" : "+x"(p) : "m"(word[1]));
	return p;
}

static inline void drv_copy_fresh(void *to, const void *from, uint32_t bytes)
{
	const char *f = from;
	char *t = to;
	uint32_t i = 0;

	for (; i + 64 + DRV_FRESH_BYTES <= bytes; i += 64) {
		const drv_pair *four = (const void *)(f + i);
		drv_pair a = four[0], b = four[1], c = four[2], d = four[3];
		drv_pair *out = (void *)(t + i);

		out[0] = a;
		out[1] = b;
		out[2] = c;
		out[3] = d;
	}
	for (; i + 16 <= bytes; i += 16)
		*(drv_pair *)(void *)(t + i) = drv_load_pair(f + i);
	drv_copy_fresh_plain(t + i, f + i, bytes - i);
}
#else
static inline void drv_copy_fresh(void *to, const void *from, uint32_t bytes)
{
	drv_copy_fresh_plain(to, from, bytes);
}
#endif

#endif
