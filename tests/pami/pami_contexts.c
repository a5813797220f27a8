/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several contexts driven by threads of their own, several clients, posted work, locks, a progress
 * thread that is cancelled, asynchronous progress, extensions, queries. Rules R1, R2, R12, R14,
 * R15 of docs/references.md.
 */
#include <pthread.h>
#include <unistd.h>

#include "pami/ext_memory.h"
#include "tests/harness/pami_job.h"

#define CONTEXTS 4
#define MESSAGES (is_virtual ? 400u : 2000u)

static int is_virtual; /* fewer of everything */

/* ---- Every context of every task sends to every other, a thread each. ---- */

struct lane {
	size_t offset;
	uint32_t next[JOB_TASKS_MAX][CONTEXTS]; /* number expected of each sender */
	size_t got;
	int check_failures;
};
static struct lane lanes[CONTEXTS];

static void on_number(pami_context_t c, void *cookie, const void *header, size_t header_size,
		      const void *pipe, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv)
{
	struct lane *l = cookie;
	pami_task_t task;
	size_t offset;
	uint32_t n;

	memcpy(&n, header, sizeof n);
	PAMI_Endpoint_query(origin, &task, &offset);
	l->check_failures += c != contexts[l->offset] || n != l->next[task][offset];
	l->next[task][offset] = n + 1;
	l->got++;
}

static void *lane_thread(void *arg)
{
	struct lane *l = arg;
	pami_context_t c = contexts[l->offset];
	size_t all = MESSAGES / tasks / CONTEXTS * tasks * CONTEXTS;

	for (uint32_t n = 0; n < MESSAGES / tasks / CONTEXTS; n++)
		for (size_t to = 0; to < tasks * CONTEXTS; to++) {
			pami_send_immediate_t s = {.header = {&n, sizeof n},
						   .dispatch = 1,
						   .dest =
						       get_endpoint(to / CONTEXTS, to % CONTEXTS)};

			l->check_failures += PAMI_Send_immediate(c, &s) != PAMI_SUCCESS;
			if (to % 3 == 0)
				PAMI_Context_advance(c, 1);
		}
	while (l->got < all)
		PAMI_Context_advance(c, 100);
	return NULL;
}

static void contexts_advance_in_parallel(void)
{
	pthread_t thread[CONTEXTS];

	for (size_t i = 0; i < CONTEXTS; i++) {
		lanes[i].offset = i;
		dispatch_set(contexts[i], 1, on_number, &lanes[i], (pami_dispatch_hint_t){0});
	}
	for (size_t i = 0; i < CONTEXTS; i++)
		pthread_create(&thread[i], NULL, lane_thread, &lanes[i]);
	for (size_t i = 0; i < CONTEXTS; i++) {
		pthread_join(thread[i], NULL);
		CHECK_EQ(lanes[i].check_failures, 0);
	}
	run_barrier();
}

/* ---- Posted work ---- */

#define POSTERS 3
#define POSTS   5000 /* at most */

struct item {
	char pad[4]; /* the work object is misaligned: only 4 bytes are promised */
	char work[sizeof(pami_work_t)];
	uint32_t poster, number;
	int calls;
} __attribute__((packed, aligned(4)));

static struct item items[POSTERS][POSTS];
static uint32_t ran[POSTERS], posts = POSTS;

static pami_result_t work_fn(pami_context_t c, void *cookie)
{
	struct item *it = cookie;

	CHECK(c == contexts[1]);
	if (!it->calls++ && it->number % 50 == 7)
		return PAMI_EAGAIN;
	if (it->number % 50 == 7)
		CHECK_EQ(it->calls, 2);
	else
		CHECK_EQ(it->calls, 1);
	memset(it->work, 0xaa, sizeof it->work); /* the caller's again */
	ran[it->poster]++;
	return PAMI_SUCCESS;
}

static void *post_thread(void *arg)
{
	struct item *it = arg;

	for (uint32_t i = 0; i < posts; i++) {
		it[i].number = i;
		PAMI_Context_post(contexts[1], (pami_work_t *)(void *)it[i].work, work_fn, &it[i]);
	}
	return NULL;
}

static int order[3], orders;

static pami_result_t note_order(pami_context_t c, void *cookie)
{
	order[orders++] = (int)(intptr_t)cookie;
	return PAMI_SUCCESS;
}

static pami_work_t again_work;

static pami_result_t posts_again(pami_context_t c, void *cookie)
{
	int *left = cookie;

	if (--*left)
		CHECK_EQ(PAMI_Context_post(c, &again_work, posts_again, cookie), PAMI_SUCCESS);
	return PAMI_SUCCESS;
}

