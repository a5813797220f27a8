/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agas_mesh: heat on a mesh that refines itself around a moving source, in a global address space.
 *
 * The mesh is a quadtree; each of its leaves is a grid of 8 x 8 cells in a page of its own, whose
 * number is the leaf's place in Morton order, dealt over the ranks. At each step the source moves
 * and the tree follows. The leaves in Morton order are then cut into as many runs of equal length
 * as there are ranks: a rank sweeps the leaves of its run with a 5-point stencil.
 *
 *   --remap 1   a rank first moves the leaves of its run to itself; then its gets are local but for
 *               the ghost cells at the borders of its run
 *   --remap 0   the leaves stay where they were dealt, and most gets are remote
 *   --remap 2   the library moves them: agas_balance() after the first sweep of a step takes each
 *               leaf to the rank that uses it most
 *
 * Options: --steps N, --sweeps N (of each step), --picture PREFIX (rank 0 draws PREFIX-NNN.ppm
 * after each step: heat, and the owner of each leaf as the colour of its frame). Prints times, what
 * moved, and a checksum of the heat, which depends on steps and sweeps alone.
 * bench/figures/agas_figures compares the two, with the directory in software and in the network.
 */
#include <agas.h>
#include <math.h>
#include <pami.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/agas_counters.h"

enum {
	CELLS = 8,    /* of a side of a leaf */
	COARSEST = 2, /* levels: 4 x 4 leaves */
	FINEST = 4,   /* 16 x 16 */
	SIDE = 1 << FINEST,
	LEAVES_MAX = SIDE * SIDE,
	PAGES = 16 + 64 + 256
};

enum { STAY, RUNS, BALANCE }; /* --remap */

/* What a page holds: a sweep reads one of the two and writes the other. */
struct grid {
	float u[2][CELLS][CELLS];
};

struct leaf {
	int level, x, y; /* in units of its level */
};

struct tree {
	struct leaf leaf[LEAVES_MAX]; /* in Morton order */
	int leaves;
	/* [y][x] of the leaf that covers this square of the finest. */
	uint8_t level[SIDE][SIDE];
};

static int me, ranks;
static gva_t base, owners;
static size_t page;
static struct {
	long steps, sweeps, remap;
	const char *picture;
} option = {6, 10, RUNS, NULL};

static void check_call(int rc, const char *what)
{
	if (!rc)
		return;
	fprintf(stderr, "agas_mesh: %s: %s\n", what, agas_error_text(rc));
	exit(1);
}

static double now_us(void)
{
	return PAMI_Wtime(NULL) * 1e6;
}

/* ---- the tree ---- */

static unsigned morton_of(unsigned x, unsigned y)
{
	unsigned m = 0;

	for (unsigned b = 0; b < FINEST; b++)
		m |= (x >> b & 1) << (2 * b) | (y >> b & 1) << (2 * b + 1);
	return m;
}

static gva_t address_of(const struct leaf *l)
{
	unsigned first = 0;

	for (int level = COARSEST; level < l->level; level++)
		first += 1u << (2 * level);
	return base + (first + morton_of((unsigned)l->x, (unsigned)l->y)) * page;
}

static void source_at(long step, double *x, double *y)
{
	double angle = 0.45 * (double)step;

	*x = 0.5 + 0.28 * cos(angle);
	*y = 0.5 + 0.28 * sin(angle);
}

/* Returns true if the source needs a finer mesh in this square. */
static bool is_near(long step, int level, int x, int y)
{
	double side = 1.0 / (1 << level), sx, sy, dx, dy;

	source_at(step, &sx, &sy);
	dx = fabs(sx - (x + 0.5) * side) - side / 2;
	dy = fabs(sy - (y + 0.5) * side) - side / 2;
	dx = dx > 0 ? dx : 0;
	dy = dy > 0 ? dy : 0;
	return sqrt(dx * dx + dy * dy) < (level == COARSEST ? 0.2 : 0.08);
}

static void set_level(struct tree *t, int level, int x, int y)
{
	int squares = 1 << (FINEST - level);

	for (int j = 0; j < squares; j++)
		memset(&t->level[y * squares + j][x * squares], level, (size_t)squares);
}

static int level_at(const struct tree *t, int x, int y)
{
	return x < 0 || y < 0 || x >= SIDE || y >= SIDE ? FINEST : t->level[y][x];
}

