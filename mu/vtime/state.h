/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual time, for the files of this folder only: the state of this process, and the brackets
 * around each call that uses it.
 */
#ifndef MU_VTIME_STATE_H
#define MU_VTIME_STATE_H

#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "mu/lock.h"
#include "mu/progress/commthread.h"
#include "mu/segment/host.h"
#include "mu/vtime/vtask.h"
#include "mu/vtime/vthread.h"

/*
 * RUNNING: the turn holder is in the program, or in a call that will return without waiting.
 * CHOOSING: the next turn holder is being chosen, or the simulator has the turn; no thread may take
 * over from the holder.
 */
enum phase { RUNNING, CHOOSING };

/* Virtual time of this process. Its turn holder writes it; `list`, `holder` under `lock`. */
struct vt_state {
	struct mu_vt_area *vt; /* NULL: not in virtual time */
	struct mu_host *host;
	uint32_t local;
	uint64_t horizon; /* ps: the process may run up to here without a hand-over */
	uint64_t until;   /* ps: the turn holder may, before another thread has to run */
	uint64_t flags;   /* MU_VT_WORKED, MU_VT_CLOCK since the last idle poll */
	/* Of each commthread: its clock, and when it last had work. */
	uint64_t side_ps[MU_COMMTHREADS], side_worked_ps[MU_COMMTHREADS];
	struct mu_vthread *holder, *list;
	struct mu_spinlock lock;
	uint32_t phase;   /* enum phase */
	uint64_t spin_ns; /* CPU time after which a thread is presumed to spin on a variable */
	uint64_t left_ps; /* the clock when the process detached */
	const char *call_written; /* what vt->call holds */
	int list_fd;              /* /proc/self/task */
	unsigned sanitizers;      /* threads that a sanitizer started */
	/* What the last listing of the directory found; no threads: list it again. */
	struct {
		unsigned threads, exclusion_changes;
	} listed;
	/* Threads that wait in loops for their memory (watch.c). */
	struct {
		uint64_t ns;        /* from a call to the first look; 0: no looks */
		void (*poll)(void); /* NULL: a poll does nothing but pass the turn */
		uint8_t is_due;     /* a thread of the program got the turn */
		uint8_t misses;     /* times that the simulator preempted the process */
	} watch;
	/* The thread that stands in for the commthreads while the process is preempted. */
	struct {
		struct mu_vthread thread;
		pthread_t pthread;
		bool runs;
		uint32_t stop;
		uint32_t handed;  /* release: what it did; acquire: the process goes on */
		uint64_t done_ps; /* the latest clock of a commthread that it served */
		int (*serve)(struct mu_process *p);
		struct mu_process *p;
		struct mu_vt_area *vt;
	} standin;
};
extern struct vt_state vt_state;

/* The record of the calling thread; NULL until its first call. */
#define VT_TLS __attribute__((tls_model("initial-exec")))
extern __thread struct mu_vthread *vt_self VT_TLS;

/*
 * A thread sleeps in the program only after everything that it did in the library. The thread
 * sanitizer does not know that order, so its builds state it.
 */
#ifdef __SANITIZE_THREAD__
void __tsan_acquire(void *object);
void __tsan_release(void *object);
#define tsan_acquire_calls() __tsan_acquire(&vt_state)
#define tsan_release_call()  __tsan_release(&vt_state)
#else
#define tsan_acquire_calls() ((void)0)
#define tsan_release_call()  ((void)0)
#endif

/* handover.c: the process gives the turn to the simulator. */
void vt_give_turn(struct mu_vt_area *vt, enum mu_vt_request request, uint64_t now);
/* The same, and wait for it. Returns the time at which the process resumes. */
uint64_t vt_hand_over(enum mu_vt_request request, uint64_t now);
/* After an empty poll of `idler`, whose clock is `now`; alone: the process has no other thread. */
uint64_t vt_hand_over_idle(const struct mu_vthread *idler, bool alone, uint64_t flags,
			   uint64_t limit);
/* Let the simulator act on what the calling thread has started, and continue. */
void vt_let_simulator_run(struct mu_vthread *t);
/* The simulator has preempted this process: wait until it resumes it. */
void vt_turn_wait_back(struct mu_vthread *t);

