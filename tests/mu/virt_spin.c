/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A task that waits on its memory and calls nothing, in virtual time. Task 0 waits, the others work
 * on it; which case, the argument says. Its context 1 is given to asynchronous progress, unless the
 * case is about that.
 */
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "tests/harness/pami_job.h"

#define LONG   (96u << 10) /* by rendezvous */
#define ROUNDS 4

enum { ID_ADDRESS = 1, ID_COUNT, ID_LONG, ID_BACK };

typedef void (*async_fn)(pami_context_t, void *);

static struct window {
	uint64_t counter, flag;
	unsigned char data[LONG];
} window, *window_of[16];
static size_t windows;
static uint64_t counted, longs, backs; /* by handlers, which may run in another thread */
static unsigned char buffer[16][LONG];

static uint64_t load_word(uint64_t *word)
{
	return atomic_load_acquire(word);
}

static void count_up(uint64_t *word)
{
	atomic_add_fetch_release(word, 1);
}

/* No call into the library: this is what it is about. */
static void spin_until(uint64_t *word, uint64_t value)
{
	while (load_word(word) < value)
		;
}

static size_t origin_task(pami_endpoint_t origin)
{
	pami_task_t task;
	size_t offset;

	PAMI_Endpoint_query(origin, &task, &offset);
	return task;
}

static void on_address(pami_context_t c, void *cookie, const void *header, size_t header_size,
		       const void *pipe, size_t data_size, pami_endpoint_t origin,
		       pami_recv_t *recv)
{
	memcpy(&window_of[origin_task(origin)], header, sizeof window_of[0]);
	windows++;
}

static void tell_task(pami_context_t c, size_t id, size_t task, size_t offset)
{
	uint64_t word = me;
	pami_send_immediate_t s = {
	    .header = {&word, sizeof word}, .dispatch = id, .dest = get_endpoint(task, offset)};

	CHECK_EQ(PAMI_Send_immediate(c, &s), PAMI_SUCCESS);
}

/* Counts, and answers from within the handler. */
static void on_count(pami_context_t c, void *cookie, const void *header, size_t header_size,
		     const void *pipe, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv)
{
	tell_task(c, ID_BACK, origin_task(origin), 0);
	count_up(&counted);
}

static void on_back(pami_context_t c, void *cookie, const void *header, size_t header_size,
		    const void *pipe, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv)
{
	count_up(&backs);
}

static void long_here(pami_context_t c, void *cookie, pami_result_t result)
{
	CHECK_EQ(result, PAMI_SUCCESS);
	count_up(&longs);
}

static void on_long(pami_context_t c, void *cookie, const void *header, size_t header_size,
		    const void *pipe, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv)
{
	receive_into(recv, buffer[origin_task(origin)], long_here, NULL);
}

static void put_flag(size_t task, uint64_t value)
{
	int done = 0;
	pami_put_simple_t p = {.rma = {.dest = get_endpoint(task, 0), .bytes = 8, .cookie = &done},
			       .addr = {.local = &value, .remote = &window_of[task]->flag},
			       .put = {.rdone_fn = flag_done}};

	CHECK_EQ(PAMI_Put(context, &p), PAMI_SUCCESS);
	WAIT(done);
}

/* ---- Everything others may ask of it: an atomic, a message with an answer, a get, a long message
 * ---- */

static void work_on(size_t t, int round)
{
	static unsigned char got[LONG], image[LONG];
	uint64_t one = 1, old = 0;
	int done = 0, sent = 0;
	pami_rmw_t r = {.dest = get_endpoint(t, 1),
			.cookie = &done,
			.done_fn = flag_done,
			.local = &old,
			.remote = &window_of[t]->counter,
			.value = &one,
			.operation = PAMI_ATOMIC_FETCH_ADD,
			.type = PAMI_TYPE_UNSIGNED_LONG};
	pami_get_simple_t g = {.rma = {.dest = get_endpoint(t, 1),
				       .bytes = LONG,
				       .cookie = &done,
				       .done_fn = flag_done},
			       .addr = {.local = got, .remote = window_of[t]->data}};
	pami_send_t s = {
	    .send = {.dispatch = ID_LONG, .dest = get_endpoint(t, 1), .data = {image, LONG}},
	    .events = {.cookie = &sent, .local_fn = flag_done, .remote_fn = flag_done}};

	CHECK_EQ(PAMI_Rmw(context, &r), PAMI_SUCCESS);
	WAIT(done == 1);
	CHECK(old < ROUNDS * (tasks - 1));
	CHECK_EQ(PAMI_Get(context, &g), PAMI_SUCCESS);
	WAIT(done == 2);
	CHECK_EQ(count_different(got, t, LONG), 0);
	fill_pattern(image, me + (unsigned)round, LONG);
	CHECK_EQ(PAMI_Send(context, &s), PAMI_SUCCESS);
	WAIT(sent == 2);
	tell_task(context, ID_COUNT, t, 1);
	WAIT(load_word(&backs) == (uint64_t)round + 1);
}

