/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a message leaves a channel.
 *
 * A near task (same host on fabric express, same node on fabric torus) is reached through shared
 * memory: near.c, in-line where it is hot. All other tasks of a job are reached by one transport,
 * which mu_transport_choose() settles when the process attaches. Each is a file of this folder:
 *
 *   wire      this task holds the port of its host: the open frame of the wire
 *   outbound  the agent holds the port: the ring of records for other hosts
 *   router    fabric torus, real clock: an injection queue of this node's router; two tables, since
 *             the task may hold the port too
 *   virtual   virtual clock: the simulator runs the engines; nothing leaves from here
 *   none      all tasks of the job are near
 */
#ifndef MU_TRANSPORT_TRANSPORT_H
#define MU_TRANSPORT_TRANSPORT_H

#include <stdint.h>

#include "mu/engine/memory.h"
#include "mu/process.h"

struct mu_store;
struct mu_wakeup;

/* A short message: up to 512 bytes, one packet. Payload b begins at the next multiple of 8 behind
 * a. */
struct mu_short {
	const void *soft; /* 14 bytes */
	const void *a, *b;
	uint32_t a_bytes, b_bytes, bytes; /* bytes: of a, padding and b together */
};

/*
 * The class routes, global interrupts and collective FIFOs of this task's node. The user thread of
 * the channel that owns a class route calls these operations.
 */
struct mu_node_ops {
	/* Program halves of class route `id` as the node's area says. Returns 0, 1 .. 5
	 * (emu/class.h) or a negative errno; *gi: the same for its global interrupt. */
	int (*set_class)(struct mu_channel *ch, unsigned id, int *gi);

	/* The control word of a user of global interrupt `id` has become `bits`. */
	void (*write_gi)(struct mu_channel *ch, unsigned id, enum emu_gi_user user, unsigned bits);

	/* FIFO `fifo` of the node has a new descriptor. */
	void (*inject)(struct mu_channel *ch, unsigned fifo);

	/* Engine: one packet of such a FIFO. 0, -EAGAIN, -EINVAL or -EFAULT. NULL: the simulator
	 * runs these FIFOs. */
	int (*send)(struct mu_process *p, const MUHWI_PacketHeader_t *h, const void *payload,
		    uint32_t bytes);
};

/* Which tasks reach each other through shared memory, so that no transport is asked. */
enum mu_near { MU_NEAR_NONE, MU_NEAR_NODE, MU_NEAR_HOST };

/*
 * A transport. Engine lock of ch held where an operation says engine; the user thread calls the
 * others. -EAGAIN always means: no room now, or another thread is at work there.
 */
struct mu_transport {
	const char *name;
	enum mu_near near;
	bool has_poll;   /* poll() can find something: a poll of a channel calls it */
	bool holds_port; /* this task holds the port of its host: sleep() waits for frames too */
	bool takes_asking_puts; /* send_piece() may get a put that asks (mu_desc_ask()) */

	/* At attach: open what the transport needs. 0, or a negative errno (logged). */
	int (*open)(struct mu_process *p);
	/* Also after open() failed. flush_ms: how long to wait for acknowledgements at most. */
	void (*close)(struct mu_process *p, int flush_ms);

	/* Send without a descriptor. 0, or -EAGAIN: use the injection FIFO. The FIFO is empty. */
	int (*send_short)(struct mu_channel *ch, uint32_t task, uint32_t channel,
			  const struct mu_short *m);

	/* Engine: one piece of a message. range: the payload was named by another task
	 * (mu_copy_in()); NULL: by our own. 0, -EAGAIN or another negative errno. */
	int (*send_piece)(struct mu_channel *ch, uint32_t task, const MUHWI_PacketHeader_t *h,
			  const void *payload, uint32_t bytes, struct mu_checked_range *range);

	/* Have 64 bytes written into an arena of the host of `task`. 0, -EAGAIN, or -EINVAL: this
	 * transport cannot. */
	int (*store)(struct mu_channel *ch, uint32_t task, const struct mu_store *store);

	/* Take what arrived. ch: dispatch its records in place (engine); NULL: dispatch nothing.
	 * Returns the number of events. Any thread. */
	int (*poll)(struct mu_process *p, struct mu_channel *ch);

	/* Send what waits in open frames and queues. ch: channel of the calling user thread, or
	 * NULL. Any thread. */
	void (*flush)(struct mu_process *p, struct mu_channel *ch);

	/* Is there work that no wake-up will announce? Any thread. */
	bool (*has_work)(struct mu_process *p);

	/* Sleep until a word of the armed region changes, or a frame comes for a port that this
	 * task holds; at most ns. Any thread. */
	void (*sleep)(struct mu_process *p, struct mu_wakeup *region, int64_t ns);

	/* Does the way from node a to node b, or back, lead over a host that is lost? NULL: no way
	 * leads over a third host. */
	bool (*is_cut)(const struct mu_process *p, uint32_t a, uint32_t b);

	/* Largest piece that send_piece() takes: a multiple of 64. */
	uint32_t (*piece_bytes)(const struct mu_process *p);

	/* This task's announcement has changed (mu_announce()): have it sent to the other hosts,
	 * ahead of everything that the task sends there afterwards. Any thread. */
	void (*announce)(struct mu_process *p);

	const struct mu_node_ops *node; /* NULL: the node has no router, so no class routes */
};

extern const struct mu_transport mu_transport_none, mu_transport_wire, mu_transport_outbound,
    mu_transport_router, mu_transport_virtual;

