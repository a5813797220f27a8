/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives on class routes: which geometries get one, what happens when there are no more, that
 * they come back; every operation they do (and what they leave to software) against sums every task
 * can make; several geometries at once, in different orders on different members; bits the same on
 * all members. Where the job has no routers (express in real time) all the same calls run on
 * software. Argument few: less of it; then boxes: the shape is 3 nodes along A and more than one
 * along another dimension. QT_REFUSE=ERRNO[,odd]: the kernel refuses to read other processes'
 * memory so; in tasks of odd number only.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/harness/pami_job.h"

#define GEOMETRIES 20

static int few, boxes;

static unsigned made;

static void on_made(pami_context_t c, void *cookie, pami_result_t result)
{
	CHECK_EQ(result, PAMI_SUCCESS);
	made++;
}

static int has_routers(void)
{
	pami_configuration_t q = {.name = PAMI_GEOMETRY_OPTIMIZE};
	pami_geometry_t world;

	CHECK_EQ(PAMI_Geometry_world(client, &world), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Geometry_query(world, &q, 1), PAMI_SUCCESS);
	return q.value.intval != 0;
}

static int is_optimized(pami_geometry_t g)
{
	pami_configuration_t q = {.name = PAMI_GEOMETRY_OPTIMIZE};

	CHECK_EQ(PAMI_Geometry_query(g, &q, 1), PAMI_SUCCESS);
	return q.value.intval != 0;
}

/* Is an algorithm of that name offered? It has the lists' word for hardware then. */
static int is_offered(pami_geometry_t g, pami_xfer_type_t type, const char *part,
		      pami_algorithm_t *a)
{
	pami_algorithm_t always[32], query[32];
	pami_metadata_t m[32], n[32];
	size_t count[2];

	CHECK_EQ(PAMI_Geometry_algorithms_num(g, type, count), PAMI_SUCCESS);
	CHECK(count[0] <= 32 && count[1] <= 32);
	CHECK_EQ(PAMI_Geometry_algorithms_query(g, type, always, m, 32, query, n, 32),
		 PAMI_SUCCESS);
	for (size_t i = 0; i < count[0]; i++)
		if (strstr(m[i].name, part)) {
			CHECK(m[i].check_perf.values.hw_accel);
			*a = always[i];
			return 1;
		}
	*a = always[0];
	return 0;
}

static pami_geometry_t create_geometry(pami_task_t *list, size_t count, unsigned id, int optimize)
{
	pami_configuration_t conf = {.name = PAMI_GEOMETRY_OPTIMIZE};
	pami_geometry_t g = PAMI_GEOMETRY_NULL;

	conf.value.intval = (size_t)optimize;
	made = 0;
	CHECK_EQ(PAMI_Geometry_create_tasklist(client, 0, &conf, 1, &g, PAMI_GEOMETRY_NULL, id,
					       list, count, context, on_made, NULL),
		 PAMI_SUCCESS);
	WAIT(made);
	return g;
}

static void destroy_geometry(pami_geometry_t *g)
{
	made = 0;
	CHECK_EQ(PAMI_Geometry_destroy(client, g, context, on_made, NULL), PAMI_SUCCESS);
	WAIT(made);
}

static void update_geometry(pami_geometry_t g, int on)
{
	pami_configuration_t conf = {.name = PAMI_GEOMETRY_OPTIMIZE};

	conf.value.intval = (size_t)on;
	made = 0;
	CHECK_EQ(PAMI_Geometry_update(g, &conf, 1, context, on_made, NULL), PAMI_SUCCESS);
	WAIT(made);
}

static void start_collective(pami_geometry_t g, pami_xfer_type_t type, pami_xfer_t *x, int *done)
{
	is_offered(g, type, type == PAMI_XFER_BARRIER ? ":GI:" : ":ClassRoute:", &x->algorithm);
	x->cb_done = flag_done;
	x->cookie = done;
	CHECK_EQ(PAMI_Collective(context, x), PAMI_SUCCESS);
}

/* ---- One of each, with sums every task can make ---- */

