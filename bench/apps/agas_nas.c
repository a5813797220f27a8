/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agas_nas KERNEL: kernels of the NAS parallel benchmarks (EP, IS, FT, CG) after their published
 * description, on arrays of a global address space that are mapped in equal runs (agas-f16). All
 * that processes share they put and get; each kernel ends with its own verification, by the
 * published values of its class.
 *
 * Options: --class S|W|A (default S), --flop_ns X (virtual time: what one
 * floating-point operation, or one step of IS, takes; default 0.625, one cycle of 1.6 GHz). Rank 0
 * prints the time and the counters of its rank. The number of ranks is a power of two.
 * bench/figures/agas_figures compares the directory in software with that in the network.
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
#include "pami/ext_virtual.h"

#define MASK46 (((uint64_t)1 << 46) - 1)
#define FACTOR 1220703125u /* 5^13 */

static int me, ranks;
static size_t page;
static char class = 'S';
static double flop_ns = 0.625;
static pami_quintorus_virtual_spend_fn spend;

static void check_agas(int rc, const char *what)
{
	if (!rc)
		return;
	fprintf(stderr, "agas_nas: %s: %s\n", what, agas_error_text(rc));
	exit(1);
}

/* In virtual time the program's own computation takes no time of itself. */
static void charge_compute(double operations)
{
	if (spend)
		spend((uint64_t)(operations * flop_ns * 1e3));
}

static void run_barrier(void)
{
	check_agas(agas_barrier(), "barrier");
}

static void put_bytes(gva_t to, const void *from, size_t bytes)
{
	check_agas(agas_put(to, from, bytes), "put");
}

static void get_bytes(void *to, gva_t from, size_t bytes)
{
	check_agas(agas_get(to, from, bytes), "get");
}

static void run_fence(void)
{
	check_agas(agas_fence(), "fence");
}

static void *allocate_zeroed(size_t bytes)
{
	void *p = calloc(1, bytes ? bytes : 1);

	if (!p) {
		fprintf(stderr, "agas_nas: no memory for %zu bytes\n", bytes);
		exit(1);
	}
	return p;
}

/* ---- shared arrays: a run of `bytes` for each rank ---- */

struct array {
	gva_t base;
	size_t run; /* bytes of a rank, whole pages */
};

static struct array array_map(size_t bytes)
{
	struct array a = {.run = (bytes + page - 1) / page * page};

	a.base = agas_map_all(a.run * (size_t)ranks, AGAS_BLOCKED);
	if (!a.base) {
		fprintf(stderr, "agas_nas: cannot map %zu bytes\n", a.run * (size_t)ranks);
		exit(1);
	}
	return a;
}

static gva_t array_at(const struct array *a, int rank, size_t offset)
{
	return a->base + (size_t)rank * a->run + offset;
}

/* The sum of n values over all ranks, at all ranks, in the order of ranks. */
static void sum_all(double *value, int n)
{
	enum { MOST = 32 };
	static struct array box[2];
	static int turn;
	double all[MOST];
	struct array *a = &box[turn ^= 1];

	if (!a->run)
		*a = array_map((size_t)ranks * MOST * sizeof(double));
	for (int r = 0; r < ranks; r++)
		put_bytes(array_at(a, r, (size_t)me * MOST * 8), value, (size_t)n * 8);
	run_barrier();
	memset(value, 0, (size_t)n * 8);
	for (int r = 0; r < ranks; r++) {
		get_bytes(all, array_at(a, me, (size_t)r * MOST * 8), (size_t)n * 8);
		run_fence();
		for (int i = 0; i < n; i++)
			value[i] += all[i];
	}
	charge_compute((double)n * ranks);
}

static double sum_one(double value)
{
	sum_all(&value, 1);
	return value;
}

/* ---- random numbers: x = 5^13 x modulo 2^46 ---- */

static double random_next(uint64_t *x)
{
	*x = *x * FACTOR & MASK46;
	return (double)*x * 0x1p-46;
}

static uint64_t random_skip(uint64_t x, uint64_t steps)
{
	uint64_t f = FACTOR;

	for (; steps; steps >>= 1, f = f * f & MASK46)
		if (steps & 1)
			x = x * f & MASK46;
	return x;
}