static void spinner_is_served(void)
{
	for (int round = 0; round < ROUNDS; round++) {
		if (me == 0) {
			double before = PAMI_Wtime(client);

			spin_until(&counted, (uint64_t)(round + 1) * (tasks - 1));
			/* Time passed here, too: at least what the others needed. */
			CHECK(PAMI_Wtime(client) - before > 1e-6);
			CHECK_EQ(load_word(&longs), (uint64_t)(round + 1) * (tasks - 1));
			CHECK_EQ(load_word(&window.counter), (uint64_t)(round + 1) * (tasks - 1));
			for (size_t t = 1; t < tasks; t++)
				CHECK_EQ(count_different(buffer[t], t + (size_t)round, LONG), 0);
		} else {
			work_on(0, round);
		}
		run_barrier();
	}
}

/* What it sent just before must leave, and the answer come in. */
static void spinner_sends_and_is_answered(void)
{
	for (uint64_t round = 0; round < ROUNDS; round++) {
		if (me == 0) {
			for (size_t t = 1; t < tasks; t++)
				tell_task(context, ID_COUNT, t, 0);
			spin_until(&window.flag, round + 1);
		} else {
			WAIT(load_word(&counted) == round + 1);
			if (me == tasks - 1)
				put_flag(0, round + 1);
		}
		run_barrier();
	}
}

static void flags_pass_between_spinners(void)
{
	for (uint64_t round = 0; round < ROUNDS; round++) {
		if (me == 0) {
			spin_until(&window.flag, round + 1);
		} else if (me == 1) {
			put_flag(0, round + 1);
		}
		run_barrier();
	}
}

/* The flag comes at a time: nothing is under way until then. pause: in the loop; NULL: none. */
static void let_flag_come(void (*pause)(void))
{
	if (me == 0) {
		while (load_word(&window.flag) < 1)
			if (pause)
				pause();
	} else if (me == 1) {
		double end = PAMI_Wtime(client) + 20e-6;

		while (PAMI_Wtime(client) < end)
			PAMI_Context_advance(context, 1);
		put_flag(0, 1);
	}
	run_barrier();
}

static void flag_comes_at_its_time(void)
{
	let_flag_come(NULL);
}

static void yield(void)
{
	sched_yield();
}

static void flag_comes_to_one_that_yields(void)
{
	let_flag_come(yield);
}

static void nap(void)
{
	usleep(20);
}

static void flag_comes_to_one_that_sleeps(void)
{
	let_flag_come(nap);
}

/* What it waited for has come, and it computes for long before its next call. */
static void spinner_computes_behind_the_flag(void)
{
	for (uint64_t round = 0; round < ROUNDS; round++) {
		if (me == 0) {
			volatile double x = 1;

			spin_until(&window.flag, round + 1);
			for (int i = 0; i < 3000000; i++)
				x = x * 1.0000001 + 1e-9;
			tell_task(context, ID_COUNT, 1, 0);
		} else if (me == 1) {
			double end;

			put_flag(0, round + 1);
			for (end = PAMI_Wtime(client) + 5e-6; PAMI_Wtime(client) < end;)
				PAMI_Context_advance(context, 1);
			WAIT(load_word(&counted) == round + 1);
		}
		run_barrier();
	}
}

/* The library is called by a thread of its own. */
static int stop;

static void *run_poller(void *arg)
{
	while (!atomic_load_acquire(&stop))
		PAMI_Context_advance(contexts[1], 10);
	return NULL;
}

static void spinner_beside_a_poller(void)
{
	pthread_t poller;

	if (me == 0) {
		pthread_create(&poller, NULL, run_poller, NULL);
		spin_until(&counted, tasks - 1);
		atomic_store_release(&stop, 1);
		pthread_join(poller, NULL);
	} else {
		tell_task(context, ID_COUNT, 0, 1);
		WAIT(load_word(&backs) == 1);
	}
	run_barrier();
}

