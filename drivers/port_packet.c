/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packet: UDP over IPv4 past the kernel's IP layer, through a packet socket. Needs CAP_NET_RAW and
 * Linux 6.2.
 *
 *   spec      packet:ADDRESS[:PORT][,frame=BYTES]
 *             as uring, whose ports it reaches
 *   address   ADDRESS:PORT
 *
 * A UDP socket holds the port number and drops what arrives. A packet socket sees each datagram
 * before the IP layer does and copies it into a ring that this process maps, so a poll that finds
 * nothing reads one word of memory.
 *
 * Frames to a peer leave through the packet socket as soon as the peer has been heard: its Ethernet
 * address, or that of the router before it, is known then. The first frames, and one in
 * PACKET_UNHEARD_MAX of those that no frame of the peer follows, leave through the UDP socket; so a
 * peer whose Ethernet address has changed is found again.
 *
 * Consecutive frames of one size to one peer form a train: the device gets them as one packet, with
 * the size at which to divide it. A veth, and a card that joins datagrams, delivers it whole; each
 * frame is lent from where it lies in the ring.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/io_uring.h>
#include <netinet/udp.h>
#include <linux/virtio_net.h>
#include <netinet/ip.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "drivers/base/array.h"
#include "drivers/base/assert.h"
#include "drivers/base/atomic.h"
#include "drivers/port_udp.h"

#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

#define PACKET_TX          64u  /* send buffers */
#define PACKET_KEPT        256u /* and those that the caller may keep */
#define PACKET_UNHEARD_MAX 64u

/*
 * The receive ring. A slot has room for a train and for what the kernel writes before it: its own
 * header, the address, and the virtio and Ethernet headers. RESERVED_BYTES put the data of a frame
 * on a multiple of 16 bytes.
 */
#define RESERVED_BYTES     10u
#define PACKET_SLOT_BYTES  (65536u + 256u)
#define PACKET_BLOCK_SLOTS 15u
#define PACKET_BLOCK_BYTES (1u << 20)
#define PACKET_BLOCKS      17u
#define PACKET_SLOTS       (PACKET_BLOCKS * PACKET_BLOCK_SLOTS)

_Static_assert(PACKET_SLOT_BYTES *PACKET_BLOCK_SLOTS <= PACKET_BLOCK_BYTES, "slots fit a block");
_Static_assert((TPACKET_ALIGN(TPACKET2_HDRLEN + 16) + sizeof(struct virtio_net_hdr) +
		RESERVED_BYTES + UDP_HEADERS) %
		       16 ==
		   0,
	       "data of a frame is aligned");

/* What stands before the data of the first frame of a packet, in the headroom of its buffer. */
struct packet_head {
	struct virtio_net_hdr virtio;
	struct ethhdr ethernet;
	struct iphdr ip;
	struct udphdr udp;
} __attribute__((packed));

#define PACKET_HEADROOM 64u
_Static_assert(sizeof(struct packet_head) <= PACKET_HEADROOM, "headers fit");

struct packet_peer {
	struct sockaddr_in address;
	struct sockaddr_ll link; /* how to reach it; sll_ifindex 0: not known */
	unsigned char own[ETH_ALEN];
	uint32_t unheard; /* frames or trains that were sent since the last one came from it */
};

/* The packet that is being lent, frame by frame. */
struct packet_current {
	unsigned char *data; /* NULL: none */
	uint32_t bytes, at;  /* of all frames; lent already */
	uint32_t segment;    /* bytes of a frame */
	uint32_t slot;
	int peer;
};

struct packet_port {
	struct drv_port port;
	int udp, raw;
	int releaser; /* io_uring with the packet socket (release_later()); -1: none */
	struct sockaddr_in self;
	uint32_t train; /* longest frame of a train; 0: no trains */

	unsigned char *ring;
	uint32_t next; /* slot that is read next */
	struct packet_current current;
	uint16_t lent[PACKET_SLOTS]; /* frames lent of a slot, plus 1 while it contains more */

	struct packet_peer *peer;
	size_t peers, peer_room;
	int last_peer;

	unsigned char *tx_memory, *tx_free[PACKET_TX + PACKET_KEPT];
	unsigned tx_free_count;
};

static struct packet_port *packet_of(struct drv_port *p)
{
	return (struct packet_port *)p;
}

/* ---- receiving ---- */

static struct tpacket2_hdr *slot_of(const struct packet_port *k, uint32_t i)
{
	return (
	    struct tpacket2_hdr *)(void *)(k->ring +
					   (size_t)(i / PACKET_BLOCK_SLOTS) * PACKET_BLOCK_BYTES +
					   (size_t)(i % PACKET_BLOCK_SLOTS) * PACKET_SLOT_BYTES);
}

