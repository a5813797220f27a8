/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranges of numbers (pages, bytes of a segment) that are free: first fit, neighbours merged. */
#ifndef AGAS_MEMORY_RANGE_H
#define AGAS_MEMORY_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agas_range {
	uint64_t first, count;
};

struct agas_ranges {
	struct agas_range *at; /* sorted, not adjacent */
	size_t count, room;
};

/* Begin with first .. first + count - 1 free. Returns false if there is no memory. */
bool agas_ranges_open(struct agas_ranges *r, uint64_t first, uint64_t count);
void agas_ranges_close(struct agas_ranges *r);
/* Take `count` numbers, the first a multiple of `align` (a power of two). Returns false if there is
 * no such range. */
bool agas_ranges_take(struct agas_ranges *r, uint64_t count, uint64_t align, uint64_t *first);
/*
 * Give numbers back that were taken. Returns false, without a change, if some of them are free
 * already or there is no memory.
 */
bool agas_ranges_give(struct agas_ranges *r, uint64_t first, uint64_t count);
/* Return how many numbers are free. */
uint64_t agas_ranges_free(const struct agas_ranges *r);

#endif
