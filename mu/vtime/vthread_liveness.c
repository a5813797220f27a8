/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds out from /proc/self/task what the threads of a process do. Source of the fields: proc(5).
 * The cost grows with the number of threads. The usual case has short ways: a thread that sleeps in
 * a futex is told by one read of a file that stays open, and the directory is listed only if the
 * threads may have changed.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "drivers/base/cpu.h"
#include "mu/vtime/state.h"

/* A thread asleep this long on something outside the process is presumed to stay asleep. */
#define STRANGE_NS 20000000u
/* One that sleeps again and again for this long, and computes a quarter of the time at most, is
 * presumed to look whether another thread has done something. */
#define NAPS_NS   50000000u
#define NOTICE_NS 2000000u /* CPU time in which a thread that spins notices a change */
/*
 * The same for a thread in a call of another library (mu_vt_may_spin()), whose loops are short, and
 * the CPU time after which it is presumed to spin.
 */
#define LIBRARY_NOTICE_NS 50000u
#define LIBRARY_SPIN_NS   200000u

/*
 * Return the position of a thread in the list. Threads are listed in the order of their creation,
 * since the list decides between threads with equal clocks. The kernel counts up, and begins again
 * at its limit (at most 2^22), so a number below that of the first thread is a later one.
 */
static uint32_t creation_order(pid_t tid)
{
	static pid_t first; /* getpid() is a system call. A forked child is outside virtual time. */

	if (!first)
		first = getpid();
	return (uint32_t)tid + (tid < first ? 1u << 22 : 0);
}

struct mu_vthread *mu_vthread_get(struct mu_vthread **list, pid_t tid)
{
	struct mu_vthread *t;

	while (*list && creation_order((*list)->tid) < creation_order(tid))
		list = &(*list)->next;
	if (*list && (*list)->tid == tid)
		return *list;
	t = calloc(1, sizeof *t);
	if (!t)
		return NULL;
	t->tid = tid;
	t->next = *list;
	atomic_store_relaxed(list, t); /* has_other_threads() reads it without the lock */
	return t;
}

static pid_t excluded[MU_VTHREADS_EXCLUDED]; /* atomic; 0: a free place */
static unsigned exclusions;                  /* atomic */
static unsigned exclusion_changes;           /* atomic */

/* The simulator looks at processes whose program has one thread (sim/proof.h). */
void vt_publish_others(void)
{
	struct mu_vt_area *vt = atomic_load_acquire(&vt_state.vt);

	if (vt)
		atomic_store_relaxed(&vt->arg[MU_VT_ARG_OTHERS],
				     vt_state.sanitizers + mu_vthread_excluded());
}

void mu_vthread_exclude(pid_t tid, bool on)
{
	for (unsigned i = 0; i < MU_VTHREADS_EXCLUDED; i++) {
		pid_t old = on ? 0 : tid;

		if (!atomic_cas_seq_cst(&excluded[i], &old, on ? tid : 0))
			continue;
		if (on)
			atomic_fetch_add_release(&exclusions, 1);
		else
			atomic_fetch_sub_release(&exclusions, 1);
		atomic_fetch_add_release(&exclusion_changes, 1);
		vt_publish_others();
		return;
	}
}

unsigned mu_vthread_excluded(void)
{
	return atomic_load_acquire(&exclusions);
}

static bool is_excluded(pid_t tid)
{
	for (unsigned i = 0; i < MU_VTHREADS_EXCLUDED; i++)
		if (atomic_load_relaxed(&excluded[i]) == tid)
			return true;
	return false;
}

/* Returns the bytes read, 0 if there is no such thread; -1 if that cannot be known. */
static ssize_t proc_read(pid_t tid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/self/task/%d/%s", (int)tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ESRCH ? 0 : -1;
	n = read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	return n > 0 ? n : 0;
}

/* The state letter in /proc/.../stat, behind the name in parentheses. 0: no such thread; '?': no
 * descriptor left to read it. */
static char proc_state(pid_t tid)
{
	char text[512], *p;
	ssize_t n = proc_read(tid, "stat", text, sizeof text);

	if (n <= 0)
		return n < 0 ? '?' : 0;
	p = strrchr(text, ')');
	return p && p[1] == ' ' && p[2] != 'Z' && p[2] != 'X' ? p[2] : 0;
}

/*
 * The number of the system call in which a thread sleeps, -1: it sleeps in none, or runs. -2: the
 * kernel does not say.
 */
static long read_syscall(struct mu_vthread *t)
{
	char text[256], *end;
	ssize_t n = -1;
	long number;

	if (!t->syscall_fd) {
		snprintf(text, sizeof text, "%d/syscall", (int)t->tid);
		t->syscall_fd = openat(vt_state.list_fd, text, O_RDONLY | O_CLOEXEC) + 1;
	}
	if (t->syscall_fd)
		n = pread(t->syscall_fd - 1, text, sizeof text - 1, 0);
	if (n <= 0)
		return -2;
	text[n] = 0;
	number = strtol(text, &end, 10);
	return end == text ? -1 : number; /* "running" */
}

