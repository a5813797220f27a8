/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual time: what a commthread's wakeup costs (commthread_wakeup in mu/vtime/cost.def).
 * Context 1 of task 0 has asynchronous progress. Task 1 sends to it, and task 0 posts to it, some
 * time after the last work there. Task 0 prints, for each, how often a wakeup is part of it and how
 * long it took, in nanoseconds; virt_wakeup.sh compares jobs with different costs. The argument
 * says how task 0 waits.
 */
#include "pami/ext_virtual.h"
#include "tests/harness/pami_job.h"

#define ID        1
#define ID_ANSWER 2
#define SERIES    10

/* A message says when it was sent. */
enum { MESSAGES = 3 + SERIES };
static double sent[MESSAGES], handled[MESSAGES];
static int received, answers;

static pami_work_t work;
static double posted_at, worked_at;
static int again; /* the work asks so many times to be called again */

static pami_quintorus_virtual_spend_fn spend;

static void on_message(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
		       const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	pami_send_immediate_t answer = {.dispatch = ID_ANSWER, .dest = get_endpoint(1, 0)};

	memcpy(&sent[received], header, sizeof sent[0]);
	handled[received] = PAMI_Wtime(client);
	CHECK_EQ(PAMI_Send_immediate(c, &answer), PAMI_SUCCESS);
	atomic_store_release(&received, received + 1);
}

static void on_answer(pami_context_t c, void *cookie, const void *header, size_t header_bytes,
		      const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	answers++;
}

static void wait_until(double time)
{
	while (PAMI_Wtime(client) < time)
		;
}

static void send_at(double time)
{
	double now;
	pami_send_immediate_t s = {
	    .dispatch = ID, .dest = get_endpoint(0, 1), .header = {&now, sizeof now}};

	wait_until(time);
	now = PAMI_Wtime(client);
	CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
}

static void print_row(const char *what, int wakeups, double from, double to)
{
	printf("%s %d %.3f\n", what, wakeups, (to - from) * 1e9);
}

/*
 * 10 polls in vain are 600 ns. The series has its messages 5 us apart: the commthread sleeps for
 * less than 20 us each time, so it makes 10, 20 and 40 polls before it sleeps, and then 80, which
 * are more than it needs.
 */
static void send_messages(void)
{
	double start = PAMI_Wtime(client) + 50e-6;

	send_at(start);
	send_at(start + 1.2e-6);
	send_at(start + 5e-6);
	for (int i = 0; i < SERIES; i++)
		send_at(start + 100e-6 + i * 5e-6);
	WAIT(answers == MESSAGES);
}

static void receive_messages(int how)
{
	static const int series[SERIES] = {1, 1, 1, 1};

	if (how == 's') /* no call: the stand-in thread serves */
		while (atomic_load_acquire(&received) < MESSAGES)
			;
	else if (how ==
		 'c') /* calls that find nothing for the commthread keep it awake no longer */
		while (received < MESSAGES)
			PAMI_Wtime(client);
	else
		WAIT(received == MESSAGES);
	print_row("message-after-a-gap", 1, sent[0], handled[0]);
	print_row("message-right-behind", 0, sent[1], handled[1]);
	print_row("message-soon-behind", 1, sent[2], handled[2]);
	for (int i = 0; i < SERIES; i++)
		print_row("series", series[i], sent[3 + i], handled[3 + i]);
}

static pami_result_t on_work(pami_context_t c, void *cookie)
{
	if (again) {
		again--;
		return PAMI_EAGAIN;
	}
	worked_at = PAMI_Wtime(client);
	return PAMI_SUCCESS;
}

/* Post, and see when that ends and when the work begins. */
static void post_once(const char *what, int wakeups)
{
	double returned;

	posted_at = PAMI_Wtime(client);
	worked_at = 0;
	CHECK_EQ(PAMI_Context_post(contexts[1], &work, on_work, NULL), PAMI_SUCCESS);
	returned = PAMI_Wtime(client);
	print_row(what, wakeups, posted_at, worked_at);
	print_row("the-post-itself", 0, posted_at, returned);
}

static void post_work(void (*set_pace)(int64_t ns))
{
	spend(100000000);
	post_once("post-after-a-gap", 1);
	spend(400000);
	post_once("post-right-behind", 0);
	spend(100000000);
	post_once("post-after-another-gap", 1);

	/* Work that asks to be called again keeps the commthread awake, however long that takes. */
	spend(100000000);
	again = 1;
	CHECK_EQ(PAMI_Context_post(contexts[1], &work, on_work, NULL), PAMI_SUCCESS);
	CHECK_EQ(again, 0);
	spend(100000000);
	posted_at = PAMI_Wtime(client);
	print_row("work-again", 0, posted_at, worked_at);

	set_pace(0); /* it never sleeps */
	spend(100000000);
	post_once("post-to-one-that-spins", 0);
	set_pace(-1);
	spend(100000000);
	post_once("post-to-one-that-sleeps", 1);
}

int main(int argc, char **argv)
{
	pami_result_t (*enable)(pami_context_t, int);
	pami_result_t (*enter)(pami_context_t, void *, void *, void *, void *);
	void (*set_pace)(int64_t ns);
	pami_extension_t e;

	job_begin(2);
	for (size_t i = 0; i < 2; i++) {
		dispatch_set(contexts[i], ID, on_message, NULL, (pami_dispatch_hint_t){0});
		dispatch_set(contexts[i], ID_ANSWER, on_answer, NULL, (pami_dispatch_hint_t){0});
	}
	CHECK_EQ(PAMI_Extension_open(client, PAMI_EXT_QUINTORUS_VIRTUAL, &e), PAMI_SUCCESS);
	*(void **)&spend = PAMI_Extension_symbol(e, "spend");
	CHECK_EQ(PAMI_Extension_open(client, "EXT_async_progress", &e), PAMI_SUCCESS);
	*(void **)&enter = PAMI_Extension_symbol(e, "register");
	*(void **)&enable = PAMI_Extension_symbol(e, "enable");
	*(void **)&set_pace = PAMI_Extension_symbol(e, "pace");
	if (me == 0) {
		spend(100000000);
		CHECK_EQ(enter(contexts[1], NULL, NULL, NULL, NULL), PAMI_SUCCESS);
		CHECK_EQ(enable(contexts[1], 0), PAMI_SUCCESS);
		post_once("post-to-one-that-has-just-begun", 0);
	}
	run_barrier();
	if (me == 1)
		send_messages();
	else
		receive_messages(argc > 1 ? argv[1][0] : 'p');
	run_barrier();
	if (me == 0)
		post_work(set_pace);
	run_barrier();
	return job_end(2);
}
