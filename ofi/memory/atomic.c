/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fi_atomic, fi_fetch_atomic, fi_compare_atomic.
 *
 *   remote address is                  operation                          how
 *   the target's (FI_MR_VIRT_ADDR)     one word that PAMI_Rmw() can do    PAMI_Rmw()
 *   the same, or an offset             any other                          a message to the target
 *
 * PAMI_Rmw() needs no software of the target where the target's messaging unit has the operation
 * (torus run --hw mu_atomics) and where the word is in shared memory of this host. Else the target
 * must make progress: it finds the region, computes (memory/atomic_op.c) and answers. Both ways
 * are atomic beside each other.
 */
#include <rdma/fi_errno.h>
#include <string.h>

#include "ofi/memory/atomic_op.h"
#include "ofi/message/wire.h"

/* One operation as the calls describe it. Lists of buffers were copied into one already. */
struct operation {
	const void *operand, *comparand;
	struct iovec result[OFI_IOV_LIMIT];
	size_t results, count;
	fi_addr_t peer;
	uint64_t address, key;
	enum fi_datatype type;
	enum fi_op op;
	bool fetches, compares, silent;
	void *context;
	uint64_t flags;
};

/* ---- the target ---- */

struct answer {
	struct ofi_finish finish;
	char fetched[OFI_ATOMIC_BYTES];
};

static int apply_request(struct ofi_ep *ep, const struct ofi_atomic_request *q, size_t bytes,
			 struct answer *a)
{
	size_t size = ofi_atomic_size(q->type), operands = size * q->count;
	const char *operand = (const char *)(q + 1);
	void *target;

	if (!ofi_atomic_can(q->type, q->op, q->compares, q->fetches || q->compares) ||
	    operands > sizeof a->fetched || bytes < sizeof *q + operands * (q->compares ? 2 : 1))
		return -FI_EINVAL;
	target = ofi_mr_find(ep->domain, q->key, q->address, operands,
			     q->fetches ? FI_REMOTE_READ : FI_REMOTE_WRITE);
	if (!target)
		return -FI_EACCES;
	ofi_atomic_apply(target, operand, q->compares ? operand + operands : NULL, a->fetched,
			 q->count, q->type, q->op);
	a->finish.bytes = q->fetches || q->compares ? (uint32_t)operands : 0;
	return 0;
}

void ofi_on_atomic(pami_context_t context, void *slot, const void *header, size_t header_bytes,
		   const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	struct ofi_ep *ep = ((struct ofi_slot *)slot)->ep;
	const struct ofi_atomic_request *q = header;
	struct answer a;

	if (!ep || header_bytes < sizeof *q)
		return;
	a.finish = (struct ofi_finish){.request = q->request};
	a.finish.status = apply_request(ep, q, header_bytes, &a);
	if (q->request)
		ofi_post(ep, origin, OFI_DISPATCH_ANSWER, &a, sizeof a.finish + a.finish.bytes);
}

/* ---- the origin ---- */

void ofi_on_answer(pami_context_t context, void *slot, const void *header, size_t header_bytes,
		   const void *data, size_t bytes, pami_endpoint_t origin, pami_recv_t *recv)
{
	struct ofi_ep *ep = ((struct ofi_slot *)slot)->ep;
	const struct ofi_finish *f = header;
	struct ofi_request *r;

	if (!ep || header_bytes < sizeof *f || header_bytes < sizeof *f + f->bytes)
		return;
	r = ofi_request_named(ep, f->request);
	if (!r || r->peer != origin)
		return;
	ofi_scatter(r->result, r->results, f + 1, f->bytes);
	ofi_request_end(r, f->status);
}

static struct ofi_request *request_for(struct ofi_ep *ep, pami_endpoint_t peer,
				       const struct operation *o)
{
	bool fetches = o->fetches || o->compares;
	struct ofi_request *r = ofi_request_get(ep);

	if (!r)
		return NULL;
	r->peer = peer;
	r->answered_by_peer = true;
	r->context = o->context;
	r->flags = FI_ATOMIC | (fetches ? FI_READ : FI_WRITE);
	r->wants = !o->silent && ofi_wants(&ep->transmit, o->flags);
	r->cntr = ep->cntr[fetches ? OFI_READS : OFI_WRITES];
	memcpy(r->result, o->result, sizeof r->result);
	r->results = o->results;
	return r;
}

