/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations to a context that the client at the target never made. Once the sender can know, each
 * call gives PAMI_INVAL and a reason. What is sent before that is refused at the target: each
 * callback that waits for the target comes, with an error. What is sent to a context that is made
 * later arrives. A put or get before that does the same for either.
 */
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "tests/harness/pami_job.h"

enum { ID_COUNT = 1, LONG = 1 << 20 };

static pami_context_t all[3];
static int count, local_errors, remote_errors, locals, remotes, atomics, rmas, done;
static char buffer[LONG], landing[LONG];

static void on_count(pami_context_t c, void *cookie, const void *header, size_t header_size,
		     const void *pipe, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv)
{
	atomic_add_fetch_acq_rel(&count, 1);
	if (recv)
		recv->addr = landing;
}

static void on_local(pami_context_t c, void *cookie, pami_result_t result)
{
	locals++;
	local_errors += result != PAMI_SUCCESS;
}

static void on_remote(pami_context_t c, void *cookie, pami_result_t result)
{
	remotes++;
	remote_errors += result != PAMI_SUCCESS;
}

/* Nothing is at the address: a context that was made says so. */
static void on_rmw(pami_context_t c, void *cookie, pami_result_t result)
{
	atomics++;
	CHECK_EQ(result, cookie ? PAMI_ERROR : PAMI_INVAL);
}

/* A put or get names memory, not the context: it fails because nothing is at the address. */
static void on_rma(pami_context_t c, void *cookie, pami_result_t result)
{
	rmas++;
	CHECK_EQ(result, PAMI_ERROR);
}

static void on_put_local(pami_context_t c, void *cookie, pami_result_t result)
{
	rmas++;
}

static void is_refused(pami_result_t result)
{
	char text[200];

	CHECK_EQ(result, PAMI_INVAL);
	PAMI_Error_text(text, sizeof text);
	CHECK(strstr(text, "has made its contexts") != NULL);
}

/* After a barrier every task knows which contexts the others have. */
static void contact_endpoint(size_t to, size_t offset)
{
	static uint64_t words[2];
	uint64_t value = 1, old;
	pami_endpoint_t e = get_endpoint(to, offset);
	pami_send_t s = {.send = {.header = {buffer, 8}, .dispatch = ID_COUNT, .dest = e},
			 .events = {NULL, on_local, on_remote}};
	pami_put_simple_t put = {.rma = {.dest = e, .bytes = 8, .done_fn = on_local},
				 .addr = {words, words},
				 .put = {on_remote}};
	pami_get_simple_t get = {.rma = {.dest = e, .bytes = 8, .done_fn = on_local},
				 .addr = {words, words}};
	pami_rmw_t rmw = {.dest = e,
			  .done_fn = on_local,
			  .local = &old,
			  .remote = words,
			  .value = &value,
			  .operation = PAMI_ATOMIC_FETCH_ADD,
			  .type = PAMI_TYPE_UNSIGNED_LONG_LONG};

	locals = remotes = 0;
	is_refused(PAMI_Send_immediate(context, &s.send));
	for (size_t n = 1; n <= LONG; n *= 16) {
		s.send.data = (struct iovec){buffer, n};
		is_refused(PAMI_Send(context, &s));
	}
	is_refused(PAMI_Put(context, &put));
	is_refused(PAMI_Get(context, &get));
	is_refused(PAMI_Rmw(context, &rmw));
	is_refused(PAMI_Fence_endpoint(context, on_local, NULL, e));
	for (int i = 0; i < 100; i++)
		PAMI_Context_advance(context, 1);
	CHECK_EQ(locals + remotes, 0);
}

/*
 * Did the operation start? On a loaded machine task 1 may have made its contexts before task 0 has
 * started all of them; then operations to a context that task 1 does not make are refused at once.
 */
static int has_started(pami_result_t result, int is_made)
{
	if (!is_made && result == PAMI_INVAL) {
		is_refused(result);
		return 0;
	}
	CHECK_EQ(result, PAMI_SUCCESS);
	return 1;
}

