/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packet: UDP over IPv4 past the kernel's IP layer, through a packet socket. Needs CAP_NET_RAW and
 * Linux 6.2.
 *
 *   spec      packet:ADDRESS[:PORT][,frame=BYTES]
 *             as uring, whose ports it reaches
 *   address   ADDRESS:PORT
 *
 * A packet socket sees each datagram before the IP layer does and copies it into a ring that this
 * process maps, so a poll that finds nothing reads one word of memory (port_packet_ring.c). A UDP
 * socket holds the port number.
 *
 * Frames to a peer leave through the packet socket when the kernel, too, would send them over the
 * link from which the peer was heard (port_packet_link.c). The first frames leave through the UDP
 * socket. So do, after PACKET_UNHEARD_MAX frames without an answer, every second one, since a wire
 * that only retransmits sends few: the IP layer finds a peer whose Ethernet address has changed.
 *
 * A host that only receives would send nothing after its own Ethernet address has changed, and its
 * peers would send to the old one until their kernels doubt it, half a minute later. So the port
 * watches the links of this host and sends each peer an empty datagram, which peers drop: the IP
 * layer asks for the peer's Ethernet address and says its own thereby.
 *
 * Consecutive frames of one size to one peer form a train: the device gets them as one packet, with
 * the size at which to divide it. A veth, and a card that joins datagrams, delivers it whole; each
 * frame is lent from where it lies.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "drivers/base/array.h"
#include "drivers/port_packet.h"

#define PACKET_UNHEARD_MAX 32u

/* What stands before the data of the first frame of a packet, in the headroom of its buffer. */
struct packet_head {
	struct virtio_net_hdr virtio;
	struct ethhdr ethernet;
	struct iphdr ip;
	struct udphdr udp;
} __attribute__((packed));

#define PACKET_HEADROOM 64u
_Static_assert(sizeof(struct packet_head) <= PACKET_HEADROOM, "headers fit");

static struct packet_port *packet_of(struct drv_port *p)
{
	return (struct packet_port *)p;
}

/* ---- sending ---- */

static int packet_tx_get(struct drv_port *p, struct drv_frame *f)
{
	struct packet_port *k = packet_of(p);

	if (!k->tx_free_count) {
		p->stat.tx_busy++;
		return -EAGAIN;
	}
	f->cookie = f->data = k->tx_free[--k->tx_free_count];
	f->bytes = p->frame_bytes_max;
	return 0;
}

static void packet_tx_put(struct drv_port *p, struct drv_frame *f)
{
	struct packet_port *k = packet_of(p);

	k->tx_free[k->tx_free_count++] = f->cookie;
}

/* Write the headers of a datagram, or of a train of datagrams of `segment` bytes. */
static void write_head(struct packet_head *h, const struct packet_port *k,
		       const struct packet_peer *q, uint32_t bytes, uint32_t segment)
{
	*h = (struct packet_head){
	    .ethernet.h_proto = htons(ETH_P_IP),
	    .ip = {.version = 4,
		   .ihl = 5,
		   .tot_len = htons((uint16_t)(UDP_HEADERS + bytes)),
		   .frag_off = htons(IP_DF),
		   .ttl = 64,
		   .protocol = IPPROTO_UDP,
		   .saddr = k->self.sin_addr.s_addr,
		   .daddr = q->address.sin_addr.s_addr},
	    .udp = {.source = k->self.sin_port,
		    .dest = q->address.sin_port,
		    .len = htons((uint16_t)(sizeof(struct udphdr) + bytes))},
	};
	memcpy(h->ethernet.h_dest, q->link.sll_addr, ETH_ALEN);
	memcpy(h->ethernet.h_source, q->own, ETH_ALEN);
	h->ip.check = (uint16_t)~packet_sum_fold(packet_sum(&h->ip, sizeof h->ip, 0));
	/* The device adds the sum of the data to that of the pseudo header. */
	h->udp.check =
	    packet_sum_fold(packet_sum(&h->ip.saddr, 8, (uint32_t)htons(IPPROTO_UDP) + h->udp.len));
	h->virtio.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	h->virtio.csum_start = sizeof(struct ethhdr) + sizeof(struct iphdr);
	h->virtio.csum_offset = offsetof(struct udphdr, check);
	if (bytes == segment)
		return;
	h->virtio.gso_type = VIRTIO_NET_HDR_GSO_UDP_L4;
	h->virtio.hdr_len = sizeof *h - sizeof h->virtio;
	h->virtio.gso_size = (uint16_t)segment;
}

