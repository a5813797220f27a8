/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mutexes. Each one lives at its owner, which keeps a queue of waiting processes and grants the
 * mutex in order of arrival. Mutexes come in sets: ARMCI_Create_mutexes makes the set of all
 * processes, the calls of armcix.h make any number of sets.
 *
 * The word of a mutex says who holds it. Where the MUs have compare and swap (--hw
 * mu_atomics=full), the MU of the owner gives a free mutex to the caller and takes it back, and no
 * software of the owner takes part. A caller that finds the mutex held sends the request. The owner
 * marks the word while anybody waits, and only the owner's program changes a marked word. On other
 * machines Lock and Unlock are requests to the owner's SERVE context, also when the owner calls.
 *
 * Each thread of a process may wait for a mutex, also for one that another thread of the process
 * holds. Only SERVE's handlers use the owner's lists; making and destroying a set changes the
 * owner's tables under that context's lock.
 */
#include <stdlib.h>
#include <string.h>

#include "armci/core/api.h"
#include "armci/core/counter.h"
#include "armci/core/thread.h"
#include "armci/core/world.h"
#include "armci/group/coll.h"
#include "armci/group/group.h"
#include "armci/remote/am.h"
#include "armci/remote/mutex.h"
#include "armci/remote/serve.h"
#include "armci/transfer/op.h"
#include "drivers/base/atomic.h"
#include "drivers/base/log.h"

#define AWAITED (1ull << 63) /* in a word: others wait */

/* The word of a mutex that proc holds; 0: nobody does. */
static uint64_t word_held(int proc)
{
	return (uint64_t)proc + 1;
}

static int holder_of(uint64_t word)
{
	return (int)(uint32_t)word - 1;
}

/* A thread that waits. */
struct waiter {
	struct waiter *next;
	int proc;
	uint64_t token;
	pami_endpoint_t origin;
};

struct mutex {
	atomic_u64 word;
	struct waiter *first, *last;
};

/* The part of a set that this process hosts. */
struct hosted {
	struct mutex *mutex; /* NULL: no set */
	int count;
};

static struct {
	struct hosted *set;
	uint32_t count;
} hosts;

/* What each member of a set announces to the others. */
struct share {
	uint32_t set; /* its index at the host */
	int32_t count;
	uint64_t word; /* address of the first mutex's; of the next: sizeof(struct mutex) behind */
};

struct armcix_mutex_hdl_s {
	struct armci_group *group;
	struct share share[]; /* [group->size] */
};

static armcix_mutex_hdl_t world_set, own_set;

/* ---- the owner's side ---- */

static void answer_granted(pami_context_t context, uint64_t token, pami_endpoint_t origin)
{
	armci_serve_answer(context, origin, ARMCI_REPLY_VALUE, token, 0);
}

static void queue_append(struct mutex *m, struct waiter *w)
{
	w->next = NULL;
	if (m->first)
		m->last->next = w;
	else
		m->first = w;
	m->last = w;
}

/* The holder no longer holds it: grant it to the first waiter. */
static void pass_on(pami_context_t context, struct mutex *m)
{
	struct waiter *next = m->first;

	if (!next) {
		atomic_store_release(&m->word, 0);
		return;
	}
	m->first = next->next;
	atomic_store_release(&m->word, word_held(next->proc) | (m->first ? AWAITED : 0));
	answer_granted(context, next->token, next->origin);
	free(next);
}

/* Let proc hold the mutex if nobody does. Returns false, with the word marked, if somebody does. */
static bool take_or_mark(struct mutex *m, int proc)
{
	uint64_t word = atomic_load_acquire(&m->word);

	while (!(word & AWAITED)) {
		uint64_t next = word ? word | AWAITED : word_held(proc);

		if (atomic_cas_acq_rel(&m->word, &word, next))
			return !(next & AWAITED);
	}
	return false;
}

static void remove_dead(pami_context_t context, struct mutex *m, int number);

/* Our MU may have given it to a process after remove_dead() had looked for that process. */
static void free_of_dead(pami_context_t context, struct mutex *m, int number)
{
	int holder = holder_of(atomic_load_acquire(&m->word));

	if (holder >= 0 && armci_is_dead(holder))
		remove_dead(context, m, number);
}

