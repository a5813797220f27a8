/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dpdk: Ethernet frames through any DPDK ethdev. A port has one receive and one transmit queue. A
 * module.
 *
 *   spec      dpdk:net_af_packet,iface=eth0  dpdk:net_af_xdp,iface=eth0  dpdk:net_memif,id=0,...
 *             dpdk:0000:3b:00.0[,mtu=9000]   (mtu= lowers what the device offers)
 *   address   the MAC, aa:bb:cc:dd:ee:ff
 *
 *     0     6     12     14      16
 *     | dst | src | 88b5 | bytes | data ...           bytes: little-endian
 *
 * Ethernet pads frames to 60 bytes, so each frame contains its length. The header has 16 bytes and
 * the buffer is aligned to 64 bytes, so data is aligned to 16 bytes at both ends (if the device
 * keeps the alignment).
 *
 * With queues=N a port is opened for each queue of the device, and each has buffers of its own:
 * net_memif, net_vhost and net_virtio_user lead queue k to queue k of the other end.
 *
 * Hot: drv_port_tx_send(), drv_port_rx(). Bench: bench/micro/wire.c.
 */
#define _GNU_SOURCE
#include "drivers/port_dpdk.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "drivers/base/log.h"

#ifndef AF_XDP
#define AF_XDP 44
#endif
#define DPDK_TX_LENT 256u /* limits lent buffers, so that receiving always finds some */
#define DPDK_KEPT    512u /* the same for those that the caller keeps after sending */
#define DPDK_MIN     60u
#define DPDK_DESCS   512u
#define RECONNECT_US 10000u
/* A client that was connected looks once in so many polls whether it still is; a power of two. */
#define LINK_POLLS   16u
#define HANDSHAKE_US 500000u
#define WAITS_MAX    20u
#define CONNECT_US   2000000u /* two handshakes, and the server may open later than the client */
/* Handshakes that no server answers until the port says so. */
#define HANDSHAKES_WARN 6u
#define XDP_HINT        "; XDP needs root, and on veth an MTU of at most 3498 at both ends"

/* A device. The ports of its queues share it, and threads may use them at the same time. */
struct dpdk_nic {
	struct dpdk_device device;
	uint16_t id;
	struct rte_ether_addr mac;
	int fd;       /* socket of the device; -1: the port cannot sleep */
	int releaser; /* io_uring with the packet socket (dpdk_release_later()); -1: none */
	int probed;
	atomic_u32 is_started;

	int is_client; /* client end of a memif */
	atomic_u64 reconnect_ticks;
	uint64_t connect_ticks; /* see struct dpdk_port */
	atomic_u32 connecting;  /* a thread is in dpdk_reconnect() */
	unsigned handshakes;    /* that were tried before the first frame left */
	atomic_u32 was_connected;
	uint32_t lines; /* dpdk_memif_lines when the client was started */
	unsigned waits; /* handshakes for which a server that says nothing was waited for */

	unsigned queues; /* of the device */
	unsigned ports;  /* the first of them have a port and a pool each */
	unsigned users;  /* ports that are open; protected by open_lock */
	struct rte_mempool *pool[DRV_PORT_QUEUES_MAX];
};

struct dpdk_port {
	struct drv_port port;
	struct dpdk_nic *nic;
	uint16_t id, queue;
	unsigned tx_lent;
	struct rte_mempool *pool;
	struct rte_ether_addr mac;
	struct dpdk_bursts bursts; /* memif */
	/* memif: until then frames wait for the first connection; 0: it came */
	uint64_t connect_ticks;
	unsigned polls; /* of a memif client */

	struct rte_mbuf_ext_shared_info shared; /* of the memory of others that frames contain */
	struct rte_ether_addr *peer;
	int peers;
	int last_peer; /* the most likely sender */
};

struct dpdk_header {
	struct rte_ether_addr dst, src;
	uint16_t ethertype; /* big-endian */
	uint16_t bytes;     /* little-endian */
};

_Static_assert(sizeof(struct dpdk_header) == DPDK_HEADER_BYTES, "16-byte header");

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;

