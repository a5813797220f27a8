/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The limits of the machine itself, measured like the benches, so that each of their rows can be
 * compared with one:
 *
 *   line     one cache line going back and forth between two processes
 *   ring     the same through drivers/base/ring.h: 8 bytes of payload, and its message rate
 *   lane     the same through drivers/base/lane.h, in alternating blocks with the bare line: 8
 *            bytes of payload (half a line), 16 (a line), and 16 in a lane whose first record took
 *            half a line
 *   flags    the rate of the simplest ring: one sender, 8 bytes and their flag in a slot; one or
 *            four slots a line
 *   memcpy   copying 64 KiB and 1 MiB repeatedly (bandwidth of the cache) and 256 MiB (of the
 *            memory)
 *   wake     a thread that sleeps on a futex of the same core: from before the wake-up to its
 *            first instruction
 *   atomic   fetch-and-add on a line that two processors use: operations of both
 *   port     frames back and forth over a driver port, frames a second, bytes a second
 *   udp      datagrams between two programs that spin on plain UDP sockets
 *
 * usage: qlimits line|ring|lane|flags|memcpy|wake|atomic|all [--csv|--json]
 *        qlimits port SPEC --self FILE --peer FILE [--serve] [--csv|--json]
 *        qlimits udp ADDRESS[:PORT] [--serve] [--csv|--json]     (address of the serving side)
 * For `port` and `udp` start one with --serve and one without, in their network namespaces; for
 * `port` with the two files swapped: each writes its address to --self and waits for --peer.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "bench/micro/qlimits.h"
#include "drivers/base/clock.h"
#include "drivers/base/lane.h"
#include "drivers/base/ring.h"

static enum bench_format format;
static int alone; /* yield while waiting, because there is only one core */

void limit_relax(void)
{
	if (alone)
		sched_yield();
}

static void *map_shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("qlimits: memory");
		exit(1);
	}
	memset(p, 0, bytes);
	return p;
}

/* A process that spins for the words of the other side would spin for ever. */
static void on_child(int signal)
{
	static const char words[] = "qlimits: a process that answers died; nothing was measured\n";
	siginfo_t info = {0};

	(void)signal;
	if (!waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid &&
	    (info.si_code != CLD_EXITED || info.si_status)) {
		if (write(2, words, sizeof words - 1) < 0)
			_exit(2);
		_exit(1);
	}
}

static pid_t fork_child(void (*fn)(void *), void *arg)
{
	struct sigaction act = {.sa_handler = on_child, .sa_flags = SA_NOCLDSTOP | SA_RESTART};
	pid_t pid;

	sigaction(SIGCHLD, &act, NULL);
	pid = fork();

	if (pid < 0) {
		perror("qlimits: fork");
		exit(1);
	}
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fn(arg);
		_exit(0);
	}
	return pid;
}

void limit_out(const char *variant, size_t bytes, const char *unit, struct bench_samples *s)
{
	struct bench_row row = {.bench = "limit",
				.variant = variant,
				.bytes = bytes,
				.unit = unit,
				.from = -1,
				.to = -1,
				.hops = -1};

	bench_row_value(&row, s);
	bench_out_row(format, &row);
	bench_samples_free(s);
}

enum { TRIPS = 100000 };

struct lines {
	_Alignas(128) uint64_t there;
	_Alignas(128) uint64_t back;
};

static void line_answer(void *arg)
{
	struct lines *l = arg;

	for (uint64_t i = 1; i <= (uint64_t)TRIPS * (LIMIT_REPETITIONS + 1); i++) {
		while (atomic_load_acquire(&l->there) != i)
			limit_relax();
		atomic_store_release(&l->back, i);
	}
}

static void limit_line(void)
{
	struct lines *l = map_shared(sizeof(*l));
	struct bench_samples s = {0};
	pid_t pid = fork_child(line_answer, l);
	uint64_t i = 0;

	for (int r = 0; r <= LIMIT_REPETITIONS; r++) {
		uint64_t start = drv_clock_ns();

		for (int k = 0; k < TRIPS; k++) {
			atomic_store_release(&l->there, ++i);
			while (atomic_load_acquire(&l->back) != i)
				limit_relax();
		}
		if (r > 0)
			bench_samples_add(&s, (double)(drv_clock_ns() - start) * 0.5e-3 / TRIPS);
	}
	waitpid(pid, NULL, 0);
	limit_out("line", 8, "us", &s);
}

