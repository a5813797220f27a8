/* SPDX-License-Identifier: BSD-3-Clause */
/* Virtual time end to end: forked tasks on the MU's calls, the simulator, memory and hash. */
#define _GNU_SOURCE
#include "mu/sim/sim.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/timing.h"
#include "mu/vtime/cost.h"
#include "mu/vtime/vtask.h"
#include "tests/harness/sim_job.h"
#include "tests/harness/t.h"

#define PLACES 64

/* What tasks of one case share with the test. */
struct shared {
	uint64_t time_ps[PLACES], value[PLACES], pair_ps[PLACES];
	uint64_t address[PLACES];
	uint32_t ready[PLACES];
	int error[PLACES];
};
static struct shared *sh;

struct seen {
	unsigned count;
	uint32_t source[4096];
	uint64_t offset[4096];
	uint32_t bytes[4096];
	uint64_t sum;
	unsigned tokens, barriers; /* tokens are counted apart */
};

static void on_receive(void *arg, uint32_t source, const unsigned char *soft,
		       const unsigned char *payload, uint32_t bytes, uint64_t offset)
{
	struct seen *s = arg;

	mu_charge(MU_COST_receive, 1);
	if (soft[0]) {
		s->tokens++;
		return;
	}
	if (s->count < 4096) {
		s->source[s->count] = source;
		s->bytes[s->count] = bytes;
		s->offset[s->count] = offset;
	}
	for (uint32_t i = 0; i < bytes; i++)
		s->sum += payload[i];
	s->count++;
}

struct done {
	struct mu_op op;
	int count, result;
};

static void on_done(struct mu_op *op, int result)
{
	struct done *d = (struct done *)op;

	d->count++;
	d->result = result;
}

static struct mu_channel *start_task(const struct mu_job **job, struct seen *s)
{
	struct mu_channel *ch = NULL;

	memset(s, 0, sizeof *s);
	REQUIRE(!mu_attach(job));
	REQUIRE(!mu_channel_open(0, on_receive, s, &ch));
	return ch;
}

static void stop_task(struct mu_channel *ch)
{
	(void)ch; /* mu_detach() closes it */
	mu_detach();
}

static void send_soft(struct mu_channel *ch, uint32_t to, unsigned char first)
{
	unsigned char soft[14] = {first};

	mu_charge(MU_COST_send_immediate, 1);
	while (mu_send_short(ch, to, 0, soft, NULL, 0, NULL, 0) == -EAGAIN)
		mu_make_room(ch);
}

static void send_empty(struct mu_channel *ch, uint32_t to)
{
	send_soft(ch, to, 0);
}

static void wait_count(struct mu_channel *ch, const unsigned *count, unsigned n)
{
	while (*count < n)
		mu_poll(ch);
}

static void wait_done(struct mu_channel *ch, struct done *d)
{
	while (!d->count)
		mu_poll(ch);
}

/* Everyone tells task 0, which tells everyone. */
static void run_barrier(struct mu_channel *ch, const struct mu_job *job, struct seen *s)
{
	s->barriers++; /* tokens of the next one may come early */
	if (job->task) {
		send_soft(ch, 0, 1);
		wait_count(ch, &s->tokens, s->barriers);
		return;
	}
	wait_count(ch, &s->tokens, s->barriers * (job->tasks - 1));
	for (uint32_t i = 1; i < job->tasks; i++)
		send_soft(ch, i, 1);
}

static void run_this(struct sim_job *j)
{
	if (!sh)
		sh = t_shared(sizeof *sh);
	memset(sh, 0, sizeof *sh);
	CHECK_EQ(sim_job_run(j), 0);
}

static struct sim_job run_job(const char *shape, int express, int (*task)(void *, uint32_t),
			      void *arg)
{
	struct sim_job j = {.shape = shape, .express = express, .task = task, .arg = arg};

	run_this(&j);
	return j;
}

static void check_clean(const struct sim_job *j)
{
	CHECK_EQ(j->rc, 0);
	CHECK_EQ(j->failed, 0);
	CHECK(j->report.reproducible);
	CHECK_EQ(j->report.errors, 0);
}

/* ---- half round trip, and what a hop adds ---- */

