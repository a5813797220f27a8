/* SPDX-License-Identifier: BSD-3-Clause */
#include "agas/hpx/lco.h"

#include <stdlib.h>
#include <string.h>

#include "agas/access/op.h"
#include "drivers/base/array.h"

/* The size class of addresses of LCOs; those of blocks begin at AGAS_SIZE_MIN. */
#define LCO_CLASS       1u
#define INDEX_BITS      20
#define INDEX_MASK      ((1u << INDEX_BITS) - 1)
#define GENERATION_MASK ((1u << (AGAS_OFFSET_BITS - INDEX_BITS)) - 1)

static struct {
	struct hpx_lco **at;
	size_t count, room;
	struct hpx_lco *free;
} lcos;

/* ---- the table ---- */

static struct hpx_lco *lco_make(void)
{
	struct hpx_lco *l = lcos.free, **more;

	if (l) {
		lcos.free = l->next_free;
		return l;
	}
	if (lcos.count > INDEX_MASK)
		return NULL;
	if (lcos.count == lcos.room) {
		more = drv_array_grow(lcos.at, &lcos.room, sizeof(struct hpx_lco *), 16);
		if (!more)
			return NULL;
		lcos.at = more;
	}
	l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->index = (uint32_t)lcos.count;
	lcos.at[lcos.count++] = l;
	return l;
}

static hpx_addr_t address_of(const struct hpx_lco *l)
{
	return agas_address_make(agas_world.me, false, LCO_CLASS,
				 (uint64_t)(l->generation & GENERATION_MASK) << INDEX_BITS |
				     l->index);
}

int agas_lco_find(const char *call, hpx_addr_t addr, struct hpx_lco **lco)
{
	uint32_t index = (uint32_t)addr & INDEX_MASK;

	*lco = NULL;
	if (addr == HPX_NULL)
		return 0;
	if (index < lcos.count && lcos.at[index]->used && address_of(lcos.at[index]) == addr) {
		*lco = lcos.at[index];
		return 0;
	}
	agas_fail(call, AGAS_EINVAL,
		  "no LCO of this rank: it was deleted, or made by another rank");
	return AGAS_EINVAL;
}

void agas_lcos_release(void)
{
	size_t i;

	for (i = 0; i < lcos.count; i++) {
		free(lcos.at[i]->value);
		free(lcos.at[i]);
	}
	free(lcos.at);
	memset(&lcos, 0, sizeof(lcos));
}

/* ---- operations ---- */

struct agas_req *agas_lco_input(struct hpx_lco *lco)
{
	if (!lco)
		return NULL;
	if (lco->inputs_left)
		lco->inputs_left--;
	return &lco->req;
}

void agas_lco_begin(struct hpx_lco *lco)
{
	if (lco)
		agas_lco_input(lco)->pending++;
}

void agas_lco_end(struct hpx_lco *lco, int rc)
{
	if (!lco)
		return;
	lco->req.pending--;
	if (!lco->req.error)
		lco->req.error = rc;
}

void agas_lco_input_done(struct hpx_lco *lco, int rc)
{
	agas_lco_begin(lco);
	agas_lco_end(lco, rc);
}

void agas_lco_set_value(struct hpx_lco *lco, const void *value, size_t bytes)
{
	if (lco && bytes)
		memcpy(lco->value, value, bytes < lco->bytes ? bytes : lco->bytes);
}

static bool is_set(const struct hpx_lco *lco)
{
	return !lco->inputs_left && !lco->req.pending;
}

/* ---- the calls ---- */

static hpx_addr_t make(const char *call, int64_t inputs, int bytes)
{
	struct hpx_lco *l;
	void *value;

	if (!agas_world.open) {
		agas_fail(call, AGAS_ESTATE, "call agas_init() first");
		return HPX_NULL;
	}
	if (inputs < 0 || bytes < 0) {
		agas_fail(call, AGAS_EINVAL, "a negative number of inputs or bytes");
		return HPX_NULL;
	}
	AGAS_LOCK;
	value = calloc(1, bytes ? (size_t)bytes : 1);
	l = value ? lco_make() : NULL;
	if (!l) {
		free(value);
		agas_fail(call, AGAS_ENOMEM, "no memory for one more LCO");
		return HPX_NULL;
	}
	l->inputs = l->inputs_left = inputs;
	l->req = (struct agas_req){0};
	l->bytes = (size_t)bytes;
	l->value = value;
	l->used = true;
	return address_of(l);
}