enum { RING_LINES = 1024 };

struct rings {
	struct drv_ring *there, *back;
};

static void ring_send(struct drv_ring *r, struct drv_ring_tx *tx, uint64_t value)
{
	struct drv_ring_record *rec;
	uint64_t position;

	while (!(rec = drv_ring_reserve(r, tx, 8, &position)))
		limit_relax();
	memcpy(rec->payload, &value, 8);
	drv_ring_publish(rec, position);
}

static uint64_t ring_receive(struct drv_ring *r, struct drv_ring_rx *rx)
{
	struct drv_ring_record *rec;
	uint64_t value;

	while (!(rec = drv_ring_peek(r, rx)))
		limit_relax();
	memcpy(&value, rec->payload, 8);
	drv_ring_release(r, rx, rec);
	return value;
}

static void ring_answer(void *arg)
{
	struct rings *r = arg;
	struct drv_ring_tx tx = {0};
	struct drv_ring_rx rx = {0};
	uint64_t n = 0;

	for (int i = 0; i < TRIPS * (LIMIT_REPETITIONS + 1); i++)
		ring_send(r->back, &tx, ring_receive(r->there, &rx));
	/* Then the flood: one answer for every 32 messages, as in qbench rate. */
	while (n < (uint64_t)TRIPS * 32) {
		ring_receive(r->there, &rx);
		if (++n % 32 == 0)
			ring_send(r->back, &tx, n);
	}
}

static void limit_ring(void)
{
	struct rings r = {map_shared(drv_ring_bytes(RING_LINES)),
			  map_shared(drv_ring_bytes(RING_LINES))};
	struct bench_samples trips = {0}, rates = {0};
	struct drv_ring_tx tx = {0};
	struct drv_ring_rx rx = {0};
	uint64_t confirmed = 0, start = 0;
	const uint64_t part = (uint64_t)TRIPS * 32 / (LIMIT_REPETITIONS + 1) / 32 * 32;
	pid_t pid;

	drv_ring_init(r.there, RING_LINES);
	drv_ring_init(r.back, RING_LINES);
	pid = fork_child(ring_answer, &r);
	for (int k = 0; k <= LIMIT_REPETITIONS; k++) {
		start = drv_clock_ns();
		for (int i = 0; i < TRIPS; i++) {
			ring_send(r.there, &tx, (uint64_t)i);
			ring_receive(r.back, &rx);
		}
		if (k > 0)
			bench_samples_add(&trips,
					  (double)(drv_clock_ns() - start) * 0.5e-3 / TRIPS);
	}
	start = drv_clock_ns();
	for (uint64_t n = 0; n < (uint64_t)TRIPS * 32; n++) {
		if (n % 32 == 0 && n - confirmed >= 64)
			confirmed = ring_receive(r.back, &rx);
		ring_send(r.there, &tx, n);
		if ((n + 1) % part == 0) {
			uint64_t now = drv_clock_ns();

			if (n + 1 > part)
				bench_samples_add(&rates,
						  (double)part * 1e3 / (double)(now - start));
			start = now;
		}
	}
	while (confirmed != (uint64_t)TRIPS * 32)
		confirmed = ring_receive(r.back, &rx);
	waitpid(pid, NULL, 0);
	limit_out("ring", 8, "us", &trips);
	limit_out("ring rate", 8, "M/s", &rates);
}

/* ---- lane ---- */

enum { LANE_BLOCKS = 20, LANE_TRIPS = 5000 };

struct lanes {
	struct drv_lane there, back;
	struct lines line;
};

/* One side of a pair of lanes. */
struct lane_side {
	struct drv_lane *out, *in;
	struct drv_lane_rx rx;
};

/* As a short message does: the payload in words, then the flag. */
static inline void lane_send(struct lane_side *s, uint32_t bytes, uint64_t value)
{
	struct drv_lane_record *rec;
	uint64_t flag;

	while (!(rec = drv_lane_reserve(s->out, bytes, &flag)))
		limit_relax();
	for (uint32_t i = 0; i < bytes; i += 8)
		memcpy(rec->payload + i, &value, 8);
	drv_lane_publish(rec, flag);
}

