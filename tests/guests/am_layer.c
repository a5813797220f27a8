/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An active message layer over PAMI, as GASNet has: request and reply with credits, a poll in each
 * call, waits that poll until a condition holds, one lock for everything, an end without goodbyes.
 */
#include <pami.h>
#include <unistd.h>

#include "tests/guests/guest.h"

#define POLL_MAX 10
#define CREDITS  16

typedef struct {
	uint8_t handler, is_reply;
	uint16_t nargs;
	uint32_t args[8];
} am_header;

static pami_client_t g_client;
static pami_context_t g_context;
static pami_endpoint_t g_table[64];
static pami_memregion_t g_segments[64];
static uint32_t g_me, g_nodes;
static int g_credits[64];
static volatile int g_replies, g_requests;
static char g_segment[1 << 16];

#define AM_SAFE(call)                                                                              \
	do {                                                                                       \
		pami_result_t r_ = (call);                                                         \
		if (r_ != PAMI_SUCCESS) {                                                          \
			fprintf(stderr, "%s failed: %d\n", #call, (int)r_);                        \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static void am_poll(void)
{
	pami_result_t rc = PAMI_Context_trylock_advancev(&g_context, 1, POLL_MAX);

	if (rc != PAMI_SUCCESS && rc != PAMI_EAGAIN)
		_exit(1);
}

#define BLOCK_UNTIL(cond)                                                                          \
	do {                                                                                       \
		while (!(cond))                                                                    \
			am_poll();                                                                 \
	} while (0)

static void am_send(uint32_t node, const am_header *h, const void *data, size_t bytes,
		    int in_handler)
{
	pami_send_immediate_t s;

	memset(&s, 0, sizeof s);
	s.dispatch = h->is_reply ? 2 : 1;
	s.dest = g_table[node];
	s.header.iov_base = (void *)h;
	s.header.iov_len = 4 + 4u * h->nargs;
	s.data.iov_base = (void *)data;
	s.data.iov_len = bytes;
	if (!in_handler)
		PAMI_Context_lock(g_context);
	AM_SAFE(PAMI_Send_immediate(g_context, &s));
	if (!in_handler)
		PAMI_Context_unlock(g_context);
}

static void am_request(uint32_t node, uint8_t handler, uint32_t a, const void *data, size_t bytes)
{
	am_header h = {handler, 0, 2, {a, g_me}};

	am_poll();
	BLOCK_UNTIL(g_credits[node] > 0);
	g_credits[node]--;
	am_send(node, &h, data, bytes, 0);
	am_poll();
}

static void on_request(pami_context_t context, void *cookie, const void *head, size_t head_size,
		       const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	const am_header *h = head;
	am_header reply = {h->handler, 1, 2, {h->args[0], g_me}};

	(void)cookie, (void)head_size, (void)origin, (void)recv, (void)context;
	CHECK(pipe || !bytes);
	g_requests++;
	am_send(h->args[1], &reply, NULL, 0, 1);
}

static void on_reply(pami_context_t context, void *cookie, const void *head, size_t head_size,
		     const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	const am_header *h = head;

	(void)cookie, (void)head_size, (void)origin, (void)recv, (void)context, (void)pipe,
	    (void)bytes;
	g_credits[h->args[1]]++;
	g_replies++;
}

static void count_event(pami_context_t context, void *cookie, pami_result_t result)
{
	(void)context;
	CHECK(result == PAMI_SUCCESS);
	++*(volatile int *)cookie;
}

static void run_collective(pami_xfer_type_t type, pami_xfer_t *x)
{
	volatile int done = 0;
	pami_geometry_t world;

	PAMI_Geometry_world(g_client, &world);
	AM_SAFE(PAMI_Geometry_algorithms_query(world, type, &x->algorithm, NULL, 1, NULL, NULL, 0));
	x->cb_done = count_event;
	x->cookie = (void *)&done;
	PAMI_Context_lock(g_context);
	AM_SAFE(PAMI_Collective(g_context, x));
	PAMI_Context_unlock(g_context);
	BLOCK_UNTIL(done);
}

static void am_barrier(void)
{
	pami_xfer_t x;

	run_collective(PAMI_XFER_BARRIER, &x);
}

static void requests_and_replies(void)
{
	const int n = 300;
	int until = g_replies + n, seen = g_requests + n;
	uint32_t to = (g_me + 1) % g_nodes;

	am_barrier(); /* no task sends before all have counted */
	for (int i = 0; i < n; i++)
		am_request(to, 7, (uint32_t)i, g_segment, (size_t)i % 300);
	BLOCK_UNTIL(g_replies >= until && g_requests >= seen);
	am_barrier();
}

static void ping_pong(void)
{
	uint32_t to = (g_me + 1) % g_nodes;

	for (int i = 0; i < 30; i++) {
		int until = g_replies + 1;

		am_request(to, 1, 0, NULL, 0);
		BLOCK_UNTIL(g_replies >= until);
	}
	am_barrier();
}

static void all_to_one(void)
{
	const int n = 60;
	int until = g_replies + n;

	for (int i = 0; i < n; i++)
		am_request(0, 2, 0, g_segment, 100);
	BLOCK_UNTIL(g_replies >= until);
	am_barrier();
}

static void puts_and_gets_on_segments(void)
{
	pami_xfer_t x;
	pami_memregion_t mine;
	size_t out;
	volatile int puts = 0, gets = 0;
	uint32_t to = (g_me + 1) % g_nodes;
	const int n = 30;

	AM_SAFE(PAMI_Memregion_create(g_context, g_segment, sizeof g_segment, &out, &mine));
	memset(&x, 0, sizeof x);
	x.cmd.xfer_allgather.sndbuf = (char *)&mine;
	x.cmd.xfer_allgather.stype = PAMI_TYPE_BYTE;
	x.cmd.xfer_allgather.stypecount = sizeof mine;
	x.cmd.xfer_allgather.rcvbuf = (char *)g_segments;
	x.cmd.xfer_allgather.rtype = PAMI_TYPE_BYTE;
	x.cmd.xfer_allgather.rtypecount = sizeof mine;
	run_collective(PAMI_XFER_ALLGATHER, &x);
	memset(g_segment, (int)g_me + 1, 8192);
	for (int i = 0; i < n; i++) {
		pami_rput_simple_t p;
		pami_rget_simple_t g;

		memset(&p, 0, sizeof p);
		p.rma.dest = g_table[to];
		p.rma.bytes = 4096;
		p.rma.cookie = (void *)&puts;
		p.put.rdone_fn = count_event;
		p.rdma.local.mr = &mine;
		p.rdma.remote.mr = &g_segments[to];
		p.rdma.remote.offset = 16384;
		PAMI_Context_lock(g_context);
		AM_SAFE(PAMI_Rput(g_context, &p));
		PAMI_Context_unlock(g_context);
		am_poll();
		if (i % 3)
			continue;
		BLOCK_UNTIL(puts == i + 1);
		memset(&g, 0, sizeof g);
		g.rma.dest = g_table[to];
		g.rma.bytes = 4096;
		g.rma.cookie = (void *)&gets;
		g.rma.done_fn = count_event;
		g.rdma.local.mr = &mine;
		g.rdma.local.offset = 32768;
		g.rdma.remote.mr = &g_segments[to];
		g.rdma.remote.offset = 16384;
		gets = 0;
		PAMI_Context_lock(g_context);
		AM_SAFE(PAMI_Rget(g_context, &g));
		PAMI_Context_unlock(g_context);
		BLOCK_UNTIL(gets == 1);
		CHECK(g_segment[32768 + 4095] == (char)(g_me + 1));
	}
	BLOCK_UNTIL(puts == n);
	am_barrier();
}

static void exchange_with_allreduce(void)
{
	for (int i = 0; i < 20; i++) {
		uint64_t in[2] = {g_me, 1}, out[2] = {0, 0};
		pami_xfer_t x;

		memset(&x, 0, sizeof x);
		x.cmd.xfer_allreduce.sndbuf = (char *)in;
		x.cmd.xfer_allreduce.stype = PAMI_TYPE_UNSIGNED_LONG_LONG;
		x.cmd.xfer_allreduce.stypecount = 2;
		x.cmd.xfer_allreduce.rcvbuf = (char *)out;
		x.cmd.xfer_allreduce.rtype = PAMI_TYPE_BYTE;
		x.cmd.xfer_allreduce.rtypecount = sizeof out;
		x.cmd.xfer_allreduce.op = PAMI_DATA_MAX;
		run_collective(PAMI_XFER_ALLREDUCE, &x);
		CHECK(out[0] == g_nodes - 1 && out[1] == 1);
	}
}

int main(int argc, char **argv)
{
	pami_configuration_t c = {.name = PAMI_CLIENT_NUM_TASKS};
	pami_dispatch_callback_function f;
	pami_dispatch_hint_t hints;

	AM_SAFE(PAMI_Client_create("AM", &g_client, NULL, 0));
	AM_SAFE(PAMI_Client_query(g_client, &c, 1));
	g_nodes = (uint32_t)c.value.intval;
	c.name = PAMI_CLIENT_TASK_ID;
	AM_SAFE(PAMI_Client_query(g_client, &c, 1));
	g_me = (uint32_t)c.value.intval;
	AM_SAFE(PAMI_Context_createv(g_client, NULL, 0, &g_context, 1));
	for (uint32_t i = 0; i < 64; i++) {
		g_table[i] = PAMI_ENDPOINT_NULL;
		g_credits[i] = CREDITS;
	}
	for (uint32_t i = 0; i < g_nodes; i++)
		AM_SAFE(PAMI_Endpoint_create(g_client, i, 0, &g_table[i]));
	memset(&hints, 0, sizeof hints);
	hints.recv_contiguous = PAMI_HINT_ENABLE;
	hints.recv_copy = PAMI_HINT_ENABLE;
	hints.multicontext = PAMI_HINT_DISABLE;
	f.p2p = on_request;
	AM_SAFE(PAMI_Dispatch_set(g_context, 1, f, NULL, hints));
	f.p2p = on_reply;
	AM_SAFE(PAMI_Dispatch_set(g_context, 2, f, NULL, hints));
	am_barrier();

	CASE(ping_pong, "A layer polls before and after each request and waits for each reply.");
	CASE(requests_and_replies,
	     "Requests go out as far as credits allow; handlers reply at once.");
	CASE(all_to_one, "All tasks send requests to task 0.");
	CASE(puts_and_gets_on_segments,
	     "A layer registers one segment a task and puts and gets there.");
	CASE(exchange_with_allreduce, "A layer agrees by a short allreduce, again and again.");

	/* A layer ends by a barrier and _exit, and destroys nothing. */
	am_barrier();
	fflush(stdout);
	fflush(stderr);
	if (getenv("GUEST_END") && !strcmp(getenv("GUEST_END"), "exit"))
		exit(check_failures != 0);
	_exit(check_failures != 0);
}
