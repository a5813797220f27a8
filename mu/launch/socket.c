/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passes file descriptors to the other tasks of a host through an abstract socket, so nothing is
 * left behind.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "drivers/base/log.h"
#include "mu/launch/launch.h"

#define PATIENCE_MS                                                                                \
	60000 /* all tasks have just passed a fence, so only a stuck machine needs this long */

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

static int wait_for(int s)
{
	struct pollfd p = {.fd = s, .events = POLLIN};
	int n;

	do {
		n = poll(&p, 1, PATIENCE_MS);
	} while (n < 0 && errno == EINTR);
	return n > 0 ? 0 : -ETIMEDOUT;
}

/*
 * Serve one task. Returns 0; -EPERM: it is a stranger and is ignored; another error: the task is
 * lost.
 */
static int give_one(int s, uint64_t secret, const int *fds, unsigned n)
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
	struct timeval limit = {PATIENCE_MS / 1000, 0};

	/* A stranger may send a part of the word and no more. */
	setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	if (!of_our_user(s) || wait_for(s) ||
	    recv(s, &word, sizeof word, MSG_WAITALL) != sizeof word || word != secret)
		return -EPERM;
	control.head = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
					.cmsg_type = SCM_RIGHTS,
					.cmsg_len = CMSG_LEN(n * sizeof(int))};
	memcpy(CMSG_DATA(&control.head), fds, n * sizeof(int));
	return sendmsg(s, &m, MSG_NOSIGNAL) == (ssize_t)sizeof word ? 0 : -errno;
}

int mu_launch_give(int listener, uint32_t count, uint64_t secret, const int *fds, unsigned n)
{
	while (count) {
		int s, rc = wait_for(listener);

		if (rc) {
			drv_error("launch: %u tasks of this host have not come for its segment",
				  count);
			return rc;
		}
		s = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (s < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (s < 0) { /* no free descriptor: poll() would report the connection for ever */
			rc = -errno;
			drv_error("launch: no connection of a task of this host: %s",
				  strerror(-rc));
			return rc;
		}
		rc = give_one(s, secret, fds, n);
		close(s);
		if (rc && rc != -EPERM) {
			drv_error("launch: cannot hand the segment to a task: %s", strerror(-rc));
			return rc;
		}
		count -= !rc;
	}
	return 0;
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
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), rc = -EPROTO;

	if (s < 0)
		return -errno;
	memcpy(at.sun_path + 1, name, 5);
	if (connect(s, (struct sockaddr *)&at, offsetof(struct sockaddr_un, sun_path) + 6) ||
	    !of_our_user(s) || send(s, &word, sizeof word, MSG_NOSIGNAL) != (ssize_t)sizeof word ||
	    wait_for(s) || recvmsg(s, &m, MSG_CMSG_CLOEXEC) <= 0 ||
	    control.head.cmsg_type != SCM_RIGHTS ||
	    control.head.cmsg_len != CMSG_LEN(n * sizeof(int)))
		drv_error("launch: the first task of this host did not hand over its segment (%s)",
			  strerror(errno));
	else
		rc = 0;
	if (!rc)
		memcpy(fds, CMSG_DATA(&control.head), n * sizeof(int));
	close(s);
	return rc;
}
