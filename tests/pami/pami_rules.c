/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rules that hold everywhere, R1 to R15 of docs/references.md: one function each,
 * named after the rule. Run as jobs by pami_job.sh; with "virtual" as argument fewer.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "tests/harness/pami_job.h"

#define CONTEXTS 4
#define SLOTS    400
#define SLOT     2304 /* bytes: no two operations under way touch the same memory */
#define WINDOW   (SLOTS * SLOT)

enum {
	ID_COUNT = 1,
	ID_DATA,
	ID_BUSY,
	ID_START,
	ID_ORDER,
	ID_ORDER_TOO,
	ID_HINTS = 20,
	ID_R11 = 100
};

static struct drv_rng rng;
static int in_call, in_progress;
static pthread_t driver;
static unsigned char *window;       /* of all: [WINDOW] for each task */
static unsigned char **window_of;   /* [tasks] */
static pami_memregion_t *region_of; /* [tasks] */

struct op {
	int local, remote; /* calls; remote -1: there is none */
};

static void op_local(pami_context_t c, void *cookie, pami_result_t result)
{
	struct op *o = cookie;

	CHECK_EQ(result, PAMI_SUCCESS);
	CHECK_EQ(in_call, 0);
	CHECK(o->remote <= 0); /* R7 */
	o->local++;
}

static void op_remote(pami_context_t c, void *cookie, pami_result_t result)
{
	struct op *o = cookie;

	CHECK_EQ(result, PAMI_SUCCESS);
	CHECK_EQ(in_call, 0);
	CHECK_EQ(o->local, 1); /* R7 */
	o->remote++;
}

static size_t task_of(pami_endpoint_t e)
{
	size_t task, offset;

	PAMI_Endpoint_query(e, &task, &offset);
	return task;
}

static size_t next_task(void)
{
	return (me + 1) % tasks;
}

/* ---- One of everything, from context `from` to endpoint `to`. ---- */

enum kind { SEND, IMMEDIATE, TYPED, PUT, GET, RPUT, RGET, PUT_TYPED, GET_TYPED, RMW, KINDS };

static pami_type_t pairs;           /* 8 bytes, 8 bytes gap */
static unsigned char buffer[65536]; /* read only */
static unsigned char landing[WINDOW];
static unsigned slots;

static pami_result_t start_op(enum kind kind, pami_context_t from, size_t task, size_t offset,
			      size_t bytes, struct op *o)
{
	static const uint64_t one = 1;
	pami_endpoint_t to = get_endpoint(task, offset);
	size_t place = me * WINDOW + slots++ % SLOTS * SLOT;
	unsigned char *there = window_of[task] + place, *here = landing + place - me * WINDOW;
	pami_send_immediate_t s = {
	    .header = {"header", 6}, .data = {buffer, bytes}, .dispatch = ID_COUNT, .dest = to};
	pami_send_event_t events = {o, op_local, op_remote};
	pami_rma_t rma = {.dest = to, .bytes = bytes, .cookie = o, .done_fn = op_local};
	pami_rma_addr_t addr = {kind == GET || kind == GET_TYPED ? here : buffer, there};
	pami_rma_typed_t types = {PAMI_TYPE_BYTE, pairs};
	pami_memregion_t mine;
	pami_rdma_t rdma = {{&mine, 0}, {&region_of[task], place}};
	pami_result_t result = PAMI_ERROR;
	size_t out;

	PAMI_Memregion_create(from, kind == RGET ? here : buffer, SLOT, &out, &mine);
	memset(&s.hints, 0x5a, sizeof s.hints); /* R10 */
	memset(&rma.hints, 0xa5, sizeof rma.hints);
	in_call = 1;
	switch (kind) {
	case SEND:
		result = PAMI_Send(from, &(pami_send_t){s, events});
		break;
	case IMMEDIATE:
		s.data.iov_len = bytes > 400 ? 400 : bytes;
		result = PAMI_Send_immediate(from, &s);
		o->local = o->remote = 1;
		break;
	case TYPED:
		s.data.iov_len = bytes / 2;
		result = PAMI_Send_typed(
		    from, &(pami_send_typed_t){s, events, {pairs, 0, PAMI_DATA_COPY, NULL}});
		break;
	case PUT:
		result = PAMI_Put(from, &(pami_put_simple_t){rma, addr, {op_remote}});
		break;
	case GET:
		o->remote = -1;
		result = PAMI_Get(from, &(pami_get_simple_t){rma, addr});
		break;
	case RPUT:
		result = PAMI_Rput(from, &(pami_rput_simple_t){rma, rdma, {op_remote}});
		break;
	case RGET:
		o->remote = -1;
		result = PAMI_Rget(from, &(pami_rget_simple_t){rma, rdma});
		break;
	case PUT_TYPED:
		rma.bytes = bytes / 2;
		result = PAMI_Put_typed(from, &(pami_put_typed_t){rma, addr, types, {op_remote}});
		break;
	case GET_TYPED:
		rma.bytes = bytes / 2;
		o->remote = -1;
		result = PAMI_Get_typed(from, &(pami_get_typed_t){rma, addr, types});
		break;
	default:
		o->remote = -1;
		result = PAMI_Rmw(from, &(pami_rmw_t){.dest = to,
						      .cookie = o,
						      .done_fn = op_local,
						      .local = here,
						      .remote = there,
						      .value = (void *)(uintptr_t)&one,
						      .operation = PAMI_ATOMIC_FETCH_ADD,
						      .type = PAMI_TYPE_UNSIGNED_LONG});
	}
	in_call = 0;
	memset(mine, 0, sizeof mine); /* R6: read during the call */
	return result;
}

