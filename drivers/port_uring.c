/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uring: UDP over IPv4 through io_uring. A module (liburing). No root needed.
 *
 *   spec      uring:ADDRESS[:PORT][,frame=BYTES][,zc=BYTES]
 *             ADDRESS is one of this host's; PORT 0 (default): the kernel chooses. frame= lowers
 *             what the interface's MTU gives. zc=: frames from this size on are sent from
 *             registered buffers without a copy (pays on real NICs; veth and loopback copy anyway)
 *   address   ADDRESS:PORT
 *
 * Receiving is one multishot recvmsg that fills buffers of a provided ring. A poll that finds
 * nothing reads two words of memory: the completion queue's tail, and the flag by which the
 * kernel says that it has work to finish in our thread; only then the kernel is entered.
 *
 * That work belongs to the thread that started the request. When another thread polls, it starts
 * a receive of its own and cancels the old one, so that a thread that computes delays nothing.
 *
 * A send burst is one system call. UDP sends without a copy-free path are done when it returns,
 * so their buffers are free at once, and a full socket buffer is seen and is "not now".
 */
#define _GNU_SOURCE
#include "drivers/port_driver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <liburing.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define URING_TX          64u
#define URING_RX_BYTES    (2u << 20) /* about so much memory for receive buffers, 64 .. 256 of them */
#define URING_RX_MAX      256u
#define URING_FRAME_MAX   65507u
#define URING_UDP_HEADERS 28u /* IPv4 and UDP */
#define URING_SOCKET      (8 << 20)
#define URING_GROUP       0

/* Before the data in a receive buffer: what recvmsg tells, and the sender's address. */
#define URING_RX_HEADER (sizeof(struct io_uring_recvmsg_out) + sizeof(struct sockaddr_in))

_Static_assert(URING_RX_HEADER % 16 == 0, "data is 16-byte aligned");

enum uring_kind { URING_RECEIVE = 1, URING_SEND, URING_SEND_ZC, URING_CANCEL };

struct uring_tx {
	struct msghdr message;
	struct iovec iov;
	unsigned char *data;
	uint32_t index;
	int error; /* of the last send */
};

struct uring_rx_item {
	uint16_t buffer;
	int32_t bytes;
};

struct uring_port {
	struct drv_port port;
	struct io_uring ring;
	int ring_open, socket;
	struct sockaddr_in self;
	uint32_t zc_bytes; /* 0: never */

	const void *owner;  /* thread that the receive runs in */
	uint32_t receive;   /* number of the receive that counts */
	int receiving;
	struct msghdr rx_message;
	struct io_uring_buf_ring *rx_ring;
	size_t rx_ring_bytes, rx_step;
	unsigned char *rx_memory;
	uint32_t rx_buffers, rx_free; /* all; with the kernel */
	struct uring_rx_item rx_item[URING_RX_MAX]; /* received, not lent yet */
	uint32_t rx_head, rx_tail;

	struct uring_tx tx[URING_TX], *tx_free[URING_TX];
	unsigned tx_free_count;
	unsigned char *tx_memory;

	struct sockaddr_in *peer;
	int peers, last_peer;
};

static uint64_t uring_tag(enum uring_kind kind, uint32_t number)
{
	return (uint64_t)kind << 32 | number;
}

/* A place in the submission queue; the kernel is entered when it is full. */
static struct io_uring_sqe *uring_sqe(struct uring_port *u)
{
	struct io_uring_sqe *e = io_uring_get_sqe(&u->ring);

	if (!e) {
		io_uring_submit(&u->ring);
		e = io_uring_get_sqe(&u->ring);
	}
	return e;
}

/* ---- receiving ---- */

static unsigned char *uring_rx_buffer(const struct uring_port *u, uint16_t i)
{
	return u->rx_memory + u->rx_step * i;
}

static void uring_rx_return(struct uring_port *u, uint16_t i, int at)
{
	io_uring_buf_ring_add(u->rx_ring, uring_rx_buffer(u, i), (unsigned)u->rx_step, i,
	                      io_uring_buf_ring_mask(u->rx_buffers), at);
}

