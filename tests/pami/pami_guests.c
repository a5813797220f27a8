/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that use the interface loosely, or where it is vague: each function does what some
 * program does, and checks that it gets through. Run as jobs by pami_job.sh.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <unistd.h>

#include "tests/harness/pami_job.h"

/* ---- Logical and bitwise reductions of float and double. ---- */

#define REDUCED 37

static double float_value(size_t task, int i)
{
	static const double some[] = {0.0, -0.0, 1.0, -2.5, 1e-300, 1e30, 0.5, NAN};

	return some[(task * 3 + (size_t)i) % 8];
}

#define CHECK_FLOATS(type, bits, name)                                                             \
	static void reduce_##type(void)                                                            \
	{                                                                                          \
		pami_data_function ops[] = {PAMI_DATA_LAND, PAMI_DATA_LOR, PAMI_DATA_LXOR,         \
					    PAMI_DATA_BAND, PAMI_DATA_BOR, PAMI_DATA_BXOR};        \
                                                                                                   \
		for (int op = 0; op < 6; op++)                                                     \
			for (int n = 1; n <= REDUCED; n += REDUCED - 1) {                          \
				type in[REDUCED], out[REDUCED] = {7}, want[REDUCED];               \
				pami_xfer_t x = {.algorithm = get_algorithm(PAMI_XFER_ALLREDUCE)}; \
                                                                                                   \
				for (int i = 0; i < n; i++) {                                      \
					in[i] = (type)float_value(me, i);                          \
					want[i] = (type)float_value(0, i);                         \
				}                                                                  \
				for (size_t t = 1; t < tasks; t++)                                 \
					for (int i = 0; i < n; i++) {                              \
						type b = (type)float_value(t, i), a = want[i];     \
						bits x_, y_;                                       \
                                                                                                   \
						memcpy(&x_, &a, sizeof a);                         \
						memcpy(&y_, &b, sizeof b);                         \
						x_ = op == 3   ? x_ & y_                           \
						     : op == 4 ? x_ | y_                           \
							       : x_ ^ y_;                          \
						if (op >= 3)                                       \
							memcpy(&want[i], &x_, sizeof a);           \
						else                                               \
							want[i] = op == 0   ? a && b               \
								  : op == 1 ? a || b               \
									    : !a != !b;            \
					}                                                          \
				x.cmd.xfer_allreduce = (pami_allreduce_t){.sndbuf = (char *)in,    \
									  .stype = name,           \
									  .stypecount = (size_t)n, \
									  .rcvbuf = (char *)out,   \
									  .rtype = name,           \
									  .rtypecount = (size_t)n, \
									  .op = ops[op],           \
									  .commutative = 1};       \
				run_collective(&x);                                                \
				CHECK(!memcmp(out, want, (size_t)n * sizeof *out));                \
			}                                                                          \
	}
CHECK_FLOATS(float, uint32_t, PAMI_TYPE_FLOAT)
CHECK_FLOATS(double, uint64_t, PAMI_TYPE_DOUBLE)

static void floats_have_bits_and_truth(void)
{
	reduce_float();
	reduce_double();
}

/* ---- All contexts of all tasks, with the world as parent. ---- */

static void on_made(pami_context_t c, void *cookie, pami_result_t result)
{
	CHECK(c == context);
	CHECK_EQ(result, PAMI_SUCCESS);
	++*(int *)cookie;
}

static void barrier_of(pami_geometry_t g, size_t members)
{
	pami_algorithm_t a;
	int done = 0;
	pami_xfer_t x = {.cb_done = flag_done, .cookie = &done};

	CHECK_EQ(PAMI_Geometry_algorithms_query(g, PAMI_XFER_BARRIER, &a, NULL, 1, NULL, NULL, 0),
		 PAMI_SUCCESS);
	x.algorithm = a;
	for (size_t i = 0; i < members; i++)
		CHECK_EQ(PAMI_Collective(contexts[i], &x), PAMI_SUCCESS);
	while (done < (int)members)
		PAMI_Context_advancev(contexts, 2, 100);
}

