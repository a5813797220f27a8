/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tests/drivers/pair.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/base/clock.h"

#define CONTROL_SECONDS 60

static void control_read(struct side *s, void *data, size_t bytes)
{
	ssize_t n;

	while ((n = recv(s->control, data, bytes, 0)) < 0 && errno == EINTR)
		s->interrupted++;
	/* Fails when the other side has ended, with its own reason printed, or does not answer. */
	REQUIRE(n == (ssize_t)bytes);
}

void side_tell(struct side *s, uint64_t value)
{
	REQUIRE(send(s->control, &value, sizeof value, MSG_NOSIGNAL) == sizeof value);
}

uint64_t side_hear(struct side *s)
{
	uint64_t value = 0;

	control_read(s, &value, sizeof value);
	return value;
}

void side_sync(struct side *s)
{
	side_tell(s, 0x5359);
	REQUIRE(side_hear(s) == 0x5359);
}

void side_open(struct side *s)
{
	REQUIRE(!drv_port_open(s->pair->spec[s->index], &s->port));
	REQUIRE(!drv_port_address(s->port, s->own, sizeof s->own));
	REQUIRE(send(s->control, s->own, sizeof s->own, MSG_NOSIGNAL) == sizeof s->own);
	control_read(s, s->other, sizeof s->other);
	REQUIRE(memchr(s->other, 0, sizeof s->other) != NULL);
	side_tell(s, s->port->frame_bytes_max);
	s->bytes_max = (uint32_t)side_hear(s);
	if (s->bytes_max > s->port->frame_bytes_max)
		s->bytes_max = s->port->frame_bytes_max;
	s->peer = -1;
}

void side_close(struct side *s)
{
	drv_port_close(s->port);
	s->port = NULL;
}

struct drv_frame side_get(struct side *s)
{
	uint64_t until = drv_clock_ns() + 5000000000u;
	struct drv_frame f = {0};
	int rc;

	while ((rc = drv_port_tx_get(s->port, &f)) == -EAGAIN && drv_clock_ns() < until)
		sched_yield();
	REQUIRE(rc == 0);
	REQUIRE(f.bytes >= s->port->frame_bytes_max);
	f.peer = s->peer;
	return f;
}

void side_send(struct side *s, struct drv_frame *f)
{
	uint64_t until = drv_clock_ns() + 5000000000u;
	int taken;

	while (!(taken = drv_port_tx_send(s->port, f, 1)) && drv_clock_ns() < until)
		sched_yield();
	REQUIRE(taken == 1);
}

int side_receive(struct side *s, struct drv_frame *f, unsigned n, unsigned milliseconds)
{
	uint64_t start = drv_clock_ns(), waited = 0;
	int got;

	/* What does not come soon is lost, or late: a long wait takes no processor. */
	while (!(got = drv_port_rx(s->port, f, n)) && waited < milliseconds * 1000000ull) {
		if (waited < 100000000)
			sched_yield();
		else
			poll(NULL, 0, 1);
		waited = drv_clock_ns() - start;
	}
	REQUIRE(got >= 0 && got <= (int)n);
	return got;
}

void pattern_fill(unsigned char *data, uint32_t bytes, uint32_t key)
{
	for (uint32_t i = 0; i < bytes; i++)
		data[i] = (unsigned char)(key * 131 + i * 7 + (i >> 8) * 13);
}

int pattern_is(const unsigned char *data, uint32_t bytes, uint32_t key)
{
	for (uint32_t i = 0; i < bytes; i++)
		if (data[i] != (unsigned char)(key * 131 + i * 7 + (i >> 8) * 13))
			return 0;
	return 1;
}

/* ---- places ---- */

static int run_shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

static int run_shell(const char *format, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof line, format, ap);
	va_end(ap);
	return system(line);
}

static int file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return -1;
	rc = write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
	close(fd);
	return rc;
}

