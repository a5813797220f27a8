/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tests/drivers/malformed.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void malformed_uring(struct side *s)
{
	static unsigned char data[40000];
	struct sockaddr_in a = {.sin_family = AF_INET};
	char *colon = strchr(s->other, ':');
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	REQUIRE(fd >= 0 && colon);
	*colon = 0;
	REQUIRE(inet_pton(AF_INET, s->other, &a.sin_addr) == 1);
	*colon = ':';
	a.sin_port = htons((uint16_t)atoi(colon + 1));
	REQUIRE(sendto(fd, data, 0, 0, (struct sockaddr *)&a, sizeof a) == 0);
	REQUIRE(sendto(fd, data, sizeof data, 0, (struct sockaddr *)&a, sizeof a) == sizeof data);
	REQUIRE(sendto(fd, data, 100, 0, (struct sockaddr *)&a, sizeof a) == 100);
	close(fd);
}

struct raw {
	unsigned char dst[6], src[6];
	uint16_t ethertype, bytes;
	unsigned char data[100];
};

static void mac_parse(const char *text, unsigned char *mac)
{
	unsigned m[6];

	REQUIRE(sscanf(text, "%x:%x:%x:%x:%x:%x", m, m + 1, m + 2, m + 3, m + 4, m + 5) == 6);
	for (int i = 0; i < 6; i++)
		mac[i] = (unsigned char)m[i];
}

void malformed_ethernet(struct side *s)
{
	struct sockaddr_ll a = {
	    .sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex("va"), .sll_halen = 6};
	struct raw r = {.ethertype = htons(0x88b5), .bytes = 100}, bad;
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	REQUIRE(fd >= 0);
	mac_parse(s->other, r.dst);
	mac_parse(s->own, r.src);
#define SEND(bytes)                                                                                \
	REQUIRE(sendto(fd, &bad, bytes, 0, (struct sockaddr *)&a, sizeof a) == (ssize_t)(bytes))
	bad = r;
	bad.ethertype = htons(0x0800);
	SEND(sizeof bad);
	bad = r;
	bad.dst[5] ^= 1;
	SEND(sizeof bad);
	memset(bad.dst, 0xff, 6);
	SEND(sizeof bad);
	bad = r;
	bad.bytes = 0;
	SEND(sizeof bad);
	bad.bytes = 101;
	SEND(sizeof bad);
	bad.bytes = 0xffff;
	SEND(sizeof bad);
	bad.bytes = 1;
	SEND(14u);
	SEND(15u);
	bad = r;
	memcpy(bad.src, "\2\0\0\0\0\7", 6);
	SEND(sizeof bad);
#undef SEND
	close(fd);
}

static void shm_hand(struct side *s, int socket, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.header = {.cmsg_len = CMSG_LEN(sizeof fd),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS}};
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int n = snprintf(to.sun_path + 1, sizeof to.sun_path - 1, "quintorus/shm/%s", s->other);
	char byte = 'x';
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_name = &to,
			   .msg_namelen =
			       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n),
			   .msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control.bytes,
			   .msg_controllen = sizeof control.bytes};

	REQUIRE(fd >= 0);
	memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
	REQUIRE(sendmsg(socket, &m, 0) == 1);
	close(fd);
}

void malformed_shm(struct side *s)
{
	struct sockaddr_un own = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0), n, m;

	n = snprintf(own.sun_path + 1, sizeof own.sun_path - 1, "quintorus/shm/t/stranger.%d",
		     (int)getpid());
	REQUIRE(fd >= 0 &&
		!bind(fd, (struct sockaddr *)&own,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)));
	shm_hand(s, fd, open("/dev/null", O_RDWR));
	m = memfd_create("unsealed", 0);
	REQUIRE(!ftruncate(m, 1 << 20));
	shm_hand(s, fd, m);
	m = memfd_create("empty", MFD_ALLOW_SEALING);
	REQUIRE(!fcntl(m, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
	shm_hand(s, fd, m);
	m = memfd_create("wrong", MFD_ALLOW_SEALING);
	REQUIRE(!ftruncate(m, 1 << 20));
	REQUIRE(pwrite(m, "hsTQ\377\377\377\377\100\0\0\0", 12, 0) == 12);
	REQUIRE(!fcntl(m, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
	shm_hand(s, fd, m);
	close(fd);
}
