/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that call loosely and always got away with it: the array given where an address is asked
 * for, fences outside a region, structures left as the stack had them, arguments not used.
 */
#include <pami.h>

#include "tests/guests/guest.h"

static pami_client_t client;
static pami_context_t context;
static size_t task_id, num_tasks;
static volatile int got;

static void count_down(pami_context_t c, void *cookie, pami_result_t r)
{
	(void)c, (void)r;
	--*(volatile int *)cookie;
}

static void on_any(pami_context_t c, void *cookie, const void *header, size_t header_size,
		   const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	static char sink[10000];

	(void)c, (void)cookie, (void)header, (void)header_size, (void)pipe, (void)bytes,
	    (void)origin;
	got++;
	if (recv)
		recv->addr = sink; /* everything else is left as it is */
}

static void wait_zero(volatile int *value)
{
	while (*value > 0)
		PAMI_Context_advance(context, 100);
}

static void world_barrier(void)
{
	pami_geometry_t world;
	pami_algorithm_t always[8];
	pami_metadata_t metadata[8];
	pami_xfer_t barrier; /* options are left as they are */
	volatile int active = 1;
	size_t lengths[2];

	PAMI_Geometry_world(client, &world);
	PAMI_Geometry_algorithms_num(world, PAMI_XFER_BARRIER, lengths);
	PAMI_Geometry_algorithms_query(world, PAMI_XFER_BARRIER, always, metadata,
				       lengths[0] < 8 ? lengths[0] : 8, NULL, NULL, 0);
	memset(&barrier, 0xa5, sizeof barrier);
	barrier.cb_done = count_down;
	barrier.cookie = (void *)&active;
	barrier.algorithm = always[0];
	CHECK(PAMI_Collective(context, &barrier) == PAMI_SUCCESS);
	wait_zero(&active);
}

static void hints_from_the_stack(void)
{
	pami_dispatch_callback_function f = {.p2p = on_any};
	pami_dispatch_hint_t h;
	pami_endpoint_t next;
	int want;

	memset(&h, 0, sizeof h);
	CHECK(PAMI_Dispatch_set(context, 11, f, NULL, h) == PAMI_SUCCESS);
	PAMI_Endpoint_create(client, (task_id + 1) % num_tasks, 0, &next);
	want = got + 3 * 4;
	world_barrier();
	for (int fill = 0; fill < 3; fill++)
		for (size_t bytes = 0; bytes < 10000; bytes = bytes * 20 + 1) {
			static char data[10000];
			pami_send_t s;
			volatile int local = 1;

			memset(&s, fill == 0 ? 0 : fill == 1 ? 0xff : 0x5a, sizeof s);
			s.send.header.iov_len = 0;
			s.send.header.iov_base = NULL;
			s.send.data.iov_base = data;
			s.send.data.iov_len = bytes;
			s.send.dispatch = 11;
			s.send.dest = next;
			s.send.hints.use_shmem = PAMI_HINT_DEFAULT;
			s.events.cookie = (void *)&local;
			s.events.local_fn = count_down;
			s.events.remote_fn = NULL;
			CHECK(PAMI_Send(context, &s) == PAMI_SUCCESS);
			wait_zero(&local);
		}
	while (got < want)
		PAMI_Context_advance(context, 1);
	world_barrier();
}

static void fence_outside_a_region(void)
{
	volatile int fenced = 2;
	pami_endpoint_t next;
	pami_result_t all, one;

	PAMI_Endpoint_create(client, (task_id + 1) % num_tasks, 0, &next);
	all = PAMI_Fence_all(context, count_down, (void *)&fenced);
	one = PAMI_Fence_endpoint(context, count_down, (void *)&fenced, next);
	CHECK(all == PAMI_SUCCESS);
	CHECK(one == PAMI_SUCCESS);
	if (all == PAMI_SUCCESS && one == PAMI_SUCCESS)
		wait_zero(&fenced);
	world_barrier();
}

static void fences_twice(void)
{
	volatile int fenced = 1;

	CHECK(PAMI_Fence_begin(context) == PAMI_SUCCESS);
	PAMI_Fence_begin(context);
	CHECK(PAMI_Fence_all(context, count_down, (void *)&fenced) == PAMI_SUCCESS);
	wait_zero(&fenced);
	CHECK(PAMI_Fence_end(context) == PAMI_SUCCESS);
	PAMI_Fence_end(context);
	world_barrier();
}

static void nobody_is_called(void)
{
	static char here[5000], there[5000];
	pami_put_simple_t put;
	pami_endpoint_t self;

	PAMI_Endpoint_create(client, task_id, 0, &self);
	for (int i = 0; i < 20; i++) {
		memset(&put, 0, sizeof put);
		put.rma.dest = self;
		put.rma.bytes = i % 2 ? 8 : sizeof here;
		put.addr.local = here;
		put.addr.remote = there;
		here[7] = (char)(i + 1);
		CHECK(PAMI_Put(context, &put) == PAMI_SUCCESS);
		for (int n = 0; n < 1000000 && *(volatile char *)&there[7] != (char)(i + 1); n++)
			PAMI_Context_advance(context, 1);
		CHECK(there[7] == (char)(i + 1));
	}
	world_barrier();
}

