/* SPDX-License-Identifier: BSD-3-Clause */
/* The Matrix Market reader: what it accepts, what it says about files that are wrong, and mutated
 * files.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/apps/mtx.h"
#include "tests/harness/t.h"

static char error[256];

static int parse_text(const char *text, struct mtx *m)
{
	error[0] = 0;
	return mtx_parse("f", text, strlen(text), m, error, sizeof(error), NULL, NULL);
}

/* The entry at (row, col), counted from 1; entries named twice add; NAN if there is none. */
static double entry_at(const struct mtx *m, size_t row, size_t col)
{
	double sum = NAN;
	size_t k;

	for (k = m->start[row - 1]; k < m->start[row]; k++)
		if (m->col[k] == col - 1)
			sum = isnan(sum) ? m->value[k] : sum + m->value[k];
	return sum;
}

static void general_real(void)
{
	struct mtx m;

	REQUIRE(parse_text("%%MatrixMarket matrix coordinate real general\n% a comment\n\n 3 4 5 \n"
			   "1 1 1.5\n3 4 -2e-3\n\n% between\n2\t2\t+7\r\n3 1 .25\n3 4 1D0\n",
			   &m) == 0);
	CHECK(m.rows == 3 && m.cols == 4 && m.entries == 5);
	CHECK(entry_at(&m, 1, 1) == 1.5 && entry_at(&m, 2, 2) == 7 && entry_at(&m, 3, 1) == 0.25);
	CHECK(entry_at(&m, 3, 4) == -2e-3 + 1.0);
	CHECK(isnan(entry_at(&m, 1, 2)));
	CHECK_STR(m.kind, "real general");
	mtx_free(&m);
}

static void symmetries_are_filled_in(void)
{
	struct mtx m;

	REQUIRE(
	    parse_text(
		"%%matrixmarket MATRIX Coordinate Integer Symmetric\n3 3 3\n1 1 4\n3 1 5\n3 2 -6",
		&m) == 0);
	CHECK(m.entries == 5 && entry_at(&m, 1, 3) == 5 && entry_at(&m, 3, 1) == 5 &&
	      entry_at(&m, 2, 3) == -6);
	mtx_free(&m);
	REQUIRE(parse_text("%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 1\n3 1 5\n",
			   &m) == 0);
	CHECK(m.entries == 2 && entry_at(&m, 1, 3) == -5 && entry_at(&m, 3, 1) == 5);
	mtx_free(&m);
	REQUIRE(parse_text("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n",
			   &m) == 0);
	CHECK(m.entries == 3 && entry_at(&m, 1, 2) == 1 && entry_at(&m, 1, 1) == 1);
	mtx_free(&m);
}

static void empty_matrix(void)
{
	struct mtx m;
	double x[2] = {1, 1}, y[3] = {9, 9, 9};

	REQUIRE(parse_text("%%MatrixMarket matrix coordinate real general\n3 2 0\n", &m) == 0);
	mtx_product(&m, x, y);
	CHECK(m.entries == 0 && y[0] == 0 && y[2] == 0);
	mtx_free(&m);
}

