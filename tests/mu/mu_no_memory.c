/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A target without memory for a list behind its remote-get FIFO: the gets of others that name
 * memory which is not there end with an error all the same, each of them. The sanitizers have an
 * allocator of their own: with them nothing is refused.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>

#include "mu/process.h"
#include "tests/harness/mu_job.h"

enum { TASKS = 8, GETS = 500, LONG = 4 << 20 };

static atomic_u32 is_short, denied;

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
void *__libc_memalign(size_t alignment, size_t bytes);

__attribute__((visibility("default"))) void *aligned_alloc(size_t alignment, size_t bytes)
{
	if (!atomic_load_relaxed(&is_short))
		return __libc_memalign(alignment, bytes);
	atomic_fetch_add_relaxed(&denied, 1);
	return NULL;
}
#endif

/* What all tasks share. */
static struct shared {
	uint64_t good, missing;
	atomic_u32 ready, done;
} * shared;

struct get {
	struct mu_op op;
	int count, result;
};

static void on_done(struct mu_op *op, int result)
{
	struct get *g = (struct get *)(void *)op;

	g->count++;
	g->result = result;
}

static void ignore_packet(void *arg, uint32_t source, const unsigned char *soft,
			  const unsigned char *payload, uint32_t bytes, uint64_t offset)
{
}

static void start_get(struct mu_channel *ch, struct get *g, void *to, uint64_t from, size_t bytes)
{
	g->op.done = on_done;
	while (mu_get(ch, 0, 0, to, from, bytes, &g->op) == -EAGAIN)
		mu_poll(ch);
}

static void get_from_first(struct mu_channel *ch)
{
	struct get good = {0}, *bad = calloc(GETS, sizeof *bad);
	unsigned char *to = malloc(LONG), word[64];

	start_get(ch, &good, to, shared->good, LONG);
	for (int i = 0; i < GETS; i++)
		start_get(ch, &bad[i], word, shared->missing, sizeof word);
	while (!good.count)
		mu_poll(ch);
	CHECK_EQ(good.result, 0);
	for (int i = 0; i < GETS; i++) {
		while (!bad[i].count)
			mu_poll(ch);
		CHECK_EQ(bad[i].result, -EFAULT);
		CHECK_EQ(bad[i].count, 1);
	}
	free(to);
	free(bad);
}

/* The first task polls only when all others have asked. */
static int body(const struct mu_job *job)
{
	unsigned char *memory =
	    mmap(NULL, LONG + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct mu_channel *ch;

	REQUIRE_EQ(mu_channel_open(0, ignore_packet, NULL, &ch), 0);
	if (!job->task) {
		REQUIRE(memory != MAP_FAILED);
		REQUIRE_EQ(mprotect(memory + LONG, 4096, PROT_NONE), 0);
		shared->good = (uint64_t)(uintptr_t)memory;
		shared->missing = shared->good + LONG;
	}
	atomic_fetch_add_release(&shared->ready, 1);
	while (atomic_load_acquire(&shared->ready) < TASKS)
		mu_poll(ch);
	atomic_store_relaxed(&is_short, !job->task);
	if (job->task)
		get_from_first(ch);
	atomic_fetch_add_release(&shared->done, 1);
	while (atomic_load_acquire(&shared->done) < TASKS)
		mu_poll(ch);
	atomic_store_relaxed(&is_short, 0);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
	CHECK(job->task || atomic_load_relaxed(&denied));
#endif
	mu_channel_close(ch);
	return 0;
}

static void each_get_ends(void)
{
	struct mu_job_test t = {.shape = {{2, 1, 1, 1, 1}, 4, 0},
				.tasks = TASKS,
				.fabric = MU_FABRIC_TORUS,
				.body = body};

	shared = t_shared(sizeof *shared);
	CHECK_EQ(mu_job_run(&t), 0);
}

T_MAIN(T(each_get_ends))
