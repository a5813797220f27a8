/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/sweep.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/json.h"

const char *const sweep_numbers[SWEEP_NUMBERS] = {"status",  "virtual_us", "seconds",
						  "packets", "hops",       "value"};

/* ---- axes ---- */

static int value_add(struct sweep_axis *a, const char *text, size_t bytes, char *err,
		     size_t err_bytes)
{
	char **more;

	if (!bytes || memchr(text, '"', bytes)) {
		snprintf(err, err_bytes, "%s: a value is empty or has a quotation mark in it",
			 a->name);
		return -EINVAL;
	}
	if (a->values == SWEEP_VALUES_MAX) {
		snprintf(err, err_bytes, "%s has more than %d values", a->name, SWEEP_VALUES_MAX);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < a->values; i++) {
		if (strlen(a->value[i]) != bytes || memcmp(a->value[i], text, bytes))
			continue;
		snprintf(err, err_bytes, "%s has the value %.*s twice", a->name, (int)bytes, text);
		return -EINVAL;
	}
	more = realloc(a->value, (a->values + 1) * sizeof *more);
	if (!more)
		return -ENOMEM;
	a->value = more;
	a->value[a->values] = strndup(text, bytes);
	return a->value[a->values++] ? 0 : -ENOMEM;
}

/* "LOW..HIGH:STEP" or "LOW..HIGH*FACTOR". Returns 1 if the text is a range, 0 if it is none. */
static int range_add(struct sweep_axis *a, const char *text, size_t bytes, char *err,
		     size_t err_bytes)
{
	char copy[64], number[32], *end, sign;
	double low, high, step;
	int rc = 0;

	if (bytes >= sizeof copy)
		return 0;
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	low = strtod(copy, &end);
	/* strtod() takes the first of two points for the one of a fraction. */
	if (end > copy && end[-1] == '.' && *end == '.')
		end--;
	if (end == copy || strncmp(end, "..", 2))
		return 0;
	high = strtod(end + 2, &end);
	sign = *end;
	step = sign ? strtod(end + 1, &end) : 0;
	if ((sign != ':' && sign != '*') || *end || !(low <= high) ||
	    !(sign == ':' ? step > 0 : step > 1 && low > 0)) {
		snprintf(err, err_bytes,
			 "%s: %s: a range is LOW..HIGH:STEP or LOW..HIGH*FACTOR, such as 10..80:10",
			 a->name, copy);
		return -EINVAL;
	}
	for (uint32_t i = 0; !rc; i++) {
		double v = sign == ':' ? low + i * step : low * pow(step, i);

		if (v > high * (1 + 1e-12))
			break;
		snprintf(number, sizeof number, "%.12g", v);
		rc = value_add(a, number, strlen(number), err, err_bytes);
	}
	return rc ? rc : 1;
}

int sweep_axis_add(struct sweep *s, enum sweep_kind kind, const char *name, const char *text,
		   char *err, size_t err_bytes)
{
	struct sweep_axis *a = &s->axis[s->axes];
	size_t bytes = name ? 0 : strcspn(text, "=");

	if (s->axes == SWEEP_AXES_MAX) {
		snprintf(err, err_bytes, "more than %d axes", SWEEP_AXES_MAX);
		return -EINVAL;
	}
	memset(a, 0, sizeof *a);
	a->kind = kind;
	if (!name && (!bytes || !text[bytes] || bytes >= sizeof a->name)) {
		snprintf(err, err_bytes, "'%s': give NAME=VALUES, such as hop_ns=10..80:10", text);
		return -EINVAL;
	}
	snprintf(a->name, sizeof a->name, "%.*s", name ? (int)sizeof a->name - 1 : (int)bytes,
		 name ? name : text);
	for (uint32_t i = 0; i < s->axes; i++) {
		if (strcmp(s->axis[i].name, a->name))
			continue;
		snprintf(err, err_bytes, "%s is given twice; put its values into one list",
			 a->name);
		return -EINVAL;
	}
	s->axes++; /* sweep_free() frees it, whatever follows */
	text += name ? 0 : bytes + 1;
	for (const char *at = text;; at++) {
		size_t n = strcspn(at, ",");
		int rc = range_add(a, at, n, err, err_bytes);

		if (!rc)
			rc = value_add(a, at, n, err, err_bytes);
		if (rc < 0)
			return rc;
		at += n;
		if (!*at)
			return 0;
	}
}

