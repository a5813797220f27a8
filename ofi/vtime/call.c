/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of MPI: what a program computes between them takes virtual time (vtime/compute.h), and so
 * does what an MPI library does above the network (rows mpi_... of mu/vtime/cost.def).
 *
 * One function serves every MPI: all arguments are integers or pointers, at most 13, and these are
 * passed alike. Reading more words than the caller has passed is harmless. PMPI_ names are here,
 * too, since the Fortran functions of Open MPI call those. Each passes the call to its own name.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/atomic.h"
#include "ofi/vtime/compute.h"
#include "ofi/vtime/virtual.h"

#define LIBRARY "libmpi.so.40"
#define WORDS                                                                                      \
	long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k,    \
	    long l, long m
#define PASSED a, b, c, d, e, f, g, h, i, j, k, l, m

typedef int (*call_fn)(WORDS);

#define THREAD_MULTIPLE 3 /* of MPI; the same in all libraries in use */

static __thread unsigned depth;

struct call {
	const char *name;
	const char *entry, *exit; /* rows; "NONE" */
	int times;
	uint64_t entry_ps, exit_ps;
	call_fn next;
	bool ready; /* the three above are set */
};

/*
 * Returns whether several threads may call at once, as this program has told MPI. Then one may wait
 * in a loop for a lock that another holds while it polls (of Open MPI's mtl ofi, for example).
 */
static bool has_locks(void)
{
	static int level = -1; /* the first thread to ask sets it, others the same */

	if (atomic_load_relaxed(&level) < 0) {
		int now = 0;

		((int (*)(int *))virtual_next("MPI_Query_thread", LIBRARY))(&now);
		atomic_store_relaxed(&level, now);
	}
	return atomic_load_relaxed(&level) == THREAD_MULTIPLE;
}

/*
 * When a second thread calls, the run has no hash: which thread gets a mutex next, of the program
 * or of the MPI library, depends on the processors.
 */
static uint32_t threads; /* atomic: that have called */

static void note_caller(void)
{
	static __thread uint32_t number;

	if (__builtin_expect(!number, 0)) {
		number = 1 + atomic_fetch_add_relaxed(&threads, 1);
		if (number > 1)
			virtual_time()->doubt();
	}
}

bool virtual_has_callers(void)
{
	return atomic_load_relaxed(&threads) > 1 && has_locks();
}

static void prepare_call(struct call *call)
{
	uint64_t lock;

	if (!virtual_time()->is_on())
		return;
	lock = has_locks() ? virtual_time()->cost("mpi_lock") : 0;
	call->entry_ps = virtual_time()->cost(call->entry);
	call->exit_ps = virtual_time()->cost(call->exit);
	if (call->entry_ps)
		call->entry_ps += lock;
	if (call->exit_ps)
		call->exit_ps += lock;
	atomic_store_release(&call->ready, true);
}

static void enter_call(struct call *call, uint64_t times)
{
	if (!virtual_time()->is_on())
		return;
	note_caller();
	if (has_locks())
		virtual_time()->may_spin(1);
	compute_end();
	if (!atomic_load_acquire(&call->ready))
		prepare_call(call);
	if (call->entry_ps)
		virtual_time()->spend(call->entry_ps * times);
}

static void leave_call(const struct call *call, uint64_t times, bool entered)
{
	if (!virtual_time()->is_on())
		return;
	if (entered && call->exit_ps)
		virtual_time()->spend(call->exit_ps * times);
	if (has_locks())
		virtual_time()->may_spin(0);
	compute_begin();
}

static int run_call(struct call *call, WORDS)
{
	uint64_t times = call->times == 1 && a > 0 ? (uint32_t)a : 1;
	bool entered;
	int rc;

	if (!call->next)
		virtual_refuse_mpich();
	if (!call->next)
		call->next = (call_fn)virtual_next(call->name, LIBRARY);
	if (depth++ || virtual_is_service_thread()) {
		rc = call->next(PASSED);
		depth--;
		return rc;
	}
	entered = virtual_time()->is_on();
	enter_call(call, times);
	rc = call->next(PASSED);
	leave_call(call, times, entered);
	depth--;
	return rc;
}

#define CALL_AS(symbol, entry, exit, times)                                                        \
	VIRTUAL_API int symbol(WORDS);                                                             \
	VIRTUAL_API int symbol(WORDS)                                                              \
	{                                                                                          \
		static struct call call = {#symbol, #entry, #exit, times, 0, 0, NULL, false};      \
                                                                                                   \
		return run_call(&call, PASSED);                                                    \
	}
#define CALL(name, entry, exit, times)                                                             \
	CALL_AS(MPI_##name, entry, exit, times)                                                    \
	CALL_AS(PMPI_##name, entry, exit, times)
#include "ofi/vtime/calls.def"
#undef CALL

/*
 * The program declares that it computes: MPI_Pcontrol(PCONTROL_COMPUTE, seconds), a double.
 * Everywhere else that call has no effect, so the program needs no library of ours.
 */
#define PCONTROL_COMPUTE 0x5154

VIRTUAL_API int MPI_Pcontrol(int level, ...);
VIRTUAL_API int MPI_Pcontrol(int level, ...)
{
	va_list rest;

	if (level == PCONTROL_COMPUTE) {
		va_start(rest, level);
		compute_declare(va_arg(rest, double));
		va_end(rest);
	}
	return 0;
}
