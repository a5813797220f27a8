/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gbench COMMAND: measure libagas. Rank 0 prints a line for each row, with the counters of the run.
 *
 *   paths    one put of 8 bytes and a fence by each way that it can take (agas-t1)
 *   latency  put and fence by size, owner cached (agas-f8)
 *   beside   put and fence of 8 bytes, owner cached, in alternating blocks with a put of PAMI to a
 *            known address that waits until the data is in place there
 *   rate     puts a second with 64 (--outstanding N: N) outstanding, by size (agas-f9)
 *   gups     random updates of a table by get and put, then checked with atomics (agas-f11 to f13)
 *   remap    updates of 4 pages while they move, remaps timed apart (agas-f15)
 *   chase    calls of all ranks to one page, which moves all the time: moves a second, and how many
 *            forwards the calls took; the sum is checked
 *   contend  updates while other threads of each rank look up owners (agas-f14); real time
 *   graph    imbalance of an R-MAT graph by policy (agas-g500); one rank, no messages
 *
 * Options, after the command: --iterations N, --words LOG2, --updates N, --remaps N, --threads N,
 * --uniform 1 (gups: independent addresses, not the published shift register), --sources N (gups:
 * only the first N ranks update), --verify 0 (gups: only the timed pass), --permute 0 (graph:
 * labels as they were made). What the tags mean: docs/references.md. Cache and page size:
 * QUINTORUS_AGAS_CACHE and alike. Works in both clocks.
 */
#include <agas.h>
#include <pami.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "bench/agas_counters.h"
#include "drivers/base/atomic.h"
#include "drivers/base/rng.h"

static int me, ranks;
static size_t page;
static struct {
	long iterations, words, updates, remaps, uniform, threads, verify, permute, outstanding,
	    sources;
} option = {2000, 14, 4000, 16, 0, 0, 1, 1, 64, 0};

static double now_us(void)
{
	return PAMI_Wtime(NULL) * 1e6;
}

static void check_call(int rc, const char *what)
{
	if (!rc)
		return;
	fprintf(stderr, "gbench: %s: %s\n", what, agas_error_text(rc));
	exit(1);
}

static struct agas_stats stats_reset(void)
{
	struct agas_stats s;

	agas_stats(&s, 1);
	return s;
}

/* The first page from base on whose home is a rank. */
static gva_t page_at_home(gva_t base, int home)
{
	while (agas_home(base) != home)
		base += page;
	return base;
}

/* ---- one put ---- */

enum path { CACHED, MISS, STALE, LOCAL, PATHS };

static void put_once(gva_t at, uint64_t v)
{
	check_call(agas_put(at, &v, sizeof(v)), "put");
	check_call(agas_fence(), "fence");
}

/* The source's entry is put back before each put; that is not timed. */
static double time_path(enum path path, gva_t at, int former)
{
	double sum = 0, start;

	for (long i = 0; i < option.iterations; i++) {
		if (path == MISS)
			agas_cache_forget(at);
		if (path == STALE)
			agas_cache_teach(at, former);
		start = now_us();
		put_once(at, (uint64_t)i);
		sum += now_us() - start;
	}
	return sum / (double)option.iterations;
}

/* Rank 0 is the source, rank 1 the owner, rank 2 the former owner, rank 3 the home. */
static void measure_paths(void)
{
	static const char *const name[] = {"cached", "miss", "stale", "local"};
	gva_t base = agas_map_all(8 * (size_t)ranks * page, AGAS_CYCLIC), at, own;
	double cached = 0;

	at = page_at_home(base, 3 % ranks);
	own = page_at_home(base, 0);
	if (me == 0) {
		check_call(agas_remap(at, 2 % ranks), "remap");
		check_call(agas_remap(at, 1 % ranks), "remap");
		for (int i = 0; i < 100; i++)
			put_once(at, 1);
	}
	check_call(agas_barrier(), "barrier");
	for (int p = 0; p < PATHS; p++) {
		double us = 0;

		stats_reset();
		if (me == 0)
			us = time_path((enum path)p, p == LOCAL ? own : at, 2 % ranks);
		check_call(agas_barrier(), "barrier");
		if (me == 0) {
			struct agas_stats s = stats_reset();

			cached = p == CACHED ? us : cached;
			printf("agas-t1 %-7s %8.3f us  %5.2f of cached; at the source: %.2f "
			       "lookups, %.2f "
			       "requests a put\n",
			       name[p], us, us / cached,
			       (double)s.lookups / (double)option.iterations,
			       (double)s.requests / (double)option.iterations);
			bench_agas_print_counters(&s);
		}
	}
}

