/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Geometries of every kind made and ended by the thousand (two tasks on a host: by the ten
 * thousand) without leaving anything behind, ids used again with and without ending, class routes
 * too where there are routers; what must be refused; active-message collectives, also when the
 * message comes before the dispatch is set. Argument "virtual" does fewer; QT_ROUNDS: so many.
 */
#include <malloc.h>
#include <unistd.h>

#include "tests/harness/pami_job.h"

#if defined(__SANITIZE_THREAD__) ||                                                                \
    defined(__SANITIZE_ADDRESS__) /* slower, and they keep what is freed */
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static int made;

static void on_made(pami_context_t c, void *cookie, pami_result_t result)
{
	CHECK(c == context);
	CHECK_EQ(result, PAMI_SUCCESS);
	made++;
}

static pami_geometry_t create_geometry(unsigned id)
{
	static pami_geometry_range_t all;
	pami_geometry_t g = PAMI_GEOMETRY_NULL;

	all = (pami_geometry_range_t){0, (pami_task_t)(tasks - 1)};
	made = 0;
	CHECK_EQ(PAMI_Geometry_create_taskrange(client, 0, NULL, 0, &g, PAMI_GEOMETRY_NULL, id,
						&all, 1, context, on_made, NULL),
		 PAMI_SUCCESS);
	CHECK(g != PAMI_GEOMETRY_NULL);
	WAIT(made);
	return g;
}

static void destroy_geometry(pami_geometry_t *g)
{
	made = 0;
	CHECK_EQ(PAMI_Geometry_destroy(client, g, context, on_made, NULL), PAMI_SUCCESS);
	CHECK(*g == PAMI_GEOMETRY_NULL);
	WAIT(made);
}

static pami_algorithm_t first_algorithm(pami_geometry_t g, pami_xfer_type_t type)
{
	pami_algorithm_t a = PAMI_ALGORITHM_NULL;

	CHECK_EQ(PAMI_Geometry_algorithms_query(g, type, &a, NULL, 1, NULL, NULL, 0), PAMI_SUCCESS);
	return a;
}

static void use_geometry(pami_geometry_t g)
{
	pami_xfer_t x = {.algorithm = first_algorithm(g, PAMI_XFER_ALLREDUCE)};
	long mine = (long)me + 1, sum = 0;

	x.cmd.xfer_allreduce = (pami_allreduce_t){(char *)&mine,
						  PAMI_TYPE_SIGNED_LONG,
						  1,
						  (char *)&sum,
						  PAMI_TYPE_SIGNED_LONG,
						  1,
						  PAMI_DATA_SUM,
						  NULL,
						  1};
	run_collective(&x);
	CHECK_EQ(sum, tasks * (tasks + 1) / 2);
}

/* ---- Every kind, again and again ---- */

enum { RANGE, LIST, ENDPOINTS, PARENT, COLOUR, KINDS };

static void advance_both(void)
{
	PAMI_Context_advancev(contexts, 2, 50);
}

/*
 * All tasks: as a range, as a list backwards, as endpoints of both contexts in turn, as the members
 * of a parent in one call by all; by colour: even and odd ones, of the same parent, at the same
 * time. NULL: not of it (nobody).
 */