/* Split a leaf until neighbours differ by one level at most. Returns true if a leaf was split. */
static bool grade_tree(struct tree *t)
{
	for (int y = 0; y < SIDE; y++)
		for (int x = 0; x < SIDE; x++) {
			int l = t->level[y][x], down = FINEST - l;

			for (int d = 0; d < 4; d++) {
				int nx = x + (d == 0) - (d == 1), ny = y + (d == 2) - (d == 3);

				if (nx < 0 || ny < 0 || nx >= SIDE || ny >= SIDE ||
				    t->level[ny][nx] <= l + 1)
					continue;
				for (int c = 0; c < 4; c++)
					set_level(t, l + 1, 2 * (x >> down) + (c & 1),
						  2 * (y >> down) + (c >> 1));
				return true;
			}
		}
	return false;
}

static void collect_leaves(struct tree *t, int level, int x, int y)
{
	int down = FINEST - level;

	if (level >= COARSEST && t->level[y << down][x << down] == level) {
		t->leaf[t->leaves++] = (struct leaf){level, x, y};
		return;
	}
	for (int c = 0; c < 4; c++)
		collect_leaves(t, level + 1, 2 * x + (c & 1), 2 * y + (c >> 1));
}

/* The same on all ranks, without a message: it follows from the step. */
static void tree_make(struct tree *t, long step)
{
	memset(t, 0, sizeof(*t));
	memset(t->level, COARSEST, sizeof(t->level));
	for (int level = COARSEST; level < FINEST; level++)
		for (int y = 0; y < 1 << level; y++)
			for (int x = 0; x < 1 << level; x++) {
				int down = FINEST - level;

				if (t->level[y << down][x << down] != level ||
				    !is_near(step, level, x, y))
					continue;
				for (int c = 0; c < 4; c++)
					set_level(t, level + 1, 2 * x + (c & 1), 2 * y + (c >> 1));
			}
	while (grade_tree(t))
		;
	collect_leaves(t, 0, 0, 0);
}

static int run_begin(const struct tree *t, int rank)
{
	return (int)((long)t->leaves * rank / ranks);
}

/* ---- access ---- */

static void get_half(const struct leaf *l, int half, float to[CELLS][CELLS])
{
	gva_t at = address_of(l) + (gva_t)half * sizeof(float[CELLS][CELLS]);

	check_call(agas_get(to, at, sizeof(float[CELLS][CELLS])), "get");
}

static void put_half(const struct leaf *l, int half, float from[CELLS][CELLS])
{
	gva_t at = address_of(l) + (gva_t)half * sizeof(float[CELLS][CELLS]);

	check_call(agas_put(at, from, sizeof(float[CELLS][CELLS])), "put");
}

/* ---- a step: new leaves take over what the old ones had ---- */

/* Values of a new leaf: cells of the old tree at the same places, or their means. */
static void transfer_leaf(const struct tree *old, const struct leaf *l, float to[CELLS][CELLS])
{
	int down = FINEST - l->level, was = old->level[l->y << down][l->x << down];
	float from[4][CELLS][CELLS];

	if (was <= l->level) {
		int up = l->level - was, mask = (1 << up) - 1;
		struct leaf parent = {was, l->x >> up, l->y >> up};

		get_half(&parent, 0, from[0]);
		check_call(agas_fence(), "fence");
		for (int j = 0; j < CELLS; j++)
			for (int i = 0; i < CELLS; i++)
				to[j][i] = from[0][((l->y & mask) * CELLS + j) >> up]
					       [((l->x & mask) * CELLS + i) >> up];
		return;
	}
	/* A step coarsens by one level at most, because is_near() changes slowly; finer ones are
	 * sampled. */
	for (int c = 0; c < 4; c++) {
		struct leaf child = {l->level + 1, 2 * l->x + (c & 1), 2 * l->y + (c >> 1)};
		int d = FINEST - child.level, deeper = old->level[child.y << d][child.x << d];

		if (deeper > child.level)
			child = (struct leaf){deeper, child.x << 1, child.y << 1};
		get_half(&child, 0, from[c]);
	}
	check_call(agas_fence(), "fence");
	for (int j = 0; j < CELLS; j++)
		for (int i = 0; i < CELLS; i++) {
			int c = i / (CELLS / 2) + j / (CELLS / 2) * 2;
			int x = 2 * (i % (CELLS / 2)), y = 2 * (j % (CELLS / 2));

			to[j][i] = 0.25f * (from[c][y][x] + from[c][y][x + 1] + from[c][y + 1][x] +
					    from[c][y + 1][x + 1]);
		}
}