static void posted_work(void)
{
	pthread_t thread[POSTERS];
	pami_work_t w[3];
	int left = 10;

	for (int i = 0; i < POSTERS; i++) {
		for (int k = 0; k < POSTS; k++)
			items[i][k].poster = (uint32_t)i;
		pthread_create(&thread[i], NULL, post_thread, items[i]);
	}
	while (ran[0] + ran[1] + ran[2] < POSTERS * posts)
		PAMI_Context_advance(contexts[1], 10);
	for (int i = 0; i < POSTERS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(PAMI_Context_post(context, &w[i], note_order, (void *)(intptr_t)i),
			 PAMI_SUCCESS);
	CHECK_EQ(orders, 0);
	CHECK_EQ(PAMI_Context_advance(context, 1), PAMI_SUCCESS);
	CHECK(orders == 3 && order[0] == 0 && order[1] == 1 && order[2] == 2);
	CHECK_EQ(PAMI_Context_post(context, &again_work, posts_again, &left), PAMI_SUCCESS);
	WAIT(!left);
	CHECK_EQ(PAMI_Context_post(context, NULL, note_order, NULL), PAMI_INVAL);
}

/* ---- Locks; a progress thread that is cancelled ---- */

static int counted;

static void *count_thread(void *arg)
{
	for (uint32_t i = 0; i < posts; i++) {
		CHECK_EQ(PAMI_Context_lock(contexts[2]), PAMI_SUCCESS);
		counted++;
		CHECK_EQ(PAMI_Context_unlock(contexts[2]), PAMI_SUCCESS);
	}
	return NULL;
}

static void *progress_thread(void *arg)
{
	for (;;) {
		PAMI_Context_trylock_advancev(contexts, CONTEXTS, 10);
		usleep(1);
	}
	return NULL;
}

static void locks_exclude_other_threads(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, count_thread, NULL);
	pthread_create(&b, NULL, count_thread, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	CHECK_EQ(counted, 2 * posts);
	CHECK_EQ(PAMI_Context_lock(contexts[3]), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Context_trylock(contexts[3]), PAMI_EAGAIN);
	CHECK_EQ(PAMI_Context_unlock(contexts[3]), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Context_trylock(contexts[3]), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Context_unlock(contexts[3]), PAMI_SUCCESS);
	for (int i = 0; i < 20; i++) {
		pthread_create(&a, NULL, progress_thread, NULL);
		usleep((unsigned)i * 37);
		pthread_cancel(a);
		pthread_join(a, NULL);
		for (size_t k = 0; k < CONTEXTS; k++) { /* no lock went with it */
			CHECK_EQ(PAMI_Context_trylock(contexts[k]), PAMI_SUCCESS);
			CHECK_EQ(PAMI_Context_unlock(contexts[k]), PAMI_SUCCESS);
		}
	}
	run_barrier();
}

/* ---- Asynchronous progress: no thread of the program advances context 3. ---- */

typedef void (*async_fn)(pami_context_t, void *);
static pami_result_t (*async_register)(pami_context_t, async_fn, async_fn, async_fn, void *);
static pami_result_t (*async_enable)(pami_context_t, int), (*async_disable)(pami_context_t, int);
static int resumed, suspended, posted_ran;

static void resume_fn(pami_context_t c, void *cookie)
{
	atomic_add_fetch_release(&resumed, 1);
}

static void suspend_fn(pami_context_t c, void *cookie)
{
	atomic_add_fetch_release(&suspended, 1);
}

static pami_result_t async_work(pami_context_t c, void *cookie)
{
	CHECK(c == contexts[3]);
	atomic_store_release(&posted_ran, 1);
	return PAMI_SUCCESS;
}

static uint64_t *address_of[JOB_TASKS_MAX];
static size_t addresses;

static void on_address(pami_context_t c, void *cookie, const void *header, size_t header_size,
		       const void *pipe, size_t data_size, pami_endpoint_t origin,
		       pami_recv_t *recv)
{
	pami_task_t task;
	size_t offset;

	PAMI_Endpoint_query(origin, &task, &offset);
	memcpy(&address_of[task], header, sizeof address_of[task]);
	addresses++;
}

/* Real clock: a thread of the library does it. Virtual: any progress of this process does. */
static void wait_for_other_thread(const int *count)
{
	while (!atomic_load_acquire(count))
		if (is_virtual)
			PAMI_Context_advance(contexts[1], 1);
		else
			usleep(100);
}

static void puts_arrive_without_calls(void)
{
	static uint64_t counter, one = 1, seen;
	uint64_t *mine = &counter;
	pami_extension_t e;
	pami_work_t work;
	int done = 0;

	CHECK_EQ(PAMI_Extension_open(client, "EXT_async_progress", &e), PAMI_SUCCESS);
	*(void **)&async_register = PAMI_Extension_symbol(e, "register");
	*(void **)&async_enable = PAMI_Extension_symbol(e, "Enable"); /* case does not matter */
	*(void **)&async_disable = PAMI_Extension_symbol(e, "disable");
	if (!async_register || !async_enable || !async_disable) {
		CHECK(!"symbols of EXT_async_progress");
		return;
	}
	CHECK_EQ(async_register(contexts[3], NULL, suspend_fn, resume_fn, NULL), PAMI_SUCCESS);
	CHECK_EQ(async_enable(contexts[3], 0), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Context_post(contexts[3], &work, async_work, NULL), PAMI_SUCCESS);
	wait_for_other_thread(&posted_ran);
	CHECK_EQ(atomic_load_acquire(&resumed), 1);
	/* Atomic operations executed by contexts 3, which nothing else serves. */
	for (size_t t = 0; t < tasks; t++) {
		pami_send_immediate_t m = {
		    .header = {&mine, sizeof mine}, .dispatch = 20, .dest = get_endpoint(t, 0)};

		CHECK_EQ(PAMI_Send_immediate(context, &m), PAMI_SUCCESS);
	}
	WAIT(addresses == tasks);
	run_barrier();
	for (int i = 0; i < 50; i++) {
		pami_rmw_t r = {.dest = get_endpoint((me + 1) % tasks, 3),
				.cookie = &done,
				.done_fn = flag_done,
				.local = &seen,
				.remote = address_of[(me + 1) % tasks],
				.value = &one,
				.operation = PAMI_ATOMIC_FETCH_ADD,
				.type = PAMI_TYPE_UNSIGNED_LONG};

		CHECK_EQ(PAMI_Rmw(context, &r), PAMI_SUCCESS);
		WAIT(done == i + 1);
		CHECK_EQ(seen, i);
	}
	run_barrier();
	CHECK_EQ(async_disable(contexts[3], 0), PAMI_SUCCESS);
	wait_for_other_thread(&suspended); /* the call above waits 0.1 s for it at most */
	CHECK_EQ(atomic_load_acquire(&suspended), 1);
	/* This is left on: destroying the context ends it. */
	CHECK_EQ(async_enable(contexts[3], 0), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Extension_close(e), PAMI_SUCCESS);
}

/* ---- More clients beside this one; each talks to its own number only. ---- */

static int client_got[4];

static void on_client(pami_context_t c, void *cookie, const void *header, size_t header_size,
		      const void *pipe, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv)
{
	int n;

	memcpy(&n, header, sizeof n);
	CHECK(cookie == &client_got[n]);
	client_got[n]++;
}

static void clients_are_apart(void)
{
	pami_client_t more[3];
	pami_context_t c[3];

	for (int i = 0; i < 3; i++) {
		CHECK_EQ(PAMI_Client_create("", &more[i], NULL, 0), PAMI_SUCCESS);
		CHECK_EQ(PAMI_Context_createv(more[i], NULL, 0, &c[i], 1), PAMI_SUCCESS);
		dispatch_set(c[i], 9, on_client, &client_got[i], (pami_dispatch_hint_t){0});
	}
	for (int i = 2; i >= 0; i--)
		for (size_t t = 0; t < tasks; t++) {
			pami_send_immediate_t s = {
			    .header = {&i, sizeof i}, .dispatch = 9, .dest = get_endpoint(t, 0)};

			CHECK_EQ(PAMI_Send_immediate(c[i], &s), PAMI_SUCCESS);
		}
	for (int i = 0; i < 3; i++)
		while (client_got[i] < (int)tasks)
			PAMI_Context_advance(c[i], 10);
	run_barrier();
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(client_got[i], tasks);
		CHECK_EQ(PAMI_Context_destroyv(&c[i], 1), PAMI_SUCCESS);
		CHECK_EQ(PAMI_Client_destroy(&more[i]), PAMI_SUCCESS);
		CHECK(more[i] == PAMI_CLIENT_NULL);
	}
	run_barrier();
}

