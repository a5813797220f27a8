/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "drivers/base/atomic.h"
#include "drivers/port_uring.h"

#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#define RX_BYTES (2u << 20) /* memory for receive buffers, of which there are 64 .. 256 */
#define RX_GROUP 0

_Static_assert(URING_RX_HEADER % 16 == 0, "data is 16-byte aligned");

/*
 * user_data of a completion: the send buffer with its kind in the low bits, or TAG_RECEIVE alone.
 */
enum { TAG_RECEIVE = 1, TAG_SEND = 2, TAG_SEND_ZC = 3 };
#define TAG_MASK 3u

uint64_t uring_thread(void)
{
	static uint64_t last;
	static __thread uint64_t own;

	if (__builtin_expect(!own, 0))
		own = atomic_add_fetch_relaxed(&last, 1);
	return own;
}

/* Return an entry of the submission queue; enters the kernel when the queue is full. */
static struct io_uring_sqe *ring_sqe(struct uring_ring *r)
{
	struct io_uring_sqe *e = io_uring_get_sqe(&r->uring);

	if (!e) {
		io_uring_submit(&r->uring);
		e = io_uring_get_sqe(&r->uring);
	}
	return e;
}

/* ---- receiving ---- */

unsigned char *uring_ring_buffer(const struct uring_ring *r, uint16_t i)
{
	return r->rx_memory + r->rx_step * i;
}

void uring_ring_return(struct uring_ring *r, uint16_t i)
{
	io_uring_buf_ring_add(r->rx_ring, uring_ring_buffer(r, i), (unsigned)r->rx_step, i,
			      io_uring_buf_ring_mask(r->rx_buffers), 0);
	io_uring_buf_ring_advance(r->rx_ring, 1);
	r->rx_free++;
}

/* Start to receive until the receive is cancelled or the buffers run out. */
static void ring_receive(struct uring_ring *r)
{
	struct io_uring_sqe *e = ring_sqe(r);

	if (!e)
		return;
	io_uring_prep_recvmsg_multishot(e, r->socket, &r->rx_message, 0);
	io_uring_sqe_set_data64(e, TAG_RECEIVE);
	io_uring_sqe_set_flags(e, IOSQE_BUFFER_SELECT);
	e->buf_group = RX_GROUP;
	r->receiving = 1;
	io_uring_submit(&r->uring);
}

static void ring_on_send(const struct io_uring_cqe *c)
{
	struct uring_tx *t = (struct uring_tx *)(uintptr_t)(c->user_data & ~(uint64_t)TAG_MASK);

	if (c->res < 0 && !(c->flags & IORING_CQE_F_NOTIF))
		t->error = c->res;
	/*
	 * The last completion of a send without copy releases its buffer; a failed send releases it
	 * at once.
	 */
	if ((c->user_data & TAG_MASK) == TAG_SEND_ZC && !(c->flags & IORING_CQE_F_MORE) &&
	    !t->error)
		t->ring->tx_free[t->ring->tx_free_count++] = t;
}

static unsigned ring_drain(struct uring_ring *r, struct uring_rx *rx)
{
	struct io_uring_cqe *c;
	unsigned head, count = 0, got = 0;

	io_uring_for_each_cqe(&r->uring, head, c)
	{
		count++;
		if (c->user_data != TAG_RECEIVE) {
			ring_on_send(c);
			continue;
		}
		if (c->flags & IORING_CQE_F_BUFFER) {
			rx[got++] = (struct uring_rx){
			    .ring = r,
			    .bytes = c->res,
			    .buffer = (uint16_t)(c->flags >> IORING_CQE_BUFFER_SHIFT)};
			r->rx_free--;
		}
		if (!(c->flags & IORING_CQE_F_MORE))
			r->receiving = 0;
	}
	io_uring_cq_advance(&r->uring, count);
	return got;
}

static unsigned ring_deferred(const struct uring_ring *r)
{
	return atomic_load_relaxed(r->uring.sq.kflags) &
	       (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW);
}

/* A frame has come, so turn signals off until the next arming. */
static void ring_disarm(struct uring_ring *r)
{
	r->armed = 0;
	io_uring_cq_eventfd_toggle(&r->uring, false);
}

unsigned uring_ring_poll(struct uring_ring *r, struct uring_rx *rx)
{
	unsigned got;

	if (__builtin_expect(!r->receiving, 0) && r->rx_free)
		ring_receive(r);
	if (ring_deferred(r))
		io_uring_get_events(&r->uring);
	else if (!io_uring_cq_ready(&r->uring))
		return 0;
	got = ring_drain(r, rx);
	if (__builtin_expect(r->armed, 0) && got)
		ring_disarm(r);
	return got;
}

