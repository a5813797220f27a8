/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A runtime that leaves progress to the library: it asks for asynchronous progress, posts all its
 * work from its own threads, keeps a lock of its own, and sends messages whose result it never
 * looks at.
 */
#include <pami.h>
#include <pami_sys.h>
#include <pthread.h>
#include <sched.h>

#include "tests/guests/guest.h"

typedef pami_result_t (*register_fn)(pami_context_t, void (*)(pami_context_t, void *),
				     void (*)(pami_context_t, void *),
				     void (*)(pami_context_t, void *), void *);
typedef pami_result_t (*enable_fn)(pami_context_t, int);

static pami_client_t client;
static pami_context_t context;
static pami_extension_t extension;
static enable_fn enable, disable;
static size_t me, npes;
static int processed;
static pthread_mutex_t node_lock = PTHREAD_MUTEX_INITIALIZER; /* not recursive */

/* A message as the runtime allocates it: the work object lies in its header, aligned to 4. */
typedef struct {
	int size, destination;
	char work[6 * sizeof(void *)];
	char payload[100];
} message;

static void on_message(pami_context_t c, void *cookie, const void *header, size_t header_size,
		       const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	(void)c, (void)cookie, (void)header, (void)header_size, (void)pipe, (void)bytes;
	(void)origin, (void)recv;
	atomic_fetch_add_seq_cst(&processed, 1);
}

static pami_result_t send_posted(pami_context_t c, void *cookie)
{
	message *m = cookie;
	pami_send_immediate_t p;

	memset(&p, 0, sizeof p);
	p.dispatch = 10;
	p.header.iov_base = m;
	p.header.iov_len = 8;
	p.data.iov_base = m->payload;
	p.data.iov_len = sizeof m->payload;
	PAMI_Endpoint_create(client, (pami_task_t)m->destination, 0, &p.dest);
	PAMI_Send_immediate(c, &p);
	free(m);
	return PAMI_SUCCESS;
}

static void post_message(int to)
{
	message *m = calloc(1, sizeof *m);

	m->destination = to;
	PAMI_Context_post(context, (pami_work_t *)(void *)m->work, send_posted, m);
}

static void note_started(pami_context_t c, void *cookie, pami_result_t r)
{
	(void)c, (void)r;
	atomic_store_seq_cst((int *)cookie, 1);
}

static pami_result_t start_barrier(pami_context_t c, void *cookie)
{
	pami_geometry_t world;
	pami_xfer_t x;

	memset(&x, 0, sizeof x);
	PAMI_Geometry_world(client, &world);
	PAMI_Geometry_algorithms_query(world, PAMI_XFER_BARRIER, &x.algorithm, NULL, 1, NULL, NULL,
				       0);
	x.cb_done = note_started;
	x.cookie = cookie;
	CHECK(PAMI_Collective(c, &x) == PAMI_SUCCESS);
	return PAMI_SUCCESS;
}

/* With asynchronous progress no thread polls: the work is posted and a flag watched. */
static void posted_barrier(void)
{
	pami_work_t work;
	int done = 0;

	PAMI_Context_post(context, &work, start_barrier, &done);
	while (!atomic_load_seq_cst(&done))
		sched_yield();
}

static void flags_without_polls(void)
{
	for (int i = 0; i < 20; i++)
		posted_barrier();
}

static void *run_worker(void *arg)
{
	for (int i = 0; i < 100; i++)
		post_message((int)((me + (size_t)i) % npes));
	return arg;
}

static void posts_from_all_threads(void)
{
	pthread_t t[3];
	int until = atomic_load_seq_cst(&processed) + 300;

	/* 300 from three threads of each task, 100 messages a thread, spread evenly over tasks. */
	if (100 % npes)
		until -= 300;
	posted_barrier();
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, run_worker, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	while (atomic_load_seq_cst(&processed) < until)
		sched_yield();
	posted_barrier();
}

static int suspended, resumed;

static void suspend_progress(pami_context_t c, void *cookie)
{
	(void)c, (void)cookie;
	pthread_mutex_lock(&node_lock);
	suspended++;
	pthread_mutex_unlock(&node_lock);
}

static void resume_progress(pami_context_t c, void *cookie)
{
	(void)c, (void)cookie;
	atomic_fetch_add_seq_cst(&resumed, 1);
}

/* A second client whose contexts are destroyed while the program holds the lock that suspend takes.
 */
static void destroy_under_its_own_lock(void)
{
	register_fn reg = (register_fn)PAMI_Extension_symbol(extension, "register");

	for (int i = 0; i < 3; i++) {
		pami_client_t other;
		pami_context_t c;

		if (PAMI_Client_create("other", &other, NULL, 0) != PAMI_SUCCESS ||
		    PAMI_Context_createv(other, NULL, 0, &c, 1) != PAMI_SUCCESS)
			abort();
		CHECK(reg(c, NULL, suspend_progress, resume_progress, NULL) == PAMI_SUCCESS);
		resumed = 0;
		enable(c, 0);
		/* Once at work, once just begun. */
		for (int n = 0; n < 100000 && i != 1 && !atomic_load_seq_cst(&resumed); n++)
			sched_yield();
		pthread_mutex_lock(&node_lock);
		CHECK(PAMI_Context_destroyv(&c, 1) == PAMI_SUCCESS);
		pthread_mutex_unlock(&node_lock);
		CHECK(PAMI_Client_destroy(&other) == PAMI_SUCCESS);
	}
	posted_barrier();
}

int main(int argc, char **argv)
{
	pami_configuration_t q[2] = {{.name = PAMI_CLIENT_TASK_ID},
				     {.name = PAMI_CLIENT_NUM_TASKS}};
	pami_dispatch_callback_function f = {.p2p = on_message};
	pami_dispatch_hint_t options;

	memset(&options, 0, sizeof options);
	PAMI_Client_create("async", &client, NULL, 0);
	PAMI_Context_createv(client, NULL, 0, &context, 1);
	PAMI_Client_query(client, q, 2);
	me = q[0].value.intval;
	npes = q[1].value.intval;
	PAMI_Dispatch_set(context, 10, f, NULL, options);
	if (PAMI_Extension_open(client, "EXT_async_progress", &extension) != PAMI_SUCCESS)
		return 1;
	enable = (enable_fn)PAMI_Extension_symbol(extension, "enable");
	disable = (enable_fn)PAMI_Extension_symbol(extension, "disable");
	((register_fn)PAMI_Extension_symbol(extension, "register"))(context, NULL, NULL, NULL,
								    NULL);
	enable(context, 0);

	CASE(flags_without_polls,
	     "A runtime posts its collectives and watches a flag; nobody polls.");
	CASE(posts_from_all_threads,
	     "All threads of a runtime post messages, the work object within.");
	CASE(destroy_under_its_own_lock,
	     "A program destroys a context and holds the lock of its suspend function.");

	disable(context, 0);
	PAMI_Extension_close(extension);
	PAMI_Context_destroyv(&context, 1);
	PAMI_Client_destroy(&client);
	return check_failures != 0;
}