int sweep_grid_make(struct sweep *s, char *err, size_t err_bytes)
{
	uint64_t runs = 1;

	for (uint32_t i = 0; i < s->axes && runs <= SWEEP_RUNS_MAX; i++)
		runs *= s->axis[i].values;
	if (runs > SWEEP_RUNS_MAX) {
		snprintf(err, err_bytes, "the grid has more than %u runs", SWEEP_RUNS_MAX);
		return -EINVAL;
	}
	s->runs = (uint32_t)runs;
	s->run = calloc(s->runs, sizeof *s->run);
	return s->run ? 0 : -ENOMEM;
}

void sweep_free(struct sweep *s)
{
	for (uint32_t i = 0; i < s->axes; i++) {
		for (uint32_t v = 0; v < s->axis[i].values; v++)
			free(s->axis[i].value[v]);
		free(s->axis[i].value);
	}
	free(s->run);
	free(s->title);
}

const char *sweep_value(const struct sweep *s, uint32_t run, uint32_t axis)
{
	for (uint32_t i = s->axes - 1; i > axis; i--)
		run /= s->axis[i].values;
	return s->axis[axis].value[run % s->axis[axis].values];
}

/* ---- CSV ---- */

static char *header_text(const struct sweep *s)
{
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	if (!f)
		return NULL;
	for (uint32_t i = 0; i < s->axes; i++)
		fprintf(f, "%s,", s->axis[i].name);
	for (unsigned i = 0; i < SWEEP_NUMBERS; i++)
		fprintf(f, "%s%s", i ? "," : "", sweep_numbers[i]);
	fclose(f);
	return text;
}

/* Find the run with these values of its axes; UINT32_MAX: it is not in this grid. */
static uint32_t find_run(const struct sweep *s, char *const *field)
{
	uint32_t run = 0;

	for (uint32_t i = 0; i < s->axes; i++) {
		uint32_t v = 0;

		/* take_row() has read a field for each axis. */
		/* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage) */
		while (v < s->axis[i].values && strcmp(s->axis[i].value[v], field[i]))
			v++;
		if (v == s->axis[i].values)
			return UINT32_MAX;
		run = run * s->axis[i].values + v;
	}
	return run;
}

static void take_row(struct sweep *s, char *line)
{
	char *field[SWEEP_AXES_MAX + SWEEP_NUMBERS];
	uint32_t fields = 0, run;

	for (char *next = line; next && fields < s->axes + SWEEP_NUMBERS;)
		field[fields++] = strsep(&next, ",");
	if (fields != s->axes + SWEEP_NUMBERS)
		return;
	run = find_run(s, field);
	if (run == UINT32_MAX || strcmp(field[s->axes + SWEEP_STATUS], "0"))
		return;
	s->run[run].done = true;
	for (unsigned i = 0; i < SWEEP_NUMBERS; i++)
		s->run[run].number[i] =
		    *field[s->axes + i] ? strtod(field[s->axes + i], NULL) : NAN;
}

int sweep_csv_read(struct sweep *s, const char *path, char *err, size_t err_bytes)
{
	char *line = NULL, *header;
	unsigned number = 0;
	size_t room = 0;
	struct stat st;
	int rc = 0;
	FILE *f;

	/* Each write puts a new file in the place of the last one: never of a device. */
	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		snprintf(err, err_bytes,
			 "--csv %s is no regular file; name one that the results may replace",
			 path);
		return -EINVAL;
	}
	f = fopen(path, "re");
	header = header_text(s);
	while (f && header && !rc && getline(&line, &room, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (++number > 2)
			take_row(s, line);
		else if (number == 1 ? strncmp(line, "# ", 2) || strcmp(line + 2, s->title)
				     : strcmp(line, header) != 0)
			rc = -EINVAL;
	}
	if (rc)
		snprintf(err, err_bytes,
			 "%s has the results of another sweep; name another file with --csv, or "
			 "remove it",
			 path);
	if (f)
		fclose(f);
	free(line);
	free(header);
	return rc;
}

