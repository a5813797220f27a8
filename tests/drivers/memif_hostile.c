/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client of a memif that speaks the control protocol itself, wrongly, and whose frames lie within
 * what DPDK's driver (22.11) checks or bounds: the server drops what is no frame, lives, and hears
 * the next client. What that driver itself does with a peer that writes wild offsets or regions is
 * in drivers/README.md.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "drivers/base/atomic.h"
#include "drivers/base/clock.h"
#include "drivers/port.h"
#include "tests/drivers/modules.h"

/* The control protocol of memif 2.0: datagrams of 128 bytes; the first word is the type. */
enum { ACK = 1, HELLO, INIT, ADD_REGION, ADD_RING, CONNECT, CONNECTED, DISCONNECT };

struct message {
	uint16_t type;
	unsigned char body[126];
};
_Static_assert(sizeof(struct message) == 128, "as the protocol has it");

#define COOKIE  0x3e31f20u
#define LOG2    6u
#define SLOTS   (1u << LOG2)
#define BUFFER  16384u
#define REGION  (2 * RING_BYTES + 2 * SLOTS * BUFFER)
#define NEXT    1u
#define MAC     "02:00:00:00:00:0a"
#define OWN_MAC "02:00:00:00:00:0b"
#define WAIT_NS 30000000000u

struct descriptor {
	uint16_t flags, region;
	uint32_t length, offset, metadata;
};
struct ring {
	uint32_t cookie;
	uint16_t flags;
	atomic_u16 head;
	unsigned char pad[56];
	atomic_u16 tail;
	unsigned char pad2[62];
	struct descriptor slot[SLOTS];
};
#define RING_BYTES sizeof(struct ring)

/* Our end. */
static struct peer {
	int socket, region_fd, wake[2];
	unsigned char *memory;
	struct ring *out, *in;
} peer;

/* What the server tells. */
static struct shared {
	atomic_u32 sound, strange, wrong, is_over;
	uint64_t dropped;
} * shared;

static char name[64];

/* ---- the server ---- */

/* Each frame of ours says its length and is filled with it. */
static bool is_filled(const struct drv_frame *f)
{
	for (uint32_t i = 0; i < f->bytes; i++)
		if (f->data[i] != (unsigned char)f->bytes)
			return false;
	return true;
}

static int serve(void *arg)
{
	struct drv_port *port;
	char spec[160];
	int from;

	snprintf(spec, sizeof spec, "dpdk:net_memif,role=server,socket=%s,mac=%s", name, MAC);
	REQUIRE_EQ(drv_port_open(spec, &port), 0);
	from = drv_port_peer(port, OWN_MAC);
	while (!atomic_load_acquire(&shared->is_over)) {
		struct drv_frame f[32];
		int n = drv_port_rx(port, f, 32);

		for (int i = 0; i < n; i++) {
			atomic_fetch_add_relaxed(
			    f[i].peer == from ? &shared->sound : &shared->strange, 1);
			if (!is_filled(&f[i]))
				atomic_fetch_add_relaxed(&shared->wrong, 1);
		}
		if (n > 0)
			drv_port_rx_done(port, f, (unsigned)n);
		shared->dropped = port->stat.rx_dropped;
	}
	drv_port_close(port);
	return 0;
}

/* ---- our end ---- */

static int connect_socket(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int n = snprintf(at.sun_path + 1, sizeof at.sun_path - 1, "%s", name);
	uint64_t until = drv_clock_ns() + WAIT_NS;
	int s = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	REQUIRE(s >= 0);
	while (connect(s, (struct sockaddr *)&at,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) &&
	       drv_clock_ns() < until)
		usleep(1000);
	return s;
}

/* fd < 0: none goes along. */
static bool send_bytes(int s, const void *data, size_t bytes, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.header = {.cmsg_len = CMSG_LEN(sizeof fd),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS}};
	struct iovec iov = {(void *)(uintptr_t)data, bytes};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
		m.msg_control = control.bytes;
		m.msg_controllen = sizeof control.bytes;
	}
	return sendmsg(s, &m, MSG_NOSIGNAL) == (ssize_t)bytes;
}

