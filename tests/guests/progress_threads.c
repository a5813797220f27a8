/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs with a thread of their own for progress: it polls one context for ever, takes naps and
 * is cancelled at the end, while the main thread drives another context.
 */
#include <pami.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "tests/guests/guest.h"

#define CHECK_RC(call)                                                                             \
	do {                                                                                       \
		pami_result_t rc_ = (call);                                                        \
		if (rc_ != PAMI_SUCCESS) {                                                         \
			fprintf(stderr, "%s returned %d\n", #call, (int)rc_);                      \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static pami_client_t client;
static pami_context_t *contexts;
static size_t ncontexts, my_rank, ntasks;
static volatile int received;

static void cb_done(pami_context_t context, void *cookie, pami_result_t result)
{
	(void)context;
	CHECK(result == PAMI_SUCCESS);
	atomic_sub_fetch_acq_rel((int *)cookie, 1);
}

static void cb_recv(pami_context_t context, void *cookie, const void *header_addr,
		    size_t header_size, const void *pipe_addr, size_t data_size,
		    pami_endpoint_t origin, pami_recv_t *recv)
{
	(void)context, (void)cookie, (void)header_addr, (void)header_size, (void)pipe_addr;
	(void)data_size, (void)origin, (void)recv;
	atomic_fetch_add_seq_cst(&received, 1);
}

static void run_barrier(void)
{
	pami_geometry_t world;
	pami_algorithm_t alg;
	pami_metadata_t meta;
	pami_xfer_t barrier;
	int active = 1;

	CHECK_RC(PAMI_Geometry_world(client, &world));
	CHECK_RC(PAMI_Geometry_algorithms_query(world, PAMI_XFER_BARRIER, &alg, &meta, 1, NULL,
						NULL, 0));
	barrier.cb_done = cb_done;
	barrier.cookie = &active;
	barrier.algorithm = alg;
	CHECK_RC(PAMI_Collective(contexts[0], &barrier));
	while (atomic_load_seq_cst(&active))
		PAMI_Context_trylock_advancev(&contexts[0], 1, 1000);
}

static void *progress_naps(void *arg)
{
	for (;;) {
		PAMI_Context_trylock_advancev(&contexts[1], 1, 1000);
		usleep(1);
	}
	return arg;
}

static void *progress_spins(void *arg)
{
	for (;;) {
		PAMI_Context_trylock_advancev(contexts, ncontexts, 1);
		pthread_testcancel();
	}
	return arg;
}

static void *progress_yields(void *arg)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (;;) {
		PAMI_Context_trylock_advancev(&contexts[1], 1, 100);
		sched_yield();
	}
	return arg;
}

static void *progress_never_rests(void *arg)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (;;)
		PAMI_Context_trylock_advancev(&contexts[1], 1, 1);
	return arg;
}

static void with_thread(void *(*body)(void *), int messages)
{
	pthread_t thread;
	pami_endpoint_t there;
	int wanted;
	void *value;

	run_barrier();
	wanted = received + messages;
	CHECK_RC(PAMI_Endpoint_create(client, (my_rank + 1) % ntasks, 1, &there));
	run_barrier();
	if (pthread_create(&thread, NULL, body, NULL))
		exit(1);
	for (int i = 0; i < messages; i++) {
		pami_send_t parameters;
		int pending = 1;
		char data[300] = "some data";

		memset(&parameters, 0, sizeof parameters);
		parameters.send.dispatch = 37;
		parameters.send.dest = there;
		parameters.send.data.iov_base = data;
		parameters.send.data.iov_len = sizeof data;
		parameters.events.cookie = &pending;
		parameters.events.local_fn = cb_done;
		PAMI_Context_lock(contexts[0]);
		CHECK_RC(PAMI_Send(contexts[0], &parameters));
		PAMI_Context_unlock(contexts[0]);
		while (atomic_load_seq_cst(&pending))
			PAMI_Context_trylock_advancev(&contexts[0], 1, 1);
	}
	while (atomic_load_seq_cst(&received) < wanted)
		PAMI_Context_trylock_advancev(&contexts[0], 1, 1);
	pthread_cancel(thread);
	pthread_join(thread, &value);
	CHECK(value == PTHREAD_CANCELED);
	/* A lock that the thread took is free again. */
	CHECK_RC(PAMI_Context_lock(contexts[1]));
	CHECK_RC(PAMI_Context_unlock(contexts[1]));
	run_barrier();
}

static void thread_that_naps(void)
{
	with_thread(progress_naps, 50);
}

static void thread_that_spins(void)
{
	with_thread(progress_spins, 50);
}

static void thread_that_yields(void)
{
	with_thread(progress_yields, 50);
}

static void cancelled_while_idle(void)
{
	for (int i = 0; i < 5; i++)
		with_thread(progress_naps, 0);
}

static void cancelled_anywhere(void)
{
	double end = guest_now() + 0.3;

	for (int i = 0; guest_now() < end && !check_failures; i++) {
		pthread_t thread;
		struct timespec moment = {0, 1000L * (i % 50)};

		if (pthread_create(&thread, NULL, progress_never_rests, NULL))
			exit(1);
		nanosleep(&moment, NULL);
		pthread_cancel(thread);
		pthread_join(thread, NULL);
		/* No other thread is left that could hold the lock. */
		CHECK(PAMI_Context_trylock(contexts[1]) == PAMI_SUCCESS);
		if (!check_failures)
			CHECK_RC(PAMI_Context_unlock(contexts[1]));
	}
	if (check_failures)
		exit(1);
	run_barrier();
}

static volatile int stop;

static void *progress_until_told(void *arg)
{
	while (!atomic_load_relaxed(&stop)) {
		PAMI_Context_lock(contexts[1]);
		PAMI_Context_advance(contexts[1], 100);
		PAMI_Context_unlock(contexts[1]);
	}
	return arg;
}

static pami_result_t set_flag(pami_context_t context, void *cookie)
{
	(void)context;
	atomic_store_release((int *)cookie, 1);
	return PAMI_SUCCESS;
}

static void work_for_the_thread(void)
{
	pthread_t thread;

	stop = 0;
	if (pthread_create(&thread, NULL, progress_until_told, NULL))
		exit(1);
	for (int i = 0; i < 50; i++) {
		pami_work_t work; /* on the stack */
		int done = 0;

		CHECK_RC(PAMI_Context_post(contexts[1], &work, set_flag, &done));
		while (!atomic_load_acquire(&done))
			sched_yield();
	}
	atomic_store_relaxed(&stop, 1);
	pthread_join(thread, NULL);
	run_barrier();
}

#define EXCHANGES 20

static void *exchange_messages(void *finished)
{
	int before = received;
	pami_endpoint_t there;

	CHECK_RC(PAMI_Endpoint_create(client, (my_rank + 1) % ntasks, 1, &there));
	for (int i = 1; i <= EXCHANGES; i++) {
		pami_send_immediate_t parameters;

		memset(&parameters, 0, sizeof parameters);
		parameters.dispatch = 37;
		parameters.dest = there;
		CHECK_RC(PAMI_Send_immediate(contexts[1], &parameters));
		while (atomic_load_seq_cst(&received) < before + i)
			PAMI_Context_advance(contexts[1], 1);
	}
	atomic_store_release((int *)finished, 1);
	return NULL;
}

static void sleeps_while_the_thread_works(void)
{
	pthread_t thread;
	int finished = 0;

	if (pthread_create(&thread, NULL, exchange_messages, &finished))
		exit(1);
	while (!atomic_load_acquire(&finished))
		usleep(200);
	pthread_join(thread, NULL);
	run_barrier();
}

int main(int argc, char **argv)
{
	pami_configuration_t configuration;
	pami_dispatch_callback_function fn;
	pami_dispatch_hint_t options = {0};

	CHECK_RC(PAMI_Client_create("", &client, NULL, 0));
	configuration.name = PAMI_CLIENT_TASK_ID;
	CHECK_RC(PAMI_Client_query(client, &configuration, 1));
	my_rank = configuration.value.intval;
	configuration.name = PAMI_CLIENT_NUM_TASKS;
	CHECK_RC(PAMI_Client_query(client, &configuration, 1));
	ntasks = configuration.value.intval;
	configuration.name = PAMI_CLIENT_NUM_CONTEXTS;
	CHECK_RC(PAMI_Client_query(client, &configuration, 1));
	ncontexts = configuration.value.intval;
	contexts = (pami_context_t *)malloc(ncontexts * sizeof(pami_context_t));
	CHECK_RC(PAMI_Context_createv(client, &configuration, 0, contexts, ncontexts));
	fn.p2p = cb_recv;
	for (size_t i = 0; i < ncontexts; i++)
		CHECK_RC(PAMI_Dispatch_set(contexts[i], 37, fn, NULL, options));

	CASE(thread_that_naps, "A progress thread polls, sleeps a microsecond, and is cancelled.");
	CASE(thread_that_spins, "A progress thread polls all contexts without a pause.");
	CASE(thread_that_yields,
	     "A progress thread yields between polls and lets itself be cancelled anywhere.");
	CASE(cancelled_while_idle, "A progress thread is cancelled although nothing ever came.");
	CASE(cancelled_anywhere,
	     "Many progress threads, one after the other, are cancelled asynchronously.");
	CASE(work_for_the_thread,
	     "A program posts work to the context that its thread polls, and spins on a flag.");
	CASE(sleeps_while_the_thread_works,
	     "The main thread looks at a flag and sleeps, again and again, while another sends.");

	CHECK_RC(PAMI_Context_destroyv(contexts, ncontexts));
	CHECK_RC(PAMI_Client_destroy(&client));
	free(contexts);
	return check_failures != 0;
}
