/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "drivers/port_udp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "drivers/base/log.h"

#define SOCKET_BYTES (8 << 20) /* what the kernel keeps for a socket in each direction */

int udp_parse_address(const char *text, int need_port, struct sockaddr_in *a)
{
	const char *colon = strchr(text, ':');
	char host[INET_ADDRSTRLEN];
	size_t n = colon ? (size_t)(colon - text) : strlen(text);
	uint64_t port = 0;

	if (n >= sizeof host || (need_port && !colon))
		return -EINVAL;
	memcpy(host, text, n);
	host[n] = 0;
	memset(a, 0, sizeof *a);
	a->sin_family = AF_INET;
	if (inet_pton(AF_INET, host, &a->sin_addr) != 1)
		return -EINVAL;
	if (colon && drv_port_arg_u64(colon + 1, need_port ? 1 : 0, 65535, &port))
		return -EINVAL;
	a->sin_port = htons((uint16_t)port);
	return 0;
}

int udp_write_address(const struct sockaddr_in *a, char *text, size_t bytes)
{
	char host[INET_ADDRSTRLEN];
	int n;

	inet_ntop(AF_INET, &a->sin_addr, host, sizeof host);
	n = snprintf(text, bytes, "%s:%u", host, ntohs(a->sin_port));
	return n < 0 || (size_t)n >= bytes ? -ENOSPC : 0;
}

int udp_is_same_address(const struct sockaddr_in *a, const struct sockaddr_in *b)
{
	return a->sin_addr.s_addr == b->sin_addr.s_addr && a->sin_port == b->sin_port;
}

/*
 * Bound the frame by the MTU of the interface that has the address; 127.0.0.0/8 belongs to
 * loopback.
 */
static int bound_by_mtu(int udp, const struct sockaddr_in *self, uint32_t *frame_bytes,
			struct drv_port_why *why)
{
	struct ifaddrs *all, *i;
	struct ifreq r = {0};
	uint32_t room;

	if (getifaddrs(&all))
		return drv_port_fail(why, -errno, "interfaces cannot be listed: %s",
				     strerror(errno));
	for (i = all; i; i = i->ifa_next) {
		const struct sockaddr_in *a = (const void *)i->ifa_addr;

		if (!a || a->sin_family != AF_INET)
			continue;
		if (a->sin_addr.s_addr == self->sin_addr.s_addr ||
		    (ntohl(self->sin_addr.s_addr) >> 24 == 127 && i->ifa_flags & IFF_LOOPBACK))
			break;
	}
	if (i)
		snprintf(r.ifr_name, sizeof r.ifr_name, "%s", i->ifa_name);
	freeifaddrs(all);
	if (!r.ifr_name[0])
		return drv_port_fail(why, -EADDRNOTAVAIL,
				     "no interface of this network namespace has that "
				     "address; 'ip addr' lists them");
	/* An alias belongs to the interface before the colon. */
	r.ifr_name[strcspn(r.ifr_name, ":")] = 0;
	if (ioctl(udp, SIOCGIFMTU, &r))
		return drv_port_fail(why, -errno, "no MTU of %s: %s", r.ifr_name, strerror(errno));
	room = r.ifr_mtu > 92 ? (uint32_t)r.ifr_mtu - UDP_HEADERS : 64;
	if (*frame_bytes > room)
		*frame_bytes = room;
	return 0;
}

static void set_room(int udp, int force, int plain)
{
	int bytes = SOCKET_BYTES;

	if (setsockopt(udp, SOL_SOCKET, force, &bytes, sizeof bytes))
		setsockopt(udp, SOL_SOCKET, plain, &bytes, sizeof bytes);
}

static void set_shared(int udp, int shared)
{
	setsockopt(udp, SOL_SOCKET, SO_REUSEADDR, &shared, sizeof shared);
}

/*
 * Bind beside sockets that udp_close() has closed and the kernel still holds, but beside no open
 * one: an address is shared only if both sockets allow it, and each allows it for this moment. The
 * abstract name keeps others of this network namespace from the address meanwhile. Returns 0, or
 * -1: not now.
 */
