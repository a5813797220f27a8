/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns: which task runs, from when, until where. Exactly one of simulator and tasks runs at a
 * time, but for tasks that do not call for long (sim_spin.c); all share a processor, so a hand-over is two futex calls and a context switch.
 *
 * Horizon of a task that gets its turn: the next event anywhere, or, if no event under way touches
 * its memory by itself, mu_receive_ps later, since nothing gets from an event elsewhere into its
 * memory faster than that. What the task itself starts bounds it further (mu_vt_inject).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "drivers/base/clock.h"
#include "drivers/base/log.h"
#include "mu/sim_state.h"

#define WAIT_FIRST_NS   1000000u
#define WAIT_LONGEST_NS 10000000u
/* Idle polls in a row jump: a share of the time idled so far, within bounds. */
#define CLOCK_SHARE    64u /* a loop on the clock ends this exactly (or to CLOCK_JUMP_PS) */
#define CLOCK_JUMP_PS  10000000u
#define POLL_SHARE     4u
#define POLL_FIRST     64u /* polls: a task that waits for an answer is not asked in between */
#define POLL_JUMP_PS   100000000u
#define POLL_LEAST_PS  1000u
#define QUIET_STEPS    256u /* polls of each task with nothing under way that count as one: it may advance so many times */
#define QUIET_ROUNDS   32u /* then each doubles the time idled: minutes of virtual time */

void sim_resume_at(struct mu_sim *s, uint32_t local, uint64_t time)
{
	struct sim_task *t = &s->task[local];

	t->resume_at = time;
	t->generation++;
	if (emu_sched_push(emu_world_sched(s->world), time, t->node, SIM_PORT_RESUME + t->t, SIM_RESUME, local,
	                   t->generation))
		s->error = -ENOMEM;
}

uint64_t sim_cpu_ns(struct mu_sim *s, uint32_t local)
{
	struct timespec c;
	clockid_t id;

	if (clock_getcpuclockid((pid_t)mu_host_area(s->host, local)->pid, &id) || clock_gettime(id, &c))
		return 0;
	return (uint64_t)c.tv_sec * 1000000000u + (uint64_t)c.tv_nsec;
}

enum sim_waited sim_wait_while(struct mu_sim *s, uint32_t local, uint32_t *word, uint32_t value,
                               uint64_t burn_ns, int *stop)
{
	/* Who gets a moment only is looked at before, too. */
	uint64_t ns = WAIT_FIRST_NS, burned = burn_ns && burn_ns <= WAIT_LONGEST_NS ? sim_cpu_ns(s, local) : 0, now;

	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value) {
		struct timespec timeout = { 0, (long)ns };

		if (s->task[local].gone)
			return SIM_ENDED;
		if (!syscall(SYS_futex, word, FUTEX_WAIT, value, &timeout, NULL, 0) || errno != ETIMEDOUT)
			continue;
		*stop = s->conf.check ? s->conf.check(s->conf.arg) : 0;
		if (*stop)
			return SIM_STOPPED;
		if (s->task[local].gone) /* check() saw it go: its CPU time cannot be read any more */
			return SIM_ENDED;
		now = burn_ns ? sim_cpu_ns(s, local) : 0;
		if (!burned)
			burned = now;
		else if (now > burned && now - burned >= burn_ns)
			return SIM_BURNED;
		if (burn_ns > WAIT_LONGEST_NS) /* a task that spins for a moment is asked again soon */
			ns = ns * 2 < WAIT_LONGEST_NS ? ns * 2 : WAIT_LONGEST_NS;
	}
	return SIM_CHANGED;
}

int sim_join_all(struct mu_sim *s)
{
	for (uint32_t i = 0; i < s->locals; i++) {
		struct mu_vt_area *vt = &mu_host_area(s->host, i)->vt;
		int stop = 0;

		if (sim_wait_while(s, i, &vt->turn, MU_VT_NOT_JOINED, 0, &stop) == SIM_STOPPED)
			return stop;
		if (s->task[i].gone)
			continue;
		vt->arg[MU_VT_ARG_SELF_PS] = s->timing->mu_inject_ps;
		vt->arg[MU_VT_ARG_SIGNAL_PS] = s->timing->gi_register_ps;
		vt->arg[MU_VT_ARG_STORE_PS] = s->timing->l2_ps;
		vt->arg[MU_VT_ARG_SPIN_NS] = s->spin_ns;
		s->task[i].state = SIM_TASK_READY;
		s->inside++;
	}
	for (uint32_t i = 0; i < s->locals; i++)
		if (s->task[i].state == SIM_TASK_READY)
			sim_resume_at(s, i, 0);
	return 0;
}

