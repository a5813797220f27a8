/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dispatch functions that make a client and a context, exchange messages over them with the
 * neighbours, which do the same at that time, and destroy both before they return. The client of
 * the job has one context, the one inside whose dispatch function all of this happens. Each round
 * makes them anew, under the same name.
 */
#include "tests/harness/pami_job.h"

enum { ROUNDS = 4, LONG = 150000, START = 1, HELLO, LONG_WORD, ECHO };

static size_t rounds, begun, hellos, echoes;
static int long_got;
static unsigned char long_from[LONG], long_to[LONG];

static size_t next_task(void)
{
	return (me + 1) % tasks;
}

static void send_by(pami_context_t c, pami_endpoint_t to, unsigned id)
{
	size_t round = rounds;
	pami_send_immediate_t s = {.header = {&round, sizeof round}, .dispatch = id, .dest = to};

	CHECK_EQ(PAMI_Send_immediate(c, &s), PAMI_SUCCESS);
}

/* Once a round: send START to the next task. */
static void begin_round(size_t round)
{
	if (begun > round)
		return;
	begun = round + 1;
	rounds = round;
	send_by(context, get_endpoint(next_task(), 0), START);
}

static void on_hello(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
		     const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	CHECK(!memcmp(header, &rounds, sizeof rounds));
	hellos++;
	send_by(c, origin, ECHO);
}

static void on_echo(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
		    const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	CHECK(!memcmp(header, &rounds, sizeof rounds));
	echoes++;
}

static void on_long(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
		    const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	CHECK_EQ(bytes, LONG);
	receive_into(recv, long_to, flag_done, &long_got);
}

static void on_start(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
		     const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	const pami_dispatch_hint_t none = {0};
	pami_client_t made = NULL;
	pami_context_t inner = NULL;
	pami_endpoint_t to;
	int sent = 0;
	pami_send_t s = {.send = {.data = {long_from, LONG}, .dispatch = LONG_WORD},
			 .events = {.cookie = &sent, .local_fn = flag_done}};

	/* The sender may have left a barrier in which this task still is. */
	memcpy(&rounds, header, sizeof rounds);
	begin_round(rounds);
	fill_pattern(long_from, 1 + rounds, LONG);
	hellos = echoes = 0;
	long_got = 0;
	memset(long_to, 0, LONG);
	CHECK_EQ(PAMI_Client_create("inside", &made, NULL, 0), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Context_createv(made, NULL, 0, &inner, 1), PAMI_SUCCESS);
	dispatch_set(inner, HELLO, on_hello, NULL, none);
	dispatch_set(inner, ECHO, on_echo, NULL, none);
	dispatch_set(inner, LONG_WORD, on_long, NULL, none);
	CHECK_EQ(PAMI_Endpoint_create(made, (pami_task_t)next_task(), 0, &to), PAMI_SUCCESS);
	send_by(inner, to, HELLO);
	s.send.dest = to;
	CHECK_EQ(PAMI_Send(inner, &s), PAMI_SUCCESS);
	while (!hellos || !echoes || !sent || !long_got)
		PAMI_Context_advance(inner, 100);
	CHECK_EQ(count_different(long_to, 1 + rounds, LONG), 0);
	CHECK_EQ(hellos, 1);
	CHECK_EQ(echoes, 1);
	CHECK_EQ(PAMI_Context_destroyv(&inner, 1), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Client_destroy(&made), PAMI_SUCCESS);
	++*(int *)cookie;
}

int main(void)
{
	const pami_dispatch_hint_t none = {0};
	int started = 0;

	job_begin(1);
	dispatch_set(context, START, on_start, &started, none);
	for (int round = 0; round < ROUNDS; round++) {
		begin_round((size_t)round);
		WAIT(started > round);
		run_barrier();
	}
	return job_end(1);
}
