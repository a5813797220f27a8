/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks that make no call for long: they compute, or they wait for their memory to change.
 *
 * The simulator preempts such a task ("it spins"), and the other tasks continue. When an event
 * changes the memory of a spinning task, nothing else happens until the task has had SPIN_NOTICE_NS
 * of CPU time to notice that and make a call. The stand-in thread of its process (vtime/standin.c)
 * serves messages for its commthreads; it gets turns of its own. All share a processor, so the
 * simulator stops (SIGSTOP) the processes of spinning tasks that have no such time. While other
 * tasks go on, each of them in turn gets 2 ms now and then, since it may compute.
 *
 *   preempted --> the others continue --> an event changes its memory, or brings it messages
 *                      ^                 |  the stand-in thread serves them
 *                      |                 v
 *                      +--- no call --- the task has 2 ms of CPU time --- call --> READY
 *
 * So a run can be repeated as long as each preempted task did wait and notices soon.
 *
 * It is certain where the simulator has proved that the task waits (sim/proof.h). It looks after
 * 2 ms, not after QUINTORUS_SPIN_MS. The words that the loop reads tell when the wait ends: then
 * the task runs until it makes a call or waits again, however long it computes, and else not at
 * all.
 *
 * All state of this is in struct sim_spin and struct sim_spins; other files use only the functions
 * here.
 *
 * Functions that return int return 0, the result of check() of mu_sim_conf, or -EDEADLK.
 */
#ifndef MU_SIM_SPIN_H
#define MU_SIM_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#include "mu/sim/proof.h"

struct mu_sim;
struct emu_event;

/* The effects of an event on a spinning task, one bit each. */
enum {
	SIM_TOUCH_COMES = 1,  /* a message came that its commthreads can serve */
	SIM_TOUCH_CHANGES = 2 /* memory changed that its own threads may read */
};

/* What the simulator knows about the spins of one task. */
struct sim_spin {
	uint8_t touched;         /* SIM_TOUCH_..., not yet handled */
	uint8_t unnoticed;       /* packets of a long put since it last had CPU time to notice */
	uint8_t standin_blocked; /* the stand-in thread sleeps on something of the program */
	uint8_t serve_due;       /* a SIM_SERVE event is scheduled */
	uint8_t was_right;       /* it was preempted once, and did wait for its memory */
	uint8_t was_wrong;       /* it was preempted once, and computed */
	uint8_t warned;          /* the warning that all others wait for it was logged */
	uint8_t sampled;         /* the kernel counts the pages it uses */
	uint8_t stopped;         /* its process was stopped, so that others get the processor */
	uint32_t empty_serves;   /* times in a row that it was served although nothing had come */
	uint32_t unanswered;     /* messages for channels that no commthread serves */
	uint64_t touched_at;     /* virtual time of the last touch, ps */
	uint64_t cpu_from_ns;    /* CPU time of its process when it was preempted */
	struct sim_proof proof;  /* that it waits in a loop; no words: that is presumed */
	uint8_t misses;          /* looks in a row that proved nothing */
	uint8_t looks_soon;      /* the last look proved it */
};

/* What the simulator knows about all spins. */
struct sim_spins {
	uint32_t tasks;        /* tasks that spin */
	uint32_t touched;      /* spinning tasks that an event has touched */
	uint64_t ns, limit_ns; /* QUINTORUS_SPIN_MS, QUINTORUS_SPIN_LIMIT_S */
	uint64_t shared_ns;    /* real time at which a task got a share of the processor */
	uint64_t alone_ns;   /* real time since when nothing but tasks that spin is left; 0: else */
	uint32_t next_share; /* the task that got it */
	uint8_t looks;       /* the simulator looks at loops; 0: QUINTORUS_LOOP_US=0 */
};

/* Let all processes run that were stopped: a task waits in real time for another, or the run ends.
 */
void sim_spin_run_all(struct mu_sim *s);
/* Note that a spinning task has left the job. */
void sim_spin_leave(struct mu_sim *s, uint32_t local);

/*
 * Called before the next event is taken from the queue. *wait: the function has waited in real time
 * for a task that spins, since the others only wait for that task; call it again before taking an
 * event.
 */
int sim_spin_poll(struct mu_sim *s, bool *wait);
/* Called after an event: let the tasks that it touched be served, and give them time to notice. */
int sim_spin_handle_touched(struct mu_sim *s);

void sim_spin_touch_slow(struct mu_sim *s, uint32_t local, uint64_t when, unsigned what);
/* Note that a message for `channel` of the task has reached its reception FIFO. */
void sim_spin_message(struct mu_sim *s, uint32_t local, uint32_t channel);
/* Note that a packet has changed a task. what: SIM_TOUCH_...; 0: more packets of the put follow. */
void sim_spin_packet(struct mu_sim *s, uint32_t local, unsigned what);
/* Log how many messages came for a task in a loop that does not take them, and what helps. */
void sim_spin_log_unanswered(struct mu_sim *s, uint32_t local);
void sim_serve_event(struct mu_sim *s, const struct emu_event *e);
/*
 * Called when a task hands over while its stand-in thread is blocked: let the thread continue, if
 * it can.
 */
int sim_spin_serve_blocked(struct mu_sim *s, uint32_t local);

#endif
