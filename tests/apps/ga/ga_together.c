/* SPDX-License-Identifier: BSD-3-Clause */
/* Ghost cells, groups of processes, mirrored arrays, counters, locks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ga-mpi.h>

#include "tests/apps/ga/ga_check.h"

/* ---- ghost cells ---- */

static double cell_at(const int *dims, int ndim, const int *index)
{
	int in[DIMS];

	for (int d = 0; d < ndim; d++)
		in[d] = (index[d] + dims[d]) % dims[d];
	return (double)linear_index(ndim, dims, in) + 1;
}

static void ghosts_of(int ndim, const int *dims, const int *width, int way)
{
	int chunk[DIMS], lo[DIMS], hi[DIMS], with[DIMS], ld[DIMS], index[DIMS], wrong = 0, g;
	struct patch p;
	double *at;
	ga_nbhdl_t h;

	for (int d = 0; d < ndim; d++)
		chunk[d] = -1;
	g = NGA_Create_ghosts(C_DBL, ndim, (int *)dims, (int *)width, "ghosts", chunk);
	expect_true(g && GA_Has_ghosts(g), "array with ghosts");
	NGA_Distribution(g, me, lo, hi);
	if (lo[0] >= 0 && hi[0] >= lo[0]) {
		double *buf;

		patch_set(&p, ndim, lo, hi);
		buf = malloc((size_t)p.count * sizeof *buf);
		for (long i = 0; i < p.count; i++) {
			patch_index(&p, i, index);
			buf[i] = cell_at(dims, ndim, index);
		}
		NGA_Put(g, p.lo, p.hi, buf, p.ld);
		free(buf);
	}
	GA_Sync();
	if (way == 0) {
		GA_Update_ghosts(g);
	} else if (way == 1) {
		NGA_Update_ghosts_nb(g, &h);
		NGA_NbWait(&h);
		GA_Sync();
	} else {
		for (int d = 0; d < ndim; d++) {
			expect_true(NGA_Update_ghost_dir(g, d, -1, 1), "update in one direction");
			expect_true(NGA_Update_ghost_dir(g, d, 1, 1), "update in one direction");
		}
		GA_Sync();
	}
	if (lo[0] >= 0 && hi[0] >= lo[0]) {
		NGA_Access_ghosts(g, with, &at, ld);
		for (int d = 0; d < ndim; d++) {
			lo[d] -= width[d];
			hi[d] += width[d];
		}
		patch_set(&p, ndim, lo, hi);
		for (long i = 0; i < p.count; i++) {
			long k = 0;

			patch_index(&p, i, index);
			for (int d = 0; d < ndim; d++)
				k = k * (d ? ld[d - 1] : 1) + index[d] - lo[d];
			wrong += at[k] != cell_at(dims, ndim, index);
		}
		NGA_Release_ghosts(g);
		expect_true(!wrong, "%d of %ld cells around %d dimensions, way %d", wrong, p.count,
			    ndim, way);
	}
	GA_Destroy(g);
}

void test_ghosts(void)
{
	for (int way = 0; way < 2; way++) {
		ghosts_of(1, (int[]){100}, (int[]){2}, way);
		ghosts_of(2, (int[]){24, 30}, (int[]){2, 1}, way);
		ghosts_of(3, (int[]){12, 14, 10}, (int[]){1, 2, 1}, way);
		ghosts_of(4, (int[]){8, 8, 6, 6}, (int[]){1, 1, 1, 1}, way);
	}
}

/* ---- groups ---- */

