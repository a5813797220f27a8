/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives as suites of other people call them: every algorithm of the lists, sizes by doubling,
 * in place, on types that the suite's table pairs with all operations, one poll at a time.
 */
#include <pami.h>

#include "tests/guests/guest.h"

#define MAX_COUNT 1024

static pami_client_t client;
static pami_context_t context;
static pami_geometry_t world;
static pami_task_t task_id;
static size_t num_tasks;

static void cb_done(pami_context_t ctxt, void *clientdata, pami_result_t err)
{
	int *active = (int *)clientdata;

	(void)ctxt, (void)err;
	(*active)--;
}

static void blocking_coll(pami_xfer_t *coll)
{
	volatile int active = 1;

	coll->cb_done = cb_done;
	coll->cookie = (void *)&active;
	CHECK(PAMI_Collective(context, coll) == PAMI_SUCCESS);
	while (active)
		PAMI_Context_advance(context, 1);
}

/* All algorithms that always work. */
static size_t query_algorithms(pami_xfer_type_t type, pami_algorithm_t **algorithms,
			       pami_metadata_t **metadata)
{
	size_t num[2];

	PAMI_Geometry_algorithms_num(world, type, num);
	*algorithms = malloc(num[0] * sizeof **algorithms);
	*metadata = malloc(num[0] * sizeof **metadata);
	PAMI_Geometry_algorithms_query(world, type, *algorithms, *metadata, num[0], NULL, NULL, 0);
	return num[0];
}

static void barrier_suite(void)
{
	pami_algorithm_t *alg;
	pami_metadata_t *md;
	size_t n = query_algorithms(PAMI_XFER_BARRIER, &alg, &md);

	for (size_t i = 0; i < n; i++) {
		pami_xfer_t b;

		memset(&b, 0, sizeof b);
		b.algorithm = alg[i];
		for (int k = 0; k < 10; k++)
			blocking_coll(&b);
	}
	free(alg);
	free(md);
}

static void bcast_suite(void)
{
	static unsigned char buf[4096];
	pami_algorithm_t *alg;
	pami_metadata_t *md;
	size_t n = query_algorithms(PAMI_XFER_BROADCAST, &alg, &md);

	for (size_t i = 0; i < n; i++)
		for (size_t bytes = 1; bytes <= sizeof buf; bytes *= 16) {
			pami_task_t root = (pami_task_t)((i + bytes) % num_tasks);
			pami_xfer_t b;

			memset(&b, 0, sizeof b);
			b.algorithm = alg[i];
			PAMI_Endpoint_create(client, root, 0, &b.cmd.xfer_broadcast.root);
			b.cmd.xfer_broadcast.buf = (char *)buf;
			b.cmd.xfer_broadcast.type = PAMI_TYPE_BYTE;
			b.cmd.xfer_broadcast.typecount = bytes;
			memset(buf, task_id == root ? 0x5a : 0, sizeof buf);
			blocking_coll(&b);
			CHECK(buf[0] == 0x5a && buf[bytes - 1] == 0x5a);
		}
	free(alg);
	free(md);
}

static void allreduce_in_place(void)
{
	static double buf[MAX_COUNT];
	pami_algorithm_t *alg;
	pami_metadata_t *md;
	size_t n = query_algorithms(PAMI_XFER_ALLREDUCE, &alg, &md);

	for (size_t i = 0; i < n; i++)
		for (size_t count = 1; count <= MAX_COUNT; count *= 32) {
			pami_xfer_t a;

			memset(&a, 0, sizeof a);
			a.algorithm = alg[i];
			a.cmd.xfer_allreduce.sndbuf = a.cmd.xfer_allreduce.rcvbuf = (char *)buf;
			a.cmd.xfer_allreduce.stype = PAMI_TYPE_DOUBLE;
			a.cmd.xfer_allreduce.stypecount = count;
			a.cmd.xfer_allreduce.rtype = PAMI_TYPE_BYTE;
			a.cmd.xfer_allreduce.rtypecount = count * sizeof(double);
			a.cmd.xfer_allreduce.op = PAMI_DATA_SUM;
			for (size_t k = 0; k < count; k++)
				buf[k] = task_id + 1.0;
			blocking_coll(&a);
			CHECK(buf[0] == num_tasks * (num_tasks + 1) / 2.0);
			CHECK(buf[count - 1] == num_tasks * (num_tasks + 1) / 2.0);
		}
	free(alg);
	free(md);
}

