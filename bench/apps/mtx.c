/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrix Market reader: one pass over the text, then a counting sort into rows. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/apps/mtx.h"

enum field { REAL, INTEGER, PATTERN };
enum symmetry { GENERAL, SYMMETRIC, SKEW };

struct reader {
	const char *name, *p, *end, *begin;
	size_t line;
	char *error;
	size_t error_bytes;
	enum field field;
	enum symmetry symmetry;
	mtx_progress_fn progress;
	void *arg;
};

struct triple {
	uint32_t row, col;
	double value;
};

static int report_mistake(struct reader *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static int report_mistake(struct reader *r, const char *format, ...)
{
	int n = r->line ? snprintf(r->error, r->error_bytes, "%s:%zu: ", r->name, r->line)
			: snprintf(r->error, r->error_bytes, "%s: ", r->name);
	va_list ap;

	va_start(ap, format);
	if (n >= 0 && (size_t)n < r->error_bytes)
		vsnprintf(r->error + n, r->error_bytes - (size_t)n, format, ap);
	va_end(ap);
	return -1;
}

/* ---- words ---- */

static void skip_blanks(struct reader *r)
{
	while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\r'))
		r->p++;
}

static int at_line_end(const struct reader *r)
{
	return r->p == r->end || *r->p == '\n';
}

static void next_line(struct reader *r)
{
	const char *nl = memchr(r->p, '\n', (size_t)(r->end - r->p));

	r->p = nl ? nl + 1 : r->end;
	r->line++;
}

/* Skip to the first word of the next line that is neither empty nor a comment. Returns 0 at the end
 * of the text. */
static int next_content(struct reader *r)
{
	while (r->p < r->end) {
		skip_blanks(r);
		if (!at_line_end(r) && *r->p != '%')
			return 1;
		next_line(r);
	}
	return 0;
}

/* Check that the rest of the line is empty, and go to the next line. */
static int line_done(struct reader *r)
{
	skip_blanks(r);
	if (!at_line_end(r))
		return report_mistake(r, "'%.*s' after the last number of the line",
				      (int)(r->end - r->p > 10 ? 10 : r->end - r->p), r->p);
	next_line(r);
	return 0;
}

static int word_ends(const struct reader *r)
{
	return r->p == r->end || *r->p == ' ' || *r->p == '\t' || *r->p == '\r' || *r->p == '\n';
}

static int take_count(struct reader *r, const char *what, uint64_t *value)
{
	const char *from;
	uint64_t v = 0;

	skip_blanks(r);
	from = r->p;
	while (r->p < r->end && *r->p >= '0' && *r->p <= '9' && r->p - from < 18)
		v = v * 10 + (uint64_t)(*r->p++ - '0');
	if (r->p == from)
		return report_mistake(r,
				      at_line_end(r) ? "the %s is missing"
						     : "the %s is not a positive whole number",
				      what);
	if (!word_ends(r))
		return report_mistake(r, "the %s is not a whole number below 10^18", what);
	*value = v;
	return 0;
}

/* Handle what the fast path cannot do exactly: long mantissas, large exponents, unusual spellings.
 */
static int take_value_slow(struct reader *r, const char *from, double *value)
{
	char buf[128], *end;
	size_t n = 0;

	r->p = from;
	while (!word_ends(r)) {
		if (n + 1 == sizeof(buf))
			return report_mistake(r, "a value of more than %zu characters", n);
		buf[n] = *r->p++;
		if (buf[n] == 'd' || buf[n] == 'D') /* Fortran's exponent letter */
			buf[n] = 'e';
		n++;
	}
	buf[n] = 0;
	*value = strtod(buf, &end);
	if (*end || end == buf || memchr(buf, 'x', n) || memchr(buf, 'X', n))
		return report_mistake(r, "'%.20s' is not a number", buf);
	if (!isfinite(*value))
		return report_mistake(r, "the value '%.20s' is not finite", buf);
	return 0;
}

/* Exact where mantissa < 2^53 and |exponent| <= 22 (Clinger 1990), which files nearly always are.
 */
static int take_value(struct reader *r, double *value)
{
	static const double ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
				     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
				     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
	const char *from, *p;
	uint64_t mantissa = 0;
	int digits = 0, exponent = 0, negative = 0, point = 0, any = 0;

	skip_blanks(r);
	if (at_line_end(r))
		return report_mistake(r, "the value is missing");
	from = p = r->p;
	if (*p == '-' || *p == '+')
		negative = *p++ == '-';
	for (; p < r->end && ((*p >= '0' && *p <= '9') || (*p == '.' && !point)); p++) {
		if (*p == '.') {
			point = 1;
			continue;
		}
		any = 1;
		mantissa = mantissa * 10 + (uint64_t)(*p - '0');
		digits += mantissa != 0;
		exponent -= point;
		if (digits > 18)
			return take_value_slow(r, from, value);
	}
	if (any && p < r->end && (*p == 'e' || *p == 'E')) {
		int e = 0, sign = 1, digit = 0;

		p++;
		if (p < r->end && (*p == '-' || *p == '+'))
			sign = *p++ == '-' ? -1 : 1;
		for (; p < r->end && *p >= '0' && *p <= '9' && e < 1000; p++, digit = 1)
			e = e * 10 + (*p - '0');
		if (!digit)
			any = 0;
		exponent += sign * e;
	}
	r->p = p;
	if (!any || !word_ends(r) || mantissa >> 53 || exponent < -22 || exponent > 22)
		return take_value_slow(r, from, value);
	*value =
	    exponent < 0 ? (double)mantissa / ten[-exponent] : (double)mantissa * ten[exponent];
	if (negative)
		*value = -*value;
	return 0;
}

/* ---- header ---- */

static size_t take_word(struct reader *r, char *word, size_t bytes)
{
	size_t n = 0;

	skip_blanks(r);
	while (!word_ends(r)) {
		if (n + 1 < bytes)
			word[n++] = *r->p;
		r->p++;
	}
	word[n] = 0;
	return n;
}

static int choose_word(const char *word, const char *const *names)
{
	int i;

	for (i = 0; names[i]; i++)
		if (!strcasecmp(word, names[i]))
			return i;
	return -1;
}

static int take_header(struct reader *r, struct mtx *m)
{
	static const char *const fields[] = {"real", "integer", "pattern", NULL};
	static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric", NULL};
	char word[5][24];
	int i;

	r->line = 1;
	for (i = 0; i < 5; i++)
		take_word(r, word[i], sizeof(word[i]));
	if (strcasecmp(word[0], "%%MatrixMarket"))
		return report_mistake(
		    r, "not a Matrix Market file: the first line must begin with %%%%MatrixMarket");
	if (strcasecmp(word[1], "matrix"))
		return report_mistake(r, "the object is '%s'; only 'matrix' is known", word[1]);
	if (strcasecmp(word[2], "coordinate"))
		return report_mistake(
		    r, "the format is '%s'; only sparse files ('coordinate') are read", word[2]);
	i = choose_word(word[3], fields);
	if (i < 0)
		return report_mistake(r, "entries are '%s'; real, integer and pattern are read",
				      word[3]);
	r->field = (enum field)i;
	i = choose_word(word[4], symmetries);
	if (i < 0)
		return report_mistake(
		    r, "the symmetry is '%s'; general, symmetric and skew-symmetric are read",
		    word[4]);
	r->symmetry = (enum symmetry)i;
	if (r->field == PATTERN && r->symmetry == SKEW)
		return report_mistake(r, "a pattern cannot be skew-symmetric");
	snprintf(m->kind, sizeof(m->kind), "%s %s", fields[r->field], symmetries[r->symmetry]);
	return line_done(r);
}

static int take_size(struct reader *r, struct mtx *m, uint64_t *named)
{
	uint64_t rows, cols;

	if (!next_content(r))
		return report_mistake(r, "the file ends before the line 'rows columns entries'");
	if (take_count(r, "number of rows", &rows) || take_count(r, "number of columns", &cols) ||
	    take_count(r, "number of entries", named))
		return -1;
	if (rows == 0 || cols == 0 || rows > INT32_MAX || cols > INT32_MAX)
		return report_mistake(r, "%llu x %llu: each side must be 1 .. 2^31 - 1",
				      (unsigned long long)rows, (unsigned long long)cols);
	if (r->symmetry != GENERAL && rows != cols)
		return report_mistake(r, "%llu x %llu is not square, as a symmetric matrix must be",
				      (unsigned long long)rows, (unsigned long long)cols);
	if (*named > (uint64_t)(r->end - r->p) / 3)
		return report_mistake(r, "%llu entries do not fit in the %zu bytes that follow",
				      (unsigned long long)*named, (size_t)(r->end - r->p));
	if ((rows > cols ? rows : cols) > 1000000 + 1000 * *named)
		return report_mistake(r, "%llu x %llu with %llu entries: nearly all rows are empty",
				      (unsigned long long)rows, (unsigned long long)cols,
				      (unsigned long long)*named);
	m->rows = rows;
	m->cols = cols;
	return line_done(r);
}

/* ---- entries ---- */

static int take_entry(struct reader *r, const struct mtx *m, struct triple *t)
{
	uint64_t row, col;

	if (take_count(r, "row", &row) || take_count(r, "column", &col))
		return -1;
	if (row < 1 || row > m->rows)
		return report_mistake(r, "row %llu is outside 1 .. %zu", (unsigned long long)row,
				      m->rows);
	if (col < 1 || col > m->cols)
		return report_mistake(r, "column %llu is outside 1 .. %zu", (unsigned long long)col,
				      m->cols);
	t->row = (uint32_t)(row - 1);
	t->col = (uint32_t)(col - 1);
	t->value = 1;
	if (r->field != PATTERN && take_value(r, &t->value))
		return -1;
	if (r->field == INTEGER && t->value != rint(t->value))
		return report_mistake(
		    r, "%g is not whole, as the entries of an integer matrix must be", t->value);
	if (r->symmetry == SKEW && row == col && t->value != 0)
		return report_mistake(r, "a skew-symmetric matrix has nothing on its diagonal");
	return line_done(r);
}

static int take_entries(struct reader *r, const struct mtx *m, struct triple *t, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (r->progress && i % 262144 == 0)
			r->progress(r->arg,
				    (double)(r->p - r->begin) / (double)(r->end - r->begin));
		if (!next_content(r))
			return report_mistake(r, "the file ends after %zu of %zu entries", i, n);
		if (take_entry(r, m, &t[i]))
			return -1;
	}
	if (next_content(r))
		return report_mistake(r, "more than the %zu entries that the size line names", n);
	if (r->progress)
		r->progress(r->arg, 1);
	return 0;
}