static bool is_futex(long number)
{
#ifdef SYS_futex_waitv
	if (number == SYS_futex_waitv)
		return 1;
#endif
	return number == SYS_futex;
}

/* A sleep for a time. */
static bool is_pause(long number)
{
	return number == SYS_nanosleep || number == SYS_clock_nanosleep;
}

/*
 * Read the CPU time of a thread. Returns false if it has ended. The kernel writes that of a thread
 * that runs to /proc only at its ticks, every 1 to 4 ms. The clock of a thread
 * (clock_getcpuclockid(3) is for processes) is exact.
 */
static bool read_cpu_ns(pid_t tid, uint64_t *ns)
{
	const clockid_t per_thread_run_time = 6;
	struct timespec at;

	if (clock_gettime((clockid_t)(~(unsigned)tid << 3) | per_thread_run_time, &at))
		return false;
	*ns = (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
	return true;
}

/* True if the thread has run since the last check. */
static bool has_run(struct mu_vthread *t)
{
	uint64_t cpu_ns = t->look.cpu_ns;

	if (read_cpu_ns(t->tid, &cpu_ns) && cpu_ns == t->look.cpu_ns && t->look.since_ns)
		return 0;
	t->look.cpu_ns = cpu_ns;
	t->look.since_ns = drv_clock_ns();
	return 1;
}

/* CPU time without a call after which a thread is presumed to spin. */
static uint64_t spin_limit(const struct mu_vthread *t, uint64_t spin_ns)
{
	if (atomic_load_relaxed(&t->may_spin))
		return t->spins ? LIBRARY_NOTICE_NS : LIBRARY_SPIN_NS;
	return vt_watch_limit(t->spins, t->spins ? NOTICE_NS : spin_ns);
}

/* The clock of a thread that may be about to make a call. Volatile, because the compiler moved the
 * load into the caller, which the thread sanitizer checks. */
__attribute__((no_sanitize("thread"), noinline)) static uint64_t
read_clock(const struct mu_vthread *t)
{
	const volatile uint64_t *now = &t->now;

	return *now;
}

/*
 * Does a thread that is asleep on something outside the process do so again and again, with little
 * computation and no call in between? Each call moves its clock.
 */
static bool is_napping(struct mu_vthread *t)
{
	uint64_t now = drv_clock_ns(), at = read_clock(t);

	if (!t->look.naps_from || t->look.naps_ps != at) {
		t->look.naps_from = now;
		t->look.naps_cpu_ns = t->look.cpu_ns;
		t->look.naps_ps = at;
	}
	now -= t->look.naps_from;
	return now >= NAPS_NS && t->look.cpu_ns - t->look.naps_cpu_ns < now / 4;
}

/*
 * A thread that takes one nap after another while others wait. If it has never made a call, only
 * this time tells that it does so again and again: returns whether it is long enough.
 */
static bool is_restless(struct mu_vthread *t)
{
	uint64_t now = drv_clock_ns();

	if (!t->look.restless_from)
		t->look.restless_from = now;
	vt_watch_ask(t, now - t->look.restless_from);
	return !t->called && now - t->look.restless_from >= NAPS_NS;
}

/* A thread that is not in a call. `ended` is set if there is no such thread any more. */
static bool is_settled(struct mu_vthread *t, uint64_t spin_ns, int *unsure, bool *ended)
{
	long number = read_syscall(t);
	char letter = is_futex(number) ? 'S' : proc_state(t->tid);
	bool is_outside, is_patient;
	int ran = has_run(t);
	uint64_t burned;

	*ended = !letter;
	if (!letter)
		return 1;
	if (letter == 'S') {
		t->look.burned_from = 0;
		/* The turn holder may have come to a call meanwhile, and sleeps in it. */
		if (atomic_load_relaxed(&t->state) == MU_VTHREAD_AWAY)
			t->spins = 0;
		is_outside = t->called && !is_futex(number) && number != -2;
		/* Without a number it ran when it was asked for, and may be in a futex now. */
		is_patient = is_outside && number >= 0 && is_napping(t);
		if (ran && !is_patient) {
			if (!is_pause(number) || !is_restless(t))
				return 0; /* check again, to see that it stays asleep */
			*unsure = 1;
			return 1;
		}
		/* If the kernel does not say where it sleeps, it is presumed to be as most are. */
		if (!is_outside)
			return 1;
		if (!is_patient && drv_clock_ns() - t->look.since_ns < STRANGE_NS)
			return 0;
		*unsure = 1;
		return 1;
	}
	if (!t->look.burned_from)
		t->look.burned_from = t->look.cpu_ns + 1;
	if (letter != 'R')
		return 0;
	burned = t->look.cpu_ns + 1 - t->look.burned_from;
	if (burned < spin_limit(t, spin_ns)) {
		vt_watch_ask(t, burned);
		return 0;
	}
	t->spins = 1;
	*unsure = 1;
	return 1;
}

static bool is_waiting_in_call(const struct mu_vthread *t)
{
	uint32_t s = atomic_load_acquire(&t->state);

	return s == MU_VTHREAD_READY || s == MU_VTHREAD_IDLE;
}

/* Returns true if a thread that the directory did not list is alive: the directory may pass one
 * over when another ends. */
static bool remove_ended(struct mu_vthread **list)
{
	bool passed_over = false;

	while (*list) {
		struct mu_vthread *t = *list;
		bool is_alive = t->seen || !tgkill(getpid(), t->tid, 0);

		if (is_alive || is_waiting_in_call(t) || t->state == MU_VTHREAD_RUNS) {
			passed_over |= is_alive && !t->listed && !is_waiting_in_call(t) &&
				       !is_excluded(t->tid);
			list = &t->next;
		} else {
			atomic_store_relaxed(list, t->next);
			vt_watch_end(t);
			if (t->syscall_fd)
				close(t->syscall_fd - 1);
			free(t);
		}
	}
	return passed_over;
}

/* True if the process has more threads than the directory has listed. */
static bool has_more_threads(DIR *d, unsigned listed)
{
	struct stat st;

	return !fstat(dirfd(d), &st) && st.st_nlink > 2 + (nlink_t)listed;
}

/* Look at all threads that the directory lists. */
static int list_threads(struct mu_vthread **list, uint64_t spin_ns, int *unsure)
{
	unsigned changes = atomic_load_acquire(&exclusion_changes);
	DIR *d = opendir("/proc/self/task");
	unsigned listed = 0;
	int all = 1;
	struct dirent *e;

	vt_state.listed.threads = 0;
	if (!d) { /* ENOENT: no /proc, so all is a guess; else no descriptor: try again */
		*unsure = 1;
		return errno == ENOENT;
	}
	for (struct mu_vthread *t = *list; t; t = t->next)
		t->seen = t->listed = 0;
	while ((e = readdir(d))) {
		pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);
		bool program = tid > 0 && !is_excluded(tid);
		struct mu_vthread *t = program ? mu_vthread_get(list, tid) : NULL;
		bool ended;

		listed += tid > 0;
		if (!t)
			continue;
		t->seen = t->listed = 1;
		if (is_waiting_in_call(t))
			continue;
		if (!is_settled(t, spin_ns, unsure, &ended))
			all = 0;
		if (ended)
			t->seen = 0;
	}
	if (has_more_threads(d, listed))
		all = 0;
	closedir(d);
	if (remove_ended(list))
		return 0;
	if (all) {
		vt_state.listed.threads = listed;
		vt_state.listed.exclusion_changes = changes;
	}
	return all;
}

