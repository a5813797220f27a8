/* SPDX-License-Identifier: BSD-3-Clause */
/* Hot: cq_readfrom() and ofi_cq_claim() run for each operation; measured by
 * bench/figures/mpi_speed. */
#include "ofi/event/cq.h"

#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "ofi/core/av.h"
#include "ofi/core/fabric.h"
#include "ofi/core/provider.h"
#include "ofi/endpoint/endpoint.h"

#define RING_DEFAULT 1024u

static const size_t format_bytes[] = {
    [FI_CQ_FORMAT_UNSPEC] = 0,
    [FI_CQ_FORMAT_CONTEXT] = sizeof(struct fi_cq_entry),
    [FI_CQ_FORMAT_MSG] = sizeof(struct fi_cq_msg_entry),
    [FI_CQ_FORMAT_DATA] = sizeof(struct fi_cq_data_entry),
    [FI_CQ_FORMAT_TAGGED] = sizeof(struct fi_cq_tagged_entry),
};

void ofi_cq_ring_event(struct ofi_cq *cq)
{
	if (cq->event_fd >= 0)
		eventfd_write(cq->event_fd, 1);
}

/* Entries keep their number. */
bool ofi_cq_grow(struct ofi_cq *cq)
{
	size_t room = 2 * (cq->mask + 1);
	uint64_t tail = atomic_load_relaxed(&cq->tail);
	struct ofi_completion *ring = malloc(room * sizeof *ring);

	if (!ring) {
		OFI_WARN(FI_LOG_CQ, "out of memory: a completion is lost");
		return false;
	}
	for (uint64_t i = atomic_load_relaxed(&cq->head); i < tail; i++)
		ring[i & (room - 1)] = cq->ring[i & cq->mask];
	free(cq->ring);
	cq->ring = ring;
	cq->mask = room - 1;
	return true;
}

void ofi_cq_put_own(struct ofi_cq *cq, void *context, uint64_t flags)
{
	struct ofi_completion *c = ofi_cq_claim(cq);

	if (!c)
		return;
	c->entry = (struct fi_cq_tagged_entry){.op_context = context, .flags = flags};
	c->source = OFI_NO_ENDPOINT;
	c->av = NULL;
	ofi_cq_publish(cq);
}

void ofi_cq_put_error(struct ofi_cq *cq, const struct fi_cq_err_entry *error)
{
	struct ofi_cq_error *e = malloc(sizeof *e);

	if (!e) {
		OFI_WARN(FI_LOG_CQ, "out of memory: an error completion is lost");
		return;
	}
	e->next = NULL;
	e->entry = *error;
	ofi_lock(&cq->lock);
	*cq->error_end = e;
	cq->error_end = &e->next;
	atomic_fetch_add_release(&cq->errors, 1);
	ofi_unlock(&cq->lock);
	ofi_cq_ring_event(cq);
}

static bool is_empty(struct ofi_cq *cq)
{
	return atomic_load_acquire(&cq->tail) == atomic_load_relaxed(&cq->head) &&
	       !atomic_load_acquire(&cq->errors);
}

static void poll_endpoints(struct ofi_cq *cq)
{
	for (size_t i = 0; i < cq->eps; i++)
		ofi_ep_progress(cq->ep[i]);
}

/*
 * Entries of all formats are words, of which a shorter format has the first. Read word by word
 * (volatile), as the slot was written: a wider load would wait until the words have left the store
 * buffer.
 */
typedef uint64_t __attribute__((may_alias)) entry_word;
#define ENTRY_WORDS (sizeof(struct fi_cq_tagged_entry) / sizeof(entry_word))

static inline void copy_entry(entry_word *to, const volatile entry_word *from, size_t words)
{
	for (size_t i = 0; i < words; i++)
		to[i] = from[i];
}