static int ping_pong(void *arg, uint32_t task)
{
	const struct mu_job *job;
	struct seen s;
	struct mu_channel *ch = start_task(&job, &s);
	uint32_t rounds = 100;

	for (uint32_t peer = 1; peer < job->tasks; peer++) {
		uint64_t t0 = mu_vt_now_ps();
		unsigned before = s.count;

		for (uint32_t i = 0; i < rounds && (task == 0 || task == peer); i++) {
			if (task == 0)
				send_empty(ch, peer);
			wait_count(ch, &s.count, before + i + 1);
			if (task)
				send_empty(ch, 0);
		}
		if (!task)
			sh->pair_ps[peer] = (mu_vt_now_ps() - t0) / (2 * rounds);
		run_barrier(ch, job, &s);
	}
	stop_task(ch);
	return 0;
}

/* Tasks 2 and 3 are busy with each other for a while. */
static void ping_pong_between(struct mu_channel *ch, struct seen *s, uint32_t task)
{
	for (unsigned i = 0; i < 200; i++) {
		if (task == 2)
			send_empty(ch, 3);
		wait_count(ch, &s->count, i + 1);
		if (task == 3)
			send_empty(ch, 2);
	}
}

static void a_hop_adds_its_time(void)
{
	for (int express = 0; express < 2; express++) {
		struct sim_job j = run_job("4x2x2x1x1", express, ping_pong, NULL);
		struct emu_shape shape;
		struct emu_timing hw;
		char err[100];

		check_clean(&j);
		emu_timing_default(&hw);
		emu_shape_parse("4x2x2x1x1", &shape, err, sizeof err);
		for (uint32_t p = 2; p < 16; p++) {
			double hops = emu_hops(&shape, 0, p);
			double more = (double)sh->pair_ps[p] - (double)sh->pair_ps[1];

			/* Polls come at their own steps, which the time is rounded up to. */
			CHECK_NEAR(more, (hops - 1) * hw.hop_ps, (double)mu_cost_ps[MU_COST_poll]);
		}
		printf(
		    "half round trip: 1 hop %.1f ns, 4 hops %.1f ns, %llu turns, %.2f us a turn\n",
		    (double)sh->pair_ps[1] * 1e-3, (double)sh->pair_ps[11] * 1e-3,
		    (unsigned long long)j.report.turns,
		    (j.report.tasks_seconds + j.report.events_seconds) * 1e6 /
			(double)j.report.turns);
	}
}

static void same_run_same_hash(void)
{
	struct sim_job a = run_job("2x2x2x1x1", 0, ping_pong, NULL),
		       b = run_job("2x2x2x1x1", 0, ping_pong, NULL);
	struct sim_job c = {.shape = "2x2x2x1x1", .task = ping_pong, .hw = "hop_ns=37"};

	check_clean(&a);
	check_clean(&b);
	CHECK(a.report.hash != 0);
	CHECK_EQ(a.report.hash, b.report.hash);
	CHECK_EQ(a.report.time_ps, b.report.time_ps);
	CHECK_EQ(a.report.turns, b.report.turns);
	run_this(&c);
	CHECK(a.report.hash != c.report.hash);
}

/* ---- memory-FIFO messages of every size, in order ---- */

static unsigned char byte_of(uint64_t i)
{
	return (unsigned char)(i * 31 + (i >> 8) * 7 + 1);
}

static int messages_body(void *arg, uint32_t task)
{
	const struct mu_job *job;
	static struct seen s;
	struct mu_channel *ch = start_task(&job, &s);
	unsigned char *private = malloc(3000), soft[14] = {0};
	uint64_t sum = 0;

	for (unsigned i = 0; i < 3000; i++)
	private[i] = byte_of(i);
	for (uint32_t n = 0; n <= 1025; n++) {
		if (task == 0) {
			struct done d = {0};

			d.op.done = on_done;
			while (mu_send(ch, 1, 0, soft, private + n % 7, n, &d.op) == -EAGAIN)
				mu_make_room(ch);
			wait_done(ch, &d);
			REQUIRE(!d.result);
			wait_count(ch, &s.tokens, n + 1);
		} else {
			unsigned pieces = n ? (n + 511) / 512 : 1;

			wait_count(ch, &s.count, pieces);
			for (unsigned k = 0; k < pieces; k++) {
				REQUIRE(s.source[k] == 0);
				REQUIRE(s.offset[k] == k * 512);
				REQUIRE(s.bytes[k] == (k + 1 < pieces ? 512 : n - 512 * k));
			}
			for (unsigned i = 0; i < n; i++)
				sum += private[n % 7 + i];
			REQUIRE(s.sum == sum);
			REQUIRE(s.count == pieces);
			s.count = 0;
			send_soft(ch, 0, 1);
		}
	}
	stop_task(ch);
	return 0;
}

