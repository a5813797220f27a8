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

#define PACKET_TX     64u  /* send buffers */
#define PACKET_KEPT   256u /* and those that the caller may keep */
#define PACKET_UDP_RX 16u  /* buffers for what is read from the UDP socket */
/* Datagrams of the UDP socket that the ring may not have yet: one for each receiving processor. */
#define PACKET_BESIDE_LENT 16u

struct packet_peer {
	struct sockaddr_in address;

	/* Where its last packet came from: interface and Ethernet address; sent to `own`. */
	struct sockaddr_ll link;
	unsigned char own[ETH_ALEN];
	bool is_heard;   /* by the ring */
	bool is_direct;  /* The kernel sends to that address too, so frames may pass it by. */
	uint32_t heard;  /* packets while it was not (packet_link_is_due()) */
	uint32_t steady; /* packets over this link in a row */
	/* Frames or trains that were sent since the last one came from it. */
	uint32_t unheard;
	uint32_t beside; /* datagrams that only the UDP socket has heard */
};

/* Datagrams that are being lent, frame by frame. */
struct packet_current {
	unsigned char *data; /* NULL: none */
	uint32_t bytes, at;  /* of all frames; lent already */
	uint32_t segment;    /* bytes of a frame */
	uint32_t slot;       /* of the ring; from `slots` on a buffer of the UDP socket */
	int peer;
};

/* A datagram that the port has lent from the UDP socket and that may come by the ring, too. */
struct packet_lent {
	int peer;
	uint32_t bytes, crc;
	uint64_t time; /* drv_clock_ns() */
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
	uint32_t blocks, block_bytes, block_slots, slot_bytes, slots;
	uint32_t next; /* slot that is read next */
	struct packet_current current;
	/* Frames lent of each slot and buffer of the socket, plus 1 while it contains more. */
	uint16_t *lent;

	/* What the UDP socket takes. */
	unsigned char *udp_memory, *udp_free[PACKET_UDP_RX];
	unsigned udp_free_count;
	bool has_rest;        /* It may have datagrams that the ring has had too. */
	uint32_t silent;      /* peers that the ring has not heard */
	uint32_t beside;      /* those of them that the UDP socket has heard */
	uint32_t empty_polls; /* since then */
	/* The last datagrams that the socket alone had, oldest first. */
	struct packet_lent beside_lent[PACKET_BESIDE_LENT];
	uint32_t beside_lents;
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

/* A packet with UDP to this port. */
struct packet_seen {
	struct sockaddr_in from;
	const unsigned char *data; /* of its first datagram */
	uint32_t bytes;            /* of data, all datagrams together */
	uint32_t segment;          /* of each datagram but the last, which may be shorter */
};

/*
 * Read the headers of a packet. ip: its IP header and what follows, `here` bytes together. has_sum:
 * somebody has checked its checksum, or it has none yet. frame_max: longest frame of the port.
 * Returns false if it is not sound: nothing outside of those bytes is read, and `data` and `bytes`
 * lie inside.
 */
bool packet_parse(struct packet_seen *s, const struct virtio_net_hdr *v, const unsigned char *ip,
		  uint32_t here, bool has_sum, uint32_t frame_max);

/*
 * A packet has come from a peer that is not direct. is_new: over another link than the last one.
 * Should the kernel be asked whether it sends over this link? It may not know the neighbour yet, so
 * the answer is yes after 1, 2, 4 .. packets, and then at least once in PACKET_ASK_MAX. The count
 * starts again at a new link only if the old one was steady, so packets that alternate between
 * links cost few questions.
 */
#define PACKET_STEADY  64u   /* packets in a row over one link */
#define PACKET_ASK_MAX 1024u /* a power of two */
bool packet_link_is_due(struct packet_peer *q, bool is_new);

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