/* Each file is refused with a message that names the line and contains the text. */
static void malformed_files_are_refused(void)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
	    {"", "f:1: not a Matrix Market file"},
	    {"1 1 1\n", "f:1: not a Matrix Market file"},
	    {"%%MatrixMarket matrix array real general\n", "f:1: the format is 'array'"},
	    {"%%MatrixMarket vector coordinate real general\n", "f:1: the object is 'vector'"},
	    {"%%MatrixMarket matrix coordinate complex general\n", "f:1: entries are 'complex'"},
	    {"%%MatrixMarket matrix coordinate real hermitian\n",
	     "f:1: the symmetry is 'hermitian'"},
	    {"%%MatrixMarket matrix coordinate real\n", "f:1: the symmetry is ''"},
	    {"%%MatrixMarket matrix coordinate pattern skew-symmetric\n", "f:1: a pattern cannot"},
	    {"%%MatrixMarket matrix coordinate real general extra\n", "f:1: 'extra"},
	    {"%%MatrixMarket matrix coordinate real general\n% only\n", "the file ends before"},
	    {"%%MatrixMarket matrix coordinate real general\n2 2\n",
	     "f:2: the number of entries is missing"},
	    {"%%MatrixMarket matrix coordinate real general\n2 2 1 9\n1 1 1\n", "f:2: '9"},
	    {"%%MatrixMarket matrix coordinate real general\n-2 2 1\n1 1 1\n",
	     "f:2: the number of rows"},
	    {"%%MatrixMarket matrix coordinate real general\n0 2 0\n", "f:2: 0 x 2"},
	    {"%%MatrixMarket matrix coordinate real general\n4294967297 1 1\n1 1 1\n",
	     "f:2: 4294967297 x 1"},
	    {"%%MatrixMarket matrix coordinate real general\n99999999999999999999 1 1\n",
	     "f:2: the number of rows"},
	    {"%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n1 1 1\n",
	     "f:2: 2 x 3 is not square"},
	    {"%%MatrixMarket matrix coordinate real general\n2 2 1000000\n1 1 1\n",
	     "f:2: 1000000 entries do not fit"},
	    {"%%MatrixMarket matrix coordinate real general\n2000000000 2 1\n1 1 1\n",
	     "nearly all rows are empty"},
	    {"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n",
	     "ends after 1 of 2 entries"},
	    {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n2 2 2\n",
	     "f:4: more than the 1 entries"},
	    {"%%MatrixMarket matrix coordinate real general\n2 2 1\n% c\n3 1 1\n",
	     "f:4: row 3 is outside 1 .. 2"},
	    {"%%MatrixMarket matrix coordinate real general\n2 2 1\n0 1 1\n",
	     "f:3: row 0 is outside"},
	    {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 9 1\n",
	     "f:3: column 9 is outside"},
	    {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1\n  \n",
	     "f:3: the value is missing"},
	    {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1\n1 1\n",
	     "f:3: the column is missing"},
	    {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1.0 1 1\n",
	     "f:3: the row is not a whole"},
	    {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 x\n",
	     "f:3: 'x' is not a number"},
	    {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1e\n",
	     "f:3: '1e' is not a number"},
	    {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 0x1\n",
	     "f:3: '0x1' is not a number"},
	    {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1e999\n", "is not finite"},
	    {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 nan\n", "is not finite"},
	    {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1 2\n", "f:3: '2"},
	    {"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 1.5\n",
	     "f:3: 1.5 is not whole"},
	    {"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1 1\n", "f:3: '1"},
	    {"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 1\n",
	     "f:3: a skew-symmetric"},
	};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct mtx m;
		int refused =
		    parse_text(bad[i].text, &m) == -1 && strstr(error, bad[i].says) != NULL;

		if (!refused)
			fprintf(stderr, "file %zu: said '%s', not '%s'\n", i, error, bad[i].says);
		CHECK(refused);
	}
}

/* Numbers read as strtod reads them, over the fast way and the slow. */
static void numbers_read_as_strtod_reads(void)
{
	int i;

	for (i = 0; i < 20000; i++) {
		struct drv_rng *r = t_rng();
		char number[64], text[256];
		struct mtx m;
		uint64_t bits = drv_rng_next(r);
		double v;

		switch (i % 4) {
		case 0:
			snprintf(number, sizeof(number), "%.17g",
				 drv_rng_unit(r) * pow(10, (double)drv_rng_below(r, 40) - 20));
			break;
		case 1:
			snprintf(number, sizeof(number), "%+.*e", (int)drv_rng_below(r, 18),
				 drv_rng_unit(r) - 0.5);
			break;
		case 2:
			memcpy(&v, &bits, sizeof(v));
			snprintf(number, sizeof(number), "%.17g", isfinite(v) ? v : 0);
			break;
		default:
			snprintf(number, sizeof(number), "%lld.%llu",
				 (long long)(bits >> 20) - (1ll << 43),
				 (unsigned long long)drv_rng_below(r, 1000000));
		}
		snprintf(text, sizeof(text),
			 "%%%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 %s\n",
			 number);
		REQUIRE(parse_text(text, &m) == 0);
		if (m.value[0] != strtod(number, NULL))
			fprintf(stderr, "%s read as %.17g\n", number, m.value[0]);
		CHECK(m.value[0] == strtod(number, NULL));
		mtx_free(&m);
	}
}