static void messages_of_every_size(void)
{
	struct sim_job j = run_job("2x1x1x1x1", 0, messages_body, NULL);

	check_clean(&j);
	j = run_job("1x1x1x1x1x2", 0, messages_body, NULL); /* the same node: the local way */
	check_clean(&j);
	CHECK_EQ(j.report.packet_hops, 0);
}

/* ---- RDMA of every size and alignment, private and arena memory ---- */

#define AREA 4096

static int rdma_body(void *arg, uint32_t task)
{
	const struct mu_job *job;
	struct seen s;
	struct mu_channel *ch = start_task(&job, &s);
	unsigned char *mine = arg ? mu_arena_alloc(2 * AREA, 64) : malloc(2 * AREA),
		      *got = malloc(2 * AREA);
	unsigned char *there = malloc(2 * AREA); /* what the target must hold */

	memset(there, 0xee, 2 * AREA);
	sh->address[task] = (uint64_t)(uintptr_t)mine;
	memset(mine, 0xee, 2 * AREA);
	if (task == 0)
		for (unsigned i = 0; i < AREA; i++)
			mine[i] = byte_of(i);
	run_barrier(ch, job, &s);
	for (uint32_t n = 1; n <= 1025 && task == 0; n++) {
		unsigned from = n % 13, to = n % 17 + 8;
		struct done local = {0}, remote = {0}, get = {0};

		local.op.done = remote.op.done = get.op.done = on_done;
		REQUIRE(
		    !mu_put(ch, 1, 0, mine + from, sh->address[1] + to, n, &local.op, &remote.op));
		wait_done(ch, &remote);
		REQUIRE(local.count == 1 && !local.result && !remote.result);
		memset(got, 0xdd, 2 * AREA);
		REQUIRE(!mu_get(ch, 1, 0, got + 5, sh->address[1] + to - 1, n + 2, &get.op));
		wait_done(ch, &get);
		REQUIRE(!get.result);
		/* What was put and nothing beside it; what was got and nothing beside it. */
		memcpy(there + to, mine + from, n);
		REQUIRE(!memcmp(got + 5, there + to - 1, n + 2));
		REQUIRE(got[4] == 0xdd && got[n + 7] == 0xdd);
	}
	run_barrier(ch, job, &s);
	if (task == 1)
		for (unsigned i = 1025 + 25; i < 2 * AREA; i++)
			REQUIRE(mine[i] == 0xee);
	stop_task(ch);
	return 0;
}

static void rdma_of_every_size(void)
{
	struct sim_job j = run_job("2x1x1x1x1", 0, rdma_body, NULL);

	check_clean(&j);
	j = run_job("1x1x1x1x1x2", 0, rdma_body, (void *)1);
	check_clean(&j);
}

/* ---- a megabyte both ways; a receiver that is busy spills, and loses nothing ---- */

static int large_body(void *arg, uint32_t task)
{
	const struct mu_job *job;
	static struct seen s;
	struct mu_channel *ch = start_task(&job, &s);
	size_t n = 1 << 20;
	unsigned char *a = malloc(n), *b = malloc(n), soft[14] = {0};
	uint64_t t0;
	struct done d = {0}, m = {0};

	d.op.done = m.op.done = on_done;
	for (size_t i = 0; i < n; i++)
		a[i] = byte_of(i + task);
	sh->address[task] = (uint64_t)(uintptr_t)a;
	run_barrier(ch, job, &s);
	t0 = mu_vt_now_ps();
	REQUIRE(!mu_get(ch, !task, 0, b, sh->address[!task], n, &d.op));
	wait_done(ch, &d);
	sh->time_ps[task] = mu_vt_now_ps() - t0;
	for (size_t i = 0; i < n; i++)
		REQUIRE(b[i] == byte_of(i + !task));
	run_barrier(ch, job, &s);
	s.count = 0;
	s.sum = 0;
	if (task == 0) {
		REQUIRE(!mu_send(ch, 1, 0, soft, a, n, &m.op));
		wait_done(ch, &m);
	} else {
		for (int i = 0; i < 100; i++) {
			/* Compute for a while, with a call of the library now and then. */
			mu_charge(MU_COST_receive, 100);
			mu_vt_check();
		}
		wait_count(ch, &s.count, (unsigned)(n / 512));
		for (unsigned i = 0; i < n / 512; i++)
			REQUIRE(s.offset[i] == i * 512ul);
	}
	stop_task(ch);
	return 0;
}

