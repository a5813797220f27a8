/* SPDX-License-Identifier: BSD-3-Clause */
/* Pins, transfers, attributes and moves by the names of agas_hpx.h. */
#include <stdlib.h>
#include <string.h>

#include "agas/access/op.h"
#include "agas/core/world.h"
#include "agas/hpx/lco.h"
#include "agas/move/move.h"

/* ---- transfers ---- */

/*
 * Start a put or get of a part of one block, as part of req (NULL: of the fence). copy: the source
 * may be reused at once.
 */
static int start_transfer(const char *call, enum agas_request_kind kind, hpx_addr_t gva,
			  void *local, size_t size, struct agas_req *req, bool copy)
{
	struct agas_op *op = agas_op_create(AGAS_OP_REQUEST, req);

	if (!op)
		return agas_fail(call, AGAS_ENOMEM, "no memory for one more operation");
	op->local = local;
	if (copy) {
		op->local = op->copy = malloc(size);
		if (!op->copy) {
			agas_op_complete(op, AGAS_WHY_MEMORY);
			return 0; /* The request says so. */
		}
		memcpy(op->copy, local, size);
	}
	op->r.kind = (uint8_t)kind;
	op->r.gva = gva;
	op->r.bytes = (uint32_t)size;
	agas_op_start(op);
	return 0;
}

static int check_transfer(const char *call, hpx_addr_t gva, const void *local, size_t size)
{
	int rc = agas_check(call, gva, size);

	if (!rc && size > agas_block_bytes(&agas_world.space, gva) -
			      agas_offset_of(&agas_world.space, gva))
		rc = agas_fail(call, AGAS_EINVAL, "address and size reach beyond the block");
	if (!rc && !local && size)
		rc = agas_fail(call, AGAS_EINVAL, "the local address is NULL");
	return rc;
}

/* In an action, the access must end at once: the block must be here. */
static int check_wait(const char *call, hpx_addr_t gva)
{
	const struct agas_block *b;

	if (!agas_is_in_handler())
		return 0;
	b = agas_block_find(agas_key_of(&agas_world.space, gva));
	if (b && agas_block_state(b) == AGAS_OWNED)
		return 0;
	return agas_fail(call, AGAS_EINVAL, "an action must not wait");
}

static hpx_status_t transfer_and_wait(const char *call, enum agas_request_kind kind, hpx_addr_t gva,
				      void *local, size_t size)
{
	struct agas_req req = {0};
	int rc = check_transfer(call, gva, local, size);

	if (rc || !size)
		return rc;
	AGAS_LOCK;
	rc = check_wait(call, gva);
	if (!rc)
		rc = start_transfer(call, kind, gva, local, size, &req, false);
	return rc ? rc : agas_req_wait(&req);
}

/* `set` is set when the transfer is complete, `now` (NULL: none) at once. */
static hpx_status_t transfer_to_lco(const char *call, enum agas_request_kind kind, hpx_addr_t gva,
				    void *local, size_t size, hpx_addr_t now, hpx_addr_t set)
{
	struct hpx_lco *first, *last;
	int rc = check_transfer(call, gva, local, size);

	if (!agas_world.open)
		return rc;
	AGAS_LOCK;
	if (agas_lco_find(call, now, &first) || agas_lco_find(call, set, &last))
		return AGAS_EINVAL;
	if (first)
		agas_lco_input_done(first, rc);
	if (!rc && size)
		rc = start_transfer(call, kind, gva, local, size, agas_lco_input(last),
				    kind == AGAS_REQUEST_PUT);
	else if (last)
		agas_lco_input_done(last, rc);
	return rc;
}

/* ---- global to global ---- */

struct copying {
	hpx_addr_t to;
	struct hpx_lco *lco;
	struct agas_req *req; /* of a caller that waits */
	size_t size;
	char data[];
};

static void copying_end(struct copying *c, int rc)
{
	agas_lco_end(c->lco, rc);
	if (c->req) {
		c->req->error = rc;
		c->req->pending--;
	} else if (!c->lco && rc && !agas_world.fence_error) {
		agas_world.fence_error = rc;
	}
	free(c);
}

