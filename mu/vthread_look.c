/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the threads of a process are doing, by /proc/self/task. Source of the fields: proc(5). Bounded by their number.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "drivers/base/clock.h"
#include "mu/vthread.h"

#define STRANGE_NS 20000000u /* asleep this long on something that is not of this process: it may stay there */
#define NOTICE_NS  2000000u  /* CPU time in which a thread that spins notices what it waited for */

struct mu_vthread *mu_vthread_get(struct mu_vthread **list, pid_t tid)
{
	struct mu_vthread *t;

	while (*list && (*list)->tid < tid)
		list = &(*list)->next;
	if (*list && (*list)->tid == tid)
		return *list;
	t = calloc(1, sizeof *t);
	if (!t)
		return NULL;
	t->tid = tid;
	t->next = *list;
	__atomic_store_n(list, t, __ATOMIC_RELAXED); /* the thread that runs asks whether it is alone */
	return t;
}

static pid_t ours; /* atomic */

void mu_vthread_ours(pid_t tid)
{
	__atomic_store_n(&ours, tid, __ATOMIC_RELAXED);
}

/* Returns the bytes read, 0 if there is no such thread; -1 if that cannot be known. */
static ssize_t slurp(pid_t tid, const char *name, char *text, size_t size)
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

/* The letter behind the name, which may hold anything but ends at the last parenthesis; 0: gone; ?: no descriptor left. */
static char letter_of(pid_t tid)
{
	char text[512], *p;
	ssize_t n = slurp(tid, "stat", text, sizeof text);

	if (n <= 0)
		return n < 0 ? '?' : 0;
	p = strrchr(text, ')');
	return p && p[1] == ' ' && p[2] != 'Z' && p[2] != 'X' ? p[2] : 0;
}

static int in_futex(pid_t tid)
{
	char text[256];
	long number;

	if (slurp(tid, "syscall", text, sizeof text) <= 0)
		return 1; /* the kernel does not tell: most sleeps are */
	number = strtol(text, NULL, 10);
#ifdef SYS_futex_waitv
	if (number == SYS_futex_waitv)
		return 1;
#endif
	return number == SYS_futex;
}

/* Did it run since the last look? */
static int moved(struct mu_vthread *t)
{
	unsigned long long cpu = 0, waited = 0, slices = 0;
	char text[96];

	if (slurp(t->tid, "schedstat", text, sizeof text) > 0)
		sscanf(text, "%llu %llu %llu", &cpu, &waited, &slices);
	if (slices == t->look.slices && cpu == t->look.cpu_ns && t->look.since_ns)
		return 0;
	t->look.slices = slices;
	t->look.cpu_ns = cpu;
	t->look.since_ns = drv_clock_ns();
	return 1;
}

static int settled(struct mu_vthread *t, char letter, uint64_t spin_ns, int *unsure)
{
	int ran = moved(t);

	if (letter == 'S') {
		t->look.burned_from = 0;
		t->spins = 0;
		if (ran)
			return 0; /* once more, to see it stays there */
		if (!t->called || in_futex(t->tid))
			return 1;
		if (drv_clock_ns() - t->look.since_ns < STRANGE_NS)
			return 0;
		*unsure = 1;
		return 1;
	}
	if (!t->look.burned_from)
		t->look.burned_from = t->look.cpu_ns + 1;
	if (letter != 'R' || t->look.cpu_ns + 1 - t->look.burned_from < (t->spins ? NOTICE_NS : spin_ns))
		return 0;
	t->spins = 1;
	*unsure = 1;
	return 1;
}

static int waits_in_call(const struct mu_vthread *t)
{
	uint32_t s = __atomic_load_n(&t->state, __ATOMIC_ACQUIRE);

	return s == MU_VTHREAD_READY || s == MU_VTHREAD_IDLE;
}

static void drop_ended(struct mu_vthread **list)
{
	while (*list) {
		struct mu_vthread *t = *list;

		if (t->seen || waits_in_call(t) || t->state == MU_VTHREAD_RUNS || !tgkill(getpid(), t->tid, 0)) {
			list = &t->next; /* (the directory may pass one over when another ends) */
		} else {
			__atomic_store_n(list, t->next, __ATOMIC_RELAXED);
			free(t);
		}
	}
}

static int look_once(struct mu_vthread **list, uint64_t spin_ns, int *unsure)
{
	DIR *d = opendir("/proc/self/task");
	int all = 1;
	struct dirent *e;

	if (!d) { /* no /proc: only what waits in a call is known; no descriptor: again, later */
		*unsure = 1;
		return errno == ENOENT;
	}
	for (struct mu_vthread *t = *list; t; t = t->next)
		t->seen = 0;
	while ((e = readdir(d))) {
		pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);
		int program = tid > 0 && tid != __atomic_load_n(&ours, __ATOMIC_RELAXED);
		struct mu_vthread *t = program ? mu_vthread_get(list, tid) : NULL;
		char letter;

		if (!t)
			continue;
		t->seen = 1;
		if (waits_in_call(t))
			continue;
		letter = letter_of(tid);
		if (!letter)
			t->seen = 0;
		else if (!settled(t, letter, spin_ns, unsure))
			all = 0;
	}
	closedir(d);
	drop_ended(list);
	return all;
}

int mu_vthread_look(struct mu_vthread **list, uint64_t spin_ns, int *unsure)
{
	/* Nobody of those seen asleep first may have been let go by one seen later: all twice. */
	if (!look_once(list, spin_ns, unsure) || !look_once(list, spin_ns, unsure))
		return 0;
	for (struct mu_vthread *t = *list; t; t = t->next)
		t->look.burned_from = 0; /* next time it is to have looked again */
	return 1;
}