/* A valid file with bytes changed, dropped, doubled: read or refused with a message, never out of
 * bounds. */
static void mutations_are_read_or_refused(void)
{
	static const char seed_text[] =
	    "%%MatrixMarket matrix coordinate real symmetric\n% c\n5 5 6\n1 1 1.25\n2 2 -3e2\n"
	    "3 1 0.5\n4 4 1\n5 2 7\n5 5 123456789.5\n";
	static const char spice[] = "0123456789 \n\t-+.eE%x\r";
	int i, read = 0;

	for (i = 0; i < 100000; i++) {
		struct drv_rng *r = t_rng();
		size_t n = sizeof(seed_text) - 1, changes = 1 + drv_rng_below(r, 4), at_byte;
		/* Just as long as used, so that a sanitizer sees an access beyond it. */
		char *text = malloc(n + 8);
		struct mtx m;

		memcpy(text, seed_text, n);
		while (changes-- && n > 1) {
			at_byte = drv_rng_below(r, n);
			switch (drv_rng_below(r, 3)) {
			case 0:
				text[at_byte] = drv_rng_below(r, 8)
						    ? spice[drv_rng_below(r, sizeof(spice) - 1)]
						    : (char)drv_rng_next(r);
				break;
			case 1:
				memmove(text + at_byte, text + at_byte + 1, n - at_byte - 1);
				n--;
				break;
			default:
				n = at_byte + 1;
			}
		}
		text = realloc(text, n);
		error[0] = 0;
		if (mtx_parse("f", text, n, &m, error, sizeof(error), NULL, NULL) == 0) {
			CHECK(m.start[m.rows] == m.entries);
			mtx_free(&m);
			read++;
		} else {
			CHECK(error[0] == 'f' && error[1] == ':');
		}
		free(text);
	}
	CHECK(read > 0 && read < 100000);
}

static double last_progress;
static void note_progress(void *arg, double done)
{
	last_progress = done;
}

static void files_open_or_say_why(void)
{
	char path[256];
	struct mtx m;
	FILE *f;

	CHECK(mtx_read("/nowhere/at/all.mtx", &m, error, sizeof(error), NULL, NULL) == -1);
	CHECK_STR(error, "/nowhere/at/all.mtx: No such file or directory");
	CHECK(mtx_read("/", &m, error, sizeof(error), NULL, NULL) == -1);
	snprintf(path, sizeof(path), "%s/a.mtx", t_dir());
	f = fopen(path, "w");
	REQUIRE(f != NULL);
	fprintf(f, "%%%%MatrixMarket matrix coordinate real general\n2 2 1\n2 1 3\n");
	fclose(f);
	REQUIRE(mtx_read(path, &m, error, sizeof(error), note_progress, NULL) == 0);
	CHECK(entry_at(&m, 2, 1) == 3 && last_progress == 1);
	mtx_free(&m);
}

static void product_is_right(void)
{
	struct mtx m;
	double x[3] = {1, 2, 3}, y[3];

	REQUIRE(parse_text("%%MatrixMarket matrix coordinate real general\n3 3 4\n1 3 2\n1 "
			   "1 1\n3 2 5\n3 2 1\n",
			   &m) == 0);
	mtx_product(&m, x, y);
	CHECK(y[0] == 7 && y[1] == 0 && y[2] == 12);
	mtx_free(&m);
}

T_MAIN(T(general_real), T(symmetries_are_filled_in), T(empty_matrix),
       T(malformed_files_are_refused), T(numbers_read_as_strtod_reads),
       T(mutations_are_read_or_refused), T(files_open_or_say_why), T(product_is_right))
