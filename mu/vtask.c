/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "mu/vtask.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "drivers/base/log.h"
#include "drivers/base/wake.h"
#include "mu/commthread.h"
#include "mu/cost.h"
#include "mu/process.h"
#include "mu/vthread.h"

#define STEP_PS    1000000u  /* one thread among several hands over at least this often, so that new ones get in */
#define WATCH_NS   200000u   /* who waits for the turn looks after who has it, after this long first, */
#define WATCHES_NS 10000000u /* this long at last */
#define SERVE_PASSES 64

enum phase { RUNNING, CHOOSING };

static struct {
	struct mu_vt_area *vt; /* NULL: not in virtual time */
	struct mu_host *host;
	uint32_t local;
	uint64_t horizon, until; /* ps: of the process; of the thread that runs, for the others' sake */
	uint64_t flags;          /* MU_VT_WORKED, MU_VT_CLOCK since the last idle poll */
	uint64_t side_ps[MU_COMMTHREADS];
	struct mu_vthread *runs, *list;
	uint32_t lock;  /* of the list and of who runs, where there are several */
	uint32_t phase; /* CHOOSING: who comes next is being found out, or the simulator has the turn */
	uint64_t spin_ns, left_ps;
	/* The thread that stands in for the commthreads while the turn is taken from the program's threads. */
	struct {
		struct mu_vthread thread;
		pthread_t pthread;
		int runs, list_fd;
		uint32_t stop, handed;  /* handed: what it did is before what its process does next */
		unsigned before;        /* threads of the process besides the program's further ones */
		uint64_t done_ps;
		int (*serve)(struct mu_process *p);
		struct mu_process *p;
		struct mu_vt_area *vt;
	} in;
} me;

static __thread struct mu_vthread *self;

/*
 * A thread that sleeps in the program is over with what it did in the library: the kernel ordered that when it put it
 * to sleep. The thread sanitizer does not see it, so its builds are told.
 */
#ifdef __SANITIZE_THREAD__
void __tsan_acquire(void *object);
void __tsan_release(void *object);
#define acquire() __tsan_acquire(&me)
#define tell_over() __tsan_release(&me)
#else
#define acquire() ((void)0)
#define tell_over() ((void)0)
#endif

static int in_virtual_time(void)
{
	return __atomic_load_n(&me.vt, __ATOMIC_RELAXED) != NULL;
}

