/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that knows nothing of this tree: C and C++, built with pkg-config libpami. */
#include <pami.h>
#include <pami_sys.h>
#include <stdio.h>
#include <string.h>

static volatile int arrived;

static void on_message(pami_context_t context, void *cookie, const void *header, size_t header_size,
		       const void *pipe, size_t size, pami_endpoint_t origin, pami_recv_t *recv)
{
	(void)context, (void)cookie, (void)header, (void)header_size, (void)origin, (void)recv;
	if (size == 6 && !memcmp(pipe, "hello", 6))
		arrived++;
}

int main(void)
{
	pami_client_t client;
	pami_context_t context;
	pami_configuration_t query[2];
	pami_dispatch_callback_function fn;
	pami_dispatch_hint_t hints;
	pami_send_immediate_t send;
	char hello[6] = "hello";
	size_t task, tasks;

	memset(query, 0, sizeof(query));
	memset(&hints, 0, sizeof(hints));
	memset(&send, 0, sizeof(send));
	if (PAMI_Client_create("outside", &client, NULL, 0) != PAMI_SUCCESS)
		return 2;
	query[0].name = PAMI_CLIENT_TASK_ID;
	query[1].name = PAMI_CLIENT_NUM_TASKS;
	if (PAMI_Client_query(client, query, 2) != PAMI_SUCCESS)
		return 3;
	task = query[0].value.intval;
	tasks = query[1].value.intval;
	if (tasks < 2 || PAMI_Context_createv(client, NULL, 0, &context, 1) != PAMI_SUCCESS)
		return 4;
	fn.p2p = on_message;
	if (PAMI_Dispatch_set(context, 7, fn, NULL, hints) != PAMI_SUCCESS)
		return 5;
	/* Each task greets the next; nobody may miss it, however late they come. */
	send.data.iov_base = hello;
	send.data.iov_len = sizeof(hello);
	send.dispatch = 7;
	if (PAMI_Endpoint_create(client, (pami_task_t)((task + 1) % tasks), 0, &send.dest) !=
		PAMI_SUCCESS ||
	    PAMI_Send_immediate(context, &send) != PAMI_SUCCESS)
		return 6;
	while (!arrived)
		PAMI_Context_advance(context, 1);
	printf("task %zu of %zu was greeted\n", task, tasks);
	PAMI_Context_destroyv(&context, 1);
	return PAMI_Client_destroy(&client) == PAMI_SUCCESS ? 0 : 7;
}
