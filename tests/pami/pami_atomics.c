/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomics that the target's MU carries out (torus run --hw mu_atomics): a target that makes no
 * call, many tasks on one word, more in flight than the channel has entries, a word that is not
 * mapped, and what each level of the machine has. Run as jobs by pami_job.sh; QT_LEVEL names the
 * level. tests/pami/pami_rdma.c checks each operation.
 */
#include "pami/ext_atomics.h"
#include <sys/mman.h>

#include "drivers/base/atomic.h"
#include "tests/harness/pami_job.h"

enum { MANY = 1500, ROUNDS = 200, WORDS = 5 };
/* Each one costs the spinning target 2 ms of CPU time in virtual time. */
enum { SPIN_ROUNDS = 20 };

/* In private memory, which PAMI_Rmw() cannot reach otherwise. */
static uint64_t word[WORDS] __attribute__((aligned(64)));
static uint64_t *word_of[JOB_TASKS_MAX];
static void *hole_of[JOB_TASKS_MAX];

static void start_rmw(size_t task, uint64_t *at, pami_atomic_t op, uint64_t value, uint64_t *old,
		      pami_event_function fn, int *done)
{
	pami_rmw_t r = {.dest = get_endpoint(task, 0),
			.cookie = done,
			.done_fn = fn,
			.local = old,
			.remote = at,
			.value = &value,
			.operation = op,
			.type = PAMI_TYPE_UNSIGNED_LONG_LONG};

	CHECK_EQ(PAMI_Rmw(context, &r), PAMI_SUCCESS);
}

static uint64_t fetch_add(size_t task, uint64_t *at, uint64_t value)
{
	uint64_t old = 0;
	int done = 0;

	start_rmw(task, at, PAMI_ATOMIC_FETCH_ADD, value, &old, flag_done, &done);
	WAIT(done);
	return old;
}

/* Task 0 makes no call until the others have counted on its word. */
static void target_that_makes_no_call(void)
{
	uint64_t last = 0;

	if (!me) {
		while (atomic_load_acquire(&word[0]) < SPIN_ROUNDS * (tasks - 1))
			;
		return;
	}
	for (int i = 0; i < SPIN_ROUNDS; i++) {
		uint64_t old = fetch_add(0, word_of[0], 1);

		CHECK(i == 0 || old > last);
		last = old;
	}
}

/* Every task on a word of every task, its own included: each old value comes once. */
static void many_tasks(void)
{
	for (size_t t = 0; t < tasks; t++) {
		uint64_t sum = 0, all[JOB_TASKS_MAX];

		for (int i = 0; i < ROUNDS; i++)
			sum += fetch_add(t, word_of[t] + 1, 1);
		gather_from_all(&sum, all, sizeof sum);
		sum = 0;
		for (size_t k = 0; k < tasks; k++)
			sum += all[k];
		CHECK_EQ(sum, (uint64_t)ROUNDS * tasks * (ROUNDS * tasks - 1) / 2);
	}
	CHECK_EQ(atomic_load_acquire(&word[1]), ROUNDS * tasks);
}

/* More at once than the channel has entries for answers; those of one pair take effect in order. */
static void more_than_fit(void)
{
	static uint64_t old[MANY];
	size_t t = (me + 1) % tasks;
	int done = 0;

	for (int i = 0; i < MANY; i++)
		start_rmw(t, word_of[t] + 2, PAMI_ATOMIC_FETCH_ADD, 1, &old[i], flag_done, &done);
	WAIT(done == MANY);
	for (uint64_t i = 0; i < MANY; i++)
		CHECK_EQ(old[i], i);
	run_barrier();
	CHECK_EQ(atomic_load_acquire(&word[2]), MANY);
}

static void note_error(pami_context_t c, void *cookie, pami_result_t result)
{
	*(int *)cookie = result == PAMI_SUCCESS ? -1 : 1;
}

/* The word does not exist: an error; what follows works. */
static void word_not_mapped(void)
{
	size_t t = (me + 1) % tasks;
	uint64_t old = 5;
	int done = 0;

	start_rmw(t, hole_of[t], PAMI_ATOMIC_FETCH_ADD, 1, &old, note_error, &done);
	WAIT(done);
	CHECK_EQ(done, 1);
	CHECK_EQ(old, 5);
	CHECK_EQ(fetch_add(t, word_of[t] + 3, 7), 0);
	run_barrier();
	CHECK_EQ(atomic_load_acquire(&word[3]), 7);
}

/* A set that is counted: every old value is there once the count is complete, no function is called
 * but for what fails, and what the units do not have is refused. */
