/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Telling the target that data have come: notifications (counted, pairwise) and puts with a flag.
 *
 * Both follow what this process wrote there before. RDMA keeps its order by itself; writes by message
 * are waited for. A notification is a message to SERVE, which also wakes a process that sleeps in
 * armci_notify_wait; a flag is an RDMA put, since who spins on it calls nothing.
 *
 * The same way survivors of a death tell each other that they are in ARMCI_Finalize. Nobody waits in vain: whose
 * first barrier there failed waits for a word of everybody, and takes no part in the second; so that fails for all,
 * and those whose first one went well say their word then.
 */
#include <stdlib.h>
#include <string.h>

#include "armci/am.h"
#include "armci/state.h"
#include "drivers/base/log.h"

static struct {
	unsigned *arrived;        /* per sender; written by SERVE */
	unsigned *sent, *awaited; /* per process */
	uint32_t waiting;         /* the application's thread waits, perhaps asleep */
	uint32_t posted;          /* work to wake it is under way */
} counts;

static pami_work_t wake;

int armci_notify_init(void)
{
	ARMCI_ENTER;
	size_t n = (size_t)armci_world.nproc;

	counts.arrived = calloc(n, sizeof(*counts.arrived));
	counts.sent = calloc(n, sizeof(*counts.sent));
	counts.awaited = calloc(n, sizeof(*counts.awaited));
	if (counts.arrived && counts.sent && counts.awaited)
		return 0;
	drv_error("armci: no memory to count notifications of %d processes", armci_world.nproc);
	return FAIL6;
}

void armci_notify_release(void)
{
	ARMCI_ENTER;
	while (__atomic_load_n(&counts.posted, __ATOMIC_ACQUIRE))
		armci_poll();
	armci_serve_lock();
	free(counts.arrived);
	free(counts.sent);
	free(counts.awaited);
	memset(&counts, 0, sizeof(counts));
	armci_serve_unlock();
}

static pami_result_t awake(pami_context_t context, void *cookie)
{
	__atomic_store_n(&counts.posted, 0, __ATOMIC_RELEASE);
	return PAMI_SUCCESS;
}

/* What arrives on SERVE wakes whoever drives that, not a thread that waits on ORIGIN. */
static void wake_waiting(void)
{
	if (__atomic_load_n(&counts.waiting, __ATOMIC_SEQ_CST) &&
	    !__atomic_exchange_n(&counts.posted, 1, __ATOMIC_ACQ_REL))
		PAMI_Context_post(armci_world.context[ARMCI_ORIGIN], &wake, awake, NULL);
}

/*
 * No ARMCI_ENTER: the context's lock is held, by whichever thread, or it is our own. What comes after
 * armci_notify_release, which takes that lock too, is dropped.
 */
void armci_notify_serve(const struct armci_request *r)
{
	if (!counts.arrived)
		return;
	__atomic_store_n(&counts.arrived[r->addr], (unsigned)r->value, __ATOMIC_SEQ_CST);
	wake_waiting();
}

int parmci_notify(int proc)
{
	ARMCI_ENTER;
	struct armci_request r = {.kind = ARMCI_REQUEST_NOTIFY, .addr = (uint64_t)armci_world.me};

	if (armci_check_proc(proc))
		armci_die("armci_notify: there is no process %d", proc);
	armci_order_messages(proc);
	r.value = ++counts.sent[proc];
	if (proc == armci_world.me)
		armci_notify_serve(&r);
	else if (armci_am_tell(&r, proc)) {
		drv_error("armci: armci_notify: process %d cannot be told", proc);
		return FAIL6;
	}
	return (int)counts.sent[proc];
}
extern __typeof__(parmci_notify) armci_notify
    __attribute__((weak, alias("parmci_notify"), visibility("default")));

int parmci_notify_wait(int proc, int *pval)
{
	ARMCI_ENTER;
	unsigned want, have;
	bool quiet = false;

	if (armci_check_proc(proc))
		armci_die("armci_notify_wait: there is no process %d", proc);
	want = ++counts.awaited[proc];
	__atomic_store_n(&counts.waiting, 1, __ATOMIC_SEQ_CST);
	while ((have = __atomic_load_n(&counts.arrived[proc], __ATOMIC_SEQ_CST)) < want && !quiet) {
		quiet = __atomic_load_n(&armci_world.target[proc].quiet, __ATOMIC_ACQUIRE) != 0;
		if (!quiet)
			armci_poll();
	}
	__atomic_store_n(&counts.waiting, 0, __ATOMIC_RELAXED);
	if (have < want) {
		drv_error("armci: armci_notify_wait: process %d died", proc);
		counts.awaited[proc]--;
		return FAIL6;
	}
	if (pval)
		*pval = (int)want;
	return (int)have;
}
extern __typeof__(parmci_notify_wait) armci_notify_wait
    __attribute__((weak, alias("parmci_notify_wait"), visibility("default")));

/* ---- the end, after a death ---- */

void armci_ending_tell(void)
{
	struct armci_request r = {.kind = ARMCI_REQUEST_ENDING, .addr = (uint64_t)armci_world.me};
	int i;

	for (i = 0; i < armci_world.nproc; i++)
		if (i != armci_world.me && !armci_task_gone(i))
			armci_am_tell(&r, i); /* else it has died just now */
}

void armci_ending_wait(void)
{
	int i;

	__atomic_store_n(&counts.waiting, 1, __ATOMIC_SEQ_CST);
	for (i = 0; i < armci_world.nproc; i++)
		while (i != armci_world.me && !__atomic_load_n(&armci_world.target[i].ending, __ATOMIC_SEQ_CST) &&
		       !armci_task_gone(i))
			armci_poll();
	__atomic_store_n(&counts.waiting, 0, __ATOMIC_RELAXED);
}

void armci_ending_serve(const struct armci_request *r)
{
	__atomic_store_n(&armci_world.target[r->addr].ending, 1, __ATOMIC_SEQ_CST);
	wake_waiting();
}

/* ---- put with flag ---- */

static int flag_put(int *flag, int value, int proc)
{
	armci_order_messages(proc);
	return armci_xfer_flag((uintptr_t)flag, value, proc);
}

int PARMCI_Put_flag(void *src, void *dst, int bytes, int *flag, int value, int proc)
{
	ARMCI_ENTER;
	int rc = PARMCI_Put(src, dst, bytes, proc);

	return rc ? rc : flag_put(flag, value, proc);
}
ARMCI_ALIAS(Put_flag);

int PARMCI_PutS_flag(void *src, int *src_stride_ar, void *dst, int *dst_stride_ar, int *count,
		     int stride_levels, int *flag, int value, int proc)
{
	ARMCI_ENTER;
	int rc = PARMCI_PutS(src, src_stride_ar, dst, dst_stride_ar, count, stride_levels, proc);

	return rc ? rc : flag_put(flag, value, proc);
}
ARMCI_ALIAS(PutS_flag);

int PARMCI_PutS_flag_dir(void *src, int *src_stride_ar, void *dst, int *dst_stride_ar, int *count,
			 int stride_levels, int *flag, int value, int proc)
{
	ARMCI_ENTER;
	return PARMCI_PutS_flag(src, src_stride_ar, dst, dst_stride_ar, count, stride_levels, flag,
				value, proc);
}
ARMCI_ALIAS(PutS_flag_dir);