/* ---- sizes ---- */

static void measure_latency(void)
{
	gva_t base = agas_map_all(128 * (size_t)ranks * page, AGAS_BLOCKED);
	gva_t at = base + 128 * page; /* the second rank's run */
	char *buffer = calloc(1, 65536);
	struct agas_stats s;

	stats_reset();
	for (size_t bytes = 1; bytes <= 65536 && me == 0; bytes *= 2) {
		double start;
		long n = bytes > 4096 ? option.iterations / 4 + 1 : option.iterations;

		check_call(agas_put(at, buffer, bytes), "put");
		check_call(agas_fence(), "fence");
		start = now_us();
		for (long i = 0; i < n; i++) {
			check_call(agas_put(at, buffer, bytes), "put");
			check_call(agas_fence(), "fence");
		}
		printf("agas-f8 put+fence %6zu B %9.3f us\n", bytes,
		       (now_us() - start) / (double)n);
	}
	check_call(agas_barrier(), "barrier");
	s = stats_reset();
	if (me == 0)
		bench_agas_print_counters(&s);
	free(buffer);
}

static void measure_rate(void)
{
	enum { OUTSTANDING_MAX = 64 };
	long outstanding =
	    option.outstanding < OUTSTANDING_MAX ? option.outstanding : OUTSTANDING_MAX;
	gva_t at = page_at_home(agas_map_all((size_t)ranks * page, AGAS_CYCLIC), 1 % ranks);
	static char buffer[4096];
	agas_req_t r[OUTSTANDING_MAX];
	struct agas_stats s;

	stats_reset();
	for (size_t bytes = 1; bytes <= page && bytes <= sizeof(buffer) && me == 0; bytes *= 2) {
		double start = now_us();
		long n = option.iterations * 4;

		for (long i = 0; i < n; i++) {
			if (i >= outstanding)
				check_call(agas_wait(&r[i % outstanding]), "put");
			check_call(agas_put_nb(at, buffer, bytes, &r[i % outstanding]), "put");
		}
		check_call(agas_fence(), "fence");
		printf("agas-f9 rate %5zu B %9.3f M puts/s\n", bytes,
		       (double)n / (now_us() - start));
	}
	check_call(agas_barrier(), "barrier");
	s = stats_reset();
	if (me == 0)
		bench_agas_print_counters(&s);
}

/* ---- a put of AGAS beside one of PAMI ---- */

/* A client of PAMI's beside the library's. Rank 0 puts into `memory` of rank 1. */
static struct {
	pami_client_t client;
	pami_context_t context;
	pami_memregion_t region, remote;
	pami_endpoint_t to;
	char memory[64], *address; /* here; of rank 1 */
	volatile long done;
} raw;

static void check_pami(pami_result_t result, const char *what)
{
	if (result == PAMI_SUCCESS)
		return;
	fprintf(stderr, "gbench: %s failed with result %d\n", what, (int)result);
	exit(1);
}

static void raw_in_place(pami_context_t context, void *cookie, pami_result_t result)
{
	(void)context;
	(void)cookie;
	check_pami(result, "PAMI_Rput");
	raw.done++;
}

/* Rank 1 tells rank 0 by AGAS where its memory is. */
static void raw_open(void)
{
	gva_t board = agas_map_all(512, AGAS_CYCLIC);
	size_t bytes;

	check_pami(PAMI_Client_create("gbench", &raw.client, NULL, 0), "PAMI_Client_create");
	check_pami(PAMI_Context_createv(raw.client, NULL, 0, &raw.context, 1),
		   "PAMI_Context_createv");
	check_pami(
	    PAMI_Memregion_create(raw.context, raw.memory, sizeof(raw.memory), &bytes, &raw.region),
	    "PAMI_Memregion_create");
	check_pami(PAMI_Endpoint_create(raw.client, 1, 0, &raw.to), "PAMI_Endpoint_create");
	raw.address = raw.memory;
	if (me == 1) {
		check_call(agas_put(board, &raw.region, sizeof(raw.region)), "put");
		check_call(agas_put(board + 256, &raw.address, sizeof(raw.address)), "put");
	}
	check_call(agas_barrier(), "barrier");
	check_call(agas_get(&raw.remote, board, sizeof(raw.remote)), "get");
	check_call(agas_get(&raw.address, board + 256, sizeof(raw.address)), "get");
	check_call(agas_barrier(), "barrier");
}

