/* SPDX-License-Identifier: BSD-3-Clause */
/* Patches in, out and added, in every type and number of dimensions, and however an array is
 * spread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/apps/ga/ga_check.h"

#define ROUNDS 6

static double value_of(long i)
{
	return (double)(i % 1009);
}

/* Everybody writes the patches it owns by rank: the whole, in slabs of the first dimension. */
static void fill_slabs(int g, const struct type *t, int ndim, const int *dims)
{
	int lo[DIMS] = {0}, hi[DIMS], index[DIMS];
	struct patch p;
	char *buf;

	for (int d = 0; d < ndim; d++)
		hi[d] = dims[d] - 1;
	lo[0] = (int)((long)dims[0] * me / n);
	hi[0] = (int)((long)dims[0] * (me + 1) / n) - 1;
	if (hi[0] < lo[0])
		return;
	patch_set(&p, ndim, lo, hi);
	buf = malloc((size_t)p.count * (size_t)t->bytes);
	for (long i = 0; i < p.count; i++) {
		patch_index(&p, i, index);
		store_element(t, buf, i, value_of(linear_index(ndim, dims, index)));
	}
	if (draw_below(2)) {
		ga_nbhdl_t h;

		NGA_NbPut(g, p.lo, p.hi, buf, p.ld, &h);
		NGA_NbWait(&h);
	} else {
		NGA_Put(g, p.lo, p.hi, buf, p.ld);
	}
	free(buf);
}

static void check_patch(const struct type *t, const struct patch *p, const int *dims,
			const char *buf, double times, const char *what)
{
	int index[DIMS];

	for (long i = 0; i < p->count; i++) {
		double want;

		patch_index(p, i, index);
		want = times * value_of(linear_index(p->ndim, dims, index));
		if (fetch_element(t, buf, i) != want) {
			expect_true(0, "%s of %s in %d dimensions: element %ld is %g, not %g", what,
				    t->name, p->ndim, i, fetch_element(t, buf, i), want);
			return;
		}
	}
}

static void get_patches(int g, const struct type *t, int ndim, const int *dims, double times,
			const char *what)
{
	struct patch p[3];
	ga_nbhdl_t h[3];
	char *buf[3];

	for (int r = 0; r < ROUNDS; r++) {
		for (int k = 0; k < 3; k++) {
			patch_random(&p[k], ndim, dims, draw_below);
			buf[k] = malloc((size_t)p[k].count * (size_t)t->bytes);
			if (r % 2)
				NGA_NbGet(g, p[k].lo, p[k].hi, buf[k], p[k].ld, &h[k]);
			else
				NGA_Get(g, p[k].lo, p[k].hi, buf[k], p[k].ld);
		}
		for (int k = 2; k >= 0; k--) {
			if (r % 2)
				NGA_NbWait(&h[k]);
			check_patch(t, &p[k], dims, buf[k], times, what);
			free(buf[k]);
		}
	}
}

/* All processes add the same patch twice: the sum is known, the order is not. */
static void accumulates_add(int g, const struct type *t, int ndim, const int *dims)
{
	struct patch p;
	int index[DIMS];
	char scale[16], *buf;
	ga_nbhdl_t h;

	for (int d = 0; d < ndim; d++)
		index[d] = dims[d] - 1;
	patch_set(&p, ndim, (int[DIMS]){0}, index);
	buf = malloc((size_t)p.count * (size_t)t->bytes);
	for (long i = 0; i < p.count; i++)
		store_element(t, buf, i, value_of(i));
	memset(scale, 0, sizeof scale); /* 1, or 1 + 0i */
	switch (t->id) {
	case C_SCPL:
		((SingleComplex *)scale)->real = 1;
		break;
	case C_DCPL:
		((DoubleComplex *)scale)->real = 1;
		break;
	default:
		store_element(t, scale, 0, 1);
	}
	NGA_Acc(g, p.lo, p.hi, buf, p.ld, scale);
	NGA_NbAcc(g, p.lo, p.hi, buf, p.ld, scale, &h);
	NGA_NbWait(&h);
	GA_Sync();
	free(buf);
}

static void elements_scatter_and_gather(int g, const struct type *t, int ndim, const int *dims)
{
	enum { MANY = 200 };
	int(*at)[DIMS] = malloc(MANY * sizeof *at), **list = malloc(MANY * sizeof *list), count = 0;
	char *buf = malloc(MANY * 16);
	long all = 1;

	for (int d = 0; d < ndim; d++)
		all *= dims[d];
	/* Every n-th element is mine to scatter. */
	for (long i = me; i < all && count < MANY; i += n, count++) {
		long k = i;

		for (int d = ndim - 1; d >= 0; d--) {
			at[count][d] = (int)(k % dims[d]);
			k /= dims[d];
		}
		list[count] = at[count];
		store_element(t, buf, count, value_of(i) + 1);
	}
	NGA_Scatter(g, buf, list, count);
	GA_Sync();
	memset(buf, 0, MANY * 16);
	NGA_Gather(g, buf, list, count);
	for (int i = 0; i < count; i++)
		expect_true(fetch_element(t, buf, i) == value_of(me + (long)i * n) + 1,
			    "gather of %s in %d dimensions: element %d is %g, not %g", t->name,
			    ndim, i, fetch_element(t, buf, i), value_of(me + (long)i * n) + 1);
	GA_Sync();
	free(buf);
	free(list);
	free(at);
}