static int send_request(struct ofi_ep *ep, struct ofi_request *r, const struct operation *o)
{
	size_t bytes = ofi_atomic_size(o->type) * o->count;
	struct {
		struct ofi_atomic_request q;
		char operands[OFI_ATOMIC_BYTES];
	} m;

	m.q = (struct ofi_atomic_request){.request = ofi_request_name(r),
					  .key = o->key,
					  .address = o->address,
					  .type = (uint16_t)o->type,
					  .op = (uint16_t)o->op,
					  .count = (uint16_t)o->count,
					  .fetches = o->fetches,
					  .compares = o->compares};
	if (o->operand && o->op != FI_ATOMIC_READ)
		memcpy(m.operands, o->operand, bytes);
	else
		memset(m.operands, 0, bytes);
	if (o->compares)
		memcpy(m.operands + bytes, o->comparand, bytes);
	return ofi_post(ep, r->peer, OFI_DISPATCH_ATOMIC, &m,
			sizeof m.q + bytes * (o->compares ? 2 : 1));
}

/* ---- by PAMI_Rmw() ---- */

/* Returns what PAMI_Rmw() calls the operation, without FETCH; -1: PAMI lacks it for this type. */
static int rmw_of(enum fi_datatype type, enum fi_op op)
{
	bool is_integer =
	    type == FI_INT32 || type == FI_UINT32 || type == FI_INT64 || type == FI_UINT64;

	if (op == FI_ATOMIC_READ)
		return 0;
	if (op == FI_ATOMIC_WRITE)
		return PAMI_ATOMIC_SET;
	if (!is_integer) /* Of numbers with a fraction, 0 equals -0, whose bits differ. */
		return -1;
	switch (op) {
	case FI_SUM:
		return PAMI_ATOMIC_ADD;
	case FI_BOR:
		return PAMI_ATOMIC_OR;
	case FI_BAND:
		return PAMI_ATOMIC_AND;
	case FI_BXOR:
		return PAMI_ATOMIC_XOR;
	case FI_CSWAP:
		return PAMI_ATOMIC_COMPARE_SET;
	default:
		return -1;
	}
}

/* Describes the operation for PAMI_Rmw(). Returns false if that cannot carry it out. */
static bool describe_rmw(const struct ofi_ep *ep, pami_endpoint_t peer, const struct operation *o,
			 pami_rmw_t *rmw)
{
	int operation = rmw_of(o->type, o->op);
	size_t bytes = ofi_atomic_size(o->type);
	bool fetches = o->fetches || o->compares;

	*rmw = (pami_rmw_t){.dest = peer,
			    .remote = (void *)(uintptr_t)o->address,
			    .value = (void *)o->operand,
			    .test = (void *)o->comparand};
	if (!ep->domain->virtual_addr || o->count != 1 || operation < 0 ||
	    (bytes != 4 && bytes != 8) || o->address % bytes)
		return false;
	if (fetches && (o->results != 1 || !o->result[0].iov_base))
		return false;
	rmw->type = bytes == 4 ? PAMI_TYPE_UNSIGNED_INT : PAMI_TYPE_UNSIGNED_LONG_LONG;
	rmw->local = fetches ? o->result[0].iov_base : NULL;
	rmw->operation = (pami_atomic_t)(operation | (fetches ? PAMI_ATOMIC_FETCH : 0));
	return o->op == FI_ATOMIC_READ || o->operand;
}

static void on_rmw_done(pami_context_t context, void *cookie, pami_result_t result)
{
	ofi_request_end(cookie, ofi_error_of(result));
}

/* ---- both ways ---- */

/* Is there memory for all that the operation reads and stores? */
static bool has_memory(const struct operation *o)
{
	for (size_t i = 0; i < o->results; i++)
		if (o->result[i].iov_len && !o->result[i].iov_base)
			return false;
	return (o->operand || o->op == FI_ATOMIC_READ) && (o->comparand || !o->compares);
}

static ssize_t start_atomic(struct fid_ep *fid, const struct operation *o)
{
	struct ofi_ep *ep = ofi_handle_of(fid)->ep;
	pami_endpoint_t peer = ofi_av_endpoint(ep->av, o->peer);
	struct ofi_request *r;
	pami_rmw_t rmw;
	bool by_rmw;
	int rc = -FI_EAGAIN;

	if (peer == OFI_NO_ENDPOINT)
		return ofi_ep_no_peer(ep);
	if (!o->count || !has_memory(o))
		return -FI_EINVAL;
	if (!ofi_atomic_can(o->type, o->op, o->compares, o->fetches || o->compares))
		return -FI_EOPNOTSUPP;
	if (o->count > OFI_ATOMIC_BYTES / ofi_atomic_size(o->type) / (o->compares ? 2 : 1))
		return -FI_EMSGSIZE;
	by_rmw = describe_rmw(ep, peer, o, &rmw);
	ofi_ep_lock(ep);
	r = request_for(ep, peer, o);
	if (r && by_rmw) {
		r->answered_by_peer = false; /* PAMI says so when the peer dies. */
		rmw.cookie = r;
		rmw.done_fn = on_rmw_done;
		rc = ofi_error_of(PAMI_Rmw(ep->context, &rmw));
	} else if (r) {
		rc = send_request(ep, r, o);
	}
	if (r && rc)
		ofi_request_put(r);
	ofi_ep_unlock(ep);
	return rc;
}

