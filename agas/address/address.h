/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two formats of a global address, as pure functions. One 64-bit address space holds both.
 *
 *	linear       63 .. 42: 0         41 .. page_shift: page   offset in the page
 *	structured   63 .. 48: home      47: cyclic   46 .. 42: log2 B   41 .. 0: offset in
 *	                                                                           the segment
 *
 * A linear page's home is page modulo P, and arithmetic is that of integers; page 0 is not used, so
 * 0 is the null address. Structured blocks are padded to B = 2^size bytes, of which the program
 * uses b <= B. B is at least 8, which keeps the formats apart. The key of a block is its address
 * with the bits inside the block cleared.
 *
 * Source of the structured layout: HPX-5's global address space. docs/references.md.
 */
#ifndef AGAS_ADDRESS_ADDRESS_H
#define AGAS_ADDRESS_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#define AGAS_OFFSET_BITS 42
#define AGAS_OFFSET_MASK (((uint64_t)1 << AGAS_OFFSET_BITS) - 1)
#define AGAS_SIZE_MIN    3u
#define AGAS_SIZE_MAX    31u
#define AGAS_CYCLIC_BIT  ((uint64_t)1 << 47)

struct agas_space {
	uint32_t ranks;
	uint32_t page_shift;
};

static inline bool agas_is_linear(uint64_t gva)
{
	return !(gva >> AGAS_OFFSET_BITS);
}

static inline bool agas_is_cyclic(uint64_t gva)
{
	return gva & AGAS_CYCLIC_BIT;
}

/* log2 of the block's padded size. */
static inline uint32_t agas_size_of(const struct agas_space *s, uint64_t gva)
{
	return agas_is_linear(gva) ? s->page_shift : (uint32_t)(gva >> AGAS_OFFSET_BITS) & 31;
}

static inline uint64_t agas_block_bytes(const struct agas_space *s, uint64_t gva)
{
	return (uint64_t)1 << agas_size_of(s, gva);
}

static inline uint64_t agas_key_of(const struct agas_space *s, uint64_t gva)
{
	return gva & ~(agas_block_bytes(s, gva) - 1);
}

static inline uint64_t agas_offset_of(const struct agas_space *s, uint64_t gva)
{
	return gva & (agas_block_bytes(s, gva) - 1);
}

/* Return the home of an address. A result of P or more says that no rank has such an address. */
static inline uint32_t agas_home_of(const struct agas_space *s, uint64_t gva)
{
	return agas_is_linear(gva) ? (uint32_t)((gva >> s->page_shift) % s->ranks)
				   : (uint32_t)(gva >> 48);
}

static inline uint64_t agas_address_make(uint32_t home, bool cyclic, uint32_t size, uint64_t offset)
{
	return (uint64_t)home << 48 | (cyclic ? AGAS_CYCLIC_BIT : 0) |
	       (uint64_t)size << AGAS_OFFSET_BITS | offset;
}

/* Return the smallest class with 2^size >= bytes. A result above AGAS_SIZE_MAX says that there is
 * none. */
uint32_t agas_size_class(uint64_t bytes);

/*
 * The structured address `bytes` further on, in an array of blocks of b user bytes; the distance
 * from r to l likewise. Local arrays are contiguous but for the padding; cyclic ones go to the next
 * rank after each block.
 */
uint64_t agas_address_add(const struct agas_space *s, uint64_t gva, int64_t bytes, uint32_t b);
int64_t agas_address_sub(const struct agas_space *s, uint64_t l, uint64_t r, uint32_t b);

#endif
