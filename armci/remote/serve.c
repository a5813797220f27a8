/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The owner's side of active messages, on context SERVE. The thread that advances that context
 * executes the requests, so an owner that computes delays no other process. The handlers use the
 * memory of this process, the accumulate locks and the mutexes only.
 */
#include <stdlib.h>
#include <string.h>

#include "armci/core/assist.h"
#include "armci/core/counter.h"
#include "armci/core/limits.h"
#include "armci/core/pool.h"
#include "armci/core/world.h"
#include "armci/memory/region.h"
#include "armci/remote/am.h"
#include "armci/remote/mutex.h"
#include "armci/remote/notify.h"
#include "armci/remote/serve.h"
#include "armci/transfer/acc.h"
#include "armci/transfer/shape.h"
#include "drivers/base/log.h"

/* A request whose payload is still arriving. */
struct arriving {
	struct armci_request r;
	pami_endpoint_t origin;
	char payload[] __attribute__((aligned(16)));
};

static void log_answer_failure(pami_endpoint_t origin, pami_result_t rc)
{
	drv_error("armci: cannot answer endpoint %u (PAMI result %d)", (unsigned)origin, (int)rc);
}

void armci_serve_answer(pami_context_t context, pami_endpoint_t origin, uint32_t kind,
			uint64_t token, uint64_t value)
{
	struct armci_reply a = {.kind = kind, .token = token, .value = value};
	pami_send_immediate_t s = {
	    .header = {&a, sizeof(a)}, .dispatch = ARMCI_DISPATCH_REPLY, .dest = origin};
	pami_result_t rc = PAMI_Send_immediate(context, &s);

	if (rc != PAMI_SUCCESS)
		log_answer_failure(origin, rc);
}

/*
 * Make a shape of the layout in the payload, with this process's memory as its local side. Returns
 * the bytes of the layout.
 */
static size_t layout_read(const struct armci_request *r, const char *payload, struct armci_shape *s)
{
	size_t half = (size_t)r->levels * sizeof(uint64_t);

	s->local = (char *)(uintptr_t)r->addr;
	s->remote = 0;
	s->levels = r->levels;
	s->count[0] = r->bytes;
	memcpy(s->lstride, payload, half);
	memcpy(s->rstride, payload, half);
	memcpy(s->count + 1, payload + half, half);
	return 2 * half;
}

static uint64_t list_addr(const char *payload, size_t i)
{
	uint64_t a;

	memcpy(&a, payload + i * sizeof(a), sizeof(a));
	return a;
}

/* ---- put and accumulate ---- */

struct writing {
	struct armci_acc acc;
	const char *data;
};

static void piece_add(void *arg, char *local, uintptr_t remote, size_t bytes)
{
	struct writing *a = arg;

	armci_acc_locked(&a->acc, armci_world.stripe_page, local, (uintptr_t)local, a->data, bytes);
	a->data += bytes;
}

static void piece_store(void *arg, char *local, uintptr_t remote, size_t bytes)
{
	struct writing *a = arg;

	armci_copy(local, a->data, bytes);
	a->data += bytes;
}

static void serve_write(const struct armci_request *r, const char *payload)
{
	armci_piece_fn fn = r->kind == ARMCI_REQUEST_ACC ? piece_add : piece_store;
	struct writing a = {.acc.op = r->op};
	struct armci_shape s;
	size_t i;

	memcpy(a.acc.scale, r->scale, sizeof(a.acc.scale));
	if (r->levels == ARMCI_LIST) {
		a.data = payload + r->count * sizeof(uint64_t);
		for (i = 0; i < r->count; i++)
			fn(&a, (char *)(uintptr_t)list_addr(payload, i), 0, r->bytes);
		return;
	}
	a.data = payload + layout_read(r, payload, &s);
	armci_shape_walk(&s, fn, &a);
}

/* ---- get ---- */

struct answer {
	struct armci_reply header;
	char data[] __attribute__((aligned(16)));
};

static void answer_sent(pami_context_t context, void *cookie, pami_result_t result)
{
	armci_pool_put(cookie);
}

/*
 * Between hosts, an answer that the origin fetches costs another round trip. Within a host,
 * fetching makes the only copy.
 */
static size_t data_dispatch(pami_endpoint_t origin, size_t bytes)
{
	pami_task_t task;
	size_t offset;

	PAMI_Endpoint_query(origin, &task, &offset);
	return bytes <= ARMCI_FOLLOW_BYTES && !armci_world.shared[task] ? ARMCI_DISPATCH_DATA
									: ARMCI_DISPATCH_REPLY;
}

