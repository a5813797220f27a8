/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Idle policy: what a thread does after a poll that found nothing. Pure functions on a state and on
 * what the caller saw, clock included; idle.c reads clocks, yields and sleeps.
 *
 * Two kinds of empty polls:
 *
 *  poll  The program called for progress and may have other work (PAMI_Context_advance()). The
 *        thread spins where each task has a core, and yields where another thread wants the core.
 *        It sleeps only after a long stretch of nothing but polls; that stretch ends with the first
 *        event, with the first call that starts an operation (mu_idle_reset()), and a program that
 *        spends its time outside the library never enters it.
 *  wait  The call cannot return before something happens (an ARMCI barrier, a fence). The thread
 *        spins, yields, then sleeps, and uses less than 1% of a core while it waits.
 *
 * A yield is timed. One that ran another thread for a moment met a thread that polls as well. One
 * that cost a time slice met a CPU-bound thread: for a while a wait then sleeps instead of
 * yielding, and a poll of a program without other work naps, because the kernel runs a woken thread
 * at once.
 */
#ifndef MU_PROGRESS_IDLE_POLICY_H
#define MU_PROGRESS_IDLE_POLICY_H

#include <stdint.h>

/*
 * The policy looks at every fourth empty poll where another thread may want the core, and at every
 * 32nd where the thread has a core of its own: reading the clock costs latency.
 */
#define MU_IDLE_LOOK       4
#define MU_IDLE_LOOK_ALONE 32
/*
 * Crowded, and waiting for a word whose writer rings a bell: from this look on the thread naps. A
 * sleeping task is not in the way of the one that it waits for; earlier it costs more than it
 * gives.
 */
#define MU_IDLE_BELL_LOOKS 3

/* Constants: X(name, nanoseconds, why). */
#define MU_IDLE_CONSTANTS(X)                                                                       \
	X(SPIN, 10000, "core for each task: spin before the first yield and between yields")       \
	X(SPIN_PORT, 100000,                                                                       \
	  "the same where this task holds the port: an answer takes 5 to 50 us")                   \
	X(PARTNER, 2000, "a yield at least as long let another thread run")                        \
	X(SLICE, 1000000, "a yield at least as long met a CPU-bound thread")                       \
	X(SLICE_WAIT, 64000000,                                                                    \
	  "after such a yield a wait sleeps instead of yielding for this long")                    \
	X(WAIT, 250000, "a wait spins and yields for this long before it sleeps")                  \
	X(POLLS, 20000000, "nothing but polls for this long, yields excluded: short sleeps begin") \
	X(NAP, 500000, "longest such sleep; a poll spins or yields for as long between two")       \
	X(POLLS_LONG, 1000000000, "nothing but polls for this long: a poll sleeps as a wait does") \
	X(SLEEP_MIN, 1000000, "first sleep of a wait; each further one is twice as long")          \
	X(SLEEP_MAX, 10000000, "longest sleep of a wait, for each 16 tasks of the host")

enum mu_idle_constant {
#define X(name, ns, why) MU_IDLE_##name##_NS = ns,
	MU_IDLE_CONSTANTS(X)
#undef X
};

/*
 * The same for the threads of the library: the engine thread (engine_thread.c) and the commthreads
 * (commthread.c). In a tick a thread that found a channel polled by the program leaves it alone.
 */
#define MU_SERVICE_CONSTANTS(X)                                                                    \
	X(TICK_MIN, 50000, "first tick; it doubles while the program keeps polling")               \
	X(TICK_MAX, 1000000, "longest tick")                                                       \
	X(POLL_PERIOD, 10000, "a program that polls a channel less often than this is computing")  \
	X(PASS_PERIOD, 5000, "engine thread as commthread 0: time between runs of the engines")    \
	X(LINGER, 20000, "engine thread: keep polling after the last event before it sleeps")      \
	X(PARTNER_MAX, 100000, "a yield at most as long met a thread that polls or waits as well") \
	X(SLEEP_SHORT, 20000, "a shorter sleep did not pay: make more passes before the next")     \
	X(SLEEP_MAX, 100000000, "longest sleep of a thread that arriving records wake")

enum mu_service_constant {
#define X(name, ns, why) MU_SERVICE_##name##_NS = ns,
	MU_SERVICE_CONSTANTS(X)
#undef X
};