static void uring_rx_returned(struct uring_port *u, int count)
{
	io_uring_buf_ring_advance(u->rx_ring, count);
	u->rx_free += (uint32_t)count;
}

/* Start the receive of this thread; the one of another thread ends. */
static void uring_receive(struct uring_port *u, const void *thread)
{
	struct io_uring_sqe *e;

	if (u->receiving) {
		e = uring_sqe(u);
		if (!e)
			return;
		io_uring_prep_cancel64(e, uring_tag(URING_RECEIVE, u->receive), 0);
		io_uring_sqe_set_data64(e, uring_tag(URING_CANCEL, 0));
		io_uring_sqe_set_flags(e, IOSQE_CQE_SKIP_SUCCESS);
	}
	e = uring_sqe(u);
	if (!e)
		return;
	io_uring_prep_recvmsg_multishot(e, u->socket, &u->rx_message, 0);
	io_uring_sqe_set_data64(e, uring_tag(URING_RECEIVE, ++u->receive));
	io_uring_sqe_set_flags(e, IOSQE_BUFFER_SELECT);
	e->buf_group = URING_GROUP;
	u->receiving = 1;
	u->owner = thread;
	io_uring_submit(&u->ring);
}

static void uring_on_receive(struct uring_port *u, const struct io_uring_cqe *c)
{
	if (c->flags & IORING_CQE_F_BUFFER) {
		struct uring_rx_item *item = &u->rx_item[u->rx_tail++ % URING_RX_MAX];

		item->buffer = (uint16_t)(c->flags >> IORING_CQE_BUFFER_SHIFT);
		item->bytes = c->res;
		u->rx_free--;
	}
	if (!(c->flags & IORING_CQE_F_MORE) && (uint32_t)c->user_data == u->receive)
		u->receiving = 0;
}

static void uring_on_send(struct uring_port *u, const struct io_uring_cqe *c)
{
	struct uring_tx *t = &u->tx[(uint32_t)c->user_data % URING_TX];

	if (c->res < 0 && !(c->flags & IORING_CQE_F_NOTIF))
		t->error = c->res;
	/* A copy-free send gives its buffer back with its last completion. */
	if (c->user_data >> 32 == URING_SEND_ZC && !(c->flags & IORING_CQE_F_MORE) && !t->error)
		u->tx_free[u->tx_free_count++] = t;
}

/* Take all completions. */
static void uring_drain(struct uring_port *u)
{
	struct io_uring_cqe *c;
	unsigned head, count = 0;

	io_uring_for_each_cqe(&u->ring, head, c) {
		if (c->user_data >> 32 == URING_RECEIVE)
			uring_on_receive(u, c);
		else if (c->user_data >> 32 != URING_CANCEL)
			uring_on_send(u, c);
		count++;
	}
	io_uring_cq_advance(&u->ring, count);
}

/* Completions that are there, or that the kernel has ready for us. */
static void uring_look(struct uring_port *u)
{
	static __thread char thread;

	if (__builtin_expect(!u->receiving || u->owner != &thread, 0) && u->rx_free)
		uring_receive(u, &thread);
	if (!io_uring_cq_ready(&u->ring)) {
		unsigned flags = __atomic_load_n(u->ring.sq.kflags, __ATOMIC_RELAXED);

		if (!(flags & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)))
			return;
		io_uring_get_events(&u->ring);
	}
	uring_drain(u);
}

static int uring_same(const struct sockaddr_in *a, const struct sockaddr_in *b)
{
	return a->sin_addr.s_addr == b->sin_addr.s_addr && a->sin_port == b->sin_port;
}

static int uring_peer_of(struct uring_port *u, const struct sockaddr_in *a)
{
	if (u->last_peer < u->peers && uring_same(a, &u->peer[u->last_peer]))
		return u->last_peer;
	for (int i = 0; i < u->peers; i++)
		if (uring_same(a, &u->peer[i]))
			return u->last_peer = i;
	return -1;
}

