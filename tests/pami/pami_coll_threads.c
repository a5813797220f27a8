/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of several threads at a time, a context each, on geometries that overlap: of all
 * tasks, of every second task, of the first half or more. Each thread keeps several operations
 * under way, of any algorithm, most of them so short that teams on several hosts store them into
 * each other's memory. QT_SEED repeats a run; QT_LONG=1: ten times as many.
 */
#include <pthread.h>

#include "tests/harness/pami_job.h"

enum { THREADS = 3, GEOMETRIES = 3, UNDER_WAY = 4, ELEMENTS = 40, NAMES = 40, MEMBERS_MAX = 64 };

struct group {
	pami_geometry_t handle; /* NULL: this task is no member */
	uint32_t task[MEMBERS_MAX], size, rank;
};

struct op {
	struct group *g;
	pami_xfer_type_t type;
	uint64_t number;
	uint32_t n, root;
	int busy;
	uint64_t in[ELEMENTS], out[MEMBERS_MAX * ELEMENTS];
};

struct thread {
	pthread_t thread;
	size_t offset;
	struct group group[GEOMETRIES];
	struct op op[UNDER_WAY];
	struct drv_rng rng; /* of all members alike */
	uint64_t bad;
};

static struct thread threads[THREADS];
static uint64_t seed = 7;
static long rounds = 300;

static const pami_xfer_type_t types[] = {
    PAMI_XFER_BARRIER,   PAMI_XFER_BROADCAST, PAMI_XFER_BROADCAST, PAMI_XFER_BROADCAST,
    PAMI_XFER_ALLREDUCE, PAMI_XFER_ALLREDUCE, PAMI_XFER_REDUCE,    PAMI_XFER_ALLGATHER};

static uint64_t value_of(const struct op *o, uint32_t rank, uint32_t i)
{
	return o->number * 1000003 + rank * 1009 + i;
}

static uint64_t sum_of(const struct op *o, uint32_t i)
{
	uint64_t s = 0;

	for (uint32_t r = 0; r < o->g->size; r++)
		s += value_of(o, r, i);
	return s;
}

/* How many elements of the result are wrong. */
static uint64_t count_wrong(const struct op *o)
{
	uint64_t bad = 0;

	for (uint32_t i = 0; i < o->n; i++)
		switch (o->type) {
		case PAMI_XFER_BROADCAST:
			bad += o->in[i] != value_of(o, o->root, i);
			break;
		case PAMI_XFER_ALLREDUCE:
			bad += o->out[i] != sum_of(o, i);
			break;
		case PAMI_XFER_REDUCE:
			bad += o->g->rank == o->root && o->out[i] != sum_of(o, i);
			break;
		case PAMI_XFER_ALLGATHER:
			for (uint32_t r = 0; r < o->g->size; r++)
				bad += o->out[r * o->n + i] != value_of(o, r, i);
			break;
		default:
			break;
		}
	return bad;
}

static void on_done(pami_context_t c, void *cookie, pami_result_t result)
{
	struct op *o = cookie;
	struct thread *t = NULL;

	for (size_t i = 0; i < THREADS; i++)
		if (contexts[i] == c)
			t = &threads[i];
	t->bad += result != PAMI_SUCCESS;
	t->bad += count_wrong(o);
	o->busy = 0;
}

/* The number of an algorithm that always works; which: drawn, the same on all members. */
static pami_algorithm_t algorithm_of(pami_geometry_t g, pami_xfer_type_t type, uint64_t which)
{
	pami_algorithm_t a[NAMES];
	size_t n[2];

	PAMI_Geometry_algorithms_num(g, type, n);
	n[0] = n[0] < NAMES ? n[0] : NAMES;
	PAMI_Geometry_algorithms_query(g, type, a, NULL, n[0], NULL, NULL, 0);
	return a[which % n[0]];
}

