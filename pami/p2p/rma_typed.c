/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Put and get between layouts, by messages with ids of the library. The remote layout travels in
 * the header as a flat image, the payload as a plain stream. If both layouts are contiguous, these
 * are ordinary puts and gets.
 *
 *   put   PAMI_DISPATCH_PUT (struct typed_header, image; payload)   the target stores the payload
 *                                                                   through the type of the image
 *   get   PAMI_DISPATCH_GET (struct typed_header, image)            the target gathers the data and
 *         answers with PAMI_DISPATCH_GOT (struct got_header; payload)
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "pami/core/context.h"
#include "pami/core/dispatch.h"
#include "pami/core/endpoint.h"
#include "pami/core/error.h"
#include "pami/core/macros.h"
#include "pami/core/scratch.h"
#include "pami/p2p/answer.h"
#include "pami/p2p/fence.h"
#include "pami/p2p/memregion.h"
#include "pami/p2p/receive.h"
#include "pami/p2p/request.h"
#include "pami/p2p/rma.h"
#include "pami/p2p/send.h"
#include "pami/type/type.h"

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

/* A message in flight, and the user's functions for it. */
struct typed_op {
	pami_event_function local_fn, remote_fn;
	void *cookie;
	struct typed_header *header;
	unsigned char data[];
};

static void typed_op_free(struct typed_op *op)
{
	pami_scratch_free(op->header);
	pami_scratch_free(op);
}

/* Check the arguments of a put or get: the endpoint, and that both types can hold rma->bytes. */
static bool is_valid(const struct pami_context *ctx, const pami_rma_t *rma,
		     const pami_rma_typed_t *type)
{
	return pami_endpoint_is_valid(ctx, rma->dest) &&
	       pami_type_can_hold(type->local, rma->bytes) &&
	       pami_type_can_hold(type->remote, rma->bytes);
}

static pami_result_t fail_not_valid(const char *call, const struct pami_context *ctx,
				    const pami_rma_t *rma)
{
	return pami_fail_in(call, PAMI_INVAL,
			    pami_endpoint_is_valid(ctx, rma->dest)
				? "not complete types, or a type without data"
				: pami_endpoint_problem(ctx, rma->dest));
}

uint32_t pami_rma_typed_token(const void *header, size_t bytes)
{
	struct typed_header h;

	if (bytes < sizeof h)
		return 0;
	memcpy(&h, header, sizeof h);
	return h.token;
}

/* Can an ordinary put or get do it? */
static bool is_untyped(const pami_rma_t *rma, const pami_rma_typed_t *type)
{
	return !rma->bytes ||
	       (pami_type_is_contiguous(type->local) && pami_type_is_contiguous(type->remote));
}

/* Make a message with room for data_bytes and with the header of `type` at `address`. Returns NULL
 * if there is no memory.
 */
static struct typed_op *typed_op_new(struct pami_context *ctx, pami_type_t type, uint64_t address,
				     size_t bytes, size_t data_bytes, size_t *header_bytes)
{
	struct typed_op *op = data_bytes < SIZE_MAX - sizeof *op
				  ? pami_scratch_alloc(ctx, sizeof *op + data_bytes)
				  : NULL;
	void *image;
	size_t size;

	if (!op || pami_type_image(type, &image, &size)) {
		pami_scratch_free(op);
		return NULL;
	}
	*header_bytes = sizeof *op->header + size;
	op->header = pami_scratch_alloc(ctx, *header_bytes);
	if (!op->header) {
		pami_scratch_free(op);
		return NULL;
	}
	*op->header = (struct typed_header){.address = address, .bytes = bytes};
	memcpy(op->header->image, image, size);
	return op;
}

static void put_local(pami_context_t context, void *cookie, pami_result_t result)
{
	struct typed_op *op = cookie;
	pami_event_function fn = op->local_fn;
	void *user = op->cookie;

	if (!op->remote_fn)
		typed_op_free(op);
	if (fn)
		fn(context, user, result);
}

static void put_remote(pami_context_t context, void *cookie, pami_result_t result)
{
	struct typed_op *op = cookie;
	pami_event_function fn = op->remote_fn;
	void *user = op->cookie;

	typed_op_free(op);
	fn(context, user, result);
}

