/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/stat_serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "drivers/base/clock.h"
#include "tools/cmd.h"

#define REQUEST_BYTES 4096
#define REQUEST_MS    2000 /* a client that is slower is let go */
#define CLIENTS_MAX   64u  /* of one more the oldest is let go */

/* ---- the text ---- */

static void print_escaped(FILE *f, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', f);
		if (*text == '\n')
			fputs("\\n", f);
		else
			fputc(*text, f);
	}
}

static void print_labels(FILE *f, const struct runs_job *j, const char *label)
{
	fprintf(f, "{job=\"%016llx\"", (unsigned long long)j->job);
	while (*label) {
		size_t n = strcspn(label, " "), key = strcspn(label, "=");
		char value[48];

		if (key < n) {
			snprintf(value, sizeof value, "%.*s", (int)(n - key - 1), label + key + 1);
			fprintf(f, ",%.*s=\"", (int)key, label);
			print_escaped(f, value);
			fputc('"', f);
		}
		label += n + (label[n] == ' ');
	}
	fputc('}', f);
}

/* Print one family from the files of all hosts, since the format wants its lines together. */
static void print_family(FILE *f, const struct runs_job *j, const struct drv_stat_family *family)
{
	bool counter = family->kind == DRV_STAT_COUNTER;

	fprintf(f, "# HELP quintorus_%s%s ", family->name, counter ? "_total" : "");
	print_escaped(f, family->help);
	fprintf(f, "\n# TYPE quintorus_%s%s %s\n", family->name, counter ? "_total" : "",
		counter ? "counter" : "gauge");
	for (uint32_t h = 0; h < j->hosts; h++) {
		const struct drv_stat_view *v = &j->host[h];
		uint32_t id = runs_family(v, family->name);

		for (uint32_t i = 0; i < v->head.rows; i++) {
			if (v->row[i].family != id)
				continue;
			fprintf(f, "quintorus_%s%s", family->name, counter ? "_total" : "");
			print_labels(f, j, v->row[i].label);
			fprintf(f, " %" PRIu64 "\n", v->value[i]);
		}
	}
}

void stat_print_prometheus(FILE *f, const struct runs_job *j)
{
	fprintf(f, "# HELP quintorus_up 1: the agent of the host lives.\n"
		   "# TYPE quintorus_up gauge\n");
	for (uint32_t h = 0; h < j->hosts; h++)
		fprintf(f, "quintorus_up{job=\"%016llx\",host=\"%s\"} %d\n",
			(unsigned long long)j->job, drv_stat_view_fact(&j->host[h], "host"),
			j->host[h].is_live);
	for (uint32_t h = 0; h < j->hosts; h++) {
		for (uint32_t k = 0; k < j->host[h].head.families; k++) {
			const struct drv_stat_family *family = &j->host[h].family[k];
			bool printed = false;

			for (uint32_t g = 0; g < h; g++)
				printed |= runs_family(&j->host[g], family->name) != UINT32_MAX;
			if (!printed)
				print_family(f, j, family);
		}
	}
}

/* ---- HTTP ---- */

/* Parse the address; refuse what is not loopback. */
static int parse_address(const char *text, struct sockaddr_storage *to, socklen_t *bytes)
{
	const char *colon = strrchr(text, ':');
	struct sockaddr_in *v4 = (struct sockaddr_in *)to;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)to;
	char host[64] = "127.0.0.1", *end;
	unsigned long port;

	if (colon &&
	    snprintf(host, sizeof host, "%.*s", (int)(colon - text), text) >= (int)sizeof host)
		return -EINVAL;
	port = strtoul(colon ? colon + 1 : text, &end, 10);
	if (*end || end == (colon ? colon + 1 : text) || port > 65535)
		return -EINVAL;
	memset(to, 0, sizeof *to);
	if (!strcmp(host, "[::1]")) {
		v6->sin6_family = AF_INET6;
		v6->sin6_addr = in6addr_loopback;
		v6->sin6_port = htons((uint16_t)port);
		*bytes = sizeof *v6;
		return 0;
	}
	if (!strcmp(host, "localhost"))
		strcpy(host, "127.0.0.1");
	if (inet_pton(AF_INET, host, &v4->sin_addr) != 1)
		return -EINVAL;
	if (ntohl(v4->sin_addr.s_addr) >> 24 != 127)
		return -EPERM;
	v4->sin_family = AF_INET;
	v4->sin_port = htons((uint16_t)port);
	*bytes = sizeof *v4;
	return 0;
}

/* A connection. A client that has said little, or reads nothing, holds up no other. */
struct client {
	int fd;
	uint64_t until_ns; /* then it is let go */
	char request[REQUEST_BYTES];
	size_t request_bytes;
	char *answer; /* NULL: the head of its request is not there yet */
	size_t answer_bytes, sent;
};

struct server {
	int fd;
	const char *which; /* the job */
	struct client client[CLIENTS_MAX];
	unsigned clients;
};

static void drop_client(struct server *s, unsigned i)
{
	close(s->client[i].fd);
	free(s->client[i].answer);
	s->clients--;
	memmove(&s->client[i], &s->client[i + 1], (s->clients - i) * sizeof *s->client);
}