static void serve_get(pami_context_t context, const struct armci_request *r, const char *payload,
		      pami_endpoint_t origin)
{
	bool list = r->levels == ARMCI_LIST;
	struct armci_shape s;
	struct answer *a;
	size_t bytes, i;
	pami_send_t m;
	pami_result_t rc;

	if (!list)
		layout_read(r, payload, &s);
	bytes = list ? r->count * r->bytes : armci_shape_bytes(&s, s.levels);
	a = armci_pool_get(sizeof(*a) + bytes);
	a->header = (struct armci_reply){.kind = ARMCI_REPLY_DATA, .token = r->token};
	if (list)
		for (i = 0; i < r->count; i++)
			armci_copy(a->data + i * r->bytes, (void *)(uintptr_t)list_addr(payload, i),
				   r->bytes);
	else
		armci_shape_pack(&s, a->data);
	memset(&m, 0, sizeof(m));
	m.send = (pami_send_immediate_t){.header = {&a->header, sizeof(a->header)},
					 .data = {a->data, bytes},
					 .dispatch = data_dispatch(origin, bytes),
					 .dest = origin};
	if (sizeof(a->header) + bytes <= armci_world.immediate_max) {
		rc = PAMI_Send_immediate(context, &m.send);
		armci_pool_put(a);
	} else {
		m.events = (pami_send_event_t){.cookie = a, .local_fn = answer_sent};
		rc = PAMI_Send(context, &m);
	}
	if (rc != PAMI_SUCCESS)
		log_answer_failure(origin, rc);
}

static void serve_region(pami_context_t context, const struct armci_request *r,
			 pami_endpoint_t origin)
{
	struct armci_reply header = {.kind = ARMCI_REPLY_DATA, .token = r->token};
	struct armci_region_answer answer;
	pami_send_immediate_t s = {.header = {&header, sizeof(header)},
				   .data = {&answer, sizeof(answer)},
				   .dispatch = ARMCI_DISPATCH_REPLY,
				   .dest = origin};
	pami_result_t rc;

	armci_region_serve(r->addr, &answer);
	rc = PAMI_Send_immediate(context, &s);
	if (rc != PAMI_SUCCESS)
		log_answer_failure(origin, rc);
}

/* ---- all requests ---- */

static void serve_one(pami_context_t context, const struct armci_request *r, const char *payload,
		      pami_endpoint_t origin)
{
	ARMCI_COUNT_SERVED(served);
	switch (r->kind) {
	case ARMCI_REQUEST_PUT:
	case ARMCI_REQUEST_ACC:
		serve_write(r, payload);
		armci_serve_answer(context, origin, ARMCI_REPLY_ACK, r->token, 0);
		break;
	case ARMCI_REQUEST_GET:
		serve_get(context, r, payload, origin);
		break;
	case ARMCI_REQUEST_RMW:
		armci_serve_answer(context, origin, ARMCI_REPLY_VALUE, r->token,
				   armci_rmw_apply(r->op, (void *)(uintptr_t)r->addr, r->value));
		break;
	case ARMCI_REQUEST_CAS:
		armci_serve_answer(
		    context, origin, ARMCI_REPLY_VALUE, r->token,
		    armci_cas_apply(r->op, (void *)(uintptr_t)r->addr, r->count, r->value));
		break;
	case ARMCI_REQUEST_LOCK:
	case ARMCI_REQUEST_TRYLOCK:
	case ARMCI_REQUEST_UNLOCK:
		armci_mutex_serve(context, r, origin);
		break;
	case ARMCI_REQUEST_REGION:
		serve_region(context, r, origin);
		break;
	case ARMCI_REQUEST_COPY:
		armci_assist_serve(context, r, origin);
		break;
	case ARMCI_REQUEST_NOTIFY:
		armci_notify_serve(r);
		break;
	case ARMCI_REQUEST_ENDING:
		armci_finalize_serve(r);
		break;
	default:
		drv_error("armci: unknown request %u", r->kind);
	}
}

static void payload_arrived(pami_context_t context, void *cookie, pami_result_t result)
{
	struct arriving *b = cookie;

	if (result == PAMI_SUCCESS)
		serve_one(context, &b->r, b->payload, b->origin);
	armci_pool_put(b);
}

void armci_serve_request(pami_context_t context, void *cookie, const void *header,
			 size_t header_bytes, const void *data, size_t bytes,
			 pami_endpoint_t origin, pami_recv_t *recv)
{
	struct arriving *b;

	if (!recv) {
		serve_one(context, header, data, origin);
		return;
	}
	b = armci_pool_get(sizeof(*b) + bytes);
	memcpy(&b->r, header, sizeof(b->r));
	b->origin = origin;
	recv->addr = b->payload;
	recv->cookie = b;
	recv->local_fn = payload_arrived;
}
