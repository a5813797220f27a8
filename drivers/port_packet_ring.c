/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the packet port hears. The kernel copies each datagram into a slot of the ring before its IP
 * layer sees it, or (as seen with Linux 6.18) after.
 * A slot has room for datagrams that the kernel has joined (a train that crossed a veth, UDP_GRO).
 *
 * Until the ring has heard a peer, the socket passes all datagrams and is asked now and then. So a
 * peer whose packets the ring does not see, because IPsec or a translation of addresses changes
 * them in the IP layer, is heard all the same, at the price of a system call for each poll.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_arp.h>
#include <linux/io_uring.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "drivers/base/crc32c.h"
#include "drivers/base/log.h"
#include "drivers/port_packet.h"

/*
 * What the kernel writes into a slot before a packet: its own header, the address, and the virtio
 * and Ethernet headers. RESERVED_BYTES put the data of a frame on a multiple of 16 bytes.
 */
#define RESERVED_BYTES 10u
#define BEFORE_IP                                                                                  \
	(TPACKET_ALIGN(TPACKET2_HDRLEN + 16) + sizeof(struct virtio_net_hdr) + RESERVED_BYTES)
_Static_assert((BEFORE_IP + UDP_HEADERS) % 16 == 0, "data of a frame is aligned");

#define RING_BYTES   (16u << 20)
#define BLOCK_BYTES  (1u << 20)
#define PACKET_BYTES 65536u /* the longest packet of IPv4, of joined datagrams too */

#define ASK_ROUNDS  15u   /* Mask: ask the socket for silent peers at one empty poll in 16. */
#define LINK_ROUNDS 4095u /* Mask: look at links at one empty poll in 4096. */
/* Longest time from the socket to the ring: a virtual processor that its host has preempted. */
#define LENT_NS    500000000u
#define BESIDE_MAX 4u /* datagrams until the log says that the ring does not hear a peer */

static struct packet_port *packet_of(struct drv_port *p)
{
	return (struct packet_port *)p;
}

static struct tpacket2_hdr *slot_of(const struct packet_port *k, uint32_t i)
{
	return (struct tpacket2_hdr *)(void *)(k->ring +
					       (size_t)(i / k->block_slots) * k->block_bytes +
					       (size_t)(i % k->block_slots) * k->slot_bytes);
}

static void return_slot(const struct packet_port *k, uint32_t i)
{
	atomic_store_release(&slot_of(k, i)->tp_status, TP_STATUS_KERNEL);
}

/* ---- what a packet says ---- */

uint32_t packet_sum(const void *b, size_t bytes, uint32_t sum)
{
	uint64_t all = sum;
	size_t i = 0;

	for (; i + 4 <= bytes; i += 4) {
		uint32_t w;

		memcpy(&w, (const char *)b + i, sizeof w);
		all += w;
	}
	if (i < bytes) {
		uint32_t w = 0;

		memcpy(&w, (const char *)b + i, bytes - i);
		all += w;
	}
	all = (all & 0xffffffff) + (all >> 32);
	return (uint32_t)((all & 0xffff) + (all >> 16 & 0xffff) + (all >> 32));
}

uint16_t packet_sum_fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)(sum + (sum >> 16));
}

static bool is_sum_right(const struct iphdr *ip, const struct udphdr *udp)
{
	uint32_t sum = packet_sum(&ip->saddr, 8, (uint32_t)htons(IPPROTO_UDP) + udp->len);

	return packet_sum_fold(packet_sum(udp, ntohs(udp->len), sum)) == 0xffff;
}

bool packet_parse(struct packet_seen *s, const struct virtio_net_hdr *v, const unsigned char *ip,
		  uint32_t here, bool has_sum, uint32_t frame_max)
{
	struct iphdr h;
	struct udphdr udp;

	if (here < UDP_HEADERS)
		return false;
	memcpy(&h, ip, sizeof h);
	memcpy(&udp, ip + sizeof h, sizeof udp);
	s->bytes = ntohs(udp.len);
	if (s->bytes < sizeof udp || s->bytes + sizeof h > here)
		return false;
	s->bytes -= (uint32_t)sizeof udp;
	s->from = (struct sockaddr_in){
	    .sin_family = AF_INET, .sin_port = udp.source, .sin_addr.s_addr = h.saddr};
	s->data = ip + UDP_HEADERS;
	s->segment = s->bytes;
	if (v->gso_type == VIRTIO_NET_HDR_GSO_UDP_L4 && v->gso_size && v->gso_size < s->bytes)
		s->segment = v->gso_size;
	if (s->segment > frame_max)
		return false;
	return has_sum || !udp.check || s->segment < s->bytes ||
	       is_sum_right((const void *)ip, (const void *)(ip + sizeof h));
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

/* ---- filters of both sockets ---- */

static int attach_filter(int fd, struct sock_filter *code, size_t n)
{
	struct sock_fprog program = {.len = (unsigned short)n, .filter = code};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) ? -errno : 0;
}

