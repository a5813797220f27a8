/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long gets across the machine, all at once, beside short messages between two corners of it. The
 * data is right, whether gets are paced or not; a get of memory that cannot be read completes with
 * an error. Task 0 prints the half round trip of the messages, and the time of the gets.
 * usage: pami_pacing [death | close], as jobs by pami_pacing.sh
 */
#include <sys/mman.h>
#include <unistd.h>

#include "tests/harness/pami_job.h"

#define BYTES ((size_t)300000)
#define GETS  4

enum { ID_PING = 1, ID_PONG };

static unsigned char *memory;
static uint64_t base_of[256];
static unsigned char copy[GETS][BYTES];
static int pongs, gets_done;
static pami_result_t error = PAMI_SUCCESS;

static void send(size_t id, size_t task)
{
	pami_send_immediate_t s = {.dispatch = id, .dest = get_endpoint(task, 0)};

	CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
}

static void on_ping(pami_context_t c, void *cookie, const void *header, size_t header_size,
		    const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	if (cookie)
		send(ID_PONG, 0);
	else
		pongs++;
}

static void get_done(pami_context_t c, void *cookie, pami_result_t result)
{
	if (cookie && result != PAMI_SUCCESS)
		*(pami_result_t *)cookie = result;
	else if (!cookie)
		CHECK_EQ(result, PAMI_SUCCESS);
	gets_done++;
}

static void start_get(size_t task, uint64_t from, void *to, size_t bytes, void *cookie)
{
	pami_get_simple_t g = {.rma = {.dest = get_endpoint(task, 0),
				       .bytes = bytes,
				       .cookie = cookie,
				       .done_fn = get_done},
			       .addr = {to, (void *)(uintptr_t)from}};
	pami_result_t result = PAMI_Get(context, &g);

	CHECK(result == PAMI_SUCCESS || result == PAMI_SHUTDOWN);
	if (result == PAMI_SHUTDOWN) /* it is known already that the task has died */
		get_done(context, cookie, result);
}

static void tell_addresses(void)
{
	pami_xfer_t x = {.algorithm = get_algorithm(PAMI_XFER_ALLGATHER)};
	uint64_t own = (uint64_t)(uintptr_t)memory;

	x.cmd.xfer_allgather = (pami_allgather_t){.sndbuf = (char *)&own,
						  .stype = PAMI_TYPE_BYTE,
						  .stypecount = sizeof own,
						  .rcvbuf = (char *)base_of,
						  .rtype = PAMI_TYPE_BYTE,
						  .rtypecount = sizeof own};
	run_collective(&x);
}

/* The task whose number has all bits inverted is furthest away. */
static void get_from_opposite(void)
{
	size_t from = tasks - 1 - me;
	double start, trips = 0;
	unsigned count = 0;

	run_barrier();
	start = PAMI_Wtime(client);
	for (int i = 0; i < GETS; i++)
		start_get(from, base_of[from] + (uint64_t)i, copy[i], BYTES, NULL);
	while (gets_done < GETS) {
		int before = pongs;
		double sent = PAMI_Wtime(client);

		if (!me) {
			send(ID_PING, tasks - 1);
			WAIT(pongs > before);
			trips += PAMI_Wtime(client) - sent;
			count++;
		} else {
			PAMI_Context_advance(context, 1);
		}
	}
	if (!me)
		printf("half round trip %.3f us, gets %.3f us\n", trips / count / 2 * 1e6,
		       (PAMI_Wtime(client) - start) * 1e6);
	for (int i = 0; i < GETS; i++)
		for (size_t k = 0; k < BYTES; k++)
			REQUIRE(copy[i][k] == memory[k + (size_t)i]);
	run_barrier();
}

/* A get of which the first pieces can be had, beside one that can be had whole. */
static void get_what_is_not_there(void)
{
	size_t from = tasks - 1 - me;

	gets_done = 0;
	start_get(from, base_of[from] + 200000 + GETS, copy[0], BYTES, &error);
	start_get(from, base_of[from], copy[1], BYTES, NULL);
	while (gets_done < 2)
		PAMI_Context_advance(context, 1);
	CHECK(error != PAMI_SUCCESS);
	for (size_t k = 0; k < BYTES; k++)
		REQUIRE(copy[1][k] == memory[k]);
	run_barrier();
}

/* Task 0 ends while the others fetch from it: each get ends, with the data or an error. */
static void get_from_dying(void)
{
	barrier_before_death();
	if (!me) {
		for (int i = 0; i < 20; i++)
			PAMI_Context_advance(context, 1);
		_exit(3);
	}
	for (int i = 0; i < GETS; i++)
		start_get(0, base_of[0], copy[i], BYTES, &error);
	while (gets_done < GETS)
		PAMI_Context_advance(context, 1);
	printf("gets ended: %s\n", error == PAMI_SUCCESS ? "data" : "error");
	fflush(stdout);
	_exit(0);
}

/* The context closes with gets in flight, of which all pieces have been asked for or only some. */
static void close_while_getting(void)
{
	size_t from = tasks - 1 - me;

	run_barrier();
	for (int i = 0; i < GETS; i++)
		start_get(from, base_of[from], copy[i], BYTES, NULL);
	CHECK(gets_done < GETS);
}

int main(int argc, char **argv)
{
	size_t whole = (BYTES + GETS + 4095) / 4096 * 4096;

	job_begin(1);
	/* What is behind the memory cannot be read: as much as a get takes. */
	memory = mmap(NULL, 2 * whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(memory != MAP_FAILED);
	REQUIRE(!mprotect(memory + whole, whole, PROT_NONE));
	fill_pattern(memory, 7, whole); /* the same in all tasks */
	dispatch_set(context, ID_PING, on_ping, &pongs, (pami_dispatch_hint_t){0});
	dispatch_set(context, ID_PONG, on_ping, NULL, (pami_dispatch_hint_t){0});
	tell_addresses();
	if (argc > 1 && !strcmp(argv[1], "death"))
		get_from_dying();
	if (argc > 1 && !strcmp(argv[1], "close")) {
		close_while_getting();
		return job_end(1);
	}
	get_from_opposite();
	get_what_is_not_there();
	return job_end(1);
}
