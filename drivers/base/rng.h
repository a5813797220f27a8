/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The only source of random numbers: seeded, one stream per user (splitmix64, Steele et al. 2014).
 */
#ifndef DRIVERS_BASE_RNG_H
#define DRIVERS_BASE_RNG_H

#include <stdint.h>

struct drv_rng {
	uint64_t state;
};

static inline void drv_rng_seed(struct drv_rng *r, uint64_t seed)
{
	r->state = seed;
}

static inline uint64_t drv_rng_next(struct drv_rng *r)
{
	uint64_t z = (r->state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Return a number from 0 to bound - 1; bound > 0. The bias is below 2^-32 for bounds below 2^32. */
static inline uint64_t drv_rng_below(struct drv_rng *r, uint64_t bound)
{
	return (uint64_t)(((unsigned __int128)drv_rng_next(r) * bound) >> 64);
}

/* Return a number x with 0 <= x < 1. */
static inline double drv_rng_unit(struct drv_rng *r)
{
	return (double)(drv_rng_next(r) >> 11) * 0x1p-53;
}

#endif