static inline uint64_t lane_take(struct lane_side *s, uint32_t bytes)
{
	struct drv_lane_record *rec;
	uint64_t flag = 0, value = 0;

	while (!(rec = drv_lane_peek(s->in, &s->rx, 0, &flag)))
		limit_relax();
	if (bytes)
		memcpy(&value, rec->payload + bytes - 8, 8);
	drv_lane_release(s->in, &s->rx, rec, flag);
	return value;
}

static void lane_answer(struct lane_side *s, uint32_t bytes, uint64_t trips)
{
	for (uint64_t i = 0; i < trips; i++)
		lane_send(s, bytes, lane_take(s, bytes));
}

static void lane_ask(struct lane_side *s, uint32_t bytes, uint64_t trips)
{
	for (uint64_t i = 0; i < trips; i++) {
		lane_send(s, bytes, i);
		if (lane_take(s, bytes) != i)
			abort();
	}
}

static const struct {
	const char *name;
	uint32_t bytes;
	int is_shifted;
} lane_variants[] = {{"lane", 8, 0}, {"lane", 16, 0}, {"lane, shifted", 16, 1}};
enum { LANE_VARIANTS = sizeof(lane_variants) / sizeof(lane_variants[0]) };

static void line_trips(uint64_t *mine, const uint64_t *theirs, uint64_t from, int asks)
{
	for (uint64_t i = from + 1; i <= from + LANE_TRIPS; i++) {
		if (asks)
			atomic_store_release(mine, i);
		while (atomic_load_acquire(theirs) != i)
			limit_relax();
		if (!asks)
			atomic_store_release(mine, i);
	}
}

/* Both processes run the same blocks in the same order. */
static void lane_blocks(struct lanes *shared, int asks, struct bench_samples *samples)
{
	struct lane_side side[LANE_VARIANTS];
	uint64_t start;

	for (int v = 0; v < LANE_VARIANTS; v++) {
		struct lanes *l = &shared[v];

		side[v] = (struct lane_side){
		    asks ? &l->there : &l->back, asks ? &l->back : &l->there, {0}};
		if (lane_variants[v].is_shifted && asks)
			lane_ask(&side[v], 0, 1);
		else if (lane_variants[v].is_shifted)
			lane_answer(&side[v], 0, 1);
	}
	for (uint64_t block = 0; block <= LANE_BLOCKS; block++)
		for (int v = 0; v <= LANE_VARIANTS; v++) {
			start = drv_clock_ns();
			if (v == LANE_VARIANTS)
				line_trips(asks ? &shared->line.there : &shared->line.back,
					   asks ? &shared->line.back : &shared->line.there,
					   block * LANE_TRIPS, asks);
			else
				(asks ? lane_ask : lane_answer)(&side[v], lane_variants[v].bytes,
								LANE_TRIPS);
			if (samples && block)
				bench_samples_add(&samples[v], (double)(drv_clock_ns() - start) *
								   0.5e-3 / LANE_TRIPS);
		}
}

static void lane_child(void *arg)
{
	lane_blocks(arg, 0, NULL);
}

static void limit_lane(void)
{
	struct lanes *shared = map_shared(LANE_VARIANTS * sizeof(*shared));
	struct bench_samples samples[LANE_VARIANTS + 1] = {{0}};
	pid_t pid = fork_child(lane_child, shared);

	lane_blocks(shared, 1, samples);
	waitpid(pid, NULL, 0);
	munmap(shared, LANE_VARIANTS * sizeof(*shared));
	for (int v = 0; v < LANE_VARIANTS; v++)
		limit_out(lane_variants[v].name, lane_variants[v].bytes, "us", &samples[v]);
	limit_out("line beside lanes", 8, "us", &samples[LANE_VARIANTS]);
}

enum { FLAG_WORDS = 65536, FLAG_SENDS = 1 << 24 };

struct flags {
	uint64_t stride, slots; /* words from slot to slot: 8, a line each, or 2 */
	_Alignas(128) uint64_t taken;
	/* Two words a slot: the round in which it was filled, from 1, and the value. */
	_Alignas(128) uint64_t word[FLAG_WORDS];
};