static int has_ended(const struct op *o)
{
	return o->local == 1 && (o->remote == 1 || o->remote == -1);
}

/* Runs the first `count` contexts until everything there is done. */
static void advance_contexts(size_t count)
{
	in_progress = 1;
	driver = pthread_self();
	PAMI_Context_advancev(contexts, count, 10);
	in_progress = 0;
}

/* A barrier during which the first `count` contexts are advanced: others may wait for them. */
static void meet_all(size_t count)
{
	int done = 0;
	pami_xfer_t x = {
	    .algorithm = get_algorithm(PAMI_XFER_BARRIER), .cb_done = flag_done, .cookie = &done};

	CHECK_EQ(PAMI_Collective(context, &x), PAMI_SUCCESS);
	while (!done)
		advance_contexts(count);
}

static int counted;

static void on_count(pami_context_t c, void *cookie, const void *h, size_t hn, const void *p,
		     size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	static unsigned char sink[65536];

	atomic_fetch_add_relaxed(&counted, 1);
	if (recv)
		recv->addr = n <= sizeof sink ? sink : NULL;
	if (recv && !recv->addr)
		recv->data_fn = PAMI_DATA_NOOP;
}

/* ---- R1 ---- */

struct worker {
	pthread_t thread;
	size_t offset;
	volatile int received, answers;
	int bad;
};
static struct worker worker[CONTEXTS];
static volatile int posted_done;

static void on_busy(pami_context_t c, void *cookie, const void *h, size_t hn, const void *p,
		    size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	worker[(size_t)(uintptr_t)cookie].received++;
}

static void count_answer(pami_context_t c, void *cookie, pami_result_t result)
{
	((struct worker *)cookie)->answers++;
}

static int quick;
#define R1_MESSAGES (quick ? 100 : 400)

static void *work_thread(void *arg)
{
	struct worker *w = arg;
	pami_context_t c = contexts[w->offset];

	for (int i = 0; i < R1_MESSAGES; i++) {
		pami_send_t s = {.send = {.data = {buffer, (size_t)i % 700},
					  .dispatch = ID_BUSY,
					  .dest = get_endpoint(next_task(), w->offset)},
				 .events = {w, NULL, count_answer}};

		PAMI_Context_lock(c);
		w->bad += PAMI_Send(c, &s) != PAMI_SUCCESS;
		PAMI_Context_advance(c, 1);
		PAMI_Context_unlock(c);
	}
	for (;;) {
		int done;

		PAMI_Context_lock(c);
		done = w->received == R1_MESSAGES && w->answers == R1_MESSAGES;
		PAMI_Context_advance(c, 1);
		PAMI_Context_unlock(c);
		if (done)
			return NULL;
	}
}