static void return_slot(const struct packet_port *k, uint32_t i)
{
	atomic_store_release(&slot_of(k, i)->tp_status, TP_STATUS_KERNEL);
}

static int peer_of(struct packet_port *k, const struct sockaddr_in *a)
{
	if ((size_t)k->last_peer < k->peers &&
	    udp_is_same_address(a, &k->peer[k->last_peer].address))
		return k->last_peer;
	for (size_t i = 0; i < k->peers; i++)
		if (udp_is_same_address(a, &k->peer[i].address))
			return k->last_peer = (int)i;
	return -1;
}

/* A packet of this peer has come: answers go where it came from. */
static void learn_link(struct packet_peer *q, const struct tpacket2_hdr *h)
{
	const struct sockaddr_ll *from = (const void *)((const char *)h + TPACKET_ALIGN(sizeof *h));
	const struct ethhdr *e = (const void *)((const char *)h + h->tp_mac);

	q->unheard = 0;
	if (__builtin_expect(q->link.sll_ifindex == from->sll_ifindex &&
				 !memcmp(q->link.sll_addr, e->h_source, ETH_ALEN) &&
				 !memcmp(q->own, e->h_dest, ETH_ALEN),
			     1))
		return;
	/*
	 * Without Ethernet the UDP socket sends; over loopback too, where the IP layer takes own
	 * addresses only from its own sockets, so a port of uring would hear nothing.
	 */
	if (from->sll_hatype != ARPHRD_ETHER)
		return;
	q->link = (struct sockaddr_ll){.sll_family = AF_PACKET,
				       .sll_protocol = htons(ETH_P_IP),
				       .sll_ifindex = from->sll_ifindex,
				       .sll_halen = ETH_ALEN};
	memcpy(q->link.sll_addr, e->h_source, ETH_ALEN);
	memcpy(q->own, e->h_dest, ETH_ALEN);
}

/* The filter has passed it: UDP to this port without IP options. Returns false if it is broken. */
static bool open_packet(struct packet_port *k, struct tpacket2_hdr *h, struct packet_current *c)
{
	const struct iphdr *ip = (const void *)((char *)h + h->tp_net);
	const struct udphdr *udp = (const void *)(ip + 1);
	const struct virtio_net_hdr *v =
	    (const void *)((char *)h + h->tp_mac - sizeof(struct virtio_net_hdr));
	uint32_t here = h->tp_snaplen - (uint32_t)(h->tp_net - h->tp_mac);
	struct sockaddr_in from = {.sin_family = AF_INET};

	if (h->tp_snaplen < h->tp_len || h->tp_snaplen < (uint32_t)(h->tp_net - h->tp_mac) ||
	    here <= UDP_HEADERS)
		return false;
	c->bytes = ntohs(udp->len);
	if (c->bytes <= sizeof *udp || c->bytes > here - sizeof *ip)
		return false;
	c->bytes -= (uint32_t)sizeof *udp;
	c->data = (unsigned char *)h + h->tp_net + UDP_HEADERS;
	c->at = 0;
	c->segment =
	    v->gso_type == VIRTIO_NET_HDR_GSO_UDP_L4 && v->gso_size ? v->gso_size : c->bytes;
	from.sin_addr.s_addr = ip->saddr;
	from.sin_port = udp->source;
	c->peer = peer_of(k, &from);
	if (c->segment > k->port.frame_bytes_max)
		return false;
	if (c->peer >= 0)
		learn_link(&k->peer[c->peer], h);
	return true;
}

/* Begin with the next packet. Returns false if none is there. */
static bool next_packet(struct packet_port *k)
{
	for (;;) {
		struct tpacket2_hdr *h = slot_of(k, k->next);
		struct packet_current c;

		if (!(atomic_load_acquire(&h->tp_status) & TP_STATUS_USER) || k->lent[k->next])
			return false;
		c.slot = k->next;
		k->next = (k->next + 1) % PACKET_SLOTS;
		if (__builtin_expect(open_packet(k, h, &c), 1)) {
			k->lent[c.slot] = 1;
			k->current = c;
			return true;
		}
		k->port.stat.rx_dropped++;
		return_slot(k, c.slot);
	}
}

/*
 * Lend the next frame of the current packet. A frame that does not lie on a multiple of 8 bytes is
 * moved to the front of the packet when nothing there is lent. Returns false if frames must be
 * returned first.
 */
