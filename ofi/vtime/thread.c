/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that the MPI library's runtime starts for itself (PMIx's, libevent's) never call PAMI, so
 * virtual time leaves them out: whether they run changes nothing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "ofi/vtime/virtual.h"

struct start {
	void *(*function)(void *);
	void *argument;
	sem_t excluded;
};

static __thread bool is_service;
static uint32_t program_threads; /* atomic: started so far */

bool virtual_has_threads(void)
{
	return atomic_load_relaxed(&program_threads);
}

bool virtual_is_service_thread(void)
{
	return is_service;
}

static void include_again(void *unused)
{
	virtual_time()->exclude((int)syscall(SYS_gettid), 0);
}

static void *run_service(void *at)
{
	struct start *s = at;
	void *(*function)(void *) = s->function, *argument = s->argument, *result;

	is_service = true;
	virtual_time()->exclude((int)syscall(SYS_gettid), 1);
	sem_post(&s->excluded);
	pthread_cleanup_push(include_again, NULL);
	result = function(argument);
	pthread_cleanup_pop(1);
	return result;
}

/* The caller waits until virtual time excludes the new thread, so no turn depends on it. */
static int start_service(pthread_t *thread, const pthread_attr_t *attributes,
			 void *(*function)(void *), void *argument)
{
	__typeof__(&pthread_create) next =
	    (__typeof__(&pthread_create))virtual_next("pthread_create", NULL);
	struct start s = {.function = function, .argument = argument};
	int rc;

	sem_init(&s.excluded, 0, 0);
	rc = next(thread, attributes, run_service, &s);
	while (!rc && sem_wait(&s.excluded) && errno == EINTR)
		;
	sem_destroy(&s.excluded);
	return rc;
}

VIRTUAL_API int pthread_create(pthread_t *restrict thread,
			       const pthread_attr_t *restrict attributes, void *(*function)(void *),
			       void *restrict argument)
{
	if (is_service || virtual_caller_of(__builtin_return_address(0)) == VIRTUAL_SERVICE)
		return start_service(thread, attributes, function, argument);
	atomic_fetch_add_relaxed(&program_threads, 1);
	return ((__typeof__(&pthread_create))virtual_next("pthread_create", NULL))(
	    thread, attributes, function, argument);
}
