/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives on the world geometry against serial results: barrier, broadcast from every root,
 * allreduce of every predefined pair of type and operation; sizes from nothing to rendezvous; in
 * place; several outstanding; long ones in a row; one task late; user functions in rank order; odd
 * layouts; garbage.
 */
#include "tests/harness/pami_job.h"

static void lists_of_algorithms_are_stable(void)
{
	pami_geometry_t world, again;
	size_t n[2];

	CHECK_EQ(PAMI_Geometry_world(client, &world), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Geometry_world(client, &again), PAMI_SUCCESS);
	CHECK(world == again && world != PAMI_GEOMETRY_NULL);
	CHECK_EQ(PAMI_Geometry_destroy(client, &world, context, NULL, NULL), PAMI_INVAL);
	for (int type = 0; type < PAMI_XFER_COUNT; type++) {
		pami_algorithm_t a = PAMI_ALGORITHM_NULL;
		pami_metadata_t m;

		n[0] = n[1] = 99;
		CHECK_EQ(PAMI_Geometry_algorithms_num(world, (pami_xfer_type_t)type, n),
			 PAMI_SUCCESS);
		CHECK(n[0] < 99 && n[1] < 99);
		if (!n[0])
			continue;
		CHECK_EQ(PAMI_Geometry_algorithms_query(world, (pami_xfer_type_t)type, &a, &m, 1,
							NULL, NULL, 0),
			 PAMI_SUCCESS);
		CHECK(a != PAMI_ALGORITHM_NULL);
		CHECK(m.name && !strncmp(m.name, "I0:", 3));
		CHECK(!m.check_correct.values.checkrequired && m.check_correct.values.inplace);
		CHECK_EQ(m.range_hi, -1);
	}
	CHECK_EQ(PAMI_Geometry_algorithms_num(world, PAMI_XFER_COUNT, n), PAMI_INVAL);
}

static void garbage_algorithms_are_refused(void)
{
	pami_algorithm_t good = get_algorithm(PAMI_XFER_BARRIER);

	for (int i = 0; i < 64; i++) {
		pami_xfer_t x = {.algorithm = good ^ (pami_algorithm_t)1 << i};

		if (i < 16)
			continue; /* may name another collective, or algorithm */
		CHECK_EQ(PAMI_Collective(context, &x), PAMI_INVAL);
	}
	CHECK_EQ(PAMI_Collective(context, &(pami_xfer_t){.algorithm = 0}), PAMI_INVAL);
}

/* No task leaves a barrier before the last one entered, which says so to all just before. */
static int said;

static void on_word(pami_context_t c, void *cookie, const void *header, size_t header_size,
		    const void *pipe, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv)
{
	said++;
}

static void barriers_hold_until_the_last_task(void)
{
	for (size_t late = 0; late < tasks; late++) {
		int before = said;

		run_barrier();
		if (me == late) {
			for (size_t t = 0; t < tasks; t++) {
				pami_send_immediate_t s = {.dispatch = 1,
							   .dest = get_endpoint(t, 0)};
				double start = PAMI_Wtime(client);

				if (!t)
					while (PAMI_Wtime(client) < start + 0.01)
						;
				CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
			}
		}
		run_barrier();
		/* Its word was sent before it entered, but only the barrier's own path orders them.
		 */
		WAIT(said > before);
	}
	for (int i = 0; i < 300; i++)
		run_barrier();
}

static void broadcasts_of_all_sizes_arrive(void)
{
	static const size_t sizes[] = {0, 1, 100, 496, 497, 5000, 8176, 8177, 300000};
	unsigned char *data = malloc(300000);

	for (size_t root = 0; root < tasks; root++)
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			pami_xfer_t x = {.algorithm = get_algorithm(PAMI_XFER_BROADCAST)};

			memset(data, 0x33, 300000);
			if (me == root)
				fill_pattern(data, root + i, sizes[i]);
			memset(&x.options, 0xff, sizeof x.options);
			x.cmd.xfer_broadcast = (pami_broadcast_t){
			    get_endpoint(root, 0), (char *)data, PAMI_TYPE_BYTE, sizes[i]};
			run_collective(&x);
			CHECK_EQ(count_different(data, root + i, sizes[i]), 0);
		}
	free(data);
}

