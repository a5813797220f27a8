/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sparse matrix times vector through ARMCI: y = A x repeatedly, with x distributed; each process
 * fetches the elements of other owners one-sided before each product. For square matrices the next
 * x is y divided by its largest element (the power method), so an error anywhere would spread. The
 * last y is compared with the same products computed by process 0 alone. This is the experiment of
 * armci-f23 (docs/references.md).
 */
#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/apps/spmv.h"

#define TOLERANCE 1e-12

static struct {
	const char *path;
	int products;
	unsigned fetches; /* bit per enum spmv_fetch */
	bool json, check, help;
} options = {.products = 20, .fetches = 1u << SPMV_VECTOR, .check = true};

static int me, nproc;

/* ---- progress, by process 0 on stderr, once work takes longer than a moment ---- */

struct watch {
	const char *what;
	double begin, shown;
	bool any;
};

static void watch_show(void *arg, double done)
{
	struct watch *w = arg;
	double now = armci_timer();

	if (now - w->begin < 0.5 || now - w->shown < (isatty(2) ? 0.2 : 2.0))
		return;
	w->shown = now;
	w->any = true;
	fprintf(stderr, isatty(2) ? "\r%s %3.0f %%" : "%s %.0f %%\n", w->what, 100 * done);
}

static struct watch watch_start(const char *what)
{
	return (struct watch){.what = what, .begin = armci_timer()};
}

static void watch_end(const struct watch *w)
{
	if (w->any && isatty(2))
		fprintf(stderr, "\r%s done\n", w->what);
}

/* ---- one way of fetching, measured ---- */

