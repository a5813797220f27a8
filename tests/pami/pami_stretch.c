/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each call that starts an operation ends a stretch of empty polls, because the program has other
 * work: the library's count of empty polls is 0 after the call. Linked with the library's inside.
 */
#include "mu/mu.h"
#include "tests/harness/pami_job.h"

#define ID 1
/* Fewer empty polls than those after which the idle policy looks: no poll here yields. */
#define POLLS 3

#define ENDS_A_STRETCH(call)                                                                       \
	do {                                                                                       \
		mu_idle_polls = POLLS;                                                             \
		CHECK_EQ(call, PAMI_SUCCESS);                                                      \
		if (mu_idle_polls)                                                                 \
			printf("%s does not end a stretch of polls\n", #call);                     \
		CHECK_EQ(mu_idle_polls, 0);                                                        \
	} while (0)

static int messages, pending;
static char window[2][64];
static pami_memregion_t region[2];

static void on_message(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
		       const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	messages++;
}

static void on_done(pami_context_t c, void *cookie, pami_result_t result)
{
	CHECK_EQ(result, PAMI_SUCCESS);
	pending--;
}

static pami_result_t run_once(pami_context_t c, void *cookie)
{
	pending--;
	return PAMI_SUCCESS;
}

/* Wait until all that was started is done. */
static void finish_started(int sent)
{
	WAIT(!pending && messages == sent);
	messages = 0;
}

static void starting_calls_end_a_stretch(void)
{
	struct iovec header = {.iov_base = window[0], .iov_len = 8};
	pami_endpoint_t dest = get_endpoint((me + 1) % tasks, 0);
	pami_send_immediate_t immediate = {.dispatch = ID, .dest = dest, .header = header};
	pami_send_t send = {.send = {.dispatch = ID, .dest = dest, .header = header},
			    .events = {.cookie = NULL, .local_fn = on_done}};
	pami_send_typed_t typed = {.send = {.dispatch = ID, .dest = dest, .header = header},
				   .events = {.cookie = NULL, .local_fn = on_done},
				   .typed = {PAMI_TYPE_BYTE, 0}};

	pending = 2;
	ENDS_A_STRETCH(PAMI_Send_immediate(context, &immediate));
	ENDS_A_STRETCH(PAMI_Send(context, &send));
	ENDS_A_STRETCH(PAMI_Send_typed(context, &typed));
	finish_started(3);
}

/* A transfer of a window of this task to itself. */
static pami_rma_t own_window(void)
{
	return (pami_rma_t){
	    .dest = get_endpoint(me, 0), .bytes = sizeof window[0], .done_fn = on_done};
}

static void puts_and_gets(void)
{
	pami_rma_t rma = own_window();
	pami_put_simple_t put = {.rma = rma, .addr = {window[0], window[1]}};
	pami_get_simple_t get = {.rma = rma, .addr = {window[0], window[1]}};
	pami_put_typed_t put_typed = {
	    rma, {window[0], window[1]}, {PAMI_TYPE_BYTE, PAMI_TYPE_BYTE}, {NULL}};
	pami_get_typed_t get_typed = {
	    rma, {window[0], window[1]}, {PAMI_TYPE_BYTE, PAMI_TYPE_BYTE}};

	pending = 4;
	ENDS_A_STRETCH(PAMI_Put(context, &put));
	ENDS_A_STRETCH(PAMI_Get(context, &get));
	ENDS_A_STRETCH(PAMI_Put_typed(context, &put_typed));
	ENDS_A_STRETCH(PAMI_Get_typed(context, &get_typed));
	finish_started(0);
}

static void puts_and_gets_in_regions(void)
{
	pami_rma_t rma = own_window();
	struct {
		pami_rput_simple_t put;
		pami_rget_simple_t get;
		pami_rput_typed_t put_typed;
		pami_rget_typed_t get_typed;
	} p = {{rma, {{&region[0], 0}, {&region[1], 0}}, {NULL}},
	       {rma, {{&region[0], 0}, {&region[1], 0}}},
	       {rma, {{&region[0], 0}, {&region[1], 0}}, {PAMI_TYPE_BYTE, PAMI_TYPE_BYTE}, {NULL}},
	       {rma, {{&region[0], 0}, {&region[1], 0}}, {PAMI_TYPE_BYTE, PAMI_TYPE_BYTE}}};
	size_t bytes;

	for (int i = 0; i < 2; i++)
		CHECK_EQ(
		    PAMI_Memregion_create(context, window[i], sizeof window[i], &bytes, &region[i]),
		    PAMI_SUCCESS);
	pending = 4;
	ENDS_A_STRETCH(PAMI_Rput(context, &p.put));
	ENDS_A_STRETCH(PAMI_Rget(context, &p.get));
	ENDS_A_STRETCH(PAMI_Rput_typed(context, &p.put_typed));
	ENDS_A_STRETCH(PAMI_Rget_typed(context, &p.get_typed));
	finish_started(0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(PAMI_Memregion_destroy(context, &region[i]), PAMI_SUCCESS);
}

static void other_operations(void)
{
	static int64_t word, one = 1;
	pami_rmw_t rmw = {.dest = get_endpoint(me, 0),
			  .done_fn = on_done,
			  .remote = &word,
			  .value = &one,
			  .operation = PAMI_ATOMIC_ADD,
			  .type = PAMI_TYPE_SIGNED_LONG_LONG};
	pami_xfer_t barrier_xfer = {.algorithm = get_algorithm(PAMI_XFER_BARRIER),
				    .cb_done = on_done};
	pami_work_t work;

	pending = 2;
	ENDS_A_STRETCH(PAMI_Rmw(context, &rmw));
	ENDS_A_STRETCH(PAMI_Context_post(context, &work, run_once, NULL));
	finish_started(0);
	pending = 1;
	ENDS_A_STRETCH(PAMI_Collective(context, &barrier_xfer));
	finish_started(0);
	CHECK_EQ(PAMI_Fence_begin(context), PAMI_SUCCESS);
	pending = 2;
	ENDS_A_STRETCH(
	    PAMI_Fence_endpoint(context, on_done, NULL, get_endpoint((me + 1) % tasks, 0)));
	ENDS_A_STRETCH(PAMI_Fence_all(context, on_done, NULL));
	finish_started(0);
	CHECK_EQ(PAMI_Fence_end(context), PAMI_SUCCESS);
}

static void geometry_calls_end_a_stretch(void)
{
	pami_geometry_range_t all = {0, (pami_task_t)(tasks - 1)};
	pami_geometry_t world, team;

	CHECK_EQ(PAMI_Geometry_world(client, &world), PAMI_SUCCESS);
	pending = 1;
	ENDS_A_STRETCH(PAMI_Geometry_create_taskrange(client, 0, NULL, 0, &team, world, 7, &all, 1,
						      context, on_done, NULL));
	finish_started(0);
	pending = 1;
	ENDS_A_STRETCH(PAMI_Geometry_destroy(client, &team, context, on_done, NULL));
	finish_started(0);
}

int main(void)
{
	pami_dispatch_hint_t none = {0};

	job_begin(1);
	dispatch_set(context, ID, on_message, NULL, none);
	starting_calls_end_a_stretch();
	puts_and_gets();
	puts_and_gets_in_regions();
	other_operations();
	geometry_calls_end_a_stretch();
	return job_end(1);
}
