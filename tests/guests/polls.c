/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that poll although they have other work: an event loop that sends and polls once, a
 * library that polls in each of its calls, a poll with a huge maximum to drain what is there.
 */
#include <pami.h>

#include "tests/guests/guest.h"

#define NCONTEXTS 4

static pami_client_t client;
static pami_context_t ctx[NCONTEXTS];
static size_t rank, size;
static volatile int arrived;
static pami_endpoint_t right;

static void decrement_count(pami_context_t context, void *cookie, pami_result_t result)
{
	(void)context;
	CHECK(result == PAMI_SUCCESS);
	(*(volatile int *)cookie)--;
}

static void on_message(pami_context_t context, void *cookie, const void *header, size_t header_size,
		       const void *data, size_t data_size, pami_endpoint_t origin,
		       pami_recv_t *recv)
{
	(void)context, (void)header, (void)header_size, (void)data_size, (void)origin;
	CHECK(recv == NULL && data != NULL);
	(*(volatile int *)cookie)++;
}

static void run_barrier(void)
{
	static pami_xfer_t xfer;
	volatile int active = 1;

	if (!xfer.algorithm) {
		pami_geometry_t world;
		pami_algorithm_t algorithm;

		PAMI_Geometry_world(client, &world);
		PAMI_Geometry_algorithms_query(world, PAMI_XFER_BARRIER, &algorithm, NULL, 1, NULL,
					       NULL, 0);
		xfer.algorithm = algorithm;
	}
	xfer.cb_done = decrement_count;
	xfer.cookie = (void *)&active;
	PAMI_Collective(ctx[0], &xfer);
	while (active)
		PAMI_Context_advance(ctx[0], 1);
}

static double compute_something(int n)
{
	volatile double x = 1;

	for (int i = 0; i < n; i++)
		x = x * 1.0000001 + 1e-9;
	return x;
}

static void send_one(void)
{
	long word = 42;
	pami_send_immediate_t s;

	memset(&s, 0, sizeof s);
	s.dispatch = 5;
	s.dest = right;
	s.header.iov_base = (void *)&word;
	s.header.iov_len = sizeof word;
	CHECK(PAMI_Send_immediate(ctx[0], &s) == PAMI_SUCCESS);
}

static void one_poll_a_message(void)
{
	const int messages = 2000;
	int wanted = arrived + messages;

	run_barrier();
	for (int i = 0; i < messages; i++) {
		send_one();
		PAMI_Context_advance(ctx[0], 1);
	}
	while (arrived < wanted)
		PAMI_Context_advance(ctx[0], 1);
	run_barrier();
}

static void courtesy_polls(void)
{
	for (int i = 0; i < 2000; i++) {
		compute_something(20);
		PAMI_Context_advance(ctx[0], 1);
	}
	run_barrier();
}

static void courtesy_polls_of_ten(void)
{
	for (int i = 0; i < 300; i++) {
		compute_something(100);
		PAMI_Context_advance(ctx[0], 10);
	}
	run_barrier();
}

static void drain_with_a_huge_maximum(void)
{
	for (int i = 0; i < 10; i++)
		PAMI_Context_advance(ctx[0], 1000);
	run_barrier();
}

static void drain_at_start(void)
{
	PAMI_Context_advance(ctx[0], 10000);
	run_barrier();
}

static void polls_of_16(void)
{
	for (int i = 0; i < 500; i++)
		PAMI_Context_advance(ctx[0], 16);
	run_barrier();
}

static void advance_all_contexts(void)
{
	for (int i = 0; i < 500; i++)
		PAMI_Context_advancev(ctx, NCONTEXTS, 10);
	for (int i = 0; i < 500; i++)
		for (int c = 0; c < NCONTEXTS; c++)
			PAMI_Context_advance(ctx[c], 4);
	run_barrier();
}

static void lock_advance_unlock(void)
{
	for (int i = 0; i < 500; i++) {
		PAMI_Context_lock(ctx[0]);
		PAMI_Context_advance(ctx[0], 10);
		PAMI_Context_unlock(ctx[0]);
		compute_something(50);
	}
	for (int i = 0; i < 500; i++) {
		PAMI_Context_trylock_advancev(ctx, NCONTEXTS, 10);
		compute_something(50);
	}
	run_barrier();
}

static char window[2][4096];

static void put_and_poll(void)
{
	volatile int pending = 0;
	pami_put_simple_t put;

	memset(&put, 0, sizeof put);
	put.rma.dest = right;
	put.rma.bytes = 64;
	put.rma.cookie = (void *)&pending;
	put.rma.done_fn = decrement_count;
	put.addr.local = window[0];
	put.addr.remote = window[1]; /* the executable is mapped at one address, or it puts here */
	if (size > 1) {              /* addresses of others are not known: send to itself */
		pami_endpoint_t self;

		PAMI_Endpoint_create(client, rank, 0, &self);
		put.rma.dest = self;
	}
	for (int i = 0; i < 500; i++) {
		pending++;
		CHECK(PAMI_Put(ctx[0], &put) == PAMI_SUCCESS);
		PAMI_Context_advance(ctx[0], 1);
	}
	while (pending)
		PAMI_Context_advance(ctx[0], 1);
	run_barrier();
}