static bool receive_message(int s, struct message *m)
{
	struct timeval limit = {10, 0};

	setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	return recv(s, m, sizeof *m, 0) == sizeof *m;
}

static void put16(struct message *m, unsigned at, unsigned value)
{
	uint16_t v = (uint16_t)value;

	memcpy(m->body + at, &v, 2);
}

static void put32(struct message *m, unsigned at, uint32_t value)
{
	memcpy(m->body + at, &value, 4);
}

static struct message make_init(void)
{
	struct message m = {.type = INIT};

	put16(&m, 0, 0x200);
	m.body[6] = 0; /* Ethernet */
	strcpy((char *)m.body + 31, "hostile");
	return m;
}

static struct message make_region(uint64_t bytes)
{
	struct message m = {.type = ADD_REGION};

	memcpy(m.body + 2, &bytes, 8);
	return m;
}

static struct message make_ring(bool to_server, uint32_t offset)
{
	struct message m = {.type = ADD_RING};

	put16(&m, 0, to_server);
	put32(&m, 6, offset);
	m.body[10] = LOG2;
	return m;
}

static bool ask(int s, const struct message *m, int fd, unsigned answer)
{
	struct message back;

	return send_bytes(s, m, sizeof *m, fd) && receive_message(s, &back) && back.type == answer;
}

static void make_memory(void)
{
	peer.region_fd = memfd_create("hostile", MFD_ALLOW_SEALING);
	REQUIRE(peer.region_fd >= 0 && !ftruncate(peer.region_fd, (off_t)REGION));
	REQUIRE(!fcntl(peer.region_fd, F_ADD_SEALS, F_SEAL_SHRINK));
	peer.memory = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_SHARED, peer.region_fd, 0);
	REQUIRE(peer.memory != MAP_FAILED);
	peer.out = (struct ring *)(void *)peer.memory;
	peer.in = peer.out + 1;
	for (unsigned r = 0; r < 2; r++) {
		struct ring *ring = r ? peer.in : peer.out;

		ring->cookie = COOKIE;
		ring->flags = 1; /* no interrupts */
		for (unsigned i = 0; i < SLOTS; i++)
			ring->slot[i] = (struct descriptor){.length = BUFFER,
							    .offset = (uint32_t)(2 * RING_BYTES) +
								      (r * SLOTS + i) * BUFFER};
		peer.wake[r] = eventfd(0, EFD_NONBLOCK);
	}
	atomic_store_release(&peer.in->head, SLOTS);
}

/* The whole handshake, as it should be. */
static bool shake_hands(void)
{
	struct message hello, init = make_init(), region = make_region(REGION);
	struct message out = make_ring(true, 0), in = make_ring(false, (uint32_t)RING_BYTES);
	struct message go = {.type = CONNECT};

	peer.socket = connect_socket();
	make_memory();
	return receive_message(peer.socket, &hello) && hello.type == HELLO &&
	       ask(peer.socket, &init, -1, ACK) && ask(peer.socket, &region, peer.region_fd, ACK) &&
	       ask(peer.socket, &out, peer.wake[0], ACK) &&
	       ask(peer.socket, &in, peer.wake[1], ACK) && ask(peer.socket, &go, -1, CONNECTED);
}

static void leave_server(void)
{
	close(peer.socket);
	close(peer.region_fd);
	close(peer.wake[0]);
	close(peer.wake[1]);
	munmap(peer.memory, REGION);
}

/* A server that is being opened refuses connections. */
static bool join_server(void)
{
	uint64_t until = drv_clock_ns() + WAIT_NS;

	while (!shake_hands()) {
		leave_server();
		if (drv_clock_ns() > until)
			return false;
		usleep(10000);
	}
	return true;
}

struct frame {
	unsigned char dst[6], src[6];
	uint16_t type, bytes;
	unsigned char data[];
};

