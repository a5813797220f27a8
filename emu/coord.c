/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/coord.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXTENT_MAX 64 /* six bits a coordinate (docs/hardware.md 2.2) */

static const char letters[] = "ABCDET";

uint32_t emu_node_neighbour(const struct emu_shape *s, uint32_t node, unsigned link)
{
	unsigned d = emu_link_dim(link), n = s->n[d];
	struct emu_coord x;

	emu_node_coord(s, node, &x);
	if (n == 1)
		return s->mesh >> d & 1 ? UINT32_MAX : node;
	if (emu_link_plus(link)) {
		if (x.c[d] == n - 1 && s->mesh >> d & 1)
			return UINT32_MAX;
		x.c[d] = (uint8_t)((x.c[d] + 1) % n);
	} else {
		if (x.c[d] == 0 && s->mesh >> d & 1)
			return UINT32_MAX;
		x.c[d] = (uint8_t)((x.c[d] + n - 1) % n);
	}
	return emu_coord_node(s, &x);
}

unsigned emu_hops(const struct emu_shape *s, uint32_t from, uint32_t to)
{
	struct emu_coord a, b;
	unsigned hops = 0;

	emu_node_coord(s, from, &a);
	emu_node_coord(s, to, &b);
	for (int d = 0; d < EMU_DIMS; d++) {
		unsigned way = a.c[d] > b.c[d] ? a.c[d] - b.c[d] : b.c[d] - a.c[d];

		if (!(s->mesh >> d & 1) && s->n[d] - way < way)
			way = s->n[d] - way;
		hops += way;
	}
	return hops;
}

/* ---- shapes ---- */

int emu_shape_parse(const char *text, struct emu_shape *s, char *err, size_t err_bytes)
{
	unsigned long v[EMU_DIMS + 1];
	unsigned count = 0, mesh = 0;
	const char *p = text;

	for (;;) {
		char *end;

		if (!isdigit((unsigned char)*p)) {
			snprintf(err, err_bytes,
				 "shape '%s': expected a number at '%s' (write AxBxCxDxE or "
				 "AxBxCxDxExT, for example 2x2x2x1x1)",
				 text, p);
			return -EINVAL;
		}
		v[count] = strtoul(p, &end, 10);
		if (v[count] < 1 || v[count] > EXTENT_MAX) {
			snprintf(err, err_bytes, "shape '%s': %c is %.*s, expected 1 to %d", text,
				 letters[count], (int)(end - p), p, EXTENT_MAX);
			return -EINVAL;
		}
		p = end;
		if (*p == 'M' && count < EMU_DIMS) {
			mesh |= 1u << count;
			p++;
		}
		count++;
		if (*p == '\0')
			break;
		if (*p != 'x' && *p != 'X') {
			snprintf(err, err_bytes, "shape '%s': expected 'x' at '%s'", text, p);
			return -EINVAL;
		}
		p++;
		if (count == EMU_DIMS + 1) {
			snprintf(err, err_bytes, "shape '%s': more than six extents", text);
			return -EINVAL;
		}
	}
	if (count < EMU_DIMS) {
		snprintf(err, err_bytes,
			 "shape '%s' has %u extents, expected five (AxBxCxDxE) or six (with xT)",
			 text, count);
		return -EINVAL;
	}
	memset(s, 0, sizeof(*s));
	for (int d = 0; d < EMU_DIMS; d++)
		s->n[d] = (uint8_t)v[d];
	s->mesh = (uint8_t)mesh;
	s->t = count > EMU_DIMS ? (uint8_t)v[EMU_DIMS] : 1;
	return 0;
}

int emu_shape_print(const struct emu_shape *s, char *text, size_t bytes)
{
#define EXTENT(d) s->n[d], s->mesh >> d & 1 ? "M" : ""
	return snprintf(text, bytes, "%u%sx%u%sx%u%sx%u%sx%u%sx%u", EXTENT(0), EXTENT(1), EXTENT(2),
			EXTENT(3), EXTENT(4), s->t);
#undef EXTENT
}

/* Partitions of the real machine (docs/hardware.md 1.2; the first of the two shapes for 2048
 * nodes). */