static int bind_beside_closed(int udp, const struct sockaddr_in *self)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int guard = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc;

	if (guard < 0)
		return -1;
	snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "quintorus-udp-%08x-%u",
		 ntohl(self->sin_addr.s_addr), ntohs(self->sin_port));
	rc = bind(guard, (const void *)&name, sizeof name);
	if (!rc) {
		set_shared(udp, 1);
		rc = bind(udp, (const void *)self, sizeof *self);
		set_shared(udp, 0);
	}
	close(guard);
	return rc;
}

/*
 * The kernel releases the address of a killed process a little later: on a loaded machine its
 * worker threads wait for a processor.
 */
static int bind_patiently(int udp, const struct sockaddr_in *self)
{
	const struct timespec nap = {.tv_nsec = 5000000};

	for (int i = 0; i < 200; i++) {
		if (!bind(udp, (const void *)self, sizeof *self))
			return 0;
		if (errno != EADDRINUSE)
			return -1;
		if (!bind_beside_closed(udp, self))
			return 0;
		nanosleep(&nap, NULL);
	}
	errno = EADDRINUSE;
	return -1;
}

static int set_up(int udp, struct sockaddr_in *self, uint32_t *frame_bytes,
		  struct drv_port_why *why)
{
	/* The wire above finds out which size the path carries. */
	int whole = IP_PMTUDISC_PROBE;
	socklen_t n = sizeof *self;
	int rc = bound_by_mtu(udp, self, frame_bytes, why);

	if (rc)
		return rc;
	setsockopt(udp, IPPROTO_IP, IP_MTU_DISCOVER, &whole, sizeof whole);
	set_room(udp, SO_RCVBUFFORCE, SO_RCVBUF);
	set_room(udp, SO_SNDBUFFORCE, SO_SNDBUF);
	if (bind_patiently(udp, self))
		return drv_port_fail(
		    why, -errno, "cannot bind: %s%s", strerror(errno),
		    errno == EADDRINUSE ? "; leave the port number out or take another" : "");
	return getsockname(udp, (struct sockaddr *)self, &n) ? -errno : 0;
}

int udp_open(int *udp, struct sockaddr_in *self, uint32_t *frame_bytes, struct drv_port_why *why)
{
	int rc;

	*udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (*udp < 0)
		return drv_port_fail(why, -errno, "no socket: %s", strerror(errno));
	rc = set_up(*udp, self, frame_bytes, why);
	if (rc) {
		close(*udp);
		*udp = -1;
	}
	return rc;
}

void udp_close(int udp)
{
	/*
	 * The requests of an io_uring, or a forked child, may hold the socket for longer. The next
	 * socket at its address is found first and has the frames.
	 */
	set_shared(udp, 1);
	close(udp);
}

void udp_log_refused(int *last, const char *driver, const struct sockaddr_in *to, int error)
{
	char text[INET_ADDRSTRLEN + 8];

	if (*last == error)
		return;
	*last = error;
	udp_write_address(to, text, sizeof text);
	drv_warn("port %s: frames to %s are refused and lost: %s%s", driver, text, strerror(-error),
		 error == -EMSGSIZE ? "; the MTU of its interface has become smaller"
				    : "; 'ip addr' and 'ip route get ADDRESS' tell why");
}

unsigned udp_count_train(const struct drv_frame *f, unsigned n, uint32_t longest)
{
	uint32_t bytes = f[0].bytes, all = bytes;
	unsigned k = 1;

	if (bytes > longest)
		return 1;
	while (k < n && k < UDP_TRAIN && f[k].peer == f[0].peer && f[k - 1].bytes == bytes &&
	       f[k].bytes <= bytes && all + f[k].bytes <= UDP_TRAIN_BYTES)
		all += f[k++].bytes;
	return k;
}

void udp_set_segment(struct msghdr *m, struct udp_control *control, uint16_t bytes)
{
	struct cmsghdr *c;

	_Static_assert(CMSG_SPACE(sizeof bytes) <= sizeof control->bytes, "room for the size");
	m->msg_control = control->bytes;
	m->msg_controllen = sizeof control->bytes;
	c = CMSG_FIRSTHDR(m);
	c->cmsg_level = SOL_UDP;
	c->cmsg_type = UDP_SEGMENT;
	c->cmsg_len = CMSG_LEN(sizeof bytes);
	memcpy(CMSG_DATA(c), &bytes, sizeof bytes);
}
