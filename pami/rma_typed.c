/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Put and get between layouts, by messages of the library's own: the remote layout travels in the
 * header as a flat image, the payload as a plain stream. Where both layouts are contiguous it is
 * an ordinary put or get.
 *
 *   put   PAMI_DISPATCH_PUT (struct typed_header, image; payload)    stored through the image's type
 *   get   PAMI_DISPATCH_GET (the same, no payload)  -->  PAMI_DISPATCH_GOT (token, result; payload)
 */
#include <stdlib.h>
#include <string.h>

#include "pami/memregion.h"
#include "pami/state.h"
#include "pami/type.h"

struct typed_header {
	uint64_t address;
	uint64_t bytes;
	uint32_t token; /* of the get */
	uint32_t pad;
	unsigned char image[];
};

struct got_header {
	uint32_t token;
	uint32_t error; /* positive errno */
};

/* What one side keeps of a message under way. */
struct typed_op {
	pami_event_function local_fn, remote_fn;
	void *cookie;
	struct typed_header *header;
	unsigned char data[];
};

static void op_free(struct typed_op *op)
{
	pami_unkeep(op->header);
	pami_unkeep(op);
}

static struct typed_op *op_new(struct pami_context *ctx, pami_type_t type, uint64_t address, size_t bytes, size_t data_bytes,
                               size_t *header_bytes)
{
	struct typed_op *op = data_bytes < SIZE_MAX - sizeof *op ? pami_keep(ctx, sizeof *op + data_bytes) : NULL;
	void *image;
	size_t size;

	if (!op || pami_type_image(type, &image, &size)) {
		pami_unkeep(op);
		return NULL;
	}
	*header_bytes = sizeof *op->header + size;
	op->header = pami_keep(ctx, *header_bytes);
	if (!op->header) {
		pami_unkeep(op);
		return NULL;
	}
	*op->header = (struct typed_header){ .address = address, .bytes = bytes };
	memcpy(op->header->image, image, size);
	return op;
}

static void put_local(pami_context_t context, void *cookie, pami_result_t result)
{
	struct typed_op *op = cookie;
	pami_event_function fn = op->local_fn;
	void *user = op->cookie;

	if (!op->remote_fn)
		op_free(op);
	if (fn)
		fn(context, user, result);
}

static void put_remote(pami_context_t context, void *cookie, pami_result_t result)
{
	struct typed_op *op = cookie;
	pami_event_function fn = op->remote_fn;
	void *user = op->cookie;

	op_free(op);
	fn(context, user, result);
}

static pami_result_t put(struct pami_context *ctx, const pami_rma_t *rma, const pami_rma_typed_t *type,
                         const void *local, uint64_t remote, pami_event_function rdone_fn)
{
	struct typed_op *op;
	size_t header_bytes;
	pami_send_t s;
	int rc;

	if (!pami_endpoint_ok(ctx, rma->dest) || !pami_type_takes(type->local, rma->bytes) ||
	    !pami_type_takes(type->remote, rma->bytes))
		return pami_fail(PAMI_INVAL, "no such endpoint, not complete types, or one without data");
	if (!rma->bytes || (pami_type_contiguous(type->local) && pami_type_contiguous(type->remote)))
		return pami_put(ctx, rma, local, remote, rdone_fn);
	op = op_new(ctx, type->remote, remote, rma->bytes, rma->bytes, &header_bytes);
	if (!op)
		return pami_result(-ENOMEM);
	mu_charge(MU_COST_copy_byte, rma->bytes);
	pami_type_gather(type->local, local, 0, op->data, rma->bytes, pami_data_copy, NULL);
	op->local_fn = rma->done_fn;
	op->remote_fn = rdone_fn;
	op->cookie = rma->cookie;
	s = (pami_send_t){ .send = { .header = { op->header, header_bytes }, .data = { op->data, rma->bytes },
		                     .dispatch = PAMI_DISPATCH_PUT, .dest = rma->dest },
		           .events = { op, put_local, rdone_fn ? put_remote : NULL } };
	rc = pami_send_message(ctx, &s);
	if (rc)
		op_free(op);
	return pami_result(rc);
}

/* The image's type released again, when the payload is stored. */
static void put_stored(pami_context_t context, void *cookie, pami_result_t result)
{
	pami_type_release(cookie);
}