/* Let a socket pass the first bytes of everything. */
static int pass(int fd, uint32_t bytes)
{
	struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, bytes);

	return attach_filter(fd, &all, 1);
}

#define LOAD(size, at)       BPF_STMT(BPF_LD | (size) | BPF_ABS, (uint32_t)(at))
#define DROP_UNLESS(v, left) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (v), 0, (left))

/* The ring: UDP to this host, address and port that is no fragment and has no IP options. */
static int filter_ring(const struct packet_port *k)
{
	struct sock_filter code[] = {
	    LOAD(BPF_H, SKF_NET_OFF + 22),
	    DROP_UNLESS(ntohs(k->self.sin_port), 11),
	    LOAD(BPF_W, SKF_NET_OFF + 16),
	    DROP_UNLESS(ntohl(k->self.sin_addr.s_addr), 9),
	    LOAD(BPF_W, SKF_AD_OFF + SKF_AD_PKTTYPE),
	    DROP_UNLESS(PACKET_HOST, 7),
	    LOAD(BPF_B, SKF_NET_OFF),
	    DROP_UNLESS(0x45, 5),
	    LOAD(BPF_B, SKF_NET_OFF + 9),
	    DROP_UNLESS(IPPROTO_UDP, 3),
	    LOAD(BPF_H, SKF_NET_OFF + 6),
	    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, IP_MF | IP_OFFMASK, 1, 0),
	    BPF_STMT(BPF_RET | BPF_K, 0x40000),
	    BPF_STMT(BPF_RET | BPF_K, 0),
	};

	return attach_filter(k->raw, code, sizeof code / sizeof *code);
}

/* The UDP socket: everything while peers are silent, otherwise nothing. */
static int filter_socket(const struct packet_port *k)
{
	return k->silent ? pass(k->udp, 0x40000) : pass(k->udp, 0);
}

void packet_ring_add_silent(struct packet_port *k)
{
	if (!k->silent++)
		filter_socket(k);
}

/* ---- where a packet came from ---- */

static void hear_first(struct packet_port *k, struct packet_peer *q)
{
	q->is_heard = true;
	k->beside -= q->beside != 0;
	if (!--k->silent) {
		filter_socket(k);
		k->has_rest = true;
	}
}

/* Did a packet come over the same link as the last one of this peer? */
static bool is_over_link(const struct packet_peer *q, const struct sockaddr_ll *from,
			 const struct ethhdr *e)
{
	return q->link.sll_ifindex == from->sll_ifindex &&
	       !memcmp(q->link.sll_addr, e->h_source, ETH_ALEN) &&
	       !memcmp(q->own, e->h_dest, ETH_ALEN);
}

/* Has the number one bit? */
static bool is_power_of_two(uint32_t n)
{
	return !(n & (n - 1));
}

bool packet_link_is_due(struct packet_peer *q, bool is_new)
{
	if (is_new) {
		if (q->steady >= PACKET_STEADY)
			q->heard = 0;
		q->steady = 0;
	}
	q->steady++;
	q->heard++;
	return is_power_of_two(q->heard) || !(q->heard % PACKET_ASK_MAX);
}

/*
 * Note the link that a packet came over, and ask the kernel now and then whether it sends there.
 *
 * Without Ethernet the UDP socket sends; over loopback too, where the IP layer takes own addresses
 * only from its own sockets, so a port of uring would hear nothing.
 */
static void note_link(struct packet_port *k, struct packet_peer *q, const struct sockaddr_ll *from,
		      const struct ethhdr *e)
{
	bool is_new = !is_over_link(q, from, e);

	if (!q->is_heard)
		hear_first(k, q);
	if (from->sll_hatype != ARPHRD_ETHER) {
		q->is_direct = false;
		q->link.sll_ifindex = 0;
		return;
	}
	if (is_new) {
		q->link = (struct sockaddr_ll){.sll_family = AF_PACKET,
					       .sll_protocol = htons(ETH_P_IP),
					       .sll_ifindex = from->sll_ifindex,
					       .sll_halen = ETH_ALEN};
		memcpy(q->link.sll_addr, e->h_source, ETH_ALEN);
		memcpy(q->own, e->h_dest, ETH_ALEN);
	}
	q->is_direct = packet_link_is_due(q, is_new) &&
		       packet_link_is_used(k->routes, &k->self, &q->address, &q->link);
}