/* ---- lists of operands are copied into one buffer ---- */

struct flat {
	char operand[OFI_ATOMIC_BYTES], comparand[OFI_ATOMIC_BYTES];
};

/* Returns the number of elements copied, or SIZE_MAX if there are too many. */
static size_t flatten_vector(char *to, const struct fi_ioc *iov, size_t count, size_t size)
{
	size_t elements = 0;

	for (size_t i = 0; i < count; i++) {
		if (iov[i].count > OFI_ATOMIC_BYTES / size - elements)
			return SIZE_MAX;
		if (iov[i].addr)
			memcpy(to + elements * size, iov[i].addr, iov[i].count * size);
		elements += iov[i].count;
	}
	return elements;
}

static void set_results(struct operation *o, const struct fi_ioc *result, size_t count)
{
	size_t size = ofi_atomic_size(o->type);

	for (size_t i = 0; i < count; i++) {
		o->result[i].iov_base = result[i].addr;
		o->result[i].iov_len = result[i].count * size;
	}
	o->results = count;
}

static ssize_t start_lists(struct fid_ep *fid, const struct operation *o, const struct fi_ioc *iov,
			   size_t count, const struct fi_ioc *compare, size_t compares,
			   const struct fi_ioc *result, size_t results)
{
	size_t size = ofi_atomic_size(o->type);
	struct flat flat;
	struct operation own = *o; /* refers to flat, so it ends with this call */

	if (!size || count > OFI_IOV_LIMIT || compares > OFI_IOV_LIMIT || results > OFI_IOV_LIMIT ||
	    (count && !iov) || (results && !result))
		return -FI_EINVAL;
	own.count = flatten_vector(flat.operand, iov, count, size);
	if (own.count == SIZE_MAX ||
	    (compare && flatten_vector(flat.comparand, compare, compares, size) != own.count))
		return -FI_EINVAL;
	own.operand = flat.operand;
	own.comparand = flat.comparand;
	own.compares = compare;
	own.fetches = result && !compare;
	set_results(&own, result, results);
	return start_atomic(fid, &own);
}

static bool is_message(const struct fi_msg_atomic *m)
{
	return m && m->rma_iov_count == 1 && m->rma_iov;
}

static struct operation of_message(const struct fi_msg_atomic *m, uint64_t flags)
{
	return (struct operation){.peer = m->addr,
				  .address = m->rma_iov[0].addr,
				  .key = m->rma_iov[0].key,
				  .type = m->datatype,
				  .op = m->op,
				  .context = m->context,
				  .flags = flags};
}

/* ---- atomic calls ---- */

static struct operation of_call(struct fid_ep *fid, fi_addr_t peer, uint64_t address, uint64_t key,
				enum fi_datatype type, enum fi_op op, void *context)
{
	return (struct operation){.peer = peer,
				  .address = address,
				  .key = key,
				  .type = type,
				  .op = op,
				  .context = context,
				  .flags = ofi_handle_of(fid)->transmit_flags};
}

static ssize_t write_one(struct fid_ep *fid, const void *buf, size_t count, void *desc,
			 fi_addr_t peer, uint64_t address, uint64_t key, enum fi_datatype type,
			 enum fi_op op, void *context)
{
	struct operation o = of_call(fid, peer, address, key, type, op, context);

	o.operand = buf;
	o.count = count;
	return start_atomic(fid, &o);
}

static ssize_t write_list(struct fid_ep *fid, const struct fi_ioc *iov, void **desc, size_t count,
			  fi_addr_t peer, uint64_t address, uint64_t key, enum fi_datatype type,
			  enum fi_op op, void *context)
{
	struct operation o = of_call(fid, peer, address, key, type, op, context);

	return start_lists(fid, &o, iov, count, NULL, 0, NULL, 0);
}

static ssize_t write_message(struct fid_ep *fid, const struct fi_msg_atomic *m, uint64_t flags)
{
	struct operation o;

	if (!is_message(m))
		return -FI_EINVAL;
	o = of_message(m, flags);
	return start_lists(fid, &o, m->msg_iov, m->iov_count, NULL, 0, NULL, 0);
}

static ssize_t atomic_inject(struct fid_ep *fid, const void *buf, size_t count, fi_addr_t peer,
			     uint64_t address, uint64_t key, enum fi_datatype type, enum fi_op op)
{
	struct operation o = of_call(fid, peer, address, key, type, op, NULL);

	o.operand = buf;
	o.count = count;
	o.silent = true;
	return start_atomic(fid, &o);
}

