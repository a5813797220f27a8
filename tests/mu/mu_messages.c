/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages and RDMA between forked tasks, on both fabrics: every size 0 .. 1025, alignments, page
 * crossing, 100 MB, order, slow receivers, missing pages, refused descriptors.
 */
#define _GNU_SOURCE
#include "drivers/base/atomic.h"
#include "tests/harness/t.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include "drivers/base/clock.h"
#include "mu/engine/known_memory.h"
#include "mu/process.h"
#include "mu/hw/desc_build.h"
#include "tests/harness/mu_job.h"

#define BIG       (100u << 20)
#define VANISHING (64u << 10)

static struct mu_channel *ch;
static unsigned messages;
static uint64_t received;
static uint64_t word; /* last message's payload */
static unsigned char pattern_bad;

static unsigned char pattern_byte(uint64_t i)
{
	return (unsigned char)(i * 31 + (i >> 8));
}

static uint32_t stream_next;
static unsigned stream_bad;

static struct mu_channel *second;
/* Put by the other task, over `second`, while a handler of `ch` waits for it. */
static uint64_t late;
static int handler_saw = -1;

static void wait_for_the_put(void)
{
	uint64_t until = drv_clock_ns() + 300000000000u, address = (uint64_t)(uintptr_t)&late;
	unsigned char soft[MU_SOFT_BYTES] = {'w'};

	CHECK(mu_send_short(second, 1, 0, soft, NULL, 0, &address, 8) == 0);
	while (!atomic_load_acquire(&late) && drv_clock_ns() < until)
		sched_yield();
	handler_saw = late == 42;
}

/* Soft byte 0: 'h' a handler that runs for long; 'u' a handler that takes memory away; 's' short
 * message of a stream, numbered; 'w' a word in the payload; 'm' a piece of a message whose bytes
 * follow the pattern. */
static void receive_packet(void *arg, uint32_t source, const unsigned char *soft,
			   const unsigned char *payload, uint32_t bytes, uint64_t offset)
{
	uint64_t total;

	if (soft[0] == 'h') {
		wait_for_the_put();
		return;
	}
	if (soft[0] == 'u') {
		memcpy(&total, payload, 8);
		mprotect((void *)(uintptr_t)total, VANISHING, PROT_NONE);
		return;
	}
	if (soft[0] == 'w') {
		memcpy(&word, payload, 8);
		messages++;
		return;
	}
	if (soft[0] == 's') {
		uint32_t number;

		memcpy(&number, soft + 1, 4);
		stream_bad += number != stream_next++;
		for (uint32_t i = 0; i < bytes; i++)
			stream_bad += payload[i] != pattern_byte(number + i);
		stream_bad += soft[5] != (unsigned char)bytes;
		return;
	}
	memcpy(&total, soft + 1, 8);
	for (uint32_t i = 0; i < bytes; i++)
		if (payload[i] != pattern_byte(offset + i))
			pattern_bad = 1;
	if (offset != received)
		pattern_bad = 2;
	received += bytes;
	if (received == total) {
		messages++;
		received = 0;
	}
}

static void send_word(uint32_t task, uint64_t value)
{
	unsigned char soft[MU_SOFT_BYTES] = {'w'};

	while (mu_send_short(ch, task, 0, soft, NULL, 0, &value, 8))
		mu_poll(ch);
}

/* The next word, which may have come while something else was waited for. */
static uint64_t wait_word(void)
{
	static unsigned taken;

	while (messages == taken)
		mu_poll(ch);
	taken++;
	return word;
}

static int result;
static unsigned dones;
static void note_done(struct mu_op *op, int rc)
{
	result = rc;
	dones++;
}

static int finish_op(struct mu_op *op, unsigned before)
{
	while (dones == before)
		mu_poll(ch);
	return result;
}

static int put_bytes(const void *local, uint64_t remote, size_t bytes)
{
	struct mu_op op = {.done = note_done};
	unsigned before = dones;

	while (mu_put(ch, 1, 0, local, remote, bytes, NULL, &op) == -EAGAIN)
		mu_poll(ch);
	return finish_op(&op, before);
}

static int get_bytes(void *local, uint64_t remote, size_t bytes)
{
	struct mu_op op = {.done = note_done};
	unsigned before = dones;

	while (mu_get(ch, 1, 0, local, remote, bytes, &op) == -EAGAIN)
		mu_poll(ch);
	return finish_op(&op, before);
}