static void raw_close(void)
{
	PAMI_Memregion_destroy(raw.context, &raw.region);
	PAMI_Context_destroyv(&raw.context, 1);
	PAMI_Client_destroy(&raw.client);
}

static void raw_wait(long before)
{
	while (raw.done == before)
		PAMI_Context_advance(raw.context, 1);
}

/* By region: the messaging unit writes. */
static void raw_rput(void)
{
	pami_rput_simple_t p = {.rma = {.dest = raw.to, .bytes = 8},
				.rdma = {.local.mr = &raw.region, .remote.mr = &raw.remote},
				.put.rdone_fn = raw_in_place};
	long before = raw.done;

	check_pami(PAMI_Rput(raw.context, &p), "PAMI_Rput");
	raw_wait(before);
}

/* By address. */
static void raw_put(void)
{
	pami_put_simple_t p = {.rma = {.dest = raw.to, .bytes = 8},
			       .addr = {.local = raw.memory, .remote = raw.address},
			       .put.rdone_fn = raw_in_place};
	long before = raw.done;

	check_pami(PAMI_Put(raw.context, &p), "PAMI_Put");
	raw_wait(before);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_blocks(const char *name, double *us, int blocks)
{
	qsort(us, (size_t)blocks, sizeof(*us), compare_doubles);
	printf("put beside PAMI: %-23s %8.3f (%.3f to %.3f)\n", name, us[blocks / 2], us[0],
	       us[blocks - 1]);
}

/* Rank 0 measures; rank 1 answers on both contexts until `stop` says that it may go. */
static void measure_beside(void)
{
	enum { BLOCKS = 21 };
	static const char *const name[] = {"AGAS, us", "PAMI_Rput, us", "PAMI_Put, us"};
	double us[3][BLOCKS], ratio[BLOCKS], start;
	gva_t base = agas_map_all((size_t)ranks * page, AGAS_CYCLIC), at, stop;
	long n = option.iterations / BLOCKS + 1;
	void *word = NULL;

	at = page_at_home(base, 1);
	stop = at + 64;
	raw_open();
	if (me == 1 && agas_try_pin(stop, &word)) {
		while (!atomic_load_acquire((uint64_t *)word)) {
			PAMI_Context_advance(raw.context, 1);
			agas_progress();
		}
		agas_unpin(stop);
	}
	for (int b = -1; me == 0 && b < BLOCKS; b++) {
		int i = b < 0 ? 0 : b; /* the first warms up */

		for (int v = 0; v < 3; v++) {
			start = now_us();
			for (long k = 0; k < n; k++) {
				if (v == 0)
					put_once(at, (uint64_t)k);
				else if (v == 1)
					raw_rput();
				else
					raw_put();
			}
			us[v][i] = (now_us() - start) / (double)n;
		}
		ratio[i] = us[0][i] / (us[1][i] < us[2][i] ? us[1][i] : us[2][i]);
	}
	if (me == 0) {
		put_once(stop, 1);
		for (int v = 0; v < 3; v++)
			print_blocks(name[v], us[v], BLOCKS);
		print_blocks("AGAS : the less of PAMI", ratio, BLOCKS);
	}
	check_call(agas_barrier(), "barrier");
	raw_close();
}

/* ---- random updates ---- */

static uint64_t stream_next(uint64_t x)
{
	return x << 1 ^ (x >> 63 ? 7 : 0);
}

static uint64_t stream_begin(uint64_t steps)
{
	uint64_t x = 1;

	while (steps--)
		x = stream_next(x);
	return x;
}

/* The word that an update of the stream touches. */
static uint64_t word_of(uint64_t x)
{
	struct drv_rng mix = {x};

	return (option.uniform ? drv_rng_next(&mix) : x) & (((uint64_t)1 << option.words) - 1);
}

static double update_all(gva_t table, bool atomic, long mine)
{
	uint64_t x = stream_begin((uint64_t)(me * mine) + 64);
	double start;

	check_call(agas_barrier(), "barrier");
	start = now_us();
	for (long i = 0; i < mine; i++) {
		gva_t at = table + 8 * word_of(x);
		uint64_t v;

		if (atomic) {
			check_call(agas_fetch_xor64(at, x, NULL), "xor");
		} else {
			check_call(agas_get(&v, at, 8), "get");
			check_call(agas_fence(), "fence");
			v ^= x;
			check_call(agas_put(at, &v, 8), "put");
			check_call(agas_fence(), "fence");
		}
		x = stream_next(x);
	}
	check_call(agas_barrier(), "barrier");
	return now_us() - start;
}

static void measure_gups(void)
{
	size_t words = (size_t)1 << option.words, i;
	gva_t table = agas_map_all(words * 8, AGAS_CYCLIC);
	int sources = option.sources && option.sources < ranks ? (int)option.sources : ranks;
	long mine = me < sources ? option.updates / sources : 0, wrong = 0;
	struct agas_stats s;
	double us;

	/* By atomics twice: the second pass must undo the first. Then the published way, timed. */
	if (option.verify) {
		update_all(table, true, mine);
		update_all(table, true, mine);
	}
	for (i = (size_t)me; option.verify && i < words; i += (size_t)ranks) {
		uint64_t v;

		check_call(agas_get(&v, table + 8 * i, 8), "get");
		check_call(agas_fence(), "fence");
		wrong += v != 0;
	}
	for (i = 0; i < words * 8 / page; i++)
		agas_cache_forget(table + i * page);
	stats_reset();
	us = update_all(table, false, mine);
	s = stats_reset();
	if (wrong)
		fprintf(stderr, "rank %d: %ld words are wrong\n", me, wrong);
	if (me == 0)
		printf(
		    "agas-f11 gups %d ranks: %.6f M updates/s; rank 0: hits/access %.3f "
		    "misses/update "
		    "%.3f evictions/update %.3f, cache %llu entries of %.1f bytes; verified: %s\n",
		    ranks, (double)(mine * sources) / us,
		    (double)s.hits / ((double)(s.hits + s.misses) + 1e-9),
		    (double)s.misses / (double)mine, (double)s.evictions / (double)mine,
		    (unsigned long long)s.cache_entries,
		    s.cache_entries ? (double)s.cache_bytes / (double)s.cache_entries : 0,
		    wrong           ? "NO"
		    : option.verify ? "yes"
				    : "not asked for");
	if (me == 0)
		bench_agas_print_counters(&s);
	if (wrong)
		exit(1);
}

/* ---- updates while pages move ---- */

/* By all ranks; rank 0 gets the mean, the others 0. */
static double mean_of_ranks(double us)
{
	gva_t sum = agas_map_all(8, AGAS_CYCLIC);
	uint64_t all = 0;

	check_call(agas_fetch_add64(sum, (uint64_t)(us * 1e3), NULL), "add");
	check_call(agas_barrier(), "barrier");
	if (me == 0) {
		check_call(agas_get(&all, sum, 8), "get");
		check_call(agas_fence(), "fence");
	}
	check_call(agas_barrier(), "barrier");
	return (double)all * 1e-3 / ranks;
}

static void measure_remaps(void)
{
	enum { PAGES = 4 };
	gva_t table = agas_map_all(PAGES * page, AGAS_CYCLIC);
	long mine = option.updates / ranks, every, done = 0, moves;
	double start, begun, moving = 0, us, share;
	struct agas_stats s;
	struct drv_rng rng;

	drv_rng_seed(&rng, (uint64_t)me + 1);
	every = option.remaps ? mine / option.remaps : 0;
	stats_reset();
	check_call(agas_barrier(), "barrier");
	start = now_us();
	for (long i = 0; i < mine; i++) {
		gva_t at = table + (drv_rng_next(&rng) % (PAGES * page / 8)) * 8;
		uint64_t v;

		check_call(agas_get(&v, at, 8), "get");
		check_call(agas_fence(), "fence");
		check_call(agas_put(at, &v, 8), "put");
		check_call(agas_fence(), "fence");
		if (me || !every || i % every || done == option.remaps)
			continue;
		begun = now_us();
		/* The last page first, so that no page joins another while there are ranks enough.
		 */
		moves = PAGES - 1 - done % PAGES;
		check_call(agas_remap(table + (gva_t)moves * page,
				      (int)(moves + done / PAGES + 1) % ranks),
			   "remap");
		moving += now_us() - begun;
		done++;
	}
	us = now_us() - start - moving;
	share = moving / (us + moving);
	check_call(agas_barrier(), "barrier");
	s = stats_reset();
	us = mean_of_ranks(us);
	if (me == 0)
		printf("agas-f15 %4ld remaps, %d ranks: %8.3f us an update (mean of ranks), %8.3f "
		       "us a remap, a page moves %.1f%% of the time; rank 0: %llu stale, %llu "
		       "forwards\n",
		       done, ranks, us / (double)mine, done ? moving / (double)done : 0,
		       100 * share, (unsigned long long)s.stale, (unsigned long long)s.forwards);
	if (me == 0)
		bench_agas_print_counters(&s);
}

/* ---- calls to a page that moves all the time ---- */

static int count_call(gva_t target, void *lva, const void *arg, size_t n, int source)
{
	(void)target;
	(void)arg;
	(void)n;
	(void)source;
	++*(uint64_t *)lva;
	return AGAS_DONE;
}

/* Rank 0 moves the page from rank to rank until all others are done. Returns the moves. */
static long move_until_done(gva_t at, gva_t finished, int action, long calls)
{
	agas_req_t r = {0};
	uint64_t done = 0;
	long moves = 0;

	/* Its own calls, one beside each move. */
	for (; done < (uint64_t)ranks - 1 || calls > 0; moves++) {
		if (calls-- > 0)
			check_call(agas_call_nb(at, action, NULL, 0, &r), "call");
		check_call(agas_remap(at, (int)(moves + 1) % ranks), "remap");
		check_call(agas_wait(&r), "call");
		check_call(agas_get(&done, finished, 8), "get");
		check_call(agas_fence(), "fence");
	}
	return moves;
}

static void measure_chase(void)
{
	enum { KINDS = 5 };
	gva_t base = agas_map_all((size_t)ranks * page, AGAS_CYCLIC);
	/* The page that moves has its home at the last rank; the sums are at the first. */
	gva_t at = page_at_home(base, ranks - 1), sums = agas_map_all(page, AGAS_BLOCKED);
	int action = agas_register(count_call);
	long mine = option.updates / ranks, moves = 0;
	uint64_t count = 0, after[KINDS] = {0}, all = 0;
	struct agas_stats s = stats_reset();
	double start, us;

	check_call(agas_barrier(), "barrier");
	start = now_us();
	if (me == 0)
		moves = move_until_done(at, sums + 8 * KINDS, action, mine);
	for (long i = 0; me && i < mine; i++) {
		agas_req_t r;

		check_call(agas_call_nb(at, action, NULL, 0, &r), "call");
		check_call(agas_wait(&r), "call");
	}
	if (me)
		check_call(agas_fetch_add64(sums + 8 * KINDS, 1, NULL), "add");
	us = now_us() - start;
	check_call(agas_barrier(), "barrier");
	/* Of the requests that software carried out, those that were no calls are few. */
	s = stats_reset();
	after[0] = s.after_0;
	after[1] = s.after_1;
	after[2] = s.after_2;
	after[3] = s.after_3;
	after[4] = s.after_more;
	for (int k = 0; k < KINDS; k++)
		check_call(agas_fetch_add64(sums + 8 * (gva_t)k, after[k], NULL), "add");
	check_call(agas_barrier(), "barrier");
	if (me)
		return;
	check_call(agas_get(&count, at, 8), "get");
	check_call(agas_get(after, sums, sizeof(after)), "get");
	check_call(agas_fence(), "fence");
	for (int k = 0; k < KINDS; k++)
		all += after[k];
	printf(
	    "agas-chase %d ranks: %.0f moves/s, %.0f calls/s; requests after 0, 1, 2, 3 and more "
	    "forwards: %.3f %.3f %.3f %.3f %.3f; %llu calls counted: %s\n",
	    ranks, (double)moves / us * 1e6, (double)count / us * 1e6,
	    (double)after[0] / (double)all, (double)after[1] / (double)all,
	    (double)after[2] / (double)all, (double)after[3] / (double)all,
	    (double)after[4] / (double)all, (unsigned long long)count,
	    count == (uint64_t)(mine * ranks) ? "right" : "WRONG");
	bench_agas_print_counters(&s);
	if (count != (uint64_t)(mine * ranks))
		exit(1);
}

/* ---- updates beside threads that look up owners ---- */

static struct {
	gva_t table;
	size_t pages;
	atomic_u32 stop;
	atomic_u64 lookups;
} contention;

static void *look_up(void *arg)
{
	struct drv_rng rng;
	uint64_t n = 0;

	drv_rng_seed(&rng, (uint64_t)(uintptr_t)arg);
	prctl(PR_SET_TIMERSLACK, 1);
	for (; !atomic_load_relaxed(&contention.stop); n++) {
		struct timespec t = {.tv_nsec = 2000 + (long)drv_rng_below(&rng, 8000)};

		(void)agas_owner(contention.table + drv_rng_below(&rng, contention.pages) * page);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
	}
	atomic_fetch_add_relaxed(&contention.lookups, n);
	return NULL;
}

static void measure_contention(void)
{
	enum { THREADS_MAX = 64 };
	size_t words = (size_t)1 << option.words, i;
	long mine = option.updates / ranks;
	pthread_t thread[THREADS_MAX];
	struct agas_stats s;
	double us;
	long n;

	contention.table = agas_map_all(words * 8, AGAS_CYCLIC);
	contention.pages = words * 8 / page ? words * 8 / page : 1;
	for (i = 0; i < contention.pages; i++) { /* all owners are cached */
		uint64_t v;

		check_call(agas_get(&v, contention.table + i * page, 8), "get");
		check_call(agas_fence(), "fence");
	}
	check_call(agas_barrier(), "barrier");
	for (n = 0; n < option.threads && n < THREADS_MAX; n++)
		if (pthread_create(&thread[n], NULL, look_up,
				   (void *)(uintptr_t)(me * THREADS_MAX + n + 1)))
			break;
	stats_reset();
	us = update_all(contention.table, false, mine);
	s = stats_reset();
	atomic_store_relaxed(&contention.stop, 1);
	while (n)
		pthread_join(thread[--n], NULL);
	check_call(agas_barrier(), "barrier");
	if (me)
		return;
	printf("agas-f14 %ld threads, %d ranks: %.6f M updates/s, %llu look-ups by threads of "
	       "rank 0\n",
	       option.threads, ranks, (double)(mine * ranks) / us,
	       (unsigned long long)atomic_load_relaxed(&contention.lookups));
	bench_agas_print_counters(&s);
}

/* ---- graph ---- */

enum { PARTITIONS = 1024 };

/* One edge of an R-MAT graph: quadrants with 0.57, 0.19, 0.19, 0.05. */
static void next_edge(struct drv_rng *rng, unsigned scale, uint64_t *from, uint64_t *to)
{
	*from = *to = 0;
	for (unsigned i = 0; i < scale; i++) {
		double x = drv_rng_unit(rng);

		*from = *from << 1 | (x >= 0.76);
		*to = *to << 1 | ((x >= 0.57 && x < 0.76) || x >= 0.95);
	}
}

static double imbalance_of(const uint64_t *load, int nodes)
{
	uint64_t most = 0, sum = 0;

	for (int i = 0; i < nodes; i++) {
		most = load[i] > most ? load[i] : most;
		sum += load[i];
	}
	return (double)most * nodes / (double)sum;
}

static int smallest_of(const uint64_t *degree, const int *node, int of)
{
	int best = -1;

	for (int p = 0; p < PARTITIONS; p++)
		if (node[p] == of && (best < 0 || degree[p] < degree[best]))
			best = p;
	return best;
}

static void graph_policy(const uint64_t *degree, int nodes, enum agas_policy policy)
{
	static const char *const name[] = {"count", "least", "predecessor", "successor", "random"};
	uint64_t load[PARTITIONS] = {0}, sum = 0, bytes = 0;
	int node[PARTITIONS], held[PARTITIONS] = {0}, moves = 0;
	struct drv_rng rng;
	double before;

	drv_rng_seed(&rng, 7);
	for (int p = 0; p < PARTITIONS; p++) {
		node[p] = p % nodes;
		load[node[p]] += degree[p];
		held[node[p]]++;
		sum += degree[p];
	}
	before = imbalance_of(load, nodes);
	for (int n = 0; n < nodes; n++)
		while ((double)load[n] * nodes >= 1.4 * (double)sum && held[n] > 1) {
			int p = smallest_of(degree, node, n), to = 0;

			for (int i = 0; policy == AGAS_BALANCE_LEAST && i < nodes; i++)
				to = load[i] < load[to] ? i : to;
			to = policy == AGAS_BALANCE_PREDECESSOR ? (n + nodes - 1) % nodes
			     : policy == AGAS_BALANCE_SUCCESSOR ? (n + 1) % nodes
			     : policy == AGAS_BALANCE_RANDOM
				 ? (int)drv_rng_below(&rng, (uint64_t)nodes)
				 : to;
			load[n] -= degree[p];
			load[to] += degree[p];
			held[n]--;
			held[to]++;
			node[p] = to;
			bytes += degree[p] * 8 + 1024 * 16;
			moves++;
			if (moves > 10 * PARTITIONS)
				break;
		}
	printf("agas-g500 %4d nodes, %-11s: %4d moves of %7.1f KB, imbalance %.2f to %.2f\n", nodes,
	       name[policy], moves, moves ? (double)bytes / moves / 1000 : 0, before,
	       imbalance_of(load, nodes));
}

static void measure_graph(void)
{
	enum { SCALE = 20, FACTOR = 16 };
	static uint64_t degree[PARTITIONS];
	uint32_t *label = malloc(sizeof(*label) << SCALE);
	struct drv_rng rng;
	uint64_t i, from, to;

	if (me || !label) {
		free(label);
		return;
	}
	drv_rng_seed(&rng, 1);
	for (i = 0; i < 1u << SCALE; i++)
		label[i] = (uint32_t)i;
	for (i = (1u << SCALE) - 1; option.permute && i; i--) { /* a random permutation of labels */
		uint64_t k = drv_rng_below(&rng, i + 1);
		uint32_t was = label[i];

		label[i] = label[k];
		label[k] = was;
	}
	for (i = 0; i < (uint64_t)FACTOR << SCALE; i++) {
		next_edge(&rng, SCALE, &from, &to);
		degree[label[from] >> 10]++;
		degree[label[to] >> 10]++;
	}
	free(label);
	for (int nodes = 64; nodes <= PARTITIONS; nodes *= 2)
		for (int p = AGAS_BALANCE_LEAST; p <= AGAS_BALANCE_RANDOM; p++)
			graph_policy(degree, nodes, (enum agas_policy)p);
}

/* ---- command line ---- */

static int print_usage(void)
{
	fprintf(stderr, "usage: gbench paths|latency|beside|rate|gups|remap|chase|contend|graph "
			"[--iterations N] "
			"[--words LOG2] [--updates N] [--remaps N] [--threads N] [--uniform 1] "
			"[--verify 0] [--permute 0] [--outstanding N] [--sources N]\n");
	return 2;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} command[] = {
	    {"paths", measure_paths}, {"latency", measure_latency},    {"beside", measure_beside},
	    {"rate", measure_rate},   {"gups", measure_gups},          {"remap", measure_remaps},
	    {"chase", measure_chase}, {"contend", measure_contention}, {"graph", measure_graph}};
	const size_t commands = sizeof(command) / sizeof(*command);
	const struct {
		const char *name;
		long *value;
	} options[] = {{"--iterations", &option.iterations},   {"--words", &option.words},
		       {"--updates", &option.updates},         {"--remaps", &option.remaps},
		       {"--uniform", &option.uniform},         {"--threads", &option.threads},
		       {"--verify", &option.verify},           {"--permute", &option.permute},
		       {"--outstanding", &option.outstanding}, {"--sources", &option.sources}};
	const size_t known = sizeof(options) / sizeof(*options);
	size_t c, o;

	for (c = 0; argc > 1 && c < commands && strcmp(argv[1], command[c].name); c++)
		;
	if (argc < 2 || c == commands)
		return print_usage();
	for (int i = 2; i < argc; i += 2) {
		for (o = 0; o < known && strcmp(argv[i], options[o].name); o++)
			;
		if (o == known || i + 1 == argc || atol(argv[i + 1]) < 0)
			return print_usage();
		*options[o].value = atol(argv[i + 1]);
	}
	if (option.words < 1 || option.words > 30 || option.iterations < 1 ||
	    option.outstanding < 1)
		return print_usage();
	check_call(agas_init(&argc, &argv), "init");
	me = agas_pe();
	ranks = agas_npes();
	page = agas_page_size();
	if (command[c].run == measure_beside && ranks < 2) {
		fprintf(stderr, "gbench: beside needs two ranks\n");
		return 2;
	}
	command[c].run();
	check_call(agas_barrier(), "barrier");
	if (me == 0)
		bench_agas_print_network();
	agas_fini();
	return 0;
}