static void copy_written(const struct agas_op *op)
{
	copying_end(op->then_arg, op->error ? agas_error_of(op->error) : 0);
}

static void copy_step(struct copying *c, enum agas_request_kind kind, hpx_addr_t gva,
		      void (*then)(const struct agas_op *op))
{
	struct agas_op *op = agas_op_create(AGAS_OP_REQUEST, NULL);

	if (!op) {
		copying_end(c, AGAS_ENOMEM);
		return;
	}
	op->then = then;
	op->then_arg = c;
	op->local = c->data;
	op->r.kind = (uint8_t)kind;
	op->r.gva = gva;
	op->r.bytes = (uint32_t)c->size;
	agas_op_start(op);
}

static void copy_read(const struct agas_op *op)
{
	struct copying *c = op->then_arg;

	if (op->error)
		copying_end(c, agas_error_of(op->error));
	else
		copy_step(c, AGAS_REQUEST_PUT, c->to, copy_written);
}

static int copy_start(const char *call, hpx_addr_t to, hpx_addr_t from, size_t size,
		      struct hpx_lco *lco, struct agas_req *req)
{
	struct copying *c = malloc(sizeof(*c) + size);

	if (!c)
		return agas_fail(call, AGAS_ENOMEM, "no memory for the data on its way");
	*c = (struct copying){.to = to, .lco = lco, .req = req, .size = size};
	agas_lco_begin(lco);
	copy_step(c, AGAS_REQUEST_GET, from, copy_read);
	return 0;
}

static int check_copy(const char *call, hpx_addr_t to, hpx_addr_t from, size_t size)
{
	int rc = check_transfer(call, to, "", size);

	return rc ? rc : check_transfer(call, from, "", size);
}

/* ---- moves ---- */

struct moving {
	hpx_addr_t src;
	struct hpx_lco *lco;
};

static void move_to(hpx_addr_t src, uint32_t rank, struct hpx_lco *lco)
{
	int rc = agas_move_to("hpx_gas_move", src, (int)rank, agas_lco_input(lco));

	if (rc && lco && !lco->req.error)
		lco->req.error = rc;
}

/* The home of the destination's block has named its owner. */
static void target_found(const struct agas_op *op)
{
	struct moving *m = op->then_arg;

	if (op->error) {
		agas_lco_input_done(m->lco, agas_error_of(op->error));
		if (!m->lco && !agas_world.fence_error)
			agas_world.fence_error = agas_error_of(op->error);
	} else {
		move_to(m->src, op->owner, m->lco);
	}
	if (m->lco)
		m->lco->req.pending--;
	free(m);
}

static void move_to_owner_of(hpx_addr_t src, hpx_addr_t dst, struct hpx_lco *lco)
{
	struct moving *m = malloc(sizeof(*m));
	struct agas_op *op = m ? agas_op_create(AGAS_OP_REQUEST, NULL) : NULL;

	if (!op) {
		free(m);
		agas_lco_input_done(lco, agas_fail("hpx_gas_move", AGAS_ENOMEM,
						   "no memory for one more operation"));
		return;
	}
	*m = (struct moving){src, lco};
	if (lco)
		lco->req.pending++; /* no input: the move itself is one */
	op->r = (struct agas_request){.kind = AGAS_REQUEST_QUERY,
				      .gva = agas_key_of(&agas_world.space, dst)};
	op->then = target_found;
	op->then_arg = m;
	agas_op_start(op);
}

#pragma GCC visibility push(default)

bool hpx_gas_try_pin(hpx_addr_t addr, void **local)
{
	if (local)
		return agas_try_pin(addr, local);
	if (!agas_try_pin(addr, NULL))
		return false;
	agas_unpin(addr); /* The caller asked only whether the block is here. */
	return true;
}

void hpx_gas_unpin(hpx_addr_t addr)
{
	agas_unpin(addr);
}

