/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passes file descriptors to the other tasks of a host through an abstract socket, so nothing is
 * left behind.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "drivers/base/clock.h"
#include "drivers/base/log.h"
#include "mu/launch/launch.h"

#define PATIENCE_MS                                                                                \
	60000 /* all tasks have just passed a fence, so only a stuck machine needs this long */
#define CALLERS_MAX 256u

int mu_launch_listen(char *name)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	socklen_t bytes = offsetof(struct sockaddr_un, sun_path);
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* A socket bound without a name gets one from the kernel: a zero byte and five digits. */
	if (s < 0 || bind(s, (struct sockaddr *)&at, bytes) || listen(s, 1024) ||
	    (bytes = sizeof at, getsockname(s, (struct sockaddr *)&at, &bytes)) ||
	    bytes != offsetof(struct sockaddr_un, sun_path) + 6) {
		int error = errno;

		drv_error("launch: no socket to meet the other tasks of this host: %s",
			  strerror(error));
		if (s >= 0)
			close(s);
		return -error;
	}
	memcpy(name, at.sun_path + 1, 5);
	name[5] = 0;
	return s;
}

static int of_our_user(int s)
{
	struct ucred who;
	socklen_t n = sizeof who;

	return !getsockopt(s, SOL_SOCKET, SO_PEERCRED, &who, &n) && who.uid == geteuid();
}

/* A connection whose other end has not said the secret yet. */
struct caller {
	int s;
	unsigned char word[sizeof(uint64_t)];
	size_t got;
};

struct callers {
	struct pollfd fd[CALLERS_MAX + 1]; /* the listener is the last one */
	struct caller at[CALLERS_MAX];
	unsigned count;
};

static void drop_caller(struct callers *c, unsigned i)
{
	close(c->at[i].s);
	c->count--;
	memmove(&c->at[i], &c->at[i + 1], (c->count - i) * sizeof *c->at);
}

/* Returns 0 or a negative errno: the task is lost. */
static int hand_over(int s, const int *fds, unsigned n)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(MU_LAUNCH_FDS * sizeof(int))];
	} control = {0};
	uint64_t word = 0;
	struct iovec io = {&word, sizeof word};
	struct msghdr m = {.msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = CMSG_SPACE(n * sizeof(int))};

	control.head = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
					.cmsg_type = SCM_RIGHTS,
					.cmsg_len = CMSG_LEN(n * sizeof(int))};
	memcpy(CMSG_DATA(&control.head), fds, n * sizeof(int));
	return sendmsg(s, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof word ? 0 : -errno;
}

/* Read what a caller says. Returns 1: it knows the secret; 0: it has not said all of it; -EPERM: it
 * is a stranger. */