static const struct what {
	pami_type_t *type;
	pami_data_function *op;
	size_t size;
	int kind; /* 0 unsigned, 1 signed, 2 double, 3 float */
} whats[] = {
    {&PAMI_TYPE_UNSIGNED_INT, &PAMI_DATA_SUM, 4, 0},
    {&PAMI_TYPE_SIGNED_INT, &PAMI_DATA_MIN, 4, 1},
    {&PAMI_TYPE_SIGNED_INT, &PAMI_DATA_SUM, 4, 1},
    {&PAMI_TYPE_UNSIGNED_LONG, &PAMI_DATA_MAX, 8, 0},
    {&PAMI_TYPE_SIGNED_LONG, &PAMI_DATA_MAX, 8, 1},
    {&PAMI_TYPE_SIGNED_LONG_LONG, &PAMI_DATA_MIN, 8, 1},
    {&PAMI_TYPE_DOUBLE, &PAMI_DATA_SUM, 8, 2},
    {&PAMI_TYPE_DOUBLE, &PAMI_DATA_MIN, 8, 2},
    {&PAMI_TYPE_DOUBLE, &PAMI_DATA_MAX, 8, 2},
    {&PAMI_TYPE_UNSIGNED_INT, &PAMI_DATA_BAND, 4, 0},
    {&PAMI_TYPE_UNSIGNED_LONG, &PAMI_DATA_BOR, 8, 0},
    {&PAMI_TYPE_UNSIGNED_LONG, &PAMI_DATA_BXOR, 8, 0},
    {&PAMI_TYPE_UNSIGNED_INT, &PAMI_DATA_LAND, 4, 0},
    {&PAMI_TYPE_UNSIGNED_LONG, &PAMI_DATA_LOR, 8, 0},
    {&PAMI_TYPE_UNSIGNED_INT, &PAMI_DATA_LXOR, 4, 0},
    {&PAMI_TYPE_DOUBLE, &PAMI_DATA_PROD, 8, 2},
    {&PAMI_TYPE_FLOAT, &PAMI_DATA_SUM, 4, 3},
};

/* Element i of a member: small, so that floating sums are exact. */
static double value_of(const struct what *w, size_t task, size_t i)
{
	uint64_t h = (task * 0x9e3779b97f4a7c15u + i * 0xbf58476d1ce4e5b9u) >> 7;

	h ^= h >> 29;
	if (*w->op == PAMI_DATA_PROD)
		return h % 4 ? 1 : 2;
	return w->kind == 0 ? (double)(h % 13) : (double)(h % 13) - 6;
}

static void put_value(const struct what *w, double x, unsigned char *at)
{
	int64_t i = (int64_t)x;
	float f = (float)x;

	memcpy(at, w->kind == 2 ? (void *)&x : w->kind == 3 ? (void *)&f : (void *)&i, w->size);
}

static double fold_values(const struct what *w, double a, double b)
{
	pami_data_function op = *w->op;
	uint64_t x = (uint64_t)a, y = (uint64_t)b;

	return op == PAMI_DATA_SUM    ? a + b
	       : op == PAMI_DATA_PROD ? a * b
	       : op == PAMI_DATA_MIN  ? (b < a ? b : a)
	       : op == PAMI_DATA_MAX  ? (b > a ? b : a)
	       : op == PAMI_DATA_BAND ? (double)(x & y)
	       : op == PAMI_DATA_BOR  ? (double)(x | y)
	       : op == PAMI_DATA_BXOR ? (double)(x ^ y)
	       : op == PAMI_DATA_LAND ? (double)(x && y)
	       : op == PAMI_DATA_LOR  ? (double)(x || y)
				      : (double)(!x != !y);
}

#define BYTES_MAX 40000

static unsigned char in[BYTES_MAX + 64], out[BYTES_MAX + 64], expected[BYTES_MAX];

