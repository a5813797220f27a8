/* SPDX-License-Identifier: BSD-3-Clause */
#include "agas/address/address.h"

uint32_t agas_size_class(uint64_t bytes)
{
	uint32_t size = AGAS_SIZE_MIN;

	while (size <= AGAS_SIZE_MAX && ((uint64_t)1 << size) < bytes)
		size++;
	return size;
}

/* Rounded towards minus infinity. */
static int64_t divide_down(int64_t a, int64_t by)
{
	int64_t q = a / by;

	return q - (a % by < 0);
}

uint64_t agas_address_add(const struct agas_space *s, uint64_t gva, int64_t bytes, uint32_t b)
{
	uint32_t size = agas_size_of(s, gva), home = (uint32_t)(gva >> 48);
	uint64_t padded = (uint64_t)1 << size, offset = gva & AGAS_OFFSET_MASK;
	int64_t phase = (int64_t)(offset & (padded - 1)) + bytes, blocks = divide_down(phase, b),
		rows;

	if (agas_is_linear(gva))
		return gva + (uint64_t)bytes;
	phase -= blocks * (int64_t)b;
	offset &= ~(padded - 1);
	rows = blocks;
	if (agas_is_cyclic(gva)) {
		rows = divide_down((int64_t)home + blocks, s->ranks);
		home = (uint32_t)((int64_t)home + blocks - rows * (int64_t)s->ranks);
	}
	offset = (offset + (uint64_t)rows * padded + (uint64_t)phase) & AGAS_OFFSET_MASK;
	return agas_address_make(home, agas_is_cyclic(gva), size, offset);
}

int64_t agas_address_sub(const struct agas_space *s, uint64_t l, uint64_t r, uint32_t b)
{
	uint32_t size = agas_size_of(s, l);
	uint64_t mask = ((uint64_t)1 << size) - 1;
	int64_t rows, phase, homes;

	if (agas_is_linear(l))
		return (int64_t)(l - r);
	rows =
	    (int64_t)((l & AGAS_OFFSET_MASK) >> size) - (int64_t)((r & AGAS_OFFSET_MASK) >> size);
	phase = (int64_t)(l & mask) - (int64_t)(r & mask);
	homes = (int64_t)(l >> 48) - (int64_t)(r >> 48);
	if (agas_is_cyclic(l))
		return rows * (int64_t)s->ranks * b + homes * (int64_t)b + phase;
	return rows * (int64_t)b + phase;
}