static void open_channel(void)
{
	CHECK(mu_channel_open(0, receive_packet, NULL, &ch) == 0);
}

static unsigned char *map_pages(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int sizes_body(const struct mu_job *job)
{
	unsigned char *mine = map_pages(16384);

	open_channel();
	if (job->task == 1) {
		send_word(0, (uint64_t)(uintptr_t)mine);
		for (;;) {
			uint64_t n = wait_word(); /* bytes << 32 | offset, or ~0: the end */
			uint64_t off = n & 0xffffffff, bytes = n >> 32;

			if (n == UINT64_MAX)
				break;
			for (uint64_t i = 0; i < 16384; i++) {
				unsigned char want =
				    i >= off && i < off + bytes ? pattern_byte(i - off) : 0;

				if (mine[i] != want) {
					CHECK(!"a byte of a put is wrong or out of its place");
					break;
				}
			}
			memset(mine, 0, 16384);
			for (uint64_t i = 0; i < bytes; i++)
				mine[off + i] = pattern_byte(i + 5);
			send_word(0, 1);
			wait_word(); /* it has read them */
			memset(mine, 0, 16384);
			send_word(0, 2);
		}
	} else {
		uint64_t remote = wait_word();
		unsigned char back[1100];

		for (uint64_t i = 0; i < 16384; i++)
			mine[i] = pattern_byte(i);
		for (unsigned bytes = 1; bytes <= 1025; bytes++) {
			/* Alignments, and across the page in the middle. */
			uint64_t off = bytes % 3 ? bytes * 7 % 64 : 4096 - bytes / 2;
			unsigned char *from = memmove(mine + bytes % 9, mine, bytes);

			for (unsigned i = 0; i < bytes; i++)
				from[i] = pattern_byte(i);
			CHECK(put_bytes(from, remote + off, bytes) == 0);
			send_word(1, (uint64_t)bytes << 32 | off);
			wait_word();
			memset(back, 0, sizeof back);
			CHECK(get_bytes(back, remote + off, bytes) == 0);
			for (unsigned i = 0; i < 1100; i++)
				if (back[i] != (i < bytes ? pattern_byte(i + 5) : 0)) {
					CHECK(!"a byte of a get is wrong or out of its place");
					break;
				}
			send_word(1, 0);
			wait_word();
		}
		send_word(1, UINT64_MAX);
	}
	mu_channel_close(ch);
	return 0;
}

static int fifo_sizes_body(const struct mu_job *job)
{
	static unsigned char data[70000];
	struct mu_op op = {.done = note_done};
	unsigned count = 0;

	open_channel();
	for (unsigned i = 0; i < sizeof data; i++)
		data[i] = pattern_byte(i);
	for (uint64_t bytes = 0; bytes <= sizeof data;
	     bytes = bytes < 1026 ? bytes + 1 : bytes * 2, count++) {
		if (job->task == 0) {
			unsigned char soft[MU_SOFT_BYTES] = {'m'};
			unsigned before = dones;

			memcpy(soft + 1, &bytes, 8);
			while (mu_send(ch, 1, 0, soft, data, bytes, &op))
				mu_poll(ch);
			CHECK(finish_op(&op, before) == 0);
		} else {
			while (messages == count)
				mu_poll(ch);
		}
	}
	if (job->task == 0)
		wait_word();
	else
		send_word(0, count);
	CHECK(!pattern_bad);
	mu_channel_close(ch);
	return 0;
}

static int big_body(const struct mu_job *job)
{
	size_t bytes = t_sanitized() ? BIG / 10 : BIG;
	unsigned char *mine = map_pages(bytes + 4096);

	open_channel();
	for (size_t i = 0; i < bytes; i++)
		mine[i] = job->task ? 0 : pattern_byte(i);
	if (job->task == 1) {
		int bad = 0;

		send_word(0, (uint64_t)(uintptr_t)mine + 3);
		wait_word();
		for (size_t i = 0; i < bytes; i++)
			bad |= mine[i + 3] != pattern_byte(i);
		CHECK(!bad);
		send_word(0, 1);
		wait_word();
	} else {
		uint64_t remote = wait_word();
		int bad = 0;

		CHECK(put_bytes(mine, remote, bytes) == 0);
		send_word(1, 1);
		wait_word();
		memset(mine, 0, bytes);
		CHECK(get_bytes(mine, remote, bytes) == 0);
		for (size_t i = 0; i < bytes; i++)
			bad |= mine[i] != pattern_byte(i);
		CHECK(!bad);
		send_word(1, 2);
	}
	mu_channel_close(ch);
	return 0;
}

/* The target computes: puts and gets end all the same, messages wait, none is lost or swapped. */
static int away_body(const struct mu_job *job)
{
	static uint64_t mine[512];
	enum { N = 60000 };

	open_channel();
	if (job->task == 1) {
		uint64_t until;

		send_word(0, (uint64_t)(uintptr_t)mine);
		/* Computes until the last put has arrived; no call. */
		until = drv_clock_ns() + 300000000000u;
		while (!atomic_load_acquire(&mine[511]) && drv_clock_ns() < until)
			sched_yield();
		CHECK(mine[511] == 42);
		CHECK(messages == 0);
		for (uint64_t i = 0; i < N;) {
			unsigned before = messages;

			mu_poll(ch);
			if (messages == before)
				continue;
			i += messages - before;
			CHECK(word == i - 1);
		}
		send_word(0, 1);
		/* The data were seen, perhaps before the request for the answer to that put came:
		 * it needs us still. */
		while (messages == N)
			mu_poll(ch);
	} else {
		uint64_t remote = wait_word(), value = 41, back = 0;

		for (uint64_t i = 0; i < N; i++)
			send_word(1, i); /* far more than ring and FIFO hold */
		CHECK(put_bytes(&value, remote, 8) == 0);
		CHECK(get_bytes(&back, remote, 8) == 0);
		CHECK(back == 41);
		value = 42;
		CHECK(put_bytes(&value, remote + 511 * 8, 8) == 0);
		wait_word();
		send_word(1, N);
	}
	mu_channel_close(ch);
	return 0;
}

/* Task 0's own message has it wait, inside its poll, for what comes over another channel: the
 * engine thread is to bring it. */
static int handler_body(const struct mu_job *job)
{
	unsigned char soft[MU_SOFT_BYTES] = {'h'};

	open_channel();
	CHECK(mu_channel_open(1, receive_packet, NULL, &second) == 0);
	if (job->task == 0) {
		while (mu_send_short(ch, 0, 0, soft, NULL, 0, NULL, 0))
			mu_poll(ch);
		while (handler_saw < 0)
			mu_poll(ch);
		CHECK(handler_saw == 1);
		wait_word(); /* the request for the answer to that put needs us still */
	} else {
		uint64_t remote = wait_word(), value = 42;
		struct mu_op op = {.done = note_done};
		unsigned before = dones;

		while (mu_put(ch, 0, 1, &value, remote, 8, NULL, &op) == -EAGAIN)
			mu_poll(ch);
		CHECK(finish_op(&op, before) == 0);
		send_word(0, 0);
	}
	mu_channel_close(second);
	mu_channel_close(ch);
	return 0;
}

/* Pages. LONG is more than the engine checks together; page GONE does not exist. */
enum { LONG = 160, GONE = 70 };

enum hole {
	HOLE_PROTECTED, /* page GONE is a mapping of its own */
	HOLE_GUARD,     /* it is a guard page within the mapping (Linux 6.13; else the same) */
	HOLE_NO_FILE,   /* the file ends before it */
	HOLES
};

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

static unsigned char *map_hole(enum hole hole)
{
	unsigned char *at = map_pages(LONG * 4096);
	int fd;

	if (hole == HOLE_NO_FILE) {
		fd = memfd_create("short", MFD_CLOEXEC);
		CHECK(fd >= 0 && ftruncate(fd, GONE * 4096) == 0);
		at = mmap(at, LONG * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0);
		close(fd);
	} else if (hole == HOLE_PROTECTED || madvise(at + GONE * 4096, 4096, MADV_GUARD_INSTALL)) {
		mprotect(at + GONE * 4096, 4096, PROT_NONE);
	}
	return at;
}

static void check_long_transfers(uint64_t remote, bool is_rest_there)
{
	unsigned char *here = map_pages(LONG * 4096);

	for (unsigned i = 0; i < 3; i++) {
		/* The checks of the second and third round begin elsewhere. */
		size_t from = i ? (GONE - 20 * (3 - i)) * 4096 + 100 : 0;

		memset(here, 9, LONG * 4096);
		CHECK(get_bytes(here, remote + from, LONG * 4096 - from) == -EFAULT);
		CHECK(put_bytes(here, remote + from, LONG * 4096 - from) == -EFAULT);
		CHECK(get_bytes(here, remote + from, GONE * 4096 + 1 - from) == -EFAULT);
		memset(here, 0, LONG * 4096);
		memset(here, 5, GONE * 4096 - from);
		CHECK(put_bytes(here, remote + from, GONE * 4096 - from) == 0);
		memset(here, 0, GONE * 4096);
		CHECK(get_bytes(here, remote + from, GONE * 4096 - from) == 0);
		for (size_t k = 0; k < GONE * 4096; k++)
			if (here[k] != (k < GONE * 4096 - from ? 5 : 0))
				CHECK(!"a byte beside a page that is gone is wrong");
	}
	CHECK(get_bytes(here, remote + (GONE + 1) * 4096, (LONG - GONE - 1) * 4096) ==
	      (is_rest_there ? 0 : -EFAULT));
	munmap(here, LONG * 4096);
}

static unsigned refused, taken;

static void count_result(struct mu_op *op, int rc)
{
	(void)op;
	refused += rc == -EFAULT;
	taken += rc == 0;
}

/*
 * Short puts and gets that arrive together. Each second one names the next page, which is not
 * there, or crosses into it: what was found for one page must not count for another.
 */
static void check_short_transfers(uint64_t page)
{
	enum { COUNT = 64 };
	struct mu_op op[COUNT];
	uint64_t here[COUNT + 1];

	refused = taken = 0;
	for (uint64_t i = 0; i <= COUNT; i++)
		here[i] = i;
	for (uint64_t i = 0; i < COUNT; i++) {
		bool crosses = i % 4 == 1;
		uint64_t at = i % 2 ? page + 4096 - 8 * crosses : page + 1024 + 8 * i;

		while (mu_put(ch, 1, 0, &here[i], at, crosses ? 16 : 8, NULL, NULL) == -EAGAIN)
			mu_poll(ch);
	}
	CHECK(put_bytes(here, page + 4096, 8) == -EFAULT);
	for (uint64_t i = 0; i < COUNT; i++) {
		uint64_t at = i % 2 ? page + 4096 : page + 1024 + 8 * i;

		here[i] = UINT64_MAX;
		op[i] = (struct mu_op){.done = count_result};
		while (mu_get(ch, 1, 0, &here[i], at, 8, &op[i]) == -EAGAIN)
			mu_poll(ch);
	}
	while (refused + taken < COUNT)
		mu_poll(ch);
	CHECK(refused == COUNT / 2);
	for (uint64_t i = 0; i < COUNT; i += 2)
		CHECK(here[i] == i);
}

static int access_error_body(const struct mu_job *job)
{
	unsigned char *mine = map_pages(2 * 4096), local[64] = {1};

	open_channel();
	/* Not unmapped: another thread could map the page again. */
	mprotect(mine + 4096, 4096, PROT_NONE);
	if (job->task == 1) {
		send_word(0, (uint64_t)(uintptr_t)mine);
		for (int hole = 0; hole < HOLES; hole++) {
			wait_word();
			send_word(0, (uint64_t)(uintptr_t)map_hole((enum hole)hole));
		}
		wait_word();
		CHECK(mine[0] == 1);
	} else {
		uint64_t remote = wait_word();

		CHECK(put_bytes(local, remote + 4096, 64) == -EFAULT);
		CHECK(put_bytes(local, 16, 64) == -EFAULT);
		CHECK(get_bytes(local + 1, remote + 4096, 8) == -EFAULT);
		CHECK(get_bytes(local + 1, 16, 8) == -EFAULT);
		/* The next operations succeed. */
		CHECK(put_bytes(local, remote, 64) == 0);
		CHECK(get_bytes(local, remote, 64) == 0);
		check_short_transfers(remote);
		for (int hole = 0; hole < HOLES; hole++) {
			send_word(1, 0);
			check_long_transfers(wait_word(), hole != HOLE_NO_FILE);
		}
		send_word(1, 1);
	}
	mu_channel_close(ch);
	return 0;
}

/*
 * A put, a message whose handler takes the memory away, and another put, which mostly arrive
 * together: what was found for the first put must not count for the other. (Where the engine thread
 * takes them the handler runs after both.) Between hosts only, since within one the initiator
 * copies.
 */
static int vanish_body(const struct mu_job *job)
{
	enum { ROUNDS = 100 };
	unsigned char soft[MU_SOFT_BYTES] = {'u'}, *mine = map_pages(VANISHING);

	open_channel();
	for (int i = 0; i < ROUNDS && job->task == 1; i++) {
		uint64_t until = drv_clock_ns() + 100000;

		mprotect(mine, VANISHING, PROT_READ | PROT_WRITE);
		send_word(0, (uint64_t)(uintptr_t)mine);
		while (drv_clock_ns() < until)
			;
		wait_word();
	}
	for (int i = 0; i < ROUNDS && job->task == 0; i++) {
		uint64_t remote = wait_word();
		struct mu_op op = {.done = note_done};
		unsigned before = dones;
		size_t bytes = i % 2 ? 8 : VANISHING;
		int rc;

		while (mu_put(ch, 1, 0, mine, remote, bytes, NULL, NULL) == -EAGAIN)
			mu_poll(ch);
		while (mu_send_short(ch, 1, 0, soft, NULL, 0, &remote, 8) == -EAGAIN)
			mu_poll(ch);
		while (mu_put(ch, 1, 0, mine, remote, bytes, NULL, &op) == -EAGAIN)
			mu_poll(ch);
		rc = finish_op(&op, before);
		CHECK(rc == -EFAULT || rc == 0);
		send_word(1, 1);
	}
	mu_channel_close(ch);
	return 0;
}

/* Other threads, such as that of a sanitizer, forbid a thread to remember. */
#ifdef __SANITIZE_THREAD__
#define MAY_REMEMBER false
#else
#define MAY_REMEMBER mu_known.is_sole
#endif

/*
 * The target does nothing but poll until its thread remembers the page that the other task puts to
 * and gets from (mu/engine/known_memory.h), and then takes the page away between two polls. Not on
 * one node of fabric express, where the initiator copies.
 */
static int remember_body(const struct mu_job *job)
{
	enum { ROUNDS = 20 };
	uint64_t *mine = (void *)map_pages(4096), value = 0;
	unsigned remembered = 0;

	open_channel();
	for (int i = 0; i < ROUNDS && job->task == 1; i++) {
		uint64_t until = drv_clock_ns() + 1000000000;
		unsigned before = messages;

		mprotect(mine, 4096, PROT_READ | PROT_WRITE);
		mine[0] = 0;
		send_word(0, (uint64_t)(uintptr_t)mine);
		while (((MAY_REMEMBER && !mu_known.count) || atomic_load_acquire(&mine[0]) < 100) &&
		       drv_clock_ns() < until)
			for (int k = 0; k < 100; k++)
				mu_poll(ch);
		remembered += mu_known.count != 0;
		mprotect(mine, 4096, PROT_NONE);
		while (messages == before)
			mu_poll(ch);
		wait_word();
	}
	for (int i = 0; i < ROUNDS && job->task == 0; i++) {
		uint64_t remote = wait_word(), back = 0;
		int rc = 0;

		for (value = 1; !rc; value++) {
			rc = put_bytes(&value, remote, 8);
			if (!rc && !(rc = get_bytes(&back, remote, 8)))
				CHECK_EQ(back, value);
		}
		CHECK_EQ(rc, -EFAULT);
		send_word(1, 1);
	}
	CHECK(remembered || !MAY_REMEMBER || job->task == 0);
	mu_channel_close(ch);
	return 0;
}

enum { PUTS = 2000, PERIOD_NS = 700000 };

static timer_t taker;
static uint64_t *lent_page; /* which the handler takes away */
static volatile sig_atomic_t takes;
static uint32_t *takes_seen; /* shared by both tasks: those whose poll has ended */

static void set_taker(long ns)
{
	timer_settime(taker, 0, &(struct itimerspec){{0, ns}, {0, ns}}, NULL);
}

/* mprotect() stands for munmap(), whose page another mapping could get. */
static void take_page(int signal)
{
	(void)signal;
	if (atomic_load_acquire(lent_page) < PUTS)
		return;
	set_taker(0);
	mprotect(lent_page, 4096, PROT_NONE);
	takes++;
}

static void share_takes(const struct mu_job *job)
{
	char path[64];
	uint64_t word;
	int fd;

	if (job->task == 1) {
		fd = memfd_create("takes", 0);
		REQUIRE_EQ(ftruncate(fd, 4096), 0);
		send_word(0, (uint64_t)getpid() << 32 | (unsigned)fd);
		wait_word();
	} else {
		word = wait_word();
		snprintf(path, sizeof path, "/proc/%u/fd/%u", (unsigned)(word >> 32),
			 (unsigned)word);
		fd = open(path, O_RDWR);
		send_word(1, 1);
	}
	takes_seen = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	REQUIRE(takes_seen != MAP_FAILED);
}

/*
 * The same, but a signal handler takes the page away, while the thread goes on polling. There is no
 * put in that poll, since a handler races with the store of a put as with any other.
 */
static int remember_signal_body(const struct mu_job *job)
{
	enum { ROUNDS = 40 };
	struct sigaction handler = {.sa_handler = take_page, .sa_flags = SA_RESTART};
	struct sigevent wish = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	unsigned remembered = 0;

	open_channel();
	if (job->task == 1) {
		REQUIRE_EQ(sigaction(SIGUSR1, &handler, NULL), 0);
		REQUIRE_EQ(timer_create(CLOCK_MONOTONIC, &wish, &taker), 0);
	}
	share_takes(job);
	for (int i = 0; i < ROUNDS && job->task == 1; i++) {
		unsigned before = messages;
		sig_atomic_t taken = takes;

		lent_page = (void *)map_pages(4096);
		set_taker(PERIOD_NS);
		send_word(0, (uint64_t)(uintptr_t)lent_page);
		while (messages == before) { /* the puts end with an error */
			remembered += mu_known.count != 0;
			mu_poll(ch);
			atomic_store_release(takes_seen, (uint32_t)takes);
		}
		CHECK_EQ(takes, taken + 1);
		wait_word();
	}
	for (int i = 0; i < ROUNDS && job->task == 0; i++) {
		uint64_t remote = wait_word(), value = 1;
		int rc = 0;

		for (; !rc; value++) {
			while (value > PUTS && atomic_load_acquire(takes_seen) <= (uint32_t)i)
				mu_poll(ch);
			rc = put_bytes(&value, remote, 8);
		}
		CHECK_EQ(rc, -EFAULT);
		send_word(1, 1);
	}
	CHECK(remembered || !MAY_REMEMBER || job->task == 0);
	mu_channel_close(ch);
	return 0;
}

static int refuse_body(const struct mu_job *job)
{
	unsigned char soft[MU_SOFT_BYTES] = {'w'}, many[600] = {0};
	struct mu_op op = {.done = note_done};
	MUHWI_Descriptor_t bad[5];
	struct mu_dest to;

	open_channel();
	if (job->task == 0) {
		to = (struct mu_dest){ch->p->entry[1].coords, 0};
		CHECK(mu_send_short(ch, 2, 0, soft, NULL, 0, many, 8) == -EINVAL);
		CHECK(mu_send_short(ch, 1, 64, soft, NULL, 0, many, 8) == -EINVAL);
		CHECK(mu_send_short(ch, 1, 0, soft, NULL, 0, many, 513) == -EINVAL);
		CHECK(mu_put(ch, 1, 0, many, 16, 0, NULL, &op) == -EINVAL);
		CHECK(mu_get(ch, 7, 0, many, 16, 8, &op) == -EINVAL);
		/* What a program could put into its FIFO by hand. */
		mu_desc_put(&bad[0], (uint64_t)(uintptr_t)many, 0, &to, 16, 0, 0);
		mu_desc_get(&bad[1], (uint64_t)(uintptr_t)many, 65, &to);
		mu_desc_fifo(&bad[2], (uint64_t)(uintptr_t)many, 8, &to, soft, 0);
		bad[2].PacketHeader.NetworkHeader.pt2pt.Byte8.Byte8 = 0xd0;
		to.coords = 63u << 24;
		mu_desc_fifo(&bad[3], (uint64_t)(uintptr_t)many, 8, &to, soft, 0);
		mu_desc_fifo(&bad[4], (uint64_t)(uintptr_t)many, 8, &to, soft, 0);
		bad[4].Torus_FIFO_Map = 0;
		for (int i = 0; i < 5; i++)
			CHECK(MUSPI_InjFifoInject(&ch->tx.fifo, &bad[i]) != UINT64_MAX);
		while (!MUSPI_CheckDescComplete(&ch->tx.fifo, 5))
			mu_poll(ch);
		CHECK(ch->engine.refused == 5);
		send_word(1, 9);
	} else {
		CHECK(wait_word() == 9);
	}
	mu_channel_close(ch);
	return 0;
}

/* A forked child is no member: its calls fail, and the parent goes on undisturbed. */
static int fork_body(const struct mu_job *job)
{
	const struct mu_job *again;
	uint64_t value = 5;
	pid_t child;
	int status = -1;

	open_channel();
	child = fork();
	if (!child) {
		unsigned char soft[MU_SOFT_BYTES] = {'w'};
		struct mu_op op = {.done = note_done};
		int ok = mu_send_short(ch, 1 - job->task, 0, soft, NULL, 0, &value, 8) == -EINVAL &&
			 mu_put(ch, 1, 0, &value, 16, 8, NULL, &op) == -EINVAL &&
			 mu_attach(&again) == -ECHILD;

		for (int i = 0; i < 1000; i++)
			ok = ok && mu_poll(ch) == 0;
		mu_make_room(ch);
		_exit(ok ? 0 : 1);
	}
	waitpid(child, &status, 0);
	CHECK(status == 0);
	send_word(1 - job->task, 77);
	CHECK(wait_word() == 77);
	mu_channel_close(ch);
	return 0;
}

static int barrier_storm_body(const struct mu_job *job)
{
	static uint64_t count;

	open_channel();
	/* Each task writes to all: 200 rounds of all-to-all words, each round complete. */
	for (unsigned round = 0; round < 200; round++) {
		for (uint32_t t = 0; t < job->tasks; t++)
			send_word(t, round);
		count += job->tasks;
		while (messages < count)
			mu_poll(ch);
	}
	mu_channel_close(ch);
	return 0;
}

/*
 * The first half of the tasks sends short messages of all sizes to the second, which polls seldom:
 * bursts, full rings, and between them messages that go through the FIFO. Each arrives once, whole,
 * in its turn.
 */
static int stream_body(const struct mu_job *job)
{
	const uint32_t n = t_sanitized() ? 3000 : 30000, half = job->tasks / 2;
	struct drv_rng rng;

	open_channel();
	drv_rng_seed(&rng, job->task + 1);
	if (job->task < half) {
		for (uint32_t i = 0; i < n; i++) {
			unsigned char soft[MU_SOFT_BYTES] = {'s'}, bytes[512];
			uint32_t size =
			    (uint32_t)drv_rng_below(&rng, drv_rng_below(&rng, 8) ? 17 : 513);
			struct mu_op op = {.done = note_done};
			unsigned before = dones;

			memcpy(soft + 1, &i, 4);
			soft[5] = (unsigned char)size;
			for (uint32_t k = 0; k < size; k++)
				bytes[k] = pattern_byte(i + k);
			if (i % 1000 == 999) {
				while (mu_send(ch, job->task + half, 0, soft, bytes, size, &op) ==
				       -EAGAIN)
					mu_poll(ch);
				finish_op(&op, before);
			} else {
				while (mu_send_short(ch, job->task + half, 0, soft, NULL, 0, bytes,
						     size) == -EAGAIN)
					mu_poll(ch);
			}
			if (!drv_rng_below(&rng, 100))
				mu_poll(ch);
		}
		while (wait_word() != n)
			;
	} else {
		for (uint32_t stop = 0; stream_next < n; mu_poll(ch))
			if (stream_next >= stop) {
				for (int i = 0; i < 2000; i++)
					sched_yield();
				stop = stream_next + n / 10;
			}
		CHECK(stream_bad == 0);
		send_word(job->task - half, n);
	}
	mu_channel_close(ch);
	return 0;
}

/* With QUINTORUS_MU=fifo each message is a descriptor, and a put or get at least one. */
static int descriptors_body(const struct mu_job *job)
{
	const atomic_u64 *count;
	uint64_t value = 0, before;

	open_channel();
	count = (const atomic_u64 *)(const void *)&ch->a->inj_hw.descCount;
	if (job->task == 1) {
		send_word(0, (uint64_t)(uintptr_t)&received);
		while (messages < 101)
			mu_poll(ch);
		CHECK_EQ(word, UINT64_MAX);
		CHECK_EQ(atomic_load_acquire(count), 1);
	} else {
		uint64_t there = wait_word(), seven = 7;

		before = atomic_load_acquire(count);
		for (unsigned i = 0; i < 100; i++)
			send_word(1, i);
		while (atomic_load_acquire(count) < before + 100)
			mu_poll(ch);
		CHECK_EQ(atomic_load_acquire(count), before + 100);
		CHECK_EQ(put_bytes(&seven, there, 8), 0);
		CHECK(atomic_load_acquire(count) > before + 100);
		before = atomic_load_acquire(count);
		CHECK_EQ(get_bytes(&value, there, 8), 0);
		CHECK(atomic_load_acquire(count) > before);
		CHECK_EQ(value, 7);
		send_word(1, UINT64_MAX);
	}
	mu_channel_close(ch);
	return 0;
}

static void run_job(enum mu_fabric fabric, int (*body)(const struct mu_job *))
{
	struct mu_job_test t = {{{1, 1, 2, 1, 1}, 1, 0}, 2, fabric, body};

	CHECK_EQ(mu_job_run(&t), 0);
}

#define BOTH(name)                                                                                 \
	static void name##_express(void)                                                           \
	{                                                                                          \
		run_job(MU_FABRIC_EXPRESS, name##_body);                                           \
	}                                                                                          \
	static void name##_torus(void)                                                             \
	{                                                                                          \
		run_job(MU_FABRIC_TORUS, name##_body);                                             \
	}
BOTH(sizes)
BOTH(stream)
BOTH(fifo_sizes)
BOTH(big)
BOTH(away)
BOTH(handler)
BOTH(access_error)
static void remember_torus(void)
{
	run_job(MU_FABRIC_TORUS, remember_body);
}
BOTH(refuse)
BOTH(fork)

static void all_through_fifo(enum mu_fabric fabric)
{
	setenv("QUINTORUS_MU", "fifo", 1);
	run_job(fabric, descriptors_body);
	run_job(fabric, sizes_body);
	run_job(fabric, stream_body);
	unsetenv("QUINTORUS_MU");
}
static void all_through_fifo_express(void)
{
	all_through_fifo(MU_FABRIC_EXPRESS);
}
static void all_through_fifo_torus(void)
{
	all_through_fifo(MU_FABRIC_TORUS);
}

static void run_storm(enum mu_fabric fabric)
{
	struct mu_job_test t = {{{2, 2, 2, 2, 1}, 2, 0}, 32, fabric, barrier_storm_body};

	CHECK_EQ(mu_job_run(&t), 0);
}
static void storm_of_32_express(void)
{
	run_storm(MU_FABRIC_EXPRESS);
}
static void storm_of_32_torus(void)
{
	run_storm(MU_FABRIC_TORUS);
}

/* As a program of torus run (tests/mu/mu_wires.sh): one body, between the hosts of that job. */
static int under_launcher(const char *name)
{
	static const struct {
		const char *name;
		int (*body)(const struct mu_job *);
	} bodies[] = {{"sizes", sizes_body},
		      {"fifo_sizes", fifo_sizes_body},
		      {"big", big_body},
		      {"away", away_body},
		      {"access_error", access_error_body},
		      {"storm", barrier_storm_body},
		      {"stream", stream_body},
		      {"handler", handler_body},
		      {"vanish", vanish_body},
		      {"remember", remember_body},
		      {"remember_signal", remember_signal_body}};
	const struct mu_job *job;

	for (unsigned i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
		int rc;

		if (strcmp(name, bodies[i].name))
			continue;
		if (mu_attach(&job))
			return 100;
		rc = bodies[i].body(job) + t_failures();
		mu_detach();
		return rc > 99 ? 99 : rc;
	}
	fprintf(stderr, "no body %s\n", name);
	return 2;
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {T(sizes_express),
					      T(sizes_torus),
					      T(stream_express),
					      T(stream_torus),
					      T(fifo_sizes_express),
					      T(fifo_sizes_torus),
					      T(big_express),
					      T(big_torus),
					      T(away_express),
					      T(away_torus),
					      T(handler_express),
					      T(handler_torus),
					      T(access_error_express),
					      T(access_error_torus),
					      T(remember_torus),
					      T(refuse_express),
					      T(refuse_torus),
					      T(fork_express),
					      T(fork_torus),
					      T(storm_of_32_express),
					      T(storm_of_32_torus),
					      T(all_through_fifo_express),
					      T(all_through_fifo_torus)};

	if (argc == 3 && !strcmp(argv[1], "--body"))
		return under_launcher(argv[2]);
	return t_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
