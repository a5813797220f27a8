/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loop: frames between ports of one process. The smallest complete port: read it to write another.
 *
 *   spec      loop:[NAME][,frame=BYTES]    BYTES 64 .. 65536, default 9000
 *   address   NAME/SERIAL                  ports opened with the same NAME reach each other
 *
 * Each port has an inbox: a ring of slots that contain one frame each. Sending copies a frame into
 * the inbox of its peer, so a caller may keep its buffer, and a frame may be gathered. A full
 * inbox means "not now"; frames to a closed port are lost. All loop ports share one lock, so that
 * two threads may use two of them.
 */
#define _GNU_SOURCE
#include "drivers/port_driver.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define LOOP_SLOTS       256u              /* inbox frames */
#define LOOP_KEPT        64u               /* frames that the caller may keep */
#define LOOP_TX          (64u + LOOP_KEPT) /* transmit buffers */
#define LOOP_FRAME_BYTES 9000u

struct loop_slot {
	uint64_t from; /* serial number of the sender */
	uint32_t bytes;
	unsigned char *data;
};

struct loop_port {
	struct drv_port port;
	uint64_t serial;
	char name[64];
	struct loop_port *next; /* all open loop ports */

	/*
	 * Inbox: slots head .. tail - 1 are full; the first `lent` of them are lent to the caller.
	 */
	struct loop_slot slot[LOOP_SLOTS];
	uint32_t head, tail, lent;
	int armed, eventfd;

	uint64_t *peer_serial;
	int peers;

	unsigned char *tx_free[LOOP_TX];
	unsigned tx_free_count;
	unsigned char *memory;
};

static pthread_mutex_t loop_lock = PTHREAD_MUTEX_INITIALIZER;
static struct loop_port *loop_ports;
static uint64_t loop_serial;

static struct loop_port *loop_find(uint64_t serial)
{
	struct loop_port *l = loop_ports;

	while (l && l->serial != serial)
		l = l->next;
	return l;
}

static int loop_tx_get(struct drv_port *p, struct drv_frame *f)
{
	struct loop_port *l = (struct loop_port *)p;

	if (!l->tx_free_count) {
		p->stat.tx_busy++;
		return -EAGAIN;
	}
	f->data = l->tx_free[--l->tx_free_count];
	f->bytes = p->frame_bytes_max;
	return 0;
}

static void loop_tx_put(struct drv_port *p, struct drv_frame *f)
{
	struct loop_port *l = (struct loop_port *)p;

	l->tx_free[l->tx_free_count++] = f->data;
}

/*
 * Returns 0 if the frame was taken or lost, -EAGAIN if the inbox is full. The caller holds the
 * lock.
 */
static int loop_deliver(struct loop_port *from, struct loop_port *to, const struct drv_frame *f,
			const void *data, uint32_t bytes)
{
	struct loop_slot *s;

	if (!to)
		return 0;
	if (to->tail - to->head == LOOP_SLOTS)
		return -EAGAIN;
	s = &to->slot[to->tail++ % LOOP_SLOTS];
	s->from = from->serial;
	s->bytes = f->bytes + bytes;
	if (s->bytes <= to->port.frame_bytes_max) { /* otherwise the receiver drops it */
		memcpy(s->data, f->data, f->bytes);
		if (bytes)
			memcpy(s->data + f->bytes, data, bytes);
	}
	if (to->armed) {
		uint64_t one = 1;

		to->armed = 0;
		if (write(to->eventfd, &one, sizeof one) < 0)
			return 0; /* it cannot fill up, since it is written once for each arming */
	}
	return 0;
}

/* Returns how many of n frames were taken, each with `bytes` bytes from `data` behind it. */
static int loop_send(struct drv_port *p, struct drv_frame *f, unsigned n, const void *data,
		     uint32_t bytes)
{
	struct loop_port *l = (struct loop_port *)p;
	unsigned i;

	pthread_mutex_lock(&loop_lock);
	for (i = 0; i < n; i++) {
		if (loop_deliver(l, loop_find(l->peer_serial[f[i].peer]), &f[i], data, bytes)) {
			p->stat.tx_busy++;
			break;
		}
		p->stat.tx_frames++;
		p->stat.tx_bytes += f[i].bytes + bytes;
		if (!f[i].keep)
			loop_tx_put(p, &f[i]);
	}
	pthread_mutex_unlock(&loop_lock);
	return (int)i;
}

static int loop_tx_send(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	return loop_send(p, f, n, NULL, 0);
}

static int loop_tx_gather(struct drv_port *p, struct drv_frame *f, const void *data, uint32_t bytes)
{
	return loop_send(p, f, 1, data, bytes);
}

static int32_t loop_peer_of(const struct loop_port *l, uint64_t serial)
{
	for (int i = 0; i < l->peers; i++)
		if (l->peer_serial[i] == serial)
			return i;
	return -1;
}

static int loop_rx(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	struct loop_port *l = (struct loop_port *)p;
	unsigned got = 0;

	pthread_mutex_lock(&loop_lock);
	while (got < n && l->head + l->lent != l->tail) {
		struct loop_slot *s = &l->slot[(l->head + l->lent) % LOOP_SLOTS];

		l->lent++;
		if (s->bytes > p->frame_bytes_max) {
			p->stat.rx_dropped++;
			continue;
		}
		f[got].data = s->data;
		f[got].bytes = s->bytes;
		f[got].peer = loop_peer_of(l, s->from);
		p->stat.rx_frames++;
		p->stat.rx_bytes += s->bytes;
		got++;
	}
	if (!got) { /* all were dropped, so the caller will not return them */
		l->head += l->lent;
		l->lent = 0;
	}
	pthread_mutex_unlock(&loop_lock);
	return (int)got;
}

