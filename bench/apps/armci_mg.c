/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The multigrid kernel of the NAS parallel benchmarks (MG: four V-cycles for the Poisson equation
 * on a periodic cube), after its published description; classes S (--size 32), W (128) and A (256),
 * verified by the published norm. Planes are distributed over the processes (a power of two).
 * Neighbours put ghost planes and notify their owner, or with --only messages send them. Every
 * process keeps grids with fewer than two planes a process whole.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/armci_job.h"

enum { LEVELS = 9, CYCLES = 4, CHARGES = 10 };

struct grid {
	int n;       /* points along an edge */
	int planes;  /* planes of this process, without ghosts */
	int first;   /* global number of the first plane */
	bool whole;  /* every process has the whole grid */
	size_t u, r; /* offsets of the two fields in every process's memory, in doubles */
};

struct mg {
	struct abench *a;
	struct grid grid[LEVELS]; /* [0] the coarsest: 2 points */
	int top;
	size_t v; /* the right-hand side of the finest grid */
	bool messages;
	double exchanged;
	double *packet;
};

static double *field_at(const struct mg *m, size_t offset)
{
	return (double *)m->a->mem[m->a->me] + offset;
}

/* Return the doubles of a plane with its ghosts. In fields x varies fastest, and each dimension has
 * a ghost at both ends. */
static size_t plane_at(const struct grid *g)
{
	return (size_t)(g->n + 2) * (size_t)(g->n + 2);
}

static size_t place_of(const struct grid *g, int x, int y, int z)
{
	return (size_t)z * plane_at(g) + (size_t)y * (size_t)(g->n + 2) + (size_t)x;
}

/* ---- ghosts ---- */

static void wrap_plane(const struct grid *g, double *p)
{
	size_t row = (size_t)g->n + 2;
	int y;

	for (y = 1; y <= g->n; y++) {
		p[(size_t)y * row] = p[(size_t)y * row + (size_t)g->n];
		p[(size_t)y * row + (size_t)g->n + 1] = p[(size_t)y * row + 1];
	}
	memcpy(p, p + (size_t)g->n * row, row * 8);
	memcpy(p + ((size_t)g->n + 1) * row, p + row, row * 8);
}

static void ghosts_put(struct mg *m, const struct grid *g, size_t offset, int below, int above)
{
	int bytes = (int)plane_at(g) * 8, seen;
	double *f = field_at(m, offset);

	ARMCI_NbPut(f + plane_at(g),
		    (double *)m->a->mem[below] + offset + (size_t)(g->planes + 1) * plane_at(g),
		    bytes, below, NULL);
	ARMCI_NbPut(f + (size_t)g->planes * plane_at(g), (double *)m->a->mem[above] + offset, bytes,
		    above, NULL);
	ARMCI_WaitAll();
	armci_notify(below);
	armci_notify(above);
	armci_notify_wait(below, &seen);
	armci_notify_wait(above, &seen);
}

/* Even processes send first, up and then down. */
static void ghosts_send(struct mg *m, const struct grid *g, size_t offset, int below, int above)
{
	int bytes = (int)plane_at(g) * 8, even = m->a->me % 2 == 0;
	double *f = field_at(m, offset);

	if (even)
		armci_msg_snd(1, f + (size_t)g->planes * plane_at(g), bytes, above);
	armci_msg_rcv(1, f, bytes, NULL, below);
	if (!even)
		armci_msg_snd(1, f + (size_t)g->planes * plane_at(g), bytes, above);
	if (even)
		armci_msg_snd(2, f + plane_at(g), bytes, below);
	armci_msg_rcv(2, f + (size_t)(g->planes + 1) * plane_at(g), bytes, NULL, above);
	if (!even)
		armci_msg_snd(2, f + plane_at(g), bytes, below);
}