/* The algorithm of that name where the world has it, else the default. */
static pami_algorithm_t find_algorithm_named(pami_xfer_type_t type, const char *name)
{
	pami_algorithm_t a[64];
	pami_metadata_t meta[64];
	pami_geometry_t world;
	size_t n[2];

	CHECK_EQ(PAMI_Geometry_world(client, &world), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Geometry_algorithms_num(world, type, n), PAMI_SUCCESS);
	CHECK(n[0] + n[1] <= 64);
	CHECK_EQ(
	    PAMI_Geometry_algorithms_query(world, type, a, meta, n[0], a + n[0], meta + n[0], n[1]),
	    PAMI_SUCCESS);
	for (size_t i = 0; i < n[0] + n[1]; i++)
		if (!strcmp(meta[i].name, name))
			return a[i];
	return get_algorithm(type);
}

/* Short ones in long rows: a root that need not wait for anybody runs ahead, and no word is written
 * over. */
static void rows_of_short(void)
{
	pami_algorithm_t lines = find_algorithm_named(PAMI_XFER_BROADCAST, "I0:Flat:Shmem:Store");

	for (size_t i = 0; i < 400; i++) {
		pami_xfer_t x = {.algorithm = lines};
		size_t root = i < 150 ? 0 : i < 300 ? tasks - 1 : i % tasks, bytes = i % 58;
		unsigned char data[64];

		memset(data, 0x33, sizeof data);
		if (me == root)
			fill_pattern(data, i, bytes);
		x.cmd.xfer_broadcast =
		    (pami_broadcast_t){get_endpoint(root, 0), (char *)data, PAMI_TYPE_BYTE, bytes};
		run_collective(&x);
		CHECK_EQ(count_different(data, i, bytes), 0);
		CHECK_EQ(data[bytes], 0x33);
		if (i % 97 == 96) {
			long one = (long)(me + i), sum = 0, want = 0;

			for (size_t t = 0; t < tasks; t++)
				want += (long)(t + i);
			x.algorithm = get_algorithm(PAMI_XFER_ALLREDUCE);
			x.cmd.xfer_allreduce = (pami_allreduce_t){.sndbuf = (char *)&one,
								  .stype = PAMI_TYPE_SIGNED_LONG,
								  .stypecount = 1,
								  .rcvbuf = (char *)&sum,
								  .rtype = PAMI_TYPE_SIGNED_LONG,
								  .rtypecount = 1,
								  .op = PAMI_DATA_SUM};
			run_collective(&x);
			CHECK_EQ(sum, want);
		}
	}
}

/* Into and out of layouts with gaps. */
static void layouts_with_gaps_are_kept(void)
{
	pami_type_t gaps;
	int values[40], sum[40];
	pami_xfer_t x = {.algorithm = get_algorithm(PAMI_XFER_BROADCAST)};

	CHECK_EQ(PAMI_Type_create(&gaps), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_add_typed(gaps, PAMI_TYPE_SIGNED_INT, 4, 1, 8), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_complete(gaps, 4), PAMI_SUCCESS);
	for (int i = 0; i < 40; i++)
		values[i] = me ? -1 : i;
	x.cmd.xfer_broadcast = (pami_broadcast_t){get_endpoint(0, 0), (char *)values, gaps, 13};
	run_collective(&x);
	for (int i = 0; i < 39; i++)
		CHECK_EQ(values[i], i % 3 == 1 || !me ? i : -1);
	x.algorithm = get_algorithm(PAMI_XFER_ALLREDUCE);
	for (int i = 0; i < 40; i++)
		sum[i] = -5;
	x.cmd.xfer_allreduce = (pami_allreduce_t){.sndbuf = (char *)values,
						  .stype = gaps,
						  .stypecount = 13,
						  .rcvbuf = (char *)sum,
						  .rtype = PAMI_TYPE_BYTE,
						  .rtypecount = 52,
						  .op = PAMI_DATA_SUM};
	run_collective(&x);
	for (int i = 0; i < 13; i++)
		CHECK_EQ(sum[i], (int)tasks * (3 * i + 1));
	CHECK_EQ(sum[13], -5);
	PAMI_Type_destroy(&gaps);
}

#define ELEMENTS 700

