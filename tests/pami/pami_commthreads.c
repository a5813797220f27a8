/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commthreads: a process that computes is served, one owner a context, posted work from many
 * threads, stepping aside, signals, no CPU time when nothing happens. Run with several
 * PAMI_MAX_COMMTHREADS.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "tests/harness/pami_job.h"

#define CONTEXTS 4
#define SERVED   3            /* contexts 1 .. 3 */
#define LONG     (192u << 10) /* by rendezvous */

static int rounds; /* a multiple of 6 */

typedef void (*async_fn)(pami_context_t, void *);
static pami_result_t (*async_register)(pami_context_t, async_fn, async_fn, async_fn, void *);
static pami_result_t (*async_enable)(pami_context_t, int), (*async_disable)(pami_context_t, int);
static int is_virtual;
static pthread_t main_thread;

enum { ID_ADDRESS = 1, ID_LONG, ID_NUMBER };

/* What others may reach: written by them alone. */
struct window {
	uint64_t counter, let_go;
	unsigned char source[LONG];
};
static struct window window;
static struct window *window_of[16];
static size_t windows;

static void on_address(pami_context_t c, void *cookie, const void *header, size_t header_size,
		       const void *pipe, size_t data_size, pami_endpoint_t origin,
		       pami_recv_t *recv)
{
	pami_task_t task;
	size_t offset;

	PAMI_Endpoint_query(origin, &task, &offset);
	memcpy(&window_of[task], header, sizeof window_of[task]);
	windows++;
}

/* ---- One owner at a time, which is never the program's thread, with all signals blocked ---- */

struct served {
	size_t offset;
	int busy; /* a handler of this context runs */
	uint32_t next[16], got;
	int longs, wrong;
	unsigned char buffer[16][LONG];
};
static struct served served[SERVED];

static void wrong_if(struct served *s, int is, const char *what)
{
	if (is && s->wrong++ < 5)
		fprintf(stderr, "task %zu context %zu: %s\n", me, s->offset, what);
}

static void enter_handler(struct served *s)
{
	sigset_t set;

	wrong_if(s, atomic_exchange_acquire(&s->busy, 1) != 0, "two threads are in its handlers");
	if (is_virtual)
		return;
	pthread_sigmask(SIG_SETMASK, NULL, &set);
	if (!pthread_equal(pthread_self(), main_thread))
		wrong_if(s,
			 !sigismember(&set, SIGINT) || !sigismember(&set, SIGUSR1) ||
			     !sigismember(&set, SIGALRM),
			 "a commthread takes signals");
}

static void leave_handler(struct served *s)
{
	wrong_if(s, atomic_exchange_release(&s->busy, 0) != 1, "another thread left its handler");
}

static void long_here(pami_context_t c, void *cookie, pami_result_t result)
{
	struct served *s = cookie;

	enter_handler(s);
	wrong_if(s, result != PAMI_SUCCESS, "a long message failed");
	atomic_add_fetch_release(&s->longs, 1);
	leave_handler(s);
}

static void on_long(pami_context_t c, void *cookie, const void *header, size_t header_size,
		    const void *pipe, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv)
{
	struct served *s = cookie;
	pami_task_t task;
	size_t offset;

	enter_handler(s);
	wrong_if(s, c != contexts[s->offset] || data_size != LONG,
		 "a long message on another context, or cut");
	PAMI_Endpoint_query(origin, &task, &offset);
	receive_into(recv, s->buffer[task], long_here, s);
	leave_handler(s);
}

static void on_number(pami_context_t c, void *cookie, const void *header, size_t header_size,
		      const void *pipe, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv)
{
	struct served *s = cookie;
	pami_task_t task;
	size_t offset;
	uint32_t n;

	enter_handler(s);
	PAMI_Endpoint_query(origin, &task, &offset);
	memcpy(&n, header, sizeof n);
	wrong_if(s, n != s->next[task],
		 n < s->next[task] ? "a number came again" : "a number is missing");
	s->next[task] = n + 1;
	atomic_add_fetch_release(&s->got, 1);
	leave_handler(s);
}

/* Elsewhere until the word is set: no call into the library, but in virtual time to read the clock.
 */
static void compute_until(uint64_t *word)
{
	volatile double x = 1;

	while (!atomic_load_acquire(word)) {
		x = x * 1.0000001 + 1e-9;
		if (is_virtual)
			PAMI_Wtime(client);
	}
}

/* ---- Task 0 works on each other task while that computes ---- */

