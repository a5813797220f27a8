/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "drivers/base/touch.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "drivers/base/module.h"

#if defined(__x86_64__)

/*
 * A fault between touch_begin and touch_end continues at touch_failed. The functions use no stack,
 * so the return address is on its top in all three.
 */
__asm__(".pushsection .text\n"
	".hidden touch_load, touch_add, touch_begin, touch_end, touch_failed\n"
	".globl touch_load, touch_add, touch_begin, touch_end, touch_failed\n"
	".type touch_load, @function\n"
	".type touch_add, @function\n"
	".balign 16\n"
	"touch_begin:\n"
	"touch_load:\n"
	".cfi_startproc\n"
	"	movb (%rdi), %al\n"
	"	movl $1, %eax\n"
	"	ret\n"
	".cfi_endproc\n"
	".size touch_load, . - touch_load\n"
	"touch_add:\n"
	".cfi_startproc\n"
	"	lock addl $0, (%rdi)\n"
	"	movl $1, %eax\n"
	"	ret\n"
	".cfi_endproc\n"
	".size touch_add, . - touch_add\n"
	"touch_end:\n"
	"touch_failed:\n"
	".cfi_startproc\n"
	"	xorl %eax, %eax\n"
	"	ret\n"
	".cfi_endproc\n"
	".popsection\n");

#define HIDDEN __attribute__((visibility("hidden")))
extern HIDDEN int touch_load(uint64_t va);
extern HIDDEN int touch_add(uint64_t va);
extern HIDDEN const char touch_begin[], touch_end[], touch_failed[];

bool drv_touch_read(uint64_t va)
{
	return touch_load(va);
}

bool drv_touch_write(uint64_t va)
{
	return touch_add(va & ~3ull);
}

enum { SIGNALS = 2 };
static const int signals[SIGNALS] = {SIGSEGV, SIGBUS};

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned users; /* protected by start_lock */
static atomic_u32 is_started;
static struct sigaction before[SIGNALS]; /* complete before our handler is installed */

static void set_default(int sig)
{
	struct sigaction act = {.sa_handler = SIG_DFL};

	sigaction(sig, &act, NULL);
}

/* Do what would have happened without our handler. */
static void pass_on(int sig, siginfo_t *info, void *context)
{
	const struct sigaction *act = &before[sig == SIGBUS];

	if (act->sa_handler != SIG_DFL && act->sa_handler != SIG_IGN) {
		if (act->sa_flags & (int)SA_RESETHAND)
			set_default(sig);
		if (act->sa_flags & SA_SIGINFO)
			act->sa_sigaction(sig, info, context);
		else
			act->sa_handler(sig);
	} else if (info->si_code > 0) {
		/* The instruction faults again when we return. The kernel does not let a program
		 * ignore that. */
		set_default(sig);
	} else if (act->sa_handler == SIG_DFL) {
		/* Another process or thread sent it. */
		set_default(sig);
		syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)syscall(SYS_gettid), sig, info);
	}
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	greg_t *pc = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	int kept = errno;

	if (info->si_code > 0 && (uintptr_t)*pc >= (uintptr_t)touch_begin &&
	    (uintptr_t)*pc < (uintptr_t)touch_end)
		*pc = (greg_t)(uintptr_t)touch_failed;
	else
		pass_on(sig, info, context);
	errno = kept;
}

static bool is_ours(const struct sigaction *act)
{
	return (act->sa_flags & SA_SIGINFO) && act->sa_sigaction == on_fault;
}

/*
 * The flags and the mask are those of the handler that was there, which so runs on the stack and
 * with the signals blocked that it asked for.
 */
static void install(int i)
{
	struct sigaction act, old;

	sigaction(signals[i], NULL, &old);
	if (is_ours(&old)) /* the program had saved and restored it */
		return;
	before[i] = old;
	act = old;
	act.sa_sigaction = on_fault;
	act.sa_flags &= ~(int)SA_RESETHAND;
	act.sa_flags |= SA_SIGINFO;
	sigaction(signals[i], &act, NULL);
}

int drv_touch_start(void)
{
	pthread_mutex_lock(&start_lock);
	if (!users++)
		for (int i = 0; i < SIGNALS; i++)
			install(i);
	atomic_store_release(&is_started, 1);
	pthread_mutex_unlock(&start_lock);
	return 0;
}

void drv_touch_stop(void)
{
	struct sigaction now;

	pthread_mutex_lock(&start_lock);
	if (!--users) {
		atomic_store_release(&is_started, 0);
		for (int i = 0; i < SIGNALS; i++) {
			if (!sigaction(signals[i], NULL, &now) && is_ours(&now))
				sigaction(signals[i], &before[i], NULL);
			else
				drv_module_keep(); /* the program may have kept our handler */
		}
	}
	pthread_mutex_unlock(&start_lock);
}

static bool look(void)
{
	struct sigaction now;
	sigset_t blocked;

	if (pthread_sigmask(SIG_BLOCK, NULL, &blocked))
		return false;
	for (int i = 0; i < SIGNALS; i++)
		if (sigismember(&blocked, signals[i]) || sigaction(signals[i], NULL, &now) ||
		    !is_ours(&now))
			return false;
	return true;
}

enum { LOOK_US = 1000 };

bool drv_touch_is_safe(void)
{
	static __thread uint64_t looked;
	static __thread bool was_safe;
	uint64_t now;

	if (!atomic_load_acquire(&is_started))
		return false;
	now = drv_clock_ticks();
	if (!looked || now - looked > LOOK_US * drv_clock_ticks_per_us()) {
		looked = now;
		was_safe = look();
	}
	return was_safe;
}

#else

int drv_touch_start(void)
{
	return -ENOTSUP;
}

void drv_touch_stop(void) {}

bool drv_touch_is_safe(void)
{
	return false;
}

bool drv_touch_read(uint64_t va)
{
	(void)va;
	return false;
}

bool drv_touch_write(uint64_t va)
{
	(void)va;
	return false;
}

#endif