static ssize_t fetch_one(struct fid_ep *fid, const void *buf, size_t count, void *desc,
			 void *result, void *result_desc, fi_addr_t peer, uint64_t address,
			 uint64_t key, enum fi_datatype type, enum fi_op op, void *context)
{
	struct operation o = of_call(fid, peer, address, key, type, op, context);
	struct fi_ioc r = {result, count};

	o.operand = buf;
	o.count = count;
	o.fetches = true;
	set_results(&o, &r, 1);
	return start_atomic(fid, &o);
}

static ssize_t fetch_list(struct fid_ep *fid, const struct fi_ioc *iov, void **desc, size_t count,
			  struct fi_ioc *result, void **result_desc, size_t results, fi_addr_t peer,
			  uint64_t address, uint64_t key, enum fi_datatype type, enum fi_op op,
			  void *context)
{
	struct operation o = of_call(fid, peer, address, key, type, op, context);

	if (op == FI_ATOMIC_READ)
		return start_lists(fid, &o, result, results, NULL, 0, result, results);
	return start_lists(fid, &o, iov, count, NULL, 0, result, results);
}

static ssize_t fetch_message(struct fid_ep *fid, const struct fi_msg_atomic *m,
			     struct fi_ioc *result, void **result_desc, size_t results,
			     uint64_t flags)
{
	struct operation o;

	if (!is_message(m))
		return -FI_EINVAL;
	o = of_message(m, flags);
	if (m->op == FI_ATOMIC_READ)
		return start_lists(fid, &o, result, results, NULL, 0, result, results);
	return start_lists(fid, &o, m->msg_iov, m->iov_count, NULL, 0, result, results);
}

static ssize_t compare_one(struct fid_ep *fid, const void *buf, size_t count, void *desc,
			   const void *compare, void *compare_desc, void *result, void *result_desc,
			   fi_addr_t peer, uint64_t address, uint64_t key, enum fi_datatype type,
			   enum fi_op op, void *context)
{
	struct operation o = of_call(fid, peer, address, key, type, op, context);
	struct fi_ioc r = {result, count};

	o.operand = buf;
	o.comparand = compare;
	o.count = count;
	o.compares = true;
	set_results(&o, &r, 1);
	return start_atomic(fid, &o);
}

static ssize_t compare_list(struct fid_ep *fid, const struct fi_ioc *iov, void **desc, size_t count,
			    const struct fi_ioc *compare, void **compare_desc, size_t compares,
			    struct fi_ioc *result, void **result_desc, size_t results,
			    fi_addr_t peer, uint64_t address, uint64_t key, enum fi_datatype type,
			    enum fi_op op, void *context)
{
	struct operation o = of_call(fid, peer, address, key, type, op, context);

	return start_lists(fid, &o, iov, count, compare, compares, result, results);
}

static ssize_t compare_message(struct fid_ep *fid, const struct fi_msg_atomic *m,
			       const struct fi_ioc *compare, void **compare_desc, size_t compares,
			       struct fi_ioc *result, void **result_desc, size_t results,
			       uint64_t flags)
{
	struct operation o;

	if (!is_message(m))
		return -FI_EINVAL;
	o = of_message(m, flags);
	return start_lists(fid, &o, m->msg_iov, m->iov_count, compare, compares, result, results);
}

static int check_operation(enum fi_datatype type, enum fi_op op, bool compares, bool fetches,
			   size_t *count)
{
	if (!ofi_atomic_can(type, op, compares, fetches))
		return -FI_EOPNOTSUPP;
	if (!count)
		return -FI_EINVAL;
	*count = OFI_ATOMIC_BYTES / ofi_atomic_size(type) / (compares ? 2 : 1);
	return 0;
}

static int write_valid(struct fid_ep *ep, enum fi_datatype type, enum fi_op op, size_t *count)
{
	return check_operation(type, op, false, false, count);
}

static int fetch_valid(struct fid_ep *ep, enum fi_datatype type, enum fi_op op, size_t *count)
{
	return check_operation(type, op, false, true, count);
}

static int compare_valid(struct fid_ep *ep, enum fi_datatype type, enum fi_op op, size_t *count)
{
	return check_operation(type, op, true, true, count);
}

struct fi_ops_atomic ofi_atomic_ops = {
    .size = sizeof(struct fi_ops_atomic),
    .write = write_one,
    .writev = write_list,
    .writemsg = write_message,
    .inject = atomic_inject,
    .readwrite = fetch_one,
    .readwritev = fetch_list,
    .readwritemsg = fetch_message,
    .compwrite = compare_one,
    .compwritev = compare_list,
    .compwritemsg = compare_message,
    .writevalid = write_valid,
    .readwritevalid = fetch_valid,
    .compwritevalid = compare_valid,
};
