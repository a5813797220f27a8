/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Generator of a finite-element matrix, the shape of the one in the ARMCI papers (41,092 rows,
 * 1,683,902 entries): a plate of trilinear hexahedra, three nodes thick and 31 wide, two unknowns a
 * node. Each element has its own conductivity, coupling and flow (the flow makes the matrix
 * unsymmetric), drawn from the seed; the same arguments give the same matrix. Nodes are numbered
 * along the plate, or, with
 * --shuffle, at random within windows, as meshing programs leave them: then products touch many
 * more elements of x that lie elsewhere.
 */
#include <argp.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/rng.h"

enum { THICK = 3, WIDE = 31, UNKNOWNS = 2, NEAR = 27, CORNERS = 8 };

static struct {
	size_t rows;
	uint64_t seed;
	size_t shuffle; /* nodes in a window */
	const char *path;
} options = {.rows = 41092, .seed = 1};

struct mesh {
	size_t nodes;
	/* block[(node * NEAR + neighbour) * 4 + 2 * i + j]: unknown i of node against unknown j of
	 * neighbour */
	double *block;
	unsigned char *used; /* [node * NEAR + neighbour] */
	size_t *number;      /* of each node in the file */
	size_t *node;        /* of each number */
};

/* Corner c of an element is its low corner moved by bit 0 in x (thickness), bit 1 in y (width), bit
 * 2 in z. */
static size_t step_in(int dx, int dy, int dz)
{
	return (size_t)(dx + THICK * (dy + WIDE * dz));
}

static int corner_bit(int c, int axis)
{
	return c >> axis & 1;
}

/*
 * Integrals over one element of the trilinear shape functions a and b: products of one-dimensional
 * ones, mass (1/3, 1/6), stiffness (1, -1) and flow (-1/2, 1/2) per axis, scaled by the edge
 * lengths.
 */
static void element_integrals(double stiff[CORNERS][CORNERS], double flow[CORNERS][CORNERS])
{
	static const double h[3] = {0.35, 0.8, 1.0};
	int a, b, axis, other;

	for (a = 0; a < CORNERS; a++) {
		for (b = 0; b < CORNERS; b++) {
			double mass = 1;

			for (axis = 0; axis < 3; axis++)
				mass *= h[axis] * (corner_bit(a, axis) == corner_bit(b, axis)
						       ? 1.0 / 3
						       : 1.0 / 6);
			stiff[a][b] = 0;
			for (axis = 0; axis < 3; axis++) {
				double s = corner_bit(a, axis) == corner_bit(b, axis)
					       ? 1 / h[axis]
					       : -1 / h[axis];

				for (other = 0; other < 3; other++)
					if (other != axis)
						s *= h[other] *
						     (corner_bit(a, other) == corner_bit(b, other)
							  ? 1.0 / 3
							  : 1.0 / 6);
				stiff[a][b] += s;
			}
			flow[a][b] = mass / h[2] * (corner_bit(b, 2) ? 1.5 : -1.5);
		}
	}
}

static void element_add(struct mesh *m, size_t low, const double stiff[CORNERS][CORNERS],
			const double flow[CORNERS][CORNERS], struct drv_rng *rng)
{
	double conductivity = 0.5 + drv_rng_unit(rng), coupling = 0.3 * drv_rng_unit(rng) + 0.05;
	double speed = 0.4 * drv_rng_unit(rng);
	int a, b, i, j;

	for (a = 0; a < CORNERS; a++) {
		size_t node = low + step_in(corner_bit(a, 0), corner_bit(a, 1), corner_bit(a, 2));

		for (b = 0; b < CORNERS; b++) {
			int near = corner_bit(b, 0) - corner_bit(a, 0) + 1 +
				   3 * (corner_bit(b, 1) - corner_bit(a, 1) + 1) +
				   9 * (corner_bit(b, 2) - corner_bit(a, 2) + 1);
			double *at = &m->block[(node * NEAR + (size_t)near) * 4];

			m->used[node * NEAR + (size_t)near] = 1;
			for (i = 0; i < UNKNOWNS; i++)
				for (j = 0; j < UNKNOWNS; j++)
					at[2 * i + j] +=
					    (i == j ? conductivity : coupling) * stiff[a][b] +
					    (i == j ? speed * flow[a][b] : 0);
		}
	}
}

