/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual time: several threads of a process. Each has a clock of its own, as it has a hardware thread of its own on the
 * machine, but only one of them, the one with the turn, is inside the library: the one whose clock is behind.
 *
 *   RUNS    it has the turn, in the library and in the program between its calls
 *   READY   in a call, waiting for the turn
 *   IDLE    in a call, after a poll that found nothing
 *   AWAY    in the program, or not begun: asleep on a lock, joining another, or on its way to a call
 *
 * Nobody is given the turn before all others are settled: waiting in a call, or asleep in the kernel until a thread of the
 * process does something. So the order of calls depends on the clocks alone, and a run can be repeated. What a
 * thread is doing, /proc says (vthread_look.c).
 */
#ifndef MU_VTHREAD_H
#define MU_VTHREAD_H

#include <stdint.h>
#include <sys/types.h>

enum mu_vthread_state { MU_VTHREAD_AWAY, MU_VTHREAD_RUNS, MU_VTHREAD_READY, MU_VTHREAD_IDLE };

struct mu_vthread {
	struct mu_vthread *next; /* in the order of thread numbers, that of creation */
	pid_t tid;
	uint32_t state; /* enum mu_vthread_state */
	uint32_t go;    /* futex: 1: the turn is its */
	uint8_t called; /* it has been in the library */
	uint8_t late;   /* it came from AWAY: its clock is at least that of who let it */
	uint8_t worked; /* did something since its last empty poll */
	uint8_t news;   /* did something that the others have not looked for */
	uint8_t side;   /* acts for a commthread */
	uint8_t stands_in; /* the library's own, for commthreads: in no list, and it takes no part in the turns */
	uint32_t seen;  /* who looks at the threads writes these two: a word each, as compilers load neighbours together */
	uint32_t spins; /* taken to wait for its memory */
	uint64_t now, main_ps;
	struct mu_vthread_look {
		uint64_t slices, cpu_ns, since_ns; /* times it ran; CPU time, and the clock, when that last changed */
		uint64_t burned_from;              /* CPU time when it was first seen computing */
	} look;
};

/*
 * One look at every thread of the process that is not waiting in a call; *list gets records for new ones and loses those
 * of ended ones. Returns whether all are settled; *unsure is set if that was a guess (a thread that computed
 * for spin_ns of CPU time, or sleeps on something that is none of the process's). Thread: one at a time.
 */
int mu_vthread_look(struct mu_vthread **list, uint64_t spin_ns, int *unsure);
/* A thread of the library's own, which is not looked at. */
void mu_vthread_ours(pid_t tid);
/* The record of a thread, made if there is none. NULL: no memory. */
struct mu_vthread *mu_vthread_get(struct mu_vthread **list, pid_t tid);

#endif
