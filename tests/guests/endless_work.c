/* SPDX-License-Identifier: BSD-3-Clause */
/* Libraries that post a function which asks for its next turn for ever, and then do collectives. */
#undef NDEBUG /* the checks of this program are assertions */
#include <assert.h>
#include <pami.h>

#include "tests/guests/guest.h"

static pami_client_t the_client;
static pami_context_t the_context;
static pami_geometry_t the_world;
static unsigned me, np;
static unsigned long turns;
static int quit;

static pami_result_t keep_house(pami_context_t context, void *cookie)
{
	(void)context, (void)cookie;
	turns++;
	return quit ? PAMI_SUCCESS : PAMI_EAGAIN;
}

static void set_done(pami_context_t context, void *cookie, pami_result_t result)
{
	(void)context;
	assert(result == PAMI_SUCCESS);
	*(unsigned *)cookie = 1;
}

static void run_collective(pami_xfer_t *x)
{
	volatile unsigned flag = 0;

	x->cb_done = set_done;
	x->cookie = (void *)&flag;
	if (PAMI_Collective(the_context, x) != PAMI_SUCCESS)
		abort();
	while (!flag)
		PAMI_Context_advance(the_context, 100);
}

static pami_algorithm_t first_algorithm(pami_xfer_type_t type)
{
	size_t n[2];
	pami_algorithm_t *a, result;

	PAMI_Geometry_algorithms_num(the_world, type, n);
	assert(n[0] > 0);
	a = malloc(n[0] * sizeof *a);
	PAMI_Geometry_algorithms_query(the_world, type, a, NULL, n[0], NULL, NULL, 0);
	result = a[0];
	free(a);
	return result;
}

static void reduce_beside_it(void)
{
	pami_xfer_t x;
	double in[64], out[64];

	memset(&x, 0, sizeof x);
	x.algorithm = first_algorithm(PAMI_XFER_REDUCE);
	for (int round = 0; round < 30; round++) {
		unsigned root = round % np;

		for (int i = 0; i < 64; i++)
			in[i] = me + i;
		PAMI_Endpoint_create(the_client, root, 0, &x.cmd.xfer_reduce.root);
		x.cmd.xfer_reduce.sndbuf = (char *)in;
		x.cmd.xfer_reduce.stype = PAMI_TYPE_DOUBLE;
		x.cmd.xfer_reduce.stypecount = 64;
		x.cmd.xfer_reduce.rcvbuf = me == root ? (char *)out : NULL;
		x.cmd.xfer_reduce.rtype = PAMI_TYPE_BYTE;
		x.cmd.xfer_reduce.rtypecount = sizeof out;
		x.cmd.xfer_reduce.op = PAMI_DATA_SUM;
		run_collective(&x);
		if (me == root)
			for (int i = 0; i < 64; i++)
				CHECK(out[i] == np * (np - 1) / 2.0 + (double)np * i);
	}
}

static void barriers_beside_it(void)
{
	pami_xfer_t x;

	memset(&x, 0, sizeof x);
	x.algorithm = first_algorithm(PAMI_XFER_BARRIER);
	for (int round = 0; round < 50; round++)
		run_collective(&x);
	CHECK(turns > 0);
}

static void courtesy_polls_beside_it(void)
{
	for (int i = 0; i < 1000; i++)
		PAMI_Context_advance(the_context, 1);
	for (int i = 0; i < 20; i++)
		PAMI_Context_advance(the_context, 1000);
	barriers_beside_it();
}

int main(int argc, char **argv)
{
	pami_configuration_t c[2] = {{.name = PAMI_CLIENT_TASK_ID},
				     {.name = PAMI_CLIENT_NUM_TASKS}};
	pami_work_t work;

	PAMI_Client_create("endless", &the_client, NULL, 0);
	PAMI_Context_createv(the_client, NULL, 0, &the_context, 1);
	PAMI_Client_query(the_client, c, 2);
	me = c[0].value.intval;
	np = c[1].value.intval;
	PAMI_Geometry_world(the_client, &the_world);
	PAMI_Context_post(the_context, &work, keep_house, NULL);

	CASE(barriers_beside_it,
	     "A library posts a function that runs for ever, then meets in barriers.");
	CASE(reduce_beside_it, "A library posts a function that runs for ever, then reduces.");
	CASE(courtesy_polls_beside_it,
	     "A library with such a function polls although nothing is under way.");

	if (me % 2) { /* half of them end it, the others leave it queued */
		quit = 1;
		PAMI_Context_advance(the_context, 1);
	}
	PAMI_Context_destroyv(&the_context, 1);
	PAMI_Client_destroy(&the_client);
	return check_failures != 0;
}
