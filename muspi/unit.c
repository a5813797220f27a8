/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The unit of a process: joining the job, its registers, its thread.
 *
 * Programs store to registers and read them without a call. In real time a thread of the unit looks
 * at the active FIFOs, and naps while it finds nothing; hooks in the inline functions of the
 * interface save the wait for it. In virtual time there is no such thread: the hooks do its work,
 * and where a program spins without a call, the stand-in thread of its process does
 * (mu/vtime/vtask.h).
 */
#define _GNU_SOURCE /* on_exit() */
#include "muspi/unit.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "drivers/base/clock.h"
#include "drivers/base/cpu.h"
#include "drivers/base/log.h"
#include "drivers/base/module.h"
#include "drivers/base/settings.h"

#define NAP_MIN_NS  20000u
#define NAP_MAX_NS  1000000u
#define BUSY_ROUNDS 64u /* empty rounds before the first nap */
#define LEAVE_NS    5000000000u
#define SLICE_NS    1000000u    /* a yield at least as long met a thread that spins */
#define DEAR_NS     1000000000u /* and for as long others would, too */

struct unit unit;
UNIT_API volatile unsigned char quintorus_mu_harmless_page[4096];

static pthread_mutex_t attach_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	pthread_t thread;
	bool runs;
	atomic_u32 stop, asleep, wanted;
	atomic_u32 polls; /* of the program, by calls; a lost one matters little */
	pthread_mutex_t lock;
	pthread_cond_t cond;
} thread = {.lock = PTHREAD_MUTEX_INITIALIZER};
static __thread bool is_inside; /* this thread pumps */

static const char *const rule_name[] = {
#define RULE(name, text) #name,
#include "muspi/rules.def"
#undef RULE
};

#define LINES 8u /* of each rule, then one at its 100th, 1,000th ... refusal */

static bool has_line(uint64_t number)
{
	while (number > 1 && number % 10 == 0)
		number /= 10;
	return number == 1;
}

/* What becomes of a packet or descriptor that breaks a rule. */
static const char *name_outcome(enum unit_rule rule)
{
	switch (rule) {
	case RULE_rec_enabled:
	case RULE_get_active:
		return "kept";
	case RULE_class_mismatch: /* what was combined is delivered */
		return "noted";
	default:
		return "refused";
	}
}

void unit_refuse(enum unit_rule rule, const char *field, uint64_t value)
{
	uint64_t number = atomic_load_relaxed(&unit.refused[rule]) + 1;
	const char *what = name_outcome(rule);

	/* A format for each rule, because drv_warn() limits the lines of each format. */
	if (number <= LINES)
		switch (rule) {
#define RULE(name, text)                                                                           \
	case RULE_##name:                                                                          \
		drv_warn("MU: %s: %s 0x%llx breaks the rule " #name ": " text, what, field,        \
			 (unsigned long long)value);                                               \
		break;
#include "muspi/rules.def"
#undef RULE
		case UNIT_RULES:
			break;
		}
	else if (number >= 100 && has_line(number))
		drv_warn("MU: %s by the rule %s: %llu times so far, now %s 0x%llx", what,
			 rule_name[rule], (unsigned long long)number, field,
			 (unsigned long long)value);
	/* Behind the line: a program that sees the count finds the line written. */
	atomic_fetch_add_release(&unit.refused[rule], 1);
}

bool unit_check_place(const MUHWI_Fifo_t *hw, const struct unit_place *place)
{
	uint64_t start = hw->pa_start;

	if (unit_is_in_place(hw, place))
		return true;
	unit_refuse(RULE_fifo_place, start != place->start ? "pa_start" : "size - 1",
		    start != place->start ? start : hw->size_1);
	return false;
}

/* How often a rule was broken in this process; UINT64_MAX: there is no such rule. For programs and
 * tests that ask. */
UNIT_API uint64_t quintorus_mu_refused(const char *name)
{
	for (unsigned i = 0; i < UNIT_RULES; i++)
		if (!strcmp(rule_name[i], name))
			return atomic_load_acquire(&unit.refused[i]);
	return UINT64_MAX;
}

void unit_wake(void)
{
	atomic_store_seq_cst(&thread.wanted, 1);
	if (!thread.runs || !atomic_load_seq_cst(&thread.asleep))
		return;
	pthread_mutex_lock(&thread.lock);
	pthread_cond_signal(&thread.cond);
	pthread_mutex_unlock(&thread.lock);
}

/* ---- the pump ---- */

/* In virtual time only the thread that has the turn may try, since who succeeds matters. */
static bool pump_try(void)
{
	if (is_inside)
		return false;
	if (unit.job->virtual_clock)
		mu_take_turn();
	if (!mu_lock_try(&unit.pump))
		return false;
	is_inside = true;
	return true;
}

