/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs with sub-groups: a team of one, teams on another context than the first, all contexts of
 * all tasks, teams made again and again, the world as the parent of everything.
 */
#include <pami.h>

#include "tests/guests/guest.h"

typedef struct {
	pami_client_t client;
	pami_context_t contexts[4];
	pami_geometry_t world;
	pami_task_t task;
	size_t count;
} rt_t;

static rt_t rt;

static void rt_done(pami_context_t context, void *cookie, pami_result_t result)
{
	CHECK(context != NULL);
	CHECK(result == PAMI_SUCCESS);
	(*(volatile int *)cookie)++;
}

static void rt_wait(int context, volatile int *flag, int until)
{
	while (*flag < until)
		PAMI_Context_advance(rt.contexts[context], 1);
}

static int rt_barrier(pami_geometry_t g, int context, int wait)
{
	static volatile int flag;
	pami_algorithm_t a;
	pami_xfer_t x;

	if (PAMI_Geometry_algorithms_query(g, PAMI_XFER_BARRIER, &a, NULL, 1, NULL, NULL, 0))
		return 0;
	flag = 0;
	x.cb_done = rt_done;
	x.cookie = (void *)&flag;
	x.algorithm = a;
	if (PAMI_Collective(rt.contexts[context], &x) != PAMI_SUCCESS)
		return 0;
	if (wait)
		rt_wait(context, &flag, 1);
	return 1;
}

static long rt_sum(pami_geometry_t g, int context, long value)
{
	volatile int flag = 0;
	long result = -1;
	pami_algorithm_t a;
	pami_xfer_t x;

	PAMI_Geometry_algorithms_query(g, PAMI_XFER_ALLREDUCE, &a, NULL, 1, NULL, NULL, 0);
	memset(&x, 0, sizeof x);
	x.cb_done = rt_done;
	x.cookie = (void *)&flag;
	x.algorithm = a;
	x.cmd.xfer_allreduce.sndbuf = (char *)&value;
	x.cmd.xfer_allreduce.stype = PAMI_TYPE_SIGNED_LONG;
	x.cmd.xfer_allreduce.stypecount = 1;
	x.cmd.xfer_allreduce.rcvbuf = (char *)&result;
	x.cmd.xfer_allreduce.rtype = PAMI_TYPE_SIGNED_LONG;
	x.cmd.xfer_allreduce.rtypecount = 1;
	x.cmd.xfer_allreduce.op = PAMI_DATA_SUM;
	CHECK(PAMI_Collective(rt.contexts[context], &x) == PAMI_SUCCESS);
	rt_wait(context, &flag, 1);
	return result;
}

static void team_of_one(void)
{
	pami_geometry_range_t me = {rt.task, rt.task};
	pami_geometry_t g = PAMI_GEOMETRY_NULL;
	volatile int flag = 0;

	CHECK(PAMI_Geometry_create_taskrange(rt.client, 0, NULL, 0, &g, PAMI_GEOMETRY_NULL,
					     100 + rt.task, &me, 1, rt.contexts[0], rt_done,
					     (void *)&flag) == PAMI_SUCCESS);
	CHECK(g != PAMI_GEOMETRY_NULL);
	rt_wait(0, &flag, 1);
	for (int i = 0; i < 300; i++)
		CHECK(rt_barrier(g, 0, 1));
	CHECK(rt_sum(g, 0, 7) == 7);
	rt_barrier(rt.world, 0, 1);
	flag = 0;
	CHECK(PAMI_Geometry_destroy(rt.client, &g, rt.contexts[0], rt_done, (void *)&flag) ==
	      PAMI_SUCCESS);
	rt_wait(0, &flag, 1);
}