/* Element i of task t, small enough for products. */
static long value_of(size_t t, int i)
{
	return (long)((t * 7 + (size_t)i * 3) % 4) + 1;
}

#define REDUCE(type, name, function, expression)                                                   \
	do {                                                                                       \
		static type send[ELEMENTS], got[ELEMENTS];                                         \
		for (int inplace = 0; inplace < 3; inplace++) {                                    \
			int count = inplace ? ELEMENTS : 5;                                        \
			pami_xfer_t x = {.algorithm = get_algorithm(PAMI_XFER_ALLREDUCE)};         \
			for (int i = 0; i < ELEMENTS; i++)                                         \
				send[i] = got[i] = (type)value_of(me, i);                          \
			x.cmd.xfer_allreduce =                                                     \
			    (pami_allreduce_t){.sndbuf = inplace == 1 ? (char *)got                \
							 : inplace    ? (char *)PAMI_IN_PLACE      \
								      : (char *)send,                 \
					       .stype = name,                                      \
					       .stypecount = (size_t)count,                        \
					       .rcvbuf = (char *)got,                              \
					       .rtype = name,                                      \
					       .rtypecount = (size_t)count,                        \
					       .op = function};                                    \
			run_collective(&x);                                                        \
			for (int i = 0; i < count; i++) {                                          \
				type a = (type)value_of(0, i);                                     \
				for (size_t t = 1; t < tasks; t++) {                               \
					type b = (type)value_of(t, i);                             \
					a = (type)(expression);                                    \
				}                                                                  \
				CHECK(got[i] == (a));                                              \
			}                                                                          \
		}                                                                                  \
	} while (0)

#define REDUCE_ORDER(type, name)                                                                   \
	REDUCE(type, name, PAMI_DATA_MAX, a > b ? a : b);                                          \
	REDUCE(type, name, PAMI_DATA_MIN, a < b ? a : b);                                          \
	REDUCE(type, name, PAMI_DATA_SUM, a + b);                                                  \
	REDUCE(type, name, PAMI_DATA_PROD, a *b)
#define REDUCE_LOGIC(type, name)                                                                   \
	REDUCE(type, name, PAMI_DATA_LAND, a &&b);                                                 \
	REDUCE(type, name, PAMI_DATA_LOR, a || b);                                                 \
	REDUCE(type, name, PAMI_DATA_LXOR, !a != !b);                                              \
	REDUCE(type, name, PAMI_DATA_BAND, a &b);                                                  \
	REDUCE(type, name, PAMI_DATA_BOR, a | b);                                                  \
	REDUCE(type, name, PAMI_DATA_BXOR, a ^ b)

static void integers_reduce_exactly(void)
{
	REDUCE_ORDER(signed char, PAMI_TYPE_SIGNED_CHAR);
	REDUCE_LOGIC(signed char, PAMI_TYPE_SIGNED_CHAR);
	REDUCE_ORDER(unsigned char, PAMI_TYPE_UNSIGNED_CHAR);
	REDUCE_LOGIC(unsigned char, PAMI_TYPE_BYTE);
	REDUCE_ORDER(short, PAMI_TYPE_SIGNED_SHORT);
	REDUCE_LOGIC(unsigned short, PAMI_TYPE_UNSIGNED_SHORT);
	REDUCE_ORDER(int, PAMI_TYPE_SIGNED_INT);
	REDUCE_LOGIC(int, PAMI_TYPE_SIGNED_INT);
	REDUCE_ORDER(unsigned, PAMI_TYPE_UNSIGNED_INT);
	REDUCE_ORDER(long, PAMI_TYPE_SIGNED_LONG);
	REDUCE_LOGIC(unsigned long, PAMI_TYPE_UNSIGNED_LONG);
	REDUCE_ORDER(long long, PAMI_TYPE_SIGNED_LONG_LONG);
	REDUCE_ORDER(unsigned long long, PAMI_TYPE_UNSIGNED_LONG_LONG);
	REDUCE_LOGIC(uint32_t, PAMI_TYPE_LOGICAL4);
	REDUCE_LOGIC(uint64_t, PAMI_TYPE_LOGICAL8);
	REDUCE_ORDER(float, PAMI_TYPE_FLOAT);
	REDUCE_ORDER(double, PAMI_TYPE_DOUBLE);
	REDUCE_ORDER(long double, PAMI_TYPE_LONG_DOUBLE);
}