void unit_unlock(void)
{
	is_inside = false;
	mu_lock_release(&unit.pump);
}

void unit_lock(void)
{
	while (!pump_try()) {
		if (is_inside)
			return; /* cannot be: no function of the program runs in a pump */
		if (unit.job->virtual_clock)
			quintorus_mu_poll();
		else
			sched_yield();
	}
}

/* Carry out the bits that the program set in the switch registers of a group. */
static void take_switches(unsigned group)
{
	MUHWI_InjFifoStatus_t *s = unit_status(group);
	uint64_t on, off;

	if (atomic_load_relaxed((uint64_t *)&s->ClearInterruptStatus))
		(void)unit_get_interrupts(group);
	if (!s->enable && !s->disable)
		return;
	on = atomic_exchange_acq_rel((uint64_t *)&s->enable, 0);
	off = atomic_exchange_acq_rel((uint64_t *)&s->disable, 0);
	for (unsigned g = 0; g < 32; g++) {
		struct unit_inj *f =
		    group * 32 + g < MU_TABLE_INJ ? unit.inj[group * 32 + g] : NULL;

		if (f && f->is_set && ((on | off) >> (31 - g) & 1))
			unit_activate(f, on >> (31 - g) & 1);
	}
}

static int work_run(void)
{
	struct unit_packet *p;
	int n = 0;

	for (;;) {
		int rc;

		mu_lock_acquire(&unit.memory);
		p = unit_list_take(&unit.work);
		mu_lock_release(&unit.memory);
		if (!p)
			return n;
		rc = unit_tree_work(p);
		if (rc == -EAGAIN) {
			mu_lock_acquire(&unit.memory);
			p->next = unit.work.first;
			if (!p->next)
				unit.work.last = &p->next;
			unit.work.first = p;
			mu_lock_release(&unit.memory);
			return n;
		}
		free(p);
		n++;
	}
}

int unit_pump(void)
{
	int n = mu_poll_once(unit.ch);

	for (unsigned g = 0; g < UNIT_SUBGROUPS / 4; g++)
		if (atomic_ptr_load_acquire(&unit.group[g]))
			take_switches(g);
	if (unit.work.first)
		n += work_run();
	n += unit_tree_run();
	if (unit.waiting)
		n += unit_refill();
	n += unit_inject();
	return n;
}

/* Is anything of ours on its way? */
static bool is_busy(void)
{
	return unit.flights || unit.work.first || unit_tree_is_busy();
}

/* ---- hooks ---- */

UNIT_API void quintorus_mu_doorbell(void)
{
	if (!unit.is_attached)
		return;
	if (!pump_try()) {
		if (is_inside || !unit.job->virtual_clock) {
			unit_wake();
			return;
		}
		/* The thread that is in the pump waits for its turn, so this one has to as well. */
		unit_lock();
	}
	if (unit.job->virtual_clock)
		mu_charge(MU_COST_descriptor, 1);
	unit_inject();
	unit_tree_run();
	unit_unlock();
}

static void poll_registers(bool has_pump, unsigned how)
{
	int n = 0;

	if (has_pump) {
		n = unit_pump();
		unit_unlock();
	}
	mu_call_polls("a poll of the MU's registers");
	mu_wait(unit.ch, n, how);
}

UNIT_API void quintorus_mu_poll(void)
{
	if (!unit.is_attached || is_inside)
		return;
	atomic_store_relaxed(&thread.polls, atomic_load_relaxed(&thread.polls) + 1);
	poll_registers(pump_try(), MU_IDLE_POLL);
}

/*
 * In virtual time no thread is preempted in a pump. In real time the unit's thread may be preempted
 * between the sending of a packet and the store that says so.
 */
UNIT_API void quintorus_mu_settle(void)
{
	if (!unit.is_attached || is_inside)
		return;
	if (unit.job->virtual_clock) {
		quintorus_mu_poll();
		return;
	}
	unit_lock();
	poll_registers(true, MU_IDLE_POLL);
}

/* ---- threads ---- */

static void sleep_for(uint64_t ns)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)ns;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&thread.lock);
	atomic_store_seq_cst(&thread.asleep, 1);
	if (!atomic_load_seq_cst(&thread.wanted) && !atomic_load_seq_cst(&thread.stop))
		pthread_cond_timedwait(&thread.cond, &thread.lock, &until);
	atomic_store_seq_cst(&thread.asleep, 0);
	pthread_mutex_unlock(&thread.lock);
}