static pami_result_t count_post(pami_context_t c, void *cookie)
{
	atomic_fetch_add_relaxed(&posted_done, 1);
	return PAMI_SUCCESS;
}

/* Each context with a thread of its own, while another posts to and locks all of them. */
static void r01_contexts_are_independent(void)
{
	static pami_work_t work[CONTEXTS * 100];

	for (size_t i = 0; i < CONTEXTS; i++) {
		worker[i].offset = i;
		CHECK_EQ(pthread_create(&worker[i].thread, NULL, work_thread, &worker[i]), 0);
	}
	for (int i = 0; i < CONTEXTS * 100; i++) {
		CHECK_EQ(PAMI_Context_post(contexts[i % CONTEXTS], &work[i], count_post, NULL),
			 PAMI_SUCCESS);
		if (PAMI_Context_trylock(contexts[i % CONTEXTS]) == PAMI_SUCCESS)
			PAMI_Context_unlock(contexts[i % CONTEXTS]);
	}
	for (size_t i = 0; i < CONTEXTS; i++) {
		pthread_join(worker[i].thread, NULL);
		CHECK_EQ(worker[i].bad, 0);
	}
	while (posted_done < CONTEXTS * 100)
		advance_contexts(CONTEXTS);
}

/* ---- R2, R3 ---- */

static pami_context_t expected_context;
static int seen_dispatch, seen_event, seen_work;

static void right_place(pami_context_t c)
{
	CHECK(c == expected_context);
	CHECK_EQ(in_progress, 1);
	CHECK_EQ(in_call, 0);
	CHECK(pthread_equal(driver, pthread_self()));
}

static void place_dispatch(pami_context_t c, void *cookie, const void *h, size_t hn, const void *p,
			   size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	right_place(c);
	seen_dispatch++;
}

static void place_event(pami_context_t c, void *cookie, pami_result_t result)
{
	right_place(c);
	seen_event++;
}

static pami_result_t place_work(pami_context_t c, void *cookie)
{
	right_place(c);
	seen_work++;
	return PAMI_SUCCESS;
}

static void r02_callbacks_run_in_progress(void)
{
	pami_work_t work;
	pami_dispatch_hint_t none = {0};

	expected_context = contexts[1];
	dispatch_set(contexts[1], ID_DATA, place_dispatch, NULL, none);
	run_barrier();
	for (size_t bytes = 0; bytes < 3000; bytes += 700) {
		pami_send_t s = {.send = {.data = {buffer, bytes},
					  .dispatch = ID_DATA,
					  .dest = get_endpoint(next_task(), 1)},
				 .events = {NULL, place_event, place_event}};

		in_call = 1;
		CHECK_EQ(PAMI_Send(contexts[1], &s), PAMI_SUCCESS);
		in_call = 0;
	}
	in_call = 1;
	CHECK_EQ(PAMI_Context_post(contexts[1], &work, place_work, NULL), PAMI_SUCCESS);
	in_call = 0;
	while (seen_dispatch < 5 || seen_event < 10 || seen_work < 1)
		advance_contexts(2);
	CHECK_EQ(seen_event, 10);
	meet_all(2);
}

static struct op inside[KINDS];
static int inside_barrier, inside_worked, r03_done; /* the message may come before we look for it */
static pami_work_t inside_work;

static pami_result_t inside_work_done(pami_context_t c, void *cookie)
{
	inside_worked++;
	return PAMI_SUCCESS;
}