static void work_in(int group, int members, int first_rank)
{
	int dims[2] = {40, 30}, chunk[2] = {-1, -1}, lo[2] = {0, 0}, hi[2] = {39, 29}, sum = 1,
	    root = 0, rank;
	int g = NGA_Create_config(C_INT, 2, dims, "of a group", chunk, group);
	int *x = malloc(40 * 30 * sizeof *x), k = 0, one = 1;

	expect_true(g, "array of a group");
	expect_true(GA_Pgroup_nnodes(group) == members, "size of a group");
	GA_Zero(g);
	for (int i = 0; i < 40 * 30; i++)
		x[i] = i;
	NGA_Acc(g, lo, hi, x, &(int){30}, &one);
	GA_Pgroup_sync(group);
	NGA_Get(g, lo, hi, x, &(int){30});
	for (int i = 0; i < 40 * 30; i++)
		k += x[i] != members * i;
	expect_true(!k, "accumulate in a group: %d wrong", k);
	GA_Pgroup_sync(group);
	GA_Pgroup_igop(group, &sum, 1, "+");
	expect_true(sum == members, "sum over a group");
	if (GA_Pgroup_nodeid(group) == 0)
		root = 4711 + first_rank;
	GA_Pgroup_brdcst(group, &root, sizeof root, 0);
	expect_true(root == 4711 + first_rank, "broadcast in a group");
	MPI_Comm_rank(GA_MPI_Comm_pgroup(group), &rank);
	expect_true(rank == GA_Pgroup_nodeid(group), "communicator of a group");
	free(x);
	GA_Destroy(g);
}

void test_groups(void)
{
	int list[64], k, size, same, half;

	MPI_Comm_compare(GA_MPI_Comm(), MPI_COMM_WORLD, &same);
	expect_true(same == MPI_CONGRUENT || same == MPI_IDENT, "the world's communicator");
	for (int round = 0; round < 10; round++) {
		int group;

		k = 0;
		for (int i = 0; i < n; i++)
			if (i % 2 == me % 2)
				list[k++] = i;
		group = GA_Pgroup_create(list, k);
		work_in(group, k, me % 2);
		GA_Pgroup_sync(group);
		GA_Pgroup_destroy(group);
	}
	half = GA_Pgroup_split(GA_Pgroup_get_world(), n > 1 ? 2 : 1);
	size = GA_Pgroup_nnodes(half);
	expect_true(size >= 1 && size <= n, "split");
	GA_Pgroup_set_default(half);
	expect_true(GA_Nnodes() == size, "default group");
	work_in(half, size, GA_Pgroup_absolute_id(half, 0));
	GA_Pgroup_set_default(GA_Pgroup_get_world());
	GA_Sync();
	k = GA_Pgroup_split_irreg(GA_Pgroup_get_world(), me < 1 ? 0 : 1);
	expect_true(GA_Pgroup_nnodes(k) == (me < 1 ? 1 : n - 1), "split by color");
}

/* ---- mirrored ---- */

void test_mirrored(void)
{
	int mirror = GA_Pgroup_get_mirror(), dims[2] = {30, 20}, chunk[2] = {-1, -1};
	int a = NGA_Create_config(C_DBL, 2, dims, "mirrored", chunk, mirror), lo[2] = {0, 0},
	    hi[2] = {29, 19};
	double *x = malloc(600 * sizeof *x), one = 1;
	int wrong = 0;

	expect_true(a && (GA_Is_mirrored(a) || GA_Cluster_nnodes() == 1), "a mirrored array");
	GA_Zero(a);
	for (int i = 0; i < 600; i++)
		x[i] = i;
	GA_Pgroup_sync(mirror);
	NGA_Acc(a, lo, hi, x, &(int){20}, &one);
	GA_Sync();
	GA_Merge_mirrored(a);
	NGA_Get(a, lo, hi, x, &(int){20});
	for (int i = 0; i < 600; i++)
		wrong += x[i] != (double)n * i;
	expect_true(!wrong, "merged copies: %d wrong", wrong);
	GA_Sync();
	GA_Destroy(a);
	free(x);
}

/* ---- counters, locks, collectives ---- */

static void counters_count(void)
{
	int dims[1] = {7}, chunk[1] = {-1}, g = NGA_Create(C_LONG, 1, dims, "counters", chunk),
	    at[1];
	long total = 0, got;

	GA_Zero(g);
	for (int i = 0; i < 100; i++) {
		at[0] = i % 7;
		got = NGA_Read_inc(g, at, 1 + i % 3);
		expect_true(got >= 0, "counter");
	}
	GA_Sync();
	for (at[0] = 0; at[0] < 7; at[0]++)
		total += NGA_Read_inc(g, at, 0);
	expect_true(total == n * (34L * 1 + 33 * 2 + 33 * 3), "counters add up to %ld", total);
	GA_Sync();
	GA_Destroy(g);
}