static ssize_t take_entries(struct ofi_cq *cq, entry_word *out, size_t count, fi_addr_t *source)
{
	size_t words = format_bytes[cq->format] / sizeof(entry_word), n = 0;
	uint64_t head;

	ofi_lock(&cq->lock);
	head = atomic_load_relaxed(&cq->head);
	for (; n < count && head != atomic_load_relaxed(&cq->tail); n++, head++) {
		const struct ofi_completion *c = &cq->ring[head & cq->mask];

		/* The compiler unrolls a copy of known length, that of MPI's format. */
		if (words == ENTRY_WORDS)
			copy_entry(out + n * ENTRY_WORDS, (const entry_word *)&c->entry,
				   ENTRY_WORDS);
		else
			copy_entry(out + n * words, (const entry_word *)&c->entry, words);
		if (source)
			source[n] = c->source == OFI_NO_ENDPOINT ? FI_ADDR_NOTAVAIL
								 : ofi_av_address(c->av, c->source);
	}
	if (head == atomic_load_relaxed(&cq->tail)) {
		/* Begin at slot 0 again, so that few slots are used and stay in the cache. */
		head = 0;
		atomic_store_release(&cq->tail, 0);
	}
	atomic_store_relaxed(&cq->head, head);
	atomic_store_relaxed(&cq->drained, n && n < count);
	ofi_unlock(&cq->lock);
	return n ? (ssize_t)n : -FI_EAGAIN;
}

static ssize_t cq_readfrom(struct fid_cq *fid, void *buffer, size_t count, fi_addr_t *source)
{
	struct ofi_cq *cq = (struct ofi_cq *)fid;

	if (is_empty(cq)) {
		/* Callers read until nothing is there. That this costs no poll is a third of the
		 * time of a short message. */
		if (atomic_load_relaxed(&cq->drained)) {
			atomic_store_relaxed(&cq->drained, 0);
			return -FI_EAGAIN;
		}
		poll_endpoints(cq);
		if (is_empty(cq))
			return -FI_EAGAIN;
	}
	if (atomic_load_acquire(&cq->errors))
		return -FI_EAVAIL;
	if (__builtin_expect(!count || !buffer, 0))
		return count ? -FI_EINVAL : 0;
	return take_entries(cq, buffer, count, source);
}

static ssize_t read_entries(struct fid_cq *cq, void *buffer, size_t count)
{
	return cq_readfrom(cq, buffer, count, NULL);
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *out, uint64_t flags)
{
	struct ofi_cq *cq = (struct ofi_cq *)fid;
	struct ofi_cq_error *e;

	if (!out)
		return -FI_EINVAL;
	ofi_lock(&cq->lock);
	e = cq->error;
	if (e) {
		cq->error = e->next;
		if (!e->next)
			cq->error_end = &cq->error;
		atomic_fetch_sub_release(&cq->errors, 1);
	}
	ofi_unlock(&cq->lock);
	if (!e)
		return -FI_EAGAIN;
	*out = e->entry;
	free(e);
	return 1;
}

static double now_ms(void)
{
	return PAMI_Wtime(ofi_world.client) * 1e3;
}

static ssize_t cq_sreadfrom(struct fid_cq *fid, void *buffer, size_t count, fi_addr_t *source,
			    const void *condition, int timeout)
{
	struct ofi_cq *cq = (struct ofi_cq *)fid;
	double end = timeout < 0 ? 0 : now_ms() + timeout;

	for (;;) {
		ssize_t n = cq_readfrom(fid, buffer, count, source);

		if (n != -FI_EAGAIN)
			return n;
		if (atomic_exchange_acquire(&cq->signalled, 0))
			return -FI_ECANCELED;
		if (timeout >= 0 && now_ms() >= end)
			return -FI_EAGAIN;
		/* With one endpoint the wait may sleep; several are polled in turn. */
		if (cq->eps == 1)
			ofi_ep_wait(cq->ep[0]);
	}
}

static ssize_t cq_sread(struct fid_cq *cq, void *buffer, size_t count, const void *condition,
			int timeout)
{
	return cq_sreadfrom(cq, buffer, count, NULL, condition, timeout);
}

static int cq_signal(struct fid_cq *fid)
{
	struct ofi_cq *cq = (struct ofi_cq *)fid;

	atomic_store_release(&cq->signalled, 1);
	ofi_cq_ring_event(cq);
	return 0;
}

static const char *strerror_of(struct fid_cq *cq, int error, const void *data, char *text,
			       size_t bytes)
{
	const char *why = fi_strerror(error);

	if (text && bytes)
		snprintf(text, bytes, "%s", why);
	return why;
}

bool ofi_cq_has_news(struct ofi_cq *cq)
{
	if (is_empty(cq))
		poll_endpoints(cq);
	return !is_empty(cq);
}

int ofi_cq_trywait(struct ofi_cq *cq)
{
	eventfd_t count;

	if (cq->event_fd >= 0)
		eventfd_read(cq->event_fd, &count);
	return ofi_cq_has_news(cq) ? -FI_EAGAIN : 0;
}

