/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lab 5: task 0 asks task 1, which computes.
 *
 *	torus run --clock virtual --shape 2x1x1x1x1 ./serve poll|thread PIECE
 *
 * poll: task 1 computes in pieces of PIECE microseconds and advances its context between them.
 * thread: it computes without a call, and a commthread answers.
 */
#include "lab.h"

#define QUESTIONS 20
#define WORK      3000 /* microseconds */

enum { ASK = 1, ANSWER };
static volatile int answers, asked;

/* Runs in whichever thread advances `context`, so it answers through that one. */
static void on_ask(pami_context_t context, void *cookie, const void *header, size_t header_bytes,
		   const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *receive)
{
	pami_send_immediate_t m;

	memset(&m, 0, sizeof m);
	m.dest = origin;
	m.dispatch = ANSWER;
	lab_check(PAMI_Send_immediate(context, &m));
	asked++;
}

static void on_answer(pami_context_t context, void *cookie, const void *header, size_t header_bytes,
		      const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *receive)
{
	answers++;
}

typedef void (*event_fn)(pami_context_t context, void *cookie);
typedef pami_result_t (*register_fn)(pami_context_t context, event_fn progress, event_fn suspend,
				     event_fn resume, void *cookie);
typedef pami_result_t (*enable_fn)(pami_context_t context, int event);

/* Give a context to the commthreads, and return 1. From then on the program may not advance it. */
static int give_to_commthread(pami_context_t context)
{
	pami_extension_t e;
	register_fn enter;
	enable_fn enable;

	lab_check(PAMI_Extension_open(lab_client, "EXT_async_progress", &e));
	*(void **)&enter = PAMI_Extension_symbol(e, "register");
	*(void **)&enable = PAMI_Extension_symbol(e, "enable");
	lab_check(enter(context, NULL, NULL, NULL, NULL));
	lab_check(enable(context, 0));
	return 1;
}

static void ask_server(void)
{
	double sum = 0, worst = 0;
	pami_send_immediate_t m;

	memset(&m, 0, sizeof m);
	lab_check(PAMI_Endpoint_create(lab_client, 1, 1, &m.dest)); /* context 1 of task 1 */
	m.dispatch = ASK;
	for (int i = 0; i < QUESTIONS; i++) {
		int before = answers;
		double start = lab_us(), us;

		lab_check(PAMI_Send_immediate(lab_context, &m));
		lab_wait(answers != before);
		us = lab_us() - start;
		sum += us;
		worst = us > worst ? us : worst;
	}
	printf("an answer takes %.2f us, at most %.2f\n", sum / QUESTIONS, worst);
}

static void compute_pieces(int by_thread, int is_given, double piece)
{
	double start = lab_us(), done = 0;
	int pieces = 0;

	for (; done < WORK; done += piece, pieces++) {
		lab_compute(piece);
		if (!by_thread && asked < QUESTIONS)
			PAMI_Context_advance(lab_contexts[1], 1);
	}
	printf("%.0f us of work took %.0f us, in %d pieces\n", done, lab_us() - start, pieces);
	while (!is_given && asked < QUESTIONS) /* those that came too late */
		PAMI_Context_advance(lab_contexts[1], 1);
}

int main(int argc, char **argv)
{
	int by_thread = argc > 1 && !strcmp(argv[1], "thread");
	double piece = argc > 2 ? atof(argv[2]) : 100;
	int is_given = 0;
	pami_dispatch_callback_function f = {.p2p = on_ask};
	pami_dispatch_hint_t hint;

	lab_begin_contexts(2);
	memset(&hint, 0, sizeof hint);
	lab_on_message(ASK, on_ask, NULL); /* a context sends what it has a function for */
	lab_on_message(ANSWER, on_answer, NULL);
	lab_check(PAMI_Dispatch_set(lab_contexts[1], ASK, f, NULL, hint));
	f.p2p = on_answer;
	lab_check(PAMI_Dispatch_set(lab_contexts[1], ANSWER, f, NULL, hint));
	if (me == 1 && by_thread)
		is_given = give_to_commthread(lab_contexts[1]);
	lab_barrier();
	if (me == 0)
		ask_server();
	else
		compute_pieces(by_thread, is_given, piece);
	lab_end();
	return 0;
}
