/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agas_nas KERNEL: kernels of the NAS parallel benchmarks (EP, IS, FT, CG, MG) after their
 * published description, on arrays of a global address space that are mapped in equal runs
 * (agas-f16). All that processes share they put and get; each kernel ends with its own
 * verification, by the published values of its class. As the description says, a first pass that
 * touches the memory is not timed.
 *
 * Options: --class S|W|A (default S), --flop_ns X (virtual time: what one floating-point operation,
 * or one step of IS, takes; default 0.625, one cycle of 1.6 GHz). Rank 0 prints the time and the
 * counters of its rank. The number of ranks is a power of two. bench/figures/agas_figures compares
 * the directory in software with that in the network.
 */
#include <agas.h>
#include <complex.h>
#include <math.h>
#include <pami.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/agas_counters.h"
#include "bench/apps/agas_nas.h"
#include "pami/ext_virtual.h"

#define MASK46 (((uint64_t)1 << 46) - 1)
#define FACTOR 1220703125u /* 5^13 */

struct nas nas = {.class = 'S'};

static double flop_ns = 0.625;
static double clock_start;
static pami_quintorus_virtual_spend_fn spend;

static void check_agas(int rc, const char *what)
{
	if (!rc)
		return;
	fprintf(stderr, "agas_nas: %s: %s\n", what, agas_error_text(rc));
	exit(1);
}

void nas_charge(double operations)
{
	if (spend)
		spend((uint64_t)(operations * flop_ns * 1e3));
}

void nas_barrier(void)
{
	check_agas(agas_barrier(), "barrier");
}

void nas_put(gva_t to, const void *from, size_t bytes)
{
	check_agas(agas_put(to, from, bytes), "put");
}

void nas_get(void *to, gva_t from, size_t bytes)
{
	check_agas(agas_get(to, from, bytes), "get");
}

void nas_fence(void)
{
	check_agas(agas_fence(), "fence");
}

void *nas_allocate(size_t bytes)
{
	void *p = calloc(1, bytes ? bytes : 1);

	if (!p) {
		fprintf(stderr, "agas_nas: no memory for %zu bytes\n", bytes);
		exit(1);
	}
	return p;
}

void nas_begin_clock(void)
{
	struct agas_stats s;

	nas_barrier();
	agas_stats(&s, 1);
	clock_start = PAMI_Wtime(NULL);
}

/* ---- shared arrays, sums ---- */

struct nas_array nas_map(size_t bytes)
{
	struct nas_array a = {.run = (bytes + nas.page - 1) / nas.page * nas.page};

	a.base = agas_map_all(a.run * (size_t)nas.ranks, AGAS_BLOCKED);
	if (!a.base) {
		fprintf(stderr, "agas_nas: cannot map %zu bytes\n", a.run * (size_t)nas.ranks);
		exit(1);
	}
	return a;
}

gva_t nas_at(const struct nas_array *a, int rank, size_t offset)
{
	return a->base + (size_t)rank * a->run + offset;
}

void nas_sum_all(double *value, int n)
{
	enum { MOST = 32 };
	static struct nas_array box[2];
	static int turn;
	double all[MOST];
	struct nas_array *a = &box[turn ^= 1];

	if (!a->run)
		*a = nas_map((size_t)nas.ranks * MOST * sizeof(double));
	for (int r = 0; r < nas.ranks; r++)
		nas_put(nas_at(a, r, (size_t)nas.me * MOST * 8), value, (size_t)n * 8);
	nas_barrier();
	memset(value, 0, (size_t)n * 8);
	for (int r = 0; r < nas.ranks; r++) {
		nas_get(all, nas_at(a, nas.me, (size_t)r * MOST * 8), (size_t)n * 8);
		nas_fence();
		for (int i = 0; i < n; i++)
			value[i] += all[i];
	}
	nas_charge((double)n * nas.ranks);
}

double nas_sum(double value)
{
	nas_sum_all(&value, 1);
	return value;
}

/* ---- random numbers: x = 5^13 x modulo 2^46 ---- */

double nas_random(uint64_t *x)
{
	*x = *x * FACTOR & MASK46;
	return (double)*x * 0x1p-46;
}

