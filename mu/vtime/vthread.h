/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual time: the threads of a process. Each thread has a clock of its own, as it has a hardware
 * thread of its own on the machine. One of them holds the turn of the process, in the library and
 * in the program between its calls: the thread with the least clock. vtime/turn.def has the states.
 *
 * A thread becomes the turn holder only when all others are settled: waiting in a call, or asleep
 * in the kernel until a thread of the process does something. So the order of calls depends on the
 * clocks alone, and a run can be repeated. /proc/self/task says what a thread does
 * (vtime/vthread_liveness.c).
 */
#ifndef MU_VTHREAD_H
#define MU_VTHREAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "mu/vtime/turn.h"

/* The commthread for which a thread works: it polls, it slept until now, or it has found work. */
enum mu_vthread_side { MU_SIDE_NONE, MU_SIDE_POLLS, MU_SIDE_SLEPT, MU_SIDE_WORKS };

struct mu_vthread {
	struct mu_vthread *next; /* in the order of thread numbers, that of creation */
	pid_t tid;
	uint32_t state; /* enum mu_vthread_state */
	uint32_t go;    /* futex: 1: this thread was chosen */
	uint8_t called; /* it has been in the library */
	uint8_t late;   /* it came from AWAY: the next choice sets its clock */
	uint8_t worked; /* did something since its last empty poll */
	uint8_t news;   /* did something that IDLE threads have not polled for */
	uint8_t keeps;  /* depth of mu_vt_keep_turn() */
	uint8_t owes;   /* hand-overs that this has put off: enum vt_owed */
	uint8_t side;   /* runs on the clock of a commthread: enum mu_vthread_side */
	/* The stand-in thread of the library: in no list, never the turn holder. */
	uint8_t stands_in;
	/* Written by the thread that reads /proc, hence words of their own. */
	uint32_t seen;     /* it is alive */
	uint32_t listed;   /* the directory had it, perhaps as a zombie */
	uint32_t spins;    /* presumed to wait for a variable to change */
	uint32_t may_spin; /* its own: see mu_vt_may_spin() */
	int syscall_fd;    /* /proc/self/task/TID/syscall, plus one; 0: not open */
	uint64_t now, main_ps;
	uint64_t slept_ps;  /* MU_SIDE_SLEPT: for how long */
	uint64_t kept_from; /* mu_vt_keep_turn(): the clock when it began */
	const char *call;   /* IDLE: the call of the program that polls; see mu_call_waits() */
	uint32_t blocked;   /* IDLE: that call returns only after an event */
	/*
	 * Its timers, see watch.c: one that counts its processor time, and one that is armed for
	 * `ns` in each of the next `turns` turns.
	 */
	struct {
		timer_t slow, quick;
		uint64_t ns;
		uint8_t is_started, has_slow, has_quick, turns;
		uint8_t is_busy; /* its signal handler polls */
	} watch;
	struct mu_vthread_look {
		uint64_t cpu_ns, since_ns; /* its CPU time; the clock when that last changed */
		uint64_t burned_from;      /* CPU time when it was first seen computing */
		uint64_t restless_from;    /* when it was first seen to nap meanwhile */
		uint64_t asked_ns;         /* vt_watch_ask(): time of either at the next signal */
		/* When it was first seen asleep after its last call, its CPU time and its clock. */
		uint64_t naps_from, naps_cpu_ns, naps_ps;
	} look;
};

int mu_vthread_are_settled(struct mu_vthread **list, uint64_t spin_ns, int *unsure);
/*
 * Exclude a thread, which is the library's own or serves another library, from virtual time, or
 * include it again when it ends. Any thread; also before the process joins. If MU_VTHREADS_EXCLUDED
 * threads are excluded already, the call has no effect.
 */
#define MU_VTHREADS_EXCLUDED 32u
void mu_vthread_exclude(pid_t tid, bool on);
unsigned mu_vthread_excluded(void);
/* Return the record of a thread; make it if there is none. Returns NULL if there is no memory. */
struct mu_vthread *mu_vthread_get(struct mu_vthread **list, pid_t tid);

#endif