static int is_mirrored(const struct reader *r, const struct triple *t)
{
	return r->symmetry != GENERAL && t->row != t->col;
}

static void put_entry(struct mtx *m, size_t *at, uint32_t row, uint32_t col, double value)
{
	size_t k = at[row]++;

	m->col[k] = col;
	m->value[k] = value;
}

/* Sort into rows, with the entries of a row in file order: count, compute starts, then copy every
 * entry to its place. */
static int sort_rows(struct reader *r, struct mtx *m, const struct triple *t, size_t n)
{
	size_t i, *at;

	m->start = calloc(m->rows + 1, sizeof(*m->start));
	at = malloc(m->rows * sizeof(*at));
	if (!m->start || !at)
		goto err;
	for (i = 0; i < n; i++) {
		m->start[t[i].row + 1]++;
		if (is_mirrored(r, &t[i]))
			m->start[t[i].col + 1]++;
	}
	for (i = 0; i < m->rows; i++)
		m->start[i + 1] += m->start[i];
	memcpy(at, m->start, m->rows * sizeof(*at));
	m->entries = m->start[m->rows];
	m->col = malloc((m->entries ? m->entries : 1) * sizeof(*m->col));
	m->value = malloc((m->entries ? m->entries : 1) * sizeof(*m->value));
	if (!m->col || !m->value)
		goto err;
	for (i = 0; i < n; i++) {
		put_entry(m, at, t[i].row, t[i].col, t[i].value);
		if (is_mirrored(r, &t[i]))
			put_entry(m, at, t[i].col, t[i].row,
				  r->symmetry == SKEW ? -t[i].value : t[i].value);
	}
	free(at);
	return 0;
err:
	free(at);
	return report_mistake(r, "no memory for %zu entries", n);
}