static void serve_lock(pami_context_t context, struct mutex *m, int number, int proc,
		       uint64_t token, pami_endpoint_t origin)
{
	struct waiter *w;

	if (take_or_mark(m, proc)) {
		answer_granted(context, token, origin);
		return;
	}
	w = malloc(sizeof(*w));
	if (!w)
		armci_die("no memory for a process that waits for a mutex");
	*w = (struct waiter){.proc = proc, .token = token, .origin = origin};
	queue_append(m, w);
	free_of_dead(context, m, number);
}

static void serve_trylock(pami_context_t context, struct mutex *m, int number, int proc,
			  uint64_t token, pami_endpoint_t origin)
{
	uint64_t word = 0;
	bool taken;

	free_of_dead(context, m, number);
	taken = atomic_cas_acq_rel(&m->word, &word, word_held(proc));
	armci_serve_answer(context, origin, ARMCI_REPLY_VALUE, token, !taken);
}

static void serve_unlock(pami_context_t context, struct mutex *m, int number, int proc)
{
	int holder = holder_of(atomic_load_acquire(&m->word));

	if (holder != proc && armci_is_dead(proc))
		/* The mutex was taken from the dead process before this request was dispatched. */
		return;
	if (holder != proc) { /* This is the program's mistake. */
		drv_error("armci: process %d unlocks mutex %d of process %d, which %s: the call "
			  "has no effect",
			  proc, number, armci_world.me,
			  holder < 0 ? "no process holds" : "another process holds");
		return;
	}
	pass_on(context, m);
}

void armci_mutex_serve(pami_context_t context, const struct armci_request *r,
		       pami_endpoint_t origin)
{
	pami_task_t proc;
	struct mutex *m;
	size_t offset;

	PAMI_Endpoint_query(origin, &proc, &offset);
	if (r->count >= hosts.count || r->addr >= (uint64_t)hosts.set[r->count].count)
		armci_die("process %u asks for mutex %llu of set %llu, which does not exist",
			  (unsigned)proc, (unsigned long long)r->addr,
			  (unsigned long long)r->count);
	m = &hosts.set[r->count].mutex[r->addr];
	if (r->kind == ARMCI_REQUEST_LOCK) {
		serve_lock(context, m, (int)r->addr, (int)proc, r->token, origin);
	} else if (r->kind == ARMCI_REQUEST_TRYLOCK) {
		serve_trylock(context, m, (int)r->addr, (int)proc, r->token, origin);
	} else {
		serve_unlock(context, m, (int)r->addr, (int)proc);
		armci_serve_answer(context, origin, ARMCI_REPLY_ACK, r->token, 0);
	}
}

/* Take dead processes out of one mutex's queue; if one held it, grant it to the next waiter. */
static void remove_dead(pami_context_t context, struct mutex *m, int number)
{
	struct waiter *w = m->first, *next;
	int holder;

	m->first = m->last = NULL;
	for (; w; w = next) {
		next = w->next;
		if (armci_is_dead(w->proc))
			free(w);
		else
			queue_append(m, w);
	}
	holder = holder_of(atomic_load_acquire(&m->word));
	if (holder < 0 || !armci_is_dead(holder))
		return;
	drv_warn(
	    "armci: process %d died while it held mutex %d of process %d: the mutex is free again",
	    holder, number, armci_world.me);
	pass_on(context, m);
}

void armci_mutex_remove_dead(pami_context_t context)
{
	uint32_t i;
	int k;

	for (i = 0; i < hosts.count; i++)
		for (k = 0; hosts.set[i].mutex && k < hosts.set[i].count; k++)
			remove_dead(context, &hosts.set[i].mutex[k], k);
}

/* ---- sets ---- */

/*
 * Enter `num` mutexes of this process; returns the index, or -1 without memory. Under SERVE's lock.
 */
static int64_t hosted_add(struct mutex *m, int num)
{
	uint32_t i;

	for (i = 0; i < hosts.count && hosts.set[i].mutex; i++)
		;
	if (i == hosts.count) {
		struct hosted *grown = realloc(hosts.set, (hosts.count + 1) * sizeof(*grown));

		if (!grown)
			return -1;
		hosts.set = grown;
		hosts.count++;
	}
	hosts.set[i] = (struct hosted){m, num};
	return i;
}