static void all_operations_on_all_types(void)
{
	pami_data_function ops[] = {PAMI_DATA_MAX,  PAMI_DATA_MIN, PAMI_DATA_SUM,  PAMI_DATA_PROD,
				    PAMI_DATA_LAND, PAMI_DATA_LOR, PAMI_DATA_LXOR, PAMI_DATA_BAND,
				    PAMI_DATA_BOR,  PAMI_DATA_BXOR};
	pami_type_t types[] = {PAMI_TYPE_UNSIGNED_CHAR, PAMI_TYPE_SIGNED_SHORT,
			       PAMI_TYPE_SIGNED_INT,    PAMI_TYPE_UNSIGNED_LONG,
			       PAMI_TYPE_FLOAT,         PAMI_TYPE_DOUBLE};
	size_t sizes[] = {1, 2, 4, 8, 4, 8};
	pami_algorithm_t *alg;
	pami_metadata_t *md;

	query_algorithms(PAMI_XFER_ALLREDUCE, &alg, &md);
	for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
		for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
			char in[8 * 8], out[8 * 8];
			pami_xfer_t a;

			memset(in, 0, sizeof in); /* zero everywhere: any operation gives zero */
			memset(out, 0x77, sizeof out);
			memset(&a, 0, sizeof a);
			a.algorithm = alg[0];
			a.cmd.xfer_allreduce.sndbuf = in;
			a.cmd.xfer_allreduce.rcvbuf = out;
			a.cmd.xfer_allreduce.stype = a.cmd.xfer_allreduce.rtype = types[t];
			a.cmd.xfer_allreduce.stypecount = a.cmd.xfer_allreduce.rtypecount = 8;
			a.cmd.xfer_allreduce.op = ops[o];
			blocking_coll(&a);
			CHECK(!memcmp(in, out, 8 * sizes[t]));
		}
	free(alg);
	free(md);
}

static void root_only_arguments(void)
{
	pami_algorithm_t *alg;
	pami_metadata_t *md;
	int *all = calloc(num_tasks, sizeof *all);

	query_algorithms(PAMI_XFER_GATHER, &alg, &md);
	for (pami_task_t root = 0; root < num_tasks; root++) {
		int mine = (int)(task_id * 3 + root);
		pami_xfer_t g;

		/* Arguments that only the root needs are garbage elsewhere. */
		memset(&g, 0x3c, sizeof g);
		g.algorithm = alg[0];
		PAMI_Endpoint_create(client, root, 0, &g.cmd.xfer_gather.root);
		g.cmd.xfer_gather.sndbuf = (char *)&mine;
		g.cmd.xfer_gather.stype = PAMI_TYPE_BYTE;
		g.cmd.xfer_gather.stypecount = sizeof mine;
		if (task_id == root) {
			g.cmd.xfer_gather.rcvbuf = (char *)all;
			g.cmd.xfer_gather.rtype = PAMI_TYPE_BYTE;
			g.cmd.xfer_gather.rtypecount = sizeof mine;
		}
		blocking_coll(&g);
		for (size_t i = 0; task_id == root && i < num_tasks; i++)
			CHECK(all[i] == (int)(i * 3 + root));
	}
	free(all);
	free(alg);
	free(md);
}

static void insists_on_threads(void)
{
	pami_configuration_t q = {.name = PAMI_CLIENT_HWTHREADS_AVAILABLE};
	const char *wanted = getenv("GUEST_HWTHREADS");

	CHECK(PAMI_Client_query(client, &q, 1) == PAMI_SUCCESS);
	CHECK(q.value.intval >= (wanted ? (size_t)atol(wanted) : 1));
}

int main(int argc, char **argv)
{
	pami_configuration_t configs[2];

	if (PAMI_Client_create("TEST", &client, NULL, 0) != PAMI_SUCCESS)
		return 1;
	configs[0].name = PAMI_CLIENT_TASK_ID;
	configs[1].name = PAMI_CLIENT_NUM_TASKS;
	PAMI_Client_query(client, configs, 2);
	task_id = (pami_task_t)configs[0].value.intval;
	num_tasks = configs[1].value.intval;
	if (PAMI_Context_createv(client, NULL, 0, &context, 1) != PAMI_SUCCESS)
		return 1;
	PAMI_Geometry_world(client, &world);

	CASE(barrier_suite, "A suite runs all barriers of the list.");
	CASE(bcast_suite, "A suite broadcasts by every algorithm, sizes by factors.");
	CASE(allreduce_in_place, "A suite gives one buffer for both sides of an allreduce.");
	CASE(all_operations_on_all_types,
	     "A table pairs every operation with every type, floats too.");
	CASE(root_only_arguments, "Tasks leave as garbage what only the root needs.");
	CASE(insists_on_threads,
	     "A program refuses to run with fewer hardware threads than it wants.");

	PAMI_Context_destroyv(&context, 1);
	PAMI_Client_destroy(&client);
	return check_failures != 0;
}
