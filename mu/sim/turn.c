/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns: which task runs, from when, until when. Exactly one of simulator and tasks runs at a time,
 * except tasks that make no call for long (sim/spin.c). All share a processor, so a hand-over is
 * two futex calls and a context switch.
 *
 * The horizon of a task that gets its turn is the next event anywhere. If no event under way
 * changes its memory by itself, the horizon is mu_receive_ps later, since the effect of an event
 * elsewhere cannot reach its memory faster. What the task itself starts limits the horizon further
 * (mu_vt_inject).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "drivers/base/log.h"
#include "mu/sim/state.h"

#define WAIT_LEAST_NS   50000u
#define WAIT_FIRST_NS   1000000u
#define WAIT_LONGEST_NS 10000000u
#define WAIT_ALONE      16u /* checks; then tasks that spin run too, since it may wait for them */
/*
 * The clock of a task whose polls find nothing jumps: by a share of the time that it was idle so
 * far, within bounds.
 */
#define CLOCK_SHARE   64u /* a loop on the clock ends this exactly (or to CLOCK_JUMP_PS) */
#define CLOCK_JUMP_PS 10000000u
#define POLL_SHARE    4u
#define POLL_FIRST    64u /* polls; a task that waits for an answer gets no turn in between */
#define POLL_JUMP_PS  100000000u
/*
 * A task that may count its polls jumps 10 us at most until it was idle for 10 ms, about 1000
 * polls; from then on a thousandth of its idle time.
 */
#define COUNT_JUMP_PS 10000000u
#define COUNT_SHARE   1000u
#define POLL_LEAST_PS 1000u
#define EXACT_POLLS   10000u
/*
 * Deadlock, when nothing is under way and every task polls. Tasks in calls that return only after
 * an event get BLOCKED_POLLS each, since such a call may look at several things in turn.
 */
#define BLOCKED_POLLS 256u
/*
 * QUINTORUS_DEADLOCK_S is meant for a few tasks that poll at full speed, which takes less than
 * POLL_MOST_NS a turn. Slower ones (valgrind, a crowded machine, sleeps between polls) get as many
 * turns, and each of many tasks gets QUINTORUS_DEADLOCK_POLLS, but at most SLOW_FACTOR times as
 * long.
 */
#define POLL_MOST_NS 50000u
#define SLOW_FACTOR  10u

void sim_resume_at(struct mu_sim *s, uint32_t local, uint64_t time)
{
	struct sim_task *t = &s->task[local];

	t->resume_at = time;
	t->generation++;
	if (emu_sched_push(emu_world_sched(s->world), time, t->node, SIM_PORT_RESUME + t->t,
			   SIM_RESUME, local, t->generation))
		s->error = -ENOMEM;
}

uint64_t sim_cpu_ns(struct mu_sim *s, uint32_t local)
{
	struct timespec c;
	clockid_t id;

	if (clock_getcpuclockid(sim_process(s, local), &id) || clock_gettime(id, &c))
		return 0;
	return (uint64_t)c.tv_sec * 1000000000u + (uint64_t)c.tv_nsec;
}

enum sim_waited sim_wait_while(struct mu_sim *s, uint32_t local, uint32_t *word, uint32_t value,
			       uint64_t burn_ns, int *stop)
{
	/* A short limit counts from now, not from the first check. */
	uint64_t ns = WAIT_FIRST_NS,
		 burned = burn_ns && burn_ns <= WAIT_LONGEST_NS ? sim_cpu_ns(s, local) : 0, now;
	unsigned checks = 0;

	while (atomic_load_acquire(word) == value) {
		struct timespec timeout = {0, (long)ns};

		if (s->task[local].gone)
			return SIM_ENDED;
		if (!syscall(SYS_futex, word, FUTEX_WAIT, value, &timeout, NULL, 0) ||
		    errno != ETIMEDOUT)
			continue;
		*stop = s->conf.check ? s->conf.check(s->conf.arg) : 0;
		if (*stop)
			return SIM_STOPPED;
		if (++checks == WAIT_ALONE)
			sim_spin_run_all(s);
		/* check() has seen the end of the task; its CPU time can no longer be read. */
		if (s->task[local].gone)
			return SIM_ENDED;
		now = burn_ns ? sim_cpu_ns(s, local) : 0;
		if (!burned)
			burned = now;
		else if (now > burned && now - burned >= burn_ns)
			return SIM_BURNED;
		if (burn_ns > WAIT_LONGEST_NS)
			ns = ns * 2 < WAIT_LONGEST_NS ? ns * 2 : WAIT_LONGEST_NS;
		else if (burn_ns) /* a short limit is met closely */
			ns = burn_ns - (now - burned) + WAIT_LEAST_NS;
	}
	return SIM_CHANGED;
}

