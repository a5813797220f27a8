/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exit inside a dispatch function: each task but 0 calls exit() in the function that the word of
 * task 0 runs, right after it has sent its last messages there by each of its contexts. All of them
 * arrive. A task with an odd number takes the word in a poll of its own, the others in a poll
 * inside a dispatch function: to task 2 it has come by then, to task 4 it comes later, by another
 * queue where there are several.
 */
#include "tests/harness/pami_job.h"

enum { CONTEXTS = 3, MESSAGES = 200, LONG = 4000, READY = 1, GO, GO_INSIDE, SHORT_WORD, LONG_WORD };

static size_t got, ready;
static int got_long;
static unsigned char long_data[CONTEXTS][LONG];

static void on_ready(pami_context_t c, void *cookie, const void *header, size_t header_size,
		     const void *pipe, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv)
{
	ready++;
}

static void on_short(pami_context_t c, void *cookie, const void *header, size_t header_size,
		     const void *pipe, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv)
{
	int n;

	memcpy(&n, header, sizeof n);
	CHECK_EQ(count_different(pipe, (size_t)n, data_size), 0);
	got++;
}

static void on_long(pami_context_t c, void *cookie, const void *header, size_t header_size,
		    const void *pipe, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv)
{
	size_t from;

	memcpy(&from, header, sizeof from);
	CHECK_EQ(data_size, LONG);
	receive_into(recv, long_data[from % CONTEXTS], flag_done, &got_long);
}

static void send_last_words(size_t from)
{
	pami_endpoint_t to = get_endpoint(0, from);
	pami_send_t send = {.send = {.header = {&from, sizeof from},
				     .data = {long_data[from], LONG},
				     .dispatch = LONG_WORD,
				     .dest = to}};
	unsigned char data[100];

	fill_pattern(long_data[from], from, LONG);
	CHECK_EQ(PAMI_Send(contexts[from], &send), PAMI_SUCCESS);
	for (int i = 0; i < MESSAGES; i++) {
		pami_send_immediate_t s = {.header = {&i, sizeof i},
					   .data = {data, (size_t)i % 100},
					   .dispatch = SHORT_WORD,
					   .dest = to};

		fill_pattern(data, (size_t)i, s.data.iov_len);
		CHECK_EQ(PAMI_Send_immediate(contexts[from], &s), PAMI_SUCCESS);
	}
}

static void exit_at_word(pami_context_t c, void *cookie, const void *header, size_t header_size,
			 const void *pipe, size_t data_size, pami_endpoint_t origin,
			 pami_recv_t *recv)
{
	PAMI_Context_advance(c, 1); /* the poll that it is in has the context */
	for (size_t i = 0; i < CONTEXTS; i++)
		send_last_words(i);
	exit(check_failures != 0);
}

static void poll_inside(pami_context_t c, void *cookie, const void *header, size_t header_size,
			const void *pipe, size_t data_size, pami_endpoint_t origin,
			pami_recv_t *recv)
{
	for (;;)
		PAMI_Context_advance(contexts[CONTEXTS - 1], 100);
}

static void send_word(size_t from, size_t task, size_t to, unsigned word)
{
	pami_send_immediate_t s = {.dispatch = word, .dest = get_endpoint(task, to)};

	CHECK_EQ(PAMI_Send_immediate(contexts[from], &s), PAMI_SUCCESS);
}

int main(void)
{
	job_begin(CONTEXTS);
	for (size_t i = 0; i < CONTEXTS; i++) {
		pami_dispatch_hint_t none = {0};

		dispatch_set(contexts[i], READY, on_ready, NULL, none);
		dispatch_set(contexts[i], GO, exit_at_word, NULL, none);
		dispatch_set(contexts[i], GO_INSIDE, poll_inside, NULL, none);
		dispatch_set(contexts[i], SHORT_WORD, on_short, NULL, none);
		dispatch_set(contexts[i], LONG_WORD, on_long, NULL, none);
	}
	/* No barrier: a task may still owe others a message of it when the first one leaves it. */
	if (me)
		send_word(0, 0, 0, READY);
	else
		WAIT(ready == tasks - 1);
	while (me)
		PAMI_Context_advancev(contexts, me % 2 ? CONTEXTS : 1, 100);
	for (size_t t = 1; t < tasks; t++) {
		if (t % 4 == 0)
			send_word(0, t, 0, GO_INSIDE);
		send_word(t % 4 == 2 ? 0 : CONTEXTS - 1, t, t % 2 ? t % CONTEXTS : CONTEXTS - 1,
			  GO);
		if (t % 4 == 2)
			send_word(0, t, 0, GO_INSIDE);
	}
	while (got < CONTEXTS * MESSAGES * (tasks - 1) || got_long < CONTEXTS * ((int)tasks - 1))
		PAMI_Context_advancev(contexts, CONTEXTS, 100);
	for (size_t i = 0; i < CONTEXTS; i++)
		CHECK_EQ(count_different(long_data[i], i, LONG), 0);
	return job_end(CONTEXTS) || check_failures;
}