static bool lend_frame(struct packet_port *k, struct drv_frame *f)
{
	struct packet_current *c = &k->current;
	uint32_t left = c->bytes - c->at;

	f->data = c->data + c->at;
	f->bytes = left < c->segment ? left : c->segment;
	f->peer = c->peer;
	f->cookie = (void *)(uintptr_t)c->slot;
	if (__builtin_expect((uintptr_t)f->data % 8, 0)) {
		if (k->lent[c->slot] > 1)
			return false;
		f->data = memmove(c->data - (uintptr_t)c->data % 8, f->data, f->bytes);
	}
	k->lent[c->slot]++;
	c->at += f->bytes;
	k->port.stat.rx_bytes += f->bytes;
	if (c->at == c->bytes) {
		k->lent[c->slot]--;
		c->data = NULL;
	}
	return true;
}

static int packet_rx(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	struct packet_port *k = packet_of(p);
	unsigned got = 0;

	while (got < n && (k->current.data || next_packet(k)) && lend_frame(k, &f[got]))
		got++;
	p->stat.rx_frames += got;
	return (int)got;
}

static void packet_rx_done(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	struct packet_port *k = packet_of(p);

	for (unsigned i = 0; i < n; i++) {
		uint32_t slot = (uint32_t)(uintptr_t)f[i].cookie;

		if (!--k->lent[slot])
			return_slot(k, slot);
	}
}

static int packet_arm(struct drv_port *p)
{
	return packet_of(p)->raw;
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

/* Add the 16-bit words of b to a one's complement sum. */
static uint32_t sum_words(const void *b, size_t words, uint32_t sum)
{
	for (size_t i = 0; i < words; i++) {
		uint16_t w;

		memcpy(&w, (const char *)b + 2 * i, sizeof w);
		sum += w;
	}
	return sum;
}

static uint16_t fold_sum(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)(sum + (sum >> 16));
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
	h->ip.check = (uint16_t)~fold_sum(sum_words(&h->ip, sizeof h->ip / 2, 0));
	if (bytes == segment)
		return; /* a UDP checksum of 0: none */
	/* A device that divides the train needs the sum of the pseudo header. */
	h->udp.check = fold_sum(sum_words(&h->ip.saddr, 4, htons(IPPROTO_UDP) + h->udp.len));
	h->virtio = (struct virtio_net_hdr){
	    .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
	    .gso_type = VIRTIO_NET_HDR_GSO_UDP_L4,
	    .hdr_len = sizeof *h - sizeof h->virtio,
	    .gso_size = (uint16_t)segment,
	    .csum_start = sizeof(struct ethhdr) + sizeof(struct iphdr),
	    .csum_offset = offsetof(struct udphdr, check),
	};
}

/* Send frames, more than one as a train. Returns 0 or a negative errno. */
static int send_train(const struct packet_port *k, struct packet_peer *q, const struct drv_frame *f,
		      unsigned n)
{
	bool direct = q->link.sll_ifindex && ++q->unheard % PACKET_UNHEARD_MAX;
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

/* Frames that the device or the path refuses are lost: the wire above finds that out. */
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
		if (rc && many > 1) {
			k->train = 0; /* The kernel sends no trains here. */
			continue;
		}
		count_sent(k, f + taken, many);
		taken += many;
	}
	p->stat.tx_busy += taken < n;
	return (int)taken;
}

/* ---- peers, opening, closing ---- */

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
	return (int)k->peers++;
}

static int packet_address(struct drv_port *p, char *text, size_t bytes)
{
	return udp_write_address(&packet_of(p)->self, text, bytes);
}

static int attach_filter(int fd, struct sock_filter *code, size_t n)
{
	struct sock_fprog program = {.len = (unsigned short)n, .filter = code};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) ? -errno : 0;
}

static int pass_nothing(int fd)
{
	struct sock_filter none = BPF_STMT(BPF_RET | BPF_K, 0);

	return attach_filter(fd, &none, 1);
}

#define LOAD(size, at)       BPF_STMT(BPF_LD | (size) | BPF_ABS, (uint32_t)(at))
#define DROP_UNLESS(v, left) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (v), 0, (left))

/* Pass UDP to this host, address and port that is no fragment and has no IP options. */
static int pass_own(const struct packet_port *k)
{
	struct sock_filter code[] = {
	    LOAD(BPF_W, SKF_AD_OFF + SKF_AD_PKTTYPE),
	    DROP_UNLESS(PACKET_HOST, 14),
	    LOAD(BPF_W, SKF_AD_OFF + SKF_AD_PROTOCOL),
	    DROP_UNLESS(ETH_P_IP, 12),
	    LOAD(BPF_H, SKF_NET_OFF + 22),
	    DROP_UNLESS(ntohs(k->self.sin_port), 10),
	    LOAD(BPF_W, SKF_NET_OFF + 16),
	    DROP_UNLESS(ntohl(k->self.sin_addr.s_addr), 8),
	    LOAD(BPF_B, SKF_NET_OFF),
	    DROP_UNLESS(0x45, 6),
	    LOAD(BPF_B, SKF_NET_OFF + 9),
	    DROP_UNLESS(IPPROTO_UDP, 4),
	    LOAD(BPF_H, SKF_NET_OFF + 6),
	    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, IP_MF | IP_OFFMASK, 2, 0),
	    BPF_STMT(BPF_RET | BPF_K, 0x40000),
	    BPF_STMT(BPF_RET | BPF_K, 0),
	    BPF_STMT(BPF_RET | BPF_K, 0),
	};

	return attach_filter(k->raw, code, sizeof code / sizeof *code);
}