/* All tasks draw; members start it. */
static void start_op(struct thread *t, struct op *o, uint64_t number)
{
	uint64_t which = drv_rng_below(&t->rng, 4) ? 0 : drv_rng_next(&t->rng) >> 8;
	uint64_t in_bytes = drv_rng_below(&t->rng, 4);
	struct group *g = &t->group[drv_rng_below(&t->rng, GEOMETRIES)];
	uint32_t n = (uint32_t)drv_rng_below(&t->rng, in_bytes ? 8 : ELEMENTS + 1);
	uint32_t root = (uint32_t)drv_rng_below(&t->rng, g->size);
	pami_xfer_type_t type = types[drv_rng_below(&t->rng, sizeof types / sizeof types[0])];
	pami_xfer_t x = {.cb_done = on_done, .cookie = o};
	pami_type_t u = PAMI_TYPE_UNSIGNED_LONG;
	char *in = (char *)o->in, *out = (char *)o->out;
	pami_endpoint_t to = get_endpoint(g->task[root], t->offset);

	if (!g->handle)
		return;
	while (o->busy)
		PAMI_Context_advance(contexts[t->offset], 10);
	o->g = g;
	o->type = type;
	o->number = number;
	o->n = n;
	o->root = root;
	for (uint32_t i = 0; i < n; i++)
		o->in[i] =
		    type == PAMI_XFER_BROADCAST && g->rank != root ? 0 : value_of(o, g->rank, i);
	memset(out, 0, sizeof o->out);
	x.algorithm = algorithm_of(g->handle, type, which);
	if (type == PAMI_XFER_BROADCAST)
		x.cmd.xfer_broadcast = (pami_broadcast_t){to, in, u, n};
	else if (type == PAMI_XFER_ALLREDUCE)
		x.cmd.xfer_allreduce =
		    (pami_allreduce_t){in, u, n, out, u, n, PAMI_DATA_SUM, NULL, 1};
	else if (type == PAMI_XFER_REDUCE)
		x.cmd.xfer_reduce =
		    (pami_reduce_t){to, in, u, n, out, u, n, PAMI_DATA_SUM, NULL, 1};
	else if (type == PAMI_XFER_ALLGATHER)
		x.cmd.xfer_allgather = (pami_allgather_t){in, u, n, out, u, n};
	o->busy = 1;
	t->bad += PAMI_Collective(contexts[t->offset], &x) != PAMI_SUCCESS;
}

static void *run_thread(void *arg)
{
	struct thread *t = arg;

	for (long i = 0; i < rounds; i++) {
		start_op(t, &t->op[i % UNDER_WAY], (uint64_t)i);
		PAMI_Context_advance(contexts[t->offset], 1);
	}
	for (int i = 0; i < UNDER_WAY; i++)
		while (t->op[i].busy)
			PAMI_Context_advance(contexts[t->offset], 10);
	return NULL;
}

static void make_group(struct thread *t, unsigned k)
{
	struct group *g = &t->group[k];
	pami_task_t list[MEMBERS_MAX];
	int done = 0, here = 0;

	for (size_t i = 0; i < tasks; i++)
		if (k == 0 || (k == 1 ? i % 2 == 0 : i <= tasks / 2)) {
			list[g->size] = g->task[g->size] = (uint32_t)i;
			if (i == me) {
				g->rank = g->size;
				here = 1;
			}
			g->size++;
		}
	if (!here)
		return;
	CHECK_EQ(PAMI_Geometry_create_tasklist(client, t->offset, NULL, 0, &g->handle,
					       PAMI_GEOMETRY_NULL,
					       (unsigned)(1 + t->offset * GEOMETRIES + k), list,
					       g->size, contexts[t->offset], flag_done, &done),
		 PAMI_SUCCESS);
	while (!done)
		PAMI_Context_advancev(contexts, THREADS, 10);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "virtual"))
		rounds = 100;
	if (getenv("QT_SEED"))
		seed = strtoull(getenv("QT_SEED"), NULL, 0);
	if (getenv("QT_LONG") && atol(getenv("QT_LONG")) > 0)
		rounds *= 10;
	job_begin(THREADS);
	for (size_t i = 0; i < THREADS; i++) {
		threads[i].offset = i;
		drv_rng_seed(&threads[i].rng, seed * 10 + i);
		for (unsigned k = 0; k < GEOMETRIES; k++)
			make_group(&threads[i], k);
	}
	run_barrier();
	for (size_t i = 1; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i].thread, NULL, run_thread, &threads[i]), 0);
	run_thread(&threads[0]);
	for (size_t i = 1; i < THREADS; i++)
		pthread_join(threads[i].thread, NULL);
	run_barrier();
	for (size_t i = 0; i < THREADS; i++)
		CHECK_EQ(threads[i].bad, 0);
	if (check_failures)
		fprintf(stderr, "task %zu: QT_SEED=%llu repeats it\n", me,
			(unsigned long long)seed);
	return job_end(THREADS);
}