static void print_number(FILE *f, double value)
{
	if (!isnan(value))
		fprintf(f, "%.12g", value);
}

int sweep_csv_write(const struct sweep *s, const char *path)
{
	char *header = header_text(s), part[4096];
	FILE *f;
	int rc = 0;

	if (!header || snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part) {
		free(header);
		return -ENAMETOOLONG;
	}
	f = fopen(part, "we");
	if (!f) {
		rc = -errno;
		free(header);
		return rc;
	}
	fprintf(f, "# %s\n%s\n", s->title, header);
	for (uint32_t r = 0; r < s->runs; r++) {
		if (!s->run[r].done)
			continue;
		for (uint32_t i = 0; i < s->axes; i++)
			fprintf(f, "%s,", sweep_value(s, r, i));
		for (unsigned i = 0; i < SWEEP_NUMBERS; i++) {
			fputs(i ? "," : "", f);
			print_number(f, s->run[r].number[i]);
		}
		fputc('\n', f);
	}
	rc = ferror(f) ? -EIO : 0;
	if (fclose(f) || (!rc && rename(part, path)))
		rc = -errno;
	free(header);
	return rc;
}

/* ---- other forms ---- */

void sweep_print_json(FILE *f, const struct sweep *s)
{
	const char *comma = "";

	fprintf(f, "{\"sweep\": ");
	json_print_text(f, s->title);
	fprintf(f, ", \"runs\": [");
	for (uint32_t r = 0; r < s->runs; r++) {
		if (!s->run[r].done)
			continue;
		fprintf(f, "%s\n {", comma);
		for (uint32_t i = 0; i < s->axes; i++) {
			json_print_text(f, s->axis[i].name);
			fprintf(f, ": ");
			json_print_text(f, sweep_value(s, r, i));
			fprintf(f, ", ");
		}
		for (unsigned i = 0; i < SWEEP_NUMBERS; i++) {
			fprintf(f, "%s\"%s\": ", i ? ", " : "", sweep_numbers[i]);
			if (isnan(s->run[r].number[i]))
				fprintf(f, "null");
			else
				print_number(f, s->run[r].number[i]);
		}
		fputc('}', f);
		comma = ",";
	}
	fprintf(f, "\n]}\n");
}

/* Returns true if the number is known for any run. */
static bool has_number(const struct sweep *s, unsigned number)
{
	for (uint32_t r = 0; r < s->runs; r++)
		if (s->run[r].done && !isnan(s->run[r].number[number]))
			return true;
	return false;
}

void sweep_print_table(FILE *f, const struct sweep *s)
{
	int width[SWEEP_AXES_MAX];

	for (uint32_t i = 0; i < s->axes; i++) {
		width[i] = (int)strlen(s->axis[i].name);
		for (uint32_t v = 0; v < s->axis[i].values; v++)
			if ((int)strlen(s->axis[i].value[v]) > width[i])
				width[i] = (int)strlen(s->axis[i].value[v]);
		fprintf(f, "%-*s  ", width[i], s->axis[i].name);
	}
	for (unsigned k = SWEEP_US; k < SWEEP_NUMBERS; k++)
		if (has_number(s, k))
			fprintf(f, "%14s", sweep_numbers[k]);
	fputc('\n', f);
	for (uint32_t r = 0; r < s->runs; r++) {
		if (!s->run[r].done)
			continue;
		for (uint32_t i = 0; i < s->axes; i++)
			fprintf(f, "%-*s  ", width[i], sweep_value(s, r, i));
		for (unsigned k = SWEEP_US; k < SWEEP_NUMBERS; k++)
			if (has_number(s, k))
				fprintf(f, "%14.8g", s->run[r].number[k]);
		if (s->run[r].number[SWEEP_STATUS] != 0)
			fprintf(f, "  failed: status %g", s->run[r].number[SWEEP_STATUS]);
		fputc('\n', f);
	}
}
