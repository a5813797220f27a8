/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queues. Progress calls append completions. A read of an empty queue makes progress on
 * the endpoints that are bound to it.
 */
#ifndef OFI_EVENT_CQ_H
#define OFI_EVENT_CQ_H

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

#include "ofi/core/domain.h"
#include "ofi/core/world.h"

struct ofi_ep;

/* A completion in the largest format, with its source. One cache line. */
struct ofi_completion {
	struct fi_cq_tagged_entry entry;
	uint32_t source; /* endpoint; OFI_NO_ENDPOINT: an operation of ours */
	uint32_t unused;
	const struct ofi_av *av;
};

struct ofi_cq_error {
	struct ofi_cq_error *next;
	struct fi_cq_err_entry entry;
};

struct ofi_cq {
	struct fid_cq fid;
	struct ofi_domain *domain;
	enum fi_cq_format format;
	enum fi_wait_obj wait_obj;
	int event_fd; /* FI_WAIT_FD: readable when something may be here; else -1 */
	struct ofi_lock lock;
	/* Under the lock; head and tail are also read without it. */
	struct ofi_completion *ring;
	size_t mask;
	atomic_u64 head, tail; /* read and appended so far */
	atomic_u32 drained;    /* The last read emptied the queue: the next need not poll. */
	struct ofi_cq_error *error, **error_end;
	atomic_u32 errors, signalled;
	/* Endpoints to make progress on; changes while the program uses none of them. */
	struct ofi_ep *ep[OFI_CONTEXTS];
	size_t eps;
	atomic_u32 users;
};

int ofi_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
		void *context);
/* Bind an endpoint to the queue, or take it away. Returns -FI_EMFILE if there are too many. */
int ofi_cq_attach(struct ofi_cq *cq, struct ofi_ep *ep);
void ofi_cq_detach(struct ofi_cq *cq, struct ofi_ep *ep);
/* Append the completion of an operation of ours that reports no data. Any thread. */
void ofi_cq_put_own(struct ofi_cq *cq, void *context, uint64_t flags);
/* Append an error; error.err is positive. If there is no memory, the error is logged and lost. */
void ofi_cq_put_error(struct ofi_cq *cq, const struct fi_cq_err_entry *error);
/* Returns -FI_EAGAIN if the queue has entries to read first, or 0 if the program may wait for the
 * descriptor. */
int ofi_cq_trywait(struct ofi_cq *cq);
/* Make progress if the queue is empty. Returns true if it then has entries or errors to read. The
 * descriptor stays as it is, for another thread may wait for it. Any thread. */
bool ofi_cq_has_news(struct ofi_cq *cq);

/* Parts of the two functions below. Double the room of a full queue, under its lock; returns false
 * if there is no memory. Make the descriptor readable. */
bool ofi_cq_grow(struct ofi_cq *cq);
void ofi_cq_ring_event(struct ofi_cq *cq);

/*
 * Begin a completion: take the queue's lock and return the slot to fill. The caller sets every
 * member but `unused` and calls ofi_cq_publish() next. Returns NULL, without the lock, if there is
 * no memory; the log then says that a completion is lost. Any thread.
 *
 * The slot is filled in place, because a copy of a structure that was just built loads it in pieces
 * wider than the stores, and each such load waits until the stores have left the store buffer.
 */
static inline struct ofi_completion *ofi_cq_claim(struct ofi_cq *cq)
{
	uint64_t tail;

	ofi_lock(&cq->lock);
	tail = atomic_load_relaxed(&cq->tail);
	if (tail - atomic_load_relaxed(&cq->head) <= cq->mask || ofi_cq_grow(cq))
		return &cq->ring[tail & cq->mask];
	ofi_unlock(&cq->lock);
	return NULL;
}

/* Append the completion that ofi_cq_claim() returned. */
static inline void ofi_cq_publish(struct ofi_cq *cq)
{
	atomic_store_release(&cq->tail, atomic_load_relaxed(&cq->tail) + 1);
	ofi_unlock(&cq->lock);
	if (cq->event_fd >= 0)
		ofi_cq_ring_event(cq);
}

#endif
