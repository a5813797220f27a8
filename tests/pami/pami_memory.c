/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory runs out now and then, in any call of the library: what is refused was not begun, what was
 * begun comes or ends with an error, each callback once, the others in order, and nothing hangs.
 * QT_SEED repeats a run's choices; one task, or two. The sanitizers have an allocator of their own:
 * with them nothing is refused.
 */
#include <errno.h>
#include <unistd.h>

#include "tests/harness/pami_job.h"

enum { ONCE_IN_FOUR = 1, ALWAYS };

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
static int short_of_memory;
#else
static __thread int short_of_memory __attribute__((tls_model("initial-exec")));
static struct drv_rng chance;
static uint64_t denied;

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);

static int is_refused(void)
{
	if (!short_of_memory || (short_of_memory == ONCE_IN_FOUR && drv_rng_below(&chance, 4)))
		return 0;
	denied++;
	errno = ENOMEM;
	return 1;
}

__attribute__((visibility("default"))) void *malloc(size_t bytes)
{
	return is_refused() ? NULL : __libc_malloc(bytes);
}

__attribute__((visibility("default"))) void *calloc(size_t n, size_t bytes)
{
	return is_refused() ? NULL : __libc_calloc(n, bytes);
}
#endif

enum {
	ID_NUMBER = 1,
	ID_ASYNC,
	ID_END,
	ID_LATE,
	ID_FILL,
	MANY = 3000,
	LONGEST = 30000,
	HELD = 200
};

static const size_t sizes[] = {0, 40, 500, 1000, 3000, 8000, 9000, LONGEST};

struct sent {
	uint32_t number;
	uint8_t accepted, wants_remote, local, remote, failed;
};
static struct sent sent[MANY];
static unsigned char payload[LONGEST], *landing; /* [MANY][LONGEST], touched where used */
static uint32_t next_number;
static unsigned char arrived[MANY], stored[MANY];

static void on_local(pami_context_t c, void *cookie, pami_result_t result)
{
	struct sent *s = cookie;

	CHECK(s->accepted && !s->local++);
	s->failed |= result != PAMI_SUCCESS;
}

static void on_remote(pami_context_t c, void *cookie, pami_result_t result)
{
	struct sent *s = cookie;

	CHECK(s->local && s->wants_remote && !s->remote++);
	s->failed |= result != PAMI_SUCCESS;
}

static void on_stored(pami_context_t c, void *cookie, pami_result_t result)
{
	size_t number = (size_t)((unsigned char *)cookie - arrived);

	CHECK(result == PAMI_SUCCESS || result == PAMI_ENOMEM);
	if (result == PAMI_SUCCESS) {
		stored[number]++;
		CHECK_EQ(count_different(landing + number * LONGEST, 3, sizes[number % 8]), 0);
	}
}

static void on_number(pami_context_t c, void *cookie, const void *header, size_t header_size,
		      const void *pipe, size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	uint32_t number;

	memcpy(&number, header, 4);
	CHECK(number >= next_number && number < MANY);
	CHECK_EQ(n, sizes[number % 8]);
	next_number = number + 1;
	arrived[number]++;
	if (!recv) {
		CHECK_EQ(count_different(pipe, 3, n), 0);
		stored[number]++;
		return;
	}
	recv->addr = landing + (size_t)number * LONGEST;
	recv->cookie = &arrived[number];
	recv->local_fn = on_stored;
}

static int ended;

/* Our partner is through; what it sends from now on, of a collective, finds memory. */
static void on_end(pami_context_t c, void *cookie, const void *header, size_t header_size,
		   const void *pipe, size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	ended = 1;
	short_of_memory = 0;
}

static void advance_short(int count)
{
	for (int i = 0; i < count; i++) {
		short_of_memory = ended ? 0 : ONCE_IN_FOUR;
		PAMI_Context_advance(contexts[0], 1);
		short_of_memory = ended ? 0 : ONCE_IN_FOUR;
		PAMI_Context_advance(contexts[1], 1);
		short_of_memory = 0;
	}
}