static void make_answer(struct client *c, const char *status, const char *body, size_t bytes)
{
	FILE *f = open_memstream(&c->answer, &c->answer_bytes);

	if (!f)
		return;
	fprintf(f,
		"HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
		"Content-Length: %zu\r\nConnection: close\r\n\r\n",
		status, bytes);
	fwrite(body, 1, bytes, f);
	fclose(f);
}

static void answer_request(const struct server *s, struct client *c)
{
	static const char lost[] = "only /metrics is here\n";
	char why[512], *body = NULL;
	struct runs_job job;
	size_t bytes = 0;
	FILE *f;

	if (strncmp(c->request, "GET /metrics ", 13) && strncmp(c->request, "GET / ", 6)) {
		make_answer(c, "404 Not Found", lost, sizeof lost - 1);
		return;
	}
	if (runs_open(&job, s->which, why, sizeof why - 1)) {
		strcat(why, "\n");
		make_answer(c, "503 Service Unavailable", why, strlen(why));
		return;
	}
	f = open_memstream(&body, &bytes);
	if (f) {
		stat_print_prometheus(f, &job);
		fclose(f);
		make_answer(c, "200 OK", body, bytes);
	}
	free(body);
	runs_close(&job);
}

/* Read up to the end of the request's head. Returns false if the client is to be let go. */
static bool read_request(const struct server *s, struct client *c)
{
	ssize_t n = recv(c->fd, c->request + c->request_bytes,
			 sizeof c->request - 1 - c->request_bytes, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0)
		return false;
	c->request_bytes += (size_t)n;
	c->request[c->request_bytes] = '\0';
	if (!strstr(c->request, "\r\n\r\n") && !strstr(c->request, "\n\n"))
		return c->request_bytes < sizeof c->request - 1;
	answer_request(s, c);
	c->until_ns = drv_clock_ns() + REQUEST_MS * 1000000ull;
	return c->answer != NULL;
}

/* Returns false after the last byte, or if the client is to be let go. */
static bool send_answer(struct client *c)
{
	ssize_t n = send(c->fd, c->answer + c->sent, c->answer_bytes - c->sent,
			 MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	c->sent += (size_t)n;
	return c->sent < c->answer_bytes;
}

/* Returns false if nobody can be served any more. */
static bool accept_client(struct server *s)
{
	int fd;

	if (s->clients == CLIENTS_MAX)
		drop_client(s, 0);
	fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0) {
		if (errno == EINTR || errno == ECONNABORTED || errno == EAGAIN)
			return true;
		if (s->clients && (errno == EMFILE || errno == ENFILE)) {
			drop_client(s, 0);
			return true;
		}
		fprintf(stderr, "torus stat: %s\n", strerror(errno));
		return false;
	}
	s->client[s->clients++] =
	    (struct client){.fd = fd, .until_ns = drv_clock_ns() + REQUEST_MS * 1000000ull};
	return true;
}

static int serve_clients(struct server *s)
{
	struct pollfd p[CLIENTS_MAX + 1];

	for (;;) {
		unsigned n = s->clients;

		p[n] = (struct pollfd){.fd = s->fd, .events = POLLIN};
		for (unsigned i = 0; i < n; i++)
			p[i] = (struct pollfd){.fd = s->client[i].fd,
					       .events = s->client[i].answer ? POLLOUT : POLLIN};
		if (poll(p, n + 1, n ? REQUEST_MS / 10 : -1) < 0)
			continue;
		for (unsigned i = n; i--;) {
			struct client *c = &s->client[i];
			bool stays = drv_clock_ns() < c->until_ns;

			if (stays && p[i].revents)
				stays = c->answer ? send_answer(c) : read_request(s, c);
			if (!stays)
				drop_client(s, i);
		}
		if (p[n].revents && !accept_client(s))
			return 1;
	}
}

int stat_serve(const char *address, const char *which)
{
	struct sockaddr_storage at;
	socklen_t bytes;
	int rc = parse_address(address, &at, &bytes), fd, on = 1;
	struct server *s;

	if (rc) {
		fprintf(stderr,
			rc == -EPERM ? "torus stat: --listen %s: give a loopback address, such as "
				       "127.0.0.1:9464; whoever reaches it reads the counters\n"
				     : "torus stat: --listen %s: give PORT or 127.0.0.1:PORT\n",
			address);
		return CMD_USAGE;
	}
	fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, bytes) || listen(fd, 128)) {
		fprintf(stderr, "torus stat: --listen %s: %s\n", address, strerror(errno));
		return 1;
	}
	bytes = sizeof at;
	getsockname(fd, (struct sockaddr *)&at, &bytes);
	printf("torus stat: counters at http://%s:%u/metrics\n",
	       at.ss_family == AF_INET6 ? "[::1]"
					: inet_ntoa(((struct sockaddr_in *)&at)->sin_addr),
	       ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
					      : ((struct sockaddr_in *)&at)->sin_port));
	fflush(stdout);
	s = calloc(1, sizeof *s);
	if (!s) {
		fprintf(stderr, "torus stat: no memory\n");
		return 1;
	}
	s->fd = fd;
	s->which = which;
	rc = serve_clients(s);
	free(s);
	return rc;
}