static void pairs_reduce_with_their_index(void)
{
	struct {
		double v;
		int i;
	} in[50], out[50];
	struct {
		float re, im;
	} c[20];
	pami_xfer_t x = {.algorithm = get_algorithm(PAMI_XFER_ALLREDUCE)};

	memset(in, 0, sizeof in);
	for (int i = 0; i < 50; i++) {
		in[i].v = value_of(me, i);
		in[i].i = (int)me;
	}
	x.cmd.xfer_allreduce = (pami_allreduce_t){.sndbuf = (char *)in,
						  .stype = PAMI_TYPE_LOC_DOUBLE_INT,
						  .stypecount = 50,
						  .rcvbuf = (char *)out,
						  .rtype = PAMI_TYPE_LOC_DOUBLE_INT,
						  .rtypecount = 50,
						  .op = PAMI_DATA_MAXLOC};
	run_collective(&x);
	for (int i = 0; i < 50; i++) {
		size_t best = 0;

		for (size_t t = 1; t < tasks; t++)
			if (value_of(t, i) > value_of(best, i))
				best = t;
		CHECK_EQ(out[i].i, best); /* ties: the lower index */
		CHECK(out[i].v == value_of(best, i));
	}
	for (int i = 0; i < 20; i++) {
		c[i].re = 1;
		c[i].im = i % 2 ? 1 : 0;
	}
	x.cmd.xfer_allreduce = (pami_allreduce_t){.sndbuf = (char *)c,
						  .stype = PAMI_TYPE_SINGLE_COMPLEX,
						  .stypecount = 20,
						  .rcvbuf = (char *)c,
						  .rtype = PAMI_TYPE_SINGLE_COMPLEX,
						  .rtypecount = 20,
						  .op = PAMI_DATA_SUM};
	run_collective(&x);
	CHECK(c[1].re == tasks);
	CHECK(c[1].im == tasks);
	x.cmd.xfer_allreduce.op = PAMI_DATA_MAX; /* not defined for complex numbers */
	x.cb_done = NULL;
	CHECK_EQ(PAMI_Collective(context, &x), PAMI_INVAL);
}

/* a user function that does not commute: 2x2 matrices modulo 251, in rank order */
static void matrix_product(void *target, void *source, size_t bytes, void *cookie)
{
	CHECK(cookie == &client);
	for (size_t k = 0; k + 16 <= bytes; k += 16) {
		int a[4], b[4], c[4];

		memcpy(a, (char *)target + k, 16);
		memcpy(b, (char *)source + k, 16);
		c[0] = (a[0] * b[0] + a[1] * b[2]) % 251;
		c[1] = (a[0] * b[1] + a[1] * b[3]) % 251;
		c[2] = (a[2] * b[0] + a[3] * b[2]) % 251;
		c[3] = (a[2] * b[1] + a[3] * b[3]) % 251;
		memcpy((char *)target + k, c, 16);
	}
}

static void user_function(void)
{
	int mine[4] = {(int)me + 1, 1, (int)me + 3, 2}, got[4], expected[4] = {1, 1, 3, 2};
	pami_xfer_t x = {.algorithm = get_algorithm(PAMI_XFER_ALLREDUCE)};

	x.cmd.xfer_allreduce = (pami_allreduce_t){.sndbuf = (char *)mine,
						  .stype = PAMI_TYPE_SIGNED_INT,
						  .stypecount = 4,
						  .rcvbuf = (char *)got,
						  .rtype = PAMI_TYPE_SIGNED_INT,
						  .rtypecount = 4,
						  .op = matrix_product,
						  .data_cookie = &client};
	run_collective(&x);
	for (size_t t = 1; t < tasks; t++) {
		int next[4] = {(int)t + 1, 1, (int)t + 3, 2};

		matrix_product(expected, next, 16, &client);
	}
	CHECK(!memcmp(got, expected, sizeof got));
}