int sim_join_all(struct mu_sim *s)
{
	for (uint32_t i = 0; i < s->locals; i++) {
		struct mu_vt_area *vt = &mu_host_area(s->host, i)->vt;
		int stop = 0;

		if (sim_wait_while(s, i, &vt->turn, MU_TURN_NOT_JOINED, 0, &stop) == SIM_STOPPED)
			return stop;
		if (s->task[i].gone)
			continue;
		vt->arg[MU_VT_ARG_SELF_PS] = s->timing->mu_inject_ps;
		vt->arg[MU_VT_ARG_SIGNAL_PS] = s->timing->gi_register_ps;
		vt->arg[MU_VT_ARG_STORE_PS] = s->timing->l2_ps;
		vt->arg[MU_VT_ARG_SPIN_NS] = s->spins.ns;
		sim_task_set(&s->task[i], SIM_TASK_READY);
		s->inside++;
	}
	for (uint32_t i = 0; i < s->locals; i++)
		if (s->task[i].state == SIM_TASK_READY)
			sim_resume_at(s, i, 0);
	return 0;
}

/*
 * The time at which a polling task finds what happened at `time`. Polls have no particular phase,
 * so on average it is half a poll later, also within the last poll. (The exact phase of an idle
 * loop would add the noise of a poll to every hop.)
 */
static uint64_t time_of_poll_after(const struct sim_task *t, uint64_t time)
{
	uint64_t half = t->poll / 2, at = time + half;

	return at > t->now - half ? at : t->now - half;
}

void sim_wake(struct mu_sim *s, uint32_t local)
{
	struct sim_task *t = &s->task[local];
	uint64_t at;

	s->quiet = 0;
	sim_spin_touch(s, local, s->now, SIM_TOUCH_COMES);
	if (t->state != SIM_TASK_IDLE)
		return;
	s->news += !t->news;
	t->news = 1;
	t->idle_since = s->now; /* its sequence of empty polls ends here */
	at = time_of_poll_after(t, s->now);
	if (at < t->resume_at)
		sim_resume_at(s, local, at);
}

int sim_is_nothing_under_way(const struct mu_sim *s)
{
	struct emu_world_stat w;

	if (s->idle + s->syncing + s->spins.tasks < s->inside)
		return 0;
	if (__builtin_expect(s->refusing, 0) && sim_strict_is_stuck(s))
		return 1;
	if (s->engines)
		return 0;
	emu_world_stat(s->world, &w);
	for (uint32_t i = 0; i < s->locals && w.in_flight; i++)
		if (s->task[i].spilled)
			return 0;
	return !w.in_flight && !w.signals;
}

/* True if nothing is under way, and all tasks poll: only polls can change anything. */
static bool is_all_quiet(const struct mu_sim *s)
{
	return !s->spins.tasks && sim_is_nothing_under_way(s);
}

/*
 * True if a task whose polls find nothing may count its polls and continue after a number of them:
 * nothing that is under way could end its polls. It gets each of its polls at the time that the
 * poll costs; if other tasks wait for a time of the clock, it gets only EXACT_POLLS in a row.
 */
static bool may_count_polls(struct mu_sim *s, const struct sim_task *t)
{
	return !t->blocked && is_all_quiet(s) &&
	       (!s->clock_idle || t->now - t->idle_since < EXACT_POLLS * t->poll);
}

