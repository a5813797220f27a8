/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that was found to be there, remembered from one poll to the next (real clock). Memory that
 * another task names is asked for before it is copied (memory.c), by a system call that takes a
 * third of a short put. The answer stays true while the only thread of the program does nothing but
 * poll: in the time between two such polls no program can unmap a page, because that takes
 * microseconds, and this is 20 ns. So each thread keeps an unbroken run of polls. A run ends when
 * the thread was out of the library for longer than a quarter of the fastest unmapping, and before
 * a function of the program is called. A run that has lasted for 100 us, in a process without
 * threads of the program, remembers what is found.
 *
 * A signal handler of the program may run within a poll. So a poll that takes as long as one that
 * unmaps forgets what is remembered, and one in which a thread could have been started forgets that
 * there is none. free() and sleeps within a poll have the same effect. Only the copies of that very
 * poll race with the handler, as any memcpy() does. A poll of a port that makes system calls takes
 * as long, so nothing is remembered there.
 *
 * Other processes are not seen: one that cuts a file of which memory here is a mapping, or one that
 * shares all memory with this one (CLONE_VM without CLONE_THREAD) and unmaps some.
 */
#ifndef MU_ENGINE_KNOWN_MEMORY_H
#define MU_ENGINE_KNOWN_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct mu_process;

#define MU_KNOWN_RANGES  8
#define MU_KNOWN_RUN_NS  100000   /* so long a run must last before it remembers */
#define MU_KNOWN_IDLE_NS 10000000 /* after so long without a question runs are not watched */
#define MU_KNOWN_START   8        /* to start a thread takes as long as so many such handlers */

/* A thread's run of polls. All times are of drv_clock_fast_ns(). */
struct mu_known {
	bool is_watched; /* polls keep the times below */
	bool is_inside;  /* in a poll of the run, and no function of the program is called */
	bool is_alone;   /* in this run the program was found to have no other thread */
	bool is_sole;    /* this thread joined the job when the process had no other */
	uint8_t next;    /* range to replace */
	uint8_t count;
	uint64_t most_ns;        /* out of the library within a run */
	uint64_t least_ns;       /* no signal handler that unmaps takes less */
	uint64_t left;           /* when the last poll ended */
	uint64_t entered, since; /* when this poll began, and the run */
	uint64_t asked;          /* when memory was last asked for, or an answer used */
	struct {
		uint64_t from, to; /* [from, to) is there */
		bool is_writable;
	} range[MU_KNOWN_RANGES];
};
/* Named in each access below: gcc's check for null pointers takes a pointer to it for one. */
extern _Thread_local struct mu_known mu_known __attribute__((tls_model("initial-exec")));

/*
 * The calling thread joins the job. Call mu_known_prepare() before threads of the library start,
 * and mu_known_start() after.
 */
void mu_known_prepare(void);
void mu_known_start(struct mu_process *p);
/* It leaves the job. */
void mu_known_stop(void);
/* From now on threads of the library call functions of the program. */
void mu_known_share(void);

/* Does the thread's run of polls know that all these bytes can be read (is_write: written)? */
static inline bool mu_knows_memory(uint64_t va, uint64_t bytes, bool is_write)
{
	if (__builtin_expect(!mu_known.is_inside, 1))
		return false;
	for (unsigned i = 0; i < mu_known.count; i++)
		if (va >= mu_known.range[i].from && va < mu_known.range[i].to &&
		    bytes <= mu_known.range[i].to - va &&
		    (!is_write || mu_known.range[i].is_writable)) {
			mu_known.asked = mu_known.entered;
			return true;
		}
	return false;
}

/* [from, to) was asked for and is there. */
void mu_learn_memory(uint64_t from, uint64_t to, bool is_writable);

/* A poll of a thread that is watched begins. */
static inline void mu_known_enter(uint64_t now)
{
	if (now - mu_known.left > mu_known.most_ns) {
		mu_known.count = 0;
		mu_known.is_alone = false;
		mu_known.since = now;
	}
	mu_known.entered = now;
	mu_known.is_inside = true;
	if (__builtin_expect(now - mu_known.asked > MU_KNOWN_IDLE_NS, 0))
		mu_known.is_watched = mu_known.is_inside = false;
}

/*
 * It ends. If a function of the program was called, the run ends too. If a signal handler may have
 * unmapped memory, the run forgets.
 */
static inline void mu_known_leave(uint64_t now)
{
	uint64_t took = now - mu_known.entered;

	if (mu_known.is_inside) {
		mu_known.left = now;
		if (took >= mu_known.least_ns)
			mu_known.count = 0;
		if (took >= MU_KNOWN_START * mu_known.least_ns)
			mu_known.is_alone = false;
	}
	mu_known.is_inside = false;
}

/* The thread is about to call a function of the program, which may do anything. */
static inline void mu_known_end_run(void)
{
	if (__builtin_expect(mu_known.is_inside, 0)) {
		mu_known.is_inside = false;
		mu_known.left = 0;
	}
}

#endif