static int hear_caller(struct caller *c, uint64_t secret)
{
	ssize_t n = recv(c->s, c->word + c->got, sizeof c->word - c->got, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -EPERM;
	c->got += (size_t)n;
	if (c->got < sizeof c->word)
		return 0;
	return memcmp(c->word, &secret, sizeof secret) ? -EPERM : 1;
}

/* Accept a connection. When there are too many, or no descriptor is left, the oldest caller goes: a
 * task says the secret at once. Returns 0 or a negative errno. */
static int accept_caller(struct callers *c, int listener)
{
	int s;

	if (c->count == CALLERS_MAX)
		drop_caller(c, 0);
	do {
		s = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (s < 0 && (errno == EINTR || errno == ECONNABORTED))
			return 0;
		if (s < 0 && !c->count)
			return -errno; /* poll() would report the connection for ever */
		if (s < 0)
			drop_caller(c, 0);
	} while (s < 0);
	if (of_our_user(s))
		c->at[c->count++] = (struct caller){.s = s};
	else
		close(s);
	return 0;
}

/* Wait for a connection, or for what a caller says. Returns false when the time is over. */
static bool wait_for_callers(struct callers *c, int listener, uint64_t until_ns)
{
	uint64_t now = drv_clock_ns();

	for (unsigned i = 0; i < c->count; i++)
		c->fd[i] = (struct pollfd){.fd = c->at[i].s, .events = POLLIN};
	c->fd[c->count] = (struct pollfd){.fd = listener, .events = POLLIN};
	if (poll(c->fd, c->count + 1, now < until_ns ? (int)((until_ns - now) / 1000000) : 0) < 0)
		for (unsigned i = 0; i <= c->count; i++)
			c->fd[i].revents = 0;
	return drv_clock_ns() < until_ns;
}

/* Serve the callers that have spoken. Returns 0 or a negative errno. */
static int serve_callers(struct callers *c, uint64_t secret, const int *fds, unsigned n,
			 uint32_t *count)
{
	for (unsigned i = c->count; i-- && *count;) {
		int heard = c->fd[i].revents ? hear_caller(&c->at[i], secret) : 0, rc = 0;

		if (!heard)
			continue;
		if (heard > 0)
			rc = hand_over(c->at[i].s, fds, n);
		drop_caller(c, i);
		if (rc) {
			drv_error("launch: cannot hand the segment to a task: %s", strerror(-rc));
			return rc;
		}
		*count -= heard > 0;
	}
	return 0;
}

int mu_launch_give(int listener, uint32_t count, uint64_t secret, const int *fds, unsigned n)
{
	struct callers *c = calloc(1, sizeof *c);
	uint64_t until_ns = drv_clock_ns() + PATIENCE_MS * 1000000ull;
	int rc = c ? 0 : -ENOMEM;

	while (count && !rc) {
		uint32_t before = count;
		bool is_called;

		if (!wait_for_callers(c, listener, until_ns)) {
			drv_error("launch: %u tasks of this host have not come for its segment",
				  count);
			rc = -ETIMEDOUT;
			break;
		}
		is_called = c->fd[c->count].revents;
		rc = serve_callers(c, secret, fds, n, &count);
		if (count < before)
			until_ns = drv_clock_ns() + PATIENCE_MS * 1000000ull;
		if (rc || !is_called || !count)
			continue;
		rc = accept_caller(c, listener);
		if (rc)
			drv_error("launch: no connection of a task of this host: %s",
				  strerror(-rc));
	}
	while (c && c->count)
		drop_caller(c, c->count - 1);
	free(c);
	return rc;
}

static int wait_for(int s)
{
	struct pollfd p = {.fd = s, .events = POLLIN};
	int n;

	do {
		n = poll(&p, 1, PATIENCE_MS);
	} while (n < 0 && errno == EINTR);
	if (!n)
		errno = ETIMEDOUT;
	return n > 0 ? 0 : -1;
}

int mu_launch_take(const char *name, uint64_t secret, int *fds, unsigned n)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(MU_LAUNCH_FDS * sizeof(int))];
	} control = {0};
	uint64_t word = secret;
	struct iovec io = {&word, sizeof word};
	struct msghdr m = {.msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof control};
	struct timeval limit = {PATIENCE_MS / 1000, 0};
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), rc = -EPROTO;

	if (s < 0)
		return -errno;
	/* Another process may have the name, and take no connection. */
	setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	errno = 0;
	memcpy(at.sun_path + 1, name, 5);
	if (connect(s, (struct sockaddr *)&at, offsetof(struct sockaddr_un, sun_path) + 6) ||
	    !of_our_user(s) || send(s, &word, sizeof word, MSG_NOSIGNAL) != (ssize_t)sizeof word ||
	    wait_for(s) || recvmsg(s, &m, MSG_CMSG_CLOEXEC) <= 0 ||
	    control.head.cmsg_type != SCM_RIGHTS ||
	    control.head.cmsg_len != CMSG_LEN(n * sizeof(int)))
		drv_error("launch: the first task of this host did not hand over its segment (%s)",
			  errno == EAGAIN ? strerror(ETIMEDOUT)
			  : errno         ? strerror(errno)
					  : "it closed the connection");
	else
		rc = 0;
	if (!rc)
		memcpy(fds, CMSG_DATA(&control.head), n * sizeof(int));
	close(s);
	return rc;
}
