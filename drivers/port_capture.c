/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * capture: wraps a port and records its frames as pcapng.
 *
 *	section header | interface 0 | interface 1 | ... | packet | packet | ...
 *
 * Several processes append to one file. Each write() has whole blocks, and the file is open with
 * O_APPEND, so blocks of different processes do not mix. Packets of different hosts may be out of
 * order by the time that a recorder keeps them.
 */
#define _GNU_SOURCE
#include "drivers/port_capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "drivers/base/log.h"
#include "drivers/frame.h"

#define BUFFER_BYTES   (1u << 20)
#define FLUSH_BYTES    (1u << 18) /* the file gets this much at once */
#define LINKTYPE_USER0 147u

enum { BLOCK_SECTION = 0x0a0d0d0a, BLOCK_INTERFACE = 1, BLOCK_PACKET = 6 };
enum { OPTION_END = 0, OPTION_FLAGS = 2, OPTION_NAME = 2, OPTION_TSRESOL = 9 };
enum direction { INBOUND = 1, OUTBOUND = 2 };

struct capture_port {
	struct drv_port port;
	struct drv_port *below;
	int fd;
	uint32_t host;
	unsigned char *buffer;
	size_t used;
	int failed;         /* a write failed: nothing more is recorded */
	atomic_u32 *error;  /* errno of that write */
	drv_watch_fn watch; /* not NULL: there is no file */
	void *watch_arg;
};

/* ---- blocks ---- */

struct block {
	unsigned char *data;
	size_t bytes;
};

static void put_bytes(struct block *b, const void *data, size_t bytes)
{
	memcpy(b->data + b->bytes, data, bytes);
	b->bytes += bytes;
	while (b->bytes % 4)
		b->data[b->bytes++] = 0;
}

static void put_word(struct block *b, uint32_t v)
{
	put_bytes(b, &v, sizeof v);
}

static void put_option(struct block *b, uint16_t code, const void *data, uint16_t bytes)
{
	uint16_t head[2] = {code, bytes};

	put_bytes(b, head, sizeof head);
	put_bytes(b, data, bytes);
}

/* Write the length, which stands at both ends of a block that began at `from`. */
static void end_block(struct block *b, size_t from)
{
	uint32_t length = (uint32_t)(b->bytes - from + 4);

	put_word(b, length);
	memcpy(b->data + from + 4, &length, sizeof length);
}

static void put_head(struct block *b)
{
	static const uint16_t version[2] = {1, 0};
	static const uint64_t unknown = UINT64_MAX;
	size_t from = b->bytes;

	put_word(b, BLOCK_SECTION);
	put_word(b, 0);
	put_word(b, 0x1a2b3c4d);
	put_bytes(b, version, sizeof version);
	put_bytes(b, &unknown, sizeof unknown);
	end_block(b, from);
}

static void put_interface(struct block *b, uint32_t host)
{
	static const unsigned char nanoseconds = 9;
	size_t from = b->bytes;
	char name[24];
	int n = snprintf(name, sizeof name, "host %u", host);

	put_word(b, BLOCK_INTERFACE);
	put_word(b, 0);
	put_word(b, LINKTYPE_USER0);
	put_word(b, 0); /* no limit on the length of packets */
	put_option(b, OPTION_NAME, name, (uint16_t)n);
	put_option(b, OPTION_TSRESOL, &nanoseconds, 1);
	put_word(b, OPTION_END); /* its length is 0 */
	end_block(b, from);
}

int drv_capture_create(const char *path, uint32_t hosts, int keep)
{
	struct block b = {.data = malloc(64 + (size_t)hosts * 64)};
	int fd, rc = 0;
	ssize_t n;

	if (!b.data)
		return -ENOMEM;
	put_head(&b);
	for (uint32_t i = 0; i < hosts; i++)
		put_interface(&b, i);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (keep ? O_EXCL : O_TRUNC), 0666);
	if (fd < 0)
		rc = -errno;
	else if ((n = write(fd, b.data, b.bytes)) != (ssize_t)b.bytes)
		rc = n < 0 ? -errno : -ENOSPC;
	if (fd >= 0)
		close(fd);
	free(b.data);
	return rc;
}

/* ---- recording ---- */

static void flush_records(struct capture_port *c)
{
	ssize_t n = c->used && !c->failed ? write(c->fd, c->buffer, c->used) : (ssize_t)c->used;

	if (n != (ssize_t)c->used) { /* a part is taken where the file system becomes full */
		int error = n < 0 ? errno : ENOSPC;

		c->failed = 1;
		atomic_store_relaxed(c->error, (uint32_t)error);
		drv_warn("capture: %s; nothing more is recorded", strerror(error));
	}
	c->used = 0;
}

/* Grow the buffer for one more packet. */
static void make_room(struct capture_port *c)
{
	if (c->used > FLUSH_BYTES)
		flush_records(c);
}

static void record_frame(struct capture_port *c, const struct drv_frame *f,
			 enum direction direction)
{
	struct block b = {c->buffer + c->used, 0};
	uint32_t flags = (uint32_t)direction;
	struct timespec t;
	uint64_t ns;

