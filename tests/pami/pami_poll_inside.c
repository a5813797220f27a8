/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dispatch functions that wait. The function for START, on context 0, advances context 1 until
 * something has arrived there: an answer behind messages for context 0, the end of a long message,
 * of a get, a put and an atomic. The function for DEEPER, on context 1, waits for context 2 in the
 * same way. What a function got stays as it was, and messages for a context that is inside a
 * function come in order afterwards, each once.
 *
 * At its end the function on context 0 destroys the context of a second client, for which messages
 * have come that nobody wants.
 *
 * All tasks do so at once, so each is served by its neighbour from within a function that waits,
 * too. QT_FLOOD=1: more messages than a ring has room for. QT_COMM=1: commthreads advance contexts
 * 1 and 2, and the functions only look.
 */
#include <sched.h>

#include "drivers/base/atomic.h"
#include "tests/harness/pami_job.h"

enum {
	CONTEXTS = 3,
	LONG = 200000,
	START = 1,
	SERVED,
	ASK,
	NUMBER,
	READY,
	LONG_WORD,
	DEEPER,
	DEEPER_END,
	ASK_LEAF,
	LEAF
};

/* A sender that finds the ring of a near context full waits, and its later messages with it, so
 * fewer than a ring holds. What comes from a wire is stored. */
#define NUMBERS (!getenv("QT_FLOOD") ? 200u : job_is_sanitized() ? 5000u : 20000u)

static bool has_commthreads;
static int ready, deeper, leaves, long_got, inside;
static uint32_t numbers;
static pami_client_t second;
static pami_context_t unwanted; /* of the second client */
static unsigned char pattern[4096], long_from[LONG], long_to[LONG], put_to[LONG], number_to[4096],
    get_to[64];
static uint64_t word, at[3]; /* at: where the neighbour has long_from, put_to and word */

static size_t next_task(void)
{
	return (me + 1) % tasks;
}

static size_t previous_task(void)
{
	return (me + tasks - 1) % tasks;
}

static bool is_zero(const int *flag)
{
	return !atomic_load_acquire(flag);
}

/* Wait inside a function for what comes to the other contexts, from k on. */
static void wait_by(size_t k, const int *flag)
{
	while (is_zero(flag))
		if (!has_commthreads)
			PAMI_Context_advancev(contexts + k, CONTEXTS - k, 1);
		else
			sched_yield();
}

static void begin_use(size_t k)
{
	if (has_commthreads)
		CHECK_EQ(PAMI_Context_lock(contexts[k]), PAMI_SUCCESS);
}

static void end_use(size_t k)
{
	if (has_commthreads)
		CHECK_EQ(PAMI_Context_unlock(contexts[k]), PAMI_SUCCESS);
}

static void note_done(pami_context_t c, void *cookie, pami_result_t result)
{
	CHECK_EQ(result, PAMI_SUCCESS);
	atomic_add_fetch_release((int *)cookie, 1);
}

static void send_to(size_t from, size_t task, size_t to, unsigned id, const void *data,
		    size_t bytes)
{
	pami_send_immediate_t s = {.header = {(void *)(uintptr_t)data, bytes},
				   .dispatch = id,
				   .dest = get_endpoint(task, to)};

	CHECK_EQ(PAMI_Send_immediate(contexts[from], &s), PAMI_SUCCESS);
}

/* ---- what the neighbour asks for, on context 1 ---- */

static size_t number_bytes(uint32_t n)
{
	return n % 7 == 3 ? 513 + n % 3000 : n % 100;
}

/* The numbers go to context 0 of the neighbour, which is inside a function, and READY, which ends
 * its wait, leaves behind them. */
static void on_ask(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
		   const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	const uint64_t mine[3] = {(uintptr_t)long_from, (uintptr_t)put_to, (uintptr_t)&word};

	for (uint32_t n = 0; n < NUMBERS; n++) {
		pami_send_t s = {.send = {.header = {&n, sizeof n},
					  .data = {pattern, number_bytes(n)},
					  .dispatch = NUMBER,
					  .dest = get_endpoint(previous_task(), 0)}};

		CHECK_EQ(PAMI_Send(c, &s), PAMI_SUCCESS);
	}
	send_to(1, previous_task(), 1, READY, mine, sizeof mine);
}

static void on_ready(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
		     const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	memcpy(at, header, sizeof at);
	atomic_add_fetch_release(&ready, 1);
}