static void zero_bytes(void)
{
	pami_endpoint_t self;
	volatile int done = 3;
	pami_put_simple_t put;
	pami_get_simple_t get;
	char c;

	PAMI_Endpoint_create(client, task_id, 0, &self);
	memset(&put, 0, sizeof put);
	memset(&get, 0, sizeof get);
	put.rma.dest = get.rma.dest = self;
	put.rma.cookie = get.rma.cookie = (void *)&done;
	put.rma.done_fn = put.put.rdone_fn = get.rma.done_fn = count_down;
	put.addr.local = put.addr.remote = get.addr.local = get.addr.remote = &c;
	CHECK(PAMI_Put(context, &put) == PAMI_SUCCESS);
	CHECK(PAMI_Get(context, &get) == PAMI_SUCCESS);
	wait_zero(&done);
	world_barrier();
}

static void one_block_again_and_again(void)
{
	static uint64_t old, cell, one = 1;
	const int n = 3000;
	volatile int pending = n;
	pami_rmw_t rmw;
	pami_endpoint_t self;

	PAMI_Endpoint_create(client, task_id, 0, &self);
	memset(&rmw, 0, sizeof rmw);
	rmw.dest = self;
	rmw.cookie = (void *)&pending;
	rmw.done_fn = count_down;
	rmw.local = &old;
	rmw.remote = &cell;
	rmw.value = &one;
	rmw.operation = PAMI_ATOMIC_FETCH_ADD;
	rmw.type = PAMI_TYPE_UNSIGNED_LONG;
	for (int i = 0; i < n; i++)
		CHECK(PAMI_Rmw(context, &rmw) == PAMI_SUCCESS);
	wait_zero(&pending);
	CHECK(cell == (uint64_t)n);
	world_barrier();
}

static void count_without_an_array(void)
{
	pami_configuration_t unused;

	CHECK(PAMI_Client_query(client, NULL, 0) == PAMI_SUCCESS);
	CHECK(PAMI_Client_query(client, &unused, 0) == PAMI_SUCCESS);
	CHECK(PAMI_Context_query(context, NULL, 0) == PAMI_SUCCESS);
	CHECK(PAMI_Extension_close(NULL) == PAMI_SUCCESS);
	world_barrier();
}

static void header_longer_than_promised(void)
{
	pami_dispatch_callback_function f = {.p2p = on_any};
	pami_dispatch_hint_t h = {.long_header = PAMI_HINT_DISABLE};
	pami_configuration_t limit = {.name = PAMI_DISPATCH_RECV_IMMEDIATE_MAX};
	pami_send_t s;
	char *header;

	CHECK(PAMI_Dispatch_set(context, 12, f, NULL, h) == PAMI_SUCCESS);
	CHECK(PAMI_Dispatch_query(context, 12, &limit, 1) == PAMI_SUCCESS);
	header = calloc(1, limit.value.intval + 1);
	memset(&s, 0, sizeof s);
	s.send.header.iov_base = header;
	s.send.header.iov_len = limit.value.intval + 1;
	s.send.dispatch = 12;
	PAMI_Endpoint_create(client, task_id, 0, &s.send.dest);
	CHECK(PAMI_Send(context, &s) == PAMI_INVAL);
	s.send.header.iov_len--;
	got = 0;
	CHECK(PAMI_Send(context, &s) == PAMI_SUCCESS);
	while (!got)
		PAMI_Context_advance(context, 1);
	free(header);
	world_barrier();
}

static void destroy_the_handle_itself(void)
{
	/* PAMI_Context_destroyv(&context, 1) is meant. */
	CHECK(PAMI_Context_destroyv((pami_context_t *)context, 1) == PAMI_SUCCESS);
	CHECK(PAMI_Client_destroy(&client) == PAMI_SUCCESS);
	client = NULL;
}

int main(int argc, char **argv)
{
	pami_configuration_t configuration;

	if (PAMI_Client_create("LOOSE", &client, &configuration, 0) != PAMI_SUCCESS ||
	    PAMI_Context_createv(client, &configuration, 0, &context, 1) != PAMI_SUCCESS)
		return 1;
	configuration.name = PAMI_CLIENT_TASK_ID;
	PAMI_Client_query(client, &configuration, 1);
	task_id = configuration.value.intval;
	configuration.name = PAMI_CLIENT_NUM_TASKS;
	PAMI_Client_query(client, &configuration, 1);
	num_tasks = configuration.value.intval;

	CASE(hints_from_the_stack, "A program never clears its parameter structures.");
	CASE(fences_twice, "A program opens and closes its fence region twice.");
	CASE(fence_outside_a_region, "A program fences and has opened no region.");
	CASE(nobody_is_called, "A program gives no callbacks and looks at the memory instead.");
	CASE(zero_bytes, "A loop over sizes begins with zero bytes.");
	CASE(one_block_again_and_again, "A program issues one parameter block thousands of times.");
	CASE(count_without_an_array,
	     "A program asks for no attributes and closes what it never opened.");
	CASE(header_longer_than_promised, "A program promises short headers and sends a long one.");
	CASE(destroy_the_handle_itself,
	     "A program gives the context where its address is asked for.");

	if (client) {
		PAMI_Context_destroyv(&context, 1);
		PAMI_Client_destroy(&client);
	}
	return check_failures != 0;
}