static void flags_take(void *arg)
{
	struct flags *f = arg;

	for (uint64_t i = 0; i < FLAG_SENDS; i++) {
		uint64_t *slot = &f->word[i % f->slots * f->stride];

		while (atomic_load_acquire(slot) != i / f->slots + 1)
			limit_relax();
		if (slot[1] != i)
			abort();
		if ((i + 1) % 1024 == 0)
			atomic_store_release(&f->taken, i + 1);
	}
}

static void limit_flags(const char *variant, uint64_t stride)
{
	struct flags *f = map_shared(sizeof(*f));
	struct bench_samples s = {0};
	const uint64_t part = FLAG_SENDS / (LIMIT_REPETITIONS + 1);
	uint64_t taken = 0, start = drv_clock_ns();
	pid_t pid;

	f->stride = stride;
	f->slots = FLAG_WORDS / stride;
	pid = fork_child(flags_take, f);
	for (uint64_t i = 0; i < FLAG_SENDS; i++) {
		uint64_t *slot = &f->word[i % f->slots * stride];

		while (i - taken == f->slots) {
			taken = atomic_load_acquire(&f->taken);
			limit_relax();
		}
		slot[1] = i;
		atomic_store_release(slot, i / f->slots + 1);
		if ((i + 1) % part == 0) {
			uint64_t now = drv_clock_ns();

			if (i + 1 > part)
				bench_samples_add(&s, (double)part * 1e3 / (double)(now - start));
			start = now;
		}
	}
	waitpid(pid, NULL, 0);
	munmap(f, sizeof(*f));
	limit_out(variant, 8, "M/s", &s);
}

static void limit_memcpy(void)
{
	const size_t sizes[3] = {64 << 10, 1 << 20, 256 << 20};
	unsigned char *a = map_shared(sizes[2]), *b = map_shared(sizes[2]);

	for (int i = 0; i < 3; i++) {
		const size_t n = sizes[i], times = ((size_t)1 << 30) / n;
		struct bench_samples s = {0};

		for (int r = 0; r <= LIMIT_REPETITIONS; r++) {
			uint64_t start = drv_clock_ns();

			for (size_t k = 0; k < times; k++) {
				a[k % n] = (unsigned char)r;
				memcpy(b, a, n);
				__asm__ volatile("" ::: "memory"); /* each copy is one */
			}
			if (r > 0)
				bench_samples_add(&s, (double)(times * n) /
							  (double)(drv_clock_ns() - start));
		}
		limit_out("memcpy", n, "GB/s", &s);
	}
}

struct wake {
	uint32_t go, done;
	uint64_t at;
	int stop;
};

