/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slow receivers, and more at once than any pool holds: no task advances until everything is handed
 * in; then all of it must come, once and in order. Run as jobs by pami_job.sh.
 */
#include "tests/harness/pami_job.h"

enum { ID_FLOOD = 1, ID_LONG, ID_LATE };

static unsigned many = 6000;
static uint32_t *next_from; /* [tasks] */
static unsigned flooded, taken, local_done, remote_done;
static unsigned char *memory, **memory_of;

static void count_up(pami_context_t c, void *cookie, pami_result_t result)
{
	CHECK_EQ(result, PAMI_SUCCESS);
	++*(unsigned *)cookie;
}

static void on_flood(pami_context_t c, void *cookie, const void *header, size_t header_size,
		     const void *pipe, size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	size_t task, offset;
	uint32_t number;

	PAMI_Endpoint_query(origin, &task, &offset);
	memcpy(&number, header, 4);
	CHECK_EQ(number, next_from[task]);
	next_from[task] = number + 1;
	flooded++;
	if (recv)
		recv->data_fn = PAMI_DATA_NOOP;
}

static unsigned char sink[20000];

static void on_long(pami_context_t c, void *cookie, const void *header, size_t header_size,
		    const void *pipe, size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	recv->addr = sink;
	recv->local_fn = count_up;
	recv->cookie = &taken;
}

/* Both ways, past every FIFO, ring and queue: sends are taken though the receivers do not look. */
static void flood_tasks(void)
{
	static unsigned char data[900];
	uint32_t *header = calloc(many * tasks, sizeof *header);
	unsigned sent = 0;

	local_done = remote_done = 0;
	for (uint32_t i = 0; i < many; i++)
		for (size_t t = 0; t < tasks; t++, sent++) {
			pami_send_t s = {.send = {.header = {&header[sent], 4},
						  .data = {data, i % 3 * 440},
						  .dispatch = ID_FLOOD,
						  .dest = get_endpoint(t, 0)},
					 .events = {&local_done, count_up, NULL}};

			header[sent] = i;
			CHECK_EQ(PAMI_Send(context, &s), PAMI_SUCCESS);
		}
	CHECK_EQ(local_done, 0);
	while (flooded < sent || local_done < sent) /* one at a time: slow */
		PAMI_Context_advance(context, 1);
	CHECK_EQ(flooded, sent);
	CHECK_EQ(local_done, sent);
	run_barrier();
	free(header);
}

/* More puts, gets and atomics than there are counters and entries for answers. */
static void many_rdma(void)
{
	static unsigned char here[64];
	size_t t = (me + 1) % tasks;
	unsigned rputs = 0, gets = 0, rmws = 0;
	uint64_t one = 1, sum;

	for (unsigned i = 0; i < many / 2; i++) {
		pami_rma_t rma = {.dest = get_endpoint(t, 0), .bytes = 32, .done_fn = count_up};
		pami_put_simple_t p = {rma, {here, memory_of[t] + 64 * (me + 1)}, {count_up}};
		pami_get_simple_t g = {rma, {sink + 64 * (i % 300), memory_of[t]}};
		pami_rmw_t r = {.dest = get_endpoint(t, 0),
				.cookie = &rmws,
				.done_fn = count_up,
				.remote = memory_of[t] + 32,
				.value = &one,
				.operation = PAMI_ATOMIC_ADD,
				.type = PAMI_TYPE_UNSIGNED_LONG};

		p.rma.cookie = &rputs;
		p.rma.done_fn = NULL;
		CHECK_EQ(PAMI_Put(context, &p), PAMI_SUCCESS);
		g.rma.cookie = &gets;
		CHECK_EQ(PAMI_Get(context, &g), PAMI_SUCCESS);
		CHECK_EQ(PAMI_Rmw(context, &r), PAMI_SUCCESS);
	}
	WAIT(rputs == many / 2 && gets == many / 2 && rmws == many / 2);
	run_barrier();
	memcpy(&sum, memory + 32, 8);
	CHECK_EQ(sum, many / 2);
}

/* Rendezvous by the thousand: all their data waits at the origin until the target looks. */
static void many_rendezvous(void)
{
	static unsigned char data[20000];
	unsigned n = many / 6;

	local_done = remote_done = taken = 0;
	run_barrier();
	for (unsigned i = 0; i < n; i++) {
		pami_send_t s = {.send = {.data = {data, sizeof data},
					  .dispatch = ID_LONG,
					  .dest = get_endpoint((me + 1) % tasks, 0)},
				 .events = {&remote_done, NULL, count_up}};

		CHECK_EQ(PAMI_Send(context, &s), PAMI_SUCCESS);
	}
	WAIT(remote_done == n && taken == n);
	run_barrier();
}

/* One task is away, in no call of ours, until a put has changed its memory; the others flood it
 * meanwhile. */