static void all_contexts_with_a_parent(void)
{
	pami_geometry_t world, g = PAMI_GEOMETRY_NULL;
	pami_geometry_range_t all = {0, (pami_task_t)(tasks - 1)};
	int made = 0;

	CHECK_EQ(PAMI_Geometry_world(client, &world), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Geometry_create_taskrange(client, PAMI_ALL_CONTEXTS, NULL, 0, &g, world, 3,
						&all, 1, context, on_made, &made),
		 PAMI_SUCCESS);
	if (g == PAMI_GEOMETRY_NULL)
		return;
	while (!made)
		PAMI_Context_advancev(contexts, 2, 100);
	barrier_of(g, 2);
	CHECK_EQ(PAMI_Geometry_destroy(client, &g, context, on_made, &made), PAMI_SUCCESS);
	while (made < 2)
		PAMI_Context_advancev(contexts, 2, 100);
}

/* ---- Geometries of a context that is not advanced while they are made and ended. ---- */

static pami_context_t named;

static void on_named(pami_context_t c, void *cookie, pami_result_t result)
{
	CHECK(c == named);
	CHECK_EQ(result, PAMI_SUCCESS);
	++*(int *)cookie;
}

/* Members name contexts 0 and 1 in turn, or all context 0, and advance that one only. */
static void made_on_another_context(int in_turn, size_t optimize)
{
	pami_geometry_range_t all = {0, (pami_task_t)(tasks - 1)};
	pami_configuration_t q = {.name = PAMI_GEOMETRY_OPTIMIZE, .value.intval = optimize};

	for (unsigned id = 5; id < 8; id++) {
		pami_geometry_t g = PAMI_GEOMETRY_NULL;
		size_t member = id % 2;
		pami_algorithm_t a;
		int made = 0, done = 0;
		pami_xfer_t x = {.cb_done = flag_done, .cookie = &done};

		named = contexts[in_turn ? me % 2 : 0];
		CHECK_EQ(PAMI_Geometry_create_taskrange(client, member, &q, 1, &g,
							PAMI_GEOMETRY_NULL, id, &all, 1, named,
							on_named, &made),
			 PAMI_SUCCESS);
		while (!made)
			PAMI_Context_advance(named, 10);
		CHECK_EQ(PAMI_Geometry_algorithms_query(g, PAMI_XFER_BARRIER, &a, NULL, 1, NULL,
							NULL, 0),
			 PAMI_SUCCESS);
		x.algorithm = a;
		CHECK_EQ(PAMI_Collective(contexts[member], &x), PAMI_SUCCESS);
		while (!done)
			PAMI_Context_advance(contexts[member], 10);
		CHECK_EQ(PAMI_Geometry_destroy(client, &g, named, on_named, &made), PAMI_SUCCESS);
		while (made < 2)
			PAMI_Context_advance(named, 10);
		CHECK(g == PAMI_GEOMETRY_NULL);
	}
}

/* ---- A header longer than its id promised. ---- */

static int arrived;

static void on_header(pami_context_t c, void *cookie, const void *header, size_t header_size,
		      const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	static char sink[8192];

	arrived += (int)header_size;
	if (recv) {
		recv->addr = sink;
		recv->type = PAMI_TYPE_BYTE;
		recv->data_fn = PAMI_DATA_COPY;
	}
}

enum { ID_SHORT_HEADERS = 30, ID_ANY_HEADER };

