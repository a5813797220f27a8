/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What trace_messages.sh traces: each task sends N messages of each of three sizes to the next one
 * (short, eager, rendezvous), and puts, gets and adds once at the task before it. Then all do five
 * barriers. With the word "die", task 1 exits with status 3 after the first of them.
 */
#include "tests/harness/pami_job.h"

#define SIZES 3
#define LONG  100000

static const size_t size[SIZES] = {8, 1000, LONG};
static char from[LONG], to[LONG];
static int taken, done;
static long word[3] = {4, 5, 6};

static void on_message(pami_context_t c, void *cookie, const void *header, size_t header_size,
		       const void *data, size_t data_size, pami_endpoint_t origin,
		       pami_recv_t *recv)
{
	if (!recv) {
		taken++;
		return;
	}
	recv->addr = to;
	recv->local_fn = flag_done;
	recv->cookie = &taken;
}

/* A put, a get and an atomic of words of the task that sent `to`, where its address is. */
static void use_words(void)
{
	pami_endpoint_t before = get_endpoint((me + tasks - 1) % tasks, 0);
	long *there, put = 7, got = 0, one = 1, old = -1;
	pami_put_simple_t p = {.rma = {before, {0}, sizeof put, &done, flag_done}};
	pami_get_simple_t g = {.rma = {before, {0}, sizeof got, &done, flag_done}};
	pami_rmw_t r = {.dest = before,
			.cookie = &done,
			.done_fn = flag_done,
			.local = &old,
			.value = &one,
			.operation = PAMI_ATOMIC_FETCH_ADD,
			.type = PAMI_TYPE_SIGNED_LONG};
	int all = done + 4;

	memcpy(&there, to, sizeof there);
	p.addr.local = &put;
	p.addr.remote = there;
	p.put.rdone_fn = flag_done;
	CHECK_EQ(PAMI_Put(context, &p), PAMI_SUCCESS);
	g.addr.local = &got;
	g.addr.remote = there + 1;
	CHECK_EQ(PAMI_Get(context, &g), PAMI_SUCCESS);
	r.remote = there + 2;
	CHECK_EQ(PAMI_Rmw(context, &r), PAMI_SUCCESS);
	WAIT(done == all);
	CHECK(got == 5 && old == 6);
}

int main(int argc, char **argv)
{
	int messages = argc > 1 ? atoi(argv[1]) : 1;
	pami_dispatch_hint_t hint = {0};
	pami_send_t s = {.events = {.cookie = &done, .local_fn = flag_done}};

	job_begin(1);
	memcpy(from, &(long *){word}, sizeof(long *));
	dispatch_set(context, 5, on_message, NULL, hint);
	s.send.dispatch = 5;
	s.send.dest = get_endpoint((me + 1) % tasks, 0);
	s.send.data.iov_base = from;
	for (int i = 0; i < messages; i++)
		for (int k = 0; k < SIZES; k++) {
			int all = done + 1 + (size[k] == LONG);

			s.send.data.iov_len = size[k];
			s.events.remote_fn = size[k] == LONG ? flag_done : NULL;
			CHECK_EQ(PAMI_Send(context, &s), PAMI_SUCCESS);
			WAIT(done == all);
		}
	WAIT(taken == SIZES * messages);
	use_words();
	for (int i = 0; i < 5; i++) {
		run_barrier();
		CHECK(word[0] == 7 && word[2] == 7);
		if (argc > 2 && me == 1)
			exit(3);
	}
	return job_end(1);
}
