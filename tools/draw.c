/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/draw.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define CELL 10 /* characters from node to node: "(123▂)" padded, then the link */

static const char *const flat[] = {"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char *const upright[] = {"·", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
static const char *const digit[] = {".", "1", "2", "3", "4", "5", "6", "7", "8"};
#define LEVELS 8

void draw_init(struct draw *d, const struct emu_shape *shape, const struct emu_link_stat *links)
{
	const char *locale = getenv("LC_ALL"), *columns = getenv("COLUMNS");
	struct winsize w;

	if (!locale || !*locale)
		locale = getenv("LC_CTYPE");
	if (!locale || !*locale)
		locale = getenv("LANG");
	memset(d, 0, sizeof *d);
	d->shape = shape;
	d->links = links;
	d->utf8 = locale && (strcasestr(locale, "utf-8") || strcasestr(locale, "utf8"));
	d->columns = columns ? (unsigned)atoi(columns) : 0;
	if (!d->columns && (!ioctl(2, TIOCGWINSZ, &w) || !ioctl(1, TIOCGWINSZ, &w)))
		d->columns = w.ws_col;
	if (d->columns < 40)
		d->columns = 80;
}

const char *draw_bytes(uint64_t bytes, char *text, size_t room)
{
	static const char *const unit[] = {"B", "kB", "MB", "GB", "TB", "PB"};
	double value = (double)bytes;
	unsigned u = 0;

	while (value >= 999.95 && u < 5) {
		value /= 1000;
		u++;
	}
	snprintf(text, room, u ? "%.1f %s" : "%.0f %s", value, unit[u]);
	return text;
}

int draw_parse_node(const struct emu_shape *s, const char *text, uint32_t *node)
{
	unsigned c[EMU_DIMS];
	struct emu_coord x = {.t = 0};
	unsigned long number;
	char *end, rest;

	if (sscanf(text, "%u,%u,%u,%u,%u%c", &c[0], &c[1], &c[2], &c[3], &c[4], &rest) == 5) {
		for (int d = 0; d < EMU_DIMS; d++) {
			if (c[d] >= s->n[d])
				return -EINVAL;
			x.c[d] = (uint8_t)c[d];
		}
		*node = emu_coord_node(s, &x);
		return 0;
	}
	number = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || number >= emu_shape_nodes(s))
		return -EINVAL;
	*node = (uint32_t)number;
	return 0;
}

const char *draw_node(const struct emu_shape *s, uint32_t node, char *text, size_t room)
{
	struct emu_coord x;

	emu_node_coord(s, node, &x);
	snprintf(text, room, "(%u,%u,%u,%u,%u)", x.c[0], x.c[1], x.c[2], x.c[3], x.c[4]);
	return text;
}

/* ---- layout ---- */

struct layout {
	int col, row; /* dimensions of a plane; -1: the plane is one line */
	unsigned cols, rows, planes;
	uint32_t stride[EMU_DIMS]; /* node index step of each dimension */
	uint64_t most;             /* traffic of the busiest connection in a plane */
	uint64_t most_other;       /* most traffic of a node into dimensions that are not drawn */
};

static void layout_make(const struct draw *d, struct layout *l)
{
	uint32_t stride = 1;

	l->col = l->row = -1;
	for (int k = EMU_DIMS - 1; k >= 0; k--) {
		l->stride[k] = stride;
		stride *= d->shape->n[k];
		if (d->shape->n[k] > 1 && l->col < 0)
			l->col = k;
		else if (d->shape->n[k] > 1 && l->row < 0)
			l->row = k;
	}
	l->cols = l->col < 0 ? 1 : d->shape->n[l->col];
	l->rows = l->row < 0 ? 1 : d->shape->n[l->row];
	l->planes = emu_shape_nodes(d->shape) / (l->cols * l->rows);
}

/* Return the node in the corner of the p-th plane: its coordinates are those of the dimensions that
 * are not drawn. */
static uint32_t plane_corner(const struct draw *d, const struct layout *l, unsigned p)
{
	uint32_t node = 0;

	for (int k = EMU_DIMS - 1; k >= 0; k--) {
		if (k == l->col || k == l->row)
			continue;
		node += p % d->shape->n[k] * l->stride[k];
		p /= d->shape->n[k];
	}
	return node;
}

static uint64_t link_bytes(const struct draw *d, uint32_t node, unsigned link)
{
	return d->links[(size_t)node * EMU_LINKS + link].bytes;
}

/*
 * Both directions of the connection from `node` over its plus link. Between the two nodes of a
 * dimension of 2 there are two connections: they are drawn as one.
 */
