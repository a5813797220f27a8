/* SPDX-License-Identifier: BSD-3-Clause */
/* Global Arrays on libarmci: every part that talks, against what arithmetic says. usage: ga_program
 * [PART...] */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/apps/ga/ga_check.h"

int me, n, bad;
static uint64_t own_state, common_state;

const struct type types[] = {
    {C_INT, "int", sizeof(int)},
    {C_LONG, "long", sizeof(long)},
    {C_FLOAT, "float", sizeof(float)},
    {C_DBL, "double", sizeof(double)},
    {C_SCPL, "complex", sizeof(SingleComplex)},
    {C_DCPL, "double complex", sizeof(DoubleComplex)},
};
const int type_count = sizeof types / sizeof *types;

void expect_true(int ok, const char *format, ...)
{
	va_list ap;

	if (ok || bad++ >= 20)
		return;
	printf("FAIL process %d of %d: ", me, n);
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

static uint32_t draw_next(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(((*state >> 33) * below) >> 31);
}

uint32_t draw_below(uint32_t below)
{
	return draw_next(&own_state, below);
}

uint32_t draw_common(uint32_t below)
{
	return draw_next(&common_state, below);
}

void store_element(const struct type *t, void *buf, long i, double v)
{
	switch (t->id) {
	case C_INT:
		((int *)buf)[i] = (int)v;
		break;
	case C_LONG:
		((long *)buf)[i] = (long)v;
		break;
	case C_LONGLONG:
		((long long *)buf)[i] = (long long)v;
		break;
	case C_FLOAT:
		((float *)buf)[i] = (float)v;
		break;
	case C_DBL:
		((double *)buf)[i] = v;
		break;
	case C_SCPL:
		((SingleComplex *)buf)[i] = (SingleComplex){(float)v, (float)(-v / 2)};
		break;
	default:
		((DoubleComplex *)buf)[i] = (DoubleComplex){v, -v / 2};
	}
}

double fetch_element(const struct type *t, const void *buf, long i)
{
	switch (t->id) {
	case C_INT:
		return ((const int *)buf)[i];
	case C_LONG:
		return (double)((const long *)buf)[i];
	case C_LONGLONG:
		return (double)((const long long *)buf)[i];
	case C_FLOAT:
		return ((const float *)buf)[i];
	case C_DBL:
		return ((const double *)buf)[i];
	case C_SCPL: {
		SingleComplex c = ((const SingleComplex *)buf)[i];

		return c.imag == -c.real / 2 ? c.real : -1e30;
	}
	default: {
		DoubleComplex c = ((const DoubleComplex *)buf)[i];

		return c.imag == -c.real / 2 ? c.real : -1e30;
	}
	}
}

void patch_set(struct patch *p, int ndim, const int *lo, const int *hi)
{
	p->ndim = ndim;
	p->count = 1;
	for (int d = 0; d < ndim; d++) {
		p->lo[d] = lo[d];
		p->hi[d] = hi[d];
		p->len[d] = hi[d] - lo[d] + 1;
		p->count *= p->len[d];
		if (d)
			p->ld[d - 1] = p->len[d];
	}
}

void patch_random(struct patch *p, int ndim, const int *dims, uint32_t (*rng)(uint32_t))
{
	int lo[DIMS], hi[DIMS];

	for (int d = 0; d < ndim; d++) {
		int a = (int)rng((uint32_t)dims[d]), b = (int)rng((uint32_t)dims[d]);

		lo[d] = a < b ? a : b;
		hi[d] = a < b ? b : a;
	}
	patch_set(p, ndim, lo, hi);
}

void patch_index(const struct patch *p, long i, int *index)
{
	for (int d = p->ndim - 1; d >= 0; d--) {
		index[d] = p->lo[d] + (int)(i % p->len[d]);
		i /= p->len[d];
	}
}

long linear_index(int ndim, const int *dims, const int *index)
{
	long i = 0;

	for (int d = 0; d < ndim; d++)
		i = i * dims[d] + index[d];
	return i;
}

static const struct {
	const char *name;
	void (*test)(void);
} parts[] = {
    {"transfers", test_transfers}, {"distributions", test_distributions},
    {"ghosts", test_ghosts},       {"math", test_math},
    {"matrix", test_matrix},       {"groups", test_groups},
    {"mirrored", test_mirrored},   {"sharing", test_sharing},
};

int main(int argc, char **argv)
{
	const char *seed = getenv("QT_SEED");
	int failed = 0;

	MPI_Init(&argc, &argv);
	GA_Initialize();
	me = GA_Nodeid();
	n = GA_Nnodes();
	if (!MA_init(C_DBL, 1 << 20, 1 << 20))
		GA_Error("MA_init", 1);
	common_state = seed ? strtoull(seed, NULL, 0) : 1;
	own_state = common_state + 7919u * ((uint64_t)me + 1);
	if (!me)
		printf("Global Arrays %d.%d on %d processes, seed %llu\n", GA_VERSION_MAJOR,
		       GA_VERSION_MINOR, n, (unsigned long long)common_state);
	for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
		int wanted = argc < 2;

		for (int a = 1; a < argc; a++)
			wanted |= !strcmp(argv[a], parts[i].name);
		if (!wanted)
			continue;
		bad = 0;
		GA_Sync();
		parts[i].test();
		GA_Sync();
		GA_Igop(&bad, 1, "+");
		failed += bad != 0;
		if (!me)
			printf("%s %s\n", bad ? "FAIL" : "ok", parts[i].name);
		fflush(stdout);
	}
	GA_Terminate();
	MPI_Finalize();
	if (!failed)
		printf("PASS %d of %d\n", me, n);
	return failed != 0;
}