/* One received datagram: 1 when it is a frame, 0 dropped. */
static int uring_rx_frame(struct uring_port *u, const struct uring_rx_item *item, struct drv_frame *f)
{
	unsigned char *b = uring_rx_buffer(u, item->buffer);
	struct io_uring_recvmsg_out *out = NULL;
	struct sockaddr_in *from;

	if (item->bytes > 0)
		out = io_uring_recvmsg_validate(b, item->bytes, &u->rx_message);
	if (!out || out->flags & MSG_TRUNC || out->namelen != sizeof *from || !out->payloadlen ||
	    out->payloadlen > u->port.frame_bytes_max) {
		u->port.stat.rx_dropped++;
		uring_rx_return(u, item->buffer, 0);
		uring_rx_returned(u, 1);
		return 0;
	}
	from = io_uring_recvmsg_name(out);
	f->data = b + URING_RX_HEADER;
	f->bytes = out->payloadlen;
	f->peer = uring_peer_of(u, from);
	f->cookie = (void *)(uintptr_t)item->buffer;
	u->port.stat.rx_bytes += f->bytes;
	return 1;
}

static int uring_rx(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	struct uring_port *u = (struct uring_port *)p;
	unsigned got = 0;

	if (u->rx_head == u->rx_tail || !u->receiving)
		uring_look(u);
	while (got < n && u->rx_head != u->rx_tail)
		got += (unsigned)uring_rx_frame(u, &u->rx_item[u->rx_head++ % URING_RX_MAX], &f[got]);
	p->stat.rx_frames += got;
	return (int)got;
}

static void uring_rx_done(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	struct uring_port *u = (struct uring_port *)p;

	for (unsigned i = 0; i < n; i++)
		uring_rx_return(u, (uint16_t)(uintptr_t)f[i].cookie, (int)i);
	uring_rx_returned(u, (int)n);
}

/* The ring's descriptor polls readable while completions are there. */
static int uring_arm(struct drv_port *p)
{
	struct uring_port *u = (struct uring_port *)p;

	uring_look(u);
	return u->receiving ? u->ring.ring_fd : -ENOTSUP;
}

/* ---- sending ---- */

static int uring_tx_get(struct drv_port *p, struct drv_frame *f)
{
	struct uring_port *u = (struct uring_port *)p;
	struct uring_tx *t;

	if (!u->tx_free_count)
		uring_look(u); /* copy-free sends may be done */
	if (!u->tx_free_count) {
		p->stat.tx_busy++;
		return -EAGAIN;
	}
	t = u->tx_free[--u->tx_free_count];
	f->data = t->data;
	f->bytes = p->frame_bytes_max;
	f->cookie = t;
	return 0;
}

static void uring_tx_put(struct drv_port *p, struct drv_frame *f)
{
	struct uring_port *u = (struct uring_port *)p;

	u->tx_free[u->tx_free_count++] = f->cookie;
}

static int uring_is_zc(const struct uring_port *u, const struct drv_frame *f)
{
	return u->zc_bytes && f->bytes >= u->zc_bytes;
}

static void uring_prep(struct uring_port *u, struct io_uring_sqe *e, const struct drv_frame *f)
{
	struct uring_tx *t = f->cookie;
	struct sockaddr_in *to = &u->peer[f->peer];

	t->error = 0;
	if (uring_is_zc(u, f)) {
		io_uring_prep_send_zc_fixed(e, u->socket, t->data, f->bytes, MSG_DONTWAIT, 0, 0);
		io_uring_prep_send_set_addr(e, (struct sockaddr *)to, sizeof *to);
		io_uring_sqe_set_data64(e, uring_tag(URING_SEND_ZC, t->index));
		return;
	}
	t->message.msg_name = to;
	t->message.msg_namelen = sizeof *to;
	t->iov.iov_len = f->bytes;
	io_uring_prep_sendmsg(e, u->socket, &t->message, MSG_DONTWAIT);
	io_uring_sqe_set_data64(e, uring_tag(URING_SEND, t->index));
	io_uring_sqe_set_flags(e, IOSQE_CQE_SKIP_SUCCESS);
}

