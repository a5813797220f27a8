/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the packet port hears from a plain UDP socket that is its peer: datagrams that the ring does
 * not see, trains, a flood, strangers.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "drivers/base/clock.h"
#include "drivers/port.h"
#include "drivers/port_packet.h"
#include "tests/harness/t.h"

#define FRAME   1024
#define SOON_NS 500000000u /* LENT_NS of drivers/port_packet_ring.c */

struct ends {
	struct drv_port *port;
	int peer; /* a UDP socket that the port knows */
	struct sockaddr_in to;
};

/* Returns false if there are no packet sockets here. */
static bool open_ends(struct ends *e)
{
	char text[DRV_PORT_ADDRESS_BYTES], *colon;
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof own;
	int raw = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (raw < 0)
		return false;
	close(raw);
	REQUIRE(!drv_port_open("packet:127.0.0.1,frame=1024", &e->port));
	REQUIRE(!drv_port_address(e->port, text, sizeof text));
	colon = strchr(text, ':');
	REQUIRE(colon);
	e->to = own;
	e->to.sin_port = htons((uint16_t)atoi(colon + 1));
	e->peer = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	REQUIRE(e->peer >= 0 && !bind(e->peer, (void *)&own, sizeof own) &&
		!getsockname(e->peer, (void *)&own, &n));
	snprintf(text, sizeof text, "127.0.0.1:%u", ntohs(own.sin_port));
	REQUIRE_EQ(drv_port_peer(e->port, text), 0);
	return true;
}

static void close_ends(struct ends *e)
{
	drv_port_close(e->port);
	close(e->peer);
}

/* Send numbered bytes; as a train of frames of `segment` bytes if that is not 0. */
static void send_numbers(const struct ends *e, uint32_t first, uint32_t bytes, int segment)
{
	uint32_t data[16384];
	int none = segment;

	for (uint32_t i = 0; i < bytes / 4; i++)
		data[i] = first + i;
	setsockopt(e->peer, SOL_UDP, UDP_SEGMENT, &none, sizeof none);
	REQUIRE(sendto(e->peer, data, bytes, 0, (const void *)&e->to, sizeof e->to) ==
		(ssize_t)bytes);
}

/*
 * Is a port quiet? Time alone does not show it: this process may have had no processor meanwhile.
 * The port asks its socket at one empty poll in 16.
 */
static bool is_quiet(uint64_t heard, unsigned empty_polls, unsigned quiet_ms)
{
	return empty_polls >= 64 && drv_clock_ns() - heard >= quiet_ms * 1000000ull;
}

/*
 * Receive until nothing has come for so long. Frames of the peer contain rising numbers; returns
 * how many numbers came, of which the first is *first.
 */
static uint32_t receive_numbers(const struct ends *e, uint32_t *first, unsigned quiet_ms)
{
	uint64_t heard = drv_clock_ns();
	uint32_t got = 0, expected = 0;
	unsigned empty = 0;

	while (!is_quiet(heard, empty, quiet_ms)) {
		struct drv_frame f[DRV_PORT_BURST];
		int n = drv_port_rx(e->port, f, DRV_PORT_BURST);

		empty = n ? 0 : empty + 1;
		for (int i = 0; i < n; i++) {
			uint32_t number[FRAME / 4];

			if (f[i].peer < 0)
				continue;
			heard = drv_clock_ns();
			REQUIRE(f[i].bytes % 4 == 0 && f[i].bytes <= FRAME);
			memcpy(number, f[i].data, f[i].bytes);
			if (!got)
				*first = expected = number[0];
			for (uint32_t k = 0; k < f[i].bytes / 4; k++, got++)
				REQUIRE_EQ(number[k], expected++);
		}
		drv_port_rx_done(e->port, f, (unsigned)n);
	}
	return got;
}

/* Send a frame and a train, which arrive whole and once. */
static void check_both(const struct ends *e, uint32_t first)
{
	uint32_t at = 0;

	send_numbers(e, first, 512, 0);
	send_numbers(e, first + 128, 20 * FRAME + 100, FRAME);
	CHECK_EQ(receive_numbers(e, &at, 50), 128 + 20 * FRAME / 4 + 25);
	CHECK_EQ(at, first);
}

