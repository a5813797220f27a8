/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clocks and sleeps of libc. The program gets virtual time; the runtime of the MPI library, whose
 * timers drive sockets, and our own code get libc's.
 *
 * Before the program joins the job (in MPI_Init) and after it has left (in MPI_Finalize), its clock
 * advances only by a microsecond for each read and by the time for which it sleeps, so a loop on
 * the clock ends. How often libraries read the clock while they start is not the same in every run.
 * So the time before joining counts as a multiple of JOIN_NS, in practice one. Dates are counted
 * from a fixed day for the same reason.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "ofi/vtime/virtual.h"

#define SECOND_NS   1000000000u
#define EPOCH_S     1325376000u /* 1 January 2012 */
#define MONOTONIC_S 3600u
#define READ_NS     1000u
#define JOIN_NS     10000000000u

#define CALIBRATION_US 100000u

static uint64_t before_ns, after_ns; /* atomic: time outside, before joining and after leaving */

#define NEXT(name) ((__typeof__(&name))virtual_next(#name, NULL))

static bool is_real(const void *caller)
{
	return virtual_is_service_thread() || virtual_caller_of(caller) != VIRTUAL_PROGRAM;
}
#define IS_REAL() is_real(__builtin_return_address(0))

/* Returns the counter for the time outside that passes now. */
static uint64_t *outside_counter(void)
{
	return virtual_time()->read(0) ? &after_ns : &before_ns;
}

static uint64_t read_ns(void)
{
	const struct virtual_time *v = virtual_time();
	uint64_t before;

	if (!v->is_on())
		atomic_fetch_add_relaxed(outside_counter(), READ_NS);
	before = atomic_load_relaxed(&before_ns);
	if (v->is_on() || v->read(0))
		before = (before / JOIN_NS + 1) * JOIN_NS;
	return before + v->read(1) / 1000 + atomic_load_relaxed(&after_ns);
}

static uint64_t base_s(clockid_t clock)
{
	switch (clock) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
	case CLOCK_TAI:
		return EPOCH_S;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME:
		return MONOTONIC_S;
	default: /* processor time: a task has a processor of its own, which never waits */
		return 0;
	}
}

static void sleep_ns(uint64_t ns)
{
	struct timespec t = {(time_t)(ns / SECOND_NS), (long)(ns % SECOND_NS)};

	if (virtual_time()->is_on()) {
		virtual_time()->spend(ns * 1000);
		return;
	}
	NEXT(nanosleep)(&t, NULL);
	atomic_fetch_add_relaxed(outside_counter(), ns);
}

static bool is_span(const struct timespec *t)
{
	return t && t->tv_sec >= 0 && t->tv_nsec >= 0 && t->tv_nsec < (long)SECOND_NS;
}

/* ---- what programs call ---- */

VIRTUAL_API int clock_gettime(clockid_t clock, struct timespec *out)
{
	uint64_t ns;

	if (IS_REAL())
		return NEXT(clock_gettime)(clock, out);
	ns = read_ns();
	out->tv_sec = (time_t)(base_s(clock) + ns / SECOND_NS);
	out->tv_nsec = (long)(ns % SECOND_NS);
	return 0;
}

VIRTUAL_API int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
	uint64_t ns;

	if (IS_REAL())
		return NEXT(gettimeofday)(out, zone);
	ns = read_ns();
	out->tv_sec = (time_t)(EPOCH_S + ns / SECOND_NS);
	out->tv_usec = (suseconds_t)(ns % SECOND_NS / 1000);
	return 0;
}

VIRTUAL_API time_t time(time_t *out)
{
	time_t now;

	if (IS_REAL())
		return NEXT(time)(out);
	now = (time_t)(EPOCH_S + read_ns() / SECOND_NS);
	if (out)
		*out = now;
	return now;
}

VIRTUAL_API clock_t clock(void)
{
	if (IS_REAL())
		return NEXT(clock)();
	return (clock_t)(read_ns() / (SECOND_NS / CLOCKS_PER_SEC));
}

VIRTUAL_API int nanosleep(const struct timespec *span, struct timespec *left)
{
	if (IS_REAL() || !is_span(span))
		return NEXT(nanosleep)(span, left);
	sleep_ns((uint64_t)span->tv_sec * SECOND_NS + (uint64_t)span->tv_nsec);
	if (left)
		*left = (struct timespec){0, 0};
	return 0;
}

VIRTUAL_API int clock_nanosleep(clockid_t clock, int flags, const struct timespec *span,
				struct timespec *left)
{
	uint64_t end, now;

	if (IS_REAL() || !is_span(span))
		return NEXT(clock_nanosleep)(clock, flags, span, left);
	end = (uint64_t)span->tv_sec * SECOND_NS + (uint64_t)span->tv_nsec;
	now = flags & TIMER_ABSTIME ? base_s(clock) * SECOND_NS + read_ns() : 0;
	if (end > now)
		sleep_ns(end - now);
	if (left && !(flags & TIMER_ABSTIME))
		*left = (struct timespec){0, 0};
	return 0;
}

/*
 * libfabric loads the driver of a network card that naps for 125 us until a tenth of a second has
 * passed. It naps once here: a job of hundreds of tasks on few processors would spend most of its
 * start on these naps.
 */
VIRTUAL_API int usleep(useconds_t us)
{
	if (virtual_caller_of(__builtin_return_address(0)) == VIRTUAL_DEVICE)
		return NEXT(usleep)(us < CALIBRATION_US ? CALIBRATION_US : us);
	if (IS_REAL())
		return NEXT(usleep)(us);
	sleep_ns((uint64_t)us * 1000);
	return 0;
}

