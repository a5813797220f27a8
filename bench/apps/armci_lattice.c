/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lattice Boltzmann in two dimensions, nine velocities, periodic: each process has a rectangle of
 * cells with a ring of ghost cells. Its neighbours put the ghosts (strided) and notify it. Process
 * 0 then computes the whole lattice alone and compares every cell, bit for bit.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/armci_job.h"

enum { Q = 9 };

static const int ex[Q] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, ey[Q] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
static const double weight[Q] = {4. / 9,  1. / 9,  1. / 9,  1. / 9, 1. / 9,
				 1. / 36, 1. / 36, 1. / 36, 1. / 36};

struct lattice {
	struct abench *a;
	int px, py, x, y; /* grid of processes, and the place of this one */
	int nx, ny;       /* cells of this process; with the ring 2 more */
	double exchanged;
};

static size_t cell_at(const struct lattice *l, int x, int y)
{
	return ((size_t)y * (size_t)(l->nx + 2) + (size_t)x) * Q;
}

static size_t plane_at(const struct lattice *l)
{
	return (size_t)(l->nx + 2) * (size_t)(l->ny + 2) * Q;
}

static double *array_of(const struct lattice *l, int proc, int which)
{
	return (double *)l->a->mem[proc] + (size_t)which * plane_at(l);
}

static int rank_at(const struct lattice *l, int x, int y)
{
	return (y + l->py) % l->py * l->px + (x + l->px) % l->px;
}

static void init_cells(double *f, int x, int y)
{
	double rho = 1 + 0.1 * ((x * 7 + y * 13) % 11) / 11.0;
	int k;

	for (k = 0; k < Q; k++)
		f[k] = weight[k] * rho * (1 + 0.05 * ex[k] * (y % 5) + 0.03 * ey[k] * (x % 3));
}

/* Gather the values that stream in, then relax. f: the cell; row: doubles to the cell above. */
static void relax_cell(double *to, const double *f, ptrdiff_t row)
{
	double g[Q], rho = 0, ux = 0, uy = 0, u2;
	int k;

	for (k = 0; k < Q; k++) {
		g[k] = f[k - ex[k] * Q - ey[k] * row];
		rho += g[k];
		ux += ex[k] * g[k];
		uy += ey[k] * g[k];
	}
	ux /= rho;
	uy /= rho;
	u2 = 1.5 * (ux * ux + uy * uy);
	for (k = 0; k < Q; k++) {
		double eu = 3 * (ex[k] * ux + ey[k] * uy);

		to[k] = g[k] + 0.8 * (weight[k] * rho * (1 + eu + 0.5 * eu * eu - u2) - g[k]);
	}
}

static void compute_step(struct lattice *l, double *to, const double *from)
{
	int x, y;

	for (y = 1; y <= l->ny; y++)
		for (x = 1; x <= l->nx; x++)
			relax_cell(to + cell_at(l, x, y), from + cell_at(l, x, y),
				   (ptrdiff_t)(l->nx + 2) * Q);
	if (l->a->is_virtual) /* 130 operations a cell at 1 GFlop/s */
		ARMCIX_Compute((double)l->nx * l->ny * 130 / 1e9);
}

/* Put a strip of w x h cells from (x, y) here to (tx, ty) of that process, and notify it. */
static void put_strip(struct lattice *l, int which, int x, int y, int w, int h, int proc, int tx,
		      int ty)
{
	int row = (l->nx + 2) * Q * 8, count[2] = {w * Q * 8, h};

	ARMCI_PutS(array_of(l, l->a->me, which) + cell_at(l, x, y), &row,
		   array_of(l, proc, which) + cell_at(l, tx, ty), &row, count, 1, proc);
}

static void await_both(int a, int b)
{
	int seen;

	armci_notify(a);
	armci_notify(b);
	armci_notify_wait(a, &seen);
	armci_notify_wait(b, &seen);
}

/* Exchange columns first, then rows; rows include the corners that arrived with the columns. */
static void exchange_ghosts(struct lattice *l, int which)
{
	int west = rank_at(l, l->x - 1, l->y), east = rank_at(l, l->x + 1, l->y),
	    south = rank_at(l, l->x, l->y - 1), north = rank_at(l, l->x, l->y + 1);

	put_strip(l, which, 1, 1, 1, l->ny, west, l->nx + 1, 1);
	put_strip(l, which, l->nx, 1, 1, l->ny, east, 0, 1);
	await_both(west, east);
	put_strip(l, which, 0, 1, l->nx + 2, 1, south, 0, l->ny + 1);
	put_strip(l, which, 0, l->ny, l->nx + 2, 1, north, 0, 0);
	await_both(south, north);
}