static void on_start(pami_context_t c, void *cookie, const void *h, size_t hn, const void *p,
		     size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	pami_configuration_t q = {.name = PAMI_CONTEXT_DISPATCH_ID_MAX},
			     r = {.name = PAMI_DISPATCH_SEND_IMMEDIATE_MAX};
	pami_configuration_t t = {.name = PAMI_CLIENT_NUM_TASKS};
	pami_xfer_t x = {.algorithm = get_algorithm(PAMI_XFER_BARRIER),
			 .cb_done = flag_done,
			 .cookie = &inside_barrier};
	pami_memregion_t mr;
	size_t out;

	for (int kind = 0; kind < KINDS; kind++)
		CHECK_EQ(start_op(kind, c, task_of(origin), 0, 64, &inside[kind]), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Context_query(c, &q, 1), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Dispatch_query(c, ID_COUNT, &r, 1), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Client_query(client, &t, 1), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Memregion_create(c, buffer, 10, &out, &mr), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Memregion_destroy(c, &mr), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Context_post(c, &inside_work, inside_work_done, NULL), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Collective(c, &x), PAMI_SUCCESS);
	r03_done = 1;
}

static void r03_callbacks_may_start_anything(void)
{
	pami_send_immediate_t s = {.dispatch = ID_START, .dest = get_endpoint(next_task(), 0)};
	unsigned left = 1;

	CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
	while (left) {
		advance_contexts(1);
		left = !r03_done || inside_barrier != 1 || inside_worked != 1;
		for (int kind = 0; kind < KINDS; kind++)
			left += !has_ended(&inside[kind]);
	}
	run_barrier();
}

/* ---- R4 ---- */

static void r04_calls_do_not_call_back(void)
{
	static struct op op[KINDS * 40];

	memset(op, 0, sizeof op);
	for (int i = 0; i < KINDS * 40;
	     i++) { /* messages wait to be dispatched; the callbacks look at in_call */
		CHECK_EQ(start_op(i % KINDS, context, drv_rng_below(&rng, tasks), 0,
				  (size_t)i % 7 * 300 + 16, &op[i]),
			 PAMI_SUCCESS);
		if (i % KINDS != IMMEDIATE)
			CHECK_EQ(op[i].local, 0);
	}
	for (int i = 0; i < KINDS * 40; i++)
		while (!has_ended(&op[i]))
			advance_contexts(1);
	run_barrier();
}

/* ---- R5 ---- */

/* Context 0 starts, context 1 of the target is aimed at; the others are never advanced. */
static void r05_two_contexts_make_progress(void)
{
	struct op op[KINDS];

	memset(op, 0, sizeof op);
	for (int kind = 0; kind < KINDS; kind++) {
		CHECK_EQ(start_op(kind, context, next_task(), 1, 2000, &op[kind]), PAMI_SUCCESS);
		while (!has_ended(&op[kind]))
			advance_contexts(2);
	}
	meet_all(2);
}

/* ---- R6 ---- */

static int r06_bad, r06_seen;

static void check_stored(pami_context_t c, void *cookie, pami_result_t result)
{
	size_t *n = cookie;

	r06_bad += count_different(n + 1, *n, *n) != 0;
	r06_seen++;
	free(n);
}

static void on_data(pami_context_t c, void *cookie, const void *h, size_t hn, const void *p,
		    size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	size_t *to;

	r06_bad += hn != 100 || count_different(h, 5, 100) != 0;
	if (!recv) {
		r06_bad += count_different(p, n, n) != 0;
		r06_seen++;
		return;
	}
	to = malloc(sizeof *to + n);
	*to = n;
	recv->addr = to + 1;
	recv->cookie = to;
	recv->local_fn = check_stored;
}