static pami_geometry_t create_kind(int kind, unsigned id, int optimize)
{
	pami_geometry_range_t all = {0, (pami_task_t)(tasks - 1)};
	pami_configuration_t conf = {.name = PAMI_GEOMETRY_OPTIMIZE};
	pami_geometry_t g = PAMI_GEOMETRY_NULL, world;
	pami_endpoint_t ends[32];
	pami_task_t list[32];
	size_t n = 0;

	conf.value.intval = (size_t)optimize;
	made = 0;
	CHECK_EQ(PAMI_Geometry_world(client, &world), PAMI_SUCCESS);
	switch (kind) {
	case RANGE:
	case PARENT:
		CHECK_EQ(PAMI_Geometry_create_taskrange(client, 0, &conf, 1, &g,
							kind == PARENT ? world : PAMI_GEOMETRY_NULL,
							id, &all, 1, context, on_made, NULL),
			 PAMI_SUCCESS);
		break;
	case ENDPOINTS:
		for (size_t t = 0; t < tasks; t++)
			ends[n++] = get_endpoint(t, (t + id) % 2);
		CHECK_EQ(PAMI_Geometry_create_endpointlist(client, NULL, 0, &g, id, ends, n,
							   context, on_made, NULL),
			 PAMI_SUCCESS);
		break;
	default:
		for (size_t t = tasks; t-- > 0;)
			if (kind == LIST || t % 2 == me % 2)
				list[n++] = (pami_task_t)t;
		CHECK_EQ(PAMI_Geometry_create_tasklist(client, 0, &conf, 1, &g,
						       kind == COLOUR ? world : PAMI_GEOMETRY_NULL,
						       id + (kind == COLOUR ? (unsigned)me % 2 : 0),
						       list, n, context, on_made, NULL),
			 PAMI_SUCCESS);
	}
	CHECK(g != PAMI_GEOMETRY_NULL);
	while (!made)
		advance_both();
	return g;
}

/* A sum on it, from the context that is a member. */
static void use_kind(pami_geometry_t g, int kind, unsigned id)
{
	pami_context_t c = contexts[kind == ENDPOINTS ? (me + id) % 2 : 0];
	long mine = (long)me + 1, sum = 0, expected = 0;
	pami_xfer_t x = {.algorithm = first_algorithm(g, PAMI_XFER_ALLREDUCE),
			 .cb_done = flag_done};
	int done = 0;

	for (size_t t = 0; t < tasks; t++)
		if (kind != COLOUR || t % 2 == me % 2)
			expected += (long)t + 1;
	x.cookie = &done;
	x.cmd.xfer_allreduce = (pami_allreduce_t){(char *)&mine,
						  PAMI_TYPE_SIGNED_LONG,
						  1,
						  (char *)&sum,
						  PAMI_TYPE_SIGNED_LONG,
						  1,
						  PAMI_DATA_SUM,
						  NULL,
						  1};
	CHECK_EQ(PAMI_Collective(c, &x), PAMI_SUCCESS);
	while (!done)
		advance_both();
	CHECK_EQ(sum, expected);
}

static int is_optimized(pami_geometry_t g)
{
	pami_configuration_t q = {.name = PAMI_GEOMETRY_OPTIMIZE};

	CHECK_EQ(PAMI_Geometry_query(g, &q, 1), PAMI_SUCCESS);
	return q.value.intval != 0;
}

