/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The origin's side of active messages: cuts a transfer into chunks, packs and sends them, and
 * takes the answers.
 */
#include <stdlib.h>
#include <string.h>

#include "armci/core/assist.h"
#include "armci/core/counter.h"
#include "armci/core/limits.h"
#include "armci/core/pool.h"
#include "armci/core/target.h"
#include "armci/core/world.h"
#include "armci/memory/region.h"
#include "armci/memory/seg.h"
#include "armci/remote/am.h"
#include "armci/remote/mail.h"
#include "armci/transfer/acc.h"
#include "armci/transfer/op.h"
#include "armci/transfer/shape.h"
#include "drivers/base/log.h"

_Static_assert(sizeof(struct armci_request) <= sizeof(((struct armci_op *)0)->header),
	       "header does not fit");

/* Log that a request failed; for a process that died, only once. */
static void log_request_failure(int proc, const char *what, pami_result_t rc)
{
	struct armci_target *t = &armci_world.target[proc];

	if (rc != PAMI_SHUTDOWN || !t->failure_logged)
		drv_error("armci: a request to process %d %s (PAMI result %d)%s", proc, what,
			  (int)rc, rc == PAMI_SHUTDOWN ? ": it died; more are not reported" : "");
	t->failure_logged |= rc == PAMI_SHUTDOWN;
}

static void complete_send(pami_context_t context, void *cookie, pami_result_t result)
{
	struct armci_op *op = cookie;

	if (result != PAMI_SUCCESS) {
		log_request_failure(op->proc, "was not delivered", result);
		op->owed = false;
		armci_op_complete_remote(op, true);
		armci_op_complete_local(op, false);
	}
	armci_op_complete_send(op);
}

/* As sent(), for a payload in the caller's own memory, which the caller may now reuse. */
static void complete_send_in_place(pami_context_t context, void *cookie, pami_result_t result)
{
	struct armci_op *op = cookie;

	armci_op_complete_local(op, result == PAMI_SUCCESS);
	complete_send(context, cookie, result);
}

/*
 * Send r with `bytes` of payload. Returns 1 if the message left at once, 0 if PAMI calls `fn` when
 * it has left (fn ends with armci_op_complete_send()), or FAIL6.
 */
static int request_send(struct armci_op *op, const struct armci_request *r, const void *payload,
			size_t bytes, pami_event_function fn)
{
	pami_context_t context = armci_world.context[ARMCI_ORIGIN];
	pami_send_immediate_t now = {
	    .header = {(void *)(uintptr_t)r, sizeof(*r)},
	    .data = {(void *)(uintptr_t)payload, bytes},
	    .dispatch = ARMCI_DISPATCH_REQUEST,
	    .dest = armci_endpoint(op->proc, ARMCI_SERVE),
	};
	pami_send_t later = {.send = now, .events = {.cookie = op, .local_fn = fn}};
	pami_result_t rc;

	/*
	 * The operations it owed have been ended already, and PAMI may silently drop what it queues
	 * now.
	 */
	if (__builtin_expect(armci_world.target[op->proc].dead, 0)) {
		log_request_failure(op->proc, "cannot be sent", PAMI_SHUTDOWN);
		return FAIL6;
	}
	op->owed = true;
	if (sizeof(*r) + bytes <= armci_world.immediate_max) {
		rc = PAMI_Send_immediate(context, &now);
		if (rc == PAMI_SUCCESS)
			return 1;
	} else {
		memcpy(op->header, r, sizeof(*r));
		later.send.header.iov_base = op->header;
		op->sending = true;
		rc = PAMI_Send(context, &later);
		if (rc == PAMI_SUCCESS)
			return 0;
		op->sending = false;
	}
	op->owed = false;
	log_request_failure(op->proc, "cannot be sent", rc);
	return FAIL6;
}

static int op_fail(struct armci_op *op)
{
	armci_op_complete_remote(op, true);
	armci_op_complete_local(op, false);
	return FAIL6;
}

/* A write whose payload was packed into a buffer is locally complete at once. */
static int write_packed(struct armci_op *op, const struct armci_request *r, size_t bytes)
{
	int rc = request_send(op, r, op->buffer, bytes, complete_send);

	if (rc < 0)
		return op_fail(op);
	armci_op_complete_local(op, true);
	return 0;
}