static void get_and_wait(void)
{
	volatile int pending = 0;
	pami_get_simple_t get;
	pami_endpoint_t self;

	PAMI_Endpoint_create(client, rank, 0, &self);
	memset(&get, 0, sizeof get);
	get.rma.dest = self;
	get.rma.bytes = 1024;
	get.rma.cookie = (void *)&pending;
	get.rma.done_fn = decrement_count;
	get.addr.local = window[0];
	get.addr.remote = window[1];
	for (int i = 0; i < 300; i++) {
		pending = 1;
		CHECK(PAMI_Get(ctx[0], &get) == PAMI_SUCCESS);
		while (pending)
			PAMI_Context_advance(ctx[0], 10);
		compute_something(50);
	}
	run_barrier();
}

static long counter;

static void atomics_on_itself(void)
{
	static long one = 1, old;
	volatile int pending = 0;
	pami_rmw_t rmw;
	pami_endpoint_t self;

	PAMI_Endpoint_create(client, rank, 0, &self);
	memset(&rmw, 0, sizeof rmw);
	rmw.dest = self;
	rmw.cookie = (void *)&pending;
	rmw.done_fn = decrement_count;
	rmw.local = &old;
	rmw.remote = &counter;
	rmw.value = &one;
	rmw.operation = PAMI_ATOMIC_FETCH_ADD;
	rmw.type = PAMI_TYPE_SIGNED_LONG;
	counter = 0;
	for (int i = 0; i < 300; i++) {
		pending = 1;
		CHECK(PAMI_Rmw(ctx[0], &rmw) == PAMI_SUCCESS);
		while (pending)
			PAMI_Context_advance(ctx[0], 1);
		CHECK(old == i);
	}
	CHECK(counter == 300);
	run_barrier();
}

static void drain_until_empty(void)
{
	const int messages = 200;
	int wanted = arrived + messages;

	run_barrier();
	for (int i = 0; i < messages; i++) {
		int polls = 0;

		send_one();
		while (PAMI_Context_advance(ctx[0], 1) != PAMI_EAGAIN && ++polls < 100000)
			;
	}
	while (arrived < wanted)
		PAMI_Context_advance(ctx[0], 1);
	run_barrier();
}

static void wait_for_one_event(void)
{
	/* Everybody sends one message to its right and then blocks in the poll for the one from its
	 * left. */
	int before = arrived;

	run_barrier();
	for (int i = 1; i <= 20; i++) {
		send_one();
		while (arrived < before + i)
			PAMI_Context_advance(ctx[0], (size_t)-1);
	}
	run_barrier();
}

static void short_sleeps_between_polls(void)
{
	int wanted = arrived + 10;

	run_barrier();
	for (int i = 0; i < 10; i++)
		send_one();
	while (arrived < wanted) {
		struct timespec t = {0, 100000};

		PAMI_Context_advance(ctx[0], 100);
		nanosleep(&t, NULL);
	}
	run_barrier();
}

int main(int argc, char **argv)
{
	pami_configuration_t q[2];
	pami_dispatch_callback_function fn;
	pami_dispatch_hint_t hints;

	if (PAMI_Client_create("polls", &client, NULL, 0) != PAMI_SUCCESS)
		return 1;
	q[0].name = PAMI_CLIENT_TASK_ID;
	q[1].name = PAMI_CLIENT_NUM_TASKS;
	PAMI_Client_query(client, q, 2);
	rank = q[0].value.intval;
	size = q[1].value.intval;
	if (PAMI_Context_createv(client, NULL, 0, ctx, NCONTEXTS) != PAMI_SUCCESS)
		return 1;
	memset(&hints, 0, sizeof hints);
	fn.p2p = on_message;
	PAMI_Dispatch_set(ctx[0], 5, fn, (void *)&arrived, hints);
	PAMI_Endpoint_create(client, (rank + 1) % size, 0, &right);

	CASE(drain_at_start, "Start-up code polls long before anything can have come.");
	CASE(one_poll_a_message, "An event loop polls once for each message that it sends.");
	CASE(courtesy_polls,
	     "A library polls once in each of its calls; its user computes between them.");
	CASE(courtesy_polls_of_ten, "A scheduler polls ten times between two pieces of work.");
	CASE(drain_with_a_huge_maximum,
	     "A program gives a maximum of 1000 to be sure that all is read.");
	CASE(polls_of_16, "A program polls 16 times in each turn of its loop.");
	CASE(advance_all_contexts, "A program polls all its contexts, of which it uses one.");
	CASE(lock_advance_unlock, "A program takes the context's lock around each poll.");
	CASE(put_and_poll, "A program polls once after each put.");
	CASE(get_and_wait, "A program waits for each get on its own.");
	CASE(atomics_on_itself, "A counter's owner uses the atomic operation too.");
	CASE(drain_until_empty, "A program polls until a poll says that nothing came.");
	CASE(wait_for_one_event, "A program gives the largest maximum and means: block.");
	CASE(short_sleeps_between_polls,
	     "A program sleeps between its polls to spare the processor.");

	PAMI_Context_destroyv(ctx, NCONTEXTS);
	PAMI_Client_destroy(&client);
	return check_failures != 0;
}
