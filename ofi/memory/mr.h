/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registrations. Any memory can be reached; a registration only says what others may name by its
 * key, and where it begins for programs that name offsets.
 */
#ifndef OFI_MEMORY_MR_H
#define OFI_MEMORY_MR_H

#include <rdma/fi_domain.h>
#include <stdbool.h>

#include "ofi/core/lock.h"

#define OFI_MR_BUCKETS 256u

struct ofi_domain;

struct ofi_mr {
	struct fid_mr fid;
	struct ofi_domain *domain;
	struct ofi_mr *next; /* in its bucket */
	char *base;
	size_t bytes;
	uint64_t access;
};

struct ofi_mr_table {
	struct ofi_lock lock;
	bool own_keys; /* The provider chooses keys. */
	uint64_t next_key;
	struct ofi_mr *bucket[OFI_MR_BUCKETS];
};

extern struct fi_ops_mr ofi_mr_ops;

void ofi_mr_table_init(struct ofi_mr_table *t, bool own_keys);
void ofi_mr_table_fini(struct ofi_mr_table *t);
/*
 * Return the memory [at, at + bytes) of a region, for a peer with this key and access
 * (FI_REMOTE_READ, FI_REMOTE_WRITE or both). `at` is an address or an offset, as the domain's mode
 * says. Returns NULL if there is no such region, the range lies outside, or the access is not
 * allowed. Any thread.
 */
void *ofi_mr_find(struct ofi_domain *domain, uint64_t key, uint64_t at, size_t bytes,
		  uint64_t access);

#endif