static void serve_computing(size_t t)
{
	static unsigned char got[LONG], image[LONG];
	uint64_t one = 1, seen = 0;
	int done = 0, sent = 0;

	fill_pattern(image, 77, LONG);
	for (int i = 0; i < rounds; i++) {
		pami_endpoint_t to = get_endpoint(t, 1 + (size_t)i % SERVED);
		pami_rmw_t r = {.dest = to,
				.cookie = &done,
				.done_fn = flag_done,
				.local = &seen,
				.remote = &window_of[t]->counter,
				.value = &one,
				.operation = PAMI_ATOMIC_FETCH_ADD,
				.type = PAMI_TYPE_UNSIGNED_LONG};
		pami_get_simple_t g = {
		    .rma = {.dest = to, .bytes = LONG, .cookie = &done, .done_fn = flag_done},
		    .addr = {.local = got, .remote = window_of[t]->source}};
		pami_send_t s = {
		    .send = {.dispatch = ID_LONG, .dest = to, .data = {image, LONG}},
		    .events = {.cookie = &sent, .local_fn = flag_done, .remote_fn = flag_done}};

		done = sent = 0;
		CHECK_EQ(PAMI_Rmw(context, &r), PAMI_SUCCESS);
		WAIT(done == 1);
		CHECK_EQ(seen, i);
		memset(got, 0, LONG);
		CHECK_EQ(PAMI_Get(context, &g), PAMI_SUCCESS);
		WAIT(done == 2);
		CHECK_EQ(count_different(got, t, LONG), 0);
		if (i % 2)
			continue;
		CHECK_EQ(PAMI_Send(context, &s), PAMI_SUCCESS);
		WAIT(sent == 2);
	}
}

static void release_task(size_t t)
{
	uint64_t one = 1;
	int done = 0;
	pami_put_simple_t p = {
	    .rma = {.dest = get_endpoint(t, 1), .bytes = 8, .cookie = &done, .done_fn = NULL},
	    .addr = {.local = &one, .remote = &window_of[t]->let_go},
	    .put = {.rdone_fn = flag_done}};

	CHECK_EQ(PAMI_Put(context, &p), PAMI_SUCCESS);
	WAIT(done);
}

static void computing_tasks_are_served(void)
{
	if (me == 0) {
		for (size_t t = 1; t < tasks; t++) {
			serve_computing(t);
			release_task(t);
		}
	} else {
		compute_until(&window.let_go);
		for (int i = 0; i < SERVED; i++) { /* each sixth round sent a long one to each */
			CHECK_EQ(atomic_load_acquire(&served[i].longs), rounds / 6);
			CHECK_EQ(count_different(served[i].buffer[0], 77, LONG), 0);
		}
		CHECK_EQ(atomic_load_acquire(&window.counter), rounds);
	}
	run_barrier();
}

/* ---- Each task to the served contexts of all, while the program's thread now and then advances
 * them ---- */

#define NUMBERS 600

static void messages_keep_their_order(void)
{
	for (uint32_t n = 0; n < NUMBERS; n++) {
		for (size_t t = 0; t < tasks; t++)
			for (size_t o = 0; o < SERVED; o++) {
				pami_send_immediate_t s = {.header = {&n, sizeof n},
							   .dispatch = ID_NUMBER,
							   .dest = get_endpoint(t, 1 + o)};

				CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
			}
		if (n % 3 == 0)
			PAMI_Context_advance(context, 1);
		if (n / 100 % 2) /* phases in which we advance them too */
			PAMI_Context_trylock_advancev(contexts + 1, SERVED, 1);
	}
	for (size_t o = 0; o < SERVED; o++)
		WAIT(atomic_load_acquire(&served[o].got) == NUMBERS * tasks);
	run_barrier();
}

/* ---- Posted work: threads, bursts beyond the array, with the owner kept out for a while ---- */

#define POSTERS 3

struct post {
	pami_work_t work;
	struct served *to;
	uint32_t thread, number;
};
static uint32_t post_next[SERVED][POSTERS];
static uint32_t posts_ran, posts_each = 9000;

static pami_result_t run_posted(pami_context_t c, void *cookie)
{
	struct post *p = cookie;
	struct served *s = p->to;
	uint32_t *next = &post_next[s - served][p->thread];

	enter_handler(s);
	wrong_if(s, c != contexts[s->offset], "work on another context");
	wrong_if(s, p->number != *next, "posted work out of order");
	*next = p->number + 1;
	memset(p->work, 0x55, sizeof p->work);
	leave_handler(s);
	atomic_add_fetch_release(&posts_ran, 1);
	return PAMI_SUCCESS;
}