static struct frame *slot_frame(unsigned slot)
{
	return (void *)(peer.memory + peer.out->slot[slot % SLOTS].offset);
}

/* A sound frame in the next slot; the caller may spoil it and calls push_frames(). */
static struct frame *make_frame(unsigned slot, uint16_t bytes)
{
	struct frame *f = slot_frame(slot);

	memcpy(f->dst, "\2\0\0\0\0\12", 6);
	memcpy(f->src, "\2\0\0\0\0\13", 6);
	f->type = htons(0x88b5);
	f->bytes = bytes;
	memset(f->data, (unsigned char)bytes, bytes);
	peer.out->slot[slot % SLOTS].flags = 0;
	peer.out->slot[slot % SLOTS].length = 16u + bytes;
	return f;
}

/* Hand in `n` slots and wait until the server has taken them. */
static void push_frames(unsigned n)
{
	uint64_t until = drv_clock_ns() + WAIT_NS;
	uint16_t head = (uint16_t)(atomic_load_relaxed(&peer.out->head) + n);

	atomic_store_release(&peer.out->head, head);
	while (atomic_load_acquire(&peer.out->tail) != head && drv_clock_ns() < until)
		usleep(100);
	CHECK_EQ(atomic_load_acquire(&peer.out->tail), head);
}

static unsigned next_slot(void)
{
	return atomic_load_relaxed(&peer.out->head);
}

static void wait_for(const atomic_u32 *count, uint32_t value)
{
	uint64_t until = drv_clock_ns() + WAIT_NS;

	while (atomic_load_relaxed(count) != value && drv_clock_ns() < until)
		usleep(1000);
	CHECK_EQ(atomic_load_relaxed(count), value);
}

/* The server takes a client that does all as it should, and hears its frame. */
static void see_that_server_lives(void)
{
	uint32_t before = atomic_load_relaxed(&shared->sound);

	REQUIRE(join_server());
	make_frame(next_slot(), 200);
	push_frames(1);
	wait_for(&shared->sound, before + 1);
	leave_server();
}

static pid_t begin_server(void)
{
	snprintf(name, sizeof name, "qt-test-hostile-%d", (int)getpid());
	shared = t_shared(sizeof *shared);
	return t_child(serve, NULL);
}

static void end_server(pid_t server)
{
	atomic_store_release(&shared->is_over, 1);
	CHECK_EQ(t_wait(server, 30), 0);
	CHECK_EQ(atomic_load_relaxed(&shared->wrong), 0);
}

static void frames_that_lie_are_dropped(void)
{
	pid_t server;
	struct frame *f;
	unsigned at, bad = 0;

	NEEDS_MODULE("dpdk");
	server = begin_server();
	REQUIRE(join_server());
	for (unsigned round = 0; round < 500; round++) {
		uint32_t sound = atomic_load_relaxed(&shared->sound);
		uint32_t strange = atomic_load_relaxed(&shared->strange);

		at = next_slot();
		make_frame(at++, 100); /* the next ones are in the same burst */
		f = make_frame(at++, 100);
		f->bytes = 101; /* more than came */
		f = make_frame(at++, 100);
		f->bytes = 0;
		f = make_frame(at++, 100);
		f->bytes = 0xffff;
		f = make_frame(at++, 100);
		f->type = htons(0x0800);
		f = make_frame(at++, 100);
		f->dst[5]++;
		make_frame(at, 100);
		peer.out->slot[at++ % SLOTS].length = 0;
		make_frame(at, 100);
		peer.out->slot[at++ % SLOTS].length = 15;
		make_frame(at, 100);
		peer.out->slot[at++ % SLOTS].length = 16;
		f = make_frame(at, 100); /* of several parts */
		f->type = htons(0x0800);
		peer.out->slot[at++ % SLOTS].flags = NEXT;
		make_frame(at, 100);
		peer.out->slot[at++ % SLOTS].flags = NEXT;
		make_frame(at++, 100);
		f = make_frame(at++, 100);
		f->src[0] = 4; /* a stranger */
		make_frame(at++, 100);
		bad += 9; /* what has several parts is one */
		push_frames(at - next_slot());
		wait_for(&shared->sound, sound + 2);
		wait_for(&shared->strange, strange + 1);
	}
	CHECK_EQ(shared->dropped, bad);
	leave_server();
	see_that_server_lives();
	end_server(server);
}