static int uring_tx_send(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	struct uring_port *u = (struct uring_port *)p;
	unsigned queued = 0, taken;

	for (struct io_uring_sqe *e; queued < n && (e = uring_sqe(u)); queued++)
		uring_prep(u, e, &f[queued]);
	io_uring_submit(&u->ring);
	uring_drain(u);
	for (taken = 0; taken < queued; taken++) {
		const struct uring_tx *t = f[taken].cookie;

		if (t->error == -EAGAIN || t->error == -ENOBUFS || t->error == -ENOMEM)
			break; /* those behind it failed too, or are sent twice when offered again */
		if (t->error || !uring_is_zc(u, &f[taken]))
			uring_tx_put(p, &f[taken]);
		p->stat.tx_frames++;
		p->stat.tx_bytes += f[taken].bytes;
	}
	p->stat.tx_busy += taken < n;
	return (int)taken;
}

/* ---- peers, opening, closing ---- */

/* "1.2.3.4:567" or, where a port may be left out, "1.2.3.4": 0 or -EINVAL. */
static int uring_parse_address(const char *text, int need_port, struct sockaddr_in *a)
{
	const char *colon = strchr(text, ':');
	char host[INET_ADDRSTRLEN];
	size_t n = colon ? (size_t)(colon - text) : strlen(text);
	uint64_t port = 0;

	if (n >= sizeof host || (need_port && !colon))
		return -EINVAL;
	memcpy(host, text, n);
	host[n] = 0;
	memset(a, 0, sizeof *a);
	a->sin_family = AF_INET;
	if (inet_pton(AF_INET, host, &a->sin_addr) != 1)
		return -EINVAL;
	if (colon && drv_port_arg_u64(colon + 1, need_port ? 1 : 0, 65535, &port))
		return -EINVAL;
	a->sin_port = htons((uint16_t)port);
	return 0;
}

static int uring_peer(struct drv_port *p, const char *address)
{
	struct uring_port *u = (struct uring_port *)p;
	struct sockaddr_in a, *grown;

	if (uring_parse_address(address, 1, &a) || a.sin_addr.s_addr == htonl(INADDR_ANY))
		return -EINVAL;
	for (int i = 0; i < u->peers; i++)
		if (uring_same(&a, &u->peer[i]))
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
	char host[INET_ADDRSTRLEN];
	int n;

	inet_ntop(AF_INET, &u->self.sin_addr, host, sizeof host);
	n = snprintf(text, bytes, "%s:%u", host, ntohs(u->self.sin_port));
	return n < 0 || (size_t)n >= bytes ? -ENOSPC : 0;
}

static void uring_close(struct drv_port *p)
{
	struct uring_port *u = (struct uring_port *)p;

	if (u->receiving) { /* or the kernel keeps the socket, and its UDP port, for a while */
		struct io_uring_sync_cancel_reg all = {
			.fd = -1,
			.flags = IORING_ASYNC_CANCEL_ALL | IORING_ASYNC_CANCEL_ANY,
			.timeout = { .tv_sec = 0, .tv_nsec = 100000000 },
		};

		io_uring_register_sync_cancel(&u->ring, &all);
	}
	if (u->ring_open)
		io_uring_queue_exit(&u->ring);
	if (u->socket >= 0)
		close(u->socket);
	if (u->rx_ring)
		munmap(u->rx_ring, u->rx_ring_bytes);
	free(u->rx_memory);
	free(u->tx_memory);
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
	uint64_t frame = URING_FRAME_MAX, zc = 0;
	int rc = drv_port_arg_next(&args, word, sizeof word, &value);

	if (rc <= 0 || value || uring_parse_address(word, 0, &u->self) ||
	    u->self.sin_addr.s_addr == htonl(INADDR_ANY))
		return drv_port_fail(why, -EINVAL, "write uring:ADDRESS or uring:ADDRESS:PORT with an IPv4 "
		                                   "address of this host that the others reach");
	while ((rc = drv_port_arg_next(&args, word, sizeof word, &value)) > 0) {
		rc = !strcmp(word, "frame") ? drv_port_arg_u64(value, 64, URING_FRAME_MAX, &frame) :
		     !strcmp(word, "zc")    ? drv_port_arg_u64(value, 0, URING_FRAME_MAX, &zc) :
		                              -EINVAL;
		if (rc)
			return drv_port_fail(why, rc, "'%s': known are frame=BYTES (64 .. 65507) and "
			                              "zc=BYTES (0: never)", word);
	}
	if (rc)
		return drv_port_fail(why, rc, "an argument is too long");
	u->port.frame_bytes_max = (uint32_t)frame;
	u->zc_bytes = (uint32_t)zc;
	return 0;
}

