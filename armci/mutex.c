/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mutexes: each lives with its owner, who keeps a queue of waiting processes and grants in order of
 * arrival. They come in sets; ARMCI_Create_mutexes makes the one of the world, armcix.h any number.
 *
 * A process waits for one mutex at a time, so the queues of all mutexes of an owner share one table of
 * links, an entry per process. Lock and Unlock are requests to the owner's SERVE context, from the owner
 * itself too: the owner's tables are touched there only, and under that context's lock while a set is
 * made and destroyed.
 */
#include <stdlib.h>
#include <string.h>

#include "armci/am.h"
#include "armci/coll.h"
#include "drivers/base/log.h"

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

/* What this process hosts. */
struct hosted {
	struct mutex *mutex; /* NULL: no set */
	int count;
};

static struct {
	struct hosted *set;
	uint32_t count;
	struct waiter *waiter; /* per process; with the first set */
} hosts;

/* What each member of a set tells the others. */
struct share {
	uint32_t set; /* its place at the host */
	int32_t count;
};

struct armcix_mutex_hdl_s {
	struct armci_group *group;
	struct share share[]; /* per member */
};

static armcix_mutex_hdl_t world_set, own_set;

/* ---- the owner's side ---- */

static void grant(pami_context_t context, struct mutex *m, int proc)
{
	m->holder = proc;
	armci_serve_answer(context, hosts.waiter[proc].origin, ARMCI_REPLY_VALUE,
			   hosts.waiter[proc].token, 0);
}

static void wait_behind(struct mutex *m, int proc)
{
	hosts.waiter[proc].next = NOBODY;
	if (m->first == NOBODY)
		m->first = proc;
	else
		hosts.waiter[m->last].next = proc;
	m->last = proc;
}

/* Its holder has it no longer. */
static void pass_on(pami_context_t context, struct mutex *m)
{
	int next = m->first;

	m->holder = NOBODY;
	if (next == NOBODY)
		return;
	m->first = hosts.waiter[next].next;
	grant(context, m, next);
}

static void serve_lock(pami_context_t context, struct mutex *m, int proc)
{
	if (m->holder == NOBODY)
		grant(context, m, proc);
	else
		wait_behind(m, proc);
}

static void serve_unlock(pami_context_t context, struct mutex *m, int number, int proc)
{
	if (m->holder != proc && armci_task_gone(proc))
		return; /* it was taken from it before this was dispatched */
	if (m->holder != proc) { /* its mistake, not ours */
		drv_error("armci: process %d unlocks mutex %d of process %d, which %s: nothing is done", proc, number,
			  armci_world.me, m->holder == NOBODY ? "nobody holds" : "another holds");
		return;
	}
	pass_on(context, m);
}

void armci_mutex_serve(pami_context_t context, const struct armci_request *r, pami_endpoint_t origin)
{
	pami_task_t proc;
	struct mutex *m;
	size_t offset;

	PAMI_Endpoint_query(origin, &proc, &offset);
	if (r->count >= hosts.count || r->addr >= (uint64_t)hosts.set[r->count].count)
		armci_die("process %u asks for mutex %llu of set %llu", (unsigned)proc,
			  (unsigned long long)r->addr, (unsigned long long)r->count);
	m = &hosts.set[r->count].mutex[r->addr];
	if (r->kind == ARMCI_REQUEST_LOCK) {
		hosts.waiter[proc].token = r->token;
		hosts.waiter[proc].origin = origin;
		serve_lock(context, m, (int)proc);
	} else if (r->kind == ARMCI_REQUEST_TRYLOCK) {
		bool free = m->holder == NOBODY;

		if (free)
			m->holder = (int)proc;
		armci_serve_answer(context, origin, ARMCI_REPLY_VALUE, r->token, !free);
	} else {
		serve_unlock(context, m, (int)r->addr, (int)proc);
		armci_serve_answer(context, origin, ARMCI_REPLY_ACK, r->token, 0);
	}
}

/* One mutex: those who died leave the queue, and if one held it, the next gets it. */
static void mutex_gone(pami_context_t context, struct mutex *m, int number)
{
	int proc = m->first, next;

	m->first = m->last = NOBODY;
	for (; proc != NOBODY; proc = next) {
		next = hosts.waiter[proc].next;
		if (!armci_task_gone(proc))
			wait_behind(m, proc);
	}
	if (m->holder == NOBODY || !armci_task_gone(m->holder))
		return;
	drv_warn("armci: process %d died with mutex %d of process %d: it is taken from it", m->holder, number,
		 armci_world.me);
	pass_on(context, m);
}