static void r06_parameters_are_read_in_the_call(void)
{
	static const size_t sizes[] = {0, 1, 100, 411, 412, 413, 5000, 8000, 9000, 60000};
	static unsigned char header[100], data[60000];
	int expected = 0;

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct op o = {0, 0};
		pami_send_t s = {.send = {.header = {header, 100},
					  .data = {data, sizes[i]},
					  .dispatch = ID_R11 + 50,
					  .dest = get_endpoint(next_task(), 0)},
				 .events = {&o, op_local, op_remote}};

		fill_pattern(header, 5, sizeof header);
		fill_pattern(data, sizes[i], sizes[i]);
		if (sizes[i] <= 412) {
			pami_send_immediate_t now = s.send;

			CHECK_EQ(PAMI_Send_immediate(context, &now), PAMI_SUCCESS);
			memset(&now, 0xee, sizeof now);
			memset(header, 0xee, sizeof header);
			memset(data, 0xee, sizeof data);
			fill_pattern(header, 5, sizeof header);
			fill_pattern(data, sizes[i], sizes[i]);
			expected++;
		}
		CHECK_EQ(PAMI_Send(context, &s), PAMI_SUCCESS);
		memset(&s, 0xee, sizeof s);
		while (!o.local)
			advance_contexts(1);
		memset(header, 0xee, sizeof header);
		memset(data, 0xee, sizeof data);
		while (!o.remote)
			advance_contexts(1);
		expected++;
	}
	while (r06_seen < expected)
		advance_contexts(1);
	run_barrier();
	CHECK_EQ(r06_bad, 0);
}

/* ---- R7 ---- */

static void r07_each_callback_once_local_first(void)
{
	static const size_t sizes[] = {8, 600, 20000};

	for (int i = 0; i < 3 * 4; i++) {
		pami_event_function local = i & 1 ? op_local : NULL,
				    remote = i & 2 ? op_remote : NULL;
		struct op sent = {!local, remote ? 0 : -1}, put = {!local, remote ? 0 : -1};
		size_t bytes = sizes[i / 4];
		pami_send_t s = {.send = {.data = {buffer, bytes},
					  .dispatch = ID_COUNT,
					  .dest = get_endpoint(next_task(), 0)},
				 .events = {&sent, local, remote}};
		pami_put_simple_t p = {{.dest = get_endpoint(next_task(), 0),
					.bytes = bytes,
					.cookie = &put,
					.done_fn = local},
				       {buffer, window_of[next_task()] + me * WINDOW},
				       {remote}};

		CHECK_EQ(PAMI_Send(context, &s), PAMI_SUCCESS);
		CHECK_EQ(PAMI_Put(context, &p), PAMI_SUCCESS);
		while (!has_ended(&sent) || !has_ended(&put))
			advance_contexts(1);
		run_barrier();
		CHECK(has_ended(&sent) && has_ended(&put)); /* and not again */
	}
}

/* ---- R8 ---- */

static void r08_self_and_own_contexts(void)
{
	for (size_t offset = 0; offset < 2; offset++) {
		struct op op[KINDS];

		memset(op, 0, sizeof op);
		for (int kind = 0; kind < KINDS; kind++) {
			CHECK_EQ(start_op(kind, context, me, offset, 1000, &op[kind]),
				 PAMI_SUCCESS);
			while (!has_ended(&op[kind]))
				advance_contexts(2);
		}
	}
	meet_all(2);
}

/* ---- R9 ---- */

static uint32_t *order_next; /* [tasks] */
static int order_seen;

static void on_order(pami_context_t c, void *cookie, const void *h, size_t hn, const void *p,
		     size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	uint32_t number;

	memcpy(&number, h, 4);
	CHECK_EQ(number, order_next[task_of(origin)]);
	order_next[task_of(origin)] = number + 1;
	order_seen++;
	if (recv)
		recv->data_fn = PAMI_DATA_NOOP;
}

#define R9_MESSAGES 300

static void r09_order_of_consistent_ids(void)
{
	static unsigned char data[40000];
	static struct op op[R9_MESSAGES];

	memset(op, 0, sizeof op);
	for (uint32_t i = 0; i < R9_MESSAGES; i++) {
		static const size_t most[] = {400, 8000, 40000};
		size_t bytes = drv_rng_below(&rng, most[drv_rng_below(&rng, 3)]);
		pami_send_immediate_t s = {.header = {&i, 4},
					   .data = {data, bytes},
					   .dispatch = i & 1 ? ID_ORDER : ID_ORDER_TOO,
					   .dest = get_endpoint(next_task(), 0)};
		pami_send_event_t events = {&op[i], op_local, op_remote};

		if (bytes < 500 && drv_rng_below(&rng, 2)) {
			CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
			op[i] = (struct op){1, 1};
		} else if (drv_rng_below(&rng, 2)) {
			/* The header is on our stack: wait for it. */
			CHECK_EQ(PAMI_Send(context, &(pami_send_t){s, events}), PAMI_SUCCESS);
			while (!op[i].local)
				advance_contexts(1);
		} else {
			s.data.iov_len /= 2;
			CHECK_EQ(PAMI_Send_typed(context,
						 &(pami_send_typed_t){
						     s, events, {pairs, 0, PAMI_DATA_COPY, NULL}}),
				 PAMI_SUCCESS);
			while (!op[i].local)
				advance_contexts(1);
		}
	}
	for (int i = 0; i < R9_MESSAGES; i++)
		while (!has_ended(&op[i]))
			advance_contexts(1);
	while (order_seen < R9_MESSAGES)
		advance_contexts(1);
	run_barrier();
}

