/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads, writes and atomics through libfabric, with remote addresses and with offsets. */
#include "tests/ofi/ofi_job.h"

#include <time.h>

#include "drivers/base/atomic.h"
#include "ofi/memory/atomic_op.h"

#define WINDOW 400000

static struct window {
	unsigned char *memory;
	struct fid_mr *mr;
	uint64_t base[TASKS_MAX], key[TASKS_MAX];
} window;

static const struct setup by_address = {.caps = CAPS,
					.mr_mode =
					    FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
					.av = FI_AV_MAP,
					.threading = FI_THREAD_DOMAIN};
static const struct setup by_offset = {.caps = CAPS, .av = FI_AV_MAP, .threading = FI_THREAD_SAFE};

/* Register memory and learn that of all others. */
static void window_open(const struct setup *s)
{
	static uint64_t own[2], all[TASKS_MAX][2];
	static int rx[TASKS_MAX], tx;

	job_open(s);
	window.memory = calloc(1, WINDOW);
	MUST(fi_mr_reg(job.domain, window.memory, WINDOW, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 4242,
		       0, &window.mr, NULL));
	own[0] = s->mr_mode ? (uint64_t)(uintptr_t)window.memory : 0;
	own[1] = fi_mr_key(window.mr);
	if (!s->mr_mode)
		CHECK_EQ(own[1], 4242);
	for (unsigned t = 0; t < tasks; t++)
		START(fi_trecv(job.ep, all[t], sizeof own, NULL, job.peer[t], 99, 0, &rx[t]));
	for (unsigned t = 0; t < tasks; t++) {
		START(fi_tsend(job.ep, own, sizeof own, NULL, job.peer[t], 99, &tx));
		wait_for(&tx);
	}
	for (unsigned t = 0; t < tasks; t++) {
		wait_for(&rx[t]);
		window.base[t] = all[t][0];
		window.key[t] = all[t][1];
	}
	run_barrier();
}

static void window_close(void)
{
	run_barrier();
	MUST(fi_close(&window.mr->fid));
	job_close();
	free(window.memory);
}

static void write_and_read(const struct setup *s)
{
	static const size_t sizes[] = {0, 1, 8, 448, 600, 5000, 100000};
	static unsigned char out[100000], in[100000];
	unsigned to = (me + 1) % tasks, from = (me + tasks - 1) % tasks;
	int c;

	window_open(s);
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		size_t n = sizes[i];

		memset(out, (int)(me * 16 + i + 1), n);
		START(fi_write(job.ep, out, n, NULL, job.peer[to], window.base[to] + 1000,
			       window.key[to], &c));
		CHECK(wait_for(&c).entry.flags & FI_WRITE);
		memset(in, 0, n);
		START(fi_read(job.ep, in, n, NULL, job.peer[to], window.base[to] + 1000,
			      window.key[to], &c));
		CHECK(wait_for(&c).entry.flags & FI_READ);
		CHECK(!memcmp(in, out, n));
		run_barrier();
		for (size_t k = 0; k < n; k++)
			CHECK_EQ(window.memory[1000 + k], (unsigned char)(from * 16 + i + 1));
		run_barrier();
	}
	window_close();
}

static void check_lists(const struct setup *s)
{
	unsigned char a[100], b[900], c[500], d[500];
	struct iovec o[2] = {{a, sizeof a}, {b, sizeof b}}, v[2] = {{c, sizeof c}, {d, sizeof d}};
	unsigned to = (me + 1) % tasks;
	int context;

	window_open(s);
	memset(a, 'a', sizeof a);
	memset(b, 'b', sizeof b);
	START(
	    fi_writev(job.ep, o, NULL, 2, job.peer[to], window.base[to], window.key[to], &context));
	CHECK(!wait_for(&context).failed);
	START(
	    fi_readv(job.ep, v, NULL, 2, job.peer[to], window.base[to], window.key[to], &context));
	CHECK(!wait_for(&context).failed);
	CHECK(c[0] == 'a' && c[99] == 'a' && c[100] == 'b' && d[0] == 'b' && d[499] == 'b');
	window_close();
}

/* The target's queue gets the data, when what was written is in place. */
static void completion_data(const struct setup *s)
{
	unsigned to = (me + 1) % tasks;
	unsigned char out[300];
	int c;

	window_open(s);
	memset(out, 7, sizeof out);
	START(fi_writedata(job.ep, out, sizeof out, NULL, 1234 + me, job.peer[to], window.base[to],
			   window.key[to], &c));
	for (bool got = false; !got;) {
		struct seen e = wait_for(NULL);

		CHECK(e.entry.flags & FI_REMOTE_CQ_DATA);
		CHECK_EQ(e.entry.data, 1234 + (me + tasks - 1) % tasks);
		CHECK_EQ(window.memory[299], 7);
		got = true;
	}
	CHECK(!wait_for(&c).failed);
	START(
	    fi_inject_write(job.ep, out, 16, job.peer[to], window.base[to] + 1000, window.key[to]));
	while (*(volatile unsigned char *)&window.memory[1015] != 7)
		poll_once();
	window_close();
}