static void several_outstanding(void)
{
	enum { N = 30 };
	static long values[N], got[N];
	static char data[N][20000];
	int done = 0;

	for (int i = 0; i < N; i++) {
		pami_xfer_t x = {.cb_done = flag_done, .cookie = &done};

		values[i] = (long)me + i;
		if (i % 3 == 0) {
			x.algorithm = get_algorithm(PAMI_XFER_ALLREDUCE);
			x.cmd.xfer_allreduce = (pami_allreduce_t){.sndbuf = (char *)&values[i],
								  .stype = PAMI_TYPE_SIGNED_LONG,
								  .stypecount = 1,
								  .rcvbuf = (char *)&got[i],
								  .rtype = PAMI_TYPE_SIGNED_LONG,
								  .rtypecount = 1,
								  .op = PAMI_DATA_SUM};
		} else if (i % 3 == 1) {
			x.algorithm = get_algorithm(PAMI_XFER_BROADCAST);
			if (me == (size_t)i % tasks)
				fill_pattern(data[i], (size_t)i, 20000);
			x.cmd.xfer_broadcast = (pami_broadcast_t){
			    get_endpoint((size_t)i % tasks, 0), data[i], PAMI_TYPE_BYTE, 20000};
		} else {
			x.algorithm = get_algorithm(PAMI_XFER_BARRIER);
		}
		CHECK_EQ(PAMI_Collective(context, &x), PAMI_SUCCESS);
		memset(&x, 0xee, sizeof x);
	}
	CHECK_EQ(done, 0);
	WAIT(done == N);
	for (int i = 0; i < N; i++) {
		if (i % 3 == 0)
			CHECK_EQ(got[i], tasks * (tasks - 1) / 2 + tasks * (size_t)i);
		if (i % 3 == 1)
			CHECK_EQ(count_different(data[i], (size_t)i, 20000), 0);
	}
}

/* Long data, one after the other: memory that they share is used again and again, for other things.
 */
static void long_in_a_row(void)
{
	enum { ROUNDS = 15, MOST = 1600000 };
	unsigned char *data = malloc(MOST);
	long *in = malloc(MOST), *out = malloc(MOST), all = (long)tasks;

	for (int i = 0; i < ROUNDS; i += (int)job_share()) {
		size_t bytes = (size_t)(100003 + i * 377777) % MOST, n = bytes / sizeof *in;
		pami_endpoint_t root = get_endpoint((size_t)i % tasks, 0);
		pami_xfer_t b = {.algorithm = get_algorithm(PAMI_XFER_BROADCAST)};
		pami_xfer_t r = {.algorithm = get_algorithm(PAMI_XFER_ALLREDUCE)};

		memset(data, 0, bytes);
		if (me == (size_t)i % tasks)
			fill_pattern(data, (size_t)i, bytes);
		b.cmd.xfer_broadcast =
		    (pami_broadcast_t){root, (char *)data, PAMI_TYPE_BYTE, bytes};
		run_collective(&b);
		CHECK_EQ(count_different(data, (size_t)i, bytes), 0);
		if (i % 3 == 1)
			continue;
		for (size_t k = 0; k < n; k++)
			in[k] = (long)k * i + (long)me;
		r.cmd.xfer_allreduce = (pami_allreduce_t){(char *)in,
							  PAMI_TYPE_SIGNED_LONG,
							  n,
							  (char *)out,
							  PAMI_TYPE_SIGNED_LONG,
							  n,
							  PAMI_DATA_SUM,
							  NULL,
							  1};
		run_collective(&r);
		for (size_t k = 0; k < n; k++)
			if (out[k] != all * (long)k * i + all * (all - 1) / 2) {
				CHECK_EQ(out[k], all * (long)k * i + all * (all - 1) / 2);
				break;
			}
	}
	free(data);
	free(in);
	free(out);
}

int main(void)
{
	job_begin(2);
	dispatch_set(context, 1, on_word, NULL, (pami_dispatch_hint_t){0});
	CHECK_EQ(PAMI_Collective(contexts[1],
				 &(pami_xfer_t){.algorithm = get_algorithm(PAMI_XFER_BARRIER)}),
		 PAMI_INVAL); /* no member of the world */
	lists_of_algorithms_are_stable();
	garbage_algorithms_are_refused();
	barriers_hold_until_the_last_task();
	broadcasts_of_all_sizes_arrive();
	rows_of_short();
	layouts_with_gaps_are_kept();
	integers_reduce_exactly();
	pairs_reduce_with_their_index();
	user_function();
	several_outstanding();
	long_in_a_row();
	return job_end(2);
}