static void counted_set(const char *level)
{
	static uint64_t old[MANY];
	pami_quintorus_count_atomic_fn count_atomic;
	size_t t = (me + 1) % tasks;
	uint64_t one = 1, count = 0;
	int failures = 0;
	pami_extension_t e;
	pami_rmw_t r = {.dest = get_endpoint(t, 0),
			.cookie = &failures,
			.done_fn = note_error,
			.remote = word_of[t] + 4,
			.value = &one,
			.operation = PAMI_ATOMIC_FETCH_ADD,
			.type = PAMI_TYPE_UNSIGNED_LONG_LONG};

	CHECK_EQ(PAMI_Extension_open(client, PAMI_EXT_QUINTORUS_ATOMICS, &e), PAMI_SUCCESS);
	count_atomic = (pami_quintorus_count_atomic_fn)PAMI_Extension_symbol(e, "count");
	PAMI_Extension_close(e);
	r.local = old;
	CHECK_EQ(count_atomic(context, &r, NULL), PAMI_INVAL);
	if (!strcmp(level, "off")) {
		CHECK_EQ(count_atomic(context, &r, &count), PAMI_INVAL);
		CHECK_EQ(count, 0);
		return;
	}
	for (int i = 0; i < MANY; i++) {
		r.local = &old[i];
		CHECK_EQ(count_atomic(context, &r, &count), PAMI_SUCCESS);
	}
	WAIT(count == MANY);
	for (uint64_t i = 0; i < MANY; i++)
		CHECK_EQ(old[i], i);
	CHECK_EQ(failures, 0);
	r.remote = hole_of[t];
	CHECK_EQ(count_atomic(context, &r, &count), PAMI_SUCCESS);
	WAIT(failures);
	CHECK_EQ(failures, 1);
	CHECK_EQ(count, MANY);
	run_barrier();
	CHECK_EQ(atomic_load_acquire(&word[4]), MANY);
}

/* What the extension says of each level. */
static void check_levels(const char *level)
{
	pami_quintorus_has_atomic_fn has;
	pami_extension_t e;
	int chip = strcmp(level, "off") != 0, full = !strcmp(level, "full");

	CHECK_EQ(PAMI_Extension_open(client, PAMI_EXT_QUINTORUS_ATOMICS, &e), PAMI_SUCCESS);
	has = (pami_quintorus_has_atomic_fn)PAMI_Extension_symbol(e, "has");
	CHECK_EQ(has(PAMI_ATOMIC_FETCH_ADD, PAMI_TYPE_UNSIGNED_LONG, 1), chip);
	CHECK_EQ(has(PAMI_ATOMIC_FETCH, PAMI_TYPE_UNSIGNED_LONG, 0), chip);
	CHECK_EQ(has(PAMI_ATOMIC_ADD, PAMI_TYPE_UNSIGNED_LONG, 12), chip);
	CHECK_EQ(has(PAMI_ATOMIC_XOR, PAMI_TYPE_UNSIGNED_LONG, 12), chip);
	CHECK_EQ(has(PAMI_ATOMIC_FETCH_ADD, PAMI_TYPE_UNSIGNED_LONG, 12), full);
	CHECK_EQ(has(PAMI_ATOMIC_FETCH_ADD, PAMI_TYPE_UNSIGNED_INT, 1), full);
	CHECK_EQ(has(PAMI_ATOMIC_AND, PAMI_TYPE_UNSIGNED_LONG, 12), full);
	CHECK_EQ(has(PAMI_ATOMIC_FETCH_COMPARE_SET, PAMI_TYPE_UNSIGNED_LONG, 12), full);
	CHECK_EQ(has(PAMI_ATOMIC_FETCH_ADD, PAMI_TYPE_DOUBLE, 1), 0);
	CHECK_EQ(has((pami_atomic_t)0x18, PAMI_TYPE_UNSIGNED_LONG, 1), 0);
	PAMI_Extension_close(e);
}

int main(void)
{
	const char *level = getenv("QT_LEVEL") ? getenv("QT_LEVEL") : "off";
	void *hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t *own = word;

	job_begin(1);
	check_levels(level);
	gather_from_all(&own, word_of, sizeof own);
	gather_from_all(&hole, hole_of, sizeof hole);
	if (strcmp(level, "off"))
		target_that_makes_no_call();
	run_barrier();
	many_tasks();
	run_barrier();
	more_than_fit();
	word_not_mapped();
	counted_set(level);
	return job_end(1);
}
