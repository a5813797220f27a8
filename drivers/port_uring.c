/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uring: UDP over IPv4 through io_uring (Linux 6.1 or later). A module (liburing). Needs no root.
 *
 *   spec      uring:ADDRESS[:PORT][,frame=BYTES][,zc=BYTES]
 *             ADDRESS is an address of this host. PORT 0 (default): the kernel chooses. frame=
 *             lowers the size that the MTU of the interface permits. zc=: frames of this size and
 *             more are sent from registered buffers without a copy (for NICs; veth and
 *             loopback copy anyway)
 *   address   ADDRESS:PORT
 *
 * Receiving is one multishot recvmsg that fills buffers of a provided ring. A poll that finds
 * nothing reads two words of memory: the tail of the completion queue, and the flag by which the
 * kernel says that it has work to finish in this thread. Only then does the poll enter the kernel.
 *
 * A burst is sent by one system call. UDP sends with a copy are complete when it returns, so their
 * buffers are free at once, and a full socket buffer is noticed and means "not now".
 *
 * Consecutive frames of one size to one peer form a train: they pass through the kernel as one
 * (UDP_SEGMENT) and, if the device supports it, arrive in one buffer (UDP_GRO). Each frame is lent
 * from where it lies in that buffer.
 */
#define _GNU_SOURCE
#include "drivers/port_uring.h"

#include <errno.h>
#include <netinet/udp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/base/assert.h"
#include "drivers/base/log.h"

#define URING_RINGS 16u

struct uring_port {
	struct drv_port port;
	int socket;
	struct sockaddr_in self;
	uint32_t zc_bytes; /* 0: never */
	uint32_t train;    /* longest frame of a train; 0: no trains */
	int refused;       /* error of the last frame that was refused (udp_log_refused()) */
	uint32_t rx_bytes; /* bytes of a receive buffer */

	struct uring_ring *ring[URING_RINGS],
	    *now; /* rings of the threads that have used the port; of the last one */
	unsigned rings;
	int full; /* it was logged that a thread has no ring */

	struct uring_rx item[URING_RINGS * URING_RX_MAX]; /* received but not lent yet */
	uint32_t head, tail;

	struct sockaddr_in *peer;
	int peers, last_peer;
};

/* Destroy the rings of threads that have ended. Called when no ring is left. */
static void uring_destroy_ended_rings(struct uring_port *u)
{
	for (unsigned i = 0; i < u->rings;) {
		struct uring_ring *r = u->ring[i];

		if (!uring_ring_is_idle(r) || !tgkill(getpid(), r->tid, 0)) {
			i++;
			continue;
		}
		uring_ring_destroy(r);
		u->ring[i] = u->ring[--u->rings];
	}
}

/* Make the ring of the calling thread the current one. Returns 0 or a negative errno. */
static int uring_switch(struct uring_port *u, uint64_t thread, struct drv_port_why *why)
{
	int rc;

	for (unsigned i = 0; i < u->rings; i++) {
		if (u->ring[i]->thread == thread) {
			u->now = u->ring[i];
			return 0;
		}
	}
	u->now = NULL;
	uring_destroy_ended_rings(u);
	if (u->rings == URING_RINGS)
		return drv_port_fail(why, -EMFILE, "more than %u threads poll it", URING_RINGS);
	rc = uring_ring_create(&u->ring[u->rings], u->socket, u->port.frame_bytes_max, u->rx_bytes,
			       u->zc_bytes != 0, why);
	if (!rc)
		u->now = u->ring[u->rings++];
	return rc;
}

/* Return the ring to use now, or NULL (logged once). */
static struct uring_ring *uring_current(struct uring_port *u)
{
	uint64_t thread = uring_thread();
	struct drv_port_why why = {"out of memory"};

	if (__builtin_expect(u->now && u->now->thread == thread, 1))
		return u->now;
	if (uring_switch(u, thread, &why) && !u->full) {
		u->full = 1;
		drv_error("port uring: no ring for another thread: %s", why.text);
	}
	return u->now;
}

static void uring_add_received(struct uring_port *u, const struct uring_rx *rx, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		u->item[u->tail++ % (URING_RINGS * URING_RX_MAX)] = rx[i];
}

static void uring_poll_ring(struct uring_port *u)
{
	struct uring_rx rx[URING_RX_MAX];
	struct uring_ring *r = uring_current(u);

	if (r)
		uring_add_received(u, rx, uring_ring_poll(r, rx));
}

/* ---- receiving ---- */