/* ---- R10, R11 ---- */

static void r10_any_bits_as_send_hints(void)
{
	for (unsigned bits = 0; bits < 64; bits++) {
		uint32_t pattern = bits < 32 ? 1u << bits : (uint32_t)drv_rng_next(&rng);
		struct op sent = {0, 0}, got = {0, -1};
		pami_send_t s = {.send = {.data = {buffer, 100},
					  .dispatch = ID_COUNT,
					  .dest = get_endpoint(next_task(), 0)},
				 .events = {&sent, op_local, op_remote}};
		pami_get_simple_t g = {{.dest = get_endpoint(next_task(), 0),
					.bytes = 100,
					.cookie = &got,
					.done_fn = op_local},
				       {landing, window_of[next_task()] + me * WINDOW}};

		memcpy(&s.send.hints, &pattern, 4);
		memcpy(&g.rma.hints, &pattern, 4);
		CHECK_EQ(PAMI_Send(context, &s), PAMI_SUCCESS);
		CHECK_EQ(PAMI_Send_immediate(context, &s.send), PAMI_SUCCESS);
		CHECK_EQ(PAMI_Get(context, &g), PAMI_SUCCESS);
		while (!has_ended(&sent) || !has_ended(&got))
			advance_contexts(1);
	}
	run_barrier();
}

static int r11_asynchronous, r11_got;

static void on_hinted(pami_context_t c, void *cookie, const void *h, size_t hn, const void *p,
		      size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	static unsigned char sink[64];

	r11_asynchronous = recv != NULL;
	CHECK((recv == NULL) == (p != NULL));
	if (recv) /* the hints may promise that nothing else is set */
		recv->addr = sink;
	r11_got++;
}

/* Every field with every value, and whole words of rubbish: accepted, and the id works. */
static void r11_any_dispatch_hint(void)
{
	int shmem_ok = client_value(PAMI_CLIENT_NUM_LOCAL_TASKS) == tasks;

	for (unsigned i = 0; i < 11 * 3 + 8; i++) {
		uint32_t word =
		    i < 33 ? i % 3 << i / 3 * 2 : (uint32_t)(i * 2654435761u) & 0x2aaaaa;
		int before = r11_got;
		pami_send_immediate_t s = {.data = {buffer, 10},
					   .dispatch = ID_R11 + i,
					   .dest = get_endpoint(next_task(), 0)};
		pami_dispatch_hint_t hint;

		memcpy(&hint, &word, 4);
		dispatch_set(context, ID_R11 + i, on_hinted, NULL, hint);
		run_barrier();
		if (hint.use_shmem == PAMI_HINT_ENABLE && !shmem_ok)
			continue;
		CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
		while (r11_got == before)
			advance_contexts(1);
		CHECK_EQ(r11_asynchronous, hint.recv_immediate == PAMI_HINT_DISABLE);
		run_barrier();
	}
}

/* ---- R12 to R15 ---- */