uint64_t nas_random_skip(uint64_t x, uint64_t steps)
{
	uint64_t f = FACTOR;

	for (; steps; steps >>= 1, f = f * f & MASK46)
		if (steps & 1)
			x = x * f & MASK46;
	return x;
}

bool nas_is_near(double value, double expected, double error)
{
	return fabs((value - expected) / expected) <= error;
}

/* ---- EP: gaussian deviates ---- */

static bool run_ep(void)
{
	static const struct {
		char class;
		int m;
		double sx, sy;
	} all[] = {{'S', 24, -3.247834652034740e+3, -6.958407078382297e+3},
		   {'W', 25, -2.863319731645753e+3, -6.320053679109499e+3},
		   {'A', 28, -4.295875165629892e+3, -1.580732573678431e+4}};
	enum { BATCH = 1 << 16, ANNULI = 10 };
	double sum[2 + ANNULI] = {0};
	int c = 0;

	while (c < 2 && all[c].class != nas.class)
		c++;
	nas_begin_clock();
	for (long k = nas.me; k < 1l << (all[c].m - 16); k += nas.ranks) {
		uint64_t x = nas_random_skip(271828183, 2 * BATCH * (uint64_t)k);

		for (int i = 0; i < BATCH; i++) {
			double a = 2 * nas_random(&x) - 1, b = 2 * nas_random(&x) - 1;
			double t = a * a + b * b, f;

			if (t > 1)
				continue;
			f = sqrt(-2 * log(t) / t);
			a *= f;
			b *= f;
			sum[0] += a;
			sum[1] += b;
			sum[2 + (int)fmax(fabs(a), fabs(b))]++;
		}
		nas_charge(20.0 * BATCH);
	}
	nas_sum_all(sum, 2 + ANNULI);
	return nas_is_near(sum[0], all[c].sx, 1e-8) && nas_is_near(sum[1], all[c].sy, 1e-8);
}

/* ---- IS: ranks of integers ---- */

static bool run_is(void)
{
	static const struct {
		char class;
		int keys, most; /* log2 */
		int test[5], rank[5];
	} all[] = {{'S', 16, 11, {48427, 17148, 23627, 62548, 4431}, {0, 18, 346, 64917, 65463}},
		   {'W',
		    20,
		    16,
		    {357773, 934767, 875723, 898999, 404505},
		    {1249, 11698, 1039987, 1043896, 1048018}},
		   {'A',
		    23,
		    19,
		    {2112377, 662041, 5336171, 3642833, 4250760},
		    {104, 17523, 123928, 8288932, 8388264}}};
	enum { ITERATIONS = 10 };
	int c = 0, wrong = 0;

	while (c < 2 && all[c].class != nas.class)
		c++;
	const long mine = (1l << all[c].keys) / nas.ranks, range = (1l << all[c].most) / nas.ranks;
	const long first = nas.me * mine;
	uint64_t x = nas_random_skip(314159265, 4 * (uint64_t)first);
	int32_t *key = nas_allocate((size_t)mine * 4),
		*count = nas_allocate((size_t)range * 4 * (size_t)nas.ranks);
	int32_t *row = nas_allocate((size_t)range * 4), *total = nas_allocate((size_t)range * 4);
	struct nas_array counts = nas_map((size_t)range * 4 * (size_t)nas.ranks);
	struct nas_array tests = nas_map(5 * 4);

	for (long i = 0; i < mine; i++) {
		double v = nas_random(&x);

		v += nas_random(&x);
		v += nas_random(&x);
		v += nas_random(&x);
		key[i] = (int32_t)(v * (double)(1l << all[c].most) / 4);
	}
	/* The first pass is not timed, and the second repeats it. */
	for (int pass = 0; pass <= ITERATIONS; pass++) {
		double before[32], below = 0;
		int32_t test[5];
		int it = pass ? pass : 1;

		if (pass == 1)
			nas_begin_clock();

		if (nas.me == 0 && mine > it + ITERATIONS) {
			key[it] = it;
			key[it + ITERATIONS] = (int32_t)(1l << all[c].most) - it;
		}
		for (int t = 0; t < 5; t++) /* the keys whose ranks are known, to all */
			if (all[c].test[t] / mine == nas.me)
				for (int r = 0; r < nas.ranks; r++)
					nas_put(nas_at(&tests, r, (size_t)t * 4),
						&key[all[c].test[t] - first], 4);
		memset(count, 0, (size_t)range * 4 * (size_t)nas.ranks);
		for (long i = 0; i < mine; i++)
			count[key[i]]++;
		nas_charge(2.0 * (double)mine);
		for (int r = 0; r < nas.ranks; r++)
			nas_put(nas_at(&counts, r, (size_t)nas.me * (size_t)range * 4),
				count + r * range, (size_t)range * 4);
		nas_barrier();
		memset(total, 0, (size_t)range * 4);
		for (int r = 0; r < nas.ranks; r++) {
			nas_get(row, nas_at(&counts, nas.me, (size_t)r * (size_t)range * 4),
				(size_t)range * 4);
			nas_fence();
			for (long i = 0; i < range; i++)
				total[i] += row[i];
		}
		nas_charge((double)range * nas.ranks);
		memset(before, 0, sizeof(before));
		for (long i = 0; i < range; i++)
			before[nas.me % 32] += total[i];
		nas_sum_all(before, nas.ranks < 32 ? nas.ranks : 32);
		for (int r = 0; r < nas.me; r++)
			below += before[r];
		nas_get(test, nas_at(&tests, nas.me, 0), sizeof(test));
		nas_fence();
		for (int t = 0; t < 5; t++) {
			long k = test[t] - nas.me * range, rank = (long)below;
			bool up = t < (nas.class == 'W' ? 2 : 3);
			int shift = nas.class == 'S' ? it : nas.class == 'W' ? it - 2 : it - 1;

			if (k < 0 || k >= range)
				continue;
			for (long i = 0; i < k; i++)
				rank += total[i];
			if (nas.class == 'W' && !up)
				shift = it;
			wrong += rank != all[c].rank[t] + (up ? shift : -shift);
		}
		nas_barrier(); /* counts and tests are written again */
	}
	free(key);
	free(count);
	free(row);
	free(total);
	return nas_sum(wrong) == 0;
}

