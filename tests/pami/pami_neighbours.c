/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large puts to different neighbours do not wait for each other: a short put that is started behind
 * a long one to another task completes first, and so does a message. Puts and messages to one task
 * stay in order. Gets by different neighbours do not wait for each other either: a short one that
 * reaches the target behind a long one of another task is answered while that is under way, and a
 * later one of the same task follows the long one. The tasks are not near each other.
 */
#include "tests/harness/pami_job.h"

#define LONG     ((size_t)64 << 20)
#define SHORT    4096
#define ATTEMPTS 5 /* the machine may stop this process between the two calls */

enum { ID_CARD = 1, ID_MARK, ID_LONG_BEGUN, ID_GO, ID_SHORT_DONE };

static unsigned char *mine, *from;
static unsigned char *base_of[64];
static unsigned cards, marks, marked_early;
static unsigned order; /* completions so far */
static unsigned go, shorts, shorts_early;
static bool is_virtual;

struct put {
	unsigned local, remote; /* place in the order of completions; 0: not yet */
};

static void local_fn(pami_context_t c, void *cookie, pami_result_t result)
{
	CHECK_EQ(result, PAMI_SUCCESS);
	((struct put *)cookie)->local = ++order;
}

static void remote_fn(pami_context_t c, void *cookie, pami_result_t result)
{
	CHECK_EQ(result, PAMI_SUCCESS);
	((struct put *)cookie)->remote = ++order;
}

static void on_card(pami_context_t c, void *cookie, const void *header, size_t header_size,
		    const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	uint64_t card[2];

	memcpy(card, header, sizeof card);
	base_of[card[0]] = (unsigned char *)(uintptr_t)card[1];
	cards++;
}

/* The message went behind a long put to this task, whose last byte is its number. */
static void on_mark(pami_context_t c, void *cookie, const void *header, size_t header_size,
		    const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	unsigned char number;

	memcpy(&number, header, 1);
	marked_early += ((volatile unsigned char *)mine)[LONG - 1] != number;
	marks++;
}

/* At task 0, behind the request of task 1's long get: task 2 may begin. */
static void on_long_begun(pami_context_t c, void *cookie, const void *header, size_t header_size,
			  const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	pami_send_immediate_t s = {
	    .header = {&go, 1}, .dispatch = ID_GO, .dest = get_endpoint(2, 0)};

	CHECK_EQ(PAMI_Send_immediate(c, &s), PAMI_SUCCESS);
}

static void on_go(pami_context_t c, void *cookie, const void *header, size_t header_size,
		  const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	go++;
}

/* At task 1: task 2 has its data. Half of the long get is more than the wires hold. */
static void on_short_done(pami_context_t c, void *cookie, const void *header, size_t header_size,
			  const void *pipe, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	shorts_early += !((volatile unsigned char *)mine)[LONG / 2];
	shorts++;
}

static void send_header(size_t to, size_t id, const void *header, size_t bytes)
{
	pami_send_immediate_t s = {.header = {(void *)(uintptr_t)header, bytes},
				   .dispatch = id,
				   .dest = get_endpoint(to, 0)};

	CHECK_EQ(PAMI_Send_immediate(context, &s), PAMI_SUCCESS);
}

static void start_put(struct put *put, size_t to, size_t at, size_t bytes)
{
	pami_put_simple_t p = {.rma = {.dest = get_endpoint(to, 0),
				       .bytes = bytes,
				       .cookie = put,
				       .done_fn = local_fn},
			       .addr = {from + at, base_of[to] + at},
			       .put = {remote_fn}};

	*put = (struct put){0};
	CHECK_EQ(PAMI_Put(context, &p), PAMI_SUCCESS);
}

