/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that pass what is not there: NULL, handles destroyed before, sizes that went below zero.
 */
#include <pami.h>

#include "tests/guests/guest.h"

static pami_client_t cl;
static pami_context_t cx, gone;
static size_t id, n;
static pami_endpoint_t next, self;
static int called[2], errors;

static void first_called(pami_context_t c, void *cookie, pami_result_t r)
{
	(void)c, (void)cookie;
	called[0]++;
	errors += r != PAMI_SUCCESS;
}

static void second_called(pami_context_t c, void *cookie, pami_result_t r)
{
	(void)c, (void)cookie;
	called[1]++;
	errors += r != PAMI_SUCCESS;
}

static void set_flag(pami_context_t c, void *cookie, pami_result_t r)
{
	(void)c, (void)r;
	*(volatile int *)cookie = 1;
}

static void run_barrier(void)
{
	pami_geometry_t w;
	pami_xfer_t x;
	volatile int done = 0;

	memset(&x, 0, sizeof x);
	PAMI_Geometry_world(cl, &w);
	PAMI_Geometry_algorithms_query(w, PAMI_XFER_BARRIER, &x.algorithm, NULL, 1, NULL, NULL, 0);
	x.cb_done = set_flag;
	x.cookie = (void *)&done;
	PAMI_Collective(cx, &x);
	while (!done)
		PAMI_Context_advance(cx, 10);
}

#define REFUSED(call) CHECK((call) != PAMI_SUCCESS)

static void null_handles(void)
{
	pami_send_immediate_t si;
	pami_send_t s;
	pami_put_simple_t p;
	pami_get_simple_t g;
	pami_rmw_t r;
	pami_xfer_t x;
	pami_work_t w;

	memset(&si, 0, sizeof si);
	memset(&s, 0, sizeof s);
	memset(&p, 0, sizeof p);
	memset(&g, 0, sizeof g);
	memset(&r, 0, sizeof r);
	memset(&x, 0, sizeof x);
	REFUSED(PAMI_Context_advance(NULL, 1));
	REFUSED(PAMI_Context_lock(NULL));
	REFUSED(PAMI_Context_trylock(NULL));
	REFUSED(PAMI_Context_unlock(NULL));
	REFUSED(PAMI_Send_immediate(NULL, &si));
	REFUSED(PAMI_Send(NULL, &s));
	REFUSED(PAMI_Put(NULL, &p));
	REFUSED(PAMI_Get(NULL, &g));
	REFUSED(PAMI_Rmw(NULL, &r));
	REFUSED(PAMI_Collective(NULL, &x));
	REFUSED(PAMI_Context_post(NULL, &w, NULL, NULL));
	REFUSED(PAMI_Context_destroyv(NULL, 1));
	REFUSED(PAMI_Client_destroy(NULL));
	REFUSED(PAMI_Fence_all(NULL, set_flag, NULL));
	run_barrier();
}

static void null_parameters(void)
{
	REFUSED(PAMI_Send_immediate(cx, NULL));
	REFUSED(PAMI_Send(cx, NULL));
	REFUSED(PAMI_Put(cx, NULL));
	REFUSED(PAMI_Get(cx, NULL));
	REFUSED(PAMI_Rput(cx, NULL));
	REFUSED(PAMI_Rget(cx, NULL));
	REFUSED(PAMI_Rmw(cx, NULL));
	REFUSED(PAMI_Collective(cx, NULL));
	REFUSED(PAMI_Context_advancev(NULL, 1, 1));
	REFUSED(PAMI_Context_createv(cl, NULL, 0, NULL, 1));
	REFUSED(PAMI_Client_create("x", NULL, NULL, 0));
	REFUSED(PAMI_Geometry_world(cl, NULL));
	run_barrier();
}

static void a_context_destroyed_before(void)
{
	pami_client_t other;
	pami_send_immediate_t si;

	memset(&si, 0, sizeof si);
	si.dest = self;
	CHECK(PAMI_Client_create("other", &other, NULL, 0) == PAMI_SUCCESS);
	CHECK(PAMI_Context_createv(other, NULL, 0, &gone, 1) == PAMI_SUCCESS);
	{
		pami_context_t copy = gone;

		CHECK(PAMI_Context_destroyv(&gone, 1) == PAMI_SUCCESS);
		REFUSED(PAMI_Context_advance(copy, 1));
		REFUSED(PAMI_Send_immediate(copy, &si));
		REFUSED(PAMI_Context_destroyv(&copy, 1));
	}
	CHECK(PAMI_Client_destroy(&other) == PAMI_SUCCESS);
	run_barrier();
}

static const size_t sizes[] = {(size_t)-1,      (size_t)1 << 63, ((size_t)1 << 63) - 1,
			       (size_t)1 << 47, (size_t)1 << 40, ((size_t)1 << 32) + 1};

