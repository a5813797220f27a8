/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual time: a thread that waits in a loop for its memory to change, without a call, polls.
 *
 * Two timers interrupt a thread by a signal. The slow one counts its processor time and runs
 * always. The quick one is armed at the end of a call by which the thread got the turn, while the
 * thread has lately been found in such loops. The signal handler looks at the registers of the
 * interrupted thread (vtime/loop.h): if it waits, the handler polls for it until it no longer
 * waits. So a loop on memory takes the same virtual time as a loop on a poll, and the run can be
 * repeated: whether a state repeats does not depend on when the signal came.
 *
 * A loop that is not proved to wait is left to the simulator, which preempts the process after
 * long (sim/spin.h). So are processes whose commthreads serve contexts: a message's function must
 * not run where a signal interrupted the program, which may hold a lock that the function needs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include "drivers/base/log.h"
#include "drivers/base/settings.h"
#include "mu/mu.h"
#include "mu/vtime/cost.h"
#include "mu/vtime/loop.h"
#include "mu/vtime/state.h"

/* Programs and libraries rarely use this signal, debuggers pass it on, and the default is to ignore
 * it. */
#define WATCH_SIGNAL  SIGURG
#define SLOW_NS       2000000u
#define QUICK_MOST_NS 1000000u
#define QUICK_TURNS   250u /* turns without such a loop; then the slow timer is enough */
/*
 * In a program of the registers a thread is presumed to spin before the simulator preempts the
 * process (SPIN_WATCHED_NS and less in sim/spin.c): of a process that is preempted no thread gets
 * much of the processor.
 */
#define THREAD_WATCHED_NS 150000000u
#define THREAD_LEAST_NS   1000000u
#define THREAD_NOTICE_NS  200000u /* for one that spins to notice a change */
/* So often the simulator preempts the process before it does so early again. */
#define MISSES_MOST 4u

/*
 * The thread sanitizer delivers a signal when the thread makes its next call, so the registers
 * that a handler gets there are old.
 */
#if defined __x86_64__ && !defined __SANITIZE_THREAD__
#define CAN_WATCH 1
#else
#define CAN_WATCH 0
#endif

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t vt_watch_limit(bool spins, uint64_t ns)
{
	bool is_watched = vt_state.watch.ns && vt_state.watch.misses < MISSES_MOST;

	if (!vt_state.watch.poll)
		return ns;
	if (spins)
		return THREAD_NOTICE_NS;
	return smaller(ns, is_watched ? THREAD_WATCHED_NS : THREAD_LEAST_NS);
}

#if CAN_WATCH

/* The poll of a process that hands nothing in by stores. */
static void poll_memory(void)
{
	mu_call_polls("a loop that waits for its memory to change");
	mu_charge_now(MU_COST_poll, 1);
	vt_state.flags |= MU_VT_LOOP;
	mu_vt_idle();
}

static bool make_timer(struct mu_vthread *t, clockid_t clock, timer_t *timer)
{
	struct sigevent e = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = WATCH_SIGNAL};

	e.sigev_value.sival_ptr = t;
	e._sigev_un._tid = t->tid;
	return !timer_create(clock, &e, timer);
}

static void set_quick(const struct mu_vthread *t, uint64_t ns)
{
	struct itimerspec when = {.it_value = {.tv_nsec = (long)ns}};

	if (t->watch.has_quick)
		timer_settime(t->watch.quick, 0, &when, NULL);
}

/* Look soon after each of the next calls. */
static void expect_loops(struct mu_vthread *t)
{
	t->watch.turns = QUICK_TURNS;
	t->watch.ns = vt_state.watch.ns;
	if (!t->watch.has_quick)
		t->watch.has_quick = make_timer(t, CLOCK_MONOTONIC, &t->watch.quick);
}

static void start_slow(struct mu_vthread *t)
{
	struct itimerspec every = {{0, SLOW_NS}, {0, SLOW_NS}};

	t->watch.is_started = 1;
	if (!make_timer(t, CLOCK_THREAD_CPUTIME_ID, &t->watch.slow))
		return;
	t->watch.has_slow = 1;
	vt_state.vt->arg[MU_VT_ARG_WATCHED] = vt_state.watch.misses < MISSES_MOST;
	if (vt_state.watch.poll) /* such programs wait so as their normal way */
		expect_loops(t);
	timer_settime(t->watch.slow, 0, &every, NULL);
}

void vt_watch_end(struct mu_vthread *t)
{
	if (t->watch.has_slow)
		timer_delete(t->watch.slow);
	if (t->watch.has_quick)
		timer_delete(t->watch.quick);
	t->watch.has_slow = t->watch.has_quick = t->watch.turns = 0;
}

void vt_watch_arm(struct mu_vthread *t)
{
	vt_state.watch.is_due = 0;
	if (vt_state.watch.ns && !t->watch.is_started)
		start_slow(t);
	if (t->watch.is_busy || (!t->watch.turns && !vt_state.watch.poll))
		return;
	t->watch.turns -= t->watch.turns != 0;
	t->watch.ns = vt_state.watch.ns;
	set_quick(t, t->watch.ns);
}

void vt_watch_count_miss(void)
{
	if (vt_state.watch.misses < MISSES_MOST && ++vt_state.watch.misses == MISSES_MOST)
		vt_state.vt->arg[MU_VT_ARG_WATCHED] = 0;
}