static uint64_t connection_bytes(const struct draw *d, const struct layout *l, uint32_t node, int k)
{
	uint32_t next = emu_node_neighbour(d->shape, node, emu_link((unsigned)k, 1));
	uint64_t sum;

	if (next == UINT32_MAX)
		return 0;
	sum = link_bytes(d, node, emu_link((unsigned)k, 1)) +
	      link_bytes(d, next, emu_link((unsigned)k, 0));
	if (d->shape->n[k] == 2)
		sum += link_bytes(d, next, emu_link((unsigned)k, 1)) +
		       link_bytes(d, node, emu_link((unsigned)k, 0));
	return sum;
}

/* Return the traffic of a node in dimensions that are not drawn. */
static uint64_t undrawn_bytes(const struct draw *d, const struct layout *l, uint32_t node)
{
	uint64_t sum = 0;

	for (int k = 0; k < EMU_DIMS; k++)
		if (k != l->col && k != l->row)
			sum += link_bytes(d, node, emu_link((unsigned)k, 0)) +
			       link_bytes(d, node, emu_link((unsigned)k, 1));
	return sum;
}

static void find_most(const struct draw *d, struct layout *l)
{
	l->most = l->most_other = 0;
	for (uint32_t n = 0; n < emu_shape_nodes(d->shape); n++) {
		uint64_t at[3] = {l->col < 0 ? 0 : connection_bytes(d, l, n, l->col),
				  l->row < 0 ? 0 : connection_bytes(d, l, n, l->row),
				  undrawn_bytes(d, l, n)};

		for (int i = 0; i < 2; i++)
			l->most = at[i] > l->most ? at[i] : l->most;
		l->most_other = at[2] > l->most_other ? at[2] : l->most_other;
	}
}

static unsigned traffic_level(uint64_t bytes, uint64_t most)
{
	return !bytes ? 0 : 1 + (unsigned)((long double)bytes * (LEVELS - 1) / (long double)most);
}

/* ---- drawing ---- */

/* A ring of 3 or more nodes also has the link from the last node to the first; it is drawn at both
 * edges. */
static int is_wrapped(const struct draw *d, int k)
{
	return d->shape->n[k] > 2 && !(d->shape->mesh >> k & 1);
}

static void draw_bar(FILE *f, const struct draw *d, unsigned lv, unsigned times)
{
	while (times--)
		fputs(d->utf8 ? flat[lv] : lv ? digit[lv] : ".", f);
}

static void draw_cell(FILE *f, const struct draw *d, const struct layout *l, uint32_t node,
		      unsigned col)
{
	static const char brackets[] = "()[]{}<>";
	unsigned host = d->node_host ? d->node_host[node] : 0;
	const char *b = &brackets[2 * (host < 4 ? host : 3)];
	char text[16];
	int n = snprintf(text, sizeof text, "%u", node);

	fprintf(f, "%c%s", b[0], text);
	if (l->planes > 1)
		fputs((d->utf8 ? flat
			       : digit)[traffic_level(undrawn_bytes(d, l, node), l->most_other)],
		      f);
	fputc(b[1], f);
	n += 2 + (l->planes > 1);
	if (l->col >= 0 && (col + 1 < l->cols || is_wrapped(d, l->col)))
		draw_bar(f, d, traffic_level(connection_bytes(d, l, node, l->col), l->most),
			 (unsigned)(CELL - n));
	else
		fprintf(f, "%*s", CELL - n, "");
}

static void draw_between(FILE *f, const struct draw *d, const struct layout *l, uint32_t node)
{
	fprintf(f, " %s%*s",
		(d->utf8 ? upright
			 : digit)[traffic_level(connection_bytes(d, l, node, l->row), l->most)],
		CELL - 2, "");
}

static void draw_title(FILE *f, const struct draw *d, const struct layout *l, uint32_t corner)
{
	char text[128];
	struct emu_coord x;
	int n = 0;

	emu_node_coord(d->shape, corner, &x);
	for (int k = 0; k < EMU_DIMS; k++)
		if (k != l->col && k != l->row && d->shape->n[k] > 1)
			n += snprintf(text + n, sizeof text - (size_t)n, "%c%u ", 'A' + k, x.c[k]);
	fprintf(f, "%-*.*s", (int)(l->cols * CELL + 2), n, text);
}