/* The thread that waits is not the first of the process, which sleeps. */
static void *worker_serves(void *arg)
{
	spinner_is_served();
	return NULL;
}

static void worker_thread_serves(void)
{
	pthread_t t;

	pthread_create(&t, NULL, worker_serves, NULL);
	pthread_join(t, NULL);
}

/* A program's lock, held while it calls: the handler waits for it. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void on_locked(pami_context_t c, void *cookie, const void *header, size_t header_size,
		      const void *pipe, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv)
{
	count_up(&counted);
	pthread_mutex_lock(&mutex);
	tell_task(c, ID_BACK, origin_task(origin), 0);
	count_up(&longs);
	pthread_mutex_unlock(&mutex);
}

static void locked_spinner_is_served(void)
{
	if (me == 0) {
		pthread_mutex_lock(&mutex);
		spin_until(&counted, 1);
		for (int i = 0; i < 20; i++)
			PAMI_Wtime(client);
		tell_task(context, ID_COUNT, 1, 0);
		pthread_mutex_unlock(&mutex);
		spin_until(&longs, tasks - 1);
	} else {
		tell_task(context, ID_LONG, 0, 1);
		WAIT(load_word(&backs) == 1);
	}
	run_barrier();
}

/* It computes: no time passes for it, and the others are answered all the same. */
static void computing_takes_no_time(void)
{
	volatile double x = 1;

	if (me == 0)
		for (int i = 0; i < 20000000; i++)
			x = x * 1.0000001 + 1e-9;
	else
		work_on(0, 0);
	run_barrier();
}

static void give_context(void)
{
	pami_result_t (*enable)(pami_context_t, int);
	pami_result_t (*enter)(pami_context_t, async_fn, async_fn, async_fn, void *);
	pami_extension_t e;

	CHECK_EQ(PAMI_Extension_open(client, "EXT_async_progress", &e), PAMI_SUCCESS);
	*(void **)&enter = PAMI_Extension_symbol(e, "register");
	*(void **)&enable = PAMI_Extension_symbol(e, "enable");
	CHECK_EQ(enter(contexts[1], NULL, NULL, NULL, NULL), PAMI_SUCCESS);
	CHECK_EQ(enable(contexts[1], 0), PAMI_SUCCESS);
}

static void prepare_windows(int locks)
{
	void *mine = &window;

	fill_pattern(window.data, me, LONG);
	for (size_t i = 0; i < 2; i++) {
		dispatch_set(contexts[i], ID_ADDRESS, on_address, NULL, (pami_dispatch_hint_t){0});
		dispatch_set(contexts[i], ID_COUNT, on_count, NULL, (pami_dispatch_hint_t){0});
		dispatch_set(contexts[i], ID_LONG, locks ? on_locked : on_long, NULL,
			     (pami_dispatch_hint_t){0});
		dispatch_set(contexts[i], ID_BACK, on_back, NULL, (pami_dispatch_hint_t){0});
	}
	for (size_t t = 0; t < tasks; t++) {
		pami_send_immediate_t m = {.header = {&mine, sizeof mine},
					   .dispatch = ID_ADDRESS,
					   .dest = get_endpoint(t, 0)};

		CHECK_EQ(PAMI_Send_immediate(context, &m), PAMI_SUCCESS);
	}
	WAIT(windows == tasks);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
		int gives;
	} cases[] = {{"served", spinner_is_served, 1},
		     {"asks", spinner_sends_and_is_answered, 1},
		     {"flags", flags_pass_between_spinners, 0},
		     {"thread", spinner_beside_a_poller, 0},
		     {"nobody", spinner_is_served, 0},
		     {"nobody_worker", worker_thread_serves, 0},
		     {"computes", computing_takes_no_time, 1},
		     {"locked", locked_spinner_is_served, 1},
		     {"worker", worker_thread_serves, 1},
		     {"later", flag_comes_at_its_time, 0},
		     {"yields", flag_comes_to_one_that_yields, 0},
		     {"sleeps", flag_comes_to_one_that_sleeps, 0},
		     {"sleeps_served", flag_comes_to_one_that_sleeps, 1},
		     {"late", spinner_computes_behind_the_flag, 0}};

	job_begin(2);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		if (argc > 1 && !strcmp(argv[1], cases[i].name)) {
			prepare_windows(cases[i].run == locked_spinner_is_served);
			if (cases[i].gives)
				give_context();
			run_barrier();
			cases[i].run();
			if (me == 0)
				printf("%s: done\n", argv[1]);
		}
	return job_end(2);
}