/* ---- Queries and extensions ---- */

static void queries_answer(void)
{
	pami_configuration_t q[] = {{.name = PAMI_CLIENT_PROCESSOR_NAME},
				    {.name = PAMI_CLIENT_WTICK},
				    {.name = PAMI_CLIENT_LOCAL_TASKS}};
	size_t n = client_value(PAMI_CLIENT_NUM_CONTEXTS),
	       locals = client_value(PAMI_CLIENT_NUM_LOCAL_TASKS);
	pami_context_t too_many[65];
	double a = PAMI_Wtime(client), b = PAMI_Wtime(client);
	unsigned long long ta = PAMI_Wtimebase(client), tb = PAMI_Wtimebase(client);
	pami_task_t task = 7;
	size_t offset = 7, seen = 0;

	CHECK(n >= 2 && n <= 64 && !(n & (n - 1)));
	CHECK_EQ(PAMI_Client_query(client, q, 3), PAMI_SUCCESS);
	CHECK(strlen(q[0].value.chararray) > 0 && strlen(q[0].value.chararray) < 128);
	CHECK(q[1].value.doubleval > 0 && q[1].value.doubleval < 1e-3);
	for (size_t i = 0; i < locals; i++)
		seen += q[2].value.intarray[i] == me;
	CHECK_EQ(seen, 1);
	CHECK_EQ(client_value(PAMI_CLIENT_MEMREGION_SIZE), sizeof(pami_memregion_t));
	CHECK(client_value(PAMI_CLIENT_CONST_CONTEXTS));
	CHECK(client_value(PAMI_CLIENT_CLOCK_MHZ) && client_value(PAMI_CLIENT_MEM_SIZE));
	CHECK(client_value(PAMI_CLIENT_HWTHREADS_AVAILABLE) >= 1);
	CHECK_EQ(client_value(PAMI_CLIENT_WTIMEBASE_MHZ), 1600);
	q[0].name = (pami_attribute_name_t)12345;
	CHECK_EQ(PAMI_Client_query(client, q, 1), PAMI_INVAL);
	q[0].name = PAMI_CLIENT_NUM_TASKS;
	CHECK_EQ(PAMI_Client_update(client, q, 1), PAMI_INVAL);
	CHECK_EQ(PAMI_Client_update(client, q, 0), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Context_query(context, q, 1), PAMI_INVAL);
	q[0].name = PAMI_CONTEXT_DISPATCH_ID_MAX;
	CHECK_EQ(PAMI_Context_query(context, q, 1), PAMI_SUCCESS);
	CHECK(q[0].value.intval >= 255);
	/* A client makes its contexts once. */
	CHECK_EQ(PAMI_Context_createv(client, NULL, 0, too_many, 1), PAMI_INVAL);
	CHECK(b >= a && tb >= ta);
	CHECK_EQ(PAMI_Endpoint_query(get_endpoint(5, 3), &task, &offset), PAMI_SUCCESS);
	CHECK(task == 5 && offset == 3 && get_endpoint(5, 3) == (5u << 6 | 3));
	CHECK_EQ(PAMI_Endpoint_create(client, 0, 64, &(pami_endpoint_t){0}), PAMI_INVAL);
}