static bool is_near(double value, double expected, double error)
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

	while (c < 2 && all[c].class != class)
		c++;
	for (long k = me; k < 1l << (all[c].m - 16); k += ranks) {
		uint64_t x = random_skip(271828183, 2 * BATCH * (uint64_t)k);

		for (int i = 0; i < BATCH; i++) {
			double a = 2 * random_next(&x) - 1, b = 2 * random_next(&x) - 1;
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
		charge_compute(20.0 * BATCH);
	}
	sum_all(sum, 2 + ANNULI);
	return is_near(sum[0], all[c].sx, 1e-8) && is_near(sum[1], all[c].sy, 1e-8);
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

	while (c < 2 && all[c].class != class)
		c++;
	const long mine = (1l << all[c].keys) / ranks, range = (1l << all[c].most) / ranks;
	const long first = me * mine;
	uint64_t x = random_skip(314159265, 4 * (uint64_t)first);
	int32_t *key = allocate_zeroed((size_t)mine * 4),
		*count = allocate_zeroed((size_t)range * 4 * (size_t)ranks);
	int32_t *row = allocate_zeroed((size_t)range * 4),
		*total = allocate_zeroed((size_t)range * 4);
	struct array counts = array_map((size_t)range * 4 * (size_t)ranks);
	struct array tests = array_map(5 * 4);

	for (long i = 0; i < mine; i++) {
		double v = random_next(&x);

		v += random_next(&x);
		v += random_next(&x);
		v += random_next(&x);
		key[i] = (int32_t)(v * (double)(1l << all[c].most) / 4);
	}
	for (int it = 1; it <= ITERATIONS; it++) {
		double before[32], below = 0;
		int32_t test[5];

		if (me == 0 && mine > it + ITERATIONS) {
			key[it] = it;
			key[it + ITERATIONS] = (int32_t)(1l << all[c].most) - it;
		}
		for (int t = 0; t < 5; t++) /* the keys whose ranks are known, to all */
			if (all[c].test[t] / mine == me)
				for (int r = 0; r < ranks; r++)
					put_bytes(array_at(&tests, r, (size_t)t * 4),
						  &key[all[c].test[t] - first], 4);
		memset(count, 0, (size_t)range * 4 * (size_t)ranks);
		for (long i = 0; i < mine; i++)
			count[key[i]]++;
		charge_compute(2.0 * (double)mine);
		for (int r = 0; r < ranks; r++)
			put_bytes(array_at(&counts, r, (size_t)me * (size_t)range * 4),
				  count + r * range, (size_t)range * 4);
		run_barrier();
		memset(total, 0, (size_t)range * 4);
		for (int r = 0; r < ranks; r++) {
			get_bytes(row, array_at(&counts, me, (size_t)r * (size_t)range * 4),
				  (size_t)range * 4);
			run_fence();
			for (long i = 0; i < range; i++)
				total[i] += row[i];
		}
		charge_compute((double)range * ranks);
		memset(before, 0, sizeof(before));
		for (long i = 0; i < range; i++)
			before[me % 32] += total[i];
		sum_all(before, ranks < 32 ? ranks : 32);
		for (int r = 0; r < me; r++)
			below += before[r];
		get_bytes(test, array_at(&tests, me, 0), sizeof(test));
		run_fence();
		for (int t = 0; t < 5; t++) {
			long k = test[t] - me * range, rank = (long)below;
			bool up = t < (class == 'W' ? 2 : 3);
			int shift = class == 'S' ? it : class == 'W' ? it - 2 : it - 1;

			if (k < 0 || k >= range)
				continue;
			for (long i = 0; i < k; i++)
				rank += total[i];
			if (class == 'W' && !up)
				shift = it;
			wrong += rank != all[c].rank[t] + (up ? shift : -shift);
		}
		run_barrier(); /* counts and tests are written again */
	}
	free(key);
	free(count);
	free(row);
	free(total);
	return sum_one(wrong) == 0;
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
	struct array to[2]; /* by y, by z */
};

