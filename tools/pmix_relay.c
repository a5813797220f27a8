/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/pmix_relay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "drivers/base/assert.h"
#include "drivers/base/log.h"

#define CHUNK 65536u

/* One direction of a connection. */
struct way {
	int from, to;
	bool ended;      /* No more comes. */
	size_t at, used; /* of data: what is written already, what there is */
	char data[CHUNK];
};

struct connection {
	int task, server;
	struct way way[2];
	struct connection *next;
};

static struct {
	int *listener;
	size_t listeners;
	struct sockaddr_in server;
	struct connection *first;
	size_t connections;
} relay;

bool pmix_relay_is_needed(const struct plan *p)
{
	for (uint32_t i = 0; i < p->hosts; i++)
		if (p->host[i].kind == PLAN_HOST_NETNS)
			return true;
	return false;
}

/* ---- opening ---- */

static bool find_address(char *const *env)
{
	for (; *env; env++) {
		const char *at = strstr(*env, "tcp4://127.0.0.1:");

		if (!strncmp(*env, "PMIX_SERVER_URI", 15) && at) {
			relay.server = (struct sockaddr_in){
			    .sin_family = AF_INET,
			    .sin_port = htons((uint16_t)atoi(at + strlen("tcp4://127.0.0.1:"))),
			    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
			return relay.server.sin_port;
		}
	}
	drv_error("the PMIx server names no address on the loopback (127.0.0.1); "
		  "tasks in network namespaces cannot reach it");
	return false;
}

/* The address stays when the interface goes down, so a socket could be bound all the same. */
static bool is_loopback_up(int fd)
{
	struct ifreq lo = {.ifr_name = "lo"};

	if (ioctl(fd, SIOCGIFFLAGS, &lo))
		return false;
	errno = ENETDOWN;
	return lo.ifr_flags & IFF_UP;
}

static int listen_here(const char *name)
{
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error;

	if (fd >= 0 && is_loopback_up(fd) &&
	    !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) &&
	    !bind(fd, (struct sockaddr *)&relay.server, sizeof relay.server) &&
	    !listen(fd, SOMAXCONN)) {
		relay.listener[relay.listeners++] = fd;
		return 0;
	}
	error = errno;
	if (fd >= 0)
		close(fd);
	drv_error("network namespace %s: cannot listen on its loopback: %s; %s", name,
		  strerror(error), "bring it up with: ip -n NAME link set lo up");
	return -error;
}

/* Move this thread to the namespace; the caller moves it back. */
static int listen_in(const char *name)
{
	char path[192];
	int fd, rc = 0;

	snprintf(path, sizeof path, "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		rc = -errno;
	if (fd >= 0)
		close(fd);
	if (!rc)
		return listen_here(name);
	drv_error("cannot enter network namespace %s: %s; %s", name, strerror(-rc),
		  rc == -ENOENT ? "make it with: ip netns add NAME" : "run as root");
	return rc;
}

int pmix_relay_open(const struct plan *p, char *const *env)
{
	int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC), rc = 0;

	if (home < 0)
		return -errno;
	relay.listener = calloc(p->hosts, sizeof *relay.listener);
	if (!relay.listener)
		rc = -ENOMEM;
	else if (!find_address(env))
		rc = -EPROTO;
	for (uint32_t i = 0; i < p->hosts && !rc; i++) {
		bool again = false;

		for (uint32_t k = 0; k < i; k++)
			again |= !strcmp(p->host[k].name, p->host[i].name);
		if (p->host[i].kind == PLAN_HOST_NETNS && !again)
			rc = listen_in(p->host[i].name);
	}
	if (setns(home, CLONE_NEWNET) && !rc)
		rc = -errno;
	close(home);
	return rc;
}

/* ---- passing on ---- */

#define NO_ROOM_NS 10000000

static void accept_task(int listener)
{
	int task = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), server = -1;
	struct connection *c = NULL;

	if (task < 0) {
		/* The connection waits, and poll() would return at once. */
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
			nanosleep(&(struct timespec){.tv_nsec = NO_ROOM_NS}, NULL);
		return;
	}
	server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (server >= 0 && !connect(server, (struct sockaddr *)&relay.server, sizeof relay.server))
		c = calloc(1, sizeof *c);
	if (!c || fcntl(server, F_SETFL, O_NONBLOCK)) {
		if (server >= 0)
			close(server);
		close(task);
		free(c);
		return;
	}
	c->task = task;
	c->server = server;
	c->way[0].from = c->way[1].to = task;
	c->way[0].to = c->way[1].from = server;
	c->next = relay.first;
	relay.first = c;
	relay.connections++;
}

/* Read where there is room, write what there is. */
static void move_bytes(struct way *w)
{
	ssize_t n;

	if (w->at == w->used && !w->ended) {
		w->at = w->used = 0;
		n = read(w->from, w->data, CHUNK);
		if (n > 0)
			w->used = (size_t)n;
		else if (!n || (errno != EAGAIN && errno != EINTR))
			w->ended = true;
	}
	if (w->at < w->used) {
		n = send(w->to, w->data + w->at, w->used - w->at, MSG_NOSIGNAL);
		if (n > 0)
			w->at += (size_t)n;
		else if (n < 0 && errno != EAGAIN && errno != EINTR)
			w->ended = true, w->at = w->used;
	}
	if (w->ended && w->at == w->used)
		shutdown(w->to, SHUT_WR);
}

static bool is_over(const struct connection *c)
{
	return c->way[0].ended && c->way[1].ended && c->way[0].at == c->way[0].used &&
	       c->way[1].at == c->way[1].used;
}

static void serve_connections(void)
{
	struct connection **at = &relay.first, *c;

	while ((c = *at)) {
		move_bytes(&c->way[0]);
		move_bytes(&c->way[1]);
		if (!is_over(c)) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		close(c->task);
		close(c->server);
		free(c);
		relay.connections--;
	}
}

static short events_of(const struct way *in, const struct way *out)
{
	short wanted = 0;

	if (!in->ended && in->at == in->used)
		wanted |= POLLIN;
	if (out->at < out->used)
		wanted |= POLLOUT;
	return wanted;
}

/*
 * Sockets that are neither read nor written now are left out: they would report their end again and
 * again.
 */
static size_t fill_pollfds(struct pollfd *p)
{
	size_t n = 0;

	for (size_t i = 0; i < relay.listeners; i++)
		p[n++] = (struct pollfd){.fd = relay.listener[i], .events = POLLIN};
	for (struct connection *c = relay.first; c; c = c->next) {
		short task = events_of(&c->way[0], &c->way[1]);
		short server = events_of(&c->way[1], &c->way[0]);

		p[n++] = (struct pollfd){.fd = task ? c->task : -1, .events = task};
		p[n++] = (struct pollfd){.fd = server ? c->server : -1, .events = server};
	}
	return n;
}

void pmix_relay_run(void)
{
	struct pollfd *p = NULL;
	size_t room = 0;

	for (;;) {
		size_t need = relay.listeners + 2 * relay.connections;

		if (need > room) {
			struct pollfd *more = realloc(p, 2 * need * sizeof *p);

			if (!more)
				_exit(1);
			p = more;
			room = 2 * need;
		}
		DRV_ASSERT(p);
		if (poll(p, fill_pollfds(p), -1) < 0 && errno != EINTR)
			_exit(1);
		for (size_t i = 0; i < relay.listeners; i++)
			if (p[i].revents)
				accept_task(relay.listener[i]);
		serve_connections();
	}
}