/*
 * When a polling task finds what happened at `time`: polls come at no particular phase, so half a
 * poll later on average, be it within the last poll, too. (The very phase of an idle loop would add
 * noise of a poll to every hop.)
 */
static uint64_t found_at(const struct sim_task *t, uint64_t time)
{
	uint64_t half = t->poll / 2, at = time + half;

	return at > t->now - half ? at : t->now - half;
}

void sim_wake(struct mu_sim *s, uint32_t local)
{
	struct sim_task *t = &s->task[local];
	uint64_t at;

	s->quiet = 0;
	sim_touch(s, local, s->now, SIM_TOUCH_COMES);
	if (t->state != SIM_TASK_IDLE)
		return;
	s->news += !t->news;
	t->news = 1;
	t->idle_since = s->now; /* its row of empty polls ends here */
	at = found_at(t, s->now);
	if (at < t->resume_at)
		sim_resume_at(s, local, at);
}

int sim_nothing_under_way(const struct mu_sim *s)
{
	struct emu_world_stat w;

	if (s->idle + s->spinning < s->inside || s->engines)
		return 0;
	emu_world_stat(s->world, &w);
	for (uint32_t i = 0; i < s->locals && w.in_flight; i++)
		if (s->task[i].spilled)
			return 0;
	return !w.in_flight;
}

/* Is nothing left that could make anything happen, but the polls themselves? */
static int all_quiet(const struct mu_sim *s)
{
	return !s->spinning && sim_nothing_under_way(s);
}

static uint64_t jump_of(struct mu_sim *s, const struct sim_task *t, uint64_t flags)
{
	uint64_t idled = t->now - t->idle_since, jump, most = POLL_JUMP_PS;

	if (flags & MU_VT_CLOCK) {
		jump = idled / CLOCK_SHARE;
		most = CLOCK_JUMP_PS;
	} else if (all_quiet(s)) {
		jump = s->quiet < QUIET_STEPS * s->inside ? 0 : idled;
		most = UINT64_MAX >> 8;
	} else {
		jump = idled / POLL_SHARE > POLL_FIRST * t->poll ? idled / POLL_SHARE : POLL_FIRST * t->poll;
	}
	jump = jump < most ? jump : most;
	return jump > t->poll ? jump - jump % t->poll : t->poll; /* as if it had polled until then */
}

static int deadlock(struct mu_sim *s)
{
	unsigned shown = 0;

	drv_error("virtual clock: nothing is under way, and all %u tasks poll without looking at the clock: "
	          "they wait for messages that nobody sends (%.3f us of virtual time)", s->inside,
	          (double)s->now * 1e-6);
	for (uint32_t i = 0; i < s->locals; i++) {
		const struct sim_task *t = &s->task[i];
		struct emu_coord x;

		if (t->state != SIM_TASK_IDLE || shown++ >= 64)
			continue;
		emu_node_coord(&s->host->shape, t->node, &x);
		drv_error("  task %u at (%u,%u,%u,%u,%u) T %u waits since %.3f us", t->task, x.c[0], x.c[1],
		          x.c[2], x.c[3], x.c[4], t->t, (double)t->idle_since * 1e-6);
	}
	if (shown > 64)
		drv_error("  and %u more", shown - 64);
	return -EDEADLK;
}

static int went_idle(struct mu_sim *s, uint32_t local, const struct mu_vt_area *vt)
{
	struct sim_task *t = &s->task[local];
	uint64_t flags = vt->arg[MU_VT_ARG_FLAGS], at;

	t->poll = vt->arg[MU_VT_ARG_POLL_PS] > POLL_LEAST_PS ? vt->arg[MU_VT_ARG_POLL_PS] : POLL_LEAST_PS;
	if (flags & MU_VT_WORKED) {
		t->idle_since = t->now - t->poll;
		s->quiet = 0;
	}
	t->reads_clock = (flags & MU_VT_CLOCK) != 0;
	if (t->reads_clock)
		s->quiet = 0;
	if (t->spilled && sim_refill(s, local)) {
		sim_resume_at(s, local, t->now);
		t->state = SIM_TASK_READY;
		return 0;
	}
	t->state = SIM_TASK_IDLE;
	s->idle++;
	if (all_quiet(s) && s->quiet++ > (QUIET_STEPS + QUIET_ROUNDS) * s->inside)
		return deadlock(s);
	at = t->now + jump_of(s, t, flags);
	if (at > vt->arg[MU_VT_ARG_LIMIT_PS]) /* another of its threads goes on there */
		at = vt->arg[MU_VT_ARG_LIMIT_PS] > t->now ? vt->arg[MU_VT_ARG_LIMIT_PS] : t->now;
	sim_resume_at(s, local, at);
	return 0;
}