static void trains_arrive(void)
{
	struct ends e;

	if (!open_ends(&e))
		T_SKIP("no packet sockets here: needs root or CAP_NET_RAW");
	for (uint32_t i = 0; i < 20; i++)
		check_both(&e, 100000 * i);
	CHECK_EQ(e.port->stat.rx_dropped, 0);
	close_ends(&e);
}

/* The ring passes no datagrams with IP options, so the socket has to be asked. */
static void silent_peers_are_heard(void)
{
	static const unsigned char none[4] = {1, 1, 1, 0};
	struct ends e;
	uint32_t at = 0;

	if (!open_ends(&e))
		T_SKIP("no packet sockets here: needs root or CAP_NET_RAW");
	REQUIRE(!setsockopt(e.peer, IPPROTO_IP, IP_OPTIONS, none, sizeof none));
	for (uint32_t i = 0; i < 10; i++)
		send_numbers(&e, 128 * i, 512, 0);
	CHECK_EQ(receive_numbers(&e, &at, 50), 1280);
	check_both(&e, 5000);
	REQUIRE(!setsockopt(e.peer, IPPROTO_IP, IP_OPTIONS, NULL, 0));
	/* Nothing that was sent before: see second_copies_are_dropped(). */
	for (uint32_t i = 1; i <= 10; i++)
		check_both(&e, 100000 * i);
	close_ends(&e);
}

/* How many frames come until 50 ms pass without one? Each contains `number`. */
static unsigned count_frames(const struct ends *e, uint32_t number)
{
	uint64_t heard = drv_clock_ns();
	unsigned count = 0, empty = 0;

	while (!is_quiet(heard, empty, 50)) {
		struct drv_frame f;
		uint32_t there;

		if (!drv_port_rx(e->port, &f, 1)) {
			empty++;
			continue;
		}
		heard = drv_clock_ns();
		empty = 0;
		REQUIRE(f.peer == 0 && f.bytes == 4);
		memcpy(&there, f.data, sizeof there);
		CHECK_EQ(there, number);
		count++;
		drv_port_rx_done(e->port, &f, 1);
	}
	return count;
}

/*
 * The kernel may give a datagram to the socket before the ring has it. Here the socket alone gets
 * one with IP options, and the ring an equal one without them: soon it is the same one, late
 * another.
 */
static void second_copies_are_dropped(void)
{
	static const unsigned char none[4] = {1, 1, 1, 0};
	int late = 0, slow = 0;

	while (late < 2) {
		struct ends e;
		uint64_t begin;
		unsigned copies;

		if (!open_ends(&e))
			T_SKIP("no packet sockets here: needs root or CAP_NET_RAW");
		REQUIRE(!setsockopt(e.peer, IPPROTO_IP, IP_OPTIONS, none, sizeof none));
		begin = drv_clock_ns();
		send_numbers(&e, 7, 4, 0);
		CHECK_EQ(count_frames(&e, 7), 1);
		REQUIRE(!setsockopt(e.peer, IPPROTO_IP, IP_OPTIONS, NULL, 0));
		if (late)
			poll(NULL, 0, 600);
		send_numbers(&e, 7, 4, 0);
		copies = count_frames(&e, 7);
		if (copies && !late && drv_clock_ns() - begin > SOON_NS && slow++ < 20) {
			close_ends(&e); /* it stood still, and the second one was late indeed */
			continue;
		}
		CHECK_EQ(copies, late);
		/* The ring has heard the peer now, so all that comes counts. */
		send_numbers(&e, 7, 4, 0);
		CHECK_EQ(count_frames(&e, 7), 1);
		send_numbers(&e, 8, 4, 0);
		CHECK_EQ(count_frames(&e, 8), 1);
		close_ends(&e);
		late++;
	}
}