/* Send messages of each kind, and an atomic operation. Returns how many messages. */
static int send_all(size_t to, size_t offset, int is_made)
{
	static const size_t sizes[] = {0, 8, 500, 1000, 4096, 65536, LONG};
	static uint64_t value = 1, old;
	char *nowhere = (char *)0 + 8192;
	pami_endpoint_t e = get_endpoint(to, offset);
	pami_rmw_t rmw = {.dest = e,
			  .cookie = is_made ? &value : NULL,
			  .done_fn = on_rmw,
			  .local = &old,
			  .remote = nowhere,
			  .value = &value,
			  .operation = PAMI_ATOMIC_FETCH_ADD,
			  .type = PAMI_TYPE_UNSIGNED_LONG_LONG};
	int n = 0;

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++, n++) {
		pami_send_t s = {.send = {.header = {buffer, 8},
					  .data = {buffer, sizes[i]},
					  .dispatch = ID_COUNT,
					  .dest = e},
				 .events = {NULL, on_local, on_remote}};

		if (!has_started(PAMI_Send(context, &s), is_made)) {
			locals++;
			remotes++;
			remote_errors++;
		}
	}
	atomics += !has_started(PAMI_Rmw(context, &rmw), is_made);
	return n;
}

static void set_done(pami_context_t c, void *cookie, pami_result_t result)
{
	done = 1;
}

/* Put and get. Returns how many callbacks follow. */
static int copy_all(size_t to, size_t offset, int is_made)
{
	static const size_t sizes[] = {8, 500, 65536, LONG};
	char *nowhere = (char *)0 + 8192;
	int n = 0;

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		pami_rma_t rma = {.dest = get_endpoint(to, offset), .bytes = sizes[i]};
		pami_put_simple_t put = {.rma = rma, .addr = {buffer, nowhere}, .put = {on_rma}};
		pami_get_simple_t get = {.rma = rma, .addr = {landing, nowhere}};

		put.rma.done_fn = on_put_local;
		get.rma.done_fn = on_rma;
		n += 2 * has_started(PAMI_Put(context, &put), is_made);
		n += has_started(PAMI_Get(context, &get), is_made);
	}
	return n;
}

/* Wait while nothing else happens in this task. */
static void pause_here(int is_virtual)
{
	double start = PAMI_Wtime(client);

	if (!is_virtual)
		usleep(300000);
	while (is_virtual && PAMI_Wtime(client) < start + 1e-3)
		;
}

/* With QT_BUSY every progress call of the target finds an event: work that was posted. */
static int works;

static pami_result_t on_work(pami_context_t c, void *cookie)
{
	atomic_add_fetch_acq_rel(&works, -1);
	return PAMI_SUCCESS;
}

static void post_one(void)
{
	static pami_work_t work;

	atomic_add_fetch_acq_rel(&works, 1);
	CHECK_EQ(PAMI_Context_post(all[0], &work, on_work, NULL), PAMI_SUCCESS);
}

/* Work of a context that posts itself again until task 0 has its answers: each pass of a commthread
 * finds an event. */
struct chain {
	pami_work_t work[2]; /* one of them runs while the other is posted */
	unsigned next;
	size_t offset;
};

static pami_result_t on_chain(pami_context_t c, void *cookie)
{
	struct chain *chain = cookie;

	if (atomic_load_acquire(&count) < 8)
		CHECK_EQ(PAMI_Context_post(all[chain->offset], &chain->work[chain->next ^= 1],
					   on_chain, chain),
			 PAMI_SUCCESS);
	return PAMI_SUCCESS;
}

/* Commthreads serve both contexts until task 0 says that it has its answers. */
static void leave_it_to_commthreads(void)
{
	static struct chain chain[2];
	pami_extension_t ext;
	pami_result_t (*enable)(pami_context_t, int), (*disable)(pami_context_t, int);

	CHECK_EQ(PAMI_Extension_open(client, "EXT_async_progress", &ext), PAMI_SUCCESS);
	enable = (pami_result_t(*)(pami_context_t, int))PAMI_Extension_symbol(ext, "enable");
	disable = (pami_result_t(*)(pami_context_t, int))PAMI_Extension_symbol(ext, "disable");
	for (size_t c = 0; c < 2; c++)
		CHECK_EQ(enable(all[c], 0), PAMI_SUCCESS);
	for (size_t c = 0; getenv("QT_BUSY") && c < 2; c++) {
		chain[c].offset = c;
		CHECK_EQ(
		    PAMI_Context_post(all[c], &chain[c].work[chain[c].next], on_chain, &chain[c]),
		    PAMI_SUCCESS);
	}
	while (atomic_load_acquire(&count) < 8)
		usleep(1000);
	for (size_t c = 0; c < 2; c++)
		CHECK_EQ(disable(all[c], 0), PAMI_SUCCESS);
	PAMI_Extension_close(ext);
}