static bool has_link(const struct dpdk_nic *c)
{
	struct rte_eth_link link;

	return !rte_eth_link_get_nowait(c->id, &link) && link.link_status;
}

/* In EAL's thread. Stopping logs nothing before it acts. */
static void restart_device(void *nic)
{
	struct dpdk_nic *c = nic;

	dpdk_bursts_hold();
	if (atomic_exchange_acq_rel(&c->is_started, 0))
		rte_eth_dev_stop(c->id);
	atomic_store_release(&c->is_started, !rte_eth_dev_start(c->id));
	c->lines = atomic_load_relaxed(&dpdk_memif_lines);
	c->waits = 0;
}

/*
 * Start a memif client again. EAL's thread does it, since that thread also notices when the server
 * ends a connection, and two threads would close the same descriptors.
 */
static void restart(struct dpdk_nic *c)
{
	dpdk_eal_run_alone(restart_device, c);
	if (!atomic_load_relaxed(&c->is_started) || atomic_load_relaxed(&c->was_connected))
		return;
	if (++c->handshakes == HANDSHAKES_WARN && c->queues > 1)
		drv_warn("dpdk: the server of %s ends each connection: both ends of a memif need "
			 "the same queues=%u",
			 c->device.args, c->queues);
}

/*
 * The server has a connection but did not accept it yet. A client that leaves then makes a server
 * of 22.11 panic, or block in a handler: it keeps the handler of a socket that it has closed.
 */
static bool is_unanswered(struct dpdk_nic *c)
{
	return atomic_load_relaxed(&c->is_started) &&
	       atomic_load_relaxed(&dpdk_memif_lines) == c->lines && ++c->waits < WAITS_MAX;
}

static uint64_t ticks_to_next_try(const struct dpdk_nic *c)
{
	return (atomic_load_relaxed(&c->is_started) ? HANDSHAKE_US : RECONNECT_US) *
	       drv_clock_ticks_per_us();
}

/*
 * A memif client connects once, when it is started. Starting fails if there is no server yet, and a
 * server that is being opened refuses the connection. So start the client again while there is no
 * link, but not while it may be shaking hands, which the PMD does not survive.
 */
static void dpdk_reconnect(struct dpdk_nic *c)
{
	uint64_t now = drv_clock_ticks();

	if (now < atomic_load_relaxed(&c->reconnect_ticks) ||
	    atomic_exchange_acquire(&c->connecting, 1))
		return;
	if (!has_link(c) && now >= atomic_load_relaxed(&c->reconnect_ticks) && !is_unanswered(c))
		restart(c);
	atomic_store_relaxed(&c->reconnect_ticks, now + ticks_to_next_try(c));
	atomic_store_release(&c->connecting, 0);
}

static int dpdk_tx_get(struct drv_port *p, struct drv_frame *f)
{
	struct dpdk_port *d = (struct dpdk_port *)p;
	struct rte_mbuf *m =
	    d->tx_lent < DPDK_TX_LENT + p->keep_max ? rte_pktmbuf_alloc(d->pool) : NULL;

	if (!m) {
		p->stat.tx_busy++;
		return -EAGAIN;
	}
	d->tx_lent++;
	f->data = rte_pktmbuf_mtod_offset(m, unsigned char *, DPDK_HEADER_BYTES);
	f->bytes = p->frame_bytes_max;
	f->cookie = m;
	return 0;
}

static void dpdk_tx_put(struct drv_port *p, struct drv_frame *f)
{
	((struct dpdk_port *)p)->tx_lent--;
	rte_pktmbuf_free(f->cookie);
}

/* bytes: of the whole frame. */
static void fill_header(const struct dpdk_port *d, const struct drv_frame *f, uint32_t bytes)
{
	struct dpdk_header *h =
	    rte_pktmbuf_mtod((struct rte_mbuf *)f->cookie, struct dpdk_header *);

	h->dst = d->peer[f->peer];
	h->src = d->mac;
	h->ethertype = htons(DPDK_ETHERTYPE);
	h->bytes = rte_cpu_to_le_16((uint16_t)bytes);
}

