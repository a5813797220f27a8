/* SPDX-License-Identifier: BSD-3-Clause */
#include "ofi/memory/mr.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>

#include "ofi/core/domain.h"
#include "ofi/core/fabric.h"
#include "ofi/core/provider.h"

#define ACCESS (FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)

void ofi_mr_table_init(struct ofi_mr_table *t, bool own_keys)
{
	*t = (struct ofi_mr_table){.own_keys = own_keys, .next_key = 1, .lock = {.used = true}};
}

void ofi_mr_table_fini(struct ofi_mr_table *t)
{
	for (size_t i = 0; i < OFI_MR_BUCKETS; i++) {
		while (t->bucket[i]) {
			struct ofi_mr *mr = t->bucket[i];

			t->bucket[i] = mr->next;
			free(mr);
		}
	}
}

/* Under the lock. */
static struct ofi_mr *find_region(struct ofi_mr_table *t, uint64_t key)
{
	struct ofi_mr *mr = t->bucket[key % OFI_MR_BUCKETS];

	while (mr && mr->fid.key != key)
		mr = mr->next;
	return mr;
}

static void *address_in(const struct ofi_domain *d, const struct ofi_mr *mr, uint64_t at,
			size_t bytes, uint64_t access)
{
	uint64_t offset = d->virtual_addr ? at - (uint64_t)(uintptr_t)mr->base : at;

	if ((mr->access & access) != access || offset > mr->bytes || bytes > mr->bytes - offset)
		return NULL;
	return mr->base + offset;
}

void *ofi_mr_find(struct ofi_domain *d, uint64_t key, uint64_t at, size_t bytes, uint64_t access)
{
	struct ofi_mr_table *t = &d->regions;
	const struct ofi_mr *mr;
	void *address;

	ofi_lock(&t->lock);
	mr = find_region(t, key);
	address = mr ? address_in(d, mr, at, bytes, access) : NULL;
	ofi_unlock(&t->lock);
	return address;
}

static int mr_close(struct fid *fid)
{
	struct ofi_mr *mr = (struct ofi_mr *)fid;
	struct ofi_mr_table *t = &mr->domain->regions;
	struct ofi_mr **at;

	ofi_lock(&t->lock);
	at = &t->bucket[mr->fid.key % OFI_MR_BUCKETS];
	while (*at != mr)
		at = &(*at)->next;
	*at = mr->next;
	ofi_unlock(&t->lock);
	atomic_fetch_sub_release(&mr->domain->users, 1);
	free(mr);
	return 0;
}

static int mr_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	if (!other)
		return -FI_EINVAL;
	return other->fclass == FI_CLASS_EP ? 0 : -FI_ENOSYS;
}

static int mr_control(struct fid *fid, int command, void *arg)
{
	return command == FI_ENABLE || command == FI_REFRESH ? 0 : -FI_ENOSYS;
}

static struct fi_ops fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = mr_close,
    .bind = mr_bind,
    .control = mr_control,
    .ops_open = ofi_no_ops_open,
};

/* Enter the region under its key, or under the next free key if the provider chooses. Returns false
 * if the key is in use. */
static bool enter_key(struct ofi_mr_table *t, struct ofi_mr *mr, uint64_t wish)
{
	bool ok;

	ofi_lock(&t->lock);
	mr->fid.key = t->own_keys ? t->next_key++ : wish;
	ok = !find_region(t, mr->fid.key);
	if (ok) {
		mr->next = t->bucket[mr->fid.key % OFI_MR_BUCKETS];
		t->bucket[mr->fid.key % OFI_MR_BUCKETS] = mr;
	}
	ofi_unlock(&t->lock);
	return ok;
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *a, uint64_t flags,
		      struct fid_mr **out)
{
	struct ofi_domain *d = (struct ofi_domain *)fid;
	struct ofi_mr *mr;

	if (fid->fclass != FI_CLASS_DOMAIN || !a || a->iov_count != 1 || !a->mr_iov || a->offset ||
	    a->access & ~ACCESS || flags & FI_RMA_EVENT) {
		OFI_WARN(FI_LOG_MR,
			 "a registration needs one piece of memory, offset 0 and no events");
		return -FI_EINVAL;
	}
	mr = calloc(1, sizeof *mr);
	if (!mr)
		return -FI_ENOMEM;
	mr->fid.fid.fclass = FI_CLASS_MR;
	mr->fid.fid.context = a->context;
	mr->fid.fid.ops = &fid_ops;
	mr->domain = d;
	mr->base = a->mr_iov[0].iov_base;
	mr->bytes = a->mr_iov[0].iov_len;
	mr->access = a->access;
	if (!enter_key(&d->regions, mr, a->requested_key)) {
		free(mr);
		return -FI_ENOKEY;
	}
	atomic_fetch_add_relaxed(&d->users, 1);
	*out = &mr->fid;
	return 0;
}

static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access,
		   uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **mr, void *context)
{
	struct fi_mr_attr a = {.mr_iov = iov,
			       .iov_count = count,
			       .access = access,
			       .offset = offset,
			       .requested_key = key,
			       .context = context};

	return mr_regattr(fid, &a, flags, mr);
}

static int mr_reg(struct fid *fid, const void *buf, size_t bytes, uint64_t access, uint64_t offset,
		  uint64_t key, uint64_t flags, struct fid_mr **mr, void *context)
{
	struct iovec v = {(void *)buf, bytes};

	return mr_regv(fid, &v, 1, access, offset, key, flags, mr, context);
}

struct fi_ops_mr ofi_mr_ops = {
    .size = sizeof(struct fi_ops_mr), .reg = mr_reg, .regv = mr_regv, .regattr = mr_regattr};