/* Has the program polled by a call since the last question? */
static bool has_program_polled(void)
{
	static uint32_t seen;
	uint32_t now = atomic_load_relaxed(&thread.polls);
	bool has = now != seen;

	seen = now;
	return has;
}

/*
 * Yield; returns false if this thread has to take a nap instead. A program that polls needs it
 * least, and may have the processor. If programs spin on their memory, a yield costs a time slice
 * of each of them, while a thread that wakes up from a nap gets the processor at once.
 */
static bool give_way(bool polled)
{
	static uint64_t dear_at; /* when a yield last cost a slice; 0: never */
	uint64_t before = drv_clock_ns();

	if (!polled && (unit.job->crowded || (dear_at && before - dear_at < DEAR_NS)))
		return false;
	sched_yield();
	if (drv_clock_ns() - before >= SLICE_NS)
		dear_at = before;
	return true;
}

static void *unit_thread(void *arg)
{
	unsigned empty = 0;

	(void)arg;
	while (!atomic_load_acquire(&thread.stop)) {
		bool polled = has_program_polled();
		int n = 0;

		atomic_store_seq_cst(&thread.wanted, 0);
		if (pump_try()) {
			n = unit_pump();
			unit_unlock();
		}
		if (n) {
			empty = 0;
			if (unit.job->crowded)
				give_way(polled);
			continue;
		}
		if (++empty < BUSY_ROUNDS && !unit.job->crowded) {
			drv_cpu_relax();
			continue;
		}
		if (!is_busy() || empty >= 4 * BUSY_ROUNDS || !give_way(polled))
			sleep_for(empty > 50 * BUSY_ROUNDS  ? NAP_MAX_NS
				  : empty > 8 * BUSY_ROUNDS ? NAP_MIN_NS * 10
							    : NAP_MIN_NS);
	}
	return NULL;
}

static int thread_start(void)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&thread.cond, &attr);
	pthread_condattr_destroy(&attr);
	if (mu_service_thread_start(unit_thread, NULL, &thread.thread))
		return EAGAIN;
	thread.runs = true;
	return 0;
}

/* Virtual time: what the stand-in thread runs. */
static int serve_unit(void *arg)
{
	int n;

	(void)arg;
	if (!pump_try())
		return 0;
	n = unit_pump();
	unit_unlock();
	return n;
}

/* ---- registers ---- */

unsigned char *unit_page(unsigned subgroup)
{
	struct unit_group *g = atomic_ptr_load_acquire(&unit.group[subgroup / 4]);

	if (!g) {
		struct unit_group *made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE,
					       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (made == MAP_FAILED)
			return NULL;
		/* Several threads may allocate parts of one group for the first time. */
		if (atomic_ptr_cas_acq_rel(&unit.group[subgroup / 4], &g, made))
			g = made;
		else
			munmap(made, sizeof *made);
	}
	return g->page[subgroup % 4];
}

MUHWI_InjFifoStatus_t *unit_status(unsigned group)
{
	return (
	    MUHWI_InjFifoStatus_t *)(void *)(atomic_ptr_load_acquire(&unit.group[group])->page[0] +
					     0x300);
}

unsigned unit_owner_of(unsigned subgroup)
{
	return subgroup < 64 ? subgroup * unit.job->shape.t / 64 : 0;
}

/*
 * Clear what the program wrote to the clear register, then set bits. Returns the status. What was
 * written before a bit is raised never clears that bit: a program that clears, and then finds its
 * FIFO empty, is woken for the next packet.
 */
static uint64_t change_interrupts(unsigned group, uint64_t bits)
{
	MUHWI_InjFifoStatus_t *s = unit_status(group);
	uint64_t *status = (uint64_t *)&s->InterruptStatus, clear;

	mu_lock_acquire(&unit.interrupts);
	clear = atomic_exchange_acq_rel((uint64_t *)&s->ClearInterruptStatus, 0);
	if (clear)
		atomic_fetch_and_acq_rel(status, ~clear);
	if (bits)
		atomic_fetch_or_acq_rel(status, bits);
	mu_lock_release(&unit.interrupts);
	return atomic_load_acquire(status);
}

uint64_t unit_get_interrupts(unsigned group)
{
	return change_interrupts(group, 0);
}

void unit_raise(unsigned group, uint64_t bits)
{
	if (atomic_ptr_load_acquire(&unit.group[group]))
		(void)change_interrupts(group, bits);
	unit_wake();
}

/* ---- joining and leaving ---- */

/* Is there another process of this node with this T? */
static bool find_sibling(unsigned t, uint32_t *task)
{
	struct emu_coord x = unit.job->coord;

	x.t = (uint8_t)t;
	return t != unit.job->coord.t && !mu_coord_task(&x, task);
}