static void run_steps(struct lattice *l, int steps)
{
	double begin;
	int s;

	for (s = 0; s < steps; s++) {
		begin = armci_timer();
		exchange_ghosts(l, s % 2);
		l->exchanged += armci_timer() - begin;
		compute_step(l, array_of(l, l->a->me, 1 - s % 2), array_of(l, l->a->me, s % 2));
	}
}

/* Compute the same on one process. Returns the number of cells that differ. */
static long compare_cells(struct lattice *l, int steps)
{
	struct abench alone = *l->a;
	struct lattice all = {
	    .a = &alone, .px = 1, .py = 1, .nx = l->nx * l->px, .ny = l->ny * l->py};
	double *f[2], theirs[Q];
	long bad = 0;
	int s, x, y, k;

	for (k = 0; k < 2; k++)
		f[k] = calloc(plane_at(&all), 8);
	alone.is_virtual = false;
	for (y = 0; y < all.ny; y++)
		for (x = 0; x < all.nx; x++)
			init_cells(f[0] + cell_at(&all, x + 1, y + 1), x, y);
	for (s = 0; s < steps; s++) {
		double *g = f[s % 2];

		for (y = 1; y <= all.ny; y++) {
			memcpy(g + cell_at(&all, 0, y), g + cell_at(&all, all.nx, y), Q * 8);
			memcpy(g + cell_at(&all, all.nx + 1, y), g + cell_at(&all, 1, y), Q * 8);
		}
		memcpy(g + cell_at(&all, 0, 0), g + cell_at(&all, 0, all.ny),
		       (size_t)(all.nx + 2) * Q * 8);
		memcpy(g + cell_at(&all, 0, all.ny + 1), g + cell_at(&all, 0, 1),
		       (size_t)(all.nx + 2) * Q * 8);
		compute_step(&all, f[1 - s % 2], g);
	}
	for (y = 0; y < all.ny; y++)
		for (x = 0; x < all.nx; x++) {
			int proc = y / l->ny * l->px + x / l->nx;

			ARMCI_Get(array_of(l, proc, steps % 2) +
				      cell_at(l, x % l->nx + 1, y % l->ny + 1),
				  theirs, Q * 8, proc);
			bad +=
			    /* The same operations in the same order give the same bits. */
			    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
			    memcmp(theirs, f[steps % 2] + cell_at(&all, x + 1, y + 1), Q * 8) != 0;
		}
	free(f[0]);
	free(f[1]);
	return bad;
}

int abench_lattice(struct abench *a)
{
	struct lattice l = {.a = a};
	int side = a->size         ? (int)a->size
		   : a->is_virtual ? 64
				   : 256,
	    steps = a->steps ? (int)a->steps : 20, x, y;
	double begin, total;
	long bad = 0;

	for (l.py = (int)sqrt(a->n); a->n % l.py; l.py--)
		;
	l.px = a->n / l.py;
	l.nx = side / l.px;
	l.ny = side / l.py;
	l.x = a->me % l.px;
	l.y = a->me / l.px;
	abench_open_memory(a, 2 * plane_at(&l) * 8);
	for (y = 0; y < l.ny; y++)
		for (x = 0; x < l.nx; x++)
			init_cells(array_of(&l, a->me, 0) + cell_at(&l, x + 1, y + 1),
				   l.x * l.nx + x, l.y * l.ny + y);
	ARMCI_Barrier();
	begin = armci_timer();
	run_steps(&l, steps);
	ARMCI_Barrier();
	total = armci_timer() - begin;
	armci_msg_dgop(&l.exchanged, 1, "max");
	if (a->drives) {
		abench_number(a, "lattice", "step", (size_t)side, "us", total / steps * 1e6);
		abench_number(a, "lattice", "ghost cells", (size_t)side, "us",
			      l.exchanged / steps * 1e6);
		if (side <= 512) {
			bad = compare_cells(&l, steps);
			abench_number(a, "lattice", bad ? "cells BAD" : "cells ok", (size_t)side,
				      "differ", (double)bad);
		}
	}
	abench_close_memory(a);
	return bad != 0;
}