static void even_and_odd(void)
{
	pami_task_t *list = malloc(rt.count * sizeof *list);
	pami_geometry_t g;
	volatile int flag = 0;
	long n = 0, sum = 0;

	for (pami_task_t t = rt.task % 2; t < rt.count; t += 2)
		list[n++] = t, sum += t;
	CHECK(PAMI_Geometry_create_tasklist(rt.client, 0, NULL, 0, &g, PAMI_GEOMETRY_NULL,
					    1 + rt.task % 2, list, n, rt.contexts[0], rt_done,
					    (void *)&flag) == PAMI_SUCCESS);
	rt_wait(0, &flag, 1);
	CHECK(rt_sum(g, 0, rt.task) == sum);
	/* One half polls for a while where the other works. */
	if (rt.task % 2)
		for (int i = 0; i < 1000; i++)
			PAMI_Context_advance(rt.contexts[0], 1);
	else
		for (int i = 0; i < 5; i++)
			rt_barrier(g, 0, 1);
	rt_barrier(rt.world, 0, 1);
	flag = 0;
	PAMI_Geometry_destroy(rt.client, &g, rt.contexts[0], rt_done, (void *)&flag);
	rt_wait(0, &flag, 1);
	free(list);
}

static void outsiders_take_part(void)
{
	pami_geometry_range_t front = {0, (pami_task_t)(rt.count / 2)};
	int inside = rt.task <= front.hi && front.hi < rt.count;
	pami_geometry_t g = PAMI_GEOMETRY_NULL;
	volatile int flag = 0;

	if (front.hi >= rt.count)
		front.hi = 0, inside = 1;
	CHECK(PAMI_Geometry_create_taskrange(rt.client, 0, NULL, 0, inside ? &g : NULL, rt.world, 3,
					     &front, 1, rt.contexts[0], rt_done,
					     (void *)&flag) == PAMI_SUCCESS);
	rt_wait(0, &flag, 1);
	if (inside) {
		CHECK(rt_sum(g, 0, 1) == (long)front.hi + 1);
		flag = 0;
		PAMI_Geometry_destroy(rt.client, &g, rt.contexts[0], rt_done, (void *)&flag);
		rt_wait(0, &flag, 1);
	}
	rt_barrier(rt.world, 0, 1);
}

static void same_id_again(void)
{
	pami_geometry_range_t all = {0, (pami_task_t)rt.count - 1};

	for (int i = 0; i < 20; i++) {
		pami_geometry_t g;
		volatile int flag = 0;

		CHECK(PAMI_Geometry_create_taskrange(rt.client, 0, NULL, 0, &g, rt.world, 5, &all,
						     1, rt.contexts[0], rt_done,
						     (void *)&flag) == PAMI_SUCCESS);
		rt_wait(0, &flag, 1);
		CHECK(rt_sum(g, 0, 2) == 2 * (long)rt.count);
	}
}

static void on_another_context(void)
{
	pami_geometry_range_t all = {0, (pami_task_t)rt.count - 1};
	pami_geometry_t g;
	volatile int flag = 0;

	CHECK(PAMI_Geometry_create_taskrange(rt.client, 1, NULL, 0, &g, PAMI_GEOMETRY_NULL, 6, &all,
					     1, rt.contexts[1], rt_done,
					     (void *)&flag) == PAMI_SUCCESS);
	rt_wait(1, &flag, 1);
	CHECK(rt_sum(g, 1, 3) == 3 * (long)rt.count);
	rt_barrier(rt.world, 0, 1);
}

static void made_on_the_first_context_only(void)
{
	pami_geometry_range_t all = {0, (pami_task_t)rt.count - 1};
	pami_geometry_t g;
	volatile int flag = 0;

	CHECK(PAMI_Geometry_create_taskrange(rt.client, 1, NULL, 0, &g, PAMI_GEOMETRY_NULL, 7, &all,
					     1, rt.contexts[0], rt_done,
					     (void *)&flag) == PAMI_SUCCESS);
	rt_wait(0, &flag, 1); /* context 1 is not polled before this is done */
	CHECK(rt_sum(g, 1, 3) == 3 * (long)rt.count);
	rt_barrier(rt.world, 0, 1);
}