/* Bytes of memory this process has pages for. */
static size_t resident_bytes(void)
{
	size_t pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%*u %zu", &pages) != 1)
		CHECK(0);
	if (f)
		fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void geometries_do_not_leak(int rounds)
{
	pami_geometry_t g;
	pami_algorithm_t old = PAMI_ALGORITHM_NULL;
	pami_xfer_t x = {0};
	size_t before = 0, after, pages = 0, more;
	int hardware = -1;

	for (int i = 0; i < rounds; i++) {
		unsigned id = 1 + (unsigned)i % 3 * 2;
		int kind = i % KINDS, optimize = i % 64 < KINDS;

		g = create_kind(kind, id, optimize);
		if (kind == RANGE && optimize) { /* the class route came back */
			hardware = hardware < 0 ? is_optimized(g) : hardware;
			CHECK_EQ(is_optimized(g), hardware);
		}
		if (i % 16 < 2)
			use_kind(g, kind, id);
		old = first_algorithm(g, PAMI_XFER_BARRIER);
		made = 0;
		CHECK_EQ(PAMI_Geometry_destroy(client, &g, context, on_made, NULL), PAMI_SUCCESS);
		CHECK(g == PAMI_GEOMETRY_NULL);
		while (!made)
			advance_both();
		if (i == rounds / 2) { /* every ring has had its first lap by then */
			before = mallinfo2().uordblks;
			pages = resident_bytes();
		}
	}
	after = mallinfo2().uordblks;
	more = resident_bytes();
	/* One geometry is more than a thousand bytes; slabs of requests come as they are needed, up
	 * to 130 KiB. */
	if (after > before + 200000 + 20 * (size_t)rounds)
		CHECK_EQ(after - before, 0);
	/* The outbound ring's first lap alone is 2 MiB, other rings and what came early to a late
	 * task as much again. */
	if (!SANITIZED && more > pages + (6u << 20) + 20 * (size_t)rounds)
		CHECK_EQ(more - pages, 0);
	x.algorithm = old; /* it named what is gone */
	CHECK_EQ(PAMI_Collective(context, &x), PAMI_INVAL);
	for (int i = 0; i < rounds / 10; i++) /* the same id, never ended */
		g = create_geometry(7);
	use_geometry(g);
	destroy_geometry(&g);
}

static void wrong_geometries_are_refused(void)
{
	pami_geometry_t g = PAMI_GEOMETRY_NULL;
	pami_geometry_range_t r = {0, (pami_task_t)tasks}, upside = {1, 0},
			      all = {0, (pami_task_t)(tasks - 1)};
	pami_task_t twice[2] = {0, 0};
	pami_endpoint_t nobody = PAMI_ENDPOINT_NULL;

#define RANGE(id, range, n, parent, offset)                                                        \
	PAMI_Geometry_create_taskrange(client, offset, NULL, 0, &g, parent, id, range, n, context, \
				       on_made, NULL)
	CHECK_EQ(RANGE(0, &all, 1, PAMI_GEOMETRY_NULL, 0), PAMI_INVAL);
	CHECK_EQ(RANGE(1, &r, 1, PAMI_GEOMETRY_NULL, 0), PAMI_INVAL);
	CHECK_EQ(RANGE(1, &upside, 1, PAMI_GEOMETRY_NULL, 0), PAMI_INVAL);
	CHECK_EQ(RANGE(1, &all, 0, PAMI_GEOMETRY_NULL, 0), PAMI_INVAL);
	CHECK_EQ(RANGE(1, &all, 1, PAMI_GEOMETRY_NULL, 63), PAMI_INVAL);
	CHECK_EQ(PAMI_Geometry_create_tasklist(client, 0, NULL, 0, &g, PAMI_GEOMETRY_NULL, 1, twice,
					       2, context, on_made, NULL),
		 PAMI_INVAL);
	CHECK_EQ(PAMI_Geometry_create_endpointlist(client, NULL, 0, &g, 1, &nobody, 1, context,
						   on_made, NULL),
		 PAMI_INVAL);
	CHECK(g == PAMI_GEOMETRY_NULL);
	CHECK_EQ(PAMI_Geometry_destroy(client, &g, context, NULL, NULL), PAMI_INVAL);
}

/* ---- Active messages ---- */

enum { BYTES_MAX = 40000 };
static unsigned char in[2 * BYTES_MAX];
static long contribution[8];
static int dispatched, received;
static size_t am_bytes, initiator;
/* The geometry's members: context 0 of all, or (mixed) contexts in turn. Layout of data: bytes, or
 * every second one. */
static int mixed;
static size_t stride = 1;
static pami_type_t every_second;

static size_t offset_of(size_t task)
{
	return mixed ? (task + 1) % 2 : 0;
}

static pami_context_t own_context(void)
{
	return contexts[offset_of(me)];
}

static pami_type_t layout_of_data(void)
{
	return stride == 1 ? PAMI_TYPE_BYTE : every_second;
}

static void make_layout(void)
{
	CHECK_EQ(PAMI_Type_create(&every_second), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_add_simple(every_second, 1, 0, 1, 2), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_complete(every_second, 1), PAMI_SUCCESS);
}

/* Contents of `bytes` bytes in the layout; what lies between them is 0xee, before and after. */
static void fill_layout(unsigned char *p, size_t seed, size_t bytes)
{
	memset(p, 0xee, bytes * stride);
	for (size_t i = 0; i < bytes; i++)
		p[i * stride] = pattern_byte(seed, i);
}

static size_t differ_layout(const unsigned char *p, size_t seed, size_t bytes)
{
	size_t bad = 0;

	for (size_t i = 0; i < bytes; i++)
		bad +=
		    p[i * stride] != pattern_byte(seed, i) || (stride == 2 && p[i * 2 + 1] != 0xee);
	return bad;
}

static void on_received(pami_context_t c, void *cookie, pami_result_t result)
{
	CHECK(c == own_context());
	CHECK_EQ(result, PAMI_SUCCESS);
	received++;
}

static void check_header(const void *header, size_t size, size_t whose, pami_endpoint_t origin,
			 pami_recv_t *recv)
{
	CHECK_EQ(size, 24);
	CHECK_EQ(count_different(header, whose + 5, 24), 0);
	CHECK_EQ(origin, get_endpoint(initiator, offset_of(initiator)));
	dispatched++;
	memset(recv, 0, sizeof *recv);
	recv->cookie = &received;
	recv->local_fn = on_received;
	recv->type = layout_of_data();
}

static void on_broadcast(pami_context_t c, void *cookie, const void *header, size_t size,
			 const void *pipe, size_t bytes, pami_endpoint_t origin, pami_geometry_t g,
			 pami_recv_t *recv)
{
	CHECK(cookie == in && !pipe && recv);
	CHECK_EQ(bytes, am_bytes);
	check_header(header, size, 0, origin, recv);
	recv->addr = in;
}

static void on_scatter(pami_context_t c, void *cookie, const void *header, size_t size,
		       const void *pipe, size_t bytes, pami_endpoint_t origin, pami_geometry_t g,
		       pami_recv_t *recv)
{
	CHECK(cookie == in && !pipe && recv);
	CHECK_EQ(bytes, am_bytes);
	check_header(header, size, me, origin, recv);
	recv->addr = in;
}

static void on_gather(pami_context_t c, void *cookie, const void *header, size_t size, size_t bytes,
		      pami_endpoint_t origin, pami_geometry_t g, pami_recv_t *send)
{
	CHECK_EQ(bytes, am_bytes);
	check_header(header, size, me, origin, send);
	fill_layout(in, me + 40, bytes);
	send->addr = in;
}

static void on_reduce(pami_context_t c, void *cookie, const void *header, size_t size, size_t bytes,
		      pami_endpoint_t origin, pami_geometry_t g, pami_data_function *op,
		      pami_recv_t *send)
{
	CHECK_EQ(bytes, sizeof contribution);
	check_header(header, size, 0, origin, send);
	for (int i = 0; i < 8; i++)
		contribution[i] = (long)me + i;
	*op = PAMI_DATA_SUM;
	send->addr = (char *)contribution;
	send->type = PAMI_TYPE_SIGNED_LONG;
}

static void set_dispatch(pami_geometry_t g, pami_xfer_type_t type,
			 pami_dispatch_callback_function fn)
{
	pami_collective_hint_t hint;

	memset(&hint, 0xff, sizeof hint);
	CHECK_EQ(PAMI_AMCollective_dispatch_set(own_context(), first_algorithm(g, type), 9, fn, in,
						hint),
		 PAMI_SUCCESS);
}

static int initiator_done;

static void fail_if_called(pami_context_t c, void *cookie, pami_result_t result)
{
	CHECK(0);
}

static void run_active(pami_geometry_t g, size_t bytes, int late)
{
	unsigned char headers[24 * 32], *data = malloc(tasks * bytes * 2 + 1),
					*got = malloc(tasks * bytes * 2 + 1);
	pami_xfer_type_t type[4] = {PAMI_XFER_AMBROADCAST, PAMI_XFER_AMSCATTER, PAMI_XFER_AMGATHER,
				    PAMI_XFER_AMREDUCE};
	pami_dispatch_callback_function fn[4] = {{.ambroadcast = on_broadcast},
						 {.amscatter = on_scatter},
						 {.amgather = on_gather},
						 {.amreduce = on_reduce}};

	for (size_t t = 0; t < tasks; t++) {
		fill_pattern(headers + 24 * t, t + 5, 24);
		fill_layout(data + t * bytes * stride, t + 70, bytes);
	}
	for (int k = 0; k < 4; k++) {
		pami_xfer_t x = {.cb_done = k ? fail_if_called : flag_done,
				 .cookie = &initiator_done,
				 .algorithm = first_algorithm(g, type[k])};
		long sums[8];

		am_bytes = bytes;
		if (!late || me == initiator)
			set_dispatch(g, type[k], fn[k]);
		dispatched = received = initiator_done = 0;
		memset(in, 0xee, sizeof in);
		memset(got, 0xee, tasks * bytes * stride);
		run_barrier(); /* from here on the message may come */
		if (k == 0)
			x.cmd.xfer_ambroadcast =
			    (pami_ambroadcast_t){9, headers, 24, data, layout_of_data(), bytes};
		else if (k == 1)
			x.cmd.xfer_amscatter =
			    (pami_amscatter_t){9, headers, 24, data, layout_of_data(), bytes};
		else if (k == 2)
			x.cmd.xfer_amgather =
			    (pami_amgather_t){9, headers, 24, got, layout_of_data(), bytes};
		else
			x.cmd.xfer_amreduce = (pami_amreduce_t){.dispatch = 9,
								.user_header = headers,
								.headerlen = 24,
								.rcvbuf = sums,
								.rtype = PAMI_TYPE_BYTE,
								.rtypecount = sizeof sums};
		if (me == initiator) {
			CHECK_EQ(PAMI_Collective(own_context(), &x), PAMI_SUCCESS);
			CHECK(!dispatched && !received && !initiator_done);
		}
		if (late && me != initiator) {
			for (int i = 0; i < 20; i++)
				run_barrier(); /* the message comes meanwhile, or not */
			CHECK_EQ(dispatched, 0);
			set_dispatch(g, type[k], fn[k]);
		} else if (late) {
			for (int i = 0; i < 20; i++)
				run_barrier();
		}
		while (!(k == 0 && me == initiator ? initiator_done : received))
			advance_both();
		CHECK_EQ(dispatched, k || me != initiator);
		if (k == 0 && me != initiator)
			CHECK_EQ(differ_layout(in, 70, bytes), 0);
		if (k == 1)
			CHECK_EQ(differ_layout(in, me + 70, bytes), 0);
		for (size_t t = 0; k == 2 && me == initiator && t < tasks; t++)
			CHECK_EQ(differ_layout(got + t * bytes * stride, t + 40, bytes), 0);
		for (size_t i = 0; k == 3 && me == initiator && i < 8; i++)
			CHECK_EQ(sums[i], tasks * (tasks - 1) / 2 + tasks * i);
		run_barrier();
	}
	free(data);
	free(got);
}

int main(int argc, char **argv)
{
	int fewer = argc > 1 && !strcmp(argv[1], "virtual"), rounds;
	const char *many = getenv("QT_ROUNDS");
	static const size_t sizes[] = {0, 1, 300, 700, 40000};
	pami_geometry_t g, world;

	job_begin(2);
	if (tasks > 32)
		return 1;
	make_layout();
	wrong_geometries_are_refused();
	rounds = many    ? atoi(many)
		 : fewer ? 200
			 : (tasks == 2 ? 25000 : 2000) / (SANITIZED ? 5 : 1);
	geometries_do_not_leak(rounds);
	PAMI_Geometry_world(client, &world);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		initiator = i % tasks;
		run_active(world, sizes[i], 0);
		g = create_geometry(2);
		run_active(g, sizes[i], 1);
		destroy_geometry(&g);
		/* Contexts in turn, and layouts with gaps. */
		mixed = 1;
		stride = 2;
		g = create_kind(ENDPOINTS, 1, 0);
		run_active(g, sizes[i], (int)i % 2);
		made = 0;
		CHECK_EQ(PAMI_Geometry_destroy(client, &g, context, on_made, NULL), PAMI_SUCCESS);
		while (!made)
			advance_both();
		mixed = 0;
		stride = 1;
	}
	run_barrier();
	return job_end(2);
}
