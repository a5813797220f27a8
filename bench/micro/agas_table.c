/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lookups a second in the table of owners and blocks (agas/table/table.h), with random keys that
 * are there, beside what the machine allows: reads of random cache lines of as many bytes, in plain
 * C. All variants run in alternating blocks of 20 ms, each with one reader, then with two.
 *
 * usage: agas_table [--keys LOG2] [--readers N] [--rounds N] [--absent 1] [--json]
 *
 *   memory       a random line of an array of the table's size; addresses do not wait for data
 *   concurrent   agas_table_find(), as the library uses it
 *   one lock     the same with one lock around everything
 *   no lock      the simple form, which only one thread may use while nobody writes
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agas/table/table.h"
#include "bench/bench.h"
#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"

enum variant { MEMORY, CONCURRENT, LOCK, ALONE, VARIANTS };
enum { READERS_MAX = 64, LARGE_PAGE = 2 << 20 };

static struct {
	long keys, readers, rounds, absent;
} option = {20, 2, 9, 0};

static struct agas_table *table[VARIANTS];
static uint64_t *memory, lines;
static size_t keys;

struct reader {
	pthread_t thread;
	enum variant variant;
	unsigned index, of;
	uint64_t lookups, wrong;
	double ns;
};

static pthread_barrier_t start;

static uint64_t key_of(uint64_t i)
{
	return (i + 1) << 12;
}

static uint64_t next_random(uint64_t *x)
{
	*x = *x * 6364136223846793005u + 1;
	return *x >> 33;
}

static uint64_t read_memory(uint64_t *x, uint64_t n)
{
	uint64_t sum = 0;

	while (n--)
		sum += memory[(agas_hash(key_of(next_random(x))) & (lines - 1)) * 8];
	return sum;
}

/* Returns how many lookups did not find what they had to. */
static uint64_t look_up(struct agas_table *t, uint64_t *x, uint64_t n)
{
	uint64_t wrong = 0, first = option.absent ? keys : 0;

	while (n--) {
		uint64_t i = (next_random(x) & (keys - 1)) + first, value = 0;
		bool found = agas_table_find(t, key_of(i), &value);

		wrong += found ? value != i : !first;
	}
	return wrong;
}

static void *run_reader(void *arg)
{
	struct reader *r = arg;
	uint64_t x = r->index + 1, begun, now, until, sum = 0;

	bench_pin_to_core(r->index, r->of);
	pthread_barrier_wait(&start);
	now = begun = drv_clock_ns();
	until = begun + 20000000;
	for (; now < until; now = drv_clock_ns(), r->lookups += 1000) {
		if (r->variant == MEMORY)
			sum += read_memory(&x, 1000);
		else
			r->wrong += look_up(table[r->variant], &x, 1000);
	}
	r->ns = (double)(now - begun);
	__asm__ volatile("" ::"r"(sum));
	return NULL;
}

/* Million lookups a second of all readers; exits if one found the wrong value. */
static double measure_once(enum variant variant, unsigned readers)
{
	struct reader r[READERS_MAX] = {0};
	double rate = 0;

	pthread_barrier_init(&start, NULL, readers);
	for (unsigned i = 0; i < readers; i++) {
		r[i] = (struct reader){.variant = variant, .index = i, .of = readers};
		if (pthread_create(&r[i].thread, NULL, run_reader, &r[i])) {
			fprintf(stderr, "agas_table: no thread for reader %u\n", i);
			exit(1);
		}
	}
	for (unsigned i = 0; i < readers; i++) {
		pthread_join(r[i].thread, NULL);
		rate += (double)r[i].lookups * 1e3 / r[i].ns;
		if (r[i].wrong) {
			fprintf(stderr, "agas_table: %llu lookups found a wrong value\n",
				(unsigned long long)r[i].wrong);
			exit(1);
		}
	}
	pthread_barrier_destroy(&start);
	return rate;
}