static struct rte_mbuf *dpdk_frame_finish(const struct dpdk_port *d, const struct drv_frame *f)
{
	struct rte_mbuf *m = f->cookie;
	unsigned char *h = rte_pktmbuf_mtod(m, unsigned char *);
	uint32_t bytes = DPDK_HEADER_BYTES + f->bytes;

	fill_header(d, f, f->bytes);
	if (bytes < DPDK_MIN) {
		memset(h + bytes, 0, DPDK_MIN - bytes);
		bytes = DPDK_MIN;
	}
	m->data_len = (uint16_t)bytes;
	m->pkt_len = bytes;
	if (f->keep)
		rte_mbuf_refcnt_update(m, 1); /* the driver and the device drop one reference */
	return m;
}

/* True if the device takes nothing because its other end, or the device itself, is absent. */
static int dpdk_is_cut(const struct dpdk_nic *c)
{
	struct ifreq r = {0};
	int fd, down;

	if (c->device.kind != DPDK_AF_PACKET && c->device.kind != DPDK_AF_XDP)
		return !has_link(c);
	/*
	 * The socket of the port belongs to its network namespace even if the thread has left it.
	 */
	fd = c->device.kind == DPDK_AF_PACKET ? c->fd
					      : socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	memcpy(r.ifr_name, c->device.iface, sizeof r.ifr_name);
	down = ioctl(fd, SIOCGIFFLAGS, &r) || !(r.ifr_flags & IFF_UP);
	if (fd != c->fd)
		close(fd);
	return down;
}

/*
 * Frames that a cut device does not take are lost, as on a cable; otherwise they stay with the
 * caller. A memif that has just been opened is not cut: EAL's thread still connects it.
 */
static unsigned dpdk_lose_if_cut(struct dpdk_port *d, struct rte_mbuf **m, unsigned n)
{
	bool is_cut = dpdk_is_cut(d->nic);

	if (is_cut && d->nic->is_client)
		dpdk_reconnect(d->nic);
	if (!is_cut || drv_clock_ticks() < d->connect_ticks) {
		d->port.stat.tx_busy++;
		return 0;
	}
	for (unsigned i = 0; i < n; i++)
		rte_pktmbuf_free(m[i]);
	return n;
}

/*
 * A memif changes beside its bursts (port_dpdk_bursts.c). DPDK complains of bursts of a device that
 * is not started.
 */
static bool begin_burst(struct dpdk_port *d)
{
	if (d->nic->device.kind != DPDK_MEMIF)
		return true;
	if (!dpdk_burst_begin(&d->bursts))
		return false;
	if (atomic_load_acquire(&d->nic->is_started))
		return true;
	dpdk_burst_end(&d->bursts);
	return false;
}

/* Send or receive, as the inline function of DPDK that is given. */
static inline unsigned run_burst(struct dpdk_port *d, struct rte_mbuf **m, uint16_t n,
				 uint16_t (*burst)(uint16_t, uint16_t, struct rte_mbuf **,
						   uint16_t))
{
	unsigned done;

	if (!begin_burst(d))
		return 0;
	done = burst(d->id, d->queue, m, n);
	dpdk_burst_end(&d->bursts);
	return done;
}

static void note_connection(struct dpdk_port *d)
{
	d->connect_ticks = 0;
	atomic_store_relaxed(&d->nic->was_connected, 1);
}

static int dpdk_tx_send(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	struct dpdk_port *d = (struct dpdk_port *)p;
	struct rte_mbuf *m[DRV_PORT_BURST];
	unsigned sent;

	if (n > DRV_PORT_BURST)
		n = DRV_PORT_BURST;
	for (unsigned i = 0; i < n; i++)
		m[i] = dpdk_frame_finish(d, &f[i]);
	sent = run_burst(d, m, (uint16_t)n, rte_eth_tx_burst);
	if (__builtin_expect(sent < n, 0))
		sent += dpdk_lose_if_cut(d, m + sent, n - sent);
	else if (__builtin_expect(d->connect_ticks != 0, 0))
		note_connection(d);
	p->stat.tx_frames += sent;
	for (unsigned i = 0; i < sent; i++) {
		d->tx_lent -= !f[i].keep;
		p->stat.tx_bytes += f[i].bytes;
	}
	for (unsigned i = sent; i < n; i++)
		if (f[i].keep)
			rte_mbuf_refcnt_update(m[i], -1);
	return (int)sent;
}