static void loop_rx_done(struct drv_port *p, struct drv_frame *f, unsigned n)
{
	struct loop_port *l = (struct loop_port *)p;

	if (!n)
		return;
	pthread_mutex_lock(&loop_lock);
	l->head += l->lent;
	l->lent = 0;
	pthread_mutex_unlock(&loop_lock);
}

static int loop_arm(struct drv_port *p)
{
	struct loop_port *l = (struct loop_port *)p;
	uint64_t drained;

	if (l->eventfd < 0) {
		int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

		if (fd < 0)
			return -ENOTSUP;
		l->eventfd = fd;
	}
	pthread_mutex_lock(&loop_lock);
	if (read(l->eventfd, &drained, sizeof drained) < 0)
		drained = 0; /* it was empty */
	l->armed = 1;
	pthread_mutex_unlock(&loop_lock);
	return l->eventfd;
}

static int loop_peer(struct drv_port *p, const char *address)
{
	struct loop_port *l = (struct loop_port *)p;
	size_t n = strlen(l->name);
	uint64_t serial, *grown;
	int known, rc = -EINVAL;

	if (strncmp(address, l->name, n) || address[n] != '/' ||
	    drv_port_arg_u64(address + n + 1, 1, UINT64_MAX, &serial))
		return -EINVAL;
	pthread_mutex_lock(&loop_lock);
	known = loop_peer_of(l, serial);
	if (known >= 0) {
		rc = known;
	} else if (l->peers == DRV_PORT_PEERS_MAX) {
		rc = -ENOSPC;
	} else {
		rc = -ENOMEM;
		grown = realloc(l->peer_serial, sizeof *grown * ((size_t)l->peers + 1));
		if (grown) {
			l->peer_serial = grown;
			grown[l->peers] = serial;
			rc = l->peers++;
		}
	}
	pthread_mutex_unlock(&loop_lock);
	return rc;
}

static int loop_address(struct drv_port *p, char *text, size_t bytes)
{
	struct loop_port *l = (struct loop_port *)p;
	int n = snprintf(text, bytes, "%s/%llu", l->name, (unsigned long long)l->serial);

	return n < 0 || (size_t)n >= bytes ? -ENOSPC : 0;
}

static void loop_close(struct drv_port *p)
{
	struct loop_port *l = (struct loop_port *)p, **at = &loop_ports;

	pthread_mutex_lock(&loop_lock);
	while (*at && *at != l)
		at = &(*at)->next;
	if (*at)
		*at = l->next;
	pthread_mutex_unlock(&loop_lock);
	if (l->eventfd >= 0)
		close(l->eventfd);
	free(l->peer_serial);
	free(l->memory);
	free(l);
}

static const struct drv_port_ops loop_ops = {
    .name = "loop",
    .tx_get = loop_tx_get,
    .tx_send = loop_tx_send,
    .tx_put = loop_tx_put,
    .tx_gather = loop_tx_gather,
    .rx = loop_rx,
    .rx_done = loop_rx_done,
    .arm = loop_arm,
    .peer = loop_peer,
    .address = loop_address,
    .close = loop_close,
};

static int loop_parse(const char *args, struct loop_port *l, struct drv_port_why *why)
{
	uint64_t frame = LOOP_FRAME_BYTES;
	size_t n = strcspn(args, ",");
	char word[64], *value;
	int rc;

	if (n >= sizeof l->name || memchr(args, '/', n))
		return drv_port_fail(why, -EINVAL, "the name is at most 63 characters without '/'");
	memcpy(l->name, args, n);
	args += n + (args[n] == ',');
	while ((rc = drv_port_arg_next(&args, word, sizeof word, &value)) > 0)
		if (strcmp(word, "frame") || drv_port_arg_u64(value, 64, 65536, &frame))
			return drv_port_fail(why, -EINVAL,
					     "'%s': only frame=BYTES (64 .. 65536) is known", word);
	if (rc)
		return drv_port_fail(why, rc, "an argument is too long");
	l->port.frame_bytes_max = (uint32_t)frame;
	return 0;
}

int drv_port_loop_open(const char *args, struct drv_port **port, struct drv_port_why *why)
{
	struct loop_port *l = calloc(1, sizeof *l);
	size_t step;
	int rc;

	if (!l)
		return -ENOMEM;
	l->eventfd = -1;
	l->port.ops = &loop_ops;
	l->port.keep_max = LOOP_KEPT;
	rc = loop_parse(args, l, why);
	if (rc)
		goto err_free;
	step = (l->port.frame_bytes_max + 63u) & ~(size_t)63;
	rc = -ENOMEM;
	l->memory = aligned_alloc(64, step * (LOOP_SLOTS + LOOP_TX));
	if (!l->memory)
		goto err_free;
	for (unsigned i = 0; i < LOOP_SLOTS; i++)
		l->slot[i].data = l->memory + step * i;
	for (unsigned i = 0; i < LOOP_TX; i++)
		l->tx_free[l->tx_free_count++] = l->memory + step * (LOOP_SLOTS + i);
	pthread_mutex_lock(&loop_lock);
	l->serial = ++loop_serial;
	l->next = loop_ports;
	loop_ports = l;
	pthread_mutex_unlock(&loop_lock);
	*port = &l->port;
	return 0;

err_free:
	free(l);
	return rc;
}
