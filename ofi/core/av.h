/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Address vectors. A name is 16 bytes that any task of the job may keep and send. An fi_addr_t is
 * the PAMI endpoint itself (map) or an index (table).
 */
#ifndef OFI_CORE_AV_H
#define OFI_CORE_AV_H

#include <rdma/fi_domain.h>

#include "ofi/core/domain.h"
#include "ofi/core/world.h"

#define OFI_NAME_MAGIC  0x51740001u
#define OFI_NO_ENDPOINT UINT32_MAX

/* The name that fi_getname() returns and fi_av_insert() takes. */
struct ofi_name {
	uint32_t magic;
	uint32_t endpoint;
	uint64_t job;
};

struct ofi_av {
	struct fid_av fid;
	struct ofi_domain *domain;
	bool table;
	unsigned rx_bits;   /* of an fi_addr_t, at its top: which receive context */
	uint32_t *endpoint; /* table: by index; OFI_NO_ENDPOINT where removed */
	size_t count, room;
	uint32_t *index_of; /* table: by task, the first index of one of its endpoints */
	struct ofi_eq *eq;  /* receives an event for each insertion with FI_EVENT; may be NULL */
	atomic_u32 users;
};

/* Has no address. Endpoints look addresses up here until they are enabled. */
extern const struct ofi_av ofi_av_none;

int ofi_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av,
		void *context);
/* Return the fi_addr_t of an endpoint that sent a message, or FI_ADDR_NOTAVAIL if it was not
 * inserted. */
fi_addr_t ofi_av_address(const struct ofi_av *av, pami_endpoint_t endpoint);

/* Return the endpoint of an address, or OFI_NO_ENDPOINT if there is none. Hot. */
static inline pami_endpoint_t ofi_av_endpoint(const struct ofi_av *av, fi_addr_t address)
{
	uint32_t context = 0;

	if (av->rx_bits) {
		context = (uint32_t)(address >> (64 - av->rx_bits));
		address = address << av->rx_bits >> av->rx_bits;
	}
	if (av->table) {
		if (__builtin_expect(address >= av->count, 0) ||
		    av->endpoint[address] == OFI_NO_ENDPOINT)
			return OFI_NO_ENDPOINT;
		return av->endpoint[address] + context;
	}
	return address >= OFI_NO_ENDPOINT ? OFI_NO_ENDPOINT : (uint32_t)address + context;
}

#endif
