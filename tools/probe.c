/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "drivers/base/clock.h"
#include "drivers/frame.h"
#include "tools/check.h"
#include "tools/ctl.h"

#define PINGS_MAX   1000u
#define PING_MS     1000 /* for an answer */
#define LENGTH_MS   300  /* the same while lengths are tried: many get none */
#define TRIES       3    /* datagrams of each length */
#define UDP_HEADERS 28   /* IP and UDP */
#define LENGTH_MIN  576  /* every host takes such packets */
#define LENGTH_MAX  65507

struct datagram {
	uint64_t key;
	uint32_t sequence, is_answer;
	uint64_t sent_ns, answered_ns; /* CLOCK_REALTIME, of each end */
};

struct probe {
	FILE *out;
	uint64_t key;
	int echo; /* the socket on which others find us */
	uint32_t sequence;
	unsigned char buffer[LENGTH_MAX];
};

static uint64_t real_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Answer what has come. An answer is short, whatever the question's length. */
static void answer_all(struct probe *p)
{
	struct sockaddr_in from;
	struct datagram d;
	ssize_t n;

	for (;;) {
		socklen_t bytes = sizeof from;

		n = recvfrom(p->echo, p->buffer, sizeof p->buffer, MSG_DONTWAIT, (void *)&from,
			     &bytes);
		if (n < 0)
			return;
		if ((size_t)n < sizeof d)
			continue;
		memcpy(&d, p->buffer, sizeof d);
		if (d.key != p->key || d.is_answer)
			continue;
		d.is_answer = 1;
		d.answered_ns = real_ns();
		sendto(p->echo, &d, sizeof d, MSG_DONTWAIT, (void *)&from, bytes);
	}
}

static void say_line(FILE *out, const char *word, const char *path)
{
	char text[128] = "";
	FILE *f = fopen(path, "re");

	if (f && fgets(text, sizeof text, f))
		text[strcspn(text, "\n")] = '\0';
	if (f)
		fclose(f);
	fprintf(out, "%s %s", word, text[0] ? text : "unknown");
}

static bool has_invariant_clock(void)
{
	char line[4096];
	FILE *f = fopen("/proc/cpuinfo", "re");
	bool has = false;

	while (f && !has && fgets(line, sizeof line, f))
		has = !strncmp(line, "flags", 5) && strstr(line, " constant_tsc") &&
		      strstr(line, " nonstop_tsc");
	if (f)
		fclose(f);
	return has;
}

static void say_drivers(FILE *out)
{
	static const struct {
		const char *name;
		void (*check)(struct check *c);
	} drivers[] = {{"packet", check_packet},
		       {"uring", check_uring},
		       {"dpdk", check_dpdk},
		       {"seal", check_seal}};

	for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++) {
		struct check c = {0};

		drivers[i].check(&c);
		if (c.state == CHECK_OK)
			fprintf(out, "driver %s\n", drivers[i].name);
	}
	if (!geteuid())
		fprintf(out, "driver root\n"); /* raw packets of an interface */
}

static void say_addresses(FILE *out)
{
	struct ifaddrs *all, *a;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (getifaddrs(&all))
		all = NULL;
	for (a = all; a; a = a->ifa_next) {
		struct ifreq request;
		char text[INET_ADDRSTRLEN];
		uint32_t mask;

		if (!a->ifa_addr || a->ifa_addr->sa_family != AF_INET || !(a->ifa_flags & IFF_UP) ||
		    !a->ifa_netmask)
			continue;
		mask = ntohl(((struct sockaddr_in *)(void *)a->ifa_netmask)->sin_addr.s_addr);
		memset(&request, 0, sizeof request);
		snprintf(request.ifr_name, sizeof request.ifr_name, "%s", a->ifa_name);
		if (ioctl(fd, SIOCGIFMTU, &request))
			request.ifr_mtu = 0;
		inet_ntop(AF_INET, &((struct sockaddr_in *)(void *)a->ifa_addr)->sin_addr, text,
			  sizeof text);
		fprintf(out, "address %s %d %s %d\n", text, __builtin_popcount(mask), a->ifa_name,
			request.ifr_mtu);
	}
	if (all)
		freeifaddrs(all);
	if (fd >= 0)
		close(fd);
}

