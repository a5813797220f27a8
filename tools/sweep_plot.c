/* SPDX-License-Identifier: BSD-3-Clause */
/* The plot of a sweep: one file of SVG, readable on light and dark backgrounds. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/sweep.h"

#define WIDTH  820
#define HEIGHT 480
#define LEFT   90
#define RIGHT  220 /* room for the names of the lines */
#define TOP    50
#define BOTTOM 60
#define COLORS 8

static const char *const colors[COLORS] = {"#2f6fde", "#d97a1a", "#1d9a6c", "#a445c4",
					   "#c8324b", "#128ea0", "#8a6d1b", "#5d6878"};

struct scale {
	double low, high;
	bool log;
	int from, to; /* pixels */
};

static double scale_value(const struct scale *s, double v)
{
	double x = s->log ? (log(v) - log(s->low)) / (log(s->high) - log(s->low))
			  : (v - s->low) / (s->high - s->low);

	return s->from + x * (s->to - s->from);
}

static void print_text(FILE *f, const char *text)
{
	for (; *text; text++)
		if (*text == '<' || *text == '&' || *text == '>')
			fprintf(f, "&#%d;", *text);
		else
			fputc(*text, f);
}

/* The value of a run on the x axis: its number, or its place in the list where one is no number. */
static bool is_numeric(const struct sweep_axis *a)
{
	for (uint32_t i = 0; i < a->values; i++) {
		char *end;

		strtod(a->value[i], &end);
		if (*end)
			return false;
	}
	return true;
}

static uint32_t index_on(const struct sweep *s, uint32_t run, uint32_t axis)
{
	for (uint32_t i = s->axes - 1; i > axis; i--)
		run /= s->axis[i].values;
	return run % s->axis[axis].values;
}

static double x_of(const struct sweep *s, uint32_t run, uint32_t axis, bool numeric)
{
	return numeric ? strtod(sweep_value(s, run, axis), NULL) : index_on(s, run, axis);
}

static bool is_drawn(const struct sweep *s, uint32_t run, unsigned y)
{
	return s->run[run].done && s->run[run].number[SWEEP_STATUS] == 0 &&
	       !isnan(s->run[run].number[y]);
}

/* Round steps: 1, 2 or 5 times a power of ten. */
static double step_of(double span)
{
	double power = pow(10, floor(log10(span / 5))), m = span / 5 / power;

	return power * (m <= 1 ? 1 : m <= 2 ? 2 : m <= 5 ? 5 : 10);
}

static void print_y_axis(FILE *f, const struct scale *s)
{
	double step = step_of(s->high - s->low), first = ceil(s->low / step), v;

	for (int i = 0; (v = (first + i) * step) <= s->high + step / 1e6; i++)
		fprintf(
		    f,
		    "<line class=\"g\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text x=\"%d\" "
		    "y=\"%.1f\" text-anchor=\"end\">%.6g</text>\n",
		    LEFT, WIDTH - RIGHT, scale_value(s, v), scale_value(s, v), LEFT - 8,
		    scale_value(s, v) + 4, v);
}