static void measure_readers(enum bench_format format, unsigned readers)
{
	static const char *const name[] = {"memory", "concurrent", "one lock", "no lock"};
	struct bench_samples rate[VARIANTS] = {{0}};
	char of[64];

	for (long n = 0; n <= option.rounds; n++)
		for (int v = 0; v < VARIANTS; v++) {
			double value = measure_once((enum variant)v, readers);

			if (n) /* the first warms up */
				bench_samples_add(&rate[v], value);
		}
	for (int v = 0; v < VARIANTS; v++) {
		struct bench_row row = {.bench = "table",
					.variant = of,
					.bytes = lines * 64,
					.unit = "M/s",
					.from = -1,
					.to = -1,
					.hops = -1,
					.pairs = readers,
					.check = v == MEMORY ? "" : "ok"};

		snprintf(of, sizeof(of), "%s, %u reader%s", name[v], readers,
			 readers > 1 ? "s" : "");
		bench_row_value(&row, &rate[v]);
		bench_out_row(format, &row);
		bench_samples_free(&rate[v]);
	}
}

static bool make_tables(void)
{
	static const enum agas_table_rule rule[] = {[CONCURRENT] = AGAS_TABLE_CONCURRENT,
						    [LOCK] = AGAS_TABLE_LOCK,
						    [ALONE] = AGAS_TABLE_ALONE};

	for (int v = CONCURRENT; v < VARIANTS; v++) {
		table[v] = agas_table_create(keys, rule[v], false);
		for (uint64_t i = 0; table[v] && i < keys; i++)
			if (agas_table_put(table[v], key_of(i), i, NULL) < 0)
				return false;
		if (!table[v])
			return false;
	}
	/* As many lines as the table has buckets, in pages of the same size. */
	for (lines = 1; lines * 2 * 64 <= agas_table_bytes(table[CONCURRENT]); lines *= 2)
		;
	memory = aligned_alloc(LARGE_PAGE, (lines * 64 + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE);
	if (!memory)
		return false;
	if (lines * 64 >= LARGE_PAGE)
		(void)madvise(memory, lines * 64, MADV_HUGEPAGE);
	memset(memory, 1, lines * 64);
	return true;
}

int main(int argc, char **argv)
{
	const struct {
		const char *name;
		long *value;
	} known[] = {{"--keys", &option.keys},
		     {"--readers", &option.readers},
		     {"--rounds", &option.rounds},
		     {"--absent", &option.absent}};
	enum bench_format format = BENCH_TABLE;
	char text[32];
	const char *const facts[] = {"keys", text, NULL};

	for (int i = 1; i < argc; i++) {
		size_t k = 0;

		if (!strcmp(argv[i], "--json")) {
			format = BENCH_JSON;
			continue;
		}
		while (k < 4 && strcmp(argv[i], known[k].name))
			k++;
		if (k == 4 || i + 1 == argc) {
			fprintf(stderr, "usage: agas_table [--keys LOG2] [--readers N] "
					"[--rounds N] [--absent 1] [--json]\n");
			return 2;
		}
		*known[k].value = atol(argv[++i]);
	}
	if (option.keys < 1 || option.keys > 28 || option.readers < 1 ||
	    option.readers > READERS_MAX || option.rounds < 1) {
		fprintf(stderr,
			"agas_table: 1 to 28 for --keys, 1 to %d for --readers, 1 or more "
			"for --rounds\n",
			READERS_MAX);
		return 2;
	}
	keys = (size_t)1 << option.keys;
	snprintf(text, sizeof(text), "%zu", keys);
	if (!make_tables()) {
		fprintf(stderr, "agas_table: no memory for %zu keys\n", keys);
		return 1;
	}
	bench_out_begin(format, facts);
	for (unsigned n = 1; n <= (unsigned)option.readers; n++)
		measure_readers(format, n);
	for (int v = CONCURRENT; v < VARIANTS; v++)
		agas_table_destroy(table[v]);
	free(memory);
	return 0;
}