static void a_megabyte(void)
{
	struct sim_job j = run_job("2x1x1x1x1", 0, large_body, NULL);

	check_clean(&j);
	CHECK(j.report.spilled > 0);
	for (int i = 0; i < 2; i++) {
		double gb = 1048576e3 / (double)sh->time_ps[i];

		printf("get of 1 MiB, both ways at once: %.3f GB/s\n", gb);
		CHECK(gb > 1.7 && gb < 1.8);
	}
}

/* ---- what goes wrong ---- */

static int bad_addresses(void *arg, uint32_t task)
{
	const struct mu_job *job;
	struct seen s;
	struct mu_channel *ch = start_task(&job, &s);
	unsigned char buffer[64] = {0};

	if (task == 0) {
		struct done put = {0}, get = {0};

		put.op.done = get.op.done = on_done;
		REQUIRE(!mu_put(ch, 1, 0, buffer, 4096, 64, NULL, &put.op));
		wait_done(ch, &put);
		REQUIRE(put.result == -EFAULT);
		REQUIRE(!mu_get(ch, 1, 0, buffer, 4096, 64, &get.op));
		wait_done(ch, &get);
		REQUIRE(get.result == -EFAULT);
		put.count = 0;
		REQUIRE(!mu_put(ch, 1, 0, buffer, sh->address[1], 1ull << 48, &put.op, NULL));
		wait_done(ch, &put); /* refused before it became a descriptor */
		REQUIRE(put.result == -EFAULT);
	}
	run_barrier(ch, job, &s);
	stop_task(ch);
	return 0;
}

static void a_bad_address_ends_with_an_error(void)
{
	struct sim_job j = run_job("2x1x1x1x1", 0, bad_addresses, NULL);

	CHECK_EQ(j.rc, 0);
	CHECK_EQ(j.failed, 0);
	CHECK_EQ(j.report.errors, 2);
}

enum { GETS = 500 };

/* More gets than the FIFO for their answers holds, of memory that is not there, behind a long one
 * of memory that is. */
static int many_bad_gets(void *arg, uint32_t task)
{
	const struct mu_job *job;
	struct seen s;
	struct mu_channel *ch = start_task(&job, &s);
	unsigned char *a = calloc(1, 1 << 20), word[64];
	struct done good = {.op.done = on_done}, bad[GETS] = {0};

	if (!task)
		sh->address[0] = (uint64_t)(uintptr_t)a;
	run_barrier(ch, job, &s);
	if (task) {
		REQUIRE(!mu_get(ch, 0, 0, a, sh->address[0], 1 << 20, &good.op));
		for (int i = 0; i < GETS; i++) {
			bad[i].op.done = on_done;
			while (mu_get(ch, 0, 0, word, 4096, 64, &bad[i].op) == -EAGAIN)
				mu_poll(ch);
		}
		wait_done(ch, &good);
		REQUIRE_EQ(good.result, 0);
		for (int i = 0; i < GETS; i++) {
			wait_done(ch, &bad[i]);
			REQUIRE_EQ(bad[i].result, -EFAULT);
		}
	}
	run_barrier(ch, job, &s);
	stop_task(ch);
	free(a);
	return 0;
}

static void each_bad_get_ends_with_an_error(void)
{
	struct sim_job j = run_job("2x1x1x1x1x8", 0, many_bad_gets, NULL);

	CHECK_EQ(j.rc, 0);
	CHECK_EQ(j.failed, 0);
	CHECK_EQ(j.report.errors, 15 * GETS);
}

static int waits_for_ever(void *arg, uint32_t task)
{
	const struct mu_job *job;
	struct seen s;
	struct mu_channel *ch = start_task(&job, &s);

	wait_count(ch, &s.count, 1);
	return 1;
}

/* A program may look a fixed number of times though nothing can come; each look costs the same. */
static int looks_a_little(void *arg, uint32_t task)
{
	const struct mu_job *job;
	struct seen s;
	struct mu_channel *ch = start_task(&job, &s);
	double before = mu_wtime(), between, after;

	for (int i = 0; i < 100; i++)
		mu_poll(ch);
	between = mu_wtime();
	for (int i = 0; i < 100; i++)
		mu_poll(ch);
	after = mu_wtime();
	stop_task(ch);
	return after - between > 1.5 * (between - before);
}