static pami_result_t put_typed(const char *call, struct pami_context *ctx, const pami_rma_t *rma,
			       const pami_rma_typed_t *type, const void *local, uint64_t remote,
			       pami_event_function rdone_fn)
{
	struct typed_op *op;
	size_t header_bytes;
	pami_send_t s;
	int rc;

	if (!is_valid(ctx, rma, type))
		return fail_not_valid(call, ctx, rma);
	if (is_untyped(rma, type))
		return pami_put(call, ctx, rma, local, remote, rdone_fn);
	if (pami_type_check_memory(type->local, local, rma->bytes, 0))
		return pami_event_defer(ctx, rma->done_fn, rdone_fn, rma->cookie, -EFAULT);
	op = typed_op_new(ctx, type->remote, remote, rma->bytes, rma->bytes, &header_bytes);
	if (!op)
		return pami_result_in(call, -ENOMEM);
	mu_charge(MU_COST_copy_byte, rma->bytes);
	pami_type_gather(type->local, local, 0, op->data, rma->bytes, pami_data_copy, NULL);
	op->local_fn = rma->done_fn;
	op->remote_fn = rdone_fn;
	op->cookie = rma->cookie;
	s = (pami_send_t){.send = {.header = {op->header, header_bytes},
				   .data = {op->data, rma->bytes},
				   .dispatch = PAMI_DISPATCH_PUT,
				   .dest = rma->dest},
			  .events = {op, put_local, rdone_fn ? put_remote : NULL}};
	rc = pami_send_message(ctx, &s);
	if (rc)
		typed_op_free(op);
	return pami_result_in(call, rc);
}

/* The payload is stored: release the type of the image. */
static void put_stored(pami_context_t context, void *cookie, pami_result_t result)
{
	pami_type_release(cookie);
}