int mtx_parse(const char *name, const char *text, size_t bytes, struct mtx *m, char *error,
	      size_t error_bytes, mtx_progress_fn progress, void *arg)
{
	struct reader r = {.name = name,
			   .p = text,
			   .begin = text,
			   .end = text + bytes,
			   .error = error,
			   .error_bytes = error_bytes,
			   .progress = progress,
			   .arg = arg};
	struct triple *t = NULL;
	uint64_t n = 0;
	int rc;

	memset(m, 0, sizeof(*m));
	if (take_header(&r, m) || take_size(&r, m, &n))
		return -1;
	t = malloc((n ? n : 1) * sizeof(*t));
	rc = t ? take_entries(&r, m, t, n)
	       : report_mistake(&r, "no memory for %llu entries", (unsigned long long)n);
	if (!rc) {
		r.line = 0;
		rc = sort_rows(&r, m, t, n);
	}
	free(t);
	if (rc)
		mtx_free(m);
	return rc;
}

void mtx_free(struct mtx *m)
{
	free(m->start);
	free(m->col);
	free(m->value);
	memset(m, 0, sizeof(*m));
}

void mtx_product(const struct mtx *m, const double *x, double *y)
{
	size_t r, k;

	for (r = 0; r < m->rows; r++) {
		double sum = 0;

		for (k = m->start[r]; k < m->start[r + 1]; k++)
			sum += m->value[k] * x[m->col[k]];
		y[r] = sum;
	}
}

/* ---- files ---- */

/* Read all of fd into memory of *bytes; returns NULL with errno set on failure. */
static char *read_all(int fd, size_t *bytes)
{
	struct stat st;
	size_t room = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0
			  ? (size_t)st.st_size + 1
			  : 1 << 20;
	size_t used = 0;
	char *text = malloc(room), *grown;

	while (text) {
		ssize_t n = read(fd, text + used, room - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		used += (size_t)n;
		*bytes = used;
		if (n == 0)
			return text;
		if (used < room)
			continue;
		room *= 2;
		grown = realloc(text, room);
		if (!grown)
			break;
		text = grown;
	}
	free(text);
	return NULL;
}

int mtx_read(const char *path, struct mtx *m, char *error, size_t error_bytes,
	     mtx_progress_fn progress, void *arg)
{
	int std = !strcmp(path, "-"), fd = std ? 0 : open(path, O_RDONLY | O_CLOEXEC), rc;
	size_t bytes = 0;
	char *text = fd < 0 ? NULL : read_all(fd, &bytes);

	if (!text) {
		snprintf(error, error_bytes, "%s: %s", path, strerror(errno));
		if (fd > 0 && !std)
			close(fd);
		return -1;
	}
	if (!std)
		close(fd);
	rc = mtx_parse(std ? "stdin" : path, text, bytes, m, error, error_bytes, progress, arg);
	free(text);
	return rc;
}