/* Return how far the clock of the task advances before its next poll, if no event comes first. */
static uint64_t jump_of(struct mu_sim *s, const struct sim_task *t, uint64_t cost)
{
	uint64_t idled = t->now - t->idle_since, jump, most = POLL_JUMP_PS;

	if (!t->blocked && idled / COUNT_SHARE < most)
		most = idled / COUNT_SHARE > COUNT_JUMP_PS ? idled / COUNT_SHARE : COUNT_JUMP_PS;
	if (t->reads_clock) {
		jump = idled / CLOCK_SHARE;
		most = CLOCK_JUMP_PS;
	} else if (may_count_polls(s, t)) {
		return t->poll > cost ? t->poll - cost : 0;
	} else {
		jump = idled / POLL_SHARE > POLL_FIRST * t->poll ? idled / POLL_SHARE
								 : POLL_FIRST * t->poll;
	}
	jump = jump < most ? jump : most;
	/* The task continues as if it had polled until then. */
	return jump > t->poll ? jump - jump % t->poll : t->poll;
}

#define DEADLOCK_SHOWN 16u /* tasks; the log prints no more lines of a kind at once */

static bool is_every_task_blocked(const struct mu_sim *s)
{
	for (uint32_t i = 0; i < s->locals; i++)
		if (s->task[i].state == SIM_TASK_IDLE && !s->task[i].blocked)
			return false;
	return true;
}

static void deadlock_log(struct mu_sim *s)
{
	unsigned shown = 0;

	for (uint32_t i = 0; i < s->locals; i++) {
		const struct sim_task *t = &s->task[i];
		const struct mu_vt_area *vt = &mu_host_area(s->host, i)->vt;
		struct emu_coord x;

		if (t->state != SIM_TASK_IDLE || shown++ >= DEADLOCK_SHOWN)
			continue;
		emu_node_coord(&s->host->shape, t->node, &x);
		drv_error("  task %u at (%u,%u,%u,%u,%u) T %u: %s %.*s since %.3f us", t->task,
			  x.c[0], x.c[1], x.c[2], x.c[3], x.c[4], t->t,
			  t->blocked ? "waits in" : "polls in", (int)sizeof vt->call, vt->call,
			  (double)t->idle_since * 1e-6);
		sim_spin_log_unanswered(s, i);
	}
	if (s->syncing)
		drv_error("  %u tasks wait until all tasks have come to the same call of the "
			  "launcher's (MPI_Init, MPI_Finalize)",
			  s->syncing);
	for (uint32_t i = 0; i < s->locals; i++)
		if (s->task[i].dead)
			drv_error("  task %u ended without finalizing: do they wait for it?",
				  s->task[i].task);
	if (shown > DEADLOCK_SHOWN)
		drv_error("  and %u more", shown - DEADLOCK_SHOWN);
}

/*
 * Nothing is under way, and one more poll of some task found nothing. Return whether no task will
 * ever continue. A task that only polls might count its polls, so it gets a number of them, and
 * real time, before the answer is yes.
 */
static bool is_deadlocked(struct mu_sim *s)
{
	uint64_t polls = s->quiet / s->inside, ns;

	if (!s->quiet++)
		s->quiet_from_ns = drv_clock_ns();
	if (polls < BLOCKED_POLLS || s->quiet % (BLOCKED_POLLS * s->inside))
		return false;
	if (is_every_task_blocked(s)) {
		drv_error("virtual clock: deadlock at %.3f us of virtual time: nothing is under "
			  "way, and each of the %u tasks is in a call that returns only after an "
			  "event",
			  (double)s->now * 1e-6, s->inside);
		return true;
	}
	ns = drv_clock_ns() - s->quiet_from_ns;
	if (!s->deadlock_ns || ns < s->deadlock_ns)
		return false;
	if (ns / SLOW_FACTOR < s->deadlock_ns &&
	    (polls < s->deadlock_polls || s->quiet < s->deadlock_ns / POLL_MOST_NS))
		return false;
	drv_error("virtual clock: deadlock at %.3f us of virtual time: nothing is under way, and "
		  "the %u tasks did nothing but poll, %llu times each and for %.1f s of real time, "
		  "without reading the clock (QUINTORUS_DEADLOCK_S, QUINTORUS_DEADLOCK_POLLS: wait "
		  "for more, 0 s for ever)",
		  (double)s->now * 1e-6, s->inside, (unsigned long long)polls, (double)ns * 1e-9);
	return true;
}