static void r12_destroyed_handles_are_null(void)
{
	pami_geometry_range_t all = {0, (pami_task_t)tasks - 1};
	pami_geometry_t g;
	pami_type_t t;
	int made = 0, gone = 0;

	CHECK_EQ(PAMI_Type_create(&t), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_destroy(&t), PAMI_SUCCESS);
	CHECK(t == PAMI_TYPE_NULL);
	CHECK_EQ(PAMI_Geometry_create_taskrange(client, 0, NULL, 0, &g, PAMI_GEOMETRY_NULL, 9, &all,
						1, context, flag_done, &made),
		 PAMI_SUCCESS);
	CHECK(g != PAMI_GEOMETRY_NULL);
	while (!made)
		advance_contexts(1);
	CHECK_EQ(PAMI_Geometry_destroy(client, &g, context, flag_done, &gone), PAMI_SUCCESS);
	CHECK(g == PAMI_GEOMETRY_NULL);
	while (!gone)
		advance_contexts(1);
	/* Contexts and client: job_end(). */
}

static void r13_large_transfers(size_t bytes)
{
	unsigned char *from = malloc(bytes), *to = malloc(bytes),
		      **there = calloc(tasks, sizeof *there);
	struct op put = {0, 0}, got = {0, -1};
	pami_xfer_t x = {.algorithm = get_algorithm(PAMI_XFER_ALLGATHER)};
	size_t t = next_task();

	for (size_t i = 0; i < bytes; i += 997)
		from[i] = (unsigned char)(i >> 10);
	x.cmd.xfer_allgather = (pami_allgather_t){(char *)&to,   PAMI_TYPE_BYTE, sizeof to,
						  (char *)there, PAMI_TYPE_BYTE, sizeof to};
	run_collective(&x);
	CHECK_EQ(PAMI_Put(context, &(pami_put_simple_t){{.dest = get_endpoint(t, 0),
							 .bytes = bytes,
							 .cookie = &put,
							 .done_fn = op_local},
							{from, there[t]},
							{op_remote}}),
		 PAMI_SUCCESS);
	while (!has_ended(&put))
		advance_contexts(1);
	run_barrier();
	for (size_t i = 0; i < bytes; i += 997)
		if (to[i] != (unsigned char)(i >> 10)) {
			CHECK(0);
			break;
		}
	memset(from, 0, bytes);
	CHECK_EQ(PAMI_Get(context, &(pami_get_simple_t){{.dest = get_endpoint(t, 0),
							 .bytes = bytes,
							 .cookie = &got,
							 .done_fn = op_local},
							{from, there[t]}}),
		 PAMI_SUCCESS);
	while (!has_ended(&got))
		advance_contexts(1);
	CHECK_EQ(from[(bytes - 1) / 997 * 997], (unsigned char)((bytes - 1) / 997 * 997 >> 10));
	run_barrier();
	free(from);
	free(to);
	free(there);
}

static void *cancelled_thread(void *arg)
{
	for (;;) {
		PAMI_Context_trylock_advancev(contexts, CONTEXTS, 10);
		usleep(1);
	}
	return arg;
}

/* A progress thread is cancelled at any moment: no lock is lost. */
static void r14_cancelled_progress_threads(void)
{
	for (int i = 0; i < (quick ? 10 : 60); i++) {
		struct op o = {0, 0};
		pthread_t thread;

		CHECK_EQ(pthread_create(&thread, NULL, cancelled_thread, NULL), 0);
		PAMI_Context_lock(context);
		CHECK_EQ(start_op(SEND, context, next_task(), 1, 600, &o), PAMI_SUCCESS);
		PAMI_Context_unlock(context);
		if (i % 3)
			usleep((useconds_t)drv_rng_below(&rng, 500));
		pthread_cancel(thread);
		pthread_join(thread, NULL);
		for (size_t k = 0; k < CONTEXTS; k++) {
			CHECK_EQ(PAMI_Context_lock(contexts[k]), PAMI_SUCCESS);
			CHECK_EQ(PAMI_Context_unlock(contexts[k]), PAMI_SUCCESS);
		}
		while (!has_ended(&o))
			advance_contexts(CONTEXTS);
	}
	meet_all(CONTEXTS);
}

static struct sigaction before[64];
static int out_pipe[2], out_kept;

static void r15_begin(void)
{
	for (int sig = 1; sig < 32; sig++)
		sigaction(sig, NULL, &before[sig]);
	out_kept = dup(1);
	if (pipe(out_pipe))
		exit(1);
	dup2(out_pipe[1], 1);
	close(out_pipe[1]);
}

