/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual time: programs that poll a bounded number of times with nothing under way and then go on,
 * and programs that never go on. The case is the first argument; virt_polls.sh runs them.
 */
#include <time.h>

#include "tests/harness/pami_job.h"

#define POLLS   1000
#define POLL_US 0.060 /* cost of one empty poll, mu/vtime/cost.def */
#define ID      1
#define ID_LONG 2

static int received;

static void on_message(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
		       const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	received++;
}

/* The bounded polls took what the cost table says, and nothing else. */
static void check_cost(double begin)
{
	double us = (PAMI_Wtime(client) - begin) * 1e6;

	CHECK(us >= POLLS * POLL_US * 0.99 && us < POLLS * POLL_US * 1.05);
	if (check_failures)
		fprintf(stderr, "task %zu: %d polls took %.3f us\n", me, POLLS, us);
}

static void poll_in_one_call(void)
{
	double begin = PAMI_Wtime(client);

	PAMI_Context_advance(context, POLLS);
	check_cost(begin);
}

static void poll_in_many_calls(void)
{
	double begin = PAMI_Wtime(client);

	for (int i = 0; i < POLLS; i++)
		PAMI_Context_advance(context, 1);
	check_cost(begin);
}

/* The last task polls, the others wait for what it sends afterwards. */
static void poll_while_others_wait(void)
{
	if (me == tasks - 1) {
		poll_in_one_call();
		poll_in_many_calls();
		for (size_t i = 0; i < tasks; i++) {
			pami_send_immediate_t s = {.dispatch = ID, .dest = get_endpoint(i, 0)};

			CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
		}
	}
	WAIT(received);
}

static int arrived;
static unsigned char *long_data;

static void on_long(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
		    const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	recv->addr = long_data;
	recv->local_fn = flag_done;
	recv->cookie = &arrived;
}

/*
 * Task 0 polls, while a long message travels between the others. The end of its polls is not known
 * to the simulator, so they may cost more than the table says, but not by orders of magnitude.
 */
static void poll_while_messages_travel(void)
{
	enum { LONG = 64 << 20, MOST_US = 15000 };
	pami_send_t s = {.send = {.dispatch = ID_LONG, .dest = get_endpoint(2, 0)}};
	double begin;
	int sent = 0;

	long_data = me ? calloc(1, LONG) : NULL;
	s.send.data = (struct iovec){long_data, LONG};
	s.events = (pami_send_event_t){&sent, NULL, flag_done};
	run_barrier();
	if (me == 0) {
		begin = PAMI_Wtime(client);
		for (int i = 0; i < POLLS; i++)
			PAMI_Context_advance(context, 1);
		CHECK((PAMI_Wtime(client) - begin) * 1e6 < MOST_US);
		if (check_failures)
			fprintf(stderr, "%d polls took %.3f us\n", POLLS,
				(PAMI_Wtime(client) - begin) * 1e6);
	} else if (me == 1) {
		CHECK_EQ(PAMI_Send(context, &s), PAMI_SUCCESS);
		WAIT(sent);
	} else if (me == 2) {
		WAIT(arrived);
	}
	free(long_data);
}

/* Many more polls than that, while another task waits for a time of the clock. */
static void poll_while_one_watches_the_clock(void)
{
	double until = PAMI_Wtime(client) + 0.020;

	if (me == 0)
		while (PAMI_Wtime(client) < until)
			PAMI_Context_advance(context, 1);
	else
		for (int i = 0; i < 20 * POLLS; i++)
			PAMI_Context_advance(context, 1);
}

/* As a program that is slow in real time: valgrind, a crowded machine. */
static void poll_slowly(void)
{
	struct timespec nap = {0, 1000000};

	for (int i = 0; i < 2500; i++) {
		PAMI_Context_advance(context, 1);
		nanosleep(&nap, NULL);
	}
}

static void poll_for_ever(void)
{
	for (;;)
		PAMI_Context_advance(context, 100);
}

/* The largest maximum means "until something happens". */
static void wait_for_ever(void)
{
	PAMI_Context_advance(context, (size_t)-1);
}

static void lock_for_ever(void)
{
	PAMI_Context_lock(context);
	PAMI_Context_lock(context);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	job_begin(1);
	dispatch_set(context, ID, on_message, NULL, (pami_dispatch_hint_t){0});
	dispatch_set(context, ID_LONG, on_long, NULL, (pami_dispatch_hint_t){0});
	if (!strcmp(name, "start")) { /* before the first message of the job */
		poll_in_one_call();
		poll_in_many_calls();
		run_barrier();
		poll_in_one_call();
		run_barrier();
	} else if (!strcmp(name, "others")) {
		run_barrier();
		poll_while_others_wait();
		run_barrier();
	} else if (!strcmp(name, "clock")) {
		run_barrier();
		poll_while_one_watches_the_clock();
		run_barrier();
	} else if (!strcmp(name, "travel")) {
		run_barrier();
		poll_while_messages_travel();
		run_barrier();
	} else if (!strcmp(name, "slow")) {
		poll_slowly();
	} else if (!strcmp(name, "forever")) {
		poll_for_ever();
	} else if (!strcmp(name, "wait")) {
		wait_for_ever();
	} else if (!strcmp(name, "lock")) {
		lock_for_ever();
	} else if (!strcmp(name, "mixed")) {
		if (me)
			poll_for_ever();
		lock_for_ever();
	} else {
		fprintf(stderr, "no case '%s'\n", name);
		return 2;
	}
	return job_end(1);
}