static void strided_patches_arrive(int g, const struct type *t, int ndim, const int *dims)
{
	int skip[DIMS], index[DIMS], ld[DIMS], k = 0;
	struct patch p;
	long count = 1;
	char *buf;

	/* Of one owner: across owners GA 5.8 takes wrong elements, with any ARMCI. */
	NGA_Distribution(g, (me + 1) % n, p.lo, p.hi);
	if (p.lo[0] < 0 || p.hi[0] < p.lo[0])
		return;
	for (int d = 0; d < ndim; d++) {
		skip[d] = 1 + (int)draw_below(3);
		p.len[d] = (p.hi[d] - p.lo[d]) / skip[d] + 1;
		count *= p.len[d];
		if (d)
			ld[d - 1] = p.len[d];
	}
	buf = malloc((size_t)count * (size_t)t->bytes);
	NGA_Strided_get(g, p.lo, p.hi, skip, buf, ld);
	for (long i = 0; i < count; i++) {
		long x = i;

		for (int d = ndim - 1; d >= 0; d--) {
			index[d] = p.lo[d] + (int)(x % p.len[d]) * skip[d];
			x /= p.len[d];
		}
		k += fetch_element(t, buf, i) != value_of(linear_index(ndim, dims, index));
	}
	NGA_Strided_put(g, p.lo, p.hi, skip, buf, ld); /* the same values: harmless to others */
	expect_true(!k, "strided get of %s in %d dimensions: %d wrong", t->name, ndim, k);

	free(buf);
}

static void periodic_patches_wrap(int g, const struct type *t, int ndim, const int *dims)
{
	int lo[DIMS], hi[DIMS], index[DIMS], k = 0;
	struct patch p;
	char *buf;

	for (int d = 0; d < ndim; d++) {
		lo[d] = (int)draw_below((uint32_t)dims[d]) - dims[d] / 2;
		hi[d] = lo[d] + dims[d] / 2;
	}
	patch_set(&p, ndim, lo, hi);
	buf = malloc((size_t)p.count * (size_t)t->bytes);
	NGA_Periodic_get(g, p.lo, p.hi, buf, p.ld);
	for (long i = 0; i < p.count; i++) {
		patch_index(&p, i, index);
		for (int d = 0; d < ndim; d++)
			index[d] = (index[d] + dims[d]) % dims[d];
		k += fetch_element(t, buf, i) != value_of(linear_index(ndim, dims, index));
	}
	expect_true(!k, "periodic get of %s in %d dimensions: %d wrong", t->name, ndim, k);
	free(buf);
}

static void one_array(int g, const struct type *t, int ndim, const int *dims, const char *what,
		      int blocks)
{
	GA_Zero(g);
	fill_slabs(g, t, ndim, dims);
	GA_Sync();
	get_patches(g, t, ndim, dims, 1, what);
	GA_Sync();
	accumulates_add(g, t, ndim, dims);
	get_patches(g, t, ndim, dims, 1 + 2 * n, what);
	GA_Sync();
	/* In blocks, GA 5.8 itself mistakes elements, with any ARMCI. */
	if (!blocks)
		elements_scatter_and_gather(g, t, ndim, dims);
}

void test_transfers(void)
{
	static const int side[DIMS + 1] = {0, 3001, 61, 17, 9, 6, 4, 4};

	for (int k = 0; k < type_count; k++)
		for (int ndim = 1; ndim <= DIMS; ndim++) {
			const struct type *t = &types[k];
			int dims[DIMS], chunk[DIMS], g;

			for (int d = 0; d < ndim; d++) {
				dims[d] = side[ndim] + d % 2;
				chunk[d] = -1;
			}
			g = NGA_Create(t->id, ndim, dims, "transfers", chunk);
			expect_true(g, "create");
			one_array(g, t, ndim, dims, "get", 0);
			GA_Sync();
			fill_slabs(g, t, ndim, dims);
			GA_Sync();
			strided_patches_arrive(g, t, ndim, dims);
			periodic_patches_wrap(g, t, ndim, dims);
			GA_Destroy(g);
		}
}

/* The same array spread in other ways. */
void test_distributions(void)
{
	const struct type *t = &types[3];
	int dims[2] = {67, 53}, block[2], grid[2] = {1, n}, g;

	for (int way = 0; way < 6; way++) {
		int map[2 * 64 + 2], k = 0;

		if (way == 0) { /* uneven slabs of rows, some of them of one row */
			block[0] = n;
			block[1] = 1;
			for (int i = 0; i < n; i++)
				map[k++] = i;
			map[k] = 0;
			g = NGA_Create_irreg(t->id, 2, dims, "irregular", block, map);
			expect_true(g, "irregular");
			one_array(g, t, 2, dims, "irregular", 0);
			GA_Destroy(g);
			continue;
		}
		g = GA_Create_handle();
		GA_Set_data(g, 2, dims, t->id);
		GA_Set_array_name(g, "spread");
		block[0] = 5;
		block[1] = 7;
		if (way == 1)
			GA_Set_block_cyclic(g, block);
		else if (way == 2)
			GA_Set_block_cyclic_proc_grid(g, block, grid);
		else if (way == 3)
			GA_Set_tiled_proc_grid(g, block, grid);
		else if (way == 4)
			GA_Set_restricted(g, &(int){n - 1}, 1);
		else
			GA_Set_chunk(g, (int[]){dims[0], 10});
		expect_true(GA_Allocate(g), "allocate, way %d", way);
		one_array(g, t, 2, dims, "spread", way <= 3);
		GA_Destroy(g);
	}
	/* Empty parts: more processes than elements. */
	g = NGA_Create(t->id, 1, &(int){1}, "one", &(int){-1});
	expect_true(g, "one element");
	GA_Fill(g, &(double){3});
	expect_true(GA_Ddot(g, g) == 9, "one element");
	GA_Destroy(g);
}