static void load_registers(struct mu_loop *l, const ucontext_t *c)
{
	static const uint8_t at[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
				       REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
				       REG_R12, REG_R13, REG_R14, REG_R15};

	for (int i = 0; i < 16; i++)
		l->reg[i] = (uint64_t)c->uc_mcontext.gregs[at[i]];
	l->ip = (uint64_t)c->uc_mcontext.gregs[REG_RIP];
	l->flags = (uint32_t)c->uc_mcontext.gregs[REG_EFL] & MU_LOOP_FLAGS;
	l->known = MU_LOOP_FLAGS;
	l->words = 0;
	l->memory = NULL;
	l->vectors_known = 0;
	memset(l->vector, 0, sizeof l->vector);
	for (int i = 0; c->uc_mcontext.fpregs && i < 16; i++) {
		memcpy(&l->vector[i], &c->uc_mcontext.fpregs->_xmm[i], sizeof l->vector[i]);
		l->vectors_known |= 1u << i;
	}
	__asm__("mov %%fs:0, %0" : "=r"(l->fs)); /* the first word there holds its own address */
}

static bool is_turn_holder(const struct mu_vthread *t)
{
	return t == atomic_load_relaxed(&vt_state.holder) &&
	       atomic_load_relaxed(&vt_state.phase) == RUNNING &&
	       atomic_load_acquire(&vt_state.vt->turn) == MU_TURN_IS_TASK;
}

/* A thread that lost the turn while it slept or spun is AWAY, and runs in the program. */
static bool is_in_program(const struct mu_vthread *t)
{
	if (t->keeps || t->side)
		return false;
	if (is_turn_holder(t))
		return !atomic_load_relaxed(&vt_state.vt->inside);
	return atomic_load_relaxed(&t->state) == MU_VTHREAD_AWAY;
}

/* Poll as long as the interrupted thread waits. Returns whether it did wait. */
static bool poll_while_waiting(const struct mu_vthread *t, void (*poll)(void),
			       const ucontext_t *context)
{
	struct mu_loop l;
	uint64_t before;
	bool waited = false;

	do {
		load_registers(&l, context);
		if (!mu_loop_is_waiting(&l))
			return waited;
		waited = true;
		before = t->now;
		poll();
	} while (vt_is_joined() && is_turn_holder(t) && t->now != before);
	return waited;
}

static void look_at(struct mu_vthread *t, const ucontext_t *context)
{
	void (*poll)(void) = vt_state.watch.poll;

	if (!poll && !vt_state.vt->serves)
		poll = poll_memory;
	if (!is_in_program(t) || !poll) {
		if (is_turn_holder(t))
			set_quick(t, t->watch.ns);
		return;
	}
	t->watch.is_busy = 1;
	if (poll_while_waiting(t, poll, context))
		expect_loops(t);
	else if (t->watch.ns <= QUICK_MOST_NS)
		t->watch.ns *= 2;
	t->watch.is_busy = 0;
	if (t->watch.ns <= QUICK_MOST_NS)
		set_quick(t, t->watch.ns);
}

/* From a timer, or from vt_watch_ask(). */
static bool is_from_here(const siginfo_t *info)
{
	return info->si_code == SI_TIMER || (info->si_code == SI_QUEUE && info->si_pid == getpid());
}

/* Is it the record of this thread? One that has made no call does not know its record. The thread
 * that asked has seen it alive, so the record is not freed. */
static bool is_own(const struct mu_vthread *t)
{
	return vt_self ? t == vt_self : t->tid == (pid_t)syscall(SYS_gettid);
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
	int error = errno;
	struct mu_vthread *t = info->si_value.sival_ptr;

	(void)signal;
	if (is_from_here(info) && t && is_own(t) && !t->stands_in && vt_is_joined())
		look_at(t, context);
	errno = error;
}

void vt_watch_ask(struct mu_vthread *t, uint64_t waited_ns)
{
	siginfo_t info = {.si_code = SI_QUEUE};

	if (!t->look.asked_ns)
		t->look.asked_ns = vt_state.watch.ns;
	if (!vt_state.watch.ns || waited_ns < t->look.asked_ns || t->state != MU_VTHREAD_AWAY)
		return;
	t->look.asked_ns = 2 * waited_ns;
	info.si_pid = getpid();
	info.si_value.sival_ptr = t;
	syscall(SYS_rt_tgsigqueueinfo, info.si_pid, t->tid, WATCH_SIGNAL, &info);
}

static void watch(void)
{
	struct sigaction old,
	    new = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
	uint64_t ns = 1000 * drv_setting_number(DRV_QUINTORUS_LOOP_US);

	if (!ns || vt_state.watch.ns || sigaction(WATCH_SIGNAL, NULL, &old))
		return;
	sigemptyset(&new.sa_mask);
	if ((old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN) ||
	    sigaction(WATCH_SIGNAL, &new, NULL)) {
		drv_info("virtual clock: the program handles SIGURG itself, so a loop that waits "
			 "for its memory without a call is found by the processor time that it "
			 "uses");
		return;
	}
	vt_state.watch.ns = ns;
}

/* The library installs no handler unasked in programs that know nothing of the registers. */
void vt_watch_init(void)
{
	if (drv_setting_is_set(DRV_QUINTORUS_LOOP_US))
		watch();
}

void mu_vt_poll_for_loops(void (*poll)(void))
{
	vt_state.watch.poll = poll;
	if (!vt_is_joined())
		return;
	watch();
	vt_state.watch.is_due = 1; /* the program may wait before it gets another turn */
}

#else

void mu_vt_poll_for_loops(void (*poll)(void))
{
	vt_state.watch.poll = poll;
}

void vt_watch_init(void) {}

void vt_watch_arm(struct mu_vthread *t)
{
	(void)t;
	vt_state.watch.is_due = 0;
}

void vt_watch_ask(struct mu_vthread *t, uint64_t waited_ns)
{
	(void)t, (void)waited_ns;
}

void vt_watch_count_miss(void) {}

void vt_watch_end(struct mu_vthread *t)
{
	(void)t;
}

#endif