struct result {
	enum spmv_fetch how;
	double product_s;  /* median over products of the slowest process */
	double multiply_s; /* of that, without fetching: the longest median of a process */
	double fetch_min_s, fetch_max_s; /* median fetch of the fastest and the slowest process */
	double bytes, transfers;         /* over all processes, a product */
	double error; /* relative, against the serial product; NAN: not checked */
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_of(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static double transfers_of(const struct spmv *s, enum spmv_fetch how)
{
	double n = 0;
	int p;

	if (how == SPMV_SINGLE)
		return (double)s->ghosts;
	if (how == SPMV_RUNS)
		return (double)s->runs;
	for (p = 0; p < s->nproc; p++)
		n += s->ghost_bound[p] != s->ghost_bound[p + 1];
	return n;
}

static void measure_products(struct spmv *s, enum spmv_fetch how, struct result *r)
{
	double *product = calloc((size_t)options.products, sizeof(double));
	double *fetch = calloc((size_t)options.products, sizeof(double));
	double *multiply = calloc((size_t)options.products, sizeof(double));
	struct watch w = watch_start("multiplying");
	bool square = s->rows == s->cols;
	int i;

	if (!product || !fetch || !multiply)
		ARMCI_Error("no memory for the samples", 1);
	spmv_start(s);
	for (i = 0; i < options.products; i++) {
		int which = square ? i % 2 : 0;
		double begin = armci_timer(), most;

		spmv_fetch(s, which, how);
		fetch[i] = armci_timer() - begin;
		spmv_multiply(s);
		product[i] = armci_timer() - begin;
		multiply[i] = product[i] - fetch[i];
		most = spmv_absmax(s);
		if (square)
			spmv_update(s, !which, most > 0 ? most : 1);
		ARMCI_Barrier();
		if (me == 0)
			watch_show(&w, (i + 1.0) / options.products);
	}
	watch_end(&w);
	armci_msg_dgop(product, options.products, "max");
	r->how = how;
	r->product_s = median_of(product, options.products);
	r->multiply_s = median_of(multiply, options.products);
	armci_msg_dgop(&r->multiply_s, 1, "max");
	r->fetch_min_s = r->fetch_max_s = median_of(fetch, options.products);
	armci_msg_dgop(&r->fetch_min_s, 1, "min");
	armci_msg_dgop(&r->fetch_max_s, 1, "max");
	r->bytes = (double)s->ghosts * sizeof(double);
	r->transfers = transfers_of(s, how);
	armci_msg_dgop(&r->bytes, 1, "+");
	armci_msg_dgop(&r->transfers, 1, "+");
	free(product);
	free(fetch);
	free(multiply);
}

/* ---- the serial product ---- */

/* Compute the last y of the same products; also returns the seconds a product. */
static double multiply_serially(const struct mtx *m, double *y)
{
	double *x = malloc(m->cols * sizeof(double)), begin, spent = 0;
	struct watch w = watch_start("checking");
	size_t k;
	int i;

	if (!x)
		ARMCI_Error("no memory for the serial product", 1);
	for (k = 0; k < m->cols; k++)
		x[k] = spmv_start_value(k);
	for (i = 0; i < options.products; i++) {
		double most = 0;

		begin = armci_timer();
		mtx_product(m, x, y);
		spent += armci_timer() - begin;
		for (k = 0; k < m->rows; k++)
			most = fmax(most, fabs(y[k]));
		for (k = 0; m->rows == m->cols && k < m->rows; k++)
			x[k] = y[k] / (most > 0 ? most : 1);
		watch_show(&w, (i + 1.0) / options.products);
	}
	watch_end(&w);
	free(x);
	return spent / options.products;
}

/* |a - b| / |b| in the Euclidean norm, scaled so that it cannot overflow. */
static double relative_error(const double *a, const double *b, size_t n)
{
	double most = 0, difference = 0, norm = 0;
	size_t k;

	for (k = 0; k < n; k++)
		most = fmax(most, fmax(fabs(a[k]), fabs(b[k])));
	if (most == 0)
		return 0;
	for (k = 0; k < n; k++) {
		double d = a[k] / most - b[k] / most, e = b[k] / most;

		difference += d * d;
		norm += e * e;
	}
	return norm > 0 ? sqrt(difference / norm) : INFINITY;
}

/* ---- report ---- */

static double count_gflops(const struct spmv *s, double seconds)
{
	return seconds > 0 ? 2.0 * (double)s->entries / seconds * 1e-9 : 0;
}

/* A virtual clock does not count computation, so it shows faster products than any processor
 * computes. */
static bool is_computation_timed(const struct spmv *s, const struct result *r)
{
	return r->multiply_s * 1e12 > (double)s->entries / s->nproc;
}

static bool is_good(const struct result *r)
{
	return r->error <= TOLERANCE; /* false for NAN */
}

static void report_text(const struct spmv *s, const struct mtx *m, const struct result *r, int n,
			double serial_s)
{
	char rate[32] = "-";
	int i;

	printf("sparse matrix times vector: %s\n", options.path);
	printf("  %zu x %zu, %zu entries (%s), on %d processes, %d products each\n", s->rows,
	       s->cols, s->entries, m->kind, s->nproc, options.products);
	printf("  %-10s %12s %9s %22s %12s %10s  %s\n", "fetch", "us/product", "GFLOP/s",
	       "us fetching, min max", "bytes", "transfers", "relative error");
	for (i = 0; i < n; i++) {
		if (is_computation_timed(s, &r[i]))
			snprintf(rate, sizeof(rate), "%.3f", count_gflops(s, r[i].product_s));
		printf("  %-10s %12.1f %9s %11.1f %10.1f %12.0f %10.0f  ",
		       spmv_fetch_name[r[i].how], r[i].product_s * 1e6, rate,
		       r[i].fetch_min_s * 1e6, r[i].fetch_max_s * 1e6, r[i].bytes, r[i].transfers);
		if (options.check)
			printf("%.2e %s\n", r[i].error, is_good(&r[i]) ? "ok" : "WRONG");
		else
			printf("not checked\n");
	}
	if (!is_computation_timed(s, &r[0]))
		printf(
		    "  virtual time: computation costs nothing, a product is its communication\n");
	else if (options.check)
		printf("  %-10s %12.1f %9.3f\n", "serial", serial_s * 1e6,
		       count_gflops(s, serial_s));
}

static void json_string(const char *text)
{
	putchar('"');
	for (; *text; text++)
		if (*text == '"' || *text == '\\')
			printf("\\%c", *text);
		else if ((unsigned char)*text < 32)
			printf("\\u%04x", *text);
		else
			putchar(*text);
	putchar('"');
}

static void report_json(const struct spmv *s, const struct mtx *m, const struct result *r, int n,
			double serial_s)
{
	int i;

	for (i = 0; i < n; i++) {
		printf("{\"bench\":\"spmv\",\"matrix\":");
		json_string(options.path);
		printf(
		    ",\"kind\":\"%s\",\"rows\":%zu,\"cols\":%zu,\"entries\":%zu,\"processes\":%d,"
		    "\"products\":%d,"
		    "\"fetch\":\"%s\",\"product_s\":%.9g,\"multiply_s\":%.9g,\"gflops\":%.6g,"
		    "\"fetch_"
		    "min_s\":%.9g,\"fetch_max_s\":%.9g,"
		    "\"bytes\":%.0f,\"transfers\":%.0f",
		    m->kind, s->rows, s->cols, s->entries, s->nproc, options.products,
		    spmv_fetch_name[r[i].how], r[i].product_s, r[i].multiply_s,
		    is_computation_timed(s, &r[i]) ? count_gflops(s, r[i].product_s) : 0,
		    r[i].fetch_min_s, r[i].fetch_max_s, r[i].bytes, r[i].transfers);
		if (options.check)
			printf(",\"serial_s\":%.9g,\"relative_error\":%.3g,\"check\":\"%s\"",
			       serial_s, r[i].error, is_good(&r[i]) ? "ok" : "wrong");
		printf("}\n");
	}
}

/* ---- run ---- */

static int run_products(struct spmv *s, const struct mtx *m)
{
	double *expected = NULL, *y = NULL, serial_s = 0;
	struct result result[SPMV_FETCHES];
	int how, n = 0, bad = 0;

	if (me == 0 && options.check) {
		expected = malloc(m->rows * sizeof(double));
		y = malloc(m->rows * sizeof(double));
		if (!expected || !y)
			ARMCI_Error("no memory for the check", 1);
		serial_s = multiply_serially(m, expected);
	}
	for (how = 0; how < SPMV_FETCHES; how++) {
		if (!(options.fetches >> how & 1))
			continue;
		measure_products(s, (enum spmv_fetch)how, &result[n]);
		result[n].error = NAN;
		if (me == 0 && options.check) {
			spmv_gather(s, y);
			result[n].error = relative_error(y, expected, m->rows);
			bad |= !is_good(&result[n]);
		}
		ARMCI_Barrier(); /* y stays until it was gathered */
		n++;
	}
	if (me == 0)
		(options.json ? report_json : report_text)(s, m, result, n, serial_s);
	if (me == 0 && options.check && !options.json)
		printf("  verdict: %s (serial product, relative error at most %g)\n",
		       bad ? "WRONG" : "correct", TOLERANCE);
	free(expected);
	free(y);
	armci_msg_igop(&bad, 1, "max");
	return bad;
}

/* Read at process 0, distribute, run. */
static int spmv_main(void)
{
	struct watch reading = watch_start("reading"), dealing;
	struct spmv s = {0};
	struct mtx m = {0};
	char error[512];
	int bad = 0;

	if (me == 0) {
		bad = mtx_read(options.path, &m, error, sizeof(error), watch_show, &reading) != 0;
		watch_end(&reading);
		if (bad)
			fprintf(stderr, "spmv: %s\n", error);
	}
	armci_msg_igop(&bad, 1, "max");
	if (bad)
		return 1;
	dealing = watch_start("dealing rows");
	bad = spmv_deal(&s, &m, watch_show, &dealing) != 0;
	if (bad && me == 0)
		fprintf(stderr, "spmv: no memory for the parts of the matrix\n");
	if (!bad)
		bad = run_products(&s, &m);
	spmv_free(&s);
	mtx_free(&m);
	return bad;
}

/* ---- command line ---- */

static error_t refuse_usage(struct argp_state *state, const char *format, const char *text)
{
	argp_error(state, format, text);
	return EINVAL;
}

static error_t choose_fetch(struct argp_state *state, const char *text)
{
	int i;

	if (!strcmp(text, "all")) {
		options.fetches = (1u << SPMV_FETCHES) - 1;
		return 0;
	}
	for (i = 0; i < SPMV_FETCHES; i++)
		if (!strcmp(text, spmv_fetch_name[i])) {
			options.fetches = 1u << i;
			return 0;
		}
	return refuse_usage(state, "--fetch is vector, runs, aggregate, single or all, not '%s'",
			    text);
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	char *end;
	long v;

	switch (key) {
	case 'n':
		v = strtol(text, &end, 10);
		if (*end || !*text || v < 1 || v > 1000000)
			return refuse_usage(
			    state, "--products is a whole number, 1 .. 1000000, not '%s'", text);
		options.products = (int)v;
		return 0;
	case 'f':
		return choose_fetch(state, text);
	case 'j':
		options.json = true;
		return 0;
	case 'c':
		options.check = false;
		return 0;
	case 'h':
		options.help = true;
		return 0;
	case ARGP_KEY_ARG:
		if (options.path)
			return refuse_usage(state, "one matrix at a time, not '%s' too", text);
		options.path = text;
		return 0;
	case ARGP_KEY_END:
		if (!options.path && !options.help)
			return refuse_usage(
			    state, "%s",
			    "say which Matrix Market file to multiply (mtx_make writes one)");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Every process parses, and process 0 alone prints. All processes reach Finalize. */
static int take_arguments(int argc, char **argv)
{
	static const struct argp_option list[] = {
	    {"products", 'n', "N", 0, "products to make (20)", 0},
	    {"fetch", 'f', "HOW", 0,
	     "how to get remote elements of x: vector (default; one vector get an owner), "
	     "runs (a get a run of neighbours), aggregate (a get an element, aggregate handle), "
	     "single (a get an element), or all",
	     0},
	    {"no-check", 'c', NULL, 0, "do not compare with the serial product", 0},
	    {"json", 'j', NULL, 0, "one JSON object a line", 0},
	    {"help", 'h', NULL, 0, "this text", -1},
	    {0},
	};
	static const struct argp argp = {
	    list,
	    parse_option,
	    "FILE.mtx",
	    "Multiply a sparse matrix with a vector, both spread over the processes of a job:"
	    "\n  torus run -n 8 spmv FILE.mtx\v"
	    "FILE is a Matrix Market file: coordinate; real, integer or pattern; general, "
	    "symmetric or skew-symmetric. Process 0 reads it (- is its stdin) and deals the rows. "
	    "Exit status 0 if the result is right, 1 if it is wrong or the file is, 64 for wrong "
	    "arguments.",
	    NULL,
	    NULL,
	    NULL};
	unsigned flags = ARGP_NO_EXIT | ARGP_NO_HELP;
	error_t rc;

	if (me)
		flags |= ARGP_NO_ERRS;
	rc = argp_parse(&argp, argc, argv, flags, NULL, NULL);
	if (!rc && options.help && me == 0)
		argp_help(&argp, stdout, ARGP_HELP_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC,
			  (char *)"spmv");
	return rc ? 64 : 0;
}

int main(int argc, char **argv)
{
	int rc;

	if (ARMCI_Init_args(&argc, &argv)) {
		fprintf(stderr, "spmv: ARMCI does not start\n");
		return 1;
	}
	me = armci_msg_me();
	nproc = armci_msg_nproc();
	rc = take_arguments(argc, argv);
	if (!rc && !options.help)
		rc = spmv_main();
	fflush(stdout);
	ARMCI_Finalize();
	return rc;
}