/* Find an LCO that the caller must name. The lock is held. */
static int find_named(const char *call, hpx_addr_t addr, struct hpx_lco **lco)
{
	if (addr == HPX_NULL) {
		agas_fail(call, AGAS_EINVAL, "HPX_NULL is no LCO");
		return AGAS_EINVAL;
	}
	return agas_lco_find(call, addr, lco);
}

static int wait_for(const char *call, hpx_addr_t addr, struct hpx_lco **lco)
{
	int rc = find_named(call, addr, lco);

	if (rc)
		return rc;
	if (!is_set(*lco) && agas_is_in_handler())
		return agas_fail(call, AGAS_EINVAL, "an action must not wait");
	while (!is_set(*lco))
		agas_poll();
	return (*lco)->req.error;
}

static int refuse_closed(const char *call)
{
	return agas_fail(call, AGAS_ESTATE, "call agas_init() first");
}

#pragma GCC visibility push(default)

hpx_addr_t hpx_lco_future_new(int bytes)
{
	return make(__func__, 1, bytes);
}

hpx_addr_t hpx_lco_and_new(int64_t inputs)
{
	return make(__func__, inputs, 0);
}

hpx_status_t hpx_lco_wait(hpx_addr_t addr)
{
	struct hpx_lco *l;

	if (!agas_world.open)
		return refuse_closed(__func__);
	AGAS_LOCK;
	return wait_for(__func__, addr, &l);
}

hpx_status_t hpx_lco_get(hpx_addr_t addr, int bytes, void *value)
{
	struct hpx_lco *l;
	int rc;

	if (!agas_world.open)
		return refuse_closed(__func__);
	AGAS_LOCK;
	rc = wait_for(__func__, addr, &l);
	if (rc)
		return rc;
	if (bytes < 0 || (size_t)bytes > l->bytes)
		return agas_fail(__func__, AGAS_EINVAL, "the LCO has fewer bytes");
	if (bytes)
		memcpy(value, l->value, (size_t)bytes);
	return 0;
}

void hpx_lco_set(hpx_addr_t addr, int bytes, const void *value, hpx_addr_t lsync, hpx_addr_t rsync)
{
	struct hpx_lco *l, *local, *remote;

	if (!agas_world.open) {
		refuse_closed(__func__);
		return;
	}
	AGAS_LOCK;
	if (find_named(__func__, addr, &l) || agas_lco_find(__func__, lsync, &local) ||
	    agas_lco_find(__func__, rsync, &remote))
		return;
	if (bytes > 0)
		agas_lco_set_value(l, value, (size_t)bytes);
	agas_lco_input_done(l, 0);
	agas_lco_input_done(local, 0);
	agas_lco_input_done(remote, 0);
}

void hpx_lco_reset_sync(hpx_addr_t addr)
{
	struct hpx_lco *l;

	if (!agas_world.open) {
		refuse_closed(__func__);
		return;
	}
	AGAS_LOCK;
	if (find_named(__func__, addr, &l))
		return;
	if (l->req.pending) {
		agas_fail(__func__, AGAS_EINVAL, "operations that name the LCO are in flight");
		return;
	}
	l->inputs_left = l->inputs;
	l->req.error = 0;
}

void hpx_lco_delete_sync(hpx_addr_t addr)
{
	struct hpx_lco *l;

	if (!agas_world.open || addr == HPX_NULL)
		return;
	AGAS_LOCK;
	if (agas_lco_find(__func__, addr, &l))
		return;
	if (l->req.pending && agas_is_in_handler()) {
		agas_fail(__func__, AGAS_EINVAL, "operations that name the LCO are in flight");
		return;
	}
	while (l->req.pending)
		agas_poll();
	free(l->value);
	l->value = NULL;
	l->used = false;
	l->generation++;
	l->next_free = lcos.free;
	lcos.free = l;
}

void hpx_lco_delete(hpx_addr_t addr, hpx_addr_t rsync)
{
	struct hpx_lco *l;

	hpx_lco_delete_sync(addr);
	if (!agas_world.open)
		return;
	AGAS_LOCK;
	if (!agas_lco_find(__func__, rsync, &l))
		agas_lco_input_done(l, 0);
}

#pragma GCC visibility pop
