/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of the packet port: what all of them know, how it hears (port_packet_ring.c), and how
 * the kernel reaches a peer (port_packet_link.c). Private.
 */
#ifndef DRIVERS_PORT_PACKET_H
#define DRIVERS_PORT_PACKET_H

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>

#include "drivers/port_udp.h"

#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

#define PACKET_TX   64u  /* send buffers */
#define PACKET_KEPT 256u /* and those that the caller may keep */
#define PACKET_LONG 16u  /* buffers for datagrams that arrived joined */

struct packet_peer {
	struct sockaddr_in address;

	/* Where its last packet came from: interface and Ethernet address; sent to `own`. */
	struct sockaddr_ll link;
	unsigned char own[ETH_ALEN];
	bool is_heard;  /* by the ring */
	bool is_direct; /* The kernel sends to that address too, so frames may pass it by. */
	uint32_t heard; /* packets over this link while it was not */
	/* Frames or trains that were sent since the last one came from it. */
	uint32_t unheard;
	uint32_t beside; /* datagrams that only the UDP socket has heard */
};

/* Datagrams that are being lent, frame by frame. */
struct packet_current {
	unsigned char *data; /* NULL: none */
	uint32_t bytes, at;  /* of all frames; lent already */
	uint32_t segment;    /* bytes of a frame */
	uint32_t slot;       /* of the ring; from `slots` on a long buffer */
	int peer;
};

struct packet_port {
	struct drv_port port;
	int udp, raw;
	int both;     /* epoll descriptor of udp, raw and links */
	int links;    /* netlink socket with news of links (port_packet_link.c); -1: none */
	int releaser; /* io_uring with the packet socket (release_later()); -1: none */
	int routes;   /* netlink socket (port_packet_link.c); -1: none */
	struct sockaddr_in self;
	uint32_t train; /* longest frame of a train; 0: no trains */
	int refused;    /* error of the last frame that was refused (udp_log_refused()) */

	/* The ring. */
	unsigned char *ring;
	bool is_whole; /* Its slots take joined datagrams too. */
	uint32_t blocks, block_bytes, block_slots, slot_bytes, slots;
	uint32_t next; /* slot that is read next */
	struct packet_current current;
	/* Frames lent of each slot and long buffer, plus 1 while it contains more. */
	uint16_t *lent;

	/* What the UDP socket takes. */
	unsigned char *long_memory, *long_free[PACKET_LONG];
	unsigned long_free_count;
	uint64_t waiting_ns;  /* since then the next slot waits for its datagram; 0: it does not */
	uint32_t missed;      /* datagrams in a row that did not come */
	uint32_t surplus;     /* reads of the socket that are left although no slot asks for one */
	uint32_t silent;      /* peers that the ring has not heard */
	uint32_t beside;      /* those of them that the UDP socket has heard */
	uint32_t empty_polls; /* since then */
	uint32_t quiet_polls; /* empty polls since the port looked at links */

	struct packet_peer *peer;
	size_t peers, peer_room;
	int last_peer;

	unsigned char *tx_memory, *tx_free[PACKET_TX + PACKET_KEPT];
	unsigned tx_free_count;
};

/* ---- port_packet.c ---- */

/* Read the news of this host's links; peers that know an old Ethernet address get the new one. */
void packet_look_at_links(struct packet_port *k);

/* ---- port_packet_ring.c ---- */

/* Make the packet socket and its ring. Returns 0 or a negative errno. */
int packet_ring_open(struct packet_port *k, struct drv_port_why *why);
void packet_ring_close(struct packet_port *k);

int packet_rx(struct drv_port *p, struct drv_frame *f, unsigned n);
void packet_rx_done(struct drv_port *p, struct drv_frame *f, unsigned n);
int packet_arm(struct drv_port *p);

/* There is one more peer that was not heard yet. */
void packet_ring_add_silent(struct packet_port *k);

/* A packet with UDP to this port, of which the ring may have the headers only. */
struct packet_seen {
	struct sockaddr_in from;
	const unsigned char *data; /* of its first datagram */
	uint32_t bytes;            /* of data, all datagrams together */
	uint32_t segment;          /* of each datagram but the last, which may be shorter */
	bool is_long;              /* More than one frame: the data is in the UDP socket. */
};

/*
 * Read the headers of a packet. ip: its IP header, of which, with what follows, `here` bytes are
 * here of `whole` that it has. has_sum: somebody has checked its checksum, or it has none yet.
 * frame_max: longest frame of the port. is_whole: nothing is long. Returns false if it is not
 * sound: nothing outside of those bytes is read, and `data` and `bytes` lie inside.
 */
bool packet_parse(struct packet_seen *s, const struct virtio_net_hdr *v, const unsigned char *ip,
		  uint32_t here, uint32_t whole, bool has_sum, uint32_t frame_max, bool is_whole);

/* ---- port_packet_link.c ---- */

/* Open what packet_link_is_used() needs. Returns a descriptor or -1. */
int packet_link_open(void);

/*
 * Would the kernel send UDP from `self` to `to` through interface `link->sll_ifindex` to the
 * Ethernet address in `link`, unchanged by IPsec? False too if it does not say.
 */
bool packet_link_is_used(int routes, const struct sockaddr_in *self, const struct sockaddr_in *to,
			 const struct sockaddr_ll *link);

/* Open what packet_link_next_change() reads. Returns a descriptor or -1. */
int packet_link_watch(void);

/*
 * Read the next change of a link of this host and its Ethernet address. Returns the number of the
 * interface; 0 if there is no more news, or no descriptor.
 */
int packet_link_next_change(int links, unsigned char address[ETH_ALEN]);

/* Internet checksum: add 16-bit words (the last byte of an odd number counts as a word); fold. */
uint32_t packet_sum(const void *b, size_t bytes, uint32_t sum);
uint16_t packet_sum_fold(uint32_t sum);

#endif
