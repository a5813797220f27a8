/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MG of the NAS parallel benchmarks after their published description: V-cycles of a multigrid
 * solver for a Poisson equation on a periodic cube of n^3 points.
 *
 * A rank has a run of planes of each grid, and a ghost plane on both sides of it, which it gets
 * from the shared slots of its neighbours. Grids of fewer planes than ranks are not divided: each
 * rank gets all planes of the coarsest grid that is, and computes those below it whole.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/apps/agas_nas.h"

enum { LEVELS_MAX = 9, CHARGES = 10, RANKS_MAX = 32 };

/* A grid of n^3 points. Each plane has a frame of ghost points around it. */
struct grid {
	int n, first, planes; /* of this rank, without its two ghost planes */
	bool is_whole;        /* not divided */
	double *u, *r;        /* the solution or its correction; the residual */
};

static struct grid grid[LEVELS_MAX]; /* [k]: n = 2^k */
static struct nas_array slots[2];    /* planes for other ranks, used in turn */
static int turn;

/* ---- grids ---- */

static size_t plane_points(const struct grid *g)
{
	return (size_t)(g->n + 2) * (size_t)(g->n + 2);
}

/* Point (0, y, z) of a field; z counts from the first plane of this rank, -1 is a ghost. */
static double *row_at(const struct grid *g, double *field, int y, int z)
{
	return field + (size_t)(z + 1) * plane_points(g) + (size_t)(y + 1) * (size_t)(g->n + 2) + 1;
}

static void clear_field(const struct grid *g, double *field)
{
	memset(field, 0, plane_points(g) * (size_t)(g->planes + 2) * sizeof(*field));
}

static double *make_field(const struct grid *g)
{
	return nas_allocate(plane_points(g) * (size_t)(g->planes + 2) * sizeof(double));
}

static void make_grids(int finest)
{
	for (int k = 1; k <= finest; k++) {
		struct grid *g = &grid[k];

		g->n = 1 << k;
		g->is_whole = g->n < nas.ranks;
		g->planes = g->is_whole ? g->n : g->n / nas.ranks;
		g->first = g->is_whole ? 0 : nas.me * g->planes;
		g->u = make_field(g);
		g->r = make_field(g);
	}
}

/* ---- ghosts ---- */

static void wrap_plane(const struct grid *g, double *field, int z)
{
	for (int y = 0; y < g->n; y++) {
		double *row = row_at(g, field, y, z);

		row[-1] = row[g->n - 1];
		row[g->n] = row[0];
	}
	memcpy(row_at(g, field, -1, z) - 1, row_at(g, field, g->n - 1, z) - 1,
	       (size_t)(g->n + 2) * sizeof(*field));
	memcpy(row_at(g, field, g->n, z) - 1, row_at(g, field, 0, z) - 1,
	       (size_t)(g->n + 2) * sizeof(*field));
}

/* Planes of this rank become visible to the others: plane z in slot `slot`. */
static void show_plane(const struct grid *g, double *field, int z, int slot)
{
	size_t bytes = plane_points(g) * sizeof(*field);

	nas_put(nas_at(&slots[turn], nas.me, (size_t)slot * bytes), row_at(g, field, -1, z) - 1,
		bytes);
}

static void get_plane(const struct grid *g, double *to, int rank, int slot)
{
	size_t bytes = plane_points(g) * sizeof(*to);

	nas_get(to, nas_at(&slots[turn], rank, (size_t)slot * bytes), bytes);
}

/*
 * Fill the ghosts of a field. The barrier lets the others read what is shown here; what is shown
 * the time after next overwrites it, and all have read it by then, because they must have come to
 * the barrier between.
 */
static void fill_ghosts(const struct grid *g, double *field)
{
	int below = (nas.me + nas.ranks - 1) % nas.ranks, above = (nas.me + 1) % nas.ranks;
	size_t bytes = plane_points(g) * sizeof(*field);

	for (int z = 0; z < g->planes; z++)
		wrap_plane(g, field, z);
	if (g->is_whole || nas.ranks == 1) {
		memcpy(row_at(g, field, -1, -1) - 1, row_at(g, field, -1, g->planes - 1) - 1,
		       bytes);
		memcpy(row_at(g, field, -1, g->planes) - 1, row_at(g, field, -1, 0) - 1, bytes);
		return;
	}
	turn ^= 1;
	show_plane(g, field, 0, 0);
	show_plane(g, field, g->planes - 1, 1);
	nas_barrier();
	get_plane(g, row_at(g, field, -1, -1) - 1, below, 1);
	get_plane(g, row_at(g, field, -1, g->planes) - 1, above, 0);
	nas_fence();
}

/* Returns a field that has all planes of the grid, the same at each rank. */
static double *gather_planes(const struct grid *g, double *field)
{
	struct grid whole = {.n = g->n, .planes = g->n, .is_whole = true};
	double *all = make_field(&whole);

	turn ^= 1;
	for (int z = 0; z < g->planes; z++)
		show_plane(g, field, z, z);
	nas_barrier();
	for (int z = 0; z < g->n; z++)
		get_plane(g, row_at(&whole, all, -1, z) - 1, z / g->planes, z % g->planes);
	nas_fence();
	fill_ghosts(&whole, all);
	return all;
}