	if (c->failed || f->bytes > DRV_FRAME_BYTES_MAX + 64)
		return;
	clock_gettime(CLOCK_REALTIME, &t);
	ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	put_word(&b, BLOCK_PACKET);
	put_word(&b, 0);
	put_word(&b, c->host);
	put_word(&b, (uint32_t)(ns >> 32));
	put_word(&b, (uint32_t)ns);
	put_word(&b, f->bytes);
	put_word(&b, f->bytes);
	put_bytes(&b, f->data, f->bytes);
	put_option(&b, OPTION_FLAGS, &flags, sizeof flags);
	put_word(&b, OPTION_END);
	end_block(&b, 0);
	c->used += b.bytes;
}

_Static_assert(BUFFER_BYTES - FLUSH_BYTES > DRV_FRAME_BYTES_MAX + 256, "a packet has room");

static struct capture_port *capture_of(struct drv_port *p)
{
	return (struct capture_port *)p;
}

static int capture_tx_get(struct drv_port *p, struct drv_frame *f)
{
	return capture_of(p)->below->ops->tx_get(capture_of(p)->below, f);
}

/* The port below may change the buffers, so frames are recorded before it has them; those that it
 * does not take now come again, and are taken back from the record. */
static int capture_tx_send(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	struct capture_port *c = capture_of(p);
	int taken = 0;

	for (unsigned i = 0; i < n; i++) {
		struct drv_frame_header header;
		size_t before;
		int rc;

		make_room(c);
		before = c->used;
		if (c->watch)
			memcpy(&header, f[i].data, sizeof header);
		else
			record_frame(c, &f[i], OUTBOUND);
		rc = c->below->ops->tx_send(c->below, &f[i], 1);
		if (rc == 1) {
			taken++;
			if (c->watch)
				c->watch(c->watch_arg, &header, true);
			continue;
		}
		c->used = before;
		if (rc < 0 && !taken)
			taken = rc;
		break;
	}
	p->stat = c->below->stat;
	return taken;
}

static void capture_tx_put(struct drv_port *p, struct drv_frame *f)
{
	capture_of(p)->below->ops->tx_put(capture_of(p)->below, f);
}

static int capture_rx(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	struct capture_port *c = capture_of(p);
	int got = c->below->ops->rx(c->below, f, n);

	for (int i = 0; i < got; i++) {
		make_room(c);
		if (!c->watch)
			record_frame(c, &f[i], INBOUND);
		else if (f[i].bytes >= DRV_FRAME_HEADER)
			c->watch(c->watch_arg, (const void *)f[i].data, false);
	}
	if (got == 0)
		flush_records(c);
	p->stat = c->below->stat;
	return got;
}

static void capture_rx_done(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	capture_of(p)->below->ops->rx_done(capture_of(p)->below, f, n);
}

static int capture_arm(struct drv_port *p)
{
	flush_records(capture_of(p));
	return capture_of(p)->below->ops->arm(capture_of(p)->below);
}

static int capture_peer(struct drv_port *p, const char *address)
{
	return capture_of(p)->below->ops->peer(capture_of(p)->below, address);
}

static int capture_address(struct drv_port *p, char *text, size_t bytes)
{
	return capture_of(p)->below->ops->address(capture_of(p)->below, text, bytes);
}

static void capture_close(struct drv_port *p)
{
	struct capture_port *c = capture_of(p);

	flush_records(c);
	c->below->ops->close(c->below);
	if (!c->watch)
		close(c->fd);
	free(c->buffer);
	free(c);
}

static const struct drv_port_ops capture_ops = {
    .name = "capture",
    .tx_get = capture_tx_get,
    .tx_send = capture_tx_send,
    .tx_put = capture_tx_put,
    .rx = capture_rx,
    .rx_done = capture_rx_done,
    .arm = capture_arm,
    .peer = capture_peer,
    .address = capture_address,
    .close = capture_close,
};

static void put_before(struct drv_port **port, struct capture_port *c)
{
	c->below = *port;
	c->port.ops = &capture_ops;
	c->port.frame_bytes_max = (*port)->frame_bytes_max;
	c->port.keep_max = (*port)->keep_max;
	*port = &c->port;
}

int drv_port_watch(struct drv_port **port, drv_watch_fn watch, void *arg)
{
	struct capture_port *c = calloc(1, sizeof *c);

	if (!c)
		return -ENOMEM;
	c->watch = watch;
	c->watch_arg = arg;
	put_before(port, c);
	return 0;
}

int drv_port_capture(struct drv_port **port, const char *path, uint32_t host, uint32_t hosts,
		     atomic_u32 *error)
{
	struct capture_port *c = calloc(1, sizeof *c);
	int rc = drv_capture_create(path, hosts, 1);

	if (!c)
		return -ENOMEM;
	if (rc && rc != -EEXIST)
		goto err;
	c->fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (c->fd < 0) {
		rc = -errno;
		goto err;
	}
	c->buffer = malloc(BUFFER_BYTES);
	if (!c->buffer) {
		close(c->fd);
		rc = -ENOMEM;
		goto err;
	}
	c->host = host;
	c->error = error;
	put_before(port, c);
	return 0;
err:
	free(c);
	drv_error("capture: %s: %s", path, strerror(-rc));
	return rc;
}