/* ---- FT: a Fourier transform in three dimensions ---- */

/* In place, n a power of two, stride in elements; sign +1 or -1. */
static void transform_line(double complex *a, int n, int stride, int sign,
			   const double complex *root, double complex *line)
{
	for (int i = 0, j = 0; i < n; i++) {
		int bit = n >> 1;

		line[j] = a[(size_t)i * (size_t)stride];
		for (; bit && j & bit; bit >>= 1)
			j ^= bit;
		j |= bit;
	}
	for (int half = 1; half < n; half *= 2)
		for (int i = 0; i < n; i += 2 * half)
			for (int k = 0; k < half; k++) {
				double complex w = root[k * (n / 2 / half)];
				double complex u = line[i + k], v;

				v = line[i + k + half] * (sign > 0 ? w : conj(w));
				line[i + k] = u + v;
				line[i + k + half] = u - v;
			}
	for (int i = 0; i < n; i++)
		a[(size_t)i * (size_t)stride] = line[i];
}

struct cube {
	int nx, ny, nz, planes, rows; /* planes: of z, rows: of y, of this rank */
	double complex *root[3], *line;
	struct nas_array to[2]; /* by y, by z */
};

static void fft_lines(struct cube *q, double complex *a, int d, int n, int stride, long lines,
		      long step, int sign)
{
	for (long i = 0; i < lines; i++)
		transform_line(a + i * step, n, stride, sign, q->root[d], q->line);
	nas_charge(5.0 * (double)lines * n * log2(n));
}

/* x and y of the planes of this rank. */
static void fft_planes(struct cube *q, double complex *a, int sign)
{
	fft_lines(q, a, 0, q->nx, 1, (long)q->planes * q->ny, q->nx, sign);
	for (int z = 0; z < q->planes; z++)
		fft_lines(q, a + (size_t)z * (size_t)(q->nx * q->ny), 1, q->ny, q->nx, q->nx, 1,
			  sign);
}

/*
 * From [z of mine][y][x] to [y of mine][z][x], or back: lines of x are what travels. All that one
 * rank sends to another for one of its planes is contiguous at neither end.
 */
