/* SPDX-License-Identifier: BSD-3-Clause */
#include "ofi/message/request.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "ofi/endpoint/endpoint.h"
#include "ofi/message/wire.h"

static bool add_chunk(struct ofi_requests *pool)
{
	struct ofi_request **more = realloc(pool->chunk, (pool->chunks + 1) * sizeof(void *));
	struct ofi_request *r;

	if (!more)
		return false;
	pool->chunk = more;
	r = calloc(OFI_REQUEST_CHUNK, sizeof *r);
	if (!r)
		return false;
	for (uint32_t i = 0; i < OFI_REQUEST_CHUNK; i++) {
		r[i].index = (uint32_t)pool->chunks * OFI_REQUEST_CHUNK + i;
		r[i].next_free = pool->free;
		pool->free = &r[i];
	}
	pool->chunk[pool->chunks++] = r;
	return true;
}

struct ofi_request *ofi_request_get(struct ofi_ep *ep)
{
	struct ofi_requests *pool = &ep->requests;
	struct ofi_request *r;
	uint32_t index, generation;

	if (!pool->free && !add_chunk(pool))
		return NULL;
	r = pool->free;
	pool->free = r->next_free;
	pool->used++;
	index = r->index;
	generation = r->generation + 1;
	memset(r, 0, sizeof *r);
	r->ep = ep;
	r->index = index;
	r->generation = generation;
	r->used = true;
	return r;
}

void ofi_request_put(struct ofi_request *r)
{
	struct ofi_requests *pool = &r->ep->requests;

	free(r->bounce);
	r->bounce = NULL;
	r->ep->flow.copied -= r->copied;
	r->used = false;
	r->next_free = pool->free;
	pool->free = r;
	pool->used--;
}

uint64_t ofi_request_name(const struct ofi_request *r)
{
	return (uint64_t)r->generation << 32 | (r->index + 1);
}

struct ofi_request *ofi_request_named(struct ofi_ep *ep, uint64_t name)
{
	uint32_t index = (uint32_t)name - 1;
	struct ofi_request *r;

	if (index / OFI_REQUEST_CHUNK >= ep->requests.chunks)
		return NULL;
	r = &ep->requests.chunk[index / OFI_REQUEST_CHUNK][index % OFI_REQUEST_CHUNK];
	return r->used && r->generation == name >> 32 ? r : NULL;
}

void ofi_request_end(struct ofi_request *r, int status)
{
	struct ofi_ep *ep = r->ep;

	if (!status && r->bounce && r->results)
		ofi_scatter(r->result, r->results, r->bounce, r->bytes);
	if (!status && r->remote_data) {
		struct ofi_data d = {.data = r->data, .bytes = r->bytes};

		status = ofi_post(ep, r->peer, OFI_DISPATCH_DATA, &d, sizeof d);
	}
	ofi_ep_sent(ep, r->cntr, r->context, r->flags, r->wants, status);
	ofi_request_put(r);
}

void ofi_requests_end_dead(struct ofi_ep *ep)
{
	for (size_t i = 0; i < ep->requests.chunks * OFI_REQUEST_CHUNK; i++) {
		struct ofi_request *r =
		    &ep->requests.chunk[i / OFI_REQUEST_CHUNK][i % OFI_REQUEST_CHUNK];

		if (r->used && r->answered_by_peer && ofi_ep_is_dead(r->peer))
			ofi_request_end(r, -FI_EHOSTUNREACH);
	}
}

void ofi_requests_fini(struct ofi_requests *pool)
{
	for (size_t i = 0; i < pool->chunks; i++) {
		for (size_t k = 0; k < OFI_REQUEST_CHUNK; k++)
			free(pool->chunk[i][k].bounce);
		free(pool->chunk[i]);
	}
	free(pool->chunk);
}

bool ofi_is_list(const struct iovec *iov, size_t count)
{
	return count <= OFI_IOV_LIMIT && (iov || !count);
}

size_t ofi_iov_bytes(const struct iovec *iov, size_t count)
{
	size_t sum = 0;

	for (size_t i = 0; i < count; i++)
		if (__builtin_add_overflow(sum, iov[i].iov_len, &sum))
			return SIZE_MAX;
	return sum;
}

size_t ofi_gather(void *to, const struct iovec *from, size_t count, size_t bytes)
{
	size_t done = 0;

	for (size_t i = 0; i < count && done < bytes; i++) {
		size_t n = from[i].iov_len < bytes - done ? from[i].iov_len : bytes - done;

		if (n)
			memcpy((char *)to + done, from[i].iov_base, n);
		done += n;
	}
	return done;
}

size_t ofi_scatter(const struct iovec *to, size_t count, const void *from, size_t bytes)
{
	size_t done = 0;

	for (size_t i = 0; i < count && done < bytes; i++) {
		size_t n = to[i].iov_len < bytes - done ? to[i].iov_len : bytes - done;

		if (n)
			memcpy(to[i].iov_base, (const char *)from + done, n);
		done += n;
	}
	return done;
}
