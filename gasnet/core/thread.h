/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads of the program: what belongs to each, the lock, and progress.
 *
 * In PAR mode "the lock" is the lock of PAMI context GEXI_MAIN; in the other modes there is none.
 * A handler runs inside a progress call, so its thread holds the lock already.
 */
#ifndef GASNET_CORE_THREAD_H
#define GASNET_CORE_THREAD_H

#include "drivers/base/atomic.h"
#include "gasnet/core/world.h"

struct gexi_event;

enum { /* categories of implicit operations: positions of the bits GEX_EC_* */
       GEXI_EC_PUT,
       GEXI_EC_GET,
       GEXI_EC_RMW,
       GEXI_EC_AM,
       GEXI_EC_LC,
       GEXI_EC_COUNT
};

enum { /* where the payload of a prepared message lies */
       GEXI_SRCDESC_CLIENT,
       GEXI_SRCDESC_MALLOC,
       GEXI_SRCDESC_INLINE,
       GEXI_SRCDESC_SLOT,
       GEXI_SRCDESC_BUFFER
};

/* A prepared message of negotiated payload (am/np.c). */
struct gexi_srcdesc {
	void *addr; /* this and bytes: as struct gexi_srcdesc_start */
	size_t bytes;
	void *dest; /* of a long message, or NULL */
	uint32_t task;
	unsigned kind; /* enum gexi_am_kind */
	unsigned nargs;
	unsigned cost; /* credits taken */
	bool is_open;
	unsigned memory; /* GEXI_SRCDESC_* */
	struct gexi_slot *slot;
	struct gexi_buffer *buffer;
	struct gexi_buffer *spare; /* for the next message (am/np.c), or NULL */
	gex_Event_t *lc_opt;
	gex_Flags_t flags;
};

struct gexi_thread {
	unsigned depth;            /* of handlers that this thread is in */
	unsigned injections;       /* since the program polled, or since the process began */
	struct gexi_event *free;   /* events to reuse */
	struct gexi_event *region; /* of an open access region, or NULL */
	uint64_t started[GEXI_EC_COUNT];
	struct gexi_srcdesc srcdesc[2]; /* of a request, of a reply */
	unsigned char *inline_payload;  /* of small prepared messages, 512 bytes */
	/* vis/: the peer completion that is armed */
	gex_AM_Index_t vis_handler;
	uint16_t vis_bytes;
	unsigned char vis_payload[GEX_VIS_MAX_PEERCOMPLETION];
	struct gexi_thread *next; /* in the list of threads that ended */
	struct gexi_thread *also; /* in the list of all threads */
	atomic_u32 polls; /* PAR mode: it is in a progress call; gasnet_exit() waits for 0 */
	_Alignas(64) atomic_u64 done[GEXI_EC_COUNT]; /* written by the thread that makes progress */
};

extern __thread struct gexi_thread *gexi_thread_current __attribute__((tls_model("initial-exec")));
struct gexi_thread *gexi_thread_enter(void);
static inline struct gexi_thread *gexi_self(void)
{
	struct gexi_thread *t = gexi_thread_current;

	return GEXI_LIKELY(t != NULL) ? t : gexi_thread_enter();
}

/*
 * In debug builds of the program: end the process if the thread may not call this now: it is in a
 * handler, has prepared a message, or holds a handler-safe lock (modes of one thread).
 */
/* End the process if there is no client; wait if another thread is ending it. */
void gexi_check_client(const char *call);
void gexi_check_may_call_slow(const char *call);
static inline void gexi_check_may_call(const char *call)
{
	if (GEXI_UNLIKELY(gexi_world.is_debug))
		gexi_check_may_call_slow(call);
}
/* In debug builds: the same if a handler has left a lock or a prepared reply. held_before: how many
 * locks the thread held before, from gexi_hsl_held(). */
int gexi_hsl_held(void);
void gexi_check_handler_end_slow(unsigned index, int held_before);

/* Returns false if a thread other than the caller is in a progress call. */
bool gexi_are_others_quiet(void);

/* Take and release the lock; no effect in handlers and in modes without it. */
void gexi_lock_slow(void);
void gexi_unlock_slow(void);
static inline void gexi_lock(void)
{
	if (GEXI_UNLIKELY(gexi_world.is_par))
		gexi_lock_slow();
}
static inline void gexi_unlock(void)
{
	if (GEXI_UNLIKELY(gexi_world.is_par))
		gexi_unlock_slow();
}

/* Make progress; the caller does not hold the lock. No effect in handlers. */
void gexi_poll(void);
/* Make progress in a call that cannot return before an event. The call may sleep. */
void gexi_poll_waiting(void);
/* Make progress once. The caller holds the lock and is not a handler. */
void gexi_poll_locked(void);

/* Make progress in one of so many requests that the program sends without a poll. The caller holds
 * the lock. */
enum { GEXI_POLL_EVERY = 8, GEXI_POLL_EVERY_ATOMIC = 4 };
static inline void gexi_poll_sometimes(unsigned every)
{
	struct gexi_thread *self = gexi_self();

	if (!(++self->injections % every) && !self->depth)
		gexi_poll_locked();
}

/* Does a call with these flags return without effect, since its put, get or atomic would have to
 * wait for others (GEX_FLAG_IMMEDIATE)? The caller does not hold the lock. */
bool gexi_has_no_room(void);
static inline bool gexi_gives_up(gex_Flags_t flags)
{
	return GEXI_UNLIKELY(flags & GEX_FLAG_IMMEDIATE) && gexi_has_no_room();
}

/* Let the library serve requests on GEXI_SERVE beside the program. May be called again. */
void gexi_serve_start(void);

#endif