static void check_number(pami_context_t c, void *cookie, pami_result_t result)
{
	CHECK_EQ(result, PAMI_SUCCESS);
	CHECK(!memcmp(number_to, pattern, 513));
}

static void on_number(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
		      const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	uint32_t n;

	memcpy(&n, header, sizeof n);
	CHECK_EQ(inside, 0);
	CHECK_EQ(n, numbers);
	CHECK_EQ(bytes, number_bytes(n));
	numbers++;
	if (pipe)
		CHECK(!memcmp(pipe, pattern, bytes));
	else
		receive_into(recv, number_to, check_number, number_to);
}

static void on_long(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
		    const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	CHECK_EQ(bytes, LONG);
	receive_into(recv, long_to, note_done, &long_got);
}

/* On context 2. */
static void on_ask_leaf(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
			const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	send_to(2, previous_task(), 2, LEAF, NULL, 0);
}

static void on_leaf(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
		    const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	atomic_add_fetch_release(&leaves, 1);
}

static void on_deeper(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
		      const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	/* Not by context 1, whose engine is not polled while this function runs. */
	begin_use(2);
	send_to(2, next_task(), 2, ASK_LEAF, NULL, 0);
	end_use(2);
	wait_by(2, &leaves);
	send_to(1, previous_task(), 1, DEEPER_END, NULL, 0);
}

static void on_deeper_end(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
			  const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	atomic_add_fetch_release(&deeper, 1);
}

/* ---- the function that waits, on context 0 ---- */

static void receive_numbers(void)
{
	begin_use(1);
	send_to(1, next_task(), 1, ASK, NULL, 0);
	end_use(1);
	wait_by(1, &ready);
	CHECK_EQ(numbers, 0);
}

static void send_long_message(void)
{
	int done = 0;
	pami_send_t s = {.send = {.data = {long_from, LONG},
				  .dispatch = LONG_WORD,
				  .dest = get_endpoint(next_task(), 1)},
			 .events = {.cookie = &done, .local_fn = note_done}};

	begin_use(1);
	CHECK_EQ(PAMI_Send(contexts[1], &s), PAMI_SUCCESS);
	end_use(1);
	wait_by(1, &done);
}

static void use_memory(void)
{
	uint64_t one = 1, old = 99;
	int got = 0, put = 0, added = 0;
	pami_get_simple_t g = {.rma = {.dest = get_endpoint(next_task(), 1),
				       .bytes = sizeof get_to,
				       .cookie = &got,
				       .done_fn = note_done},
			       .addr = {.local = get_to, .remote = (void *)(uintptr_t)at[0]}};
	pami_put_simple_t p = {
	    .rma = {.dest = get_endpoint(next_task(), 1), .bytes = LONG, .cookie = &put},
	    .addr = {.local = long_from, .remote = (void *)(uintptr_t)at[1]},
	    .put = {.rdone_fn = note_done}};
	pami_rmw_t r = {.dest = get_endpoint(next_task(), 1),
			.cookie = &added,
			.done_fn = note_done,
			.local = &old,
			.remote = (void *)(uintptr_t)at[2],
			.value = &one,
			.operation = PAMI_ATOMIC_FETCH_ADD,
			.type = PAMI_TYPE_UNSIGNED_LONG};

	begin_use(1);
	CHECK_EQ(PAMI_Get(contexts[1], &g), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Put(contexts[1], &p), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Rmw(contexts[1], &r), PAMI_SUCCESS);
	end_use(1);
	wait_by(1, &got);
	wait_by(1, &put);
	wait_by(1, &added);
	CHECK(!memcmp(get_to, long_from, sizeof get_to));
	CHECK_EQ(old, 0);
}

static void go_deeper(void)
{
	begin_use(1);
	send_to(1, next_task(), 1, DEEPER, NULL, 0);
	end_use(1);
	wait_by(1, &deeper);
}

static void on_unwanted(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
			const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	CHECK_FAIL("a message was dispatched on a context that nobody advances");
}

static void open_unwanted(void)
{
	const pami_dispatch_hint_t none = {0};
	pami_endpoint_t to;
	pami_send_immediate_t s = {.header = {pattern, 100}, .dispatch = START};

	CHECK_EQ(PAMI_Client_create("second", &second, NULL, 0), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Context_createv(second, NULL, 0, &unwanted, 1), PAMI_SUCCESS);
	dispatch_set(unwanted, START, on_unwanted, NULL, none);
	CHECK_EQ(PAMI_Endpoint_create(second, (pami_task_t)next_task(), 0, &to), PAMI_SUCCESS);
	s.dest = to;
	for (int i = 0; i < 50; i++)
		CHECK_EQ(PAMI_Send_immediate(unwanted, &s), PAMI_SUCCESS);
}