static void *post_all(void *arg)
{
	struct post *p = arg;

	for (uint32_t i = 0; i < posts_each; i++)
		PAMI_Context_post(contexts[p[i].to->offset], &p[i].work, run_posted, &p[i]);
	return NULL;
}

static void posted_work_keeps_its_order(void)
{
	static struct post *all[POSTERS];
	pthread_t thread[POSTERS];
	uint32_t want = posts_each * POSTERS;

	for (uint32_t t = 0; t < POSTERS; t++) {
		all[t] = calloc(posts_each, sizeof *all[t]);
		for (uint32_t i = 0; i < posts_each; i++) {
			all[t][i].to = &served[i % SERVED];
			all[t][i].thread = t;
			all[t][i].number = i / SERVED;
		}
	}
	CHECK_EQ(PAMI_Context_lock(contexts[1]), PAMI_SUCCESS); /* its queue overflows */
	for (uint32_t t = 0; t < POSTERS; t++)
		pthread_create(&thread[t], NULL, post_all, all[t]);
	for (uint32_t t = 0; t < POSTERS; t++)
		pthread_join(thread[t], NULL);
	CHECK_EQ(PAMI_Context_unlock(contexts[1]), PAMI_SUCCESS);
	while (atomic_load_acquire(&posts_ran) < want) /* by the commthreads alone */
		usleep(200);
	for (int i = 0; i < 50; i++) { /* one by one: a sleeper is woken each time */
		struct post one = {.to = &served[0], .thread = 0, .number = post_next[0][0]};

		if (i % 5 == 0)
			usleep(300);
		PAMI_Context_post(contexts[1], &one.work, run_posted, &one);
		while (atomic_load_acquire(&posts_ran) < want + 1 + (uint32_t)i)
			sched_yield();
	}
	for (uint32_t t = 0; t < POSTERS; t++)
		free(all[t]);
}

/* In virtual time a post is run by the thread that posts, on the commthread's clock. */
static void post_virtual(void)
{
	struct post one = {.to = &served[1]};

	PAMI_Context_post(contexts[2], &one.work, run_posted, &one);
	while (!posts_ran)
		PAMI_Wtime(client);
}

/* ---- Nothing happens: no CPU time. Two thirds of the time is a spin, a tenth is what a tick
 * costs. ---- */

/* A commthread that has just had work polls for PAMI_COMMTHREAD_SLEEP, so a later look counts. */
static void idle_commthreads_sleep(void)
{
	struct timespec a, b;
	double used = 1;

	for (int i = 0; i < 5 && used >= 0.2; i++) {
		usleep(20000); /* what was under way may end; the numbers do not depend on it */
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
		usleep(300000);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
		used = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) * 1e-9;
	}
	CHECK(used < 0.2);
	if (used > 0.01)
		fprintf(stderr, "task %zu: %.1f ms of CPU time in 300 ms of nothing\n", me,
			used * 1e3);
}

/*
 * Switched off by the commthread of another context: its own one calls suspend, last, and never two
 * of the three run at a time.
 */
static uint32_t busy, resumes, advances, suspends, switched_off;

static void resume_fn(pami_context_t c, void *cookie)
{
	CHECK_EQ(atomic_exchange_acq_rel(&busy, 1), 0);
	CHECK_EQ(advances + suspends, 0);
	resumes++;
	atomic_store_release(&busy, 0);
}

static void progress_fn(pami_context_t c, void *cookie)
{
	CHECK_EQ(atomic_exchange_acq_rel(&busy, 1), 0);
	CHECK_EQ(resumes, 1);
	CHECK_EQ(suspends, 0);
	sched_yield();
	atomic_fetch_add_release(&advances, 1);
	atomic_store_release(&busy, 0);
}

static void suspend_fn(pami_context_t c, void *cookie)
{
	CHECK_EQ(atomic_exchange_acq_rel(&busy, 1), 0);
	atomic_store_release(&busy, 0);
	atomic_fetch_add_release(&suspends, 1);
}

static pami_result_t switch_off(pami_context_t c, void *cookie)
{
	CHECK_EQ(async_disable(contexts[2], 0), PAMI_SUCCESS);
	atomic_store_release(&switched_off, 1);
	return PAMI_SUCCESS;
}