/* No process asks for these any more. */
static void mutexes_free(struct mutex *m, int num)
{
	int i;

	for (i = 0; m && i < num; i++)
		while (m[i].first) {
			struct waiter *w = m[i].first;

			m[i].first = w->next;
			free(w);
		}
	free(m);
}

static armcix_mutex_hdl_t set_create(struct armci_group *g, int num)
{
	armcix_mutex_hdl_t s = calloc(1, sizeof(*s) + (size_t)g->size * sizeof(s->share[0]));
	struct mutex *m = calloc(num > 0 ? (size_t)num : 1, sizeof(*m));
	struct share own = {0, -1, 0};
	int64_t place;
	int i, bad, died;

	if (!s)
		armci_die("no memory for mutexes");
	armci_serve_lock();
	place = m && num >= 0 ? hosted_add(m, num) : -1;
	armci_serve_unlock();
	if (place >= 0)
		own = (struct share){(uint32_t)place, num, (uintptr_t)&m->word};
	else
		free(m);
	s->group = g;
	g->users++;
	/* No process sends a request before every set exists. */
	bad = died = armci_coll_allgather(g, &own, s->share, sizeof(own)) != 0;
	for (i = 0; !bad && i < g->size; i++)
		bad = s->share[i].count < 0;
	if (!bad)
		return s;
	if (place >= 0 &&
	    /*
	     * After a death others may have all shares and send requests, so the set stays until
	     * the end.
	     */
	    !died) {
		armci_serve_lock();
		hosts.set[place] = (struct hosted){NULL, 0};
		armci_serve_unlock();
		free(m);
	}
	free(s);
	armci_group_release(g);
	return NULL;
}

static int set_destroy(armcix_mutex_hdl_t s)
{
	struct armci_group *g = s->group;
	struct hosted *h;
	struct mutex *m;
	int num;

	armci_fence_all(); /* Then this process's unlocks have arrived. */
	if (armci_coll_barrier(
		/* Others may still send requests for these mutexes, so they stay until the end. */
		g)) {
		free(s);
		armci_group_release(g);
		return FAIL6;
	}
	armci_serve_lock();
	h = &hosts.set[s->share[g->rank].set];
	m = h->mutex;
	num = h->count;
	*h = (struct hosted){NULL, 0};
	armci_serve_unlock();
	mutexes_free(m, num);
	free(s);
	armci_group_release(g);
	return 0;
}

/* At the end, when no process sends requests any more. */
void armci_mutex_release(void)
{
	uint32_t i;

	for (i = 0; i < hosts.count; i++)
		mutexes_free(hosts.set[i].mutex, hosts.set[i].count);
	free(hosts.set);
	free(world_set);
	free(own_set);
	world_set = own_set = NULL;
	memset(&hosts, 0, sizeof(hosts));
}

/* A mutex as its host knows it, and where its word is. */
struct name {
	struct armci_request request;
	uint64_t word;
};

/* The name of mutex number `mutex` of process proc in set s. */
static struct name find_mutex(armcix_mutex_hdl_t s, const char *call, int mutex, int proc)
{
	int i;

	if (!s)
		armci_die("%s: there is no set of mutexes", call);
	for (i = 0; i < s->group->size && (int)s->group->task[i] != proc; i++)
		;
	if (i == s->group->size || mutex < 0 || mutex >= s->share[i].count)
		armci_die("%s: process %d has no mutex %d", call, proc, mutex);
	return (struct name){.request = {.addr = (uint64_t)mutex, .count = s->share[i].set},
			     .word = s->share[i].word + (uint64_t)mutex * sizeof(struct mutex)};
}

/* Send the request and wait for the answer. */
static int request_and_wait(const struct armci_request *r, const char *call, int proc)
{
	struct armci_req wait = {0};
	uint64_t answer = 0;

	if (armci_am_request_value(r, proc, &answer, sizeof(answer), &wait) ||
	    armci_req_wait(&wait)) {
		drv_error("armci: %s: process %d, which hosts the mutex, died: the caller does not "
			  "hold it",
			  call, proc);
		return FAIL6;
	}
	atomic_fence_seq_cst(); /* Order this thread's loads from mapped memory after the answer. */
	return (int)answer;
}

/* Do the MUs give and take mutexes? */
static bool units_have_mutexes(void)
{
	return armci_world.has_atomic && armci_world.has_atomic(PAMI_ATOMIC_FETCH_COMPARE_SET,
								PAMI_TYPE_UNSIGNED_LONG_LONG, 0);
}

