/* SPDX-License-Identifier: BSD-3-Clause */
#include "ofi/core/av.h"

#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/base/array.h"
#include "drivers/base/atomic.h"
#include "ofi/core/fabric.h"
#include "ofi/core/provider.h"
#include "ofi/event/eq.h"

const struct ofi_av ofi_av_none = {.table = true};

static int av_close(struct fid *fid)
{
	struct ofi_av *av = (struct ofi_av *)fid;

	if (atomic_load_acquire(&av->users))
		return -FI_EBUSY;
	if (av->eq)
		ofi_eq_release(av->eq);
	atomic_fetch_sub_release(&av->domain->users, 1);
	free(av->endpoint);
	free(av->index_of);
	free(av);
	return 0;
}

static int av_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct ofi_av *av = (struct ofi_av *)fid;

	if (!other || other->fclass != FI_CLASS_EQ)
		return -FI_EINVAL;
	if (av->eq)
		return -FI_EBUSY;
	av->eq = (struct ofi_eq *)other;
	ofi_eq_use(av->eq);
	return 0;
}

static uint32_t task_of(uint32_t endpoint)
{
	pami_task_t task;
	size_t offset;

	PAMI_Endpoint_query(endpoint, &task, &offset);
	return task;
}

/* Programs of MPI print no reason of libfabric, and fail far from here, so say it once. */
static void say_other_job(void)
{
	static atomic_u32 said;

	if (!atomic_exchange_relaxed(&said, 1))
		fprintf(stderr, "quintorus: a process of another job cannot be reached, such as "
				"one of MPI_Comm_spawn or of another mpirun\n");
}

/* Return 0, or the error for which this name cannot be inserted. */
static int check_name(const struct ofi_name *name)
{
	if (name->magic == OFI_NAME_MAGIC && name->job != ofi_world.job) {
		OFI_WARN(FI_LOG_AV, "the address is of another job: start both programs with one "
				    "torus run or mpirun");
		say_other_job();
		return -FI_EHOSTUNREACH;
	}
	if (name->magic != OFI_NAME_MAGIC || task_of(name->endpoint) >= ofi_world.tasks) {
		OFI_WARN(FI_LOG_AV, "not an address of this provider");
		return -FI_EINVAL;
	}
	return 0;
}

static int table_append(struct ofi_av *av, uint32_t endpoint, fi_addr_t *address)
{
	uint32_t task = task_of(endpoint);

	if (av->count == av->room) {
		uint32_t *more = drv_array_grow(av->endpoint, &av->room, sizeof *more, 64);

		if (!more)
			return -FI_ENOMEM;
		av->endpoint = more;
	}
	if (av->index_of[task] == OFI_NO_ENDPOINT)
		av->index_of[task] = (uint32_t)av->count;
	av->endpoint[av->count] = endpoint;
	*address = av->count++;
	return 0;
}

static int insert_one(struct ofi_av *av, const struct ofi_name *name, fi_addr_t *address)
{
	int rc = check_name(name);

	if (rc)
		return rc;
	if (av->table)
		return table_append(av, name->endpoint, address);
	*address = name->endpoint;
	return 0;
}

static void report_event(struct ofi_av *av, void *context, uint64_t good)
{
	struct fi_eq_entry e = {.fid = &av->fid.fid, .context = context, .data = good};

	ofi_eq_put(av->eq, FI_AV_COMPLETE, &e, sizeof e);
}

static int av_insert(struct fid_av *fid, const void *names, size_t count, fi_addr_t *addresses,
		     uint64_t flags, void *context)
{
	struct ofi_av *av = (struct ofi_av *)fid;
	int good = 0;

	if (count && !names)
		return -FI_EINVAL;
	for (size_t i = 0; i < count; i++) {
		fi_addr_t address = FI_ADDR_NOTAVAIL;
		struct ofi_name name;
		int rc;

		memcpy(&name, (const char *)names + i * sizeof name, sizeof name);
		rc = insert_one(av, &name, &address);
		good += !rc;
		if (addresses)
			addresses[i] = address;
		if (flags & FI_SYNC_ERR && context)
			((int *)context)[i] = -rc;
	}
	if (!av->eq || !(flags & FI_EVENT))
		return good;
	report_event(av, context, (uint64_t)good);
	return 0;
}

static int no_insertsvc(struct fid_av *av, const char *node, const char *service, fi_addr_t *a,
			uint64_t flags, void *context)
{
	return -FI_ENOSYS;
}