static void close_after(unsigned messages, int fd)
{
	struct message hello, step[] = {make_init(),
					make_region(REGION),
					make_ring(true, 0),
					make_ring(false, (uint32_t)RING_BYTES),
					{.type = CONNECT}};
	int s = connect_socket();

	make_memory();
	if (receive_message(s, &hello))
		for (unsigned i = 0; i < messages; i++)
			if (!ask(s, &step[i],
				 i == 1           ? (fd >= 0 ? fd : peer.region_fd)
				 : i > 1 && i < 4 ? peer.wake[i - 2]
						  : -1,
				 i < 4 ? ACK : CONNECTED))
				break;
	peer.socket = s;
	leave_server();
}

static void handshakes_that_end_early_end_nothing(void)
{
	pid_t server;

	NEEDS_MODULE("dpdk");
	server = begin_server();
	for (unsigned n = 0; n <= 5; n++) {
		close_after(n, -1);
		see_that_server_lives();
	}
	end_server(server);
}

static void messages_that_lie_end_nothing(void)
{
	pid_t server;
	struct message m;
	static const unsigned char nothing[4096];

	NEEDS_MODULE("dpdk");
	server = begin_server();
	for (unsigned i = 0; i < 12; i++) {
		struct message hello, init = make_init();
		int s = connect_socket();

		CHECK(receive_message(s, &hello));
		switch (i) {
		case 0: /* short */
			send_bytes(s, nothing, 1, -1);
			break;
		case 1: /* long */
			send_bytes(s, nothing, sizeof nothing, -1);
			break;
		case 2:
			m = (struct message){.type = 0xffff};
			send_bytes(s, &m, sizeof m, -1);
			break;
		case 3: /* another version */
			put16(&init, 0, 0x300);
			send_bytes(s, &init, sizeof init, -1);
			break;
		case 4: /* an id of nobody */
			put32(&init, 2, 77);
			send_bytes(s, &init, sizeof init, -1);
			break;
		case 5: /* before anything else */
			m = make_region(REGION);
			send_bytes(s, &m, sizeof m, -1);
			break;
		case 6:
			m = make_ring(true, 0);
			send_bytes(s, &m, sizeof m, -1);
			break;
		case 7:
			m = (struct message){.type = CONNECT};
			send_bytes(s, &m, sizeof m, -1);
			break;
		case 8: /* text without an end */
			m = (struct message){.type = DISCONNECT};
			memset(m.body, 'x', sizeof m.body);
			send_bytes(s, &m, sizeof m, -1);
			break;
		case 9: /* a region without memory */
			CHECK(ask(s, &init, -1, ACK));
			m = make_region(REGION);
			send_bytes(s, &m, sizeof m, -1);
			break;
		case 10: /* a ring of a number that is too high */
			CHECK(ask(s, &init, -1, ACK));
			m = make_ring(true, 0);
			put16(&m, 2, 999);
			send_bytes(s, &m, sizeof m, -1);
			break;
		default: /* connect without rings */
			CHECK(ask(s, &init, -1, ACK));
			m = (struct message){.type = CONNECT};
			send_bytes(s, &m, sizeof m, -1);
		}
		usleep(20000);
		close(s);
		see_that_server_lives();
		if (t_failures())
			fprintf(stderr, "message %u\n", i);
	}
	end_server(server);
}

T_MAIN(T(frames_that_lie_are_dropped), T(handshakes_that_end_early_end_nothing),
       T(messages_that_lie_end_nothing))