static const uint8_t partitions[][EMU_DIMS] = {
    {2, 2, 2, 2, 2}, {2, 2, 4, 2, 2},  {2, 2, 4, 4, 2},    {4, 2, 4, 4, 2},     {4, 4, 4, 4, 2},
    {4, 4, 4, 8, 2}, {4, 4, 4, 16, 2}, {8, 12, 16, 16, 2}, {16, 12, 16, 16, 2},
};

/* Split n into five extents of at most 64: assign the largest prime factors first, each to the
 * shortest dimension. */
static int near_cubic(uint32_t n, uint8_t *extent)
{
	uint32_t factor[32], count = 0, e[EMU_DIMS] = {1, 1, 1, 1, 1};

	for (uint32_t f = 2; f * f <= n; f++)
		for (; n % f == 0; n /= f)
			factor[count++] = f;
	if (n > 1)
		factor[count++] = n;
	while (count--) {
		int shortest = 0;

		for (int d = 1; d < EMU_DIMS; d++)
			if (e[d] < e[shortest])
				shortest = d;
		e[shortest] *= factor[count];
		if (e[shortest] > EXTENT_MAX)
			return -ENOSPC;
	}
	for (int d = 0; d < EMU_DIMS; d++)
		extent[d] = (uint8_t)e[d];
	return 0;
}

void emu_shape_default(uint32_t nodes, uint32_t t, struct emu_shape *s)
{
	const uint32_t most = 1u << 30; /* 64^5 */

	memset(s, 0, sizeof(*s));
	s->t = (uint8_t)(t < 1 ? 1 : t > EXTENT_MAX ? EXTENT_MAX : t);
	nodes = nodes < 1 ? 1 : nodes > most ? most : nodes;
	for (size_t i = 0; i < sizeof(partitions) / sizeof(partitions[0]); i++) {
		memcpy(s->n, partitions[i], EMU_DIMS);
		if (emu_shape_nodes(s) == nodes)
			return;
	}
	/* A number with a prime factor above 64 fits no shape. Take the next number that does. */
	while (near_cubic(nodes, s->n) && nodes < most)
		nodes++;
}

/* ---- mapping ---- */

static bool is_permutation(const char *text)
{
	unsigned seen = 0;

	if (strlen(text) != 6)
		return 0;
	for (; *text; text++) {
		const char *at = strchr(letters, *text);

		if (!at || seen >> (at - letters) & 1)
			return 0;
		seen |= 1u << (at - letters);
	}
	return 1;
}

static void map_letters(const struct emu_shape *s, const char *order, uint32_t count,
			struct emu_coord *coords)
{
	for (uint32_t task = 0; task < count; task++) {
		uint32_t rest = task;

		for (int i = 5; i >= 0; i--) { /* the rightmost letter varies fastest */
			unsigned k = (unsigned)(strchr(letters, order[i]) - letters);
			unsigned size = k == EMU_DIMS ? s->t : s->n[k];

			*(k == EMU_DIMS ? &coords[task].t : &coords[task].c[k]) =
			    (uint8_t)(rest % size);
			rest /= size;
		}
	}
}

struct map_file {
	const char *path;
	unsigned line;
	char *err;
	size_t err_bytes;
};

static int map_error(struct map_file *m, const char *what, const char *near)
{
	snprintf(m->err, m->err_bytes, "map file %s:%u: %s%s%s", m->path, m->line, what,
		 near ? " " : "", near ? near : "");
	return -EINVAL;
}

/* Handle a # line. "#mapping LETTERS" sets letters_out, "#mpmd" is an error, and all else is a
 * comment. */
static int map_directive(struct map_file *m, char *text, char *letters_out)
{
	char *save = NULL, *word = strtok_r(text, " \t\r\n", &save);

	if (word && !strcmp(word, "#mpmd"))
		return map_error(
		    m, "#mpmd (several programs in one job) is not supported; remove the line",
		    NULL);
	if (!word || strcmp(word, "#mapping"))
		return 0;
	word = strtok_r(NULL, " \t\r\n", &save);
	if (!word || !is_permutation(word))
		return map_error(m, "expected a permutation of ABCDET after #mapping, found",
				 word ? word : "nothing");
	memcpy(letters_out, word, 7);
	return 0;
}