/* What the target can check, it refuses. */
static void bad_accesses_are_refused(void)
{
	unsigned to = (me + 1) % tasks;
	struct fid_mr *mr;
	char x[16] = "";
	int c;

	window_open(&by_offset);
	CHECK_EQ(fi_mr_reg(job.domain, x, 16, FI_REMOTE_READ, 0, 4242, 0, &mr, NULL), -FI_ENOKEY);
	MUST(fi_mr_reg(job.domain, x, 16, FI_REMOTE_READ, 0, 4243, 0, &mr, NULL));
	run_barrier();
	START(fi_write(job.ep, x, 8, NULL, job.peer[to], 0, 4243, &c)); /* may only be read */
	CHECK_EQ(wait_for(&c).error.err, FI_EACCES);
	START(fi_write(job.ep, x, 8, NULL, job.peer[to], WINDOW - 7, 4242, &c));
	CHECK_EQ(wait_for(&c).error.err, FI_EACCES);
	START(fi_read(job.ep, x, 8, NULL, job.peer[to], UINT64_MAX - 3, 4242, &c));
	CHECK_EQ(wait_for(&c).error.err, FI_EACCES);
	START(fi_read(job.ep, x, 8, NULL, job.peer[to], 0, 1, &c));
	CHECK_EQ(wait_for(&c).error.err, FI_EACCES);
	START(fi_atomic(job.ep, x, 1, NULL, job.peer[to], 16, 4243, FI_UINT64, FI_SUM, &c));
	CHECK_EQ(wait_for(&c).error.err, FI_EACCES);
	run_barrier();
	MUST(fi_close(&mr->fid));
	window_close();
}

/* All tasks add at one place; each old value is seen once. Then a lock by compare and swap. */
static void atomics_of_all(const struct setup *s)
{
	enum { TIMES = 100 };
	uint64_t one = 1, zero = 0, old, mine = me + 1, *counter;
	double half = 0.5;
	int c;

	window_open(s);
	counter = (uint64_t *)(void *)window.memory;
	for (int i = 0; i < TIMES; i++) {
		START(fi_fetch_atomic(job.ep, &one, 1, NULL, &old, NULL, job.peer[0],
				      window.base[0], window.key[0], FI_UINT64, FI_SUM, &c));
		CHECK(!wait_for(&c).failed);
		CHECK(old < (uint64_t)TIMES * tasks);
		START(fi_atomic(job.ep, &half, 1, NULL, job.peer[0], window.base[0] + 8,
				window.key[0], FI_DOUBLE, FI_SUM, &c));
		CHECK(!wait_for(&c).failed);
		do { /* lock, add without atomicity, unlock */
			START(fi_compare_atomic(job.ep, &mine, 1, NULL, &zero, NULL, &old, NULL,
						job.peer[0], window.base[0] + 16, window.key[0],
						FI_UINT64, FI_CSWAP, &c));
			wait_for(&c);
		} while (old);
		START(fi_read(job.ep, &old, 8, NULL, job.peer[0], window.base[0] + 24,
			      window.key[0], &c));
		wait_for(&c);
		old++;
		START(fi_write(job.ep, &old, 8, NULL, job.peer[0], window.base[0] + 24,
			       window.key[0], &c));
		wait_for(&c);
		START(fi_inject_atomic(job.ep, &zero, 1, job.peer[0], window.base[0] + 16,
				       window.key[0], FI_UINT64, FI_ATOMIC_WRITE));
	}
	run_barrier();
	if (!me) {
		CHECK_EQ(counter[0], TIMES * tasks);
		CHECK_NEAR(((double *)(void *)window.memory)[1] * 2, TIMES * tasks, 0);
		CHECK_EQ(counter[3], TIMES * tasks);
	}
	window_close();
}

/*
 * Task 0 makes no call of libfabric until the others have added to its word and swapped it. Only
 * where the messaging units have atomics: ofi_job.sh says so.
 */