static int under_way(void)
{
	int n = 0;

	for (int i = 0; i < MANY; i++)
		n += sent[i].accepted &&
		     (!sent[i].local || (sent[i].wants_remote && !sent[i].remote));
	return n;
}

static int late, late_done, filled;

static void on_late(pami_context_t c, void *cookie, const void *header, size_t header_size,
		    const void *pipe, size_t n, pami_endpoint_t origin, pami_recv_t *recv)
{
	++*(int *)cookie;
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { FILLS = 100 }; /* nothing is refused there */
#else
enum { FILLS = 100000 };
#endif

/*
 * More messages are held than answers have places of their own, and when their id is set neither
 * memory nor a place to send from is there: each sender is told all the same, later. One task, so
 * the answers have nowhere to go until contexts[0] is advanced.
 */
static void held_answers(void)
{
	pami_endpoint_t to = get_endpoint((me + 1) % tasks, 1),
			back = get_endpoint((me + 1) % tasks, 0);
	pami_send_immediate_t fill_up = {.dispatch = ID_FILL, .dest = back};
	int fills = 0;

	for (int c = 0; c < 2; c++)
		dispatch_set(contexts[c], ID_FILL, on_late, &filled, (pami_dispatch_hint_t){0});
	dispatch_set(contexts[0], ID_LATE, on_late, &late, (pami_dispatch_hint_t){0});
	for (int i = 0; i < HELD; i++) {
		pami_send_t p = {.send = {.dispatch = ID_LATE, .dest = to},
				 .events = {&late_done, NULL, flag_done}};

		CHECK_EQ(PAMI_Send(contexts[0], &p), PAMI_SUCCESS);
	}
	for (int i = 0; i < 1000; i++)
		PAMI_Context_advance(contexts[1], 1);
	short_of_memory = ALWAYS;
	while (fills < FILLS && PAMI_Send_immediate(contexts[1], &fill_up) == PAMI_SUCCESS)
		fills++;
	CHECK_EQ(late, 0);
	dispatch_set(contexts[1], ID_LATE, on_late, &late, (pami_dispatch_hint_t){0});
	for (int i = 0; i < 10; i++)
		PAMI_Context_advance(contexts[1], 1);
	short_of_memory = 0;
	while (late_done < HELD || late < HELD || filled < fills) {
		PAMI_Context_advance(contexts[0], 1);
		PAMI_Context_advance(contexts[1], 1);
	}
	CHECK_EQ(late_done, HELD);
	CHECK_EQ(late, HELD);
}

/*
 * The engine thread has stored more messages than answers have places of their own. One poll may
 * not dispatch them all while neither memory nor a place to send from is there. One task, as above.
 */
static void stored_answers(void)
{
	pami_endpoint_t to = get_endpoint(me, 1), back = get_endpoint(me, 0);
	pami_send_immediate_t fill_up = {.dispatch = ID_FILL, .dest = back};
	int fills = 0;

	late = late_done = filled = 0;
	for (int i = 0; i < HELD; i++) {
		pami_send_t p = {.send = {.dispatch = ID_LATE, .dest = to},
				 .events = {&late_done, NULL, flag_done}};

		CHECK_EQ(PAMI_Send(contexts[0], &p), PAMI_SUCCESS);
	}
	usleep(50000); /* the engine thread stores them */
	short_of_memory = ALWAYS;
	while (fills < FILLS && PAMI_Send_immediate(contexts[1], &fill_up) == PAMI_SUCCESS)
		fills++;
	for (int i = 0; i < 10; i++)
		PAMI_Context_advance(contexts[1], 1);
	short_of_memory = 0;
	while (late_done < HELD || late < HELD || filled < fills) {
		PAMI_Context_advance(contexts[0], 1);
		PAMI_Context_advance(contexts[1], 1);
	}
	CHECK_EQ(late_done, HELD);
	CHECK_EQ(late, HELD);
}

/* contexts[1] may still owe others its answers. */
static void barrier_of_both(void)
{
	int done = 0;
	pami_xfer_t x = {
	    .algorithm = get_algorithm(PAMI_XFER_BARRIER), .cb_done = flag_done, .cookie = &done};

	CHECK_EQ(PAMI_Collective(context, &x), PAMI_SUCCESS);
	while (!done) {
		PAMI_Context_advance(contexts[0], 1);
		PAMI_Context_advance(contexts[1], 1);
	}
}

int main(void)
{
	struct drv_rng rng;
	const char *text = getenv("QT_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : 1;
	unsigned refused = 0, failed = 0, lost = 0;

	job_begin(2);
	drv_rng_seed(&rng, seed * 100 + me);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
	drv_rng_seed(&chance, seed * 100 + me + 50);
#endif
	landing = malloc((size_t)MANY * LONGEST);
	fill_pattern(payload, 3, LONGEST);
	for (int c = 0; c < 2; c++) {
		dispatch_set(contexts[c], ID_NUMBER, on_number, NULL, (pami_dispatch_hint_t){0});
		dispatch_set(contexts[c], ID_ASYNC, on_number, NULL,
			     (pami_dispatch_hint_t){.recv_immediate = PAMI_HINT_DISABLE});
	}
	dispatch_set(contexts[0], ID_END, on_end, NULL, (pami_dispatch_hint_t){0});
	if (tasks == 1) { /* of another task some might come when there is no memory to hold them */
		held_answers();
		stored_answers();
	}
	barrier_of_both();
	for (uint32_t i = 0; i < MANY; i++) {
		struct sent *s = &sent[i];
		pami_send_t p = {.send = {.header = {&s->number, 4},
					  .data = {payload, sizes[i % 8]},
					  .dispatch = drv_rng_below(&rng, 2) ? ID_NUMBER : ID_ASYNC,
					  .dest = get_endpoint((me + 1) % tasks, 1)}};
		pami_result_t result;

		s->number = i;
		s->wants_remote = (uint8_t)drv_rng_below(&rng, 2);
		s->accepted = 1;
		p.events = (pami_send_event_t){s, on_local, s->wants_remote ? on_remote : NULL};
		short_of_memory = ended ? 0 : ONCE_IN_FOUR;
		result = PAMI_Send(contexts[0], &p);
		short_of_memory = 0;
		CHECK(result == PAMI_SUCCESS || result == PAMI_ENOMEM);
		s->accepted = result == PAMI_SUCCESS;
		refused += !s->accepted;
		if (!drv_rng_below(&rng, 300))
			advance_short(20);
	}
	while (under_way())
		advance_short(1);
	pami_send_immediate_t end = {.dispatch = ID_END, .dest = get_endpoint((me + 1) % tasks, 0)};
	CHECK_EQ(PAMI_Send_immediate(contexts[0], &end), PAMI_SUCCESS);
	while (!ended)
		advance_short(1);
	barrier_of_both();
	for (int i = 0; i < MANY; i++) {
		CHECK(arrived[i] <= 1 && stored[i] <= arrived[i]);
		failed += sent[i].failed;
		if (tasks == 1) { /* both sides are this task */
			if (!sent[i].accepted)
				CHECK_EQ(arrived[i], 0);
			else if (sent[i].wants_remote)
				CHECK_EQ(stored[i], !sent[i].failed);
			lost += sent[i].accepted && !stored[i];
		}
	}
	if (job_long())
		printf("task %zu: %u refused, %u failed, %u not stored\n", me, refused, failed,
		       lost);
	if (check_failures)
		fprintf(stderr, "task %zu: QT_SEED=%llu repeats the choices\n", me,
			(unsigned long long)seed);
	free(landing);
	return job_end(2);
}