static void fft_lines(struct cube *q, double complex *a, int d, int n, int stride, long lines,
		      long step, int sign)
{
	for (long i = 0; i < lines; i++)
		transform_line(a + i * step, n, stride, sign, q->root[d], q->line);
	charge_compute(5.0 * (double)lines * n * log2(n));
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
	struct array *t = &q->to[!forward];
	size_t line = (size_t)q->nx * sizeof(*from);
	int mine = forward ? q->planes : q->rows, theirs = forward ? q->rows : q->planes;
	int across = forward ? q->ny : q->nz, along = forward ? q->nz : q->ny;

	run_barrier(); /* all have read what was there before */
	for (int i = 0; i < mine; i++)
		for (int k = 0; k < across; k++) {
			int other = (k + me * theirs) % across; /* not all to one at once */

			put_bytes(array_at(t, other / theirs,
					   ((size_t)(other % theirs) * (size_t)along +
					    (size_t)(me * mine + i)) *
					       line),
				  from +
				      ((size_t)i * (size_t)across + (size_t)other) * (size_t)q->nx,
				  line);
		}
	run_barrier();
	get_bytes(to, array_at(t, me, 0), (size_t)theirs * (size_t)along * line);
	run_fence();
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
	const double complex *known = class == 'S' ? sum_s : class == 'W' ? sum_w : sum_a;
	struct cube q = {.nx = class == 'S' ? 64 : class == 'W' ? 128 : 256};
	size_t points;
	double complex *a, *b, *u;
	int wrong = 0;
	uint64_t x;

	q.ny = class == 'S' ? 64 : class == 'W' ? 128 : 256;
	q.nz = class == 'S' ? 64 : class == 'W' ? 32 : 128;
	q.planes = q.nz / ranks;
	q.rows = q.ny / ranks;
	if (!q.planes || !q.rows) {
		fprintf(stderr, "agas_nas: FT of class %c: %d ranks at most\n", class, q.nz);
		exit(1);
	}
	points = (size_t)q.nx * (size_t)q.ny * (size_t)q.planes;
	a = allocate_zeroed(points * sizeof(*a));
	b = allocate_zeroed(points * sizeof(*a));
	u = allocate_zeroed(points * sizeof(*a));
	q.line = allocate_zeroed(256 * sizeof(*a));
	q.to[0] = array_map(points * sizeof(*a));
	q.to[1] = array_map(points * sizeof(*a));
	for (int d = 0; d < 3; d++) {
		int n = d == 0 ? q.nx : d == 1 ? q.ny : q.nz;

		q.root[d] = allocate_zeroed((size_t)n * sizeof(*a));
		for (int i = 0; i < n; i++)
			q.root[d][i] = cexp(2 * M_PI * I * i / n);
	}
	x = random_skip(314159265, 2 * points * (uint64_t)me);
	for (size_t i = 0; i < points; i++) {
		double re = random_next(&x);

		a[i] = re + random_next(&x) * I;
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
					int ky = (me * q.rows + y + q.ny / 2) % q.ny - q.ny / 2;
					int kz = (z + q.nz / 2) % q.nz - q.nz / 2;
					int kx = (i + q.nx / 2) % q.nx - q.nx / 2;

					b[at] = u[at] *= exp(-4e-6 * M_PI * M_PI *
							     (kx * kx + ky * ky + kz * kz));
				}
		charge_compute(8.0 * (double)points);
		for (int y = 0; y < q.rows; y++)
			fft_lines(&q, b + (size_t)y * (size_t)(q.nz * q.nx), 2, q.nz, q.nx, q.nx, 1,
				  -1);
		transpose_cube(&q, b, a, false);
		fft_planes(&q, a, -1);
		for (int j = 1; j <= 1024; j++) {
			int px = j % q.nx, py = 3 * j % q.ny, pz = 5 * j % q.nz - me * q.planes;
			double complex v;

			if (pz < 0 || pz >= q.planes)
				continue;
			v = a[((size_t)pz * (size_t)q.ny + (size_t)py) * (size_t)q.nx + (size_t)px];
			sum[0] += creal(v);
			sum[1] += cimag(v);
		}
		sum_all(sum, 2);
		sum[0] /= (double)points * ranks;
		sum[1] /= (double)points * ranks;
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
		double value = random_next(x), place = random_next(x);
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
	double *v = allocate_zeroed((size_t)(nonzer + 1) * (size_t)s->n * 8),
	       *row = allocate_zeroed((size_t)s->n * 8);
	int *at = allocate_zeroed((size_t)(nonzer + 1) * (size_t)s->n * 4);
	int *count = allocate_zeroed((size_t)s->n * 4);
	int *heads = allocate_zeroed((size_t)s->n * 4), *next, *owner;
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
	next = allocate_zeroed((size_t)total * 4);
	owner = allocate_zeroed((size_t)total * 4);
	memset(heads, -1, (size_t)s->n * 4);
	k = 0;
	for (int i = s->n - 1; i >= 0; i--)
		for (int j = 0; j < count[i]; j++) {
			int r = at[(size_t)i * (size_t)(nonzer + 1) + (size_t)j];

			owner[k] = i;
			next[k] = heads[r];
			heads[r] = (int)k++;
		}
	s->start = allocate_zeroed((size_t)(s->rows + 1) * 4);
	s->column = allocate_zeroed(room * 4);
	s->value = allocate_zeroed(room * 8);
	double *weight = allocate_zeroed((size_t)s->n * 8);

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
	charge_compute(2.0 * n);
	return sum_one(sum);
}