/* The descriptor of the ring does not report deferred work; a registered eventfd does. */
int uring_ring_arm(struct uring_ring *r)
{
	uint64_t drained;

	if (r->eventfd < 0) {
		int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

		if (fd < 0)
			return -ENOTSUP;
		if (io_uring_register_eventfd(&r->uring, fd)) {
			close(fd);
			return -ENOTSUP;
		}
		r->eventfd = fd;
	}
	if (read(r->eventfd, &drained, sizeof drained) < 0)
		drained = 0; /* it was empty */
	r->armed = 1;
	io_uring_cq_eventfd_toggle(&r->uring, true);
	atomic_fence_seq_cst(); /* before the last poll of the caller */
	return r->eventfd;
}

/* ---- sending ---- */

static void ring_send_message(struct uring_ring *r, struct io_uring_sqe *e, struct uring_tx *t,
			      const struct sockaddr_in *to, uint32_t bytes, unsigned parts)
{
	t->error = 0;
	t->message.msg_name = (void *)(uintptr_t)to;
	t->message.msg_namelen = sizeof *to;
	t->message.msg_iovlen = parts;
	t->iov[0].iov_len = bytes;
	io_uring_prep_sendmsg(e, r->socket, &t->message, MSG_DONTWAIT);
	io_uring_sqe_set_data64(e, (uintptr_t)t | TAG_SEND);
	io_uring_sqe_set_flags(e, IOSQE_CQE_SKIP_SUCCESS);
}

int uring_ring_send(struct uring_ring *r, struct uring_tx *t, const struct sockaddr_in *to,
		    uint32_t bytes, int zero_copy)
{
	struct io_uring_sqe *e = ring_sqe(r);

	if (!e)
		return -EAGAIN;
	t->error = 0;
	if (zero_copy) {
		io_uring_prep_send_zc_fixed(e, r->socket, t->data, bytes, MSG_DONTWAIT, 0, 0);
		io_uring_prep_send_set_addr(e, (const struct sockaddr *)to, sizeof *to);
		io_uring_sqe_set_data64(e, (uintptr_t)t | TAG_SEND_ZC);
		return 0;
	}
	t->message.msg_controllen = 0;
	ring_send_message(r, e, t, to, bytes, 1);
	return 0;
}

int uring_ring_send_train(struct uring_ring *r, struct uring_tx **t, unsigned n,
			  const struct sockaddr_in *to, uint32_t bytes, uint32_t last)
{
	struct io_uring_sqe *e = ring_sqe(r);

	if (!e)
		return -EAGAIN;
	for (unsigned i = 1; i < n; i++)
		t[0]->iov[i] = (struct iovec){t[i]->data, i == n - 1 ? last : bytes};
	udp_set_segment(&t[0]->message, &t[0]->control, (uint16_t)bytes);
	ring_send_message(r, e, t[0], to, bytes, n);
	return 0;
}

unsigned uring_ring_submit(struct uring_ring *r, struct uring_rx *rx)
{
	if (ring_deferred(r))
		io_uring_submit_and_get_events(&r->uring);
	else
		io_uring_submit(&r->uring);
	return ring_drain(r, rx);
}

/* ---- making and ending ---- */

int uring_ring_is_idle(const struct uring_ring *r)
{
	return r->rx_free == r->rx_buffers && r->tx_free_count == r->tx_count;
}

static int ring_setup(struct uring_ring *r, struct drv_port_why *why)
{
	struct io_uring_params p = {
	    .flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
		     IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CQSIZE,
	    .cq_entries = 4 * URING_RX_MAX};
	int rc = io_uring_queue_init_params(2 * URING_TX, &r->uring, &p);

	if (rc == -ENOSYS || rc == -EPERM)
		return drv_port_fail(
		    why, rc,
		    "io_uring is not permitted here (%s); see sysctl "
		    "kernel.io_uring_disabled and the container's seccomp profile, "
		    "or take another driver",
		    strerror(-rc));
	if (rc == -ENOMEM)
		return drv_port_fail(why, rc,
				     "no memory may be locked for io_uring; raise ulimit -l");
	if (rc)
		return drv_port_fail(why, rc,
				     "io_uring does not start (%s); it needs Linux 6.1 or later",
				     strerror(-rc));
	r->open = 1;
	return 0;
}