struct torus {
	size_t dims, *coord, *size, *torus;
};

static void extensions_open(void)
{
	pami_extension_t e = (void *)1;
	const struct torus *(*information)(void);
	pami_result_t (*task2torus)(pami_task_t, size_t[]), (*torus2task)(size_t[], pami_task_t *);
	uint8_t *base;
	size_t stride, mask, local = 0;
	pami_quintorus_alloc_fn allocate;
	pami_quintorus_free_fn release;
	pami_quintorus_local_fn local_address;

	CHECK_EQ(PAMI_Extension_open(client, "EXT_nothing", &e), PAMI_UNIMPL);
	CHECK(e == NULL);
	CHECK_EQ(PAMI_Extension_close(NULL), PAMI_SUCCESS);
	CHECK(!PAMI_Extension_symbol(NULL, "x"));
	CHECK_EQ(PAMI_Extension_open(NULL, "EXT_torus_network", &e), PAMI_SUCCESS);
	*(void **)&information = PAMI_Extension_symbol(e, "information");
	*(void **)&task2torus = PAMI_Extension_symbol(e, "task2torus");
	*(void **)&torus2task = PAMI_Extension_symbol(e, "torus2task");
	CHECK_EQ(information()->dims, 6);
	for (size_t t = 0; t < tasks; t++) {
		size_t c[6];
		pami_task_t back = 99;

		CHECK_EQ(task2torus((pami_task_t)t, c), PAMI_SUCCESS);
		for (int d = 0; d < 6; d++)
			CHECK(c[d] < information()->size[d] &&
			      (t != me || c[d] == information()->coord[d]));
		CHECK_EQ(torus2task(c, &back), PAMI_SUCCESS);
		CHECK_EQ(back, t);
		c[2] = 1000;
		CHECK(torus2task(c, &back) != PAMI_SUCCESS);
	}
	CHECK_EQ(PAMI_Extension_open(client, "EXT_is_local_task", &e), PAMI_SUCCESS);
	base = PAMI_Extension_symbol(e, "base");
	stride = (size_t)PAMI_Extension_symbol(e, "stride");
	mask = (size_t)PAMI_Extension_symbol(e, "bitmask");
	CHECK(stride == 4 && mask == 0x40 && (base[me * stride] & mask));
	for (size_t t = 0; t < tasks; t++)
		local += (base[t * stride] & mask) != 0;
	CHECK_EQ(local, client_value(PAMI_CLIENT_NUM_LOCAL_TASKS));
	CHECK_EQ(PAMI_Extension_open(client, PAMI_EXT_QUINTORUS_MEMORY, &e), PAMI_SUCCESS);
	*(void **)&allocate = PAMI_Extension_symbol(e, "alloc");
	*(void **)&release = PAMI_Extension_symbol(e, "free");
	*(void **)&local_address = PAMI_Extension_symbol(e, "local");
	void *p = allocate(1000, 256);
	CHECK(p && !((uintptr_t)p % 256));
	memset(p, 1, 1000);
	CHECK(!local_address((pami_task_t)me, &p, 8));
	release(p);
	CHECK_EQ(PAMI_Extension_open(client, "EXT_test_extension", &e), PAMI_SUCCESS);
	CHECK(PAMI_Extension_symbol(e, "foo") && PAMI_Extension_symbol(e, "bar"));
	CHECK(!PAMI_Extension_symbol(e, "baz"));
}