/* A channel with fewer polls than this since the last tick does not count as polled. */
#define MU_SERVICE_POLLS_MIN 4
/* After a yield that cost the engine thread its core for long: rounds with work before the next. */
#define MU_SERVICE_STAY_ROUNDS 64

/* QUINTORUS_IDLE */
enum mu_idle_setting {
	MU_IDLE_AUTO,
	MU_IDLE_ONLY_SPIN, /* spin: no thread of the program yields or sleeps */
	MU_IDLE_NO_SLEEP,  /* yield: yields, never sleeps */
	MU_IDLE_ALL_WAIT,  /* sleep: every poll counts as a wait */
};

/* Facts of the process, constant while it is attached. */
struct mu_idle_policy {
	enum mu_idle_setting setting;
	int crowded;      /* more tasks than cores */
	uint64_t spin_ns; /* before the first yield, unless crowded */
	uint64_t max_sleep_ns;
};

/* Fills policy. port: this task executes the port of its host; tasks: of its host. */
void mu_idle_policy_set(struct mu_idle_policy *policy, enum mu_idle_setting setting, int crowded,
			int port, uint32_t tasks);

/* What a caller says about an empty poll: bits. */
enum {
	MU_IDLE_POLL = 0,
	MU_IDLE_WAIT = 1,  /* the call is known to wait */
	MU_IDLE_AGAIN = 2, /* work asked to be called again: no wake-up announces it, so no sleep */
	MU_IDLE_BELL = 4,  /* waits for a word whose writer rings a bell (mu_watch_remote()) */
};

enum mu_idle_action {
	MU_IDLE_SPIN,
	MU_IDLE_YIELD,
	MU_IDLE_NAP, /* sleep without the barrier of a full sleep: cheap, a wake-up may be lost */
	MU_IDLE_SLEEP,
};

/* State of one thread. Times are nanoseconds of any clock that never goes back. */
struct mu_idle {
	uint64_t since;       /* start of this stretch of empty polls; 0: the next look starts it */
	uint64_t looked;      /* the last look */
	uint64_t left;        /* when the thread last went back to the program; 0: not sampled */
	uint64_t gap;         /* the sampled time it then spent there */
	uint64_t entered;     /* the poll after that gap began; 0: not sampled */
	uint64_t inside;      /* the sampled time that this poll took */
	uint64_t own_ns;      /* of this stretch: time not spent in yields and sleeps */
	uint64_t outside_ns;  /* estimate: part of own_ns spent outside the library */
	uint64_t yield_at;    /* no yield before; kept from stretch to stretch, as is the next */
	uint64_t slice_until; /* a CPU-bound thread shares the core, as far as we know */
	uint64_t nap_at;      /* no nap before */
	uint64_t sleep_ns;    /* length of the next sleep or nap */
	unsigned looks;       /* of this stretch */
	unsigned skip;        /* empty polls between two looks beyond MU_IDLE_LOOK */
	int shared;           /* the last yield let another thread run */
};

/* Empty polls from one look to the next: a power of two. */
static inline unsigned mu_idle_period(const struct mu_idle *idle)
{
	return MU_IDLE_LOOK + idle->skip;
}

/* The thread enters a poll, at `now`. Call it where idle->left is set. */
static inline void mu_idle_entered(struct mu_idle *idle, uint64_t now)
{
	idle->gap = now - idle->left;
	idle->left = 0;
	idle->entered = now;
}

/* That poll found nothing. Call it where idle->entered is set. */
static inline void mu_idle_finished(struct mu_idle *idle, uint64_t now)
{
	idle->inside = now - idle->entered;
	idle->entered = 0;
}

/* Of the time `whole` since the last look: how much of it the thread spent outside the library. */
uint64_t mu_idle_outside(const struct mu_idle *idle, uint64_t whole);

/*
 * The last of mu_idle_period() empty polls, with `how` bits as above. Returns what to do; for a nap
 * or a sleep idle->sleep_ns says for how long at most.
 */
enum mu_idle_action mu_idle_decide(const struct mu_idle_policy *policy, struct mu_idle *idle,
				   unsigned how, uint64_t now);
/* The thread did so from `before` to `after`. */
void mu_idle_learn(const struct mu_idle_policy *policy, struct mu_idle *idle,
		   enum mu_idle_action action, uint64_t before, uint64_t after);

#endif