/*
 * Open MPI's btl ofi sleeps for a second when it closes, for a provider that needs it. The task has
 * the turn, so a job would take a second for each task.
 */
VIRTUAL_API unsigned sleep(unsigned s)
{
	if (virtual_caller_of(__builtin_return_address(0)) == VIRTUAL_DEVICE)
		return 0;
	if (IS_REAL())
		return NEXT(sleep)(s);
	sleep_ns((uint64_t)s * SECOND_NS);
	return 0;
}

/*
 * poll() and select() are sleeps. Data comes to a descriptor without virtual time, so they check
 * before and after the sleep.
 */
VIRTUAL_API int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	int rc;

	if (IS_REAL() || timeout <= 0)
		return NEXT(poll)(fds, count, timeout);
	rc = count ? NEXT(poll)(fds, count, 0) : 0;
	if (rc)
		return rc;
	sleep_ns((uint64_t)timeout * 1000000u);
	return count ? NEXT(poll)(fds, count, 0) : 0;
}

VIRTUAL_API int select(int count, fd_set *restrict in, fd_set *restrict out,
		       fd_set *restrict except, struct timeval *restrict timeout)
{
	fd_set *set[3] = {in, out, except}, asked[3];
	struct timeval now = {0, 0};
	int rc;

	if (IS_REAL() || !timeout || timeout->tv_sec < 0 || timeout->tv_usec < 0 ||
	    !(timeout->tv_sec | timeout->tv_usec))
		return NEXT(select)(count, in, out, except, timeout);
	for (int i = 0; i < 3; i++)
		if (set[i])
			asked[i] = *set[i];
	rc = count ? NEXT(select)(count, in, out, except, &now) : 0;
	if (rc)
		return rc;
	sleep_ns((uint64_t)timeout->tv_sec * SECOND_NS + (uint64_t)timeout->tv_usec * 1000u);
	*timeout = now;
	for (int i = 0; i < 3; i++)
		if (set[i])
			*set[i] = asked[i];
	return count ? NEXT(select)(count, in, out, except, &now) : 0;
}

/* ---- waits for other threads, up to a time of a clock ---- */

/*
 * The clock of a condition variable cannot be read, but dates are far from times since the start.
 */
static uint64_t left_ns(const struct timespec *until)
{
	uint64_t base = until->tv_sec >= (time_t)(EPOCH_S / 2) ? EPOCH_S : MONOTONIC_S;
	uint64_t end = (uint64_t)until->tv_sec * SECOND_NS + (uint64_t)until->tv_nsec;
	uint64_t now = base * SECOND_NS + read_ns();

	return end > now ? end - now : 0;
}

/* Return the real time at which a wait of that length ends. */
static struct timespec real_end(clockid_t clock, uint64_t ns)
{
	struct timespec t;

	NEXT(clock_gettime)(clock, &t);
	ns += (uint64_t)t.tv_nsec;
	t.tv_sec += (time_t)(ns / SECOND_NS);
	t.tv_nsec = (long)(ns % SECOND_NS);
	return t;
}

/* The wait has ended by its time limit: no other thread has ended it before. */
static int time_out(uint64_t left)
{
	if (virtual_time()->is_on())
		virtual_time()->doubt();
	virtual_time()->spend(left * 1000);
	return ETIMEDOUT;
}

typedef int (*timedwait_fn)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);

/* A search by name alone may give the function of an older kind of condition. */
static timedwait_fn next_timedwait(void)
{
	void *found = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");

	return found ? (timedwait_fn)found
		     : (timedwait_fn)virtual_next("pthread_cond_timedwait", NULL);
}

/* If the program has no other threads, no thread can signal, so the wait is a sleep. */
static int wait_for(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
		    const struct timespec *until)
{
	uint64_t left = left_ns(until);
	struct timespec end;
	int rc;

	if (virtual_time()->is_on() && !virtual_has_threads()) {
		pthread_mutex_unlock(mutex);
		sleep_ns(left);
		pthread_mutex_lock(mutex);
		return ETIMEDOUT;
	}
	end = real_end(clock, left);
	rc = next_timedwait()(condition, mutex, &end);
	return rc == ETIMEDOUT ? time_out(left) : rc;
}

VIRTUAL_API int pthread_cond_timedwait(pthread_cond_t *restrict condition,
				       pthread_mutex_t *restrict mutex,
				       const struct timespec *restrict until)
{
	if (IS_REAL() || !is_span(until))
		return next_timedwait()(condition, mutex, until);
	return wait_for(condition, mutex,
			until->tv_sec >= (time_t)(EPOCH_S / 2) ? CLOCK_REALTIME : CLOCK_MONOTONIC,
			until);
}

VIRTUAL_API int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until)
{
	struct timespec end;
	uint64_t left;

	if (IS_REAL() || !is_span(until))
		return NEXT(sem_timedwait)(semaphore, until);
	if (!sem_trywait(semaphore))
		return 0;
	left = left_ns(until);
	if (virtual_time()->is_on() && !virtual_has_threads()) {
		sleep_ns(left);
		errno = ETIMEDOUT;
		return -1;
	}
	end = real_end(CLOCK_REALTIME, left);
	if (!NEXT(sem_timedwait)(semaphore, &end))
		return 0;
	if (errno == ETIMEDOUT)
		errno = time_out(left);
	return -1;
}