/* A packet of this peer is in a slot. */
static void learn_link(struct packet_port *k, struct packet_peer *q, const struct tpacket2_hdr *h)
{
	const struct sockaddr_ll *from = (const void *)((const char *)h + TPACKET_ALIGN(sizeof *h));
	const struct ethhdr *e = (const void *)((const char *)h + h->tp_mac);

	q->unheard = 0;
	if (__builtin_expect(q->is_direct && is_over_link(q, from, e), 1)) {
		q->steady++;
		return;
	}
	note_link(k, q, from, e);
}

/* ---- the UDP socket ---- */

/* The size of each datagram of those that the kernel has joined; 0: it has not. */
static uint32_t segment_of(struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		int bytes;

		if (c->cmsg_level != SOL_UDP || c->cmsg_type != UDP_GRO ||
		    c->cmsg_len < CMSG_LEN(sizeof bytes))
			continue;
		memcpy(&bytes, CMSG_DATA(c), sizeof bytes);
		return bytes > 0 ? (uint32_t)bytes : 0;
	}
	return 0;
}

/*
 * Read from the socket into one of its buffers. Returns 1; 0 if nothing is there; -1 if frames must
 * be returned first. A datagram that is no frame of this port has 0 bytes in c.
 */
static int read_socket(struct packet_port *k, struct packet_current *c)
{
	struct sockaddr_in from;
	struct udp_control control;
	struct iovec iov;
	struct msghdr m = {.msg_name = &from,
			   .msg_namelen = sizeof from,
			   .msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control.bytes,
			   .msg_controllen = sizeof control.bytes};
	unsigned char *to;
	ssize_t n;

	if (!k->udp_free_count)
		return -1;
	to = k->udp_free[k->udp_free_count - 1];
	iov = (struct iovec){to, PACKET_BYTES};
	n = recvmsg(k->udp, &m, MSG_DONTWAIT);
	if (n < 0) {
		k->has_rest = false;
		return 0;
	}
	*c = (struct packet_current){
	    .data = to,
	    .bytes = (uint32_t)n,
	    .segment = segment_of(&m),
	    .slot = k->slots + (uint32_t)((size_t)(to - k->udp_memory) / PACKET_BYTES),
	    .peer = m.msg_namelen == sizeof from ? peer_of(k, &from) : -1};
	if (!c->segment || c->segment > c->bytes)
		c->segment = c->bytes;
	if (c->segment > k->port.frame_bytes_max || m.msg_flags & MSG_TRUNC)
		c->bytes = 0;
	return 1;
}

/* Read what comes from peers that the ring does not hear. Returns as read_socket(). */
static int read_unseen(struct packet_port *k, struct packet_current *c)
{
	for (int i = 0; i < DRV_PORT_BURST; i++) {
		int rc = read_socket(k, c);

		if (rc <= 0)
			return rc;
		if (!c->bytes)
			k->port.stat.rx_dropped++;
		else if (c->peer >= 0 && !k->peer[c->peer].is_heard)
			return rc;
	}
	return 0;
}

static void begin_current(struct packet_port *k, const struct packet_current *c)
{
	if (c->slot >= k->slots)
		k->udp_free_count--;
	k->lent[c->slot] = 1;
	k->current = *c;
}

/*
 * Remember a datagram that the port lends from the socket. The kernel may have given it to that
 * socket first, so the ring may deliver it a second time.
 */
static void remember_lent(struct packet_port *k, const struct packet_current *c)
{
	if (k->beside_lents == PACKET_BESIDE_LENT)
		memmove(k->beside_lent, k->beside_lent + 1,
			--k->beside_lents * sizeof k->beside_lent[0]);
	k->beside_lent[k->beside_lents++] =
	    (struct packet_lent){.peer = c->peer,
				 .bytes = c->bytes,
				 .crc = drv_crc32c(0, c->data, c->bytes),
				 .time = drv_clock_ns()};
}

/*
 * Was this datagram of the ring lent from the socket already? The ring delivers the datagrams of a
 * peer in the order of the socket, so what is older than this one never comes, and after the first
 * one that was not lent no other was. One processor gives a datagram to both in one go, so an equal
 * one that comes much later is another one.
 */