/*
 * True if the process has the threads that were listed last. If one had ended and another begun, it
 * would be one of the list, which look_at_known() finds out, or one that is excluded.
 */
static bool are_threads_known(void)
{
	return vt_state.listed.threads &&
	       vt_state.listed.threads == drv_count_threads(vt_state.list_fd) &&
	       vt_state.listed.exclusion_changes == atomic_load_acquire(&exclusion_changes);
}

/* Look at the threads of the list only. `ended` is set if one of them is not there any more. */
static int look_at_known(struct mu_vthread *list, uint64_t spin_ns, int *unsure, bool *ended)
{
	int all = 1;

	*ended = false;
	for (struct mu_vthread *t = list; t && !*ended; t = t->next)
		if (!is_waiting_in_call(t) && !is_settled(t, spin_ns, unsure, ended))
			all = 0;
	return all;
}

static int look_at_threads(struct mu_vthread **list, uint64_t spin_ns, int *unsure)
{
	if (are_threads_known()) {
		bool ended;
		int all = look_at_known(*list, spin_ns, unsure, &ended);

		if (!ended)
			return all;
	}
	return list_threads(list, spin_ns, unsure);
}

int mu_vthread_are_settled(struct mu_vthread **list, uint64_t spin_ns, int *unsure)
{
	/*
	 * A thread that is read later may have woken one that was read as asleep before, so read
	 * all twice.
	 */
	for (int i = 0; i < 2; i++)
		if (!look_at_threads(list, spin_ns, unsure))
			return 0;
	/* Their CPU time counts anew from the next check. */
	for (struct mu_vthread *t = *list; t; t = t->next)
		t->look.burned_from = t->look.restless_from = t->look.asked_ns = 0;
	return 1;
}