/* A network namespace of our own; root of a user namespace first where we are not root. */
static int namespace_enter(void)
{
	char map[64];

	if (geteuid()) {
		snprintf(map, sizeof map, "0 %d 1", (int)geteuid());
		if (unshare(CLONE_NEWUSER) || file_write("/proc/self/setgroups", "deny") ||
		    file_write("/proc/self/uid_map", map))
			return -1;
	}
	return unshare(CLONE_NEWNET);
}

/* Needs no `ip` command, which only the pairs with veth need. */
static int raise_loopback(void)
{
	struct ifreq r = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc = ioctl(fd, SIOCSIFFLAGS, &r);

	close(fd);
	return rc;
}

static int namespace_try(void *arg)
{
	return namespace_enter() || run_shell("ip link add va type veth peer name vb 2>/dev/null");
}

const char *pair_why_not(enum pair_place place)
{
	if (place == PAIR_NETNS && t_wait(t_child(namespace_try, NULL), 20))
		return "network namespaces with veth cannot be made here (no root, or no ip "
		       "command)";
	return NULL;
}

struct runner {
	struct side side;
	void (*fn)(struct side *);
	pid_t first; /* namespaces: of side 0 */
};

static void *runner_thread(void *arg)
{
	struct runner *r = arg;

	r->fn(&r->side);
	return NULL;
}

/* Side 1 of two in namespaces: leave that of side 0, which then makes the veth pair. */
static void runner_namespace(struct runner *r)
{
	if (r->side.pair->place != PAIR_NETNS)
		return;
	if (r->side.index) {
		REQUIRE(!unshare(CLONE_NEWNET));
		side_tell(&r->side, (uint64_t)getpid());
		side_hear(&r->side);
	} else {
		int pid = (int)side_hear(&r->side);

		REQUIRE(!run_shell("ip link add va mtu %u type veth peer name vb mtu %u netns %d",
				   r->side.pair->mtu, r->side.pair->mtu, pid));
		side_tell(&r->side, 0);
	}
	REQUIRE(!run_shell(
	    "ip link set lo up && ip addr add 10.0.0.%d/24 dev v%c && ip link set v%c up",
	    r->side.index + 1, 'a' + r->side.index, 'a' + r->side.index));
	side_sync(&r->side);
}

static int runner_process(void *arg)
{
	struct runner *r = arg;

	/* Close the other side's end, so that its death is seen. */
	close((r->side.index ? r - 1 : r + 1)->side.control);
	runner_namespace(r);
	r->fn(&r->side);
	return 0;
}

struct stage {
	const struct pair *pair;
	void (*fn)(struct side *);
	unsigned seconds;
};

/* A process around both sides, so that nothing of a port ever touches the test program's own. */
static int stage_run(void *arg)
{
	struct stage *g = arg;
	struct timeval limit = {.tv_sec = CONTROL_SECONDS};
	struct runner r[2];
	int fds[2], rc[2];
	uint64_t seed = t_seed();

	/* Loopback of our own too: a job that ended may have had a port's number, and its peers
	 * still send. */
	if (namespace_enter() ? g->pair->place == PAIR_NETNS : raise_loopback())
		return 1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return 1;
	for (int i = 0; i < 2; i++) {
		setsockopt(fds[i], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
		r[i] = (struct runner){.side = {.pair = g->pair, .index = i, .control = fds[i]},
				       .fn = g->fn};
		drv_rng_seed(&r[i].side.rng, seed);
	}
	if (g->pair->place == PAIR_THREADS) {
		pthread_t t;

		if (pthread_create(&t, NULL, runner_thread, &r[1]))
			return 1;
		g->fn(&r[0].side);
		return pthread_join(t, NULL);
	}
	pid_t other = t_child(runner_process, &r[1]), first = t_child(runner_process, &r[0]);

	close(fds[0]);
	close(fds[1]);
	rc[0] = t_wait(first, g->seconds);
	rc[1] = t_wait(other, g->seconds);
	return rc[0] ? rc[0] : rc[1];
}

int pair_run(const struct pair *pair, void (*fn)(struct side *), unsigned seconds)
{
	struct stage g = {pair, fn, seconds};

	return t_wait(t_child(stage_run, &g), seconds + 5);
}