static void check_reductions(pami_geometry_t g, const pami_task_t *list, size_t members,
			     size_t bytes)
{
	for (size_t k = 0; k < sizeof whats / sizeof *whats; k += few ? 6 : 1) {
		const struct what *w = &whats[k];
		size_t count = bytes / w->size, root = (k + bytes) % members;
		pami_xfer_t x = {.cb_done = flag_done};

		for (size_t i = 0; i < count; i++) {
			double sum = value_of(w, list[0], i);

			for (size_t m = 1; m < members; m++)
				sum = fold_values(w, sum, value_of(w, list[m], i));
			put_value(w, sum, expected + i * w->size);
			put_value(w, value_of(w, me, i), in + i * w->size);
		}
		memset(out, 0xee, sizeof out);
		for (int type = 0; type < 3; type++) {
			int done = 0, mine = type == 0 || type == 2 || list[root] == me;

			x = (pami_xfer_t){.cb_done = flag_done};
			if (type == 1)
				x.cmd.xfer_reduce = (pami_reduce_t){get_endpoint(list[root], 0),
								    (char *)in,
								    *w->type,
								    count,
								    (char *)out,
								    *w->type,
								    count,
								    *w->op,
								    NULL,
								    1};
			else if (type == 0)
				x.cmd.xfer_allreduce = (pami_allreduce_t){
				    (char *)in, *w->type, count, (char *)out, *w->type, count,
				    *w->op,     NULL,     1};
			else { /* in place */
				memcpy(out, in, count * w->size);
				x.cmd.xfer_allreduce = (pami_allreduce_t){
				    PAMI_IN_PLACE, *w->type, count, (char *)out, *w->type, count,
				    *w->op,        NULL,     1};
			}
			start_collective(g, type == 1 ? PAMI_XFER_REDUCE : PAMI_XFER_ALLREDUCE, &x,
					 &done);
			WAIT(done);
			if (mine)
				CHECK(!memcmp(out, expected, count * w->size));
			CHECK_EQ(out[count * w->size], 0xee);
		}
	}
}

static void check_broadcasts(pami_geometry_t g, const pami_task_t *list, size_t members,
			     size_t bytes)
{
	for (size_t r = 0; r < 3; r++) {
		size_t root = (r * 5 + bytes) % members;
		pami_xfer_t x = {.cb_done = flag_done};
		int done = 0;

		memset(out, 0xee, sizeof out);
		if (list[root] == me)
			fill_pattern(out, 17 + r, bytes);
		x.cmd.xfer_broadcast = (pami_broadcast_t){get_endpoint(list[root], 0), (char *)out,
							  PAMI_TYPE_BYTE, bytes};
		start_collective(g, PAMI_XFER_BROADCAST, &x, &done);
		WAIT(done);
		CHECK_EQ(count_different(out, 17 + r, bytes), 0);
		CHECK_EQ(out[bytes], 0xee);
	}
}

static void check_barriers(pami_geometry_t g, int count)
{
	for (int i = 0; i < count; i++) {
		pami_xfer_t x = {.cb_done = flag_done};
		int done = 0;

		start_collective(g, PAMI_XFER_BARRIER, &x, &done);
		WAIT(done);
	}
}

static void use_geometry(pami_geometry_t g, const pami_task_t *list, size_t members)
{
	static const size_t sizes[] = {8, 504, 512, 520, 4096, BYTES_MAX};

	check_barriers(g, 7);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i += few ? 4 : 1)
		check_reductions(g, list, members, sizes[i]);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i += few ? 4 : 1)
		check_broadcasts(g, list, members, sizes[i] - 3);
}

/* On the trees of the rectangle broadcast, from every member. */
static void check_rectangle(pami_geometry_t g, pami_algorithm_t a, size_t members)
{
	static const size_t sizes[] = {1, 5000, BYTES_MAX};

	for (size_t root = 0; root < members; root++)
		for (size_t i = few; i < 3; i++) {
			pami_xfer_t x = {.algorithm = a, .cb_done = flag_done};
			int done = 0;

			x.cookie = &done;
			memset(out, 0xee, sizeof out);
			if (root == me)
				fill_pattern(out, root + i, sizes[i]);
			x.cmd.xfer_broadcast = (pami_broadcast_t){
			    get_endpoint(root, 0), (char *)out, PAMI_TYPE_BYTE, sizes[i]};
			CHECK_EQ(PAMI_Collective(context, &x), PAMI_SUCCESS);
			WAIT(done);
			CHECK_EQ(count_different(out, root + i, sizes[i]), 0);
			CHECK_EQ(out[sizes[i]], 0xee);
		}
	check_barriers(g, 1);
}

static pami_geometry_t create_geometry(pami_task_t *list, size_t count, unsigned id, int optimize);
static void destroy_geometry(pami_geometry_t *g);
static pami_task_t everybody[1024];

