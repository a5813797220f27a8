/* SPDX-License-Identifier: BSD-3-Clause */
#include "ofi/event/eq.h"

#include <poll.h>
#include <pthread.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "ofi/core/fabric.h"

#define EVENT_BYTES 256u

struct event {
	struct event *next;
	uint32_t kind;
	size_t bytes;
	unsigned char data[];
};

struct ofi_eq {
	struct fid_eq fid;
	struct ofi_fabric *fabric;
	atomic_u32 users; /* address vectors that report here */
	pthread_mutex_t mutex;
	struct event *first, **end;
	enum fi_wait_obj wait_obj;
	int event_fd; /* readable while there are events */
};

int ofi_eq_put(struct ofi_eq *eq, uint32_t kind, const void *data, size_t bytes)
{
	struct event *e;

	if (bytes > EVENT_BYTES)
		return -FI_EINVAL;
	e = malloc(sizeof *e + bytes);
	if (!e)
		return -FI_ENOMEM;
	e->next = NULL;
	e->kind = kind;
	e->bytes = bytes;
	memcpy(e->data, data, bytes);
	pthread_mutex_lock(&eq->mutex);
	*eq->end = e;
	eq->end = &e->next;
	eventfd_write(eq->event_fd, 1);
	pthread_mutex_unlock(&eq->mutex);
	return 0;
}

/* Under the mutex. */
static void remove_first(struct ofi_eq *eq)
{
	struct event *e = eq->first;
	eventfd_t count;

	eq->first = e->next;
	if (!e->next) {
		eq->end = &eq->first;
		eventfd_read(eq->event_fd, &count);
	}
	free(e);
}

static ssize_t eq_read(struct fid_eq *fid, uint32_t *kind, void *buffer, size_t bytes,
		       uint64_t flags)
{
	struct ofi_eq *eq = (struct ofi_eq *)fid;
	ssize_t n = -FI_EAGAIN;

	if (!kind || (bytes && !buffer))
		return -FI_EINVAL;
	pthread_mutex_lock(&eq->mutex);
	if (eq->first && eq->first->bytes > bytes) {
		n = -FI_ETOOSMALL;
	} else if (eq->first) {
		n = (ssize_t)eq->first->bytes;
		*kind = eq->first->kind;
		memcpy(buffer, eq->first->data, eq->first->bytes);
		if (!(flags & FI_PEEK))
			remove_first(eq);
	}
	pthread_mutex_unlock(&eq->mutex);
	return n;
}

static ssize_t eq_readerr(struct fid_eq *eq, struct fi_eq_err_entry *e, uint64_t flags)
{
	return -FI_EAGAIN;
}

static ssize_t eq_write(struct fid_eq *fid, uint32_t kind, const void *data, size_t bytes,
			uint64_t flags)
{
	int rc = bytes && !data ? -FI_EINVAL : ofi_eq_put((struct ofi_eq *)fid, kind, data, bytes);

	return rc ? rc : (ssize_t)bytes;
}

static ssize_t eq_sread(struct fid_eq *fid, uint32_t *kind, void *buffer, size_t bytes, int timeout,
			uint64_t flags)
{
	struct pollfd p = {.fd = ((struct ofi_eq *)fid)->event_fd, .events = POLLIN};

	for (;;) {
		ssize_t n = eq_read(fid, kind, buffer, bytes, flags);
		int ready;

		if (n != -FI_EAGAIN)
			return n;
		ready = poll(&p, 1, timeout);
		if (ready < 0)
			return -errno;
		if (!ready)
			return -FI_EAGAIN;
	}
}

static const char *eq_strerror(struct fid_eq *eq, int error, const void *data, char *text,
			       size_t bytes)
{
	return fi_strerror(error);
}

static int eq_control(struct fid *fid, int command, void *arg)
{
	struct ofi_eq *eq = (struct ofi_eq *)fid;

	if (!arg)
		return -FI_EINVAL;
	if (command != FI_GETWAIT || eq->wait_obj != FI_WAIT_FD)
		return -FI_ENODATA;
	*(int *)arg = eq->event_fd;
	return 0;
}

static int eq_close(struct fid *fid)
{
	struct ofi_eq *eq = (struct ofi_eq *)fid;

	if (atomic_load_acquire(&eq->users))
		return -FI_EBUSY;
	while (eq->first)
		remove_first(eq);
	atomic_fetch_sub_release(&eq->fabric->users, 1);
	close(eq->event_fd);
	pthread_mutex_destroy(&eq->mutex);
	free(eq);
	return 0;
}

void ofi_eq_use(struct ofi_eq *eq)
{
	atomic_fetch_add_relaxed(&eq->users, 1);
}

void ofi_eq_release(struct ofi_eq *eq)
{
	atomic_fetch_sub_release(&eq->users, 1);
}

int ofi_eq_trywait(struct ofi_eq *eq)
{
	int rc;

	pthread_mutex_lock(&eq->mutex);
	rc = eq->first ? -FI_EAGAIN : 0;
	pthread_mutex_unlock(&eq->mutex);
	return rc;
}

static struct fi_ops fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = eq_close,
    .bind = ofi_no_bind,
    .control = eq_control,
    .ops_open = ofi_no_ops_open,
};

static struct fi_ops_eq eq_ops = {
    .size = sizeof(struct fi_ops_eq),
    .read = eq_read,
    .readerr = eq_readerr,
    .write = eq_write,
    .sread = eq_sread,
    .strerror = eq_strerror,
};

int ofi_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **out,
		void *context)
{
	struct ofi_eq *eq;

	if (attr && attr->wait_obj != FI_WAIT_NONE && attr->wait_obj != FI_WAIT_UNSPEC &&
	    attr->wait_obj != FI_WAIT_FD && attr->wait_obj != FI_WAIT_YIELD)
		return -FI_ENOSYS;
	eq = calloc(1, sizeof *eq);
	if (!eq)
		return -FI_ENOMEM;
	eq->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (eq->event_fd < 0) {
		free(eq);
		return -FI_EMFILE;
	}
	pthread_mutex_init(&eq->mutex, NULL);
	eq->end = &eq->first;
	eq->wait_obj = attr ? attr->wait_obj : FI_WAIT_NONE;
	eq->fabric = (struct ofi_fabric *)fabric;
	atomic_fetch_add_relaxed(&eq->fabric->users, 1);
	eq->fid.fid.fclass = FI_CLASS_EQ;
	eq->fid.fid.context = context;
	eq->fid.fid.ops = &fid_ops;
	eq->fid.ops = &eq_ops;
	*out = &eq->fid;
	return 0;
}