/* The library copies the data, so that the source is free at once. */
hpx_status_t hpx_gas_memput(hpx_addr_t to, const void *from, size_t size, hpx_addr_t lsync,
			    hpx_addr_t rsync)
{
	return transfer_to_lco(__func__, AGAS_REQUEST_PUT, to, (void *)(uintptr_t)from, size, lsync,
			       rsync);
}

hpx_status_t hpx_gas_memput_lsync(hpx_addr_t to, const void *from, size_t size, hpx_addr_t rsync)
{
	return transfer_to_lco(__func__, AGAS_REQUEST_PUT, to, (void *)(uintptr_t)from, size,
			       HPX_NULL, rsync);
}

hpx_status_t hpx_gas_memput_rsync(hpx_addr_t to, const void *from, size_t size)
{
	return transfer_and_wait(__func__, AGAS_REQUEST_PUT, to, (void *)(uintptr_t)from, size);
}

hpx_status_t hpx_gas_memget(void *to, hpx_addr_t from, size_t size, hpx_addr_t lsync)
{
	return transfer_to_lco(__func__, AGAS_REQUEST_GET, from, to, size, HPX_NULL, lsync);
}

hpx_status_t hpx_gas_memget_sync(void *to, hpx_addr_t from, size_t size)
{
	return transfer_and_wait(__func__, AGAS_REQUEST_GET, from, to, size);
}

hpx_status_t hpx_gas_memcpy(hpx_addr_t to, hpx_addr_t from, size_t size, hpx_addr_t sync)
{
	int rc = check_copy(__func__, to, from, size);
	struct hpx_lco *lco;

	if (!agas_world.open)
		return rc;
	AGAS_LOCK;
	if (agas_lco_find(__func__, sync, &lco))
		return AGAS_EINVAL;
	if (!rc && size)
		rc = copy_start(__func__, to, from, size, lco, NULL);
	else
		agas_lco_input_done(lco, rc);
	return rc;
}

hpx_status_t hpx_gas_memcpy_sync(hpx_addr_t to, hpx_addr_t from, size_t size)
{
	struct agas_req req = {.pending = 1};
	int rc = check_copy(__func__, to, from, size);

	if (rc || !size)
		return rc;
	AGAS_LOCK;
	rc = check_wait(__func__, to);
	if (!rc)
		rc = check_wait(__func__, from);
	if (!rc)
		rc = copy_start(__func__, to, from, size, NULL, &req);
	return rc ? rc : agas_req_wait(&req);
}

void hpx_gas_set_attr(hpx_addr_t addr, uint32_t attr)
{
	struct agas_req req = {0};
	struct agas_op *op;

	if (agas_check(__func__, addr, 1))
		return;
	AGAS_LOCK;
	op = agas_op_create(AGAS_OP_REQUEST, agas_is_in_handler() ? NULL : &req);
	if (!op) {
		agas_fail(__func__, AGAS_ENOMEM, "no memory for one more operation");
		return;
	}
	op->r = (struct agas_request){
	    .kind = AGAS_REQUEST_ATTRIBUTES, .gva = addr, .bytes = 1, .operand = attr};
	agas_op_start(op);
	if (!agas_is_in_handler())
		agas_req_wait(&req);
}

void hpx_gas_move(hpx_addr_t src, hpx_addr_t dst, hpx_addr_t lco)
{
	int rc = agas_check(__func__, src, 1);
	uint32_t home = rc ? 0 : agas_home_of(&agas_world.space, dst);
	struct hpx_lco *l;

	if (!rc)
		rc = agas_check_rank(__func__, (int)home);
	if (!agas_world.open)
		return;
	AGAS_LOCK;
	if (agas_lco_find(__func__, lco, &l))
		return;
	if (!rc && dst != HPX_THERE(home))
		rc = agas_check(__func__, dst, 1);
	if (rc)
		agas_lco_input_done(l, rc);
	else if (dst == HPX_THERE(home))
		move_to(src, home, l);
	else
		move_to_owner_of(src, dst, l);
}

#pragma GCC visibility pop