/* The world's, and those of a box: the first two thirds of three rows along A (argument boxes). */
static void rectangles_broadcast(void)
{
	size_t part = boxes ? tasks / 3 * 2 : 0;
	pami_geometry_t world, all = create_geometry(everybody, tasks, 50, 1), g = NULL;
	pami_algorithm_t a, b;

	if (me < part)
		g = create_geometry(everybody, part, 51, 1);
	CHECK_EQ(PAMI_Geometry_world(client, &world), PAMI_SUCCESS);
	CHECK_EQ(is_offered(world, PAMI_XFER_BROADCAST, ":Rectangle:", &a), has_routers());
	CHECK_EQ(is_offered(all, PAMI_XFER_BROADCAST, ":Rectangle:", &b), has_routers());
	if (has_routers()) {
		check_rectangle(world, a, tasks);
		check_rectangle(all, b, tasks);
	}
	if (g && has_routers()) {
		CHECK_EQ(is_offered(g, PAMI_XFER_BROADCAST, ":Rectangle:", &b), 1);
		check_rectangle(g, b, part);
		destroy_geometry(&g);
	}
	run_barrier();
	if (has_routers())
		check_rectangle(world, a, tasks);
	destroy_geometry(&all);
}

/* ---- Which geometries ---- */

static void all_nodes(void)
{
	pami_geometry_t g = create_geometry(everybody, tasks, 1, 1), world;
	pami_algorithm_t a;

	CHECK_EQ(PAMI_Geometry_world(client, &world), PAMI_SUCCESS);
	CHECK_EQ(is_offered(world, PAMI_XFER_ALLREDUCE, ":ClassRoute:", &a), has_routers());
	CHECK_EQ(is_offered(world, PAMI_XFER_BARRIER, ":GI:", &a), has_routers());
	CHECK_EQ(is_optimized(g), has_routers());
	CHECK_EQ(is_offered(g, PAMI_XFER_ALLREDUCE, ":ClassRoute:", &a), has_routers());
	use_geometry(world, everybody, tasks);
	use_geometry(g, everybody, tasks);
	update_geometry(g, 0);
	CHECK_EQ(is_optimized(g), 0);
	CHECK_EQ(is_offered(g, PAMI_XFER_ALLREDUCE, ":ClassRoute:", &a), 0);
	use_geometry(g, everybody, tasks);
	update_geometry(g, 1);
	CHECK_EQ(is_optimized(g), has_routers());
	use_geometry(g, everybody, tasks);
	destroy_geometry(&g);
}

/* Members in another order, and without some. */
static void some_tasks(void)
{
	pami_task_t list[1024];
	pami_geometry_t g;
	size_t n = 0;

	for (size_t t = tasks; t-- > 0;)
		if (t != 1)
			list[n++] = (pami_task_t)t;
	if (me == 1 || n < 2)
		return;
	g = create_geometry(list, n, 2, 1);
	use_geometry(g, list, n);
	destroy_geometry(&g);
}

/* More than there are routes: some go without, all work, and what is given back can be had. */
static void routes_run_out_and_come_back(void)
{
	pami_geometry_t g[GEOMETRIES];
	unsigned with = 0, again = 0, first_with = GEOMETRIES, first_without = GEOMETRIES;

	for (unsigned i = 0; i < GEOMETRIES; i++) {
		g[i] = create_geometry(everybody, tasks, 10 + i, 1);
		with += (unsigned)is_optimized(g[i]);
		if (is_optimized(g[i]) && first_with == GEOMETRIES)
			first_with = i;
		if (!is_optimized(g[i]) && first_without == GEOMETRIES)
			first_without = i;
	}
	CHECK_EQ(with, has_routers() ? 13 : 0); /* 16 less the world's and two of the system's */
	for (unsigned i = 0; i < GEOMETRIES; i++) {
		check_reductions(g[i], everybody, tasks, 64);
		check_barriers(g[i], 2);
	}
	if (has_routers()) { /* moved from one to another on request */
		update_geometry(g[first_without], 1);
		CHECK_EQ(is_optimized(g[first_without]), 0);
		update_geometry(g[first_with], 0);
		update_geometry(g[first_without], 1);
		CHECK_EQ(is_optimized(g[first_without]), 1);
		check_reductions(g[first_without], everybody, tasks, 1024);
		check_reductions(g[first_with], everybody, tasks, 1024);
	}
	for (unsigned i = 0; i < GEOMETRIES; i++)
		destroy_geometry(&g[i]);
	for (unsigned i = 0; i < 13; i++) {
		g[i] = create_geometry(everybody, tasks, 10 + i, 1);
		again += (unsigned)is_optimized(g[i]);
	}
	CHECK_EQ(again, has_routers() ? 13 : 0);
	for (unsigned i = 0; i < 13; i++)
		destroy_geometry(&g[i]);
}