static void transpose_cube(struct cube *q, const double complex *from, double complex *to,
			   bool forward)
{
	struct nas_array *t = &q->to[!forward];
	size_t line = (size_t)q->nx * sizeof(*from);
	int mine = forward ? q->planes : q->rows, theirs = forward ? q->rows : q->planes;
	int across = forward ? q->ny : q->nz, along = forward ? q->nz : q->ny;

	nas_barrier(); /* all have read what was there before */
	for (int i = 0; i < mine; i++)
		for (int k = 0; k < across; k++) {
			int other = (k + nas.me * theirs) % across; /* not all to one at once */

			nas_put(nas_at(t, other / theirs,
				       ((size_t)(other % theirs) * (size_t)along +
					(size_t)(nas.me * mine + i)) *
					   line),
				from + ((size_t)i * (size_t)across + (size_t)other) * (size_t)q->nx,
				line);
		}
	nas_barrier();
	nas_get(to, nas_at(t, nas.me, 0), (size_t)theirs * (size_t)along * line);
	nas_fence();
}

static bool run_ft(void)
{
	static const double complex sum_s[] = {5.546087004964e+02 + 4.845363331978e+02 * I,
					       5.546385409189e+02 + 4.865304269511e+02 * I,
					       5.546148406171e+02 + 4.883910722336e+02 * I,
					       5.545423607415e+02 + 4.901273169046e+02 * I,
					       5.544255039624e+02 + 4.917475857993e+02 * I,
					       5.542683411902e+02 + 4.932597244941e+02 * I};
	static const double complex sum_w[] = {5.673612178944e+02 + 5.293246849175e+02 * I,
					       5.631436885271e+02 + 5.282149986629e+02 * I,
					       5.594024089970e+02 + 5.270996558037e+02 * I,
					       5.560698047020e+02 + 5.260027904925e+02 * I,
					       5.530898991250e+02 + 5.249400845633e+02 * I,
					       5.504159734538e+02 + 5.239212247086e+02 * I};
	static const double complex sum_a[] = {5.046735008193e+02 + 5.114047905510e+02 * I,
					       5.059412319734e+02 + 5.098809666433e+02 * I,
					       5.069376896287e+02 + 5.098144042213e+02 * I,
					       5.077892868474e+02 + 5.101336130759e+02 * I,
					       5.085233095391e+02 + 5.104914655194e+02 * I,
					       5.091487099959e+02 + 5.107917842803e+02 * I};
	const double complex *known = nas.class == 'S' ? sum_s : nas.class == 'W' ? sum_w : sum_a;
	struct cube q = {.nx = nas.class == 'S' ? 64 : nas.class == 'W' ? 128 : 256};
	size_t points;
	double complex *a, *b, *u;
	int wrong = 0;
	uint64_t x;

	q.ny = nas.class == 'S' ? 64 : nas.class == 'W' ? 128 : 256;
	q.nz = nas.class == 'S' ? 64 : nas.class == 'W' ? 32 : 128;
	q.planes = q.nz / nas.ranks;
	q.rows = q.ny / nas.ranks;
	if (!q.planes || !q.rows) {
		fprintf(stderr, "agas_nas: FT of class %c: %d ranks at most\n", nas.class, q.nz);
		exit(1);
	}
	points = (size_t)q.nx * (size_t)q.ny * (size_t)q.planes;
	a = nas_allocate(points * sizeof(*a));
	b = nas_allocate(points * sizeof(*a));
	u = nas_allocate(points * sizeof(*a));
	q.line = nas_allocate(256 * sizeof(*a));
	q.to[0] = nas_map(points * sizeof(*a));
	q.to[1] = nas_map(points * sizeof(*a));
	for (int d = 0; d < 3; d++) {
		int n = d == 0 ? q.nx : d == 1 ? q.ny : q.nz;

		q.root[d] = nas_allocate((size_t)n * sizeof(*a));
		for (int i = 0; i < n; i++)
			q.root[d][i] = cexp(2 * M_PI * I * i / n);
	}
	/* Touch all memory, which is not timed. */
	fft_planes(&q, a, 1);
	transpose_cube(&q, a, u, true);
	transpose_cube(&q, b, a, false);
	nas_begin_clock();
	x = nas_random_skip(314159265, 2 * points * (uint64_t)nas.me);
	for (size_t i = 0; i < points; i++) {
		double re = nas_random(&x);

		a[i] = re + nas_random(&x) * I;
	}
	fft_planes(&q, a, 1);
	transpose_cube(&q, a, u, true);
	for (int y = 0; y < q.rows; y++)
		fft_lines(&q, u + (size_t)y * (size_t)(q.nz * q.nx), 2, q.nz, q.nx, q.nx, 1, 1);
	for (int it = 1; it <= 6; it++) {
		double sum[2] = {0};

		for (int y = 0; y < q.rows; y++)
			for (int z = 0; z < q.nz; z++)
				for (int i = 0; i < q.nx; i++) {
					size_t at =
					    ((size_t)y * (size_t)q.nz + (size_t)z) * (size_t)q.nx +
					    (size_t)i;
					int ky = (nas.me * q.rows + y + q.ny / 2) % q.ny - q.ny / 2;
					int kz = (z + q.nz / 2) % q.nz - q.nz / 2;
					int kx = (i + q.nx / 2) % q.nx - q.nx / 2;

					b[at] = u[at] *= exp(-4e-6 * M_PI * M_PI *
							     (kx * kx + ky * ky + kz * kz));
				}
		nas_charge(8.0 * (double)points);
		for (int y = 0; y < q.rows; y++)
			fft_lines(&q, b + (size_t)y * (size_t)(q.nz * q.nx), 2, q.nz, q.nx, q.nx, 1,
				  -1);
		transpose_cube(&q, b, a, false);
		fft_planes(&q, a, -1);
		for (int j = 1; j <= 1024; j++) {
			int px = j % q.nx, py = 3 * j % q.ny, pz = 5 * j % q.nz - nas.me * q.planes;
			double complex v;

			if (pz < 0 || pz >= q.planes)
				continue;
			v = a[((size_t)pz * (size_t)q.ny + (size_t)py) * (size_t)q.nx + (size_t)px];
			sum[0] += creal(v);
			sum[1] += cimag(v);
		}
		nas_sum_all(sum, 2);
		sum[0] /= (double)points * nas.ranks;
		sum[1] /= (double)points * nas.ranks;
		wrong += cabs((sum[0] + sum[1] * I - known[it - 1]) / known[it - 1]) > 1e-12 * 1e2;
	}
	return wrong == 0;
}