static void adapt_tree(const struct tree *old, const struct tree *new)
{
	static float values[LEAVES_MAX][CELLS][CELLS];
	int first = run_begin(new, me), end = run_begin(new, me + 1);

	/* All read before any writes: old and new leaves may be the same pages. */
	for (int i = first; i < end; i++)
		transfer_leaf(old, &new->leaf[i], values[i]);
	check_call(agas_barrier(), "barrier");
	for (int i = first; i < end; i++)
		put_half(&new->leaf[i], 0, values[i]);
	check_call(agas_barrier(), "barrier");
}

/* ---- a sweep ---- */

/* One row of ghost cells of a leaf: side 0 right, 1 left, 2 above, 3 below. */
static float edge_cell(float u[CELLS][CELLS], int side, int along)
{
	int far = side % 2 ? CELLS - 1 : 0; /* the neighbour's side that faces the leaf */

	return side < 2 ? u[along][far] : u[far][along];
}

/* The neighbours over one side, one or two. Returns how many. */
static int find_neighbours(const struct tree *t, const struct leaf *l, int side, struct leaf n[2])
{
	int x = l->x + (side == 0) - (side == 1), y = l->y + (side == 2) - (side == 3);
	int down = FINEST - l->level, level;

	if (x < 0 || y < 0 || x >= 1 << l->level || y >= 1 << l->level)
		return 0;
	/* Of the squares of the neighbour, one that faces the leaf. */
	level = level_at(t, (x << down) + (side == 1 ? (1 << down) - 1 : 0),
			 (y << down) + (side == 3 ? (1 << down) - 1 : 0));
	if (level <= l->level) {
		int up = l->level - level;

		n[0] = (struct leaf){level, x >> up, y >> up};
		return 1;
	}
	for (int k = 0; k < 2; k++)
		n[k] = (struct leaf){level, 2 * x + (side < 2 ? side == 1 : k),
				     2 * y + (side < 2 ? k : side == 3)};
	return 2;
}

static void fill_ghosts(const struct leaf *l, int side, const struct leaf n[2], int count,
			float u[2][CELLS][CELLS], float ghost[CELLS])
{
	for (int i = 0; i < CELLS; i++) {
		int along = i;

		if (count == 0) {
			ghost[i] = 0;
		} else if (count == 2) {
			int k = 2 * i / CELLS, c = 2 * i % CELLS;

			ghost[i] = 0.5f * (edge_cell(u[k], side, c) + edge_cell(u[k], side, c + 1));
		} else {
			if (n[0].level < l->level)
				along = (((side < 2 ? l->y : l->x) & 1) * CELLS + i) / 2;
			ghost[i] = edge_cell(u[0], side, along);
		}
	}
}

static void apply_stencil(const struct leaf *l, float u[CELLS][CELLS], float ghost[4][CELLS],
			  float to[CELLS][CELLS], double sx, double sy)
{
	float c = 0.2f / (float)(1 << (2 * (FINEST - l->level)));
	double h = 1.0 / (CELLS << l->level);

	for (int j = 0; j < CELLS; j++)
		for (int i = 0; i < CELLS; i++) {
			float right = i + 1 < CELLS ? u[j][i + 1] : ghost[0][j];
			float left = i ? u[j][i - 1] : ghost[1][j];
			float above = j + 1 < CELLS ? u[j + 1][i] : ghost[2][i];
			float below = j ? u[j - 1][i] : ghost[3][i];
			double dx = (l->x * CELLS + i + 0.5) * h - sx;
			double dy = (l->y * CELLS + j + 0.5) * h - sy;

			to[j][i] = u[j][i] + c * (right + left + above + below - 4 * u[j][i]);
			if (dx * dx + dy * dy < 0.002)
				to[j][i] += 0.1f * (1 - to[j][i]);
		}
}

static void sweep_leaf(const struct tree *t, const struct leaf *l, int half, double sx, double sy)
{
	static float to[CELLS][CELLS];
	float u[CELLS][CELLS], near[4][2][CELLS][CELLS], ghost[4][CELLS];
	struct leaf n[4][2];
	int count[4];

	get_half(l, half, u);
	for (int side = 0; side < 4; side++) {
		count[side] = find_neighbours(t, l, side, n[side]);
		for (int k = 0; k < count[side]; k++)
			get_half(&n[side][k], half, near[side][k]);
	}
	check_call(agas_fence(), "fence");
	for (int side = 0; side < 4; side++)
		fill_ghosts(l, side, n[side], count[side], near[side], ghost[side]);
	apply_stencil(l, u, ghost, to, sx, sy);
	put_half(l, 1 - half, to);
	check_call(agas_fence(), "fence"); /* `to` is used again. */
}

