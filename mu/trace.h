/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recording for torus run --trace: what tasks and port holders do with messages, with times.
 *
 * The host segment has a ring of events for each thread that records: MU_TRACE_RINGS for each task,
 * and one for an agent that holds the port. A ring keeps the latest MU_TRACE_EVENTS, so memory is
 * bounded. The agent reads the rings when all tasks have ended. Without --trace there are no rings,
 * mu_is_traced() is false, and libraries set up nothing: the path of a short message has no branch
 * for it.
 */
#ifndef MU_TRACE_H
#define MU_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "drivers/base/atomic.h"

#define MU_TRACE_EVENTS 32768u /* of a ring, a power of two */
#define MU_TRACE_RINGS  4u     /* for each task */

enum mu_trace_kind {
	MU_TRACE_NONE,
	MU_TRACE_SEND, /* a call that starts message `number` to (task, peer) */
	/* The injection engine had descriptor `descriptor` at its head. In virtual time the agent
	 * records that: `number` is the task, `dispatch` its node, `key` the first packet of that
	 * node << 32 | the last one, `descriptors` how many packets. */
	MU_TRACE_ENGINE,
	MU_TRACE_RECEIVE,  /* the first packet of message `number` from (task, peer) */
	MU_TRACE_FINISH,   /* all of its data is stored; only messages of more than one packet */
	MU_TRACE_COMPLETE, /* a callback of the sender of message `number` to (task, peer) ran */
	MU_TRACE_COLL, /* collective `number` of geometry `key`: from the call to the callback */
	MU_TRACE_OUT,  /* a frame of data, sequence `number`, epochs `key`, left host `task` */
	MU_TRACE_IN,   /* a frame of host `task` arrived */
	MU_TRACE_RDMA, /* a call of put, get or atomic, operation `number` of its context */
	MU_TRACE_RDMA_DONE, /* a callback of that operation ran */
	MU_TRACE_KINDS
};

/* How a message left (MU_TRACE_SEND), which callback ran (MU_TRACE_COMPLETE, _RDMA_DONE), which
 * operation that is (MU_TRACE_RDMA). */
enum mu_trace_how {
	MU_TRACE_AT_ONCE,    /* past the FIFO: into memory of the target, a frame or a router */
	MU_TRACE_DESCRIPTOR, /* as descriptors, the first of which is `descriptor` */
	MU_TRACE_QUEUED,     /* the FIFO was full: software keeps it */
	MU_TRACE_LOCAL,
	MU_TRACE_REMOTE,
	MU_TRACE_PUT,
	MU_TRACE_GET,
	MU_TRACE_ATOMIC
};

struct mu_trace_event {
	uint64_t begin, end; /* ns of drv_clock_ns(), ps of the virtual clock */
	uint64_t key;        /* COLL: of the geometry; OUT, IN: both epochs of the frame */
	uint32_t task;       /* the other one; COLL: the type of the operation */
	uint32_t number;     /* messages are counted for each pair of endpoints */
	uint32_t bytes;
	uint32_t descriptor; /* number in the channel's FIFO, modulo 2^32 */
	uint16_t dispatch, descriptors;
	uint8_t kind, how;
	uint8_t channel, peer; /* MU channels: own, of the other */
};

struct mu_trace_ring {
	atomic_u64 count; /* events recorded so far; the last ones are here */
	uint32_t task;    /* of the thread; UINT32_MAX: the agent */
	uint32_t thread;  /* its number in the process */
	_Alignas(64) struct mu_trace_event event[MU_TRACE_EVENTS];
};

/* Part of the host segment. */
struct mu_trace_area {
	atomic_u32 claimed; /* rings that threads have asked for, maybe more than there are */
	atomic_u64 dropped; /* events of threads that found no ring */
	uint32_t rings;
	_Alignas(64) struct mu_trace_ring ring[];
};

struct mu_channel;
struct mu_host;

/* Bytes of the area for a host with so many tasks. */
uint64_t mu_trace_bytes(uint32_t locals);

/* Is the job of this process traced? */
bool mu_is_traced(void);
/* The time as events have it. It charges nothing in virtual time. */
uint64_t mu_trace_now(void);
/* Record an event of this process. Any thread. */
void mu_trace_put(const struct mu_trace_event *event);
/* The same for the holder of a port, which may be an agent: task UINT32_MAX. */
void mu_trace_put_for(struct mu_host *host, uint32_t task, const struct mu_trace_event *event);
/* How many descriptors software has put into the channel's FIFO. User thread. */
uint64_t mu_trace_descriptors(const struct mu_channel *ch);

#endif