static int uring_peer_of(struct uring_port *u, const struct sockaddr_in *a)
{
	if (u->last_peer < u->peers && udp_is_same_address(a, &u->peer[u->last_peer]))
		return u->last_peer;
	for (int i = 0; i < u->peers; i++)
		if (udp_is_same_address(a, &u->peer[i]))
			return u->last_peer = i;
	return -1;
}

/* Return the size of each datagram in a buffer; the last one may be shorter. */
static uint32_t uring_segment(struct io_uring_recvmsg_out *out, struct msghdr *m)
{
	for (struct cmsghdr *c = io_uring_recvmsg_cmsg_firsthdr(out, m); c;
	     c = io_uring_recvmsg_cmsg_nexthdr(out, m, c)) {
		int bytes;

		if (c->cmsg_level != SOL_UDP || c->cmsg_type != UDP_GRO ||
		    c->cmsg_len < CMSG_LEN(sizeof bytes))
			continue;
		memcpy(&bytes, CMSG_DATA(c), sizeof bytes);
		if (bytes > 0 && (uint32_t)bytes < out->payloadlen)
			return (uint32_t)bytes;
	}
	return out->payloadlen;
}

/*
 * Take the next frame of a buffer. Returns 1; 0 if it was dropped; -1 if frames that are lent must
 * be returned first. *done: it was the last one. A frame that does not lie on a multiple of 8 bytes
 * is moved to the front of the buffer, when nothing there is lent.
 */
static int uring_frame(struct uring_port *u, struct uring_rx *rx, struct drv_frame *f, int *done)
{
	unsigned char *b = uring_ring_buffer(rx->ring, rx->buffer);
	uint16_t *lent = &rx->ring->rx_lent[rx->buffer];
	struct io_uring_recvmsg_out *out = NULL;
	struct sockaddr_in *from;
	uint32_t bytes;

	*done = 1;
	if (rx->bytes > 0)
		out = io_uring_recvmsg_validate(b, rx->bytes, &rx->ring->rx_message);
	if (!out || out->flags & MSG_TRUNC || out->namelen != sizeof *from || !out->payloadlen)
		goto drop;
	bytes = uring_segment(out, &rx->ring->rx_message);
	if (bytes > u->port.frame_bytes_max)
		goto drop;
	from = io_uring_recvmsg_name(out);
	f->data = b + URING_RX_HEADER + rx->at;
	f->bytes = out->payloadlen - rx->at < bytes ? out->payloadlen - rx->at : bytes;
	f->peer = uring_peer_of(u, from);
	f->cookie = rx->ring;
	if (rx->at % 8) {
		if (*lent > 1) {
			*done = 0;
			return -1;
		}
		f->data = memmove(b + URING_RX_HEADER, f->data, f->bytes);
	}
	*lent += rx->at ? 1 : 2;
	rx->at += f->bytes;
	*done = rx->at == out->payloadlen;
	*lent -= (uint16_t)*done;
	u->port.stat.rx_bytes += f->bytes;
	return 1;
drop:
	u->port.stat.rx_dropped++;
	uring_ring_return(rx->ring, rx->buffer);
	return 0;
}

static int uring_rx(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	struct uring_port *u = (struct uring_port *)p;
	unsigned got = 0;
	int done, rc = 0;

	if (u->head == u->tail)
		uring_poll_ring(u);
	while (got < n && u->head != u->tail && rc >= 0) {
		rc = uring_frame(u, &u->item[u->head % (URING_RINGS * URING_RX_MAX)], &f[got],
				 &done);
		got += rc > 0;
		u->head += (unsigned)done;
	}
	p->stat.rx_frames += got;
	return (int)got;
}

static void uring_rx_done(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct uring_ring *r = f[i].cookie;
		uint16_t buffer = (uint16_t)((size_t)(f[i].data - r->rx_memory) / r->rx_step);

		if (!--r->rx_lent[buffer])
			uring_ring_return(r, buffer);
	}
}

static int uring_arm(struct drv_port *p)
{
	struct uring_port *u = (struct uring_port *)p;
	struct uring_ring *r = uring_current(u);

	if (r && !r->receiving)
		uring_poll_ring(u);
	return r && r->receiving ? uring_ring_arm(r) : -ENOTSUP;
}

/* ---- sending ---- */

static int uring_tx_get(struct drv_port *p, struct drv_frame *f)
{
	struct uring_port *u = (struct uring_port *)p;
	struct uring_ring *r = uring_current(u);
	struct uring_tx *t;

	if (r && !r->tx_free_count)
		uring_poll_ring(u); /* sends without copy may be complete */
	if (!r || !r->tx_free_count) {
		p->stat.tx_busy++;
		return -EAGAIN;
	}
	t = r->tx_free[--r->tx_free_count];
	f->data = t->data;
	f->bytes = p->frame_bytes_max;
	f->cookie = t;
	return 0;
}