void armci_mutex_gone(pami_context_t context)
{
	uint32_t i;
	int k;

	for (i = 0; i < hosts.count; i++)
		for (k = 0; hosts.set[i].mutex && k < hosts.set[i].count; k++)
			mutex_gone(context, &hosts.set[i].mutex[k], k);
}

/* ---- sets ---- */

/* A place for `num` mutexes of mine; under the lock of SERVE. -1: no memory. */
static int64_t host(struct mutex *m, int num)
{
	uint32_t i;

	for (i = 0; i < hosts.count && hosts.set[i].mutex; i++)
		;
	if (!hosts.waiter)
		hosts.waiter = calloc((size_t)armci_world.nproc, sizeof(*hosts.waiter));
	if (i == hosts.count) {
		struct hosted *grown = realloc(hosts.set, (hosts.count + 1) * sizeof(*grown));

		if (!grown)
			return -1;
		hosts.set = grown;
		hosts.count++;
	}
	if (!hosts.waiter) {
		hosts.set[i] = (struct hosted){NULL, 0};
		return -1;
	}
	hosts.set[i] = (struct hosted){m, num};
	return i;
}

static armcix_mutex_hdl_t set_create(struct armci_group *g, int num)
{
	armcix_mutex_hdl_t s = calloc(1, sizeof(*s) + (size_t)g->size * sizeof(s->share[0]));
	struct mutex *m = calloc(num > 0 ? (size_t)num : 1, sizeof(*m));
	struct share mine = {0, -1};
	int64_t place;
	int i, bad, died;

	if (!s)
		armci_die("no memory for mutexes");
	for (i = 0; m && i < num; i++)
		m[i] = (struct mutex){NOBODY, NOBODY, NOBODY};
	armci_serve_lock();
	place = m && num >= 0 ? host(m, num) : -1;
	armci_serve_unlock();
	if (place >= 0)
		mine = (struct share){(uint32_t)place, num};
	else
		free(m);
	s->group = g;
	g->users++;
	/* Nobody asks before every set is there. */
	bad = died = armci_coll_allgather(g, &mine, s->share, sizeof(mine)) != 0;
	for (i = 0; !bad && i < g->size; i++)
		bad = s->share[i].count < 0;
	if (!bad)
		return s;
	if (place >= 0 && !died) { /* else others may have it all, and ask: it stays until the end */
		armci_serve_lock();
		hosts.set[place] = (struct hosted){NULL, 0};
		armci_serve_unlock();
		free(m);
	}
	free(s);
	armci_group_put(g);
	return NULL;
}

static int set_destroy(armcix_mutex_hdl_t s)
{
	struct armci_group *g = s->group;
	struct hosted *h;
	struct mutex *m;

	armci_fence_all(); /* my unlocks have arrived */
	if (armci_coll_barrier(g)) { /* others may still ask for my mutexes: they stay until the end */
		free(s);
		armci_group_put(g);
		return FAIL6;
	}
	armci_serve_lock();
	h = &hosts.set[s->share[g->rank].set];
	m = h->mutex;
	*h = (struct hosted){NULL, 0};
	armci_serve_unlock();
	free(m);
	free(s);
	armci_group_put(g);
	return 0;
}

/* At the end; nobody asks any more. */
void armci_mutex_release(void)
{
	uint32_t i;

	for (i = 0; i < hosts.count; i++)
		free(hosts.set[i].mutex);
	free(hosts.set);
	free(hosts.waiter);
	free(world_set);
	free(own_set);
	world_set = own_set = NULL;
	memset(&hosts, 0, sizeof(hosts));
}

/* The request for mutex (mutex, proc) of s. */
static struct armci_request request_of(armcix_mutex_hdl_t s, const char *call, uint16_t kind, int mutex,
				       int proc)
{
	int i;

	if (!s)
		armci_die("%s: there is no set of mutexes", call);
	for (i = 0; i < s->group->size && (int)s->group->task[i] != proc; i++)
		;
	if (i == s->group->size || mutex < 0 || mutex >= s->share[i].count)
		armci_die("%s: process %d has no mutex %d", call, proc, mutex);
	return (struct armci_request){.kind = kind, .addr = (uint64_t)mutex, .count = s->share[i].set};
}

