/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control channel between `torus run` and an agent: whole messages over a byte stream (a socket
 * pair on this machine, the pipes of ssh to another).
 *
 *   u32 type, u32 bytes, then the payload, written and read with the put and get functions below
 *
 * Sending never blocks: bytes that the stream does not take wait in memory until ctl_flush().
 * Receiving checks every length; a message that is cut short reads as zeros and sets `bad`.
 */
#ifndef TOOLS_CTL_H
#define TOOLS_CTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CTL_VERSION   10u
#define CTL_BYTES_MAX (64u << 20) /* of one message */
#define CTL_PING_MS   100         /* between two heartbeats */

enum ctl_type {
	/* torus run to agent */
	CTL_START = 1,   /* plan_encode(): the job, and which host the agent is */
	CTL_ADDRESS,     /* u32 host, text address: another host's port */
	CTL_SIGNAL,      /* u32 signal for every task */
	CTL_END,         /* u32 grace in ms: the job ends; tasks get SIGTERM, then SIGKILL */
	CTL_STDIN,       /* bytes for task 0 (no bytes: end of file) */
	CTL_OUTPUT_ROOM, /* u32 bytes of output that may be sent on */
	CTL_GONE,        /* u32 task, u32 enum mu_task_end: the task has ended; --on-death error */
	CTL_LOST,     /* u32 host: it has died, with its routers; --on-death error, fabric torus */
	CTL_DEPARTED, /* u32 host: its only task, which held its port, has ended with status 0 */
	CTL_WATCH,    /* u32 ms: report when all tasks have waited for this long */
	CTL_PAUSE,    /* u32 1: expect no heartbeats for a while, 0: expect them again */
	CTL_STALL,    /* u32 ms: the same with CTL_STALLED, from the start of the job */
	CTL_CALLS,    /* in which call is each task? */
	/* agent to torus run */
	CTL_STARTED,     /* u32 pid of each local task, in task order */
	CTL_FAIL,        /* u32 exit status, text: this host cannot run its part */
	CTL_OWN_ADDRESS, /* text, text: address of this host's port, its name */
	CTL_EXIT,    /* u32 task, u32 wait status, u32 1: it had joined the job and not left it */
	CTL_WAITS,   /* u32 1: all tasks of this host wait, 0: not any more */
	CTL_STALLED, /* u32 1: all tasks of this host have waited for the time of CTL_STALL */
	CTL_CALLED,  /* u32 task, text: where it is; repeated */
	CTL_OUTPUT,  /* u32 task, u32 1 stdout 2 stderr, bytes */
	CTL_STDIN_ROOM, /* u32 bytes that may be sent on */
	CTL_LINKS,      /* u32 node, u32 link, u64 packets, u64 bytes, repeated */
	/* u32 node, u32 link, u64 packets sent, u64 their sum, the same received; repeated */
	CTL_SUMS,
	/* u64 picoseconds, hash, events, packets, hops, ns of events, ns of tasks; u32 valid */
	CTL_VIRTUAL,
	CTL_HISTORY, /* tools/history.c */
	CTL_TRACE,   /* u32 host, u64 events lost, then struct message_event, repeated */
	CTL_DONE,    /* every exit was reported, and nothing of the job is left on this host */
	/* both ways */
	CTL_PING,
};

struct ctl {
	int in, out;       /* non-blocking; may be the same descriptor */
	unsigned char *rx; /* rx[rx_at .. rx_bytes) was received, but not yet read */
	size_t rx_at, rx_bytes, rx_room;
	unsigned char *tx; /* tx[tx_at .. tx_bytes) waits to be sent */
	size_t tx_at, tx_bytes, tx_room;
	int broken; /* negative errno after receiving failed; -EPIPE: the other end has closed */
	/* The stream passes on whole lines only (srun): end each message with the end of a line,
	 * which is the data of a CTL_PING. */
	bool ends_lines;
	int tx_broken; /* the same for sending; messages received before stay readable */
	/* ctl_exchange_heartbeats(). */
	uint64_t looked_ns, pinged_ns, silent_ns, stuck_ns;
	bool has_heard; /* something has arrived */
	size_t written; /* bytes that the stream has taken since stuck_ns was 0 */
};

/* A message being read. */
struct ctl_msg {
	uint32_t type;
	const unsigned char *data; /* valid until the next ctl_receive() */
	size_t bytes, at;
	bool bad; /* a read went past the end */
};

/* A message being written; it grows as needed. */
struct ctl_buf {
	unsigned char *data;
	size_t bytes, room;
};

/* Initialise. ctl_close() closes both descriptors. This makes them non-blocking and close-on-exec.
 */
void ctl_init(struct ctl *c, int in, int out);
void ctl_close(struct ctl *c);

/* Queue one message, and send what the stream takes now. Returns 0, or a negative errno (also in
 * c->tx_broken). */
int ctl_send(struct ctl *c, uint32_t type, const void *data, size_t bytes);
int ctl_send_buf(struct ctl *c, uint32_t type, struct ctl_buf *b); /* frees the buffer */
/* Send pending bytes. Returns 0 (more may be pending: ctl_pending) or a negative errno. */
int ctl_flush(struct ctl *c);
static inline size_t ctl_pending(const struct ctl *c)
{
	return c->tx_bytes - c->tx_at;
}

/*
 * ppoll() with as few entries as possible: entries of -1 are left out, and those of one descriptor
 * are merged. The kernel refuses more entries than the process may have descriptors (ulimit -n),
 * whatever their values. Only one thread may call this.
 */
struct pollfd;
struct timespec;
int ctl_poll(struct pollfd *fds, unsigned n, const struct timespec *timeout);

/*
 * Send a CTL_PING if one is due, and count how long the peer has sent nothing, and how long it has
 * read nothing of what waits to be sent: that would pile up in memory. Call this at least
 * every CTL_PING_MS and after each look for input; now_ns is drv_clock_ns(). Between two calls at
 * most 2 * CTL_PING_MS count: if this process was stopped, or its machine lost its processors, then
 * the peer may have been stopped with it, and gets its time once both run again.
 */
void ctl_exchange_heartbeats(struct ctl *c, uint64_t now_ns);
static inline bool ctl_is_silent(const struct ctl *c, uint32_t limit_ms)
{
	return c->silent_ns >= limit_ms * 1000000ull;
}
static inline bool ctl_is_stuck(const struct ctl *c, uint32_t limit_ms)
{
	return c->stuck_ns >= limit_ms * 1000000ull;
}

/* Read available bytes. Returns 0, -EPIPE at the end of the stream, or another negative errno. */
int ctl_receive(struct ctl *c);
/* Take the next whole message. Returns 1; 0: none is complete; -EPROTO: the peer speaks another
 * protocol. */
int ctl_next(struct ctl *c, struct ctl_msg *m);

void ctl_put_u32(struct ctl_buf *b, uint32_t v);
void ctl_put_u64(struct ctl_buf *b, uint64_t v);
void ctl_put_bytes(struct ctl_buf *b, const void *data, size_t bytes); /* no length before them */
void ctl_put_text(struct ctl_buf *b, const char *text);                /* NULL is sent as "" */

uint32_t ctl_get_u32(struct ctl_msg *m);
uint64_t ctl_get_u64(struct ctl_msg *m);
const void *ctl_get_bytes(struct ctl_msg *m, size_t bytes); /* NULL: fewer bytes are left */
const char *ctl_get_text(struct ctl_msg *m);                /* "" when bad */

#endif