/* ---- CG: the smallest eigenvalue of a sparse matrix ---- */

struct sparse {
	int n, chunk;    /* rows of a rank; the last ranks may have fewer */
	int first, rows; /* of this one */
	int *start, *column;
	double *value;
};

/* A sparse vector of `nonzer` random entries, as the description makes it. */
static void sparse_vector(int n, int nonzer, double *v, int *at, uint64_t *x)
{
	int room = 1, found = 0;

	while (room < n)
		room *= 2;
	while (found < nonzer) {
		double value = nas_random(x), place = nas_random(x);
		int i = (int)(room * place), k = 0;

		if (i >= n)
			continue;
		while (k < found && at[k] != i)
			k++;
		if (k < found)
			continue;
		v[found] = value;
		at[found++] = i;
	}
}

/* Sum of outer products of sparse vectors, weighted so that the condition number is 1 / 0.1. */
static void sparse_make(struct sparse *s, int nonzer, double shift, uint64_t *x)
{
	double *v = nas_allocate((size_t)(nonzer + 1) * (size_t)s->n * 8),
	       *row = nas_allocate((size_t)s->n * 8);
	int *at = nas_allocate((size_t)(nonzer + 1) * (size_t)s->n * 4);
	int *count = nas_allocate((size_t)s->n * 4);
	int *heads = nas_allocate((size_t)s->n * 4), *next, *owner;
	size_t room = 1024, used = 0;
	double ratio = pow(0.1, 1.0 / s->n), size = 1;
	long total = 0, k;

	for (int i = 0; i < s->n; i++) {
		double *vi = v + (size_t)i * (size_t)(nonzer + 1);
		int *ai = at + (size_t)i * (size_t)(nonzer + 1), has = -1;

		sparse_vector(s->n, nonzer, vi, ai, x);
		count[i] = nonzer;
		for (int j = 0; j < nonzer; j++)
			has = ai[j] == i ? j : has;
		if (has < 0) {
			has = nonzer;
			ai[count[i]++] = i;
		}
		vi[has] = 0.5;
		total += count[i];
	}
	/* Which vectors touch a row: lists. */
	next = nas_allocate((size_t)total * 4);
	owner = nas_allocate((size_t)total * 4);
	memset(heads, -1, (size_t)s->n * 4);
	k = 0;
	for (int i = s->n - 1; i >= 0; i--)
		for (int j = 0; j < count[i]; j++) {
			int r = at[(size_t)i * (size_t)(nonzer + 1) + (size_t)j];

			owner[k] = i;
			next[k] = heads[r];
			heads[r] = (int)k++;
		}
	s->start = nas_allocate((size_t)(s->rows + 1) * 4);
	s->column = nas_allocate(room * 4);
	s->value = nas_allocate(room * 8);
	double *weight = nas_allocate((size_t)s->n * 8);

	for (int i = 0; i < s->n; i++, size *= ratio)
		weight[i] = size;
	for (int r = 0; r < s->rows; r++) {
		int global = s->first + r;

		for (int e = heads[global]; e >= 0; e = next[e]) {
			const double *vi = v + (size_t)owner[e] * (size_t)(nonzer + 1);
			const int *ai = at + (size_t)owner[e] * (size_t)(nonzer + 1);
			double own = 0;

			for (int j = 0; j < count[owner[e]]; j++)
				own = ai[j] == global ? vi[j] : own;
			for (int j = 0; j < count[owner[e]]; j++)
				row[ai[j]] += weight[owner[e]] * own * vi[j];
		}
		row[global] += 0.1 - shift;
		for (int i = 0; i < s->n; i++) {
			if (row[i] == 0)
				continue;
			if (used == room) {
				room *= 2;
				s->column = realloc(s->column, room * 4);
				s->value = realloc(s->value, room * 8);
				if (!s->column || !s->value)
					exit(1);
			}
			s->column[used] = i;
			s->value[used++] = row[i];
			row[i] = 0;
		}
		s->start[r + 1] = (int)used;
	}
	free(v);
	free(row);
	free(at);
	free(count);
	free(heads);
	free(next);
	free(owner);
	free(weight);
}