static __attribute__((noinline)) bool was_lent(struct packet_port *k, int peer,
					       const struct packet_seen *s)
{
	uint32_t crc = drv_crc32c(0, s->data, s->bytes), left = 0;
	bool found = false;

	for (uint32_t i = 0; i < k->beside_lents; i++) {
		const struct packet_lent l = k->beside_lent[i];

		if (l.peer != peer || found)
			k->beside_lent[left++] = l;
		else
			found = l.bytes == s->bytes && l.crc == crc &&
				drv_clock_ns() - l.time < LENT_NS;
	}
	k->beside_lents = left;
	return found;
}

/* The socket has a datagram of a peer that the ring has not heard. */
static void note_beside(struct packet_port *k, struct packet_peer *q)
{
	if (++q->beside == 1)
		k->beside++;
	if (q->beside == BESIDE_MAX)
		drv_info("port packet: the packet socket does not hear a peer that the UDP socket "
			 "hears; port uring is faster here");
}

static bool has_slot(const struct packet_port *k)
{
	return atomic_load_acquire(&slot_of(k, k->next)->tp_status) & TP_STATUS_USER &&
	       !k->lent[k->next];
}

/* Read from the socket. Returns true if there was something that the ring does not hear. */
static __attribute__((noinline)) bool next_beside(struct packet_port *k)
{
	struct packet_current c;
	struct packet_peer *q;

	if (!k->has_rest && !k->beside && k->empty_polls++ & ASK_ROUNDS)
		return false;
	if (read_unseen(k, &c) <= 0)
		return false;
	q = &k->peer[c.peer];
	/* The ring has a datagram, which may be this one. */
	if (!q->beside && has_slot(k))
		return false;
	note_beside(k, q);
	remember_lent(k, &c);
	begin_current(k, &c);
	return true;
}

/* ---- the ring ---- */

/* Read the headers of a slot. Returns false if they are broken. */
static bool open_slot(struct packet_port *k, const struct tpacket2_hdr *h, struct packet_seen *s)
{
	uint32_t link = (uint32_t)(h->tp_net - h->tp_mac);

	if (h->tp_snaplen < link)
		return false;
	return packet_parse(
	    s, (const void *)((const char *)h + h->tp_mac - sizeof(struct virtio_net_hdr)),
	    (const unsigned char *)h + h->tp_net, h->tp_snaplen - link,
	    h->tp_status & (TP_STATUS_CSUM_VALID | TP_STATUS_CSUMNOTREADY),
	    k->port.frame_bytes_max);
}

/* Begin with the next datagrams. Returns false if none are there. */
static bool next_packet(struct packet_port *k)
{
	for (;;) {
		struct tpacket2_hdr *h = slot_of(k, k->next);
		uint32_t status = atomic_load_acquire(&h->tp_status), slot = k->next;
		struct packet_current c;
		struct packet_seen s;
		int peer = -1;
		bool is_sound;

		if (!(status & TP_STATUS_USER) || k->lent[slot])
			return __builtin_expect(k->has_rest || k->silent, 0) && next_beside(k);
		k->next = (slot + 1) % k->slots;
		is_sound = open_slot(k, h, &s);
		if (is_sound)
			peer = peer_of(k, &s.from);
		if (peer >= 0)
			learn_link(k, &k->peer[peer], h);
		if (__builtin_expect(k->beside_lents != 0, 0) && is_sound &&
		    was_lent(k, peer, &s)) {
			return_slot(k, slot);
			continue;
		}
		/* An empty datagram only tells of the link. */
		if (__builtin_expect(!is_sound || !s.bytes, 0)) {
			k->port.stat.rx_dropped++;
			return_slot(k, slot);
			continue;
		}
		c = (struct packet_current){.data = (unsigned char *)h + h->tp_net + UDP_HEADERS,
					    .bytes = s.bytes,
					    .segment = s.segment,
					    .slot = slot,
					    .peer = peer};
		begin_current(k, &c);
		return true;
	}
}