/* Does the next frame to a peer leave past the IP layer? Counts it. */
static bool is_sent_direct(struct packet_peer *q)
{
	if (!q->is_direct)
		return false;
	q->unheard++;
	return q->unheard < PACKET_UNHEARD_MAX || q->unheard & 1;
}

/* Send frames, more than one as a train. Returns 0 or a negative errno. */
static int send_train(const struct packet_port *k, struct packet_peer *q, const struct drv_frame *f,
		      unsigned n)
{
	bool direct = is_sent_direct(q);
	struct iovec iov[UDP_TRAIN];
	struct udp_control control;
	struct msghdr m = {.msg_name = direct ? (void *)&q->link : (void *)&q->address,
			   .msg_namelen = direct ? sizeof q->link : sizeof q->address,
			   .msg_iov = iov,
			   .msg_iovlen = n};
	uint32_t bytes = 0;

	for (unsigned i = 0; i < n; i++) {
		iov[i] = (struct iovec){f[i].data, f[i].bytes};
		bytes += f[i].bytes;
	}
	if (direct) {
		struct packet_head *h = (struct packet_head *)(void *)f[0].data - 1;

		write_head(h, k, q, bytes, f[0].bytes);
		iov[0] = (struct iovec){h, sizeof *h + f[0].bytes};
	} else if (n > 1) {
		udp_set_segment(&m, &control, (uint16_t)f[0].bytes);
	}
	return sendmsg(direct ? k->raw : k->udp, &m, MSG_DONTWAIT) < 0 ? -errno : 0;
}

static bool is_not_now(int error)
{
	return error == -EAGAIN || error == -ENOBUFS || error == -ENOMEM;
}

/* Does the kernel, or the device, send no trains? */
static bool is_train_refused(int error)
{
	return error == -EINVAL || error == -EIO || error == -EMSGSIZE || error == -EOPNOTSUPP;
}

/*
 * Frames that the device or the path refuses are lost: the wire above finds that out. The interface
 * may be down or gone: the IP layer knows another one, or says what is the matter.
 */
static void note_refused(struct packet_port *k, struct packet_peer *q, int error)
{
	q->is_direct = false;
	q->link.sll_ifindex = 0;
	udp_log_refused(&k->refused, "packet", &q->address, error);
}

static void count_sent(struct packet_port *k, struct drv_frame *f, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (!f[i].keep)
			packet_tx_put(&k->port, &f[i]);
		k->port.stat.tx_bytes += f[i].bytes;
	}
	k->port.stat.tx_frames += n;
}

static int packet_tx_send(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	struct packet_port *k = packet_of(p);
	unsigned taken = 0;

	while (taken < n) {
		unsigned many = udp_count_train(f + taken, n - taken, k->train);
		int rc = send_train(k, &k->peer[f[taken].peer], f + taken, many);

		if (rc && is_not_now(rc))
			break;
		if (many > 1 && is_train_refused(rc)) {
			k->train = 0;
			continue;
		}
		if (rc)
			note_refused(k, &k->peer[f[taken].peer], rc);
		count_sent(k, f + taken, many);
		taken += many;
	}
	p->stat.tx_busy += taken < n;
	return (int)taken;
}

/* ---- peers, opening, closing ---- */

/* A link of this host has that Ethernet address now. Tell the peers that know another one. */
static void tell_address(struct packet_port *k, int interface, const unsigned char *address)
{
	for (size_t i = 0; i < k->peers; i++) {
		struct packet_peer *q = &k->peer[i];

		if (q->link.sll_ifindex != interface || !memcmp(q->own, address, ETH_ALEN))
			continue;
		q->is_direct = false;
		q->heard = 0; /* Ask the kernel again at the next packet. */
		memcpy(q->own, address, ETH_ALEN);
		sendto(k->udp, NULL, 0, MSG_DONTWAIT, (const void *)&q->address, sizeof q->address);
	}
}

void packet_look_at_links(struct packet_port *k)
{
	unsigned char address[ETH_ALEN];
	int interface;

	while ((interface = packet_link_next_change(k->links, address)) > 0)
		tell_address(k, interface, address);
}

static int packet_peer(struct drv_port *p, const char *address)
{
	struct packet_port *k = packet_of(p);
	struct sockaddr_in a;

	if (udp_parse_address(address, 1, &a) || a.sin_addr.s_addr == htonl(INADDR_ANY))
		return -EINVAL;
	for (size_t i = 0; i < k->peers; i++)
		if (udp_is_same_address(&a, &k->peer[i].address))
			return (int)i;
	if (k->peers == DRV_PORT_PEERS_MAX)
		return -ENOSPC;
	if (k->peers == k->peer_room) {
		struct packet_peer *more = drv_array_grow(k->peer, &k->peer_room, sizeof *more, 16);

		if (!more)
			return -ENOMEM;
		k->peer = more;
	}
	k->peer[k->peers] = (struct packet_peer){.address = a};
	packet_ring_add_silent(k);
	return (int)k->peers++;
}