static double dot_product(const double *a, const double *b, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += a[i] * b[i];
	nas_charge(2.0 * n);
	return nas_sum(sum);
}

/* q = A p. Each rank has its rows, and gets the parts of p of all ranks. */
static void multiply_sparse(const struct sparse *s, struct nas_array *shared, const double *p,
			    double *q, double *whole)
{
	size_t bytes = (size_t)s->chunk * 8;

	nas_put(nas_at(shared, nas.me, 0), p, bytes);
	nas_barrier();
	for (int i = 0; i < nas.ranks; i++) {
		int r = (i + nas.me) % nas.ranks; /* not all from one at once */

		nas_get(whole + (size_t)r * (size_t)s->chunk, nas_at(shared, r, 0), bytes);
	}
	nas_barrier();
	for (int r = 0; r < s->rows; r++) {
		double sum = 0;

		for (int k = s->start[r]; k < s->start[r + 1]; k++)
			sum += s->value[k] * whole[s->column[k]];
		q[r] = sum;
	}
	nas_charge(2.0 * s->start[s->rows]);
}

static bool run_cg(void)
{
	const int n = nas.class == 'W' ? 7000 : nas.class == 'A' ? 14000 : 1400;
	const int nonzer = nas.class == 'W' ? 8 : nas.class == 'A' ? 11 : 7;
	const double shift = nas.class == 'W' ? 12 : nas.class == 'A' ? 20 : 10;
	const double known = nas.class == 'W'   ? 10.362595087124
			     : nas.class == 'A' ? 17.130235054029
						: 8.5971775078648;
	const int chunk = (n + nas.ranks - 1) / nas.ranks, first = nas.me * chunk;
	const int rows = first >= n ? 0 : first + chunk > n ? n - first : chunk;
	struct sparse s = {n, chunk, first, rows, NULL, NULL, NULL};
	struct nas_array shared = nas_map((size_t)chunk * 8);
	size_t bytes = (size_t)chunk * 8;
	double *x = nas_allocate(bytes), *z = nas_allocate(bytes), *r = nas_allocate(bytes),
	       *p = nas_allocate(bytes);
	double *q = nas_allocate(bytes), *whole = nas_allocate(bytes * (size_t)nas.ranks), zeta = 0;
	uint64_t seed = 314159265;

	nas_random(&seed);
	sparse_make(&s, nonzer, shift, &seed);
	/* The first pass is not timed, and its result is dropped. */
	for (int pass = 0; pass <= 15; pass++) {
		double rho, d, norm;

		if (pass == 1)
			nas_begin_clock();
		for (int i = 0; i < rows && pass <= 1; i++)
			x[i] = 1;

		memset(z, 0, bytes);
		memcpy(r, x, bytes);
		memcpy(p, x, bytes);
		rho = dot_product(r, r, rows);
		for (int inner = 0; inner < 25; inner++) {
			double before = rho, alpha;

			multiply_sparse(&s, &shared, p, q, whole);
			alpha = rho / dot_product(p, q, rows);
			for (int i = 0; i < rows; i++) {
				z[i] += alpha * p[i];
				r[i] -= alpha * q[i];
			}
			rho = dot_product(r, r, rows);
			for (int i = 0; i < rows; i++)
				p[i] = r[i] + rho / before * p[i];
			nas_charge(6.0 * rows);
		}
		d = dot_product(x, z, rows);
		norm = 1 / sqrt(dot_product(z, z, rows));
		zeta = shift + 1 / d;
		for (int i = 0; i < rows; i++)
			x[i] = norm * z[i];
	}
	return nas_is_near(zeta, known, 1e-10);
}