static int write_in_place(struct armci_op *op, const struct armci_request *r, void *data,
			  size_t bytes)
{
	int rc = request_send(op, r, data, bytes, complete_send_in_place);

	if (rc < 0)
		return op_fail(op);
	if (rc == 1)
		armci_op_complete_local(op, true);
	return 0;
}

static int read_request(struct armci_op *op, const struct armci_request *r, size_t bytes)
{
	return request_send(op, r, op->buffer, bytes, complete_send) < 0 ? op_fail(op) : 0;
}

static void *payload_get(struct armci_op *op, size_t bytes)
{
	op->buffer = armci_pool_get(bytes ? bytes : 1);
	return op->buffer;
}

static struct armci_request make_request(enum armci_kind kind, const struct armci_acc *acc,
					 struct armci_op *op)
{
	static const uint16_t request[] = {[ARMCI_KIND_PUT] = ARMCI_REQUEST_PUT,
					   [ARMCI_KIND_GET] = ARMCI_REQUEST_GET,
					   [ARMCI_KIND_ACC] = ARMCI_REQUEST_ACC};
	struct armci_request r = {.kind = request[kind], .token = armci_op_token(op)};

	if (acc) {
		r.op = acc->op;
		memcpy(r.scale, acc->scale, sizeof(r.scale));
	}
	return r;
}

static enum armci_class write_class(enum armci_kind kind)
{
	return kind == ARMCI_KIND_ACC ? ARMCI_CLASS_ACC : ARMCI_CLASS_PACKED;
}

/* ---- patches ---- */

struct job {
	enum armci_kind kind;
	const struct armci_acc *acc;
	struct armci_seg *seg;
	int proc;
	struct armci_req *req;
	size_t lo, hi; /* of a list: offsets in seg that it spans */
};

static size_t layout_write(const struct armci_shape *s, void *buf)
{
	size_t half = (size_t)s->levels * sizeof(uint64_t);

	memcpy(buf, s->rstride, half);
	memcpy((char *)buf + half, s->count + 1, half);
	return 2 * half;
}

/* Send all of s as one chunk. */
static int patch_send(const struct job *j, const struct armci_shape *s)
{
	size_t layout = 2 * (size_t)s->levels * sizeof(uint64_t),
	       bytes = armci_shape_bytes(s, s->levels);
	struct armci_op *op = armci_op_create(j->proc, j->req);
	struct armci_request r = make_request(j->kind, j->acc, op);
	int64_t lo, hi;

	r.levels = (uint16_t)s->levels;
	r.addr = s->remote;
	r.bytes = s->count[0];
	ARMCI_COUNT(packed);
	armci_window_reserve(op, bytes);
	if (j->kind == ARMCI_KIND_GET) {
		op->shape = *s;
		layout_write(s, payload_get(op, layout));
		return read_request(op, &r, layout);
	}
	armci_shape_extent(s, &lo, &hi);
	armci_op_count_write(op, j->seg, write_class(j->kind),
			     s->remote + (uintptr_t)lo - j->seg->va, (size_t)(hi - lo));
	if (!s->levels)
		return write_in_place(op, &r, s->local, bytes);
	armci_shape_pack(s, (char *)payload_get(op, layout + bytes) + layout_write(s, op->buffer));
	return write_packed(op, &r, layout + bytes);
}

static int slab_send(void *arg, const struct armci_shape *s)
{
	return patch_send(arg, s);
}

int armci_am_shape(enum armci_kind kind, const struct armci_acc *acc, const struct armci_shape *s,
		   struct armci_seg *seg, int proc, struct armci_req *req)
{
	struct job j = {.kind = kind, .acc = acc, .seg = seg, .proc = proc, .req = req};

	return armci_shape_cut(s, ARMCI_CHUNK_BYTES, slab_send, &j);
}

/* ---- lists ---- */

