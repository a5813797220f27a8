/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Local control objects: what the calls of agas_hpx.h report their end to. An LCO is used at the
 * rank that made it. Its address is that of no block, since no block has so small a size class.
 * Under the library's lock.
 */
#ifndef AGAS_HPX_LCO_H
#define AGAS_HPX_LCO_H

#include "agas/core/world.h"

struct hpx_lco {
	uint32_t index, generation;
	int64_t inputs, inputs_left; /* operations that have to name it before it is set */
	struct agas_req req;         /* operations that have named it and are in flight */
	size_t bytes;
	void *value;
	struct hpx_lco *next_free;
	bool used;
};

/*
 * Find the LCO of an address. *lco becomes NULL for HPX_NULL. Returns 0, or AGAS_EINVAL if the
 * address is not that of an LCO of this rank, which it reports for `call`.
 */
int agas_lco_find(const char *call, hpx_addr_t addr, struct hpx_lco **lco);
/* One operation more has named it (NULL: nothing happens). Returns its req, which the operation
 * counts itself in. */
struct agas_req *agas_lco_input(struct hpx_lco *lco);
/* The same for an operation that is complete already. */
void agas_lco_input_done(struct hpx_lco *lco, int rc);
/* An operation in several steps begins, and ends. */
void agas_lco_begin(struct hpx_lco *lco);
void agas_lco_end(struct hpx_lco *lco, int rc);
/* Set the value that hpx_lco_get() reads. */
void agas_lco_set_value(struct hpx_lco *lco, const void *value, size_t bytes);
void agas_lcos_release(void);

#endif