static void print_x_axis(FILE *f, const struct sweep *s, uint32_t axis, const struct scale *x,
			 bool numeric)
{
	const struct sweep_axis *a = &s->axis[axis];
	uint32_t every = a->values > 10 ? (a->values + 9) / 10 : 1;

	for (uint32_t i = 0; i < a->values; i += every) {
		fprintf(f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">",
			scale_value(x, numeric ? strtod(a->value[i], NULL) : i),
			HEIGHT - BOTTOM + 20);
		print_text(f, a->value[i]);
		fprintf(f, "</text>\n");
	}
	fprintf(f, "<text class=\"t\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">",
		(LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14);
	print_text(f, a->name);
	fprintf(f, "</text>\n");
}

/* The line through the runs that differ from `first` on the x axis only. */
static void print_line(FILE *f, const struct sweep *s, uint32_t axis, unsigned y, uint32_t first,
		       const struct scale *sx, const struct scale *sy, bool numeric, unsigned line)
{
	const char *color = colors[line % COLORS];
	uint32_t stride = 1;
	const char *letter = "M";
	double last = 0;
	bool any = false;

	for (uint32_t i = axis + 1; i < s->axes; i++)
		stride *= s->axis[i].values;
	fprintf(f, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s d=\"", color,
		line >= COLORS ? " stroke-dasharray=\"6 4\"" : "");
	for (uint32_t i = 0; i < s->axis[axis].values; i++) {
		uint32_t r = first + i * stride;

		if (!is_drawn(s, r, y))
			continue;
		last = scale_value(sy, s->run[r].number[y]);
		fprintf(f, "%s%.1f %.1f", letter, scale_value(sx, x_of(s, r, axis, numeric)), last);
		letter = "L";
		any = true;
	}
	fprintf(f, "\"/>\n");
	for (uint32_t i = 0; i < s->axis[axis].values; i++) {
		uint32_t r = first + i * stride;

		if (is_drawn(s, r, y))
			fprintf(f,
				"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" "
				"fill=\"%s\"><title>%s: %.8g</title></circle>\n",
				scale_value(sx, x_of(s, r, axis, numeric)),
				scale_value(sy, s->run[r].number[y]), color,
				sweep_value(s, r, axis), s->run[r].number[y]);
	}
	if (!any || s->axes < 2)
		return;
	fprintf(f,
		"<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke=\"%s\" "
		"stroke-width=\"2\"%s/><text x=\"%d\" y=\"%d\">",
		WIDTH - RIGHT + 18, WIDTH - RIGHT + 42, TOP + 20 * (int)line, TOP + 20 * (int)line,
		color, line >= COLORS ? " stroke-dasharray=\"6 4\"" : "", WIDTH - RIGHT + 50,
		TOP + 4 + 20 * (int)line);
	for (uint32_t i = 0; i < s->axes; i++) {
		if (i == axis || s->axis[i].values < 2)
			continue;
		print_text(f, sweep_value(s, first, i));
		fputc(' ', f);
	}
	fprintf(f, "</text>\n");
}

/* Compute the ranges of both axes. Returns false if no run can be drawn. */
static bool find_ranges(const struct sweep *s, uint32_t axis, unsigned y, bool numeric,
			struct scale *sx, struct scale *sy)
{
	sx->low = sy->low = INFINITY;
	sx->high = sy->high = -INFINITY;
	for (uint32_t r = 0; r < s->runs; r++) {
		double x = x_of(s, r, axis, numeric), v = s->run[r].number[y];

		sx->low = fmin(sx->low, x);
		sx->high = fmax(sx->high, x);
		if (!is_drawn(s, r, y))
			continue;
		sy->low = fmin(sy->low, v);
		sy->high = fmax(sy->high, v);
	}
	if (sy->high < sy->low)
		return false;
	sx->log = numeric && sx->low > 0 && sx->high / sx->low >= 16;
	if (sx->low == sx->high)
		sx->high = sx->low + 1;
	/* The axis begins at zero, unless that hides the differences. */
	if (sy->low > 0 && sy->low < 0.6 * sy->high)
		sy->low = 0;
	if (sy->low == sy->high) {
		sy->low -= fabs(sy->low) / 10 + 1e-9;
		sy->high += fabs(sy->high) / 10 + 1e-9;
	}
	sy->high += (sy->high - sy->low) * 0.04;
	return true;
}

int sweep_plot(const struct sweep *s, uint32_t axis, unsigned y, const char *path)
{
	bool numeric = is_numeric(&s->axis[axis]);
	struct scale sx = {.from = LEFT, .to = WIDTH - RIGHT},
		     sy = {.from = HEIGHT - BOTTOM, .to = TOP};
	unsigned line = 0;
	FILE *f;
	int rc;

	if (!find_ranges(s, axis, y, numeric, &sx, &sy))
		return -ENODATA;
	f = fopen(path, "we");
	if (!f)
		return -errno;
	fprintf(
	    f,
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\">\n<style>svg { "
	    "background: "
	    "#fff } text { font: 13px system-ui, sans-serif; fill: #5d6878 } .t { fill: #1b2330; "
	    "font-weight: 600 } .g { stroke: #dde2ea }\n@media (prefers-color-scheme: dark) { svg "
	    "{ background: #181e28 } text { fill: #98a4b6 } .t { fill: #e8ecf3 } .g { stroke: "
	    "#2b3443 } }</style>\n<text class=\"t\" x=\"%d\" y=\"26\">%s: ",
	    WIDTH, HEIGHT, LEFT, sweep_numbers[y]);
	print_text(f, s->title);
	fprintf(f, "</text>\n");
	print_y_axis(f, &sy);
	print_x_axis(f, s, axis, &sx, numeric);
	for (uint32_t r = 0; r < s->runs; r++)
		if (!index_on(s, r, axis))
			print_line(f, s, axis, y, r, &sx, &sy, numeric, line++);
	fprintf(f, "</svg>\n");
	rc = ferror(f) ? -EIO : 0;
	if (fclose(f))
		rc = -errno;
	return rc;
}