/* Parse one line into six numbers. Returns 1 if it places a task, 0 if it is empty, or -EINVAL. */
static int map_line(struct map_file *m, const struct emu_shape *s, char *text, struct emu_coord *x)
{
	char *p = text;

	text[strcspn(text, "#")] = '\0';
	p += strspn(p, " \t\r\n");
	if (!*p)
		return 0;
	for (int k = 0; k < 6; k++) {
		unsigned size = k == EMU_DIMS ? s->t : s->n[k];
		char *end, what[96];
		unsigned long v;

		if (!isdigit((unsigned char)*p))
			return map_error(m, "expected six numbers A B C D E T", NULL);
		v = strtoul(p, &end, 10);
		if (v >= size) {
			snprintf(what, sizeof(what), "%c is %lu, the shape has 0 to %u", letters[k],
				 v, size - 1);
			return map_error(m, what, NULL);
		}
		*(k == EMU_DIMS ? &x->t : &x->c[k]) = (uint8_t)v;
		p = end + strspn(end, " \t\r\n");
		if (*p && p == end)
			return map_error(m, "expected six numbers A B C D E T", NULL);
	}
	if (*p)
		return map_error(m, "more than six numbers", NULL);
	return 1;
}

/* Fill coords from the lines of the file. *found: tasks placed. taken: one bit per slot of the
 * shape. */
static int map_read(FILE *f, struct map_file *m, const struct emu_shape *s, uint32_t count,
		    struct emu_coord *coords, uint8_t *taken, uint32_t *found, char *order)
{
	char text[512];
	int rc;

	while (fgets(text, sizeof(text), f)) {
		struct emu_coord x = {{0}, 0};

		m->line++;
		if (!strchr(text, '\n') && !feof(f))
			return map_error(m, "line is longer than 511 bytes", NULL);
		if (text[0] == '#' && (rc = map_directive(m, text, order)))
			return rc;
		rc = map_line(m, s, text, &x);
		if (rc < 0)
			return rc;
		if (!rc)
			continue;
		uint32_t slot = emu_coord_node(s, &x) * s->t + x.t;
		if (taken[slot / 8] >> (slot % 8) & 1)
			return map_error(m, "this place is already taken by an earlier line", NULL);
		taken[slot / 8] |= (uint8_t)(1u << (slot % 8));
		if (*found < count)
			coords[*found] = x;
		(*found)++;
	}
	return ferror(f) ? map_error(m, "cannot be read:", strerror(errno)) : 0;
}

static int map_from_file(const struct emu_shape *s, const char *path, uint32_t count,
			 struct emu_coord *coords, char *err, size_t err_bytes)
{
	struct map_file m = {path, 0, err, err_bytes};
	uint64_t slots = (uint64_t)emu_shape_nodes(s) * s->t;
	uint8_t *taken = calloc(slots / 8 + 1, 1);
	char order[8] = "";
	uint32_t found = 0;
	FILE *f = fopen(path, "r");
	int rc = 0;

	if (!f) {
		snprintf(
		    err, err_bytes,
		    "mapping '%s' is no permutation of ABCDET, and no map file of that name can be "
		    "read: %s",
		    path, strerror(errno));
		rc = -ENOENT;
	} else if (!taken) {
		snprintf(err, err_bytes, "map file %s: no memory", path);
		rc = -ENOMEM;
	} else {
		rc = map_read(f, &m, s, count, coords, taken, &found, order);
	}
	if (!rc && !found && order[0])
		map_letters(s, order, count, coords);
	else if (!rc && found < count) {
		snprintf(err, err_bytes,
			 "map file %s places %u tasks, the job has %u: add a line for each", path,
			 found, count);
		rc = -EINVAL;
	}
	if (f)
		fclose(f);
	free(taken);
	return rc;
}

int emu_map_tasks(const struct emu_shape *s, const char *mapping, uint32_t count,
		  struct emu_coord *coords, char *err, size_t err_bytes)
{
	uint64_t slots = (uint64_t)emu_shape_nodes(s) * s->t;

	if (count > slots) {
		char text[32];

		emu_shape_print(s, text, sizeof(text));
		snprintf(err, err_bytes,
			 "%u tasks do not fit shape %s (%u nodes, %u tasks each): use a larger "
			 "shape or T",
			 count, text, emu_shape_nodes(s), s->t);
		return -ENOSPC;
	}
	if (!mapping || !*mapping)
		mapping = letters;
	if (is_permutation(mapping)) {
		map_letters(s, mapping, count, coords);
		return 0;
	}
	return map_from_file(s, mapping, count, coords, err, err_bytes);
}
