/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/base/copy.h"

#include <stdbool.h>
#include <stdint.h>

#include "drivers/base/atomic.h"

/* The compiler must not replace the loops by memcpy(). */
#define KEEP_LOOP() __asm__ volatile("" ::: "memory")

typedef uint64_t any_word __attribute__((aligned(1), may_alias));
typedef long long wide __attribute__((vector_size(32), aligned(1), may_alias));

static inline void copy_bytes(unsigned char *to, const unsigned char *from, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		to[i] = from[i];
		KEEP_LOOP();
	}
}

static inline size_t bytes_before_word(const void *to, size_t bytes)
{
	size_t n = -(uintptr_t)to % 8;

	return n < bytes ? n : bytes;
}

/* `to` is a multiple of 8. */
static inline void copy_from_word(unsigned char *to, const unsigned char *from, size_t bytes)
{
	for (; bytes >= 8; bytes -= 8, to += 8, from += 8) {
		atomic_store_relaxed((uint64_t *)(void *)to, *(const any_word *)from);
		KEEP_LOOP();
	}
	copy_bytes(to, from, bytes);
}

void drv_copy_words_plain(void *to, const void *from, size_t bytes)
{
	size_t first = bytes_before_word(to, bytes);

	copy_bytes(to, from, first);
	copy_from_word((unsigned char *)to + first, (const unsigned char *)from + first,
		       bytes - first);
}

#if defined(__x86_64__)

static bool has_wide;

__attribute__((constructor)) static void find_wide(void)
{
	has_wide = __builtin_cpu_supports("avx2");
}

/* A store that crosses a cache line is two, whose border is that of a word. */
__attribute__((target("avx2"))) static void copy_wide(unsigned char *to, const unsigned char *from,
						      size_t bytes)
{
	size_t first = bytes_before_word(to, bytes);

	copy_bytes(to, from, first);
	to += first;
	from += first;
	bytes -= first;
	for (; bytes >= 4 * sizeof(wide); bytes -= 4 * sizeof(wide)) {
		wide a = ((const wide *)from)[0], b = ((const wide *)from)[1];
		wide c = ((const wide *)from)[2], d = ((const wide *)from)[3];

		((wide *)to)[0] = a;
		((wide *)to)[1] = b;
		((wide *)to)[2] = c;
		((wide *)to)[3] = d;
		to += 4 * sizeof(wide);
		from += 4 * sizeof(wide);
		KEEP_LOOP();
	}
	for (; bytes >= sizeof(wide); bytes -= sizeof(wide)) {
		*(wide *)to = *(const wide *)from;
		to += sizeof(wide);
		from += sizeof(wide);
		KEEP_LOOP();
	}
	copy_from_word(to, from, bytes);
}

#else

enum { has_wide = 0 };

static void copy_wide(unsigned char *to, const unsigned char *from, size_t bytes)
{
	drv_copy_words_plain(to, from, bytes);
}

#endif

int drv_copy_words_wide(void *to, const void *from, size_t bytes)
{
	if (!has_wide)
		return -1;
	copy_wide(to, from, bytes);
	return 0;
}

/* The thread sanitizer takes a wide store for a plain one, which races with atomic operations. */
#ifdef __SANITIZE_THREAD__
enum { is_wide_right = 0 };
#else
enum { is_wide_right = 1 };
#endif

void drv_copy_words(void *to, const void *from, size_t bytes)
{
	if (has_wide && is_wide_right)
		copy_wide(to, from, bytes);
	else
		drv_copy_words_plain(to, from, bytes);
}
