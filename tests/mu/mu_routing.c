/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choice of a way for gets and rendezvous: the pure rule, and (as a program of torus run:
 * mu_routing --job) transfers of every length between all tasks, pulled and fetched while numbered
 * messages go the same ways. Data is compared and messages must come in order, whichever way
 * PAMI_ROUTING and the machine file choose.
 */
#include "mu/channel/routing.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emu/route.h"
#include "mu/mu.h"
#include "tests/harness/t.h"

static struct emu_shape shape_of(const char *text)
{
	struct emu_shape s;
	char err[200];

	REQUIRE_EQ(emu_shape_parse(text, &s, err, sizeof err), 0);
	return s;
}

static struct mu_routing make_routing(const char *shape_text, const char *text, int expected)
{
	struct emu_shape s = shape_of(shape_text);
	struct emu_machine m;
	struct mu_routing r;
	char err[300] = "";

	emu_machine_default(&m);
	CHECK_EQ(mu_routing_make(&r, &s, &m.hw, text, err, sizeof err), expected);
	if (expected)
		CHECK(strstr(err, "PAMI_ROUTING="));
	return r;
}

static unsigned choose_zone(const struct mu_routing *r, uint32_t to, uint64_t bytes)
{
	struct emu_coord a = {.t = 0}, b = {.t = 0};

	emu_node_coord(&r->shape, 0, &a);
	emu_node_coord(&r->shape, to, &b);
	return mu_routing_choose(r, &a, &b, bytes);
}

/* Flexibility counts A to D, each from 0 to 1. */
static void flexibility_counts_dimensions(void)
{
	struct emu_shape s = shape_of("8x4x4x4Mx2");
	struct emu_coord a = {{0, 0, 0, 0, 0}, 0}, b = {{4, 2, 2, 3, 1}, 0},
			 c = {{6, 0, 1, 0, 1}, 0};

	CHECK_NEAR(mu_routing_flexibility(&s, &a, &b), 4.0, 1e-9);
	CHECK_NEAR(mu_routing_flexibility(&s, &a, &c), 1.0, 1e-9);
	CHECK_NEAR(mu_routing_flexibility(&s, &a, &a), 0.0, 1e-9);
}

static void choice_by_size_of_the_machine(void)
{
	struct mu_routing small = make_routing("4x4x4x4x2", NULL, 0),
			  rack = make_routing("8x4x4x4x2", NULL, 0);
	uint32_t far = 1023, line = 2, near = 3; /* far: all dimensions; line: D; near: D and E */

	CHECK_EQ(choose_zone(&small, line, 1 << 20), MU_ROUTE_DETERMINISTIC);
	CHECK_EQ(choose_zone(&small, near, 65536), MU_ROUTE_DETERMINISTIC);
	CHECK_EQ(choose_zone(&small, near, 65537), 3);
	/* A rack: zone 2 for flexibility from 1.5 to 3.5, else zone 0. near: 0.5, (4,2,2,0,0): 3.
	 */
	CHECK_EQ(choose_zone(&rack, near, 65537), 0);
	CHECK_EQ(choose_zone(&rack, ((4 * 4 + 2) * 4 + 2) * 4 * 2, 65537), 2);
	CHECK_EQ(choose_zone(&rack, far, 65537), 2); /* every coordinate one away: 1.75 is in */
}