/* Shuffle the numbers within each window of `window` nodes (1: the order of the mesh). */
static int mesh_number(struct mesh *m, size_t window, struct drv_rng *rng)
{
	size_t i;

	m->number = malloc(m->nodes * sizeof(*m->number));
	m->node = malloc(m->nodes * sizeof(*m->node));
	if (!m->number || !m->node)
		return -1;
	for (i = 0; i < m->nodes; i++)
		m->node[i] = i;
	for (i = 0; i < m->nodes; i++) {
		size_t begin = i / window * window, j = begin + drv_rng_below(rng, i - begin + 1),
		       t = m->node[i];

		m->node[i] = m->node[j];
		m->node[j] = t;
	}
	for (i = 0; i < m->nodes; i++)
		m->number[m->node[i]] = i;
	return 0;
}

/* Visit every hexahedron whose eight corners are nodes. Nodes are numbered through the thickness,
 * then the width. */
static int mesh_build(struct mesh *m, size_t rows, uint64_t seed)
{
	double stiff[CORNERS][CORNERS], flow[CORNERS][CORNERS];
	struct drv_rng rng;
	size_t low, node;

	m->nodes = (rows + UNKNOWNS - 1) / UNKNOWNS;
	m->block = calloc(m->nodes * NEAR * 4, sizeof(*m->block));
	m->used = calloc(m->nodes, NEAR);
	if (!m->block || !m->used)
		return -1;
	/* A node without elements keeps its diagonal. */
	for (node = 0; node < m->nodes; node++)
		m->used[node * NEAR + NEAR / 2] = 1;
	element_integrals(stiff, flow);
	drv_rng_seed(&rng, seed);
	for (low = 0; low + step_in(1, 1, 1) < m->nodes; low++)
		if (low % THICK < THICK - 1 && low / THICK % WIDE < WIDE - 1)
			element_add(m, low, stiff, flow, &rng);
	return mesh_number(m, options.shuffle ? options.shuffle : 1, &rng);
}

/* ---- writing: numbers are multiples of 10^-9, so that printing is whole-number work ---- */