static void empty_polls_are_no_deadlock(void)
{
	struct sim_job j = run_job("2x2x1x1x1", 0, looks_a_little, NULL);

	CHECK_EQ(j.rc, 0);
	CHECK_EQ(j.failed, 0);
}

/* Does not detach, and its end takes the kernel a while: nobody is to wait for it after that. */
static int ends_slowly(void *arg, uint32_t task)
{
	const struct mu_job *job;
	const size_t bytes = (size_t)128 << 20;
	struct seen s;
	char *touched = malloc(bytes);

	REQUIRE(touched != NULL);
	memset(touched, 1, bytes);
	mu_poll(start_task(&job, &s));
	return touched[task] != 1;
}

/*
 * A program that counts its polls gets each of them, at the time it costs, however many. (The first
 * polls, while another task has not polled yet, take longer: something may come of that task.)
 */
static int polls_often(void *arg, uint32_t task)
{
	const struct mu_job *job;
	struct seen s;
	struct mu_channel *ch = start_task(&job, &s);
	uint64_t before = mu_vt_now_ps();

	for (int i = 0; i < 3000; i++)
		mu_poll(ch);
	sh->time_ps[task] = mu_vt_now_ps() - before;
	stop_task(ch);
	return 0;
}

static void bounded_polls_cost_what_the_table_says(void)
{
	struct sim_job j = run_job("2x2x1x1x1", 0, polls_often, NULL);

	CHECK_EQ(j.rc, 0);
	CHECK_EQ(j.failed, 0);
	for (int i = 0; i < 4; i++)
		CHECK(sh->time_ps[i] >= 3000 * mu_cost_ps[MU_COST_poll] &&
		      sh->time_ps[i] < 3200 * mu_cost_ps[MU_COST_poll]);
}

/* Each task waits in a call that returns only after an event: no setting makes that wait longer. */
static int waits_in_a_call(void *arg, uint32_t task)
{
	mu_call_waits("a call of the test");
	return waits_for_ever(arg, task);
}

static void blocked_tasks_are_a_deadlock_at_once(void)
{
	struct sim_job j;

	setenv("QUINTORUS_DEADLOCK_S", "0", 1);
	j = run_job("2x2x1x1x1", 0, waits_in_a_call, NULL);
	unsetenv("QUINTORUS_DEADLOCK_S");
	CHECK_EQ(j.rc, -EDEADLK);
	CHECK_EQ(j.failed, 0);
}

static void an_end_without_a_word_is_seen(void)
{
	struct sim_job j = run_job("2x1x1x1x1", 0, ends_slowly, NULL);

	CHECK_EQ(j.rc, 0);
	CHECK_EQ(j.failed, 0);
}

static void a_deadlock_is_told(void)
{
	struct sim_job j;

	setenv("QUINTORUS_DEADLOCK_S", "1", 1);
	j = run_job("2x2x1x1x1", 0, waits_for_ever, NULL);
	unsetenv("QUINTORUS_DEADLOCK_S");
	CHECK_EQ(j.rc, -EDEADLK);
	CHECK_EQ(j.failed, 0);
}

static int looks_at_the_clock(void *arg, uint32_t task)
{
	const struct mu_job *job;
	struct seen s;
	struct mu_channel *ch = start_task(&job, &s);
	double until = mu_wtime() + 0.010;

	while (mu_wtime() < until)
		mu_poll(ch);
	sh->time_ps[task] = mu_vt_now_ps();
	stop_task(ch);
	return 0;
}

static void a_loop_on_the_clock_ends_in_time(void)
{
	struct sim_job j = run_job("2x1x1x1x1", 0, looks_at_the_clock, NULL);

	check_clean(&j);
	for (int i = 0; i < 2; i++)
		CHECK(sh->time_ps[i] >= 10000000000u && sh->time_ps[i] < 10020000000u);
}

