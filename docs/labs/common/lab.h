/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the programs of the labs share, so that each shows its own idea only: one client, one
 * context (lab 5: two), a barrier, a clock. It is plain PAMI; read it once.
 *
 * Times: under `torus run --clock virtual` the clock is that of the modelled machine. Only calls of
 * the library (and lab_compute(), which reads the clock) take time there; the instructions of your
 * program take none.
 */
#ifndef LAB_H
#define LAB_H

#include <pami.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pami_client_t lab_client;
static pami_context_t lab_contexts[4]; /* lab 5 uses two */
#define lab_context lab_contexts[0]
static size_t lab_contexts_made;
static int me, tasks; /* this task, and how many there are */

/* End the task if a call failed. */
#define lab_check(call)                                                                            \
	do {                                                                                       \
		if ((call) != PAMI_SUCCESS) {                                                      \
			fprintf(stderr, "%s:%d: %s failed\n", __FILE__, __LINE__, #call);          \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* Make progress until the condition is true: messages are handled here, and nowhere else. */
#define lab_wait(condition)                                                                        \
	do {                                                                                       \
		while (!(condition))                                                               \
			PAMI_Context_advance(lab_context, 1);                                      \
	} while (0)

/* The time in microseconds. */
static inline double lab_us(void)
{
	return PAMI_Wtime(lab_client) * 1e6;
}

static inline pami_endpoint_t lab_endpoint(int task)
{
	pami_endpoint_t e;

	lab_check(PAMI_Endpoint_create(lab_client, (pami_task_t)task, 0, &e));
	return e;
}

/* Call fn when a message with this number comes; it gets cookie. */
static inline void lab_on_message(size_t number, pami_dispatch_p2p_function fn, void *cookie)
{
	pami_dispatch_callback_function f = {.p2p = fn};
	pami_dispatch_hint_t hint;

	memset(&hint, 0, sizeof hint);
	lab_check(PAMI_Dispatch_set(lab_context, number, f, cookie, hint));
}

/* Send a short message (at most 512 bytes): it has left the caller's memory on return. */
static inline void lab_send(int task, size_t number, const void *data, size_t bytes)
{
	pami_send_immediate_t m;

	memset(&m, 0, sizeof m);
	m.dest = lab_endpoint(task);
	m.dispatch = number;
	m.data.iov_base = (void *)(uintptr_t)data;
	m.data.iov_len = bytes;
	lab_check(PAMI_Send_immediate(lab_context, &m));
}

static inline void lab_count(pami_context_t context, void *cookie, pami_result_t result)
{
	(void)context;
	lab_check(result);
	++*(volatile int *)cookie;
}

/* The first algorithm that the library offers for a collective of all tasks. */
static inline pami_algorithm_t lab_algorithm(pami_xfer_type_t type)
{
	pami_geometry_t world;
	pami_algorithm_t a;

	lab_check(PAMI_Geometry_world(lab_client, &world));
	lab_check(PAMI_Geometry_algorithms_query(world, type, &a, NULL, 1, NULL, NULL, 0));
	return a;
}

/* Run a collective to its end. */
static inline void lab_collective(pami_xfer_t *x)
{
	volatile int done = 0;

	x->cb_done = lab_count;
	x->cookie = (void *)(uintptr_t)&done;
	lab_check(PAMI_Collective(lab_context, x));
	lab_wait(done);
}

static inline void lab_barrier(void)
{
	pami_xfer_t x;

	memset(&x, 0, sizeof x);
	x.algorithm = lab_algorithm(PAMI_XFER_BARRIER);
	lab_collective(&x);
}

/* Compute for so many microseconds: no progress is made, and only the clock is looked at. */
static inline void lab_compute(double us)
{
	double end = lab_us() + us;

	while (lab_us() < end)
		;
}

static inline void lab_begin_contexts(size_t contexts)
{
	pami_configuration_t q[2] = {{.name = PAMI_CLIENT_TASK_ID},
				     {.name = PAMI_CLIENT_NUM_TASKS}};

	lab_check(PAMI_Client_create("lab", &lab_client, NULL, 0));
	lab_check(PAMI_Context_createv(lab_client, NULL, 0, lab_contexts, contexts));
	lab_contexts_made = contexts;
	lab_check(PAMI_Client_query(lab_client, q, 2));
	me = (int)q[0].value.intval;
	tasks = (int)q[1].value.intval;
}

static inline void lab_begin(void)
{
	lab_begin_contexts(1);
}

static inline void lab_end(void)
{
	lab_barrier();
	lab_check(PAMI_Context_destroyv(lab_contexts, lab_contexts_made));
	lab_check(PAMI_Client_destroy(&lab_client));
}

#endif
