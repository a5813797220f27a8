/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port: one way for frames out of this process. Every driver keeps this contract; read it first.
 *
 * A frame is 1 .. frame_bytes_max bytes between this port and one peer port. A port may lose,
 * duplicate, reorder and (fault) corrupt frames; it never joins, splits or invents them. What lies
 * below (Ethernet header, IP and UDP, ring slot) is the driver's business.
 *
 *   peers     A peer is a small index. drv_port_peer() returns it for the text that
 *             drv_port_address() of the other end returned; the starter of the job carries the
 *             text from one end to the other.
 *   sending   drv_port_tx_get() lends a transmit buffer (an mbuf, a registered buffer or memory) in
 *             which the caller builds a frame. drv_port_tx_send() hands a burst of buffers to the
 *             device at once. drv_port_tx_put() returns a buffer that is not needed.
 *   receiving drv_port_rx() lends up to n received frames; the caller returns each burst with
 *             drv_port_rx_done() before the next drv_port_rx(). data is aligned to at least 8
 *             bytes.
 *   sleeping  drv_port_arm() returns a file descriptor that polls readable when there may be a
 *             frame (no frame after waking is normal), or -ENOTSUP if the port cannot provide one
 *             now or ever; then poll periodically. After arming, call drv_port_rx() once, since
 *             the descriptor does not report frames that arrived before, and sleep or arm again.
 *
 * A port whose keep_max is not 0 lets a caller keep buffers that it sends. If `keep` of a frame is
 * set, tx_send() leaves the buffer with the caller, who may read it, neither changes it nor sends
 * it again, and returns it with tx_put(), also while the device still reads it. A caller keeps at
 * most keep_max buffers at a time.
 *
 * A port that has tx_gather takes a frame whose last bytes lie elsewhere, and has copied them when
 * it returns. Such a port loses, repeats and reorders no frame that it has taken while both ends
 * are open, so its caller keeps no copy.
 *
 * One thread at a time for each port (the lock of the holder). No call sleeps. Errors: 0 or a
 * negative errno; -EAGAIN means "not now" and is not logged.
 *
 * "Not now" from tx_send() may be due to the device, or to the peer of the first frame that was not
 * taken: its ring is full while it does not poll. A caller with several peers keeps that frame and
 * continues with the others. Frames to a peer that has closed are taken and lost.
 *
 * A port may have several queues (drv_port_open_queues()): "queues=N" in the specification of a
 * device, or several devices with '&' between them. Each queue is a port of its own, with its own
 * buffers, peers and counters, which another thread may use at the same time. A queue hears only
 * the queue of another host whose address it was given as a peer, so two hosts join queue k to
 * queue k, and have the addresses of all queues of each other.
 *
 * Names (drv_port_open): "loop:NAME", "shm:NAME", "udp:10.0.0.1[:port]" (packet or uring, whichever
 * works), "packet:10.0.0.1[:port]", "uring:10.0.0.1[:port]", "dpdk:net_af_packet,iface=va",
 * "dpdk:0000:3b:00.0", and in front of any: "fault(loss=0.1,dup=0.01,reorder=0.05,corrupt=0.001,
 * delay_us=50,seed=7)+uring:10.0.0.1". drivers/README.md
 * describes the arguments of each.
 */
#ifndef DRIVERS_PORT_H
#define DRIVERS_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DRV_PORT_ADDRESS_BYTES 128
#define DRV_PORT_BURST         32
#define DRV_PORT_QUEUES_MAX    16

struct drv_port;

struct drv_frame {
	unsigned char *data;
	uint32_t bytes; /* tx_get: capacity given; tx_send: bytes to send; rx: bytes received */
	int32_t peer;   /* tx: target; rx: sender, or -1: not a known peer (count and drop) */
	void *cookie;   /* for the driver */
	bool keep;      /* tx_send: the buffer stays with the caller (keep_max); tx_get clears it */
};

struct drv_port_stat {
	uint64_t tx_frames, tx_bytes, rx_frames, rx_bytes;
	uint64_t tx_busy;    /* tx_get or tx_send said "not now" */
	uint64_t rx_dropped; /* malformed, too long, or from an unknown sender */
};

struct drv_port_ops {
	const char *name;
	int (*tx_get)(struct drv_port *, struct drv_frame *);
	int (*tx_send)(struct drv_port *, struct drv_frame *, unsigned n);
	void (*tx_put)(struct drv_port *, struct drv_frame *);
	int (*tx_gather)(struct drv_port *, struct drv_frame *, const void *data, uint32_t bytes);
	int (*rx)(struct drv_port *, struct drv_frame *, unsigned n);
	void (*rx_done)(struct drv_port *, struct drv_frame *, unsigned n);
	int (*arm)(struct drv_port *);
	int (*peer)(struct drv_port *, const char *address);
	int (*address)(struct drv_port *, char *text, size_t bytes);
	void (*close)(struct drv_port *);
};