static void atomics_of_the_unit(void)
{
	enum { TIMES = 20 };
	uint64_t one = 1, old, last = 0, zero = 0, *word;
	time_t end = time(NULL) + 60;
	uint32_t bits = 1u << me, was;
	int c;

	if (!getenv("OFI_UNIT_ATOMICS"))
		return;
	window_open(&by_address);
	word = (uint64_t *)(void *)window.memory;
	for (int i = 0; me && i < TIMES; i++) {
		START(fi_fetch_atomic(job.ep, &one, 1, NULL, &old, NULL, job.peer[0],
				      window.base[0], window.key[0], FI_UINT64, FI_SUM, &c));
		CHECK(!wait_for(&c).failed);
		CHECK(i == 0 || old > last);
		last = old;
	}
	if (me) {
		START(fi_fetch_atomic(job.ep, &bits, 1, NULL, &was, NULL, job.peer[0],
				      window.base[0] + 8, window.key[0], FI_UINT32, FI_BOR, &c));
		CHECK(!wait_for(&c).failed);
		CHECK(!(was & bits));
		START(fi_fetch_atomic(job.ep, NULL, 1, NULL, &was, NULL, job.peer[0],
				      window.base[0] + 8, window.key[0], FI_UINT32, FI_ATOMIC_READ,
				      &c));
		CHECK(!wait_for(&c).failed);
		CHECK(was & bits);
		START(fi_compare_atomic(job.ep, &one, 1, NULL, &zero, NULL, &old, NULL, job.peer[0],
					window.base[0] + 16, window.key[0], FI_UINT64, FI_CSWAP,
					&c));
		CHECK(!wait_for(&c).failed);
		START(fi_atomic(job.ep, &one, 1, NULL, job.peer[0], window.base[0] + 24,
				window.key[0], FI_INT64, FI_SUM, &c));
		CHECK(!wait_for(&c).failed);
	}
	while (!me && atomic_load_acquire(&word[3]) < tasks - 1 && time(NULL) < end)
		;
	if (!me) {
		CHECK_EQ(atomic_load_acquire(&word[3]), tasks - 1);
		CHECK_EQ(word[0], TIMES * (tasks - 1));
		CHECK_EQ(word[2], 1);
	}
	window_close();
}

/* Of a long double only ten bytes are its value. */
static bool is_same(const unsigned char *x, const unsigned char *y, size_t bytes, int type)
{
	size_t value = 16;

	if (type == FI_LONG_DOUBLE || type == FI_LONG_DOUBLE_COMPLEX)
		value = 10;
	for (size_t i = 0; i < bytes; i++)
		if (i % 16 < value && x[i] != y[i])
			return false;
	return true;
}

/* Each type and operation that fi_query_atomic() names, against the same on local memory. */
static void each_operation(const struct setup *s, size_t count)
{
	_Alignas(32) unsigned char a[64], b[64], was[64], got[64], expected[64];
	unsigned to = (me + 1) % tasks, done = 0;
	uint64_t at = 4096;
	int c;

	window_open(s);
	for (int type = 0; type <= FI_UINT128; type++)
		for (int op = 0; op < FI_ATOMIC_OP_LAST; op++) {
			bool compares = op >= FI_CSWAP;
			uint64_t flags = compares ? FI_COMPARE_ATOMIC : FI_FETCH_ATOMIC;
			struct fi_atomic_attr attr;
			size_t n;

			if (fi_query_atomic(job.domain, type, op, &attr, flags))
				continue;
			n = attr.size * count;
			memset(a, 0, sizeof a);
			memset(b, 0, sizeof b);
			for (size_t i = 0; i < n; i += attr.size / (attr.size > 16 ? 2 : 1)) {
				a[i + attr.size / (attr.size > 16 ? 2 : 1) - 1] = 0;
				a[i] = (unsigned char)(op * 3 + 5);
				b[i] = (unsigned char)(op + 9);
			}
			memcpy(was, b, sizeof was);
			memcpy(expected, was, sizeof was);
			START(fi_write(job.ep, was, n, NULL, job.peer[to], window.base[to] + at,
				       window.key[to], &c));
			wait_for(&c);
			if (compares)
				START(fi_compare_atomic(job.ep, a, count, NULL, b, NULL, got, NULL,
							job.peer[to], window.base[to] + at,
							window.key[to], type, op, &c));
			else
				START(fi_fetch_atomic(job.ep, a, count, NULL, got, NULL,
						      job.peer[to], window.base[to] + at,
						      window.key[to], type, op, &c));
			CHECK(!wait_for(&c).failed);
			CHECK(!memcmp(got, was, n));
			ofi_atomic_apply(expected, a, b, NULL, count, type, op);
			START(fi_read(job.ep, got, n, NULL, job.peer[to], window.base[to] + at,
				      window.key[to], &c));
			wait_for(&c);
			CHECK(is_same(got, expected, n, type));
			done++;
		}
	CHECK(done > 200);
	CHECK_EQ(fi_fetch_atomic(job.ep, a, 1, NULL, got, NULL, job.peer[to], window.base[to],
				 window.key[to], FI_DOUBLE, FI_BOR, &c),
		 -FI_EOPNOTSUPP);
	window_close();
}

