/* SPDX-License-Identifier: BSD-3-Clause */
/* qlimits udp: two programs that only spin on plain UDP sockets, a system call a datagram: half a
 * round trip, and the datagrams of an MTU that arrive while one side sends as fast as it can. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/micro/qlimits.h"
#include "drivers/base/clock.h"

enum {
	UDP_PORT = 7790,
	UDP_HEADERS = 28,
	UDP_BYTES_MAX = 65507,
	UDP_TRIPS = 5000,
	UDP_FLOOD = 20000
};
enum { PING = 1, FLOOD, FLOOD_END, QUIT };

static unsigned char data[65536];

/* Receive the first 16 bytes of the next datagram. Returns its length, 0 if none arrived within
 * `us`. */
static size_t udp_receive(int fd, uint64_t head[2], struct sockaddr_in *from, uint64_t us)
{
	uint64_t until = drv_clock_ns() + us * 1000;

	for (unsigned spins = 0;; spins++) {
		socklen_t n = sizeof(*from);
		ssize_t got = recvfrom(fd, data, sizeof(data), MSG_DONTWAIT,
				       (struct sockaddr *)from, from ? &n : NULL);

		if (got >= 16) {
			memcpy(head, data, 16);
			return (size_t)got;
		}
		if (spins % 64 == 63 && drv_clock_ns() > until)
			return 0;
		limit_relax();
	}
}

static void udp_send(int fd, const uint64_t head[2], size_t bytes, const struct sockaddr_in *to)
{
	static unsigned char out[65536];

	memcpy(out, head, 16);
	while (sendto(fd, out, bytes, 0, (const struct sockaddr *)to, to ? sizeof(*to) : 0) < 0 &&
	       (errno == EAGAIN || errno == ENOBUFS || errno == EINTR))
		limit_relax();
}

static int udp_serve(int fd)
{
	uint64_t counted = 0, head[2];
	struct sockaddr_in from;

	for (;;) {
		size_t bytes = udp_receive(fd, head, &from, 120000000);

		if (!bytes || head[0] == QUIT)
			return !bytes;
		if (head[0] == FLOOD) {
			counted++;
			continue;
		}
		if (head[0] == FLOOD_END) {
			head[1] = counted;
			counted = 0;
		}
		udp_send(fd, head, bytes, &from);
	}
}

/* The other side may still be starting. */
static int udp_meet(int fd)
{
	for (uint64_t until = drv_clock_ns() + 20000000000u; drv_clock_ns() < until;) {
		uint64_t head[2] = {PING, 0};

		udp_send(fd, head, 64, NULL);
		if (udp_receive(fd, head, NULL, 20000))
			return 0;
	}
	return -ETIMEDOUT;
}

static void udp_pings(int fd)
{
	struct bench_samples s = {0};
	uint64_t lost = 0;

	for (int r = 0; r <= LIMIT_HOSTS_REPETITIONS; r++) {
		uint64_t start = drv_clock_ns();

		for (int i = 0; i < UDP_TRIPS; i++) {
			uint64_t head[2] = {PING, (uint64_t)r << 32 | (unsigned)i};

			udp_send(fd, head, 64, NULL);
			lost += udp_receive(fd, head, NULL, 100000) == 0;
		}
		if (r > 0)
			bench_samples_add(&s,
					  (double)(drv_clock_ns() - start) * 0.5e-3 / UDP_TRIPS);
	}
	if (lost)
		fprintf(stderr, "qlimits: %llu datagrams lost\n", (unsigned long long)lost);
	limit_out("udp", 64, "us", &s);
}

static void udp_flood(int fd, size_t bytes)
{
	struct bench_samples s = {0};

	for (int r = 0; r <= LIMIT_HOSTS_REPETITIONS; r++) {
		uint64_t head[2] = {FLOOD, 0}, answer[2] = {0, 0}, start;

		while (udp_receive(fd, answer, NULL, 0)) /* late answers of the last round */
			;
		answer[0] = 0;
		start = drv_clock_ns();
		for (int i = 0; i < UDP_FLOOD; i++)
			udp_send(fd, head, bytes, NULL);
		head[0] = FLOOD_END;
		do
			udp_send(fd, head, 64, NULL);
		while (!udp_receive(fd, answer, NULL, 100000) || answer[0] != FLOOD_END);
		if (r > 0)
			bench_samples_add(&s, (double)(answer[1] * bytes) /
						  (double)(drv_clock_ns() - start));
	}
	limit_out("udp flood", bytes, "GB/s", &s);
}

int limit_udp(const char *address, int serve)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(UDP_PORT)};
	const char *colon = strchr(address, ':');
	const uint64_t quit[2] = {QUIT, 0};
	int fd, mtu = 1500, room = 4 << 20, rc;
	socklen_t n = sizeof(mtu);
	char host[64];

	snprintf(host, sizeof(host), "%.*s", colon ? (int)(colon - address) : (int)strlen(address),
		 address);
	if (colon)
		a.sin_port = htons((uint16_t)atoi(colon + 1));
	if (inet_pton(AF_INET, host, &a.sin_addr) != 1 || !a.sin_port) {
		fprintf(stderr, "qlimits: '%s' is not ADDRESS or ADDRESS:PORT of IPv4\n", address);
		return 2;
	}
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || (serve ? bind(fd, (struct sockaddr *)&a, sizeof(a))
			     : connect(fd, (struct sockaddr *)&a, sizeof(a)))) {
		fprintf(stderr, "qlimits: UDP socket for %s: %s\n", address, strerror(errno));
		return 1;
	}
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	if (serve) {
		rc = udp_serve(fd);
	} else if (!(rc = udp_meet(fd) != 0)) {
		getsockopt(fd, IPPROTO_IP, IP_MTU, &mtu, &n);
		udp_pings(fd);
		udp_flood(fd, mtu - UDP_HEADERS < UDP_BYTES_MAX ? (size_t)(mtu - UDP_HEADERS)
								: UDP_BYTES_MAX);
		for (int i = 0; i < 10; i++)
			udp_send(fd, quit, 64, NULL);
	} else {
		fprintf(stderr, "qlimits: nobody answers at %s: start one with --serve there\n",
			address);
	}
	close(fd);
	return rc;
}