/* What finds no room is lost, and what comes later arrives. */
static void flood_passes(void)
{
	struct ends e;
	uint32_t at = 0;
	unsigned empty = 0;

	if (!open_ends(&e))
		T_SKIP("no packet sockets here: needs root or CAP_NET_RAW");
	check_both(&e, 0);
	for (uint32_t i = 0; i < 20000; i++)
		send_numbers(&e, i, 4, 0);
	/* Each datagram takes one of the ring's 240 slots, if it is short too. */
	CHECK(receive_numbers(&e, &at, 50) > 200);
	CHECK_EQ(at, 0);
	for (uint32_t i = 0; i < 3; i++)
		check_both(&e, 100000 * i);
	/* Trains beyond the room of the UDP socket: those that come are whole. */
	for (uint32_t i = 0; i < 1000; i++)
		send_numbers(&e, 0, 40 * FRAME, FRAME);
	for (uint64_t begin = drv_clock_ns(); !is_quiet(begin, empty, 200);) {
		struct drv_frame f[DRV_PORT_BURST];
		int n = drv_port_rx(e.port, f, DRV_PORT_BURST);

		empty = n ? 0 : empty + 1;
		for (int i = 0; i < n; i++)
			REQUIRE(f[i].peer == 0 && f[i].bytes == FRAME);
		drv_port_rx_done(e.port, f, (unsigned)n);
	}
	for (uint32_t i = 0; i < 3; i++)
		check_both(&e, 100000 * i);
	close_ends(&e);
}

/* Frames of strangers come as from nobody, and hold the peer's up neither alone nor joined. */
static void strangers_are_told_apart(void)
{
	struct ends e, stranger;
	unsigned char data[40 * FRAME] = {0};
	int size = FRAME;

	if (!open_ends(&e))
		T_SKIP("no packet sockets here: needs root or CAP_NET_RAW");
	stranger = e;
	stranger.peer = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	REQUIRE(stranger.peer >= 0 &&
		!setsockopt(stranger.peer, SOL_UDP, UDP_SEGMENT, &size, sizeof size));
	check_both(&e, 0);
	for (uint32_t i = 0; i < 50; i++) {
		REQUIRE(sendto(stranger.peer, data, sizeof data, 0, (void *)&e.to, sizeof e.to) >
			0);
		REQUIRE(sendto(stranger.peer, data, 100, 0, (void *)&e.to, sizeof e.to) > 0);
		check_both(&e, 100000 * i);
	}
	close(stranger.peer);
	close_ends(&e);
}

/* The descriptor of a port that nobody sends to stays quiet, and reports what comes. */
static void descriptor_sleeps(void)
{
	struct ends e;
	struct drv_frame f;

	if (!open_ends(&e))
		T_SKIP("no packet sockets here: needs root or CAP_NET_RAW");
	for (uint32_t i = 0; i < 10; i++) {
		struct pollfd p = {.fd = drv_port_arm(e.port), .events = POLLIN};

		REQUIRE_EQ(drv_port_rx(e.port, &f, 1), 0);
		CHECK_EQ(poll(&p, 1, 5), 0);
		send_numbers(&e, i, i & 1 ? 20 * FRAME : 64, i & 1 ? FRAME : 0);
		CHECK_EQ(poll(&p, 1, 5000), 1);
		CHECK(receive_numbers(&e, &i, 20) > 0);
	}
	close_ends(&e);
}

/* How many questions do so many packets cost that come over one link, or each over another? */
static unsigned count_questions(struct packet_peer *q, unsigned packets, bool alternate)
{
	unsigned questions = 0;

	for (unsigned i = 0; i < packets; i++)
		questions += packet_link_is_due(q, alternate || !i);
	return questions;
}

static void questions_are_few(void)
{
	struct packet_peer q = {.is_direct = false};

	/* A new link: after 1, 2, 4 .. 512 packets, then at 1024, 2048 .. 9216. */
	CHECK_EQ(count_questions(&q, 1, false), 1);
	CHECK_EQ(packet_link_is_due(&q, false), true);
	CHECK_EQ(packet_link_is_due(&q, false), false);
	CHECK_EQ(packet_link_is_due(&q, false), true);
	CHECK_EQ(count_questions(&q, 10000 - 4, false) + 3, 10 + 9);
	/* A real change is found at once. */
	CHECK_EQ(count_questions(&q, 64, false), 7);
	CHECK_EQ(count_questions(&q, 64, false), 7);
	/* Alternation costs no more than a link over which the kernel does not send. */
	CHECK_EQ(count_questions(&q, 10000, true), 10 + 9);
	CHECK(count_questions(&q, 10000, true) <= 10);
	/* And when it ends, the next question comes in time. */
	CHECK(count_questions(&q, PACKET_ASK_MAX, false) >= 1);
	CHECK_EQ(packet_link_is_due(&q, true), true);
}

T_MAIN(T(questions_are_few), T(trains_arrive), T(silent_peers_are_heard),
       T(second_copies_are_dropped), T(flood_passes), T(strangers_are_told_apart),
       T(descriptor_sleeps))