/* A list that is too long, or missing, gives an error; no byte of it is copied. */
static void wrong_lists_are_refused(void)
{
	uint64_t one = 1;
	struct fi_ioc all = {.addr = &one, .count = SIZE_MAX / sizeof one + 2};
	struct fi_ioc some = {.addr = &one, .count = 1};
	int c;
	unsigned to = (me + 1) % tasks;

	window_open(&by_address);
	CHECK_EQ(fi_atomicv(job.ep, &all, NULL, 1, job.peer[to], window.base[to], window.key[to],
			    FI_UINT64, FI_SUM, &c),
		 -FI_EINVAL);
	CHECK_EQ(fi_atomicv(job.ep, NULL, NULL, 1, job.peer[to], window.base[to], window.key[to],
			    FI_UINT64, FI_SUM, &c),
		 -FI_EINVAL);
	CHECK_EQ(fi_fetch_atomicv(job.ep, &some, NULL, 1, NULL, NULL, 1, job.peer[to],
				  window.base[to], window.key[to], FI_UINT64, FI_SUM, &c),
		 -FI_EINVAL);
	window_close();
}

/* What the operations compute, by plain arithmetic. */
static void atomics_compute_as_plain_arithmetic(void)
{
	int8_t i8[2] = {-5, 100}, a8[2] = {3, 100}, r8[2];
	double d = 1.5, ad = -2.5;
	uint32_t u = 0xff00ff00, au = 0x12345678, mask = 0x00ffff00;
	__extension__ unsigned __int128 w = ~(unsigned __int128)0, aw = 1;
	uint64_t x = 5, ax = 7, cx = 6;

	ofi_atomic_apply(i8, a8, NULL, r8, 2, FI_INT8, FI_SUM);
	CHECK(i8[0] == -2 && i8[1] == -56 && r8[0] == -5 && r8[1] == 100);
	ofi_atomic_apply(i8, a8, NULL, NULL, 2, FI_INT8, FI_MAX);
	CHECK(i8[0] == 3 && i8[1] == 100);
	ofi_atomic_apply(&d, &ad, NULL, NULL, 1, FI_DOUBLE, FI_MIN);
	CHECK(d == -2.5);
	ofi_atomic_apply(&d, &ad, NULL, NULL, 1, FI_DOUBLE, FI_PROD);
	CHECK(d == 6.25);
	ofi_atomic_apply(&d, &ad, NULL, NULL, 1, FI_DOUBLE, FI_LAND);
	CHECK(d == 1.0);
	ofi_atomic_apply(&u, &au, &mask, NULL, 1, FI_UINT32, FI_MSWAP);
	CHECK_EQ(u, 0xff345600);
	ofi_atomic_apply(&w, &aw, NULL, NULL, 1, FI_UINT128, FI_SUM);
	CHECK(w == 0);
	ofi_atomic_apply(&x, &ax, &cx, NULL, 1, FI_UINT64, FI_CSWAP_LT); /* 6 < 5 is false */
	CHECK_EQ(x, 5);
	ofi_atomic_apply(&x, &ax, &cx, NULL, 1, FI_UINT64, FI_CSWAP_GT); /* 6 > 5 */
	CHECK_EQ(x, 7);
	ofi_atomic_apply(&x, &ax, NULL, NULL, 1, FI_UINT64, FI_ATOMIC_READ);
	CHECK_EQ(x, 7);
}

static void windows_by_address(void)
{
	write_and_read(&by_address);
	check_lists(&by_address);
	completion_data(&by_address);
}

static void windows_by_offset(void)
{
	write_and_read(&by_offset);
	check_lists(&by_offset);
	completion_data(&by_offset);
}

static void atomics_of_both_kinds(void)
{
	atomics_of_all(&by_address);
	atomics_of_all(&by_offset);
}

static void each_operation_of_both_kinds(void)
{
	each_operation(&by_address, 1); /* some of them by PAMI_Rmw() */
	each_operation(&by_address, 2);
	each_operation(&by_offset, 2);
}

int main(int argc, char **argv)
{
	static const struct job_case cases[] = {
	    {"arithmetic", atomics_compute_as_plain_arithmetic},
	    {"addresses", windows_by_address},
	    {"offsets", windows_by_offset},
	    {"refusals", bad_accesses_are_refused},
	    {"lists", wrong_lists_are_refused},
	    {"atomics", atomics_of_both_kinds},
	    {"unit", atomics_of_the_unit},
	    {"operations", each_operation_of_both_kinds},
	};

	return job_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
