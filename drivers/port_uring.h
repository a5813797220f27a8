/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The io_uring of one thread, with the buffers that it sends from and receives into.
 *
 * A ring with deferred work (IORING_SETUP_DEFER_TASKRUN) belongs to the thread that made it: only
 * that thread may enter the kernel with it, and the kernel does nothing behind that thread's back,
 * so no system call of the program is interrupted. A port that goes from thread to thread
 * therefore has a ring for each; those of threads that do something else lie still: they hold no
 * frames back, as a datagram leaves the socket only when a ring's thread looks.
 */
#ifndef DRIVERS_PORT_URING_H
#define DRIVERS_PORT_URING_H

#include <liburing.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "drivers/port_driver.h"

#define URING_TX     64u  /* send buffers of a ring */
#define URING_RX_MAX 256u /* receive buffers of a ring, at most */

/*
 * Before the data in a receive buffer: what recvmsg tells, the sender's address, and room for the one control
 * message we ask for: of how many bytes each datagram is, where the kernel has left several together.
 */
#define URING_RX_CONTROL 32u
#define URING_RX_HEADER  (sizeof(struct io_uring_recvmsg_out) + sizeof(struct sockaddr_in) + URING_RX_CONTROL)

#define URING_TRAIN       32u    /* datagrams of one size that are handed to the kernel as one, at most */
#define URING_TRAIN_BYTES 65000u /* and their bytes: with headers below 64 KiB */
#define URING_RX_TRAIN    65536u /* what may come together */

struct uring_ring;

struct uring_tx {
	struct uring_ring *ring;
	struct msghdr message;
	struct iovec iov[URING_TRAIN]; /* [0]: data; behind it those of the train it leads */
	_Alignas(8) unsigned char control[24];
	unsigned char *data;
	uint32_t index;
	int error; /* of the last send */
};

/* A received datagram, or several of one size, in a buffer of a ring. */
struct uring_rx {
	struct uring_ring *ring;
	int32_t bytes;
	uint16_t buffer;
	uint32_t at; /* bytes of payload handed on already */
};

struct uring_ring {
	struct io_uring uring;
	uint64_t thread; /* uring_thread() of its thread */
	pid_t tid;
	int open, receiving, armed, socket, eventfd;
	struct msghdr rx_message;
	struct io_uring_buf_ring *rx_ring;
	size_t rx_ring_bytes, rx_step;
	unsigned char *rx_memory;
	uint32_t rx_buffers, rx_free; /* all; with the kernel */
	uint16_t rx_lent[URING_RX_MAX]; /* frames lent out of each; + 1 while there are more in it */
	struct uring_tx tx[URING_TX], *tx_free[URING_TX];
	unsigned tx_free_count;
	unsigned char *tx_memory;
};

/* A number of the calling thread, never used again for another. */
uint64_t uring_thread(void);

/*
 * For the calling thread. rx_bytes: the most that comes in one buffer, frame_bytes or URING_RX_TRAIN. register_tx: make
 * the send buffers known for copy-free sends.
 */
int uring_ring_create(struct uring_ring **ring, int socket, uint32_t frame_bytes, uint32_t rx_bytes, int register_tx,
                      struct drv_port_why *why);
void uring_ring_destroy(struct uring_ring *r); /* NULL is fine; any thread */

/* Nothing of it is lent, on its way, or received and not yet seen. */
int uring_ring_idle(const struct uring_ring *r);

/*
 * Take what the kernel has done, and let it do what it has deferred. Received datagrams are written
 * to rx (room for URING_RX_MAX); how many. Only the ring's thread. No system call when nothing is there.
 */
unsigned uring_ring_look(struct uring_ring *r, struct uring_rx *rx);

/* A descriptor that polls readable once something comes after this call, or -ENOTSUP; look once more. */
int uring_ring_arm(struct uring_ring *r);

/* Queue one send; 0, or -EAGAIN: queue full. Then uring_ring_submit(), which fills in t->error. */
int uring_ring_send(struct uring_ring *r, struct uring_tx *t, const struct sockaddr_in *to, uint32_t bytes,
                    int zero_copy);
/* The same for n datagrams, of which all but the last have `bytes` bytes, the last `last` <= bytes: t[0]->error for all. */
int uring_ring_send_train(struct uring_ring *r, struct uring_tx **t, unsigned n, const struct sockaddr_in *to,
                          uint32_t bytes, uint32_t last);
unsigned uring_ring_submit(struct uring_ring *r, struct uring_rx *rx);

/* A receive buffer, and giving it back to the kernel (any thread). */
unsigned char *uring_ring_buffer(const struct uring_ring *r, uint16_t i);
void uring_ring_return(struct uring_ring *r, uint16_t i);

#endif