/* True if the short put to task 2 overtook the long one to task 1. */
static bool has_overtaken(unsigned char number)
{
	struct put first, second, third;

	from[LONG - 1] = number;
	order = 0;
	start_put(&first, 1, 0, LONG);
	start_put(&second, 2, 0, SHORT);
	start_put(&third, 1, 0, SHORT); /* stays behind the first */
	send_header(1, ID_MARK, &number, 1);
	WAIT(first.remote && second.remote && third.remote);
	CHECK(first.local && second.local && third.local);
	CHECK(first.local < third.local);
	CHECK(first.remote < third.remote);
	/* In virtual time software learns of local completions in the order of the FIFO. */
	return is_virtual ? second.remote < first.remote : second.local < first.local;
}

static void start_get(struct put *get, size_t at, size_t bytes)
{
	pami_get_simple_t g = {
	    .rma = {.dest = get_endpoint(0, 0), .bytes = bytes, .cookie = get, .done_fn = local_fn},
	    .addr = {mine + at, base_of[0] + at}};

	*get = (struct put){0};
	CHECK_EQ(PAMI_Get(context, &g), PAMI_SUCCESS);
}

/* Task 0 has the data; tasks 1 and 2 get it. */
static void get_beside_long_one(unsigned round)
{
	struct put first, second;

	if (me == 1) {
		memset(mine, 0, LONG);
		start_get(&first, 0, LONG);
		start_get(&second, 0, SHORT); /* its answer follows the first's */
		send_header(0, ID_LONG_BEGUN, &round, 1);
		WAIT(first.local && second.local && shorts == round);
		CHECK(first.local < second.local);
		CHECK_EQ(count_different(mine, 2, LONG), 0);
	} else if (me == 2) {
		memset(mine, 0, SHORT);
		WAIT(go == round);
		start_get(&first, 0, SHORT);
		WAIT(first.local);
		CHECK_EQ(count_different(mine, 2, SHORT), 0);
		send_header(1, ID_SHORT_DONE, &round, 1);
	}
	run_barrier();
}

int main(int argc, char **argv)
{
	bool overtaken = false;
	uint64_t card[2];

	is_virtual = argc > 1;
	job_begin(1);
	mine = malloc(LONG);
	from = malloc(LONG);
	REQUIRE(mine && from && tasks == 3);
	memset(mine, 0, LONG);
	fill_pattern(from, 1, LONG);
	dispatch_set(context, ID_CARD, on_card, NULL, (pami_dispatch_hint_t){0});
	dispatch_set(context, ID_MARK, on_mark, NULL, (pami_dispatch_hint_t){0});
	dispatch_set(context, ID_LONG_BEGUN, on_long_begun, NULL, (pami_dispatch_hint_t){0});
	dispatch_set(context, ID_GO, on_go, NULL, (pami_dispatch_hint_t){0});
	dispatch_set(context, ID_SHORT_DONE, on_short_done, NULL, (pami_dispatch_hint_t){0});
	run_barrier();
	card[0] = me;
	card[1] = (uintptr_t)mine;
	for (size_t i = 0; i < tasks; i++)
		send_header(i, ID_CARD, card, sizeof card);
	WAIT(cards == tasks);
	run_barrier();
	for (unsigned i = 1; me == 0 && i <= ATTEMPTS; i++)
		overtaken |= has_overtaken((unsigned char)i);
	if (me == 0)
		CHECK(overtaken);
	if (me == 1)
		WAIT(marks == ATTEMPTS);
	run_barrier();
	CHECK_EQ(marked_early, 0);
	if (me) {
		CHECK_EQ(count_different(mine, 1, SHORT), 0);
		CHECK_EQ(count_different(mine, 1, me == 1 ? LONG - 1 : SHORT), 0);
	}
	if (me == 0)
		fill_pattern(mine, 2, LONG);
	run_barrier();
	for (unsigned i = 1; i <= ATTEMPTS; i++)
		get_beside_long_one(i);
	if (me == 1)
		CHECK(shorts_early);
	free(mine);
	free(from);
	return job_end(1);
}