static int list_send(const struct job *j, const struct armci_list *l)
{
	size_t layout = l->count * sizeof(uint64_t), bytes = l->count * l->bytes, i;
	uint64_t shift = j->seg->va - j->seg->name;
	struct armci_op *op = armci_op_create(j->proc, j->req);
	struct armci_request r = make_request(j->kind, j->acc, op);
	bool get = j->kind == ARMCI_KIND_GET;
	uint64_t *addr;
	char *data;

	r.levels = ARMCI_LIST;
	r.bytes = l->bytes;
	r.count = l->count;
	ARMCI_COUNT(packed);
	armci_window_reserve(op, layout + bytes);
	addr = payload_get(op, layout + (get ? 0 : bytes));
	data = (char *)(addr + l->count);
	for (i = 0; i < l->count; i++)
		addr[i] = (uintptr_t)l->remote[i] + shift;
	if (!get) {
		for (i = 0; i < l->count; i++)
			armci_copy(data + i * l->bytes, l->local[i], l->bytes);
		armci_op_count_write(op, j->seg, write_class(j->kind), j->lo, j->hi - j->lo);
		return write_packed(op, &r, layout + bytes);
	}
	op->list = (struct armci_list){.count = l->count, .bytes = l->bytes};
	op->list.local = malloc(l->count * sizeof(void *));
	if (!op->list.local)
		armci_die("no memory for a list of %zu addresses", l->count);
	memcpy(op->list.local, l->local, l->count * sizeof(void *));
	return read_request(op, &r, layout);
}

int armci_am_list(enum armci_kind kind, const struct armci_acc *acc, const struct armci_list *list,
		  struct armci_seg *seg, size_t lo, size_t hi, int proc, struct armci_req *req)
{
	struct job j = {kind, acc, seg, proc, req, lo, hi};
	size_t per = ARMCI_CHUNK_BYTES / (list->bytes + sizeof(uint64_t)), i;
	int rc = 0;

	per = per ? per : 1;
	for (i = 0; i < list->count && !rc; i += per) {
		struct armci_list part = {list->local + i, list->remote + i, list->count - i,
					  list->bytes};

		part.count = part.count < per ? part.count : per;
		/* A long accumulate is cut as a contiguous patch. */
		if (list->bytes > ARMCI_CHUNK_BYTES) {
			struct armci_shape s = {.local = part.local[0],
						.count = {part.bytes},
						.remote = seg->va +
							  ((uintptr_t)part.remote[0] - seg->name)};

			rc = armci_am_shape(kind, acc, &s, seg, proc, req);
		} else {
			rc = list_send(&j, &part);
		}
	}
	return rc;
}

/* ---- single words ---- */

int armci_am_request_value(const struct armci_request *model, int proc, void *value_to,
			   size_t value_bytes, struct armci_req *req)
{
	struct armci_op *op = armci_op_create(proc, req);
	struct armci_request r = *model;

	r.token = armci_op_token(op);
	op->value_to = value_to;
	op->value_bytes = value_bytes;
	return request_send(op, &r, NULL, 0, complete_send) < 0 ? op_fail(op) : 0;
}

int armci_am_request_region(uint64_t va, int proc, struct armci_region_answer *answer)
{
	struct armci_req wait = {0};
	struct armci_op *op = armci_op_create(proc, &wait);
	struct armci_request r = {
	    .kind = ARMCI_REQUEST_REGION, .addr = va, .token = armci_op_token(op)};

	op->shape = (struct armci_shape){.local = (char *)answer, .count = {sizeof(*answer)}};
	if (request_send(op, &r, NULL, 0, complete_send) < 0)
		return op_fail(op);
	return armci_req_wait(&wait);
}

int armci_am_send_acked(const struct armci_request *model, int proc)
{
	/* No call waits for this request, and no wait reports its failure. */
	static struct armci_req orders;
	struct armci_op *op = armci_op_create(proc, &orders);
	struct armci_request r = *model;

	r.token = armci_op_token(op);
	armci_op_expect_ack(op);
	return write_packed(op, &r, 0);
}

/* The owner's MU has released a word, or found more in it than `held`: the owner's program must. */
static void complete_release(pami_context_t context, void *cookie, pami_result_t result)
{
	struct armci_op *op = cookie;
	struct armci_request r;

	memcpy(&r, op->header, sizeof(r));
	if (result == PAMI_SUCCESS && op->value != r.value &&
	    request_send(op, &r, NULL, 0, complete_send) >= 0)
		return; /* The answer completes it. */
	armci_op_complete_remote(op, true);
}