static void exchange_ghosts(struct mg *m, const struct grid *g, size_t offset)
{
	int me = m->a->me, n = m->a->n, z;
	double *f = field_at(m, offset), begin;

	for (z = 1; z <= g->planes; z++)
		wrap_plane(g, f + (size_t)z * plane_at(g));
	if (g->whole || n == 1) {
		memcpy(f, f + (size_t)g->planes * plane_at(g), plane_at(g) * 8);
		memcpy(f + (size_t)(g->planes + 1) * plane_at(g), f + plane_at(g), plane_at(g) * 8);
		return;
	}
	begin = armci_timer();
	(m->messages ? ghosts_send : ghosts_put)(m, g, offset, (me + n - 1) % n, (me + 1) % n);
	m->exchanged += armci_timer() - begin;
}

/* ---- the operators: 27 points with a weight by distance ---- */

struct around {
	double face, edge, corner;
};

static inline struct around sum_around(const double *p, size_t row, size_t pl)
{
	struct around s = {p[-1] + p[1], 0, 0};
	ptrdiff_t y = (ptrdiff_t)row, z = (ptrdiff_t)pl;

	s.face += p[-y] + p[y] + p[-z] + p[z];
	s.edge = p[-y - 1] + p[-y + 1] + p[y - 1] + p[y + 1] + p[-z - 1] + p[-z + 1] + p[z - 1] +
		 p[z + 1] + p[-z - y] + p[-z + y] + p[z - y] + p[z + y];
	s.corner = p[-z - y - 1] + p[-z - y + 1] + p[-z + y - 1] + p[-z + y + 1] + p[z - y - 1] +
		   p[z - y + 1] + p[z + y - 1] + p[z + y + 1];
	return s;
}

/* In virtual time a point costs `flops` at 1 GFlop/s. */
static void declare_flops(const struct mg *m, const struct grid *g, double flops)
{
	if (m->a->is_virtual)
		ARMCIX_Compute((double)g->planes * g->n * g->n * flops / 1e9);
}

/* r = v - A u */
static void compute_residual(struct mg *m, const struct grid *g, size_t v)
{
	const double *u = field_at(m, g->u), *from = field_at(m, v);
	double *r = field_at(m, g->r);
	int x, y, z;

	for (z = 1; z <= g->planes; z++)
		for (y = 1; y <= g->n; y++)
			for (x = 1; x <= g->n; x++) {
				size_t i = place_of(g, x, y, z);
				struct around s = sum_around(u + i, (size_t)g->n + 2, plane_at(g));

				r[i] = from[i] + 8.0 / 3 * u[i] - s.edge / 6 - s.corner / 12;
			}
	declare_flops(m, g, 31);
	exchange_ghosts(m, g, g->r);
}

/* u += S r */
static void smooth_grid(struct mg *m, const struct grid *g)
{
	const double *r = field_at(m, g->r);
	double *u = field_at(m, g->u);
	int x, y, z;

	for (z = 1; z <= g->planes; z++)
		for (y = 1; y <= g->n; y++)
			for (x = 1; x <= g->n; x++) {
				size_t i = place_of(g, x, y, z);
				struct around s = sum_around(r + i, (size_t)g->n + 2, plane_at(g));

				u[i] += -3.0 / 8 * r[i] + s.face / 32 - s.edge / 64;
			}
	declare_flops(m, g, 31);
	exchange_ghosts(m, g, g->u);
}

/* Send the planes [from, from + count) of a whole field to every process. */
static void share_planes(struct mg *m, const struct grid *g, size_t offset, int from, int count)
{
	size_t at = offset + (size_t)(from + 1) * plane_at(g);
	int p;

	for (p = 0; p < m->a->n; p++)
		if (p != m->a->me)
			ARMCI_NbPut(field_at(m, at), (double *)m->a->mem[p] + at,
				    (int)((size_t)count * plane_at(g)) * 8, p, NULL);
	ARMCI_WaitAll();
	ARMCI_Barrier();
}

