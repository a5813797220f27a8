/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements sim/spin.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "drivers/base/log.h"
#include "mu/sim/spin.h"
#include "mu/sim/state.h"

#define SPIN_NOTICE_NS 2000000u /* CPU time in which a task notices a change of its memory */
/* The limit for programs that use the registers of the MU, which wait for memory as their normal
 * way. */
#define SPIN_REGISTERS_NS   8000000u
#define NOTICE_REGISTERS_NS 1000000u
/* A task that finds its loops itself (vtime/watch.c) does that within some ticks of the kernel. */
#define SPIN_WATCHED_NS 200000000u
#define SPIN_LEAST_NS   2000000u
/* A task that did wait when it was preempted is next preempted after this part of the time. */
#define QUICKER_DIVISOR 8u
#define SHARE_EVERY_NS  10000000u
#define ASLEEP_CHECKS   20u /* 1 ms each; then the stand-in thread counts as asleep */
/* CPU time without a call until the simulator looks whether the task waits; then times LOOK_GROWTH,
 * and that often later at first after each look that proved nothing, up to MISSES_MOST; sooner
 * after one that proved it. */
#define LOOK_SOON_NS   50000u
#define LOOK_FIRST_NS  2000000u
#define LOOK_GROWTH    4u
#define MISSES_MOST    3u
#define UNNOTICED_MOST 64u /* packets of a long put between two chances to notice */
#define LOOP_KIB       64u /* writable memory that a loop on a flag uses at most */
/* Posted work that returns "again" is called again after AGAIN_PS, then at growing intervals. */
#define AGAIN_PS      1000000u
#define AGAIN_MOST_PS 100000000u
#define AGAIN_COUNTS  256u /* so many calls count as something under way */

static struct mu_vt_area *vt_area(const struct mu_sim *s, uint32_t local)
{
	return &mu_host_area(s->host, local)->vt;
}

