/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/out.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/base/log.h"

void out_put(struct out *o, const void *data, size_t bytes)
{
	if (o->error || !bytes)
		return;
	if (o->at) {
		memmove(o->data, o->data + o->at, o->bytes - o->at);
		o->bytes -= o->at;
		o->at = 0;
	}
	if (o->bytes + bytes > o->room) {
		o->room = (o->bytes + bytes) * 2;
		o->data = realloc(o->data, o->room);
		if (!o->data) {
			drv_error("torus run: out of memory");
			_exit(1);
		}
	}
	memcpy(o->data + o->bytes, data, bytes);
	o->bytes += bytes;
}

void out_put_tagged(struct out *o, uint32_t task, const char *data, size_t bytes)
{
	char tag[16];
	size_t tag_bytes = (size_t)snprintf(tag, sizeof tag, "[%u] ", task);

	while (bytes) {
		const char *end = memchr(data, '\n', bytes);
		size_t line = end ? (size_t)(end - data) + 1 : bytes;

		out_put(o, tag, tag_bytes);
		out_put(o, data, line);
		if (!end)
			out_put(o, "\n", 1);
		data += line;
		bytes -= line;
	}
}

/* A pipe that polls writable takes PIPE_BUF bytes at once. The parent process shares the
 * descriptor, so it must not become non-blocking. */
void out_flush(struct out *o)
{
	struct pollfd p = {.fd = o->fd, .events = POLLOUT};

	while (o->at < o->bytes && !o->error && poll(&p, 1, 0) > 0) {
		size_t chunk = o->bytes - o->at;
		ssize_t n = write(o->fd, o->data + o->at, chunk < PIPE_BUF ? chunk : PIPE_BUF);

		if (n >= 0)
			o->at += (size_t)n;
		else if (errno == EAGAIN)
			break;
		else if (errno != EINTR)
			o->error = errno;
	}
	if (o->at == o->bytes || o->error)
		o->at = o->bytes = 0;
}