/* Ask and wait for the answer. */
static int ask(const struct armci_request *r, const char *call, int proc)
{
	struct armci_req wait = {0};
	uint64_t answer = 0;

	if (armci_am_value(r, proc, &answer, sizeof(answer), &wait) || armci_req_wait(&wait)) {
		drv_error("armci: %s: process %d, where the mutex is, died: it is not held", call, proc);
		return FAIL6;
	}
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* loads from mapped memory */
	return (int)answer;
}

static void unlock(armcix_mutex_hdl_t s, const char *call, int mutex, int proc)
{
	struct armci_request r = request_of(s, call, ARMCI_REQUEST_UNLOCK, mutex, proc);

	armci_fence_all();
	if (armci_am_order(&r, proc))
		drv_error("armci: %s: process %d, where the mutex is, died", call, proc);
}

int armci_mutex_init(void)
{
	own_set = set_create(armci_world.all, 1);
	return own_set ? 0 : FAIL6;
}

int armci_mutex_take(int proc)
{
	struct armci_request r = request_of(own_set, "accumulate", ARMCI_REQUEST_LOCK, 0, proc);

	return ask(&r, "accumulate", proc);
}

int armci_mutex_give(int proc)
{
	struct armci_request r = request_of(own_set, "accumulate", ARMCI_REQUEST_UNLOCK, 0, proc);

	armci_fence(proc);
	return armci_am_order(&r, proc);
}

/* ---- the published names ---- */

int PARMCI_Create_mutexes(int num)
{
	ARMCI_ENTER;
	if (world_set)
		armci_die("ARMCI_Create_mutexes: there is a set of mutexes already");
	world_set = set_create(armci_world.all, num);
	return world_set ? 0 : FAIL6;
}
ARMCI_ALIAS(Create_mutexes);

int PARMCI_Destroy_mutexes(void)
{
	ARMCI_ENTER;
	int rc;

	if (!world_set)
		armci_die("ARMCI_Destroy_mutexes: there is no set of mutexes");
	rc = set_destroy(world_set);
	world_set = NULL;
	return rc;
}
ARMCI_ALIAS(Destroy_mutexes);

void PARMCI_Lock(int mutex, int proc)
{
	ARMCI_ENTER;
	struct armci_request r = request_of(world_set, "ARMCI_Lock", ARMCI_REQUEST_LOCK, mutex, proc);

	ask(&r, "ARMCI_Lock", proc);
}
ARMCI_ALIAS(Lock);

void PARMCI_Unlock(int mutex, int proc)
{
	ARMCI_ENTER;
	unlock(world_set, "ARMCI_Unlock", mutex, proc);
}
ARMCI_ALIAS(Unlock);

#pragma GCC visibility push(default)

armcix_mutex_hdl_t ARMCIX_Create_mutexes_hdl(int count, ARMCI_Group *g)
{
	ARMCI_ENTER;
	struct armci_group *group = armci_group_member(g, "ARMCIX_Create_mutexes_hdl");

	return group ? set_create(group, count) : NULL;
}

int ARMCIX_Destroy_mutexes_hdl(armcix_mutex_hdl_t h)
{
	ARMCI_ENTER;
	if (!h)
		return FAIL;
	return set_destroy(h);
}

void ARMCIX_Lock_hdl(armcix_mutex_hdl_t h, int mutex, int proc)
{
	ARMCI_ENTER;
	struct armci_request r = request_of(h, "ARMCIX_Lock_hdl", ARMCI_REQUEST_LOCK, mutex, proc);

	ask(&r, "ARMCIX_Lock_hdl", proc);
}

int ARMCIX_Trylock_hdl(armcix_mutex_hdl_t h, int mutex, int proc)
{
	ARMCI_ENTER;
	struct armci_request r = request_of(h, "ARMCIX_Trylock_hdl", ARMCI_REQUEST_TRYLOCK, mutex, proc);

	return ask(&r, "ARMCIX_Trylock_hdl", proc);
}

void ARMCIX_Unlock_hdl(armcix_mutex_hdl_t h, int mutex, int proc)
{
	ARMCI_ENTER;
	unlock(h, "ARMCIX_Unlock_hdl", mutex, proc);
}

#pragma GCC visibility pop
