/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message layer with tags over PAMI, as MPI libraries have: posted and unexpected queues, eager
 * messages, rendezvous by memory region and rget, probes, receives that truncate.
 */
#include <pami.h>
#include <sched.h>

#include "tests/guests/guest.h"

enum { ID_EAGER = 1, ID_RTS, ID_DONE, EAGER_LIMIT = 2048, ANY = -1 };

typedef struct request {
	struct request *next;
	int peer, tag, truncated;
	volatile int complete;
	char *buffer;
	size_t room, length;
	pami_memregion_t region;
	/* unexpected only */
	int rendezvous;
	pami_memregion_t remote_region;
	struct request *remote_request;
	pami_endpoint_t origin;
} request_t;

struct envelope {
	int tag, pad;
	size_t length;
};

struct rts {
	struct envelope e;
	pami_memregion_t region;
	request_t *sender;
};

static pami_client_t client;
static pami_context_t context;
static pami_endpoint_t *peers;
static int rank, size;
static request_t *posted, *unexpected;

static request_t *take_request(request_t **list, int peer, int tag)
{
	for (request_t **p = list; *p; p = &(*p)->next) {
		request_t *r = *p;

		if ((r->peer == peer || r->peer == ANY || peer == ANY) &&
		    (r->tag == tag || r->tag == ANY || tag == ANY)) {
			*p = r->next;
			return r;
		}
	}
	return NULL;
}

static void append_request(request_t **list, request_t *r)
{
	while (*list)
		list = &(*list)->next;
	r->next = NULL;
	*list = r;
}

static int task_of(pami_endpoint_t e)
{
	pami_task_t task;
	size_t offset;

	PAMI_Endpoint_query(e, &task, &offset);
	return (int)task;
}

static void complete_request(pami_context_t c, void *cookie, pami_result_t result)
{
	(void)c;
	CHECK(result == PAMI_SUCCESS);
	((request_t *)cookie)->complete = 1;
}

static void tell_sender(pami_context_t c, pami_endpoint_t origin, request_t *sender)
{
	pami_send_immediate_t s;

	memset(&s, 0, sizeof s);
	s.dispatch = ID_DONE;
	s.dest = origin;
	s.header.iov_base = &sender;
	s.header.iov_len = sizeof sender;
	CHECK(PAMI_Send_immediate(c, &s) == PAMI_SUCCESS);
}

static void rget_done(pami_context_t c, void *cookie, pami_result_t result)
{
	request_t *r = cookie;

	(void)result; /* of a truncated one success or an error may come */
	PAMI_Memregion_destroy(c, &r->region);
	tell_sender(c, r->origin, r->remote_request);
	r->complete = 1;
}

/* The message is longer than the buffer: ask for all of it and let the region clip. */
static void pull_message(pami_context_t c, request_t *r)
{
	pami_rget_simple_t get;
	size_t out;

	r->truncated = r->length > r->room;
	CHECK(PAMI_Memregion_create(c, r->buffer, r->room, &out, &r->region) == PAMI_SUCCESS &&
	      out == r->room);
	memset(&get, 0, sizeof get);
	get.rma.dest = r->origin;
	get.rma.bytes = r->length;
	get.rma.cookie = r;
	get.rma.done_fn = rget_done;
	get.rdma.local.mr = &r->region;
	get.rdma.remote.mr = &r->remote_region;
	if (PAMI_Rget(c, &get) != PAMI_SUCCESS) {
		CHECK(!"a long rget is refused");
		rget_done(c, r, PAMI_INVAL);
	}
}

static void on_eager(pami_context_t c, void *cookie, const void *header, size_t header_size,
		     const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	const struct envelope *e = header;
	int from = task_of(origin);
	request_t *r = take_request(&posted, from, e->tag);

	(void)c, (void)cookie, (void)header_size;
	if (!r) {
		r = calloc(1, sizeof *r);
		r->buffer = malloc(bytes + 1);
		r->room = bytes;
		append_request(&unexpected, r);
	}
	r->peer = from;
	r->tag = e->tag;
	r->length = bytes;
	r->truncated = bytes > r->room;
	if (pipe) {
		memcpy(r->buffer, pipe, bytes < r->room ? bytes : r->room);
		r->complete = 1;
		return;
	}
	recv->cookie = r;
	recv->local_fn = complete_request;
	recv->addr = r->buffer;
	if (r->truncated) { /* the rest is thrown away */
		recv->addr = malloc(bytes);
		r->truncated = 2;
		recv->data_fn = PAMI_DATA_NOOP;
	}
}

static void on_rts(pami_context_t c, void *cookie, const void *header, size_t header_size,
		   const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	const struct rts *m = header;
	int from = task_of(origin);
	request_t *r = take_request(&posted, from, m->e.tag);
	int early = !r;

	(void)cookie, (void)header_size, (void)pipe, (void)bytes, (void)recv;
	if (early) {
		r = calloc(1, sizeof *r);
		r->rendezvous = 1;
	}
	r->peer = from;
	r->tag = m->e.tag;
	r->length = m->e.length;
	r->origin = origin;
	r->remote_request = m->sender;
	memcpy(&r->remote_region, &m->region, sizeof m->region);
	if (early)
		append_request(&unexpected, r);
	else
		pull_message(c, r);
}