static int ring_rx_setup(struct uring_ring *r, uint32_t bytes, struct drv_port_why *why)
{
	struct io_uring_buf_reg reg = {.bgid = RX_GROUP};
	int rc;

	r->rx_step = (URING_RX_HEADER + bytes + 63) & ~(size_t)63;
	for (r->rx_buffers = URING_RX_MAX; r->rx_buffers > 64; r->rx_buffers /= 2)
		if (r->rx_buffers * r->rx_step <= RX_BYTES)
			break;
	r->rx_memory = aligned_alloc(64, r->rx_step * r->rx_buffers);
	r->rx_ring_bytes = r->rx_buffers * sizeof(struct io_uring_buf);
	r->rx_ring = mmap(NULL, r->rx_ring_bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (r->rx_ring == MAP_FAILED)
		r->rx_ring = NULL;
	if (!r->rx_memory || !r->rx_ring)
		return -ENOMEM;
	reg.ring_addr = (uintptr_t)r->rx_ring;
	reg.ring_entries = r->rx_buffers;
	rc = io_uring_register_buf_ring(&r->uring, &reg, 0);
	if (rc)
		return drv_port_fail(
		    why, rc, "io_uring has no buffer rings (%s); it needs Linux 6.1 or later",
		    strerror(-rc));
	io_uring_buf_ring_init(r->rx_ring);
	for (uint32_t i = 0; i < r->rx_buffers; i++)
		uring_ring_return(r, (uint16_t)i);
	r->rx_message.msg_namelen = sizeof(struct sockaddr_in);
	r->rx_message.msg_controllen = URING_RX_CONTROL;
	return 0;
}

static int ring_tx_setup(struct uring_ring *r, uint32_t frame_bytes, int register_tx,
			 struct drv_port_why *why)
{
	size_t step = (frame_bytes + 63) & ~(size_t)63;
	uint32_t count = register_tx ? URING_TX : URING_TX_MAX;
	struct iovec all = {.iov_len = (step * count + 4095) & ~(size_t)4095};
	int rc;

	r->tx_count = count;
	r->tx_memory = aligned_alloc(4096, all.iov_len);
	if (!r->tx_memory)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		struct uring_tx *t = &r->tx[i];

		t->ring = r;
		t->index = i;
		t->data = r->tx_memory + step * i;
		t->iov[0].iov_base = t->data;
		t->message.msg_iov = t->iov;
		r->tx_free[r->tx_free_count++] = t;
	}
	all.iov_base = r->tx_memory;
	rc = register_tx ? io_uring_register_buffers(&r->uring, &all, 1) : 0;
	if (rc)
		return drv_port_fail(
		    why, rc,
		    "the send buffers cannot be registered (%s); raise ulimit -l, or "
		    "leave zc= out",
		    strerror(-rc));
	return 0;
}

int uring_ring_create(struct uring_ring **ring, int socket, uint32_t frame_bytes, uint32_t rx_bytes,
		      int register_tx, struct drv_port_why *why)
{
	struct uring_ring *r = calloc(1, sizeof *r);
	int rc;

	if (!r)
		return -ENOMEM;
	r->socket = socket;
	r->eventfd = -1;
	r->thread = uring_thread();
	r->tid = gettid();
	rc = ring_setup(r, why);
	if (!rc)
		rc = ring_rx_setup(r, rx_bytes, why);
	if (!rc)
		rc = ring_tx_setup(r, frame_bytes, register_tx, why);
	if (rc) {
		uring_ring_destroy(r);
		return rc;
	}
	*ring = r;
	return 0;
}

void uring_ring_destroy(struct uring_ring *r)
{
	if (!r)
		return;
	if (r->receiving) { /* otherwise the kernel keeps the socket and its UDP port for a while */
		struct io_uring_sync_cancel_reg all = {
		    .fd = -1,
		    .flags = IORING_ASYNC_CANCEL_ALL | IORING_ASYNC_CANCEL_ANY,
		    .timeout = {.tv_sec = 0, .tv_nsec = 100000000},
		};

		io_uring_register_sync_cancel(&r->uring, &all);
	}
	if (r->open)
		io_uring_queue_exit(&r->uring);
	if (r->eventfd >= 0)
		close(r->eventfd);
	if (r->rx_ring)
		munmap(r->rx_ring, r->rx_ring_bytes);
	free(r->rx_memory);
	free(r->tx_memory);
	free(r);
}