/* Let the library move leaves. Returns how many left this rank. */
static int balance_leaves(void)
{
	int moved = agas_balance(AGAS_BALANCE_COUNT, 1);

	check_call(moved < 0 ? moved : 0, "balance");
	return moved;
}

/* Returns the time of the sweeps; *moving and *moved: that of agas_balance(), and what it moved. */
static double sweep_all(const struct tree *t, long step, double *moving, long *moved)
{
	double sx, sy, start = now_us(), begun, balancing = 0;

	source_at(step, &sx, &sy);
	for (long s = 0; s < option.sweeps; s++) {
		for (int i = run_begin(t, me); i < run_begin(t, me + 1); i++)
			sweep_leaf(t, &t->leaf[i], (int)(s % 2), sx, sy);
		check_call(agas_barrier(), "barrier");
		if (s || option.remap != BALANCE)
			continue;
		begun = now_us();
		*moved += balance_leaves();
		balancing = now_us() - begun;
	}
	/* What the next step reads is half 0. */
	for (int i = run_begin(t, me); i < run_begin(t, me + 1) && option.sweeps % 2; i++) {
		float u[CELLS][CELLS];

		get_half(&t->leaf[i], 1, u);
		check_call(agas_fence(), "fence");
		put_half(&t->leaf[i], 0, u);
		check_call(agas_fence(), "fence");
	}
	check_call(agas_barrier(), "barrier");
	*moving += balancing;
	return now_us() - start - balancing;
}

/* The leaves of this rank's run come here. Returns how many moved. */
static int remap_run(const struct tree *t)
{
	static agas_req_t request[LEAVES_MAX];
	int moved = 0;

	for (int i = run_begin(t, me); i < run_begin(t, me + 1); i++) {
		gva_t at = address_of(&t->leaf[i]);

		if (agas_try_pin(at, NULL)) {
			agas_unpin(at);
			continue;
		}
		check_call(agas_remap_nb(at, me, &request[moved]), "remap");
		moved++;
	}
	for (int i = 0; i < moved; i++)
		check_call(agas_wait(&request[i]), "remap");
	check_call(agas_barrier(), "barrier");
	return moved;
}

/* ---- results ---- */

static void draw_leaf(unsigned char *image, int width, const struct leaf *l, int owner,
		      float u[CELLS][CELLS])
{
	static const unsigned char frame[8][3] = {{0, 114, 178},   {230, 159, 0},  {0, 158, 115},
						  {204, 121, 167}, {86, 180, 233}, {213, 94, 0},
						  {240, 228, 66},  {120, 120, 120}};
	const unsigned char *of = frame[owner % 8];
	int side = width >> l->level;

	for (int y = 0; y < side; y++)
		for (int x = 0; x < side; x++) {
			unsigned char *p =
			    image + 3 * ((l->y * side + y) * width + l->x * side + x);
			double v = u[y * CELLS / side][x * CELLS / side];
			bool is_frame = x < 2 || y < 2 || x >= side - 2 || y >= side - 2;

			v = v < 0 ? 0 : sqrt(v > 1 ? 1 : v);
			p[0] = is_frame ? of[0] : (unsigned char)(255 * (v < 0.5 ? 2 * v : 1));
			p[1] = is_frame ? of[1] : (unsigned char)(v < 0.5 ? 0 : 255 * (2 * v - 1));
			p[2] = is_frame ? of[2] : (unsigned char)(v < 0.5 ? 60 * (1 - 2 * v) : 0);
		}
}

/* Each rank says which leaves it has, in a page of bytes; then rank 0 knows the owner of each. */
static void find_owners(const struct tree *t, uint8_t owner[LEAVES_MAX])
{
	const uint8_t mine = (uint8_t)me;

	for (int i = 0; i < t->leaves; i++) {
		gva_t at = address_of(&t->leaf[i]);

		if (!agas_try_pin(at, NULL))
			continue;
		agas_unpin(at);
		check_call(agas_put(owners + (gva_t)i, &mine, 1), "put");
	}
	check_call(agas_barrier(), "barrier");
	if (me == 0)
		check_call(agas_get(owner, owners, LEAVES_MAX), "get");
	check_call(agas_fence(), "fence");
}