static void futex(uint32_t *word, int op, uint32_t value)
{
	syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

static void give_turn(struct mu_vt_area *vt, enum mu_vt_request request, uint64_t now)
{
	vt->request = request;
	vt->now_ps = now;
	__atomic_store_n(&vt->turn, MU_VT_SIMULATOR, __ATOMIC_RELEASE);
	futex(&vt->turn, FUTEX_WAKE, 1);
}

/* Returns the time at which the process goes on. */
static uint64_t hand_over(enum mu_vt_request request, uint64_t now)
{
	struct mu_vt_area *vt = me.vt;
	uint32_t phase = __atomic_exchange_n(&me.phase, CHOOSING, __ATOMIC_RELAXED);

	give_turn(vt, request, now);
	while (__atomic_load_n(&vt->turn, __ATOMIC_ACQUIRE) != MU_VT_TASK)
		futex(&vt->turn, FUTEX_WAIT, MU_VT_SIMULATOR);
	me.horizon = vt->horizon_ps;
	__atomic_store_n(&me.phase, phase, __ATOMIC_RELAXED);
	return vt->now_ps;
}

static uint64_t hand_over_idle(uint64_t now, uint64_t flags, uint64_t limit)
{
	me.vt->arg[MU_VT_ARG_POLL_PS] = mu_cost_ps[MU_COST_poll];
	me.vt->arg[MU_VT_ARG_FLAGS] = flags;
	me.vt->arg[MU_VT_ARG_LIMIT_PS] = limit;
	me.flags = 0;
	return hand_over(MU_VT_IDLE, now);
}

/* ---- several threads (vthread.h) ---- */

/* Does the list hold others? Of the thread that runs: whoever looks at the threads changes the list meanwhile. */
static int others(const struct mu_vthread *t)
{
	return __atomic_load_n(&me.list, __ATOMIC_RELAXED) != t || __atomic_load_n(&t->next, __ATOMIC_RELAXED);
}

/* The thread that stands in is none of the program's: then the kernel is asked how many there are. */
static int several(const struct mu_vthread *t)
{
	int more = !t->stands_in && others(t);
	struct stat st;

	if (more || __libc_single_threaded || !me.in.runs)
		return more || !__libc_single_threaded;
	return !fstat(me.in.list_fd, &st) && st.st_nlink > me.in.before + 2;
}

/*
 * Each call that acts on the task's side of the hand-over is between enter() and leave(). The simulator may take the
 * turn from a task that does not call for long; it stores MU_VT_TAKEN, has all processors pass a barrier, and then looks
 * whether somebody is inside. So either we see that the turn is gone, or it sees us and gives it back.
 */
static inline void leave(const struct mu_vthread *t)
{
	int stands_in = t->stands_in;
	struct mu_vt_area *vt = stands_in ? me.in.vt : me.vt;

	tell_over(); /* from here on the record may go, if this thread ends */
	if (vt) /* else another thread detached while we waited */
		__atomic_store_n(stands_in ? &vt->serve_inside : &vt->inside, 0, __ATOMIC_RELEASE);
}

/* Time went on without us. Have the turn back; the others of the process wait for us meanwhile. */
static __attribute__((noinline)) void turn_back(struct mu_vthread *t)
{
	struct mu_vt_area *vt = me.vt;
	uint32_t phase = __atomic_exchange_n(&me.phase, CHOOSING, __ATOMIC_RELAXED), turn;

	__atomic_store_n(&vt->inside, 0, __ATOMIC_RELEASE);
	vt->back_ps = t->now;
	__atomic_store_n(&vt->back, 1, __ATOMIC_RELEASE);
	futex(&vt->back, FUTEX_WAKE, 1);
	while ((turn = __atomic_load_n(&vt->turn, __ATOMIC_ACQUIRE)) != MU_VT_TASK)
		futex(&vt->turn, FUTEX_WAIT, turn);
	__atomic_load_n(&me.in.handed, __ATOMIC_ACQUIRE);
	__atomic_store_n(&vt->inside, 1, __ATOMIC_RELAXED);
	t->now = vt->now_ps > t->now ? vt->now_ps : t->now;
	me.horizon = vt->horizon_ps;
	vt->dirty |= mu_host_area(me.host, me.local)->channels_open; /* a tail store may have come too late */
	__atomic_store_n(&me.phase, phase, __ATOMIC_RELAXED);
}

static inline void turn_keep(struct mu_vthread *t)
{
	__atomic_store_n(&me.vt->inside, 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(__atomic_load_n(&me.vt->turn, __ATOMIC_ACQUIRE) != MU_VT_TASK, 0))
		turn_back(t);
}

static void state_set(struct mu_vthread *t, enum mu_vthread_state state)
{
	__atomic_store_n(&t->state, state, __ATOMIC_RELEASE);
}

/* Of those in that state; one that came late, while the simulator had the turn, has no clock yet and waits. */
static struct mu_vthread *least(enum mu_vthread_state state, const struct mu_vthread *but)
{
	struct mu_vthread *found = NULL;

	for (struct mu_vthread *t = me.list; t; t = t->next)
		if (t != but && t->state == state && !t->late && (!found || t->now < found->now))
			found = t;
	return found;
}

/* Whoever waits for something looks again, at `now` or later. Returns whether somebody does. */
static int look_again(uint64_t now)
{
	int some = 0;

	for (struct mu_vthread *t = me.list; t; t = t->next)
		if (t->state == MU_VTHREAD_IDLE) {
			t->now = now > t->now ? now : t->now;
			state_set(t, MU_VTHREAD_READY);
			some = 1;
		}
	return some;
}

static void run(struct mu_vthread *t)
{
	const struct mu_vthread *next = least(MU_VTHREAD_READY, t);

	me.until = t->now + STEP_PS;
	if (next && next->now < me.until)
		me.until = next->now > t->now ? next->now : t->now + 1;
	t->look = (struct mu_vthread_look){ 0 };
	state_set(t, MU_VTHREAD_RUNS);
	__atomic_store_n(&me.runs, t, __ATOMIC_RELEASE);
	__atomic_store_n(&me.phase, RUNNING, __ATOMIC_RELAXED);
	if (t == self)
		return;
	__atomic_store_n(&t->go, 1, __ATOMIC_RELEASE);
	futex(&t->go, FUTEX_WAKE_PRIVATE, 1);
}

static int look(void)
{
	int unsure = 0, settled;

	acquire();
	settled = mu_vthread_look(&me.list, me.spin_ns, &unsure);
	acquire();

	if (settled && unsure)
		me.vt->arg[MU_VT_ARG_UNSURE] = 1;
	return settled;
}

/* Nobody of the process runs, and the turn is ours: who is next? now: the clock of who ran. Returns whether we are. */
static int choose(uint64_t now)
{
	struct timespec nap = { 0, 20000 };
	struct mu_vthread *ready, *idler;

	mu_lock(&me.lock);
	while (!look()) {
		mu_unlock(&me.lock);
		nanosleep(&nap, NULL);
		nap.tv_nsec = nap.tv_nsec < 500000 ? nap.tv_nsec * 2 : nap.tv_nsec;
		mu_lock(&me.lock);
	}
	for (struct mu_vthread *t = me.list; t; t = t->next)
		if (t->late && t->state == MU_VTHREAD_READY) {
			t->now = now > t->now ? now : t->now;
			t->late = 0;
		}
	ready = least(MU_VTHREAD_READY, NULL);
	idler = least(MU_VTHREAD_IDLE, NULL);
	if (!ready || ready->now >= me.horizon) {
		/* Others may come meanwhile; they wait until somebody chooses again. */
		mu_unlock(&me.lock);
		if (ready && (!idler || ready->now <= idler->now))
			ready->now = hand_over(MU_VT_RUN, ready->now);
		else
			look_again(hand_over_idle(idler->now, me.flags | (ready ? MU_VT_WORKED : 0),
			                          ready ? ready->now : UINT64_MAX));
		mu_lock(&me.lock);
		ready = least(MU_VTHREAD_READY, NULL);
	}
	run(ready);
	mu_unlock(&me.lock);
	return ready == self;
}

/* Who has the turn sleeps in the program, computes without end, or is gone: its turn is over. Returns whether we are next. */
static int look_after(void)
{
	struct mu_vthread *t;

	if (!mu_try(&me.lock))
		return 0;
	t = me.runs;
	if (!in_virtual_time() || !t || t == self || __atomic_load_n(&me.phase, __ATOMIC_RELAXED) != RUNNING || !look()) {
		mu_unlock(&me.lock);
		return 0;
	}
	__atomic_store_n(&me.runs, NULL, __ATOMIC_RELAXED);
	__atomic_store_n(&me.phase, CHOOSING, __ATOMIC_RELAXED);
	if (t->news)
		look_again(t->now);
	t->news = 0;
	state_set(t, MU_VTHREAD_AWAY);
	mu_unlock(&me.lock);
	turn_keep(t); /* the simulator may first let the one that stands in do what needs the lock */
	return choose(t->now);
}

static void wait_turn(void)
{
	struct timespec nap = { 0, WATCH_NS };

	while (!__atomic_load_n(&self->go, __ATOMIC_ACQUIRE)) {
		if (!syscall(SYS_futex, &self->go, FUTEX_WAIT_PRIVATE, 0, &nap, NULL, 0) || errno != ETIMEDOUT)
			continue;
		if (look_after())
			return;
		nap.tv_nsec = nap.tv_nsec < WATCHES_NS ? nap.tv_nsec * 2 : nap.tv_nsec;
	}
	__atomic_store_n(&self->go, 0, __ATOMIC_RELAXED);
}

/* A thread that is not the one that runs comes into the library: a new one, or one that was away. */
static struct mu_vthread *enter_slow(void)
{
	struct timespec nap = { 0, 10000000 };
	int cancel;

	/* A thread that is cancelled while it chooses would leave nobody to go on. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	mu_lock(&me.lock);
	while (!self && !(self = mu_vthread_get(&me.list, (pid_t)syscall(SYS_gettid)))) {
		mu_unlock(&me.lock);
		drv_error("virtual clock: no memory for a thread's clock: it waits until there is some");
		nanosleep(&nap, NULL);
		mu_lock(&me.lock);
	}
	if (!in_virtual_time()) {
		mu_unlock(&me.lock);
	} else {
		self->called = 1;
		self->late = 1;
		state_set(self, MU_VTHREAD_READY);
		mu_unlock(&me.lock);
		wait_turn();
	}
	pthread_setcancelstate(cancel, &cancel);
	return in_virtual_time() ? self : NULL;
}

/* Of the thread that stands in: it runs while the turn is the simulator's, or taken. */
static struct mu_vthread *enter_standing_in(struct mu_vthread *t)
{
	struct mu_vt_area *vt = me.in.vt;
	uint32_t serve;

	for (;;) {
		__atomic_store_n(&vt->serve_inside, 1, __ATOMIC_RELAXED);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		serve = __atomic_load_n(&vt->serve, __ATOMIC_ACQUIRE);
		if (serve == MU_VT_SERVE_GO)
			return t;
		__atomic_store_n(&vt->serve_inside, 0, __ATOMIC_RELEASE);
		if (!in_virtual_time() || __atomic_load_n(&me.in.stop, __ATOMIC_ACQUIRE))
			return NULL;
		__atomic_store_n(&vt->serve_wants, 1, __ATOMIC_RELEASE);
		futex(&vt->serve, FUTEX_WAIT, serve);
		__atomic_load_n(&vt->inside, __ATOMIC_ACQUIRE);
		t->now = vt->serve_ps > t->now ? vt->serve_ps : t->now;
	}
}

/* Returns the thread's clock when it is its turn; NULL: no virtual time (any more). */
static inline struct mu_vthread *enter(void)
{
	struct mu_vthread *t = self;

	if (!in_virtual_time())
		return NULL;
	if (__builtin_expect(!t || t != __atomic_load_n(&me.runs, __ATOMIC_RELAXED), 0)) {
		if (t && t->stands_in)
			return enter_standing_in(t);
		t = enter_slow();
		if (!t)
			return NULL;
	}
	turn_keep(t);
	return t;
}

/* The thread that runs lets others on: those behind it, and the simulator. */
static void schedule(struct mu_vthread *t, enum mu_vthread_state state)
{
	int cancel;

	mu_lock(&me.lock);
	if (me.runs != t) { /* we slept too long, holding the turn */
		mu_unlock(&me.lock);
		enter_slow();
		return;
	}
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	__atomic_store_n(&me.runs, NULL, __ATOMIC_RELAXED);
	__atomic_store_n(&me.phase, CHOOSING, __ATOMIC_RELAXED);
	if (state == MU_VTHREAD_IDLE && t->news) {
		look_again(t->now);
		t->news = 0;
	}
	state_set(t, state);
	mu_unlock(&me.lock);
	if (!choose(t->now))
		wait_turn();
	pthread_setcancelstate(cancel, &cancel);
}

/* What was started is to be seen now, though it is nobody else's turn. */
static void serve_store(void)
{
	struct mu_vt_area *vt = me.vt;

	__atomic_store_n(&vt->serve, MU_VT_SERVE_STORE, __ATOMIC_RELEASE);
	futex(&vt->serve, FUTEX_WAKE, 1);
	while (__atomic_load_n(&vt->serve, __ATOMIC_ACQUIRE) == MU_VT_SERVE_STORE)
		futex(&vt->serve, FUTEX_WAIT, MU_VT_SERVE_STORE);
}

static void hand_over_run(struct mu_vthread *t)
{
	if (t->stands_in)
		serve_store();
	else
		t->now = hand_over(MU_VT_RUN, t->now);
}

/* ---- the thread that stands in for the commthreads ---- */

/* One turn of it. Passes are bounded: work that only asks to be called again has time pass in between. */
static void serve_turn(struct mu_vt_area *vt)
{
	struct mu_vthread *t = &me.in.thread;
	int n = 1, found = 0;

	/* What the program's threads did in calls is before this. */
	__atomic_load_n(&vt->inside, __ATOMIC_ACQUIRE);
	t->now = vt->serve_ps + mu_cost_ps[MU_COST_poll];
	me.in.done_ps = vt->serve_ps;
	for (int i = 0; i < SERVE_PASSES && n; i++) {
		n = me.in.serve(me.in.p);
		found |= n;
	}
	if (!enter_standing_in(t))
		return;
	vt->serve_ps = found ? me.in.done_ps : vt->serve_ps;
	vt->serve_found = found != 0;
	vt->serve_more = n != 0;
	tell_over();
	__atomic_store_n(&me.in.handed, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&vt->serve, MU_VT_SERVE_DONE, __ATOMIC_RELEASE);
	futex(&vt->serve, FUTEX_WAKE, 1);
	__atomic_store_n(&vt->serve_inside, 0, __ATOMIC_RELEASE);
}

static void *stand_in(void *arg)
{
	struct mu_vt_area *vt = arg;
	pid_t tid = (pid_t)syscall(SYS_gettid);

	self = &me.in.thread;
	mu_vthread_ours(tid);
	vt->serve_tid = (uint32_t)tid;
	__atomic_store_n(&me.in.thread.tid, tid, __ATOMIC_RELEASE);
	futex((uint32_t *)&me.in.thread.tid, FUTEX_WAKE_PRIVATE, 1);
	for (;;) {
		uint32_t serve = __atomic_load_n(&vt->serve, __ATOMIC_ACQUIRE);

		if (__atomic_load_n(&me.in.stop, __ATOMIC_ACQUIRE))
			return NULL;
		if (serve == MU_VT_SERVE_GO)
			serve_turn(vt);
		else
			futex(&vt->serve, FUTEX_WAIT, serve);
	}
}

static void stand_in_begin(struct mu_vt_area *vt)
{
	int alone = __libc_single_threaded && !me.list->next, rc;
	struct stat st = { 0 };

	me.in.list_fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	me.in.stop = 0;
	__atomic_store_n(&vt->serve, MU_VT_SERVE_DONE, __ATOMIC_RELAXED);
	me.in.thread = (struct mu_vthread){ .stands_in = 1, .called = 1 };
	me.in.vt = vt;
	mu_lock(&me.lock); /* nobody looks at the threads before it is known */
	rc = me.in.list_fd < 0 ? -errno : mu_comm_start(stand_in, vt, &me.in.pthread);
	while (!rc && !__atomic_load_n(&me.in.thread.tid, __ATOMIC_ACQUIRE))
		futex((uint32_t *)&me.in.thread.tid, FUTEX_WAIT_PRIVATE, 0);
	mu_unlock(&me.lock);
	if (rc) {
		drv_warn("virtual clock: no thread for asynchronous progress (%s): who spins without a call is not served",
		         strerror(-rc));
		if (me.in.list_fd >= 0)
			close(me.in.list_fd);
		return;
	}
	/* Sanitizers have threads of their own. */
	me.in.before = alone && !fstat(me.in.list_fd, &st) ? (unsigned)st.st_nlink - 2 : 2;
	me.in.runs = 1;
}

static void stand_in_end(struct mu_vt_area *vt)
{
	if (!me.in.runs)
		return;
	__atomic_store_n(&me.in.stop, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&vt->serve, MU_VT_SERVE_END, __ATOMIC_RELEASE); /* which it never sleeps on */
	futex(&vt->serve, FUTEX_WAKE, 1);
	pthread_join(me.in.pthread, NULL);
	close(me.in.list_fd);
	me.in.runs = 0;
}

void mu_vt_serves(uint64_t channels, int (*serve)(struct mu_process *p), struct mu_process *p)
{
	struct mu_vthread *t = enter();

	if (!t)
		return;
	me.in.serve = serve;
	me.in.p = p;
	if (channels && !me.in.runs)
		stand_in_begin(me.vt);
	me.vt->serves = me.in.runs ? channels : 0;
	leave(t);
}

/* ---- attach, detach ---- */

/* The turn is the parent's: a child must not touch it. */
static void child_after_fork(void)
{
	me.vt = NULL;
	me.in.runs = 0;
	mu_virtual = 0;
}

int mu_vt_attach(struct mu_host *host, uint32_t local)
{
	static int fork_handler;
	const char *costs = getenv(MU_ENV_COSTS);
	int rc = costs && *costs ? mu_cost_load(costs) : 0;

	if (rc)
		return rc;
	if (!fork_handler && !pthread_atfork(NULL, NULL, child_after_fork))
		fork_handler = 1;
	self = mu_vthread_get(&me.list, (pid_t)syscall(SYS_gettid));
	if (!self) {
		drv_error("no memory for this thread's virtual clock");
		return -ENOMEM;
	}
	self->called = 1;
	self->state = MU_VTHREAD_RUNS;
	self->now = 0;
	me.runs = self;
	drv_wake_process_init(); /* the simulator's barriers reach this process */
	me.host = host;
	me.local = local;
	me.vt = &mu_host_area(host, local)->vt;
	me.horizon = 0;
	me.until = UINT64_MAX;
	me.flags = MU_VT_WORKED;
	me.vt->inside = 1;
	self->now = hand_over(MU_VT_ATTACH, 0);
	leave(self);
	me.spin_ns = me.vt->arg[MU_VT_ARG_SPIN_NS] / 2; /* before the simulator takes the whole process to spin */
	return 0;
}

void mu_vt_detach(void)
{
	struct mu_vthread *t = enter();
	struct mu_vt_area *vt = me.vt;

	if (!t)
		return;
	me.left_ps = t->now;
	give_turn(vt, MU_VT_DETACH, t->now);
	mu_lock(&me.lock);
	__atomic_store_n(&me.vt, NULL, __ATOMIC_RELAXED);
	mu_virtual = 0;
	for (t = me.list; t; t = t->next)
		if (t->state == MU_VTHREAD_READY || t->state == MU_VTHREAD_IDLE) {
			__atomic_store_n(&t->go, 1, __ATOMIC_RELEASE);
			futex(&t->go, FUTEX_WAKE_PRIVATE, 1);
		}
	mu_unlock(&me.lock);
	stand_in_end(vt);
}

/* ---- the calls of the library ---- */

static inline void work_seen(struct mu_vthread *t)
{
	me.flags |= MU_VT_WORKED;
	t->worked = t->news = 1;
}

void mu_charge_now(enum mu_cost cost, uint64_t times)
{
	struct mu_vthread *t = enter();

	if (!t)
		return;
	t->now += mu_cost_ps[cost] * times;
	if (cost == MU_COST_clock_read)
		me.flags |= MU_VT_CLOCK;
	else if (cost != MU_COST_poll)
		work_seen(t);
	leave(t);
}

/* What we start may come back to us, no sooner than at `time`. */
static void horizon_at_most(uint64_t time)
{
	if (time < me.horizon)
		me.horizon = time;
}

void mu_vt_inject(unsigned channel, unsigned slot, int awaited)
{
	struct mu_vthread *t = enter();
	struct mu_channel_area *a;

	if (!t)
		return;
	a = mu_host_channel(me.host, me.local, channel);
	a->when_ps[slot % MU_INJ_SLOTS] = t->now;
	a->inj_slot[slot % MU_INJ_SLOTS].Half_Word0.Unused1 = awaited != 0;
	me.vt->dirty |= 1ull << channel;
	work_seen(t);
	horizon_at_most(t->now + me.vt->arg[MU_VT_ARG_SELF_PS]);
	leave(t);
}

void mu_vt_node(unsigned what)
{
	struct mu_vthread *t = enter();

	if (!t)
		return;
	me.vt->node_dirty |= 1ull << what;
	work_seen(t);
	if (what >= MU_NODE_ROUTES) {
		hand_over_run(t);
		leave(t);
		return;
	}
	horizon_at_most(t->now + me.vt->arg[what < MU_NODE_SIGNALS ? MU_VT_ARG_SELF_PS : MU_VT_ARG_SIGNAL_PS]);
	mu_vt_check();
}

void mu_vt_store(uint64_t *word, uint64_t value, int add, uint64_t wake_at, uint32_t task)
{
	struct mu_vthread *t = enter();
	struct mu_vt_area *vt = me.vt;

	if (!t)
		return;
	if (vt->stores == MU_VT_STORES)
		hand_over_run(t);
	vt->store[vt->stores++] = (struct mu_vt_store){ .at = (uint64_t)((char *)word - (char *)me.host), .value = value,
		                                        .wake_at = wake_at, .when_ps = t->now, .task = task,
		                                        .add = add != 0 };
	work_seen(t);
	horizon_at_most(t->now + vt->arg[MU_VT_ARG_STORE_PS]);
	mu_vt_check();
}

void mu_vt_check(void)
{
	struct mu_vthread *t = enter();

	if (!t)
		return;
	if (t->side || t->stands_in)
		;
	else if (t->now >= me.until || (t->now >= me.horizon && several(t)))
		schedule(t, MU_VTHREAD_READY);
	else if (t->now >= me.horizon)
		hand_over_run(t);
	leave(t);
}

void mu_vt_idle(void)
{
	struct timespec nap = { 0, 1000000 };
	struct mu_vthread *t = enter();
	int worked;

	if (!t)
		return;
	if (t->side || t->stands_in) {
		leave(t);
		/* Is it for a thread of the program? The simulator sees who sleeps, and lets that go on. */
		if (t->stands_in)
			nanosleep(&nap, NULL);
		return;
	}
	/* The first empty poll costs no hand-over if nothing can have happened during it. */
	worked = t->worked;
	t->worked = 0;
	if (!worked || t->now >= me.horizon) {
		if (several(t))
			schedule(t, MU_VTHREAD_IDLE);
		else
			t->now = hand_over_idle(t->now, me.flags, UINT64_MAX);
	}
	leave(t);
}

void mu_vt_tell(void)
{
	struct mu_vthread *t = enter();

	if (!t)
		return;
	if (several(t)) {
		mu_lock(&me.lock);
		if (look_again(t->now))
			me.until = t->now; /* they have their turn with our next call */
		mu_unlock(&me.lock);
	}
	leave(t);
}

void mu_vt_side_begin(unsigned k)
{
	struct mu_vthread *t = enter();

	if (!t)
		return;
	t->side = 1;
	t->main_ps = t->now;
	if (me.side_ps[k] > t->now)
		t->now = me.side_ps[k];
	leave(t);
}

void mu_vt_side_end(unsigned k)
{
	struct mu_vthread *t = enter();

	if (!t)
		return;
	me.side_ps[k] = t->now;
	if (t->stands_in && t->now > me.in.done_ps)
		me.in.done_ps = t->now;
	t->now = t->main_ps;
	t->side = 0;
	leave(t);
}

uint64_t mu_vt_now_ps(void)
{
	const struct mu_vthread *t = enter();
	uint64_t now = t ? t->now : me.left_ps;

	if (t)
		leave(t);
	return now;
}
