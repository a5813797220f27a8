/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One kind of traffic from task 0 to task TO, for pami_channels.sh, which looks at the virtual
 * channels that its packets took.
 * usage: pami_channels KIND BYTES TO, where KIND is none, short, send, put, get or allreduce
 */
#include "tests/harness/pami_job.h"

enum { ID_ADDRESS = 1, ID_MESSAGE, SHORTS = 100 };

static unsigned char *address_of_target;
static unsigned addresses, messages;
static size_t bytes;
static unsigned char *memory;

static void on_address(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
		       const void *pipe, size_t data_bytes, pami_endpoint_t origin,
		       pami_recv_t *recv)
{
	CHECK_EQ(header_bytes, sizeof address_of_target);
	memcpy(&address_of_target, header, sizeof address_of_target);
	addresses++;
}

static void on_data(pami_context_t c, void *cookie, pami_result_t result)
{
	CHECK_EQ(result, PAMI_SUCCESS);
	messages++;
}

static void on_message(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
		       const void *pipe, size_t data_bytes, pami_endpoint_t origin,
		       pami_recv_t *recv)
{
	if (recv) {
		recv->addr = memory;
		recv->type = PAMI_TYPE_BYTE;
		recv->local_fn = on_data;
	} else {
		messages++;
	}
}

static void send_shorts(pami_endpoint_t to)
{
	char word[8] = "short";
	pami_send_immediate_t s = {
	    .header = {word, sizeof word}, .dispatch = ID_MESSAGE, .dest = to};

	for (int i = 0; i < SHORTS; i++)
		CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
}

static void send_long(pami_endpoint_t to)
{
	int done = 0;
	pami_send_t s = {.send = {.data = {memory, bytes}, .dispatch = ID_MESSAGE, .dest = to},
			 .events = {.cookie = &done, .local_fn = flag_done}};

	CHECK_EQ(PAMI_Send(context, &s), PAMI_SUCCESS);
	WAIT(done);
}

static void put_long(pami_endpoint_t to)
{
	int done = 0;
	pami_put_simple_t p = {
	    .rma = {.dest = to, .bytes = bytes, .cookie = &done},
	    .addr = {memory, address_of_target},
	    .put = {flag_done},
	};

	CHECK_EQ(PAMI_Put(context, &p), PAMI_SUCCESS);
	WAIT(done);
}

static void get_long(pami_endpoint_t to)
{
	int done = 0;
	pami_get_simple_t g = {
	    .rma = {.dest = to, .bytes = bytes, .cookie = &done, .done_fn = flag_done},
	    .addr = {memory, address_of_target},
	};

	CHECK_EQ(PAMI_Get(context, &g), PAMI_SUCCESS);
	WAIT(done);
}

static void sum_up(void)
{
	double mine = (double)me, sum = 0;
	pami_xfer_t x = {.algorithm = get_algorithm(PAMI_XFER_ALLREDUCE)};

	x.cmd.xfer_allreduce.sndbuf = (char *)&mine;
	x.cmd.xfer_allreduce.rcvbuf = (char *)&sum;
	x.cmd.xfer_allreduce.stype = x.cmd.xfer_allreduce.rtype = PAMI_TYPE_DOUBLE;
	x.cmd.xfer_allreduce.stypecount = x.cmd.xfer_allreduce.rtypecount = 1;
	x.cmd.xfer_allreduce.op = PAMI_DATA_SUM;
	run_collective(&x);
	CHECK(sum == (double)(tasks * (tasks - 1) / 2));
}

int main(int argc, char **argv)
{
	const char *kind = argv[argc > 3 ? 1 : 0];
	size_t to = argc > 3 ? (size_t)atol(argv[3]) : 0;
	pami_send_immediate_t s = {.header = {&memory, sizeof memory}, .dispatch = ID_ADDRESS};

	if (argc < 4)
		return 2;
	job_begin(1);
	bytes = (size_t)atol(argv[2]);
	memory = calloc(1, bytes + 1);
	REQUIRE(memory && to < tasks);
	dispatch_set(context, ID_ADDRESS, on_address, NULL, (pami_dispatch_hint_t){0});
	dispatch_set(context, ID_MESSAGE, on_message, NULL, (pami_dispatch_hint_t){0});
	run_barrier();
	if (me == to) {
		s.dest = get_endpoint(0, 0);
		CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
	}
	if (me == 0) {
		WAIT(addresses);
		if (!strcmp(kind, "short"))
			send_shorts(get_endpoint(to, 0));
		else if (!strcmp(kind, "send"))
			send_long(get_endpoint(to, 0));
		else if (!strcmp(kind, "put"))
			put_long(get_endpoint(to, 0));
		else if (!strcmp(kind, "get"))
			get_long(get_endpoint(to, 0));
	}
	if (me == to && !strcmp(kind, "short"))
		WAIT(messages == SHORTS);
	if (me == to && !strcmp(kind, "send"))
		WAIT(messages == 1);
	if (!strcmp(kind, "allreduce"))
		sum_up();
	run_barrier();
	free(memory);
	return job_end(1);
}