/* Coarse point j lies at fine point 2 j + 1, counted from 0. */
static void restrict_to(struct mg *m, const struct grid *fine, const struct grid *coarse)
{
	bool joins = coarse->whole && !fine->whole;
	int planes = joins ? fine->planes / 2 : coarse->planes, skip = joins ? fine->first / 2 : 0,
	    x, y, z;
	const double *r = field_at(m, fine->r);
	double *s = field_at(m, coarse->r);

	for (z = 0; z < planes; z++)
		for (y = 0; y < coarse->n; y++)
			for (x = 0; x < coarse->n; x++) {
				size_t i = place_of(fine, 2 * x + 2, 2 * y + 2, 2 * z + 2);
				struct around a =
				    sum_around(r + i, (size_t)fine->n + 2, plane_at(fine));

				s[place_of(coarse, x + 1, y + 1, skip + z + 1)] =
				    0.5 * r[i] + 0.25 * a.face + 0.125 * a.edge + 0.0625 * a.corner;
			}
	declare_flops(m, coarse, 30);
	if (joins)
		share_planes(m, coarse, coarse->r, skip, planes);
	exchange_ghosts(m, coarse, coarse->r);
}

/* u += the coarse u, linear in between; ghosts too, from ghosts. */
static void interpolate_grid(struct mg *m, const struct grid *coarse, const struct grid *fine)
{
	const double *c = field_at(m, coarse->u);
	double *u = field_at(m, fine->u);
	int offset = coarse->whole && !fine->whole ? fine->first / 2 : 0, x, y, z;

	for (z = 0; z < fine->planes + 2; z++)
		for (y = 0; y < fine->n + 2; y++)
			for (x = 0; x < fine->n + 2; x++) {
				/* place 2 k of the fine grid, ghosts counted, is coarse place k;
				 * odd ones lie between */
				const double *p =
				    c + place_of(coarse, x / 2, y / 2, z / 2 + offset);
				size_t dx = x % 2, dy = y % 2 ? (size_t)coarse->n + 2 : 0,
				       dz = z % 2 ? plane_at(coarse) : 0;

				u[place_of(fine, x, y, z)] +=
				    0.125 * (p[0] + p[dx] + p[dy] + p[dx + dy] + p[dz] +
					     p[dx + dz] + p[dy + dz] + p[dx + dy + dz]);
			}
	declare_flops(m, fine, 8);
}

static void run_cycle(struct mg *m)
{
	int k;

	for (k = 0; k < m->top; k++)
		memset(field_at(m, m->grid[k].u), 0,
		       (size_t)(m->grid[k].planes + 2) * plane_at(&m->grid[k]) * 8);
	for (k = m->top; k > 0; k--)
		restrict_to(m, &m->grid[k], &m->grid[k - 1]);
	smooth_grid(m, &m->grid[0]);
	for (k = 1; k <= m->top; k++) {
		interpolate_grid(m, &m->grid[k - 1], &m->grid[k]);
		compute_residual(m, &m->grid[k], k == m->top ? m->v : m->grid[k].r);
		smooth_grid(m, &m->grid[k]);
	}
	compute_residual(m, &m->grid[m->top], m->v);
}

/* ---- the right-hand side: +1 at the ten largest of the random numbers, -1 at the ten smallest
 * ---- */

static const uint64_t random_mask = (1ull << 46) - 1;

static uint64_t power_of(uint64_t base, uint64_t exponent)
{
	uint64_t result = 1;

	for (; exponent; exponent >>= 1, base = base * base & random_mask)
		if (exponent & 1)
			result = result * base & random_mask;
	return result;
}

struct charge {
	uint64_t number; /* of the generator */
	long at;
};