int armci_am_release_word(const struct armci_request *model, int proc, uint64_t word, uint64_t held)
{
	static struct armci_req orders; /* as in armci_am_send_acked() */
	uint64_t none = 0;
	struct armci_op *op = armci_op_create(proc, &orders);
	struct armci_request r = *model;
	pami_rmw_t p = {
	    .dest = armci_endpoint(proc, ARMCI_SERVE),
	    .cookie = op,
	    .done_fn = complete_release,
	    .local = &op->value,
	    .remote = (void *)(uintptr_t)word,
	    .value = &none,
	    .test = &held,
	    .operation = PAMI_ATOMIC_FETCH_COMPARE_SET,
	    .type = PAMI_TYPE_UNSIGNED_LONG_LONG,
	};

	r.token = armci_op_token(op);
	r.value = held;
	memcpy(op->header, &r, sizeof(r));
	armci_op_expect_ack(op);
	if (PAMI_Rmw(armci_world.context[ARMCI_ORIGIN], &p) != PAMI_SUCCESS)
		return op_fail(op);
	armci_op_complete_local(op, true);
	return 0;
}

int armci_am_send(const struct armci_request *r, int proc)
{
	pami_send_immediate_t s = {.header = {(void *)(uintptr_t)r, sizeof(*r)},
				   .dispatch = ARMCI_DISPATCH_REQUEST,
				   .dest = armci_endpoint(proc, ARMCI_SERVE)};
	pami_result_t rc = PAMI_Send_immediate(armci_world.context[ARMCI_ORIGIN], &s);

	return rc == PAMI_SUCCESS ? 0 : FAIL6;
}

/* ---- answers, on ORIGIN ---- */

static void data_store(struct armci_op *op, const char *data)
{
	size_t i;

	if (!op->list.count) {
		armci_shape_unpack(&op->shape, data);
		return;
	}
	for (i = 0; i < op->list.count; i++)
		armci_copy(op->list.local[i], data + i * op->list.bytes, op->list.bytes);
}

struct landing {
	struct armci_op *op;
	char data[];
};

static void store_landing(pami_context_t context, void *cookie, pami_result_t result)
{
	struct landing *l = cookie;

	if (result == PAMI_SUCCESS)
		data_store(l->op, l->data);
	armci_op_complete_local(l->op, result == PAMI_SUCCESS);
	armci_pool_put(l);
}

static void complete_in_place(pami_context_t context, void *cookie, pami_result_t result)
{
	armci_op_complete_local(cookie, result == PAMI_SUCCESS);
}

static void data_receive(struct armci_op *op, size_t bytes, pami_recv_t *recv)
{
	struct landing *l;

	if (!op->list.count && !op->shape.levels) {
		recv->addr = op->shape.local;
		recv->cookie = op;
		recv->local_fn = complete_in_place;
		return;
	}
	l = armci_pool_get(sizeof(*l) + bytes);
	l->op = op;
	recv->addr = l->data;
	recv->cookie = l;
	recv->local_fn = store_landing;
}

void armci_am_reply(pami_context_t context, void *cookie, const void *header, size_t header_bytes,
		    const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	const struct armci_reply *r = header;
	bool answer = r->kind <= ARMCI_REPLY_DATA;
	struct armci_op *op = answer ? armci_op_find(r->token) : NULL;

	if (recv)
		recv->addr = NULL; /* Only DATA has a payload. */
	if (answer && !op)
		return; /* The operation has ended already, because its target died. */
	if (op)
		op->owed = false;
	switch (r->kind) {
	case ARMCI_REPLY_ACK:
		armci_op_complete_remote(op, !r->failed);
		break;
	case ARMCI_REPLY_VALUE:
		if (op->value_to)
			memcpy(op->value_to, &r->value, op->value_bytes);
		armci_op_complete_local(op, !r->failed);
		break;
	case ARMCI_REPLY_DATA:
		if (recv) {
			data_receive(op, bytes, recv);
			return;
		}
		data_store(op, data);
		armci_op_complete_local(op, true);
		break;
	case ARMCI_REPLY_COPIED:
		armci_assist_answer(r->token, r->value);
		break;
	case ARMCI_REPLY_TAKEN:
		armci_mail_credit((int)r->token, r->value);
		break;
	default:
		drv_error("armci: unknown answer %u", r->kind);
	}
}