/* Rank 0 looks at every leaf: draws it with the frame of its owner, and adds its heat. */
static double inspect_leaves(const struct tree *t, long step, const uint8_t *owner)
{
	enum { WIDTH = 512 };
	unsigned char *image = option.picture ? malloc(3 * WIDTH * WIDTH) : NULL;
	double sum = 0;
	char name[256];
	FILE *f;

	for (int i = 0; i < t->leaves; i++) {
		const struct leaf *l = &t->leaf[i];
		float u[CELLS][CELLS];

		get_half(l, 0, u);
		check_call(agas_fence(), "fence");
		for (int k = 0; k < CELLS * CELLS; k++)
			sum += (double)u[k / CELLS][k % CELLS] / (double)(1 << (2 * l->level));
		if (image)
			draw_leaf(image, WIDTH, l, owner[i], u);
	}
	if (!image)
		return sum;
	snprintf(name, sizeof(name), "%s-%03ld.ppm", option.picture, step);
	f = fopen(name, "wb");
	if (f) {
		fprintf(f, "P6 %d %d 255\n", WIDTH, WIDTH);
		fwrite(image, 3, WIDTH * WIDTH, f);
		fclose(f);
	} else {
		perror(name);
	}
	free(image);
	return sum;
}

static void run_steps(void)
{
	static struct tree tree[2];
	static uint8_t owner[LEAVES_MAX];
	double moving = 0, sweeping = 0, sum = 0;
	long moved = 0, leaves = 0;
	struct agas_stats s;

	tree_make(&tree[1], 0);
	for (long step = 0; step < option.steps; step++) {
		struct tree *old = &tree[(step + 1) % 2], *new = &tree[step % 2];
		double start;

		tree_make(new, step);
		adapt_tree(old, new);
		start = now_us();
		if (option.remap == RUNS)
			moved += remap_run(new);
		moving += now_us() - start;
		sweeping += sweep_all(new, step, &moving, &moved);
		leaves += new->leaves;
		if (option.picture)
			find_owners(new, owner);
		if (me == 0)
			sum = inspect_leaves(new, step, owner);
		check_call(agas_barrier(), "barrier");
	}
	agas_stats(&s, 0);
	if (me)
		return;
	printf("agas-mesh %d ranks, %ld steps of %2ld sweeps, %.0f leaves, remap %ld: %9.1f us a "
	       "sweep, %9.1f us a remap of %5.1f leaves a rank; heat %.9f\n",
	       ranks, option.steps, option.sweeps, (double)leaves / (double)option.steps,
	       option.remap, sweeping / (double)(option.steps * option.sweeps),
	       moving / (double)option.steps, (double)moved / (double)option.steps, sum);
	bench_agas_print_counters(&s);
	bench_agas_print_network();
}

static int print_usage(void)
{
	fprintf(
	    stderr,
	    "usage: agas_mesh [--steps N] [--sweeps N] [--remap 0|1|2] [--picture PREFIX]\n"
	    "N is 1 or more; --remap 0 leaves the leaves where they were dealt, 1 moves those of "
	    "each rank to it, 2 lets agas_balance() move them.\n");
	return 2;
}

/* Returns false if there is an option or a value that is none. */
static bool read_options(int argc, char **argv)
{
	const struct {
		const char *name;
		long *value, least, most;
	} known[] = {{"--steps", &option.steps, 1, 100000},
		     {"--sweeps", &option.sweeps, 1, 100000},
		     {"--remap", &option.remap, STAY, BALANCE}};

	for (int i = 1; i < argc; i += 2) {
		char *end;
		int k = 0;

		while (k < 3 && strcmp(argv[i], known[k].name))
			k++;
		if (i + 1 == argc)
			return false;
		if (k == 3 && !strcmp(argv[i], "--picture")) {
			option.picture = argv[i + 1];
			continue;
		}
		if (k == 3)
			return false;
		*known[k].value = strtol(argv[i + 1], &end, 10);
		if (*end || *known[k].value < known[k].least || *known[k].value > known[k].most)
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	if (!read_options(argc, argv))
		return print_usage();
	setenv("QUINTORUS_AGAS_PAGE", "512", 0);
	check_call(agas_init(&argc, &argv), "init");
	me = agas_pe();
	ranks = agas_npes();
	page = agas_page_size();
	if (page < sizeof(struct grid)) {
		fprintf(stderr, "agas_mesh: pages of %zu bytes at least (QUINTORUS_AGAS_PAGE)\n",
			sizeof(struct grid));
		return 2;
	}
	base = agas_map_all(PAGES * page, AGAS_CYCLIC);
	owners = agas_map_all(LEAVES_MAX, AGAS_BLOCKED);
	if (!base || !owners)
		check_call(AGAS_ENOMEM, "map");
	run_steps();
	agas_fini();
	return 0;
}