/* Let the stand-in thread continue to serve. */
static void standin_run(struct mu_vt_area *vt)
{
	mu_turn_store(MU_TURN_STANDIN, &vt->serve, MU_STANDIN_RUNS, MU_TURN_BY_SIMULATOR);
	syscall(SYS_futex, &vt->serve, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/*
 * Preempt the writer of a state word, unless it is in a call (`inside`). It stores `inside` before
 * it loads the word, without a fence; so this stores the word, has all processors pass a barrier,
 * and then loads `inside`: at least one of the two sees the other. Returns whether it is preempted.
 */
static bool preempt_writer(enum mu_turn_word word, uint32_t *at, uint32_t from, uint32_t to,
			   const uint32_t *inside)
{
	struct timespec long_enough = {0, 20000000};

	if (!mu_turn_cas(word, at, from, to, MU_TURN_BY_SIMULATOR))
		return false;
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0))
		nanosleep(&long_enough, NULL); /* no processor holds a store back so long */
	/* If it was in a call, the writer may have changed the word and left the call since. */
	if (!atomic_load_acquire(inside) && atomic_load_acquire(at) == to)
		return true;
	mu_turn_cas(word, at, to, from, MU_TURN_BY_SIMULATOR);
	syscall(SYS_futex, at, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	return false;
}

/* ---- who may use the processor ---- */

/*
 * Stop the process of a task that spins, or let it run. A stopped task leaves the processor to the
 * others, so that what one of them waits for does not take as many times longer as tasks spin.
 */
static void set_stopped(struct mu_sim *s, uint32_t local, bool stopped)
{
	struct sim_task *t = &s->task[local];
	pid_t pid = sim_process(s, local);

	if (t->spin.stopped == stopped || t->gone || pid <= 1)
		return;
	if (!kill(pid, stopped ? SIGSTOP : SIGCONT))
		t->spin.stopped = stopped;
}

/* Stop all tasks that spin but this one, which runs. One whose stand-in thread waits for another
 * thread of it must run on. */
static void run_alone(struct mu_sim *s, uint32_t local)
{
	for (uint32_t i = 0; i < s->locals; i++)
		if (i != local && s->task[i].state == SIM_TASK_SPINS)
			set_stopped(s, i, !s->task[i].spin.standin_blocked);
	set_stopped(s, local, false);
}

void sim_spin_run_all(struct mu_sim *s)
{
	for (uint32_t i = 0; i < s->locals; i++)
		set_stopped(s, i, false);
}

/* True if the task hands in descriptors by stores, without a call. */
static bool uses_registers(const struct mu_sim *s, uint32_t local)
{
	return mu_host_area(s->host, local)->vt.arg[MU_VT_ARG_REGISTERS];
}

/* True if the task looks at its loops itself. Where a message's function could be called, it leaves
 * that to the simulator (vtime/watch.c). */
static bool is_watched(const struct mu_sim *s, uint32_t local)
{
	const struct mu_vt_area *vt = vt_area(s, local);

	return vt->arg[MU_VT_ARG_WATCHED] && (!vt->serves || uses_registers(s, local));
}

/* The CPU time without a call after which a task is presumed to wait, ns. */
static uint64_t spin_ns(const struct mu_sim *s, uint32_t local)
{
	uint64_t ns = s->spins.ns, least = is_watched(s, local) ? SPIN_WATCHED_NS : SPIN_LEAST_NS;

	if (uses_registers(s, local) && ns > SPIN_REGISTERS_NS)
		ns = SPIN_REGISTERS_NS;
	if (s->task[local].spin.was_right)
		ns /= QUICKER_DIVISOR;
	return ns > least ? ns : least;
}

void sim_spin_touch_slow(struct mu_sim *s, uint32_t local, uint64_t when, unsigned what)
{
	struct sim_task *t = &s->task[local];

	if (t->state != SIM_TASK_SPINS)
		return;
	s->spins.touched += !t->spin.touched;
	t->spin.touched_at =
	    t->spin.touched && t->spin.touched_at > when ? t->spin.touched_at : when;
	t->spin.touched |= (uint8_t)what;
	t->spin.empty_serves = 0;
}

void sim_spin_packet(struct mu_sim *s, uint32_t local, unsigned what)
{
	struct sim_task *t = &s->task[local];

	if (t->state != SIM_TASK_SPINS)
		return;
	if (what || ++t->spin.unnoticed >= UNNOTICED_MOST)
		sim_spin_touch(s, local, s->now, what ? what : SIM_TOUCH_CHANGES);
}

/* Preempt the task. Returns false if it is in a call and keeps the turn. */
static bool begin_spin(struct mu_sim *s, uint32_t local)
{
	struct sim_task *t = &s->task[local];
	struct mu_vt_area *vt = vt_area(s, local);

	if (!preempt_writer(MU_TURN_TURN, &vt->turn, MU_TURN_IS_TASK, MU_TURN_PREEMPTED,
			    &vt->inside))
		return 0;
	if (t->spin.proof.words)
		drv_info("virtual clock: task %u waits in a loop for its memory to change",
			 t->task);
	else
		drv_info("virtual clock: task %u burned %.3f s since its last library call: "
			 "presumed to wait for its memory to "
			 "change",
			 t->task, (double)spin_ns(s, local) * 1e-9);
	sim_task_set(t, SIM_TASK_SPINS);
	t->spin.cpu_from_ns = sim_cpu_ns(s, local);
	t->spin.unanswered = t->spin.unnoticed = t->spin.sampled = 0;
	set_stopped(s, local, true);
	s->spins.tasks++;
	s->quiet = 0;
	sim_take_requests(s, local);
	if (vt->serves) /* serve what came since it last made a call */
		sim_spin_touch(s, local, s->now, SIM_TOUCH_COMES);
	return 1;
}

/* Is it proved that the task, which runs, waits in a loop? */
static bool is_proved_to_wait(struct mu_sim *s, uint32_t local)
{
	struct sim_spin *spin = &s->task[local].spin;
	unsigned others = (unsigned)atomic_load_relaxed(&vt_area(s, local)->arg[MU_VT_ARG_OTHERS]);

	if (sim_proof_make(&spin->proof, sim_process(s, local), others)) {
		spin->misses = 0;
		spin->looks_soon = 1;
		return true;
	}
	spin->misses += !spin->looks_soon && spin->misses < MISSES_MOST;
	spin->looks_soon = 0;
	return false;
}

/* CPU time without a call until the simulator looks at the task. UINT64_MAX: it need not, since the
 * unit of a program of the registers has to poll while its program waits, or looks itself. */
static uint64_t first_look_ns(const struct mu_sim *s, uint32_t local)
{
	uint64_t ns = s->task[local].spin.looks_soon ? LOOK_SOON_NS : LOOK_FIRST_NS;

	if (!s->spins.looks || uses_registers(s, local) || is_watched(s, local))
		return UINT64_MAX;
	for (unsigned i = 0; i < s->task[local].spin.misses; i++)
		ns *= LOOK_GROWTH;
	return ns;
}

enum sim_waited sim_spin_wait_turn(struct mu_sim *s, uint32_t local, int *stop)
{
	uint32_t *turn = &vt_area(s, local)->turn;
	uint64_t look = first_look_ns(s, local), burned = 0;

	s->task[local].spin.proof.words = 0;
	for (;;) {
		uint64_t most = spin_ns(s, local), left = most > burned ? most - burned : 1;
		uint64_t ns = look < left ? look : left;
		enum sim_waited how = sim_wait_while(s, local, turn, MU_TURN_IS_TASK, ns, stop);

		if (how != SIM_BURNED)
			return how;
		burned += ns;
		if ((burned >= most || is_proved_to_wait(s, local)) && begin_spin(s, local))
			return how;
		s->task[local].spin.proof.words = 0; /* it was in a call */
		if (burned >= most)
			burned = 0;
		if (look < most)
			look *= LOOK_GROWTH;
	}
}

/*
 * The task makes a call, and is resumed at `at`. noticed: it made the call within the time that it
 * got after its memory had changed.
 */
static void end_spin(struct mu_sim *s, uint32_t local, uint64_t at, int noticed)
{
	struct sim_task *t = &s->task[local];
	struct mu_vt_area *vt = vt_area(s, local);
	uint64_t own = vt->back_ps;

	if (noticed) {
		t->spin.was_right = !t->spin.was_wrong;
	} else if (own < s->now) {
		if (!s->unrepeatable)
			drv_warn("virtual clock: task %u was taken to wait for memory, but it "
				 "computed: time went on "
				 "without it, and another run may differ (QUINTORUS_SPIN_MS: wait "
				 "longer)",
				 t->task);
		s->unrepeatable = 1;
		t->spin.was_right = 0;
		t->spin.was_wrong = 1;
	}
	s->spins.tasks--;
	s->quiet = 0;
	set_stopped(s, local, false);
	sim_task_set(t, SIM_TASK_READY);
	at = at > own ? at : own;
	sim_resume_at(s, local, at > s->now ? at : s->now);
}

/* ---- the thread that stands in for the commthreads ---- */

/* True if the stand-in thread sleeps in the kernel, for example on a lock of the program. */
static bool is_standin_asleep(struct mu_sim *s, uint32_t local, const struct mu_vt_area *vt)
{
	char path[64], text[512], *p;
	FILE *f;
	size_t n;

	snprintf(path, sizeof path, "/proc/%d/task/%u/stat", (int)sim_process(s, local),
		 vt->serve_tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[n] = 0;
	p = strrchr(text, ')');
	return p && p[1] == ' ' && p[2] == 'S';
}

/* Schedule another run of the stand-in thread, which is due even if no message comes. */
static void schedule_serve(struct mu_sim *s, uint32_t local, uint64_t at)
{
	struct sim_task *t = &s->task[local];
	uint64_t gap = AGAIN_PS << (t->spin.empty_serves < 7 ? t->spin.empty_serves : 7);
	int counts = t->spin.empty_serves < AGAIN_COUNTS;

	if (t->spin.serve_due)
		return;
	t->spin.empty_serves += counts;
	t->spin.serve_due = 1;
	s->engines += (uint32_t)counts;
	if (emu_sched_push(emu_world_sched(s->world),
			   at + (gap < AGAIN_MOST_PS ? gap : AGAIN_MOST_PS), t->node,
			   SIM_PORT_SERVE + t->t, SIM_SERVE, local, (uint16_t)counts))
		s->error = -ENOMEM;
}

void sim_serve_event(struct mu_sim *s, const struct emu_event *e)
{
	struct sim_task *t = &s->task[e->arg];
	uint32_t again = t->spin.empty_serves;

	s->engines -= e->mark;
	t->spin.serve_due = 0;
	sim_spin_touch(s, e->arg, s->now, SIM_TOUCH_COMES);
	t->spin.empty_serves = again;
}

/*
 * The stand-in thread serves from virtual time *at, which becomes the time at which it was done. If
 * it sleeps on something of the program, the simulator continues without it until it makes a call.
 * Returns the result of check().
 */
static int run_standin(struct mu_sim *s, uint32_t local, uint64_t *at)
{
	struct sim_task *t = &s->task[local];
	struct mu_vt_area *vt = vt_area(s, local);
	unsigned slept = 0;
	uint32_t is;
	int stop = 0;

	vt->serve_ps = *at;
	vt->serve_wants = 0;
	t->spin.standin_blocked = 0;
	run_alone(s, local);
	standin_run(vt);
	while ((is = atomic_load_acquire(&vt->serve)) == MU_STANDIN_RUNS ||
	       is == MU_STANDIN_STORES) {
		struct timespec ms = {0, 1000000};

		if (is == MU_STANDIN_STORES) {
			sim_take_requests(s, local);
			standin_run(vt);
			continue;
		}
		if (!syscall(SYS_futex, &vt->serve, FUTEX_WAIT, is, &ms, NULL, 0) ||
		    errno != ETIMEDOUT)
			continue;
		stop = s->conf.check ? s->conf.check(s->conf.arg) : 0;
		if (stop || t->gone)
			return stop;
		slept = is_standin_asleep(s, local, vt) ? slept + 1 : 0;
		if (slept > ASLEEP_CHECKS &&
		    preempt_writer(MU_TURN_STANDIN, &vt->serve, MU_STANDIN_RUNS, MU_STANDIN_BLOCKED,
				   &vt->serve_inside)) {
			drv_info("virtual clock: task %u: a message's function waits for a thread "
				 "of the program: the "
				 "hash means nothing",
				 t->task);
			s->unrepeatable = 1;
			t->spin.standin_blocked = 1;
		}
	}
	sim_take_requests(s, local);
	if (t->spin.standin_blocked)
		return 0;
	set_stopped(s, local, t->state == SIM_TASK_SPINS);
	*at = vt->serve_ps > *at ? vt->serve_ps : *at;
	if (vt->serve_more)
		schedule_serve(s, local, *at);
	/*
	 * The bit is set only together with a touch, which is counted: the rest of a turn may be
	 * served while the task runs.
	 */
	if (vt->serve_found && t->state == SIM_TASK_SPINS)
		t->spin.touched |= SIM_TOUCH_CHANGES;
	return 0;
}

/* Serve, as long as messages that found the reception FIFO full move into it. */
static int serve_all(struct mu_sim *s, uint32_t local, uint64_t *at)
{
	struct sim_task *t = &s->task[local];
	int rc;

	do {
		if (!vt_area(s, local)->serves ||
		    (t->spin.standin_blocked && !vt_area(s, local)->serve_wants))
			return 0;
		rc = run_standin(s, local, at);
	} while (!rc && !t->gone && t->spilled && sim_refill(s, local));
	return rc;
}

int sim_spin_serve_blocked(struct mu_sim *s, uint32_t local)
{
	uint64_t at = s->now;

	return s->task[local].spin.standin_blocked ? serve_all(s, local, &at) : 0;
}

/* ---- the spinning task ---- */

/*
 * What it was proved to wait for has come: let the task run until it makes a call, or waits again.
 * Returns whether it made a call.
 */
static bool run_to_call(struct mu_sim *s, uint32_t local, int *stop)
{
	struct sim_spin *spin = &s->task[local].spin;
	uint64_t ns = SPIN_NOTICE_NS, burned = 0;
	enum sim_waited how;
	bool waits_again = false;

	spin->proof.words = 0;
	run_alone(s, local);
	do {
		how = sim_wait_while(s, local, &vt_area(s, local)->back, 0, ns, stop);
		burned += ns;
		ns *= 2;
		waits_again = how == SIM_BURNED && is_proved_to_wait(s, local);
	} while (how == SIM_BURNED && !waits_again && burned < spin_ns(s, local));
	set_stopped(s, local, !spin->standin_blocked);
	return how == SIM_CHANGED;
}

/* Give the task CPU time to notice a change of its memory. Returns whether it made a call. */
static bool has_noticed(struct mu_sim *s, uint32_t local, int *stop)
{
	struct mu_vt_area *vt = vt_area(s, local);
	uint64_t ns = uses_registers(s, local) ? NOTICE_REGISTERS_NS : SPIN_NOTICE_NS;
	bool noticed;

	run_alone(s, local);
	noticed = sim_wait_while(s, local, &vt->back, 0, ns, stop) == SIM_CHANGED;
	set_stopped(s, local, !s->task[local].spin.standin_blocked);
	return noticed;
}

static int handle_touched(struct mu_sim *s, uint32_t local)
{
	struct sim_task *t = &s->task[local];
	uint64_t at = t->spin.touched_at > s->now ? t->spin.touched_at : s->now;
	int rc = 0;
	bool changed, is_proved = t->spin.proof.words != 0;

	if (t->state == SIM_TASK_SPINS) {
		sim_write_pending(s, local);
		if (t->spilled)
			sim_refill(s, local);
		rc = serve_all(s, local, &at);
	}
	changed = is_proved ? !sim_proof_holds(&t->spin.proof, sim_process(s, local))
			    : t->spin.touched & SIM_TOUCH_CHANGES;
	t->spin.touched = 0;
	s->spins.touched--;
	if (rc || !changed || t->state != SIM_TASK_SPINS)
		return rc;
	t->spin.unnoticed = 0;
	if (is_proved ? run_to_call(s, local, &rc) : has_noticed(s, local, &rc)) {
		end_spin(s, local, at, 1);
	} else if (!rc && uses_registers(s, local)) {
		/* It may have handed in a descriptor. What the stand-in thread finds is a touch. */
		rc = serve_all(s, local, &at);
		s->spins.touched += t->spin.touched != 0;
	}
	return rc;
}

int sim_spin_handle_touched(struct mu_sim *s)
{
	int rc = 0;

	for (uint32_t i = 0; i < s->locals && s->spins.touched && !rc; i++)
		if (s->task[i].spin.touched)
			rc = handle_touched(s, i);
	return rc;
}

void sim_spin_log_unanswered(struct mu_sim *s, uint32_t local)
{
	const struct sim_task *t = &s->task[local];

	if (!t->spin.unanswered)
		return;
	drv_warn("virtual clock: task %u: %u messages came meanwhile that nobody answers. If it "
		 "waits in its memory for what they bring, %s, or have that loop call "
		 "PAMI_Context_advance",
		 t->task, t->spin.unanswered,
		 vt_area(s, local)->serves
		     ? "send them to a context with asynchronous progress"
		     : "give their context to asynchronous progress (EXT_async_progress, with "
		       "PAMI_MAX_COMMTHREADS above 0; for ARMCI, ARMCI_PROGRESS_THREAD=1)");
}

/*
 * Return what the user can set so that a wait of this task is found sooner. Signals also find loops
 * of processes with several threads, which the simulator does not find. They find no loop of a
 * process whose commthreads serve contexts.
 */
static const char *advise_sooner(const struct mu_sim *s, uint32_t local)
{
	if (!s->spins.looks)
		return "QUINTORUS_LOOP_US=10 finds that at once";
	return is_watched(s, local) || vt_area(s, local)->serves
		   ? "a smaller QUINTORUS_SPIN_MS finds that sooner"
		   : "QUINTORUS_LOOP_US=10 may find that at once, and a smaller QUINTORUS_SPIN_MS "
		     "finds it sooner";
}

/*
 * All other tasks wait for this one, which computes or waits for something that no task does. Log
 * that once.
 */
static void warn_once(struct mu_sim *s, uint32_t local, uint64_t burned)
{
	struct sim_task *t = &s->task[local];

	if (t->spin.warned)
		return;
	t->spin.warned = 1;
	drv_warn("virtual clock: task %u burned %.1f s of CPU time since its last library call, "
		 "and all others wait for it. "
		 "If it computes, all is well; if it waits in a loop for its memory, "
		 "%s",
		 t->task, (double)(burned + spin_ns(s, local)) * 1e-9, advise_sooner(s, local));
	sim_spin_log_unanswered(s, local);
}

/* CPU time of the task since it was preempted. */
static uint64_t burned_ns(struct mu_sim *s, uint32_t local)
{
	uint64_t now = sim_cpu_ns(s, local), from = s->task[local].spin.cpu_from_ns;

	return now > from ? now - from : 0;
}

/* Have the kernel clear the referenced bits of the pages of the task. */
static void clear_page_use(struct mu_sim *s, uint32_t local)
{
	char path[48];
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/clear_refs", (int)sim_process(s, local));
	f = fopen(path, "we");
	if (!f)
		return;
	fputs("1", f);
	fclose(f);
}

/*
 * KiB of writable memory that the task used since clear_page_use(). (Other processes use the pages
 * of programs and libraries, too.) ULONG_MAX if the kernel does not say.
 */
static unsigned long used_kib(struct mu_sim *s, uint32_t local)
{
	char path[48], line[512], may[5] = "";
	unsigned long kib, sum = 0, from, to;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/smaps", (int)sim_process(s, local));
	f = fopen(path, "re");
	if (!f)
		return ULONG_MAX;
	while (fgets(line, sizeof line, f)) {
		if (sscanf(line, "Referenced: %lu", &kib) == 1)
			sum += may[1] == 'w' ? kib : 0;
		else
			sscanf(line, "%lx-%lx %4s", &from, &to, may);
	}
	fclose(f);
	return sum;
}

/*
 * True if the task was proved to wait, and nothing has happened for QUINTORUS_DEADLOCK_S; or if it
 * has used QUINTORUS_SPIN_LIMIT_S of CPU time in a loop on a flag. A computation
 * uses more memory than such a loop; the second half of the time shows how much the task uses.
 */
static bool is_given_up(struct mu_sim *s, uint32_t local)
{
	struct sim_task *t = &s->task[local];
	uint64_t burned = burned_ns(s, local);

	if (t->spin.proof.words)
		return s->deadlock_ns && drv_clock_ns() - s->spins.alone_ns >= s->deadlock_ns;
	warn_once(s, local, burned);
	if (!s->spins.limit_ns || burned < s->spins.limit_ns / 2)
		return 0;
	if (!t->spin.sampled) {
		clear_page_use(s, local);
		t->spin.sampled = 1;
	}
	if (burned < s->spins.limit_ns)
		return 0;
	if (used_kib(s, local) <= LOOP_KIB)
		return 1;
	t->spin.sampled = 0;
	t->spin.cpu_from_ns += burned;
	return 0;
}

/* True if every task that spins is given up, so that the run can end. */
static bool is_every_task_given_up(struct mu_sim *s)
{
	uint32_t spinning = 0, proved = 0;

	for (uint32_t i = 0; i < s->locals; i++) {
		if (s->task[i].state != SIM_TASK_SPINS)
			continue;
		spinning++;
		proved += s->task[i].spin.proof.words != 0;
		if (!is_given_up(s, i))
			return 0;
	}
	if (!spinning)
		return 0;
	if (proved == spinning)
		drv_error("virtual clock: deadlock at %.3f us of virtual time: nothing is under "
			  "way, and each task "
			  "that does not wait in a call waits in a loop for its memory to change "
			  "(QUINTORUS_DEADLOCK_S: wait for more, 0 s for ever)",
			  (double)s->now * 1e-6);
	else
		drv_error("virtual clock: nothing is under way, and each task that does not wait "
			  "in a call burned "
			  "%.0f s without one: the "
			  "run ends (QUINTORUS_SPIN_LIMIT_S: wait longer, 0 for ever)",
			  (double)s->spins.limit_ns * 1e-9);
	for (uint32_t i = 0; i < s->locals; i++) {
		if (s->task[i].state != SIM_TASK_SPINS)
			continue;
		drv_error("  task %u %swaits in its memory for what no task does; %u messages "
			  "came for it that no thread answered",
			  s->task[i].task, s->task[i].spin.proof.words ? "" : "computes, or ",
			  s->task[i].spin.unanswered);
		if (s->task[i].spin.proof.words)
			sim_spin_log_unanswered(s, i);
	}
	return 1;
}

/*
 * True if nothing is under way but polls of tasks that read the clock, and every task that spins
 * has had QUINTORUS_SPIN_MS more, so that time may advance for the others.
 */
static bool is_overdue(struct mu_sim *s)
{
	uint32_t i = 0;

	while (i < s->locals && !(s->task[i].state == SIM_TASK_IDLE && s->task[i].reads_clock))
		i++;
	if (i == s->locals)
		return 0;
	for (i = 0; i < s->locals; i++)
		if (s->task[i].state == SIM_TASK_SPINS && !s->task[i].spin.proof.words &&
		    burned_ns(s, i) < spin_ns(s, i))
			return 0;
	return 1;
}

/*
 * Resume tasks that spun and made a call although nothing had touched them. block: give each of
 * them a little real time for it.
 */
static int resume_callers(struct mu_sim *s, bool block)
{
	for (uint32_t i = 0; i < s->locals; i++) {
		struct sim_task *t = &s->task[i];
		struct mu_vt_area *vt = vt_area(s, i);
		int stop = 0;

		if (t->state != SIM_TASK_SPINS)
			continue;
		if (t->spin.standin_blocked && atomic_load_acquire(&vt->serve_wants)) {
			sim_spin_touch(s, i, s->now, SIM_TOUCH_COMES);
			return sim_spin_handle_touched(s);
		}
		if (t->spin.unnoticed && !block) /* it may have noticed a part of a put */
			continue;
		if (block && !has_noticed(s, i, &stop) && stop)
			return stop;
		if (block && !stop && t->state == SIM_TASK_SPINS && uses_registers(s, i) &&
		    !atomic_load_acquire(&vt->back)) {
			sim_spin_touch(s, i, s->now, SIM_TOUCH_COMES);
			stop = sim_spin_handle_touched(s);
			if (stop || !sim_is_nothing_under_way(s))
				return stop;
		}
		if (t->state != SIM_TASK_SPINS || !atomic_load_acquire(&vt->back))
			continue;
		end_spin(s, i, s->now, 0);
		return 0;
	}
	return block && is_every_task_given_up(s) ? -EDEADLK : 0;
}

/*
 * While the others go on, one task after the other that is presumed to wait gets a share of the
 * processor, since it may compute.
 */
static int share_processor(struct mu_sim *s)
{
	uint64_t now = drv_clock_ns();
	uint32_t i = s->spins.next_share, looked = 0;
	int stop = 0;

	if (now - s->spins.shared_ns < SHARE_EVERY_NS)
		return 0;
	do
		i = (i + 1) % s->locals;
	while (++looked <= s->locals &&
	       (s->task[i].state != SIM_TASK_SPINS || s->task[i].spin.proof.words));
	s->spins.next_share = i;
	if (looked > s->locals)
		return 0;
	has_noticed(s, i, &stop);
	s->spins.shared_ns = drv_clock_ns();
	return stop;
}

int sim_spin_poll(struct mu_sim *s, bool *wait)
{
	int stop;

	*wait = false;
	if (!s->spins.tasks)
		return 0;
	/* The task may compute, so no virtual time passes while the others only wait for it. */
	*wait = !s->news && sim_is_nothing_under_way(s) && !is_overdue(s);
	if (!*wait)
		s->spins.alone_ns = 0;
	else if (!s->spins.alone_ns)
		s->spins.alone_ns = drv_clock_ns();
	stop = *wait ? 0 : share_processor(s);
	return stop ? stop : resume_callers(s, *wait);
}

void sim_spin_leave(struct mu_sim *s, uint32_t local)
{
	s->spins.tasks -= s->task[local].state == SIM_TASK_SPINS;
	set_stopped(s, local, false);
}

void sim_spin_message(struct mu_sim *s, uint32_t local, uint32_t channel)
{
	const struct sim_task *t = &s->task[local];

	if (t->state == SIM_TASK_SPINS || (t->state == SIM_TASK_IDLE && t->is_in_loop))
		s->task[local].spin.unanswered += !(vt_area(s, local)->serves >> channel & 1);
}