/*
 * Lend the next of the current frames. A frame that does not lie on a multiple of 8 bytes is moved
 * to the front of its packet when nothing there is lent. Returns false if frames must be returned
 * first.
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

int packet_rx(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	struct packet_port *k = packet_of(p);
	unsigned got = 0;

	while (got < n && (k->current.data || next_packet(k)) && lend_frame(k, &f[got]))
		got++;
	if (!got && !(++k->quiet_polls & LINK_ROUNDS))
		packet_look_at_links(k);
	p->stat.rx_frames += got;
	return (int)got;
}

void packet_rx_done(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	struct packet_port *k = packet_of(p);

	for (unsigned i = 0; i < n; i++) {
		uint32_t slot = (uint32_t)(uintptr_t)f[i].cookie;

		if (--k->lent[slot])
			continue;
		if (slot < k->slots)
			return_slot(k, slot);
		else
			k->udp_free[k->udp_free_count++] =
			    k->udp_memory + (size_t)(slot - k->slots) * PACKET_BYTES;
	}
}

int packet_arm(struct drv_port *p)
{
	struct packet_port *k = packet_of(p);

	packet_look_at_links(k);
	/* What lies in the UDP socket would end each sleep at once. */
	k->has_rest = true;
	return k->both;
}

/* ---- opening, closing ---- */

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

static void choose_sizes(struct packet_port *k)
{
	k->slot_bytes = ((uint32_t)BEFORE_IP + PACKET_BYTES + 63) & ~63u;
	k->block_bytes = BLOCK_BYTES;
	k->blocks = RING_BYTES / BLOCK_BYTES;
	k->block_slots = BLOCK_BYTES / k->slot_bytes;
	k->slots = k->blocks * k->block_slots;
}

static int watch(struct packet_port *k, int fd)
{
	struct epoll_event e = {.events = EPOLLIN};

	return epoll_ctl(k->both, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

/* The socket receives when it is bound, so its ring and filter are there before. */
static int bind_ring(struct packet_port *k, struct drv_port_why *why)
{
	struct tpacket_req ring = {.tp_block_size = k->block_bytes,
				   .tp_block_nr = k->blocks,
				   .tp_frame_size = k->slot_bytes,
				   .tp_frame_nr = k->slots};
	struct sockaddr_ll all = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP)};
	int rc = set_option(k->raw, PACKET_VERSION, TPACKET_V2);

	rc = rc ? rc : set_option(k->raw, PACKET_VNET_HDR, 1);
	rc = rc ? rc : set_option(k->raw, PACKET_RESERVE, RESERVED_BYTES);
	rc = rc ? rc : filter_ring(k);
	if (!rc && setsockopt(k->raw, SOL_PACKET, PACKET_RX_RING, &ring, sizeof ring))
		rc = -errno;
	if (rc)
		return drv_port_fail(why, rc,
				     "the packet socket cannot be set up (%s); it needs Linux 6.2 "
				     "and %u MiB of kernel memory, or take uring:",
				     strerror(-rc), (k->blocks * k->block_bytes) >> 20);
	k->ring = mmap(NULL, (size_t)k->blocks * k->block_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		       k->raw, 0);
	if (k->ring == MAP_FAILED) {
		k->ring = NULL;
		return drv_port_fail(why, -errno, "its ring cannot be mapped: %s", strerror(errno));
	}
	release_later(k);
	rc = bind(k->raw, (const void *)&all, sizeof all) ? -errno : watch(k, k->raw);
	return rc ? rc : filter_socket(k);
}

static int make_buffers(struct packet_port *k)
{
	k->lent = calloc(k->slots + PACKET_UDP_RX, sizeof *k->lent);
	k->udp_memory = aligned_alloc(64, (size_t)PACKET_UDP_RX * PACKET_BYTES);
	if (!k->lent || !k->udp_memory)
		return -ENOMEM;
	for (unsigned i = 0; i < PACKET_UDP_RX; i++)
		k->udp_free[k->udp_free_count++] = k->udp_memory + (size_t)i * PACKET_BYTES;
	return 0;
}

int packet_ring_open(struct packet_port *k, struct drv_port_why *why)
{
	int bytes = 8 << 20;

	choose_sizes(k);
	if (make_buffers(k))
		return -ENOMEM;
	k->raw = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (k->raw < 0)
		return drv_port_fail(why, -errno,
				     "no packet socket (%s); it needs root or CAP_NET_RAW, or "
				     "take uring:",
				     strerror(errno));
	setsockopt(k->raw, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes);
	return bind_ring(k, why);
}

void packet_ring_close(struct packet_port *k)
{
	/* Until a worker has released it, the socket must not fill a ring that is not read. */
	if (k->raw >= 0) {
		pass(k->raw, 0);
		epoll_ctl(k->both, EPOLL_CTL_DEL, k->raw, NULL);
	}
	if (k->ring)
		munmap(k->ring, (size_t)k->blocks * k->block_bytes);
	if (k->raw >= 0)
		close(k->raw);
	if (k->releaser >= 0)
		close(k->releaser);
	free(k->udp_memory);
	free(k->lent);
}