/* Has one of them joined, and neither left nor ended? */
static bool has_siblings(void)
{
	for (unsigned t = 0; t < unit.job->shape.t; t++) {
		uint32_t pid = atomic_load_acquire(&unit.table->pid[t]), task;

		if (pid && find_sibling(t, &task) && !mu_task_is_unreachable(task) &&
		    !kill((pid_t)pid, 0))
			return true;
	}
	return false;
}

/*
 * Processes of a node serve each other: one forwards packets to another's FIFOs, and T 0 serves the
 * class routes of all. So the first that has finished stays until the others have. A process that
 * exits with a client of PAMI leaves at once: if others wait for its messages, torus run ends the
 * job and names it.
 */
static void wait_for_siblings(void)
{
	const char *outer;

	atomic_store_release(&unit.table->pid[unit.job->coord.t], 0);
	for (unsigned t = 0; t < unit.job->shape.t && !unit.job->virtual_clock; t++) {
		uint32_t task;

		if (find_sibling(t, &task))
			mu_wake_task(task);
	}
	outer = mu_call_waits("exit(), for the others of its node");
	while (!mu_is_shared() && has_siblings())
		poll_registers(pump_try(), MU_IDLE_WAIT);
	mu_call_waits(outer);
}

/* A process that fails does not wait, since the others may wait for it: torus run ends them. */
static void leave_job(int status, void *arg)
{
	uint64_t until;
	int n, quiet = 0;

	(void)arg;
	if (!unit.is_attached || mu_is_forked())
		return;
	if (!status)
		wait_for_siblings();
	until = drv_clock_ns() + LEAVE_NS;
	if (thread.runs) {
		atomic_store_seq_cst(&thread.stop, 1);
		unit_wake();
		pthread_join(thread.thread, NULL);
		thread.runs = false;
	}
	while (quiet < 4 && drv_clock_ns() < until) {
		n = 0;
		if (pump_try()) {
			n = unit_pump();
			quiet = n || is_busy() ? 0 : quiet + 1;
			unit_unlock();
		}
		if (quiet < 4)
			mu_wait(unit.ch, n, MU_IDLE_AGAIN);
		if (!n && unit.job->virtual_clock && is_busy())
			mu_wait(unit.ch, 0, MU_IDLE_POLL);
	}
	unit.is_attached = false;
	if (unit.job->virtual_clock)
		mu_commthread_remove(unit.ch);
	mu_channel_close(unit.ch);
	mu_detach();
}

static void on_message(void *arg, uint32_t source, const unsigned char *soft,
		       const unsigned char *payload, uint32_t bytes, uint64_t offset)
{
	(void)arg, (void)soft, (void)payload, (void)bytes, (void)offset;
	drv_warn("MU: a message of task %u for a channel that takes none: dropped", source);
}

static int attach_locked(void)
{
	int rc = mu_attach(&unit.job);

	if (rc)
		return -rc;
	unit.channel = mu_last_channel();
	rc = mu_channel_open(unit.channel, on_message, NULL, &unit.ch);
	if (rc) {
		drv_error(
		    "MU: channel %u is %s; the registers of the MU need the last channel of a "
		    "task, so PAMI may have %u contexts beside them",
		    unit.channel, strerror(-rc), unit.channel);
		mu_detach();
		return -rc;
	}
	unit.table = mu_own_node_table();
	unit.work.last = &unit.work.first;
	unit.is_strict = drv_setting_number(DRV_QUINTORUS_REC_FIFO) || mu_rec_fifo_is_strict();
	unit_tree_start();
	mu_channel_on_raw(unit.ch, unit_on_raw);
	if (unit.job->virtual_clock) {
		mu_uses_registers(quintorus_mu_poll);
		if (mu_commthread_add(unit.ch, serve_unit, NULL, 0))
			drv_warn("MU: PAMI_MAX_COMMTHREADS is 0: programs that wait for memory "
				 "without a call will not go on");
	} else if ((rc = thread_start())) {
		drv_error("MU: its thread does not start: raise ulimit -u");
		mu_channel_close(unit.ch);
		mu_detach();
		return rc;
	}
	atomic_store_release(&unit.table->pid[unit.job->coord.t], (uint32_t)getpid());
	unit.is_attached = true;
	drv_module_keep(); /* on_exit() does not know when a library is unloaded */
	on_exit(leave_job, NULL);
	return 0;
}

int unit_attach(void)
{
	int rc = 0;

	if (__builtin_expect(unit.is_attached, 1))
		return mu_is_forked() ? ECHILD : 0;
	pthread_mutex_lock(&attach_lock);
	if (!unit.is_attached)
		rc = attach_locked();
	pthread_mutex_unlock(&attach_lock);
	return rc;
}