static void off_by_another(void)
{
	static pami_work_t work;

	CHECK_EQ(async_register(contexts[2], progress_fn, suspend_fn, resume_fn, NULL),
		 PAMI_SUCCESS);
	CHECK_EQ(async_enable(contexts[2], 0), PAMI_SUCCESS);
	while (!atomic_load_acquire(&advances))
		sched_yield();
	CHECK_EQ(PAMI_Context_post(contexts[1], &work, switch_off, NULL), PAMI_SUCCESS);
	while (!atomic_load_acquire(&switched_off) || !atomic_load_acquire(&suspends))
		sched_yield();
	CHECK_EQ(async_disable(contexts[2], 0), PAMI_SUCCESS);
	CHECK_EQ(suspends, 1);
	CHECK_EQ(async_register(contexts[2], NULL, NULL, NULL, NULL), PAMI_SUCCESS);
}

static void open_async_progress(void)
{
	pami_extension_t e;
	void *mine = &window;

	CHECK_EQ(PAMI_Extension_open(client, "EXT_async_progress", &e), PAMI_SUCCESS);
	*(void **)&async_register = PAMI_Extension_symbol(e, "register");
	*(void **)&async_enable = PAMI_Extension_symbol(e, "enable");
	*(void **)&async_disable = PAMI_Extension_symbol(e, "disable");
	fill_pattern(window.source, me, LONG);
	dispatch_set(context, ID_ADDRESS, on_address, NULL, (pami_dispatch_hint_t){0});
	for (size_t i = 0; i < SERVED; i++) {
		served[i].offset = i + 1;
		dispatch_set(contexts[i + 1], ID_LONG, on_long, &served[i],
			     (pami_dispatch_hint_t){0});
		dispatch_set(contexts[i + 1], ID_NUMBER, on_number, &served[i],
			     (pami_dispatch_hint_t){0});
	}
	/* A context sends the ids it knows. */
	dispatch_set(context, ID_LONG, on_long, &served[0], (pami_dispatch_hint_t){0});
	dispatch_set(context, ID_NUMBER, on_number, &served[0], (pami_dispatch_hint_t){0});
	for (size_t t = 0; t < tasks; t++) {
		pami_send_immediate_t m = {.header = {&mine, sizeof mine},
					   .dispatch = ID_ADDRESS,
					   .dest = get_endpoint(t, 0)};

		CHECK_EQ(PAMI_Send_immediate(context, &m), PAMI_SUCCESS);
	}
	WAIT(windows == tasks);
	for (size_t i = 1; i <= SERVED; i++) {
		CHECK_EQ(async_register(contexts[i], NULL, NULL, NULL, NULL), PAMI_SUCCESS);
		CHECK_EQ(async_enable(contexts[i], 0), PAMI_SUCCESS);
	}
	run_barrier();
}

int main(int argc, char **argv)
{
	const char *most = getenv("PAMI_MAX_COMMTHREADS");

	is_virtual = argc > 1 && !strcmp(argv[1], "virtual");
	rounds = is_virtual ? 6 : 30;
	main_thread = pthread_self();
	job_begin(CONTEXTS);
	if (most && !strcmp(most, "0")) {
		pami_extension_t e;

		CHECK_EQ(PAMI_Extension_open(client, "EXT_async_progress", &e), PAMI_SUCCESS);
		*(void **)&async_enable = PAMI_Extension_symbol(e, "enable");
		CHECK_EQ(async_enable(contexts[1], 0), PAMI_ERROR);
		return job_end(CONTEXTS);
	}
	open_async_progress();
	computing_tasks_are_served();
	messages_keep_their_order();
	if (is_virtual) {
		post_virtual();
	} else {
		posted_work_keeps_its_order();
		idle_commthreads_sleep();
	}
	run_barrier();
	for (size_t i = 0; i < SERVED; i++) {
		PAMI_Context_lock(contexts[i + 1]); /* what the commthread wrote, in order */
		CHECK_EQ(served[i].wrong, 0);
		PAMI_Context_unlock(contexts[i + 1]);
	}
	/* Off and on; left on: destroying the context ends it. */
	CHECK_EQ(async_disable(contexts[1], 0), PAMI_SUCCESS);
	CHECK_EQ(async_disable(contexts[1], 0), PAMI_SUCCESS);
	CHECK_EQ(async_enable(contexts[1], 0), PAMI_SUCCESS);
	CHECK_EQ(async_disable(contexts[2], 0), PAMI_SUCCESS);
	if (!is_virtual)
		off_by_another();
	run_barrier();
	return job_end(CONTEXTS);
}
