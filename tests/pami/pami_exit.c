/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exit without leaving the job: the main function of each task but 0 returns right after it has
 * sent its last messages, without a progress call and with everything open. All of them arrive,
 * also at a receiver that takes seconds for what the sender leaves in its FIFO (QT_SLOW).
 */
#include <unistd.h>

#include "tests/harness/pami_job.h"

enum { MESSAGES = 200, MESSAGES_SLOW = 4000 };

static size_t got;
static int messages = MESSAGES;

static void on_message(pami_context_t c, void *cookie, const void *header, size_t header_size,
		       const void *pipe, size_t data_size, pami_endpoint_t origin,
		       pami_recv_t *recv)
{
	int n;

	memcpy(&n, header, sizeof n);
	CHECK_EQ(count_different(pipe, (size_t)n, data_size), 0);
	got++;
	if (messages == MESSAGES_SLOW && got % 10 == 0)
		usleep(20000); /* the last 1000 take 2 s */
}

/* No message waits in the queue of the library, which the exit does not send. */
static void wait_until_the_queue_is_empty(void)
{
	static int (*has_room)(pami_context_t context);
	pami_extension_t e;

	if (!has_room) {
		CHECK_EQ(PAMI_Extension_open(client, "EXT_quintorus_wait", &e), PAMI_SUCCESS);
		*(void **)&has_room = PAMI_Extension_symbol(e, "room");
	}
	while (!has_room(context))
		PAMI_Context_advance(context, 1);
}

static void send_last_words(void)
{
	unsigned char data[100];

	for (int i = 0; i < messages; i++) {
		pami_send_immediate_t s = {.header = {&i, sizeof i},
					   .data = {data, (size_t)i % 100},
					   .dispatch = 1,
					   .dest = get_endpoint(0, 0)};

		fill_pattern(data, (size_t)i, s.data.iov_len);
		CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
		if (messages == MESSAGES_SLOW)
			wait_until_the_queue_is_empty();
	}
}

int main(void)
{
	if (getenv("QT_SLOW"))
		messages = MESSAGES_SLOW;
	job_begin(1);
	dispatch_set(context, 1, on_message, NULL, (pami_dispatch_hint_t){0});
	if (me) {
		send_last_words();
		return check_failures;
	}
	WAIT(got == (size_t)messages * (tasks - 1));
	return job_end(1) || check_failures;
}
