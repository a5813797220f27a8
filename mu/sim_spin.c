/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks that do not call for long: they compute, or wait for their memory to change.
 *
 *   turn taken --> the others go on --> an event touches its memory, or brings messages for its commthreads
 *                                       | the thread that stands in for them serves (mu/vtask.c)
 *                                       | the program's thread has SPIN_LOOK_NS of CPU time to notice, and call
 *        READY <-- at that time --------+
 *
 * Nothing else happens meanwhile, so as long as it did wait, and notices soon, a run can be repeated.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "drivers/base/log.h"
#include "mu/sim_state.h"

#define SPIN_LOOK_NS  2000000u /* CPU time in which a task notices what it waited for */
#define SPIN_LEAST_NS 2000000u
#define QUICKER       8u       /* a task that was rightly taken to spin is so again after this part of the time */
#define ASLEEP_LOOKS  20u      /* a millisecond each */
#define UNSEEN_MOST   64u
#define LOOP_KIB      64u /* of memory that a loop which waits uses at most */
#define AGAIN_PS      1000000u /* work that asks to be called again is, at growing intervals ... */
#define AGAIN_MOST_PS 100000000u
#define AGAIN_COUNTS  256u     /* ... and so many times counts as something that is under way */

static struct mu_vt_area *area_of(const struct mu_sim *s, uint32_t local)
{
	return &mu_host_area(s->host, local)->vt;
}

