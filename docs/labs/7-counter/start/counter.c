/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lab 7: all other tasks add to a counter of task 0, 20 times each.
 *
 *	torus run --clock virtual --shape 8x1x1x1x1 ./counter atomic|message BUSY
 *
 * atomic: PAMI_Rmw; with --hw mu_atomics=full the messaging unit of task 0 carries it out.
 * message: an active message, whose function adds and answers.
 * BUSY: task 0 computes in pieces of so many microseconds between two calls; 0: it only polls.
 */
#include "lab.h"

#define TIMES 20

enum { ADDRESS = 1, ADD, OLD };

static uint64_t counter, old;
static uint64_t *volatile there; /* counter of task 0 */
static volatile int atomics, olds;

static void on_address(pami_context_t context, void *cookie, const void *header,
		       size_t header_bytes, const void *data, size_t bytes, pami_endpoint_t origin,
		       pami_recv_t *receive)
{
	uint64_t *p;

	memcpy(&p, data, sizeof p);
	there = p;
}

/* At task 0: add the number in the message to the counter. */
static void on_add(pami_context_t context, void *cookie, const void *header, size_t header_bytes,
		   const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *receive)
{
	/* TODO, step 3: add, and send the value before it to the origin as OLD. */
}

static void on_old(pami_context_t context, void *cookie, const void *header, size_t header_bytes,
		   const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *receive)
{
	memcpy(&old, data, sizeof old);
	olds++;
}

/* Add to the counter of task 0; the value before. */
static uint64_t add_by_message(uint64_t value)
{
	/* TODO, step 3: send ADD to task 0 and wait for OLD. */
	(void)value;
	return old;
}

static uint64_t add_by_atomic(uint64_t value)
{
	int before = atomics;
	uint64_t got = 0;
	pami_rmw_t p;

	memset(&p, 0, sizeof p);
	p.dest = lab_endpoint(0);
	p.cookie = (void *)(uintptr_t)&atomics;
	p.done_fn = lab_count;
	p.local = &got;
	p.remote = there;
	p.value = &value;
	p.operation = PAMI_ATOMIC_FETCH_ADD;
	p.type = PAMI_TYPE_UNSIGNED_LONG_LONG;
	lab_check(PAMI_Rmw(lab_context, &p));
	lab_wait(atomics != before);
	return got;
}

int main(int argc, char **argv)
{
	int by_message = argc > 1 && !strcmp(argv[1], "message");
	double busy = argc > 2 ? atof(argv[2]) : 0, start;
	uint64_t *mine = &counter, last = 0;

	lab_begin();
	lab_on_message(ADDRESS, on_address, NULL);
	lab_on_message(ADD, on_add, NULL);
	lab_on_message(OLD, on_old, NULL);
	lab_barrier();
	for (int t = 1; me == 0 && t < tasks; t++)
		lab_send(t, ADDRESS, &mine, sizeof mine);
	if (me)
		lab_wait(there);
	lab_barrier();
	start = lab_us();
	for (int i = 0; me && i < TIMES; i++)
		last = by_message ? add_by_message(1) : add_by_atomic(1);
	if (me == 1)
		printf("an addition takes %.2f us; the last one found %d\n",
		       (lab_us() - start) / TIMES, (int)last);
	for (int i = 0; !me && busy > 0 && i < TIMES; i++) {
		lab_compute(busy);
		PAMI_Context_advance(lab_context, 100);
	}
	lab_barrier();
	if (me == 0)
		printf("the counter is %d of %d\n", (int)counter, TIMES * (tasks - 1));
	lab_end();
	return 0;
}