static void on_put(pami_context_t context, void *cookie, const void *header_addr,
		   size_t header_size, const void *pipe_addr, size_t data_size,
		   pami_endpoint_t origin, pami_recv_t *recv)
{
	const struct typed_header *h = header_addr;
	void *to = header_size >= sizeof *h ? (void *)(uintptr_t)h->address : NULL;
	pami_type_t type = NULL;

	struct pami_context *ctx = pami_context_of(context);
	int rc = to ? pami_type_from_image(&type, h->image, header_size - sizeof *h) : -EINVAL;

	if (rc)
		pami_receive_refuse(ctx, pami_endpoint_task(origin), "it is not a typed put");
	else
		rc = pami_type_check_memory(type, to, data_size, 1);
	/* The origin learns of the error only if it asked for remote completion, so log it here. */
	if (rc && type)
		pami_receive_refuse(ctx, pami_endpoint_task(origin),
				    "its typed put is for memory that is not mapped");
	if (rc) {
		if (type)
			pami_type_release(type);
		ctx->inbound.error = rc;
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

/* ---- Get: the request's `buffer` says where and through which type to store. ---- */

struct typed_target {
	void *address;
	pami_type_t type;
	size_t bytes;
};

/* A get ends: the data is stored, or will not come. */
static void get_ended(struct pami_request *r, int result, const void *payload, uint32_t bytes)
{
	struct typed_target *t = r->buffer;

	pami_type_release(t->type);
	pami_request_complete_half(r, PAMI_REQUEST_LOCAL, result);
}

static pami_result_t get_typed(const char *call, struct pami_context *ctx, const pami_rma_t *rma,
			       const pami_rma_typed_t *type, void *local, uint64_t remote)
{
	struct typed_target *target;
	struct pami_request *r;
	struct typed_op *op;
	size_t header_bytes;
	pami_send_t s;
	int rc;

	if (!is_valid(ctx, rma, type))
		return fail_not_valid(call, ctx, rma);
	if (is_untyped(rma, type))
		return pami_get(call, ctx, rma, local, remote);
	if (pami_type_check_memory(type->local, local, rma->bytes, 1))
		return pami_event_defer(ctx, rma->done_fn, NULL, rma->cookie, -EFAULT);
	op = typed_op_new(ctx, type->remote, remote, rma->bytes, 0, &header_bytes);
	target = malloc(sizeof *target);
	r = op && target ? pami_request_new(ctx) : NULL;
	if (!r) {
		if (op)
			typed_op_free(op);
		free(target);
		return pami_result_in(call, -ENOMEM);
	}
	*target = (struct typed_target){local, type->local, rma->bytes};
	pami_type_retain(type->local);
	r->buffer = target; /* freed with the request */
	pami_rma_fill_request(ctx, r, rma);
	op->header->token = r->token;
	r->answer = get_ended;
	r->task = pami_endpoint_task(rma->dest);
	op->local_fn = op->remote_fn = NULL;
	s = (pami_send_t){.send = {.header = {op->header, header_bytes},
				   .dispatch = PAMI_DISPATCH_GET,
				   .dest = rma->dest},
			  .events = {op, put_local, NULL}};
	rc = pami_send_message(ctx, &s);
	if (rc) {
		typed_op_free(op);
		pami_type_release(type->local);
		pami_request_free(r);
	}
	return pami_result_in(call, rc);
}

/* At the target: gather the data and send it. A get that fails is answered, too. */
static void on_get(pami_context_t context, void *cookie, const void *header_addr,
		   size_t header_size, const void *pipe_addr, size_t data_size,
		   pami_endpoint_t origin, pami_recv_t *recv)
{
	const struct typed_header *h = header_addr;
	struct got_header answer;
	struct typed_op *op = NULL;
	pami_type_t type = NULL;
	pami_send_t s;
	int rc = header_size >= sizeof *h
		     ? pami_type_from_image(&type, h->image, header_size - sizeof *h)
		     : -EINVAL;

	if (rc) {
		pami_receive_refuse(context, pami_endpoint_task(origin),
				    "it is not a typed get, or there is no memory for its layout");
		if (header_size >= sizeof *h)
			pami_answer_send(context, origin, h->token, rc, NULL, 0);
		return;
	}
	answer = (struct got_header){.token = h->token};
	if (pami_type_check_memory(type, (void *)(uintptr_t)h->address, h->bytes, 0))
		answer.error = EFAULT;
	else if (h->bytes < SIZE_MAX - sizeof *op)
		op = pami_scratch_alloc(context, sizeof *op + h->bytes);
	if (op)
		op->header = pami_scratch_alloc(context, sizeof answer);
	if (op && op->header) {
		mu_charge(MU_COST_copy_byte, h->bytes);
		pami_type_gather(type, (void *)(uintptr_t)h->address, 0, op->data, h->bytes,
				 pami_data_copy, NULL);
		memcpy(op->header, &answer, sizeof answer);
		s = (pami_send_t){
		    .send = {.header = {op->header, sizeof answer}, .data = {op->data, h->bytes}},
		    .events = {op, put_local, NULL}};
	} else {
		answer.error = answer.error ? answer.error : ENOMEM;
		pami_scratch_free(op);
		op = NULL;
		s = (pami_send_t){.send = {.header = {&answer, sizeof answer}}};
	}
	s.send.dispatch = PAMI_DISPATCH_GOT;
	s.send.dest = origin;
	rc = pami_send_message(context, &s);
	if (rc) {
		if (op)
			typed_op_free(op);
		pami_answer_send(context, origin, answer.token, rc, NULL, 0);
	}
	pami_type_release(type);
}

static void got_stored(pami_context_t context, void *cookie, pami_result_t result)
{
	get_ended(cookie,
		  result == PAMI_SUCCESS    ? 0
		  : result == PAMI_SHUTDOWN ? -ESHUTDOWN
					    : -EIO,
		  NULL, 0);
}

/* Return the get that this answers, or NULL: the answer may have any token and any length. */
static struct pami_request *find_get(struct pami_context *ctx, const struct got_header *h,
				     size_t header_size, size_t data_size, pami_endpoint_t origin)
{
	struct pami_request *r = header_size == sizeof *h ? pami_request_find(ctx, h->token) : NULL;
	const struct typed_target *t;

	if (!r || r->answer != get_ended || r->task != pami_endpoint_task(origin))
		return NULL;
	t = r->buffer;
	return data_size == (h->error ? 0 : t->bytes) ? r : NULL;
}

static void on_got(pami_context_t context, void *cookie, const void *header_addr,
		   size_t header_size, const void *pipe_addr, size_t data_size,
		   pami_endpoint_t origin, pami_recv_t *recv)
{
	struct pami_context *ctx = pami_context_of(context);
	const struct got_header *h = header_addr;
	struct pami_request *r = find_get(ctx, h, header_size, data_size, origin);
	struct typed_target *t = r ? r->buffer : NULL;

	if (!t) {
		pami_receive_refuse(ctx, pami_endpoint_task(origin),
				    "it answers a get that does not exist");
		if (recv)
			recv->data_fn = pami_data_noop;
	} else if (recv) {
		r->answer = NULL; /* got_stored() ends the get */
		recv->addr = t->address;
		recv->type = t->type;
		recv->cookie = r;
		recv->local_fn = got_stored;
	} else {
		if (!h->error)
			pami_type_scatter(t->type, t->address, 0, pipe_addr, data_size,
					  pami_data_copy, NULL);
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
	mu_idle_reset();
	if (PAMI_UNLIKELY(!pami_context_is_valid(context) || !p))
		return pami_fail_invalid(context);
	return put_typed(__func__, pami_context_of(context), &p->rma, &p->type, p->addr.local,
			 (uint64_t)(uintptr_t)p->addr.remote, p->put.rdone_fn);
}

PAMI_EXPORT pami_result_t PAMI_Get_typed(pami_context_t context, pami_get_typed_t *p)
{
	mu_idle_reset();
	if (PAMI_UNLIKELY(!pami_context_is_valid(context) || !p))
		return pami_fail_invalid(context);
	return get_typed(__func__, pami_context_of(context), &p->rma, &p->type, p->addr.local,
			 (uint64_t)(uintptr_t)p->addr.remote);
}

/* Resolve the regions, and check that the payload stays inside. 0 or a negative errno. */
static int resolve_typed(struct pami_context *ctx, const pami_rma_t *rma, const pami_rdma_t *rdma,
			 const pami_rma_typed_t *type, uint32_t right, struct pami_region_ends *e)
{
	int rc = pami_region_resolve(ctx, rma, rdma, right, e);

	/* put_typed() and get_typed() refuse invalid types. */
	if (rc || !pami_type_can_hold(type->local, rma->bytes) ||
	    !pami_type_can_hold(type->remote, rma->bytes))
		return rc;
	/* A layout may have negative displacements, down to the start of the region. */
	return pami_type_is_within(type->local, rma->bytes, rdma->local.offset, e->local_room) &&
		       pami_type_is_within(type->remote, rma->bytes, rdma->remote.offset,
					   e->remote_room)
		   ? 0
		   : -ERANGE;
}

PAMI_EXPORT pami_result_t PAMI_Rput_typed(pami_context_t context, pami_rput_typed_t *p)
{
	struct pami_context *ctx = pami_context_of(context);
	struct pami_region_ends e;
	int rc;

	mu_idle_reset();
	if (PAMI_UNLIKELY(!pami_context_is_valid(context) || !p))
		return pami_fail_invalid(context);
	rc = resolve_typed(ctx, &p->rma, &p->rdma, &p->type, PAMI_REGION_WRITE, &e);
	if (rc)
		return pami_region_fail(__func__, ctx, &p->rma, p->put.rdone_fn, rc);
	return put_typed(__func__, ctx, &p->rma, &p->type, (void *)(uintptr_t)e.local, e.remote,
			 p->put.rdone_fn);
}

PAMI_EXPORT pami_result_t PAMI_Rget_typed(pami_context_t context, pami_rget_typed_t *p)
{
	struct pami_context *ctx = pami_context_of(context);
	struct pami_region_ends e;
	int rc;

	mu_idle_reset();
	if (PAMI_UNLIKELY(!pami_context_is_valid(context) || !p))
		return pami_fail_invalid(context);
	rc = resolve_typed(ctx, &p->rma, &p->rdma, &p->type, PAMI_REGION_READ, &e);
	if (rc)
		return pami_region_fail(__func__, ctx, &p->rma, NULL, rc);
	return get_typed(__func__, ctx, &p->rma, &p->type, (void *)(uintptr_t)e.local, e.remote);
}