static uint64_t horizon(const struct mu_sim *s, const struct sim_task *t)
{
	uint64_t next = emu_sched_next(emu_world_sched(s->world)), ahead;

	if (t->direct || next > UINT64_MAX / 2)
		return next;
	ahead = s->timing->mu_receive_ps;
	if (s->signals && s->timing->gi_register_ps < ahead)
		ahead = s->timing->gi_register_ps;
	if (s->shares && s->timing->l2_ps < ahead)
		ahead = s->timing->l2_ps;
	return next + ahead;
}

void sim_requests(struct mu_sim *s, uint32_t local)
{
	struct mu_vt_area *vt = &mu_host_area(s->host, local)->vt;

	for (uint64_t dirty = vt->dirty; dirty; dirty &= dirty - 1)
		sim_inject_kick(s, local * s->channels + (uint32_t)__builtin_ctzll(dirty) % s->channels);
	vt->dirty = 0;
	if (vt->stores)
		sim_store_requests(s, local, vt);
	if (vt->node_dirty)
		sim_node_requests(s, local, vt->node_dirty);
	vt->node_dirty = 0;
}

/* Tasks of its node that spin may have seen what it stored into memory they share. */
static void seen_by_others(struct mu_sim *s, uint32_t local, const struct mu_vt_area *vt)
{
	const struct sim_task *t = &s->task[local];

	if (vt->request == MU_VT_IDLE && !(vt->arg[MU_VT_ARG_FLAGS] & MU_VT_WORKED))
		return;
	for (uint32_t k = 0; k < s->host->shape.t; k++) {
		uint32_t other = s->task_at[t->node * s->host->shape.t + k];

		if (other != SIM_NONE)
			sim_touch(s, other, t->now, SIM_TOUCH_CHANGES);
	}
}

static int handed_over(struct mu_sim *s, uint32_t local)
{
	struct sim_task *t = &s->task[local];
	struct mu_vt_area *vt = &mu_host_area(s->host, local)->vt;
	int rc;

	if (vt->now_ps < s->now) /* cannot be: its clock went back */
		vt->now_ps = s->now;
	t->now = vt->now_ps;
	if (vt->arg[MU_VT_ARG_UNSURE])
		s->unrepeatable = 1;
	sim_requests(s, local);
	if (s->spinning)
		seen_by_others(s, local, vt);
	rc = t->serving ? sim_serve_rest(s, local) : 0;
	if (rc || t->gone)
		return rc;
	switch (vt->request) {
	case MU_VT_IDLE:
		return went_idle(s, local, vt);
	case MU_VT_DETACH:
		sim_leave(s, local);
		sim_gone_tell(s, local, MU_TASK_LEFT);
		return 0;
	default:
		s->quiet = 0;
		t->state = SIM_TASK_READY;
		sim_resume_at(s, local, t->now);
		return 0;
	}
}

int sim_turn(struct mu_sim *s, const struct emu_event *e)
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
	sim_settle(s, e->arg);
	t->state = SIM_TASK_RUNS;
	s->turns++;
	vt->now_ps = s->now;
	vt->horizon_ps = horizon(s, t);
	ticks = drv_clock_ticks();
	__atomic_store_n(&vt->turn, MU_VT_TASK, __ATOMIC_RELEASE);
	syscall(SYS_futex, &vt->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
	do
		how = sim_wait_while(s, e->arg, &vt->turn, MU_VT_TASK, sim_spin_ns(s, e->arg), &stop);
	while (how == SIM_BURNED && !sim_spin_begin(s, e->arg));
	s->task_ticks += drv_clock_ticks() - ticks;
	return how == SIM_CHANGED ? handed_over(s, e->arg) : stop;
}