/* ---- operators ---- */

/*
 * The 27 points around one, by distance: sums over the four nearest rows (`faces`) and the four
 * diagonal ones (`edges`) of a row, ghosts included.
 */
static void sum_rows(const struct grid *g, double *field, int y, int z, double *faces,
		     double *edges)
{
	const double *down = row_at(g, field, y - 1, z), *up = row_at(g, field, y + 1, z);
	const double *under = row_at(g, field, y, z - 1), *over = row_at(g, field, y, z + 1);
	const double *under_down = row_at(g, field, y - 1, z - 1);
	const double *under_up = row_at(g, field, y + 1, z - 1);
	const double *over_down = row_at(g, field, y - 1, z + 1);
	const double *over_up = row_at(g, field, y + 1, z + 1);

	for (int x = -1; x <= g->n; x++) {
		faces[x + 1] = down[x] + up[x] + under[x] + over[x];
		edges[x + 1] = under_down[x] + under_up[x] + over_down[x] + over_up[x];
	}
}

/* to = from + the sum of field around each point, with a weight for each distance. */
static void add_stencil(const struct grid *g, double *to, double *from, double *field,
			const double weight[4])
{
	double faces[(1 << (LEVELS_MAX - 1)) + 2], edges[(1 << (LEVELS_MAX - 1)) + 2];

	for (int z = 0; z < g->planes; z++)
		for (int y = 0; y < g->n; y++) {
			const double *base = row_at(g, from, y, z), *f = row_at(g, field, y, z);
			double *out = row_at(g, to, y, z);

			sum_rows(g, field, y, z, faces, edges);
			for (int x = 0; x < g->n; x++)
				out[x] = base[x] + weight[0] * f[x] +
					 weight[1] * (f[x - 1] + f[x + 1] + faces[x + 1]) +
					 weight[2] * (faces[x] + faces[x + 2] + edges[x + 1]) +
					 weight[3] * (edges[x] + edges[x + 2]);
		}
	nas_charge(17.0 * g->planes * g->n * g->n);
}

/* r = v - A u */
static void find_residual(const struct grid *g, double *u, double *v, double *r)
{
	static const double minus_a[4] = {8.0 / 3, 0, -1.0 / 6, -1.0 / 12};

	add_stencil(g, r, v, u, minus_a);
	fill_ghosts(g, r);
}

/* u = u + S r */
static void smooth(const struct grid *g, double *r, double *u)
{
	static const double s[4] = {-3.0 / 8, 1.0 / 32, -1.0 / 64, 0};

	add_stencil(g, u, u, r, s);
	fill_ghosts(g, u);
}

/* The residual of the coarser grid, whose point i is at point 2 i + 1 of the finer one. */
static void restrict_residual(const struct grid *fine, double *r, const struct grid *coarse)
{
	double faces[(1 << (LEVELS_MAX - 1)) + 2], edges[(1 << (LEVELS_MAX - 1)) + 2];

	for (int z = 0; z < coarse->planes; z++)
		for (int y = 0; y < coarse->n; y++) {
			double *out = row_at(coarse, coarse->r, y, z);
			const double *f = row_at(fine, r, 2 * y + 1, 2 * z + 1);

			sum_rows(fine, r, 2 * y + 1, 2 * z + 1, faces, edges);
			for (int x = 0; x < coarse->n; x++) {
				int i = 2 * x + 1;

				out[x] = 0.5 * f[i] + 0.25 * (f[i - 1] + f[i + 1] + faces[i + 1]) +
					 0.125 * (faces[i] + faces[i + 2] + edges[i + 1]) +
					 0.0625 * (edges[i] + edges[i + 2]);
			}
		}
	nas_charge(20.0 * coarse->planes * coarse->n * coarse->n);
	fill_ghosts(coarse, coarse->r);
}

/* Add the correction of the coarser grid: the mean of the nearest 1, 2, 4 or 8 of its points. */
static void interpolate(const struct grid *coarse, const struct grid *fine)
{
	for (int z = 0; z < fine->planes; z++)
		for (int y = 0; y < fine->n; y++) {
			int above = (fine->first + z) / 2 - coarse->first, up = y / 2;
			const double *c[4];
			double *out = row_at(fine, fine->u, y, z);

			/* At odd places the points of both grids are at one place. */
			for (int k = 0; k < 4; k++)
				c[k] =
				    row_at(coarse, coarse->u, k & 1 && y % 2 == 0 ? up - 1 : up,
					   k & 2 && (fine->first + z) % 2 == 0 ? above - 1 : above);
			for (int x = 0; x < fine->n; x++) {
				int i = x / 2, j = x % 2 ? i : i - 1;

				for (int k = 0; k < 4; k++)
					out[x] += 0.125 * (c[k][i] + c[k][j]);
			}
		}
	nas_charge(2.0 * fine->planes * fine->n * fine->n);
	fill_ghosts(fine, fine->u);
}

