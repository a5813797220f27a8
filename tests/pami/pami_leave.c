/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Leaving: messages that were accepted arrive although their sender destroys everything at once,
 * also at a receiver that takes seconds for them (QT_SLOW); a late receiver finds what came before
 * its contexts existed; destroying twice is refused.
 */
#include <unistd.h>

#include "tests/harness/pami_job.h"

enum { MESSAGES = 20000, LAST = 2 };

static int got, last, is_slow;

static void on_message(pami_context_t c, void *cookie, const void *header, size_t header_size,
		       const void *pipe, size_t data_size, pami_endpoint_t origin,
		       pami_recv_t *recv)
{
	int n;

	memcpy(&n, header, sizeof n);
	CHECK_EQ(n, got);
	CHECK_EQ(count_different(pipe, (size_t)n, data_size), 0);
	got++;
	if (is_slow && got % 100 == 0)
		usleep(80000); /* 16 s in all */
}

static void on_last(pami_context_t c, void *cookie, const void *header, size_t header_size,
		    const void *pipe, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv)
{
	CHECK_EQ(got, MESSAGES);
	last = 1;
}

static void send_all(size_t to)
{
	unsigned char data[100];

	for (int i = 0; i < MESSAGES; i++) {
		pami_send_immediate_t s = {.header = {&i, sizeof i},
					   .data = {data, (size_t)i % 100},
					   .dispatch = 1,
					   .dest = get_endpoint(to, 0)};

		fill_pattern(data, (size_t)i, s.data.iov_len);
		CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
	}
	CHECK_EQ(
	    PAMI_Send_immediate(
		context, &(pami_send_immediate_t){.dispatch = LAST, .dest = get_endpoint(to, 0)}),
	    PAMI_SUCCESS);
}

int main(void)
{
	int status;

	is_slow = getenv("QT_SLOW") != NULL;
	job_begin(1);
	dispatch_set(context, 1, on_message, NULL, (pami_dispatch_hint_t){0});
	dispatch_set(context, LAST, on_last, NULL, (pami_dispatch_hint_t){0});
	if (me == 1)
		send_all(0);
	if (me == 0 && tasks > 1) {
		usleep(30000); /* the sender fills every queue on the way, and leaves */
		WAIT(last);
		CHECK_EQ(got, MESSAGES);
	}
	status = job_end(1);
	CHECK_EQ(PAMI_Client_destroy(&client), PAMI_INVAL);
	return status || check_failures;
}