static void r15_no_stdout_no_signal_handlers(void)
{
	char byte;

	for (int sig = 1; sig < 32; sig++) {
		struct sigaction now;

		sigaction(sig, NULL, &now);
		CHECK(now.sa_handler == before[sig].sa_handler);
	}
	fflush(stdout);
	dup2(out_kept, 1); /* the last writing end is closed */
	CHECK_EQ(read(out_pipe[0], &byte, 1), 0);
}

/* ---- */

static void exchange_cards(void)
{
	struct card {
		unsigned char *at;
		pami_memregion_t mr;
	} mine, *all = calloc(tasks, sizeof *all);
	pami_xfer_t x = {.algorithm = get_algorithm(PAMI_XFER_ALLGATHER)};
	size_t out;

	window = calloc(tasks + 2, WINDOW);
	window_of = calloc(tasks, sizeof *window_of);
	region_of = calloc(tasks, sizeof *region_of);
	order_next = calloc(tasks, sizeof *order_next);
	mine.at = window;
	CHECK_EQ(PAMI_Memregion_create(context, window, (tasks + 2) * WINDOW, &out, &mine.mr),
		 PAMI_SUCCESS);
	x.cmd.xfer_allgather = (pami_allgather_t){(char *)&mine, PAMI_TYPE_BYTE, sizeof mine,
						  (char *)all,   PAMI_TYPE_BYTE, sizeof mine};
	run_collective(&x);
	for (size_t i = 0; i < tasks; i++) {
		window_of[i] = all[i].at;
		memcpy(region_of[i], all[i].mr, sizeof region_of[i]);
	}
	free(all);
	CHECK_EQ(PAMI_Type_create(&pairs), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_add_simple(pairs, 8, 0, 1, 16), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Type_complete(pairs, 1), PAMI_SUCCESS);
}

int main(int argc, char **argv)
{
	pami_dispatch_hint_t none = {0}, ordered = {.consistency = PAMI_HINT_ENABLE};

	quick = argc > 1 && !strcmp(argv[1], "virtual");
	r15_begin();
	job_begin(CONTEXTS);
	drv_rng_seed(&rng, 31 + me);
	for (size_t i = 0; i < CONTEXTS; i++) {
		dispatch_set(contexts[i], ID_COUNT, on_count, NULL, none);
		dispatch_set(contexts[i], ID_BUSY, on_busy, (void *)i, none);
	}
	dispatch_set(context, ID_START, on_start, NULL, none);
	dispatch_set(context, ID_ORDER, on_order, NULL, ordered);
	dispatch_set(context, ID_ORDER_TOO, on_order, NULL, ordered);
	dispatch_set(context, ID_R11 + 50, on_data, NULL, none);
	exchange_cards();
	run_barrier();
	r01_contexts_are_independent();
	run_barrier();
	r02_callbacks_run_in_progress();
	r03_callbacks_may_start_anything();
	r04_calls_do_not_call_back();
	r05_two_contexts_make_progress();
	r06_parameters_are_read_in_the_call();
	r07_each_callback_once_local_first();
	r08_self_and_own_contexts();
	r09_order_of_consistent_ids();
	r10_any_bits_as_send_hints();
	r11_any_dispatch_hint();
	r12_destroyed_handles_are_null();
	/* QT_LARGE: megabytes, for the test pami_large; with a sanitizer a tenth of them. */
	r13_large_transfers(getenv("QT_LARGE") ? (strtoul(getenv("QT_LARGE"), NULL, 10) << 20) /
						     (job_is_sanitized() ? 10 : 1)
			    : quick ? 300000
				    : (size_t)5 << 20);
	r14_cancelled_progress_threads();
	r15_no_stdout_no_signal_handlers();
	run_barrier();
	CHECK_EQ(PAMI_Type_destroy(&pairs), PAMI_SUCCESS);
	free(window);
	free(window_of);
	free(region_of);
	free(order_next);
	return job_end(CONTEXTS);
}
