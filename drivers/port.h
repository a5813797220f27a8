/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port: one way out of this process for frames. The contract every driver keeps; read this first.
 *
 * A frame is 1 .. frame_bytes_max bytes between this port and one peer port. A port may lose,
 * duplicate, reorder and (fault) corrupt frames; it never joins, splits or invents them. What
 * sits below (Ethernet header, IP and UDP, ring slot) is the driver's business.
 *
 *   peers    a peer is a small index, got by drv_port_peer() from the text that the other side's
 *            drv_port_address() returned (carried there by whoever starts the job).
 *   sending  drv_port_tx_get() lends a transmit buffer (built in place: mbuf, registered buffer,
 *            memory), drv_port_tx_send() takes it back and hands a burst to the device at once.
 *            A buffer that was got and is not wanted goes back with drv_port_tx_put().
 *   receiving drv_port_rx() lends up to n received frames; the caller gives each burst back with
 *            drv_port_rx_done() before the next drv_port_rx(). data is at least 8-byte aligned.
 *   sleeping drv_port_arm() says how to sleep: returns a file descriptor that polls readable when
 *            a frame may be there (0 frames after waking is normal), or -ENOTSUP (now, or ever): tick instead.
 *            Frames that arrived before arming must be seen by one more drv_port_rx() after it.
 *
 * One thread at a time per port (the holder's lock). No call sleeps. Errors: 0 or negative errno;
 * -EAGAIN is "not now" and is not logged.
 *
 * "Not now" from tx_send() can be the device or the peer of the first frame not taken (its ring
 * is full while it does not poll): a caller with several peers keeps that frame and goes on with
 * the others. Frames to a peer that is gone are taken and lost.
 *
 * Names (drv_port_open): "loop:NAME", "shm:NAME", "uring:10.0.0.1[:port]",
 * "dpdk:net_af_packet,iface=va", "dpdk:0000:3b:00.0", and in front of any: "fault(loss=0.1,
 * dup=0.01,reorder=0.05,corrupt=0.001,delay_us=50,seed=7)+uring:10.0.0.1". drivers/README.md
 * has the arguments of each.
 */
#ifndef DRIVERS_PORT_H
#define DRIVERS_PORT_H

#include <stddef.h>
#include <stdint.h>

#define DRV_PORT_ADDRESS_BYTES 128
#define DRV_PORT_BURST         32

struct drv_port;

struct drv_frame {
	unsigned char *data;
	uint32_t bytes; /* tx_get: capacity given; tx_send: bytes to send; rx: bytes received */
	int32_t peer;   /* tx: to whom; rx: from whom, or -1: not a known peer (count and drop) */
	void *cookie;   /* the driver's */
};

struct drv_port_stat {
	uint64_t tx_frames, tx_bytes, rx_frames, rx_bytes;
	uint64_t tx_busy;    /* tx_get or tx_send said "not now" */
	uint64_t rx_dropped; /* malformed, too long, from nobody known */
};

struct drv_port_ops {
	const char *name;
	int (*tx_get)(struct drv_port *, struct drv_frame *);
	int (*tx_send)(struct drv_port *, struct drv_frame *, unsigned n);
	void (*tx_put)(struct drv_port *, struct drv_frame *);
	int (*rx)(struct drv_port *, struct drv_frame *, unsigned n);
	void (*rx_done)(struct drv_port *, struct drv_frame *, unsigned n);
	int (*arm)(struct drv_port *);
	int (*peer)(struct drv_port *, const char *address);
	int (*address)(struct drv_port *, char *text, size_t bytes);
	void (*close)(struct drv_port *);
};

/* Drivers embed this as their first member. */
struct drv_port {
	const struct drv_port_ops *ops;
	uint32_t frame_bytes_max; /* largest frame this port carries now; constant after open */
	struct drv_port_stat stat;
};

/*
 * Open a port by name. On success *port is set and 0 returned; else negative errno and one logged
 * line that names the spec, the cause and the fix (-ENOENT unknown driver or module not installed,
 * -EINVAL bad argument, -ENODEV no such device, -EPERM ...).
 */
int drv_port_open(const char *spec, struct drv_port **port);
void drv_port_close(struct drv_port *port); /* NULL is fine */

/* Lend one transmit buffer of at least frame_bytes_max bytes; 0 or -EAGAIN. */
static inline int drv_port_tx_get(struct drv_port *p, struct drv_frame *f)
{
	return p->ops->tx_get(p, f);
}

/* Send n (1 .. DRV_PORT_BURST) lent buffers; returns how many were taken (0 .. n), rest stay lent. */
static inline int drv_port_tx_send(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	return p->ops->tx_send(p, f, n);
}

static inline void drv_port_tx_put(struct drv_port *p, struct drv_frame *f)
{
	p->ops->tx_put(p, f);
}

/* Receive up to n frames; returns how many (0: none), or a negative errno when the port is broken. */
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

/* Index (0 ..) of the peer with this address text; the same text gives the same index. */
static inline int drv_port_peer(struct drv_port *p, const char *address)
{
	return p->ops->peer(p, address);
}

static inline int drv_port_address(struct drv_port *p, char *text, size_t bytes)
{
	return p->ops->address(p, text, bytes);
}

/*
 * The only IPv4 address of this host besides loopback, for a port that nobody named. Returns how many
 * there are; `all` lists them as " 10.0.0.1 (eth0) ...".
 */
int drv_port_own_address(char *text, size_t bytes, char *all, size_t all_bytes);

#endif
