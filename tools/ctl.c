/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/base/log.h"

#define HEAD_BYTES 8
/* A pipe that nobody reads still takes heartbeats into the rest of its last page. */
#define STUCK_BYTES 8192u

/* Only the tools use this: without memory for a few kilobytes there is no job. */
static void *grow_buffer(void *p, size_t bytes)
{
	p = realloc(p, bytes);
	if (!p) {
		drv_error("out of memory (%zu bytes)", bytes);
		_exit(1);
	}
	return p;
}

static void descriptor_prepare(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
}

void ctl_init(struct ctl *c, int in, int out)
{
	memset(c, 0, sizeof *c);
	c->in = in;
	c->out = out;
	descriptor_prepare(in);
	if (out != in)
		descriptor_prepare(out);
}

void ctl_close(struct ctl *c)
{
	if (c->in >= 0)
		close(c->in);
	if (c->out >= 0 && c->out != c->in)
		close(c->out);
	free(c->rx);
	free(c->tx);
	memset(c, 0, sizeof *c);
	c->in = c->out = -1;
	c->broken = c->tx_broken = -EPIPE;
}

int ctl_poll(struct pollfd *fds, unsigned n, const struct timespec *timeout)
{
	static struct pollfd *used;
	static unsigned *place; /* [n]: index of the entry in used[] */
	static unsigned room;
	unsigned count = 0;
	int rc;

	if (n > room) {
		room = 2 * n;
		used = grow_buffer(used, room * sizeof *used);
		place = grow_buffer(place, room * sizeof *place);
	}
	for (unsigned i = 0; i < n; i++) {
		unsigned k = 0;

		fds[i].revents = 0;
		if (fds[i].fd < 0)
			continue;
		/* The two directions of a control channel are neighbours in the list. */
		if (count && used[count - 1].fd == fds[i].fd)
			k = count - 1;
		else
			used[k = count++] = (struct pollfd){.fd = fds[i].fd};
		used[k].events |= fds[i].events;
		place[i] = k;
	}
	rc = ppoll(used, count, timeout, NULL);
	for (unsigned i = 0; rc > 0 && i < n; i++)
		if (fds[i].fd >= 0)
			fds[i].revents = used[place[i]].revents &
					 (short)(fds[i].events | POLLERR | POLLHUP | POLLNVAL);
	return rc;
}

static void tx_append(struct ctl *c, const void *data, size_t bytes)
{
	if (c->tx_at) {
		memmove(c->tx, c->tx + c->tx_at, c->tx_bytes - c->tx_at);
		c->tx_bytes -= c->tx_at;
		c->tx_at = 0;
	}
	if (c->tx_bytes + bytes > c->tx_room) {
		c->tx_room = (c->tx_bytes + bytes) * 2;
		c->tx = grow_buffer(c->tx, c->tx_room);
	}
	memcpy(c->tx + c->tx_bytes, data, bytes);
	c->tx_bytes += bytes;
}

int ctl_flush(struct ctl *c)
{
	while (!c->tx_broken && c->tx_at < c->tx_bytes) {
		ssize_t n = write(c->out, c->tx + c->tx_at, c->tx_bytes - c->tx_at);

		c->written += n > 0 ? (size_t)n : 0;
		if (n >= 0)
			c->tx_at += (size_t)n;
		else if (errno == EAGAIN)
			break;
		else if (errno != EINTR)
			c->tx_broken = -errno;
	}
	if (c->tx_at == c->tx_bytes || c->tx_broken)
		c->tx_at = c->tx_bytes = 0;
	return c->tx_broken;
}

int ctl_send(struct ctl *c, uint32_t type, const void *data, size_t bytes)
{
	uint32_t head[2] = {type, (uint32_t)bytes};

	if (c->tx_broken)
		return c->tx_broken;
	if (bytes > CTL_BYTES_MAX) {
		drv_error("control message of %zu bytes is over the limit of %u", bytes,
			  CTL_BYTES_MAX);
		return -EMSGSIZE;
	}
	tx_append(c, head, sizeof head);
	if (bytes)
		tx_append(c, data, bytes);
	if (c->ends_lines) {
		uint32_t line_end[2] = {CTL_PING, 1};

		tx_append(c, line_end, sizeof line_end);
		tx_append(c, "\n", 1);
	}
	return ctl_flush(c);
}

int ctl_send_buf(struct ctl *c, uint32_t type, struct ctl_buf *b)
{
	int rc = ctl_send(c, type, b->data, b->bytes);

	free(b->data);
	memset(b, 0, sizeof *b);
	return rc;
}