static void on_done(pami_context_t c, void *cookie, const void *header, size_t header_size,
		    const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	request_t *r = *(request_t *const *)header;

	(void)cookie, (void)header_size, (void)pipe, (void)bytes, (void)origin, (void)recv;
	PAMI_Memregion_destroy(c, &r->region);
	r->complete = 1;
}

static void poll_once(void)
{
	PAMI_Context_trylock_advancev(&context, 1, 1);
}

static void start_send(request_t *r, const void *buffer, size_t length, int to, int tag)
{
	memset(r, 0, sizeof *r);
	r->buffer = (char *)buffer;
	r->length = length;
	if (length <= EAGER_LIMIT) {
		struct envelope e = {tag, 0, length};
		pami_send_t s;

		memset(&s, 0, sizeof s);
		s.send.dispatch = ID_EAGER;
		s.send.dest = peers[to];
		s.send.header.iov_base = &e;
		s.send.header.iov_len = sizeof e;
		s.send.data.iov_base = (void *)buffer;
		s.send.data.iov_len = length;
		s.events.cookie = r;
		s.events.local_fn = complete_request;
		CHECK(PAMI_Send(context, &s) == PAMI_SUCCESS);
		while (!r->complete) /* the header lies on the stack */
			poll_once();
	} else {
		struct rts m = {{tag, 0, length}, {0}, r};
		pami_send_immediate_t s;
		size_t out;

		CHECK(PAMI_Memregion_create(context, (void *)buffer, length, &out, &r->region) ==
		      PAMI_SUCCESS);
		memcpy(&m.region, &r->region, sizeof m.region);
		memset(&s, 0, sizeof s);
		s.dispatch = ID_RTS;
		s.dest = peers[to];
		s.header.iov_base = &m;
		s.header.iov_len = sizeof m;
		CHECK(PAMI_Send_immediate(context, &s) == PAMI_SUCCESS);
	}
	poll_once();
}

static void start_receive(request_t *r, void *buffer, size_t room, int from, int tag)
{
	request_t *early = take_request(&unexpected, from, tag);

	memset(r, 0, sizeof *r);
	r->peer = from;
	r->tag = tag;
	r->buffer = buffer;
	r->room = room;
	if (early && early->rendezvous) {
		r->peer = early->peer;
		r->tag = early->tag;
		r->length = early->length;
		r->origin = early->origin;
		r->remote_request = early->remote_request;
		memcpy(&r->remote_region, &early->remote_region, sizeof r->remote_region);
		free(early);
		pull_message(context, r);
	} else if (early) {
		while (!early->complete)
			poll_once();
		r->peer = early->peer;
		r->tag = early->tag;
		r->length = early->length;
		r->truncated = r->length > room;
		memcpy(buffer, early->buffer, r->truncated ? room : r->length);
		r->complete = 1;
		free(early->buffer);
		free(early);
	} else {
		append_request(&posted, r);
	}
	poll_once();
}

static int test_request(request_t *r)
{
	poll_once();
	return r->complete;
}

static void wait_for(request_t *r)
{
	while (!r->complete)
		PAMI_Context_advance(context, 1000);
}

static int probe_message(int from, int tag)
{
	request_t *r;

	poll_once();
	if ((r = take_request(&unexpected, from, tag))) {
		r->next = unexpected;
		unexpected = r;
	}
	return r != NULL;
}

static void run_barrier(void)
{
	for (int step = 1, tag = 1000; step < size; step *= 2, tag++) {
		request_t s, r;
		char c = 0, d;

		start_receive(&r, &d, 1, (rank + size - step) % size, tag);
		start_send(&s, &c, 1, (rank + step) % size, tag);
		wait_for(&r);
		wait_for(&s);
	}
}

static int left_rank(void)
{
	return (rank + size - 1) % size;
}

static int right_rank(void)
{
	return (rank + 1) % size;
}

static void ring_of_all_lengths(void)
{
	static char out[100000], in[100000];

	for (size_t n = 0; n <= sizeof out; n = n * 7 + 1) {
		request_t s, r;

		memset(out, (int)(rank + n), sizeof out);
		memset(in, 0x7f, sizeof in);
		start_receive(&r, in, sizeof in, left_rank(), 5);
		start_send(&s, out, n, right_rank(), 5);
		wait_for(&r);
		wait_for(&s);
		CHECK(r.length == n);
		for (size_t i = 0; i < n; i++)
			if (in[i] != (char)(left_rank() + n)) {
				CHECK(!"data");
				break;
			}
	}
	run_barrier();
}