/* Nothing is to be freed: the memory belongs to the caller of dpdk_tx_gather(). */
static void keep_shared(void *addr, void *arg)
{
	(void)addr;
	(void)arg;
}

/* The driver of memif copies all segments of a frame before it returns. */
static int dpdk_tx_gather(struct drv_port *p, struct drv_frame *f, const void *data, uint32_t bytes)
{
	struct dpdk_port *d = (struct dpdk_port *)p;
	struct rte_mbuf *m = f->cookie, *rest = NULL;

	if (atomic_load_acquire(&d->nic->is_started))
		rest = rte_pktmbuf_alloc(d->pool);
	if (!rest) {
		p->stat.tx_busy++;
		return 0;
	}
	fill_header(d, f, f->bytes + bytes);
	rte_mbuf_ext_refcnt_update(&d->shared, 1); /* `rest` drops it when it is freed */
	rte_pktmbuf_attach_extbuf(rest, (void *)(uintptr_t)data, RTE_BAD_IOVA, (uint16_t)bytes,
				  &d->shared);
	rest->data_len = (uint16_t)bytes;
	m->data_len = (uint16_t)(DPDK_HEADER_BYTES + f->bytes);
	m->pkt_len = m->data_len + bytes;
	m->nb_segs = 2;
	m->next = rest;
	if (!run_burst(d, &m, 1, rte_eth_tx_burst)) {
		m->nb_segs = 1;
		m->next = NULL;
		rte_pktmbuf_free(rest);
		p->stat.tx_busy++;
		return 0;
	}
	d->tx_lent--;
	p->stat.tx_frames++;
	p->stat.tx_bytes += f->bytes + bytes;
	return 1;
}

static int32_t dpdk_peer_of(struct dpdk_port *d, const struct rte_ether_addr *mac)
{
	if (d->last_peer < d->peers && rte_is_same_ether_addr(mac, &d->peer[d->last_peer]))
		return d->last_peer;
	for (int i = 0; i < d->peers; i++)
		if (rte_is_same_ether_addr(mac, &d->peer[i]))
			return d->last_peer = i;
	return -1;
}

/* Check that a received frame was made by this driver and is complete. */
static int dpdk_rx_check(const struct dpdk_port *d, const struct rte_mbuf *m)
{
	const struct dpdk_header *h = rte_pktmbuf_mtod(m, const struct dpdk_header *);
	uint32_t bytes;

	if (m->nb_segs != 1 || m->data_len < DPDK_HEADER_BYTES ||
	    h->ethertype != htons(DPDK_ETHERTYPE) || !rte_is_same_ether_addr(&h->dst, &d->mac))
		return 0;
	bytes = rte_le_to_cpu_16(h->bytes);
	return bytes && bytes <= m->data_len - DPDK_HEADER_BYTES &&
	       bytes <= d->port.frame_bytes_max;
}

static int dpdk_rx(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	struct dpdk_port *d = (struct dpdk_port *)p;
	struct rte_mbuf *m[DRV_PORT_BURST];
	unsigned got = 0, here;

	/* Reading the clock takes a sixth of an empty poll. */
	if (d->nic->is_client &&
	    (d->polls++ % LINK_POLLS == 0 || !atomic_load_relaxed(&d->nic->was_connected)))
		dpdk_reconnect(d->nic);
	here =
	    run_burst(d, m, (uint16_t)(n < DRV_PORT_BURST ? n : DRV_PORT_BURST), rte_eth_rx_burst);
	for (unsigned i = 0; i < here; i++) {
		struct dpdk_header *h = rte_pktmbuf_mtod(m[i], struct dpdk_header *);

		if (__builtin_expect(!dpdk_rx_check(d, m[i]), 0)) {
			rte_pktmbuf_free(m[i]);
			p->stat.rx_dropped++;
			continue;
		}
		f[got].data = (unsigned char *)(h + 1);
		f[got].bytes = rte_le_to_cpu_16(h->bytes);
		f[got].peer = dpdk_peer_of(d, &h->src);
		f[got].cookie = m[i];
		p->stat.rx_bytes += f[got].bytes;
		got++;
	}
	p->stat.rx_frames += got;
	return (int)got;
}