/* ---- command line ---- */

static void find_spend(void)
{
	pami_quintorus_virtual_is_on_fn is_on;
	pami_extension_t e;

	if (PAMI_Extension_open(NULL, PAMI_EXT_QUINTORUS_VIRTUAL, &e) != PAMI_SUCCESS)
		return;
	is_on = (pami_quintorus_virtual_is_on_fn)PAMI_Extension_symbol(e, "is_on");
	if (is_on && is_on())
		spend = (pami_quintorus_virtual_spend_fn)PAMI_Extension_symbol(e, "spend");
}

static int print_usage(void)
{
	fprintf(stderr, "usage: agas_nas ep|is|ft|cg|mg [--class S|W|A] [--flop_ns X]\n");
	return 2;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		bool (*run)(void);
	} kernel[] = {
	    {"ep", run_ep}, {"is", run_is}, {"ft", run_ft}, {"cg", run_cg}, {"mg", nas_run_mg}};
	const int kernels = sizeof(kernel) / sizeof(*kernel);
	struct agas_stats counters;
	double us;
	bool right;
	int k = 0;

	while (argc > 1 && k < kernels && strcmp(argv[1], kernel[k].name))
		k++;
	if (argc < 2 || argc % 2 || k == kernels)
		return print_usage();
	for (int i = 2; i < argc; i += 2) {
		if (!strcmp(argv[i], "--class") && strchr("SWA", argv[i + 1][0]))
			nas.class = argv[i + 1][0];
		else if (!strcmp(argv[i], "--flop_ns") && atof(argv[i + 1]) >= 0)
			flop_ns = atof(argv[i + 1]);
		else
			return print_usage();
	}
	check_agas(agas_init(&argc, &argv), "init");
	nas.me = agas_pe();
	nas.ranks = agas_npes();
	nas.page = agas_page_size();
	if (nas.ranks < 1 || nas.ranks & (nas.ranks - 1) || nas.ranks > 32) {
		fprintf(stderr, "agas_nas: %d ranks: a power of two, at most 32\n", nas.ranks);
		return 1;
	}
	find_spend();
	right = kernel[k].run();
	nas_barrier();
	us = (PAMI_Wtime(NULL) - clock_start) * 1e6;
	if (nas.me == 0) {
		printf("agas-f16 %s class %c, %d ranks: %.1f us, verification %s\n", kernel[k].name,
		       nas.class, nas.ranks, us, right ? "right" : "WRONG");
		agas_stats(&counters, 0);
		bench_agas_print_counters(&counters);
		bench_agas_print_network();
	}
	nas_barrier();
	agas_fini();
	return !right;
}