static void on_put(pami_context_t context, void *cookie, const void *header_addr, size_t header_size,
                   const void *pipe_addr, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv)
{
	const struct typed_header *h = header_addr;
	void *to = header_size >= sizeof *h ? (void *)(uintptr_t)h->address : NULL;
	pami_type_t type = NULL;

	struct pami_context *ctx = pami_context_of(context);
	int rc = to ? pami_type_from_image(&type, h->image, header_size - sizeof *h) : -EINVAL;

	if (rc)
		pami_receive_refuse(ctx, pami_endpoint_task(origin), "not a typed put");
	else
		rc = pami_type_reachable(type, to, data_size, 1);
	/* Who asked for no remote completion hears nothing of it. */
	if (rc && type)
		pami_receive_refuse(ctx, pami_endpoint_task(origin), "a typed put to memory that is not there");
	if (rc) {
		if (type)
			pami_type_release(type);
		ctx->refusal = rc;
		return;
	}
	if (recv) {
		recv->addr = to;
		recv->type = type;
		recv->cookie = type;
		recv->local_fn = put_stored;
	} else {
		pami_type_scatter(type, to, 0, pipe_addr, data_size, pami_data_copy, NULL);
		pami_type_release(type);
	}
}

/* ---- Get: the request's `user` is where and through what to store. ---- */

struct typed_target {
	void *address;
	pami_type_t type;
};

/* A get has come to its end: the data is there, or will not come. */
static void get_ended(struct pami_request *r, int result, const void *payload, uint32_t bytes)
{
	struct typed_target *t = r->buffer;

	pami_type_release(t->type);
	pami_request_half(r, PAMI_REQUEST_LOCAL, result);
}

static pami_result_t get(struct pami_context *ctx, const pami_rma_t *rma, const pami_rma_typed_t *type,
                         void *local, uint64_t remote)
{
	struct typed_target *target;
	struct pami_request *r;
	struct typed_op *op;
	size_t header_bytes;
	pami_send_t s;
	int rc;

	if (!pami_endpoint_ok(ctx, rma->dest) || !pami_type_takes(type->local, rma->bytes) ||
	    !pami_type_takes(type->remote, rma->bytes))
		return pami_fail(PAMI_INVAL, "no such endpoint, not complete types, or one without data");
	if (!rma->bytes || (pami_type_contiguous(type->local) && pami_type_contiguous(type->remote)))
		return pami_get(ctx, rma, local, remote);
	op = op_new(ctx, type->remote, remote, rma->bytes, 0, &header_bytes);
	target = malloc(sizeof *target);
	r = op && target ? pami_request_new(ctx) : NULL;
	if (!r) {
		if (op)
			op_free(op);
		free(target);
		return pami_result(-ENOMEM);
	}
	*target = (struct typed_target){ local, type->local };
	pami_type_retain(type->local);
	r->buffer = target; /* freed with the request */
	r->local_fn = rma->done_fn;
	r->cookie = rma->cookie;
	r->awaited |= PAMI_REQUEST_LOCAL;
	if (ctx->slow & PAMI_SLOW_FENCE)
		r->fence = pami_fence_note(ctx, rma->dest);
	op->header->token = r->token;
	r->answer = get_ended;
	r->task = pami_endpoint_task(rma->dest);
	op->local_fn = op->remote_fn = NULL;
	s = (pami_send_t){ .send = { .header = { op->header, header_bytes }, .dispatch = PAMI_DISPATCH_GET,
		                     .dest = rma->dest },
		           .events = { op, put_local, NULL } };
	rc = pami_send_message(ctx, &s);
	if (rc) {
		op_free(op);
		pami_type_release(type->local);
		pami_request_free(r);
	}
	return pami_result(rc);
}

