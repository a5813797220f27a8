/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Histories of one word each, checked for linearizability: all ranks put, get, swap, add, xor and
 * compare-and-swap it while they move its block about and pin it. Some puts write many bytes round
 * the word, so that a messaging unit holds the block for them. There must be an order of all
 * operations that explains every result and that keeps operations apart in time in their order. The
 * search for it is exhaustive.
 *
 * agas_fuzz [virtual] [--seconds N]: rounds for N seconds, e.g. for an hour
 *
 *	QT_SEED=$RANDOM torus run --clock virtual --fabric torus --shape 2x2x1x1x1 \
 *		--hw agas=hw-torus build/tests/t_fuzz_agas_fuzz --seconds 3600
 *
 * With --seconds rank 0 prints every 10 seconds, and at the end, how many histories were checked
 * and how many of them no order explains; the run ends with the batch of the first such one.
 * QT_SEED repeats the choices, not the timing. QT_LONG=N: N times as many rounds.
 */
#include <limits.h>
#include <time.h>

#include "tests/agas/agas_job.h"

enum { OPS = 4, RANKS_MAX = 5, BATCH = 64, TRIES = 1 << 16 };
/* Each word is the only one that is read of its span, which long puts write from end to end. */
enum { SPAN = 2048 };
enum { PROGRESS_S = 10 };
enum kind { PUT, GET, SWAP, ADD, XOR, CAS, KINDS };

struct record {
	uint64_t begin, end, value, expected, result;
	uint64_t kind;
};

static struct record mine[BATCH][OPS];

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the program ---- */

static int put_word(gva_t word, uint64_t value)
{
	static uint64_t span[SPAN / 8];

	if (drv_rng_below(&rng, 2))
		return agas_put(word, &value, 8);
	for (unsigned i = 0; i < SPAN / 8; i++)
		span[i] = value;
	return agas_put(word & ~(gva_t)(SPAN - 1), span, SPAN);
}

static void run_operation(gva_t word, struct record *r, unsigned i)
{
	int rc = 0;

	r->kind = drv_rng_below(&rng, KINDS);
	r->value = drv_rng_below(&rng, 3) ? (uint64_t)me * 16 + i + 1 : drv_rng_below(&rng, 4);
	r->expected = drv_rng_below(&rng, 4);
	r->begin = now_ns();
	switch ((enum kind)r->kind) {
	case PUT:
		rc = put_word(word, r->value);
		rc = rc ? rc : agas_fence();
		break;
	case GET:
		rc = agas_get(&r->result, word, 8);
		rc = rc ? rc : agas_fence();
		break;
	case SWAP:
		rc = agas_swap64(word, r->value, &r->result);
		break;
	case ADD:
		rc = agas_fetch_add64(word, r->value, &r->result);
		break;
	case XOR:
		rc = agas_fetch_xor64(word, r->value, &r->result);
		break;
	case CAS:
		rc = agas_compare_swap64(word, r->expected, r->value, &r->result);
		break;
	case KINDS:
		break;
	}
	r->end = now_ns();
	CHECK_EQ(rc, 0);
}

static void one_round(gva_t word, struct record *r)
{
	agas_req_t moves[OPS];
	unsigned i, begun = 0;

	for (i = 0; i < OPS; i++) {
		bool pinned = !drv_rng_below(&rng, 4) && agas_try_pin(word, NULL);

		/* Not while it is pinned: its own access could wait for the pin. */
		if (pinned)
			agas_unpin(word);
		if (!drv_rng_below(&rng, 3))
			CHECK_EQ(agas_remap_nb(word, (int)drv_rng_below(&rng, (uint64_t)ranks),
					       &moves[begun++]),
				 0);
		run_operation(word, &r[i], i);
	}
	for (i = 0; i < begun; i++)
		CHECK_EQ(agas_wait(&moves[i]), 0);
}

/* ---- the checker ---- */

static struct {
	struct record op[RANKS_MAX * OPS];
	unsigned count;
	struct {
		uint32_t mask, used;
		uint64_t value;
	} seen[TRIES];
} history;
static uint32_t generation;