static void dpdk_rx_done(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		rte_pktmbuf_free(f[i].cookie);
}

/* Both kinds of socket poll readable while their receive ring contains a frame. */
static int dpdk_arm(struct drv_port *p)
{
	const struct dpdk_nic *c = ((struct dpdk_port *)p)->nic;

	return c->fd >= 0 ? c->fd : -ENOTSUP;
}

static int dpdk_peer(struct drv_port *p, const char *address)
{
	struct dpdk_port *d = (struct dpdk_port *)p;
	struct rte_ether_addr mac, *grown;

	if (rte_ether_unformat_addr(address, &mac) || !rte_is_valid_assigned_ether_addr(&mac))
		return -EINVAL;
	for (int i = 0; i < d->peers; i++)
		if (rte_is_same_ether_addr(&mac, &d->peer[i]))
			return i;
	if (d->peers == DRV_PORT_PEERS_MAX)
		return -ENOSPC;
	grown = realloc(d->peer, sizeof *grown * ((size_t)d->peers + 1));
	if (!grown)
		return -ENOMEM;
	d->peer = grown;
	grown[d->peers] = mac;
	return d->peers++;
}

static int dpdk_address(struct drv_port *p, char *text, size_t bytes)
{
	const unsigned char *m = ((struct dpdk_port *)p)->mac.addr_bytes;
	int n = snprintf(text, bytes, "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4],
			 m[5]);

	return n < 0 || (size_t)n >= bytes ? -ENOSPC : 0;
}

static uint64_t socket_cookie(int fd)
{
	uint64_t cookie = 0;
	socklen_t n = sizeof cookie;

	return fd < 0 || getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &n) ? 0 : cookie;
}

/*
 * Let a kernel worker release the packet socket. The release of a socket with mapped rings waits
 * for three RCU grace periods (packet_set_ring() for each ring, packet_release()), each of which
 * takes 10 to 500 ms while all processors are busy. The process that drops the last reference
 * waits, in close() or, if it was killed, while it exits and cannot be reaped. A file that is
 * registered with an io_uring is released by a worker after the ring is closed, so the process does
 * not wait. Without io_uring the end takes as long as the kernel needs.
 */
static void dpdk_release_later(struct dpdk_nic *c)
{
	struct io_uring_params params = {0};

	c->releaser = (int)syscall(SYS_io_uring_setup, 1, &params);
	if (c->releaser < 0)
		return;
	if (syscall(SYS_io_uring_register, c->releaser, IORING_REGISTER_FILES, &c->fd, 1)) {
		close(c->releaser);
		c->releaser = -1;
	}
}

/*
 * Stop receiving: until the worker has released the socket, it must not fill a ring that is not
 * read.
 */