/* Draw `count` planes side by side; first is the number of the first one. */
static void draw_row_of_planes(FILE *f, const struct draw *d, const struct layout *l,
			       unsigned first, unsigned count)
{
	if (l->planes > 1) {
		fputs("  ", f);
		for (unsigned p = first; p < first + count; p++)
			draw_title(f, d, l, plane_corner(d, l, p));
		fputc('\n', f);
	}
	for (unsigned r = 0; r < l->rows; r++) {
		fputs("  ", f);
		for (unsigned p = first; p < first + count; p++) {
			for (unsigned c = 0; c < l->cols; c++)
				draw_cell(f, d, l,
					  plane_corner(d, l, p) +
					      (l->row < 0 ? 0 : r * l->stride[l->row]) +
					      (l->col < 0 ? 0 : c * l->stride[l->col]),
					  c);
			fputs("  ", f);
		}
		fputc('\n', f);
		if (l->row < 0 || (r + 1 == l->rows && !is_wrapped(d, l->row)))
			continue;
		fputs("  ", f);
		for (unsigned p = first; p < first + count; p++) {
			for (unsigned c = 0; c < l->cols; c++)
				draw_between(f, d, l,
					     plane_corner(d, l, p) + r * l->stride[l->row] +
						 (l->col < 0 ? 0 : c * l->stride[l->col]));
			fputs("  ", f);
		}
		fputc('\n', f);
	}
	fputc('\n', f);
}

void draw_torus(FILE *f, const struct draw *d)
{
	struct layout l;
	unsigned side;
	char text[32];

	layout_make(d, &l);
	if (emu_shape_nodes(d->shape) > DRAW_NODES_MAX || l.cols * CELL + 4 > d->columns) {
		fprintf(f, "  (too large to draw here: up to %d nodes, %u columns)\n",
			DRAW_NODES_MAX, l.cols * CELL + 4);
		return;
	}
	find_most(d, &l);
	side = (d->columns - 2) / (l.cols * CELL + 2);
	for (unsigned p = 0; p < l.planes; p += side)
		draw_row_of_planes(f, d, &l, p, p + side < l.planes ? side : l.planes - p);
	if (l.col < 0) {
		fprintf(f, "  one node: no links\n");
		return;
	}
	fprintf(f, "  across: %c", 'A' + l.col);
	if (l.row >= 0)
		fprintf(f, ", down: %c", 'A' + l.row);
	if (is_wrapped(d, l.col) || (l.row >= 0 && is_wrapped(d, l.row)))
		fprintf(f, "; links that wrap around are at the right and lower edge");
	if (!d->plain)
		fprintf(f, "\n  thickest link: %s, both ways",
			draw_bytes(l.most, text, sizeof text));
	if (l.planes > 1 && !d->plain)
		fprintf(f, "; inside a node: what it sends to other planes, at most %s",
			draw_bytes(l.most_other, text, sizeof text));
	fputc('\n', f);
}

void draw_channels(FILE *f, const struct emu_link_stat *s)
{
	const char *comma = "  by virtual channel: ";

	for (unsigned on = 0; on < EMU_ON_COUNT; on++) {
		if (!s->on[on])
			continue;
		fprintf(f, "%s%s %llu", comma, emu_on_name(on), (unsigned long long)s->on[on]);
		comma = ", ";
	}
	if (comma[0] == ',')
		fputc('\n', f);
}

void draw_json_channels(FILE *f, const struct emu_link_stat *s)
{
	for (unsigned on = 0; on < EMU_ON_COUNT; on++)
		fprintf(f, "%s\"%s\": %llu", on ? ", " : "{", emu_on_name(on),
			(unsigned long long)s->on[on]);
	fputc('}', f);
}

void draw_table(FILE *f, const struct draw *d)
{
	char text[32], most_text[32], node_text[48];

	uint64_t all_errors = 0;
	struct emu_link_stat all = {0};

	fprintf(f, "  link  %12s  %12s  %12s  %s\n", "packets", "bytes", "busiest", "at node");
	for (unsigned link = 0; link < EMU_LINKS; link++) {
		uint64_t packets = 0, bytes = 0, most = 0;
		uint32_t at = 0;

		if (d->shape->n[emu_link_dim(link)] < 2)
			continue;
		for (uint32_t n = 0; n < emu_shape_nodes(d->shape); n++) {
			const struct emu_link_stat *s = &d->links[(size_t)n * EMU_LINKS + link];

			packets += s->packets;
			bytes += s->bytes;
			all_errors += s->errors;
			for (unsigned on = 0; on < EMU_ON_COUNT; on++)
				all.on[on] += s->on[on];
			if (s->bytes > most) {
				most = s->bytes;
				at = n;
			}
		}
		fprintf(f, "  %c%c    %12llu  %12s  %12s  %s\n", 'A' + (int)emu_link_dim(link),
			emu_link_plus(link) ? '+' : '-', (unsigned long long)packets,
			draw_bytes(bytes, text, sizeof text),
			draw_bytes(most, most_text, sizeof most_text),
			most ? draw_node(d->shape, at, node_text, sizeof node_text) : "-");
	}
	draw_channels(f, &all);
	if (all_errors)
		fprintf(f, "  %llu packets had an error on a link and were sent again\n",
			(unsigned long long)all_errors);
}
