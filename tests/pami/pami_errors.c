/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that ignores the texts of errors: the library says them on standard error, once for
 * each place. pami_errors.sh counts the lines. Every task fails at the same places; with "early
 * FILE" only task 0 fails, in operations to a context that task 1 has not made and never will. Task
 * 0 makes the file when it has started them.
 */
#include <fcntl.h>
#include <unistd.h>

#include "tests/harness/pami_job.h"

#define TIMES 50

static int ended;

static void failed_done(pami_context_t c, void *cookie, pami_result_t result)
{
	CHECK(result != PAMI_SUCCESS);
	ended++;
}

static void failing_calls(void)
{
	pami_send_immediate_t unset = {.dispatch = 7, .dest = get_endpoint(me, 0)};
	pami_put_simple_t nowhere = {.rma = {.dest = get_endpoint(tasks, 0), .bytes = 8}};
	pami_extension_t extension;

	for (int i = 0; i < TIMES; i++)
		CHECK_EQ(PAMI_Send_immediate(context, &unset), PAMI_INVAL); /* place 1 */
	for (int i = 0; i < TIMES; i++)
		CHECK_EQ(PAMI_Send_immediate(context, &unset), PAMI_INVAL); /* place 2 */
	for (int i = 0; i < TIMES; i++)
		CHECK_EQ(PAMI_Put(context, &nowhere), PAMI_INVAL); /* place 3 */
	/* Programs do these in normal use. */
	CHECK_EQ(PAMI_Extension_open(client, "EXT_none_such", &extension), PAMI_UNIMPL);
	for (int i = 0; i < TIMES; i++)
		PAMI_Context_advance(context, 1);
}

static void failing_operations(void)
{
	static char to[64];
	/* Below vm.mmap_min_addr, so no task has anything there. */
	void *hole = (void *)(uintptr_t)4096;
	pami_get_simple_t g = {.rma = {.dest = get_endpoint((me + 1) % tasks, 0),
				       .bytes = sizeof to,
				       .done_fn = failed_done},
			       .addr = {to, hole}};

	for (int i = 0; i < TIMES; i++)
		CHECK_EQ(PAMI_Get(context, &g), PAMI_SUCCESS); /* place 4: its callback */
	WAIT(ended == TIMES);
}

/* One callback for each operation, as its name is the place. */
static void early_send_failed(pami_context_t c, void *cookie, pami_result_t result)
{
	failed_done(c, cookie, result);
}

static void early_put_failed(pami_context_t c, void *cookie, pami_result_t result)
{
	failed_done(c, cookie, result);
}

static void early_get_failed(pami_context_t c, void *cookie, pami_result_t result)
{
	failed_done(c, cookie, result);
}

static void start_early(const char *file)
{
	static char buffer[64];
	void *hole = (void *)(uintptr_t)4096;
	pami_endpoint_t to = get_endpoint(1, 1);
	pami_send_t s = {.send = {.header = {buffer, 8}, .dispatch = 1, .dest = to},
			 .events = {.remote_fn = early_send_failed}};
	pami_put_simple_t p = {.rma = {.dest = to, .bytes = sizeof buffer},
			       .addr = {buffer, hole},
			       .put = {early_put_failed}};
	pami_get_simple_t g = {
	    .rma = {.dest = to, .bytes = sizeof buffer, .done_fn = early_get_failed},
	    .addr = {buffer, hole}};

	for (int i = 0; i < TIMES; i++) {
		CHECK_EQ(PAMI_Send(context, &s), PAMI_SUCCESS);
		CHECK_EQ(PAMI_Put(context, &p), PAMI_SUCCESS);
		CHECK_EQ(PAMI_Get(context, &g), PAMI_SUCCESS);
	}
	close(open(file, O_CREAT | O_WRONLY, 0600));
}

static void no_message(pami_context_t c, void *cookie, const void *header, size_t header_size,
		       const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
}

/* Until task 0 has started its operations. In virtual time files tell nothing of other tasks. */
static void await_early(const char *file)
{
	double start = PAMI_Wtime(client);

	if (getenv("QT_VIRTUAL"))
		while (PAMI_Wtime(client) < start + 1e-3)
			;
	else
		while (access(file, F_OK))
			usleep(1000);
}

static int run_early_task(const char *file)
{
	CHECK_EQ(PAMI_Client_create("test", &client, NULL, 0), PAMI_SUCCESS);
	me = client_value(PAMI_CLIENT_TASK_ID);
	tasks = client_value(PAMI_CLIENT_NUM_TASKS);
	if (me == 1)
		await_early(file);
	CHECK_EQ(PAMI_Context_createv(client, NULL, 0, contexts, 1), PAMI_SUCCESS);
	dispatch_set(context, 1, no_message, NULL, (pami_dispatch_hint_t){0});
	if (me == 0) {
		start_early(file);
		WAIT(ended == 3 * TIMES);
	}
	run_barrier();
	return job_end(1);
}

int main(int argc, char **argv)
{
	char text[200];

	if (argc > 2 && !strcmp(argv[1], "early"))
		return run_early_task(argv[2]);
	job_begin(1);
	failing_calls();
	CHECK(PAMI_Error_text(text, sizeof text) > 0);
	run_barrier();
	failing_operations();
	run_barrier();
	return job_end(1);
}