static void all_unexpected(void)
{
	enum { N = 40 };
	static request_t s[N], r[N];
	static char out[N][4000], in[N][4000];

	for (int i = 0; i < N; i++) {
		memset(out[i], i + rank, sizeof out[i]);
		start_send(&s[i], out[i], i % 2 ? 4000 : 100, right_rank(), 100 + i);
	}
	run_barrier(); /* eager ones have arrived, requests of the others too */
	for (int i = N; i-- > 0;) {
		start_receive(&r[i], in[i], 4000, i % 3 ? left_rank() : ANY, 100 + i);
		wait_for(&r[i]);
		CHECK(in[i][50] == (char)(i + left_rank()) && r[i].peer == left_rank());
	}
	for (int i = 0; i < N; i++)
		wait_for(&s[i]);
	run_barrier();
}

static void probe_loops(void)
{
	for (int i = 0; i < 10; i++) {
		request_t s, r;
		int word = rank, got = -1;

		start_send(&s, &word, sizeof word, right_rank(), 7);
		while (!probe_message(ANY, 7))
			;
		start_receive(&r, &got, sizeof got, ANY, 7);
		wait_for(&r);
		CHECK(got == left_rank());
	}
	for (int i = 0; i < 500; i++)
		CHECK(!probe_message(ANY, 8));
	run_barrier();
}

static void test_and_compute(void)
{
	static char out[50000], in[50000];
	volatile double x = 1;

	for (int i = 0; i < 10; i++) {
		request_t s, r;

		start_receive(&r, in, sizeof in, left_rank(), 9);
		start_send(&s, out, sizeof out, right_rank(), 9);
		for (int n = 0; !test_request(&r) || !test_request(&s); n++) {
			for (int k = 0; k < 100; k++)
				x = x * 1.000001;
			if (n > 200)
				sched_yield();
		}
	}
	run_barrier();
}

static void truncating_receives(void)
{
	static char out[60000];
	static struct {
		char before[64], in[10000], after[60000];
	} m;
	request_t s, r;

	for (int late = 0; late < 2; late++) {
		memset(out, 'x', sizeof out);
		memset(&m, '-', sizeof m);
		if (!late)
			start_receive(&r, m.in, sizeof m.in, left_rank(), 11);
		run_barrier();
		start_send(&s, out, sizeof out, right_rank(), 11);
		if (late) {
			run_barrier();
			start_receive(&r, m.in, sizeof m.in, left_rank(), 11);
		}
		wait_for(&r);
		wait_for(&s);
		CHECK(r.truncated);
		for (size_t i = 0; i < sizeof m.in; i++)
			if (m.in[i] != 'x') {
				CHECK(!"bytes that fit have come");
				break;
			}
		for (size_t i = 0; i < sizeof m.after; i++)
			if (m.after[i] != '-' || m.before[i % 64] != '-') {
				CHECK(!"memory beside the buffer is as it was");
				break;
			}
		run_barrier();
	}
}

int main(int argc, char **argv)
{
	pami_configuration_t q[2];
	pami_dispatch_callback_function f;
	pami_dispatch_hint_t ordered, ordinary;

	if (PAMI_Client_create("MPI-like", &client, NULL, 0) != PAMI_SUCCESS)
		return 1;
	q[0].name = PAMI_CLIENT_TASK_ID;
	q[1].name = PAMI_CLIENT_NUM_TASKS;
	PAMI_Client_query(client, q, 2);
	rank = (int)q[0].value.intval;
	size = (int)q[1].value.intval;
	q[0].name = PAMI_CLIENT_CONST_CONTEXTS;
	q[0].value.intval = 1;
	if (PAMI_Context_createv(client, q, 1, &context, 1) != PAMI_SUCCESS)
		return 1;
	memset(&ordered, 0, sizeof ordered);
	ordered.consistency = PAMI_HINT_ENABLE;
	ordered.long_header = PAMI_HINT_DISABLE;
	ordinary = ordered;
	ordinary.recv_immediate = PAMI_HINT_DEFAULT;
	f.p2p = on_eager;
	PAMI_Dispatch_set(context, ID_EAGER, f, NULL, ordinary);
	ordered.recv_immediate = PAMI_HINT_ENABLE;
	f.p2p = on_rts;
	PAMI_Dispatch_set(context, ID_RTS, f, NULL, ordered);
	f.p2p = on_done;
	PAMI_Dispatch_set(context, ID_DONE, f, NULL, ordered);
	peers = malloc((size_t)size * sizeof *peers);
	for (int i = 0; i < size; i++)
		PAMI_Endpoint_create(client, (pami_task_t)i, 0, &peers[i]);

	CASE(ring_of_all_lengths, "A message layer passes messages of all lengths around a ring.");
	CASE(all_unexpected, "Every message comes before its receive is posted.");
	CASE(probe_loops, "A program probes in a loop, and probes for what never comes.");
	CASE(test_and_compute, "A program tests its requests between pieces of work.");
	CASE(truncating_receives,
	     "A receive is shorter than its message; the layer asks for all of it.");

	run_barrier();
	PAMI_Context_destroyv(&context, 1);
	PAMI_Client_destroy(&client);
	free(peers);
	return check_failures != 0;
}
