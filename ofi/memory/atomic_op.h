/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes atomic operations: all types and operations of libfabric 1.17, on the processors that
 * are supported.
 */
#ifndef OFI_MEMORY_ATOMIC_OP_H
#define OFI_MEMORY_ATOMIC_OP_H

#include <rdma/fi_domain.h>
#include <stdbool.h>

/* Return the bytes of an element, or 0 if there is no such type. */
size_t ofi_atomic_size(enum fi_datatype type);
/* Returns true if the operation is defined for the type, in this kind of call. */
bool ofi_atomic_can(enum fi_datatype type, enum fi_op op, bool compares, bool fetches);
/*
 * For each of `count` elements: result = *target; *target = op(*target, operand, comparand), as one
 * step for all threads of this process and, for elements of up to 8 bytes, for the processor's
 * atomic instructions of others. operand, comparand and result may be NULL where the operation does
 * not use them. All arrays are aligned to 8 bytes, but target to its element only. ofi_atomic_can()
 * was true.
 */
void ofi_atomic_apply(void *target, const void *operand, const void *comparand, void *result,
		      size_t count, enum fi_datatype type, enum fi_op op);

#endif