void ctl_exchange_heartbeats(struct ctl *c, uint64_t now_ns)
{
	const uint64_t ping_ns = CTL_PING_MS * 1000000ull;
	uint64_t passed_ns = c->looked_ns ? now_ns - c->looked_ns : 0;

	passed_ns = passed_ns < 2 * ping_ns ? passed_ns : 2 * ping_ns;
	c->looked_ns = now_ns;
	c->silent_ns += passed_ns;
	c->stuck_ns += passed_ns;
	if (!ctl_pending(c) || c->written >= STUCK_BYTES)
		c->stuck_ns = c->written = 0;
	if (now_ns - c->pinged_ns >= ping_ns) {
		c->pinged_ns = now_ns;
		ctl_send(c, CTL_PING, NULL, 0);
	}
}

/* One bounded read: a peer that never stops sending must not keep the loop from other events. */
int ctl_receive(struct ctl *c)
{
	ssize_t n;

	if (c->broken)
		return c->broken;
	if (c->rx_at) {
		memmove(c->rx, c->rx + c->rx_at, c->rx_bytes - c->rx_at);
		c->rx_bytes -= c->rx_at;
		c->rx_at = 0;
	}
	if (c->rx_room - c->rx_bytes < 65536) {
		c->rx_room = c->rx_bytes * 2 + 65536;
		c->rx = grow_buffer(c->rx, c->rx_room);
	}
	do {
		n = read(c->in, c->rx + c->rx_bytes, c->rx_room - c->rx_bytes);
	} while (n < 0 && errno == EINTR);
	if (n > 0) {
		c->rx_bytes += (size_t)n;
		c->silent_ns = 0;
		c->has_heard = true;
	} else if (n == 0)
		c->broken = -EPIPE;
	else if (errno != EAGAIN)
		c->broken = -errno;
	return c->broken;
}

int ctl_next(struct ctl *c, struct ctl_msg *m)
{
	uint32_t head[2];
	size_t have = c->rx_bytes - c->rx_at;

	if (have < HEAD_BYTES)
		return 0;
	memcpy(head, c->rx + c->rx_at, sizeof head);
	if (!head[0] || head[0] > CTL_PING || head[1] > CTL_BYTES_MAX)
		return -EPROTO;
	if (have - HEAD_BYTES < head[1])
		return 0;
	*m = (struct ctl_msg){
	    .type = head[0], .data = c->rx + c->rx_at + HEAD_BYTES, .bytes = head[1]};
	c->rx_at += HEAD_BYTES + head[1];
	return 1;
}

void ctl_put_bytes(struct ctl_buf *b, const void *data, size_t bytes)
{
	if (b->bytes + bytes > b->room) {
		b->room = (b->bytes + bytes) * 2 + 64;
		b->data = grow_buffer(b->data, b->room);
	}
	if (bytes)
		memcpy(b->data + b->bytes, data, bytes);
	b->bytes += bytes;
}

void ctl_put_u32(struct ctl_buf *b, uint32_t v)
{
	ctl_put_bytes(b, &v, sizeof v);
}

void ctl_put_u64(struct ctl_buf *b, uint64_t v)
{
	ctl_put_bytes(b, &v, sizeof v);
}

void ctl_put_text(struct ctl_buf *b, const char *text)
{
	size_t bytes = strlen(text ? text : "");

	ctl_put_u32(b, (uint32_t)bytes);
	ctl_put_bytes(b, text ? text : "", bytes + 1);
}

const void *ctl_get_bytes(struct ctl_msg *m, size_t bytes)
{
	const void *p = m->data + m->at;

	if (m->bad || bytes > m->bytes - m->at) {
		m->bad = true;
		return NULL;
	}
	m->at += bytes;
	return p;
}

/* Copy a number of the message; zeros when too few bytes are left. */
static void get_number(struct ctl_msg *m, void *to, size_t bytes)
{
	const void *from = ctl_get_bytes(m, bytes);

	if (from)
		memcpy(to, from, bytes);
	else
		memset(to, 0, bytes);
}

uint32_t ctl_get_u32(struct ctl_msg *m)
{
	uint32_t v;

	get_number(m, &v, sizeof v);
	return v;
}

uint64_t ctl_get_u64(struct ctl_msg *m)
{
	uint64_t v;

	get_number(m, &v, sizeof v);
	return v;
}

const char *ctl_get_text(struct ctl_msg *m)
{
	size_t bytes = (size_t)ctl_get_u32(m) + 1;
	const char *text = ctl_get_bytes(m, bytes);

	if (!text || text[bytes - 1] || strlen(text) != bytes - 1) {
		m->bad = true;
		return "";
	}
	return text;
}