/* The transport of the tasks of this host. */
const struct mu_transport *mu_transport_choose(const struct mu_host *host);

/* In the child after a fork: p has no transport, and port and router stay with its parent. */
void mu_transport_forget(struct mu_process *p);

/* none.c: operations of a transport that has nothing to do there. */
int mu_none_open(struct mu_process *p);
void mu_none_close(struct mu_process *p, int flush_ms);
int mu_none_send_short(struct mu_channel *ch, uint32_t task, uint32_t channel,
		       const struct mu_short *m);
int mu_none_send_piece(struct mu_channel *ch, uint32_t task, const MUHWI_PacketHeader_t *h,
		       const void *payload, uint32_t bytes, struct mu_checked_range *range);
int mu_none_store(struct mu_channel *ch, uint32_t task, const struct mu_store *store);
int mu_none_poll(struct mu_process *p, struct mu_channel *ch);
void mu_none_flush(struct mu_process *p, struct mu_channel *ch);
bool mu_none_has_work(struct mu_process *p);
void mu_none_sleep(struct mu_process *p, struct mu_wakeup *region, int64_t ns);
uint32_t mu_none_piece_bytes(const struct mu_process *p);
void mu_none_announce(struct mu_process *p);

/* Rows of a transport's table: this task holds no port; it sends no frames; a poll finds nothing.
 */
#define MU_TRANSPORT_WITHOUT_PORT .sleep = mu_none_sleep, .announce = mu_none_announce
#define MU_TRANSPORT_WITHOUT_WIRE                                                                  \
	.open = mu_none_open, .close = mu_none_close, .send_short = mu_none_send_short
#define MU_TRANSPORT_WITHOUT_POLL                                                                  \
	.poll = mu_none_poll, .flush = mu_none_flush, .has_work = mu_none_has_work

/* wire.c, for other transports through a wire: the largest piece to another host. */
uint32_t mu_wire_piece_bytes(const struct mu_process *p);
/* This thread exits, perhaps in dispatch functions: end the rounds of the queues that it is in, so
 * that it has no lock of them. */
void mu_wire_abandon_rounds(struct mu_process *p);
/* The process exits with its port open: send what waits, and wait at most flush_ms until it is
 * acknowledged. A queue that another thread keeps for lock_ms is left out. */
void mu_wire_finish(struct mu_process *p, int lock_ms, int flush_ms);

/* near.c, engine: one piece to a near task. 0, -EAGAIN or another negative errno. */
int mu_near_send_piece(struct mu_channel *ch, uint32_t task, const MUHWI_PacketHeader_t *h,
		       const void *payload, uint32_t bytes, struct mu_checked_range *range);

/* The reception ring of a channel of this host. */
struct drv_ring *mu_ring(struct mu_host *host, uint32_t local, unsigned channel);

/* Copy a piece into a ring of this host. lane: the sender's lane beside the ring, or NULL. */
int mu_ring_send_piece(struct mu_channel *ch, struct drv_ring *ring, struct drv_ring_tx *tx,
		       struct drv_lane *lane, const MUHWI_PacketHeader_t *h, const void *payload,
		       uint32_t bytes, struct mu_checked_range *range);

/* Put a record into the ring of a local task: the port holder and the routers deliver with it. 0,
 * or -EAGAIN: the ring is full. */
int mu_deliver(struct mu_host *host, struct drv_ring_tx *tx, uint32_t local, unsigned channel,
	       const MUHWI_PacketHeader_t *h, uint32_t source, const unsigned char *payload,
	       uint32_t bytes);

void mu_near_path_find(struct mu_channel *ch, struct mu_near_path *path, uint32_t local,
		       unsigned channel);
static inline struct mu_near_path *mu_near_path(struct mu_channel *ch, uint32_t local,
						unsigned channel)
{
	struct mu_near_path *path = &ch->tx.near[local * ch->p->channels + channel];

	if (__builtin_expect(!atomic_ptr_load_acquire(&path->ring), 0))
		mu_near_path_find(ch, path, local, channel);
	return path;
}

/* A record was published: wake the thread that serves the channel there, if it sleeps. */
static inline void mu_near_path_wake(const struct mu_near_path *path)
{
	__asm__ volatile("" ::: "memory"); /* the record first */
	drv_wake_ring(&path->wake.plain[atomic_load_relaxed(&path->ring.plain->user) % MU_WAKES]);
}

static inline int mu_send_piece(struct mu_channel *ch, uint32_t task, const MUHWI_PacketHeader_t *h,
				const void *payload, uint32_t bytes, struct mu_checked_range *range)
{
	if (__builtin_expect(ch->p->near[task], 1))
		return mu_near_send_piece(ch, task, h, payload, bytes, range);
	return ch->p->remote->send_piece(ch, task, h, payload, bytes, range);
}

static inline uint32_t mu_piece_bytes(const struct mu_process *p, uint32_t task)
{
	return p->near[task] ? MU_PIECE_BYTES : p->remote->piece_bytes(p);
}

/* Copy a message of few words without a call. */
static inline void mu_short_copy_part(unsigned char *to, const void *from, uint32_t bytes)
{
	if (bytes == 8)
		memcpy(to, from, 8);
	else if (bytes)
		memcpy(to, from, bytes);
}

static inline void mu_short_copy(unsigned char *to, const struct mu_short *m)
{
	mu_short_copy_part(to, m->a, m->a_bytes);
	mu_short_copy_part(to + ((m->a_bytes + 7) & ~7u), m->b, m->b_bytes);
}

#endif