/* Task 0 has all answers: the last message of this part of the test. */
static void say_so(void)
{
	pami_send_immediate_t last = {
	    .header = {buffer, 8}, .dispatch = ID_COUNT, .dest = get_endpoint(1, 1)};

	while (PAMI_Send_immediate(context, &last) == PAMI_EAGAIN)
		PAMI_Context_advance(context, 1);
}

/*
 * Task 0 makes its context and sends to contexts 1 and 2 of task 1, which makes two contexts later:
 * what was sent to context 1 arrives, what was sent to context 2 gets errors.
 */
static void not_yet(int is_virtual, int commthreads)
{
	size_t made = me == 0 ? 1 : 2;
	int sent, copied;

	if (me)
		pause_here(is_virtual);
	CHECK_EQ(PAMI_Context_createv(client, NULL, 0, all, made), PAMI_SUCCESS);
	contexts[0] = all[0];
	for (size_t c = 0; c < made; c++)
		dispatch_set(all[c], ID_COUNT, on_count, NULL, (pami_dispatch_hint_t){0});
	if (me == 0 && tasks > 1) {
		sent = send_all(1, 1, 1);
		CHECK_EQ(send_all(1, 2, 0), sent);
		copied = copy_all(1, 1, 1) + copy_all(1, 2, 0);
		while (locals < 2 * sent || remotes < 2 * sent || atomics < 2 || rmas < copied)
			PAMI_Context_advance(context, 1);
		for (int i = 0; i < 100; i++)
			PAMI_Context_advance(context, 1);
		CHECK_EQ(locals, 2 * sent);
		CHECK_EQ(remotes, 2 * sent);
		CHECK_EQ(atomics, 2);
		CHECK_EQ(remote_errors, sent);
		CHECK_EQ(rmas, copied);
		say_so();
	}
	if (me == 1 && commthreads)
		leave_it_to_commthreads();
	while (me == 1 && atomic_load_acquire(&count) < 8) {
		if (getenv("QT_BUSY") && !atomic_load_acquire(&works))
			post_one();
		PAMI_Context_advancev(all, 2, 1);
	}
}

/* Every task has made its contexts, and knows it of the others. */
static void meet_after_absence(void)
{
	pami_xfer_t x = {.algorithm = get_algorithm(PAMI_XFER_BARRIER), .cb_done = set_done};

	locals = remotes = local_errors = remote_errors = 0;
	CHECK_EQ(PAMI_Collective(context, &x), PAMI_SUCCESS);
	while (!done)
		PAMI_Context_advancev(all, me == 0 ? 1 : 2, 1);
	if (me == 0 && tasks > 1)
		contact_endpoint(1, 2);
	contact_endpoint(0, 1);
	contact_endpoint(me, me == 0 ? 1 : 2);
	done = 0;
	CHECK_EQ(PAMI_Collective(context, &x), PAMI_SUCCESS);
	while (!done)
		PAMI_Context_advancev(all, me == 0 ? 1 : 2, 1);
}

int main(int argc, char **argv)
{
	int is_virtual = argc > 1 && !strcmp(argv[1], "virtual");
	int commthreads = !is_virtual && getenv("QT_COMM") != NULL;

	/* What task 0 does then comes before task 1 has joined the job. */
	if (getenv("QT_LATE") && atoi(getenv("QUINTORUS_TASK")) == 1)
		usleep(300000);
	CHECK_EQ(PAMI_Client_create("test", &client, NULL, 0), PAMI_SUCCESS);
	me = client_value(PAMI_CLIENT_TASK_ID);
	tasks = client_value(PAMI_CLIENT_NUM_TASKS);
	not_yet(is_virtual, commthreads);
	meet_after_absence();
	CHECK_EQ(PAMI_Context_destroyv(all, me == 0 ? 1 : 2), PAMI_SUCCESS);
	CHECK_EQ(PAMI_Client_destroy(&client), PAMI_SUCCESS);
	return check_failures != 0;
}
