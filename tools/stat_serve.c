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
#include <sys/time.h>
#include <unistd.h>

#include "drivers/base/clock.h"
#include "tools/cmd.h"

#define REQUEST_BYTES 4096
#define REQUEST_MS    2000 /* a client that is slower is let go */

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

/* Read up to the end of the request's head. Returns false if the head did not come whole, or not in
 * time. */
static bool read_request(int fd, char *text, size_t bytes)
{
	uint64_t end = drv_clock_ns() + REQUEST_MS * 1000000ull;
	size_t n = 0;

	while (n + 1 < bytes) {
		ssize_t got = recv(fd, text + n, bytes - 1 - n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0 || drv_clock_ns() > end)
			return false;
		n += (size_t)got;
		text[n] = '\0';
		if (strstr(text, "\r\n\r\n") || strstr(text, "\n\n"))
			return true;
	}
	return false;
}

static void send_all(int fd, const char *data, size_t bytes)
{
	uint64_t end = drv_clock_ns() + REQUEST_MS * 1000000ull;

	while (bytes && drv_clock_ns() < end) {
		ssize_t n = send(fd, data, bytes, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		data += n;
		bytes -= (size_t)n;
	}
}

static void send_answer(int fd, const char *status, const char *body, size_t bytes)
{
	char head[256];
	int n = snprintf(head, sizeof head,
			 "HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
			 "Content-Length: %zu\r\nConnection: close\r\n\r\n",
			 status, bytes);

	send_all(fd, head, (size_t)n);
	send_all(fd, body, bytes);
}

static void serve_one(int fd, const char *which)
{
	static const char lost[] = "only /metrics is here\n";
	struct timeval limit = {REQUEST_MS / 1000, REQUEST_MS % 1000 * 1000};
	char request[REQUEST_BYTES], why[512], *body = NULL;
	struct runs_job job;
	size_t bytes = 0;
	FILE *f;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	if (!read_request(fd, request, sizeof request))
		return;
	if (strncmp(request, "GET /metrics ", 13) && strncmp(request, "GET / ", 6)) {
		send_answer(fd, "404 Not Found", lost, sizeof lost - 1);
		return;
	}
	if (runs_open(&job, which, why, sizeof why - 1)) {
		strcat(why, "\n");
		send_answer(fd, "503 Service Unavailable", why, strlen(why));
		return;
	}
	f = open_memstream(&body, &bytes);
	if (f) {
		stat_print_prometheus(f, &job);
		fclose(f);
		send_answer(fd, "200 OK", body, bytes);
	}
	free(body);
	runs_close(&job);
}

int stat_serve(const char *address, const char *which)
{
	struct sockaddr_storage at;
	socklen_t bytes;
	int rc = parse_address(address, &at, &bytes), fd, on = 1;

	if (rc) {
		fprintf(stderr,
			rc == -EPERM ? "torus stat: --listen %s: give a loopback address, such as "
				       "127.0.0.1:9464; whoever reaches it reads the counters\n"
				     : "torus stat: --listen %s: give PORT or 127.0.0.1:PORT\n",
			address);
		return CMD_USAGE;
	}
	fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, bytes) || listen(fd, 16)) {
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
	for (;;) {
		int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

		if (client < 0 && errno != EINTR && errno != ECONNABORTED) {
			fprintf(stderr, "torus stat: %s\n", strerror(errno));
			return 1;
		}
		if (client < 0)
			continue;
		serve_one(client, which);
		close(client);
	}
}