static void call_futex(uint32_t *word, int op, uint32_t value)
{
	syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

static void wake_sleeper(void *arg)
{
	struct wake *w = arg;
	uint32_t seen = 0;

	while (!w->stop) {
		while (atomic_load_acquire(&w->go) == seen)
			call_futex(&w->go, FUTEX_WAIT, seen);
		w->at = drv_clock_ticks();
		seen++;
		atomic_store_release(&w->done, seen);
		call_futex(&w->done, FUTEX_WAKE, 1);
	}
}

static void limit_wake(void)
{
	struct wake *w = map_shared(sizeof(*w));
	struct bench_samples medians = {0};
	cpu_set_t before, one;
	pid_t pid;

	sched_getaffinity(0, sizeof(before), &before);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	pid = fork_child(wake_sleeper, w);
	for (int r = 0; r < LIMIT_REPETITIONS; r++) {
		struct bench_samples s = {0};

		for (int i = 0; i < 500; i++) {
			uint32_t seen = w->done;
			uint64_t start = drv_clock_ticks();

			while (drv_clock_ticks() - start < 30 * drv_clock_ticks_per_us())
				sched_yield(); /* it goes to sleep */
			w->stop = r + 1 == LIMIT_REPETITIONS && i == 499;
			start = drv_clock_ticks();
			atomic_store_release(&w->go, seen + 1);
			call_futex(&w->go, FUTEX_WAKE, 1);
			while (atomic_load_acquire(&w->done) == seen)
				call_futex(&w->done, FUTEX_WAIT, seen);
			bench_samples_add(&s, (double)(w->at - start) /
						  (double)drv_clock_ticks_per_us());
		}
		bench_samples_add(&medians, bench_quantile(&s, 0.5));
		bench_samples_free(&s);
	}
	waitpid(pid, NULL, 0);
	sched_setaffinity(0, sizeof(before), &before);
	limit_out("wake", 0, "us", &medians);
}

static void atomic_other(void *arg)
{
	uint64_t *word = arg;

	while (!atomic_load_relaxed(&word[8]))
		atomic_fetch_add_relaxed(word, 1);
}

static void limit_atomic(void)
{
	uint64_t *word = map_shared(4096); /* [8]: stop */
	struct bench_samples rates = {0};
	pid_t pid = fork_child(atomic_other, word);

	for (int r = 0; r <= LIMIT_REPETITIONS; r++) {
		uint64_t start = drv_clock_ns(), first = atomic_load_relaxed(word);

		for (int i = 0; i < 200000; i++)
			atomic_fetch_add_relaxed(word, 1);
		if (r > 0)
			bench_samples_add(&rates, (double)(atomic_load_relaxed(word) - first) *
						      1e3 / (double)(drv_clock_ns() - start));
	}
	atomic_store_relaxed(&word[8], 1);
	waitpid(pid, NULL, 0);
	limit_out("atomic", 8, "M/s", &rates);
}

static const char usage[] =
    "usage: qlimits line|ring|lane|flags|memcpy|wake|atomic|all [--csv|--json]\n"
    "       qlimits port SPEC --self FILE --peer FILE [--serve] [--csv|--json]\n"
    "       qlimits udp ADDRESS[:PORT] [--serve] [--csv|--json]\n"
    "\n"
    "What this machine allows, to stand beside what is measured: a cache line's way between "
    "processors, bare rings,\n"
    "copies, a wake-up, atomics; and between two programs (one of them with --serve) frames over a "
    "driver port, or\n"
    "datagrams. bench/README.md says what each row is.\n";

static int refuse_argument(const char *what)
{
	fprintf(stderr, "qlimits: cannot use '%s'\n%s", what, usage);
	return 2;
}

int main(int argc, char **argv)
{
	const char *what = NULL, *spec = NULL, *self = NULL, *peer = NULL;
	int serve = 0;

	alone = sysconf(_SC_NPROCESSORS_ONLN) < 2;
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help"))
			return printf("%s", usage) < 0;
		if (!strcmp(argv[i], "--json"))
			format = BENCH_JSON;
		else if (!strcmp(argv[i], "--csv"))
			format = BENCH_CSV;
		else if (!strcmp(argv[i], "--serve"))
			serve = 1;
		else if (!strcmp(argv[i], "--self") && i + 1 < argc)
			self = argv[++i];
		else if (!strcmp(argv[i], "--peer") && i + 1 < argc)
			peer = argv[++i];
		else if (!what)
			what = argv[i];
		else if (!spec && (!strcmp(what, "port") || !strcmp(what, "udp")))
			spec = argv[i];
		else
			return refuse_argument(argv[i]);
	}
	if (!what || ((!strcmp(what, "port") || !strcmp(what, "udp")) && !spec))
		return refuse_argument(what ? what : "");
	int all = !strcmp(what, "all");

	if (!all && strcmp(what, "line") && strcmp(what, "ring") && strcmp(what, "lane") &&
	    strcmp(what, "flags") && strcmp(what, "memcpy") && strcmp(what, "wake") &&
	    strcmp(what, "atomic") && strcmp(what, "port") && strcmp(what, "udp"))
		return refuse_argument(what);
	if (!serve)
		bench_out_begin(format, spec ? (const char *const[]){what, spec, NULL} : NULL);
	if (spec && !strcmp(what, "udp"))
		return limit_udp(spec, serve);
	if (spec)
		return limit_port(spec, self, peer, serve);
	if (all || !strcmp(what, "line"))
		limit_line();
	if (all || !strcmp(what, "ring"))
		limit_ring();
	if (all || !strcmp(what, "lane"))
		limit_lane();
	if (all || !strcmp(what, "flags"))
		for (int i = 0; i < 2; i++)
			limit_flags(i ? "flags packed" : "flags", i ? 2 : 8);
	if (all || !strcmp(what, "memcpy"))
		limit_memcpy();
	if (all || !strcmp(what, "wake"))
		limit_wake();
	if (all || !strcmp(what, "atomic"))
		limit_atomic();
	return 0;
}