/*
 * ---- use_rdma, and the limits of eager messages: whether a message needs its target's dispatch
 * function before it leaves us. Of the two lengths one goes eagerly to near tasks without a hint or
 * a limit, and fits a ring that no thread reads; the other does not. ----
 */

static unsigned char landing[300000];
static size_t expected;
static int landed;

static void on_long(pami_context_t c, void *cookie, const void *header, size_t header_size,
		    const void *pipe, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv)
{
	CHECK_EQ(data_size, expected);
	recv->addr = landing;
	recv->cookie = &landed;
	recv->local_fn = flag_done;
}

static void rdma_hint(void)
{
	pami_dispatch_hint_t hint[3] = {
	    {.use_rdma = PAMI_HINT_ENABLE}, {.use_rdma = PAMI_HINT_DISABLE}, {0}};
	unsigned char *data = malloc(sizeof landing);
	int eager_near = getenv("QUINTORUS_EAGER_NEAR") != NULL;

	for (size_t i = 0; i < (eager_near ? 3 : 2); i++) {
		int gone = 0,
		    fetched = i == 0 || (i == 2 && atol(getenv("QUINTORUS_EAGER_NEAR")) < 100000);
		pami_send_t s = {.send = {.header = {&i, sizeof i},
					  .data = {data, fetched ? 100000 : sizeof landing},
					  .dispatch = 30 + i,
					  .dest = get_endpoint(me, 1)},
				 .events = {&gone, flag_done, NULL}};

		landed = 0;
		expected = s.send.data.iov_len;
		memset(data, (int)(40 + i), expected);
		dispatch_set(contexts[0], 30 + i, on_long, NULL, hint[i]);
		dispatch_set(contexts[1], 30 + i, on_long, NULL, hint[i]);
		CHECK_EQ(PAMI_Send(contexts[0], &s), PAMI_SUCCESS);
		if (fetched) {
			PAMI_Context_advance(contexts[0], 100);
			CHECK(!gone);
		}
		while (!gone) {
			PAMI_Context_advance(contexts[0], 1);
			if (fetched)
				PAMI_Context_advance(contexts[1], 1);
		}
		while (!landed)
			PAMI_Context_advance(contexts[1], 1);
		CHECK(!memcmp(data, landing, expected));
	}
	free(data);
}

int main(int argc, char **argv)
{
	is_virtual = argc > 1 && !strcmp(argv[1], "virtual");
	job_begin(CONTEXTS);
	CHECK_EQ(PAMI_Context_advance(context, 0), PAMI_EAGAIN);
	queries_answer();
	extensions_open();
	clients_are_apart();
	dispatch_set(context, 20, on_address, NULL, (pami_dispatch_hint_t){0});
	if (is_virtual)
		posts = 500;
	contexts_advance_in_parallel();
	posted_work();
	locks_exclude_other_threads();
	rdma_hint();
	puts_arrive_without_calls();
	run_barrier();
	return job_end(CONTEXTS);
}