static int compare_ascending(const void *a, const void *b)
{
	const struct charge *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* Every process draws all numbers, so finding the extremes needs no communication. */
static void place_charges(const struct grid *g, struct charge low[CHARGES],
			  struct charge high[CHARGES])
{
	const uint64_t step = power_of(5, 13);
	uint64_t x = 314159265;
	long total = (long)g->n * g->n * g->n, at;
	int i;

	for (i = 0; i < CHARGES; i++) {
		low[i] = (struct charge){UINT64_MAX, 0};
		high[i] = (struct charge){0, 0};
	}
	for (at = 0; at < total; at++) {
		struct charge c = {x = x * step & random_mask, at};

		if (c.number < low[CHARGES - 1].number) {
			low[CHARGES - 1] = c;
			qsort(low, CHARGES, sizeof(*low), compare_ascending);
		}
		if (c.number > high[0].number) {
			high[0] = c;
			qsort(high, CHARGES, sizeof(*high), compare_ascending);
		}
	}
}

static void place_charge(struct mg *m, const struct grid *g, long at, double value)
{
	int x = (int)(at % g->n), y = (int)(at / g->n % g->n),
	    z = (int)(at / g->n / g->n) - g->first;

	if (z >= 0 && z < g->planes)
		field_at(m, m->v)[place_of(g, x + 1, y + 1, z + 1)] = value;
}

static void right_side(struct mg *m)
{
	const struct grid *g = &m->grid[m->top];
	struct charge low[CHARGES], high[CHARGES];
	int i;

	place_charges(g, low, high);
	for (i = 0; i < CHARGES; i++) {
		place_charge(m, g, low[i].at, -1);
		place_charge(m, g, high[i].at, 1);
	}
	exchange_ghosts(m, g, m->v);
}

static double norm_of(struct mg *m)
{
	const struct grid *g = &m->grid[m->top];
	const double *r = field_at(m, g->r);
	double sum = 0;
	int x, y, z;

	for (z = 1; z <= g->planes; z++)
		for (y = 1; y <= g->n; y++)
			for (x = 1; x <= g->n; x++)
				sum += r[place_of(g, x, y, z)] * r[place_of(g, x, y, z)];
	armci_msg_dgop(&sum, 1, "+");
	return sqrt(sum / ((double)g->n * g->n * g->n));
}

static size_t lay_out(struct mg *m, int n)
{
	size_t at = 0, most;
	int k;

	for (m->top = 0; 2 << m->top < n; m->top++)
		;
	if (2 << m->top != n || m->top >= LEVELS || m->a->n & (m->a->n - 1) || n < 2 * m->a->n)
		abench_die("mg: %d processes for a side of %d; both must be powers of two", m->a->n,
			   n);
	for (k = 0; k <= m->top; k++) {
		struct grid *g = &m->grid[k];

		g->n = 2 << k;
		g->whole = g->n < 2 * m->a->n;
		g->planes = g->whole ? g->n : g->n / m->a->n;
		g->first = g->whole ? 0 : g->planes * m->a->me;
		most = (size_t)(g->planes + 2) * plane_at(g);
		g->u = at;
		g->r = at + most;
		at += 2 * most;
		if (k == m->top) {
			m->v = at;
			at += most;
		}
	}
	return at * 8;
}

int abench_mg(struct abench *a)
{
	static const struct {
		int n;
		const char *name;
		double norm;
	} classes[] = {{32, "class S", 0.5307707005734e-4},
		       {128, "class W", 0.6467329375339e-5},
		       {256, "class A", 0.2433365309069e-5}};
	int n = a->size ? (int)a->size : 32, i, c;
	struct mg m = {.a = a, .messages = a->only && !strcmp(a->only, "messages")};
	double begin, total, error = 1, result;

	abench_open_memory(a, lay_out(&m, n));
	right_side(&m);
	ARMCI_Barrier();
	begin = armci_timer();
	compute_residual(&m, &m.grid[m.top], m.v);
	for (i = 0; i < CYCLES; i++)
		run_cycle(&m);
	result = norm_of(&m);
	total = armci_timer() - begin;
	armci_msg_dgop(&m.exchanged, 1, "max");
	for (c = 0; c < 3; c++)
		if (classes[c].n == n)
			error = fabs(result - classes[c].norm) / classes[c].norm;
	if (a->drives) {
		abench_number(a, "mg", m.messages ? "messages" : "one-sided", (size_t)n, "ms",
			      total * 1e3);
		abench_number(a, "mg", "exchange", (size_t)n, "ms", m.exchanged * 1e3);
		abench_number(a, "mg", error < 1e-8 ? "norm ok" : "norm BAD", (size_t)n, "",
			      result);
	}
	abench_close_memory(a);
	return error < 1e-8 ? 0 : 1;
}