/* Let the owner's MU give the mutex. Returns whether the caller got it; if not, *found is the word,
 * or 0 if the MU was not asked. */
static bool take_by_mu(const struct name *n, int proc, uint64_t *found)
{
	struct armci_request r = {.kind = ARMCI_REQUEST_CAS,
				  .op = ARMCI_SWAP_LONG,
				  .addr = n->word,
				  .value = word_held(armci_world.me)};
	int rc;

	*found = 0;
	if (!units_have_mutexes() || !armci_rmw_by_mu(&r, found, sizeof(*found), proc, &rc) || rc ||
	    *found)
		return false;
	ARMCI_COUNT(locks_by_mu);
	atomic_fence_seq_cst(); /* as in request_and_wait() */
	return true;
}

static int lock_mutex(armcix_mutex_hdl_t s, const char *call, int mutex, int proc)
{
	struct name n = find_mutex(s, call, mutex, proc);
	uint64_t found;

	n.request.kind = ARMCI_REQUEST_LOCK;
	return take_by_mu(&n, proc, &found) ? 0 : request_and_wait(&n.request, call, proc);
}

static int try_mutex(armcix_mutex_hdl_t s, const char *call, int mutex, int proc)
{
	struct name n = find_mutex(s, call, mutex, proc);
	uint64_t found;

	if (take_by_mu(&n, proc, &found))
		return 0;
	if (found && !armci_is_dead(holder_of(found)))
		return 1;
	n.request.kind = ARMCI_REQUEST_TRYLOCK;
	return request_and_wait(&n.request, call, proc);
}

static int release_mutex(armcix_mutex_hdl_t s, const char *call, int mutex, int proc)
{
	struct name n = find_mutex(s, call, mutex, proc);

	n.request.kind = ARMCI_REQUEST_UNLOCK;
	return units_have_mutexes()
		   ? armci_am_release_word(&n.request, proc, n.word, word_held(armci_world.me))
		   : armci_am_send_acked(&n.request, proc);
}

static void unlock_mutex(armcix_mutex_hdl_t s, const char *call, int mutex, int proc)
{
	armci_fence_all();
	if (release_mutex(s, call, mutex, proc))
		drv_error("armci: %s: process %d, which hosts the mutex, died", call, proc);
}

int armci_mutex_init(void)
{
	own_set = set_create(armci_world.all, 1);
	return own_set ? 0 : FAIL6;
}

int armci_mutex_lock_internal(int proc)
{
	return lock_mutex(own_set, "accumulate", 0, proc);
}

int armci_mutex_unlock_internal(int proc)
{
	armci_fence_sent(proc);
	return release_mutex(own_set, "accumulate", 0, proc);
}

/* ---- the published names ---- */

int PARMCI_Create_mutexes(int num)
{
	ARMCI_ENTER;
	if (world_set)
		armci_die("ARMCI_Create_mutexes: there is a set of mutexes already");
	world_set = set_create(ARMCI_WORLD, num);
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
	lock_mutex(world_set, "ARMCI_Lock", mutex, proc);
}
ARMCI_ALIAS(Lock);

void PARMCI_Unlock(int mutex, int proc)
{
	ARMCI_ENTER;
	unlock_mutex(world_set, "ARMCI_Unlock", mutex, proc);
}
ARMCI_ALIAS(Unlock);

#pragma GCC visibility push(default)

armcix_mutex_hdl_t ARMCIX_Create_mutexes_hdl(int count, ARMCI_Group *g)
{
	ARMCI_ENTER;
	struct armci_group *group = armci_group_require(g, "ARMCIX_Create_mutexes_hdl");

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
	lock_mutex(h, "ARMCIX_Lock_hdl", mutex, proc);
}

int ARMCIX_Trylock_hdl(armcix_mutex_hdl_t h, int mutex, int proc)
{
	ARMCI_ENTER;
	return try_mutex(h, "ARMCIX_Trylock_hdl", mutex, proc);
}

void ARMCIX_Unlock_hdl(armcix_mutex_hdl_t h, int mutex, int proc)
{
	ARMCI_ENTER;
	unlock_mutex(h, "ARMCIX_Unlock_hdl", mutex, proc);
}

#pragma GCC visibility pop