/* q = A p. Each rank has its rows, and gets the parts of p of all ranks. */
static void multiply_sparse(const struct sparse *s, struct array *shared, const double *p,
			    double *q, double *whole)
{
	size_t bytes = (size_t)s->chunk * 8;

	put_bytes(array_at(shared, me, 0), p, bytes);
	run_barrier();
	for (int i = 0; i < ranks; i++) {
		int r = (i + me) % ranks; /* not all from one at once */

		get_bytes(whole + (size_t)r * (size_t)s->chunk, array_at(shared, r, 0), bytes);
	}
	run_barrier();
	for (int r = 0; r < s->rows; r++) {
		double sum = 0;

		for (int k = s->start[r]; k < s->start[r + 1]; k++)
			sum += s->value[k] * whole[s->column[k]];
		q[r] = sum;
	}
	charge_compute(2.0 * s->start[s->rows]);
}

static bool run_cg(void)
{
	const int n = class == 'W' ? 7000 : class == 'A' ? 14000 : 1400;
	const int nonzer = class == 'W' ? 8 : class == 'A' ? 11 : 7;
	const double shift = class == 'W' ? 12 : class == 'A' ? 20 : 10;
	const double known = class == 'W'   ? 10.362595087124
			     : class == 'A' ? 17.130235054029
					    : 8.5971775078648;
	const int chunk = (n + ranks - 1) / ranks, first = me * chunk;
	const int rows = first >= n ? 0 : first + chunk > n ? n - first : chunk;
	struct sparse s = {n, chunk, first, rows, NULL, NULL, NULL};
	struct array shared = array_map((size_t)chunk * 8);
	size_t bytes = (size_t)chunk * 8;
	double *x = allocate_zeroed(bytes), *z = allocate_zeroed(bytes),
	       *r = allocate_zeroed(bytes), *p = allocate_zeroed(bytes);
	double *q = allocate_zeroed(bytes), *whole = allocate_zeroed(bytes * (size_t)ranks),
	       zeta = 0;
	uint64_t seed = 314159265;

	random_next(&seed);
	sparse_make(&s, nonzer, shift, &seed);
	for (int i = 0; i < rows; i++)
		x[i] = 1;
	for (int it = 1; it <= 15; it++) {
		double rho, d, norm;

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
			charge_compute(6.0 * rows);
		}
		d = dot_product(x, z, rows);
		norm = 1 / sqrt(dot_product(z, z, rows));
		zeta = shift + 1 / d;
		for (int i = 0; i < rows; i++)
			x[i] = norm * z[i];
	}
	return is_near(zeta, known, 1e-10);
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
	fprintf(stderr, "usage: agas_nas ep|is|ft|cg [--class S|W|A] [--flop_ns X]\n");
	return 2;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		bool (*run)(void);
	} kernel[] = {{"ep", run_ep}, {"is", run_is}, {"ft", run_ft}, {"cg", run_cg}};
	struct agas_stats counters;
	double start, us;
	bool right;
	int k = 0;

	while (argc > 1 && k < 4 && strcmp(argv[1], kernel[k].name))
		k++;
	if (argc < 2 || argc % 2 || k == 4)
		return print_usage();
	for (int i = 2; i < argc; i += 2) {
		if (!strcmp(argv[i], "--class") && strchr("SWA", argv[i + 1][0]))
			class = argv[i + 1][0];
		else if (!strcmp(argv[i], "--flop_ns") && atof(argv[i + 1]) >= 0)
			flop_ns = atof(argv[i + 1]);
		else
			return print_usage();
	}
	check_agas(agas_init(&argc, &argv), "init");
	me = agas_pe();
	ranks = agas_npes();
	page = agas_page_size();
	if (ranks & (ranks - 1) || ranks > 32) {
		fprintf(stderr, "agas_nas: %d ranks: a power of two, at most 32\n", ranks);
		return 1;
	}
	find_spend();
	run_barrier();
	agas_stats(&counters, 1);
	start = PAMI_Wtime(NULL);
	right = kernel[k].run();
	run_barrier();
	us = (PAMI_Wtime(NULL) - start) * 1e6;
	if (me == 0) {
		printf("agas-f16 %s class %c, %d ranks: %.1f us, verification %s\n", kernel[k].name,
		       class, ranks, us, right ? "right" : "WRONG");
		agas_stats(&counters, 0);
		bench_agas_print_counters(&counters);
		bench_agas_print_network();
	}
	run_barrier();
	agas_fini();
	return !right;
}