static int cq_control(struct fid *fid, int command, void *arg)
{
	struct ofi_cq *cq = (struct ofi_cq *)fid;

	if (!arg)
		return -FI_EINVAL;
	if (command == FI_GETWAITOBJ) {
		*(enum fi_wait_obj *)arg = cq->wait_obj;
		return 0;
	}
	if (command != FI_GETWAIT || cq->event_fd < 0)
		return -FI_ENODATA;
	*(int *)arg = cq->event_fd;
	return 0;
}

static int cq_close(struct fid *fid)
{
	struct ofi_cq *cq = (struct ofi_cq *)fid;
	struct fi_cq_err_entry e;

	if (atomic_load_acquire(&cq->users))
		return -FI_EBUSY;
	while (cq_readerr(&cq->fid, &e, 0) == 1)
		;
	if (cq->event_fd >= 0)
		close(cq->event_fd);
	atomic_fetch_sub_release(&cq->domain->users, 1);
	free(cq->ring);
	free(cq);
	return 0;
}

static struct fi_ops fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = cq_close,
    .bind = ofi_no_bind,
    .control = cq_control,
    .ops_open = ofi_no_ops_open,
};

static struct fi_ops_cq cq_ops = {
    .size = sizeof(struct fi_ops_cq),
    .read = read_entries,
    .readfrom = cq_readfrom,
    .readerr = cq_readerr,
    .sread = cq_sread,
    .sreadfrom = cq_sreadfrom,
    .signal = cq_signal,
    .strerror = strerror_of,
};

static size_t ring_size(size_t wish)
{
	size_t room = RING_DEFAULT;

	while (wish < (size_t)1 << 20 && room < wish)
		room *= 2;
	return room;
}

int ofi_cq_attach(struct ofi_cq *cq, struct ofi_ep *ep)
{
	int rc = 0;

	for (size_t i = 0; i < cq->eps; i++)
		if (cq->ep[i] == ep)
			return 0;
	if (cq->eps == OFI_CONTEXTS)
		return -FI_EMFILE;
	if (cq->event_fd >= 0)
		rc = ofi_ep_go_automatic(ep);
	if (!rc)
		cq->ep[cq->eps++] = ep;
	return rc;
}

void ofi_cq_detach(struct ofi_cq *cq, struct ofi_ep *ep)
{
	for (size_t i = 0; i < cq->eps; i++)
		if (cq->ep[i] == ep)
			cq->ep[i] = cq->ep[--cq->eps];
}

int ofi_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **out,
		void *context)
{
	struct ofi_cq *cq;

	if (!attr)
		return -FI_EINVAL;
	if (attr->wait_obj != FI_WAIT_NONE && attr->wait_obj != FI_WAIT_UNSPEC &&
	    attr->wait_obj != FI_WAIT_FD && attr->wait_obj != FI_WAIT_YIELD) {
		OFI_INFO(FI_LOG_CQ, "wait objects are: none, unspecified, a descriptor, yield");
		return -FI_ENOSYS;
	}
	if (attr->format > FI_CQ_FORMAT_TAGGED)
		return -FI_EINVAL;
	cq = calloc(1, sizeof *cq);
	if (!cq)
		return -FI_ENOMEM;
	cq->domain = (struct ofi_domain *)domain;
	cq->event_fd = -1;
	cq->error_end = &cq->error;
	cq->format = attr->format ? attr->format : FI_CQ_FORMAT_CONTEXT;
	cq->wait_obj = attr->wait_obj;
	cq->lock.used = cq->domain->locks || attr->wait_obj == FI_WAIT_FD;
	cq->mask = ring_size(attr->size) - 1;
	cq->ring = malloc((cq->mask + 1) * sizeof *cq->ring);
	if (cq->ring && attr->wait_obj == FI_WAIT_FD)
		cq->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (!cq->ring || (attr->wait_obj == FI_WAIT_FD && cq->event_fd < 0)) {
		free(cq->ring);
		free(cq);
		return -FI_ENOMEM;
	}
	cq->fid.fid.fclass = FI_CLASS_CQ;
	cq->fid.fid.context = context;
	cq->fid.fid.ops = &fid_ops;
	cq->fid.ops = &cq_ops;
	atomic_fetch_add_relaxed(&cq->domain->users, 1);
	*out = &cq->fid;
	return 0;
}