static void all_contexts_of_the_world(void)
{
	pami_geometry_range_t all = {0, (pami_task_t)rt.count - 1};
	pami_geometry_t g = PAMI_GEOMETRY_NULL;
	volatile int flag = 0;
	pami_result_t rc;
	pami_client_t one;
	pami_context_t only;
	pami_geometry_t its_world;

	/* A client with a single context says "all contexts" and gives the world as parent. */
	if (PAMI_Client_create("one", &one, NULL, 0) != PAMI_SUCCESS ||
	    PAMI_Context_createv(one, NULL, 0, &only, 1) != PAMI_SUCCESS ||
	    PAMI_Geometry_world(one, &its_world) != PAMI_SUCCESS)
		abort();
	rc = PAMI_Geometry_create_taskrange(one, PAMI_ALL_CONTEXTS, NULL, 0, &g, its_world, 8, &all,
					    1, only, rt_done, (void *)&flag);
	CHECK(rc == PAMI_SUCCESS);
	while (rc == PAMI_SUCCESS && !flag)
		PAMI_Context_advance(only, 1);
	if (rc == PAMI_SUCCESS) {
		pami_algorithm_t a;
		pami_xfer_t x;

		flag = 0;
		PAMI_Geometry_algorithms_query(g, PAMI_XFER_BARRIER, &a, NULL, 1, NULL, NULL, 0);
		x.cb_done = rt_done;
		x.cookie = (void *)&flag;
		x.algorithm = a;
		CHECK(PAMI_Collective(only, &x) == PAMI_SUCCESS);
		while (!flag)
			PAMI_Context_advance(only, 1);
	}
	PAMI_Context_destroyv(&only, 1);
	PAMI_Client_destroy(&one);
}

static void barrier_left_alone(void)
{
	/* Started, then other work and a few polls, then waited for. */
	static volatile int flag;
	pami_algorithm_t a;
	pami_xfer_t x;

	for (int round = 0; round < 10; round++) {
		PAMI_Geometry_algorithms_query(rt.world, PAMI_XFER_BARRIER, &a, NULL, 1, NULL, NULL,
					       0);
		flag = 0;
		x.cb_done = rt_done;
		x.cookie = (void *)&flag;
		x.algorithm = a;
		PAMI_Collective(rt.contexts[0], &x);
		for (int i = 0; i < 50 && !flag; i++) {
			volatile double y = 0;

			for (int k = 0; k < 200; k++)
				y += k;
			PAMI_Context_advance(rt.contexts[0], 1);
		}
		rt_wait(0, &flag, 1);
	}
}

int main(int argc, char **argv)
{
	pami_configuration_t q[2] = {{.name = PAMI_CLIENT_TASK_ID},
				     {.name = PAMI_CLIENT_NUM_TASKS}};

	if (PAMI_Client_create("teams", &rt.client, NULL, 0) ||
	    PAMI_Context_createv(rt.client, NULL, 0, rt.contexts, 4) ||
	    PAMI_Client_query(rt.client, q, 2) || PAMI_Geometry_world(rt.client, &rt.world))
		return 2;
	rt.task = (pami_task_t)q[0].value.intval;
	rt.count = q[1].value.intval;

	CASE(team_of_one, "A runtime makes a team of one task and meets in its barriers.");
	CASE(even_and_odd, "Halves of the job work on their own; one polls while the other works.");
	CASE(outsiders_take_part,
	     "Tasks outside a new group give no handle and still wait for it.");
	CASE(same_id_again, "A program makes groups with one id again and again, and ends none.");
	CASE(on_another_context, "A runtime makes its team on a context of its own.");
	CASE(made_on_the_first_context_only,
	     "A program makes a team of second contexts and polls the first.");
	CASE(all_contexts_of_the_world,
	     "A program with one context asks for all, with the world as parent.");
	CASE(barrier_left_alone, "A program starts a barrier, computes, and polls now and then.");

	PAMI_Context_destroyv(rt.contexts, 4);
	PAMI_Client_destroy(&rt.client);
	return check_failures != 0;
}