static int handle_idle(struct mu_sim *s, uint32_t local, const struct mu_vt_area *vt)
{
	struct sim_task *t = &s->task[local];
	uint64_t flags = vt->arg[MU_VT_ARG_FLAGS], at;

	t->poll =
	    vt->arg[MU_VT_ARG_POLL_PS] > POLL_LEAST_PS ? vt->arg[MU_VT_ARG_POLL_PS] : POLL_LEAST_PS;
	if (flags & MU_VT_WORKED) {
		t->idle_since = t->now - t->poll;
		s->quiet = 0;
	}
	t->reads_clock = (flags & MU_VT_CLOCK) != 0;
	t->is_in_loop = (flags & MU_VT_LOOP) != 0;
	if (!t->is_in_loop)
		t->spin.unanswered = 0;
	if (t->reads_clock)
		s->quiet = 0;
	if (t->spilled && sim_refill(s, local)) {
		sim_resume_at(s, local, t->now);
		sim_task_set(t, SIM_TASK_READY);
		return 0;
	}
	sim_task_set(t, SIM_TASK_IDLE);
	s->idle++;
	s->clock_idle += t->reads_clock;
	t->blocked = (flags & MU_VT_BLOCKED) != 0;
	if (is_all_quiet(s) && is_deadlocked(s)) {
		if (s->refusing)
			sim_strict_log(s);
		deadlock_log(s);
		return -EDEADLK;
	}
	at = t->now + jump_of(s, t, vt->arg[MU_VT_ARG_POLL_PS]);
	if (at > vt->arg[MU_VT_ARG_LIMIT_PS]) /* another thread of it is ready then */
		at = vt->arg[MU_VT_ARG_LIMIT_PS] > t->now ? vt->arg[MU_VT_ARG_LIMIT_PS] : t->now;
	sim_resume_at(s, local, at);
	return 0;
}

/*
 * Events of the time of the turn itself are no limit. They come behind the turn in the order of
 * events, so a task that handed over for them at once would get its next turn before them.
 */
static uint64_t compute_horizon(const struct mu_sim *s, const struct sim_task *t)
{
	uint64_t next = emu_sched_next(emu_world_sched(s->world)), ahead;
	/*
	 * A packet that waits for a full FIFO changes nothing until a task takes records from that
	 * FIFO.
	 */
	bool is_stuck = s->refusing && sim_strict_is_stuck(s);

	if (next <= s->now)
		next = s->now + 1;
	if ((t->direct && !is_stuck) || next > UINT64_MAX / 2)
		return next;
	ahead = s->timing->mu_receive_ps;
	if (s->signals && s->timing->gi_register_ps < ahead)
		ahead = s->timing->gi_register_ps;
	if (s->shares && s->timing->l2_ps < ahead)
		ahead = s->timing->l2_ps;
	return next + ahead;
}

void sim_take_requests(struct mu_sim *s, uint32_t local)
{
	struct mu_vt_area *vt = &mu_host_area(s->host, local)->vt;

	for (uint64_t dirty = vt->dirty; dirty; dirty &= dirty - 1)
		sim_inject_kick(s, local * s->channels +
				       (uint32_t)__builtin_ctzll(dirty) % s->channels);
	vt->dirty = 0;
	if (vt->stores)
		sim_store_requests(s, local, vt);
	if (vt->node_dirty)
		sim_node_requests(s, local, vt->node_dirty);
	vt->node_dirty = 0;
}

/*
 * A store of the task into memory of its node may be what a spinning task of that node waits for.
 */