static char *print_count(char *p, uint64_t v)
{
	char digits[24];
	int n = 0;

	do {
		digits[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	while (n)
		*p++ = digits[--n];
	return p;
}

static char *print_value(char *p, double v)
{
	int64_t k = (int64_t)(v * 1e9 + (v < 0 ? -0.5 : 0.5));
	uint64_t u = (uint64_t)(k < 0 ? -k : k), unit = 100000000, rest = u % 1000000000;

	if (k < 0)
		*p++ = '-';
	p = print_count(p, u / 1000000000);
	*p++ = '.';
	do {
		*p++ = (char)('0' + rest / unit % 10);
		unit /= 10;
	} while (unit && rest % (unit * 10));
	return p;
}

/* Call line for each entry, in the order of rows. Returns how many. */
static uint64_t write_entries(const struct mesh *m, size_t rows, FILE *out)
{
	uint64_t count = 0;
	size_t row;

	for (row = 0; row < rows; row++) {
		size_t node = m->node[row / UNKNOWNS], near;

		for (near = 0; near < NEAR; near++) {
			size_t other = node + step_in((int)near % 3 - 1, (int)near / 3 % 3 - 1,
						      (int)near / 9 - 1),
			       j;
			const double *v =
			    &m->block[(node * NEAR + near) * 4 + 2 * (row % UNKNOWNS)];

			for (j = 0; m->used[node * NEAR + near] && j < UNKNOWNS; j++) {
				size_t col = m->number[other] * UNKNOWNS + j;
				char line[96], *p;

				if (col >= rows)
					continue;
				count++;
				if (!out)
					continue;
				p = print_count(line, row + 1);
				*p++ = ' ';
				p = print_count(p, col + 1);
				*p++ = ' ';
				p = print_value(
				    p, v[j] + (other == node && j == row % UNKNOWNS ? 1 : 0));
				*p++ = '\n';
				fwrite(line, 1, (size_t)(p - line), out);
			}
		}
	}
	return count;
}

static int write_file(const struct mesh *m, size_t rows, uint64_t seed, const char *path)
{
	int std = !strcmp(path, "-"), bad;
	FILE *f = std ? stdout : fopen(path, "w");
	uint64_t count = write_entries(m, rows, NULL);

	if (!f) {
		fprintf(stderr, "mtx_make: %s: %s\n", path, strerror(errno));
		return 1;
	}
	setvbuf(f, NULL, _IOFBF, 1 << 20);
	fprintf(f, "%%%%MatrixMarket matrix coordinate real general\n");
	fprintf(f,
		"%% plate of trilinear hexahedra, %d x %d nodes across, %d unknowns a node, seed "
		"%llu%s\n",
		THICK, WIDE, UNKNOWNS, (unsigned long long)seed,
		options.shuffle ? ", shuffled" : "");
	fprintf(f, "%zu %zu %llu\n", rows, rows, (unsigned long long)count);
	write_entries(m, rows, f);
	bad = ferror(f) | (std ? fflush(f) : fclose(f));
	if (bad)
		fprintf(stderr, "mtx_make: %s: %s\n", path, strerror(errno));
	else
		fprintf(stderr, "%s: %zu rows, %llu entries, %.1f a row\n", path, rows,
			(unsigned long long)count, (double)count / (double)rows);
	return bad != 0;
}

/* ---- command line ---- */

static uint64_t number_nodes(struct argp_state *state, const char *text, uint64_t low,
			     uint64_t high, const char *what)
{
	char *end;
	uint64_t v;

	errno = 0;
	v = strtoull(text, &end, 0);
	if (errno || *end || !*text || *text == '-' || v < low || v > high)
		argp_error(state, "%s must be a whole number, %llu .. %llu, not '%s'", what,
			   (unsigned long long)low, (unsigned long long)high, text);
	return v;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	switch (key) {
	case 'r':
		options.rows = number_nodes(state, text, 1, 100000000, "the number of rows");
		return 0;
	case 's':
		options.seed = number_nodes(state, text, 0, UINT64_MAX, "the seed");
		return 0;
	case 'x':
		options.shuffle = number_nodes(state, text, 1, 100000000, "the window");
		return 0;
	case ARGP_KEY_ARG:
		if (options.path)
			argp_error(state, "one file at a time, not '%s' too", text);
		options.path = text;
		return 0;
	case ARGP_KEY_END:
		if (!options.path)
			argp_error(state, "say which file to write (- is stdout)");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp_option list[] = {
	    {"rows", 'r', "N", 0, "rows of the matrix (41092)", 0},
	    {"shuffle", 'x', "N", 0, "number the nodes at random within windows of N", 0},
	    {"seed", 's', "N", 0, "of the element properties (1)", 0},
	    {0},
	};
	static const struct argp argp = {
	    list,       parse_option,
	    "FILE.mtx", "Write a finite-element matrix in Matrix Market format.",
	    NULL,       NULL,
	    NULL};
	struct mesh m = {0};
	int rc;

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	if (mesh_build(&m, options.rows, options.seed)) {
		fprintf(stderr, "mtx_make: no memory for %zu rows\n", options.rows);
		return 1;
	}
	rc = write_file(&m, options.rows, options.seed, options.path);
	free(m.block);
	free(m.used);
	free(m.number);
	free(m.node);
	return rc;
}