/* Waits for a flag in memory without calling anything; what it does then lies behind the flag. */
static int spins_body(void *arg, uint32_t task)
{
	const struct mu_job *job;
	struct seen s;
	struct mu_channel *ch = start_task(&job, &s);
	static volatile uint64_t flag[8];
	uint64_t one[8] = {0, 0, 0, 0, 0, 0, 0, 1};
	struct done d = {0};

	d.op.done = on_done;
	sh->address[task] = (uint64_t)(uintptr_t)flag;
	run_barrier(ch, job, &s);
	if (task == 0) {
		mu_charge(MU_COST_receive, 100);
		REQUIRE(!mu_put(ch, 1, 0, one, sh->address[1], sizeof one, &d.op, NULL));
		wait_done(ch, &d);
		wait_count(ch, &s.count, 1);
	} else if (task == 1) {
		while (!flag[7])
			;
		send_empty(ch, 0);
	} else {
		ping_pong_between(ch, &s, task);
	}
	sh->time_ps[task] = mu_vt_now_ps();
	run_barrier(ch, job, &s);
	stop_task(ch);
	return 0;
}

static void a_task_that_spins_is_not_waited_for(void)
{
	struct sim_job j[2];

	for (int i = 0; i < 2; i++) {
		j[i] = (struct sim_job){.shape = "2x2x1x1x1", .task = spins_body, .spin_ms = 2};
		run_this(&j[i]);
		check_clean(&j[i]);
	}
	CHECK_EQ(j[0].report.hash, j[1].report.hash);
	/* The task saw the flag after it was sent. */
	CHECK(sh->time_ps[1] > mu_cost_ps[MU_COST_receive] * 100);
	CHECK(sh->time_ps[0] > sh->time_ps[1]);
}

/* The flag comes late: of those who poll, one waits for another's message first. */
static int spins_long(void *arg, uint32_t task)
{
	const struct mu_job *job;
	struct seen s;
	struct mu_channel *ch = start_task(&job, &s);
	static volatile uint64_t flag;
	uint64_t one = 1;
	struct done d = {0};

	d.op.done = on_done;
	sh->address[task] = (uint64_t)(uintptr_t)&flag;
	run_barrier(ch, job, &s);
	if (task == 0) {
		wait_count(ch, &s.count, 1);
		REQUIRE(!mu_put(ch, 1, 0, &one, sh->address[1], sizeof one, &d.op, NULL));
		wait_done(ch, &d);
	} else if (task == 1) {
		while (!flag)
			;
	} else {
		ping_pong_between(ch, &s, task);
		if (task == 2)
			send_empty(ch, 0);
	}
	sh->time_ps[task] = mu_vt_now_ps();
	run_barrier(ch, job, &s);
	stop_task(ch);
	return 0;
}

static void messages_pass_while_one_spins(void)
{
	struct sim_job j[2];

	for (int i = 0; i < 2; i++) {
		j[i] = (struct sim_job){.shape = "2x2x1x1x1", .task = spins_long, .spin_ms = 2};
		run_this(&j[i]);
		check_clean(&j[i]);
	}
	CHECK_EQ(j[0].report.hash, j[1].report.hash);
	CHECK(sh->time_ps[1] > sh->time_ps[2]);
}

static int computes_body(void *arg, uint32_t task)
{
	const struct mu_job *job;
	struct seen s;
	struct mu_channel *ch = start_task(&job, &s);
	volatile double x = 0;

	run_barrier(ch, job, &s);
	if (arg) { /* the others have come to wait by then */
		mu_charge(MU_COST_receive, task == 1 ? 100 : 0);
		mu_vt_check();
	}
	if (task == 1)
		for (int i = 0; i < 30000000; i++)
			x += i;
	run_barrier(ch, job, &s);
	stop_task(ch);
	return 0;
}

/* It burns more than a spinning task may. If the others only wait for it, no time passes ... */
static void a_long_computation_changes_nothing(void)
{
	struct sim_job a = {.shape = "2x2x1x1x1", .task = computes_body, .arg = &a, .spin_ms = 2};
	struct sim_job b = {.shape = "2x2x1x1x1", .task = computes_body, .arg = &b};

	run_this(&a);
	check_clean(&a);
	run_this(&b);
	check_clean(&b);
	CHECK_EQ(a.report.hash, b.report.hash);
}

/* ... if they had something to do, that was done too early, and the run says so. */
static void a_computation_taken_for_spinning_is_told(void)
{
	struct sim_job a = {.shape = "2x2x1x1x1", .task = computes_body, .spin_ms = 2};

	run_this(&a);
	CHECK_EQ(a.rc, 0);
	CHECK_EQ(a.failed, 0);
	CHECK(!a.report.reproducible);
}

static int dies_body(void *arg, uint32_t task)
{
	const struct mu_job *job;
	struct seen s;
	struct mu_channel *ch = start_task(&job, &s);

	run_barrier(ch, job, &s);
	if (task == 2)
		raise(SIGKILL);
	wait_count(ch, &s.count, 1000);
	return 0;
}