static void touch_neighbours(struct mu_sim *s, uint32_t local, const struct mu_vt_area *vt)
{
	const struct sim_task *t = &s->task[local];

	if (vt->request == MU_VT_IDLE && !(vt->arg[MU_VT_ARG_FLAGS] & MU_VT_WORKED))
		return;
	for (uint32_t k = 0; k < s->host->shape.t; k++) {
		uint32_t other = s->task_at[t->node * s->host->shape.t + k];

		if (other != SIM_NONE)
			sim_spin_touch(s, other, t->now, SIM_TOUCH_CHANGES);
	}
}

void sim_sync_release(struct mu_sim *s)
{
	uint64_t time = s->now;

	if (!s->syncing || s->syncing < s->inside)
		return;
	for (uint32_t i = 0; i < s->locals; i++)
		if (s->task[i].syncs && s->task[i].now > time)
			time = s->task[i].now;
	for (uint32_t i = 0; i < s->locals; i++) {
		if (!s->task[i].syncs)
			continue;
		s->task[i].syncs = 0;
		sim_resume_at(s, i, time);
	}
	s->syncing = 0;
}

static int handle_hand_over(struct mu_sim *s, uint32_t local)
{
	struct sim_task *t = &s->task[local];
	struct mu_vt_area *vt = &mu_host_area(s->host, local)->vt;
	int rc;

	/* Time does not go back; only an error in the task makes its clock do so. */
	if (vt->now_ps < s->now)
		vt->now_ps = s->now;
	t->now = vt->now_ps;
	if (vt->arg[MU_VT_ARG_UNSURE])
		s->unrepeatable = 1;
	sim_take_requests(s, local);
	if (s->spins.tasks)
		touch_neighbours(s, local, vt);
	/* A task that detaches ends its stand-in thread itself. */
	rc = t->spin.standin_blocked && vt->request != MU_VT_DETACH
		 ? sim_spin_serve_blocked(s, local)
		 : 0;
	if (rc || t->gone)
		return rc;
	switch (vt->request) {
	case MU_VT_IDLE:
		return handle_idle(s, local, vt);
	case MU_VT_DETACH:
		sim_leave(s, local);
		sim_announce_end(s, local, MU_TASK_LEFT);
		return 0;
	case MU_VT_SYNC:
		s->quiet = 0;
		sim_task_set(t, SIM_TASK_READY);
		t->syncs = 1;
		s->syncing++;
		sim_sync_release(s);
		return 0;
	default:
		s->quiet = 0;
		sim_task_set(t, SIM_TASK_READY);
		sim_resume_at(s, local, t->now);
		return 0;
	}
}

int sim_run_turn(struct mu_sim *s, const struct emu_event *e)
{
	struct sim_task *t = &s->task[e->arg];
	struct mu_vt_area *vt = &mu_host_area(s->host, e->arg)->vt;
	enum sim_waited how;
	uint64_t ticks;
	int stop = 0;

	if (e->mark != t->generation || (t->state != SIM_TASK_READY && t->state != SIM_TASK_IDLE))
		return 0;
	if (t->state == SIM_TASK_IDLE)
		sim_not_idle(s, t);
	if (t->spilled)
		sim_refill(s, e->arg);
	sim_write_pending(s, e->arg);
	sim_task_set(t, SIM_TASK_RUNS);
	s->turns++;
	vt->now_ps = s->now;
	vt->horizon_ps = compute_horizon(s, t);
	ticks = drv_clock_ticks();
	mu_turn_store(MU_TURN_TURN, &vt->turn, MU_TURN_IS_TASK, MU_TURN_BY_SIMULATOR);
	syscall(SYS_futex, &vt->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
	how = sim_spin_wait_turn(s, e->arg, &stop);
	s->task_ticks += drv_clock_ticks() - ticks;
	if (__builtin_expect(s->refusing, 0))
		sim_strict_retry(s, e->arg);
	return how == SIM_CHANGED ? handle_hand_over(s, e->arg) : stop;
}