/* The MTU of the interface with our address bounds the frame; 127.0.0.0/8 is all loopback's. */
static int uring_mtu(struct uring_port *u, struct drv_port_why *why)
{
	struct ifaddrs *all, *i;
	struct ifreq r = { 0 };
	uint32_t room;

	if (getifaddrs(&all))
		return drv_port_fail(why, -errno, "interfaces cannot be listed: %s", strerror(errno));
	for (i = all; i; i = i->ifa_next) {
		const struct sockaddr_in *a = (const void *)i->ifa_addr;

		if (!a || a->sin_family != AF_INET)
			continue;
		if (a->sin_addr.s_addr == u->self.sin_addr.s_addr ||
		    (ntohl(u->self.sin_addr.s_addr) >> 24 == 127 && i->ifa_flags & IFF_LOOPBACK))
			break;
	}
	if (i)
		snprintf(r.ifr_name, sizeof r.ifr_name, "%s", i->ifa_name);
	freeifaddrs(all);
	if (!r.ifr_name[0])
		return drv_port_fail(why, -EADDRNOTAVAIL, "no interface of this network namespace has that "
		                                          "address; 'ip addr' lists them");
	r.ifr_name[strcspn(r.ifr_name, ":")] = 0; /* an alias is on the interface before the colon */
	if (ioctl(u->socket, SIOCGIFMTU, &r))
		return drv_port_fail(why, -errno, "no MTU of %s: %s", r.ifr_name, strerror(errno));
	room = r.ifr_mtu > 92 ? (uint32_t)r.ifr_mtu - URING_UDP_HEADERS : 64;
	if (u->port.frame_bytes_max > room)
		u->port.frame_bytes_max = room;
	return 0;
}

static void uring_socket_room(int socket, int force, int plain)
{
	int bytes = URING_SOCKET;

	if (setsockopt(socket, SOL_SOCKET, force, &bytes, sizeof bytes))
		setsockopt(socket, SOL_SOCKET, plain, &bytes, sizeof bytes);
}

static int uring_socket(struct uring_port *u, struct drv_port_why *why)
{
	/* Frames go whole or not at all; what the path carries is found out above. */
	int whole = IP_PMTUDISC_PROBE;
	socklen_t n = sizeof u->self;
	int rc;

	u->socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (u->socket < 0)
		return drv_port_fail(why, -errno, "no socket: %s", strerror(errno));
	rc = uring_mtu(u, why);
	if (rc)
		return rc;
	setsockopt(u->socket, IPPROTO_IP, IP_MTU_DISCOVER, &whole, sizeof whole);
	uring_socket_room(u->socket, SO_RCVBUFFORCE, SO_RCVBUF);
	uring_socket_room(u->socket, SO_SNDBUFFORCE, SO_SNDBUF);
	if (bind(u->socket, (struct sockaddr *)&u->self, sizeof u->self))
		return drv_port_fail(why, -errno, "cannot bind: %s%s", strerror(errno),
		                     errno == EADDRINUSE ? "; leave the port number out or take another" : "");
	if (getsockname(u->socket, (struct sockaddr *)&u->self, &n))
		return -errno;
	return 0;
}