/* Drivers embed this structure as their first member. */
struct drv_port {
	const struct drv_port_ops *ops;
	uint32_t frame_bytes_max; /* largest frame this port carries now; constant after open */
	uint32_t keep_max;        /* buffers that a caller may keep; constant after open; 0: none */
	struct drv_port_stat stat;
};

/*
 * Open a port by name. Sets *port and returns 0, or returns a negative errno after logging one line
 * that names the spec, the cause and the fix (-ENOENT unknown driver or module not installed,
 * -EINVAL bad argument, -ENODEV no such device, -EPERM ...).
 */
int drv_port_open(const char *spec, struct drv_port **port);
/*
 * The same. Writes to `opened` the spec of what is open now, with the driver that was chosen in the
 * place of "udp": "packet:10.0.0.1"; what does not fit into `bytes` ends in "...". Such a text is
 * for people: a process that may open packet sockets today may not do so tomorrow.
 */
int drv_port_open_named(const char *spec, struct drv_port **port, char *opened, size_t bytes);
/*
 * The same with a port for each queue that the specification asks for, at most `most` (1 ..
 * DRV_PORT_QUEUES_MAX). Fills port[] and returns their number; `opened` may be NULL. It names the
 * devices of a list that were opened, and of each as many queues as were.
 * drv_port_close() closes each; what they share goes with the last one.
 */
int drv_port_open_queues(const char *spec, unsigned most, struct drv_port **port, char *opened,
			 size_t bytes);
void drv_port_close(struct drv_port *port); /* NULL is allowed */

/* Lend one transmit buffer of at least frame_bytes_max bytes; 0 or -EAGAIN. */
static inline int drv_port_tx_get(struct drv_port *p, struct drv_frame *f)
{
	f->keep = false;
	return p->ops->tx_get(p, f);
}

/*
 * Send n (1 .. DRV_PORT_BURST) lent buffers. Returns how many were taken (0 .. n); the rest stay
 * lent.
 */
static inline int drv_port_tx_send(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	return p->ops->tx_send(p, f, n);
}

static inline void drv_port_tx_put(struct drv_port *p, struct drv_frame *f)
{
	p->ops->tx_put(p, f);
}

static inline bool drv_port_gathers(const struct drv_port *p)
{
	return p->ops->tx_gather != NULL;
}

/*
 * Send a lent buffer and behind it the `bytes` bytes at `data` as one frame of at most
 * frame_bytes_max; only ports that gather. Returns true if the frame was taken; otherwise ("not
 * now") the buffer stays lent.
 */
static inline bool drv_port_tx_gather(struct drv_port *p, struct drv_frame *f, const void *data,
				      uint32_t bytes)
{
	return p->ops->tx_gather(p, f, data, bytes) == 1;
}

/* Receive up to n frames. Returns their number, or a negative errno if the port is broken. */
static inline int drv_port_rx(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	return p->ops->rx(p, f, n);
}

static inline void drv_port_rx_done(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	p->ops->rx_done(p, f, n);
}

static inline int drv_port_arm(struct drv_port *p)
{
	return p->ops->arm(p);
}

/* Return the index (0 ..) of the peer with this address; the same text gives the same index. */
static inline int drv_port_peer(struct drv_port *p, const char *address)
{
	return p->ops->peer(p, address);
}

static inline int drv_port_address(struct drv_port *p, char *text, size_t bytes)
{
	return p->ops->address(p, text, bytes);
}

/* Where the port of a host is, as seen by the starter of the job. */
enum drv_port_place {
	DRV_PORT_ON_THIS_MACHINE,
	DRV_PORT_IN_NAMESPACE, /* of this machine, made for the job */
	DRV_PORT_ELSEWHERE     /* another machine */
};
/*
 * Can others than the job send frames to a port of this specification? They cannot where it is
 * shared memory, or an interface of a namespace that was made for the job. A job with such a port
 * seals its frames by default (drivers/seal.h). A fault port may precede the specification.
 */
bool drv_port_is_reachable(const char *spec, enum drv_port_place place);

/*
 * Find the IPv4 addresses of this host besides loopback, for a port without a name. Writes the
 * first to text and all to `all` as " 10.0.0.1 (eth0) ...". Returns their number.
 */
int drv_port_own_address(char *text, size_t bytes, char *all, size_t all_bytes);

#endif