static void uring_tx_put(struct drv_port *p, struct drv_frame *f)
{
	struct uring_tx *t = f->cookie;

	t->ring->tx_free[t->ring->tx_free_count++] = t;
}

/* A registered buffer can be used with its own ring only. */
static int uring_is_zc(const struct uring_port *u, const struct drv_frame *f)
{
	const struct uring_tx *t = f->cookie;

	return u->zc_bytes && f->bytes >= u->zc_bytes && t->ring == u->now;
}

/* Queue the first frames of a burst. Returns how many; 0: no room. */
static unsigned uring_queue_burst(struct uring_port *u, struct uring_ring *r, struct drv_frame *f,
				  unsigned n, struct uring_tx **lead)
{
	const struct sockaddr_in *to = &u->peer[f[0].peer];
	struct uring_tx *t[UDP_TRAIN];
	unsigned k = u->zc_bytes ? 1 : udp_count_train(f, n, u->train);
	int rc;

	for (unsigned i = 0; i < k; i++) {
		t[i] = f[i].cookie;
		lead[i] = t[0];
	}
	DRV_ASSERT(k >= 1);
	rc = k > 1 ? uring_ring_send_train(r, t, k, to, f[0].bytes, f[k - 1].bytes)
		   : uring_ring_send(r, t[0], to, f[0].bytes, uring_is_zc(u, f));
	return rc ? 0 : k;
}

/*
 * Return how many of the queued frames were taken, up to the first that found no room. lead: the
 * buffer whose error is that of each frame.
 */
static unsigned uring_count_taken(struct uring_port *u, struct drv_frame *f, struct uring_tx **lead,
				  unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		const struct uring_tx *t = lead[i];

		if (t->error == -EAGAIN || t->error == -ENOBUFS || t->error == -ENOMEM)
			break; /* later ones failed too, or will be sent twice */
		if (t->error && t->message.msg_controllen &&
		    (t->error == -EINVAL || t->error == -EIO || t->error == -EMSGSIZE ||
		     t->error == -EOPNOTSUPP)) {
			u->train = 0; /* the caller offers them again, without a train */
			break;
		}
		if (t->error)
			udp_log_refused(&u->refused, "uring", &u->peer[f[i].peer], t->error);
		if (!f[i].keep && (t->error || !uring_is_zc(u, &f[i])))
			uring_tx_put(&u->port, &f[i]);
		u->port.stat.tx_frames++;
		u->port.stat.tx_bytes += f[i].bytes;
	}
	return i;
}

/* Send a single frame. It needs no ring: the plain system call costs less. */
static int uring_send_one(struct uring_port *u, struct drv_frame *f)
{
	const struct sockaddr_in *to = &u->peer[f->peer];
	struct uring_tx *t = f->cookie;

	t->error =
	    sendto(u->socket, f->data, f->bytes, MSG_DONTWAIT, (const void *)to, sizeof *to) < 0
		? -errno
		: 0;
	t->message.msg_controllen = 0;
	return (int)uring_count_taken(u, f, &t, 1);
}

static int uring_tx_send(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	struct uring_port *u = (struct uring_port *)p;
	struct uring_ring *r = uring_current(u);
	struct uring_rx rx[URING_RX_MAX];
	struct uring_tx *lead[DRV_PORT_BURST];
	unsigned queued = 0, taken = 0, k = 1;

	if (n == 1 && !uring_is_zc(u, f)) {
		taken = (unsigned)uring_send_one(u, f);
		p->stat.tx_busy += !taken;
		return (int)taken;
	}
	if (n > DRV_PORT_BURST)
		n = DRV_PORT_BURST;
	while (r && queued < n && k) {
		k = uring_queue_burst(u, r, f + queued, n - queued, lead + queued);
		queued += k;
	}
	if (queued) {
		uring_add_received(u, rx, uring_ring_submit(r, rx));
		taken = uring_count_taken(u, f, lead, queued);
	}
	p->stat.tx_busy += taken < n;
	return (int)taken;
}

/* ---- peers, opening, closing ---- */

static int uring_peer(struct drv_port *p, const char *address)
{
	struct uring_port *u = (struct uring_port *)p;
	struct sockaddr_in a, *grown;

	if (udp_parse_address(address, 1, &a) || a.sin_addr.s_addr == htonl(INADDR_ANY))
		return -EINVAL;
	for (int i = 0; i < u->peers; i++)
		if (udp_is_same_address(&a, &u->peer[i]))
			return i;
	if (u->peers == DRV_PORT_PEERS_MAX)
		return -ENOSPC;
	grown = realloc(u->peer, sizeof *grown * ((size_t)u->peers + 1));
	if (!grown)
		return -ENOMEM;
	u->peer = grown;
	grown[u->peers] = a;
	return u->peers++;
}

