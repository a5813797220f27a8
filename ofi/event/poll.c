/* SPDX-License-Identifier: BSD-3-Clause */
#include "ofi/event/poll.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>

#include "drivers/base/array.h"
#include "ofi/core/fabric.h"
#include "ofi/event/cntr.h"
#include "ofi/event/cq.h"

struct member {
	struct fid *fid;
	uint64_t seen; /* of a counter: good and bad operations when it was last reported */
};

struct poll_set {
	struct fid_poll fid;
	struct ofi_domain *domain;
	struct member *member;
	size_t count, room;
};

static atomic_u32 *users_of(struct fid *fid)
{
	return fid->fclass == FI_CLASS_CQ ? &((struct ofi_cq *)fid)->users
					  : &((struct ofi_cntr *)fid)->users;
}

static bool has_news(struct member *m)
{
	struct fid_cntr *cntr = (struct fid_cntr *)m->fid;
	uint64_t value;

	if (m->fid->fclass == FI_CLASS_CQ)
		return ofi_cq_has_news((struct ofi_cq *)m->fid);
	value = fi_cntr_read(cntr) + fi_cntr_readerr(cntr);
	if (value == m->seen)
		return false;
	m->seen = value;
	return true;
}

static int poll_members(struct fid_poll *fid, void **context, int count)
{
	struct poll_set *set = (struct poll_set *)fid;
	int n = 0;

	if (count > 0 && !context)
		return -FI_EINVAL;
	for (size_t i = 0; i < set->count && n < count; i++)
		if (has_news(&set->member[i]))
			context[n++] = set->member[i].fid->context;
	return n;
}

static struct member *find_member(struct poll_set *set, const struct fid *fid)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->member[i].fid == fid)
			return &set->member[i];
	return NULL;
}

static int add_member(struct fid_poll *fid, struct fid *other, uint64_t flags)
{
	struct poll_set *set = (struct poll_set *)fid;

	if (flags || !other || (other->fclass != FI_CLASS_CQ && other->fclass != FI_CLASS_CNTR))
		return -FI_EINVAL;
	if (find_member(set, other))
		return 0;
	if (set->count == set->room) {
		struct member *more = drv_array_grow(set->member, &set->room, sizeof *more, 8);

		if (!more)
			return -FI_ENOMEM;
		set->member = more;
	}
	set->member[set->count++] = (struct member){.fid = other};
	atomic_fetch_add_relaxed(users_of(other), 1);
	return 0;
}

static int remove_member(struct fid_poll *fid, struct fid *other, uint64_t flags)
{
	struct poll_set *set = (struct poll_set *)fid;
	struct member *m = find_member(set, other);

	if (flags || !m)
		return -FI_EINVAL;
	*m = set->member[--set->count];
	atomic_fetch_sub_release(users_of(other), 1);
	return 0;
}

static int poll_close(struct fid *fid)
{
	struct poll_set *set = (struct poll_set *)fid;

	if (set->count)
		return -FI_EBUSY;
	atomic_fetch_sub_release(&set->domain->users, 1);
	free(set->member);
	free(set);
	return 0;
}

static struct fi_ops fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = poll_close,
    .bind = ofi_no_bind,
    .control = ofi_no_control,
    .ops_open = ofi_no_ops_open,
};

static struct fi_ops_poll poll_ops = {
    .size = sizeof(struct fi_ops_poll),
    .poll = poll_members,
    .poll_add = add_member,
    .poll_del = remove_member,
};

int ofi_poll_open(struct fid_domain *domain, struct fi_poll_attr *attr, struct fid_poll **out)
{
	struct poll_set *set;

	if (attr && attr->flags)
		return -FI_EBADFLAGS;
	set = calloc(1, sizeof *set);
	if (!set)
		return -FI_ENOMEM;
	set->fid.fid.fclass = FI_CLASS_POLL;
	set->fid.fid.ops = &fid_ops;
	set->fid.ops = &poll_ops;
	set->domain = (struct ofi_domain *)domain;
	atomic_fetch_add_relaxed(&set->domain->users, 1);
	*out = &set->fid;
	return 0;
}