static void set(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* The word goes from one value to the other, unless the thread it stops is in a call. Returns whether it did. */
static int take(uint32_t *word, uint32_t from, uint32_t to, const uint32_t *inside)
{
	struct timespec long_enough = { 0, 20000000 };
	uint32_t is = from;

	if (!__atomic_compare_exchange_n(word, &is, to, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return 0;
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0))
		nanosleep(&long_enough, NULL); /* no processor holds a store back so long */
	if (!__atomic_load_n(inside, __ATOMIC_ACQUIRE))
		return 1;
	is = to; /* else it has gone on by itself */
	__atomic_compare_exchange_n(word, &is, from, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	return 0;
}

uint64_t sim_spin_ns(const struct mu_sim *s, uint32_t local)
{
	uint64_t ns = s->task[local].spun_well ? s->spin_ns / QUICKER : s->spin_ns;

	return ns > SPIN_LEAST_NS ? ns : SPIN_LEAST_NS;
}

void sim_touch_slow(struct mu_sim *s, uint32_t local, uint64_t when, unsigned what)
{
	struct sim_task *t = &s->task[local];

	if (t->state != SIM_TASK_SPINS)
		return;
	s->touched += !t->touched;
	t->touched_at = t->touched && t->touched_at > when ? t->touched_at : when;
	t->touched |= (uint8_t)what;
	t->again = 0;
}

void sim_spin_packet(struct mu_sim *s, uint32_t local, unsigned what)
{
	struct sim_task *t = &s->task[local];

	if (t->state != SIM_TASK_SPINS)
		return;
	if (what || ++t->unseen >= UNSEEN_MOST)
		sim_touch(s, local, s->now, what ? what : SIM_TOUCH_CHANGES);
}

int sim_spin_begin(struct mu_sim *s, uint32_t local)
{
	struct sim_task *t = &s->task[local];
	struct mu_vt_area *vt = area_of(s, local);

	vt->back = 0;
	if (!take(&vt->turn, MU_VT_TASK, MU_VT_TAKEN, &vt->inside))
		return 0;
	drv_info("virtual clock: task %u burned %.3f s since its last library call: presumed to wait for its memory to "
	         "change", t->task, (double)sim_spin_ns(s, local) * 1e-9);
	t->state = SIM_TASK_SPINS;
	t->spin_from = sim_cpu_ns(s, local);
	t->unanswered = t->unseen = t->sampled = 0;
	s->spinning++;
	s->quiet = 0;
	sim_requests(s, local);
	if (vt->serves) /* what came since it last called */
		sim_touch(s, local, s->now, SIM_TOUCH_COMES);
	return 1;
}

/* It calls. noticed: soon after something touched it. */
static void comes_back(struct mu_sim *s, uint32_t local, uint64_t at, int noticed)
{
	struct sim_task *t = &s->task[local];
	struct mu_vt_area *vt = area_of(s, local);
	uint64_t own = vt->back_ps;

	if (noticed) {
		t->spun_well = !t->computes;
	} else if (own < s->now) {
		if (!s->unrepeatable)
			drv_warn("virtual clock: task %u was taken to wait for memory, but it computed: time went on "
			         "without it, and another run may differ (QUINTORUS_SPIN_MS: wait longer)", t->task);
		s->unrepeatable = 1;
		t->spun_well = 0;
		t->computes = 1;
	}
	vt->back = 0;
	s->spinning--;
	s->quiet = 0;
	t->state = SIM_TASK_READY;
	at = at > own ? at : own;
	sim_resume_at(s, local, at > s->now ? at : s->now);
}

/* ---- the thread that stands in for the commthreads ---- */

/* Does it wait for something of the program's, a lock of a thread that does not go on? */
static int asleep(struct mu_sim *s, uint32_t local, const struct mu_vt_area *vt)
{
	char path[64], text[512], *p;
	FILE *f;
	size_t n;

	snprintf(path, sizeof path, "/proc/%u/task/%u/stat", mu_host_area(s->host, local)->pid, vt->serve_tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[n] = 0;
	p = strrchr(text, ')');
	return p && p[1] == ' ' && p[2] == 'S';
}

static void call_again(struct mu_sim *s, uint32_t local, uint64_t at)
{
	struct sim_task *t = &s->task[local];
	uint64_t gap = AGAIN_PS << (t->again < 7 ? t->again : 7);
	int counts = t->again < AGAIN_COUNTS;

	if (t->again_due)
		return;
	t->again += counts;
	t->again_due = 1;
	s->engines += (uint32_t)counts;
	if (emu_sched_push(emu_world_sched(s->world), at + (gap < AGAIN_MOST_PS ? gap : AGAIN_MOST_PS), t->node,
	                   SIM_PORT_SERVE + t->t, SIM_SERVE, local, (uint16_t)counts))
		s->error = -ENOMEM;
}

void sim_serve_event(struct mu_sim *s, const struct emu_event *e)
{
	struct sim_task *t = &s->task[e->arg];
	uint32_t again = t->again;

	s->engines -= e->mark;
	t->again_due = 0;
	sim_touch(s, e->arg, s->now, SIM_TOUCH_COMES);
	t->again = again;
}

/*
 * It runs from *at, which becomes the time at which it was done. If it sleeps on something that is not ours the others go
 * on, and so does it when it calls. Returns what check() said.
 */
static int serve(struct mu_sim *s, uint32_t local, uint64_t *at)
{
	struct sim_task *t = &s->task[local];
	struct mu_vt_area *vt = area_of(s, local);
	unsigned slept = 0;
	uint32_t is;
	int stop = 0;

	vt->serve_ps = *at;
	vt->serve_wants = 0;
	t->serving = 0;
	set(&vt->serve, MU_VT_SERVE_GO);
	while ((is = __atomic_load_n(&vt->serve, __ATOMIC_ACQUIRE)) == MU_VT_SERVE_GO || is == MU_VT_SERVE_STORE) {
		struct timespec ms = { 0, 1000000 };

		if (is == MU_VT_SERVE_STORE) {
			sim_requests(s, local);
			set(&vt->serve, MU_VT_SERVE_GO);
			continue;
		}
		if (!syscall(SYS_futex, &vt->serve, FUTEX_WAIT, is, &ms, NULL, 0) || errno != ETIMEDOUT)
			continue;
		stop = s->conf.check ? s->conf.check(s->conf.arg) : 0;
		if (stop || t->gone)
			return stop;
		slept = asleep(s, local, vt) ? slept + 1 : 0;
		if (slept > ASLEEP_LOOKS && take(&vt->serve, MU_VT_SERVE_GO, MU_VT_SERVE_WAIT, &vt->serve_inside)) {
			drv_info("virtual clock: task %u: a message's function waits for a thread of the program: the "
			         "hash means nothing", t->task);
			s->unrepeatable = 1;
			t->serving = 1;
		}
	}
	sim_requests(s, local);
	if (t->serving)
		return 0;
	*at = vt->serve_ps > *at ? vt->serve_ps : *at;
	if (vt->serve_more)
		call_again(s, local, *at);
	/* Only as part of a touch, which is counted: the rest of a turn may be served while the task runs. */
	if (vt->serve_found && t->state == SIM_TASK_SPINS)
		t->touched |= SIM_TOUCH_CHANGES;
	return 0;
}

static int serve_all(struct mu_sim *s, uint32_t local, uint64_t *at)
{
	struct sim_task *t = &s->task[local];
	int rc;

	do {
		if (!area_of(s, local)->serves || (t->serving && !area_of(s, local)->serve_wants))
			return 0;
		rc = serve(s, local, at);
	} while (!rc && !t->gone && t->spilled && sim_refill(s, local));
	return rc;
}

int sim_serve_rest(struct mu_sim *s, uint32_t local)
{
	uint64_t at = s->now;

	return s->task[local].serving ? serve_all(s, local, &at) : 0;
}

/* ---- */

/* Give it time to. Returns whether it called. */
static int notices(struct mu_sim *s, uint32_t local, int *stop)
{
	struct mu_vt_area *vt = area_of(s, local);

	return sim_wait_while(s, local, &vt->back, 0, SPIN_LOOK_NS, stop) == SIM_CHANGED;
}

static int touched(struct mu_sim *s, uint32_t local)
{
	struct sim_task *t = &s->task[local];
	uint64_t at = t->touched_at > s->now ? t->touched_at : s->now;
	int rc = 0, changed;

	if (t->state == SIM_TASK_SPINS) {
		sim_settle(s, local);
		if (t->spilled)
			sim_refill(s, local);
		rc = serve_all(s, local, &at);
	}
	changed = t->touched & SIM_TOUCH_CHANGES;
	t->touched = 0;
	s->touched--;
	if (rc || !changed || t->state != SIM_TASK_SPINS)
		return rc;
	t->unseen = 0;
	if (notices(s, local, &rc))
		comes_back(s, local, at, 1);
	return rc;
}

int sim_spin_touched(struct mu_sim *s)
{
	int rc = 0;

	for (uint32_t i = 0; i < s->locals && s->touched && !rc; i++)
		if (s->task[i].touched)
			rc = touched(s, i);
	return rc;
}

/* Everybody waits for it: perhaps it computes, perhaps it waits for what nobody does. */
static void tell(struct mu_sim *s, uint32_t local, uint64_t burned)
{
	struct sim_task *t = &s->task[local];
	const struct mu_vt_area *vt = area_of(s, local);

	if (t->told)
		return;
	t->told = 1;
	drv_warn("virtual clock: task %u burned %.1f s of CPU time since its last library call, and all others wait for it. "
	         "If it computes, all is well", t->task, (double)(burned + sim_spin_ns(s, local)) * 1e-9);
	if (t->unanswered)
		drv_warn("virtual clock: task %u: %u messages came meanwhile that nobody answers. If it waits in its "
		         "memory for what they bring, %s, or have that loop call PAMI_Context_advance", t->task,
		         t->unanswered, vt->serves ? "send them to a context with asynchronous progress" :
		         "give their context to asynchronous progress (EXT_async_progress, with PAMI_MAX_COMMTHREADS above "
		         "0; for ARMCI, ARMCI_PROGRESS_THREAD=1)");
}

/* CPU time since it was taken to spin. */
static uint64_t burned_ns(struct mu_sim *s, uint32_t local)
{
	uint64_t now = sim_cpu_ns(s, local), from = s->task[local].spin_from;

	return now > from ? now - from : 0;
}

/* The kernel is to forget which pages of memory the task used. */
static void pages_forget(struct mu_sim *s, uint32_t local)
{
	char path[48];
	FILE *f;

	snprintf(path, sizeof path, "/proc/%u/clear_refs", mu_host_area(s->host, local)->pid);
	f = fopen(path, "we");
	if (!f)
		return;
	fputs("1", f);
	fclose(f);
}

/*
 * KiB used since then of memory it may write (pages of programs and libraries are used by other processes, too); the most if the
 * kernel does not tell.
 */
static unsigned long pages_used_kib(struct mu_sim *s, uint32_t local)
{
	char path[48], line[512], may[5] = "";
	unsigned long kib, sum = 0, from, to;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%u/smaps", mu_host_area(s->host, local)->pid);
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
 * Has it burned so much that nobody computes any longer? Who does uses more memory than a loop on a word: that is looked at
 * over the second half of the time.
 */
static int given_up(struct mu_sim *s, uint32_t local)
{
	struct sim_task *t = &s->task[local];
	uint64_t burned = burned_ns(s, local);

	tell(s, local, burned);
	if (!s->spin_limit_ns || burned < s->spin_limit_ns / 2)
		return 0;
	if (!t->sampled) {
		pages_forget(s, local);
		t->sampled = 1;
	}
	if (burned < s->spin_limit_ns)
		return 0;
	if (pages_used_kib(s, local) <= LOOP_KIB)
		return 1;
	t->sampled = 0;
	t->spin_from += burned;
	return 0;
}

/* Returns whether there is nothing to be waited for any longer. */
static int hopeless(struct mu_sim *s)
{
	int spinning = 0;

	for (uint32_t i = 0; i < s->locals; i++) {
		if (s->task[i].state != SIM_TASK_SPINS)
			continue;
		spinning = 1;
		if (!given_up(s, i))
			return 0;
	}
	if (!spinning)
		return 0;
	drv_error("virtual clock: nothing is under way, and who does not wait in a call burned %.0f s without one: the "
	          "run ends (QUINTORUS_SPIN_LIMIT_S: wait longer, 0 for ever)", (double)s->spin_limit_ns * 1e-9);
	for (uint32_t i = 0; i < s->locals; i++)
		if (s->task[i].state == SIM_TASK_SPINS)
			drv_error("  task %u computes, or waits in its memory for what nobody does; %u messages came for "
			          "it that nobody answered", s->task[i].task, s->task[i].unanswered);
	return 1;
}

int sim_spin_overdue(struct mu_sim *s)
{
	uint32_t i = 0;

	while (i < s->locals && !(s->task[i].state == SIM_TASK_IDLE && s->task[i].reads_clock))
		i++;
	if (i == s->locals)
		return 0;
	for (i = 0; i < s->locals; i++)
		if (s->task[i].state == SIM_TASK_SPINS && burned_ns(s, i) < s->spin_ns)
			return 0;
	return 1;
}

int sim_spin_late(struct mu_sim *s, int block)
{
	for (uint32_t i = 0; i < s->locals; i++) {
		struct sim_task *t = &s->task[i];
		struct mu_vt_area *vt = area_of(s, i);
		int stop = 0;

		if (t->state != SIM_TASK_SPINS)
			continue;
		if (t->serving && __atomic_load_n(&vt->serve_wants, __ATOMIC_ACQUIRE)) {
			sim_touch(s, i, s->now, SIM_TOUCH_COMES);
			return sim_spin_touched(s);
		}
		if (t->unseen && !block) /* what it may have noticed is not over */
			continue;
		if (block && !notices(s, i, &stop) && stop)
			return stop;
		if (t->state != SIM_TASK_SPINS || !__atomic_load_n(&vt->back, __ATOMIC_ACQUIRE))
			continue;
		comes_back(s, i, s->now, 0);
		return 0;
	}
	return block && hopeless(s) ? -EDEADLK : 0;
}