static int packet_address(struct drv_port *p, char *text, size_t bytes)
{
	return udp_write_address(&packet_of(p)->self, text, bytes);
}

static int make_buffers(struct packet_port *k)
{
	size_t step = PACKET_HEADROOM + ((k->port.frame_bytes_max + 63) & ~(size_t)63);

	k->tx_memory = aligned_alloc(64, step * (PACKET_TX + PACKET_KEPT));
	if (!k->tx_memory)
		return -ENOMEM;
	for (unsigned i = 0; i < PACKET_TX + PACKET_KEPT; i++)
		k->tx_free[k->tx_free_count++] = k->tx_memory + step * i + PACKET_HEADROOM;
	return 0;
}

static int open_sockets(struct packet_port *k, struct drv_port_why *why)
{
	struct epoll_event e = {.events = EPOLLIN};
	int yes = 1;

	/* Joined datagrams shall stay so up to the socket. */
	setsockopt(k->udp, SOL_UDP, UDP_GRO, &yes, sizeof yes);
	k->both = epoll_create1(EPOLL_CLOEXEC);
	if (k->both < 0 || epoll_ctl(k->both, EPOLL_CTL_ADD, k->udp, &e))
		return -errno;
	/* Without netlink the port does without news of links. */
	k->links = packet_link_watch();
	if (k->links >= 0 && epoll_ctl(k->both, EPOLL_CTL_ADD, k->links, &e))
		return -errno;
	return packet_ring_open(k, why);
}

static void packet_close(struct drv_port *p)
{
	struct packet_port *k = packet_of(p);

	packet_ring_close(k);
	if (k->udp >= 0)
		udp_close(k->udp);
	if (k->both >= 0)
		close(k->both);
	if (k->routes >= 0)
		close(k->routes);
	if (k->links >= 0)
		close(k->links);
	free(k->tx_memory);
	free(k->peer);
	free(k);
}

static const struct drv_port_ops packet_ops = {
    .name = "packet",
    .tx_get = packet_tx_get,
    .tx_send = packet_tx_send,
    .tx_put = packet_tx_put,
    .rx = packet_rx,
    .rx_done = packet_rx_done,
    .arm = packet_arm,
    .peer = packet_peer,
    .address = packet_address,
    .close = packet_close,
};

static int parse_arguments(const char *args, struct packet_port *k, struct drv_port_why *why)
{
	char word[64], *value;
	uint64_t frame = UDP_FRAME_MAX;
	int rc = drv_port_arg_next(&args, word, sizeof word, &value);

	if (rc <= 0 || value || udp_parse_address(word, 0, &k->self) ||
	    k->self.sin_addr.s_addr == htonl(INADDR_ANY))
		return drv_port_fail(why, -EINVAL,
				     "write packet:ADDRESS or packet:ADDRESS:PORT with an IPv4 "
				     "address of this host that the others reach");
	while ((rc = drv_port_arg_next(&args, word, sizeof word, &value)) > 0)
		if (strcmp(word, "frame") || drv_port_arg_u64(value, 64, UDP_FRAME_MAX, &frame))
			return drv_port_fail(why, -EINVAL,
					     "'%s': known is frame=BYTES (64 .. 65507)", word);
	if (rc)
		return drv_port_fail(why, rc, "an argument is too long");
	k->port.frame_bytes_max = (uint32_t)frame;
	k->port.keep_max = PACKET_KEPT;
	return 0;
}

int drv_port_packet_open(const char *args, struct drv_port **port, struct drv_port_why *why)
{
	struct packet_port *k = calloc(1, sizeof *k);
	int rc;

	if (!k)
		return -ENOMEM;
	k->udp = k->raw = k->both = k->links = k->releaser = -1;
	k->routes = packet_link_open();
	k->port.ops = &packet_ops;
	rc = parse_arguments(args, k, why);
	if (!rc)
		rc = udp_open(&k->udp, &k->self, &k->port.frame_bytes_max, why);
	if (!rc)
		rc = open_sockets(k, why);
	if (!rc)
		rc = make_buffers(k);
	if (rc) {
		packet_close(&k->port);
		return rc;
	}
	if (k->port.frame_bytes_max <= UDP_TRAIN_BYTES / 2)
		k->train = k->port.frame_bytes_max;
	*port = &k->port;
	return 0;
}