/* A pool of tasks by one counter; who computes, serves others. */
static void pool_gives_each_task_once(void)
{
	int dims[1] = {1}, g = NGA_Create(C_LONG, 1, dims, "pool", &(int){-1}), at[1] = {0};
	long mine = 0, sum = 0, task;

	GA_Zero(g);
	while ((task = NGA_Read_inc(g, at, 1)) < 500) {
		volatile double x = 1;

		for (int i = 0; i < 1000; i++)
			x = x * 1.0000001;
		mine += task;
	}
	sum = mine;
	GA_Lgop(&sum, 1, "+");
	expect_true(sum == 500L * 499 / 2, "tasks of a pool: %ld", sum);
	GA_Destroy(g);
}

static void locks_exclude(void)
{
	int g = NGA_Create(C_INT, 1, &(int){4}, "locked", &(int){-1}), lo[1], x;

	GA_Zero(g);
	expect_true(GA_Create_mutexes(4), "mutexes");
	for (int i = 0; i < 40; i++) {
		lo[0] = (me + i) % 4;
		GA_Lock(lo[0]);
		GA_Init_fence();
		NGA_Get(g, lo, lo, &x, &(int){1});
		x++;
		NGA_Put(g, lo, lo, &x, &(int){1});
		GA_Fence();
		GA_Unlock(lo[0]);
	}
	GA_Sync();
	for (lo[0] = 0; lo[0] < 4; lo[0]++) {
		NGA_Get(g, lo, lo, &x, &(int){1});
		expect_true(x == 10 * n, "locked counter %d is %d", lo[0], x);
	}
	GA_Sync();
	expect_true(GA_Destroy_mutexes(), "mutexes");
	GA_Destroy(g);
}

static void collectives_combine(void)
{
	double x[1000];
	int root = n - 1, y[3] = {me + 1, -me, me};
	float f = (float)me;

	for (int i = 0; i < 1000; i++)
		x[i] = me + i;
	GA_Dgop(x, 1000, "+");
	for (int i = 0; i < 1000; i++)
		expect_true(x[i] == n * (n - 1) / 2 + (double)n * i, "sum");
	GA_Igop(y, 3, "max");
	expect_true(y[0] == n && y[1] == 0 && y[2] == n - 1, "maximum");
	GA_Fgop(&f, 1, "min");
	expect_true(f == 0, "minimum");
	y[0] = me == root ? 99 : 0;
	GA_Brdcst(y, sizeof y[0], root);
	expect_true(y[0] == 99, "broadcast");
}

static void packing_keeps_order(void)
{
	int size = 500, g = NGA_Create(C_INT, 1, &size, "source", &(int){-1}),
	    to = GA_Duplicate(g, "packed");
	int mask = GA_Duplicate(g, "mask"), lo[1], hi[1], ld[1], *at, count = 0, start = 5,
	    step = 2, x;

	GA_Patch_enum(g, 0, size - 1, &start, &step);
	GA_Zero(mask);
	GA_Zero(to);
	NGA_Distribution(mask, me, lo, hi);
	if (lo[0] >= 0 && hi[0] >= lo[0]) {
		NGA_Access(mask, lo, hi, &at, ld);
		for (int i = lo[0]; i <= hi[0]; i++)
			at[i - lo[0]] = i % 5 == 0;
		NGA_Release_update(mask, lo, hi);
	}
	GA_Sync();
	GA_Pack(g, to, mask, 0, size - 1, &count);
	expect_true(count == size / 5, "packed %d", count);
	lo[0] = 7;
	NGA_Get(to, lo, lo, &x, ld);
	expect_true(x == 5 + 2 * 35, "packed element %d", x);
	GA_Sync();
	GA_Destroy(mask);
	GA_Destroy(to);
	GA_Destroy(g);
}

void test_sharing(void)
{
	counters_count();
	pool_gives_each_task_once();
	locks_exclude();
	collectives_combine();
	packing_keeps_order();
}