/* Operations on three geometries of the same members, begun by each in an order of its own. */
static void geometries_overlap(void)
{
	static double a[3][8][600], b[3][8][600];
	pami_geometry_t g[3];
	int done = 0;

	for (unsigned i = 0; i < 3; i++)
		g[i] = create_geometry(everybody, tasks, 30 + i, 1);
	for (unsigned round = 0; round < 8; round++)
		for (unsigned i = 0; i < 3; i++) {
			unsigned k = (unsigned)((i + me + round * me) % 3);
			size_t count = round % 2 ? 600 : 5;
			pami_xfer_t x = {.cb_done = flag_done};

			for (size_t j = 0; j < count; j++)
				a[k][round][j] = (double)(me * (k + 1) + j + round);
			x.cmd.xfer_allreduce = (pami_allreduce_t){(char *)a[k][round],
								  PAMI_TYPE_DOUBLE,
								  count,
								  (char *)b[k][round],
								  PAMI_TYPE_DOUBLE,
								  count,
								  PAMI_DATA_SUM,
								  NULL,
								  1};
			start_collective(g[k], PAMI_XFER_ALLREDUCE, &x, &done);
		}
	WAIT(done == 24);
	for (unsigned k = 0; k < 3; k++)
		for (unsigned round = 0; round < 8; round++)
			for (size_t j = 0; j < (round % 2 ? 600 : 5); j++)
				if (b[k][round][j] != (double)(tasks * (tasks - 1) / 2 * (k + 1) +
							       tasks * (j + round))) {
					CHECK(b[k][round][j] == tasks * (tasks - 1) / 2 * (k + 1) +
								    tasks * (j + round));
					break;
				}
	for (unsigned i = 0; i < 3; i++)
		destroy_geometry(&g[i]);
}

/*
 * A row of all kinds under way at once, from roots in turn: members with nothing to wait for run
 * ahead of the others, short and long data follow each other.
 */
enum { ROW = 24 };

static void run_row(pami_geometry_t g, size_t count_long)
{
	static double a[ROW][2200], b[ROW][2200];
	int done = 0;

	for (size_t i = 0; i < ROW; i++) {
		size_t count = i % 5 == 1 ? count_long : i % 3 + 1, root = i * 3 % tasks;
		pami_xfer_t x = {.cb_done = flag_done};

		for (size_t j = 0; j < count; j++) {
			a[i][j] = (double)(me * (i + 1) + j);
			b[i][j] = i % 4 == 1 && root == me ? (double)(i * j) : -1;
		}
		switch (i % 4) {
		case 0:
			x.cmd.xfer_reduce = (pami_reduce_t){get_endpoint(root, 0),
							    (char *)a[i],
							    PAMI_TYPE_DOUBLE,
							    count,
							    (char *)b[i],
							    PAMI_TYPE_DOUBLE,
							    count,
							    PAMI_DATA_SUM,
							    NULL,
							    1};
			start_collective(g, PAMI_XFER_REDUCE, &x, &done);
			break;
		case 1:
			x.cmd.xfer_broadcast = (pami_broadcast_t){
			    get_endpoint(root, 0), (char *)b[i], PAMI_TYPE_DOUBLE, count};
			start_collective(g, PAMI_XFER_BROADCAST, &x, &done);
			break;
		case 2:
			x.cmd.xfer_allreduce = (pami_allreduce_t){(char *)a[i],
								  PAMI_TYPE_DOUBLE,
								  count,
								  (char *)b[i],
								  PAMI_TYPE_DOUBLE,
								  count,
								  PAMI_DATA_MAX,
								  NULL,
								  1};
			start_collective(g, PAMI_XFER_ALLREDUCE, &x, &done);
			break;
		default:
			if (i > 12) { /* before, nothing holds anybody back */
				start_collective(g, PAMI_XFER_BARRIER, &x, &done);
				break;
			}
			x.cmd.xfer_broadcast = (pami_broadcast_t){
			    get_endpoint(root, 0), (char *)a[i], PAMI_TYPE_DOUBLE, 1};
			start_collective(g, PAMI_XFER_BROADCAST, &x, &done);
		}
	}
	WAIT(done == ROW);
	for (size_t i = 0; i < ROW; i++)
		for (size_t j = 0; j < (i % 5 == 1 ? count_long : i % 3 + 1); j++) {
			size_t root = i * 3 % tasks;
			double expect =
			    i % 4 == 0   ? (double)(tasks * (tasks - 1) / 2 * (i + 1) + tasks * j)
			    : i % 4 == 1 ? (double)(i * j)
					 : (double)((tasks - 1) * (i + 1) + j);

			if (i % 4 == 3 || (i % 4 == 0 && root != me))
				break;
			if (b[i][j] != expect) {
				CHECK(b[i][j] == expect);
				printf("task %zu, %zu of the row, element %zu\n", (size_t)me, i, j);
				break;
			}
		}
}

