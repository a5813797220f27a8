/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exit inside a dispatch function: each task but 0 calls exit() in the function that the word of
 * task 0 runs, right after it has sent its last messages there. All of them arrive.
 */
#include "tests/harness/pami_job.h"

enum { MESSAGES = 200, LONG = 4000, GO = 1, SHORT_WORD, LONG_WORD };

static size_t got;
static int got_long;
static unsigned char long_data[LONG];

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
	CHECK_EQ(data_size, LONG);
	*recv = (pami_recv_t){.local_fn = flag_done,
			      .cookie = &got_long,
			      .type = PAMI_TYPE_BYTE,
			      .data_fn = PAMI_DATA_COPY,
			      .addr = long_data};
}

static void exit_at_word(pami_context_t c, void *cookie, const void *header, size_t header_size,
			 const void *pipe, size_t data_size, pami_endpoint_t origin,
			 pami_recv_t *recv)
{
	pami_send_t send = {
	    .send = {.data = {long_data, LONG}, .dispatch = LONG_WORD, .dest = get_endpoint(0, 0)}};
	unsigned char data[100];

	fill_pattern(long_data, 7, LONG);
	CHECK_EQ(PAMI_Send(c, &send), PAMI_SUCCESS);
	for (int i = 0; i < MESSAGES; i++) {
		pami_send_immediate_t s = {.header = {&i, sizeof i},
					   .data = {data, (size_t)i % 100},
					   .dispatch = SHORT_WORD,
					   .dest = get_endpoint(0, 0)};

		fill_pattern(data, (size_t)i, s.data.iov_len);
		CHECK_EQ(PAMI_Send_immediate(c, &s), PAMI_SUCCESS);
	}
	exit(check_failures != 0);
}

int main(void)
{
	job_begin(1);
	dispatch_set(context, GO, exit_at_word, NULL, (pami_dispatch_hint_t){0});
	dispatch_set(context, SHORT_WORD, on_short, NULL, (pami_dispatch_hint_t){0});
	dispatch_set(context, LONG_WORD, on_long, NULL, (pami_dispatch_hint_t){0});
	run_barrier();
	while (me)
		PAMI_Context_advance(context, 100);
	for (size_t t = 1; t < tasks; t++) {
		pami_send_immediate_t s = {.dispatch = GO, .dest = get_endpoint(t, 0)};

		CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
	}
	WAIT(got == MESSAGES * (tasks - 1) && got_long == (int)tasks - 1);
	CHECK_EQ(count_different(long_data, 7, LONG), 0);
	return job_end(1) || check_failures;
}