/* Set *after to what r leaves of `value`. Return false if r cannot have met that value. */
static bool apply_record(const struct record *r, uint64_t value, uint64_t *after)
{
	*after = value;
	if (r->kind != PUT && r->result != value)
		return false;
	switch ((enum kind)r->kind) {
	case PUT:
	case SWAP:
		*after = r->value;
		break;
	case ADD:
		*after = value + r->value;
		break;
	case XOR:
		*after = value ^ r->value;
		break;
	case CAS:
		*after = value == r->expected ? r->value : value;
		break;
	case GET:
	case KINDS:
		break;
	}
	return true;
}

static bool was_tried(uint32_t mask, uint64_t value)
{
	uint64_t h = (mask * 0x9e3779b97f4a7c15u) ^ (value * 0xd6e8feb86659fd93u);
	uint32_t i = (uint32_t)(h >> 40) % TRIES;

	for (unsigned n = 0; n < 64; n++, i = (i + 1) % TRIES) {
		if (history.seen[i].used != generation) {
			history.seen[i].used = generation;
			history.seen[i].mask = mask;
			history.seen[i].value = value;
			return false;
		}
		if (history.seen[i].mask == mask && history.seen[i].value == value)
			return true;
	}
	return false; /* Full here: search once more. */
}

/* Can the operations that are not in mask follow? */
static bool can_explain(uint32_t mask, uint64_t value)
{
	uint64_t first_end = UINT64_MAX, after;
	unsigned i;

	if (mask == (1u << history.count) - 1)
		return true;
	if (was_tried(mask, value))
		return false;
	for (i = 0; i < history.count; i++)
		if (!(mask >> i & 1) && history.op[i].end < first_end)
			first_end = history.op[i].end;
	for (i = 0; i < history.count; i++)
		if (!(mask >> i & 1) && history.op[i].begin <= first_end &&
		    apply_record(&history.op[i], value, &after) &&
		    can_explain(mask | 1u << i, after))
			return true;
	return false;
}

static bool is_linearizable(void)
{
	generation++;
	return can_explain(0, 0);
}

static void print_history(void)
{
	static const char *const name[] = {"put", "get", "swap", "add", "xor", "cas"};
	uint64_t zero = UINT64_MAX;
	unsigned i;

	for (i = 0; i < history.count; i++)
		zero = history.op[i].begin < zero ? history.op[i].begin : zero;
	for (i = 0; i < history.count; i++) {
		const struct record *r = &history.op[i];

		fprintf(stderr, "  rank %u: %6llu to %6llu ns: %s %llu (expected %llu) gave %llu\n",
			i / OPS, (unsigned long long)(r->begin - zero),
			(unsigned long long)(r->end - zero), name[r->kind],
			(unsigned long long)r->value, (unsigned long long)r->expected,
			(unsigned long long)r->result);
	}
}

/* The checker finds a value that came from nowhere, and a read that is too old. */
static void checker_can_fail(void)
{
	history.count = 2;
	history.op[0] = (struct record){.begin = 0, .end = 5, .kind = PUT, .value = 7};
	history.op[1] = (struct record){.begin = 3, .end = 9, .kind = GET, .result = 0};
	CHECK(is_linearizable());
	history.op[1].result = 7;
	CHECK(is_linearizable());
	history.op[1].result = 8;
	CHECK(!is_linearizable());
	history.op[1].result = 0;
	history.op[1].begin = 6;
	CHECK(!is_linearizable());
}

static uint64_t unexplained; /* histories that this rank has checked */

static void check_batch(gva_t board, int rounds)
{
	static struct record all[RANKS_MAX][BATCH][OPS];
	int r, b;

	CHECK_EQ(agas_put(board + (gva_t)me * sizeof(mine), mine, sizeof(mine)), 0);
	CHECK_EQ(agas_barrier(), 0);
	/* Each rank checks some of the words. */
	for (r = 0; r < ranks; r++)
		CHECK_EQ(agas_get(all[r], board + (gva_t)r * sizeof(mine), sizeof(mine)), 0);
	CHECK_EQ(agas_fence(), 0);
	for (b = me; b < rounds; b += ranks) {
		history.count = (unsigned)ranks * OPS;
		for (r = 0; r < ranks; r++)
			memcpy(&history.op[r * OPS], all[r][b], sizeof(all[r][b]));
		if (is_linearizable())
			continue;
		unexplained++;
		if (!check_failures++)
			print_history();
		fprintf(stderr, "rank %d: no order explains round %d\n", me, b);
	}
	CHECK_EQ(agas_barrier(), 0);
}

