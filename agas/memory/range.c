/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "agas/memory/range.h"
#include "drivers/base/array.h"
#include "drivers/base/assert.h"

static bool make_room(struct agas_ranges *r)
{
	struct agas_range *more;

	if (r->count < r->room)
		return true;
	more = drv_array_grow(r->at, &r->room, sizeof(*more), 16);
	if (!more)
		return false;
	r->at = more;
	return true;
}

static void insert_range(struct agas_ranges *r, size_t i, uint64_t first, uint64_t count)
{
	DRV_ASSERT(r->at);
	memmove(r->at + i + 1, r->at + i, (r->count - i) * sizeof(*r->at));
	r->at[i] = (struct agas_range){first, count};
	r->count++;
}

static void erase_range(struct agas_ranges *r, size_t i)
{
	r->count--;
	memmove(r->at + i, r->at + i + 1, (r->count - i) * sizeof(*r->at));
}

bool agas_ranges_open(struct agas_ranges *r, uint64_t first, uint64_t count)
{
	memset(r, 0, sizeof(*r));
	if (!make_room(r))
		return false;
	insert_range(r, 0, first, count);
	return true;
}

void agas_ranges_close(struct agas_ranges *r)
{
	free(r->at);
	memset(r, 0, sizeof(*r));
}

bool agas_ranges_take(struct agas_ranges *r, uint64_t count, uint64_t align, uint64_t *first)
{
	size_t i;

	if (!count || !make_room(r))
		return false;
	for (i = 0; i < r->count; i++) {
		struct agas_range *a = &r->at[i];
		uint64_t start = (a->first + align - 1) & ~(align - 1), skip = start - a->first;

		if (start < a->first || a->count < skip || a->count - skip < count)
			continue;
		*first = start;
		if (a->count - skip > count)
			insert_range(r, i + 1, start + count, a->count - skip - count);
		if (skip)
			r->at[i].count = skip;
		else
			erase_range(r, i);
		return true;
	}
	return false;
}

/* Index of the first range that begins behind `first`. */
static size_t find_behind(const struct agas_ranges *r, uint64_t first)
{
	size_t lo = 0, hi = r->count;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (r->at[mid].first > first)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

bool agas_ranges_give(struct agas_ranges *r, uint64_t first, uint64_t count)
{
	size_t i = find_behind(r, first);
	struct agas_range *before = i ? &r->at[i - 1] : NULL;
	struct agas_range *after = i < r->count ? &r->at[i] : NULL;

	if (!count || first + count < first || (before && before->first + before->count > first) ||
	    (after && first + count > after->first))
		return false;
	if (before && before->first + before->count == first) {
		before->count += count;
		if (after && before->first + before->count == after->first) {
			before->count += after->count;
			erase_range(r, i);
		}
		return true;
	}
	if (after && first + count == after->first) {
		after->first = first;
		after->count += count;
		return true;
	}
	if (!make_room(r))
		return false;
	insert_range(r, i, first, count);
	return true;
}

uint64_t agas_ranges_free(const struct agas_ranges *r)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < r->count; i++)
		sum += r->at[i].count;
	return sum;
}
