/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lab 1: half the round trip of 8 bytes, from task 0 to tasks that are 1, 2, 3 ... links away.
 *
 *	torus run --clock virtual --shape 2x2x2x2x2 ./message
 */
#include "lab.h"

#define ROUNDS 10

enum { PING = 1, PONG };
static volatile int pongs;

/* A ping has come from a task. */
static void on_ping(pami_context_t context, void *cookie, const void *header, size_t header_bytes,
		    const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *receive)
{
	pami_task_t from;
	size_t offset;

	lab_check(PAMI_Endpoint_query(origin, &from, &offset));
	lab_send((int)from, PONG, data, bytes);
}

static void on_pong(pami_context_t context, void *cookie, const void *header, size_t header_bytes,
		    const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *receive)
{
	pongs++;
}

/* Half the round trip to a task in microseconds: the mean of ROUNDS. */
static double measure_task(int task)
{
	char data[8] = "ping";
	double start = lab_us();

	for (int i = 0; i < ROUNDS; i++) {
		int before = pongs;

		lab_send(task, PING, data, sizeof data);
		lab_wait(pongs != before);
	}
	return (lab_us() - start) / (2 * ROUNDS);
}

int main(void)
{
	lab_begin();
	lab_on_message(PING, on_ping, NULL);
	lab_on_message(PONG, on_pong, NULL);
	lab_barrier();
	/* Tasks 1, 3, 7 ...: each differs from task 0 in one more dimension. */
	for (int hops = 1; me == 0 && (1 << hops) <= tasks; hops++)
		printf("hops %d  half round trip %.3f us\n", hops, measure_task((1 << hops) - 1));
	lab_end();
	return 0;
}