static void header_longer_than_promised(void)
{
	static char bytes[16384];
	pami_configuration_t q = {.name = PAMI_DISPATCH_RECV_IMMEDIATE_MAX};
	pami_send_t s = {.send = {.header = {bytes, 0},
				  .data = {bytes, 100},
				  .dispatch = ID_SHORT_HEADERS,
				  .dest = get_endpoint(me, 0)}};
	pami_send_typed_t t = {.typed = {.type = PAMI_TYPE_BYTE, .data_fn = PAMI_DATA_COPY}};

	CHECK_EQ(PAMI_Dispatch_query(context, ID_SHORT_HEADERS, &q, 1), PAMI_SUCCESS);
	arrived = 0;
	s.send.header.iov_len = q.value.intval; /* as long as it may be */
	CHECK_EQ(PAMI_Send(context, &s), PAMI_SUCCESS);
	WAIT(arrived == (int)q.value.intval);
	s.send.header.iov_len++;
	CHECK_EQ(PAMI_Send(context, &s), PAMI_INVAL);
	t.send = s.send;
	CHECK_EQ(PAMI_Send_typed(context, &t), PAMI_INVAL);
	s.send.dispatch = t.send.dispatch = ID_ANY_HEADER;
	CHECK_EQ(PAMI_Send(context, &s), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Send_typed(context, &t), PAMI_SUCCESS);
	WAIT(arrived >= (int)(3 * q.value.intval + 2));
	CHECK_EQ(arrived, 3 * q.value.intval + 2);
}

/* ---- Mistakes that the original lets pass, each said once. ---- */

static FILE *captured;
static int kept_stderr;

static void capture_begin(void)
{
	captured = tmpfile();
	kept_stderr = dup(2);
	if (!captured || kept_stderr < 0 || dup2(fileno(captured), 2) < 0)
		exit(1);
}

/* How many lines of standard error since then hold the text. */
static int capture_end(const char *text)
{
	char line[1024];
	int n = 0;

	dup2(kept_stderr, 2);
	close(kept_stderr);
	rewind(captured);
	while (fgets(line, sizeof line, captured))
		n += strstr(line, text) != NULL;
	fclose(captured);
	return n;
}

static int is_quiet(void)
{
	const char *errors = getenv("QUINTORUS_ERRORS");

	return errors && !strcmp(errors, "quiet");
}

static void fence_outside_a_region(void)
{
	int done = 0;

	capture_begin();
	for (int i = 0; i < 3; i++) {
		int before = done;

		CHECK_EQ(PAMI_Fence_all(context, flag_done, &done), PAMI_SUCCESS);
		CHECK_EQ(done, before);
		if (i < 2)
			WAIT(done > before);
	}
	CHECK_EQ(PAMI_Fence_endpoint(context, flag_done, &done, get_endpoint(me, 0)), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Fence_all(context, NULL, NULL), PAMI_SUCCESS);
	WAIT(done == 4);
	CHECK_EQ(capture_end("PAMI_Fence_begin"), is_quiet() ? 0 : 3); /* three places */
}

/* One place of the program: an unrolled loop, or a tail call out of one, would be two. */
static __attribute__((noinline)) pami_result_t destroy_by_value(pami_context_t c)
{
	volatile pami_result_t result = PAMI_Context_destroyv(c, 1);

	return result;
}

/* A client of its own, whose contexts go one by one, by the handle instead of its address. */
static void context_destroyed_by_value(void)
{
	pami_client_t other;
	pami_context_t two[2], nothing = PAMI_CONTEXT_NULL;

	CHECK_EQ(PAMI_Client_create("other", &other, NULL, 0), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Context_createv(other, NULL, 0, two, 2), PAMI_SUCCESS);
	capture_begin();
	for (int i = 0; i < 2; i++)
		CHECK_EQ(destroy_by_value(two[i]), PAMI_SUCCESS);
	CHECK_EQ(capture_end("PAMI_Context_destroyv"), is_quiet() ? 0 : 1);
	CHECK_EQ(PAMI_Context_destroyv(&nothing, 1), PAMI_INVAL);
	CHECK_EQ(PAMI_Client_destroy(&other), PAMI_SUCCESS);
}

/* ---- Asynchronous progress ended by a program that holds a lock its functions take. ---- */

typedef void (*async_fn)(pami_context_t, void *);
typedef pami_result_t (*async_register_fn)(pami_context_t, async_fn, async_fn, async_fn, void *);
typedef pami_result_t (*async_switch_fn)(pami_context_t, int);

static pthread_mutex_t own_lock;
static int progressed, resumed, suspended, lock_errors;

/* The lock tells who holds it already: a plain one would hang. */
static void count_locked(int *count)
{
	if (pthread_mutex_lock(&own_lock)) {
		atomic_fetch_add_relaxed(&lock_errors, 1);
		return;
	}
	atomic_fetch_add_relaxed(count, 1);
	pthread_mutex_unlock(&own_lock);
}

