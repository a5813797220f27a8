/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The io_uring of one thread, with its send and receive buffers.
 *
 * A ring with deferred work (IORING_SETUP_DEFER_TASKRUN) belongs to the thread that created it.
 * Only that thread may enter the kernel with it, and the kernel does nothing else for it, so no
 * system call of the program is interrupted. A port that several threads use in turn therefore has
 * a ring for each of them. The rings of threads that do something else hold no frames back, because
 * a datagram leaves the socket only when the thread of a ring polls it.
 */
#ifndef DRIVERS_PORT_URING_H
#define DRIVERS_PORT_URING_H

#include <liburing.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "drivers/port_udp.h"

#define URING_TX     64u  /* send buffers of a ring */
#define URING_KEPT   256u /* and those that the caller may keep, where none is registered */
#define URING_TX_MAX (URING_TX + URING_KEPT)
#define URING_RX_MAX 256u /* receive buffers of a ring, at most */

/*
 * The head of a receive buffer, before the data: the result of recvmsg, the address of the sender,
 * and room for one control message, which contains the size of each datagram when the kernel has
 * joined several.
 */
#define URING_RX_CONTROL 32u
#define URING_RX_HEADER                                                                            \
	(sizeof(struct io_uring_recvmsg_out) + sizeof(struct sockaddr_in) + URING_RX_CONTROL)

#define URING_RX_TRAIN 65536u /* bytes that may arrive together */

struct uring_ring;

struct uring_tx {
	struct uring_ring *ring;
	struct msghdr message;
	/* [0]: data of this frame; then those of the train that it leads. */
	struct iovec iov[UDP_TRAIN];
	struct udp_control control;
	unsigned char *data;
	uint32_t index;
	int error; /* error of the last send */
};

/* A received datagram, or several of one size, in a buffer of a ring. */
struct uring_rx {
	struct uring_ring *ring;
	int32_t bytes;
	uint16_t buffer;
	uint32_t at; /* bytes of payload that were lent before */
};

struct uring_ring {
	struct io_uring uring;
	uint64_t thread; /* uring_thread() of the thread of this ring */
	pid_t tid;
	int open, receiving, armed, socket, eventfd;
	struct msghdr rx_message;
	struct io_uring_buf_ring *rx_ring;
	size_t rx_ring_bytes, rx_step;
	unsigned char *rx_memory;
	uint32_t rx_buffers, rx_free; /* all receive buffers; those that the kernel may fill */
	/* Frames lent from each buffer, plus 1 while it contains more. */
	uint16_t rx_lent[URING_RX_MAX];
	struct uring_tx tx[URING_TX_MAX], *tx_free[URING_TX_MAX];
	unsigned tx_count, tx_free_count;
	unsigned char *tx_memory;
};

/* Return a number of the calling thread that is never used for another thread. */
uint64_t uring_thread(void);

/*
 * Create a ring for the calling thread. rx_bytes: the most that arrives in one buffer, frame_bytes
 * or URING_RX_TRAIN. register_tx: register the send buffers, for sends without copy.
 */
int uring_ring_create(struct uring_ring **ring, int socket, uint32_t frame_bytes, uint32_t rx_bytes,
		      int register_tx, struct drv_port_why *why);
void uring_ring_destroy(struct uring_ring *r); /* NULL is allowed; any thread */

/* True if no frame of the ring is lent, in flight, or received but not yet seen. */
int uring_ring_is_idle(const struct uring_ring *r);

/*
 * Take what the kernel has completed, and let it do what it has deferred. Writes received datagrams
 * to rx (room for URING_RX_MAX) and returns their number. Only the thread of the ring. Makes no
 * system call if there is nothing to do.
 */
unsigned uring_ring_poll(struct uring_ring *r, struct uring_rx *rx);

/*
 * Return a descriptor that polls readable when something arrives after this call, or -ENOTSUP. Poll
 * once more afterwards.
 */
int uring_ring_arm(struct uring_ring *r);

/*
 * Queue one send. Returns 0, or -EAGAIN if the queue is full. uring_ring_submit() then sets
 * t->error.
 */
int uring_ring_send(struct uring_ring *r, struct uring_tx *t, const struct sockaddr_in *to,
		    uint32_t bytes, int zero_copy);
/*
 * The same for n datagrams; all have `bytes` bytes except the last, which has `last` <= bytes.
 * t[0]->error applies to all.
 */
int uring_ring_send_train(struct uring_ring *r, struct uring_tx **t, unsigned n,
			  const struct sockaddr_in *to, uint32_t bytes, uint32_t last);
unsigned uring_ring_submit(struct uring_ring *r, struct uring_rx *rx);

/* Return a receive buffer; give it back to the kernel (any thread). */
unsigned char *uring_ring_buffer(const struct uring_ring *r, uint16_t i);
void uring_ring_return(struct uring_ring *r, uint16_t i);

#endif
