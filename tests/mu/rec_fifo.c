/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reception FIFOs that are full (--hw rec_fifo=strict). Task k floods context 1 of task k + 1.
 *
 * held     nobody advances context 1 until told to; then all messages come, once and in order,
 *          and puts to the same task had passed meanwhile where its FIFO has room
 * circle   nobody ever advances context 1: the job cannot end
 */
#include "tests/harness/pami_job.h"

#define BYTES 400

static uint32_t many = 3000;
static uint32_t next_number, received;
static int sent, told;

static void on_flood(pami_context_t c, void *cookie, const void *header, size_t header_size,
		     const void *pipe, size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	uint32_t number;

	memcpy(&number, header, 4);
	CHECK_EQ(number, next_number);
	CHECK_EQ(n, BYTES);
	next_number = number + 1;
	received++;
}

static void on_told(pami_context_t c, void *cookie, const void *header, size_t header_size,
		    const void *pipe, size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	told++;
}

static void flood_task(size_t to)
{
	static unsigned char data[BYTES];

	for (uint32_t i = 0; i < many; i++) {
		pami_send_t s = {.send = {.header = {&i, 4},
					  .data = {data, BYTES},
					  .dispatch = 1,
					  .dest = get_endpoint(to, 1)},
				 .events = {&sent, flag_done, NULL}};

		CHECK_EQ(PAMI_Send(context, &s), PAMI_SUCCESS);
	}
}

/* Tell the next task, past the flood: from a context of its own. */
static void tell_task(size_t to)
{
	pami_send_immediate_t s = {.dispatch = 2, .dest = get_endpoint(to, 0)};

	CHECK_EQ(PAMI_Send_immediate(contexts[2], &s), PAMI_SUCCESS);
}

static void wait_for_all(void)
{
	while (sent < (int)many || received < many || told < 1)
		PAMI_Context_advancev(contexts, 3, 100);
}

int main(int argc, char **argv)
{
	int is_circle = argc > 1 && !strcmp(argv[1], "circle");

	job_begin(3);
	for (int c = 0; c < 3; c++) {
		dispatch_set(contexts[c], 1, on_flood, NULL, (pami_dispatch_hint_t){0});
		dispatch_set(contexts[c], 2, on_told, NULL, (pami_dispatch_hint_t){0});
	}
	run_barrier();
	flood_task((me + 1) % tasks);
	if (is_circle)
		WAIT(received == many); /* which cannot be */
	CHECK_EQ(received, 0);
	tell_task((me + 1) % tasks);
	wait_for_all();
	CHECK_EQ(received, many);
	run_barrier();
	return job_end(3);
}