static void text_changes_the_rule(void)
{
	struct mu_routing r = make_routing("4x4x4x4x2", "1000,1,0:4,2,0", 0);

	CHECK_EQ(choose_zone(&r, 3, 1000), 1);
	CHECK_EQ(choose_zone(&r, 3, 1001), 2);
	r = make_routing("4x4x4x4x2", ",,,4,4", 0);
	CHECK_EQ(choose_zone(&r, 3, 1 << 20), MU_ROUTE_DETERMINISTIC);
	r = make_routing("4x4x4x4x2", "5", 0);
	CHECK_EQ(choose_zone(&r, 3, 6), 3);
	r = make_routing("4x4x4x4x2", "", 0);
	static const char *const bad[] = {"x",       "1,5",       "1,1,2",
					  "1,1,1:x", "1,1,1:2,7", "1,1,1:2,1,1,1"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		make_routing("4x4x4x4x2", bad[i], -EINVAL);
}

static void neighbours_along_e(void)
{
	struct mu_routing r = make_routing("4x4x4x4x2", NULL, 0);
	struct emu_coord a = {{1, 2, 3, 0, 0}, 0}, b = {{1, 2, 3, 0, 1}, 0},
			 c = {{1, 2, 3, 1, 1}, 0};

	CHECK(mu_routing_splits(&r, &a, &b, 2049));
	CHECK(!mu_routing_splits(&r, &a, &b, 2048));
	CHECK(!mu_routing_splits(&r, &a, &c, 1 << 20));
	r = make_routing("4x4x4x4x2M", NULL, 0);
	CHECK(!mu_routing_splits(&r, &a, &b, 1 << 20));
}

static void paced(void)
{
	struct mu_routing r = make_routing("8x8x8x2x1", NULL, 0);
	struct emu_coord a = {{1, 2, 3, 0, 0}, 0}, line = {{1, 2, 7, 0, 0}, 0},
			 plane = {{1, 2, 4, 1, 0}, 0};

	CHECK(!mu_routing_paces(&r, &a, &plane, 1 << 20)); /* of 1024 nodes */
	r = make_routing("10x8x8x2x1", NULL, 0);
	CHECK(mu_routing_paces(&r, &a, &plane, 65537));
	CHECK(!mu_routing_paces(&r, &a, &plane, 65536));
	CHECK(!mu_routing_paces(&r, &a, &line, 1 << 20)); /* four links */
	CHECK_EQ(r.pacing_piece, 16384);
	r = make_routing("10x8x8Mx2x1", NULL, 0);
	line.c[2] = 0;
	CHECK(!mu_routing_paces(&r, &a, &line, 1 << 20));
	r = make_routing("8x8x16Mx4x1", NULL, 0);
	line.c[2] = 8;
	CHECK(mu_routing_paces(&r, &a, &line, 65537)); /* five */
	CHECK_EQ(r.pacing_piece, 8192);
	r.pacing_bytes = 0;
	CHECK(!mu_routing_paces(&r, &a, &line, 8192)); /* one piece */
	CHECK(mu_routing_paces(&r, &a, &line, 8193));
}

/* ---- a job ---- */

#define LONGEST  200000u
#define ROOM     (LONGEST + 64) /* for what a get brings, and bytes that must stay 0 */
#define ROUNDS   (t_sanitized() ? 1u : 3u)
#define MESSAGES 5u /* in a round to each task */
#define LENGTHS  6u

static const uint32_t lengths[LENGTHS] = {1, 512, 1537, 4096, 65537, LONGEST};

struct word {
	uint64_t number, address; /* of the sender's memory */
};

static uint64_t *seen, *address; /* per task: messages, and where its memory is */
static int wrong;
static unsigned pending;

static void on_message(void *arg, uint32_t source, const unsigned char *soft,
		       const unsigned char *payload, uint32_t bytes, uint64_t offset)
{
	struct word w;

	memcpy(&w, payload, sizeof w);
	wrong += w.number != seen[source]++;
	address[source] = w.address;
}

static void on_done(struct mu_op *op, int result)
{
	wrong += result != 0;
	pending--;
}

/* The bytes that a task has for the others. */
static void fill_memory(unsigned char *memory, uint32_t task)
{
	for (size_t i = 0; i < LONGEST; i++)
		memory[i] = (unsigned char)(i * 7 + i / 251 + task * 31);
}

static void say_all(struct mu_channel *ch, const struct mu_job *job, struct word *w)
{
	static const unsigned char soft[MU_SOFT_BYTES];

	for (unsigned m = 0; m < MESSAGES; m++, w->number++)
		for (uint32_t k = 1; k < job->tasks; k++)
			while (mu_send_short(ch, (job->task + k) % job->tasks, 0, soft, w,
					     sizeof *w, NULL, 0))
				mu_poll(ch);
}

static void wait_for_all(struct mu_channel *ch, const struct mu_job *job, uint64_t number)
{
	for (uint32_t i = 0; i < job->tasks; i++)
		while (i != job->task && seen[i] < number)
			mu_poll(ch);
}

/* The copy has the first `bytes` bytes of the memory, and zeros behind them. */
static int is_right(const unsigned char *copy, const unsigned char *memory, uint32_t bytes)
{
	const unsigned char *rest = copy + bytes;

	return !memcmp(copy, memory, bytes) && !rest[0] &&
	       !memcmp(rest, rest + 1, ROOM - bytes - 1);
}

/* Get the memory of one task in all lengths at once, every other one by a pull, and compare. */
static void fetch_all_lengths(struct mu_channel *ch, uint32_t from, unsigned char *copy,
			      unsigned char *memory)
{
	struct mu_op op[LENGTHS];

	fill_memory(memory, from);
	memset(copy, 0, LENGTHS * ROOM);
	for (unsigned n = 0; n < LENGTHS; n++) {
		int rc;

		op[n] = (struct mu_op){.done = on_done};
		pending++;
		while ((rc = (n & 1 ? mu_pull : mu_get)(ch, from, 0, copy + n * ROOM, address[from],
							lengths[n], &op[n])) == -EAGAIN)
			mu_poll(ch);
		wrong += rc != 0;
	}
	while (pending)
		mu_poll(ch);
	for (unsigned n = 0; n < LENGTHS; n++)
		wrong += !is_right(copy + n * ROOM, memory, lengths[n]);
}

static int job_main(void)
{
	const struct mu_job *job;
	struct mu_channel *ch;
	unsigned char *mine = malloc(LONGEST), *copy = malloc(LENGTHS * ROOM),
		      *memory = malloc(LONGEST);
	struct word w = {0, (uint64_t)(uintptr_t)mine};

	if (mu_attach(&job))
		return 1;
	seen = calloc(job->tasks, sizeof *seen);
	address = calloc(job->tasks, sizeof *address);
	fill_memory(mine, job->task);
	if (mu_channel_open(0, on_message, NULL, &ch))
		return 1;
	for (unsigned round = 0; round < ROUNDS; round++) {
		say_all(ch, job, &w);
		wait_for_all(ch, job, round * MESSAGES + 1);
		for (uint32_t k = 1; k < job->tasks; k++)
			fetch_all_lengths(ch, (job->task + k) % job->tasks, copy, memory);
	}
	say_all(ch, job, &w); /* no task unmaps memory before all have read it */
	wait_for_all(ch, job, w.number);
	mu_channel_close(ch);
	mu_detach();
	if (wrong)
		fprintf(stderr, "mu_routing: %d wrong\n", wrong);
	free(address);
	free(seen);
	free(copy);
	free(memory);
	free(mine);
	return wrong != 0;
}

static const struct t_case cases[] = {T(flexibility_counts_dimensions),
				      T(choice_by_size_of_the_machine), T(text_changes_the_rule),
				      T(neighbours_along_e), T(paced)};

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--job"))
		return job_main();
	return t_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