static void one_is_away(void)
{
	volatile uint64_t *word = (volatile uint64_t *)(void *)(memory + 8);
	size_t away = tasks - 1;
	static uint64_t one = 1;
	uint32_t numbers[1] = {0};

	memset(next_from, 0, tasks * sizeof *next_from);
	flooded = 0;
	run_barrier();
	if (me == away) {
		while (!atomic_load_acquire(word))
			;
	} else {
		for (uint32_t i = 0; i < many; i++) {
			pami_send_immediate_t s = {.header = {numbers, 4},
						   .data = {memory + 1024, i % 400},
						   .dispatch = ID_FLOOD,
						   .dest = get_endpoint(away, 0)};

			numbers[0] = i;
			CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
		}
	}
	if (me == 0 && away) {
		unsigned put = 0;
		pami_put_simple_t p = {{.dest = get_endpoint(away, 0), .bytes = 8, .cookie = &put},
				       {&one, memory_of[away] + 8},
				       {count_up}};

		CHECK_EQ(PAMI_Put(context, &p), PAMI_SUCCESS);
		WAIT(put); /* without it: its engine does that */
	}
	if (me == away)
		WAIT(flooded == many * (tasks - 1));
	run_barrier();
}

static unsigned refused, late;

static void count_result(pami_context_t c, void *cookie, pami_result_t result)
{
	CHECK(result == PAMI_SUCCESS || result == PAMI_ENOMEM);
	refused += result != PAMI_SUCCESS;
	++*(unsigned *)cookie;
}

static void on_late(pami_context_t c, void *cookie, const void *header, size_t header_size,
		    const void *pipe, size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	late++;
	if (recv)
		recv->data_fn = PAMI_DATA_NOOP;
}

static void advance_both(void)
{
	PAMI_Context_advance(contexts[1], 1);
	PAMI_Context_advance(context, 1);
}

static void barrier_both(void)
{
	pami_xfer_t x = {.algorithm = get_algorithm(PAMI_XFER_BARRIER), .cb_done = flag_done};
	int done = 0;

	x.cookie = &done;
	CHECK_EQ(PAMI_Collective(context, &x), PAMI_SUCCESS);
	while (!done)
		advance_both();
}

/* More for an id that is not set than is kept (QUINTORUS_HELD): an error for each that is dropped,
 * and none hangs. */
static void unset_id(void)
{
	static const size_t size[] = {0, 500, 4000, 20000};
	static unsigned char data[20000];
	unsigned sent = 0, ended = 0, next = (unsigned)((me + 1) % tasks), there;

	dispatch_set(context, ID_LATE, on_late, NULL, (pami_dispatch_hint_t){0});
	for (; sent < 4000; sent++) {
		pami_send_t s = {.send = {.data = {data, size[sent % 4]},
					  .dispatch = ID_LATE,
					  .dest = get_endpoint(next, 1)},
				 .events = {&ended, NULL, count_result}};

		CHECK_EQ(PAMI_Send(context, &s), PAMI_SUCCESS);
	}
	while (!refused)
		advance_both();
	CHECK_EQ(late, 0);
	barrier_both();
	dispatch_set(contexts[1], ID_LATE, on_late, NULL, (pami_dispatch_hint_t){0});
	while (ended < sent)
		advance_both();
	there = sent - refused;
	CHECK(refused && there);
	pami_put_simple_t p = {{.dest = get_endpoint(next, 0), .bytes = 4, .cookie = &ended},
			       {&there, memory_of[next] + 16},
			       {count_up}};
	CHECK_EQ(PAMI_Put(context, &p), PAMI_SUCCESS);
	while (ended == sent)
		advance_both();
	barrier_both();
	memcpy(&there, memory + 16, 4);
	CHECK_EQ(late, there);
}

int main(int argc, char **argv)
{
	int is_virtual = argc > 1 && !strcmp(argv[1], "virtual");
	pami_xfer_t x;

	if (job_is_sanitized())
		many = 1200;
	if (is_virtual)
		many = 600;
	if (job_long())
		many *= 20;
	job_begin(2);
	next_from = calloc(tasks, sizeof *next_from);
	memory = calloc(1, 4096 + 64 * tasks);
	memory_of = calloc(tasks, sizeof *memory_of);
	dispatch_set(context, ID_FLOOD, on_flood, NULL,
		     (pami_dispatch_hint_t){.consistency = PAMI_HINT_ENABLE});
	dispatch_set(context, ID_LONG, on_long, NULL, (pami_dispatch_hint_t){0});
	x = (pami_xfer_t){.algorithm = get_algorithm(PAMI_XFER_ALLGATHER)};
	x.cmd.xfer_allgather = (pami_allgather_t){(char *)&memory,   PAMI_TYPE_BYTE, sizeof memory,
						  (char *)memory_of, PAMI_TYPE_BYTE, sizeof memory};
	run_collective(&x);
	run_barrier();
	flood_tasks();
	many_rdma();
	many_rendezvous();
	if (!is_virtual && tasks > 1)
		one_is_away();
	if (getenv("QUINTORUS_HELD"))
		unset_id();
	free(next_from);
	free(memory);
	free(memory_of);
	return job_end(2);
}