static int begin_probe(struct probe *p)
{
	struct sockaddr_in own = {.sin_family = AF_INET};
	socklen_t bytes = sizeof own;

	p->echo = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (p->echo < 0 || bind(p->echo, (void *)&own, sizeof own) ||
	    getsockname(p->echo, (void *)&own, &bytes)) {
		fprintf(p->out, "error no UDP socket: %s\n", strerror(errno));
		return -1;
	}
	fprintf(p->out, "version %s, frames %d, control %u\n", QT_VERSION, DRV_FRAME_VERSION,
		CTL_VERSION);
	say_line(p->out, "boot", "/proc/sys/kernel/random/boot_id");
	say_line(p->out, "\nclock",
		 "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	fprintf(p->out, " %d\n", has_invariant_clock());
	say_drivers(p->out);
	say_addresses(p->out);
	fprintf(p->out, "ready %u\n", ntohs(own.sin_port));
	fflush(p->out);
	return 0;
}

/* Send a datagram of so many bytes and wait for its answer. Returns the round trip in ns, or 0. */
static uint64_t ask_peer(struct probe *p, int fd, size_t bytes, unsigned ms, int64_t *offset)
{
	uint64_t start = drv_clock_ns(), end = start + ms * 1000000ull, now, there;
	struct datagram d = {.key = p->key, .sequence = ++p->sequence, .sent_ns = real_ns()};
	struct pollfd ready[2] = {{.fd = fd, .events = POLLIN}, {.fd = p->echo, .events = POLLIN}};

	memset(p->buffer, 0, bytes);
	memcpy(p->buffer, &d, sizeof d);
	if (send(fd, p->buffer, bytes, MSG_DONTWAIT) < 0)
		return 0;
	/*
	 * Check once more after the end of the wait, since this process may have had no processor.
	 */
	do {
		struct datagram a;

		now = drv_clock_ns();
		if (now < end)
			poll(ready, 2, (int)((end - now) / 1000000) + 1);
		answer_all(p);
		while (recv(fd, &a, sizeof a, MSG_DONTWAIT) == sizeof a) {
			if (a.key != p->key || !a.is_answer || a.sequence != d.sequence)
				continue;
			there = real_ns();
			*offset =
			    (int64_t)(a.answered_ns - d.sent_ns) - (int64_t)(there - d.sent_ns) / 2;
			return drv_clock_ns() - start;
		}
	} while (now < end);
	return 0;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void ping_peer(struct probe *p, int fd, unsigned count)
{
	static uint64_t trip[PINGS_MAX];
	int64_t offset = 0, of_best = 0;
	uint64_t best = UINT64_MAX;
	unsigned got = 0, sent = 0;

	for (; sent < count && sent < PINGS_MAX; sent++) {
		uint64_t ns;

		/* No probe answers: three tries are enough. */
		if (sent == TRIES && !got)
			break;
		ns = ask_peer(p, fd, sizeof(struct datagram), PING_MS, &offset);
		if (!ns)
			continue;
		trip[got++] = ns;
		if (ns < best) {
			best = ns;
			of_best = offset;
		}
	}
	qsort(trip, got, sizeof *trip, compare_u64);
	fprintf(p->out, "pong %u %u %" PRIu64 " %" PRId64 "\n", sent, got, got ? trip[got / 2] : 0,
		of_best);
}

static bool can_pass(struct probe *p, int fd, int bytes)
{
	int64_t offset;

	for (int i = 0; i < TRIES; i++)
		if (ask_peer(p, fd, (size_t)(bytes - UDP_HEADERS), LENGTH_MS, &offset))
			return true;
	return false;
}

/* Search the longest packet that arrives, without fragments, at most `largest` bytes. */
static void find_mtu(struct probe *p, int fd, unsigned largest)
{
	int low = LENGTH_MIN, high, probe_pmtu = IP_PMTUDISC_PROBE;
	int most = largest > LENGTH_MAX   ? LENGTH_MAX
		   : largest < LENGTH_MIN ? LENGTH_MIN
					  : (int)largest;

	setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &probe_pmtu, sizeof probe_pmtu);
	if (can_pass(p, fd, most)) {
		low = most;
	} else if (!can_pass(p, fd, low)) {
		low = 0;
	} else {
		for (high = most; high - low > 1;) {
			int middle = low + (high - low) / 2;

			if (can_pass(p, fd, middle))
				low = middle;
			else
				high = middle;
		}
	}
	fprintf(p->out, "mtu %d\n", low);
}

static void obey_line(struct probe *p, const char *line)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	char ip[64], word[8];
	unsigned port, number;
	int fd;

	if (sscanf(line, "%7s %63s %u %u", word, ip, &port, &number) != 4 ||
	    inet_pton(AF_INET, ip, &to.sin_addr) != 1) {
		fprintf(p->out, "error no such command\n");
		fflush(p->out);
		return;
	}
	to.sin_port = htons((uint16_t)port);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (void *)&to, sizeof to))
		fprintf(p->out, "error %s: %s\n", ip, strerror(errno));
	else if (!strcmp(word, "ping"))
		ping_peer(p, fd, number);
	else
		find_mtu(p, fd, number);
	fflush(p->out);
	if (fd >= 0)
		close(fd);
}

int probe_serve(int in, int out)
{
	struct probe *p = calloc(1, sizeof *p);
	char line[256];
	size_t used = 0;
	int rc = 0;

	if (!p)
		return 1;
	p->echo = -1;
	p->out = fdopen(out, "w");
	while (p->out && !rc) {
		struct pollfd ready[2] = {{.fd = in, .events = POLLIN},
					  {.fd = p->echo, .events = POLLIN}};
		char *end;
		ssize_t n;

		poll(ready, 2, -1);
		if (ready[1].revents)
			answer_all(p);
		if (!ready[0].revents)
			continue;
		n = read(in, line + used, sizeof line - 1 - used);
		if (n <= 0)
			break;
		used += (size_t)n;
		line[used] = '\0';
		end = strchr(line, '\n');
		if (!end && used == sizeof line - 1)
			break;
		if (!end)
			continue;
		*end = '\0';
		if (!strncmp(line, "key ", 4)) {
			p->key = strtoull(line + 4, NULL, 16);
			rc = begin_probe(p);
		} else {
			obey_line(p, line);
		}
		used = 0; /* the next command comes after the answer */
	}
	if (p->echo >= 0)
		close(p->echo);
	if (p->out)
		fclose(p->out);
	free(p);
	return rc ? 1 : 0;
}