/* The put completes at once, or each of its callbacks gets one error at once. */
static void sizes_below_zero_put(void)
{
	static char local[64], remote[64];

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		pami_put_simple_t p;
		pami_result_t r;

		memset(&p, 0, sizeof p);
		p.rma.dest = n > 1 ? next : self;
		p.rma.bytes = sizes[i];
		p.rma.done_fn = first_called;
		p.put.rdone_fn = second_called;
		p.addr.local = local;
		p.addr.remote = remote;
		called[0] = called[1] = errors = 0;
		/* Memory behind the 64 bytes may be mapped: ask at an address where nothing is. */
		p.addr.local = (char *)0 + 4096;
		r = PAMI_Put(cx, &p);
		if (r == PAMI_SUCCESS) {
			while (!called[0] || !called[1])
				PAMI_Context_advance(cx, 10);
			CHECK(errors == 2);
		}
		for (int k = 0; k < 20; k++)
			PAMI_Context_advance(cx, 1);
		CHECK(called[0] == (r == PAMI_SUCCESS) && called[1] == (r == PAMI_SUCCESS));
	}
	run_barrier();
}

static void sizes_below_zero_get(void)
{
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		pami_get_simple_t g;
		pami_result_t r;

		memset(&g, 0, sizeof g);
		g.rma.dest = n > 1 ? next : self;
		g.rma.bytes = sizes[i];
		g.rma.done_fn = first_called;
		g.addr.local = (char *)0 + 4096;
		g.addr.remote = (char *)0 + 4096;
		called[0] = errors = 0;
		r = PAMI_Get(cx, &g);
		if (r == PAMI_SUCCESS) {
			while (!called[0])
				PAMI_Context_advance(cx, 10);
			CHECK(errors == 1);
		}
		for (int k = 0; k < 20; k++)
			PAMI_Context_advance(cx, 1);
		CHECK(called[0] == (r == PAMI_SUCCESS));
	}
	run_barrier();
}

static void beyond_the_region(void)
{
	static char local[4096], remote[4096 + 64];
	static pami_memregion_t mine, all[64];
	size_t out;
	pami_geometry_t w;
	pami_xfer_t x;
	volatile int done = 0;
	size_t to = (id + 1) % n;

	PAMI_Memregion_create(cx, remote, 1000, &out, &mine);
	memset(remote, '-', sizeof remote);
	memset(&x, 0, sizeof x);
	PAMI_Geometry_world(cl, &w);
	PAMI_Geometry_algorithms_query(w, PAMI_XFER_ALLGATHER, &x.algorithm, NULL, 1, NULL, NULL,
				       0);
	x.cb_done = set_flag;
	x.cookie = (void *)&done;
	x.cmd.xfer_allgather.sndbuf = (char *)&mine;
	x.cmd.xfer_allgather.stype = PAMI_TYPE_BYTE;
	x.cmd.xfer_allgather.stypecount = sizeof mine;
	x.cmd.xfer_allgather.rcvbuf = (char *)all;
	x.cmd.xfer_allgather.rtype = PAMI_TYPE_BYTE;
	x.cmd.xfer_allgather.rtypecount = sizeof mine;
	PAMI_Collective(cx, &x);
	while (!done)
		PAMI_Context_advance(cx, 1);
	for (int i = 0; i < 4; i++) {
		static const size_t offsets[] = {0, 999, 1000, (size_t)-8},
				    bytes[] = {1001, 2, 1, 16};
		pami_rput_simple_t p;
		pami_memregion_t here;
		pami_result_t r;

		PAMI_Memregion_create(cx, local, sizeof local, &out, &here);
		memset(local, 'x', sizeof local);
		memset(&p, 0, sizeof p);
		p.rma.dest = next;
		p.rma.bytes = bytes[i];
		p.rma.done_fn = first_called;
		p.put.rdone_fn = second_called;
		p.rdma.local.mr = &here;
		p.rdma.remote.mr = &all[to];
		p.rdma.remote.offset = offsets[i];
		called[0] = called[1] = errors = 0;
		r = PAMI_Rput(cx, &p);
		if (r == PAMI_SUCCESS) {
			while (!called[0] || !called[1])
				PAMI_Context_advance(cx, 10);
			CHECK(errors >= 1);
		}
	}
	run_barrier();
	for (size_t i = 1000; i < sizeof remote; i++)
		if (remote[i] != '-') {
			CHECK(!"bytes behind the region are as they were");
			break;
		}
	run_barrier();
}

int main(int argc, char **argv)
{
	pami_configuration_t q[2] = {{.name = PAMI_CLIENT_TASK_ID},
				     {.name = PAMI_CLIENT_NUM_TASKS}};

	if (PAMI_Client_create("wrong", &cl, NULL, 0) || PAMI_Context_createv(cl, NULL, 0, &cx, 1))
		return 1;
	PAMI_Client_query(cl, q, 2);
	id = q[0].value.intval;
	n = q[1].value.intval;
	PAMI_Endpoint_create(cl, (pami_task_t)id, 0, &self);
	PAMI_Endpoint_create(cl, (pami_task_t)((id + 1) % n), 0, &next);

	CASE(null_handles, "A program calls before it has a context.");
	CASE(null_parameters, "A program passes NULL where a structure is asked for.");
	CASE(a_context_destroyed_before, "A program goes on with a context that it has destroyed.");
	CASE(sizes_below_zero_put, "A program computes a negative size and puts it.");
	CASE(sizes_below_zero_get, "A program computes a negative size and gets it.");
	CASE(beyond_the_region, "A program puts beyond the end of a region.");

	PAMI_Context_destroyv(&cx, 1);
	PAMI_Client_destroy(&cl);
	return check_failures != 0;
}
