/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps bursts and the handlers of net_memif (22.11) apart. EAL's thread calls the handlers when
 * the other process connects, ends or dies. They map and unmap the rings whatever other threads do,
 * and a burst that runs meanwhile reads or writes what is not mapped.
 *
 * EAL has no call that comes before a handler. But each handler of a connection logs a line as soon
 * as it has received a message, or the end of the connection, and before it acts on it. So that
 * line holds the bursts (port_dpdk_eal.c sets the level at which it is logged), and an alarm lets
 * them go, since EAL's thread calls alarms and handlers one after the other.
 *
 * A burst says that it is inside, then looks whether bursts are held. The handler's thread holds
 * them, then waits until none is inside. Between the two steps of either a barrier is needed.
 * Bursts are many and handlers few, so the handler's thread has the kernel run one on each
 * processor that runs a thread of this process (membarrier()).
 */
#define _GNU_SOURCE
#include "drivers/port_dpdk.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <rte_alarm.h>

#include "drivers/base/clock.h"
#include "drivers/base/log.h"

/*
 * A burst that logs waits for the log, in which the handler's line is being written. No burst of
 * memif does so as far as its source tells.
 */
#define WAIT_NS 2000000000u

/*
 * Bursts go on after so long, and each line that a handler logs afterwards holds them again: a
 * server whose link was up was seen blocked in a handler, in recvmsg() (see is_unanswered()).
 */
#define HOLD_US 500000u

atomic_u64 dpdk_bursts_held_until;
atomic_u32 dpdk_bursts_fence;
atomic_u32 dpdk_memif_lines;

/* EAL's thread only. */
static bool has_alarm;

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct dpdk_bursts *list;

static bool call_membarrier(int command)
{
	return !syscall(SYS_membarrier, command, 0, 0);
}

void dpdk_bursts_prepare(void)
{
	if (!call_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
		atomic_store_relaxed(&dpdk_bursts_fence, 1);
}

void dpdk_bursts_add(struct dpdk_bursts *b)
{
	pthread_mutex_lock(&list_lock);
	b->next = list;
	list = b;
	pthread_mutex_unlock(&list_lock);
}

void dpdk_bursts_remove(struct dpdk_bursts *b)
{
	struct dpdk_bursts **at = &list;

	pthread_mutex_lock(&list_lock);
	while (*at && *at != b)
		at = &(*at)->next;
	if (*at)
		*at = b->next;
	pthread_mutex_unlock(&list_lock);
}

static void release_bursts(void *unused)
{
	(void)unused;
	has_alarm = false;
	atomic_store_release(&dpdk_bursts_held_until, 0);
}

static void keep_bursts_out(void)
{
	atomic_store_seq_cst(&dpdk_bursts_held_until,
			     drv_clock_ticks() + HOLD_US * drv_clock_ticks_per_us());
}

/*
 * From here on each burst that runs has said so, and each that begins sees that bursts are held.
 * Should the call fail, a nap gives a store that is under way more than the time it needs.
 */
static void run_barriers(const struct timespec *nap)
{
	if (atomic_load_relaxed(&dpdk_bursts_fence) ||
	    call_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
		return;
	atomic_store_relaxed(&dpdk_bursts_fence, 1);
	nanosleep(nap, NULL);
}

void dpdk_bursts_hold(void)
{
	const struct timespec nap = {.tv_nsec = 20000};
	uint64_t until;

	atomic_fetch_add_relaxed(&dpdk_memif_lines, 1);
	if (!has_alarm && rte_eal_alarm_set(1, release_bursts, NULL)) {
		drv_warn("dpdk: no memory for an alarm: a memif changes while it may be in use");
		return;
	}
	has_alarm = true;
	until = drv_clock_ns() + WAIT_NS;
	keep_bursts_out();
	run_barriers(&nap);
	pthread_mutex_lock(&list_lock);
	for (struct dpdk_bursts *b = list; b; b = b->next)
		while (atomic_load_seq_cst(&b->inside) && drv_clock_ns() < until) {
			nanosleep(&nap, NULL);
			keep_bursts_out();
		}
	pthread_mutex_unlock(&list_lock);
}