static int no_insertsym(struct fid_av *av, const char *node, size_t nodes, const char *service,
			size_t services, fi_addr_t *a, uint64_t flags, void *context)
{
	return -FI_ENOSYS;
}

/* Return the first entry of a task from this index on, or OFI_NO_ENDPOINT. */
static uint32_t find_of_task(const struct ofi_av *av, uint32_t task, size_t index)
{
	while (index < av->count &&
	       (av->endpoint[index] == OFI_NO_ENDPOINT || task_of(av->endpoint[index]) != task))
		index++;
	return index < av->count ? (uint32_t)index : OFI_NO_ENDPOINT;
}

static int av_remove(struct fid_av *fid, fi_addr_t *addresses, size_t count, uint64_t flags)
{
	struct ofi_av *av = (struct ofi_av *)fid;

	if (count && !addresses)
		return -FI_EINVAL;
	for (size_t i = 0; av->table && i < count; i++) {
		uint32_t task, endpoint = ofi_av_endpoint(av, addresses[i]);

		if (endpoint == OFI_NO_ENDPOINT)
			return -FI_EINVAL;
		task = task_of(endpoint);
		av->endpoint[addresses[i]] = OFI_NO_ENDPOINT;
		if (av->index_of[task] == addresses[i])
			av->index_of[task] = find_of_task(av, task, addresses[i]);
	}
	return 0;
}

static int av_lookup(struct fid_av *fid, fi_addr_t address, void *buffer, size_t *bytes)
{
	struct ofi_name name = {.magic = OFI_NAME_MAGIC,
				.endpoint = ofi_av_endpoint((struct ofi_av *)fid, address),
				.job = ofi_world.job};
	size_t room = bytes ? *bytes : 0;

	if (name.endpoint == OFI_NO_ENDPOINT || !bytes || (room && !buffer))
		return -FI_EINVAL;
	memcpy(buffer, &name, room < sizeof name ? room : sizeof name);
	*bytes = sizeof name;
	return 0;
}

static const char *av_straddr(struct fid_av *fid, const void *address, char *text, size_t *bytes)
{
	struct ofi_name name;
	pami_task_t task;
	size_t offset;
	int n;

	if (!address || !bytes || (*bytes && !text))
		return NULL;
	memcpy(&name, address, sizeof name);
	PAMI_Endpoint_query(name.endpoint, &task, &offset);
	n = snprintf(text, *bytes, "quintorus://%u/%zu", task, offset);
	*bytes = (size_t)n + 1;
	return text;
}

static struct fi_ops fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = av_close,
    .bind = av_bind,
    .control = ofi_no_control,
    .ops_open = ofi_no_ops_open,
};

static struct fi_ops_av av_ops = {
    .size = sizeof(struct fi_ops_av),
    .insert = av_insert,
    .insertsvc = no_insertsvc,
    .insertsym = no_insertsym,
    .remove = av_remove,
    .lookup = av_lookup,
    .straddr = av_straddr,
};

int ofi_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **out,
		void *context)
{
	struct ofi_av *av;

	if (attr && (attr->name || attr->rx_ctx_bits > 6 || attr->rx_ctx_bits < 0))
		return attr->name ? -FI_ENOSYS : -FI_EINVAL;
	av = calloc(1, sizeof *av);
	if (!av)
		return -FI_ENOMEM;
	av->index_of = malloc(ofi_world.tasks * sizeof *av->index_of);
	if (!av->index_of) {
		free(av);
		return -FI_ENOMEM;
	}
	memset(av->index_of, 0xff, ofi_world.tasks * sizeof *av->index_of);
	av->fid.fid.fclass = FI_CLASS_AV;
	av->fid.fid.context = context;
	av->fid.fid.ops = &fid_ops;
	av->fid.ops = &av_ops;
	av->domain = (struct ofi_domain *)domain;
	av->table = attr && attr->type == FI_AV_TABLE;
	av->rx_bits = attr ? (unsigned)attr->rx_ctx_bits : 0;
	if (attr && attr->type == FI_AV_UNSPEC)
		attr->type = FI_AV_MAP;
	atomic_fetch_add_relaxed(&av->domain->users, 1);
	*out = &av->fid;
	return 0;
}

fi_addr_t ofi_av_address(const struct ofi_av *av, pami_endpoint_t endpoint)
{
	uint32_t index;

	if (!av)
		return FI_ADDR_NOTAVAIL;
	if (!av->table)
		return endpoint;
	index = av->index_of[task_of(endpoint)];
	for (; index < av->count; index++)
		if (av->endpoint[index] == endpoint)
			return index;
	return FI_ADDR_NOTAVAIL;
}