/* The coarsest grid that is divided: its residual, and that of the grid below, which is not. */
static void restrict_to_whole(const struct grid *fine, const struct grid *coarse)
{
	struct grid whole = {.n = fine->n, .planes = fine->n, .is_whole = true};
	double *all = gather_planes(fine, fine->r);

	restrict_residual(&whole, all, coarse);
	free(all);
}

static void run_cycle(int finest, double *v)
{
	for (int k = finest; k > 1; k--) {
		if (grid[k - 1].is_whole && !grid[k].is_whole)
			restrict_to_whole(&grid[k], &grid[k - 1]);
		else
			restrict_residual(&grid[k], grid[k].r, &grid[k - 1]);
	}
	clear_field(&grid[1], grid[1].u);
	smooth(&grid[1], grid[1].r, grid[1].u);
	for (int k = 2; k <= finest; k++) {
		struct grid *g = &grid[k];

		if (k < finest)
			clear_field(g, g->u);
		interpolate(&grid[k - 1], g);
		find_residual(g, g->u, k < finest ? g->r : v, g->r);
		smooth(g, g->r, g->u);
	}
}

/* ---- the right side: 1 and -1 where a random field is largest and smallest ---- */

struct charge {
	double value;
	int64_t place;
};

/* Keep the largest values in order. */
static void keep_charge(struct charge list[CHARGES], struct charge c)
{
	int i = CHARGES - 1;

	if (c.value <= list[i].value)
		return;
	for (; i > 0 && c.value > list[i - 1].value; i--)
		list[i] = list[i - 1];
	list[i] = c;
}

static void place_charges(const struct grid *g, double *v)
{
	struct charge mine[2][CHARGES], all[RANKS_MAX][2][CHARGES];
	int64_t n = g->n, first = g->first * n * n;
	uint64_t x = nas_random_skip(314159265, (uint64_t)first);

	for (int i = 0; i < 2 * CHARGES; i++)
		mine[i / CHARGES][i % CHARGES] = (struct charge){-2, 0};
	for (int64_t i = first; i < first + g->planes * n * n; i++) {
		double value = nas_random(&x);

		keep_charge(mine[0], (struct charge){value, i});
		keep_charge(mine[1], (struct charge){-value, i});
	}
	turn ^= 1;
	nas_put(nas_at(&slots[turn], nas.me, 0), mine, sizeof(mine));
	nas_barrier();
	for (int r = 0; r < nas.ranks; r++)
		nas_get(all[r], nas_at(&slots[turn], r, 0), sizeof(mine));
	nas_fence();
	for (int r = 0; r < nas.ranks; r++)
		for (int i = 0; i < 2 * CHARGES && r != nas.me; i++)
			keep_charge(mine[i / CHARGES], all[r][i / CHARGES][i % CHARGES]);
	clear_field(g, v);
	for (int i = 0; i < 2 * CHARGES; i++) {
		int64_t at = mine[i / CHARGES][i % CHARGES].place, z = at / (n * n) - g->first;

		if (z >= 0 && z < g->planes)
			row_at(g, v, (int)(at / n % n), (int)z)[at % n] = i < CHARGES ? 1 : -1;
	}
	fill_ghosts(g, v);
}

static double norm_of(const struct grid *g, double *r)
{
	double sum = 0;

	for (int z = 0; z < g->planes; z++)
		for (int y = 0; y < g->n; y++)
			for (int x = 0; x < g->n; x++) {
				double value = row_at(g, r, y, z)[x];

				sum += value * value;
			}
	nas_charge(2.0 * g->planes * g->n * g->n);
	return sqrt(nas_sum(sum) / ((double)g->n * g->n * g->n));
}

bool nas_run_mg(void)
{
	enum { ITERATIONS = 4 };
	const int finest = nas.class == 'S' ? 5 : nas.class == 'W' ? 7 : 8;
	const double known = nas.class == 'S'   ? 0.5307707005734e-04
			     : nas.class == 'W' ? 0.6467329375339e-05
						: 0.2433365309069e-05;
	struct grid *g = &grid[finest];
	size_t shown; /* two planes: a gathered grid has one at each rank */
	double *v;

	make_grids(finest);
	v = make_field(g);
	shown = 2 * plane_points(g) * sizeof(*v);
	slots[0] = nas_map(shown);
	slots[1] = nas_map(shown);
	/* The first pass, of one iteration, is not timed. */
	for (int pass = 0; pass < 2; pass++) {
		if (pass)
			nas_begin_clock();
		clear_field(g, g->u);
		if (!pass)
			place_charges(g, v);
		find_residual(g, g->u, v, g->r);
		for (int i = 0; i < (pass ? ITERATIONS : 1); i++) {
			run_cycle(finest, v);
			find_residual(g, g->u, v, g->r);
		}
	}
	return nas_is_near(norm_of(g, g->r), known, 1e-8);
}
