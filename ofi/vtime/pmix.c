/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMIx fences in virtual time. A task must not wait for a real answer while it polls, since the
 * number of polls, and so the virtual time, would depend on the speed of the machine; and it must
 * not wait with the turn either, since the others could not come to the fence. So:
 *
 *   give the request to PMIx's thread     it reaches the server in real time
 *   sync                                  the others run, until all tasks have given theirs
 *   wait for the answer, with the turn    which comes without any task
 *
 * All other calls of PMIx wait for the server alone, and take no virtual time.
 */
#include <errno.h>
#include <semaphore.h>
#include <stddef.h>

#include "ofi/vtime/virtual.h"

/* The declarations of pmix.h, with plain types: processes, counts, attributes. */
typedef void (*answer_fn)(int status, void *cookie);
typedef int (*fence_nb_fn)(const void *procs, size_t count, const void *info, size_t infos,
			   answer_fn answer, void *cookie);
typedef int (*fence_fn)(const void *procs, size_t count, const void *info, size_t infos);

#define LIBRARY "libpmix.so.2"

int PMIx_Fence_nb(const void *procs, size_t count, const void *info, size_t infos, answer_fn answer,
		  void *cookie);
int PMIx_Fence(const void *procs, size_t count, const void *info, size_t infos);

struct fence {
	sem_t answered;
	int status;
};

/* PMIx's thread calls this. */
static void on_answer(int status, void *at)
{
	struct fence *f = at;

	f->status = status;
	sem_post(&f->answered);
}

/* Returns what PMIx returned for the request; 0: *status is the answer. */
static int start_fence(const void *procs, size_t count, const void *info, size_t infos, int *status)
{
	struct fence f = {.status = 0};
	int rc;

	sem_init(&f.answered, 0, 0);
	rc = ((fence_nb_fn)virtual_next("PMIx_Fence_nb", LIBRARY))(procs, count, info, infos,
								   on_answer, &f);
	virtual_time()->sync();
	while (!rc && sem_wait(&f.answered) && errno == EINTR)
		;
	sem_destroy(&f.answered);
	*status = f.status;
	return rc;
}

VIRTUAL_API int PMIx_Fence_nb(const void *procs, size_t count, const void *info, size_t infos,
			      answer_fn answer, void *cookie)
{
	int status, rc;

	if (!virtual_time()->is_on() || virtual_is_service_thread())
		return ((fence_nb_fn)virtual_next("PMIx_Fence_nb", LIBRARY))(procs, count, info,
									     infos, answer, cookie);
	rc = start_fence(procs, count, info, infos, &status);
	if (!rc && answer)
		answer(status, cookie);
	return rc;
}

VIRTUAL_API int PMIx_Fence(const void *procs, size_t count, const void *info, size_t infos)
{
	int status, rc;

	if (!virtual_time()->is_on() || virtual_is_service_thread())
		return ((fence_fn)virtual_next("PMIx_Fence", LIBRARY))(procs, count, info, infos);
	rc = start_fence(procs, count, info, infos, &status);
	return rc ? rc : status;
}
