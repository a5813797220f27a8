/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mutexes: each lives with its owner, who keeps a queue of waiting processes and grants in order of
 * arrival.
 *
 * A process waits for one mutex at a time, so the queues of all mutexes of an owner share one table of
 * links, an entry per process. Lock and Unlock are requests to the owner's SERVE context, from the owner
 * itself too: the table below is touched there only, and under that context's lock while it is made and
 * destroyed.
 */
#include <stdlib.h>
#include <string.h>

#include "armci/am.h"
#include "armci/state.h"

enum { NOBODY = -1 };

struct mutex {
	int holder;
	int first, last; /* waiting */
};

struct waiter {
	int next;
	uint64_t token;
	pami_endpoint_t origin;
};

static struct {
	struct mutex *mutex;
	int count;
	struct waiter *waiter; /* per process */
} table;
static int *counts; /* per process, NULL while there is no set */

static void grant(pami_context_t context, struct mutex *m, int proc)
{
	m->holder = proc;
	armci_serve_answer(context, table.waiter[proc].origin, ARMCI_REPLY_VALUE,
			   table.waiter[proc].token, 0);
}

static void serve_lock(pami_context_t context, struct mutex *m, int proc)
{
	if (m->holder == NOBODY) {
		grant(context, m, proc);
		return;
	}
	table.waiter[proc].next = NOBODY;
	if (m->first == NOBODY)
		m->first = proc;
	else
		table.waiter[m->last].next = proc;
	m->last = proc;
}

static void serve_unlock(pami_context_t context, struct mutex *m, int number, int proc)
{
	int next = m->first;

	if (m->holder != proc)
		armci_die("process %d unlocks mutex %d, which process %d holds", proc, number,
			  m->holder);
	m->holder = NOBODY;
	if (next == NOBODY)
		return;
	m->first = table.waiter[next].next;
	grant(context, m, next);
}

void armci_mutex_serve(pami_context_t context, const struct armci_request *r, pami_endpoint_t origin)
{
	pami_task_t proc;
	size_t offset;

	PAMI_Endpoint_query(origin, &proc, &offset);
	if (r->addr >= (uint64_t)table.count)
		armci_die("process %u asks for mutex %llu of %d", (unsigned)proc,
			  (unsigned long long)r->addr, table.count);
	if (r->kind == ARMCI_REQUEST_LOCK) {
		table.waiter[proc].token = r->token;
		table.waiter[proc].origin = origin;
		serve_lock(context, &table.mutex[r->addr], (int)proc);
	} else {
		serve_unlock(context, &table.mutex[r->addr], (int)r->addr, (int)proc);
		armci_serve_answer(context, origin, ARMCI_REPLY_ACK, r->token, 0);
	}
}

int PARMCI_Create_mutexes(int num)
{
	size_t n = (size_t)armci_world.nproc;
	struct mutex *m = calloc(num > 0 ? (size_t)num : 1, sizeof(*m));
	struct waiter *w = calloc(n, sizeof(*w));
	int i, mine = num >= 0 && m && w ? num : -1, bad = 0;

	if (counts)
		armci_die("ARMCI_Create_mutexes: there is a set of mutexes already");
	counts = calloc(n, sizeof(*counts));
	if (!counts)
		armci_die("no memory for mutexes");
	armci_coll_allgather(&mine, counts, sizeof(mine));
	for (i = 0; i < armci_world.nproc; i++)
		bad |= counts[i] < 0;
	if (bad) {
		free(m);
		free(w);
		free(counts);
		counts = NULL;
		return FAIL6;
	}
	for (i = 0; i < num; i++)
		m[i] = (struct mutex){NOBODY, NOBODY, NOBODY};
	PAMI_Context_lock(armci_world.context[ARMCI_SERVE]);
	table.mutex = m;
	table.waiter = w;
	table.count = num;
	PAMI_Context_unlock(armci_world.context[ARMCI_SERVE]);
	armci_coll_barrier(); /* nobody asks before every table is there */
	return 0;
}
ARMCI_ALIAS(Create_mutexes);

int PARMCI_Destroy_mutexes(void)
{
	struct mutex *m;
	struct waiter *w;

	if (!counts)
		armci_die("ARMCI_Destroy_mutexes: there is no set of mutexes");
	armci_fence_all(); /* my unlocks have arrived */
	armci_coll_barrier();
	PAMI_Context_lock(armci_world.context[ARMCI_SERVE]);
	m = table.mutex;
	w = table.waiter;
	memset(&table, 0, sizeof(table));
	PAMI_Context_unlock(armci_world.context[ARMCI_SERVE]);
	free(m);
	free(w);
	free(counts);
	counts = NULL;
	return 0;
}
ARMCI_ALIAS(Destroy_mutexes);

static void check(const char *call, int mutex, int proc)
{
	if (!counts)
		armci_die("%s: there is no set of mutexes", call);
	if (armci_check_proc(proc) || mutex < 0 || mutex >= counts[proc])
		armci_die("%s: process %d has no mutex %d", call, proc, mutex);
}

void PARMCI_Lock(int mutex, int proc)
{
	struct armci_request r = {.kind = ARMCI_REQUEST_LOCK, .addr = (uint64_t)mutex};
	struct armci_req wait = {0};

	check("ARMCI_Lock", mutex, proc);
	if (armci_am_value(&r, proc, NULL, 0, &wait) || armci_req_wait(&wait))
		armci_die("ARMCI_Lock: process %d does not answer", proc);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* loads from mapped memory */
}
ARMCI_ALIAS(Lock);

void PARMCI_Unlock(int mutex, int proc)
{
	struct armci_request r = {.kind = ARMCI_REQUEST_UNLOCK, .addr = (uint64_t)mutex};

	check("ARMCI_Unlock", mutex, proc);
	armci_fence_all();
	if (armci_am_order(&r, proc))
		armci_die("ARMCI_Unlock: process %d does not answer", proc);
}
ARMCI_ALIAS(Unlock);