static void dpdk_receive_nothing(const struct dpdk_nic *c)
{
	struct sock_filter code = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog program = {.len = 1, .filter = &code};

	setsockopt(c->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

static void remove_device(void *nic)
{
	const struct dpdk_nic *c = nic;
	struct rte_eth_dev_info info;
	bool known;

	if (atomic_load_relaxed(&c->is_started))
		rte_eth_dev_stop(c->id);
	if (!c->probed)
		return;
	known = !rte_eth_dev_info_get(c->id, &info);
	rte_eth_dev_close(c->id);
	if (known)
		rte_dev_remove(info.device);
}

static void dpdk_stop_device(struct dpdk_nic *c)
{
	uint64_t cookie = c->device.kind == DPDK_AF_XDP ? socket_cookie(c->fd) : 0;

	if (c->releaser >= 0)
		dpdk_receive_nothing(c);
	/*
	 * The handler of net_memif (22.11) disconnects, too, when the peer does. Two threads that
	 * disconnect close the same file descriptors twice, perhaps one that was opened in between.
	 */
	if (c->device.kind == DPDK_MEMIF)
		dpdk_eal_run_alone(remove_device, c);
	else
		remove_device(c);
	/*
	 * net_af_xdp (22.11) leaves its socket open, which keeps the queue of the interface
	 * occupied.
	 */
	if (cookie && socket_cookie(c->fd) == cookie)
		close(c->fd);
	if (c->releaser >= 0)
		close(c->releaser);
	for (unsigned q = 0; q < c->ports; q++) {
		rte_mempool_free(c->pool[q]);
		c->pool[q] = NULL;
	}
	atomic_store_relaxed(&c->is_started, 0);
	c->probed = 0;
	c->fd = c->releaser = -1;
}

/*
 * net_virtio_user writes to the socket of a peer that may have gone. The signal for that is not for
 * the program.
 */
static void dpdk_stop(struct dpdk_nic *c)
{
	const struct timespec now = {0};
	sigset_t pipe, before;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	dpdk_stop_device(c);
	if (!sigismember(&before, SIGPIPE))
		while (sigtimedwait(&pipe, NULL, &now) == SIGPIPE)
			;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void discard_device(struct dpdk_nic *c)
{
	dpdk_stop(c);
	free(c);
}

/* The last port of a device takes it along. */
static void dpdk_close(struct drv_port *p)
{
	struct dpdk_port *d = (struct dpdk_port *)p;
	bool is_last;

	dpdk_bursts_remove(&d->bursts);
	pthread_mutex_lock(&open_lock);
	is_last = !--d->nic->users;
	pthread_mutex_unlock(&open_lock);
	if (is_last)
		discard_device(d->nic);
	free(d->peer);
	free(d);
}

#define DPDK_OPS                                                                                   \
	.name = "dpdk", .tx_get = dpdk_tx_get, .tx_send = dpdk_tx_send, .tx_put = dpdk_tx_put,     \
	.rx = dpdk_rx, .rx_done = dpdk_rx_done, .arm = dpdk_arm, .peer = dpdk_peer,                \
	.address = dpdk_address, .close = dpdk_close
static const struct drv_port_ops dpdk_ops = {DPDK_OPS};

/* Memory between two processes, from which nothing is lost. */
static const struct drv_port_ops dpdk_memif_ops = {DPDK_OPS, .tx_gather = dpdk_tx_gather};

static int dpdk_probe(struct dpdk_nic *c, struct drv_port_why *why)
{
	struct dpdk_device *v = &c->device;
	char devargs[sizeof v->name + sizeof v->args + 2], complaint[DPDK_COMPLAINT_BYTES];
	int rc;

	dpdk_eal_complaint_clear();
	if (v->kind != DPDK_PCI) {
		rc = rte_eal_hotplug_add("vdev", v->name, v->args);
	} else if (!rte_eth_dev_get_port_by_name(v->name, &c->id)) {
		rc = 0; /* EAL found the device when it started */
	} else {
		snprintf(devargs, sizeof devargs, "%s%s%s", v->name, v->args[0] ? "," : "",
			 v->args);
		rc = rte_dev_probe(devargs);
	}
	if (!rc)
		rc = rte_eth_dev_get_port_by_name(v->name, &c->id);
	if (rc)
		return drv_port_fail(
		    why, rc == -EPERM ? rc : -ENODEV, "DPDK cannot use the device: %s (%s)%s",
		    dpdk_eal_complaint(complaint), strerror(-rc),
		    v->kind == DPDK_PCI ? "; bind it with dpdk-devbind.py -b vfio-pci" : "");
	c->probed = 1;
	return 0;
}

/* Set the MTU of a PCI device, or read that of another device. */
static int dpdk_mtu(struct dpdk_nic *c, struct rte_eth_conf *conf)
{
	struct rte_eth_dev_info info;
	int rc = rte_eth_dev_info_get(c->id, &info);
	uint16_t mtu;

	if (rc)
		return rc;
	if (c->device.kind == DPDK_PCI) {
		if (c->device.mtu > info.max_mtu)
			c->device.mtu = info.max_mtu;
		conf->rxmode.mtu = c->device.mtu;
	} else if (c->device.kind == DPDK_AF_XDP && info.max_mtu < c->device.mtu) {
		c->device.mtu = info.max_mtu;
	}
	if (c->device.mtu)
		return 0;
	rc = rte_eth_dev_get_mtu(c->id, &mtu);
	c->device.mtu = rc ? 0 : mtu;
	return rc;
}

static int setup_queues(struct dpdk_nic *c, const struct rte_eth_conf *conf)
{
	unsigned socket = (unsigned)rte_eth_dev_socket_id(c->id);
	uint16_t rx = DPDK_DESCS, tx = DPDK_DESCS, n = (uint16_t)c->queues;
	int rc = rte_eth_dev_configure(c->id, n, n, conf);

	if (!rc)
		rc = rte_eth_dev_adjust_nb_rx_tx_desc(c->id, &rx, &tx);
	for (uint16_t q = 0; q < n && !rc; q++) {
		rc = rte_eth_rx_queue_setup(c->id, q, rx, socket, NULL,
					    c->pool[q < c->ports ? q : 0]);
		if (!rc)
			rc = rte_eth_tx_queue_setup(c->id, q, tx, socket, NULL);
	}
	return rc;
}

static int dpdk_start(struct dpdk_nic *c, struct drv_port_why *why)
{
	struct rte_eth_conf conf = {0};
	char complaint[DPDK_COMPLAINT_BYTES];
	int rc = dpdk_mtu(c, &conf);

	if (rc)
		return drv_port_fail(why, rc, "the device does not tell its MTU: %s",
				     strerror(-rc));
	for (unsigned q = 0; q < c->ports && !rc; q++) {
		c->pool[q] = dpdk_pool_create(&c->device, q, why);
		rc = c->pool[q] ? 0 : -ENOMEM;
	}
	if (rc)
		return rc;
	dpdk_eal_complaint_clear();
	rc = setup_queues(c, &conf);
	c->lines = atomic_load_relaxed(&dpdk_memif_lines);
	if (!rc)
		rc = rte_eth_dev_start(c->id);
	atomic_store_release(&c->is_started, !rc);
	c->is_client = c->device.kind == DPDK_MEMIF && !strstr(c->device.args, "role=server") &&
		       !strstr(c->device.args, "role=master");
	atomic_store_relaxed(&c->reconnect_ticks, drv_clock_ticks() + ticks_to_next_try(c));
	if (c->device.kind == DPDK_MEMIF)
		c->connect_ticks = drv_clock_ticks() + CONNECT_US * drv_clock_ticks_per_us();
	if (rc && c->is_client && dpdk_eal_complaint_contains("Failed to connect"))
		rc = 0; /* it connects later */
	if (rc)
		return drv_port_fail(why, rc, "DPDK cannot start the device: %s (%s)%s",
				     dpdk_eal_complaint(complaint), strerror(-rc),
				     c->device.kind == DPDK_AF_XDP ? XDP_HINT : "");
	rc = rte_eth_macaddr_get(c->id, &c->mac);
	if (rc)
		return drv_port_fail(why, rc, "the device does not tell its MAC: %s",
				     strerror(-rc));
	if (!rte_is_valid_assigned_ether_addr(&c->mac)) /* net_ring has none and filters none */
		rte_eth_random_addr(c->mac.addr_bytes);
	return 0;
}

/* Let the kernel drop foreign frames before it copies them into the ring. */
static void dpdk_filter(const struct dpdk_nic *c)
{
	const unsigned char *m = c->mac.addr_bytes;
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, DPDK_ETHERTYPE, 0, 5),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
		     (uint32_t)m[0] << 24 | (uint32_t)m[1] << 16 | (uint32_t)m[2] << 8 | m[3], 0,
		     3),
	    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 4),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)m[4] << 8 | m[5], 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	    BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};

	setsockopt(c->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

/*
 * Start the device. The kernel releases the queue of a closed AF_XDP socket a little later, so
 * retry.
 */
static int dpdk_probe_and_start(struct dpdk_nic *c, struct drv_port_why *why)
{
	const struct timespec nap = {.tv_nsec = 20000000};
	int rc = 0;

	for (int i = 0; i < 25; i++) {
		rc = dpdk_probe(c, why);
		if (!rc)
			rc = dpdk_start(c, why);
		if (!rc || !dpdk_eal_complaint_contains("create xsk socket"))
			break;
		dpdk_stop(c);
		nanosleep(&nap, NULL);
	}
	return rc;
}

static int open_device(const char *args, unsigned queues, struct dpdk_nic *c,
		       struct drv_port_why *why)
{
	struct dpdk_sockets before = {0};
	int family, rc = dpdk_device_parse(args, queues, &c->device, why);

	if (rc)
		return rc;
	if (c->device.kind == DPDK_MEMIF)
		dpdk_bursts_prepare();
	rc = dpdk_eal_start(&c->device, why);
	if (rc)
		return rc;
	c->queues = queues;
	family = c->device.kind == DPDK_AF_PACKET ? AF_PACKET
		 : c->device.kind == DPDK_AF_XDP  ? AF_XDP
						  : -1;
	if (family >= 0)
		dpdk_sockets_list(family, &before);
	rc = dpdk_probe_and_start(c, why);
	if (!rc && family >= 0)
		c->fd = dpdk_sockets_new(family, &before);
	dpdk_sockets_free(&before);
	if (!rc && c->fd >= 0 && family == AF_PACKET) {
		dpdk_filter(c);
		dpdk_release_later(c);
	}
	return rc;
}

/* Make the port of a queue. Returns NULL without memory. */
static struct drv_port *make_port(struct dpdk_nic *c, unsigned queue)
{
	struct dpdk_port *d = calloc(1, sizeof *d);

	if (!d)
		return NULL;
	d->port.ops = c->device.kind == DPDK_MEMIF ? &dpdk_memif_ops : &dpdk_ops;
	d->shared.free_cb = keep_shared;
	rte_mbuf_ext_refcnt_set(&d->shared, 1);
	d->port.frame_bytes_max = c->device.mtu - (DPDK_HEADER_BYTES - RTE_ETHER_HDR_LEN);
	d->port.keep_max = c->device.keep ? DPDK_KEPT : 0;
	d->nic = c;
	d->id = c->id;
	d->queue = (uint16_t)queue;
	d->pool = c->pool[queue];
	d->mac = c->mac;
	d->connect_ticks = c->connect_ticks;
	dpdk_bursts_add(&d->bursts);
	return &d->port;
}

static int dpdk_open_queues(const char *args, unsigned n, unsigned ports, struct drv_port **port,
			    struct drv_port_why *why)
{
	struct dpdk_nic *c = calloc(1, sizeof *c);
	unsigned made = 0;
	int rc;

	if (!c)
		return -ENOMEM;
	c->fd = c->releaser = -1;
	c->ports = ports;
	pthread_mutex_lock(&open_lock);
	rc = open_device(args, n, c, why);
	pthread_mutex_unlock(&open_lock);
	while (!rc && made < ports) {
		port[made] = make_port(c, made);
		rc = port[made] ? 0 : -ENOMEM;
		made += !rc;
	}
	c->users = made;
	if (rc && !made)
		discard_device(c);
	while (rc && made)
		dpdk_close(port[--made]);
	return rc;
}

static int dpdk_open(const char *args, struct drv_port **port, struct drv_port_why *why)
{
	return dpdk_open_queues(args, 1, 1, port, why);
}

DRV_PORT_MODULE(dpdk_open, dpdk_open_queues);