static void rows_of_collectives_complete(void)
{
	pami_geometry_t world, g = create_geometry(everybody, tasks, 60, 1);

	CHECK_EQ(PAMI_Geometry_world(client, &world), PAMI_SUCCESS);
	run_row(world, 70);
	run_row(g, 2200);
	run_row(g, 1100);
	run_row(world, 2200);
	destroy_geometry(&g);
}

/* Sums that depend on the order: the same bits on all members and every time. */
static void same_bits(void)
{
	pami_geometry_t world;
	double mine[700], sum[700], before[700];
	pami_xfer_t x;
	int done;

	CHECK_EQ(PAMI_Geometry_world(client, &world), PAMI_SUCCESS);
	for (size_t i = 0; i < 700; i++)
		mine[i] = (double)(me * 7919 + i * 104729 % 1000) * 1e-3 * (me % 2 ? 1e10 : 1e-7);
	for (int round = 0; round < 4; round++) {
		x = (pami_xfer_t){.cb_done = flag_done};
		x.cmd.xfer_allreduce = (pami_allreduce_t){(char *)mine,
							  PAMI_TYPE_DOUBLE,
							  700,
							  (char *)sum,
							  PAMI_TYPE_DOUBLE,
							  700,
							  PAMI_DATA_SUM,
							  NULL,
							  1};
		done = 0;
		start_collective(world, PAMI_XFER_ALLREDUCE, &x, &done);
		WAIT(done);
		if (round)
			CHECK(!memcmp(before, sum, sizeof sum));
		memcpy(before, sum, sizeof sum);
	}
	memcpy(out, sum, sizeof sum); /* task 0's */
	x = (pami_xfer_t){.cb_done = flag_done};
	x.cmd.xfer_broadcast =
	    (pami_broadcast_t){get_endpoint(0, 0), (char *)out, PAMI_TYPE_BYTE, sizeof sum};
	done = 0;
	start_collective(world, PAMI_XFER_BROADCAST, &x, &done);
	WAIT(done);
	CHECK(!memcmp(out, sum, sizeof sum));
}

/* The world of a client after another's: the class route goes on where that one left it. */
static void client_again(void)
{
	pami_client_t keep; /* the job is not left meanwhile */
	pami_geometry_t world;
	int had = has_routers();

	CHECK_EQ(PAMI_Geometry_world(client, &world), PAMI_SUCCESS);
	run_row(world, 70);
	check_barriers(world, 2);
	CHECK_EQ(PAMI_Client_create("keep", &keep, NULL, 0), PAMI_SUCCESS);
	for (int i = 0; i < 64 && (!i || has_routers() != had);
	     i++) { /* until it is its turn among the clients again */
		CHECK_EQ(job_end(1), 0);
		job_begin(1);
	}
	CHECK_EQ(has_routers(), had);
	CHECK_EQ(PAMI_Client_destroy(&keep), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Geometry_world(client, &world), PAMI_SUCCESS);
	check_barriers(world, 2);
	run_row(world, 70);
}

/* ---- Where tasks may not read each other ---- */

/* As the filters of containers do; from now on, of this process. */
static void refuse_calls(int error)
{
	struct sock_filter rules[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
	struct iovec none = {NULL, 0};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		fprintf(stderr, "no filter for system calls: not tested that reads are refused\n");
		return;
	}
	CHECK(process_vm_readv(getpid(), &none, 1, &none, 1, 0) < 0 && errno == error);
}

int main(int argc, char **argv)
{
	const char *refused = getenv("QT_REFUSE");

	few = argc > 1 && !strcmp(argv[1], "few");
	boxes = argc > 2 && !strcmp(argv[2], "boxes");
	job_begin(1);
	if (refused && (!strstr(refused, "odd") || me % 2))
		refuse_calls(atoi(refused));
	for (size_t t = 0; t < tasks; t++)
		everybody[t] = (pami_task_t)t;
	client_again();
	all_nodes();
	some_tasks();
	run_barrier();
	routes_run_out_and_come_back();
	rectangles_broadcast();
	geometries_overlap();
	rows_of_collectives_complete();
	same_bits();
	run_barrier();
	return job_end(1);
}