/* The task that this one serves needs it no longer. */
static void on_served(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
		      const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	++*(int *)cookie;
}

static void on_start(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
		     const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	CHECK_EQ(inside++, 0);
	receive_numbers();
	send_long_message();
	use_memory();
	go_deeper();
	CHECK_EQ(PAMI_Context_destroyv(&unwanted, 1), PAMI_SUCCESS);
	CHECK(!memcmp(header, pattern, header_bytes));
	CHECK(!memcmp(pipe, pattern, bytes));
	inside--;
	send_to(0, next_task(), 0, SERVED, NULL, 0);
}

/* ---- commthreads ---- */

typedef void (*async_fn)(pami_context_t, void *);

static void serve_by_commthreads(void)
{
	pami_result_t (*reg)(pami_context_t, async_fn, async_fn, async_fn, void *);
	pami_result_t (*enable)(pami_context_t, int);
	pami_extension_t e;

	CHECK_EQ(PAMI_Extension_open(client, "EXT_async_progress", &e), PAMI_SUCCESS);
	*(void **)&reg = PAMI_Extension_symbol(e, "register");
	*(void **)&enable = PAMI_Extension_symbol(e, "enable");
	for (size_t k = 1; k < CONTEXTS; k++) {
		CHECK_EQ(reg(contexts[k], NULL, NULL, NULL, NULL), PAMI_SUCCESS);
		CHECK_EQ(enable(contexts[k], 0), PAMI_SUCCESS);
	}
}

static void advance_all(void)
{
	if (has_commthreads)
		PAMI_Context_trylock_advancev(contexts, 1, 1);
	else
		PAMI_Context_advancev(contexts, CONTEXTS, 1);
}

int main(void)
{
	const pami_dispatch_hint_t none = {0};
	pami_send_t start = {
	    .send = {.header = {pattern, 100}, .data = {pattern, 300}, .dispatch = START}};
	int served = 0, done = 0;
	pami_xfer_t barrier = {.cb_done = flag_done, .cookie = &done};

	has_commthreads = getenv("QT_COMM") != NULL;
	job_begin(CONTEXTS);
	fill_pattern(pattern, 1, sizeof pattern);
	fill_pattern(long_from, 2, LONG);
	barrier.algorithm = get_algorithm(PAMI_XFER_BARRIER);
	/* A context that sends knows the ids, too. */
	for (size_t k = 0; k < CONTEXTS; k++) {
		dispatch_set(contexts[k], START, on_start, NULL, none);
		dispatch_set(contexts[k], SERVED, on_served, &served, none);
		dispatch_set(contexts[k], ASK, on_ask, NULL, none);
		dispatch_set(contexts[k], NUMBER, on_number, NULL, none);
		dispatch_set(contexts[k], READY, on_ready, NULL, none);
		dispatch_set(contexts[k], LONG_WORD, on_long, NULL, none);
		dispatch_set(contexts[k], DEEPER, on_deeper, NULL, none);
		dispatch_set(contexts[k], DEEPER_END, on_deeper_end, NULL, none);
		dispatch_set(contexts[k], ASK_LEAF, on_ask_leaf, NULL, none);
		dispatch_set(contexts[k], LEAF, on_leaf, NULL, none);
	}
	if (has_commthreads)
		serve_by_commthreads();
	open_unwanted();
	start.send.dest = get_endpoint(next_task(), 0);
	CHECK_EQ(PAMI_Send(context, &start), PAMI_SUCCESS);
	while (!served || numbers < NUMBERS || is_zero(&long_got))
		advance_all();
	CHECK_EQ(word, 1);
	CHECK(!memcmp(long_to, long_from, LONG));
	CHECK(!memcmp(put_to, long_from, LONG));
	/* Others may still wait for contexts 1 and 2 of this task. */
	CHECK_EQ(PAMI_Collective(context, &barrier), PAMI_SUCCESS);
	while (!done)
		advance_all();
	CHECK_EQ(PAMI_Client_destroy(&second), PAMI_SUCCESS);
	return job_end(CONTEXTS) || check_failures;
}