static int uring_address(struct drv_port *p, char *text, size_t bytes)
{
	struct uring_port *u = (struct uring_port *)p;

	return udp_write_address(&u->self, text, bytes);
}

static void uring_close(struct drv_port *p)
{
	struct uring_port *u = (struct uring_port *)p;

	for (unsigned i = 0; i < u->rings; i++)
		uring_ring_destroy(u->ring[i]);
	if (u->socket >= 0)
		udp_close(u->socket);
	free(u->peer);
	free(u);
}

static const struct drv_port_ops uring_ops = {
    .name = "uring",
    .tx_get = uring_tx_get,
    .tx_send = uring_tx_send,
    .tx_put = uring_tx_put,
    .rx = uring_rx,
    .rx_done = uring_rx_done,
    .arm = uring_arm,
    .peer = uring_peer,
    .address = uring_address,
    .close = uring_close,
};

static int uring_parse(const char *args, struct uring_port *u, struct drv_port_why *why)
{
	char word[64], *value;
	uint64_t frame = UDP_FRAME_MAX, zc = 0;
	int rc = drv_port_arg_next(&args, word, sizeof word, &value);

	if (rc <= 0 || value || udp_parse_address(word, 0, &u->self) ||
	    u->self.sin_addr.s_addr == htonl(INADDR_ANY))
		return drv_port_fail(why, -EINVAL,
				     "write uring:ADDRESS or uring:ADDRESS:PORT with an IPv4 "
				     "address of this host that the others reach");
	while ((rc = drv_port_arg_next(&args, word, sizeof word, &value)) > 0) {
		rc = !strcmp(word, "frame") ? drv_port_arg_u64(value, 64, UDP_FRAME_MAX, &frame)
		     : !strcmp(word, "zc")  ? drv_port_arg_u64(value, 0, UDP_FRAME_MAX, &zc)
					    : -EINVAL;
		if (rc)
			return drv_port_fail(why, rc,
					     "'%s': known are frame=BYTES (64 .. 65507) and "
					     "zc=BYTES (0: never)",
					     word);
	}
	if (rc)
		return drv_port_fail(why, rc, "an argument is too long");
	u->port.frame_bytes_max = (uint32_t)frame;
	u->zc_bytes = (uint32_t)zc;
	u->port.keep_max = zc ? 0 : URING_KEPT;
	return 0;
}

/* Use trains if the kernel can join and split datagrams (Linux 4.18 and 5.0) and two frames fit. */
static void uring_enable_trains(struct uring_port *u)
{
	int yes = 1, none = 0;

	u->rx_bytes = u->port.frame_bytes_max;
	if (setsockopt(u->socket, SOL_UDP, UDP_GRO, &yes, sizeof yes))
		return;
	u->rx_bytes = URING_RX_TRAIN;
	if (!setsockopt(u->socket, SOL_UDP, UDP_SEGMENT, &none, sizeof none) &&
	    u->port.frame_bytes_max <= UDP_TRAIN_BYTES / 2)
		u->train = u->port.frame_bytes_max;
}

/* Start receiving once: a kernel without multishot recvmsg with buffers refuses it at once. */
static int uring_test_receive(struct uring_port *u, struct drv_port_why *why)
{
	int rc = uring_switch(u, uring_thread(), why);

	if (rc)
		return rc;
	uring_poll_ring(u);
	uring_poll_ring(u);
	if (!u->now->receiving)
		return drv_port_fail(why, -ENOSYS,
				     "this kernel's io_uring cannot receive repeatedly; it needs "
				     "Linux 6.1 or later");
	return 0;
}

static int uring_open(const char *args, struct drv_port **port, struct drv_port_why *why)
{
	struct uring_port *u = calloc(1, sizeof *u);
	int rc;

	if (!u)
		return -ENOMEM;
	u->socket = -1;
	u->port.ops = &uring_ops;
	rc = uring_parse(args, u, why);
	if (!rc)
		rc = udp_open(&u->socket, &u->self, &u->port.frame_bytes_max, why);
	if (!rc)
		uring_enable_trains(u);
	if (!rc)
		rc = uring_test_receive(u, why);
	if (rc) {
		uring_close(&u->port);
		return rc;
	}
	*port = &u->port;
	return 0;
}

DRV_PORT_MODULE(uring_open, NULL);