static int set_option(int fd, int option, int value)
{
	return setsockopt(fd, SOL_PACKET, option, &value, sizeof value) ? -errno : 0;
}

/*
 * Let a kernel worker release the packet socket. The release of a socket with a mapped ring waits
 * for RCU grace periods, each of which takes 10 to 500 ms while all processors are busy, and the
 * process that drops the last reference waits, also while it exits. A file that is registered with
 * an io_uring is released by a worker after the ring is closed. Without io_uring the end takes as
 * long as the kernel needs.
 */
static void release_later(struct packet_port *k)
{
	struct io_uring_params params = {0};

	k->releaser = (int)syscall(SYS_io_uring_setup, 1, &params);
	if (k->releaser >= 0 &&
	    syscall(SYS_io_uring_register, k->releaser, IORING_REGISTER_FILES, &k->raw, 1)) {
		close(k->releaser);
		k->releaser = -1;
	}
}

/* The socket receives when it is bound, so its ring and filter are there before. */
static int bind_raw(struct packet_port *k, struct drv_port_why *why)
{
	struct tpacket_req ring = {.tp_block_size = PACKET_BLOCK_BYTES,
				   .tp_block_nr = PACKET_BLOCKS,
				   .tp_frame_size = PACKET_SLOT_BYTES,
				   .tp_frame_nr = PACKET_SLOTS};
	struct sockaddr_ll all = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	int rc = set_option(k->raw, PACKET_VERSION, TPACKET_V2);

	rc = rc ? rc : set_option(k->raw, PACKET_VNET_HDR, 1);
	rc = rc ? rc : set_option(k->raw, PACKET_RESERVE, RESERVED_BYTES);
	rc = rc ? rc : set_option(k->raw, PACKET_IGNORE_OUTGOING, 1);
	rc = rc ? rc : set_option(k->raw, PACKET_QDISC_BYPASS, 1);
	rc = rc ? rc : pass_own(k);
	if (!rc && setsockopt(k->raw, SOL_PACKET, PACKET_RX_RING, &ring, sizeof ring))
		rc = -errno;
	if (rc)
		return drv_port_fail(why, rc,
				     "the packet socket cannot be set up (%s); it needs Linux 6.2 "
				     "and 17 MiB of kernel memory, or take uring:",
				     strerror(-rc));
	k->ring = mmap(NULL, (size_t)PACKET_BLOCKS * PACKET_BLOCK_BYTES, PROT_READ | PROT_WRITE,
		       MAP_SHARED, k->raw, 0);
	if (k->ring == MAP_FAILED) {
		k->ring = NULL;
		return drv_port_fail(why, -errno, "its ring cannot be mapped: %s", strerror(errno));
	}
	release_later(k);
	return bind(k->raw, (const void *)&all, sizeof all) ? -errno : 0;
}

static int open_raw(struct packet_port *k, struct drv_port_why *why)
{
	int bytes = 8 << 20, yes = 1;

	k->raw = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (k->raw < 0)
		return drv_port_fail(why, -errno,
				     "no packet socket (%s); it needs root or CAP_NET_RAW, or "
				     "take uring:",
				     strerror(errno));
	setsockopt(k->raw, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes);
	/* Otherwise the kernel divides each train before it drops it. */
	setsockopt(k->udp, SOL_UDP, UDP_GRO, &yes, sizeof yes);
	return pass_nothing(k->udp) ? -errno : bind_raw(k, why);
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

static void packet_close(struct drv_port *p)
{
	struct packet_port *k = packet_of(p);

	/* Until a worker has released it, the socket must not fill a ring that is not read. */
	if (k->raw >= 0)
		pass_nothing(k->raw);
	if (k->ring)
		munmap(k->ring, (size_t)PACKET_BLOCKS * PACKET_BLOCK_BYTES);
	if (k->raw >= 0)
		close(k->raw);
	if (k->releaser >= 0)
		close(k->releaser);
	if (k->udp >= 0)
		close(k->udp);
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
	k->udp = k->raw = k->releaser = -1;
	k->port.ops = &packet_ops;
	rc = parse_arguments(args, k, why);
	if (!rc)
		rc = udp_open(&k->udp, &k->self, &k->port.frame_bytes_max, why);
	if (!rc)
		rc = open_raw(k, why);
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
