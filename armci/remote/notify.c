/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tell the target that data have arrived: notifications (counted, pairwise) and puts with a flag.
 *
 * Both come after this process's earlier writes to the target. RDMA keeps its order by itself; the
 * caller waits for writes by message. A notification is a message to SERVE, which also wakes a
 * process that sleeps in armci_notify_wait. A flag is an RDMA put, since a program that spins on it
 * makes no call.
 *
 * After a death the survivors use the same messages to tell each other that they are in
 * ARMCI_Finalize. No process waits in vain: a process whose first barrier there failed announces
 * itself, waits for the announcement of every survivor, and skips the second barrier. That barrier
 * then fails at all other survivors too, and they announce themselves at that point.
 */
#include <stdlib.h>
#include <string.h>

#include "armci/core/api.h"
#include "armci/core/thread.h"
#include "armci/core/world.h"
#include "armci/remote/am.h"
#include "armci/remote/notify.h"
#include "armci/transfer/op.h"
#include "armci/transfer/xfer.h"
#include "drivers/base/atomic.h"
#include "drivers/base/log.h"

static struct {
	atomic_u32 *arrived;      /* [nproc] by sender; written by SERVE */
	unsigned *sent, *awaited; /* [nproc] */
	atomic_u32 waiting;       /* threads that wait, perhaps asleep */
	atomic_u32 posted;        /* Work that wakes them is posted and has not run. */
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
	while (atomic_load_acquire(&counts.posted))
		armci_poll();
	armci_serve_lock();
	free(counts.arrived);
	free(counts.sent);
	free(counts.awaited);
	memset(&counts, 0, sizeof(counts));
	armci_serve_unlock();
}

static pami_result_t clear_posted(pami_context_t context, void *cookie)
{
	atomic_store_release(&counts.posted, 0);
	return PAMI_SUCCESS;
}

/*
 * A message that arrives on SERVE wakes the thread that drives SERVE, but not one that waits on
 * ORIGIN.
 */
static void wake_origin(void)
{
	if (atomic_load_seq_cst(&counts.waiting) && !atomic_exchange_acq_rel(&counts.posted, 1))
		PAMI_Context_post(armci_world.context[ARMCI_ORIGIN], &wake, clear_posted, NULL);
}

/*
 * No ARMCI_ENTER: the caller holds the lock of SERVE, or is a call of this process. A notification
 * that arrives after armci_notify_release(), which takes that lock too, is dropped.
 */
void armci_notify_serve(const struct armci_request *r)
{
	if (!counts.arrived)
		return;
	atomic_store_seq_cst(&counts.arrived[r->addr], (unsigned)r->value);
	wake_origin();
}

int parmci_notify(int proc)
{
	ARMCI_ENTER;
	struct armci_request r = {.kind = ARMCI_REQUEST_NOTIFY, .addr = (uint64_t)armci_world.me};

	if (armci_check_proc(proc))
		armci_die("armci_notify: there is no process %d", proc);
	armci_order_after_messages(proc);
	r.value = ++counts.sent[proc];
	if (proc == armci_world.me)
		armci_notify_serve(&r);
	else if (armci_am_send(&r, proc)) {
		drv_error("armci: armci_notify: process %d cannot be reached", proc);
		return FAIL6;
	}
	return (int)r.value;
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
	atomic_fetch_add_seq_cst(&counts.waiting, 1);
	while ((have = atomic_load_seq_cst(&counts.arrived[proc])) < want && !quiet) {
		quiet = atomic_load_acquire(&armci_world.target[proc].dead_on_serve) != 0;
		if (!quiet)
			armci_poll();
	}
	atomic_fetch_sub_relaxed(&counts.waiting, 1);
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

void armci_finalize_announce(void)
{
	struct armci_request r = {.kind = ARMCI_REQUEST_ENDING, .addr = (uint64_t)armci_world.me};
	int i;

	for (i = 0; i < armci_world.nproc; i++)
		if (i != armci_world.me && !armci_is_dead(i))
			armci_am_send(&r, i); /* A failure means that it has died just now. */
}

void armci_finalize_await(void)
{
	int i;

	atomic_fetch_add_seq_cst(&counts.waiting, 1);
	for (i = 0; i < armci_world.nproc; i++)
		while (i != armci_world.me &&
		       !atomic_load_seq_cst(&armci_world.target[i].finalizing) && !armci_is_dead(i))
			armci_poll();
	atomic_fetch_sub_relaxed(&counts.waiting, 1);
}

void armci_finalize_serve(const struct armci_request *r)
{
	atomic_store_seq_cst(&armci_world.target[r->addr].finalizing, 1);
	wake_origin();
}

/* ---- put with flag ---- */

static int flag_put(int *flag, int value, int proc)
{
	armci_order_after_messages(proc);
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