/* Do all ranks go on? Not after `n` batches if one of them has had enough. */
static bool is_enough(gva_t ballot, long n, bool mine_is)
{
	gva_t word = ballot + (gva_t)(n % 2) * 8;
	uint64_t votes = 0;

	if (mine_is)
		CHECK_EQ(agas_fetch_add64(word, 1, NULL), 0);
	CHECK_EQ(agas_barrier(), 0);
	CHECK_EQ(agas_get(&votes, word, 8), 0);
	CHECK_EQ(agas_fence(), 0);
	return votes != 0;
}

/* How long to run, from the arguments; 0: not by time. */
static uint64_t parse_seconds(int argc, char **argv)
{
	char *end = "";
	uint64_t seconds = 0;

	if (argc > 1 && !strcmp(argv[argc - 1], "--seconds"))
		end = "none";
	if (argc > 2 && !strcmp(argv[argc - 2], "--seconds")) {
		seconds = strtoull(argv[argc - 1], &end, 10);
		if (!seconds || seconds > 1000000)
			end = argv[argc - 1];
	}
	if (!*end)
		return seconds;
	fprintf(stderr, "agas_fuzz: --seconds takes a number from 1 to 1000000, not '%s'\n", end);
	exit(2);
}

/* Say what has been checked so far. Rank 0. */
static void print_progress(uint64_t begin, long batches, uint64_t wrong)
{
	printf("%.0f s: %ld histories of %d operations checked, %llu that no order explains\n",
	       (double)(now_ns() - begin) * 1e-9, batches * BATCH, ranks * OPS,
	       (unsigned long long)wrong);
	fflush(stdout);
}

/* What all ranks have found. Collective. */
static uint64_t sum_unexplained(gva_t word)
{
	uint64_t sum = 0;

	CHECK_EQ(agas_fetch_add64(word, unexplained, NULL), 0);
	CHECK_EQ(agas_barrier(), 0);
	CHECK_EQ(agas_get(&sum, word, 8), 0);
	CHECK_EQ(agas_fence(), 0);
	return sum;
}

int main(int argc, char **argv)
{
	const char *more = getenv("QT_LONG");
	bool is_virtual = argc > 1 && !strcmp(argv[1], "virtual");
	long batches = (more && atol(more) ? atol(more) : 1) * (is_virtual ? 3 : 10), n = 0;
	uint64_t seconds = parse_seconds(argc, argv), begin = now_ns(), said = begin, wrong;
	uint64_t end = seconds ? begin + seconds * 1000000000u : UINT64_MAX;
	gva_t board, ballot, words;
	int b;

	if (seconds)
		batches = LONG_MAX;
	job_begin();
	if (ranks > RANKS_MAX) {
		fprintf(stderr, "at most %d ranks\n", RANKS_MAX);
		return 1;
	}
	checker_can_fail();
	board = agas_map_all(sizeof(mine) * (size_t)ranks, AGAS_CYCLIC);
	ballot = agas_map_all(page, AGAS_CYCLIC);
	do {
		words = agas_map_all(BATCH * SPAN, n % 2 ? AGAS_CYCLIC : AGAS_BLOCKED);
		for (b = 0; b < BATCH; b++) {
			if (b % 8 == 0)
				CHECK_EQ(agas_barrier(), 0);
			/* In the first, a middle and the last packet of its span. */
			one_round(words + (gva_t)b * SPAN + (gva_t)(b % 3) * (SPAN / 2 - 4) / 8 * 8,
				  mine[b]);
		}
		CHECK_EQ(agas_barrier(), 0);
		check_batch(board, BATCH);
		if (me == 0)
			CHECK_EQ(agas_unmap(words, BATCH * SPAN), 0);
		n++;
		if (seconds && me == 0 && now_ns() - said >= PROGRESS_S * 1000000000ull) {
			said = now_ns();
			print_progress(begin, n, unexplained); /* another rank's end the run */
		}
	} while (!is_enough(ballot, n, n >= batches || check_failures || now_ns() >= end));
	wrong = sum_unexplained(ballot + 16);
	if (seconds && me == 0)
		print_progress(begin, n, wrong);
	return job_end();
}