static void a_death_ends_the_run(void)
{
	struct sim_job j = run_job("2x2x1x1x1", 0, dies_body, NULL);

	CHECK_EQ(j.rc, -ECANCELED);
	CHECK_EQ(j.failed, 1);
	CHECK_EQ(j.status, SIGKILL);
}

static int alone_body(void *arg, uint32_t task)
{
	const struct mu_job *job;
	struct seen s;
	struct mu_channel *ch;

	if (task)
		return 0;
	ch = start_task(&job, &s);
	mu_poll(ch);
	stop_task(ch);
	return 0;
}

static void who_never_joins_holds_up_nobody(void)
{
	struct sim_job j = run_job("2x1x1x1x1", 0, alone_body, NULL);

	CHECK_EQ(j.rc, 0);
	CHECK_EQ(j.failed, 0);
}

static void costs_come_from_a_file(void)
{
	struct sim_job j = {.shape = "2x1x1x1x1", .task = ping_pong};
	char path[300];
	uint64_t before;
	FILE *f;

	snprintf(path, sizeof path, "%s/costs", t_dir());
	f = fopen(path, "w");
	REQUIRE(f);
	fprintf(f, "# mine\nsend_immediate %.3f\npoll 1 # fine steps\n\nreceive 100.5\n",
		(double)mu_cost_ps[MU_COST_send_immediate] * 1e-3);
	fclose(f);
	run_job("2x1x1x1x1", 0, ping_pong, NULL);
	before = sh->pair_ps[1];
	j.costs = path;
	run_this(&j);
	check_clean(&j);
	CHECK_NEAR((double)before - (double)sh->pair_ps[1],
		   (double)mu_cost_ps[MU_COST_receive] - 100500, (double)mu_cost_ps[MU_COST_poll]);
	f = fopen(path, "w");
	fprintf(f, "receive\n");
	fclose(f);
	CHECK_EQ(mu_cost_load(path), -EINVAL);
	f = fopen(path, "w");
	fprintf(f, "nonsense 3\n");
	fclose(f);
	CHECK_EQ(mu_cost_load(path), -EINVAL);
	CHECK_EQ(mu_cost_load("/nonexistent"), -ENOENT);
}

#define EXCHANGES 50u
#define CHECKS    16u

/* All tasks send to each other in step, and look several times at one time of their clocks. */
static int checks_often(void *arg, uint32_t task)
{
	const struct mu_job *job;
	struct seen s;
	struct mu_channel *ch = start_task(&job, &s);

	(void)arg;
	for (unsigned i = 0; i < EXCHANGES; i++) {
		send_empty(ch, task ^ (1 + i % (job->tasks - 1)));
		for (unsigned k = 0; k < CHECKS; k++)
			mu_vt_check();
	}
	wait_count(ch, &s.count, EXCHANGES);
	stop_task(ch);
	return 0;
}

/*
 * A task that hands over because of events of its own time gets its next turn before them: it need
 * not hand over.
 */
static void checks_at_one_time_cost_no_turn(void)
{
	struct sim_job j = run_job("2x2x2x1x1", 0, checks_often, NULL);

	check_clean(&j);
	/* A send and a reception are each a turn or two; the checks would be some thousands. */
	CHECK(j.report.turns < 8 * EXCHANGES * 5);
	printf("%llu turns\n", (unsigned long long)j.report.turns);
}

T_MAIN(T(a_hop_adds_its_time), T(same_run_same_hash), T(checks_at_one_time_cost_no_turn),
       T(messages_of_every_size), T(rdma_of_every_size), T(a_megabyte),
       T(a_bad_address_ends_with_an_error), T(each_bad_get_ends_with_an_error),
       T(empty_polls_are_no_deadlock), T(bounded_polls_cost_what_the_table_says),
       T(blocked_tasks_are_a_deadlock_at_once), T(an_end_without_a_word_is_seen),
       T(a_deadlock_is_told), T(a_loop_on_the_clock_ends_in_time),
       T(a_task_that_spins_is_not_waited_for), T(messages_pass_while_one_spins),
       T(a_long_computation_changes_nothing), T(a_computation_taken_for_spinning_is_told),
       T(a_death_ends_the_run), T(who_never_joins_holds_up_nobody), T(costs_come_from_a_file))
