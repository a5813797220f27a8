/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copy to memory that others change meanwhile. memcpy() may write a word twice: for 8 bytes, glibc
 * 2.36 stores the first 8 and the last 8, and for more, its last vectors overlap the ones before.
 * An atomic operation on the word between the two writes is lost.
 */
#ifndef DRIVERS_BASE_COPY_H
#define DRIVERS_BASE_COPY_H

#include <stddef.h>

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

#endif