static void on_progress(pami_context_t c, void *cookie)
{
	PAMI_Context_trylock_advancev(&c, 1, 1);
	atomic_fetch_add_relaxed(&progressed, 1);
}

static void on_resume(pami_context_t c, void *cookie)
{
	count_locked(&resumed);
}

static void on_suspend(pami_context_t c, void *cookie)
{
	CHECK(cookie == &suspended);
	count_locked(&suspended);
}

/* Until a thread of the library has counted; in virtual time this one stands in for it. */
static void wait_count(const int *count, int value)
{
	while (atomic_load_relaxed(count) < value) {
		PAMI_Context_advance(context, 1);
		usleep(1000);
	}
}

static void suspended_under_a_lock(void)
{
	pthread_mutexattr_t checked;
	pami_extension_t async;
	pami_client_t other;
	pami_context_t one;
	async_register_fn reg;
	async_switch_fn enable, disable;

	pthread_mutexattr_init(&checked);
	pthread_mutexattr_settype(&checked, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&own_lock, &checked);
	CHECK_EQ(PAMI_Client_create("async", &other, NULL, 0), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Context_createv(other, NULL, 0, &one, 1), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Extension_open(other, "EXT_async_progress", &async), PAMI_SUCCESS);
	reg = (async_register_fn)PAMI_Extension_symbol(async, "register");
	enable = (async_switch_fn)PAMI_Extension_symbol(async, "enable");
	disable = (async_switch_fn)PAMI_Extension_symbol(async, "disable");
	CHECK_EQ(reg(one, on_progress, on_suspend, on_resume, &suspended), PAMI_SUCCESS);
	for (int round = 1; round <= 2; round++) { /* ended by disable, by the context's end */
		int before = atomic_load_relaxed(&progressed);

		CHECK_EQ(enable(one, 0), PAMI_SUCCESS);
		wait_count(&resumed, round);
		wait_count(&progressed, before + 1);
		pthread_mutex_lock(&own_lock);
		if (round == 1)
			CHECK_EQ(disable(one, 0), PAMI_SUCCESS);
		else
			CHECK_EQ(PAMI_Context_destroyv(&one, 1), PAMI_SUCCESS);
		before = atomic_load_relaxed(&progressed);
		pthread_mutex_unlock(&own_lock);
		wait_count(&suspended, round - lock_errors);
		CHECK_EQ(progressed, before);
	}
	CHECK_EQ(lock_errors, 0);
	CHECK_EQ(resumed, 2);
	CHECK_EQ(PAMI_Extension_close(async), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Client_destroy(&other), PAMI_SUCCESS);
	/* The thread that counted last may not have unlocked yet. */
	pthread_mutex_lock(&own_lock);
	pthread_mutex_unlock(&own_lock);
	pthread_mutex_destroy(&own_lock);
}

/* ---- Programs that insist on hardware threads. ---- */

static void hardware_threads(void)
{
	const char *set = getenv("QUINTORUS_HWTHREADS");

	if (set)
		CHECK_EQ(client_value(PAMI_CLIENT_HWTHREADS_AVAILABLE), atoi(set));
	else
		CHECK(client_value(PAMI_CLIENT_HWTHREADS_AVAILABLE) >= 2);
}

int main(int argc, char **argv)
{
	pami_dispatch_hint_t promised = {.long_header = PAMI_HINT_DISABLE}, none = {0};

	job_begin(2);
	run_barrier();
	hardware_threads();
	dispatch_set(context, ID_SHORT_HEADERS, on_header, NULL, promised);
	dispatch_set(context, ID_ANY_HEADER, on_header, NULL, none);
	header_longer_than_promised();
	fence_outside_a_region();
	context_destroyed_by_value();
	suspended_under_a_lock();
	floats_have_bits_and_truth();
	run_barrier();
	all_contexts_with_a_parent();
	made_on_another_context(0, 0);
	made_on_another_context(1, 0);
	made_on_another_context(1, 1);
	run_barrier();
	return job_end(2);
}