/* threads.c: a thread that is not the turn holder makes a call. Returns NULL if the clock is not
 * virtual. */
struct mu_vthread *vt_call_enter_slow(void);
/* The turn holder becomes READY or IDLE, and waits until it is chosen again. */
void vt_yield_turn(struct mu_vthread *t, enum mu_vthread_state state);
/* IDLE threads poll again, at `now` or later. Returns whether there are any. The list is locked. */
int vt_wake_idle_threads(uint64_t now);
bool vt_is_multithreaded(const struct mu_vthread *t);
/* vthread_liveness.c: write MU_VT_ARG_OTHERS. Any thread. */
void vt_publish_others(void);

/*
 * standin.c: for a call of the stand-in thread, wait until the simulator lets it run. NULL: the
 * thread should end.
 */
struct mu_vthread *vt_standin_enter(struct mu_vthread *t);
/* The stand-in thread lets the simulator act on what it has started, and continues. */
void vt_standin_flush(void);
void vt_standin_stop(struct mu_vt_area *vt);

/* watch.c: before the first look; at the end of a call by which the thread got the turn; the thread
 * or the process ends. */
void vt_watch_init(void);
void vt_watch_arm(struct mu_vthread *t);
void vt_watch_end(struct mu_vthread *t);
/*
 * Others have waited so long for this thread, which is AWAY: have it look whether it waits in a
 * loop. It may never have made a call, and then has no timers. Asks at growing intervals.
 */
void vt_watch_ask(struct mu_vthread *t, uint64_t waited_ns);
/* The CPU time after which a thread is presumed to spin, which it did before if `spins`; `ns` in
 * programs that do not use the registers. */
uint64_t vt_watch_limit(bool spins, uint64_t ns);
/*
 * The simulator has preempted the process: a loop was not found to wait, or the process computed.
 */
void vt_watch_count_miss(void);

static inline bool vt_is_joined(void)
{
	return atomic_load_relaxed(&vt_state.vt) != NULL;
}

static inline void vt_futex(uint32_t *word, int op, uint32_t value)
{
	syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

static inline void vt_thread_set_state(struct mu_vthread *t, enum mu_vthread_state state)
{
	mu_turn_store(MU_TURN_THREAD, &t->state, state, MU_TURN_BY_TASK);
}

static inline void vt_turn_confirm(struct mu_vthread *t)
{
	atomic_store_relaxed(&vt_state.vt->inside, 1);
	atomic_signal_fence_seq_cst();
	if (__builtin_expect(atomic_load_acquire(&vt_state.vt->turn) != MU_TURN_IS_TASK, 0))
		vt_turn_wait_back(t);
}

/* Returns the record of the calling thread once it holds the turn, or NULL if the clock is not
 * virtual. */
static inline struct mu_vthread *vt_call_enter(void)
{
	struct mu_vthread *t = vt_self;

	if (!vt_is_joined())
		return NULL;
	if (__builtin_expect(!t || t != atomic_load_relaxed(&vt_state.holder), 0)) {
		if (t && t->stands_in)
			return vt_standin_enter(t);
		t = vt_call_enter_slow();
		if (!t)
			return NULL;
	}
	vt_turn_confirm(t);
	return t;
}

/*
 * Each function that changes the task's side of the hand-over stands between vt_call_enter() and
 * vt_call_leave(), which set and clear `inside`. The simulator that preempts the task stores
 * MU_TURN_PREEMPTED, has all processors pass a barrier, and loads `inside`. So this thread sees
 * that it was preempted, or the simulator sees it inside and undoes the preemption.
 */
static inline void vt_call_leave(struct mu_vthread *t)
{
	int stands_in = t->stands_in;
	struct mu_vt_area *vt = stands_in ? vt_state.standin.vt : vt_state.vt;

	if (__builtin_expect(vt_state.watch.is_due, 0) && !stands_in)
		vt_watch_arm(t);
	tsan_release_call(); /* from here on the record may be freed, if this thread ends */
	if (vt)              /* NULL: another thread detached while this one waited */
		atomic_store_release(stands_in ? &vt->serve_inside : &vt->inside, 0);
}

#endif