/* Without interrupting the thread where the kernel can (5.19), else plain. */
static int uring_ring(struct uring_port *u, struct drv_port_why *why)
{
	struct io_uring_params p = { .flags = IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG |
	                                      IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CQSIZE,
		                     .cq_entries = 4 * URING_RX_MAX };
	int rc = io_uring_queue_init_params(2 * URING_TX, &u->ring, &p);

	if (rc == -ENOSYS || rc == -EPERM)
		return drv_port_fail(why, rc, "io_uring is not permitted here (%s); see sysctl "
		                              "kernel.io_uring_disabled and the container's seccomp profile, "
		                              "or take another driver", strerror(-rc));
	if (rc == -ENOMEM)
		return drv_port_fail(why, rc, "no memory may be locked for io_uring; raise ulimit -l");
	if (rc)
		return drv_port_fail(why, rc, "io_uring does not start (%s); it needs Linux 6.0 or later",
		                     strerror(-rc));
	u->ring_open = 1;
	return 0;
}

static int uring_buffers(struct uring_port *u, struct drv_port_why *why)
{
	struct io_uring_buf_reg reg = { .bgid = URING_GROUP };
	uint32_t step = (u->port.frame_bytes_max + 63) & ~63u;
	struct iovec tx;
	int rc;

	u->rx_step = (URING_RX_HEADER + u->port.frame_bytes_max + 63) & ~(size_t)63;
	for (u->rx_buffers = URING_RX_MAX; u->rx_buffers > 64; u->rx_buffers /= 2)
		if (u->rx_buffers * u->rx_step <= URING_RX_BYTES)
			break;
	u->rx_memory = aligned_alloc(64, u->rx_step * u->rx_buffers);
	u->tx_memory = aligned_alloc(4096, (step * URING_TX + 4095) & ~4095u);
	u->rx_ring_bytes = u->rx_buffers * sizeof(struct io_uring_buf);
	u->rx_ring = mmap(NULL, u->rx_ring_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (u->rx_ring == MAP_FAILED)
		u->rx_ring = NULL;
	if (!u->rx_memory || !u->tx_memory || !u->rx_ring)
		return -ENOMEM;
	reg.ring_addr = (uintptr_t)u->rx_ring;
	reg.ring_entries = u->rx_buffers;
	rc = io_uring_register_buf_ring(&u->ring, &reg, 0);
	if (rc)
		return drv_port_fail(why, rc, "io_uring has no buffer rings (%s); it needs Linux 6.0 or later",
		                     strerror(-rc));
	io_uring_buf_ring_init(u->rx_ring);
	for (uint32_t i = 0; i < u->rx_buffers; i++)
		uring_rx_return(u, (uint16_t)i, (int)i);
	uring_rx_returned(u, (int)u->rx_buffers);
	for (uint32_t i = 0; i < URING_TX; i++) {
		struct uring_tx *t = &u->tx[i];

		t->index = i;
		t->data = u->tx_memory + (size_t)step * i;
		t->iov.iov_base = t->data;
		t->message.msg_iov = &t->iov;
		t->message.msg_iovlen = 1;
		u->tx_free[u->tx_free_count++] = t;
	}
	tx.iov_base = u->tx_memory;
	tx.iov_len = (size_t)step * URING_TX;
	rc = u->zc_bytes ? io_uring_register_buffers(&u->ring, &tx, 1) : 0;
	if (rc)
		return drv_port_fail(why, rc, "the send buffers cannot be registered (%s); raise ulimit -l, or "
		                              "leave zc= out", strerror(-rc));
	return 0;
}

/* Multishot recvmsg is the youngest thing we need: an old kernel refuses it at once. */
static int uring_try(struct uring_port *u, struct drv_port_why *why)
{
	u->rx_message.msg_namelen = sizeof(struct sockaddr_in);
	uring_look(u);
	uring_drain(u);
	if (!u->receiving)
		return drv_port_fail(why, -ENOSYS, "this kernel's io_uring cannot receive repeatedly; it needs "
		                                   "Linux 6.0 or later");
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
		rc = uring_socket(u, why);
	if (!rc)
		rc = uring_ring(u, why);
	if (!rc)
		rc = uring_buffers(u, why);
	if (!rc)
		rc = uring_try(u, why);
	if (rc) {
		uring_close(&u->port);
		return rc;
	}
	*port = &u->port;
	return 0;
}

DRV_PORT_MODULE(uring_open);
