/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * drivers/base/touch.h: what a touch finds, with every kind of page; that it changes nothing; and
 * that signals which no touch has caused do what they did without its handlers.
 */
#define _GNU_SOURCE
#include "drivers/base/touch.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "tests/harness/t.h"

enum { PAGE = 4096, PAGES = 64 };

static bool can_touch(void)
{
	if (drv_touch_start() == -ENOTSUP)
		return false;
	drv_touch_stop();
	return true;
}

#define SKIP_IF_NOT_HERE()                                                                         \
	do {                                                                                       \
		if (!can_touch())                                                                  \
			T_SKIP("this processor has no touches");                                   \
	} while (0)

static void *map(size_t pages, int rights)
{
	void *p = mmap(NULL, pages * PAGE, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(p != MAP_FAILED);
	return p;
}

static uint64_t va_of(const volatile void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static void check_touch(uint64_t va, bool read, bool write)
{
	CHECK_EQ(drv_touch_read(va), read);
	CHECK_EQ(drv_touch_write(va), write);
}

static void every_kind_of_page(void)
{
	char *one, *file;
	int fd = memfd_create("short", MFD_CLOEXEC);

	SKIP_IF_NOT_HERE();
	CHECK_EQ(drv_touch_start(), 0);
	CHECK(drv_touch_is_safe());
	one = map(3, PROT_READ | PROT_WRITE);
	check_touch(va_of(one), true, true);
	check_touch(va_of(one + PAGE - 1), true, true);
	CHECK_EQ(mprotect(one + PAGE, PAGE, PROT_READ), 0);
	CHECK_EQ(mprotect(one + 2l * PAGE, PAGE, PROT_NONE), 0);
	check_touch(va_of(one + PAGE), true, false);
	check_touch(va_of(one + 2l * PAGE), false, false);
	munmap(one, PAGE);
	check_touch(va_of(one), false, false);
	munmap(one, 3ul * PAGE);
	/* The second page is beyond the end of the file: SIGBUS. */
	REQUIRE(fd >= 0 && !ftruncate(fd, 2l * PAGE));
	file = mmap(NULL, 2ul * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	REQUIRE(file != MAP_FAILED);
	check_touch(va_of(file + PAGE), true, true);
	REQUIRE(!ftruncate(fd, PAGE));
	check_touch(va_of(file), true, true);
	check_touch(va_of(file + PAGE), false, false);
	munmap(file, 2ul * PAGE);
	close(fd);
	check_touch(16, false, false);
	check_touch(1ull << 63, false, false); /* no address of x86-64 */
	check_touch(~0ull, false, false);
	drv_touch_stop();
}

static void pages_at_random(void)
{
	static const int rights[] = {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE};
	uint32_t right[PAGES];
	char *at;

	SKIP_IF_NOT_HERE();
	CHECK_EQ(drv_touch_start(), 0);
	at = map(PAGES, PROT_NONE);
	for (int round = 0; round < 200; round++) {
		for (long i = 0; i < PAGES; i++) {
			right[i] = (uint32_t)drv_rng_below(t_rng(), 3);
			REQUIRE(!mprotect(at + i * PAGE, PAGE, rights[right[i]]));
		}
		for (long i = 0; i < PAGES; i++)
			check_touch(va_of(at + i * PAGE) + drv_rng_below(t_rng(), PAGE),
				    right[i] > 0, right[i] > 1);
	}
	munmap(at, (size_t)PAGES * PAGE);
	drv_touch_stop();
}

enum { ADDS = 3000000 };
static _Alignas(64) uint32_t sum;
static atomic_u32 adder_started;

static void *add_ones(void *arg)
{
	atomic_store_release(&adder_started, 1);
	for (int i = 0; i < ADDS; i++)
		atomic_fetch_add_relaxed((atomic_u32 *)&sum, 1);
	return arg;
}

static void a_touch_changes_nothing(void)
{
	pthread_t adder;

	SKIP_IF_NOT_HERE();
	CHECK_EQ(drv_touch_start(), 0);
	sum = 0;
	CHECK_EQ(pthread_create(&adder, NULL, add_ones, NULL), 0);
	while (!atomic_load_acquire(&adder_started))
		;
	for (int i = 0; i < ADDS; i++)
		REQUIRE(drv_touch_write(va_of(&sum)) && drv_touch_read(va_of(&sum)));
	pthread_join(adder, NULL);
	CHECK_EQ(sum, ADDS);
	drv_touch_stop();
}

static void *touch_both(void *arg)
{
	const char *pages = arg;

	for (int i = 0; i < 5000; i++)
		if (!drv_touch_write(va_of(pages)) || drv_touch_write(va_of(pages + PAGE)) ||
		    drv_touch_read(va_of(pages + PAGE)))
			return NULL;
	return arg;
}

static void threads_at_once(void)
{
	pthread_t thread[4];
	char *pages;

	SKIP_IF_NOT_HERE();
	CHECK_EQ(drv_touch_start(), 0);
	pages = map(2, PROT_READ | PROT_WRITE);
	CHECK_EQ(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, touch_both, pages), 0);
	for (int i = 0; i < 4; i++) {
		void *result = NULL;

		pthread_join(thread[i], &result);
		CHECK(result == pages);
	}
	munmap(pages, 2ul * PAGE);
	drv_touch_stop();
}

/* ---- handlers of the program ---- */

static char *bad;
static volatile sig_atomic_t calls, was_on_stack, had_address;
static char alternate[64 << 10];

/* The handler makes the page exist, so that the access that faulted goes on. */
static void on_segv_info(int sig, siginfo_t *info, void *context)
{
	char here;

	(void)sig;
	(void)context;
	calls++;
	had_address = info->si_addr == (void *)bad;
	was_on_stack = &here >= alternate && &here < alternate + sizeof alternate;
	mprotect(bad, PAGE, PROT_READ | PROT_WRITE);
}

static void on_segv(int sig)
{
	(void)sig;
	calls++;
	mprotect(bad, PAGE, PROT_READ | PROT_WRITE);
}

static void set_handler(int sig, const struct sigaction *act)
{
	REQUIRE(!sigaction(sig, act, NULL));
}

static void set_plain(int sig, void (*handler)(int))
{
	struct sigaction act = {.sa_handler = handler};

	set_handler(sig, &act);
}

static void access_bad_page(void)
{
	*(volatile char *)bad = 1;
}

static void begin_child(void)
{
	struct rlimit none = {0, 0};

	setrlimit(RLIMIT_CORE, &none);
	bad = map(1, PROT_NONE);
}

static int handler_before(void *arg)
{
	stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
	struct sigaction act = {.sa_sigaction = on_segv_info, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	(void)arg;
	begin_child();
	REQUIRE(!sigaltstack(&stack, NULL));
	for (int on_stack = 0; on_stack < 2; on_stack++) {
		act.sa_flags = on_stack ? SA_SIGINFO | SA_ONSTACK : SA_SIGINFO;
		set_handler(SIGSEGV, &act);
		REQUIRE(!drv_touch_start());
		calls = 0;
		REQUIRE(!drv_touch_read(va_of(bad)) && !drv_touch_write(va_of(bad)));
		REQUIRE(calls == 0);
		access_bad_page();
		REQUIRE(calls == 1 && had_address);
		REQUIRE(was_on_stack == on_stack);
		REQUIRE(!mprotect(bad, PAGE, PROT_NONE));
		access_bad_page();
		REQUIRE(calls == 2);
		REQUIRE(!mprotect(bad, PAGE, PROT_NONE));
		drv_touch_stop();
	}
	set_plain(SIGSEGV, on_segv);
	REQUIRE(!drv_touch_start());
	access_bad_page();
	REQUIRE(calls == 3);
	return 0;
}

static void handlers_that_were_there(void)
{
	SKIP_IF_NOT_HERE();
	CHECK_EQ(t_wait(t_child(handler_before, NULL), 30), 0);
}

static int handler_once(void *arg)
{
	struct sigaction act = {.sa_handler = on_segv, .sa_flags = (int)SA_RESETHAND};

	(void)arg;
	begin_child();
	set_handler(SIGSEGV, &act);
	REQUIRE(!drv_touch_start());
	access_bad_page();
	REQUIRE(calls == 1);
	REQUIRE(!mprotect(bad, PAGE, PROT_NONE));
	access_bad_page();
	return 3;
}

static int die_by_access(void *arg)
{
	begin_child();
	set_plain(SIGSEGV, arg ? SIG_IGN : SIG_DFL); /* sanitizers have handlers of their own */
	REQUIRE(!drv_touch_start());
	REQUIRE(!drv_touch_read(va_of(bad)));
	access_bad_page();
	return 3;
}

static int die_by_signal(void *arg)
{
	int sig = *(int *)arg;

	begin_child();
	set_plain(sig, SIG_DFL);
	REQUIRE(!drv_touch_start());
	raise(sig);
	return 3;
}

static int ignore_signal(void *arg)
{
	(void)arg;
	begin_child();
	set_plain(SIGSEGV, SIG_IGN);
	REQUIRE(!drv_touch_start());
	raise(SIGSEGV);
	kill(getpid(), SIGSEGV);
	REQUIRE(!drv_touch_read(va_of(bad)));
	return 0;
}

static void no_handler_was_there(void)
{
	int segv = SIGSEGV, bus = SIGBUS, ignored = 1;

	SKIP_IF_NOT_HERE();
	CHECK_EQ(t_wait(t_child(handler_once, NULL), 30), 128 + SIGSEGV);
	CHECK_EQ(t_wait(t_child(die_by_access, NULL), 30), 128 + SIGSEGV);
	CHECK_EQ(t_wait(t_child(die_by_access, &ignored), 30), 128 + SIGSEGV);
	CHECK_EQ(t_wait(t_child(die_by_signal, &segv), 30), 128 + SIGSEGV);
	CHECK_EQ(t_wait(t_child(die_by_signal, &bus), 30), 128 + SIGBUS);
	CHECK_EQ(t_wait(t_child(ignore_signal, NULL), 30), 0);
}

/* A signal that another thread sends while this one touches is no fault of the touch. */
static atomic_u32 handled, touches_end, bad_touches;

static void count_signal(int sig)
{
	(void)sig;
	atomic_fetch_add_relaxed(&handled, 1);
}

static void *touch_on(void *arg)
{
	while (!atomic_load_relaxed(&touches_end))
		if (!drv_touch_read(va_of(arg)) || !drv_touch_write(va_of(arg)))
			atomic_fetch_add_relaxed(&bad_touches, 1);
	return arg;
}

static int send_signals(void *arg)
{
	static uint32_t word;
	pthread_t toucher;

	(void)arg;
	set_plain(SIGSEGV, count_signal);
	REQUIRE(!drv_touch_start());
	REQUIRE(!pthread_create(&toucher, NULL, touch_on, &word));
	for (uint32_t i = 0; i < 150; i++) {
		REQUIRE(!pthread_kill(toucher, SIGSEGV));
		while (atomic_load_relaxed(&handled) == i)
			sched_yield();
	}
	atomic_store_relaxed(&touches_end, 1);
	pthread_join(toucher, NULL);
	REQUIRE(!atomic_load_relaxed(&bad_touches));
	return 0;
}

static void signals_that_are_sent(void)
{
	SKIP_IF_NOT_HERE();
	CHECK_EQ(t_wait(t_child(send_signals, NULL), 15), 0);
}

/* ---- when touches are not safe ---- */

static void wait_for_look(void)
{
	usleep(3000);
}

static void set_blocked(int sig, bool blocked)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	REQUIRE(!pthread_sigmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL));
	wait_for_look();
}

static void *is_safe_here(void *arg)
{
	return drv_touch_is_safe() ? arg : NULL;
}

static int unsafe_at_times(void *arg)
{
	static const int both[] = {SIGSEGV, SIGBUS};
	struct sigaction ours;
	pthread_t other;
	void *result;

	(void)arg;
	REQUIRE(!drv_touch_is_safe());
	REQUIRE(!drv_touch_start());
	REQUIRE(drv_touch_is_safe());
	for (int i = 0; i < 2; i++) {
		REQUIRE(!sigaction(both[i], NULL, &ours));
		set_plain(both[i], on_segv);
		wait_for_look();
		REQUIRE(!drv_touch_is_safe());
		set_handler(both[i], &ours);
		wait_for_look();
		REQUIRE(drv_touch_is_safe());
		set_blocked(both[i], true);
		REQUIRE(!drv_touch_is_safe());
		set_blocked(both[i], false);
		REQUIRE(drv_touch_is_safe());
	}
	/* The other thread begins with our mask and then looks for itself. */
	set_blocked(SIGSEGV, true);
	REQUIRE(!pthread_create(&other, NULL, is_safe_here, &ours));
	REQUIRE(!pthread_join(other, &result) && !result);
	set_blocked(SIGSEGV, false);
	REQUIRE(!pthread_create(&other, NULL, is_safe_here, &ours));
	REQUIRE(!pthread_join(other, &result) && result);
	drv_touch_stop();
	REQUIRE(!drv_touch_is_safe());
	return 0;
}

static void other_handlers_and_masks(void)
{
	SKIP_IF_NOT_HERE();
	CHECK_EQ(t_wait(t_child(unsafe_at_times, NULL), 30), 0);
}

static bool has_handler(int sig, void (*handler)(int))
{
	struct sigaction now;

	return !sigaction(sig, NULL, &now) && now.sa_handler == handler;
}

static int stop_restores(void *arg)
{
	struct sigaction ours;

	(void)arg;
	begin_child();
	set_plain(SIGSEGV, on_segv);
	set_plain(SIGBUS, SIG_DFL);
	REQUIRE(!drv_touch_start() && !drv_touch_start());
	REQUIRE(!has_handler(SIGSEGV, on_segv));
	drv_touch_stop();
	REQUIRE(drv_touch_is_safe() && !has_handler(SIGSEGV, on_segv));
	drv_touch_stop();
	REQUIRE(has_handler(SIGSEGV, on_segv) && has_handler(SIGBUS, SIG_DFL));
	/* A handler that the program installed meanwhile stays, and what it kept still works. */
	REQUIRE(!drv_touch_start());
	REQUIRE(!sigaction(SIGSEGV, NULL, &ours));
	set_plain(SIGSEGV, count_signal);
	drv_touch_stop();
	REQUIRE(has_handler(SIGSEGV, count_signal));
	set_handler(SIGSEGV, &ours);
	access_bad_page();
	REQUIRE(calls == 1);
	REQUIRE(!mprotect(bad, PAGE, PROT_NONE));
	REQUIRE(!drv_touch_start());
	REQUIRE(drv_touch_is_safe() && !drv_touch_read(va_of(bad)));
	access_bad_page();
	REQUIRE(calls == 2);
	drv_touch_stop();
	REQUIRE(has_handler(SIGSEGV, on_segv));
	return 0;
}

static void the_end_restores_handlers(void)
{
	SKIP_IF_NOT_HERE();
	CHECK_EQ(t_wait(t_child(stop_restores, NULL), 30), 0);
}

static int touch_in_child(void *arg)
{
	const char *pages = arg;

	REQUIRE(drv_touch_is_safe());
	REQUIRE(drv_touch_write(va_of(pages)) && !drv_touch_write(va_of(pages + PAGE)));
	return 0;
}

static void after_fork(void)
{
	char *pages;

	SKIP_IF_NOT_HERE();
	CHECK_EQ(drv_touch_start(), 0);
	pages = map(2, PROT_READ | PROT_WRITE);
	CHECK_EQ(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
	CHECK_EQ(t_wait(t_child(touch_in_child, pages), 30), 0);
	munmap(pages, 2ul * PAGE);
	drv_touch_stop();
}

T_MAIN(T(every_kind_of_page), T(pages_at_random), T(a_touch_changes_nothing), T(threads_at_once),
       T(handlers_that_were_there), T(no_handler_was_there), T(signals_that_are_sent),
       T(other_handlers_and_masks), T(the_end_restores_handlers), T(after_fork))