/* At the target: gather and send back. A request that cannot be served is answered all the same. */
static void on_get(pami_context_t context, void *cookie, const void *header_addr, size_t header_size,
                   const void *pipe_addr, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv)
{
	const struct typed_header *h = header_addr;
	struct got_header answer;
	struct typed_op *op = NULL;
	pami_type_t type = NULL;
	pami_send_t s;
	int rc = header_size >= sizeof *h ? pami_type_from_image(&type, h->image, header_size - sizeof *h) : -EINVAL;

	if (rc) {
		pami_receive_refuse(context, pami_endpoint_task(origin), "not a typed get, or no memory for its layout");
		if (header_size >= sizeof *h)
			pami_send_done(context, origin, h->token, rc, NULL, 0);
		return;
	}
	answer = (struct got_header){ .token = h->token };
	if (pami_type_reachable(type, (void *)(uintptr_t)h->address, h->bytes, 0))
		answer.error = EFAULT;
	else if (h->bytes < SIZE_MAX - sizeof *op)
		op = pami_keep(context, sizeof *op + h->bytes);
	if (op)
		op->header = pami_keep(context, sizeof answer);
	if (op && op->header) {
		mu_charge(MU_COST_copy_byte, h->bytes);
		pami_type_gather(type, (void *)(uintptr_t)h->address, 0, op->data, h->bytes, pami_data_copy, NULL);
		memcpy(op->header, &answer, sizeof answer);
		s = (pami_send_t){ .send = { .header = { op->header, sizeof answer },
			                     .data = { op->data, h->bytes } },
			           .events = { op, put_local, NULL } };
	} else {
		answer.error = answer.error ? answer.error : ENOMEM;
		pami_unkeep(op);
		op = NULL;
		s = (pami_send_t){ .send = { .header = { &answer, sizeof answer } } };
	}
	s.send.dispatch = PAMI_DISPATCH_GOT;
	s.send.dest = origin;
	rc = pami_send_message(context, &s);
	if (rc) {
		if (op)
			op_free(op);
		pami_send_done(context, origin, answer.token, rc, NULL, 0);
	}
	pami_type_release(type);
}

static void got_stored(pami_context_t context, void *cookie, pami_result_t result)
{
	get_ended(cookie, result == PAMI_SUCCESS ? 0 : result == PAMI_SHUTDOWN ? -ESHUTDOWN : -EIO, NULL, 0);
}

static void on_got(pami_context_t context, void *cookie, const void *header_addr, size_t header_size,
                   const void *pipe_addr, size_t data_size, pami_endpoint_t origin, pami_recv_t *recv)
{
	struct pami_context *ctx = pami_context_of(context);
	const struct got_header *h = header_addr;
	struct pami_request *r = header_size == sizeof *h ? pami_request_find(ctx, h->token) : NULL;
	struct typed_target *t = r ? r->buffer : NULL;

	if (!t) {
		pami_receive_refuse(ctx, pami_endpoint_task(origin), "it answers a get that does not exist");
		if (recv)
			recv->data_fn = pami_data_noop;
	} else if (recv) {
		r->answer = NULL; /* it comes with the data */
		recv->addr = t->address;
		recv->type = t->type;
		recv->cookie = r;
		recv->local_fn = got_stored;
	} else {
		if (!h->error)
			pami_type_scatter(t->type, t->address, 0, pipe_addr, data_size, pami_data_copy, NULL);
		get_ended(r, -(int)h->error, NULL, 0);
	}
}

void pami_rma_typed_install(struct pami_context *ctx)
{
	pami_dispatch_install(ctx, PAMI_DISPATCH_PUT, on_put, NULL);
	pami_dispatch_install(ctx, PAMI_DISPATCH_GET, on_get, NULL);
	pami_dispatch_install(ctx, PAMI_DISPATCH_GOT, on_got, NULL);
}

PAMI_EXPORT pami_result_t PAMI_Put_typed(pami_context_t context, pami_put_typed_t *p)
{
	return put(pami_context_of(context), &p->rma, &p->type, p->addr.local,
	           (uint64_t)(uintptr_t)p->addr.remote, p->put.rdone_fn);
}

PAMI_EXPORT pami_result_t PAMI_Get_typed(pami_context_t context, pami_get_typed_t *p)
{
	return get(pami_context_of(context), &p->rma, &p->type, p->addr.local,
	           (uint64_t)(uintptr_t)p->addr.remote);
}

PAMI_EXPORT pami_result_t PAMI_Rput_typed(pami_context_t context, pami_rput_typed_t *p)
{
	struct pami_context *ctx = pami_context_of(context);
	uint64_t local, remote;
	int rc = pami_region_pair(ctx, &p->rma, &p->rdma, PAMI_REGION_WRITE, &local, &remote);

	if (rc)
		return pami_region_refused(ctx, &p->rma, p->put.rdone_fn, rc);
	return put(ctx, &p->rma, &p->type, (void *)(uintptr_t)local, remote, p->put.rdone_fn);
}

PAMI_EXPORT pami_result_t PAMI_Rget_typed(pami_context_t context, pami_rget_typed_t *p)
{
	struct pami_context *ctx = pami_context_of(context);
	uint64_t local, remote;
	int rc = pami_region_pair(ctx, &p->rma, &p->rdma, PAMI_REGION_READ, &local, &remote);

	if (rc)
		return pami_region_refused(ctx, &p->rma, NULL, rc);
	return get(ctx, &p->rma, &p->type, (void *)(uintptr_t)local, remote);
}
